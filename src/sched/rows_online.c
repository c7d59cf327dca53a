/* A sum of e^(x - most) beside the largest x, in one walk along the row: each invocation keeps the largest it has met and
   the sum below that one, and scales the sum when a larger one comes. So softmax and cross entropy over rows that no team
   can hold read them once for both. */
#include "sched/sched_rows.h"

void kni_rows_online_begin(kni_rows_emit *s, uint16_t sum, kni_rows_online *o)
{
    o->sum = sum;
    o->top = s->w->nodes[sum].partner;
    o->most = kni_ir_variable(s->b, KN_F32, 1, kni_rows_neutral(s, &s->w->nodes[o->top]));
    o->total = kni_ir_variable(s->b, KN_F32, 1, kni_ir_real(s->b, KN_F32, 0));
}

/* e^(x - from) for the digits of the sum. */
static kni_ir_id power(kni_rows_emit *s, const kni_rows_online *o, kni_ir_id x, kni_ir_id from)
{
    int digits = s->w->nodes[s->w->nodes[o->sum].a].op;
    return kni_emit_power(&s->e, kni_ir_word(s->b, "sub", x, from), KN_F32, digits);
}

void kni_rows_online_turn(kni_rows_emit *s, const kni_rows_online *o)
{
    kni_emit *e = &s->e;
    const kni_work_node *top = &s->w->nodes[o->top], *sum = &s->w->nodes[o->sum];
    kni_ir_id zero = kni_ir_real(s->b, KN_F32, 0), old = kni_ir_get(s->b, o->most);
    kni_rows_total lanes[KNI_EMIT_LANES];
    for (e->chunk = 0; e->chunk < e->chunks; e->chunk++)
        for (uint32_t l = 0; l < e->lanes; l++) {
            kni_rows_total v = kni_rows_element(s, o->top, l);
            lanes[l] = e->chunk ? kni_rows_join(s, top, lanes[l], v) : v;
        }
    kni_rows_total most = kni_rows_fold(s, top, lanes, e->lanes);
    most = kni_rows_join(s, top, (kni_rows_total){old, 0}, most);
    kni_ir_set(s->b, o->most, most.value);
    /* While nothing but -inf was met the sum is 0 whatever it is taken below. */
    kni_ir_id none = kni_ir_word(s->b, "eq", most.value, kni_rows_neutral(s, top));
    kni_ir_id from = kni_ir_select(s->b, none, zero, most.value);
    for (e->chunk = 0; e->chunk < e->chunks; e->chunk++)
        for (uint32_t l = 0; l < e->lanes; l++) {
            kni_ir_id p = power(s, o, kni_emit_value(e, top->a, l), from), valid = e->valid[e->chunk];
            if (valid) p = kni_ir_select(s->b, valid, p, zero);
            lanes[l] =
                e->chunk ? kni_rows_join(s, sum, lanes[l], (kni_rows_total){p, 0}) : (kni_rows_total){p, 0};
        }
    e->chunk = 0;
    kni_ir_id before = kni_ir_word(s->b, "mul", kni_ir_get(s->b, o->total), power(s, o, old, from));
    kni_ir_id here = kni_rows_fold(s, sum, lanes, e->lanes).value;
    kni_ir_set(s->b, o->total, kni_ir_word(s->b, "add", before, here));
}

/* Of a row of -inf alone this is NaN, as the sum of e^(-inf + inf) is. */
void kni_rows_online_end(kni_rows_emit *s, const kni_rows_online *o)
{
    const kni_work_node *top = &s->w->nodes[o->top], *sum = &s->w->nodes[o->sum];
    kni_rows_total mine = {kni_ir_get(s->b, o->most), 0}, most = kni_rows_share(s, top, &mine);
    kni_ir_id total = kni_ir_get(s->b, o->total);
    kni_rows_total part = {kni_ir_word(s->b, "mul", total, power(s, o, mine.value, most.value)), 0};
    kni_emit_set(&s->e, o->top, 0, most.value);
    kni_emit_set(&s->e, o->sum, 0, kni_rows_share(s, sum, &part).value);
}
