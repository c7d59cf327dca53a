/* The fusion decorator: its state, and running the queue. */
#ifndef KNI_FUSION_H
#define KNI_FUSION_H

#include "graph/plan.h"
#include <kn/program.h>

typedef struct kni_fusion {
    kni_queue queue; /* first: promises lead back to it */
    kni_mutex lock;
    _Atomic uint32_t runner; /* the thread that runs the queue, 0: none */
    kn_backend *inner;
    kn_limits limits;
    kni_plan_cache plans;
    kn_fusion_stats stats;
    const kn_watcher *watchers[4];
    int n_watchers;
    kn_status failed;   /* the first error since it was last asked for */
    kn_tensor failure;  /* its poison */
    uint32_t failed_in; /* the thread that ran into it and has its text */
    bool in_composite;  /* the queue runs inside a composite that has not returned */
    bool passes;        /* the leaf keeps its memory to itself: nothing is queued */
} kni_fusion;

/* Runs all that waits, under the lock. */
void kni_fusion_submit(kni_fusion *f);
/* Runs what waits of the device's queue where the leaf then works while the caller goes on; a failure shows in the values. */
void kni_fusion_begin(kn_device device);

#endif
