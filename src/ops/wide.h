/* How functions of several steps treat the half types: they compute in f32 and round once, as a single op does. */
#ifndef KNI_OPS_WIDE_H
#define KNI_OPS_WIDE_H

#include "ops/op.h"

/* The dtype that sums of a float dtype are kept in: f32 for the half types, else the dtype itself. */
static inline int kni_sum_dtype(int dtype) { return kni_is_half(dtype) ? KN_F32 : dtype; }

/* x in the dtype its sums are kept in: half types become f32, everything else stays. Takes a temporary. */
kn_tensor kni_widen(kn_tensor x);
/* What a lowering needs of these two: a row that names it links them, and no other does. */
typedef struct kni_wide_steps {
    kn_tensor (*widen)(kn_tensor x);
    kn_tensor (*as)(kn_tensor x, int dtype);
} kni_wide_steps;
extern const kni_wide_steps kni_wide;
/* x as dtype, itself where it is that already. */
kn_tensor kni_as(kn_tensor x, int dtype);
/* The same for a list, and the dtype that a result of all of them is rounded to: the promoted one of the floats among
   them, before they were widened; 0 where there is none. */
int kni_widen_all(kn_tensor *x, int n);
/* Ends a composite with its result rounded to dtype; 0 leaves it as it is. */
kn_tensor kni_call_end_as(kni_call call, kn_tensor result, int dtype);

#endif
