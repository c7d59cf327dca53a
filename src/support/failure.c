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

kn_tensor kni_poisoned(kn_status code, const char *format, ...)
{
    char text[LONGEST];
    va_list arguments;
    va_start(arguments, format);
    if (vsnprintf(text, sizeof text, format, arguments) < 0) text[0] = 0;
    va_end(arguments);
    return kn_poison(code, text);
}
