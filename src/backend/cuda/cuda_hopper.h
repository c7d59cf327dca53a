/* Kernels of our own for the tensor cores of Hopper: texts with holes (in skeleton), filled, compiled and kept here. */
#ifndef KNI_CUDA_HOPPER_H
#define KNI_CUDA_HOPPER_H

#include "backend/cuda/cuda_driver.h"
#include "support/buffer.h"

/* ---- text */
void kni_hopper_add(kni_buffer *text, const char *const *pieces);
/* A function `name(sums, a, b, keep)`: a warpgroup's product of 64 rows, `columns` columns and 16 deep, f16 or bf16.
   A comes from shared memory, or from four registers. `transpose_*`: memory does not run along the inner axis. */
typedef struct kni_hopper_product {
    const char *name;
    int dtype, columns;
    bool registers, transpose_a, transpose_b;
} kni_hopper_product;
void kni_hopper_add_product(kni_buffer *text, const kni_hopper_product *p);

/* ---- maps of tensors [outer 1, outer 0, rows, columns] of 16-bit elements, loaded as boxes of 64 columns and `box` rows.
   A size of 0 counts as 1. */
typedef struct kni_hopper_view {
    int dtype;
    kni_runtime_address address;
    int64_t columns, rows, row_step, outer[2], outer_step[2]; /* steps in elements; 0 repeats */
    uint32_t box;
} kni_hopper_view;
/* False where the copy engine cannot read it: alignment and steps must be multiples of 16 bytes. */
bool kni_hopper_map(kni_cuda *c, const kni_hopper_view *view, kni_tensor_map *map);

/* ---- kernels by a key: compiled at first use */
typedef kn_status (*kni_hopper_write)(kni_buffer *text, const void *key);
/* NULL after a failure. key_bytes at most 24. */
kni_module *kni_hopper_kernel(kni_cuda *c, const void *key, size_t key_bytes, const char *entry,
                              kni_hopper_write write);
void kni_hopper_free(kni_cuda *c);

/* KN_ERROR_UNSUPPORTED without a text where there is none of ours for this one. */
kn_status kni_hopper_gemm(kni_cuda *c, const kni_product *p);
kn_status kni_hopper_attention(kni_cuda *c, const kni_attention *p);
kn_status kni_hopper_attention_grad(kni_cuda *c, const kni_attention *p);
/* What is added, hidden and dropped: the holes of the text attention_terms, and its struct `terms`. */
typedef struct kni_hopper_holes {
    uint8_t mask, mask_rows, mask_pair, bias, bias_pair, drops, slopes;
} kni_hopper_holes;
typedef struct kni_hopper_terms {
    kni_runtime_address mask, bias, draws, slopes;
    int64_t mask_steps[4], bias_steps[4];
    uint32_t threshold;
    float kept;
} kni_hopper_terms;
kni_hopper_holes kni_hopper_holes_of(const kni_attention *p);
void kni_hopper_add_terms(kni_buffer *text, const kni_hopper_holes *holes);
kni_hopper_terms kni_hopper_terms_of(const kni_attention *p);
/* For both: whether sizes and types suit them, and the map of an operand, loaded `box` rows at a time. */
bool kni_hopper_takes(const kni_cuda *c, const kni_attention *p);
bool kni_hopper_rows(kni_cuda *c, const kni_attention *p, const kni_place *place, const int64_t *steps,
                     int64_t rows, int64_t heads, uint32_t box, kni_tensor_map *map);

#endif
