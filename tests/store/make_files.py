"""Writes the small files that tests/unit/test_store_files.c reads, with PyTorch, NumPy and safetensors, and the values it
expects as a C table. Run it again only to add files: those that are committed show that old files are still read.

    python tests/store/make_files.py            (needs torch, numpy, ml_dtypes and safetensors)
"""

import argparse
import collections
import io
import os
import pickle
import shutil
import struct
import tarfile
import zipfile

import numpy
import torch

try:
    import safetensors.torch
except ImportError:
    safetensors = None

HERE = os.path.dirname(os.path.abspath(__file__))
FILES = os.path.join(HERE, "files")

TORCH_DTYPES = {
    "f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "i64": torch.int64,
    "i32": torch.int32, "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8, "bool": torch.bool,
    "u16": torch.uint16, "u32": torch.uint32, "u64": torch.uint64,
}
NUMPY_DTYPES = {
    "f64": "f8", "f32": "f4", "f16": "f2", "i64": "i8", "i32": "i4", "i16": "i2", "i8": "i1", "u64": "u8",
    "u32": "u4", "u16": "u2", "u8": "u1", "bool": "b1",
}
VALUES = [[0, 1, 2], [100, 5, 0]]
SIGNED = [[0, -1, 2], [-100, 5, 0]]

expected = []  # file, tensor, dtype, shape, values


def path(name):
    return os.path.join(FILES, name)


def values_for(dtype):
    return VALUES if dtype[0] in "ub" else SIGNED


def expect(file, name, dtype, tensor):
    array = tensor.to(torch.float64).numpy() if isinstance(tensor, torch.Tensor) else numpy.asarray(tensor, "f8")
    expected.append((file, name, dtype, array.shape, array.reshape(-1).tolist()))


def make_torch(name, wanted=None):
    return torch.tensor(values_for(name), dtype=torch.int64).to(TORCH_DTYPES[wanted or name])


def all_dtypes():
    return {name: make_torch(name) for name in TORCH_DTYPES}


def save_torch(file, content, tensors, **options):
    torch.save(content, path(file), **options)
    for name, (dtype, tensor) in tensors.items():
        expect(file, name, dtype, tensor)


def pytorch_dtypes():
    tensors = all_dtypes()
    listed = {name: (name, t) for name, t in tensors.items()}
    save_torch("torch_dtypes.pt", tensors, listed)
    save_torch("torch_dtypes_legacy.pt", tensors, listed, _use_new_zipfile_serialization=False)
    for protocol in (3, 4, 5):
        some = {"f32": tensors["f32"], "i64": tensors["i64"]}
        save_torch("torch_protocol%d.pt" % protocol, some, {k: (k, v) for k, v in some.items()},
                   pickle_protocol=protocol)


def views():
    base = torch.arange(24, dtype=torch.float32).reshape(4, 6)
    return {
        "base": base, "transposed": base.t(), "column": base[:, 2], "steps": base[::2, 1::3], "tail": base[2:],
        "expanded": base[0, :3].expand(2, 3), "scalar": base[1, 1], "empty": base[:0],
        "channels_last": torch.arange(16, dtype=torch.float32).reshape(1, 2, 2, 4).contiguous(
            memory_format=torch.channels_last),
    }


def pytorch_views():
    tensors = views()
    listed = {name: ("f32", t) for name, t in tensors.items()}
    save_torch("torch_views.pt", tensors, listed)
    save_torch("torch_views_legacy.pt", tensors, listed, _use_new_zipfile_serialization=False)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = torch.nn.Linear(3, 4)
        self.norm = torch.nn.BatchNorm1d(4)
        self.fc2 = torch.nn.Linear(4, 2)

    def forward(self, x):
        return self.fc2(self.norm(self.fc1(x)))


def fill(module):
    with torch.no_grad():
        for k, p in enumerate(module.state_dict().values()):
            p.copy_((torch.arange(p.numel()).reshape(p.shape) % 50 + 10 * k).to(p.dtype))
    return module


