/* Positions of tokens: sinusoidal, learned and rotary. */
#include "nn/layer.h"
#include "support/failure.h"
#include "support/scalar_math.h"
#include <kn/creation.h>
#include <kn/elementwise.h>
#include <kn/functional.h>
#include <kn/nn/positional.h>
#include <kn/shape.h>
#include <kn/tensor.h>
#include <stdlib.h>

static kn_status check_even(const char *function, const char *name, int64_t size)
{
    kn_status s = kni_layer_positive(function, name, size);
    if (s == KN_OK && size % 2)
        s = kni_failure(KN_ERROR_ARGUMENT, "%s: %s is %lld; it must be even", function, name,
                        (long long)size);
    return s;
}

/* x is [..., tokens, size] and its positions offset .. offset + tokens - 1 lie below the maximum. */
static kn_status check_tokens(const char *function, kn_tensor x, int64_t size, int64_t offset,
                              int64_t maximum)
{
    if (!kn_ok(x)) return kni_failure_of(x);
    if (kn_rank(x) < 2 || kn_size(x, -1) != size)
        return kni_failure(KN_ERROR_SHAPE, "%s: x must be [..., tokens, %lld]", function, (long long)size);
    int64_t tokens = kn_size(x, -2);
    if (offset >= 0 && tokens <= maximum && offset <= maximum - tokens) return KN_OK;
    return kni_failure(KN_ERROR_INDEX,
                       "%s: %lld tokens from position %lld do not fit into the %lld positions", function,
                       (long long)tokens, (long long)offset, (long long)maximum);
}

/* [tokens, n] of (start + t) frequencies[i] in f64, on the device of x. */
static kn_tensor angles(kn_tensor x, int64_t start, kn_tensor frequencies)
{
    int64_t tokens = kn_size(x, -2);
    kn_tensor positions = kn_arange((double)start, (double)(start + tokens), 1, KN_F64);
    return kn_mul(kn_unsqueeze(positions, 1), frequencies);
}

/* ---- sinusoidal */

const kn_module_type kn_nn_positional_encoding_type = {
    "PositionalEncoding", sizeof(kn_nn_positional_encoding),
    (const kn_field[]){KN_INT(kn_nn_positional_encoding, d_model),
                       KN_INT(kn_nn_positional_encoding, max_sequence_size),
                       KN_REAL(kn_nn_positional_encoding, max_timescale),
                       {0}}};

kn_status kn_nn_positional_encoding_init(kn_nn_positional_encoding *m, int64_t d_model,
                                         const kn_nn_positional_encoding_args *args)
{
    static const kn_nn_positional_encoding_args usual = KN_NN_POSITIONAL_ENCODING_ARGS_DEFAULTS;
    static const char name[] = "kn_nn_positional_encoding_init";
    if (!args) args = &usual;
    kn_nn_positional_encoding made = {.d_model = d_model,
                                      .max_sequence_size =
                                          kn_int_or(args->max_sequence_size, usual.max_sequence_size),
                                      .max_timescale = kn_real_or(args->max_timescale, usual.max_timescale)};
    kn_status s = check_even(name, "d_model", d_model);
    if (s == KN_OK) s = kni_layer_positive(name, "max_sequence_size", made.max_sequence_size);
    if (s == KN_OK && !(made.max_timescale > 0))
        s = kni_failure(KN_ERROR_ARGUMENT, "%s: max_timescale must be above 0", name);
    return kni_layer_finish(KN_MODULE_OF(kn_nn_positional_encoding, &made), m, s);
}

kn_tensor kn_nn_positional_encoding_forward(const kn_nn_positional_encoding *m, kn_tensor x, int64_t offset)
{
    KNI_NEEDS_INIT(kn_nn_positional_encoding, m);
    kn_status s =
        check_tokens("kn_nn_positional_encoding_forward", x, m->d_model, offset, m->max_sequence_size);
    if (s != KN_OK) return kn_poison(s, NULL);
    kn_scope scope = kn_scope_begin();
    kn_tensor exponents = kn_mul_scalar(kn_arange(0, (double)m->d_model, 2, KN_F64), -1 / (double)m->d_model);
    kn_tensor turned = kn_keep(angles(x, offset, kn_rpow_scalar(exponents, m->max_timescale)));
    kn_tensor waves = kn_stack((const kn_tensor[]){kn_sin(turned), kn_cos(turned)}, 2, -1);
    kn_tensor table = kn_cast(kn_flatten(waves, -2, -1), kn_dtype_of(x));
    return kn_scope_end(scope, kn_add(x, table));
}

/* ---- learned */

const kn_module_type kn_nn_learned_positions_type = {
    "LearnedPositions", sizeof(kn_nn_learned_positions),
    (const kn_field[]){KN_MODULE(kn_nn_learned_positions, embedding, kn_nn_embedding), {0}}};

kn_status kn_nn_learned_positions_init(kn_nn_learned_positions *m, int64_t d_model, int64_t max_sequence_size,
                                       const kn_nn_embedding_args *args)
{
    kn_nn_learned_positions made = {0};
    kn_status s = kn_nn_embedding_init(&made.embedding, max_sequence_size, d_model, args);
    return kni_layer_finish(KN_MODULE_OF(kn_nn_learned_positions, &made), m, s);
}

