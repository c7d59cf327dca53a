"""PyTorch's names -> Kiln's calls: special functions, quantiles, distinct slices, several index tensors, tuples and stacks."""

import ctypes

import torch
from kiln_binding import Unsupported
from op_map import MAP, as_list, binary, cast, is_tensor

# ---- elementwise

for name, own in {
    "i0": "i0", "special.i0e": "i0e", "special.i1": "i1", "special.i1e": "i1e",
    "special.modified_bessel_i0": "i0", "special.modified_bessel_i1": "i1",
    "special.modified_bessel_k0": "bessel_k0", "special.modified_bessel_k1": "bessel_k1",
    "special.scaled_modified_bessel_k0": "bessel_k0e", "special.scaled_modified_bessel_k1": "bessel_k1e",
    "special.spherical_bessel_j0": "spherical_bessel_j0", "special.erfcx": "erfcx", "special.entr": "entr",
    "special.ndtr": "ndtr", "special.log_ndtr": "log_ndtr", "special.ndtri": "ndtri", "isposinf": "is_posinf",
    "isneginf": "is_neginf", "frexp": "frexp"}.items():  # fmt: skip
    MAP[name] = lambda k, x, _n=own: getattr(k, _n)(x)



def coarse(own):
    def run(k, x):
        if x.dtype == torch.float64:
            raise Unsupported("f64, in which PyTorch's is good to 8 digits (tests/conform has better ones)")
        return getattr(k, own)(x)

    return run


for name in ("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1"):
    MAP["special." + name] = coarse(name)

for name, own in {
    "fmax": "fmax", "fmin": "fmin", "gcd": "gcd", "lcm": "lcm", "logaddexp2": "logaddexp2", "special.xlog1py": "xlog1py",
    "nextafter": "nextafter", "igamma": "igamma", "igammac": "igammac", "special.zeta": "zeta", "ldexp": "ldexp",
    "float_power": "float_power"}.items():  # fmt: skip
    MAP[name] = binary(own)

for p in (1, 3, 5):
    MAP["mvlgamma.mvlgamma_p_%d" % p] = lambda k, x, p=1: k.mvlgamma(x, p)

# ---- along an axis

MAP["diff"] = lambda k, x, n=1, dim=-1, prepend=None, append=None: k.diff(x, n, dim, prepend, append)
MAP["trapz"] = MAP["trapezoid"] = lambda k, y, x=None, dim=-1, dx=1: k.trapezoid(y, x, dx, dim)
MAP["cumulative_trapezoid"] = lambda k, y, x=None, dim=-1, dx=1: k.cumulative_trapezoid(y, x, dx, dim)
MAP["nanmedian"] = lambda k, x, dim=None, keepdim=False: k.nanmedian(k.reshape(x, [-1]), 0, False)[0] if dim is None else k.nanmedian(
    x, dim, keepdim)
MODES = {"linear": 0, "lower": 1, "higher": 2, "midpoint": 3, "nearest": 4}


def gradient(k, x, spacing=None, dim=None, edge_order=1):
    axes = list(range(x.rank)) if dim is None else as_list(dim)
    steps = [1] * len(axes) if spacing is None else as_list(spacing) * (1 if isinstance(spacing, (list, tuple)) else len(axes))
    return tuple(k.gradient_along(x, s if is_tensor(s) else None, 1 if is_tensor(s) else s, a, edge_order)
                 for a, s in zip(axes, steps))  # fmt: skip


MAP["gradient"] = gradient


def quantile(own):
    def run(k, x, q, dim=None, keepdim=False, interpolation="linear"):
        if keepdim and dim is None:
            raise Unsupported("a quantile of all elements that keeps the axes")
        q = q if is_tensor(q) else k.tensor(torch.tensor(q, dtype=x.dtype))
        return getattr(k, own)(x if dim is not None else k.reshape(x, [-1]), q, dim or 0, keepdim, MODES[interpolation])

    return run


MAP["quantile"], MAP["nanquantile"] = quantile("quantile_with"), quantile("nanquantile_with")

# ---- distinct elements


def chosen(found, return_inverse, return_counts):
    values, inverse, counts = found
    results = [values] + ([inverse] if return_inverse else []) + ([counts] if return_counts else [])
    return results[0] if len(results) == 1 else tuple(results)


