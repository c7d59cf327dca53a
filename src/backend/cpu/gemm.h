/* Matrix multiplication on the CPU: C = alpha A B + beta C with arbitrary strides, for f32 and f64, and with
   f16 and bf16 operands computed in f32. The result is defined up to the last bit: every element of C is
   summed over k in order, in blocks of a fixed depth, whatever the tier, the threads or the partition.
   The only difference is that tiers with a fused multiply-add use it unless `reproducible` is set. */
#ifndef KNI_BACKEND_CPU_GEMM_H
#define KNI_BACKEND_CPU_GEMM_H

#include "backend/cpu/finish_kind.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum { KNI_GEMM_F32, KNI_GEMM_F64, KNI_GEMM_F16, KNI_GEMM_BF16 } kni_gemm_type;
typedef enum { KNI_GEMM_NO_BIAS, KNI_GEMM_BIAS_PER_COLUMN, KNI_GEMM_BIAS_PER_ROW } kni_gemm_bias;

/* A whole B in the order the kernels read it, for one tier; made by kni_gemm_pack_b. */
typedef struct {
    void *data;
    size_t bytes;
    int64_t k, n;
    kni_gemm_type type; /* the compute type: f32 or f64 */
    int strip;          /* columns of a strip: tells layouts of different tiers apart */
} kni_gemm_packed;

/* Strides are in elements and may be anything for a and b (0 repeats); c must not overlap itself, a or b.
   Types: all f64, or any mix of f32, f16 and bf16. */
typedef struct {
    int64_t m, n, k;
    const void *a, *b;
    void *c;
    kni_gemm_type type_a, type_b, type_c;
    int64_t a_row, a_col; /* a[i, k] = a[i * a_row + k * a_col] */
    int64_t b_row, b_col; /* b[k, j] */
    int64_t c_row, c_col; /* c[i, j] */
    int64_t batch;        /* 0 means 1 */
    int64_t a_batch, b_batch, c_batch;
    double alpha;     /* 0: a and b are not read */
    double beta;      /* 0: c is not read */
    const void *bias; /* of the type of c, added after alpha and beta */
    kni_gemm_bias bias_kind;
    int64_t bias_stride;
    kni_finish finish; /* after the bias; only where C is f32 */
    /* Called for each finished block of C, after the bias, from any thread. The block is in the compute type
       with contiguous rows; `row` goes on counting through the batch (batch * m + i). */
    void (*epilogue)(void *ctx, void *c_tile, int64_t row, int64_t col, int64_t rows, int64_t cols,
                     int64_t row_stride);
    void *epilogue_ctx;
    const kni_gemm_packed *b_packed; /* used in place of b, for all of the batch */
    bool reproducible;               /* no fused multiply-add: bit-equal on all machines */
} kni_gemm_args;

/* False when there is no memory for the packed operands, when the types do not go together or when b_packed
   does not fit; C may then be partly written. */
bool kni_gemm(const kni_gemm_args *args);

/* Whether this build has products of the type; f64 is left out on microcontrollers. */
bool kni_gemm_has(kni_gemm_type type);

/* Packs b [k, n] for the tier in use into memory from kni_allocate. False without memory. */
bool kni_gemm_pack_b(kni_gemm_packed *packed, const void *b, kni_gemm_type type, int64_t k, int64_t n,
                     int64_t b_row, int64_t b_col);
/* Packs new values of the same shape into the same memory. False when the tier has changed since. */
bool kni_gemm_repack_b(const kni_gemm_packed *packed, const void *b, kni_gemm_type type, int64_t b_row,
                       int64_t b_col);
/* Whether `packed` fits the tier in use. */
bool kni_gemm_packed_fits(const kni_gemm_packed *packed);
void kni_gemm_packed_free(kni_gemm_packed *packed);

/* C = A B in integers that wrap around, added to C where `accumulate`. */
typedef struct {
    int64_t m, n, k;
    const void *a, *b;
    void *c;
    int64_t a_row, a_col, b_row, b_col, c_row, c_col;
    bool accumulate;
} kni_gemm_int_args;

void kni_gemm_i32(const kni_gemm_int_args *args);
void kni_gemm_i64(const kni_gemm_int_args *args);

#endif
