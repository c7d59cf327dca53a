/* Building the kernels of pools. */
#include "backend/gpu/pool_kernel.h"
#include "backend/gpu/index_words.h"

enum { DEPTH, ROW, COLUMN, AXES };

typedef struct pool {
    kni_indexer c;
    const kni_pool_signature *s;
    int compute;
    uint32_t x, y, places; /* buffers; x and y are dx and dy of a gradient */
    uint32_t sx, sy, end, numbers;
    /* Where the item's first element lies in the image or plane. */
    kni_ir_id plane, depth, row, column, channel;
} pool;

static kni_ir_id word(pool *p, const char *name, kni_ir_id x, kni_ir_id y)
{
    return kni_index_word(&p->c, name, x, y);
}
static kni_ir_id whole(pool *p, int64_t value) { return kni_index_whole(&p->c, value); }
static kni_ir_id plus(pool *p, kni_ir_id x, int64_t value)
{
    return value ? word(p, "add", x, whole(p, value)) : x;
}
static kni_ir_id size(pool *p, uint32_t sizes, int axis) { return kni_index_number(&p->c, sizes, axis); }
static kni_ir_id number(pool *p, int which) { return kni_index_number(&p->c, p->numbers, which); }
static bool has(uint8_t bits, int axis) { return bits >> axis & 1; }
static kni_ir_id both(pool *p, kni_ir_id x, kni_ir_id y)
{
    return !x ? y : !y ? x : kni_ir_and(p->c.b, x, y);
}
static kni_ir_id real(pool *p, double value) { return kni_ir_real(p->c.b, p->compute, value); }
static int width(const pool *p) { return p->s->last ? p->s->lanes : 1; }

/* What several values share along the last axis, before a place there is added: an element of x or y. */
static kni_ir_id line_of(pool *p, uint32_t sizes, kni_ir_id depth, kni_ir_id row)
{
    const kni_indexer *c = &p->c;
    kni_ir_id at = kni_index_add_product(c, depth, p->plane, size(p, sizes, DEPTH));
    at = kni_index_add_product(c, row, at, size(p, sizes, ROW));
    at = word(p, "mul", at, size(p, sizes, COLUMN));
    if (!p->s->last) return at;
    return kni_index_add_product(c, p->channel, at, number(p, KNI_POOL_CHANNELS));
}

static kni_ir_id element_of(pool *p, kni_ir_id line, kni_ir_id column)
{
    if (!p->s->last) return word(p, "add", line, column);
    return kni_index_add_product(&p->c, line, column, number(p, KNI_POOL_CHANNELS));
}

static void locate(pool *p, int column_step, int row_step)
{
    const kni_indexer *c = &p->c;
    const kni_pool_signature *s = p->s;
    kni_ir_id rest = kni_ir_builtin_value(c->b, KNI_IR_ITEM, 0, c->index);
    p->channel = p->row = p->depth = whole(p, 0);
    if (s->last) {
        p->channel = kni_index_split(c, &rest, number(p, KNI_POOL_CHANNEL_BLOCKS));
        p->channel = word(p, "mul", p->channel, whole(p, s->lanes));
    }
    p->column = word(p, "mul", kni_index_split(c, &rest, number(p, KNI_POOL_COLUMNS)), whole(p, column_step));
    if (s->axes > 1)
        p->row = word(p, "mul", kni_index_split(c, &rest, number(p, KNI_POOL_ROWS)), whole(p, row_step));
    if (s->axes > 2) p->depth = kni_index_split(c, &rest, number(p, KNI_POOL_DEPTHS));
    p->plane = rest;
}

/* ---- neighbours along the last axis */

/* Elements `first` .. `end` - 1 from `column` on, each a value or a vector over channels. */
typedef struct span {
    uint32_t buffer, sizes;
    kni_ir_id line, column, valid, otherwise;
    int first, end, lanes, compute;
    bool checks_begin, checks_end;
    kni_ir_id values[64];
} span;

static int floor_of(int a, int b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }
static int ceiling_of(int a, int b) { return -floor_of(-a, b); }

static kni_ir_id exists(pool *p, const span *s, kni_ir_id at, int first)
{
    kni_ir_id valid = s->valid;
    if (s->checks_begin && first < 0) valid = both(p, valid, word(p, "ge", at, whole(p, 0)));
    if (s->checks_end) valid = both(p, valid, word(p, "lt", at, size(p, s->sizes, COLUMN)));
    return valid;
}

