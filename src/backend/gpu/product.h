/* Matrix products for the entries of src/backend/gpu that are made of them. */
#ifndef KNI_GPU_PRODUCT_H
#define KNI_GPU_PRODUCT_H

#include "backend/gpu/gpu.h"

/* What follows a product in its group, and where it goes. */
typedef struct kni_gpu_tail {
    kni_group records; /* those after the product; outputs are the whole group's */
    uint32_t given;    /* the product's result */
    /* Where the driver's library can do it: the epilogue, without the bias that the product has itself. */
    int epilogue;
    kni_tensor *bias, *added, *aux; /* NULL: none */
    kni_tensor *result;             /* has memory */
    uint32_t lanes;                 /* the most neighbours that a kernel of ours hands over at once */
    /* Where a kernel of ours does it: as it was laid out, and memory in the order of its buffers. */
    const kni_sched_kernel *laid_out;
    kni_gpu_block *blocks[KNI_SCHED_MAX_BUFFERS];
    kni_gpu_kernel **kernel; /* found before, NULL: not yet */
} kni_gpu_tail;

/* By what a product is made. */
enum { KNI_GPU_BY_ANY, KNI_GPU_BY_LIBRARY, KNI_GPU_BY_KERNEL };
typedef struct kni_gpu_way {
    uint8_t by;
    const kni_gpu_tail *tail; /* NULL: the product is the result; else it has no memory and by is not ANY */
} kni_gpu_way;

/* A matrix in device memory by strides in elements; step: from matrix to matrix of the batch, 0 repeats it; outer: likewise along the
   axes around the batch. */
enum { KNI_GPU_OUTER = 3 };
typedef struct kni_gpu_matrix {
    kni_gpu_block *block;
    int64_t offset, row, column, step, outer[KNI_GPU_OUTER];
} kni_gpu_matrix;

/* y = a b + bias for each of `batch`; a m x k, b k x n. Columns of y are contiguous; the bias (block NULL: none) has an
   element for each column. Around the batch there may be axes of these sizes, outermost first, over which the matrices of y follow
   each other by its step; our own kernel takes them, a library does not. */
typedef struct kni_gpu_product {
    int dtype;
    int64_t m, n, k, batch;
    int n_outer;
    int64_t outer[KNI_GPU_OUTER];
    kni_gpu_matrix a, b, y,
        bias; /* y has no block where there is a tail: its places are the elements' numbers */
    kni_gpu_way way;
} kni_gpu_product;

/* KN_ERROR_UNSUPPORTED without a text: not in this way. */
kn_status kni_gpu_multiply(kni_gpu *g, const kni_gpu_product *p);
/* Whether our kernel is faster than a library for this one. */
bool kni_gpu_prefers_kernel(const kni_gpu *g, int dtype, int64_t m, int64_t n, int64_t k, int64_t batch);

/* ---- tails of our own kernels (gpu_tail.c) */
enum { KNI_GPU_PRODUCT_BUFFERS = 5, KNI_GPU_PRODUCT_NUMBERS = 40 };
/* A product's kernel: its key, its own buffers (the result first of what is written, left out where there is a tail) with
   the offsets of their first elements, and its numbers. */
typedef struct kni_gpu_product_launch {
    const void *key;
    uint32_t key_bytes;
    kni_gpu_block *blocks[KNI_GPU_PRODUCT_BUFFERS];
    int64_t offsets[KNI_GPU_PRODUCT_BUFFERS], numbers[KNI_GPU_PRODUCT_NUMBERS];
    int n_buffers, n_numbers;
    int64_t tiles, batches;
    const kni_gpu_tail *tail;
    /* Makes the IR; `tail` is given where there is one. NULL after a failure. */
    kni_ir *(*build)(const void *key, const kni_gpu_tail *tail, const kni_sched_target *target);
} kni_gpu_product_launch;
kn_status kni_gpu_launch_product(kni_gpu *g, const kni_gpu_product_launch *l);
/* The group of a product and its tail, as run_group gets it. */
kn_status kni_gpu_product_group(kni_gpu *g, const kni_group *group);
kn_follow kni_gpu_follows(kn_backend *b, const kn_record *const *records, int32_t n, const kn_record *next);
/* Whether our kernel is the first choice for the product. */
bool kni_gpu_kernel_first(const kni_gpu *g, const kn_record *head);
/* What follows the product of `group` as an epilogue of a library: fills in the tail's; false: it is none. */
bool kni_gpu_find_epilogue(const kni_group *group, kni_gpu_tail *tail);
/* The group without its product, whose result is then an input; both lists have room for KNI_GPU_OPERANDS. False: it has too many. */
bool kni_gpu_rest_of(const kni_group *group, uint32_t given, uint32_t *inputs, uint32_t *outputs,
                     kni_group *rest);

