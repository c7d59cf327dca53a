/* Failures of the parts above the tensors: one formatted text for kn_last_error(). */
#include "support/failure.h"
#include <kn/custom_op.h>
#include <kn/tensor.h>
#include <stdarg.h>
#include <stdio.h>

enum { LONGEST = 600 };

kn_status kni_failure(kn_status code, const char *format, ...)
{
    char text[LONGEST];
    va_list arguments;
    va_start(arguments, format);
    if (vsnprintf(text, sizeof text, format, arguments) < 0) text[0] = 0;
    va_end(arguments);
    return kn_custom_fail(code, text);
}

kn_status kni_failure_memory(const char *function)
{
    return kni_failure(KN_ERROR_MEMORY, "%s: out of memory", function);
}

kn_status kni_failure_of(kn_tensor t)
{
    if (kn_ok(t)) return KN_OK;
    char text[LONGEST];
    kn_status code = kn_error_code(t);
    if (code == KN_OK) return kni_failure(KN_ERROR_HANDLE, "the tensor is none, dropped or taken");
    kn_error_text(t, text, sizeof text);
    return kn_custom_fail(code, text);
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
    char latest[LONGEST / 2];
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
    char text[LONGEST];
    va_list arguments;
    va_start(arguments, format);
    if (vsnprintf(text, sizeof text, format, arguments) < 0) text[0] = 0;
    va_end(arguments);
    return kn_poison(code, text);
}
