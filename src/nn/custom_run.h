/* Ops that layers bring along, registered at their first use. */
#ifndef KNI_NN_CUSTOM_RUN_H
#define KNI_NN_CUSTOM_RUN_H

#include <kn/custom_op.h>
#include <stdatomic.h>

typedef struct kni_custom {
    kn_custom_op op;
    _Atomic(kn_op_handle) handle; /* NULL before its first use */
} kni_custom;

/* Takes temporaries and fills the results, poisoned on failure. */
kn_status kni_custom_run(kni_custom *custom, const kn_tensor *in, kn_tensor *out);

/* Cuts the last axis into n equal parts, which are views of x. Takes x. */
kn_status kni_split_last(kn_tensor x, int32_t n, kn_tensor *out);
/* out[i] = x[i] for each of the `count` positions of the first axis: views too, cut by eights, so that the tape joins the gradients of
   however many there are by eights, each in one go. Takes x. */
kn_status kni_unstack(kn_tensor x, int64_t count, kn_tensor *out);

#endif
