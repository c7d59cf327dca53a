/* Attribute structs of the indexing rows, which the CPU's entries read too. */
#ifndef KNI_INDEXING_ROWS_H
#define KNI_INDEXING_ROWS_H

#include "ops/op.h"
#include <kn/indexing.h>

/* Of take and gather. negative: whether negative indices count from the end. */
typedef struct kni_take_attributes {
    int64_t axis, negative;
} kni_take_attributes;

/* Of gather_nd: how many leading axes x and the indices share. */
typedef struct kni_gather_nd_attributes {
    int64_t batch_axes;
} kni_gather_nd_attributes;

/* Of select_assign, scatter and (without axis) scatter_nd. */
typedef struct kni_update_attributes {
    int64_t axis, negative, update;
} kni_update_attributes;

typedef struct kni_nonzero_attributes {
    int64_t capacity;
} kni_nonzero_attributes;

/* A shape seen as [outer, axis, inner]. */
typedef struct kni_axis_view {
    int64_t outer, axis, inner;
} kni_axis_view;
kni_axis_view kni_view_axis(const kni_type *t, int64_t axis);

/* The shape that two types broadcast to, or one that neither expands to where they do not. */
kn_shape kni_broadcast_pair(const kni_type *a, const kni_type *b);

/* kni_op_take and kni_op_select_assign with their attributes. */
kn_tensor kni_take(kn_tensor x, kn_tensor indices, int64_t axis, bool negative);
kn_tensor kni_select_assign(kn_tensor x, kn_tensor indices, kn_tensor values, kni_update_attributes a);

#endif
