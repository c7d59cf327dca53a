"""PyTorch's names -> Kiln's calls: elementwise, reductions, casts, creation. A line is a name, or a name with its variant, and
what Kiln does for the same operands; k is the binding (kiln_binding.py). op_map_shape.py, op_map_further.py and op_map_nn.py have the rest. What is
not here has no function in Kiln."""

import math

import torch
from kiln_binding import Tensor, Unsupported

MAP = {}


def is_tensor(x):
    return isinstance(x, Tensor)


def refuse(**settings):
    """Settings that Kiln does not have, where they differ from the default."""
    for name, value in settings.items():
        if value:
            raise Unsupported("setting %s=%s" % (name, value))


def as_list(value):
    return list(value) if isinstance(value, (list, tuple)) else [value]


def axes_of(dim):
    return [] if dim is None else as_list(dim)


def cast(k, x, dtype):
    return x if dtype is None or x.dtype == dtype else k.cast(x, dtype)


# ---- one tensor, the same name

for name in """abs acos acosh asin asinh atan atanh bitwise_not ceil cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 floor frac
        lgamma log log10 log1p log2 logical_not neg rad2deg reciprocal rsqrt sigmoid sign signbit sin sinc sinh sqrt square tan
        tanh trunc trace argwhere kron inverse""".split():  # fmt: skip
    MAP[name] = lambda k, *a, _n=name: getattr(k, _n)(*a)

for name, own in {
    "isfinite": "is_finite", "isinf": "is_inf", "isnan": "is_nan", "nn.functional.relu": "relu",
    "nn.functional.relu6": "relu6", "nn.functional.logsigmoid": "log_sigmoid", "nn.functional.mish": "mish",
    "nn.functional.softsign": "softsign", "nn.functional.tanhshrink": "tanhshrink", "nn.functional.hardswish": "hard_swish",
    "sgn": "sign", "absolute": "abs"}.items():  # fmt: skip
    MAP[name] = lambda k, x, _n=own, **_: getattr(k, _n)(x)

MAP["nn.functional.silu"] = lambda k, x, inplace=False: k.silu(x)
MAP["nn.functional.selu"] = lambda k, x, inplace=False: k.selu(x)
MAP["nn.functional.gelu"] = lambda k, x, approximate="none": k.gelu(x) if approximate == "none" else k.gelu_approximate(x)
MAP["nn.functional.elu"] = lambda k, x, alpha=1.0, inplace=False: k.elu(x, alpha)
MAP["nn.functional.celu"] = lambda k, x, alpha=1.0, inplace=False: k.celu(x, alpha)
MAP["nn.functional.leaky_relu"] = lambda k, x, negative_slope=0.01, inplace=False: k.leaky_relu(x, negative_slope)
MAP["nn.functional.hardsigmoid"] = lambda k, x, inplace=False: k.hard_sigmoid(x, 1.0 / 6, 0.5)
MAP["nn.functional.softplus"] = lambda k, x, beta=1, threshold=20: k.softplus(x, beta, threshold)
MAP["nn.functional.softshrink"] = lambda k, x, lambd=0.5: k.soft_shrink(x, lambd)
MAP["nn.functional.hardshrink"] = lambda k, x, lambd=0.5: k.hard_shrink(x, lambd)
MAP["nn.functional.hardtanh"] = lambda k, x, min_val=-1.0, max_val=1.0, inplace=False: k.hardtanh(x, min_val, max_val)
MAP["nn.functional.threshold"] = lambda k, x, threshold, value, inplace=False: k.threshold(x, threshold, value)
MAP["nn.functional.prelu"] = lambda k, x, weight: k.prelu(x, weight)
MAP["nn.functional.glu"] = lambda k, x, dim=-1: k.glu(x, dim)
MAP["positive"] = MAP["clone"] = MAP["contiguous"] = MAP["alias_copy"] = MAP["real"] = MAP["resolve_conj"] = \
    MAP["resolve_neg"] = MAP["conj"] = MAP["conj_physical"] = lambda k, x, **_: k.alias(x)  # fmt: skip
