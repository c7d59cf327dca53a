/* What the converters of attention share. Everywhere scores are [batch, heads, queries, keys], and what hides keys broadcasts to them. */
#ifndef KNI_ONNX_ATTENDING_H
#define KNI_ONNX_ATTENDING_H

#include "onnx/convert/network.h"

/* Which scores a node hands out besides its result. */
typedef enum kni_scores_kind {
    KNI_SCORES_SCALED, /* scale q k' */
    KNI_SCORES_CAPPED, /* after the soft cap */
    KNI_SCORES_MASKED, /* with bias and what is hidden */
    KNI_SCORES_WEIGHTS /* after the softmax */
} kni_scores_kind;

typedef struct kni_attending {
    kni_datum q, k, v;     /* [batch, heads, queries, size], [batch, key heads, keys, size or value size] */
    kni_datum keep;        /* bool: which keys are seen; absent: all */
    kni_datum bias;        /* added to the scores; absent: nothing */
    kni_datum sink;        /* scores of one more key without a value, [1, heads, 1, 1]; absent: none */
    double scale;          /* 0: 1 / sqrt(size); KN_ZERO: 0 */
    double softcap;        /* 0: none */
    bool is_causal;        /* query i sees keys 0 .. i */
    kn_dtype precision;    /* of the softmax; KN_DTYPE_NONE: f32, or f64 for f64 */
    bool wants_scores;     /* fill `scores` */
    kni_scores_kind which; /* of the scores */
    kni_datum scores;
    const kni_onnx_graph *score_graph,
        *weight_graph; /* what changes the scores before and the weights after the softmax; NULL */
} kni_attending;

/* [batch, heads, queries, value size] in the dtype of q. The op attention where it fits, its parts where it does not. */
kni_datum kni_attend(kni_conversion *c, kni_attending *a);

/* ---- heads */

/* [batch, tokens, heads * size] as [batch, heads, tokens, size], and back. */
kni_datum kni_heads_apart(kni_conversion *c, kni_datum x, int64_t heads);
kni_datum kni_heads_together(kni_conversion *c, kni_datum x);

/* ---- what is seen */

/* A list of whole numbers of one for each batch as [batch, 1, 1, 1], i64. */
kni_datum kni_for_each_batch(kni_conversion *c, kni_datum list);
/* A size as a tensor, i64 of rank 0. */
kni_datum kni_size_value(kni_conversion *c, kni_extent size);
/* 0, 1 ... of keys [keys], and of queries [queries, 1], i64. */
kni_datum kni_key_places(kni_conversion *c, kni_extent keys);
kni_datum kni_query_places(kni_conversion *c, kni_extent queries);
/* Both conditions; one that is absent is always true. */
kni_datum kni_both(kni_conversion *c, kni_datum a, kni_datum b);
/* The sum of both; one that is absent is 0. */
kni_datum kni_sum_of(kni_conversion *c, kni_datum a, kni_datum b);
/* Keys from `left` before to `right` behind the place of each query; negative: without end. `place`: i64 that broadcasts. */
kni_datum kni_within(kni_conversion *c, kni_datum place, kni_datum keys, int64_t left, int64_t right);

/* ---- caches of keys and values, and turning */

/* Earlier tokens and new ones, along axis 2; past may be absent. */
kni_datum kni_behind_past(kni_conversion *c, kni_datum past, kni_datum x);
/* cache with update[.., i, ..] written to start[batch] + i along `axis`; circular: modulo the size of the axis. */
kni_datum kni_write_cache(kni_conversion *c, kni_datum cache, kni_datum update, kni_datum start, int32_t axis,
                          bool circular);
/* Turns pairs of x [batch, heads, tokens, size] by tables [batch or 1, tokens, half]; what is behind 2 half elements stays. */
kni_datum kni_turn(kni_conversion *c, kni_datum x, kni_datum cosines, kni_datum sines, bool interleaved);

/* ---- converters; the table is in convert_attention.c */

kni_convert_function kni_convert_rotary, kni_convert_fused_rotary, kni_convert_tensor_scatter,
    kni_convert_fused_attention, kni_convert_quantized_attention, kni_convert_multi_head_attention,
    kni_convert_grouped_attention, kni_convert_decoder_attention, kni_convert_multi_rotary;

#endif
