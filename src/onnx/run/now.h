/* The target that runs ops at once. */
#ifndef KNI_ONNX_NOW_H
#define KNI_ONNX_NOW_H

#include "onnx/run/conversion.h"

typedef struct kni_now {
    kn_device device;    /* the calling thread's */
    bool one_place;      /* it is the CPU itself: nothing is copied to it */
    bool waits;          /* reading from it waits for work */
    bool ahead;          /* what would be large is not made: nobody has asked for it yet */
    bool types_alone;    /* nothing is computed or copied: tensors on the device are types */
    int64_t small;       /* elements up to which ops on what is known run on the CPU */
    kni_onnx_plan *plan; /* whose constants get copies */
} kni_now;

extern const kni_onnx_target kni_target_now;
/* Its ops. */
void kni_now_emit(kni_conversion *c, const char *op, const kni_datum *in, int32_t n_in,
                  const kni_given_attribute *attributes, kni_datum *out, int32_t n_out);

void kni_now_start(kni_now *now, kni_onnx_plan *plan);
/* The entry's tensor on the session's device; without bits and the node failed where there is none. It stays the entry's. */
kn_tensor kni_now_on_device(kni_conversion *c, kni_entry *e);
/* A tensor of that type on the current device, whose elements are nobody's business. */
kn_tensor kni_now_of_type(kn_dtype dtype, kn_shape shape);
/* An entry of a tensor that is the session's or the user's, which is not dropped. */
kni_datum kni_now_borrow(kni_conversion *c, kn_tensor t);

#endif