MAP["isposinf"] = lambda k, x: k.equal_scalar(x, math.inf)
MAP["isneginf"] = lambda k, x: k.equal_scalar(x, -math.inf)
MAP["isreal"] = lambda k, x: k.cast(k.ones_like(x), torch.bool)
MAP["logit"] = lambda k, x, eps=None: k.logit(x, -1.0 if eps is None else eps)
MAP["polygamma"] = lambda k, x, n: k.polygamma(x, n)
MAP["special.polygamma"] = lambda k, x, n: k.polygamma(x, n)
MAP["nan_to_num"] = lambda k, x, nan=0.0, posinf=None, neginf=None: k.nan_to_num(
    x, nan or 0.0, math.nan if posinf is None else posinf, math.nan if neginf is None else neginf)


MAP["round"] = lambda k, x, decimals=0: k.round_decimals(x, decimals)


def nonzero(k, x, as_tuple=False):
    y = k.nonzero(x if x.rank or not as_tuple else k.reshape(x, [1]))
    return tuple(k.select(y, 1, i) for i in range(y.shape[1])) if as_tuple else y


MAP["nonzero"] = nonzero


# ---- two tensors, or a tensor and a number


def binary(own):
    def run(k, a, b, **settings):
        refuse(**{n: v for n, v in settings.items() if n not in ("rounding_mode", "alpha")})
        if is_tensor(a) and is_tensor(b):
            return getattr(k, own)(a, b)
        if is_tensor(a) and "kn_%s_scalar" % own in k.functions:
            if isinstance(b, complex):
                raise Unsupported("complex numbers")
            return getattr(k, own + "_scalar")(a, b)
        return getattr(k, own)(a if is_tensor(a) else k.number(a, b), b if is_tensor(b) else k.number(b, a))

    return run


for name, own in {
    "mul": "mul", "true_divide": "div", "floor_divide": "floor_div", "remainder": "remainder", "fmod": "fmod", "pow": "pow",
    "atan2": "atan2", "hypot": "hypot", "maximum": "maximum", "minimum": "minimum", "max.binary": "maximum",
    "min.binary": "minimum", "copysign": "copysign", "xlogy": "xlogy", "logaddexp": "logaddexp", "heaviside": "heaviside",
    "bitwise_and": "bitwise_and", "bitwise_or": "bitwise_or", "bitwise_xor": "bitwise_xor",
    "bitwise_left_shift": "bitwise_left_shift", "bitwise_right_shift": "bitwise_right_shift", "eq": "equal",
    "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
    "logical_and": "logical_and", "logical_or": "logical_or", "logical_xor": "logical_xor", "__radd__": "add",
    "__rmul__": "mul", "__rand__": "bitwise_and", "__ror__": "bitwise_or", "__rxor__": "bitwise_xor", "outer": "outer",
    "dot": "dot", "vdot": "dot", "mv": "matvec", "mm": "matmul", "bmm": "matmul", "matmul": "matmul"}.items():  # fmt: skip
    MAP[name] = binary(own)


def scaled(k, b, alpha):
    """alpha b, which may be a number."""
    if alpha == 1:
        return b
    return k.mul_scalar(b, alpha) if is_tensor(b) else b * alpha


MAP["add"] = lambda k, a, b, alpha=1: binary("add")(k, a, scaled(k, b, alpha))
MAP["sub"] = lambda k, a, b, alpha=1: binary("sub")(k, a, scaled(k, b, alpha))
MAP["rsub"] = lambda k, a, b, alpha=1: k.rsub_scalar(scaled(k, a, alpha), b) if not is_tensor(b) else k.sub(b, scaled(k, a, alpha))
MAP["__rsub__"] = lambda k, a, b: MAP["rsub"](k, a, b)
MAP["__rdiv__"] = lambda k, a, b: k.div(b, a) if is_tensor(b) else k.rdiv_scalar(a, b)
MAP["__rpow__"] = lambda k, a, b: k.pow(b, a) if is_tensor(b) else k.rpow_scalar(a, b)
MAP["__rmod__"] = lambda k, a, b: k.remainder(b if is_tensor(b) else k.number(b, a), a)
MAP["__rmatmul__"] = lambda k, a, b: k.matmul(b, a)
MAP["inner"] = lambda k, a, b: k.mul(a, b) if not (a.rank and b.rank) else k.tensordot(a, b, [a.rank - 1], [b.rank - 1])
MAP["isclose"] = lambda k, a, b, rtol=1e-5, atol=1e-8, equal_nan=False: k.is_close(a, b, rtol, atol, equal_nan)
MAP["equal"] = lambda k, a, b: bool(a.shape == b.shape and (k.all(k.equal(a, b), [], False).torch().item() if min(a.shape, default=1) else True))


