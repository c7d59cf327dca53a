/* Rows that are walked along, by a workgroup (LOOPED) or by invocations side by side (DOWN), once for each stage and once
   for the results. A row may be cut into parts: then each stage is a kernel that leaves the parts' totals in memory, and
   every later kernel begins by combining them. */
#include "sched/sched_rows.h"

static bool down(const kni_work *w) { return w->form == KNI_ROWS_DOWN; }
/* All where they are different rows. */
uint32_t kni_rows_separate(const kni_work *w) { return down(w) ? w->lanes : 1; }

typedef struct variables {
    kni_ir_id value[KNI_EMIT_LANES], at[KNI_EMIT_LANES];
} variables;

static void declare(kni_rows_emit *s, const kni_work_node *n, variables *v)
{
    kni_rows_total start = kni_rows_start(s, n);
    for (uint32_t i = 0; i < s->e.lanes; i++) {
        v->value[i] = kni_ir_variable(s->b, kni_rows_dtype(s->w, n), 1, start.value);
        v->at[i] = start.at ? kni_ir_variable(s->b, KN_I64, 1, start.at) : 0;
    }
}

static kni_rows_total get(kni_rows_emit *s, const variables *v, uint32_t lane)
{
    return (kni_rows_total){kni_ir_get(s->b, v->value[lane]),
                            v->at[lane] ? kni_ir_get(s->b, v->at[lane]) : 0};
}

static void join(kni_rows_emit *s, const kni_work_node *n, const variables *v, uint32_t lane,
                 kni_rows_total t)
{
    kni_rows_total sum = kni_rows_join(s, n, get(s, v, lane), t);
    kni_ir_set(s->b, v->value[lane], sum.value);
    if (sum.at) kni_ir_set(s->b, v->at[lane], sum.at);
}

/* What is done for the chunks of one turn. */
typedef void (*turn_fn)(kni_rows_emit *s, void *context);

/* What the first kernel has stored, in the last one. */
static void reload(kni_rows_emit *s)
{
    const kni_work *w = s->w;
    for (int i = 0; i < w->n_outputs && w->parts > 1 && kni_rows_task_of(w) == KNI_ROWS_ENDS; i++)
        if (w->outputs[i].reread) kni_emit_reload(&s->e, &w->outputs[i]);
}

/* A loop over places from `start` below `end`, `chunks` of them `step` apart at a time, all of them there. */
static void walk_turns(kni_rows_emit *s, kni_ir_id start, kni_ir_id end, int64_t step, uint32_t chunks,
                       turn_fn turn, void *context)
{
    kni_emit *e = &s->e;
    kni_emit_mark mark = kni_emit_mark_here(e);
    kni_ir_id at = kni_ir_for(s->b, start, end, kni_emit_index(e, step * chunks));
    e->chunks = chunks;
    for (uint32_t c = 0; c < chunks; c++) {
        e->k[c] = c ? kni_ir_word(s->b, "add", at, kni_emit_index(e, step * c)) : at;
        e->valid[c] = 0;
    }
    for (e->chunk = 0; e->chunk < chunks; e->chunk++) {
        reload(s);
        kni_emit_loads(e, KNI_WORK_K);
    }
    e->chunk = 0;
    turn(s, context);
    e->chunk = 0;
    e->chunks = s->w->chunks;
    kni_ir_end(s->b);
    kni_emit_release(e, mark);
}

/* Walks over the places of this invocation: turns of several chunks, then one by one what is left. */
static void walk(kni_rows_emit *s, turn_fn turn, void *context)
{
    const kni_work *w = s->w;
    kni_emit *e = &s->e;
    int64_t step = down(w) ? w->teams : (int64_t)w->threads * w->lanes, whole = step * w->chunks;
    kni_ir_id start = s->begin;
    if (down(w) && w->teams > 1) start = kni_ir_word(s->b, "add", start, s->line);
    if (!down(w) && w->threads > 1)
        start =
            kni_ir_word(s->b, "add", start, kni_ir_word(s->b, "mul", s->thread, kni_emit_index(e, w->lanes)));
    if (w->chunks == 1) {
        walk_turns(s, start, s->end, step, 1, turn, context);
        return;
    }
    kni_ir_id last = kni_ir_word(s->b, "sub", s->end, kni_emit_index(e, whole - step));
    walk_turns(s, start, last, step, w->chunks, turn, context);
    start = kni_rows_turns_end(s, start, last, whole);
    walk_turns(s, start, s->end, step, 1, turn, context);
}

enum { MOST = KNI_ROWS_MOST_REDUCTIONS };

static int list(const kni_work *w, int stage, uint16_t nodes[MOST])
{
    int count = 0;
    for (uint16_t n = 1; n < w->n_nodes && count < MOST; n++)
        if (w->nodes[n].kind == KNI_WORK_REDUCE && w->nodes[n].stage == stage && !w->nodes[n].partner)
            nodes[count++] = n;
    return count;
}

