/* The leaf backends, each one object for the process. */
#ifndef KNI_BACKENDS_H
#define KNI_BACKENDS_H

#include <kn/backend.h>

/* A trait of the library's own leaves: they bring results into the order that is promised, whatever their kernels write, so that
   KN_LAYOUT may choose it. */
enum { KNI_TRAIT_ORDERS = 0x100 };

kn_backend *kni_ref_backend(void);
kn_backend *kni_cpu_backend(void);
/* The same as kni_cpu_backend, able to run groups; apart, so that small programs do not contain what runs them. */
kn_backend *kni_cpu_backend_grouping(void);
kn_backend *kni_null_backend(void);

/* Devices that compile kernels at run time: "cuda:0", "opencl:1"; NULL after a failure. The describing ones write
   "opencl:0  name of the device" for the n-th there is, false past the last, and tell no failure. */
#define DEVICE(name, ...)                                                                                    \
    kn_backend *kni_##name##_open(const char *argument, kn_backend *const *inner, int32_t n_inner);          \
    bool kni_##name##_describe(int32_t n, char *text, size_t bytes);
#include "core/devices.def"
#undef DEVICE

#endif
