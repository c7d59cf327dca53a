/* Systems of equations by given factors, condition numbers, and systems whose unknowns are tensors. */
#include "ops/linalg_rows.h"
#include "ops/movement_rows.h"
#include "ops/wide.h"

static kn_shape batch_of(const kni_type *t)
{
    kn_shape s = kni_shape_from_type(t);
    s.rank -= 2;
    return s;
}

/* ---- LU */

/* a x = b with a = p' l u: x = u^-1 l^-1 p b; transposed: x = p' l'^-1 u'^-1 b. */
static kn_tensor solve_by_lu(kn_tensor lu, kn_tensor permutation, kn_tensor b, bool transpose)
{
    if (!transpose) {
        b = kni_permute_rows(b, permutation);
        return kni_solve_left(lu, kni_solve_left(lu, b, false, false, true), true, false, false);
    }
    kn_tensor x = kni_solve_left(lu, kni_solve_left(lu, b, true, true, false), false, true, true);
    return kni_unpermute_rows(kn_keep(x), permutation);
}

/* A permutation for every matrix of the batch that lu and b share. */
static kn_tensor spread_permutation(kn_tensor permutation, kn_tensor lu)
{
    if (!kn_ok(lu)) return permutation;
    kn_shape shape = kn_shape_of_tensor(lu);
    shape.rank--;
    return kn_expand(permutation, shape);
}

kn_tensor kn_lu_solve(kn_tensor lu, kn_tensor permutation, kn_tensor b, const kn_lu_solve_args *args)
{
    static const kn_lu_solve_args usual;
    if (!args) args = &usual;
    const kni_type *t = kni_matrices(lu, "lu_solve");
    if (!t) return kni_no_matrices("lu_solve", lu);
    kni_call call = kni_call_begin("lu_solve");
    int64_t n = kni_matrix_rows(t);
    const kni_type *p = kni_type_of(permutation), *right = kni_type_of(b);
    if (!p || !right) return kni_call_end(call, kn_add(permutation, b));
    if (n != kni_matrix_columns(t))
        return kni_call_fail(call, KN_ERROR_SHAPE, "needs the factors of square matrices, not %S", t);
    if (p->rank < 1 || p->dims[p->rank - 1] != n || !kn_dtype_is_integer((kn_dtype)p->dtype))
        return kni_call_fail(
            call, KN_ERROR_SHAPE,
            "the permutation must be integers [..., %D] as kn_lu_decomposition gives it, not %T %S", n,
            (int)p->dtype, p);
    if (right->rank < 2 || right->dims[right->rank - (args->right ? 1 : 2)] != n)
        return kni_call_fail(call, KN_ERROR_SHAPE, "b must be [..., %s], not %S: lu is %S",
                             args->right ? "k, n" : "n, k", right, t);
    kn_tensor in[2] = {lu, b};
    int dtype = kni_widen_all(in, 2);
    /* x a = b is a' x' = b'. */
    b = args->right ? kni_transposed(in[1]) : in[1];
    lu = in[0];
    kni_broadcast_batches(&lu, &b);
    lu = kn_keep(lu);
    permutation = kn_keep(spread_permutation(permutation, lu));
    kn_tensor x = solve_by_lu(lu, permutation, b, args->transpose != args->right);
    return kni_call_end_as(call, args->right ? kni_transposed(x) : x, dtype);
}

kn_tensor kn_cholesky_inverse(kn_tensor l, bool upper)
{
    const kni_type *t = kni_matrices(l, "cholesky_inverse");
    if (!t) return kni_no_matrices("cholesky_inverse", l);
    kni_call call = kni_call_begin("cholesky_inverse");
    if (kni_matrix_rows(t) != kni_matrix_columns(t))
        return kni_call_fail(call, KN_ERROR_SHAPE, "needs square matrices, not %S", t);
    int64_t n = kni_matrix_rows(t);
    int dtype = kni_widen_all(&l, 1);
    l = kn_keep(l);
    kn_tensor unit = kni_unit_like(l, n);
    return kni_call_end_as(call, kn_cholesky_solve(unit, l, upper), dtype);
}

/* ---- values of factorisations alone */

kn_tensor kn_eigvalsh(kn_tensor a, bool upper)
{
    kni_call call = kni_call_begin("eigvalsh");
    kn_eigh_result r = kn_eigh(a, upper);
    return kni_call_end(call, r.values);
}

kn_tensor kn_svdvals(kn_tensor a)
{
    kni_call call = kni_call_begin("svdvals");
    kn_svd_result r = kn_svd(a, false);
    return kni_call_end(call, r.s);
}

/* ---- condition numbers */

