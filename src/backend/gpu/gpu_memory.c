/* Memory of a device: a pool of blocks by size class, which keeps what was freed up to a bound and gives it back when
   the device has no more; storages of tensors; writing and reading. */
#include "backend/gpu/gpu_recording.h"
#include "core/device_object.h"
#include "core/text.h"
#include <string.h>

enum { SMALLEST_BITS = 8 /* 256 bytes */, STEPS = 4 /* classes to each power of two */ };

/* The class that holds so many bytes, and how many it holds. */
static uint32_t class_of(size_t bytes, size_t *room)
{
    if (bytes <= (size_t)1 << SMALLEST_BITS) {
        *room = (size_t)1 << SMALLEST_BITS;
        return 0;
    }
    int top = 63 - __builtin_clzll((unsigned long long)(bytes - 1)); /* 2^top < bytes <= 2^(top + 1) */
    size_t step = ((size_t)1 << top) / STEPS, above = bytes - ((size_t)1 << top);
    size_t steps = (above + step - 1) / step;
    *room = ((size_t)1 << top) + steps * step;
    return (uint32_t)((top - SMALLEST_BITS) * STEPS + (int)steps);
}

static void link_live(kni_gpu *g, kni_gpu_block *b)
{
    b->previous = NULL;
    b->next = g->live;
    if (g->live) g->live->previous = b;
    g->live = b;
    b->live = true;
    g->live_blocks++;
    g->bytes_now += (int64_t)b->bytes;
    if (g->bytes_now > g->bytes_peak) g->bytes_peak = g->bytes_now;
}

static void unlink_live(kni_gpu *g, kni_gpu_block *b)
{
    if (b->previous)
        b->previous->next = b->next;
    else
        g->live = b->next;
    if (b->next) b->next->previous = b->previous;
    b->live = false;
    g->live_blocks--;
    g->bytes_now -= (int64_t)b->bytes;
}

static void destroy(kni_gpu *g, kni_gpu_block *b)
{
    if (b->memory && g->driver) g->driver->free(g->driver, b->memory);
    kni_free(b, sizeof *b);
}

void kni_gpu_trim(kni_gpu *g)
{
    for (int c = 0; c < 2 * KNI_GPU_CLASSES; c++) {
        kni_gpu_block **list = &g->free_blocks[c / KNI_GPU_CLASSES][c % KNI_GPU_CLASSES];
        while (*list) {
            kni_gpu_block *b = *list;
            *list = b->next;
            destroy(g, b);
        }
    }
    g->bytes_cached = 0;
}

static kni_gpu_block *take_free(kni_gpu *g, uint32_t class_number, bool uploaded)
{
    kni_gpu_block **list = &g->free_blocks[uploaded][class_number], *b = *list;
    if (!b) return NULL;
    *list = b->next;
    g->bytes_cached -= (int64_t)b->bytes;
    return b;
}

static int64_t held_bytes(const kni_gpu *g)
{
    return g->bytes_now + g->bytes_cached + g->bytes_recorded + g->driver->own_bytes;
}

/* From the driver, within the bound. NULL without any failure told. */
static void *allocate(kni_gpu *g, size_t room)
{
    if (g->limit && held_bytes(g) + (int64_t)room > g->limit) return NULL;
    return g->driver->allocate(g->driver, room);
}

static kni_gpu_block *no_memory(kni_gpu *g, size_t bytes)
{
    (void)kni_fail_op(KN_ERROR_MEMORY, NULL,
                      "no memory for %D bytes on %s, where %D of %D bytes are in use: free tensors sooner "
                      "(scopes, kn_drop), use smaller batches, or raise KN_DEVICE_MEMORY if it is set",
                      (int64_t)bytes, g->driver->name, g->bytes_now,
                      g->limit ? g->limit : g->driver->memory_bytes);
    return NULL;
}

