/* Groups whose records work on rows (reductions, softmaxes, norms and the elementwise work around them) run tile by tile:
   some rows go through all records while they are in the second-level cache. */
#ifndef KNI_GROUP_ROWS_H
#define KNI_GROUP_ROWS_H

#include "graph/group.h"

/* KN_ERROR_UNSUPPORTED without a text: run the records one by one. */
kn_status kni_cpu_group_rows(const kni_group *g);

#endif
