/* What a device remembers of a plan's group: its schedule and kernels, for as long as nothing that they were made from
   changes. */
#ifndef KNI_GROUP_MEMO_H
#define KNI_GROUP_MEMO_H

#include "backend/gpu/gpu.h"

enum { KNI_GPU_MEMO_BYTES = 8192 };

typedef struct kni_gpu_memo {
    bool ready; /* the schedule is that of the facts */
    kni_sched sched;
    kni_gpu_kernel *kernels[KNI_SCHED_MAX_KERNELS];
    uint64_t hash;
    uint16_t places[KNI_SCHED_MAX_KERNELS][KNI_SCHED_MAX_BUFFERS]; /* of a single record: which of its ids */
    uint32_t bytes;
    unsigned char facts[KNI_GPU_MEMO_BYTES];
} kni_gpu_memo;

/* The group's own, not ready when it is new or facts have changed since; NULL when there is nothing to remember it by, or
   no memory. */
kni_gpu_memo *kni_gpu_memo_of(const kni_group *group);
/* The same for a single record, whose tensors may be others each time. After the schedule was made it is noted, and before
   each later run its buffers become the record's. */
kni_gpu_memo *kni_gpu_memo_of_record(kni_gpu *g, const kn_record *r);
void kni_gpu_memo_note(kni_gpu_memo *memo, const kn_record *r);
void kni_gpu_memo_rebind(kni_gpu_memo *memo, const kn_record *r);
void kni_gpu_free_memos(kni_gpu *g);
/* The schedule of a group, or of one record of it, with the numbers that they have now; the memo's. NULL where there is
   none, or no memory. */
const kni_sched *kni_gpu_schedule(kni_gpu *g, const kni_group *group, const kn_record *single);

#endif
