/* Fourier transforms, windows. */
#ifndef KN_SIGNAL_H
#define KN_SIGNAL_H

#include <kn/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __cplusplus
}
#endif
#endif
