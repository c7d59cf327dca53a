/* Norms and distances. Where a norm is 0 its gradient is 0, as in PyTorch; the half types are computed in f32. */
#include "ops/linalg_rows.h"
#include "ops/movement_rows.h"
#include "ops/wide.h"

/* f(x) with f'(0) = 0 and f(0) = 0: f never sees the zeros. */
static kn_tensor root_of(kn_tensor x, double order)
{
    x = kn_keep(x);
    if (!kn_ok(x)) return x;
    kn_tensor zero = kn_keep(kn_equal_scalar(x, 0));
    kn_tensor safe = kn_where(zero, kn_ones_like(x), x);
    return kn_where(zero, kn_zeros_like(x), order == 2 ? kn_sqrt(safe) : kn_pow_scalar(safe, 1 / order));
}

/* sum(|x|^order)^(1 / order) with gradient 0 at zeros. Below 0 one zero makes the norm 0. */
static kn_tensor power_norm(kn_tensor x, double order, kn_ints axes, bool keep)
{
    kn_tensor size = kn_keep(kn_abs(x));
    if (!kn_ok(size)) return size;
    kn_tensor zero = kn_keep(kn_equal_scalar(size, 0));
    kn_tensor powers = kn_pow_scalar(kn_where(zero, kn_ones_like(size), size), order);
    if (order > 0) return root_of(kn_sum(kn_where(zero, kn_zeros_like(size), powers), axes, keep), order);
    kn_tensor y = kn_keep(kn_pow_scalar(kn_sum(powers, axes, keep), 1 / order));
    return kn_where(kn_any(zero, axes, keep), kn_zeros_like(y), y);
}

static kn_tensor norm(kn_tensor x, double order, kn_ints axes, bool keep)
{
    if (order == 1) return kn_sum(kn_abs(x), axes, keep);
    if (order == 2) return root_of(kn_sum(kn_square(x), axes, keep), 2);
    if (order == KN_NORM_INF) return kn_max(kn_abs(x), axes, keep);
    if (order == -KN_NORM_INF) return kn_min(kn_abs(x), axes, keep);
    if (order == 0) {
        kn_dtype dtype = kn_dtype_of(x);
        return kn_cast(kn_sum(kn_not_equal_scalar(x, 0), axes, keep), dtype);
    }
    return power_norm(x, order, axes, keep);
}

kn_tensor kn_vector_norm(kn_tensor x, double order, kn_ints axes, bool keep)
{
    const kni_type *t = kni_type_of(x);
    kni_call call = kni_call_begin("vector_norm");
    if (!t) return kni_call_end(call, kn_abs(x));
    kn_dtype dtype = (kn_dtype)t->dtype;
    if (!kn_dtype_is_float(dtype))
        return kni_call_fail(call, KN_ERROR_DTYPE, "needs floats, not %T: convert with kn_cast()",
                             (int)dtype);
    if (order != order) return kni_call_fail(call, KN_ERROR_ARGUMENT, "the order is NaN");
    return kni_call_end_as(call, norm(kni_widen(x), order, axes, keep), (int)dtype);
}

static kn_tensor axis_norm(const char *name, kn_tensor x, double order, int32_t axis)
{
    kni_call call = kni_call_begin(name);
    return kni_call_end(call, kn_vector_norm(x, order, KN_AXES(axis), true));
}

kn_tensor kn_lp_norm(kn_tensor x, double order, int32_t axis) { return axis_norm("lp_norm", x, order, axis); }
kn_tensor kn_l0_norm(kn_tensor x, int32_t axis) { return axis_norm("l0_norm", x, 0, axis); }
kn_tensor kn_l1_norm(kn_tensor x, int32_t axis) { return axis_norm("l1_norm", x, 1, axis); }
kn_tensor kn_l2_norm(kn_tensor x, int32_t axis) { return axis_norm("l2_norm", x, 2, axis); }
kn_tensor kn_max_abs_norm(kn_tensor x, int32_t axis)
{
    return axis_norm("max_abs_norm", x, KN_NORM_INF, axis);
}
kn_tensor kn_min_abs_norm(kn_tensor x, int32_t axis)
{
    return axis_norm("min_abs_norm", x, -KN_NORM_INF, axis);
}

