/* Rows that write by index: select_assign, scatter and scatter_nd. Of assignments that hit the same element the last one
   wins and gets its gradient, the others get 0. Minima and maxima share it evenly among all equals, as PyTorch's
   scatter_reduce does; products treat up to two zeros as cases of their own. */
#include "ops/generated/indexing_kernels.h"
#include "ops/indexing_rows.h"
#include "ops/infer.h"
#include "ops/native.h"
#include "ops/wide.h"

extern const kni_native kni_cpu_select_assign, kni_cpu_scatter, kni_cpu_scatter_nd;

static const kn_attribute update_schema[] = {
    KNI_ATTR(kni_update_attributes, axis, KNI_ATTR_INT, KNI_STATIC),
    KNI_ATTR(kni_update_attributes, negative, KNI_ATTR_INT, KNI_STATIC),
    KNI_ATTR(kni_update_attributes, update, KNI_ATTR_INT, KNI_STATIC),
    {0}};

/* ---- what a gradient reads and writes, by row */

static bool is_row(const kni_vjp *v, uint16_t number) { return v->row->number == number; }

/* The elements of x that the updates hit, in the shape of values. */
static kn_tensor read_targets(kni_vjp *v, kn_tensor x)
{
    const kni_update_attributes *a = v->attributes;
    kni_take_attributes take = {a->axis, a->negative};
    kn_tensor in[2] = {x, kni_vjp_in(v, 1)};
    kni_gather_nd_attributes whole = {0};
    if (is_row(v, KNI_OP_scatter_nd)) return kni_apply(&kni_op_gather_nd, in, 2, &whole);
    return kni_apply(is_row(v, KNI_OP_scatter) ? &kni_op_gather : &kni_op_take, in, 2, &take);
}

static kn_tensor write_targets(kni_vjp *v, kn_tensor x, kn_tensor values, kn_update update)
{
    kni_update_attributes a = *(const kni_update_attributes *)v->attributes;
    kn_tensor in[3] = {x, kni_vjp_in(v, 1), values};
    a.update = update;
    return kni_apply(v->row, in, 3, &a);
}

static kn_tensor zeros_as(const kni_vjp *v, int i, int dtype)
{
    return kn_zeros(kni_vjp_shape(v, i), (kn_dtype)dtype);
}

static kn_tensor zeros_of(const kni_vjp *v, int i) { return zeros_as(v, i, v->in_types[i].dtype); }

/* Which values are still there in the end: each writes its number, and those that find it again were the last. */
static kn_tensor winners(kni_vjp *v)
{
    kn_shape shape = kni_vjp_shape(v, 2);
    int64_t n = kni_count_dims(shape.rank, shape.dims);
    int dtype = n < INT64_C(1) << 31 ? KN_I32 : KN_I64;
    kn_tensor numbers = kn_keep(kn_reshape(kn_arange(0, (double)n, 1, (kn_dtype)dtype), shape));
    kn_tensor written = write_targets(v, zeros_as(v, 0, dtype), numbers, KN_UPDATE_ASSIGN);
    return kn_equal(read_targets(v, written), numbers);
}

static kn_tensor zero_to_one(kn_tensor x, kn_tensor is_zero) { return kn_where(is_zero, kn_ones_like(x), x); }

/* The product of all others: where an element is the only zero, the result is taken anew without it. */
static void product_gradient(kni_vjp *v)
{
    kn_tensor x = kn_keep(kni_widen(kni_vjp_in(v, 0))), values = kn_keep(kni_widen(kni_vjp_in(v, 2)));
    kn_tensor dy = kn_keep(kni_widen(v->dy[0]));
    int dtype = kni_sum_dtype(v->in_types[0].dtype);
    if (kni_vjp_needs(v, 0)) {
        kn_tensor others = kn_keep(zero_to_one(x, kn_equal_scalar(x, 0)));
        kn_tensor result = write_targets(v, others, values, KN_UPDATE_MUL);
        kni_vjp_set(v, 0, kn_div(kn_mul(dy, result), others));
    }
    if (!kni_vjp_needs(v, 2)) return;
    kn_tensor zero = kn_keep(kn_equal_scalar(values, 0));
    kn_tensor count = write_targets(v, zeros_as(v, 0, KN_I64), kn_cast(zero, KN_I64), KN_UPDATE_ADD);
    kn_tensor zeros = kn_keep(read_targets(v, count));
    kn_tensor single = kn_keep(kn_logical_and(zero, kn_equal_scalar(zeros, 1)));
    kn_tensor without = write_targets(v, x, zero_to_one(values, single), KN_UPDATE_MUL);
    kn_tensor alone = read_targets(v, kn_mul(dy, without));
    kn_tensor result = kni_widen(kni_vjp_out(v, 0));
    kn_tensor shared = kn_div(read_targets(v, kn_mul(dy, result)), zero_to_one(values, zero));
    /* Of two zeros each has the other as its factor: a slope of 0 whose own slope is not. */
    kn_tensor own = kn_keep(kn_where(zero, values, kni_number(values, 0)));
    kn_tensor both = write_targets(v, zeros_as(v, 0, dtype), own, KN_UPDATE_ADD);
    kn_tensor others = write_targets(v, x, zero_to_one(values, zero), KN_UPDATE_MUL);
    kn_tensor twin = kn_mul(read_targets(v, kn_mul(dy, others)), kn_sub(read_targets(v, both), own));
    kn_tensor paired = kn_logical_and(zero, kn_equal_scalar(zeros, 2));
    kni_vjp_set(v, 2, kn_where(single, alone, kn_where(paired, twin, shared)));
}

