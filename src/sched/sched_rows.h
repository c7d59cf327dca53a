/* How the rows of a reduction are laid over a device: what the files of this schedule share. */
#ifndef KNI_SCHED_ROWS_H
#define KNI_SCHED_ROWS_H

#include "sched/emit_body.h"
#include "sched/schedules.h"

typedef enum kni_rows_form {
    KNI_ROWS_HELD,    /* a team of invocations holds a row in registers */
    KNI_ROWS_LOOPED,  /* a workgroup walks along a row, once for each stage */
    KNI_ROWS_DOWN,    /* invocations side by side have rows side by side and walk down their places */
    KNI_ROWS_COLUMNS, /* workgroups hold one row after the other and sum the places over them */
    KNI_ROWS_FORMS
} kni_rows_form;

/* What a kernel of rows in parts does for its stage: reduces the parts; joins what is left of them, or makes it all. */
typedef enum kni_rows_task { KNI_ROWS_REDUCES, KNI_ROWS_JOINS, KNI_ROWS_ENDS } kni_rows_task;

/* Sums over the rows that one group may have. */
enum { KNI_ROWS_MOST_COLUMNS = 8, KNI_ROWS_MOST_REDUCTIONS = 64 /* of all stages */ };

typedef struct kni_rows_emit {
    kni_emit e;
    kni_ir_builder *b;
    const kni_work *w;
    kni_ir_id thread;     /* of its row; of the rows side by side in DOWN */
    kni_ir_id line;       /* which of the invocations that share a row, in DOWN */
    kni_ir_id inside;     /* the row exists; 0: always */
    kni_ir_id first;      /* whether this invocation writes what the row has once; 0: always */
    kni_ir_id begin, end; /* of the places, in forms that loop */
    kni_ir_id part;
    uint32_t shared[KN_DTYPE_COUNT], shared_places; /* 1 + the arrays of rows_lines.c */
} kni_rows_emit;

/* ---- combining */

/* What a total starts with. */
kni_ir_id kni_rows_neutral(kni_rows_emit *s, const kni_work_node *n);
/* A total being built: a value and, for places, where it was found. */
typedef struct kni_rows_total {
    kni_ir_id value, at;
} kni_rows_total;
kni_rows_total kni_rows_start(kni_rows_emit *s, const kni_work_node *n);
kni_rows_total kni_rows_join(kni_rows_emit *s, const kni_work_node *n, kni_rows_total a, kni_rows_total b);
/* The value of lane `lane` of the chunk that is computed now, as one more total. */
kni_rows_total kni_rows_element(kni_rows_emit *s, uint16_t node, uint32_t lane);
/* The total of all invocations that share the row; `lane` of several side by side. */
kni_rows_total kni_rows_share(kni_rows_emit *s, const kni_work_node *n, kni_rows_total *totals);
/* The lanes as one. */
kni_rows_total kni_rows_fold(kni_rows_emit *s, const kni_work_node *n, const kni_rows_total *lanes,
                             uint32_t count);
/* The totals of the lines of a workgroup, whose number is a power of 2, as one (rows_lines.c). */
void kni_rows_share_lines(kni_rows_emit *s, const kni_work_node *n, kni_rows_total *lanes, uint32_t count);
/* What that takes of shared memory, for all reductions of the work. */
uint32_t kni_rows_shared_bytes(const kni_work *w);
/* Where a loop from `start` below `end` by `turn` stops. */
kni_ir_id kni_rows_turns_end(kni_rows_emit *s, kni_ir_id start, kni_ir_id end, int64_t turn);
/* A reduction's value from its total. */
kni_ir_id kni_rows_result(kni_rows_emit *s, const kni_work_node *n, kni_rows_total total);

/* ---- reductions found in one walk (rows_pairs.c): stages are counted again */
void kni_rows_find_online(kni_work *w);
void kni_rows_find_moments(kni_work *w);

/* ---- sums of exponentials below the largest of their exponents (rows_online.c) */
typedef struct kni_rows_online {
    uint16_t top, sum;     /* nodes */
    kni_ir_id most, total; /* variables of this invocation */
} kni_rows_online;
void kni_rows_online_begin(kni_rows_emit *s, uint16_t sum, kni_rows_online *o);
void kni_rows_online_turn(kni_rows_emit *s, const kni_rows_online *o); /* for all chunks of a turn */
void kni_rows_online_end(kni_rows_emit *s, const kni_rows_online *o);

