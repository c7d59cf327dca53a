/* Kernels: texts compiled for the device's own architecture, kept on disk, loaded, launched and recorded. */
#include "backend/runtime/runtime_ahead.h"
#include "core/allocator.h"
#include "core/error.h"
#include "core/platform.h"
#include "core/text.h"
#include "support/disk_cache.h"
#include <kn/tensor.h>
#include <string.h>

enum { GRID_MOST_X = 0x7fffffff, GRID_MOST_YZ = 65535 };

/* What compilers call the text in their messages. */
#define KERNEL_FILE "kernel.cu"

/* ---- the failure of a text that does not compile */

static const char *line_of_text(const char *text, int64_t number, size_t *length)
{
    for (; number > 1 && text; number--) {
        text = strchr(text, '\n');
        if (text) text++;
    }
    *length = text ? strcspn(text, "\n") : 0;
    return text;
}

/* The first number between brackets or colons, as after the file's name, which is the compiler's own in some versions; 0 where
   there is none. */
static int64_t number_of_line(const char *line)
{
    for (; *line; line++) {
        if (*line != '(' && *line != ':') continue;
        const char *p = line + 1;
        int64_t number = 0;
        for (; *p >= '0' && *p <= '9' && number < 1000000; p++) number = number * 10 + (*p - '0');
        if (p > line + 1 && (*p == ')' || *p == ':')) return number;
    }
    return 0;
}

/* The first error of the log, "kernel.cu(12): error: ..." or "kernel.cu:12:5: error: ...", with the line of the text that it
   speaks of. */
static kn_status fail_compile(kni_runtime *rt, const char *entry, const char *text, char *log)
{
    char *error = strstr(log, "error");
    char *start = error ? error : log;
    while (start > log && start[-1] != '\n') start--;
    char *end = strchr(start, '\n');
    if (end) *end = 0;
    int64_t number = number_of_line(start);
    char line[160] = "";
    size_t length = 0;
    const char *found = number ? line_of_text(text, number, &length) : NULL;
    if (found) {
        if (length >= sizeof line) length = sizeof line - 1;
        memcpy(line, found, length);
        line[length] = 0;
    }
    if (!found)
        return kni_fail(KN_ERROR_INTERNAL, "%s: the kernel %s does not compile: %s", rt->name, entry, start);
    return kni_fail(KN_ERROR_INTERNAL, "%s: the kernel %s does not compile: %s; line %D is: %s", rt->name,
                    entry, start, number, line);
}

static kn_status tell_log(kni_runtime *rt, const kni_runtime_options *o, void *program, const char *entry,
                          const char *text)
{
    size_t bytes = 0;
    char *log = NULL;
    if (!o->compiler->log_bytes(program, &bytes) && bytes > 1) log = kni_allocate(bytes + 1);
    if (!log || o->compiler->log(program, log)) {
        if (log) kni_free(log, bytes + 1);
        return kni_fail(KN_ERROR_INTERNAL, "%s: the kernel %s does not compile, and %s does not say why",
                        rt->name, entry, rt->kind->compiler);
    }
    log[bytes] = 0;
    kn_status status = fail_compile(rt, entry, text, log);
    kni_free(log, bytes + 1);
    return status;
}

/* ---- from text to image */

static void *take_image(const kni_runtime_options *o, void *program, size_t *bytes)
{
    int result = o->code_bytes(program, bytes);
    char *image = result || !*bytes ? NULL : kni_allocate(*bytes);
    if (!image || !o->code(program, image)) return image;
    kni_free(image, *bytes);
    return NULL;
}

static void *compile_text(kni_runtime *rt, const kni_runtime_options *o, const char *text, const char *entry,
                          size_t *bytes)
{
    void *program = NULL, *image = NULL;
    if (o->compiler->create(&program, text, KERNEL_FILE, 0, NULL, NULL)) {
        kni_fail(KN_ERROR_MEMORY, "%s: %s has no memory for the kernel %s", rt->name, rt->kind->compiler,
                 entry);
        return NULL;
    }
    if (o->compiler->compile(program, o->n, o->list))
        tell_log(rt, o, program, entry, text);
    else if (!(image = take_image(o, program, bytes)))
        kni_fail(KN_ERROR_MEMORY, "%s: no memory for the compiled kernel %s", rt->name, entry);
    (void)o->compiler->destroy(&program);
    return image;
}

