/* Frames: what is recorded, submitted and waited for; copies to, from and on the device. */
#include "backend/vulkan/vulkan_driver.h"
#include "core/error.h"
#include "core/objects.h"
#include <string.h>

static int32_t open_frame(vulkan *v, vulkan_frame *f)
{
    const vk_commands_info commands = {.is = VK_IS_COMMANDS, .pool = v->commands, .count = 1};
    const vk_plain_info fence = {.is = VK_IS_FENCE};
    int32_t status = v->api->allocate_commands(v->device, &commands, &f->commands);
    if (!status) status = v->api->create_fence(v->device, &fence, NULL, &f->fence);
    return status ? status
                  : kni_vulkan_page_open(v, &f->page, VULKAN_STAGING, VULKAN_SETS, VULKAN_DESCRIPTORS);
}

static int32_t open_alarm(vulkan *v)
{
    int32_t status = kni_vulkan_make_buffer(v, sizeof *v->alarmed, VK_USE_STORAGE, VK_ON_HOST | VK_COHERENT,
                                            VK_CACHED, &v->alarm, &v->alarm_memory);
    if (status) {
        v->alarm = v->alarm_memory = 0;
        return status;
    }
    status = v->api->map(v->device, v->alarm_memory, 0, sizeof *v->alarmed, 0, (void **)&v->alarmed);
    if (!status) *v->alarmed = 0;
    return status;
}

kn_status kni_vulkan_frames_open(vulkan *v)
{
    const vk_plain_info pool = {.is = VK_IS_COMMAND_POOL, .flags = VK_COMMANDS_RESET, .number = v->family};
    int32_t status = v->api->create_command_pool(v->device, &pool, NULL, &v->commands);
    if (!status && v->driver.caps.loop_turns) status = open_alarm(v);
    for (int i = 0; i < VULKAN_FRAMES && !status; i++) status = open_frame(v, &v->frames[i]);
    return status ? kni_vulkan_failed(v, "making its command buffers", status) : KN_OK;
}

void kni_vulkan_frames_close(vulkan *v)
{
    for (int i = 0; i < VULKAN_FRAMES; i++) {
        vulkan_frame *f = &v->frames[i];
        if (f->fence) v->api->destroy_fence(v->device, f->fence, NULL);
        kni_vulkan_page_close(v, &f->page);
    }
    if (v->alarm) v->api->destroy_buffer(v->device, v->alarm, NULL);
    if (v->alarm_memory) v->api->free(v->device, v->alarm_memory, NULL);
    if (v->commands) v->api->destroy_command_pool(v->device, v->commands, NULL);
}

/* ---- frames */

kn_status kni_vulkan_wait(vulkan *v, vk_fence fence, bool *submitted)
{
    if (!*submitted) return KN_OK;
    int32_t status = v->api->wait_fences(v->device, 1, &fence, 1, UINT64_MAX);
    *submitted = false;
    if (!status) status = v->api->reset_fences(v->device, 1, &fence);
    return status ? kni_vulkan_failed(v, "waiting for the device", status) : KN_OK;
}

kn_status kni_vulkan_submit(vulkan *v, vk_commands commands, vk_fence fence)
{
    const vk_submit_info info = {.is = VK_IS_SUBMIT, .n_commands = 1, .commands = &commands};
    int32_t status = v->api->submit(v->queue, 1, &info, fence);
    return status ? kni_vulkan_failed(v, "submitting work", status) : KN_OK;
}

kn_status kni_vulkan_flush(vulkan *v)
{
    vulkan_frame *f = &v->frames[v->frame];
    if (!f->recording) return KN_OK;
    f->recording = false;
    int32_t status = v->api->end(f->commands);
    if (status) return kni_vulkan_failed(v, "submitting work", status);
    kn_status s = kni_vulkan_submit(v, f->commands, f->fence);
    if (s != KN_OK) return s;
    f->submitted = true;
    v->frame = (v->frame + 1) % VULKAN_FRAMES;
    return KN_OK;
}

