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

kn_shape kni_shape_from_type(const kni_type *t)
{
    kn_shape s = {t->rank, {0}};
    for (int32_t i = 0; i < t->rank; i++) s.dims[i] = t->dims[i];
    return s;
}
