/* What the deformable sampling rows and their lowering share. */
#ifndef KNI_OPS_CONV_DEFORM_H
#define KNI_OPS_CONV_DEFORM_H

#include "ops/op.h"

/* Two numbers each: rows, columns. */
typedef struct kni_deform_attributes {
    kn_ints stride, padding, dilation, kernel;
} kni_deform_attributes;

/* deform_sample_grad by differentiable ops. */
kn_status kni_lower_deform_sample_grad(kni_lowering *l);

#endif
