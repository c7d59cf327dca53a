"""Functions of several steps: differences, quantiles, distinct slices, several index tensors, joins and tuples."""

import itertools
import math

import numpy
import torch
from conform import ALL, FLOATS, INTS, NUMBERS

SHAPE = (3, 5, 4)
SUMS = "a sum of products, each of which is rounded"
INTERPOLATES = "the row it covers is exact; a quantile between two elements is a sum of products"
ASSIGN, ADD, MUL, MIN, MAX = range(5)
REDUCTIONS = ("sum", "prod", "mean", "amin", "amax")


def real(x):
    return x if x.is_floating_point() else x.double()


def calculus(g):
    x = g.values(*SHAPE, low=-9, high=9)
    for axis in (0, 1, -1):
        for order in (0, 1, 2, 7):
            g.add("diff", [x], attrs={"axis": axis, "order": order}, dtypes=NUMBERS, covers=["sub"], grad=order == 2,
                  expect=lambda a, k=axis, n=order: torch.diff(a, n, k), large=False, tolerance=(0, 8), why=SUMS)
        g.add("diff", [g.bools(*SHAPE)], attrs={"axis": axis, "order": 1}, dtypes=["bool"], covers=["sub"],
              expect=lambda a, k=axis: torch.diff(a, 1, k), name="bool", large=False)
        ends = list(SHAPE)
        ends[axis] = 2
        g.add("diff", [x, g.values(*ends), g.values(*ends)], attrs={"axis": axis, "order": 1}, covers=["sub"], grad=True,
              expect=lambda a, p, q, k=axis: torch.diff(a, 1, k, prepend=p, append=q), name="joined", large=False)
        g.add("trapezoid", [x], attrs={"axis": axis, "step": 0.5}, covers=["sum"], grad=True, large=False,
              expect=lambda a, k=axis: torch.trapezoid(a, dx=0.5, dim=k), tolerance=(4, 4), why=SUMS)
        g.add("trapezoid", [x], attrs={"axis": axis}, dtypes=INTS, out="f32", covers=["sum"], large=False,
              expect=lambda a, k=axis: torch.trapezoid(a.double(), dim=k), name="integers", tolerance=(4, 4), why=SUMS)
        places = g.values(SHAPE[axis], low=-3, high=3)
        g.add("trapezoid", [x, places], attrs={"axis": axis}, covers=["sum"], grad=True, large=False, name="line",
              expect=lambda a, p, k=axis: torch.trapezoid(a, along(p, a, k), dim=k), tolerance=(8, 8), why=SUMS)
        g.add("trapezoid", [x, g.values(*SHAPE)], attrs={"axis": axis}, covers=["sum"], grad=True, large=False,
              expect=lambda a, p, k=axis: torch.trapezoid(a, p, dim=k), name="all", tolerance=(8, 8), why=SUMS)
        g.add("cumulative_trapezoid", [x], attrs={"axis": axis, "step": 2.0}, covers=["cumsum"], grad=True, large=False,
              expect=lambda a, k=axis: torch.cumulative_trapezoid(a, dx=2.0, dim=k), tolerance=(4, 4), why=SUMS)
        g.add("cumulative_trapezoid", [x, places], attrs={"axis": axis}, covers=["cumsum"], grad=True, large=False,
              expect=lambda a, p, k=axis: torch.cumulative_trapezoid(a, along(p, a, k), dim=k), name="line",
              tolerance=(8, 8), why=SUMS)
        for order in (1, 2):
            g.add("gradient_along", [x], attrs={"axis": axis, "edge_order": order, "step": 0.5}, covers=["div"], grad=True,
                  expect=lambda a, k=axis, n=order: torch.gradient(a, spacing=0.5, dim=k, edge_order=n)[0], large=False,
                  tolerance=(8, 8), why=SUMS)
            apart = g.literal(numpy.cumsum([0.0, 1.0, 0.5, 2.0, 0.25])[: SHAPE[axis]])
            g.add("gradient_along", [x, apart], attrs={"axis": axis, "edge_order": order}, covers=["div"], grad=[0],
                  expect=lambda a, p, k=axis, n=order: torch.gradient(a, spacing=(p,), dim=k, edge_order=n)[0], large=False,
                  name="places", tolerance=(8, 8), why=SUMS)
    g.add("diff", [g.values(0)], attrs={"axis": 0, "order": 1}, covers=["sub"], expect=lambda a: a, name="empty", large=False)
    g.add("trapezoid", [g.values(0)], attrs={"axis": 0}, covers=["sum"], expect=lambda a: a.sum(), name="empty", large=False)
    g.error("diff", [g.values()], attrs={"axis": 0, "order": 1}, status="argument", text="axis 0")
    g.error("diff", [g.values(3)], attrs={"axis": 0, "order": -1}, status="argument", text="order is -1")
    g.error("trapezoid", [g.values(3), g.values(4)], attrs={"axis": 0}, status="shape", text="3 elements of axis 0")
    g.error("gradient_along", [g.values(2)], attrs={"axis": 0, "edge_order": 2}, status="shape", text="3 are needed")


