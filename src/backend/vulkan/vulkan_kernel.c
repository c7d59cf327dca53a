/* Kernels of the Vulkan driver: pipelines from SPIR-V, kept on disk as the driver's own caches, and their launches. */
#include "backend/vulkan/vulkan_driver.h"
#include "core/allocator.h"
#include "core/error.h"
#include "core/objects.h"
#include "core/text.h"
#include "support/disk_cache.h"
#include <string.h>

enum { SIZES = 3, PUSHED = 6 * 4 };

/* A kernel of items has a pipeline for each size of workgroup that it was launched with; any other has one. */
struct kni_module {
    vk_module module;
    uint32_t n_buffers; /* with the numbers of the launch and the alarm */
    uint64_t read_only; /* by the number of the buffer */
    uint32_t *words;    /* the SPIR-V, for pipelines that are made later */
    size_t bytes;
    bool items; /* the driver chooses the workgroup */
    uint32_t sizes[SIZES];
    vk_pipeline pipelines[SIZES];
    char entry[48];
};

/* ---- layouts, by the number of buffers */

static int32_t make_layout(vulkan *v, uint32_t n)
{
    vk_slot slots[VULKAN_MAX_BUFFERS];
    for (uint32_t i = 0; i < n; i++) slots[i] = (vk_slot){i, VK_STORAGE_BUFFER, 1, VK_COMPUTE_STAGE, NULL};
    const vk_set_layout_info set = {.is = VK_IS_SET_LAYOUT, .n_slots = n, .slots = slots};
    const vk_push_range range = {VK_COMPUTE_STAGE, 0, PUSHED};
    int32_t status =
        v->set_layouts[n] ? 0 : v->api->create_set_layout(v->device, &set, NULL, &v->set_layouts[n]);
    if (status) {
        v->set_layouts[n] = 0;
        return status;
    }
    const vk_layout_info layout = {
        .is = VK_IS_LAYOUT, .n_sets = 1, .sets = &v->set_layouts[n], .n_ranges = 1, .ranges = &range};
    status = v->api->create_layout(v->device, &layout, NULL, &v->layouts[n]);
    if (status) v->layouts[n] = 0;
    return status;
}

void kni_vulkan_layouts_close(vulkan *v)
{
    for (int i = 0; i <= VULKAN_MAX_BUFFERS; i++) {
        if (v->layouts[i]) v->api->destroy_layout(v->device, v->layouts[i], NULL);
        if (v->set_layouts[i]) v->api->destroy_set_layout(v->device, v->set_layouts[i], NULL);
    }
}

/* ---- pipelines */

/* What a module says of itself: the highest binding, which buffers are only read, and whether its workgroup is a constant of the
   specialisation. Our printer writes a buffer's binding before its other decorations. */
static void read_module(kni_module *m)
{
    enum { HEADER = 5, DECORATE = 71, SPEC_CONSTANT = 50, READ_ONLY = 24, BINDING = 33 };
    size_t n = m->bytes / 4;
    uint32_t id = 0, binding = 0;
    for (size_t i = HEADER; i < n && m->words[i] >> 16; i += m->words[i] >> 16) {
        const uint32_t *w = m->words + i;
        uint32_t code = w[0] & 0xffff;
        if (code == SPEC_CONSTANT) m->items = true;
        if (code != DECORATE) continue;
        if (w[2] == BINDING) {
            id = w[1];
            binding = w[3];
            if (binding >= m->n_buffers) m->n_buffers = binding + 1;
        }
        if (w[2] == READ_ONLY && w[1] == id) m->read_only |= UINT64_C(1) << binding;
    }
}

/* All that a pipeline depends on: the identity of device and driver, the workgroup, the SPIR-V. NULL without memory. */
static unsigned char *key_of(const vulkan *v, const kni_module *m, uint32_t size, size_t *bytes)
{
    *bytes = sizeof v->identity + sizeof size + m->bytes;
    unsigned char *key = kni_allocate(*bytes);
    if (!key) return NULL;
    memcpy(key, v->identity, sizeof v->identity);
    memcpy(key + sizeof v->identity, &size, sizeof size);
    memcpy(key + sizeof v->identity + sizeof size, m->words, m->bytes);
    return key;
}

/* A cache with what an earlier run kept; 0 where there is none to be had, which makes a pipeline slower and nothing else. */
static vk_cache cache_of(vulkan *v, const unsigned char *key, size_t key_bytes, bool *kept)
{
    kni_buffer found = {0};
    vk_cache cache = 0;
    *kept = key && kni_disk_cache_get("vulkan", key, key_bytes, &found);
    vk_data_info info = {.is = VK_IS_CACHE, .bytes = *kept ? found.length : 0, .data = found.data};
    if (v->api->create_cache(v->device, &info, NULL, &cache)) cache = 0;
    kni_buffer_free(&found);
    *kept = *kept && cache;
    return cache;
}

