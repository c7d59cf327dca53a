"""Compares Kiln's casts from and to the dtypes that are only stored with ml_dtypes and PyTorch: every code to f32 and f64; every
f16 and bf16, a sample of f32 and f64 and the neighbours of every value and midpoint to every dtype, saturating or not; every i8,
u8, i16 to the integers. Then DLPack with PyTorch, both ways. The last line is 'N passed, N failed'.

Usage: stored_agreement.py [--library build/release/libkiln.so] [--device cpu]... [--sample N] [--seed N]
DIFFERENCES says what is meant where they differ; a line that explains nothing any more fails the run. A device that cannot be
opened is named and left out, unless it is the only one."""

import argparse
import ctypes as c
import sys
import warnings

import ml_dtypes
import numpy as np
import torch

KN = {"f64": 1, "f32": 2, "f16": 3, "bf16": 4, "i64": 5, "i32": 6, "i16": 7, "i8": 8, "u8": 12}
# Kiln's code, its name, ml_dtypes' and PyTorch's.
FLOATS = [(14, "f8_e4m3", "float8_e4m3fn"), (15, "f8_e5m2", "float8_e5m2"), (16, "f8_e4m3_fnuz", "float8_e4m3fnuz"),
          (17, "f8_e5m2_fnuz", "float8_e5m2fnuz"), (18, "f4_e2m1", "float4_e2m1fn"), (19, "e8m0", "float8_e8m0fnu")]
INTEGERS = [(20, "i4", "int4"), (21, "u4", "uint4"), (22, "i2", "int2"), (23, "u2", "uint2")]
NUMPY = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "i8": np.int8,
         "u8": np.uint8, "i16": np.int16, "i32": np.int32, "i64": np.int64}


class Handle(c.Structure):
    _fields_ = [("bits", c.c_uint64)]


class Shape(c.Structure):
    _fields_ = [("rank", c.c_int32), ("dims", c.c_int64 * 8)]


class Kiln:
    def __init__(self, path):
        self.lib = c.CDLL(path)
        for name in ("kn_from", "kn_cast", "kn_cast_saturate", "kn_from_dlpack_versioned"):
            getattr(self.lib, name).restype = Handle
        self.lib.kn_last_error.restype = c.c_char_p
        for name in ("kn_device_open", "kn_to_dlpack_versioned"):
            getattr(self.lib, name).restype = c.c_void_p

    def error(self):
        return self.lib.kn_last_error().decode(errors="replace")

    def use(self, device):
        handle = self.lib.kn_device_open(device.encode())
        if handle:
            self.lib.kn_device_use(c.c_void_p(handle))
        return bool(handle)

    def tensor(self, array, dtype):
        shape = Shape(array.ndim, (c.c_int64 * 8)(*array.shape))
        return self.lib.kn_from(c.c_void_p(array.ctypes.data), c.c_int(dtype), shape)

    def read(self, tensor, dtype, count):
        out = np.empty(count, dtype)
        if self.lib.kn_read(tensor, c.c_void_p(out.ctypes.data), c.c_size_t(out.nbytes)):
            raise RuntimeError(self.error())
        return out

    def cast(self, array, dtype, to, out, saturate=False):
        array = np.ascontiguousarray(array)
        call = self.lib.kn_cast_saturate if saturate else self.lib.kn_cast
        return self.read(call(self.tensor(array, dtype), c.c_int(to)), out, array.size)


# ---- what is meant where they differ: (library, dtype, saturating) -> (where, reason)

DIFFERENCES = {
    ("PyTorch", "f8_e4m3", False): (lambda x: np.abs(x) > 464, "PyTorch always saturates to 448; Kiln gives NaN, as ml_dtypes does, "
                                    "and 448 with kn_cast_saturate"),
    ("PyTorch", "e8m0", False): (lambda x: x < 0, "PyTorch drops the sign; Kiln gives NaN, as ml_dtypes does"),
    ("ml_dtypes", "e8m0", False): (lambda x: x == 0, "ml_dtypes gives NaN for 0; Kiln the smallest power, as PyTorch does"),
    ("ml_dtypes", "e8m0", True): (lambda x: x == 0, "as without saturation"),
    ("ml_dtypes", "f4_e2m1", False): (np.isnan, "the type has no NaN: ml_dtypes gives a zero whose sign follows from NaN's; Kiln "
                                      "negative zero, since devices keep no sign of NaN"),
    ("ml_dtypes", "f4_e2m1", True): (np.isnan, "as without saturation"),
}
# PyTorch 2.11 gives NaN beyond 464, as Kiln does; 2.15 saturates.
BY_VERSION = {("PyTorch", "f8_e4m3", False)}


