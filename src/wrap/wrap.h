/* The decorators: each makes a backend around one or two inner ones. NULL with the failure told. */
#ifndef KNI_WRAP_H
#define KNI_WRAP_H

#include <kn/backend.h>

kn_backend *kni_autodiff_open(const char *argument, kn_backend *const *inner, int32_t n_inner);
kn_backend *kni_check_open(const char *argument, kn_backend *const *inner, int32_t n_inner);
kn_backend *kni_fusion_open(const char *argument, kn_backend *const *inner, int32_t n_inner);
kn_backend *kni_trace_open(const char *argument, kn_backend *const *inner, int32_t n_inner);
kn_backend *kni_profile_open(const char *argument, kn_backend *const *inner, int32_t n_inner);
kn_backend *kni_nan_open(const char *argument, kn_backend *const *inner, int32_t n_inner);

/* The guard of a leaf registered from outside. Once it has a device, `opened` tells the leaf. */
kn_backend *kni_fallback_open(kn_backend *leaf);
void kni_fallback_opened(kn_backend *guard);

#endif
