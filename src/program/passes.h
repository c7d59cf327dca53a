/* The passes of kn_program_simplify. Each adds to *changed what it did. After a failure the program is valid and means the same. */
#ifndef KNI_PASSES_H
#define KNI_PASSES_H

#include "program/program_data.h"

typedef kn_status kni_pass(kni_program *p, int64_t *changed);
kni_pass kni_pass_freeze, kni_pass_constants, kni_pass_common, kni_pass_batch_norm, kni_pass_dead;
/* Gives up what a pass took out of the regions: the other passes leave it to this one. */
kni_pass kni_pass_unused;

/* ---- what passes ask (pass_tools.c) */

/* Whether the op may give something else each time, or do more than compute its results: random ops, and users' functions, of which
   nothing is known. Such ops stay where they are. */
bool kni_node_is_opaque(const kni_program_node *n);
/* Whether the value is the same in every run. */
static inline bool kni_value_is_fixed(const kni_program_value *v)
{
    return (v->origin == KNI_FROM_CONSTANT || v->origin == KNI_FROM_PARAM) && !v->live && v->tensor.bits;
}
/* Whether a pass may compute with the value now. */
static inline bool kni_value_may_fold(const kni_program *p, const kni_program_value *v)
{
    return kni_value_is_fixed(v) && !(p->keeps_params && v->origin == KNI_FROM_PARAM);
}
static inline bool kni_same_type(const kni_type *a, const kni_type *b)
{
    return a->dtype == b->dtype && a->weak == b->weak && kni_same_dims(a, b);
}
/* Who reads each value. Freed with kni_readers_free. */
typedef struct kni_readers {
    int32_t n_values;
    int32_t *count; /* reads by operands and as results of regions */
    int32_t *node;  /* the latest node that reads it, -1: none or a region's result */
} kni_readers;
kn_status kni_readers_find(const kni_program *p, kni_readers *readers);
void kni_readers_free(kni_readers *readers);
/* Values that a pass adds later have one reader, the node they were made for. */
static inline int32_t kni_reads_of(const kni_readers *r, int32_t value)
{
    return value < r->n_values ? r->count[value] : 1;
}
/* Bytes of a type in a file; -1: not known before the program runs. */
int64_t kni_type_bytes(const kni_type *t);
/* Gives a value another tensor, which is owned then. */
void kni_value_set_tensor(kni_program_value *v, kn_tensor tensor);

/* Ops that a pass runs itself: eagerly on the CPU, noted by nobody, without gradients or casts. */
typedef struct kni_pass_run {
    kni_context before;
    kn_scope scope;
} kni_pass_run;
kn_status kni_pass_run_begin(kni_pass_run *run);
void kni_pass_run_end(const kni_pass_run *run);
/* A fixed value on the CPU, borrowed; poisoned where it cannot be had. */
kn_tensor kni_pass_tensor(const kni_program_value *v);

#endif