kn_tensor kn_vector_normalize(kn_tensor x, double order, int32_t axis, double eps)
{
    kni_call call = kni_call_begin("vector_normalize");
    int dtype = kni_widen_all(&x, 1);
    x = kn_keep(x);
    kn_tensor size = kn_maximum_scalar(kn_vector_norm(x, order, KN_AXES(axis), true), eps);
    return kni_call_end_as(call, kn_div(x, size), dtype);
}

kn_tensor kn_matrix_norm(kn_tensor a, kn_matrix_norm_kind kind)
{
    const kni_type *t = kni_type_of(a);
    kni_call call = kni_call_begin("matrix_norm");
    if (t && t->rank < 2) return kni_call_fail(call, KN_ERROR_SHAPE, "needs at least two axes, not %S", t);
    bool largest = kind == KN_NORM_SPECTRAL || kind == KN_NORM_ROWS || kind == KN_NORM_COLUMNS;
    if (t && largest && (kni_matrix_rows(t) == 0 || kni_matrix_columns(t) == 0))
        kind = KN_NORM_FROBENIUS; /* 0, as any sum of nothing, where the largest of nothing has no value */
    int dtype = kni_widen_all(&a, 1);
    kn_tensor y;
    switch (kind) {
    case KN_NORM_FROBENIUS:
        y = kn_vector_norm(a, 2, KN_AXES(-2, -1), false);
        break;
    case KN_NORM_NUCLEAR:
        y = kn_sum(kn_svd(a, false).s, KN_AXES(-1), false);
        break;
    case KN_NORM_SPECTRAL:
        y = kn_max(kn_svd(a, false).s, KN_AXES(-1), false);
        break;
    case KN_NORM_ROWS:
        y = kn_max(kn_sum(kn_abs(a), KN_AXES(-1), false), KN_AXES(-1), false);
        break;
    case KN_NORM_COLUMNS:
        y = kn_max(kn_sum(kn_abs(a), KN_AXES(-2), false), KN_AXES(-1), false);
        break;
    case KN_NORM_SPECTRAL_LEAST:
        y = kn_min(kn_svd(a, false).s, KN_AXES(-1), false);
        break;
    case KN_NORM_ROWS_LEAST:
        y = kn_min(kn_sum(kn_abs(a), KN_AXES(-1), false), KN_AXES(-1), false);
        break;
    case KN_NORM_COLUMNS_LEAST:
        y = kn_min(kn_sum(kn_abs(a), KN_AXES(-2), false), KN_AXES(-1), false);
        break;
    default:
        return kni_call_fail(call, KN_ERROR_ARGUMENT, "there is no matrix norm of kind %d", (int)kind);
    }
    return kni_call_end_as(call, y, dtype);
}

void kni_broadcast_both(kn_tensor *a, kn_tensor *b)
{
    const kni_type *ta = kni_type_of(*a), *tb = kni_type_of(*b);
    if (!ta || !tb || kni_same_dims(ta, tb)) return;
    kn_shape shape = {ta->rank > tb->rank ? ta->rank : tb->rank, {0}};
    for (int i = 1; i <= shape.rank; i++) {
        int64_t da = i <= ta->rank ? ta->dims[ta->rank - i] : 1;
        int64_t db = i <= tb->rank ? tb->dims[tb->rank - i] : 1;
        if (da != db && da != 1 && db != 1) return;
        shape.dims[shape.rank - i] = da == 1 ? db : da;
    }
    *a = kn_expand(*a, shape);
    *b = kn_expand(*b, shape);
}

kn_tensor kn_cosine_similarity(kn_tensor a, kn_tensor b, int32_t axis, double eps)
{
    kni_call call = kni_call_begin("cosine_similarity");
    double least = kn_real_or(eps, 1e-8);
    kn_tensor in[2] = {a, b};
    int dtype = kni_widen_all(in, 2);
    kni_broadcast_both(&in[0], &in[1]);
    a = kn_keep(in[0]);
    b = kn_keep(in[1]);
    kn_ints axes = KN_AXES(axis);
    kn_tensor size_a = kn_maximum_scalar(kn_vector_norm(a, 2, axes, true), least);
    kn_tensor size_b = kn_maximum_scalar(kn_vector_norm(b, 2, axes, true), least);
    /* Each by its own size, as in PyTorch: the product of the sizes may overflow. */
    kn_tensor y = kn_sum(kn_mul(kn_div(a, size_a), kn_div(b, size_b)), axes, false);
    return kni_call_end_as(call, y, dtype);
}

