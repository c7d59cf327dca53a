"""Resampling along any axes, against weights that NumPy makes from the definition."""
import math

import numpy
import torch
from conform import ALL, FLOATS, INTS, NUMBERS

NEAREST, LINEAR, CUBIC = range(3)
HALF_PIXEL, ALIGN, ASYMMETRIC, OR_0, MIDDLE, EDGE, CROP = range(7)
DOWN, UP, FLOOR, CEIL = range(4)


def place(o, n, m, transform, scale, begin, end):
    """Where element o of m lies among n."""
    s = scale or m / n
    if transform == ALIGN:
        return o * (n - 1) / (s * n - 1) if s * n > 1 else 0.0
    if transform == ASYMMETRIC:
        return o / s
    if transform == EDGE:
        return (o + 0.5) / s
    if transform == CROP:
        return begin * (n - 1) + o * (end - begin) * (n - 1) / (s * n - 1) if m > 1 else (begin + end) * (n - 1) / 2
    if transform == OR_0 and m == 1:
        return 0.0
    at = (o + 0.5) / s - 0.5
    return at + n / 2 * (1 - m / (s * n)) if transform == MIDDLE else at


def cubic(d, a):
    d = abs(d)
    if d < 1:
        return (a + 2) * d ** 3 - (a + 3) * d ** 2 + 1
    return a * d ** 3 - 5 * a * d ** 2 + 8 * a * d - 4 * a if d < 2 else 0.0


def weights(n, m, k, attrs):
    """The matrix of an axis, [m, n], and which rows lie outside."""
    mode, transform = attrs.get("mode", 0), attrs.get("transform", 0)
    scale = attrs.get("scale%d" % k, 0.0)
    begin, end = attrs.get("begin%d" % k, 0.0), attrs.get("end%d" % k, 0.0)
    w, outside = numpy.zeros((m, n)), numpy.zeros(m, dtype=bool)
    for o in range(m):
        at = place(o, n, m, transform, scale, begin, end)
        near = round(at * 4096) / 4096  # ties of thirds and the like are not what is tested
        at = near if abs(near - at) < 1e-9 else at
        if transform == CROP and (at < 0 or at > n - 1):
            outside[o] = True
            continue
        if mode == NEAREST:
            rule = attrs.get("rule", 0)
            i = [math.ceil(at - 0.5), math.floor(at + 0.5), math.floor(at), math.ceil(at)][rule]
            w[o, min(max(i, 0), n - 1)] = 1
            continue
        stretch = max(1.0, 1 / (scale or m / n)) if attrs.get("antialias") else 1.0
        taps = {}
        for i in range(math.floor(at - 2 * stretch) - 1, math.ceil(at + 2 * stretch) + 2):
            d = abs(i - at) / stretch
            taps[i] = max(0.0, 1 - d) if mode == LINEAR else cubic(d, attrs.get("cubic", 0.0) or -0.75)
            if attrs.get("exclude_outside") and not 0 <= i < n:
                taps[i] = 0.0
        total = sum(taps.values())
        for i, v in taps.items():
            w[o, min(max(i, 0), n - 1)] += v / total
    return w, outside


def resampled(x, attrs):
    axes = attrs.get("axes") or list(range(x.dim() - len(attrs["size"]), x.dim()))
    masks = []
    for k, (axis, size) in enumerate(zip(axes, attrs["size"])):
        w, outside = weights(x.shape[axis], size, k, attrs)
        w = torch.tensor(w).to(x.dtype if x.dtype.is_floating_point else torch.float64)
        if attrs.get("mode", 0) == NEAREST:
            x = x.index_select(axis, w.argmax(1)) * torch.tensor(1).to(x.dtype)
        else:
            x = torch.movedim(torch.tensordot(x.to(w.dtype), w, ([axis], [1])), -1, axis)
        masks.append((axis, torch.tensor(outside)))
    for axis, outside in masks:
        shape = [1] * x.dim()
        shape[axis] = -1
        x = torch.where(outside.reshape(shape), torch.tensor(attrs.get("outside", 0.0)).to(x.dtype), x)
    return x


def resample(g, shape, size, axes=None, name=None, dtypes=FLOATS, grad=True, **attrs):
    attrs = dict(attrs, size=size)
    if axes is not None:
        attrs["axes"] = axes
    whole = attrs.get("mode", 0) != NEAREST and dtypes is not FLOATS
    limits = {"low": -40, "high": 40} if whole else {}

    def expect(x):
        y = resampled(x, attrs)
        return torch.round(y).to(x.dtype) if whole else y

    g.add("resample_to", [g.values(*shape, **limits)], attrs=attrs, dtypes=dtypes, out=lambda d: d, grad=grad, expect=expect,
          covers=["resample", "resample_grad"] if grad else ["resample"], name=name, large=None if axes is None else False)


