/* Embedding, gather, scatter and assignments with tables and indices of drawn sizes, padding, joining and moving, and their
   gradients: equal to `ref` on every tier and in groups. */
#include "support/drawn_sizes.h"
#include <kn/functional.h>
#include <kn/indexing.h>

enum { MOST = 1 << 13 };

static kn_dtype some_dtype(drawn *d)
{
    static const kn_dtype dtypes[] = {KN_F32, KN_F32, KN_F64, KN_F16, KN_BF16, KN_I8, KN_I32, KN_I64};
    d->dtype = dtypes[below(d, 8)];
    d->small = true;
    return d->dtype;
}

static kn_tensor indices(drawn *d, kn_shape s, int64_t rows)
{
    return drawn_between(d, s, below(d, 2) ? KN_I64 : KN_I32, false, 0, (double)rows - 1);
}

static void embedding(drawn *d)
{
    int64_t rows = drawn_size(d, 600), width = drawn_size(d, MOST / rows + 1);
    kn_dtype dtype = drawn_float(d);
    d->small = true;
    kn_tensor w = drawn_operand(d, KN_SHAPE(rows, width), dtype, true);
    kn_shape s = drawn_shape(d, 1 + (int32_t)below(d, 3), MOST / width + 1);
    kn_embedding_args args = {.padding_index = below(d, 3) ? 0 : below(d, rows)};
    kn_tensor at = indices(d, s, rows);
    if (s.rank == 2 && below(d, 2)) {
        kn_embedding_bag_args bag = {.mode = (kn_bag_mode)below(d, 3)};
        drawn_note(d, "bag", bag.mode);
        drawn_result(d, kn_embedding_bag(w, at, &bag), true);
        return;
    }
    drawn_result(d, drawn_tail(d, kn_embedding(w, at, &args)), true);
}

static void along(drawn *d)
{
    kn_shape s = drawn_shape(d, 1 + (int32_t)below(d, 4), MOST), t = s;
    kn_dtype dtype = some_dtype(d);
    int32_t axis = (int32_t)below(d, s.rank);
    int kind = (int)below(d, 6);
    drawn_note(d, "axis", axis);
    drawn_note(d, "kind", kind);
    kn_tensor x = drawn_operand(d, s, dtype, true);
    int64_t n = drawn_size(d, 2 * s.dims[axis]);
    t.dims[axis] = n;
    /* Products of many would not be exact in halves. */
    static const kn_update updates[] = {KN_UPDATE_ASSIGN, KN_UPDATE_ADD, KN_UPDATE_MIN, KN_UPDATE_MAX};
    kn_update update = updates[below(d, 4)];
    drawn_note(d, "update", update);
    if (kind == 0) drawn_result(d, kn_index_take(x, axis, indices(d, KN_SHAPE(n), s.dims[axis])), true);
    if (kind == 1) drawn_result(d, kn_gather(x, axis, indices(d, t, s.dims[axis])), true);
    if (kind == 2) {
        kn_tensor at = indices(d, t, s.dims[axis]);
        drawn_result(d, kn_scatter(x, axis, at, drawn_operand(d, t, dtype, true), update), true);
    }
    if (kind == 3) {
        kn_tensor at = indices(d, KN_SHAPE(n), s.dims[axis]);
        drawn_result(d, kn_index_assign(x, axis, at, drawn_operand(d, t, dtype, true), update), true);
    }
    if (kind == 4) {
        kn_scatter_reduce_args args = {.reduction = below(d, 2) ? KN_SCATTER_SUM : KN_SCATTER_MAX,
                                       .exclude_self = below(d, 2)};
        kn_tensor at = indices(d, t, s.dims[axis]);
        drawn_result(d, kn_scatter_reduce(x, axis, at, drawn_operand(d, t, dtype, true), &args), true);
    }
    if (kind == 5) {
        kn_tensor mask = drawn_operand(d, s, KN_BOOL, false);
        if (below(d, 2)) drawn_result(d, kn_mask_select(x, mask), true);
        drawn_result(d, kn_mask_where(x, mask, drawn_operand(d, s, dtype, true)), true);
        drawn_result(d, kn_nonzero(mask), false);
    }
}

