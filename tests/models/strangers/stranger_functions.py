"""Functions of tensors, one by one."""

from stranger_export import case, R, I, B
import torch
import torch.nn.functional as FF


def fn(name, f, *args, alt=None, dyn=True, **k):
    """args and alt: tensors, or functions that give them."""
    make = lambda: (f, tuple(a() if callable(a) and not isinstance(a, torch.Tensor) else a for a in args))
    spec = None
    if dyn is True and alt is None and all(isinstance(a, torch.Tensor) for a in args):
        spec = None
    elif dyn not in (True, False):
        spec = dyn
    case("fn_" + name, make, dyn=spec, alt=alt, **k)


torch.manual_seed(7)
X = R(3, 4, 5)
P = torch.rand(3, 4, 5) + 0.1
U = torch.rand(3, 4, 5) * 1.8 - 0.9
IX = I(20, 3, 4, 5)
ID = ({0: "a", 1: "b", 2: "c"},)
A2 = lambda: (R(2, 6, 3),)
unary = dict(
    abs=X,
    acos=U,
    acosh=P + 1,
    asin=U,
    asinh=X,
    atan=X,
    atanh=U,
    ceil=X * 3,
    cos=X,
    cosh=X,
    deg2rad=X,
    digamma=P,
    erf=X,
    erfc=X,
    erfinv=U,
    exp=X,
    exp2=X,
    expm1=X,
    floor=X * 3,
    frac=X * 3,
    lgamma=P,
    log=P,
    log10=P,
    log1p=P,
    log2=P,
    logit=torch.rand(3, 4, 5),
    nan_to_num=X / (X > 0).float(),
    neg=X,
    positive=X,
    rad2deg=X,
    reciprocal=X,
    round=X * 3,
    rsqrt=P,
    sigmoid=X,
    sign=X,
    signbit=X,
    sin=X,
    sinc=X,
    sinh=X,
    sqrt=P,
    square=X,
    tan=U,
    tanh=X,
    trunc=X * 3,
    isnan=X / (X > 0).float(),
    isinf=X / (X > 0).float(),
    isfinite=X / (X > 0).float(),
    logical_not=X > 0,
    bitwise_not=IX,
    i0=X,
    sgn=X,
)
for n, x in unary.items():
    fn(
        "u_" + n,
        getattr(torch, n),
        x,
        dyn=ID,
        alt=lambda n=n, x=x: (x.reshape(5, 4, 3).contiguous(),),
        ts=1,
        dtypes=(
            ("f32", "f16")
            if x.dtype == torch.float32
            and n in ("abs", "exp", "erf", "log", "sqrt", "sigmoid", "tanh", "round", "sin", "floor", "rsqrt", "log1p", "expm1")
            else ("f32",)
        ),
    )
for n in ("erf", "exp", "sigmoid", "sin", "log"):
    fn("ub_" + n, getattr(torch, n), unary[n], ts=1, dtypes=("bf16", "f64"))
for n in (
    "special_erfcx",
    "special_entr",
    "special_i0",
    "special_i1",
    "special_ndtr",
    "special_log_ndtr",
    "special_xlog1py",
    "special_zeta",
    "special_psi",
    "special_ndtri",
    "special_bessel_j0",
):
    f = getattr(torch, n[8:], None) or getattr(torch.special, n[8:])
    fn(
        n,
        f,
        *([torch.rand(3, 4) + 1.1, torch.rand(3, 4) + 1.1] if n in ("special_xlog1py", "special_zeta") else [torch.rand(3, 4)]),
        ts=1,
    )
binary = dict(
    add=(X, R(4, 1)),
    sub=(X, R(5)),
    mul=(X, R(1, 5)),
    div=(X, P),
    pow=(P, X),
    maximum=(X, R(3, 4, 5)),
    minimum=(X, R(3, 4, 5)),
    fmax=(X, R(3, 4, 5)),
    fmin=(X, R(3, 4, 5)),
    fmod=(X * 5, P),
    remainder=(X * 5, P),
    floor_divide=(X * 5, P),
    atan2=(X, R(3, 4, 5)),
    hypot=(X, R(3, 4, 5)),
    copysign=(X, R(3, 4, 5)),
    heaviside=(X.round(), P),
    logaddexp=(X, R(3, 4, 5)),
    logaddexp2=(X, R(3, 4, 5)),
    xlogy=(X.round().abs(), P),
    true_divide=(IX, IX + 1),
    eq=(IX, I(20, 3, 4, 5)),
    ne=(IX, I(20, 5)),
    lt=(X, R(3, 4, 5)),
    le=(IX, I(20, 5)),
    gt=(IX, I(20, 5)),
    ge=(X, R(4, 1)),
    logical_and=(X > 0, R(4, 5) > 0),
    logical_or=(X > 0, R(4, 5) > 0),
    logical_xor=(X > 0, R(4, 5) > 0),
    bitwise_and=(IX, I(20, 5)),
    bitwise_or=(IX, I(20, 5)),
    bitwise_xor=(IX, I(20, 5)),
    bitwise_left_shift=(IX, I(5, 5)),
    bitwise_right_shift=(IX * 100, I(5, 5)),
    gcd=(IX, I(20, 5)),
    lcm=(IX, I(20, 5)),
    nextafter=(X, X + 1),
    ldexp=(X, I(4, 5)),
    isclose=(X, X + 1e-6),
    float_power=(P, X),
    dist=(X, R(3, 4, 5)),
    special_xlogy=(P, P),
)
for n, (a, b) in binary.items():
    f = getattr(torch, n, None) or getattr(torch.special, n[8:])
    fn("b_" + n, f, a, b, ts=1)
