/* Activation functions made of straight pieces: rectifiers, bounds, shrinks. */
#include "core/integer_range.h"
#include "core/math/math.h"
#include "ops/defined.h"
#include "ops/scalar_row.h"

static const kn_attribute slope_schema[] = {KNI_NUMBER("slope", 0), {0}};
static const kn_attribute bounds_schema[] = {KNI_NUMBER("low", 0), KNI_NUMBER("high", 1), {0}};
static const kn_attribute line_schema[] = {KNI_NUMBER("alpha", 0), KNI_NUMBER("beta", 1), {0}};
static const kn_attribute threshold_schema[] = {KNI_NUMBER("threshold", 0), KNI_NUMBER("value", 1), {0}};
static const kn_attribute lambda_schema[] = {KNI_NUMBER("lambda", 0), {0}};
static const kn_attribute shrink_schema[] = {KNI_NUMBER("lambda", 0), KNI_NUMBER("bias", 1), {0}};

#define PIECES(name, schema, body, text)                                                                     \
    ELEMENTWISE_NUMBERS(name, 1, KNI_RULE_FLOAT, KNI_ALL, body, schema, .doc = text, .tolerance = {2, 1},    \
                        .flags = KNI_FLAG_ALIAS)
/* These choose between x and numbers. Their functions do so in x's own dtype where it is an integer: f32 holds only
   those up to 2^24. */
#define CHOICE(name, schema, body, text)                                                                     \
    ELEMENTWISE_NUMBERS(name, 1, KNI_RULE_PROMOTE, KNI_FLOATS, body, schema, .doc = text,                    \
                        .tolerance = {2, 1}, .flags = KNI_FLAG_ALIAS)

ELEMENTWISE(relu6, 1, KNI_RULE_PROMOTE, KNI_NUMBERS, "y = min(max(x, 0), 6)", .doc = "min(max(x, 0), 6)",
            .flags = KNI_FLAG_ALIAS)
PIECES(leaky_relu, slope_schema, "y = x > 0 ? x : x * slope", "x > 0 ? x : slope x")
ELEMENTWISE(prelu, 2, KNI_RULE_PROMOTE, KNI_FLOATS, "y = x > 0 ? x : x * weight", .in = "x weight",
            .doc = "x > 0 ? x : weight x", .flags = KNI_FLAG_ALIAS)
CHOICE(hardtanh, bounds_schema, "y = min(max(x, low), high)", "min(max(x, low), high)")
PIECES(hard_sigmoid, line_schema, "y = min(max(x * alpha + beta, 0), 1)", "min(max(alpha x + beta, 0), 1)")
ELEMENTWISE(hard_swish, 1, KNI_RULE_FLOAT, KNI_ALL, "y = min(max(x + 3, 0), 6) / 6 * x",
            .doc = "x min(max(x + 3, 0), 6) / 6", .tolerance = {2, 0}, .flags = KNI_FLAG_ALIAS)
CHOICE(threshold, threshold_schema, "y = x <= threshold ? value : x", "x > threshold ? x : value")
CHOICE(hard_shrink, lambda_schema, "y = x >= -lambda && x <= lambda ? 0 : x", "|x| > lambda ? x : 0")
PIECES(soft_shrink, lambda_schema, "y = x > lambda ? x - lambda : x < -lambda ? x + lambda : x * 0",
       "x moved towards 0 by lambda, 0 where it would pass it")
PIECES(shrink, shrink_schema, "y = x > lambda ? x - bias : x < -lambda ? x + bias : x * 0",
       "x - bias above lambda, x + bias below -lambda, 0 between")

kn_tensor kn_relu6(kn_tensor x) { return kni_unary(&kni_op_relu6, x); }
kn_tensor kn_leaky_relu(kn_tensor x, double slope)
{
    return kni_unary_params(&kni_op_leaky_relu, x, slope, 0, 0);
}

/* x as the rows that choose take it: true where it is an integer, which the caller treats by comparing; a bool becomes
   f32. */
static bool holds_integers(kn_tensor *x)
{
    const kni_tensor *t = kni_peek(*x);
    if (!t || kni_is_float(t->type.dtype)) return false;
    if (!kni_is_bool(t->type.dtype)) return true;
    *x = kn_cast(*x, KN_F32);
    return false;
}

kn_tensor kn_hardtanh(kn_tensor x, double low, double high)
{
    if (!holds_integers(&x)) return kni_unary_params(&kni_op_hardtanh, x, low, high, 0);
    kni_call call = kni_call_begin("hardtanh");
    if (kni_check_numbers(&kni_op_hardtanh, (const double[]){low, high, 0, 0}))
        return kni_call_end(call, kni_poison_latest());
    /* Fractions as bounds would make f32 of x; between them lie the same integers. */
    const double least = kni_ceil_f64(low), most = kni_floor_f64(high);
    if (least > most)
        return kni_call_fail(call, KN_ERROR_ARGUMENT, "no integer lies between the bounds %g and %g", low,
                             high);
    return kni_call_end(call, kn_clamp(x, least, most));
}
kn_tensor kn_hard_sigmoid(kn_tensor x, double alpha, double beta)
{
    return kni_unary_params(&kni_op_hard_sigmoid, x, alpha, beta, 0);
}
kn_tensor kn_hard_swish(kn_tensor x) { return kni_unary(&kni_op_hard_swish, x); }

