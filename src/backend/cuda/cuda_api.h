/* The functions of NVIDIA's libraries that Kiln calls, found with dlopen: no header of theirs is needed to build. The
   lists below are the only place that names them; a function's field has its list's name, its symbol is the one of the
   ABI (with the version that the headers would have added). All return 0 for success. */
#ifndef KNI_CUDA_API_H
#define KNI_CUDA_API_H

#include "backend/runtime/runtime_api.h"

/* The tensor map that the copy engine of Hopper reads. */
typedef struct kni_tensor_map {
    _Alignas(64) uint64_t opaque[16];
} kni_tensor_map;

/* Beside those of runtime_api.h. */
#define KNI_CUDA_DRIVER_LIST(F)                                                                              \
    F(tensor_map, "cuTensorMapEncodeTiled",                                                                  \
      (kni_tensor_map * map, int dtype, uint32_t rank, void *address, const uint64_t *dims,                  \
       const uint64_t *strides, const uint32_t *box, const uint32_t *steps, int interleave, int swizzle,     \
       int promotion, int fill))                                                                             \
    F(set_words, "cuMemsetD32Async", (kni_runtime_address to, unsigned value, size_t words, void *stream))

#define KNI_CUDA_COMPILER_LIST(F)                                                                            \
    F(arch_count, "nvrtcGetNumSupportedArchs", (int *count))                                                 \
    F(arch_list, "nvrtcGetSupportedArchs", (int *list))                                                      \
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
    F(version, "cublasLtGetVersion", (void))                                                                 \
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
    F(version, "cudnnGetVersion", (void))                                                                    \
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

/* cuDNN's recurrent layers, which are none of its graphs. */
#define KNI_CUDA_RECURRENT_LIST(F)                                                                           \
    F(tensor_create, "cudnnCreateTensorDescriptor", (void **tensor))                                         \
    F(tensor_destroy, "cudnnDestroyTensorDescriptor", (void *tensor))                                        \
    F(tensor_set, "cudnnSetTensorNdDescriptor",                                                              \
      (void *tensor, int dtype, int rank, const int *dims, const int *steps))                                \
    F(dropout_create, "cudnnCreateDropoutDescriptor", (void **dropout))                                      \
    F(dropout_destroy, "cudnnDestroyDropoutDescriptor", (void *dropout))                                     \
    F(dropout_set, "cudnnSetDropoutDescriptor",                                                              \
      (void *dropout, void *handle, float p, void *states, size_t bytes, unsigned long long seed))           \
    F(layers_create, "cudnnCreateRNNDescriptor", (void **layers))                                            \
    F(layers_destroy, "cudnnDestroyRNNDescriptor", (void *layers))                                           \
    F(layers_set, "cudnnSetRNNDescriptor_v8",                                                                \
      (void *layers, int algorithm, int cell, int biases, int directions, int input, int dtype,              \
       int computed, int math, int32_t ins, int32_t hidden, int32_t projected, int32_t count, void *dropout, \
       uint32_t flags))                                                                                      \
    F(data_create, "cudnnCreateRNNDataDescriptor", (void **data))                                            \
    F(data_destroy, "cudnnDestroyRNNDataDescriptor", (void *data))                                           \
    F(data_set, "cudnnSetRNNDataDescriptor",                                                                 \
      (void *data, int dtype, int layout, int steps, int batch, int size, const int *lengths, void *fill))   \
    F(temporary_bytes, "cudnnGetRNNTempSpaceSizes",                                                          \
      (void *handle, void *layers, int mode, void *x, size_t *workspace, size_t *reserve))                   \
    F(weight_bytes, "cudnnGetRNNWeightSpaceSize", (void *handle, void *layers, size_t *bytes))               \
    F(weight_place, "cudnnGetRNNWeightParams",                                                               \
      (void *handle, void *layers, int32_t layer, size_t bytes, const void *weights, int32_t part,           \
       void *matrix, void **matrix_at, void *bias, void **bias_at))                                          \
    F(forward, "cudnnRNNForward",                                                                            \
      (void *handle, void *layers, int mode, const int32_t *lengths, void *x_data, const void *x,            \
       void *y_data, void *y, void *h_tensor, const void *h, void *last_h, void *c_tensor, const void *c,    \
       void *last_c, size_t weight_bytes, const void *weights, size_t workspace_bytes, void *workspace,      \
       size_t reserve_bytes, void *reserve))                                                                 \
    F(backward_data, "cudnnRNNBackwardData_v8",                                                              \
      (void *handle, void *layers, const int32_t *lengths, void *y_data, const void *y, const void *dy,      \
       void *x_data, void *dx, void *h_tensor, const void *h, const void *dlast_h, void *dh, void *c_tensor, \
       const void *c, const void *dlast_c, void *dc, size_t weight_bytes, const void *weights,               \
       size_t workspace_bytes, void *workspace, size_t reserve_bytes, void *reserve))                        \
    F(backward_weights, "cudnnRNNBackwardWeights_v8",                                                        \
      (void *handle, void *layers, int adds, const int32_t *lengths, void *x_data, const void *x,            \
       void *h_tensor, const void *h, void *y_data, const void *y, size_t weight_bytes, void *dweights,      \
       size_t workspace_bytes, void *workspace, size_t reserve_bytes, void *reserve))

