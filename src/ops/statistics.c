/* Variance and what is made of it: standard deviation, covariance, correlation. */
#include "ops/reduce_axes.h"
#include "ops/scalar_row.h"
#include "ops/wide.h"

static const kn_attribute var_schema[] = {KNI_ATTR(kni_var_attributes, axes, KNI_ATTR_INTS, KNI_STATIC),
                                          KNI_ATTR(kni_var_attributes, keep, KNI_ATTR_INT, KNI_STATIC),
                                          KNI_ATTR(kni_var_attributes, correction, KNI_ATTR_REAL, KNI_STATIC),
                                          {0}};

static kn_status infer_var_mean(kni_infer *c)
{
    kni_var_attributes *a = c->attributes;
    kn_status s = kni_infer_dtype(c, 0, c->row->dtypes);
    if (s == KN_OK) s = kni_infer_axes(c, &a->axes);
    if (s) return s;
    for (int i = 0; i < 2; i++) {
        c->out[i]->dtype = c->in[0]->dtype;
        kni_reduce_shape(c, i, &a->axes, a->keep != 0);
    }
    return KN_OK;
}

/* Two passes, and one for the error of the rounded mean: where elements are nearly equal it would be all of the result. */
static kn_status lower_var_mean(kni_lowering *l)
{
    const kni_var_attributes *a = l->attributes;
    kn_tensor x = l->in[0];
    double n = 1;
    for (int i = 0; i < a->axes.rank; i++) n *= (double)kn_size(x, (int32_t)a->axes.dims[i]);
    double divisor = n - a->correction;
    kn_tensor mean = kn_keep(kn_mean(x, a->axes, true));
    kn_tensor apart = kn_keep(kn_sub(x, mean));
    kn_tensor squares = kn_square(kn_sub(apart, kn_mean(apart, a->axes, true)));
    kn_tensor var = kn_div_scalar(kn_sum(squares, a->axes, a->keep != 0), divisor > 0 ? divisor : 0.0);
    if (!a->keep && a->axes.rank) mean = kn_squeeze_dims(mean, a->axes);
    l->out[0] = var;
    l->out[1] = mean;
    return KN_OK;
}

/* The mean is rounded; c takes back what that adds to the squares. */
BODY(var_mean, "m = mean(x); d = x - m; c = mean(d); variance = max(sum(d * d) - n * c * c, 0) / max(n - "
               "correction, 0); mean = m")
OP(var_mean, .doc = "sum((x - mean)^2) / max(0, count - correction) over axes, and the mean", .min_in = 1,
   .max_in = 1, .n_out = 2, .kind = KNI_REDUCE, .flags = KNI_FLAG_WIDE, .wide = &kni_wide,
   .autocast = KNI_AUTOCAST_WIDEN, .dtypes = KNI_FLOATS, .tolerance = {8, 1}, .schema = var_schema,
   .attribute_bytes = sizeof(kni_var_attributes), .out = "variance@line mean@line",
   .body = &kni_body_var_mean, .line = KNI_ALONG(AXES, 0, SEVERAL, kni_var_attributes, axes),
   .infer = infer_var_mean, .lower = lower_var_mean, .native = KNI_BY_LINES(var_mean))

static double correction_of(const kn_var_args *args)
{
    if (!args) return 1.0;
    return args->biased ? 0.0 : kn_real_or(args->correction, 1.0);
}

kn_moments kn_var_mean(kn_tensor x, kn_ints axes, bool keep, const kn_var_args *args)
{
    kni_var_attributes a = {axes, keep, correction_of(args)};
    kn_tensor out[2];
    kni_apply_many(&kni_op_var_mean, &x, 1, &a, out, 2);
    return (kn_moments){out[0], out[1]};
}

kn_tensor kn_var(kn_tensor x, kn_ints axes, bool keep, const kn_var_args *args)
{
    kni_call call = kni_call_begin("var");
    return kni_call_end(call, kn_var_mean(x, axes, keep, args).var);
}

/* The square root has no slope at 0; there the gradient passes by it, which leaves 0 as in PyTorch. The variance of
   halves may be infinite where its root is not. */
kn_tensor kn_std(kn_tensor x, kn_ints axes, bool keep, const kn_var_args *args)
{
    kni_call call = kni_call_begin("std");
    int dtype = kni_widen_all(&x, 1);
    kn_tensor var = kn_keep(kn_var_mean(x, axes, keep, args).var);
    kn_tensor flat = kn_keep(kn_equal_scalar(var, 0.0));
    kn_tensor root = kn_sqrt(kn_where(flat, kn_ones_like(var), var));
    return kni_call_end_as(call, kn_where(flat, var, root), dtype);
}

