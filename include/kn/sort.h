/* Sorting, searching, counting. */
#ifndef KN_SORT_H
#define KN_SORT_H

#include <kn/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __cplusplus
}
#endif
#endif
