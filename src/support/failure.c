/* Failures of the parts above the tensors: one formatted text for kn_last_error(). */
#include "support/failure.h"
#include <kn/custom_op.h>
#include <kn/tensor.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local kni_failure_held *holding;

static void escape(char *out, size_t n, const char *text, bool lines)
{
    static const char digits[] = "0123456789abcdef";
    size_t at = 0;
    for (; *text && at + 1 < n; text++) {
        unsigned char c = (unsigned char)*text, next = (unsigned char)text[1];
        /* The second half of the controls is two bytes in UTF-8. */
        bool wide = c == 0xC2 && next >= 0x80 && next < 0xA0;
        if ((c >= 0x20 && c != 0x7F && !wide) || (lines && c == '\n')) {
            out[at++] = (char)c;
            continue;
        }
        if (wide) c = (unsigned char)*++text;
        if (at + 5 > n) break;
        out[at++] = '\\';
        out[at++] = 'x';
        out[at++] = digits[c >> 4];
        out[at++] = digits[c & 15];
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
    return code;
}

void kni_failure_hold(kni_failure_held *held)
{
    held->text[0] = 0;
    held->outer = holding;
    holding = held;
}

kn_tensor kni_failure_release(kni_failure_held *held, kn_status status, kn_tensor t)
{
    holding = held->outer;
    if (status == KN_OK) return t;
    /* Nothing was held where an op has failed and told of it already. */
    return kn_poison(status, held->text[0] ? held->text : kn_last_error());
}

kn_status kni_failure(kn_status code, const char *format, ...)
{
    char text[KNI_FAILURE_TEXT];
    va_list arguments;
    va_start(arguments, format);
    if (vsnprintf(text, sizeof text, format, arguments) < 0) text[0] = 0;
    va_end(arguments);
    return fail(code, text);
}

kn_status kni_failure_memory(const char *function)
{
    return kni_failure(KN_ERROR_MEMORY, "%s: out of memory", function);
}

kn_status kni_failure_of(kn_tensor t)
{
    if (kn_ok(t)) return KN_OK;
    char text[KNI_FAILURE_TEXT];
    kn_status code = kn_error_code(t);
    if (code == KN_OK) return kni_failure(KN_ERROR_HANDLE, "the tensor is none, dropped or taken");
    kn_error_text(t, text, sizeof text);
    return fail(code, text);
}

kni_failure_mark kni_failure_mark_now(void)
{
    uint64_t mix = UINT64_C(0xcbf29ce484222325);
    for (const char *p = kn_last_error(); *p; p++) mix = (mix ^ (unsigned char)*p) * UINT64_C(0x100000001b3);
    return (kni_failure_mark){mix};
}

kn_status kni_failure_since(kni_failure_mark before, kn_status status, const char *function)
{
    if (status == KN_OK || kni_failure_mark_now().text != before.text) return status;
    char latest[KNI_FAILURE_TEXT / 2];
    snprintf(latest, sizeof latest, "%s", kn_last_error());
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