static kn_status begin_frame(vulkan *v, vulkan_frame *f)
{
    const vk_begin_info begin = {.is = VK_IS_COMMANDS_BEGIN, .flags = VK_COMMANDS_ONCE};
    kn_status s = kni_vulkan_wait(v, f->fence, &f->submitted);
    if (s != KN_OK) return s;
    int32_t status = v->api->reset_set_pool(v->device, f->page.sets, 0);
    if (!status) status = v->api->begin(f->commands, &begin);
    if (status) return kni_vulkan_failed(v, "recording work", status);
    f->page.staged = f->page.n_sets = f->page.n_descriptors = 0;
    f->recording = true;
    /* What was submitted before is seen by this one. */
    kni_vulkan_barrier(v, f->commands);
    v->hazards.n = 0;
    return KN_OK;
}

/* The frame with room for this; NULL after a failure. */
static vulkan_frame *frame_for(vulkan *v, uint64_t bytes, uint32_t n_buffers)
{
    vulkan_frame *f = &v->frames[v->frame];
    if (v->lost) {
        (void)kni_vulkan_failed(v, "recording work", VK_LOST);
        return NULL;
    }
    if (f->recording && !kni_vulkan_page_has(&f->page, bytes, n_buffers)) {
        if (kni_vulkan_flush(v) != KN_OK) return NULL;
        f = &v->frames[v->frame];
    }
    return f->recording || begin_frame(v, f) == KN_OK ? f : NULL;
}

uint32_t kni_vulkan_targets(vulkan *v, uint64_t bytes, uint32_t n_buffers, const vulkan_use *uses,
                            uint32_t n_uses, vulkan_target *targets)
{
    if (v->noted) return kni_vulkan_record_targets(v, bytes, n_buffers, uses, n_uses, targets);
    vulkan_frame *f = frame_for(v, bytes, n_buffers);
    if (!f) return 0;
    targets[0] = (vulkan_target){f->commands, &f->page, kni_vulkan_page_take(&f->page, bytes)};
    if (kni_vulkan_conflicts(&v->hazards, uses, n_uses)) kni_vulkan_barrier(v, f->commands);
    return 1;
}

/* What is read after a loop was ended is wrong, and nobody knows what else: all waiting fails until a reading has. */
static kn_status heed_alarm(vulkan *v)
{
    if (!v->alarm || !*v->alarmed) return KN_OK;
    return kni_fail(
        KN_ERROR_INTERNAL,
        "%s: Mesa's processor driver ended the loops of a kernel after 65,535 turns, so that what was "
        "computed since the latest reading may be wrong; use smaller sizes, a driver of a GPU, or the "
        "device \"cpu\"",
        v->spec);
}

kn_status kni_vulkan_sync(kni_driver *d)
{
    vulkan *v = kni_vulkan_of(d);
    kn_status s = kni_vulkan_flush(v);
    for (int i = 0; i < VULKAN_FRAMES; i++) {
        kn_status one = kni_vulkan_wait(v, v->frames[i].fence, &v->frames[i].submitted);
        if (s == KN_OK) s = one;
    }
    kn_status last = kni_vulkan_recordings_wait(v);
    if (s == KN_OK) s = last;
    return s == KN_OK ? heed_alarm(v) : s;
}

/* ---- copies */

static void put_copy(vulkan *v, vk_commands commands, vk_buffer from, uint64_t from_offset, vk_buffer to,
                     uint64_t to_offset, uint64_t bytes)
{
    const vk_region region = {from_offset, to_offset, bytes};
    v->api->copy(commands, from, to, 1, &region);
}

/* What copies wrote to staging memory is seen by the host once the frame has run. */
static void barrier_to_host(vulkan *v, vk_commands commands)
{
    const vk_barrier barrier = {.is = VK_IS_MEMORY_BARRIER, .before = VK_COPY_WRITES, .after = VK_HOST_READS};
    v->api->barrier(commands, VK_STAGE_COPY, VK_STAGE_HOST, 0, 1, &barrier, 0, NULL, 0, NULL);
}

static size_t part_of(size_t left) { return left > VULKAN_STAGING ? VULKAN_STAGING : left; }

