/* Elementwise records as the end of a kernel that makes what they read: the hole that a product leaves for what follows
   it. The kernel around declares its own buffers, then kni_tail_begin those of the tail, then the params of items and its
   own, then kni_tail_numbers the tail's; it hands over each element that it has made. */
#ifndef KNI_SCHED_TAIL_H
#define KNI_SCHED_TAIL_H

#include "ir/builder.h"
#include "sched/sched.h"

/* The records of `group` compute with the elements of tensor `given`, of which there are as many as of each result. They are counted in
   the order of `given`, and up to `lanes` neighbours are taken at once, the first a multiple of them.
   Fills in one kernel: its signature, its buffers, and its params of which the kernel around takes offsets (one I64 for
   each buffer, after the count) and what follows them. KN_ERROR_UNSUPPORTED without a text: it cannot be done so. */
kn_status kni_sched_tail(const kni_group *group, uint32_t given, uint32_t lanes,
                         const kni_sched_target *target, kni_sched *sched);

typedef struct kni_tail kni_tail;
/* NULL after a failure. */
kni_tail *kni_tail_begin(const kni_group *group, uint32_t given, uint32_t lanes,
                         const kni_sched_target *target, kni_ir_builder *b);
void kni_tail_numbers(kni_tail *t);
/* The neighbours that are taken at once. */
uint32_t kni_tail_lanes(const kni_tail *t);
/* The elements of what is given from `place` on are `values`, in the dtype that IR computes them in and rounded to the tensor's own;
   what follows them is computed and stored where `inside` holds. */
void kni_tail_elements(kni_tail *t, kni_ir_id place, const kni_ir_id *values, kni_ir_id inside);
void kni_tail_end(kni_tail *t);

#endif
