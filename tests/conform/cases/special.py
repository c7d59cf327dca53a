"""Special functions, and elementwise functions that treat NaN, halves of divisions and bits in their own way."""

import math

import mpmath
import numpy
import torch
from conform import ALL, FLOATS, INTS, NUMBERS, SIGNED
from conform_values import is_float

SHAPE = (3, 5)
SCALED = "the rows it is made of round once each"


def real(x):
    return x.double() if isinstance(x, torch.Tensor) and not x.is_floating_point() else x


def floating(function):
    return lambda *operands: function(*[real(x) for x in operands])


def exactly(function):
    """An mpmath function of each element: torch's own are good to 12 digits in places."""
    mpmath.mp.dps = 30

    def run(*operands):
        operands = torch.broadcast_tensors(*[real(x) for x in operands])
        values = [float(function(*[mpmath.mpf(v) for v in row])) for row in zip(*[x.flatten().tolist() for x in operands])]
        return torch.tensor(values, dtype=torch.float64).reshape(operands[0].shape)

    return run


# name, mpmath's function, low, high, where special values are: name -> torch's
BESSEL = (
    ("i0", lambda x: mpmath.besseli(0, x), -4, 4), ("i0", lambda x: mpmath.besseli(0, x), 10, 80),
    ("i0e", lambda x: mpmath.besseli(0, x) * mpmath.exp(-abs(x)), -4, 4),
    ("i0e", lambda x: mpmath.besseli(0, x) * mpmath.exp(-abs(x)), 10, 60),
    ("i1", lambda x: mpmath.besseli(1, x), -4, 4), ("i1", lambda x: mpmath.besseli(1, x), 10, 80),
    ("i1e", lambda x: mpmath.besseli(1, x) * mpmath.exp(-abs(x)), -4, 4),
    ("i1e", lambda x: mpmath.besseli(1, x) * mpmath.exp(-abs(x)), 10, 60),
    ("bessel_j0", lambda x: mpmath.besselj(0, x), -9, 9), ("bessel_j0", lambda x: mpmath.besselj(0, x), 9, 50),
    ("bessel_j1", lambda x: mpmath.besselj(1, x), -9, 9), ("bessel_j1", lambda x: mpmath.besselj(1, x), 9, 50),
    ("bessel_y0", lambda x: mpmath.bessely(0, x), 0.2, 9), ("bessel_y0", lambda x: mpmath.bessely(0, x), 9, 50),
    ("bessel_y1", lambda x: mpmath.bessely(1, x), 0.2, 9), ("bessel_y1", lambda x: mpmath.bessely(1, x), 9, 50),
    ("bessel_k0", lambda x: mpmath.besselk(0, x), 0.2, 3), ("bessel_k0", lambda x: mpmath.besselk(0, x), 3, 30),
    ("bessel_k1", lambda x: mpmath.besselk(1, x), 0.2, 3), ("bessel_k1", lambda x: mpmath.besselk(1, x), 3, 30),
    ("bessel_k0e", lambda x: mpmath.besselk(0, x) * mpmath.exp(x), 0.2, 3),
    ("bessel_k0e", lambda x: mpmath.besselk(0, x) * mpmath.exp(x), 3, 300),
    ("bessel_k1e", lambda x: mpmath.besselk(1, x) * mpmath.exp(x), 0.2, 3),
    ("bessel_k1e", lambda x: mpmath.besselk(1, x) * mpmath.exp(x), 3, 300),
    ("spherical_bessel_j0", lambda x: mpmath.sinc(x), -9, 9),
    ("erfcx", lambda x: mpmath.exp(x * x) * mpmath.erfc(x), -3, 3),
    ("erfcx", lambda x: mpmath.exp(x * x) * mpmath.erfc(x), 3, 50),
    ("ndtr", lambda x: mpmath.ncdf(x), -4, 4), ("log_ndtr", lambda x: mpmath.log(mpmath.ncdf(x)), -9, 3),
    ("ndtri", lambda p: mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1), 0.02, 0.98),
    ("entr", lambda x: -x * mpmath.log(x) if x > 0 else (mpmath.mpf(0) if x == 0 else -mpmath.inf), 0.1, 4))

