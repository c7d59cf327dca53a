/* Storage of host tensors: allocation, reuse, writing and reading. */
#include "backend/host/host.h"
#include "backend/host/host_copy.h"
#include "core/strided_copy.h"
#include <string.h>

static int64_t bytes_of(const kni_tensor *x)
{
    return kn_dtype_bytes((kn_dtype)x->type.dtype, kni_count(&x->type));
}

kn_status kni_host_allocate(kni_tensor *y)
{
    if (KNI_UNLIKELY(y->flags & KNI_TENSOR_BOUND)) return KN_OK;
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

kn_status kni_host_allocate_empty(const kn_record *r)
{
    kn_status s = KN_OK;
    for (int i = 0; i < r->n_out && s == KN_OK; i++) s = kni_host_allocate(kni_out(r, i));
    return s;
}

kn_status kni_host_allocate_or_reuse(const kn_record *r, kni_tensor *y, uint64_t candidates)
{
    candidates &= r->last_use;
    if (KNI_UNLIKELY(y->flags & KNI_TENSOR_BOUND)) candidates = 0;
    for (int i = 0; candidates >> i && i < r->n_in; i++) {
        if (!(candidates >> i & 1) || !kni_may_overwrite(r, i, y)) continue;
        const kni_tensor *x = kni_in(r, i);
        kni_storage_written(x->storage);
        y->storage = kni_storage_retain(x->storage);
        y->offset = 0;
        memcpy(y->strides, x->strides, sizeof y->strides);
        return KN_OK;
    }
    return kni_host_allocate(y);
}

#if !defined(KN_FREESTANDING) && !defined(KN_COMPACT) /* small programs have one order */
static kn_status bring_into_order(kni_tensor *y)
{
    int64_t strides[KN_MAX_RANK], bytes = bytes_of(y);
    kni_storage *s = bytes < 0 ? NULL : kni_storage_new((size_t)bytes);
    if (!s)
        return kni_fail_op(KN_ERROR_MEMORY, NULL, "no memory for a result of %D bytes in another order",
                           bytes);
    kni_order_strides(y->order, y->type.rank, y->type.dims, strides);
    kni_host_copy(s->data, strides, kni_pointer(y), y->strides, y->type.rank, y->type.dims,
                  kni_element_bytes(y));
    kni_storage_release(y->storage);
    y->storage = s;
    y->offset = 0;
    memcpy(y->strides, strides, sizeof strides);
    return KN_OK;
}

kn_status kni_host_arrange(const kn_record *r)
{
    kn_status s = KN_OK;
    if (r->row->view) return KN_OK;
    for (int i = 0; i < r->n_out && s == KN_OK; i++) {
        kni_tensor *y = kni_out(r, i);
        if (y->storage && kni_order_of(y->type.rank, y->type.dims, y->strides) != y->order)
            s = bring_into_order(y);
    }
    return s;
}
#endif

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
    kni_host_copy(buffer, strides, kni_pointer(x), x->strides, x->type.rank, x->type.dims,
                  kni_element_bytes(x));
    return KN_OK;
}

kn_status kni_host_sync(kn_backend *b)
{
    (void)b;
    return KN_OK;
}

/* Converts n elements that lie at the end of the area they are converted into, strip by strip: what is written
   never passes what is still to be read. */
static void convert_in_place(char *to, int to_dtype, const char *from, int from_dtype, int64_t n)
{
    enum { STRIP = 128 };
    _Alignas(8) char strip[STRIP * 8];
    int64_t to_bytes = kni_bytes_of(to_dtype), from_bytes = kni_bytes_of(from_dtype);
    for (int64_t i = 0; i < n; i += STRIP) {
        int64_t now = n - i < STRIP ? n - i : STRIP;
        memcpy(strip, from + i * from_bytes, (size_t)(now * from_bytes));
        kni_convert(to + i * to_bytes, to_dtype, 1, strip, from_dtype, 1, now);
    }
}

/* Fills `to` with x's elements in order. Elements are gathered by tiles first and converted where they are then. */
static void gather(void *to, int dtype, kni_tensor *x)
{
    int64_t strides[KN_MAX_RANK], n = kni_count(&x->type);
    size_t from_bytes = kni_element_bytes(x), to_bytes = kni_bytes_of(dtype);
    kni_contiguous_strides(x->type.rank, x->type.dims, strides);
    if (to_bytes < from_bytes || (x->type.dtype != dtype && kni_contiguous(x))) {
        kni_copy_strided(to, dtype, strides, kni_pointer(x), x->type.dtype, x->strides, x->type.rank,
                         x->type.dims);
        return;
    }
    char *raw = (char *)to + (size_t)n * (to_bytes - from_bytes);
    kni_host_copy(raw, strides, kni_pointer(x), x->strides, x->type.rank, x->type.dims, from_bytes);
    if (x->type.dtype != dtype) convert_in_place(to, dtype, raw, x->type.dtype, n);
}

bool kni_host_borrow(kni_tensor *x, int dtype, kni_borrowed *out)
{
    out->copy_bytes = 0;
    out->data = kni_pointer(x);
    if (x->type.dtype == dtype && kni_contiguous(x)) return true;
    int64_t bytes = kn_dtype_bytes((kn_dtype)dtype, kni_count(&x->type));
    void *copy = bytes < 0 ? NULL : kni_allocate((size_t)bytes);
    if (!copy) {
        out->data = NULL;
        kni_fail_op(KN_ERROR_MEMORY, NULL, "no memory for a contiguous copy of %D bytes", bytes);
        return false;
    }
    gather(copy, dtype, x);
    out->data = copy;
    out->copy_bytes = bytes ? (size_t)bytes : 1;
    return true;
}

void kni_host_unborrow(kni_borrowed *b)
{
    if (b->copy_bytes) kni_free(b->data, b->copy_bytes);
    b->copy_bytes = 0;
}
