/* Rows that copy: padding and joining, with their gradients. */
#include "ops/generated/movement_kernels.h"
#include "ops/infer.h"
#include "ops/movement_rows.h"
#include "ops/native.h"

extern const kni_native kni_cpu_pad, kni_cpu_concat;

/* ---- pad: see kn_pad_mode */

static const kn_attribute pad_schema[] = {KNI_ATTR(kni_pad_attributes, before, KNI_ATTR_INTS, KNI_STATIC),
                                          KNI_ATTR(kni_pad_attributes, after, KNI_ATTR_INTS, KNI_STATIC),
                                          KNI_ATTR(kni_pad_attributes, mode, KNI_ATTR_INT, KNI_STATIC),
                                          KNI_ATTR(kni_pad_attributes, value, KNI_ATTR_REAL, KNI_DYNAMIC),
                                          {0}};

/* Reflection needs one element more than it adds, wrapping as many; the edge needs one. */
static kn_status check_padding(const kni_infer *c, int64_t mode, int64_t amount, int axis)
{
    kn_dim n = c->in[0]->dims[axis];
    if (!kni_dim_is_size(amount))
        return kni_infer_fail(c, KN_ERROR_ARGUMENT,
                              "axis %d would be padded by the negative %D: slice it instead", axis, amount);
    if (amount == 0 || mode == KN_PAD_CONSTANT) return KN_OK;
    int64_t least = kni_dim_low(amount);
    int64_t need = mode == KN_PAD_EDGE   ? 1
                   : mode == KN_PAD_WRAP ? least
                   : least < INT64_MAX   ? least + 1
                                         : least;
    if (kni_dim_high(n) >= need) return KN_OK;
    return kni_infer_fail(c, KN_ERROR_SHAPE, "axis %d of %S is too short to be padded by %D in this mode",
                          axis, c->in[0], amount);
}

static kn_status infer_pad(kni_infer *c)
{
    kni_pad_attributes *a = c->attributes;
    const kni_type *x = c->in[0];
    kni_type *y = c->out[0];
    if (a->before.rank != x->rank || a->after.rank != x->rank)
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "paddings of %d and %d axes given for %S", a->before.rank,
                              a->after.rank, x);
    if (a->mode < KN_PAD_CONSTANT || a->mode > KN_PAD_WRAP)
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "%D is no padding mode", a->mode);
    *y = *x;
    y->weak = 0;
    for (int i = 0; i < x->rank; i++) {
        kn_status s = check_padding(c, a->mode, a->before.dims[i], i);
        if (s == KN_OK) s = check_padding(c, a->mode, a->after.dims[i], i);
        if (s) return s;
        y->dims[i] = kni_dim_add(kni_dim_add(x->dims[i], a->before.dims[i]), a->after.dims[i]);
    }
    return KN_OK;
}

/* A list of eight whatever its rank, as kernels take them. */
static void push_eight(kni_launch *l, const int64_t *values, int n)
{
    for (int i = 0; i < KN_MAX_RANK; i++) kni_launch_int(l, i < n ? values[i] : 0);
}

static kn_status launch_pad(kni_launch *l)
{
    const kni_pad_attributes *a = l->attributes;
    const kni_type *x = l->in[0], *y = l->out[0];
    int64_t whole = 0;
    kni_convert(&whole, x->dtype == KN_U64 ? KN_U64 : KN_I64, 1, &a->value, KN_F64, 1, 1);
    if (kni_is_bool(x->dtype)) whole = a->value != 0; /* a fraction is true */
    l->kernel = &kni_kernel_pad;
    l->items = kni_count(y);
    kni_launch_int(l, x->rank);
    push_eight(l, x->dims, x->rank);
    push_eight(l, a->before.dims, x->rank);
    push_eight(l, y->dims, x->rank);
    kni_launch_int(l, a->mode);
    kni_launch_real(l, a->value);
    kni_launch_int(l, whole);
    return KN_OK;
}

OP(pad, .doc = "x with elements added at both ends of its axes", .min_in = 1, .max_in = 1, .n_out = 1,
   .kind = KNI_MOVEMENT, .layout = KNI_LAYOUT_KEEPS, .follows = 1, .dtypes = KNI_ALL, .flags = KNI_FLAG_MOVES,
   .schema = pad_schema, .attribute_bytes = sizeof(kni_pad_attributes), .infer = infer_pad,
   .launch = launch_pad, .native = &kni_cpu_pad)

