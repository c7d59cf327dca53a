/* Linear algebra: factors multiply back to their matrix, known values, errors with their texts, sizes 0 and 1, NaN, and
   gradients against differences. */
#include "../support/check.h"
#include <kn/autodiff.h>
#include <kn/device.h>
#include <math.h>

static kn_tensor transposed(kn_tensor x) { return kn_transpose(x, -2, -1); }

/* Matrices of spread-out numbers that differ from each other; no random generator needed. */
static kn_tensor made(kn_shape shape, double seed)
{
    int64_t n = 1;
    for (int i = 0; i < shape.rank; i++) n *= shape.dims[i];
    kn_tensor k = kn_add_scalar(kn_arange(0, (double)n, 1, KN_F64), seed);
    return kn_reshape(kn_sin(kn_mul_scalar(kn_square(k), 0.7310585)), shape);
}

static kn_tensor positive(kn_shape shape, double seed)
{
    kn_tensor a = kn_keep(made(shape, seed));
    int64_t n = shape.dims[shape.rank - 1];
    return kn_add(kn_matmul(a, transposed(a)), kn_eye(n, n, KN_F64));
}

static double largest(kn_tensor x)
{
    return kn_count(x) == 0 ? 0 : kn_item(kn_max(kn_abs(x), KN_AXES_ALL, false));
}

/* |a - b| at most limit everywhere. */
static bool near(kn_tensor a, kn_tensor b, double limit)
{
    double gap = largest(kn_keep(kn_sub(a, b)));
    if (gap <= limit) return true;
    printf("  differ by %g: %s\n", gap, kn_last_error());
    return false;
}

static kn_tensor unit(int64_t n) { return kn_eye(n, n, KN_F64); }

/* ---- factors multiply back */

static void check_square(kn_shape shape)
{
    kn_scope scope = kn_scope_begin();
    int64_t n = shape.dims[shape.rank - 1];
    double limit = 1e-13 * (double)(n + 1) * (double)(n + 1);
    kn_tensor a = kn_keep(made(shape, 3)), p = kn_keep(positive(shape, 5));
    for (int upper = 0; upper < 2; upper++) {
        kn_tensor l = kn_keep(kn_cholesky(p, upper)), t = transposed(l);
        CHECK(near(upper ? kn_matmul(t, l) : kn_matmul(l, t), p, limit));
        CHECK(near(upper ? kn_tril(l, -1) : kn_triu(l, 1), kn_zeros_like(p), 0));
        CHECK(near(kn_matmul(p, kn_cholesky_solve(a, l, upper)), a, limit));
    }
    CHECK(near(kn_matmul(p, kn_inverse(p)), unit(n), limit));
    CHECK(near(kn_matmul(p, kn_solve(p, a)), a, limit));
    kn_eigh_result e = kn_eigh(p, false);
    kn_tensor v = kn_keep(e.vectors), values = kn_keep(e.values);
    CHECK(near(kn_matmul(p, v), kn_mul(v, kn_unsqueeze(values, -2)), limit));
    CHECK(near(kn_matmul(transposed(v), v), unit(n), limit));
    CHECK(near(values, kn_sort(values, -1, false).values, 0));
    CHECK(near(kn_eigh(p, true).values, values, limit));
    kn_slogdet_result d = kn_slogdet(p);
    CHECK(near(d.logabsdet, kn_sum(kn_log(values), KN_AXES(-1), false), limit));
    CHECK(near(d.sign, kn_ones_like(kn_sum(values, KN_AXES(-1), false)), 0));
    if (n <= 8) CHECK(near(kn_det(p), kn_prod(values, KN_AXES(-1), false), 1e-9));
    kn_scope_end(scope, KN_NONE);
}

