/* The rows of convolutions. The three are closed under differentiation: each is linear in both operands, and its
   gradients are the other two. */
#include "ops/conv.h"
#include "ops/generated/convolution_kernels.h"
#include "ops/infer.h"
#include "ops/native.h"

extern const kni_native kni_cpu_conv, kni_cpu_conv_transpose, kni_cpu_conv_weight_grad;

#define COMMON_SCHEMA                                                                                        \
    KNI_ATTR(kni_conv_attributes, stride, KNI_ATTR_INTS, KNI_STATIC),                                        \
        KNI_ATTR(kni_conv_attributes, padding, KNI_ATTR_INTS, KNI_STATIC),                                   \
        KNI_ATTR(kni_conv_attributes, padding_end, KNI_ATTR_INTS, KNI_STATIC),                               \
        KNI_ATTR(kni_conv_attributes, dilation, KNI_ATTR_INTS, KNI_STATIC),                                  \
        KNI_ATTR(kni_conv_attributes, groups, KNI_ATTR_INT, KNI_STATIC)

static const kn_attribute conv_schema[] = {COMMON_SCHEMA, {0}};
static const kn_attribute transpose_schema[] = {
    COMMON_SCHEMA,
    {"output_padding", KNI_ATTR_INTS, KNI_STATIC, (uint16_t)offsetof(kni_conv_attributes, extra)},
    {0}};
static const kn_attribute weight_schema[] = {
    COMMON_SCHEMA,
    {"kernel", KNI_ATTR_INTS, KNI_STATIC, (uint16_t)offsetof(kni_conv_attributes, extra)},
    {0}};

/* ---- shape rules */

/* Sums of a few such numbers do not overflow. */
#define LARGEST (INT64_C(1) << 40)

static kn_status check_list(const kni_infer *c, kn_ints *list, int n, int64_t fill, int64_t lowest,
                            const char *what)
{
    if (list->rank == 0) {
        list->rank = n;
        for (int i = 0; i < n; i++) list->dims[i] = fill;
    }
    if (list->rank != n)
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "%s has %d numbers; %d axes need %d", what, list->rank, n,
                              n);
    for (int i = 0; i < n; i++)
        if (list->dims[i] > LARGEST)
            return kni_infer_fail(c, KN_ERROR_ARGUMENT, "%s is %D; it must be at most 2^40", what,
                                  list->dims[i]);
        else if (list->dims[i] < lowest)
            return kni_infer_fail(c, KN_ERROR_ARGUMENT, "%s is %D; it must be %D or more", what,
                                  list->dims[i], lowest);
    return KN_OK;
}

kn_status kni_conv_check(const kni_infer *c, const kni_type *x, const kni_type *w)
{
    kni_conv_attributes *a = c->attributes;
    int n = x->rank - 2;
    if (n < 1 || n > KNI_CONV_MAX_SPATIAL || w->rank != x->rank)
        return kni_infer_fail(
            c, KN_ERROR_SHAPE,
            "operands must have the same rank, 3 to 5 (batch, channels and 1 to 3 sizes): %S and %S", x, w);
    if (a->groups == 0) a->groups = 1;
    if (a->groups < 1)
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "groups is %D; it must be 1 or more", a->groups);
    kn_status s = check_list(c, &a->stride, n, 1, 1, "stride");
    if (s == KN_OK) s = check_list(c, &a->dilation, n, 1, 1, "dilation");
    if (s == KN_OK) s = check_list(c, &a->padding, n, 0, -LARGEST, "padding");
    if (s == KN_OK) s = check_list(c, &a->padding_end, n, 0, -LARGEST, "padding_end");
    return s;
}

/* The rules that all three have in common; x and w (or dy) have n spatial axes. */
static kn_status check_common(const kni_infer *c, const kni_type *x, const kni_type *w)
{
    kn_status s = kni_infer_dtype(c, 0, c->row->dtypes);
    if (s) return s;
    for (int i = 1; i < c->n_in; i++)
        if (c->in[i] && c->in[i]->dtype != x->dtype)
            return kni_infer_fail(c, KN_ERROR_DTYPE, "operands are %T and %T: convert one with kn_cast()",
                                  (int)x->dtype, (int)c->in[i]->dtype);
    return kni_conv_check(c, x, w);
}

