/* The functions of NVIDIA's libraries that Kiln calls, found with dlopen: no header of theirs is needed to build. The
   lists below are the only place that names them; a function's field has its list's name, its symbol is the one of the
   ABI (with the version that the headers would have added). All return 0 for success. */
#ifndef KNI_CUDA_API_H
#define KNI_CUDA_API_H

#include <kn/base.h>

/* A device address, and the tensor map that the copy engine of Hopper reads. */
typedef unsigned long long kni_cuda_address;
typedef struct kni_tensor_map {
    _Alignas(64) uint64_t opaque[16];
} kni_tensor_map;

/* What a kernel of a graph is launched with. */
typedef struct kni_node_launch {
    void *function;
    unsigned grid[3], block[3], shared;
    void **parameters, **extra;
    void *kernel, *context; /* NULL: the function says it all */
} kni_node_launch;

#define KNI_CUDA_DRIVER_LIST(F)                                                                              \
    F(init, "cuInit", (unsigned flags))                                                                      \
    F(driver_version, "cuDriverGetVersion", (int *version))                                                  \
    F(error_string, "cuGetErrorString", (int error, const char **text))                                      \
    F(error_name, "cuGetErrorName", (int error, const char **text))                                          \
    F(device_get, "cuDeviceGet", (int *device, int ordinal))                                                 \
    F(device_count, "cuDeviceGetCount", (int *count))                                                        \
    F(device_name, "cuDeviceGetName", (char *name, int bytes, int device))                                   \
    F(device_memory, "cuDeviceTotalMem_v2", (size_t * bytes, int device))                                    \
    F(device_attribute, "cuDeviceGetAttribute", (int *value, int attribute, int device))                     \
    F(context_retain, "cuDevicePrimaryCtxRetain", (void **context, int device))                              \
    F(context_release, "cuDevicePrimaryCtxRelease_v2", (int device))                                         \
    F(context_reset, "cuDevicePrimaryCtxReset_v2", (int device))                                             \
    F(context_set, "cuCtxSetCurrent", (void *context))                                                       \
    F(memory_allocate, "cuMemAlloc_v2", (kni_cuda_address * address, size_t bytes))                          \
    F(memory_free, "cuMemFree_v2", (kni_cuda_address address))                                               \
    F(host_allocate, "cuMemHostAlloc", (void **memory, size_t bytes, unsigned flags))                        \
    F(host_free, "cuMemFreeHost", (void *memory))                                                            \
    F(copy_in, "cuMemcpyHtoDAsync_v2", (kni_cuda_address to, const void *from, size_t bytes, void *stream))  \
    F(copy_out, "cuMemcpyDtoHAsync_v2", (void *to, kni_cuda_address from, size_t bytes, void *stream))       \
    F(copy_on, "cuMemcpyDtoDAsync_v2",                                                                       \
      (kni_cuda_address to, kni_cuda_address from, size_t bytes, void *stream))                              \
    F(set_bytes, "cuMemsetD8Async", (kni_cuda_address to, unsigned char value, size_t bytes, void *stream))  \
    F(stream_create, "cuStreamCreate", (void **stream, unsigned flags))                                      \
    F(stream_wait, "cuStreamSynchronize", (void *stream))                                                    \
    F(stream_destroy, "cuStreamDestroy_v2", (void *stream))                                                  \
    F(event_create, "cuEventCreate", (void **event, unsigned flags))                                         \
    F(event_record, "cuEventRecord", (void *event, void *stream))                                            \
    F(event_elapsed, "cuEventElapsedTime", (float *milliseconds, void *start, void *end))                    \
    F(event_query, "cuEventQuery", (void *event))                                                            \
    F(event_wait, "cuEventSynchronize", (void *event))                                                       \
    F(event_destroy, "cuEventDestroy_v2", (void *event))                                                     \
    F(module_load, "cuModuleLoadData", (void **module, const void *image))                                   \
    F(module_unload, "cuModuleUnload", (void *module))                                                       \
    F(module_function, "cuModuleGetFunction", (void **function, void *module, const char *name))             \
    F(function_attribute, "cuFuncGetAttribute", (int *value, int attribute, void *function))                 \
    F(function_set, "cuFuncSetAttribute", (void *function, int attribute, int value))                        \
    F(launch, "cuLaunchKernel",                                                                              \
      (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,                  \
       unsigned block_y, unsigned block_z, unsigned shared, void *stream, void **parameters, void **extra))  \
    F(capture_begin, "cuStreamBeginCapture_v2", (void *stream, int mode))                                    \
    F(capture_end, "cuStreamEndCapture", (void *stream, void **graph))                                       \
    F(graph_instantiate, "cuGraphInstantiateWithFlags",                                                      \
      (void **executable, void *graph, unsigned long long flags))                                            \
    F(graph_upload, "cuGraphUpload", (void *executable, void *stream))                                       \
    F(graph_launch, "cuGraphLaunch", (void *executable, void *stream))                                       \
    F(graph_destroy, "cuGraphDestroy", (void *graph))                                                        \
    F(executable_destroy, "cuGraphExecDestroy", (void *executable))                                          \
    F(tensor_map, "cuTensorMapEncodeTiled",                                                                  \
      (kni_tensor_map * map, int dtype, uint32_t rank, void *address, const uint64_t *dims,                  \
       const uint64_t *strides, const uint32_t *box, const uint32_t *steps, int interleave, int swizzle,     \
       int promotion, int fill))

