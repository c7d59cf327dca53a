/* Convolutions without tiles: an invocation makes some positions of some outputs of a group, and keeps what several of them need
   in registers. Down the rows, a row of x is loaded once for all positions that read it; neighbours in the workgroup are
   neighbours in memory. The weights are the same for all of a plane. */
#include "backend/gpu/conv_direct.h"

enum {
    X_SIZE = KNI_DIRECT_X_SIZE,
    Y_SIZE = KNI_DIRECT_Y_SIZE,
    ROW = KNI_DIRECT_ROW,
    COLUMN = KNI_DIRECT_COLUMN
};

/* ---- what the kernels have in common */

kni_ir_id kni_direct_number(kni_direct *d, int which)
{
    return kni_tiled_number(&d->tiled, d->numbers[which]);
}
kni_ir_id kni_direct_entry(kni_direct *d, int array, int axis)
{
    kni_ir_builder *b = d->tiled.b;
    return kni_ir_cast(b, kni_ir_element(b, d->arrays[array], kni_ir_whole(b, KN_I64, axis)), d->tiled.index);
}
kni_ir_id kni_direct_word(kni_direct *d, const char *name, kni_ir_id x, kni_ir_id y)
{
    return kni_ir_word(d->tiled.b, name, x, y);
}
kni_ir_id kni_direct_whole(kni_direct *d, int64_t value)
{
    return kni_ir_whole(d->tiled.b, d->tiled.index, value);
}

kni_ir_id kni_direct_join(kni_direct *d, kni_ir_id high, kni_ir_id size, kni_ir_id low)
{
    return kni_direct_word(d, "add", kni_direct_word(d, "mul", high, size), low);
}

/* Nothing is negative: division without signs is much quicker. */
static kni_ir_id divide(kni_direct *d, kni_ir_id value, kni_ir_id size)
{
    kni_ir_builder *b = d->tiled.b;
    const int as = d->tiled.index == KN_I32 ? KN_U32 : KN_U64;
    return kni_ir_cast(b, kni_ir_word(b, "div", kni_ir_cast(b, value, as), kni_ir_cast(b, size, as)),
                       d->tiled.index);
}

kni_ir_id kni_direct_split(kni_direct *d, kni_ir_id value, kni_ir_id size, kni_ir_id *high)
{
    *high = divide(d, value, size);
    return kni_direct_word(d, "sub", value, kni_direct_word(d, "mul", *high, size));
}

static bool is_real(const kni_direct *d) { return d->tiled.compute == KN_F32 || d->tiled.compute == KN_F64; }

kni_ir_id kni_direct_zero(kni_direct *d)
{
    kni_tiled *t = &d->tiled;
    return is_real(d) ? kni_ir_real(t->b, t->compute, 0) : kni_ir_whole(t->b, t->compute, 0);
}

kni_ir_id kni_direct_multiply(kni_direct *d, kni_ir_id a, kni_ir_id b, kni_ir_id c)
{
    if (is_real(d)) return kni_ir_fma(d->tiled.b, a, b, c);
    return kni_direct_word(d, "add", kni_direct_word(d, "mul", a, b), c);
}

static kni_ir_id both(kni_direct *d, kni_ir_id x, kni_ir_id y)
{
    return !x ? y : !y ? x : kni_ir_and(d->tiled.b, x, y);
}

bool kni_direct_declare(kni_direct *d, const kni_direct_signature *s, kni_ir_builder *b, const char *name,
                        const kni_gpu_tail *tail, const kni_sched_target *target)
{
    static const char *const names[KNI_DIRECT_NUMBERS] = {"pieces", "groups",  "channels", "outs",   "blocks",
                                                          "lines",  "columns", "part",     "results"};
    static const char *const arrays[KNI_DIRECT_ARRAYS] = {"x_size", "y_size", "padding", "dilation"};
    kni_tiled *t = &d->tiled;
    *d = (kni_direct){.s = s};
    *b = kni_ir_begin(name, s->workgroup);
    t->b = b;
    t->compute = kni_tiled_compute(s->dtype);
    t->index = s->wide ? KN_I64 : KN_I32;
    t->dtype = s->parted ? t->compute : s->dtype;
    t->a = kni_ir_buffer(b, "a", s->dtype, KNI_IR_READ);
    t->b_ = kni_ir_buffer(b, "b", s->dtype, KNI_IR_READ);
    if (s->has_bias) t->bias = kni_ir_buffer(b, "bias", s->dtype, KNI_IR_READ);
    if (!kni_tiled_results(t, t->dtype, s->parted ? NULL : tail, target)) return false;
    for (int i = 0; i < KNI_DIRECT_NUMBERS; i++) d->numbers[i] = kni_ir_param_add(b, names[i], KN_I64, 0);
    for (int i = 0; i < KNI_DIRECT_ARRAYS; i++)
        d->arrays[i] = kni_ir_param_add(b, arrays[i], KN_I64, KNI_CONV_AXES);
    if (t->tail) kni_tail_numbers(t->tail);
    return true;
}

