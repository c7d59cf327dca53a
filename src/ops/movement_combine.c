/* Joining of another kind: blocks along a diagonal, stacks, tuples of elements, and repeats that differ. */
#include "core/allocator.h"
#include "ops/movement_rows.h"

/* ---- lists of tensors */

/* The tensors of a list as `shaped` makes them, joined along an axis. */
static kn_tensor join_as(const char *name, const kn_tensor *tensors, int32_t n, int32_t axis,
                         kn_tensor (*shaped)(kn_tensor))
{
    kni_call call = kni_call_begin(name);
    if (n < 1 || !tensors)
        return kni_call_fail(call, KN_ERROR_ARGUMENT, "%d tensors given; it takes 1 or more",
                             tensors ? n : 0);
    size_t bytes = (size_t)n * sizeof(kn_tensor);
    kn_tensor *parts = kni_allocate(bytes);
    if (!parts) return kni_call_fail(call, KN_ERROR_MEMORY, "no memory to join %d tensors", n);
    for (int32_t i = 0; i < n; i++) parts[i] = shaped(tensors[i]);
    kn_tensor y = kn_concat(parts, n, axis);
    kni_free(parts, bytes);
    return kni_call_end(call, y);
}

static kn_tensor as_line(kn_tensor x) { return kn_atleast(x, 1); }
static kn_tensor as_row(kn_tensor x) { return kn_atleast(x, 2); }
static kn_tensor as_column(kn_tensor x)
{
    const kni_type *t = kni_type_of(x);
    return t && t->rank < 2 ? kn_reshape(x, KN_SHAPE(-1, 1)) : kn_atleast(x, 2);
}
static kn_tensor as_depth(kn_tensor x)
{
    const kni_type *t = kni_type_of(x);
    return t && t->rank < 3 ? kn_unsqueeze(kn_atleast(x, 2), -1) : kn_atleast(x, 3);
}

kn_tensor kn_hstack(const kn_tensor *tensors, int32_t n)
{
    const kni_type *t = tensors && n > 0 ? kni_type_of(tensors[0]) : NULL;
    return join_as("hstack", tensors, n, t && t->rank > 1, as_line);
}
kn_tensor kn_vstack(const kn_tensor *tensors, int32_t n) { return join_as("vstack", tensors, n, 0, as_row); }
kn_tensor kn_dstack(const kn_tensor *tensors, int32_t n)
{
    return join_as("dstack", tensors, n, 2, as_depth);
}
kn_tensor kn_column_stack(const kn_tensor *tensors, int32_t n)
{
    return join_as("column_stack", tensors, n, 1, as_column);
}

/* Each matrix with zeros on both sides is a band of rows. */
kn_tensor kn_block_diag(const kn_tensor *tensors, int32_t n)
{
    kni_call call = kni_call_begin("block_diag");
    if (n < 1 || !tensors)
        return kni_call_fail(call, KN_ERROR_ARGUMENT, "%d tensors given; it takes 1 or more",
                             tensors ? n : 0);
    kni_call_share(tensors, n);
    int64_t columns = 0, before = 0;
    for (int32_t i = 0; i < n; i++) {
        const kni_type *t = kni_type_of(tensors[i]);
        if (t && t->rank > 2)
            return kni_call_fail(call, KN_ERROR_SHAPE, "tensor %d must have rank 0 to 2, not %S", i, t);
        if (__builtin_add_overflow(columns, t && t->rank ? t->dims[t->rank - 1] : 1, &columns))
            return kni_call_fail(call, KN_ERROR_SHAPE, "the %d tensors have too many columns together", n);
    }
    size_t bytes = (size_t)n * sizeof(kn_tensor);
    kn_tensor *bands = kni_allocate(bytes);
    if (!bands) return kni_call_fail(call, KN_ERROR_MEMORY, "no memory to join %d tensors", n);
    for (int32_t i = 0; i < n; i++) {
        const kni_type *t = kni_type_of(tensors[i]);
        int64_t size = t && t->rank ? t->dims[t->rank - 1] : 1;
        kn_pad_args args = {.before = KN_INTS(before), .after = KN_INTS(columns - before - size)};
        bands[i] = kn_pad(kn_atleast(tensors[i], 2), &args);
        before += size;
    }
    kn_tensor y = kn_concat(bands, n, 0);
    kni_free(bands, bytes);
    return kni_call_end(call, y);
}

/* ---- tuples */

kn_tensor kn_cartesian_prod(const kn_tensor *tensors, int32_t n)
{
    kni_call call = kni_call_begin("cartesian_prod");
    if (n < 1 || n > KN_MAX_RANK || !tensors)
        return kni_call_fail(call, KN_ERROR_ARGUMENT, "%d tensors given; it takes 1 to %d", tensors ? n : 0,
                             KN_MAX_RANK);
    if (n == 1) return kni_call_end(call, kn_reshape(tensors[0], KN_SHAPE(-1)));
    kni_call_share(tensors, n);
    kn_tensor grids[KN_MAX_RANK];
    kn_status s = kn_meshgrid(tensors, n, NULL, grids);
    if (s) return kni_call_end(call, kni_poison_latest());
    for (int32_t i = 0; i < n; i++) grids[i] = kn_reshape(grids[i], KN_SHAPE(-1));
    return kni_call_end(call, kn_stack(grids, n, 1));
}

