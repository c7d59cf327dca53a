/* The part of webgpu.h that the driver uses, declared here so that building needs no header of its own: functions found at run time,
   structs as the library expects them, numbers of the standard. */
#ifndef KNI_WEBGPU_API_H
#define KNI_WEBGPU_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct wg_instance_object *wg_instance;
typedef struct wg_adapter_object *wg_adapter;
typedef struct wg_device_object *wg_device;
typedef struct wg_queue_object *wg_queue;
typedef struct wg_buffer_object *wg_buffer;
typedef struct wg_encoder_object *wg_encoder;
typedef struct wg_commands_object *wg_commands;
typedef struct wg_pass_object *wg_pass;
typedef struct wg_module_object *wg_module;
typedef struct wg_pipeline_object *wg_pipeline;
typedef struct wg_layout_object *wg_layout; /* of a pipeline */
typedef struct wg_group_layout_object *wg_group_layout;
typedef struct wg_group_object *wg_group;

enum {
    WG_SUCCESS = 1, /* of every status */
    WG_SPONTANEOUS = 3,
    WG_IS_WGSL = 2,
    WG_STAGE_COMPUTE = 4,
    WG_BINDING_UNIFORM = 2,
    WG_BINDING_STORAGE = 3,
    WG_BINDING_READ_ONLY = 4,
    WG_USE_MAP_READ = 1,
    WG_USE_COPY_FROM = 4,
    WG_USE_COPY_TO = 8,
    WG_USE_UNIFORM = 0x40,
    WG_USE_STORAGE = 0x80,
    WG_MAP_READ = 1,
    WG_HIGH_PERFORMANCE = 2,
    WG_CORE = 2, /* a feature level */
    WG_ERROR_VALIDATION = 2,
    WG_ERROR_MEMORY = 3,
    WG_FILTER_VALIDATION = 1,
    WG_FILTER_MEMORY = 2,
    WG_ADAPTER_INTEGRATED = 2,
    WG_ADAPTER_CPU = 3,
    WG_BACKEND_D3D12 = 4,
    WG_BACKEND_METAL = 5,
    WG_BACKEND_VULKAN = 6,
    WG_NEEDED_VERSION = 29 /* of wgpu-native: the oldest that was tried */
};

typedef struct wg_text {
    const char *data;
    size_t length;
} wg_text;

typedef struct wg_chain {
    struct wg_chain *next;
    uint32_t is;
} wg_chain;

typedef struct wg_instance_info {
    wg_chain *next;
    size_t n_features;
    const void *features, *limits;
} wg_instance_info;

/* Of wgpu-native: which kinds of driver are looked at. */
enum { WG_IS_INSTANCE_EXTRAS = 0x00030004, WG_DRIVERS = 1 << 0 | 1 << 2 | 1 << 3 /* Vulkan, Metal, D3D12 */ };
typedef struct wg_instance_extras {
    wg_chain chain;
    uint64_t drivers, flags;
    uint32_t unused[3];
    wg_text also_unused;
    uint64_t zeros[16];
} wg_instance_extras;

typedef struct wg_future {
    uint64_t id;
} wg_future;

typedef struct wg_limits {
    void *next;
    uint32_t textures[4], bind_groups, groups_and_vertex_buffers, bindings_per_group;
    uint32_t dynamic_uniforms, dynamic_storage, sampled_textures, samplers;
    uint32_t storage_buffers, storage_textures, uniform_buffers;
    uint64_t uniform_bytes, storage_bytes;
    uint32_t uniform_alignment, storage_alignment, vertex_buffers;
    uint64_t buffer_bytes;
    uint32_t vertex[2], shader_variables, colors[2];
    uint32_t shared_bytes, invocations, group_size[3], groups, immediate_bytes;
} wg_limits;

typedef struct wg_adapter_info {
    void *next;
    wg_text vendor, architecture, device, description;
    uint32_t backend, kind, vendor_id, device_id, subgroup_least, subgroup_most;
} wg_adapter_info;

