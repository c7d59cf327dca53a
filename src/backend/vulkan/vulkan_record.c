/* Recordings of plans: two copies of the same commands, each with its own pages, so that the host gives one of them other numbers while the
   other runs. Numbers of launches lie in staging memory; what changes is written there before the copy is submitted again. */
#include "backend/vulkan/vulkan_driver.h"
#include "core/allocator.h"
#include "core/error.h"
#include <string.h>

typedef struct noted_copy {
    vk_commands commands;
    vk_fence fence;
    vulkan_page *pages; /* the latest first */
    bool submitted;
} noted_copy;

/* Where the numbers of a launch lie in each copy, and those that the next replay has. */
typedef struct noted_launch {
    unsigned char *at[VULKAN_COPIES];
    uint32_t numbers, bytes;
    bool stale[VULKAN_COPIES];
} noted_launch;

struct kni_recording {
    noted_copy copies[VULKAN_COPIES];
    uint32_t next_copy;
    vulkan_hazards hazards; /* while it is made */
    noted_launch *launches;
    uint32_t n, room;
    unsigned char *numbers;
    uint32_t n_bytes, byte_room;
    bool changed; /* some launch has other numbers than a copy */
    bool broken;  /* a launch is in one copy and not in the other */
    kni_recording *next;
};

/* ---- what goes when no recording is left that may refer to it */

struct vulkan_retired {
    vulkan_memory *memory;
    vk_pipeline pipeline;
    vulkan_retired *next;
};

static void let_go(vulkan *v, vulkan_memory *memory, vk_pipeline pipeline)
{
    if (memory) kni_free(memory, sizeof *memory);
    if (pipeline) v->api->destroy_pipeline(v->device, pipeline, NULL);
}

/* A recording is found again by the names of its memory, and holds pipelines: neither may become another's. Without memory for the note they
   are kept until the end of the device or, the names, of the process. */
void kni_vulkan_retire(vulkan *v, vulkan_memory *memory, vk_pipeline pipeline)
{
    if (!v->recordings && !v->noted) {
        let_go(v, memory, pipeline);
        return;
    }
    vulkan_retired *r = kni_allocate(sizeof *r);
    if (!r) return;
    *r = (vulkan_retired){memory, pipeline, v->retired};
    v->retired = r;
}

static void free_retired(vulkan *v)
{
    while (v->retired) {
        vulkan_retired *r = v->retired;
        v->retired = r->next;
        let_go(v, r->memory, r->pipeline);
        kni_free(r, sizeof *r);
    }
}

/* ---- making one */

static void free_copy(vulkan *v, noted_copy *c)
{
    while (c->pages) {
        vulkan_page *p = c->pages;
        c->pages = p->next;
        kni_vulkan_page_close(v, p);
        kni_free(p, sizeof *p);
    }
    if (c->fence) v->api->destroy_fence(v->device, c->fence, NULL);
    if (c->commands) v->api->free_commands(v->device, v->commands, 1, &c->commands);
}

static void destroy(vulkan *v, kni_recording *r)
{
    for (int i = 0; i < VULKAN_COPIES; i++) free_copy(v, &r->copies[i]);
    if (r->launches) kni_free(r->launches, r->room * sizeof *r->launches);
    if (r->numbers) kni_free(r->numbers, r->byte_room);
    kni_free(r, sizeof *r);
    if (!v->recordings && !v->noted) free_retired(v);
}

static int32_t open_copy(vulkan *v, noted_copy *c)
{
    const vk_commands_info commands = {.is = VK_IS_COMMANDS, .pool = v->commands, .count = 1};
    const vk_plain_info fence = {.is = VK_IS_FENCE};
    const vk_begin_info begin = {.is = VK_IS_COMMANDS_BEGIN};
    int32_t status = v->api->allocate_commands(v->device, &commands, &c->commands);
    if (status) c->commands = NULL;
    if (!status) status = v->api->create_fence(v->device, &fence, NULL, &c->fence);
    if (!status) status = v->api->begin(c->commands, &begin);
    if (!status) kni_vulkan_barrier(v, c->commands);
    return status;
}

