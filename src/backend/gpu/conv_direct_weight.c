/* Gradients of the weight without tiles, for few taps and outputs in a group: an invocation adds up all taps of some outputs over items
   that lie far apart, with a row of x loaded once for all positions that read it, and the workgroup adds up its invocations. Where the
   groups do not fill the device, the items are cut into parts. */
#include "backend/gpu/conv_direct.h"

enum {
    ROW = KNI_DIRECT_ROW,
    COLUMN = KNI_DIRECT_COLUMN,
    X_SIZE = KNI_DIRECT_X_SIZE,
    Y_SIZE = KNI_DIRECT_Y_SIZE
};
enum { MOST_GRADIENTS = KNI_DIRECT_RUN * KNI_DIRECT_OUTS };

typedef struct weights {
    kni_direct d;
    kni_ir_id sums[KNI_DIRECT_TAPS];     /* variables: [output][depth][row][column] */
    kni_ir_id gradients[MOST_GRADIENTS]; /* of this item: [output][position], 0 where there is none */
    kni_ir_id places[KNI_DIRECT_RUN][KNI_CONV_AXES];
    kni_ir_id channel;
} weights;

static int taps_of(const kni_direct_signature *s)
{
    return s->kernel[0] * s->kernel[ROW] * s->kernel[COLUMN];
}

static kni_ir_id *sum_of(weights *w, int o, const int tap[KNI_CONV_AXES])
{
    const uint8_t *k = w->d.s->kernel;
    return &w->sums[((o * k[0] + tap[0]) * k[ROW] + tap[ROW]) * k[COLUMN] + tap[COLUMN]];
}

static kni_ir_id both(weights *w, kni_ir_id x, kni_ir_id y)
{
    return !x ? y : !y ? x : kni_ir_and(w->d.tiled.b, x, y);
}

/* The output's number in its group. */
static kni_ir_id output(kni_direct *d, int o)
{
    kni_ir_id one = kni_direct_whole(d, o);
    return d->s->one_block ? one : kni_direct_join(d, d->block, kni_direct_whole(d, d->s->outs), one);
}

static void load_gradients(weights *w)
{
    kni_direct *d = &w->d;
    const kni_direct_signature *s = d->s;
    kni_ir_id groups = kni_direct_join(d, d->image, kni_direct_number(d, KNI_DIRECT_GROUPS), d->group),
              inside;
    for (int e = 0; e < s->run; e++) {
        kni_direct_position(d, kni_direct_whole(d, e), w->places[e], &inside);
        for (int o = 0; o < s->outs; o++) {
            kni_ir_id plane =
                kni_direct_join(d, groups, kni_direct_number(d, KNI_DIRECT_GROUP_OUTS), output(d, o));
            kni_ir_id at = kni_direct_element(d, Y_SIZE, plane, w->places[e]);
            w->gradients[o * s->run + e] = kni_ir_load_where(d->tiled.b, d->tiled.a, at, d->tiled.compute, 1,
                                                             inside, kni_direct_zero(d));
        }
    }
}

/* Adds x times the gradients at position e to the tap of all outputs. A gradient that is not finite must not meet an element that is
   missing. */
static void add(weights *w, kni_ir_id x, kni_ir_id there, int e, const int tap[KNI_CONV_AXES])
{
    kni_direct *d = &w->d;
    for (int o = 0; o < d->s->outs; o++) {
        kni_ir_id *sum = sum_of(w, o, tap), dy = w->gradients[o * d->s->run + e];
        if (d->s->leaves_out && there) dy = kni_ir_select(d->tiled.b, there, dy, kni_direct_zero(d));
        kni_ir_set(d->tiled.b, *sum, kni_direct_multiply(d, x, dy, kni_ir_get(d->tiled.b, *sum)));
    }
}

static kni_ir_id load_x(weights *w, kni_ir_id plane, const kni_ir_id at[KNI_CONV_AXES], kni_ir_id there)
{
    kni_direct *d = &w->d;
    kni_ir_id place = kni_direct_element(d, X_SIZE, plane, at);
    if (!there) return kni_ir_load(d->tiled.b, d->tiled.b_, place, d->tiled.compute, 1);
    return kni_ir_load_where(d->tiled.b, d->tiled.b_, place, d->tiled.compute, 1, there, kni_direct_zero(d));
}

/* All rows at one tap of depth and column. */
static void add_rows(weights *w, kni_ir_id plane, int tap[KNI_CONV_AXES], kni_ir_id at[KNI_CONV_AXES],
                     kni_ir_id inside)
{
    kni_direct *d = &w->d;
    const kni_direct_signature *s = d->s;
    int first, end, row;
    kni_ir_id begin = kni_direct_first_row(d);
    kni_direct_rows(s, &first, &end);
    for (int i = first; i < end; i++) {
        kni_ir_id x = 0, there = 0;
        for (int e = 0; e < s->run; e++)
            for (tap[ROW] = 0; tap[ROW] < s->kernel[ROW]; tap[ROW]++) {
                if (!kni_direct_row_of(s, e, tap[ROW], &row) || row != i) continue;
                if (!x) {
                    at[ROW] = kni_direct_word(d, "add", begin, kni_direct_whole(d, i));
                    there = both(w, inside, kni_direct_word(d, "ge", at[ROW], kni_direct_whole(d, 0)));
                    there =
                        both(w, there, kni_direct_word(d, "lt", at[ROW], kni_direct_entry(d, X_SIZE, ROW)));
                    x = load_x(w, plane, at, there);
                }
                add(w, x, there, e, tap);
            }
    }
}

