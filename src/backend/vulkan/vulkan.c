/* The Vulkan device: opening an adapter, what it can do, and the table of the driver's functions. */
#include "backend/vulkan/vulkan_driver.h"
#include "core/allocator.h"
#include "core/error.h"
#include "core/text.h"
#include <string.h>

kn_status kni_vulkan_failed(vulkan *v, const char *what, int32_t status)
{
    bool memory = status == VK_NO_DEVICE_MEMORY || status == VK_NO_HOST_MEMORY || status == VK_TOO_MANY;
    if (status == VK_LOST) v->lost = true;
    return kni_fail(memory              ? KN_ERROR_MEMORY
                    : status == VK_LOST ? KN_ERROR_DEVICE
                                        : KN_ERROR_INTERNAL,
                    "%s: %s failed: %s (%d)", v->spec, what, kni_vulkan_status(status), status);
}

static void close_driver(kni_driver *d)
{
    vulkan *v = kni_vulkan_of(d);
    if (v->device) {
        (void)v->api->wait_device(v->device);
        kni_vulkan_recordings_close(v);
        kni_vulkan_frames_close(v);
        kni_vulkan_free_chunks(v);
        kni_vulkan_layouts_close(v);
        v->api->destroy_device(v->device, NULL);
    }
    kni_free(v, sizeof *v);
}

/* ---- what the device is and has */

static bool has_extension(const vulkan *v, const char *name)
{
    uint32_t n = 0;
    bool found = false;
    if (v->api->extensions(v->adapter, NULL, &n, NULL) || !n) return false;
    vk_extension *list = kni_allocate(n * sizeof *list);
    if (!list) return false;
    uint32_t got = n;
    if (!v->api->extensions(v->adapter, NULL, &got, list))
        for (uint32_t i = 0; i < got; i++) found = found || !strcmp(list[i].name, name);
    kni_free(list, n * sizeof *list);
    return found;
}

static uint32_t least(uint64_t a, uint64_t b) { return (uint32_t)(a < b ? a : b); }

static void find_limits(vulkan *v, const vk_limits *l)
{
    enum { MOST_SHARED = 48 << 10, MOST_PARAMS = 16 << 10 };
    kni_ir_caps *c = &v->driver.caps;
    c->dialect = KNI_IR_SPIRV;
    c->narrow = true;
    c->atomics = true;
    c->subgroup = 1;
    c->max_workgroup = least(least(l->max_invocations, l->max_group_size[0]), 1024);
    c->shared_bytes = least(l->max_shared_bytes, MOST_SHARED);
    c->vector_bytes = 16;
    c->param_bytes = MOST_PARAMS;
    /* One is for the numbers of the launch. */
    c->max_buffers = least(least(l->max_stage_buffers, l->max_set_buffers), VULKAN_MAX_BUFFERS) - 1;
    v->max_range = l->max_storage_range - l->max_storage_range % VULKAN_ALIGNMENT;
    v->driver.max_bytes = (int64_t)v->max_range;
    memcpy(v->max_groups, l->max_groups, sizeof v->max_groups);
}

/* Vulkan does not tell how many processors a device has, only what kind it is. The number decides into how many parts a long sum is cut. */
static uint32_t processors_of(uint32_t kind)
{
    enum { INTEGRATED = 1, PROCESSOR = 4 };
    return kind == PROCESSOR ? 4 : kind == INTEGRATED ? 16 : 64;
}

static void describe(vulkan *v, const vk_properties *p)
{
    kni_text text = {v->driver.description, sizeof v->driver.description, 0};
    kni_text_format(&text, "%s (Vulkan %u.%u)", p->name, p->api_version >> 22, p->api_version >> 12 & 0x3ff);
    kni_text id = {v->identity, sizeof v->identity, 0};
    kni_text_format(&id, "%u %u %u ", p->vendor, p->device, p->driver_version);
    for (int i = 0; i < 16; i++) kni_text_format(&id, "%u.", (unsigned)p->cache_id[i]);
}

/* Small elements in buffers, what floats do and subgroups, as far as the device has them. */
typedef struct optional_parts {
    vk_storage_features halves, bytes;
    vk_subgroup_features subgroups;
    vk_features_2 features;
    vk_float_controls controls;
    vk_subgroups groups;
    vk_subgroup_sizes sizes;
    vk_driver_properties driver;
    bool has_bytes, has_controls, has_sizes;
    const char *extensions[4];
    uint32_t n_extensions;
} optional_parts;

