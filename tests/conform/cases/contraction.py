"""Matrix products, einsum, convolutions and attention."""
import torch
import torch.nn.functional as F
from conform import FLOATS, NUMBERS

from cases import functional

WIDE = ["f64", "f32"]


def matmul_cases(g):
    shapes = [((3,), (3,)), ((3,), (3, 5)), ((4, 3), (3,)), ((2, 4, 3), (3,)), ((3,), (2, 3, 5)), ((4, 3), (3, 5)),
              ((2, 4, 3), (3, 5)), ((4, 3), (2, 3, 5)), ((2, 4, 3), (2, 3, 5)), ((2, 1, 4, 3), (3, 3, 5)),
              ((1, 1), (1, 1)), ((17, 19), (19, 7)), ((1, 7), (7, 9)), ((9, 7), (7, 1))]
    for a, b in shapes:
        g.add("matmul", [g.values(*a), g.values(*b)], dtypes=NUMBERS, expect=torch.matmul, grad=True)
    for a, b in [((0, 3), (3, 5)), ((4, 0), (0, 5)), ((0, 4, 3), (3, 5)), ((2, 4, 3), (2, 3, 0)), ((0,), (0,)),
                 ((2, 0, 4, 3), (3, 5))]:
        g.add("matmul", [g.values(*a), g.values(*b)], dtypes=NUMBERS, expect=torch.matmul, name="empty", large=False)
    # As in PyTorch, a contraction does not promote.
    g.error("matmul", [g.values(4, 5, dtype="f16"), g.values(5, 3, dtype="bf16")], status="dtype", text="kn_cast",
            name="halves")
    g.add("matmul", [g.values(4, 5, flags="nan"), g.values(5, 3)], dtypes=FLOATS, expect=torch.matmul, name="nan",
          large=False)
    g.add("matmul", [g.values(70, 33), g.values(33, 50)], dtypes=FLOATS, expect=torch.matmul, name="blocks",
          large=[(300, 600), (600, 130)])
    g.add("matmul", [g.values(6, 5, 3), g.values(6, 3, 4)], dtypes=WIDE, expect=torch.matmul, name="batch",
          large=[(40, 33, 65), (40, 65, 17)])
    g.error("matmul", [g.values(32, 784), g.values(512, 10)], status="shape",
            text="inner sizes differ: a [32, 784] x b [512, 10] (784 != 512)")
    g.error("matmul", [g.values(2, 3, 4), g.values(3, 4, 5)], status="shape", text="leading axes do not broadcast")
    g.error("matmul", [g.values(), g.values(3)], status="shape", text="at least one axis")
    g.error("matmul", [g.values(2, 3), g.values(3, 2, dtype="f64")], status="dtype", text="kn_cast")
    g.error("matmul", [g.bools(2, 3), g.bools(3, 2)], status="dtype", text="does not take bool")


def linear_cases(g):
    for x in [(5,), (4, 5), (2, 3, 5), (2, 1, 3, 5)]:
        g.add("linear", [g.values(*x), g.values(7, 5), g.values(7)], dtypes=NUMBERS, grad=True,
              expect=lambda x, w, b: x @ w.T + b)
        g.add("linear", [g.values(*x), g.values(7, 5), g.none()], dtypes=NUMBERS, grad=True,
              expect=lambda x, w, b: x @ w.T)
    for x, w in [((0, 5), (7, 5)), ((4, 0), (7, 0)), ((4, 5), (0, 5))]:
        g.add("linear", [g.values(*x), g.values(*w), g.values(w[0])], dtypes=NUMBERS, name="empty", large=False,
              expect=lambda x, w, b: x @ w.T + b)
    g.error("linear", [g.values(2, 3), g.values(5, 4), g.none()], status="shape", text="inner sizes differ")
    g.error("linear", [g.values(2, 3), g.values(5, 3), g.values(4)], status="shape", text="bias must be [5]")
    g.error("linear", [g.values(2, 3), g.values(5), g.none()], status="shape", text="[out, in]")


