"""Pooling, patches, interpolation and grids against PyTorch."""
import math

import torch
import torch.nn.functional as F
from conform import FLOATS, NUMBERS, code

NEAREST, NEAREST_EXACT, LINEAR, CUBIC, LANCZOS3, AREA = range(6)
POOLS = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
AVERAGES = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}
ADAPTIVE = {1: (F.adaptive_avg_pool1d, F.adaptive_max_pool1d), 2: (F.adaptive_avg_pool2d, F.adaptive_max_pool2d),
            3: (F.adaptive_avg_pool3d, F.adaptive_max_pool3d)}


def max_pool(g, shape, window, stride=None, padding=0, dilation=1, ceil_mode=False, name=None):
    axes = len(window)
    stride = stride or window
    padding, dilation = [padding] * axes, [dilation] * axes
    attrs = dict(window=window, stride=stride, padding=padding, dilation=dilation, ceil_mode=ceil_mode)

    def both(x):
        values, at = POOLS[axes](x.double(), window, stride, padding, dilation, ceil_mode, True)
        return values.to(x.dtype), at

    x = g.values(*shape, low=-50, high=50, flags="distinct")
    g.add("max_pool%dd_with_indices" % axes, [x], attrs=attrs, dtypes=NUMBERS, out=[lambda d: d, "i64"], expect=both,
          grad=True, covers=["max_pool", "max_pool_grad"], name=name, large=False)
    g.add("max_pool%dd" % axes, [x], attrs=attrs, dtypes=NUMBERS, out=lambda d: d, expect=lambda x: both(x)[0],
          grad=True, covers=["max_pool_values", "max_pool_grad"], name=name)


def avg_pool(g, shape, window, stride=None, padding=0, ceil_mode=False, exclude=False, divisor=None, name=None):
    axes = len(window)
    stride = stride or window
    padding = [padding] * axes
    attrs = dict(window=window, stride=stride, padding=padding, ceil_mode=ceil_mode, exclude_padding=exclude,
                 divisor=divisor or 0)
    more = () if axes == 1 else (divisor,)
    g.add("avg_pool%dd" % axes, [g.values(*shape)], attrs=attrs, grad=True, covers=["avg_pool", "avg_pool_grad"],
          expect=lambda x: AVERAGES[axes](x, window, stride, padding, ceil_mode, not exclude, *more), name=name)


