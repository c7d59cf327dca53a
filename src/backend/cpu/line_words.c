/* Strips of what is no row: truths, and the words that have none. */
#include "backend/cpu/isa.h"
#include "backend/cpu/line_program.h"
#include "ops/scalar_words.h"

#define TIERS(...)                                                                                           \
    {                                                                                                        \
        [KNI_ISA_SCALAR] = __VA_ARGS__, [KNI_ISA_V2] = __VA_ARGS__, [KNI_ISA_V3] = __VA_ARGS__,              \
        [KNI_ISA_V4] = __VA_ARGS__, [KNI_ISA_NEON] = __VA_ARGS__, [KNI_ISA_SIMD128] = __VA_ARGS__            \
    }
#define EACH_TYPE(fn)                                                                                        \
    {                                                                                                        \
        fn, fn, fn, fn, fn                                                                                   \
    }
#define FLOAT_TYPES(name)                                                                                    \
    {                                                                                                        \
        [KNI_COMPUTE_F32] = name##_f32, [KNI_COMPUTE_F64] = name##_f64                                       \
    }

#define TRUTHS(name, expression)                                                                             \
    static void name##_strip(int64_t n, void *y, const void *const *in, const double *params)                \
    {                                                                                                        \
        const uint8_t *a = in[0], *b = in[1];                                                                \
        uint8_t *to = y;                                                                                     \
        (void)params, (void)b;                                                                               \
        for (int64_t i = 0; i < n; i++) to[i] = (uint8_t)(expression);                                       \
    }                                                                                                        \
    static const kni_strip_fn name##_strips[KNI_ISA_COUNT][KNI_COMPUTE_COUNT] =                              \
        TIERS(EACH_TYPE(name##_strip));                                                                      \
    const kni_native kni_line_##name = {.strips = name##_strips};
TRUTHS(and, a[i] & b[i])
TRUTHS(or, a[i] | b[i])
TRUTHS(xor, a[i] ^ b[i])
TRUTHS(not, !a[i])

#define WORD_OF(name, type, suffix, ...)                                                                     \
    static void name##_##suffix(int64_t n, void *y, const void *const *in, const double *params)             \
    {                                                                                                        \
        const type *a = in[0], *b = in[1];                                                                   \
        type *to = y;                                                                                        \
        (void)params, (void)b;                                                                               \
        for (int64_t i = 0; i < n; i++) to[i] = kni_word_##name##_##suffix(__VA_ARGS__);                     \
    }
#define PLAIN_WORD(name, ...)                                                                                \
    WORD_OF(name, float, f32, __VA_ARGS__)                                                                   \
    WORD_OF(name, double, f64, __VA_ARGS__)                                                                  \
    static const kni_strip_fn name##_strips[KNI_ISA_COUNT][KNI_COMPUTE_COUNT] = TIERS(FLOAT_TYPES(name));    \
    const kni_native kni_line_##name = {.strips = name##_strips};
PLAIN_WORD(normal_cdf, a[i])
PLAIN_WORD(polygamma, a[i], b[i])
PLAIN_WORD(stop, a[i])
