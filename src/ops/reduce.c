/* Rows and functions of the reductions: sum, prod, mean, max, min, argmax, argmin, any, all, logsumexp. */
#include "ops/native.h"
#include "ops/reduce_axes.h"
#include "ops/scalar_row.h"
#include "ops/wide.h"

extern const kni_native kni_cpu_sum, kni_cpu_prod, kni_cpu_mean, kni_cpu_max, kni_cpu_min, kni_cpu_any,
    kni_cpu_all, kni_cpu_argmax, kni_cpu_argmin;

static kn_status infer_axes(kni_infer *c, int dtype)
{
    kni_reduce_attributes *a = c->attributes;
    kn_status s = kni_infer_dtype(c, 0, c->row->dtypes);
    if (s == KN_OK) s = kni_infer_axes(c, &a->axes);
    if (s) return s;
    c->out[0]->dtype = (uint8_t)dtype;
    kni_reduce_shape(c, 0, &a->axes, a->keep != 0);
    return KN_OK;
}

static kn_status infer_total(kni_infer *c)
{
    int dtype = c->in[0]->dtype;
    return infer_axes(c, KNI_FLOATS >> dtype & 1 ? dtype : KN_I64);
}

static kn_status infer_same_dtype(kni_infer *c) { return infer_axes(c, c->in[0]->dtype); }

static kn_status infer_truth(kni_infer *c) { return infer_axes(c, KN_BOOL); }

static kn_status infer_extreme(kni_infer *c)
{
    kn_status s = infer_same_dtype(c);
    return s ? s : kni_reduce_filled(c, &((kni_reduce_attributes *)c->attributes)->axes);
}

static kn_status infer_position(kni_infer *c)
{
    kni_arg_attributes *a = c->attributes;
    kn_status s = kni_reduce_axis(c, &a->axis);
    if (s) return s;
    kn_ints axes = {c->in[0]->rank ? 1 : 0, {a->axis}};
    c->out[0]->dtype = KN_I64;
    kni_reduce_shape(c, 0, &axes, a->keep != 0);
    return kni_reduce_filled(c, &axes);
}

BODY(sum, "y = sum(x)")
OP(sum, .doc = "sum of x over axes", .min_in = 1, .max_in = 1, .n_out = 1, .kind = KNI_REDUCE,
   .autocast = KNI_AUTOCAST_WIDEN, .dtypes = KNI_ALL, .tolerance = {4, 1}, .schema = kni_reduce_schema,
   .attribute_bytes = sizeof(kni_reduce_attributes), .sums = KNI_SUMS_WHOLE, .out = "y@line",
   .body = &kni_body_sum, .line = KNI_ALONG(AXES, 0, LINE, kni_reduce_attributes, axes), .infer = infer_total,
   .native = &kni_cpu_sum)
BODY(prod, "y = prod(x)")
OP(prod, .doc = "product of x over axes", .min_in = 1, .max_in = 1, .n_out = 1, .kind = KNI_REDUCE,
   .flags = KNI_FLAG_WIDE, .autocast = KNI_AUTOCAST_WIDEN, .dtypes = KNI_ALL, .tolerance = {4, 1},
   .schema = kni_reduce_schema, .attribute_bytes = sizeof(kni_reduce_attributes), .sums = KNI_SUMS_WIDE,
   .out = "y@line", .body = &kni_body_prod, .line = KNI_ALONG(AXES, 0, LINE, kni_reduce_attributes, axes),
   .infer = infer_total, .native = &kni_cpu_prod)
BODY(mean, "y = mean(x)")
OP(mean, .doc = "sum of x over axes / count", .min_in = 1, .max_in = 1, .n_out = 1, .kind = KNI_REDUCE,
   .autocast = KNI_AUTOCAST_WIDEN, .dtypes = KNI_FLOATS, .tolerance = {4, 1}, .schema = kni_reduce_schema,
   .attribute_bytes = sizeof(kni_reduce_attributes), .out = "y@line", .body = &kni_body_mean,
   .line = KNI_ALONG(AXES, 0, LINE, kni_reduce_attributes, axes), .infer = infer_same_dtype,
   .native = &kni_cpu_mean)
