/* Frames: what is recorded, submitted and waited for; copies to, from and on the device. */
#include "backend/vulkan/vulkan_driver.h"
#include "core/error.h"
#include <string.h>

static int32_t open_frame(vulkan *v, vulkan_frame *f)
{
    const kni_vulkan_api *a = v->api;
    const vk_commands_info commands = {.is = VK_IS_COMMANDS, .pool = v->commands, .count = 1};
    const vk_plain_info fence = {.is = VK_IS_FENCE};
    const vk_pool_size size = {VK_STORAGE_BUFFER, VULKAN_DESCRIPTORS};
    const vk_set_pool_info sets = {
        .is = VK_IS_SET_POOL, .max_sets = VULKAN_SETS, .n_sizes = 1, .sizes = &size};
    int32_t status = a->allocate_commands(v->device, &commands, &f->commands);
    if (!status) status = a->create_fence(v->device, &fence, NULL, &f->fence);
    if (!status) status = a->create_set_pool(v->device, &sets, NULL, &f->sets);
    if (!status)
        status = kni_vulkan_make_buffer(v, VULKAN_STAGING, VK_USE_STORAGE | VK_USE_COPY_FROM | VK_USE_COPY_TO,
                                        VK_ON_HOST | VK_COHERENT, VK_CACHED, &f->staging, &f->staging_memory);
    if (!status) status = a->map(v->device, f->staging_memory, 0, VULKAN_STAGING, 0, (void **)&f->mapped);
    return status;
}

kn_status kni_vulkan_frames_open(vulkan *v)
{
    const vk_plain_info pool = {.is = VK_IS_COMMAND_POOL, .flags = VK_COMMANDS_RESET, .number = v->family};
    int32_t status = v->api->create_command_pool(v->device, &pool, NULL, &v->commands);
    for (int i = 0; i < VULKAN_FRAMES && !status; i++) status = open_frame(v, &v->frames[i]);
    return status ? kni_vulkan_failed(v, "making its command buffers", status) : KN_OK;
}

void kni_vulkan_frames_close(vulkan *v)
{
    const kni_vulkan_api *a = v->api;
    for (int i = 0; i < VULKAN_FRAMES; i++) {
        vulkan_frame *f = &v->frames[i];
        if (f->fence) a->destroy_fence(v->device, f->fence, NULL);
        if (f->sets) a->destroy_set_pool(v->device, f->sets, NULL);
        if (f->staging) a->destroy_buffer(v->device, f->staging, NULL);
        if (f->staging_memory) a->free(v->device, f->staging_memory, NULL);
    }
    if (v->commands) a->destroy_command_pool(v->device, v->commands, NULL);
}

/* ---- frames */

static kn_status wait_frame(vulkan *v, vulkan_frame *f)
{
    if (!f->submitted) return KN_OK;
    int32_t status = v->api->wait_fences(v->device, 1, &f->fence, 1, UINT64_MAX);
    f->submitted = false;
    if (!status) status = v->api->reset_fences(v->device, 1, &f->fence);
    return status ? kni_vulkan_failed(v, "waiting for the device", status) : KN_OK;
}

kn_status kni_vulkan_flush(vulkan *v)
{
    vulkan_frame *f = &v->frames[v->frame];
    if (!f->recording) return KN_OK;
    const vk_submit_info info = {.is = VK_IS_SUBMIT, .n_commands = 1, .commands = &f->commands};
    f->recording = false;
    int32_t status = v->api->end(f->commands);
    if (!status) status = v->api->submit(v->queue, 1, &info, f->fence);
    if (status) return kni_vulkan_failed(v, "submitting work", status);
    f->submitted = true;
    v->frame = (v->frame + 1) % VULKAN_FRAMES;
    return KN_OK;
}

static kn_status begin_frame(vulkan *v, vulkan_frame *f)
{
    const vk_begin_info begin = {.is = VK_IS_COMMANDS_BEGIN, .flags = VK_COMMANDS_ONCE};
    kn_status s = wait_frame(v, f);
    if (s != KN_OK) return s;
    int32_t status = v->api->reset_set_pool(v->device, f->sets, 0);
    if (!status) status = v->api->begin(f->commands, &begin);
    if (status) return kni_vulkan_failed(v, "recording work", status);
    f->staged = f->n_sets = f->n_descriptors = 0;
    f->recording = true;
    /* What the frame before wrote is seen by this one. */
    kni_vulkan_barrier(v, f);
    return KN_OK;
}

vulkan_frame *kni_vulkan_frame(vulkan *v, uint64_t bytes, uint32_t n_buffers, uint64_t *offset)
{
    uint64_t size = bytes + VULKAN_ALIGNMENT - 1 - (bytes + VULKAN_ALIGNMENT - 1) % VULKAN_ALIGNMENT;
    vulkan_frame *f = &v->frames[v->frame];
    if (v->lost) {
        (void)kni_vulkan_failed(v, "recording work", VK_LOST);
        return NULL;
    }
    bool full = f->staged + size > VULKAN_STAGING || f->n_sets == VULKAN_SETS ||
                f->n_descriptors + n_buffers > VULKAN_DESCRIPTORS;
    if (f->recording && full) {
        if (kni_vulkan_flush(v) != KN_OK) return NULL;
        f = &v->frames[v->frame];
    }
    if (!f->recording && begin_frame(v, f) != KN_OK) return NULL;
    *offset = f->staged;
    f->staged += size;
    return f;
}

