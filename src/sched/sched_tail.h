/* Elementwise records as the end of a kernel that makes what they read: the hole that a product leaves for what follows
   it. The kernel around declares its own buffers, then kni_tail_begin those of the tail, then the params of items and its
   own, then kni_tail_numbers the tail's; it hands over each element that it has made. */
#ifndef KNI_SCHED_TAIL_H
#define KNI_SCHED_TAIL_H

#include "ir/builder.h"
#include "sched/sched.h"

/* The records of `group` compute with the elements of tensor `given`, whose count and order are those of each result.
   Fills in one kernel: its signature, its buffers, and its params of which the kernel around takes offsets (one I64 for
   each buffer, after the count) and what follows them. KN_ERROR_UNSUPPORTED without a text: it cannot be done so. */
kn_status kni_sched_tail(const kni_group *group, uint32_t given, const kni_sched_target *target,
                         kni_sched *sched);

typedef struct kni_tail kni_tail;
/* NULL after a failure. */
kni_tail *kni_tail_begin(const kni_group *group, uint32_t given, const kni_sched_target *target,
                         kni_ir_builder *b);
void kni_tail_numbers(kni_tail *t);
/* Element `place` of what is given is `value`, in the dtype that IR computes it in and rounded to the tensor's own;
   what follows it is computed and stored where `inside` holds. */
void kni_tail_element(kni_tail *t, kni_ir_id place, kni_ir_id value, kni_ir_id inside);
void kni_tail_end(kni_tail *t);

#endif
