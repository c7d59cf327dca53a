/* Public functions that give the same elements another shape or order of axes. */
#include "core/call_site.h"
#include "ops/infer.h"
#include "ops/movement_rows.h"
#include <string.h>

const kni_type *kni_type_of(kn_tensor x)
{
    const kni_tensor *t = kni_is_poisoned(x) ? NULL : kni_peek(x);
    kn_tensor error;
    return t && !kni_tensor_failed(t, &error) ? &t->type : NULL;
}

void kni_apply_many_as(const char *name, const kn_op *row, const kn_tensor *in, int n_in,
                       const void *attributes, kn_tensor *out, int n_out)
{
    kni_thread *t = kni_thread_self();
    kni_context before = kni_context_push(t);
    if (!before.call_name) {
        t->context.call_name = name;
        t->context.call_device = NULL;
    }
    kni_apply_many(row, in, n_in, attributes, out, n_out);
    kni_context_pop(t, &before);
    if (!before.call_name) kni_call_ended(t);
}

kn_tensor kni_apply_as(const char *name, const kn_op *row, const kn_tensor *in, int n_in,
                       const void *attributes)
{
    kn_tensor y;
    kni_apply_many_as(name, row, in, n_in, attributes, &y, 1);
    return y;
}

kn_tensor kni_fail_tensor(const char *name, kn_status code, const char *format, ...)
{
    va_list a;
    va_start(a, format);
    kni_fail_op_list(code, name, format, a);
    va_end(a);
    return kni_poison_latest();
}

bool kni_check_axis(const char *name, int32_t *axis, int rank)
{
    int64_t a = *axis;
    if (kni_resolve_axis(name, &a, rank, rank)) return false;
    *axis = (int32_t)a;
    return true;
}

bool kni_check_axis_or_scalar(const char *name, int32_t *axis, int rank)
{
    int64_t a = *axis;
    if (kni_resolve_axis(name, &a, rank, rank ? rank : 1)) return false;
    *axis = (int32_t)a;
    return true;
}

/* ---- shapes */

static kn_tensor reshape_as(const char *name, kn_tensor x, kn_shape shape)
{
    kni_shape_attributes a = {shape};
    return kni_apply_as(name, &kni_op_reshape, &x, 1, &a);
}

kn_tensor kn_reshape(kn_tensor x, kn_shape shape) { return reshape_as("reshape", x, shape); }

kn_tensor kn_flatten(kn_tensor x, int32_t first, int32_t last)
{
    const kni_type *t = kni_type_of(x);
    kn_shape shape = {1, {-1}};
    if (!t) return reshape_as("flatten", x, KN_SHAPE(1));
    if (!kni_check_axis_or_scalar("flatten", &first, t->rank) ||
        !kni_check_axis_or_scalar("flatten", &last, t->rank))
        return kni_poison_latest();
    if (t->rank == 0) return reshape_as("flatten", x, KN_SHAPE(1));
    if (first > last)
        return kni_fail_tensor("flatten", KN_ERROR_ARGUMENT, "the first axis %d comes after the last, %d",
                               first, last);
    shape.rank = 0;
    for (int i = 0; i < t->rank; i++) {
        if (i <= first || i > last)
            shape.dims[shape.rank++] = t->dims[i];
        else if (__builtin_mul_overflow(shape.dims[shape.rank - 1], t->dims[i], &shape.dims[shape.rank - 1]))
            shape.dims[shape.rank - 1] = 0; /* another axis is 0, or there would be no such tensor */
    }
    return reshape_as("flatten", x, shape);
}

