/* What a tier exports for products of bytes. A panel of A has tile_rows rows and a strip of B tile_columns columns, both packed in
   steps of four along k: signed bytes of A beside unsigned ones of B where the processor multiplies these (`width` 1), else 16-bit
   numbers in pairs. Internal to gemm_i8.c and tier/gemm_bytes.c. */
#ifndef KNI_BACKEND_CPU_GEMM_I8_KERNELS_H
#define KNI_BACKEND_CPU_GEMM_I8_KERNELS_H

#include "backend/cpu/tier.h"
#include <stdbool.h>
#include <stdint.h>

enum { KNI_GEMM_I8_MAX_ROWS = 16, KNI_GEMM_I8_MAX_COLUMNS = 32, KNI_GEMM_I8_FEW = 4 };

/* Columns of a strip that follow each other in C. */
typedef struct kni_gemm_i8_segment {
    int at, count;
    int64_t to;
} kni_gemm_i8_segment;

typedef enum { KNI_GEMM_I8_SUMS, KNI_GEMM_I8_BYTES, KNI_GEMM_I8_REALS } kni_gemm_i8_result;

/* What becomes of the sums of rows of a strip. All that belongs to columns has tile_columns elements. */
typedef struct kni_gemm_i8_end {
    kni_gemm_i8_result result;
    char *to;     /* the first row of the result */
    int64_t step; /* elements from row to row */
    const kni_gemm_i8_segment *segments;
    int n_segments;
    /* sums[i][j] -= column_zeros[j] row_sums[i] + row_zeros[i] column_terms[j]; row_sums and row_zeros may be NULL: no such zeros */
    const int32_t *row_sums, *row_zeros, *column_zeros, *column_terms;
    bool one_zero; /* column_zeros are all the same */
    /* Of the first row and those behind it, or of the columns. The result is sums + bias, (sums + bias) scale + shift, or
       round((sums + bias) scale) + zero within low .. high. */
    bool of_rows;
    const int32_t *bias;
    const float *scale, *shift;
    int32_t zero, low, high;
} kni_gemm_i8_end;

typedef struct kni_gemm_i8_kernels {
    int tile_rows, tile_columns, width;
    /* Packs rows of A, k elements each, into one panel; `flip` is what makes bytes signed (0x80) or leaves them (0). sums: of each
       row. */
    void (*pack_a)(void *to, const uint8_t *a, int64_t row, int64_t col, int64_t rows, int64_t k,
                   uint8_t flip, int32_t *sums);
    /* Packs four rows of tile_columns elements of B; `flip` makes them unsigned. */
    void (*interleave)(void *to, const uint8_t *const rows[4], uint8_t flip);
    /* The same where each column is in order: four elements from each. */
    void (*gather)(void *to, const uint8_t *b, int64_t col, uint8_t flip);
    void (*column_sums)(const void *strip, int64_t quads, int32_t *sums);
    /* sums[tile_rows][tile_columns] of the first `rows` rows of a panel. */
    void (*tile)(const void *panel, const void *strip, int64_t quads, int rows, int32_t *sums);
    /* Takes zero points out of rows of sums [tile_columns], brings them to what the result has and writes them. */
    void (*end)(const kni_gemm_i8_end *e, const int32_t *sums, int rows);
    /* sums[j] = start + sum over k < taps of w[k] x[offsets[k] + j], for all tile_columns, of a lone row that is not worth packing; flip
       makes x unsigned. */
    void (*taps)(int32_t *sums, const uint8_t *x, const int64_t *offsets, const int32_t *w, int64_t taps,
                 uint8_t flip, int32_t start);
    /* What follows is NULL where the processor has no sums of four products.
       Packs k rows of up to 2 * tile_columns columns of B as two strips; rows begin at b + offsets[k] or, without these, b + k row. */
    void (*pack_two)(void *first, void *second, const uint8_t *b, const int64_t *offsets, int64_t row,
                     int64_t k, int64_t columns, uint8_t flip);
    /* Packs a strip of B whose columns lie in order, `col` apart. */
    void (*pack_turned)(void *strip, const uint8_t *b, int64_t col, int64_t quads, uint8_t flip);
    /* sums[2][rows][tile_columns] of up to KNI_GEMM_I8_FEW rows of a panel with 2 * tile_columns columns of B as they lie, and the
       sums of these columns; rows of B begin as in pack_two. */
    void (*few)(const void *panel, const uint8_t *b, const int64_t *offsets, int64_t row, int64_t k, int rows,
                uint8_t flip, int32_t *sums, int32_t *column_sums);
    /* The product of a row of k signed bytes in order with columns of B in order, and the sums of these columns. */
    void (*dot)(const uint8_t *a, const uint8_t *b, int64_t col, int64_t columns, int64_t k, uint8_t flip,
                int32_t *sums, int32_t *column_sums);
} kni_gemm_i8_kernels;

KNI_TIER_DECLARE(extern const kni_gemm_i8_kernels, kni_gemm_i8, );
/* With the instructions that kni_cpu_has_dot_products asks for. */
extern const kni_gemm_i8_kernels kni_gemm_i8_dot_v3, kni_gemm_i8_dot_v4;
/* Those of a tier, with these instructions or without; NULL where there are none. */
const kni_gemm_i8_kernels *kni_gemm_i8_kernels_of(kni_tier tier, bool dot);

#endif