class Report:
    def __init__(self):
        self.passed = self.failed = 0
        self.used = set()

    def note(self, good, text):
        self.passed += bool(good)
        self.failed += not good
        if not good:
            print("FAIL " + text)

    def compare(self, what, x, got, want, values, key=None):
        """Codes are equal, or both are NaN; or a difference that is listed, and no other."""
        a, b = values[got], values[want]
        wrong = (got != want) & ~(np.isnan(a) & np.isnan(b))
        where, _ = DIFFERENCES.get(key, (None, ""))
        if where is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                explained = where(x.astype(np.float64))
            if (wrong & explained).any():
                self.used.add(key)
            wrong &= ~explained
        text = ""
        if wrong.any():
            i = int(np.argmax(wrong))
            text = ": %d of %d differ, first %r: code %d (%r) instead of %d (%r)" % (
                wrong.sum(), wrong.size, float(x[i]), got[i], float(a[i]), want[i], float(b[i]))
        self.note(not wrong.any(), what + text)


# ---- inputs


def all_bits(name):
    return np.arange(65536, dtype=np.uint16).view(NUMPY[name])


def neighbours(values, dtype):
    """Each value and each midpoint of two that follow each other, with the numbers next to them, and what is far out."""
    v = np.unique(values[np.isfinite(values)])
    points = np.concatenate([v, (v[1:] + v[:-1]) / 2, [1.5 * v[-1], 1.5 * v[0], 2 * v[-1], 0.5 * np.abs(v[v != 0]).min()]])
    far = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1e30, -1e30, 3e38]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        points = np.concatenate([points, far]).astype(dtype)
    up, down = np.nextafter(points, dtype(np.inf)), np.nextafter(points, dtype(-np.inf))
    return np.concatenate([points, up, down])


def inputs(values, sample, seed):
    random = np.random.default_rng(seed)
    yield "f16", all_bits("f16")
    yield "bf16", all_bits("bf16")
    bits = random.integers(0, 1 << 32, sample, dtype=np.uint32).view(np.float32)
    near = (random.normal(size=sample) * np.exp2(random.integers(-20, 18, sample))).astype(np.float32)
    yield "f32", np.concatenate([neighbours(values, np.float32), bits, near])
    yield "f64", np.concatenate([neighbours(values, np.float64), near.astype(np.float64) * (1 + 2**-40)])


# ---- checks


def single(x):
    """f64 as f32, rounded to odd: rounded again to any small type it gives what one rounding gives. The libraries round to
    nearest twice."""
    if x.dtype != np.float64:
        return x
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = x.astype(np.float32)
        toward = np.where(np.abs(y.astype(np.float64)) > np.abs(x), np.nextafter(y, np.float32(0)), y)
    exact = (toward.astype(np.float64) == x) | np.isnan(x)
    bits = toward.view(np.uint32)
    return np.where(exact, bits, bits | 1).astype(np.uint32).view(np.float32)


def to_torch(array):
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def check_codes(k, report, device, code, name, theirs):
    bits = 8 if name.startswith(("f8", "e8")) else 4 if name.startswith("f4") or name[1] == "4" else 2
    codes = np.arange(1 << bits, dtype=np.uint8)
    want = codes.view(getattr(ml_dtypes, theirs)).astype(np.float64)
    for out in ("f32", "f64"):
        got = k.cast(codes, code, KN[out], NUMPY[out]).astype(np.float64)
        same = (got == want) & (np.signbit(got) == np.signbit(want)) | np.isnan(got) & np.isnan(want)
        report.note(same.all(), "%s %s to %s as ml_dtypes" % (device, name, out))
    if hasattr(torch, theirs) and bits == 8:
        got = torch.from_numpy(codes.copy()).view(getattr(torch, theirs)).to(torch.float32).numpy().astype(np.float64)
        same = (got == want) | np.isnan(got) & np.isnan(want)
        report.note(same.all(), "%s %s to f32 as PyTorch" % (device, name))
    return want


