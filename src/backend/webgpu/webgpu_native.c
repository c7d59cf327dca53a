/* WebGPU through a library of webgpu.h. */
#ifndef __wasm__
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "backend/webgpu/webgpu_api.h"
#include "backend/webgpu/webgpu_port.h"
#include "core/allocator.h"
#include "core/error.h"
#include "core/platform.h"
#include "core/text.h"
#include <string.h>
#include <time.h>

typedef struct native {
    webgpu_port port; /* first, so that the port's address is this one's */
    const kni_webgpu_api *api;
    wg_device device;
    wg_queue queue;
    wg_encoder encoder; /* what is recorded now; NULL: nothing */
    wg_pass pass;
} native;

static native *native_of(webgpu_port *p) { return (native *)p; }

/* ---- what goes wrong */

static void note(webgpu_port *p, const char *kind, wg_text message)
{
    if (p->error[0]) return;
    kni_text text = {p->error, sizeof p->error, 0};
    kni_text_string(&text, kind);
    size_t n = message.data ? message.length == SIZE_MAX ? strlen(message.data) : message.length : 0;
    for (size_t i = 0; i < n; i++) kni_text_char(&text, message.data[i]);
}

static void on_error(const wg_device *device, uint32_t kind, wg_text message, void *to, void *also)
{
    (void)device, (void)also;
    note(to,
         kind == WG_ERROR_VALIDATION ? "a validation error: "
         : kind == WG_ERROR_MEMORY   ? "out of memory: "
                                     : "",
         message);
}

static void on_lost(const wg_device *device, uint32_t reason, wg_text message, void *to, void *also)
{
    enum { DESTROYED = 2 };
    webgpu_port *p = to;
    (void)device, (void)also;
    if (reason == DESTROYED) return; /* by ourselves, at the end */
    p->lost = true;
    note(p, "the device is lost: ", message);
}

static void pause_us(long us) { (void)nanosleep(&(struct timespec){0, us * 1000}, NULL); }

/* Errors of what is done between the two are the scope's alone. */
typedef struct scope {
    bool done, failed;
    webgpu_port *port;
    const char *kind;
} scope;

static void on_scope(uint32_t status, uint32_t kind, wg_text message, void *to, void *also)
{
    scope *s = to;
    (void)also;
    s->done = true;
    s->failed = status != WG_SUCCESS || kind > 1;
    if (s->failed && s->kind) note(s->port, s->kind, message);
}

/* Whether nothing failed. With a kind the text is kept as the error. */
static bool end_scope(native *n, const char *kind)
{
    enum { ROUNDS = 10000, PAUSE_US = 100 };
    scope s = {.port = &n->port, .kind = kind};
    (void)n->api->pop_scope(n->device,
                            (wg_scope_callback){.mode = WG_SPONTANEOUS, .call = on_scope, .to = &s});
    for (int i = 0; !s.done && i < ROUNDS; i++) {
        n->api->process_events(kni_webgpu_instance());
        if (!s.done && i) pause_us(PAUSE_US);
    }
    return s.done && !s.failed;
}

/* ---- opening */

static void take_device(uint32_t status, wg_device device, wg_text message, void *to, void *also)
{
    native *n = to;
    (void)also;
    if (status == WG_SUCCESS)
        n->device = device;
    else
        note(&n->port, "", message);
}

static uint32_t least(uint64_t a, uint64_t b) { return (uint32_t)(a < b ? a : b); }

static void find_limits(webgpu_port *p, const wg_limits *l)
{
    p->limits = (webgpu_limits){
        .buffer_bytes = l->storage_bytes < l->buffer_bytes ? l->storage_bytes : l->buffer_bytes,
        .storage_buffers = least(least(l->storage_buffers, l->bindings_per_group - 1), WEBGPU_MAX_BUFFERS),
        .shared_bytes = l->shared_bytes,
        .invocations = least(l->invocations, l->group_size[0]),
        .groups = l->groups,
        .uniform_alignment = l->uniform_alignment,
        .uniform_bytes = least(l->uniform_bytes, UINT32_MAX)};
}

