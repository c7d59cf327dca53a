"""Ways 1 and 3 of compare_models.py: writes a model as C with `kiln import`, compiles it without a warning, and runs it."""
import os
import pathlib
import re
import subprocess
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
# By the library's names and by those in a freestanding file.
DTYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "i64": np.int64, "i32": np.int32, "i16": np.int16, "i8": np.int8,
          "u64": np.uint64, "u32": np.uint32, "u16": np.uint16, "u8": np.uint8, "bool": np.bool_}

LIBRARY = """#define KN_NO_SITES 1
#include "model.h"
#include <stdio.h>
#include <stdlib.h>

static model m;

static kn_tensor given(const char *path, size_t bytes, kn_dtype dtype, kn_shape shape)
{
    FILE *file = fopen(path, "rb");
    void *data = malloc(bytes + 1);
    if (!file || !data || fread(data, 1, bytes, file) != bytes) exit(2);
    fclose(file);
    kn_tensor t = kn_keep(kn_from(data, dtype, shape));
    free(data);
    return t;
}

static int write_out(const char *path, kn_tensor t)
{
    size_t bytes = (size_t)kn_dtype_bytes(kn_dtype_of(t), kn_count(t));
    void *data = malloc(bytes + 1);
    FILE *file = fopen(path, "wb");
    if (!kn_ok(t) || !data || !file || kn_read(t, data, bytes)) return fprintf(stderr, "%s\\n", kn_last_error()), 1;
    fwrite(data, 1, bytes, file);
    fclose(file);
    free(data);
    printf("%s", kn_dtype_name(kn_dtype_of(t)));
    for (int i = 0; i < kn_rank(t); i++) printf(" %lld", (long long)kn_size(t, i));
    printf("\\n");
    return 0;
}

int main(void)
{
    kn_tensor out[512];
    if (model_load(&m, "model.safetensors")) return fprintf(stderr, "%s\\n", kn_last_error()), 1;
@GIVEN@    kn_scope scope = kn_scope_begin();
    @CALL@;
@WRITTEN@    kn_scope_end(scope, KN_NONE);
    model_free(&m);
    return 0;
}
"""

FREESTANDING = """#define model_HEADER
#include "model.c"
#include <stdio.h>
#include <stdlib.h>

static void *room(size_t bytes, const char *path, int reads)
{
    char *data = calloc(bytes + 64, 1);
    FILE *file = reads ? fopen(path, "rb") : NULL;
    if (!data || (reads && (!file || fread(data, 1, bytes, file) != bytes))) exit(2);
    if (file) fclose(file);
    return data;
}

static void write_out(const char *path, const void *data, size_t bytes)
{
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, bytes, file) != bytes) exit(3);
    fclose(file);
}

int main(void)
{
@GIVEN@    int code = @CALL@;
    if (code) return fprintf(stderr, "the program returned %d\\n", code), 1;
@WRITTEN@    return 0;
}
"""


def checked(command, folder, limit):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", check=False, timeout=limit)
    if done.returncode:
        lines = [x for x in (done.stderr + done.stdout).strip().splitlines() if x.strip()]
        error = next((x for x in lines if "error" in x or "warning" in x), lines[-1] if lines else "")
        raise ValueError(f"{pathlib.Path(command[0]).name}: {error or done.returncode}")
    return done.stdout


def write(given, folder, path, values, fixed, sized):
    """The files of kiln import; returns the seconds it took. sized: axes of inputs that get their size; None: all."""
    command = [str(given.kiln.resolve()), "import", str(path.resolve()), "-o", str(folder), "--name", "model"]
    command += ["--standalone"] if given.way == 3 else []
    for i, (name, value) in enumerate(values.items()):
        if name in fixed:
            np.save(folder.parent / f"value{i}.npy", value)
            command += ["--value", f"{name}={folder.parent / f'value{i}.npy'}"]
            continue
        for axis, size in enumerate(value.shape):
            if given.way == 3 or sized is None or f"{name}.{axis}" in sized:
                command += ["--dim", f"{name}.{axis}={size}"]
    begun = time.perf_counter()
    checked(command, folder.parent, given.limit)
    return time.perf_counter() - begun


def library_calls(values, n_out):
    lines, names = [], []
    for i, value in enumerate(values):
        kind = next(k for k, v in DTYPES.items() if v == value.dtype.type)
        shape = f"KN_SHAPE({', '.join(map(str, value.shape))})" if value.ndim else "KN_SCALAR_SHAPE"
        lines.append(f'    kn_tensor in{i} = given("in{i}", {value.nbytes}, KN_{kind.upper()}, {shape});\n')
        names.append(f", in{i}")
    call = f"out[0] = model_forward(&m{''.join(names)})" if n_out == 1 else \
        f'if (model_forward(&m{"".join(names)}, out)) return fprintf(stderr, "%s\\n", kn_last_error()), 1'
    written = "".join(f'    if (write_out("out{i}", out[{i}])) return 1;\n' for i in range(n_out))
    return LIBRARY.replace("@GIVEN@", "".join(lines)).replace("@CALL@", call).replace("@WRITTEN@", written)