static kni_ir_id load(pool *p, const span *s, int first, int lanes)
{
    kni_ir_builder *b = p->c.b;
    kni_ir_id at = plus(p, s->column, first), valid = exists(p, s, at, first);
    const int n = p->s->last ? p->s->lanes : lanes;
    kni_ir_id place = element_of(p, s->line, at);
    if (!valid) return kni_ir_load(b, s->buffer, place, s->compute, n);
    return kni_ir_load_where(b, s->buffer, place, s->compute, n, valid, s->otherwise);
}

/* Blocks of lanes begin at multiples of them, and all of a block exists or nothing. */
static void load_span(pool *p, span *s, const bool *used)
{
    for (int i = s->first; i < s->end; i++) s->values[i - s->first] = 0;
    for (int i = s->first; i < s->end; i++) {
        const int block = floor_of(i, s->lanes) * s->lanes;
        int n = 0;
        if (!used[i - s->first] || s->values[i - s->first]) continue;
        for (int k = i; k < block + s->lanes && k < s->end; k++) n += used[k - s->first];
        if (n < 2) {
            s->values[i - s->first] = load(p, s, i, 1);
            continue;
        }
        kni_ir_id wide = load(p, s, block, s->lanes);
        for (int k = i; k < block + s->lanes && k < s->end; k++)
            s->values[k - s->first] = kni_ir_lane(p->c.b, wide, k - block);
    }
}

/* ---- windows */

/* Begins a loop over the taps along an axis; one tap needs none. */
static kni_ir_id begin_taps(pool *p, int axis)
{
    const int taps = p->s->window[axis];
    return taps == 1 ? whole(p, 0) : kni_ir_for(p->c.b, whole(p, 0), whole(p, taps), whole(p, 1));
}
static void end_taps(pool *p, int axis)
{
    if (p->s->window[axis] > 1) kni_ir_end(p->c.b);
}

/* Where a window begins. */
static kni_ir_id begin_of(pool *p, int axis, kni_ir_id window)
{
    const kni_pool_signature *s = p->s;
    return plus(p, word(p, "mul", window, whole(p, s->stride[axis])), -(int64_t)s->padding[axis]);
}

static kni_ir_id source(pool *p, int axis, kni_ir_id begin, kni_ir_id tap, kni_ir_id *valid)
{
    kni_ir_id i = kni_index_add_product(&p->c, begin, tap, whole(p, p->s->dilation[axis]));
    if (has(p->s->before, axis)) *valid = both(p, *valid, word(p, "ge", i, whole(p, 0)));
    if (has(p->s->behind, axis)) *valid = both(p, *valid, word(p, "lt", i, size(p, p->sx, axis)));
    return i;
}

/* Taps before position 0, and those below a limit. */
static kni_ir_id taps_outside(pool *p, int axis, kni_ir_id begin)
{
    const int dilation = p->s->dilation[axis];
    kni_ir_id zero = whole(p, 0), before = word(p, "sub", whole(p, dilation - 1), begin);
    if (dilation > 1) before = word(p, "div", before, whole(p, dilation));
    return kni_ir_select(p->c.b, word(p, "lt", begin, zero), before, zero);
}
static kni_ir_id taps_below(pool *p, int axis, kni_ir_id begin, kni_ir_id limit)
{
    const int dilation = p->s->dilation[axis];
    kni_ir_id n = plus(p, word(p, "sub", limit, begin), dilation - 1), most = whole(p, p->s->window[axis]);
    if (dilation > 1) n = word(p, "div", n, whole(p, dilation));
    n = kni_ir_select(p->c.b, word(p, "gt", limit, begin), n, whole(p, 0));
    return kni_ir_select(p->c.b, word(p, "lt", n, most), n, most);
}

/* How many taps of a window count along an axis. */
static kni_ir_id taps_counted(pool *p, int axis, kni_ir_id window)
{
    if (has(p->s->whole, axis)) return whole(p, p->s->window[axis]);
    kni_ir_id begin = begin_of(p, axis, window), limit = size(p, p->sx, axis);
    if (p->s->counted) return taps_below(p, axis, begin, word(p, "add", limit, size(p, p->end, axis)));
    kni_ir_id n = word(p, "sub", taps_below(p, axis, begin, limit), taps_outside(p, axis, begin));
    return kni_ir_select(p->c.b, word(p, "gt", n, whole(p, 0)), n, whole(p, 0));
}

