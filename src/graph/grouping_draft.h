/* Groups while they are made: what grouping.c and grouping_many.c share. */
#ifndef KNI_GROUPING_DRAFT_H
#define KNI_GROUPING_DRAFT_H

#include "graph/grouping.h"
#include "graph/row_domain.h"

typedef struct kni_draft {
    uint8_t kind;
    bool consumed;  /* another group reads from it: it cannot move behind that one */
    bool columns;   /* sums over its rows are among its results */
    bool several;   /* a record of it has results for elements and for lines */
    int32_t place;  /* in the order of running */
    int32_t merged; /* the group it has become part of, -1 */
    int32_t n_records, n_inputs, n_results;
    kni_row_domain domain; /* the shape its records run over, and the rows of those that have them */
    uint16_t op;           /* of KNI_GROUP_MANY */
    const kn_record *product[KNI_TAIL_RECORDS]; /* of KNI_GROUP_PRODUCT, in order */
} kni_draft;

typedef struct kni_drafts {
    const kni_queue *q;
    const kni_group_limits *limits;
    const uint64_t *alive; /* bit by value */
    kni_draft *groups;
    int32_t n_groups, next_place;
    int32_t *group_of;
    int32_t many;   /* the latest group of updates, -1 */
    bool *absorbed; /* by value: a group of other records than a product's may take in whoever makes it */
    bool *shared;   /* by value: more than one record needs it, or somebody outside */
    const char **why;
} kni_drafts;

static inline bool kni_drafts_take(const kni_drafts *s, int kind) { return s->limits->kinds >> kind & 1; }

static inline int32_t kni_draft_root(const kni_drafts *s, int32_t g)
{
    while (s->groups[g].merged >= 0) g = s->groups[g].merged;
    return g;
}

/* The group that makes operand i of the entry, -1 when it comes from outside. */
static inline int32_t kni_draft_source(const kni_drafts *s, const kni_entry *e, int i)
{
    int32_t v = kni_entry_value(s->q, e, e->record->n_out + i);
    int32_t maker = v < 0 ? -1 : s->q->values[v].maker;
    return maker < 0 ? -1 : kni_draft_root(s, s->group_of[maker]);
}

/* Whether the group has room for so many more. */
bool kni_draft_holds(const kni_drafts *s, const kni_draft *g, int records, int inputs, int results);
/* How many operands the entry reads from outside group g. */
int kni_draft_outside(const kni_drafts *s, const kni_entry *e, int32_t g);

/* Joins what stands alone into groups over many tensors, where the device takes those: casts, and small elementwise groups of one
   formula. False without memory. */
bool kni_drafts_collect(kni_drafts *s, kni_bump *memory);

#endif
