/* Which waiting records run together. */
#ifndef KNI_GROUPING_H
#define KNI_GROUPING_H

#include "graph/group.h"
#include "graph/queue.h"

/* Groups in the order they run. Entries of a group are in the order of the queue. */
typedef struct kni_grouping {
    int32_t *group_of; /* by entry, -1: nobody needs what it makes, it is not run */
    int32_t *order;    /* groups in the order of running */
    uint8_t *kind;     /* by group */
    uint8_t *natural;  /* by group: its kind, were there more than one record in it */
    int32_t n_groups;
    const char **why; /* by entry: why it did not join the group before it, NULL: it did or there was none */
} kni_grouping;

/* alive: bit by value. The result lies in memory. False without memory. */
bool kni_group_entries(const kni_queue *q, const uint64_t *alive, const kni_group_limits *limits,
                       kni_bump *memory, kni_grouping *result);

static inline bool kni_bit(const uint64_t *bits, int32_t i) { return bits[i >> 6] >> (i & 63) & 1; }

/* Whether an operand sees all of a promised value as it is made. */
bool kni_operand_whole(const kni_queue *q, int32_t operand);
/* Whether a record computes each element of its single result from the elements at the same place. */
bool kni_pointwise_record(const kn_record *r);
/* Whether it makes elements from their places alone, or drops some of them. */
bool kni_creation_record(const kn_record *r);
/* Whether it must run though nobody reads what it makes. */
bool kni_record_has_effects(const kn_record *r);

#endif
