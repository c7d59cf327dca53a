/* The words of bodies as C functions kni_word_<name>_<type>. The generated CPU kernels and the
   reference interpreter both call these, so a word has one meaning. */
#ifndef KNI_SCALAR_WORDS_H
#define KNI_SCALAR_WORDS_H

#include "core/math/bessel.h"
#include "core/math/incomplete_gamma.h"
#include "core/math/math.h"
#include "core/math/philox.h"
#include "ops/scalar_normal.h"
#include "ops/scalar_polygamma.h"
#include <stdint.h>

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtype-limits"
#pragma GCC diagnostic ignored "-Wunused-function"
#endif

#define INFINITE (__builtin_inff())
/* The remainder is taken first, so that the quotient is exact before it is rounded down. */
#define DEFINE_FLOOR_DIVIDE(suffix, type)                                                                    \
    static inline type kni_floor_divide_##suffix(type a, type b)                                             \
    {                                                                                                        \
        type r = kni_fmod_##suffix(a, b), q = (a - r) / b;                                                   \
        q = r != 0 && (b < 0) != (r < 0) ? q - 1 : q;                                                        \
        q = q != 0 ? kni_round_even_##suffix(q) : kni_copysign_##suffix(0, a / b);                           \
        return b == 0 ? a / b : q;                                                                           \
    }
DEFINE_FLOOR_DIVIDE(f32, float)
DEFINE_FLOOR_DIVIDE(f64, double)
#undef DEFINE_FLOOR_DIVIDE

/* NaN when either is. Two selections in a row, which compilers turn into blends even where they are nested. */
#define DEFINE_EXTREMA(suffix, type)                                                                         \
    static inline type kni_larger_##suffix(type a, type b)                                                   \
    {                                                                                                        \
        type m = a > b ? a : b;                                                                              \
        return a != a ? a : m;                                                                               \
    }                                                                                                        \
    static inline type kni_smaller_##suffix(type a, type b)                                                  \
    {                                                                                                        \
        type m = a < b ? a : b;                                                                              \
        return a != a ? a : m;                                                                               \
    }
DEFINE_EXTREMA(f32, float)
DEFINE_EXTREMA(f64, double)
#undef DEFINE_EXTREMA

/* Integers wrap in every language these texts are printed in, so sums and products are taken in U, the unsigned T. */
#define INT_ADD(a, b) ((U)(a) + (U)(b))
#define INT_SUB(a, b) ((U)(a) - (U)(b))
#define INT_MUL(a, b) ((U)(a) * (U)(b))
#define INT_NEG(a) ((T)(0 - (U)(a)))
/* -1 is apart because the lowest number divided by it overflows. */
#define INT_TRUNC_DIV(a, b) ((b) == 0 ? 0 : (b) + 1 == 0 && (T)-1 < 0 ? INT_NEG(a) : (a) / (b))
#define INT_TRUNC_REM(a, b) ((b) == 0 || ((b) + 1 == 0 && (T)-1 < 0) ? 0 : (a) % (b))
#define INT_FLOOR_DIV(a, b)                                                                                  \
    (INT_TRUNC_DIV(a, b) - ((b) != 0 && INT_TRUNC_REM(a, b) != 0 && ((a) < 0) != ((b) < 0)))
#define INT_FLOOR_REM(a, b)                                                                                  \
    (INT_TRUNC_REM(a, b) + (INT_TRUNC_REM(a, b) != 0 && ((a) < 0) != ((b) < 0) ? (b) : 0))
#define INT_ABS(a) ((a) < 0 ? INT_NEG(a) : (a))
#define INT_SHL(a, b) ((b) < 0 || (b) >= (T)(8 * sizeof(T)) ? 0 : (T)((uint64_t)(a) << (b)))
#define INT_SHR(a, b) ((b) < 0 || (b) >= (T)(8 * sizeof(T)) ? ((a) < 0 ? (T)-1 : 0) : (T)((a) >> (b)))

