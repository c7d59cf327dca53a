/* The leaf backends, each one object for the process. */
#ifndef KNI_BACKENDS_H
#define KNI_BACKENDS_H

#include <kn/backend.h>

kn_backend *kni_ref_backend(void);
kn_backend *kni_cpu_backend(void);
kn_backend *kni_null_backend(void);

#endif
