/* Copies between host and device through pinned memory. An upload copies into a ring of slots and returns: it waits
   only when all slots are still on their way. A download waits, and overlaps its two slots. */
#include "backend/runtime/runtime.h"
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
static bool slot_ready(kni_runtime *rt, kni_runtime_slot *slot, size_t bytes)
{
    if (slot->memory) return true;
    void *memory = NULL, *event = NULL;
    if (rt->api->host_allocate(&memory, bytes, 0)) return false;
    if (rt->api->event_create(&event, KNI_RT_EVENT_NO_TIME)) {
        (void)rt->api->host_free(memory);
        return false;
    }
    slot->memory = memory;
    slot->event = event;
    return true;
}

static kn_status slot_wait(kni_runtime *rt, kni_runtime_slot *slot, const char *doing)
{
    if (!slot->busy) return KN_OK;
    slot->busy = false;
    return kni_runtime_result(rt, rt->api->event_wait(slot->event), doing);
}

static kn_status slot_mark(kni_runtime *rt, kni_runtime_slot *slot, const char *doing)
{
    slot->busy = true;
    slot->turn = ++rt->turns;
    return kni_runtime_result(rt, rt->api->event_record(slot->event, rt->stream), doing);
}

/* The slot after a full one: the first that is free, so that a device which keeps up is served from memory that the
   processor has at hand; else one that was never used, else the one that was given away the longest time ago. */
static int next_slot(kni_runtime *rt)
{
    int oldest = -1, unused = -1;
    for (int i = KNI_RUNTIME_UPLOAD_SLOTS - 1; i >= 0; i--) {
        const kni_runtime_slot *slot = &rt->upload[i];
        if (!slot->memory) unused = i;
        if (slot->memory && (oldest < 0 || slot->turn < rt->upload[oldest].turn)) oldest = i;
    }
    for (int i = 0; i < KNI_RUNTIME_UPLOAD_SLOTS; i++) {
        kni_runtime_slot *slot = &rt->upload[i];
        if (!slot->memory || (slot->busy && rt->api->event_query(slot->event))) continue;
        slot->busy = false;
        return i;
    }
    return unused >= 0 ? unused : oldest;
}

static kn_status leave_slot(kni_runtime *rt, const char *doing)
{
    kn_status status = slot_mark(rt, &rt->upload[rt->upload_slot], doing);
    if (status) return status;
    rt->upload_slot = next_slot(rt);
    rt->upload_used = 0;
    return KN_OK;
}

kn_status kni_runtime_upload(kni_driver *d, void *to, size_t offset, const void *from, size_t bytes)
{
    static const char doing[] = "copying to the device";
    kni_runtime *rt = kni_runtime_of(d);
    kn_status status = kni_runtime_enter_outside(rt, doing);
    const char *source = from;
    kni_runtime_address target = kni_runtime_at(to, offset);
    while (!status && bytes) {
        size_t room = KNI_RUNTIME_UPLOAD_BYTES - rt->upload_used;
        /* What fits a slot goes in one piece. */
        if (rt->upload_used && (!room || (bytes > room && bytes <= KNI_RUNTIME_UPLOAD_BYTES))) {
            status = leave_slot(rt, doing);
            continue;
        }
        kni_runtime_slot *slot = &rt->upload[rt->upload_slot];
        if (!slot_ready(rt, slot, KNI_RUNTIME_UPLOAD_BYTES))
            return kni_runtime_result(rt, rt->api->copy_in(target, source, bytes, rt->stream), doing);
        /* A slot that is entered at its beginning may still be read by the copies of its last turn. */
        if (!rt->upload_used && (status = slot_wait(rt, slot, doing))) break;
        size_t n = bytes < room ? bytes : room, padded = (n + 255) / 256 * 256;
        copy_bytes(slot->memory + rt->upload_used, source, n);
        status = kni_runtime_result(
            rt, rt->api->copy_in(target, slot->memory + rt->upload_used, n, rt->stream), doing);
        rt->upload_used = padded < room ? rt->upload_used + padded : KNI_RUNTIME_UPLOAD_BYTES;
        source += n;
        target += n;
        bytes -= n;
    }
    /* So that it is free for others as early as can be. */
    if (!status && rt->upload_used == KNI_RUNTIME_UPLOAD_BYTES) status = leave_slot(rt, doing);
    return status;
}

/* Chunk i is queued before chunk i - 1 is taken out, so that copies on both sides go on at once. */
static kn_status download_chunks(kni_runtime *rt, char *to, kni_runtime_address from, size_t bytes,
                                 const char *doing)
{
    size_t chunks = (bytes + KNI_RUNTIME_DOWNLOAD_BYTES - 1) / KNI_RUNTIME_DOWNLOAD_BYTES;
    kn_status status = KN_OK;
    for (size_t i = 0; i <= chunks && !status; i++) {
        if (i < chunks) {
            size_t first = i * KNI_RUNTIME_DOWNLOAD_BYTES, left = bytes - first;
            kni_runtime_slot *slot = &rt->download[i % KNI_RUNTIME_DOWNLOAD_SLOTS];
            status = kni_runtime_result(
                rt,
                rt->api->copy_out(slot->memory, from + first,
                                  left < KNI_RUNTIME_DOWNLOAD_BYTES ? left : KNI_RUNTIME_DOWNLOAD_BYTES,
                                  rt->stream),
                doing);
            if (!status) status = slot_mark(rt, slot, doing);
        }
        if (!status && i > 0) {
            size_t first = (i - 1) * KNI_RUNTIME_DOWNLOAD_BYTES, left = bytes - first;
            kni_runtime_slot *slot = &rt->download[(i - 1) % KNI_RUNTIME_DOWNLOAD_SLOTS];
            status = slot_wait(rt, slot, doing);
            if (!status)
                copy_bytes(to + first, slot->memory,
                           left < KNI_RUNTIME_DOWNLOAD_BYTES ? left : KNI_RUNTIME_DOWNLOAD_BYTES);
        }
    }
    return status;
}

kn_status kni_runtime_download(kni_driver *d, void *to, const void *from, size_t offset, size_t bytes)
{
    static const char doing[] = "copying from the device";
    kni_runtime *rt = kni_runtime_of(d);
    kn_status status = kni_runtime_enter_outside(rt, doing);
    if (status || !bytes) return status;
    bool pinned =
        slot_ready(rt, &rt->download[0], KNI_RUNTIME_DOWNLOAD_BYTES) &&
        (bytes <= KNI_RUNTIME_DOWNLOAD_BYTES || slot_ready(rt, &rt->download[1], KNI_RUNTIME_DOWNLOAD_BYTES));
    if (pinned) return download_chunks(rt, to, kni_runtime_at(from, offset), bytes, doing);
    int result = rt->api->copy_out(to, kni_runtime_at(from, offset), bytes, rt->stream);
    if (!result) result = rt->api->stream_wait(rt->stream);
    return kni_runtime_result(rt, result, doing);
}

static void slot_free(kni_runtime *rt, kni_runtime_slot *slot)
{
    if (!slot->memory) return;
    (void)rt->api->event_destroy(slot->event);
    (void)rt->api->host_free(slot->memory);
    memset(slot, 0, sizeof *slot);
}

void kni_runtime_staging_free(kni_runtime *rt)
{
    for (int i = 0; i < KNI_RUNTIME_UPLOAD_SLOTS; i++) slot_free(rt, &rt->upload[i]);
    for (int i = 0; i < KNI_RUNTIME_DOWNLOAD_SLOTS; i++) slot_free(rt, &rt->download[i]);
}
