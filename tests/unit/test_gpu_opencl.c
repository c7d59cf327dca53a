/* The OpenCL driver over a library some of whose answers are replaced: which devices are counted, what is asked of the
   compiler, what is kept on disk, how much shared memory is used, and which statuses mean that the device is lost. */
#define _GNU_SOURCE
#include "backend/gpu/gpu.h"
#include "backend/opencl/opencl_api.h"
#include "support/check.h"
#include "support/file.h"
#include <stdlib.h>

static kni_opencl_api real, *api;
static uint64_t local_bytes = 48 << 10;
static int32_t answer;
static const char *language; /* that the device speaks, or NULL: its own */
static uint32_t refused;     /* what the device does not answer */
static bool no_compiler;

static int32_t info(cl_device_id d, uint32_t what, size_t room, void *value, size_t *bytes)
{
    int32_t status = real.device_info(d, what, room, value, bytes);
    if (what == CL_DEVICE_LOCAL_BYTES && room >= 8) memcpy(value, &local_bytes, 8);
    if (what == CL_DEVICE_LANGUAGE && language) snprintf(value, room, "%s", language);
    if (what == CL_DEVICE_COMPILER && no_compiler) memset(value, 0, 4);
    return what == refused ? -30 : status;
}

static kni_gpu *open_gpu(void) { return (kni_gpu *)(void *)kni_opencl_open("0", NULL, 0); }
static void close_gpu(kni_gpu *g) { g->backend.close(&g->backend); }

static int32_t finish(cl_queue q)
{
    (void)real.finish(q);
    return answer;
}

/* ---- devices of several platforms; the number of a platform says how many it has */

static uint32_t devices_of[20], platforms;

static int32_t some_platforms(uint32_t room, cl_platform_id *to, uint32_t *count)
{
    for (uint32_t i = 0; i < platforms && i < room; i++) to[i] = (cl_platform_id)(void *)&devices_of[i];
    *count = platforms;
    return 0;
}

static int32_t some_devices(cl_platform_id p, uint64_t type, uint32_t room, cl_device_id *to, uint32_t *count)
{
    uint32_t n = *(uint32_t *)(void *)p;
    (void)type;
    if (!n) return CL_NO_DEVICE;
    for (uint32_t i = 0; i < n && i < room; i++) to[i] = (cl_device_id)((char *)(void *)p + i + 1);
    *count = n;
    return 0;
}

/* Whether device n is the one with this number of this platform, of so many in all. */
static bool finds(int32_t n, int platform, int device, int32_t all)
{
    kni_opencl_api some = {.get_platforms = some_platforms, .get_devices = some_devices};
    cl_platform_id p = NULL;
    cl_device_id d = NULL;
    int32_t total = -1;
    bool found = kni_opencl_device(&some, n, &p, &d, &total);
    if (total != all || found != kni_opencl_device(&some, n, &p, &d, NULL)) return false;
    if (platform < 0) return !found;
    char *at = (char *)&devices_of[platform];
    return found && (char *)(void *)p == at && (char *)(void *)d == at + device + 1;
}

/* Devices are counted over all platforms in their order; of many, the first 16 platforms and 64 devices of each count. */
static void counts_devices(void)
{
    CHECK(finds(0, -1, 0, 0));
    platforms = 3, devices_of[1] = 2, devices_of[2] = 70;
    CHECK(finds(0, 1, 0, 66) && finds(1, 1, 1, 66) && finds(2, 2, 0, 66) && finds(65, 2, 63, 66));
    CHECK(finds(66, -1, 0, 66) && finds(-1, -1, 0, 66));
    for (platforms = 15; platforms <= 20; platforms++) {
        for (int i = 0; i < 20; i++) devices_of[i] = 1;
        int32_t all = platforms < 16 ? (int32_t)platforms : 16;
        CHECK(finds(all - 1, all - 1, 0, all) && finds(all, -1, 0, all));
    }
}