/* The records made of them. KN_ERROR_UNSUPPORTED without a text: not this one. */
kn_status kni_gpu_run_matmul(kni_gpu *g, const kn_record *r, const kni_gpu_way *way);
kn_status kni_gpu_run_linear(kni_gpu *g, const kn_record *r, const kni_gpu_way *way);
kn_status kni_gpu_run_attention(kni_gpu *g, const kn_record *r);
/* Stacked recurrent layers by the driver's library (gpu_recurrent.c), and whether it has any for the dtype. */
kn_status kni_gpu_run_layers(kni_gpu *g, const kn_record *r);
kn_status kni_gpu_run_layers_grad(kni_gpu *g, const kn_record *r);
bool kni_gpu_has_layers(kni_gpu *g, kn_dtype dtype);
kn_status kni_gpu_run_attention_grad(kni_gpu *g, const kn_record *r);
kn_status kni_gpu_run_conv(kni_gpu *g, const kn_record *r, const kni_gpu_way *way);
kn_status kni_gpu_run_conv_transpose(kni_gpu *g, const kn_record *r, const kni_gpu_way *way);
kn_status kni_gpu_run_conv_weight_grad(kni_gpu *g, const kn_record *r, const kni_gpu_way *way);
typedef kn_status (*kni_gpu_product_run)(kni_gpu *g, const kn_record *r, const kni_gpu_way *way);
/* Rows, columns, terms and matrices of a product of plain matrices, before rows of a batch are merged. */
typedef struct kni_gpu_sizes {
    int64_t m, n, k, batch;
} kni_gpu_sizes;
kni_gpu_sizes kni_gpu_sizes_of_matmul(const kn_record *r);
kni_gpu_sizes kni_gpu_sizes_of_linear(const kn_record *r);
/* An entry of the native table for rows that records may follow in a group. */
typedef struct kni_gpu_product_entry {
    const kn_op *row;
    kni_gpu_product_run run;
    kni_gpu_sizes (*sizes)(const kn_record *r); /* NULL: a convolution */
    int what;                                   /* of a convolution: KNI_CONV_* */
} kni_gpu_product_entry;
/* NULL: it has none. */
const kni_gpu_product_entry *kni_gpu_product_of(const kn_op *row);
/* The result with the elements of the first operand in it: its memory where the rule of writing in place allows that. */
kn_status kni_gpu_take_over(kni_gpu *g, const kn_record *r);
/* A part of a tensor replaced, and tensors joined (gpu_slice.c). */
kn_status kni_gpu_run_update_slice(kni_gpu *g, const kn_record *r);
kn_status kni_gpu_run_concat(kni_gpu *g, const kn_record *r);
kn_status kni_gpu_run_pad(kni_gpu *g, const kn_record *r);
/* At positions and for lengths that lie on the device (gpu_at.c). */
kn_status kni_gpu_run_update_at(kni_gpu *g, const kn_record *r);
kn_status kni_gpu_run_attention_at(kni_gpu *g, const kn_record *r);
/* The rotary embedding, where quads of x can be read as they lie (gpu_rope.c). */
kn_status kni_gpu_run_rope(kni_gpu *g, const kn_record *r);
/* Rows of a table that indices name, taken, added to and updated (gpu_rows.c). */
kn_status kni_gpu_run_embedding(kni_gpu *g, const kn_record *r);
kn_status kni_gpu_run_embedding_grad(kni_gpu *g, const kn_record *r);
kn_status kni_gpu_run_select_assign(kni_gpu *g, const kn_record *r);
kn_status kni_gpu_run_scatter(kni_gpu *g, const kn_record *r);
kn_status kni_gpu_run_scatter_nd(kni_gpu *g, const kn_record *r);
kn_status kni_gpu_run_bincount(kni_gpu *g, const kn_record *r);

#endif
