/* Reading one tensor of a store: plain bytes, strided views of a shared storage, other byte orders, and tensors that point
   into a mapped file. */
#include "core/small_types.h"
#include "core/spare_bits.h"
#include "store/store_checksum.h"
#include "store/zip.h"
#include "support/checksum.h"
#include "support/failure.h"
#include <kn/shape.h>
#include <kn/tensor.h>
#include <stdlib.h>
#include <string.h>

/* ---- elements */

void kni_swap_bytes(unsigned char *data, int64_t elements, int32_t size)
{
    for (int64_t i = 0; i < elements; i++, data += size)
        for (int32_t k = 0; k < size / 2; k++) {
            unsigned char kept = data[k];
            data[k] = data[size - 1 - k];
            data[size - 1 - k] = kept;
        }
}

/* Copies a strided block to contiguous elements, counting through the indices. */
static void gather(unsigned char *out, const unsigned char *from, const kni_store_item *item,
                   int64_t elements)
{
    int64_t index[KN_MAX_RANK] = {0}, at = 0;
    size_t size = (size_t)item->word->size;
    for (int64_t i = 0; i < elements; i++) {
        memcpy(out + (size_t)i * size, from + (size_t)at * size, size);
        for (int32_t k = item->shape.rank - 1; k >= 0; k--) {
            at += item->strides[k];
            if (++index[k] < item->shape.dims[k]) break;
            at -= item->strides[k] * item->shape.dims[k];
            index[k] = 0;
        }
    }
}

static bool is_contiguous(const kni_store_item *item)
{
    int64_t stride = 1;
    for (int32_t i = item->shape.rank - 1; i >= 0; i--) {
        if (item->shape.dims[i] == 1) continue;
        if (item->strides[i] != stride) return false;
        stride *= item->shape.dims[i];
    }
    return true;
}

/* ---- reading */

/* Bytes from the first element to the last. */
static size_t reach(const kni_store_item *item)
{
    int64_t last = 0;
    for (int32_t i = 0; i < item->shape.rank; i++) last += (item->shape.dims[i] - 1) * item->strides[i];
    return (size_t)kni_store_item_bytes(item, last + 1);
}

static kn_status no_memory(kni_store *store, const kni_store_item *item)
{
    return kni_failure(KN_ERROR_MEMORY, "%s: no memory for tensor '%s'", store->source->name, item->name);
}

/* Before the bytes are there: the tensor will be refused by the limit anyway, and what is read first does not count. */
static kn_status check_limit(kni_store *store, const kni_store_item *item, size_t bytes)
{
    kn_memory now = kn_memory_stats();
    if (now.limit <= 0 || (now.bytes_now < now.limit && bytes <= (uint64_t)(now.limit - now.bytes_now)))
        return KN_OK;
    return kni_failure(
        KN_ERROR_MEMORY,
        "%s: tensor '%s' takes %zu bytes; %lld of the %lld that kn_memory_limit allows are in use",
        store->source->name, item->name, bytes, (long long)now.bytes_now, (long long)now.limit);
}

/* The bytes from the first element to the last, in new memory with room for all elements. */
static kn_status read_block(kni_store *store, kni_store_item *item, int64_t elements, unsigned char **block)
{
    size_t bytes = reach(item), room = item->packed ? (size_t)elements : bytes;
    kn_status status = check_limit(store, item, room);
    if (status) return status;
    *block = malloc(room);
    if (!*block) return no_memory(store, item);
    if (kni_zip_packed(store->zip, item->member))
        return kni_zip_inflate(store->zip, store->source, item->member, item->offset, *block, bytes);
    status = kni_source_read(store->source, item->container + item->offset, *block, bytes);
    if (status || !kni_checksum_wanted(store, item)) return status;
    return kni_checksum_compare(store, item, kni_crc32c(0, *block, bytes));
}

