"""PyTorch's names -> Kiln's calls: shape, indexing, sorting, products and norms of matrices."""

import math

import torch
from kiln_binding import Unsupported
from op_map import MAP, as_list, axes_of, cast, is_tensor, number_of, refuse


def sizes(values):
    return as_list(values[0]) if values and not isinstance(values[0], int) else list(values)


# ---- shape

MAP["reshape"] = MAP["view_copy"] = lambda k, x, shape: k.reshape(x, shape if isinstance(shape, (list, tuple)) else [shape])
MAP["view"] = lambda k, x, *shape: k.reshape(x, sizes(shape))
MAP["reshape_as"] = MAP["view_as"] = lambda k, x, other: k.reshape(x, other.shape)
MAP["flatten"] = lambda k, x, start_dim=0, end_dim=-1: k.flatten(x, start_dim, end_dim)
MAP["ravel"] = lambda k, x: k.reshape(x, [-1])
MAP["unflatten"] = lambda k, x, dim, shape: k.unflatten(x, dim, shape)
MAP["squeeze"] = MAP["squeeze_copy"] = lambda k, x, dim=None: k.squeeze(x, dim) if isinstance(dim, int) else k.squeeze_dims(x, axes_of(dim))
MAP["squeeze.multiple"] = lambda k, x, dim: k.alias(x) if not dim else k.squeeze_dims(x, list(dim))
MAP["unsqueeze"] = MAP["unsqueeze_copy"] = lambda k, x, dim: k.unsqueeze(x, dim)
MAP["expand"] = MAP["expand_copy"] = MAP["broadcast_to"] = lambda k, x, *shape, **_: k.expand(x, sizes(shape))
MAP["expand_as"] = lambda k, x, other: k.expand(x, other.shape)
MAP["transpose"] = MAP["transpose_copy"] = lambda k, x, a, b: k.transpose(x, a, b)
MAP["t"] = MAP["t_copy"] = MAP["T"] = MAP["H"] = lambda k, x: k.t(x) if x.rank == 2 else k.alias(x)
MAP["mT"] = MAP["mH"] = lambda k, x: k.t(x)
MAP["permute"] = MAP["permute_copy"] = lambda k, x, *dims: k.permute(x, sizes(dims)) if x.rank else k.alias(x)
MAP["movedim"] = lambda k, x, source, destination: k.movedim(x, as_list(source), as_list(destination))
MAP["flip"] = lambda k, x, dims=(): k.flip(x, dims) if dims else k.alias(x)
MAP["fliplr"] = lambda k, x: k.flip(x, [1])
MAP["flipud"] = lambda k, x: k.flip(x, [0])
MAP["rot90"] = lambda k, x, times=1, dims=(0, 1), **s: k.rot90(x, s.get("k", times), dims[0], dims[1])
MAP["roll"] = lambda k, x, shifts, dims=(): k.roll(x, as_list(shifts), as_list(dims))
MAP["narrow"] = MAP["narrow_copy"] = lambda k, x, dim, start, length: k.narrow(x, dim, number_of(start), length)
MAP["select"] = lambda k, x, dim, index: k.select(x, dim, index)
MAP["slice"] = lambda k, x, dim=0, start=None, end=None, step=1: k.slice(x, dim, start or 0, 2**63 - 1 if end is None else end, step)
MAP["unfold"] = MAP["unfold_copy"] = lambda k, x, dim, size, step: k.unfold(x, dim, size, step)


def cat(k, tensors, dim=0):
    if len({t.rank for t in tensors}) > 1:
        raise Unsupported("an empty tensor of rank 1 among others, which PyTorch skips for the sake of old programs")
    return k.concat(tensors, dim)


MAP["cat"] = cat
MAP["stack"] = lambda k, tensors, dim=0: k.stack(tensors, dim)
MAP["repeat"] = lambda k, x, *times: k.repeat(x, sizes(times))
MAP["tile"] = lambda k, x, *times: k.tile(x, sizes(times))
MAP["diag"] = lambda k, x, diagonal=0: k.diag(x, diagonal)
MAP["diag_embed"] = lambda k, x, offset=0, dim1=-2, dim2=-1: embed(k, x, offset, dim1, dim2)
MAP["diagflat"] = lambda k, x, offset=0: k.diag(k.reshape(x, [-1]), offset)
MAP["tril"] = lambda k, x, diagonal=0: k.tril(x, diagonal)
MAP["triu"] = lambda k, x, diagonal=0: k.triu(x, diagonal)
MAP["broadcast_tensors"] = lambda k, *tensors: tuple(k.expand(t, list(torch.broadcast_shapes(*[t.shape for t in tensors]))) for t in tensors)
MAP["sum_to_size"] = lambda k, x, *shape: k.sum_to(x, sizes(shape))
MAP["atleast_1d"] = lambda k, *x: many(k, x, lambda t: k.atleast(t, 1))
MAP["atleast_2d"] = lambda k, *x: many(k, x, lambda t: k.atleast(t, 2))
MAP["atleast_3d"] = lambda k, *x: many(k, x, lambda t: k.reshape(t, {0: [1, 1, 1], 1: [1, -1, 1], 2: t.shape + [1]}[t.rank]) if t.rank < 3 else k.alias(t))


