"""Tensors from nothing: constants, ranges, masks, one-hot rows and random numbers."""

import numpy
import torch
from conform import ALL, FLOATS, INTS, NUMBERS, SIGNED, ShapeOnly, code

def same(dtype):
    return dtype


def dtype_of(dtype):
    return code(dtype)


def constants(g):
    for shape in ([3, 4], [], [0, 2], [1, 1, 2, 1, 1, 3, 1, 1]):
        for op, value in (("zeros", 0), ("ones", 1), ("empty", None)):
            g.add(op, [], attrs={"shape": shape, "dtype": dtype_of}, dtypes=ALL, out=same, covers=["full"],
                  expect=lambda s=shape, v=value: ShapeOnly(*s) if v is None else numpy.full(s, v))
    g.add("full_of", [], attrs={"shape": [5], "dtype": dtype_of, "value": -2.75}, dtypes=FLOATS, covers=["full"],
          out=same, expect=lambda: numpy.full(5, -2.75))
    g.add("full_of", [], attrs={"shape": [5], "dtype": dtype_of, "value": -2.75}, dtypes=SIGNED, covers=["full"],
          out=same, expect=lambda: numpy.full(5, -2))
    g.add("full_of", [], attrs={"shape": [3], "dtype": dtype_of, "value": float("nan")}, dtypes=FLOATS, out=same,
          covers=["full"], expect=lambda: numpy.full(3, numpy.nan), name="nan")
    g.add("full_of", [], attrs={"shape": [3], "dtype": dtype_of, "value": 0.5}, dtypes=["bool"], out=same,
          covers=["full"], expect=lambda: numpy.full(3, True))
    g.add("full_int", [], attrs={"shape": [3], "dtype": code("i64"), "value": 2**53 + 1}, dtypes=["i64"], out="i64",
          covers=["full"], expect=lambda: numpy.full(3, 2**53 + 1))
    g.add("full", [], attrs={"shape": [2, 3], "dtype": dtype_of, "value": 3.0, "whole": 3}, dtypes=ALL, out=same,
          expect=lambda: numpy.full((2, 3), 3), large_attrs={"shape": [300, 401]}, large=[])
    x = g.values(3, 0, 2)
    for op, value in (("zeros_like", 0), ("ones_like", 1), ("full_like", 7)):
        g.add(op, [g.values(2, 3)], attrs={"value": 7.0}, dtypes=ALL, covers=["full"],
              expect=lambda a, v=value: torch.full_like(a, v))
        g.add(op, [x], attrs={"value": 7.0}, dtypes=ALL, covers=["full"], name="empty",
              expect=lambda a, v=value: torch.full_like(a, v))
    g.add("empty_like", [g.values(2, 3)], dtypes=ALL, covers=["full"], out=same, expect=lambda a: ShapeOnly(2, 3))
    g.error("zeros", [], attrs={"shape": [2, -3], "dtype": code("f32")}, status="shape", text="negative size -3")
    g.error("zeros", [], attrs={"shape": [2**40, 2**40], "dtype": code("f32")}, status="shape", text="2^63 bytes")
    g.error("zeros", [], attrs={"shape": [2], "dtype": 99}, status="dtype", text="99")


