/* Depthwise convolutions of stride 1 with rows as neighbours: an invocation makes some vectors of neighbours below each other. A row of x
   is loaded once, as vectors, for all of them. What a vector beside the row would have is zero and meets weights or gradients of zero,
   so that one that is not finite does not matter there. */
#include "backend/gpu/conv_direct.h"

enum {
    ROW = KNI_DIRECT_ROW,
    COLUMN = KNI_DIRECT_COLUMN,
    MOST_VECTORS = 2 + KNI_ROWS_COLUMNS, /* of x beside each other */
    MOST_SUMS = KNI_DIRECT_RUN * KNI_DIRECT_LANES
};

typedef struct neighbours {
    kni_direct d;
    int lanes, low, high;          /* the vectors of x that are read, counted from the one of the results */
    kni_ir_id there[MOST_VECTORS]; /* 0: always */
    kni_ir_id factors[MOST_VECTORS][KNI_ROWS_TAPS]; /* weights by the vector that they meet */
} neighbours;

static kni_ir_id whole(neighbours *n, int64_t value) { return kni_direct_whole(&n->d, value); }
static kni_ir_id word(neighbours *n, const char *name, kni_ir_id x, kni_ir_id y)
{
    return kni_direct_word(&n->d, name, x, y);
}
static kni_ir_id long_of(neighbours *n, kni_ir_id x) { return kni_ir_cast(n->d.tiled.b, x, KN_I64); }

/* Which element of x, from that of the result on, a column of taps reads. */
static int offset_of(const kni_direct_signature *s, int tap)
{
    return s->what == KNI_CONV_TRANSPOSED ? s->padding - tap : tap - s->padding;
}

static int floor_of(int x, int by) { return x >= 0 ? x / by : -((by - 1 - x) / by); }

static bool begin(neighbours *n, const kni_direct_signature *s, kni_ir_builder *b, const char *name,
                  const kni_gpu_tail *tail, const kni_sched_target *target)
{
    kni_direct *d = &n->d;
    const int one = offset_of(s, 0), other = offset_of(s, s->kernel[COLUMN] - 1);
    n->lanes = s->across;
    n->low = floor_of(one < other ? one : other, n->lanes);
    n->high = floor_of((one > other ? one : other) + n->lanes - 1, n->lanes);
    if (!kni_direct_declare(d, s, b, name, tail, target)) return false;
    if (b->status != KN_OK) return true;
    b->ir->bindings[d->tiled.b_].aligned = s->across;
    if (s->what == KNI_CONV_WEIGHT) b->ir->bindings[d->tiled.a].aligned = s->across;
    if (s->what != KNI_CONV_WEIGHT && !d->tiled.tail) b->ir->bindings[d->tiled.y].aligned = s->across;
    return true;
}

/* The element at a row of this invocation's vectors, in the plane of x or y. */
static kni_ir_id place_in(neighbours *n, int sizes, kni_ir_id row)
{
    kni_direct *d = &n->d;
    kni_ir_id plane = kni_direct_join(d, d->image, kni_direct_number(d, KNI_DIRECT_GROUPS), d->group);
    kni_ir_id pitch = kni_direct_entry(d, sizes, COLUMN);
    plane = word(n, "mul", word(n, "mul", plane, kni_direct_entry(d, sizes, ROW)), pitch);
    kni_ir_id first = kni_direct_join(d, d->column, whole(n, n->lanes), plane);
    return word(n, "add", long_of(n, first), word(n, "mul", long_of(n, row), long_of(n, pitch)));
}

/* Which of the vectors of x are there. */
static void look_beside(neighbours *n)
{
    kni_direct *d = &n->d;
    kni_ir_id count = word(n, "div", kni_direct_entry(d, KNI_DIRECT_X_SIZE, COLUMN), whole(n, n->lanes));
    for (int v = n->low; v <= n->high; v++) {
        kni_ir_id at = word(n, "add", d->column, whole(n, v)), *there = &n->there[v - n->low];
        *there = 0;
        if (v < 0) *there = word(n, "ge", at, whole(n, 0));
        if (v > 0 || !n->d.s->columns) {
            kni_ir_id ends = word(n, "lt", at, count);
            *there = *there ? kni_ir_and(d->tiled.b, *there, ends) : ends;
        }
    }
}

