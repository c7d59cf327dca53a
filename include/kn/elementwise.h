/* Elementwise ops: arithmetic, comparison, math functions, activations. All broadcast and promote as PyTorch
   does, take temporaries and poison on shapes or dtypes that do not fit. */
#ifndef KN_ELEMENTWISE_H
#define KN_ELEMENTWISE_H

#include <kn/base.h>

#ifdef __cplusplus
extern "C" {
#endif

KN_API kn_tensor kn_add(kn_tensor a, kn_tensor b); /* a + b */
KN_API kn_tensor kn_cast(kn_tensor x, kn_dtype dtype);
KN_API kn_tensor kn_sum_to(kn_tensor x, kn_shape shape);

#ifdef __cplusplus
}
#endif
#endif
