"""Linear algebra against torch.linalg. Matrices are diagonally dominant where the condition matters."""

import torch


SHAPES = [(1, 1), (3, 3), (5, 5), (2, 3, 4, 4)]


def sym(x):
    return (x + x.mT) / 2


def dominant(g, *shape):
    return g.values(*shape, low=-0.9, high=0.9, flags="dominant")


def definite(g, *shape):
    return g.values(*shape, low=-0.9, high=0.9, flags="symmetric dominant")


def triangle(a, upper, unit):
    t = torch.triu(a) if upper else torch.tril(a)
    return t - torch.diag_embed(torch.diagonal(t, dim1=-2, dim2=-1)) + torch.eye(a.shape[-1], dtype=a.dtype) if unit else t


def solved(a, b, upper, transpose, unit, right):
    t = triangle(a, upper, unit)
    t = t.mT if transpose else t
    return torch.linalg.solve(t.mT, b.mT).mT if right else torch.linalg.solve(t, b)


def systems(g):
    for shape in SHAPES:
        for upper in (0, 1):
            g.add("cholesky", [definite(g, *shape)], attrs={"upper": upper},
                  expect=lambda a, u=upper: torch.linalg.cholesky(a, upper=bool(u)))
            g.add("cholesky_of", [definite(g, *shape)], attrs={"upper": upper}, grad=True, covers=["cholesky"],
                  expect=lambda a, u=upper: torch.linalg.cholesky(sym(a), upper=bool(u)))
        g.add("solve", [dominant(g, *shape), g.values(*shape)], expect=torch.linalg.solve, grad=True)
        g.add("inverse", [dominant(g, *shape)], expect=torch.linalg.inv, grad=True, covers=["solve"])
        g.add("det", [dominant(g, *shape)], expect=torch.linalg.det, grad=True)
        # The cofactor of a 1 x 1 matrix is 1, without the rounding of det times inv.
        g.add("cofactor", [dominant(g, *shape)], grad=True,
              expect=lambda a: a * 0 + 1 if a.shape[-1] == 1 else torch.linalg.det(a)[..., None, None] * torch.linalg.inv(a).mT)
        g.add("slogdet", [dominant(g, *shape)], expect=lambda a: tuple(torch.linalg.slogdet(a)), grad=True, covers=["lu"])
    for flags in range(16):
        upper, transpose, unit, right = (bool(flags & bit) for bit in (1, 2, 4, 8))
        b = (2, 5) if right else (5, 2)
        attrs = {"upper": upper, "transpose": transpose, "unit": unit, "right": right}
        # Without the diagonal's ones a unit triangle needs small numbers for a small condition.
        a = g.values(5, 5, low=-0.4, high=0.4) if unit else dominant(g, 5, 5)
        g.add("triangular_solve", [a, g.values(*b)], attrs=attrs, grad=True, large=False,
              expect=lambda a, b, f=(upper, transpose, unit, right): solved(a, b, *f))
    g.add("triangular_solve", [dominant(g, 3, 1, 4, 4), g.values(2, 4, 3)], grad=True, name="broadcast",
          expect=lambda a, b: torch.linalg.solve_triangular(torch.tril(a), b, upper=False))
    g.add("solve", [dominant(g, 4, 4), g.values(4)], expect=torch.linalg.solve, grad=True, name="vector", large=False)
    g.add("solve", [dominant(g, 2, 4, 4), g.values(2, 4)], expect=torch.linalg.solve, grad=True, name="vectors", large=False)
    g.add("solve", [dominant(g, 2, 1, 3, 3), g.values(4, 3, 2)], expect=torch.linalg.solve, grad=True, name="broadcast")
    g.add("solve", [dominant(g, 0, 0), g.values(0, 2)], expect=lambda a, b: b, name="empty", large=False)
    g.add("inverse", [g.values(0, 3, 3)], expect=lambda a: a, name="empty", large=False)
    for upper in (False, True):
        g.add("cholesky_solve", [g.values(4, 3), dominant(g, 4, 4)], attrs={"upper": upper}, covers=["triangular_solve"], grad=True,
              expect=lambda b, l, u=upper: torch.cholesky_solve(b, torch.triu(l) if u else torch.tril(l), upper=u))
    g.add("logdet", [definite(g, 2, 4, 4)], expect=torch.logdet, grad=True, covers=["lu"])
    g.add("det", [g.literal([[1.0, 2.0], [2.0, 4.0]])], expect=torch.linalg.det, name="singular")
    g.add("det", [g.values(0, 0)], expect=lambda a: torch.ones((), dtype=a.dtype), name="empty", large=False)
    for op in ("inverse", "det", "cholesky", "eigh", "slogdet"):
        g.error(op, [g.values(3, 4)], status="shape", text="square")
        g.error(op, [g.values(3)], status="shape", text="rank")
    g.error("inverse", [g.literal([[1.0, 2.0], [2.0, 4.0]])], status="numeric", text="singular")
    g.error("cholesky", [g.literal([[1.0, 2.0], [2.0, 1.0]])], status="numeric", text="positive definite")
    g.error("solve", [g.values(3, 3), g.values(4, 2)], status="shape", text="3 rows")