BODY(max, "y = highest(x)")
OP(max, .doc = "largest element of x over axes; NaN wins", .min_in = 1, .max_in = 1, .n_out = 1,
   .kind = KNI_REDUCE, .flags = KNI_FLAG_WIDE, .dtypes = KNI_ALL, .schema = kni_reduce_schema,
   .attribute_bytes = sizeof(kni_reduce_attributes), .out = "y@line", .body = &kni_body_max,
   .line = KNI_ALONG(AXES, 0, LINE, kni_reduce_attributes, axes), .infer = infer_extreme,
   .native = &kni_cpu_max)
BODY(min, "y = lowest(x)")
OP(min, .doc = "smallest element of x over axes; NaN wins", .min_in = 1, .max_in = 1, .n_out = 1,
   .kind = KNI_REDUCE, .flags = KNI_FLAG_WIDE, .dtypes = KNI_ALL, .schema = kni_reduce_schema,
   .attribute_bytes = sizeof(kni_reduce_attributes), .out = "y@line", .body = &kni_body_min,
   .line = KNI_ALONG(AXES, 0, LINE, kni_reduce_attributes, axes), .infer = infer_extreme,
   .native = &kni_cpu_min)
BODY(any, "y = any(x)")
OP(any, .doc = "whether an element over axes is not 0", .min_in = 1, .max_in = 1, .n_out = 1,
   .kind = KNI_REDUCE, .flags = KNI_FLAG_NO_GRADIENT, .dtypes = KNI_ALL, .schema = kni_reduce_schema,
   .attribute_bytes = sizeof(kni_reduce_attributes), .in = "x:truth", .out = "y@line:truth",
   .body = &kni_body_any, .line = KNI_ALONG(AXES, 0, LINE, kni_reduce_attributes, axes), .infer = infer_truth,
   .native = &kni_cpu_any)
BODY(all, "y = all(x)")
OP(all, .doc = "whether no element over axes is 0", .min_in = 1, .max_in = 1, .n_out = 1, .kind = KNI_REDUCE,
   .flags = KNI_FLAG_NO_GRADIENT, .dtypes = KNI_ALL, .schema = kni_reduce_schema,
   .attribute_bytes = sizeof(kni_reduce_attributes), .in = "x:truth", .out = "y@line:truth",
   .body = &kni_body_all, .line = KNI_ALONG(AXES, 0, LINE, kni_reduce_attributes, axes), .infer = infer_truth,
   .native = &kni_cpu_all)
BODY(argmax, "y = argmax(x)")
OP(argmax, .doc = "position of the first largest element along axis, or of the first NaN", .min_in = 1,
   .max_in = 1, .n_out = 1, .kind = KNI_REDUCE, .flags = KNI_FLAG_NO_GRADIENT, .dtypes = KNI_ALL,
   .schema = kni_arg_schema, .attribute_bytes = sizeof(kni_arg_attributes), .out = "y@line:index",
   .body = &kni_body_argmax, .line = KNI_ALONG(AXIS, 0, LINE, kni_arg_attributes, axis),
   .infer = infer_position, .native = &kni_cpu_argmax)
BODY(argmin, "y = argmin(x)")
OP(argmin, .doc = "position of the first smallest element along axis, or of the first NaN", .min_in = 1,
   .max_in = 1, .n_out = 1, .kind = KNI_REDUCE, .flags = KNI_FLAG_NO_GRADIENT, .dtypes = KNI_ALL,
   .schema = kni_arg_schema, .attribute_bytes = sizeof(kni_arg_attributes), .out = "y@line:index",
   .body = &kni_body_argmin, .line = KNI_ALONG(AXIS, 0, LINE, kni_arg_attributes, axis),
   .infer = infer_position, .native = &kni_cpu_argmin)

