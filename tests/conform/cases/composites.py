"""Functions that are made of other ops, against PyTorch: solvers, transforms over several axes, windows, pooling by powers and at
random places, bags of embeddings, weighted covariance, losses of several labels, attention with dropout."""

import math

import torch
import torch.nn.functional as F
from conform import FLOATS, INTS, NUMBERS, code

NORMS = ["backward", "ortho", "forward"]
REDUCTIONS = ["mean", "sum", "none"]
# The kinds of kn_matrix_norm as torch.linalg names them.
KINDS = ["fro", "nuc", 2, math.inf, 1, -2, -math.inf, -1]


def pair(y):
    return y.real.clone(), y.imag.clone()


def dominant(g, *shape):
    return g.values(*shape, low=-0.9, high=0.9, flags="dominant")


# ---- linear algebra


def solvers(g):
    for transpose in (0, 1):
        for right in (0, 1):
            def solved(a, b, t=transpose, r=right):
                m = a.mT if t else a
                return torch.linalg.solve(m.mT, b.mT).mT if r else torch.linalg.solve(m, b)
            g.add("lu_solve", [dominant(g, 4, 4), g.values(*((3, 4) if right else (4, 3)))], grad=True, covers=["lu", "triangular_solve"],
                  attrs={"transpose": transpose, "right": right}, expect=solved, large=False)
    g.add("lu_solve", [dominant(g, 3, 1, 4, 4), g.values(2, 4, 3)], grad=True, expect=torch.linalg.solve, name="broadcast", large=False)
    g.add("lu_solve", [dominant(g, 0, 3, 3), g.values(0, 3, 2)], expect=lambda a, b: b, name="empty", large=False)
    g.error("lu_solve_factors", [g.values(3, 3), g.ints(4, low=0, high=2, dtype="i64"), g.values(3, 2)], status="shape", text="permutation")
    g.error("lu_solve_factors", [g.values(3, 3), g.ints(3, low=0, high=2, dtype="i64"), g.values(2, 3)], status="shape", text="b must be")
    g.error("lu_solve_factors", [g.values(3, 4), g.ints(3, low=0, high=2, dtype="i64"), g.values(3, 2)], status="shape", text="square")
    for shape in ((4, 4), (3, 5), (2, 5, 3)):
        g.add("lu_unpacked", [g.values(*shape)], expect=lambda a: a + 0, grad="torch" if shape == (4, 4) else False, covers=["lu"], large=False,
              second="the product of the factors is the matrix itself")
    for upper in (0, 1):
        g.add("cholesky_inverse", [dominant(g, 4, 4)], attrs={"upper": upper}, grad=True, covers=["triangular_solve"], large=False,
              expect=lambda l, u=upper: torch.linalg.inv(torch.triu(l).mT @ torch.triu(l) if u else torch.tril(l) @ torch.tril(l).mT))
    g.add("tensorinv", [dominant(g, 6, 6)], attrs={"n_axes": 1}, grad=True, expect=torch.linalg.inv, large=False)
    g.add("tensorinv", [g.values(2, 3, 6, low=-2, high=2)], attrs={"n_axes": 2}, expect=lambda a: torch.linalg.tensorinv(a, 2), name="axes",
          dtypes=["f64"], tolerance=(1e4, 0), why="the matrix is not well conditioned", large=False)
    g.error("tensorinv", [g.values(2, 3, 5)], attrs={"n_axes": 2}, status="shape", text="must be equal")
    g.error("tensorinv", [g.values(2, 2)], attrs={"n_axes": 2}, status="argument", text="n_axes")
    g.add("tensorsolve", [dominant(g, 6, 6), g.values(6)], grad=True, expect=torch.linalg.tensorsolve, large=False)
    # Axis 0 of a is moved to the end: what is left begins with the axes of b.
    g.add("tensorsolve", [dominant(g, 6, 6), g.values(6)], attrs={"axes": [0]}, grad=True, name="moved", large=False,
          expect=lambda a, b: torch.linalg.tensorsolve(a, b, dims=(0,)))
    g.error("tensorsolve", [g.values(2, 3, 5), g.values(2, 3)], status="shape", text="begin with the axes")
    g.add("vander", [g.values(5)], expect=lambda x: torch.linalg.vander(x), grad=True, large=False)
    g.add("vander", [g.values(2, 3)], attrs={"columns": 4, "decreasing": 1}, expect=lambda x: torch.linalg.vander(x, N=4).flip(-1), grad=True, large=False)
    g.add("vander", [g.values(3)], attrs={"columns": 1}, expect=lambda x: torch.ones(3, 1, dtype=x.dtype), name="one", large=False)
    g.add("vander", [g.values(3)], attrs={"columns": 0}, expect=lambda x: x.new_zeros(3, 0), name="none", large=False)
    g.add("vander", [g.values(4, low=-3, high=3)], attrs={"columns": 3}, dtypes=INTS, out="i64", expect=lambda x: torch.stack([x**0, x, x * x], -1),
          name="integers", large=False)
    g.error("vander", [g.values()], status="shape", text="rank 1")
    for shape, k in (((5, 3), 3), ((4, 4), 2), ((2, 5, 4), 4)):
        g.add("householder_product", [g.values(*shape), g.values(*shape[:-2], k, low=0.1, high=0.9)], grad=True, covers=["matmul"], large=False,
              expect=torch.linalg.householder_product)
    g.error("householder_product", [g.values(3, 4), g.values(2)], status="shape", text="m >= n >= k")
    g.add("eigvalsh", [g.values(4, 4, flags="symmetric dominant")], expect=torch.linalg.eigvalsh, covers=["eigh"], large=False)
    g.add("svdvals", [g.values(3, 5)], expect=torch.linalg.svdvals, grad=True, covers=["svd"], large=False)


