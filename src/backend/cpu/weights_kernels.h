/* What a tier exports for products of reals with quantized weights. */
#ifndef KNI_BACKEND_CPU_WEIGHTS_KERNELS_H
#define KNI_BACKEND_CPU_WEIGHTS_KERNELS_H

#include "backend/cpu/tier.h"
#include <stdbool.h>
#include <stdint.h>

/* A row of k quantized weights: weight i is (w[i] - zeros[b zero_step]) scales[b scale_step] with b = i / block. */
typedef struct kni_weights_row {
    const uint8_t *w;
    int64_t k, block;
    bool is_signed;
    const float *scales, *zeros;
    int64_t scale_step, zero_step;
} kni_weights_row;

enum { KNI_WEIGHTS_ROWS = 8 };

typedef struct kni_weights_kernels {
    /* sums[i] = sum over k of x[i x_row + k] times weight k, for up to KNI_WEIGHTS_ROWS rows of x. */
    void (*multiply)(float *sums, const float *x, int64_t x_row, int rows, const kni_weights_row *row);
    void (*to_reals)(float *y, const kni_weights_row *row);
} kni_weights_kernels;

KNI_TIER_DECLARE(extern const kni_weights_kernels, kni_weights_f32, );

#endif
