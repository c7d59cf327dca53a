/* The attributes of the convolution rows, which the CPU's natives read too. */
#ifndef KNI_OPS_CONV_H
#define KNI_OPS_CONV_H

#include "ops/op.h"

enum { KNI_CONV_MAX_SPATIAL = 3 };

/* One entry for each spatial axis; empty lists mean ones (stride, dilation) or zeros. A negative padding crops. */
typedef struct kni_conv_attributes {
    kn_ints stride, padding, padding_end, dilation;
    int64_t groups; /* 0: 1 */
    kn_ints extra;  /* conv_transpose: output_padding; conv_weight_grad: the kernel's sizes; conv: none */
} kni_conv_attributes;

/* The attributes and ranks of x and w, with lists that were not given filled in. */
kn_status kni_conv_check(const kni_infer *c, const kni_type *x, const kni_type *w);
/* The result of a convolution of operand 0 with operand 1, in the dtype of the first. */
kn_status kni_conv_infer(const kni_infer *c, kni_type *y);
/* Sizes, strides, paddings and dilations as the kernels take them. */
void kni_conv_push_geometry(kni_launch *l, const kni_type *x, const kni_type *w, const kni_type *y);

#endif
