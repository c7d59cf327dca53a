/* Transformers: PyTorch's TransformerEncoder(Layer) and TransformerDecoder(Layer) in value and in the names of the params, but
   for attention, whose params are those of kn_nn_attention (kn_load splits PyTorch's). */
#ifndef KN_NN_TRANSFORMER_H
#define KN_NN_TRANSFORMER_H

#include <kn/nn/activations.h>
#include <kn/nn/attention_layers.h>
#include <kn/nn/normalization.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What all of them can be told. */
typedef struct kn_nn_transformer_args {
    double dropout;                /* 0.1 where args is NULL, as in PyTorch; 0 is off */
    bool norm_first;               /* normalises what goes into a part, not what comes out */
    bool quiet_softmax;            /* see kn_nn_attention_args, as are the next two */
    double min_float;              /* 0: hidden keys take no part */
    int64_t n_heads_kv;            /* of self-attention; 0 = n_heads */
    double layer_norm_eps;         /* 0 = 1e-5, KN_ZERO = 0 */
    kn_activation_kind activation; /* of the feed-forward part; 0 = relu, as in PyTorch (Burn: gelu) */
    kn_nn_activation_args activation_args;
    bool no_bias;               /* neither linear layers nor norms have one */
    bool final_norm;            /* encoder and decoder: a norm after the last layer, usual with norm_first */
    kn_initializer initializer; /* of the linear weights; zeroed: that of kn_nn_linear */
    kn_dtype dtype;             /* 0 = f32 */
} kn_nn_transformer_args;
#define KN_NN_TRANSFORMER_ARGS_DEFAULTS                                                                      \
    KN_FIELDS(0.1, false, false, 0.0, 0, 1e-5, KN_ACTIVATION_RELU, KN_NN_ACTIVATION_ARGS_DEFAULTS, false,    \
              false, KN_INITIALIZER_DEFAULTS, KN_F32)

/* y = linear2(dropout(activation(linear1(x)))): PositionWiseFeedForward. */
typedef struct kn_nn_feed_forward {
    kn_nn_linear linear1, linear2; /* d_model -> d_ff -> d_model */
    kn_nn_activation activation;
    double dropout;
    bool training;
} kn_nn_feed_forward;
extern KN_API const kn_module_type kn_nn_feed_forward_type;

KN_API kn_status kn_nn_feed_forward_init(kn_nn_feed_forward *m, int64_t d_model, int64_t d_ff,
                                         const kn_nn_transformer_args *args);
KN_API kn_tensor kn_nn_feed_forward_forward(const kn_nn_feed_forward *m, kn_tensor x);

/* x = norm1(x + dropout(self_attn(x))); y = norm2(x + dropout(feed_forward(x))). With norm_first
   x + dropout(self_attn(norm1(x))) and so on. */
typedef struct kn_nn_transformer_encoder_layer {
    kn_nn_attention self_attn;
    kn_nn_feed_forward
        feed_forward; /* its params are called linear1 and linear2, without feed_forward in front */
    kn_nn_layer_norm norm1, norm2;
    double dropout;
    bool norm_first, training;
} kn_nn_transformer_encoder_layer;
extern KN_API const kn_module_type kn_nn_transformer_encoder_layer_type;

KN_API kn_status kn_nn_transformer_encoder_layer_init(kn_nn_transformer_encoder_layer *m, int64_t d_model,
                                                      int64_t n_heads, int64_t d_ff,
                                                      const kn_nn_transformer_args *args);
/* x [batch, tokens, d_model]; call: masks, rotary and cache of the attention, or NULL. */
KN_API kn_tensor kn_nn_transformer_encoder_layer_forward(const kn_nn_transformer_encoder_layer *m,
                                                         kn_tensor x, const kn_nn_attention_call *call);

/* The same with attention to a context in the middle: self_attn, norm1, multihead_attn, norm2, feed_forward, norm3. */
typedef struct kn_nn_transformer_decoder_layer {
    kn_nn_attention self_attn, multihead_attn;
    kn_nn_feed_forward feed_forward;
    kn_nn_layer_norm norm1, norm2, norm3;
    double dropout;
    bool norm_first, training;
} kn_nn_transformer_decoder_layer;
extern KN_API const kn_module_type kn_nn_transformer_decoder_layer_type;

KN_API kn_status kn_nn_transformer_decoder_layer_init(kn_nn_transformer_decoder_layer *m, int64_t d_model,
                                                      int64_t n_heads, int64_t d_ff,
                                                      const kn_nn_transformer_args *args);
/* self: of self_attn (is_causal for generation), cross: of multihead_attn, whose keys are those of memory; NULL: nothing. */
KN_API kn_tensor kn_nn_transformer_decoder_layer_forward(const kn_nn_transformer_decoder_layer *m,
                                                         kn_tensor x, kn_tensor memory,
                                                         const kn_nn_attention_call *self,
                                                         const kn_nn_attention_call *cross);

/* ---- stacks of layers */

typedef struct kn_nn_transformer_encoder {
    kn_nn_transformer_encoder_layer *layers;
    int32_t n_layers;
    kn_nn_layer_norm *norm; /* or NULL */
} kn_nn_transformer_encoder;
extern KN_API const kn_module_type kn_nn_transformer_encoder_type;

typedef struct kn_nn_transformer_decoder {
    kn_nn_transformer_decoder_layer *layers;
    int32_t n_layers;
    kn_nn_layer_norm *norm; /* or NULL */
} kn_nn_transformer_decoder;
extern KN_API const kn_module_type kn_nn_transformer_decoder_type;

KN_API kn_status kn_nn_transformer_encoder_init(kn_nn_transformer_encoder *m, int64_t d_model,
                                                int64_t n_heads, int64_t d_ff, int32_t n_layers,
                                                const kn_nn_transformer_args *args);
KN_API kn_status kn_nn_transformer_decoder_init(kn_nn_transformer_decoder *m, int64_t d_model,
                                                int64_t n_heads, int64_t d_ff, int32_t n_layers,
                                                const kn_nn_transformer_args *args);

/* The caches of all layers, for generation token by token: each call gets the new tokens only and is_causal. */
typedef struct kn_nn_transformer_cache {
    kn_nn_attention_cache *self, *cross; /* n_layers each */
    int32_t n_layers;
} kn_nn_transformer_cache;
KN_API kn_status kn_nn_transformer_cache_init(kn_nn_transformer_cache *cache, int32_t n_layers);
/* Forgets all tokens and gives the caches of self-attention room for so many (kn_nn_attention_cache); 0: they grow. */
KN_API void kn_nn_transformer_cache_reserve(kn_nn_transformer_cache *cache, int64_t capacity);
/* Forgets all tokens. */
KN_API void kn_nn_transformer_cache_reset(kn_nn_transformer_cache *cache);
KN_API void kn_nn_transformer_cache_drop(kn_nn_transformer_cache *cache);

/* call as for a layer, without cache and weights; cache NULL: none. */
KN_API kn_tensor kn_nn_transformer_encoder_forward(const kn_nn_transformer_encoder *m, kn_tensor x,
                                                   const kn_nn_attention_call *call,
                                                   kn_nn_transformer_cache *cache);
/* With a cache the keys of memory are computed once: reset it for another memory. */
KN_API kn_tensor kn_nn_transformer_decoder_forward(const kn_nn_transformer_decoder *m, kn_tensor x,
                                                   kn_tensor memory, const kn_nn_attention_call *self,
                                                   const kn_nn_attention_call *cross,
                                                   kn_nn_transformer_cache *cache);

#ifdef __cplusplus
}
#endif
#endif
