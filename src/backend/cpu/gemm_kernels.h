/* What a tier exports to the GEMM driver: block sizes, packing, and the multiplication of one block. Internal
   to gemm*.c and tier/gemm_*.c. */
#ifndef KNI_BACKEND_CPU_GEMM_KERNELS_H
#define KNI_BACKEND_CPU_GEMM_KERNELS_H

#include "backend/cpu/gemm.h"
#include "backend/cpu/tier.h"

/* The depth of a block: every element of C is summed sequentially over at most this many products, then the
   sums are added in order. Part of the result's definition, so the same for all tiers, types and threads. */
enum { KNI_GEMM_DEPTH = 256 };

/* A strided matrix in memory, of the operand's own type. */
typedef struct {
    const void *data;
    int64_t row, col; /* strides in elements */
    kni_gemm_type type;
} kni_gemm_view;

/* C[m, n] = alpha A[m, k] B[k, n] + beta C with k <= KNI_GEMM_DEPTH; C has the compute type. */
typedef struct {
    int64_t m, n, k;
    kni_gemm_view a, b;   /* read in place unless packed */
    const void *a_packed; /* by pack_a of exactly these m rows, or NULL: then a has the compute type */
    const void *b_packed; /* by pack_b, beginning with these columns, or NULL */
    void *c;
    int64_t c_row, c_col;
    double alpha, beta;
    bool separate; /* multiply, then add: bit-equal with the scalar tier */
    void *strip;   /* room for k * tile_columns elements, used where b is not packed */
} kni_gemm_block;

/* A block of C in the compute type between the sums and the memory of the caller. */
typedef struct {
    void *tile; /* compute type */
    int64_t tile_row, tile_col;
    void *c; /* the type of C */
    int64_t c_row, c_col;
    kni_gemm_type type;
    int64_t rows, cols;
} kni_gemm_copy;

typedef struct {
    int tile_rows, tile_columns;   /* of the register block */
    int block_rows, block_columns; /* of a task; block_columns is a multiple of tile_columns */
    int size;                      /* of an element of the compute type in bytes */
    void (*pack_a)(void *dst, const kni_gemm_view *a, int64_t rows, int64_t depth);
    void (*pack_b)(void *dst, const kni_gemm_view *b, int64_t depth, int64_t cols);
    void (*block)(const kni_gemm_block *block);
    void (*row)(const kni_gemm_block *block); /* the same for m = 1 and nothing packed */
    void (*scale)(void *c, int64_t c_row, int64_t c_col, int64_t rows, int64_t cols, double beta);
    void (*read_c)(const kni_gemm_copy *copy);
    void (*write_c)(const kni_gemm_copy *copy);
    /* Adds bias[i * row_step + j * col_step] to element (i, j), where its data is not NULL, and finishes the sum. */
    void (*add_bias)(const kni_gemm_copy *tile, const kni_gemm_view *bias, const kni_finish *finish);
} kni_gemm_kernels;

KNI_TIER_DECLARE(extern const kni_gemm_kernels, kni_gemm_f32, );
KNI_TIER_DECLARE(extern const kni_gemm_kernels, kni_gemm_f64, );

/* Elements of a packed A block of `rows` rows and of a packed B block of `cols` columns. */
static inline int64_t kni_gemm_panels(const kni_gemm_kernels *kernels, int64_t rows)
{
    return (rows + kernels->tile_rows - 1) / kernels->tile_rows;
}

static inline int64_t kni_gemm_packed_a(const kni_gemm_kernels *kernels, int64_t rows, int64_t depth)
{
    return kni_gemm_panels(kernels, rows) * kernels->tile_rows * depth;
}

static inline int64_t kni_gemm_padded_columns(const kni_gemm_kernels *kernels, int64_t cols)
{
    return (cols + kernels->tile_columns - 1) / kernels->tile_columns * kernels->tile_columns;
}

#endif
