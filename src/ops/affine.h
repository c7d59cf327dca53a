/* Affine maps of channels: rows that give scale * x + shift with numbers for each channel, as batch norm does when it does not train, and
   contractions whose weight and bias can take such numbers in. */
#ifndef KNI_OPS_AFFINE_H
#define KNI_OPS_AFFINE_H

#include "ops/op.h"

typedef struct kni_affine {
    kn_tensor scale, shift; /* f64, [channels]; KN_NONE: ones, zeros */
} kni_affine;

/* The channels that the weight of a contraction makes: which axis of its result they are, negative where it counts from the last one;
   KNI_NO_CHANNELS: the row takes in nothing. Operand 1 is the weight, operand 2 the bias. */
#define KNI_NO_CHANNELS INT32_MIN
int32_t kni_absorb_axis(const kn_op *row);

/* Reads a row as an affine map of operand x of this type, with channels along the axis; in: the other operands, KN_NONE where they are
   absent, or x. False where it is none. */
bool kni_affine_of(const kn_op *row, const void *attributes, const kni_type *x, int32_t axis,
                   const kn_tensor *in, int32_t n_in, int32_t operand, kni_affine *map);
/* Whether kni_affine_of counts the axis from the first one, whatever the rank. */
bool kni_affine_from_first(const kn_op *row);

/* Weight and bias of the contraction with the map behind it, in the weight's dtype; *bias may be KN_NONE. False where a number is not
   finite. */
bool kni_absorb(const kn_op *row, const void *attributes, kni_affine map, kn_tensor *weight, kn_tensor *bias);

#endif
