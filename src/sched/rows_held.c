/* Rows that fit the registers of a team: each element is read once and written once. And the same with sums over the
   rows at each place, kept in registers from row to row. */
#include "sched/sched_rows.h"

static void reduce(kni_rows_emit *s, uint16_t node)
{
    const kni_work_node *n = &s->w->nodes[node];
    kni_emit *e = &s->e;
    kni_rows_total lanes[KNI_EMIT_LANES];
    for (e->chunk = 0; e->chunk < e->chunks; e->chunk++)
        for (uint32_t i = 0; i < e->lanes; i++) {
            kni_rows_total v = kni_rows_element(s, node, i);
            lanes[i] = e->chunk ? kni_rows_join(s, n, lanes[i], v) : v;
        }
    e->chunk = 0;
    kni_rows_total total = kni_rows_fold(s, n, lanes, e->lanes);
    total = kni_rows_share(s, n, &total);
    kni_emit_set(e, node, 0, kni_rows_result(s, n, total));
}

void kni_rows_held_stages(kni_rows_emit *s)
{
    const kni_work *w = s->w;
    kni_emit *e = &s->e;
    kni_emit_hoist(e, KNI_WORK_K, 0);
    for (e->chunk = 0; e->chunk < e->chunks; e->chunk++) kni_emit_loads(e, KNI_WORK_K);
    e->chunk = 0;
    for (int stage = 1; stage <= w->n_stages; stage++)
        for (uint16_t n = 1; n < w->n_nodes; n++)
            if (w->nodes[n].kind == KNI_WORK_REDUCE && w->nodes[n].op != KNI_WORK_COLUMNS &&
                w->nodes[n].stage == stage)
                reduce(s, n);
}

static kni_ir_id both(kni_rows_emit *s, kni_ir_id a, kni_ir_id b)
{
    return a && b ? kni_ir_and(s->b, a, b) : a ? a : b;
}

static bool from_columns(const kni_work *w, uint16_t node)
{
    const kni_work_node *n = &w->nodes[node];
    return w->form == KNI_ROWS_COLUMNS && n->level == KNI_WORK_K && n->stage > 0;
}

void kni_rows_store_held(kni_rows_emit *s)
{
    kni_emit *e = &s->e;
    for (int i = 0; i < s->w->n_outputs; i++) {
        const kni_work_output *y = &s->w->outputs[i];
        kni_ir_id condition = s->inside;
        if (from_columns(s->w, y->node)) continue;
        if (!(y->level & KNI_WORK_K)) {
            kni_emit_store(e, y, both(s, condition, s->first));
            continue;
        }
        if (!(y->level & KNI_WORK_R))
            condition = both(s, condition, kni_ir_word(s->b, "eq", e->r[0], kni_emit_index(e, 0)));
        for (e->chunk = 0; e->chunk < e->chunks; e->chunk++)
            kni_emit_store(e, y, both(s, condition, e->valid[e->chunk]));
        e->chunk = 0;
    }
}

/* The places of each chunk, for an invocation of a team of `team`. */
static void set_places(kni_rows_emit *s, uint32_t team)
{
    kni_emit *e = &s->e;
    kni_ir_id width = kni_emit_number(e, s->w->width_number);
    kni_ir_id first = kni_ir_word(s->b, "mul", s->thread, kni_emit_index(e, e->lanes));
    for (uint32_t c = 0; c < e->chunks; c++) {
        e->k[c] =
            c ? kni_ir_word(s->b, "add", first, kni_emit_index(e, (int64_t)c * team * e->lanes)) : first;
        e->valid[c] = s->w->full ? 0 : kni_ir_word(s->b, "lt", e->k[c], width);
    }
}

void kni_rows_held(kni_rows_emit *s)
{
    const kni_work *w = s->w;
    kni_emit *e = &s->e;
    uint32_t team = w->threads / w->teams;
    kni_ir_id local = kni_ir_builtin_value(s->b, KNI_IR_LOCAL, 0, w->index);
    kni_ir_id group = kni_ir_builtin_value(s->b, KNI_IR_GROUP, 0, w->index);
    s->thread = local;
    e->r[0] = group;
    if (w->teams > 1) {
        kni_ir_id size = kni_emit_index(e, team), last = kni_emit_index(e, 1);
        kni_ir_id rows = kni_emit_number(e, w->rows_number);
        s->thread = kni_ir_word(s->b, "rem", local, size);
        kni_ir_id row = kni_ir_word(s->b, "mul", group, kni_emit_index(e, w->teams));
        row = kni_ir_word(s->b, "add", row, kni_ir_word(s->b, "div", local, size));
        s->inside = kni_ir_word(s->b, "lt", row, rows);
        e->r[0] = kni_ir_word(s->b, "min", row, kni_ir_word(s->b, "sub", rows, last));
    }
    if (team > 1) s->first = kni_ir_word(s->b, "eq", s->thread, kni_emit_index(e, 0));
    set_places(s, team);
    kni_rows_held_stages(s);
    kni_rows_store_held(s);
}