typedef struct wg_adapter_options {
    void *next;
    uint32_t level, power, fallback, backend;
    void *surface;
} wg_adapter_options;

typedef struct wg_adapter_callback {
    void *next;
    uint32_t mode;
    void (*call)(uint32_t status, wg_adapter adapter, wg_text message, void *to, void *also);
    void *to, *also;
} wg_adapter_callback;

typedef struct wg_device_callback {
    void *next;
    uint32_t mode;
    void (*call)(uint32_t status, wg_device device, wg_text message, void *to, void *also);
    void *to, *also;
} wg_device_callback;

typedef struct wg_lost_callback {
    void *next;
    uint32_t mode;
    void (*call)(const wg_device *device, uint32_t reason, wg_text message, void *to, void *also);
    void *to, *also;
} wg_lost_callback;

typedef struct wg_error_callback {
    void *next;
    void (*call)(const wg_device *device, uint32_t kind, wg_text message, void *to, void *also);
    void *to, *also;
} wg_error_callback;

typedef struct wg_scope_callback {
    void *next;
    uint32_t mode;
    void (*call)(uint32_t status, uint32_t kind, wg_text message, void *to, void *also);
    void *to, *also;
} wg_scope_callback;

typedef struct wg_done_callback { /* of maps */
    void *next;
    uint32_t mode;
    void (*call)(uint32_t status, wg_text message, void *to, void *also);
    void *to, *also;
} wg_done_callback;

typedef struct wg_device_info {
    void *next;
    wg_text label;
    size_t n_features;
    const uint32_t *features;
    const wg_limits *limits;
    void *queue_next;
    wg_text queue_label;
    wg_lost_callback lost;
    wg_error_callback error;
} wg_device_info;

typedef struct wg_buffer_info {
    void *next;
    wg_text label;
    uint64_t usage, bytes;
    uint32_t mapped;
} wg_buffer_info;

typedef struct wg_wgsl {
    wg_chain chain;
    wg_text text;
} wg_wgsl;

typedef struct wg_module_info {
    wg_chain *next;
    wg_text label;
} wg_module_info;

typedef struct wg_constant {
    void *next;
    wg_text name;
    double value;
} wg_constant;

typedef struct wg_pipeline_info {
    void *next;
    wg_text label;
    wg_layout layout;
    void *stage_next;
    wg_module module;
    wg_text entry;
    size_t n_constants;
    const wg_constant *constants;
} wg_pipeline_info;

typedef struct wg_layout_entry {
    void *next;
    uint32_t binding;
    uint64_t visibility;
    uint32_t array_size;
    struct {
        void *next;
        uint32_t kind, dynamic;
        uint64_t least_bytes;
    } buffer;
    struct {
        void *next;
        uint32_t kind;
    } sampler;
    struct {
        void *next;
        uint32_t kind, dimension, multisampled;
    } texture;
    struct {
        void *next;
        uint32_t access, format, dimension;
    } storage_texture;
} wg_layout_entry;

typedef struct wg_group_layout_info {
    void *next;
    wg_text label;
    size_t n_entries;
    const wg_layout_entry *entries;
} wg_group_layout_info;

typedef struct wg_layout_info {
    void *next;
    wg_text label;
    size_t n_groups;
    const wg_group_layout *groups;
    uint32_t immediate_bytes;
} wg_layout_info;

typedef struct wg_group_entry {
    void *next;
    uint32_t binding;
    wg_buffer buffer;
    uint64_t offset, bytes;
    void *sampler, *view;
} wg_group_entry;

typedef struct wg_group_info {
    void *next;
    wg_text label;
    wg_group_layout layout;
    size_t n_entries;
    const wg_group_entry *entries;
} wg_group_info;