# What torch says of infinities, NaN and zeros; its j1, y0 and y1 give NaN at infinity, where the limit is 0.
TORCH = {"i0": torch.special.i0, "i0e": torch.special.i0e, "i1": torch.special.i1, "i1e": torch.special.i1e,
         "bessel_k0": torch.special.modified_bessel_k0, "bessel_k1": torch.special.modified_bessel_k1,
         "bessel_k0e": torch.special.scaled_modified_bessel_k0, "bessel_k1e": torch.special.scaled_modified_bessel_k1,
         "spherical_bessel_j0": torch.special.spherical_bessel_j0, "erfcx": torch.special.erfcx,
         "ndtr": torch.special.ndtr, "log_ndtr": torch.special.log_ndtr, "ndtri": torch.special.ndtri,
         "entr": torch.special.entr}


def whole(name):
    """Integers where the function has a value: 0 would be infinite in some."""
    return [d for d in ALL if is_float(d)] if name in ("ndtri",) else ALL


def functions(g):
    for name, function, low, high in BESSEL:
        g.add(name, [g.values(*SHAPE, low=low, high=high)], expect=exactly(function), elementwise=True,
              dtypes=FLOATS, grad="fd", name="%g to %g" % (low, high))
    for name, function in TORCH.items():
        far = [] if name in ("i0", "i1") else [math.inf]  # where torch's give NaN
        g.add(name, [g.literal([0.0, -0.0, math.nan, 1.0] + far)], expect=function, name="special",
              tolerance=(64, 0), why="torch's values at 1 are good to 12 digits in places", dtypes=["f64", "f32"])
    for name in ("i0", "i1"):
        g.add(name, [g.literal([math.inf, -math.inf, 1000.0])], name="infinite", dtypes=["f64", "f32"],
              expect=lambda x, n=name: torch.tensor([math.inf, math.inf if n == "i0" else -math.inf, math.inf]))
    for name in ("bessel_j0", "bessel_j1"):
        g.add(name, [g.literal([0.0, math.inf, -math.inf, math.nan])], name="special", dtypes=FLOATS,
              expect=lambda x, n=name: torch.tensor([float(n == "bessel_j0"), 0.0, 0.0, math.nan], dtype=torch.float64))
    for name in ("bessel_y0", "bessel_y1"):
        g.add(name, [g.literal([0.0, math.inf, -1.0, math.nan])], name="special", dtypes=FLOATS,
              expect=lambda x: torch.tensor([-math.inf, 0.0, math.nan, math.nan], dtype=torch.float64))
    for name in ("i0", "i1", "bessel_j0", "bessel_j1", "ndtr", "erfcx"):
        function = next(f for n, f, *_ in BESSEL if n == name)
        g.add(name, [g.values(*SHAPE, low=0, high=6)], expect=exactly(function), dtypes=INTS + ["bool"], name="integers")
    g.add("ndtri", [g.literal([1e-300, 1e-20, 1e-6, 0.2, 0.3, 0.999])], expect=exactly(quantile), name="tails",
          dtypes=["f64"])
    g.add("log_ndtr", [g.literal([-1e4, -40.0, -20.0, 0.0, 9.0])], expect=exactly(log_ndtr), name="tails",
          dtypes=["f64", "f32"])


def quantile(p):
    guess = -mpmath.sqrt(-2 * mpmath.log(p)) if p < 0.1 else mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1)
    return mpmath.findroot(lambda x: mpmath.log(mpmath.erfc(-x / mpmath.sqrt(2)) / 2) - mpmath.log(p), guess)


def log_ndtr(x):
    return mpmath.log(mpmath.erfc(-x / mpmath.sqrt(2)) / 2) if x < 5 else mpmath.log1p(-mpmath.erfc(x / mpmath.sqrt(2)) / 2)


def hurwitz_sum(s, q):
    """Terms below 1 one by one, the others by mpmath, which takes no negative q."""
    if s > 1000:
        return 1.0 if q == 1 else 0.0
    s, q, total = mpmath.mpf(s), mpmath.mpf(q), mpmath.mpf(0)
    while q < 1:
        total, q = total + q ** -s, q + 1
    return float(total + mpmath.zeta(s, q))


