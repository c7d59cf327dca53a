/* WebGPU through the page's own. The functions of module `webgpu` are JavaScript's (bindings/js/src/webgpu.js): a worker that owns the
   device does in order what it is sent, so that this thread may wait for it where it is no page's. */
#ifdef __wasm__
#include "backend/webgpu/webgpu_port.h"
#include "core/allocator.h"
#include "core/error.h"
#include "core/text.h"
#include <string.h>

#define FROM_PAGE(name) __attribute__((import_module("webgpu"), import_name(#name)))

/* What a device says of itself, laid out as webgpu.js has it. */
typedef struct page_device {
    uint32_t storage_buffers, shared_bytes, invocations, groups, uniform_alignment, uniform_bytes;
    double buffer_bytes;
    char description[128];
} page_device;
_Static_assert(sizeof(page_device) == 160 && offsetof(page_device, buffer_bytes) == 24 &&
                   offsetof(page_device, description) == 32,
               "page_device is laid out as bindings/js/src/webgpu.js has it");

/* Sizes and places are doubles, which JavaScript's numbers are. */
FROM_PAGE(there)
int32_t page_there(char *text, uint32_t bytes); /* whether; the device's name, or what is missing */
FROM_PAGE(open) int32_t page_open(page_device *device);
FROM_PAGE(close) void page_close(void);
FROM_PAGE(waits) int32_t page_waits(void);
FROM_PAGE(buffer) void page_buffer(uint32_t id, double bytes, int32_t numbers);
FROM_PAGE(free) void page_free(uint32_t id);
FROM_PAGE(write) void page_write(uint32_t to, double offset, const void *from, uint32_t bytes);
FROM_PAGE(copy)
void page_copy(uint32_t from, double from_offset, uint32_t to, double to_offset, double bytes);
FROM_PAGE(clear) void page_clear(uint32_t id, double offset, double bytes);
FROM_PAGE(pipeline)
int32_t page_pipeline(uint32_t id, const char *text, uint32_t bytes, const char *entry, const char *access,
                      uint32_t width); /* 0: the trouble says why */
FROM_PAGE(dispatch)
void page_dispatch(uint32_t pipeline, const webgpu_handle *buffers, uint32_t n, uint32_t numbers,
                   uint32_t offset, uint32_t bytes, const uint32_t *groups);
FROM_PAGE(submit) void page_submit(void);
FROM_PAGE(wait) void page_wait(void);
FROM_PAGE(read) void page_read(uint32_t id, uint32_t from, double offset, double bytes);
FROM_PAGE(read_state) int32_t page_read_state(uint32_t id, int32_t wait);
FROM_PAGE(read_end) void page_read_end(uint32_t id, void *to, uint32_t skip, uint32_t bytes);
enum { PAGE_ERROR = 1, PAGE_LOST = 2 };
FROM_PAGE(trouble)
int32_t page_trouble(char *text, uint32_t bytes); /* what went wrong since it was asked last */

/* Names of buffers, pipelines and readings alike. */
static uint32_t last_id;

static void look(webgpu_port *p)
{
    char text[sizeof p->error] = "";
    int32_t what = page_trouble(text, sizeof text);
    if (what && !p->error[0]) memcpy(p->error, text, sizeof text);
    if (what & PAGE_LOST) p->lost = true;
}

webgpu_port *kni_webgpu_port_open(int32_t number)
{
    char why[256] = "";
    page_device device;
    memset(&device, 0, sizeof device);
    if (!page_there(why, sizeof why) || number || !page_open(&device)) {
        if (number) memcpy(why, "a page has webgpu:0 alone", sizeof "a page has webgpu:0 alone");
        (void)kni_fail(KN_ERROR_DEVICE, "webgpu:%d cannot be opened: %s", number,
                       why[0] ? why : "the browser gives no device");
        return NULL;
    }
    webgpu_port *p = kni_allocate(sizeof *p);
    if (!p) {
        page_close();
        (void)kni_fail(KN_ERROR_MEMORY, "no memory to open webgpu:%d", number);
        return NULL;
    }
    memset(p, 0, sizeof *p);
    p->limits = (webgpu_limits){.buffer_bytes = (uint64_t)device.buffer_bytes,
                                .storage_buffers = device.storage_buffers < WEBGPU_MAX_BUFFERS
                                                       ? device.storage_buffers
                                                       : WEBGPU_MAX_BUFFERS,
                                .shared_bytes = device.shared_bytes,
                                .invocations = device.invocations,
                                .groups = device.groups,
                                .uniform_alignment = device.uniform_alignment,
                                .uniform_bytes = device.uniform_bytes};
    p->processors = 16;
    p->pipelines = 1024;
    p->memory_bytes = INT64_C(2) << 30;
    p->waits = page_waits();
    memcpy(p->description, device.description, sizeof p->description);
    return p;
}