static kn_tensor threshold_as(const char *name, kn_tensor x, double threshold, double value)
{
    kni_call call = kni_call_begin(name);
    if (!holds_integers(&x))
        return kni_call_end(call, kni_unary_params(&kni_op_threshold, x, threshold, value, 0));
    x = kn_keep(x);
    int dtype = kni_peek(x)->type.dtype;
    if (kni_check_stored(name, dtype, value)) return kni_call_end(call, kni_poison_latest());
    if (kni_trunc_f64(value) != value)
        return kni_call_fail(call, KN_ERROR_ARGUMENT,
                             "%T cannot hold the number %g: convert with kn_cast() to a dtype that does",
                             dtype, value);
    kn_tensor low = kn_less_equal_scalar(x, threshold);
    return kni_call_end(call, kn_where(low, kni_number(x, value), x));
}

kn_tensor kn_threshold(kn_tensor x, double threshold, double value)
{
    return threshold_as("threshold", x, threshold, value);
}
kn_tensor kn_thresholded_relu(kn_tensor x, double alpha)
{
    return threshold_as("thresholded_relu", x, alpha, 0);
}
kn_tensor kn_hard_shrink(kn_tensor x, double lambda)
{
    if (!holds_integers(&x)) return kni_unary_params(&kni_op_hard_shrink, x, lambda, 0, 0);
    kni_call call = kni_call_begin("hard_shrink");
    x = kn_keep(x);
    kn_tensor inside = kn_logical_and(kn_greater_equal_scalar(x, -lambda), kn_less_equal_scalar(x, lambda));
    return kni_call_end(call, kn_where(inside, kni_number(x, 0), x));
}
kn_tensor kn_soft_shrink(kn_tensor x, double lambda)
{
    return kni_unary_params(&kni_op_soft_shrink, x, lambda, 0, 0);
}
kn_tensor kn_shrink(kn_tensor x, double lambda, double bias)
{
    return kni_unary_params(&kni_op_shrink, x, lambda, bias, 0);
}

/* The weight lies along axis 1, as the channels do; the result has x's shape. */
kn_tensor kn_prelu(kn_tensor x, kn_tensor weight)
{
    const kni_tensor *t = kni_peek(x), *w = kni_peek(weight);
    if (!t || !w || w->type.rank == 0) return kni_binary(&kni_op_prelu, x, weight);
    kni_call call = kni_call_begin("prelu");
    kn_shape shape = {0, {0}};
    bool one = w->type.rank == 1 && w->type.dims[0] == 1;
    if (w->type.rank > 1 ||
        (!one && (t->type.rank < 2 || kni_dim_equal(w->type.dims[0], t->type.dims[1]) == KNI_NO)))
        return kni_call_fail(call, KN_ERROR_SHAPE,
                             "weight %S must have 1 element or one for each channel of x %S", &w->type,
                             &t->type);
    shape.rank = one ? 0 : t->type.rank;
    for (int i = 0; i < shape.rank; i++) shape.dims[i] = i == 1 ? w->type.dims[0] : 1;
    return kni_call_end(call, kni_binary(&kni_op_prelu, x, kn_reshape(weight, shape)));
}

/* ---- gradients: dy on the pieces that rise, 0 on those that are flat; NaN counts as rising */

/* ---- leaky_relu has a row of its own; prelu is the same with a weight */

ELEMENTWISE_NUMBERS(leaky_relu_grad, 2, KNI_RULE_PROMOTE, KNI_FLOATS, "dx = x > 0 ? dy : dy * slope",
                    slope_schema, .in = "dy x", .out = "dx",
                    .doc = "x > 0 ? dy : slope dy, of operands dy, x", .lower = kni_defined_lower,
                    .flags = KNI_FLAG_ALIAS)

GRADIENT(leaky_relu)
{
    kn_tensor in[2] = {v->dy[0], INPUT};
    kni_vjp_set(v, 0, kni_apply(&kni_op_leaky_relu_grad, in, 2, v->attributes));
    return KN_OK;
}

/* dy on the pieces that rise, 0 on those that are flat; NaN counts as rising. */
GRADIENT_BODY(relu6, "dx = x <= 0 || x >= 6 ? 0 : dy")
GRADIENT_BODY(hardtanh, "dx = x <= low || x >= high ? 0 : dy")
GRADIENT_BODY(hard_sigmoid, "t = x * alpha + beta; dx = t <= 0 || t >= 1 ? 0 : dy * alpha")
GRADIENT_BODY(hard_swish, "dx = x <= -3 ? 0 : x < 3 ? dy * (x / 3 + 0.5) : dy")
DERIVED(prelu)
DERIVED(threshold)
DERIVED(hard_shrink)
GRADIENT_BODY(soft_shrink, "dx = x >= -lambda && x <= lambda ? 0 : dy")
GRADIENT_BODY(shrink, "dx = x >= -lambda && x <= lambda ? 0 : dy")