static int list_pairs(const kni_work *w, int stage, uint8_t pair, uint16_t nodes[MOST])
{
    int count = 0;
    for (uint16_t n = 1; n < w->n_nodes && count < MOST; n++)
        if (w->nodes[n].pair == pair && w->nodes[n].stage == stage) nodes[count++] = n;
    return count;
}

void kni_rows_share_rows(kni_rows_emit *s, const kni_work_node *n, kni_rows_total *totals)
{
    const kni_work *w = s->w;
    if (down(w))
        kni_rows_share_lines(s, n, totals, w->lanes);
    else
        totals[0] = kni_rows_share(s, n, totals);
}

static void share(kni_rows_emit *s, const kni_work_node *n, const variables *v, kni_rows_total *totals)
{
    const kni_work *w = s->w;
    for (uint32_t i = 0; i < w->lanes; i++) totals[i] = get(s, v, i);
    if (!down(w)) totals[0] = kni_rows_fold(s, n, totals, w->lanes);
    kni_rows_share_rows(s, n, totals);
}

static void set_results(kni_rows_emit *s, uint16_t node, const kni_rows_total *totals)
{
    for (uint32_t i = 0; i < kni_rows_separate(s->w); i++)
        kni_emit_set(&s->e, node, i, kni_rows_result(s, &s->w->nodes[node], totals[i]));
}

/* ---- the kernel */

/* The reductions of one stage while they are walked. */
typedef struct stage_walk {
    int stage, count, n_online, n_moments;
    uint16_t nodes[MOST];
    variables v[MOST];
    kni_rows_online online[MOST];
    kni_rows_moments moments[MOST];
} stage_walk;

static void store_turn(kni_rows_emit *s, bool early)
{
    const kni_work *w = s->w;
    for (s->e.chunk = 0; s->e.chunk < s->e.chunks; s->e.chunk++)
        for (int i = 0; i < w->n_outputs; i++)
            if (w->outputs[i].level & KNI_WORK_K && kni_rows_is_early(w, &w->outputs[i]) == early)
                kni_emit_store(&s->e, &w->outputs[i], s->inside);
    s->e.chunk = 0;
}

static void reduce_turn(kni_rows_emit *s, void *context)
{
    const stage_walk *t = context;
    kni_emit *e = &s->e;
    for (int i = 0; i < t->n_online; i++) kni_rows_online_turn(s, &t->online[i]);
    for (int i = 0; i < t->n_moments; i++) kni_rows_moments_turn(s, &t->moments[i]);
    for (int i = 0; i < t->count; i++)
        for (e->chunk = 0; e->chunk < e->chunks; e->chunk++)
            for (uint32_t l = 0; l < e->lanes; l++)
                join(s, &s->w->nodes[t->nodes[i]], &t->v[i], l, kni_rows_element(s, t->nodes[i], l));
    e->chunk = 0;
    if (t->stage == 1) store_turn(s, true);
}

static void run_stage(kni_rows_emit *s, int stage, bool leaves)
{
    const kni_work *w = s->w;
    stage_walk t = {.stage = stage};
    kni_rows_total totals[KNI_EMIT_LANES];
    uint16_t powers[MOST], squares[MOST];
    t.count = list(w, stage, t.nodes);
    t.n_online = list_pairs(w, stage, KNI_PAIR_POWERS, powers);
    t.n_moments = list_pairs(w, stage, KNI_PAIR_SQUARES, squares);
    kni_emit_hoist(&s->e, KNI_WORK_K, (uint8_t)(stage - 1));
    for (int i = 0; i < t.count; i++) declare(s, &w->nodes[t.nodes[i]], &t.v[i]);
    for (int i = 0; i < t.n_online; i++) kni_rows_online_begin(s, powers[i], &t.online[i]);
    for (int i = 0; i < t.n_moments; i++) kni_rows_moments_begin(s, squares[i], &t.moments[i]);
    walk(s, reduce_turn, &t);
    for (int i = 0; i < t.n_online; i++) kni_rows_online_end(s, &t.online[i]);
    for (int i = 0; i < t.n_moments; i++) kni_rows_moments_end(s, &t.moments[i], leaves);
    for (int i = 0; i < t.count; i++) {
        const kni_work_node *n = &w->nodes[t.nodes[i]];
        share(s, n, &t.v[i], totals);
        if (leaves) kni_rows_leave(s, n, totals);
        if (!leaves) set_results(s, t.nodes[i], totals);
    }
}

static void store_late(kni_rows_emit *s, void *context)
{
    (void)context;
    store_turn(s, false);
}