static void check_any(kn_shape shape)
{
    kn_scope scope = kn_scope_begin();
    int64_t m = shape.dims[shape.rank - 2], n = shape.dims[shape.rank - 1], k = m < n ? m : n;
    double limit = 1e-14 * (double)(m + n + 10) * 4;
    kn_tensor a = kn_keep(made(shape, 2));
    kn_lu_result f = kn_lu(a);
    CHECK(near(kn_matmul(f.p, kn_matmul(f.l, f.u)), a, limit));
    for (int complete = 0; complete < 2; complete++) {
        kn_qr_result qr = kn_qr(a, complete);
        kn_tensor q = kn_keep(qr.q), r = kn_keep(qr.r);
        CHECK(kn_size(q, -1) == (complete ? m : k));
        CHECK(near(kn_matmul(q, r), a, limit));
        CHECK(near(kn_matmul(transposed(q), q), unit(complete ? m : k), limit));
        CHECK(near(kn_tril(r, -1), kn_zeros_like(r), 0));
        kn_svd_result s = kn_svd(a, complete);
        kn_tensor u = kn_keep(s.u), vh = kn_keep(s.vh), sizes = kn_keep(s.s);
        CHECK(
            near(kn_matmul(kn_mul(kn_narrow(u, -1, 0, k), kn_unsqueeze(sizes, -2)), kn_narrow(vh, -2, 0, k)),
                 a, limit));
        CHECK(near(kn_matmul(transposed(u), u), unit(complete ? m : k), limit));
        CHECK(near(kn_matmul(vh, transposed(vh)), unit(complete ? n : k), limit));
        CHECK(near(sizes, kn_sort(sizes, -1, true).values, 0));
    }
    kn_tensor i = kn_keep(kn_pinverse(a, 0));
    CHECK(near(kn_matmul(a, kn_matmul(i, a)), a, limit * 100));
    kn_scope_end(scope, KN_NONE);
}

static void check_factors(void)
{
    check_square(KN_SHAPE(0, 0));
    check_square(KN_SHAPE(0, 3, 3));
    check_square(KN_SHAPE(1, 1));
    check_square(KN_SHAPE(2, 2));
    check_square(KN_SHAPE(2, 3, 7, 7));
    check_square(KN_SHAPE(50, 50));
    check_square(KN_SHAPE(2, 131, 131));
    check_any(KN_SHAPE(1, 1));
    check_any(KN_SHAPE(0, 4, 3));
    check_any(KN_SHAPE(3, 0));
    check_any(KN_SHAPE(0, 3));
    check_any(KN_SHAPE(3, 5));
    check_any(KN_SHAPE(5, 3));
    check_any(KN_SHAPE(2, 6, 6));
    check_any(KN_SHAPE(90, 70));
    check_any(KN_SHAPE(70, 130));
}

/* ---- triangular systems in all forms */

static void check_triangular_size(int64_t n, int64_t columns)
{
    for (int flags = 0; flags < 16; flags++) {
        kn_scope scope = kn_scope_begin();
        kn_triangular_args args = {flags & 1, flags & 2, flags & 4, flags & 8};
        kn_tensor a = kn_keep(
            kn_add(kn_mul_scalar(made(KN_SHAPE(2, n, n), 7), 1.0 / (double)n), kn_mul_scalar(unit(n), 2)));
        kn_tensor b =
            kn_keep(args.right ? made(KN_SHAPE(2, columns, n), 1) : made(KN_SHAPE(2, n, columns), 1));
        kn_tensor t = args.upper ? kn_triu(a, args.unit) : kn_tril(a, args.unit ? -1 : 0);
        if (args.unit) t = kn_add(t, unit(n));
        if (args.transpose) t = transposed(t);
        kn_tensor x = kn_triangular_solve(a, b, &args);
        CHECK(near(args.right ? kn_matmul(x, t) : kn_matmul(t, x), b, 1e-12));
        kn_scope_end(scope, KN_NONE);
    }
}

/* ---- special values and errors */

