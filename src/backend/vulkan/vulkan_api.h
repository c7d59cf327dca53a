/* The part of Vulkan 1.1 that the driver uses, declared here so that building needs no header of its own: functions found at run time,
   structs as the loader expects them, numbers of the specification. Handles that are pointers are void *, the others 64 bits. */
#ifndef KNI_VULKAN_API_H
#define KNI_VULKAN_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct vk_instance_object *vk_instance;
typedef struct vk_adapter_object *vk_adapter; /* a physical device */
typedef struct vk_device_object *vk_device;
typedef struct vk_queue_object *vk_queue;
typedef struct vk_commands_object *vk_commands;
typedef uint64_t vk_buffer, vk_memory, vk_fence, vk_module, vk_cache, vk_pipeline, vk_layout, vk_set_layout,
    vk_set_pool, vk_set, vk_command_pool;

enum {
    VK_OK = 0,
    VK_TIMED_OUT = 2,
    VK_NO_HOST_MEMORY = -1,
    VK_NO_DEVICE_MEMORY = -2,
    VK_NOT_STARTED = -3,
    VK_LOST = -4,
    VK_NO_EXTENSION = -7,
    VK_NO_FEATURE = -8,
    VK_NO_DRIVER = -9,
    VK_TOO_MANY = -10,
    VK_NEEDED_VERSION = 1u << 22 | 1u << 12
};

/* What a struct says it is. */
enum {
    VK_IS_APPLICATION = 0,
    VK_IS_INSTANCE = 1,
    VK_IS_DEVICE_QUEUE = 2,
    VK_IS_DEVICE = 3,
    VK_IS_SUBMIT = 4,
    VK_IS_MEMORY = 5,
    VK_IS_FENCE = 8,
    VK_IS_BUFFER = 12,
    VK_IS_MODULE = 16,
    VK_IS_CACHE = 17,
    VK_IS_STAGE = 18,
    VK_IS_COMPUTE_PIPELINE = 29,
    VK_IS_LAYOUT = 30,
    VK_IS_SET_LAYOUT = 32,
    VK_IS_SET_POOL = 33,
    VK_IS_SET = 34,
    VK_IS_WRITE_SET = 35,
    VK_IS_COMMAND_POOL = 39,
    VK_IS_COMMANDS = 40,
    VK_IS_COMMANDS_BEGIN = 42,
    VK_IS_MEMORY_BARRIER = 46,
    VK_IS_FEATURES = 1000059000,
    VK_IS_PROPERTIES = 1000059001,
    VK_IS_HALF_STORAGE = 1000083000,
    VK_IS_BYTE_STORAGE = 1000177000,
    VK_IS_SUBGROUPS = 1000094000,
    VK_IS_DRIVER = 1000196000,
    VK_IS_SUBGROUP_SIZES = 1000225000,
    VK_IS_SUBGROUP_SIZE = 1000225001,
    VK_IS_SUBGROUP_FEATURES = 1000225002,
    VK_IS_FLOAT_CONTROLS = 1000197000
};

enum {
    VK_USE_COPY_FROM = 1,
    VK_USE_COPY_TO = 2,
    VK_USE_STORAGE = 0x20,
    VK_ON_DEVICE = 1,
    VK_ON_HOST = 2,
    VK_COHERENT = 4,
    VK_CACHED = 8,
    VK_QUEUE_COMPUTES = 2,
    VK_STAGE_COMPUTE = 0x800,
    VK_STAGE_COPY = 0x1000,
    VK_STAGE_HOST = 0x4000,
    VK_SHADER_READS = 0x20,
    VK_SHADER_WRITES = 0x40,
    VK_COPY_READS = 0x800,
    VK_COPY_WRITES = 0x1000,
    VK_HOST_READS = 0x2000,
    VK_HOST_WRITES = 0x4000,
    VK_STORAGE_BUFFER = 7,
    VK_COMPUTE_STAGE = 0x20,
    VK_COMPUTE_POINT = 1,
    VK_COMMANDS_RESET = 2,
    VK_COMMANDS_ONCE = 1,
    VK_SUBGROUPS_BASIC = 1,
    VK_SUBGROUPS_SHUFFLE = 0x10
};

typedef struct vk_application {
    uint32_t is;
    const void *next;
    const char *name;
    uint32_t version;
    const char *engine;
    uint32_t engine_version, api_version;
} vk_application;

