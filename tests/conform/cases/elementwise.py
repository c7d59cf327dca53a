"""Arithmetic, math functions, comparisons, bits, choices and casts."""

import math

import numpy
import torch
from conform import ALL, FLOATS, INTS, NUMBERS, SIGNED, code
from conform_values import is_float, limits

SHAPE = (3, 5)


def real(x):
    """Functions of real numbers see integers and bools as f64."""
    return x.double() if isinstance(x, torch.Tensor) and not x.is_floating_point() else x


def floating(function):
    return lambda *operands: function(*[real(x) for x in operands])


def polygamma(order, x):
    """torch.polygamma(1, x) is good to ten digits only; its zeta function is better."""
    if (x < 0).any():
        return polygamma(1, x + 4) + sum((x + k) ** -2.0 for k in range(4))
    return (-1) ** (order + 1) * math.factorial(order) * torch.special.zeta(torch.tensor(order + 1.0).double(), x)


def sinc(x):
    """torch.sinc leaves what sin(3.14...) is at whole numbers, where sin(pi) is 0."""
    whole = torch.round(x.detach())
    away = torch.where(x == 0, torch.ones_like(x), x)
    value = torch.sin(math.pi * (x - whole)) * (1 - 2 * torch.remainder(whole, 2)) / (math.pi * away)
    return torch.where(x == 0, torch.sinc(x), value)


def arithmetic(g):
    pair = [g.values(*SHAPE), g.values(*SHAPE)]
    g.add("add", pair, expect=torch.add, dtypes=ALL, elementwise=True, grad=True)
    g.add("sub", pair, expect=torch.sub, dtypes=NUMBERS, elementwise=True, grad=True)
    g.add("mul", pair, expect=torch.mul, dtypes=ALL, elementwise=True, grad=True)
    away = g.values(*SHAPE, low=0.5, high=3)
    g.add("div", [g.values(*SHAPE), away], expect=floating(torch.div), dtypes=ALL, elementwise=True, grad=True)
    for op, function in (("floor_div", torch.floor_divide), ("remainder", torch.remainder), ("fmod", torch.fmod)):
        g.add(op, [g.values(*SHAPE, low=-9, high=9), g.values(*SHAPE, low=1, high=4)], expect=function,
              dtypes=NUMBERS, elementwise=True, grad=op != "floor_div")
        g.add(op, [g.values(*SHAPE, low=-9, high=9), g.values(*SHAPE, low=-4, high=-1)], expect=function,
              dtypes=FLOATS + SIGNED, name="negative")
        g.add(op, [g.literal([7.5, -7.5, 5, -5, 0.0, 1, math.inf, 2, math.nan, -0.0, 1e30]),
                   g.literal([2, 2, math.inf, math.inf, 3, 0.0, 2, math.nan, 1, 5, 1e-10])],
              expect=function, dtypes=["f64", "f32"], name="edges", tolerance=(0, 0) if op != "floor_div" else (4, 0),
              why="exact; a quotient of 1e40 has rounded to a neighbour")
    extreme = g.values(*SHAPE, flags="extreme")
    for op, function in (("add", torch.add), ("sub", torch.sub), ("mul", torch.mul)):
        g.add(op, [extreme, extreme], expect=function, dtypes=INTS, name="wraps")
    special = g.values(4, 9, flags="nan inf zero")
    for op, function in (("add", torch.add), ("sub", torch.sub), ("mul", torch.mul), ("div", torch.div),
                         ("maximum", torch.maximum), ("minimum", torch.minimum), ("atan2", torch.atan2),
                         ("copysign", torch.copysign), ("hypot", torch.hypot), ("pow", torch.pow)):
        g.add(op, [special, special], expect=function, name="special")
    base = g.values(*SHAPE, low=0.2, high=3)
    g.add("pow", [base, g.values(*SHAPE, low=-2, high=3)], expect=torch.pow, dtypes=FLOATS, elementwise=True,
          grad=True)
    g.add("pow", [g.values(*SHAPE, low=-4, high=4), g.values(*SHAPE, low=0, high=5)],
          expect=lambda x, y: numpy.power(x.numpy(), y.numpy()), dtypes=INTS, elementwise=True,
          name="integers")
    g.add("pow", [g.literal([0.0, 0.0, 2.0, 0.0, 3.0, -2.0, -2.0]), g.literal([0.0, 2.0, 0.0, 1.0, 1.0, 2.0, 3.0])],
          expect=torch.pow, name="edges", grad=[0],
          second="at the edges of the domain, where differences say nothing")
    g.add("atan2", pair, expect=floating(torch.atan2), dtypes=ALL, elementwise=True, grad=True)
    g.add("hypot", pair, expect=torch.hypot, dtypes=FLOATS, elementwise=True, grad=True)
    g.add("copysign", pair, expect=floating(torch.copysign), dtypes=ALL, elementwise=True, grad=[0])
    for op, function in (("maximum", torch.maximum), ("minimum", torch.minimum)):
        g.add(op, [g.values(*SHAPE, flags="distinct"), g.values(*SHAPE, low=-1.9, high=1.7, flags="distinct")],
              expect=function, dtypes=ALL, elementwise=True, grad=True)
        g.add(op, [g.literal([1.0, 2.0, -1.0]), g.literal([1.0, 3.0, -1.0])], expect=function, name="ties",
              grad=True, second="at ties, where differences say nothing")
    g.error("add", [g.values(2, 3), g.values(4)], status="shape", text="do not broadcast")
    g.error("sub", [g.bools(3), g.bools(3)], status="dtype", text="bool")
    g.error("sub", [g.bools(3), g.values(3)], status="dtype", text="bool")
    g.error("sub", [g.values(3), g.bools(3)], status="dtype", text="bool", name="second")
    g.add("atan2", [g.literal([0.0, 0.0, 1.0]), g.literal([0.0, -1.0, 0.0])], expect=torch.atan2, grad="torch",
          dtypes=["f64", "f32"], name="origin", second="at a jump, where differences say nothing")
    g.error("hypot", [g.ints(3), g.ints(3)], status="dtype", text="kn_cast")


