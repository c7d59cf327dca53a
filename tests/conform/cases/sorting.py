"""Sorting, searching, counting."""

import torch
from conform import ALL, FLOATS, INTS, NUMBERS

SHAPE = (3, 5, 4)
INTERPOLATES = "the row it covers is exact; a quantile between two elements is a sum of products"


def sort(x, axis, descending):
    return torch.sort(x, dim=axis, descending=bool(descending), stable=True)


def top(x, k, axis, smallest=0, unsorted=0):
    """By a stable sort, so that of equal elements the first is taken."""
    values, indices = sort(x, axis, not smallest)
    values, indices = values.narrow(axis, 0, k), indices.narrow(axis, 0, k)
    if unsorted:
        indices = indices.sort(axis).values
        values = x.gather(axis, indices)
    return values, indices


def median(x, axis, keep):
    """The lower median by a stable sort; the first NaN where there is one."""
    values, indices = sort(x, axis, False)
    middle = (x.shape[axis] - 1) // 2
    at = indices.narrow(axis, middle, 1)
    if x.is_floating_point():
        nan = x.isnan()
        at = torch.where(nan.any(axis, keepdim=True), nan.to(torch.int64).argmax(axis, keepdim=True), at)
    at = at if keep else at.squeeze(axis)
    values = x.gather(axis, at if keep else at.unsqueeze(axis))
    return values if keep else values.squeeze(axis), at


def sorts(g):
    distinct = g.values(*SHAPE, flags="distinct", low=-50, high=50)
    ties = g.values(*SHAPE, flags="ties", low=-1, high=1)
    for axis in (0, 1, -1):
        for descending in (0, 1):
            attrs = {"axis": axis, "descending": descending}
            both = lambda x, a=axis, d=descending: tuple(sort(x, a, d))
            g.add("sort", [distinct], attrs=attrs, dtypes=NUMBERS, out=[None, "i64"], grad=True, expect=both)
            g.add("sort", [ties], attrs=attrs, dtypes=ALL, out=[None, "i64"], expect=both, name="ties")
            g.add("sort", [g.values(4, 6, 7, flags="nan inf zero")], attrs=attrs, dtypes=FLOATS, out=[None, "i64"],
                  expect=both, name="special")
            g.add("sort", [g.values(4, 3, 5, flags="extreme")], attrs=attrs, dtypes=[d for d in INTS if d != "u64"],
                  out=[None, "i64"], expect=both, name="extreme")
            g.add("argsort", [ties], attrs=attrs, dtypes=ALL, out="i64", expect=lambda x, b=both: b(x)[1],
                  covers=["sort"])
        for smallest in (0, 1):
            for unsorted in (0, 1):
                attrs = {"k": 2, "axis": axis, "smallest": smallest, "unsorted": unsorted}
                pick = lambda x, a=axis, s=smallest, u=unsorted: top(x, 2, a, s, u)
                g.add("topk", [distinct], attrs=attrs, dtypes=NUMBERS, out=[None, "i64"], grad=unsorted == 0,
                      expect=pick)
                g.add("topk", [ties], attrs=attrs, dtypes=ALL, out=[None, "i64"], expect=pick, name="ties")
                g.add("topk", [g.values(4, 6, 7, flags="nan inf zero")], attrs=attrs, dtypes=FLOATS,
                      out=[None, "i64"], expect=pick, name="special")
            g.add("argtopk", [ties], attrs={"k": 2, "axis": axis, "smallest": smallest}, dtypes=ALL, out="i64",
                  covers=["topk"], expect=lambda x, a=axis, s=smallest: top(x, 2, a, s)[1])
    g.add("topk", [distinct], attrs={"k": 5, "axis": 1}, dtypes=NUMBERS, out=[None, "i64"], name="all",
          expect=lambda x: top(x, 5, 1), large=False)
    g.add("topk", [distinct], attrs={"k": 0, "axis": 1}, dtypes=NUMBERS, out=[None, "i64"], name="none",
          expect=lambda x: top(x, 0, 1))
    for name, attrs in (("sort", {"axis": 0}), ("topk", {"k": 1, "axis": 0}), ("kthvalue", {"k": 1, "axis": 0})):
        g.add(name, [g.values()], attrs=attrs, dtypes=ALL, out=[None, "i64"], name="number",
              expect=lambda x: (x, torch.tensor(0)))
    for name, attrs, shape in (("sort", {"axis": 1}, (3, 0)), ("topk", {"k": 0, "axis": 1}, (3, 0)),
                               ("kthvalue", {"k": 1, "axis": 1, "keep": 1}, (0, 1))):
        g.add(name, [g.values(*shape)], attrs=attrs, dtypes=ALL, out=[None, "i64"], name="empty",
              expect=lambda x: (x, torch.zeros(x.shape, dtype=torch.int64)))
    g.error("sort", [g.values(3)], attrs={"axis": 1}, status="argument", text="axis 1")
    g.error("topk", [g.values(3)], attrs={"k": 4, "axis": 0}, status="argument", text="k is 4")
    g.error("topk", [g.values(3)], attrs={"k": -1, "axis": 0}, status="argument", text="k is -1")
    g.error("kthvalue", [g.values(3)], attrs={"k": 0, "axis": 0}, status="argument", text="k is 0")
    g.error("kthvalue", [g.values(0)], attrs={"k": 1, "axis": 0}, status="shape", text="empty axis has no value")
    g.error("median", [g.values(0)], attrs={"axis": 0}, status="shape", text="empty axis has no value")