static kn_tensor spectral_condition(kn_tensor a, bool inverse)
{
    kn_tensor s = kn_keep(kn_svdvals(a));
    kn_tensor largest = kn_max(s, KN_AXES(-1), false), least = kn_min(s, KN_AXES(-1), false);
    return inverse ? kn_div(least, largest) : kn_div(largest, least);
}

/* |a| |a^-1|, infinite for a singular a, which is replaced by the identity so that the inverse exists. */
static kn_tensor condition_by_inverse(kn_tensor a, const kni_type *t, kn_matrix_norm_kind kind)
{
    kni_lu_parts f = kni_lu_factor(kn_detach(a), false);
    kn_tensor singular = kn_keep(kn_any(kn_equal_scalar(kn_diag(f.lu, 0), 0), KN_AXES(-1), false));
    kn_tensor unit = kn_expand(kni_unit_like(a, kni_matrix_rows(t)), kni_shape_from_type(t));
    kn_tensor safe = kn_keep(kn_where(kn_unsqueeze_dims(singular, KN_AXES(-2, -1)), unit, a));
    kn_tensor y = kn_keep(kn_mul(kn_matrix_norm(safe, kind), kn_matrix_norm(kn_inverse(safe), kind)));
    return kn_where(singular, kni_number(y, KN_NORM_INF), y);
}

kn_tensor kn_cond(kn_tensor a, kn_matrix_norm_kind kind)
{
    const kni_type *t = kni_matrices(a, "cond");
    if (!t) return kni_no_matrices("cond", a);
    kni_call call = kni_call_begin("cond");
    kni_type type = *t;
    bool spectral = kind == KN_NORM_SPECTRAL || kind == KN_NORM_SPECTRAL_LEAST;
    if ((unsigned)kind > KN_NORM_COLUMNS_LEAST)
        return kni_call_fail(call, KN_ERROR_ARGUMENT, "there is no matrix norm of kind %d", (int)kind);
    if (!spectral && kni_matrix_rows(t) != kni_matrix_columns(t))
        return kni_call_fail(call, KN_ERROR_SHAPE,
                             "this norm needs square matrices, not %S: KN_NORM_SPECTRAL takes any", &type);
    int dtype = kni_widen_all(&a, 1);
    a = kn_keep(a);
    if (kni_matrix_rows(&type) == 0 || kni_matrix_columns(&type) == 0) {
        kni_context before = kni_stand_by(a);
        kn_tensor none = kn_zeros(batch_of(&type), kn_dtype_of(a));
        kni_stand_back(before);
        return kni_call_end_as(call, none, dtype);
    }
    kn_tensor y = spectral ? spectral_condition(a, kind == KN_NORM_SPECTRAL_LEAST)
                           : condition_by_inverse(a, &type, kind);
    return kni_call_end_as(call, y, dtype);
}

/* ---- tensors as matrices */

static int64_t product_of(const kni_type *t, int begin, int end)
{
    int64_t n = 1;
    for (int i = begin; i < end; i++) n *= t->dims[i];
    return n;
}

kn_tensor kn_tensorinv(kn_tensor a, int32_t n_axes)
{
    kni_call call = kni_call_begin("tensorinv");
    const kni_type *t = kni_type_of(a);
    if (!t) return kni_call_end(call, kn_neg(a));
    if (n_axes < 1 || n_axes >= t->rank)
        return kni_call_fail(call, KN_ERROR_ARGUMENT,
                             "n_axes is %d: the first axes of %S, at least one and not all of them", n_axes,
                             t);
    int64_t rows = product_of(t, 0, n_axes), columns = product_of(t, n_axes, t->rank);
    if (rows != columns)
        return kni_call_fail(call, KN_ERROR_SHAPE,
                             "the first %d axes of %S have %D elements and the others %D: they must be equal",
                             n_axes, t, rows, columns);
    kn_shape shape = {.rank = t->rank};
    for (int i = 0; i < t->rank; i++) shape.dims[i] = t->dims[(i + n_axes) % t->rank];
    return kni_call_end(call, kn_reshape(kn_inverse(kn_reshape(a, KN_SHAPE(rows, columns))), shape));
}