kni_ir_id kni_direct_locate(kni_direct *d, kni_ir_id item)
{
    kni_ir_id rest;
    d->column = kni_direct_split(d, item, kni_direct_number(d, KNI_DIRECT_COLUMNS), &rest);
    d->line = d->depth = kni_direct_whole(d, 0);
    if (d->s->axes > 1) d->line = kni_direct_split(d, rest, kni_direct_number(d, KNI_DIRECT_LINES), &rest);
    if (d->s->axes > 2) d->depth = kni_direct_split(d, rest, kni_direct_entry(d, Y_SIZE, 0), &rest);
    return rest;
}

void kni_direct_position(kni_direct *d, kni_ir_id e, kni_ir_id at[KNI_CONV_AXES], kni_ir_id *inside)
{
    const int axis = d->s->down ? ROW : COLUMN;
    at[0] = d->depth;
    at[ROW] = d->line;
    at[COLUMN] = d->column;
    at[axis] = d->s->down ? kni_direct_join(d, d->line, kni_direct_whole(d, d->s->run), e)
                          : kni_direct_join(d, e, kni_direct_number(d, KNI_DIRECT_COLUMNS), d->column);
    *inside = kni_direct_word(d, "lt", at[axis], kni_direct_entry(d, Y_SIZE, axis));
}

kni_ir_id kni_direct_source(kni_direct *d, int axis, kni_ir_id at, kni_ir_id tap, kni_ir_id *inside)
{
    const kni_direct_signature *s = d->s;
    kni_ir_id padding = kni_direct_entry(d, KNI_DIRECT_PADDING, axis), zero = kni_direct_whole(d, 0);
    kni_ir_id stride = kni_direct_whole(d, s->stride[axis]), i;
    kni_ir_id moved = kni_direct_word(d, "mul", tap, kni_direct_entry(d, KNI_DIRECT_DILATION, axis));
    if (axis < KNI_CONV_AXES - s->axes) return zero;
    if (s->what == KNI_CONV_TRANSPOSED) {
        kni_ir_id from = kni_direct_word(d, "sub", kni_direct_word(d, "add", at, padding), moved);
        i = s->stride[axis] > 1 ? divide(d, from, stride) : from; /* what is negative is not inside */
        *inside = both(d, *inside, kni_direct_word(d, "ge", from, zero));
        if (s->stride[axis] > 1)
            *inside = both(d, *inside, kni_direct_word(d, "eq", kni_direct_word(d, "mul", i, stride), from));
    } else {
        i = kni_direct_word(d, "sub", kni_direct_join(d, at, stride, moved), padding);
        *inside = both(d, *inside, kni_direct_word(d, "ge", i, zero));
    }
    *inside = both(d, *inside, kni_direct_word(d, "lt", i, kni_direct_entry(d, X_SIZE, axis)));
    return i;
}

kni_ir_id kni_direct_element(kni_direct *d, int sizes, kni_ir_id plane, const kni_ir_id at[KNI_CONV_AXES])
{
    for (int axis = KNI_CONV_AXES - d->s->axes; axis < KNI_CONV_AXES; axis++)
        plane = kni_direct_join(d, plane, kni_direct_entry(d, sizes, axis), at[axis]);
    return plane;
}

/* ---- rows */

