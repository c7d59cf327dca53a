/* Casts between numbers and texts, on the host: the shortest digits that mean the number, as NumPy writes them, and any decimal or
   scientific notation back. */
#include "onnx/convert/convert_numbers.h"
#include <kn/tensor.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 40, LONGEST = 400 };

/* ---- numbers to texts */

/* strtod and snprintf write the point of the locale. */
static double read_decimal(const char *digits)
{
    char copy[LONGEST + 1];
    size_t n = strlen(digits);
    if (n > LONGEST) return 0;
    memcpy(copy, digits, n + 1);
    char *point = strchr(copy, '.');
    if (point) *point = localeconv()->decimal_point[0];
    return strtod(copy, NULL);
}

/* Half of the distance between an f16 and its neighbours. */
static double half_step(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    int exponent = (int)(bits >> 52 & 0x7FF) - 1023;
    if (exponent < -14) exponent = -14;
    bits = (uint64_t)(exponent - 11 + 1023) << 52;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* bf16 is written as the f32 that it is. */
static bool means(const char *digits, double value, kn_dtype dtype)
{
    double read = read_decimal(digits), apart = read < value ? value - read : read - value;
    if (dtype == KN_F64) return read == value;
    return kni_is_half(dtype) && !kni_is_brain(dtype) ? apart < half_step(value)
                                                      : (float)read == (float)value;
}

/* Digits and exponent of the shortest "d.ddde+xx" that means the number. */
static int shortest_digits(double value, kn_dtype dtype, char digits[ROOM])
{
    char text[ROOM];
    for (int precision = 0; precision <= 16; precision++) {
        snprintf(text, sizeof text, "%.*e", precision, value);
        char *point = strchr(text, localeconv()->decimal_point[0]);
        if (point) *point = '.';
        if (means(text, value, dtype)) break;
    }
    int n = 0;
    const char *at = text;
    for (; *at && *at != 'e'; at++)
        if (*at >= '0' && *at <= '9') digits[n++] = *at;
    digits[n] = 0;
    return *at ? atoi(at + 1) : 0;
}

/* From 0.0001 to below 1e16 plainly, else with an exponent. */
static int write_real(double value, kn_dtype dtype, char *text, size_t room)
{
    if (value != value) return snprintf(text, room, "nan");
    const char *sign = __builtin_signbit(value) ? "-" : "";
    if (value < 0) value = -value;
    if (value - value != 0) return snprintf(text, room, "%sinf", sign);
    if (value == 0) return snprintf(text, room, "%s0.0", sign);
    char digits[ROOM];
    int exponent = shortest_digits(value, dtype, digits), n = (int)strlen(digits);
    if (exponent < -4 || exponent >= 16)
        return snprintf(text, room, "%s%c%s%se%c%02d", sign, digits[0], n > 1 ? "." : "", digits + 1,
                        exponent < 0 ? '-' : '+', exponent < 0 ? -exponent : exponent);
    if (exponent < 0) return snprintf(text, room, "%s0.%.*s%s", sign, -exponent - 1, "000", digits);
    if (n <= exponent + 1)
        return snprintf(text, room, "%s%s%.*s.0", sign, digits, exponent + 1 - n, "0000000000000000");
    return snprintf(text, room, "%s%.*s.%s", sign, exponent + 1, digits, digits + exponent + 1);
}

static int write_whole(int64_t value, kn_dtype dtype, char *text, size_t room)
{
    if (kni_is_bool(dtype)) return snprintf(text, room, "%s", value ? "True" : "False");
    if (dtype == KN_U64) return snprintf(text, room, "%llu", (unsigned long long)(uint64_t)value);
    return snprintf(text, room, "%lld", (long long)value);
}

kni_datum kni_texts_of_numbers(kni_conversion *c, kni_datum x)
{
    kn_dtype dtype = kni_dtype_of(c, x);
    bool whole = kni_is_whole(dtype);
    kni_extent sizes[KN_MAX_RANK];
    int32_t rank = kni_extents_of(c, x, sizes);
    int64_t n = 0;
    if (!whole && kn_dtype_is_stored(dtype)) x = kni_cast_to(c, x, dtype = KN_F32);
    const int64_t *ints = whole ? kni_known_ints(c, x, "the numbers", &n) : NULL;
    const double *reals = whole ? NULL : kni_known_reals(c, x, "the numbers", &n);
    if (kni_convert_failed(c)) return KNI_ABSENT;
    kni_onnx_text *texts = kni_convert_memory(c, (size_t)(n + 1), sizeof *texts);
    char(*room)[ROOM] = kni_convert_memory(c, (size_t)(n + 1), sizeof *room);
    for (int64_t i = 0; texts && room && i < n; i++) {
        int length = whole ? write_whole(ints[i], dtype, room[i], sizeof *room)
                           : write_real(reals[i], dtype, room[i], sizeof *room);
        texts[i] = (kni_onnx_text){room[i], (size_t)length};
    }
    return texts && room ? kni_strings(c, texts, sizes, rank) : KNI_ABSENT;
}

/* ---- texts to numbers */

static bool same_word(const char *text, const char *word)
{
    for (; *text && *word; text++, word++)
        if ((*text >= 'A' && *text <= 'Z' ? *text - 'A' + 'a' : *text) != *word) return false;
    return !*text && !*word;
}

/* Without the spaces around it and the sign; false where it is too long or has bytes of 0. */
static bool plain_copy(const kni_onnx_text *text, char copy[LONGEST + 1], bool *negative)
{
    const char *from = text->data, *end = text->data + text->bytes;
    while (from < end && (*from == ' ' || *from == '\t' || *from == '\n' || *from == '\r')) from++;
    while (end > from && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\n' || end[-1] == '\r')) end--;
    *negative = from < end && *from == '-';
    if (from < end && (*from == '-' || *from == '+')) from++;
    size_t n = (size_t)(end - from);
    if (n == 0 || n > LONGEST || memchr(from, 0, n)) return false;
    memcpy(copy, from, n);
    copy[n] = 0;
    return true;
}

/* Digits, at most one point, at most one exponent. */
static bool is_decimal(const char *at)
{
    int digits = 0, points = 0;
    for (; (*at >= '0' && *at <= '9') || *at == '.'; at++) *at == '.' ? points++ : digits++;
    if (digits == 0 || points > 1) return false;
    if (*at != 'e' && *at != 'E') return !*at;
    at++;
    if (*at == '+' || *at == '-') at++;
    if (!*at) return false;
    while (*at >= '0' && *at <= '9') at++;
    return !*at;
}

static bool parse_real(const kni_onnx_text *text, double *value)
{
    char copy[LONGEST + 1];
    bool negative;
    if (!plain_copy(text, copy, &negative)) return false;
    if (same_word(copy, "inf") || same_word(copy, "infinity"))
        *value = __builtin_inf();
    else if (same_word(copy, "nan"))
        *value = __builtin_nan("");
    else if (is_decimal(copy))
        *value = read_decimal(copy);
    else
        return false;
    if (negative) *value = -*value;
    return true;
}

/* Whole numbers of 64 bits, exactly; u64 as its bits. What has a fraction or an exponent is cut. */
static bool parse_whole(const kni_onnx_text *text, int64_t *value)
{
    char copy[LONGEST + 1];
    bool negative;
    if (!plain_copy(text, copy, &negative)) return false;
    uint64_t sum = 0;
    const char *at = copy;
    for (; *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(sum, 10, &sum) || __builtin_add_overflow(sum, (uint64_t)(*at - '0'), &sum))
            return false;
    if (!*at) {
        *value = (int64_t)(negative ? 0 - sum : sum);
        return true;
    }
    double real;
    if (!parse_real(text, &real) || !(real > -0x1p63 && real < 0x1p63)) return false;
    *value = (int64_t)real;
    return true;
}

static bool parse_truth(const kni_onnx_text *text, int64_t *value)
{
    char copy[LONGEST + 1];
    bool negative;
    double real;
    if (!plain_copy(text, copy, &negative)) return false;
    if (same_word(copy, "true") || same_word(copy, "false"))
        *value = copy[0] == 't' || copy[0] == 'T';
    else if (parse_real(text, &real))
        *value = real != 0;
    else
        return false;
    return true;
}

kni_datum kni_numbers_of_texts(kni_conversion *c, kni_datum x, kn_dtype dtype)
{
    bool whole = kni_is_whole(dtype);
    kni_extent extents[KN_MAX_RANK];
    int64_t n = 0, sizes[KN_MAX_RANK];
    int32_t rank = kni_extents_of(c, x, extents);
    for (int32_t i = 0; i < rank; i++) sizes[i] = extents[i].value;
    const kni_onnx_text *texts = kni_known_strings(c, x, &n);
    union {
        int64_t whole;
        double real;
    } *values = kni_convert_memory(c, (size_t)(n + 1), sizeof *values);
    for (int64_t i = 0; texts && values && i < n; i++) {
        bool good = !whole               ? parse_real(&texts[i], &values[i].real)
                    : kni_is_bool(dtype) ? parse_truth(&texts[i], &values[i].whole)
                                         : parse_whole(&texts[i], &values[i].whole);
        if (!good) {
            kni_convert_fail(c, KN_ERROR_ARGUMENT, "'%.*s' is no number of type %s",
                             texts[i].bytes < 60 ? (int)texts[i].bytes : 60, texts[i].data,
                             kn_dtype_name(dtype));
            return KNI_ABSENT;
        }
    }
    if (!texts || !values) return KNI_ABSENT;
    return kni_cast_to(c, kni_constant(c, values, whole ? KN_I64 : KN_F64, sizes, rank), dtype);
}
