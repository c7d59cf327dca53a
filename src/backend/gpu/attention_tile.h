/* Tiles of attention: what a workgroup reads into shared memory, multiplies and adds up. Internal to attention_*.c of this
   folder. */
#ifndef KNI_ATTENTION_TILE_H
#define KNI_ATTENTION_TILE_H

#include "backend/gpu/attention_kernel.h"

enum {
    KNI_ATTEND_B = KNI_ATTEND_BLOCK,
    KNI_ATTEND_ROWS = KNI_ATTEND_TALL,                /* at most */
    KNI_ATTEND_CELLS = KNI_ATTEND_ROWS * KNI_ATTEND_B /* of a tile in one invocation, at most */
};

/* Vectors of an operand: vector n begins at base + n step and has `size` elements; there are `rows` of them. */
typedef struct kni_attend_rows {
    uint32_t binding;
    kni_ir_id base, step, rows, size;
} kni_attend_rows;

typedef struct kni_attend {
    kni_ir_builder *b;
    const kni_attend_signature *s;
    const kni_sched_target *target;
    int index;                                          /* dtype of positions */
    uint32_t q, k, v, dy, y, mask, bias, rows, made[3]; /* bindings */
    uint32_t wholes[KNI_ATTEND_WHOLES], reals[KNI_ATTEND_REALS];
    uint32_t stage, held; /* shared: a tile of an operand, or two of half as many terms; a tile of weights */
    kni_ir_id local, down, across; /* this invocation: its number, its block in a tile */
    kni_ir_id batch, head, key_head;
    kni_attend_rows of_q, of_k, of_v, of_dy;
} kni_attend;

/* ---- values */
kni_ir_id kni_attend_whole(kni_attend *a, int64_t value);
kni_ir_id kni_attend_real(kni_attend *a, double value);
/* A number of the launch. */
kni_ir_id kni_attend_number(kni_attend *a, int which);
kni_ir_id kni_attend_factor(kni_attend *a, int which);
kni_ir_id kni_attend_word(kni_attend *a, const char *name, kni_ir_id x, kni_ir_id y);
/* x y + z of positions. */
kni_ir_id kni_attend_join(kni_attend *a, kni_ir_id x, kni_ir_id y, kni_ir_id z);
/* e^x for x of at most 0. */
kni_ir_id kni_attend_power(kni_attend *a, kni_ir_id x);
/* Which block of a tile this invocation makes: down and across. */
void kni_attend_find_block(kni_attend *a);
/* The number of row, or column, i of this invocation's block, from the tile's first one on. */
kni_ir_id kni_attend_row(kni_attend *a, kni_ir_id first, int i);
kni_ir_id kni_attend_column(kni_attend *a, kni_ir_id first, int i);

/* ---- tiles */
/* Variables, 0 so far. */
void kni_attend_clear(kni_attend *a, kni_ir_id *variables, int n);
/* cells += x y' over the vectors from first_x and first_y on: all of the tile. Ends behind a barrier. */
void kni_attend_multiply(kni_attend *a, const kni_attend_rows *x, kni_ir_id first_x, const kni_attend_rows *y,
                         kni_ir_id first_y, const kni_ir_id *cells);
/* Keeps a tile of values in shared memory, by column. */
void kni_attend_hold(kni_attend *a, const kni_ir_id *values);
/* chunks of cells += what is held times the vectors of x from `first` on, for the rows of the tile from first_row on, which there are
   `rows` of. Begins and ends with a barrier. */
void kni_attend_gather(kni_attend *a, const kni_attend_rows *x, kni_ir_id first, kni_ir_id first_row,
                       kni_ir_id rows, const kni_ir_id *cells, int chunks);
/* Over all columns of the tile: the largest, passing over NaN, or the sum of four values, one for each row of the block. Ends
   behind a barrier where `again`, which something must that uses the stage. */
void kni_attend_over_columns(kni_attend *a, bool largest, kni_ir_id *values, bool again);
/* Stores a value for each cell of chunks: cell (i, j) of chunk c is element c side + j of vector first + i. */
void kni_attend_store(kni_attend *a, const kni_attend_rows *to, kni_ir_id first, const kni_ir_id *values,
                      int chunk);

#endif