kni_ir_id kni_direct_first_row(kni_direct *d)
{
    const kni_direct_signature *s = d->s;
    kni_ir_id padding = kni_direct_entry(d, KNI_DIRECT_PADDING, ROW);
    if (s->what != KNI_CONV_TRANSPOSED) {
        kni_ir_id step = kni_direct_whole(d, (int64_t)s->run * s->stride[ROW]);
        return kni_direct_word(d, "sub", kni_direct_word(d, "mul", d->line, step), padding);
    }
    /* run is a multiple of the stride, and so is what is divided here. */
    padding = kni_direct_word(d, "sub", padding, kni_direct_whole(d, s->phase));
    return kni_direct_join(d, d->line, kni_direct_whole(d, s->run / s->stride[ROW]),
                           kni_direct_word(d, "div", padding, kni_direct_whole(d, s->stride[ROW])));
}

bool kni_direct_row_of(const kni_direct_signature *s, int e, int tap, int *row)
{
    const int stride = s->stride[ROW];
    *row = e * stride + tap * s->dilation;
    if (s->what != KNI_CONV_TRANSPOSED) return true;
    const int from = e + s->phase - tap * s->dilation;
    *row = from / stride;
    return from % stride == 0;
}

void kni_direct_rows(const kni_direct_signature *s, int *first, int *end)
{
    *first = INT32_MAX, *end = INT32_MIN;
    for (int e = 0; e < s->run; e++)
        for (int tap = 0; tap < s->kernel[ROW]; tap++) {
            int row;
            if (!kni_direct_row_of(s, e, tap, &row)) continue;
            if (row < *first) *first = row;
            if (row >= *end) *end = row + 1;
        }
}

/* ---- results */

enum { MOST_SUMS = KNI_DIRECT_RUN * KNI_DIRECT_OUTS };

typedef struct results {
    kni_direct d;
    kni_ir_id sums[MOST_SUMS]; /* variables: [output][position] */
    kni_ir_id channel;         /* of the group */
    uint32_t suspects;         /* private array */
} results;

static int count_sums(const kni_direct_signature *s) { return s->run * s->outs; }

/* A loop over the taps along an axis; one tap needs none, and then there is nothing to close. */
static kni_ir_id begin_taps(kni_direct *d, int axis)
{
    const int taps = d->s->kernel[axis];
    if (taps == 1) return kni_direct_whole(d, 0);
    return kni_ir_for(d->tiled.b, kni_direct_whole(d, 0), kni_direct_whole(d, taps), kni_direct_whole(d, 1));
}

static void end_taps(kni_direct *d, int axis)
{
    if (d->s->kernel[axis] > 1) kni_ir_end(d->tiled.b);
}

static kni_ir_id begin_channels(kni_direct *d)
{
    if (d->s->one_channel) return kni_direct_whole(d, 0);
    return kni_ir_for(d->tiled.b, kni_direct_whole(d, 0), kni_direct_number(d, KNI_DIRECT_CHANNELS),
                      kni_direct_whole(d, 1));
}

static void end_channels(kni_direct *d)
{
    if (!d->s->one_channel) kni_ir_end(d->tiled.b);
}

/* Output number o of this invocation, in its group. */
static kni_ir_id output(kni_direct *d, kni_ir_id o)
{
    return d->s->one_block ? o : kni_direct_join(d, d->block, kni_direct_whole(d, d->s->outs), o);
}

/* The plane of the channel in x; with channels last its number in the image. */
static kni_ir_id plane_of_x(kni_direct *d, kni_ir_id channel)
{
    if (d->s->x_last)
        return d->s->one_channel
                   ? d->group
                   : kni_direct_join(d, d->group, kni_direct_number(d, KNI_DIRECT_CHANNELS), channel);
    kni_ir_id groups = kni_direct_join(d, d->image, kni_direct_number(d, KNI_DIRECT_GROUPS), d->group);
    return d->s->one_channel ? groups
                             : kni_direct_join(d, groups, kni_direct_number(d, KNI_DIRECT_CHANNELS), channel);
}

static kni_ir_id element_of_x(kni_direct *d, kni_ir_id plane, const kni_ir_id at[KNI_CONV_AXES])
{
    if (!d->s->x_last) return kni_direct_element(d, X_SIZE, plane, at);
    kni_ir_id channels = kni_direct_number(d, KNI_DIRECT_GROUPS);
    if (!d->s->one_channel)
        channels = kni_direct_word(d, "mul", channels, kni_direct_number(d, KNI_DIRECT_CHANNELS));
    return kni_direct_join(d, kni_direct_element(d, X_SIZE, d->image, at), channels, plane);
}

