/* Which values are computed again where they are read instead of being stored between groups. */
#ifndef KNI_PLAN_REPEATS_H
#define KNI_PLAN_REPEATS_H

#include "graph/plan.h"

/* Looks at the steps of the plan, whose entries are known and nothing else yet, and adds records to them that compute
   again what would cost more bytes to write and read; records that nobody needs where they were are taken out, and steps
   that have none left go. again: by value, zeroed; set for values that no step stores. `natural` is the kind of each
   step, were it to grow. False without memory. */
bool kni_plan_repeats(const kni_queue *q, const kni_group_limits *limits, kni_plan *p, uint8_t *natural,
                      bool *again);

#endif
