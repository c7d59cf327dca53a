/* What the files of the movement family share: attribute structs of its rows (the CPU's entries read them
   too) and small helpers for functions that need a tensor's shape before an op runs. */
#ifndef KNI_MOVEMENT_ROWS_H
#define KNI_MOVEMENT_ROWS_H

#include "ops/op.h"

typedef struct kni_shape_attributes {
    kn_ints shape; /* -1: inferred (reshape) or kept (expand) */
} kni_shape_attributes;

typedef struct kni_permute_attributes {
    kn_ints axes;
} kni_permute_attributes;

/* One range for each axis, in Python's sense; stop may be KN_END. Of slice and update_slice. */
typedef struct kni_slice_attributes {
    kn_ints start, stop, step;
} kni_slice_attributes;

/* Of slice_at and update_at, which has no size. */
typedef struct kni_at_attributes {
    int64_t axis, size;
} kni_at_attributes;

/* x as [outer, length, inner], of which `size` elements of the axis are meant; each position serves `per` of the outer ones. */
typedef struct kni_at_view {
    int64_t outer, length, size, inner, per;
} kni_at_view;
kni_at_view kni_view_at(const kni_type *x, const kni_type *position, int64_t axis, int64_t size);
/* Where the part begins: all of it lies inside. */
static inline int64_t kni_at_begin(const kni_at_view *v, int64_t position)
{
    int64_t last = v->length - v->size;
    return position < 0 ? 0 : position > last ? last : position;
}

typedef struct kni_window_attributes {
    int64_t axis, size, step, length; /* length: of the axis that windows were taken from (window_grad) */
} kni_window_attributes;

typedef struct kni_pad_attributes {
    kn_ints before, after;
    int64_t mode;
    double value;
} kni_pad_attributes;

typedef struct kni_pad_grad_attributes {
    int64_t axis, before, after, mode;
} kni_pad_grad_attributes;

typedef struct kni_axis_attributes {
    int64_t axis;
} kni_axis_attributes;

/* A range of an axis of n elements after Python's rules: where it starts and how many elements it has. */
typedef struct kni_part {
    int64_t start, step, size;
} kni_part;
kni_part kni_resolve_range(int64_t start, int64_t stop, int64_t step, int64_t n);
/* Where the part begins on an axis, and in the elements of a contiguous x, with sizes that may be expressions; both count where the part
   is not empty. */
kn_dim kni_slice_begin(const kni_slice_attributes *a, const kni_type *x, int axis);
kn_dim kni_slice_offset(const kni_slice_attributes *a, const kni_type *x);

/* The attributes of a slice of x by n ranges, whole where there is none; false after a failure. */
bool kni_ranges_to_attributes(const char *name, kn_tensor x, const kn_range *ranges, int32_t n,
                              kni_slice_attributes *a);

/* The type behind a handle, or NULL when it is bad or poisoned. An op applied to it then tells why. */
const kni_type *kni_type_of(kn_tensor x);
/* kni_apply with the name of the public function in errors. */
kn_tensor kni_apply_as(const char *name, const kn_op *row, const kn_tensor *in, int n_in,
                       const void *attributes);
void kni_apply_many_as(const char *name, const kn_op *row, const kn_tensor *in, int n_in,
                       const void *attributes, kn_tensor *out, int n_out);
/* A poisoned tensor with "kn_<name>: text", for functions that fail before any op runs. */
kn_tensor kni_fail_tensor(const char *name, kn_status code, const char *format, ...);
/* Turns a negative axis into a positive one; false after a failure. */
bool kni_check_axis(const char *name, int32_t *axis, int rank);
/* The same where a tensor of rank 0 counts as one axis of one element. */
bool kni_check_axis_or_scalar(const char *name, int32_t *axis, int rank);

#endif