static kni_ir_id weight_at(kni_direct *d, kni_ir_id out, kni_ir_id channel,
                           const kni_ir_id tap[KNI_CONV_AXES])
{
    kni_ir_id channels = kni_direct_number(d, KNI_DIRECT_CHANNELS),
              outs = kni_direct_number(d, KNI_DIRECT_GROUP_OUTS);
    kni_ir_id at = d->s->what == KNI_CONV_TRANSPOSED
                       ? kni_direct_join(d, kni_direct_join(d, d->group, channels, channel), outs, out)
                       : kni_direct_join(d, kni_direct_join(d, d->group, outs, out), channels, channel);
    for (int axis = KNI_CONV_AXES - d->s->axes; axis < KNI_CONV_AXES; axis++)
        at = kni_direct_join(d, at, kni_direct_whole(d, d->s->kernel[axis]), tap[axis]);
    return kni_ir_load(d->tiled.b, d->tiled.a, at, d->tiled.compute, 1);
}

static kni_ir_id load_x(kni_direct *d, kni_ir_id plane, const kni_ir_id at[KNI_CONV_AXES], kni_ir_id inside)
{
    kni_ir_id place = element_of_x(d, plane, at);
    return kni_ir_load_where(d->tiled.b, d->tiled.b_, place, d->tiled.compute, 1, inside, kni_direct_zero(d));
}

static void add_to(results *r, int o, int e, kni_ir_id x, kni_ir_id w)
{
    kni_ir_id sum = r->sums[o * r->d.s->run + e], old = kni_ir_get(r->d.tiled.b, sum);
    kni_ir_set(r->d.tiled.b, sum, kni_direct_multiply(&r->d, x, w, old));
}

/* All rows at one column of the kernel: each is loaded once and goes to all positions that read it. */
static void sum_rows(results *r, kni_ir_id plane, kni_ir_id tap[KNI_CONV_AXES], kni_ir_id at[KNI_CONV_AXES],
                     kni_ir_id inside)
{
    kni_direct *d = &r->d;
    const kni_direct_signature *s = d->s;
    kni_ir_id weights[KNI_DIRECT_OUTS][KNI_DIRECT_ROW_TAPS], begin = kni_direct_first_row(d);
    int first, end, row;
    for (int o = 0; o < s->outs; o++)
        for (int k = 0; k < s->kernel[ROW]; k++) {
            tap[ROW] = kni_direct_whole(d, k);
            weights[o][k] = weight_at(d, output(d, kni_direct_whole(d, o)), r->channel, tap);
        }
    kni_direct_rows(s, &first, &end);
    for (int i = first; i < end; i++) {
        kni_ir_id x = 0;
        for (int e = 0; e < s->run; e++)
            for (int k = 0; k < s->kernel[ROW]; k++) {
                if (!kni_direct_row_of(s, e, k, &row) || row != i) continue;
                if (!x) {
                    at[ROW] = kni_direct_word(d, "add", begin, kni_direct_whole(d, i));
                    kni_ir_id here =
                        both(d, inside, kni_direct_word(d, "ge", at[ROW], kni_direct_whole(d, 0)));
                    here = both(d, here, kni_direct_word(d, "lt", at[ROW], kni_direct_entry(d, X_SIZE, ROW)));
                    x = load_x(d, plane, at, here);
                }
                for (int o = 0; o < s->outs; o++) add_to(r, o, e, x, weights[o][k]);
            }
    }
}

/* One tap for positions along the last axis. */
static void sum_columns(results *r, kni_ir_id plane, const kni_ir_id tap[KNI_CONV_AXES],
                        kni_ir_id at[KNI_CONV_AXES], kni_ir_id inside)
{
    kni_direct *d = &r->d;
    const kni_direct_signature *s = d->s;
    kni_ir_id weights[KNI_DIRECT_OUTS], place[KNI_CONV_AXES], there;
    for (int o = 0; o < s->outs; o++)
        weights[o] = weight_at(d, output(d, kni_direct_whole(d, o)), r->channel, tap);
    for (int e = 0; e < s->run; e++) {
        kni_ir_id here = inside;
        kni_direct_position(d, kni_direct_whole(d, e), place, &there);
        at[COLUMN] = kni_direct_source(d, COLUMN, place[COLUMN], tap[COLUMN], &here);
        kni_ir_id x = load_x(d, plane, at, here);
        for (int o = 0; o < s->outs; o++) add_to(r, o, e, x, weights[o]);
    }
}