static void keep(vulkan *v, vk_cache cache, const unsigned char *key, size_t key_bytes)
{
    enum { EMPTY = 32 }; /* the header alone */
    size_t bytes = 0;
    if (v->api->cache_data(v->device, cache, &bytes, NULL) || bytes <= EMPTY) return;
    unsigned char *data = kni_allocate(bytes);
    size_t got = bytes;
    if (data && !v->api->cache_data(v->device, cache, &got, data))
        kni_disk_cache_put("vulkan", key, key_bytes, data, got);
    if (data) kni_free(data, bytes);
}

static int32_t make_pipeline(vulkan *v, const kni_module *m, uint32_t size, vk_pipeline *pipeline)
{
    const vk_special_entry entry = {0, 0, sizeof size};
    const vk_special special = {1, &entry, sizeof size, &size};
    vk_subgroup_size asked = {.is = VK_IS_SUBGROUP_SIZE, .size = v->asked_subgroup};
    const vk_compute_info info = {.is = VK_IS_COMPUTE_PIPELINE,
                                  .stage = {.is = VK_IS_STAGE,
                                            .next = asked.size ? &asked : NULL,
                                            .stage = VK_COMPUTE_STAGE,
                                            .module = m->module,
                                            .entry = m->entry,
                                            .special = m->items ? &special : NULL},
                                  .layout = v->layouts[m->n_buffers],
                                  .base_index = -1};
    size_t key_bytes = 0;
    bool kept = false;
    unsigned char *key = key_of(v, m, m->items ? size : 0, &key_bytes);
    vk_cache cache = cache_of(v, key, key_bytes, &kept);
    int32_t status = v->api->create_pipelines(v->device, cache, 1, &info, NULL, pipeline);
    if (!status && kept) v->driver.loaded++;
    if (!status && cache && key && !kept) keep(v, cache, key, key_bytes);
    if (cache) v->api->destroy_cache(v->device, cache, NULL);
    if (key) kni_free(key, key_bytes);
    return status;
}

/* The pipeline for a size of workgroup; 0 after a failure. */
static vk_pipeline pipeline_of(vulkan *v, kni_module *m, uint32_t size)
{
    int i = 0;
    if (!m->items) size = 1;
    while (i < SIZES - 1 && m->sizes[i] && m->sizes[i] != size) i++;
    if (m->sizes[i] == size) return m->pipelines[i];
    if (m->sizes[i]) {
        (void)kni_vulkan_sync(&v->driver);
        kni_vulkan_retire(v, NULL, m->pipelines[i]);
    }
    m->sizes[i] = 0;
    m->pipelines[i] = 0;
    int32_t status = make_pipeline(v, m, size, &m->pipelines[i]);
    if (!status) {
        m->sizes[i] = size;
        return m->pipelines[i];
    }
    (void)kni_fail(KN_ERROR_INTERNAL,
                   "%s: the driver does not compile the kernel %s (%s); kn_kernel_text shows the text of a "
                   "kernel of yours, and \"cpu\" "
                   "runs it without a driver",
                   v->spec, m->entry, kni_vulkan_status(status));
    return 0;
}

static void free_module(vulkan *v, kni_module *m)
{
    for (int i = 0; i < SIZES; i++)
        if (m->sizes[i]) kni_vulkan_retire(v, NULL, m->pipelines[i]);
    if (m->module) v->api->destroy_module(v->device, m->module, NULL);
    if (m->words) kni_free(m->words, m->bytes);
    kni_free(m, sizeof *m);
}

void kni_vulkan_unload(kni_driver *d, kni_module *m)
{
    (void)kni_vulkan_sync(d); /* a launch of it may be waiting */
    free_module(kni_vulkan_of(d), m);
}

static int32_t load_module(vulkan *v, kni_module *m)
{
    const vk_data_info info = {.is = VK_IS_MODULE, .bytes = m->bytes, .data = m->words};
    read_module(m);
    int32_t status = v->layouts[m->n_buffers] ? VK_OK : make_layout(v, m->n_buffers);
    return status ? status : v->api->create_module(v->device, &info, NULL, &m->module);
}

kni_module *kni_vulkan_compile(kni_driver *d, const char *text, size_t bytes, const char *entry)
{
    enum { USUAL = 128 };
    vulkan *v = kni_vulkan_of(d);
    kni_module *m = kni_allocate(sizeof *m);
    if (m) {
        *m = (kni_module){.bytes = bytes, .words = kni_allocate(bytes)};
        kni_text name = {m->entry, sizeof m->entry, 0};
        kni_text_string(&name, entry);
    }
    if (!m || !m->words) {
        if (m) kni_free(m, sizeof *m);
        (void)kni_fail(KN_ERROR_MEMORY, "%s: no memory for a kernel", v->spec);
        return NULL;
    }
    memcpy(m->words, text, bytes);
    int32_t status = load_module(v, m);
    if (status) (void)kni_vulkan_failed(v, "loading a kernel", status);
    if (!status && pipeline_of(v, m, USUAL < d->caps.max_workgroup ? USUAL : d->caps.max_workgroup)) return m;
    free_module(v, m);
    return NULL;
}

/* ---- launches */

