/* What the files of the Vulkan driver share. Work is recorded into one of a few frames (commands and a page of staging memory and
   descriptor sets) and submitted when the page is full, read from, or waited for; or it goes to a recording, which has pages of its own.
   Commands run in order as far as they touch the same memory: before one that does stands a barrier. */
#ifndef KNI_VULKAN_DRIVER_H
#define KNI_VULKAN_DRIVER_H

#include "backend/gpu/driver.h"
#include "backend/vulkan/vulkan_api.h"

enum {
    VULKAN_FRAMES = 4,
    VULKAN_STAGING = 4 << 20, /* bytes of a frame's memory on the host */
    VULKAN_SETS = 512,        /* launches of a frame */
    VULKAN_DESCRIPTORS = VULKAN_SETS * 12,
    VULKAN_NOTED_STAGING = 256 << 10, /* of a page of a recording */
    VULKAN_NOTED_SETS = 64,
    VULKAN_COPIES = 2,      /* of a recording, so that one can be given other numbers while the other runs */
    VULKAN_USES = 128,      /* pieces of memory that are looked at before a barrier is put in any case */
    VULKAN_ALIGNMENT = 256, /* of memory: what any device asks for at most */
    VULKAN_MAX_BUFFERS = 64
};

/* A piece of the device's memory: all of a chunk, or a part of one. */
typedef struct vulkan_chunk vulkan_chunk;
typedef struct vulkan_memory {
    vulkan_chunk *chunk;
    uint64_t offset, bytes;
} vulkan_memory;

typedef struct vulkan_page {
    vk_set_pool sets;
    vk_buffer staging;
    vk_memory memory;
    unsigned char *mapped;
    uint64_t bytes, staged;
    uint32_t most_sets, most_descriptors, n_sets, n_descriptors;
    struct vulkan_page *next; /* of a recording: the one that was full before */
} vulkan_page;

typedef struct vulkan_frame {
    vk_commands commands;
    vk_fence fence;
    vulkan_page page;
    bool recording, submitted;
} vulkan_frame;

/* A piece of memory that a command reads or writes. */
typedef struct vulkan_use {
    vk_buffer buffer;
    uint64_t offset, bytes;
    bool written;
} vulkan_use;

/* Those since the latest barrier. */
typedef struct vulkan_hazards {
    vulkan_use uses[VULKAN_USES];
    uint32_t n;
} vulkan_hazards;

/* Where a command goes, and the staging memory that it was given there. */
typedef struct vulkan_target {
    vk_commands commands;
    vulkan_page *page;
    uint64_t at;
} vulkan_target;

