/* How values become a total: one by one, lane by lane, and over the invocations that share a row. The order is fixed by
   the sizes alone. */
#include "sched/sched_rows.h"

static const char *const words[] = {"add", "mul", "min", "max"};
static const int combines[] = {KNI_IR_ADD, KNI_IR_MULTIPLY, KNI_IR_MIN, KNI_IR_MAX};

/* The reduction as one of the four that invocations can combine by. */
static int plain(const kni_work_node *n)
{
    if (n->op == KNI_WORK_ARGMIN) return KNI_WORK_MIN;
    if (n->op == KNI_WORK_ARGMAX) return KNI_WORK_MAX;
    if (n->op == KNI_WORK_TOP) return KNI_WORK_MAX;
    return n->op == KNI_WORK_COLUMNS ? KNI_WORK_SUM : n->op;
}

static kni_ir_id lowest(kni_rows_emit *s, int dtype, bool low)
{
    double infinite = __builtin_inf();
    switch (dtype) {
    case KN_I32:
        return kni_ir_whole(s->b, dtype, low ? INT32_MIN : INT32_MAX);
    case KN_I64:
        return kni_ir_whole(s->b, dtype, low ? INT64_MIN : INT64_MAX);
    case KN_U64:
        return kni_ir_whole(s->b, dtype, low ? 0 : -1);
    default:
        return kni_ir_real(s->b, dtype, low ? -infinite : infinite);
    }
}

static kni_ir_id number(kni_rows_emit *s, int dtype, int value)
{
    return kni_is_float(dtype) ? kni_ir_real(s->b, dtype, value) : kni_ir_whole(s->b, dtype, value);
}

kni_ir_id kni_rows_neutral(kni_rows_emit *s, const kni_work_node *n)
{
    int dtype = kni_rows_dtype(s->w, n), op = plain(n);
    if (op == KNI_WORK_SUM || op == KNI_WORK_PROD) return number(s, dtype, op == KNI_WORK_PROD);
    return lowest(s, dtype, op == KNI_WORK_MAX);
}

/* No place was found yet: -1. */
kni_rows_total kni_rows_start(kni_rows_emit *s, const kni_work_node *n)
{
    kni_rows_total t = {kni_rows_neutral(s, n), 0};
    if (kni_rows_is_place(n)) t.at = kni_ir_whole(s->b, KN_I64, -1);
    return t;
}

static kni_ir_id is_nan(kni_rows_emit *s, kni_ir_id v) { return kni_ir_word(s->b, "isnan", v, 0); }

/* Whether b goes before a: b has a place, and a has none, or b is better, or as good and earlier. */
static kni_ir_id goes_before(kni_rows_emit *s, const kni_work_node *n, kni_rows_total a, kni_rows_total b)
{
    kni_ir_builder *k = s->b;
    kni_ir_id none = kni_ir_whole(k, KN_I64, 0);
    kni_ir_id better = kni_ir_word(k, n->op == KNI_WORK_ARGMAX ? "gt" : "lt", b.value, a.value);
    kni_ir_id equal = kni_ir_word(k, "eq", b.value, a.value);
    if (kni_is_float(kni_rows_dtype(s->w, n))) {
        kni_ir_id nan_a = is_nan(s, a.value), nan_b = is_nan(s, b.value);
        better = kni_ir_or(k, better, kni_ir_and(k, nan_b, kni_ir_not(k, nan_a)));
        equal = kni_ir_or(k, equal, kni_ir_and(k, nan_a, nan_b));
    }
    kni_ir_id earlier = kni_ir_and(k, equal, kni_ir_word(k, "lt", b.at, a.at));
    kni_ir_id wins = kni_ir_or(k, kni_ir_word(k, "lt", a.at, none), kni_ir_or(k, better, earlier));
    return kni_ir_and(k, kni_ir_word(k, "ge", b.at, none), wins);
}