def along(p, a, axis):
    shape = [1] * a.dim()
    shape[axis] = -1
    return p.reshape(shape).expand(a.shape)


MODES = ("linear", "lower", "higher", "midpoint", "nearest")


def quantiles(g):
    far = g.values(*SHAPE, flags="distinct", low=10, high=50)
    gaps = g.values(*SHAPE, flags="distinct nan", low=10, high=50)
    for number, mode in enumerate(MODES):
        for axis in (0, 1, -1):
            for keep in (0, 1):
                attrs = {"axis": axis, "keep": keep, "mode": number}
                setting = dict(keepdim=bool(keep), interpolation=mode)
                for name, q in (("one", g.literal(0.4)), ("several", g.literal([0.0, 0.25, 0.5, 0.6, 1.0]))):
                    g.add("quantile_with", [far, q], attrs=attrs, covers=["sort"], grad=[0] if keep == 0 else False,
                          large=False, tolerance=(8, 0), why=INTERPOLATES, name=name + mode, dtypes=["f64", "f32"],
                          expect=lambda x, p, a=axis, s=setting: torch.quantile(x, p, a, **s))
                    g.add("nanquantile_with", [gaps, q], attrs=attrs, covers=["sort"], large=False, tolerance=(8, 0),
                          why=INTERPOLATES, name=name + mode, dtypes=["f64", "f32"],
                          expect=lambda x, p, a=axis, s=setting: torch.nanquantile(x, p, a, **s))
        g.add("quantile_with", [g.literal([1.0, math.nan, 3.0]), g.literal([0.0, 0.5])], attrs={"axis": 0, "mode": number},
              expect=lambda x, q: torch.full((2,), math.nan, dtype=torch.float64), covers=["sort"], large=False, name="nan" + mode)
    g.add("quantile_with", [g.literal([math.inf, 1.0, math.inf]), g.literal([0.0, 0.5, 1.0])], attrs={"axis": 0},
          expect=lambda x, q: torch.tensor([1.0, math.inf, math.inf], dtype=torch.float64), covers=["sort"], large=False, name="inf")
    g.add("quantile_with", [g.literal([1.0, 2.0]), g.literal([-0.5, 1.5, math.nan])], attrs={"axis": 0}, name="outside",
          expect=lambda x, q: torch.full((3,), math.nan, dtype=torch.float64), covers=["sort"], large=False)
    g.add("quantile_with", [g.values(), g.literal([0.5])], attrs={"axis": 0}, expect=lambda x, q: x.reshape(1),
          covers=["sort"], large=False, name="number")
    g.add("nanquantile", [gaps], attrs={"axis": 1, "q": 0.25}, covers=["sort"], large=False, tolerance=(8, 0),
          why=INTERPOLATES, expect=lambda x: torch.nanquantile(x, 0.25, 1))
    g.add("nanquantile", [far], attrs={"axis": 1, "q": 0.6}, covers=["sort"], large=False, tolerance=(8, 0),
          why=INTERPOLATES, expect=lambda x: torch.nanquantile(x, 0.6, 1), grad=True, name="gradient")
    for axis in (0, 1, -1):
        for keep in (0, 1):
            attrs = {"axis": axis, "keep": keep}
            middle = lambda x, a=axis, k=keep: (torch.nanmedian(x, a, keepdim=bool(k)).values, None)
            g.add("nanmedian", [gaps], attrs=attrs, expect=middle, covers=["sort"], large=False)
            g.add("nanmedian", [far], attrs=attrs, expect=lambda x, m=middle: tuple(m(x)[:1]) + (None,), dtypes=NUMBERS,
                  covers=["sort"], grad=keep == 0, large=False, name="whole")
    g.add("nanmedian", [g.literal([math.nan, math.nan])], attrs={"axis": 0}, covers=["sort"], large=False, name="none",
          expect=lambda x: (torch.tensor(math.nan, dtype=torch.float64), None))
    g.error("quantile_with", [g.ints(3), g.literal(0.5, dtype="f32")], attrs={"axis": 0}, status="dtype", text="kn_cast")
    g.error("quantile_with", [g.values(3), g.values(2, 2)], attrs={"axis": 0}, status="shape", text="rank 0 or 1")
    g.error("quantile_with", [g.values(3), g.values()], attrs={"axis": 0, "mode": 5}, status="argument", text="mode 5")
    g.error("quantile_with", [g.values(0), g.values()], attrs={"axis": 0}, status="shape", text="empty")
    g.error("nanquantile", [g.values(3)], attrs={"axis": 0, "q": 1.5}, status="argument", text="0 to 1")


