/* Attention of a device: by a library, by kernels of the driver's own, by the tiled kernels of attention_kernel.c, or lowered. What the files that make it know of
   each other. */
#ifndef KNI_ATTENTION_DEVICE_H
#define KNI_ATTENTION_DEVICE_H

#include "backend/gpu/product.h"
#include "ops/attention.h"

/* How attention is made: as what it is decides, or one way wherever it can make it. */
enum {
    KNI_ATTENTION_BY_ANY,
    KNI_ATTENTION_BY_LOWERING,
    KNI_ATTENTION_BY_TILES,
    KNI_ATTENTION_BY_LIBRARY,
    KNI_ATTENTION_BY_OWN
};
/* What KN_ATTENTION says; NULL: nothing. */
uint8_t kni_gpu_attention_way(const char *text);

/* Operands of attention_grad; attention has all before DY. */
enum {
    KNI_ATTENTION_Q,
    KNI_ATTENTION_K,
    KNI_ATTENTION_V,
    KNI_ATTENTION_DY,
    KNI_ATTENTION_MASK,
    KNI_ATTENTION_BIAS,
    KNI_ATTENTION_INPUTS,
    KNI_ATTENTION_OUT = 6 /* of the record attention_grad: the result of the forward pass */
};

/* Operands in memory, for either way. */
typedef struct kni_gpu_attention {
    const kn_record *record;
    bool gradient, masked, biased, wants_bias;
    kni_gpu_block *made[KNI_ATTENTION_INPUTS];   /* copies, given back at the end */
    kni_gpu_block *blocks[KNI_ATTENTION_INPUTS]; /* NULL: absent */
    kni_place mask;                              /* the bias is p's */
    int64_t mask_steps[4];
    kni_gpu_block *again[2];   /* a result and numbers of rows that were made once more */
    kni_gpu_block *out, *rows; /* the forward pass's */
    kni_gpu_block *draws;      /* the key of dropout, for the driver's own kernels */
    const kni_attention_attributes *attributes;
    kni_attention p;
} kni_gpu_attention;

/* NULL where kernels of the driver's own may take it, else why not. */
const char *kni_gpu_attention_unowned(const kni_gpu *g, const kni_gpu_attention *a);
/* By them, as below; KN_ERROR_UNSUPPORTED without a text: they do not take it as it lies. */
kn_status kni_gpu_attend_own(kni_gpu *g, kni_gpu_attention *a, kni_gpu_block *out, int64_t out_offset,
                             kni_gpu_block *rows);
kn_status kni_gpu_attend_own_grad(kni_gpu *g, kni_gpu_attention *a);

/* NULL where the tiled kernels take it, else why not. */
const char *kni_gpu_attention_untiled(const kni_gpu *g, const kni_gpu_attention *a);
/* The forward pass into `out` and, unless NULL, `rows`; the gradients into the record's results. */
kn_status kni_gpu_attend_tiled(kni_gpu *g, const kni_gpu_attention *a, kni_gpu_block *out, int64_t out_offset,
                               kni_gpu_block *rows);
kn_status kni_gpu_attend_tiled_grad(kni_gpu *g, const kni_gpu_attention *a);
/* Whether the gradient of the bias is that by the biased scores, [batch, heads, queries, keys], or where *sums that in f32 summed over
   batch, heads or both, which the second function does. */
bool kni_gpu_attention_shows(const kni_gpu_attention *a, bool *sums);
kn_status kni_gpu_attention_sum_slopes(kni_gpu *g, const kni_gpu_attention *a, kni_gpu_block *slopes);

#endif
