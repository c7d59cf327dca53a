/* Lines: what a row reduces along. The column `line` of a row says which axes of which operand make up a line, and what its
   results belong to; grouping, schedules and CPU groups ask here instead of knowing ops. */
#ifndef KNI_OPS_LINE_H
#define KNI_OPS_LINE_H

#include "ops/record.h"

/* The axes of the operand's shape that make up a line, as bits; none of a tensor of rank 0. False: the row has no lines, or the
   operand is absent. */
bool kni_line_of(const kn_record *r, const kni_type **shape, uint32_t *axes);
/* The same, also for a row that reduces nothing and has lines only to say what its operands belong to. */
bool kni_line_levels(const kn_record *r, const kni_type **shape, uint32_t *axes);
/* The axes of a row that has lines, for an operand of this rank. */
uint32_t kni_line_axes(const kn_op *row, const void *attributes, int rank);
/* Whether the row is the sum of its operand along the line, which can be taken across other lines as well. */
bool kni_line_is_sum(const kn_op *row);

#endif
