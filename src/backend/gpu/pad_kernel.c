/* Building the kernel of padding. */
#include "backend/gpu/pad_kernel.h"
#include "backend/gpu/index_words.h"
#include <kn/shape.h>

typedef struct padder {
    kni_indexer c;
    const kni_pad_kind *k;
    uint32_t x, y, dims, sizes, strides, before;
    kni_ir_id bits;
} padder;

static int raw_dtype(int bytes)
{
    return bytes == 1 ? KN_U8 : bytes == 2 ? KN_U16 : bytes == 4 ? KN_U32 : KN_U64;
}
static int compute_dtype(int bytes) { return bytes == 8 ? KN_U64 : bytes == 4 ? KN_U32 : KN_I32; }

static kni_ir_id both(padder *p, kni_ir_id a, kni_ir_id b) { return a ? kni_ir_and(p->c.b, a, b) : b; }

/* Where position t of a padded axis comes from; *valid: whether it does, of constant padding. */
static kni_ir_id source(padder *p, int axis, kni_ir_id t, kni_ir_id *valid)
{
    const kni_indexer *c = &p->c;
    kni_ir_id size = kni_index_number(c, p->sizes, axis), zero = kni_index_whole(c, 0);
    if (!(p->k->padded >> axis & 1)) return t;
    kni_ir_id at = kni_index_word(c, "sub", t, kni_index_number(c, p->before, axis));
    kni_ir_id low = kni_index_word(c, "lt", at, zero), high = kni_index_word(c, "ge", at, size), before,
              behind;
    kni_ir_id last = kni_index_word(c, "sub", size, kni_index_whole(c, 1));
    switch (p->k->mode) {
    case KN_PAD_REFLECT:
        before = kni_index_word(c, "sub", zero, at);
        behind = kni_index_word(c, "sub", kni_index_word(c, "add", last, last), at);
        break;
    case KN_PAD_EDGE:
        before = zero;
        behind = last;
        break;
    case KN_PAD_WRAP:
        before = kni_index_word(c, "add", at, size);
        behind = kni_index_word(c, "sub", at, size);
        break;
    default:
        *valid = both(p, *valid, kni_ir_not(c->b, kni_ir_or(c->b, low, high)));
        return at;
    }
    return kni_ir_select(c->b, low, before, kni_ir_select(c->b, high, behind, at));
}

static kni_ir_id load(padder *p, kni_ir_id at, int lanes, kni_ir_id valid)
{
    const int dtype = compute_dtype(p->k->bytes);
    if (!valid) return kni_ir_load(p->c.b, p->x, at, dtype, lanes);
    return kni_ir_load_where(p->c.b, p->x, at, dtype, lanes, valid, p->bits);
}

/* `lanes` elements from position t of the last axis on, in the line that begins at `line`. */
static kni_ir_id load_all(padder *p, kni_ir_id line, kni_ir_id t, kni_ir_id valid)
{
    const kni_indexer *c = &p->c;
    const int last = p->k->rank - 1;
    kni_ir_id values[16], stride = kni_index_number(c, p->strides, last);
    if (p->k->wide) {
        kni_ir_id at = source(p, last, t, &valid);
        return load(p, kni_index_word(c, "add", line, at), p->k->lanes, valid);
    }
    for (int i = 0; i < p->k->lanes; i++) {
        kni_ir_id here = valid;
        kni_ir_id at = source(p, last, kni_index_word(c, "add", t, kni_index_whole(c, i)), &here);
        values[i] = load(p, kni_index_add_product(c, line, at, stride), 1, here);
    }
    return kni_ir_pack(c->b, values, p->k->lanes);
}

kni_ir *kni_pad_build(const kni_pad_kind *k)
{
    kni_ir_builder b = kni_ir_begin("pad_lines", 0);
    padder p = {.c = {&b, KN_I32}, .k = k};
    const kni_indexer *c = &p.c;
    p.x = kni_ir_buffer(&b, "x", raw_dtype(k->bytes), KNI_IR_READ);
    p.y = kni_ir_buffer(&b, "y", raw_dtype(k->bytes), KNI_IR_WRITE);
    if (b.status == KN_OK) {
        b.ir->bindings[p.x].aligned = k->wide ? k->lanes : 1;
        b.ir->bindings[p.y].aligned = k->lanes;
    }
    kni_ir_add_item_params(&b);
    p.dims = kni_ir_param_add(&b, "dims", KN_I64, k->rank);
    p.sizes = kni_ir_param_add(&b, "sizes", KN_I64, k->rank);
    p.strides = kni_ir_param_add(&b, "strides", KN_I64, k->rank);
    p.before = kni_ir_param_add(&b, "before", KN_I64, k->rank);
    uint32_t bits = kni_ir_param_add(&b, "bits", KN_I64, 0);
    p.bits = kni_ir_cast(&b, kni_ir_param_value(&b, bits), compute_dtype(k->bytes));
    kni_ir_id item = kni_ir_builtin_value(&b, KNI_IR_ITEM, 0, KN_I32), left = item,
              line = kni_index_whole(c, 0);
    kni_ir_id t = 0, valid = 0;
    for (int a = k->rank - 1; a >= 0; a--) {
        kni_ir_id i = a ? kni_index_split(c, &left, kni_index_number(c, p.dims, a)) : left;
        if (a == k->rank - 1) {
            t = kni_index_word(c, "mul", i, kni_index_whole(c, k->lanes));
            continue;
        }
        kni_ir_id at = source(&p, a, i, &valid);
        line = kni_index_add_product(c, line, at, kni_index_number(c, p.strides, a));
    }
    kni_ir_store(&b, p.y, kni_index_word(c, "mul", item, kni_index_whole(c, k->lanes)),
                 load_all(&p, line, t, valid));
    return kni_ir_finish(&b);
}
