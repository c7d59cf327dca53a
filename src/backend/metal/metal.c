/* The Metal device: opening it, what it can do, and the table of the driver's functions. */
#include "backend/metal/metal_driver.h"
#include "core/allocator.h"
#include "core/error.h"
#include "core/text.h"
#include <string.h>

/* ---- failures */

void kni_metal_words(const kni_metal_api *a, metal_id error, char *text, size_t bytes)
{
    void *pool = a->push_pool();
    metal_id description = error ? a->get(error, a->s.description) : NULL;
    const char *words = description ? a->get_characters(description, a->s.characters) : NULL;
    kni_text t = {text, bytes, 0};
    text[0] = 0;
    for (const char *c = words ? words : "Metal says nothing"; *c; c++)
        kni_text_char(&t, *c == '\n' || *c == '\r' ? ' ' : *c);
    if (error) kni_text_format(&t, " (%D)", (int64_t)a->get_number(error, a->s.code));
    a->pop_pool(pool);
}

kn_status kni_metal_failed(const metal *m, kn_status status, const char *what, metal_id error)
{
    char words[200];
    kni_metal_words(m->api, error, words, sizeof words);
    return kni_fail(status, "%s: %s failed: %s", m->spec, what, words);
}

kn_status kni_metal_gone(const metal *m)
{
    return kni_fail(KN_ERROR_DEVICE, "%s: a command buffer failed, and what it computed is lost: %s", m->spec,
                    m->lost_text);
}

/* ---- what the device is and has */

static void find_caps(metal *m)
{
    enum { MOST_SHARED = 32 << 10, MOST_WORKGROUP = 1024, APPLE_LANES = 32 };
    const kni_metal_api *a = m->api;
    kni_ir_caps *c = &m->driver.caps;
    uint64_t shared = a->get_number(m->device, a->s.shared_bytes);
    /* SIMD groups of other makers' GPUs have sizes of their own, some by the kernel. */
    c->subgroups = a->get_truth_of(m->device, a->s.family, METAL_APPLE_6);
    c->dialect = KNI_IR_METAL;
    c->i64 = true;
    c->half_storage = true;
    c->atomics = true;
    c->subgroup = c->subgroups ? APPLE_LANES : 1;
    c->max_workgroup = MOST_WORKGROUP;
    c->shared_bytes = shared < MOST_SHARED ? (uint32_t)shared : MOST_SHARED;
    c->vector_bytes = 16;
    c->max_buffers = METAL_MAX_BUFFERS;
    c->param_bytes = METAL_PARAM_BYTES;
}

static void write_name(const kni_metal_api *a, metal_id device, kni_text *t)
{
    void *pool = a->push_pool();
    metal_id name = a->get(device, a->s.name);
    const char *words = name ? a->get_characters(name, a->s.characters) : NULL;
    kni_text_format(t, "%s, %s memory", words ? words : "a GPU",
                    a->get_truth(device, a->s.unified) ? "unified" : "its own");
    a->pop_pool(pool);
}

/* Metal does not tell how many cores a GPU has. The number decides into how many parts a long sum is cut. */
static void describe(metal *m)
{
    const kni_metal_api *a = m->api;
    kni_text text = {m->driver.description, sizeof m->driver.description, 0};
    write_name(a, m->device, &text);
    m->driver.processors = a->get_truth(m->device, a->s.unified) ? 16 : 32;
    m->most_buffer = a->get_number(m->device, a->s.most_buffer);
    m->driver.memory_bytes = (int64_t)a->get_number(m->device, a->s.working_set);
}

/* Products and sums are not joined, NaN and infinities are themselves: by the older switch and, where it is there, the newer one. */
static void find_options(metal *m)
{
    const kni_metal_api *a = m->api;
    metal_id kind = a->find_class("MTLCompileOptions"), made = kind ? a->get(kind, a->s.alloc) : NULL;
    m->options = made ? a->get(made, a->s.init) : NULL;
    if (!m->options) return;
    a->tell_number(m->options, a->s.fast_math, 0);
    if (a->get_truth_named(m->options, a->s.responds, a->s.math_mode))
        a->tell_number(m->options, a->s.math_mode, METAL_SAFE_MATH);
    if (a->get_truth_named(m->options, a->s.responds, a->s.math_functions))
        a->tell_number(m->options, a->s.math_functions, METAL_PRECISE_MATH);
}

