/* Copies between host and device through pinned memory. An upload copies into a ring of slots and returns: it waits
   only when all slots are still on their way. A download waits, and overlaps its two slots. */
#include "backend/cuda/cuda_driver.h"
#include "core/thread_pool.h"
#include <string.h>

/* One thread copies slower than the bus does; waking others pays from some size on. */
enum { PIECE = 256 << 10, PAYS = 1 << 20 };

typedef struct copy_job {
    char *to;
    const char *from;
    size_t bytes;
} copy_job;

static void copy_piece(void *argument, int64_t task, int worker)
{
    const copy_job *job = argument;
    size_t first = (size_t)task * PIECE, left = job->bytes - first;
    (void)worker;
    memcpy(job->to + first, job->from + first, left < PIECE ? left : PIECE);
}

static void copy_bytes(void *to, const void *from, size_t bytes)
{
    copy_job job = {to, from, bytes};
    if (bytes < PAYS)
        memcpy(to, from, bytes);
    else
        kni_parallel_for((int64_t)((bytes + PIECE - 1) / PIECE), copy_piece, &job);
}

/* False where there is no pinned memory: the caller then copies without it. */
static bool slot_ready(kni_cuda *c, kni_cuda_slot *slot, size_t bytes)
{
    if (slot->memory) return true;
    void *memory = NULL, *event = NULL;
    if (c->api->host_allocate(&memory, bytes, 0)) return false;
    if (c->api->event_create(&event, KNI_CU_EVENT_NO_TIME)) {
        (void)c->api->host_free(memory);
        return false;
    }
    slot->memory = memory;
    slot->event = event;
    return true;
}

static kn_status slot_wait(kni_cuda *c, kni_cuda_slot *slot, const char *doing)
{
    if (!slot->busy) return KN_OK;
    slot->busy = false;
    return kni_cuda_result(c, c->api->event_wait(slot->event), doing);
}

static kn_status slot_mark(kni_cuda *c, kni_cuda_slot *slot, const char *doing)
{
    slot->busy = true;
    slot->turn = ++c->turns;
    return kni_cuda_result(c, c->api->event_record(slot->event, c->stream), doing);
}

/* The slot after a full one: the first that is free, so that a device which keeps up is served from memory that the
   processor has at hand; else one that was never used, else the one that was given away the longest time ago. */
static int next_slot(kni_cuda *c)
{
    int oldest = -1, unused = -1;
    for (int i = KNI_CUDA_UPLOAD_SLOTS - 1; i >= 0; i--) {
        const kni_cuda_slot *slot = &c->upload[i];
        if (!slot->memory) unused = i;
        if (slot->memory && (oldest < 0 || slot->turn < c->upload[oldest].turn)) oldest = i;
    }
    for (int i = 0; i < KNI_CUDA_UPLOAD_SLOTS; i++) {
        kni_cuda_slot *slot = &c->upload[i];
        if (!slot->memory || (slot->busy && c->api->event_query(slot->event))) continue;
        slot->busy = false;
        return i;
    }
    return unused >= 0 ? unused : oldest;
}

static kn_status leave_slot(kni_cuda *c, const char *doing)
{
    kn_status status = slot_mark(c, &c->upload[c->upload_slot], doing);
    if (status) return status;
    c->upload_slot = next_slot(c);
    c->upload_used = 0;
    return KN_OK;
}

