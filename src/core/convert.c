/* Conversion of elements between all dtypes, one strided loop per pair. Microcontrollers and
   compact builds use convert_compact.c instead. */
#include "core/dtype.h"
#include "core/math/half.h"
#include "core/saturate.h"
#include <string.h>

#if !defined(KN_FREESTANDING) && !defined(KN_COMPACT)

static inline int32_t f64_to_i32(double v) { return (int32_t)kni_f64_to_i64(v); }

/* Each storage type: its C type, how to load it as a wide value, how to store one. */
#define LOAD_PLAIN(x) (x)
#define FROM_F16(x) kni_f16_to_f32(x)
#define FROM_BF16(x) kni_bf16_to_f32(x)

#define FLOAT_SOURCES(M, T)                                                                                  \
    M(T, KN_F64, double, LOAD_PLAIN)                                                                         \
    M(T, KN_F32, float, LOAD_PLAIN)                                                                          \
    M(T, KN_F16, uint16_t, FROM_F16)                                                                         \
    M(T, KN_BF16, uint16_t, FROM_BF16)
#define INTEGER_SOURCES(M, T)                                                                                \
    M(T, KN_I64, int64_t, LOAD_PLAIN)                                                                        \
    M(T, KN_I32, int32_t, LOAD_PLAIN)                                                                        \
    M(T, KN_I16, int16_t, LOAD_PLAIN)                                                                        \
    M(T, KN_I8, int8_t, LOAD_PLAIN)                                                                          \
    M(T, KN_U64, uint64_t, LOAD_PLAIN)                                                                       \
    M(T, KN_U32, uint32_t, LOAD_PLAIN)                                                                       \
    M(T, KN_U16, uint16_t, LOAD_PLAIN)                                                                       \
    M(T, KN_U8, uint8_t, LOAD_PLAIN)                                                                         \
    M(T, KN_BOOL, uint8_t, LOAD_PLAIN)

#define LOOP(to_type, from_type, expression)                                                                 \
    {                                                                                                        \
        to_type *y = to;                                                                                     \
        const from_type *x = from;                                                                           \
        if (ys == 1 && xs == 1)                                                                              \
            for (int64_t i = 0; i < n; i++) y[i] = (to_type)(expression(x[i]));                              \
        else                                                                                                 \
            for (int64_t i = 0; i < n; i++) y[i * ys] = (to_type)(expression(x[i * xs]));                    \
        break;                                                                                               \
    }

#define PARAMETERS void *to, int64_t ys, const void *from, int from_dtype, int64_t xs, int64_t n

/* A float target takes every source as it is. */
#define CASE_PLAIN(T, dtype, from_type, load)                                                                \
    case dtype:                                                                                              \
        LOOP(T, from_type, load)
#define DEFINE_TO_FLOAT(name, T)                                                                             \
    static void name(PARAMETERS)                                                                             \
    {                                                                                                        \
        switch (from_dtype) {                                                                                \
            FLOAT_SOURCES(CASE_PLAIN, T) INTEGER_SOURCES(CASE_PLAIN, T) default : break;                     \
        }                                                                                                    \
    }
DEFINE_TO_FLOAT(to_f64, double)
DEFINE_TO_FLOAT(to_f32, float)

/* A half target rounds once, from double or from an integer's double. */
#define F16_OF(x) kni_f64_to_f16((double)(x))
#define BF16_OF(x) kni_f64_to_bf16((double)(x))
#define F16_OF_F32(x) kni_f32_to_f16(x)
#define BF16_OF_F32(x) kni_f32_to_bf16(x)
#define F16_OF_BF16(x) kni_f32_to_f16(kni_bf16_to_f32(x))
#define BF16_OF_F16(x) kni_f32_to_bf16(kni_f16_to_f32(x))
#define CASE_F16(T, dtype, from_type, load)                                                                  \
    case dtype:                                                                                              \
        LOOP(T, from_type, F16_OF)
#define CASE_BF16(T, dtype, from_type, load)                                                                 \
    case dtype:                                                                                              \
        LOOP(T, from_type, BF16_OF)
static void to_f16(PARAMETERS)
{
    switch (from_dtype) {
    case KN_F64:
        LOOP(uint16_t, double, F16_OF)
    case KN_F32:
        LOOP(uint16_t, float, F16_OF_F32)
    case KN_F16:
        LOOP(uint16_t, uint16_t, LOAD_PLAIN)
    case KN_BF16:
        LOOP(uint16_t, uint16_t, F16_OF_BF16)
        INTEGER_SOURCES(CASE_F16, uint16_t)
    default:
        break;
    }
}
static void to_bf16(PARAMETERS)
{
    switch (from_dtype) {
    case KN_F64:
        LOOP(uint16_t, double, BF16_OF)
    case KN_F32:
        LOOP(uint16_t, float, BF16_OF_F32)
    case KN_F16:
        LOOP(uint16_t, uint16_t, BF16_OF_F16)
    case KN_BF16:
        LOOP(uint16_t, uint16_t, LOAD_PLAIN)
        INTEGER_SOURCES(CASE_BF16, uint16_t)
    default:
        break;
    }
}

