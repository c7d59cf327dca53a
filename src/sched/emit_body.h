/* The body of an elementwise record as IR, and other longer pieces. */
#ifndef KNI_SCHED_EMIT_BODY_H
#define KNI_SCHED_EMIT_BODY_H

#include "ops/body.h"
#include "sched/emit.h"

/* The value of an operand or a number of the body. */
typedef kni_ir_id (*kni_emit_leaf)(void *context, const kni_step *step);
/* What stands for a word of one operand; 0: the word itself. */
typedef kni_ir_id (*kni_emit_instead)(void *context, int word, kni_ir_id x);
/* One step on values; `dtype` is what constants are. */
kni_ir_id kni_emit_step(kni_ir_builder *b, int dtype, const kni_step *s, const kni_ir_id *in, int n_in);
/* The body of a row, computed in `dtype`; instead NULL: all words as they are. */
kni_ir_id kni_emit_row_body(kni_ir_builder *b, const kn_op *row, int dtype, kni_emit_leaf leaf,
                            kni_emit_instead instead, void *context);
kni_ir_id kni_emit_body(kni_emit *e, const kni_work_node *node, uint32_t lane);
/* e^x for x of at most 0, or NaN; digits: a kni_power_digits. */
kni_ir_id kni_emit_power(kni_emit *e, kni_ir_id x, int dtype, int digits);
/* The same in f32 for any kernel; `dialect` of its target. */
kni_ir_id kni_emit_power_in(kni_ir_builder *b, int dialect, kni_ir_id x, int digits);
/* 1 / (1 + e^-x) in f32; half: only 16 bits of it matter. */
kni_ir_id kni_emit_sigmoid(kni_emit *e, kni_ir_id x, bool half);
/* The normal distribution below x, in f32 of which 16 bits matter. */
kni_ir_id kni_emit_normal(kni_emit *e, kni_ir_id x);

#endif