for n in ("fmod", "remainder", "floor_divide", "div", "pow"):
    fn(f"bi_{n}", getattr(torch, n), IX - 10, I(7, 5) + 1, ts=2)
    fn(f"bi32_{n}", getattr(torch, n), (IX - 10).int(), (I(7, 5) - 8).int() if n != "pow" else I(3, 5).int(), ts=1)
for mode in ("trunc", "floor", None):
    fn(f"div_{mode}", lambda a, b, mode=mode: torch.div(a, b, rounding_mode=mode), X * 7, P)
    fn(f"divi_{mode}", lambda a, b, mode=mode: torch.div(a, b, rounding_mode=mode), IX - 10, I(7, 5) + 1)
fn("rsub", lambda x: 1 - x, X)
fn("rpow", lambda x: 2**x, X)
fn("pow_half", lambda x: x**0.5, P, dtypes=("f32", "f16"))
fn("pow_2", lambda x: x**2, X, dtypes=("f32", "f16", "bf16"))
fn("pow_3i", lambda x: x**3, IX)
fn("add_alpha", lambda x, y: torch.add(x, y, alpha=3), X, X)
fn("mix_types", lambda x, i: x * i + i.float() - (i > 3), X, IX)
fn("mix_int", lambda x, y: x + y, IX.int(), IX)
fn("mix_bool", lambda x, y: x + y, IX.int(), X > 0)
fn("clamp", lambda x: torch.clamp(x, -0.5, 0.5), X, dtypes=("f32", "f16"))
fn("clamp_min", lambda x: torch.clamp(x, min=0.1), X)
fn("clamp_int", lambda x: torch.clamp(x, 3, 9), IX)
fn("clamp_t", lambda x, a, b: torch.clamp(x, a, b), X, -P, P)
fn("lerp", torch.lerp, X, X + 1, torch.rand(3, 4, 5))
fn("lerp_s", lambda a, b: torch.lerp(a, b, 0.3), X, X + 1)
fn("addcmul", lambda a, b, c: torch.addcmul(a, b, c, value=0.3), X, X, X)
fn("addcdiv", lambda a, b, c: torch.addcdiv(a, b, c, value=0.3), X, X, P)
fn("where", lambda c, a, b: torch.where(c, a, b), X > 0, X, P)
fn("where_s", lambda c, a: torch.where(c, a, 0.0), X > 0, X)
fn("where_int", lambda c, a: torch.where(c, a, -1), X > 0, IX)
fn("where_1", lambda c: torch.where(c), X > 0, dyn=(B,), alt=lambda: (R(4, 4, 5) > 0,))
fn("masked_fill", lambda x, m: x.masked_fill(m, float("-inf")), X, X > 0, dtypes=("f32", "f16"))
fn("masked_fill_t", lambda x, m, v: x.masked_fill(m, v), X, R(4, 5) > 0, torch.tensor(3.0))
fn("masked_select", torch.masked_select, X, X > 0)
fn("masked_scatter", lambda x, m, s: x.masked_scatter(m, s), X, X > 0, R(60))
# reductions
for n in (
    "sum",
    "mean",
    "prod",
    "amax",
    "amin",
    "logsumexp",
    "std",
    "var",
    "median",
    "norm",
    "argmax",
    "argmin",
    "max",
    "min",
    "all",
    "any",
    "count_nonzero",
    "nansum",
    "nanmean",
    "cumsum",
    "cumprod",
    "logcumsumexp",
    "cummax",
    "cummin",
    "mode",
    "nanmedian",
    "std_mean",
    "var_mean",
    "aminmax",
):
    x = X > 0 if n in ("all", "any") else X
    f = getattr(torch, n)
    if n not in ("cumsum", "cumprod", "logcumsumexp", "cummax", "cummin", "logsumexp", "mode"):
        fn(f"r_{n}_all", lambda x, f=f: f(x), x, dyn=ID, alt=lambda x=x: (x.reshape(2, 6, 5)[:, :5],), ts=1)
    for ax in (0, -1):
        if n in ("aminmax", "norm"):
            g = lambda x, f=f, ax=ax: f(x, dim=ax)
        else:
            g = lambda x, f=f, ax=ax: f(x, ax)
        fn(f"r_{n}_{ax}", g, x, dyn=ID, alt=lambda x=x: (x.reshape(2, 6, 5)[:, :5],), ts=1)
    if n in ("sum", "mean", "amax", "amin", "logsumexp", "std", "var", "norm", "nansum"):
        fn(f"r_{n}_02k", lambda x, f=f: f(x, dim=(0, 2), keepdim=True), x, ts=2, dtypes=("f32", "f16"))
    if n in ("argmax", "max", "min", "median"):
        fn(f"r_{n}_1k", lambda x, f=f: f(x, dim=1, keepdim=True), x, ts=1)
for n in ("sum", "prod", "amax", "cumsum", "argmax", "max"):
    fn(f"ri_{n}", lambda x, f=getattr(torch, n): f(x, 1) if n != "amax" else f(x, dim=1), IX)
    fn(f"ri32_{n}", lambda x, f=getattr(torch, n): f(x, 1), IX.int(), ts=1)
