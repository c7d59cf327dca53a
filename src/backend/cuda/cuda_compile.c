/* Kernels: texts compiled by NVRTC for the device's own architecture, kept on disk, loaded, launched and recorded. */
#include "backend/cuda/cuda_driver.h"
#include "core/allocator.h"
#include "core/error.h"
#include "core/platform.h"
#include "core/text.h"
#include "support/disk_cache.h"
#include <kn/tensor.h>
#include <string.h>

enum { GRID_MOST_X = 0x7fffffff, GRID_MOST_YZ = 65535 };

/* The options; the first one is the architecture. Products and sums stay apart, as on every other device. */
typedef struct options {
    char architecture[48];
    const char *list[3];
    bool native; /* machine code for this device; else PTX that the driver compiles */
} options;

/* From 9.0 on the code may use what exists on this very architecture only (sm_90a), which suits code that is compiled
   where it runs. An NVRTC that is older than the device writes PTX for the newest it knows. */
static kn_status choose_options(kni_cuda *c, const kni_cuda_compiler_api *nvrtc, options *o)
{
    enum { MOST = 64 };
    int list[MOST], count = 0, own = c->major * 10 + c->minor, best = 0;
    if (nvrtc->arch_count(&count) || count < 1 || count > MOST || nvrtc->arch_list(list))
        return kni_fail(KN_ERROR_UNSUPPORTED, "%s: NVRTC does not say what it compiles for: update it",
                        c->name);
    for (int i = 0; i < count; i++)
        if (list[i] <= own && list[i] > best) best = list[i];
    if (!best)
        return kni_fail(
            KN_ERROR_UNSUPPORTED,
            "%s: this NVRTC no longer compiles for compute capability %d.%d: install an older one", c->name,
            (int32_t)c->major, (int32_t)c->minor);
    kni_text text = {o->architecture, sizeof o->architecture, 0};
    o->native = best == own;
    kni_text_format(&text, "--gpu-architecture=%s_%d%s", o->native ? "sm" : "compute", (int32_t)best,
                    o->native && own >= 90 ? "a" : "");
    o->list[0] = o->architecture;
    o->list[1] = "--fmad=false";
    o->list[2] = "--device-as-default-execution-space";
    return KN_OK;
}

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

/* The first error of the log, "kernel.cu(12): error: ...", with the line of the text that it speaks of. */
static kn_status fail_compile(kni_cuda *c, const char *entry, const char *text, char *log)
{
    static const char file[] = "kernel.cu(";
    char *error = strstr(log, "error");
    char *start = error ? error : log;
    while (start > log && start[-1] != '\n') start--;
    char *end = strchr(start, '\n');
    if (end) *end = 0;
    int64_t number = 0;
    if (!strncmp(start, file, sizeof file - 1))
        for (const char *p = start + sizeof file - 1; *p >= '0' && *p <= '9' && number < 1000000; p++)
            number = number * 10 + (*p - '0');
    char line[160] = "";
    size_t length = 0;
    const char *found = number ? line_of_text(text, number, &length) : NULL;
    if (found) {
        if (length >= sizeof line) length = sizeof line - 1;
        memcpy(line, found, length);
        line[length] = 0;
    }
    if (!found)
        return kni_fail(KN_ERROR_INTERNAL, "%s: the kernel %s does not compile: %s", c->name, entry, start);
    return kni_fail(KN_ERROR_INTERNAL, "%s: the kernel %s does not compile: %s; line %D is: %s", c->name,
                    entry, start, number, line);
}

static kn_status tell_log(kni_cuda *c, const kni_cuda_compiler_api *nvrtc, void *program, const char *entry,
                          const char *text)
{
    size_t bytes = 0;
    char *log = NULL;
    if (!nvrtc->log_bytes(program, &bytes) && bytes > 1) log = kni_allocate(bytes + 1);
    if (!log || nvrtc->log(program, log)) {
        if (log) kni_free(log, bytes + 1);
        return kni_fail(KN_ERROR_INTERNAL, "%s: the kernel %s does not compile, and NVRTC does not say why",
                        c->name, entry);
    }
    log[bytes] = 0;
    kn_status status = fail_compile(c, entry, text, log);
    kni_free(log, bytes + 1);
    return status;
}

/* ---- from text to image */