typedef struct vk_instance_info {
    uint32_t is;
    const void *next;
    uint32_t flags;
    const vk_application *application;
    uint32_t n_layers;
    const char *const *layers;
    uint32_t n_extensions;
    const char *const *extensions;
} vk_instance_info;

/* Limits up to the last that is read; the rest is room. */
typedef struct vk_limits {
    uint32_t skipped_1[7], max_storage_range, skipped_2[11], max_stage_buffers, skipped_3[7], max_set_buffers,
        skipped_4[26];
    uint32_t max_shared_bytes, max_groups[3], max_invocations, max_group_size[3];
    uint32_t skipped_5[20];
    uint64_t storage_alignment;
    uint32_t skipped_6[42];
} vk_limits;

typedef struct vk_properties {
    uint32_t api_version, driver_version, vendor, device, kind;
    char name[256];
    uint8_t cache_id[16];
    vk_limits limits;
    uint32_t sparse[5];
} vk_properties;

typedef struct vk_float_controls {
    uint32_t is;
    void *next;
    uint32_t independence[2];
    uint32_t keeps_special[3], keeps_tiny[3], flushes_tiny[3], rounds_to_even[3],
        rounds_to_zero[3]; /* of 16, 32 and 64 bits */
} vk_float_controls;

typedef struct vk_driver_properties {
    uint32_t is;
    void *next;
    uint32_t id;
    char name[256], info[256];
    uint8_t version[4];
} vk_driver_properties;

typedef struct vk_subgroups {
    uint32_t is;
    void *next;
    uint32_t size, stages, operations, quads;
} vk_subgroups;

typedef struct vk_subgroup_sizes {
    uint32_t is;
    void *next;
    uint32_t least, most, max_subgroups, stages;
} vk_subgroup_sizes;

typedef struct vk_subgroup_features {
    uint32_t is;
    void *next;
    uint32_t chosen_size, full_groups;
} vk_subgroup_features;

/* Of a stage: the size that is asked for. */
typedef struct vk_subgroup_size {
    uint32_t is;
    void *next;
    uint32_t size;
} vk_subgroup_size;

typedef struct vk_properties_2 {
    uint32_t is;
    void *next;
    vk_properties properties;
} vk_properties_2;

/* VkPhysicalDevice16BitStorageFeatures and the one of 8 bits begin alike. */
typedef struct vk_storage_features {
    uint32_t is;
    void *next;
    uint32_t buffers, uniforms, pushed, inputs;
} vk_storage_features;

typedef struct vk_features_2 {
    uint32_t is;
    void *next;
    uint32_t features[55];
} vk_features_2;

typedef struct vk_memory_types {
    uint32_t n_types;
    struct {
        uint32_t flags, heap;
    } types[32];
    uint32_t n_heaps;
    struct {
        uint64_t bytes;
        uint32_t flags;
    } heaps[16];
} vk_memory_types;

typedef struct vk_queue_family {
    uint32_t flags, count, timestamp_bits, granularity[3];
} vk_queue_family;

typedef struct vk_queue_info {
    uint32_t is;
    const void *next;
    uint32_t flags, family, count;
    const float *priorities;
} vk_queue_info;

typedef struct vk_device_info {
    uint32_t is;
    const void *next;
    uint32_t flags, n_queues;
    const vk_queue_info *queues;
    uint32_t n_layers;
    const char *const *layers;
    uint32_t n_extensions;
    const char *const *extensions;
    const void *features;
} vk_device_info;

typedef struct vk_extension {
    char name[256];
    uint32_t version;
} vk_extension;

typedef struct vk_memory_info {
    uint32_t is;
    const void *next;
    uint64_t bytes;
    uint32_t type;
} vk_memory_info;

typedef struct vk_requirements {
    uint64_t bytes, alignment;
    uint32_t types;
} vk_requirements;

typedef struct vk_buffer_info {
    uint32_t is;
    const void *next;
    uint32_t flags;
    uint64_t bytes;
    uint32_t usage, sharing, n_families;
    const uint32_t *families;
} vk_buffer_info;

/* Of things that are made with flags alone (a fence) or with flags and one number (a pool of commands). */
typedef struct vk_plain_info {
    uint32_t is;
    const void *next;
    uint32_t flags, number;
} vk_plain_info;