static void put_view(kni_text *text, wg_text view)
{
    size_t n = view.length == SIZE_MAX ? strlen(view.data) : view.length;
    for (size_t i = 0; view.data && i < n; i++) kni_text_char(text, view.data[i]);
}

static void put_name(kni_text *text, const wg_adapter_info *info)
{
    static const char *const backends[] = {
        [WG_BACKEND_D3D12] = "D3D12", [WG_BACKEND_METAL] = "Metal", [WG_BACKEND_VULKAN] = "Vulkan"};
    put_view(text, info->device);
    if (info->backend < KNI_COUNT(backends) && backends[info->backend])
        kni_text_format(text, " (WebGPU over %s)", backends[info->backend]);
}

/* Neither the number of processors nor the memory is told, only what kind of device it is. The first decides into how many parts a
   long sum is cut, the second how much freed memory is kept. */
static void describe(webgpu_port *p, const wg_adapter_info *info)
{
    kni_text text = {p->description, sizeof p->description, 0};
    put_name(&text, info);
    p->processors = info->kind == WG_ADAPTER_CPU ? 4 : info->kind == WG_ADAPTER_INTEGRATED ? 16 : 64;
    p->memory_bytes = INT64_C(4) << 30;
    p->pipelines = info->kind == WG_ADAPTER_CPU ? 128 : 4096;
}

static bool open_device(native *n, wg_adapter adapter)
{
    wg_limits limits;
    wg_adapter_info info;
    memset(&limits, 0, sizeof limits);
    memset(&info, 0, sizeof info);
    if (n->api->adapter_limits(adapter, &limits) != WG_SUCCESS) return false;
    limits.next = NULL;
    find_limits(&n->port, &limits);
    if (n->api->adapter_info(adapter, &info) == WG_SUCCESS) {
        describe(&n->port, &info);
        n->api->free_adapter_info(info);
    }
    /* All that the adapter has, since the least of the standard is little. */
    const wg_device_info wanted = {.limits = &limits,
                                   .lost = {.mode = WG_SPONTANEOUS, .call = on_lost, .to = &n->port},
                                   .error = {.call = on_error, .to = &n->port}};
    (void)n->api->request_device(adapter, &wanted,
                                 (wg_device_callback){.mode = WG_SPONTANEOUS, .call = take_device, .to = n});
    n->api->process_events(kni_webgpu_instance());
    if (n->device) n->queue = n->api->get_queue(n->device);
    return n->queue != NULL;
}

static wg_adapter find_adapter(const kni_webgpu_api *api, int32_t number)
{
    int32_t total = 0;
    wg_adapter adapter = kni_webgpu_adapter(api, number, &total);
    if (adapter) return adapter;
    if (total)
        (void)kni_fail(KN_ERROR_DEVICE, "there is no webgpu:%d: this machine has webgpu:0 to webgpu:%d",
                       number, total - 1);
    else
        (void)kni_fail(KN_ERROR_DEVICE,
                       "there is no webgpu:%d: the library of WebGPU is here but finds no adapter; install a "
                       "driver (Debian: apt install mesa-vulkan-drivers)",
                       number);
    return NULL;
}

webgpu_port *kni_webgpu_port_open(int32_t number)
{
    const char *why;
    const kni_webgpu_api *api = kni_webgpu_load(&why);
    if (!api) {
        (void)kni_fail(KN_ERROR_DEVICE, "webgpu:%d cannot be opened: %s", number, why);
        return NULL;
    }
    wg_adapter adapter = find_adapter(api, number);
    native *n = adapter ? kni_allocate(sizeof *n) : NULL;
    if (!n) {
        if (adapter) (void)kni_fail(KN_ERROR_MEMORY, "no memory to open webgpu:%d", number);
        if (adapter) api->release_adapter(adapter);
        return NULL;
    }
    memset(n, 0, sizeof *n);
    n->api = api;
    n->port.waits = true;
    bool good = open_device(n, adapter);
    api->release_adapter(adapter);
    if (good) return &n->port;
    (void)kni_fail(KN_ERROR_DEVICE, "webgpu:%d cannot be opened: %s", number,
                   n->port.error[0] ? n->port.error : "the adapter gives no device");
    kni_webgpu_port_close(&n->port);
    return NULL;
}

