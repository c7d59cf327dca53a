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
    return check_report();
}