/* NULL where the driver lacks them: nothing is recorded then. */
#define KNI_CUDA_RECORD_LIST(F)                                                                              \
    F(capture_info, "cuStreamGetCaptureInfo_v2",                                                             \
      (void *stream, int *status, uint64_t *id, void **graph, void *const **nodes, size_t *n_nodes))         \
    F(node_set, "cuGraphExecKernelNodeSetParams_v2",                                                         \
      (void *executable, void *node, const kni_node_launch *launch))                                         \
    F(node_dependents, "cuGraphNodeGetDependentNodes", (void *node, void **nodes, size_t *n_nodes))          \
    F(edges_add, "cuGraphAddDependencies", (void *graph, void *const *from, void *const *to, size_t n))      \
    F(edges_remove, "cuGraphRemoveDependencies", (void *graph, void *const *from, void *const *to, size_t n))

#define KNI_CUDA_COMPILER_LIST(F)                                                                            \
    F(version, "nvrtcVersion", (int *major, int *minor))                                                     \
    F(arch_count, "nvrtcGetNumSupportedArchs", (int *count))                                                 \
    F(arch_list, "nvrtcGetSupportedArchs", (int *list))                                                      \
    F(create, "nvrtcCreateProgram",                                                                          \
      (void **program, const char *text, const char *name, int headers, const char *const *header_texts,     \
       const char *const *header_names))                                                                     \
    F(destroy, "nvrtcDestroyProgram", (void **program))                                                      \
    F(compile, "nvrtcCompileProgram", (void *program, int count, const char *const *options))                \
    F(log_bytes, "nvrtcGetProgramLogSize", (void *program, size_t *bytes))                                   \
    F(log, "nvrtcGetProgramLog", (void *program, char *log))                                                 \
    F(cubin_bytes, "nvrtcGetCUBINSize", (void *program, size_t *bytes))                                      \
    F(cubin, "nvrtcGetCUBIN", (void *program, char *image))                                                  \
    F(ptx_bytes, "nvrtcGetPTXSize", (void *program, size_t *bytes))                                          \
    F(ptx, "nvrtcGetPTX", (void *program, char *image))

/* What the heuristic of cuBLASLt answers. */
typedef struct kni_lt_choice {
    uint64_t algorithm[8];
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
} kni_lt_choice;

#define KNI_CUDA_PRODUCT_LIST(F)                                                                             \
    F(create, "cublasLtCreate", (void **handle))                                                             \
    F(destroy, "cublasLtDestroy", (void *handle))                                                            \
    F(desc_create, "cublasLtMatmulDescCreate", (void **desc, int compute, int scale))                        \
    F(desc_destroy, "cublasLtMatmulDescDestroy", (void *desc))                                               \
    F(desc_set, "cublasLtMatmulDescSetAttribute",                                                            \
      (void *desc, int attribute, const void *value, size_t bytes))                                          \
    F(layout_create, "cublasLtMatrixLayoutCreate",                                                           \
      (void **layout, int dtype, uint64_t rows, uint64_t columns, int64_t leading))                          \
    F(layout_destroy, "cublasLtMatrixLayoutDestroy", (void *layout))                                         \
    F(layout_set, "cublasLtMatrixLayoutSetAttribute",                                                        \
      (void *layout, int attribute, const void *value, size_t bytes))                                        \
    F(preference_create, "cublasLtMatmulPreferenceCreate", (void **preference))                              \
    F(preference_destroy, "cublasLtMatmulPreferenceDestroy", (void *preference))                             \
    F(preference_set, "cublasLtMatmulPreferenceSetAttribute",                                                \
      (void *preference, int attribute, const void *value, size_t bytes))                                    \
    F(choose, "cublasLtMatmulAlgoGetHeuristic",                                                              \
      (void *handle, void *desc, void *a, void *b, void *c, void *d, void *preference, int wanted,           \
       kni_lt_choice *choices, int *found))                                                                  \
    F(matmul, "cublasLtMatmul",                                                                              \
      (void *handle, void *desc, const void *alpha, const void *a, void *layout_a, const void *b,            \
       void *layout_b, const void *beta, const void *c, void *layout_c, void *d, void *layout_d,             \
       const uint64_t *algorithm, void *workspace, size_t workspace_bytes, void *stream))