bool kni_webgpu_port_describe(int32_t number, char *text, size_t bytes)
{
    const char *why;
    const kni_webgpu_api *api = kni_webgpu_load(&why);
    wg_adapter adapter = api ? kni_webgpu_adapter(api, number, NULL) : NULL;
    wg_adapter_info info;
    if (!adapter) return false;
    memset(&info, 0, sizeof info);
    bool good = api->adapter_info(adapter, &info) == WG_SUCCESS;
    kni_text t = {text, bytes, 0};
    kni_text_format(&t, "webgpu:%d  ", number);
    if (good) put_name(&t, &info);
    if (good) api->free_adapter_info(info);
    api->release_adapter(adapter);
    return good;
}

/* ---- what is recorded */

static void end_pass(native *n)
{
    if (!n->pass) return;
    n->api->end_pass(n->pass);
    n->api->release_pass(n->pass);
    n->pass = NULL;
}

static wg_encoder encoder_of(native *n)
{
    if (!n->encoder) n->encoder = n->api->create_encoder(n->device, NULL);
    return n->encoder;
}

void kni_webgpu_submit(webgpu_port *p)
{
    native *n = native_of(p);
    if (!n->encoder) return;
    end_pass(n);
    /* What is wrong with it shows here, and wgpu-native ends the process where it is submitted all the same. */
    n->api->push_scope(n->device, WG_FILTER_VALIDATION);
    wg_commands commands = n->api->finish(n->encoder, NULL);
    bool good = end_scope(n, "");
    n->api->release_encoder(n->encoder);
    n->encoder = NULL;
    if (good && commands) n->api->submit(n->queue, 1, &commands);
    if (commands) n->api->release_commands(commands);
    /* So that what was freed is given back. */
    if (n->api->poll) (void)n->api->poll(n->device, 0, NULL);
}

void kni_webgpu_port_close(webgpu_port *p)
{
    native *n = native_of(p);
    if (n->encoder) {
        end_pass(n);
        n->api->release_encoder(n->encoder);
    }
    if (n->queue) n->api->release_queue(n->queue);
    if (n->device) {
        n->api->destroy_device(n->device);
        n->api->release_device(n->device);
    }
    kni_free(n, sizeof *n);
}

void kni_webgpu_record_copy(webgpu_port *p, webgpu_handle from, uint64_t from_offset, webgpu_handle to,
                            uint64_t to_offset, uint64_t bytes)
{
    native *n = native_of(p);
    end_pass(n);
    n->api->copy(encoder_of(n), (wg_buffer)from, from_offset, (wg_buffer)to, to_offset, bytes);
}

void kni_webgpu_record_clear(webgpu_port *p, webgpu_handle buffer, uint64_t offset, uint64_t bytes)
{
    native *n = native_of(p);
    end_pass(n);
    n->api->clear(encoder_of(n), (wg_buffer)buffer, offset, bytes);
}

/* ---- buffers */

static webgpu_handle make_buffer(native *n, uint64_t bytes, uint64_t usage)
{
    const wg_buffer_info info = {.usage = usage, .bytes = bytes};
    n->api->push_scope(n->device, WG_FILTER_MEMORY);
    wg_buffer buffer = n->api->create_buffer(n->device, &info);
    bool good = end_scope(n, NULL);
    if (buffer && good) return (webgpu_handle)buffer;
    if (buffer) n->api->release_buffer(buffer);
    return 0;
}

webgpu_handle kni_webgpu_buffer(webgpu_port *p, uint64_t bytes, bool numbers)
{
    return make_buffer(native_of(p), bytes,
                       WG_USE_COPY_FROM | WG_USE_COPY_TO | (numbers ? WG_USE_UNIFORM : WG_USE_STORAGE));
}

/* What still runs keeps it. */
void kni_webgpu_buffer_free(webgpu_port *p, webgpu_handle buffer)
{
    native_of(p)->api->release_buffer((wg_buffer)buffer);
}

