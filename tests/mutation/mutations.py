#!/usr/bin/env python3
"""The mutation check: breaks kernels, gradients and shape rules one after the other, in a copy of the tree, and
expects the conformance suite to notice each. Usage: python3 tests/mutation/mutations.py WORK_FOLDER [NUMBER ...]
The folder receives a copy of the tree and a build of two tiers. The first run builds everything; later ones bring the
copy up to date and build what changed. Each mutant's line says what caught it: the number of checks that failed, and
the first of them."""
import os
import pathlib
import shutil
import subprocess
import sys

# what is broken, file, text, broken text, device, filter
MUTATIONS = [
    ("sum: the reference skips the first element", "src/ops/body_reduce.c",
     "for (int64_t k = 0; k < n; k++) y += x[k].f;", "for (int64_t k = 1; k < n; k++) y += x[k].f;", "ref", "sum"),
    ("matmul: the reference kernel reads b transposed", "src/ops/kernels/contraction.kn",
     "total += a[from_a + l] * b[from_b + l * n];", "total += a[from_a + l] * b[from_b * n + l];", "ref", "matmul"),
    ("conv: padding is added instead of taken off", "src/ops/kernels/convolution.kn",
     "index i1 = p1 * stride[1] + k1 * dilation[1] - padding[1];",
     "index i1 = p1 * stride[1] + k1 * dilation[1] + padding[1];", "ref", "conv2d"),
    ("avg_pool: the last row of a window is lost", "src/ops/kernels/window.kn",
     "for (index i0 = b0; i0 < e0; i0++)\n        for (index i1 = b1; i1 < e1; i1++)\n            for (index i2 = b2; i2 < e2; i2++) total += x[plane + (i0 * sx[1] + i1) * sx[2] + i2];\n    y[item] = total / (T)n;",
     "for (index i0 = b0; i0 < e0 - 1; i0++)\n        for (index i1 = b1; i1 < e1; i1++)\n            for (index i2 = b2; i2 < e2; i2++) total += x[plane + (i0 * sx[1] + i1) * sx[2] + i2];\n    y[item] = total / (T)n;",
     "ref", "avg_pool"),
    ("softmax: the native kernel forgets the largest element", "src/backend/cpu/tier/softmax_rows.h",
     "y[k] = (x[k] - most) - shift;", "y[k] = x[k] - shift;", "cpu", "log_softmax"),
    ("gather: an index past the end is taken", "src/ops/kernels/indexing.kn",
     "return p >= 0 && p < size ? p : -1;", "return p >= 0 && p <= size ? p : -1;", "ref", "gather"),
    ("pad: reflected elements are off by one", "src/ops/kernels/movement.kn",
     "if (t >= 1 && t <= before) total +=", "if (t >= 0 && t <= before) total +=", "autodiff(ref)", "pad"),
    ("relu: the body clips at one", "src/ops/activation.c", '"x 0 max"', '"x 1 max"', "ref", "relu"),
    ("softplus word: log1p for negative numbers", "src/ops/scalar_words.def",
     "WORD1(log1p, VALUE, M(log1p)(a), NONE)", "WORD1(log1p, VALUE, M(log)(a), NONE)", "cpu", "log1p"),
    ("integer remainder takes the sign of the dividend", "src/ops/scalar_words.def",
     "INT_FLOOR_REM(a, b)", "INT_TRUNC_REM(a, b)", "cpu", "remainder"),
    ("div: the gradient of b has the wrong sign", "src/ops/elementwise.c",
     "kni_vjp_set(v, 1, kn_neg(kn_mul(v->dy[0], slope)));", "kni_vjp_set(v, 1, kn_mul(v->dy[0], slope));",
     "autodiff(cpu)", "div"),
    ("mul: both operands get the same gradient", "src/ops/elementwise.c",
     "kn_mul(v->dy[0], kni_vjp_in(v, 1 - i))", "kn_mul(v->dy[0], kni_vjp_in(v, i))", "autodiff(cpu)", "mul"),
    ("matmul: the gradient forgets to transpose", "src/ops/matmul.c",
     "set_matrix(v, 0, kn_matmul(dy, kn_transpose(right, -2, -1)), a);", "set_matrix(v, 0, kn_matmul(dy, right), a);",
     "autodiff(cpu)", "matmul"),
    ("cumsum: the gradient runs the same way", "src/ops/scan_gradients.c",
     ".reverse = !a->reverse, .exclusive = a->exclusive != 0};\n    kni_vjp_set(v, 0, kn_cumsum_with",
     ".reverse = a->reverse != 0, .exclusive = a->exclusive != 0};\n    kni_vjp_set(v, 0, kn_cumsum_with",
     "autodiff(cpu)", "cumsum"),
    ("concat: gradients are cut at the wrong place", "src/ops/movement.c",
     "        at += n;\n    }\n    return KN_OK;", "        at += n > 1 ? n - 1 : n;\n    }\n    return KN_OK;",
     "autodiff(cpu)", "concat"),
    ("take: duplicates overwrite instead of adding", "src/ops/indexing.c",
     "kni_update_attributes add = {a->axis, a->negative, KN_UPDATE_ADD};\n    kni_vjp_set(v, 0, kni_select_assign",
     "kni_update_attributes add = {a->axis, a->negative, KN_UPDATE_ASSIGN};\n    kni_vjp_set(v, 0, kni_select_assign",
     "autodiff(cpu)", "take"),
    ("matmul: mismatched inner sizes are let through", "src/ops/matmul.c",
     "if (!kni_dims_agree(inner_a, inner_b))", "if (0 && !kni_dims_agree(inner_a, inner_b))", "cpu", "matmul"),
    ("concat: the sizes of the joined axis are not added", "src/ops/movement.c",
     "y->dims[a->axis] = kni_dim_add(y->dims[a->axis], x->dims[a->axis]);", "y->dims[a->axis] = x->dims[a->axis];",
     "cpu", "concat"),
    ("broadcasting: unequal sizes are let through", "src/ops/infer.c",
     "if (*have != 1 && !kni_dims_agree(*have, d))", "if (0 && !kni_dims_agree(*have, d))", "ref", "add"),
    ("sum: integers keep their dtype", "src/ops/reduce.c",
     "return infer_axes(c, KNI_FLOATS >> dtype & 1 ? dtype : KN_I64);", "return infer_axes(c, dtype);", "cpu", "sum"),
    ("elementwise strips: a broadcast axis moves on", "src/backend/cpu/elementwise_run.c",
     "spread ? 0 : x->strides[a - shift]", "spread ? 1 : x->strides[a - shift]", "cpu", "add"),
    ("bf16 matmul: the result is cut, not rounded", "src/backend/cpu/tier/gemm_half.h",
     "half[j] = kni_f32_to_bf16(src[j]);", "half[j] = (uint16_t)(kni_bits_f32(src[j]) >> 16);", "cpu", "matmul"),
    ("bf16: conversion cuts, does not round", "src/core/convert.c",
     "#define BF16_OF_F32(x) kni_f32_to_bf16(x)", "#define BF16_OF_F32(x) (uint16_t)(kni_bits_f32(x) >> 16)", "cpu",
     "exp"),
    ("f16 sum: read as bf16", "src/backend/cpu/reduce_entries.c",
     "widen[x->type.dtype == KN_BF16]", "widen[x->type.dtype != KN_BF16]", "cpu", "sum"),
    ("mul: the gradient of bf16 is zero", "src/ops/elementwise.c",
     "kn_mul(v->dy[0], kni_vjp_in(v, 1 - i))",
     "kn_mul(v->dy[0], kn_mul_scalar(kni_vjp_in(v, 1 - i), kn_dtype_of(v->dy[0]) == KN_BF16 ? 0 : 1))",
     "autodiff(cpu)", "mul"),
    ("div: the gradient of b has the wrong sign in bf16", "src/ops/elementwise.c",
     "kni_vjp_set(v, 1, kn_neg(kn_mul(v->dy[0], slope)));",
     "kni_vjp_set(v, 1, kn_mul_scalar(kn_mul(v->dy[0], slope), kn_dtype_of(slope) == KN_BF16 ? 1 : -1));",
     "autodiff(cpu)", "div"),
    ("matmul: the gradient of a is a tenth off in f16", "src/ops/matmul.c",
     "set_matrix(v, 0, kn_matmul(dy, kn_transpose(right, -2, -1)), a);",
     "set_matrix(v, 0, kn_mul_scalar(kn_matmul(dy, kn_transpose(right, -2, -1)),\n"
     "                                   kn_dtype_of(dy) == KN_F16 ? 1.1 : 1), a);", "autodiff(cpu)", "matmul"),
    ("gelu: the slope of the tail is a tenth off", "src/ops/activation.c",
     "exp 0.3989422804014327 mul y mul y normal_cdf", "exp 0.36 mul y mul y normal_cdf", "autodiff(ref)", "gelu"),
    ("dropout: the shift is forgotten", "src/ops/dropout.c",
     "x * scale + shift : dropped", "x * scale : dropped", "ref", "dropout"),
    ("dropout: the scale is a hundred-thousandth off", "src/ops/dropout.c",
     "x * scale + shift : dropped", "x * scale * 1.00001 + shift : dropped", "ref", "dropout"),
    ("thread pool: the last task is forgotten", "src/core/thread_pool.c",
     "if (task >= n) break;", "if (task >= n - 1) break;", "cpu", "exp"),
]


