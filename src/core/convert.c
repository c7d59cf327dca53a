/* Conversion of elements between all dtypes. A loop exists for the pairs that matter; every other pair takes two or three of
   them through a strip on the stack, by steps that lose nothing, so the result is kni_cast_<to>_<from>'s. Compiling one loop
   for each of the 169 pairs took a sixth of the library's build. Microcontrollers and compact builds use convert_compact.c. */
#include "core/cast.h"
#include "core/dtype.h"
#include "core/float_env.h"
#include "core/small_types.h"
#include <string.h>

#if !defined(KN_FREESTANDING) && !defined(KN_COMPACT)

enum { STRIP = 256 };

typedef void (*convert_fn)(void *restrict to, const void *restrict from, int64_t n);

#define LOOP(to_name, T, from_name, F)                                                                       \
    static void to_name##_of_##from_name(void *restrict to, const void *restrict from, int64_t n)            \
    {                                                                                                        \
        T *y = to;                                                                                           \
        const F *x = from;                                                                                   \
        for (int64_t i = 0; i < n; i++) y[i] = kni_cast_##to_name##_##from_name(x[i]);                       \
    }
#define LOOPS_OF_NARROW(from_name, F)                                                                        \
    LOOP(f32, float, from_name, F)                                                                           \
    LOOP(i64, int64_t, from_name, F)                                                                         \
    LOOP(i32, int32_t, from_name, F)
#define LOOPS_OF_WIDE(from_name, F)                                                                          \
    LOOP(f64, double, from_name, F)                                                                          \
    LOOPS_OF_NARROW(from_name, F)
LOOP(f32, float, f64, double)
LOOP(i64, int64_t, f64, double)
LOOP(i32, int32_t, f64, double)
LOOP(f64, double, f32, float)
LOOP(i64, int64_t, f32, float)
LOOP(i32, int32_t, f32, float)
LOOPS_OF_WIDE(i64, int64_t)
LOOPS_OF_WIDE(i32, int32_t)
LOOPS_OF_WIDE(u64, uint64_t)
LOOPS_OF_WIDE(u32, uint32_t)
LOOPS_OF_NARROW(i16, int16_t)
LOOPS_OF_NARROW(i8, int8_t)
LOOPS_OF_NARROW(u16, uint16_t)
LOOPS_OF_NARROW(u8, uint8_t)
LOOP(f32, float, bool, uint8_t)
LOOP(i64, int64_t, bool, uint8_t)
LOOP(i32, int32_t, bool, uint8_t)
LOOP(f32, float, f16, uint16_t)
LOOP(f32, float, bf16, uint16_t)
LOOP(u64, uint64_t, f64, double)
LOOP(u64, uint64_t, f32, float)
LOOP(f16, uint16_t, f64, double)
LOOP(f16, uint16_t, f32, float)
LOOP(bf16, uint16_t, f64, double)
LOOP(bf16, uint16_t, f32, float)
LOOP(i16, int16_t, i32, int32_t)
LOOP(i8, int8_t, i32, int32_t)
LOOP(bool, uint8_t, f64, double)
LOOP(bool, uint8_t, f32, float)
LOOP(bool, uint8_t, i64, int64_t)
LOOP(bool, uint8_t, i32, int32_t)

/* Integers of one width share the loops that keep or cut bits. */
static const convert_fn direct[KN_DTYPE_COUNT][KN_DTYPE_COUNT] = {
    [KN_F64] = {[KN_F32] = f64_of_f32,
                [KN_I64] = f64_of_i64,
                [KN_I32] = f64_of_i32,
                [KN_U64] = f64_of_u64,
                [KN_U32] = f64_of_u32},
    [KN_F32] = {[KN_F64] = f32_of_f64,
                [KN_F16] = f32_of_f16,
                [KN_BF16] = f32_of_bf16,
                [KN_I64] = f32_of_i64,
                [KN_I32] = f32_of_i32,
                [KN_I16] = f32_of_i16,
                [KN_I8] = f32_of_i8,
                [KN_U64] = f32_of_u64,
                [KN_U32] = f32_of_u32,
                [KN_U16] = f32_of_u16,
                [KN_U8] = f32_of_u8,
                [KN_BOOL] = f32_of_bool},
    [KN_F16] = {[KN_F64] = f16_of_f64, [KN_F32] = f16_of_f32},
    [KN_BF16] = {[KN_F64] = bf16_of_f64, [KN_F32] = bf16_of_f32},
    [KN_I64] = {[KN_F64] = i64_of_f64,
                [KN_F32] = i64_of_f32,
                [KN_I32] = i64_of_i32,
                [KN_I16] = i64_of_i16,
                [KN_I8] = i64_of_i8,
                [KN_U64] = i64_of_u64,
                [KN_U32] = i64_of_u32,
                [KN_U16] = i64_of_u16,
                [KN_U8] = i64_of_u8,
                [KN_BOOL] = i64_of_bool},
    [KN_U64] = {[KN_F64] = u64_of_f64,
                [KN_F32] = u64_of_f32,
                [KN_I64] = i64_of_i64,
                [KN_I32] = i64_of_i32,
                [KN_I16] = i64_of_i16,
                [KN_I8] = i64_of_i8,
                [KN_U32] = i64_of_u32,
                [KN_U16] = i64_of_u16,
                [KN_U8] = i64_of_u8,
                [KN_BOOL] = i64_of_bool},
    [KN_I32] = {[KN_F64] = i32_of_f64,
                [KN_F32] = i32_of_f32,
                [KN_I64] = i32_of_i64,
                [KN_I16] = i32_of_i16,
                [KN_I8] = i32_of_i8,
                [KN_U64] = i32_of_u64,
                [KN_U32] = i32_of_u32,
                [KN_U16] = i32_of_u16,
                [KN_U8] = i32_of_u8,
                [KN_BOOL] = i32_of_bool},
    [KN_U32] = {[KN_F64] = i32_of_f64,
                [KN_F32] = i32_of_f32,
                [KN_I64] = i32_of_i64,
                [KN_I32] = i32_of_i32,
                [KN_I16] = i32_of_i16,
                [KN_I8] = i32_of_i8,
                [KN_U64] = i32_of_u64,
                [KN_U16] = i32_of_u16,
                [KN_U8] = i32_of_u8,
                [KN_BOOL] = i32_of_bool},
    [KN_I16] = {[KN_I32] = i16_of_i32, [KN_U32] = i16_of_i32},
    [KN_U16] = {[KN_I32] = i16_of_i32, [KN_U32] = i16_of_i32},
    [KN_I8] = {[KN_I32] = i8_of_i32, [KN_U32] = i8_of_i32},
    [KN_U8] = {[KN_I32] = i8_of_i32, [KN_U32] = i8_of_i32},
    [KN_BOOL] = {[KN_F64] = bool_of_f64,
                 [KN_F32] = bool_of_f32,
                 [KN_I64] = bool_of_i64,
                 [KN_I32] = bool_of_i32,
                 [KN_U64] = bool_of_i64,
                 [KN_U32] = bool_of_i32},
};