kni_rows_total kni_rows_join(kni_rows_emit *s, const kni_work_node *n, kni_rows_total a, kni_rows_total b)
{
    if (n->op == KNI_WORK_TOP) {
        kni_ir_id above = kni_ir_word(s->b, "gt", a.value, b.value);
        return (kni_rows_total){kni_ir_select(s->b, above, a.value, b.value), 0};
    }
    if (!kni_rows_is_place(n))
        return (kni_rows_total){kni_ir_word(s->b, words[plain(n)], a.value, b.value), 0};
    kni_ir_id before = goes_before(s, n, a, b);
    return (kni_rows_total){kni_ir_select(s->b, before, b.value, a.value),
                            kni_ir_select(s->b, before, b.at, a.at)};
}

kni_rows_total kni_rows_element(kni_rows_emit *s, uint16_t node, uint32_t lane)
{
    const kni_work_node *n = &s->w->nodes[node];
    kni_emit *e = &s->e;
    kni_rows_total t = {kni_emit_value(e, n->a, lane), 0};
    kni_ir_id valid = e->valid[e->chunk];
    if (kni_rows_is_place(n)) {
        t.at = kni_ir_cast(s->b, e->k[e->chunk], KN_I64);
        if (lane && s->w->lane_axis == KNI_WORK_K)
            t.at = kni_ir_word(s->b, "add", t.at, kni_ir_whole(s->b, KN_I64, lane));
    }
    if (!valid) return t;
    kni_rows_total none = kni_rows_start(s, n);
    t.value = kni_ir_select(s->b, valid, t.value, none.value);
    if (t.at) t.at = kni_ir_select(s->b, valid, t.at, none.at);
    return t;
}

kni_rows_total kni_rows_fold(kni_rows_emit *s, const kni_work_node *n, const kni_rows_total *lanes,
                             uint32_t count)
{
    if (count == 1) return lanes[0];
    kni_rows_total left = kni_rows_fold(s, n, lanes, count / 2);
    return kni_rows_join(s, n, left, kni_rows_fold(s, n, lanes + count / 2, count - count / 2));
}

static kni_ir_id together(kni_rows_emit *s, int op, kni_ir_id v)
{
    if (s->w->teams > 1) return kni_ir_subgroup(s->b, combines[op], v);
    return s->w->threads > 1 ? kni_ir_workgroup(s->b, combines[op], v) : v;
}

/* The best value first, then the first place that has it. */
kni_rows_total kni_rows_share(kni_rows_emit *s, const kni_work_node *n, kni_rows_total *total)
{
    kni_rows_total t = *total;
    if (s->w->threads == 1) return t;
    kni_ir_id best = together(s, plain(n), t.value);
    if (!kni_rows_is_place(n)) return (kni_rows_total){best, 0};
    kni_ir_id has = kni_ir_word(s->b, "eq", t.value, best);
    if (kni_is_float(kni_rows_dtype(s->w, n)))
        has = kni_ir_or(s->b, has, kni_ir_and(s->b, is_nan(s, t.value), is_nan(s, best)));
    has = kni_ir_and(s->b, has, kni_ir_word(s->b, "ge", t.at, kni_ir_whole(s->b, KN_I64, 0)));
    kni_ir_id at = kni_ir_select(s->b, has, t.at, kni_ir_whole(s->b, KN_I64, INT64_MAX));
    return (kni_rows_total){best, together(s, KNI_WORK_MIN, at)};
}

kni_ir_id kni_rows_result(kni_rows_emit *s, const kni_work_node *n, kni_rows_total total)
{
    (void)s;
    return kni_rows_is_place(n) ? total.at : total.value;
}

kni_ir_id kni_rows_turns_end(kni_rows_emit *s, kni_ir_id start, kni_ir_id end, int64_t turn)
{
    kni_ir_id step = kni_emit_index(&s->e, turn);
    kni_ir_id rest =
        kni_ir_word(s->b, "add", kni_ir_word(s->b, "sub", end, start), kni_emit_index(&s->e, turn - 1));
    rest = kni_ir_word(s->b, "div", kni_ir_word(s->b, "max", rest, kni_emit_index(&s->e, 0)), step);
    return kni_ir_word(s->b, "add", start, kni_ir_word(s->b, "mul", rest, step));
}