static void sum_all(results *r)
{
    kni_direct *d = &r->d;
    const kni_direct_signature *s = d->s;
    kni_ir_id tap[KNI_CONV_AXES], at[KNI_CONV_AXES], in_depth = 0;
    for (int i = 0; i < count_sums(s); i++)
        r->sums[i] = kni_ir_variable(d->tiled.b, d->tiled.compute, 1, kni_direct_zero(d));
    r->channel = begin_channels(d);
    kni_ir_id plane = plane_of_x(d, r->channel);
    tap[0] = begin_taps(d, 0);
    at[0] = kni_direct_source(d, 0, d->depth, tap[0], &in_depth);
    if (s->down) {
        tap[COLUMN] = begin_taps(d, COLUMN);
        kni_ir_id inside = in_depth;
        at[COLUMN] = kni_direct_source(d, COLUMN, d->column, tap[COLUMN], &inside);
        sum_rows(r, plane, tap, at, inside);
        end_taps(d, COLUMN);
    } else {
        tap[ROW] = begin_taps(d, ROW);
        kni_ir_id inside = in_depth;
        at[ROW] = kni_direct_source(d, ROW, d->line, tap[ROW], &inside);
        tap[COLUMN] = begin_taps(d, COLUMN);
        sum_columns(r, plane, tap, at, inside);
        end_taps(d, COLUMN);
        end_taps(d, ROW);
    }
    end_taps(d, 0);
    end_channels(d);
}

/* Sum number `number` of this invocation, without the terms that are missing. */
static kni_ir_id sum_again(results *r, kni_ir_id number, kni_ir_id *exists)
{
    kni_direct *d = &r->d;
    kni_ir_builder *b = d->tiled.b;
    kni_ir_id place[KNI_CONV_AXES], tap[KNI_CONV_AXES], at[KNI_CONV_AXES], inside = 0, out;
    kni_ir_id total = kni_ir_variable(b, d->tiled.compute, 1, kni_direct_zero(d));
    kni_ir_id e = kni_direct_split(d, number, kni_direct_whole(d, d->s->run), &out);
    kni_direct_position(d, e, place, exists);
    kni_ir_id channel = begin_channels(d), plane = plane_of_x(d, channel);
    for (int axis = 0; axis < KNI_CONV_AXES; axis++) {
        tap[axis] = begin_taps(d, axis);
        at[axis] = kni_direct_source(d, axis, place[axis], tap[axis], &inside);
    }
    if (inside) kni_ir_if(b, inside);
    kni_ir_id x = kni_ir_load(b, d->tiled.b_, element_of_x(d, plane, at), d->tiled.compute, 1);
    kni_ir_id w = weight_at(d, output(d, out), channel, tap);
    kni_ir_set(b, total, kni_ir_fma(b, x, w, kni_ir_get(b, total)));
    if (inside) kni_ir_end(b);
    for (int axis = 0; axis < KNI_CONV_AXES; axis++) end_taps(d, axis);
    end_channels(d);
    return kni_ir_get(b, total);
}

/* Results that are NaN may be so because a missing element was multiplied as 0. Finite ones cost a comparison. */
static void mend(results *r)
{
    kni_direct *d = &r->d;
    kni_ir_builder *b = d->tiled.b;
    const int n = count_sums(d->s);
    kni_ir_id any = 0, exists;
    if (!d->s->leaves_out || !is_real(d)) return;
    for (int i = 0; i < n; i++) {
        kni_ir_id is_nan = kni_direct_word(d, "isnan", kni_ir_get(b, r->sums[i]), 0);
        any = any ? kni_ir_or(b, any, is_nan) : is_nan;
    }
    kni_ir_if(b, any);
    for (int i = 0; i < n; i++)
        kni_ir_store(b, r->suspects, kni_direct_whole(d, i), kni_ir_get(b, r->sums[i]));
    kni_ir_id i = kni_ir_for(b, kni_direct_whole(d, 0), kni_direct_whole(d, n), kni_direct_whole(d, 1));
    kni_ir_if(b, kni_direct_word(d, "isnan", kni_ir_load(b, r->suspects, i, d->tiled.compute, 1), 0));
    kni_ir_id again = sum_again(r, i, &exists);
    kni_ir_store_where(b, r->suspects, i, again, exists);
    kni_ir_end(b);
    kni_ir_end(b);
    for (int k = 0; k < n; k++)
        kni_ir_set(b, r->sums[k], kni_ir_load(b, r->suspects, kni_direct_whole(d, k), d->tiled.compute, 1));
    kni_ir_end(b);
}

