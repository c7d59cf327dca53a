"""Cumulative ops."""

import math

import torch
from conform import ALL, FLOATS, INTS, NUMBERS, SIGNED, sum_dtype

SHAPE = (3, 5, 4)


def directed(function, first, axis, reverse, exclusive):
    """A scan of torch, also backwards and without the element itself."""

    def run(x):
        if x.dim() == 0:
            return x * 0 + first if exclusive else x * 1
        x = x.flip(axis) if reverse else x
        y = function(x, axis)
        if exclusive and y.shape[axis]:
            y = torch.cat([torch.full_like(y.narrow(axis, 0, 1), first), y.narrow(axis, 0, y.shape[axis] - 1)], axis)
        return y.flip(axis) if reverse else y

    return run


def recurrence(axis, reverse):
    def run(a, b):
        h, results = None, [None] * a.shape[axis]
        for k in (range(a.shape[axis] - 1, -1, -1) if reverse else range(a.shape[axis])):
            h = b.select(axis, k) if h is None else a.select(axis, k) * h + b.select(axis, k)
            results[k] = h
        return torch.stack(results, axis)

    return run


def cases(g):
    for axis in (0, 1, -1):
        for reverse in (0, 1):
            for exclusive in (0, 1):
                attrs = {"axis": axis, "reverse": reverse, "exclusive": exclusive}
                g.add("cumsum", [g.values(*SHAPE)], attrs=attrs, dtypes=ALL, out=sum_dtype, grad=True,
                      expect=directed(torch.cumsum, 0, axis, reverse, exclusive))
                g.add("cumprod", [g.values(*SHAPE)], attrs=attrs, dtypes=ALL, out=sum_dtype, grad=True,
                      expect=directed(torch.cumprod, 1, axis, reverse, exclusive), large=False)
            g.add("cumprod", [g.values(*SHAPE, low=3, high=5)], attrs={"axis": axis, "reverse": reverse}, name="wraps",
                  dtypes=INTS + ["bool"], out=sum_dtype, expect=directed(torch.cumprod, 1, axis, reverse, 0))
            g.add("scan_linear", [g.values(*SHAPE, low=-0.9, high=0.9), g.values(*SHAPE)],
                  attrs={"axis": axis, "reverse": reverse}, dtypes=FLOATS, grad=True, expect=recurrence(axis, reverse))
        g.add("cumlogsumexp", [g.values(*SHAPE, low=-5, high=5)], attrs={"axis": axis}, dtypes=FLOATS, grad=True,
              expect=lambda x, a=axis: torch.logcumsumexp(x, a))
        for name in ("cummax", "cummin"):
            function = getattr(torch, name)
            g.add(name, [g.values(*SHAPE, flags="distinct", low=-50, high=50)], attrs={"axis": axis}, dtypes=NUMBERS,
                  out=[None, "i64"], grad=True, expect=lambda x, f=function, a=axis: tuple(f(x, a)))
            g.add(name, [g.values(*SHAPE, flags="ties", low=-1, high=1)], attrs={"axis": axis}, dtypes=ALL,
                  out=[None, "i64"], expect=lambda x, f=function, a=axis: tuple(f(x, a)), name="ties")
            g.add(name, [g.values(4, 5, 6, flags="nan inf")], attrs={"axis": axis}, dtypes=FLOATS, out=[None, "i64"],
                  expect=lambda x, f=function, a=axis: tuple(f(x, a)), name="special")
    edges(g)


def edges(g):
    zeros = g.literal([[2.0, 0.0, 3.0, 1.0], [0.0, 5.0, 0.0, 2.0]])
    g.add("cumprod", [zeros], attrs={"axis": 1}, dtypes=FLOATS, grad=True, name="zeros",
          expect=lambda x: x.cumprod(1), large=False)
    # Parts of the line overflow by themselves; one after the other it is 0.
    g.add("cumprod", [g.literal([[0.0] + [1e30] * 99, [1e30] * 3 + [0.0] * 2 + [1e30] * 95])], attrs={"axis": 1}, dtypes=["f64", "f32"],
          name="overflow", expect=lambda x: x.cumprod(1), large=False)
    for name, function in (("cumsum", torch.cumsum), ("cumprod", torch.cumprod), ("cumlogsumexp", torch.logcumsumexp)):
        g.add(name, [g.literal([[1.0, math.inf, 2.0, -math.inf, 1.0], [0.0, math.inf, 0.0, 3.0, 1.0], [-math.inf, -math.inf, 1.0, math.inf, 2.0]])],
              attrs={"axis": 1}, dtypes=["f64", "f32"], name="infinities", expect=lambda x, f=function: f(x, 1), large=False)
    g.add("cumprod", [g.values(3, 40, low=0.97, high=1.03)], attrs={"axis": 1}, dtypes=FLOATS, name="near_one",
          expect=lambda x: x.cumprod(1))
    g.add("cumsum", [g.values(4, 7, flags="extreme")], attrs={"axis": 1}, dtypes=SIGNED, out="i64", name="extreme",
          expect=lambda x: x.cumsum(1))
    g.add("cumlogsumexp", [g.literal([[-math.inf, -math.inf, 0.0, 2.0], [700.0, 710.0, -800.0, 720.0],
                                      [1.0, math.inf, 2.0, 3.0]])], attrs={"axis": 1}, dtypes=["f64", "f32"],
          expect=lambda x: torch.logcumsumexp(x, 1), name="infinite", large=False)
    for name, function in (("cumsum", torch.cumsum), ("cumprod", torch.cumprod), ("cumlogsumexp", torch.logcumsumexp)):
        g.add(name, [g.values()], attrs={"axis": 0}, dtypes=FLOATS, expect=lambda x: x, name="number")
        g.add(name, [g.values(3, 0)], attrs={"axis": 1}, dtypes=FLOATS, expect=lambda x: x, name="empty")
        g.add(name, [g.values(0, 3)], attrs={"axis": 1}, dtypes=FLOATS, expect=lambda x: x, name="no_lines")
        g.add(name, [g.values(4, 9, flags="nan")], attrs={"axis": 1}, dtypes=FLOATS, name="nan", large=False,
              expect=lambda x, f=function: f(x, 1))
        g.error(name, [g.values(3, 2)], attrs={"axis": 2}, status="argument", text="axis 2")
    for name in ("cummax", "cummin"):
        g.add(name, [g.values(3, 0)], attrs={"axis": 1}, dtypes=ALL, out=[None, "i64"], name="empty",
              expect=lambda x: (x, torch.zeros(3, 0, dtype=torch.int64)))
        g.add(name, [g.values()], attrs={"axis": -1}, dtypes=ALL, out=[None, "i64"], name="number",
              expect=lambda x: (x, torch.tensor(0)))
    g.error("cumlogsumexp", [g.values(3)], attrs={"axis": 0}, status="dtype", text="kn_cast", dtypes=["i32", "bool"])
    g.error("scan_linear", [g.values(3), g.values(4)], attrs={"axis": 0}, status="shape", text="one shape")
    g.error("scan_linear", [g.values(3, dtype="f32"), g.values(3, dtype="f64")], attrs={"axis": 0}, status="dtype",
            text="kn_cast")
