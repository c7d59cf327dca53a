/* Cumulative rows whose lines all workgroups share. */
#ifndef KNI_GPU_SCAN_H
#define KNI_GPU_SCAN_H

#include "backend/gpu/gpu.h"

/* cumsum, cummax, cummin, cumlogsumexp. KN_ERROR_UNSUPPORTED without a text: not this one. */
kn_status kni_gpu_run_scan(kni_gpu *g, const kn_record *r);

#endif
