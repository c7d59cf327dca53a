/* This tier's pairs of elementwise rows in f32, with the words that their own strips are made of. */
#include "backend/cpu/elementwise_strip.h"
#include "backend/cpu/strip_pairs.h"

/* The first's result from its operands. */
#define FIRST_add kni_word_add_f32(x[i], y[i])
#define FIRST_sub kni_word_sub_f32(x[i], y[i])
#define FIRST_mul kni_word_mul_f32(x[i], y[i])
#define FIRST_relu kni_word_max_f32(x[i], 0.0f)

/* The second's from that and its other operand. */
#define SECOND_add kni_word_add_f32(t, z[i])
#define SECOND_sub kni_word_sub_f32(t, z[i])
#define SECOND_mul kni_word_mul_f32(t, z[i])
#define SECOND_relu kni_word_max_f32(t, 0.0f)
#define SECOND_square kni_word_mul_f32(t, t)

/* count: of the first's operands. */
#define PAIR(first, second, count)                                                                           \
    static void first##_##second(int64_t n, void *out, const void *const *in, const double *params)          \
    {                                                                                                        \
        const float *x = in[0], *y = in[1], *z = in[count];                                                  \
        float *to = out;                                                                                     \
        (void)params, (void)y, (void)z;                                                                      \
        EACH_ALONE                                                                                           \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            float t = FIRST_##first;                                                                         \
            to[i] = SECOND_##second;                                                                         \
        }                                                                                                    \
    }
#define PAIRS(first, count)                                                                                  \
    PAIR(first, add, count)                                                                                  \
    PAIR(first, sub, count)                                                                                  \
    PAIR(first, mul, count)                                                                                  \
    PAIR(first, relu, count)                                                                                 \
    PAIR(first, square, count)

PAIRS(add, 2)
PAIRS(sub, 2)
PAIRS(mul, 2)
PAIRS(relu, 1)

#define ROW(first)                                                                                           \
    {                                                                                                        \
        first##_add, first##_sub, first##_mul, first##_relu, first##_square                                  \
    }
const kni_strip_pairs KNI_TIER_FN(kni_strip_pair_table) = {{ROW(add), ROW(sub), ROW(mul), ROW(relu)}};
