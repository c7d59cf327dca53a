/* Linear algebra for `kiln conform`. Factors that are not unique are given in forms that are: products, squares of
   vectors. Functions of one triangle get symmetric matrices, so that differences agree with gradients. */
#include "conform_adapter_words.h"

static kn_tensor symmetric(kn_tensor x)
{
    x = kn_keep(x);
    return kn_mul_scalar(kn_add(x, kn_transpose(x, -2, -1)), 0.5);
}

static kn_tensor triangular(const kn_tensor *in, const kiln_attributes *a)
{
    kn_triangular_args args = {FLAG("upper"), FLAG("transpose"), FLAG("unit"), FLAG("right")};
    return kn_triangular_solve(in[0], in[1], &args);
}

static kn_tensor distance(const kn_tensor *in, const kiln_attributes *a)
{
    kn_pairwise_distance_args args = {kiln_real(a, "order", 0), kiln_real(a, "eps", 0), FLAG("keep")};
    return kn_pairwise_distance(in[0], in[1], &args);
}

/* Infinite orders as 1000 and -1000: attributes of cases are finite. */
static double order_of(const kiln_attributes *a)
{
    double order = kiln_real(a, "order", 2);
    return order >= 1000 ? KN_NORM_INF : order <= -1000 ? -KN_NORM_INF : order;
}

SIMPLE(cholesky_of, kn_cholesky(symmetric(in[0]), FLAG("upper")))
SIMPLE(cholesky_solve, kn_cholesky_solve(in[0], in[1], FLAG("upper")))
SIMPLE(triangular_solve, triangular(in, a))
SIMPLE(solve, kn_solve(in[0], in[1]))
SIMPLE(inverse, kn_inverse(in[0]))
SIMPLE(lstsq, kn_lstsq(in[0], in[1]))
SIMPLE(logdet, kn_logdet(in[0]))
SIMPLE(pinverse, kn_pinverse(in[0], kiln_real(a, "tolerance", 0)))
SIMPLE(matrix_rank, kn_matrix_rank(in[0], kiln_real(a, "tolerance", 0)))
SIMPLE(matrix_power, kn_matrix_power(in[0], kiln_int(a, "n", 1)))
SIMPLE(trace, kn_trace(in[0]))
SIMPLE(diag, kn_diag(in[0], kiln_int(a, "offset", 0)))
SIMPLE(diag_embed, kn_diag_embed(in[0], kiln_int(a, "offset", 0)))
SIMPLE(vector_norm, kn_vector_norm(in[0], order_of(a), kiln_ints(a, "axes"), FLAG("keep")))
SIMPLE(lp_norm, kn_lp_norm(in[0], order_of(a), I32("axis")))
SIMPLE(l0_norm, kn_l0_norm(in[0], I32("axis")))
SIMPLE(l1_norm, kn_l1_norm(in[0], I32("axis")))
SIMPLE(l2_norm, kn_l2_norm(in[0], I32("axis")))
SIMPLE(max_abs_norm, kn_max_abs_norm(in[0], I32("axis")))
SIMPLE(min_abs_norm, kn_min_abs_norm(in[0], I32("axis")))
SIMPLE(vector_normalize, kn_vector_normalize(in[0], order_of(a), I32("axis"), kiln_real(a, "eps", 1e-12)))
SIMPLE(matrix_norm, kn_matrix_norm(in[0], (kn_matrix_norm_kind)kiln_int(a, "kind", 0)))
SIMPLE(cosine_similarity, kn_cosine_similarity(in[0], in[1], I32("axis"), kiln_real(a, "eps", 0)))
SIMPLE(pairwise_distance, distance(in, a))
SIMPLE(cdist, kn_cdist(in[0], in[1], order_of(a)))

ADAPTER(slogdet)
{
    (void)n, (void)a, (void)room;
    kn_slogdet_result r = kn_slogdet(in[0]);
    out[0] = r.sign;
    out[1] = r.logabsdet;
    return 2;
}

ADAPTER(lu_factors)
{
    (void)n, (void)a, (void)room;
    kn_lu_result r = kn_lu(in[0]);
    out[0] = r.p;
    out[1] = r.l;
    out[2] = r.u;
    return 3;
}

ADAPTER(lu_decomposition)
{
    (void)n, (void)a, (void)room;
    kn_lu_decomposition_result r = kn_lu_decomposition(in[0]);
    out[0] = r.lu;
    out[1] = r.permutation;
    return 2;
}

/* Eigenvalues and the squares of the vectors' elements. */
ADAPTER(eigh_of)
{
    (void)n, (void)room;
    kn_eigh_result r = kn_eigh(symmetric(in[0]), FLAG("upper"));
    out[0] = r.values;
    out[1] = kn_square(r.vectors);
    return 2;
}

/* Singular values, and u s^2 vh. */
ADAPTER(svd_of)
{
    (void)n, (void)room;
    kn_svd_result r = kn_svd(in[0], FLAG("full"));
    kn_tensor s = kn_keep(r.s);
    out[0] = kn_alias(s);
    if (!kn_ok(s)) return 1;
    int64_t k = kn_size(s, -1);
    kn_tensor scaled = kn_mul(kn_narrow(r.u, -1, 0, k), kn_unsqueeze(kn_square(s), -2));
    out[1] = kn_matmul(scaled, kn_narrow(r.vh, -2, 0, k));
    return 2;
}

const kiln_adapter kiln_adapters_linalg[] = {ENTRY(cholesky_of),
                                             ENTRY(cholesky_solve),
                                             ENTRY(triangular_solve),
                                             ENTRY(solve),
                                             ENTRY(inverse),
                                             ENTRY(lstsq),
                                             ENTRY(logdet),
                                             ENTRY(pinverse),
                                             ENTRY(matrix_rank),
                                             ENTRY(matrix_power),
                                             ENTRY(trace),
                                             ENTRY(diag),
                                             ENTRY(diag_embed),
                                             ENTRY(vector_norm),
                                             ENTRY(lp_norm),
                                             ENTRY(l0_norm),
                                             ENTRY(l1_norm),
                                             ENTRY(l2_norm),
                                             ENTRY(max_abs_norm),
                                             ENTRY(min_abs_norm),
                                             ENTRY(vector_normalize),
                                             ENTRY(matrix_norm),
                                             ENTRY(cosine_similarity),
                                             ENTRY(pairwise_distance),
                                             ENTRY(cdist),
                                             ENTRY(slogdet),
                                             ENTRY(lu_factors),
                                             ENTRY(lu_decomposition),
                                             ENTRY(eigh_of),
                                             ENTRY(svd_of),
                                             {NULL, NULL}};