static void ask_optional(vulkan *v, optional_parts *o)
{
    memset(o, 0, sizeof *o);
    o->has_bytes = has_extension(v, "VK_KHR_8bit_storage");
    o->has_controls = has_extension(v, "VK_KHR_shader_float_controls");
    o->has_sizes = has_extension(v, "VK_EXT_subgroup_size_control");
    o->halves.is = VK_IS_HALF_STORAGE;
    o->bytes = (vk_storage_features){.is = VK_IS_BYTE_STORAGE, .next = &o->halves};
    o->subgroups =
        (vk_subgroup_features){.is = VK_IS_SUBGROUP_FEATURES, .next = o->has_bytes ? &o->bytes : &o->halves};
    o->features = (vk_features_2){.is = VK_IS_FEATURES,
                                  .next = o->has_sizes ? (void *)&o->subgroups : o->subgroups.next};
    o->groups.is = VK_IS_SUBGROUPS;
    o->driver = (vk_driver_properties){.is = VK_IS_DRIVER, .next = &o->groups};
    o->controls = (vk_float_controls){.is = VK_IS_FLOAT_CONTROLS, .next = &o->driver};
    o->sizes = (vk_subgroup_sizes){.is = VK_IS_SUBGROUP_SIZES,
                                   .next = o->has_controls ? (void *)&o->controls : &o->driver};
    vk_properties_2 properties = {.is = VK_IS_PROPERTIES, .next = o->has_sizes ? &o->sizes : o->sizes.next};
    v->api->features_2(v->adapter, &o->features);
    v->api->properties_2(v->adapter, &properties);
}

/* Values are passed inside subgroups of one known size: the only one that there is, or the usual one where a pipeline may ask for it. */
static void find_subgroups(vulkan *v, optional_parts *o)
{
    enum { NEEDED = VK_SUBGROUPS_BASIC | VK_SUBGROUPS_SHUFFLE, MOST = 128 };
    kni_ir_caps *c = &v->driver.caps;
    bool chosen = o->has_sizes && o->subgroups.chosen_size && (o->sizes.stages & VK_COMPUTE_STAGE);
    bool one = o->has_sizes && o->sizes.least == o->groups.size && o->sizes.most == o->groups.size;
    o->subgroups.full_groups = 0;
    if ((o->groups.operations & NEEDED) != NEEDED || !(o->groups.stages & VK_COMPUTE_STAGE) ||
        o->groups.size < 2 || o->groups.size > MOST || (!one && !chosen)) {
        o->subgroups.chosen_size = 0;
        return;
    }
    c->subgroups = true;
    c->subgroup = o->groups.size;
    if (!one) v->asked_subgroup = c->subgroup;
}

static void find_optional(vulkan *v, optional_parts *o)
{
    enum { LLVMPIPE = 13 };
    kni_ir_caps *c = &v->driver.caps;
    ask_optional(v, o);
    find_subgroups(v, o);
    c->loop_turns = o->driver.id == LLVMPIPE;
    if (c->loop_turns) c->max_buffers--; /* for the alarm */
    c->half_storage = o->halves.buffers;
    c->no_bytes = !o->bytes.buffers;
    if (o->controls.keeps_tiny[1]) c->float_modes |= KNI_IR_FLOAT_KEEPS_TINY;
    if (o->controls.keeps_special[1]) c->float_modes |= KNI_IR_FLOAT_KEEPS_SPECIAL;
    if (o->controls.rounds_to_even[1]) c->float_modes |= KNI_IR_FLOAT_ROUNDS;
    /* Nothing else is asked for. */
    memset(o->features.features, 0, sizeof o->features.features);
    o->halves.uniforms = o->halves.pushed = o->halves.inputs = 0;
    o->bytes.uniforms = o->bytes.pushed = o->bytes.inputs = 0;
    if (o->has_bytes) o->extensions[o->n_extensions++] = "VK_KHR_8bit_storage";
    if (o->has_controls) o->extensions[o->n_extensions++] = "VK_KHR_shader_float_controls";
    if (o->has_sizes) o->extensions[o->n_extensions++] = "VK_EXT_subgroup_size_control";
}