def divide(k, a, b, rounding_mode=None):
    if rounding_mode == "floor":
        return MAP["floor_divide"](k, a, b)
    return binary("trunc_div" if rounding_mode == "trunc" else "div")(k, a, b)


MAP["div"] = divide


def clamp(k, x, low=None, high=None, **named):
    low, high = named.get("min", low), named.get("max", high)
    if is_tensor(low) or is_tensor(high):
        return k.clamp_tensor(x, low, high)
    return k.clamp(x, -math.inf if low is None else low, math.inf if high is None else high)


MAP["clamp"] = clamp
MAP["clamp_min"] = lambda k, x, low: k.clamp_tensor(x, low, None) if is_tensor(low) else k.clamp_min(x, low)
MAP["clamp_max"] = lambda k, x, high: k.clamp_tensor(x, None, high) if is_tensor(high) else k.clamp_max(x, high)
MAP["lerp"] = lambda k, a, b, w: k.lerp(a, b, w) if is_tensor(w) else k.lerp_scalar(a, b, w)
MAP["addcmul"] = lambda k, x, a, b, value=1: k.addcmul(x, a, b, value)
MAP["addcdiv"] = lambda k, x, a, b, value=1: k.addcdiv(x, a, b, value)
MAP["where"] = lambda k, x, condition, other: k.where(condition, x, other)
MAP["nn.functional.normalize"] = lambda k, x, p=2.0, dim=1, eps=1e-12: k.vector_normalize(x, p, dim, eps)


# ---- casts and creation

for name, dtype in {"bfloat16": torch.bfloat16, "bool": torch.bool, "byte": torch.uint8, "char": torch.int8,
                    "double": torch.float64, "float": torch.float32, "half": torch.float16, "int": torch.int32,
                    "long": torch.int64, "short": torch.int16}.items():  # fmt: skip
    MAP[name] = lambda k, x, memory_format=None, _d=dtype: k.cast(x, _d)

MAP["zeros_like"] = lambda k, x, dtype=None, **_: cast(k, k.zeros_like(x), dtype)
MAP["ones_like"] = lambda k, x, dtype=None, **_: cast(k, k.ones_like(x), dtype)
MAP["full_like"] = lambda k, x, value, dtype=None, **_: k.full_like(cast(k, x, dtype), value)
MAP["fill"] = lambda k, x, value: k.expand(k.cast(value, x.dtype), x.shape) if is_tensor(value) else k.full_like(x, value)
MAP["zero_"] = lambda k, x: k.zeros_like(x)
MAP["new_zeros"] = lambda k, x, size, dtype=None, **_: k.zeros(size, dtype or x.dtype)
MAP["new_ones"] = lambda k, x, size, dtype=None, **_: k.ones(size, dtype or x.dtype)
MAP["new_full"] = lambda k, x, size, value, dtype=None, **_: k.full(size, value, dtype or x.dtype)
MAP["zeros"] = lambda k, *size, dtype=None, **_: k.zeros(as_list(size[0]) if size and not isinstance(size[0], int) else size, dtype)
MAP["ones"] = lambda k, *size, dtype=None, **_: k.ones(as_list(size[0]) if size and not isinstance(size[0], int) else size, dtype)
MAP["full"] = lambda k, size, value, dtype=None, **_: k.full(size, value, dtype)
MAP["scalar_tensor"] = lambda k, value, dtype=None, **_: k.full([], value, dtype)
MAP["eye"] = lambda k, n, m=None, dtype=None, **_: k.eye(n, n if m is None else m, dtype)


