/* Tensors from nothing: constants, ranges, random numbers, masks and grids. */
#ifndef KN_CREATION_H
#define KN_CREATION_H

#include <kn/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __cplusplus
}
#endif
#endif
