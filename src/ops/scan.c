/* Rows and functions of the cumulative ops. */
#include "ops/generated/scan_kernels.h"
#include "ops/native.h"
#include "ops/scan_attributes.h"

extern const kni_native kni_cpu_cumsum, kni_cpu_cumprod, kni_cpu_cummax, kni_cpu_cummin, kni_cpu_scan_linear;

static const kn_attribute scan_schema[] = {KNI_ATTR(kni_scan_attributes, axis, KNI_ATTR_INT, KNI_STATIC),
                                           KNI_ATTR(kni_scan_attributes, reverse, KNI_ATTR_INT, KNI_STATIC),
                                           KNI_ATTR(kni_scan_attributes, exclusive, KNI_ATTR_INT, KNI_STATIC),
                                           {0}};

static kn_status infer_scan(kni_infer *c)
{
    kni_scan_attributes *a = c->attributes;
    kn_status s = kni_infer_dtype(c, 0, c->row->dtypes);
    if (s == KN_OK) s = kni_reduce_axis(c, &a->axis);
    return s ? s : kni_infer_same(c);
}

/* Integers and bool accumulate in i64. */
static kn_status infer_total(kni_infer *c)
{
    kn_status s = infer_scan(c);
    if (s == KN_OK && !(KNI_FLOATS >> c->in[0]->dtype & 1)) c->out[0]->dtype = KN_I64;
    return s;
}

static kn_status infer_extreme(kni_infer *c)
{
    const kni_scan_attributes *a = c->attributes;
    if (a->reverse || a->exclusive)
        return kni_infer_fail(c, KN_ERROR_ARGUMENT,
                              "extremes run from the first element on and count it: leave "
                              "reverse and exclusive 0");
    kn_status s = infer_scan(c);
    if (s == KN_OK) c->out[1]->dtype = KN_I64;
    return s;
}

static kn_status infer_logsumexp(kni_infer *c)
{
    const kni_scan_attributes *a = c->attributes;
    if (a->reverse || a->exclusive)
        return kni_infer_fail(
            c, KN_ERROR_ARGUMENT,
            "it runs from the first element on and counts it: leave reverse and exclusive 0");
    return infer_scan(c);
}

static kn_status infer_linear(kni_infer *c)
{
    if (((const kni_scan_attributes *)c->attributes)->exclusive)
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "it counts the element itself: leave exclusive 0");
    if (!kni_same_dims(c->in[0], c->in[1]))
        return kni_infer_fail(c, KN_ERROR_SHAPE, "a %S and b %S must have one shape: expand with kn_expand()",
                              c->in[0], c->in[1]);
    if (c->in[0]->dtype != c->in[1]->dtype)
        return kni_infer_fail(c, KN_ERROR_DTYPE, "a is %T and b is %T: convert with kn_cast()",
                              (int)c->in[0]->dtype, (int)c->in[1]->dtype);
    return infer_scan(c);
}

static void push_axis(kni_launch *l, const kni_kernel *kernel)
{
    l->kernel = kernel;
    kni_axis_launch(l, ((const kni_scan_attributes *)l->attributes)->axis);
}

static kn_status launch_directed(kni_launch *l, const kni_kernel *kernel)
{
    const kni_scan_attributes *a = l->attributes;
    push_axis(l, kernel);
    kni_launch_int(l, a->reverse);
    kni_launch_int(l, a->exclusive);
    return KN_OK;
}

static kn_status launch_cumsum(kni_launch *l) { return launch_directed(l, &kni_kernel_scan_sum); }
static kn_status launch_cumprod(kni_launch *l) { return launch_directed(l, &kni_kernel_scan_prod); }

static kn_status launch_cummax(kni_launch *l)
{
    push_axis(l, &kni_kernel_scan_max);
    return KN_OK;
}

static kn_status launch_cummin(kni_launch *l)
{
    push_axis(l, &kni_kernel_scan_min);
    return KN_OK;
}

static kn_status launch_cumlogsumexp(kni_launch *l)
{
    push_axis(l, &kni_kernel_scan_logsumexp);
    return KN_OK;
}

static kn_status launch_linear(kni_launch *l)
{
    push_axis(l, &kni_kernel_scan_linear);
    kni_launch_int(l, ((const kni_scan_attributes *)l->attributes)->reverse);
    return KN_OK;
}

OP(cumsum, .doc = "y[k] = x[0] + ... + x[k] along axis", .min_in = 1, .max_in = 1, .n_out = 1,
   .kind = KNI_SCAN, .combine = KNI_COMBINE_SUM, .autocast = KNI_AUTOCAST_WIDEN, .dtypes = KNI_ALL,
   .tolerance = {4, 1}, .schema = scan_schema, .attribute_bytes = sizeof(kni_scan_attributes),
   .infer = infer_total, .launch = launch_cumsum, .native = &kni_cpu_cumsum)