/* The names of cl.h. */
static void names_statuses(void)
{
    /* By their numbers without the sign. */
    static const char *const names[] = {
        [1] = "CL_DEVICE_NOT_FOUND",         [2] = "CL_DEVICE_NOT_AVAILABLE",
        [3] = "CL_COMPILER_NOT_AVAILABLE",   [4] = "CL_MEM_OBJECT_ALLOCATION_FAILURE",
        [5] = "CL_OUT_OF_RESOURCES",         [6] = "CL_OUT_OF_HOST_MEMORY",
        [11] = "CL_BUILD_PROGRAM_FAILURE",   [14] = "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST",
        [30] = "CL_INVALID_VALUE",           [34] = "CL_INVALID_CONTEXT",
        [36] = "CL_INVALID_COMMAND_QUEUE",   [38] = "CL_INVALID_MEM_OBJECT",
        [42] = "CL_INVALID_BINARY",          [45] = "CL_INVALID_PROGRAM_EXECUTABLE",
        [46] = "CL_INVALID_KERNEL_NAME",     [49] = "CL_INVALID_ARG_INDEX",
        [50] = "CL_INVALID_ARG_VALUE",       [51] = "CL_INVALID_ARG_SIZE",
        [52] = "CL_INVALID_KERNEL_ARGS",     [54] = "CL_INVALID_WORK_GROUP_SIZE",
        [55] = "CL_INVALID_WORK_ITEM_SIZE",  [61] = "CL_INVALID_BUFFER_SIZE",
        [63] = "CL_INVALID_GLOBAL_WORK_SIZE"};
    for (int i = 0; i < KNI_COUNT(names); i++) {
        const char *name = kni_opencl_status(-i);
        if (!CHECK(!strcmp(name, names[i] ? names[i] : "an unknown status"))) printf("%d is %s\n", -i, name);
    }
    CHECK(!strcmp(kni_opencl_status(-1001), "CL_PLATFORM_NOT_FOUND_KHR"));
    CHECK(!strcmp(kni_opencl_status(-4242), "an unknown status"));
}

/* ---- launches and messages */

static uint32_t next_argument;
static bool out_of_order;

static int32_t set_argument(cl_kernel k, uint32_t number, size_t bytes, const void *value)
{
    out_of_order |= number != next_argument;
    next_argument = number + 1;
    return real.set_argument(k, number, bytes, value);
}

static int32_t run_kernel(cl_queue q, cl_kernel k, uint32_t axes, const size_t *offset, const size_t *global,
                          const size_t *local, uint32_t n, const cl_event *after, cl_event *event)
{
    next_argument = 0;
    return real.run_kernel(q, k, axes, offset, global, local, n, after, event);
}

/* A kernel gets each of its arguments once, in their order. */
static void gives_arguments(void)
{
    kn_device d = kn_device_open("opencl:0");
    api->set_argument = set_argument, api->run_kernel = run_kernel;
    kn_device_use(d);
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(kn_from((float[]){1, 2, 3}, KN_F32, KN_SHAPE(3)));
    CHECK_VALUES(kn_add(x, kn_mul_scalar(x, 3)), 0, 4, 8, 12);
    CHECK(!out_of_order);
    kn_scope_end(scope, KN_NONE);
    kn_device_use(NULL);
    api->set_argument = real.set_argument, api->run_kernel = real.run_kernel;
    kn_device_close(d);
}

static int32_t build(cl_program p, uint32_t n, const cl_device_id *devices, const char *options,
                     void (*notify)(cl_program, void *), void *user)
{
    (void)p, (void)n, (void)devices, (void)options, (void)notify, (void)user;
    return -11;
}

static int32_t build_info(cl_program p, cl_device_id d, uint32_t what, size_t room, void *value,
                          size_t *bytes)
{
    static const char log[] = "a warning\nin /of/the/driver/k.cl:3: error: a + b\nmore\n";
    (void)p, (void)d, (void)what;
    if (bytes) *bytes = sizeof log;
    if (value && room >= sizeof log) memcpy(value, log, sizeof log);
    return 0;
}

/* The message has the line of the first error, and file names without their folders. */
static void tells_the_error(void)
{
    kn_device d = kn_device_open("opencl:0");
    api->build = build, api->build_info = build_info;
    kn_device_use(d);
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_ones(KN_SHAPE(4), KN_F32);
    float values[4];
    CHECK_ERROR(kn_read(x, values, sizeof values), ": in k.cl:3: error: a + b (CL_BUILD_PROGRAM_FAILURE)");
    kn_scope_end(scope, KN_NONE);
    kn_device_use(NULL);
    *api = real;
    kn_device_close(d);
}

/* ---- the compiler: its options, and the programs that are cached */

static char options_given[300];

static int32_t hear_options(cl_program p, uint32_t n, const cl_device_id *devices, const char *options,
                            void (*notify)(cl_program, void *), void *user)
{
    snprintf(options_given, sizeof options_given, "%s", options);
    return build(p, n, devices, options, notify, user);
}

