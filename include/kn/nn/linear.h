/* Linear layers, embeddings, and low-rank adapters (LoRA) for linear layers. */
#ifndef KN_NN_LINEAR_H
#define KN_NN_LINEAR_H

#include <kn/functional.h>
#include <kn/nn/init.h>
#include <kn/nn/module.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An adapter of a linear layer: adds alpha / rank B A dropout(x) to its result. kn_lora_apply makes them. */
typedef struct kn_nn_lora {
    kn_param a; /* [rank, in] */
    kn_param b; /* [out, rank], zeros at first */
    int64_t rank;
    double alpha, dropout;
    bool training;
} kn_nn_lora;
extern KN_API const kn_module_type kn_nn_lora_type;

/* y = x W' + b over the last axis of x [..., in]. The weight is [out, in] whatever layout the device keeps it in: there is
   no choice of rows or columns to make. */
typedef struct kn_nn_linear {
    kn_param weight;  /* [out, in] */
    kn_param bias;    /* [out], or absent */
    kn_nn_lora *lora; /* or NULL */
    int64_t in_features, out_features;
} kn_nn_linear;
extern KN_API const kn_module_type kn_nn_linear_type;

typedef struct kn_nn_linear_args {
    bool no_bias;
    kn_initializer weight, bias; /* zeroed: uniform on +-1 / sqrt(in), for both */
    kn_dtype dtype;              /* 0 = f32 */
} kn_nn_linear_args;
#define KN_NN_LINEAR_ARGS_DEFAULTS KN_FIELDS(false, KN_INITIALIZER_DEFAULTS, KN_INITIALIZER_DEFAULTS, KN_F32)
KN_API kn_status kn_nn_linear_init(kn_nn_linear *m, int64_t in_features, int64_t out_features,
                                   const kn_nn_linear_args *args);
KN_API kn_tensor kn_nn_linear_forward(const kn_nn_linear *m, kn_tensor x);

/* y = silu(inner(x)) outer(x): the gated unit of language models. */
typedef struct kn_nn_swiglu {
    kn_nn_linear linear_inner, linear_outer;
} kn_nn_swiglu;
extern KN_API const kn_module_type kn_nn_swiglu_type;

typedef struct kn_nn_swiglu_args {
    bool bias;
    kn_initializer weight;
    kn_dtype dtype; /* 0 = f32 */
} kn_nn_swiglu_args;
#define KN_NN_SWIGLU_ARGS_DEFAULTS KN_FIELDS(false, KN_INITIALIZER_DEFAULTS, KN_F32)
KN_API kn_status kn_nn_swiglu_init(kn_nn_swiglu *m, int64_t in_features, int64_t out_features,
                                   const kn_nn_swiglu_args *args);
KN_API kn_tensor kn_nn_swiglu_forward(const kn_nn_swiglu *m, kn_tensor x);

/* y[..., :] = W[indices[...], :] */
typedef struct kn_nn_embedding {
    kn_param weight; /* [embeddings, size] */
    int64_t num_embeddings, embedding_dim;
    int64_t padding_index; /* as in kn_embedding_args: 0 = none, KN_ZERO = row 0 */
} kn_nn_embedding;
extern KN_API const kn_module_type kn_nn_embedding_type;

typedef struct kn_nn_embedding_args {
    int64_t
        padding_index; /* this row is zeros and gets no gradient; 0 = none, KN_ZERO = row 0, negative: from the end */
    kn_initializer weight; /* zeroed: normal with mean 0, deviation 1 */
    kn_dtype dtype;        /* 0 = f32 */
} kn_nn_embedding_args;
#define KN_NN_EMBEDDING_ARGS_DEFAULTS KN_FIELDS(0, KN_INITIALIZER_DEFAULTS, KN_F32)
KN_API kn_status kn_nn_embedding_init(kn_nn_embedding *m, int64_t num_embeddings, int64_t embedding_dim,
                                      const kn_nn_embedding_args *args);
KN_API kn_tensor kn_nn_embedding_forward(const kn_nn_embedding *m, kn_tensor indices);

/* The mean, sum or largest of the rows of each bag of indices; see kn_embedding_bag. */
typedef struct kn_nn_embedding_bag {
    kn_param weight; /* [embeddings, size] */
    int64_t num_embeddings, embedding_dim;
    kn_bag_mode mode;
    int64_t padding_index; /* as in kn_embedding_bag_args: 0 = none, KN_ZERO = row 0 */
    bool include_last_offset;
} kn_nn_embedding_bag;
extern KN_API const kn_module_type kn_nn_embedding_bag_type;

typedef struct kn_nn_embedding_bag_args {
    kn_bag_mode mode; /* 0 = mean */
    int64_t
        padding_index; /* this row is zeros, is left out and gets no gradient; 0 = none, KN_ZERO = row 0, negative: from the end */
    bool include_last_offset; /* offsets end with where the last bag ends */
    kn_initializer weight;    /* zeroed: normal with mean 0, deviation 1 */
    kn_dtype dtype;           /* 0 = f32 */
} kn_nn_embedding_bag_args;
#define KN_NN_EMBEDDING_BAG_ARGS_DEFAULTS KN_FIELDS(KN_BAG_MEAN, 0, false, KN_INITIALIZER_DEFAULTS, KN_F32)
KN_API kn_status kn_nn_embedding_bag_init(kn_nn_embedding_bag *m, int64_t num_embeddings,
                                          int64_t embedding_dim, const kn_nn_embedding_bag_args *args);
/* indices [bags, size] with offsets KN_NONE, or [n] with offsets [bags]; per_sample_weights of the shape of indices or KN_NONE. */
KN_API kn_tensor kn_nn_embedding_bag_forward(const kn_nn_embedding_bag *m, kn_tensor indices,
                                             kn_tensor offsets, kn_tensor per_sample_weights);

/* ---- LoRA */

typedef struct kn_lora_args {
    int64_t rank;   /* 0 = 8 */
    double alpha;   /* 0 = rank, which makes the factor 1; KN_ZERO = 0 */
    double dropout; /* of x, before A, while training; 0 is off */
} kn_lora_args;
#define KN_LORA_ARGS_DEFAULTS KN_FIELDS(8, 0.0, 0.0)
/* Gives an adapter to each kn_nn_linear of the module whose path matches the extended regular expression (NULL: all), and
   freezes every other param, so that only adapters are trained. A layer that has one keeps it. Nothing is changed on failure.
   A starts uniform on +-1 / sqrt(in), B with zeros: at first the results are the same. */
KN_API kn_status kn_lora_apply(kn_module module, const char *pattern, const kn_lora_args *args);
/* Adds alpha / rank B A to the weights and removes the adapters. The params stay frozen: kn_module_freeze thaws them. */
KN_API kn_status kn_lora_merge(kn_module module);
/* Removes the adapters without merging. */
KN_API void kn_lora_remove(kn_module module);

#ifdef __cplusplus
}
#endif
#endif
