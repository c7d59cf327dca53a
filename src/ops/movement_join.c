/* Public functions that join, repeat and pad tensors. */
#include "core/integer_range.h"
#include "core/objects.h"
#include "ops/movement_rows.h"

/* Records name at most this many operands; longer lists are joined in groups. */
enum { MAX_JOINED = 64 };

/* Joins groups of tensors, each into one, over and over; `joined` has room for one of each group. */
static kn_tensor concat_long(const kn_tensor *tensors, int32_t n, int32_t axis, kn_tensor *joined)
{
    const kn_tensor *from = tensors;
    while (n > 1) {
        int32_t groups = (n + MAX_JOINED - 1) / MAX_JOINED;
        for (int32_t g = 0; g < groups; g++) {
            int32_t first = g * MAX_JOINED, count = n - first < MAX_JOINED ? n - first : MAX_JOINED;
            kni_axis_attributes a = {axis};
            joined[g] = kni_apply(&kni_op_concat, from + first, count, &a);
        }
        from = joined;
        n = groups;
    }
    return joined[0];
}

static kn_tensor concat_as(const char *name, const kn_tensor *tensors, int32_t n, int32_t axis)
{
    kni_axis_attributes a = {axis};
    if (n > 0 && !tensors)
        return kni_fail_tensor(name, KN_ERROR_ARGUMENT, "the list of %d tensors is NULL", n);
    if (n < 1)
        return kni_fail_tensor(name, KN_ERROR_ARGUMENT, "%d tensors given: there is nothing to join", n);
    if (n <= MAX_JOINED) return kni_apply_as(name, &kni_op_concat, tensors, n, &a);
    kni_call call = kni_call_begin(name);
    size_t bytes = (size_t)((n + MAX_JOINED - 1) / MAX_JOINED) * sizeof(kn_tensor);
    kn_tensor *joined = kni_allocate(bytes);
    if (!joined) return kni_call_fail(call, KN_ERROR_MEMORY, "no memory to join %d tensors", n);
    kn_tensor y = concat_long(tensors, n, axis, joined);
    kni_free(joined, bytes);
    return kni_call_end(call, y);
}

kn_tensor kn_concat(const kn_tensor *tensors, int32_t n, int32_t axis)
{
    return concat_as("concat", tensors, n, axis);
}

static bool same_shapes(const kn_tensor *tensors, int32_t n)
{
    const kni_type *first = kni_type_of(tensors[0]);
    for (int32_t i = 1; first && i < n; i++) {
        const kni_type *t = kni_type_of(tensors[i]);
        if (!t || kni_same_dims(first, t)) continue;
        kni_fail_op(KN_ERROR_SHAPE, "stack", "tensor %d of %S differs from the first of %S", i, t, first);
        return false;
    }
    return true;
}

kn_tensor kn_stack(const kn_tensor *tensors, int32_t n, int32_t axis)
{
    if (n < 1 || !tensors) return concat_as("stack", tensors, n, axis); /* which tells what is wrong */
    kni_call call = kni_call_begin("stack");
    kni_call_share(tensors, n);
    kn_tensor few[8], *parts = few;
    size_t bytes = n > 8 ? (size_t)n * sizeof(kn_tensor) : 0;
    if (bytes) parts = kni_allocate(bytes);
    if (!parts) return kni_call_fail(call, KN_ERROR_MEMORY, "no memory to stack %d tensors", n);
    kn_tensor y = KN_NONE;
    if (same_shapes(tensors, n)) {
        const kni_type *t = kni_type_of(tensors[0]);
        if (t && axis < 0) axis += t->rank + 1;
        for (int32_t i = 0; i < n; i++) parts[i] = kn_unsqueeze(tensors[i], axis);
        y = concat_as("stack", parts, n, axis);
    } else {
        y = kni_poison_latest();
    }
    if (bytes) kni_free(parts, bytes);
    return kni_call_end(call, y);
}

/* ---- repeating */

static kn_shape three(int64_t a, int64_t b, int64_t c) { return KN_SHAPE(a, b, c); }

/* y = x repeated along one axis, seen as [outer, rest]: [outer, times, rest] is a view, its copy the result.
   Interleaved the new axis comes behind the repeated one. */