def ranges(g):
    for start, stop, step in ((0, 10, 1), (3, -9, -4), (5, 5, 1), (-100, 100, 7)):
        g.add("arange", [], attrs={"start": float(start), "stop": float(stop), "step": float(step), "dtype": dtype_of},
              dtypes=FLOATS + SIGNED, out=same, covers=["iota"],
              expect=lambda a=start, b=stop, c=step: numpy.arange(a, b, c))
    g.add("arange", [], attrs={"start": 0.25, "stop": 3.0, "step": 0.5, "dtype": dtype_of}, dtypes=FLOATS, out=same,
          covers=["iota"], expect=lambda: numpy.arange(0.25, 3.0, 0.5), name="fractions")
    g.add("iota", [], attrs={"length": 12, "dtype": dtype_of, "start": 2.0, "step": 3.0, "whole_start": 2,
                             "whole_step": 3}, dtypes=NUMBERS, out=same, expect=lambda: numpy.arange(12) * 3 + 2,
          large=[], large_attrs={"length": 40001, "step": 0.0, "whole_step": 0})
    g.error("arange", [], attrs={"start": 0.0, "stop": 4.0, "step": 0.0, "dtype": code("f32")}, text="no range")
    g.error("arange", [], attrs={"start": 0.0, "stop": 4.0, "step": -1.0, "dtype": code("f32")}, text="never lead")
    for start, stop, n in ((0.0, 1.0, 5), (-3.0, 4.0, 8), (2.0, 2.0, 3), (1.0, 9.0, 1), (0.0, 1.0, 0)):
        attrs = {"start": start, "stop": stop, "dtype": dtype_of}
        g.add("linspace_of", [], attrs=dict(attrs, n=n), dtypes=FLOATS, out=same, covers=["linspace"],
              expect=lambda a=start, b=stop, k=n: numpy.linspace(a, b, k))
        g.add("linspace", [], attrs=dict(attrs, length=n), dtypes=FLOATS, out=same,
              expect=lambda a=start, b=stop, k=n: numpy.linspace(a, b, k))
    g.add("linspace", [], attrs={"start": 0.0, "stop": 12.0, "length": 5, "dtype": dtype_of}, dtypes=INTS, out=same,
          expect=lambda: numpy.linspace(0, 12, 5).astype(int))
    g.add("logspace", [], attrs={"start": -1.0, "stop": 2.0, "n": 7, "base": 10.0, "dtype": dtype_of}, dtypes=FLOATS,
          out=same, expect=lambda: numpy.logspace(-1, 2, 7), covers=["linspace"], tolerance=(4, 0),
          why="the power is rounded to f64 before the dtype's own rounding")
    g.add("cartesian_grid", [], attrs={"shape": [2, 3, 2]}, dtypes=["i64"], out="i64",
          expect=lambda: numpy.stack(numpy.meshgrid(*[numpy.arange(n) for n in (2, 3, 2)], indexing="ij"), -1))


def matrices(g):
    for rows, columns in ((3, 3), (2, 5), (4, 1), (0, 3)):
        g.add("eye", [], attrs={"rows": rows, "columns": columns, "dtype": dtype_of}, dtypes=ALL, out=same,
              expect=lambda r=rows, c=columns: numpy.eye(r, c, dtype=int))
    x = g.values(2, 4, 5)
    for offset in (0, 1, -2, 9, -9, 2**62, -2**62):
        near = max(-20, min(20, offset))
        g.add("triu", [x], attrs={"offset": offset}, expect=lambda a, k=near: torch.triu(a, k), dtypes=ALL, grad=True)
        g.add("tril", [x], attrs={"offset": offset}, expect=lambda a, k=near: torch.tril(a, k), dtypes=ALL, grad=True)
        attrs = {"shape": [2, 4, 5], "offset": offset}
        ones = numpy.ones((2, 4, 5))
        g.add("triu_mask", [], attrs=attrs, dtypes=["bool"], expect=lambda k=near: numpy.triu(ones, k) == 0)
        g.add("tril_mask", [], attrs=attrs, dtypes=["bool"], expect=lambda k=near: numpy.tril(ones, k) == 0)
        g.add("diag_mask", [], attrs=attrs, dtypes=["bool"],
              expect=lambda k=near: numpy.triu(numpy.tril(ones, k), k) == 0)
    g.error("triu", [g.values(3)], attrs={"offset": 0}, status="shape", text="no matrix")
    index = g.ints(2, 3, low=0, high=4)
    for dtype in ("i64", "f32", "bool", "f16"):
        g.add("one_hot", [index], attrs={"classes": 5, "dtype": code(dtype)}, dtypes=["i64"], out=dtype,
              expect=lambda i: torch.nn.functional.one_hot(i, 5), covers=["scatter"])
    g.error("one_hot", [g.literal([0, 5], dtype="i64")], attrs={"classes": 5, "dtype": code("f32")}, status="index",
            text="index 5 is out of range", dtypes=["i64"])
    wild = g.literal([[0, -1], [3, 7]], dtype="i64")
    for axis in (-1, 0, 1):
        g.add("one_hot_fill", [wild], dtypes=["i64"], out="f32",
              attrs={"classes": 4, "on": 2.5, "off": -1.0, "axis": axis, "dtype": code("f32")},
              expect=lambda i, a=axis: torch.where((i % 4).unsqueeze(a).eq(torch.arange(4).reshape(
                  [4 if k == a % 3 else 1 for k in range(3)])) & (i < 4).unsqueeze(a), 2.5, -1.0))