def pytorch_checkpoints():
    net = fill(Net())
    weights = net.state_dict()
    listed = {k: ("i64" if v.dtype == torch.int64 else "f32", v) for k, v in weights.items()}
    save_torch("net_state.pt", weights, listed)
    save_torch("net_state_legacy.pt", weights, listed, _use_new_zipfile_serialization=False)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.125)
    net(torch.ones(3, 3)).sum().backward()
    optimizer.step()
    fill(net)
    save_torch("net_checkpoint.pt", {"state_dict": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 7,
                                     "loss": 0.25, "note": "hello", "done": True, "nothing": None,
                                     "sizes": [1, 2.5, "x"], "score": numpy.float64(1.5),
                                     "args": argparse.Namespace(depth=3), "empty": collections.OrderedDict(),
                                     "best": torch.tensor(0.5)}, listed)
    parallel = {"module." + k: v for k, v in net.state_dict().items()}
    torch.save({"model": parallel}, path("net_parallel.pt"))
    torch.save({"_orig_mod." + k: v for k, v in net.state_dict().items()}, path("net_compiled.pt"))
    torch.save(torch.nn.Parameter(torch.tensor([1.0, 2.0])), path("bare_parameter.pt"))
    expect("bare_parameter.pt", "tensor", "f32", torch.tensor([1.0, 2.0]))
    torch.save([torch.tensor([1.0]), {"a": torch.tensor([2])}], path("list.pt"))
    expect("list.pt", "0", "f32", torch.tensor([1.0]))
    expect("list.pt", "1.a", "i64", torch.tensor([2]))


def pytorch_attention():
    attention = fill(torch.nn.MultiheadAttention(4, 2))
    torch.save(attention.state_dict(), path("attention.pt"))
    weight = attention.in_proj_weight.detach()
    expect("attention.pt", "in_proj_weight", "f32", weight)


def pytorch_layers():
    """Whole layers with an input and what PyTorch makes of it."""
    torch.manual_seed(3)
    encoder = torch.nn.TransformerEncoder(
        torch.nn.TransformerEncoderLayer(4, 2, 6, dropout=0.0, batch_first=True), 2, enable_nested_tensor=False)
    lstm = torch.nn.LSTM(3, 2, num_layers=2, bidirectional=True)
    for name, module, x in (("transformer.pt", encoder, torch.randn(1, 3, 4)), ("lstm.pt", lstm, torch.randn(4, 2, 3))):
        module.eval()
        y = module(x)
        torch.save({"state_dict": module.state_dict(), "x": x, "y": y[0] if isinstance(y, tuple) else y}, path(name))


def pytorch_refused():
    torch.save({"good": torch.tensor([1.0]), "complex": torch.tensor([1 + 2j]),
                "f8": torch.tensor([1.0]).to(torch.float8_e4m3fn)}, path("torch_complex.pt"))
    expect("torch_complex.pt", "good", "f32", torch.tensor([1.0]))
    expect("torch_complex.pt", "f8", "f8_e4m3", torch.tensor([1.0]))
    with open(path("evil.pt"), "wb") as out:
        archive = zipfile.ZipFile(out, "w")
        archive.writestr("archive/data.pkl", b"\x80\x02cos\nsystem\nq\x00X\x04\x00\x00\x00trueq\x01\x85R.")
        archive.close()


def pytorch_big_endian():
    """What a machine of the other byte order writes: the same archive with swapped storages."""
    content = io.BytesIO()
    tensors = {"f32": make_torch("f32"), "i64": make_torch("i64"), "i16": make_torch("i16"), "u8": make_torch("u8")}
    torch.save(tensors, content)
    sizes = {"0": 4, "1": 8, "2": 2, "3": 1}
    source = zipfile.ZipFile(io.BytesIO(content.getvalue()))
    with zipfile.ZipFile(path("torch_big_endian.pt"), "w") as target:
        for info in source.infolist():
            data = source.read(info)
            folder, last = os.path.split(info.filename)
            if folder.endswith("/data"):
                data = numpy.frombuffer(data, "u%d" % sizes[last]).byteswap().tobytes()
            if last == "byteorder":
                data = b"big"
            target.writestr(info.filename, data)
    for name, tensor in tensors.items():
        expect("torch_big_endian.pt", name, name, tensor)


def pytorch_compressed():
    content = io.BytesIO()
    tensor = torch.arange(40, dtype=torch.float32)
    torch.save({"long": tensor}, content)
    source = zipfile.ZipFile(io.BytesIO(content.getvalue()))
    with zipfile.ZipFile(path("torch_deflated.pt"), "w", zipfile.ZIP_DEFLATED) as target:
        for info in source.infolist():
            target.writestr(info.filename, source.read(info))
    expect("torch_deflated.pt", "long", "f32", tensor)


