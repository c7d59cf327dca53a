/* The attributes of the convolution rows, which the CPU's natives read too. */
#ifndef KNI_OPS_CONV_H
#define KNI_OPS_CONV_H

#include <kn/base.h>

enum { KNI_CONV_MAX_SPATIAL = 3 };

/* One entry for each spatial axis; empty lists mean ones (stride, dilation) or zeros. A negative padding crops. */
typedef struct kni_conv_attributes {
    kn_ints stride, padding, padding_end, dilation;
    int64_t groups; /* 0: 1 */
    kn_ints extra;  /* conv_transpose: output_padding; conv_weight_grad: the kernel's sizes; conv: none */
} kni_conv_attributes;

#endif
