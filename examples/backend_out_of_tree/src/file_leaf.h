/* A device whose memory is a file: what the parts of the leaf share. */
#ifndef FILE_LEAF_H
#define FILE_LEAF_H

#include <kn/backend.h>
#include <kn/op_info.h>
#include <kn/tensor.h>

/* ---- memory (file_memory.c): blocks are ranges of the file, never host pointers */

typedef struct block block;
/* NULL where the file cannot grow. */
block *block_new(size_t bytes);
void block_free(void *memory); /* a kn_backend_adopt release */
bool block_write(const block *b, size_t offset, const void *from, size_t bytes);
bool block_read(const block *b, size_t offset, void *to, size_t bytes);
size_t block_bytes(const block *b);

/* Gives result `id` a block of its own. */
kn_status leaf_allocate(uint32_t id);
/* Stores contiguous elements in the result's block. */
kn_status leaf_store(uint32_t id, const void *elements);
/* The elements of a tensor of any strides in order; the caller frees them. NULL with the failure told. */
void *leaf_load(uint32_t id, kn_tensor_info *info);

/* ---- formulas (file_formula.c) */

enum { MAX_STEPS = 128, MAX_OPERANDS = 8 };
/* Whether the leaf knows every word of the row's formula. */
bool formula_known(const struct kn_op *row);
/* out[i] = formula(in[0][i], ...) rounded to f32, for n elements; scalars come from the record. False: no such formula. */
bool formula_run(const kn_record *r, double *const *in, int64_t n, double *out);

/* ---- records (file_records.c) */

kn_status leaf_execute(kn_backend *b, const kn_record *const *records, int32_t n);
kn_support leaf_supports(kn_backend *b, const struct kn_op *row, kn_dtype dtype, const char **why);
kn_status leaf_limits(kn_backend *b, kn_limits *limits);
kn_status leaf_run_group(kn_backend *b, const kn_group *group);

/* What it did, for `report`. */
typedef struct leaf_counts {
    long records, views, groups, grouped, attributes, reused, tickets;
} leaf_counts;
extern leaf_counts counts;

#endif
