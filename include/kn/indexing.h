/* Reading and writing by index, mask and slice. Assignments return the new value. */
#ifndef KN_INDEXING_H
#define KN_INDEXING_H

#include <kn/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __cplusplus
}
#endif
#endif