static void check_errors(void)
{
    double singular[] = {1, 0, 0, 1, 1, 2, 2, 4}, bad[] = {4, 2, 2, 1};
    kn_tensor s = kn_keep(kn_from(singular, KN_F64, KN_SHAPE(2, 2, 2)));
    kn_tensor nan = kn_keep(kn_full(KN_SHAPE(3, 3), __builtin_nan(""), KN_F64));
    CHECK_POISON(kn_inverse(s), "kn_inverse: matrix 1 of the batch is singular: column 1 has no pivot");
    CHECK_POISON(kn_solve(s, kn_ones(KN_SHAPE(2, 2), KN_F64)), "kn_solve: matrix 1 of the batch is singular");
    CHECK(kn_error_code(kn_inverse(s)) == KN_ERROR_NUMERIC);
    CHECK_VALUES(kn_det(s), 0, 1, 0);
    CHECK_POISON(kn_cholesky(kn_from(bad, KN_F64, KN_SHAPE(2, 2)), false),
                 "leading minor of order 2 is not positive");
    CHECK_POISON(kn_cholesky(kn_neg(positive(KN_SHAPE(100, 100), 0)), false), "leading minor of order 1");
    CHECK_POISON(kn_inverse(kn_zeros(KN_SHAPE(100, 100), KN_F32)), "column 0 has no pivot");
    CHECK_POISON(kn_cholesky(nan, false), "not positive definite");
    CHECK_POISON(kn_eigh(nan, false).values, "NaN");
    CHECK_POISON(kn_svd(nan, false).s, "NaN");
    CHECK(kn_ok(kn_qr(nan, false).q));
    CHECK(kn_ok(kn_lu(nan).u));
    CHECK_POISON(kn_det(kn_ones(KN_SHAPE(2, 3), KN_F32)), "square");
    CHECK_POISON(kn_slogdet(kn_ones(KN_SHAPE(2, 3), KN_F32)).sign, "square");
    CHECK_POISON(kn_cholesky(kn_ones(KN_SHAPE(3), KN_F32), false), "rank");
    CHECK_POISON(kn_inverse(kn_ones(KN_SHAPE(2, 2), KN_I32)), "kn_cast");
    CHECK_POISON(kn_solve(kn_ones(KN_SHAPE(3, 3), KN_F32), kn_ones(KN_SHAPE(2, 1), KN_F32)), "3 rows");
    CHECK_POISON(kn_trace(kn_ones(KN_SHAPE(3), KN_F32)), "two axes");
    CHECK_POISON(kn_vector_norm(kn_ones(KN_SHAPE(3), KN_I32), 2, KN_AXES_ALL, false), "kn_cast");
}

static void check_special(void)
{
    kn_slogdet_result zero = kn_slogdet(kn_zeros(KN_SHAPE(2, 2), KN_F64));
    CHECK_VALUES(zero.sign, 0, 0);
    CHECK_VALUES(zero.logabsdet, 0, -__builtin_inf());
    CHECK_VALUES(kn_det(kn_zeros(KN_SHAPE(0, 0), KN_F64)), 0, 1);
    CHECK_VALUES(kn_logdet(kn_neg(kn_eye(3, 3, KN_F64))), 0, __builtin_nan(""));
    /* Rank 1: the other singular values are zero and their vectors still orthonormal. */
    kn_tensor ones = kn_keep(kn_ones(KN_SHAPE(4, 3), KN_F64));
    kn_svd_result s = kn_svd(ones, true);
    kn_tensor u = kn_keep(s.u), vh = kn_keep(s.vh);
    CHECK_VALUES(s.s, 1e-14, 3.4641016151377544, 0, 0);
    CHECK(near(kn_matmul(transposed(u), u), unit(4), 1e-14));
    CHECK(near(kn_matmul(vh, transposed(vh)), unit(3), 1e-14));
    kn_svd_result none = kn_svd(kn_zeros(KN_SHAPE(3, 5), KN_F64), true);
    u = kn_keep(none.u);
    CHECK(near(kn_matmul(transposed(u), u), unit(3), 0));
    /* Small singular values to full relative accuracy: a graded matrix. */
    double graded[] = {1, 1e-9, 1e-17, 1e-9, 1e-9, 1e-17, 1e-17, 1e-17, 1e-17};
    kn_tensor sizes = kn_svd(kn_from(graded, KN_F64, KN_SHAPE(3, 3)), false).s;
    double got[3];
    CHECK(kn_read(sizes, got, sizeof got) == KN_OK);
    CHECK(got[1] > 0.99999999e-9 && got[1] < 1.00000001e-9 && got[2] > 0.9999e-17 && got[2] < 1.0001e-17);
    CHECK(kn_item_int(kn_matrix_rank(ones, 0)) == 1);
    CHECK_VALUES(kn_eigh(kn_eye(3, 3, KN_F64), false).values, 0, 1, 1, 1);
    /* LAPACK's signs. */
    double a[] = {3, 1, 4, 2};
    kn_qr_result qr = kn_qr(kn_from(a, KN_F64, KN_SHAPE(2, 2)), false);
    CHECK_VALUES(qr.r, 1e-15, -5, -2.2, 0, 0.4);
    kn_drop(qr.q);
    CHECK_VALUES(kn_matrix_power(kn_from(a, KN_F64, KN_SHAPE(2, 2)), 3), 1e-14, 59, 23, 92, 36);
    CHECK_VALUES(kn_matrix_power(kn_from(a, KN_F64, KN_SHAPE(2, 2)), -1), 1e-14, 1, -0.5, -2, 1.5);
    CHECK_VALUES(kn_matrix_power(kn_from(a, KN_F64, KN_SHAPE(2, 2)), 0), 0, 1, 0, 0, 1);
}

