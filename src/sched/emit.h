/* From nodes to IR: where an emitter stands (which rows and places its lanes are), what it has computed there, and how
   values are loaded, computed and stored. Schedules set r and k and open the loops. */
#ifndef KNI_SCHED_EMIT_H
#define KNI_SCHED_EMIT_H

#include "ir/builder.h"
#include "sched/work.h"

enum { KNI_EMIT_CHUNKS = 16, KNI_EMIT_LANES = 16, KNI_EMIT_DERIVED = 1024 };

/* Index arithmetic that was done already. */
typedef struct kni_emit_derived {
    uint8_t op;
    kni_ir_id x;
    uint32_t y;
    kni_ir_id result;
} kni_emit_derived;

typedef struct kni_emit {
    kni_ir_builder *b;
    const kni_work *w;
    uint32_t room;                                    /* for lanes, in the memory of what was computed */
    uint32_t lanes, chunks;                           /* of one step, and how many steps are open at once */
    uint32_t chunk;                                   /* the one that is computed now */
    kni_ir_id r[KNI_EMIT_CHUNKS], k[KNI_EMIT_CHUNKS]; /* of lane 0, by chunk */
    kni_ir_id valid[KNI_EMIT_CHUNKS];                 /* 0: always */
    uint32_t first_buffer;                            /* the binding of buffer 0 */
    uint32_t first_number;                            /* the param of number 1 */
    kni_ir_id *memo;                                  /* by node, chunk and lane */
    uint32_t *log;                                    /* what was set in it, in order */
    uint32_t n_log, memo_size;
    bool left_out[KNI_WORK_NODES]; /* not to be loaded ahead */
    kni_emit_derived derived[KNI_EMIT_DERIVED];
    uint32_t n_derived;
} kni_emit;

typedef struct kni_emit_mark {
    uint32_t n_log, n_derived;
} kni_emit_mark;

/* Declares buffers, params and numbers of the work; false without memory. */
bool kni_emit_begin(kni_emit *e, kni_ir_builder *b, const kni_work *w);
/* The same in steps, for work inside a kernel that has buffers and params of its own. */
bool kni_emit_start(kni_emit *e, kni_ir_builder *b, const kni_work *w);
void kni_emit_buffers(kni_emit *e);
void kni_emit_numbers(kni_emit *e);
void kni_emit_end(kni_emit *e);

/* What is computed between a mark and its release is forgotten: it was in a block that has been closed. */
kni_emit_mark kni_emit_mark_here(const kni_emit *e);
void kni_emit_release(kni_emit *e, kni_emit_mark mark);

kni_ir_id kni_emit_number(kni_emit *e, uint16_t number);
kni_ir_id kni_emit_index(kni_emit *e, int64_t value); /* a constant of the index's dtype */
kni_ir_id kni_emit_value(kni_emit *e, uint16_t node, uint32_t lane);
void kni_emit_set(kni_emit *e, uint16_t node, uint32_t lane, kni_ir_id value);
void kni_emit_store(kni_emit *e, const kni_work_output *output, kni_ir_id condition);
/* The value of the node that a result gives back is what an earlier kernel has stored. */
void kni_emit_reload(kni_emit *e, const kni_work_output *output);
/* A value of the schedule's own where the result's lane 0 is. */
void kni_emit_store_value(kni_emit *e, const kni_work_output *output, kni_ir_id value, kni_ir_id condition);
/* Loads what of `stage` depends on all of `level`, for the chunk that is computed now. */
void kni_emit_loads(kni_emit *e, uint8_t level);
/* Computes all that `stage` reductions suffice for and that does not depend on the axis. */
void kni_emit_hoist(kni_emit *e, uint8_t axis, uint8_t stage);

#endif
