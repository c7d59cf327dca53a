/* Layers and losses of random programs: what has params, class indices or a shape of its own. fill_layer draws one for a
   value, run_layer runs it. */
#ifndef PROGRAM_LAYERS_H
#define PROGRAM_LAYERS_H

#include "program_steps.h"

/* ---- drawing */

/* A new param of the program; where there is no room for one, the step is drawn again. */
static bool add_param(program *p, step *s, kn_shape shape, kn_dtype dtype)
{
    int64_t n = count_of(shape);
    if (p->n_params + s->n_params == PARAMS || n < 1 || n > 20000) return false;
    int at = p->n_params + s->n_params;
    p->param_shapes[at] = shape;
    p->param_dtypes[at] = dtype;
    s->params[s->n_params++] = at;
    return true;
}

/* The largest divisor of n that is not above `most`. */
static int64_t divisor(int64_t n, int64_t most)
{
    int64_t d = most < n ? most : n;
    while (d > 1 && n % d) d--;
    return d > 0 ? d : 1;
}

/* n elements as [1 or more, a few, rows, columns], the last up to 16. */
static kn_shape four_axes(int64_t n)
{
    kn_shape s = {4, {1, 1, 1, 1}};
    s.dims[3] = divisor(n, 2 + below(15));
    s.dims[2] = divisor(n / s.dims[3], 1 + below(40));
    s.dims[1] = divisor(n / s.dims[3] / s.dims[2], 1 + below(8));
    s.dims[0] = n / s.dims[3] / s.dims[2] / s.dims[1];
    return s;
}

static bool fill_norm(program *p, step *s, kn_shape shape, kn_dtype dtype)
{
    int32_t axes = s->what == GROUP_NORM || s->what == BATCH_NORM ? 1
                   : shape.rank > 1 && below(4) == 0              ? 2
                                                                  : 1;
    kn_shape weight = {axes, {0}};
    if (shape.rank < (s->what == GROUP_NORM || s->what == BATCH_NORM ? 2 : axes)) return false;
    for (int i = 0; i < axes; i++) weight.dims[i] = shape.dims[shape.rank - axes + i];
    if (s->what == GROUP_NORM || s->what == BATCH_NORM) weight.dims[0] = shape.dims[1];
    s->number = s->what == GROUP_NORM ? divisor(shape.dims[1], 1 + below(4)) : axes;
    s->choice = below(4);
    if (s->choice == 0) return true; /* plain */
    return add_param(p, s, weight, dtype) &&
           (s->what == RMS_NORM || s->choice == 1 || add_param(p, s, weight, dtype));
}

static bool fill_linear(program *p, step *s, kn_shape shape, kn_dtype dtype)
{
    int64_t out = 1 + below(24);
    if (!shape.rank || count_of(shape) / shape.dims[shape.rank - 1] > 4000) return false;
    s->choice = below(8);
    return add_param(p, s, KN_SHAPE(out, shape.dims[shape.rank - 1]), dtype) &&
           (below(4) == 0 || add_param(p, s, KN_SHAPE(out), dtype));
}

static bool fill_conv(program *p, step *s, kn_shape shape, kn_dtype dtype)
{
    int64_t n = count_of(shape), out = 1 + below(6);
    if (n < 4 || n > 4000) return false;
    s->list = four_axes(n);
    s->choice = below(8);
    int64_t groups = s->choice == 7 ? s->list.dims[1] : 1;
    kn_shape weight = {4, {out * groups, s->list.dims[1] / groups, 1 + below(3), 1 + below(3)}};
    return add_param(p, s, weight, dtype) &&
           (s->choice & 1 || add_param(p, s, KN_SHAPE(out * groups), dtype));
}

static bool fill_attention(program *p, step *s, kn_shape shape, kn_dtype dtype)
{
    int64_t n = count_of(shape);
    if (n < 4 || n > 4000) return false;
    s->list = four_axes(n);
    s->choice = below(16); /* causal; with that softcap; a mask; a bias */
    s->number = s->list.dims[2];
    if (s->what == ATTENTION) {
        int64_t heads = s->list.dims[1];
        s->number = 1 + below(20);
        if (heads % 2 == 0 && below(2)) heads /= 2;
        kn_shape shared = {4, {s->list.dims[0], heads, s->number, s->list.dims[3]}};
        if (!add_param(p, s, shared, dtype) || !add_param(p, s, shared, dtype)) return false;
    }
    return !(s->choice & 8) || add_param(p, s, KN_SHAPE(1, s->list.dims[1], 1, s->number), dtype);
}