def packed(a):
    lu, pivots = torch.linalg.lu_factor(a)
    p = torch.lu_unpack(lu, pivots)[0]
    return lu, p.argmax(-2)


def factors(g):
    for shape in ((1, 1), (4, 4), (5, 3), (3, 5), (2, 4, 4)):
        g.add("lu_factors", [g.values(*shape)], expect=lambda a: tuple(torch.linalg.lu(a)), grad=True, covers=["lu"], large=False)
        g.add("lu_decomposition", [g.values(*shape)], expect=packed, out=[None, "i64"], covers=["lu"], large=False)
        g.add("qr", [g.values(*shape)], attrs={"complete": 0}, expect=lambda a: tuple(torch.linalg.qr(a)), grad=True)
        g.add("qr", [g.values(*shape)], attrs={"complete": 1}, large=False,
              expect=lambda a: tuple(torch.linalg.qr(a, mode="complete")))
        for full in (0, 1):
            g.add("svd_of", [g.values(*shape)], attrs={"full": full}, covers=["svd"], grad=True,
                  expect=lambda a: (lambda f: (f[1], (f[0] * f[1][..., None, :] ** 2) @ f[2]))(
                      torch.linalg.svd(a, full_matrices=False)))
        g.add("pinverse", [dominant(g, *shape)], expect=torch.linalg.pinv, grad=True, covers=["svd"], dtypes=["f64", "f32"])
        g.add("matrix_rank", [g.values(*shape)], expect=torch.linalg.matrix_rank, out="i64", covers=["svd"], large=False)
    for shape in SHAPES:
        for upper in (0, 1):
            g.add("eigh_of", [g.values(*shape)], attrs={"upper": upper}, covers=["eigh"], grad=True,
                  expect=lambda a: (lambda f: (f[0], f[1] ** 2))(torch.linalg.eigh(sym(a))))
        g.add("matrix_power", [dominant(g, *shape)], attrs={"n": -2}, covers=["solve"],
              expect=lambda a: torch.linalg.matrix_power(a, -2), grad=True)
    for n in (0, 1, 2, 5):
        g.add("matrix_power", [g.values(2, 3, 3, low=-1, high=1)], attrs={"n": n}, covers=["matmul"], grad=n > 0,
              expect=lambda a, n=n: torch.linalg.matrix_power(a, n))
    g.add("lstsq", [dominant(g, 6, 3), g.values(6, 2)], covers=["svd"], grad=True, dtypes=["f64", "f32"],
          expect=lambda a, b: torch.linalg.pinv(a) @ b)
    # Equal singular values, and ranks that are not full: there torch has the derivative, differences have none.
    for name, rows, grad in (("identity", [[1.0, 0.0], [0.0, 1.0]], True), ("turned", [[0.0, 2.0], [-2.0, 0.0]], True),
                             ("tall_equal", [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], True),
                             ("wide_equal", [[3.0, 0.0, 0.0], [0.0, 0.0, 3.0]], True), ("deficient", [[1.0, 2.0], [2.0, 4.0]], "torch"),
                             ("tall_deficient", [[1.0, 1.0], [1.0, 1.0], [2.0, 2.0]], "torch"), ("zero", [[0.0, 0.0], [0.0, 0.0]], "torch")):
        second = True if grad is True else "the rank changes next to this matrix"
        g.add("pinverse", [g.literal(rows)], expect=torch.linalg.pinv, grad=grad, second=second, name=name, dtypes=["f64", "f32"], large=False,
              covers=["svd"])
        g.add("lstsq", [g.literal(rows), g.values(len(rows), 2)], expect=lambda a, b: torch.linalg.pinv(a) @ b, grad=grad, second=second,
              name=name, dtypes=["f64", "f32"], large=False, covers=["svd"])
    g.error("eigh", [g.literal([[1.0, float("nan")], [float("nan"), 2.0]])], status="numeric", text="NaN")
    g.error("svd", [g.literal([[1.0, float("inf")], [0.0, 2.0]])], status="numeric", text="NaN")


def diagonals(g):
    for offset in (0, 1, -1, -2, 3):
        g.add("diag", [g.values(3, 4)], attrs={"offset": offset}, expect=lambda a, k=offset: torch.diagonal(a, k), grad=True)
        g.add("diag", [g.values(2, 4, 3)], attrs={"offset": offset}, grad=True,
              expect=lambda a, k=offset: torch.diagonal(a, k, -2, -1))
        g.add("diag", [g.values(3)], attrs={"offset": offset}, expect=lambda a, k=offset: torch.diag(a, k), grad=True)
        g.add("diag_embed", [g.values(2, 3)], attrs={"offset": offset}, grad=True,
              expect=lambda a, k=offset: torch.diag_embed(a, k))
    for shape in ((3, 3), (3, 5), (2, 5, 3)):
        g.add("trace", [g.values(*shape)], grad=True, expect=lambda a: torch.diagonal(a, 0, -2, -1).sum(-1))