def arange(k, *values, start=0, end=None, step=1, dtype=None, **_):
    if len(values) == 1 and end is None:
        end = values[0]
    else:
        start, end, step = (list(values) + [start, end, step][len(values):])[:3]
    whole = all(isinstance(v, int) for v in (start, end, step))
    return k.arange(start, end, step, dtype or (torch.int64 if whole else torch.float32))


MAP["arange"] = arange


def number_of(x):
    return x.torch().item() if is_tensor(x) else x


MAP["linspace"] = lambda k, start, stop, steps, dtype=None, **_: k.linspace(number_of(start), number_of(stop), steps, dtype)
MAP["logspace"] = lambda k, start, stop, steps, base=10.0, dtype=None, **_: k.logspace(number_of(start), number_of(stop), steps, base, dtype)
MAP["item"] = lambda k, x: x.torch().item()
MAP["nn.functional.one_hot"] = lambda k, x, num_classes=-1: k.one_hot(
    x, int(x.torch().max()) + 1 if num_classes < 0 else num_classes, torch.int64)


# ---- reductions


def reduce(own, floats=False):
    def run(k, x, dim=None, keepdim=False, dtype=None, mask=None, **settings):
        refuse(**settings)
        return cast(k, getattr(k, own)(cast(k, x, dtype), axes_of(dim), keepdim), dtype)

    return run


for name, own in {"sum": "sum", "prod": "prod", "mean": "mean", "nansum": "nansum", "nanmean": "nanmean", "amax": "max",
                  "amin": "min", "any": "any", "all": "all", "count_nonzero": "count_nonzero",
                  "logsumexp": "logsumexp"}.items():  # fmt: skip
    MAP[name] = reduce(own)

MAP["max.reduction_no_dim"] = lambda k, x: k.max(x, [], False)
MAP["min.reduction_no_dim"] = lambda k, x: k.min(x, [], False)
MAP["max.reduction_with_dim"] = lambda k, x, dim, keepdim=False: k.max_with_indices(x, dim, keepdim)
MAP["min.reduction_with_dim"] = lambda k, x, dim, keepdim=False: k.min_with_indices(x, dim, keepdim)
MAP["aminmax"] = lambda k, x, dim=None, keepdim=False: k.aminmax(x, axes_of(dim), keepdim)


def position(own):
    def run(k, x, dim=None, keepdim=False):
        if dim is None:
            if keepdim:
                return k.reshape(getattr(k, own)(k.reshape(x, [-1]), 0, False), [1] * x.rank)
            return getattr(k, own)(k.reshape(x, [-1]), 0, False)
        return getattr(k, own)(x, dim, keepdim)

    return run


MAP["argmax"] = position("argmax")
MAP["argmin"] = position("argmin")


def variance(own):
    def run(k, x, dim=None, unbiased=None, keepdim=False, correction=None):
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        settings = {"biased": True} if unbiased is False or correction == 0 else {"correction": 1 if correction is None else correction}
        return getattr(k, own)(x, axes_of(dim), keepdim, settings)

    return run


MAP["var"], MAP["std"], MAP["var_mean"] = variance("var"), variance("std"), variance("var_mean")
MAP["std_mean"] = lambda k, *a, **s: (variance("std")(k, *a, **s), variance("var_mean")(k, *a, **s)[1])
MAP["cumsum"] = lambda k, x, dim, dtype=None: cast(k, k.cumsum(cast(k, x, dtype), dim), dtype)
MAP["cumprod"] = lambda k, x, dim, dtype=None: cast(k, k.cumprod(cast(k, x, dtype), dim), dtype)
MAP["cummax"] = lambda k, x, dim: k.cummax(x, dim)
MAP["cummin"] = lambda k, x, dim: k.cummin(x, dim)
MAP["logcumsumexp"] = lambda k, x, dim: k.cumlogsumexp(x, dim)
MAP["corrcoef"] = lambda k, x: k.corrcoef(x)