static const char simple[] = "__kernel void one(__global int *x) { x[get_global_id(0)] = 1; }";

/* The driver passes -cl-std only for a device whose language version is spelled as the standard says. */
static void asks_for_the_language(void)
{
    static const struct {
        const char *language, *option; /* NULL: no version */
    } cases[] = {{"OpenCL C 1.2 of someone", "-cl-std=CL1.2 "},
                 {"OpenCL C 3.0 ", "-cl-std=CL3.0 "},
                 {"OpenCL C 9.9", "-cl-std=CL9.9 "},
                 {"OpenCL C 0.9", NULL},
                 {"OpenCL C x.2", NULL},
                 {"OpenCL C 1.x", NULL},
                 {"OpenCL C 1./", NULL},
                 {"OpenCL C 12", NULL},
                 {"OpenCL C ", NULL},
                 {"OpenGL C 1.2", NULL},
                 {"", NULL}};
    setenv("KN_OPENCL_OPTIONS", "-DMINE=1", 1);
    api->device_info = info, api->build = hear_options, api->build_info = build_info;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        language = cases[i].language;
        kni_gpu *g = open_gpu();
        if (!CHECK(g != NULL)) break;
        CHECK(!g->driver->compile(g->driver, simple, strlen(simple), "one"));
        bool good = cases[i].option ? !strncmp(options_given, cases[i].option, strlen(cases[i].option))
                                    : !strstr(options_given, "-cl-std");
        if (!CHECK(good && strstr(options_given, " -w -DMINE=1")))
            printf("'%s' gives '%s'\n", language, options_given);
        close_gpu(g);
    }
    language = NULL;
    unsetenv("KN_OPENCL_OPTIONS");
    *api = real;
}

static const char *platform_name;

static int32_t platform_info(cl_platform_id p, uint32_t what, size_t room, void *value, size_t *bytes)
{
    (void)p, (void)what, (void)bytes;
    snprintf(value, room, "%s", platform_name);
    return 0;
}

static int64_t compile_once(int64_t *loaded)
{
    int64_t before = kn_memory_stats().bytes_now;
    kni_gpu *g = open_gpu();
    if (!CHECK(g != NULL)) return -1;
    kni_module *m = g->driver->compile(g->driver, simple, strlen(simple), "one");
    if (CHECK(m != NULL)) g->driver->unload(g->driver, m);
    *loaded = g->driver->loaded;
    close_gpu(g);
    return kn_memory_stats().bytes_now - before;
}

/* Compiled programs are kept on disk and found there, but for PoCL, which keeps them itself. No memory is left behind. */
static void keeps_programs(void)
{
    char folder[] = "opencl_cache_XXXXXX", entries[64];
    int64_t loaded = 0;
    if (!CHECK(mkdtemp(folder) != NULL)) return;
    snprintf(entries, sizeof entries, "%s/kiln-kernels", folder);
    const char *was = getenv("KN_CACHE_DIR"), *off = getenv("KN_CACHE");
    char *kept = was ? strdup(was) : NULL, *kept_off = off ? strdup(off) : NULL;
    setenv("KN_CACHE_DIR", folder, 1);
    unsetenv("KN_CACHE");
    api->platform_info = platform_info;
    platform_name = "Portable Computing Language";
    for (int i = 0; i < 2; i++) CHECK(compile_once(&loaded) == 0 && loaded == 0 && !kni_file_exists(entries));
    platform_name = "Another";
    for (int i = 0; i < 3; i++) CHECK(compile_once(&loaded) == 0 && loaded == (i > 0));
    platform_name = "A third";
    CHECK(compile_once(&loaded) == 0 && loaded == 0);
    *api = real;
    if (kept) setenv("KN_CACHE_DIR", kept, 1);
    if (kept_off) setenv("KN_CACHE", kept_off, 1);
    free(kept);
    free(kept_off);
    CHECK(kni_path_remove(folder) == KN_OK);
}

/* ---- memory, and devices that do not open */

