/* Gradients of the linear algebra rows, made of the rows themselves and of products. */
#include "ops/linalg_rows.h"

static kn_shape out_shape(const kni_vjp *v, int k) { return kni_shape_from_type(&v->out_types[k]); }

/* The cotangent of output k, zeros where nothing flows. */
static kn_tensor cotangent(const kni_vjp *v, int k, kn_tensor like)
{
    if (v->dy[k].bits) return v->dy[k];
    kni_context before = kni_stand_by(like);
    kn_tensor zeros = kn_keep(kn_zeros(out_shape(v, k), (kn_dtype)v->out_types[k].dtype));
    kni_stand_back(before);
    return zeros;
}

/* (x + x') / 2 */
static kn_tensor symmetric(kn_tensor x)
{
    x = kn_keep(x);
    return kn_mul_scalar(kn_add(x, kni_transposed(x)), 0.5);
}

/* With l lower: da = sym(l^-T tril(l' dl, halved diagonal) l^-1). An upper result is its transpose. */
GRADIENT(cholesky)
{
    bool upper = ((const kni_flag_attributes *)v->attributes)->flag != 0;
    kn_tensor l = kni_vjp_out(v, 0), dl = v->dy[0];
    if (upper) {
        l = kn_keep(kni_transposed(l));
        dl = kni_transposed(dl);
    }
    kn_tensor p = kn_keep(kn_matmul(kni_transposed(l), dl));
    kn_tensor half = kn_mul_scalar(kn_add(kn_tril(p, 0), kn_tril(p, -1)), 0.5);
    kn_tensor left = kni_solve_left(l, symmetric(half), false, true, false);
    kni_vjp_set(v, 0, kni_solve_right(left, l, false, false, false));
    return KN_OK;
}

/* db = op(a)^-T dx; da = -db x' (transposed where op transposes), in the triangle that was read. */
GRADIENT(triangular_solve)
{
    const kni_triangular_attributes *t = v->attributes;
    kn_tensor a = kni_vjp_in(v, 0);
    kn_tensor db = kn_keep(kni_solve_left(a, v->dy[0], t->upper != 0, !t->transpose, t->unit != 0));
    kni_vjp_set(v, 1, db);
    if (!kni_vjp_needs(v, 0)) return KN_OK;
    kn_tensor x = kni_vjp_out(v, 0);
    kn_tensor da = kn_neg(t->transpose ? kn_matmul(x, kni_transposed(db)) : kn_matmul(db, kni_transposed(x)));
    int64_t edge = t->unit ? 1 : 0;
    kni_vjp_set(v, 0, t->upper ? kn_triu(da, edge) : kn_tril(da, -edge));
    return KN_OK;
}

/* db = a^-T dx, da = -db x' */
GRADIENT(solve)
{
    kn_tensor db = kn_keep(kn_solve(kni_transposed(kni_vjp_in(v, 0)), v->dy[0]));
    kni_vjp_set(v, 1, db);
    if (kni_vjp_needs(v, 0)) kni_vjp_set(v, 0, kn_neg(kn_matmul(db, kni_transposed(kni_vjp_out(v, 0)))));
    return KN_OK;
}

/* For square factors: da = l^-T [tril(l' dl, -1) + triu(du u')] u^-T, in the order of a's rows. What a has beyond
   its square part gives l2 = a2 u^-1 or u2 = l^-1 a2, whose gradients join in. */
