/* Counting and comparing logical shapes. */
#include "core/type.h"

int64_t kni_count_dims(int32_t rank, const int64_t *dims)
{
    int64_t n = 1;
    bool overflow = false;
    for (int32_t i = 0; i < rank; i++) {
        if (dims[i] < 0) return -1;
        if (dims[i] == 0) return 0;
        overflow |= __builtin_mul_overflow(n, dims[i], &n);
    }
    return overflow ? -1 : n;
}

int64_t kni_count(const kni_type *t) { return kni_count_dims(t->rank, t->dims); }

bool kni_same_dims(const kni_type *a, const kni_type *b)
{
    if (a->rank != b->rank) return false;
    for (int32_t i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i]) return false;
    return true;
}

void kni_contiguous_strides(int32_t rank, const int64_t *dims, int64_t *strides)
{
    int64_t step = 1;
    for (int32_t i = rank - 1; i >= 0; i--) {
        strides[i] = step;
        step *= dims[i] > 0 ? dims[i] : 1;
    }
}

bool kni_is_contiguous(int32_t rank, const int64_t *dims, const int64_t *strides)
{
    int64_t step = 1;
    for (int32_t i = rank - 1; i >= 0; i--) {
        if (dims[i] != 1 && strides[i] != step) return dims[i] == 0 || kni_count_dims(rank, dims) == 0;
        step *= dims[i];
    }
    return true;
}

void kni_order_axes(int order, int32_t rank, int32_t *axes)
{
    const bool channels = order == KNI_ORDER_CHANNELS && rank >= 3;
    for (int32_t i = 0; i < rank; i++) axes[i] = channels && i ? i + 1 : i;
    if (channels) axes[rank - 1] = 1;
}

void kni_order_strides(int order, int32_t rank, const int64_t *dims, int64_t *strides)
{
    int32_t axes[KN_MAX_RANK];
    int64_t step = 1;
    kni_order_axes(order, rank, axes);
    for (int32_t i = rank - 1; i >= 0; i--) {
        strides[axes[i]] = step;
        step *= dims[axes[i]] > 0 ? dims[axes[i]] : 1;
    }
}

bool kni_lies_in_order(int order, int32_t rank, const int64_t *dims, const int64_t *strides)
{
    int32_t axes[KN_MAX_RANK];
    int64_t sizes[KN_MAX_RANK], steps[KN_MAX_RANK];
    if (order == KNI_ORDER_ROWS) return kni_is_contiguous(rank, dims, strides);
    kni_order_axes(order, rank, axes);
    for (int32_t i = 0; i < rank; i++) {
        sizes[i] = dims[axes[i]];
        steps[i] = strides[axes[i]];
    }
    return kni_is_contiguous(rank, sizes, steps);
}

/* Whether no axis lies outside one that should be around it; axes of size 1 lie anywhere. */
static bool nested(int order, int32_t rank, const int64_t *dims, const int64_t *strides)
{
    int32_t axes[KN_MAX_RANK];
    int64_t outer = INT64_MAX;
    kni_order_axes(order, rank, axes);
    for (int32_t i = 0; i < rank; i++) {
        const int32_t a = axes[i];
        if (dims[a] == 1) continue;
        if (strides[a] > outer) return false;
        outer = strides[a];
    }
    return true;
}

kni_order kni_order_of(int32_t rank, const int64_t *dims, const int64_t *strides)
{
    if (rank < 3 || rank > 5 || nested(KNI_ORDER_ROWS, rank, dims, strides)) return KNI_ORDER_ROWS;
    return nested(KNI_ORDER_CHANNELS, rank, dims, strides) ? KNI_ORDER_CHANNELS : KNI_ORDER_ROWS;
}

kn_shape kni_shape_from_type(const kni_type *t)
{
    kn_shape s = {t->rank, {0}};
    for (int32_t i = 0; i < t->rank; i++) s.dims[i] = t->dims[i];
    return s;
}
