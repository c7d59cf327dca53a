/* How large the terms are that make each element of attention in 16 bits. Kernels of GPUs that never write the weights down
   round them, and the gradients by the scores, to the operands' dtype before they meet the values, as tensor cores take
   them: rounding to nearest may move each term by half an eps of the dtype, and so an element by half an eps times the sum
   of its terms' magnitudes, however they cancel. */
#include "conform_run.h"
#include <math.h>
#include <string.h>

typedef struct terms {
    kn_tensor q, k, v, dy; /* magnitudes, for each head */
    kn_tensor weights, slopes;
    double scale;
    int64_t shared; /* heads to a key head */
} terms;

static kn_tensor exact(const kiln_array *a) { return kn_keep(kn_from(a->real, KN_F64, a->shape)); }

static kn_tensor of_heads(const kiln_array *a, int64_t shared)
{
    return kn_keep(kn_repeat_interleave(exact(a), shared, 1));
}

static kn_tensor times_transposed(kn_tensor a, kn_tensor b) { return kn_matmul(a, kn_transpose(b, -2, -1)); }

/* softmax(scale q k') with what is hidden at 0; slopes are the terms of dS: weights (|dP| + |dy| |y|), since the sum of
   dy y that all of a row's weights have in common is made of the result as it was rounded. */
static void find_terms(const kiln_case *c, const kiln_array *in, terms *t)
{
    t->shared = in[0].shape.dims[1] / in[1].shape.dims[1];
    t->scale = kiln_real(&c->attributes, "scale", 0);
    if (t->scale == 0) t->scale = 1 / sqrt((double)in[0].shape.dims[3]);
    kn_tensor q = exact(&in[0]), k = of_heads(&in[1], t->shared), v = of_heads(&in[2], t->shared);
    kn_tensor scores = kn_mul_scalar(times_transposed(q, k), t->scale);
    kn_shape pairs = KN_SHAPE(in[0].shape.dims[2], in[1].shape.dims[2]);
    if (kiln_int(&c->attributes, "is_causal", 0))
        scores = kn_mask_fill(scores, kn_logical_not(kn_lower_mask(pairs, 0)), -INFINITY);
    t->weights = kn_keep(kn_softmax(scores, -1));
    t->q = kn_keep(kn_abs(q)), t->k = kn_keep(kn_abs(k)), t->v = kn_keep(kn_abs(v));
    t->dy = t->slopes = KN_NONE;
    if (strcmp(c->op, "attention_grad")) return;
    kn_tensor dy = exact(&in[3]), by_weight = kn_keep(times_transposed(dy, v));
    t->dy = kn_keep(kn_abs(dy));
    kn_tensor mean = kn_sum(kn_mul(t->dy, kn_abs(kn_matmul(t->weights, v))), KN_AXES(-1), true);
    t->slopes = kn_keep(kn_mul_scalar(kn_mul(t->weights, kn_add(kn_abs(by_weight), mean)), t->scale));
}

/* Sums over the heads that share a key head. Where several do, the part of each may be rounded once more before they are
   added up, as cuDNN does it. */
static kn_tensor of_key_heads(kn_tensor x, int64_t shared)
{
    kn_shape s = kn_shape_of_tensor(x);
    kn_shape apart = {5, {s.dims[0], s.dims[1] / shared, shared, s.dims[2], s.dims[3]}};
    return kn_mul_scalar(kn_sum(kn_reshape(x, apart), KN_AXES(2), false), shared > 1 ? 2 : 1);
}

static kn_tensor of_output(const kiln_case *c, const terms *t, int output)
{
    if (!strcmp(c->op, "attention")) return kn_matmul(t->weights, t->v);
    if (output == 0) return kn_matmul(t->slopes, t->k);
    kn_tensor by = output == 1 ? t->slopes : t->weights, from = output == 1 ? t->q : t->dy;
    return of_key_heads(kn_matmul(kn_transpose(by, -2, -1), from), t->shared);
}

static int outputs_of(const kiln_case *c)
{
    if (!kiln_is_half(c->dtype)) return 0;
    return !strcmp(c->op, "attention") ? 1 : !strcmp(c->op, "attention_grad") ? 3 : 0;
}

/* Roundings go up as often as down and hardly move all elements together; a wrong scale does, though each element may be
   within its bound. */
double kiln_drift(const kiln_case *c) { return outputs_of(c) > 0 ? 0.003 : 0; }

/* Devices with a number compile kernels; the others compute attention in f32 and round its results alone. */
static bool rounds_weights(const kiln_run *run) { return strchr(run->spec, ':') != NULL; }

bool kiln_magnitudes(const kiln_check *k, const kiln_array *values, kiln_array *magnitudes)
{
    const kiln_case *c = k->c;
    int outputs = outputs_of(c);
    bool good = true;
    terms t;
    if (!outputs || !rounds_weights(k->run)) return true;
    kn_device_use(k->run->oracle);
    kn_scope scope = kn_scope_begin();
    find_terms(c, values, &t);
    for (int i = 0; i < outputs; i++) good = kiln_array_read(&magnitudes[i], of_output(c, &t, i)) && good;
    kn_scope_end(scope, KN_NONE);
    kn_device_use(k->run->device);
    return good;
}