static kni_gpu_block *too_large(const kni_gpu *g, size_t bytes)
{
    (void)kni_fail_op(
        KN_ERROR_MEMORY, NULL,
        "a tensor of %D bytes is too large for %s, whose kernels are given at most %D bytes in one "
        "piece: use smaller batches, split it along an axis (kn_narrow), or use the device \"cpu\" "
        "for it",
        (int64_t)bytes, g->driver->name, g->driver->max_bytes);
    return NULL;
}

kn_status kni_gpu_make_room(kni_gpu *g)
{
    kn_status s = kni_gpu_usable(g);
    if (s == KN_OK && !g->ending) s = kni_gpu_flush(g, KNI_GPU_WHY_MEMORY);
    if (s == KN_OK) s = kni_gpu_checked(g, g->driver->sync(g->driver));
    if (s) return s;
    kni_gpu_recordings_free(g);
    kni_gpu_trim(g);
    if (g->driver->trim && !g->recording) g->driver->trim(g->driver);
    return KN_OK;
}

/* What is queued may still use freed blocks: wait for it, give them back, and try once more; then without the
   recordings, the oldest first. NULL without any failure told where there is no memory; *lost where the device is. */
static void *allocate_again(kni_gpu *g, size_t room, bool *lost)
{
    void *memory = NULL;
    *lost = kni_gpu_flush(g, KNI_GPU_WHY_MEMORY) || kni_gpu_checked(g, g->driver->sync(g->driver));
    while (!*lost) {
        kni_gpu_trim(g);
        memory = allocate(g, room);
        if (memory || !g->oldest) break;
        kni_gpu_recording_free(g->oldest);
    }
    if (!*lost && !memory && g->driver->trim && g->driver->own_bytes) {
        g->driver->trim(g->driver);
        memory = allocate(g, room);
    }
    return memory;
}

static kni_gpu_block *take(kni_gpu *g, size_t bytes)
{
    size_t room;
    if ((uint64_t)bytes > UINT64_C(1) << 46) return no_memory(g, bytes);
    uint32_t c = class_of(bytes, &room);
    if (g->exact) room = bytes ? bytes : 1;
    size_t most = g->driver->max_bytes ? (size_t)g->driver->max_bytes : SIZE_MAX;
    if (bytes > most) return too_large(g, bytes);
    if (room > most) room = most;
    kni_gpu_block *b = g->recording ? kni_gpu_recording_block(g, c) : NULL;
    if (b) return b;
    b = take_free(g, c, g->uploading);
    if (!b && g->uploading) b = take_free(g, c, false);
    if (b) return b;
    b = kni_allocate(sizeof *b);
    if (!b) return no_memory(g, sizeof *b);
    memset(b, 0, sizeof *b);
    bool lost = false;
    b->memory = allocate(g, room);
    if (!b->memory) b->memory = allocate_again(g, room, &lost);
    if (!b->memory) {
        kni_free(b, sizeof *b);
        return lost ? NULL : no_memory(g, bytes);
    }
    b->gpu = g;
    b->bytes = room;
    b->class_number = c;
    return b;
}

/* A value begins in the block. */
static void begin(kni_gpu *g, kni_gpu_block *b)
{
    b->faults = 0;
    b->epoch = g->epoch;
    b->born = ++g->births;
    b->error = KN_NONE;
    b->companion = NULL;
    link_live(g, b);
}

kni_gpu_block *kni_gpu_take_another(const kni_gpu_block *like)
{
    kni_gpu *g = like->gpu;
    kni_gpu_block *b = take_free(g, like->class_number, false);
    if (!b) {
        void *memory = allocate(g, like->bytes);
        b = memory ? kni_allocate(sizeof *b) : NULL;
        if (!b && memory) g->driver->free(g->driver, memory);
        if (!b) return NULL;
        *b = (kni_gpu_block){
            .gpu = g, .memory = memory, .bytes = like->bytes, .class_number = like->class_number};
    }
    begin(g, b);
    return b;
}

