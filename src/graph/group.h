/* Several records that one kernel can run: what the fusion decorator hands to a leaf. The leaf decides how; a leaf that
   cannot run a group answers KN_ERROR_UNSUPPORTED without a text and gets its records one by one. */
#ifndef KNI_GROUP_H
#define KNI_GROUP_H

#include <kn/backend.h>

typedef enum kni_group_kind {
    KNI_GROUP_SINGLE,    /* one record, as it is */
    KNI_GROUP_POINTWISE, /* elementwise records over one shape, operands broadcast into it */
    KNI_GROUP_REDUCTION, /* elementwise work, reductions over the same axes, elementwise work on their results */
    KNI_GROUP_ROWS, /* softmax- and norm-shaped: results per row and per element, several passes over a row */
    KNI_GROUP_PRODUCT, /* a matrix product or convolution first, elementwise work on its result after */
    KNI_GROUP_MANY,    /* independent records of one op over many tensors: an optimiser's step */
    KNI_GROUP_KINDS
} kni_group_kind;

typedef struct kni_group {
    uint8_t kind;
    int32_t n_records;
    const kn_record *const *records; /* in order; ids are slots that live through the call */
    int32_t n_inputs, n_outputs;
    const uint32_t *inputs;  /* ids read from outside, each once, in the order of first use */
    const uint32_t *outputs; /* ids that must be written; results not named here exist inside only */
    uint64_t key;            /* equal for groups that differ in sizes and numbers only; 0: not known */
    void **cache; /* where the leaf keeps what it made for this group of the plan; NULL in eager use */
    void (**release)(void *cached); /* set by the leaf together with *cache */
} kni_group;

/* Whether result y of the group may be written into the memory of its input `id`: the rule of kni_may_overwrite. It holds
   for the records of KNI_GROUP_MANY, which run in any order, only if no other one reads the input; the leaf's schedule says
   whether records of another kind read the element for the last time before they write it. */
struct kni_tensor;
bool kni_group_may_overwrite(const kni_group *g, uint32_t id, const struct kni_tensor *y);
/* Parts of it: no other input lies in the storage of `id`; one record alone reads `id`. */
bool kni_group_sees_once(const kni_group *g, uint32_t id);
bool kni_group_has_one_reader(const kni_group *g, uint32_t id);

/* control(backend, KNI_CONTROL_GROUP, kni_group *) runs one. Outputs come without storage; the leaf gives it to them,
   contiguous, or reuses the storage of an input that dies (last_use of the record that reads it last). */
#define KNI_CONTROL_GROUP "group"

/* control(backend, KNI_CONTROL_PLAN_BEGIN, kni_plan_run *) before a plan's groups and single records, and
   KNI_CONTROL_PLAN_END with the same after them, for leaves that take plans. Between the two come the same groups and
   records in the same order with the same slots and sizes each time the plan runs; addresses of inputs, numbers and
   dynamic attributes may differ. A failure to begin is ignored; one to end poisons what the plan made.
   KNI_CONTROL_PLAN_REPLAY, before all that, runs the whole plan at once: KN_OK where the results have storage and nothing
   else is to be done, any other answer where nothing was done. */
#define KNI_CONTROL_PLAN_BEGIN "plan-begin"
#define KNI_CONTROL_PLAN_END "plan-end"
#define KNI_CONTROL_PLAN_REPLAY "plan-replay"
typedef struct kni_plan_run {
    int64_t runs; /* how often it ran before */
    int32_t n_inputs, n_results, n_steps;
    int32_t step;            /* the one that runs now */
    const uint32_t *inputs;  /* slots from outside, each once, in the order of first use; numbers too */
    const uint32_t *results; /* slots whose memory lives on after the plan */
    /* What runs, in order; a single record is a group too. Records are those of the queue that runs. */
    const kni_group *const *steps;
    const uint64_t *depends; /* for each result a row of bits by input: what it is computed from; NULL: all */
    void **cache;            /* where the leaf keeps what it made for the plan */
    void (**release)(void *cached);
} kni_plan_run;

/* control(backend, KNI_CONTROL_GROUP_LIMITS, kni_group_limits *): what a leaf takes. */
#define KNI_CONTROL_GROUP_LIMITS "group-limits"
enum {
    KNI_TAKES_VIEWS = 1,    /* records that are views of results of the group (any row with `view`) */
    KNI_TAKES_CREATION = 2, /* full, iota, linspace, random and dropout in pointwise groups */
    KNI_TAKES_ANY_AXES = 4, /* rows along any axes; else only along the last ones */
    KNI_TAKES_WHOLE = 8,    /* rows that are the whole tensor */
    KNI_TAKES_PLANS = 16,   /* KNI_CONTROL_PLAN_BEGIN and _END around all that a plan runs, and _REPLAY */
    KNI_TAKES_LOSSES = 32,  /* cross entropy and its gradient among the rows */
    KNI_TAKES_COLUMNS = 64, /* sums over all rows, at each place, beside what the rows themselves have */
    KNI_TAKES_CASTS = 128,  /* casts in KNI_GROUP_MANY */
    KNI_TAKES_REPEATS = 256 /* records of an earlier group again, where that saves memory traffic */
};
/* What a leaf says of a record that could join a product. */
typedef enum kni_tail_answer {
    KNI_TAIL_NO,
    KNI_TAIL_ONLY, /* yes, if nobody else needs what it reads of the group */
    KNI_TAIL_LAST, /* the same, unless a group of other records can take it in: it would cost nothing there */
    KNI_TAIL_YES
} kni_tail_answer;
enum { KNI_TAIL_RECORDS = 8 }; /* of a product's group, itself included */
typedef struct kni_group_limits {
    uint32_t kinds;                               /* bit by kni_group_kind */
    int32_t max_records, max_inputs, max_outputs; /* of one group */
    int64_t smallest;                             /* elements below which fusing does not pay */
    uint32_t takes;                               /* KNI_TAKES_ bits */
    /* For KNI_GROUP_PRODUCT, NULL: nothing follows a product. `next` is elementwise and would follow the `n` records of a
       group, the product first. It sees their results whole and in order, and its own have as many elements. Slots are
       the queue's: storages may be promises, equal where they are one. */
    kni_tail_answer (*follows)(void *leaf, const kn_record *const *records, int n, const kn_record *next);
    void *leaf;
} kni_group_limits;

#endif
