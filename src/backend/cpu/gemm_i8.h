/* Products of matrices of bytes on the CPU, exact in i32 (which wraps):
   C[i, j] = sum over k of (A[i, k] - a_zero[i]) (B[k, j] - b_zero[j]). A is packed once, B strip by strip by whoever multiplies it. */
#ifndef KNI_BACKEND_CPU_GEMM_I8_H
#define KNI_BACKEND_CPU_GEMM_I8_H

#include <stdbool.h>
#include <stdint.h>

/* What becomes of the sums: round((sum + bias) scale) + zero between low and high, as bytes, or (sum + bias) scale + shift. */
typedef struct kni_gemm_i8_scaling {
    const float *scale, *shift; /* shift NULL: 0 */
    int32_t zero, low, high;
} kni_gemm_i8_scaling;

typedef struct kni_gemm_i8_grid {
    int64_t size[2], out[2];
} kni_gemm_i8_grid;

/* Strides are in elements. Product p of a batch takes matrix p % a_count of A. */
typedef struct kni_gemm_i8_args {
    int64_t m, n, k, batch, a_count;
    const uint8_t *a, *b;
    bool a_unsigned, b_unsigned;
    int64_t a_row, a_col, a_batch, b_row, b_col, b_batch;
    /* m numbers for each of the a_count matrices, and n for each of the batch; b_zero_step 0: one for all columns. NULL: zeros. */
    const int32_t *a_zero, *b_zero;
    int64_t b_zero_step, b_zero_batch;
    /* Added to the sums; NULL: none. This and the scale are of rows (m numbers for each of the a_count matrices) or of columns (n). */
    const int32_t *bias;
    bool of_rows;
    int32_t *c;
    uint8_t *bytes;                     /* in place of c */
    float *reals;                       /* in place of both */
    const kni_gemm_i8_scaling *scaling; /* with bytes or reals */
    int64_t c_row, c_batch;             /* columns follow each other */
    /* Where row k of a matrix of B begins, in elements; its columns follow each other. NULL: by b_row and b_col. */
    const int64_t *b_offsets;
    /* Columns of B are places of a grid [.., size[0], size[1]]; C has those whose coordinates are below out alone, one behind
       the other. NULL: C has all columns. */
    const struct kni_gemm_i8_grid *grid;
    /* In place of b: writes columns first .. first + n - 1 of all k rows of matrix p to raw[k][width], as they are stored. */
    void (*fill_b)(const void *context, int64_t p, int64_t first, int64_t n, int64_t width, uint8_t *raw);
    const void *fill_context;
} kni_gemm_i8_args;

/* False without memory; C may then be partly written. */
bool kni_gemm_i8(const kni_gemm_i8_args *args);

#endif
