/* What a tier exports to the dropout entry. Internal to dropout_run.c and tier/dropout_*. */
#ifndef KNI_BACKEND_CPU_DROPOUT_KERNELS_H
#define KNI_BACKEND_CPU_DROPOUT_KERNELS_H

#include "backend/cpu/tier.h"
#include <stdint.h>

/* The random words of blocks counter .. counter + blocks - 1, four for each. */
KNI_TIER_DECLARE(void, kni_dropout_words, (uint32_t * words, uint64_t key, uint64_t counter, int64_t blocks));
/* y = x scale + shift where words[i] >= limit, else dropped; numbers are scale, shift, dropped. */
KNI_TIER_DECLARE(void, kni_dropout_f32,
                 (float *y, const float *x, const uint32_t *words, int64_t limit, const double *numbers,
                  int64_t n));
KNI_TIER_DECLARE(void, kni_dropout_f64,
                 (double *y, const double *x, const uint32_t *words, int64_t limit, const double *numbers,
                  int64_t n));

#endif
