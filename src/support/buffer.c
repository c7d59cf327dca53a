/* The growing buffer: doubles its room, remembers a failed allocation. */
#include "support/buffer.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void kni_buffer_free(kni_buffer *b)
{
    free(b->data);
    *b = (kni_buffer){0};
}

void kni_buffer_clear(kni_buffer *b)
{
    b->length = 0;
    b->failed = false;
    if (b->data) b->data[0] = 0;
}

bool kni_buffer_reserve(kni_buffer *b, size_t extra)
{
    if (b->failed) return false;
    if (b->capacity > b->length && b->capacity - b->length > extra) return true;
    if (extra > SIZE_MAX / 2 - 64 - b->length) {
        b->failed = true;
        return false;
    }
    size_t wanted = b->length + extra + 1, capacity = b->capacity < 64 ? 64 : b->capacity;
    while (capacity < wanted) capacity += capacity / 2 < wanted - capacity ? wanted - capacity : capacity / 2;
    char *data = realloc(b->data, capacity);
    if (!data) {
        b->failed = true;
        return false;
    }
    b->data = data;
    b->capacity = capacity;
    b->data[b->length] = 0;
    return true;
}

void kni_buffer_append(kni_buffer *b, const void *data, size_t bytes)
{
    if (bytes == 0 || !kni_buffer_reserve(b, bytes)) return;
    memcpy(b->data + b->length, data, bytes);
    b->length += bytes;
    b->data[b->length] = 0;
}

void kni_buffer_text(kni_buffer *b, const char *text) { kni_buffer_append(b, text, strlen(text)); }

void kni_buffer_decimal(kni_buffer *b, int64_t value)
{
    char digits[24];
    size_t at = sizeof digits;
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do digits[--at] = (char)('0' + left % 10);
    while (left /= 10);
    if (value < 0) digits[--at] = '-';
    kni_buffer_append(b, digits + at, sizeof digits - at);
}

void kni_buffer_hexadecimal(kni_buffer *b, uint32_t value)
{
    char digits[8];
    for (int i = 0; i < 8; i++) digits[i] = "0123456789abcdef"[value >> (28 - 4 * i) & 15];
    kni_buffer_append(b, digits, sizeof digits);
}

void kni_buffer_format(kni_buffer *b, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0)
        b->failed = true;
    else if (kni_buffer_reserve(b, (size_t)length)) {
        vsnprintf(b->data + b->length, (size_t)length + 1, format, again);
        b->length += (size_t)length;
    }
    va_end(again);
}

const char *kni_buffer_string(const kni_buffer *b) { return b->data ? b->data : ""; }

size_t kni_buffer_copy(const kni_buffer *b, char *out, size_t n)
{
    if (out && n) {
        size_t length = b->length < n - 1 ? b->length : n - 1;
        if (length) memcpy(out, b->data, length);
        out[length] = 0;
    }
    return b->length;
}