void *kni_runtime_compile_silently(const kni_runtime_options *o, const char *text, size_t *bytes)
{
    void *program = NULL, *image = NULL;
    if (o->compiler->create(&program, text, KERNEL_FILE, 0, NULL, NULL)) return NULL;
    if (!o->compiler->compile(program, o->n, o->list)) image = take_image(o, program, bytes);
    (void)o->compiler->destroy(&program);
    return image;
}

char *kni_runtime_key(const kni_runtime *rt, const kni_runtime_options *o, const char *text,
                      const char *entry, size_t *bytes)
{
    int driver = 0, major = 0, minor = 0;
    (void)rt->api->driver_version(&driver);
    (void)o->compiler->version(&major, &minor);
    *bytes = strlen(text) + strlen(entry) + 320;
    char *key = kni_allocate(*bytes);
    if (!key) return NULL;
    memset(key, 0, *bytes);
    kni_text line = {key, *bytes, 0};
    kni_text_format(&line, "kiln %d.%d.%d driver %d compiler %d.%d", (int32_t)KN_VERSION_MAJOR,
                    (int32_t)KN_VERSION_MINOR, (int32_t)KN_VERSION_PATCH, (int32_t)driver, (int32_t)major,
                    (int32_t)minor);
    for (int i = 0; i < o->n; i++) kni_text_format(&line, " %s", o->list[i]);
    kni_text_format(&line, " %s\n", entry);
    kni_text_string(&line, text);
    return key;
}

static int load(kni_runtime *rt, kni_module *m, const void *image, const char *entry)
{
    int value = 0;
    int result = rt->api->module_load(&m->module, image);
    if (result) {
        m->module = NULL;
        return result;
    }
    result = rt->api->module_function(&m->function, m->module, entry);
    /* Asking for an attribute also loads the code, which must not happen later, inside a recording. */
    if (!result) result = rt->api->function_attribute(&value, KNI_RT_FUNCTION_THREADS, m->function);
    m->threads_most = (uint32_t)value;
    if (!result) result = rt->api->function_attribute(&value, KNI_RT_FUNCTION_SHARED, m->function);
    m->shared_static = (uint32_t)value;
    if (result) {
        (void)rt->api->module_unload(m->module);
        m->module = NULL;
    }
    return result;
}

static kn_status compile_into(kni_runtime *rt, kni_module *m, const char *text, const char *entry)
{
    kni_runtime_options o = {.n = 0};
    kn_status status = rt->kind->options(rt, &o);
    if (status) return status;
    size_t key_bytes = 0;
    char *key = kni_runtime_key(rt, &o, text, entry, &key_bytes);
    if (!key) return kni_fail(KN_ERROR_MEMORY, "%s: no memory to compile the kernel %s", rt->name, entry);
    kni_runtime_image image = {.bytes = 0};
    bool ahead = kni_runtime_ahead_take(rt, key, key_bytes, &image);
    if (!ahead) (void)kni_disk_cache_get(rt->kind->device, key, key_bytes, &image.kept);
    /* An entry that does not load, for whatever reason, is written anew. */
    if (image.kept.data && !load(rt, m, image.kept.data, entry)) {
        rt->driver.loaded++;
    } else {
        if (!image.data) image.data = compile_text(rt, &o, text, entry, &image.bytes);
        status = image.data ? kni_runtime_result(rt, load(rt, m, image.data, entry), "loading a kernel")
                            : kni_latest_code();
        if (!status) kni_disk_cache_put(rt->kind->device, key, key_bytes, image.data, image.bytes);
    }
    kni_runtime_image_free(&image);
    kni_free(key, key_bytes);
    return status;
}

kni_module *kni_runtime_compile(kni_driver *d, const char *text, size_t bytes, const char *entry)
{
    (void)bytes;
    kni_runtime *rt = kni_runtime_of(d);
    if (kni_runtime_enter(rt)) return NULL;
    kni_module *m = kni_allocate(sizeof *m);
    if (!m) {
        kni_fail(KN_ERROR_MEMORY, "%s: no memory for the kernel %s", rt->name, entry);
        return NULL;
    }
    memset(m, 0, sizeof *m);
    kni_text name = {m->name, sizeof m->name, 0};
    kni_text_string(&name, entry);
    if (compile_into(rt, m, text, entry)) {
        kni_free(m, sizeof *m);
        return NULL;
    }
    return m;
}

