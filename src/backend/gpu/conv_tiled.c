/* Convolutions as products whose operands are gathered while they are fetched: nothing is unfolded in memory. */
#include "backend/gpu/conv_tiled.h"

static kni_conv *of(kni_tiled *t) { return (kni_conv *)t; }
static kni_ir_id word(kni_tiled *t, const char *name, kni_ir_id x, kni_ir_id y)
{
    return kni_ir_word(t->b, name, x, y);
}
kni_ir_id kni_conv_number(kni_tiled *t, int which) { return kni_tiled_number(t, of(t)->numbers[which]); }
static kni_ir_id entry(kni_tiled *t, int array, int axis)
{
    kni_ir_id at = kni_ir_whole(t->b, KN_I64, axis);
    return kni_ir_cast(t->b, kni_ir_element(t->b, of(t)->arrays[array], at), t->index);
}

/* value = *high * size + the result */
kni_ir_id kni_conv_split(kni_tiled *t, kni_ir_id value, kni_ir_id size, kni_ir_id *high)
{
    *high = word(t, "div", value, size);
    return word(t, "sub", value, word(t, "mul", *high, size));
}

/* high * size + low */
kni_ir_id kni_conv_join(kni_tiled *t, kni_ir_id high, kni_ir_id size, kni_ir_id low)
{
    return word(t, "add", word(t, "mul", high, size), low);
}

/* The coordinates of a position in an array of sizes. */
static void coordinates(kni_tiled *t, int sizes, kni_ir_id position, kni_ir_id *out)
{
    for (int a = of(t)->axes - 1; a > 0; a--)
        out[a] = kni_conv_split(t, position, entry(t, sizes, a), &position);
    out[0] = position;
}

static kni_ir_id both(kni_tiled *t, kni_ir_id x, kni_ir_id y) { return x ? kni_ir_and(t->b, x, y) : y; }

/* Where tap `tap` reads for position `at`: its element in a plane of x, and whether it is there. */
static kni_ir_id tap_place(kni_tiled *t, kni_ir_id at, kni_ir_id tap, kni_ir_id *inside)
{
    const kni_conv *c = of(t);
    kni_ir_id p[KNI_CONV_MAX_SPATIAL], k[KNI_CONV_MAX_SPATIAL], place = 0,
                                                                zero = kni_ir_whole(t->b, t->index, 0);
    coordinates(t, KNI_CONV_Y_SIZE, at, p);
    coordinates(t, KNI_CONV_KERNEL, tap, k);
    *inside = 0;
    for (int a = 0; a < c->axes; a++) {
        kni_ir_id moved = word(t, "mul", k[a], entry(t, KNI_CONV_DILATION, a)),
                  size = entry(t, KNI_CONV_X_SIZE, a), i;
        if (c->what == KNI_CONV_TRANSPOSED) {
            kni_ir_id from = word(t, "sub", word(t, "add", p[a], entry(t, KNI_CONV_PADDING, a)), moved);
            i = word(t, "div", from, entry(t, KNI_CONV_STRIDE, a));
            *inside = both(t, *inside, word(t, "ge", from, zero));
            *inside = both(t, *inside, word(t, "eq", word(t, "mul", i, entry(t, KNI_CONV_STRIDE, a)), from));
        } else {
            i = word(t, "sub", word(t, "add", word(t, "mul", p[a], entry(t, KNI_CONV_STRIDE, a)), moved),
                     entry(t, KNI_CONV_PADDING, a));
            *inside = both(t, *inside, word(t, "ge", i, zero));
        }
        *inside = both(t, *inside, word(t, "lt", i, size));
        place = a ? kni_conv_join(t, place, size, i) : i;
    }
    return place;
}

