/* Norms made of others: group, instance and local response norm, and the helpers of such composites. */
#include "ops/norm.h"

kn_tensor kni_along_channels(kn_tensor vector, int rank)
{
    const kni_tensor *t = kni_peek(vector);
    if (!t || t->type.rank != 1 || rank < 2) return vector;
    kn_shape shape = {rank - 1, {t->type.dims[0], 1, 1, 1, 1, 1, 1, 1}};
    return kn_reshape(vector, shape);
}

kn_ints kni_axes_but_channels(int rank)
{
    kn_ints axes = {0, {0}};
    for (int a = 0; a < rank; a++)
        if (a != 1) axes.dims[axes.rank++] = a;
    return axes;
}

kn_ints kni_last_axes(int rank, int64_t n)
{
    kn_ints axes = {0, {0}};
    for (int64_t a = rank - n < 0 ? 0 : rank - n; a < rank; a++) axes.dims[axes.rank++] = a;
    return axes;
}

/* weight and bias have an element a channel; half types are computed in f32 and rounded once. */
static kn_tensor normalise_groups(kni_call call, kn_tensor x, kn_tensor weight, kn_tensor bias,
                                  int64_t groups, double eps)
{
    if (!kn_ok(x)) return kni_call_end(call, kn_layer_norm(x, KN_NONE, KN_NONE, 1, eps));
    kn_shape shape = kn_shape_of_tensor(x);
    int dtype = kn_dtype_of(x);
    if (shape.rank < 2)
        return kni_call_fail(call, KN_ERROR_SHAPE, "x must be [batch, channels, ...], not of rank %d",
                             shape.rank);
    if (groups < 1 || shape.dims[1] % groups)
        return kni_call_fail(call, KN_ERROR_ARGUMENT, "%D channels cannot be cut into %D equal groups",
                             shape.dims[1], groups);
    kn_tensor vectors[2] = {weight, bias};
    for (int i = 0; i < 2; i++)
        if (kn_ok(vectors[i]) && (kn_rank(vectors[i]) != 1 || kn_size(vectors[i], 0) != shape.dims[1]))
            return kni_call_fail(call, KN_ERROR_SHAPE, "%s must have one element for each of %D channels",
                                 i ? "bias" : "weight", shape.dims[1]);
    int64_t inside = shape.dims[1] / groups;
    for (int a = 2; a < shape.rank; a++) inside *= shape.dims[a];
    kn_tensor y = kn_reshape(kni_widen(x), KN_SHAPE(shape.dims[0], groups, inside));
    y = kn_reshape(kn_layer_norm(y, KN_NONE, KN_NONE, 1, eps), shape);
    if (weight.bits) y = kn_mul(y, kni_along_channels(weight, shape.rank));
    if (bias.bits) y = kn_add(y, kni_along_channels(bias, shape.rank));
    return kni_call_end(call, kni_as(y, dtype));
}

kn_tensor kn_group_norm(kn_tensor x, kn_tensor weight, kn_tensor bias, int64_t groups, double eps)
{
    kni_call call = kni_call_begin("group_norm");
    return normalise_groups(call, x, weight, bias, groups, eps);
}

kn_tensor kn_instance_norm(kn_tensor x, kn_tensor weight, kn_tensor bias, double eps)
{
    kni_call call = kni_call_begin("instance_norm");
    if (kn_ok(x) && kn_rank(x) < 3)
        return kni_call_fail(call, KN_ERROR_SHAPE,
                             "x must be [batch, channels, ...] of rank 3 or more, not %d", kn_rank(x));
    int64_t channels = kn_ok(x) ? kn_size(x, 1) : 1;
    return normalise_groups(call, x, weight, bias, channels ? channels : 1, eps);
}

kn_batch_norm_result kn_instance_norm_train(kn_tensor x, kn_tensor weight, kn_tensor bias, double eps)
{
    kni_call call = kni_call_begin("instance_norm_train");
    x = kn_keep(x);
    kn_tensor y = kn_instance_norm(x, weight, bias, eps);
    if (!kn_ok(y)) {
        kn_tensor none = kni_call_end(call, y);
        return (kn_batch_norm_result){none, none, none};
    }
    int rank = kn_rank(x);
    kn_ints inside = kni_last_axes(rank, rank - 2);
    kn_moments m = kn_var_mean(kni_widen(x), inside, false, &(kn_var_args){.biased = true});
    kn_tensor out[3] = {y, kn_mean(m.mean, KN_AXES(0), false), kn_mean(m.var, KN_AXES(0), false)};
    kni_call_end_many(call, out, 3);
    return (kn_batch_norm_result){out[0], out[1], out[2]};
}

kn_tensor kn_local_response_norm(kn_tensor x, const kn_local_response_norm_args *args)
{
    kni_call call = kni_call_begin("local_response_norm");
    kn_local_response_norm_args a = args ? *args : (kn_local_response_norm_args){0};
    if (a.size == 0) a.size = 5;
    a.alpha = kn_real_or(a.alpha, 1e-4);
    a.beta = kn_real_or(a.beta, 0.75);
    a.k = kn_real_or(a.k, 1);
    if (!kn_ok(x)) return kni_call_end(call, kn_square(x));
    if (kn_rank(x) < 3)
        return kni_call_fail(call, KN_ERROR_SHAPE,
                             "x must be [batch, channels, ...] of rank 3 or more, not %d", kn_rank(x));
    if (!kn_dtype_is_float(kn_dtype_of(x)))
        return kni_call_fail(call, KN_ERROR_DTYPE, "x must be a float, not %T: convert with kn_cast()",
                             (int)kn_dtype_of(x));
    if (a.size < 1) return kni_call_fail(call, KN_ERROR_ARGUMENT, "size must be at least 1, not %D", a.size);
    int dtype = kn_dtype_of(x);
    int64_t channels = kn_size(x, 1), before = a.size / 2;
    x = kn_keep(kni_widen(x));
    kn_tensor squares = kn_keep(kn_square(x)), sum = squares;
    /* Neighbour c + shift of channel c, for the shifts of the window; outside the channels it is zero, and a window may be far
       wider than they are. */
    int64_t first = before < channels ? -before : 1 - channels;
    int64_t end = a.size - before < channels ? a.size - before : channels;
    for (int64_t shift = first; shift < end; shift++) {
        int64_t distance = shift < 0 ? -shift : shift;
        if (shift == 0) continue;
        kn_tensor part = kn_narrow(squares, 1, shift < 0 ? 0 : distance, channels - distance);
        kn_tensor zeros = kn_zeros_like(kn_narrow(squares, 1, 0, distance));
        kn_tensor pair[2] = {shift < 0 ? zeros : part, shift < 0 ? part : zeros};
        sum = kn_add(sum, kn_concat(pair, 2, 1));
    }
    kn_tensor divisor =
        kn_pow_scalar(kn_add_scalar(kn_mul_scalar(sum, a.alpha / (double)a.size), a.k), a.beta);
    return kni_call_end(call, kni_as(kn_div(x, divisor), dtype));
}
