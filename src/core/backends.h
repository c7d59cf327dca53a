/* The leaf backends, each one object for the process. */
#ifndef KNI_BACKENDS_H
#define KNI_BACKENDS_H

#include <kn/backend.h>

kn_backend *kni_ref_backend(void);
kn_backend *kni_cpu_backend(void);
/* The same as kni_cpu_backend, able to run groups; apart, so that small programs do not contain what runs them. */
kn_backend *kni_cpu_backend_grouping(void);
kn_backend *kni_null_backend(void);

/* Devices that compile kernels at run time, in the order in which `kiln info` lists them. Each has two functions:
   kni_cuda_open opens "cuda:0", NULL after a failure; kni_cuda_describe writes "cuda:0  name of the device" for the n-th
   there is, false past the last, and tells no failure. */
#define KNI_NUMBERED_DEVICES(F)                                                                              \
    F(cuda)                                                                                                  \
    F(opencl)                                                                                                \
    F(vulkan)                                                                                                \
    F(metal)                                                                                                 \
    F(hip)

#define KNI_NUMBERED_DEVICE(kind)                                                                            \
    kn_backend *kni_##kind##_open(const char *argument, kn_backend *const *inner, int32_t n_inner);          \
    bool kni_##kind##_describe(int32_t n, char *text, size_t bytes);
KNI_NUMBERED_DEVICES(KNI_NUMBERED_DEVICE)
#undef KNI_NUMBERED_DEVICE

#endif
