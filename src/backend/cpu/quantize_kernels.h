/* What a tier exports for quantizing whole tensors and for products with quantized weights. */
#ifndef KNI_BACKEND_CPU_QUANTIZE_KERNELS_H
#define KNI_BACKEND_CPU_QUANTIZE_KERNELS_H

#include "backend/cpu/tier.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct kni_quantize_kernels {
    /* The least and the largest of n elements and of what bounds has; false where one is not finite. */
    bool (*range)(const float *x, int64_t n, float bounds[2]);
    /* y = round(x / scale) + zero within 0 .. 255, where |x / scale| is below 2^21. */
    void (*to_bytes)(uint8_t *y, const float *x, int64_t n, float scale, float zero);
    /* Sum over k of x[k] (w[k] - zero). */
    float (*dot)(const float *x, const uint8_t *w, int64_t k, bool is_signed, float zero);
    /* y[k] = (w[k] - zero) scale */
    void (*to_reals)(float *y, const uint8_t *w, int64_t k, bool is_signed, float zero, float scale);
} kni_quantize_kernels;

KNI_TIER_DECLARE(extern const kni_quantize_kernels, kni_quantize_f32, );

#endif
