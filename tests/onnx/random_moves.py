"""Recipes of operators that move, choose and arrange elements. See random_recipes.py."""

import numpy as np


def transpose(d):
    x = d.first(d.shape(0, 6))
    return [x], ({"perm": [int(a) for a in d.rng.permutation(x.ndim)]} if d.maybe(0.8) and x.ndim else {})


def reshape(d):
    x = d.first(d.shape(0, 5))
    left, target = x.size, []
    while left > 1 and len(target) < 4:
        part = d.pick([n for n in range(1, left + 1) if left % n == 0])
        target.append(part)
        left //= part
    target += [left] if left > 1 or not x.size else []
    attributes = {}
    if x.size and target and d.maybe():
        target[d.whole(0, len(target) - 1)] = -1
    elif x.size and target and target[0] == (x.shape[0] if x.ndim else -5):
        target[0] = 0
    if not x.size and d.version >= 14:
        attributes["allowzero"] = 1
        target = [0] + target
    return [x, d.ints(target)], attributes


def squeeze(d):
    x = d.given if d.given is not None else d.array(tuple(1 if d.maybe() else s for s in d.shape(0, 5)))
    ones = [
        i - (x.ndim if d.maybe(0.3) and d.version >= 11 else 0)
        for i, s in enumerate(x.shape)
        if s == 1 and d.maybe(0.7)
    ]
    if d.version >= 13:
        return [x] + ([d.ints(ones)] if ones else []), {}
    return [x], ({"axes": ones} if ones else {})


def unsqueeze(d):
    x = d.first(d.shape(0, 4))
    n = d.whole(1, 2)
    axes = [int(a) for a in d.rng.permutation(x.ndim + n)[:n]]
    if d.version >= 11:
        axes = [a - (x.ndim + n if d.maybe(0.3) else 0) for a in axes]
    else:
        axes = sorted(axes)
    return ([x, d.ints(axes)], {}) if d.version >= 13 else ([x], {"axes": axes})


def flatten(d):
    x = d.first(d.shape(0, 5))
    return [x], {"axis": d.whole(-x.ndim if d.version >= 11 else 0, x.ndim)}


def expand(d):
    x = d.given if d.given is not None else d.array(tuple(1 if d.maybe() else s for s in d.shape(0, 4)))
    target = [d.pick([1, s]) if s != 1 else d.whole(1, 4) for s in x.shape]
    target = (
        target[d.whole(0, len(target)) :] if d.maybe(0.3) else [d.whole(1, 3) for _ in range(d.whole(0, 1))] + target
    )
    return [x, d.ints(target)], {}


def tile(d):
    x = d.first(d.shape(0, 4))
    return [x, d.ints([d.whole(0 if d.maybe(0.1) else 1, 3) for _ in x.shape])], {}


def slice_(d):
    x = d.of_rank(1, 5)
    axes = [a for a in range(x.ndim) if d.maybe(0.6)] or [0]
    starts = [d.whole(-x.shape[a] - 2, x.shape[a] + 1) for a in axes]
    ends = [d.pick([d.whole(-x.shape[a] - 2, x.shape[a] + 1), 2**31, -(2**31)]) for a in axes]
    steps = [d.pick([1, 1, 2, 3, -1, -2]) for _ in axes]
    # The largest number is the last element for ONNX, also backwards, and the first one for ONNX Runtime.
    ends = [-(2**31) if end == 2**31 and step < 0 else end for end, step in zip(ends, steps)]
    kind = d.pick([np.int64, np.int32])
    if d.version < 10:
        return [x], {"starts": starts, "ends": ends, "axes": axes}
    if kind == np.int32:
        ends = [min(max(e, -(2**31)), 2**31 - 1) for e in ends]
    if d.maybe():
        axes = [a - x.ndim for a in axes]
    inputs = [x] + [d.ints(v, kind) for v in (starts, ends, axes)]
    return inputs + ([d.ints(steps, kind)] if d.maybe(0.7) else []), {}


