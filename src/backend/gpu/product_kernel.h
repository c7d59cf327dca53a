/* A tiled matrix product in the kernel language: what its shape depends on, and the holes that its users fill. */
#ifndef KNI_PRODUCT_KERNEL_H
#define KNI_PRODUCT_KERNEL_H

#include "ir/builder.h"

typedef struct kni_tiled kni_tiled;

/* Where the element of an operand lies: row and column in the operand's own matrix, `batch` the number of the matrix.
   Answers its position; *inside becomes the truth that it is there (0: always). */
typedef kni_ir_id (*kni_tiled_place)(kni_tiled *t, kni_ir_id row, kni_ir_id column, kni_ir_id batch,
                                     kni_ir_id *inside);

struct kni_tiled {
    kni_ir_builder *b;
    int compute;             /* dtype of the sums */
    int index;               /* dtype of positions: KN_I32 where everything is below 2^31 */
    uint32_t tile, depth;    /* a workgroup makes tile x tile elements, `depth` terms at a time */
    uint32_t block;          /* an invocation makes block x block of them */
    bool a_along_rows;       /* neighbours of a in memory are in one column: load so */
    bool b_along_rows;       /* the same of b */
    uint32_t a, b_, y, bias; /* bindings */
    bool has_bias;           /* of the columns */
    bool bias_of_rows;
    uint32_t m, n, k, batches; /* params */
    uint32_t alpha;            /* param of the compute type, 0: none */
    kni_tiled_place place_a, place_b, place_y;
    kni_ir_id (*place_bias)(kni_tiled *t, kni_ir_id row, kni_ir_id column, kni_ir_id batch);
    const uint32_t *numbers; /* params of the places, their own matter */
};

/* Invocations of a workgroup. */
static inline uint32_t kni_tiled_workgroup(const kni_tiled *t)
{
    return (t->tile / t->block) * (t->tile / t->block);
}
/* Makes the body: group axis 0 is the tile (columns first), axis 1 goes through the batch. */
void kni_tiled_build(kni_tiled *t);
/* A param as a position. */
kni_ir_id kni_tiled_number(kni_tiled *t, uint32_t param);

#endif