OP(cumprod, .doc = "y[k] = x[0] * ... * x[k] along axis", .min_in = 1, .max_in = 1, .n_out = 1,
   .kind = KNI_SCAN, .combine = KNI_COMBINE_PRODUCT, .sums = KNI_SUMS_WIDE, .flags = KNI_FLAG_WIDE,
   .autocast = KNI_AUTOCAST_WIDEN, .dtypes = KNI_ALL, .tolerance = {4, 1}, .schema = scan_schema,
   .attribute_bytes = sizeof(kni_scan_attributes), .infer = infer_total, .launch = launch_cumprod,
   .native = &kni_cpu_cumprod)
OP(cummax, .doc = "y[k] = max(x[0], ..., x[k]) along axis, and its position", .min_in = 1, .max_in = 1,
   .n_out = 2, .kind = KNI_SCAN, .combine = KNI_COMBINE_LARGEST, .dtypes = KNI_ALL, .schema = scan_schema,
   .attribute_bytes = sizeof(kni_scan_attributes), .infer = infer_extreme, .launch = launch_cummax,
   .native = &kni_cpu_cummax)
OP(cummin, .doc = "y[k] = min(x[0], ..., x[k]) along axis, and its position", .min_in = 1, .max_in = 1,
   .n_out = 2, .kind = KNI_SCAN, .combine = KNI_COMBINE_LEAST, .dtypes = KNI_ALL, .schema = scan_schema,
   .attribute_bytes = sizeof(kni_scan_attributes), .infer = infer_extreme, .launch = launch_cummin,
   .native = &kni_cpu_cummin)
OP(cumlogsumexp, .doc = "y[k] = log(exp(x[0]) + ... + exp(x[k])) along axis", .min_in = 1, .max_in = 1,
   .n_out = 1, .kind = KNI_SCAN, .combine = KNI_COMBINE_LOG_SUM, .flags = KNI_FLAG_WIDE,
   .autocast = KNI_AUTOCAST_WIDEN, .dtypes = KNI_FLOATS, .tolerance = {8, 1}, .schema = scan_schema,
   .attribute_bytes = sizeof(kni_scan_attributes), .infer = infer_logsumexp, .launch = launch_cumlogsumexp)
OP(scan_linear, .doc = "h[k] = a[k] h[k-1] + b[k] along axis, h[-1] = 0", .min_in = 2, .max_in = 2,
   .n_out = 1, .kind = KNI_SCAN, .combine = KNI_COMBINE_LINEAR, .flags = KNI_FLAG_WIDE, .dtypes = KNI_FLOATS,
   .tolerance = {4, 1}, .schema = scan_schema, .attribute_bytes = sizeof(kni_scan_attributes),
   .infer = infer_linear, .launch = launch_linear, .native = &kni_cpu_scan_linear)

static kn_tensor scan(const kn_op *row, kn_tensor x, int32_t axis, const kn_scan_args *args)
{
    kni_scan_attributes a = {axis, args && args->reverse, args && args->exclusive};
    return kni_apply(row, &x, 1, &a);
}

kn_tensor kn_cumsum(kn_tensor x, int32_t axis) { return scan(&kni_op_cumsum, x, axis, NULL); }
kn_tensor kn_cumprod(kn_tensor x, int32_t axis) { return scan(&kni_op_cumprod, x, axis, NULL); }
kn_tensor kn_cumlogsumexp(kn_tensor x, int32_t axis) { return scan(&kni_op_cumlogsumexp, x, axis, NULL); }

kn_tensor kn_cumsum_with(kn_tensor x, int32_t axis, const kn_scan_args *args)
{
    return scan(&kni_op_cumsum, x, axis, args);
}

kn_tensor kn_cumprod_with(kn_tensor x, int32_t axis, const kn_scan_args *args)
{
    return scan(&kni_op_cumprod, x, axis, args);
}

kn_tensor kn_scan_linear(kn_tensor a, kn_tensor b, int32_t axis, bool reverse)
{
    kni_scan_attributes attributes = {axis, reverse, 0};
    kn_tensor in[2] = {a, b};
    return kni_apply(&kni_op_scan_linear, in, 2, &attributes);
}

static kn_indexed extreme(const kn_op *row, kn_tensor x, int32_t axis)
{
    kni_scan_attributes a = {axis, 0, 0};
    kn_tensor out[2];
    kni_apply_many(row, &x, 1, &a, out, 2);
    return (kn_indexed){out[0], out[1]};
}

kn_indexed kn_cummax(kn_tensor x, int32_t axis) { return extreme(&kni_op_cummax, x, axis); }
kn_indexed kn_cummin(kn_tensor x, int32_t axis) { return extreme(&kni_op_cummin, x, axis); }
