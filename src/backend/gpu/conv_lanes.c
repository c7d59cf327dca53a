/* Depthwise convolutions with channels last: an invocation makes positions below each other for some neighbouring channels, which are
   one vector in memory, and its neighbours in the workgroup make the next channels. A row of x is loaded once for all positions that
   read it. Elements that are missing are not multiplied, so that a weight or gradient that is not finite never meets one. */
#include "backend/gpu/conv_direct.h"

enum {
    LANES = KNI_DIRECT_LANES,
    ROW = KNI_DIRECT_ROW,
    COLUMN = KNI_DIRECT_COLUMN,
    X_SIZE = KNI_DIRECT_X_SIZE,
    Y_SIZE = KNI_DIRECT_Y_SIZE,
    MOST_ROWS = KNI_DIRECT_RUN * KNI_DIRECT_ROW_TAPS
};

typedef struct lanes {
    kni_direct d;
    uint32_t shared;
    int pitch;              /* of the weights of one tap in shared memory */
    kni_ir_id local;        /* this invocation's number, */
    kni_ir_id vector, deep; /* and what it is: which vector of the block, which item of the workgroup */
    kni_ir_id first;        /* channel of the block */
    kni_ir_id channel;      /* of this invocation, its first */
    kni_ir_id item;
} lanes;

static kni_ir_id whole(lanes *l, int64_t value) { return kni_direct_whole(&l->d, value); }
static kni_ir_id word(lanes *l, const char *name, kni_ir_id x, kni_ir_id y)
{
    return kni_direct_word(&l->d, name, x, y);
}
static kni_ir_id join(lanes *l, kni_ir_id high, int64_t size, kni_ir_id low)
{
    return kni_direct_join(&l->d, high, whole(l, size), low);
}

static int deep_of(const kni_direct_signature *s) { return s->workgroup / s->across; }
static int taps_of(const kni_direct_signature *s) { return s->kernel[ROW] * s->kernel[COLUMN]; }

static void set_aligned(lanes *l, uint32_t binding)
{
    if (l->d.tiled.b->status == KN_OK) l->d.tiled.b->ir->bindings[binding].aligned = LANES;
}

/* `block` of channels. */
static void set_invocation(lanes *l, kni_ir_id block)
{
    const kni_direct_signature *s = l->d.s;
    l->local = kni_ir_builtin_value(l->d.tiled.b, KNI_IR_LOCAL, 0, l->d.tiled.index);
    l->vector = kni_direct_split(&l->d, l->local, whole(l, s->across), &l->deep);
    l->first = word(l, "mul", block, whole(l, (int64_t)s->across * LANES));
    l->channel = join(l, l->vector, LANES, l->first);
}

/* The vector at a row of an image, from what lies at its row 0. Places are 64 bits wide, as addresses are. */
typedef struct plane {
    kni_ir_id begin, pitch, size;
} plane;

static kni_ir_id long_of(lanes *l, kni_ir_id x) { return kni_ir_cast(l->d.tiled.b, x, KN_I64); }

static plane plane_at(lanes *l, int sizes, kni_ir_id column)
{
    kni_direct *d = &l->d;
    kni_ir_id channels = kni_direct_number(d, KNI_DIRECT_GROUPS);
    plane p = {.size = kni_direct_entry(d, sizes, ROW)};
    p.pitch = word(l, "mul", kni_direct_entry(d, sizes, COLUMN), channels);
    p.begin = long_of(l, kni_direct_join(d, word(l, "mul", d->image, p.size), p.pitch,
                                         kni_direct_join(d, column, channels, l->channel)));
    p.pitch = long_of(l, p.pitch);
    return p;
}

static kni_ir_id at_row(lanes *l, const plane *p, kni_ir_id row)
{
    return kni_direct_join(&l->d, long_of(l, row), p->pitch, p->begin);
}

/* The rows of x that any position reads: their vectors, 0 where none reads it, and whether they are there. Those that are not have the
   vector of the nearest row, so that no load waits for a condition. */
typedef struct rows {
    int first, end;
    kni_ir_id x[MOST_ROWS], there[MOST_ROWS];
} rows;

static bool is_read(const kni_direct_signature *s, int row)
{
    int from;
    for (int e = 0; e < s->run; e++)
        for (int tap = 0; tap < s->kernel[ROW]; tap++)
            if (kni_direct_row_of(s, e, tap, &from) && from == row) return true;
    return false;
}