def gammas(g):
    lower = lambda a, x: mpmath.gammainc(a, 0, x, regularized=True)
    upper = lambda a, x: mpmath.gammainc(a, x, mpmath.inf, regularized=True)
    for name, function in (("igamma", lower), ("igammac", upper)):
        for label, a, x in (("small", (0.1, 0.9), (0.1, 1.0)), ("middle", (0.5, 12), (0.5, 12)),
                            ("large", (25, 60), (20, 70)), ("far", (1, 8), (12, 30))):
            g.add(name, [g.values(*SHAPE, low=a[0], high=a[1]), g.values(*SHAPE, low=x[0], high=x[1])],
                  expect=exactly(function), elementwise=label == "middle", name=label)
        torch_one = torch.special.gammainc if name == "igamma" else torch.special.gammaincc
        g.add(name, [g.values(*SHAPE, low=0.5, high=6), g.values(*SHAPE, low=0.5, high=6)], expect=torch_one, grad=[1],
              name="gradient", tolerance=(64, 0), why="torch's own values are good to 13 digits")
        edges = [g.literal([0.0, 0.0, 1.0, 2.0, math.inf, math.inf, -1.0, 2.0, math.nan, 1.0]),
                 g.literal([1.0, 0.0, 0.0, math.inf, 3.0, math.inf, 1.0, -1.0, 1.0, math.nan])]
        g.add(name, edges, expect=torch_one, name="edges", dtypes=["f64", "f32"])
        g.add(name, [g.ints(7, low=1, high=9, dtype="i32"), g.ints(7, low=0, high=9, dtype="i32")],
              expect=exactly(function), dtypes=["f32"], name="integers", large=False)
    hurwitz = lambda s, q: mpmath.zeta(s, q)
    g.add("zeta", [g.values(*SHAPE, low=1.5, high=6), g.values(*SHAPE, low=0.5, high=20)], expect=exactly(hurwitz),
          elementwise=True)
    g.add("zeta", [g.values(*SHAPE, low=2, high=5), g.values(*SHAPE, low=0.5, high=4)], expect=torch.special.zeta,
          grad=[1], name="gradient", tolerance=(64, 0), why="torch's own values are good to 13 digits")
    g.add("zeta", [g.literal([1.0, 0.5, 2.0, 3.0, 2.0, 2.5, math.nan, 60.0]),
                   g.literal([2.0, 2.0, 0.0, -1.0, -1.5, -1.5, 1.0, 0.5])], expect=torch.special.zeta, name="edges",
          dtypes=["f64", "f32"])
    g.add("zeta", [g.literal([2.0, 3.0, 4.0, 5.0, 2.0, 1e6, 1e300, 1e300]),
                   g.literal([-0.25, -3.25, -7.75, -12.125, -1000.5, 1.0, 1.5, 1e16])], name="negative", dtypes=["f64"],
          expect=lambda s, q: torch.tensor([hurwitz_sum(*pair) for pair in zip(s.tolist(), q.tolist())], dtype=torch.float64))
    for p in (1, 2, 5):
        g.add("mvlgamma", [g.values(*SHAPE, low=0.5 * p + 0.5, high=9)], attrs={"p": p}, covers=["lgamma"],
              expect=floating(lambda x, n=p: torch.mvlgamma(x, n)), grad="fd", tolerance=(16, 8),
              why="a sum of %d logarithms, which may cancel" % p, large=False)
    g.error("mvlgamma", [g.values(3)], attrs={"p": 0}, status="argument", text="p is 0")