static kn_tensor repeat_axis(const char *name, kn_tensor x, int32_t axis, int64_t times, bool interleave)
{
    const kni_type *t = kni_type_of(x);
    if (!t) return kn_flatten(x, 0, -1);
    if (!kni_check_axis(name, &axis, t->rank)) return kni_poison_latest();
    if (times < 0) return kni_fail_tensor(name, KN_ERROR_ARGUMENT, "%D repeats of axis %d", times, axis);
    kn_shape shape = kni_shape_from_type(t);
    int64_t outer = kni_count_dims(axis + interleave, shape.dims);
    int64_t inner = kni_count_dims(t->rank - axis - interleave, shape.dims + axis + interleave);
    if (__builtin_mul_overflow(shape.dims[axis], times, &shape.dims[axis]))
        return kni_fail_tensor(name, KN_ERROR_SHAPE,
                               "%D repeats of axis %d of %S are more than 2^63 elements", times, axis, t);
    x = kn_reshape(x, three(outer, 1, inner));
    return kn_reshape(kn_expand(x, three(outer, times, inner)), shape);
}

kn_tensor kn_repeat_dim(kn_tensor x, int32_t axis, int64_t times)
{
    kni_call call = kni_call_begin("repeat_dim");
    return kni_call_end(call, repeat_axis("repeat_dim", x, axis, times, false));
}

kn_tensor kn_repeat_interleave(kn_tensor x, int64_t times, int32_t axis)
{
    kni_call call = kni_call_begin("repeat_interleave");
    return kni_call_end(call, repeat_axis("repeat_interleave", x, axis, times, true));
}

/* repeats belong to the last axes of a tensor of rank `rank`. Inner axes first: the later copies are long. */
static kn_tensor repeat_all(const char *name, kn_tensor x, int rank, kn_ints repeats)
{
    for (int i = repeats.rank - 1; i >= 0; i--) {
        int axis = rank - repeats.rank + i;
        if (repeats.dims[i] != 1) x = repeat_axis(name, x, axis, repeats.dims[i], false);
    }
    return x;
}

static kn_tensor tile_as(const char *name, kn_tensor x, kn_ints repeats, bool fewer)
{
    kni_call call = kni_call_begin(name);
    const kni_type *t = kni_type_of(x);
    if (repeats.rank < 0 || repeats.rank > KN_MAX_RANK || (t && !fewer && repeats.rank < t->rank))
        return kni_call_fail(call, KN_ERROR_ARGUMENT, "%d repeats given for %d axes", repeats.rank,
                             t ? t->rank : 0);
    int rank = t && t->rank > repeats.rank ? t->rank : repeats.rank;
    return kni_call_end(call, repeat_all(name, kn_atleast(x, rank), rank, repeats));
}

kn_tensor kn_repeat(kn_tensor x, kn_ints repeats) { return tile_as("repeat", x, repeats, false); }

kn_tensor kn_tile(kn_tensor x, kn_ints repeats) { return tile_as("tile", x, repeats, true); }

/* ---- padding */

/* Negative paddings of one axis cut it. */
static kn_tensor crop(kn_tensor x, int32_t axis, int64_t n, int64_t *before, int64_t *after)
{
    int64_t start = *before < 0 ? (*before < -n ? n : -*before) : 0;
    int64_t end = *after < 0 ? (*after < -n ? n : -*after) : 0;
    if (*before < 0) *before = 0;
    if (*after < 0) *after = 0;
    if (start == 0 && end == 0) return x;
    if (start > n - end)
        return kni_fail_tensor("pad", KN_ERROR_SHAPE, "axis %d of size %D is cut by %D and %D", axis, n,
                               start, end);
    return kn_narrow(x, axis, start, n - start - end);
}

