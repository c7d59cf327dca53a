/* What functions made of several products need before they look at shapes. */
#ifndef KNI_OPS_MATMUL_OPERANDS_H
#define KNI_OPS_MATMUL_OPERANDS_H

#include "ops/op.h"

/* Whether all of x can be asked for their shapes; if not *bad is the poison to return. */
bool kni_operands_ready(const kn_tensor *x, int n, kn_tensor *bad);

/* The dtype that all of x promote to. */
kn_dtype kni_operands_dtype(const kn_tensor *x, int n);

/* The batch axes of the product of operands 0 and 1, broadcast, into out; its rank is how many there are. */
kn_status kni_matmul_infer_batch(const kni_infer *c, kni_type *out);

#endif