/* Results of rows by the first part, elements where they are. */
static void store_results(kni_rows_emit *s, bool rows, bool elements)
{
    const kni_work *w = s->w;
    kni_emit *e = &s->e;
    kni_emit_hoist(e, KNI_WORK_K, UINT8_MAX);
    kni_ir_id once = s->inside;
    if (s->first) once = once ? kni_ir_and(s->b, once, s->first) : s->first;
    if (s->part) {
        kni_ir_id first = kni_ir_word(s->b, "eq", s->part, kni_emit_index(e, 0));
        once = once ? kni_ir_and(s->b, once, first) : first;
    }
    for (int i = 0; i < w->n_outputs && rows; i++)
        if (!(w->outputs[i].level & KNI_WORK_K)) kni_emit_store(e, &w->outputs[i], once);
    if (elements && kni_rows_has_late(w)) walk(s, store_late, NULL);
}

static void set_rows(kni_rows_emit *s)
{
    const kni_work *w = s->w;
    kni_emit *e = &s->e;
    kni_ir_id local = kni_ir_builtin_value(s->b, KNI_IR_LOCAL, 0, w->index);
    kni_ir_id group = kni_ir_builtin_value(s->b, KNI_IR_GROUP, 0, w->index), zero = kni_emit_index(e, 0);
    if (!down(w)) {
        s->thread = local;
        e->r[0] = group;
        if (w->threads > 1) s->first = kni_ir_word(s->b, "eq", local, zero);
        return;
    }
    kni_ir_id side = kni_emit_index(e, w->threads / w->teams), lanes = kni_emit_index(e, w->lanes);
    kni_ir_id rows = kni_emit_number(e, w->rows_number);
    s->thread = w->teams > 1 ? kni_ir_word(s->b, "rem", local, side) : local;
    if (w->teams > 1) {
        s->line = kni_ir_word(s->b, "div", local, side);
        s->first = kni_ir_word(s->b, "eq", s->line, zero);
    }
    kni_ir_id row = kni_ir_word(s->b, "add", kni_ir_word(s->b, "mul", group, side), s->thread);
    row = kni_ir_word(s->b, "mul", row, lanes);
    s->inside = kni_ir_word(s->b, "lt", row, rows);
    e->r[0] = kni_ir_word(s->b, "min", row, kni_ir_word(s->b, "sub", rows, lanes));
}

/* The places of the part that this workgroup has. */
static void set_part(kni_rows_emit *s)
{
    kni_emit *e = &s->e;
    const kni_work *w = s->w;
    s->part = kni_ir_builtin_value(s->b, KNI_IR_GROUP, 1, w->index);
    s->begin = kni_ir_word(s->b, "mul", s->part, kni_emit_number(e, w->part_number));
    kni_ir_id end = kni_ir_word(s->b, "add", s->begin, kni_emit_number(e, w->part_number));
    s->end = kni_ir_word(s->b, "min", end, s->end);
}

static void take_stage(kni_rows_emit *s, int stage)
{
    const kni_work *w = s->w;
    uint16_t nodes[MOST];
    int count = list(w, stage, nodes);
    kni_rows_take_parts(s, nodes, count);
    count = list_pairs(w, stage, KNI_PAIR_SQUARES, nodes);
    for (int i = 0; i < count; i++) kni_rows_moments_take(s, nodes[i]);
}

/* What a kernel before has joined, or what is to be left for the next ones. */
static void for_totals(kni_rows_emit *s, int stage, void (*total)(kni_rows_emit *, uint16_t))
{
    const kni_work *w = s->w;
    for (uint16_t n = 1; n < w->n_nodes; n++)
        if (w->nodes[n].kind == KNI_WORK_REDUCE && w->nodes[n].stage == stage) total(s, n);
}

static void run_parts(kni_rows_emit *s)
{
    const kni_work *w = s->w;
    kni_rows_task task = kni_rows_task_of(w);
    int stage = (int)kni_rows_stage_of(w);
    if (task != KNI_ROWS_JOINS) set_part(s);
    for (int known = 1; known < stage; known++)
        if (w->joins)
            for_totals(s, known, kni_rows_take_total);
        else
            take_stage(s, known);
    if (task == KNI_ROWS_REDUCES) run_stage(s, stage, true);
    if (task == KNI_ROWS_ENDS) store_results(s, !w->joins, true);
    if (task != KNI_ROWS_JOINS) return;
    take_stage(s, stage);
    if (w->pass + 1u < kni_rows_kernels(w)) for_totals(s, stage, kni_rows_leave_total);
    if (stage == w->n_stages) store_results(s, true, false);
}

void kni_rows_looped(kni_rows_emit *s)
{
    const kni_work *w = s->w;
    set_rows(s);
    s->begin = kni_emit_index(&s->e, 0);
    s->end = kni_emit_number(&s->e, w->width_number);
    if (w->parts > 1) {
        run_parts(s);
        return;
    }
    for (int stage = 1; stage <= w->n_stages; stage++) run_stage(s, stage, false);
    store_results(s, true, true);
}
