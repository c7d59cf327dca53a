/* WebGPU as the driver sees it, over a library of webgpu.h (webgpu_native.c) or the page's own (webgpu_browser.c). Handles are 0 where
   there is nothing. Work is recorded in order and begins with `submit`; writes happen in the order of submissions. What fails is noted in
   `error` and looked at by the driver; nothing here tells a failure but opening and making pipelines. */
#ifndef KNI_WEBGPU_PORT_H
#define KNI_WEBGPU_PORT_H

#include <kn/base.h>

typedef uintptr_t webgpu_handle;

enum { WEBGPU_MAX_BUFFERS = 64 };

typedef struct webgpu_limits {
    uint64_t buffer_bytes; /* of one buffer, and of what a kernel is given of it */
    uint32_t storage_buffers, shared_bytes, invocations, groups;
    uint32_t uniform_alignment, uniform_bytes;
} webgpu_limits;

typedef struct webgpu_port {
    webgpu_limits limits;
    uint32_t processors, pipelines; /* pipelines: that may be kept at once */
    int64_t memory_bytes;
    char description[128];
    bool waits; /* may wait for the device: not in a browser */
    bool lost;
    char error[700]; /* the first one since it was last looked at; empty: none */
} webgpu_port;

webgpu_port *kni_webgpu_port_open(int32_t number); /* NULL after a failure */
bool kni_webgpu_port_describe(int32_t number, char *text, size_t bytes);
void kni_webgpu_port_close(webgpu_port *p);

webgpu_handle kni_webgpu_buffer(webgpu_port *p, uint64_t bytes, bool numbers); /* numbers: of launches */
void kni_webgpu_buffer_free(webgpu_port *p, webgpu_handle buffer);
/* At once, before all that is submitted from now on; offset and bytes are multiples of 4. */
void kni_webgpu_write(webgpu_port *p, webgpu_handle to, uint64_t offset, const void *from, size_t bytes);

/* Recorded. Offsets and bytes are multiples of 4, and the buffers are two. */
void kni_webgpu_record_copy(webgpu_port *p, webgpu_handle from, uint64_t from_offset, webgpu_handle to,
                            uint64_t to_offset, uint64_t bytes);
void kni_webgpu_record_clear(webgpu_port *p, webgpu_handle buffer, uint64_t offset, uint64_t bytes);

typedef struct webgpu_dispatch {
    webgpu_handle pipeline;
    const webgpu_handle *buffers; /* whole ones, in the order of the bindings */
    uint32_t n_buffers, groups[3];
    webgpu_handle numbers; /* a part of it, behind the buffers */
    uint32_t numbers_offset, numbers_bytes;
} webgpu_dispatch;
void kni_webgpu_record_dispatch(webgpu_port *p, const webgpu_dispatch *d);
void kni_webgpu_submit(webgpu_port *p);
void kni_webgpu_wait(webgpu_port *p); /* until all that was submitted has run; only where `waits` */

/* A kernel from its text. access: for each buffer 'r' where it is only read, else 'w'. width: of a workgroup that the text leaves open, 0
   where it says its own. 0 after a failure. */
typedef struct webgpu_kernel_text {
    const char *text, *entry, *access;
    size_t bytes;
    uint32_t width;
} webgpu_kernel_text;
webgpu_handle kni_webgpu_pipeline(webgpu_port *p, const webgpu_kernel_text *k);
void kni_webgpu_pipeline_free(webgpu_port *p, webgpu_handle pipeline);

/* Reading: begin it after a submit, ask for its state, and end it in any case. Offset and bytes are multiples of 4. 0: no memory. */
typedef enum webgpu_state { WEBGPU_PENDING, WEBGPU_THERE, WEBGPU_FAILED } webgpu_state;
webgpu_handle kni_webgpu_read(webgpu_port *p, webgpu_handle from, uint64_t offset, uint64_t bytes);
webgpu_state kni_webgpu_read_state(webgpu_port *p, webgpu_handle read);
/* Copies what is there from byte `skip` on; to NULL: nothing. */
void kni_webgpu_read_end(webgpu_port *p, webgpu_handle read, void *to, size_t skip, size_t bytes);

#endif
