/* The scalar body of an elementwise record as IR, and other longer pieces. */
#ifndef KNI_SCHED_EMIT_BODY_H
#define KNI_SCHED_EMIT_BODY_H

#include "sched/emit.h"

kni_ir_id kni_emit_body(kni_emit *e, const kni_work_node *node, uint32_t lane);
/* e^x for x of at most 0, or NaN; rounded: only 16 bits of it matter. */
kni_ir_id kni_emit_power(kni_emit *e, kni_ir_id x, int dtype, bool rounded);

#endif