kn_tensor kn_unflatten(kn_tensor x, int32_t axis, kn_shape sizes)
{
    const kni_type *t = kni_type_of(x);
    if (!t) return reshape_as("unflatten", x, sizes);
    if (!kni_check_axis("unflatten", &axis, t->rank)) return kni_poison_latest();
    if (sizes.rank < 1 || sizes.rank > KN_MAX_RANK - t->rank + 1)
        return kni_fail_tensor("unflatten", KN_ERROR_SHAPE, "%d sizes in place of axis %d of %S", sizes.rank,
                               axis, t);
    kn_shape shape = {0, {0}};
    int64_t known = 1;
    int missing = -1;
    for (int i = 0; i < t->rank; i++) {
        if (i != axis) {
            shape.dims[shape.rank++] = t->dims[i];
            continue;
        }
        for (int k = 0; k < sizes.rank; k++) {
            if (sizes.dims[k] == -1 && missing < 0)
                missing = shape.rank;
            else if (sizes.dims[k] < 0)
                return kni_fail_tensor("unflatten", KN_ERROR_SHAPE,
                                       "%N: sizes are 0 or more, and one of them may be -1", &sizes);
            else if (__builtin_mul_overflow(known, sizes.dims[k], &known))
                known = -1;
            shape.dims[shape.rank++] = sizes.dims[k];
        }
    }
    if (missing >= 0 && known > 0 && t->dims[axis] % known == 0) {
        shape.dims[missing] = t->dims[axis] / known;
        known = t->dims[axis];
    }
    if (known != t->dims[axis])
        return kni_fail_tensor("unflatten", KN_ERROR_SHAPE, "the sizes %N do not make up axis %d of %S",
                               &sizes, axis, t);
    return reshape_as("unflatten", x, shape);
}

/* Marks the axes named in a list, where rank 0 counts as one axis; false after a failure. */
static bool mark_axes(const char *name, kn_ints axes, int rank, bool marks[KN_MAX_RANK])
{
    memset(marks, 0, KN_MAX_RANK * sizeof *marks);
    if (axes.rank < 0 || axes.rank > KN_MAX_RANK) {
        kni_fail_op(KN_ERROR_ARGUMENT, name, "%d axes given; at most %d", axes.rank, KN_MAX_RANK);
        return false;
    }
    for (int i = 0; i < axes.rank; i++) {
        int64_t axis = axes.dims[i];
        if (kni_resolve_axis(name, &axis, rank, rank ? rank : 1)) return false;
        if (marks[axis]) {
            kni_fail_op(KN_ERROR_ARGUMENT, name, "axis %D is named twice", axis);
            return false;
        }
        marks[axis] = true;
    }
    return true;
}

static kn_tensor squeeze_as(const char *name, kn_tensor x, kn_ints axes)
{
    const kni_type *t = kni_type_of(x);
    bool marks[KN_MAX_RANK];
    kn_shape shape = {0, {0}};
    if (!t) return reshape_as(name, x, shape);
    if (!mark_axes(name, axes, t->rank, marks)) return kni_poison_latest();
    for (int i = 0; i < t->rank; i++)
        if (t->dims[i] != 1 || (axes.rank > 0 && !marks[i])) shape.dims[shape.rank++] = t->dims[i];
    return reshape_as(name, x, shape);
}

kn_tensor kn_squeeze_dims(kn_tensor x, kn_ints axes) { return squeeze_as("squeeze_dims", x, axes); }

kn_tensor kn_squeeze(kn_tensor x, int32_t axis) { return squeeze_as("squeeze", x, KN_AXES(axis)); }

static kn_tensor unsqueeze_as(const char *name, kn_tensor x, kn_ints axes)
{
    const kni_type *t = kni_type_of(x);
    bool marks[KN_MAX_RANK];
    kn_shape shape = {0, {0}};
    if (!t) return reshape_as(name, x, shape);
    if (axes.rank < 0 || axes.rank > KN_MAX_RANK - t->rank)
        return kni_fail_tensor(name, KN_ERROR_SHAPE, "%S has no room for more axes; %d is the highest rank",
                               t, KN_MAX_RANK);
    int rank = t->rank + axes.rank, from = 0;
    if (!mark_axes(name, axes, rank, marks)) return kni_poison_latest();
    for (; shape.rank < rank; shape.rank++) shape.dims[shape.rank] = marks[shape.rank] ? 1 : t->dims[from++];
    return reshape_as(name, x, shape);
}

