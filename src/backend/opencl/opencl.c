/* The OpenCL driver: one context and one queue in order for each device, kernels from text or from the cache on disk. */
#include "backend/gpu/driver.h"
#include "backend/opencl/opencl_api.h"
#include "core/allocator.h"
#include "core/error.h"
#include "core/platform.h"
#include "core/text.h"
#include "support/disk_cache.h"
#include <string.h>

enum { NAME = 128, LOG = 4096 };

typedef struct opencl {
    kni_driver driver; /* first, so that the driver's address is this one's */
    const kni_opencl_api *api;
    cl_device_id device;
    cl_context context;
    cl_queue queue;
    uint64_t max_allocation;
    size_t max_group;
    bool caches; /* the platform keeps compiled programs itself, and asking for one would compile it again */
    char spec[16], device_name[NAME], driver_version[NAME], version[NAME], platform_name[NAME], options[256];
} opencl;

struct kni_module {
    cl_program program;
    cl_kernel kernel;
    size_t max_group;
};

static opencl *of(kni_driver *d) { return (opencl *)d; }

/* KN_ERROR_DEVICE means that the context is dead: nothing of this device works any more. */
static kn_status failed(const opencl *o, const char *what, int32_t status)
{
    bool memory = status == CL_NO_MEMORY_OBJECT || status == CL_NO_HOST_MEMORY;
    bool dead =
        status == CL_NO_RESOURCES || status == -14 || status == -34 || status == -36 || status == -9999;
    return kni_fail(memory ? KN_ERROR_MEMORY
                    : dead ? KN_ERROR_DEVICE
                           : KN_ERROR_INTERNAL,
                    "%s: %s failed: %s (%d)", o->spec, what, kni_opencl_status(status), status);
}

/* ---- memory */

static void *allocate(kni_driver *d, size_t bytes)
{
    opencl *o = of(d);
    int32_t status = CL_OK;
    if (bytes > o->max_allocation) return NULL;
    cl_mem m = o->api->create_buffer(o->context, CL_MEM_READ_WRITE, bytes ? bytes : 1, NULL, &status);
    return status == CL_OK ? m : NULL;
}

static void free_memory(kni_driver *d, void *memory)
{
    if (memory) (void)of(d)->api->release_buffer(memory);
}

static kn_status upload(kni_driver *d, void *to, size_t offset, const void *from, size_t bytes)
{
    opencl *o = of(d);
    if (!bytes) return KN_OK;
    int32_t status = o->api->write_buffer(o->queue, to, 1, offset, bytes, from, 0, NULL, NULL);
    return status ? failed(o, "writing to the device", status) : KN_OK;
}

static kn_status download(kni_driver *d, void *to, const void *from, size_t offset, size_t bytes)
{
    opencl *o = of(d);
    if (!bytes) return KN_OK;
    int32_t status =
        o->api->read_buffer(o->queue, (cl_mem)(uintptr_t)from, 1, offset, bytes, to, 0, NULL, NULL);
    return status ? failed(o, "reading from the device", status) : KN_OK;
}

static kn_status copy(kni_driver *d, void *to, size_t to_offset, const void *from, size_t from_offset,
                      size_t bytes)
{
    opencl *o = of(d);
    if (!bytes) return KN_OK;
    int32_t status = o->api->copy_buffer(o->queue, (cl_mem)(uintptr_t)from, to, from_offset, to_offset, bytes,
                                         0, NULL, NULL);
    return status ? failed(o, "copying on the device", status) : KN_OK;
}

static kn_status fill_zero(kni_driver *d, void *to, size_t offset, size_t bytes)
{
    opencl *o = of(d);
    unsigned char zero = 0;
    if (!bytes) return KN_OK;
    int32_t status = o->api->fill_buffer(o->queue, to, &zero, 1, offset, bytes, 0, NULL, NULL);
    return status ? failed(o, "clearing memory of the device", status) : KN_OK;
}

