/* A growing text without stdio, for sources and prints of IR. Doubles are written exactly: the shortest decimal that
   reads back as the same number, found with whole numbers of as many digits as it takes. */
#include "core/allocator.h"
#include "ir/ir.h"
#include <stdarg.h>
#include <string.h>

static void put(kni_ir_text *t, const char *s, size_t n)
{
    if (t->failed) return;
    if (n >= t->room - t->length) {
        size_t room = t->room ? t->room : 256;
        while (room - t->length <= n && room <= SIZE_MAX / 2) room *= 2;
        char *data = room - t->length > n ? kni_reallocate(t->data, t->room, room) : NULL;
        if (!data) {
            t->failed = true;
            return;
        }
        t->data = data;
        t->room = room;
    }
    memcpy(t->data + t->length, s, n);
    t->length += n;
    t->data[t->length] = 0;
}

static void put_unsigned(kni_ir_text *t, uint64_t u)
{
    char digits[20];
    size_t n = sizeof digits;
    do digits[--n] = (char)('0' + u % 10);
    while (u /= 10);
    put(t, digits + n, sizeof digits - n);
}

static void put_signed(kni_ir_text *t, int64_t v)
{
    if (v < 0) put(t, "-", 1);
    put_unsigned(t, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

/* ---- whole numbers of up to 1,120 bits, the lowest word first */
enum { WORDS = 36 };
typedef struct big {
    uint32_t w[WORDS];
} big;

static void big_multiply(big *x, uint32_t by)
{
    uint64_t carry = 0;
    for (int i = 0; i < WORDS; i++) {
        carry += (uint64_t)x->w[i] * by;
        x->w[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

static void big_shift(big *x, int bits)
{
    for (; bits >= 31; bits -= 31) big_multiply(x, 1u << 31);
    big_multiply(x, 1u << bits);
}

static void big_add(big *x, const big *y)
{
    uint64_t carry = 0;
    for (int i = 0; i < WORDS; i++) {
        carry += (uint64_t)x->w[i] + y->w[i];
        x->w[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

static void big_subtract(big *x, const big *y)
{
    int64_t carry = 0;
    for (int i = 0; i < WORDS; i++) {
        carry += (int64_t)x->w[i] - y->w[i];
        x->w[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

static int big_compare(const big *x, const big *y)
{
    for (int i = WORDS - 1; i >= 0; i--)
        if (x->w[i] != y->w[i]) return x->w[i] < y->w[i] ? -1 : 1;
    return 0;
}

/* Digits of v > 0 with v = 0.d1d2d3... * 10^exponent: value / scale is what is left, and digits stop as soon as what
   was written lies between the middles to the neighbours of v (Steele and White). */
static int shortest_digits(double v, char digits[20], int *exponent)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    uint64_t mantissa = bits & (((uint64_t)1 << 52) - 1);
    int e = (int)(bits >> 52 & 0x7ff);
    bool lowest = mantissa == 0 && e > 1, even = !(mantissa & 1);
    if (e) mantissa |= (uint64_t)1 << 52;
    e = (e ? e : 1) - 1075;
    big value = {{(uint32_t)(mantissa << 2), (uint32_t)(mantissa >> 30)}}, scale = {{4}};
    big below = {{lowest ? 1 : 2}}, above = {{2}};
    if (e >= 0)
        big_shift(&value, e), big_shift(&below, e), big_shift(&above, e);
    else
        big_shift(&scale, -e);
    int k = 0;
    for (;; k++) {
        big top = value;
        big_add(&top, &above);
        int c = big_compare(&top, &scale);
        if (c < 0 || (c == 0 && !even)) break;
        big_multiply(&scale, 10);
    }
    int n = 0;
    for (;;) {
        big_multiply(&value, 10), big_multiply(&below, 10), big_multiply(&above, 10);
        int digit = 0;
        while (big_compare(&value, &scale) >= 0) big_subtract(&value, &scale), digit++;
        if (n == 0 && digit == 0 && k <= 0) {
            big top = value;
            big_add(&top, &above);
            int c = big_compare(&top, &scale);
            if (c < 0 || (c == 0 && !even)) {
                k--;
                continue;
            }
        }
        big top = value;
        big_add(&top, &above);
        int low = big_compare(&value, &below), high = big_compare(&top, &scale);
        bool can_stop = even ? low <= 0 : low < 0, can_rise = even ? high >= 0 : high > 0;
        if (!can_stop && !can_rise) {
            digits[n++] = (char)('0' + digit);
            continue;
        }
        big twice = value;
        big_add(&twice, &value);
        if (can_rise && (!can_stop || big_compare(&twice, &scale) >= 0)) digit++;
        digits[n++] = (char)('0' + digit);
        break;
    }
    *exponent = k;
    return n;
}

static void put_double(kni_ir_text *t, double v)
{
    if (v != v) {
        put(t, "nan", 3);
        return;
    }
    if (__builtin_signbit(v)) put(t, "-", 1), v = -v;
    if (v > 1.7976931348623157e308 || v == 0) {
        put(t, v == 0 ? "0.0" : "inf", 3);
        return;
    }
    char digits[20];
    int k, n = shortest_digits(v, digits, &k);
    if (k > -5 && k <= 0) {
        put(t, "0.0000", (size_t)(2 - k));
        put(t, digits, (size_t)n);
    } else if (k > 0 && k <= 17) {
        put(t, digits, (size_t)(n < k ? n : k));
        for (int i = n; i < k; i++) put(t, "0", 1);
        put(t, ".", 1);
        if (n > k)
            put(t, digits + k, (size_t)(n - k));
        else
            put(t, "0", 1);
    } else {
        put(t, digits, 1);
        if (n > 1) put(t, ".", 1), put(t, digits + 1, (size_t)(n - 1));
        put(t, "e", 1);
        put_signed(t, k - 1);
    }
}

void kni_ir_text_add(kni_ir_text *t, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    for (const char *s = format; *s;) {
        size_t plain = strcspn(s, "%");
        put(t, s, plain);
        s += plain;
        if (!*s) break;
        s++;
        if (*s == 's') {
            const char *string = va_arg(arguments, const char *);
            put(t, string, strlen(string));
        } else if (*s == 'd') {
            put_signed(t, va_arg(arguments, int));
        } else if (*s == 'u') {
            put_unsigned(t, va_arg(arguments, unsigned));
        } else if (*s == 'c') {
            char c = (char)va_arg(arguments, int);
            put(t, &c, 1);
        } else if (*s == 'r') {
            put_double(t, va_arg(arguments, double));
        } else if (!strncmp(s, "lld", 3)) {
            put_signed(t, va_arg(arguments, long long));
            s += 2;
        } else if (!strncmp(s, "llu", 3)) {
            put_unsigned(t, va_arg(arguments, unsigned long long));
            s += 2;
        } else {
            put(t, "%", 1);
            if (*s != '%') continue;
        }
        s++;
    }
    va_end(arguments);
}

void kni_ir_text_add_bytes(kni_ir_text *t, const void *bytes, size_t n)
{
    if (n) put(t, bytes, n);
}

void kni_ir_text_free(kni_ir_text *t)
{
    if (t->data) kni_free(t->data, t->room);
    *t = (kni_ir_text){0};
}
