/* What the files of the linear algebra family share: attributes of rows, shape rules, and the rows' functions
   that gradients and composites call. */
#ifndef KNI_LINALG_ROWS_H
#define KNI_LINALG_ROWS_H

#include "ops/infer.h"

typedef struct kni_flag_attributes {
    int64_t flag; /* cholesky and eigh: upper; lu: strict; qr: complete; svd: full */
} kni_flag_attributes;
extern const kn_attribute kni_upper_schema[], kni_strict_schema[], kni_complete_schema[], kni_full_schema[];

typedef struct kni_triangular_attributes {
    int64_t upper, transpose, unit;
} kni_triangular_attributes;

/* Operand i is a float of rank 2 or more, and square. */
kn_status kni_infer_matrix(const kni_infer *c, int i);
kn_status kni_infer_square(const kni_infer *c, int i);
/* Output k: the batch of operand 0, then the given sizes (rows or columns -1: absent). */
void kni_infer_batched(const kni_infer *c, int k, int dtype, kn_dim rows, kn_dim columns);
static inline kn_dim kni_matrix_rows(const kni_type *t) { return t->dims[t->rank - 2]; }
static inline kn_dim kni_matrix_columns(const kni_type *t) { return t->dims[t->rank - 1]; }
/* The number of matrices in a batch. */
int64_t kni_matrix_count(const kni_type *t);

/* The type of a tensor of matrices, or NULL (with the failure told) when it is something else; and what a function
   answers then: the operand's own error, or the one just told. */
const kni_type *kni_matrices(kn_tensor a, const char *name);
kn_tensor kni_no_matrices(const char *name, kn_tensor a);

/* Small steps of gradients and composites. */
kn_tensor kni_transposed(kn_tensor x);                           /* the last two axes swapped */
kn_tensor kni_rows_of(kn_tensor x, int64_t start, int64_t n);    /* of the second last axis */
kn_tensor kni_columns_of(kn_tensor x, int64_t start, int64_t n); /* of the last axis */
kn_tensor kni_unit_like(kn_tensor x, int64_t n);                 /* n x n, of x's dtype */
/* Makes x's device the thread's current one, for functions that create next to x; answers the one before. */
kni_context kni_stand_by(kn_tensor x);
void kni_stand_back(kni_context before);
/* a^-1 b with a triangular (transposed before), and b a^-1. */
kn_tensor kni_solve_left(kn_tensor a, kn_tensor b, bool upper, bool transpose, bool unit);
kn_tensor kni_solve_right(kn_tensor b, kn_tensor a, bool upper, bool transpose, bool unit);
/* Rows of x in the order of permutation [..., m], and back. */
kn_tensor kni_permute_rows(kn_tensor x, kn_tensor permutation);
kn_tensor kni_unpermute_rows(kn_tensor x, kn_tensor permutation);
/* Gives two operands the same batch axes by broadcasting; leaves bad handles to the op that follows. */
void kni_broadcast_batches(kn_tensor *a, kn_tensor *b);

/* Stretches a and b to one shape, so that sums of either run over the same elements. What does not broadcast is left to
   the op that follows. */
void kni_broadcast_both(kn_tensor *a, kn_tensor *b);

typedef struct kni_lu_parts {
    kn_tensor lu, permutation, sign;
} kni_lu_parts;
kni_lu_parts kni_lu_factor(kn_tensor a, bool strict);

#endif