def mixed(g):
    """f16 with bf16: neither holds the other, so both become f32, as in PyTorch."""
    for first, second in (("f16", "bf16"), ("bf16", "f16")):
        pair = [g.values(*SHAPE, dtype=first), g.values(*SHAPE, low=0.5, high=3, dtype=second)]
        for op in ("add", "sub", "mul", "div", "remainder", "fmod", "pow", "atan2", "hypot", "maximum", "minimum"):
            base = [g.values(*SHAPE, low=0.2, high=3, dtype=first), pair[1]] if op == "pow" else pair
            g.add(op, base, expect=getattr(torch, op), dtypes=["f32"], name="halves", grad=True, large=False)
        for op, function in (("equal", torch.eq), ("less", torch.lt), ("greater_equal", torch.ge)):
            g.add(op, pair, expect=function, dtypes=["f32"], name="halves", out="bool", large=False)
        g.add("where", [g.bools(*SHAPE)] + pair, expect=torch.where, dtypes=["f32"], name="halves", grad=True,
              large=False)


def narrow(g):
    """Operands of other dtypes are rounded to the common one before anything is computed."""
    def rounded(function, half):
        return lambda *operands: function(*[x.to(half).double() for x in operands]).to(half).double()

    for name, half in (("f16", torch.float16), ("bf16", torch.bfloat16)):
        pair = [g.literal([100000, 2049, 32767, 70000], dtype="i32"), g.literal([0.001, 2048, 1.5, -10000], dtype=name)]
        for op in ("add", "mul", "remainder", "maximum"):
            g.add(op, pair, expect=rounded(getattr(torch, op), half), dtypes=[name], name="rounded", large=False)
        for op, function in (("equal", torch.eq), ("less", torch.lt)):
            g.add(op, pair, expect=lambda a, b, f=function, h=half: f(a.to(h), b.to(h)), dtypes=[name], out="bool",
                  name="rounded", large=False)
        g.add("add", [g.literal(70000.0, dtype="f32"), g.literal([-10000.0, 1.0], dtype=name)],
              expect=rounded(torch.add, half), dtypes=[name], name="number", large=False)


