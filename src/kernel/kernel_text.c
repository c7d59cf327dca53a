/* The text that a target gets of a user's kernel, for people who want to see it. */
#include "kernel/user_kernel.h"
#include <string.h>

static const struct {
    const char *name;
    kni_ir_caps caps;
} targets[] = {
    {"c",
     {.dialect = KNI_IR_C,
      .f64 = true,
      .i64 = true,
      .half_storage = true,
      .atomics = true,
      .subgroup = 1,
      .max_workgroup = 1024,
      .shared_bytes = 1 << 16,
      .vector_bytes = 16}},
    {"cuda",
     {.dialect = KNI_IR_CUDA,
      .f64 = true,
      .i64 = true,
      .half_storage = true,
      .subgroups = true,
      .atomics = true,
      .float_atomics = true,
      .tiles = true,
      .subgroup = 32,
      .max_workgroup = 1024,
      .shared_bytes = 48 << 10,
      .vector_bytes = 16}},
    {"opencl",
     {.dialect = KNI_IR_OPENCL,
      .f64 = true,
      .i64 = true,
      .half_storage = true,
      .atomics = true,
      .subgroup = 1,
      .max_workgroup = 256,
      .shared_bytes = 32 << 10,
      .vector_bytes = 16}},
    {"wgsl",
     {.dialect = KNI_IR_WGSL,
      .narrow = true,
      .no_bytes = true,
      .no_aliases = true,
      .atomics = true,
      .subgroup = 1,
      .max_workgroup = 256,
      .shared_bytes = 16 << 10,
      .vector_bytes = 16}},
};

static kn_status write_for(kni_ir *ir, const char *target, kni_ir_text *text)
{
    if (!strcmp(target, "ir")) return kni_ir_print(ir, text);
    for (int i = 0; i < KNI_COUNT(targets); i++) {
        if (strcmp(target, targets[i].name)) continue;
        kn_status s = kni_ir_simplify(ir);
        if (s == KN_OK) s = kni_ir_legalise(ir, &targets[i].caps);
        return s == KN_OK ? kni_ir_emit(ir, &targets[i].caps, text) : s;
    }
    return kni_fail(KN_ERROR_ARGUMENT, "kn_kernel_text: no target '%s': ir, c, cuda, opencl or wgsl", target);
}

const char *kn_kernel_target(int32_t i) { return i >= 0 && i < KNI_COUNT(targets) ? targets[i].name : NULL; }

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
