/* Where a token stands: sinusoidal, rotary and learned positions. */
#ifndef KN_NN_POSITIONAL_H
#define KN_NN_POSITIONAL_H

#include <kn/nn/linear.h>

#ifdef __cplusplus
extern "C" {
#endif

/* y[..., t, 2i] = x + sin((offset + t) max_timescale^(-2i / d_model)), y[..., t, 2i + 1] = x + cos(the same);
   x [..., tokens, d_model], d_model even. There is nothing to save. */
typedef struct kn_nn_positional_encoding {
    int64_t d_model, max_sequence_size;
    double max_timescale;
} kn_nn_positional_encoding;
extern KN_API const kn_module_type kn_nn_positional_encoding_type;

typedef struct kn_nn_positional_encoding_args {
    int64_t max_sequence_size; /* positions from here on are an error; 0 = 5000 */
    double max_timescale;      /* 0 = 10000 */
} kn_nn_positional_encoding_args;
#define KN_NN_POSITIONAL_ENCODING_ARGS_DEFAULTS KN_FIELDS(5000, 10000.0)
KN_API kn_status kn_nn_positional_encoding_init(kn_nn_positional_encoding *m, int64_t d_model,
                                                const kn_nn_positional_encoding_args *args);
/* offset: the position of x's first token. */
KN_API kn_tensor kn_nn_positional_encoding_forward(const kn_nn_positional_encoding *m, kn_tensor x,
                                                   int64_t offset);

/* y = x + W[offset + t]: a trained row for each position; x [..., tokens, d_model]. */
typedef struct kn_nn_learned_positions {
    kn_nn_embedding embedding; /* [max_sequence_size, d_model] */
} kn_nn_learned_positions;
extern KN_API const kn_module_type kn_nn_learned_positions_type;

KN_API kn_status kn_nn_learned_positions_init(kn_nn_learned_positions *m, int64_t d_model,
                                              int64_t max_sequence_size, const kn_nn_embedding_args *args);
KN_API kn_tensor kn_nn_learned_positions_forward(const kn_nn_learned_positions *m, kn_tensor x,
                                                 int64_t offset);

/* Turns the pairs of the last axis of x [..., tokens, size] by (start + offset + t) theta^(-2i / size), as kn_rope does. */
typedef struct kn_nn_rotary {
    kn_param
        frequencies; /* [size / 2] when they were scaled, else absent; f64 bits as i64, which no cast changes */
    int64_t size, max_sequence_length, start;
    double theta;
    bool interleaved;
} kn_nn_rotary;
extern KN_API const kn_module_type kn_nn_rotary_type;

/* The new frequency of a pair, for longer contexts. */
typedef double (*kn_rotary_scale_fn)(void *context, int64_t pair, double frequency);

typedef struct kn_nn_rotary_args {
    double theta;             /* 0 = 10000 */
    bool interleaved;         /* pairs are neighbours (2i, 2i + 1); else i and i + size / 2 */
    kn_rotary_scale_fn scale; /* called once for each pair when the layer is made; NULL: none */
    void *context;
} kn_nn_rotary_args;
#define KN_NN_ROTARY_ARGS_DEFAULTS KN_FIELDS(10000.0, false, NULL, NULL)
/* size: of a head, even. max_sequence_length: how many positions from `start` on may be used. */
KN_API kn_status kn_nn_rotary_init(kn_nn_rotary *m, int64_t max_sequence_length, int64_t size,
                                   const kn_nn_rotary_args *args);
/* offset: the position of x's first token, counted from `start`. */
KN_API kn_tensor kn_nn_rotary_forward(const kn_nn_rotary *m, kn_tensor x, int64_t offset);
/* From now on offset 0 means position `start`, so that text of any length can be walked; it does not go back. */
KN_API kn_status kn_nn_rotary_shift(kn_nn_rotary *m, int64_t start);
/* Back to start 0. */
KN_API void kn_nn_rotary_reset(kn_nn_rotary *m);

/* Ready-made scalings. Linear: frequency / factor; context: double *factor. */
KN_API double kn_rotary_scale_linear(void *context, int64_t pair, double frequency);
/* As Llama 3.1: frequencies whose wavelength is above context_length / low are divided by factor, those below
   context_length / high stay, those between are blended. */
typedef struct kn_rotary_llama_scaling {
    double factor, low, high, context_length; /* Llama 3.1: 8, 1, 4, 8192 */
} kn_rotary_llama_scaling;
KN_API double kn_rotary_scale_llama(void *context, int64_t pair, double frequency);

#ifdef __cplusplus
}
#endif
#endif