static void check_diagonals(void)
{
    kn_tensor a = kn_keep(kn_reshape(kn_arange(0, 12, 1, KN_F32), KN_SHAPE(3, 4)));
    CHECK_VALUES(kn_diag(a, 0), 0, 0, 5, 10);
    CHECK_VALUES(kn_diag(a, 2), 0, 2, 7);
    CHECK_VALUES(kn_diag(a, -1), 0, 4, 9);
    CHECK(kn_size(kn_diag(a, 9), 0) == 0);
    CHECK(kn_size(kn_diag(a, -9), 0) == 0);
    CHECK_VALUES(kn_trace(a), 0, 15);
    CHECK_VALUES(kn_diag(kn_arange(1, 3, 1, KN_I32), 0), 0, 1, 0, 0, 2);
    CHECK_VALUES(kn_diag(kn_arange(1, 3, 1, KN_I32), 1), 0, 0, 1, 0, 0, 0, 2, 0, 0, 0);
    CHECK_VALUES(kn_diag(kn_arange(1, 3, 1, KN_I32), -1), 0, 0, 0, 0, 1, 0, 0, 0, 2, 0);
    CHECK_VALUES(kn_diag_embed(kn_reshape(kn_arange(1, 5, 1, KN_F32), KN_SHAPE(2, 2)), 0), 0, 1, 0, 0, 2, 3,
                 0, 0, 4);
    CHECK(kn_count(kn_diag(kn_zeros(KN_SHAPE(0), KN_F32), 2)) == 4);
}

/* ---- gradients */

static kn_tensor symmetric(kn_tensor x)
{
    x = kn_keep(x);
    return kn_mul_scalar(kn_add(x, transposed(x)), 0.5);
}

static kn_tensor of_cholesky(void *c, const kn_tensor *x, int32_t n)
{
    (void)n;
    return kn_cholesky(symmetric(x[0]), c != NULL);
}
static kn_tensor of_triangular(void *c, const kn_tensor *x, int32_t n)
{
    (void)n;
    return kn_triangular_solve(x[0], x[1], c);
}
static kn_tensor of_solve(void *c, const kn_tensor *x, int32_t n)
{
    (void)c, (void)n;
    return kn_solve(x[0], x[1]);
}
static kn_tensor of_inverse(void *c, const kn_tensor *x, int32_t n)
{
    (void)c, (void)n;
    return kn_inverse(x[0]);
}
static kn_tensor of_det(void *c, const kn_tensor *x, int32_t n)
{
    (void)c, (void)n;
    return kn_det(x[0]);
}
static kn_tensor of_logabsdet(void *c, const kn_tensor *x, int32_t n)
{
    (void)c, (void)n;
    return kn_slogdet(x[0]).logabsdet;
}
static kn_tensor of_lu(void *c, const kn_tensor *x, int32_t n)
{
    (void)c, (void)n;
    kn_lu_result f = kn_lu(x[0]);
    return kn_concat((kn_tensor[]){kn_flatten(f.l, 0, -1), kn_flatten(f.u, 0, -1)}, 2, 0);
}
static kn_tensor of_qr(void *c, const kn_tensor *x, int32_t n)
{
    (void)c, (void)n;
    kn_qr_result f = kn_qr(x[0], false);
    return kn_concat((kn_tensor[]){kn_flatten(f.q, 0, -1), kn_flatten(f.r, 0, -1)}, 2, 0);
}
static kn_tensor of_eigh(void *c, const kn_tensor *x, int32_t n)
{
    (void)c, (void)n;
    kn_eigh_result f = kn_eigh(symmetric(x[0]), false);
    return kn_concat((kn_tensor[]){kn_flatten(f.values, 0, -1), kn_flatten(kn_square(f.vectors), 0, -1)}, 2,
                     0);
}
static kn_tensor of_svd(void *c, const kn_tensor *x, int32_t n)
{
    (void)n;
    kn_svd_result f = kn_svd(x[0], c != NULL);
    kn_tensor s = kn_keep(f.s);
    int64_t k = kn_size(s, -1);
    kn_tensor product =
        kn_matmul(kn_mul(kn_narrow(f.u, -1, 0, k), kn_unsqueeze(kn_exp(s), -2)), kn_narrow(f.vh, -2, 0, k));
    return kn_concat((kn_tensor[]){kn_flatten(product, 0, -1), kn_flatten(s, 0, -1)}, 2, 0);
}
static kn_tensor of_pinverse(void *c, const kn_tensor *x, int32_t n)
{
    (void)c, (void)n;
    return kn_pinverse(x[0], 0);
}
static kn_tensor of_norm(void *c, const kn_tensor *x, int32_t n)
{
    (void)n;
    return kn_vector_norm(x[0], *(double *)c, KN_AXES(-1), false);
}
static kn_tensor of_cdist(void *c, const kn_tensor *x, int32_t n)
{
    (void)c, (void)n;
    return kn_cdist(x[0], x[1], 2);
}
static kn_tensor of_cosine(void *c, const kn_tensor *x, int32_t n)
{
    (void)c, (void)n;
    return kn_cosine_similarity(x[0], x[1], -1, 0);
}