static void *take_image(const kni_cuda_compiler_api *nvrtc, void *program, bool native, size_t *bytes)
{
    int result = native ? nvrtc->cubin_bytes(program, bytes) : nvrtc->ptx_bytes(program, bytes);
    char *image = result || !*bytes ? NULL : kni_allocate(*bytes);
    if (!image) return NULL;
    result = native ? nvrtc->cubin(program, image) : nvrtc->ptx(program, image);
    if (!result) return image;
    kni_free(image, *bytes);
    return NULL;
}

static void *compile_text(kni_cuda *c, const kni_cuda_compiler_api *nvrtc, const options *o, const char *text,
                          const char *entry, size_t *bytes)
{
    void *program = NULL, *image = NULL;
    if (nvrtc->create(&program, text, "kernel.cu", 0, NULL, NULL)) {
        kni_fail(KN_ERROR_MEMORY, "%s: NVRTC has no memory for the kernel %s", c->name, entry);
        return NULL;
    }
    if (nvrtc->compile(program, KNI_COUNT(o->list), o->list))
        tell_log(c, nvrtc, program, entry, text);
    else if (!(image = take_image(nvrtc, program, o->native, bytes)))
        kni_fail(KN_ERROR_MEMORY, "%s: no memory for the compiled kernel %s", c->name, entry);
    (void)nvrtc->destroy(&program);
    return image;
}

/* All that an image depends on: the library, driver and compiler, the options, the entry, the text. */
static char *make_key(const kni_cuda_compiler_api *nvrtc, const options *o, const char *text,
                      const char *entry, size_t *bytes)
{
    int major = 0, minor = 0;
    (void)nvrtc->version(&major, &minor);
    *bytes = strlen(text) + strlen(entry) + 256;
    char *key = kni_allocate(*bytes);
    if (!key) return NULL;
    memset(key, 0, *bytes);
    kni_text line = {key, *bytes, 0};
    kni_text_format(&line, "kiln %d.%d.%d driver %d nvrtc %d.%d %s %s %s %s\n", (int32_t)KN_VERSION_MAJOR,
                    (int32_t)KN_VERSION_MINOR, (int32_t)KN_VERSION_PATCH, (int32_t)kni_cuda_driver_version(),
                    (int32_t)major, (int32_t)minor, o->list[0], o->list[1], o->list[2], entry);
    kni_text_string(&line, text);
    return key;
}

static int load(kni_cuda *c, kni_module *m, const void *image, const char *entry)
{
    int value = 0;
    int result = c->api->module_load(&m->module, image);
    if (result) {
        m->module = NULL;
        return result;
    }
    result = c->api->module_function(&m->function, m->module, entry);
    /* Asking for an attribute also loads the code, which must not happen later, inside a recording. */
    if (!result) result = c->api->function_attribute(&value, KNI_CU_FUNCTION_THREADS, m->function);
    m->threads_most = (uint32_t)value;
    if (!result) result = c->api->function_attribute(&value, KNI_CU_FUNCTION_SHARED, m->function);
    m->shared_static = (uint32_t)value;
    if (result) {
        (void)c->api->module_unload(m->module);
        m->module = NULL;
    }
    return result;
}

static kn_status compile_into(kni_cuda *c, kni_module *m, const char *text, const char *entry)
{
    const kni_cuda_compiler_api *nvrtc = kni_cuda_compiler_library();
    options o;
    if (!nvrtc || choose_options(c, nvrtc, &o)) return kni_latest_code();
    size_t key_bytes = 0, bytes = 0;
    char *key = make_key(nvrtc, &o, text, entry, &key_bytes);
    if (!key) return kni_fail(KN_ERROR_MEMORY, "%s: no memory to compile the kernel %s", c->name, entry);
    kni_buffer kept = {0};
    kn_status status = KN_OK;
    bool found = kni_disk_cache_get("cuda", key, key_bytes, &kept);
    /* An entry that does not load, for whatever reason, is written anew. */
    if (found && !load(c, m, kept.data, entry)) {
        c->driver.loaded++;
    } else {
        void *image = compile_text(c, nvrtc, &o, text, entry, &bytes);
        status = image ? kni_cuda_result(c, load(c, m, image, entry), "loading a kernel") : kni_latest_code();
        if (!status) kni_disk_cache_put("cuda", key, key_bytes, image, bytes);
        if (image) kni_free(image, bytes);
    }
    kni_buffer_free(&kept);
    kni_free(key, key_bytes);
    return status;
}

