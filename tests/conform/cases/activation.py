"""Activation functions and their gradient rows."""

import math

import numpy
import torch
import torch.nn.functional as F
from conform import ALL, FLOATS, INTS, NUMBERS

SHAPE = (3, 5)


def real(x):
    return x if x.is_floating_point() else x.double()


def gelu(x):
    """F.gelu, whose 1 + erf loses digits below zero, with the values put right: erfcx keeps them."""
    y, v = F.gelu(x), x.detach()
    density = torch.as_tensor(numpy.exp(-numpy.asarray(v.numpy(), dtype=numpy.longdouble) ** 2 / 2).astype(float))
    below = v * 0.5 * torch.special.erfcx(-v * math.sqrt(0.5)) * density
    return torch.where((v < 0) & (v > -38), y + (below - y).detach(), y)


SMOOTH = (("sigmoid", torch.sigmoid), ("tanh", torch.tanh), ("gelu", gelu),
          ("gelu_approximate", lambda x: F.gelu(x, approximate="tanh")), ("silu", F.silu), ("mish", F.mish),
          ("log_sigmoid", F.logsigmoid), ("selu", F.selu), ("softsign", F.softsign), ("tanhshrink", F.tanhshrink),
          ("hard_swish", F.hardswish))
WITH_NUMBERS = (
    ("leaky_relu", {"slope": 0.125}, lambda x: F.leaky_relu(x, 0.125)),
    ("hardtanh", {"low": -1.25, "high": 0.75}, lambda x: F.hardtanh(x, -1.25, 0.75)),
    # The derivative of F.hardsigmoid holds 1/6 as a float.
    ("hard_sigmoid", {"alpha": 1.0 / 6.0, "beta": 0.5}, lambda x: torch.clamp(x / 6 + 0.5, 0, 1)),
    ("hard_sigmoid", {"alpha": 0.2, "beta": 0.5}, lambda x: torch.clamp(0.2 * x + 0.5, 0, 1)),
    ("threshold", {"threshold": 0.3, "value": -7.0}, lambda x: F.threshold(x, 0.3, -7.0)),
    ("hard_shrink", {"lambda": 0.6}, lambda x: F.hardshrink(x, 0.6)),
    ("soft_shrink", {"lambda": 0.6}, lambda x: F.softshrink(x, 0.6)),
    ("shrink", {"lambda": 0.6, "bias": 0.25},
     lambda x: torch.where(x > 0.6, x - 0.25, torch.where(x < -0.6, x + 0.25, x * 0))),
    ("softplus", {"beta": 1.0, "threshold": 20.0}, F.softplus),
    ("softplus", {"beta": 2.0, "threshold": 1.5}, lambda x: F.softplus(x, 2.0, 1.5)),
    ("elu", {"alpha": 1.5}, lambda x: F.elu(x, 1.5)),
    ("celu", {"alpha": 1.5}, lambda x: F.celu(x, 1.5)),
)


CHOICES = ("hardtanh", "threshold", "hard_shrink")


def rows(g):
    x = g.values(*SHAPE, low=-4, high=4)
    for name, function in SMOOTH:
        # In halves tanh(4) is too near to 1 for a gradient made of it, as in PyTorch.
        operand = g.values(*SHAPE, low=-2, high=2) if name == "tanh" else x
        g.add(name, [operand], expect=lambda a, f=function: f(real(a)), dtypes=FLOATS, elementwise=True, grad=True)
        g.add(name, [g.values(*SHAPE, low=-1, high=4)], expect=lambda a, f=function: f(real(a)),
              dtypes=INTS + ["bool"], elementwise=True, name="integers")
        special = g.literal([0.0, -0.0, math.nan, 40.0, -40.0, 1e4, -1e4, 1e-6, -1e-6, math.inf])
        g.add(name, [special], expect=function, name="special")
    for name, attrs, function in WITH_NUMBERS:
        g.add(name, [x], attrs=attrs, expect=lambda a, f=function: f(real(a)), elementwise=True, grad=True,
              dtypes=FLOATS + ["bool"] if name in CHOICES else ALL)
        g.add(name, [g.literal([math.nan, math.inf, -math.inf, 0.0, 100.0, -100.0])], attrs=attrs, expect=function,
              name="special")
    for name, function in (("relu", F.relu), ("relu6", F.relu6)):
        g.add(name, [g.values(*SHAPE, low=-4, high=9)], expect=function, dtypes=NUMBERS, elementwise=True, grad=True)
        g.add(name, [g.values(4, 9, low=-4, high=9, flags="nan inf zero")], expect=function, name="special")
    g.error("relu", [g.bools(3)], status="dtype", text="bool")