static void tuples(drawn *d)
{
    kn_shape s = drawn_shape(d, 2 + (int32_t)below(d, 3), MOST);
    kn_dtype dtype = some_dtype(d);
    kn_tensor x = drawn_operand(d, s, dtype, true);
    int32_t used = 1 + (int32_t)below(d, s.rank);
    int64_t n = drawn_size(d, 500);
    kn_tensor columns[8];
    for (int32_t i = 0; i < used; i++)
        columns[i] = kn_keep(kn_cast(indices(d, KN_SHAPE(n), s.dims[i]), KN_I64));
    kn_shape t = {1 + s.rank - used, {n}};
    for (int32_t i = used; i < s.rank; i++) t.dims[1 + i - used] = s.dims[i];
    if (drawn_count(t) > 4 * MOST) return;
    kn_tensor at = kn_keep(kn_stack(columns, used, 1));
    int kind = (int)below(d, 3);
    drawn_note(d, "used", used);
    drawn_note(d, "kind", kind);
    if (kind == 0) drawn_result(d, kn_gather_nd(x, at), true);
    if (kind == 1)
        drawn_result(d,
                     kn_scatter_nd(x, at, drawn_operand(d, t, dtype, true),
                                   below(d, 2) ? KN_UPDATE_ADD : KN_UPDATE_ASSIGN),
                     true);
    if (kind == 2) drawn_result(d, kn_index(x, columns, used), true);
}

static void movement(drawn *d)
{
    kn_shape s = drawn_shape(d, 1 + (int32_t)below(d, 4), MOST / 2);
    kn_dtype dtype = some_dtype(d);
    kn_tensor x = drawn_operand(d, s, dtype, true);
    int32_t axis = (int32_t)below(d, s.rank);
    int kind = (int)below(d, 8);
    drawn_note(d, "axis", axis);
    drawn_note(d, "kind", kind);
    if (kind == 0) {
        kn_pad_args args = {
            .before = {s.rank, {0}}, .after = {s.rank, {0}}, .mode = (kn_pad_mode)below(d, 4), .value = 2};
        for (int32_t i = 0; i < s.rank; i++) {
            int64_t most = args.mode == KN_PAD_REFLECT ? s.dims[i] : 4;
            args.before.dims[i] = below(d, most > 4 ? 4 : most);
            args.after.dims[i] = below(d, most > 4 ? 4 : most);
            if (args.mode == KN_PAD_WRAP && args.before.dims[i] > s.dims[i]) args.before.dims[i] = 0;
            if (args.mode == KN_PAD_WRAP && args.after.dims[i] > s.dims[i]) args.after.dims[i] = 0;
        }
        drawn_result(d, kn_pad(x, &args), true);
    }
    if (kind == 1) {
        kn_tensor parts[3] = {x};
        for (int i = 1; i < 3; i++) {
            kn_shape t = s;
            t.dims[axis] = drawn_size(d, 40);
            parts[i] = drawn_operand(d, t, dtype, true);
        }
        drawn_result(d, drawn_tail(d, kn_concat(parts, 3, axis)), true);
    }
    if (kind == 2) drawn_result(d, kn_roll_dim(x, below(d, 9) - 4, axis), true);
    if (kind == 3) drawn_result(d, kn_repeat_interleave(x, 1 + below(d, 4), axis), true);
    if (kind == 4) drawn_result(d, kn_repeat_dim(x, axis, 1 + below(d, 4)), true);
    if (kind == 5) {
        int64_t size = drawn_size(d, s.dims[axis] < 20 ? s.dims[axis] : 20);
        drawn_result(d, kn_unfold_axis(x, axis, size, 1 + below(d, 5)), true);
    }
    if (kind == 6) {
        kn_range ranges[8];
        for (int32_t i = 0; i < s.rank; i++) {
            int64_t from = below(d, s.dims[i]);
            ranges[i] = (kn_range){from, KN_END, 1 + below(d, 3)};
        }
        kn_shape t = kn_shape_of_tensor(kn_keep(kn_slice_ranges(x, ranges, s.rank)));
        drawn_result(d, kn_slice_assign(x, ranges, s.rank, drawn_operand(d, t, dtype, true)), true);
    }
    if (kind == 7) {
        kn_ints turn = {s.rank, {0}};
        for (int32_t i = 0; i < s.rank; i++) turn.dims[i] = (i + axis) % s.rank;
        kn_tensor y = kn_reshape(kn_permute(x, turn), KN_SHAPE(-1));
        drawn_result(d, kn_dtype_is_float(dtype) ? drawn_tail(d, y) : y, true);
    }
}

int main(int n, char **words)
{
    static const drawn_row rows[] = {{"embedding", embedding, 30},
                                     {"along", along, 50},
                                     {"tuples", tuples, 25},
                                     {"movement", movement, 45}};
    return drawn_main(rows, (int)(sizeof rows / sizeof *rows), n, words);
}
