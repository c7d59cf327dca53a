/* Data in and out of tensors: creation from memory, wrapped buffers, numbers, and reading back. */
#include "core/device_object.h"
#include "core/dtype.h"
#include "core/integer_range.h"
#include "core/objects.h"
#include "core/param_value.h"
#include "core/spare_bits.h"
#include "core/strided_copy.h"
#include <kn/device.h>
#include <kn/tensor.h>
#include <string.h>

/* Checks a user's shape and gives the number of elements, -1 after a failure. */
static int64_t checked_count(const char *name, kn_dtype dtype, const kn_shape *shape)
{
    if (!kni_dtype_is_there(dtype)) {
        kni_fail_dtype(name, (int64_t)dtype);
        return -1;
    }
    if (shape->rank < 0 || shape->rank > KN_MAX_RANK) {
        kni_fail_op(KN_ERROR_SHAPE, name, "rank %d is outside 0 to %d", shape->rank, KN_MAX_RANK);
        return -1;
    }
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dims[i] >= 0) continue;
        kni_fail_op(KN_ERROR_SHAPE, name, "axis %d has the negative size %D", i, shape->dims[i]);
        return -1;
    }
    int64_t n = kni_count_dims(shape->rank, shape->dims);
    if (n < 0 || kn_dtype_bytes(dtype, n) < 0) {
        kni_fail_op(KN_ERROR_SHAPE, name, "%N of %T would have 2^63 bytes or more", shape, (int)dtype);
        return -1;
    }
    return n;
}

/* A tensor without storage on the thread's device; KNI_NO_SLOT after a failure. */
static uint32_t start_tensor(const char *name, kn_dtype dtype, const kn_shape *shape)
{
    kni_thread *t = kni_thread_self();
    if (t->pending_error && !t->context.call_name)
        kni_error_flush(t); /* a composite has its line at its end */
    t->serial++;
    kn_device device = kni_device_current();
    if (!device) return KNI_NO_SLOT;
    uint32_t id = kni_tensor_new(t);
    if (id == KNI_NO_SLOT) {
        kni_fail_op(KN_ERROR_MEMORY, name, "no memory for another tensor");
        return id;
    }
    kni_tensor *x = kni_slot(id);
    x->device = device;
    x->made_by = 0;
    x->type.dtype = (uint8_t)dtype;
    x->type.rank = (uint8_t)shape->rank;
    x->type.weak = 0;
    memcpy(x->type.dims, shape->dims, sizeof shape->dims);
    kni_contiguous_strides(shape->rank, shape->dims, x->strides);
    return id;
}

static kn_tensor finish(uint32_t id, kn_status s)
{
    if (s == KN_OK) return kni_handle(id);
    kni_tensor_end_handle(kni_thread_self(), id);
    return kni_poison_latest();
}

/* Walks the lines of the last axis: copies them to `to`, put right and in order, or where that is NULL answers whether all
   are right already. */
static bool each_byte(const kn_shape *shape, const int64_t *strides, const unsigned char *from,
                      unsigned char *to, unsigned largest)
{
    int64_t index[KN_MAX_RANK] = {0};
    int last = shape->rank - 1;
    int64_t n = last < 0 ? 1 : shape->dims[last], step = last < 0 ? 1 : strides[last];
    for (int64_t left = kni_count_dims(shape->rank, shape->dims); left > 0; left -= n) {
        if (to)
            kni_copy_within(to, from, step, n, largest), to += n;
        else if (!kni_are_within(from, step, n, largest))
            return false;
        for (int a = last - 1; a >= 0; a--) {
            from += strides[a];
            if (++index[a] < shape->dims[a]) break;
            from -= strides[a] * shape->dims[a];
            index[a] = 0;
        }
    }
    return true;
}

/* Whether some bytes use bits that elements of the dtype do not have. strides NULL: contiguous. */
static bool has_odd_bytes(kn_dtype dtype, const kn_shape *shape, const int64_t *strides, const void *data)
{
    int64_t own[KN_MAX_RANK];
    unsigned largest = kni_largest_byte(dtype);
    if (!largest || !data) return false;
    if (!strides) kni_contiguous_strides(shape->rank, shape->dims, own);
    return !each_byte(shape, strides ? strides : own, data, NULL, largest);
}

