/* Linear algebra. */
#ifndef KN_LINALG_H
#define KN_LINALG_H

#include <kn/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __cplusplus
}
#endif
#endif