bool kni_webgpu_port_describe(int32_t number, char *text, size_t bytes)
{
    char name[128] = "";
    if (number || !page_there(name, sizeof name)) return false;
    kni_text t = {text, bytes, 0};
    kni_text_format(&t, "webgpu:0  %s", name);
    return true;
}

void kni_webgpu_port_close(webgpu_port *p)
{
    page_close();
    kni_free(p, sizeof *p);
}

webgpu_handle kni_webgpu_buffer(webgpu_port *p, uint64_t bytes, bool numbers)
{
    (void)p;
    page_buffer(++last_id, (double)bytes, numbers);
    return last_id;
}

void kni_webgpu_buffer_free(webgpu_port *p, webgpu_handle buffer)
{
    (void)p;
    page_free(buffer);
}

void kni_webgpu_write(webgpu_port *p, webgpu_handle to, uint64_t offset, const void *from, size_t bytes)
{
    (void)p;
    page_write(to, (double)offset, from, bytes);
}

void kni_webgpu_record_copy(webgpu_port *p, webgpu_handle from, uint64_t from_offset, webgpu_handle to,
                            uint64_t to_offset, uint64_t bytes)
{
    (void)p;
    page_copy(from, (double)from_offset, to, (double)to_offset, (double)bytes);
}

void kni_webgpu_record_clear(webgpu_port *p, webgpu_handle buffer, uint64_t offset, uint64_t bytes)
{
    (void)p;
    page_clear(buffer, (double)offset, (double)bytes);
}

void kni_webgpu_record_dispatch(webgpu_port *p, const webgpu_dispatch *d)
{
    (void)p;
    page_dispatch(d->pipeline, d->buffers, d->n_buffers, d->numbers, d->numbers_offset, d->numbers_bytes,
                  d->groups);
}

void kni_webgpu_submit(webgpu_port *p)
{
    page_submit();
    look(p);
}

void kni_webgpu_wait(webgpu_port *p)
{
    page_wait();
    look(p);
}

webgpu_handle kni_webgpu_pipeline(webgpu_port *p, const webgpu_kernel_text *k)
{
    uint32_t id = ++last_id;
    if (page_pipeline(id, k->text, k->bytes, k->entry, k->access, k->width)) return id;
    look(p);
    (void)kni_fail(p->lost ? KN_ERROR_DEVICE : KN_ERROR_INTERNAL,
                   "WebGPU does not compile the kernel %s: %s; \"cpu\" runs it without a GPU", k->entry,
                   p->error[0] ? p->error : "it gives no reason");
    p->error[0] = 0;
    return 0;
}

void kni_webgpu_pipeline_free(webgpu_port *p, webgpu_handle pipeline)
{
    (void)p;
    page_free(pipeline);
}

webgpu_handle kni_webgpu_read(webgpu_port *p, webgpu_handle from, uint64_t offset, uint64_t bytes)
{
    (void)p;
    page_read(++last_id, from, (double)offset, (double)bytes);
    return last_id;
}

webgpu_state kni_webgpu_read_state(webgpu_port *p, webgpu_handle read)
{
    webgpu_state s = (webgpu_state)page_read_state(read, p->waits);
    look(p);
    return s == WEBGPU_PENDING && p->lost ? WEBGPU_FAILED : s;
}

void kni_webgpu_read_end(webgpu_port *p, webgpu_handle read, void *to, size_t skip, size_t bytes)
{
    (void)p;
    page_read_end(read, to, skip, bytes);
}
#else
typedef int kni_webgpu_no_page;
#endif