def resampling(g):
    resample(g, (2, 3, 5, 7), [10, 14], dtypes=ALL, name="nearest", transform=ASYMMETRIC, rule=FLOOR)
    resample(g, (2, 3, 5, 7), [8, 3], name="down")
    for rule in (DOWN, UP, FLOOR, CEIL):
        resample(g, (2, 8, 9), [4, 6], dtypes=["f64", "i32", "u8"], rule=rule, name="rule%d" % rule)
    resample(g, (2, 5, 7), [9, 4], axes=[0, 1], mode=LINEAR, name="first_axes")
    resample(g, (2, 5, 7, 2), [9, 4], axes=[2, 1], mode=LINEAR, name="channels_last")
    resample(g, (3, 4, 5, 6), [5, 3, 6], axes=[0, 1, 3], mode=LINEAR, name="apart")
    resample(g, (2, 3, 2, 3, 4), [3, 2, 3, 4, 5], mode=LINEAR, name="five")
    resample(g, (2, 3, 6), [12], mode=LINEAR, name="doubled")
    resample(g, (2, 3, 5), [5], mode=CUBIC, name="kept")
    resample(g, (1, 1, 6, 1), [9, 1], mode=CUBIC, name="one")
    for transform in (ALIGN, ASYMMETRIC, OR_0, MIDDLE, EDGE):
        resample(g, (2, 5, 6), [7, 4], mode=LINEAR, transform=transform, name="transform%d" % transform)
        resample(g, (2, 7, 6), [1, 8], mode=CUBIC, transform=transform, name="transform%d" % transform)
        resample(g, (2, 4, 6), [2, 3], mode=LINEAR, transform=transform, scale0=0.6, scale1=0.55, name="scaled%d" % transform)
    for mode in (LINEAR, CUBIC):
        resample(g, (2, 9, 10), [4, 3], mode=mode, antialias=True, name="antialias")
        resample(g, (2, 9, 4), [4, 9], mode=mode, antialias=True, exclude_outside=True, scale0=0.45, name="antialias_inside")
        resample(g, (2, 5, 4), [9, 2], mode=mode, exclude_outside=True, cubic=-0.5, name="inside")
    for mode in (NEAREST, LINEAR, CUBIC):
        resample(g, (2, 5, 6), [4, 3], mode=mode, transform=CROP, begin0=0.3, end0=0.9, begin1=0.7, end1=0.2, name="crop")
        resample(g, (2, 5, 6), [4, 5], mode=mode, transform=CROP, begin0=-0.3, end0=0.9, begin1=0.45, end1=1.6, outside=10.0,
                 dtypes=FLOATS if mode else NUMBERS, name="outside")
    for mode in (LINEAR, CUBIC):
        resample(g, (2, 5, 6), [8, 4], mode=mode, dtypes=["i8", "i16", "i32"], grad=False, name="whole")
    x = g.values(2, 5, 6)
    g.add("resample", [x], attrs={"axes": [1], "size": [9]}, dtypes=ALL, name="row", grad=True, out=lambda d: d,
          expect=lambda a: resampled(a, {"axes": [1], "size": [9]}), large=[(3, 300, 70)], large_attrs={"size": [411]})
    both = {"axes": [0, 2], "size": [3, 13], "mode": LINEAR}
    g.add("resample", [x], attrs=both, name="row", grad=True, expect=lambda a: resampled(a, both), covers=["resample_grad"],
          large=[(40, 30, 97)], large_attrs={"size": [83, 61]})
    back = {"axes": [1], "size": [9], "input": [5], "mode": LINEAR}
    w = torch.tensor(weights(5, 9, 0, back)[0])
    g.add("resample_grad", [g.values(2, 9, 6)], attrs=back, name="row", grad=True, large=[(40, 90, 70)],
          large_attrs={"size": [90], "input": [61]},
          expect=lambda a: torch.movedim(torch.tensordot(a, w.to(a.dtype), ([1], [0])), -1, 1))
    g.error("resample", [x], attrs={"axes": [2, 1], "size": [4, 4]}, text="ascend")
    g.error("resample", [x], attrs={"axes": [1], "size": [0]}, status="shape", text="positive")
    g.error("resample", [x], attrs={"axes": [1], "size": [4], "antialias": 1}, text="not for nearest")
    g.error("resample", [x], attrs={"axes": [1], "size": [4], "mode": 3}, text="no mode 3")
    g.error("resample_to", [x], attrs={"axes": [1], "size": [4, 5]}, text="2 sizes for 1 axes")
    g.error("resample", [x], attrs={"axes": [1], "size": [4], "mode": LINEAR}, dtypes=["i32"], status="dtype", text="i32")


