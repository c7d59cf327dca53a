/* What the files of simplification share. */
#ifndef KNI_IR_SIMPLIFY_INTERNAL_H
#define KNI_IR_SIMPLIFY_INTERNAL_H

#include "ir/ir_internal.h"

typedef struct kni_ir_simplifier {
    kni_ir *ir;
    uint32_t room;        /* of the arrays: ids below it */
    kni_ir_id *same;      /* of nodes: what stands for it */
    uint32_t *depth;      /* of nodes: how many loops are around it */
    uint32_t *version;    /* of loads: the memory they saw */
    kni_ir_id *known;     /* of variables: their value here, 0 where it is not known */
    kni_ir_id *in_bucket; /* of nodes: the next with the same hash */
    kni_ir_id *buckets;
    uint32_t n_buckets; /* a power of two */
    kni_ir_id *seen;    /* nodes in the table, in the order in which they came */
    uint32_t n_seen;
    struct kni_ir_undo {
        kni_ir_id variable, value;
    } * undo;
    uint32_t n_undo, undo_room;
    uint32_t memory[KNI_IR_MAX_BINDINGS]; /* versions */
    uint32_t loops;                       /* around where it stands */
    kni_ir_block *to;                     /* what is being written */
    bool changed, failed;
} kni_ir_simplifier;

/* What node `id` is by folding or an identity: another node, or the node itself, perhaps turned into a constant. */
kni_ir_id kni_ir_fold(kni_ir_simplifier *z, kni_ir_id id);
/* Removes what nobody uses. False without memory. */
bool kni_ir_remove_dead(kni_ir *ir, bool *changed);

/* A new node at the end of what is being written; 0 without memory or room, which is no failure. */
kni_ir_id kni_ir_simplify_add(kni_ir_simplifier *z, int code, kni_ir_type type, const kni_ir_node *like);
bool kni_ir_is_constant(const kni_ir *ir, kni_ir_id id);

#endif
