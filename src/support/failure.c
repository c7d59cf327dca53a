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

kn_status kni_failure(kn_status code, const char *format, ...)
{
    char text[KNI_FAILURE_TEXT];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length < 0) text[0] = 0;
    if (length > 0) kni_short_end(text, sizeof text, (size_t)length);
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

kni_failure_mark kni_failure_mark_now(void)
{
    uint64_t mix = UINT64_C(0xcbf29ce484222325);
    for (const char *p = kni_failure_latest(); *p; p++)
        mix = (mix ^ (unsigned char)*p) * UINT64_C(0x100000001b3);
    return (kni_failure_mark){mix};
}

kn_status kni_failure_since(kni_failure_mark before, kn_status status, const char *function)
{
    if (status == KN_OK || kni_failure_mark_now().text != before.text) return status;
    char latest[KNI_FAILURE_TEXT / 2];
    snprintf(latest, sizeof latest, "%s", kni_failure_latest());
    /* The same failure twice has the same text, so that the text must not be lost. */
    return kni_failure(status, "%s returned %s and told no reason%s%s", function, kn_status_name(status),
                       *latest ? ", unless it is the latest error on this thread: " : "", latest);
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