def condition(a, kind):
    """torch.linalg.cond, which is differentiable in some kinds only."""
    if kind in (2, -2):
        s = torch.linalg.svdvals(a)
        return s[..., 0] / s[..., -1] if kind == 2 else s[..., -1] / s[..., 0]
    return torch.linalg.matrix_norm(a, kind) * torch.linalg.matrix_norm(torch.linalg.inv(a), kind)


def functions_of_matrices(g):
    for shape in ((1, 1), (3, 3), (5, 5), (2, 3, 4, 4)):
        g.add("matrix_exp", [g.values(*shape, low=-1, high=1)], expect=torch.matrix_exp, grad=True, covers=["matmul"], large=False,
              tolerance=(64, 4), why="a product of many matrices")
    # Matrices of one batch of very different size: each is scaled by its own norm.
    g.add("matrix_exp", [g.literal([[[0.0, 1e-3], [-1e-3, 0.0]], [[0.0, 20.0], [-20.0, 0.0]]])], expect=torch.matrix_exp, name="mixed",
          dtypes=["f64", "f32"], tolerance=(256, 4), why="twenty radians are turned by repeated squaring", large=False)
    g.add("matrix_exp", [g.literal([[-30.0, 1.0], [0.0, -31.0]])], expect=torch.matrix_exp, name="small", dtypes=["f64"], tolerance=(512, 4),
          why="the result is e^-30, by squaring five times", large=False)
    g.add("matrix_exp", [g.literal([[math.nan, 1.0], [0.0, 2.0]])], expect=lambda a: a * math.nan, name="nan", large=False)
    g.add("matrix_exp", [g.values(0, 3, 3)], expect=lambda a: a, name="empty", large=False)
    g.add("matrix_exp", [g.values(2, 0, 0)], expect=lambda a: a, name="empty", large=False)
    g.error("matrix_exp", [g.values(2, 3)], status="shape", text="square")
    g.error("matrix_exp", [g.values(3)], status="shape", text="two axes")
    for number, kind in enumerate(KINDS):
        second = True if kind not in ("nuc",) else "that of kn_svd"
        g.add("cond", [dominant(g, 4, 4)], attrs={"kind": number}, grad=True, covers=["svd", "inverse"], large=False, second=second,
              expect=lambda a, k=kind: condition(a, k))
        if number > 4:
            g.add("matrix_norm_least", [g.values(2, 3, 4)], attrs={"kind": number}, grad=True, large=False,
                  expect=lambda a, k=kind: torch.linalg.matrix_norm(a, k))
        if kind not in (2, -2):
            g.add("cond", [g.literal([[[1.0, 2.0], [2.0, 4.0]], [[2.0, 0.0], [0.0, 1.0]]])], attrs={"kind": number}, name="singular", large=False,
                  dtypes=["f64", "f32"], expect=lambda a, k=kind: torch.stack([torch.tensor(math.inf, dtype=a.dtype), torch.linalg.cond(a[1], k)]))
    g.add("cond", [g.values(3, 5)], attrs={"kind": 2}, expect=lambda a: torch.linalg.cond(a), name="wide", grad=True, large=False)
    g.add("cond", [g.values(2, 0, 0)], attrs={"kind": 0}, expect=lambda a: a.new_zeros(2), name="empty", large=False)
    g.error("cond", [g.values(3, 5)], attrs={"kind": 0}, status="shape", text="KN_NORM_SPECTRAL")
    g.error("cond", [g.values(3, 3)], attrs={"kind": 9}, status="argument", text="kind 9")


