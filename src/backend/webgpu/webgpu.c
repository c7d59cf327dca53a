/* The WebGPU device: opening an adapter, what it can do, and the table of the driver's functions. */
#include "backend/webgpu/webgpu_driver.h"
#include "core/allocator.h"
#include "core/error.h"
#include "core/text.h"
#include <string.h>

static void close_driver(kni_driver *d)
{
    webgpu *w = kni_webgpu_of(d);
    for (int i = 0; i < WEBGPU_OWN; i++)
        if (w->own[i]) kni_webgpu_pipeline_free(w->port, w->own[i]);
    if (w->numbers) kni_webgpu_buffer_free(w->port, w->numbers);
    if (w->shadow) kni_free(w->shadow, WEBGPU_NUMBERS);
    kni_webgpu_port_close(w->port);
    kni_free(w, sizeof *w);
}

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

static void find_caps(webgpu *w)
{
    enum { MOST_SHARED = 48 << 10, MOST_PARAMS = 16 << 10, MOST_GROUP = 1024 };
    const webgpu_limits *l = &w->port->limits;
    kni_ir_caps *c = &w->driver.caps;
    c->dialect = KNI_IR_WGSL;
    c->narrow = c->no_bytes = c->no_aliases = c->atomics = true;
    c->subgroup = 1;
    c->max_workgroup = least(l->invocations, MOST_GROUP);
    c->shared_bytes = least(l->shared_bytes, MOST_SHARED);
    c->vector_bytes = 16;
    c->param_bytes = least(l->uniform_bytes, MOST_PARAMS) - WEBGPU_HEADER * 4;
    c->max_buffers = l->storage_buffers;
}

static const kni_driver functions = {.allocate = kni_webgpu_allocate,
                                     .free = kni_webgpu_free,
                                     .upload = kni_webgpu_upload,
                                     .download = kni_webgpu_download,
                                     .fetch_begin = kni_webgpu_fetch_begin,
                                     .fetch_ready = kni_webgpu_fetch_ready,
                                     .fetch_end = kni_webgpu_fetch_end,
                                     .copy = kni_webgpu_copy,
                                     .fill_zero = kni_webgpu_fill_zero,
                                     .sync = kni_webgpu_sync,
                                     .compile = kni_webgpu_compile,
                                     .unload = kni_webgpu_unload,
                                     .launch = kni_webgpu_launch,
                                     .close = close_driver};

static kni_driver *open_driver(webgpu_port *port, int32_t number)
{
    webgpu *w = kni_allocate(sizeof *w);
    if (!w) {
        (void)kni_fail(KN_ERROR_MEMORY, "no memory to open webgpu:%d", number);
        kni_webgpu_port_close(port);
        return NULL;
    }
    memset(w, 0, sizeof *w);
    w->driver = functions;
    w->port = port;
    kni_text text = {w->spec, sizeof w->spec, 0};
    kni_text_format(&text, "webgpu:%d", number);
    w->driver.name = w->spec;
    w->driver.self = w;
    w->driver.processors = port->processors;
    w->driver.memory_bytes = port->memory_bytes;
    w->driver.max_bytes = (int64_t)port->limits.buffer_bytes;
    memcpy(w->driver.description, port->description, sizeof w->driver.description);
    find_caps(w);
    w->shadow = kni_allocate(WEBGPU_NUMBERS);
    w->numbers = w->shadow ? kni_webgpu_buffer(port, WEBGPU_NUMBERS, true) : 0;
    if (w->numbers) return &w->driver;
    (void)kni_fail(KN_ERROR_MEMORY, "no memory to open webgpu:%d", number);
    close_driver(&w->driver);
    return NULL;
}

static kni_driver *open_number(int32_t number)
{
    webgpu_port *port = kni_webgpu_port_open(number);
    return port ? open_driver(port, number) : NULL;
}

bool kni_webgpu_describe(int32_t n, char *text, size_t bytes)
{
    return kni_webgpu_port_describe(n, text, bytes);
}

kn_backend *kni_webgpu_open(const char *argument, kn_backend *const *inner, int32_t n_inner)
{
    (void)inner;
    return kni_gpu_open_numbered("webgpu", argument, n_inner, open_number);
}