kn_status kni_cuda_upload(kni_driver *d, void *to, size_t offset, const void *from, size_t bytes)
{
    static const char doing[] = "copying to the device";
    kni_cuda *c = kni_cuda_of(d);
    kn_status status = kni_cuda_enter_outside(c, doing);
    const char *source = from;
    kni_cuda_address target = kni_cuda_at(to, offset);
    while (!status && bytes) {
        size_t room = KNI_CUDA_UPLOAD_BYTES - c->upload_used;
        /* What fits a slot goes in one piece. */
        if (c->upload_used && (!room || (bytes > room && bytes <= KNI_CUDA_UPLOAD_BYTES))) {
            status = leave_slot(c, doing);
            continue;
        }
        kni_cuda_slot *slot = &c->upload[c->upload_slot];
        if (!slot_ready(c, slot, KNI_CUDA_UPLOAD_BYTES))
            return kni_cuda_result(c, c->api->copy_in(target, source, bytes, c->stream), doing);
        /* A slot that is entered at its beginning may still be read by the copies of its last turn. */
        if (!c->upload_used && (status = slot_wait(c, slot, doing))) break;
        size_t n = bytes < room ? bytes : room, padded = (n + 255) / 256 * 256;
        copy_bytes(slot->memory + c->upload_used, source, n);
        status =
            kni_cuda_result(c, c->api->copy_in(target, slot->memory + c->upload_used, n, c->stream), doing);
        c->upload_used = padded < room ? c->upload_used + padded : KNI_CUDA_UPLOAD_BYTES;
        source += n;
        target += n;
        bytes -= n;
    }
    /* So that it is free for others as early as can be. */
    if (!status && c->upload_used == KNI_CUDA_UPLOAD_BYTES) status = leave_slot(c, doing);
    return status;
}

/* Chunk i is queued before chunk i - 1 is taken out, so that copies on both sides go on at once. */
static kn_status download_chunks(kni_cuda *c, char *to, kni_cuda_address from, size_t bytes,
                                 const char *doing)
{
    size_t chunks = (bytes + KNI_CUDA_DOWNLOAD_BYTES - 1) / KNI_CUDA_DOWNLOAD_BYTES;
    kn_status status = KN_OK;
    for (size_t i = 0; i <= chunks && !status; i++) {
        if (i < chunks) {
            size_t first = i * KNI_CUDA_DOWNLOAD_BYTES, left = bytes - first;
            kni_cuda_slot *slot = &c->download[i % KNI_CUDA_DOWNLOAD_SLOTS];
            status = kni_cuda_result(
                c,
                c->api->copy_out(slot->memory, from + first,
                                 left < KNI_CUDA_DOWNLOAD_BYTES ? left : KNI_CUDA_DOWNLOAD_BYTES, c->stream),
                doing);
            if (!status) status = slot_mark(c, slot, doing);
        }
        if (!status && i > 0) {
            size_t first = (i - 1) * KNI_CUDA_DOWNLOAD_BYTES, left = bytes - first;
            kni_cuda_slot *slot = &c->download[(i - 1) % KNI_CUDA_DOWNLOAD_SLOTS];
            status = slot_wait(c, slot, doing);
            if (!status)
                copy_bytes(to + first, slot->memory,
                           left < KNI_CUDA_DOWNLOAD_BYTES ? left : KNI_CUDA_DOWNLOAD_BYTES);
        }
    }
    return status;
}

kn_status kni_cuda_download(kni_driver *d, void *to, const void *from, size_t offset, size_t bytes)
{
    static const char doing[] = "copying from the device";
    kni_cuda *c = kni_cuda_of(d);
    kn_status status = kni_cuda_enter_outside(c, doing);
    if (status || !bytes) return status;
    bool pinned =
        slot_ready(c, &c->download[0], KNI_CUDA_DOWNLOAD_BYTES) &&
        (bytes <= KNI_CUDA_DOWNLOAD_BYTES || slot_ready(c, &c->download[1], KNI_CUDA_DOWNLOAD_BYTES));
    if (pinned) return download_chunks(c, to, kni_cuda_at(from, offset), bytes, doing);
    int result = c->api->copy_out(to, kni_cuda_at(from, offset), bytes, c->stream);
    if (!result) result = c->api->stream_wait(c->stream);
    return kni_cuda_result(c, result, doing);
}

static void slot_free(kni_cuda *c, kni_cuda_slot *slot)
{
    if (!slot->memory) return;
    (void)c->api->event_destroy(slot->event);
    (void)c->api->host_free(slot->memory);
    memset(slot, 0, sizeof *slot);
}

void kni_cuda_staging_free(kni_cuda *c)
{
    for (int i = 0; i < KNI_CUDA_UPLOAD_SLOTS; i++) slot_free(c, &c->upload[i]);
    for (int i = 0; i < KNI_CUDA_DOWNLOAD_SLOTS; i++) slot_free(c, &c->download[i]);
}