def pytorch_tar():
    """PyTorch's form of 2016, which no version writes any more: storages, tensors and a pickle in a tar archive."""
    members = {}
    out = io.BytesIO()
    pickle.dump(2, out, 2)
    for key, kind, data in ((11, torch.FloatStorage, numpy.arange(6, dtype="f4")),
                            (12, torch.LongStorage, numpy.array([3, -4], "i8"))):
        pickle.dump((key, "cpu", kind), out, 2)
        out.write(struct.pack("<q", data.size) + data.tobytes())
    pickle.dump([(13, 11, 2, 4)], out, 2)
    members["storages"] = out.getvalue()
    out = io.BytesIO()
    pickle.dump(3, out, 2)
    for key, storage, size, stride, offset in ((1, 11, (2, 3), (3, 1), 0), (2, 12, (2,), (1,), 0),
                                               (3, 13, (2, 2), (1, 2), 0)):
        pickle.dump((key, storage, torch.FloatTensor), out, 2)
        out.write(struct.pack("<ii", len(size), 0) + struct.pack("<%dq" % len(size), *size))
        out.write(struct.pack("<%dq" % len(size), *stride) + struct.pack("<q", offset))
    members["tensors"] = out.getvalue()

    class Pickler(pickle.Pickler):
        def persistent_id(self, obj):
            return obj[1] if isinstance(obj, tuple) and obj[:1] == ("tensor",) else None

    out = io.BytesIO()
    Pickler(out, 2).dump(collections.OrderedDict(a=("tensor", 1), b=("tensor", 2), view=("tensor", 3)))
    members["pickle"] = out.getvalue()
    members["sys_info"] = pickle.dumps({"protocol_version": 1000}, 2)
    with tarfile.open(path("torch_tar.pt"), "w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    loaded = torch.load(path("torch_tar.pt"), weights_only=False)
    expect("torch_tar.pt", "a", "f32", loaded["a"])
    expect("torch_tar.pt", "b", "i64", loaded["b"])
    expect("torch_tar.pt", "view", "f32", loaded["view"])


def numpy_files():
    arrays = {name: numpy.array(values_for(name)).astype(code) for name, code in NUMPY_DTYPES.items()}
    numpy.savez(path("numpy_dtypes.npz"), **arrays)
    numpy.savez_compressed(path("numpy_compressed.npz"), **arrays)
    for name, array in arrays.items():
        expect("numpy_dtypes.npz", name, name, array)
        expect("numpy_compressed.npz", name, name, array)
    numpy.savez_compressed(path("numpy_zeros.npz"), zeros=numpy.zeros(20 << 20, dtype="u1"))
    big = {name: array.astype(array.dtype.newbyteorder(">")) for name, array in arrays.items()}
    numpy.savez(path("numpy_big_endian.npz"), **big)
    for name, array in arrays.items():
        expect("numpy_big_endian.npz", name, name, array)
    plain = numpy.arange(12, dtype="f4").reshape(3, 4)
    numpy.save(path("plain.npy"), plain)
    expect("plain.npy", "value", "f32", plain)
    numpy.save(path("fortran.npy"), numpy.asfortranarray(plain))
    expect("fortran.npy", "value", "f32", plain)
    numpy.save(path("scalar.npy"), numpy.float64(2.5))
    expect("scalar.npy", "value", "f64", numpy.float64(2.5))
    numpy.save(path("empty.npy"), numpy.zeros((0, 3), "i4"))
    expect("empty.npy", "value", "i32", numpy.zeros((0, 3)))
    for version in ((2, 0), (3, 0)):
        with open(path("version%d.npy" % version[0]), "wb") as out:
            numpy.lib.format.write_array(out, plain, version)
        expect("version%d.npy" % version[0], "value", "f32", plain)
    numpy.save(path("complex.npy"), numpy.array([1 + 2j]))
    numpy.save(path("text.npy"), numpy.array(["a", "b"]))
    numpy.save(path("records.npy"), numpy.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f4")]))


def safetensors_files():
    if safetensors is None:
        raise SystemExit("make_files.py: install safetensors")
    tensors = all_dtypes()
    safetensors.torch.save_file(tensors, path("dtypes.safetensors"), metadata={"who": "safetensors", "n": "1"})
    for name, tensor in tensors.items():
        expect("dtypes.safetensors", name, name, tensor)
    safetensors.torch.save_file({"f8": torch.tensor([1.0, 2.0]).to(torch.float8_e4m3fn), "good": torch.ones(2),
                                 "empty": torch.zeros(0, 3), "scalar": torch.tensor(3.0)}, path("more.safetensors"))
    expect("more.safetensors", "f8", "f8_e4m3", torch.tensor([1.0, 2.0]))
    expect("more.safetensors", "good", "f32", torch.ones(2))
    expect("more.safetensors", "empty", "f32", torch.zeros(0, 3))
    expect("more.safetensors", "scalar", "f32", torch.tensor(3.0))


STORED = {"f8_e4m3": "float8_e4m3fn", "f8_e5m2": "float8_e5m2", "f8_e4m3_fnuz": "float8_e4m3fnuz",
          "f8_e5m2_fnuz": "float8_e5m2fnuz", "e8m0": "float8_e8m0fnu"}


def stored_dtypes():
    """Types that Kiln only stores, as PyTorch, safetensors and ml_dtypes write them."""
    values = torch.tensor([[0.5, 1, 2], [4, 8, 64]])
    tensors = {name: values.to(getattr(torch, theirs)) for name, theirs in STORED.items()}
    listed = {name: (name, values) for name in tensors}
    save_torch("torch_stored.pt", tensors, listed)
    save_torch("torch_stored_views.pt",
               {"t": tensors["f8_e4m3"].t(), "f4": torch.zeros(2, dtype=torch.uint8).view(torch.float4_e2m1fn_x2)},
               {"t": ("f8_e4m3", values.t())})
    packed = dict(tensors, f4_e2m1=torch.tensor([[0x31, 0x75], [0xE4, 0x2A]], dtype=torch.uint8)
                  .view(torch.float4_e2m1fn_x2))
    safetensors.torch.save_file(packed, path("stored.safetensors"))
    for name in tensors:
        expect("stored.safetensors", name, name, values)
    expect("stored.safetensors", "f4_e2m1", "f4_e2m1", torch.tensor([[0.5, 1.5, 3, 6], [2, -4, -1, 1]]))
    import ml_dtypes
    numpy.save(path("ml_e5m2.npy"), numpy.array([1, -2, 3], ml_dtypes.float8_e5m2))
    expect("ml_e5m2.npy", "value", "f8_e5m2", numpy.array([1.0, -2, 3]))
    numpy.save(path("ml_e4m3.npy"), numpy.array([1, -2, 3], ml_dtypes.float8_e4m3fn))


def write_table():
    with open(os.path.join(HERE, "expected_files.inc"), "w") as out:
        out.write("/* Written by tests/store/make_files.py: file, tensor, dtype, rank, sizes, count, values. */\n")
        for file, name, dtype, shape, values in expected:
            sizes = ", ".join(str(n) for n in shape) or "0"
            numbers = ", ".join(repr(v) for v in values) or "0"
            out.write('{"%s", "%s", KN_%s, %d, {%s}, %d, {%s}},\n'
                      % (file, name, dtype.upper(), len(shape), sizes, len(values), numbers))


def fuzz_seeds():
    """Small files of every form for the fuzzers in tests/fuzz."""
    seeds = os.path.join(HERE, "..", "fuzz", "seeds")
    chosen = {
        "safetensors": ["dtypes.safetensors", "more.safetensors", "stored.safetensors"],
        "npy": ["plain.npy", "fortran.npy", "scalar.npy", "empty.npy", "version2.npy", "version3.npy", "text.npy",
                "records.npy", "complex.npy", "ml_e5m2.npy", "ml_e4m3.npy"],
        "pytorch": ["list.pt", "torch_views.pt", "torch_views_legacy.pt", "net_state_legacy.pt", "torch_complex.pt",
                    "torch_deflated.pt", "torch_protocol5.pt", "torch_tar.pt", "torch_stored.pt"],
    }
    for parser, names in chosen.items():
        os.makedirs(os.path.join(seeds, parser), exist_ok=True)
        for name in names:
            shutil.copy(path(name), os.path.join(seeds, parser, name))
    os.makedirs(os.path.join(seeds, "npz"), exist_ok=True)
    numpy.savez(os.path.join(seeds, "npz", "tiny.npz"), a=numpy.arange(3, dtype="f4"), b=numpy.int8(1))
    numpy.savez_compressed(os.path.join(seeds, "npz", "compressed.npz"), a=numpy.arange(30, dtype="i2"))
    os.makedirs(os.path.join(seeds, "pickle"), exist_ok=True)
    for name in ("list", "net_checkpoint", "torch_complex", "torch_protocol4", "evil"):
        archive = zipfile.ZipFile(path(name + ".pt"))
        inside = [n for n in archive.namelist() if n.endswith("data.pkl")]
        with open(os.path.join(seeds, "pickle", name + ".pkl"), "wb") as out:
            out.write(archive.read(inside[0]))


def main():
    os.makedirs(FILES, exist_ok=True)
    torch.manual_seed(0)
    for step in (pytorch_dtypes, pytorch_views, pytorch_checkpoints, pytorch_attention, pytorch_layers, pytorch_refused,
                 pytorch_big_endian, pytorch_compressed, pytorch_tar, numpy_files, safetensors_files, stored_dtypes):
        step()
    write_table()
    fuzz_seeds()


if __name__ == "__main__":
    main()