/* Gives the tensor a copy of bytes that is put right. */
static kn_tensor write_bytes(const char *name, uint32_t id, const void *data, const kn_shape *shape,
                             const int64_t *strides)
{
    kn_backend *b = kni_slot(id)->device->backend;
    int64_t own[KN_MAX_RANK];
    size_t bytes = (size_t)kni_count_dims(shape->rank, shape->dims);
    unsigned char *copy = kni_allocate(bytes);
    if (!copy)
        return finish(id,
                      kni_fail_op(KN_ERROR_MEMORY, name, "no memory for a copy of %D bytes", (int64_t)bytes));
    if (!strides) kni_contiguous_strides(shape->rank, shape->dims, own);
    (void)each_byte(shape, strides ? strides : own, data, copy, kni_largest_byte(kni_slot(id)->type.dtype));
    kn_tensor y = finish(id, b->write(b, id, copy));
    kni_free(copy, bytes);
    return y;
}

kn_tensor kn_from(const void *data, kn_dtype dtype, kn_shape shape)
{
    int64_t n = checked_count("from", dtype, &shape);
    if (n < 0) return kni_poison_latest();
    if (!data && n > 0) {
        kni_fail_op(KN_ERROR_ARGUMENT, "from", "data is NULL");
        return kni_poison_latest();
    }
    uint32_t id = start_tensor("from", dtype, &shape);
    if (id == KNI_NO_SLOT) return kni_poison_latest();
    if (KNI_UNLIKELY(has_odd_bytes(dtype, &shape, NULL, data)))
        return write_bytes("from", id, data, &shape, NULL);
    kn_backend *b = kni_slot(id)->device->backend;
    return finish(id, b->write(b, id, data));
}

/* The lowest and highest element that strides reach, relative to data; false on overflow. */
static bool reach(const kn_shape *shape, const int64_t *strides, int64_t *low, int64_t *high)
{
    *low = *high = 0;
    for (int i = 0; i < shape->rank; i++) {
        int64_t span;
        if (shape->dims[i] == 0) return true;
        if (__builtin_mul_overflow(shape->dims[i] - 1, strides[i], &span)) return false;
        int64_t *end = span < 0 ? low : high;
        if (__builtin_add_overflow(*end, span, end)) return false;
    }
    return true;
}

#ifndef KN_FREESTANDING
/* A device with memory of its own cannot refer to the host's: it gets a copy of all that the strides reach, from `low` on,
   and the wrapped memory is let go. */
static kn_tensor wrap_copy(uint32_t id, const void *data, const int64_t *strides, int64_t low, int64_t high)
{
    kni_tensor *x = kni_slot(id);
    kn_backend *b = x->device->backend;
    int64_t contiguous[KN_MAX_RANK], count = kni_count(&x->type), span = high - low + 1;
    kni_contiguous_strides(x->type.rank, x->type.dims, contiguous);
    if (!count || !strides || kni_is_contiguous(x->type.rank, x->type.dims, strides))
        return finish(id, b->write(b, id, data));
    size_t element = (size_t)kn_dtype_bytes((kn_dtype)x->type.dtype, 1);
    if (span > 4 * count) {
        size_t bytes = (size_t)count * element;
        void *copy = kni_allocate(bytes);
        if (!copy) return finish(id, kni_fail_op(KN_ERROR_MEMORY, "wrap", "no memory for a contiguous copy"));
        kni_copy_strided(copy, x->type.dtype, contiguous, data, x->type.dtype, strides, x->type.rank,
                         x->type.dims);
        kn_tensor y = finish(id, b->write(b, id, copy));
        kni_free(copy, bytes);
        return y;
    }
    kni_type type = x->type;
    x->type.rank = 1;
    x->type.dims[0] = span;
    kn_status s = b->write(b, id, (const char *)data + low * (int64_t)element);
    x->type = type;
    x->offset -= low;
    memcpy(x->strides, strides, (size_t)type.rank * sizeof *strides);
    return finish(id, s);
}
#endif

