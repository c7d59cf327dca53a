/* Softmax, norms, embedding, dropout, losses. */
#ifndef KN_FUNCTIONAL_H
#define KN_FUNCTIONAL_H

#include <kn/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __cplusplus
}
#endif
#endif