def numbers(g):
    """The forms with a number, through adapters of their own."""
    x = g.values(*SHAPE, low=0.5, high=4)
    forms = (("add", torch.add, NUMBERS), ("sub", torch.sub, NUMBERS), ("mul", torch.mul, NUMBERS),
             ("div", torch.div, NUMBERS), ("floor_div", torch.floor_divide, NUMBERS),
             ("remainder", torch.remainder, NUMBERS), ("fmod", torch.fmod, NUMBERS), ("pow", torch.pow, NUMBERS),
             ("maximum", lambda a, v: torch.maximum(a, torch.as_tensor(v, dtype=a.dtype)), NUMBERS),
             ("minimum", lambda a, v: torch.minimum(a, torch.as_tensor(v, dtype=a.dtype)), NUMBERS),
             ("rsub", torch.rsub, NUMBERS), ("rdiv", lambda a, v: v / real(a), NUMBERS))
    for name, function, dtypes in forms:
        wide = floating(function) if name == "div" else function
        g.add(name + "_scalar", [x], attrs={"value": 2.0}, expect=lambda a, f=wide: f(a, 2), dtypes=dtypes,
              elementwise=True, grad=name not in ("floor_div", "remainder", "fmod", "maximum", "minimum"))
        g.add(name + "_scalar", [x], attrs={"value": 2.5}, expect=lambda a, f=function: f(real(a), 2.5),
              dtypes=dtypes, name="fraction")
    for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
        function = getattr(torch, {"equal": "eq", "not_equal": "ne"}.get(name, name))
        g.add(name + "_scalar", [g.values(*SHAPE, flags="ties")], attrs={"value": 1.0},
              expect=lambda a, f=function: f(a, 1), dtypes=NUMBERS, elementwise=True)
    g.add("add_scalar", [g.bools(7)], attrs={"value": 1.0}, expect=lambda a: a + 1, dtypes=["bool"], out="i64",
          name="bool")
    g.add("mul_scalar", [g.ints(7, dtype="i32")], attrs={"value": math.nan}, expect=lambda a: a * math.nan,
          dtypes=["i32"], out="f32", name="nan")
    g.error("pow_scalar", [g.ints(3)], attrs={"value": -1.0}, status="argument", text="negative")


UNARY = (("exp", -3, 3), ("exp2", -3, 3), ("expm1", -2, 2), ("log", 0.2, 5), ("log2", 0.2, 5), ("log10", 0.2, 5),
         ("log1p", -0.5, 4), ("sqrt", 0.2, 9), ("rsqrt", 0.2, 9), ("reciprocal", 0.3, 4), ("sin", -6, 6),
         ("cos", -6, 6), ("tan", -1.2, 1.2), ("sinh", -3, 3), ("cosh", -3, 3), ("asin", -0.9, 0.9),
         ("acos", -0.9, 0.9), ("atan", -4, 4), ("asinh", -4, 4), ("acosh", 1.3, 6), ("atanh", -0.9, 0.9),
         ("deg2rad", -360, 360), ("rad2deg", -6, 6), ("erf", -2, 2), ("erfc", -2, 2), ("erfinv", -0.9, 0.9),
         ("lgamma", 0.3, 8), ("digamma", 0.3, 8))