GRADIENT(lu)
{
    kn_shape shape = out_shape(v, 0);
    int64_t m = shape.dims[shape.rank - 2], n = shape.dims[shape.rank - 1], k = m < n ? m : n;
    kn_tensor lu = kni_vjp_out(v, 0), permutation = kni_vjp_out(v, 1);
    if (!v->dy[0].bits) return KN_OK;
    kn_tensor corner = kn_keep(kni_columns_of(kni_rows_of(lu, 0, k), 0, k));
    kn_tensor flow = kn_keep(kni_columns_of(kni_rows_of(v->dy[0], 0, k), 0, k));
    kn_tensor l = kn_keep(kn_add(kn_tril(corner, -1), kni_unit_like(corner, k)));
    kn_tensor u = kn_keep(kn_triu(corner, 0));
    kn_tensor lower = kn_matmul(kni_transposed(l), kn_tril(flow, -1));
    kn_tensor upper = kn_matmul(kn_triu(flow, 0), kni_transposed(u));
    kn_tensor rest = KN_NONE;
    if (m > k) {
        kn_tensor dl2 = kn_keep(kni_rows_of(v->dy[0], k, m - k));
        upper = kn_sub(upper, kn_matmul(kni_transposed(kni_rows_of(lu, k, m - k)), dl2));
        rest = kni_solve_right(dl2, u, true, true, false);
    } else if (n > k) {
        kn_tensor du2 = kn_keep(kni_columns_of(v->dy[0], k, n - k));
        lower = kn_sub(lower, kn_matmul(du2, kni_transposed(kni_columns_of(lu, k, n - k))));
        rest = kni_solve_left(l, du2, false, true, true);
    }
    kn_tensor inner = kn_add(kn_tril(lower, -1), kn_triu(upper, 0));
    kn_tensor da = kni_solve_right(kni_solve_left(l, inner, false, true, true), u, true, true, false);
    if (rest.bits) da = kn_concat((const kn_tensor[]){da, rest}, 2, m > k ? -2 : -1);
    kni_vjp_set(v, 0, kni_unpermute_rows(da, permutation));
    return KN_OK;
}

/* (dq + q c) r^-T where c copies the lower triangle of r dr' - dq' q to the upper one. */
static kn_tensor qr_square(kn_tensor q, kn_tensor r, kn_tensor dq, kn_tensor dr)
{
    dq = kn_keep(dq);
    kn_tensor m = kn_matmul(r, kni_transposed(dr));
    m = kn_keep(kn_sub(m, kn_matmul(kni_transposed(dq), q)));
    kn_tensor c = kn_add(kn_tril(m, 0), kni_transposed(kn_tril(m, -1)));
    return kni_solve_right(kn_add(dq, kn_matmul(q, c)), r, true, true, false);
}

/* A wide a = [x y] has q u = x and r = [u, q' y]: dy = q dv, and y dv' joins dq. */
GRADIENT(qr)
{
    kn_shape shape = kni_vjp_shape(v, 0), sq = out_shape(v, 0);
    int64_t m = shape.dims[shape.rank - 2], n = shape.dims[shape.rank - 1];
    kn_tensor q = kni_vjp_out(v, 0), r = kni_vjp_out(v, 1);
    if (m > n && sq.dims[sq.rank - 1] > n)
        return kni_fail_op(
            KN_ERROR_GRADIENT, "qr",
            "the complete factors of matrices with more rows than columns have no gradient: ask for the "
            "reduced ones");
    kn_tensor dq = cotangent(v, 0, q), dr = cotangent(v, 1, q);
    if (m >= n) {
        kni_vjp_set(v, 0, qr_square(q, r, dq, dr));
        return KN_OK;
    }
    kn_tensor u = kn_keep(kni_columns_of(r, 0, m)), du = kni_columns_of(dr, 0, m);
    kn_tensor w = kni_columns_of(r, m, n - m), dw = kn_keep(kni_columns_of(dr, m, n - m));
    dq = kn_add(dq, kn_matmul(kn_matmul(q, w), kni_transposed(dw)));
    kn_tensor parts[2] = {qr_square(q, u, dq, du), kn_matmul(q, dw)};
    kni_vjp_set(v, 0, kn_concat(parts, 2, -1));
    return KN_OK;
}

/* 1 / (x[j] - x[i]) at [i, j], 0 where they are equal: such vectors do not turn against each other. */
static kn_tensor inverse_gaps(kn_tensor x)
{
    x = kn_keep(x);
    kn_tensor gap = kn_keep(kn_sub(kn_unsqueeze(x, -2), kn_unsqueeze(x, -1)));
    kn_tensor equal = kn_keep(kn_equal_scalar(gap, 0));
    kn_tensor safe = kn_where(equal, kn_ones_like(gap), gap);
    return kn_where(equal, kn_zeros_like(gap), kn_rdiv_scalar(safe, 1));
}