fn("sum_bool", lambda x: x.sum(1), X > 0)
fn("sum_dtype", lambda x: x.sum(1, dtype=torch.float64), X)
fn("mean_dtype", lambda x: x.mean(1, dtype=torch.float32), IX)
for p in (0, 1, 2, 3, float("inf"), float("-inf")):
    fn(f"norm_{p}", lambda x, p=p: torch.norm(x, p=p, dim=1), X, ts=1)
    fn(f"vector_norm_{p}", lambda x, p=p: torch.linalg.vector_norm(x, ord=p, dim=1), X, ts=1)
fn("matrix_norm", lambda x: torch.linalg.matrix_norm(x), X)
fn("matrix_norm_1", lambda x: torch.linalg.matrix_norm(x, ord=1), X)
fn("normalize", lambda x: FF.normalize(x, dim=1), X, dtypes=("f32", "f16"))
fn("renorm", lambda x: torch.renorm(x, 2, 0, 1.0), X)
fn("cosine", lambda x, y: FF.cosine_similarity(x, y, dim=-1), X, R(3, 4, 5))
fn("cdist", torch.cdist, R(2, 4, 5), R(2, 6, 5))
fn("cdist_1", lambda a, b: torch.cdist(a, b, p=1.0), R(2, 4, 5), R(2, 6, 5))
fn("cdist_big", lambda a, b: torch.cdist(a, b, compute_mode="use_mm_for_euclid_dist"), R(2, 40, 5), R(2, 36, 5))
fn("pdist", torch.pdist, R(6, 5))
fn("quantile", lambda x: torch.quantile(x, 0.3, dim=1), X)
fn("quantile_q", lambda x, q: torch.quantile(x, q, dim=1), X, torch.tensor([0.2, 0.9]))
fn("histc", lambda x: torch.histc(x, 10, -3, 3), X)
fn("bincount", lambda x: torch.bincount(x, minlength=10), I(10, 30))
fn("corrcoef", torch.corrcoef, R(3, 9))
fn("cov", torch.cov, R(3, 9))
# shapes and views
fn("reshape", lambda x: x.reshape(x.shape[0], -1), X, dyn=ID, alt=A2)
fn(
    "view_mix",
    lambda x: x.view(x.size(0), 2, x.size(1) // 2, x.size(2)).transpose(1, 2).reshape(x.size(0), -1, x.size(2)),
    X,
    dyn=ID,
    alt=A2,
)
fn("permute", lambda x: x.permute(2, 0, 1).contiguous(), X, dyn=ID, alt=A2)
fn("transpose", lambda x: x.transpose(0, -1), X)
fn("movedim", lambda x: torch.movedim(x, 0, -1), X)
fn("T", lambda x: x.mT, X)
fn("squeeze", lambda x: x.squeeze(), R(1, 3, 1, 4))
fn("squeeze_1", lambda x: x.squeeze(1), R(3, 1, 4), dyn=({0: "b"},), alt=lambda: (R(5, 1, 4),))
fn("squeeze_many", lambda x: x.squeeze((0, 2)), R(1, 3, 1, 4))
fn("unsqueeze", lambda x: x.unsqueeze(-1).unsqueeze(1), X)
fn("expand", lambda x: x.expand(3, -1, 5), R(1, 4, 1))
fn("expand_as", lambda x, y: x.expand_as(y), R(4, 1), X, dyn=(None, B), alt=lambda: (R(4, 1), R(6, 4, 5)))
fn("repeat", lambda x: x.repeat(2, 1, 3), X)
fn("repeat_more", lambda x: x.repeat(2, 1, 1, 3), X)
fn("tile", lambda x: x.tile((2, 3)), X)
fn("repeat_interleave", lambda x: x.repeat_interleave(3, dim=1), X, dyn=ID, alt=A2)
fn("repeat_interleave_t", lambda x, n: torch.repeat_interleave(x, n, dim=1), X, torch.tensor([1, 0, 3, 2]))
fn("repeat_interleave_flat", lambda x: x.repeat_interleave(2), X)
fn("cat", lambda a, b: torch.cat([a, b, a], 1), X, X)
fn("cat_empty", lambda a: torch.cat([a, a[:, :0]], 1), X)
fn("stack", lambda a, b: torch.stack([a, b], 1), X, X)
fn("hstack", lambda a, b: torch.hstack([a, b]), X, X)
fn("chunk", lambda x: torch.chunk(x, 3, 1), X)
fn("split", lambda x: torch.split(x, 2, 2), X)
fn("split_sizes", lambda x: torch.split(x, [1, 3], 1), X)
fn("tensor_split", lambda x: torch.tensor_split(x, (1, 2), 2), X)
fn("unbind", lambda x: torch.unbind(x, 1), X)
fn("select", lambda x: x.select(1, -2), X)
fn("narrow", lambda x: x.narrow(1, 1, 2), X)
fn("flip", lambda x: torch.flip(x, (0, 2)), X)
fn("rot90", lambda x: torch.rot90(x, 1, (0, 1)), X)
fn("roll", lambda x: torch.roll(x, (1, -2), (0, 2)), X, dyn=ID, alt=A2)
fn("roll_flat", lambda x: torch.roll(x, 3), X)
fn("diag", torch.diag, R(4, 5))
fn("diag_make", torch.diag, R(4))
fn("diagonal", lambda x: torch.diagonal(x, 1, 1, 2), X)
fn("diag_embed", lambda x: torch.diag_embed(x, 1), X)
fn("trace", torch.trace, R(4, 4))
for k in (-1, 0, 2):
    fn(f"tril_{k}", lambda x, k=k: torch.tril(x, k), X)
    fn(f"triu_{k}", lambda x, k=k: torch.triu(x, k), X, dyn=ID, alt=A2)
fn("tril_bool", lambda x: torch.tril(x), X > 0)
fn("tril_indices", lambda x: x[..., torch.tril_indices(4, 4)[0], torch.tril_indices(4, 4)[1]], R(2, 4, 4))
fn("unfold_t", lambda x: x.unfold(2, 3, 1), X)
fn("unfold_t2", lambda x: x.unfold(1, 2, 2), X, dyn=(B,), alt=lambda: (R(5, 4, 5),))
fn("as_strided", lambda x: x.as_strided((2, 3), (5, 2), 1), X)
fn("meshgrid", lambda a, b: torch.meshgrid(a, b, indexing="ij"), R(3), R(4))
fn("meshgrid_xy", lambda a, b: torch.meshgrid(a, b, indexing="xy"), R(3), R(4))
fn("cartesian", lambda a, b: torch.cartesian_prod(a, b), R(3), R(4))
fn("combinations", lambda a: torch.combinations(a, 2), R(5))
fn("block_diag", lambda a, b: torch.block_diag(a, b), R(3, 2), R(4, 1))
fn("vander", lambda a: torch.vander(a, 4), R(3))
for m in ("constant", "reflect", "replicate", "circular"):
    fn(f"pad_{m}", lambda x, m=m: FF.pad(x, (1, 2, 0, 1), mode=m) if m == "constant" else FF.pad(x, (1, 2), mode=m), X, least=11)
    fn(
        f"pad4_{m}",
        lambda x, m=m: FF.pad(x, (1, 2, 3, 1), mode=m),
        R(2, 3, 5, 6),
        dyn=({0: "b", 2: "h"},),
        alt=lambda: (R(1, 3, 7, 6),),
        least=11,
    )
fn("pad_negative", lambda x: FF.pad(x, (-1, 2, 1, -1)), X)
fn("pad_int", lambda x: FF.pad(x, (1, 2), value=7), IX)
fn("pad_bool", lambda x: FF.pad(x, (1, 2), value=True), X > 0)
# indexing
fn("ix_slice", lambda x: x[1:, ::2, -3:-1], X, dyn=ID, alt=A2)
fn("ix_none", lambda x: x[:, None, 1, ..., None], X)
fn("ix_int_tensor", lambda x, i: x[i], X, I(3, 6), dyn=(B, {0: "n"}), alt=lambda: (R(4, 4, 5), I(3, 2)))
fn("ix_neg_tensor", lambda x, i: x[i], X, I(6, 6) - 3)
fn("ix_two", lambda x, i, j: x[i, j], X, I(3, 6), I(4, 6))
fn("ix_two_apart", lambda x, i, j: x[i, :, j], X, I(3, 6), I(5, 6))
fn("ix_two_mid", lambda x, i, j: x[:, i, j], X, I(4, 6), I(5, 6))
fn("ix_broadcast", lambda x, i, j: x[i[:, None], j], X, I(3, 2), I(4, 3))
fn("ix_mask", lambda x: x[x > 0], X, dyn=(B,), alt=lambda: (R(5, 4, 5),))
fn("ix_mask_rows", lambda x, m: x[m], X, torch.tensor([True, False, True]))
fn("ix_mask_mid", lambda x, m: x[:, m], X, torch.tensor([True, False, True, True]))
fn("ix_mask_int", lambda x, m, i: x[m, i], X, torch.tensor([True, False, True]), I(4, 2))
fn("ix_nonzero", lambda x: (x > 0).nonzero(), X, dyn=(B,), alt=lambda: (R(5, 4, 5),))
fn("ix_nonzero_tuple", lambda x: (x > 0).nonzero(as_tuple=True), X)
fn("ix_argwhere", lambda x: torch.argwhere(x > 0), X)


def put(f):
    def g(x, *a):
        x = x.clone()
        f(x, *a)
        return x

    return g


def s1(x):
    x[1:, ::2] = 3.0


def s2(x, v):
    x[:, 1] = v


def s3(x):
    x[x > 0] = -1.0


def s4(x, i):
    x[i] = 0.0


def s5(x, i, j, v):
    x[i, j] = v


def s6(x, i, v):
    x[:, :, i] = v


def s7(x, m, v):
    x[m] = v


def s8(x):
    x[..., -1] += 2


def s9(x, i):
    x[:, i, 1:3] = 5.0


fn("put_slice", put(s1), X, dyn=ID, alt=A2)
fn("put_row", put(s2), X, R(3, 5))
fn("put_mask", put(s3), X)
fn("put_rows", put(s4), X, torch.tensor([0, 2]))
fn("put_two", put(s5), X, torch.tensor([0, 2]), torch.tensor([1, 3]), R(2, 5))
fn("put_cols", put(s6), X, torch.tensor([0, 2]), R(3, 4, 2))
fn("put_mask_values", put(s7), X, torch.tensor([True, False, True]), R(2, 4, 5))
fn("put_last", put(s8), X)
fn("put_mixed", put(s9), X, torch.tensor([0, 2]))
fn("index_put", lambda x, i, v: x.index_put((i,), v), X, torch.tensor([0, 2]), R(2, 4, 5))
fn("index_put_acc", lambda x, i, v: x.index_put((i,), v, accumulate=True), X, torch.tensor([0, 0, 2]), R(3, 4, 5), least=16)
fn(
    "index_put_acc2",
    lambda x, i, j, v: x.index_put((i, j), v, accumulate=True),
    X,
    torch.tensor([0, 0, 2]),
    torch.tensor([1, 1, 3]),
    R(3, 5),
    least=16,
)
fn("index_select", lambda x, i: x.index_select(1, i), X, I(4, 6))
fn("index_add", lambda x, i, v: x.index_add(1, i, v), X, torch.tensor([0, 0, 2]), R(3, 3, 5))
fn("index_copy", lambda x, i, v: x.index_copy(1, i, v), X, torch.tensor([0, 2]), R(3, 2, 5))
fn("index_fill", lambda x, i: x.index_fill(1, i, -3.0), X, torch.tensor([0, 2]))
fn("index_reduce", lambda x, i, v: x.index_reduce(1, i, v, "amax"), X, torch.tensor([0, 2, 0]), R(3, 3, 5))
fn("gather", lambda x, i: x.gather(1, i), X, I(4, 3, 2, 5), dyn=(B, B), alt=lambda: (R(2, 4, 5), I(4, 2, 2, 5)))
fn("gather_smaller", lambda x, i: x.gather(0, i), X, I(3, 2, 2, 3))
fn("take", torch.take, X, I(60, 7))
fn("take_neg", torch.take, X, I(60, 7) - 60)
fn("take_along_dim", lambda x, i: torch.take_along_dim(x, i, 1), X, I(4, 3, 2, 1))
fn("scatter", lambda x, i, v: x.scatter(1, i, v), X, torch.argsort(R(3, 4, 5), 1)[:, :2], R(3, 2, 5))
fn("scatter_v", lambda x, i: x.scatter(1, i, 2.5), X, I(4, 3, 2, 5))
fn("scatter_add", lambda x, i, v: x.scatter_add(1, i, v), X, I(4, 3, 6, 5), R(3, 6, 5), least=13)
for r in ("sum", "prod", "amax", "amin", "mean"):
    for inc in (True, False):
        fn(
            f"scatter_reduce_{r}_{int(inc)}",
            lambda x, i, v, r=r, inc=inc: x.scatter_reduce(1, i, v, r, include_self=inc),
            X,
            I(3, 3, 6, 5),
            R(3, 6, 5),
            least=16,
            ts=1,
        )
fn("slice_scatter", lambda x, v: torch.slice_scatter(x, v, 1, 1, 3), X, R(3, 2, 5))
fn("select_scatter", lambda x, v: torch.select_scatter(x, v, 1, 2), X, R(3, 5))
fn("diagonal_scatter", lambda x, v: torch.diagonal_scatter(x, v), R(4, 4), R(4))
# order
U1 = torch.tensor([3, 1, 2, 3, 1, 7, 7, 0])
fn("unique", lambda x: torch.unique(x), U1, dyn=(B,), alt=lambda: (I(4, 11),), least=11)
fn("unique_all", lambda x: torch.unique(x, return_inverse=True, return_counts=True), U1, least=11)
fn("unique_dim", lambda x: torch.unique(x, dim=0, return_inverse=True, return_counts=True), I(2, 7, 2), least=11)
fn("unique_float", lambda x: torch.unique(x.round()), X, least=11)
fn("unique_consecutive", lambda x: torch.unique_consecutive(x, return_inverse=True, return_counts=True), U1)
fn("topk", lambda x: torch.topk(x, 2, 1), X, dyn=ID, alt=A2, dtypes=("f32", "f16"))
fn("topk_small", lambda x: torch.topk(x, 3, 2, largest=False), X)
fn("topk_int", lambda x: torch.topk(x, 2, 0), torch.randperm(60).reshape(3, 4, 5))
fn("sort", lambda x: torch.sort(x, 1), X, dyn=ID, alt=A2)
fn("sort_desc", lambda x: torch.sort(x, 2, descending=True), X)
fn("sort_stable", lambda x: torch.sort(x, dim=0, stable=True), torch.randperm(60).reshape(3, 4, 5))
fn("argsort", lambda x: torch.argsort(x, 1), X)
fn("argsort_desc", lambda x: torch.argsort(x, -1, descending=True), X)
fn("kthvalue", lambda x: torch.kthvalue(x, 2, 1), X)
fn("msort", torch.msort, X)
fn("searchsorted", lambda s, v: torch.searchsorted(s, v), torch.sort(R(9))[0], X)
fn("searchsorted_right", lambda s, v: torch.searchsorted(s, v, right=True), torch.sort(R(3, 9))[0], R(3, 4))
fn("bucketize", lambda v, s: torch.bucketize(v, s), X, torch.sort(R(9))[0])
fn("bucketize_right", lambda v, s: torch.bucketize(v, s, right=True), X.round(), torch.tensor([-2.0, -1, 0, 1, 2]))
fn("isin", torch.isin, IX, I(20, 5))
# creating
fn("arange_n", lambda x: torch.arange(x.shape[1]) + x.shape[0], X, dyn=ID, alt=A2)
fn("arange_step", lambda x: torch.arange(1, x.shape[1] * 2, 2, dtype=torch.float32), X, dyn=ID, alt=A2)
fn("linspace", lambda x: torch.linspace(-1, 1, x.shape[1]) * x[0, :, 0], X)
fn("logspace", lambda x: torch.logspace(0, 2, 4) * x[0, :, 0], X)
fn("full", lambda x: torch.full((x.shape[0], 3), 2.5) + x[:, :3, 0], X, dyn=ID, alt=A2)
fn("full_like", lambda x: torch.full_like(x, 7), IX)
fn("zeros_like", lambda x: torch.zeros_like(x) + torch.ones_like(x, dtype=torch.int64), X, dyn=ID, alt=A2)
fn("new_full", lambda x: x.new_full((2, x.size(1)), 3.0), X, dyn=ID, alt=A2)
fn("eye", lambda x: torch.eye(4) @ x, X)
fn("eye_n", lambda x: torch.eye(x.shape[1], x.shape[2]) + x, X, dyn=ID, alt=A2)
fn("one_hot", lambda x: FF.one_hot(x, 6), I(6, 3, 4), dyn=({0: "a"},), alt=lambda: (I(6, 5, 4),))
fn("causal_mask", lambda x: x.masked_fill(torch.triu(torch.ones(x.size(1), x.size(2), dtype=torch.bool), 1), -1e9), X, dyn=ID, alt=A2)
fn("positions", lambda x: torch.arange(x.shape[1], device=x.device)[None].expand(x.shape[0], -1), X, dyn=ID, alt=A2)
fn("scalar_tensor", lambda x: x * torch.tensor(3.0) + torch.tensor([1.0, 2, 3, 4, 5]), X)
fn("type_as", lambda x, i: i.type_as(x), X, IX)
for a in (torch.float32, torch.int64, torch.bool, torch.float16, torch.int32, torch.uint8):
    for b in (torch.float32, torch.int64, torch.bool, torch.float64, torch.int8):
        if a != b:
            fn(f"cast_{str(a)[6:]}_{str(b)[6:]}", lambda x, b=b: x.to(b), (torch.rand(3, 4, 5) * 9).to(a), ts=1, dynamo=0)
fn("numel", lambda x: x * x.numel() + x.dim(), X, dyn=ID, alt=A2)
# products
fn("matmul_22", torch.matmul, R(3, 4), R(4, 5), dtypes=("f32", "f16", "bf16", "f64"))
fn("matmul_12", torch.matmul, R(4), R(4, 5))
fn("matmul_21", torch.matmul, R(3, 4), R(4))
fn("matmul_11", torch.matmul, R(4), R(4))
fn("matmul_31", torch.matmul, R(2, 3, 4), R(4))
fn("matmul_13", torch.matmul, R(3), R(2, 3, 4))
fn("matmul_43", torch.matmul, R(2, 1, 3, 4), R(5, 4, 6))
fn("matmul_int", torch.matmul, I(9, 3, 4), I(9, 4, 5))
fn("matmul_empty", lambda a, b: a[:, :0] @ b[:0], R(3, 4), R(4, 5))
fn("bmm", torch.bmm, R(2, 3, 4), R(2, 4, 5))
fn("baddbmm", lambda a, b, c: torch.baddbmm(a, b, c, beta=0.5, alpha=2), R(2, 3, 5), R(2, 3, 4), R(2, 4, 5))
fn("addmm", lambda a, b, c: torch.addmm(a, b, c, beta=0.5, alpha=2), R(5), R(3, 4), R(4, 5))
fn("addmv", lambda a, b, c: torch.addmv(a, b, c), R(3), R(3, 4), R(4))
fn("addr", lambda a, b, c: torch.addr(a, b, c), R(3, 4), R(3), R(4))
fn("addbmm", lambda a, b, c: torch.addbmm(a, b, c), R(3, 5), R(2, 3, 4), R(2, 4, 5))
fn("outer", torch.outer, R(3), R(4))
fn("dot", torch.dot, R(4), R(4))
fn("inner", torch.inner, R(3, 4), R(5, 4))
fn("kron", torch.kron, R(3, 4), R(2, 2))
fn("cross", lambda a, b: torch.linalg.cross(a, b, dim=1), R(3, 3, 5), R(3, 3, 5))
fn("tensordot", lambda a, b: torch.tensordot(a, b, dims=([1, 2], [0, 2])), X, R(4, 3, 5))
for i, (e, s) in enumerate(
    {
        "ij,jk->ik": ((3, 4), (4, 5)),
        "bij,bjk->bik": ((2, 3, 4), (2, 4, 5)),
        "bhqd,bhkd->bhqk": ((2, 3, 4, 5), (2, 3, 6, 5)),
        "ij->ji": ((3, 4),),
        "ij->": ((3, 4),),
        "ii->i": ((4, 4),),
        "ii": ((4, 4),),
        "ij,ij->i": ((3, 4), (3, 4)),
        "i,j->ij": ((3,), (4,)),
        "...ij,...jk->...ik": ((2, 3, 4), (2, 4, 5)),
        "bi,ij,bj->b": ((2, 3), (3, 4), (2, 4)),
        "bhwc,hkc->bhwk": ((2, 3, 4, 5), (3, 6, 5)),
        "abc,cd->abd": ((2, 3, 4), (4, 5)),
        "nkctv,kvw->nctw": ((2, 3, 4, 5, 6), (3, 6, 6)),
        "bij,bkj->bik": ((2, 3, 4), (2, 5, 4)),
    }.items()
):
    fn(f"einsum_{i}", lambda *a, e=e: torch.einsum(e, *a), *[R(*k) for k in s], least=11)
SPD = (lambda a: a @ a.mT + torch.eye(4))(R(2, 4, 4))
fn("inverse", torch.inverse, SPD)
fn("det", torch.linalg.det, SPD)
fn("slogdet", torch.linalg.slogdet, SPD)
fn("cholesky", torch.linalg.cholesky, SPD)
fn("solve", torch.linalg.solve, SPD, R(2, 4, 3))
fn("triangular", lambda a, b: torch.linalg.solve_triangular(torch.tril(a), b, upper=False), SPD, R(2, 4, 3))
fn("matrix_power", lambda a: torch.linalg.matrix_power(a, 3), SPD)
fn("matrix_exp", torch.matrix_exp, SPD * 0.1)
fn("pinv", torch.linalg.pinv, R(4, 3))
fn("svdvals", torch.linalg.svdvals, R(4, 3))
fn("eigvalsh", torch.linalg.eigvalsh, SPD)
fn("qr", torch.linalg.qr, R(4, 3))
fn("multi_dot", lambda a, b, c: torch.linalg.multi_dot([a, b, c]), R(3, 4), R(4, 5), R(5, 2))
# signals and complex numbers
for n in (16, 15):
    for c in (True, False):
        fn(
            f"stft_{n}_{int(c)}",
            lambda x, n=n, c=c: torch.view_as_real(torch.stft(x, n, 4, window=torch.hann_window(n), center=c, return_complex=True)),
            R(2, 64),
            least=17,
        )
fn("stft_mag", lambda x: torch.stft(x, 16, 4, window=torch.hann_window(16), return_complex=True).abs(), R(2, 64), least=17)
fn("stft_full", lambda x: torch.stft(x, 16, 4, window=torch.ones(16), return_complex=False, onesided=False), R(2, 64), least=17)
fn(
    "istft",
    lambda x: torch.istft(torch.stft(x, 16, 4, window=torch.hann_window(16), return_complex=True), 16, 4, window=torch.hann_window(16)),
    R(2, 64),
    least=17,
)
fn("rfft", lambda x: torch.view_as_real(torch.fft.rfft(x)), R(2, 12), least=17)
fn("rfft_n", lambda x: torch.view_as_real(torch.fft.rfft(x, 10, norm="ortho")), R(2, 12), least=17)
fn("irfft", lambda x: torch.fft.irfft(torch.fft.rfft(x), 12), R(2, 12), least=17)
fn("fft", lambda x: torch.view_as_real(torch.fft.fft(torch.complex(x, x * 2))), R(2, 12), least=17)
fn("fft_dim", lambda x: torch.view_as_real(torch.fft.fft(torch.view_as_complex(x), dim=0)), R(6, 4, 2), least=17)
fn("fft2", lambda x: torch.view_as_real(torch.fft.fft2(x)), R(2, 6, 8), least=17)
fn("rfft2", lambda x: torch.view_as_real(torch.fft.rfft2(x)), R(2, 6, 8), least=17)
fn("ifft", lambda x: torch.view_as_real(torch.fft.ifft(torch.view_as_complex(x))), R(2, 12, 2), least=17)
fn("fftshift", lambda x: torch.fft.fftshift(x, dim=1), X)
fn("complex_mul", lambda a, b: torch.view_as_real(torch.view_as_complex(a) * torch.view_as_complex(b)), R(3, 4, 2), R(3, 4, 2))
fn("complex_abs", lambda a: torch.view_as_complex(a).abs(), R(3, 4, 2))
fn("complex_angle", lambda a: torch.angle(torch.view_as_complex(a)), R(3, 4, 2))
fn("complex_conj", lambda a: torch.view_as_real(torch.view_as_complex(a).conj()), R(3, 4, 2))
fn("complex_polar", lambda a, b: torch.view_as_real(torch.polar(a, b)), P, X)
fn(
    "complex_rope",
    lambda x, f: torch.view_as_real(torch.view_as_complex(x.reshape(2, 5, 4, 2)) * torch.polar(torch.ones_like(f), f)).flatten(2),
    R(2, 5, 8),
    R(5, 4),
)
fn("complex_matmul", lambda a, b: torch.view_as_real(torch.view_as_complex(a) @ torch.view_as_complex(b)), R(3, 4, 2), R(4, 5, 2))
fn("complex_real_imag", lambda a: torch.view_as_complex(a).real + torch.view_as_complex(a).imag, R(3, 4, 2))
fn("complex_exp", lambda a: torch.view_as_real(torch.exp(torch.view_as_complex(a))), R(3, 4, 2))
fn("hann", lambda x: x * torch.hann_window(x.shape[-1]), X, least=17)
fn("hamming", lambda x: x * torch.hamming_window(x.shape[-1], periodic=False), X, least=17)
fn("conv_fn", lambda x, w: FF.conv2d(x, w, padding=1), R(2, 3, 6, 7), R(4, 3, 3, 3))
fn("convT_fn", lambda x, w: FF.conv_transpose2d(x, w, stride=2), R(2, 3, 6, 7), R(3, 4, 3, 3))
fn("conv_tbc", lambda x, w, b: torch.conv_tbc(x, w, b), R(6, 2, 3), R(3, 3, 4), R(4))
fn("gumbel_hard", lambda x: FF.gumbel_softmax(x, hard=True).sum(-1), X)
fn("fake_quant", lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 3, -128, 127), X, least=13)
fn(
    "fake_quant_ch",
    lambda x: torch.fake_quantize_per_channel_affine(
        x, torch.tensor([0.1, 0.2, 0.05, 0.3]), torch.tensor([0, 3, -2, 1]).int(), 1, -128, 127
    ),
    X,
    least=13,
)
case("fn_weight_norm_mod", lambda: (torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(5, 6)), (X,)))
case("fn_spectral_norm_mod", lambda: (torch.nn.utils.parametrizations.spectral_norm(torch.nn.Linear(5, 6)), (X,)))
# loops and branches
J = torch.nn.Module


