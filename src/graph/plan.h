/* What to do with a queue of records: in which groups they run and which values die when. A plan names slots of the
   queue and entries by their place, never memory, so it serves every queue with the same key. */
#ifndef KNI_PLAN_H
#define KNI_PLAN_H

#include "graph/group.h"
#include "graph/grouping.h"
#include "graph/queue.h"

typedef struct kni_step {
    kni_group group;
    const kn_record **records; /* group.records: bound to the queue's entries before each run */
    int32_t *entries;          /* by record; -1: a view inside the group, bound for good */
    uint64_t *last_use;        /* by record */
    int32_t *makes;            /* values that must have memory after the step */
    int32_t *hides;            /* values that exist inside the group only */
    int32_t *dies;             /* values that nobody in the plan needs after the step */
    int32_t n_makes, n_hides, n_dies;
    void *cache; /* the leaf's */
    void (*release)(void *cached);
    bool repeats; /* some of its records are in an earlier step too */
    bool refused; /* the leaf does not take this group: its records run one by one */
} kni_step;

typedef struct kni_plan {
    struct kni_plan *newer, *older; /* by use */
    struct kni_plan *same_bucket;
    uint64_t hash;
    uint64_t *key;
    int32_t n_key, n_steps;
    uint64_t *alive;           /* bit by value */
    int32_t n_values, n_again; /* values; those of them that each step that reads them computes */
    kni_step *steps;
    kni_plan_run run; /* what a leaf that takes plans is told */
    void *cache;
    void (*release)(void *cached);
    bool refused;    /* the leaf did not take a group: a plan of simpler ones is made next time */
    bool narrowed;   /* that is such a plan */
    kni_bump memory; /* of all of it */
} kni_plan;

/* A record that shows an operand of the queue as a view of the whole; NULL without memory. */
kn_record *kni_plan_view(const kni_queue *q, kni_bump *memory, int32_t operand);
/* The bits of the values that somebody outside the queue refers to, appended to the key of the queue. */
bool kni_plan_liveness(kni_queue *q);
/* Makes a plan for the queue as it is; NULL after a failure. */
kni_plan *kni_plan_make(kni_queue *q, const kni_group_limits *limits);
/* Works out run.depends, for leaves that take plans; it stays NULL without memory. */
void kni_plan_depends(kni_plan *p, const kni_queue *q);
void kni_plan_free(kni_plan *p);
/* Logs the plan where KN_FUSION_LOG asks for it. */
void kni_plan_log(const kni_plan *p, const kni_queue *q, const kni_grouping *g);
const char *kni_group_name(int kind);

/* ---- plans by key, the least recently used ones are forgotten */

enum { KNI_PLAN_BUCKETS = 256, KNI_PLANS_KEPT = 256 };
typedef struct kni_plan_cache {
    kni_plan *buckets[KNI_PLAN_BUCKETS];
    kni_plan *newest, *oldest;
    int32_t n;
} kni_plan_cache;

kni_plan *kni_plan_find(kni_plan_cache *c, const kni_queue *q);
void kni_plan_keep(kni_plan_cache *c, kni_plan *p);
void kni_plan_forget(kni_plan_cache *c, kni_plan *p);
void kni_plan_cache_free(kni_plan_cache *c);

#endif