static void load_rows(lanes *l, kni_ir_id column, rows *r)
{
    kni_direct *d = &l->d;
    kni_ir_builder *b = d->tiled.b;
    const plane p = plane_at(l, X_SIZE, column);
    kni_ir_id begin = kni_direct_first_row(d), last = word(l, "sub", p.size, whole(l, 1));
    kni_direct_rows(d->s, &r->first, &r->end);
    for (int i = 0; i < r->end - r->first; i++) {
        r->x[i] = 0;
        if (!is_read(d->s, r->first + i)) continue;
        kni_ir_id row = word(l, "add", begin, whole(l, r->first + i)), near;
        r->there[i] = kni_ir_and(b, word(l, "ge", row, whole(l, 0)), word(l, "lt", row, p.size));
        near = word(l, "max", word(l, "min", row, last), whole(l, 0));
        r->x[i] = kni_ir_load(b, d->tiled.b_, at_row(l, &p, near), d->tiled.compute, LANES);
    }
}

/* sum += a * b */
static void multiply(lanes *l, kni_ir_id sum, kni_ir_id x, kni_ir_id y)
{
    kni_ir_builder *b = l->d.tiled.b;
    kni_ir_set(b, sum, kni_direct_multiply(&l->d, x, y, kni_ir_get(b, sum)));
}

static kni_ir_id sum_variable(lanes *l)
{
    kni_ir_builder *b = l->d.tiled.b;
    return kni_ir_variable(b, l->d.tiled.compute, LANES, kni_ir_spread(b, kni_direct_zero(&l->d), LANES));
}

/* ---- results and gradients by the image */

/* The weights of the block's channels, tap by tap. */
static void stage_weights(lanes *l)
{
    kni_direct *d = &l->d;
    kni_ir_builder *b = d->tiled.b;
    const kni_direct_signature *s = d->s;
    const int taps = taps_of(s);
    kni_ir_id begin = word(l, "mul", l->first, whole(l, taps)), channel;
    kni_ir_id i =
        kni_ir_for(b, l->local, whole(l, (int64_t)s->across * LANES * taps), whole(l, s->workgroup));
    kni_ir_id tap = kni_direct_split(d, i, whole(l, taps), &channel);
    kni_ir_store(b, l->shared, join(l, tap, l->pitch, channel),
                 kni_ir_load(b, d->tiled.a, word(l, "add", begin, i), d->tiled.compute, 1));
    kni_ir_end(b);
    kni_ir_barrier(b);
}

/* Everything at one column of taps. */
static void sum_column(lanes *l, kni_ir_id tap, kni_ir_id *sums)
{
    kni_direct *d = &l->d;
    kni_ir_builder *b = d->tiled.b;
    const kni_direct_signature *s = d->s;
    kni_ir_id weights[KNI_DIRECT_ROW_TAPS], inside = 0;
    rows r;
    int row;
    kni_ir_id column = kni_direct_source(d, COLUMN, d->column, tap, &inside);
    kni_ir_if(b, inside);
    load_rows(l, column, &r);
    for (int k = 0; k < s->kernel[ROW]; k++) {
        kni_ir_id at = join(l, word(l, "add", tap, whole(l, (int64_t)k * s->kernel[COLUMN])), l->pitch,
                            word(l, "mul", l->vector, whole(l, LANES)));
        weights[k] = kni_ir_load(b, l->shared, at, d->tiled.compute, LANES);
    }
    for (int i = 0; i < r.end - r.first; i++) {
        if (!r.x[i]) continue;
        kni_ir_if(b, r.there[i]);
        for (int e = 0; e < s->run; e++)
            for (int k = 0; k < s->kernel[ROW]; k++)
                if (kni_direct_row_of(s, e, k, &row) && row == r.first + i)
                    multiply(l, sums[e], r.x[i], weights[k]);
        kni_ir_end(b);
    }
    kni_ir_end(b);
}

/* The vector at a row of y, one element after the other where they do not lie so. */
static void put(lanes *l, kni_ir_id row, kni_ir_id value, kni_ir_id inside)
{
    kni_direct *d = &l->d;
    kni_tiled *t = &d->tiled;
    kni_ir_id place[KNI_CONV_AXES] = {0, row, d->column};
    const plane p = plane_at(l, Y_SIZE, d->column);
    kni_ir_id first = at_row(l, &p, row);
    if (t->tail) first = kni_ir_cast(t->b, first, t->index); /* as it counts */
    if (d->s->y_last) kni_tiled_put_vector(t, first, value, LANES, inside);
    for (int i = 0; i < LANES && !d->s->y_last; i++) {
        kni_ir_id channel = word(l, "add", l->channel, whole(l, i)),
                  plane_of = kni_direct_join(d, d->image, kni_direct_number(d, KNI_DIRECT_GROUPS), channel);
        kni_tiled_put(t, kni_direct_element(d, Y_SIZE, plane_of, place), kni_ir_lane(t->b, value, i), inside);
    }
}