/* A row of x where it is there, else the nearest one: element 0 is the first of vector `low`. */
static void load_row(neighbours *n, kni_ir_id row, kni_ir_id *x)
{
    kni_direct *d = &n->d;
    kni_ir_builder *b = d->tiled.b;
    kni_ir_id last = word(n, "sub", kni_direct_entry(d, KNI_DIRECT_X_SIZE, ROW), whole(n, 1));
    kni_ir_id near = word(n, "max", word(n, "min", row, last), whole(n, 0));
    kni_ir_id at = place_in(n, KNI_DIRECT_X_SIZE, near);
    for (int v = n->low; v <= n->high; v++) {
        kni_ir_id place = word(n, "add", at, kni_ir_whole(b, KN_I64, (int64_t)v * n->lanes)), vector,
                  there = n->there[v - n->low];
        vector = there ? kni_ir_load_where(b, d->tiled.b_, place, d->tiled.compute, n->lanes, there,
                                           kni_direct_zero(d))
                       : kni_ir_load(b, d->tiled.b_, place, d->tiled.compute, n->lanes);
        for (int i = 0; i < n->lanes; i++) x[(v - n->low) * n->lanes + i] = kni_ir_lane(b, vector, i);
    }
}

/* What meets an element of a vector of x: 0 where that is not there. */
static kni_ir_id factor(neighbours *n, int vector, kni_ir_id value)
{
    kni_ir_id there = n->there[vector];
    return there ? kni_ir_select(n->d.tiled.b, there, value, kni_direct_zero(&n->d)) : value;
}

static void multiply(neighbours *n, kni_ir_id sum, kni_ir_id x, kni_ir_id y)
{
    kni_ir_builder *b = n->d.tiled.b;
    kni_ir_set(b, sum, kni_direct_multiply(&n->d, x, y, kni_ir_get(b, sum)));
}

static kni_ir_id row_there(neighbours *n, kni_ir_id row)
{
    kni_ir_id size = kni_direct_entry(&n->d, KNI_DIRECT_X_SIZE, ROW);
    return kni_ir_and(n->d.tiled.b, word(n, "ge", row, whole(n, 0)), word(n, "lt", row, size));
}

static kni_ir_id sum_variable(neighbours *n)
{
    return kni_ir_variable(n->d.tiled.b, n->d.tiled.compute, 1, kni_direct_zero(&n->d));
}

/* ---- results and gradients by the image */

/* All taps of a row of the kernel, for the vector at position e. */
static void add_row(neighbours *n, int k, const kni_ir_id *x, const kni_ir_id *sums)
{
    const kni_direct_signature *s = n->d.s;
    for (int c = 0; c < s->kernel[COLUMN]; c++)
        for (int j = 0; j < n->lanes; j++) {
            const int from = j + offset_of(s, c) - n->low * n->lanes, tap = k * s->kernel[COLUMN] + c;
            multiply(n, sums[j], x[from], n->factors[from / n->lanes][tap]);
        }
}

static void put_vectors(neighbours *n, const kni_ir_id *sums)
{
    kni_direct *d = &n->d;
    kni_ir_builder *b = d->tiled.b;
    kni_ir_id bias = 0, place[KNI_CONV_AXES], inside, values[KNI_DIRECT_LANES];
    if (d->s->has_bias) bias = kni_ir_load(b, d->tiled.bias, d->group, d->tiled.compute, 1);
    for (int e = 0; e < d->s->run; e++) {
        kni_direct_position(d, whole(n, e), place, &inside);
        for (int j = 0; j < n->lanes; j++) values[j] = kni_ir_get(b, sums[e * n->lanes + j]);
        kni_ir_id vector = kni_ir_pack(b, values, n->lanes), at = place_in(n, KNI_DIRECT_Y_SIZE, place[ROW]);
        if (bias) vector = word(n, "add", vector, bias);
        if (d->tiled.tail) at = kni_ir_cast(b, at, d->tiled.index); /* as it counts */
        kni_tiled_put_vector(&d->tiled, at, vector, n->lanes, inside);
    }
}

