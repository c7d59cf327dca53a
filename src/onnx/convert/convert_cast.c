/* Cast and CastLike of ONNX: numbers, truths, texts and the dtypes that are only stored. */
#include "onnx/convert/convert_numbers.h"
#include <kn/tensor.h>
#include <string.h>

/* Version 1 has the type's name, in capitals. */
static int32_t type_by_name(const char *name)
{
    for (int32_t type = 1; type < KNI_ONNX_TYPE_COUNT; type++) {
        const char *known = kni_onnx_type_name(type), *given = name;
        while (*known &&
               (*given == *known || (*given >= 'A' && *given <= 'Z' && *given - 'A' + 'a' == *known)))
            known++, given++;
        if (!*known && !*given) return type;
    }
    return KNI_ONNX_UNDEFINED;
}

static int32_t target_type(kni_conversion *c, const kni_onnx_node *node)
{
    const char *name = kni_node_text(node, "to", NULL);
    int64_t type = name ? type_by_name(name) : kni_node_int(node, "to", 0);
    if (type > 0 && type < KNI_ONNX_TYPE_COUNT) return (int32_t)type;
    kni_convert_fail(c, KN_ERROR_ARGUMENT, "'to' is %s%lld, which is no type of elements", name ? name : "",
                     (long long)type);
    return KNI_ONNX_UNDEFINED;
}

/* ---- dtypes that are only stored */

static bool is_float8(kn_dtype dtype) { return kn_dtype_is_stored(dtype) && kni_dtypes[dtype].bits == 8; }

/* Values of any dtype as floats that hold them, for what follows. */
static kni_datum as_real(kni_conversion *c, kni_datum x)
{
    kn_dtype dtype = kni_dtype_of(c, x);
    if (dtype == KN_F64 || dtype == KN_F32) return x;
    return kni_cast_to(c, x, kn_dtype_is_integer(dtype) && !kn_dtype_is_stored(dtype) ? KN_F64 : KN_F32);
}

kni_datum kni_saturated_cast(kni_conversion *c, kni_datum x, kn_dtype dtype)
{
    double largest = kn_dtype_limits(dtype).max;
    x = as_real(c, x);
    kn_dtype wide = kni_dtype_of(c, x);
    kni_datum low = kni_real_number(c, -largest, wide), high = kni_real_number(c, largest, wide);
    return kni_cast_to(c, kni_emit3(c, "clamp", x, low, high), dtype);
}

static kni_datum with_number(kni_conversion *c, const char *op, kni_datum x, int64_t number)
{
    return kni_emit2(c, op, x, kni_whole_number(c, number, kni_dtype_of(c, x)));
}

/* e8m0 holds the exponent of a number without its sign. Fractions round it up, down, or to the nearest; of the numbers below the
   smallest power those up to its half round down. */
static kni_datum exponent_of(kni_conversion *c, kni_datum x, const char *mode, bool saturate)
{
    enum { INFINITY_BITS = 0x7F800000, ONE_STEP = 0x00800000 };
    kni_datum real = kni_cast_to(c, as_real(c, x), KN_F32);
    kni_datum bits = kni_emit(c, "bitcast", &real, 1, KNI_GIVE(KNI_WHOLE("dtype", KN_I32)));
    bits = with_number(c, "bitwise_and", bits, INT32_MAX);
    kni_datum up = bits;
    if (!strcmp(mode, "nearest")) {
        kni_datum normal = kni_cast_to(c, with_number(c, "greater_equal", bits, ONE_STEP), KN_I32);
        up = kni_emit2(c, "add", with_number(c, "add", bits, ONE_STEP / 2 - 1), normal);
    } else if (!strcmp(mode, "up")) {
        up = with_number(c, "add", bits, ONE_STEP - 1);
    } else if (strcmp(mode, "down") != 0) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "round_mode is '%s'; it must be up, down or nearest", mode);
    }
    kni_datum code = with_number(c, "bitwise_right_shift", up, 23);
    if (saturate) code = with_number(c, "minimum", code, 254);
    kni_datum special = with_number(c, "greater_equal", bits, INFINITY_BITS);
    code = kni_emit3(c, "where", special, kni_whole_number(c, 255, KN_I32), code);
    code = kni_cast_to(c, code, KN_U8);
    return kni_emit(c, "bitcast", &code, 1, KNI_GIVE(KNI_WHOLE("dtype", KN_E8M0)));
}

/* ---- all of them */

static kni_datum cast_datum(kni_conversion *c, const kni_onnx_node *node, kni_datum x, int32_t type)
{
    bool from_texts = kni_kind_of(c, x) == KNI_IS_STRINGS, saturate = kni_node_int(node, "saturate", 1) != 0;
    if (type == KNI_ONNX_STRING) return from_texts ? x : kni_texts_of_numbers(c, x);
    kn_dtype dtype = kni_onnx_dtype(type);
    if (dtype == KN_DTYPE_NONE) {
        if (!kni_convert_failed(c))
            kni_convert_fail(c, KN_ERROR_UNSUPPORTED, "there are no tensors of type %s",
                             kni_onnx_type_name(type));
        return KNI_ABSENT;
    }
    if (from_texts) return kni_numbers_of_texts(c, x, dtype);
    if (kni_dtype_of(c, x) == dtype) return x;
    if (kni_dtypes[dtype].specials == KNI_SPECIALS_POWERS)
        return exponent_of(c, x, kni_node_text(node, "round_mode", "up"), saturate);
    return is_float8(dtype) && saturate ? kni_saturated_cast(c, x, dtype) : kni_cast_to(c, x, dtype);
}

void kni_convert_cast(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    out[0] = cast_datum(c, node, in[0], target_type(c, node));
}

void kni_convert_cast_like(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    bool texts = kni_kind_of(c, in[1]) == KNI_IS_STRINGS;
    out[0] = cast_datum(c, node, in[0],
                        texts ? KNI_ONNX_STRING : (int32_t)kni_onnx_type_of(kni_dtype_of(c, in[1])));
}