/* Constants: the middle part. Other modes: what was read from each element, one axis after the other. */
GRADIENT(pad)
{
    const kni_pad_attributes *a = v->attributes;
    const kni_type *x = &v->in_types[0];
    kn_tensor g = v->dy[0];
    for (int i = 0; i < x->rank; i++) {
        int64_t before = a->before.dims[i], after = a->after.dims[i];
        if (before == 0 && after == 0) continue;
        if (a->mode == KN_PAD_CONSTANT) {
            g = kn_narrow(g, i, before, x->dims[i]);
        } else {
            kni_pad_grad_attributes one = {i, before, after, a->mode};
            g = kni_apply(&kni_op_pad_grad, &g, 1, &one);
        }
    }
    kni_vjp_set(v, 0, g);
    return KN_OK;
}

/* ---- pad_grad: y[t] = sum of x[p] over the padded positions p that pad reads from t */

static const kn_attribute pad_grad_schema[] = {
    KNI_ATTR(kni_pad_grad_attributes, axis, KNI_ATTR_INT, KNI_STATIC),
    KNI_ATTR(kni_pad_grad_attributes, before, KNI_ATTR_INT, KNI_STATIC),
    KNI_ATTR(kni_pad_grad_attributes, after, KNI_ATTR_INT, KNI_STATIC),
    KNI_ATTR(kni_pad_grad_attributes, mode, KNI_ATTR_INT, KNI_STATIC),
    {0}};

static kn_status infer_pad_grad(kni_infer *c)
{
    kni_pad_grad_attributes *a = c->attributes;
    kn_status s = kni_infer_axis(c, &a->axis, c->in[0]->rank);
    if (s) return s;
    if (a->before < 0 || a->after < 0 || a->mode < KN_PAD_REFLECT || a->mode > KN_PAD_WRAP)
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "no such padding: %D and %D in mode %D", a->before,
                              a->after, a->mode);
    s = kni_infer_same(c);
    kn_dim *n = &c->out[0]->dims[a->axis];
    *n = kni_dim_sub(kni_dim_sub(*n, a->before), a->after);
    int64_t most = a->before > a->after ? a->before : a->after;
    if (s == KN_OK && (*n == KNI_DIM_BAD || (*n >= 0 && *n < (a->mode == KN_PAD_EDGE ? most > 0 : most))))
        return kni_infer_fail(c, KN_ERROR_SHAPE, "%S is too short to be padded by %D and %D", c->in[0],
                              a->before, a->after);
    return s;
}

static kn_status launch_pad_grad(kni_launch *l)
{
    const kni_pad_grad_attributes *a = l->attributes;
    const kni_type *y = l->out[0];
    l->kernel = &kni_kernel_pad_grad;
    l->items = kni_count(y);
    kni_launch_int(l, kni_infer_product(y, (int)a->axis + 1, y->rank));
    kni_launch_int(l, y->dims[a->axis]);
    kni_launch_int(l, a->before);
    kni_launch_int(l, a->after);
    kni_launch_int(l, a->mode);
    return KN_OK;
}

OP(pad_grad, .doc = "y[t] = sum of x[p] over the padded positions p that pad reads from t", .min_in = 1,
   .max_in = 1, .n_out = 1, .kind = KNI_MOVEMENT, .layout = KNI_LAYOUT_KEEPS, .follows = 1,
   .dtypes = KNI_NUMBERS, .tolerance = {2, 1}, .schema = pad_grad_schema,
   .attribute_bytes = sizeof(kni_pad_grad_attributes), .infer = infer_pad_grad, .launch = launch_pad_grad)

GRADIENT(pad_grad)
{
    const kni_pad_grad_attributes *a = v->attributes;
    int rank = v->in_types[0].rank;
    kni_pad_attributes pad = {{rank, {0}}, {rank, {0}}, a->mode, 0};
    pad.before.dims[a->axis] = a->before;
    pad.after.dims[a->axis] = a->after;
    kni_vjp_set(v, 0, kni_apply(&kni_op_pad, v->dy, 1, &pad));
    return KN_OK;
}

