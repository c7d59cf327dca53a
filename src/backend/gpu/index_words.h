/* What kernels that walk elements by numbers of the launch say often: whole numbers of one dtype, and the places they make. */
#ifndef KNI_INDEX_WORDS_H
#define KNI_INDEX_WORDS_H

#include "ir/builder.h"

typedef struct kni_indexer {
    kni_ir_builder *b;
    int index; /* KN_I32 or KN_I64 */
} kni_indexer;

static inline kni_ir_id kni_index_word(const kni_indexer *c, const char *name, kni_ir_id x, kni_ir_id y)
{
    return kni_ir_word(c->b, name, x, y);
}
static inline kni_ir_id kni_index_whole(const kni_indexer *c, int64_t value)
{
    return kni_ir_whole(c->b, c->index, value);
}
/* Element `at` of an array param. */
static inline kni_ir_id kni_index_number(const kni_indexer *c, uint32_t param, int at)
{
    return kni_ir_cast(c->b, kni_ir_element(c->b, param, kni_ir_whole(c->b, KN_I64, at)), c->index);
}
/* sum + x y */
static inline kni_ir_id kni_index_add_product(const kni_indexer *c, kni_ir_id sum, kni_ir_id x, kni_ir_id y)
{
    return kni_index_word(c, "add", sum, kni_index_word(c, "mul", x, y));
}
/* The remainder of *value, which becomes the quotient. Nothing is negative, and dividing what has no sign is cheaper. */
static inline kni_ir_id kni_index_split(const kni_indexer *c, kni_ir_id *value, kni_ir_id size)
{
    const int as = c->index == KN_I32 ? KN_U32 : KN_U64;
    kni_ir_id over = kni_index_word(c, "div", kni_ir_cast(c->b, *value, as), kni_ir_cast(c->b, size, as));
    over = kni_ir_cast(c->b, over, c->index);
    kni_ir_id rest = kni_index_word(c, "sub", *value, kni_index_word(c, "mul", over, size));
    *value = over;
    return rest;
}

#endif
