/* Rows in parts, from kernel to kernel: what a workgroup leaves of its part, and how a later kernel makes the row's totals of
   all parts. In memory: [part][row], then the totals of the rows where a kernel of its own has joined the parts. */
#include "sched/sched_rows.h"

enum { AT_ONCE = KNI_ROWS_PARTS_AT_ONCE, VALUES_AT_ONCE = 16 };

kni_ir_id kni_rows_part_place(kni_rows_emit *s, kni_ir_id part)
{
    kni_ir_id at = kni_ir_word(s->b, "mul", part, kni_emit_number(&s->e, s->w->rows_number));
    return kni_ir_word(s->b, "add", at, s->e.r[0]);
}

void kni_rows_left(kni_rows_emit *s, uint8_t temp, kni_ir_id part, int dtype, kni_ir_id *lanes)
{
    uint32_t count = kni_rows_separate(s->w);
    kni_ir_id v = kni_ir_load(s->b, temp - 1u, kni_rows_part_place(s, part), dtype, (int)count);
    for (uint32_t i = 0; i < count; i++) lanes[i] = count > 1 ? kni_ir_lane(s->b, v, (int)i) : v;
}

/* The values of this invocation's rows, by the first of those that share them. */
static void leave(kni_rows_emit *s, uint8_t temp, kni_ir_id part, const kni_ir_id *lanes)
{
    uint32_t count = kni_rows_separate(s->w);
    kni_ir_id where = s->inside, at = kni_rows_part_place(s, part);
    if (s->first) where = where ? kni_ir_and(s->b, where, s->first) : s->first;
    kni_ir_id v = count > 1 ? kni_ir_pack(s->b, lanes, (int)count) : lanes[0];
    kni_ir_store_where(s->b, temp - 1u, at, v, where);
}

void kni_rows_leave(kni_rows_emit *s, const kni_work_node *n, const kni_rows_total *totals)
{
    kni_ir_id values[KNI_EMIT_LANES], places[KNI_EMIT_LANES];
    for (uint32_t i = 0; i < kni_rows_separate(s->w); i++) {
        values[i] = totals[i].value;
        places[i] = totals[i].at;
    }
    leave(s, n->temps[0], s->part, values);
    if (kni_rows_is_place(n)) leave(s, n->temps[1], s->part, places);
}

/* ---- all parts */

static void some_parts(kni_rows_emit *s, kni_ir_id first, kni_ir_id end, uint32_t some, uint32_t apart,
                       kni_rows_parts_fn parts, void *context)
{
    kni_emit *e = &s->e;
    kni_emit_mark mark = kni_emit_mark_here(e);
    kni_ir_id j[AT_ONCE] = {kni_ir_for(s->b, first, end, kni_emit_index(e, (int64_t)some * apart))};
    for (uint32_t k = 1; k < some; k++)
        j[k] = kni_ir_word(s->b, "add", j[0], kni_emit_index(e, (int64_t)k * apart));
    parts(s, j, some, context);
    kni_ir_end(s->b);
    kni_emit_release(e, mark);
}

void kni_rows_each_part(kni_rows_emit *s, kni_rows_parts_fn parts, void *context)
{
    const kni_work *w = s->w;
    kni_emit *e = &s->e;
    bool down = w->form == KNI_ROWS_DOWN;
    uint32_t apart = down ? w->teams : w->threads, some = down ? VALUES_AT_ONCE / w->lanes : 1;
    if (some > AT_ONCE) some = AT_ONCE;
    kni_ir_id end = kni_emit_number(e, w->parts_number);
    kni_ir_id first = apart == 1 ? kni_emit_index(e, 0) : down ? s->line : s->thread;
    if (some > 1) {
        int64_t turn = (int64_t)some * apart;
        kni_ir_id last = kni_ir_word(s->b, "sub", end, kni_emit_index(e, turn - apart));
        some_parts(s, first, last, some, apart, parts, context);
        first = kni_rows_turns_end(s, first, last, turn);
    }
    some_parts(s, first, end, 1, apart, parts, context);
}

/* Reductions that are taken in one loop, so that the loads of all are under way together. */
enum { TOGETHER = 4 };
typedef struct taking {
    int count;
    uint16_t nodes[TOGETHER];
    kni_ir_id value[TOGETHER][KNI_EMIT_LANES], at[TOGETHER][KNI_EMIT_LANES]; /* variables */
} taking;

static const kni_work_node *node_of(const kni_rows_emit *s, const taking *t, int i)
{
    return &s->w->nodes[t->nodes[i]];
}

