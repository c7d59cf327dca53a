/* Whether a module was initialised, for the parts that save and train it. Defined in src/nn/module_check.c. */
#ifndef KNI_MODULE_READY_H
#define KNI_MODULE_READY_H

#include <kn/nn/module.h>

/* An error under the function's name that names the first part with memory that was never set, or with a param that has been
   dropped. Parts that are all zeros are modules without params. */
kn_status kni_module_ready(kn_module module, const char *function);
/* The same, and an error for a module of nothing but such zeros: its init was forgotten. */
kn_status kni_module_filled(kn_module module, const char *function);

#endif
