/* Pooling, unfold and fold, interpolation, grids. */
#ifndef KN_SPATIAL_H
#define KN_SPATIAL_H

#include <kn/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __cplusplus
}
#endif
#endif
