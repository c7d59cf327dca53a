/* What a tier exports to attention: rows of scores become rows of weights. Internal to attention_*.c and
   tier/attention_*.c. */
#ifndef KNI_BACKEND_CPU_ATTENTION_KERNELS_H
#define KNI_BACKEND_CPU_ATTENTION_KERNELS_H

#include "backend/cpu/tier.h"

#include <stdint.h>

typedef struct {
    /* x[i] = tanh(x[i] / cap) */
    void (*soften)(void *x, int64_t n, double cap);
    /* x = exp(x - max) / sum, zeros where all are -inf; sums in 16 lanes and a fixed tree. */
    void (*softmax)(void *x, int64_t n);
    /* dp = p (dp - sum of p dp) */
    void (*backward)(void *dp, const void *p, int64_t n);
} kni_attention_kernels;

KNI_TIER_DECLARE(extern const kni_attention_kernels, kni_attention_f32, );
KNI_TIER_DECLARE(extern const kni_attention_kernels, kni_attention_f64, );

#endif