static kn_status sync_queue(kni_driver *d)
{
    opencl *o = of(d);
    int32_t status = o->api->finish(o->queue);
    return status ? failed(o, "waiting for the device", status) : KN_OK;
}

/* ---- kernels */

/* The line of the log that tells the first error, else its first line, without the folders of files: they are the
   driver's own. */
static const char *first_error(char *log)
{
    char *error = strstr(log, "error"), *start = error ? error : log, *to;
    while (start > log && start[-1] != '\n') start--;
    start += strspn(start, "\r\n");
    start[strcspn(start, "\r\n")] = 0;
    to = start;
    for (const char *from = start; *from;) {
        size_t word = strcspn(from, " "), folder = 0;
        for (size_t i = 0; i < word && *from == '/'; i++)
            if (from[i] == '/') folder = i + 1;
        memmove(to, from + folder, word - folder);
        to += word - folder;
        from += word;
        if (*from) *to++ = *from++;
    }
    *to = 0;
    return *start ? start : "the compiler says nothing";
}

static kn_status tell_build(const opencl *o, cl_program p, const char *entry, int32_t status)
{
    char *log = kni_allocate(LOG);
    size_t bytes = 0;
    if (log) log[0] = 0;
    if (log && o->api->build_info(p, o->device, CL_BUILD_LOG, LOG - 1, log, &bytes)) {
        /* Longer than the room: the whole of it, of which the beginning is told. */
        bytes = 0;
        (void)o->api->build_info(p, o->device, CL_BUILD_LOG, 0, NULL, &bytes);
        char *all = bytes ? kni_allocate(bytes) : NULL;
        if (all && !o->api->build_info(p, o->device, CL_BUILD_LOG, bytes, all, NULL)) {
            memcpy(log, all, bytes < LOG ? bytes : LOG);
            log[LOG - 1] = 0;
        }
        if (all) kni_free(all, bytes);
    }
    kn_status s = kni_fail(
        KN_ERROR_INTERNAL,
        "%s: the driver does not compile the kernel %s: %s (%s); kn_kernel_text shows the text of a kernel "
        "of yours, and \"cpu\" runs it without a driver",
        o->spec, entry, log ? first_error(log) : "no memory for the compiler's message",
        kni_opencl_status(status));
    if (log) kni_free(log, LOG);
    return s;
}

/* All that a program depends on, part by part with a zero after each; freed with kni_free. NULL without memory. */
static char *key_of(const opencl *o, const char *text, size_t *bytes)
{
    const char *const parts[] = {text,       o->options,      o->device_name, o->driver_version,
                                 o->version, o->platform_name};
    size_t at = 0;
    *bytes = 0;
    for (int i = 0; i < KNI_COUNT(parts); i++) *bytes += strlen(parts[i]) + 1;
    char *key = kni_allocate(*bytes);
    for (int i = 0; i < KNI_COUNT(parts) && key; at += strlen(parts[i++]) + 1)
        memcpy(key + at, parts[i], strlen(parts[i]) + 1);
    return key;
}

static cl_program from_disk(const opencl *o, const char *key, size_t key_bytes)
{
    kni_buffer found = {0};
    if (!kni_disk_cache_get("opencl", key, key_bytes, &found)) return NULL;
    const unsigned char *binary = (const unsigned char *)found.data;
    size_t bytes = found.length;
    int32_t status = CL_OK, each = CL_OK;
    cl_program p = o->api->create_from_binary(o->context, 1, &o->device, &bytes, &binary, &each, &status);
    kni_buffer_free(&found);
    if (status || each || o->api->build(p, 1, &o->device, o->options, NULL, NULL)) {
        if (!status && p) (void)o->api->release_program(p);
        return NULL;
    }
    return p;
}

static void to_disk(const opencl *o, cl_program p, const char *key, size_t key_bytes)
{
    size_t bytes = 0;
    if (o->api->program_info(p, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL) || !bytes) return;
    unsigned char *binary = kni_allocate(bytes);
    if (!binary) return;
    if (!o->api->program_info(p, CL_PROGRAM_BINARIES_OF, sizeof binary, &binary, NULL))
        kni_disk_cache_put("opencl", key, key_bytes, binary, bytes);
    kni_free(binary, bytes);
}

