"""Exports a case by one of PyTorch's exporters and saves it in ONNX's test layout.

A case is a name and a function that gives a module (or a function of tensors) and its arguments. Expected outputs are ONNX Runtime's, or
PyTorch's where that has no kernel for a dtype; a note beside the model says where the two differ."""

import contextlib
import hashlib
import inspect
import io
import shutil
import signal

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import torch
from onnx import numpy_helper
from torch.utils import _pytree as pytree

SCRIPT_OPSETS = (9, 11, 13, 16, 17)
DYNAMO_OPSETS = (18, 20, 21, 23)
NO_KERNEL = ("NOT_IMPLEMENTED", "tensor(bfloat16)", "tensor(float16)", "tensor(double)")
DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f64": torch.float64}
CASES = []
B = {0: "batch"}  # the first axis is open
R = torch.randn


def I(n, *sizes):
    return torch.randint(0, n, sizes)


def case(name, make, dyn=None, alt=None, ts=2, dynamo=1, train=False, least=9, script=False, seconds=120, dtypes=("f32",)):
    """dyn: the open axes of each argument; alt: arguments of other sizes for a second set of data; ts and dynamo: how many opsets of
    each exporter; least: the first opset that has what the case needs."""
    CASES.append(
        dict(
            name=name,
            make=make,
            dyn=dyn,
            alt=alt,
            ts=ts,
            dynamo=dynamo,
            train=train,
            least=least,
            script=script,
            seconds=seconds,
            dtypes=dtypes,
        )
    )


