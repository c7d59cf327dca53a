"""Reductions and statistics."""

import math

import torch
from conform import ALL, FLOATS, INTS, NUMBERS, SIGNED, sum_dtype

SHAPE = (3, 5, 4)
AXES = ([], [0], [1], [-1], [0, 2], [1, 2], [0, -2], [0, 1, 2])


def places(axes, x):
    """The axes as torch wants them: an empty list is every axis."""
    return tuple(a % x.dim() for a in axes) if axes else tuple(range(x.dim()))


def one_by_one(function, x, axes, keep):
    """Reduces one axis after the other, for functions of torch that take one."""
    for a in sorted(places(axes, x), reverse=True):
        x = function(x, a, keep)
    return x


def total(x, axes, keep):
    return x.sum(places(axes, x), keepdim=keep) if x.dim() else x.sum()


def product(x, axes, keep):
    return one_by_one(lambda t, a, k: t.prod(a, keepdim=k), x if x.dim() else x.prod(), axes, keep)


def sums(g):
    for axes in AXES:
        for keep in (0, 1):
            attrs = {"axes": axes, "keep": keep}
            g.add("sum", [g.values(*SHAPE)], attrs=attrs, dtypes=ALL, out=sum_dtype, grad=keep == 0,
                  expect=lambda x, a=axes, k=keep: total(x, a, bool(k)))
            g.add("prod", [g.values(*SHAPE, low=-2, high=2)], attrs=attrs, dtypes=ALL, out=sum_dtype, grad=keep == 0,
                  expect=lambda x, a=axes, k=keep: product(x, a, bool(k)), large=False)
            g.add("mean", [g.values(*SHAPE)], attrs=attrs, dtypes=FLOATS, grad=keep == 0,
                  expect=lambda x, a=axes, k=keep: x.mean(places(a, x), keepdim=bool(k)))
            g.add("logsumexp", [g.values(*SHAPE, low=-4, high=4)], attrs=attrs, dtypes=FLOATS, grad=keep == 0,
                  expect=lambda x, a=axes, k=keep: x.logsumexp(places(a, x), keepdim=bool(k)))
    g.add("prod", [g.values(7, 9, low=0.97, high=1.03)], attrs={"axes": [1]}, dtypes=FLOATS, grad=True, name="near_one",
          expect=lambda x: x.prod(1))
    zeros = g.literal([[2.0, 0.0, 3.0], [0.0, 0.0, 5.0], [1.5, 2.0, -1.0]])
    g.add("prod", [zeros], attrs={"axes": [1]}, dtypes=FLOATS, grad=True, name="zeros", expect=lambda x: x.prod(1))
    edges = g.values(4, 9, low=-4, high=4, flags="nan inf")
    for name, function in (("sum", lambda x: x.sum(1)), ("mean", lambda x: x.mean(1)),
                           ("logsumexp", lambda x: x.logsumexp(1))):
        g.add(name, [edges], attrs={"axes": [1]}, dtypes=FLOATS, expect=function, name="special")
        g.add(name, [g.values(3, 0, 2)], attrs={"axes": [1]}, dtypes=FLOATS, expect=function, name="empty")
        g.add(name, [g.values()], attrs={"axes": []}, dtypes=FLOATS, expect=lambda x, n=name: x, name="number")
        g.add(name, [g.values()], attrs={"axes": [-1]}, dtypes=FLOATS, expect=lambda x, n=name: x, name="number_axis")
    g.add("prod", [g.values(3, 0, 2)], attrs={"axes": [1]}, dtypes=ALL, out=sum_dtype, expect=lambda x: x.prod(1),
          name="empty")
    g.add("sum", [g.values(0, 2)], attrs={"axes": [1], "keep": 1}, dtypes=ALL, out=sum_dtype,
          expect=lambda x: x.sum(1, keepdim=True), name="no_rows")
    g.add("sum", [g.values(5, 7, flags="extreme")], attrs={"axes": [0]}, dtypes=INTS, out="i64",
          expect=lambda x: x.sum(0), name="extreme")
    g.add("logsumexp", [g.literal([[-math.inf, -math.inf], [800.0, 800.0], [-math.inf, 0.0], [math.inf, 1.0]])],
          attrs={"axes": [1]}, dtypes=FLOATS, expect=lambda x: x.logsumexp(1), name="infinite")
    g.add("sum_to", [g.values(2, 3, 4)], attrs={"shape": [3, 1]}, dtypes=FLOATS, grad=True, covers=["sum"],
          expect=lambda x: x.sum((0, 2)).reshape(3, 1), large=False)
    g.add("sum_to", [g.values(3, 5, flags="extreme")], attrs={"shape": [1, 5]}, dtypes=INTS, out="i64", name="integers", covers=["sum"],
          expect=lambda x: x.sum(0, keepdim=True), large=False)
    g.add("nansum", [edges], attrs={"axes": [0]}, dtypes=FLOATS, expect=lambda x: x.nansum(0), covers=["sum"])
    g.add("nansum", [g.values(4, 3)], attrs={"axes": [1]}, dtypes=ALL, out=sum_dtype, expect=lambda x: x.sum(1),
          name="no_nan", covers=["sum"])
    g.add("nanmean", [g.values(4, 9, flags="nan")], attrs={"axes": [0]}, dtypes=FLOATS,
          expect=lambda x: x.nanmean(0), covers=["sum"])
    for op in ("mean", "logsumexp"):
        for dtype in ("i32", "u8", "bool"):
            g.error(op, [g.values(3, 2)], attrs={"axes": [0]}, status="dtype", text="kn_cast", dtypes=[dtype])
    g.error("sum", [g.values(3, 2)], attrs={"axes": [2]}, status="argument", text="axis 2")
    g.error("sum", [g.values(3, 2)], attrs={"axes": [1, -1]}, status="argument", text="twice")
    g.error("sum_to", [g.values(3, 2)], attrs={"shape": [4, 2]}, status="shape", text="broadcast")


