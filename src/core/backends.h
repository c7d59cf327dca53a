/* The leaf backends, each one object for the process. */
#ifndef KNI_BACKENDS_H
#define KNI_BACKENDS_H

#include <kn/backend.h>

kn_backend *kni_ref_backend(void);
kn_backend *kni_cpu_backend(void);
/* The same as kni_cpu_backend, able to run groups; apart, so that small programs do not contain what runs them. */
kn_backend *kni_cpu_backend_grouping(void);
kn_backend *kni_null_backend(void);

/* Devices that compile kernels at run time: "cuda:0", "opencl:1"; NULL after a failure. The describing ones write
   "opencl:0  name of the device" for the n-th there is, false past the last, and tell no failure. */
kn_backend *kni_cuda_open(const char *argument, kn_backend *const *inner, int32_t n_inner);
kn_backend *kni_opencl_open(const char *argument, kn_backend *const *inner, int32_t n_inner);
kn_backend *kni_vulkan_open(const char *argument, kn_backend *const *inner, int32_t n_inner);
kn_backend *kni_metal_open(const char *argument, kn_backend *const *inner, int32_t n_inner);
bool kni_cuda_describe(int32_t n, char *text, size_t bytes);
bool kni_opencl_describe(int32_t n, char *text, size_t bytes);
bool kni_vulkan_describe(int32_t n, char *text, size_t bytes);
bool kni_metal_describe(int32_t n, char *text, size_t bytes);

#endif