kn_tensor kn_pad(kn_tensor x, const kn_pad_args *args)
{
    static const kn_pad_args none = {{0, {0}}, {0, {0}}, KN_PAD_CONSTANT, 0};
    if (!args) args = &none;
    kni_call call = kni_call_begin("pad");
    const kni_type *t = kni_type_of(x);
    bool zeros = args->mode == KN_PAD_ZEROS, constant = zeros || args->mode == KN_PAD_CONSTANT;
    kni_pad_attributes a = {{t ? t->rank : 0, {0}},
                            {t ? t->rank : 0, {0}},
                            constant ? KN_PAD_CONSTANT : args->mode,
                            zeros ? 0 : args->value};
    if (t) {
        kni_type type = *t;
        if (constant && kni_check_stored("pad", t->dtype, a.value))
            return kni_call_end(call, kni_poison_latest());
        if (args->before.rank < 0 || args->after.rank < 0 || args->before.rank > t->rank ||
            args->after.rank > t->rank)
            return kni_call_fail(call, KN_ERROR_ARGUMENT, "paddings of %d and %d axes given for %S",
                                 args->before.rank, args->after.rank, t);
        int from = type.rank - args->before.rank, to = type.rank - args->after.rank;
        for (int i = 0; i < args->before.rank; i++) a.before.dims[from + i] = args->before.dims[i];
        for (int i = 0; i < args->after.rank; i++) a.after.dims[to + i] = args->after.dims[i];
        for (int i = 0; i < type.rank && constant; i++)
            x = crop(x, i, type.dims[i], &a.before.dims[i], &a.after.dims[i]);
    }
    return kni_call_end(call, kni_apply(&kni_op_pad, &x, 1, &a));
}

/* ---- grids */

/* Tensor i of a grid of rank n lies along one axis; "xy" swaps the first two. */
static int32_t grid_axis(int32_t i, int32_t n, const kn_meshgrid_args *args)
{
    return args->cartesian && n > 1 && i < 2 ? 1 - i : i;
}

static bool grid_shape(const kn_tensor *tensors, int32_t n, const kn_meshgrid_args *args, kn_shape *shape)
{
    if (n > 0 && !tensors) {
        kni_fail_op(KN_ERROR_ARGUMENT, "meshgrid", "the list of %d tensors is NULL", n);
        return false;
    }
    if (n < 1 || n > KN_MAX_RANK) {
        kni_fail_op(KN_ERROR_ARGUMENT, "meshgrid", "%d tensors given; it takes 1 to %d", n, KN_MAX_RANK);
        return false;
    }
    shape->rank = n;
    for (int32_t i = 0; i < n; i++) {
        const kni_type *t = kni_type_of(tensors[i]);
        shape->dims[grid_axis(i, n, args)] = t && t->rank == 1 ? t->dims[0] : 1;
        if (t && t->rank > 1) {
            kni_fail_op(KN_ERROR_SHAPE, "meshgrid", "tensor %d must have rank 1, not %S", i, t);
            return false;
        }
    }
    return true;
}

static bool make_grids(const kn_tensor *tensors, int32_t n, const kn_meshgrid_args *args, kn_tensor *out)
{
    kn_shape shape = {0, {0}};
    if (!grid_shape(tensors, n, args, &shape)) return false;
    for (int32_t i = 0; i < n; i++) {
        kn_shape line = {n, {1, 1, 1, 1, 1, 1, 1, 1}};
        line.dims[grid_axis(i, n, args)] = shape.dims[grid_axis(i, n, args)];
        out[i] = kn_reshape(tensors[i], line);
        if (!args->sparse) out[i] = kn_expand(out[i], shape);
    }
    return true;
}

kn_status kn_meshgrid(const kn_tensor *tensors, int32_t n, const kn_meshgrid_args *args, kn_tensor *out)
{
    static const kn_meshgrid_args plain = {false, false};
    kni_call call = kni_call_begin("meshgrid");
    bool made = out && make_grids(tensors, n, args ? args : &plain, out);
    kn_status s = made ? KN_OK : KN_ERROR_ARGUMENT;
    for (int32_t i = 0; made && i < n && s == KN_OK; i++) s = kni_failure_again(out[i]);
    kni_call_end_many(call, out, made ? n : 0);
    return s;
}

kn_tensor kn_meshgrid_stack(const kn_tensor *tensors, int32_t n, const kn_meshgrid_args *args, int32_t axis)
{
    kn_meshgrid_args dense = {args && args->cartesian, false};
    kn_tensor grids[KN_MAX_RANK];
    kni_call call = kni_call_begin("meshgrid_stack");
    if (!make_grids(tensors, n, &dense, grids)) return kni_call_end(call, kni_poison_latest());
    return kni_call_end(call, kn_stack(grids, n, axis));
}