kni_ir *kni_lanes_build(const void *key, const kni_gpu_tail *tail, const kni_sched_target *target)
{
    kni_ir_builder b;
    const kni_direct_signature *s = key;
    lanes l = {.pitch = (s->across + 1) * LANES}; /* one more, so that taps lie in different banks */
    kni_direct *d = &l.d;
    kni_ir_id sums[KNI_DIRECT_RUN], block, tile, place[KNI_CONV_AXES], inside, bias = 0;
    if (!kni_direct_declare(d, s, &b, "convolution_lanes", tail, target)) return NULL;
    set_aligned(&l, d->tiled.b_);
    if (!d->tiled.tail && s->y_last) set_aligned(&l, d->tiled.y);
    l.shared = kni_ir_array(&b, "weights", d->tiled.compute, KNI_IR_SHARED, (int64_t)l.pitch * taps_of(s));
    set_aligned(&l, l.shared);
    block = kni_direct_split(d, kni_ir_builtin_value(&b, KNI_IR_GROUP, 0, d->tiled.index),
                             kni_direct_number(d, KNI_DIRECT_BLOCKS), &tile);
    set_invocation(&l, block);
    stage_weights(&l);
    l.item = join(&l, tile, deep_of(s), l.deep);
    kni_ir_if(&b, word(&l, "lt", l.item, kni_direct_number(d, KNI_DIRECT_ITEMS)));
    d->image = kni_direct_locate(d, l.item);
    for (int e = 0; e < s->run; e++) sums[e] = sum_variable(&l);
    kni_ir_id tap = kni_ir_for(&b, whole(&l, 0), whole(&l, s->kernel[COLUMN]), whole(&l, 1));
    sum_column(&l, tap, sums);
    kni_ir_end(&b);
    if (s->has_bias) bias = kni_ir_load(&b, d->tiled.bias, l.channel, d->tiled.compute, LANES);
    for (int e = 0; e < s->run; e++) {
        kni_ir_id value = kni_ir_get(&b, sums[e]);
        if (bias) value = word(&l, "add", value, bias);
        kni_direct_position(d, whole(&l, e), place, &inside);
        put(&l, place[ROW], value, inside);
    }
    kni_ir_end(&b);
    return kni_tiled_finish(&d->tiled);
}

/* ---- gradients by the weight */

typedef struct gradients {
    lanes l;
    kni_ir_id piece; /* of the columns of taps */
    kni_ir_id sums[KNI_DIRECT_SUMS], dy[KNI_DIRECT_RUN], exists[KNI_DIRECT_RUN];
} gradients;

static int sums_of(const kni_direct_signature *s) { return s->kernel[ROW] * s->columns; }

/* The gradients of one item, at one column of taps. */
static void add_column(gradients *g, int j)
{
    lanes *l = &g->l;
    kni_direct *d = &l->d;
    kni_ir_builder *b = d->tiled.b;
    const kni_direct_signature *s = d->s;
    kni_ir_id tap = join(l, g->piece, s->columns, whole(l, j)), inside = 0;
    rows r;
    int row;
    if (s->kernel[COLUMN] % s->columns) inside = word(l, "lt", tap, whole(l, s->kernel[COLUMN]));
    kni_ir_id column = kni_direct_source(d, COLUMN, d->column, tap, &inside);
    kni_ir_if(b, inside);
    load_rows(l, column, &r);
    for (int i = 0; i < r.end - r.first; i++) {
        if (!r.x[i]) continue;
        kni_ir_if(b, r.there[i]);
        for (int e = 0; e < s->run; e++)
            for (int k = 0; k < s->kernel[ROW]; k++) {
                if (!kni_direct_row_of(s, e, k, &row) || row != r.first + i) continue;
                if (s->uneven) kni_ir_if(b, g->exists[e]);
                multiply(l, g->sums[k * s->columns + j], r.x[i], g->dy[e]);
                if (s->uneven) kni_ir_end(b);
            }
        kni_ir_end(b);
    }
    kni_ir_end(b);
}

