/* Which whole-number attributes may be symbolic sizes when a program is built. */
#ifndef KNI_SIZE_ATTRIBUTES_H
#define KNI_SIZE_ATTRIBUTES_H

#include "ops/op.h"

/* Whether the row's shape rule computes with an expression in place of the attribute's number. */
bool kni_takes_size(const kn_op *row, const char *attribute);
/* Whether that expression may be below 0: it is data, as what full fills with, or a place that counts from the end. */
bool kni_takes_negative(const kn_op *row, const char *attribute);
/* Fails, with the attribute's name, where one of n numbers is an expression of the thread's set that the row does not take. */
kn_status kni_check_sizes(const kn_op *row, const char *attribute, const int64_t *values, int32_t n);

/* Sizes that the row's kernels are called with beside those of its types and attributes, of a contiguous operand x: at most
   KN_MAX_RANK + 1. Returns how many. */
int32_t kni_sizes_beside(const kn_op *row, const void *attributes, const kni_type *x, kn_dim *sizes);

#endif