void kni_webgpu_write(webgpu_port *p, webgpu_handle to, uint64_t offset, const void *from, size_t bytes)
{
    native *n = native_of(p);
    n->api->write(n->queue, (wg_buffer)to, offset, from, bytes);
}

void kni_webgpu_wait(webgpu_port *p)
{
    native *n = native_of(p);
    if (n->api->poll) (void)n->api->poll(n->device, 1, NULL);
}

/* ---- pipelines */

typedef struct pipeline {
    wg_pipeline pipeline;
    wg_group_layout layout;
} pipeline;

static wg_group_layout make_group_layout(native *n, const char *access)
{
    wg_layout_entry entries[WEBGPU_MAX_BUFFERS + 1];
    uint32_t count = (uint32_t)strlen(access);
    memset(entries, 0, sizeof entries);
    for (uint32_t i = 0; i <= count; i++) {
        entries[i].binding = i;
        entries[i].visibility = WG_STAGE_COMPUTE;
        entries[i].buffer.kind = i == count         ? WG_BINDING_UNIFORM
                                 : access[i] == 'r' ? WG_BINDING_READ_ONLY
                                                    : WG_BINDING_STORAGE;
        entries[i].buffer.dynamic = i == count;
    }
    const wg_group_layout_info info = {.n_entries = count + 1, .entries = entries};
    return n->api->create_group_layout(n->device, &info);
}

static wg_text view(const char *text) { return (wg_text){text, strlen(text)}; }

static bool make_pipeline(native *n, const webgpu_kernel_text *k, pipeline *made)
{
    wg_wgsl source = {.chain = {NULL, WG_IS_WGSL}, .text = {k->text, k->bytes}};
    const wg_module_info info = {.next = &source.chain, .label = view(k->entry)};
    const wg_constant width = {.name = view("width"), .value = k->width};
    wg_module module = n->api->create_module(n->device, &info);
    made->layout = module ? make_group_layout(n, k->access) : NULL;
    const wg_layout_info layout_info = {.n_groups = 1, .groups = &made->layout};
    wg_layout layout = made->layout ? n->api->create_layout(n->device, &layout_info) : NULL;
    const wg_pipeline_info wanted = {.label = view(k->entry),
                                     .layout = layout,
                                     .module = module,
                                     .entry = view(k->entry),
                                     .n_constants = k->width != 0,
                                     .constants = k->width ? &width : NULL};
    if (layout) made->pipeline = n->api->create_pipeline(n->device, &wanted);
    if (layout) n->api->release_layout(layout);
    if (module) n->api->release_module(module);
    return made->pipeline != NULL;
}

static void release_pipeline(native *n, pipeline *made)
{
    if (made->pipeline) n->api->release_pipeline(made->pipeline);
    if (made->layout) n->api->release_group_layout(made->layout);
    kni_free(made, sizeof *made);
}

webgpu_handle kni_webgpu_pipeline(webgpu_port *p, const webgpu_kernel_text *k)
{
    native *n = native_of(p);
    pipeline *made = kni_allocate(sizeof *made);
    if (!made) {
        (void)kni_fail(KN_ERROR_MEMORY, "no memory for a kernel");
        return 0;
    }
    memset(made, 0, sizeof *made);
    n->api->push_scope(n->device, WG_FILTER_VALIDATION);
    bool good = make_pipeline(n, k, made);
    good = end_scope(n, "") && good;
    if (good) return (webgpu_handle)made;
    release_pipeline(n, made);
    (void)kni_fail(KN_ERROR_INTERNAL,
                   "WebGPU does not compile the kernel %s: %s; kn_kernel_text shows the text of a kernel of "
                   "yours, and \"cpu\" runs it without a driver",
                   k->entry, p->error[0] ? p->error : "it gives no reason");
    p->error[0] = 0;
    return 0;
}

void kni_webgpu_pipeline_free(webgpu_port *p, webgpu_handle handle)
{
    release_pipeline(native_of(p), (pipeline *)handle);
}