/* The divisor of the window of which all but the last axis has `others` taps; 1 of a window that does not exist. */
static kni_ir_id divisor_of(pool *p, kni_ir_id others, kni_ir_id column)
{
    kni_ir_builder *b = p->c.b;
    if (p->s->divisor) return kni_ir_cast(b, number(p, KNI_POOL_DIVISOR), p->compute);
    kni_ir_id n = word(p, "mul", others, taps_counted(p, COLUMN, column));
    if (p->s->whole != (1 << AXES) - 1) n = kni_ir_select(b, word(p, "gt", n, whole(p, 0)), n, whole(p, 1));
    return kni_ir_cast(b, n, p->compute);
}

/* ---- results of windows */

typedef struct forward {
    pool p;
    kni_ir_id values[KNI_POOL_WIDEST], at[KNI_POOL_WIDEST]; /* variables */
    int first, end;                                         /* of the span that the windows read */
    bool used[64];
} forward;

static void begin_results(forward *f)
{
    pool *p = &f->p;
    const kni_pool_signature *s = p->s;
    const bool mean = s->what == KNI_POOL_MEAN;
    kni_ir_id in_plane = 0;
    if (s->what == KNI_POOL_MAX) {
        kni_ir_id from[AXES];
        const kni_ir_id window[AXES] = {p->depth, p->row, 0};
        for (int a = 0; a < COLUMN; a++) {
            from[a] = begin_of(p, a, window[a]);
            if (has(s->before, a))
                from[a] = kni_index_add_product(&p->c, from[a], taps_outside(p, a, from[a]),
                                                whole(p, s->dilation[a]));
        }
        in_plane = kni_index_add_product(&p->c, from[ROW], from[DEPTH], size(p, p->sx, ROW));
        in_plane = word(p, "mul", in_plane, size(p, p->sx, COLUMN));
    }
    for (int e = 0; e < s->run; e++) {
        kni_ir_id none = real(p, mean ? 0 : -__builtin_inf());
        if (width(p) > 1) none = kni_ir_spread(p->c.b, none, width(p));
        f->values[e] = kni_ir_variable(p->c.b, p->compute, width(p), none);
        if (s->what != KNI_POOL_MAX) continue;
        /* The first element that exists, should nothing be above minus infinity. */
        kni_ir_id from = begin_of(p, COLUMN, plus(p, p->column, e));
        if (has(s->before, COLUMN))
            from = kni_index_add_product(&p->c, from, taps_outside(p, COLUMN, from),
                                         whole(p, s->dilation[COLUMN]));
        from = word(p, "add", in_plane, from);
        if (width(p) > 1) from = kni_ir_spread(p->c.b, from, width(p));
        f->at[e] = kni_ir_variable(p->c.b, p->c.index, width(p), from);
    }
}

static void take_row(forward *f, const span *from, kni_ir_id in_plane)
{
    pool *p = &f->p;
    const kni_pool_signature *s = p->s;
    kni_ir_builder *b = p->c.b;
    for (int e = 0; e < s->run; e++) {
        kni_ir_id most = kni_ir_get(b, f->values[e]), at = f->at[e] ? kni_ir_get(b, f->at[e]) : 0;
        for (int k = 0; k < s->window[COLUMN]; k++) {
            const int i = e * s->stride[COLUMN] + k * s->dilation[COLUMN] - s->padding[COLUMN];
            kni_ir_id v = from->values[i - from->first];
            if (s->what == KNI_POOL_MEAN) {
                most = word(p, "add", most, v);
                continue;
            }
            kni_ir_id above = kni_ir_or(b, word(p, "gt", v, most), word(p, "isnan", v, 0));
            most = kni_ir_select(b, above, v, most);
            if (at) at = kni_ir_select(b, above, plus(p, in_plane, i), at);
        }
        kni_ir_set(b, f->values[e], most);
        if (at) kni_ir_set(b, f->at[e], at);
    }
}