/* The element of output `out` of the group at a place of y. */
static kni_ir_id element_of_y(kni_direct *d, kni_ir_id out, const kni_ir_id place[KNI_CONV_AXES])
{
    kni_ir_id groups = kni_direct_number(d, KNI_DIRECT_GROUPS),
              outs = kni_direct_number(d, KNI_DIRECT_GROUP_OUTS);
    if (!d->s->y_last)
        return kni_direct_element(
            d, Y_SIZE, kni_direct_join(d, kni_direct_join(d, d->image, groups, d->group), outs, out), place);
    return kni_direct_join(d, kni_direct_element(d, Y_SIZE, d->image, place),
                           kni_direct_word(d, "mul", groups, outs), kni_direct_join(d, d->group, outs, out));
}

static void put_all(results *r)
{
    kni_direct *d = &r->d;
    const kni_direct_signature *s = d->s;
    kni_ir_id place[KNI_CONV_AXES], inside, outs = kni_direct_number(d, KNI_DIRECT_GROUP_OUTS);
    for (int o = 0; o < s->outs; o++) {
        kni_ir_id out = output(d, kni_direct_whole(d, o)), bias = 0;
        if (s->has_bias)
            bias = kni_ir_load(d->tiled.b, d->tiled.bias, kni_direct_join(d, d->group, outs, out),
                               d->tiled.compute, 1);
        for (int e = 0; e < s->run; e++) {
            kni_ir_id value = kni_ir_get(d->tiled.b, r->sums[o * s->run + e]);
            if (bias) value = kni_direct_word(d, "add", value, bias);
            kni_direct_position(d, kni_direct_whole(d, e), place, &inside);
            kni_tiled_put(&d->tiled, element_of_y(d, out, place), value, inside);
        }
    }
}

/* Which results the item is: neighbours along the width of a plane or, with channels last, those of one position. */
static void locate(kni_direct *d, kni_ir_id item)
{
    const bool last = d->s->x_last || d->s->y_last;
    kni_ir_id rest = last ? item : kni_direct_locate(d, item);
    d->block = kni_direct_whole(d, 0);
    if (!d->s->one_block)
        d->block = kni_direct_split(d, rest, kni_direct_number(d, KNI_DIRECT_BLOCKS), &rest);
    d->group = kni_direct_split(d, rest, kni_direct_number(d, KNI_DIRECT_GROUPS), &rest);
    d->image = last ? kni_direct_locate(d, rest) : rest;
}

kni_ir *kni_direct_build(const void *key, const kni_gpu_tail *tail, const kni_sched_target *target)
{
    kni_ir_builder b;
    results r;
    kni_direct *d = &r.d;
    const kni_direct_signature *s = key;
    if (!kni_direct_declare(d, s, &b, "convolution_direct", tail, target)) return NULL;
    if (s->leaves_out)
        r.suspects = kni_ir_array(&b, "suspects", d->tiled.compute, KNI_IR_PRIVATE, count_sums(s));
    kni_ir_id item = kni_direct_join(d, kni_ir_builtin_value(&b, KNI_IR_GROUP, 0, d->tiled.index),
                                     kni_direct_whole(d, s->workgroup),
                                     kni_ir_builtin_value(&b, KNI_IR_LOCAL, 0, d->tiled.index));
    kni_ir_if(&b, kni_direct_word(d, "lt", item, kni_direct_number(d, KNI_DIRECT_ITEMS)));
    locate(d, item);
    sum_all(&r);
    mend(&r);
    put_all(&r);
    kni_ir_end(&b);
    return kni_tiled_finish(&d->tiled);
}
