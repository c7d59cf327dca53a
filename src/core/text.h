/* A small text builder: the library formats its messages without stdio, so that a freestanding program
   links none of it. */
#ifndef KNI_TEXT_H
#define KNI_TEXT_H

#include <kn/base.h>
#include <stdarg.h>

/* Text grows past the capacity in length only; the buffer always ends in 0. */
typedef struct kni_text {
    char *buffer;
    size_t capacity, length;
} kni_text;

void kni_text_char(kni_text *t, char c);
void kni_text_string(kni_text *t, const char *s);
void kni_text_int(kni_text *t, int64_t value);
/* At most nine significant digits, trailing zeros cut: 0.5, 1e-05, nan, inf. */
void kni_text_double(kni_text *t, double value);
/* [2, 3]; symbolic dims print as expressions. */
void kni_text_dims(kni_text *t, int32_t rank, const int64_t *dims);

/* %s string, %d int32_t, %D int64_t, %u uint32_t, %g double, %T kn_dtype (as int), %S const kni_type *,
   %N const kn_shape *, %% percent. */
void kni_text_format(kni_text *t, const char *format, ...);
void kni_text_format_list(kni_text *t, const char *format, va_list arguments);

#endif
