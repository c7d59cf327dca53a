/* A growing buffer of bytes, always with a 0 behind them. A failed allocation is remembered: later calls do nothing, and the
   user asks once at the end. */
#ifndef KNI_SUPPORT_BUFFER_H
#define KNI_SUPPORT_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct kni_buffer {
    char *data; /* NULL while empty */
    size_t length, capacity;
    bool failed;
} kni_buffer;

void kni_buffer_free(kni_buffer *b);
void kni_buffer_clear(kni_buffer *b);
/* Makes room for extra bytes behind the length. */
bool kni_buffer_reserve(kni_buffer *b, size_t extra);
void kni_buffer_append(kni_buffer *b, const void *data, size_t bytes);
void kni_buffer_text(kni_buffer *b, const char *text);
/* A whole number in decimal digits, and one as 8 hexadecimal digits: much faster than the next one. */
void kni_buffer_decimal(kni_buffer *b, int64_t value);
void kni_buffer_hexadecimal(kni_buffer *b, uint32_t value);
/* As printf does. */
void kni_buffer_format(kni_buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The text, "" when empty. */
const char *kni_buffer_string(const kni_buffer *b);
/* Copies the text into a caller's buffer of n bytes, cut and with a final 0; returns the length of it all. */
size_t kni_buffer_copy(const kni_buffer *b, char *out, size_t n);

#endif
