/* A tiled matrix product in the kernel language: what its shape depends on, and the holes that its users fill. */
#ifndef KNI_PRODUCT_KERNEL_H
#define KNI_PRODUCT_KERNEL_H

#include "backend/gpu/product.h"
#include "sched/sched_tail.h"

/* The part of a tile that one invocation makes, and what is fetched at once where memory allows it. */
enum { KNI_TILED_BLOCK = 4 };

typedef struct kni_tiled kni_tiled;

/* Where the element of an operand lies: row and column in the operand's own matrix, `batch` the number of the matrix.
   Answers its position; *inside becomes the truth that it is there (0: always). */
typedef kni_ir_id (*kni_tiled_place)(kni_tiled *t, kni_ir_id row, kni_ir_id column, kni_ir_id batch,
                                     kni_ir_id *inside);

/* How the work is cut. A workgroup makes rows x columns elements, each a power of 2 of at least 16; its `slices` have
   `depth` terms each of every step, a multiple of 4, and are added at the end. */
typedef struct kni_tiled_shape {
    uint8_t rows, columns, depth, slices;
} kni_tiled_shape;

struct kni_tiled {
    kni_ir_builder *b;
    int compute; /* dtype of the sums */
    int index;   /* dtype of positions: KN_I32 where everything is below 2^31 */
    kni_tiled_shape shape;
    bool a_along_rows;   /* neighbours of a in memory are in one column: load so */
    bool b_along_rows;   /* the same of b */
    bool a_wide, b_wide; /* KNI_TILED_BLOCK neighbours at a time: positions and sizes are multiples of it */
    bool leaves_out;     /* elements of b may be missing: a NaN beside them must not reach the sum */
    uint32_t a, b_, y, bias;   /* bindings */
    uint32_t m, n, k, batches; /* params */
    kni_tiled_place place_a, place_b, place_y;
    kni_ir_id (*place_bias)(kni_tiled *t, kni_ir_id row, kni_ir_id column, kni_ir_id batch); /* NULL: none */
    const uint32_t *numbers; /* params of the places, their own matter */
    kni_tail *tail; /* NULL: the product is stored; else what is stored follows from it, and y is unused */
    int dtype;      /* of the result, to which it is rounded before a tail */
};

/* Invocations of a workgroup. */
static inline uint32_t kni_tiled_workgroup(const kni_tiled_shape *s)
{
    return (uint32_t)(s->rows / KNI_TILED_BLOCK) * (s->columns / KNI_TILED_BLOCK) * s->slices;
}
/* Tiles of a result. */
static inline int64_t kni_tiled_tiles(const kni_tiled_shape *s, int64_t m, int64_t n)
{
    return (m + s->rows - 1) / s->rows * ((n + s->columns - 1) / s->columns);
}
/* A shape for a product on this device, with sums of dtype `compute`. */
kni_tiled_shape kni_tiled_choose(const kni_driver *d, int compute, int64_t m, int64_t n, int64_t k,
                                 int64_t batch);
/* The dtype in which products of a dtype are summed. */
int kni_tiled_compute(int dtype);
/* Declares where results go, after all other buffers, and the params of items: a buffer of `dtype`, or those of the tail.
   False after a failure and the builder done with. */
bool kni_tiled_results(kni_tiled *t, int dtype, const kni_gpu_tail *tail, const kni_sched_target *target);
/* Makes the body: group axis 0 is the tile (columns first), axis 1 goes through the batch. */
void kni_tiled_build(kni_tiled *t);
/* The sum of one result without the terms that are missing, term by term, ending early when it is NaN. */
kni_ir_id kni_tiled_sum_again(kni_tiled *t, kni_ir_id row, kni_ir_id column, kni_ir_id batch);
/* Stores a result at its place, or hands it to the tail, where `inside` holds. */
void kni_tiled_put(kni_tiled *t, kni_ir_id place, kni_ir_id value, kni_ir_id inside);
/* The same of up to KNI_TILED_BLOCK neighbours; the tail takes no more at once. */
void kni_tiled_put_vector(kni_tiled *t, kni_ir_id place, kni_ir_id vector, int lanes, kni_ir_id inside);
/* The kernel, simplified; NULL after a failure. */
kni_ir *kni_tiled_finish(kni_tiled *t);
/* A param as a position. */
kni_ir_id kni_tiled_number(kni_tiled *t, uint32_t param);

#endif