def distances(g):
    for order in (1.0, 2.0, 3.0, 1000.0):
        p = math.inf if order == 1000 else order
        g.add("pdist", [g.values(5, 3)], attrs={"order": order}, expect=lambda x, p=p: F.pdist(x, p), grad=True, large=False,
              second=True if p in (2.0, 3.0) else "a norm with kinks")
    g.add("pdist", [g.values(5, 3)], attrs={"order": 0.0}, expect=lambda x: F.pdist(x, 0.0), large=False)
    g.add("pdist", [g.literal([[1.0, 2.0], [1.0, 2.0], [4.0, 6.0]])], expect=lambda x: F.pdist(x), name="equal", large=False)
    for n in (0, 1):
        g.add("pdist", [g.values(n, 3)], expect=lambda x: x.new_zeros(0), name="few", large=False)
    g.add("pdist", [g.values(4, 0)], expect=lambda x: x.new_zeros(6), name="empty", large=False)
    g.error("pdist", [g.values(3)], status="shape", text="points")
    g.error("pdist", [g.values(3, 2)], attrs={"order": -1.0}, status="argument", text="negative")
    g.error("pdist", [g.ints(3, 2, low=0, high=3, dtype="i32")], status="dtype", text="kn_cast")


# ---- transforms and windows


def transforms(g):
    for norm, name in enumerate(NORMS):
        x = [g.values(3, 4, 5), g.values(3, 4, 5)]
        forms = [({}, None, None), ({"axes": [0, 2]}, None, (0, 2)), ({"axes": [2, -3], "sizes": [4, -1]}, (4, -1), (2, -3)),
                 ({"sizes": [3, 7]}, (3, 7), None)]
        for attrs, s, dim in forms:
            attrs = dict(attrs, norm=norm)
            g.add("rfftn", x[:1], attrs=attrs, grad=True, covers=["fft"], large=False,
                  expect=lambda a, s=s, d=dim, m=name: pair(torch.fft.rfftn(a, s, d, m)))
            g.add("ihfftn", x[:1], attrs=attrs, grad=True, covers=["fft"], large=False,
                  expect=lambda a, s=s, d=dim, m=name: pair(torch.fft.ihfftn(a, s, d, m)))
            for op in ("irfftn", "hfftn"):
                g.add(op, x, attrs=attrs, grad=True, covers=["fft"], large=False,
                      expect=lambda a, b, f=getattr(torch.fft, op), s=s, d=dim, m=name: f(torch.complex(a, b), s, d, m))
            for op in ("fftn", "ifftn"):
                g.add(op + "_with", x, attrs=attrs, grad=True, covers=["fft"], large=False,
                      expect=lambda a, b, f=getattr(torch.fft, op), s=s, d=dim, m=name: pair(f(torch.complex(a, b), s, d, m)))
        for op in ("rfft2", "ihfft2"):
            g.add(op, x[:1], attrs={"norm": norm}, grad=True, covers=["fft"], large=False,
                  expect=lambda a, f=getattr(torch.fft, op), m=name: pair(f(a, norm=m)))
        for op in ("irfft2", "hfft2"):
            g.add(op, x, attrs={"norm": norm}, grad=True, covers=["fft"], large=False,
                  expect=lambda a, b, f=getattr(torch.fft, op), m=name: f(torch.complex(a, b), norm=m))
        for n in (0, 4, 7):
            for axis in (0, -1):
                attrs, size = {"n": n, "norm": norm, "axis": axis}, n or None
                g.add("hfft", x, attrs=attrs, grad=True, covers=["fft"], large=False,
                      expect=lambda a, b, n=size, d=axis, m=name: torch.fft.hfft(torch.complex(a, b), n, d, m))
                g.add("ihfft", x[:1], attrs=attrs, grad=True, covers=["fft"], large=False,
                      expect=lambda a, n=size, d=axis, m=name: pair(torch.fft.ihfft(a, n, d, m)))
    g.add("rfft2", [g.values(0, 3, 4)], expect=lambda a: pair(torch.fft.rfft2(a)), name="empty", large=False)
    g.error("rfftn", [g.values()], status="shape", text="no axis")
    g.error("irfftn", [g.values(4, 4), g.values(4, 4)], attrs={"axes": [0, 0]}, status="argument", text="twice")
    g.error("rfftn", [g.values(4, 4)], attrs={"axes": [0], "sizes": [3, 3]}, status="argument", text="sizes")
    g.error("rfftn", [g.values(4, 4)], attrs={"sizes": [3, 0]}, status="argument", text="size of axis")
    g.error("rfftn", [g.values(4)], attrs={"sizes": [3, 4]}, status="shape", text="no 2 axes")
    g.error("hfft2", [g.values(4), g.values(4)], status="shape", text="no 2 axes")