static void add_item(gradients *g)
{
    lanes *l = &g->l;
    kni_direct *d = &l->d;
    kni_ir_id place[KNI_CONV_AXES];
    d->image = kni_direct_locate(d, l->item);
    const plane p = plane_at(l, Y_SIZE, d->column);
    for (int e = 0; e < d->s->run; e++) {
        kni_direct_position(d, whole(l, e), place, &g->exists[e]);
        g->dy[e] = kni_ir_load_where(d->tiled.b, d->tiled.a, at_row(l, &p, place[ROW]), d->tiled.compute,
                                     LANES, g->exists[e], kni_direct_zero(d));
    }
    for (int j = 0; j < d->s->columns; j++) add_column(g, j);
}

/* Adds up what the invocations of each vector have, in their order, and puts it in the order of memory. */
static void put_gradients(gradients *g, kni_ir_id part)
{
    lanes *l = &g->l;
    kni_direct *d = &l->d;
    kni_ir_builder *b = d->tiled.b;
    const kni_direct_signature *s = d->s;
    const int n = sums_of(s);
    kni_ir_id channel, k, vector, inside;
    for (int i = 0; i < n; i++)
        kni_ir_store(b, l->shared, word(l, "mul", join(l, l->local, n, whole(l, i)), whole(l, LANES)),
                     kni_ir_get(b, g->sums[i]));
    kni_ir_barrier(b);
    kni_ir_id i = kni_ir_for(b, l->local, whole(l, (int64_t)s->across * LANES * n), whole(l, s->workgroup));
    kni_ir_id q = kni_direct_split(d, i, whole(l, n), &channel);
    kni_ir_id j = kni_direct_split(d, q, whole(l, s->columns), &k);
    kni_ir_id lane = kni_direct_split(d, channel, whole(l, LANES), &vector);
    kni_ir_id total = kni_ir_variable(b, d->tiled.compute, 1, kni_direct_zero(d));
    kni_ir_id e = kni_ir_for(b, whole(l, 0), whole(l, deep_of(s)), whole(l, 1));
    kni_ir_id at = join(l, join(l, join(l, e, s->across, vector), n, q), LANES, lane);
    kni_ir_set(b, total,
               word(l, "add", kni_ir_get(b, total), kni_ir_load(b, l->shared, at, d->tiled.compute, 1)));
    kni_ir_end(b);
    kni_ir_id tap = join(l, g->piece, s->columns, j);
    inside = word(l, "lt", tap, whole(l, s->kernel[COLUMN]));
    at = join(l, join(l, word(l, "add", l->first, channel), s->kernel[ROW], k), s->kernel[COLUMN], tap);
    if (s->parted) at = kni_direct_join(d, part, kni_direct_number(d, KNI_DIRECT_RESULTS), at);
    kni_tiled_put(&d->tiled, at, kni_ir_get(b, total), inside);
    kni_ir_end(b);
}

kni_ir *kni_lanes_build_weight(const void *key, const kni_gpu_tail *tail, const kni_sched_target *target)
{
    kni_ir_builder b;
    const kni_direct_signature *s = key;
    gradients g = {.piece = 0};
    lanes *l = &g.l;
    kni_direct *d = &l->d;
    if (!kni_direct_declare(d, s, &b, "convolution_lanes_weight", tail, target)) return NULL;
    set_aligned(l, d->tiled.a);
    set_aligned(l, d->tiled.b_);
    l->shared = kni_ir_array(&b, "meeting", d->tiled.compute, KNI_IR_SHARED,
                             (int64_t)s->workgroup * sums_of(s) * LANES);
    set_aligned(l, l->shared);
    kni_ir_id part = kni_ir_builtin_value(&b, KNI_IR_GROUP, 1, d->tiled.index);
    set_invocation(l, kni_direct_split(d, kni_ir_builtin_value(&b, KNI_IR_GROUP, 0, d->tiled.index),
                                       kni_direct_number(d, KNI_DIRECT_BLOCKS), &g.piece));
    for (int i = 0; i < sums_of(s); i++) g.sums[i] = sum_variable(l);
    kni_ir_id each = kni_direct_number(d, KNI_DIRECT_PART), begin = word(l, "mul", part, each);
    kni_ir_id end = word(l, "min", word(l, "add", begin, each), kni_direct_number(d, KNI_DIRECT_ITEMS));
    l->item = kni_ir_for(&b, word(l, "add", begin, l->deep), end, whole(l, deep_of(s)));
    add_item(&g);
    kni_ir_end(&b);
    put_gradients(&g, part);
    return kni_tiled_finish(&d->tiled);
}
