/* A mean and the sum of squares of the distances from it, in one walk along the row. Each invocation keeps how many values it
   has met, their mean and the squares of their distances from that; a turn's values come to it as the same three, and so
   do invocations and parts to each other (Chan, Golub and LeVeque). Their sum is kept beside it, since it stays infinite where
   a difference of means is NaN. No squares of values are subtracted from each other, and
   all of it is less the row's first value, so a mean that is large beside the distances costs no digits. */
#include "sched/sched_rows.h"

static kni_ir_id word(kni_rows_emit *s, const char *name, kni_ir_id a, kni_ir_id b)
{
    return kni_ir_word(s->b, name, a, b);
}

static int dtype_of(const kni_rows_emit *s, uint16_t sum) { return kni_rows_dtype(s->w, &s->w->nodes[sum]); }

/* The first value of each row, 0 where that is none or not finite. */
static void find_shifts(kni_rows_emit *s, uint16_t sum, kni_ir_id *shift)
{
    const kni_work *w = s->w;
    kni_emit *e = &s->e;
    kni_emit_mark mark = kni_emit_mark_here(e);
    kni_ir_id zero = kni_ir_real(s->b, dtype_of(s, sum), 0);
    e->k[0] = kni_emit_index(e, 0);
    e->valid[0] = word(s, "lt", e->k[0], kni_emit_number(e, w->width_number));
    for (uint32_t i = 0; i < kni_rows_separate(w); i++) {
        kni_ir_id x = kni_emit_value(e, w->nodes[sum].a, i);
        shift[i] = kni_ir_select(s->b, kni_ir_word(s->b, "isfinite", x, 0), x, zero);
    }
    e->valid[0] = 0;
    kni_emit_release(e, mark);
}

void kni_rows_moments_begin(kni_rows_emit *s, uint16_t squares, kni_rows_moments *m)
{
    m->squares = squares;
    m->sum = s->w->nodes[squares].partner;
    int dtype = dtype_of(s, m->sum);
    kni_ir_id zero = kni_ir_real(s->b, dtype, 0);
    m->count = kni_ir_variable(s->b, dtype, 1, zero);
    find_shifts(s, m->sum, m->shift);
    for (uint32_t i = 0; i < kni_rows_separate(s->w); i++) {
        m->total[i] = kni_ir_variable(s->b, dtype, 1, zero);
        m->mean[i] = kni_ir_variable(s->b, dtype, 1, zero);
        m->spread[i] = kni_ir_variable(s->b, dtype, 1, zero);
    }
}

/* The sum of the turn's values less the row's first, or of the squares of their distances from `from`, of row `row`. */
static kni_ir_id total_of_turn(kni_rows_emit *s, const kni_rows_moments *m, uint32_t row, kni_ir_id from)
{
    kni_emit *e = &s->e;
    const kni_work_node *sum = &s->w->nodes[m->sum];
    uint32_t first = kni_rows_separate(s->w) > 1 ? row : 0, n = kni_rows_separate(s->w) > 1 ? 1 : e->lanes;
    kni_rows_total lanes[KNI_EMIT_LANES];
    for (e->chunk = 0; e->chunk < e->chunks; e->chunk++)
        for (uint32_t l = 0; l < n; l++) {
            kni_ir_id x = word(s, "sub", kni_emit_value(e, sum->a, first + l), m->shift[row]);
            if (from) x = word(s, "sub", x, from);
            if (from) x = word(s, "mul", x, x);
            kni_rows_total t = {x, 0};
            lanes[l] = e->chunk ? kni_rows_join(s, sum, lanes[l], t) : t;
        }
    e->chunk = 0;
    return kni_rows_fold(s, sum, lanes, n).value;
}

/* Adds `more` values whose mean is `here` and which are `around` it, of row `i`. */
static void meet(kni_rows_emit *s, const kni_rows_moments *m, uint32_t i, kni_ir_id here, kni_ir_id around,
                 kni_ir_id share, kni_ir_id both)
{
    kni_ir_id mean = kni_ir_get(s->b, m->mean[i]), apart = word(s, "sub", here, mean);
    kni_ir_id spread = kni_ir_get(s->b, m->spread[i]);
    if (around) spread = word(s, "add", spread, around);
    /* In this order, so that an invocation that has met nothing yet adds 0 however large the values are. */
    kni_ir_id between = word(s, "mul", word(s, "mul", apart, both), apart);
    kni_ir_set(s->b, m->mean[i], word(s, "add", mean, word(s, "mul", apart, share)));
    kni_ir_set(s->b, m->spread[i], word(s, "add", spread, between));
}