static cl_program from_text(const opencl *o, const char *text, const char *entry)
{
    int32_t status = CL_OK;
    size_t length = strlen(text);
    cl_program p = o->api->create_from_text(o->context, 1, &text, &length, &status);
    if (status) {
        (void)failed(o, "making a program", status);
        return NULL;
    }
    status = o->api->build(p, 1, &o->device, o->options, NULL, NULL);
    if (!status) return p;
    (void)tell_build(o, p, entry, status);
    (void)o->api->release_program(p);
    return NULL;
}

static cl_program program_of(opencl *o, const char *text, const char *entry)
{
    size_t bytes = 0;
    char *key = o->caches ? NULL : key_of(o, text, &bytes);
    cl_program p = key ? from_disk(o, key, bytes) : NULL;
    if (p) {
        o->driver.loaded++;
    } else {
        p = from_text(o, text, entry);
        if (p && key) to_disk(o, p, key, bytes);
    }
    if (key) kni_free(key, bytes);
    return p;
}

static kni_module *compile(kni_driver *d, const char *text, size_t bytes, const char *entry)
{
    opencl *o = of(d);
    (void)bytes;
    int32_t status = CL_OK;
    kni_module *m = kni_allocate(sizeof *m);
    if (!m) {
        (void)kni_fail(KN_ERROR_MEMORY, "%s: no memory for a kernel", o->spec);
        return NULL;
    }
    m->program = program_of(o, text, entry);
    m->kernel = m->program ? o->api->create_kernel(m->program, entry, &status) : NULL;
    if (m->program && !m->kernel) {
        (void)failed(o, "finding the entry of a kernel", status);
        (void)o->api->release_program(m->program);
    }
    if (!m->kernel) {
        kni_free(m, sizeof *m);
        return NULL;
    }
    m->max_group = o->max_group;
    (void)o->api->kernel_group_info(m->kernel, o->device, CL_KERNEL_GROUP_SIZE, sizeof m->max_group,
                                    &m->max_group, NULL);
    return m;
}

static void unload(kni_driver *d, kni_module *m)
{
    (void)of(d)->api->release_kernel(m->kernel);
    (void)of(d)->api->release_program(m->program);
    kni_free(m, sizeof *m);
}

static kn_status launch(kni_driver *d, kni_module *m, const kni_launch_shape *shape, void *const *buffers,
                        uint32_t n_buffers, const void *params, uint32_t param_bytes)
{
    opencl *o = of(d);
    int32_t status = CL_OK;
    for (uint32_t i = 0; i < n_buffers && !status; i++)
        status = o->api->set_argument(m->kernel, i, sizeof(cl_mem), &buffers[i]);
    if (!status && param_bytes) status = o->api->set_argument(m->kernel, n_buffers, param_bytes, params);
    if (status) return failed(o, "giving a kernel its arguments", status);
    size_t local[3] = {shape->workgroup, 1, 1};
    size_t global[3] = {(size_t)shape->groups[0] * shape->workgroup, shape->groups[1], shape->groups[2]};
    if (local[0] > m->max_group)
        return kni_fail(KN_ERROR_UNSUPPORTED,
                        "%s: a kernel needs %D invocations in a workgroup, %D is the most", o->spec,
                        (int64_t)local[0], (int64_t)m->max_group);
    if (!global[0] || !global[1] || !global[2]) return KN_OK;
    status = o->api->run_kernel(o->queue, m->kernel, 3, NULL, global, local, 0, NULL, NULL);
    return status ? failed(o, "launching a kernel", status) : KN_OK;
}

/* ---- opening */

static void close_driver(kni_driver *d)
{
    opencl *o = of(d);
    if (o->queue) {
        (void)o->api->finish(o->queue);
        (void)o->api->release_queue(o->queue);
    }
    if (o->context) (void)o->api->release_context(o->context);
    kni_free(o, sizeof *o);
}

