/* Kernels of the Metal driver: pipelines from MSL, which the system itself keeps compiled between runs, and their launches. */
#include "backend/metal/metal_driver.h"
#include "core/allocator.h"
#include "core/error.h"
#include "core/text.h"
#include <string.h>

struct kni_module {
    metal_id pipeline;
    uint64_t most_threads; /* of a workgroup */
    char entry[48];
};

/* ---- compiling */

static kn_status refused(const metal *m, const char *entry, metal_id error)
{
    char words[600];
    kni_metal_words(m->api, error, words, sizeof words);
    return kni_fail(
        KN_ERROR_INTERNAL,
        "%s: the driver does not compile the kernel %s: %s; kn_kernel_text shows the text of a kernel of "
        "yours, and \"cpu\" runs it without a driver",
        m->spec, entry, words);
}

/* The entry of the text; NULL after a failure. */
static metal_id function_of(metal *m, const char *text, const char *entry)
{
    const kni_metal_api *a = m->api;
    metal_id source = kni_metal_text(a, text), name = kni_metal_text(a, entry), error = NULL, function = NULL;
    if (!source || !name) {
        (void)kni_fail(KN_ERROR_MEMORY, "%s: no memory for a kernel", m->spec);
    } else {
        metal_id library = a->get_library(m->device, a->s.new_library, source, m->options, &error);
        function = library ? a->get_of(library, a->s.new_function, name) : NULL;
        if (!function) (void)refused(m, entry, library ? NULL : error);
        kni_metal_release(a, library);
    }
    kni_metal_release(a, source);
    kni_metal_release(a, name);
    return function;
}

static metal_id pipeline_of(metal *m, const char *text, const char *entry)
{
    const kni_metal_api *a = m->api;
    void *pool = a->push_pool();
    metal_id error = NULL, function = function_of(m, text, entry), pipeline = NULL;
    if (function) {
        pipeline = a->get_pipeline(m->device, a->s.new_pipeline, function, &error);
        if (!pipeline) (void)refused(m, entry, error);
    }
    kni_metal_release(a, function);
    a->pop_pool(pool);
    return pipeline;
}

void kni_metal_free_module(metal *m, kni_module *module)
{
    if (!module) return;
    kni_metal_release(m->api, module->pipeline);
    kni_free(module, sizeof *module);
}

kni_module *kni_metal_compile(kni_driver *d, const char *text, size_t bytes, const char *entry)
{
    metal *m = kni_metal_of(d);
    const kni_metal_api *a = m->api;
    (void)bytes;
    kni_module *module = kni_allocate(sizeof *module);
    if (!module) {
        (void)kni_fail(KN_ERROR_MEMORY, "%s: no memory for a kernel", m->spec);
        return NULL;
    }
    *module = (kni_module){.pipeline = pipeline_of(m, text, entry)};
    kni_text name = {module->entry, sizeof module->entry, 0};
    kni_text_string(&name, entry);
    if (!module->pipeline) {
        kni_free(module, sizeof *module);
        return NULL;
    }
    module->most_threads = a->get_number(module->pipeline, a->s.most_threads);
    /* Kernels were written for subgroups of one size. */
    uint64_t width = a->get_number(module->pipeline, a->s.width);
    if (!d->caps.subgroups || width == d->caps.subgroup) return module;
    (void)kni_fail(KN_ERROR_UNSUPPORTED,
                   "%s: the kernel %s runs in SIMD groups of %D, not of %u: set KN_CAPS=no-subgroups",
                   m->spec, entry, (int64_t)width, d->caps.subgroup);
    kni_metal_free_module(m, module);
    return NULL;
}

/* A command buffer holds the pipelines that it uses. */
void kni_metal_unload(kni_driver *d, kni_module *module) { kni_metal_free_module(kni_metal_of(d), module); }

/* ---- launches */

