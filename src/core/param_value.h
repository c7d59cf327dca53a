/* The value of a param, which one thread may replace while others read it: readers work on a copy of the slot that
   is made under a lock. The memory itself is shared and never changes. */
#ifndef KNI_PARAM_VALUE_H
#define KNI_PARAM_VALUE_H

#include "core/table.h"

/* A kept slot with the value that the param at x has now; KNI_NO_SLOT without memory. The caller ends it with
   kni_tensor_end_handle. */
uint32_t kni_param_snapshot(kni_thread *t, const kni_tensor *x);
/* y gets x's value: kni_tensor_copy_value that may run while x, a param, gets another one. */
void kni_param_copy_value(kni_tensor *y, const kni_tensor *x);
/* Gives the param at x the value of v, which has the same type; KN_NONE, or the error of a value that could not be computed
   where the param stays as it was. Waits for what v's stack still has to compute where x's stack is another one. */
kn_tensor kni_param_replace(kni_tensor *x, const kni_tensor *v);

#endif
