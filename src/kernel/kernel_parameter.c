/* What a user's kernel takes, as data. */
#include "kernel/user_kernel.h"

static bool describe(const kni_ir_signature *s, int32_t i, kn_kernel_parameter_info *info)
{
    if (i < 0 || i >= s->n_buffers + s->n_numbers) return false;
    if (i < s->n_buffers) {
        static const kn_kernel_role roles[] = {KN_KERNEL_IN, KN_KERNEL_INOUT, KN_KERNEL_OUT, KN_KERNEL_TEMP};
        *info = (kn_kernel_parameter_info){.name = s->buffers[i].name,
                                           .role = roles[s->buffers[i].role],
                                           .type = s->buffers[i].letter,
                                           .dtype = (kn_dtype)s->buffers[i].dtype};
        return true;
    }
    i -= s->n_buffers;
    *info = (kn_kernel_parameter_info){.name = s->numbers[i].name,
                                       .role = KN_KERNEL_NUMBER,
                                       .type = '.',
                                       .dtype = (kn_dtype)s->numbers[i].dtype,
                                       .count = (int32_t)s->numbers[i].count};
    return true;
}

bool kn_kernel_parameter(kn_kernel *kernel, int32_t i, kn_kernel_parameter_info *info)
{
    KNI_USE(user_kernel, k, kernel);
    if (!k) return false;
    if (!info) {
        kni_fail(KN_ERROR_ARGUMENT, "kn_kernel_parameter: the place for the answer is NULL");
        return false;
    }
    return describe(&k->signature, i, info);
}