def picked(options, n, key):
    """n of the options, which ones being decided by the key, so that all cases together use all."""
    first = int(hashlib.md5(key.encode()).hexdigest(), 16)
    step = max(len(options) // max(n, 1), 1)
    return [options[(first + i * step) % len(options)] for i in range(min(n, len(options)))]


class Called(torch.nn.Module):
    """A function of tensors as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def tensors(tree):
    return [x for x in pytree.tree_leaves(tree) if isinstance(x, torch.Tensor)]


def copied(tree):
    return pytree.tree_map(lambda x: x.clone() if isinstance(x, torch.Tensor) else x, tree)


def as_dtype(tree, dtype):
    if dtype == "f32" or tree is None:
        return tree
    to = DTYPES[dtype]
    if isinstance(tree, torch.nn.Module):
        return tree.to(to)
    return pytree.tree_map(lambda x: x.to(to) if isinstance(x, torch.Tensor) and x.dtype == torch.float32 else x, tree)


def as_numpy(x):
    x = x.detach().resolve_conj().resolve_neg()
    return x.view(torch.int16).numpy().view(ml_dtypes.bfloat16) if x.dtype == torch.bfloat16 else x.numpy()


def is_axes(x):
    return x is None or (isinstance(x, dict) and all(isinstance(k, int) for k in x))


class Late(Exception):
    pass


def late(*_):
    raise Late("it took too long")


def difference(got, want):
    """What differs between two lists of arrays, in words."""
    if len(got) != len(want):
        return f"{len(got)} outputs, {len(want)} in PyTorch"
    for i, (x, y) in enumerate(zip(got, want)):
        if x.shape != y.shape:
            return f"output {i}: {x.shape}, {y.shape} in PyTorch"
        if y.dtype.kind in "iub":
            if not np.array_equal(x, y):
                return f"output {i}: {np.sum(x != y)} of {x.size} differ"
            continue
        x, y = x.astype(np.float64), y.astype(np.float64)
        off = np.abs(x - y)[np.isfinite(x - y)]
        scale = np.max(np.abs(y[np.isfinite(y)]), initial=1e-6)
        if off.size and off.max() > 2e-3 * scale + 1e-6:
            return f"output {i}: differs by {off.max():.3g} of {scale:.3g}"
    return ""


def save(folder, inputs, outputs):
    folder.mkdir(parents=True)
    for kind, values in (("input", inputs), ("output", outputs)):
        for i, (name, x) in enumerate(values):
            tensor = numpy_helper.from_list(x, name) if isinstance(x, list) else numpy_helper.from_array(np.asarray(x, order="C"), name)
            (folder / f"{kind}_{i}.pb").write_bytes(tensor.SerializeToString())


def write_model(c, module, args, names, kind, opset, path):
    if kind == "dyn":
        shapes = c["dyn"] and pytree.tree_map(lambda s: s and {k: torch.export.Dim.AUTO for k in s}, c["dyn"], is_leaf=is_axes)
        kinds = {p.kind for p in inspect.signature(module.forward).parameters.values()}
        if shapes and inspect.Parameter.VAR_POSITIONAL in kinds:
            shapes = (tuple(shapes),)
        torch.onnx.export(
            module, args, str(path), dynamo=True, opset_version=opset, input_names=names, dynamic_shapes=shapes, verbose=False
        )
        return
    axes = None
    if c["dyn"]:
        given = pytree.tree_leaves(c["dyn"], is_leaf=is_axes)
        axes = {name: dict(s) for name, s in zip(names, given) if s}
    mode = torch.onnx.TrainingMode.TRAINING if c["train"] else torch.onnx.TrainingMode.EVAL
    torch.onnx.export(
        torch.jit.script(module) if c["script"] else module,
        args,
        str(path),
        dynamo=False,
        opset_version=opset,
        input_names=names,
        dynamic_axes=axes,
        training=mode,
        do_constant_folding=not c["train"],
    )


def write_data(module, sets, names, folder):
    """Returns where ONNX Runtime and PyTorch differ."""
    path = folder / "model.onnx"
    model = onnx.load(str(path), load_external_data=False)
    constants = {i.name for i in model.graph.initializer}
    inputs = [i.name for i in model.graph.input if i.name not in constants]
    outputs = [o.name for o in model.graph.output]
    note = ""
    for k, args in enumerate(sets):
        given = dict(zip(names, map(as_numpy, tensors(args))))
        given = {n: given[n] for n in inputs}
        try:
            want = [as_numpy(x) for x in tensors(module(*copied(args)))]
        except Exception:
            want = None
        try:
            session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
            got = session.run(None, given)
            off = "" if want is None or any(isinstance(x, list) for x in got) else difference(got, want)
            note += f"set {k}: {off}\n" if off else ""
        except Late:
            raise
        except Exception as error:
            note += f"set {k}: {str(error)[:200]}\n"
            got = want if any(word in str(error) for word in NO_KERNEL) else None
        if got is not None and len(got) == len(outputs):
            save(folder / f"test_data_set_{k}", list(given.items()), list(zip(outputs, got)))
        elif k == 0:
            raise RuntimeError("no expected outputs: " + note)
    return note


def export(c, kind, opset, dtype, out):
    """Writes one model with its data; returns its name and what went wrong, if anything."""
    name = f"{c['name']}{'' if dtype == 'f32' else '_' + dtype}__{kind}{opset}"
    folder = out / name
    if (folder / "note.txt").exists():
        return name, ""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    torch.manual_seed(0)
    signal.signal(signal.SIGALRM, late)
    signal.alarm(c["seconds"])
    try:
        module, args = c["make"]()
        module = as_dtype(module if isinstance(module, torch.nn.Module) else Called(module), dtype).train(c["train"])
        args, alt = as_dtype(args, dtype), as_dtype(c["alt"]() if c["alt"] else None, dtype)
        names = [f"in{i}" for i in range(len(tensors(args)))]
        words = io.StringIO()
        with contextlib.redirect_stdout(words), contextlib.redirect_stderr(words), torch.no_grad():
            write_model(c, module, copied(args), names, kind, opset, folder / "model.onnx")
            note = write_data(module, [args] if alt is None else [args, alt], names, folder)
        (folder / "note.txt").write_text(note)
        return name, ""
    except Exception as error:
        shutil.rmtree(folder, ignore_errors=True)
        return name, f"{type(error).__name__}: {str(error)[:200]}".replace("\n", " ")
    finally:
        signal.alarm(0)
