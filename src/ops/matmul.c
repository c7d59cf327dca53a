/* The rows of matrix products: matmul and linear, with their gradients. */
#include "ops/generated/contraction_kernels.h"
#include "ops/infer.h"
#include "ops/matmul_operands.h"
#include "ops/native.h"

extern const kni_native kni_cpu_matmul, kni_cpu_linear;

/* ---- matmul */

static kn_status infer_same_dtype(const kni_infer *c)
{
    kn_status s = kni_infer_dtype(c, 0, c->row->dtypes);
    for (int i = 1; i < c->n_in && s == KN_OK; i++)
        if (c->in[i] && c->in[i]->dtype != c->in[0]->dtype)
            s = kni_infer_fail(c, KN_ERROR_DTYPE, "operands are %T and %T: convert one with kn_cast()",
                               (int)c->in[0]->dtype, (int)c->in[i]->dtype);
    return s;
}

/* How many of an operand's axes are batch axes. */
static int batch_rank(const kni_type *t) { return t->rank > 2 ? t->rank - 2 : 0; }

kn_status kni_matmul_infer_batch(const kni_infer *c, kni_type *out)
{
    const kni_type *a = c->in[0], *b = c->in[1];
    int rank_a = batch_rank(a), rank_b = batch_rank(b), rank = rank_a > rank_b ? rank_a : rank_b;
    for (int i = 0; i < rank; i++) {
        int from_a = i - (rank - rank_a), from_b = i - (rank - rank_b);
        kn_dim da = from_a < 0 ? 1 : a->dims[from_a], db = from_b < 0 ? 1 : b->dims[from_b];
        if (da != 1 && db != 1 && !kni_dims_agree(da, db))
            return kni_infer_fail(c, KN_ERROR_SHAPE,
                                  "the leading axes do not broadcast: a %S x b %S (%D against %D)", a, b, da,
                                  db);
        out->dims[i] = kni_infer_joined(da, db);
    }
    out->rank = (uint8_t)rank;
    return KN_OK;
}

static kn_status infer_matmul(kni_infer *c)
{
    const kni_type *a = c->in[0], *b = c->in[1];
    kni_type *y = c->out[0];
    kn_status s = infer_same_dtype(c);
    if (s) return s;
    if (a->rank < 1 || b->rank < 1)
        return kni_infer_fail(c, KN_ERROR_SHAPE, "operands need at least one axis: a %S x b %S; use kn_mul()",
                              a, b);
    kn_dim inner_a = a->dims[a->rank - 1], inner_b = b->dims[b->rank == 1 ? 0 : b->rank - 2];
    if (!kni_dims_agree(inner_a, inner_b))
        return kni_infer_fail(c, KN_ERROR_SHAPE, "inner sizes differ: a %S x b %S (%D != %D)", a, b, inner_a,
                              inner_b);
    s = kni_matmul_infer_batch(c, y);
    if (s) return s;
    if (a->rank > 1) y->dims[y->rank++] = a->dims[a->rank - 2];
    if (b->rank > 1) y->dims[y->rank++] = b->dims[b->rank - 1];
    y->dtype = a->dtype;
    return KN_OK;
}

/* The steps of an operand of `elements` per matrix through the batch axes of the result. */
static void push_steps(kni_launch *l, const kni_type *t, int rank, int64_t elements)
{
    int64_t steps[KN_MAX_RANK] = {0}, step = elements;
    int own = batch_rank(t);
    for (int i = own - 1; i >= 0; i--) {
        if (t->dims[i] != 1) steps[rank - own + i] = step;
        step *= t->dims[i];
    }
    kni_launch_ints(l, steps, KN_MAX_RANK);
}