def product_cases(g):
    g.add("dot", [g.values(7), g.values(7)], dtypes=NUMBERS, expect=lambda a, b: (a * b).sum(), grad=True)
    g.add("dot", [g.values(0), g.values(0)], dtypes=NUMBERS, expect=lambda a, b: (a * b).sum(), name="empty", large=False)
    g.error("dot", [g.values(2, 3), g.values(3)], status="shape", text="rank 1")
    g.error("dot", [g.values(2), g.values(3)], status="shape", text="inner sizes differ")
    for a, x in [((4, 3), (3,)), ((2, 4, 3), (2, 3)), ((2, 4, 3), (3,)), ((4, 3), (5, 3))]:
        g.add("matvec", [g.values(*a), g.values(*x)], dtypes=NUMBERS, grad=True,
              expect=lambda a, x: (a @ x.unsqueeze(-1)).squeeze(-1))
    g.error("matvec", [g.values(3), g.values(3)], status="shape", text="two axes")
    g.add("outer", [g.values(4), g.values(3)], dtypes=NUMBERS, expect=lambda a, b: a[:, None] * b, grad=True)
    g.add("outer", [g.values(0), g.values(3)], dtypes=NUMBERS, expect=lambda a, b: a[:, None] * b, name="empty",
          large=False)
    g.error("outer", [g.values(2, 2), g.values(3)], status="shape", text="rank 1")
    for axis in [0, 1, -1]:
        g.add("outer_dim", [g.values(2, 3), g.values(2, 3)], attrs={"axis": axis}, dtypes=NUMBERS, grad=True,
              expect=lambda a, b, k=axis % 2: a.unsqueeze(k + 1) * b.unsqueeze(k))
    g.error("outer_dim", [g.values(2, 3), g.values(2, 3)], attrs={"axis": 2}, text="axis 2")
    for c in [(4, 5), (5,), (4, 1), ()]:
        g.add("addmm", [g.values(*c), g.values(4, 3), g.values(3, 5)], attrs={"beta": 0.5, "alpha": 2.0}, dtypes=FLOATS,
              expect=lambda c, a, b: 0.5 * c + 2 * (a @ b), grad=True)
    g.add("addmm", [g.values(4, 5, flags="nan"), g.values(4, 3), g.values(3, 5)], attrs={"beta": 0.0}, dtypes=FLOATS,
          expect=lambda c, a, b: a @ b, name="ignored")
    g.error("addmm", [g.values(3, 5), g.values(4, 3), g.values(3, 5)], status="shape", text="does not broadcast")
    chain = [[(2, 7), (7, 3), (3, 6), (6, 2)], [(7,), (7, 3), (3, 2)], [(2, 7), (7, 3), (3,)], [(5,), (5,)]]
    for shapes in chain:
        g.add("multi_dot", [g.values(*s) for s in shapes], dtypes=WIDE, grad=True, large=False,
              expect=lambda *x: torch.linalg.multi_dot(x))
    g.error("multi_dot", [g.values(2, 3), g.values(4, 5)], status="shape", text="operand 0 [2, 3] x operand 1 [4, 5]")
    g.error("multi_dot", [g.values(2, 3)], text="2 to 64")
    g.add("bilinear", [g.values(6, 3), g.values(6, 4), g.values(5, 3, 4), g.values(5)], dtypes=WIDE, grad=True,
          large=False, expect=lambda a, b, w, c: F.bilinear(a, b, w, c))
    g.add("bilinear", [g.values(2, 6, 3), g.values(2, 6, 4), g.values(5, 3, 4), g.none()], dtypes=WIDE, grad=True,
          large=False, expect=lambda a, b, w, c: F.bilinear(a, b, w))
    g.error("bilinear", [g.values(6, 3), g.values(6, 4), g.values(5, 4, 3), g.none()], status="shape", text="weight")
    for a, b, x, y in [((2, 3, 4), (3, 4, 5), [1, 2], [0, 1]), ((2, 3, 4), (4, 3, 5), [2, 1], [0, 1]),
                       ((2, 3), (3, 2), [0, 1], [1, 0]), ((2, 3), (4,), [], []), ((2, 3, 4), (4,), [-1], [0])]:
        g.add("tensordot", [g.values(*a), g.values(*b)], attrs={"axes_a": x, "axes_b": y}, dtypes=NUMBERS, grad=True,
              large=False, expect=lambda a, b, x=x, y=y: torch.tensordot(a, b, dims=(x, y)))
    g.error("tensordot", [g.values(2, 3), g.values(4, 5)], attrs={"axes_a": [1], "axes_b": [0]}, status="shape",
            text="3 != 4")
    g.error("tensordot", [g.values(2, 3), g.values(3, 5)], attrs={"axes_a": [1, 1], "axes_b": [0, 0]}, text="twice")
    for a, b in [((2, 3), (4, 5)), ((3,), (2, 4)), ((2, 3, 2), (2,)), ((0, 2), (3, 2))]:
        g.add("kron", [g.values(*a), g.values(*b)], dtypes=NUMBERS, expect=torch.kron, grad=True, large=False)
    for axis, a, b in [(-1, (4, 3), (4, 3)), (0, (3, 5), (3, 5)), (1, (2, 3, 4), (2, 3, 4)), (-1, (4, 3), (1, 3))]:
        g.add("cross", [g.values(*a), g.values(*b)], attrs={"axis": axis}, dtypes=FLOATS + ["i64", "i32"], grad=True,
              large=False, expect=lambda a, b, k=axis: torch.linalg.cross(a, b, dim=k))
    g.error("cross", [g.values(4, 2), g.values(4, 2)], attrs={"axis": -1}, status="shape", text="size 3")


def einsum_cases(g):
    equations = [("ij,jk->ik", (3, 4), (4, 5)), ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)), ("ii->i", (4, 4)),
                 ("ii", (4, 4)), ("iji->j", (3, 4, 3)), ("ij->ji", (3, 4)), ("ij->", (3, 4)), ("i,j->ij", (3,), (4,)),
                 ("...ij,...jk->...ik", (2, 1, 3, 4), (5, 4, 6)), ("ij,jk,kl->il", (3, 4), (4, 5), (5, 6)),
                 ("bhqd,bhkd->bhqk", (2, 3, 4, 5), (2, 3, 6, 5)), ("i,i->", (5,), (5,)), ("i,i->i", (5,), (5,)),
                 ("ijk,jk->i", (2, 3, 4), (3, 4)), ("ij,kj->ik", (3, 1), (4, 5)), ("aab,bcc->a", (3, 3, 4), (4, 2, 2)),
                 ("ba", (2, 3)), ("...", (2, 3)), ("...i->...", (2, 3, 4)), ("i...->...i", (2, 3, 4)),
                 ("ij, jk -> ik", (3, 0), (0, 5)), ("abc,abd->dc", (2, 3, 4), (2, 3, 5)), ("aaa->a", (3, 3, 3)),
                 ("iijj->ij", (2, 2, 3, 3)), ("aAb,bA->a", (2, 3, 4), (4, 3)), ("ab,cd,ac,bd->", (2, 3), (4, 5), (2, 4), (3, 5)),
                 (",->", (), ()), ("i,->i", (3,), ())]
    def summed(equation, shapes):
        """Integers that are summed alone are i64, products of two keep their dtype."""
        try:
            wide = torch.einsum(equation, *[torch.ones(s, dtype=torch.int32) for s in shapes]).dtype == torch.int64
        except RuntimeError:  # torch does not multiply the sum of one by the other
            wide = True
        return lambda dtype: "i64" if wide and dtype in ("i32", "u8") else dtype

    for equation, *shapes in equations:
        g.add("einsum", [g.values(*s) for s in shapes], attrs={"equation": equation}, dtypes=["f64", "f32", "i64", "i32", "u8"],
              expect=lambda *x, e=equation: torch.einsum(e, *x), grad=True, large=False, out=summed(equation, shapes))
    g.add("einsum", [g.literal([200, 200, 200, 200], dtype="u8")], attrs={"equation": "i->"}, dtypes=["u8"], out="i64",
          expect=lambda x: x.sum(), name="wide", large=False)
    g.add("einsum", [g.literal([[200, 200], [200, 200]], dtype="u8"), g.literal([200, 100], dtype="u8")], attrs={"equation": "ij,k->ik"},
          dtypes=["u8"], out="i64", expect=lambda x, y: torch.einsum("ij,k->ik", x, y), name="wide", large=False)
    # The sum over j leaves f16, the result does not.
    g.add("einsum", [g.literal([[60000.0, 60000.0], [1.0, 2.0]]), g.literal([0.5, 0.25])], attrs={"equation": "ij,k->ik"},
          dtypes=FLOATS, expect=lambda x, y: torch.einsum("ij,k->ik", x, y), name="large", large=False)
    for equation, shapes, status, text in [
            ("ij", [(2,)], "shape", "rank 1"), ("i,j", [(2,)], "argument", "more operands"),
            ("i", [(2,), (2,)], "argument", "2 were given"), ("i.", [(2,)], "argument", "'...'"),
            ("......", [(2,)], "argument", "second '...'"), ("i-", [(2,)], "argument", "'->'"),
            ("i->k", [(2,)], "argument", "'k' of the output"), ("i->ii", [(2,)], "argument", "twice"),
            ("i->i->i", [(2,)], "argument", "after the output"), ("i$->i", [(2,)], "argument", "no letter"),
            ("ii", [(1, 3)], "shape", "diagonal"), ("ij,jk", [(2, 3), (4, 5)], "shape", "'j' is 4"),
            ("i->...", [(2,)], "argument", "no operand has"), ("abcdefghi", [(2,)], "argument", "8 axes")]:
        g.error("einsum", [g.values(*s) for s in shapes], attrs={"equation": equation}, status=status, text=text)


CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
TRANSPOSE = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


def padded(x, begin, end):
    """x with zeros around its last axes; negative numbers crop."""
    pairs = []
    for b, e in zip(reversed(begin), reversed(end)):
        pairs += [b, e]
    return F.pad(x, pairs)


def ones(n):
    return [1] * n


# spatial sizes, channels, outs, kernel, stride, padding, padding_end, dilation, groups, large sizes
GEOMETRIES = [
    ((9,), 2, 3, (3,), (1,), (0,), (0,), (1,), 1, (300,)), ((9,), 4, 6, (3,), (2,), (1,), (1,), (1,), 2, (299,)),
    ((11,), 2, 3, (3,), (3,), (2,), (0,), (2,), 1, (200,)), ((5,), 3, 2, (1,), (1,), (0,), (0,), (1,), 1, (100,)),
    ((6, 7), 2, 3, (3, 3), (1, 1), (1, 1), (1, 1), (1, 1), 1, (29, 31)),
    ((6, 7), 3, 2, (1, 1), (1, 1), (0, 0), (0, 0), (1, 1), 1, (17, 19)),
    ((7, 6), 4, 4, (3, 2), (2, 1), (1, 0), (0, 2), (1, 2), 2, (23, 30)),
    ((6, 6), 3, 3, (3, 3), (1, 1), (1, 1), (1, 1), (1, 1), 3, (28, 28)),
    ((8, 8), 2, 5, (4, 4), (4, 4), (0, 0), (0, 0), (1, 1), 1, (32, 32)),
    ((7, 7), 2, 17, (3, 3), (2, 2), (1, 1), (1, 1), (1, 1), 1, (15, 15)),
    ((4, 5, 4), 2, 3, (2, 3, 2), (1, 2, 1), (1, 1, 0), (0, 1, 1), (1, 1, 2), 1, (9, 8, 10)),
    ((3, 4, 4), 2, 4, (2, 2, 2), (1, 1, 1), (0, 0, 0), (0, 0, 0), (1, 1, 1), 2, (6, 9, 9)),
]


