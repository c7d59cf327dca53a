"""Recipes of products, layers, losses and what works on images and signals. See random_recipes.py."""

import numpy as np


def matmul(d):
    x = d.given
    if x is None:
        x = d.array(d.shape(1, 4))
    inner = x.shape[-1]
    if d.maybe(0.2):
        return [x, d.array((inner,))], {}
    lead = d.beside(x.shape[:-2]) if x.ndim > 2 else d.shape(0, 1)
    return [x, d.array(lead + (inner, d.whole(0 if d.maybe(0.05) else 1, 4)))], {}


def gemm(d):
    m, k, n = d.whole(1, 4), d.whole(1, 4), d.whole(1, 4)
    a, b = d.whole(0, 1), d.whole(0, 1)
    inputs = [d.array((k, m) if a else (m, k)), d.array((n, k) if b else (k, n))]
    if d.version < 11 or d.maybe(0.7):
        inputs.append(d.array(d.pick([(n,), (m, n), (m, 1), (1, n), (1,), ()])))
    return inputs, {"transA": a, "transB": b, "alpha": d.pick([1.0, 0.5]), "beta": d.pick([1.0, 2.0])}


def window(d, rank, kernel, least=0):
    """strides, dilations and pads of a window, and a size that it fits into"""
    attributes = {}
    strides = [d.whole(1, 3) for _ in range(rank)]
    dilations = [d.whole(1, 2) for _ in range(rank)]
    if d.maybe():
        attributes["strides"] = strides
    if d.maybe(0.4):
        attributes["dilations"] = dilations
    else:
        dilations = [1] * rank
    style = d.pick(["pads", "pads", "auto", "none"])
    if style == "pads":
        attributes["pads"] = [d.whole(0, kernel[i % rank] // 2) for i in range(2 * rank)]
    elif style == "auto":
        attributes["auto_pad"] = d.pick(["SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"])
    sizes = [(k - 1) * e + 1 + d.whole(0, 4) + least for k, e in zip(kernel, dilations)]
    return attributes, sizes


def conv(d):
    rank = d.whole(1, 3)
    kernel = [d.whole(1, 3) for _ in range(rank)]
    attributes, sizes = window(d, rank, kernel)
    groups = d.pick([1, 1, 2, 3])
    cin, cout = groups * d.whole(1, 2), groups * d.whole(1, 2)
    attributes["group"] = groups
    batch = d.whole(1, 2)
    if d.op == "ConvTranspose":
        if attributes.get("auto_pad", "").startswith("SAME"):
            del attributes["auto_pad"]
        strides = attributes.get("strides", [1] * rank)
        if d.maybe(0.4):
            attributes["output_padding"] = [d.whole(0, s - 1) for s in strides]
        weights = d.array((cin, cout // groups, *kernel))
    else:
        weights = d.array((cout, cin // groups, *kernel))
    if d.maybe():
        attributes["kernel_shape"] = kernel
    return [d.array((batch, cin, *sizes)), weights] + ([d.array((cout,))] if d.maybe() else []), attributes


def pool(d):
    rank = d.whole(1, 3)
    kernel = [d.whole(1, 3) for _ in range(rank)]
    attributes, sizes = window(d, rank, kernel)
    if (
        (d.op == "AveragePool" and d.version < 19)
        or (d.op == "LpPool" and d.version < 18)
        or (d.op == "MaxPool" and d.version < 10)
    ):
        attributes.pop("dilations", None)
    if attributes.get("auto_pad", "").startswith("SAME"):  # where ONNX Runtime pads as if there were no dilation
        attributes.pop("dilations", None)
    attributes["kernel_shape"] = kernel
    if d.maybe(0.4) and d.version >= (18 if d.op == "LpPool" else 10):
        attributes["ceil_mode"] = 1
    if d.op == "AveragePool" and d.maybe():
        attributes["count_include_pad"] = 1
    if d.op == "LpPool":
        attributes["p"] = d.whole(1, 3)
    if d.op == "MaxPool" and d.version >= 8 and d.maybe(0.3):
        d.outputs = 2
    return [d.array((d.whole(1, 2), d.whole(1, 3), *sizes))], attributes


def channels(d):
    return d.array((d.whole(1, 2), 4, *[d.whole(1, 4) for _ in range(d.whole(1, 3))]))


def normalization(d):
    x = d.array((2, 4, 3, 2)) if d.op == "MeanVarianceNormalization" else channels(d)
    one = lambda: np.abs(d.array((4,))) + np.array(0.1, d.dtype)
    if d.op == "BatchNormalization":
        return [x, one(), one(), one(), one()], {"epsilon": 1e-3}
    if d.op == "InstanceNormalization":
        return [x, one(), one()], {"epsilon": 1e-3}
    if d.op == "GroupNormalization":
        return [x] + ([d.array((2,)), d.array((2,))] if d.version < 21 else [one(), one()]), {"num_groups": 2}
    if d.op == "LRN":
        return [x], {"size": d.pick([1, 3, 5]), "alpha": 0.3, "beta": 0.6, "bias": 1.5}
    return [x], ({"axes": d.pick([[0, 2], [1], [0, 1]])} if d.maybe() else {})


def layer_norm(d):
    x = d.array(tuple(max(1, s) for s in d.shape(1, 4)))
    axis = d.axis(x.ndim)
    tail = x.shape[axis:] if axis < 0 else x.shape[axis:]
    inputs = [x, d.array(tail)]
    if d.op == "LayerNormalization" and d.maybe():
        inputs.append(d.array(tail))
    return inputs, {"axis": axis, "epsilon": 1e-3}


def lp_norm(d):
    x = d.array(tuple(max(1, s) for s in d.shape(1, 4)))
    return [x], {"axis": d.axis(x.ndim), "p": d.whole(1, 2)}


def recurrent(d):
    steps, batch, size, hidden = d.whole(1, 4), d.whole(1, 3), d.whole(1, 3), d.whole(1, 4)
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[d.op]
    direction = d.pick(["forward", "reverse", "bidirectional"])
    ways = 2 if direction == "bidirectional" else 1
    f = lambda *s: d.array(s) / np.array(2, d.dtype)
    layout = 1 if d.version >= 14 and d.maybe(0.0) else 0
    inputs = [f(steps, batch, size), f(ways, gates * hidden, size), f(ways, gates * hidden, hidden)]
    inputs.append(f(ways, 2 * gates * hidden) if d.maybe() else None)
    inputs.append(d.rng.integers(1, steps + 1, batch).astype(np.int32) if d.maybe(0.4) else None)
    inputs.append(f(ways, batch, hidden) if d.maybe() else None)
    d.outputs = 2
    attributes = {"hidden_size": hidden, "direction": direction}
    if d.op == "LSTM":
        inputs.append(f(ways, batch, hidden) if d.maybe() else None)
        inputs.append(f(ways, 3 * hidden) if d.maybe(0.4) else None)
        d.outputs = 3
    if d.op == "GRU" and d.maybe():
        attributes["linear_before_reset"] = 1
    if d.maybe(0.2):
        attributes["clip"] = 0.7
    if d.maybe(0.3):
        names = ["Relu", "Tanh", "Sigmoid", "Softsign"]  # defaults of the others are ONNX Runtime's own
        count = {"RNN": 1, "GRU": 2, "LSTM": 3}[d.op] * ways
        attributes["activations"] = [d.pick(names[:3]) if d.maybe() else d.pick(names) for _ in range(count)]
    return inputs, attributes


def resize(d):
    rank = d.whole(1, 2)
    x = d.array((1, 2, *[d.whole(2, 5) for _ in range(rank)]))
    mode = d.pick(["nearest", "linear"] + (["cubic"] if rank == 2 else []))
    if x.dtype.kind in "iu":  # between whole numbers onnx.reference rounds, and ONNX Runtime cuts off
        mode = "nearest"
    attributes = {"mode": mode}
    attributes["coordinate_transformation_mode"] = d.pick(["half_pixel", "asymmetric", "pytorch_half_pixel"])
    if mode == "nearest":
        attributes["nearest_mode"] = d.pick(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
    if mode == "cubic":
        attributes.update({"cubic_coeff_a": d.pick([-0.75, -0.5]), "exclude_outside": d.whole(0, 1)})
    if d.version >= 18 and mode != "nearest" and d.maybe(0.3):
        attributes["antialias"] = 1
    if d.maybe():
        return [x, None, None, d.ints([1, 2] + [d.whole(1, 8) for _ in range(rank)])], attributes
    return [
        x,
        None,
        np.array([1, 1] + [d.pick([0.5, 1.5, 2.0, 2.6, 1.0]) for _ in range(rank)], np.float32),
    ], attributes


def grid_sample(d):
    rank = d.pick([2, 2, 3]) if d.version >= 20 else 2
    x = d.array((2, 2, *[d.whole(2, 4) for _ in range(rank)]))
    grid = d.rng.uniform(-1.3, 1.3, (2, *[d.whole(1, 3) for _ in range(rank)], rank)).astype(x.dtype)
    names = ["linear", "nearest", "cubic"] if d.version >= 20 else ["bilinear", "nearest", "bicubic"]
    return [x, grid], {
        "mode": d.pick(names[:2] if rank == 3 else names),
        "padding_mode": d.pick(["zeros", "border", "reflection"]),
        "align_corners": d.whole(0, 1),
    }


def einsum(d):
    text, shapes = d.pick(
        [
            ("ij,jk->ik", [(2, 3), (3, 4)]),
            ("bij,bjk", [(2, 3, 4), (2, 4, 2)]),
            ("ii->i", [(3, 3)]),
            ("...ij->...ji", [(2, 3, 4)]),
            ("ij->", [(2, 3)]),
            ("i,j->ij", [(2,), (3,)]),
            ("bhid,bhjd->bhij", [(1, 2, 3, 4), (1, 2, 5, 4)]),
            ("abc,cd,b->ad", [(2, 3, 4), (4, 2), (3,)]),
            ("...i,...i->...", [(2, 3), (2, 3)]),
            ("ij,ij->j", [(2, 3), (2, 3)]),
            ("b i, i j -> b j", [(2, 3), (3, 2)]),
        ]
    )
    return [d.array(s) for s in shapes], {"equation": text}


def quantize(d):
    x = d.array(tuple(max(1, s) for s in d.shape(1, 3)), np.float32)
    kind = d.pick([np.uint8, np.int8] + ([np.uint16, np.int16] if d.version >= 21 else []))
    axis = d.axis(x.ndim)
    shape = () if d.maybe() or d.version < 13 else (x.shape[axis],)
    scale = np.abs(d.array(shape, np.float32)) * np.float32(0.1) + np.float32(0.01)
    point = d.array(shape, kind)
    if d.op == "DequantizeLinear":
        x = d.array(x.shape, kind)
    return [x, scale] + ([point] if d.op == "DequantizeLinear" or d.maybe(0.8) or kind != np.uint8 else []), (
        {"axis": axis} if shape else {}
    )


def integer_product(d):
    a = d.rng.integers(0, 200, (d.whole(1, 2), d.whole(1, 4), 3)).astype(np.uint8)
    b = d.rng.integers(0, 100, (3, d.whole(1, 4))).astype(d.pick([np.uint8, np.int8]))
    return [a, b] + ([np.array(7, np.uint8)] + ([np.array(3, b.dtype)] if d.maybe() else []) if d.maybe() else []), {}


def cast(d):
    x = d.first(d.shape(0, 4))
    return [x], {
        "to": d.pick(
            [1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13]
            + ([8] if x.dtype.kind in "iufb" and x.dtype.itemsize != 2 and d.maybe(0.2) else [])
            + ([16] if d.version >= 13 else [])
        )
    }


def unique(d):
    x = d.of_rank(1, 3)
    d.outputs = 4
    return [x], {"sorted": 1, **({"axis": d.axis(x.ndim)} if d.maybe() else {})}


def dft(d):
    n = d.whole(2, 6)
    inverse, onesided = d.pick([(0, 0), (1, 0), (0, 1)])
    x = d.array((2, n, 3, d.pick([1, 2]) if not onesided else 1))
    attributes = {"inverse": inverse, "onesided": onesided}
    length = d.ints(d.whole(1, 7)).reshape(()) if d.maybe(0.4) else None
    if d.version < 20:
        return [x] + ([length] if length is not None else []), {**attributes, "axis": 1}
    return [x, length, np.array(d.pick([1, -3, 2]), np.int64)], attributes


def center(d):
    x = d.of_rank(1, 4)
    axes = sorted(int(a) for a in d.rng.permutation(x.ndim)[: d.whole(1, x.ndim)])
    return [x, d.ints([d.whole(1, 6) for _ in axes])], {"axes": axes}


def attention(d):
    batch, heads, queries, keys, size = d.whole(1, 2), d.pick([1, 2]), d.whole(1, 4), d.whole(1, 5), 4
    groups = d.pick([1, 1, 2])
    x = [
        d.array((batch, heads * groups, queries, size)),
        d.array((batch, heads, keys, size)),
        d.array((batch, heads, keys, d.pick([4, 3]))),
    ]
    attributes = {}
    if d.maybe(0.3):
        attributes["is_causal"] = 1
    if d.maybe(0.3):
        attributes["scale"] = 0.4
    if d.maybe(0.2):
        attributes["softcap"] = 2.0
    if d.maybe(0.4):
        mask = d.array(d.pick([(queries, keys), (batch, 1, queries, keys)]), d.pick([bool, d.dtype]))
        x.append(mask | True if mask.dtype == bool and d.maybe(0.3) else mask)
    return x, attributes


def loss(d):
    n, c = d.whole(1, 3), d.whole(2, 4)
    tail = d.shape(0, 2, 0)
    x = d.array((n, c, *tail))
    inputs = [x, d.rng.integers(0, c, (n, *tail)).astype(d.pick([np.int64, np.int32]))]
    if d.maybe():
        inputs.append(np.abs(d.array((c,))) + np.array(0.1, d.dtype))
    return inputs, {
        "reduction": d.pick(["none", "mean", "sum"]),
        **({"ignore_index": d.whole(0, c - 1)} if d.maybe(0.4) else {}),
    }


def rotary(d):
    batch, heads, steps, size = d.whole(1, 2), d.whole(1, 3), d.whole(1, 4), d.pick([4, 6])
    x = d.array((batch, heads, steps, size))
    attributes = {"interleaved": d.whole(0, 1)}
    if d.maybe():
        table = (9, size // 2)
        return [x, d.array(table), d.array(table), d.rng.integers(0, 9, (batch, steps)).astype(np.int64)], attributes
    return [x, d.array((batch, steps, size // 2)), d.array((batch, steps, size // 2))], attributes


def roi_align(d):
    n = d.whole(1, 3)
    corner = d.rng.uniform(0, 4, (n, 2))
    rois = np.concatenate([corner, corner + d.rng.uniform(0.5, 4, (n, 2))], 1).astype(d.dtype)
    attributes = {
        "mode": d.pick(["avg", "max"]),
        "output_height": d.whole(1, 3),
        "output_width": d.whole(1, 3),
        "sampling_ratio": d.whole(0, 2),
        "spatial_scale": d.pick([1.0, 0.5]),
    }
    if d.version >= 16:
        attributes["coordinate_transformation_mode"] = d.pick(["half_pixel", "output_half_pixel"])
    return [d.array((2, 2, 6, 6)), rois, d.rng.integers(0, 2, n).astype(np.int64)], attributes


def suppression(d):
    boxes = d.rng.uniform(0, 1, (1, 6, 4)).astype(np.float32)
    return [
        boxes,
        d.rng.permutation(12).reshape(1, 2, 6).astype(np.float32) / 12,
        d.ints([d.whole(0, 4)]),
        np.array([0.4], np.float32),
        np.array([0.2], np.float32),
    ], {"center_point_box": d.whole(0, 1)}


def text_split(d):
    words = np.array(["a b  c", " lead", "", "x,y,,z", "tab"], object)
    d.outputs = 2
    return [words[d.rng.integers(0, 5, d.shape(0, 2))] if d.maybe() else words], {
        **({"delimiter": d.pick([" ", ",", "b"])} if d.maybe(0.6) else {}),
        **({"maxsplit": d.whole(1, 2)} if d.maybe() else {}),
    }


def col2im(d):
    rank = 2
    image, block = [d.whole(3, 6) for _ in range(rank)], [d.whole(1, 3) for _ in range(rank)]
    strides, pads = [d.whole(1, 2) for _ in range(rank)], [d.whole(0, 1) for _ in range(2 * rank)]
    count = int(np.prod([(image[i] + pads[i] + pads[i + rank] - block[i]) // strides[i] + 1 for i in range(rank)]))
    return [d.array((1, 2 * int(np.prod(block)), count)), d.ints(image), d.ints(block)], {
        "strides": strides,
        "pads": pads,
    }