kn_tensor kn_tensorsolve(kn_tensor a, kn_tensor b, kn_ints axes)
{
    kni_call call = kni_call_begin("tensorsolve");
    if (axes.rank > 0) {
        kn_ints last = {.rank = axes.rank};
        for (int i = 0; i < axes.rank && i < KN_MAX_RANK; i++) last.dims[i] = i - axes.rank;
        a = kn_movedim(a, axes, last);
    }
    const kni_type *t = kni_type_of(a), *right = kni_type_of(b);
    if (!t || !right) return kni_call_end(call, kn_add(a, b));
    int64_t n = kni_count(right);
    bool fits = t->rank >= right->rank && product_of(t, right->rank, t->rank) == n;
    for (int i = 0; i < right->rank && fits; i++) fits = t->dims[i] == right->dims[i];
    if (!fits)
        return kni_call_fail(
            call, KN_ERROR_SHAPE,
            "a must begin with the axes of b and have as many elements in the others: a %S, b %S", t, right);
    kn_shape shape = {.rank = t->rank - right->rank};
    for (int i = 0; i < shape.rank; i++) shape.dims[i] = t->dims[right->rank + i];
    kn_tensor x = kn_solve(kn_reshape(a, KN_SHAPE(n, n)), kn_reshape(b, KN_SHAPE(n)));
    return kni_call_end(call, kn_reshape(x, shape));
}

/* ---- matrices from vectors */

kn_tensor kn_vander(kn_tensor x, int64_t columns, bool decreasing)
{
    kni_call call = kni_call_begin("vander");
    const kni_type *t = kni_type_of(x);
    if (!t) return kni_call_end(call, kn_neg(x));
    if (t->rank < 1 || t->rank >= KN_MAX_RANK)
        return kni_call_fail(call, KN_ERROR_SHAPE, "needs rank 1 to %d, not %S", KN_MAX_RANK - 1, t);
    if (columns < -1)
        return kni_call_fail(call, KN_ERROR_ARGUMENT, "%D columns: give 0 or more, or -1 for the size of x",
                             columns);
    if (columns == -1) columns = t->dims[t->rank - 1];
    kn_shape shape = kni_shape_from_type(t);
    shape.dims[shape.rank++] = columns ? columns - 1 : 0;
    /* As in PyTorch integers give i64. */
    kn_dtype dtype = kn_dtype_is_float((kn_dtype)t->dtype) ? (kn_dtype)t->dtype : KN_I64;
    x = kn_keep(kni_as(kni_widen(x), kni_sum_dtype((int)dtype)));
    kn_tensor powers = kn_cumprod(kn_expand(kn_unsqueeze(x, -1), shape), -1), y = powers;
    if (columns > 0) {
        kn_tensor parts[2] = {kn_unsqueeze(kn_ones_like(x), -1), powers};
        y = kn_concat(parts, 2, -1);
    }
    if (decreasing) y = kn_flip(y, KN_AXES(-1));
    return kni_call_end_as(call, y, (int)dtype);
}

/* H_1 H_2 ... H_k applied to the first columns of the identity, with H_i = 1 - tau_i v_i v_i'. */
kn_tensor kn_householder_product(kn_tensor a, kn_tensor tau)
{
    const kni_type *t = kni_matrices(a, "householder_product");
    if (!t) return kni_no_matrices("householder_product", a);
    kni_call call = kni_call_begin("householder_product");
    const kni_type *f = kni_type_of(tau);
    if (!f) return kni_call_end(call, kn_neg(tau));
    int64_t m = kni_matrix_rows(t), n = kni_matrix_columns(t), k = f->rank ? f->dims[f->rank - 1] : 0;
    bool fits = f->rank == t->rank - 1 && m >= n && n >= k;
    for (int i = 0; i < f->rank - 1 && fits; i++) fits = f->dims[i] == t->dims[i];
    if (!fits)
        return kni_call_fail(
            call, KN_ERROR_SHAPE,
            "needs a [..., m, n] and tau [..., k] of one batch with m >= n >= k: a %S, tau %S", t, f);
    kn_shape whole = kni_shape_from_type(t);
    kn_tensor in[2] = {a, tau};
    int dtype = kni_widen_all(in, 2);
    a = kn_keep(in[0]);
    tau = kn_keep(in[1]);
    kni_context before = kni_stand_by(a);
    kn_tensor unit = kn_keep(kn_eye(m, n, kn_dtype_of(a)));
    kni_stand_back(before);
    kn_tensor v = kn_keep(kn_add(kn_tril(a, -1), unit)), q = kn_keep(kn_expand(unit, whole));
    for (int64_t i = k - 1; i >= 0 && kn_ok(q); i--) {
        kn_tensor column = kn_keep(kni_columns_of(v, i, 1));
        kn_tensor factor = kn_unsqueeze(kni_columns_of(tau, i, 1), -1);
        kn_tensor turned = kn_matmul(kn_mul(column, factor), kn_matmul(kni_transposed(column), q));
        q = kn_keep(kn_sub(q, turned));
    }
    return kni_call_end_as(call, kn_alias(q), dtype);
}