/* da = v (diag(dvalues) + (v' dv) / gaps) v', of which the symmetric part is taken: only symmetric changes of a mean anything. */
GRADIENT(eigh)
{
    kn_tensor values = kni_vjp_out(v, 0), vectors = kni_vjp_out(v, 1), inner = KN_NONE;
    if (v->dy[0].bits) inner = kn_diag_embed(v->dy[0], 0);
    if (v->dy[1].bits) {
        kn_tensor turn = kn_keep(kn_mul(kn_matmul(kni_transposed(vectors), v->dy[1]), inverse_gaps(values)));
        turn = kn_mul_scalar(kn_add(turn, kni_transposed(turn)), 0.5);
        inner = inner.bits ? kn_add(inner, turn) : turn;
    }
    if (inner.bits) kni_vjp_set(v, 0, kn_matmul(vectors, kn_matmul(inner, kni_transposed(vectors))));
    return KN_OK;
}

/* x - x' */
static kn_tensor skew(kn_tensor x)
{
    x = kn_keep(x);
    return kn_sub(x, kni_transposed(x));
}

/* x - b b' x: the part of x outside the columns of b. */
static kn_tensor outside(kn_tensor x, kn_tensor b)
{
    x = kn_keep(x);
    return kn_sub(x, kn_matmul(b, kn_matmul(kni_transposed(b), x)));
}

/* da = u [skew(u' du) / gaps s + s skew(v' dv) / gaps + diag(ds)] v', gaps of s^2, and what du and dv have outside of
   u and v. Columns beyond the singular values are arbitrary and take no part. */
GRADIENT(svd)
{
    kn_shape shape = kni_vjp_shape(v, 0);
    int64_t m = shape.dims[shape.rank - 2], n = shape.dims[shape.rank - 1], k = m < n ? m : n;
    kn_tensor u = kn_keep(kni_columns_of(kni_vjp_out(v, 0), 0, k)), s = kni_vjp_out(v, 1);
    kn_tensor vt = kn_keep(kni_rows_of(kni_vjp_out(v, 2), 0, k)), right = kn_keep(kni_transposed(vt));
    kn_tensor row = kn_keep(kn_unsqueeze(s, -2)), column = kn_keep(kn_unsqueeze(s, -1));
    kn_tensor inner = v->dy[1].bits ? kn_diag_embed(v->dy[1], 0) : KN_NONE, beyond = KN_NONE;
    kn_tensor gaps = KN_NONE;
    if (v->dy[0].bits || v->dy[2].bits) gaps = kn_keep(inverse_gaps(kn_square(s)));
    if (v->dy[0].bits) {
        kn_tensor du = kn_keep(kni_columns_of(v->dy[0], 0, k));
        kn_tensor turn = kn_mul(kn_mul(skew(kn_matmul(kni_transposed(u), du)), gaps), row);
        inner = inner.bits ? kn_add(inner, turn) : turn;
        if (m > k) beyond = kn_matmul(kn_div(outside(du, u), row), vt);
    }
    if (v->dy[2].bits) {
        kn_tensor dv = kn_keep(kni_transposed(kni_rows_of(v->dy[2], 0, k)));
        kn_tensor turn = kn_mul(kn_mul(skew(kn_matmul(vt, dv)), gaps), column);
        inner = inner.bits ? kn_add(inner, turn) : turn;
        if (n > k) beyond = kn_matmul(u, kni_transposed(kn_div(outside(dv, right), row)));
    }
    if (!inner.bits) return KN_OK;
    kn_tensor da = kn_matmul(u, kn_matmul(inner, vt));
    kni_vjp_set(v, 0, beyond.bits ? kn_add(da, beyond) : da);
    return KN_OK;
}

/* A number for each matrix, next to the matrices. */
static kn_tensor by_matrix(kn_tensor x) { return kn_unsqueeze(kn_unsqueeze(x, -1), -1); }

GRADIENT(det)
{
    kni_vjp_set(v, 0, kn_mul(by_matrix(v->dy[0]), kni_unary(&kni_op_cofactor, kni_vjp_in(v, 0))));
    return KN_OK;
}

/* With c = det(a) a^-T: (sum(dc c) c - c dc' c) / det(a); NaN where a is singular. */
GRADIENT(cofactor)
{
    kn_tensor a = kni_vjp_in(v, 0), c = kni_vjp_out(v, 0), dc = v->dy[0];
    kn_tensor total = kn_sum(kn_mul(dc, c), KN_AXES(-2, -1), true);
    kn_tensor turned = kn_matmul(c, kn_matmul(kni_transposed(dc), c));
    kn_tensor sum = kn_sub(kn_mul(total, c), turned);
    kni_vjp_set(v, 0, kn_div(sum, by_matrix(kn_det(a))));
    return KN_OK;
}