def windows(g):
    """The definitions of torch.signal.windows, which older versions of PyTorch lack."""

    def steps(n, periodic):
        return n if periodic and n > 1 else max(n - 1, 1)

    def cosines(n, periodic, weights):
        k = torch.arange(n, dtype=torch.float64) * 2 * math.pi / steps(n, periodic)
        y = sum((-1) ** i * w * torch.cos(i * k) for i, w in enumerate(weights))
        return torch.ones(1, dtype=torch.float64) if n == 1 else y

    def places(n):
        return torch.arange(n, dtype=torch.float64)

    def middle(n, periodic):
        return (n if periodic and n > 1 else n - 1) / 2

    for n in (0, 1, 2, 7, 8):
        for periodic in (0, 1):
            attrs = {"n": n, "periodic": periodic, "dtype": code}
            g.add("general_cosine_window", [], attrs=dict(attrs, terms=4), large=False,
                  expect=lambda n=n, p=periodic: cosines(n, p, (0.5, 0.25, 0.125, 0.0625)))
            g.add("general_cosine_window", [], attrs=dict(attrs, terms=1), large=False, name="constant",
                  expect=lambda n=n: torch.full((n,), 1.0 if n == 1 else 0.5, dtype=torch.float64))
            g.add("general_hamming_window", [], attrs=dict(attrs, alpha=0.7), large=False,
                  expect=lambda n=n, p=periodic: cosines(n, p, (0.7, 0.3)))
            g.add("nuttall_window", [], attrs=attrs, large=False, tolerance=(256, 0), why="the four cosines cancel at the ends",
                  expect=lambda n=n, p=periodic: cosines(n, p, (0.3635819, 0.4891775, 0.1365995, 0.0106411)))
            g.add("cosine_window", [], attrs=attrs, large=False,
                  expect=lambda n=n, p=periodic: torch.sin(math.pi * (places(n) + 0.5) / (n + (1 if p and n > 1 else 0))))
            g.add("gaussian_window", [], attrs=dict(attrs, deviation=1.7), large=False,
                  expect=lambda n=n, p=periodic: torch.exp(-((places(n) - middle(n, p)) / 1.7) ** 2 / 2))
            g.add("exponential_window", [], attrs=dict(attrs, tau=2.5), large=False,
                  expect=lambda n=n, p=periodic: torch.exp(-(places(n) - middle(n, p)).abs() / 2.5))
            for beta in (0.0, 5.5, 12.0):
                g.add("kaiser_window", [], attrs=dict(attrs, beta=beta), large=False, tolerance=(32, 0), why="a quotient of two sums of exponentials",
                      expect=lambda n=n, p=periodic, b=beta: torch.kaiser_window(n, bool(p), b, dtype=torch.float64))
            if n != 1:
                g.add("exponential_window", [], attrs=dict(attrs, tau=2.5, center=1.25), large=False, name="center",
                      expect=lambda n=n: torch.exp(-(places(n) - 1.25).abs() / 2.5))
    g.error("gaussian_window", [], attrs={"n": 4, "deviation": 0.0}, status="argument", text="above 0")
    g.error("exponential_window", [], attrs={"n": 4, "tau": -1.0}, status="argument", text="above 0")
    g.error("kaiser_window", [], attrs={"n": 4, "beta": 1e6}, status="argument", text="between")
    g.error("nuttall_window", [], attrs={"n": -1}, status="argument", text="length")
    g.error("general_cosine_window", [], attrs={"n": 4, "terms": 0}, status="argument", text="weights")


# ---- pooling, resizing, channels