/* ---- sums over the rows */

enum { AT_ONCE = 8 };

static int list_columns(const kni_work *w, uint16_t nodes[KNI_ROWS_MOST_COLUMNS])
{
    int count = 0;
    for (uint16_t n = 1; n < w->n_nodes && count < KNI_ROWS_MOST_COLUMNS; n++)
        if (w->nodes[n].kind == KNI_WORK_REDUCE && w->nodes[n].op == KNI_WORK_COLUMNS) nodes[count++] = n;
    return count;
}

void kni_rows_columns(kni_rows_emit *s)
{
    const kni_work *w = s->w;
    kni_emit *e = &s->e;
    uint16_t nodes[KNI_ROWS_MOST_COLUMNS];
    kni_ir_id totals[KNI_ROWS_MOST_COLUMNS][KNI_EMIT_CHUNKS][KNI_EMIT_LANES];
    int count = list_columns(w, nodes);
    kni_ir_id group = kni_ir_builtin_value(s->b, KNI_IR_GROUP, 0, w->index);
    kni_ir_id groups = kni_ir_builtin_value(s->b, KNI_IR_GROUPS, 0, w->index);
    s->thread = kni_ir_builtin_value(s->b, KNI_IR_LOCAL, 0, w->index);
    if (w->threads > 1) s->first = kni_ir_word(s->b, "eq", s->thread, kni_emit_index(e, 0));
    set_places(s, w->threads);
    for (int i = 0; i < count; i++)
        for (uint32_t c = 0; c < e->chunks; c++)
            for (uint32_t l = 0; l < e->lanes; l++) {
                int dtype = kni_rows_dtype(w, &w->nodes[nodes[i]]);
                totals[i][c][l] = kni_ir_variable(s->b, dtype, 1, kni_ir_real(s->b, dtype, 0));
            }
    kni_emit_mark mark = kni_emit_mark_here(e);
    e->r[0] = kni_ir_for(s->b, group, kni_emit_number(e, w->rows_number), groups);
    kni_rows_held_stages(s);
    for (int i = 0; i < count; i++)
        for (e->chunk = 0; e->chunk < e->chunks; e->chunk++)
            for (uint32_t l = 0; l < e->lanes; l++) {
                kni_ir_id t = totals[i][e->chunk][l];
                kni_ir_id v = kni_emit_value(e, w->nodes[nodes[i]].a, l);
                kni_ir_set(s->b, t, kni_ir_word(s->b, "add", kni_ir_get(s->b, t), v));
            }
    e->chunk = 0;
    kni_rows_store_held(s);
    kni_ir_end(s->b);
    kni_emit_release(e, mark);
    kni_ir_id start = kni_ir_word(s->b, "mul", group, kni_emit_number(e, w->width_number));
    for (int i = 0; i < count; i++)
        for (uint32_t c = 0; c < e->chunks; c++) {
            kni_ir_id values[KNI_EMIT_LANES];
            for (uint32_t l = 0; l < e->lanes; l++) values[l] = kni_ir_get(s->b, totals[i][c][l]);
            kni_ir_store_where(s->b, w->nodes[nodes[i]].temps[0] - 1u,
                               kni_ir_word(s->b, "add", start, e->k[c]),
                               kni_ir_pack(s->b, values, (int)e->lanes), e->valid[c]);
        }
}

/* Adds what workgroup j and so many after it, `apart` from each other, have left at the place of this invocation. */
static void add_some(kni_rows_emit *s, const uint16_t *nodes, int count, kni_ir_id j, uint32_t some,
                     kni_ir_id sums[][KNI_EMIT_LANES])
{
    const kni_work *w = s->w;
    kni_emit *e = &s->e;
    kni_ir_id width = kni_emit_number(e, w->width_number), values[KNI_ROWS_MOST_COLUMNS][AT_ONCE];
    for (uint32_t k = 0; k < some; k++) {
        kni_ir_id part = kni_ir_word(s->b, "add", j, kni_emit_index(e, (int64_t)k * w->teams));
        kni_ir_id at = kni_ir_word(s->b, "add", kni_ir_word(s->b, "mul", part, width), e->k[0]);
        for (int i = 0; i < count; i++) {
            const kni_work_node *n = &w->nodes[nodes[i]];
            values[i][k] = kni_ir_load(s->b, n->temps[0] - 1u, at, kni_rows_dtype(w, n), (int)e->lanes);
        }
    }
    for (int i = 0; i < count; i++)
        for (uint32_t l = 0; l < e->lanes; l++) {
            kni_ir_id sum = kni_ir_get(s->b, sums[i][l]);
            for (uint32_t k = 0; k < some; k++) {
                kni_ir_id lane = e->lanes > 1 ? kni_ir_lane(s->b, values[i][k], (int)l) : values[i][k];
                sum = kni_ir_word(s->b, "add", sum, lane);
            }
            kni_ir_set(s->b, sums[i][l], sum);
        }
}