kn_tensor kn_nn_learned_positions_forward(const kn_nn_learned_positions *m, kn_tensor x, int64_t offset)
{
    KNI_NEEDS_INIT(kn_nn_learned_positions, m);
    kn_status s = check_tokens("kn_nn_learned_positions_forward", x, m->embedding.embedding_dim, offset,
                               m->embedding.num_embeddings);
    if (s != KN_OK) return kn_poison(s, NULL);
    kn_scope scope = kn_scope_begin();
    kn_tensor positions = kn_arange((double)offset, (double)(offset + kn_size(x, -2)), 1, KN_I64);
    return kn_scope_end(scope, kn_add(x, kn_nn_embedding_forward(&m->embedding, positions)));
}

/* ---- rotary */

const kn_module_type kn_nn_rotary_type = {"RotaryEncoding", sizeof(kn_nn_rotary),
                                          (const kn_field[]){KN_BUFFER(kn_nn_rotary, frequencies),
                                                             KN_INT(kn_nn_rotary, size),
                                                             KN_INT(kn_nn_rotary, max_sequence_length),
                                                             KN_INT(kn_nn_rotary, start),
                                                             KN_REAL(kn_nn_rotary, theta),
                                                             KN_FLAG(kn_nn_rotary, interleaved),
                                                             {0}}};

static kn_status scale_frequencies(kn_nn_rotary *m, const kn_nn_rotary_args *args)
{
    int64_t half = m->size / 2;
    double *scaled =
        half > (int64_t)(SIZE_MAX / sizeof *scaled) ? NULL : malloc((size_t)half * sizeof *scaled);
    if (!scaled) return kni_failure_memory("kn_nn_rotary_init");
    for (int64_t i = 0; i < half; i++)
        scaled[i] = args->scale(args->context, i, kni_pow(m->theta, -(double)i / (double)half));
    m->frequencies = kn_param_make(kn_from(scaled, KN_I64, KN_SHAPE(half)));
    free(scaled);
    kn_status s = kni_failure_of(m->frequencies.handle);
    if (s == KN_OK) kn_param_freeze(&m->frequencies, true);
    return s;
}

kn_status kn_nn_rotary_init(kn_nn_rotary *m, int64_t max_sequence_length, int64_t size,
                            const kn_nn_rotary_args *args)
{
    static const kn_nn_rotary_args usual = KN_NN_ROTARY_ARGS_DEFAULTS;
    if (!args) args = &usual;
    kn_nn_rotary made = {.size = size,
                         .max_sequence_length = max_sequence_length,
                         .theta = kn_real_or(args->theta, usual.theta),
                         .interleaved = args->interleaved};
    kn_status s = check_even("kn_nn_rotary_init", "size", size);
    if (s == KN_OK) s = kni_layer_positive("kn_nn_rotary_init", "max_sequence_length", max_sequence_length);
    if (s == KN_OK && !(made.theta > 0))
        s = kni_failure(KN_ERROR_ARGUMENT, "kn_nn_rotary_init: theta must be above 0");
    if (s == KN_OK && args->scale) s = scale_frequencies(&made, args);
    return kni_layer_finish(KN_MODULE_OF(kn_nn_rotary, &made), m, s);
}

kn_tensor kn_nn_rotary_forward(const kn_nn_rotary *m, kn_tensor x, int64_t offset)
{
    KNI_NEEDS_INIT(kn_nn_rotary, m);
    kn_status s = check_tokens("kn_nn_rotary_forward", x, m->size, offset, m->max_sequence_length);
    if (s != KN_OK) return kn_poison(s, NULL);
    kn_rope_args args = {.theta = m->theta, .offset = m->start + offset, .interleaved = m->interleaved};
    if (!m->frequencies.handle.bits) return kn_rope(x, KN_NONE, KN_NONE, &args);
    kn_scope scope = kn_scope_begin();
    kn_dtype dtype = kn_dtype_of(x) == KN_F64 ? KN_F64 : KN_F32;
    kn_tensor turned = kn_keep(angles(x, m->start + offset, kn_bitcast(kn_value(m->frequencies), KN_F64)));
    kn_tensor cosines = kn_cast(kn_cos(turned), dtype), sines = kn_cast(kn_sin(turned), dtype);
    return kn_scope_end(scope, kn_rope(x, cosines, sines, &args));
}

kn_status kn_nn_rotary_shift(kn_nn_rotary *m, int64_t start)
{
    if (start < m->start)
        return kni_failure(KN_ERROR_ARGUMENT,
                           "kn_nn_rotary_shift: position %lld is before the present start %lld; use "
                           "kn_nn_rotary_reset to go back",
                           (long long)start, (long long)m->start);
    m->start = start;
    return KN_OK;
}

void kn_nn_rotary_reset(kn_nn_rotary *m) { m->start = 0; }

double kn_rotary_scale_linear(void *context, int64_t pair, double frequency)
{
    (void)pair;
    return frequency / *(const double *)context;
}

double kn_rotary_scale_llama(void *context, int64_t pair, double frequency)
{
    (void)pair;
    const kn_rotary_llama_scaling *s = context;
    double turns = s->context_length * frequency / (2 * KNI_PI); /* of this pair over the whole context */
    if (turns < s->low) return frequency / s->factor;
    if (turns > s->high) return frequency;
    double blend = (turns - s->low) / (s->high - s->low);
    return (1 - blend) * frequency / s->factor + blend * frequency;
}
