/* The rows of the dtype table, names, limits and promotion. */
#include "core/dtype.h"
#include <kn/tensor.h>
#include <string.h>

const kni_dtype_row kni_dtypes[KN_DTYPE_COUNT] = {
    [KN_DTYPE_NONE] = {"none", 0, 0, 0, 0, KNI_KIND_NONE, 0, 0},
    [KN_F64] = {"f64", 64, 8, 11, 52, KNI_KIND_FLOAT, 0, 0},
    [KN_F32] = {"f32", 32, 4, 8, 23, KNI_KIND_FLOAT, 0, 0},
    [KN_F16] = {"f16", 16, 2, 5, 10, KNI_KIND_FLOAT, 0, 0},
    [KN_BF16] = {"bf16", 16, 2, 8, 7, KNI_KIND_FLOAT, 0, 0},
    [KN_I64] = {"i64", 64, 8, 0, 63, KNI_KIND_SIGNED, 0, 0},
    [KN_I32] = {"i32", 32, 4, 0, 31, KNI_KIND_SIGNED, 0, 0},
    [KN_I16] = {"i16", 16, 2, 0, 15, KNI_KIND_SIGNED, 0, 0},
    [KN_I8] = {"i8", 8, 1, 0, 7, KNI_KIND_SIGNED, 0, 0},
    [KN_U64] = {"u64", 64, 8, 0, 64, KNI_KIND_UNSIGNED, 0, 0},
    [KN_U32] = {"u32", 32, 4, 0, 32, KNI_KIND_UNSIGNED, 0, 0},
    [KN_U16] = {"u16", 16, 2, 0, 16, KNI_KIND_UNSIGNED, 0, 0},
    [KN_U8] = {"u8", 8, 1, 0, 8, KNI_KIND_UNSIGNED, 0, 0},
    [KN_BOOL] = {"bool", 8, 1, 0, 1, KNI_KIND_BOOL, 0, 0},
    [KN_F8_E4M3] = {"f8_e4m3", 8, 1, 4, 3, KNI_KIND_FLOAT, KNI_SPECIALS_NAN, 7},
    [KN_F8_E5M2] = {"f8_e5m2", 8, 1, 5, 2, KNI_KIND_FLOAT, KNI_SPECIALS_IEEE, 15},
    [KN_F8_E4M3_FNUZ] = {"f8_e4m3_fnuz", 8, 1, 4, 3, KNI_KIND_FLOAT, KNI_SPECIALS_ONE_ZERO, 8},
    [KN_F8_E5M2_FNUZ] = {"f8_e5m2_fnuz", 8, 1, 5, 2, KNI_KIND_FLOAT, KNI_SPECIALS_ONE_ZERO, 16},
    [KN_F4_E2M1] = {"f4_e2m1", 4, 1, 2, 1, KNI_KIND_FLOAT, KNI_SPECIALS_NONE, 1},
    [KN_E8M0] = {"e8m0", 8, 1, 8, 0, KNI_KIND_FLOAT, KNI_SPECIALS_POWERS, 127},
    [KN_I4] = {"i4", 4, 1, 0, 3, KNI_KIND_SIGNED, 0, 0},
    [KN_U4] = {"u4", 4, 1, 0, 4, KNI_KIND_UNSIGNED, 0, 0},
    [KN_I2] = {"i2", 2, 1, 0, 1, KNI_KIND_SIGNED, 0, 0},
    [KN_U2] = {"u2", 2, 1, 0, 2, KNI_KIND_UNSIGNED, 0, 0},
    [KN_C64] = {"c64", 64, 8, 8, 23, KNI_KIND_RESERVED, 0, 0},
    [KN_C128] = {"c128", 128, 16, 11, 52, KNI_KIND_RESERVED, 0, 0},
    [KN_QUANTISED] = {"quantised", 8, 1, 0, 0, KNI_KIND_RESERVED, 0, 0},
};

const uint8_t kni_compute_of[KN_DTYPE_COUNT] = {
    [KN_F64] = KNI_COMPUTE_F64,  [KN_F32] = KNI_COMPUTE_F32, [KN_F16] = KNI_COMPUTE_F32,
    [KN_BF16] = KNI_COMPUTE_F32, [KN_I64] = KNI_COMPUTE_I64, [KN_I32] = KNI_COMPUTE_I32,
    [KN_I16] = KNI_COMPUTE_I32,  [KN_I8] = KNI_COMPUTE_I32,  [KN_U64] = KNI_COMPUTE_U64,
    [KN_U32] = KNI_COMPUTE_I64,  [KN_U16] = KNI_COMPUTE_I32, [KN_U8] = KNI_COMPUTE_I32,
    [KN_BOOL] = KNI_COMPUTE_I32,
};

const uint8_t kni_compute_dtype[KNI_COMPUTE_COUNT] = {KN_F32, KN_F64, KN_I32, KN_I64, KN_U64};