void kni_webgpu_record_dispatch(webgpu_port *p, const webgpu_dispatch *d)
{
    native *n = native_of(p);
    const pipeline *k = (const pipeline *)d->pipeline;
    wg_group_entry entries[WEBGPU_MAX_BUFFERS + 1];
    memset(entries, 0, sizeof entries);
    for (uint32_t i = 0; i <= d->n_buffers; i++) {
        bool last = i == d->n_buffers;
        entries[i].binding = i;
        entries[i].buffer = (wg_buffer)(last ? d->numbers : d->buffers[i]);
        entries[i].bytes = last ? d->numbers_bytes : UINT64_MAX; /* the whole */
    }
    const wg_group_info info = {.layout = k->layout, .n_entries = d->n_buffers + 1, .entries = entries};
    wg_group group = n->api->create_group(n->device, &info);
    if (!group) return;
    if (!n->pass) n->pass = n->api->begin_pass(encoder_of(n), NULL);
    n->api->set_pipeline(n->pass, k->pipeline);
    n->api->set_group(n->pass, 0, group, 1, &d->numbers_offset);
    n->api->dispatch(n->pass, d->groups[0], d->groups[1], d->groups[2]);
    n->api->release_group(group);
}

/* ---- reading */

typedef struct reading {
    webgpu_handle buffer;
    uint64_t bytes;
    webgpu_state state;
    webgpu_port *port;
} reading;

static void on_mapped(uint32_t status, wg_text message, void *to, void *also)
{
    reading *r = to;
    (void)also;
    r->state = status == WG_SUCCESS ? WEBGPU_THERE : WEBGPU_FAILED;
    if (status != WG_SUCCESS) note(r->port, "reading failed: ", message);
}

webgpu_handle kni_webgpu_read(webgpu_port *p, webgpu_handle from, uint64_t offset, uint64_t bytes)
{
    native *n = native_of(p);
    reading *r = kni_allocate(sizeof *r);
    if (!r) return 0;
    *r = (reading){
        .buffer = make_buffer(n, bytes, WG_USE_MAP_READ | WG_USE_COPY_TO), .bytes = bytes, .port = p};
    if (!r->buffer) {
        kni_free(r, sizeof *r);
        return 0;
    }
    kni_webgpu_record_copy(p, from, offset, r->buffer, 0, bytes);
    kni_webgpu_submit(p);
    (void)n->api->map((wg_buffer)r->buffer, WG_MAP_READ, 0, bytes,
                      (wg_done_callback){.mode = WG_SPONTANEOUS, .call = on_mapped, .to = r});
    return (webgpu_handle)r;
}

webgpu_state kni_webgpu_read_state(webgpu_port *p, webgpu_handle read)
{
    enum { PAUSE_US = 50 };
    native *n = native_of(p);
    const reading *r = (const reading *)read;
    if (r->state != WEBGPU_PENDING) return r->state;
    if (n->api->poll) {
        (void)n->api->poll(n->device, 1, NULL);
    } else {
        n->api->process_events(kni_webgpu_instance());
        if (r->state == WEBGPU_PENDING) pause_us(PAUSE_US);
    }
    return r->state == WEBGPU_PENDING && p->lost ? WEBGPU_FAILED : r->state;
}

void kni_webgpu_read_end(webgpu_port *p, webgpu_handle read, void *to, size_t skip, size_t bytes)
{
    native *n = native_of(p);
    reading *r = (reading *)read;
    wg_buffer buffer = (wg_buffer)r->buffer;
    if (r->state == WEBGPU_PENDING) {
        /* Nobody waits for it any more, and it must not come later. */
        n->api->destroy_buffer(buffer);
        n->api->process_events(kni_webgpu_instance());
    }
    if (r->state == WEBGPU_THERE) {
        const char *from = n->api->mapped(buffer, 0, r->bytes);
        if (to && from) memcpy(to, from + skip, bytes);
        n->api->unmap(buffer);
    }
    n->api->release_buffer(buffer);
    kni_free(r, sizeof *r);
}
#else
typedef int kni_webgpu_no_native;
#endif
