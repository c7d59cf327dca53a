/* Reductions, cumulative ops and statistics. */
#ifndef KN_REDUCE_H
#define KN_REDUCE_H

#include <kn/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __cplusplus
}
#endif
#endif