def many(k, x, one):
    if len(x) == 1 and isinstance(x[0], (list, tuple)):
        x = x[0]
        return tuple(one(t) for t in x)
    return one(x[0]) if len(x) == 1 else tuple(one(t) for t in x)


def embed(k, x, offset, dim1, dim2):
    y = k.diag_embed(x, offset)
    a, b = dim1 % y.rank, dim2 % y.rank
    return y if (a, b) == (y.rank - 2, y.rank - 1) else k.movedim(y, [-2, -1], [a, b])


def diagonal(k, x, offset=0, dim1=0, dim2=1):
    return k.diag(k.movedim(x, [dim1, dim2], [-2, -1]), offset)


MAP["diagonal"] = MAP["diagonal_copy"] = diagonal
MAP["linalg.diagonal"] = lambda k, x, offset=0, dim1=-2, dim2=-1: diagonal(k, x, offset, dim1, dim2)


def room(x, dim):
    return x.shape[dim] if x.rank else 1


def split(k, x, size, dim=0):
    return k.split(x, size, dim, max(room(x, dim), 1)) if isinstance(size, int) else k.split_with_sizes(x, list(size), dim, len(size))


MAP["split"] = MAP["unsafe_split"] = split
MAP["split_with_sizes"] = MAP["split_with_sizes_copy"] = split
MAP["chunk"] = MAP["unsafe_chunk"] = lambda k, x, n, dim=0: k.chunk(x, n, dim, n)


def tensor_split(k, x, places, dim=0):
    if is_tensor(places):
        places = places.torch().tolist()
    if isinstance(places, int):
        return k.tensor_split(x, places, dim, places)
    return k.tensor_split_at(x, list(places), dim, len(places) + 1)


MAP["tensor_split"] = tensor_split
MAP["hsplit"] = lambda k, x, places: tensor_split(k, x, places, 0 if x.rank == 1 else 1)
MAP["vsplit"] = lambda k, x, places: tensor_split(k, x, places, 0)
MAP["dsplit"] = lambda k, x, places: tensor_split(k, x, places, 2)
MAP["unbind"] = MAP["unbind_copy"] = lambda k, x, dim=0: k.unbind(x, dim, room(x, dim))


def meshgrid(k, *tensors, indexing="ij"):
    tensors = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    y = k.meshgrid_stack([k.atleast(t, 1) for t in tensors], {"cartesian": indexing == "xy"}, 0)
    return tuple(k.select(y, 0, i) for i in range(len(tensors)))


MAP["meshgrid"] = meshgrid


def pad(k, x, amounts, mode="constant", value=None):
    """PyTorch lists the last axis first, before and after."""
    modes = {"constant": 0, "reflect": 1, "replicate": 2, "circular": 3}
    before, after = list(amounts[0::2])[::-1], list(amounts[1::2])[::-1]
    if mode != "constant" and min(amounts, default=0) < 0:
        raise Unsupported("negative amounts but for constants")
    return k.pad(x, {"before": before, "after": after, "mode": modes[mode], "value": value or 0})


MAP["nn.functional.pad"] = pad
MAP["constant_pad_nd"] = lambda k, x, amounts, value=0: pad(k, x, amounts, "constant", value)


# ---- indexing

UPDATES = {"sum": 1, "add": 1, "prod": 2, "multiply": 2, "amin": 3, "amax": 4}


def scatter(k, x, dim, index, src, reduce=None):
    return k.scatter(x, dim, index, src if is_tensor(src) else k.cast(k.number(src), x.dtype), UPDATES[reduce] if reduce else 0)


def gather(k, x, dim, index, sparse_grad=False):
    if index.rank != x.rank and 0 in index.shape:
        raise Unsupported("an empty index of another rank")
    return k.gather(x, dim, index)


MAP["gather"] = gather
MAP["scatter"] = lambda k, x, dim, index, src, **s: scatter(k, x, dim, index, src, **s)
MAP["scatter_add"] = lambda k, x, dim, index, src: scatter(k, x, dim, index, src, "add")
MAP["index_select"] = lambda k, x, dim, index: k.index_select(x, dim, k.atleast(index, 1))
MAP["index_add"] = lambda k, x, dim, index, source, alpha=1: k.index_assign(x, dim, index, cast(k, source if alpha == 1 else k.mul_scalar(source, alpha), x.dtype), 1)
MAP["index_copy"] = lambda k, x, dim, index, source: k.index_assign(x, dim, index, source, 0)
MAP["index_fill"] = lambda k, x, dim, index, value: k.index_assign(x, dim, index, filled(k, x, dim, index, value), 0)