MAP["unique"] = lambda k, x, sorted=True, return_inverse=False, return_counts=False, dim=None: chosen(
    k.unique(x) if dim is None else k.unique_axis(x, dim), return_inverse, return_counts)
MAP["unique_consecutive"] = lambda k, x, return_inverse=False, return_counts=False, dim=None: chosen(
    k.unique_consecutive(x) if dim is None else k.unique_consecutive_axis(x, dim), return_inverse, return_counts)


def isin(k, x, values, assume_unique=False, invert=False):
    as_tensor = lambda v, other: v if is_tensor(v) else k.number(v, other)
    return k.isin(as_tensor(x, values), as_tensor(values, x), invert)


MAP["isin"] = isin

# ---- indexing

REDUCTIONS = {"sum": 0, "prod": 1, "mean": 2, "amin": 3, "amax": 4}


def reduce_by(own):
    return lambda k, x, dim, index, source, reduce, include_self=True: getattr(k, own)(
        x, dim, index, source, {"reduction": REDUCTIONS[reduce], "exclude_self": not include_self})


MAP["scatter_reduce"] = reduce_by("scatter_reduce")
for name in ("sum", "prod", "mean", "amin", "amax"):
    MAP["scatter_reduce." + name] = reduce_by("scatter_reduce")
    MAP["index_reduce." + name] = reduce_by("index_reduce")
MAP["index_reduce"] = reduce_by("index_reduce")
MAP["index_put"] = lambda k, x, indices, values, accumulate=False: k.index_put(x, list(indices), values, int(accumulate))
MAP["unravel_index"] = lambda k, index, shape: k.unravel_index(index, as_list(shape), len(as_list(shape)))
MAP["take"] = lambda k, x, index: k.take_flat(x, index)
MAP["masked_scatter"] = lambda k, x, mask, source: k.mask_scatter(x, mask, source)


def getitem(k, x, at):
    at = list(at) if isinstance(at, (list, tuple)) else [at]
    if not all(i is None or is_tensor(i) for i in at) or None in at:
        raise Unsupported("slices and new axes, which have functions of their own")
    return k.index(x, at)


MAP["__getitem__"] = getitem
MAP["_unsafe_masked_index"] = lambda k, x, mask, at, fill: k.where(
    mask, k.index(x, [k.clamp(i, -n, n - 1) for i, n in zip(at, x.shape)]), k.full([], fill, x.dtype))

# ---- joins, tuples, repeats

MAP["block_diag"] = lambda k, *tensors: k.block_diag(list(tensors))
MAP["cartesian_prod"] = lambda k, *tensors: k.cartesian_prod(list(tensors))
MAP["combinations"] = lambda k, x, r=2, with_replacement=False: k.combinations(x, r, with_replacement)
for name in ("hstack", "vstack", "dstack", "column_stack"):
    MAP[name] = lambda k, tensors, _n=name: getattr(k, _n)(list(tensors))
MAP["tril_indices"] = lambda k, rows, columns, offset=0, dtype=None, **_: cast(k, k.tril_indices(rows, columns, offset), dtype)
MAP["triu_indices"] = lambda k, rows, columns, offset=0, dtype=None, **_: cast(k, k.triu_indices(rows, columns, offset), dtype)


def interleave(k, x, repeats, dim=None, output_size=None):
    x = k.reshape(x, [-1]) if dim is None else x
    if is_tensor(repeats):
        return k.repeat_interleave_tensor(x, repeats, dim or 0, -1)
    return k.repeat_interleave(x, repeats, dim or 0)


MAP["repeat_interleave"] = interleave

# ---- counting and comparing


def histogram(k, x, bins=100, range=None, weight=None, density=False):
    if is_tensor(bins):
        raise Unsupported("bins of unequal width")
    low, high = range or (0, 0)
    return k.histogram(x, bins, {"low": low, "high": high, "weights": weight, "density": density})


MAP["histogram"] = histogram


def all_close(k, a, b, rtol=1e-5, atol=1e-8, equal_nan=False):
    answer = ctypes.c_bool()
    k.all_close(a, b, rtol, atol, equal_nan, answer)
    return answer.value


MAP["allclose"] = all_close
