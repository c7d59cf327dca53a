/* Public functions that take parts of a tensor: slices, windows, splits, and elements in another order. */
#include "core/objects.h"
#include "ops/infer.h"
#include "ops/movement_rows.h"

/* Every axis whole. */
static kni_slice_attributes whole(int rank)
{
    kni_slice_attributes a = {{rank, {0}}, {rank, {0}}, {rank, {0}}};
    for (int i = 0; i < rank; i++) a.stop.dims[i] = KN_END, a.step.dims[i] = 1;
    return a;
}

static kn_tensor slice_as(const char *name, kn_tensor x, const kni_slice_attributes *a)
{
    return kni_apply_as(name, &kni_op_slice, &x, 1, a);
}

/* One axis cut; a bad handle is told by the op. */
static kn_tensor cut(const char *name, kn_tensor x, int32_t axis, kn_range range)
{
    const kni_type *t = kni_type_of(x);
    kni_slice_attributes a = whole(t ? t->rank : 0);
    if (t) {
        if (!kni_check_axis(name, &axis, t->rank)) return kni_poison_latest();
        a.start.dims[axis] = range.start;
        a.stop.dims[axis] = range.stop;
        a.step.dims[axis] = range.step;
    }
    return slice_as(name, x, &a);
}

kn_tensor kn_slice(kn_tensor x, int32_t axis, int64_t start, int64_t stop, int64_t step)
{
    if (step == 0)
        return kni_fail_tensor("slice", KN_ERROR_ARGUMENT,
                               "a step of 0 leads nowhere: 1 takes every element, -1 all of them backwards");
    return cut("slice", x, axis, (kn_range){start, stop, step});
}

bool kni_ranges_to_attributes(const char *name, kn_tensor x, const kn_range *ranges, int32_t n,
                              kni_slice_attributes *a)
{
    const kni_type *t = kni_type_of(x);
    *a = whole(t ? t->rank : 0);
    if (!t) return true;
    if (n > 0 && !ranges) {
        kni_fail_op(KN_ERROR_ARGUMENT, name, "the list of %d ranges is NULL", n);
        return false;
    }
    if (n < 0 || n > t->rank) {
        kni_fail_op(KN_ERROR_ARGUMENT, name, "%d ranges given for the %d axes of %S", n, (int)t->rank, t);
        return false;
    }
    for (int i = 0; i < n; i++) {
        a->start.dims[i] = ranges[i].start;
        a->stop.dims[i] = ranges[i].stop;
        a->step.dims[i] = ranges[i].step;
    }
    return true;
}

kn_tensor kn_slice_ranges(kn_tensor x, const kn_range *ranges, int32_t n)
{
    kni_slice_attributes a;
    if (!kni_ranges_to_attributes("slice_ranges", x, ranges, n, &a)) return kni_poison_latest();
    return slice_as("slice_ranges", x, &a);
}

kn_tensor kn_narrow(kn_tensor x, int32_t axis, int64_t start, int64_t length)
{
    const kni_type *t = kni_type_of(x);
    if (!t) return cut("narrow", x, axis, (kn_range){0, KN_END, 1});
    if (!kni_check_axis("narrow", &axis, t->rank)) return kni_poison_latest();
    int64_t n = t->dims[axis], at = start < 0 ? start + n : start;
    if (at < 0 || length < 0 || at > n || length > n - at)
        return kni_fail_tensor("narrow", KN_ERROR_INDEX, "%D elements from %D are not inside axis %d of %S",
                               length, start, axis, t);
    return cut("narrow", x, axis, (kn_range){at, at + length, 1});
}

kn_tensor kn_select(kn_tensor x, int32_t axis, int64_t index)
{
    const kni_type *t = kni_type_of(x);
    if (!t) return cut("select", x, axis, (kn_range){0, KN_END, 1});
    if (!kni_check_axis("select", &axis, t->rank)) return kni_poison_latest();
    int64_t n = t->dims[axis], at = index < 0 ? index + n : index;
    if (at < 0 || at >= n)
        return kni_fail_tensor("select", KN_ERROR_INDEX, "index %D is out of range for axis %d of size %D",
                               index, axis, n);
    kn_shape shape = {0, {0}};
    for (int i = 0; i < t->rank; i++)
        if (i != axis) shape.dims[shape.rank++] = t->dims[i];
    kni_shape_attributes a = {shape};
    kn_tensor part = cut("select", x, axis, (kn_range){at, at + 1, 1});
    return kni_apply_as("select", &kni_op_reshape, &part, 1, &a);
}