def covariance(k, x, correction=1, fweights=None, aweights=None):
    if fweights is None and aweights is None:
        return k.cov(x, {"biased": True} if correction == 0 else {"correction": correction})
    return k.cov_weighted(x, {"frequencies": fweights, "importance": aweights, "correction": correction or float(-(2**63))})


MAP["cov"] = covariance
MAP["softmax"] = lambda k, x, dim, dtype=None: k.softmax(cast(k, x, dtype), dim)
MAP["log_softmax"] = lambda k, x, dim, dtype=None: k.log_softmax(cast(k, x, dtype), dim)
MAP["nn.functional.softmin"] = lambda k, x, dim=None, dtype=None: k.softmin(cast(k, x, dtype), dim)


# ---- with a mask: what is masked is replaced by the value that changes nothing


def masked(own, value):
    def run(k, x, dim=None, *, keepdim=False, dtype=None, mask=None):
        x = cast(k, x, dtype)
        return cast(k, getattr(k, own)(replaced(k, x, mask, value(x)), axes_of(dim), keepdim), dtype)

    return run


MAP["masked.sum"] = masked("sum", lambda x: 0)
MAP["masked.prod"] = masked("prod", lambda x: 1)
MAP["masked.logsumexp"] = masked("logsumexp", lambda x: least(x))


def least(x):
    return -math.inf if x.is_float() else torch.iinfo(x.dtype).min


def largest(x):
    return math.inf if x.is_float() else torch.iinfo(x.dtype).max


def replaced(k, x, mask, value):
    return x if mask is None else k.where(mask, x, k.full([], value, x.dtype) if x.is_float() else k.full_int([], value, x.dtype))


MAP["masked.amax"], MAP["masked.amin"] = masked("max", least), masked("min", largest)
MAP["masked.argmax"] = lambda k, x, dim=None, *, mask=None, **s: k.cast(
    position("argmax")(k, replaced(k, x, mask, least(x)), dim, **s), x.dtype)
MAP["masked.argmin"] = lambda k, x, dim=None, *, mask=None, **s: k.cast(
    position("argmin")(k, replaced(k, x, mask, largest(x)), dim, **s), x.dtype)
MAP["masked.norm"] = lambda k, x, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None: k.vector_norm(
    replaced(k, cast(k, x, dtype), mask, 0 if ord >= 0 else math.inf), ord, axes_of(dim), keepdim)
MAP["masked.normalize"] = lambda k, x, ord, dim, *, eps=1e-12, dtype=None, mask=None: k.vector_normalize(
    replaced(k, cast(k, x, dtype), mask, 0 if ord >= 0 else math.inf), ord, dim, eps)
MAP["masked.logaddexp"] = lambda k, a, b, *, input_mask=None, other_mask=None, **_: k.logaddexp(
    replaced(k, a, input_mask, -math.inf), replaced(k, b, other_mask, -math.inf))


def masked_mean(k, x, dim=None, *, keepdim=False, dtype=None, mask=None):
    x = cast(k, x, dtype)
    if mask is None:
        return k.mean(x, axes_of(dim), keepdim)
    count = k.sum(k.cast(k.expand(mask, x.shape), torch.int64), axes_of(dim), keepdim)
    return k.div(k.sum(replaced(k, x, mask, 0), axes_of(dim), keepdim), count)


MAP["masked.mean"] = masked_mean


def masked_line(own, value):
    def run(k, x, dim, *, dtype=None, mask=None):
        x = cast(k, x, dtype)
        if mask is not None:
            x = k.where(mask, x, k.full([], value, x.dtype))
        y = getattr(k, own)(x, dim)
        return y if y.is_float() else cast(k, y, x.dtype if x.dtype != torch.bool else None)

    return run


MAP["masked.cumsum"] = masked_line("cumsum", 0)
MAP["masked.cumprod"] = masked_line("cumprod", 1)
MAP["masked.softmax"] = masked_line("softmax", -math.inf)
MAP["masked.log_softmax"] = masked_line("log_softmax", -math.inf)
MAP["masked.softmin"] = masked_line("softmin", math.inf)
