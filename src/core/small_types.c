/* The values of stored types, by the columns of the dtype table alone. */
#include "core/small_types.h"
#include <math.h>
#include <string.h>

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
    if (t->specials == KNI_SPECIALS_ONE_ZERO && sign && !rest) return NAN;
    if (rest > largest_code(t)) {
        bool infinite = t->specials == KNI_SPECIALS_IEEE && fraction == 0;
        return !infinite ? NAN : sign ? -INFINITY : INFINITY;
    }
    if (exponent) fraction += (double)(1u << t->mantissa);
    double value = ldexp(fraction, (exponent ? exponent : 1) - t->bias - t->mantissa);
    return sign ? -value : value;
}

static unsigned float_code(const kni_dtype_row *t, double value, bool saturate)
{
    bool negative = signbit(value) != 0;
    if (value != value) return nan_code(t, negative);
    unsigned largest = largest_code(t), code = largest + 1, sign = negative ? sign_bit(t) : 0;
    if (!isinf(value)) {
        int exponent, lowest = 1 - t->bias;
        (void)frexp(value, &exponent);
        exponent = value != 0 && exponent - 1 > lowest ? exponent - 1 : lowest;
        /* In units of the last place; one more carries into the exponent by itself. */
        double steps = rint(ldexp(fabs(value), t->mantissa - exponent));
        double place = ldexp((double)(exponent - lowest), t->mantissa) + steps;
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
    return code == POWER_NAN ? NAN : ldexp(1, (int)code - t->bias);
}

/* Halfway between two powers the larger one is taken; all above the smallest become the next, as in PyTorch and ml_dtypes. */
static unsigned power_code(const kni_dtype_row *t, double value, bool saturate)
{
    if (value != value || value < 0) return POWER_NAN;
    int exponent;
    double half = frexp(value, &exponent); /* in [0.5, 1) */
    if (isinf(value)) exponent = 2 * POWER_NAN;
    int code = exponent - 1 + t->bias;
    if (value == 0 || code < 0) return 0;
    code += code == 0 ? half > 0.5 : half >= 0.75;
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