def lp(x, order, window, stride, ceil, axes):
    pool = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}[axes]
    sums = pool(x.pow(order), window, stride, 0, ceil) * math.prod(window)
    return sums.pow(1 / order)


def pooling(g):
    for axes, shape, window, stride, ceil in ((1, (2, 3, 11), [3], [2], 0), (1, (3, 10), [4], [4], 1), (2, (2, 2, 7, 6), [2, 3], [2, 1], 0),
                                              (2, (2, 7, 9), [3, 2], [2, 2], 1), (3, (1, 2, 5, 4, 6), [2, 2, 3], [1, 2, 3], 0)):
        for order in (1.0, 2.0, 3.0, 0.5):
            g.add("lp_pool%dd" % axes, [g.values(*shape, low=0.1, high=2)], attrs={"order": order, "window": window, "stride": stride, "ceil_mode": ceil},
                  grad=True, covers=["avg_pool"], large=False,
                  expect=lambda x, o=order, w=window, s=stride, c=bool(ceil), n=axes: lp(x, o, w, s, c, n))
    g.add("lp_pool1d", [g.literal([[[0.0, 0.0, 3.0, -4.0]]])], attrs={"order": 2.0, "window": [2]}, name="zeros", large=False, grad="torch",
          second="the root has no second derivative at 0", expect=lambda x: torch.stack([x[..., 0] * 0, (x[..., 2] ** 2 + x[..., 3] ** 2).sqrt()], -1))
    g.add("lp_pool2d", [g.values(2, 2, 4, 4, flags="nan inf")], attrs={"order": 2.0, "window": [2, 2]}, name="special", large=False,
          dtypes=["f64", "f32"], expect=lambda x: F.lp_pool2d(x, 2.0, 2))
    g.error("lp_pool2d", [g.values(1, 2, 4, 4)], attrs={"order": 0.0, "window": [2, 2]}, status="argument", text="order")
    g.error("lp_pool1d", [g.values(1, 2, 4)], attrs={"order": 2.0, "window": [5]}, status="shape", text="window")
    for axes, shape, window, size in ((2, (2, 3, 9, 8), [2, 3], [4, 3]), (2, (3, 9, 8), [2, 2], [1, 7]), (3, (2, 2, 5, 6, 7), [2, 2, 2], [3, 4, 5])):
        batch = shape[0] if len(shape) == axes + 2 else 1
        x = g.values(*shape, low=-50, high=50, flags="distinct")
        samples = g.values(batch, shape[-axes - 1], axes, low=0.05, high=0.95)
        pool = {2: F.fractional_max_pool2d, 3: F.fractional_max_pool3d}[axes]
        g.add("fractional_max_pool%dd" % axes, [x, samples], attrs={"window": window, "size": size}, dtypes=["f64", "f32"], grad=[0], large=False,
              out=[lambda d: d, "i64"], covers=["gather"],
              expect=lambda x, u, f=pool, w=window, s=size: f(x, w, output_size=s, return_indices=True, _random_samples=u))
        ratios = [s / n + 1e-6 for s, n in zip(size, shape[-axes:])]
        g.add("fractional_max_pool%dd" % axes, [x, samples], attrs=dict({"ratio%d" % i: r for i, r in enumerate(ratios)}, window=window), dtypes=["f64"],
              large=False, out=[lambda d: d, "i64"], name="ratio",
              expect=lambda x, u, f=pool, w=window, s=size: f(x, w, output_size=s, return_indices=True, _random_samples=u))
    g.add("fractional_max_pool2d", [g.values(0, 2, 5, 5), g.values(0, 2, 2, low=0, high=0.9)], attrs={"window": [2, 2], "size": [2, 2]}, name="empty",
          large=False, out=[lambda d: d, "i64"], expect=lambda x, u: (x.new_zeros(0, 2, 2, 2), torch.zeros(0, 2, 2, 2, dtype=torch.int64)))
    g.error("fractional_max_pool2d", [g.values(1, 2, 5, 5)], attrs={"window": [2, 2], "size": [5, 5]}, status="shape", text="do not fit")
    g.error("fractional_max_pool2d", [g.values(1, 2, 5, 5)], attrs={"window": [2, 2]}, status="argument", text="ratio")
    g.error("fractional_max_pool2d", [g.values(1, 2, 5, 5), g.values(1, 2, 3)], attrs={"window": [2, 2], "size": [2, 2]}, status="shape", text="samples")


