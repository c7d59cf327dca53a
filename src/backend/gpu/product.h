/* Matrix products for the entries of src/backend/gpu that are made of them. */
#ifndef KNI_GPU_PRODUCT_H
#define KNI_GPU_PRODUCT_H

#include "backend/gpu/gpu.h"

/* A matrix in device memory by strides in elements; step: from matrix to matrix of the batch, 0 repeats it. */
typedef struct kni_gpu_matrix {
    kni_gpu_block *block;
    int64_t offset, row, column, step;
} kni_gpu_matrix;

/* y = a b + bias for each of `batch`; a m x k, b k x n. Columns of y are contiguous; the bias (block NULL: none) has an
   element for each column. */
typedef struct kni_gpu_product {
    int dtype;
    int64_t m, n, k, batch;
    kni_gpu_matrix a, b, y, bias;
} kni_gpu_product;

kn_status kni_gpu_multiply(kni_gpu *g, const kni_gpu_product *p);

/* The records made of them. KN_ERROR_UNSUPPORTED without a text: not this one. */
kn_status kni_gpu_run_matmul(kni_gpu *g, const kn_record *r);
kn_status kni_gpu_run_linear(kni_gpu *g, const kn_record *r);
kn_status kni_gpu_run_attention(kni_gpu *g, const kn_record *r);
kn_status kni_gpu_run_attention_grad(kni_gpu *g, const kn_record *r);
kn_status kni_gpu_run_conv(kni_gpu *g, const kn_record *r);
kn_status kni_gpu_run_conv_transpose(kni_gpu *g, const kn_record *r);
kn_status kni_gpu_run_conv_weight_grad(kni_gpu *g, const kn_record *r);
/* A part of a tensor replaced, and tensors joined (gpu_slice.c). */
kn_status kni_gpu_run_update_slice(kni_gpu *g, const kn_record *r);
kn_status kni_gpu_run_concat(kni_gpu *g, const kn_record *r);
/* Rows added to those of a table that indices name (gpu_rows_add.c). */
kn_status kni_gpu_run_embedding_grad(kni_gpu *g, const kn_record *r);
kn_status kni_gpu_run_select_assign(kni_gpu *g, const kn_record *r);

#endif
