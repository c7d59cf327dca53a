/* Pools of devices that compile kernels. */
#ifndef KNI_GPU_POOL_H
#define KNI_GPU_POOL_H

#include "backend/gpu/gpu.h"

kn_status kni_gpu_run_max_pool(kni_gpu *g, const kn_record *r);
kn_status kni_gpu_run_max_pool_values(kni_gpu *g, const kn_record *r);
kn_status kni_gpu_run_avg_pool(kni_gpu *g, const kn_record *r);
kn_status kni_gpu_run_max_pool_grad(kni_gpu *g, const kn_record *r);
kn_status kni_gpu_run_avg_pool_grad(kni_gpu *g, const kn_record *r);

#endif
