/* What a backend outside this library can ask of tensors. */
#include "core/error.h"
#include "core/table.h"
#include <kn/backend.h>
#include <kn/tensor.h>
#include <string.h>

/* The tensor of an id; NULL after a failure. */
static kni_tensor *tensor_of(uint32_t id, const char *function)
{
    int64_t tensors, slots;
    kni_table_counters(&tensors, &slots);
    kni_tensor *x = (int64_t)id < slots ? kni_slot(id) : NULL;
    if (x && x->state != KNI_FREE && atomic_load_explicit(&x->references, memory_order_relaxed) > 0) return x;
    kni_fail(KN_ERROR_ARGUMENT, "%s: id %D is none", function, (int64_t)id);
    return NULL;
}

kn_status kn_backend_tensor(uint32_t id, kn_tensor_info *info)
{
    enum { FIRST_FIELDS = offsetof(kn_tensor_info, strides) };
    kni_tensor *x = tensor_of(id, "kn_backend_tensor");
    if (!x) return KN_ERROR_ARGUMENT;
    if (!info || info->size < FIRST_FIELDS)
        return kni_fail(KN_ERROR_ARGUMENT,
                        "kn_backend_tensor: the struct is NULL or says that it has %D bytes: set .size = "
                        "sizeof(kn_tensor_info)",
                        (int64_t)(info ? info->size : 0));
    size_t bytes = (size_t)kn_dtype_bytes((kn_dtype)x->type.dtype, 1);
    kn_tensor_info all = {.size = info->size,
                          .dtype = (kn_dtype)x->type.dtype,
                          .shape = kni_shape_from_type(&x->type),
                          .offset = x->offset,
                          .count = kni_count(&x->type)};
    memcpy(all.strides, x->strides, sizeof all.strides);
    kni_storage_wait(x->storage);
    bool device = x->storage && (kni_storage_flags(x->storage) & KNI_STORAGE_DEVICE);
    all.data = device ? NULL : x->storage || (x->flags & KNI_TENSOR_SCALAR) ? kni_data(x, bytes) : NULL;
    memcpy(info, &all, info->size < sizeof all ? info->size : sizeof all);
    return KN_OK;
}

/* Gives the tensor a storage, in which it lies as promised from the first element on. */
static void place(kni_tensor *x, kni_storage *s)
{
    if (x->storage) kni_storage_release(x->storage);
    x->storage = s;
    x->offset = 0;
    kni_promised_strides(x);
}

kn_status kn_backend_allocate(uint32_t id)
{
    kni_tensor *x = tensor_of(id, "kn_backend_allocate");
    if (!x) return KN_ERROR_ARGUMENT;
    int64_t bytes = kn_dtype_bytes((kn_dtype)x->type.dtype, kni_count(&x->type));
    kni_storage *s = bytes < 0 ? NULL : kni_storage_new((size_t)bytes);
    if (!s) return kni_fail(KN_ERROR_MEMORY, "kn_backend_allocate: no memory for %D bytes", bytes);
    place(x, s);
    return KN_OK;
}

kn_status kn_backend_adopt(uint32_t id, void *memory, size_t bytes, void (*release)(void *memory))
{
    kni_tensor *x = tensor_of(id, "kn_backend_adopt");
    if (!x) return KN_ERROR_ARGUMENT;
    int64_t needed = kn_dtype_bytes((kn_dtype)x->type.dtype, kni_count(&x->type));
    if (!memory || needed < 0 || bytes < (size_t)needed)
        return kni_fail(KN_ERROR_ARGUMENT,
                        "kn_backend_adopt: %s: the tensor %S of %T needs %D bytes, the memory has %D",
                        memory ? "it is too small" : "the memory is NULL", &x->type, (int)x->type.dtype,
                        needed, (int64_t)bytes);
    kni_storage *s = kni_storage_device(memory, bytes, release, memory);
    if (!s) return kni_fail(KN_ERROR_MEMORY, "kn_backend_adopt: no memory for another tensor");
    place(x, s);
    return KN_OK;
}

kn_status kn_backend_memory(uint32_t id, void **memory)
{
    const kni_tensor *x = tensor_of(id, "kn_backend_memory");
    *memory = NULL;
    if (!x) return KN_ERROR_ARGUMENT;
    kni_storage_wait(x->storage);
    if (x->storage && kni_storage_flags(x->storage) & KNI_STORAGE_DEVICE) *memory = x->storage->data;
    return KN_OK;
}

kn_status kn_backend_fail(kn_status code, const char *text) { return kni_fail(code, "%s", text); }