def functions(g):
    for name, low, high in UNARY:
        function = getattr(torch, name)
        x = g.values(*SHAPE, low=low, high=high)
        # The derivative of torch.digamma is good to ten digits only.
        g.add(name, [x], expect=floating(function), dtypes=ALL, elementwise=True,
              grad="fd" if name == "digamma" else True)
        g.add(name, [g.values(4, 9, low=low, high=high, flags="nan inf zero")], expect=function, name="special")
        g.add(name, [g.values(4, 9, low=-50, high=50, flags="extreme")], expect=function, dtypes=["f64", "f32"],
              name="wide")
    x = g.values(*SHAPE, low=-6, high=6)
    for name, function in (("neg", torch.neg), ("abs", torch.abs), ("square", torch.square)):
        g.add(name, [x], expect=function, dtypes=NUMBERS, elementwise=True, grad=True)
        g.add(name, [g.values(4, 9, flags="nan inf zero")], expect=function, name="special")
        g.add(name, [g.values(4, 9, flags="extreme")], expect=function, dtypes=SIGNED, name="extreme")
    g.add("abs", [g.literal([0.0, -0.0, 1.0, -1.0])], expect=torch.abs, grad=True, name="at-zero",
          second="at a kink, where differences say nothing")
    for name in ("round", "floor", "ceil", "trunc"):
        g.add(name, [x], expect=getattr(torch, name), dtypes=NUMBERS, elementwise=True)
        g.add(name, [g.values(4, 9, low=-6, high=6, flags="nan inf zero ties extreme")],
              expect=getattr(torch, name), name="special")
    g.add("sign", [x], expect=torch.sign, dtypes=ALL, elementwise=True)
    g.add("sign", [g.values(4, 9, flags="nan inf zero")], expect=torch.sign, name="special")
    g.add("frac", [x], expect=torch.frac, elementwise=True, grad=True)
    g.add("sinc", [x], expect=floating(sinc), dtypes=ALL, elementwise=True, grad=True)
    g.add("sinc", [g.literal([0.0, -0.0, 0.5])], expect=torch.sinc, name="at-zero", grad=True)
    for order in (1, 2, 3):
        g.add("polygamma", [g.values(*SHAPE, low=0.5, high=6)], attrs={"order": float(order)},
              expect=floating(lambda x, n=order: polygamma(n, x)), dtypes=ALL, elementwise=True,
              grad=True, name="order%d" % order)
    g.add("polygamma", [g.values(*SHAPE, low=-3.9, high=-3.1)], attrs={"order": 1.0},
          expect=lambda x: polygamma(1, x), dtypes=["f64", "f32"], name="left", tolerance=(64, 0),
          why="the reflection loses digits near the poles")
    g.add("lgamma", [g.literal([-1.7976931348623157e308, -1e300, -2.0, math.inf])], expect=torch.lgamma,
          dtypes=["f64"], name="far")
    g.add("digamma", [g.literal([math.inf, 2.0])], expect=torch.digamma, dtypes=["f64", "f32"], grad="torch",
          name="far", tolerance=(1e6, 0), why="the derivative of torch.digamma is good to ten digits only",
          second="at infinity, where differences say nothing")
    g.add("xlogy", [g.values(*SHAPE), g.values(*SHAPE, low=0.2, high=4)], expect=floating(torch.xlogy), dtypes=ALL,
          elementwise=True, grad=True)
    g.add("xlogy", [g.literal([0.0, 0.0, 0.0, 1.0]), g.literal([0.0, math.nan, -1.0, 0.0])], expect=torch.xlogy,
          name="edges")
    g.add("logaddexp", [g.values(*SHAPE), g.values(*SHAPE)], expect=floating(torch.logaddexp), dtypes=ALL,
          elementwise=True, grad=True)
    infinite = [math.inf, -math.inf, math.inf, -math.inf, 500.0, math.nan]
    g.add("logaddexp", [g.literal(infinite), g.literal([math.inf, -math.inf, 1.0, 2.0, 501.0, 1.0])],
          expect=torch.logaddexp, name="edges")
    g.add("heaviside", [g.values(*SHAPE, flags="zero"), g.values(*SHAPE)], expect=torch.heaviside, dtypes=ALL,
          elementwise=True)
    g.add("logit", [g.values(*SHAPE, low=0.05, high=0.95)], attrs={"eps": -1.0}, expect=torch.logit,
          elementwise=True, grad=True)
    g.add("logit", [g.literal([0.01, 0.5, 0.995])], attrs={"eps": 0.05}, expect=lambda x: torch.logit(x, 0.05),
          name="eps", grad=True)
    g.add("nan_to_num", [g.values(4, 9, flags="nan inf zero")], attrs={"nan": 1.0, "positive": 7.0, "negative": -8.0},
          expect=lambda x: torch.nan_to_num(x, 1.0, 7.0, -8.0), elementwise=True)
    g.add("nan_to_num", [g.values(7)], attrs={"nan": 0.0, "positive": 7.0, "negative": -8.0},
          expect=torch.nan_to_num, grad=True, name="finite")


