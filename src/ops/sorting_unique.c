/* Distinct slices, runs of equal elements, and membership: made of sorting, counting and searching. */
#include "ops/infer.h"
#include "ops/movement_rows.h"
#include "ops/sorting_attributes.h"

static kn_unique_result end_unique(kni_call call, kn_tensor values, kn_tensor inverse, kn_tensor counts)
{
    kn_tensor out[3] = {values, inverse, counts};
    kni_call_end_many(call, out, 3);
    return (kn_unique_result){out[0], out[1], out[2]};
}

static kn_unique_result fail_unique(kni_call call, kn_tensor poison)
{
    return end_unique(call, poison, poison, poison);
}

/* The first position of each of `groups` numbers in inverse [n]. */
static kn_tensor first_of_each(kn_tensor inverse, int64_t n, int64_t groups)
{
    kn_tensor positions = kn_arange(0, (double)n, 1, KN_I64);
    kn_tensor past = kn_full_int(KN_SHAPE(groups), n, KN_I64);
    return kn_scatter(past, 0, inverse, positions, KN_UPDATE_MIN);
}

/* Pairs of columns become one column, which is
   numbered anew, until one is left. Each number is below n k. */
kn_tensor kni_number_rows(kn_tensor ids, int64_t n, int64_t k)
{
    int64_t range = n * k;
    while (k > 1) {
        if (k & 1) {
            kn_tensor padded[2] = {ids, kn_zeros(KN_SHAPE(n, 1), KN_I64)};
            ids = kn_concat(padded, 2, 1);
            k++;
        }
        ids = kn_keep(ids);
        kn_tensor first = kn_slice(ids, 1, 0, KN_END, 2), second = kn_slice(ids, 1, 1, KN_END, 2);
        kn_tensor range_tensor = kn_full_int(KN_SCALAR_SHAPE, range, KN_I64);
        ids = kn_unique_bounded(kn_add(kn_mul(first, range_tensor), second)).inverse;
        k /= 2;
    }
    return kn_reshape(ids, KN_SHAPE(n));
}

kn_unique_result kn_unique_axis(kn_tensor x, int32_t axis)
{
    kni_call call = kni_call_begin("unique_axis");
    const kni_type *t = kni_type_of(x);
    if (!t) return fail_unique(call, kn_neg(x));
    if (!kni_check_axis("unique_axis", &axis, t->rank)) return fail_unique(call, kni_poison_latest());
    int64_t n = t->dims[axis], all = kni_count(t), k = n ? all / n : 0;
    x = kn_keep(x);
    if (n == 0)
        return end_unique(call, kn_alias(x), kn_zeros(KN_SHAPE(0), KN_I64), kn_zeros(KN_SHAPE(0), KN_I64));
    if (all > 3000000000)
        return fail_unique(
            call, kni_fail_tensor("unique_axis", KN_ERROR_UNSUPPORTED,
                                  "%D elements: at most 3000000000 can be told apart by slices", all));
    kn_tensor ids = kn_zeros(KN_SHAPE(n), KN_I64); /* slices without elements are all equal */
    if (k > 0) {
        kn_tensor rows = kn_reshape(kn_movedim(x, KN_AXES(axis), KN_AXES(0)), KN_SHAPE(n, k));
        ids = kni_number_rows(kn_unique_bounded(rows).inverse, n, k);
    }
    kn_unique_bounded_result r = kn_unique_bounded(ids);
    int64_t groups = kn_ok(r.count) ? kn_item_int(r.count) : 0;
    kn_tensor inverse = kn_keep(r.inverse);
    kn_tensor values = kn_index_select(x, axis, first_of_each(inverse, n, groups));
    return end_unique(call, values, inverse, kn_narrow(r.counts, 0, 0, groups));
}