def integers(g):
    """What chooses between x and numbers keeps integers exact, also those that f32 and f64 do not hold."""
    x = g.values(*SHAPE, low=-9, high=9)
    wide = g.literal([2**24 + 1, -(2**24) - 1, 2**53 + 1, -(2**53) - 1, 2**62 + 1, 3, -3, 0], dtype="i64")
    for name, attrs, function in (
        ("hardtanh", {"low": -4.0, "high": 5.0}, lambda a: torch.clamp(a, -4, 5)),
        ("threshold", {"threshold": 2.0, "value": 7.0}, lambda a: torch.where(a > 2, a, 7)),
        ("threshold", {"threshold": 2.5, "value": 7.0}, lambda a: torch.where(a > 2, a, 7)),
        ("thresholded_relu", {"alpha": 2.5}, lambda a: torch.where(a > 2, a, 0)),
        ("hard_shrink", {"lambda": 3.5}, lambda a: torch.where(abs(a) > 3, a, 0)),
    ):
        g.add(name, [x], attrs=attrs, expect=function, dtypes=INTS, elementwise=True, name="integers")
        g.add(name, [wide], attrs=attrs, expect=function, dtypes=["i64"], name="wide", large=False)
    g.add("hardtanh", [wide], attrs={"low": -float(2**62), "high": float(2**62)}, dtypes=["i64"], name="far", large=False,
          expect=lambda a: torch.clamp(a, -(2**62), 2**62))
    g.error("threshold", [g.values(3)], attrs={"threshold": 0.0, "value": 0.5}, status="argument", text="0.5", dtypes=["i64"])
    g.error("threshold", [g.values(3)], attrs={"threshold": 0.0, "value": -1.0}, status="argument", text="-1", dtypes=["u8"])


def kinks(g):
    """Gradients where the function has a corner: PyTorch's choice."""
    for name, attrs, points, function in (
        ("relu", {}, [0.0, -0.0, 1.0, -1.0], F.relu),
        ("relu6", {}, [0.0, 6.0, 3.0], F.relu6),
        ("leaky_relu", {"slope": 0.125}, [0.0, 1.0, -1.0], lambda x: F.leaky_relu(x, 0.125)),
        ("hardtanh", {"low": -1.0, "high": 1.0}, [-1.0, 1.0, 0.0], F.hardtanh),
        ("hard_swish", {}, [-3.0, 3.0, 0.0], F.hardswish),
        ("hard_shrink", {"lambda": 0.5}, [-0.5, 0.5, 0.0], F.hardshrink),
        ("soft_shrink", {"lambda": 0.5}, [-0.5, 0.5, 0.0], F.softshrink),
        ("elu", {"alpha": 2.0}, [0.0, 1.0], lambda x: F.elu(x, 2.0)),
        ("celu", {"alpha": 2.0}, [0.0, 1.0], lambda x: F.celu(x, 2.0)),
        ("selu", {}, [0.0, 1.0], F.selu),
        ("threshold", {"threshold": 0.5, "value": 2.0}, [0.5, 1.0], lambda x: F.threshold(x, 0.5, 2.0)),
    ):
        g.add(name, [g.literal(points)], attrs=attrs, expect=function, dtypes=["f32"], grad=True,
              second="at a kink, where differences say nothing",
              name="kinks")