def extremes(g):
    for axes in AXES:
        for keep in (0, 1):
            attrs = {"axes": axes, "keep": keep}
            x = g.values(*SHAPE, flags="distinct", low=-50, high=50)
            g.add("max", [x], attrs=attrs, dtypes=ALL, grad=keep == 0,
                  expect=lambda x, a=axes, k=keep: x.amax(places(a, x), keepdim=bool(k)))
            g.add("min", [x], attrs=attrs, dtypes=ALL, grad=keep == 0,
                  expect=lambda x, a=axes, k=keep: x.amin(places(a, x), keepdim=bool(k)))
            below = g.values(*SHAPE, flags="distinct", low=-50, high=-1)
            g.add("max_abs", [below if keep else x], attrs=attrs, dtypes=NUMBERS, grad=keep == 1, covers=["max"],
                  expect=lambda x, a=axes, k=keep: x.abs().amax(places(a, x), keepdim=bool(k)))
            g.add("aminmax", [x], attrs=attrs, dtypes=ALL, grad=keep == 0, covers=["max", "min"],
                  expect=lambda x, a=axes, k=keep: (x.amin(places(a, x), keepdim=bool(k)),
                                                    x.amax(places(a, x), keepdim=bool(k))))
    ties = g.values(5, 6, flags="ties", low=-1, high=1)
    special = g.values(6, 7, flags="nan inf")
    for name, function in (("max", torch.amax), ("min", torch.amin)):
        g.add(name, [ties], attrs={"axes": [1]}, dtypes=FLOATS, expect=lambda x, f=function: f(x, 1), name="ties")
        g.add(name, [special], attrs={"axes": [0]}, dtypes=FLOATS, expect=lambda x, f=function: f(x, 0),
              name="special")
        g.add(name, [g.values(4, 5, flags="extreme")], attrs={"axes": [1]}, dtypes=SIGNED,
              expect=lambda x, f=function: f(x, 1), name="extreme")
        g.add(name, [g.values(0, 3)], attrs={"axes": [1]}, dtypes=ALL, expect=lambda x: x.reshape(0, 3)[:, 0],
              name="no_rows")
        g.add(name, [g.values()], attrs={"axes": []}, dtypes=ALL, expect=lambda x: x, name="number")
        g.error(name, [g.values(3, 0)], attrs={"axes": [1]}, status="shape",
                text=name + " over an empty axis has no value")
        g.error(name, [g.values(0)], attrs={"axes": []}, status="shape", text="empty axis")
    for axis in (0, 1, 2, -1):
        for keep in (0, 1):
            attrs = {"axis": axis, "keep": keep}
            for name in ("argmax", "argmin"):
                plain = g.values(*SHAPE, flags="distinct", low=-50, high=50)
                g.add(name, [plain], attrs=attrs, dtypes=NUMBERS, out="i64",
                      expect=lambda x, f=getattr(torch, name), a=axis, k=keep: f(x, a, keepdim=bool(k)))
            for name, function in (("max_with_indices", torch.max), ("min_with_indices", torch.min)):
                g.add(name, [plain], attrs=attrs, dtypes=NUMBERS, out=[None, "i64"], grad=keep == 0,
                      covers=["argmax" if name[:3] == "max" else "argmin"],
                      expect=lambda x, f=function, a=axis, k=keep: tuple(f(x, a, keepdim=bool(k))))
    for name, function in (("argmax", "argmax"), ("argmin", "argmin")):
        first = lambda x, f=function: torch.from_numpy(getattr(x.numpy(), f)(1))
        g.add(name, [g.values(5, 9, flags="ties", low=-1, high=1)], attrs={"axis": 1}, dtypes=ALL, out="i64",
              expect=first, name="ties")
        g.add(name, [special], attrs={"axis": 1}, dtypes=FLOATS, out="i64", expect=first, name="special")
        g.add(name, [g.values()], attrs={"axis": 0}, dtypes=ALL, out="i64", expect=lambda x: torch.tensor(0),
              name="number")
        g.error(name, [g.values(3, 0)], attrs={"axis": 1}, status="shape", text="empty axis has no value")
        g.error(name, [g.values(3)], attrs={"axis": 1}, status="argument", text="axis 1")


