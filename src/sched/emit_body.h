/* The scalar body of an elementwise record as IR, and other longer pieces. */
#ifndef KNI_SCHED_EMIT_BODY_H
#define KNI_SCHED_EMIT_BODY_H

#include "ops/scalar.h"
#include "sched/emit.h"

/* The value of an operand or a number of the body. */
typedef kni_ir_id (*kni_emit_leaf)(void *context, const kni_scalar_step *step);
/* The body of a row, computed in `dtype`. */
kni_ir_id kni_emit_scalar_body(kni_ir_builder *b, const kn_op *row, int dtype, kni_emit_leaf leaf,
                               void *context);
kni_ir_id kni_emit_body(kni_emit *e, const kni_work_node *node, uint32_t lane);
/* e^x for x of at most 0, or NaN; rounded: only 16 bits of it matter. */
kni_ir_id kni_emit_power(kni_emit *e, kni_ir_id x, int dtype, bool rounded);

#endif
