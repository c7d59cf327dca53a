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

    mean, most = ["avg_pool", "avg_pool_grad"], ["max_pool_values", "max_pool_grad"]
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


def columns_of(x, attrs):
    """[n, c, axes] to [n, c k, blocks], by padding and windows of each axis."""
    axes = len(attrs["window"])
    lists = [attrs.get(name) or [0 if "padding" in name else 1] * axes for name in ("stride", "padding", "dilation")]
    stride, padding, dilation = lists
    ends = attrs.get("padding_end") or padding
    both = [p for pair in zip(reversed(padding), reversed(ends)) for p in pair]
    y = torch.nn.functional.pad(x, both)
    first = x.dim() - axes
    for k in range(axes):
        span = (attrs["window"][k] - 1) * dilation[k] + 1
        y = y.unfold(first + k, span, stride[k])[..., ::1]
        y = y.index_select(-1, torch.arange(0, span, dilation[k]))
    lead = list(range(first)) + list(range(first + axes, first + 2 * axes)) + list(range(first, first + axes))
    return y.permute(lead).flatten(first - 1, first - 1 + axes).flatten(first)


def image_of(columns, attrs):
    """The transpose, by autograd."""
    size, window = attrs["size"], attrs["window"]
    channels = columns.shape[-2] // math.prod(window)
    zeros = torch.zeros(list(columns.shape[:-2]) + [channels] + size, dtype=torch.float64, requires_grad=True)
    with torch.enable_grad():
        y = columns_of(zeros, attrs)
        grad = torch.autograd.grad(y, zeros, columns.double(), create_graph=True)[0]
    return grad.to(columns.dtype)


def patches(g):
    lists = [((2, 3, 9), dict(window=[3], stride=[2], padding=[1], padding_end=[2])),
             ((2, 2, 6, 7), dict(window=[2, 3], stride=[1, 2], padding=[1, 0], padding_end=[0, 3], dilation=[2, 1])),
             ((3, 5, 6), dict(window=[2, 2])),
             ((1, 2, 4, 5, 6), dict(window=[2, 1, 3], stride=[1, 2, 1], padding=[1, 0, 1], dilation=[1, 2, 2]))]
    for shape, attrs in lists:
        name = "axes%d" % len(attrs["window"])
        g.add("im2col", [g.values(*shape)], attrs=attrs, dtypes=NUMBERS, grad=True, name=name, out=lambda d: d,
              expect=lambda x, a=attrs: columns_of(x, a))
        axes = len(attrs["window"])
        back = dict(attrs, size=list(shape[-axes:]))
        y = columns_of(torch.zeros(shape), attrs)
        large = {"large": [(5, 360, 111)], "large_attrs": {"size": [38, 4], "window": [3, 4], "stride": [1, 1], "padding": [1, 0],
                 "padding_end": [0, 2], "dilation": [1, 1]}} if axes == 2 and "dilation" in attrs else {"large": False}
        g.add("col2im", [g.values(*y.shape, low=-9, high=9)], attrs=back, dtypes=NUMBERS, grad=True, name=name, **large,
              out=lambda d: d, expect=lambda x, a=back: image_of(x, a))
    g.error("im2col", [g.values(2, 3, 4)], attrs={"window": [5]}, status="shape", text="does not fit")
    g.error("im2col", [g.values(2, 3, 4, 5)], attrs={"window": [2, 2, 2, 2]}, text="1 to 3 axes")
    g.error("col2im", [g.values(2, 5, 4)], attrs={"window": [2], "size": [5]}, status="shape", text="multiple")
    g.error("col2im", [g.values(2, 6, 4)], attrs={"window": [2], "size": [6]}, status="shape", text="do not hold")


