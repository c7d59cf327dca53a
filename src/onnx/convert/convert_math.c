/* Elementwise operators of ONNX: arithmetic, comparisons, bits, bounds. Casts are in convert_cast.c. */
#include "onnx/convert/convert_numbers.h"
#include <kn/tensor.h>
#include <string.h>

/* ---- operators that are one op */

static const struct {
    const char *name, *op;
} named[] = {
    {"Abs", "abs"},
    {"Acos", "acos"},
    {"Acosh", "acosh"},
    {"Add", "add"},
    {"And", "logical_and"},
    {"Asin", "asin"},
    {"Asinh", "asinh"},
    {"Atan", "atan"},
    {"Atanh", "atanh"},
    {"BitwiseAnd", "bitwise_and"},
    {"BitwiseNot", "bitwise_not"},
    {"BitwiseOr", "bitwise_or"},
    {"BitwiseXor", "bitwise_xor"},
    {"Ceil", "ceil"},
    {"Cos", "cos"},
    {"Cosh", "cosh"},
    {"Equal", "equal"},
    {"Erf", "erf"},
    {"Exp", "exp"},
    {"Floor", "floor"},
    {"Greater", "greater"},
    {"GreaterOrEqual", "greater_equal"},
    {"Less", "less"},
    {"LessOrEqual", "less_equal"},
    {"Log", "log"},
    {"Max", "maximum"},
    {"Min", "minimum"},
    {"Mul", "mul"},
    {"Neg", "neg"},
    {"Not", "logical_not"},
    {"Or", "logical_or"},
    {"Reciprocal", "reciprocal"},
    {"Round", "round"},
    {"Sign", "sign"},
    {"Sin", "sin"},
    {"Sinh", "sinh"},
    {"Sqrt", "sqrt"},
    {"Sub", "sub"},
    {"Tan", "tan"},
    {"Xor", "logical_xor"},
};

static const char *op_of(const kni_onnx_node *node)
{
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (!strcmp(named[i].name, node->op)) return named[i].op;
    return ""; /* which no op is called */
}

/* Functions of integers give f32 in Kiln and integers in ONNX. */
static void unary(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    out[0] = kni_cast_to(c, kni_emit1(c, op_of(node), in[0]), kni_dtype_of(c, in[0]));
}

/* Before version 7 the second operand is a part of the first one's shape, from `axis` on: it gets axes of size 1 behind it. */
static kni_datum second_operand(kni_conversion *c, const kni_onnx_node *node, kni_datum a, kni_datum b)
{
    if (node->version >= 7 || !kni_node_int(node, "broadcast", 0) || !kni_node_attribute(node, "axis"))
        return b;
    int32_t rank = kni_rank_of(c, a), axis = kni_axis_of(c, a, kni_node_int(node, "axis", 0));
    kni_extent sizes[KN_MAX_RANK];
    int32_t n = kni_extents_of(c, b, sizes);
    if (kni_convert_failed(c) || rank == n) return b;
    if (axis + n > rank) {
        kni_convert_fail(c, KN_ERROR_SHAPE,
                         "the second operand has %d axes, which do not fit from axis %d of %d on", n, axis,
                         rank);
        return KNI_ABSENT;
    }
    while (n < rank - axis) sizes[n++] = KNI_EXTENT(1);
    return kni_reshape_to(c, b, sizes, n);
}

static void binary(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    out[0] = kni_emit2(c, op_of(node), in[0], second_operand(c, node, in[0], in[1]));
}

static void variadic(KNI_CONVERTS)
{
    (void)n_out;
    out[0] = in[0];
    for (int32_t i = 1; i < n_in; i++) out[0] = kni_emit2(c, op_of(node), out[0], in[i]);
}

/* The sum of all operands, of halves in f32 where it is `wide`, so that it is rounded once. */
static kni_datum sum_of(kni_conversion *c, const kni_datum *in, int32_t n_in, bool wide)
{
    kni_datum sum = wide ? kni_widened(c, in[0]) : in[0];
    for (int32_t i = 1; i < n_in; i++) sum = kni_emit2(c, "add", sum, wide ? kni_widened(c, in[i]) : in[i]);
    return sum;
}

static void sum(KNI_CONVERTS)
{
    (void)node, (void)n_out;
    out[0] = kni_cast_to(c, sum_of(c, in, n_in, n_in > 2), kni_dtype_of(c, in[0]));
}

static void mean(KNI_CONVERTS)
{
    (void)node, (void)n_out;
    kni_datum total = sum_of(c, in, n_in, n_in > 1);
    if (n_in > 1) total = kni_emit2(c, "div", total, kni_real_number(c, n_in, kni_dtype_of(c, total)));
    out[0] = kni_cast_to(c, total, kni_dtype_of(c, in[0]));
}

