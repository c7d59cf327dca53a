/* Conversion of elements between all dtypes, one strided loop per pair. Microcontrollers and
   compact builds use convert_compact.c instead. */
#include "core/cast.h"
#include "core/dtype.h"
#include <string.h>

#if !defined(KN_FREESTANDING) && !defined(KN_COMPACT)

#define PARAMETERS void *to, int64_t ys, const void *from, int from_dtype, int64_t xs, int64_t n
#define CASE(dtype, cast, to_type, from_type)                                                                \
    case dtype: {                                                                                            \
        to_type *y = to;                                                                                     \
        const from_type *x = from;                                                                           \
        if (ys == 1 && xs == 1)                                                                              \
            for (int64_t i = 0; i < n; i++) y[i] = kni_cast_##cast(x[i]);                                    \
        else                                                                                                 \
            for (int64_t i = 0; i < n; i++) y[i * ys] = kni_cast_##cast(x[i * xs]);                          \
        break;                                                                                               \
    }
#define DEFINE_TO(name, T)                                                                                   \
    static void to_##name(PARAMETERS)                                                                        \
    {                                                                                                        \
        switch (from_dtype) {                                                                                \
            CASE(KN_F64, name##_f64, T, double)                                                              \
            CASE(KN_F32, name##_f32, T, float)                                                               \
            CASE(KN_F16, name##_f16, T, uint16_t)                                                            \
            CASE(KN_BF16, name##_bf16, T, uint16_t)                                                          \
            CASE(KN_I64, name##_i64, T, int64_t)                                                             \
            CASE(KN_I32, name##_i32, T, int32_t)                                                             \
            CASE(KN_I16, name##_i16, T, int16_t)                                                             \
            CASE(KN_I8, name##_i8, T, int8_t)                                                                \
            CASE(KN_U64, name##_u64, T, uint64_t)                                                            \
            CASE(KN_U32, name##_u32, T, uint32_t)                                                            \
            CASE(KN_U16, name##_u16, T, uint16_t)                                                            \
            CASE(KN_U8, name##_u8, T, uint8_t)                                                               \
            CASE(KN_BOOL, name##_bool, T, uint8_t)                                                           \
        default:                                                                                             \
            break;                                                                                           \
        }                                                                                                    \
    }
DEFINE_TO(f64, double)
DEFINE_TO(f32, float)
DEFINE_TO(f16, uint16_t)
DEFINE_TO(bf16, uint16_t)
DEFINE_TO(i64, int64_t)
DEFINE_TO(i32, int32_t)
DEFINE_TO(i16, int16_t)
DEFINE_TO(i8, int8_t)
DEFINE_TO(u64, uint64_t)
DEFINE_TO(u32, uint32_t)
DEFINE_TO(u16, uint16_t)
DEFINE_TO(u8, uint8_t)
DEFINE_TO(bool, uint8_t)

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