def gradients_of_max(g):
    """Of equal elements the first gets all, of NaN the last; positions of any integer dtype."""
    most = ["max_pool_values", "max_pool_grad"]
    for flags in ("ties", "ties nan"):
        name = flags.replace(" ", "-")
        g.add("max_pool1d", [g.values(2, 2, 13, flags=flags)], attrs={"window": [4], "stride": [2], "padding": [2]}, name=name,
              covers=most, grad="torch", expect=lambda x: F.max_pool1d(x, 4, 2, 2), large=False)
        g.add("max_pool2d", [g.values(1, 2, 9, 8, flags=flags)], attrs={"window": [3, 3], "stride": [2, 2], "padding": [1, 1]},
              name=name, covers=most, grad="torch", expect=lambda x: F.max_pool2d(x, 3, 2, 1), large=False)
        g.add("max_pool3d", [g.values(1, 2, 4, 5, 6, flags=flags)], attrs={"window": [2, 3, 2], "stride": [1, 2, 2]}, name=name,
              covers=most, grad="torch", expect=lambda x: F.max_pool3d(x, (2, 3, 2), (1, 2, 2)), large=False)
    torch.manual_seed(5)
    for x, window, stride, padding, at in [((2, 2, 9), [3], [1], [1], "u8"), ((1, 2, 7, 8), [3, 3], [2, 2], [1, 1], "u16"),
                                           ((2, 6, 7), [2, 3], [3, 2], [0, 1], "i32"),
                                           ((1, 1, 4, 5, 6), [2, 3, 2], [2, 1, 2], [1, 1, 0], "i64")]:
        axes = len(window)
        image = torch.rand(*x, dtype=torch.float64).requires_grad_()
        y, places = POOLS[axes](image, window, stride, padding, return_indices=True)
        g.add("max_pool_grad", [g.values(*y.shape), g.literal(places.tolist(), dtype=at)], dtypes=FLOATS, grad=[0], large=False,
              attrs=dict(axes=axes, window=window, stride=stride, padding=padding, size=list(x[-axes:])),
              expect=lambda dy, _, x=image, y=y: torch.autograd.grad(y, x, dy, retain_graph=True, create_graph=True)[0])
        size = [max(1, n // 3) for n in x[-axes:]]
        z, places = ADAPTIVE[axes][1](image, size if axes > 1 else size[0], return_indices=True)
        g.add("adaptive_max_pool_grad", [g.values(*z.shape), g.literal(places.tolist(), dtype=at)], dtypes=FLOATS, grad=[0],
              attrs=dict(size=size, input=list(x[-axes:])), large=False,
              expect=lambda dy, _, x=image, z=z: torch.autograd.grad(z, x, dy, retain_graph=True, create_graph=True)[0])

    def put(dy, at, size):
        planes = torch.zeros(*dy.shape[:2], math.prod(size), dtype=dy.dtype)
        return planes.scatter_add(2, at.flatten(2), dy.flatten(2)).reshape(*dy.shape[:2], *size)

    # All windows hold the whole plane, so that any position may be a window's.
    for size in ([5], [3, 5], [2, 3, 4]):
        axes, windows = len(size), [2 * n - 1 for n in size]
        plane = math.prod(size) - 1
        attrs = dict(axes=axes, window=windows, stride=[1] * axes, padding=[n - 1 for n in size], size=size)
        large = (33, 130, *size)
        g.add("max_pool_grad", [g.values(2, 3, *size), g.ints(2, 3, *size, low=0, high=plane, dtype="i64")], dtypes=FLOATS,
              attrs=attrs, grad=[0], large=[large, large], name="whole", expect=lambda dy, at, s=size: put(dy, at, s))
        one = [2, 3] + [1] * axes
        large = (70, 130, *[1] * axes)
        g.add("adaptive_max_pool_grad", [g.values(*one), g.ints(*one, low=0, high=plane, dtype="i32")], dtypes=FLOATS, grad=[0],
              attrs=dict(size=[1] * axes, input=size), large=[large, large], name="whole", expect=lambda dy, at, s=size: put(dy, at, s))
    dy, at = g.values(1, 2, 3, 3), g.ints(1, 2, 3, 3, low=0, high=3, dtype="i64")
    attrs = {"axes": 2, "window": [2, 2], "size": [6, 6]}
    g.error("max_pool_grad", [dy, g.ints(1, 2, 3, low=0, high=3, dtype="i64")], attrs=attrs, status="shape", text="one for each")
    g.error("max_pool_grad", [dy, dy], attrs=attrs, status="dtype", text="positions are integers")
    g.error("max_pool_grad", [dy, at], attrs=dict(attrs, size=[8, 6]), status="shape", text="is not a pooled")
    g.error("max_pool_grad", [dy, at], attrs=dict(attrs, size=[6]), text="entries")
    g.error("adaptive_max_pool_grad", [dy, at], attrs={"size": [3, 4], "input": [6, 6]}, status="shape", text="is not a pooled")
    g.error("max_pool", [g.values(1, 2, 300, 300)], attrs={"axes": 2, "window": [2, 2], "places": code("u16")},
            text="does not hold all positions")
    g.error("max_pool", [g.values(1, 2, 3, 3)], attrs={"axes": 2, "window": [2, 2], "places": code("f32")}, text="places is")


def pooling(g):
    max_pool(g, (2, 3, 11), [3])
    max_pool(g, (3, 10), [3], [2], 1, name="unbatched")
    max_pool(g, (2, 3, 12), [3], [1], 1, 2, name="dilated")
    max_pool(g, (2, 2, 8, 6), [2, 2])
    max_pool(g, (2, 2, 7, 9), [3, 3], [2, 2], 1)
    max_pool(g, (1, 2, 7, 9), [3, 3], [1, 1], 1, name="same")
    max_pool(g, (2, 7, 9), [3, 2], [2, 3], 1, ceil_mode=True, name="ceil")
    max_pool(g, (1, 2, 9, 11), [3, 2], [1, 2], 1, 2, name="dilated")
    max_pool(g, (1, 2, 6, 7), [5, 5], [2, 2], 2, name="wide")
    max_pool(g, (0, 2, 6, 7), [2, 2], name="empty")
    max_pool(g, (1, 2, 5, 6, 7), [2, 3, 2])
    max_pool(g, (2, 5, 6, 7), [3, 3, 3], [2, 2, 2], 1, ceil_mode=True, name="ceil")
    g.add("max_pool2d", [g.values(1, 2, 6, 7, flags="nan inf")], attrs={"window": [3, 3], "stride": [1, 2]},
          covers=["max_pool_values"], expect=lambda x: F.max_pool2d(x, 3, (1, 2)), name="nan")
    g.add("max_pool2d_with_indices", [g.literal([[[[1.0, 1.0, 0.0], [1.0, 1.0, 2.0], [2.0, 2.0, 2.0]]]])],
          attrs={"window": [2, 2], "stride": [1, 1]}, covers=["max_pool"], name="ties", out=[lambda d: d, "i64"],
          expect=lambda x: F.max_pool2d(x, 2, 1, return_indices=True), large=False)
    gradients_of_max(g)
    avg_pool(g, (2, 3, 11), [3])
    avg_pool(g, (3, 10), [4], [2], 2, name="unbatched")
    avg_pool(g, (2, 2, 8, 6), [2, 2])
    avg_pool(g, (2, 2, 7, 9), [3, 3], [2, 2], 1)
    avg_pool(g, (2, 2, 7, 9), [3, 3], [1, 1], 1, exclude=True, name="exclude")
    avg_pool(g, (2, 2, 7, 9), [3, 2], [2, 3], 1, ceil_mode=True, name="ceil")
    avg_pool(g, (2, 2, 7, 9), [3, 2], [2, 3], 1, ceil_mode=True, exclude=True, name="ceil-exclude")
    avg_pool(g, (2, 7, 9), [3, 3], [2, 2], 1, divisor=5, name="divisor")
    avg_pool(g, (1, 2, 5, 6, 7), [2, 3, 2], [2, 2, 1], 1)
    avg_pool(g, (0, 2, 6, 7), [2, 2], name="empty")

    def asymmetric(x):
        return F.max_pool2d(F.pad(x, (1, 0, 0, 1), value=-math.inf), 3, 2)

    g.add("max_pool2d", [g.values(1, 2, 8, 8, flags="distinct")], covers=["max_pool_values"], name="asymmetric", grad=True,
          attrs={"window": [3, 3], "stride": [2, 2], "padding": [0, 1], "padding_end": [1, -2**63]},
          expect=asymmetric)
    g.add("max_unpool", [g.values(2, 3, 4), g.literal([[[0, 2, 5, 7]] * 3] * 2, dtype="i64")], attrs={"size": [9]},
          expect=lambda y, i: F.max_unpool1d(y, i, 2, output_size=(2, 3, 9)) if y.dtype.is_floating_point else
          torch.zeros(2, 3, 9, dtype=y.dtype).scatter(2, i, y), dtypes=NUMBERS, out=lambda d: d, grad=[0], large=False)
    g.error("max_pool2d", [g.values(1, 2, 2, 6)], attrs={"window": [3, 3]}, status="shape", text="larger")
    g.error("max_pool2d", [g.values(6, 6)], attrs={"window": [3, 3]}, status="shape", text="channels")
    g.error("max_pool2d", [g.values(1, 2, 0, 6)], attrs={"window": [2, 2]}, status="shape", text="empty")
    g.error("max_pool2d", [g.values(1, 2, 3, 6)], attrs={"window": [2, 2], "padding": [1, 0], "dilation": [4, 1]},
            text="without any element")
    g.error("max_pool2d", [g.values(1, 2, 6, 6)], attrs={"window": [0, 2]}, text="window")
    g.error("max_pool2d", [g.values(1, 2, 6, 6)], attrs={"window": [2, 2, 2]}, text="entries")
    g.error("avg_pool2d", [g.values(1, 2, 6, 6)], attrs={"window": [2, 2]}, dtypes=["i32"], status="dtype")


def adaptive(g):
    for shape, size in [((2, 3, 11), [4]), ((3, 7), [7]), ((2, 3, 4), [9]), ((2, 2, 7, 9), [3, 4]), ((2, 7, 9), [-1, 2]),
                        ((2, 2, 5, 7), [1, 1]), ((1, 2, 3, 5), [7, 2]), ((1, 2, 4, 5, 6), [2, 3, 4]),
                        ((2, 5, 4, 3), [1, -1, 2]), ((0, 2, 5, 7), [2, 2])]:
        axes = len(size)
        average, largest = ADAPTIVE[axes]
        want = [s if s != -1 else None for s in size]
        want = want[0] if axes == 1 else want
        g.add("adaptive_avg_pool%dd" % axes, [g.values(*shape)], attrs={"size": size}, grad=True,
              covers=["adaptive_avg_pool", "adaptive_avg_pool_grad"], expect=lambda x, f=average, s=want: f(x, s))

        def both(x, f=largest, s=want):
            values, at = f(x.double(), s, return_indices=True)
            return values.to(x.dtype), at

        g.add("adaptive_max_pool%dd" % axes, [g.values(*shape, low=-50, high=50, flags="distinct")],
              attrs={"size": size}, dtypes=NUMBERS, out=[lambda d: d, "i64"], grad=True,
              covers=["adaptive_max_pool", "adaptive_max_pool_grad"],
              expect=both, large=False)
    g.error("adaptive_avg_pool2d", [g.values(1, 2, 5, 5)], attrs={"size": [1, 2, 3]}, text="entries")
    g.error("adaptive_avg_pool2d", [g.values(1, 2, 5, 5)], attrs={"size": [-2, 2]}, text="size")


def patches(g):
    for shape, window, stride, padding, dilation in [
            ((2, 3, 5, 6), [2, 2], [1, 1], [0, 0], [1, 1]), ((2, 2, 7, 8), [3, 2], [2, 1], [1, 0], [1, 2]),
            ((2, 6, 7), [2, 3], [2, 3], [1, 1], [1, 1]), ((1, 1, 4, 5), [4, 5], [1, 1], [0, 0], [1, 1]),
            ((1, 2, 5, 5), [3, 3], [4, 4], [3, 3], [1, 1])]:
        attrs = dict(window=window, stride=stride, padding=padding, dilation=dilation)

        def unfold(x, w=window, s=stride, p=padding, d=dilation):
            return F.unfold(x.double(), w, d, p, s).to(x.dtype)

        columns = tuple(unfold(torch.zeros(shape)).shape)
        g.add("unfold4d", [g.values(*shape)], attrs=attrs, dtypes=NUMBERS, out=lambda d: d, expect=unfold, grad=True)
        size = list(shape[-2:])
        g.add("fold4d", [g.values(*columns)], attrs=dict(attrs, size=size), dtypes=NUMBERS, out=lambda d: d, grad=True,
              expect=lambda x, w=window, s=stride, p=padding, d=dilation, z=size:
              F.fold(x.double(), z, w, d, p, s).to(x.dtype), large=[(40 * columns[0], *columns[1:])])
    for shape, factor in [((1, 8, 2, 3), 2), ((2, 9, 2, 1), 3), ((2, 2, 4, 3, 2), 2), ((3, 2, 2), 1)]:
        g.add("pixel_shuffle", [g.values(*shape)], attrs={"factor": factor}, dtypes=NUMBERS, grad=True, large=False,
              out=lambda d: d, expect=lambda x, f=factor: F.pixel_shuffle(x, f), covers=["reshape", "permute"])
    for shape, factor in [((1, 2, 4, 6), 2), ((1, 1, 6, 3), 3), ((2, 4, 2), 2)]:
        g.add("pixel_unshuffle", [g.values(*shape)], attrs={"factor": factor}, dtypes=NUMBERS, grad=True, large=False,
              out=lambda d: d, expect=lambda x, f=factor: F.pixel_unshuffle(x, f), covers=["reshape", "permute"])
    g.error("pixel_shuffle", [g.values(1, 6, 2, 3)], attrs={"factor": 2}, status="shape", text="multiple")
    g.error("unfold4d", [g.values(1, 2, 2, 2)], attrs={"window": [3, 3]}, status="shape", text="does not fit")
    g.error("fold4d", [g.values(1, 8, 5)], attrs={"window": [2, 2], "size": [3, 3]}, status="shape", text="patches")
    g.error("fold4d", [g.values(1, 7, 4)], attrs={"window": [2, 2], "size": [3, 3]}, status="shape", text="multiple")


def lanczos_matrix(n, m, align):
    """The weights of one axis as an m by n matrix."""
    def kernel(d):
        d = abs(d)
        if d >= 3:
            return 0.0
        return 1.0 if d == 0 else 3 * math.sin(math.pi * d) * math.sin(math.pi * d / 3) / (math.pi * d) ** 2

    rows = torch.zeros(m, n, dtype=torch.float64)
    for o in range(m):
        at = (o * (n - 1) / (m - 1) if m > 1 else 0.0) if align else (o + 0.5) * n / m - 0.5
        taps = range(math.floor(at) - 2, math.floor(at) + 4)
        total = sum(kernel(at - t) for t in taps)
        for t in taps:
            rows[o, min(max(t, 0), n - 1)] += kernel(at - t) / total
    return rows


def lanczos(x, size, align):
    for axis, m in enumerate(size):
        x = torch.movedim(torch.movedim(x, 2 + axis, -1) @ lanczos_matrix(x.shape[2 + axis], m, align).T, -1, 2 + axis)
    return x


def interpolation(g):
    sizes = [((2, 3, 7), [11]), ((1, 2, 9), [4]), ((2, 2, 4, 5), [7, 9]), ((1, 2, 8, 9), [3, 5]), ((1, 2, 5, 4), [5, 8]),
             ((1, 2, 6, 1), [1, 4]), ((2, 2, 3, 4), [6, 8]), ((1, 2, 3, 4, 5), [5, 3, 7]), ((0, 2, 3, 4), [6, 8])]
    linear = {1: "linear", 2: "bilinear", 3: "trilinear"}
    covers = ["interpolate", "interpolate_grad"]
    for shape, size in sizes:
        axes = len(size)
        x = g.values(*shape)
        plain = [(NEAREST, "nearest"), (NEAREST_EXACT, "nearest-exact"), (AREA, "area")]
        for mode, word in plain if shape[0] else []:
            g.add("resize", [x], attrs={"mode": mode, "size": size}, grad=True, covers=covers, name=word,
                  expect=lambda x, s=size, w=word: F.interpolate(x, s, mode=w))
        for align in (False, True):
            attrs = {"size": size, "align_corners": align}
            tail = "-aligned" if align else ""
            g.add("resize", [x], attrs=dict(attrs, mode=LINEAR), grad=True, covers=covers, name="linear" + tail,
                  expect=lambda x, s=size, a=align, w=linear[axes]: F.interpolate(x, s, mode=w, align_corners=a))
            g.add("resize", [x], attrs=dict(attrs, mode=LANCZOS3), grad=True, covers=covers, name="lanczos3" + tail,
                  expect=lambda x, s=size, a=align: lanczos(x, s, a))
            if axes != 2:
                continue
            g.add("resize", [x], attrs=dict(attrs, mode=CUBIC), grad=True, covers=covers, name="cubic" + tail,
                  expect=lambda x, s=size, a=align: F.interpolate(x, s, mode="bicubic", align_corners=a))
            for mode, word in [(LINEAR, "bilinear"), (CUBIC, "bicubic")]:
                g.add("resize", [x], attrs=dict(attrs, mode=mode, antialias=1), grad=True, covers=covers,
                      name=word + "-antialias" + tail, expect=lambda x, s=size, a=align, w=word:
                      F.interpolate(x, s, mode=w, align_corners=a, antialias=True))
    g.error("resize", [g.values(1, 2, 3, 4)], attrs={"mode": NEAREST, "size": [3, 3], "align_corners": 1},
            text="align_corners")
    g.error("resize", [g.values(1, 2, 3, 4)], attrs={"mode": LINEAR, "size": [3, 3, 3]}, text="entries")
    g.error("resize", [g.values(1, 2, 3, 4)], attrs={"mode": LINEAR, "size": [0, 3]}, status="shape", text="positive")
    g.error("resize", [g.values(3, 4)], attrs={"mode": LINEAR, "size": [3]}, status="shape", text="channels")
    g.error("resize", [g.values(1, 2, 3, 4)], attrs={"mode": LINEAR, "size": [3, 3]}, dtypes=["i32"], status="dtype")


def grids(g):
    modes = ["bilinear", "nearest", "bicubic"]
    paddings = ["zeros", "border", "reflection"]
    shapes = [((2, 3, 5, 6), (2, 4, 3, 2)), ((1, 2, 1, 4), (1, 3, 5, 2)), ((1, 2, 3, 4, 5), (1, 2, 3, 2, 3))]
    for x, grid in shapes:
        for m, mode in enumerate(modes):
            if len(x) == 5 and mode == "bicubic":
                continue
            for p, padding in enumerate(paddings):
                for align in (False, True):
                    g.add("sample_grid", [g.values(*x), g.values(*grid, low=-1.7, high=1.7)], dtypes=FLOATS,
                          attrs={"mode": m, "padding": p, "align_corners": align}, name="%s-%s" % (mode, padding),
                          expect=lambda x, y, m=mode, p=padding, a=align: F.grid_sample(x, y, m, p, a), large=False,
                          grad=True, covers=["grid_sample", "grid_sample_grad"])
    nowhere = [[[[math.nan, 0.0], [0.0, math.nan], [math.nan, 5.0], [0.1, 0.2]]]]
    for m, mode in enumerate(modes):
        for p, padding in enumerate(paddings):
            g.add("sample_grid", [g.values(1, 2, 3, 4), g.literal(nowhere)], dtypes=FLOATS, name="nan-" + mode, large=False,
                  attrs={"mode": m, "padding": p, "align_corners": False}, covers=["grid_sample"],
                  expect=lambda x, y, m=mode, p=padding: F.grid_sample(x, y, m, p, False))
    for theta, size in [((2, 2, 3), [2, 3, 4, 5]), ((1, 2, 3), [1, 1, 1, 3]), ((2, 3, 4), [2, 1, 2, 3, 4])]:
        for align in (False, True):
            g.add("affine_grid", [g.values(*theta)], attrs={"size": size, "align_corners": align}, grad=True,
                  large=False, covers=["matmul"],
                  expect=lambda t, s=size, a=align: F.affine_grid(t, s, align_corners=a))
    g.error("sample_grid", [g.values(2, 3, 5, 6), g.values(1, 4, 3, 2)], status="shape", text="batch")
    g.error("sample_grid", [g.values(2, 3, 5, 6), g.values(2, 4, 3, 3)], status="shape", text="coordinates")
    g.error("sample_grid", [g.values(2, 3, 5, 6), g.values(2, 4, 3, 2, dtype="f64")], status="dtype", text="convert")
    g.error("affine_grid", [g.values(2, 2, 2)], attrs={"size": [2, 3, 4, 5]}, status="shape", text="theta")


def cases(g):
    pooling(g)
    adaptive(g)
    patches(g)
    interpolation(g)
    grids(g)