class If1(J):
    def forward(self, x):
        if bool(x.sum() > 0):
            return x * 2
        else:
            return x - 1


class If2(J):
    def forward(self, x, n: int = 3):
        if x.shape[0] > 2:
            y = x.sum(0)
        else:
            y = x[0]
        return y


class For1(J):
    def forward(self, x):
        h = torch.zeros(x.shape[1], x.shape[2])
        for i in range(x.shape[0]):
            h = torch.tanh(h + x[i])
        return h


class For2(J):
    def forward(self, x):
        ys = []
        for i in range(x.shape[0]):
            ys.append(x[i].sum(0) * float(i))
        return torch.stack(ys)


class While1(J):
    def forward(self, x):
        i = 0
        while bool(x.sum() < 100.0) and i < 50:
            x = x * 2 + 1
            i += 1
        return x, torch.tensor(i)


class Nested(J):
    def forward(self, x):
        t = torch.zeros(x.shape[2])
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                if bool(x[i, j].sum() > 0):
                    t = t + x[i, j]
                else:
                    t = t - x[i, j] * 0.5
        return t


class Greedy(J):
    """A loop that makes tokens one at a time, as exported generation loops do."""

    def __init__(self):
        super().__init__()
        self.e = torch.nn.Embedding(11, 8)
        self.g = torch.nn.GRUCell(8, 8)
        self.o = torch.nn.Linear(8, 11)

    def forward(self, h):
        tok = torch.zeros(h.shape[0], dtype=torch.long)
        out = torch.zeros(h.shape[0], 0, dtype=torch.long)
        for i in range(6):
            h = self.g(self.e(tok), h)
            tok = self.o(h).argmax(-1)
            out = torch.cat([out, tok[:, None]], 1)
        return out, h