/* The gradient of f as a function: what a second kn_gradcheck sees. */
typedef struct nested {
    kn_gradcheck_fn f;
    void *context;
} nested;

static kn_tensor gradient_of(void *context, const kn_tensor *x, int32_t n)
{
    const nested *c = context;
    kn_tensor y = kn_keep(c->f(c->context, x, n)), grads[4] = {{0}}, flat[4];
    kn_tensor weights = kn_keep(kn_reshape(made(KN_SHAPE(kn_count(y)), 4), kn_shape_of_tensor(y)));
    if (!kn_is_require_grad(y)) {
        kn_tensor leaves[4];
        for (int i = 0; i < n; i++) leaves[i] = kn_require_grad(kn_alias(x[i]));
        kn_no_grad_end();
        y = kn_keep(c->f(c->context, leaves, n));
        (void)kn_grad(&y, &weights, 1, leaves, n, KN_GRAD_CREATE_GRAPH, grads);
        kn_no_grad_begin();
    } else {
        (void)kn_grad(&y, &weights, 1, x, n, KN_GRAD_CREATE_GRAPH, grads);
    }
    for (int i = 0; i < n; i++) flat[i] = kn_flatten(grads[i], 0, -1);
    return kn_concat(flat, n, 0);
}

static void check_gradient(const char *name, kn_gradcheck_fn f, void *context, kn_tensor a, kn_tensor b,
                           bool second)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor in[2] = {kn_keep(a), b.bits ? kn_keep(b) : KN_NONE};
    int n = b.bits ? 2 : 1;
    nested again = {f, context};
    if (!CHECK(kn_gradcheck(f, context, in, n, 2e-5) == KN_OK)) printf("  %s: %s\n", name, kn_last_error());
    if (second && !CHECK(kn_gradcheck(gradient_of, &again, in, n, 2e-4) == KN_OK))
        printf("  second order of %s: %s\n", name, kn_last_error());
    kn_scope_end(scope, KN_NONE);
}

