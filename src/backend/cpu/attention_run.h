/* What attention and its gradient share on the CPU: operands, blocks of queries, and their weights. Internal to
   attention_*.c. */
#ifndef KNI_BACKEND_CPU_ATTENTION_RUN_H
#define KNI_BACKEND_CPU_ATTENTION_RUN_H

#include "backend/cpu/attention_table.h"
#include "backend/cpu/matmul_run.h"
#include "core/table.h"
#include "ops/attention.h"
#include <kn/backend.h>

/* A tensor [batch, heads, rows, size] (or what broadcasts to it) with its strides, 0 where it repeats. */
typedef struct {
    char *data; /* NULL when absent */
    int dtype, bytes;
    int64_t steps[4];
} kni_heads;

typedef struct {
    kni_heads q, k, v, mask, bias;
    kni_attention_sizes sizes;
    double softcap;
    bool reproducible;
    bool drops;
    uint64_t draw_key;
    int64_t threshold; /* draws below it are dropped */
    double kept;       /* others are multiplied by it */
    int compute;       /* dtype */
    kni_gemm_type type;
    const kni_attention_kernels *kernels;
    int64_t block, blocks; /* queries of a block, and how many blocks they make */
} kni_attention_job;

/* mask is the number of the operand that is the mask; the bias follows. */
void kni_attention_start(kni_attention_job *job, const kn_record *r, int mask);
kni_heads kni_attention_heads(kni_tensor *x);
static inline void *kni_attention_at(const kni_heads *x, int64_t b, int64_t h, int64_t row)
{
    return x->data + (b * x->steps[0] + h * x->steps[1] + row * x->steps[2]) * x->bytes;
}
static inline int64_t kni_attention_element(const kni_attention_job *job)
{
    return job->compute == KN_F64 ? 8 : 4;
}
/* How many keys the queries first .. first + rows - 1 see at most. */
int64_t kni_attention_seen(const kni_attention_job *job, int64_t first, int64_t rows);

/* A matrix of one head, or of scores in the compute type. */
typedef struct {
    void *data;
    kni_gemm_type type;
    int64_t row, col; /* strides */
} kni_attention_matrix;
static inline kni_attention_matrix kni_attention_matrix_of(const kni_heads *x, int64_t b, int64_t h,
                                                           int64_t row)
{
    return (kni_attention_matrix){kni_attention_at(x, b, h, row), kni_gemm_type_of(x->dtype), x->steps[2],
                                  x->steps[3]};
}
static inline kni_attention_matrix kni_attention_dense(void *data, kni_gemm_type type, int64_t cols)
{
    return (kni_attention_matrix){data, type, cols, 1};
}
static inline kni_attention_matrix kni_attention_turned(kni_attention_matrix x)
{
    return (kni_attention_matrix){x.data, x.type, x.col, x.row};
}
/* c [m, n] = alpha a [m, k] b [k, n] + beta c. False without memory. */
bool kni_attention_product(const kni_attention_job *job, int64_t m, int64_t n, int64_t k,
                           kni_attention_matrix a, kni_attention_matrix b, kni_attention_matrix c,
                           double alpha, double beta);

/* weights[rows][seen] = softmax of the scores of a block; where there is a softcap and slopes is not NULL it
   receives 1 - tanh^2. False without memory. */
bool kni_attention_weights(const kni_attention_job *job, int64_t b, int64_t h, int64_t first, int64_t rows,
                           int64_t seen, char *weights, char *slopes);

/* Drops of a block of values what is dropped of its weights, and multiplies the others; unless NULL, also of `weights`, into
   `dropped`. */
void kni_attention_drop(const kni_attention_job *job, int64_t b, int64_t h, int64_t first, int64_t rows,
                        int64_t seen, char *values, const char *weights, char *dropped);

#endif
