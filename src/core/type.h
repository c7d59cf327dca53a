/* The logical type of a tensor: dtype and shape. Layout belongs to the backend that holds it. */
#ifndef KNI_TYPE_H
#define KNI_TYPE_H

#include "core/dim.h"
#include <kn/base.h>

typedef struct kni_type {
    uint8_t dtype, rank;
    uint8_t weak; /* a C number: it never widens another operand of its kind */
    kn_dim dims[KN_MAX_RANK];
} kni_type;

/* Product of the sizes; -1 when it passes 2^63 - 1 or a size is symbolic. */
int64_t kni_count(const kni_type *t);
int64_t kni_count_dims(int32_t rank, const int64_t *dims);
bool kni_same_dims(const kni_type *a, const kni_type *b);
/* Row-major strides in elements. */
void kni_contiguous_strides(int32_t rank, const int64_t *dims, int64_t *strides);
/* True when elements lie in row-major order without gaps (axes of size 1 may have any stride). */
bool kni_is_contiguous(int32_t rank, const int64_t *dims, const int64_t *strides);

/* How all elements of a tensor lie, without gaps: row-major, or with axis 1 of ranks 3 to 5, the channels, innermost. */
typedef enum kni_order { KNI_ORDER_ROWS, KNI_ORDER_CHANNELS } kni_order;
/* The axes from the outermost to the innermost one. */
void kni_order_axes(int order, int32_t rank, int32_t *axes);
/* The strides of a tensor that lies in the order. */
void kni_order_strides(int order, int32_t rank, const int64_t *dims, int64_t *strides);
/* Whether it lies so; both orders at once where they differ by axes of size 1 alone. */
bool kni_lies_in_order(int order, int32_t rank, const int64_t *dims, const int64_t *strides);
/* The order in which axes follow each other in memory, gaps allowed: row-major wherever that is true as well. */
kni_order kni_order_of(int32_t rank, const int64_t *dims, const int64_t *strides);
kn_shape kni_shape_from_type(const kni_type *t);

/* Copies the axes there are, and small fields by themselves: they were mostly written just so a moment ago, and a
   wide load of narrow stores would wait for them. */
static inline void kni_type_copy(kni_type *to, const kni_type *from)
{
    to->dtype = from->dtype;
    to->rank = from->rank;
    to->weak = from->weak;
    for (int i = 0; i < from->rank; i++) to->dims[i] = from->dims[i];
}

#endif
