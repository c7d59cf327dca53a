"""PyTorch's names -> Kiln's calls: factorisations, systems of equations, functions of matrices."""

import math

import torch
from kiln_binding import Unsupported
from op_map import MAP, axes_of, cast, is_tensor, number_of, refuse
from op_map_shape import KINDS, matrix_norm

# ---- factorisations. Signs of vectors are arbitrary, so that differences.py and these compare sizes.


def svd(k, a, full_matrices=True):
    u, s, vh = k.svd(a, full_matrices)
    n = min(a.shape[-2:])
    return k.abs(k.narrow(u, -1, 0, n)), s, k.abs(k.narrow(vh, -2, 0, n))


def old_svd(k, a, some=True, compute_uv=True):
    refuse(compute_uv=not compute_uv)
    u, s, vh = svd(k, a, not some)
    return u, s, k.t(vh)


def eigh(k, a, UPLO="L"):
    values, vectors = k.eigh(a, UPLO == "U")
    return values, k.abs(vectors)


MAP["linalg.svd"], MAP["svd"], MAP["linalg.eigh"] = svd, old_svd, eigh


def lu_factor(k, a, pivot=True, get_infos=False):
    refuse(pivot=not pivot)
    return k.lu_decomposition(a)


MAP["lu"] = MAP["linalg.lu_factor"] = MAP["linalg.lu_factor_ex"] = lu_factor


def permutation_of(k, pivots, rows):
    """LAPACK's row swaps, which count from 1, as Kiln's permutation."""
    swaps = pivots.torch().long()
    batch = math.prod(swaps.shape[:-1])
    order = torch.arange(rows).expand(batch, rows).clone()
    for line, of in zip(order, swaps.reshape(batch, swaps.shape[-1])):
        for i, other in enumerate(of.tolist()):
            line[[i, other - 1]] = line[[other - 1, i]]
    return k.tensor(order.reshape(*swaps.shape[:-1], rows))


def lu_unpack(k, lu, pivots, unpack_data=True, unpack_pivots=True):
    refuse(unpack_data=not unpack_data, unpack_pivots=not unpack_pivots)
    return k.lu_unpack(lu, permutation_of(k, pivots, lu.shape[-2]))


def lu_solve(k, lu, pivots, b, left=True, adjoint=False):
    return k.lu_solve(lu, permutation_of(k, pivots, lu.shape[-2]), b, {"transpose": adjoint, "right": not left})


MAP["lu_unpack"], MAP["linalg.lu_solve"] = lu_unpack, lu_solve
MAP["lu_solve"] = lambda k, b, lu, pivots: lu_solve(k, lu, pivots, b)
MAP["linalg.householder_product"] = lambda k, a, tau: k.householder_product(a, tau)

# ---- systems of equations; the number that says whether a matrix has a result is 0 where it has one


def solved(k, a, result):
    return result, k.zeros(a.shape[:-2], torch.int32)


MAP["linalg.cholesky_ex"] = lambda k, a, upper=False, check_errors=False: solved(k, a, k.cholesky(a, upper))
MAP["linalg.inv_ex"] = lambda k, a, check_errors=False: solved(k, a, k.inverse(a))
MAP["linalg.solve_ex"] = lambda k, a, b, left=True, check_errors=False: solved(k, a, MAP["linalg.solve"](k, a, b, left))
MAP["cholesky_inverse"] = lambda k, l, upper=False: k.cholesky_inverse(l, upper)
MAP["linalg.lstsq"] = lambda k, a, b, driver=None, rcond=None: k.lstsq(a, b)
MAP["linalg.tensorinv"] = lambda k, a, ind=2: k.tensorinv(a, ind)


def tensorsolve(k, a, b, dims=None):
    left = [n for i, n in enumerate(a.shape) if i not in axes_of(dims)]
    if left[: b.rank] != b.shape[: len(left)]:
        raise Unsupported("an a that has the elements of b but not its axes")
    return k.tensorsolve(a, b, axes_of(dims))


MAP["linalg.tensorsolve"] = tensorsolve


def pinv(k, a, atol=None, rtol=None, hermitian=False, rcond=None):
    refuse(atol=atol is not None, hermitian=hermitian)
    if is_tensor(rtol) and rtol.rank:
        raise Unsupported("a tolerance for each matrix")
    return k.pinverse(a, 0 if rtol is None else number_of(rtol))


MAP["linalg.pinv"] = pinv
MAP["linalg.pinv.singular"] = lambda k, a, b: k.pinverse(k.matmul(a, k.t(b)), 0)

# ---- functions and norms

MAP["matrix_exp"] = lambda k, a: k.matrix_exp(a)
MAP["linalg.vander"] = lambda k, x, N=None: k.vander(k.atleast(x, 1), -1 if N is None else N, False)
MAP["linalg.cond"] = lambda k, a, p=None: k.cond(a, KINDS[2 if p is None else p])


def norm(k, x, ord=None, dim=None, keepdim=False, dtype=None):
    matrix = ord is not None and (x.rank == 2 if dim is None else isinstance(dim, (list, tuple)) and len(dim) == 2)
    if matrix:
        return matrix_norm(k, x, ord, (0, 1) if dim is None else dim, keepdim, dtype)
    return k.vector_norm(cast(k, x, dtype), 2 if ord is None else ord, axes_of(dim), keepdim)


MAP["linalg.norm"] = norm