/* dy goes to the operands that equal the result, in equal parts. */
static void extremum_gradient(kni_vjp *v)
{
    kn_tensor result = kni_vjp_out(v, 0);
    kn_dtype dtype = (kn_dtype)kni_sum_dtype(v->in_types[0].dtype);
    kn_tensor old = kn_keep(kn_equal(kni_vjp_in(v, 0), result));
    kn_tensor new_ = kn_keep(kn_equal(kni_vjp_in(v, 2), read_targets(v, result)));
    kn_tensor count = write_targets(v, kn_cast(old, dtype), kn_cast(new_, dtype), KN_UPDATE_ADD);
    kn_tensor part = kn_keep(kn_div(kni_widen(v->dy[0]), count));
    if (kni_vjp_needs(v, 0)) kni_vjp_set(v, 0, kn_where(old, part, zeros_as(v, 0, dtype)));
    if (kni_vjp_needs(v, 2)) kni_vjp_set(v, 2, kn_where(new_, read_targets(v, part), zeros_as(v, 2, dtype)));
}

static kn_status update_gradient(kni_vjp *v)
{
    const kni_update_attributes *a = v->attributes;
    if (a->update == KN_UPDATE_MUL)
        product_gradient(v);
    else if (a->update == KN_UPDATE_MIN || a->update == KN_UPDATE_MAX)
        extremum_gradient(v);
    else {
        if (kni_vjp_needs(v, 0))
            kni_vjp_set(v, 0,
                        a->update == KN_UPDATE_ADD
                            ? v->dy[0]
                            : write_targets(v, v->dy[0], zeros_of(v, 2), KN_UPDATE_ASSIGN));
        if (kni_vjp_needs(v, 2)) {
            kn_tensor dv = read_targets(v, v->dy[0]);
            if (a->update == KN_UPDATE_ASSIGN) dv = kn_where(winners(v), dv, zeros_of(v, 2));
            kni_vjp_set(v, 2, dv);
        }
    }
    return KN_OK;
}

/* ---- shape rules */

static kn_status check_update(const kni_infer *c)
{
    const kni_update_attributes *a = c->attributes;
    if (a->update < KN_UPDATE_ASSIGN || a->update > KN_UPDATE_MAX)
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "%D is no way to update", a->update);
    if (c->in[2]->dtype != c->in[0]->dtype)
        return kni_infer_fail(c, KN_ERROR_DTYPE, "values are %T, the tensor is %T: convert with kn_cast()",
                              (int)c->in[2]->dtype, (int)c->in[0]->dtype);
    return kni_infer_integer(c, 1);
}

/* Operand 2 must have the dims of `want`. */
static kn_status check_values(const kni_infer *c, const kni_type *want)
{
    const kni_type *values = c->in[2];
    bool fits = values->rank == want->rank;
    for (int i = 0; fits && i < want->rank; i++) fits = kni_dims_agree(values->dims[i], want->dims[i]);
    if (fits) return KN_OK;
    return kni_infer_fail(c, KN_ERROR_SHAPE, "values of %S where %S is due: %S at indices of %S", values,
                          want, c->in[0], c->in[1]);
}