/* ---- arithmetic that depends on the dtype */

static void divide(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    const char *op = kn_dtype_is_float(kni_dtype_of(c, in[0])) ? "div" : "trunc_div";
    out[0] = kni_emit2(c, op, in[0], second_operand(c, node, in[0], in[1]));
}

/* Integers without `fmod` have the sign of the divisor, as in Python. */
static void modulo(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    out[0] = kni_emit2(c, kni_node_int(node, "fmod", 0) ? "fmod" : "remainder", in[0], in[1]);
}

/* Where both operands are computed: halves with an exponent of another type in f32, integers with real exponents in f64. */
static kn_dtype power_dtype(kn_dtype base, kn_dtype exponent)
{
    if (base == exponent) return base;
    if (exponent == KN_F64 || base == KN_F64) return KN_F64;
    if (kn_dtype_is_float(base)) return KN_F32;
    if (kn_dtype_is_float(exponent)) return KN_F64;
    return base == KN_U64 ? KN_U64 : KN_I64;
}

static void power(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    kn_dtype base = kni_dtype_of(c, in[0]), dtype = power_dtype(base, kni_dtype_of(c, in[1]));
    kni_datum exponent = kni_cast_to(c, second_operand(c, node, in[0], in[1]), dtype);
    out[0] = kni_cast_to(c, kni_emit2(c, "pow", kni_cast_to(c, in[0], dtype), exponent), base);
}

/* A bound of Clip: an input of one element, or before version 11 an attribute. */
static kni_datum bound(kni_conversion *c, const kni_onnx_node *node, const char *name, kni_datum input,
                       kni_datum x)
{
    if (node->version < 11) {
        if (!kni_node_attribute(node, name)) return KNI_ABSENT;
        return kni_real_number(c, kni_node_real(node, name, 0), kni_dtype_of(c, x));
    }
    return kni_is_given(input) && kni_rank_of(c, input) > 0 ? kni_reshape_to(c, input, NULL, 0) : input;
}

static void clip(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    kni_datum low = bound(c, node, "min", in[1], in[0]), high = bound(c, node, "max", in[2], in[0]);
    if (kni_is_given(low) && kni_is_given(high))
        out[0] = kni_emit3(c, "clamp", in[0], low, high);
    else if (kni_is_given(low))
        out[0] = kni_emit2(c, "clamp_min", in[0], low);
    else
        out[0] = kni_is_given(high) ? kni_emit2(c, "clamp_max", in[0], high) : in[0];
}

/* ---- truths */

static void is_nan(KNI_CONVERTS)
{
    (void)node;
    KNI_UNUSED_COUNTS;
    out[0] = kni_emit1(c, "is_nan", kni_widened(c, in[0]));
}

static void is_infinite(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    bool negative = kni_node_int(node, "detect_negative", 1),
         positive = kni_node_int(node, "detect_positive", 1);
    kni_datum x = kni_widened(c, in[0]);
    if (negative && positive) {
        out[0] = kni_emit1(c, "is_inf", x);
    } else if (negative || positive) {
        double infinity = __builtin_inf();
        out[0] =
            kni_emit2(c, "equal", x, kni_real_number(c, positive ? infinity : -infinity, kni_dtype_of(c, x)));
    } else {
        kni_extent sizes[KN_MAX_RANK];
        int32_t rank = kni_extents_of(c, x, sizes);
        out[0] = kni_filled(c, 0, KN_BOOL, sizes, rank);
    }
}

static void where(KNI_CONVERTS)
{
    (void)node;
    KNI_UNUSED_COUNTS;
    out[0] = kni_emit3(c, "where", in[0], in[1], in[2]);
}

/* ---- bits */

static void bit_shift(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    const char *direction = kni_node_text(node, "direction", "");
    bool left = !strcmp(direction, "LEFT");
    if (!left && strcmp(direction, "RIGHT") != 0)
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "the direction is '%s'; it must be LEFT or RIGHT", direction);
    out[0] = kni_emit2(c, left ? "bitwise_left_shift" : "bitwise_right_shift", in[0], in[1]);
}

/* Truths are bytes of 0 and 1. */
static void bit_cast(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    kn_dtype from = kni_dtype_of(c, in[0]), to = kni_node_dtype(c, node, "to", from);
    kni_datum x = kni_is_bool(from) && !kni_is_bool(to) ? kni_cast_to(c, in[0], KN_U8) : in[0];
    kn_dtype raw = kni_is_bool(to) ? KN_U8 : to;
    if (kni_dtype_of(c, x) != raw && from != to)
        x = kni_emit(c, "bitcast", &x, 1, KNI_GIVE(KNI_WHOLE("dtype", raw)));
    out[0] = kni_cast_to(c, x, to);
}