static bool fill_pool(step *s, kn_shape shape)
{
    int64_t n = count_of(shape);
    if (n < 4 || n > 20000) return false;
    s->list = four_axes(n);
    s->number = 1 + below(3);
    s->choice = below(4); /* mean; by steps of 2 */
    return true;
}

/* A value as [steps, batch, in] through a few cells. */
static bool fill_recurrent(program *p, step *s, kn_shape shape, kn_dtype dtype)
{
    int64_t n = count_of(shape), hidden = 1 + below(6);
    if (n < 2 || n > 2000) return false;
    s->list = KN_SHAPE(divisor(n, 1 + below(12)), 1, 1);
    s->list.dims[2] = divisor(n / s->list.dims[0], 1 + below(8));
    s->list.dims[1] = n / s->list.dims[0] / s->list.dims[2];
    s->choice = below(2); /* gru, of three gates */
    int64_t wide = (4 - s->choice) * hidden;
    return add_param(p, s, KN_SHAPE(1, wide, s->list.dims[2]), dtype) &&
           add_param(p, s, KN_SHAPE(1, wide, hidden), dtype);
}

static bool fill_embedding(program *p, step *s, kn_shape shape, kn_dtype dtype)
{
    int64_t n = count_of(shape), size = 1 + below(12);
    if (n < 1 || n > 20000) return false;
    s->choice = below(2);
    s->list = below(2) ? KN_SHAPE(1 + below(30)) : KN_SHAPE(1 + below(6), 1 + below(20));
    if (s->choice) return add_param(p, s, KN_SHAPE(1 + below(40), size), dtype);
    s->number = divisor(n, size); /* the value itself is the table */
    return true;
}

/* Draws what a layer needs for a value of this shape; false where it does not suit. */
static bool fill_layer(program *p, step *s, kn_shape shape, kn_dtype dtype)
{
    if (!kn_dtype_is_float(dtype)) return false;
    switch (s->what) {
    case LINEAR:
        return fill_linear(p, s, shape, dtype);
    case LAYER_NORM:
    case RMS_NORM:
    case GROUP_NORM:
    case BATCH_NORM:
        return fill_norm(p, s, shape, dtype);
    case EMBEDDING:
        return fill_embedding(p, s, shape, dtype);
    case CONV2D:
        return fill_conv(p, s, shape, dtype);
    case ATTENTION:
    case SELF_ATTENTION:
        return fill_attention(p, s, shape, dtype);
    case POOL:
        return fill_pool(s, shape);
    case RECURRENT:
        return fill_recurrent(p, s, shape, dtype);
    default:
        s->choice = below(8);
        return true;
    }
}

/* ---- running */

static kn_tensor param_of(const step *s, const surroundings *at, int i)
{
    return i < s->n_params ? at->params[s->params[i]] : KN_NONE;
}

/* A product, a bias, what is usual after it. */
static kn_tensor linear(const step *s, const surroundings *at, kn_tensor a)
{
    kn_tensor y = kn_linear(a, param_of(s, at, 0), param_of(s, at, 1));
    switch (s->choice) {
    case 0:
        return kn_relu(y);
    case 1:
        return kn_gelu_approximate(y);
    case 2:
        return kn_gelu(y);
    case 3:
        return kn_silu(y);
    case 4:
        return kn_tanh(y);
    case 5:
        return kn_mul_scalar(y, real_of(s, at));
    default:
        return y;
    }
}

static kn_tensor norm(const step *s, const surroundings *at, kn_tensor a)
{
    kn_tensor weight = param_of(s, at, 0), bias = param_of(s, at, 1);
    if (s->what == LAYER_NORM) return kn_layer_norm(a, weight, bias, (int32_t)s->number, 1e-5);
    if (s->what == RMS_NORM) return kn_rms_norm(a, weight, (int32_t)s->number, 1e-5);
    if (s->what == GROUP_NORM) return kn_group_norm(a, weight, bias, s->number, 1e-5);
    kn_batch_norm_result y = kn_batch_norm_train(a, weight, bias, 1e-5);
    kn_drop(y.mean);
    kn_drop(s->choice == 3 ? y.y : y.variance);
    return s->choice == 3 ? y.variance : y.y;
}

static kn_tensor embedding(const step *s, const surroundings *at, kn_tensor a)
{
    draw_for(at->program, at->round, at->step);
    if (s->choice) {
        kn_tensor table = param_of(s, at, 0);
        return kn_embedding(table, indices_from_host(s->list, kn_shape_of_tensor(table).dims[0], 0), NULL);
    }
    int64_t table_rows = kn_count(a) / s->number;
    return kn_embedding(kn_reshape(a, KN_SHAPE(table_rows, s->number)),
                        indices_from_host(s->list, table_rows, 0), NULL);
}