def distinct(g):
    every = dict(return_inverse=True, return_counts=True)
    small = g.values(9, 2, low=0, high=1, flags="ties")
    for axis in (0, 1, -1):
        for x in (small, g.values(6, 3, 2, low=0, high=1, flags="ties"), g.values(7, 1, low=-1, high=1, flags="ties")):
            if axis == 1 and x.shape[1] == 1:
                continue
            g.add("unique_axis", [x], attrs={"axis": axis}, dtypes=ALL, out=[None, "i64", "i64"], covers=["unique_bounded"],
                  large=False, expect=lambda t, a=axis: torch.unique(t, dim=a, **every))
            g.add("unique_consecutive_axis", [x], attrs={"axis": axis}, dtypes=ALL, out=[None, "i64", "i64"],
                  covers=["cumsum"], large=False, expect=lambda t, a=axis: torch.unique_consecutive(t, dim=a, **every))
    for shape in ((12,), (3, 4), (), (0,), (2, 0)):
        g.add("unique_consecutive", [g.values(*shape, low=0, high=1, flags="ties")], dtypes=ALL, out=[None, "i64", "i64"],
              covers=["cumsum"], large=False, expect=lambda t: torch.unique_consecutive(t, **every))
    g.add("unique_axis", [g.values(0, 3)], attrs={"axis": 0}, dtypes=ALL, out=[None, "i64", "i64"], name="empty",
          covers=["unique_bounded"], large=False,
          expect=lambda t: (t, torch.zeros(0, dtype=torch.int64), torch.zeros(0, dtype=torch.int64)))
    g.add("unique_axis", [g.literal([[1.0, math.nan], [1.0, math.nan], [0.0, 2.0]])], attrs={"axis": 0}, name="nan",
          out=[None, "i64", "i64"], covers=["unique_bounded"], large=False,
          expect=lambda t: (torch.tensor([[0.0, 2.0], [1.0, math.nan], [1.0, math.nan]], dtype=torch.float64), torch.tensor([1, 2, 0]),
                            torch.tensor([1, 1, 1])))
    g.error("unique_axis", [g.values(3)], attrs={"axis": 1}, status="argument", text="axis 1")
    x = g.values(*SHAPE, low=-4, high=4, flags="ties")
    for invert in (0, 1):
        g.add("isin", [x, g.values(3, low=-4, high=4, flags="ties")], attrs={"invert": invert}, dtypes=NUMBERS, out="bool",
              covers=["searchsorted"], large=False, expect=lambda a, v, i=invert: torch.isin(a, v, invert=bool(i)))
        g.add("isin", [x, g.values(0)], attrs={"invert": invert}, dtypes=ALL, out="bool", covers=["searchsorted"],
              expect=lambda a, v, i=invert: torch.full(a.shape, bool(i)), name="empty", large=False)
    g.add("isin", [g.literal([1.0, math.nan, math.inf]), g.literal([[math.nan, math.inf]])], out="bool", name="special",
          covers=["searchsorted"], expect=lambda a, v: torch.tensor([False, False, True]), large=False)
    g.add("isin", [g.values(low=-4, high=4), g.values(2, 3)], dtypes=NUMBERS, out="bool", name="number", large=False,
          covers=["searchsorted"], expect=lambda a, v: torch.isin(a, v))
    g.add("isin", [g.literal([1, 2, 300], dtype="i32"), g.literal([1.0, 2.5], dtype="f32")], dtypes=["f32"], out="bool",
          covers=["searchsorted"], expect=lambda a, v: torch.tensor([True, False, False]), name="mixed", large=False)


