/* Linear algebra on the last two axes; all leading axes are a batch. Factorisations take floats (the halves are
   computed in f64) and poison with KN_ERROR_NUMERIC when a matrix has no result. */
#ifndef KN_LINALG_H
#define KN_LINALG_H

#include <kn/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- systems of equations */

/* a = L L' for symmetric positive definite a [..., n, n]: L, or L' with upper. Reads one triangle of a: the one it
   returns. The gradient is symmetric. */
KN_API kn_tensor kn_cholesky(kn_tensor a, bool upper);
/* x with a x = b, given L = kn_cholesky(a) (or its upper twin). b [..., n, k]. */
KN_API kn_tensor kn_cholesky_solve(kn_tensor b, kn_tensor l, bool upper);
typedef struct kn_triangular_args {
    bool upper;     /* a is upper triangular; the other triangle is not read */
    bool transpose; /* solves with a' */
    bool unit;      /* the diagonal counts as ones and is not read */
    bool right;     /* x a = b instead of a x = b */
} kn_triangular_args;
#define KN_TRIANGULAR_ARGS_DEFAULTS KN_ZEROED
/* x with a x = b for triangular a [..., n, n], b [..., n, k]; the batches broadcast. A zero on the diagonal gives
   infinities. */
KN_API kn_tensor kn_triangular_solve(kn_tensor a, kn_tensor b, const kn_triangular_args *args);
/* x with a x = b. a [..., n, n], b [..., n, k], or [..., n] where it has one axis less than a. Fails on a singular a. */
KN_API kn_tensor kn_solve(kn_tensor a, kn_tensor b);
/* a^-1. Fails on a singular a. */
KN_API kn_tensor kn_inverse(kn_tensor a);
/* (l l')^-1, given l = kn_cholesky(a) (or its upper twin). */
KN_API kn_tensor kn_cholesky_inverse(kn_tensor l, bool upper);
typedef struct kn_lu_solve_args {
    bool transpose; /* solves with a' */
    bool right;     /* x a = b instead of a x = b; b [..., k, n] */
} kn_lu_solve_args;
#define KN_LU_SOLVE_ARGS_DEFAULTS KN_ZEROED
/* x with a x = b, given lu and permutation of kn_lu_decomposition(a); b [..., n, k], the batches broadcast. A singular a gives
   infinities. */
KN_API kn_tensor kn_lu_solve(kn_tensor lu, kn_tensor permutation, kn_tensor b, const kn_lu_solve_args *args);
/* The inverse of the linear map that a is from its last axes to its first n_axes: their numbers of elements are equal. The result
   has the last axes first. */
KN_API kn_tensor kn_tensorinv(kn_tensor a, int32_t n_axes);
/* The tensor x whose kn_tensordot with the last axes of a is b; a begins with the axes of b. `axes` of a move to its end first,
   KN_AXES_ALL: none. */
KN_API kn_tensor kn_tensorsolve(kn_tensor a, kn_tensor b, kn_ints axes);
/* The x of smallest size that minimises |a x - b|. a [..., m, n], b [..., m, k]. By pseudo-inverse: any rank, and the
   gradient is that of kn_pinverse. */
KN_API kn_tensor kn_lstsq(kn_tensor a, kn_tensor b);

/* ---- determinants */

KN_API kn_tensor
kn_det(kn_tensor a); /* 0 for a singular a, with the right gradient; its own gradient there is NaN */
typedef struct kn_slogdet_result {
    kn_tensor sign,
        logabsdet; /* det(a) = sign exp(logabsdet); a singular a gives 0 and -inf, and no finite gradient */
} kn_slogdet_result;
KN_API kn_slogdet_result kn_slogdet(kn_tensor a);
KN_API kn_tensor kn_logdet(kn_tensor a); /* log(det(a)); NaN where that is negative */

/* ---- factorisations */

