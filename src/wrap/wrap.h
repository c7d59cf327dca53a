/* The decorators: each makes a backend around one or two inner ones. NULL after a failure. */
#ifndef KNI_WRAP_H
#define KNI_WRAP_H

#include <kn/backend.h>

kn_backend *kni_autodiff_open(const char *argument, kn_backend *const *inner, int32_t n_inner);
kn_backend *kni_check_open(const char *argument, kn_backend *const *inner, int32_t n_inner);
kn_backend *kni_fusion_open(const char *argument, kn_backend *const *inner, int32_t n_inner);
kn_backend *kni_trace_open(const char *argument, kn_backend *const *inner, int32_t n_inner);
kn_backend *kni_profile_open(const char *argument, kn_backend *const *inner, int32_t n_inner);
kn_backend *kni_nan_open(const char *argument, kn_backend *const *inner, int32_t n_inner);

/* The library's own backend around one that came from outside, whose struct is read here and nowhere else. Once it has a device,
   `opened` tells the outside one. NULL after a failure; `given` is closed then where that is possible. */
kn_backend *kni_outside_open(const char *name, kn_backend *given, kn_backend *const *inner, int32_t n_inner);
void kni_outside_opened(kn_backend *b);
/* Runs a record that the leaf has no kernel for on the CPU, in the name of backend b; *told: rows whose fallback has been logged, a
   bit for each. */
kn_status kni_run_on_cpu(kn_backend *b, const kn_record *r, _Atomic unsigned char *told);

/* Whether the stack makes sense; else the reason is told under the function's name. */
bool kni_stack_makes_sense(const kn_backend *top, const char *function);

#endif
