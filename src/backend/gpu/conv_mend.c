/* What a library made of padding. It multiplies padding as zeros, so that a weight that is not finite becomes NaN where our own sums
   leave the term out. Where all weights of a channel are finite nothing can have gone wrong, so the weights are looked at, which are
   few, and images only where that finds something. The gradient of the weight is looked at itself, being as small. Where the library
   transforms tiles, any element that is not finite spoils its neighbours, so that all results are looked at: those that are not
   finite are summed again. A sum with such a term is never finite, with or without a transform, so that none is missed. */
#include "backend/gpu/conv_tiled.h"

static kni_ir_id word(kni_tiled *t, const char *name, kni_ir_id x, kni_ir_id y)
{
    return kni_ir_word(t->b, name, x, y);
}

typedef struct channel {
    kni_ir_id row, group, local; /* of the channel; of this invocation */
} channel;

/* A loop over `count` places, dealt out to the invocations of the workgroup. */
static kni_ir_id begin_dealt(kni_tiled *t, const channel *c, kni_ir_id count)
{
    return kni_ir_for(t->b, c->local, count, kni_ir_whole(t->b, t->index, KNI_CONV_MENDERS));
}

static kni_ir_id is_odd(kni_tiled *t, kni_ir_id value)
{
    return kni_ir_not(t->b, word(t, "isfinite", value, 0));
}

static bool is_weight(const kni_tiled *t) { return ((const kni_conv *)t)->what == KNI_CONV_WEIGHT; }

/* Adds 0 times an element, which is NaN where that is not finite: loads need not wait for each other, as behind a condition. */
static void look_at(kni_tiled *t, uint32_t binding, kni_ir_id place, kni_ir_id found)
{
    kni_ir_builder *b = t->b;
    kni_ir_id value = kni_ir_load(b, binding, place, t->compute, 1);
    kni_ir_set(b, found, kni_ir_fma(b, value, kni_ir_real(b, t->compute, 0), kni_ir_get(b, found)));
}

/* The weights of a gradient by the image: the taps of each pair of channels lie side by side. */
static void look_at_taps(kni_tiled *t, const channel *c, kni_ir_id found)
{
    kni_ir_builder *b = t->b;
    kni_ir_id taps = kni_conv_number(t, KNI_CONV_TAPS), channels = kni_conv_number(t, KNI_CONV_CHANNELS);
    kni_ir_id from = begin_dealt(t, c, channels);
    kni_ir_id pair = kni_conv_join(t, kni_conv_join(t, c->group, channels, from),
                                   kni_conv_number(t, KNI_CONV_OUTS), c->row);
    kni_ir_id tap = kni_ir_for(b, kni_ir_whole(b, t->index, 0), taps, kni_ir_whole(b, t->index, 1));
    look_at(t, t->a, kni_conv_join(t, pair, taps, tap), found);
    kni_ir_end(b);
    kni_ir_end(b);
}

/* Whether one of the weights that the channel's results are made with, or of its gradients, is not finite. */
static kni_ir_id is_suspect(kni_tiled *t, const channel *c)
{
    kni_ir_builder *b = t->b;
    kni_ir_id unused, found = kni_ir_variable(b, t->compute, 1, kni_ir_real(b, t->compute, 0));
    if (((const kni_conv *)t)->what == KNI_CONV_TRANSPOSED) {
        look_at_taps(t, c, found);
    } else {
        kni_ir_id at = begin_dealt(t, c, kni_conv_number(t, is_weight(t) ? KNI_CONV_N : KNI_CONV_K));
        look_at(t, is_weight(t) ? t->y : t->a,
                (is_weight(t) ? t->place_y : t->place_a)(t, c->row, at, c->group, &unused), found);
        kni_ir_end(b);
    }
    kni_ir_id one = kni_ir_real(b, KN_F32, 1), zero = kni_ir_real(b, KN_F32, 0);
    kni_ir_id odd = kni_ir_select(b, word(t, "isnan", kni_ir_get(b, found), 0), one, zero);
    return word(t, "gt", kni_ir_workgroup(b, KNI_IR_MAX, odd), zero);
}

/* What follows the sum, as the library does it. */
static kni_ir_id follow(kni_tiled *t, const kni_conv_signature *s, const channel *c, kni_ir_id column,
                        kni_ir_id place, kni_ir_id value)
{
    kni_ir_builder *b = t->b;
    if (s->adds) value = word(t, "add", value, kni_ir_load(b, ((kni_conv *)t)->added, place, t->compute, 1));
    if (s->has_bias) {
        kni_ir_id at = t->place_bias(t, c->row, column, c->group);
        value = word(t, "add", value, kni_ir_load(b, t->bias, at, t->compute, 1));
    }
    return s->relu ? word(t, "max", value, kni_ir_real(b, t->compute, 0)) : value;
}

/* Results of the channel that are NaN are summed again; all of them where relu may have hidden it. */
static void mend(kni_tiled *t, const kni_conv_signature *s, const channel *c)
{
    kni_ir_builder *b = t->b;
    kni_ir_id unused, column = begin_dealt(t, c, kni_conv_number(t, KNI_CONV_N));
    kni_ir_id place = t->place_y(t, c->row, column, c->group, &unused);
    kni_ir_id made = kni_ir_load(b, t->y, place, t->compute, 1);
    if (!s->relu) kni_ir_if(b, s->transformed ? is_odd(t, made) : word(t, "isnan", made, 0));
    kni_ir_id value = kni_tiled_sum_again(t, c->row, column, c->group);
    kni_ir_store(b, t->y, place, follow(t, s, c, column, place, value));
    if (!s->relu) kni_ir_end(b);
    kni_ir_end(b);
}

