/* Attention with heads: kn_nn_attention is MultiHeadAttention, and with args->d_context, n_heads_kv and d_head CrossAttention
   and grouped heads. Masks are true where a query sees a key. */
#ifndef KN_NN_ATTENTION_LAYERS_H
#define KN_NN_ATTENTION_LAYERS_H

#include <kn/nn/positional.h>

#ifdef __cplusplus
extern "C" {
#endif

/* y = output(softmax(q k' / sqrt(d_head)) v), each head on its own share of q = query(x), k = key(z), v = value(z). The
   n_heads / n_heads_kv neighbours of a group share a head of k and v. */
typedef struct kn_nn_attention {
    kn_nn_linear query;  /* d_model -> n_heads d_head */
    kn_nn_linear key;    /* d_context -> n_heads_kv d_head */
    kn_nn_linear value;  /* d_context -> n_heads_kv d_head */
    kn_nn_linear output; /* n_heads d_head -> d_model */
    int64_t d_model, d_context, n_heads, n_heads_kv, d_head;
    double dropout, min_float;
    bool quiet_softmax, training;
} kn_nn_attention;
extern KN_API const kn_module_type kn_nn_attention_type;

typedef struct kn_nn_attention_args {
    int64_t d_context;  /* size of key and value; 0 = d_model */
    int64_t n_heads_kv; /* 0 = n_heads; must divide it */
    int64_t d_head;     /* 0 = d_model / n_heads */
    double dropout;     /* of the weights, while training; 0 is off */
    double
        min_float; /* 0: hidden keys take no part, and a query that sees none gives zeros. Else the score that hidden
                           keys get, -1e4 in Burn: a query that sees none then averages. */
    bool quiet_softmax; /* kn_quiet_softmax: a head may look at nothing */
    bool no_query_bias, no_key_bias, no_value_bias, no_output_bias;
    kn_initializer initializer; /* of the weights; zeroed: that of kn_nn_linear */
    kn_dtype dtype;             /* 0 = f32 */
} kn_nn_attention_args;
#define KN_NN_ATTENTION_ARGS_DEFAULTS                                                                        \
    KN_FIELDS(0, 0, 0, 0.0, 0.0, false, false, false, false, false, KN_INITIALIZER_DEFAULTS, KN_F32)
KN_API kn_status kn_nn_attention_init(kn_nn_attention *m, int64_t d_model, int64_t n_heads,
                                      const kn_nn_attention_args *args);

/* Keys and values of the tokens seen so far, for generation token by token. Start with zeros ({0}), or with {.capacity = n}: then there is
   room for n tokens, more are an error, new ones are written in place, and no plan of fusion(...) depends on how many there are, so that
   each token is replayed as the one before. Owned tensors: drop the cache when done, which keeps its capacity. */
typedef struct kn_nn_attention_cache {
    kn_tensor key, value; /* [batch, n_heads_kv, tokens or capacity, d_head] */
    int64_t length;       /* tokens that are in it */
    int64_t capacity;     /* 0: as many as there are */
} kn_nn_attention_cache;
KN_API void kn_nn_attention_cache_drop(kn_nn_attention_cache *cache);

/* What a call can bring along; zeroed: nothing. Tensors are used like operands. */
typedef struct kn_nn_attention_call {
    kn_tensor mask_pad;         /* old: kn_logical_not of sees_keys */
    kn_tensor mask_attention;   /* old: kn_logical_not of sees where it is bool, else bias */
    bool is_causal;             /* a query sees no later token; the last query is at the last key */
    const kn_nn_rotary *rotary; /* turns q and k; positions go on where the cache ends */
    kn_nn_attention_cache
        *cache; /* x holds only new tokens, whose keys and values are added to it. With fixed_cache the
                                     first call fills it and later ones read it: for the context of a decoder. */
    bool fixed_cache;
    kn_tensor *
        weights; /* gets the weights [batch, heads, queries, keys] before dropout, a temporary; costs memory */
    /* bool [batch, keys], those of the cache too: true for a token, false for padding, which no query sees. */
    kn_tensor sees_keys;
    /* bool [queries, keys], [batch, queries, keys] or [batch, heads (or 1), queries, keys]: true where the query sees the key. */
    kn_tensor sees;
    kn_tensor bias; /* float of such a shape, added to the scores */
    /* Of a cache with a capacity, i64 [2]: its length before the new tokens, and with them. KN_NONE: made in each call; the stacks of
       kn/nn/transformer.h make it once for all layers. */
    kn_tensor span;
} kn_nn_attention_call;
/* query [batch, queries, d_model], key and value [batch, keys, d_context]; KN_NONE for key means key = value = query, for value
   value = key. call NULL: nothing else. Scores are not held in memory unless dropout, quiet_softmax, min_float or
   call->weights asks for them. */
KN_API kn_tensor kn_nn_attention_forward(const kn_nn_attention *m, kn_tensor query, kn_tensor key,
                                         kn_tensor value, const kn_nn_attention_call *call);

/* bool [tokens, tokens], true where a token sees itself and those before it: kn_lower_mask of a square. */
KN_API kn_tensor kn_causal_mask(int64_t tokens);

/* Token lists of different lengths as one padded matrix. */
typedef struct kn_token_batch {
    kn_tensor tokens; /* i64 [batch, longest] */
    kn_tensor sees;   /* bool [batch, longest], true: a token, false: padding; for sees_keys of a call */
} kn_token_batch;
/* max_length 0: as long as the longest; above 0: lists are cut there; below 0: all are exactly -max_length long, cut or
   padded. */
KN_API kn_token_batch kn_pad_tokens(const int64_t *const *lists, const int64_t *lengths, int32_t n,
                                    int64_t pad_token, int64_t max_length);

/* ---- old names */

typedef struct kn_padded_tokens {
    kn_tensor tokens; /* i64 [batch, longest] */
    kn_tensor mask;   /* bool [batch, longest], true: padding */
} kn_padded_tokens;
/* bool [tokens, tokens], true above the diagonal. */
KN_API kn_tensor kn_autoregressive_mask(int64_t tokens)
    KN_DEPRECATED("write kn_logical_not(kn_causal_mask(tokens))");
KN_API kn_padded_tokens kn_padding_mask(const int64_t *const *lists, const int64_t *lengths, int32_t n,
                                        int64_t pad_token, int64_t max_length)
    KN_DEPRECATED("write kn_pad_tokens, whose mask is true for tokens");

#ifdef __cplusplus
}
#endif
#endif