def several(g):
    """Index tensors: operands 1 and on of index, 2 and on of index_put, whose operand 1 is the values."""
    x = g.values(4, 5, 3)
    rows, columns = g.ints(2, 3, low=-4, high=3), g.ints(3, low=-5, high=4)
    last = g.ints(2, 1, low=-3, high=2, dtype="i32")
    lists = (("one", [rows]), ("two", [rows, columns]), ("three", [rows, columns, last]), ("second", [g.none(), columns]),
             ("apart", [rows, g.none(), last]), ("late", [g.none(), columns, last]),
             ("mask", [g.literal([True, False, True, True], dtype="bool")]),
             ("late mask", [g.none(), g.literal(numpy.arange(15).reshape(5, 3) % 2 == 0, dtype="bool")]))
    for name, indices in lists:
        read = lambda a, *i: a[tuple(slice(None) if k is None else k if k.dtype == torch.bool else k.long() for k in i)]
        g.add("index", [x] + indices, dtypes=ALL, covers=["gather_nd"], grad=[0], expect=read, name=name, large=False)
        shape = read(torch.zeros(4, 5, 3), *[torch_operand(i) for i in indices]).shape

        def put(a, v, *i, add=False):
            at = tuple(slice(None) if k is None else k if k.dtype == torch.bool else k.long() for k in i)
            y = a.clone()
            # torch's index_put_ takes no slices; positions of the elements stand for them.
            places = torch.arange(a.numel()).reshape(a.shape)[at]
            flat = y.reshape(-1)
            v = v.expand(places.shape)
            if add and a.dtype == torch.bool:
                return flat.long().index_add(0, places.reshape(-1), v.reshape(-1).long()).bool().reshape(a.shape)
            if add:
                return flat.index_add(0, places.reshape(-1), v.reshape(-1)).reshape(a.shape)
            order = list(places.reshape(-1).tolist())
            keep = [len(order) - 1 - order[::-1].index(p) for p in dict.fromkeys(order)]
            return flat.index_put((torch.tensor(list(dict.fromkeys(order)), dtype=torch.long),), v.reshape(-1)[keep]).reshape(a.shape)

        g.add("index_put", [x, g.values(*shape)] + indices, attrs={"update": ASSIGN}, dtypes=ALL, covers=["scatter_nd"],
              grad=[0, 1], expect=put, name=name, large=False)
        g.add("index_put", [x, g.values(*shape)] + indices, attrs={"update": ADD}, dtypes=ALL, covers=["scatter_nd"],
              grad=[0, 1], expect=lambda *o, f=put: f(*o, add=True), name=name + " add", large=False)
        g.add("index_put", [x, g.values()] + indices, attrs={"update": ADD}, dtypes=FLOATS, covers=["scatter_nd"],
              expect=lambda *o, f=put: f(*o, add=True), name=name + " number", large=False, grad=[0, 1], tolerance=(8, 8),
              why=SUMS)
    g.error("index", [x, g.values(3)], status="dtype", text="integers or a bool mask")
    g.error("index", [x, g.ints(2, low=0, high=0), g.ints(3, low=0, high=0)], status="shape", text="do not broadcast")
    g.error("index", [g.values(3), g.ints(2, low=0, high=0), g.ints(2, low=0, high=0)], status="shape", text="one too many")
    g.error("index", [x, g.literal([4], dtype="i64")], status="index", text="4")
    g.error("index", [x, g.bools(3)], status="shape", text="mask")
    g.error("index_put", [x, g.values(2)], attrs={"update": ADD}, status="argument", text="no index tensor")
    g.add("unravel_index", [g.ints(3, 4, low=0, high=59)], attrs={"shape": [3, 4, 5]}, dtypes=["i64"], covers=["floor_div"],
          out=["i64"] * 3, expect=lambda i: tuple(torch.as_tensor(k) for k in numpy.unravel_index(i.numpy(), (3, 4, 5))),
          large=False)
    g.error("unravel_index", [g.values(3)], attrs={"shape": [3]}, status="dtype", text="integers")
    g.error("unravel_index", [g.ints(3)], attrs={"shape": [3, 0]}, status="shape", text="no elements")
    g.add("take_flat", [x, rows], dtypes=ALL, covers=["take"], grad=[0], expect=lambda a, i: torch.take(a, i), large=False)
    g.add("index_fill", [x, g.ints(2, low=0, high=4)], attrs={"axis": 1, "value": 3.0}, dtypes=ALL, covers=["select_assign"],
          grad=[0], expect=lambda a, i: a.index_fill(1, i, 3), large=False)