kni_gpu_block *kni_gpu_take(kni_gpu *g, size_t bytes)
{
    if (KNI_UNLIKELY(bytes > UINT32_MAX) && kni_ir_wants_narrow(&g->driver->caps)) {
        (void)kni_fail(
            KN_ERROR_UNSUPPORTED,
            "%s: a tensor of %D bytes is too large: its kernels count in 32 bits, so 4 GiB are the most",
            g->driver->name, (int64_t)bytes);
        return NULL;
    }
    kni_gpu_lock(g);
    kni_gpu_block *b = kni_gpu_usable(g) ? NULL : take(g, bytes);
    if (b) {
        if (g->recording && !b->recording) kni_gpu_recording_adopt(g, b);
        begin(g, b);
    }
    kni_gpu_unlock(g);
    return b;
}

void kni_gpu_release_block(kni_gpu_block *b)
{
    kni_gpu *g = b->gpu;
    if (g->lost || g->closed || g->bytes_cached + (int64_t)b->bytes > g->cache_limit) {
        destroy(g, b);
        return;
    }
    kni_gpu_block **list = &g->free_blocks[b->uploaded][b->class_number];
    /* Several values of one size that each step brings along find the places of the step before, whichever of them ended first. */
    while (b->uploaded && *list && (*list)->memory < b->memory) list = &(*list)->next;
    b->next = *list;
    *list = b;
    g->bytes_cached += (int64_t)b->bytes;
}

void kni_gpu_revive(kni_gpu_block *b)
{
    kni_gpu *g = b->gpu;
    g->bytes_recorded -= (int64_t)b->bytes;
    b->recording->live++;
    begin(g, b);
}

void kni_gpu_give(kni_gpu_block *b)
{
    kni_gpu *g = b->gpu;
    kni_gpu_lock(g);
    if (b->companion) {
        kni_gpu_block *beside = b->companion;
        b->companion = NULL;
        kni_gpu_give(beside);
    }
    unlink_live(g, b);
    if (b->recording || (g->recording && !g->closed))
        kni_gpu_recording_keep(g, b);
    else
        kni_gpu_release_block(b);
    bool last = g->closed && !g->live;
    kni_gpu_unlock(g);
    if (last) kni_gpu_destroy(g);
}

/* ---- storages */

static void release_block(void *block) { kni_gpu_give(block); }

static int64_t bytes_of(const kni_tensor *x)
{
    return kn_dtype_bytes((kn_dtype)x->type.dtype, kni_count(&x->type));
}

kni_storage *kni_gpu_storage(kni_gpu_block *b, const kni_tensor *y)
{
    return kni_storage_device(b, (size_t)bytes_of(y), release_block, b);
}

kn_status kni_gpu_allocate(kni_gpu *g, kni_tensor *y)
{
    int64_t bytes = bytes_of(y);
    if (y->storage) kni_storage_release(y->storage);
    y->storage = NULL;
    if (bytes < 0) return kni_fail_op(KN_ERROR_MEMORY, NULL, "a result of 2^63 bytes or more has no memory");
    kni_gpu_block *b = kni_gpu_take(g, (size_t)bytes);
    if (!b) return kni_latest_code();
    y->storage = kni_gpu_storage(b, y);
    if (!y->storage) {
        kni_gpu_give(b);
        return kni_fail_op(KN_ERROR_MEMORY, NULL, "no memory for another tensor");
    }
    y->offset = 0;
    kni_contiguous_strides(y->type.rank, y->type.dims, y->strides);
    return KN_OK;
}

kn_status kni_gpu_operand(kni_gpu *g, const kni_tensor *x, kni_gpu_block **block, kni_gpu_block **made)
{
    *made = NULL;
    *block = x->storage ? kni_gpu_block_of(x->storage) : NULL;
    if (*block) return KN_OK;
    size_t bytes = kni_gpu_element_bytes(x);
    *made = *block = kni_gpu_take(g, bytes);
    if (!*made) return kni_latest_code();
    kn_status s = kni_gpu_flush(g, KNI_GPU_WHY_NUMBER);
    if (s) return s;
    return kni_gpu_checked(g, g->driver->upload(g->driver, (*made)->memory, 0, x->inline_value.bytes, bytes));
}