void kni_runtime_unload(kni_driver *d, kni_module *m)
{
    kni_runtime *rt = kni_runtime_of(d);
    if (!m) return;
    /* Unloading waits for launches of it; what failed is freed with the context. */
    if (!rt->lost && !kni_runtime_enter(rt)) (void)rt->api->module_unload(m->module);
    kni_free(m, sizeof *m);
}

/* ---- launches */

static kn_status allow_shared(kni_runtime *rt, kni_module *m, uint32_t bytes)
{
    if (bytes <= m->shared_dynamic || bytes + m->shared_static <= rt->driver.caps.shared_bytes) return KN_OK;
    if (bytes + m->shared_static > rt->shared_most || !rt->api->function_set)
        return kni_fail(KN_ERROR_INTERNAL,
                        "%s: a kernel asks for %u bytes of shared memory; a workgroup has %u", rt->name,
                        bytes + m->shared_static, rt->shared_most);
    kn_status status =
        kni_runtime_result(rt, rt->api->function_set(m->function, KNI_RT_FUNCTION_DYNAMIC, (int)bytes),
                           "asking for shared memory");
    if (!status) m->shared_dynamic = bytes;
    return status;
}

kn_status kni_runtime_launch_arguments(kni_runtime *rt, kni_module *m, const kni_launch_shape *shape,
                                       void **arguments)
{
    const uint32_t *g = shape->groups;
    if (!g[0] || !g[1] || !g[2]) return KN_OK;
    if (!shape->workgroup || shape->workgroup > m->threads_most)
        return kni_fail(KN_ERROR_INTERNAL,
                        "%s: a kernel of at most %u invocations in a workgroup is launched with %u", rt->name,
                        m->threads_most, shape->workgroup);
    uint64_t items = (uint64_t)g[0] * shape->workgroup, most = rt->kind->most_items;
    if (g[0] > GRID_MOST_X || g[1] > GRID_MOST_YZ || g[2] > GRID_MOST_YZ || (most && items > most))
        return kni_fail(KN_ERROR_INTERNAL,
                        "%s: a launch of %u x %u x %u workgroups is more than the device takes", rt->name,
                        g[0], g[1], g[2]);
    kn_status status = allow_shared(rt, m, shape->shared_bytes);
    if (status) return status;
    bool timed = kni_runtime_profile_begin(rt);
    status = kni_runtime_result(rt,
                                rt->api->launch(m->function, g[0], g[1], g[2], shape->workgroup, 1, 1,
                                                shape->shared_bytes, rt->stream, arguments, NULL),
                                "launching a kernel");
    if (timed) kni_runtime_profile_end(rt, m->name);
    return status;
}

kn_status kni_runtime_launch(kni_driver *d, kni_module *m, const kni_launch_shape *shape,
                             void *const *buffers, uint32_t n_buffers, const void *params,
                             uint32_t param_bytes)
{
    kni_runtime *rt = kni_runtime_of(d);
    void *arguments[KNI_RUNTIME_ARGUMENTS];
    kn_status status = kni_runtime_enter(rt);
    if (status) return status;
    if (n_buffers > KNI_RUNTIME_ARGUMENTS - 1)
        return kni_fail(KN_ERROR_INTERNAL, "%s: a kernel with %u buffers is more than a launch takes",
                        rt->name, n_buffers);
    /* The driver copies what the pointers point to; a buffer is its address, which is what `memory` is. */
    for (uint32_t i = 0; i < n_buffers; i++) arguments[i] = (void *)(uintptr_t)&buffers[i];
    if (params && param_bytes) arguments[n_buffers] = (void *)(uintptr_t)params;
    kni_runtime_record_before(rt);
    status = kni_runtime_launch_arguments(rt, m, shape, arguments);
    if (KNI_UNLIKELY(rt->recording)) kni_runtime_record_launch(rt, m, shape, buffers, n_buffers, param_bytes);
    return status;
}
