/* Linear algebra made of the rows: factors as matrices, logarithms of determinants, powers, diagonals. */
#include "ops/linalg_rows.h"
#include "ops/movement_rows.h"
#include "ops/wide.h"

static bool is_square(const kni_type *t) { return kni_matrix_rows(t) == kni_matrix_columns(t); }

static kn_shape shape_with(const kni_type *t, int64_t rows, int64_t columns)
{
    kn_shape s = kni_shape_from_type(t);
    s.dims[s.rank - 2] = rows;
    s.dims[s.rank - 1] = columns;
    return s;
}

/* ---- triangular factors */

kn_tensor kn_cholesky_solve(kn_tensor b, kn_tensor l, bool upper)
{
    kni_call call = kni_call_begin("cholesky_solve");
    kn_tensor in[2] = {b, l};
    int dtype = kni_widen_all(in, 2);
    b = in[0];
    l = in[1];
    kni_broadcast_batches(&l, &b);
    l = kn_keep(l);
    kn_tensor x = kni_solve_left(l, b, upper, upper, false);
    return kni_call_end_as(call, kni_solve_left(l, x, upper, !upper, false), dtype);
}

/* The factors as matrices; the call ends here. */
static kn_lu_result unpack(kni_call call, kn_tensor packed, kn_tensor permutation, const kni_type *type)
{
    int64_t m = kni_matrix_rows(type), n = kni_matrix_columns(type), k = m < n ? m : n;
    kn_tensor lu = kn_keep(packed);
    kni_context before = kni_stand_by(lu);
    kn_tensor unit = kn_expand(kn_eye(m, m, (kn_dtype)type->dtype), shape_with(type, m, m));
    kn_tensor ones = kn_eye(m, k, (kn_dtype)type->dtype);
    kni_stand_back(before);
    kn_tensor out[3] = {kni_unpermute_rows(kn_keep(unit), permutation),
                        kn_add(kn_tril(kni_columns_of(lu, 0, k), -1), ones),
                        kn_triu(kni_rows_of(lu, 0, k), 0)};
    kni_call_end_many(call, out, 3);
    return (kn_lu_result){out[0], out[1], out[2]};
}

kn_lu_result kn_lu(kn_tensor a)
{
    const kni_type *t = kni_matrices(a, "lu");
    if (!t) {
        kn_tensor none = kni_no_matrices("lu", a);
        return (kn_lu_result){none, none, none};
    }
    kni_type type = *t;
    kni_call call = kni_call_begin("lu");
    kni_lu_parts f = kni_lu_factor(a, false);
    return unpack(call, f.lu, f.permutation, &type);
}

kn_lu_result kn_lu_unpack(kn_tensor lu, kn_tensor permutation)
{
    const kni_type *t = kni_matrices(lu, "lu_unpack");
    if (!t) {
        kn_tensor none = kni_no_matrices("lu_unpack", lu);
        return (kn_lu_result){none, none, none};
    }
    kni_type type = *t;
    kni_call call = kni_call_begin("lu_unpack");
    const kni_type *p = kni_type_of(permutation);
    if (p) {
        kni_type rows = type;
        rows.rank--;
        if (!kni_same_dims(p, &rows)) {
            kn_tensor none = kni_call_fail(
                call, KN_ERROR_SHAPE,
                "lu %S needs a permutation of its rows as kn_lu_decomposition gives it, not %S", &type, p);
            return (kn_lu_result){none, none, none};
        }
    }
    return unpack(call, lu, permutation, &type);
}

kn_lu_decomposition_result kn_lu_decomposition(kn_tensor a)
{
    kni_call call = kni_call_begin("lu_decomposition");
    kni_lu_parts f = kni_lu_factor(a, false);
    kn_tensor out[2] = {f.lu, f.permutation};
    kni_call_end_many(call, out, 2);
    return (kn_lu_decomposition_result){out[0], out[1]};
}

kn_slogdet_result kn_slogdet(kn_tensor a)
{
    const kni_type *t = kni_type_of(a);
    kni_call call = kni_call_begin("slogdet");
    kn_tensor out[2];
    int dtype = kni_widen_all(&a, 1);
    if (t && t->rank >= 2 && !is_square(t)) {
        kni_fail_op(KN_ERROR_SHAPE, NULL, "needs square matrices, not %S", t);
        out[0] = out[1] = kni_poison_latest();
    } else {
        kni_lu_parts f = kni_lu_factor(a, false);
        kn_tensor pivots = kn_keep(kn_diag(f.lu, 0));
        out[0] = kn_mul(f.sign, kn_prod(kn_sign(pivots), KN_AXES(-1), false));
        out[1] = kn_sum(kn_log(kn_abs(pivots)), KN_AXES(-1), false);
        for (int i = 0; dtype && i < 2; i++) out[i] = kni_as(out[i], dtype);
    }
    kni_call_end_many(call, out, 2);
    return (kn_slogdet_result){out[0], out[1]};
}