kni_ir *kni_rows_build(const void *key, const kni_gpu_tail *tail, const kni_sched_target *target)
{
    const kni_direct_signature *s = key;
    kni_ir_builder b;
    neighbours n;
    kni_direct *d = &n.d;
    kni_ir_id sums[MOST_SUMS], weights[KNI_ROWS_TAPS], x[MOST_VECTORS * KNI_DIRECT_LANES];
    const int taps = s->kernel[ROW] * s->kernel[COLUMN];
    int first, end, row;
    if (!begin(&n, s, &b, "convolution_rows", tail, target)) return NULL;
    kni_ir_id item =
        kni_direct_join(d, kni_ir_builtin_value(&b, KNI_IR_GROUP, 0, d->tiled.index), whole(&n, s->workgroup),
                        kni_ir_builtin_value(&b, KNI_IR_LOCAL, 0, d->tiled.index));
    kni_ir_if(&b, word(&n, "lt", item, kni_direct_number(d, KNI_DIRECT_ITEMS)));
    kni_ir_id rest = kni_direct_locate(d, item);
    d->group = kni_direct_split(d, rest, kni_direct_number(d, KNI_DIRECT_GROUPS), &d->image);
    look_beside(&n);
    for (int i = 0; i < taps; i++)
        weights[i] = kni_ir_load(&b, d->tiled.a, kni_direct_join(d, d->group, whole(&n, taps), whole(&n, i)),
                                 d->tiled.compute, 1);
    /* Chosen once for all rows, before any condition. */
    for (int v = 0; v <= n.high - n.low; v++)
        for (int c = 0; c < s->kernel[COLUMN]; c++)
            for (int k = 0; k < s->kernel[ROW]; k++)
                n.factors[v][k * s->kernel[COLUMN] + c] = factor(&n, v, weights[k * s->kernel[COLUMN] + c]);
    for (int i = 0; i < s->run * n.lanes; i++) sums[i] = sum_variable(&n);
    kni_ir_id begins = kni_direct_first_row(d);
    kni_direct_rows(s, &first, &end);
    for (int i = first; i < end; i++) {
        kni_ir_id at = word(&n, "add", begins, whole(&n, i));
        load_row(&n, at, x);
        kni_ir_if(&b, row_there(&n, at));
        for (int e = 0; e < s->run; e++)
            for (int k = 0; k < s->kernel[ROW]; k++)
                if (kni_direct_row_of(s, e, k, &row) && row == i) add_row(&n, k, x, sums + e * n.lanes);
        kni_ir_end(&b);
    }
    put_vectors(&n, sums);
    kni_ir_end(&b);
    return kni_tiled_finish(&d->tiled);
}

/* ---- gradients by the weight */

typedef struct gradients {
    neighbours n;
    kni_ir_id sums[KNI_ROWS_TAPS], exists[KNI_DIRECT_RUN];
    kni_ir_id dy[KNI_DIRECT_RUN][MOST_VECTORS][KNI_DIRECT_LANES]; /* by the vector that they meet */
} gradients;

static void load_gradients(gradients *g)
{
    neighbours *n = &g->n;
    kni_direct *d = &n->d;
    kni_ir_id place[KNI_CONV_AXES];
    for (int e = 0; e < d->s->run; e++) {
        kni_direct_position(d, whole(n, e), place, &g->exists[e]);
        kni_ir_id vector =
            kni_ir_load_where(d->tiled.b, d->tiled.a, place_in(n, KNI_DIRECT_Y_SIZE, place[ROW]),
                              d->tiled.compute, n->lanes, g->exists[e], kni_direct_zero(d));
        for (int v = 0; v <= n->high - n->low; v++)
            for (int j = 0; j < n->lanes; j++)
                g->dy[e][v][j] = factor(n, v, kni_ir_lane(d->tiled.b, vector, j));
    }
}