def ranks(g):
    distinct = g.values(*SHAPE, flags="distinct", low=-50, high=50)
    for axis in (0, 1, -1):
        for keep in (0, 1):
            attrs = {"axis": axis, "keep": keep}
            drop = lambda t, a=axis, k=keep: t if k else t.squeeze(a)
            second = lambda x, a=axis, d=drop: tuple(d(t.narrow(a, 1, 1)) for t in sort(x, a, False))
            g.add("kthvalue", [distinct], attrs=dict(attrs, k=2), dtypes=NUMBERS, out=[None, "i64"], grad=True,
                  expect=second)
            g.add("kthvalue", [g.values(4, 6, 7, flags="nan ties")], attrs=dict(attrs, k=2), dtypes=FLOATS,
                  out=[None, "i64"], expect=second, name="special")
            g.add("median", [distinct], attrs=attrs, dtypes=NUMBERS, out=[None, "i64"], grad=keep == 0,
                  covers=["kthvalue"], expect=lambda x, a=axis, k=keep: median(x, a, k))
            g.add("median", [g.values(4, 6, 7, flags="nan ties")], attrs=attrs, dtypes=FLOATS, out=[None, "i64"],
                  covers=["kthvalue"], expect=lambda x, a=axis, k=keep: median(x, a, k), name="special")
            g.add("mode", [g.values(*SHAPE, flags="ties", low=-1, high=1)], attrs=attrs, dtypes=NUMBERS,
                  out=[None, "i64"], covers=["sort"],
                  expect=lambda x, a=axis, k=keep: (torch.mode(x, a, keepdim=bool(k)).values, None))
            for q in (0.0, 0.25, 0.6, 1.0):
                far = g.values(*SHAPE, flags="distinct", low=10, high=50)
                g.add("quantile", [far], attrs=dict(attrs, q=q), dtypes=FLOATS, covers=["sort"],
                      grad=keep == 0 and q == 0.6, large=False, tolerance=(8, 0), why=INTERPOLATES,
                      expect=lambda x, a=axis, k=keep, p=q: x.quantile(p, a, keepdim=bool(k)))
    g.add("quantile", [g.values(4, 6, flags="nan")], attrs={"axis": 1, "q": 0.5}, dtypes=FLOATS, covers=["sort"],
          expect=lambda x: x.quantile(0.5, 1), name="nan", large=False, tolerance=(8, 0),
          why=INTERPOLATES)
    g.error("quantile", [g.values(3)], attrs={"axis": 0, "q": 1.5}, status="argument", text="0 to 1")
    g.error("quantile", [g.values(3)], attrs={"axis": 0, "q": 0.5}, status="dtype", text="kn_cast", dtypes=["i32"])


def searches(g):
    line = g.literal([0, 1, 1, 3, 4, 4, 4, 7])
    lines = g.literal([[0, 1, 1, 3], [2, 2, 5, 6], [1, 4, 8, 9]])
    for right in (0, 1):
        attrs = {"right": right}
        find = lambda s, v, r=right: torch.searchsorted(s, v, right=bool(r))
        g.add("searchsorted", [line, g.values(3, 5, low=0, high=9, flags="ties")], attrs=attrs, dtypes=NUMBERS,
              out="i64", expect=find, large=[(8,), (300, 50)])
        g.add("searchsorted", [lines, g.values(3, 6, low=0, high=9, flags="ties")], attrs=attrs, dtypes=NUMBERS,
              out="i64", expect=find, large=False, name="lines")
        g.add("searchsorted", [line, g.values(low=0, high=9)], attrs=attrs, dtypes=NUMBERS, out="i64", large=False,
              expect=lambda s, v, f=find: f(s, v.reshape(1))[0], name="number")
        g.add("searchsorted", [g.values(0), g.values(3)], attrs=attrs, dtypes=ALL, out="i64", large=False,
              expect=lambda s, v: torch.zeros(3, dtype=torch.int64), name="empty")
        g.add("bucketize", [g.values(3, 5, low=0, high=9, flags="ties"), line], attrs=attrs, dtypes=NUMBERS,
              out="i64", covers=["searchsorted"], large=False, expect=lambda v, s, f=find: f(s, v))
    g.error("searchsorted", [g.values(3, 4), g.values(2, 4)], status="shape", text="last axis")
    g.error("searchsorted", [g.values(3, dtype="f32"), g.values(3, dtype="i32")], status="dtype", text="kn_cast")
    g.error("bucketize", [g.values(3), g.values(3, 2)], status="shape", text="rank 1")