def truths(g):
    pair = [g.values(*SHAPE, flags="ties"), g.values(*SHAPE, flags="ties")]
    special = [g.values(4, 9, flags="nan inf zero"), g.values(4, 9, flags="nan inf zero")]
    extreme = [g.values(4, 9, flags="extreme"), g.values(4, 9, flags="extreme")]
    for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
        function = getattr(torch, {"equal": "eq", "not_equal": "ne"}.get(name, name))
        g.add(name, pair, expect=function, dtypes=ALL, elementwise=True)
        g.add(name, special, expect=function, name="special")
        g.add(name, extreme, expect=function, dtypes=[d for d in INTS if d != "u64"], name="extreme")
    for name in ("logical_and", "logical_or", "logical_xor"):
        zeros = [g.values(*SHAPE, flags="zero"), g.values(*SHAPE, flags="zero")]
        g.add(name, zeros, expect=getattr(torch, name), dtypes=ALL, elementwise=True)
    g.add("logical_not", [g.values(*SHAPE, flags="zero nan")], expect=torch.logical_not, dtypes=ALL,
          elementwise=True)
    for name, function in (("is_nan", torch.isnan), ("is_inf", torch.isinf), ("is_finite", torch.isfinite)):
        g.add(name, [g.values(4, 9, flags="nan inf")], expect=function, dtypes=ALL, elementwise=True)
    g.add("signbit", [g.values(4, 9, flags="inf zero")], expect=torch.signbit, dtypes=ALL, elementwise=True)
    near = g.literal([1.0, 1.0625, 2.0, math.nan, math.inf, -math.inf, 0.0])
    far = g.literal([1.0, 1.0, 1.0, math.nan, math.inf, math.inf, 0.0])
    for equal_nan in (False, True):
        g.add("is_close", [near, far], attrs={"rtol": 0.1, "atol": 0.01, "equal_nan": equal_nan},
              expect=lambda x, y, e=equal_nan: torch.isclose(x, y, 0.1, 0.01, e))
    g.add("is_close", [g.values(*SHAPE), g.values(*SHAPE)], attrs={"rtol": 0.5, "atol": 0.25},
          expect=lambda x, y: torch.isclose(real(x), real(y), 0.5, 0.25), dtypes=NUMBERS, elementwise=True)
    g.error("is_close", [g.values(2), g.values(2)], attrs={"rtol": -1.0}, text="tolerances")