typedef struct kn_lu_result {
    kn_tensor p, l, u; /* a = p l u: a permutation, unit lower and upper triangular */
} kn_lu_result;
/* a [..., m, n] gives p [m, m], l [m, min(m, n)], u [min(m, n), n], by partial pivoting. */
KN_API kn_lu_result kn_lu(kn_tensor a);
typedef struct kn_lu_decomposition_result {
    kn_tensor lu;          /* u, and l below the diagonal */
    kn_tensor permutation; /* i64 [..., m]: row i of l u is row permutation[i] of a */
} kn_lu_decomposition_result;
KN_API kn_lu_decomposition_result kn_lu_decomposition(kn_tensor a);
/* The factors of kn_lu from those of kn_lu_decomposition. */
KN_API kn_lu_result kn_lu_unpack(kn_tensor lu, kn_tensor permutation);
typedef struct kn_qr_result {
    kn_tensor q, r;
} kn_qr_result;
/* a = q r: q has orthonormal columns, r is upper triangular, signs as LAPACK's. a [..., m, n] gives q [m, k] and
   r [k, n] with k = min(m, n), or k = m when complete (which has no gradient for m > n). */
KN_API kn_qr_result kn_qr(kn_tensor a, bool complete);
typedef struct kn_eigh_result {
    kn_tensor values, vectors; /* ascending [..., n]; column i of [..., n, n] belongs to value i */
} kn_eigh_result;
/* a v = v diag(values) for symmetric a, of which only the lower (or the upper) triangle is read. Signs are arbitrary. The gradient
   is symmetric.
   The vectors of equal eigenvalues are any basis of their space, so their derivative does not exist; the gradient leaves
   out how such vectors turn against each other and stays finite. It is right for what depends on the values alone (a
   single one among equals gets one of the possible gradients). For a function of the vectors, even one like
   v f(values) v' that does not depend on the basis, it lacks the terms between equals: use kn_matrix_power, kn_inverse,
   kn_pinverse or kn_cholesky where they say the same. Gradients of gradients lack them too. */
KN_API kn_eigh_result kn_eigh(kn_tensor a, bool upper);
KN_API kn_tensor kn_eigvalsh(kn_tensor a, bool upper); /* the values of kn_eigh */
/* The first n columns of H_1 H_2 ... H_k with H_i = 1 - tau_i v_i v_i': v_i is 1 at row i and column i of a [..., m, n] below, as
   LAPACK packs reflections. tau [..., k], k <= n <= m. */
KN_API kn_tensor kn_householder_product(kn_tensor a, kn_tensor tau);
typedef struct kn_svd_result {
    kn_tensor u, s, vh; /* a = u diag(s) vh, s descending */
} kn_svd_result;
/* a [..., m, n] gives u [m, k], s [min(m, n)], vh [k, n] with k = min(m, n), or u [m, m] and vh [n, n] when full (no
   gradient flows to the columns and rows added then). Equal singular values as equal eigenvalues in kn_eigh; where a
   tall or wide a has the singular value 0, the gradients of u and vh are not finite. */
KN_API kn_svd_result kn_svd(kn_tensor a, bool full);
KN_API kn_tensor kn_svdvals(kn_tensor a); /* the s of kn_svd */
/* The Moore-Penrose inverse; singular values up to tolerance * the largest count as 0.
   0: max(m, n) * eps of the dtype; KN_ZERO: 0. The gradient is that of changes which keep the rank: finite for every a, also with
   equal singular values. */
KN_API kn_tensor kn_pinverse(kn_tensor a, double tolerance);
/* How many singular values exceed tolerance * the largest, i64. 0: max(m, n) * eps; KN_ZERO: 0. */
KN_API kn_tensor kn_matrix_rank(kn_tensor a, double tolerance);
/* a a ... a, n times; negative n: of the inverse; 0: the identity. */
KN_API kn_tensor kn_matrix_power(kn_tensor a, int64_t n);

/* e^a = 1 + a + a a / 2 + a a a / 6 + ... for square a, to any order differentiable. Waits for the device to learn the norm, by
   which the number of products is chosen: a recorded program keeps it, so record one with the largest matrices it will meet. */
KN_API kn_tensor kn_matrix_exp(kn_tensor a);
/* y[..., i, j] = x[..., i]^j for j = 0 .. columns - 1, from the highest power down when decreasing; columns -1: as many as x has.
   Integers give i64. */
KN_API kn_tensor kn_vander(kn_tensor x, int64_t columns, bool decreasing);

/* ---- diagonals */

KN_API kn_tensor kn_trace(kn_tensor a); /* the sum of the diagonal of the last two axes */
/* Rank 1: a matrix with x on the diagonal `offset` (above the main one when positive). Otherwise the diagonal of the
   last two axes, as the last axis of the result. */