def run(command, folder, log):
    return subprocess.run(command, cwd=folder, stdout=log, stderr=subprocess.STDOUT, check=False)


def refresh(tree):
    """Makes the copy equal to this tree. A file of the same content keeps its time, so that little is built again."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], check=True,
                            stdout=subprocess.PIPE, text=True).stdout.split("\0")
    wanted = {name for name in listed if name and os.path.isfile(name)}
    for name in sorted(wanted):
        source, target = pathlib.Path(name), tree / name
        if not target.exists() or source.read_bytes() != target.read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            shutil.copymode(source, target)
    for target in tree.rglob("*"):
        name = target.relative_to(tree)
        if name.parts[0] != "build" and target.is_file() and str(name) not in wanted:
            target.unlink()


def build(tree, log):
    """Regenerates, then builds; a mutant that does not compile is no mutant."""
    run(["python3", "tools/gen/kernels.py"], tree, log)
    return run(["ninja", "-C", "build", "kiln"], tree, log).returncode == 0


def caught(tree, device, what, log):
    """Whether the suite fails, and by what."""
    result = subprocess.run(["build/kiln", "conform", "--device", device, "--filter", what], cwd=tree, check=False,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
    log.write(result.stdout[-2000:])
    failures = [line for line in result.stdout.splitlines() if line.startswith("FAIL")]
    if failures:
        return True, "%d failed, first %s" % (len(failures), failures[0][5:165])
    return result.returncode != 0, "exit status %d" % result.returncode


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    work = pathlib.Path(sys.argv[1]).resolve()
    chosen = [int(n) for n in sys.argv[2:]] or list(range(1, len(MUTATIONS) + 1))
    tree = work / "tree"
    tree.mkdir(parents=True, exist_ok=True)
    log = open(work / "log.txt", "a")
    refresh(tree)
    if not (tree / "build" / "build.ninja").exists():
        run(["cmake", "-G", "Ninja", "-S", ".", "-B", "build", "-DCMAKE_BUILD_TYPE=Release", "-DKN_TIERS=scalar;v3",
             "-DKN_TESTS=OFF", "-DKN_EXAMPLES=OFF", "-DKN_WERROR=OFF"], tree, log)
    if not build(tree, log):
        sys.exit("the unbroken tree does not build; see log.txt")
    for device, what in sorted({MUTATIONS[number - 1][4:] for number in chosen}):
        found, how = caught(tree, device, what, log)
        if found:
            sys.exit(f"the unbroken tree fails ({device}, {what}: {how})")
    passed = failed = 0
    for number in chosen:
        name, file, old, new, device, what = MUTATIONS[number - 1]
        path = tree / file
        text = path.read_text()
        if text.count(old) < 1:
            print(f"{number:2} STALE   {name}: the text is gone from {file}", flush=True)
            failed += 1
            continue
        path.write_text(text.replace(old, new, 1))
        built = build(tree, log)
        found, how = caught(tree, device, what, log) if built else (False, "does not build")
        path.write_text(text)
        print(f"{number:2} {'caught ' if found else 'MISSED '} {name} ({device}, {what}: {how})", flush=True)
        passed, failed = passed + found, failed + (not found)
    build(tree, log)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