/* A mean that others are merged with, or a share, need not be rounded once: it comes out of what they are merged to. */
static kni_ir_id nearly(kni_rows_emit *s, kni_ir_id x, kni_ir_id y, int dtype)
{
    return dtype == KN_F32 ? kni_ir_near(s->b, "div", x, y) : word(s, "div", x, y);
}

/* How many values are met with `more` of them: their share, and the factor of the square between the means. */
static void count_more(kni_rows_emit *s, const kni_rows_moments *m, kni_ir_id more, kni_ir_id *share,
                       kni_ir_id *both)
{
    kni_ir_id count = kni_ir_get(s->b, m->count), all = word(s, "add", count, more);
    *share = nearly(s, more, all, dtype_of(s, m->sum));
    *both = word(s, "mul", count, *share);
    kni_ir_set(s->b, m->count, all);
}

void kni_rows_moments_turn(kni_rows_emit *s, const kni_rows_moments *m)
{
    int dtype = dtype_of(s, m->sum);
    uint32_t rows = kni_rows_separate(s->w), values = s->e.chunks * (rows > 1 ? 1 : s->e.lanes);
    kni_ir_id share, both;
    count_more(s, m, kni_ir_real(s->b, dtype, values), &share, &both);
    for (uint32_t i = 0; i < rows; i++) {
        kni_ir_id here = total_of_turn(s, m, i, 0);
        kni_ir_set(s->b, m->total[i], word(s, "add", kni_ir_get(s->b, m->total[i]), here));
        if (values > 1) here = word(s, "mul", here, kni_ir_real(s->b, dtype, 1.0 / values));
        meet(s, m, i, here, values > 1 ? total_of_turn(s, m, i, here) : 0, share, both);
    }
}

/* The squares of the distances from `to` of so many values whose mean is `mean` and which are `spread` around it. */
static kni_ir_id moved(kni_rows_emit *s, kni_ir_id count, kni_ir_id mean, kni_ir_id spread, kni_ir_id to)
{
    kni_ir_id apart = word(s, "sub", mean, to);
    return word(s, "add", spread, word(s, "mul", word(s, "mul", apart, count), apart));
}

/* The sum of the distances themselves, where it is asked for; 0: it is not. */
static uint16_t rest_of(const kni_work *w, uint16_t sum)
{
    for (uint16_t n = 1; n < w->n_nodes; n++)
        if (w->nodes[n].pair == KNI_PAIR_REST && w->nodes[n].partner == sum) return n;
    return 0;
}

/* Gives the sum of the rows from that of their values less the first, and the mean that distances are taken from, less the
   first. */
static void set_sums(kni_rows_emit *s, uint16_t squares, kni_rows_total *totals, const kni_ir_id *shift,
                     kni_ir_id *from)
{
    const kni_work *w = s->w;
    const kni_work_node *square = &w->nodes[w->nodes[squares].a], *distance = &w->nodes[square->a];
    uint16_t sum = w->nodes[squares].partner;
    kni_ir_id width = kni_ir_cast(s->b, kni_emit_number(&s->e, w->width_number), dtype_of(s, sum));
    for (uint32_t i = 0; i < kni_rows_separate(w); i++) {
        totals[i].value = word(s, "add", totals[i].value, word(s, "mul", width, shift[i]));
        kni_emit_set(&s->e, sum, i, totals[i].value);
        from[i] = word(s, "sub", kni_emit_value(&s->e, distance->b, i), shift[i]);
    }
}

static kni_ir_id count_of(kni_rows_emit *s, kni_ir_id begin, kni_ir_id end, int dtype)
{
    return kni_ir_cast(s->b, word(s, "sub", end, begin), dtype);
}

static void set_rows(kni_rows_emit *s, uint16_t node, const kni_rows_total *totals)
{
    for (uint32_t i = 0; i < kni_rows_separate(s->w); i++) kni_emit_set(&s->e, node, i, totals[i].value);
}

