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

#endif
