/* The functions of a runtime in CUDA's style that Kiln calls: devices, memory, one stream, events, modules and graphs. AMD's HIP has
   them under other names with the same arguments, so one table of functions serves both; the lists below are the only place
   that names them, CUDA's symbol first. Where HIP's arguments differ its symbol is NULL and hip_api.c fills the field. All return 0
   for success, and the results that the code looks at have the same numbers. */
#ifndef KNI_RUNTIME_API_H
#define KNI_RUNTIME_API_H

#include <kn/base.h>

/* A device address. */
typedef unsigned long long kni_runtime_address;

/* What a kernel of a graph is launched with. */
typedef struct kni_node_launch {
    void *function;
    unsigned grid[3], block[3], shared;
    void **parameters, **extra;
    void *kernel, *context; /* NULL: the function says it all */
} kni_node_launch;

#define KNI_RUNTIME_LIST(F)                                                                                  \
    F(init, "cuInit", "hipInit", (unsigned flags))                                                           \
    F(driver_version, "cuDriverGetVersion", "hipDriverGetVersion", (int *version))                           \
    F(error_string, "cuGetErrorString", NULL, (int error, const char **text))                                \
    F(error_name, "cuGetErrorName", NULL, (int error, const char **text))                                    \
    F(device_get, "cuDeviceGet", "hipDeviceGet", (int *device, int ordinal))                                 \
    F(device_count, "cuDeviceGetCount", "hipGetDeviceCount", (int *count))                                   \
    F(device_name, "cuDeviceGetName", "hipDeviceGetName", (char *name, int bytes, int device))               \
    F(device_memory, "cuDeviceTotalMem_v2", "hipDeviceTotalMem", (size_t * bytes, int device))               \
    F(device_attribute, "cuDeviceGetAttribute", "hipDeviceGetAttribute",                                     \
      (int *value, int attribute, int device))                                                               \
    F(context_retain, "cuDevicePrimaryCtxRetain", NULL, (void **context, int device))                        \
    F(context_release, "cuDevicePrimaryCtxRelease_v2", NULL, (int device))                                   \
    F(context_reset, "cuDevicePrimaryCtxReset_v2", NULL, (int device))                                       \
    F(context_set, "cuCtxSetCurrent", NULL, (void *context))                                                 \
    F(memory_allocate, "cuMemAlloc_v2", "hipMalloc", (kni_runtime_address * address, size_t bytes))          \
    F(memory_free, "cuMemFree_v2", "hipFree", (kni_runtime_address address))                                 \
    F(host_allocate, "cuMemHostAlloc", "hipHostMalloc", (void **memory, size_t bytes, unsigned flags))       \
    F(host_free, "cuMemFreeHost", "hipHostFree", (void *memory))                                             \
    F(copy_in, "cuMemcpyHtoDAsync_v2", "hipMemcpyHtoDAsync",                                                 \
      (kni_runtime_address to, const void *from, size_t bytes, void *stream))                                \
    F(copy_out, "cuMemcpyDtoHAsync_v2", "hipMemcpyDtoHAsync",                                                \
      (void *to, kni_runtime_address from, size_t bytes, void *stream))                                      \
    F(copy_on, "cuMemcpyDtoDAsync_v2", "hipMemcpyDtoDAsync",                                                 \
      (kni_runtime_address to, kni_runtime_address from, size_t bytes, void *stream))                        \
    F(set_bytes, "cuMemsetD8Async", "hipMemsetD8Async",                                                      \
      (kni_runtime_address to, unsigned char value, size_t bytes, void *stream))                             \
    F(stream_create, "cuStreamCreate", "hipStreamCreateWithFlags", (void **stream, unsigned flags))          \
    F(stream_wait, "cuStreamSynchronize", "hipStreamSynchronize", (void *stream))                            \
    F(stream_destroy, "cuStreamDestroy_v2", "hipStreamDestroy", (void *stream))                              \
    F(event_create, "cuEventCreate", "hipEventCreateWithFlags", (void **event, unsigned flags))              \
    F(event_record, "cuEventRecord", "hipEventRecord", (void *event, void *stream))                          \
    F(event_elapsed, "cuEventElapsedTime", "hipEventElapsedTime",                                            \
      (float *milliseconds, void *start, void *end))                                                         \
    F(event_query, "cuEventQuery", "hipEventQuery", (void *event))                                           \
    F(event_wait, "cuEventSynchronize", "hipEventSynchronize", (void *event))                                \
    F(event_destroy, "cuEventDestroy_v2", "hipEventDestroy", (void *event))                                  \
    F(module_load, "cuModuleLoadData", "hipModuleLoadData", (void **module, const void *image))              \
    F(module_unload, "cuModuleUnload", "hipModuleUnload", (void *module))                                    \
    F(module_function, "cuModuleGetFunction", "hipModuleGetFunction",                                        \
      (void **function, void *module, const char *name))                                                     \
    F(function_attribute, "cuFuncGetAttribute", "hipFuncGetAttribute",                                       \
      (int *value, int attribute, void *function))                                                           \
    F(function_set, "cuFuncSetAttribute", NULL, (void *function, int attribute, int value))                  \
    F(launch, "cuLaunchKernel", "hipModuleLaunchKernel",                                                     \
      (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,                  \
       unsigned block_y, unsigned block_z, unsigned shared, void *stream, void **parameters, void **extra))

