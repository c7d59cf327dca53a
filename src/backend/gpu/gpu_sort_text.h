/* The text of the kernels that sort, and what it says of sizes. */
#ifndef KNI_GPU_SORT_TEXT_H
#define KNI_GPU_SORT_TEXT_H

#include "backend/gpu/gpu_text.h"

/* Keys that a workgroup sorts or merges, and those of one of its invocations; sort_large_tiles: twice as many of both. */
enum { KNI_GPU_SORT_TILE = 2304, KNI_GPU_SORT_EACH = 9, KNI_GPU_SORT_WORKGROUP = 256 };

extern const kni_gpu_text kni_gpu_sort_text;

#endif
