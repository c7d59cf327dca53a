"""Where Kiln means something else than PyTorch: what Kiln gives, said in PyTorch, so that values, indices and gradients are
compared all the same. A line is a name of the database, the reason, and a function of PyTorch's own and the operands. A reason
by which no sample differs from PyTorch fails the run: it explains nothing any more."""

import torch

DIFFERENCES = {}


def differs(names, reason):
    def add(function):
        for name in names.split():
            DIFFERENCES[name] = (reason, function)
        return function

    return add


# ---- which of equal elements


@differs("sort argsort", "Kiln's sort is stable, PyTorch's only where it is asked to be")
def stable(op, x, dim=-1, descending=False, stable=True):
    return op(x, dim=dim, descending=descending, stable=True)


@differs("topk", "of equal elements Kiln gives the first positions, PyTorch any")
def topk(op, x, k, dim=-1, largest=True, sorted=True):
    if not x.dim():
        return op(x, k, dim, largest, sorted)
    values, at = torch.sort(x, dim=dim, descending=largest, stable=True)
    return values.narrow(dim, 0, k), at.narrow(dim, 0, k)


@differs("kthvalue", "of equal elements Kiln gives the one that a stable sort has there, PyTorch any")
def kthvalue(op, x, k, dim=-1, keepdim=False):
    if not x.dim():
        return op(x, k, dim, keepdim)
    values, at = torch.sort(x, dim=dim, stable=True)
    found = values.narrow(dim, k - 1, 1), at.narrow(dim, k - 1, 1)
    return found if keepdim else tuple(t.squeeze(dim) for t in found)


@differs("mode", "of the positions of the most frequent value Kiln gives the last, PyTorch any")
def mode(op, x, dim=-1, keepdim=False):
    values, at = op(x, dim, True)
    if x.dim():
        places = torch.arange(x.shape[dim]).reshape([-1] + [1] * (x.dim() - 1 - dim % x.dim()))
        at = torch.where(x == values, places, -1).amax(dim, keepdim=True)
    return (values, at) if keepdim or not x.dim() else (values.squeeze(dim), at.squeeze(dim))


# ---- what only has a size: vectors whose sign is arbitrary


@differs("linalg.svd svd", "signs of singular vectors are arbitrary: their sizes are compared, and not those that full adds")
def svd(op, a, *args, **settings):
    u, s, v = op(a, *args, **settings)
    n = min(a.shape[-2:])
    return u[..., :n].abs(), s, (v[..., :n, :] if "linalg" in op.__name__ else v[..., :n]).abs()


@differs("linalg.eigh", "signs of eigenvectors are arbitrary: their sizes are compared")
def eigh(op, a, **settings):
    values, vectors = op(a, **settings)
    return values, vectors.abs()


# ---- what is given


@differs("lu linalg.lu_factor linalg.lu_factor_ex", "Kiln gives the permutation of the rows, PyTorch LAPACK's swaps")
def lu(op, a, *args, **settings):
    packed, pivots = op(a, *args, **settings)[:2]
    return packed, torch.lu_unpack(packed, pivots, unpack_data=False)[0].argmax(-2)


@differs("linalg.lstsq", "Kiln gives the solution, PyTorch also residuals, rank and singular values")
def lstsq(op, a, b, **settings):
    return op(a, b, **settings)[0]


# ---- dtypes


@differs("all any", "Kiln gives bool; PyTorch keeps u8 for the sake of old programs")
def truth(op, x, *args, **settings):
    return op(x, *args, **settings).bool()


@differs("histc", "counts are f32 in Kiln, where a half could not hold them")
def histc(op, x, *args, **settings):
    return op(x.float() if x.dtype in (torch.float16, torch.bfloat16) else x, *args, **settings)


@differs("sum_to_size", "a number has no axis to sum and stays what it is; PyTorch makes integers i64")
def sum_to_size(op, x, *args):
    return x.clone() if not x.dim() else op(x, *args)


@differs("trapz trapezoid cumulative_trapezoid", "PyTorch adds neighbours and subtracts places in short integers, which wrap")
def trapezoid(op, y, *args, **settings):
    wide = lambda t: t.long() if isinstance(t, torch.Tensor) and t.dtype in (torch.uint8, torch.int8, torch.int16, torch.int32) else t
    return op(wide(y), *[wide(a) for a in args], **{n: wide(v) for n, v in settings.items()})


@differs("nn.functional.softmin/with_dtype", "PyTorch negates u8, which wraps, before it converts")
def softmin(op, x, *args, dtype=None, **settings):
    return op(x.to(dtype), *args, dtype=dtype, **settings)


# ---- values


@differs("linspace logspace", "PyTorch cuts the bounds of integers off to whole numbers first, and the step between exponents")
def spaced(op, start, end, *args, dtype=None, **settings):
    start, end = (v.item() if isinstance(v, torch.Tensor) else v for v in (start, end))
    function = torch.logspace if "logspace" in op.__name__ else torch.linspace
    if dtype is None or dtype.is_floating_point:
        return function(start, end, *args, dtype=dtype, **settings)
    return function(start, end, *args, dtype=torch.float64, **settings).long().to(dtype)