kn_tensor kn_wrap(void *data, kn_dtype dtype, kn_shape shape, const int64_t *strides,
                  void (*release)(void *context), void *context)
{
    int64_t n = checked_count("wrap", dtype, &shape), low = 0, high = 0;
    bool good = n >= 0;
    if (good && !data && n > 0) {
        kni_fail_op(KN_ERROR_ARGUMENT, "wrap", "data is NULL");
        good = false;
    }
    if (good && strides && !reach(&shape, strides, &low, &high)) {
        kni_fail_op(KN_ERROR_ARGUMENT, "wrap", "the strides reach past 2^63 elements");
        good = false;
    }
    uint32_t id = good ? start_tensor("wrap", dtype, &shape) : KNI_NO_SLOT;
    kni_storage *s = NULL;
    if (id != KNI_NO_SLOT && has_odd_bytes(dtype, &shape, strides, data)) {
        /* The caller's memory stays as it is. */
        kn_tensor y = write_bytes("wrap", id, data, &shape, strides);
        if (release) release(context);
        return y;
    }
#ifndef KN_FREESTANDING
    if (id != KNI_NO_SLOT && !kni_slot(id)->device->host) {
        kn_tensor y = wrap_copy(id, data, strides, low, high);
        if (release) release(context);
        return y;
    }
#endif
    if (id != KNI_NO_SLOT) {
        int64_t bytes = kn_dtype_bytes(dtype, strides ? high + 1 : n);
        s = kni_storage_wrap(data, bytes < 0 ? 0 : (size_t)bytes, release, context);
        if (!s) {
            kni_fail_op(KN_ERROR_MEMORY, "wrap", "no memory for another tensor");
            kni_tensor_end_handle(kni_thread_self(), id);
        }
    }
    if (!s) {
        if (release) release(context);
        return kni_poison_latest();
    }
    kni_tensor *x = kni_slot(id);
    x->storage = s;
    if (strides) memcpy(x->strides, strides, (size_t)shape.rank * sizeof *strides);
    return kni_handle(id);
}

static kn_tensor scalar(const void *value, int from, kn_dtype dtype)
{
    kn_shape shape = {0, {0}};
    if (checked_count("scalar", dtype, &shape) < 0) return kni_poison_latest();
    uint32_t id = start_tensor("scalar", dtype, &shape);
    if (id == KNI_NO_SLOT) return kni_poison_latest();
    kni_tensor *x = kni_slot(id);
    x->flags |= KNI_TENSOR_SCALAR;
    kni_convert(x->inline_value.bytes, dtype, 1, value, from, 1, 1);
    return kni_handle(id);
}

kn_tensor kn_scalar(double value, kn_dtype dtype)
{
    if (kni_check_stored("scalar", dtype, value)) return kni_poison_latest();
    return scalar(&value, KN_F64, dtype);
}

kn_tensor kn_scalar_int(int64_t value, kn_dtype dtype)
{
    if (dtype != KN_I64 && dtype != KN_U64 && kni_check_stored("scalar_int", dtype, (double)value))
        return kni_poison_latest();
    return scalar(&value, KN_I64, dtype);
}

/* Reading borrows; a poisoned tensor answers with its own error. */
static kni_tensor *readable(kn_tensor t, const char *name, kn_status *s)
{
    *s = KN_OK;
    const kni_tensor *found = kni_is_poisoned(t) ? NULL : kni_peek(t);
    kn_tensor poison = kni_is_poisoned(t) ? t : KN_NONE;
    if (poison.bits || (found && kni_tensor_failed(found, &poison))) {
        *s = kni_fail_carried(poison, name, "the tensor");
        return NULL;
    }
    kni_tensor *x = kni_resolve(t, name);
    if (!x) *s = KN_ERROR_HANDLE;
    return x;
}

/* Who shares the memory of a bool or of a narrow type may have written any byte; what is read is put right. */
static void put_right(int dtype, void *buffer, size_t bytes)
{
    unsigned largest = kni_largest_byte(dtype);
    if (largest) kni_copy_within(buffer, buffer, 1, (int64_t)bytes, largest);
}

static kn_status read_slot(kn_backend *b, uint32_t id, void *buffer, size_t bytes)
{
    kn_status s = b->read(b, id, buffer);
    if (s == KN_OK) put_right(kni_slot(id)->type.dtype, buffer, bytes);
    return s;
}

/* The slot to read from; of a param a snapshot, which end_reading ends. KNI_NO_SLOT after a failure. */
static uint32_t begin_reading(kn_tensor t, const void *buffer, size_t bytes, kn_status *s)
{
    const kni_tensor *x = readable(t, "read", s);
    if (!x) return KNI_NO_SLOT;
    int64_t need = kn_dtype_bytes((kn_dtype)x->type.dtype, kni_count(&x->type));
    if ((int64_t)bytes != need)
        *s = kni_fail(KN_ERROR_ARGUMENT, "kn_read: %S of %T has %D bytes, the buffer %D", &x->type,
                      (int)x->type.dtype, need, (int64_t)bytes);
    else if (!buffer && bytes)
        *s = kni_fail(KN_ERROR_ARGUMENT, "kn_read: the buffer is NULL");
    if (*s) return KNI_NO_SLOT;
    if (!(x->flags & KNI_TENSOR_PARAM)) return kni_slot_of(t);
    uint32_t id = kni_param_snapshot(kni_thread_self(), x);
    if (id == KNI_NO_SLOT) *s = kni_fail(KN_ERROR_MEMORY, "kn_read: no memory to read a param");
    return id;
}