typedef struct kni_webgpu_api {
    wg_instance (*create_instance)(const wg_instance_info *info);
    void (*process_events)(wg_instance instance);
    wg_future (*request_adapter)(wg_instance instance, const wg_adapter_options *options,
                                 wg_adapter_callback callback);
    uint32_t (*adapter_info)(wg_adapter adapter, wg_adapter_info *info);
    void (*free_adapter_info)(wg_adapter_info info);
    uint32_t (*adapter_limits)(wg_adapter adapter, wg_limits *limits);
    wg_future (*request_device)(wg_adapter adapter, const wg_device_info *info, wg_device_callback callback);
    void (*release_adapter)(wg_adapter adapter);
    wg_queue (*get_queue)(wg_device device);
    void (*push_scope)(wg_device device, uint32_t filter);
    wg_future (*pop_scope)(wg_device device, wg_scope_callback callback);
    void (*destroy_device)(wg_device device);
    void (*release_device)(wg_device device);
    void (*release_queue)(wg_queue queue);
    wg_buffer (*create_buffer)(wg_device device, const wg_buffer_info *info);
    void (*destroy_buffer)(wg_buffer buffer);
    void (*release_buffer)(wg_buffer buffer);
    wg_future (*map)(wg_buffer buffer, uint64_t mode, size_t offset, size_t bytes, wg_done_callback callback);
    const void *(*mapped)(wg_buffer buffer, size_t offset, size_t bytes);
    void (*unmap)(wg_buffer buffer);
    void (*write)(wg_queue queue, wg_buffer buffer, uint64_t offset, const void *data, size_t bytes);
    void (*submit)(wg_queue queue, size_t count, const wg_commands *commands);
    wg_encoder (*create_encoder)(wg_device device, const void *info);
    wg_pass (*begin_pass)(wg_encoder encoder, const void *info);
    void (*copy)(wg_encoder encoder, wg_buffer from, uint64_t from_offset, wg_buffer to, uint64_t to_offset,
                 uint64_t bytes);
    void (*clear)(wg_encoder encoder, wg_buffer buffer, uint64_t offset, uint64_t bytes);
    wg_commands (*finish)(wg_encoder encoder, const void *info);
    void (*release_encoder)(wg_encoder encoder);
    void (*release_commands)(wg_commands commands);
    void (*set_pipeline)(wg_pass pass, wg_pipeline pipeline);
    void (*set_group)(wg_pass pass, uint32_t index, wg_group group, size_t n_offsets,
                      const uint32_t *offsets);
    void (*dispatch)(wg_pass pass, uint32_t x, uint32_t y, uint32_t z);
    void (*end_pass)(wg_pass pass);
    void (*release_pass)(wg_pass pass);
    wg_module (*create_module)(wg_device device, const wg_module_info *info);
    void (*release_module)(wg_module module);
    wg_group_layout (*create_group_layout)(wg_device device, const wg_group_layout_info *info);
    void (*release_group_layout)(wg_group_layout layout);
    wg_layout (*create_layout)(wg_device device, const wg_layout_info *info);
    void (*release_layout)(wg_layout layout);
    wg_pipeline (*create_pipeline)(wg_device device, const wg_pipeline_info *info);
    void (*release_pipeline)(wg_pipeline pipeline);
    wg_group (*create_group)(wg_device device, const wg_group_info *info);
    void (*release_group)(wg_group group);

    /* Of wgpu-native alone; NULL elsewhere. */
    uint32_t (*poll)(wg_device device, uint32_t wait, const uint64_t *submission);
    size_t (*enumerate)(wg_instance instance, const void *options, wg_adapter *adapters);
    uint32_t (*version)(void);
} kni_webgpu_api;

/* The library, opened once; NULL: *why says what is missing. */
const kni_webgpu_api *kni_webgpu_load(const char **why);
wg_instance kni_webgpu_instance(void);
/* The n-th adapter that computes, to be released; NULL past the last. *total, where wanted, is how many there are. */
wg_adapter kni_webgpu_adapter(const kni_webgpu_api *a, int32_t n, int32_t *total);

#endif