static void check_gradients(void)
{
    kn_device device = kn_device_autodiff(kn_device_cpu());
    kn_device_use(device);
    kn_scope scope = kn_scope_begin();
    double orders[] = {1, 2, 3, 0.5, -1};
    check_gradient("cholesky", of_cholesky, NULL, positive(KN_SHAPE(2, 3, 3), 1), KN_NONE, true);
    check_gradient("upper cholesky", of_cholesky, orders, positive(KN_SHAPE(3, 3), 1), KN_NONE, true);
    for (int flags = 0; flags < 16; flags++) {
        kn_triangular_args args = {flags & 1, flags & 2, flags & 4, flags & 8};
        kn_tensor b = args.right ? made(KN_SHAPE(2, 3), 2) : made(KN_SHAPE(3, 2), 2);
        check_gradient("triangular_solve", of_triangular, &args, positive(KN_SHAPE(2, 3, 3), 2), b,
                       flags < 4);
    }
    check_gradient("solve", of_solve, NULL, positive(KN_SHAPE(2, 3, 3), 1), made(KN_SHAPE(3, 2), 4), true);
    check_gradient("inverse", of_inverse, NULL, positive(KN_SHAPE(3, 3), 1), KN_NONE, true);
    check_gradient("det", of_det, NULL, made(KN_SHAPE(2, 3, 3), 1), KN_NONE, true);
    check_gradient("det 1", of_det, NULL, made(KN_SHAPE(1, 1), 1), KN_NONE, false);
    check_gradient("singular det", of_det, NULL, kn_ones(KN_SHAPE(2, 2), KN_F64), KN_NONE, false);
    check_gradient("zero det", of_det, NULL, kn_zeros(KN_SHAPE(3, 3), KN_F64), KN_NONE, false);
    check_gradient("slogdet", of_logabsdet, NULL, positive(KN_SHAPE(2, 3, 3), 1), KN_NONE, true);
    check_gradient("lu", of_lu, NULL, made(KN_SHAPE(2, 3, 3), 1), KN_NONE, true);
    check_gradient("tall lu", of_lu, NULL, made(KN_SHAPE(5, 3), 1), KN_NONE, true);
    check_gradient("wide lu", of_lu, NULL, made(KN_SHAPE(3, 5), 1), KN_NONE, true);
    check_gradient("qr", of_qr, NULL, positive(KN_SHAPE(2, 3, 3), 1), KN_NONE, true);
    check_gradient("tall qr", of_qr, NULL, made(KN_SHAPE(5, 3), 1), KN_NONE, true);
    check_gradient("wide qr", of_qr, NULL, made(KN_SHAPE(3, 5), 1), KN_NONE, true);
    check_gradient("eigh", of_eigh, NULL, positive(KN_SHAPE(2, 3, 3), 1), KN_NONE, true);
    check_gradient("svd", of_svd, NULL, made(KN_SHAPE(3, 3), 1), KN_NONE, true);
    check_gradient("tall svd", of_svd, NULL, made(KN_SHAPE(2, 5, 3), 1), KN_NONE, true);
    check_gradient("wide svd", of_svd, NULL, made(KN_SHAPE(3, 5), 1), KN_NONE, true);
    check_gradient("full svd", of_svd, orders, made(KN_SHAPE(5, 3), 1), KN_NONE, false);
    check_gradient("pinverse", of_pinverse, NULL, made(KN_SHAPE(4, 3), 1), KN_NONE, true);
    for (int i = 0; i < 5; i++)
        check_gradient("norm", of_norm, &orders[i], kn_add_scalar(made(KN_SHAPE(3, 4), 1), 2), KN_NONE, true);
    check_gradient("cdist", of_cdist, NULL, made(KN_SHAPE(4, 3), 1), made(KN_SHAPE(5, 3), 9), true);
    check_gradient("cosine", of_cosine, NULL, made(KN_SHAPE(4, 3), 1), made(KN_SHAPE(4, 3), 9), true);

    kn_tensor zero = kn_require_grad(kn_zeros(KN_SHAPE(3), KN_F64)), grads[1];
    kn_tensor size = kn_keep(kn_vector_norm(zero, 2, KN_AXES_ALL, false));
    CHECK(kn_grad(&size, NULL, 1, &zero, 1, 0, grads) == KN_OK);
    CHECK_VALUES(grads[0], 0, 0, 0, 0);
    kn_tensor equal = kn_require_grad(kn_eye(3, 3, KN_F64));
    kn_tensor total = kn_keep(kn_sum(kn_eigh(equal, false).vectors, KN_AXES_ALL, false));
    CHECK(kn_grad(&total, NULL, 1, &equal, 1, 0, grads) == KN_OK);
    CHECK(near(grads[0], kn_zeros(KN_SHAPE(3, 3), KN_F64), 1e3));
    kn_tensor tall = kn_require_grad(made(KN_SHAPE(4, 2), 0));
    kn_tensor complete = kn_keep(kn_sum(kn_qr(tall, true).q, KN_AXES_ALL, false));
    CHECK(kn_ok(complete)); /* only asking for the gradient is an error */
    CHECK_ERROR(kn_grad(&complete, NULL, 1, &tall, 1, 0, grads), "no gradient");
    kn_scope_end(scope, KN_NONE);
    kn_device_use(kn_device_cpu());
}

