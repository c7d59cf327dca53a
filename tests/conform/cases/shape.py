"""Movement of elements: shapes, orders, parts, joins and padding."""

import numpy
import torch
import torch.nn.functional as F
from conform import ALL, FLOATS, NUMBERS

END = 2**63 - 1


def shapes(g):
    x = g.values(2, 3, 5)
    for shape in ([30], [5, 6], [3, -1, 2], [1, 2, 1, 3, 5], [-1]):
        g.add("reshape", [x], attrs={"shape": shape}, expect=lambda a, s=tuple(shape): a.reshape(s), dtypes=ALL,
              grad=True, large=[(20, 30, 50)], large_attrs={"shape": [-1]})
    g.add("reshape", [g.values(1, 1)], attrs={"shape": []}, expect=lambda a: a.reshape(()), dtypes=ALL, name="scalar")
    g.add("reshape", [g.values(0, 3)], attrs={"shape": [3, 0, 7]}, expect=lambda a: a.reshape(3, 0, 7), dtypes=ALL,
          name="empty")
    g.error("reshape", [x], attrs={"shape": [4, 7]}, status="shape", text="30 elements")
    g.error("reshape", [x], attrs={"shape": [-1, -1]}, status="shape", text="one of them may be -1")
    g.error("reshape", [x], attrs={"shape": [-1, 7]}, status="shape", text="do not fit")
    g.error("reshape", [g.values(0, 3)], attrs={"shape": [-1, 0]}, status="shape", text="cannot be inferred")
    for first, last in ((0, -1), (1, 2), (0, 1), (1, 1)):
        g.add("flatten", [x], attrs={"first": first, "last": last}, dtypes=ALL, grad=True, covers=["reshape"],
              expect=lambda a, f=first, e=last: a.flatten(f, e))
    g.add("flatten", [g.values()], attrs={"first": 0}, expect=lambda a: a.flatten(), dtypes=ALL, name="scalar")
    g.error("flatten", [x], attrs={"first": 2, "last": 1}, text="comes after")
    g.add("unflatten", [g.values(2, 12)], attrs={"axis": 1, "sizes": [3, -1]}, dtypes=ALL, grad=True,
          expect=lambda a: a.unflatten(1, (3, -1)))
    g.error("unflatten", [g.values(2, 12)], attrs={"axis": 1, "sizes": [5, -1]}, status="shape", text="make up axis 1")
    ones = g.values(1, 3, 1, 5)
    for axis in (0, 2, -2, 1):
        g.add("squeeze", [ones], attrs={"axis": axis}, expect=lambda a, i=axis: a.squeeze(i), dtypes=ALL, grad=True)
    g.add("squeeze_dims", [ones], attrs={"axes": [0, -2]}, expect=lambda a: a.squeeze((0, -2)), dtypes=ALL, grad=True)
    g.add("squeeze_dims", [ones], attrs={"axes": []}, expect=lambda a: a.squeeze(), dtypes=ALL, grad=True)
    g.error("squeeze", [ones], attrs={"axis": 4}, text="axis 4 is outside a tensor of rank 4")
    for axis in (0, 1, -1, -4):
        g.add("unsqueeze", [x], attrs={"axis": axis}, expect=lambda a, i=axis: a.unsqueeze(i), dtypes=ALL, grad=True)
    g.add("unsqueeze_dims", [x], attrs={"axes": [0, -1]}, expect=lambda a: a[None, ..., None], dtypes=ALL, grad=True)
    g.add("atleast", [g.values(3)], attrs={"rank": 3}, expect=lambda a: a[None, None], dtypes=ALL, grad=True)
    g.add("atleast", [x], attrs={"rank": 2}, expect=lambda a: a, dtypes=ALL, grad=True)
    g.error("unsqueeze", [g.values(1, 1, 1, 1, 1, 1, 1, 2)], attrs={"axis": 0}, status="shape", text="highest rank")
    for op in ("expand", "broadcast_to"):
        for shape, many in (((4, 3, 5), (4, 300, 50)), ((2, 4, 3, 5), (2, 4, 300, 50)), ((4, 3, -1), (4, 300, -1))):
            g.add(op, [g.values(1, 3, 5)], attrs={"shape": list(shape)}, dtypes=ALL, grad=True,
                  expect=lambda a, s=shape: a.expand(s), covers=["expand"], large=[(1, 300, 50)], large_attrs={"shape": list(many)})
        g.add(op, [g.values(1, 3)], attrs={"shape": [0, 3]}, expect=lambda a: a.expand(0, 3), dtypes=ALL,
              name="empty", covers=["expand"], large=False)
        g.error(op, [g.values(2, 3)], attrs={"shape": [4, 3]}, status="shape", text="only axes of size 1")
        g.error(op, [g.values(2, 3)], attrs={"shape": [3]}, status="shape", text="more axes")


