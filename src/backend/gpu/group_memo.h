/* What a device remembers of a plan's group: its schedule and kernels, for as long as nothing that they were made from
   changes. */
#ifndef KNI_GROUP_MEMO_H
#define KNI_GROUP_MEMO_H

#include "backend/gpu/gpu.h"

enum { KNI_GPU_MEMO_BYTES = 8192 };

typedef struct kni_gpu_memo {
    bool ready; /* the schedule is that of the facts */
    kni_sched *sched;
    size_t sched_bytes; /* as far as it is used */
    kni_gpu_kernel *kernels[KNI_SCHED_MAX_KERNELS];
    uint64_t hash;
    uint16_t (*places)[KNI_SCHED_MAX_BUFFERS]; /* by kernel, of a single record: which of its ids */
    int32_t n_places;
    uint32_t bytes, room; /* of facts */
    unsigned char *facts;
} kni_gpu_memo;

/* The group's own, not ready when it is new or facts have changed since; NULL when there is nothing to remember it by, or
   no memory. */
kni_gpu_memo *kni_gpu_memo_of(const kni_group *group);
/* The same for a single record, whose tensors may be others each time: before each later run its buffers become the
   record's. */
kni_gpu_memo *kni_gpu_memo_of_record(kni_gpu *g, const kn_record *r);
/* Makes it ready with a copy of the schedule; false without memory. */
bool kni_gpu_memo_keep(kni_gpu_memo *memo, const kni_sched *made, const kn_record *single);
void kni_gpu_memo_rebind(kni_gpu_memo *memo, const kn_record *r);
void kni_gpu_free_memos(kni_gpu *g);
/* The schedule of a group, or of one record of it, with the numbers that they have now; the memo's. NULL where there is
   none, or no memory. */
const kni_sched *kni_gpu_schedule(kni_gpu *g, const kni_group *group, const kn_record *single);

#endif