static void read_windows(forward *f)
{
    pool *p = &f->p;
    const kni_pool_signature *s = p->s;
    kni_ir_id none = real(p, s->what == KNI_POOL_MEAN ? 0 : -__builtin_inf()), in_depth = 0;
    kni_ir_id begin = begin_of(p, DEPTH, p->depth), tap = begin_taps(p, DEPTH);
    kni_ir_id depth = source(p, DEPTH, begin, tap, &in_depth);
    begin = begin_of(p, ROW, p->row);
    tap = begin_taps(p, ROW);
    span from = {.buffer = p->x,
                 .sizes = p->sx,
                 .valid = in_depth,
                 .otherwise = none,
                 .first = f->first,
                 .end = f->end,
                 .lanes = s->last ? 1 : s->lanes,
                 .compute = p->compute,
                 .checks_begin = has(s->before, COLUMN),
                 .checks_end = has(s->behind, COLUMN)};
    kni_ir_id row = source(p, ROW, begin, tap, &from.valid);
    from.line = line_of(p, p->sx, depth, row);
    from.column = word(p, "mul", p->column, whole(p, s->stride[COLUMN]));
    load_span(p, &from, f->used);
    kni_ir_id in_plane = kni_index_add_product(&p->c, row, depth, size(p, p->sx, ROW));
    in_plane = kni_index_add_product(&p->c, from.column, in_plane, size(p, p->sx, COLUMN));
    take_row(f, &from, in_plane);
    end_taps(p, ROW);
    end_taps(p, DEPTH);
}

/* `n` neighbours along the last axis from `column` on, or each over the channels. */
static void store(pool *p, uint32_t buffer, uint32_t sizes, kni_ir_id line, kni_ir_id column,
                  const kni_ir_id *values, int n, int lanes, kni_ir_id valid, bool ragged)
{
    kni_ir_builder *b = p->c.b;
    if (p->s->last) lanes = 1;
    for (int i = 0; i < n; i += lanes) {
        kni_ir_id at = plus(p, column, i), value = lanes > 1 ? kni_ir_pack(b, values + i, lanes) : values[i];
        kni_ir_id place = element_of(p, line, at), here = valid;
        if (ragged) here = both(p, here, word(p, "lt", at, size(p, sizes, COLUMN)));
        if (here)
            kni_ir_store_where(b, buffer, place, value, here);
        else
            kni_ir_store(b, buffer, place, value);
    }
}

static void write_results(forward *f)
{
    pool *p = &f->p;
    const kni_pool_signature *s = p->s;
    kni_ir_builder *b = p->c.b;
    kni_ir_id values[KNI_POOL_WIDEST], line = line_of(p, p->sy, p->depth, p->row), others = 0;
    const bool ragged = has(s->ragged, COLUMN);
    if (s->what == KNI_POOL_MEAN && !s->divisor)
        others = word(p, "mul", taps_counted(p, DEPTH, p->depth), taps_counted(p, ROW, p->row));
    for (int e = 0; e < s->run; e++) {
        values[e] = kni_ir_get(b, f->values[e]);
        if (s->what == KNI_POOL_MEAN)
            values[e] = word(p, "div", values[e], divisor_of(p, others, plus(p, p->column, e)));
    }
    store(p, p->y, p->sy, line, p->column, values, s->run, s->window_lanes, 0, ragged);
    if (s->what != KNI_POOL_MAX) return;
    for (int e = 0; e < s->run; e++) {
        values[e] = kni_ir_get(b, f->at[e]);
        if (s->places == KN_I64) values[e] = kni_ir_cast(b, values[e], KN_I64);
    }
    store(p, p->places, p->sy, line, p->column, values, s->run, s->window_lanes, 0, ragged);
}

static void build_forward(pool *given)
{
    forward f = {.p = *given};
    const kni_pool_signature *s = given->s;
    f.first = -s->padding[COLUMN];
    f.end = f.first + (s->run - 1) * s->stride[COLUMN] + (s->window[COLUMN] - 1) * s->dilation[COLUMN] + 1;
    for (int e = 0; e < s->run; e++)
        for (int k = 0; k < s->window[COLUMN]; k++)
            f.used[e * s->stride[COLUMN] + k * s->dilation[COLUMN]] = true;
    locate(&f.p, s->run, 1);
    begin_results(&f);
    read_windows(&f);
    write_results(&f);
}

/* ---- gradients */

typedef struct backward {
    pool p;
    kni_ir_id totals[64];       /* variables: [row][element] */
    kni_ir_id window[AXES - 1]; /* the first windows, along rows and columns, from which others are counted */
} backward;

/* Whether element `e` of the item along an axis is a tap of window number m from its first one. */
static bool is_tap(const kni_pool_signature *s, int axis, int e, int m)
{
    const int from = e + s->padding[axis] - m * s->stride[axis];
    return from >= 0 && from % s->dilation[axis] == 0 && from / s->dilation[axis] < s->window[axis];
}