def freestanding_calls(values, outputs):
    lines = [f'    void *in{i} = room({value.nbytes}, "in{i}", 1);\n' for i, value in enumerate(values)]
    sizes = [int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize for dtype, shape in outputs]
    lines += [f'    void *out{i} = room({size}, "", 0);\n' for i, size in enumerate(sizes)]
    names = [f"in{i}" for i in range(len(values))] + [f"out{i}" for i in range(len(outputs))]
    written = "".join(f'    write_out("out{i}", out{i}, {size});\n' for i, size in enumerate(sizes))
    return FREESTANDING.replace("@GIVEN@", "".join(lines)).replace("@CALL@", f"model_run({', '.join(names)})").replace("@WRITTEN@", written)


BOARD = """#define model_HEADER
#include "model.c"
#include "semihosting.h"

@GIVEN@
static int differs(const unsigned char *a, const unsigned char *b, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (a[i] != b[i]) return 1;
    return 0;
}

int main(void)
{
    int code = @CALL@;
    semihosting_exit(code ? 2 : @COMPARED@);
}
"""


def on_board(folder, values, outputs, limit):
    """Compiles the file for a Cortex-M4F, runs it on an emulated mps2-an386 and expects the bytes that this machine has computed."""
    smoke = ROOT / "tests" / "smoke" / "cortex_m"
    given, names, compared = [], [], []

    def array(name, data, kind):
        given.append(f"static {kind} unsigned char {name}[] __attribute__((aligned(8))) = {{{','.join(map(str, data)) or '0'}}};\n")

    for i, value in enumerate(values):
        array(f"in{i}", np.ascontiguousarray(value).tobytes(), "const")
        names.append(f"(const void *)in{i}")
    for i in range(len(outputs)):
        data = (folder / f"out{i}").read_bytes()
        array(f"expected{i}", data, "const")
        given.append(f"static unsigned char out{i}[{len(data)}] __attribute__((aligned(8)));\n")
        names.append(f"(void *)out{i}")
        compared.append(f"differs(out{i}, expected{i}, {len(data)})")
    text = BOARD.replace("@GIVEN@", "".join(given)).replace("@CALL@", f"model_run({', '.join(names)})")
    (folder / "board.c").write_text(text.replace("@COMPARED@", " || ".join(compared)))
    flags = ["-Os", "-ffreestanding", "-nostdlib", "-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"]
    checked(["arm-none-eabi-gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", *flags, "-c", "model.c", "-o", "board_model.o"], folder, limit)
    checked(["arm-none-eabi-gcc", "-std=c11", *flags, f"-I{smoke}", "-T", str(smoke / "image.ld"), "board.c", "board_model.o",
             str(smoke / "startup.c"), str(smoke / "semihosting.c"), "-lgcc", "-o", "board.elf"], folder, limit)
    checked(["qemu-system-arm", "-M", "mps2-an386", "-nographic", "-monitor", "none", "-serial", "none", "-semihosting-config",
             "enable=on,target=native", "-kernel", "board.elf"], folder, limit)


def outputs_of_head(text):
    """(dtype, shape) of each result of a freestanding file."""
    found = re.findall(r"^   out\d+\w*: (\w+)\[(.*?)\]$", text[:60000].split("*/")[0], re.M)
    return [(DTYPES[kind], tuple(int(x) for x in dims.split(",") if x.strip())) for kind, dims in found]


def run(given, folder, path, values, fixed, names, sized):
    """The outputs. The seconds of the import and the compiler are told."""
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    wrote = write(given, folder, path, values, fixed, sized)
    left = [value for name, value in values.items() if name not in fixed]
    for i, value in enumerate(left):
        np.ascontiguousarray(value).tofile(folder / f"in{i}")
    compiler = os.environ.get("CC", "cc")
    build = given.kiln.resolve().parent
    begun = time.perf_counter()
    if given.way == 1:
        (folder / "main.c").write_text(library_calls(left, len(names)))
        include = ["-I", str(ROOT / "include"), "-I", str(build / "include")]
        checked([compiler, "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", *include, "-c", "model.c"], folder, given.limit)
        took = time.perf_counter() - begun
        checked([compiler, "-std=c11", *include, "main.c", "model.o", "-o", "main", "-L", str(build), "-lkiln", f"-Wl,-rpath,{build}"],
                folder, given.limit)
    else:
        checked([compiler, "-std=c99", "-O2", "-ffreestanding", "-nostdlib", "-Wall", "-Wextra", "-Werror", "-c", "model.c"], folder,
                given.limit)
        took = time.perf_counter() - begun
        outputs = outputs_of_head((folder / "model.c").read_text()[:60000])
        (folder / "main.c").write_text(freestanding_calls(left, outputs))
        checked([compiler, "-std=c99", "main.c", "model.o", "-o", "main"], folder, given.limit)
    lines = checked([str(folder / "main")], folder, given.limit).splitlines()
    if given.way == 1:
        outputs = [(DTYPES[words[0]], tuple(map(int, words[1:]))) for words in map(str.split, lines)]
    if given.way == 3 and given.cortex_m:
        on_board(folder, left, outputs, given.limit)
    results = [np.fromfile(folder / f"out{i}", dtype).reshape(shape) for i, (dtype, shape) in enumerate(outputs)]
    given.took = f"import {wrote:.1f} s, compiler {took:.1f} s" + (", the same bits on a Cortex-M4F" if given.cortex_m else "")
    return results