def bits(g):
    integers = INTS + ["bool"]
    pair = [g.values(*SHAPE, low=-90, high=90), g.values(*SHAPE, low=-90, high=90)]
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        g.add(name, pair, expect=getattr(torch, name), dtypes=integers, elementwise=True)
        g.add(name + "_scalar", [pair[0]], attrs={"value": 21},
              expect=lambda x, f=getattr(torch, name): f(x, 21), dtypes=INTS, elementwise=True)
    g.add("bitwise_not", [pair[0]], expect=torch.bitwise_not, dtypes=integers, elementwise=True)
    for name in ("bitwise_left_shift", "bitwise_right_shift"):
        function = getattr(torch, name)
        g.add(name, [pair[0], g.values(*SHAPE, low=0, high=6)], expect=function, dtypes=INTS, elementwise=True)
        g.add(name + "_scalar", [pair[0]], attrs={"value": 3}, expect=lambda x, f=function: f(x, 3), dtypes=INTS)
        g.add(name, [g.literal([-8, 8, -1, 1]), g.literal([-1, -1, 64, 100])], expect=function, dtypes=["i64"],
              name="past-the-width")
    g.error("bitwise_and", [g.values(3), g.values(3)], status="dtype", text="f32")
    g.error("bitwise_left_shift", [g.bools(3), g.bools(3)], status="dtype", text="bool")


def choices(g):
    g.add("where", [g.bools(*SHAPE), g.values(*SHAPE), g.values(*SHAPE)], expect=torch.where, dtypes=ALL,
          elementwise=True, grad=True)
    g.add("where", [g.bools(4, 9), g.values(4, 9, flags="nan inf"), g.values(4, 9)], expect=torch.where,
          name="special")
    g.error("where", [g.values(3), g.values(3), g.values(3)], status="dtype", text="bool")
    x = g.values(*SHAPE, low=-3, high=3)
    g.add("clamp", [x, g.values(*SHAPE, low=-2, high=-0.5), g.values(*SHAPE, low=0.5, high=2)], expect=torch.clamp,
          dtypes=NUMBERS, elementwise=True, grad=True)
    g.add("clamp", [g.literal([-2.0, -1.0, 0.0, 1.0, 2.0, math.nan]), g.literal([-1.0] * 6), g.literal([1.0] * 6)],
          expect=torch.clamp, name="bounds")
    g.add("clamp_scalar", [x], attrs={"low": -1.0, "high": 2.0}, expect=lambda a: torch.clamp(a, -1, 2),
          dtypes=FLOATS + SIGNED, elementwise=True, grad=True, covers=["clamp"])
    g.add("clamp_scalar", [x], attrs={"low": -math.inf, "high": 1.0}, expect=lambda a: torch.clamp(a, max=1),
          dtypes=NUMBERS, name="high", grad=True, covers=["clamp_max"])
    g.add("clamp_scalar", [x], attrs={"low": 1.0, "high": math.inf}, expect=lambda a: torch.clamp(a, min=1),
          dtypes=NUMBERS, name="low", grad=True, covers=["clamp_min"])
    points, kink = [-2.0, -1.0, 0.0, 1.0, 2.0, math.nan], "at a kink, where differences say nothing"
    for low, high in ((-1.0, 1.0), (-math.inf, 1.0), (-1.0, math.inf), (1.0, -1.0)):
        g.add("clamp_scalar", [g.literal(points)], attrs={"low": low, "high": high}, dtypes=["f64", "f32"],
              expect=lambda a, b=low if low > -math.inf else None, c=high if high < math.inf else None:
              torch.clamp(a, b, c), grad="torch", name="kinks", second=kink)
    for low, high in ((-1.0, 1.0), (1.0, -1.0), (1.0, 1.0)):
        bounds = [g.literal([low] * 6), g.literal([high] * 6)]
        g.add("clamp", [g.literal(points)] + bounds, expect=torch.clamp, grad="torch", dtypes=["f64", "f32"],
              name="kinks", second=kink)
    for op, which in (("clamp_min", "min"), ("clamp_max", "max")):
        g.add(op, [g.literal(points), g.literal([1.0] * 6)], expect=lambda a, b, w=which: torch.clamp(a, **{w: b}),
              grad="torch", dtypes=["f64", "f32"], name="kinks", second=kink)
    bound = g.values(*SHAPE)
    g.add("clamp_min", [x, bound], expect=lambda a, b: torch.clamp(a, min=b), dtypes=NUMBERS, elementwise=True,
          grad=True)
    g.add("clamp_max", [x, bound], expect=lambda a, b: torch.clamp(a, max=b), dtypes=NUMBERS, elementwise=True,
          grad=True)
    g.add("lerp", [g.values(*SHAPE), g.values(*SHAPE), g.values(*SHAPE, low=-0.5, high=1.5)], expect=torch.lerp,
          elementwise=True, grad=True)
    g.add("mul_add", [g.values(*SHAPE), g.values(*SHAPE), g.values(*SHAPE)], expect=lambda a, b, c: a * b + c,
          dtypes=NUMBERS, elementwise=True, grad=True)
    four = [g.values(*SHAPE), g.values(*SHAPE), g.values(*SHAPE, low=0.5, high=2), g.values(*SHAPE)]
    g.add("addcmul", four, expect=lambda x, a, b, v: x + v * a * b, dtypes=NUMBERS, elementwise=True, grad=True)
    g.add("addcdiv", four, expect=lambda x, a, b, v: x + v * a / b, elementwise=True, grad=True)