/* Memory is cleared from any byte to any other. */
static void clears_bytes(void)
{
    kni_gpu *g = open_gpu();
    if (!CHECK(g != NULL)) return;
    kni_driver *d = g->driver;
    unsigned char data[16], back[16];
    void *memory = d->allocate(d, sizeof data);
    for (size_t first = 0; first < 4; first++)
        for (size_t n = 0; n < 6; n++) {
            memset(data, 0xab, sizeof data);
            CHECK(d->upload(d, memory, 0, data, sizeof data) == KN_OK &&
                  d->fill_zero(d, memory, first, n) == KN_OK);
            memset(data + first, 0, n);
            CHECK(d->download(d, back, memory, 0, sizeof back) == KN_OK && !memcmp(back, data, sizeof data));
        }
    d->free(d, memory);
    close_gpu(g);
}

static int live;
static bool no_context, no_queue;

static cl_context create_context(const intptr_t *properties, uint32_t n, const cl_device_id *devices,
                                 void (*notify)(const char *, const void *, size_t, void *), void *user,
                                 int32_t *status)
{
    *status = -6;
    if (no_context) return NULL;
    live++;
    return real.create_context(properties, n, devices, notify, user, status);
}

static cl_queue create_queue(cl_context c, cl_device_id d, uint64_t properties, int32_t *status)
{
    *status = -6;
    if (no_queue) return NULL;
    live++;
    return real.create_queue(c, d, properties, status);
}

static int32_t release_context(cl_context c)
{
    live--;
    return real.release_context(c);
}

static int32_t release_queue(cl_queue q)
{
    live--;
    return real.release_queue(q);
}

/* What was made for a device that does not open after all is given back, and nothing else. Names that it does not tell are
   empty. */
static void gives_back(void)
{
    api->device_info = info;
    api->create_context = create_context, api->release_context = release_context;
    api->create_queue = create_queue, api->release_queue = release_queue;
    int64_t before = kn_memory_stats().bytes_now;
    no_compiler = true;
    CHECK(!open_gpu() && strstr(kn_last_error(), "compiler failed: CL_COMPILER_NOT_AVAILABLE (-3)"));
    no_compiler = false, no_context = true;
    CHECK(!open_gpu() && strstr(kn_last_error(), "making a context failed: CL_OUT_OF_HOST_MEMORY"));
    no_context = false, no_queue = true;
    CHECK(!open_gpu() && strstr(kn_last_error(), "making a queue failed: CL_OUT_OF_HOST_MEMORY"));
    no_queue = false;
    CHECK(live == 0 && kn_memory_stats().bytes_now == before);
    refused = CL_DEVICE_NAME;
    kni_gpu *g = open_gpu();
    CHECK(g && live == 2 && !strncmp(g->driver->description, " (", 2));
    close_gpu(g);
    refused = 0;
    CHECK(live == 0 && kn_memory_stats().bytes_now == before);
    *api = real;
}

/* Waiting fails with the status: the device is lost, and the next one is opened anew, or only that call failed. */
static void waits(int32_t status, kn_status code)
{
    kn_device d = kn_device_open("opencl:0");
    if (!CHECK(d != NULL)) return;
    answer = status;
    CHECK(kn_sync(d) == code);
    answer = 0;
    kn_device_close(d);
}

static void shares(uint64_t there, uint32_t used)
{
    local_bytes = there;
    kni_gpu *g = open_gpu();
    CHECK(g && g->driver->caps.shared_bytes == used);
    waits(-5, KN_ERROR_DEVICE);
}

int main(void)
{
    static const int32_t dead[] = {-5, -14, -34, -36, -9999};
    const char *why;
    names_statuses();
    counts_devices();
    const kni_opencl_api *found = kni_opencl_load(&why);
    kn_device first = found ? kn_device_open("opencl:0") : NULL;
    if (!first) {
        check_skip("no OpenCL device");
        return check_report();
    }
    memcpy(&api, &found, sizeof api);
    real = *api;
    api->device_info = info;
    api->finish = finish;
    waits(-5, KN_ERROR_DEVICE);
    shares(32 << 10, 32 << 10);
    shares(48 << 10, 48 << 10);
    shares(64 << 10, 48 << 10);
    shares(1 << 20, 48 << 10);
    for (size_t i = 0; i < sizeof dead / sizeof *dead; i++) waits(dead[i], KN_ERROR_DEVICE);
    waits(-15, KN_ERROR_INTERNAL);
    waits(-6, KN_ERROR_MEMORY);
    *api = real;
    gives_arguments();
    tells_the_error();
    CHECK(kn_shutdown() == 0); /* from here on each test opens the device itself */
    asks_for_the_language();
    keeps_programs();
    clears_bytes();
    gives_back();
    return check_report();
}
