/* What a tier exports to the fft entry: whole lines, in one element type. Complex buffers hold all real parts, then
   all imaginary ones. Internal to fft_run.c and tier/fft_*. */
#ifndef KNI_BACKEND_CPU_FFT_KERNELS_H
#define KNI_BACKEND_CPU_FFT_KERNELS_H

#include "backend/cpu/tier.h"
#include "ops/signal_rows.h"

typedef struct kni_fft_line {
    kni_fft_plan plan;
    /* Stage by stage, for factor f after l: for q = 1 .. f - 1 the cosines of q j / (f l), j < l, then -sines. */
    const void *twiddles;
    void *chirp, *spectrum; /* of Bluestein's algorithm: e^(pi i j^2 / n) for j < n, and its transform */
    int64_t size, inner;    /* elements along the axis, and the step between them */
    bool inverse;
    double scale;
} kni_fft_line;

typedef struct kni_fft_kernels {
    /* Transforms one line; scratch has room for 4 * length elements. xi may be NULL. */
    void (*line)(const kni_fft_line *t, const void *xr, const void *xi, void *yr, void *yi, void *scratch);
    /* Fills the spectrum from the chirp. */
    void (*spectrum)(const kni_fft_line *t, void *scratch);
} kni_fft_kernels;

KNI_TIER_DECLARE(extern const kni_fft_kernels, kni_fft_f32, );
KNI_TIER_DECLARE(extern const kni_fft_kernels, kni_fft_f64, );

#endif