/* Several at once while there are as many, so that their loads are under way together. */
static void add_sums(kni_rows_emit *s, const uint16_t *nodes, int count, kni_ir_id line,
                     kni_ir_id sums[][KNI_EMIT_LANES])
{
    kni_emit *e = &s->e;
    int64_t teams = s->w->teams, turn = AT_ONCE * teams;
    kni_ir_id parts = kni_emit_number(e, s->w->parts_number);
    kni_ir_id last = kni_ir_word(s->b, "sub", parts, kni_emit_index(e, turn - teams));
    kni_emit_mark mark = kni_emit_mark_here(e);
    add_some(s, nodes, count, kni_ir_for(s->b, line, last, kni_emit_index(e, turn)), AT_ONCE, sums);
    kni_ir_end(s->b);
    kni_emit_release(e, mark);
    kni_ir_id rest = kni_rows_turns_end(s, line, last, turn);
    mark = kni_emit_mark_here(e);
    add_some(s, nodes, count, kni_ir_for(s->b, rest, parts, kni_emit_index(e, teams)), 1, sums);
    kni_ir_end(s->b);
    kni_emit_release(e, mark);
}

/* The second kernel: the sums of all workgroups as one, and what is made of them. */
void kni_rows_columns_end(kni_rows_emit *s)
{
    const kni_work *w = s->w;
    kni_emit *e = &s->e;
    uint16_t nodes[KNI_ROWS_MOST_COLUMNS];
    uint32_t side = w->threads / w->teams;
    int count = list_columns(w, nodes);
    kni_ir_id local = kni_ir_builtin_value(s->b, KNI_IR_LOCAL, 0, w->index);
    kni_ir_id group = kni_ir_builtin_value(s->b, KNI_IR_GROUP, 0, w->index);
    kni_ir_id width = kni_emit_number(e, w->width_number), lanes = kni_emit_index(e, e->lanes);
    kni_ir_id thread = kni_ir_word(s->b, "rem", local, kni_emit_index(e, side));
    kni_ir_id line = kni_ir_word(s->b, "div", local, kni_emit_index(e, side));
    kni_ir_id place = kni_ir_word(s->b, "mul", group, kni_emit_index(e, side));
    place = kni_ir_word(s->b, "mul", kni_ir_word(s->b, "add", place, thread), lanes);
    kni_ir_id inside = kni_ir_word(s->b, "lt", place, width);
    e->k[0] = kni_ir_word(s->b, "min", place, kni_ir_word(s->b, "sub", width, lanes));
    e->r[0] = kni_emit_index(e, 0);
    kni_ir_id sums[KNI_ROWS_MOST_COLUMNS][KNI_EMIT_LANES];
    for (int i = 0; i < count; i++)
        for (uint32_t l = 0; l < e->lanes; l++) {
            int dtype = kni_rows_dtype(w, &w->nodes[nodes[i]]);
            sums[i][l] = kni_ir_variable(s->b, dtype, 1, kni_ir_real(s->b, dtype, 0));
        }
    add_sums(s, nodes, count, line, sums);
    for (int i = 0; i < count; i++) {
        kni_rows_total totals[KNI_EMIT_LANES];
        for (uint32_t l = 0; l < e->lanes; l++) totals[l] = (kni_rows_total){kni_ir_get(s->b, sums[i][l]), 0};
        kni_rows_share_lines(s, &w->nodes[nodes[i]], totals, e->lanes);
        for (uint32_t l = 0; l < e->lanes; l++) kni_emit_set(e, nodes[i], l, totals[l].value);
    }
    if (w->teams > 1) inside = kni_ir_and(s->b, inside, kni_ir_word(s->b, "eq", line, kni_emit_index(e, 0)));
    for (int i = 0; i < w->n_outputs; i++)
        if (from_columns(w, w->outputs[i].node)) kni_emit_store(e, &w->outputs[i], inside);
}
