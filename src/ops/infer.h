/* Helpers that shape rules are written with. All of them compute on kn_dim. */
#ifndef KNI_INFER_H
#define KNI_INFER_H

#include "ops/op.h"

/* Fails with "kn_<op>: text" and returns code. */
kn_status kni_infer_fail(const kni_infer *c, kn_status code, const char *format, ...);

/* Turns a negative axis into a positive one and checks 0 <= axis < rank. */
kn_status kni_infer_axis(const kni_infer *c, int64_t *axis, int rank);
/* The same, but a tensor of rank 0 counts as one axis of one element: 0 and -1 name it, as in PyTorch. */
kn_status kni_infer_axis_or_rank_0(const kni_infer *c, int64_t *axis, int rank);
/* What both do: `axes` is the number of axes that may be named, `rank` the one that the text tells. */
kn_status kni_resolve_axis(const char *name, int64_t *axis, int rank, int axes);
/* The same for a list of axes of operand 0, which may be empty (all axes) and may not name one twice; sorts it. */
kn_status kni_infer_axes(const kni_infer *c, kn_ints *axes);
/* Operand i must be one of the dtypes in mask. */
kn_status kni_infer_dtype(const kni_infer *c, int i, uint32_t mask);
/* A number that must be `low` or more; NaN is not. */
kn_status kni_infer_at_least(const kni_infer *c, const char *what, double value, double low);
kn_status kni_infer_integer(const kni_infer *c, int i); /* an integer dtype: an index */
kn_status kni_infer_rank(const kni_infer *c, int i, int lowest, int highest);
/* The promoted dtype of operands first .. last-1, PyTorch's rules for numbers and rank 0. */
int kni_infer_promote(const kni_infer *c, int first, int last);
/* The same for a plain list of types (NULL where absent). */
int kni_promote_types(const kni_type *const *types, int first, int last);
/* The broadcast shape of operands first .. last-1 into out's dims. */
kn_status kni_infer_broadcast(const kni_infer *c, int first, int last, kni_type *out);
/* The product of dims first .. last-1. */
kn_dim kni_infer_product(const kni_type *t, int first, int last);
/* Fails when the number of elements of out passes 2^63. Every rule's outputs are checked by the caller. */
kn_status kni_infer_countable(const kni_infer *c, const kni_type *out);
/* Equal, or not provably different (symbolic). */
static inline bool kni_dims_agree(kn_dim a, kn_dim b) { return kni_dim_equal(a, b) != KNI_NO; }
/* The size of an axis that broadcasts two that agree, or of which one is 1. Either of two unknown ones may turn out to be 1. */
kn_dim kni_infer_joined(kn_dim a, kn_dim b);

/* Ready-made rules. */
kn_status kni_infer_elementwise(kni_infer *c); /* by row->rule and row->dtypes */
kn_status kni_infer_same(kni_infer *c);        /* every output has operand 0's type */
/* Rows along the axis or the last axes of operand 0: shapes and dtypes by the levels and kinds of the body. */
kn_status kni_infer_lines(kni_infer *c);

#endif
