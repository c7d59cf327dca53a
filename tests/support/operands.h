/* Operands for trying any op by its name: small tensors of a few dtypes and shapes whose whole numbers are indices of an axis
   of 4, and attributes that fit many ops. */
#ifndef OPERANDS_H
#define OPERANDS_H

#include <kn.h>
#include <kn/op_info.h>
#include <string.h>

/* No gradient flows to the first operand of these rows: asking for it is an error. */
static inline bool operand_lacks_gradient(const char *row)
{
    return !strcmp(row, "igamma") || !strcmp(row, "igammac") || !strcmp(row, "zeta");
}

/* Kind k is of dtype k % 3 (f32, i64, bool) and has the shape [4], [4, 4] or [1, 1, 4, 4]. */
enum { OPERAND_KINDS = 9, OPERAND_ATTRIBUTES = 40 };

static inline kn_shape operand_shape(int kind)
{
    return kind < 3 ? KN_SHAPE(4) : kind < 6 ? KN_SHAPE(4, 4) : KN_SHAPE(1, 1, 4, 4);
}

/* Its elements from place `from` on of a sequence that is the same for all. */
static inline kn_tensor operand_of_kind(int kind, int from)
{
    float real[16];
    int64_t whole[16];
    unsigned char truth[16];
    for (int i = 0; i < 16; i++) {
        int at = i + from;
        real[i] = 0.25f + (float)(at * 7 % 11) / 8;
        whole[i] = (at * 3 + 1 + at / 4) % 4;
        truth[i] = at % 3 == 1;
    }
    const void *data[] = {real, whole, truth};
    static const kn_dtype dtypes[] = {KN_F32, KN_I64, KN_BOOL};
    return kn_from(data[kind % 3], dtypes[kind % 3], operand_shape(kind));
}

/* Fills in the op's attributes, at most OPERAND_ATTRIBUTES - 1: whole numbers are `whole`, lists have that many zeros. */
static inline void operand_attributes(const kn_op_info *op, int whole, kn_attribute_value *list)
{
    for (int i = 0; i < op->n_attributes; i++) {
        kn_attribute_info a;
        kn_op_attribute(op->number, i, &a);
        list[i] = (kn_attribute_value){.name = a.name, .integer = whole, .real = 0.25 * (whole + 1)};
        if (a.type == KN_ATTRIBUTE_LIST) list[i].list = (kn_ints){whole, {0}};
    }
    list[op->n_attributes].name = NULL;
}

#endif