def resizing(g):
    modes = [(0, "nearest"), (1, "nearest-exact"), (2, None), (3, "bicubic"), (5, "area")]
    for shape, scales in (((2, 3, 7), (1.7,)), ((2, 2, 5, 6), (1.6, 0.7)), ((1, 2, 4, 5, 3), (1.3, 0.9, 2.1)), ((1, 2, 6, 6), (2.0, 0.5))):
        axes = len(scales)
        for number, mode in modes:
            if number == 3 and axes != 2:
                continue
            mode = mode or ("linear", "bilinear", "trilinear")[axes - 1]
            corners = [None] if number in (0, 1, 5) else [False, True]
            for align in corners:
                for recompute in (0, 1):
                    attrs = dict({"scale%d" % i: s for i, s in enumerate(scales)}, mode=number, align_corners=bool(align), recompute=recompute)
                    # The gradient of PyTorch 1.13 mixes up the scales of three axes in mode nearest.
                    grad = "fd" if number == 0 and axes == 3 else True
                    g.add("interpolate_scale", [g.values(*shape)], attrs=attrs, grad=grad, covers=["interpolate", "adaptive_avg_pool"], large=False,
                          expect=lambda x, s=scales, m=mode, c=align, r=bool(recompute): F.interpolate(
                              x, scale_factor=s, mode=m, align_corners=c, recompute_scale_factor=r))
    for mode, name in ((2, "bilinear"), (3, "bicubic")):
        g.add("interpolate_scale", [g.values(2, 2, 9, 8)], attrs={"scale0": 0.4, "scale1": 0.6, "mode": mode, "antialias": 1}, grad=True, large=False,
              covers=["interpolate"], name="smooth", expect=lambda x, m=name: F.interpolate(x, scale_factor=(0.4, 0.6), mode=m, antialias=True))
    g.error("interpolate_scale", [g.values(1, 1, 4)], attrs={"scale0": 0.1}, status="argument", text="no size")
    g.error("interpolate_scale", [g.values(1, 1, 4)], attrs={"scale0": -1.0}, status="argument", text="scale -1")
    g.error("interpolate_scale", [g.values(4, 4)], attrs={"scale0": 2.0}, status="shape", text="1 to 3 axes")