def bounded(x):
    values, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True)
    pad = x.numel() - values.numel()
    return (torch.cat([values, values.new_zeros(pad)]), inverse, torch.cat([counts, counts.new_zeros(pad)]),
            torch.tensor(values.numel()))


def counts(g):
    for shape in ((7,), (3, 5), (2, 3, 4), (), (0,), (2, 0)):
        x = g.values(*shape, low=-2, high=2, flags="ties")
        g.add("unique", [x], dtypes=ALL, out=[None, "i64", "i64"], covers=["unique_bounded"], large=False,
              expect=lambda t: torch.unique(t, return_inverse=True, return_counts=True))
        g.add("unique_bounded", [x], dtypes=ALL, out=[None, "i64", "i64", "i64"], expect=bounded)
    small = g.values(9, low=0, high=5)
    g.add("bincount", [small], attrs={"length": 6}, dtypes=INTS, out="i64", name="row", large=[(5000,)],
          expect=lambda x: torch.bincount(x, minlength=6))
    g.add("bincount", [g.ints(9, low=0, high=5), g.values(9)], attrs={"length": 8}, dtypes=["f64", "f32"], grad="fd",
          expect=lambda x, w: torch.bincount(x, w, minlength=8), name="weights", large=False)
    g.add("bincount", [g.ints(9, low=0, high=5), g.values(9)], attrs={"length": 8}, dtypes=["f16", "i32", "u8"],
          out="f64", expect=lambda x, w: torch.bincount(x, w.double(), minlength=8), name="weights", large=False)
    g.add("bincount_counted", [small], attrs={"min_length": 3}, dtypes=INTS, out="i64", covers=["bincount"],
          expect=lambda x: torch.bincount(x, minlength=3), large=False)
    g.add("bincount_counted", [g.ints(0)], attrs={"min_length": 3}, out="i64", covers=["bincount"], dtypes=["i64"],
          expect=lambda x: torch.zeros(3, dtype=torch.int64), name="empty", large=False)
    g.error("bincount", [g.literal([1, -1], dtype="i64")], attrs={"length": 3}, status="index", text="-1")
    g.error("bincount", [g.literal([1, 3], dtype="i64")], attrs={"length": 3}, status="index", text="3")
    g.error("bincount", [g.values(3)], attrs={"length": 3}, status="dtype", text="integer")
    g.error("bincount", [g.ints(3), g.values(4)], attrs={"length": 20}, status="shape", text="weights")


def histograms(g):
    x = g.values(4, 9, low=-2, high=2)
    for bins in (1, 5, 16):
        g.add("histogram", [x], attrs={"bins": bins}, dtypes=["f64", "f32"], covers=["bincount"], large=False,
              expect=lambda t, b=bins: tuple(torch.histogram(t, b)))
        g.add("histogram", [x], attrs={"bins": bins, "low": -1.0, "high": 1.5}, dtypes=["f64", "f32"],
              covers=["bincount"], large=False, name="range",
              expect=lambda t, b=bins: tuple(torch.histogram(t, b, range=(-1.0, 1.5))))
        g.add("histogram", [x, g.values(4, 9, low=0, high=1)],
              attrs={"bins": bins, "low": -1.0, "high": 1.5, "density": 1}, dtypes=["f64", "f32"],
              covers=["bincount"], large=False, name="density",
              expect=lambda t, w, b=bins: tuple(torch.histogram(t, b, range=(-1.0, 1.5), weight=w, density=True)))
    g.add("histogram", [g.values(20, low=0, high=9)], attrs={"bins": 4}, dtypes=["i32", "u8", "f16"],
          out=[lambda d: "f32", lambda d: "f32"], covers=["bincount"], large=False, name="others",
          expect=lambda t: tuple(torch.histogram(t.double(), 4)))
    g.add("histogram", [g.literal([2.0, 2.0, 2.0])], attrs={"bins": 2}, dtypes=["f64", "f32"], covers=["bincount"],
          large=False, name="one_value", expect=lambda t: tuple(torch.histogram(t, 2)))
    g.error("histogram", [g.values(3)], attrs={"bins": 0}, status="argument", text="at least 1")
    g.error("histogram", [g.values(3)], attrs={"bins": 2, "low": 2.0, "high": 1.0}, status="argument", text="range")


def cases(g):
    sorts(g)
    ranks(g)
    searches(g)
    counts(g)
    histograms(g)