def orders(g):
    x = g.values(2, 3, 5, 4)
    large = [(7, 33, 45, 17)]
    for axes in ((3, 1, 0, 2), (0, 1, 2, 3), (1, 0, -1, -2)):
        g.add("permute", [x], attrs={"axes": list(axes)}, expect=lambda a, p=axes: a.permute(p), dtypes=ALL,
              grad=True, large=large)
    g.error("permute", [x], attrs={"axes": [0, 0, 1, 2]}, text="named twice")
    g.error("permute", [x], attrs={"axes": [0, 1]}, text="2 axes given for the 4 axes")
    for op in ("transpose", "swap_dims"):
        g.add(op, [x], attrs={"a": 0, "b": -1}, expect=lambda a: a.transpose(0, -1), dtypes=ALL, grad=True,
              large=large, covers=["permute"])
    g.add("t", [g.values(2, 3, 5)], expect=lambda a: a.mT, dtypes=ALL, grad=True)
    g.add("movedim", [x], attrs={"source": [0, -1], "destination": [2, 0]}, dtypes=ALL, grad=True,
          expect=lambda a: a.movedim((0, -1), (2, 0)), large=large)
    g.error("movedim", [x], attrs={"source": [0, 0], "destination": [2, 0]}, text="named twice")
    for axes in ([0], [1, -1], []):
        g.add("flip", [x], attrs={"axes": axes}, dtypes=ALL, grad=True, large=large, covers=["slice"],
              expect=lambda a, p=axes: a.flip(p or (0, 1, 2, 3)))
    for k in (-1, 0, 1, 2, 3, 6):
        g.add("rot90", [g.values(3, 4, 2)], attrs={"k": k, "a": 0, "b": 1}, dtypes=ALL, grad=True,
              expect=lambda a, n=k: torch.rot90(a, n, (0, 1)))
    for shifts, axes in (([2], [1]), ([-7, 3], [0, -1]), ([5], []), ([0], [1])):
        g.add("roll", [x], attrs={"shifts": shifts, "axes": axes}, dtypes=ALL, grad=True, covers=["concat"],
              expect=lambda a, s=shifts, p=axes: torch.roll(a, s, p) if p else torch.roll(a, s[0]))
    g.add("roll_dim", [x], attrs={"shift": -1, "axis": 2}, dtypes=ALL, grad=True,
          expect=lambda a: torch.roll(a, -1, 2))
    g.error("roll", [x], attrs={"shifts": [1, 2], "axes": [0]}, text="2 shifts given for 1 axes")