kni_module *kni_cuda_compile(kni_driver *d, const char *text, size_t bytes, const char *entry)
{
    (void)bytes;
    kni_cuda *c = kni_cuda_of(d);
    if (kni_cuda_enter(c)) return NULL;
    kni_module *m = kni_allocate(sizeof *m);
    if (!m) {
        kni_fail(KN_ERROR_MEMORY, "%s: no memory for the kernel %s", c->name, entry);
        return NULL;
    }
    memset(m, 0, sizeof *m);
    kni_text name = {m->name, sizeof m->name, 0};
    kni_text_string(&name, entry);
    if (compile_into(c, m, text, entry)) {
        kni_free(m, sizeof *m);
        return NULL;
    }
    return m;
}

void kni_cuda_unload(kni_driver *d, kni_module *m)
{
    kni_cuda *c = kni_cuda_of(d);
    if (!m) return;
    /* Unloading waits for launches of it; what failed is freed with the context. */
    if (!c->lost && !kni_cuda_enter(c)) (void)c->api->module_unload(m->module);
    kni_free(m, sizeof *m);
}

/* ---- launches */

static kn_status allow_shared(kni_cuda *c, kni_module *m, uint32_t bytes)
{
    if (bytes <= m->shared_dynamic || bytes + m->shared_static <= c->driver.caps.shared_bytes) return KN_OK;
    if (bytes + m->shared_static > c->shared_most)
        return kni_fail(KN_ERROR_INTERNAL,
                        "%s: a kernel asks for %u bytes of shared memory; a workgroup has %u", c->name,
                        bytes + m->shared_static, c->shared_most);
    kn_status status =
        kni_cuda_result(c, c->api->function_set(m->function, KNI_CU_FUNCTION_DYNAMIC, (int)bytes),
                        "asking for shared memory");
    if (!status) m->shared_dynamic = bytes;
    return status;
}

kn_status kni_cuda_launch_arguments(kni_cuda *c, kni_module *m, const kni_launch_shape *shape,
                                    void **arguments)
{
    const uint32_t *g = shape->groups;
    if (!g[0] || !g[1] || !g[2]) return KN_OK;
    if (!shape->workgroup || shape->workgroup > m->threads_most)
        return kni_fail(KN_ERROR_INTERNAL,
                        "%s: a kernel of at most %u invocations in a workgroup is launched with %u", c->name,
                        m->threads_most, shape->workgroup);
    if (g[0] > GRID_MOST_X || g[1] > GRID_MOST_YZ || g[2] > GRID_MOST_YZ)
        return kni_fail(KN_ERROR_INTERNAL,
                        "%s: a launch of %u x %u x %u workgroups is more than the device takes", c->name,
                        g[0], g[1], g[2]);
    kn_status status = allow_shared(c, m, shape->shared_bytes);
    if (status) return status;
    bool timed = kni_cuda_profile_begin(c);
    status = kni_cuda_result(c,
                             c->api->launch(m->function, g[0], g[1], g[2], shape->workgroup, 1, 1,
                                            shape->shared_bytes, c->stream, arguments, NULL),
                             "launching a kernel");
    if (timed) kni_cuda_profile_end(c, m->name);
    return status;
}

kn_status kni_cuda_launch(kni_driver *d, kni_module *m, const kni_launch_shape *shape, void *const *buffers,
                          uint32_t n_buffers, const void *params, uint32_t param_bytes)
{
    kni_cuda *c = kni_cuda_of(d);
    void *arguments[KNI_CUDA_ARGUMENTS];
    kn_status status = kni_cuda_enter(c);
    if (status) return status;
    if (n_buffers > KNI_CUDA_ARGUMENTS - 1)
        return kni_fail(KN_ERROR_INTERNAL, "%s: a kernel with %u buffers is more than a launch takes",
                        c->name, n_buffers);
    /* The driver copies what the pointers point to; a buffer is its address, which is what `memory` is. */
    for (uint32_t i = 0; i < n_buffers; i++) arguments[i] = (void *)(uintptr_t)&buffers[i];
    if (params && param_bytes) arguments[n_buffers] = (void *)(uintptr_t)params;
    kni_cuda_record_before(c);
    status = kni_cuda_launch_arguments(c, m, shape, arguments);
    if (KNI_UNLIKELY(c->recording)) kni_cuda_record_launch(c, m, shape, buffers, n_buffers, param_bytes);
    return status;
}
