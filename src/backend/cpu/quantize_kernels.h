/* What a tier exports for quantizing whole tensors. */
#ifndef KNI_BACKEND_CPU_QUANTIZE_KERNELS_H
#define KNI_BACKEND_CPU_QUANTIZE_KERNELS_H

#include "backend/cpu/tier.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct kni_quantize_kernels {
    /* The least and the largest of n elements and of what bounds has; false where one is not finite. */
    bool (*range)(const float *x, int64_t n, float bounds[2]);
    /* y = round(x / scale) + zero within the range of the dtype. */
    void (*to_bytes)(uint8_t *y, const float *x, int64_t n, bool is_signed, float scale, float zero);
    /* y[k] = (w[k] - zero) scale */
    void (*to_reals)(float *y, const uint8_t *w, int64_t k, bool is_signed, float zero, float scale);
    /* a += b, or a *= b */
    void (*combine)(float *a, const float *b, int64_t n, bool multiplies);
    /* y[i] = table[x[i] ^ flip], which has 256 elements; `permute` does it with what kni_cpu_has_byte_permutes asks for, or is NULL. */
    void (*look_up)(uint8_t *y, const uint8_t *x, int64_t n, uint8_t flip, const uint8_t *table);
    void (*permute)(uint8_t *y, const uint8_t *x, int64_t n, uint8_t flip, const uint8_t *table);
} kni_quantize_kernels;

KNI_TIER_DECLARE(extern const kni_quantize_kernels, kni_quantize_f32, );

#endif