const uint8_t kni_wide_of[KN_DTYPE_COUNT] = {
    [KN_F64] = KNI_COMPUTE_F64,  [KN_F32] = KNI_COMPUTE_F64, [KN_F16] = KNI_COMPUTE_F64,
    [KN_BF16] = KNI_COMPUTE_F64, [KN_I64] = KNI_COMPUTE_I64, [KN_I32] = KNI_COMPUTE_I64,
    [KN_I16] = KNI_COMPUTE_I64,  [KN_I8] = KNI_COMPUTE_I64,  [KN_U64] = KNI_COMPUTE_U64,
    [KN_U32] = KNI_COMPUTE_I64,  [KN_U16] = KNI_COMPUTE_I64, [KN_U8] = KNI_COMPUTE_I64,
    [KN_BOOL] = KNI_COMPUTE_I64,
};

int64_t kn_dtype_bytes(kn_dtype dtype, int64_t n)
{
    if ((int)dtype <= 0 || dtype >= KN_DTYPE_COUNT || n < 0) return -1;
    int64_t total;
    return __builtin_mul_overflow(n, (int64_t)kni_dtypes[dtype].bytes, &total) ? -1 : total;
}

const char *kn_dtype_name(kn_dtype dtype)
{
    return (int)dtype > 0 && dtype < KN_DTYPE_COUNT ? kni_dtypes[dtype].name : "unknown";
}

kn_dtype kn_dtype_by_name(const char *name)
{
    for (int d = 1; name && d < KN_DTYPE_COUNT; d++)
        if (!strcmp(kni_dtypes[d].name, name)) return (kn_dtype)d;
    return KN_DTYPE_NONE;
}

bool kn_dtype_is_float(kn_dtype dtype)
{
    return kni_dtype_usable(dtype) && kni_dtypes[dtype].kind == KNI_KIND_FLOAT;
}

bool kn_dtype_is_integer(kn_dtype dtype)
{
    return kni_dtype_usable(dtype) &&
           (kni_dtypes[dtype].kind == KNI_KIND_SIGNED || kni_dtypes[dtype].kind == KNI_KIND_UNSIGNED);
}

bool kn_dtype_is_stored(kn_dtype dtype) { return kni_dtype_stored(dtype); }

static kn_dtype signed_of_bits(int bits)
{
    return bits <= 8 ? KN_I8 : bits <= 16 ? KN_I16 : bits <= 32 ? KN_I32 : KN_I64;
}

kn_dtype kn_dtype_promote(kn_dtype a, kn_dtype b)
{
    if (!kni_dtype_usable(a) || !kni_dtype_usable(b)) return KN_DTYPE_NONE;
    if (a == b) return a;
    const kni_dtype_row *ra = &kni_dtypes[a], *rb = &kni_dtypes[b];
    if (ra->kind < rb->kind) return kn_dtype_promote(b, a);
    if (ra->kind == KNI_KIND_FLOAT) {
        if (rb->kind != KNI_KIND_FLOAT) return a;
        if (ra->bits == rb->bits) return KN_F32; /* f16 with bf16 */
        return ra->bits > rb->bits ? a : b;
    }
    if (ra->kind == KNI_KIND_SIGNED && rb->kind == KNI_KIND_UNSIGNED)
        return ra->bits > rb->bits ? a : signed_of_bits(2 * rb->bits);
    return rb->kind == KNI_KIND_BOOL || ra->bits > rb->bits ? a : b;
}

kn_float_limits kn_dtype_limits(kn_dtype dtype)
{
    static const kn_float_limits limits[] = {
        [KN_F64] = {2.220446049250313e-16, 2.2250738585072014e-308, 1.7976931348623157e308, 64, 15},
        [KN_F32] = {1.1920928955078125e-07, 1.1754943508222875e-38, 3.4028234663852886e+38, 32, 6},
        [KN_F16] = {0.0009765625, 6.103515625e-05, 65504.0, 16, 3},
        [KN_BF16] = {0.0078125, 1.1754943508222875e-38, 3.3895313892515355e+38, 16, 2},
        [KN_F8_E4M3] = {0.125, 0.015625, 448, 8, 0},
        [KN_F8_E5M2] = {0.25, 6.103515625e-05, 57344, 8, 0},
        [KN_F8_E4M3_FNUZ] = {0.125, 0.0078125, 240, 8, 0},
        [KN_F8_E5M2_FNUZ] = {0.25, 3.0517578125e-05, 57344, 8, 0},
        [KN_F4_E2M1] = {0.5, 1, 6, 4, 0},
        [KN_E8M0] = {1, 5.877471754111438e-39, 1.7014118346046923e+38, 8, 0},
    };
    if ((int)dtype > 0 && dtype <= KN_E8M0) return limits[dtype];
    return (kn_float_limits){0, 0, 0, 0, 0};
}