def filled(k, x, dim, index, value):
    shape = list(x.shape)
    if shape:
        shape[dim] = 1 if not index.rank else index.shape[0]
    return k.expand(k.cast(value, x.dtype), shape) if is_tensor(value) else k.full(shape, value, x.dtype)


MAP["put"] = lambda k, x, index, source, accumulate=False: k.put(x, index, source, 1 if accumulate else 0)
MAP["take_along_dim"] = lambda k, x, index, dim=None: k.take_along(x if dim is not None else k.reshape(x, [-1]), index if dim is not None else k.reshape(index, [-1]), dim or 0)
MAP["masked_fill"] = lambda k, x, mask, value: k.mask_where(x, mask, k.cast(value, x.dtype)) if is_tensor(value) else k.mask_fill(x, mask, value)
MAP["masked_select"] = lambda k, x, mask: k.mask_select(x, mask)
MAP["select_scatter"] = lambda k, x, src, dim, index: k.slice_assign(x, ranges(x, dim, index % x.shape[dim], index % x.shape[dim] + 1, 1), k.unsqueeze(src, dim))
MAP["slice_scatter"] = lambda k, x, src, dim=0, start=None, end=None, step=1: k.slice_assign(x, ranges(x, dim, start or 0, 2**63 - 1 if end is None else end, step), src)


def ranges(x, dim, start, stop, step):
    return [(start, stop, step) if i == dim % x.rank else (0, 2**63 - 1, 1) for i in range(x.rank)]


# ---- sorting, searching, counting

MAP["sort"] = lambda k, x, dim=-1, descending=False, stable=False: k.sort(x, dim, descending)
MAP["argsort"] = lambda k, x, dim=-1, descending=False, stable=False: k.argsort(x, dim, descending)
MAP["msort"] = lambda k, x: k.sort(x, 0, False)[0]
MAP["topk"] = lambda k, x, n, dim=-1, largest=True, sorted=True: k.topk(x, n, dim, {"smallest": not largest, "unsorted": not sorted})
MAP["kthvalue"] = lambda k, x, n, dim=-1, keepdim=False: k.kthvalue(x, n, dim, keepdim)
MAP["mode"] = lambda k, x, dim=-1, keepdim=False: k.mode(x, dim, keepdim)
MAP["median"] = lambda k, x, dim=None, keepdim=False: k.median(k.reshape(x, [-1]), 0, False)[0] if dim is None else k.median(x, dim, keepdim)
MAP["searchsorted"] = lambda k, x, values, out_int32=False, right=False, side=None, sorter=None: search(k, x, values, out_int32, right, side, sorter)
MAP["bucketize"] = lambda k, x, boundaries, out_int32=False, right=False: cast(k, k.bucketize(x, boundaries, right), torch.int32 if out_int32 else None)


def search(k, x, values, out_int32, right, side, sorter):
    if sorter is not None:
        x = k.take_along(x, sorter, -1)
    return cast(k, k.searchsorted(x, values if is_tensor(values) else k.number(values, x), right or side == "right"), torch.int32 if out_int32 else None)


MAP["bincount"] = lambda k, x, weights=None, minlength=0: k.bincount(x, weights, minlength)
MAP["histc"] = lambda k, x, bins=100, min=0, max=0: k.histogram(x, bins, {"low": min, "high": max})[0]


# ---- linear algebra

MAP["linalg.det"] = lambda k, x: k.det(x)
MAP["logdet"] = lambda k, x: k.logdet(x)
MAP["linalg.slogdet"] = lambda k, x: k.slogdet(x)
MAP["linalg.inv"] = lambda k, x: k.inverse(x)
MAP["linalg.cholesky"] = lambda k, x, upper=False: k.cholesky(x, upper)
MAP["cholesky_solve"] = lambda k, b, u, upper=False: k.cholesky_solve(b, u, upper)
MAP["linalg.solve"] = lambda k, a, b, left=True: k.solve(a, b) if left else k.t(k.solve(k.t(a), k.t(b)))
MAP["linalg.solve_triangular"] = lambda k, a, b, *, upper, left=True, unitriangular=False: k.triangular_solve(
    a, b, {"upper": upper, "unit": unitriangular, "right": not left})
MAP["triangular_solve"] = lambda k, b, a, upper=True, transpose=False, unitriangular=False: (k.triangular_solve(
    a, b, {"upper": upper, "unit": unitriangular, "transpose": transpose}), k.alias(a))