static void text_info(const kni_opencl_api *api, cl_device_id d, uint32_t what, char *to, size_t room)
{
    if (api->device_info(d, what, room - 1, to, NULL)) to[0] = 0;
    to[room - 1] = 0;
}

static uint64_t number_info(const opencl *o, uint32_t what, size_t bytes)
{
    uint64_t value = 0;
    return o->api->device_info(o->device, what, bytes, &value, NULL) ? 0 : value;
}

static bool has_extension(const opencl *o, const char *name)
{
    size_t bytes = 0;
    if (o->api->device_info(o->device, CL_DEVICE_EXTENSIONS, 0, NULL, &bytes) || !bytes) return false;
    char *list = kni_allocate(bytes + 1);
    if (!list) return false;
    list[bytes] = 0;
    bool found =
        !o->api->device_info(o->device, CL_DEVICE_EXTENSIONS, bytes, list, NULL) && strstr(list, name);
    kni_free(list, bytes + 1);
    return found;
}

static void find_caps(opencl *o)
{
    kni_ir_caps *c = &o->driver.caps;
    size_t items[3] = {0, 0, 0};
    (void)o->api->device_info(o->device, CL_DEVICE_MAX_ITEMS, sizeof items, items, NULL);
    o->max_group = (size_t)number_info(o, CL_DEVICE_MAX_GROUP, sizeof(size_t));
    if (items[0] && items[0] < o->max_group) o->max_group = items[0];
    if (o->max_group > 1024) o->max_group = 1024;
    if (!o->max_group) o->max_group = 1;
    o->max_allocation = number_info(o, CL_DEVICE_MAX_ALLOCATION, 8);
    uint64_t local = number_info(o, CL_DEVICE_LOCAL_BYTES, 8);
    c->dialect = KNI_IR_OPENCL;
    c->f64 = number_info(o, CL_DEVICE_DOUBLE_CONFIG, 8) != 0 || has_extension(o, "cl_khr_fp64");
    c->i64 = true;
    c->half_storage = true;
    c->atomics = true;
    c->subgroup = 1;
    c->max_workgroup = (uint32_t)o->max_group;
    c->shared_bytes = local > 48 << 10 ? 48 << 10 : (uint32_t)local;
    c->vector_bytes = 16;
    o->driver.processors = (uint32_t)number_info(o, CL_DEVICE_COMPUTE_UNITS, 4);
    if (!o->driver.processors) o->driver.processors = 1;
    o->driver.memory_bytes = (int64_t)number_info(o, CL_DEVICE_GLOBAL_BYTES, 8);
}

/* "OpenCL C 1.2 ..." gives -cl-std=CL1.2. Warnings are off: some compilers print them. KN_OPENCL_OPTIONS adds more. */
static void find_options(opencl *o)
{
    char language[NAME];
    kni_text text = {o->options, sizeof o->options, 0};
    text_info(o->api, o->device, CL_DEVICE_LANGUAGE, language, sizeof language);
    if (!strncmp(language, "OpenCL C ", 9) && language[10] == '.' && language[9] >= '1' &&
        language[9] <= '9' && language[11] >= '0' && language[11] <= '9') {
        kni_text_string(&text, "-cl-std=CL");
        for (int i = 9; i < 12; i++) kni_text_char(&text, language[i]);
    }
    if (number_info(o, CL_DEVICE_SINGLE_CONFIG, 8) & CL_ROUNDED_DIVIDE_SQRT)
        kni_text_string(&text, " -cl-fp32-correctly-rounded-divide-sqrt");
    const char *more = kni_environment("KN_OPENCL_OPTIONS");
    kni_text_format(&text, " -w %s", more ? more : "");
}

