/* What a tier exports for products of bytes. A panel of A has tile_rows rows and a strip of B tile_columns columns, both packed in
   steps of four along k: signed bytes of A beside unsigned ones of B where the processor multiplies these (`width` 1), else 16-bit
   numbers in pairs. Internal to gemm_i8.c and tier/gemm_bytes.c. */
#ifndef KNI_BACKEND_CPU_GEMM_I8_KERNELS_H
#define KNI_BACKEND_CPU_GEMM_I8_KERNELS_H

#include "backend/cpu/tier.h"
#include <stdbool.h>
#include <stdint.h>

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
    /* sums[i][j] -= column_zeros[j] row_sums[i] + row_zeros[i] column_terms[j] */
    void (*finish)(int32_t *sums, int rows, const int32_t *row_sums, const int32_t *row_zeros,
                   const int32_t *column_terms, const int32_t *column_zeros);
    /* sums[j] = start + sum over k < taps of w[k] x[offsets[k] + j], for all tile_columns, of a lone row that is not worth packing; flip
       makes x unsigned. */
    void (*taps)(int32_t *sums, const uint8_t *x, const int64_t *offsets, const int32_t *w, int64_t taps,
                 uint8_t flip, int32_t start);
    /* to[j] = round((sums[j] + bias[j step]) scale[j step]) + zero within low .. high, for all tile_columns. bounds: zero, low, high */
    void (*scale)(uint8_t *to, const int32_t *sums, const int32_t *bias, const float *scale, int step,
                  const int32_t bounds[3]);
    /* to[j] = (sums[j] + bias[j step]) scale[j step] + shift[j step] */
    void (*to_reals)(float *to, const int32_t *sums, const int32_t *bias, const float *scale,
                     const float *shift, int step);
    /* What follows is NULL where the processor has no sums of four products.
       Packs `quads` steps of 2 * tile_columns columns of B as two strips; rows begin at b + offsets[k] or, without these, b + k row. */
    void (*pack_two)(void *first, void *second, const uint8_t *b, const int64_t *offsets, int64_t row,
                     int64_t quads, uint8_t flip);
    /* Packs a strip of B whose columns lie in order, `col` apart. */
    void (*pack_turned)(void *strip, const uint8_t *b, int64_t col, int64_t quads, uint8_t flip);
    /* sums[2][rows][tile_columns] of up to KNI_GEMM_I8_FEW rows of a panel with 2 * tile_columns columns of B as they lie, and the
       sums of these columns. */
    void (*few)(const void *panel, const uint8_t *b, int64_t row, int64_t quads, int rows, uint8_t flip,
                int32_t *sums, int32_t *column_sums);
    /* The product of a row of k signed bytes in order with columns of B in order, and the sums of these columns. */
    void (*dot)(const uint8_t *a, const uint8_t *b, int64_t col, int64_t columns, int64_t k, uint8_t flip,
                int32_t *sums, int32_t *column_sums);
} kni_gemm_i8_kernels;

enum { KNI_GEMM_I8_MAX_ROWS = 16, KNI_GEMM_I8_MAX_COLUMNS = 32, KNI_GEMM_I8_FEW = 4 };

KNI_TIER_DECLARE(extern const kni_gemm_i8_kernels, kni_gemm_i8, );
/* With the instructions that kni_cpu_has_dot_products asks for. */
extern const kni_gemm_i8_kernels kni_gemm_i8_dot_v3, kni_gemm_i8_dot_v4;
/* Those of a tier, with these instructions or without; NULL where there are none. */
const kni_gemm_i8_kernels *kni_gemm_i8_kernels_of(kni_tier tier, bool dot);

#endif