static void end_reading(kn_tensor t, uint32_t id)
{
    if (id != kni_slot_of(t)) kni_tensor_end_handle(kni_thread_self(), id);
}

kn_status kn_read(kn_tensor t, void *buffer, size_t bytes)
{
    kn_status s;
    uint32_t id = begin_reading(t, buffer, bytes, &s);
    if (id == KNI_NO_SLOT) return s;
    s = read_slot(kni_slot(id)->device->backend, id, buffer, bytes);
    end_reading(t, id);
    return s;
}

/* What failed inside is the caller's failure. */
static kn_status named(kn_status s, const char *function)
{
    if (s) kni_error_renamed_by(function);
    return s;
}

/* Converts n elements into a buffer at any address; one that is not aligned is filled piece by piece. */
static void convert_into(void *buffer, kn_dtype dtype, const char *from, int from_dtype, int64_t n)
{
    enum { PIECE = 256 };
    int64_t piece[PIECE], size = kn_dtype_bytes(dtype, 1), step = kn_dtype_bytes((kn_dtype)from_dtype, PIECE);
    if (size <= 1 || (uintptr_t)buffer % (size_t)size == 0) {
        kni_convert(buffer, dtype, 1, from, from_dtype, 1, n);
        return;
    }
    for (char *to = buffer; n > 0; n -= PIECE, to += PIECE * size, from += step) {
        int64_t now = n < PIECE ? n : PIECE;
        kni_convert(piece, dtype, 1, from, from_dtype, 1, now);
        memcpy(to, piece, (size_t)(now * size));
    }
}

kn_status kn_read_as(kn_tensor t, kn_dtype dtype, void *buffer, size_t bytes)
{
    kn_status s;
    kni_tensor *x = readable(t, "read_as", &s);
    if (!x) return s;
    if (x->type.dtype == dtype) return named(kn_read(t, buffer, bytes), "kn_read_as");
    if (!kni_dtype_is_there(dtype)) return kni_fail_dtype("read_as", (int64_t)dtype);
    int64_t n = kni_count(&x->type), need = kn_dtype_bytes(dtype, n);
    if ((int64_t)bytes != need || (!buffer && bytes))
        return kni_fail(KN_ERROR_ARGUMENT, "kn_read_as: %S as %T has %D bytes, the buffer %D", &x->type,
                        (int)dtype, need, (int64_t)bytes);
    size_t own = (size_t)kn_dtype_bytes((kn_dtype)x->type.dtype, n);
    void *copy = kni_allocate(own);
    if (!copy) return kni_fail(KN_ERROR_MEMORY, "kn_read_as: no memory for the conversion");
    s = named(kn_read(t, copy, own), "kn_read_as");
    if (s == KN_OK) convert_into(buffer, dtype, copy, x->type.dtype, n);
    kni_free(copy, own);
    return s;
}

#ifndef KN_FREESTANDING
/* One of several reads that are under way together. */
typedef struct reading {
    kn_backend *leaf; /* NULL: it is done */
    uint64_t ticket;
    uint32_t id;
} reading;

/* Begins to read, or reads at once where the leaf cannot begin. What another device's queue owes is computed first. */
static kn_status start(kn_tensor t, void *buffer, size_t bytes, reading *r)
{
    kn_status s;
    *r = (reading){.id = begin_reading(t, buffer, bytes, &s)};
    if (r->id == KNI_NO_SLOT) return s;
    const kni_tensor *x = kni_slot(r->id);
    kn_backend *leaf = x->device->leaf;
    kni_storage_wait(x->storage);
    bool waits = x->storage && leaf->read_begin && !(kni_storage_flags(x->storage) & KNI_STORAGE_FAILED);
    if (!waits) return read_slot(x->device->backend, r->id, buffer, bytes);
    s = leaf->read_begin(leaf, r->id, buffer, &r->ticket);
    if (s == KN_OK) r->leaf = leaf;
    return s;
}

static kn_status finish_reading(kn_tensor t, void *buffer, size_t bytes, reading *r)
{
    kn_status s = KN_OK;
    bool ready = false;
    if (r->id == KNI_NO_SLOT) return KN_OK;
    if (r->leaf) s = r->leaf->read_ready(r->leaf, r->ticket, true, &ready);
    if (r->leaf && s == KN_OK) put_right(kni_slot(r->id)->type.dtype, buffer, bytes);
    end_reading(t, r->id);
    return s;
}