static void describe(opencl *o, cl_platform_id platform)
{
    text_info(o->api, o->device, CL_DEVICE_NAME, o->device_name, NAME);
    text_info(o->api, o->device, CL_DEVICE_DRIVER, o->driver_version, NAME);
    text_info(o->api, o->device, CL_DEVICE_VERSION, o->version, NAME);
    if (o->api->platform_info(platform, CL_PLATFORM_NAME, NAME - 1, o->platform_name, NULL))
        o->platform_name[0] = 0;
    o->caches = strstr(o->platform_name, "Portable Computing Language") != NULL;
    kni_text text = {o->driver.description, sizeof o->driver.description, 0};
    kni_text_format(&text, "%s (%s %s)", o->device_name, o->platform_name, o->driver_version);
}

static kni_driver *no_driver(opencl *o, const char *what, int32_t status)
{
    (void)failed(o, what, status);
    close_driver(&o->driver);
    return NULL;
}

static kni_driver *open_driver(const kni_opencl_api *api, cl_platform_id platform, cl_device_id device,
                               int32_t number)
{
    opencl *o = kni_allocate(sizeof *o);
    if (!o) {
        (void)kni_fail(KN_ERROR_MEMORY, "no memory to open opencl:%d", number);
        return NULL;
    }
    memset(o, 0, sizeof *o);
    o->api = api;
    o->device = device;
    kni_text text = {o->spec, sizeof o->spec, 0};
    kni_text_format(&text, "opencl:%d", number);
    o->driver = (kni_driver){.name = o->spec,
                             .self = o,
                             .allocate = allocate,
                             .free = free_memory,
                             .upload = upload,
                             .download = download,
                             .copy = copy,
                             .fill_zero = fill_zero,
                             .sync = sync_queue,
                             .compile = compile,
                             .unload = unload,
                             .launch = launch,
                             .close = close_driver};
    describe(o, platform);
    find_caps(o);
    find_options(o);
    int32_t status = CL_OK;
    if (!number_info(o, CL_DEVICE_COMPILER, 4)) return no_driver(o, "finding the device's compiler", -3);
    o->context = api->create_context(NULL, 1, &device, NULL, NULL, &status);
    if (status) return no_driver(o, "making a context", status);
    o->queue = api->create_queue(o->context, device, 0, &status);
    if (status) return no_driver(o, "making a queue", status);
    return &o->driver;
}

static kni_driver *open_number(int32_t number)
{
    const char *why;
    const kni_opencl_api *api = kni_opencl_load(&why);
    cl_platform_id platform;
    cl_device_id device;
    int32_t total = 0;
    if (!api) {
        (void)kni_fail(KN_ERROR_DEVICE, "opencl:%d cannot be opened: %s", number, why);
        return NULL;
    }
    if (kni_opencl_device(api, number, &platform, &device, &total))
        return open_driver(api, platform, device, number);
    if (total)
        (void)kni_fail(KN_ERROR_DEVICE, "there is no opencl:%d: this machine has opencl:0 to opencl:%d",
                       number, total - 1);
    else
        (void)kni_fail(
            KN_ERROR_DEVICE,
            "there is no opencl:%d: the OpenCL loader is here but finds no platform with a device; "
            "install a driver (Debian: apt install pocl-opencl-icd)",
            number);
    return NULL;
}

bool kni_opencl_describe(int32_t n, char *text, size_t bytes)
{
    const char *why;
    const kni_opencl_api *api = kni_opencl_load(&why);
    cl_platform_id platform;
    cl_device_id device;
    char name[NAME], version[NAME];
    if (!api || !kni_opencl_device(api, n, &platform, &device, NULL)) return false;
    text_info(api, device, CL_DEVICE_NAME, name, NAME);
    text_info(api, device, CL_DEVICE_VERSION, version, NAME);
    kni_text t = {text, bytes, 0};
    kni_text_format(&t, "opencl:%d  %s, %s", n, name, version);
    return true;
}

kn_backend *kni_opencl_open(const char *argument, kn_backend *const *inner, int32_t n_inner)
{
    (void)inner;
    return kni_gpu_open_numbered("opencl", argument, n_inner, open_number);
}