/* ---- a mean and the squares of the distances from it (rows_moments.c) */
typedef struct kni_rows_moments {
    uint16_t sum, squares; /* nodes */
    kni_ir_id
        count; /* how many values this invocation has met; by lane, where lanes are rows of their own: */
    kni_ir_id shift[KNI_EMIT_LANES], total[KNI_EMIT_LANES], mean[KNI_EMIT_LANES], spread[KNI_EMIT_LANES];
} kni_rows_moments;
void kni_rows_moments_begin(kni_rows_emit *s, uint16_t squares, kni_rows_moments *m);
void kni_rows_moments_turn(kni_rows_emit *s, const kni_rows_moments *m); /* for all chunks of a turn */
/* What all invocations that share the row have met; `leaves`: as one of the row's parts, for a later kernel. */
void kni_rows_moments_end(kni_rows_emit *s, const kni_rows_moments *m, bool leaves);
/* The same of the whole row from what an earlier kernel left of its parts. */
void kni_rows_moments_take(kni_rows_emit *s, uint16_t squares);

/* ---- parts of rows, from kernel to kernel (rows_parts.c) */
uint32_t kni_rows_separate(const kni_work *w); /* lanes that have totals of their own */
/* Where a part has the first of this invocation's rows. */
kni_ir_id kni_rows_part_place(kni_rows_emit *s, kni_ir_id part);
/* What the part has of all rows of this invocation in a temporary, 1 + the buffer. */
void kni_rows_left(kni_rows_emit *s, uint8_t temp, kni_ir_id part, int dtype, kni_ir_id *lanes);
void kni_rows_leave(kni_rows_emit *s, const kni_work_node *n, const kni_rows_total *totals);
/* What is done with some parts, whose numbers are given. */
typedef void (*kni_rows_parts_fn)(kni_rows_emit *s, const kni_ir_id *parts, uint32_t some, void *context);
enum { KNI_ROWS_PARTS_AT_ONCE = 8 };
/* Loops over those parts that this invocation takes. */
void kni_rows_each_part(kni_rows_emit *s, kni_rows_parts_fn parts, void *context);
/* The values of reductions from the parts' totals, combined in the order of the parts. */
void kni_rows_take_parts(kni_rows_emit *s, const uint16_t *nodes, int count);
/* The totals of rows whose parts are joined, for later kernels. */
void kni_rows_leave_total(kni_rows_emit *s, uint16_t node);
void kni_rows_take_total(kni_rows_emit *s, uint16_t node);
/* The totals of all invocations of the row, from those of each: one for each row. */
void kni_rows_share_rows(kni_rows_emit *s, const kni_work_node *n, kni_rows_total *totals);

/* ---- the layout of DOWN (rows_down.c) */
void kni_rows_choose_down(kni_work *w);
void kni_rows_lay_down(kni_work *w);                /* for the pass */
bool kni_rows_may_part(const kni_work *w);          /* whether the stages leave kernels for that */
void kni_rows_set_parts(kni_work *w, int64_t size); /* of so many places */

uint32_t kni_rows_reductions(const kni_work *w);
/* ---- which kernel does what (rows_tasks.c) */
kni_rows_task kni_rows_task_of(const kni_work *w);
uint32_t kni_rows_stage_of(const kni_work *w); /* the stage that it reduces or joins */
uint32_t kni_rows_kernels(const kni_work *w);
/* Whether a result of elements is known before any reduction, and is written while the first are walked. */
bool kni_rows_is_early(const kni_work *w, const kni_work_output *y);
bool kni_rows_has_late(const kni_work *w); /* elements that wait for a reduction */
/* How many values the kernel of the pass loads for each place of a row; of one that does all, how many there are. */
uint32_t kni_rows_loads(const kni_work *w);
/* Results that the last kernel had better load than compute again from more. */
void kni_rows_choose_rereads(kni_work *w);

/* ---- kernels */
void kni_rows_held(kni_rows_emit *s);
void kni_rows_looped(kni_rows_emit *s);
void kni_rows_columns(kni_rows_emit *s);
void kni_rows_columns_end(kni_rows_emit *s);

/* Computes the reductions of a stage for the row that is held. */
void kni_rows_held_stages(kni_rows_emit *s);
void kni_rows_store_held(kni_rows_emit *s);

static inline bool kni_rows_is_place(const kni_work_node *n)
{
    return n->op == KNI_WORK_ARGMIN || n->op == KNI_WORK_ARGMAX;
}
/* The dtype in which a total is kept. */
static inline int kni_rows_dtype(const kni_work *w, const kni_work_node *n) { return w->nodes[n->a].dtype; }

#endif