def pairs(g):
    distinct = [g.values(*SHAPE, flags="distinct"), g.values(*SHAPE, low=-1.9, high=1.7, flags="distinct")]
    for op, function in (("fmax", torch.fmax), ("fmin", torch.fmin)):
        g.add(op, distinct, expect=function, dtypes=ALL, elementwise=True, grad=True)
        g.add(op, [g.values(4, 9, flags="nan inf zero")] * 2, expect=function, name="special")
        g.add(op, [g.literal([1.0, 2.0, math.nan, 3.0, math.nan]), g.literal([1.0, 3.0, 2.0, math.nan, math.nan])],
              expect=function, name="ties", grad="torch", second="at ties, where differences say nothing")
    for op, function in (("gcd", torch.gcd), ("lcm", torch.lcm)):
        g.add(op, [g.values(*SHAPE, low=-60, high=60), g.values(*SHAPE, low=-60, high=60)], dtypes=INTS, elementwise=True,
              expect=lambda a, b, o=op: torch.as_tensor(getattr(numpy, o)(a.numpy(), b.numpy())))
        g.add(op, [g.literal([0, 0, 6, -8, 7]), g.literal([0, 5, 0, 12, -7])], dtypes=SIGNED, expect=function, name="zeros")
        g.error(op, [g.values(3), g.values(3)], status="dtype", text="kn_cast")
    # The product passes 32 bits, which 16 bits are computed in, and wraps as it does in 64.
    g.add("lcm", [g.literal([65533, 40000]), g.literal([65535, 39999])], dtypes=["u16"], name="wraps",
          expect=lambda a, b: (a * b) % 65536)
    pair = [g.values(*SHAPE, low=-9, high=9), g.values(*SHAPE, low=1, high=4)]
    cut = lambda a, b: torch.div(a, b, rounding_mode="trunc")
    g.add("trunc_div", pair, expect=cut, dtypes=INTS, elementwise=True)
    g.add("trunc_div", [g.literal([-7, 7, -8, 5, -128]), g.literal([2, -2, -2, 0, -1])], dtypes=["i32", "i64"],
          name="signs", expect=lambda a, b: torch.tensor([-3, -3, 4, 0, 128]))
    g.add("trunc_div_of", pair, expect=cut, dtypes=NUMBERS, covers=["trunc_div"], grad=False, large=False)
    g.add("trunc_div_of", [g.literal([7.5, -7.5, 5, -0.0, math.inf, math.nan, 1.0]),
                           g.literal([2.0, 2.0, math.inf, 3.0, 2.0, 1.0, 0.0])], expect=cut, covers=["trunc_div"],
          name="edges", large=False)
    for value in (3.0, -2.0):
        g.add("trunc_div_scalar", [g.values(*SHAPE, low=-9, high=9)], attrs={"value": value}, covers=["trunc_div"],
              expect=lambda a, v=value: torch.div(a, v if a.is_floating_point() else int(v), rounding_mode="trunc"),
              dtypes=FLOATS + SIGNED, large=False)
    g.error("trunc_div_scalar", [g.ints(3)], attrs={"value": 0.0}, status="argument", text="divided by 0")
    g.add("logaddexp2", [g.values(*SHAPE), g.values(*SHAPE)], expect=floating(torch.logaddexp2), dtypes=ALL,
          elementwise=True, grad=True)
    g.add("logaddexp2", [g.literal([math.inf, -math.inf, math.inf, -math.inf, 5000.0, math.nan]),
                         g.literal([math.inf, -math.inf, 1.0, 2.0, 5001.0, 1.0])], expect=torch.logaddexp2, name="edges",
          dtypes=["f64", "f32"])
    g.add("xlog1py", [g.values(*SHAPE), g.values(*SHAPE, low=-0.8, high=4)], expect=floating(torch.special.xlog1py),
          dtypes=FLOATS, elementwise=True, grad=True)
    g.add("xlog1py", [g.values(*SHAPE), g.values(*SHAPE, low=0, high=4)], expect=floating(torch.special.xlog1py),
          dtypes=INTS + ["bool"], name="integers")
    g.add("xlog1py", [g.literal([0.0, 0.0, 0.0, 1.0]), g.literal([-1.0, math.nan, -2.0, -1.0])],
          expect=torch.special.xlog1py, name="edges")


