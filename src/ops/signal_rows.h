/* The attributes of the fft row, the plan of a length, and the scale of a norm: shared by the row, its gradient and the
   CPU's entry. */
#ifndef KNI_SIGNAL_ROWS_H
#define KNI_SIGNAL_ROWS_H

#include "ops/infer.h"

typedef struct kni_fft_attributes {
    int64_t axis, n, inverse, norm;
} kni_fft_attributes;

enum { KNI_FFT_FACTORS = 64, KNI_FFT_LARGEST_FACTOR = 31 };

/* How a transform of n runs: over the factors of length, which is n, or a power of two of at least 2 n - 1 for an n
   with a large prime factor. */
typedef struct kni_fft_plan {
    int64_t n, length;
    int64_t factors[KNI_FFT_FACTORS]; /* 0 after the last */
} kni_fft_plan;
kni_fft_plan kni_fft_plan_of(int64_t n);
double kni_fft_scale(const kni_fft_attributes *a, int64_t n);

#endif