def distinct(x, axis, unsorted):
    """The definition, slice by slice; NaN is equal to nothing."""
    a = x.double().numpy() if x.dtype.is_floating_point else x.numpy()
    rows = [a[()] if a.ndim == 0 else v for v in (numpy.moveaxis(a, axis, 0) if axis is not None else a.reshape(-1))]
    rows = [numpy.asarray(r).reshape(-1) for r in rows]
    kept, inverse = [], []
    for i, r in enumerate(rows):
        hit = [k for k, j in enumerate(kept) if (rows[j] == r).all()]
        inverse.append(hit[0] if hit else len(kept))
        if not hit:
            kept.append(i)

    def key(k):
        return [(1, 0, k) if v != v else (0, v, 0) for v in rows[kept[k]].tolist()]

    order = list(range(len(kept))) if unsorted else sorted(range(len(kept)), key=key)
    rank = {k: j for j, k in enumerate(order)}
    n = len(rows)
    first = [kept[k] for k in order] + [0] * (n - len(kept))
    counts = [inverse.count(k) for k in order] + [0] * (n - len(kept))
    source = x if axis is not None else x.reshape(-1)
    along = axis or 0
    values = source.index_select(along, torch.tensor(first, dtype=torch.long))
    shape = [1] * values.dim()
    shape[along] = n
    inside = (torch.arange(n) < len(kept)).reshape(shape)
    values = torch.where(inside, values, torch.zeros((), dtype=values.dtype))
    numbers = [torch.tensor(v, dtype=torch.long) for v in (first, [rank[k] for k in inverse], counts, len(kept))]
    return [values] + numbers


def uniques(g):
    out = [lambda d: d, "i64", "i64", "i64", "i64"]
    for unsorted in (0, 1):
        name = "unsorted" if unsorted else "sorted"
        for x in (g.values(4, 5, low=0, high=6, flags="ties"), g.values(1), g.values(), g.values(0)):
            g.add("distinct", [x], attrs={"unsorted": unsorted}, dtypes=ALL, out=out, name=name, layouts=len(x.shape) > 1,
                  expect=lambda a, u=unsorted: distinct(a, None, u), large=None if len(x.shape) > 1 else False)
        g.add("distinct", [g.values(20, low=-2, high=2, flags="ties nan inf zero")], attrs={"unsorted": unsorted}, dtypes=FLOATS,
              out=out, name=name + "_special", expect=lambda a, u=unsorted: distinct(a, None, u))
        for axis, shape in ((0, (12, 2)), (1, (2, 9, 1)), (-1, (2, 2, 11)), (1, (3, 4, 0))):
            g.add("distinct", [g.values(*shape, low=0, high=1)], attrs={"by_axis": 1, "axis": axis, "unsorted": unsorted}, dtypes=ALL,
                  out=out, name=name + "_axis", large=False, layouts=0 not in shape,
                  expect=lambda a, k=axis % len(shape), u=unsorted: distinct(a, k, u))
        g.add("distinct", [g.values(14, 2, low=0, high=1, flags="ties nan")], dtypes=FLOATS, out=out, large=False,
              attrs={"by_axis": 1, "unsorted": unsorted}, name=name + "_nan", expect=lambda a, u=unsorted: distinct(a, 0, u))
    g.error("distinct", [g.values(3)], attrs={"by_axis": 1, "axis": 1}, text="axis")


def samples(begin, length, m, n, given):
    """Of each of m elements on an axis of n: lists of (low, high, weight of high) or None outside."""
    count = given or math.ceil(length / m)
    result = []
    for o in range(m):
        places = []
        for k in range(count):
            at = begin + o * length / m + (k + 0.5) * length / m / count
            if at < -1 or at > n:
                places.append(None)
                continue
            at = min(max(at, 0.0), n - 1.0)
            low = int(at)
            places.append((low, min(low + 1, n - 1), at - low))
        result.append(places)
    return result


def aligned(x, regions, images, attrs):
    scale, half = attrs.get("scale", 1.0), attrs.get("half", 0)
    m0, m1 = attrs["size"]
    parts = []
    for region, image in zip(regions.tolist(), images.tolist()):
        low = [region[k] * scale - (0.5 if half else 0) for k in (1, 0)]
        length = [(region[k + 2] - region[k]) * scale for k in (1, 0)]
        length = length if half else [max(v, 1.0) for v in length]
        rows = samples(low[0], length[0], m0, x.shape[2], attrs.get("samples", 0))
        columns = samples(low[1], length[1], m1, x.shape[3], attrs.get("samples", 0))
        plane, cells = x[int(image)], []
        for row in rows:
            for column in columns:
                zero = torch.zeros(x.shape[1], dtype=x.dtype)
                total, best = zero, None
                for r in row:
                    for c in column:
                        corners = [zero]
                        if r and c:
                            corners = [(1 - r[2]) * (1 - c[2]) * plane[:, r[0], c[0]], (1 - r[2]) * c[2] * plane[:, r[0], c[1]],
                                       r[2] * (1 - c[2]) * plane[:, r[1], c[0]], r[2] * c[2] * plane[:, r[1], c[1]]]
                        total = total + sum(corners)
                        most = torch.stack(corners).amax(0)
                        best = most if best is None else torch.maximum(best, most)
                cells.append(zero if best is None else best if attrs.get("most") else total / (len(row) * len(column)))
        parts.append(torch.stack(cells, 1).reshape(x.shape[1], m0, m1))
    return torch.stack(parts)