/* Whoever reads without waiting holds the slot, whose handle may be dropped meanwhile. */
static kn_status begin_async(kn_reading *r)
{
    reading begun;
    kn_status s = start(r->tensor, r->buffer, r->bytes, &begun);
    if (begun.id == KNI_NO_SLOT || !begun.leaf) {
        if (begun.id != KNI_NO_SLOT) end_reading(r->tensor, begun.id);
        return s;
    }
    if (begun.id == kni_slot_of(r->tensor)) kni_tensor_retain(kni_slot(begun.id));
    r->leaf = begun.leaf;
    r->ticket = begun.ticket;
    r->slot = begun.id;
    r->under_way = true;
    return s;
}

static kn_status ask_async(kn_reading *r, bool wait, bool *ready)
{
    kn_backend *leaf = r->leaf;
    kn_status s = leaf->read_ready(leaf, r->ticket, wait, ready);
    if (s == KN_OK && !*ready) return s;
    if (s == KN_OK) put_right(kni_slot(r->slot)->type.dtype, r->buffer, r->bytes);
    r->under_way = false;
    if (r->slot == kni_slot_of(r->tensor))
        kni_tensor_release(kni_thread_self(), r->slot);
    else
        end_reading(r->tensor, r->slot);
    return s;
}

/* All copies are under way before the first is waited for. */
static kn_status read_together(const kn_tensor *t, void *const *buffers, const size_t *bytes, int32_t n,
                               reading *all)
{
    kn_status s = KN_OK;
    int32_t begun = 0;
    for (; begun < n && s == KN_OK; begun++) s = start(t[begun], buffers[begun], bytes[begun], &all[begun]);
    for (int32_t i = 0; i < begun; i++) {
        kn_status ended = finish_reading(t[i], buffers[i], bytes[i], &all[i]);
        if (s == KN_OK) s = ended;
    }
    return s;
}
#endif

kn_status kn_read_async(kn_tensor t, void *buffer, size_t bytes, kn_reading *r)
{
    if (!r) return kni_fail(KN_ERROR_ARGUMENT, "kn_read_async: the place for the reading is NULL");
    *r = (kn_reading){.tensor = t, .buffer = buffer, .bytes = bytes};
#ifndef KN_FREESTANDING
    return named(begin_async(r), "kn_read_async");
#else
    return named(kn_read(t, buffer, bytes), "kn_read_async");
#endif
}

kn_status kn_read_ready(kn_reading *r, bool wait, bool *ready)
{
    if (!r || !ready) return kni_fail(KN_ERROR_ARGUMENT, "kn_read_ready: the reading or the answer is NULL");
    *ready = !r->under_way;
#ifndef KN_FREESTANDING
    if (r->under_way) return named(ask_async(r, wait, ready), "kn_read_ready");
#endif
    return (void)wait, KN_OK;
}

kn_status kn_read_many(const kn_tensor *t, void *const *buffers, const size_t *bytes, int32_t n)
{
    if (n < 0) return kni_fail(KN_ERROR_ARGUMENT, "kn_read_many: the number of tensors is %d", n);
    if (n > 0 && (!t || !buffers || !bytes))
        return kni_fail(KN_ERROR_ARGUMENT, "kn_read_many: tensors, buffers or sizes are NULL");
    kn_status s = KN_OK;
#ifndef KN_FREESTANDING
    size_t room = (size_t)n * sizeof(reading);
    reading *all = n > 1 ? kni_allocate(room) : NULL;
    if (all) {
        s = read_together(t, buffers, bytes, n, all);
        kni_free(all, room);
        return s;
    }
#endif
    for (int32_t i = 0; i < n && s == KN_OK; i++) s = kn_read(t[i], buffers[i], bytes[i]);
    return s;
}

static kn_status read_one(kn_tensor t, kn_dtype dtype, void *value, const char *function)
{
    kn_status s;
    const kni_tensor *x = readable(t, function + strlen("kn_"), &s);
    if (!x) return s;
    if (kni_count(&x->type) != 1)
        return kni_fail(KN_ERROR_SHAPE, "%s: the tensor has %D elements, not one: %S", function,
                        kni_count(&x->type), &x->type);
    return named(kn_read_as(t, dtype, value, 8), function);
}

double kn_item(kn_tensor t)
{
    double v;
    return read_one(t, KN_F64, &v, __func__) == KN_OK ? v : (double)__builtin_nanf("");
}

int64_t kn_item_int(kn_tensor t)
{
    int64_t v;
    return read_one(t, KN_I64, &v, __func__) == KN_OK ? v : 0;
}
