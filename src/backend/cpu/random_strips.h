/* Strips of random words and numbers, one version for each ISA tier; all give the same bits. */
#ifndef KNI_RANDOM_STRIPS_H
#define KNI_RANDOM_STRIPS_H

#include "backend/cpu/tier.h"
#include <stdint.h>

typedef struct kni_random_strips {
    /* words[4 b + w] = word w of the Philox block at counter + b. */
    void (*words)(uint64_t key, uint64_t counter, int64_t blocks, uint32_t *words);
    /* y[i] in [0, 1) from one word. */
    void (*uniform_f32)(int64_t n, const uint32_t *words, float *y);
    /* y[i] = mean + deviation z from two words. */
    void (*normal_f32)(int64_t n, const uint32_t *words, float mean, float deviation, float *y);
} kni_random_strips;

KNI_TIER_DECLARE(extern const kni_random_strips, kni_random_strips_table, );

#endif