MAP["linalg.qr"] = lambda k, a, mode="reduced": qr(k, a, mode)
MAP["linalg.eigvalsh"] = lambda k, a, UPLO="L": k.eigvalsh(a, UPLO == "U")
MAP["linalg.svdvals"] = lambda k, a: k.svdvals(a)
MAP["linalg.lu"] = lambda k, a, pivot=True: (refuse(pivot=not pivot), k.lu(a))[1]
MAP["pinverse"] = lambda k, a, rcond=None: k.pinverse(a, rcond or 0)
MAP["linalg.matrix_power"] = lambda k, a, n: k.matrix_power(a, n)
MAP["linalg.multi_dot"] = lambda k, tensors: k.multi_dot(tensors)
MAP["linalg.vecdot"] = lambda k, a, b, dim=-1: k.sum(k.mul(a, b), [dim], False)
MAP["linalg.vector_norm"] = lambda k, x, ord=2, dim=None, keepdim=False, dtype=None: k.vector_norm(cast(k, x, dtype), ord, axes_of(dim), keepdim)
MAP["linalg.cross"] = lambda k, a, b, dim=-1: k.cross(a, b, dim)
MAP["cross"] = lambda k, a, b, dim=None: k.cross(a, b, next(i for i, n in enumerate(a.shape) if n == 3) if dim is None else dim)
MAP["cdist"] = lambda k, a, b, p=2.0, compute_mode=None: k.cdist(a, b, p)
MAP["dist"] = lambda k, a, b, p=2: k.vector_norm(k.sub(a, b), p, [], False)
MAP["nn.functional.pdist"] = lambda k, x, p=2.0: k.pdist(x, p)
MAP["tensordot"] = lambda k, a, b, dims=2: tensordot(k, a, b, dims)
MAP["einsum"] = lambda k, tensors, equation: k.einsum(equation.replace(" ", ""), tensors)
MAP["linalg.matrix_rank"] = lambda k, a, tol=None, **s: (refuse(tol=tol is not None, **{n: v is not None and v is not False for n, v in s.items()}), k.matrix_rank(a, 0))[1]


def qr(k, a, mode):
    if mode == "r":
        raise Unsupported("qr with mode r, which gives an empty q")
    return k.qr(a, mode == "complete")


def tensordot(k, a, b, dims):
    if isinstance(dims, int):
        dims = (list(range(a.rank - dims, a.rank)), list(range(dims)))
    if any(a.shape[i] != b.shape[j] for i, j in zip(as_list(dims[0]), as_list(dims[1]))):
        raise Unsupported("inner sizes of 1 that broadcast")
    return k.tensordot(a, b, as_list(dims[0]), as_list(dims[1]))


for name in ("addmm", "baddbmm"):
    MAP[name] = lambda k, c, a, b, beta=1, alpha=1, **_: (whole(c, beta, alpha), k.addmm(c, a, b, beta, alpha))[1]
MAP["addmv"] = lambda k, c, a, b, beta=1, alpha=1: added(k, c, k.matvec(a, b), beta, alpha)
MAP["addr"] = lambda k, c, a, b, beta=1, alpha=1: added(k, c, k.outer(a, b), beta, alpha)
MAP["addbmm"] = lambda k, c, a, b, beta=1, alpha=1: added(k, c, k.sum(k.matmul(a, b), [0], False), beta, alpha)


def whole(c, *factors):
    if not c.is_float() and any(f != (1 if c.dtype == torch.bool else int(f)) for f in factors):
        raise Unsupported("a fraction times integers, which PyTorch cuts off")


def added(k, c, product, beta, alpha):
    whole(c, beta, alpha)
    product = cast(k, product, c.dtype)
    product = product if alpha == 1 else k.mul_scalar(product, alpha)
    return product if beta == 0 else k.add(c if beta == 1 else k.mul_scalar(c, beta), product)


KINDS = {"fro": 0, "nuc": 1, 2: 2, math.inf: 3, 1: 4, -2: 5, -math.inf: 6, -1: 7}


def matrix_norm(k, a, ord="fro", dim=(-2, -1), keepdim=False, dtype=None):
    if ord not in KINDS:
        raise Unsupported("the matrix norm %s" % ord)
    a = cast(k, a, dtype)
    dim = [d % a.rank for d in dim]
    y = k.matrix_norm(k.movedim(a, list(dim), [-2, -1]), KINDS[ord])
    return k.unsqueeze_dims(y, dim) if keepdim else y


MAP["linalg.matrix_norm"] = matrix_norm


def norm(k, x, p="fro", dim=None, keepdim=False, dtype=None):
    if p == "nuc":
        return matrix_norm(k, x, "nuc", dim or (-2, -1), keepdim, dtype)
    return k.vector_norm(cast(k, x, dtype), 2 if p in ("fro", None) else p, axes_of(dim), keepdim)


MAP["norm"] = norm
