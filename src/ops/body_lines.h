/* The interpreter of bodies along lines, and of those that make values of scalars. The reference backend computes with it, and no other: CPU programs do not link it. */
#ifndef KNI_BODY_LINES_H
#define KNI_BODY_LINES_H

#include "ops/op.h"

typedef struct kni_body_lines {
    const kn_op *row;
    const void *attributes;
    int wide; /* what values are: KNI_COMPUTE_F64, I64 or U64 */
    const kni_type *shape;
    uint32_t axes;    /* of the shape: they make up a line */
    bool apart;       /* the row has no lines: each element of the shape is made for itself */
    uint32_t choices; /* that follow from the result's dtype */
    /* Contiguous. Values and truths are wide, a truth is what is not 0, indices are i64; NULL where an operand is absent. */
    const void *const *in;
    void *const *out; /* contiguous; values are wide, truths and indices i64 */
    bool failed;      /* a condition did not hold: */
    int64_t reported; /* for this index, the first in the order of the lines */
} kni_body_lines;

/* Fills the results; false: no memory. */
bool kni_body_lines_run(kni_body_lines *run);

#endif
