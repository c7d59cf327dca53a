/* Storage of host tensors: allocation, reuse, writing and reading. */
#include "backend/host/host.h"
#include "core/strided_copy.h"
#include <string.h>

static int64_t bytes_of(const kni_tensor *x)
{
    return kn_dtype_bytes((kn_dtype)x->type.dtype, kni_count(&x->type));
}

kn_status kni_host_allocate(kni_tensor *y)
{
    int64_t bytes = bytes_of(y);
    /* A native kernel may have begun and handed the record on. */
    if (KNI_UNLIKELY(y->storage != NULL)) kni_storage_release(y->storage);
    y->storage = bytes < 0 ? NULL : kni_storage_new((size_t)bytes);
    if (KNI_UNLIKELY(!y->storage))
        return kni_fail_op(
            KN_ERROR_MEMORY, NULL,
            "no memory for a result of %D bytes: free tensors sooner (scopes, kn_drop), use smaller "
            "batches or raise kn_memory_limit",
            bytes);
    y->offset = 0;
    kni_contiguous_strides(y->type.rank, y->type.dims, y->strides);
    return KN_OK;
}

kn_status kni_host_allocate_or_reuse(const kn_record *r, kni_tensor *y, uint64_t candidates)
{
    candidates &= r->last_use;
    for (int i = 0; candidates >> i && i < r->n_in; i++) {
        kni_tensor *x = candidates >> i & 1 ? kni_in(r, i) : NULL;
        if (!x || !x->storage || x->offset || x->type.rank != y->type.rank) continue;
        if (kni_element_bytes(x) != kni_element_bytes(y) || !kni_storage_writable(x->storage)) continue;
        if (!kni_same_dims(&x->type, &y->type) || !kni_contiguous(x)) continue;
        y->storage = kni_storage_retain(x->storage);
        y->offset = 0;
        memcpy(y->strides, x->strides, sizeof y->strides);
        return KN_OK;
    }
    return kni_host_allocate(y);
}

kn_status kni_host_write(kn_backend *b, uint32_t id, const void *data)
{
    (void)b;
    kni_tensor *x = kni_slot(id);
    kn_status s = kni_host_allocate(x);
    if (s) return s;
    size_t bytes = (size_t)bytes_of(x);
    if (!data)
        memset(x->storage->data, 0, bytes);
    else if (bytes)
        memcpy(x->storage->data, data, bytes);
    return KN_OK;
}

kn_status kni_host_read(kn_backend *b, uint32_t id, void *buffer)
{
    (void)b;
    kni_tensor *x = kni_slot(id);
    int64_t strides[KN_MAX_RANK];
    kni_contiguous_strides(x->type.rank, x->type.dims, strides);
    kni_copy_strided(buffer, x->type.dtype, strides, kni_pointer(x), x->type.dtype, x->strides, x->type.rank,
                     x->type.dims);
    return KN_OK;
}

kn_status kni_host_sync(kn_backend *b)
{
    (void)b;
    return KN_OK;
}

bool kni_host_borrow(kni_tensor *x, int dtype, kni_borrowed *out)
{
    out->copy_bytes = 0;
    out->data = kni_pointer(x);
    if (x->type.dtype == dtype && kni_contiguous(x)) return true;
    int64_t strides[KN_MAX_RANK], bytes = kn_dtype_bytes((kn_dtype)dtype, kni_count(&x->type));
    void *copy = bytes < 0 ? NULL : kni_allocate((size_t)bytes);
    if (!copy) {
        out->data = NULL;
        kni_fail_op(KN_ERROR_MEMORY, NULL, "no memory for a contiguous copy of %D bytes", bytes);
        return false;
    }
    kni_contiguous_strides(x->type.rank, x->type.dims, strides);
    kni_copy_strided(copy, dtype, strides, out->data, x->type.dtype, x->strides, x->type.rank, x->type.dims);
    out->data = copy;
    out->copy_bytes = bytes ? (size_t)bytes : 1;
    return true;
}

void kni_host_unborrow(kni_borrowed *b)
{
    if (b->copy_bytes) kni_free(b->data, b->copy_bytes);
    b->copy_bytes = 0;
}