/* Runs of lines [n]: changes [n - 1] says where one begins. */
static kn_unique_result runs(kni_call call, kn_tensor x, int32_t axis, kn_tensor changes,
                             kn_shape inverse_shape)
{
    int64_t n = kn_size(x, axis);
    kn_tensor parts[2] = {kn_zeros(KN_SHAPE(1), KN_I64), kn_cast(changes, KN_I64)};
    kn_tensor inverse = kn_keep(kn_cumsum(kn_concat(parts, 2, 0), 0));
    kn_tensor last = kn_select(inverse, 0, n - 1);
    if (!kn_ok(last)) return fail_unique(call, last);
    int64_t groups = kn_item_int(last) + 1;
    kn_tensor values = kn_index_select(x, axis, first_of_each(inverse, n, groups));
    kn_tensor counts = kn_bincount_bounded(inverse, KN_NONE, groups);
    return end_unique(call, values, kn_reshape(inverse, inverse_shape), counts);
}

kn_unique_result kn_unique_consecutive(kn_tensor x)
{
    kni_call call = kni_call_begin("unique_consecutive");
    const kni_type *t = kni_type_of(x);
    if (!t) return fail_unique(call, kn_neg(x));
    kn_shape shape = kni_shape_from_type(t);
    kn_tensor flat = kn_keep(kn_reshape(x, KN_SHAPE(-1)));
    if (kni_count(t) == 0)
        return end_unique(call, kn_alias(flat), kn_zeros(shape, KN_I64), kn_zeros(KN_SHAPE(0), KN_I64));
    kn_tensor changes = kn_not_equal(kn_slice(flat, 0, 1, KN_END, 1), kn_slice(flat, 0, 0, -1, 1));
    return runs(call, flat, 0, changes, shape);
}

kn_unique_result kn_unique_consecutive_axis(kn_tensor x, int32_t axis)
{
    kni_call call = kni_call_begin("unique_consecutive_axis");
    const kni_type *t = kni_type_of(x);
    if (!t) return fail_unique(call, kn_neg(x));
    if (!kni_check_axis("unique_consecutive_axis", &axis, t->rank))
        return fail_unique(call, kni_poison_latest());
    int64_t n = t->dims[axis], k = n ? kni_count(t) / n : 0;
    x = kn_keep(x);
    if (n == 0)
        return end_unique(call, kn_alias(x), kn_zeros(KN_SHAPE(0), KN_I64), kn_zeros(KN_SHAPE(0), KN_I64));
    kn_tensor rows = kn_keep(kn_reshape(kn_movedim(x, KN_AXES(axis), KN_AXES(0)), KN_SHAPE(n, k)));
    kn_tensor differ = kn_not_equal(kn_slice(rows, 0, 1, KN_END, 1), kn_slice(rows, 0, 0, -1, 1));
    return runs(call, x, axis, kn_any(differ, KN_AXES(1), false), KN_SHAPE(n));
}

/* An element is there when it equals the one that stands where it would go among the sorted values. */
kn_tensor kn_isin(kn_tensor x, kn_tensor values, bool invert)
{
    kni_call call = kni_call_begin("isin");
    const kni_type *types[2] = {kni_type_of(x), kni_type_of(values)};
    if (!types[0] || !types[1]) return kni_call_end(call, kn_equal(x, values));
    x = kn_keep(x);
    kn_dtype dtype = (kn_dtype)kni_promote_types(types, 0, 2);
    int64_t n = kni_count(types[1]);
    kn_tensor found;
    if (n == 0) {
        found = kn_zeros(kni_shape_from_type(types[0]), KN_BOOL);
    } else {
        kn_tensor lined = kn_reshape(kn_cast(values, dtype), KN_SHAPE(-1));
        kn_tensor sorted = kn_keep(kn_sort(lined, 0, false).values);
        x = kn_keep(kn_cast(x, dtype));
        kn_tensor at = kn_minimum_scalar(kn_searchsorted(sorted, x, false), (double)(n - 1));
        found = kn_equal(kn_index_take(sorted, 0, at), x);
    }
    return kni_call_end(call, invert ? kn_logical_not(found) : found);
}