def torch_operand(o):
    if o.kind == "none":
        return None
    return torch.as_tensor(o.values) if o.kind == "literal" else torch.zeros(o.shape, dtype=torch.long)


def masks(g):
    x, mask = g.values(3, 4), g.bools(3, 4)
    scatter = lambda a, m, v: a.masked_scatter(m.expand(a.shape), v)
    g.add("mask_scatter", [x, mask, g.values(12)], dtypes=ALL, covers=["take"], grad=[0, 2], expect=scatter, large=False)
    g.add("mask_scatter", [x, g.literal([True, False, False, True], dtype="bool"), g.values(3, 3)], dtypes=ALL, name="row",
          covers=["take"], grad=[0, 2], expect=scatter, large=False)
    g.add("mask_scatter", [x, g.literal([False] * 4, dtype="bool"), g.values(0)], dtypes=ALL, covers=["take"], name="none",
          expect=lambda a, m, v: a, large=False)
    g.add("mask_scatter", [g.values(), g.literal(True, dtype="bool"), g.values(2)], dtypes=ALL, covers=["take"], name="number",
          expect=lambda a, m, v: v[0], large=False)
    g.add("mask_scatter", [g.values(4), mask, g.values(12)], dtypes=ALL, covers=["take"], grad=[0, 2], name="spread",
          expect=lambda a, m, v: torch.broadcast_to(a, m.shape).masked_scatter(m, v), large=False)
    g.error("mask_scatter", [x, g.literal([True] * 4, dtype="bool"), g.values(11)], status="index", text="11")
    g.error("mask_scatter", [x, g.literal([True] * 4, dtype="bool"), g.values(0)], status="index", text="range")
    g.error("mask_scatter", [x, g.ints(3, 4), g.values(12)], status="dtype", text="bool")
    g.error("mask_scatter", [x, mask, g.values(12, dtype="f64")], status="dtype", text="kn_cast")


