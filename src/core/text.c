/* The text builder behind every message. */
#include "core/text.h"
#include "core/dtype.h"
#include "core/type.h"
#include <kn/tensor.h>

void kni_text_char(kni_text *t, char c)
{
    if (t->length + 1 < t->capacity) {
        t->buffer[t->length] = c;
        t->buffer[t->length + 1] = 0;
    }
    t->length++;
}

void kni_text_string(kni_text *t, const char *s)
{
    for (s = s ? s : "(none)"; *s; s++) kni_text_char(t, *s);
}

static void unsigned_number(kni_text *t, uint64_t u)
{
    char digits[20];
    int n = 0;
    do digits[n++] = (char)('0' + u % 10);
    while (u /= 10);
    while (n > 0) kni_text_char(t, digits[--n]);
}

void kni_text_int(kni_text *t, int64_t value)
{
    if (value < 0) kni_text_char(t, '-');
    unsigned_number(t, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

/* Scales v > 0 to nine digits d with v = d * 10^(exponent - 8). */
static uint64_t nine_digits(double v, int *exponent)
{
    int e = 0;
    while (v >= 1e9) v /= 10, e++;
    while (v < 1e8) v *= 10, e--;
    uint64_t d = (uint64_t)(v + 0.5);
    if (d >= 1000000000u) d /= 10, e++;
    *exponent = e + 8;
    return d;
}

void kni_text_double(kni_text *t, double v)
{
    if (v != v) {
        kni_text_string(t, "nan");
        return;
    }
    if (v < 0) kni_text_char(t, '-'), v = -v;
    if (v > 1.7976931348623157e308) {
        kni_text_string(t, "inf");
        return;
    }
    if (v == 0) {
        kni_text_char(t, '0');
        return;
    }
    int exponent, digits = 9;
    uint64_t d = nine_digits(v, &exponent);
    while (d % 10 == 0 && digits > 1) d /= 10, digits--;
    char text[10];
    for (int i = digits - 1; i >= 0; i--) text[i] = (char)('0' + d % 10), d /= 10;
    bool scientific = exponent < -5 || exponent > 15;
    int point = scientific ? 1 : exponent + 1;
    if (point <= 0) {
        kni_text_string(t, "0.");
        for (int i = point; i < 0; i++) kni_text_char(t, '0');
    }
    for (int i = 0; i < digits || i < point; i++) {
        if (i == point && point > 0) kni_text_char(t, '.');
        kni_text_char(t, i < digits ? text[i] : '0');
    }
    if (scientific) {
        kni_text_char(t, 'e');
        kni_text_int(t, exponent);
    }
}

void kni_text_dims(kni_text *t, int32_t rank, const int64_t *dims)
{
    /* A user's shape may claim a rank that it has no sizes for. */
    if (rank < 0 || rank > KN_MAX_RANK) {
        kni_text_format(t, "[a shape of rank %d]", (int)rank);
        return;
    }
    kni_text_char(t, '[');
    for (int32_t i = 0; i < rank; i++) {
        if (i) kni_text_string(t, ", ");
        kni_dim_print(t, dims[i]);
    }
    kni_text_char(t, ']');
}

static void one_field(kni_text *t, char kind, va_list *a)
{
    switch (kind) {
    case 's':
        kni_text_string(t, va_arg(*a, const char *));
        break;
    case 'd':
        kni_text_int(t, va_arg(*a, int32_t));
        break;
    case 'D':
        kni_dim_print(t, va_arg(*a, int64_t));
        break;
    case 'u':
        unsigned_number(t, va_arg(*a, uint32_t));
        break;
    case 'g':
        kni_text_double(t, va_arg(*a, double));
        break;
    case 'T':
        kni_text_string(t, kn_dtype_name((kn_dtype)va_arg(*a, int)));
        break;
    case 'S': {
        const kni_type *type = va_arg(*a, const kni_type *);
        kni_text_dims(t, type->rank, type->dims);
        break;
    }
    case 'N': {
        const kn_shape *shape = va_arg(*a, const kn_shape *);
        kni_text_dims(t, shape->rank, shape->dims);
        break;
    }
    default:
        kni_text_char(t, kind);
        break;
    }
}

void kni_text_format_list(kni_text *t, const char *format, va_list arguments)
{
    va_list a;
    va_copy(a, arguments);
    for (const char *f = format; *f; f++) {
        if (*f == '%' && f[1])
            one_field(t, *++f, &a);
        else
            kni_text_char(t, *f);
    }
    va_end(a);
}

void kni_text_format(kni_text *t, const char *format, ...)
{
    va_list a;
    va_start(a, format);
    kni_text_format_list(t, format, a);
    va_end(a);
}