#define DEFINE_POWER(suffix, type, wrapping)                                                                 \
    static inline type kni_integer_power_##suffix(type a, type b)                                            \
    {                                                                                                        \
        if (b < 0) return a == 1 ? 1 : a == (type)-1 ? (b & 1 ? a : 1) : 0;                                  \
        wrapping r = 1, square = (wrapping)a;                                                                \
        for (; b > 0; b >>= 1, square *= square)                                                             \
            if (b & 1) r *= square;                                                                          \
        return (type)r;                                                                                      \
    }
/* Euclid's algorithm on the magnitudes. */
#define DEFINE_DIVISOR(suffix, type, wrapping)                                                               \
    static inline type kni_common_divisor_##suffix(type a, type b)                                           \
    {                                                                                                        \
        wrapping x = a < 0 ? 0 - (wrapping)a : (wrapping)a, y = b < 0 ? 0 - (wrapping)b : (wrapping)b;       \
        while (y != 0) {                                                                                     \
            wrapping rest = x % y;                                                                           \
            x = y;                                                                                           \
            y = rest;                                                                                        \
        }                                                                                                    \
        return (type)x;                                                                                      \
    }
#define DEFINE_SELECT(suffix, type)                                                                          \
    static inline type kni_select_##suffix(int condition, type a, type b) { return condition ? a : b; }
DEFINE_SELECT(f32, float)
DEFINE_SELECT(f64, double)
DEFINE_SELECT(i32, int32_t)
DEFINE_SELECT(i64, int64_t)
DEFINE_SELECT(u32, uint32_t)
DEFINE_SELECT(u64, uint64_t)
#undef DEFINE_SELECT
DEFINE_POWER(i32, int32_t, uint32_t)
DEFINE_POWER(i64, int64_t, uint64_t)
DEFINE_POWER(u32, uint32_t, uint32_t)
DEFINE_POWER(u64, uint64_t, uint64_t)
#undef DEFINE_POWER
DEFINE_DIVISOR(i32, int32_t, uint32_t)
DEFINE_DIVISOR(i64, int64_t, uint64_t)
DEFINE_DIVISOR(u32, uint32_t, uint32_t)
DEFINE_DIVISOR(u64, uint64_t, uint64_t)
#undef DEFINE_DIVISOR

#define RESULT_VALUE T
#define RESULT_TRUTH int
#define NONE 0
#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)

#define WORD1(name, result, f, i)                                                                            \
    static inline RESULT_##result JOIN(kni_word_##name##_, S)(T a)                                           \
    {                                                                                                        \
        (void)a;                                                                                             \
        return (RESULT_##result)(PICK(f, i));                                                                \
    }
#define WORD2(name, result, f, i)                                                                            \
    static inline RESULT_##result JOIN(kni_word_##name##_, S)(T a, T b)                                      \
    {                                                                                                        \
        (void)a, (void)b;                                                                                    \
        return (RESULT_##result)(PICK(f, i));                                                                \
    }
#define PICK(f, i) f
#define M(name) JOIN(kni_##name##_, S)
#define T float
#define S f32
#include "ops/scalar_words.def"
#undef T
#undef S
#define T double
#define S f64
#include "ops/scalar_words.def"
#undef T
#undef S
#undef PICK
#define PICK(f, i) i
#define INT_POW(a, b) JOIN(kni_integer_power_, S)(a, b)
#define INT_GCD(a, b) JOIN(kni_common_divisor_, S)(a, b)
#define T int32_t
#define S i32
#define U uint32_t
#include "ops/scalar_words.def"
#undef T
#undef S
#undef U
#define T int64_t
#define S i64
#define U uint64_t
#include "ops/scalar_words.def"
#undef T
#undef S
#undef U
#define T uint32_t
#define S u32
#define U uint32_t
#include "ops/scalar_words.def"
#undef T
#undef S
#undef U
#define T uint64_t
#define S u64
#define U uint64_t
#include "ops/scalar_words.def"
#undef T
#undef S
#undef U
#undef PICK
#undef M
#undef WORD1
#undef WORD2
#undef RESULT_VALUE
#undef RESULT_TRUTH
#undef NONE
#undef JOIN
#undef JOIN2
#undef INFINITE

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
#endif