def _wrap(values, dtype):
    """Whole numbers of f64 as an integer dtype, saturated to 64 bits and then wrapped."""
    low, high = limits("i64")[0], limits("u64" if dtype == "u64" else "i64")[1]
    whole = [0 if math.isnan(v) else low if v <= low else high if v >= high else int(v) for v in values.ravel().tolist()]
    bits = int(dtype[1:])
    wrapped = [w % (1 << bits) for w in whole]
    if dtype[0] == "i":
        wrapped = [w - (1 << bits) if w >= 1 << (bits - 1) else w for w in wrapped]
    return numpy.array(wrapped, dtype=numpy.uint64 if dtype == "u64" else numpy.int64).reshape(values.shape)


def _cast(x, target):
    if target == "bool":
        return x != 0
    if is_float(target):
        return x.double()
    if x.is_floating_point():
        return _wrap(x.detach().numpy(), target)
    return x.long()


def casts(g):
    for target in ALL:
        g.add("cast", [g.values(*SHAPE, low=-9, high=9, flags="zero")], attrs={"dtype": code(target)},
              expect=lambda x, t=target: _cast(x, t), dtypes=ALL, out=target, name="to-" + target,
              elementwise=True, grad=is_float(target))
        if not is_float(target) and target[0] != "u":
            g.add("cast", [g.literal([math.nan, math.inf, -math.inf, 1e9, -1e9, 300.7, -300.7, -0.5])],
                  attrs={"dtype": code(target)}, expect=lambda x, t=target: _cast(x, t), dtypes=["f64", "f32"],
                  out=target, name="saturates-to-" + target)
    kinds = {"f": numpy.dtype("f8"), "i": numpy.dtype("i8"), "u": numpy.dtype("u8")}
    for source in NUMBERS:
        if source == "bf16":
            g.add("bitcast", [g.values(*SHAPE)], attrs={"dtype": code("i16")}, dtypes=[source], out="i16",
                  expect=lambda x: x.to(torch.bfloat16).view(torch.int16).long(), name=source)
            continue
        bits = source[1:]
        target = {"f": "i", "i": "u", "u": "f"}[source[0]] + bits
        target = "i8" if target == "f8" else target
        native = [numpy.dtype(d[0] + str(int(d[1:]) // 8)) for d in (source, target)]
        g.add("bitcast", [g.values(*SHAPE, low=-9, high=9)], attrs={"dtype": code(target)}, dtypes=[source], out=target,
              expect=lambda x, n=native: x.numpy().astype(n[0]).view(n[1]).astype(kinds[n[1].kind]), name=source)
    g.error("bitcast", [g.values(3)], attrs={"dtype": code("f64")}, status="dtype", text="bits")
    g.error("cast", [g.values(3)], attrs={"dtype": 99}, status="dtype", text="99")


def cases(g):
    for part in (arithmetic, mixed, narrow, numbers, functions, truths, bits, choices, casts):
        part(g)
