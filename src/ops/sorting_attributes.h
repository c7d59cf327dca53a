/* The attributes of the sorting rows. */
#ifndef KNI_SORTING_ATTRIBUTES_H
#define KNI_SORTING_ATTRIBUTES_H

#include "ops/reduce_axes.h"

typedef struct kni_sort_attributes {
    int64_t axis, descending;
} kni_sort_attributes;

typedef struct kni_topk_attributes {
    int64_t k, axis, smallest, unsorted;
} kni_topk_attributes;

typedef struct kni_kth_attributes {
    int64_t k, axis, keep;
    int64_t propagate; /* NaN when there is one; otherwise NaN is the greatest number */
} kni_kth_attributes;

typedef struct kni_search_attributes {
    int64_t right;
} kni_search_attributes;

typedef struct kni_bincount_attributes {
    int64_t length;
} kni_bincount_attributes;

/* by_axis: slices along an axis; else elements of all of x. */
typedef struct kni_distinct_attributes {
    int64_t axis, by_axis, unsorted;
} kni_distinct_attributes;

/* A number for each row of ids [n, k] that orders and tells apart as the rows do. */
kn_tensor kni_number_rows(kn_tensor ids, int64_t n, int64_t k);

#endif