def check_float(k, report, device, row, sample, seed):
    code, name, theirs = row
    values = check_codes(k, report, device, *row)
    high, low = np.nanmax(np.where(np.isinf(values), np.nan, values)), np.nanmin(np.where(np.isinf(values), np.nan, values))
    for source, x in inputs(values, sample, seed):
        what = "%s %s to %s" % (device, source, name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ml = single(x).astype(getattr(ml_dtypes, theirs)).view(np.uint8)
            inside = np.clip(single(x).astype(np.float32), low if name != "e8m0" else -np.inf, high)
            saturated = inside.astype(getattr(ml_dtypes, theirs)).view(np.uint8)
        got = k.cast(x, KN[source], code, np.uint8)
        report.compare(what + " as ml_dtypes", x, got, ml, values, ("ml_dtypes", name, False))
        got_saturated = k.cast(x, KN[source], code, np.uint8, True)
        report.compare(what + " saturated, as ml_dtypes of what is cut", x, got_saturated, saturated, values,
                       ("ml_dtypes", name, True))
        if hasattr(torch, theirs):
            pt = to_torch(single(x)).to(getattr(torch, theirs)).view(torch.uint8).numpy()
            report.compare(what + " as PyTorch", x, got, pt, values, ("PyTorch", name, False))


def check_integer(k, report, device, row):
    code, name, theirs = row
    values = check_codes(k, report, device, *row)
    low, high = int(values.min()), int(values.max())
    for source, x in (("i8", np.arange(-128, 128).astype(np.int8)), ("u8", np.arange(256).astype(np.uint8)),
                      ("i16", np.arange(-32768, 32768).astype(np.int16)),
                      ("f32", np.linspace(low, high + 0.99, 5000).astype(np.float32)), ("f16", np.linspace(low, high + 0.9, 500).astype(np.float16))):
        what = "%s %s to %s" % (device, source, name)
        want = x.astype(getattr(ml_dtypes, theirs)).view(np.uint8)
        report.compare(what + " as ml_dtypes", x, k.cast(x, KN[source], code, np.uint8), want, values, ("ml_dtypes", name, False))
        want = np.clip(x, low, high).astype(getattr(ml_dtypes, theirs)).view(np.uint8)
        report.compare(what + " saturated", x, k.cast(x, KN[source], code, np.uint8, True), want, values, ("ml_dtypes", name, True))


# ---- DLPack

NAME = b"dltensor_versioned"


class Capsule:
    def __init__(self, pointer):
        new = c.pythonapi.PyCapsule_New
        new.restype, new.argtypes = c.py_object, [c.c_void_p, c.c_char_p, c.c_void_p]
        self.capsule = new(pointer, NAME, None)

    def __dlpack__(self, **_):
        return self.capsule

    def __dlpack_device__(self):
        return (1, 0)


def check_dlpack(k, report):
    get = c.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = c.c_void_p, [c.py_object, c.c_char_p]
    rename = c.pythonapi.PyCapsule_SetName
    rename.argtypes = [c.py_object, c.c_char_p]
    k.use("cpu")
    for code, name, theirs in FLOATS + [(2, "f32", "float32"), (4, "bf16", "bfloat16"), (6, "i32", "int32")]:
        pairs = theirs == "float4_e2m1fn"
        dtype = getattr(torch, theirs + "_x2" if pairs else theirs)
        x = torch.arange(96, dtype=torch.uint8).reshape(4, 24).view(dtype)
        capsule = x.__dlpack__(max_version=(1, 1))
        y = k.lib.kn_from_dlpack_versioned(c.c_void_p(get(capsule, NAME)))
        rename(capsule, b"used_dltensor_versioned")  # Kiln calls the deleter
        report.note(k.lib.kn_dtype_of(y) == code, "%s from PyTorch by DLPack" % name)
        k.lib.kn_keep.restype = Handle
        y = k.lib.kn_keep(y)
        bytes_ = x.view(torch.uint8).numpy().reshape(-1)
        want = np.stack([bytes_ & 15, bytes_ >> 4], -1).reshape(-1) if pairs else bytes_
        report.note((k.read(y, np.uint8, want.size) == want).all(), "%s from PyTorch by DLPack: the bytes" % name)
        if pairs:
            continue  # PyTorch has no type of one element of four bits
        out = k.lib.kn_to_dlpack_versioned(y, c.c_bool(True))
        z = torch.from_dlpack(Capsule(out))
        report.note(z.dtype == dtype and z.shape == x.shape and bool((z.view(torch.uint8) == x.view(torch.uint8)).all()),
                    "%s to PyTorch by DLPack" % name)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", default="build/release/libkiln.so")
    parser.add_argument("--device", action="append")
    parser.add_argument("--sample", type=int, default=1 << 20)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    k, report, opened = Kiln(args.library), Report(), 0
    for device in args.device or ["ref", "cpu", "opencl:0", "cuda:0"]:
        if not k.use(device):
            print("skip %s: %s" % (device, k.error()))
            continue
        opened += 1
        for row in FLOATS:
            check_float(k, report, device, row, args.sample, args.seed)
        for row in INTEGERS:
            check_integer(k, report, device, row)
    report.note(opened > 0, "a device can be opened")
    check_dlpack(k, report)
    for key in sorted(set(DIFFERENCES) - BY_VERSION - report.used, key=str):
        report.note(False, "the difference %s explains nothing any more" % (key,))
    for key in sorted(report.used, key=str):
        print("differs as meant: %s %s%s: %s" % (key[0], key[1], " saturated" if key[2] else "", DIFFERENCES[key][1]))
    print("%d passed, %d failed" % (report.passed, report.failed))
    return report.failed != 0


if __name__ == "__main__":
    sys.exit(main())
