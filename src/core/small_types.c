/* The values of stored types, by the columns of the dtype table alone. */
#include "core/small_types.h"
#include <string.h>

#define NOT_A_NUMBER __builtin_nan("")
#define INFINITE __builtin_inf()

/* Of a normal f64. */
static double power_of_two(int exponent)
{
    uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The exponent of the first digit; below that of every small type for 0 and subnormals, above for infinities. */
static int exponent_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (int)(bits >> 52 & 0x7FF) - 1023;
}

static bool is_negative(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63;
}

static unsigned sign_bit(const kni_dtype_row *t) { return 1u << (t->bits - 1); }

/* The largest code of a positive finite float. */
static unsigned largest_code(const kni_dtype_row *t)
{
    unsigned all = sign_bit(t) - 1;
    if (t->specials == KNI_SPECIALS_IEEE) return all - (1u << t->mantissa);
    return t->specials == KNI_SPECIALS_NAN ? all - 1 : all;
}

static unsigned nan_code(const kni_dtype_row *t, bool negative)
{
    unsigned sign = negative ? sign_bit(t) : 0;
    switch (t->specials) {
    case KNI_SPECIALS_IEEE:
        return sign | (largest_code(t) + 1 + (1u << (t->mantissa - 1)));
    case KNI_SPECIALS_NAN:
        return sign | (sign_bit(t) - 1);
    default:
        return sign_bit(t); /* the place of negative zero */
    }
}

static double float_value(const kni_dtype_row *t, unsigned code)
{
    unsigned sign = code & sign_bit(t), rest = code & (sign_bit(t) - 1);
    int exponent = (int)(rest >> t->mantissa);
    double fraction = (double)(rest & ((1u << t->mantissa) - 1));
    if (t->specials == KNI_SPECIALS_ONE_ZERO && sign && !rest) return NOT_A_NUMBER;
    if (rest > largest_code(t)) {
        bool infinite = t->specials == KNI_SPECIALS_IEEE && fraction == 0;
        return !infinite ? NOT_A_NUMBER : sign ? -INFINITE : INFINITE;
    }
    if (exponent) fraction += (double)(1u << t->mantissa);
    double value = fraction * power_of_two((exponent ? exponent : 1) - t->bias - t->mantissa);
    return sign ? -value : value;
}

static unsigned float_code(const kni_dtype_row *t, double value, bool saturate)
{
    bool negative = is_negative(value);
    if (value != value) return nan_code(t, negative);
    unsigned largest = largest_code(t), code = largest + 1, sign = negative ? sign_bit(t) : 0;
    int lowest = 1 - t->bias, exponent = exponent_of(value);
    if (exponent < 1023) {
        if (exponent < lowest) exponent = lowest;
        /* In units of the last place, rounded to even; one more carries into the exponent by itself. */
        double steps = (negative ? -value : value) * power_of_two(t->mantissa - exponent);
        steps = (steps + 0x1p52) - 0x1p52;
        double place = (double)(exponent - lowest) * (double)(1u << t->mantissa) + steps;
        code = place > (double)largest ? largest + 1 : (unsigned)place;
    }
    if (code > largest) {
        if (saturate || t->specials == KNI_SPECIALS_NONE) return sign | largest;
        return t->specials == KNI_SPECIALS_IEEE ? sign | (largest + 1) : nan_code(t, negative);
    }
    return !code && t->specials == KNI_SPECIALS_ONE_ZERO ? 0 : sign | code;
}

enum { POWER_NAN = 255 };

static double power_value(const kni_dtype_row *t, unsigned code)
{
    return code == POWER_NAN ? NOT_A_NUMBER : power_of_two((int)code - t->bias);
}

/* Halfway between two powers the larger one is taken; all above the smallest become the next, as in PyTorch and ml_dtypes. */
static unsigned power_code(const kni_dtype_row *t, double value, bool saturate)
{
    if (value != value || value < 0) return POWER_NAN;
    int exponent = exponent_of(value), code = exponent + t->bias;
    if (code < 0) return 0;
    if (code < POWER_NAN) {
        double first = value * power_of_two(-exponent); /* in [1, 2) */
        code += code == 0 ? first > 1 : first >= 1.5;
    }
    return code < POWER_NAN ? (unsigned)code : saturate ? POWER_NAN - 1 : POWER_NAN;
}