kn_status kni_vulkan_record_begin(kni_driver *d)
{
    vulkan *v = kni_vulkan_of(d);
    if (v->noted) return kni_fail(KN_ERROR_INTERNAL, "%s: another recording cannot be recorded", v->spec);
    if (v->lost) return kni_vulkan_failed(v, "beginning a recording", VK_LOST);
    kni_recording *r = kni_allocate(sizeof *r);
    if (!r) return kni_fail(KN_ERROR_MEMORY, "%s: no memory for a recording", v->spec);
    memset(r, 0, sizeof *r);
    int32_t status = VK_OK;
    for (int i = 0; i < VULKAN_COPIES && !status; i++) status = open_copy(v, &r->copies[i]);
    if (status) {
        destroy(v, r);
        return kni_vulkan_failed(v, "beginning a recording", status);
    }
    v->noted = r;
    return KN_OK;
}

/* A page with room for this; NULL after a failure. */
static vulkan_page *page_for(vulkan *v, noted_copy *c, uint64_t bytes, uint32_t n_buffers)
{
    if (c->pages && kni_vulkan_page_has(c->pages, bytes, n_buffers)) return c->pages;
    vulkan_page *p = kni_allocate(sizeof *p);
    if (!p) {
        (void)kni_fail(KN_ERROR_MEMORY, "%s: no memory for a recording", v->spec);
        return NULL;
    }
    uint64_t staging = bytes > VULKAN_NOTED_STAGING ? VULKAN_STAGING : VULKAN_NOTED_STAGING;
    int32_t status = kni_vulkan_page_open(v, p, staging, VULKAN_NOTED_SETS,
                                          VULKAN_NOTED_SETS * (VULKAN_DESCRIPTORS / VULKAN_SETS));
    if (status) {
        kni_vulkan_page_close(v, p);
        kni_free(p, sizeof *p);
        (void)kni_vulkan_failed(v, "making a recording", status);
        return NULL;
    }
    p->next = c->pages;
    c->pages = p;
    return p;
}

uint32_t kni_vulkan_record_targets(vulkan *v, uint64_t bytes, uint32_t n_buffers, const vulkan_use *uses,
                                   uint32_t n_uses, vulkan_target *targets)
{
    kni_recording *r = v->noted;
    for (int i = 0; i < VULKAN_COPIES; i++) {
        vulkan_page *p = page_for(v, &r->copies[i], bytes, n_buffers);
        if (!p) {
            r->broken = true;
            return 0;
        }
        targets[i] = (vulkan_target){r->copies[i].commands, p, kni_vulkan_page_take(p, bytes)};
    }
    if (kni_vulkan_conflicts(&r->hazards, uses, n_uses))
        for (int i = 0; i < VULKAN_COPIES; i++) kni_vulkan_barrier(v, r->copies[i].commands);
    return VULKAN_COPIES;
}

void kni_vulkan_record_broken(vulkan *v)
{
    if (v->noted) v->noted->broken = true;
}

kn_status kni_vulkan_record_launch(vulkan *v, const vulkan_target *targets, uint32_t param_bytes)
{
    kni_recording *r = v->noted;
    noted_launch *launches = kni_grow(r->launches, &r->room, r->n + 1, sizeof *launches);
    if (launches) r->launches = launches;
    unsigned char *numbers = kni_grow(r->numbers, &r->byte_room, r->n_bytes + param_bytes, 1);
    if (numbers) r->numbers = numbers;
    r->broken |= !launches || (!numbers && param_bytes);
    if (r->broken) return kni_fail(KN_ERROR_MEMORY, "%s: no memory for a recording", v->spec);
    noted_launch *l = &r->launches[r->n++];
    *l = (noted_launch){.numbers = r->n_bytes, .bytes = param_bytes};
    r->n_bytes += param_bytes;
    for (int i = 0; i < VULKAN_COPIES && targets; i++) l->at[i] = targets[i].page->mapped + targets[i].at;
    return KN_OK;
}

/* The kernels themselves say which of their buffers they write. */
void kni_vulkan_record_writes(kni_driver *d, const uint64_t *written) { (void)d, (void)written; }

