/* Numbers from text, whatever the locale: the whole text must be one number, with spaces around it allowed. */
#include "data/data_internal.h"
#include <locale.h>
#include <stdlib.h>
#include <string.h>

static bool is_space(char c) { return c == ' ' || c == '\t'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static void trim(const char **text, size_t *length)
{
    while (*length && is_space(**text)) ++*text, --*length;
    while (*length && is_space((*text)[*length - 1])) --*length;
}

bool kni_parse_int(const char *text, size_t length, int64_t *value)
{
    trim(&text, &length);
    bool negative = length && *text == '-';
    if (length && (*text == '-' || *text == '+')) text++, length--;
    if (!length) return false;
    int64_t v = 0;
    for (size_t i = 0; i < length; i++) {
        /* Downwards, because the most negative number has no positive twin. */
        if (!is_digit(text[i]) || __builtin_mul_overflow(v, 10, &v) ||
            __builtin_sub_overflow(v, text[i] - '0', &v))
            return false;
    }
    if (!negative && v == INT64_MIN) return false;
    *value = negative ? v : -v;
    return true;
}

static bool same_word(const char *text, size_t length, const char *word)
{
    if (strlen(word) != length) return false;
    for (size_t i = 0; i < length; i++)
        if ((text[i] | 32) != word[i]) return false;
    return true;
}

/* inf, infinity and nan in any case; the sign is gone already. */
static bool parse_word(const char *text, size_t length, double *value)
{
    if (same_word(text, length, "inf") || same_word(text, length, "infinity"))
        *value = __builtin_inf();
    else if (same_word(text, length, "nan"))
        *value = __builtin_nan("");
    else
        return false;
    return true;
}

/* strtod on a copy with the locale's decimal point. */
static bool parse_slowly(const char *text, size_t length, double *value)
{
    char small[128], *copy = length < sizeof small - 8 ? small : malloc(length + 8);
    if (!copy) return false;
    const char *point = localeconv()->decimal_point;
    size_t n = 0, wide = point ? strlen(point) : 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '.' && wide > 0 && wide < 7) {
            memcpy(copy + n, point, wide);
            n += wide;
        } else
            copy[n++] = text[i];
    }
    copy[n] = 0;
    char *end;
    *value = strtod(copy, &end);
    bool good = end == copy + n;
    if (copy != small) free(copy);
    return good;
}

static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

typedef struct decimal {
    uint64_t digits; /* the first 19 */
    int32_t count, shift, exponent;
} decimal;

/* Checks the grammar digits [. digits] [e [sign] digits] and collects the digits. */
static bool read_decimal(const char *text, size_t length, decimal *d)
{
    size_t i = 0;
    bool any = false, point = false;
    for (; i < length && (is_digit(text[i]) || (text[i] == '.' && !point)); i++) {
        if (text[i] == '.') {
            point = true;
            continue;
        }
        any = true;
        if (d->digits || text[i] != '0') d->count++;
        if (d->count <= 19) d->digits = d->digits * 10 + (uint64_t)(text[i] - '0');
        if (point && d->shift < 1000) d->shift++;
    }
    if (!any) return false;
    if (i == length) return true;
    if ((text[i] | 32) != 'e') return false;
    bool negative = ++i < length && text[i] == '-';
    if (i < length && (text[i] == '-' || text[i] == '+')) i++;
    if (i == length) return false;
    for (; i < length; i++) {
        if (!is_digit(text[i])) return false;
        if (d->exponent < 100000) d->exponent = d->exponent * 10 + (text[i] - '0');
    }
    if (negative) d->exponent = -d->exponent;
    return true;
}

bool kni_parse_real(const char *text, size_t length, double *value)
{
    trim(&text, &length);
    bool negative = length && *text == '-';
    if (length && (*text == '-' || *text == '+')) text++, length--;
    decimal d = {0};
    if (parse_word(text, length, value)) {
        if (negative) *value = -*value;
        return true;
    }
    if (!read_decimal(text, length, &d)) return false;
    int32_t power = d.exponent - d.shift;
    /* Both factors are exact doubles, so the one rounding of the product or quotient is the right one. */
    if (d.count <= 19 && d.digits <= (1ull << 53) && power >= -22 && power <= 22)
        *value = power < 0 ? (double)d.digits / powers[-power] : (double)d.digits * powers[power];
    else if (!parse_slowly(text, length, value))
        return false;
    if (negative) *value = -*value;
    return true;
}