kni_ir *kni_conv_build_mending(const void *key, const kni_gpu_tail *tail, const kni_sched_target *target)
{
    const kni_conv_signature *s = key;
    kni_conv conv = {.what = s->what, .axes = s->axes};
    kni_tiled *t = &conv.tiled;
    kni_ir_builder b = kni_ir_begin("convolution_padding", KNI_CONV_MENDERS);
    if (!kni_conv_declare(&conv, s, &b, tail, target)) return NULL;
    channel c = {.local = kni_ir_builtin_value(&b, KNI_IR_LOCAL, 0, t->index)};
    kni_ir_id number = kni_ir_builtin_value(&b, KNI_IR_GROUP, 0, t->index);
    c.row = kni_conv_split(t, number, kni_conv_number(t, KNI_CONV_OUTS), &c.group);
    kni_ir_if(&b, is_suspect(t, &c));
    mend(t, s, &c);
    kni_ir_end(&b);
    return kni_tiled_finish(t);
}

/* ---- after a transform */

/* Row, column and group of the result at place `at` of the image that is made. */
static channel place_of(kni_tiled *t, bool last, kni_ir_id at, kni_ir_id *column)
{
    channel c = {0};
    kni_ir_id image, position, outs = kni_conv_number(t, KNI_CONV_OUTS),
                               groups = kni_conv_number(t, KNI_CONV_GROUPS),
                               positions = kni_conv_number(t, KNI_CONV_POSITIONS);
    if (!last) position = kni_conv_split(t, at, positions, &at);
    c.row = kni_conv_split(t, at, outs, &at);
    c.group = kni_conv_split(t, at, groups, &image);
    if (last)
        *column = image; /* and position, joined */
    else
        *column = kni_conv_join(t, image, positions, position);
    return c;
}

static void make_again(kni_tiled *t, const kni_conv_signature *s, kni_ir_id at)
{
    kni_ir_builder *b = t->b;
    kni_ir_id column, made = kni_ir_load(b, t->y, at, t->compute, 1);
    kni_ir_if(b, is_odd(t, made));
    channel c = place_of(t, s->y_last, at, &column);
    kni_ir_id value = kni_tiled_sum_again(t, c.row, column, c.group);
    kni_ir_store(b, t->y, at, follow(t, s, &c, column, at, value));
    if (s->finishes) {
        kni_ir_else(b);
        c = place_of(t, s->y_last, at, &column);
        kni_ir_store(b, t->y, at, follow(t, s, &c, column, at, made));
    }
    kni_ir_end(b);
}

/* What follows the sums of one channel from place `first` on, all of which are finite. */
static void finish(kni_tiled *t, const kni_conv_signature *s, kni_ir_id first, const kni_ir_id *sums)
{
    kni_ir_builder *b = t->b;
    kni_ir_id column, values[KNI_TILED_BLOCK];
    channel c = place_of(t, s->y_last, first, &column);
    for (int i = 0; i < s->lanes; i++)
        values[i] = follow(t, s, &c, column, word(t, "add", first, kni_ir_whole(b, t->index, i)), sums[i]);
    kni_ir_store(b, t->y, first, s->lanes > 1 ? kni_ir_pack(b, values, s->lanes) : values[0]);
}

kni_ir *kni_conv_build_elements(const void *key, const kni_gpu_tail *tail, const kni_sched_target *target)
{
    const kni_conv_signature *s = key;
    kni_conv conv = {.what = s->what, .axes = s->axes};
    kni_tiled *t = &conv.tiled;
    kni_ir_builder b = kni_ir_begin("convolution_transformed", KNI_CONV_MENDERS);
    if (!kni_conv_declare(&conv, s, &b, tail, target)) return NULL;
    if (b.status == KN_OK) b.ir->bindings[t->y].aligned = s->lanes;
    kni_ir_id lanes = kni_ir_whole(&b, t->index, s->lanes),
              menders = kni_ir_whole(&b, t->index, KNI_CONV_MENDERS);
    kni_ir_id number = kni_conv_join(t, kni_ir_builtin_value(&b, KNI_IR_GROUP, 0, t->index), menders,
                                     kni_ir_builtin_value(&b, KNI_IR_LOCAL, 0, t->index));
    kni_ir_id first = word(t, "mul", number, lanes), any = 0;
    kni_ir_id results =
        word(t, "mul", word(t, "mul", kni_conv_number(t, KNI_CONV_GROUPS), kni_conv_number(t, KNI_CONV_M)),
             kni_conv_number(t, KNI_CONV_N));
    kni_ir_if(&b, word(t, "lt", first, results));
    kni_ir_id values = kni_ir_load(&b, t->y, first, t->compute, s->lanes), sums[KNI_TILED_BLOCK];
    for (int i = 0; i < s->lanes; i++) {
        sums[i] = s->lanes > 1 ? kni_ir_lane(&b, values, i) : values;
        any = any ? kni_ir_or(&b, any, is_odd(t, sums[i])) : is_odd(t, sums[i]);
    }
    kni_ir_if(&b, any);
    kni_ir_id k = kni_ir_for(&b, kni_ir_whole(&b, t->index, 0), lanes, kni_ir_whole(&b, t->index, 1));
    make_again(t, s, word(t, "add", first, k));
    kni_ir_end(&b);
    if (s->finishes) {
        kni_ir_else(&b);
        finish(t, s, first, sums);
    }
    kni_ir_end(&b);
    kni_ir_end(&b);
    return kni_tiled_finish(t);
}