static kni_rows_total now(kni_rows_emit *s, const taking *t, int i, uint32_t lane)
{
    kni_ir_id at = kni_rows_is_place(node_of(s, t, i)) ? kni_ir_get(s->b, t->at[i][lane]) : 0;
    return (kni_rows_total){kni_ir_get(s->b, t->value[i][lane]), at};
}

static void take_some(kni_rows_emit *s, const kni_ir_id *parts, uint32_t some, void *context)
{
    const taking *t = context;
    kni_ir_id values[TOGETHER][AT_ONCE][KNI_EMIT_LANES], at[TOGETHER][AT_ONCE][KNI_EMIT_LANES] = {{{0}}};
    for (int i = 0; i < t->count; i++)
        for (uint32_t k = 0; k < some; k++) {
            const kni_work_node *n = node_of(s, t, i);
            kni_rows_left(s, n->temps[0], parts[k], kni_rows_dtype(s->w, n), values[i][k]);
            if (kni_rows_is_place(n)) kni_rows_left(s, n->temps[1], parts[k], KN_I64, at[i][k]);
        }
    for (int i = 0; i < t->count; i++)
        for (uint32_t l = 0; l < kni_rows_separate(s->w); l++) {
            kni_rows_total sum = now(s, t, i, l);
            for (uint32_t k = 0; k < some; k++)
                sum = kni_rows_join(s, node_of(s, t, i), sum, (kni_rows_total){values[i][k][l], at[i][k][l]});
            kni_ir_set(s->b, t->value[i][l], sum.value);
            if (t->at[i][l]) kni_ir_set(s->b, t->at[i][l], sum.at);
        }
}

static void take(kni_rows_emit *s, taking *t)
{
    uint32_t rows = kni_rows_separate(s->w);
    kni_rows_total totals[KNI_EMIT_LANES];
    for (int i = 0; i < t->count; i++) {
        const kni_work_node *n = node_of(s, t, i);
        kni_rows_total start = kni_rows_start(s, n);
        for (uint32_t l = 0; l < rows; l++) {
            t->value[i][l] = kni_ir_variable(s->b, kni_rows_dtype(s->w, n), 1, start.value);
            t->at[i][l] = start.at ? kni_ir_variable(s->b, KN_I64, 1, start.at) : 0;
        }
    }
    kni_rows_each_part(s, take_some, t);
    for (int i = 0; i < t->count; i++) {
        const kni_work_node *n = node_of(s, t, i);
        for (uint32_t l = 0; l < rows; l++) totals[l] = now(s, t, i, l);
        kni_rows_share_rows(s, n, totals);
        for (uint32_t l = 0; l < rows; l++)
            kni_emit_set(&s->e, t->nodes[i], l, kni_rows_result(s, n, totals[l]));
    }
}

void kni_rows_take_parts(kni_rows_emit *s, const uint16_t *nodes, int count)
{
    taking t = {.count = 0};
    for (int i = 0; i < count; i++) {
        t.nodes[t.count++] = nodes[i];
        if (t.count < TOGETHER && i + 1 < count) continue;
        take(s, &t);
        t.count = 0;
    }
}

/* ---- totals of rows, behind the parts */

static kni_ir_id totals_part(kni_rows_emit *s, const kni_work_node *n)
{
    kni_ir_id parts = kni_emit_number(&s->e, s->w->parts_number);
    bool second = n->pair == KNI_PAIR_REST; /* beside the squares' */
    return second ? kni_ir_word(s->b, "add", parts, kni_emit_index(&s->e, 1)) : parts;
}

static uint8_t totals_temp(const kni_work_node *n) { return n->temps[kni_rows_is_place(n)]; }

void kni_rows_leave_total(kni_rows_emit *s, uint16_t node)
{
    const kni_work_node *n = &s->w->nodes[node];
    kni_ir_id values[KNI_EMIT_LANES];
    for (uint32_t i = 0; i < kni_rows_separate(s->w); i++) values[i] = kni_emit_value(&s->e, node, i);
    leave(s, totals_temp(n), totals_part(s, n), values);
}

void kni_rows_take_total(kni_rows_emit *s, uint16_t node)
{
    const kni_work_node *n = &s->w->nodes[node];
    kni_ir_id values[KNI_EMIT_LANES];
    int dtype = kni_rows_is_place(n) ? KN_I64 : kni_rows_dtype(s->w, n);
    kni_rows_left(s, totals_temp(n), totals_part(s, n), dtype, values);
    for (uint32_t i = 0; i < kni_rows_separate(s->w); i++) kni_emit_set(&s->e, node, i, values[i]);
}
