/* The text of the kernels that sort, and what it says of sizes. */
#ifndef KNI_GPU_SORT_TEXT_H
#define KNI_GPU_SORT_TEXT_H

#include "backend/gpu/gpu_text.h"

/* Keys that a workgroup sorts, and those of one of its invocations. */
enum { KNI_GPU_SORT_TILE = 1792, KNI_GPU_SORT_EACH = 7, KNI_GPU_SORT_WORKGROUP = 256 };

extern const kni_gpu_text kni_gpu_sort_text;

#endif