/* How many choices of r of n there are, -1 where they pass 2^63: the product of (n - r + i) / i. */
static int64_t count_choices(int64_t n, int32_t r, bool with_replacement)
{
    if (with_replacement && n > 0 && __builtin_add_overflow(n, (int64_t)r - 1, &n)) return -1;
    if (r > n) return 0;
    int64_t k = r < n - r ? r : n - r, count = 1;
    for (int64_t i = 1; i <= k; i++) {
        if (__builtin_mul_overflow(count, n - k + i, &count)) return -1;
        count /= i;
    }
    return count;
}

/* The next choice after `at`: the last index that can grow does, and those behind it follow. */
static void next_choice(int64_t *at, int32_t r, int64_t n, bool with_replacement)
{
    int32_t i = r - 1;
    while (i > 0 && at[i] == (with_replacement ? n - 1 : n - r + i)) i--;
    at[i]++;
    for (int32_t k = i + 1; k < r; k++) at[k] = at[k - 1] + !with_replacement;
}

kn_tensor kn_combinations(kn_tensor x, int32_t r, bool with_replacement)
{
    kni_call call = kni_call_begin("combinations");
    const kni_type *t = kni_type_of(x);
    if (t && t->rank != 1)
        return kni_call_fail(call, KN_ERROR_SHAPE, "x must have rank 1, not %S: use kn_flatten()", t);
    if (r < 0) return kni_call_fail(call, KN_ERROR_ARGUMENT, "r is %d: it must not be negative", (int)r);
    if (!t) return kni_call_end(call, kn_reshape(x, KN_SHAPE(-1)));
    x = kn_keep(x);
    int64_t n = t->dims[0], count = r ? count_choices(n, r, with_replacement) : 0, words, bytes;
    if (r == 0) return kni_call_end(call, kn_narrow(x, 0, 0, 0));
    if (count < 0 || __builtin_mul_overflow(count, (int64_t)r, &words) ||
        __builtin_mul_overflow(words, (int64_t)sizeof(int64_t), &bytes) || (uint64_t)bytes > SIZE_MAX / 2)
        return kni_call_fail(call, KN_ERROR_MEMORY, "%D elements have too many choices of %d", n, (int)r);
    int64_t *index = kni_allocate((size_t)(bytes ? bytes : 8));
    if (!index)
        return kni_call_fail(call, KN_ERROR_MEMORY, "no memory for the choices of %d of %D", (int)r, n);
    for (int64_t c = 0; c < count; c++) {
        int64_t *at = index + c * r;
        for (int32_t i = 0; i < r; i++) at[i] = c ? at[i - r] : with_replacement ? 0 : i;
        if (c) next_choice(at, r, n, with_replacement);
    }
    kn_tensor places = kn_from(index, KN_I64, KN_SHAPE(count, r));
    kni_free(index, (size_t)(bytes ? bytes : 8));
    return kni_call_end(call, kn_index_take(x, 0, places));
}

/* ---- repeats that differ */

/* Place j of the result holds the first element whose running sum of repeats is above j. */
kn_tensor kn_repeat_interleave_tensor(kn_tensor x, kn_tensor repeats, int32_t axis, int64_t total)
{
    kni_call call = kni_call_begin("repeat_interleave_tensor");
    const kni_type *t = kni_type_of(x), *r = kni_type_of(repeats);
    if (!t || !r) return kni_call_end(call, kn_index_select(x, axis, repeats));
    if (!kni_check_axis("repeat_interleave_tensor", &axis, t->rank))
        return kni_call_end(call, kni_poison_latest());
    int64_t n = t->dims[axis];
    if (!(KNI_INTS >> r->dtype & 1))
        return kni_call_fail(call, KN_ERROR_DTYPE,
                             "repeats are %T: they must be integers, convert with kn_cast()", (int)r->dtype);
    if (r->rank > 1 || (r->rank == 1 && r->dims[0] != n && r->dims[0] != 1))
        return kni_call_fail(call, KN_ERROR_SHAPE,
                             "repeats %S where [%D] is due, one for each element of axis %d", r, n, axis);
    if (total < -1)
        return kni_call_fail(call, KN_ERROR_ARGUMENT, "total is %D: it must be -1 or more", total);
    bool given = total >= 0;
    x = kn_keep(x);
    repeats = kn_keep(kn_cast(kn_expand(kn_reshape(repeats, KN_SHAPE(-1)), KN_SHAPE(n)), KN_I64));
    if (total < 0) {
        int64_t least = n ? kn_item_int(kn_min(repeats, KN_AXES_ALL, false)) : 0;
        if (least < 0)
            return kni_call_fail(call, KN_ERROR_ARGUMENT,
                                 "an element is repeated %D times: 0 or more are due", least);
        kn_tensor sum = kn_sum(repeats, KN_AXES_ALL, false);
        if (!kn_ok(sum)) return kni_call_end(call, sum);
        total = kn_item_int(sum);
    }
    if (n == 0 && total == 0) return kni_call_end(call, kn_alias(x));
    kn_tensor places = kn_arange(0, (double)total, 1, KN_I64);
    kn_tensor at = kn_searchsorted(kn_cumsum(repeats, 0), places, true);
    kn_tensor y = kn_index_select(x, axis, at);
    /* A place behind the last repeat is beyond x. */
    if (given && kni_is_poisoned(y) && kn_error_code(y) == KN_ERROR_INDEX)
        return kni_call_fail(
            call, KN_ERROR_INDEX,
            "total is %D, which is more than the sum of the repeats, so that index %D is out of "
            "range; -1 computes it",
            total, n);
    return kni_call_end(call, y);
}
