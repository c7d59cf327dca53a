/* What the converters of attention share. Operands are [batch, heads, length, size] inside. */
#ifndef KNI_ONNX_ATTENTION_PARTS_H
#define KNI_ONNX_ATTENTION_PARTS_H

#include "onnx/convert/convert_numbers.h"
#include "onnx/convert/network.h"

/* ---- converters; the table is in convert_attention.c */

kni_convert_function kni_convert_flex_attention, kni_convert_tensor_scatter;
kni_convert_function kni_convert_rotary, kni_convert_fused_rotary;
kni_convert_function kni_convert_fused_attention, kni_convert_multi_head, kni_convert_quantized_attention;
kni_convert_function kni_convert_grouped_query;

/* ---- attention */

/* Which scores a node shows: those of the products, behind the softcap, with mask and bias, or the weights. */
enum { KNI_SCORES_PRODUCTS, KNI_SCORES_CAPPED, KNI_SCORES_MASKED, KNI_SCORES_WEIGHTS };

typedef struct kni_attend {
    kni_datum q, k, v;
    kni_datum mask; /* bool, broadcasts to the scores [batch, heads, queries, keys]; may be absent */
    kni_datum bias; /* added; likewise */
    kni_datum
        sink;     /* [1, heads, 1, 1]: a score that every query has beside those of the keys; may be absent */
    double scale; /* NaN: 1 / sqrt(size) */
    double softcap;     /* 0: none */
    bool causal;        /* query i sees keys 0 .. i */
    kn_dtype precision; /* of the softmax; KN_DTYPE_NONE: f32 for halves */
    int shown;          /* KNI_SCORES_, where `scores` is asked for */
    kni_datum *scores;
    /* May change scores [batch, heads, queries, keys] before the softmax and weights behind it. */
    const kni_onnx_graph *score_graph, *weight_graph;
} kni_attend;
/* [batch, heads, queries, value size] in the dtype of q. */
kni_datum kni_attention_of(kni_conversion *c, const kni_attend *a);

/* Which keys queries see: [queries, keys] or [batch, 1, queries, keys] in bool; absent where all see all. Query i stands at i + offset.
   offset: [] or [batch, 1, 1, 1], i64; absent: 0. lengths: keys of each row of the batch, [batch, 1, 1, 1], i64; may be absent. left and
   right: how far keys may be from the query's place, -1: as far as they like. */
typedef struct kni_view_of_keys {
    kni_extent queries, keys;
    kni_datum offset, lengths;
    bool causal;
    int64_t left, right;
} kni_view_of_keys;
kni_datum kni_keys_seen(kni_conversion *c, const kni_view_of_keys *v);

/* [batch, length, heads * size] as [batch, heads, length, size], and back. */
kni_datum kni_split_heads(kni_conversion *c, kni_datum x, int64_t heads);
kni_datum kni_join_heads(kni_conversion *c, kni_datum x);
/* past and x along the axis of lengths, x where there is no past. */
kni_datum kni_after_past(kni_conversion *c, kni_datum past, kni_datum x);
/* cache with update written along `axis`, from place start[b] on in row b of the batch; start [batch], i64. circular: places behind the
   end go on at the beginning. */
kni_datum kni_written_at(kni_conversion *c, kni_datum cache, kni_datum update, kni_datum start, int32_t axis,
                         bool circular);

/* ---- turning of pairs: x [batch, heads, length, size]; cosines and sines [batch, length, half] or [length, half]. What lies behind 2
   half elements stays. */
kni_datum kni_rotated(kni_conversion *c, kni_datum x, kni_datum cosines, kni_datum sines, bool interleaved);
/* Rows of a table at positions [batch, length]. */
kni_datum kni_table_at(kni_conversion *c, kni_datum table, kni_datum positions);

#endif