def pooled_regions(x, regions, attrs):
    m0, m1 = attrs["size"]
    values, places = [], []
    for region in regions.tolist():
        f = [math.floor(v * attrs["scale"] + 0.5) for v in region[1:]]
        n1, n0 = max(f[2] - f[0] + 1, 1), max(f[3] - f[1] + 1, 1)
        for c in range(x.shape[1]):
            for o in range(m0 * m1):
                o0, o1 = divmod(o, m1)
                rows = range(max(f[1] + o0 * n0 // m0, 0), min(f[1] - (-(o0 + 1) * n0 // m0), x.shape[2]))
                columns = range(max(f[0] + o1 * n1 // m1, 0), min(f[0] - (-(o1 + 1) * n1 // m1), x.shape[3]))
                cells = [(i, k) for i in rows for k in columns]
                plane = x[math.floor(region[0] + 0.5), c]
                if not cells:
                    values.append(torch.zeros((), dtype=x.dtype))
                    places.append(-1)
                    continue
                best = max(cells, key=lambda p: plane[p].item())
                values.append(plane[best])
                places.append(best[0] * x.shape[3] + best[1])
    shape = (len(regions), x.shape[1], m0, m1)
    return torch.stack(values).reshape(shape), torch.tensor(places).reshape(shape)


def kept_boxes(boxes, scores, limit, share, bounded=0, least=0.0, middle=0):
    """[images, classes, min(limit, n)] of box numbers, -1 behind them."""
    n, out = scores.shape[2], []

    def ends(b):
        if middle:
            return b[0] - b[2] / 2, b[1] - b[3] / 2, b[0] + b[2] / 2, b[1] + b[3] / 2
        return min(b[0], b[2]), min(b[1], b[3]), max(b[0], b[2]), max(b[1], b[3])

    for b, s in zip(boxes.tolist(), scores.tolist()):
        for line in s:
            order = sorted((i for i in range(n) if not bounded or line[i] > least), key=lambda i: (-line[i], i))
            kept = []
            for i in order:
                p, good = ends(b[i]), len(kept) < limit
                for k in kept if good else []:
                    q = ends(b[k])
                    sides = [max(min(p[e + 2], q[e + 2]) - max(p[e], q[e]), 0) for e in (0, 1)]
                    common = sides[0] * sides[1]
                    areas = [(v[2] - v[0]) * (v[3] - v[1]) for v in (p, q)]
                    if common > 0 and common > share * (sum(areas) - common):
                        good = False
                if good:
                    kept.append(i)
            out.append(kept + [-1] * (min(limit, n) - len(kept)))
    return torch.tensor(out, dtype=torch.long).reshape(scores.shape[0], scores.shape[1], min(limit, n))


def found_boxes(kept):
    tuples = [[b, c, i.item()] for b in range(kept.shape[0]) for c in range(kept.shape[1]) for i in kept[b, c] if i >= 0]
    return torch.tensor(tuples + [[0, 0, 0]] * (kept.numel() - len(tuples))), torch.tensor(len(tuples))


def regions(g):
    x, places = g.values(2, 3, 7, 8), g.literal([1, 0, 1], dtype="i64")
    boxes = g.literal([[0.5, 0.25, 5.5, 6.0], [-2.0, 1.0, 3.25, 3.5], [4.0, 4.0, 12.0, 9.5]], dtype="f32")
    for name, attrs in (("plain", dict(size=[3, 2], samples=2)), ("adaptive", dict(size=[2, 3], half=1)),
                        ("scaled", dict(size=[2, 2], samples=3, scale=0.5)), ("wide", dict(size=[4, 5], scale=1.5, half=1))):
        g.add("roi_align", [x, boxes, places], attrs=attrs, grad=[0], name=name, large=False, covers=["roi_align_grad"],
              expect=lambda a, r, i, at=attrs: aligned(a, r, i, at))
        g.add("roi_align", [x, boxes, places], attrs=dict(attrs, most=1), name=name + "_most", large=False,
              expect=lambda a, r, i, at=attrs: aligned(a, r, i, dict(at, most=1)))
    some = dict(size=[3, 4], scale=0.75)
    g.add("roi_align", [x, g.values(5, 4, low=-1, high=9, dtype="f32"), g.ints(5, low=0, high=1)], attrs=some, grad=[0], name="large",
          large=[(2, 9, 60, 70), (50, 4), (50,)], expect=lambda a, r, i: aligned(a, r, i, some), covers=["roi_align_grad"])
    g.error("roi_align", [x, boxes, g.literal([0, 2, 1], dtype="i64")], attrs={"size": [2, 2]}, status="index", text="index 2")
    g.error("roi_align", [x, g.values(3, 5), places], attrs={"size": [2, 2]}, status="shape", text="regions must be")
    g.error("roi_align", [x, boxes, places], attrs={"size": [2]}, text="height and width")

    whole = g.literal([[0, 0, 0, 5, 4], [1, 2, 1, 2, 6], [1, 5, 5, 20, 20], [0, -4, 2, 3, 3]], dtype="f32")
    far = g.values(2, 3, 7, 8, low=-50, high=50, flags="distinct")
    for name, attrs in (("whole", dict(size=[2, 3], scale=1.0)), ("half", dict(size=[3, 3], scale=0.5))):
        g.add("max_roi_pool", [far, whole], attrs=attrs, out=[lambda d: d, "i64"], grad=[0], name=name, large=False,
              expect=lambda a, r, at=attrs: pooled_regions(a, r, at))
    g.add("max_roi_pool", [far, g.values(5, 5, low=0, high=1, dtype="f32")], attrs=dict(size=[2, 2], scale=6.0), out=[lambda d: d, "i64"],
          grad=[0], name="large", large=[(2, 9, 60, 70), (50, 5)],
          expect=lambda a, r: pooled_regions(a, r, dict(size=[2, 2], scale=6.0)))
    g.error("max_roi_pool", [far, g.literal([[2, 0, 0, 1, 1]], dtype="f32")], attrs={"size": [1, 1], "scale": 1.0}, status="index",
            text="index 2")

    many = g.values(2, 9, 4, low=0, high=4)
    scores = g.values(2, 3, 9, low=0, high=1, flags="distinct")
    for name, attrs in (("corners", dict(limit=4, share=0.3)), ("all", dict(limit=20, share=0.5)), ("none", dict(limit=0, share=0.5)),
                        ("bounded", dict(limit=5, share=0.1, bounded=1, least=0.5)),
                        ("middles", dict(limit=6, share=0.2, middle=1))):
        g.add("nms", [many, scores], attrs=attrs, dtypes=FLOATS, out="i64", name=name, layouts=name != "none",
              expect=lambda b, s, at=attrs: kept_boxes(b, s, **at), large=[(2, 300, 4), (2, 5, 300)] if name == "all" else False)
        if attrs["limit"]:
            g.add("nms_found", [many, scores], attrs=attrs, dtypes=["f64", "f32"], out=["i64", "i64"], name=name, covers=["nms"],
                  expect=lambda b, s, at=attrs: found_boxes(kept_boxes(b, s, **at)), large=False)
    g.add("nms", [g.literal([[[0, 0, 1, 1], [0, 0, 1, 1], [0, 0.1, 1, 1.1], [2, 2, 3, 3]]]),
                  g.literal([[[0.9, 0.9, 0.5, 0.5]]])], attrs={"limit": 4, "share": 0.5}, dtypes=FLOATS, out="i64", name="ties",
          layouts=False, large=False, expect=lambda b, s: torch.tensor([[[0, 3, -1, -1]]]))
    g.error("nms", [g.values(2, 9, 3), scores], attrs={"limit": 2, "share": 0.5}, status="shape", text="boxes must be")
    g.error("nms", [many, scores], attrs={"limit": 2, "share": 1.5}, text="share 0 to 1")


def cases(g):
    resampling(g)
    pools(g)
    patches(g)
    uniques(g)
    regions(g)