def pooled(x, attrs, mean):
    """Windows of the last axes, all of them: with strides, dilation and padding of any width, by indexing."""
    axes, window = len(attrs["window"]), attrs["window"]
    stride, dilation = attrs.get("stride") or window, attrs.get("dilation") or [1] * axes
    padding = attrs.get("padding") or [0] * axes
    ends = attrs.get("padding_end") or padding
    parts, total, count = x, None, None
    counts = torch.ones([1] * x.dim(), dtype=torch.float64)
    for k in range(axes):
        axis, n = x.dim() - axes + k, x.shape[x.dim() - axes + k]
        span = (window[k] - 1) * dilation[k] + 1
        room = n + padding[k] + ends[k] - span
        m = room // stride[k] + 1
        if attrs.get("ceil_mode"):
            m = min(-(-room // stride[k]), (n + padding[k] - 1) // stride[k]) + 1
        at = [[o * stride[k] - padding[k] + t * dilation[k] for t in range(window[k])] for o in range(m)]
        inside = torch.tensor([[0 <= i < n for i in row] for row in at])
        counted = torch.tensor([[i < n + ends[k] for i in row] for row in at]) if not attrs.get("exclude_padding") else inside
        index = torch.tensor(at).clamp(0, n - 1)
        taken = parts.index_select(axis, index.flatten()).unflatten(axis, index.shape)
        mask = inside.reshape(list(inside.shape) + [1] * (taken.dim() - axis - 2))
        filled = torch.where(mask, taken, torch.tensor(0.0 if mean else -math.inf).to(x.dtype))
        parts = filled.sum(axis + 1) if mean else filled.amax(axis + 1)
        shape = [1] * x.dim()
        shape[axis] = m
        counts = counts * counted.sum(1).reshape(shape)
    return parts / (attrs.get("divisor") or counts).to(x.dtype) if mean and not attrs.get("divisor") else \
        parts / attrs["divisor"] if mean else parts


def pools(g):
    """What PyTorch's pools refuse: padding above half of a window, and means with dilation."""
    def pool(op, shape, name, rows, **attrs):
        mean = op.startswith("avg")
        g.add(op, [g.values(*shape, flags="" if mean else "distinct")], attrs=attrs, grad=True, name=name, covers=rows,
              expect=lambda x: pooled(x, attrs, mean))

    mean, most = ["avg_pool", "avg_pool_grad"], ["max_pool_values"]
    pool("max_pool2d", (2, 2, 5, 6), "padded", most, window=[3, 3], stride=[1, 2], padding=[2, 2])
    pool("max_pool1d", (2, 2, 9), "padded", most, window=[3], stride=[2], padding=[3], padding_end=[4], dilation=[2])
    for exclude in (False, True):
        name = "inside" if exclude else "all"
        pool("avg_pool2d", (2, 2, 5, 6), "padded_" + name, mean, window=[3, 3], stride=[1, 2], padding=[2, 2], exclude_padding=exclude)
        pool("avg_pool1d", (2, 2, 11), "dilated_" + name, mean, window=[3], stride=[1], padding=[2], dilation=[2],
             exclude_padding=exclude)
        pool("avg_pool2d", (2, 7, 9), "dilated_" + name, mean, window=[2, 3], stride=[2, 1], padding=[1, 2], dilation=[3, 2],
             exclude_padding=exclude, ceil_mode=True)
        pool("avg_pool3d", (1, 2, 6, 7, 8), "dilated_" + name, mean, window=[2, 2, 3], stride=[2, 1, 2], dilation=[2, 3, 2],
             exclude_padding=exclude, ceil_mode=True)
    pool("avg_pool2d", (1, 2, 7, 6), "divided", mean, window=[2, 3], stride=[1, 1], padding=[1, 1], dilation=[2, 1], divisor=5)
    for op in ("max_pool2d", "avg_pool2d"):
        g.error(op, [g.values(1, 2, 6, 6)], attrs={"window": [3, 3], "padding": [3, 0]}, text="less than the window")
    g.error("avg_pool2d", [g.values(1, 2, 6, 6)], attrs={"window": [2, 2], "dilation": [6, 1]}, status="shape", text="larger")


def cases(g):
    resampling(g)
    pools(g)
