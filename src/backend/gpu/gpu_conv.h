/* Convolutions of a device: what the files that make them know of each other. */
#ifndef KNI_GPU_CONV_H
#define KNI_GPU_CONV_H

#include "backend/gpu/product.h"

/* The rows conv, conv_transpose and conv_weight_grad; the driver's KNI_CONVOLUTION_* say the same of a library's. */
enum { KNI_CONV_FORWARD, KNI_CONV_TRANSPOSED, KNI_CONV_WEIGHT };

/* By the driver's library, with the tail where there is one; the record's results are finished. KN_ERROR_UNSUPPORTED without
   a text: it has none for this one, and nothing was done. */
kn_status kni_gpu_run_conv_library(kni_gpu *g, const kn_record *r, const kni_gpu_tail *tail, int what);
/* Sums the results of a library that are NaN once more, without the padding that it multiplies too. */
kn_status kni_gpu_conv_mend(kni_gpu *g, const kn_record *r, int what);

#endif