static kn_status launch_matmul(kni_launch *l)
{
    const kni_type *a = l->in[0], *b = l->in[1], *y = l->out[0];
    int64_t m = a->rank > 1 ? a->dims[a->rank - 2] : 1, k = a->dims[a->rank - 1];
    int64_t n = b->rank > 1 ? b->dims[b->rank - 1] : 1, dims[KN_MAX_RANK] = {0};
    int rank_a = batch_rank(a), rank_b = batch_rank(b), rank = rank_a > rank_b ? rank_a : rank_b;
    for (int i = 0; i < rank; i++) dims[i] = y->dims[i];
    l->kernel = &kni_kernel_matmul;
    l->items = kni_count(y);
    kni_launch_int(l, m);
    kni_launch_int(l, n);
    kni_launch_int(l, k);
    kni_launch_int(l, rank);
    kni_launch_ints(l, dims, KN_MAX_RANK);
    push_steps(l, a, rank, m * k);
    push_steps(l, b, rank, k * n);
    return KN_OK;
}

OP(matmul, .doc = "y[..., i, j] = sum over k of a[..., i, k] b[..., k, j]", .min_in = 2, .max_in = 2,
   .n_out = 1, .kind = KNI_CONTRACTION, .dtypes = KNI_NUMBERS, .tolerance = {4, 1},
   .autocast = KNI_AUTOCAST_NARROW, .infer = infer_matmul, .launch = launch_matmul, .native = &kni_cpu_matmul)

kn_tensor kn_matmul(kn_tensor a, kn_tensor b) { return kni_binary(&kni_op_matmul, a, b); }

/* Matrices: a vector becomes a row on the left and a column on the right. */
static kn_shape matrix_shape(kn_shape s, bool left)
{
    if (s.rank == 1) return left ? KN_SHAPE(1, s.dims[0]) : KN_SHAPE(s.dims[0], 1);
    return s;
}

static kn_tensor as_matrix(kn_tensor x, kn_shape shape, bool left)
{
    return shape.rank == 1 ? kn_reshape(x, matrix_shape(shape, left)) : x;
}

/* The cotangent with the axes that vectors took out of the result. */
static kn_tensor matrix_cotangent(kni_vjp *v, kn_shape a, kn_shape b)
{
    kn_shape y = kni_shape_from_type(&v->out_types[0]);
    if (a.rank > 1 && b.rank > 1) return v->dy[0];
    int batch = y.rank - (a.rank > 1) - (b.rank > 1);
    kn_shape s = {.rank = batch + 2};
    for (int i = 0; i < batch; i++) s.dims[i] = y.dims[i];
    s.dims[batch] = a.rank > 1 ? a.dims[a.rank - 2] : 1;
    s.dims[batch + 1] = b.rank > 1 ? b.dims[b.rank - 1] : 1;
    return kn_reshape(v->dy[0], s);
}

/* Gives operand i its gradient: summed over the batch as a matrix, then reshaped when it was a vector. */
static void set_matrix(kni_vjp *v, int i, kn_tensor gradient, kn_shape shape)
{
    if (shape.rank == 1) {
        gradient = kn_sum_to(gradient, matrix_shape(shape, i == 0));
        gradient = kn_reshape(gradient, shape);
    }
    kni_vjp_set(v, i, gradient);
}

/* [..., rows, cols] as one matrix [rows of all, cols]. */
static kn_tensor all_rows(kn_tensor x, kn_shape s)
{
    int64_t rows = kni_count_dims(s.rank - 1, s.dims);
    return kn_reshape(x, KN_SHAPE(rows, s.dims[s.rank - 1]));
}