static kn_dim moved(kn_dim d, int64_t by)
{
    if (d == KNI_DIM_BAD) return d;
    return by < 0 ? kni_dim_sub(d, -by) : kni_dim_add(d, by);
}

/* dilation (kernel - 1) + 1 */
static kn_dim spread(kn_dim kernel, int64_t dilation)
{
    return moved(kni_dim_mul(kni_dim_sub(kernel, 1), dilation), 1);
}

/* The size of a convolution along spatial axis i, KNI_DIM_BAD where the kernel does not fit. */
static kn_dim conv_size(const kni_conv_attributes *a, int i, kn_dim x, kn_dim kernel)
{
    if (kernel == 0) return KNI_DIM_BAD;
    kn_dim span = spread(kernel, a->dilation.dims[i]);
    kn_dim room = moved(x, a->padding.dims[i] + a->padding_end.dims[i]);
    if (span == KNI_DIM_BAD || room == KNI_DIM_BAD) return KNI_DIM_BAD;
    kn_dim free = kni_dim_sub(room, span);
    return free == KNI_DIM_BAD ? free : moved(kni_dim_floor_div(free, a->stride.dims[i]), 1);
}

static kn_status check_bias(const kni_infer *c, kn_dim outs)
{
    const kni_type *b = c->n_in > 2 ? c->in[2] : NULL;
    if (!b || (b->rank == 1 && kni_dims_agree(b->dims[0], outs))) return KN_OK;
    return kni_infer_fail(c, KN_ERROR_SHAPE, "the bias must be [%D], not %S", outs, b);
}

static kn_status check_divides(const kni_infer *c, kn_dim channels, int64_t groups, const char *what)
{
    if (channels < 0 || channels % groups == 0) return KN_OK;
    return kni_infer_fail(c, KN_ERROR_SHAPE, "%D %s cannot be divided into %D groups", channels, what,
                          groups);
}

kn_status kni_conv_infer(const kni_infer *c, kni_type *y)
{
    const kni_type *x = c->in[0], *w = c->in[1];
    const kni_conv_attributes *a = c->attributes;
    kn_status s = check_divides(c, w->dims[0], a->groups, "output channels");
    if (s) return s;
    if (!kni_dims_agree(x->dims[1], kni_dim_mul(w->dims[1], a->groups)))
        return kni_infer_fail(c, KN_ERROR_SHAPE,
                              "channels differ: x %S has %D, weight %S takes %D x %D groups", x, x->dims[1],
                              w, w->dims[1], a->groups);
    *y = *x;
    y->weak = 0;
    y->dims[1] = w->dims[0];
    for (int i = 2; i < x->rank; i++) {
        y->dims[i] = conv_size(a, i - 2, x->dims[i], w->dims[i]);
        if (y->dims[i] == KNI_DIM_BAD)
            return kni_infer_fail(
                c, KN_ERROR_SHAPE,
                "the kernel is larger than the padded input: x %S, weight %S, padding %D and %D, "
                "dilation %D on axis %d",
                x, w, a->padding.dims[i - 2], a->padding_end.dims[i - 2], a->dilation.dims[i - 2], i);
    }
    return KN_OK;
}

static kn_status infer_conv(kni_infer *c)
{
    kn_status s = check_common(c, c->in[0], c->in[1]);
    if (s == KN_OK) s = check_bias(c, c->in[1]->dims[0]);
    return s ? s : kni_conv_infer(c, c->out[0]);
}

static kn_dim transpose_size(const kni_conv_attributes *a, int i, kn_dim x, kn_dim kernel)
{
    if (kernel == 0 || x == 0) return KNI_DIM_BAD;
    kn_dim steps = kni_dim_mul(kni_dim_sub(x, 1), a->stride.dims[i]),
           span = spread(kernel, a->dilation.dims[i]);
    if (steps == KNI_DIM_BAD || span == KNI_DIM_BAD) return KNI_DIM_BAD;
    kn_dim whole = moved(kni_dim_add(steps, span), a->extra.dims[i]);
    return moved(whole, -(a->padding.dims[i] + a->padding_end.dims[i]));
}

