/* Opening the OpenCL library and listing its devices. */
#include "backend/opencl/opencl_api.h"
#include "core/life.h"
#include "support/library.h"
#include <dlfcn.h>
#include <string.h>

static kni_opencl_api api;
static const struct {
    const char *name;
    void *place;
} functions[] = {
    {"clGetPlatformIDs", &api.get_platforms},
    {"clGetPlatformInfo", &api.platform_info},
    {"clGetDeviceIDs", &api.get_devices},
    {"clGetDeviceInfo", &api.device_info},
    {"clCreateContext", &api.create_context},
    {"clReleaseContext", &api.release_context},
    {"clCreateCommandQueue", &api.create_queue},
    {"clReleaseCommandQueue", &api.release_queue},
    {"clCreateBuffer", &api.create_buffer},
    {"clReleaseMemObject", &api.release_buffer},
    {"clEnqueueWriteBuffer", &api.write_buffer},
    {"clEnqueueReadBuffer", &api.read_buffer},
    {"clEnqueueCopyBuffer", &api.copy_buffer},
    {"clEnqueueFillBuffer", &api.fill_buffer},
    {"clCreateProgramWithSource", &api.create_from_text},
    {"clCreateProgramWithBinary", &api.create_from_binary},
    {"clBuildProgram", &api.build},
    {"clGetProgramBuildInfo", &api.build_info},
    {"clGetProgramInfo", &api.program_info},
    {"clReleaseProgram", &api.release_program},
    {"clCreateKernel", &api.create_kernel},
    {"clGetKernelWorkGroupInfo", &api.kernel_group_info},
    {"clSetKernelArg", &api.set_argument},
    {"clReleaseKernel", &api.release_kernel},
    {"clEnqueueNDRangeKernel", &api.run_kernel},
    {"clFinish", &api.finish},
    {"clFlush", &api.flush},
};

static kni_guard lock = KNI_GUARD_INIT(KNI_GUARD_LOADING);
static bool loaded;

static const char *load_locked(void)
{
    const kni_library_names *names = &kni_libraries[KNI_LIBRARY_OPENCL];
    void *library = NULL;
    if (KNI_MEMORY_SANITIZER) return "OpenCL drivers cannot be used under MemorySanitizer";
    for (int i = 0; names->files[i] && !library; i++) library = kni_library_load(names, names->files[i]);
    if (!library)
        return "libOpenCL.so.1 is not on this machine: install an OpenCL loader and a driver (Debian: apt "
               "install ocl-icd-libopencl1 pocl-opencl-icd)";
    for (int i = 0; i < KNI_COUNT(functions); i++) {
        void *address = dlsym(library, functions[i].name);
        if (!address) {
            dlclose(library);
            return "libOpenCL.so.1 is older than OpenCL 1.2: install a newer loader";
        }
        memcpy(functions[i].place, &address, sizeof address);
    }
    loaded = true;
    return NULL;
}

const kni_opencl_api *kni_opencl_load(const char **why)
{
    kni_guard_lock(&lock);
    *why = loaded ? NULL : load_locked();
    kni_guard_unlock(&lock);
    return *why ? NULL : &api;
}

enum { MAX_PLATFORMS = 16, MAX_DEVICES = 64 };

bool kni_opencl_device(const kni_opencl_api *a, int32_t n, cl_platform_id *platform, cl_device_id *device,
                       int32_t *total)
{
    cl_platform_id platforms[MAX_PLATFORMS];
    uint32_t n_platforms = 0;
    int32_t before = 0;
    bool found = false;
    if (a->get_platforms(MAX_PLATFORMS, platforms, &n_platforms)) n_platforms = 0;
    if (n_platforms > MAX_PLATFORMS) n_platforms = MAX_PLATFORMS;
    for (uint32_t p = 0; p < n_platforms; p++) {
        cl_device_id devices[MAX_DEVICES];
        uint32_t count = 0;
        if (a->get_devices(platforms[p], (uint32_t)CL_TYPE_ALL, MAX_DEVICES, devices, &count)) continue;
        if (count > MAX_DEVICES) count = MAX_DEVICES;
        if (!found && n >= before && n < before + (int32_t)count) {
            *platform = platforms[p];
            *device = devices[n - before];
            found = true;
        }
        before += (int32_t)count;
    }
    if (total) *total = before;
    return found;
}

const char *kni_opencl_status(int32_t status)
{
    static const struct {
        int32_t status;
        const char *name;
    } names[] = {
        {-1, "CL_DEVICE_NOT_FOUND"},
        {-2, "CL_DEVICE_NOT_AVAILABLE"},
        {-3, "CL_COMPILER_NOT_AVAILABLE"},
        {-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
        {-5, "CL_OUT_OF_RESOURCES"},
        {-6, "CL_OUT_OF_HOST_MEMORY"},
        {-11, "CL_BUILD_PROGRAM_FAILURE"},
        {-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
        {-30, "CL_INVALID_VALUE"},
        {-34, "CL_INVALID_CONTEXT"},
        {-36, "CL_INVALID_COMMAND_QUEUE"},
        {-38, "CL_INVALID_MEM_OBJECT"},
        {-42, "CL_INVALID_BINARY"},
        {-45, "CL_INVALID_PROGRAM_EXECUTABLE"},
        {-46, "CL_INVALID_KERNEL_NAME"},
        {-49, "CL_INVALID_ARG_INDEX"},
        {-50, "CL_INVALID_ARG_VALUE"},
        {-51, "CL_INVALID_ARG_SIZE"},
        {-52, "CL_INVALID_KERNEL_ARGS"},
        {-54, "CL_INVALID_WORK_GROUP_SIZE"},
        {-55, "CL_INVALID_WORK_ITEM_SIZE"},
        {-61, "CL_INVALID_BUFFER_SIZE"},
        {-63, "CL_INVALID_GLOBAL_WORK_SIZE"},
        {-9999, "an illegal access of memory"},
        {-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
    };
    for (int i = 0; i < KNI_COUNT(names); i++)
        if (names[i].status == status) return names[i].name;
    return "an unknown status";
}