@differs("logit special.logit", "with eps above 1/2 the bounds are the wrong way round: Kiln's upper one wins, as in torch.clamp")
def logit(op, x, eps=None):
    return op(x) if eps is None else op(torch.clamp(x if x.dtype.is_floating_point else x.float(), eps, 1 - eps))


@differs("polygamma special.polygamma", "at a pole Kiln gives an infinity, PyTorch a number of the size of 1 / rounding")
def polygamma(op, x, n):
    y = op(x, n)
    pole = (x <= 0) & (x == x.floor()) if x.dtype.is_floating_point else x <= 0
    return torch.where(pole, torch.full_like(y, float("inf") if n % 2 else -float("inf")), y) if n > 0 else y


@differs("istft", "of two sides that do not mirror each other Kiln takes the real part of the inverse, PyTorch reads the first side")
def istft(op, x, n_fft, onesided=None, **settings):
    if onesided or x.shape[-2] != n_fft:
        return op(x, n_fft, onesided=onesided, **settings)
    mirrored = torch.cat([x[..., :1, :], x[..., 1:, :].flip(-2)], -2).conj()
    return op((x + mirrored) / 2, n_fft, onesided=onesided, **settings)


@differs("corrcoef", "of one variable in a matrix PyTorch gives a number, Kiln [1, 1]")
def corrcoef(op, x):
    return op(x).reshape(x.shape[0], x.shape[0]) if x.dim() == 2 else op(x)


@differs("cov", "as corrcoef; and weights get the dtype of x, where PyTorch makes halves f32 and rounds weights of f64 to f32")
def cov(op, x, aweights=None, **settings):
    dtype = x.dtype if x.dtype.is_floating_point else torch.float32
    y = op(x, aweights=None if aweights is None else aweights.to(dtype), **settings)
    return y.reshape(x.shape[0], x.shape[0]) if x.dim() == 2 else y


# ---- gradients


@differs("cholesky_solve", "only one triangle of the factor is read, so the other one's gradient is 0")
def cholesky_solve(op, b, factor, upper=False):
    return op(b, factor.triu() if upper else factor.tril(), upper=upper)


@differs("cholesky_inverse", "only one triangle of the factor is read, so the other one's gradient is 0")
def cholesky_inverse(op, factor, upper=False):
    return op(factor.triu() if upper else factor.tril(), upper=upper)


@differs("quantile nanquantile", "q has no gradient in Kiln")
def quantile(op, x, q, *args, **settings):
    return op(x, q.detach() if isinstance(q, torch.Tensor) else q, *args, **settings)


@differs("index_put", "of values with the same index the last one stays, and only that one has a gradient; PyTorch gives it to all")
def index_put(op, x, indices, values, accumulate=False):
    if accumulate:
        return op(x, indices, values, accumulate)
    places = torch.arange(x.numel()).reshape(x.shape)[tuple(indices)]
    last = {at: i for i, at in enumerate(places.reshape(-1).tolist())}
    stays = torch.zeros(places.numel(), dtype=torch.bool)
    stays[list(last.values())] = True
    values = values.expand(places.shape)
    return op(x, indices, torch.where(stays.reshape(places.shape), values, values.detach()))


@differs("nn.functional.max_unpool1d nn.functional.max_unpool2d nn.functional.max_unpool3d",
         "of values with the same index the last one stays, and only that one has a gradient; PyTorch gives it to all")  # fmt: skip
def max_unpool(op, x, indices, *args, **settings):
    rank = int(op.__name__[-2]) if op.__name__[-2].isdigit() else 1
    flat = indices.reshape(-1, int(torch.tensor(indices.shape[-rank:]).prod()))
    stays = torch.zeros_like(flat, dtype=torch.bool)
    for row in range(flat.shape[0]):
        last = {at: i for i, at in enumerate(flat[row].tolist())}
        stays[row, list(last.values())] = True
    return op(torch.where(stays.reshape(x.shape), x, x.detach()), indices, *args, **settings)


# ---- gradients of terms that cancel: how large the terms of each element are, where that is not to be seen in the gradient


def normalize_terms(x, p=2.0, dim=1, eps=1e-12):
    """The terms have the size 1 / norm of their line; along a line of one element they cancel to 0."""
    x = x.detach().double()
    return (1 / torch.linalg.vector_norm(x, p, dim, keepdim=True).clamp(min=eps)).expand_as(x)


def cov_terms(x, aweights=None, **settings):
    """The terms of the weights' gradient have the size x^2 / weight; for two observations they cancel to 0."""
    return x.detach().double().abs().max() ** 2 / (1 if aweights is None else aweights.detach().double().min())


TERMS = {"nn.functional.normalize": normalize_terms, "cov": cov_terms}
