/* Max pooling of bytes. */
#ifndef KNI_BACKEND_CPU_POOL_BYTES_H
#define KNI_BACKEND_CPU_POOL_BYTES_H

#include "backend/cpu/pool_kernels.h"
#include "ops/op.h"

/* max_pool_values of u8 or i8, whose planes are pooled by the plan. */
kn_status kni_pool_bytes(const kn_record *r, const kni_pool_plan *plan, int64_t planes);

#endif