static double integer_value(const kni_dtype_row *t, unsigned code)
{
    bool negative = t->kind == KNI_KIND_SIGNED && (code & sign_bit(t));
    return negative ? (double)code - (double)(1u << t->bits) : (double)code;
}

static unsigned integer_code(const kni_dtype_row *t, double value, bool saturate)
{
    double low = t->kind == KNI_KIND_SIGNED ? -(double)sign_bit(t) : 0;
    double high = low + (double)((1u << t->bits) - 1);
    if (value != value) return 0;
    if (saturate) value = value < low ? low : value > high ? high : value;
    int64_t whole = value >= 0x1p63 ? INT64_MAX : value < -0x1p63 ? INT64_MIN : (int64_t)value;
    return (unsigned)((uint64_t)whole & ((1u << t->bits) - 1));
}

double kni_small_value(int dtype, unsigned code)
{
    const kni_dtype_row *t = &kni_dtypes[dtype];
    code &= (1u << t->bits) - 1;
    if (t->kind != KNI_KIND_FLOAT) return integer_value(t, code);
    return t->specials == KNI_SPECIALS_POWERS ? power_value(t, code) : float_value(t, code);
}

unsigned kni_small_code(int dtype, double value, bool saturate)
{
    const kni_dtype_row *t = &kni_dtypes[dtype];
    if (t->kind != KNI_KIND_FLOAT) return integer_code(t, value, saturate);
    return t->specials == KNI_SPECIALS_POWERS ? power_code(t, value, saturate)
                                              : float_code(t, value, saturate);
}

static void to_codes(uint8_t *to, int dtype, int64_t to_stride, const void *from, int from_dtype,
                     int64_t from_stride, int64_t n)
{
    int from_kind = kni_dtypes[from_dtype].kind;
    bool whole = from_kind != KNI_KIND_FLOAT && kni_dtypes[dtype].kind != KNI_KIND_FLOAT;
    const char *x = from;
    for (int64_t i = 0; i < n; i++, x += from_stride * kni_bytes_of(from_dtype), to += to_stride) {
        int64_t bits;
        double value;
        if (whole)
            kni_convert(&bits, KN_I64, 1, x, from_dtype, 1, 1);
        else
            kni_convert(&value, KN_F64, 1, x, from_dtype, 1, 1);
        *to = (uint8_t)(whole ? (unsigned)bits & (kni_small_count(dtype) - 1)
                              : kni_small_code(dtype, value, false));
    }
}

void kni_convert_small(void *to, int to_dtype, int64_t to_stride, const void *from, int from_dtype,
                       int64_t from_stride, int64_t n)
{
    if (kni_dtype_stored(to_dtype)) {
        to_codes(to, to_dtype, to_stride, from, from_dtype, from_stride, n);
        return;
    }
    const uint8_t *codes = from;
    char *y = to;
    for (int64_t i = 0; i < n; i++, y += to_stride * kni_bytes_of(to_dtype)) {
        double value = kni_small_value(from_dtype, codes[i * from_stride]);
        kni_convert(y, to_dtype, 1, &value, KN_F64, 1, 1);
    }
}

void kni_pack(void *packed, const uint8_t *codes, int64_t n, int bits)
{
    uint8_t *bytes = packed;
    int each = 8 / bits;
    unsigned mask = (1u << bits) - 1;
    for (int64_t i = 0; i < n; i += each) {
        unsigned byte = 0;
        for (int k = 0; k < each && i + k < n; k++) byte |= (codes[i + k] & mask) << (k * bits);
        bytes[i / each] = (uint8_t)byte;
    }
}

void kni_unpack(uint8_t *codes, const void *packed, int64_t n, int bits)
{
    const uint8_t *bytes = packed;
    int each = 8 / bits;
    unsigned mask = (1u << bits) - 1;
    for (int64_t i = n - 1; i >= 0; i--) codes[i] = (uint8_t)(bytes[i / each] >> (i % each * bits) & mask);
}
