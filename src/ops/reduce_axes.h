/* What the rules and kernels of reductions share: attributes, axes of a result, and the axis that a reference kernel of
   another row walks along. */
#ifndef KNI_REDUCE_AXES_H
#define KNI_REDUCE_AXES_H

#include "ops/infer.h"

typedef struct kni_reduce_attributes {
    kn_ints axes;
    int64_t keep;
} kni_reduce_attributes;
extern const kn_attribute kni_reduce_schema[];

typedef struct kni_arg_attributes {
    int64_t axis, keep;
} kni_arg_attributes;
extern const kn_attribute kni_arg_schema[];

typedef struct kni_var_attributes {
    kn_ints axes;
    int64_t keep;
    double correction;
} kni_var_attributes;

/* An axis of x; rank 0 counts as one axis of size 1, as in PyTorch. */
kn_status kni_reduce_axis(const kni_infer *c, int64_t *axis);
/* Gives output k of the rule x's shape without the axes, or with size 1 there. */
void kni_reduce_shape(const kni_infer *c, int k, const kn_ints *axes, bool keep);
/* Fails when a reduced axis has no element. */
kn_status kni_reduce_filled(const kni_infer *c, const kn_ints *axes);

/* The axes as a bit mask. */
uint32_t kni_reduce_mask(const kn_ints *axes);
/* Pushes axis and inner of x seen as [outer, axis, inner], and sets the items to outer * inner. */
void kni_axis_launch(kni_launch *l, int64_t axis);

/* The shape of x with size 1 in place of the axes. */
kn_shape kni_reduce_kept_shape(const kni_type *x, const kn_ints *axes);
/* A reduced tensor back in the shape of input 0: for gradients. */
kn_tensor kni_reduce_spread(const kni_vjp *v, kn_tensor reduced, const kn_ints *axes);

#endif
