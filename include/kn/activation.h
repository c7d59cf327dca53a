/* Activation functions. Integers give f32 where the result is a fraction. */
#ifndef KN_ACTIVATION_H
#define KN_ACTIVATION_H

#include <kn/base.h>

#ifdef __cplusplus
extern "C" {
#endif

KN_API kn_tensor kn_relu(kn_tensor x);    /* max(x, 0) */
KN_API kn_tensor kn_sigmoid(kn_tensor x); /* 1 / (1 + exp(-x)) */

#ifdef __cplusplus
}
#endif
#endif