def pad(d):
    x = d.first(d.shape(1, 4, 0))
    mode = d.pick(["constant", "constant", "reflect", "edge"] + (["wrap"] if d.version >= 19 else []))
    if mode != "constant" and not x.size:
        mode = "constant"
    most = [(s - 1 if mode == "reflect" else s if mode == "wrap" else 3) for s in x.shape]
    low = [-min(1, s // 2) if d.maybe(0.2) and mode == "constant" else 0 for s in x.shape]
    amounts = [d.whole(low[i % x.ndim], min(3, most[i % x.ndim])) for i in range(2 * x.ndim)]
    if d.version < 11:
        return [x], {"mode": mode, "pads": amounts, **({"value": 1.5} if d.maybe() else {})}
    inputs = [x, d.ints(amounts)]
    value = mode == "constant" and d.maybe()
    if value:
        inputs.append(d.array((), x.dtype))
    if d.version >= 18 and d.maybe(0.4):
        axes = [a for a in range(x.ndim) if d.maybe()] or [0]
        inputs[1] = d.ints([amounts[a] for a in axes] + [amounts[a + x.ndim] for a in axes])
        inputs += [None] * (not value) + [d.ints([a - (x.ndim if d.maybe(0.3) else 0) for a in axes])]
    return inputs, {"mode": mode}


def concat(d):
    x = d.of_rank(1, 4)
    axis = d.axis(x.ndim) if d.version >= 11 else d.whole(0, x.ndim - 1)
    others = []
    for _ in range(d.whole(0, 3)):
        shape = list(x.shape)
        shape[axis] = d.whole(0 if d.maybe(0.1) else 1, 3)
        others.append(d.array(tuple(shape), x.dtype))
    return [x] + others, {"axis": axis}


def split(d):
    x = d.of_rank(1, 4)
    axis = d.axis(x.ndim) if d.version >= 11 else d.whole(0, x.ndim - 1)
    size, parts = x.shape[axis], []
    while sum(parts) < size and len(parts) < 3:
        parts.append(d.whole(0, size - sum(parts)))
    parts.append(size - sum(parts))
    d.outputs = len(parts)
    if d.version >= 13:
        return [x, d.ints(parts)], {"axis": axis}
    return [x], {"axis": axis, "split": parts}


def gather(d):
    x = d.of_rank(1, 4)
    axis = d.axis(x.ndim)
    n = x.shape[axis]
    shape = d.shape(0, 3) if n else (0,)
    return [
        x,
        np.asarray(d.rng.integers(-n if d.version >= 11 else 0, max(n, 1), shape)).astype(d.pick([np.int64, np.int32])),
    ], {"axis": axis}


def gather_elements(d):
    x = d.of_rank(1, 4)
    axis = d.axis(x.ndim)
    shape = [d.whole(0 if not s else 1, s) for s in x.shape]
    n = x.shape[axis]
    shape[axis] = d.whole(1, 4) if n else 0
    return [x, np.asarray(d.rng.integers(-n, max(n, 1), shape)).astype(d.pick([np.int64, np.int32]))], {"axis": axis}


def gather_nd(d):
    x = d.given if d.given is not None else d.array(tuple(max(1, s) for s in d.shape(1, 4)))
    batch = d.whole(0, x.ndim - 1) if d.version >= 12 else 0
    depth = d.whole(1, x.ndim - batch)
    lead = x.shape[:batch] + d.shape(0, 2)
    index = np.stack([d.rng.integers(-s, s, lead) for s in x.shape[batch : batch + depth]], -1).astype(np.int64)
    return [x, index], ({"batch_dims": batch} if batch else {})


def scatter_elements(d):
    x = d.given if d.given is not None else d.array(tuple(max(1, s) for s in d.shape(1, 3)))
    axis = d.axis(x.ndim)
    shape = [d.whole(1, s) for s in x.shape]
    n = x.shape[axis]
    reduction = (
        d.pick(["none", "add", "mul", "max", "min"])
        if d.version >= 18
        else d.pick(["none", "add", "mul"]) if d.version >= 16 else "none"
    )
    if reduction == "none":  # the order of writes is open: each place at most once along the axis
        index = np.stack([d.rng.permutation(n)[: shape[axis]] for _ in range(int(np.prod(shape)) // shape[axis])])
        moved = [s for i, s in enumerate(shape) if i != axis % x.ndim] + [shape[axis]]
        index = np.moveaxis(index.reshape(moved), -1, axis)
        index = np.where(d.rng.random(index.shape) < 0.3, index - n, index)
    else:
        index = d.rng.integers(-n, n, shape)
    attributes = {"axis": axis}
    if d.version >= 16 and (reduction != "none" or d.maybe(0.3)):
        attributes["reduction"] = reduction
    return [x, index.astype(np.int64), d.array(tuple(shape), x.dtype)], attributes


def scatter_nd(d):
    x = d.given if d.given is not None else d.array(tuple(max(1, s) for s in d.shape(1, 3)))
    depth = d.whole(1, x.ndim)
    most = int(np.prod(x.shape[:depth]))
    n = d.whole(1, min(most, 4))
    flat = d.rng.permutation(most)[:n]
    index = np.stack(np.unravel_index(flat, x.shape[:depth]), -1).astype(np.int64)
    attributes = {}
    if d.version >= 16 and d.maybe():
        attributes["reduction"] = d.pick(["none", "add", "mul"] + (["max", "min"] if d.version >= 18 else []))
    return [x, index, d.array((n,) + x.shape[depth:], x.dtype)], attributes


def where(d):
    x = d.first(d.shape(0, 4))
    return [d.array(d.beside(x.shape), bool), x, d.array(d.beside(x.shape), x.dtype)], {}


def blocks(d):
    b, c = d.whole(1, 2), d.whole(1, 3)
    x = d.array((b, c * 4, 2, 3)) if d.op == "DepthToSpace" else d.array((b, c, 4, 6))
    return [x], {
        "blocksize": 2,
        **({"mode": d.pick(["DCR", "CRD"])} if d.op == "DepthToSpace" and d.version >= 11 else {}),
    }


def top_k(d):
    x = d.of_rank(1, 4)
    axis = d.axis(x.ndim) if d.version >= 11 else d.whole(0, x.ndim - 1)
    x = d.rng.permutation(x.size).reshape(x.shape).astype(x.dtype)  # no ties
    k = d.whole(0 if d.maybe(0.1) else min(1, x.shape[axis]), x.shape[axis])
    d.outputs = 2
    return [x, d.ints([k])], {"axis": axis, **({"largest": d.whole(0, 1)} if d.version >= 11 else {})}


def cum(d):
    x = d.of_rank(1, 4)
    return [x, np.array(d.axis(x.ndim), d.pick([np.int64, np.int32]))], {
        "exclusive": d.whole(0, 1),
        "reverse": d.whole(0, 1),
    }


def clip(d):
    x = d.first(d.shape(0, 4))
    low, high = sorted([d.array(()), d.array(())])
    if d.version < 11:
        return [x], {"min": float(low), "max": float(high)}
    return [x, np.asarray(low) if d.maybe(0.7) else None, np.asarray(high) if d.maybe(0.7) else None], {}


def one_hot(d):
    depth = d.whole(1, 5)
    index = np.asarray(d.rng.integers(-depth - 1, depth + 2, d.shape(0, 3))).astype(
        d.dtype if np.dtype(d.dtype).kind == "i" else np.int64
    )
    return [
        index,
        np.array(d.pick([depth, [depth]]), np.int64),
        d.array((2,), d.pick([np.float32, np.int64, np.int32])),
    ], {"axis": d.whole(-index.ndim - 1, index.ndim)}


def range_(d):
    a, b, s = d.whole(-5, 5), d.whole(-5, 9), d.pick([1, 2, 3, -1, -2])
    return [np.array(v, d.dtype) for v in (a, b, s)], {}


def compress(d):
    x = d.of_rank(1, 4)
    if d.maybe(0.3):
        return [x, d.array((d.whole(0, x.size),), bool)], {}
    axis = d.axis(x.ndim)
    return [x, d.array((d.whole(0, x.shape[axis]),), bool)], {"axis": axis}


def trilu(d):
    x = d.of_rank(2, 4)
    return [x] + ([np.array(d.whole(-4, 4), np.int64)] if d.maybe() else []), {"upper": d.whole(0, 1)}


def reverse_sequence(d):
    x = d.given if d.given is not None else d.array((d.whole(1, 4), d.whole(1, 4)) + d.shape(0, 2))
    batch = d.whole(0, 1)
    return [x, d.rng.integers(1, x.shape[1 - batch] + 1, x.shape[batch]).astype(np.int64)], {
        "batch_axis": batch,
        "time_axis": 1 - batch,
    }


def eye_like(d):
    return [d.array((d.whole(0, 4), d.whole(1, 4)))], {"k": d.whole(-3, 3)}
