/* Shape and layout: reshape, permute, slice, join, pad. Views where the memory allows it. */
#ifndef KN_SHAPE_H
#define KN_SHAPE_H

#include <kn/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __cplusplus
}
#endif
#endif
