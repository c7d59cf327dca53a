/* What a backend outside this library can ask of tensors. */
#include "core/error.h"
#include "core/table.h"
#include <kn/backend.h>
#include <kn/tensor.h>
#include <string.h>

kn_status kn_backend_tensor(uint32_t id, kn_tensor_info *info)
{
    int64_t tensors, slots;
    kni_table_counters(&tensors, &slots);
    if ((int64_t)id >= slots)
        return kni_fail(KN_ERROR_ARGUMENT, "kn_backend_tensor: id %D is none", (int64_t)id);
    kni_tensor *x = kni_slot(id);
    size_t bytes = (size_t)kn_dtype_bytes((kn_dtype)x->type.dtype, 1);
    info->dtype = (kn_dtype)x->type.dtype;
    info->shape = kni_shape_from_type(&x->type);
    memcpy(info->strides, x->strides, sizeof info->strides);
    kni_storage_wait(x->storage);
    bool device = x->storage && (kni_storage_flags(x->storage) & KNI_STORAGE_DEVICE);
    info->data = device ? NULL : x->storage || (x->flags & KNI_TENSOR_SCALAR) ? kni_data(x, bytes) : NULL;
    return KN_OK;
}

kn_status kn_backend_allocate(uint32_t id)
{
    kni_tensor *x = kni_slot(id);
    int64_t bytes = kn_dtype_bytes((kn_dtype)x->type.dtype, kni_count(&x->type));
    kni_storage *s = bytes < 0 ? NULL : kni_storage_new((size_t)bytes);
    if (!s) return kni_fail(KN_ERROR_MEMORY, "kn_backend_allocate: no memory for %D bytes", bytes);
    if (x->storage) kni_storage_release(x->storage);
    x->storage = s;
    x->offset = 0;
    kni_contiguous_strides(x->type.rank, x->type.dims, x->strides);
    return KN_OK;
}

kn_status kn_backend_fail(kn_status code, const char *text) { return kni_fail(code, "%s", text); }