KN_API kn_tensor kn_diag(kn_tensor x, int64_t offset);
/* Matrices with the last axis of x on their diagonals, zeros elsewhere. */
KN_API kn_tensor kn_diag_embed(kn_tensor x, int64_t offset);

/* ---- norms and distances. KN_NORM_INF and -KN_NORM_INF are orders too. */

#define KN_NORM_INF __builtin_inf()

/* sum(|x|^order)^(1/order) over axes; order 0 counts what is not 0, infinite orders take max and min of |x|. */
KN_API kn_tensor kn_vector_norm(kn_tensor x, double order, kn_ints axes, bool keep);
KN_API kn_tensor kn_lp_norm(kn_tensor x, double order,
                            int32_t axis); /* these five keep the axis with size 1 */
KN_API kn_tensor kn_l0_norm(kn_tensor x, int32_t axis);
KN_API kn_tensor kn_l1_norm(kn_tensor x, int32_t axis);
KN_API kn_tensor kn_l2_norm(kn_tensor x, int32_t axis);
KN_API kn_tensor kn_max_abs_norm(kn_tensor x, int32_t axis);
KN_API kn_tensor kn_min_abs_norm(kn_tensor x, int32_t axis);
/* x / max(norm, eps) along an axis. */
KN_API kn_tensor kn_vector_normalize(kn_tensor x, double order, int32_t axis, double eps);
typedef enum kn_matrix_norm_kind {
    KN_NORM_FROBENIUS = 0,      /* sqrt(sum of squares) */
    KN_NORM_NUCLEAR = 1,        /* sum of singular values */
    KN_NORM_SPECTRAL = 2,       /* the largest singular value */
    KN_NORM_ROWS = 3,           /* the largest sum of |a| along a row: the infinity norm */
    KN_NORM_COLUMNS = 4,        /* the largest sum of |a| along a column: the 1-norm */
    KN_NORM_SPECTRAL_LEAST = 5, /* the least singular value: PyTorch's -2 */
    KN_NORM_ROWS_LEAST = 6,     /* the least sum along a row: -inf */
    KN_NORM_COLUMNS_LEAST = 7   /* the least sum along a column: -1 */
} kn_matrix_norm_kind;
/* The gradient of the nuclear norm at singular values of 0 is one of the possible ones; the spectral norm shares it evenly
   among equal largest values. Their gradients of gradients are those of kn_svd. Matrices without elements give 0; the least of
   nothing is an error. */
KN_API kn_tensor kn_matrix_norm(kn_tensor a, kn_matrix_norm_kind kind);
/* |a| |a^-1|: how much a system of equations enlarges errors. The two spectral kinds take matrices of any shape and divide their
   extreme singular values; infinite for a singular a. Matrices without elements give 0. PyTorch's default is KN_NORM_SPECTRAL. */
KN_API kn_tensor kn_cond(kn_tensor a, kn_matrix_norm_kind kind);
/* sum(a b) / (max(|a|, eps) max(|b|, eps)) along an axis; a and b broadcast. eps 0 means 1e-8, KN_ZERO 0. */
KN_API kn_tensor kn_cosine_similarity(kn_tensor a, kn_tensor b, int32_t axis, double eps);
typedef struct kn_pairwise_distance_args {
    double order; /* 0: 2; KN_ZERO: 0, the number of elements that differ */
    double eps;   /* added to each difference, 0: 1e-6; KN_ZERO or negative: none */
    bool keep;    /* the last axis stays with size 1 */
} kn_pairwise_distance_args;
#define KN_PAIRWISE_DISTANCE_ARGS_DEFAULTS KN_FIELDS(2.0, 1e-6, false)
/* |a - b + eps| along the last axis; a and b broadcast. */
KN_API kn_tensor kn_pairwise_distance(kn_tensor a, kn_tensor b, const kn_pairwise_distance_args *args);
/* y[..., i, j] = |a[..., i, :] - b[..., j, :]| in the norm `order`; the batches broadcast. The gradient is 0 where the
   distance is. */
KN_API kn_tensor kn_cdist(kn_tensor a, kn_tensor b, double order);
/* The distances of x [n, size] from each other, each pair once: those of (0, 1), (0, 2), ... (n - 2, n - 1). The gradient is 0
   where the distance is. */
KN_API kn_tensor kn_pdist(kn_tensor x, double order);

#ifdef __cplusplus
}
#endif
#endif
