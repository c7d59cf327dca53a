/* The scalar body of an elementwise record as IR. */
#ifndef KNI_SCHED_EMIT_BODY_H
#define KNI_SCHED_EMIT_BODY_H

#include "sched/emit.h"

kni_ir_id kni_emit_body(kni_emit *e, const kni_work_node *node, uint32_t lane);

#endif