def channels(g):
    for shape, groups in (((2, 6, 3), 3), ((1, 8, 2, 3), 2), ((2, 4, 2, 1, 3), 4), ((0, 4, 2), 2)):
        g.add("channel_shuffle", [g.values(*shape)], attrs={"groups": groups}, dtypes=NUMBERS, grad=True,
              expect=lambda x, n=groups: x.reshape(x.shape[0], n, x.shape[1] // n, *x.shape[2:]).transpose(1, 2).reshape(x.shape), large=False)
    g.error("channel_shuffle", [g.values(1, 5, 2)], attrs={"groups": 2}, status="argument", text="equal groups")
    g.error("channel_shuffle", [g.values(4, 4)], attrs={"groups": 2}, status="shape", text="x must be")


# ---- embeddings, norms, statistics, losses, attention


def bags(g):
    names = ["mean", "sum", "max"]
    weight = g.values(7, 3, flags="distinct", low=-5, high=5)
    for mode, name in enumerate(names):
        for padding, given in ((None, 0), (2, 2), (0, -2**63), (6, -1)):
            flat = g.literal([1, 2, 4, 5, 4, 3, 2, 6, 0], dtype="i64")
            for offsets, last in (([0, 4, 4, 7], False), ([0, 3, 9], True), ([0, 0, 5, 7], True)):
                # PyTorch 1.13 wants the last offset to be the end; indices behind it belong to no bag.
                end = offsets[-1] if last else 9
                g.add("embedding_bag", [weight, flat, g.literal(offsets, dtype="i64"), g.none()], grad=[0], large=False, covers=["embedding", "select_assign"],
                      tolerance=(4, 2), why="the terms of a sum may cancel",
                      attrs={"mode": mode, "padding_index": given, "include_last_offset": last}, second="linear in the weight, or a maximum",
                      expect=lambda w, i, o, _, m=name, p=padding, l=last, e=end: F.embedding_bag(
                          i[:e], w, o, mode=m, include_last_offset=l, padding_idx=p))
            g.add("embedding_bag", [weight, g.literal([[1, 2, 2], [0, 6, 3]], dtype="i64"), g.none(), g.none()], grad=[0], large=False,
                  attrs={"mode": mode, "padding_index": given}, second="linear in the weight, or a maximum", name="matrix", tolerance=(4, 2), why="the terms of a sum may cancel",
                  expect=lambda w, i, _, __, m=name, p=padding: F.embedding_bag(i, w, mode=m, padding_idx=p))
    for kind in ("i32", "u8"):
        g.add("embedding_bag", [g.values(5, 2), g.literal([[1, 2], [3, 3]], dtype=kind), g.none(), g.none()], attrs={"mode": 1}, large=False, name=kind, tolerance=(4, 2), why="the terms of a sum may cancel",
              expect=lambda w, i, _, __: w[i.long()].sum(1))
    scaled = [g.values(6, 2), g.literal([0, 3, 3, 5, 1], dtype="i64"), g.literal([0, 2, 2], dtype="i64"), g.values(5)]
    g.add("embedding_bag", scaled, attrs={"mode": 1}, grad=[0, 3], large=False, name="scaled", tolerance=(4, 2), why="the terms of a sum may cancel",
          expect=lambda w, i, o, s: F.embedding_bag(i, w, o, mode="sum", per_sample_weights=s))
    g.add("embedding_bag", [g.values(4, 3), g.literal([], dtype="i64"), g.literal([0, 0], dtype="i64"), g.none()], attrs={"mode": 2}, large=False,
          name="empty", expect=lambda w, i, o, _: w.new_zeros(2, 3))
    g.add("embedding_bag", [g.values(4, 3), g.ints(2, 0, low=0, high=0, dtype="i64"), g.none(), g.none()], attrs={"mode": 0}, large=False,
          name="empty", expect=lambda w, i, _, __: w.new_zeros(2, 3))
    matrix = g.literal([[0, 1]], dtype="i64")
    g.error("embedding_bag", [g.values(4, 3), matrix, g.none(), g.values(1, 2)], attrs={"mode": 0}, status="argument", text="KN_BAG_SUM")
    g.error("embedding_bag", [g.values(4, 3), g.literal([0, 1], dtype="i64"), g.none(), g.none()], status="shape", text="offsets")
    g.error("embedding_bag", [g.values(4, 3), matrix, g.none(), g.none()], attrs={"padding_index": 4}, status="argument", text="outside the table")
    g.error("embedding_bag", [g.values(4, 3), matrix, g.none(), g.none()], attrs={"mode": 3}, status="argument", text="no mode 3")
    g.error("embedding_bag", [g.values(4, 3), g.literal([[0, 4]], dtype="i64"), g.none(), g.none()], status="index", text="out of range")
    g.error("embedding_bag", [g.values(4, 3), g.literal([0, 1], dtype="i64"), g.literal([1], dtype="i64"), g.none()], status="index", text="out of range")


def statistics(g):
    for rows in (True, False):
        shape = (3, 6) if rows else (6,)
        for f in (None, [1, 2, 0, 3, 1, 1]):
            for weights in (False, True):
                for correction, given in ((1, 0.0), (0, -2.0**63), (2, 2.0)):
                    operands = [g.values(*shape), g.none() if f is None else g.literal(f, dtype="i64"),
                                g.values(6, low=0.2, high=2) if weights else g.none()]
                    g.add("cov_weighted", operands, attrs={"correction": given}, grad=[0, 2] if weights else [0], covers=["matmul"], large=False,
                          expect=lambda x, f, a, c=correction: torch.cov(x, correction=c, fweights=f, aweights=a))
    g.error("cov_weighted", [g.values(2, 3), g.literal([1, 2], dtype="i64")], status="shape", text="one for each observation")
    g.error("cov_weighted", [g.values(2, 3), g.values(3)], status="dtype", text="integers")
    g.error("cov_weighted", [g.values(1, 2, 3)], status="shape", text="variables")


def losses(g):
    for reduction, name in enumerate(REDUCTIONS):
        attrs = {"reduction": reduction}
        for shape in ((3, 5), (5,), (2, 3, 4)):
            for weighted in (False, True):
                operands = [g.values(*shape), g.values(*shape, low=0, high=1), g.values(shape[-1], low=0.5, high=2) if weighted else g.none()]
                g.add("multilabel_soft_margin_loss", operands, attrs=attrs, grad=[0, 1], large=False,
                      expect=lambda x, t, w, r=name: F.multilabel_soft_margin_loss(x, t, w, reduction=r))
        target = g.literal([[3, 0, -1, 1, 2], [4, 4, 1, 0, 2], [-1, 0, 1, 2, 3]], dtype="i64")
        g.add("multilabel_margin_loss", [g.values(3, 5), target], attrs=attrs, grad=[0], large=False, second="piecewise linear",
              expect=lambda x, t, r=name: F.multilabel_margin_loss(x, t, reduction=r))
        g.add("multilabel_margin_loss", [g.values(4), g.literal([2, 0, -1, 0], dtype="i64")], attrs=attrs, grad=[0], large=False, name="single",
              second="piecewise linear", expect=lambda x, t, r=name: F.multilabel_margin_loss(x, t, reduction=r))
    g.add("multilabel_soft_margin_loss", [g.literal([[200.0, -200.0, 1000.0]]), g.literal([[1.0, 0.0, 1.0]]), g.none()], name="far", large=False,
          expect=lambda x, t, _: x[0, 0] * 0)
    g.error("multilabel_margin_loss", [g.values(2, 3), g.values(2, 3)], status="dtype", text="class indices")
    g.error("multilabel_margin_loss", [g.values(2, 3), g.literal([[0, 3, -1], [0, 1, 2]], dtype="i64")], status="index", text="out of range")
    g.error("multilabel_margin_loss", [g.values(2, 3), g.literal([0, 1], dtype="i64")], status="shape", text="one shape")
    g.error("multilabel_soft_margin_loss", [g.values(2, 3), g.values(3), g.none()], status="shape", text="one shape")


def norms(g):
    for shape in ((2, 3, 5), (3, 2, 4, 3), (1, 2, 2, 3, 2)):
        def normed(x, w, b):
            axes = tuple(range(2, x.dim()))
            return F.instance_norm(x, weight=w, bias=b), x.mean(axes).mean(0), x.var(axes, unbiased=False).mean(0)
        weight, bias = g.values(shape[1]), g.values(shape[1])
        g.add("instance_norm_train", [g.values(*shape), weight, bias], grad=True, covers=["layer_norm", "var_mean"], large=False, expect=normed,
              out=[lambda d: d] + [lambda d: "f32" if d in ("f16", "bf16") else d] * 2)
    g.error("instance_norm_train", [g.values(2, 3)], status="shape", text="rank 3")


def random_ones(g):
    x = g.values(4, 5, flags="zero")
    g.add("rrelu", [x], attrs={"low": 0.1, "high": 0.3}, expect=lambda x: F.rrelu(x, 0.1, 0.3), grad="torch", dtypes=FLOATS, large=False)
    # With both bounds equal the draw is known.
    g.add("rrelu", [g.values(4, 5)], attrs={"low": 0.25, "high": 0.25, "training": 1}, expect=lambda x: F.leaky_relu(x, 0.25), grad=True, dtypes=FLOATS,
          large=False, name="known")
    g.add("rrelu", [g.values(0, 3)], attrs={"low": 0.1, "high": 0.3, "training": 1}, expect=lambda x: x, large=False, name="empty")
    g.error("rrelu", [x], attrs={"low": 0.3, "high": 0.1, "training": 1}, status="argument", text="low <= high")
    q, k, v = g.values(2, 4, 5, 3), g.values(2, 2, 7, 3), g.values(2, 2, 7, 6)
    # Dropping everything leaves zeros; what a seed drops is in tests/unit/test_drawn.c.
    g.add("attention_dropout", [q, k, v, g.none(), g.none()], attrs={"dropout": 1.0}, dtypes=FLOATS, large=False, name="all", covers=["dropout_attention"],
          expect=lambda q, k, v, _, __: q.new_zeros(2, 4, 5, 6))
    g.error("attention_dropout", [q, k, v, g.none(), g.none()], attrs={"dropout": 1.5}, status="argument", text="probability")
    g.error("attention_dropout", [q, g.values(2, 2, 7, 4), v, g.none(), g.none()], attrs={"dropout": 0.5}, status="shape", text="inner sizes differ")
    g.error("attention_dropout", [q, k, v, g.values(5, 7), g.none()], attrs={"dropout": 0.5}, status="dtype", text="must be bool")


def cases(g):
    solvers(g)
    functions_of_matrices(g)
    distances(g)
    transforms(g)
    windows(g)
    pooling(g)
    resizing(g)
    channels(g)
    bags(g)
    statistics(g)
    losses(g)
    norms(g)
    random_ones(g)