def reductions(g):
    index, values = g.ints(4, 6, 3, low=0, high=3), g.values(4, 6, 3, low=1, high=3)
    for number, reduce in enumerate(REDUCTIONS):
        for exclude in (0, 1):
            # torch shares gradients with an excluded element that equals the result; here none does.
            x = g.values(4, 5, 3, low=-3, high=-1) if exclude else g.values(4, 5, 3, low=1, high=3)
            attrs = {"axis": 1, "reduction": number, "exclude_self": exclude}

            def run(a, i, v, r=reduce, e=exclude):
                y = a.scatter_reduce(1, i, v, r, include_self=not e)
                return y

            dtypes = [d for d in NUMBERS if reduce != "prod" or d not in ("i8", "u8", "i16", "u16", "f16", "bf16")]
            g.add("scatter_reduce", [x, index, values], attrs=attrs, dtypes=dtypes, covers=["scatter"], expect=run,
                  grad=[0, 2], large=False, name=reduce, tolerance=(16, 8), why=SUMS)
            attrs = dict(attrs)
            slices = lambda a, i, v, r=reduce, e=exclude: a.scatter_reduce(
                1, i.reshape(1, -1, 1).expand(v.shape), v, r, include_self=not e)
            g.add("index_reduce", [x, g.ints(6, low=0, high=3), values], attrs=attrs, dtypes=dtypes, expect=slices,
                  covers=["select_assign"], grad=[0, 2], large=False, name=reduce, tolerance=(16, 8), why=SUMS)
    extreme = g.literal([[1, 2, 3]])
    for number in (3, 4):
        g.add("scatter_reduce", [extreme, g.literal([[0, 0]], dtype="i64"), g.literal([[5, 7]])], covers=["scatter"],
              attrs={"axis": 1, "reduction": number, "exclude_self": 1}, dtypes=NUMBERS, large=False, name="alone",
              expect=lambda a, i, v, n=number: torch.as_tensor([[5 if n == 3 else 7, 2, 3]]).to(a.dtype))
    g.add("scatter_reduce", [g.bools(4), g.ints(3, low=0, high=3), g.bools(3)], covers=["scatter"], dtypes=["bool"], large=False,
          attrs={"axis": 0, "reduction": 4}, expect=lambda a, i, v: a.long().scatter_reduce(0, i, v.long(), "amax").bool())
    g.error("scatter_reduce", [g.bools(4), g.ints(3, low=0, high=3), g.bools(3)], attrs={"axis": 0, "reduction": 2},
            status="dtype", text="kn_cast")
    g.error("scatter_reduce", [g.values(4), g.ints(3, low=0, high=3), g.values(3, dtype="f64")], attrs={"axis": 0},
            status="dtype", text="kn_cast")
    g.error("scatter_reduce", [g.values(4), g.ints(3, low=0, high=3), g.values(3)], attrs={"axis": 0, "reduction": 7},
            status="argument", text="reduction 7")