static kn_status infer_conv_transpose(kni_infer *c)
{
    const kni_type *x = c->in[0], *w = c->in[1];
    kni_conv_attributes *a = c->attributes;
    kni_type *y = c->out[0];
    kn_status s = check_common(c, x, w);
    if (s == KN_OK) s = check_list(c, &a->extra, x->rank - 2, 0, 0, "output_padding");
    if (s == KN_OK) s = check_divides(c, x->dims[1], a->groups, "channels");
    if (s) return s;
    if (!kni_dims_agree(x->dims[1], w->dims[0]))
        return kni_infer_fail(c, KN_ERROR_SHAPE, "channels differ: x %S has %D, weight %S takes %D", x,
                              x->dims[1], w, w->dims[0]);
    *y = *x;
    y->weak = 0;
    y->dims[1] = kni_dim_mul(w->dims[1], a->groups);
    s = check_bias(c, y->dims[1]);
    for (int i = 2; i < x->rank && s == KN_OK; i++) {
        int64_t extra = a->extra.dims[i - 2];
        if (extra >= a->stride.dims[i - 2] && extra >= a->dilation.dims[i - 2])
            return kni_infer_fail(c, KN_ERROR_ARGUMENT,
                                  "output_padding %D must be below the stride %D or the dilation %D", extra,
                                  a->stride.dims[i - 2], a->dilation.dims[i - 2]);
        y->dims[i] = transpose_size(a, i - 2, x->dims[i], w->dims[i]);
        if (y->dims[i] == KNI_DIM_BAD)
            return kni_infer_fail(c, KN_ERROR_SHAPE,
                                  "nothing is left on axis %d: x %S, weight %S, padding %D and %D", i, x, w,
                                  a->padding.dims[i - 2], a->padding_end.dims[i - 2]);
    }
    return s;
}

static kn_status infer_conv_weight_grad(kni_infer *c)
{
    const kni_type *x = c->in[0], *dy = c->in[1];
    kni_conv_attributes *a = c->attributes;
    kni_type *w = c->out[0];
    kn_status s = check_common(c, x, dy);
    if (s == KN_OK) s = check_list(c, &a->extra, x->rank - 2, 1, 1, "kernel");
    if (s == KN_OK) s = check_divides(c, x->dims[1], a->groups, "channels");
    if (s == KN_OK) s = check_divides(c, dy->dims[1], a->groups, "output channels");
    if (s) return s;
    if (!kni_dims_agree(x->dims[0], dy->dims[0]))
        return kni_infer_fail(c, KN_ERROR_SHAPE, "batches differ: x %S, dy %S", x, dy);
    *w = *x;
    w->weak = 0;
    w->dims[0] = dy->dims[1];
    w->dims[1] = kni_dim_floor_div(x->dims[1], a->groups);
    for (int i = 2; i < x->rank; i++) {
        w->dims[i] = a->extra.dims[i - 2];
        kn_dim size = conv_size(a, i - 2, x->dims[i], w->dims[i]);
        if (size == KNI_DIM_BAD || !kni_dims_agree(size, dy->dims[i]))
            return kni_infer_fail(c, KN_ERROR_SHAPE,
                                  "dy %S is not the result of a convolution of x %S (axis %d)", dy, x, i);
    }
    return KN_OK;
}

/* ---- reference kernels */

static void push_sizes(kni_launch *l, const int64_t *sizes, int n, int64_t fill)
{
    int64_t padded[KNI_CONV_MAX_SPATIAL];
    for (int i = 0; i < KNI_CONV_MAX_SPATIAL; i++) {
        int from = i - (KNI_CONV_MAX_SPATIAL - n);
        padded[i] = from < 0 ? fill : sizes[from];
    }
    kni_launch_ints(l, padded, KNI_CONV_MAX_SPATIAL);
}

