/* sin, cos and tan of arrays of doubles: blocks without huge arguments go through the vectorised functions, the
   others one by one, with the same bits. y and x may be the same array. */
#ifndef KNI_MATH_TRIG_ARRAYS_H
#define KNI_MATH_TRIG_ARRAYS_H

#include <stddef.h>

#include "core/math/trig.h"

#define KNI_TRIG_BLOCK 256

/* Whether all of x[0 .. n) is within the bound; integer comparisons, so that NaN counts as beyond it. */
static inline int kni_all_bounded(const double *x, size_t n)
{
    uint64_t beyond = 0;
    for (size_t i = 0; i < n; i++) {
        beyond |= kni_bits_f64(kni_abs_f64(x[i])) > kni_bits_f64(KNI_TRIG_BOUND) ? 1u : 0u;
    }
    return beyond == 0;
}

/* The two functions are known where this is inlined, so their calls become loops without calls. */
KNI_INLINE void kni_trig_array(double *y, const double *x, size_t n, double (*bounded)(double),
                               double (*any)(double))
{
    for (size_t at = 0; at < n; at += KNI_TRIG_BLOCK) {
        size_t end = n - at < KNI_TRIG_BLOCK ? n : at + KNI_TRIG_BLOCK;
        if (kni_all_bounded(x + at, end - at)) {
            for (size_t i = at; i < end; i++) y[i] = bounded(x[i]);
        } else {
            for (size_t i = at; i < end; i++) y[i] = any(x[i]);
        }
    }
}

static inline void kni_sin_array_f64(double *y, const double *x, size_t n)
{
    kni_trig_array(y, x, n, kni_sin_bounded_f64, kni_sin_f64);
}

static inline void kni_cos_array_f64(double *y, const double *x, size_t n)
{
    kni_trig_array(y, x, n, kni_cos_bounded_f64, kni_cos_f64);
}

static inline void kni_tan_array_f64(double *y, const double *x, size_t n)
{
    kni_trig_array(y, x, n, kni_tan_bounded_f64, kni_tan_f64);
}

#endif