/* The windows of which elements of an item, `n` of them, may be taps. */
static void windows_of(const kni_pool_signature *s, int axis, int n, int *first, int *end)
{
    *first = ceiling_of(s->padding[axis] - (s->window[axis] - 1) * s->dilation[axis], s->stride[axis]);
    *end = floor_of(n - 1 + s->padding[axis], s->stride[axis]) + 1;
}

static span span_of(backward *w, uint32_t buffer, int compute, kni_ir_id none)
{
    pool *p = &w->p;
    span from = {.buffer = buffer,
                 .sizes = p->sy,
                 .column = w->window[1],
                 .otherwise = none,
                 .lanes = p->s->last ? 1 : p->s->window_lanes,
                 .compute = compute,
                 .checks_begin = true,
                 .checks_end = true};
    windows_of(p->s, COLUMN, p->s->run, &from.first, &from.end);
    return from;
}

/* What a row of windows gives to the elements of row r of the item. */
static void give_row(backward *w, int r, const span *dy, const span *at)
{
    pool *p = &w->p;
    const kni_pool_signature *s = p->s;
    kni_ir_builder *b = p->c.b;
    kni_ir_id in_plane = kni_index_add_product(&p->c, plus(p, p->row, r), p->depth, size(p, p->sx, ROW));
    in_plane = kni_index_add_product(&p->c, p->column, in_plane, size(p, p->sx, COLUMN));
    for (int e = 0; e < s->run; e++) {
        kni_ir_id variable = w->totals[r * s->run + e], total = kni_ir_get(b, variable);
        for (int m = dy->first; m < dy->end; m++) {
            if (!is_tap(s, COLUMN, e, m)) continue;
            kni_ir_id sum = word(p, "add", total, dy->values[m - dy->first]);
            if (s->what == KNI_POOL_MAX_GRAD) {
                kni_ir_id mine = word(p, "eq", at->values[m - at->first], plus(p, in_plane, e));
                sum = kni_ir_select(b, mine, sum, total);
            }
            total = sum;
        }
        kni_ir_set(b, variable, total);
    }
}

/* The windows of row m of an item's rows, in plane `depth` of windows. */
static void read_row(backward *w, kni_ir_id depth, kni_ir_id in_depth, int m)
{
    pool *p = &w->p;
    const kni_pool_signature *s = p->s;
    bool used[64];
    span dy = span_of(w, p->y, p->compute, real(p, 0));
    span at = span_of(w, p->places, p->c.index, whole(p, 0));
    kni_ir_id row = plus(p, w->window[0], m), valid = in_depth;
    if (s->axes > 1) {
        if (m < 0) valid = both(p, valid, word(p, "ge", row, whole(p, 0)));
        valid = both(p, valid, word(p, "lt", row, size(p, p->sy, ROW)));
    }
    for (int i = dy.first; i < dy.end; i++) {
        used[i - dy.first] = false;
        for (int e = 0; e < s->run; e++) used[i - dy.first] |= is_tap(s, COLUMN, e, i);
    }
    dy.line = at.line = line_of(p, p->sy, depth, row);
    dy.valid = at.valid = valid;
    load_span(p, &dy, used);
    if (s->what == KNI_POOL_MAX_GRAD) {
        load_span(p, &at, used);
    } else {
        kni_ir_id others =
            s->divisor ? 0 : word(p, "mul", taps_counted(p, DEPTH, depth), taps_counted(p, ROW, row));
        for (int i = dy.first; i < dy.end; i++)
            if (used[i - dy.first])
                dy.values[i - dy.first] =
                    word(p, "div", dy.values[i - dy.first], divisor_of(p, others, plus(p, dy.column, i)));
    }
    for (int r = 0; r < s->rows; r++)
        if (is_tap(s, ROW, r, m)) give_row(w, r, &dy, &at);
}

/* The windows along axis 0 that hold the item's position there, one after the other: there may be any number of them. */
static kni_ir_id begin_depths(backward *w, kni_ir_id *in_depth)
{
    pool *p = &w->p;
    const kni_pool_signature *s = p->s;
    *in_depth = 0;
    if (s->axes < 3) return whole(p, 0);
    const int reach = (s->window[DEPTH] - 1) * s->dilation[DEPTH], stride = s->stride[DEPTH];
    kni_ir_id padded = plus(p, p->depth, s->padding[DEPTH]), zero = whole(p, 0);
    kni_ir_id first = word(p, "div", plus(p, padded, stride - 1 - reach), whole(p, stride));
    first = kni_ir_select(p->c.b, word(p, "gt", padded, whole(p, reach)), first, zero);
    kni_ir_id end = plus(p, word(p, "div", padded, whole(p, stride)), 1);
    end = kni_ir_select(p->c.b, word(p, "lt", end, size(p, p->sy, DEPTH)), end, size(p, p->sy, DEPTH));
    kni_ir_id depth = kni_ir_for(p->c.b, first, end, whole(p, 1));
    if (s->dilation[DEPTH] > 1) {
        kni_ir_id from = word(p, "sub", padded, word(p, "mul", depth, whole(p, stride)));
        kni_ir_id by = whole(p, s->dilation[DEPTH]);
        *in_depth = word(p, "eq", word(p, "mul", word(p, "div", from, by), by), from);
    }
    return depth;
}