def norms(g):
    def norm(x, order, **more):
        return torch.linalg.vector_norm(x, float("inf") if order == 1000 else -float("inf") if order == -1000 else order, **more)

    for order in (0.0, 1.0, 2.0, 3.0, 0.5, -1.0, 1000.0, -1000.0):
        x = [g.values(3, 4, low=0.2, high=2, flags="distinct")]
        signed = [g.values(3, 5, low=-1.9, high=2.2, flags="distinct")]
        kinks = order not in (0.0,)
        g.add("vector_norm", x, attrs={"order": order, "axes": [0, 1]}, expect=lambda a, p=order: norm(a, p, dim=(0, 1)), grad=kinks)
        g.add("vector_norm", signed, attrs={"order": order, "axes": [-1], "keep": 1}, grad=kinks,
              expect=lambda a, p=order: norm(a, p, dim=-1, keepdim=True))
        g.add("lp_norm", x, attrs={"order": order, "axis": 0}, grad=kinks, expect=lambda a, p=order: norm(a, p, dim=0, keepdim=True))
    x = [g.values(4, 3, low=-1.9, high=2.2, flags="distinct")]
    for op, order in (("l0_norm", 0.0), ("l1_norm", 1.0), ("l2_norm", 2.0), ("max_abs_norm", 1000.0), ("min_abs_norm", -1000.0)):
        g.add(op, x, attrs={"axis": 1}, grad=order != 0, expect=lambda a, p=order: norm(a, p, dim=1, keepdim=True))
        g.add("vector_norm", [g.literal([[0.0, 0.0], [3.0, 4.0], [0.0, -1.5]])], attrs={"order": order, "axes": [1]}, name="zero",
              expect=lambda a, p=order: norm(a, p, dim=1))
    g.add("vector_normalize", x, attrs={"order": 2.0, "axis": -1, "eps": 1e-12}, grad=True,
          expect=lambda a: torch.nn.functional.normalize(a, dim=-1))
    for kind, order in enumerate(("fro", "nuc", 2, float("inf"), 1)):
        for shape in ((3, 3), (2, 4, 3), (3, 5)):
            g.add("matrix_norm", [g.values(*shape)], attrs={"kind": kind}, grad=True, covers=["svd"],
                  expect=lambda a, p=order: torch.linalg.matrix_norm(a, p))
    pair = [g.values(3, 4), g.values(3, 4)]
    g.add("cosine_similarity", pair, attrs={"axis": 1}, grad=True, expect=lambda a, b: torch.cosine_similarity(a, b, 1))
    g.add("cosine_similarity", pair, attrs={"axis": 0, "eps": 0.5}, grad=True,
          expect=lambda a, b: torch.cosine_similarity(a, b, 0, 0.5))
    for a, b, axis in (((3, 4), (4,), -1), ((3, 1), (3, 4), 1), ((1, 4), (3, 1), 0), ((2, 1, 4), (3, 1), -1), ((4,), (1,), 0)):
        g.add("cosine_similarity", [g.values(*a), g.values(*b, low=0.5, high=2)], attrs={"axis": axis}, name="broadcast", large=False,
              grad=a[axis] > 1 and b[axis] > 1,  # along an axis of equal numbers the gradient is 0 but for rounding
              expect=lambda x, y, k=axis: torch.cosine_similarity(x, y, k))
    # What leaves f16 on the way to a result that does not.
    far = [g.literal([[1000.0] * 20, [-300.0] * 20]), g.literal([[1000.0] * 20, [60000.0] * 20])]
    g.add("cosine_similarity", far, attrs={"axis": 1}, name="large", large=False, expect=lambda a, b: torch.cosine_similarity(a, b, 1))
    g.add("vector_normalize", [g.literal([[60000.0, 60000.0], [300.0, -400.0]])], attrs={"order": 2.0, "axis": -1, "eps": 1e-12}, name="large",
          large=False, expect=lambda a: torch.nn.functional.normalize(a, dim=-1))
    for order in (1.0, 2.0, 3.0):
        g.add("pairwise_distance", pair, attrs={"order": order, "eps": 1 / 1024}, grad=True,
              expect=lambda a, b, p=order: torch.pairwise_distance(a, b, p, 1 / 1024))
        for shape in ((2, 3, 5), (1, 3, 5)):
            g.add("cdist", [g.values(*shape), g.values(2, 4, 5)], attrs={"order": order}, grad=True, large=False,
                  expect=lambda a, b, p=order: torch.linalg.vector_norm(a[..., :, None, :] - b[..., None, :, :], p, -1))
    # Apart from each other: the squares and products of points that lie close together cancel.
    g.add("cdist", [g.values(30, 3), g.values(4, 3, low=5, high=6)], attrs={"order": 2.0}, name="products", large=False,
          dtypes=["f64", "f32"],
          expect=lambda a, b: torch.linalg.vector_norm(a[..., :, None, :] - b[..., None, :, :], 2, -1))


def cases(g):
    systems(g)
    factors(g)
    diagonals(g)
    norms(g)
