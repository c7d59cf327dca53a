/* A stand-in for libamdhip64, with hiprtc inside it, over host memory: that of CUDA (fake_cuda.c) under HIP's names, and what HIP says in
   another way. FAKE_HIP_ARCH and FAKE_HIP_WAVE say what device it is; with FAKE_HIP_6 its properties lie as in ROCm 6. What a real
   hiprtc compiled loads, and launching it does nothing. */
#define cuInit hipInit
#define cuDriverGetVersion fake_version
#define cuGetErrorString fake_error_string
#define cuGetErrorName fake_error_name
#define cuDeviceGet hipDeviceGet
#define cuDeviceGetCount hipGetDeviceCount
#define cuDeviceGetName hipDeviceGetName
#define cuDeviceTotalMem_v2 hipDeviceTotalMem
#define cuDeviceGetAttribute fake_attribute
#define cuDevicePrimaryCtxRetain fake_retain
#define cuDevicePrimaryCtxRelease_v2 fake_release
#define cuDevicePrimaryCtxReset_v2 fake_reset
#define cuCtxSetCurrent fake_set_current
#define cuMemAlloc_v2 hipMalloc
#define cuMemFree_v2 hipFree
#define cuMemHostAlloc hipHostMalloc
#define cuMemFreeHost hipHostFree
#define cuMemcpyHtoDAsync_v2 hipMemcpyHtoDAsync
#define cuMemcpyDtoHAsync_v2 hipMemcpyDtoHAsync
#define cuMemcpyDtoDAsync_v2 hipMemcpyDtoDAsync
#define cuMemsetD8Async hipMemsetD8Async
#define cuStreamCreate hipStreamCreateWithFlags
#define cuStreamSynchronize hipStreamSynchronize
#define cuStreamDestroy_v2 hipStreamDestroy
#define cuEventCreate hipEventCreateWithFlags
#define cuEventRecord hipEventRecord
#define cuEventSynchronize hipEventSynchronize
#define cuEventQuery hipEventQuery
#define cuEventElapsedTime hipEventElapsedTime
#define cuEventDestroy_v2 hipEventDestroy
#define cuModuleUnload hipModuleUnload
#define cuModuleGetFunction hipModuleGetFunction
#define cuFuncGetAttribute hipFuncGetAttribute
#define cuStreamBeginCapture_v2 hipStreamBeginCapture
#define cuStreamEndCapture hipStreamEndCapture
#define cuGraphInstantiateWithFlags hipGraphInstantiateWithFlags
#define cuGraphUpload hipGraphUpload
#define cuStreamGetCaptureInfo_v2 hipStreamGetCaptureInfo_v2
#define cuGraphExecKernelNodeSetParams_v2 fake_node_set
#define cuGraphLaunch hipGraphLaunch
#define cuGraphNodeGetDependentNodes hipGraphNodeGetDependentNodes
#define cuGraphAddDependencies hipGraphAddDependencies
#define cuGraphRemoveDependencies hipGraphRemoveDependencies
#define cuGraphDestroy hipGraphDestroy
#define cuGraphExecDestroy hipGraphExecDestroy
#define nvrtcVersion hiprtcVersion
#ifndef FAKE_HIP_RUNS
#define cuModuleLoadData hipModuleLoadData
#define cuLaunchKernel hipModuleLaunchKernel
#define nvrtcCreateProgram hiprtcCreateProgram
#define nvrtcDestroyProgram hiprtcDestroyProgram
#define nvrtcCompileProgram hiprtcCompileProgram
#define nvrtcGetProgramLogSize hiprtcGetProgramLogSize
#define nvrtcGetProgramLog hiprtcGetProgramLog
#define nvrtcGetCUBINSize hiprtcGetCodeSize
#define nvrtcGetCUBIN hiprtcGetCode
#endif
#include "fake_cuda.c"

int hipDriverGetVersion(int *version)
{
    const char *text = getenv("FAKE_HIP_VERSION");
    *version = text ? atoi(text) : 50221153;
    return told_to_fail(__func__);
}

const char *hipGetErrorString(int error)
{
    const char *text = NULL;
    fake_error_string(error, &text);
    return text;
}
const char *hipGetErrorName(int error) { return hipGetErrorString(error); }

int hipDeviceGetAttribute(int *value, int attribute, int device)
{
    const char *wave = getenv("FAKE_HIP_WAVE");
    (void)device;
    ENTER;
    *value = attribute == 56   ? 1024
             : attribute == 63 ? 104
             : attribute == 74 ? 65536
             : attribute == 87 ? (wave ? atoi(wave) : 64)
                               : 0;
    return 0;
}

static int properties(char *bytes, size_t at)
{
    const char *name = getenv("FAKE_HIP_ARCH");
    snprintf(bytes + at, 256, "%s", name ? name : "gfx90a:sramecc+:xnack-");
    return 0;
}
/* Programs that were built with the headers of ROCm 5 find the old properties by this name for ever. */
int hipGetDeviceProperties(void *bytes, int device) { return (void)device, properties(bytes, 396); }
#ifdef FAKE_HIP_6
int hipGetDevicePropertiesR0600(void *bytes, int device) { return (void)device, properties(bytes, 1160); }
#endif

/* The device of the thread; nothing is retained. */
int hipSetDevice(int device)
{
    static int object;
    (void)device;
    current = &object;
    return told_to_fail(__func__);
}
int hipDeviceReset(void)
{
    contexts = 0;
    fake_reset(0);
    return told_to_fail(__func__);
}

typedef struct hip_node_launch {
    unsigned block[3];
    void **extra, *function;
    unsigned grid[3];
    void **parameters;
    unsigned shared;
} hip_node_launch;
int hipGraphExecKernelNodeSetParams(void *executable, void *node, const hip_node_launch *launch)
{
    node_launch l = {.function = launch->function, .parameters = launch->parameters};
    ENTER;
#ifndef FAKE_HIP_RUNS
    if (launch->block[0] != 256 || launch->grid[1] != 1) return 1;
#endif
    return fake_node_set(executable, node, &l);
}
