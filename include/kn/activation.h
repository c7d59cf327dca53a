/* Activation functions. */
#ifndef KN_ACTIVATION_H
#define KN_ACTIVATION_H

#include <kn/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __cplusplus
}
#endif
#endif