def steps(g):
    for decimals in (0, 1, 3, -1, -2):
        g.add("round_decimals", [g.values(*SHAPE, low=-300, high=300)], attrs={"decimals": decimals}, covers=["round"],
              expect=lambda x, d=decimals: torch.round(x, decimals=d), dtypes=["f64"], tolerance=(2, 0), why=SCALED,
              large=False)
    rounded = lambda x: torch.tensor([0.12, 2.5, -0.38, math.inf, math.nan, 0.0], dtype=torch.float64)
    g.add("round_decimals", [g.literal([0.125, 2.5, -0.375, math.inf, math.nan, 0.0])], attrs={"decimals": 2}, name="ties",
          expect=rounded, dtypes=["f64", "f32", "f16", "bf16"], covers=["round"], tolerance=(2, 0), why=SCALED, large=False)
    g.add("round_decimals", [g.values(7, low=-90, high=90)], attrs={"decimals": 2}, dtypes=INTS, covers=["round"],
          expect=lambda x: x, name="integers", large=False)
    g.add("round_decimals", [g.literal([1e300, -1e300, 5e-324])], attrs={"decimals": 20}, dtypes=["f64"], covers=["round"],
          expect=lambda x: torch.tensor([1e300, -1e300, 0.0], dtype=torch.float64), name="huge", large=False)
    g.error("round_decimals", [g.ints(3)], attrs={"decimals": -1}, status="dtype", text="kn_cast")
    g.add("float_power", [g.values(*SHAPE, low=0.3, high=3), g.values(*SHAPE)], expect=torch.float_power, covers=["pow"],
          dtypes=["f64", "f32"], out="f64", grad=True, large=False)
    g.add("float_power", [g.values(*SHAPE, low=1, high=9), g.values(*SHAPE, low=0, high=4)], out="f64", covers=["pow"],
          expect=lambda a, b: torch.float_power(a.double(), b.double()), dtypes=INTS + ["bool", "f16"], name="integers",
          large=False)
    g.add("float_power_scalar", [g.values(*SHAPE, low=1, high=9)], attrs={"value": -0.5}, out="f64", covers=["pow"],
          expect=lambda a: torch.float_power(a.double(), -0.5), dtypes=NUMBERS, large=False)
    ends = [0.0, -0.0, 1.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 1.0, 2.0, -0.0]
    other = [1.0, -1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 1.0, math.nan, 2.0, 0.0]
    for dtype, kind in (("f64", numpy.float64), ("f32", numpy.float32), ("f16", numpy.float16)):
        after = lambda a, b, k=kind: torch.as_tensor(numpy.nextafter(a.numpy().astype(k), b.numpy().astype(k)).astype("f8"))
        g.add("nextafter", [g.literal(ends), g.literal(other)], expect=after, dtypes=[dtype], covers=["bitcast"],
              name="edges", large=False)
        g.add("nextafter", [g.values(*SHAPE), g.values(*SHAPE)], expect=after, dtypes=[dtype], covers=["bitcast"],
              large=False)
    g.error("nextafter", [g.values(3, dtype="f32"), g.values(3, dtype="f64")], status="dtype", text="kn_cast")
    parts = lambda x: tuple(torch.as_tensor(t) for t in numpy.frexp(x.detach().numpy()))
    g.add("frexp", [g.values(*SHAPE, low=-90, high=90)], expect=parts, out=[None, "i32"], covers=["bitcast"], large=False)
    g.add("frexp", [g.literal([0.0, -0.0, 1.0, -0.5, 1e-310, 5e-324, 1.7e308, 2.0**-1022])], dtypes=["f64"],
          expect=parts, out=[None, "i32"], covers=["bitcast"], name="edges", large=False)
    g.add("frexp", [g.literal([0.0, 1.0, 1e-40, 2.0**-149, 3e38, 2.0**-126])], dtypes=["f32"],
          expect=parts, out=[None, "i32"], covers=["bitcast"], name="edges", large=False)
    g.add("frexp", [g.literal([math.inf, -math.inf, math.nan])], dtypes=FLOATS, out=[None, "i32"], covers=["bitcast"],
          expect=lambda x: (x, torch.zeros(3, dtype=torch.int32)), name="special", large=False)
    g.error("frexp", [g.ints(3)], status="dtype", text="kn_cast")
    scaled = lambda x, e: real(x) * torch.pow(2.0, e.double())
    g.add("ldexp", [g.values(*SHAPE), g.ints(*SHAPE, low=-5, high=5, dtype="i32")], expect=scaled, dtypes=["f64", "f32"],
          covers=["exp2"], grad=[0], large=False)
    g.add("ldexp", [g.values(*SHAPE), g.values(*SHAPE)], expect=scaled, dtypes=["f64", "f32"], covers=["exp2"], grad=True,
          name="floats", large=False)
    g.add("ldexp", [g.values(*SHAPE), g.ints(*SHAPE, low=-5, high=5, dtype="i32")], expect=scaled, dtypes=INTS, out="f32",
          covers=["exp2"], name="integers", large=False)
    g.add("ldexp", [g.literal([1e-300, 1.5e300]), g.literal([1200, -1200], dtype="i64")], dtypes=["f64"], covers=["exp2"],
          expect=lambda x, e: torch.tensor([math.ldexp(1e-300, 1200), math.ldexp(1.5e300, -1200)], dtype=torch.float64), name="far",
          large=False)
    for name, function in (("is_posinf", torch.isposinf), ("is_neginf", torch.isneginf)):
        g.add(name, [g.values(4, 9, flags="nan inf")], expect=function, dtypes=ALL, covers=["equal"], large=False)


def cases(g):
    functions(g)
    gammas(g)
    pairs(g)
    steps(g)