/* An element of images: channel `channel` of the group's `channels`, `place` in a plane of `plane` elements. */
static kni_ir_id in_image(kni_tiled *t, bool last, kni_ir_id image, kni_ir_id group, int channels,
                          kni_ir_id channel, int plane, kni_ir_id place)
{
    kni_ir_id groups = kni_conv_number(t, KNI_CONV_GROUPS), each = kni_conv_number(t, channels),
              size = kni_conv_number(t, plane);
    if (!last)
        return kni_conv_join(t, kni_conv_join(t, kni_conv_join(t, image, groups, group), each, channel), size,
                             place);
    return kni_conv_join(t, kni_conv_join(t, kni_conv_join(t, image, size, place), groups, group), each,
                         channel);
}

/* x[image, group's channel, where the tap reads] */
static kni_ir_id place_x(kni_tiled *t, kni_ir_id channel_and_tap, kni_ir_id image_and_position,
                         kni_ir_id group, kni_ir_id *inside)
{
    kni_ir_id channel, image;
    kni_ir_id tap = kni_conv_split(t, channel_and_tap, kni_conv_number(t, KNI_CONV_TAPS), &channel);
    kni_ir_id at = kni_conv_split(t, image_and_position, kni_conv_number(t, KNI_CONV_POSITIONS), &image);
    kni_ir_id place = tap_place(t, at, tap, inside);
    return in_image(t, of(t)->x_last, image, group, KNI_CONV_CHANNELS, channel, KNI_CONV_PLANE, place);
}

/* y (or dy)[image, group's output, position] */
static kni_ir_id place_image(kni_tiled *t, kni_ir_id out, kni_ir_id image_and_position, kni_ir_id group)
{
    kni_ir_id image,
        at = kni_conv_split(t, image_and_position, kni_conv_number(t, KNI_CONV_POSITIONS), &image);
    return in_image(t, of(t)->y_last, image, group, KNI_CONV_OUTS, out, KNI_CONV_POSITIONS, at);
}

/* The group of a matrix of the batch; where the terms are cut, *term becomes one of all of them, *inside whether there is such a
   one. */
static kni_ir_id group_of(kni_tiled *t, kni_ir_id batch, kni_ir_id *term, kni_ir_id *inside)
{
    kni_ir_id part;
    *inside = 0;
    if (!of(t)->parted) return batch;
    kni_ir_id group = kni_conv_split(t, batch, kni_conv_number(t, KNI_CONV_GROUPS), &part);
    *term = kni_conv_join(t, part, kni_conv_number(t, KNI_CONV_K), *term);
    *inside = word(t, "lt", *term, kni_conv_number(t, KNI_CONV_TERMS));
    return group;
}

static kni_ir_id place_left(kni_tiled *t, kni_ir_id row, kni_ir_id column, kni_ir_id batch, kni_ir_id *inside)
{
    kni_ir_id group = group_of(t, batch, &column, inside);
    if (of(t)->what == KNI_CONV_WEIGHT) return place_image(t, row, column, group);
    if (of(t)->what == KNI_CONV_FORWARD)
        return kni_conv_join(t, kni_conv_join(t, group, kni_conv_number(t, KNI_CONV_OUTS), row),
                             kni_conv_number(t, KNI_CONV_K), column);
    kni_ir_id channel, tap = kni_conv_split(t, column, kni_conv_number(t, KNI_CONV_TAPS), &channel);
    channel = kni_conv_join(t, group, kni_conv_number(t, KNI_CONV_CHANNELS), channel);
    return kni_conv_join(t, kni_conv_join(t, channel, kni_conv_number(t, KNI_CONV_OUTS), row),
                         kni_conv_number(t, KNI_CONV_TAPS), tap);
}

static kni_ir_id place_right(kni_tiled *t, kni_ir_id row, kni_ir_id column, kni_ir_id batch,
                             kni_ir_id *inside)
{
    kni_ir_id exists, there, group = group_of(t, batch, &row, &exists);
    kni_ir_id at = of(t)->what == KNI_CONV_WEIGHT ? place_x(t, column, row, group, &there)
                                                  : place_x(t, row, column, group, &there);
    *inside = exists ? kni_ir_and(t->b, exists, there) : there;
    return at;
}