def conv_cases(g):
    for sizes, channels, outs, kernel, stride, begin, end, dilation, groups, big in GEOMETRIES:
        n = len(sizes)
        attrs = {"stride": stride, "padding": begin, "padding_end": end, "dilation": dilation, "groups": groups}

        def forward(x, w, b, n=n, s=stride, p=begin, e=end, d=dilation, k=groups):
            return CONV[n](padded(x, p, e), w, b, s, 0, d, k)

        x, w, b = g.values(2, channels, *sizes), g.values(outs, channels // groups, *kernel), g.values(outs)
        large = [(3, channels, *big), (outs, channels // groups, *kernel), (outs,)]
        g.add("conv", [x, w, b], attrs=attrs, dtypes=FLOATS, grad=True, expect=forward, large=large)
        g.add("conv", [x, w, g.none()], attrs=attrs, dtypes=["f64", "i32", "u8"], large=large[:2] + [()],
              expect=lambda x, w, b, f=forward: f(x.double(), w.double(), None).to(x.dtype))
        out, out_big = (forward(torch.zeros(1, channels, *s), torch.zeros(outs, channels // groups, *kernel), None).shape[2:]
                        for s in (sizes, big))

        def weight_grad(x, dy, f=forward, shape=(outs, channels // groups, *kernel)):
            w = torch.zeros(shape, dtype=x.dtype, requires_grad=True)
            return torch.autograd.grad(f(x, w, None), w, dy, create_graph=True)[0]

        g.add("conv_weight_grad", [x, g.values(2, outs, *out)], attrs={**attrs, "kernel": kernel}, dtypes=FLOATS, grad=True,
              expect=weight_grad, large=[(3, channels, *big), (3, outs, *out_big)])
    for batch, channels, outs in [(0, 2, 3), (2, 0, 3), (2, 2, 0)]:
        g.add("conv", [g.values(batch, channels, 5, 5), g.values(outs, channels, 3, 3), g.values(outs)], dtypes=FLOATS,
              name="empty", large=False, attrs={"stride": [1, 1]},
              expect=lambda x, w, b: torch.einsum("ncij,oc->noij", x[:, :, 1:4, 1:4], w[:, :, 0, 0]) + b.view(-1, 1, 1)
              if x.shape[1] == 0 or x.shape[0] == 0 or w.shape[0] == 0 else None)
    g.error("conv", [g.values(1, 2, 5), g.values(3, 3, 3), g.none()], status="shape", text="channels differ")
    g.error("conv", [g.values(1, 2, 2), g.values(3, 2, 3), g.none()], status="shape", text="larger than the padded input")
    g.error("conv", [g.values(1, 3, 5), g.values(2, 3, 3), g.none()], attrs={"stride": [0]}, text="stride is 0")
    g.error("conv", [g.values(1, 3, 5), g.values(2, 3, 3), g.none()], attrs={"stride": [1, 1]}, text="2 numbers")
    g.error("conv", [g.values(1, 4, 5), g.values(3, 2, 3), g.none()], attrs={"groups": 2}, status="shape", text="groups")
    g.error("conv", [g.values(2, 5), g.values(3, 3), g.none()], status="shape", text="rank")
    g.error("conv", [g.values(1, 2, 5), g.values(3, 2, 3), g.values(2)], status="shape", text="bias must be [3]")


def conv_transpose_cases(g):
    extra = {1: (1,), 2: (1, 0), 3: (0, 1, 0)}
    for sizes, channels, outs, kernel, stride, begin, end, dilation, groups, big in GEOMETRIES:
        n = len(sizes)
        begin = tuple(min(p, d * (k - 1)) for p, d, k in zip(begin, dilation, kernel))
        end = tuple(min(p, d * (k - 1)) for p, d, k in zip(end, dilation, kernel))
        more = tuple(min(o, max(s, d) - 1) for o, s, d in zip(extra[n], stride, dilation))

        def transposed(x, w, b, n=n, s=stride, p=begin, e=end, d=dilation, k=groups, o=more):
            y = TRANSPOSE[n](padded(x, [1] * n, [1] * n), w, None, s, 0, 0, k, d)
            index = [slice(None), slice(None)]
            for i in range(n):
                size = (x.shape[2 + i] - 1) * s[i] - p[i] - e[i] + d[i] * (w.shape[2 + i] - 1) + 1 + o[i]
                index.append(slice(s[i] + p[i], s[i] + p[i] + size))
            y = y[tuple(index)]
            return y if b is None else y + b.view(-1, *[1] * n)

        attrs = {"stride": stride, "padding": begin, "padding_end": end, "dilation": dilation, "groups": groups,
                 "output_padding": more}
        x, w, b = g.values(2, channels, *sizes), g.values(channels, outs // groups, *kernel), g.values(outs)
        large = [(3, channels, *big), (channels, outs // groups, *kernel), (outs,)]
        g.add("conv_transpose", [x, w, b], attrs=attrs, dtypes=FLOATS, grad=True, expect=transposed, large=large)
        g.add("conv_transpose", [x, w, g.none()], attrs=attrs, dtypes=["f64", "i32", "u8"], large=large[:2] + [()],
              expect=lambda x, w, b, f=transposed: f(x.double(), w.double(), None).to(x.dtype))
    g.error("conv_transpose", [g.values(1, 2, 5), g.values(3, 2, 3), g.none()], status="shape", text="channels differ")
    g.error("conv_transpose", [g.values(1, 2, 1), g.values(2, 3, 2), g.none()], attrs={"padding": [3]}, status="shape",
            text="nothing is left")
    g.error("conv_transpose", [g.values(1, 2, 4), g.values(2, 3, 2), g.none()], attrs={"output_padding": [1]},
            text="below the stride")


def public_conv_cases(g):
    """The functions of each rank: defaults, same padding, no batch axis."""
    sizes = {1: (9,), 2: (6, 7), 3: (4, 5, 4)}
    for n, size in sizes.items():
        x, w, b = g.values(2, 3, *size), g.values(4, 3, *[3] * n), g.values(4)
        name = "conv%dd" % n
        g.add(name, [x, w, b], dtypes=FLOATS, grad=True, large=False, covers=["conv"],
              expect=lambda x, w, b, n=n: CONV[n](x, w, b))
        g.add(name, [g.values(3, *size), w, b], dtypes=WIDE, grad=True, large=False, name="single", covers=["conv"],
              expect=lambda x, w, b, n=n: CONV[n](x, w, b))
        g.add(name, [x, g.values(4, 3, *[2] * n), g.none()], attrs={"same": 1}, dtypes=WIDE, grad=True, large=False,
              name="same", covers=["conv"], expect=lambda x, w, b, n=n: CONV[n](x, w, None, 1, "same"))
        g.add(name, [x, w, g.none()], attrs={"same": 1, "stride": [2] * n}, dtypes=WIDE, large=False, name="same-stride",
              covers=["conv"], expect=lambda x, w, b, n=n: same_with_stride(x, w, n))
        g.add(name, [x, w, g.none()], attrs={"padding": [1] * n, "stride": [2] * n, "dilation": ones(n)}, dtypes=WIDE,
              large=False, covers=["conv"], expect=lambda x, w, b, n=n: CONV[n](x, w, None, 2, 1))
        g.error(name, [x, w, b], attrs={"padding": [-1] * n}, text="must not be negative")
        g.error(name, [g.values(*[3] * n), w, b], status="shape", text="without a batch axis")
        name = "conv_transpose%dd" % n
        w = g.values(3, 2, *[3] * n)
        g.add(name, [x, w, g.values(2)], dtypes=FLOATS, grad=True, large=False, covers=["conv_transpose"],
              expect=lambda x, w, b, n=n: TRANSPOSE[n](x, w, b))
        g.add(name, [g.values(3, *size), w, g.values(2)], dtypes=WIDE, grad=True, large=False, name="single",
              covers=["conv_transpose"], expect=lambda x, w, b, n=n: TRANSPOSE[n](x, w, b))
        g.add(name, [x, w, g.none()], attrs={"padding": [1] * n, "stride": [2] * n, "output_padding": ones(n)}, dtypes=WIDE,
              large=False, covers=["conv_transpose"], expect=lambda x, w, b, n=n: TRANSPOSE[n](x, w, None, 2, 1, 1))


def same_with_stride(x, w, n):
    begin, end = [], []
    for size, kernel in zip(x.shape[2:], w.shape[2:]):
        missing = max(0, (size - 1) // 2 * 2 + kernel - size)
        begin.append(missing // 2)
        end.append(missing - missing // 2)
    return CONV[n](padded(x, begin, end), w, None, 2)


def sampled(x, offset, mask, kernel, stride, padding, dilation):
    """The columns of a deformable convolution, [batch, channels * taps, positions]."""
    n, channels, height, width = x.shape
    taps, rows, cols = kernel[0] * kernel[1], offset.shape[2], offset.shape[3]
    groups = offset.shape[1] // (2 * taps)
    o = offset.reshape(n, groups, taps, 2, rows, cols)
    tap = torch.arange(taps)
    at_row = (tap // kernel[1] * dilation[0]).view(taps, 1, 1) + (torch.arange(rows) * stride[0] - padding[0]).view(1, rows, 1)
    at_col = (tap % kernel[1] * dilation[1]).view(taps, 1, 1) + (torch.arange(cols) * stride[1] - padding[1]).view(1, 1, cols)
    ys, xs = o[:, :, :, 0] + at_row, o[:, :, :, 1] + at_col
    near = (ys > -1) & (ys < height) & (xs > -1) & (xs < width)
    y0, x0 = ys.detach().floor(), xs.detach().floor()
    planes, total = x.reshape(n, groups, channels // groups, height * width), 0
    for dy in (0, 1):
        for dx in (0, 1):
            i, j = y0 + dy, x0 + dx
            valid = near & (i >= 0) & (i < height) & (j >= 0) & (j < width)
            index = (i.clamp(0, height - 1) * width + j.clamp(0, width - 1)).long().reshape(n, groups, 1, -1)
            value = torch.gather(planes, 3, index.expand(n, groups, channels // groups, -1))
            value = value.reshape(n, groups, channels // groups, taps, rows, cols)
            weight = ((ys - y0) if dy else 1 - (ys - y0)) * ((xs - x0) if dx else 1 - (xs - x0))
            total = total + torch.where(valid.unsqueeze(2), value * weight.unsqueeze(2), torch.zeros((), dtype=x.dtype))
    if mask is not None:
        total = total * mask.reshape(n, groups, 1, taps, rows, cols)
    return total.reshape(n, channels * taps, rows * cols)


def deform_cases(g):
    geometry = [((1, 1), (0, 0), (1, 1), (2, 2), 1, True), ((2, 1), (1, 1), (1, 2), (3, 2), 2, True),
                ((1, 1), (1, 1), (1, 1), (3, 3), 1, False)]
    for stride, padding, dilation, kernel, groups, masked in geometry:
        size = [(6 + 2 * p - d * (k - 1) - 1) // s + 1 for p, d, k, s in zip(padding, dilation, kernel, stride)]
        taps = kernel[0] * kernel[1]
        x, offset = g.values(2, 4, 6, 6), g.values(2, 2 * groups * taps, *size, low=-1.4, high=1.4)
        mask = g.values(2, groups * taps, *size, low=0, high=1) if masked else g.none()
        attrs = {"stride": stride, "padding": padding, "dilation": dilation}

        def sample(x, o, m, k=kernel, s=stride, p=padding, d=dilation):
            return sampled(x, o, m, k, s, p, d)

        g.add("deform_sample", [x, offset, mask], attrs={**attrs, "kernel": kernel}, dtypes=FLOATS, expect=sample,
              grad=True, large=[(60,) + o.shape[1:] if o.shape else () for o in (x, offset, mask)],
              second="the gradient of deform_sample_grad is an error that says so")
        g.add("deform_conv2d", [x, offset, g.values(6, 2, *kernel), mask, g.values(6)],
              attrs={**attrs, "weight_groups": 2}, dtypes=WIDE, grad=True, large=False,
              covers=["matmul", "deform_sample", "deform_sample_grad"],
              expect=lambda x, o, w, m, b, f=sample, z=size: (
                  w.reshape(1, 2, 3, -1) @ f(x, o, m).reshape(2, 2, -1, z[0] * z[1])).reshape(2, 6, *z) + b.view(-1, 1, 1))

        def grads(x, o, dy, m, f=sample):
            with torch.enable_grad():
                leaves = [t.detach().requires_grad_() for t in (x, o, m) if t is not None]
                y = f(leaves[0], leaves[1], leaves[2] if m is not None else None)
                r = torch.autograd.grad(y, leaves, dy)
            return tuple(r) if m is not None else tuple(r) + (torch.zeros(0, dtype=x.dtype),)

        columns = g.values(2, 4 * taps, size[0] * size[1])
        g.add("deform_sample_grad", [x, offset, columns, mask], attrs={**attrs, "kernel": kernel}, dtypes=FLOATS,
              expect=grads, large=[(60,) + o.shape[1:] if o.shape else () for o in (x, offset, columns, mask)])
    g.error("deform_conv2d", [g.values(1, 2, 5, 5), g.values(1, 7, 4, 4), g.values(3, 2, 2, 2), g.none(), g.none()],
            status="shape", text="2 x groups x 4 channels")
    g.error("deform_conv2d", [g.values(1, 2, 5, 5), g.values(1, 8, 3, 4), g.values(3, 2, 2, 2), g.none(), g.none()],
            status="shape", text="4 x 4")
    g.error("deform_conv2d", [g.values(1, 2, 5, 5), g.values(1, 8, 4, 4), g.values(3, 3, 2, 2), g.none(), g.none()],
            status="shape", text="channels differ")


def kept_weights(shape, dropout, key, counter):
    """Which weights remain, and what they are multiplied by: element e draws word e mod 4 of block e / 4 by a key of its own."""
    low, high = functional.philox(key, counter)[:2]
    count = torch.Size(shape).numel()
    draws = [word for block in range((count + 3) // 4) for word in functional.philox(low | high << 32, block)][:count]
    kept = torch.tensor(draws, dtype=torch.int64).reshape(shape) >= int(dropout * 2**32)
    return kept.double() * (1 / (1 - dropout) if dropout < 1 else 0.0)


def attend(q, k, v, mask=None, bias=None, scale=0.0, softcap=0.0, is_causal=0, dropout=0.0, key=0, counter=0, wants_bias=0):
    shared = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(shared, 1), v.repeat_interleave(shared, 1)
    s = q @ k.transpose(-2, -1) * (scale or q.shape[-1] ** -0.5)
    if softcap:
        s = torch.tanh(s / softcap) * softcap
    if bias is not None:
        s = s + bias
    if mask is not None:
        s = s.masked_fill(~mask, -torch.inf)
    if is_causal:
        s = s.masked_fill(~torch.ones(s.shape[-2:], dtype=torch.bool).tril(), -torch.inf)
    if s.shape[-1] == 0:
        return s @ v
    blind = s.max(-1, keepdim=True).values == -torch.inf
    weights = torch.softmax(s.masked_fill(blind, 0), -1).masked_fill(blind, 0)
    if dropout:
        weights = weights * kept_weights(weights.shape, dropout, key, counter)
    return weights @ v


# What fused kernels of GPUs take: heads of 64 and 128 elements in 16 bits, shared key heads, sizes past their tiles and no
# multiples of them, fewer queries than keys and more: (queries, keys and values, attributes).
FUSED = [((1, 4, 200, 64), (1, 2, 77, 64), {}),
         ((2, 2, 77, 64), (2, 2, 200, 64), {"is_causal": 1}),
         ((1, 3, 257, 64), (1, 1, 257, 64), {"is_causal": 1, "scale": 0.5}),
         ((1, 2, 77, 128), (1, 1, 200, 128), {"scale": 0.3}),
         ((2, 2, 200, 128), (2, 1, 130, 128), {"is_causal": 1}),
         ((1, 8, 1, 128), (1, 2, 333, 128), {})]


def fused_attention_cases(g, grads):
    for first, second, attrs in FUSED:
        q, k, v = g.values(1, 2, 3, 2, low=-1, high=1), g.values(1, 1, 4, 2, low=-1, high=1), g.values(1, 1, 4, 2, low=-1, high=1)
        dy = g.values(1, 2, 3, 2, low=-1, high=1)
        large = [first, second, second]
        g.add("attention", [q, k, v, g.none(), g.none()], attrs=attrs, dtypes=["f32", "f16", "bf16"], name="fused",
              always_large=True, large=large + [(), ()], expect=lambda q, k, v, m, b, a=attrs: attend(q, k, v, m, b, **a))
        g.add("attention_grad", [q, k, v, dy, g.none(), g.none()], attrs=attrs, dtypes=["f32", "f16", "bf16"], name="fused",
              always_large=True, large=large + [first, (), ()],
              expect=lambda q, k, v, dy, m, b, a=attrs: grads(q, k, v, dy, m, b, **a))


def tiled_attention_cases(g, grads):
    """Gradients of biases that are shared along each axis, alone and with what else there is."""
    q, k, v, dy = g.values(2, 4, 5, 3), g.values(2, 2, 7, 3), g.values(2, 2, 7, 6), g.values(2, 4, 5, 6)
    for mask, bias, attrs in [(g.none(), g.values(2, 4, 5, 7), {}), (g.none(), g.values(1, 4, 5, 7), {"is_causal": 1}),
                              (g.bools(2, 1, 1, 7), g.values(2, 1, 5, 7), {}), (g.none(), g.values(5, 7), {"softcap": 1.5}),
                              (g.bools(5, 7), g.values(4, 1, 7), {"scale": 1.0}), (g.none(), g.values(4, 5, 1), {}),
                              (g.none(), g.values(1), {"is_causal": 1})]:
        attrs = {**attrs, "wants_bias": 1}
        # What is added to all scores of a row cancels out: its gradient is the rest of sums that are 0.
        rows = bias.shape[-1] == 1
        g.add("attention_grad", [q, k, v, dy, mask, bias], attrs=attrs, dtypes=FLOATS, large=False, name="bias",
              tolerance=(64, 16) if rows else None, why="terms that cancel" if rows else None,
              expect=lambda q, k, v, dy, m, b, a=attrs: grads(q, k, v, dy, m, b, **a))


def dropout_attention_cases(g, grads):
    q, k, v, dy = g.values(2, 4, 5, 3), g.values(2, 2, 7, 3), g.values(2, 2, 7, 6), g.values(2, 4, 5, 6)
    big = [(2, 4, 70, 24), (2, 2, 75, 24), (2, 2, 75, 20)]
    for mask, bias, attrs in [(g.none(), g.none(), {"dropout": 0.25, "key": 5, "counter": 7}),
                              (g.bools(2, 1, 1, 7), g.none(), {"dropout": 0.5, "key": -2, "counter": 2**40 + 3}),
                              (g.none(), g.values(4, 5, 7), {"dropout": 0.1, "key": 3, "counter": 1, "is_causal": 1}),
                              (g.none(), g.none(), {"dropout": 1.0, "key": 1, "counter": 1})]:
        large = False if mask.shape or bias.shape else big + [(), ()]
        g.add("dropout_attention", [q, k, v, mask, bias], attrs=attrs, dtypes=FLOATS, large=large, grad=True,
              second="the gradient of dropout_attention_grad is an error that says so",
              expect=lambda q, k, v, m, b, a=attrs: attend(q, k, v, m, b, **a))
        wants = {**attrs, "wants_bias": 1} if bias.shape else attrs
        large = False if mask.shape or bias.shape else big + [(2, 4, 70, 20), (), ()]
        g.add("dropout_attention_grad", [q, k, v, dy, mask, bias], attrs=wants, dtypes=FLOATS, large=large,
              expect=lambda q, k, v, dy, m, b, a=wants: grads(q, k, v, dy, m, b, **a))
    g.error("dropout_attention", [q, k, v, g.none(), g.none()], attrs={"dropout": 1.5}, status="argument", text="probability")


def attention_cases(g):
    q, k, v = g.values(2, 4, 5, 3), g.values(2, 2, 7, 3), g.values(2, 2, 7, 6)
    big = [(2, 4, 130, 24), (2, 2, 150, 24), (2, 2, 150, 20)]
    plain = [{}, {"is_causal": 1}, {"scale": 0.3}, {"softcap": 1.5}, {"softcap": 2.0, "is_causal": 1}]
    for attrs in plain:
        g.add("attention", [q, k, v, g.none(), g.none()], attrs=attrs, dtypes=FLOATS, grad=True, large=big + [(), ()],
              expect=lambda q, k, v, m, b, a=attrs: attend(q, k, v, m, b, **a))
    for mask, bias in [(g.bools(5, 7), g.none()), (g.bools(2, 1, 1, 7), g.none()), (g.none(), g.values(5, 7)),
                       (g.none(), g.values(2, 4, 5, 7)), (g.bools(2, 4, 5, 7), g.values(1, 4, 1, 7))]:
        g.add("attention", [q, k, v, mask, bias], dtypes=FLOATS, grad=True, large=False,
              expect=lambda q, k, v, m, b: attend(q, k, v, m, b))
    blind = g.literal([[True, True, False, True, False, True, True], [False] * 7, [True] + [False] * 6, [True] * 7,
                       [False] * 7], dtype="bool")
    g.add("attention", [q, k, v, blind, g.none()], dtypes=FLOATS, grad=True, large=False, name="blind",
          expect=lambda q, k, v, m, b: attend(q, k, v, m))
    for shapes in [[(2, 4, 5, 3), (2, 2, 0, 3), (2, 2, 0, 6)], [(2, 4, 0, 3), (2, 2, 7, 3), (2, 2, 7, 6)],
                   [(0, 4, 5, 3), (0, 2, 7, 3), (0, 2, 7, 6)]]:
        g.add("attention", [g.values(*s) for s in shapes] + [g.none(), g.none()], dtypes=FLOATS, name="empty", large=False,
              expect=lambda q, k, v, m, b: attend(q, k, v))

    def grads(q, k, v, dy, m, b, **a):
        leaves = [q.detach().requires_grad_(), k.detach().requires_grad_(), v.detach().requires_grad_()]
        if a.get("wants_bias"):
            b = b.detach().requires_grad_()
            return tuple(torch.autograd.grad(attend(*leaves, m, b, **a), leaves + [b], dy))
        y = attend(*leaves, m, b, **a)
        return tuple(torch.autograd.grad(y, leaves, dy)) + (torch.zeros(0, dtype=q.dtype),)

    dy = g.values(2, 4, 5, 6)
    for attrs, mask, bias in [({}, g.none(), g.none()), ({"is_causal": 1}, g.none(), g.none()),
                              ({"softcap": 1.5}, g.none(), g.values(5, 7)), ({}, g.bools(5, 7), g.none())]:
        large = False if mask.shape or bias.shape else big + [(2, 4, 130, 20), (), ()]
        g.add("attention_grad", [q, k, v, dy, mask, bias], attrs=attrs, dtypes=FLOATS, large=large,
              expect=lambda q, k, v, dy, m, b, a=attrs: grads(q, k, v, dy, m, b, **a))
    fused_attention_cases(g, grads)
    tiled_attention_cases(g, grads)
    dropout_attention_cases(g, grads)
    g.error("attention", [q, g.values(2, 2, 7, 4), v, g.none(), g.none()], status="shape", text="inner sizes differ")
    g.error("attention", [q, g.values(2, 3, 7, 3), g.values(2, 3, 7, 6), g.none(), g.none()], status="shape", text="multiple")
    g.error("attention", [q, k, v, g.values(5, 7), g.none()], status="dtype", text="must be bool")
    g.error("attention", [q, k, v, g.bools(4, 7), g.none()], status="shape", text="does not broadcast")
    g.error("attention", [g.values(4, 5, 3), k, v, g.none(), g.none()], status="shape", text="rank 4")
    g.error("attention", [q, k, v, g.none(), g.none()], attrs={"softcap": -1.0}, text="softcap")


def integer_scale_cases(g, made):
    """The same with a bias, and brought back to 8 bits."""
    low = {"u8": 0, "i8": -128}

    def scaled(sums, scale, zero, out):
        return (torch.round(sums.double() * scale) + (0 if zero is None else zero)).clamp(low[out], low[out] + 255).long()

    for out, n_scale, has_bias, has_zero in [("u8", (5,), True, True), ("i8", (), True, True), ("i8", (5,), False, True),
                                             ("u8", (1,), True, False)]:
        rest = [g.ints(5, low=-9000, high=9000, dtype="i32") if has_bias else g.none(),
                g.values(*n_scale, low=0.0004, high=0.003, dtype="f32"), made(out) if has_zero else g.none()]
        big = [(75, 37), (37, 70), (), (), (70,) if has_bias else (), tuple({5: 70}.get(s, s) for s in n_scale), ()]
        g.add("matmul_integer", [made("u8", 4, 30), made("i8", 30, 5), made("u8"), made("i8")] + rest, dtypes=["i32"], out=out,
              large=big, expect=lambda a, b, za, zb, c, s, z, o=out: scaled((a - za) @ (b - zb) + (0 if c is None else c), s, z, o))
        g.add("conv_integer", [made("u8", 2, 3, 7, 9), made("i8", 5, 3, 3, 3), made("u8"), made("i8")] + rest, dtypes=["i32"],
              out=out, large=False, expect=lambda x, w, zx, zw, c, s, z, o=out: scaled(
                  F.conv2d((x - zx).double(), (w - zw).double()) + (0 if c is None else c.reshape(-1, 1, 1)), s.reshape(-1, 1, 1), z, o))
    g.add("matmul_integer", [made("u8", 4, 3), made("i8", 3, 5), g.none(), g.none(), g.ints(5, low=-9, high=9, dtype="i32")],
          dtypes=["i32"], out="i32", expect=lambda a, b, za, zb, c: a @ b + c, large=False, name="bias")
    g.add("conv_integer", [made("u8", 1, 2, 9), made("i8", 6, 1, 3), g.none(), g.none(), g.ints(6, low=-9, high=9, dtype="i32")],
          dtypes=["i32"], out="i32", attrs={"groups": 2}, large=False, name="bias",
          expect=lambda x, w, zx, zw, c: F.conv1d(x.double(), w.double(), groups=2).long() + c.reshape(-1, 1))
    ab = [made("u8", 4, 3), made("i8", 3, 5), g.none(), g.none()]
    g.error("matmul_integer", ab + [g.ints(4, dtype="i32")], status="shape", text="the bias must be [5]")
    g.error("matmul_integer", ab + [g.none(), g.values(4)], status="shape", text="the scale must be [5]")
    g.error("matmul_integer", ab + [g.none(), g.none(), made("u8")], status="argument", text="needs its scale")
    g.error("matmul_integer", ab + [g.none(), g.values(5, dtype="f64")], status="dtype", text="the scale must be f32")


def weight_cases(g):
    """Products of reals with weights of 8 bits, and of bytes whose sums become reals."""
    def made(dtype, *shape):
        return g.ints(*shape, low=-128 if dtype == "i8" else 0, high=127 if dtype == "i8" else 255, dtype=dtype)

    def real(x, block, k):
        if x is None or x.dim() == 0 or x.numel() == 1:
            return 0 if x is None else x.reshape(())
        return x.reshape(-1, 1) if x.dim() == 1 else x.repeat_interleave(block, 1)[:, :k]

    def product(x, w, s, z, b, block):
        w = (w - real(z, block, w.shape[1])).double() * real(s, block, w.shape[1])
        return F.linear(x.double(), w, None if b is None else b.double())

    for dtype in ("u8", "i8"):
        for rows, k, n in (((3,), 5, 4), ((1,), 70, 9), ((), 33, 3), ((2, 9), 20, 300), ((2, 0), 3, 4)):
            for scale, zero, block in (((), (), 0), ((n,), None, 0), ((n,), (n,), 0), ((n, -(-k // 4)), (n, -(-k // 4)), 4),
                                       ((n, -(-k // 16)), (), 16), ((n, 1), (n, 1), 128)):
                g.add("linear_quantized", [g.values(*rows, k, dtype="f32"), made(dtype, n, k), g.values(*scale, low=0.01, high=0.02, dtype="f32"),
                                           g.none() if zero is None else made(dtype, *zero), g.values(n, dtype="f32") if block else g.none()],
                      dtypes=["f32"], attrs={"block": block},
                      large=[(12, 100), (70, 100), (), (), ()] if (rows, block) == ((3,), 0) and scale == () else False, expect=lambda x, w, s, z, b, o=block: product(x, w, s, z, b, o))
    x, w = g.values(2, 6, dtype="f32"), made("i8", 3, 6)
    one = g.values(low=0.01, high=0.02, dtype="f32")
    g.error("linear_quantized", [x, made("i8", 3, 5), one], status="shape", text="does not fit a weight")
    g.error("linear_quantized", [x, w, g.values(2, dtype="f32")], status="shape", text="the scale must have one element")
    g.error("linear_quantized", [x, w, g.values(3, 2, dtype="f32")], attrs={"block": 2}, status="shape", text="blocks of 2")
    g.error("linear_quantized", [x, w, one, g.none(), g.values(4, dtype="f32")], status="shape", text="the bias must be [3]")
    for da, a, b, za, zb, bias, scale in [("u8", (4, 30), (30, 5), (), (), (5,), ()), ("i8", (1, 64), (64, 70), (1, 1), (70,), None, (70,)),
                                          ("u8", (2, 4, 9), (9, 5), None, None, (5,), (5,)), ("i8", (3, 16, 40), (3, 40, 33), (), (), (33,), (1,)),
                                          ("u8", (0, 3), (3, 5), (), (), (5,), ()), ("i8", (0, 3), (3, 5), (), (), (5,), ()),
                                          ("i8", (4, 30), (30, 5), (), (), (5,), ()), ("u8", (1, 64), (64, 70), (1, 1), (70,), None, (70,))]:
        parts = [g.none() if t is None else made(d, *t) for d, t in ((da, a), ("i8", b), (da, za), ("i8", zb))]
        parts += [g.none() if bias is None else g.values(*bias, dtype="f32"), g.values(*scale, low=0.001, high=0.002, dtype="f32")]
        g.add("matmul_dequantized", parts, dtypes=[da], out="f32",
              large=[(75, 37), (37, 70), (), (), (70,), ()] if a == (4, 30) else False, tolerance=(4, 0),
              why="two roundings, of which the sum with the bias may cancel",
              expect=lambda a, b, za, zb, c, s: torch.matmul(a - (0 if za is None else za), b - (0 if zb is None else zb)).double() * s +
              (0 if c is None else c.double()))
    g.error("matmul_dequantized", [made("u8", 4, 3), made("i8", 3, 5)], text="the scale, is missing")


def integer_cases(g):
    """Products of bytes less their zero points, in i32."""
    def product(a, b, za, zb):
        return torch.matmul(a - (0 if za is None else za), b - (0 if zb is None else zb))

    bounds = {"i8": (-128, 127), "u8": (0, 255)}

    def made(dtype, *shape):
        return g.ints(*shape, low=bounds[dtype][0], high=bounds[dtype][1], dtype=dtype)

    big = {(4, 3): (75, 37), (3, 5): (37, 70)}
    for da, db in [("u8", "i8"), ("u8", "u8"), ("i8", "i8"), ("i8", "u8")]:
        for za, zb in [(None, None), ((), ()), ((4, 1), None), (None, (5,)), ((4, 1), (1, 5)), ((1,), (1,))]:
            zeros = [g.none() if z is None else made(d, *z) for z, d in ((za, da), (zb, db))]
            shapes = [(75, 37), (37, 70)] + [() if z in (None, ()) else tuple({4: 75, 5: 70}.get(n, n) for n in z) for z in (za, zb)]
            g.add("matmul_integer", [made(da, 4, 3), made(db, 3, 5)] + zeros, dtypes=["i32"], out="i32", expect=product,
                  large=shapes)
    shapes = [((2, 4, 3), (3, 5), (2, 4, 1), (5,)), ((2, 4, 3), (2, 3, 5), (4, 1), (2, 1, 5)), ((2, 4, 9), (1, 9, 5), (2, 1, 1), ()),
              ((2, 1, 4, 3), (3, 3, 5), (), (3, 1, 1)), ((1, 1), (1, 1), (), ()), ((17, 19), (19, 7), (17, 1), (7,)),
              ((1, 7), (7, 33), (), (33,)), ((9, 7), (7, 1), (), ()), ((4, 3), (6, 3, 5), (4, 1), (6, 1, 5)),
              ((15, 300), (300, 33), (), ())]
    for a, b, za, zb in shapes:
        g.add("matmul_integer", [made("u8", *a), made("i8", *b), made("u8", *za), made("i8", *zb)], dtypes=["i32"], out="i32",
              expect=product, large=False)
    for a, b in [((0, 3), (3, 5)), ((4, 0), (0, 5)), ((2, 4, 3), (2, 3, 0))]:
        g.add("matmul_integer", [made("u8", *a), made("u8", *b), made("u8"), made("u8")], dtypes=["i32"], out="i32",
              expect=product, name="empty", large=False)
    g.error("matmul_integer", [made("u8", 4, 3), made("u8", 5, 3)], status="shape", text="inner sizes differ")
    g.error("matmul_integer", [made("u8", 4, 3), made("i8", 3, 5), made("i8")], status="dtype", text="must agree")
    g.error("matmul_integer", [made("u8", 4, 3), made("i8", 3, 5), made("u8", 4)], status="shape", text="zero point")
    g.error("matmul_integer", [made("u8", 4, 3), g.ints(3, 5, dtype="i32")], status="dtype", text="i8 and u8")
    g.error("matmul_integer", [made("u8", 3), made("u8", 3, 5)], status="shape", text="rank")
    for i, (sizes, channels, outs, kernel, stride, begin, end, dilation, groups, large) in enumerate(GEOMETRIES):
        n = len(sizes)
        attrs = {"stride": stride, "padding": begin, "padding_end": end, "dilation": dilation, "groups": groups}

        def forward(x, w, zx, zw, n=n, s=stride, p=begin, e=end, d=dilation, k=groups):
            x = x - (0 if zx is None else zx)
            w = w - (0 if zw is None else zw.reshape([-1] + [1] * (n + 1)))
            return CONV[n](padded(x.double(), p, e), w.double(), None, s, 0, d, k).long()

        dx, dw = [("u8", "i8"), ("u8", "u8"), ("i8", "i8"), ("i8", "u8")][i % 4]
        for zx, zw in [(None, None), ((), ()), ((1,), (outs,))]:
            zeros = [g.none() if z is None else made(d, *z) for z, d in ((zx, dx), (zw, dw))]
            g.add("conv_integer", [made(dx, 2, channels, *sizes), made(dw, outs, channels // groups, *kernel)] + zeros, attrs=attrs,
                  dtypes=["i32"], out="i32", expect=forward,
                  large=[(3, channels, *large), (outs, channels // groups, *kernel)] + [z or () for z in (zx, zw)])
    g.add("conv_integer", [made("u8", 1, 40, 9, 9), made("i8", 33, 40, 1, 1), made("u8"), made("i8", 33)], dtypes=["i32"], out="i32",
          attrs={"stride": (1, 1), "padding": (0, 0), "padding_end": (0, 0), "dilation": (1, 1), "groups": 1}, large=False,
          expect=lambda x, w, zx, zw: F.conv2d((x - zx).double(), (w - zw.reshape(-1, 1, 1, 1)).double()).long())
    integer_scale_cases(g, made)
    g.error("conv_integer", [made("u8", 1, 2, 5), made("u8", 3, 3, 3)], status="shape", text="channels differ")
    g.error("conv_integer", [made("u8", 1, 2, 5), made("u8", 3, 2, 3), made("u8", 2)], status="shape", text="one element")
    g.error("conv_integer", [made("u8", 1, 2, 5), made("u8", 3, 2, 3), g.none(), made("u8", 2)], status="shape", text="each output")


def cases(g):
    matmul_cases(g)
    integer_cases(g)
    weight_cases(g)
    linear_cases(g)
    product_cases(g)
    einsum_cases(g)
    conv_cases(g)
    conv_transpose_cases(g)
    public_conv_cases(g)
    deform_cases(g)
    attention_cases(g)
