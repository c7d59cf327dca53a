/* Tensors of a file as Kiln's: in place where they are aligned, and unpacked where several elements share a byte. */
#include "onnx/run/file_tensor.h"
#include "core/small_types.h"
#include "support/failure.h"
#include <kn/tensor.h>
#include <stdlib.h>
#include <string.h>

static kn_tensor refused(const kni_onnx_tensor *tensor, void (*release)(void *), void *context)
{
    if (release) release(context);
    return kni_poisoned(KN_ERROR_UNSUPPORTED, "tensor '%s' of %s and rank %d: no such tensors are supported",
                        tensor->name, kni_onnx_type_name(tensor->type), tensor->rank);
}

/* Elements of `bits` bits, the first in the lowest ones, one to a byte. */
static kn_tensor unpacked(const kni_onnx_tensor *tensor, kn_dtype dtype, kn_shape shape, int bits)
{
    uint8_t *wide = malloc((size_t)tensor->count + 1);
    if (!wide) return kni_poisoned(KN_ERROR_MEMORY, "tensor '%s': no memory", tensor->name);
    kni_unpack(wide, tensor->data, tensor->count, bits);
    kn_tensor t = kn_from(wide, dtype, shape);
    free(wide);
    return t;
}

kn_tensor kni_file_tensor(const kni_onnx_tensor *tensor, void (*release)(void *), void *context)
{
    kn_dtype dtype = kni_onnx_dtype(tensor->type);
    if (!dtype || tensor->rank > KN_MAX_RANK) return refused(tensor, release, context);
    kn_shape shape = {tensor->rank, {0}};
    for (int32_t a = 0; a < tensor->rank; a++) shape.dims[a] = tensor->sizes[a];
    int bits = kni_narrow_bits(dtype);
    size_t align = bits ? 1 : (size_t)kn_dtype_bytes(dtype, 1);
    bool in_place = release && !bits && tensor->count && (uintptr_t)tensor->data % align == 0;
    if (in_place) return kn_wrap((void *)(uintptr_t)tensor->data, dtype, shape, NULL, release, context);
    kn_tensor t = bits ? unpacked(tensor, dtype, shape, bits) : kn_from(tensor->data, dtype, shape);
    if (release) release(context);
    return t;
}

kni_held *kni_file_strings(const kni_onnx_tensor *tensor)
{
    if (tensor->rank <= KN_MAX_RANK) return kni_held_strings(tensor->strings, tensor->sizes, tensor->rank);
    kni_failure(KN_ERROR_UNSUPPORTED, "tensor '%s' has %d axes; %d are supported", tensor->name, tensor->rank,
                KN_MAX_RANK);
    return NULL;
}