def parts(g):
    x = g.values(4, 7, 5)
    ranges = (([0, 0, 0], [END, END, END], [1, 1, 1], numpy.s_[:, :, :]),
              ([1, -5, 0], [3, END, -1], [1, 2, 1], numpy.s_[1:3, -5::2, 0:-1]),
              ([0, -1, 4], [END, END, 1], [3, -1, -2], numpy.s_[::3, ::-1, 4:1:-2]),
              ([2, 99, 0], [2, END, END], [1, 1, 1], numpy.s_[2:2, 99:, :]),
              ([-99, 0, 3], [99, 3, -99], [1, 1, -1], numpy.s_[-99:99, 0:3, 3:-99:-1]))

    def part(a, s):
        """torch has no negative steps: index by positions."""
        for axis, r in enumerate(s):
            a = a.index_select(axis, torch.from_numpy(numpy.arange(a.shape[axis])[r].copy()))
        return a

    for start, stop, step, s in ranges:
        attrs = {"start": start, "stop": stop, "step": step}
        g.add("slice", [x], attrs=attrs, expect=lambda a, s=s: part(a, s), dtypes=ALL, grad=True,
              covers=["slice_ranges"], large=[(40, 50, 33)])
        g.add("slice_ranges", [x], attrs=attrs, expect=lambda a, s=s: part(a, s), dtypes=["f32", "i8"], grad=True)

        def assigned(a, v, s=s):
            index = numpy.ix_(*[numpy.arange(n)[r] for n, r in zip(a.shape, s)])
            flat = torch.from_numpy(numpy.arange(a.numel()).reshape(a.shape)[index].copy()).flatten()
            v = v.expand(tuple(i.size for i in index)).flatten()
            return a.flatten().index_copy(0, flat, v).reshape(a.shape)

        sizes = tuple(numpy.arange(n)[r].size for n, r in zip((4, 7, 5), s))
        g.add("update_slice", [x, g.values(*sizes)], attrs=attrs, expect=assigned, dtypes=ALL, grad=True,
              large=[(40, 50, 33), tuple(numpy.arange(n)[r].size for n, r in zip((40, 50, 33), s))])
        g.add("slice_assign", [x, g.values(*sizes[1:])], attrs=attrs, expect=assigned, dtypes=ALL, grad=True,
              covers=["update_slice"], large=False)
        g.add("slice_fill", [x], attrs=dict(attrs, value=3.0), dtypes=["f32", "i32", "bool"], grad=True,
              expect=lambda a, f=assigned: f(a, torch.tensor(3.0).to(a.dtype)), covers=["update_slice"])
    g.add("slice_axis", [x], attrs={"axis": 1, "start": -1, "stop": END, "step": -2}, dtypes=ALL, grad=True,
          expect=lambda a: part(a, numpy.s_[:, ::-2, :]))
    g.error("slice_ranges", [g.values(3)], attrs={"start": [0, 0]}, text="2 ranges given")
    g.error("update_slice", [g.values(3), g.values(3)], attrs={"start": [0], "stop": [2], "step": [1]},
            status="shape", text="do not fit the part [2]")
    g.add("narrow", [x], attrs={"axis": 1, "start": 2, "length": 3}, expect=lambda a: a.narrow(1, 2, 3), dtypes=ALL,
          grad=True)
    g.add("narrow", [x], attrs={"axis": -1, "start": -3, "length": 0}, expect=lambda a: a.narrow(-1, -3, 0),
          dtypes=ALL, name="empty")
    g.error("narrow", [x], attrs={"axis": 1, "start": 5, "length": 3}, status="index", text="not inside axis 1")
    for axis, index in ((0, 2), (1, -1), (-1, 0)):
        g.add("select", [x], attrs={"axis": axis, "index": index}, dtypes=ALL, grad=True,
              expect=lambda a, i=axis, j=index: a.select(i, j))
    g.error("select", [x], attrs={"axis": 1, "index": 7}, status="index",
            text="index 7 is out of range for axis 1 of size 7")
    for axis, size, step in ((1, 3, 2), (0, 4, 1), (-1, 2, 3), (1, 1, 1)):
        attrs = {"axis": axis, "size": size, "step": step}
        g.add("unfold", [x], attrs=attrs, dtypes=ALL, grad=True, covers=["window", "window_grad"],
              expect=lambda a, i=axis, n=size, s=step: a.unfold(i, n, s))
        g.add("window", [x], attrs=attrs, dtypes=["f32"], expect=lambda a, i=axis, n=size, s=step: a.unfold(i, n, s))
    g.error("unfold", [x], attrs={"axis": 0, "size": 5, "step": 1}, status="shape", text="larger than axis 0")
    g.error("unfold", [x], attrs={"axis": 0, "size": 2, "step": 0}, text="not positive")

    def fold(a):
        y = torch.zeros(2, 9, 3, dtype=a.dtype)
        for w in range(4):
            y[:, 2 * w:2 * w + 3] += a[:, w].movedim(-1, 1)
        return y

    g.add("window_grad", [g.values(2, 4, 3, 3)], attrs={"axis": 1, "size": 3, "step": 2, "length": 9},
          expect=fold, dtypes=NUMBERS, grad=True, large=[(50, 4, 70, 3)])
    for size, axis in ((3, 1), (7, 1), (2, 0), (9, -1)):
        g.add("split", [x], attrs={"size": size, "axis": axis}, dtypes=ALL, grad=True, covers=["slice"],
              expect=lambda a, n=size, i=axis: torch.split(a, n, i))
    for chunks, axis in ((3, 1), (2, 0), (9, 2), (4, 2)):
        g.add("chunk", [x], attrs={"chunks": chunks, "axis": axis}, dtypes=ALL, grad=True, covers=["slice"],
              expect=lambda a, n=chunks, i=axis: torch.chunk(a, n, i))
    g.add("split_with_sizes", [x], attrs={"sizes": [1, 0, 4, 2], "axis": 1}, dtypes=ALL, grad=True,
          expect=lambda a: torch.split(a, [1, 0, 4, 2], 1), large=False)
    g.error("split_with_sizes", [x], attrs={"sizes": [1, 2], "axis": 1}, status="shape", text="add up")
    g.error("split", [x], attrs={"size": 0, "axis": 1}, text="parts of 0 elements")


