/* Failures of the parts above the tensors: one formatted text for kn_last_error(). */
#include "support/failure.h"
#include "core/objects.h"
#include "core/past.h"
#include "support/short_text.h"
#include <kn/custom_op.h>
#include <kn/tensor.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local kni_failure_held *holding;

/* Bytes of the UTF-8 character at text, 0 where there is none or it is a control character. */
static size_t plain_character(const unsigned char *text)
{
    unsigned char c = text[0];
    if (c < 0x80) return c >= 0x20 && c != 0x7F;
    size_t bytes = c >= 0xF0 && c < 0xF5 ? 4 : c >= 0xE0 && c < 0xF0 ? 3 : c >= 0xC2 && c < 0xE0 ? 2 : 0;
    for (size_t i = 1; i < bytes; i++)
        if ((text[i] & 0xC0) != 0x80) return 0;
    /* The second half of the controls. */
    return c == 0xC2 && text[1] < 0xA0 ? 0 : bytes;
}

static void escape(char *out, size_t n, const char *text, bool lines)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *p = (const unsigned char *)text;
    size_t at = 0;
    while (*p) {
        size_t bytes = lines && *p == '\n' ? 1 : plain_character(p);
        if (at + (bytes ? bytes : 4) >= n) break;
        if (bytes)
            memcpy(out + at, p, bytes);
        else {
            const char hexadecimal[] = {'\\', 'x', digits[*p >> 4], digits[*p & 15]};
            memcpy(out + at, hexadecimal, sizeof hexadecimal);
        }
        at += bytes ? bytes : 4;
        p += bytes ? bytes : 1;
    }
    if (n) out[at] = 0;
}

void kni_escape(char *out, size_t n, const char *text) { escape(out, n, text, false); }

static kn_status fail(kn_status code, const char *text)
{
    char plain[KNI_FAILURE_TEXT];
    escape(plain, sizeof plain, text, true);
    if (!holding) return kn_custom_fail(code, plain);
    memcpy(holding->text, plain, sizeof plain);
    holding->status = code;
    return code;
}

void kni_failure_hold(kni_failure_held *held)
{
    held->text[0] = 0;
    held->status = KN_OK;
    held->outer = holding;
    holding = held;
}

kn_tensor kni_failure_release(kni_failure_held *held, kn_status status, kn_tensor t)
{
    holding = held->outer;
    if (status == KN_OK) return t;
    /* Nothing was held where an op has failed and told of it already. */
    return kn_poison(status, held->text[0] ? held->text : NULL);
}

/* Takes the middle out of words that are longer than any name, so that a long path leaves room for what is wrong with it. */
static void shorten_words(char *text)
{
    enum { LONGEST = 160, HEAD = 60, TAIL = 90 };
    static const char mark[] = "...";
    char *to = text;
    for (const char *from = text; *from;) {
        size_t length = strcspn(from, " ");
        if (!length) length = 1;
        size_t head = HEAD, tail = TAIL;
        if (length > LONGEST) {
            while (head > 0 && ((unsigned char)from[head] & 0xC0) == 0x80) head--;
            while (tail > 0 && ((unsigned char)from[length - tail] & 0xC0) == 0x80) tail--;
            memmove(to, from, head);
            memcpy(to + head, mark, sizeof mark - 1);
            memmove(to + head + sizeof mark - 1, from + length - tail, tail);
            to += head + sizeof mark - 1 + tail;
        } else {
            memmove(to, from, length);
            to += length;
        }
        from += length;
    }
    *to = 0;
}

kn_status kni_failure(kn_status code, const char *format, ...)
{
    char text[8192]; /* a path may have 4096 */
    va_list arguments;
    va_start(arguments, format);
    if (vsnprintf(text, sizeof text, format, arguments) < 0) text[0] = 0;
    va_end(arguments);
    if (strlen(text) >= KNI_FAILURE_TEXT) shorten_words(text);
    kni_short_end(text, KNI_FAILURE_TEXT, strlen(text));
    return fail(code, text);
}

kn_status kni_failure_memory(const char *function)
{
    return kni_failure(KN_ERROR_MEMORY, "%s: out of memory", function);
}

kn_status kni_failure_of(kn_tensor t)
{
    if (kn_ok(t)) return KN_OK;
    kn_status code = kn_error_code(t);
    if (code == KN_OK) return kni_failure(KN_ERROR_HANDLE, "the tensor is none, dropped or taken");
    if (kni_tensor_past(t, NULL, 0) == KNI_PAST_ENDED) {
        char text[KNI_FAILURE_TEXT];
        kni_error_text(t, text, sizeof text);
        return fail(code, text);
    }
    code = kni_failure_again(t);
    return holding ? fail(code, kni_failure_latest()) : code;
}

kn_status kni_failure_dropped(kn_tensor t)
{
    kn_status s = kni_failure_of(t);
    if (s) kn_drop(t);
    return s;
}

static _Thread_local uint64_t damages;

void kni_damage_note(void) { damages++; }

uint64_t kni_damage_count(void) { return damages; }

kni_failure_mark kni_failure_mark_now(void) { return (kni_failure_mark){kni_error_number()}; }

kn_status kni_failure_since(kni_failure_mark before, kn_status status, const char *function)
{
    if (status == KN_OK || kni_error_number() != before.number) return status;
    /* What was held has not been told. */
    if (holding && holding->text[0]) return status;
    status = kni_told(before.number, status, function);
    return holding ? fail(status, kni_failure_taken()) : status;
}

const char *kni_number_text(char *text, double value)
{
    snprintf(text, KNI_NUMBER_TEXT, value != value ? "NaN" : "%g", value);
    return text;
}

kn_tensor kni_poisoned(kn_status code, const char *format, ...)
{
    char text[KNI_FAILURE_TEXT];
    va_list arguments;
    va_start(arguments, format);
    if (vsnprintf(text, sizeof text, format, arguments) < 0) text[0] = 0;
    va_end(arguments);
    char plain[KNI_FAILURE_TEXT];
    escape(plain, sizeof plain, text, true);
    return kn_poison(code, plain);
}