/* max + log(sum(exp(x - max))) with an infinite max taken as 0 */
static kn_status lower_logsumexp(kni_lowering *l)
{
    const kni_reduce_attributes *a = l->attributes;
    kn_tensor x = l->in[0];
    kn_shape shape = kn_shape_of_tensor(x);
    for (int i = 0; i < a->axes.rank; i++)
        if (shape.dims[a->axes.dims[i]] == 0) { /* the logarithm of an empty sum */
            l->out[0] = kn_log(kn_sum(x, a->axes, a->keep != 0));
            return KN_OK;
        }
    kn_tensor top = kn_keep(kn_max(x, a->axes, true));
    kn_tensor finite = kn_less(kn_abs(top), kn_full_like(top, (double)__builtin_inf()));
    kn_tensor shift = kn_keep(kn_where(finite, top, kn_zeros_like(top)));
    kn_tensor y = kn_add(shift, kn_log(kn_sum(kn_exp(kn_sub(x, shift)), a->axes, true)));
    if (!a->keep && a->axes.rank) y = kn_squeeze_dims(y, a->axes);
    l->out[0] = y;
    return KN_OK;
}

BODY(logsumexp, "t = highest(x); s = isfinite(t) ? t : 0; y = s + log(sum(exp(x - s)))")
OP(logsumexp, .doc = "log(sum(exp(x))) over axes", .min_in = 1, .max_in = 1, .n_out = 1, .kind = KNI_REDUCE,
   .flags = KNI_FLAG_WIDE, .wide = &kni_wide, .autocast = KNI_AUTOCAST_WIDEN, .dtypes = KNI_FLOATS,
   .tolerance = {8, 1}, .schema = kni_reduce_schema, .attribute_bytes = sizeof(kni_reduce_attributes),
   .out = "y@line", .body = &kni_body_logsumexp,
   .line = KNI_ALONG(AXES, 0, LINE, kni_reduce_attributes, axes), .infer = infer_same_dtype,
   .lower = lower_logsumexp, .native = KNI_BY_LINES(logsumexp))

static kn_tensor reduce(const kn_op *row, kn_tensor x, kn_ints axes, bool keep)
{
    kni_reduce_attributes a = {axes, keep};
    return kni_apply(row, &x, 1, &a);
}

kn_tensor kn_sum(kn_tensor x, kn_ints axes, bool keep) { return reduce(&kni_op_sum, x, axes, keep); }
kn_tensor kn_prod(kn_tensor x, kn_ints axes, bool keep) { return reduce(&kni_op_prod, x, axes, keep); }
kn_tensor kn_mean(kn_tensor x, kn_ints axes, bool keep) { return reduce(&kni_op_mean, x, axes, keep); }
kn_tensor kn_max(kn_tensor x, kn_ints axes, bool keep) { return reduce(&kni_op_max, x, axes, keep); }
kn_tensor kn_min(kn_tensor x, kn_ints axes, bool keep) { return reduce(&kni_op_min, x, axes, keep); }
kn_tensor kn_any(kn_tensor x, kn_ints axes, bool keep) { return reduce(&kni_op_any, x, axes, keep); }
kn_tensor kn_all(kn_tensor x, kn_ints axes, bool keep) { return reduce(&kni_op_all, x, axes, keep); }
kn_tensor kn_logsumexp(kn_tensor x, kn_ints axes, bool keep)
{
    return reduce(&kni_op_logsumexp, x, axes, keep);
}

static kn_tensor position(const kn_op *row, kn_tensor x, int32_t axis, bool keep)
{
    kni_arg_attributes a = {axis, keep};
    return kni_apply(row, &x, 1, &a);
}

kn_tensor kn_argmax(kn_tensor x, int32_t axis, bool keep) { return position(&kni_op_argmax, x, axis, keep); }
kn_tensor kn_argmin(kn_tensor x, int32_t axis, bool keep) { return position(&kni_op_argmin, x, axis, keep); }