/* Integer targets wrap integers and saturate floats to the 64-bit range before wrapping. */
#define I64_OF(x) kni_f64_to_i64((double)(x))
#define I64_OF_F16(x) kni_f64_to_i64((double)kni_f16_to_f32(x))
#define I64_OF_BF16(x) kni_f64_to_i64((double)kni_bf16_to_f32(x))
#define U64_OF(x) kni_f64_to_u64((double)(x))
#define U64_OF_F16(x) kni_f64_to_u64((double)kni_f16_to_f32(x))
#define U64_OF_BF16(x) kni_f64_to_u64((double)kni_bf16_to_f32(x))
#define I32_OF(x) f64_to_i32((double)(x))
#define I32_OF_F16(x) f64_to_i32((double)kni_f16_to_f32(x))
#define I32_OF_BF16(x) f64_to_i32((double)kni_bf16_to_f32(x))
#define TRUTH(x) ((x) != 0)
#define TRUTH_F16(x) (((x)&0x7FFF) != 0)
#define DEFINE_TO_INTEGER(name, T, CLIP)                                                                     \
    static void name(PARAMETERS)                                                                             \
    {                                                                                                        \
        switch (from_dtype) {                                                                                \
        case KN_F64:                                                                                         \
            LOOP(T, double, CLIP)                                                                            \
        case KN_F32:                                                                                         \
            LOOP(T, float, CLIP)                                                                             \
        case KN_F16:                                                                                         \
            LOOP(T, uint16_t, CLIP##_F16)                                                                    \
        case KN_BF16:                                                                                        \
            LOOP(T, uint16_t, CLIP##_BF16)                                                                   \
            INTEGER_SOURCES(CASE_PLAIN, T)                                                                   \
        default:                                                                                             \
            break;                                                                                           \
        }                                                                                                    \
    }
DEFINE_TO_INTEGER(to_i64, int64_t, I64_OF)
DEFINE_TO_INTEGER(to_i32, int32_t, I32_OF)
DEFINE_TO_INTEGER(to_i16, int16_t, I32_OF)
DEFINE_TO_INTEGER(to_i8, int8_t, I32_OF)
DEFINE_TO_INTEGER(to_u64, uint64_t, U64_OF)
DEFINE_TO_INTEGER(to_u32, uint32_t, I64_OF)
DEFINE_TO_INTEGER(to_u16, uint16_t, I32_OF)
DEFINE_TO_INTEGER(to_u8, uint8_t, I32_OF)

#define CASE_TRUTH(T, dtype, from_type, load)                                                                \
    case dtype:                                                                                              \
        LOOP(T, from_type, TRUTH)
static void to_bool(PARAMETERS)
{
    switch (from_dtype) {
    case KN_F64:
        LOOP(uint8_t, double, TRUTH)
    case KN_F32:
        LOOP(uint8_t, float, TRUTH)
    case KN_F16:
        LOOP(uint8_t, uint16_t, TRUTH_F16)
    case KN_BF16:
        LOOP(uint8_t, uint16_t, TRUTH_F16)
        INTEGER_SOURCES(CASE_TRUTH, uint8_t)
    default:
        break;
    }
}

typedef void (*convert_fn)(PARAMETERS);
static const convert_fn by_target[KN_DTYPE_COUNT] = {
    [KN_F64] = to_f64, [KN_F32] = to_f32, [KN_F16] = to_f16,   [KN_BF16] = to_bf16, [KN_I64] = to_i64,
    [KN_I32] = to_i32, [KN_I16] = to_i16, [KN_I8] = to_i8,     [KN_U64] = to_u64,   [KN_U32] = to_u32,
    [KN_U16] = to_u16, [KN_U8] = to_u8,   [KN_BOOL] = to_bool,
};

void kni_convert(void *to, int to_dtype, int64_t to_stride, const void *from, int from_dtype,
                 int64_t from_stride, int64_t n)
{
    if (to_dtype == from_dtype && to_stride == 1 && from_stride == 1) {
        if (n > 0) memcpy(to, from, (size_t)n * (kni_dtypes[to_dtype].bits / 8u));
        return;
    }
    if (by_target[to_dtype]) by_target[to_dtype](to, to_stride, from, from_dtype, from_stride, n);
}

#endif