def randoms(g):
    """The generator's bits are pinned by unit tests; here every device must agree with the reference."""
    common = {"key": 0x1234567890ABCDEF, "counter": 2**33 + 5, "shape": [7, 33]}
    draws = (("bits", {}, ["u32"]), ("uniform", {"low": 0.0, "high": 1.0, "top": lambda d: top(d, 1.0)}, FLOATS),
             ("uniform", {"low": -3.0, "high": 2.5, "top": lambda d: top(d, 2.5)}, FLOATS),
             ("normal", {"mean": 1.0, "deviation": 0.5}, FLOATS), ("bernoulli", {"p": 0.3}, ALL),
             ("bernoulli", {"p": 1.0}, ["bool", "f32"]), ("int", {"lowest": 3, "range": 90}, INTS),
             ("int", {"lowest": -5, "range": 2**40}, ["i64"]), ("int", {"lowest": 0, "range": 2**31}, ["i64", "u64"]))
    for kind, attrs, dtypes in draws:
        g.add("random_" + kind, [], attrs=dict(common, dtype=dtype_of, **attrs), dtypes=dtypes, out=same,
              expect=lambda: ShapeOnly(7, 33), large=[], large_attrs={"shape": [3, 11003]})
    f32 = dict(common, dtype=code("f32"))
    g.error("random_normal", [], attrs=dict(f32, mean=0.0, deviation=-1.0), text="deviation")
    g.error("random_normal", [], attrs=dict(common, dtype=code("i32"), mean=0.0, deviation=1.0), status="dtype", text="i32")
    g.error("random_bernoulli", [], attrs=dict(f32, p=1.5), text="outside 0 to 1")
    g.error("random_bits", [], attrs=f32, status="dtype", text="f32")
    g.error("random_uniform", [], attrs=dict(f32, low=2.0, high=1.0), text="no numbers from 2 to below 1")
    g.error("random_int", [], attrs=dict(common, dtype=code("i8"), lowest=100, range=100), text="does not hold")
    g.add("categorical", [g.values(3, 6, low=0, high=2)], attrs={"samples": 50, "key": 99, "counter": 7}, out="i64",
          expect=lambda p: ShapeOnly(3, 50), dtypes=NUMBERS)
    g.add("categorical", [g.literal([[0, 0, 1, 0], [5, 0, 0, 0]])], attrs={"samples": 4, "key": 9, "counter": 0},
          out="i64", expect=lambda p: numpy.array([[2] * 4, [0] * 4]), dtypes=NUMBERS, name="certain")
    g.error("categorical", [g.values(2, 0)], attrs={"samples": 4, "key": 9, "counter": 0}, status="shape",
            text="no probabilities")


def top(dtype, limit):
    """The largest number of the dtype below limit."""
    digits = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8}[dtype]
    return limit - 2.0 ** (int(numpy.ceil(numpy.log2(limit))) - digits)


def cases(g):
    constants(g)
    ranges(g)
    matrices(g)
    randoms(g)