def truths(g):
    for axes in AXES:
        for keep in (0, 1):
            attrs = {"axes": axes, "keep": keep}
            sparse = g.values(*SHAPE, low=0, high=1, flags="zero")
            for name in ("any", "all"):
                g.add(name, [sparse], attrs=attrs, dtypes=ALL, out="bool",
                      expect=lambda x, n=name, a=axes, k=keep: one_by_one(
                          lambda t, d, q: getattr(t, n)(d, keepdim=q), x != 0, a, bool(k)))
            g.add("count_nonzero", [sparse], attrs=attrs, dtypes=ALL, out="i64", covers=["sum"],
                  expect=lambda x, a=axes, k=keep: (x != 0).sum(places(a, x), keepdim=bool(k)))
    for name in ("any", "all"):
        g.add(name, [g.values(3, 0)], attrs={"axes": [1]}, dtypes=ALL, out="bool",
              expect=lambda x, n=name: getattr(x != 0, n)(1), name="empty")
        g.add(name, [g.values(4, 5, flags="nan")], attrs={"axes": [1]}, out="bool",
              expect=lambda x, n=name: getattr(x != 0, n)(1), name="nan")
        g.add(name, [g.values()], attrs={"axes": []}, dtypes=ALL, out="bool", expect=lambda x: x != 0, name="number")
    g.add("contains_nan", [g.values(3, 4, flags="nan")], out="bool", expect=lambda x: x.isnan().any(), covers=["any"])
    g.add("contains_nan", [g.values(3, 4)], dtypes=ALL, out="bool", name="none", covers=["any"],
          expect=lambda x: torch.tensor(False), large=False)


