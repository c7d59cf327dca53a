/* What the files of the Vulkan driver share. Work is recorded into one of a few frames (commands, staging memory, descriptor sets) and
   submitted when it is full, read from, or waited for; frames run in order, with a barrier between any two commands. */
#ifndef KNI_VULKAN_DRIVER_H
#define KNI_VULKAN_DRIVER_H

#include "backend/gpu/driver.h"
#include "backend/vulkan/vulkan_api.h"

enum {
    VULKAN_FRAMES = 4,
    VULKAN_STAGING = 4 << 20, /* bytes of a frame's memory on the host */
    VULKAN_SETS = 512,        /* launches of a frame */
    VULKAN_DESCRIPTORS = VULKAN_SETS * 12,
    VULKAN_ALIGNMENT = 256, /* of memory: what any device asks for at most */
    VULKAN_MAX_BUFFERS = 64
};

/* A piece of the device's memory: all of a chunk, or a part of one. */
typedef struct vulkan_chunk vulkan_chunk;
typedef struct vulkan_memory {
    vulkan_chunk *chunk;
    uint64_t offset, bytes;
} vulkan_memory;

typedef struct vulkan_frame {
    vk_commands commands;
    vk_fence fence;
    vk_set_pool sets;
    vk_buffer staging;
    vk_memory staging_memory;
    unsigned char *mapped;
    uint64_t staged;
    uint32_t n_sets, n_descriptors;
    bool recording, submitted;
} vulkan_frame;

typedef struct vulkan {
    kni_driver driver; /* first, so that the driver's address is this one's */
    const kni_vulkan_api *api;
    vk_adapter adapter;
    vk_device device;
    vk_queue queue;
    vk_command_pool commands;
    vk_memory_types types;
    uint32_t family, max_groups[3];
    uint64_t max_range, used_bytes;
    vulkan_chunk *chunks;
    vulkan_frame frames[VULKAN_FRAMES];
    uint32_t frame;
    bool lost, special_modes;
    vk_set_layout set_layouts[VULKAN_MAX_BUFFERS + 1]; /* by the number of buffers, made when first needed */
    vk_layout layouts[VULKAN_MAX_BUFFERS + 1];
    char spec[16], identity[96]; /* identity: of the device and its driver, for the cache on disk */
} vulkan;

static inline vulkan *kni_vulkan_of(kni_driver *d) { return (vulkan *)d; }
/* Tells a failure; KN_ERROR_DEVICE once the device is lost. */
kn_status kni_vulkan_failed(vulkan *v, const char *what, int32_t status);

/* ---- vulkan_memory.c */
void *kni_vulkan_allocate(kni_driver *d, size_t bytes);
void kni_vulkan_free(kni_driver *d, void *memory);
vk_buffer kni_vulkan_buffer(const vulkan_memory *m);
void kni_vulkan_free_chunks(vulkan *v);
/* A buffer with memory of its own that has all wanted flags, and the others too where there is such memory. */
int32_t kni_vulkan_make_buffer(vulkan *v, uint64_t bytes, uint32_t usage, uint32_t wanted, uint32_t liked,
                               vk_buffer *buffer, vk_memory *memory);

/* ---- vulkan_stream.c */
kn_status kni_vulkan_frames_open(vulkan *v);
void kni_vulkan_frames_close(vulkan *v);
/* The frame that is being recorded, with so much staging memory and room for a launch of n buffers; *offset is where the memory lies.
   NULL after a failure. */
vulkan_frame *kni_vulkan_frame(vulkan *v, uint64_t bytes, uint32_t n_buffers, uint64_t *offset);
void kni_vulkan_barrier(vulkan *v, vulkan_frame *f);
kn_status kni_vulkan_flush(vulkan *v);
kn_status kni_vulkan_sync(kni_driver *d);
kn_status kni_vulkan_upload(kni_driver *d, void *to, size_t offset, const void *from, size_t bytes);
kn_status kni_vulkan_download(kni_driver *d, void *to, const void *from, size_t offset, size_t bytes);
kn_status kni_vulkan_copy(kni_driver *d, void *to, size_t to_offset, const void *from, size_t from_offset,
                          size_t bytes);
kn_status kni_vulkan_fill_zero(kni_driver *d, void *to, size_t offset, size_t bytes);

/* ---- vulkan_kernel.c */
kni_module *kni_vulkan_compile(kni_driver *d, const char *text, size_t bytes, const char *entry);
void kni_vulkan_unload(kni_driver *d, kni_module *m);
kn_status kni_vulkan_launch(kni_driver *d, kni_module *m, const kni_launch_shape *shape, void *const *buffers,
                            uint32_t n_buffers, const void *params, uint32_t param_bytes);
void kni_vulkan_layouts_close(vulkan *v);

#endif