/* The shape of values is the one that reading by the same indices gives. */
static kn_status infer_by_reading(kni_infer *c, const kn_op *reader)
{
    kni_update_attributes *a = c->attributes;
    kn_status s = check_update(c);
    if (s) return s;
    kni_type part = {0}, *out = &part;
    kni_take_attributes take = {a->axis, a->negative};
    kni_gather_nd_attributes whole = {0};
    void *attributes = reader == &kni_op_gather_nd ? (void *)&whole : &take;
    kni_infer read = {c->row, c->in, 2, attributes, &out, 1};
    s = reader->infer(&read);
    if (s == KN_OK) s = check_values(c, &part);
    if (s) return s;
    a->axis = take.axis;
    return kni_infer_same(c);
}

static kn_status infer_select_assign(kni_infer *c) { return infer_by_reading(c, &kni_op_take); }

static kn_status infer_scatter(kni_infer *c) { return infer_by_reading(c, &kni_op_gather); }

static kn_status infer_scatter_nd(kni_infer *c) { return infer_by_reading(c, &kni_op_gather_nd); }

/* ---- rows */

static kn_status launch_lines(kni_launch *l, const kni_kernel *kernel, int64_t count)
{
    const kni_update_attributes *a = l->attributes;
    kni_axis_view x = kni_view_axis(l->in[0], a->axis);
    l->kernel = kernel;
    l->items = x.outer * x.inner;
    kni_launch_int(l, x.axis);
    kni_launch_int(l, count);
    kni_launch_int(l, x.inner);
    kni_launch_int(l, a->update);
    kni_launch_int(l, a->negative);
    return KN_OK;
}

static kn_status launch_select_assign(kni_launch *l)
{
    return launch_lines(l, &kni_kernel_select_assign, kni_count(l->in[1]));
}

static kn_status launch_scatter(kni_launch *l)
{
    const kni_update_attributes *a = l->attributes;
    return launch_lines(l, &kni_kernel_scatter, l->in[1]->dims[a->axis]);
}

static kn_status launch_scatter_nd(kni_launch *l)
{
    const kni_update_attributes *a = l->attributes;
    const kni_type *x = l->in[0], *at = l->in[1];
    int depth = (int)at->dims[at->rank - 1];
    l->kernel = &kni_kernel_scatter_nd;
    l->items = kni_infer_product(x, depth, x->rank);
    kni_launch_int(l, depth);
    kni_launch_int(l, kni_infer_product(at, 0, at->rank - 1));
    kni_launch_int(l, kni_infer_product(x, 0, depth));
    kni_launch_int(l, l->items);
    for (int i = 0; i < KN_MAX_RANK; i++) kni_launch_int(l, i < x->rank ? x->dims[i] : 0);
    kni_launch_int(l, a->update);
    return KN_OK;
}

OP(select_assign, .doc = "x with x[..., indices[j], ...] updated by values[..., j, ...]", .min_in = 3,
   .max_in = 3, .n_out = 1, .kind = KNI_INDEXING, .dtypes = KNI_ALL, .flags = KNI_FLAG_ALIAS | KNI_FLAG_MOVES,
   .tolerance = {2, 1}, .schema = update_schema, .attribute_bytes = sizeof(kni_update_attributes),
   .infer = infer_select_assign, .launch = launch_select_assign, .native = &kni_cpu_select_assign)

OP(scatter, .doc = "x with x[o, index[o, j, i], i] updated by values[o, j, i]", .min_in = 3, .max_in = 3,
   .n_out = 1, .kind = KNI_INDEXING, .dtypes = KNI_ALL, .flags = KNI_FLAG_ALIAS | KNI_FLAG_MOVES,
   .tolerance = {2, 1}, .schema = update_schema, .attribute_bytes = sizeof(kni_update_attributes),
   .infer = infer_scatter, .launch = launch_scatter, .native = &kni_cpu_scatter)

OP(scatter_nd, .doc = "x with x[indices[t, 0], indices[t, 1], ..., i] updated by values[t, i]", .min_in = 3,
   .max_in = 3, .n_out = 1, .kind = KNI_INDEXING, .dtypes = KNI_ALL, .flags = KNI_FLAG_ALIAS | KNI_FLAG_MOVES,
   .tolerance = {2, 1}, .schema = update_schema, .attribute_bytes = sizeof(kni_update_attributes),
   .infer = infer_scatter_nd, .launch = launch_scatter_nd, .native = &kni_cpu_scatter_nd)

GRADIENT(select_assign) { return update_gradient(v); }

GRADIENT(scatter) { return update_gradient(v); }

GRADIENT(scatter_nd) { return update_gradient(v); }
