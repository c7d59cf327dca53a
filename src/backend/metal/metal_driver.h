/* What the files of the Metal driver share. Commands are encoded into one of a few frames (a command buffer and staging memory), which is
   committed when it is full, read from or waited for. Command buffers of a queue run in order, and so do the commands of an encoder of
   the serial kind, so nothing else keeps the order. */
#ifndef KNI_METAL_DRIVER_H
#define KNI_METAL_DRIVER_H

#include "backend/gpu/driver.h"
#include "backend/metal/metal_api.h"

enum {
    METAL_FRAMES = 4,
    METAL_STAGING = 4 << 20, /* bytes of a frame's memory that the host sees */
    METAL_COMMANDS = 512,    /* of a frame */
    METAL_ALIGNMENT = 256,   /* of pieces of memory: what any GPU wants of an offset at most */
    METAL_MAX_BUFFERS = 30,  /* a kernel has 31 slots, one of them for the numbers of the launch */
    METAL_PARAM_BYTES =
        16384,         /* of these numbers; up to 4096 go with the command, more through staging memory */
    METAL_CLASSES = 10 /* of small pieces: 256 bytes to 128 KiB, powers of two */
};

/* A piece of the device's memory: a buffer of its own, or a part of a slab whose parts are of one size. */
typedef struct metal_slab metal_slab;
typedef struct metal_memory {
    metal_id buffer;
    uint64_t offset, bytes;
    metal_slab *slab;          /* NULL: the buffer is its own */
    struct metal_memory *next; /* of the free parts of a size */
} metal_memory;

typedef enum metal_encoding { METAL_NOTHING, METAL_COMPUTING, METAL_COPYING } metal_encoding;

typedef struct metal_frame {
    metal_id commands; /* being encoded or running; NULL: none */
    metal_id staging;
    unsigned char *mapped;
    uint64_t staged;
    uint32_t n_commands;
    bool committed;
} metal_frame;

typedef struct metal {
    kni_driver driver; /* first, so that the driver's address is this one's */
    const kni_metal_api *api;
    metal_id device, queue, options;
    uint64_t most_buffer, used_bytes;
    metal_slab *slabs;
    metal_memory *free_parts[METAL_CLASSES];
    metal_frame frames[METAL_FRAMES];
    uint32_t frame;
    metal_id encoder; /* of the frame that is being encoded */
    metal_encoding encoding;
    kni_module *copy_bytes, *clear_bytes; /* made when first needed */
    bool lost;
    char spec[16], lost_text[160];
} metal;

static inline metal *kni_metal_of(kni_driver *d) { return (metal *)d; }
/* Tells a failure of what was to be done, with the error of Metal's (may be NULL). */
kn_status kni_metal_failed(const metal *m, kn_status status, const char *what, metal_id error);
/* The device does nothing any more: tells so with the reason that was found first. */
kn_status kni_metal_gone(const metal *m);
/* Writes what an error of Metal's says, in one line. */
void kni_metal_words(const kni_metal_api *a, metal_id error, char *text, size_t bytes);

/* ---- metal_memory.c */
void *kni_metal_allocate(kni_driver *d, size_t bytes);
void kni_metal_free(kni_driver *d, void *memory);
void kni_metal_free_slabs(metal *m);

/* ---- metal_stream.c */
kn_status kni_metal_frames_open(metal *m);
void kni_metal_frames_close(metal *m);
/* The frame that is being encoded, with an encoder of the kind and so much staging memory, which begins at *offset. NULL after a
   failure. */
metal_frame *kni_metal_frame(metal *m, metal_encoding encoding, uint64_t bytes, uint64_t *offset);
/* The status of the failure where there was none. */
static inline kn_status kni_metal_no_frame(const metal *m)
{
    return m->lost ? KN_ERROR_DEVICE : KN_ERROR_MEMORY;
}
kn_status kni_metal_sync(kni_driver *d);
kn_status kni_metal_upload(kni_driver *d, void *to, size_t offset, const void *from, size_t bytes);
kn_status kni_metal_download(kni_driver *d, void *to, const void *from, size_t offset, size_t bytes);
kn_status kni_metal_copy(kni_driver *d, void *to, size_t to_offset, const void *from, size_t from_offset,
                         size_t bytes);
kn_status kni_metal_fill_zero(kni_driver *d, void *to, size_t offset, size_t bytes);

/* ---- metal_kernel.c */
kni_module *kni_metal_compile(kni_driver *d, const char *text, size_t bytes, const char *entry);
void kni_metal_unload(kni_driver *d, kni_module *module);
kn_status kni_metal_launch(kni_driver *d, kni_module *module, const kni_launch_shape *shape,
                           void *const *buffers, uint32_t n_buffers, const void *params,
                           uint32_t param_bytes);
/* Encodes a launch that copies bytes from buffer to buffer, or clears them where `from` is NULL; the open encoder computes. */
kn_status kni_metal_encode_bytes(metal *m, metal_id to, uint64_t to_offset, metal_id from,
                                 uint64_t from_offset, uint64_t bytes);
void kni_metal_free_module(metal *m, kni_module *module);

#endif