def joins(g):
    x, y, z = g.values(2, 3, 4), g.values(2, 5, 4), g.values(2, 0, 4)
    g.add("concat", [x, y, z], attrs={"axis": 1}, expect=lambda *a: torch.cat(a, 1), dtypes=ALL, grad=True,
          large=[(20, 30, 40), (20, 50, 40), (20, 0, 40)])
    g.add("concat", [x], attrs={"axis": -1}, expect=lambda a: a, dtypes=ALL, grad=True, name="one")
    g.add("concat", [x, x, x, x, x], attrs={"axis": 0}, expect=lambda *a: torch.cat(a, 0), dtypes=ALL, grad=True)
    g.add("concat", [g.values(3, dtype="i32"), g.values(2, dtype="f16")], attrs={"axis": 0}, out="f16",
          expect=lambda a, b: torch.cat([a.double(), b]), dtypes=["f32"], name="promotes", layouts=False)
    g.add("concat", [g.values(3, dtype="f16"), g.values(2, dtype="bf16")], attrs={"axis": 0}, out="f32", grad=True,
          expect=lambda a, b: torch.cat([a, b]), dtypes=["f32"], name="halves", layouts=False)
    g.error("concat", [x, y], attrs={"axis": 0}, status="shape", text="only axis 0 may differ")
    g.error("concat", [g.values(), g.values()], attrs={"axis": 0}, text="axis 0 is outside")
    for axis in (0, 1, -1):
        g.add("stack", [x, x, x], attrs={"axis": axis}, dtypes=ALL, grad=True, covers=["concat"],
              expect=lambda *a, i=axis: torch.stack(a, i))
    g.add("stack", [g.values(), g.values()], attrs={"axis": 0}, expect=lambda *a: torch.stack(a, 0), dtypes=ALL,
          name="scalars")
    g.error("stack", [x, y], attrs={"axis": 0}, status="shape", text="differs from the first")
    for repeats in ((2, 1, 3), (2, 1, 1, 2), (1, 0, 1), (1, 1, 1)):
        g.add("repeat", [x], attrs={"repeats": list(repeats)}, dtypes=ALL, grad=0 not in repeats,
              expect=lambda a, r=repeats: a.repeat(r))
        g.add("tile", [x], attrs={"repeats": list(repeats[1:])}, dtypes=ALL, grad=0 not in repeats[1:],
              expect=lambda a, r=repeats[1:]: a.tile(r))
    g.error("repeat", [x], attrs={"repeats": [2]}, text="1 repeats given for 3 axes")
    for axis in (0, -1):
        g.add("repeat_dim", [x], attrs={"axis": axis, "times": 3}, dtypes=ALL, grad=True,
              expect=lambda a, i=axis: torch.cat([a, a, a], i))
        g.add("repeat_interleave", [x], attrs={"axis": axis, "times": 3}, dtypes=ALL, grad=True,
              expect=lambda a, i=axis: torch.repeat_interleave(a, 3, i))
    lines = [g.values(3), g.values(4), g.values(2)]
    for cartesian in (0, 1):
        for sparse in (0, 1):
            g.add("meshgrid", lines, attrs={"cartesian": cartesian, "sparse": sparse}, dtypes=["f32", "f64", "i64"],
                  expect=lambda *a, c=cartesian, s=sparse: tuple(torch.from_numpy(v.copy()) for v in numpy.meshgrid(
                      *[i.numpy() for i in a], indexing="xy" if c else "ij", sparse=bool(s))), large=False)
        g.add("meshgrid_stack", lines, attrs={"cartesian": cartesian, "axis": -1}, dtypes=["f32", "i64"], grad=True,
              expect=lambda *a, c=cartesian: torch.stack(torch.meshgrid(*a, indexing="xy" if c else "ij"), -1),
              large=False)


