/* kni_convert agrees with kni_cast_<to>_<from> for every pair of dtypes, contiguous and strided, short and long. */
#include "core/cast.h"
#include "core/dtype.h"
#include "support/check.h"
#include <stdlib.h>

enum { N = 700 }; /* more than two strips */

static const uint8_t dtypes[] = {KN_F64, KN_F32, KN_F16, KN_BF16, KN_I64, KN_I32, KN_I16,
                                 KN_I8,  KN_U64, KN_U32, KN_U16,  KN_U8,  KN_BOOL};

/* One element at a time by the functions of core/cast.h. */
#define ROW(name, T, F, dtype)                                                                               \
    case dtype: {                                                                                            \
        F x;                                                                                                 \
        memcpy(&x, from, sizeof x);                                                                          \
        T y = kni_cast_##name(x);                                                                            \
        memcpy(to, &y, sizeof y);                                                                            \
        break;                                                                                               \
    }
#define TO(name, T, dtype)                                                                                   \
    case dtype:                                                                                              \
        switch (from_dtype) {                                                                                \
            ROW(name##_f64, T, double, KN_F64)                                                               \
            ROW(name##_f32, T, float, KN_F32)                                                                \
            ROW(name##_f16, T, uint16_t, KN_F16)                                                             \
            ROW(name##_bf16, T, uint16_t, KN_BF16)                                                           \
            ROW(name##_i64, T, int64_t, KN_I64)                                                              \
            ROW(name##_i32, T, int32_t, KN_I32)                                                              \
            ROW(name##_i16, T, int16_t, KN_I16)                                                              \
            ROW(name##_i8, T, int8_t, KN_I8)                                                                 \
            ROW(name##_u64, T, uint64_t, KN_U64)                                                             \
            ROW(name##_u32, T, uint32_t, KN_U32)                                                             \
            ROW(name##_u16, T, uint16_t, KN_U16)                                                             \
            ROW(name##_u8, T, uint8_t, KN_U8)                                                                \
            ROW(name##_bool, T, uint8_t, KN_BOOL)                                                            \
        }                                                                                                    \
        break;
static void cast_one(void *to, int to_dtype, const void *from, int from_dtype)
{
    switch (to_dtype) {
        TO(f64, double, KN_F64)
        TO(f32, float, KN_F32)
        TO(f16, uint16_t, KN_F16)
        TO(bf16, uint16_t, KN_BF16)
        TO(i64, int64_t, KN_I64)
        TO(i32, int32_t, KN_I32)
        TO(i16, int16_t, KN_I16)
        TO(i8, int8_t, KN_I8)
        TO(u64, uint64_t, KN_U64)
        TO(u32, uint32_t, KN_U32)
        TO(u16, uint16_t, KN_U16)
        TO(u8, uint8_t, KN_U8)
        TO(bool, uint8_t, KN_BOOL)
    }
}

/* Edges first (rounding to halves at ties and just beside them, limits of every integer), then any bits at all. */
static void fill(char *x, int dtype)
{
    static const double edges[] = {0,
                                   -0.0,
                                   1,
                                   -1,
                                   0.5,
                                   -0.5,
                                   1.9999,
                                   -1.9999,
                                   127,
                                   128,
                                   255,
                                   256,
                                   -129,
                                   32767.5,
                                   32768,
                                   65504,
                                   65519,
                                   65520,
                                   65536,
                                   2049,
                                   2051,
                                   4097,
                                   257,
                                   259,
                                   16777217,
                                   2147483647.0,
                                   2147483648.0,
                                   -2147483649.0,
                                   4294967295.0,
                                   4294967296.0,
                                   9.2e18,
                                   9.3e18,
                                   1.8e19,
                                   1.9e19,
                                   -9.3e18,
                                   1e300,
                                   -1e300,
                                   1e-300,
                                   6e-8,
                                   2.9e-8,
                                   3.1e-8,
                                   1.0 / 0.0,
                                   -1.0 / 0.0,
                                   0.0 / 0.0,
                                   1 + 0x1p-11,
                                   1 + 0x1p-11 + 0x1p-40,
                                   1 + 0x1p-8,
                                   1 + 0x1p-8 + 0x1p-30};
    int size = kni_bytes_of(dtype);
    uint64_t state = 88172645463325252u + (uint64_t)dtype;
    for (int i = 0; i < N; i++) {
        if (i < (int)(sizeof edges / sizeof *edges)) {
            cast_one(x + i * size, dtype, &edges[i], KN_F64);
            continue;
        }
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        uint64_t bits = dtype == KN_BOOL ? state >> 63 : state;
        memcpy(x + i * size, &bits, (size_t)size);
    }
}

/* A NaN's payload is open, as in the conformance; all else is compared by bits. */
static bool same(const char *a, const char *b, int dtype)
{
    if (!memcmp(a, b, kni_bytes_of(dtype))) return true;
    double x = 0, y = 0;
    cast_one(&x, KN_F64, a, dtype), cast_one(&y, KN_F64, b, dtype);
    return x != x && y != y;
}

static bool pair_agrees(int to, int from, int64_t ys, int64_t xs, int64_t n)
{
    static char x[N * 8], spread[N * 8 * 3], got[N * 8 * 3], want[8];
    int out = kni_bytes_of(to), in = kni_bytes_of(from);
    fill(x, from);
    for (int i = 0; i < n; i++) memcpy(spread + i * xs * in, x + (xs ? i * in : 0), (size_t)in);
    memset(got, 0x5a, sizeof got);
    kni_convert(got, to, ys, spread, from, xs, n);
    for (int i = 0; i < n; i++) {
        cast_one(want, to, x + (xs ? i * in : 0), from);
        if (!same(got + i * ys * out, want, to)) {
            printf("%s of %s, strides %d and %d: element %d of %d\n", kni_dtypes[to].name,
                   kni_dtypes[from].name, (int)ys, (int)xs, i, (int)n);
            return false;
        }
        for (int k = out; ys > 1 && k < ys * out; k++)
            if (got[i * ys * out + k] != 0x5a) return false; /* it wrote between the elements */
    }
    return got[(n ? (n - 1) * ys + 1 : 0) * out] == 0x5a;
}

int main(void)
{
    for (size_t a = 0; a < sizeof dtypes; a++)
        for (size_t b = 0; b < sizeof dtypes; b++) {
            CHECK(pair_agrees(dtypes[a], dtypes[b], 1, 1, N));
            CHECK(pair_agrees(dtypes[a], dtypes[b], 3, 1, N - 1));
            CHECK(pair_agrees(dtypes[a], dtypes[b], 1, 2, 257));
            CHECK(pair_agrees(dtypes[a], dtypes[b], 2, 3, 256));
            CHECK(pair_agrees(dtypes[a], dtypes[b], 2, 1, 300));
            CHECK(pair_agrees(dtypes[a], dtypes[b], 1, 0, 5));
            CHECK(pair_agrees(dtypes[a], dtypes[b], 1, 1, 0));
        }
    return check_report();
}
