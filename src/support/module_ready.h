/* Whether a module was initialised, for the parts that save and train it. Defined in src/nn/module_check.c. */
#ifndef KNI_MODULE_READY_H
#define KNI_MODULE_READY_H

#include <kn/nn/module.h>

/* An error under the function's name that names the first part whose init was forgotten: a layer that is all zeros, memory that was
   never set, or a param that has been dropped. */
kn_status kni_module_ready(kn_module module, const char *function);

#endif