static kn_tensor conv2d(const step *s, const surroundings *at, kn_tensor a)
{
    kn_conv2d_args args = {.padding = {1, 1}, .groups = s->choice == 7 ? s->list.dims[1] : 1};
    if (s->choice & 2) args.stride[0] = args.stride[1] = 2;
    kn_tensor y = kn_conv2d(kn_reshape(a, s->list), param_of(s, at, 0), param_of(s, at, 1), &args);
    return s->choice & 4 ? kn_relu(y) : y;
}

static kn_tensor attention(const step *s, const surroundings *at, const kn_tensor *in)
{
    kn_attention_args args = {.is_causal = s->choice & 1, .softcap = (s->choice & 3) == 3 ? 2.5 : 0};
    if (s->choice & 4) /* the last keys are hidden */
        args.mask = kn_reshape(
            kn_less_scalar(kn_arange(0, (double)s->number, 1, KN_I64), (double)(s->number + 1) / 2),
            KN_SHAPE(1, 1, 1, s->number));
    if (s->choice & 8) args.bias = param_of(s, at, s->n_params - 1);
    if (s->what == SELF_ATTENTION)
        return kn_attention(kn_reshape(in[0], s->list), kn_reshape(in[1], s->list),
                            kn_reshape(in[2], s->list), &args);
    return kn_attention(kn_reshape(in[0], s->list), param_of(s, at, 0), param_of(s, at, 1), &args);
}

static kn_tensor pool(const step *s, kn_tensor a)
{
    kn_ints window = {2, {s->number, s->number}};
    int64_t stride = s->choice & 2 ? 2 : 1, padding = s->number / 2;
    kn_pool_args args = {.stride = {stride, stride}, .padding = {padding, padding}};
    a = kn_reshape(a, s->list);
    return s->choice & 1 ? kn_avg_pool2d(a, window, &args) : kn_max_pool2d(a, window, &args);
}

static kn_tensor recurrent(const step *s, const surroundings *at, kn_tensor a)
{
    kn_tensor w = param_of(s, at, 0), wh = param_of(s, at, 1), x = kn_reshape(a, s->list);
    kn_recurrent_result r = s->choice ? kn_gru(x, w, wh, NULL) : kn_lstm(x, w, wh, NULL);
    kn_drop(r.h);
    kn_drop(r.c);
    return r.y;
}

static kn_tensor cross_entropy(const step *s, const surroundings *at, kn_tensor a)
{
    kn_cross_entropy_args args = {.label_smoothing = s->choice == 3 ? 0.1 : 0,
                                  .reduction = (kn_reduction)(s->choice & 3 ? s->choice & 1 : 2)};
    kn_shape shape = kn_shape_of_tensor(a), target = {0, {0}};
    for (int i = 0; i < shape.rank; i++)
        if (i != (shape.rank > 1)) target.dims[target.rank++] = shape.dims[i];
    draw_for(at->program, at->round, at->step);
    int64_t classes = shape.rank ? shape.dims[shape.rank > 1] : 1;
    return kn_cross_entropy(a, indices_from_host(target, classes, s->choice & 4 ? 5 : 0), &args);
}

static kn_tensor run_layer(const step *s, const surroundings *at, const kn_tensor *in)
{
    kn_reduction reduction = (kn_reduction)(s->choice % 3);
    kn_binary_cross_entropy_args binary = {.reduction = reduction};
    switch (s->what) {
    case LINEAR:
        return linear(s, at, in[0]);
    case EMBEDDING:
        return embedding(s, at, in[0]);
    case CONV2D:
        return conv2d(s, at, in[0]);
    case ATTENTION:
    case SELF_ATTENTION:
        return attention(s, at, in);
    case POOL:
        return pool(s, in[0]);
    case RECURRENT:
        return recurrent(s, at, in[0]);
    case MSE:
        return kn_mse_loss(in[0], in[1], reduction);
    case BCE:
        return s->choice & 4 ? kn_binary_cross_entropy(kn_sigmoid(in[0]), kn_sigmoid(in[1]), &binary)
                             : kn_binary_cross_entropy_with_logits(in[0], kn_sigmoid(in[1]), &binary);
    case CROSS_ENTROPY:
        return cross_entropy(s, at, in[0]);
    default:
        return norm(s, at, in[0]);
    }
}

#endif