class GreedyEnd(Greedy):
    def forward(self, h):
        tok = torch.zeros(h.shape[0], dtype=torch.long)
        out = torch.zeros(h.shape[0], 0, dtype=torch.long)
        i = 0
        done = False
        while i < 20 and not done:
            h = self.g(self.e(tok), h)
            tok = self.o(h).argmax(-1)
            out = torch.cat([out, tok[:, None]], 1)
            done = bool((tok == 5).all())
            i += 1
        return out, h


D3 = ({0: "a", 1: "b", 2: "c"},)
for n, M in dict(if1=If1, if2=If2, for1=For1, for2=For2, while1=While1, nested=Nested).items():
    case(
        f"fn_script_{n}",
        lambda M=M: (M(), (torch.rand(3, 4, 5),)),
        script=True,
        dyn=D3,
        alt=lambda: (-torch.rand(2, 3, 2),),
        ts=3,
        least=11,
    )
for n, M in dict(greedy=Greedy, greedyend=GreedyEnd).items():
    case(f"fn_script_{n}", lambda M=M: (M(), (R(2, 8),)), script=True, dyn=(B,), alt=lambda: (R(3, 8),), ts=3, least=11)


class Cond(J):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x.cos() * 2, lambda x: x.sin() - 1, (x,))


class CondTwo(J):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(5, 6), torch.nn.Linear(5, 6)

    def forward(self, x, f):
        return torch.cond(f, lambda x: (self.a(x).relu(), x.sum()), lambda x: (self.b(x), x.mean()), (x,))


