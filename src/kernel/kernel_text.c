/* The text that a target gets of a user's kernel, for people who want to see it. */
#include "core/text.h"
#include "ir/emitter.h"
#include "kernel/user_kernel.h"
#include <string.h>

static kn_status write_for(kni_ir *ir, const char *target, kni_ir_text *text)
{
    if (!strcmp(target, "ir")) return kni_ir_print(ir, text);
    for (int i = 0; i < KNI_IR_DIALECTS; i++) {
        const kni_dialect *d = kni_dialect_of(i);
        if (!d->target || strcmp(target, d->target)) continue;
        kn_status s = kni_ir_simplify(ir);
        if (s == KN_OK) s = kni_ir_legalise(ir, &d->typical);
        return s == KN_OK ? kni_ir_emit(ir, &d->typical, text) : s;
    }
    char names[120];
    kni_text list = {names, sizeof names, 0};
    for (int32_t i = 0; kn_kernel_target(i); i++) kni_text_format(&list, ", %s", kn_kernel_target(i));
    return kni_fail(KN_ERROR_ARGUMENT, "kn_kernel_text: no target '%s': ir%s", target, names);
}

const char *kn_kernel_target(int32_t i)
{
    for (int dialect = 0; dialect < KNI_IR_DIALECTS && i >= 0; dialect++) {
        const char *name = kni_dialect_of(dialect)->target;
        if (name && i-- == 0) return name;
    }
    return NULL;
}

int64_t kn_kernel_text(kn_kernel *kernel, const char *target, char *buffer, size_t bytes)
{
    KNI_USE(user_kernel, k, kernel);
    if (!k) return -1;
    if (!target || (bytes && !buffer)) {
        kni_fail(KN_ERROR_ARGUMENT, "kn_kernel_text: the target or the buffer is NULL");
        return -1;
    }
    kni_ir *ir = kni_kernel_ir(k, 0, NULL);
    if (!ir) return -1;
    kni_ir_text text = {0};
    kn_status s = write_for(ir, target, &text);
    int64_t length = s == KN_OK && !text.failed ? (int64_t)text.length : -1;
    if (s == KN_OK && text.failed) kni_fail(KN_ERROR_MEMORY, "kn_kernel_text: no memory for the text");
    if (length >= 0 && bytes) {
        size_t n = text.length < bytes ? text.length : bytes - 1;
        memcpy(buffer, text.data, n);
        buffer[n] = 0;
    }
    kni_ir_text_free(&text);
    kni_ir_free(ir);
    return length;
}