/* A single number is one window of 1 element, or of none. */
static kn_tensor unfold_scalar(kn_tensor x, int32_t axis, int64_t size, int64_t step)
{
    if (!kni_check_axis_or_scalar("unfold_axis", &axis, 0)) return kni_poison_latest();
    if (size < 0 || size > 1 || step <= 0)
        return kni_fail_tensor(
            "unfold_axis", KN_ERROR_ARGUMENT,
            "windows of %D every %D of a single number: the size is 0 or 1, the step above 0", size, step);
    kni_call call = kni_call_begin("unfold_axis");
    return kni_call_end(call, kn_narrow(kn_reshape(x, KN_SHAPE(1)), 0, 0, size));
}

kn_tensor kn_unfold_axis(kn_tensor x, int32_t axis, int64_t size, int64_t step)
{
    const kni_type *t = kni_type_of(x);
    if (t && t->rank == 0) return unfold_scalar(x, axis, size, step);
    kni_window_attributes a = {axis, size, step, 0};
    return kni_apply_as("unfold_axis", &kni_op_window, &x, 1, &a);
}

/* ---- splits */

/* Ends a call that makes several tensors: a poisoned one makes the status. */
static kn_status end_list(kni_call call, kn_tensor *out, int n)
{
    kn_status s = KN_OK;
    for (int i = 0; i < n && s == KN_OK; i++) s = kni_failure_again(out[i]);
    kni_call_end_many(call, out, n);
    return s;
}

/* Fails a call that makes several tensors: all of them carry the error. */
static kn_status fail_list(kni_call call, kn_tensor *out, int n)
{
    kn_tensor poison = kni_call_end(call, kni_poison_latest());
    for (int i = 0; i < n; i++) out[i] = poison;
    return kn_error_code(poison);
}

/* Checks x and axis and gives the size of the axis, -1 after a failure. */
static int64_t axis_size(const char *name, kn_tensor x, int32_t *axis)
{
    if (kni_is_poisoned(x)) {
        kni_fail_carried(x, name, "the tensor");
        return -1;
    }
    const kni_tensor *t = kni_resolve(x, name);
    return t && kni_check_axis(name, axis, t->type.rank) ? t->type.dims[*axis] : -1;
}

static kn_status split(const char *name, kn_tensor x, int64_t size, int32_t axis, kn_tensor *out, int32_t *n)
{
    if (!n || (!out && *n > 0))
        return kni_fail_op(KN_ERROR_ARGUMENT, name, "the %s is NULL",
                           n ? "place for the parts" : "number of parts");
    kni_call call = kni_call_begin(name);
    int32_t room = out ? *n : 0;
    int64_t length = axis_size(name, x, &axis);
    if (n) *n = 0;
    if (length < 0) return fail_list(call, out, 0);
    int64_t parts = length == 0 ? 1 : size > 0 ? (length - 1) / size + 1 : 0;
    if (size <= 0 && (size < 0 || length > 0)) {
        kni_fail_op(KN_ERROR_ARGUMENT, name, "parts of %D elements cannot be made", size);
        return fail_list(call, out, 0);
    }
    if (parts > room) {
        kni_fail_op(KN_ERROR_ARGUMENT, name, "%D parts were made of axis %d but there is room for %d", parts,
                    axis, room);
        return fail_list(call, out, 0);
    }
    x = kn_keep(x);
    for (int64_t i = 0; i < parts; i++) {
        int64_t left = length - i * size;
        out[i] = kn_narrow(x, axis, i * size, left < size ? left : size);
    }
    *n = (int32_t)parts;
    return end_list(call, out, *n);
}

kn_status kn_split(kn_tensor x, int64_t size, int32_t axis, kn_tensor *out, int32_t *n)
{
    return split("split", x, size, axis, out, n);
}

