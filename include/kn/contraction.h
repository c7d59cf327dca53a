/* Matrix products, einsum, convolutions, attention. */
#ifndef KN_CONTRACTION_H
#define KN_CONTRACTION_H

#include <kn/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __cplusplus
}
#endif
#endif