static kn_status bind_buffers(vulkan *v, const vulkan_target *t, const kni_module *m, void *const *buffers,
                              uint32_t n, uint32_t param_bytes)
{
    vk_buffer_range ranges[VULKAN_MAX_BUFFERS];
    vk_set set = 0;
    const vk_set_info info = {
        .is = VK_IS_SET, .pool = t->page->sets, .count = 1, .layouts = &v->set_layouts[m->n_buffers]};
    int32_t status = v->api->allocate_sets(v->device, &info, &set);
    if (status) return kni_vulkan_failed(v, "giving a kernel its buffers", status);
    t->page->n_sets++;
    t->page->n_descriptors += m->n_buffers;
    for (uint32_t i = 0; i < n; i++) {
        const vulkan_memory *memory = buffers[i];
        ranges[i] = (vk_buffer_range){kni_vulkan_buffer(memory), memory->offset, memory->bytes};
    }
    if (m->n_buffers > n) ranges[n] = (vk_buffer_range){t->page->staging, t->at, param_bytes};
    if (m->n_buffers > n + 1) ranges[n + 1] = (vk_buffer_range){v->alarm, 0, sizeof *v->alarmed};
    const vk_write_set write = {.is = VK_IS_WRITE_SET,
                                .set = set,
                                .count = m->n_buffers,
                                .kind = VK_STORAGE_BUFFER,
                                .buffers = ranges};
    if (m->n_buffers) v->api->update_sets(v->device, 1, &write, 0, NULL);
    v->api->bind_sets(t->commands, VK_COMPUTE_POINT, v->layouts[m->n_buffers], 0, 1, &set, 0, NULL);
    return KN_OK;
}

static uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* A dispatch has at most so many groups along an axis: larger launches are several, each told where it begins. */
static void dispatch(vulkan *v, vk_commands commands, vk_layout layout, const uint32_t *groups)
{
    const uint32_t *most = v->max_groups;
    uint32_t told[6] = {0, 0, 0, groups[0], groups[1], groups[2]};
    for (uint64_t z = 0; z < groups[2]; z += most[2])
        for (uint64_t y = 0; y < groups[1]; y += most[1])
            for (uint64_t x = 0; x < groups[0]; x += most[0]) {
                told[0] = (uint32_t)x;
                told[1] = (uint32_t)y;
                told[2] = (uint32_t)z;
                v->api->push(commands, layout, VK_COMPUTE_STAGE, 0, PUSHED, told);
                v->api->dispatch(commands, smaller(groups[0] - told[0], most[0]),
                                 smaller(groups[1] - told[1], most[1]),
                                 smaller(groups[2] - told[2], most[2]));
            }
}

/* Room for the launch where it is to go, behind what it has to wait for. */
static uint32_t targets_of(vulkan *v, const kni_module *m, void *const *buffers, uint32_t n, uint32_t bytes,
                           vulkan_target *targets)
{
    vulkan_use uses[VULKAN_MAX_BUFFERS];
    for (uint32_t i = 0; i < n; i++) {
        const vulkan_memory *memory = buffers[i];
        uses[i] = kni_vulkan_use_of(memory, 0, memory->bytes, !(m->read_only >> i & 1));
    }
    return kni_vulkan_targets(v, bytes, m->n_buffers, uses, n, targets);
}

kn_status kni_vulkan_launch(kni_driver *d, kni_module *m, const kni_launch_shape *shape, void *const *buffers,
                            uint32_t n_buffers, const void *params, uint32_t param_bytes)
{
    vulkan *v = kni_vulkan_of(d);
    vulkan_target targets[VULKAN_COPIES];
    uint32_t room = param_bytes ? (param_bytes + 15) / 16 * 16 : 16;
    if (!shape->groups[0] || !shape->groups[1] || !shape->groups[2])
        return v->noted ? kni_vulkan_record_launch(v, NULL, param_bytes) : KN_OK;
    if (m->n_buffers > n_buffers + (v->alarm ? 2 : 1) || m->n_buffers < n_buffers)
        return kni_fail(KN_ERROR_INTERNAL, "%s: the kernel %s of %u buffers was given %u", v->spec, m->entry,
                        m->n_buffers, n_buffers);
    vk_pipeline pipeline = pipeline_of(v, m, shape->workgroup);
    if (!pipeline) return KN_ERROR_INTERNAL;
    uint32_t n = targets_of(v, m, buffers, n_buffers, room, targets);
    kn_status s = n ? KN_OK : kni_latest_code();
    for (uint32_t i = 0; i < n && s == KN_OK; i++) {
        const vulkan_target *t = &targets[i];
        if (param_bytes) memcpy(t->page->mapped + t->at, params, param_bytes);
        s = bind_buffers(v, t, m, buffers, n_buffers, room);
        if (s != KN_OK) {
            kni_vulkan_record_broken(v);
            return s;
        }
        v->api->bind_pipeline(t->commands, VK_COMPUTE_POINT, pipeline);
        dispatch(v, t->commands, v->layouts[m->n_buffers], shape->groups);
    }
    return s == KN_OK && v->noted ? kni_vulkan_record_launch(v, targets, param_bytes) : s;
}
