/* Ops on tensors of stored dtypes (core/small_types.h). Rows that only move elements run on the codes, comparisons on the values,
   and a cast is a table; every other row says which cast to write. */
#ifndef KNI_STORED_H
#define KNI_STORED_H

#include "ops/op.h"

/* Runs a row that has operands of stored dtypes, or casts to one. Borrows the operands; results are temporaries, or poison. */
void kni_apply_stored(const kn_op *row, const kn_tensor *in, int n_in, const void *attributes, kn_tensor *out,
                      int n_out);

/* The row's shape rule, where operands may be of stored dtypes: the types of the results are those that kni_apply_stored gives. */
kn_status kni_infer_stored(kni_infer *c);

/* Whether the row does anything else with stored dtypes than to ask for a cast. */
static inline bool kni_takes_stored(const kn_op *row)
{
    return kni_converts(row) || (row->flags & KNI_FLAG_MOVES) || row->rule == KNI_RULE_COMPARE;
}

/* A tensor of a stored dtype whose elements are the value. */
kn_tensor kni_full_stored(const char *name, kn_shape shape, double value, kn_dtype dtype);
/* A cast from or to a stored dtype. */
kn_tensor kni_cast_stored(kn_tensor x, int dtype, bool saturate);
/* x within the range of an integer dtype, as i64 or u64. */
kn_tensor kni_saturate_integer(kn_tensor x, int dtype);
/* kn_bitcast of bytes that have no bits beside those of the dtype. */
kn_tensor kni_bitcast(kn_tensor x, int dtype);
/* The dtype that holds every value of a stored one, for the cast that an error advises. */
static inline int kni_natural_dtype(int stored)
{
    const kni_dtype_row *t = &kni_dtypes[stored];
    return t->kind == KNI_KIND_FLOAT ? KN_F32 : t->kind == KNI_KIND_SIGNED ? KN_I8 : KN_U8;
}

#endif