static void add_gradients(gradients *g, int e, int k, const kni_ir_id *x)
{
    neighbours *n = &g->n;
    const kni_direct_signature *s = n->d.s;
    if (s->uneven) kni_ir_if(n->d.tiled.b, g->exists[e]);
    for (int c = 0; c < s->kernel[COLUMN]; c++)
        for (int j = 0; j < n->lanes; j++) {
            const int from = j + offset_of(s, c) - n->low * n->lanes;
            multiply(n, g->sums[k * s->kernel[COLUMN] + c], x[from], g->dy[e][from / n->lanes][j]);
        }
    if (s->uneven) kni_ir_end(n->d.tiled.b);
}

static void add_item(gradients *g, kni_ir_id item)
{
    neighbours *n = &g->n;
    kni_direct *d = &n->d;
    const kni_direct_signature *s = d->s;
    kni_ir_id x[MOST_VECTORS * KNI_DIRECT_LANES];
    int first, end, row;
    d->image = kni_direct_locate(d, item);
    look_beside(n);
    load_gradients(g);
    kni_ir_id begins = kni_direct_first_row(d);
    kni_direct_rows(s, &first, &end);
    for (int i = first; i < end; i++) {
        kni_ir_id at = word(n, "add", begins, whole(n, i));
        load_row(n, at, x);
        kni_ir_if(d->tiled.b, row_there(n, at));
        for (int e = 0; e < s->run; e++)
            for (int k = 0; k < s->kernel[ROW]; k++)
                if (kni_direct_row_of(s, e, k, &row) && row == i) add_gradients(g, e, k, x);
        kni_ir_end(d->tiled.b);
    }
}

kni_ir *kni_rows_build_weight(const void *key, const kni_gpu_tail *tail, const kni_sched_target *target)
{
    const kni_direct_signature *s = key;
    kni_ir_builder b;
    gradients g;
    neighbours *n = &g.n;
    kni_direct *d = &n->d;
    const int taps = s->kernel[ROW] * s->kernel[COLUMN];
    if (!begin(n, s, &b, "convolution_rows_weight", tail, target)) return NULL;
    kni_ir_id local = kni_ir_builtin_value(&b, KNI_IR_LOCAL, 0, d->tiled.index);
    kni_ir_id part = kni_ir_builtin_value(&b, KNI_IR_GROUP, 1, d->tiled.index);
    d->group = kni_ir_builtin_value(&b, KNI_IR_GROUP, 0, d->tiled.index);
    for (int i = 0; i < taps; i++) g.sums[i] = sum_variable(n);
    kni_ir_id each = kni_direct_number(d, KNI_DIRECT_PART), start = word(n, "mul", part, each);
    kni_ir_id end = word(n, "min", word(n, "add", start, each), kni_direct_number(d, KNI_DIRECT_ITEMS));
    kni_ir_id item = kni_ir_for(&b, word(n, "add", start, local), end, whole(n, s->workgroup));
    add_item(&g, item);
    kni_ir_end(&b);
    for (int i = 0; i < taps; i++) {
        kni_ir_id sum = kni_ir_workgroup(&b, KNI_IR_ADD, kni_ir_get(&b, g.sums[i]));
        kni_ir_id at = kni_direct_join(d, d->group, whole(n, taps), whole(n, i));
        if (s->parted) at = kni_direct_join(d, part, kni_direct_number(d, KNI_DIRECT_RESULTS), at);
        kni_tiled_put(&d->tiled, at, sum, word(n, "eq", local, whole(n, 0)));
    }
    return kni_tiled_finish(&d->tiled);
}