/* The gradient of y by x against the cotangent g. */
static kn_tensor pulled(kn_tensor y, kn_tensor g, kn_tensor x)
{
    kn_tensor grad[1] = {KN_NONE};
    y = kn_keep(y);
    g = kn_keep(g);
    CHECK(kn_grad(&y, &g, 1, &x, 1, 0, grad) == KN_OK);
    return grad[0];
}

/* Equal singular values have no derivative of their vectors, but the pseudo-inverse has one. */
static void check_degenerate(void)
{
    kn_device_use(kn_device_autodiff(kn_device_cpu()));
    kn_scope scope = kn_scope_begin();
    kn_tensor g = kn_keep(kn_from((double[]){1, 2, 3, 4}, KN_F64, KN_SHAPE(2, 2)));
    kn_tensor one = kn_require_grad(kn_eye(2, 2, KN_F64));
    CHECK_VALUES(pulled(kn_pinverse(one, 0), g, one), 1e-12, -1, -2, -3, -4);
    CHECK_VALUES(pulled(kn_lstsq(one, unit(2)), g, one), 1e-12, -1, -2, -3, -4);
    kn_tensor flat = kn_require_grad(kn_ones(KN_SHAPE(2, 2), KN_F64));
    CHECK_VALUES(pulled(kn_pinverse(flat, 0), g, flat), 1e-12, -1, -0.5, -0.75, -0.25);
    /* A symmetric function of equal values is right; the sum of the eigenvalues is the trace. */
    kn_tensor sum = kn_sum(kn_square(kn_eigh(one, false).values), KN_AXES_ALL, false);
    CHECK_VALUES(pulled(sum, kn_ones(KN_SCALAR_SHAPE, KN_F64), one), 1e-12, 2, 0, 0, 2);
    kn_tensor spectral = kn_matrix_norm(one, KN_NORM_SPECTRAL);
    CHECK_VALUES(pulled(spectral, kn_ones(KN_SCALAR_SHAPE, KN_F64), one), 1e-12, 0.5, 0, 0, 0.5);
    kn_tensor nuclear = kn_matrix_norm(one, KN_NORM_NUCLEAR);
    CHECK_VALUES(pulled(nuclear, kn_ones(KN_SCALAR_SHAPE, KN_F64), one), 1e-12, 1, 0, 0, 1);
    kn_scope_end(scope, KN_NONE);
    kn_device_use(kn_device_cpu());
}

/* Only symmetric changes of the matrix mean anything, so the gradient is symmetric, also that of the vectors. */
static void check_symmetric_gradient(void)
{
    kn_device_use(kn_device_autodiff(kn_device_cpu()));
    kn_scope scope = kn_scope_begin();
    kn_tensor g = kn_keep(kn_from((double[]){1, 2, 3, 5}, KN_F64, KN_SHAPE(2, 2)));
    kn_tensor a = kn_require_grad(kn_from((double[]){2, 1, 1, 4}, KN_F64, KN_SHAPE(2, 2)));
    /* |v| = [cos t, sin t; sin t, cos t] with tan 2t = 2 a01 / (a11 - a00): t = pi / 8, and dt = (da01 + da10 + da00 - da11) / 8. */
    double slope = (5 * cos(0.39269908169872414) - 6 * sin(0.39269908169872414)) / 8;
    for (int upper = 0; upper < 2; upper++) {
        kn_tensor vectors = kn_eigh(a, upper != 0).vectors;
        CHECK_VALUES(pulled(kn_abs(vectors), g, a), 1e-14, slope, slope, slope, -slope);
    }
    kn_scope_end(scope, KN_NONE);
    kn_device_use(kn_device_cpu());
}

int main(void)
{
    kn_device_use(kn_device_cpu());
    check_factors();
    check_triangular_size(3, 2);
    check_triangular_size(100, 70);
    check_errors();
    check_special();
    check_diagonals();
    check_gradients();
    check_degenerate();
    check_symmetric_gradient();
    return check_report();
}