MODES = ("constant", "reflect", "replicate", "circular")


def padding(g):
    def padded(a, before, after, mode):
        shape, pads = a.shape, []
        for b, e in zip(reversed(before), reversed(after)):
            pads += [b, e]
        kind = {torch.bool: torch.uint8}.get(a.dtype, a.dtype)
        if mode == "constant":
            return F.pad(a.to(kind), pads, value=0.0).to(a.dtype)
        if not a.is_floating_point():
            names = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
            return torch.from_numpy(numpy.pad(a.numpy(), list(zip(before, after)), names[mode]))
        for axis, (b, e) in enumerate(zip(before, after)):
            n = shape[axis]
            i = torch.arange(-b, n + e)
            if mode == "reflect":
                i = (n - 1) - ((n - 1) - i.abs()).abs()
            i = i.clamp(0, n - 1) if mode == "replicate" else i % n if mode == "circular" else i
            a = a.index_select(axis, i)
        return a

    for mode, name in enumerate(MODES):
        for before, after in (([1, 2, 0], [2, 1, 3]), ([0, 0, 1], [0, 0, 2]), ([0, 0, 0], [0, 0, 0])):
            g.add("pad", [g.values(3, 4, 5)], dtypes=ALL, grad=True, covers=["pad_grad"],
                  attrs={"before": before, "after": after, "mode": mode, "value": 0.0},
                  expect=lambda a, b=before, e=after, m=name: padded(a, b, e, m), large=[(30, 40, 17)])
    g.add("pad", [g.values(2, 3)], attrs={"before": [1, 0], "after": [0, 2], "mode": 0, "value": -2.5}, grad=True,
          expect=lambda a: F.pad(a, [0, 2, 1, 0], value=-2.5), dtypes=FLOATS, name="value")
    g.add("pad", [g.values(0, 3)], attrs={"before": [1, 0], "after": [1, 0], "mode": 0, "value": 1.0}, dtypes=ALL,
          expect=lambda a: torch.ones(2, 3, dtype=a.dtype), name="empty")
    g.add("pad_axes", [g.values(4, 5)], attrs={"before": [-1], "after": [2], "mode": 0, "value": 7.0}, dtypes=NUMBERS,
          expect=lambda a: F.pad(a, [-1, 2], value=7.0), grad=True, covers=["pad"])
    g.add("pad_axes", [g.values(4, 5)], attrs={"before": [2], "after": [1], "mode": 1}, dtypes=FLOATS, grad=True,
          expect=lambda a: F.pad(a, [2, 1], mode="reflect"), covers=["pad", "pad_grad"])
    g.error("pad", [g.values(3)], attrs={"before": [3], "after": [0], "mode": 1}, status="shape", text="too short")
    g.error("pad", [g.values(3)], attrs={"before": [4], "after": [0], "mode": 3}, status="shape", text="too short")
    g.error("pad_axes", [g.values(3)], attrs={"before": [-2], "after": [-2], "mode": 0}, status="shape", text="is cut")
    g.add("pad_grad", [g.values(2, 7, 3)], attrs={"axis": 1, "before": 2, "after": 1, "mode": 1}, dtypes=FLOATS,
          grad=True, large=[(40, 70, 30)],
          expect=lambda a: torch.stack([a[:, 2], a[:, 3] + a[:, 1], a[:, 4] + a[:, 0] + a[:, 6], a[:, 5]], 1))


def cases(g):
    shapes(g)
    orders(g)
    parts(g)
    joins(g)
    padding(g)
