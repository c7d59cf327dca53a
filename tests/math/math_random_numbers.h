/* Uniform and normal numbers from the words of the generator, as the CPU made them before their rows had bodies: a second
   opinion on random_uniform and random_normal. */
#ifndef MATH_RANDOM_NUMBERS_H
#define MATH_RANDOM_NUMBERS_H

#include "core/math/math.h"
#include "core/math/philox.h"

/* In [0, 1) from the upper 24 bits. */
static inline float kni_uniform_f32(uint32_t bits) { return (float)(int32_t)(bits >> 8) * 0x1p-24f; }

/* In [0, 1) from the upper 53 bits of hi:lo; by halves, since few targets convert 64-bit integers quickly. */
static inline double kni_uniform_f64(uint32_t hi, uint32_t lo)
{
    double upper = (double)(int32_t)(hi >> 1) * 0x1p-31;
    uint32_t rest = (hi & 1u) << 21 | lo >> 11;
    return upper + (double)(int32_t)rest * 0x1p-53;
}

/* sqrt(-2 log u1) cos(2 pi u2) with u1 in (0, 1] (Box and Muller): standard normal, at most 5.8. */
static inline float kni_normal_f32(uint32_t u1_bits, uint32_t u2_bits)
{
    float u1 = (float)(int32_t)((u1_bits >> 8) + 1u) * 0x1p-24f;
    return kni_sqrt_f32(-2.0f * kni_log_f32(u1)) * kni_cos_turn_f32(kni_uniform_f32(u2_bits));
}

/* The same from two pairs of words, at most 8.6. */
static inline double kni_normal_f64(uint32_t u1_hi, uint32_t u1_lo, uint32_t u2_hi, uint32_t u2_lo)
{
    double u1 = kni_uniform_f64(u1_hi, u1_lo) + 0x1p-53;
    return kni_sqrt_f64(-2.0 * kni_log_f64(u1)) * kni_cos_turn_f64(kni_uniform_f64(u2_hi, u2_lo));
}

#endif