def statistics(g):
    for axes in AXES:
        for keep in (0, 1):
            attrs = {"axes": axes, "keep": keep, "correction": 1.0}
            x = g.values(*SHAPE, low=-1, high=3)
            g.add("var_mean", [x], attrs=attrs, grad=keep == 0,
                  expect=lambda x, a=axes, k=keep: torch.var_mean(x, places(a, x), keepdim=bool(k)))
            for name in ("var", "std"):
                g.add(name, [x], attrs={"axes": axes, "keep": keep}, grad=keep == 0, covers=["var_mean"],
                      expect=lambda x, n=name, a=axes, k=keep: getattr(torch, n)(x, places(a, x), keepdim=bool(k)))
                g.add(name, [x], attrs={"axes": axes, "keep": keep, "biased": 1}, covers=["var_mean"], name="biased",
                      expect=lambda x, n=name, a=axes, k=keep: getattr(torch, n)(x, places(a, x), correction=0,
                                                                                 keepdim=bool(k)))
    far = g.values(4, 9, low=1000, high=1001)
    g.add("var_mean", [far], attrs={"axes": [1], "correction": 1.0}, dtypes=["f64", "f32"], name="far_from_zero",
          expect=lambda x: (torch.var(x - 1000, 1), x.mean(1)), tolerance=(16, 0),
          why="relative to the variance, not to the numbers: two passes lose none of its digits")
    g.add("var_mean", [g.values(4, 1)], attrs={"axes": [1], "correction": 1.0}, name="one",
          expect=lambda x: torch.var_mean(x, 1), large=False)
    g.add("var_mean", [g.values(4, 0)], attrs={"axes": [1], "correction": 1.0}, name="empty",
          expect=lambda x: (x.sum(1) * math.nan, x.sum(1) * math.nan), large=False)
    g.add("std", [g.literal([[2.0, 2.0, 2.0], [1.0, 2.0, 4.0]])], attrs={"axes": [1]}, name="constant",
          covers=["var_mean"], expect=lambda x: x.std(1), grad="torch",
          second="the deviation of equal numbers is at a kink")
    # The divisor is max(0, count - correction), never below 0: 3 - 3 and 3 - 4 give the same.
    for correction in (2.0, 2.5, 3.0, 4.0):
        g.add("var_mean", [g.literal([[1.0, 2.0, 4.0], [2.0, 2.0, 2.0]])], attrs={"axes": [1], "correction": correction}, name="correction",
              large=False, expect=lambda x, c=correction: torch.var_mean(x, 1, correction=c))
    # Squares that leave f16 where their roots do not.
    large = g.literal([[-300.0, 300.0, -300.0, 300.0], [60000.0, -60000.0, 1.0, 0.0]])
    g.add("std", [large], attrs={"axes": [1]}, name="large", covers=["var_mean"], expect=lambda x: x.std(1), grad="torch",
          second="only the halves are far out", large=False)
    g.add("corrcoef", [large], expect=torch.corrcoef, name="large", covers=["mean"], large=False)
    g.add("prod", [g.literal([[0.0] + [1e30] * 40, [1e30] * 20 + [0.0] + [1e30] * 20])], attrs={"axes": [1]}, dtypes=["f64", "f32"],
          expect=lambda x: x[:, 0] * 0, name="zero", large=False)
    g.add("prod", [g.literal([0.0, math.inf, 1.0])], attrs={"axes": [0]}, dtypes=["f64", "f32"], expect=lambda x: x.prod(0), name="infinite",
          large=False)
    g.add("cov", [g.values(3, 7)], expect=torch.cov, grad=True, covers=["mean"])
    g.add("cov", [g.values(7)], expect=torch.cov, name="one_variable", covers=["mean"])
    g.add("cov", [g.values(3, 7)], attrs={"biased": 1}, expect=lambda x: torch.cov(x, correction=0), name="biased",
          covers=["mean"])
    g.add("corrcoef", [g.values(3, 7)], expect=torch.corrcoef, dtypes=["f64", "f32"], covers=["mean"])
    for name in ("var", "std", "cov"):
        g.error(name, [g.values(3, 2)], attrs={"axes": [0]}, status="dtype", text="kn_cast", dtypes=["i32"])
    g.error("cov", [g.values(2, 3, 2)], status="shape", text="observations")


def cases(g):
    sums(g)
    extremes(g)
    truths(g)
    statistics(g)