kn_tensor kn_cov(kn_tensor x, const kn_var_args *args)
{
    kni_call call = kni_call_begin("cov");
    int dtype = kni_widen_all(&x, 1);
    x = kn_keep(x);
    int32_t rank = kn_rank(x);
    if (kn_ok(x) && (rank > 2 || !kn_dtype_is_float(kn_dtype_of(x))))
        return kni_call_fail(call, rank > 2 ? KN_ERROR_SHAPE : KN_ERROR_DTYPE,
                             rank > 2 ? "x must be [variables, observations] or [observations], not %S"
                                      : "x must be a float; convert with kn_cast()",
                             &kni_peek(x)->type);
    kn_tensor rows = kn_keep(rank == 2 ? kn_alias(x) : kn_reshape(x, KN_SHAPE(1, -1)));
    double divisor = (double)kn_size(rows, 1) - correction_of(args);
    kn_tensor centred = kn_keep(kn_sub(rows, kn_mean(rows, KN_AXES(1), true)));
    kn_tensor products = kn_matmul(centred, kn_transpose(centred, 0, 1));
    kn_tensor y = kn_div_scalar(products, divisor > 0 ? divisor : 0.0);
    return kni_call_end_as(call, rank == 2 ? y : kn_reshape(y, KN_SCALAR_SHAPE), dtype);
}

/* Weights must be one for each observation. */
static kn_status check_weights(kn_tensor w, int64_t n, const char *what, bool whole)
{
    if (!w.bits || !kn_ok(w)) return KN_OK; /* the op that follows tells what is wrong with it */
    const kni_type *t = &kni_peek(w)->type;
    if (t->rank != 1 || t->dims[0] != n)
        return kni_fail_op(KN_ERROR_SHAPE, NULL, "%s must be [%D], one for each observation, not %S", what, n,
                           t);
    if (whole ? !kn_dtype_is_integer((kn_dtype)t->dtype) : !kn_dtype_is_float((kn_dtype)t->dtype))
        return kni_fail_op(KN_ERROR_DTYPE, NULL, "%s must be %s, not %T: convert with kn_cast()", what,
                           whole ? "integers" : "floats", (int)t->dtype);
    return KN_OK;
}

kn_tensor kn_cov_weighted(kn_tensor x, const kn_cov_args *args)
{
    static const kn_cov_args usual = KN_COV_ARGS_DEFAULTS;
    if (!args) args = &usual;
    kni_call call = kni_call_begin("cov_weighted");
    const kni_tensor *peeked = kni_peek(x);
    if (!kn_ok(x) || !peeked) return kni_call_end(call, kn_neg(x));
    const kni_type *t = &peeked->type;
    if (t->rank > 2)
        return kni_call_fail(call, KN_ERROR_SHAPE,
                             "x must be [variables, observations] or [observations], not %S", t);
    if (!kn_dtype_is_float((kn_dtype)t->dtype))
        return kni_call_fail(call, KN_ERROR_DTYPE, "x must be a float, not %T: convert with kn_cast()",
                             (int)t->dtype);
    int rank = t->rank, dtype = kni_widen_all(&x, 1);
    kn_tensor rows = kn_keep(rank == 2 ? x : kn_reshape(x, KN_SHAPE(1, -1)));
    if (!kn_ok(rows)) return kni_call_end(call, rows);
    int64_t n = kn_size(rows, 1);
    if (check_weights(args->frequencies, n, "frequencies", true) ||
        check_weights(args->importance, n, "importance", false))
        return kni_call_end(call, kni_poison_latest());
    kn_dtype wide = kn_dtype_of(rows);
    double correction = kn_real_or(args->correction, 1);
    kn_tensor importance = args->importance.bits ? kn_keep(kn_cast(args->importance, wide)) : KN_NONE;
    kn_tensor w = args->frequencies.bits ? kn_cast(args->frequencies, wide) : KN_NONE;
    if (importance.bits) w = w.bits ? kn_mul(w, importance) : kn_alias(importance);
    if (!w.bits) w = kn_ones_like(kn_keep(kn_sum(rows, KN_AXES(0), false)));
    w = kn_keep(w);
    kn_tensor total = kn_keep(kn_sum(w, KN_AXES_ALL, false));
    kn_tensor centred = kn_keep(kn_sub(rows, kn_div(kn_sum(kn_mul(rows, w), KN_AXES(1), true), total)));
    kn_tensor products = kn_matmul(kn_mul(centred, w), kn_transpose(centred, 0, 1));
    kn_tensor less = KN_NONE;
    if (importance.bits && correction != 0)
        less = kn_mul_scalar(kn_div(kn_sum(kn_mul(w, importance), KN_AXES_ALL, false), total), correction);
    kn_tensor divisor = less.bits ? kn_sub(total, less) : kn_sub_scalar(total, correction);
    kn_tensor y = kn_div(products, kn_maximum_scalar(divisor, 0));
    return kni_call_end_as(call, rank == 2 ? y : kn_reshape(y, KN_SCALAR_SHAPE), dtype);
}

kn_tensor kn_corrcoef(kn_tensor x)
{
    kni_call call = kni_call_begin("corrcoef");
    int dtype = kni_widen_all(&x, 1);
    kn_tensor c = kn_keep(kn_cov(x, NULL));
    if (kn_ok(c) && kn_rank(c) == 0) return kni_call_end_as(call, kn_div(c, c), dtype);
    kn_tensor deviation = kn_keep(kn_reshape(kn_sqrt(kn_diag(c, 0)), KN_SHAPE(-1, 1)));
    kn_tensor y = kn_div(kn_div(c, deviation), kn_transpose(deviation, 0, 1));
    return kni_call_end_as(call, kn_clamp(y, -1.0, 1.0), dtype);
}