typedef struct vulkan_retired vulkan_retired;
typedef struct vulkan {
    kni_driver driver; /* first, so that the driver's address is this one's */
    const kni_vulkan_api *api;
    vk_adapter adapter;
    vk_device device;
    vk_queue queue;
    vk_command_pool commands;
    vk_memory_types types;
    uint32_t family, max_groups[3];
    uint32_t asked_subgroup; /* the size that pipelines must ask for; 0: there is but one */
    uint64_t max_range, used_bytes;
    vulkan_chunk *chunks;
    vulkan_frame frames[VULKAN_FRAMES];
    uint32_t frame;
    vulkan_hazards hazards;    /* of the frame that is being recorded */
    kni_recording *noted;      /* the recording that is being made */
    kni_recording *recordings; /* all, the latest first */
    vulkan_retired *retired;
    vk_buffer
        alarm; /* of a driver that ends loops (ir/spirv/spirv_loop.c): a word that kernels set when it did; 0: none */
    vk_memory alarm_memory;
    volatile uint32_t *alarmed;
    bool lost;
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

/* ---- vulkan_page.c */
int32_t kni_vulkan_page_open(vulkan *v, vulkan_page *p, uint64_t staging, uint32_t sets,
                             uint32_t descriptors);
void kni_vulkan_page_close(vulkan *v, vulkan_page *p);
/* Whether it has so much staging memory and room for the buffers of a launch; and taking it. */
bool kni_vulkan_page_has(const vulkan_page *p, uint64_t bytes, uint32_t n_buffers);
uint64_t kni_vulkan_page_take(vulkan_page *p, uint64_t bytes);
/* Notes what the next command uses; true: a barrier has to come before it. */
bool kni_vulkan_conflicts(vulkan_hazards *h, const vulkan_use *uses, uint32_t n);
vulkan_use kni_vulkan_use_of(const void *memory, uint64_t offset, uint64_t bytes, bool written);
void kni_vulkan_barrier(vulkan *v, vk_commands commands);

/* ---- vulkan_stream.c */
kn_status kni_vulkan_frames_open(vulkan *v);
void kni_vulkan_frames_close(vulkan *v);
/* Where the next command goes, which uses this memory, that much staging memory and, if it is a launch, so many buffers: the frame, or all
   copies of a recording. The number of targets; 0 after a failure. */
uint32_t kni_vulkan_targets(vulkan *v, uint64_t bytes, uint32_t n_buffers, const vulkan_use *uses,
                            uint32_t n_uses, vulkan_target *targets);
kn_status kni_vulkan_submit(vulkan *v, vk_commands commands, vk_fence fence);
kn_status kni_vulkan_flush(vulkan *v);
kn_status kni_vulkan_wait(vulkan *v, vk_fence fence, bool *submitted);
kn_status kni_vulkan_sync(kni_driver *d);
kn_status kni_vulkan_upload(kni_driver *d, void *to, size_t offset, const void *from, size_t bytes);
kn_status kni_vulkan_download(kni_driver *d, void *to, const void *from, size_t offset, size_t bytes);
kn_status kni_vulkan_copy(kni_driver *d, void *to, size_t to_offset, const void *from, size_t from_offset,
                          size_t bytes);
kn_status kni_vulkan_fill_zero(kni_driver *d, void *to, size_t offset, size_t bytes);

/* ---- vulkan_record.c */
kn_status kni_vulkan_record_begin(kni_driver *d);
kni_recording *kni_vulkan_record_end(kni_driver *d);
kn_status kni_vulkan_replay(kni_driver *d, kni_recording *r);
kn_status kni_vulkan_record_params(kni_driver *d, kni_recording *r, uint32_t launch, const void *params,
                                   uint32_t param_bytes);
void kni_vulkan_record_free(kni_driver *d, kni_recording *r);
void kni_vulkan_record_writes(kni_driver *d, const uint64_t *written);
/* Notes a launch whose numbers lie at `at` of the pages of the targets; targets NULL: there is nothing to do. */
/* What is being recorded, if anything is, cannot be replayed. */
void kni_vulkan_record_broken(vulkan *v);
kn_status kni_vulkan_record_launch(vulkan *v, const vulkan_target *targets, uint32_t param_bytes);
uint32_t kni_vulkan_record_targets(vulkan *v, uint64_t bytes, uint32_t n_buffers, const vulkan_use *uses,
                                   uint32_t n_uses, vulkan_target *targets);
kn_status kni_vulkan_recordings_wait(vulkan *v);
void kni_vulkan_recordings_close(vulkan *v);
/* Frees a name of memory, or destroys a pipeline, as soon as no recording may refer to it. */
void kni_vulkan_retire(vulkan *v, vulkan_memory *memory, vk_pipeline pipeline);

/* ---- vulkan_kernel.c */
kni_module *kni_vulkan_compile(kni_driver *d, const char *text, size_t bytes, const char *entry);
void kni_vulkan_unload(kni_driver *d, kni_module *m);
kn_status kni_vulkan_launch(kni_driver *d, kni_module *m, const kni_launch_shape *shape, void *const *buffers,
                            uint32_t n_buffers, const void *params, uint32_t param_bytes);
void kni_vulkan_layouts_close(vulkan *v);

#endif
