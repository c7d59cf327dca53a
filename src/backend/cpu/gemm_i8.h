/* Products of matrices of bytes on the CPU, exact in i32 (which wraps):
   C[i, j] = sum over k of (A[i, k] - a_zero[i]) (B[k, j] - b_zero[j]). A is packed once, B strip by strip by whoever multiplies it. */
#ifndef KNI_BACKEND_CPU_GEMM_I8_H
#define KNI_BACKEND_CPU_GEMM_I8_H

#include "core/table.h"
#include <stdbool.h>
#include <stdint.h>

/* What becomes of the sums: round((sum + bias) scale) + zero between low and high, as bytes, or (sum + bias) scale + shift. */
typedef struct kni_gemm_i8_scaling {
    const float *scale, *shift; /* shift NULL: 0 */
    bool one_scale;             /* of all rows and columns */
    int32_t zero, low, high;
} kni_gemm_i8_scaling;

/* A side that was packed ahead of time: panels or strips, and the sums of their rows or columns. */
typedef struct kni_gemm_i8_form {
    const char *data; /* NULL: there is none */
    const int32_t *sums;
} kni_gemm_i8_form;

typedef struct kni_gemm_i8_grid {
    int64_t size[2], out[2];
} kni_gemm_i8_grid;

/* Strides are in elements. Product p of a batch takes matrix p % a_count of A. */
typedef struct kni_gemm_i8_args {
    int64_t m, n, k, batch, a_count;
    const uint8_t *a, *b;
    bool a_unsigned, b_unsigned;
    int64_t a_row, a_col, a_batch, b_row, b_col, b_batch;
    /* m numbers for each of the a_count matrices, and n for each of the batch; steps of 0: one for all. NULL: zeros. */
    const int32_t *a_zero, *b_zero;
    int64_t a_zero_step, b_zero_step, b_zero_batch;
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
    int64_t b_slack; /* how many bytes behind the last column may be read */
    kni_gemm_i8_form kept_a, kept_b;
} kni_gemm_i8_args;

/* Notes the packed form of a side whose memory is of x, where that is lasting: found, or made now. The other fields that say how the side
   lies and how it is used are set before. */
void kni_gemm_i8_keep_a(kni_gemm_i8_args *args, kni_tensor *x);
void kni_gemm_i8_keep_b(kni_gemm_i8_args *args, kni_tensor *x);

/* False without memory; C may then be partly written. */
bool kni_gemm_i8(const kni_gemm_i8_args *args);

#endif