kni_recording *kni_vulkan_record_end(kni_driver *d)
{
    vulkan *v = kni_vulkan_of(d);
    kni_recording *r = v->noted;
    if (!r) {
        (void)kni_fail(KN_ERROR_INTERNAL, "%s: a recording ends that did not begin", v->spec);
        return NULL;
    }
    int32_t status = VK_OK;
    v->noted = NULL;
    if (r->broken) {
        destroy(v, r);
        (void)kni_fail(KN_ERROR_UNSUPPORTED, "%s: a launch failed while a recording was made", v->spec);
        return NULL;
    }
    for (int i = 0; i < VULKAN_COPIES && !status; i++) status = v->api->end(r->copies[i].commands);
    if (status) {
        destroy(v, r);
        (void)kni_vulkan_failed(v, "ending a recording", status);
        return NULL;
    }
    r->next = v->recordings;
    v->recordings = r;
    return r;
}

/* ---- running it */

static void write_numbers(kni_recording *r, uint32_t copy)
{
    if (!r->changed) return;
    r->changed = false;
    for (uint32_t i = 0; i < r->n; i++) {
        noted_launch *l = &r->launches[i];
        if (l->stale[copy]) memcpy(l->at[copy], r->numbers + l->numbers, l->bytes);
        l->stale[copy] = false;
        for (int k = 0; k < VULKAN_COPIES; k++) r->changed = r->changed || l->stale[k];
    }
}

kn_status kni_vulkan_replay(kni_driver *d, kni_recording *r)
{
    vulkan *v = kni_vulkan_of(d);
    noted_copy *c = &r->copies[r->next_copy];
    if (v->noted) return kni_fail(KN_ERROR_INTERNAL, "%s: a replay cannot be recorded", v->spec);
    if (v->lost) return kni_vulkan_failed(v, "replaying a recording", VK_LOST);
    kn_status s = kni_vulkan_flush(v);
    if (s == KN_OK) s = kni_vulkan_wait(v, c->fence, &c->submitted);
    if (s != KN_OK) return s;
    write_numbers(r, r->next_copy);
    s = kni_vulkan_submit(v, c->commands, c->fence);
    if (s != KN_OK) return s;
    c->submitted = true;
    r->next_copy = (r->next_copy + 1) % VULKAN_COPIES;
    return KN_OK;
}

kn_status kni_vulkan_record_params(kni_driver *d, kni_recording *r, uint32_t launch, const void *params,
                                   uint32_t param_bytes)
{
    (void)d;
    noted_launch *l = launch < r->n ? &r->launches[launch] : NULL;
    if (l && !l->at[0]) return KN_OK; /* it launches nothing */
    if (!l || l->bytes != param_bytes) return KN_ERROR_UNSUPPORTED;
    memcpy(r->numbers + l->numbers, params, param_bytes);
    for (int i = 0; i < VULKAN_COPIES; i++) l->stale[i] = true;
    r->changed = true;
    return KN_OK;
}

static kn_status wait_for(vulkan *v, kni_recording *r)
{
    kn_status s = KN_OK;
    for (int i = 0; i < VULKAN_COPIES; i++) {
        kn_status one = kni_vulkan_wait(v, r->copies[i].fence, &r->copies[i].submitted);
        if (s == KN_OK) s = one;
    }
    return s;
}

kn_status kni_vulkan_recordings_wait(vulkan *v)
{
    kn_status s = KN_OK;
    for (kni_recording *r = v->recordings; r; r = r->next) {
        kn_status one = wait_for(v, r);
        if (s == KN_OK) s = one;
    }
    return s;
}

void kni_vulkan_record_free(kni_driver *d, kni_recording *r)
{
    vulkan *v = kni_vulkan_of(d);
    if (!r) return;
    kni_recording **at = &v->recordings;
    while (*at != r) at = &(*at)->next;
    *at = r->next;
    if (!v->lost) (void)wait_for(v, r);
    destroy(v, r);
}

void kni_vulkan_recordings_close(vulkan *v)
{
    kni_recording *noted = v->noted;
    v->noted = NULL;
    if (noted) destroy(v, noted);
    while (v->recordings) {
        kni_recording *r = v->recordings;
        v->recordings = r->next;
        destroy(v, r);
    }
    free_retired(v);
}