/* ---- writing and reading */

kn_status kni_gpu_write(kn_backend *backend, uint32_t id, const void *data)
{
    kni_gpu *g = kni_gpu_of(backend);
    kni_tensor *x = kni_slot(id);
    kni_gpu_enter(g);
    kn_status s = data ? kni_gpu_flush(g, KNI_GPU_WHY_UPLOAD) : KN_OK;
    g->uploading = data != NULL;
    if (s == KN_OK) s = kni_gpu_allocate(g, x);
    g->uploading = false;
    if (s == KN_OK) {
        kni_driver *d = g->driver;
        if (data) kni_gpu_block_of(x->storage)->uploaded = true;
        void *memory = kni_gpu_block_of(x->storage)->memory;
        size_t bytes = (size_t)bytes_of(x);
        if (bytes)
            s = kni_gpu_checked(g, data ? d->upload(d, memory, 0, data, bytes)
                                        : d->fill_zero(d, memory, 0, bytes));
    }
    kni_gpu_unlock(g);
    return s;
}

/* Marks a tensor whose value turned out to be faulty, so that every later use says so. */
static void poison(kni_tensor *x)
{
    kn_tensor fault = kni_gpu_block_of(x->storage)->error;
    x->error = fault.bits ? fault : kni_poison_latest();
    x->flags |= KNI_TENSOR_POISONED;
}

static kn_status read_locked(kni_gpu *g, kni_tensor *x, void *buffer)
{
    kni_driver *d = g->driver;
    uint64_t faults = 0;
    kni_gpu_block *copy = NULL;
    size_t bytes = (size_t)bytes_of(x), element = kni_gpu_element_bytes(x);
    kn_status s = kni_gpu_usable(g);
    if (s == KN_OK) s = kni_gpu_flush(g, KNI_GPU_WHY_READ);
    if (s == KN_OK) s = kni_gpu_faults_of(g, x, &faults);
    if (s == KN_OK && faults) {
        /* A fault may be another's; cells that could not be read are everybody's. */
        (void)kni_gpu_settle_faults(g);
        s = g->cells_status ? g->cells_status : kni_gpu_faults_of(g, x, &faults);
    }
    if (s) {
        poison(x);
        return s;
    }
    if (!bytes) return KN_OK;
    if (kni_gpu_contiguous(x))
        return kni_gpu_checked(g, d->download(d, buffer, kni_gpu_block_of(x->storage)->memory,
                                              (size_t)x->offset * element, bytes));
    s = kni_gpu_gather(g, x, &copy);
    if (s == KN_OK) s = kni_gpu_checked(g, d->download(d, buffer, copy->memory, 0, bytes));
    if (copy) kni_gpu_give(copy);
    return s;
}

kn_status kni_gpu_read(kn_backend *backend, uint32_t id, void *buffer)
{
    kni_gpu *g = kni_gpu_of(backend);
    kni_tensor *x = kni_slot(id);
    if (!x->storage) {
        memcpy(buffer, x->inline_value.bytes, kni_gpu_element_bytes(x));
        return KN_OK;
    }
    kni_gpu_enter(g);
    kn_status s = read_locked(g, x, buffer);
    kni_gpu_unlock(g);
    return s;
}

void kni_gpu_memory_report(kni_gpu *g, kn_report *report)
{
    kni_text text = {report->buffer, report->bytes, 0};
    kni_gpu_lock(g);
    kni_text_format(&text,
                    "%s: %D bytes in use in %D blocks, %D at most so far, %D kept for later, %D in "
                    "recordings, %D for the "
                    "driver's own use, %D on the device",
                    g->driver->name, g->bytes_now, g->live_blocks, g->bytes_peak, g->bytes_cached,
                    g->bytes_recorded, g->driver->own_bytes, g->driver->memory_bytes);
    kni_gpu_unlock(g);
    report->length = text.length;
}
