/* What the files of the WebGPU driver share. Work is recorded through the port (webgpu_port.h) and submitted when the memory for the
   numbers of launches is full, when something is read, or waited for. Each piece of memory is a buffer of its own: WebGPU refuses one that
   a kernel both reads and writes, whichever parts of it those are. */
#ifndef KNI_WEBGPU_DRIVER_H
#define KNI_WEBGPU_DRIVER_H

#include "backend/gpu/driver.h"
#include "backend/webgpu/webgpu_port.h"

enum {
    WEBGPU_NUMBERS =
        256 << 10,         /* bytes for the numbers of launches and small uploads between two submissions */
    WEBGPU_LAUNCHES = 256, /* between two submissions */
    WEBGPU_HEADER = 8      /* words before a launch's own numbers (ir/wgsl/wgsl.h) */
};

typedef struct webgpu_memory {
    webgpu_handle buffer;
    uint64_t bytes;
} webgpu_memory;

/* Kernels of the driver's own, for what begins or ends within a word. */
enum { WEBGPU_PATCH, WEBGPU_BYTES, WEBGPU_OWN };

typedef struct webgpu {
    kni_driver driver; /* first, so that the driver's address is this one's */
    webgpu_port *port;
    webgpu_handle numbers;
    unsigned char *shadow; /* what `numbers` is to hold */
    uint32_t used, launches;
    bool recorded; /* something waits to be submitted */
    webgpu_handle own[WEBGPU_OWN];
    kni_module *modules; /* all of them */
    uint32_t pipelines;  /* how many they have */
    uint64_t uses;
    char spec[16];
} webgpu;

static inline webgpu *kni_webgpu_of(kni_driver *d) { return (webgpu *)d; }

/* ---- webgpu_stream.c */
kn_status kni_webgpu_flush(webgpu *w);
/* Tells what the port noted since the last time, if anything. */
kn_status kni_webgpu_check(webgpu *w);
/* Room among the numbers; NULL after a failure. */
unsigned char *kni_webgpu_room(webgpu *w, uint32_t bytes, uint32_t *offset);
void *kni_webgpu_allocate(kni_driver *d, size_t bytes);
void kni_webgpu_free(kni_driver *d, void *memory);
kn_status kni_webgpu_sync(kni_driver *d);
kn_status kni_webgpu_upload(kni_driver *d, void *to, size_t offset, const void *from, size_t bytes);
kn_status kni_webgpu_download(kni_driver *d, void *to, const void *from, size_t offset, size_t bytes);
kn_status kni_webgpu_fill_zero(kni_driver *d, void *to, size_t offset, size_t bytes);

/* The failure of a thread that would have to wait and must not. */
kn_status kni_webgpu_no_waiting(const webgpu *w);

/* ---- webgpu_fetch.c */
kni_fetch *kni_webgpu_fetch_begin(kni_driver *d, const void *from, size_t offset, size_t bytes);
kn_status kni_webgpu_fetch_ready(kni_driver *d, kni_fetch *f, bool wait, bool *ready);
void kni_webgpu_fetch_end(kni_driver *d, kni_fetch *f, void *to);

/* ---- webgpu_bytes.c: copies that need not begin at a word */
kn_status kni_webgpu_copy(kni_driver *d, void *to, size_t to_offset, const void *from, size_t from_offset,
                          size_t bytes);
/* Bytes within one word of the buffer. */
kn_status kni_webgpu_patch(webgpu *w, webgpu_handle to, uint64_t offset, const unsigned char *from,
                           uint32_t bytes);

/* ---- webgpu_kernel.c */
kni_module *kni_webgpu_compile(kni_driver *d, const char *text, size_t bytes, const char *entry);
void kni_webgpu_unload(kni_driver *d, kni_module *m);
kn_status kni_webgpu_launch(kni_driver *d, kni_module *m, const kni_launch_shape *shape, void *const *buffers,
                            uint32_t n_buffers, const void *params, uint32_t param_bytes);
/* groups: as many as a dispatch takes. */
kn_status kni_webgpu_dispatch(webgpu *w, webgpu_handle pipeline, const webgpu_handle *buffers,
                              uint32_t n_buffers, const uint32_t *groups, const void *params,
                              uint32_t param_bytes);

#endif