typedef struct vk_commands_info {
    uint32_t is;
    const void *next;
    vk_command_pool pool;
    uint32_t level, count;
} vk_commands_info;

typedef struct vk_begin_info {
    uint32_t is;
    const void *next;
    uint32_t flags;
    const void *inherited;
} vk_begin_info;

typedef struct vk_submit_info {
    uint32_t is;
    const void *next;
    uint32_t n_waits;
    const uint64_t *waits;
    const uint32_t *wait_stages;
    uint32_t n_commands;
    const vk_commands *commands;
    uint32_t n_signals;
    const uint64_t *signals;
} vk_submit_info;

typedef struct vk_region {
    uint64_t from, to, bytes;
} vk_region;

typedef struct vk_barrier {
    uint32_t is;
    const void *next;
    uint32_t before, after;
} vk_barrier;

typedef struct vk_slot {
    uint32_t binding, kind, count, stages;
    const void *samplers;
} vk_slot;

typedef struct vk_set_layout_info {
    uint32_t is;
    const void *next;
    uint32_t flags, n_slots;
    const vk_slot *slots;
} vk_set_layout_info;

typedef struct vk_pool_size {
    uint32_t kind, count;
} vk_pool_size;

typedef struct vk_set_pool_info {
    uint32_t is;
    const void *next;
    uint32_t flags, max_sets, n_sizes;
    const vk_pool_size *sizes;
} vk_set_pool_info;

typedef struct vk_set_info {
    uint32_t is;
    const void *next;
    vk_set_pool pool;
    uint32_t count;
    const vk_set_layout *layouts;
} vk_set_info;

typedef struct vk_buffer_range {
    vk_buffer buffer;
    uint64_t offset, bytes;
} vk_buffer_range;

typedef struct vk_write_set {
    uint32_t is;
    const void *next;
    vk_set set;
    uint32_t binding, element, count, kind;
    const void *images;
    const vk_buffer_range *buffers;
    const void *views;
} vk_write_set;

typedef struct vk_push_range {
    uint32_t stages, offset, bytes;
} vk_push_range;

typedef struct vk_layout_info {
    uint32_t is;
    const void *next;
    uint32_t flags, n_sets;
    const vk_set_layout *sets;
    uint32_t n_ranges;
    const vk_push_range *ranges;
} vk_layout_info;

/* Of a module (words of SPIR-V) and of a cache (bytes of an earlier one). */
typedef struct vk_data_info {
    uint32_t is;
    const void *next;
    uint32_t flags;
    size_t bytes;
    const void *data;
} vk_data_info;

typedef struct vk_special_entry {
    uint32_t id, offset;
    size_t bytes;
} vk_special_entry;

typedef struct vk_special {
    uint32_t n_entries;
    const vk_special_entry *entries;
    size_t bytes;
    const void *data;
} vk_special;

typedef struct vk_stage {
    uint32_t is;
    const void *next;
    uint32_t flags, stage;
    vk_module module;
    const char *entry;
    const vk_special *special;
} vk_stage;

typedef struct vk_compute_info {
    uint32_t is;
    const void *next;
    uint32_t flags;
    vk_stage stage;
    vk_layout layout;
    vk_pipeline base;
    int32_t base_index;
} vk_compute_info;