kn_tensor kn_logdet(kn_tensor a)
{
    kni_call call = kni_call_begin("logdet");
    kn_slogdet_result r = kn_slogdet(a);
    kn_tensor value = kn_keep(r.logabsdet), negative = kn_less_scalar(r.sign, 0);
    kn_tensor nan = kn_ok(value) ? kn_full_like(value, __builtin_nan("")) : value;
    return kni_call_end(call, kn_where(negative, nan, value));
}

/* ---- powers */

kn_tensor kn_matrix_power(kn_tensor a, int64_t n)
{
    const kni_type *t = kni_matrices(a, "matrix_power");
    if (!t) return kni_no_matrices("matrix_power", a);
    kni_call call = kni_call_begin("matrix_power");
    if (!is_square(t)) return kni_call_fail(call, KN_ERROR_SHAPE, "needs square matrices, not %S", t);
    if (n == 0) {
        kn_shape shape = kni_shape_from_type(t);
        return kni_call_end(call, kn_expand(kni_unit_like(a, kni_matrix_rows(t)), shape));
    }
    int dtype = kni_widen_all(&a, 1);
    uint64_t left = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
    kn_tensor base = kn_keep(n < 0 ? kn_inverse(a) : a), result = KN_NONE;
    for (; left && kn_ok(base); left >>= 1) {
        if (left & 1) result = kn_keep(result.bits ? kn_matmul(result, base) : kn_alias(base));
        if (left > 1) base = kn_keep(kn_matmul(base, base));
    }
    return kni_call_end_as(call, kn_ok(base) ? result : base, dtype);
}

/* ---- diagonals */

static kn_tensor diagonal(kn_tensor a, const kni_type *t, int64_t offset)
{
    int64_t m = kni_matrix_rows(t), n = kni_matrix_columns(t);
    int64_t rows = offset < 0 ? m + offset : m, columns = offset > 0 ? n - offset : n;
    int64_t count = rows < columns ? rows : columns, start = offset < 0 ? -offset * n : offset;
    kn_shape flat = kni_shape_from_type(t);
    flat.rank--;
    flat.dims[flat.rank - 1] = m * n;
    kn_tensor line = kn_reshape(a, flat);
    if (count <= 0) return kn_narrow(line, -1, 0, 0);
    return kn_slice(line, -1, start, start + (count - 1) * (n + 1) + 1, n + 1);
}

/* A far offset has no diagonal and must not overflow. */
static bool offset_fits(int64_t offset)
{
    return offset > -(INT64_C(1) << 31) && offset < (INT64_C(1) << 31);
}

/* Each element opens a row of size + 1 zeros; laid out flat from the first place of the diagonal that is a matrix. */
static kn_tensor embed_as(const char *name, kn_tensor x, int64_t offset)
{
    const kni_type *t = kni_type_of(x);
    kni_call call = kni_call_begin(name);
    if (!t) return kni_call_end(call, kn_unsqueeze(x, -1));
    if (t->rank < 1 || t->rank >= KN_MAX_RANK)
        return kni_call_fail(call, KN_ERROR_SHAPE, "needs rank 1 to %d, not %S", KN_MAX_RANK - 1, t);
    if (!offset_fits(offset))
        return kni_call_fail(call, KN_ERROR_ARGUMENT, "the offset %D is too large", offset);
    int64_t n = t->dims[t->rank - 1], size = n + (offset < 0 ? -offset : offset);
    if (size > INT64_C(1) << 31)
        return kni_call_fail(call, KN_ERROR_SHAPE, "the matrices of %S would be too large", t);
    int64_t start = offset < 0 ? -offset * size : offset;
    kn_shape flat = kni_shape_from_type(t), square = flat;
    flat.dims[flat.rank - 1] = n * (size + 1);
    square.dims[square.rank - 1] = square.dims[square.rank] = size;
    square.rank++;
    kn_pad_args open = {.before = KN_INTS(0), .after = KN_INTS(size)};
    kn_pad_args place = {.before = KN_INTS(start), .after = KN_INTS(size * size - start - n * (size + 1))};
    kn_tensor line = kn_reshape(kn_pad(kn_unsqueeze(x, -1), &open), flat);
    return kni_call_end(call, kn_reshape(kn_pad(line, &place), square));
}

kn_tensor kn_diag_embed(kn_tensor x, int64_t offset) { return embed_as("diag_embed", x, offset); }

kn_tensor kn_diag(kn_tensor x, int64_t offset)
{
    const kni_type *t = kni_type_of(x);
    if (t && t->rank == 1) return embed_as("diag", x, offset);
    if (!(t = kni_matrices(x, "diag"))) return kni_no_matrices("diag", x);
    kni_call call = kni_call_begin("diag");
    if (!offset_fits(offset))
        return kni_call_fail(call, KN_ERROR_ARGUMENT, "the offset %D is too large", offset);
    return kni_call_end(call, diagonal(x, t, offset));
}

kn_tensor kn_trace(kn_tensor a)
{
    const kni_type *t = kni_matrices(a, "trace");
    if (!t) return kni_no_matrices("trace", a);
    kni_call call = kni_call_begin("trace");
    return kni_call_end(call, kn_sum(diagonal(a, t, 0), KN_AXES(-1), false));
}