/* Parts of the terms lie one after the other. */
static kni_ir_id place_result(kni_tiled *t, kni_ir_id row, kni_ir_id column, kni_ir_id batch,
                              kni_ir_id *inside)
{
    *inside = 0;
    if (of(t)->what != KNI_CONV_WEIGHT) return place_image(t, row, column, batch);
    return kni_conv_join(t, kni_conv_join(t, batch, kni_conv_number(t, KNI_CONV_OUTS), row),
                         kni_conv_number(t, KNI_CONV_N), column);
}

static kni_ir_id place_bias(kni_tiled *t, kni_ir_id row, kni_ir_id column, kni_ir_id group)
{
    (void)column;
    return kni_conv_join(t, group, kni_conv_number(t, KNI_CONV_OUTS), row);
}

/* Declares what both kernels have: operands, results, numbers, places. */
bool kni_conv_declare(kni_conv *c, const kni_conv_signature *s, kni_ir_builder *b, const kni_gpu_tail *tail,
                      const kni_sched_target *target)
{
    static const char *const names[KNI_CONV_NUMBERS] = {"m",         "n",     "k",       "groups",
                                                        "channels",  "outs",  "images",  "taps",
                                                        "positions", "plane", "batches", "terms"};
    static const char *const arrays[KNI_CONV_ARRAYS] = {"x_size", "kernel_size", "y_size",
                                                        "stride", "padding",     "dilation"};
    kni_tiled *t = &c->tiled;
    t->compute = kni_tiled_compute(s->dtype);
    t->index = s->wide ? KN_I64 : KN_I32;
    t->shape = s->shape;
    t->dtype = s->parted ? t->compute : s->dtype;
    t->b_along_rows = s->what == KNI_CONV_WEIGHT;
    t->leaves_out = s->leaves_out;
    t->b = b;
    t->a = kni_ir_buffer(b, "a", s->dtype, KNI_IR_READ);
    t->b_ = kni_ir_buffer(b, "b", s->dtype, KNI_IR_READ);
    if (s->has_bias) t->bias = kni_ir_buffer(b, "bias", s->dtype, KNI_IR_READ);
    if (s->adds) c->added = kni_ir_buffer(b, "added", s->dtype, KNI_IR_READ);
    c->parted = s->parted, c->x_last = s->x_last, c->y_last = s->y_last;
    if (s->kind != KNI_CONV_PRODUCT) {
        t->y = kni_ir_buffer(b, "y", s->dtype, KNI_IR_READ | KNI_IR_WRITE);
        kni_ir_add_item_params(b);
    } else if (!kni_tiled_results(t, t->dtype, s->parted ? NULL : tail, target)) {
        return false;
    }
    for (int i = 0; i < KNI_CONV_NUMBERS; i++) c->numbers[i] = kni_ir_param_add(b, names[i], KN_I64, 0);
    for (int i = 0; i < KNI_CONV_ARRAYS; i++) c->arrays[i] = kni_ir_param_add(b, arrays[i], KN_I64, s->axes);
    t->m = c->numbers[KNI_CONV_M];
    t->n = c->numbers[KNI_CONV_N];
    t->k = c->numbers[KNI_CONV_K];
    t->batches = c->numbers[KNI_CONV_BATCHES];
    t->place_a = place_left;
    t->place_b = place_right;
    t->place_y = place_result;
    t->place_bias = s->has_bias ? place_bias : NULL;
    return true;
}

kni_ir *kni_conv_build(const void *key, const kni_gpu_tail *tail, const kni_sched_target *target)
{
    const kni_conv_signature *s = key;
    kni_conv c = {.what = s->what, .axes = s->axes};
    kni_ir_builder b = kni_ir_begin("convolution", kni_tiled_workgroup(&s->shape));
    if (!kni_conv_declare(&c, s, &b, tail, target)) return NULL;
    kni_tiled_build(&c.tiled);
    return kni_tiled_finish(&c.tiled);
}
