/* The OpenCL driver over a library some of whose answers are replaced: how much shared memory is used, and which statuses
   mean that the device is lost. */
#include "backend/gpu/gpu.h"
#include "backend/opencl/opencl_api.h"
#include "support/check.h"

static kni_opencl_api real, *api;
static uint64_t local_bytes;
static int32_t answer;

static int32_t info(cl_device_id d, uint32_t what, size_t room, void *value, size_t *bytes)
{
    int32_t status = real.device_info(d, what, room, value, bytes);
    if (what == CL_DEVICE_LOCAL_BYTES && room >= 8) memcpy(value, &local_bytes, 8);
    return status;
}

static int32_t finish(cl_queue q)
{
    (void)real.finish(q);
    return answer;
}

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
    kni_gpu *g = (kni_gpu *)(void *)kni_opencl_open("0", NULL, 0);
    CHECK(g && g->driver->caps.shared_bytes == used);
    waits(-5, KN_ERROR_DEVICE);
}

int main(void)
{
    static const int32_t dead[] = {-5, -14, -34, -36, -9999};
    const char *why;
    CHECK(!strcmp(kni_opencl_status(-1), "CL_DEVICE_NOT_FOUND"));
    CHECK(!strcmp(kni_opencl_status(-5), "CL_OUT_OF_RESOURCES"));
    CHECK(!strcmp(kni_opencl_status(-4242), "an unknown status"));
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
    return check_report();
}
