/* The counter-based generator Philox 4x32-10, and the cosine that normal numbers are made with. */
#ifndef KNI_MATH_PHILOX_H
#define KNI_MATH_PHILOX_H

#include "core/math/exp_log.h"
#include "core/math/float_exp_log.h"
#include "core/math/gamma.h"
#include "core/math/roots.h"

/* Ten rounds on a 128-bit counter; out and counter are word 0 (lowest) first. */
KNI_INLINE void kni_philox_words(uint32_t key0, uint32_t key1, const uint32_t counter[4], uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    for (int i = 0; i < 10; i++) {
        uint64_t a = (uint64_t)c0 * 0xd2511f53u;
        uint64_t b = (uint64_t)c2 * 0xcd9e8d57u;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ key0;
        c1 = (uint32_t)b;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ key1;
        c3 = (uint32_t)a;
        key0 += 0x9e3779b9u;
        key1 += 0xbb67ae85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

/* The counter fills the low 64 bits of the generator's 128. */
KNI_INLINE void kni_philox(uint64_t key, uint64_t counter, uint32_t out[4])
{
    const uint32_t words[4] = {(uint32_t)counter, (uint32_t)(counter >> 32), 0, 0};
    kni_philox_words((uint32_t)key, (uint32_t)(key >> 32), words, out);
}

/* One of the block's four words, chosen without an array, which a GPU would keep in memory. */
KNI_INLINE int64_t kni_philox_word(int64_t key, int64_t counter, int64_t word)
{
    uint32_t four[4];
    kni_philox((uint64_t)key, (uint64_t)counter, four);
    uint32_t even = (word & 2) != 0 ? four[2] : four[0], odd = (word & 2) != 0 ? four[3] : four[1];
    return (int64_t)((word & 1) != 0 ? odd : even);
}

/* cos(2 pi u) for u in [0, 1]: sin(2 pi (|u - 1/2| - 1/4)), whose argument is formed without error. */
KNI_INLINE float kni_cos_turn_f32(float u)
{
    float b = kni_abs_f32(u - 0.5f) - 0.25f;
    float z = b * b;
    float p = -14.3802547f;
    p = kni_horner4_f32(p, z, 42.0076332f, -76.7041626f, 81.6052246f, -41.3417015f);
    p = p * z + 0.00193530718f;
    return b * 6.28125f + b * p;
}

KNI_INLINE double kni_cos_turn_f64(double u) { return kni_sin_turn_f64(kni_abs_f64(u - 0.5) - 0.25); }

#endif
