/* The HIP driver, for its tests too. */
#ifndef KNI_HIP_DRIVER_H
#define KNI_HIP_DRIVER_H

#include "backend/hip/hip_api.h"
#include "backend/runtime/runtime.h"

/* Opens device `number`; NULL after a failure. The driver's close ends it. */
kni_driver *kni_hip_driver_open(int32_t number);

#endif