/* From the host by way of staging memory. In a recording it is for bytes that are the same each time. */
static kn_status put_bytes(vulkan *v, const vulkan_memory *m, uint64_t offset, const void *from, size_t bytes)
{
    vulkan_target targets[VULKAN_COPIES];
    if (!bytes) return KN_OK;
    const vulkan_use use = kni_vulkan_use_of(m, offset, bytes, true);
    uint32_t n = kni_vulkan_targets(v, bytes, 0, &use, 1, targets);
    for (uint32_t i = 0; i < n; i++) {
        const vulkan_target *t = &targets[i];
        memcpy(t->page->mapped + t->at, from, bytes);
        put_copy(v, t->commands, t->page->staging, t->at, kni_vulkan_buffer(m), m->offset + offset, bytes);
    }
    return n ? KN_OK : kni_latest_code();
}

static kn_status outside(vulkan *v, const char *what)
{
    return v->noted ? kni_fail(KN_ERROR_INTERNAL, "%s: %s cannot be recorded", v->spec, what) : KN_OK;
}

kn_status kni_vulkan_upload(kni_driver *d, void *to, size_t offset, const void *from, size_t bytes)
{
    vulkan *v = kni_vulkan_of(d);
    kn_status s = outside(v, "a copy from the host");
    for (size_t done = 0; done < bytes && s == KN_OK; done += part_of(bytes - done))
        s = put_bytes(v, to, offset + done, (const char *)from + done, part_of(bytes - done));
    return s;
}

kn_status kni_vulkan_download(kni_driver *d, void *to, const void *from, size_t offset, size_t bytes)
{
    vulkan *v = kni_vulkan_of(d);
    const vulkan_memory *m = from;
    vulkan_target target[VULKAN_COPIES];
    kn_status s = outside(v, "a copy to the host");
    for (size_t done = 0, part; done < bytes && s == KN_OK; done += part) {
        part = part_of(bytes - done);
        const vulkan_use use = kni_vulkan_use_of(m, offset + done, part, false);
        if (!kni_vulkan_targets(v, part, 0, &use, 1, target)) return kni_latest_code();
        put_copy(v, target->commands, kni_vulkan_buffer(m), m->offset + offset + done, target->page->staging,
                 target->at, part);
        barrier_to_host(v, target->commands);
        s = kni_vulkan_sync(d);
        if (s == KN_OK) memcpy((char *)to + done, target->page->mapped + target->at, part);
    }
    if (s != KN_OK && v->alarm) *v->alarmed = 0;
    return s;
}

kn_status kni_vulkan_copy(kni_driver *d, void *to, size_t to_offset, const void *from, size_t from_offset,
                          size_t bytes)
{
    vulkan *v = kni_vulkan_of(d);
    const vulkan_memory *target = to, *source = from;
    vulkan_target targets[VULKAN_COPIES];
    if (!bytes) return KN_OK;
    const vulkan_use uses[] = {kni_vulkan_use_of(to, to_offset, bytes, true),
                               kni_vulkan_use_of(from, from_offset, bytes, false)};
    uint32_t n = kni_vulkan_targets(v, 0, 0, uses, 2, targets);
    for (uint32_t i = 0; i < n; i++)
        put_copy(v, targets[i].commands, kni_vulkan_buffer(source), source->offset + from_offset,
                 kni_vulkan_buffer(target), target->offset + to_offset, bytes);
    return n ? KN_OK : kni_latest_code();
}

/* Words are filled; bytes before and behind them are copied. */
kn_status kni_vulkan_fill_zero(kni_driver *d, void *to, size_t offset, size_t bytes)
{
    static const unsigned char zeros[4];
    vulkan *v = kni_vulkan_of(d);
    const vulkan_memory *m = to;
    vulkan_target targets[VULKAN_COPIES];
    size_t before = (4 - offset % 4) % 4;
    if (before > bytes) before = bytes;
    size_t words = (bytes - before) / 4 * 4, behind = bytes - before - words;
    kn_status s = put_bytes(v, m, offset, zeros, before);
    if (s == KN_OK) s = put_bytes(v, m, offset + before + words, zeros, behind);
    if (s != KN_OK || !words) return s;
    const vulkan_use use = kni_vulkan_use_of(m, offset + before, words, true);
    uint32_t n = kni_vulkan_targets(v, 0, 0, &use, 1, targets);
    for (uint32_t i = 0; i < n; i++)
        v->api->fill(targets[i].commands, kni_vulkan_buffer(m), m->offset + offset + before, words, 0);
    return n ? KN_OK : kni_latest_code();
}
