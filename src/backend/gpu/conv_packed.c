/* Few channels for a library that wants them in whole vectors: images and weights with channels last and zeros behind their channels,
   and gradients of such weights brought back. */
#include "backend/gpu/gpu_conv.h"
#include "ir/builder.h"
#include <string.h>

enum { NUMBERS = 6, IMAGES = 0, CHANNELS, PLACES, IMAGE, CHANNEL, PLACE };

typedef struct pack_kind {
    char name[4];
    uint8_t bytes, channels, to;
    uint8_t back; /* from vectors to rows */
    uint8_t index;
    uint8_t padded[3];
} pack_kind;

typedef struct pack_params {
    int64_t items, offset_x, offset_y, numbers[NUMBERS];
} pack_params;

typedef struct packer {
    kni_ir_builder b;
    const pack_kind *k;
    uint32_t x, y, numbers;
} packer;

static kni_ir_id number(packer *p, int which)
{
    return kni_ir_cast(&p->b, kni_ir_element(&p->b, p->numbers, kni_ir_whole(&p->b, KN_I64, which)),
                       p->k->index);
}

static kni_ir_id whole(packer *p, int64_t value) { return kni_ir_whole(&p->b, p->k->index, value); }

static kni_ir_id join(packer *p, kni_ir_id high, kni_ir_id size, kni_ir_id low)
{
    return kni_ir_word(&p->b, "add", kni_ir_word(&p->b, "mul", high, size), low);
}

/* value = *high * size + the result; nothing is negative. */
static kni_ir_id split(packer *p, kni_ir_id value, kni_ir_id size, kni_ir_id *high)
{
    const int index = p->k->index, as = index == KN_I32 ? KN_U32 : KN_U64;
    kni_ir_id quotient =
        kni_ir_word(&p->b, "div", kni_ir_cast(&p->b, value, as), kni_ir_cast(&p->b, size, as));
    *high = kni_ir_cast(&p->b, quotient, index);
    return kni_ir_word(&p->b, "sub", value, kni_ir_word(&p->b, "mul", *high, size));
}

/* The vector at a place of an image. */
static void pack(packer *p, kni_ir_id item)
{
    kni_ir_builder *b = &p->b;
    kni_ir_id image, values[KNI_PACK_MOST], place = split(p, item, number(p, PLACES), &image);
    kni_ir_id at = join(p, image, number(p, IMAGE), kni_ir_word(b, "mul", place, number(p, PLACE)));
    for (int i = 0; i < p->k->to; i++) {
        values[i] = kni_ir_whole(b, KN_I64, 0);
        if (i < p->k->channels)
            values[i] = kni_ir_load(b, p->x, join(p, whole(p, i), number(p, CHANNEL), at), KN_I64, 1);
    }
    kni_ir_store(b, p->y, kni_ir_word(b, "mul", item, whole(p, p->k->to)), kni_ir_pack(b, values, p->k->to));
}

/* The element of a row, from its vector. */
static void unpack(packer *p, kni_ir_id item)
{
    kni_ir_builder *b = &p->b;
    kni_ir_id image, rest, place = split(p, item, number(p, PLACES), &rest);
    kni_ir_id channel = split(p, rest, number(p, CHANNELS), &image);
    kni_ir_id at = join(p, join(p, image, number(p, PLACES), place), whole(p, p->k->to), channel);
    kni_ir_store(b, p->y, item, kni_ir_load(b, p->x, at, KN_I64, 1));
}

static kni_ir *build(const pack_kind *k)
{
    packer p = {.b = kni_ir_begin(k->back ? "unpack_channels" : "pack_channels", 0), .k = k};
    const int dtype = k->bytes == 2 ? KN_U16 : KN_U32;
    p.x = kni_ir_buffer(&p.b, "x", dtype, KNI_IR_READ);
    p.y = kni_ir_buffer(&p.b, "y", dtype, KNI_IR_WRITE);
    if (p.b.status == KN_OK && !k->back) p.b.ir->bindings[p.y].aligned = k->to;
    kni_ir_add_item_params(&p.b);
    p.numbers = kni_ir_param_add(&p.b, "numbers", KN_I64, NUMBERS);
    (k->back ? unpack : pack)(&p, kni_ir_builtin_value(&p.b, KNI_IR_ITEM, 0, k->index));
    return kni_ir_finish(&p.b);
}

static kn_status launch(kni_gpu *g, const kni_conv_packed *p, bool back, kni_gpu_block *from, int64_t begin,
                        kni_gpu_block *to, int64_t end)
{
    const int64_t all = p->images * p->places * p->to;
    pack_kind kind = {{'p', 'a', 'c', 'k'},
                      (uint8_t)p->bytes,
                      (uint8_t)p->channels,
                      (uint8_t)p->to,
                      back,
                      all < INT64_C(1) << 29 ? KN_I32 : KN_I64,
                      {0}};
    const int64_t plane = p->last ? 1 : p->places;
    pack_params params = {
        p->images * p->places * (back ? p->channels : 1),
        begin,
        end,
        {p->images, p->channels, p->places, p->channels * p->places, plane, p->last ? p->channels : 1}};
    kni_gpu_block *blocks[] = {from, to};
    kni_gpu_kernel *k = kni_gpu_find(g, &kind, sizeof kind);
    if (!k) k = kni_gpu_add(g, &kind, sizeof kind, build(&kind));
    if (!k) return kni_latest_code();
    const kni_launch_shape shape = kni_gpu_item_shape(g, k, params.items);
    return kni_gpu_launch(g, k, &shape, blocks, 2, -1, &params);
}

kn_status kni_gpu_conv_pack(kni_gpu *g, const kni_conv_packed *p, const kni_conv_operand *from,
                            kni_gpu_block **to)
{
    *to = kni_gpu_take(g, (size_t)(p->images * p->places * p->to) * (size_t)p->bytes);
    if (!*to) return kni_latest_code();
    return from ? launch(g, p, false, from->block, from->offset, *to, 0) : KN_OK;
}

kn_status kni_gpu_conv_unpack(kni_gpu *g, const kni_conv_packed *p, kni_gpu_block *from,
                              const kni_conv_operand *to)
{
    return launch(g, p, true, from, 0, to->block, to->offset);
}