/* One row of taps for positions along the last axis. */
static void add_columns(weights *w, kni_ir_id plane, int tap[KNI_CONV_AXES], kni_ir_id at[KNI_CONV_AXES],
                        kni_ir_id inside)
{
    kni_direct *d = &w->d;
    for (tap[ROW] = 0; tap[ROW] < d->s->kernel[ROW]; tap[ROW]++) {
        kni_ir_id in_row = inside;
        at[ROW] = kni_direct_source(d, ROW, d->line, kni_direct_whole(d, tap[ROW]), &in_row);
        for (int e = 0; e < d->s->run; e++) {
            kni_ir_id there = in_row;
            at[COLUMN] =
                kni_direct_source(d, COLUMN, w->places[e][COLUMN], kni_direct_whole(d, tap[COLUMN]), &there);
            add(w, load_x(w, plane, at, there), there, e, tap);
        }
    }
}

static void add_item(weights *w, kni_ir_id item)
{
    kni_direct *d = &w->d;
    const kni_direct_signature *s = d->s;
    int tap[KNI_CONV_AXES];
    kni_ir_id at[KNI_CONV_AXES];
    d->image = kni_direct_locate(d, item);
    load_gradients(w);
    kni_ir_id plane = kni_direct_join(d, d->image, kni_direct_number(d, KNI_DIRECT_GROUPS), d->group);
    if (!s->one_channel)
        plane = kni_direct_join(d, plane, kni_direct_number(d, KNI_DIRECT_CHANNELS), w->channel);
    for (tap[0] = 0; tap[0] < s->kernel[0]; tap[0]++) {
        kni_ir_id in_depth = 0;
        at[0] = kni_direct_source(d, 0, d->depth, kni_direct_whole(d, tap[0]), &in_depth);
        for (tap[COLUMN] = 0; tap[COLUMN] < s->kernel[COLUMN]; tap[COLUMN]++) {
            kni_ir_id inside = in_depth;
            if (!s->down) {
                add_columns(w, plane, tap, at, inside);
                continue;
            }
            at[COLUMN] = kni_direct_source(d, COLUMN, d->column, kni_direct_whole(d, tap[COLUMN]), &inside);
            add_rows(w, plane, tap, at, inside);
        }
    }
}

/* What the workgroup has of each tap. */
static void put_all(weights *w, kni_ir_id part, kni_ir_id local)
{
    kni_direct *d = &w->d;
    const int taps = taps_of(d->s);
    kni_ir_id first = kni_direct_word(d, "eq", local, kni_direct_whole(d, 0));
    for (int o = 0; o < d->s->outs; o++) {
        kni_ir_id out =
            kni_direct_join(d, d->group, kni_direct_number(d, KNI_DIRECT_GROUP_OUTS), output(d, o));
        if (!d->s->one_channel)
            out = kni_direct_join(d, out, kni_direct_number(d, KNI_DIRECT_CHANNELS), w->channel);
        for (int i = 0; i < taps; i++) {
            kni_ir_id sum =
                kni_ir_workgroup(d->tiled.b, KNI_IR_ADD, kni_ir_get(d->tiled.b, w->sums[o * taps + i]));
            kni_ir_id at = kni_direct_join(d, out, kni_direct_whole(d, taps), kni_direct_whole(d, i));
            if (d->s->parted) at = kni_direct_join(d, part, kni_direct_number(d, KNI_DIRECT_RESULTS), at);
            kni_tiled_put(&d->tiled, at, sum, first);
        }
    }
}

kni_ir *kni_direct_build_weight(const void *key, const kni_gpu_tail *tail, const kni_sched_target *target)
{
    kni_ir_builder b;
    weights w;
    kni_direct *d = &w.d;
    const kni_direct_signature *s = key;
    if (!kni_direct_declare(d, s, &b, "convolution_direct_weight", tail, target)) return NULL;
    kni_ir_id local = kni_ir_builtin_value(&b, KNI_IR_LOCAL, 0, d->tiled.index);
    kni_ir_id part = kni_ir_builtin_value(&b, KNI_IR_GROUP, 1, d->tiled.index);
    d->group = kni_ir_builtin_value(&b, KNI_IR_GROUP, 0, d->tiled.index);
    d->block = w.channel = kni_direct_whole(d, 0);
    if (!s->one_channel)
        w.channel = kni_direct_split(d, d->group, kni_direct_number(d, KNI_DIRECT_CHANNELS), &d->group);
    if (!s->one_block)
        d->block = kni_direct_split(d, d->group, kni_direct_number(d, KNI_DIRECT_BLOCKS), &d->group);
    for (int i = 0; i < s->outs * taps_of(s); i++)
        w.sums[i] = kni_ir_variable(&b, d->tiled.compute, 1, kni_direct_zero(d));
    kni_ir_id each = kni_direct_number(d, KNI_DIRECT_PART), begin = kni_direct_word(d, "mul", part, each);
    kni_ir_id end = kni_direct_word(d, "min", kni_direct_word(d, "add", begin, each),
                                    kni_direct_number(d, KNI_DIRECT_ITEMS));
    kni_ir_id item =
        kni_ir_for(&b, kni_direct_word(d, "add", begin, local), end, kni_direct_whole(d, s->workgroup));
    add_item(&w, item);
    kni_ir_end(&b);
    put_all(&w, part, local);
    return kni_tiled_finish(&d->tiled);
}