/* Where the way from a narrow dtype begins: one that holds every value of it. 0: the dtype is wide. */
static const uint8_t widened[KN_DTYPE_COUNT] = {
    [KN_F16] = KN_F32, [KN_BF16] = KN_F32, [KN_I16] = KN_I32, [KN_I8] = KN_I32,
    [KN_U16] = KN_I32, [KN_U8] = KN_I32,   [KN_BOOL] = KN_I32};
/* Where the way from a wide dtype to a narrow one ends: integers are rounded to halves as doubles, and wrap to small ones. */
static const uint8_t before[KN_DTYPE_COUNT] = {[KN_F16] = KN_F64, [KN_BF16] = KN_F64, [KN_I16] = KN_I32,
                                               [KN_I8] = KN_I32,  [KN_U16] = KN_I32,  [KN_U8] = KN_I32};

static size_t bytes_of(int dtype) { return kni_bytes_of(dtype); }

static void convert_contiguous(void *to, int to_dtype, const void *from, int from_dtype, int64_t n)
{
    if (to_dtype == from_dtype) {
        if (n > 0) memcpy(to, from, (size_t)n * bytes_of(to_dtype));
        return;
    }
    if (direct[to_dtype][from_dtype]) {
        direct[to_dtype][from_dtype](to, from, n);
        return;
    }
    int via = widened[from_dtype] ? widened[from_dtype] : before[to_dtype];
    uint64_t strip[STRIP];
    for (int64_t at = 0; at < n; at += STRIP) {
        int64_t m = n - at < STRIP ? n - at : STRIP;
        convert_contiguous(strip, via, (const char *)from + (size_t)at * bytes_of(from_dtype), from_dtype, m);
        convert_contiguous((char *)to + (size_t)at * bytes_of(to_dtype), to_dtype, strip, via, m);
    }
}

#define MOVE(bits)                                                                                           \
    case bits: {                                                                                             \
        uint##bits##_t *y = to;                                                                              \
        const uint##bits##_t *x = from;                                                                      \
        for (int64_t i = 0; i < n; i++) y[i * ys] = x[i * xs];                                               \
        break;                                                                                               \
    }
static void move_strided(void *to, int64_t ys, const void *from, int64_t xs, int bytes, int64_t n)
{
    switch (8 * bytes) {
        MOVE(8)
        MOVE(16)
        MOVE(32)
        MOVE(64)
    default:
        break;
    }
}

static void convert_any(void *to, int to_dtype, int64_t to_stride, const void *from, int from_dtype,
                        int64_t from_stride, int64_t n)
{
    if (to_stride == 1 && from_stride == 1) {
        convert_contiguous(to, to_dtype, from, from_dtype, n);
        return;
    }
    int to_bytes = kni_bytes_of(to_dtype), from_bytes = kni_bytes_of(from_dtype);
    if (to_dtype == from_dtype) {
        move_strided(to, to_stride, from, from_stride, to_bytes, n);
        return;
    }
    uint64_t gathered[STRIP], converted[STRIP];
    for (int64_t at = 0; at < n; at += STRIP) {
        int64_t m = n - at < STRIP ? n - at : STRIP;
        const char *x = (const char *)from + at * from_stride * from_bytes;
        char *y = (char *)to + at * to_stride * to_bytes;
        if (from_stride != 1) move_strided(gathered, 1, x, from_stride, from_bytes, m), x = (char *)gathered;
        convert_contiguous(to_stride == 1 ? y : (char *)converted, to_dtype, x, from_dtype, m);
        if (to_stride != 1) move_strided(y, to_stride, converted, 1, to_bytes, m);
    }
}

void kni_convert(void *to, int to_dtype, int64_t to_stride, const void *from, int from_dtype,
                 int64_t from_stride, int64_t n)
{
    const kni_float_env env = kni_float_enter();
    if (KNI_UNLIKELY(kni_dtype_stored(to_dtype) || kni_dtype_stored(from_dtype)) && to_dtype != from_dtype)
        kni_convert_small(to, to_dtype, to_stride, from, from_dtype, from_stride, n);
    else
        convert_any(to, to_dtype, to_stride, from, from_dtype, from_stride, n);
    kni_float_leave(env);
}

#endif