/* cuDNN's graphs are made of descriptors with numbered attributes (cuda_cudnn.c knows the numbers). */
#define KNI_CUDA_GRAPH_LIST(F)                                                                               \
    F(create, "cudnnCreate", (void **handle))                                                                \
    F(destroy, "cudnnDestroy", (void *handle))                                                               \
    F(set_stream, "cudnnSetStream", (void *handle, void *stream))                                            \
    F(make, "cudnnBackendCreateDescriptor", (int kind, void **descriptor))                                   \
    F(release, "cudnnBackendDestroyDescriptor", (void *descriptor))                                          \
    F(finalize, "cudnnBackendFinalize", (void *descriptor))                                                  \
    F(set, "cudnnBackendSetAttribute",                                                                       \
      (void *descriptor, int name, int type, int64_t count, const void *values))                             \
    F(get, "cudnnBackendGetAttribute",                                                                       \
      (void *descriptor, int name, int type, int64_t wanted, int64_t *count, void *values))                  \
    F(execute, "cudnnBackendExecute", (void *handle, void *plan, void *pack))

#define KNI_CUDA_FIELD(field, symbol, arguments) int(*field) arguments;
typedef struct kni_cuda_driver_api {
    KNI_CUDA_DRIVER_LIST(KNI_CUDA_FIELD)
    KNI_CUDA_RECORD_LIST(KNI_CUDA_FIELD)
} kni_cuda_driver_api;
typedef struct kni_cuda_compiler_api {
    KNI_CUDA_COMPILER_LIST(KNI_CUDA_FIELD)
} kni_cuda_compiler_api;
typedef struct kni_cuda_product_api {
    KNI_CUDA_PRODUCT_LIST(KNI_CUDA_FIELD)
} kni_cuda_product_api;
typedef struct kni_cuda_graph_api {
    KNI_CUDA_GRAPH_LIST(KNI_CUDA_FIELD)
} kni_cuda_graph_api;
#undef KNI_CUDA_FIELD

/* Opened once for the process; NULL after a failure (unless silent): what is missing and what to do. The driver's
   library is also initialised. */
const kni_cuda_driver_api *kni_cuda_driver_library(bool silent);
const kni_cuda_compiler_api *kni_cuda_compiler_library(void);
/* NULL where it is not found, which is no failure: one line is logged. */
const kni_cuda_product_api *kni_cuda_product_library(void);
const kni_cuda_graph_api *kni_cuda_graph_library(void);

/* The version of CUDA that the driver is made for, 13000 for 13.0; after the driver was opened. */
int kni_cuda_driver_version(void);
/* False under KN_VENDOR=off, which switches the vendor's libraries off, but for driver and compiler. */
bool kni_cuda_vendor(void);

/* Results that the code looks at, and the constants of the calls above. */
enum {
    KNI_CU_OUT_OF_MEMORY = 2,
    KNI_CU_NOT_INITIALISED = 3,
    KNI_CU_DEINITIALISED = 4,
    KNI_CU_STUB = 34,
    KNI_CU_NO_DEVICE = 100,
    KNI_CU_INVALID_DEVICE = 101,
    KNI_CU_DRIVER_MISMATCH = 803,

    KNI_CU_ATTRIBUTE_THREADS = 1,
    KNI_CU_ATTRIBUTE_SHARED = 8,
    KNI_CU_ATTRIBUTE_PROCESSORS = 16,
    KNI_CU_ATTRIBUTE_MAJOR = 75,
    KNI_CU_ATTRIBUTE_MINOR = 76,
    KNI_CU_ATTRIBUTE_SHARED_MOST = 97,
    KNI_CU_FUNCTION_THREADS = 0,
    KNI_CU_FUNCTION_SHARED = 1,
    KNI_CU_FUNCTION_LOCAL = 3,
    KNI_CU_FUNCTION_REGISTERS = 4,
    KNI_CU_FUNCTION_DYNAMIC = 8,
    KNI_CU_STREAM_APART = 1, /* not ordered with the default stream */
    KNI_CU_EVENT_NO_TIME = 2,
    KNI_CU_CAPTURE_RELAXED = 2, /* other calls, such as allocations, go on as usual */
    KNI_CU_MAP_F16 = 6,
    KNI_CU_MAP_F32 = 7,
    KNI_CU_MAP_BF16 = 9,
    KNI_CU_SWIZZLE_128 = 3,
    KNI_CU_PROMOTE_256 = 3,

    KNI_LT_NOT_SUPPORTED = 15
};

#endif