/* da = dy b', db = a' dy; where b has no batch axes the rows of the whole batch make one product. */
GRADIENT(matmul)
{
    kn_shape a = kni_vjp_shape(v, 0), b = kni_vjp_shape(v, 1);
    kn_tensor dy = kn_keep(matrix_cotangent(v, a, b));
    if (kni_vjp_needs(v, 0)) {
        kn_tensor right = as_matrix(kni_vjp_in(v, 1), b, false);
        set_matrix(v, 0, kn_matmul(dy, kn_transpose(right, -2, -1)), a);
    }
    if (kni_vjp_needs(v, 1)) {
        kn_tensor left = as_matrix(kni_vjp_in(v, 0), a, true);
        if (a.rank > 2 && b.rank <= 2) {
            kn_shape y = a;
            y.dims[a.rank - 1] = b.rank == 2 ? b.dims[1] : 1;
            set_matrix(v, 1, kn_matmul(kn_transpose(all_rows(left, a), 0, 1), all_rows(dy, y)), b);
        } else {
            set_matrix(v, 1, kn_matmul(kn_transpose(left, -2, -1), dy), b);
        }
    }
    return KN_OK;
}

/* ---- linear */

static kn_status infer_linear(kni_infer *c)
{
    const kni_type *x = c->in[0], *w = c->in[1], *b = c->n_in > 2 ? c->in[2] : NULL;
    kn_status s = infer_same_dtype(c);
    if (s) return s;
    if (x->rank < 1) return kni_infer_fail(c, KN_ERROR_SHAPE, "x needs at least one axis");
    if (w->rank != 2) return kni_infer_fail(c, KN_ERROR_SHAPE, "the weight must be [out, in], not %S", w);
    kn_dim ins = x->dims[x->rank - 1];
    if (!kni_dims_agree(ins, w->dims[1]))
        return kni_infer_fail(c, KN_ERROR_SHAPE, "inner sizes differ: x %S x weight %S (%D != %D)", x, w, ins,
                              w->dims[1]);
    if (b && (b->rank != 1 || !kni_dims_agree(b->dims[0], w->dims[0])))
        return kni_infer_fail(c, KN_ERROR_SHAPE, "the bias must be [%D] for weight %S, not %S", w->dims[0], w,
                              b);
    *c->out[0] = *x;
    c->out[0]->weak = 0;
    c->out[0]->dims[x->rank - 1] = w->dims[0];
    return KN_OK;
}

static kn_status launch_linear(kni_launch *l)
{
    l->kernel = &kni_kernel_linear;
    l->items = kni_count(l->out[0]);
    kni_launch_int(l, l->in[1]->dims[0]);
    kni_launch_int(l, l->in[1]->dims[1]);
    kni_launch_int(l, l->n_in > 2 && l->in[2] != NULL);
    return KN_OK;
}

OP(linear, .doc = "y = x w' + b over the last axis; w [out, in]", .min_in = 2, .max_in = 3, .n_out = 1,
   .kind = KNI_CONTRACTION, .dtypes = KNI_NUMBERS, .tolerance = {4, 1}, .autocast = KNI_AUTOCAST_NARROW,
   .infer = infer_linear, .launch = launch_linear, .native = &kni_cpu_linear)

kn_tensor kn_linear(kn_tensor x, kn_tensor w, kn_tensor b)
{
    kn_tensor in[3] = {x, w, b};
    return kni_apply(&kni_op_linear, in, 3, NULL);
}

/* dx = dy w, dw = dy' x over all rows, db = the sum of dy's rows */
GRADIENT(linear)
{
    kn_shape x = kni_vjp_shape(v, 0), y = kni_shape_from_type(&v->out_types[0]);
    if (kni_vjp_needs(v, 0)) kni_vjp_set(v, 0, kn_matmul(v->dy[0], kni_vjp_in(v, 1)));
    if (kni_vjp_needs(v, 1)) {
        kn_tensor rows = kn_transpose(all_rows(v->dy[0], y), 0, 1);
        kni_vjp_set(v, 1, kn_matmul(rows, all_rows(kni_vjp_in(v, 0), x)));
    }
    if (v->n_in > 2 && kni_vjp_needs(v, 2))
        kni_vjp_set(v, 2, kn_sum(all_rows(v->dy[0], y), KN_AXES(0), false));
    return KN_OK;
}