/* The row's sums from what each invocation has met: its count, mean and spread, and the sum in `totals`. */
static void end_with(kni_rows_emit *s, uint16_t squares, kni_ir_id count, const kni_ir_id *mean,
                     const kni_ir_id *spread, const kni_ir_id *shift, kni_rows_total *totals)
{
    const kni_work *w = s->w;
    uint16_t sum = w->nodes[squares].partner, rest = rest_of(w, sum);
    uint32_t rows = kni_rows_separate(w);
    kni_ir_id from[KNI_EMIT_LANES];
    kni_rows_share_rows(s, &w->nodes[sum], totals);
    set_sums(s, squares, totals, shift, from);
    for (uint32_t i = 0; i < rows; i++) totals[i].value = moved(s, count, mean[i], spread[i], from[i]);
    kni_rows_share_rows(s, &w->nodes[squares], totals);
    set_rows(s, squares, totals);
    if (!rest) return;
    for (uint32_t i = 0; i < rows; i++)
        totals[i].value = word(s, "mul", word(s, "sub", mean[i], from[i]), count);
    kni_rows_share_rows(s, &w->nodes[rest], totals);
    set_rows(s, rest, totals);
}

/* The same of a part: its sum, and the squares of the distances from its mean. */
static void leave_with(kni_rows_emit *s, uint16_t squares, kni_ir_id count, const kni_ir_id *mean,
                       const kni_ir_id *spread, kni_rows_total *totals)
{
    const kni_work *w = s->w;
    const kni_work_node *sum = &w->nodes[w->nodes[squares].partner];
    kni_ir_id all = count_of(s, s->begin, s->end, kni_rows_dtype(w, sum));
    kni_rows_share_rows(s, sum, totals);
    kni_rows_leave(s, sum, totals);
    for (uint32_t i = 0; i < kni_rows_separate(w); i++)
        totals[i].value = moved(s, count, mean[i], spread[i], word(s, "div", totals[i].value, all));
    kni_rows_share_rows(s, &w->nodes[squares], totals);
    kni_rows_leave(s, &w->nodes[squares], totals);
}

void kni_rows_moments_end(kni_rows_emit *s, const kni_rows_moments *m, bool leaves)
{
    kni_ir_id count = kni_ir_get(s->b, m->count), mean[KNI_EMIT_LANES], spread[KNI_EMIT_LANES];
    kni_rows_total totals[KNI_EMIT_LANES];
    for (uint32_t i = 0; i < kni_rows_separate(s->w); i++) {
        mean[i] = kni_ir_get(s->b, m->mean[i]);
        spread[i] = kni_ir_get(s->b, m->spread[i]);
        totals[i] = (kni_rows_total){kni_ir_get(s->b, m->total[i]), 0};
    }
    if (leaves)
        leave_with(s, m->squares, count, mean, spread, totals);
    else
        end_with(s, m->squares, count, mean, spread, m->shift, totals);
}

/* ---- from parts: each is met as a turn is */

static void take_some(kni_rows_emit *s, const kni_ir_id *parts, uint32_t some, void *context)
{
    const kni_rows_moments *m = context;
    const kni_work *w = s->w;
    int dtype = dtype_of(s, m->sum);
    kni_ir_id totals[KNI_ROWS_PARTS_AT_ONCE][KNI_EMIT_LANES], squares[KNI_ROWS_PARTS_AT_ONCE][KNI_EMIT_LANES];
    kni_ir_id width = kni_emit_number(&s->e, w->width_number), size = kni_emit_number(&s->e, w->part_number);
    for (uint32_t k = 0; k < some; k++) {
        kni_rows_left(s, w->nodes[m->sum].temps[0], parts[k], dtype, totals[k]);
        kni_rows_left(s, w->nodes[m->squares].temps[0], parts[k], dtype, squares[k]);
    }
    for (uint32_t k = 0; k < some; k++) {
        kni_ir_id begin = word(s, "mul", parts[k], size);
        kni_ir_id more = count_of(s, begin, word(s, "min", word(s, "add", begin, size), width), dtype);
        kni_ir_id share, both;
        count_more(s, m, more, &share, &both);
        for (uint32_t i = 0; i < kni_rows_separate(w); i++) {
            kni_ir_set(s->b, m->total[i], word(s, "add", kni_ir_get(s->b, m->total[i]), totals[k][i]));
            meet(s, m, i, nearly(s, totals[k][i], more, dtype), squares[k][i], share, both);
        }
    }
}

void kni_rows_moments_take(kni_rows_emit *s, uint16_t squares)
{
    kni_rows_moments m;
    kni_rows_moments_begin(s, squares, &m);
    kni_rows_each_part(s, take_some, &m);
    kni_rows_moments_end(s, &m, false);
}
