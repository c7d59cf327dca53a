/* What a tier exports to the norm entries, for f32 or f64 elements; results may be written over operands. Numbers
   of one row or channel travel as double and are rounded to the element type. Internal to norm_*.c and
   tier/norm_*. */
#ifndef KNI_BACKEND_CPU_NORM_KERNELS_H
#define KNI_BACKEND_CPU_NORM_KERNELS_H

#include "backend/cpu/tier.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct kni_norm_kernels {
    /* One row of a layer norm, or of an RMS norm where centre is false; weight and bias may be NULL. */
    void (*row)(void *y, const void *x, const void *weight, const void *bias, int64_t n, bool centre,
                double eps);
    void (*grad_row)(void *dx, const void *dy, const void *x, const void *weight, int64_t n, bool centre,
                     double eps);
    /* dweight += dy h, dbias += dy with h the normalised x. */
    void (*affine_row)(void *dweight, void *dbias, const void *dy, const void *x, int64_t n, bool centre,
                       double eps);
    void (*add)(void *sum, const void *x, int64_t n);

    /* A run of one channel of a batch norm; its sums are double. */
    double (*sum)(const void *x, int64_t n);
    double (*squares)(const void *x, double mean, int64_t n);             /* sum (x - mean)^2 */
    double (*dot)(const void *dy, const void *x, double mean, int64_t n); /* sum dy (x - mean) */
    void (*scale)(void *y, const void *x, double mean, double scale, double shift, int64_t n);
    /* gain (dy - a - (x - mean) b) */
    void (*grad)(void *dx, const void *dy, const void *x, double mean, double gain, double a, double b,
                 int64_t n);

    /* One row of [batch, channels]: the same with an element a channel. */
    void (*column_sums)(double *sum, const void *x, int64_t n);
    void (*column_squares)(double *sum, const void *x, const double *mean, int64_t n);
    void (*column_dots)(double *sum, const void *dy, const void *x, const double *mean, int64_t n);
    void (*column_scale)(void *y, const void *x, const void *mean, const void *scale, const void *shift,
                         int64_t n);
    void (*column_grad)(void *dx, const void *dy, const void *x, const void *const *numbers, int64_t n);
} kni_norm_kernels;

KNI_TIER_DECLARE(extern const kni_norm_kernels, kni_norm_f32, );
KNI_TIER_DECLARE(extern const kni_norm_kernels, kni_norm_f64, );

const kni_norm_kernels *kni_norm_kernels_for(int dtype);

#endif