kn_tensor kn_unsqueeze_dims(kn_tensor x, kn_ints axes) { return unsqueeze_as("unsqueeze_dims", x, axes); }

kn_tensor kn_unsqueeze(kn_tensor x, int32_t axis) { return unsqueeze_as("unsqueeze", x, KN_AXES(axis)); }

kn_tensor kn_atleast(kn_tensor x, int32_t rank)
{
    const kni_type *t = kni_type_of(x);
    kn_ints axes = {0, {0}};
    if (rank < 0 || rank > KN_MAX_RANK)
        return kni_fail_tensor("atleast", KN_ERROR_ARGUMENT, "rank %d is outside 0 to %d", rank, KN_MAX_RANK);
    for (int i = t ? t->rank : rank; i < rank; i++, axes.rank++) axes.dims[axes.rank] = axes.rank;
    return unsqueeze_as("atleast", x, axes);
}

static kn_tensor expand_as(const char *name, kn_tensor x, kn_shape shape)
{
    kni_shape_attributes a = {shape};
    return kni_apply_as(name, &kni_op_expand, &x, 1, &a);
}

kn_tensor kn_expand(kn_tensor x, kn_shape shape) { return expand_as("expand", x, shape); }

kn_tensor kn_broadcast_to(kn_tensor x, kn_shape shape) { return expand_as("broadcast_to", x, shape); }

/* ---- order of axes */

static kn_tensor permute_as(const char *name, kn_tensor x, kn_ints axes)
{
    kni_permute_attributes a = {axes};
    return kni_apply_as(name, &kni_op_permute, &x, 1, &a);
}

kn_tensor kn_permute(kn_tensor x, kn_ints axes) { return permute_as("permute", x, axes); }

static kn_tensor swap_as(const char *name, kn_tensor x, int32_t a, int32_t b)
{
    const kni_type *t = kni_type_of(x);
    kn_ints axes = {t ? t->rank : 0, {0, 1, 2, 3, 4, 5, 6, 7}};
    if (!t) return permute_as(name, x, axes);
    if (!kni_check_axis_or_scalar(name, &a, t->rank) || !kni_check_axis_or_scalar(name, &b, t->rank))
        return kni_poison_latest();
    axes.dims[a] = b;
    axes.dims[b] = a;
    return permute_as(name, x, axes);
}

kn_tensor kn_transpose(kn_tensor x, int32_t a, int32_t b) { return swap_as("transpose", x, a, b); }

kn_tensor kn_swap_dims(kn_tensor x, int32_t a, int32_t b) { return swap_as("swap_dims", x, a, b); }

kn_tensor kn_t(kn_tensor x) { return swap_as("t", x, -2, -1); }

kn_tensor kn_movedim(kn_tensor x, kn_ints source, kn_ints destination)
{
    const kni_type *t = kni_type_of(x);
    bool from[KN_MAX_RANK], to[KN_MAX_RANK];
    kn_ints axes = {t ? t->rank : 0, {0}};
    if (!t) return permute_as("movedim", x, axes);
    if (source.rank != destination.rank)
        return kni_fail_tensor("movedim", KN_ERROR_ARGUMENT, "%d axes would move to %d places", source.rank,
                               destination.rank);
    if (!mark_axes("movedim", source, t->rank, from) || !mark_axes("movedim", destination, t->rank, to))
        return kni_poison_latest();
    for (int i = 0, rest = 0; i < t->rank; i++) {
        if (to[i]) continue;
        while (from[rest]) rest++;
        axes.dims[i] = rest++;
    }
    for (int i = 0; i < source.rank; i++) {
        int64_t at = destination.dims[i];
        if (t->rank > 0) axes.dims[at < 0 ? at + t->rank : at] = source.dims[i];
    }
    return permute_as("movedim", x, axes);
}