def joins(g):
    x = g.values(*SHAPE)
    for axis in (0, 1, -1):
        n = SHAPE[axis]
        for sections in (1, 2, 3, 7):
            g.add("tensor_split", [x], attrs={"axis": axis, "sections": sections}, dtypes=ALL, covers=["slice"], large=False,
                  expect=lambda a, s=sections, k=axis: torch.tensor_split(a, s, k), grad=sections == 2)
        for at in ((1,), (1, 2), (-1, 9), (2, 1), (0, 0, 3)):
            g.add("tensor_split_at", [x], attrs={"axis": axis, "positions": list(at)}, dtypes=ALL, covers=["slice"],
                  large=False, expect=lambda a, p=at, k=axis: torch.tensor_split(a, p, k))
        g.add("unbind", [x], attrs={"axis": axis}, dtypes=ALL, covers=["slice"], large=False, grad=True,
              expect=lambda a, k=axis: torch.unbind(a, k))
        g.add("repeat_interleave_tensor", [x, g.ints(n, low=0, high=3)], attrs={"axis": axis}, dtypes=ALL, covers=["take"],
              grad=[0], expect=lambda a, r, k=axis: torch.repeat_interleave(a, r, k), large=False)
        g.add("repeat_interleave_tensor", [x, g.literal([2], dtype="i32")], attrs={"axis": axis, "total": 2 * n}, dtypes=ALL,
              covers=["take"], expect=lambda a, r, k=axis: torch.repeat_interleave(a, 2, k), large=False, name="one")
    g.add("repeat_interleave_tensor", [g.values(0), g.ints(0)], attrs={"axis": 0}, dtypes=ALL, covers=["take"],
          expect=lambda a, r: a, name="empty", large=False)
    g.error("tensor_split", [x], attrs={"axis": 0, "sections": 0}, status="argument", text="1 or more")
    g.error("unbind", [g.values()], attrs={"axis": 0}, status="argument", text="axis 0")
    g.error("repeat_interleave_tensor", [g.values(3), g.ints(2)], attrs={"axis": 0}, status="shape", text="one for each")
    g.error("repeat_interleave_tensor", [g.values(3), g.values(3)], attrs={"axis": 0}, status="dtype", text="integers")
    g.error("repeat_interleave_tensor", [g.values(2), g.literal([1, -1], dtype="i64")], attrs={"axis": 0},
            status="argument", text="-1 times")
    g.error("repeat_interleave_tensor", [g.values(2), g.literal([1, 1], dtype="i64")], attrs={"axis": 0, "total": 3},
            status="index", text="index 2")
    blocks = [g.values(2, 3), g.values(1, 1), g.values(4), g.values()]
    g.add("block_diag", blocks, dtypes=ALL, covers=["pad"], grad=True, large=False, layouts=False,
          expect=lambda *t: blocked(t))
    g.add("block_diag", [g.values(2, 0), g.values(0, 2)], dtypes=ALL, covers=["pad"], large=False, layouts=False,
          expect=lambda *t: blocked(t), name="empty")
    g.error("block_diag", [g.values(2, 3, 4)], status="shape", text="rank 0 to 2")
    for name, function in (("hstack", torch.hstack), ("vstack", torch.vstack), ("dstack", torch.dstack),
                           ("column_stack", torch.column_stack)):
        for shape in ((3,), (3, 2), (3, 2, 2), ()):
            g.add(name, [g.values(*shape), g.values(*shape)], dtypes=ALL, covers=["concat"], grad=True, large=False,
                  expect=lambda *t, f=function: f(t), layouts=False)
    g.add("cartesian_prod", [g.values(3), g.values(2), g.values(4)], dtypes=ALL, covers=["expand"], grad=True, large=False,
          expect=lambda *t: torch.cartesian_prod(*t))
    g.add("cartesian_prod", [g.values(3)], dtypes=ALL, covers=["expand"], large=False, expect=lambda t: t, name="one")
    g.add("cartesian_prod", [g.values(3), g.values(0)], dtypes=ALL, covers=["expand"], large=False, name="empty",
          expect=lambda *t: torch.cartesian_prod(*t))
    for r, replace in itertools.product((0, 1, 2, 3, 6), (0, 1)):
        g.add("combinations", [g.values(5)], attrs={"r": r, "with_replacement": replace}, dtypes=ALL, covers=["take"],
              grad=r == 2, large=False, expect=lambda a, n=r, w=replace: chosen(a, n, bool(w)))
    g.error("combinations", [g.values(2, 3)], attrs={"r": 2}, status="shape", text="rank 1")
    g.error("combinations", [g.values(3)], attrs={"r": -1}, status="argument", text="r is -1")
    for rows, columns, offset in ((3, 5, 0), (5, 3, 0), (4, 4, 1), (4, 4, -2), (3, 3, 9), (3, 3, -9), (0, 3, 0), (3, 0, 1),
                                  (2, 6, 3), (6, 2, -3)):
        attrs = {"rows": rows, "columns": columns, "offset": offset}
        for name, function in (("tril_indices", torch.tril_indices), ("triu_indices", torch.triu_indices)):
            g.add(name, [], attrs=attrs, dtypes=["i64"], covers=["nonzero"], large=False,
                  expect=lambda r=rows, c=columns, o=offset, f=function: f(r, c, o))
    g.error("tril_indices", [], attrs={"rows": -1, "columns": 2}, status="shape", text="negative")


def blocked(tensors):
    return torch.block_diag(*tensors)


def chosen(a, r, replace):
    if r == 0:
        return a[:0]
    picks = itertools.combinations_with_replacement if replace else itertools.combinations
    index = torch.tensor(list(picks(range(len(a)), r)), dtype=torch.long).reshape(-1, r)
    return a[index]


def cases(g):
    calculus(g)
    quantiles(g)
    distinct(g)
    several(g)
    masks(g)
    reductions(g)
    joins(g)