#define KNI_CUDA_FIELD(field, symbol, arguments) int(*field) arguments;
typedef struct kni_cuda_driver_api {
    kni_runtime_api common;
    KNI_CUDA_DRIVER_LIST(KNI_CUDA_FIELD)
} kni_cuda_driver_api;
typedef struct kni_cuda_compiler_api {
    kni_runtime_compiler_api common;
    KNI_CUDA_COMPILER_LIST(KNI_CUDA_FIELD)
} kni_cuda_compiler_api;
typedef struct kni_cuda_product_api {
    KNI_CUDA_PRODUCT_LIST(KNI_CUDA_FIELD)
} kni_cuda_product_api;
typedef struct kni_cuda_graph_api {
    KNI_CUDA_GRAPH_LIST(KNI_CUDA_FIELD)
} kni_cuda_graph_api;
typedef struct kni_cuda_recurrent_api {
    KNI_CUDA_RECURRENT_LIST(KNI_CUDA_FIELD)
} kni_cuda_recurrent_api;
#undef KNI_CUDA_FIELD

/* Opened once for the process; NULL after a failure (unless silent): what is missing and what to do. The driver's
   library is also initialised. */
const kni_cuda_driver_api *kni_cuda_driver_library(bool silent);
const kni_cuda_compiler_api *kni_cuda_compiler_library(void);
/* NULL where it is not found, which is no failure: one line is logged. */
const kni_cuda_product_api *kni_cuda_product_library(void);
const kni_cuda_graph_api *kni_cuda_graph_library(void);
const kni_cuda_recurrent_api *kni_cuda_recurrent_library(void);

/* The version of CUDA that the driver is made for, 13000 for 13.0; after the driver was opened. */
int kni_cuda_driver_version(void);
/* False under KN_VENDOR=off, which switches the vendor's libraries off, but for driver and compiler. */
bool kni_cuda_vendor(void);

/* Results that the code looks at, and the constants of the calls above. */
enum {
    KNI_CU_STUB = 34,
    KNI_CU_DRIVER_MISMATCH = 803,

    KNI_CU_ATTRIBUTE_THREADS = 1,
    KNI_CU_ATTRIBUTE_SHARED = 8,
    KNI_CU_ATTRIBUTE_PROCESSORS = 16,
    KNI_CU_ATTRIBUTE_MAJOR = 75,
    KNI_CU_ATTRIBUTE_MINOR = 76,
    KNI_CU_ATTRIBUTE_SHARED_MOST = 97,
    KNI_CU_FUNCTION_LOCAL = 3,
    KNI_CU_FUNCTION_REGISTERS = 4,
    KNI_CU_MAP_F16 = 6,
    KNI_CU_MAP_F32 = 7,
    KNI_CU_MAP_BF16 = 9,
    KNI_CU_SWIZZLE_128 = 3,
    KNI_CU_PROMOTE_256 = 3,

    KNI_LT_NOT_SUPPORTED = 15
};

#endif