kn_status kni_metal_launch(kni_driver *d, kni_module *module, const kni_launch_shape *shape,
                           void *const *buffers, uint32_t n_buffers, const void *params, uint32_t param_bytes)
{
    metal *m = kni_metal_of(d);
    const kni_metal_api *a = m->api;
    uint64_t at;
    if (!shape->groups[0] || !shape->groups[1] || !shape->groups[2]) return KN_OK;
    if (shape->workgroup > module->most_threads)
        return kni_fail(KN_ERROR_UNSUPPORTED,
                        "%s: the kernel %s needs %u invocations in a workgroup, %D is the most", m->spec,
                        module->entry, shape->workgroup, (int64_t)module->most_threads);
    if (n_buffers > METAL_MAX_BUFFERS)
        return kni_fail(KN_ERROR_INTERNAL, "%s: the kernel %s was given %u buffers, %d is the most", m->spec,
                        module->entry, n_buffers, (int)METAL_MAX_BUFFERS);
    bool large = param_bytes > METAL_MOST_SET_BYTES;
    metal_frame *f = kni_metal_frame(m, METAL_COMPUTING, large ? param_bytes : 0, &at);
    if (!f) return kni_metal_no_frame(m);
    a->tell_of(m->encoder, a->s.set_pipeline, module->pipeline);
    for (uint32_t i = 0; i < n_buffers; i++) {
        const metal_memory *memory = buffers[i];
        a->tell_buffer(m->encoder, a->s.set_buffer, memory->buffer, memory->offset, i);
    }
    if (large) {
        memcpy(f->mapped + at, params, param_bytes);
        a->tell_buffer(m->encoder, a->s.set_buffer, f->staging, at, n_buffers);
    } else if (param_bytes) {
        a->tell_bytes(m->encoder, a->s.set_bytes, params, param_bytes, n_buffers);
    }
    a->tell_sizes(m->encoder, a->s.dispatch,
                  (metal_size){shape->groups[0], shape->groups[1], shape->groups[2]},
                  (metal_size){shape->workgroup, 1, 1});
    return KN_OK;
}

/* ---- bytes */

#define BYTES_TEXT                                                                                           \
    "#include <metal_stdlib>\n"                                                                              \
    "struct kn_span {\n    uint64_t to, from, bytes;\n};\n"                                                  \
    "kernel void kn_copy_bytes(device uint8_t *to [[buffer(0)]], device const uint8_t *from [[buffer(1)]], " \
    "constant kn_span &p [[buffer(2)]], uint3 at [[threadgroup_position_in_grid]], "                         \
    "uint3 member [[thread_position_in_threadgroup]])\n"                                                     \
    "{\n    const uint64_t i = (uint64_t)at.x * 128 + member.x;\n"                                           \
    "    if (i < p.bytes) to[p.to + i] = from[p.from + i];\n}\n"                                             \
    "kernel void kn_clear_bytes(device uint8_t *to [[buffer(0)]], constant kn_span &p [[buffer(1)]], "       \
    "uint3 at [[threadgroup_position_in_grid]], uint3 member [[thread_position_in_threadgroup]])\n"          \
    "{\n    const uint64_t i = (uint64_t)at.x * 128 + member.x;\n"                                           \
    "    if (i < p.bytes) to[p.to + i] = 0;\n}\n"

typedef struct span {
    uint64_t to, from, bytes;
} span;

/* The numbers tell where the bytes lie, since offsets of bindings are those of words at least. */
kn_status kni_metal_encode_bytes(metal *m, metal_id to, uint64_t to_offset, metal_id from,
                                 uint64_t from_offset, uint64_t bytes)
{
    const kni_metal_api *a = m->api;
    kni_module **module = from ? &m->copy_bytes : &m->clear_bytes;
    const span numbers = {to_offset, from_offset, bytes};
    if (!*module)
        *module = kni_metal_compile(&m->driver, BYTES_TEXT, sizeof BYTES_TEXT - 1,
                                    from ? "kn_copy_bytes" : "kn_clear_bytes");
    if (!*module) return KN_ERROR_INTERNAL;
    a->tell_of(m->encoder, a->s.set_pipeline, (*module)->pipeline);
    a->tell_buffer(m->encoder, a->s.set_buffer, to, 0, 0);
    if (from) a->tell_buffer(m->encoder, a->s.set_buffer, from, 0, 1);
    a->tell_bytes(m->encoder, a->s.set_bytes, &numbers, sizeof numbers, from ? 2 : 1);
    a->tell_sizes(m->encoder, a->s.dispatch, (metal_size){(bytes + 127) / 128, 1, 1},
                  (metal_size){128, 1, 1});
    return KN_OK;
}