typedef struct kni_vulkan_api {
    void *(*find)(vk_instance, const char *);
    int32_t (*create_instance)(const vk_instance_info *, const void *, vk_instance *);
    int32_t (*enumerate_adapters)(vk_instance, uint32_t *, vk_adapter *);
    void (*properties)(vk_adapter, vk_properties *);
    void (*properties_2)(vk_adapter, vk_properties_2 *);
    void (*features_2)(vk_adapter, vk_features_2 *);
    void (*memory_types)(vk_adapter, vk_memory_types *);
    void (*queue_families)(vk_adapter, uint32_t *, vk_queue_family *);
    int32_t (*extensions)(vk_adapter, const char *, uint32_t *, vk_extension *);
    int32_t (*create_device)(vk_adapter, const vk_device_info *, const void *, vk_device *);
    void (*destroy_device)(vk_device, const void *);
    void (*get_queue)(vk_device, uint32_t, uint32_t, vk_queue *);
    int32_t (*wait_device)(vk_device);
    int32_t (*create_buffer)(vk_device, const vk_buffer_info *, const void *, vk_buffer *);
    void (*destroy_buffer)(vk_device, vk_buffer, const void *);
    void (*requirements)(vk_device, vk_buffer, vk_requirements *);
    int32_t (*allocate)(vk_device, const vk_memory_info *, const void *, vk_memory *);
    void (*free)(vk_device, vk_memory, const void *);
    int32_t (*bind)(vk_device, vk_buffer, vk_memory, uint64_t);
    int32_t (*map)(vk_device, vk_memory, uint64_t, uint64_t, uint32_t, void **);
    int32_t (*create_fence)(vk_device, const vk_plain_info *, const void *, vk_fence *);
    void (*destroy_fence)(vk_device, vk_fence, const void *);
    int32_t (*wait_fences)(vk_device, uint32_t, const vk_fence *, uint32_t, uint64_t);
    int32_t (*reset_fences)(vk_device, uint32_t, const vk_fence *);
    int32_t (*create_command_pool)(vk_device, const vk_plain_info *, const void *, vk_command_pool *);
    void (*destroy_command_pool)(vk_device, vk_command_pool, const void *);
    int32_t (*allocate_commands)(vk_device, const vk_commands_info *, vk_commands *);
    void (*free_commands)(vk_device, vk_command_pool, uint32_t, const vk_commands *);
    int32_t (*begin)(vk_commands, const vk_begin_info *);
    int32_t (*end)(vk_commands);
    int32_t (*submit)(vk_queue, uint32_t, const vk_submit_info *, vk_fence);
    int32_t (*create_module)(vk_device, const vk_data_info *, const void *, vk_module *);
    void (*destroy_module)(vk_device, vk_module, const void *);
    int32_t (*create_cache)(vk_device, const vk_data_info *, const void *, vk_cache *);
    void (*destroy_cache)(vk_device, vk_cache, const void *);
    int32_t (*cache_data)(vk_device, vk_cache, size_t *, void *);
    int32_t (*create_pipelines)(vk_device, vk_cache, uint32_t, const vk_compute_info *, const void *,
                                vk_pipeline *);
    void (*destroy_pipeline)(vk_device, vk_pipeline, const void *);
    int32_t (*create_layout)(vk_device, const vk_layout_info *, const void *, vk_layout *);
    void (*destroy_layout)(vk_device, vk_layout, const void *);
    int32_t (*create_set_layout)(vk_device, const vk_set_layout_info *, const void *, vk_set_layout *);
    void (*destroy_set_layout)(vk_device, vk_set_layout, const void *);
    int32_t (*create_set_pool)(vk_device, const vk_set_pool_info *, const void *, vk_set_pool *);
    void (*destroy_set_pool)(vk_device, vk_set_pool, const void *);
    int32_t (*reset_set_pool)(vk_device, vk_set_pool, uint32_t);
    int32_t (*allocate_sets)(vk_device, const vk_set_info *, vk_set *);
    void (*update_sets)(vk_device, uint32_t, const vk_write_set *, uint32_t, const void *);
    void (*bind_pipeline)(vk_commands, uint32_t, vk_pipeline);
    void (*bind_sets)(vk_commands, uint32_t, vk_layout, uint32_t, uint32_t, const vk_set *, uint32_t,
                      const uint32_t *);
    void (*push)(vk_commands, vk_layout, uint32_t, uint32_t, uint32_t, const void *);
    void (*dispatch)(vk_commands, uint32_t, uint32_t, uint32_t);
    void (*copy)(vk_commands, vk_buffer, vk_buffer, uint32_t, const vk_region *);
    void (*fill)(vk_commands, vk_buffer, uint64_t, uint64_t, uint32_t);
    void (*barrier)(vk_commands, uint32_t, uint32_t, uint32_t, uint32_t, const vk_barrier *, uint32_t,
                    const void *, uint32_t, const void *);
} kni_vulkan_api;

/* The functions and the instance, made once; NULL with the reason. */
const kni_vulkan_api *kni_vulkan_load(const char **why);
/* The n-th device of Vulkan 1.1 or later with a queue that computes; *total counts them. */
bool kni_vulkan_adapter(const kni_vulkan_api *api, int32_t n, vk_adapter *adapter, uint32_t *family,
                        int32_t *total);
const char *kni_vulkan_status(int32_t status);

#endif