/* ---- concat: the operands behind each other along an axis */

static const kn_attribute axis_schema[] = {KNI_ATTR(kni_axis_attributes, axis, KNI_ATTR_INT, KNI_STATIC),
                                           {0}};

static kn_status infer_concat(kni_infer *c)
{
    kni_axis_attributes *a = c->attributes;
    const kni_type *first = c->in[0];
    kni_type *y = c->out[0];
    kn_status s = kni_infer_axis(c, &a->axis, first->rank);
    if (s) return s;
    *y = *first;
    y->weak = 0;
    y->dtype = (uint8_t)kni_infer_promote(c, 0, c->n_in);
    for (int k = 1; k < c->n_in; k++) {
        const kni_type *x = c->in[k];
        bool fits = x->rank == first->rank;
        for (int i = 0; fits && i < x->rank; i++)
            fits = i == a->axis || kni_dims_agree(x->dims[i], first->dims[i]);
        if (!fits)
            return kni_infer_fail(c, KN_ERROR_SHAPE,
                                  "operand %d of %S does not fit the first of %S: only axis %D may differ", k,
                                  x, first, a->axis);
        y->dims[a->axis] = kni_dim_add(y->dims[a->axis], x->dims[a->axis]);
    }
    return KN_OK;
}

/* Each operand is written into its place of the result. */
static kn_status lower_concat(kni_lowering *l)
{
    const kni_axis_attributes *a = l->attributes;
    const kni_type *first = kni_type_of(l->in[0]);
    const kni_type *types[64];
    if (!first || l->n_in > KNI_COUNT(types)) return KN_ERROR_INTERNAL;
    kn_shape shape = kni_shape_from_type(first);
    for (int i = 0; i < l->n_in; i++) {
        types[i] = kni_type_of(l->in[i]);
        if (!types[i]) return KN_ERROR_INTERNAL;
        if (i) shape.dims[a->axis] += types[i]->dims[a->axis];
    }
    kn_dtype dtype = (kn_dtype)kni_promote_types(types, 0, l->n_in);
    kn_tensor parts[64];
    bool mixed = false;
    for (int i = 0; i < l->n_in; i++) {
        const bool same = types[i]->dtype == dtype;
        parts[i] = same ? l->in[i] : kn_cast(l->in[i], dtype);
        mixed |= !same;
    }
    if (mixed) { /* a device may join what has one dtype by itself */
        l->out[0] = kni_apply(&kni_op_concat, parts, l->n_in, l->attributes);
        return KN_OK;
    }
    kn_tensor y = kn_empty(shape, dtype);
    int64_t at = 0;
    for (int i = 0; i < l->n_in; i++) {
        int64_t next = at + types[i]->dims[a->axis];
        kni_slice_attributes part = {{shape.rank, {0}}, {shape.rank, {0}}, {shape.rank, {0}}};
        for (int k = 0; k < shape.rank; k++) part.stop.dims[k] = KN_END;
        part.start.dims[a->axis] = at;
        part.stop.dims[a->axis] = next;
        kn_tensor in[2] = {y, parts[i]};
        if (next > at) y = kni_apply(&kni_op_update_slice, in, 2, &part);
        at = next;
    }
    l->out[0] = y;
    return KN_OK;
}

OP(concat, .doc = "the operands behind each other along an axis", .min_in = 1, .max_in = -1, .n_out = 1,
   .kind = KNI_MOVEMENT, .layout = KNI_LAYOUT_KEEPS, .follows = 1, .dtypes = KNI_ALL, .flags = KNI_FLAG_MOVES,
   .schema = axis_schema, .attribute_bytes = sizeof(kni_axis_attributes), .infer = infer_concat,
   .lower = lower_concat, .native = &kni_cpu_concat)

GRADIENT(concat)
{
    const kni_axis_attributes *a = v->attributes;
    int64_t at = 0;
    for (int i = 0; i < v->n_in; i++) {
        int64_t n = v->in_types[i].dims[a->axis];
        if (kni_vjp_needs(v, i)) kni_vjp_set(v, i, kn_narrow(v->dy[0], (int32_t)a->axis, at, n));
        at += n;
    }
    return KN_OK;
}