void kni_vulkan_barrier(vulkan *v, vulkan_frame *f)
{
    enum { WRITES = VK_SHADER_WRITES | VK_COPY_WRITES, READS = VK_SHADER_READS | VK_COPY_READS };
    const vk_barrier barrier = {.is = VK_IS_MEMORY_BARRIER, .before = WRITES, .after = WRITES | READS};
    uint32_t stages = VK_STAGE_COMPUTE | VK_STAGE_COPY;
    v->api->barrier(f->commands, stages, stages, 0, 1, &barrier, 0, NULL, 0, NULL);
}

/* What copies wrote to staging memory is seen by the host once the frame has run. */
static void barrier_to_host(vulkan *v, vulkan_frame *f)
{
    const vk_barrier barrier = {.is = VK_IS_MEMORY_BARRIER, .before = VK_COPY_WRITES, .after = VK_HOST_READS};
    v->api->barrier(f->commands, VK_STAGE_COPY, VK_STAGE_HOST, 0, 1, &barrier, 0, NULL, 0, NULL);
}

kn_status kni_vulkan_sync(kni_driver *d)
{
    vulkan *v = kni_vulkan_of(d);
    kn_status s = kni_vulkan_flush(v);
    for (int i = 0; i < VULKAN_FRAMES; i++) {
        kn_status one = wait_frame(v, &v->frames[i]);
        if (s == KN_OK) s = one;
    }
    return s;
}

/* ---- copies */

static void record_copy(vulkan *v, vulkan_frame *f, vk_buffer from, uint64_t from_offset, vk_buffer to,
                        uint64_t to_offset, uint64_t bytes)
{
    const vk_region region = {from_offset, to_offset, bytes};
    v->api->copy(f->commands, from, to, 1, &region);
}

kn_status kni_vulkan_upload(kni_driver *d, void *to, size_t offset, const void *from, size_t bytes)
{
    vulkan *v = kni_vulkan_of(d);
    const vulkan_memory *m = to;
    for (size_t done = 0; done < bytes;) {
        size_t part = bytes - done > VULKAN_STAGING ? VULKAN_STAGING : bytes - done;
        uint64_t at;
        vulkan_frame *f = kni_vulkan_frame(v, part, 0, &at);
        if (!f) return KN_ERROR_DEVICE;
        memcpy(f->mapped + at, (const char *)from + done, part);
        record_copy(v, f, f->staging, at, kni_vulkan_buffer(m), m->offset + offset + done, part);
        kni_vulkan_barrier(v, f);
        done += part;
    }
    return KN_OK;
}

kn_status kni_vulkan_download(kni_driver *d, void *to, const void *from, size_t offset, size_t bytes)
{
    vulkan *v = kni_vulkan_of(d);
    const vulkan_memory *m = from;
    for (size_t done = 0; done < bytes;) {
        size_t part = bytes - done > VULKAN_STAGING ? VULKAN_STAGING : bytes - done;
        uint64_t at;
        vulkan_frame *f = kni_vulkan_frame(v, part, 0, &at);
        if (!f) return KN_ERROR_DEVICE;
        record_copy(v, f, kni_vulkan_buffer(m), m->offset + offset + done, f->staging, at, part);
        barrier_to_host(v, f);
        kn_status s = kni_vulkan_sync(d);
        if (s != KN_OK) return s;
        memcpy((char *)to + done, f->mapped + at, part);
        done += part;
    }
    return KN_OK;
}

kn_status kni_vulkan_copy(kni_driver *d, void *to, size_t to_offset, const void *from, size_t from_offset,
                          size_t bytes)
{
    vulkan *v = kni_vulkan_of(d);
    const vulkan_memory *target = to, *source = from;
    uint64_t at;
    if (!bytes) return KN_OK;
    vulkan_frame *f = kni_vulkan_frame(v, 0, 0, &at);
    if (!f) return KN_ERROR_DEVICE;
    record_copy(v, f, kni_vulkan_buffer(source), source->offset + from_offset, kni_vulkan_buffer(target),
                target->offset + to_offset, bytes);
    kni_vulkan_barrier(v, f);
    return KN_OK;
}

/* Words are filled; bytes before and behind them are uploaded. */
kn_status kni_vulkan_fill_zero(kni_driver *d, void *to, size_t offset, size_t bytes)
{
    static const unsigned char zeros[4];
    vulkan *v = kni_vulkan_of(d);
    const vulkan_memory *m = to;
    size_t before = (4 - offset % 4) % 4;
    if (before > bytes) before = bytes;
    size_t words = (bytes - before) / 4 * 4, behind = bytes - before - words;
    kn_status s = kni_vulkan_upload(d, to, offset, zeros, before);
    if (s == KN_OK) s = kni_vulkan_upload(d, to, offset + before + words, zeros, behind);
    if (s != KN_OK || !words) return s;
    uint64_t at;
    vulkan_frame *f = kni_vulkan_frame(v, 0, 0, &at);
    if (!f) return KN_ERROR_DEVICE;
    v->api->fill(f->commands, kni_vulkan_buffer(m), m->offset + offset + before, words, 0);
    kni_vulkan_barrier(v, f);
    return KN_OK;
}