static void build_backward(pool *given)
{
    backward w = {.p = *given};
    pool *p = &w.p;
    const kni_pool_signature *s = p->s;
    kni_ir_builder *b = p->c.b;
    int first, end;
    locate(p, s->run, s->rows);
    w.window[0] = s->axes > 1 ? word(p, "div", p->row, whole(p, s->stride[ROW])) : whole(p, 0);
    w.window[1] = word(p, "div", p->column, whole(p, s->stride[COLUMN]));
    for (int i = 0; i < s->rows * s->run; i++) {
        kni_ir_id zero = real(p, 0);
        if (width(p) > 1) zero = kni_ir_spread(b, zero, width(p));
        w.totals[i] = kni_ir_variable(b, p->compute, width(p), zero);
    }
    kni_ir_id in_depth, depth = begin_depths(&w, &in_depth);
    windows_of(s, ROW, s->rows, &first, &end);
    for (int m = first; m < end; m++) read_row(&w, depth, in_depth, m);
    if (s->axes > 2) kni_ir_end(b);
    for (int r = 0; r < s->rows; r++) {
        kni_ir_id values[KNI_POOL_WIDEST], row = plus(p, p->row, r), valid = 0;
        if (has(s->ragged, ROW) && r) valid = word(p, "lt", row, size(p, p->sx, ROW));
        for (int e = 0; e < s->run; e++) values[e] = kni_ir_get(b, w.totals[r * s->run + e]);
        store(p, p->x, p->sx, line_of(p, p->sx, p->depth, row), p->column, values, s->run, s->lanes, valid,
              has(s->ragged, COLUMN));
    }
}

/* ---- all of it */

static uint32_t add_buffer(kni_ir_builder *b, const char *name, int dtype, int access, int lanes)
{
    uint32_t made = kni_ir_buffer(b, name, dtype, access);
    if (b->status == KN_OK) b->ir->bindings[made].aligned = (uint8_t)lanes;
    return made;
}

kni_ir *kni_pool_build(const kni_pool_signature *s)
{
    static const char *const names[KNI_POOL_KINDS] = {"max_pool_windows", "max_pool_values_windows",
                                                      "avg_pool_windows", "max_pool_grad_windows",
                                                      "avg_pool_grad_windows"};
    const bool gradient = s->what >= KNI_POOL_MAX_GRAD;
    const int windows = s->last ? s->lanes : s->window_lanes;
    kni_ir_builder b = kni_ir_begin(names[s->what], 0);
    pool p = {.c = {&b, KN_I32}, .s = s, .compute = s->dtype == KN_F64 ? KN_F64 : KN_F32};
    if (!gradient) p.x = add_buffer(&b, "x", s->dtype, KNI_IR_READ, s->lanes);
    p.y = add_buffer(&b, gradient ? "dy" : "y", s->dtype, gradient ? KNI_IR_READ : KNI_IR_WRITE, windows);
    if (s->what == KNI_POOL_MAX || s->what == KNI_POOL_MAX_GRAD)
        p.places = add_buffer(&b, "at", s->places, gradient ? KNI_IR_READ : KNI_IR_WRITE, windows);
    if (gradient) p.x = add_buffer(&b, "dx", s->dtype, KNI_IR_WRITE, s->lanes);
    kni_ir_add_item_params(&b);
    p.sx = kni_ir_param_add(&b, "sx", KN_I64, AXES);
    p.sy = kni_ir_param_add(&b, "sy", KN_I64, AXES);
    p.end = kni_ir_param_add(&b, "end", KN_I64, AXES);
    p.numbers = kni_ir_param_add(&b, "numbers", KN_I64, KNI_POOL_NUMBERS);
    if (gradient)
        build_backward(&p);
    else
        build_forward(&p);
    return kni_ir_finish(&b);
}