/* ---- opening */

static void close_driver(kni_driver *d)
{
    metal *m = kni_metal_of(d);
    kni_metal_frames_close(m);
    kni_metal_free_module(m, m->copy_bytes);
    kni_metal_free_module(m, m->clear_bytes);
    kni_metal_free_slabs(m);
    kni_metal_release(m->api, m->options);
    kni_metal_release(m->api, m->queue);
    kni_metal_release(m->api, m->device);
    kni_free(m, sizeof *m);
}

static const kni_driver functions = {.allocate = kni_metal_allocate,
                                     .free = kni_metal_free,
                                     .upload = kni_metal_upload,
                                     .download = kni_metal_download,
                                     .copy = kni_metal_copy,
                                     .fill_zero = kni_metal_fill_zero,
                                     .sync = kni_metal_sync,
                                     .compile = kni_metal_compile,
                                     .unload = kni_metal_unload,
                                     .launch = kni_metal_launch,
                                     .close = close_driver};

static kni_driver *open_driver(const kni_metal_api *api, metal_id device, int32_t number)
{
    metal *m = kni_allocate(sizeof *m);
    if (!m) {
        kni_metal_release(api, device);
        (void)kni_fail(KN_ERROR_MEMORY, "no memory to open metal:%d", number);
        return NULL;
    }
    memset(m, 0, sizeof *m);
    m->api = api;
    m->device = device;
    m->driver = functions;
    kni_text text = {m->spec, sizeof m->spec, 0};
    kni_text_format(&text, "metal:%d", number);
    m->driver.name = m->spec;
    m->driver.self = m;
    void *pool = api->push_pool();
    find_caps(m);
    describe(m);
    find_options(m);
    m->queue = api->get(device, api->s.new_queue);
    kn_status s = KN_OK;
    if (!m->options || !m->queue)
        s = kni_metal_failed(m, KN_ERROR_DEVICE, "making a command queue and the compiler's options", NULL);
    if (s == KN_OK) s = kni_metal_frames_open(m);
    api->pop_pool(pool);
    if (s == KN_OK) return &m->driver;
    close_driver(&m->driver);
    return NULL;
}

static kni_driver *open_number(int32_t number)
{
    const char *why;
    const kni_metal_api *api = kni_metal_load(&why);
    int32_t total = 0;
    if (!api) {
        (void)kni_fail(KN_ERROR_DEVICE, "metal:%d cannot be opened: %s", number, why);
        return NULL;
    }
    metal_id device = kni_metal_device(api, number, &total);
    if (device) return open_driver(api, device, number);
    if (total)
        (void)kni_fail(KN_ERROR_DEVICE, "there is no metal:%d: this machine has metal:0 to metal:%d", number,
                       total - 1);
    else
        (void)kni_fail(
            KN_ERROR_DEVICE,
            "there is no metal:%d: Metal is here but finds no GPU of the families Apple 6 or Mac 2 (in a "
            "virtual machine there is often none); use \"cpu\"",
            number);
    return NULL;
}

bool kni_metal_describe(int32_t n, char *text, size_t bytes)
{
    const char *why;
    const kni_metal_api *api = kni_metal_load(&why);
    metal_id device = api ? kni_metal_device(api, n, NULL) : NULL;
    if (!device) return false;
    kni_text t = {text, bytes, 0};
    kni_text_format(&t, "metal:%d  ", n);
    write_name(api, device, &t);
    kni_metal_release(api, device);
    return true;
}

kn_backend *kni_metal_open(const char *argument, kn_backend *const *inner, int32_t n_inner)
{
    (void)inner;
    return kni_gpu_open_numbered("metal", argument, n_inner, open_number);
}