class CondNest(J):
    def forward(self, x):
        def inner(x):
            return torch.cond(x.max() > 1, lambda x: x + 1, lambda x: x - 1, (x,))

        return torch.cond(x.sum() > 0, inner, lambda x: x * 3, (x,))


class WhileHop(J):
    def forward(self, i, x):
        from torch._higher_order_ops.while_loop import while_loop

        return while_loop(lambda i, x: i < 5, lambda i, x: (i + 1, x * 1.5 + i.float()), (i, x))


class ScanHop(J):
    def forward(self, h, x):
        from torch._higher_order_ops.scan import scan

        return scan(lambda h, x: (h * 0.5 + x, (h * 0.5 + x).clone()), h, x)


case("fn_cond", lambda: (Cond(), (X,)), ts=0, dynamo=4, dyn=D3, alt=lambda: (-torch.rand(2, 3, 4),))
case("fn_cond2", lambda: (CondTwo(), (X, torch.tensor(True))), ts=0, dynamo=2, alt=lambda: (X, torch.tensor(False)))
case("fn_condnest", lambda: (CondNest(), (X.abs(),)), ts=0, dynamo=2, alt=lambda: (-X.abs(),))
case("fn_whileloop", lambda: (WhileHop(), (torch.tensor(0), X)), ts=0, dynamo=3)
case("fn_scan", lambda: (ScanHop(), (R(4), R(6, 4))), ts=0, dynamo=3)