void kni_conv_push_geometry(kni_launch *l, const kni_type *x, const kni_type *w, const kni_type *y)
{
    const kni_conv_attributes *a = l->attributes;
    int n = x->rank - 2;
    push_sizes(l, x->dims + 2, n, 1);
    push_sizes(l, w->dims + 2, n, 1);
    push_sizes(l, y->dims + 2, n, 1);
    push_sizes(l, a->stride.dims, n, 1);
    push_sizes(l, a->padding.dims, n, 0);
    push_sizes(l, a->dilation.dims, n, 1);
}

static kn_status launch_forward(kni_launch *l, const kni_kernel *kernel)
{
    const kni_conv_attributes *a = l->attributes;
    l->kernel = kernel;
    l->items = kni_count(l->out[0]);
    kni_launch_int(l, a->groups);
    kni_launch_int(l, l->in[0]->dims[1] / a->groups);
    kni_launch_int(l, l->out[0]->dims[1] / a->groups);
    kni_conv_push_geometry(l, l->in[0], l->in[1], l->out[0]);
    kni_launch_int(l, l->n_in > 2 && l->in[2] != NULL);
    return KN_OK;
}

static kn_status launch_conv(kni_launch *l) { return launch_forward(l, &kni_kernel_conv); }
static kn_status launch_conv_transpose(kni_launch *l)
{
    return launch_forward(l, &kni_kernel_conv_transpose);
}

static kn_status launch_conv_weight_grad(kni_launch *l)
{
    const kni_conv_attributes *a = l->attributes;
    l->kernel = &kni_kernel_conv_weight_grad;
    l->items = kni_count(l->out[0]);
    kni_launch_int(l, l->in[0]->dims[0]);
    kni_launch_int(l, a->groups);
    kni_launch_int(l, l->in[0]->dims[1] / a->groups);
    kni_launch_int(l, l->in[1]->dims[1] / a->groups);
    kni_conv_push_geometry(l, l->in[0], l->out[0], l->in[1]);
    return KN_OK;
}

/* ---- the rows */

OP(conv, .doc = "y[n, o, p] = bias[o] + sum over c, k of x[n, c, p stride + k dilation - padding] w[o, c, k]",
   .min_in = 2, .max_in = 3, .n_out = 1, .kind = KNI_CONTRACTION, .layout = KNI_LAYOUT_WANTS,
   .dtypes = KNI_NUMBERS, .tolerance = {4, 1}, .schema = conv_schema,
   .attribute_bytes = sizeof(kni_conv_attributes), .autocast = KNI_AUTOCAST_NARROW, .infer = infer_conv,
   .launch = launch_conv, .native = &kni_cpu_conv)

OP(conv_transpose, .doc = "y[n, o, p stride + k dilation - padding] += x[n, c, p] w[c, o, k], plus bias[o]",
   .min_in = 2, .max_in = 3, .n_out = 1, .kind = KNI_CONTRACTION, .layout = KNI_LAYOUT_WANTS,
   .dtypes = KNI_NUMBERS, .tolerance = {4, 1}, .schema = transpose_schema,
   .attribute_bytes = sizeof(kni_conv_attributes), .autocast = KNI_AUTOCAST_NARROW,
   .infer = infer_conv_transpose, .launch = launch_conv_transpose, .native = &kni_cpu_conv_transpose)

OP(conv_weight_grad,
   .doc = "dw[o, c, k] = sum over n, p of x[n, c, p stride + k dilation - padding] dy[n, o, p]", .min_in = 2,
   .max_in = 2, .n_out = 1, .kind = KNI_CONTRACTION, .layout = KNI_LAYOUT_WANTS, .dtypes = KNI_NUMBERS,
   .tolerance = {4, 1}, .schema = weight_schema, .attribute_bytes = sizeof(kni_conv_attributes),
   .infer = infer_conv_weight_grad, .launch = launch_conv_weight_grad, .native = &kni_cpu_conv_weight_grad)

