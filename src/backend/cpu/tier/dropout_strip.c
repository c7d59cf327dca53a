/* The dropout kernels of this tier: random words, and the choice they make. */
#include "backend/cpu/dropout_kernels.h"
#include "backend/cpu/tier/norm_loops.h"
#include "core/math/philox.h"

void KNI_TIER_FN(kni_dropout_words)(uint32_t *words, uint64_t key, uint64_t counter, int64_t blocks)
{
    EACH_ALONE
    for (int64_t i = 0; i < blocks; i++) {
        uint32_t four[4];
        kni_philox(key, counter + (uint64_t)i, four);
        for (int w = 0; w < 4; w++) words[4 * i + w] = four[w];
    }
}

void KNI_TIER_FN(kni_dropout_f32)(float *y, const float *x, const uint32_t *words, int64_t limit,
                                  const double *numbers, int64_t n)
{
    const float scale = (float)numbers[0], shift = (float)numbers[1], dropped = (float)numbers[2];
    if (limit > UINT32_MAX) {
        for (int64_t i = 0; i < n; i++) y[i] = dropped;
        return;
    }
    const uint32_t least = (uint32_t)limit;
    EACH_ALONE
    for (int64_t i = 0; i < n; i++) y[i] = words[i] >= least ? x[i] * scale + shift : dropped;
}

void KNI_TIER_FN(kni_dropout_f64)(double *y, const double *x, const uint32_t *words, int64_t limit,
                                  const double *numbers, int64_t n)
{
    const double scale = numbers[0], shift = numbers[1], dropped = numbers[2];
    EACH_ALONE
    for (int64_t i = 0; i < n; i++) y[i] = (int64_t)words[i] >= limit ? x[i] * scale + shift : dropped;
}