/* ---- the table */

#define NUMBERS "floats integers"

const kni_onnx_converter kni_onnx_math[] = {
    KNI_ONNX_ROW("Abs", 1, unary, NUMBERS),
    KNI_ONNX_ROW("Acos", 7, unary, "floats"),
    KNI_ONNX_ROW("Acosh", 9, unary, "floats"),
    KNI_ONNX_ROW("Add", 1, binary, NUMBERS),
    KNI_ONNX_ROW("And", 1, binary, "bool"),
    KNI_ONNX_ROW("Asin", 7, unary, "floats"),
    KNI_ONNX_ROW("Asinh", 9, unary, "floats"),
    KNI_ONNX_ROW("Atan", 7, unary, "floats"),
    KNI_ONNX_ROW("Atanh", 9, unary, "floats"),
    KNI_ONNX_ROW("BitCast", 26, bit_cast, "floats integers bool stored"),
    KNI_ONNX_ROW("BitShift", 11, bit_shift, "integers"),
    KNI_ONNX_ROW("BitwiseAnd", 18, binary, "integers"),
    KNI_ONNX_ROW("BitwiseNot", 18, unary, "integers"),
    KNI_ONNX_ROW("BitwiseOr", 18, binary, "integers"),
    KNI_ONNX_ROW("BitwiseXor", 18, binary, "integers"),
    KNI_ONNX_ROW("Cast", 1, kni_convert_cast, "floats integers bool strings stored"),
    KNI_ONNX_ROW("CastLike", 15, kni_convert_cast_like, "floats integers bool strings stored"),
    KNI_ONNX_ROW("Ceil", 1, unary, "floats"),
    KNI_ONNX_ROW("Clip", 1, clip, NUMBERS),
    KNI_ONNX_ROW("Cos", 7, unary, "floats"),
    KNI_ONNX_ROW("Cosh", 9, unary, "floats"),
    KNI_ONNX_ROW("Div", 1, divide, NUMBERS),
    KNI_ONNX_ROW("Equal", 1, binary, "floats integers bool strings"),
    KNI_ONNX_ROW("Erf", 9, unary, NUMBERS),
    KNI_ONNX_ROW("Exp", 1, unary, "floats"),
    KNI_ONNX_ROW("Floor", 1, unary, "floats"),
    KNI_ONNX_ROW("Greater", 1, binary, NUMBERS),
    KNI_ONNX_ROW("GreaterOrEqual", 12, binary, NUMBERS),
    KNI_ONNX_ROW("IsInf", 10, is_infinite, "floats stored"),
    KNI_ONNX_ROW("IsNaN", 9, is_nan, "floats stored"),
    KNI_ONNX_ROW("Less", 1, binary, NUMBERS),
    KNI_ONNX_ROW("LessOrEqual", 12, binary, NUMBERS),
    KNI_ONNX_ROW("Log", 1, unary, "floats"),
    KNI_ONNX_ROW("Max", 1, variadic, NUMBERS),
    KNI_ONNX_ROW("Mean", 1, mean, "floats"),
    KNI_ONNX_ROW("Min", 1, variadic, NUMBERS),
    KNI_ONNX_ROW("Mod", 10, modulo, NUMBERS),
    KNI_ONNX_ROW("Mul", 1, binary, NUMBERS),
    KNI_ONNX_ROW("Neg", 1, unary, NUMBERS),
    KNI_ONNX_ROW("Not", 1, unary, "bool"),
    KNI_ONNX_ROW("Or", 1, binary, "bool"),
    KNI_ONNX_ROW("Pow", 1, power, NUMBERS),
    KNI_ONNX_ROW("Reciprocal", 1, unary, "floats"),
    KNI_ONNX_ROW("Round", 11, unary, "floats"),
    KNI_ONNX_ROW("Sign", 9, unary, NUMBERS),
    KNI_ONNX_ROW("Sin", 7, unary, "floats"),
    KNI_ONNX_ROW("Sinh", 9, unary, "floats"),
    KNI_ONNX_ROW("Sqrt", 1, unary, "floats"),
    KNI_ONNX_ROW("Sub", 1, binary, NUMBERS),
    KNI_ONNX_ROW("Sum", 1, sum, "floats"),
    KNI_ONNX_ROW("Tan", 7, unary, "floats"),
    KNI_ONNX_ROW("Where", 9, where, "floats integers bool strings stored"),
    KNI_ONNX_ROW("Xor", 1, binary, "bool"),
    {0},
};