kn_status kn_chunk(kn_tensor x, int64_t chunks, int32_t axis, kn_tensor *out, int32_t *n)
{
    const kni_type *t = kni_type_of(x);
    int32_t a = axis;
    int64_t size = 0;
    if (chunks <= 0) {
        if (n) *n = 0;
        return kni_fail_op(KN_ERROR_ARGUMENT, "chunk", "%D parts cannot be made", chunks);
    }
    if (t && kni_check_axis("chunk", &a, t->rank)) size = t->dims[a] ? (t->dims[a] - 1) / chunks + 1 : 0;
    return split("chunk", x, size, axis, out, n);
}

kn_status kn_split_with_sizes(kn_tensor x, const int64_t *sizes, int32_t n, int32_t axis, kn_tensor *out)
{
    const char *name = "split_with_sizes";
    if (n > 0 && (!sizes || !out))
        return kni_fail(KN_ERROR_ARGUMENT,
                        "kn_split_with_sizes: the sizes or the place for the parts are NULL");
    kni_call call = kni_call_begin(name);
    int64_t length = axis_size(name, x, &axis), total = 0;
    if (length < 0) return fail_list(call, out, n);
    for (int32_t i = 0; i < n; i++)
        if (sizes[i] < 0 || __builtin_add_overflow(total, sizes[i], &total)) total = -1, i = n;
    if (total != length) {
        kni_fail_op(KN_ERROR_SHAPE, name, "the %d sizes do not add up to the %D of axis %d", n, length, axis);
        return fail_list(call, out, n);
    }
    x = kn_keep(x);
    int64_t at = 0;
    for (int32_t i = 0; i < n; at += sizes[i], i++) out[i] = kn_narrow(x, axis, at, sizes[i]);
    return end_list(call, out, n);
}

/* Fails unless there is room for `parts` results. */
static kn_status begin_list(const char *name, int64_t parts, int32_t axis, kn_tensor *out, int32_t room)
{
    if (parts <= room && (out || parts == 0)) return KN_OK;
    return kni_fail_op(KN_ERROR_ARGUMENT, name, "axis %d has %D parts but there is room for %d", axis, parts,
                       out ? room : 0);
}

kn_status kn_tensor_split(kn_tensor x, int64_t sections, int32_t axis, kn_tensor *out, int32_t *n)
{
    const char *name = "tensor_split";
    if (!n) return kni_fail_op(KN_ERROR_ARGUMENT, name, "the number of parts is NULL");
    kni_call call = kni_call_begin(name);
    int32_t room = *n;
    int64_t length = axis_size(name, x, &axis), at = 0;
    *n = 0;
    if (length < 0) return fail_list(call, out, 0);
    if (sections < 1) {
        kni_fail_op(KN_ERROR_ARGUMENT, name, "%D parts cannot be made: ask for 1 or more", sections);
        return fail_list(call, out, 0);
    }
    if (begin_list(name, sections, axis, out, room)) return fail_list(call, out, 0);
    x = kn_keep(x);
    for (int64_t i = 0; i < sections; i++) {
        int64_t size = length / sections + (i < length % sections);
        out[i] = kn_narrow(x, axis, at, size);
        at += size;
    }
    *n = (int32_t)sections;
    return end_list(call, out, *n);
}

kn_status kn_tensor_split_at(kn_tensor x, const int64_t *positions, int32_t n, int32_t axis, kn_tensor *out)
{
    const char *name = "tensor_split_at";
    if (n < 0 || !out || (n > 0 && !positions))
        return kni_fail_op(KN_ERROR_ARGUMENT, name, "the %d positions or the place for the parts are missing",
                           n);
    kni_call call = kni_call_begin(name);
    if (axis_size(name, x, &axis) < 0) return fail_list(call, out, n + 1);
    x = kn_keep(x);
    for (int32_t i = 0; i <= n; i++)
        out[i] = kn_slice(x, axis, i ? positions[i - 1] : 0, i < n ? positions[i] : KN_END, 1);
    return end_list(call, out, n + 1);
}

kn_status kn_unbind(kn_tensor x, int32_t axis, kn_tensor *out, int32_t *n)
{
    const char *name = "unbind";
    if (!n) return kni_fail_op(KN_ERROR_ARGUMENT, name, "the number of parts is NULL");
    kni_call call = kni_call_begin(name);
    int32_t room = *n;
    int64_t length = axis_size(name, x, &axis);
    *n = 0;
    if (length < 0 || begin_list(name, length, axis, out, room)) return fail_list(call, out, 0);
    x = kn_keep(x);
    for (int64_t i = 0; i < length; i++) out[i] = kn_select(x, axis, i);
    *n = (int32_t)length;
    return end_list(call, out, *n);
}