/* The elements, contiguous and as this machine wants them, in new memory. */
static kn_status read_elements(kni_store *store, kni_store_item *item, int64_t elements, unsigned char **data)
{
    unsigned char *block = NULL;
    kn_status status = read_block(store, item, elements, &block);
    if (!status && !is_contiguous(item)) {
        unsigned char *dense = malloc((size_t)elements * (size_t)item->word->size);
        if (dense)
            gather(dense, block, item, elements);
        else
            status = no_memory(store, item);
        free(block);
        block = dense;
    }
    if (status) {
        free(block);
        return status;
    }
    if (item->swapped) kni_swap_bytes(block, elements, item->word->size);
    if (item->packed) kni_unpack(block, block, elements, item->packed);
    /* A truth value or a narrow integer of a file may be any byte. */
    unsigned largest = kni_largest_byte(item->word->dtype);
    if (largest) kni_copy_within(block, block, 1, elements, largest);
    *data = block;
    return KN_OK;
}

static void release_source(void *source) { kni_source_release(source); }

/* The elements in place, NULL where they have to be copied. */
static unsigned char *mapped(kni_store *store, const kni_store_item *item)
{
    if (!store->map || !store->source->data || kni_zip_packed(store->zip, item->member) || item->swapped ||
        item->packed || kni_largest_byte(item->word->dtype))
        return NULL;
    const unsigned char *at = store->source->data + item->container + item->offset;
    if ((uintptr_t)at % (uintptr_t)item->word->size) return NULL;
    return (unsigned char *)(uintptr_t)at;
}

static kn_status make_tensor(kni_store *store, kni_store_item *item, int64_t elements, kn_tensor *t)
{
    kn_status status = KN_OK;
    unsigned char *data = mapped(store, item);
    if (data) {
        if (kni_checksum_wanted(store, item)) status = kni_checksum_check(store, item);
        if (status) return status;
        *t = kn_wrap(data, item->word->dtype, item->shape, item->strides, release_source,
                     kni_source_retain(store->source));
        return KN_OK;
    }
    status = read_elements(store, item, elements, &data);
    if (status) return status;
    /* A copy in the library's own memory, so that it is counted and limited as that of all other tensors. */
    *t = kn_from(data, item->word->dtype, item->shape);
    free(data);
    return KN_OK;
}

static kn_tensor read_item(kni_store *store, kni_store_item *item)
{
    kni_failure_held held;
    kn_tensor t = KN_NONE;
    /* First of all: the checksum of an entry is also that of the shape and the dtype that an array begins with. */
    if (item->member >= 0) {
        kni_failure_hold(&held);
        kn_status damage = kni_zip_check(store->zip, store->source, item->member);
        t = kni_failure_release(&held, damage, KN_NONE);
        if (damage) return t;
    }
    if (item->word->dtype == KN_DTYPE_NONE)
        return kni_poisoned(
            KN_ERROR_DTYPE,
            "%s: tensor '%s' has the dtype %s, which Kiln does not have; convert it before saving",
            store->source->name, item->name, item->word->label);
    int64_t elements = kni_store_elements(&item->shape, item->word->size);
    if (elements == 0) return kn_from("", item->word->dtype, item->shape);
    kni_failure_hold(&held);
    kn_status status = make_tensor(store, item, elements, &t);
    return kni_failure_release(&held, status, t);
}

kn_tensor kni_store_tensor(kni_store *store, int64_t index)
{
    if (index < 0 || index >= store->count)
        return kni_poisoned(KN_ERROR_INDEX, "kn_store_tensor: there is no tensor %lld of %lld",
                            (long long)index, (long long)store->count);
    return read_item(store, &store->items[index]);
}

kn_tensor kn_store_tensor(kn_store handle, int64_t index)
{
    KNI_USE(store, store, handle);
    return store ? kni_store_tensor(store, index) : kn_poison(KNI_NO_OBJECT(handle), NULL);
}

kn_tensor kni_store_rows(kni_store *store, int64_t index, int64_t row, int64_t rows)
{
    kni_store_item part = store->items[index];
    /* A part has no checksum of its own, so the whole is compared, once. */
    if (kni_checksum_wanted(store, &part)) {
        kni_failure_held held;
        kni_failure_hold(&held);
        kn_status status = kni_checksum_check(store, &store->items[index]);
        kn_tensor bad = kni_failure_release(&held, status, KN_NONE);
        if (status) return bad;
    }
    part.checked = true;
    if (part.packed) /* rows may begin inside a byte */
        return kn_narrow(read_item(store, &part), 0, row, rows);
    part.offset += (uint64_t)(row * part.strides[0]) * (uint64_t)part.word->size;
    part.shape.dims[0] = rows;
    return read_item(store, &part);
}