def gradient_rows(g):
    """The rows that gradients are made of, called by themselves."""
    dy, x, y = g.values(*SHAPE), g.values(*SHAPE, low=-4, high=4), g.values(*SHAPE, low=-0.9, high=0.9)

    def slope(function):
        def expect(d, v):
            if v.requires_grad or d.requires_grad:
                leaf = v if v.requires_grad else v.detach().requires_grad_(True)
                (result,) = torch.autograd.grad(function(leaf), leaf, d, create_graph=True)
                return result
            leaf = v.detach().requires_grad_(True)
            return torch.autograd.grad(function(leaf), leaf, torch.broadcast_to(d, v.shape))[0]

        return expect

    g.add("relu_grad", [dy, x], expect=lambda d, v: torch.where(v > 0, d, 0.0), elementwise=True, grad=True)
    g.add("sigmoid_grad", [dy, y], expect=lambda d, v: d * v * (1 - v), elementwise=True, grad=True)
    g.add("tanh_grad", [dy, y], expect=lambda d, v: d * (1 - v * v), elementwise=True, grad=True)
    for name, function in (("gelu", F.gelu), ("gelu_approximate", lambda v: F.gelu(v, approximate="tanh")),
                           ("silu", F.silu), ("mish", F.mish)):
        g.add(name + "_grad", [dy, x], expect=slope(function), grad="fd")
    g.add("leaky_relu_grad", [dy, x], attrs={"slope": 0.125}, expect=slope(lambda v: F.leaky_relu(v, 0.125)),
          grad="fd")
    g.add("softplus_grad", [dy, x], attrs={"beta": 2.0, "threshold": 30.0},
          expect=slope(lambda v: F.softplus(v, 2.0, 30.0)), grad="fd")
    g.add("elu_grad", [dy, x], attrs={"left": 1.5, "right": 1.0, "inside": 1.0}, expect=slope(lambda v: F.elu(v, 1.5)),
          grad="fd")


def far_out(g):
    """Where powers overflow and results vanish: finite numbers all the same."""
    near = [s * (4 + 0.25 * i) for i in range(30) for s in (-1, 1)]
    far = [s * x for x in (13, 14, 40, 86.5, 87.5, 88, 88.5, 89, 90, 95, 100, 104, 1e4, 60000) for s in (-1, 1)]
    for row in ("sigmoid", "log_sigmoid", "silu", "mish", "gelu", "gelu_approximate", "tanh", "hard_swish", "softsign",
                "selu", "tanhshrink"):
        g.add("is_number", [g.literal(near + far)], attrs={"row": row}, expect=lambda x: torch.ones(len(x), dtype=torch.bool),
              dtypes=["f32", "f64", "bf16"], large=False, covers=[])
    for row in ("gelu", "gelu_approximate", "silu", "mish"):
        g.add("is_number", [g.literal([1.0] * len(near + far)), g.literal(near + far)], attrs={"row": row + "_grad"},
              expect=lambda d, x: torch.ones(len(x), dtype=torch.bool), dtypes=["f32", "f64", "bf16"], large=False, covers=[])


def composites(g):
    weight = g.values(4, low=0.1, high=0.5)
    for shape in ((2, 4), (2, 4, 3), (3, 4, 2, 2)):
        g.add("prelu", [g.values(*shape), weight], expect=F.prelu, grad=True)
    g.add("prelu", [g.values(2, 4, 3), g.values(1, low=0.1, high=0.5)], expect=F.prelu, grad=True, name="one")
    for shape, weights in (((), ()), ((), (1,)), ((5,), ()), ((5,), (1,)), ((2, 4), ())):
        g.add("prelu", [g.values(*shape, low=-2, high=-1), g.values(*weights, low=0.1, high=0.5)], expect=F.prelu, grad=True, name="one")
    g.error("prelu", [g.values(2, 3), g.values(4)], status="shape", text="channel")
    g.error("prelu", [g.values(4), g.values(4)], status="shape", text="channel")
    g.error("prelu", [g.values(1, 4), g.values(1, 4)], status="shape", text="channel")
    for shape, axis in (((4, 6), 1), ((4, 6), -2), ((2, 3, 8), -1)):
        g.add("glu", [g.values(*shape)], attrs={"axis": axis}, expect=lambda x, a=axis: F.glu(x, a), grad=True,
              dtypes=FLOATS, covers=[])
    g.error("glu", [g.values(3, 5)], attrs={"axis": 1}, status="shape", text="odd")
    g.error("glu", [g.values(3, 4)], attrs={"axis": 2}, status="argument", text="axis")
    g.add("thresholded_relu", [g.values(*SHAPE)], attrs={"alpha": 0.5},
          expect=lambda x: torch.where(real(x) > 0.5, real(x), 0.0), dtypes=FLOATS, elementwise=True, grad=True)


def cases(g):
    for part in (rows, integers, kinks, far_out, gradient_rows, composites):
        part(g)