/* ---- elements in another order */

kn_tensor kn_flip(kn_tensor x, kn_ints axes)
{
    const kni_type *t = kni_type_of(x);
    int rank = t ? t->rank : 0;
    kni_slice_attributes a = whole(rank);
    if (axes.rank < 0 || axes.rank > KN_MAX_RANK)
        return kni_fail_tensor("flip", KN_ERROR_ARGUMENT, "%d axes given; at most %d", axes.rank,
                               KN_MAX_RANK);
    for (int i = 0; i < (axes.rank ? axes.rank : rank) && t; i++) {
        int64_t axis = axes.rank ? axes.dims[i] : i;
        if (kni_resolve_axis("flip", &axis, rank, rank ? rank : 1)) return kni_poison_latest();
        if (a.step.dims[axis] < 0)
            return kni_fail_tensor("flip", KN_ERROR_ARGUMENT, "axis %D is named twice", axis);
        a.start.dims[axis] = -1;
        a.step.dims[axis] = -1;
    }
    return slice_as("flip", x, &a);
}

kn_tensor kn_rot90(kn_tensor x, int32_t k, int32_t a, int32_t b)
{
    kni_call call = kni_call_begin("rot90");
    const kni_type *t = kni_type_of(x);
    if (t && (!kni_check_axis("rot90", &a, t->rank) || !kni_check_axis("rot90", &b, t->rank)))
        return kni_call_end(call, kni_poison_latest());
    if (t && a == b)
        return kni_call_fail(call, KN_ERROR_ARGUMENT, "the plane needs two different axes, not %d twice", a);
    switch ((k % 4 + 4) % 4) {
    case 1:
        return kni_call_end(call, kn_transpose(kn_flip(x, KN_AXES(b)), a, b));
    case 2:
        return kni_call_end(call, kn_flip(x, KN_AXES(a, b)));
    case 3:
        return kni_call_end(call, kn_flip(kn_transpose(x, a, b), KN_AXES(b)));
    default:
        return kni_call_end(call, t ? kn_alias(kn_keep(x)) : kn_t(x));
    }
}

/* Swaps the two parts of an axis around position n - shift. */
static kn_tensor roll_axis(kn_tensor x, int64_t shift, int64_t at)
{
    const kni_type *t = kni_type_of(x);
    if (!t) return kn_flip(x, KN_AXES_ALL);
    if (kni_resolve_axis("roll", &at, t->rank, t->rank)) return kni_poison_latest();
    int32_t axis = (int32_t)at;
    int64_t n = t->dims[axis];
    if (n == 0) return x;
    shift = (shift % n + n) % n;
    if (shift == 0) return x;
    x = kn_keep(x);
    kn_tensor parts[2] = {kn_narrow(x, axis, n - shift, shift), kn_narrow(x, axis, 0, n - shift)};
    return kn_concat(parts, 2, axis);
}

kn_tensor kn_roll(kn_tensor x, kn_ints shifts, kn_ints axes)
{
    kni_call call = kni_call_begin("roll");
    const kni_type *t = kni_type_of(x);
    if (axes.rank == 0 && shifts.rank == 1 && t) {
        kn_shape shape = kni_shape_from_type(t);
        return kni_call_end(call, kn_reshape(roll_axis(kn_flatten(x, 0, -1), shifts.dims[0], 0), shape));
    }
    if (shifts.rank != axes.rank || shifts.rank < 1 || shifts.rank > KN_MAX_RANK)
        return kni_call_fail(call, KN_ERROR_ARGUMENT, "%d shifts given for %d axes", shifts.rank, axes.rank);
    x = kn_keep(x);
    kn_tensor y = x;
    for (int i = 0; i < shifts.rank; i++) y = roll_axis(y, shifts.dims[i], axes.dims[i]);
    return kni_call_end(call, y.bits == x.bits && kn_ok(x) ? kn_alias(x) : y);
}

kn_tensor kn_roll_dim(kn_tensor x, int64_t shift, int32_t axis)
{
    kni_call call = kni_call_begin("roll_dim");
    return kni_call_end(call, kn_roll(x, KN_INTS(shift), KN_AXES(axis)));
}