/* ---- gradients */

static kn_tensor run_conv(kn_tensor x, kn_tensor w, kni_conv_attributes a)
{
    kn_tensor in[3] = {x, w, KN_NONE};
    a.extra = KN_SCALAR_SHAPE;
    return kni_apply(&kni_op_conv, in, 3, &a);
}

/* The transposed convolution of dy whose result has the sizes of x. */
static kn_tensor run_transpose(kn_tensor dy, kn_tensor w, kni_conv_attributes a, const kni_type *x,
                               const kni_type *dy_type, const kni_type *w_type)
{
    kn_tensor in[3] = {dy, w, KN_NONE};
    a.extra.rank = x->rank - 2;
    for (int i = 0; i < a.extra.rank; i++) {
        /* Compared as they are without padding, which may take away more than there is. */
        const int64_t padding = a.padding.dims[i] + a.padding_end.dims[i];
        a.extra.dims[i] = padding;
        const kn_dim whole = transpose_size(&a, i, dy_type->dims[i + 2], w_type->dims[i + 2]);
        a.extra.dims[i] = kni_dim_sub(moved(x->dims[i + 2], padding), whole);
    }
    return kni_apply(&kni_op_conv_transpose, in, 3, &a);
}

static kn_tensor run_weight_grad(kn_tensor x, kn_tensor dy, kni_conv_attributes a, const kni_type *w)
{
    kn_tensor in[2] = {x, dy};
    a.extra.rank = w->rank - 2;
    for (int i = 0; i < a.extra.rank; i++) a.extra.dims[i] = w->dims[i + 2];
    return kni_apply(&kni_op_conv_weight_grad, in, 2, &a);
}

static void set_bias(kni_vjp *v)
{
    if (v->n_in < 3 || !kni_vjp_needs(v, 2)) return;
    kn_ints axes = {.rank = v->out_types[0].rank - 1, .dims = {0, 2, 3, 4}};
    kni_vjp_set(v, 2, kn_sum(v->dy[0], axes, false));
}

GRADIENT(conv)
{
    const kni_conv_attributes *a = v->attributes;
    const kni_type *x = &v->in_types[0], *w = &v->in_types[1], *y = &v->out_types[0];
    if (kni_vjp_needs(v, 0)) kni_vjp_set(v, 0, run_transpose(v->dy[0], kni_vjp_in(v, 1), *a, x, y, w));
    if (kni_vjp_needs(v, 1)) kni_vjp_set(v, 1, run_weight_grad(kni_vjp_in(v, 0), v->dy[0], *a, w));
    set_bias(v);
    return KN_OK;
}

/* The convolution that a transposed one is the gradient of: the end that output_padding added is not read. */
static kni_conv_attributes forward_of(const kni_conv_attributes *a)
{
    kni_conv_attributes f = *a;
    for (int i = 0; i < f.padding_end.rank; i++) f.padding_end.dims[i] -= a->extra.dims[i];
    return f;
}

GRADIENT(conv_transpose)
{
    const kni_conv_attributes f = forward_of(v->attributes);
    if (kni_vjp_needs(v, 0)) kni_vjp_set(v, 0, run_conv(v->dy[0], kni_vjp_in(v, 1), f));
    if (kni_vjp_needs(v, 1))
        kni_vjp_set(v, 1, run_weight_grad(v->dy[0], kni_vjp_in(v, 0), f, &v->in_types[1]));
    set_bias(v);
    return KN_OK;
}

GRADIENT(conv_weight_grad)
{
    const kni_conv_attributes *a = v->attributes;
    const kni_type *x = &v->in_types[0], *dy = &v->in_types[1], *w = &v->out_types[0];
    if (kni_vjp_needs(v, 0)) kni_vjp_set(v, 0, run_transpose(kni_vjp_in(v, 1), v->dy[0], *a, x, dy, w));
    if (kni_vjp_needs(v, 1)) kni_vjp_set(v, 1, run_conv(kni_vjp_in(v, 0), v->dy[0], *a));
    return KN_OK;
}