kn_tensor kn_pairwise_distance(kn_tensor a, kn_tensor b, const kn_pairwise_distance_args *args)
{
    static const kn_pairwise_distance_args defaults;
    if (!args) args = &defaults;
    double order = kn_real_or(args->order, 2), eps = args->eps == 0 ? 1e-6 : args->eps < 0 ? 0 : args->eps;
    kni_call call = kni_call_begin("pairwise_distance");
    kn_tensor in[2] = {a, b};
    int dtype = kni_widen_all(in, 2);
    kn_tensor gap = kn_add_scalar(kn_sub(in[0], in[1]), eps);
    return kni_call_end_as(call, kn_vector_norm(gap, order, KN_AXES(-1), args->keep), dtype);
}

/* |a|^2 + |b|^2 - 2 a b', for many points: less memory, and less accurate for points that lie close together. */
static kn_tensor euclidean_by_products(kn_tensor a, kn_tensor b)
{
    a = kn_keep(a);
    b = kn_keep(b);
    kn_tensor squares = kn_add(kn_sum(kn_square(a), KN_AXES(-1), true),
                               kni_transposed(kn_sum(kn_square(b), KN_AXES(-1), true)));
    kn_tensor products = kn_mul_scalar(kn_matmul(a, kni_transposed(b)), 2);
    return root_of(kn_maximum_scalar(kn_sub(squares, products), 0), 2);
}

kn_tensor kn_cdist(kn_tensor a, kn_tensor b, double order)
{
    enum { MANY = 25 }; /* PyTorch's limit */
    const kni_type *ta = kni_type_of(a), *tb = kni_type_of(b);
    kni_call call = kni_call_begin("cdist");
    kni_call_share((const kn_tensor[]){a, b}, 2);
    if (!ta || !tb) return kni_call_end(call, kn_sub(a, b));
    if (ta->rank < 2 || tb->rank < 2 || kni_matrix_columns(ta) != kni_matrix_columns(tb))
        return kni_call_fail(call, KN_ERROR_SHAPE, "needs points [..., n, size] of one size: a %S, b %S", ta,
                             tb);
    if (order < 0) return kni_call_fail(call, KN_ERROR_ARGUMENT, "the order must not be negative: %g", order);
    bool many =
        order == 2 && ta->dtype == tb->dtype && (kni_matrix_rows(ta) > MANY || kni_matrix_rows(tb) > MANY);
    kn_tensor in[2] = {a, b};
    int dtype = kni_widen_all(in, 2);
    if (many) return kni_call_end_as(call, euclidean_by_products(in[0], in[1]), dtype);
    kn_tensor gaps = kn_sub(kn_unsqueeze(in[0], -2), kn_unsqueeze(in[1], -3));
    return kni_call_end_as(call, kn_vector_norm(gaps, order, KN_AXES(-1), false), dtype);
}

kn_tensor kn_pdist(kn_tensor x, double order)
{
    const kni_type *t = kni_type_of(x);
    kni_call call = kni_call_begin("pdist");
    if (!t) return kni_call_end(call, kn_neg(x));
    if (t->rank != 2) return kni_call_fail(call, KN_ERROR_SHAPE, "needs points [n, size], not %S", t);
    if (!kn_dtype_is_float((kn_dtype)t->dtype))
        return kni_call_fail(call, KN_ERROR_DTYPE, "needs floats, not %T: convert with kn_cast()",
                             (int)t->dtype);
    if (!(order >= 0))
        return kni_call_fail(call, KN_ERROR_ARGUMENT, "the order must not be negative: %g", order);
    int64_t n = t->dims[0];
    if (n > INT64_C(1) << 31) return kni_call_fail(call, KN_ERROR_SHAPE, "%S are too many points", t);
    int dtype = kni_widen_all(&x, 1);
    x = kn_keep(x);
    kni_context before = kni_stand_by(x);
    kn_tensor above = kn_upper_mask(KN_SHAPE(n, n), 1);
    kni_stand_back(before);
    kn_tensor pairs = kn_keep(kn_nonzero_bounded(above, n * (n - 1) / 2).indices);
    kn_tensor first = kn_index_select(x, 0, kn_select(pairs, 1, 0));
    kn_tensor second = kn_index_select(x, 0, kn_select(pairs, 1, 1));
    return kni_call_end_as(call, kn_vector_norm(kn_sub(first, second), order, KN_AXES(-1), false), dtype);
}