/* NULL where the driver lacks them: nothing is recorded then. */
#define KNI_RUNTIME_RECORD_LIST(F)                                                                           \
    F(capture_begin, "cuStreamBeginCapture_v2", "hipStreamBeginCapture", (void *stream, int mode))           \
    F(capture_end, "cuStreamEndCapture", "hipStreamEndCapture", (void *stream, void **graph))                \
    F(graph_instantiate, "cuGraphInstantiateWithFlags", "hipGraphInstantiateWithFlags",                      \
      (void **executable, void *graph, unsigned long long flags))                                            \
    F(graph_launch, "cuGraphLaunch", "hipGraphLaunch", (void *executable, void *stream))                     \
    F(graph_destroy, "cuGraphDestroy", "hipGraphDestroy", (void *graph))                                     \
    F(executable_destroy, "cuGraphExecDestroy", "hipGraphExecDestroy", (void *executable))                   \
    F(capture_info, "cuStreamGetCaptureInfo_v2", "hipStreamGetCaptureInfo_v2",                               \
      (void *stream, int *status, uint64_t *id, void **graph, void *const **nodes, size_t *n_nodes))         \
    F(node_set, "cuGraphExecKernelNodeSetParams_v2", NULL,                                                   \
      (void *executable, void *node, const kni_node_launch *launch))

/* NULL where the driver lacks them, and then not called: what an upload does, the first replay does; without edges a
   recording stays one line. */
#define KNI_RUNTIME_OPTIONAL_LIST(F)                                                                         \
    F(graph_upload, "cuGraphUpload", "hipGraphUpload", (void *executable, void *stream))                     \
    F(node_dependents, "cuGraphNodeGetDependentNodes", "hipGraphNodeGetDependentNodes",                      \
      (void *node, void **nodes, size_t *n_nodes))                                                           \
    F(edges_add, "cuGraphAddDependencies", "hipGraphAddDependencies",                                        \
      (void *graph, void *const *from, void *const *to, size_t n))                                           \
    F(edges_remove, "cuGraphRemoveDependencies", "hipGraphRemoveDependencies",                               \
      (void *graph, void *const *from, void *const *to, size_t n))

#define KNI_RUNTIME_COMPILER_LIST(F)                                                                         \
    F(version, "nvrtcVersion", "hiprtcVersion", (int *major, int *minor))                                    \
    F(create, "nvrtcCreateProgram", "hiprtcCreateProgram",                                                   \
      (void **program, const char *text, const char *name, int headers, const char *const *header_texts,     \
       const char *const *header_names))                                                                     \
    F(destroy, "nvrtcDestroyProgram", "hiprtcDestroyProgram", (void **program))                              \
    F(compile, "nvrtcCompileProgram", "hiprtcCompileProgram",                                                \
      (void *program, int count, const char *const *options))                                                \
    F(log_bytes, "nvrtcGetProgramLogSize", "hiprtcGetProgramLogSize", (void *program, size_t *bytes))        \
    F(log, "nvrtcGetProgramLog", "hiprtcGetProgramLog", (void *program, char *log))                          \
    F(code_bytes, "nvrtcGetCUBINSize", "hiprtcGetCodeSize", (void *program, size_t *bytes))                  \
    F(code, "nvrtcGetCUBIN", "hiprtcGetCode", (void *program, char *image))

#define KNI_RUNTIME_FIELD(field, cuda, hip, arguments) int(*field) arguments;
typedef struct kni_runtime_api {
    KNI_RUNTIME_LIST(KNI_RUNTIME_FIELD)
    KNI_RUNTIME_RECORD_LIST(KNI_RUNTIME_FIELD)
    KNI_RUNTIME_OPTIONAL_LIST(KNI_RUNTIME_FIELD)
} kni_runtime_api;
typedef struct kni_runtime_compiler_api {
    KNI_RUNTIME_COMPILER_LIST(KNI_RUNTIME_FIELD)
} kni_runtime_compiler_api;
#undef KNI_RUNTIME_FIELD

/* Where a function's address goes: a list of those of a library. */
typedef struct kni_runtime_symbol {
    const char *name; /* NULL: not this library's */
    size_t offset;    /* of its field */
} kni_runtime_symbol;
/* Fills the fields; the name of the first that is absent, NULL: all are there. */
const char *kni_runtime_find(void *handle, const kni_runtime_symbol *symbols, size_t count, void *api);
/* The same where any may be absent: their fields are NULL. */
void kni_runtime_find_some(void *handle, const kni_runtime_symbol *symbols, size_t count, void *api);

/* Results that the code looks at, and constants of the calls above that both have. */
enum {
    KNI_RT_OUT_OF_MEMORY = 2,
    KNI_RT_NOT_INITIALISED = 3,
    KNI_RT_DEINITIALISED = 4,
    KNI_RT_NO_DEVICE = 100,
    KNI_RT_INVALID_DEVICE = 101,

    KNI_RT_FUNCTION_THREADS = 0,
    KNI_RT_FUNCTION_SHARED = 1,
    KNI_RT_FUNCTION_DYNAMIC = 8,
    KNI_RT_STREAM_APART = 1, /* not ordered with the default stream */
    KNI_RT_EVENT_NO_TIME = 2,
    KNI_RT_CAPTURE_RELAXED = 2 /* other calls, such as allocations, go on as usual */
};

#endif