static int32_t make_device(vulkan *v)
{
    const float priority = 1;
    optional_parts optional;
    const vk_queue_info queue = {
        .is = VK_IS_DEVICE_QUEUE, .family = v->family, .count = 1, .priorities = &priority};
    find_optional(v, &optional);
    const vk_device_info info = {.is = VK_IS_DEVICE,
                                 .next = &optional.features,
                                 .n_queues = 1,
                                 .queues = &queue,
                                 .n_extensions = optional.n_extensions,
                                 .extensions = optional.extensions};
    int32_t status = v->api->create_device(v->adapter, &info, NULL, &v->device);
    if (status) {
        v->device = NULL;
        return status;
    }
    v->api->get_queue(v->device, v->family, 0, &v->queue);
    v->api->memory_types(v->adapter, &v->types);
    for (uint32_t i = 0; i < v->types.n_heaps; i++)
        if (v->types.heaps[i].flags & 1) v->driver.memory_bytes += (int64_t)v->types.heaps[i].bytes;
    return VK_OK;
}

/* ---- opening */

static const kni_driver functions = {.allocate = kni_vulkan_allocate,
                                     .free = kni_vulkan_free,
                                     .upload = kni_vulkan_upload,
                                     .download = kni_vulkan_download,
                                     .copy = kni_vulkan_copy,
                                     .fill_zero = kni_vulkan_fill_zero,
                                     .sync = kni_vulkan_sync,
                                     .compile = kni_vulkan_compile,
                                     .unload = kni_vulkan_unload,
                                     .launch = kni_vulkan_launch,
                                     .record_begin = kni_vulkan_record_begin,
                                     .record_end = kni_vulkan_record_end,
                                     .replay = kni_vulkan_replay,
                                     .record_params = kni_vulkan_record_params,
                                     .record_free = kni_vulkan_record_free,
                                     .record_writes = kni_vulkan_record_writes,
                                     .close = close_driver};

static kni_driver *open_driver(const kni_vulkan_api *api, vk_adapter adapter, uint32_t family, int32_t number)
{
    vk_properties properties;
    vulkan *v = kni_allocate(sizeof *v);
    if (!v) {
        (void)kni_fail(KN_ERROR_MEMORY, "no memory to open vulkan:%d", number);
        return NULL;
    }
    memset(v, 0, sizeof *v);
    memset(&properties, 0, sizeof properties);
    v->api = api;
    v->adapter = adapter;
    v->family = family;
    v->driver = functions;
    kni_text text = {v->spec, sizeof v->spec, 0};
    kni_text_format(&text, "vulkan:%d", number);
    v->driver.name = v->spec;
    v->driver.self = v;
    api->properties(adapter, &properties);
    describe(v, &properties);
    v->driver.processors = processors_of(properties.kind);
    find_limits(v, &properties.limits);
    int32_t status = make_device(v);
    if (status) (void)kni_vulkan_failed(v, "opening the device", status);
    if (!status && kni_vulkan_frames_open(v) == KN_OK) return &v->driver;
    close_driver(&v->driver);
    return NULL;
}

static kni_driver *open_number(int32_t number)
{
    const char *why;
    const kni_vulkan_api *api = kni_vulkan_load(&why);
    vk_adapter adapter;
    uint32_t family;
    int32_t total = 0;
    if (!api) {
        (void)kni_fail(KN_ERROR_DEVICE, "vulkan:%d cannot be opened: %s", number, why);
        return NULL;
    }
    if (kni_vulkan_adapter(api, number, &adapter, &family, &total))
        return open_driver(api, adapter, family, number);
    if (total)
        (void)kni_fail(KN_ERROR_DEVICE, "there is no vulkan:%d: this machine has vulkan:0 to vulkan:%d",
                       number, total - 1);
    else
        (void)kni_fail(KN_ERROR_DEVICE,
                       "there is no vulkan:%d: the Vulkan loader is here but finds no device of Vulkan 1.1 "
                       "that computes; install a "
                       "driver (Debian: apt install mesa-vulkan-drivers)",
                       number);
    return NULL;
}

bool kni_vulkan_describe(int32_t n, char *text, size_t bytes)
{
    const char *why;
    const kni_vulkan_api *api = kni_vulkan_load(&why);
    vk_adapter adapter;
    uint32_t family;
    vk_properties p;
    if (!api || !kni_vulkan_adapter(api, n, &adapter, &family, NULL)) return false;
    memset(&p, 0, sizeof p);
    api->properties(adapter, &p);
    kni_text t = {text, bytes, 0};
    kni_text_format(&t, "vulkan:%d  %s, Vulkan %u.%u", n, p.name, p.api_version >> 22,
                    p.api_version >> 12 & 0x3ff);
    return true;
}

kn_backend *kni_vulkan_open(const char *argument, kn_backend *const *inner, int32_t n_inner)
{
    (void)inner;
    return kni_gpu_open_numbered("vulkan", argument, n_inner, open_number);
}
