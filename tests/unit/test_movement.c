/* Movement: ranges, views and copies at their limits, errors with their texts, ownership, failing allocations,
   and gradients of the composites. */
#include "support/check.h"
#include <stdlib.h>

static kn_tensor count_up(kn_shape shape)
{
    int64_t n = 1;
    for (int i = 0; i < shape.rank; i++) n *= shape.dims[i];
    return kn_reshape(kn_arange(0, (double)n, 1, KN_F32), shape);
}

static bool has_shape(kn_tensor t, kn_shape want)
{
    kn_shape s = kn_shape_of_tensor(t);
    bool same = s.rank == want.rank;
    for (int i = 0; same && i < s.rank; i++) same = s.dims[i] == want.dims[i];
    return same;
}

/* ---- views */

static void test_views_share_memory(void)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(count_up(KN_SHAPE(4, 6)));
    int64_t strides[KN_MAX_RANK];
    int64_t before = kn_memory_stats().bytes_now;
    kn_tensor t = kn_keep(kn_t(x)), s = kn_keep(kn_slice(x, 1, -1, KN_END, -2)),
              e = kn_keep(kn_expand(x, KN_SHAPE(3, 4, 6)));
    kn_tensor w = kn_keep(kn_unfold_axis(x, 1, 3, 2)), r = kn_keep(kn_reshape(x, KN_SHAPE(2, 2, 3, 2)));
    CHECK(kn_memory_stats().bytes_now == before);
    CHECK(kn_strides(t, strides) == KN_OK && strides[0] == 1 && strides[1] == 6);
    CHECK(kn_strides(s, strides) == KN_OK && strides[0] == 6 && strides[1] == -2);
    CHECK(kn_strides(e, strides) == KN_OK && strides[0] == 0 && strides[1] == 6);
    CHECK(kn_strides(w, strides) == KN_OK && strides[1] == 2 && strides[2] == 1);
    CHECK(kn_strides(r, strides) == KN_OK && strides[0] == 12 && strides[3] == 1);
    CHECK_VALUES(kn_slice(s, 0, 0, 1, 1), 0, 5, 3, 1);
    kn_scope_end(scope, KN_NONE);
}

static void test_reshape_of_views(void)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(count_up(KN_SHAPE(2, 3, 4)));
    CHECK_VALUES(kn_reshape(kn_t(x), KN_SHAPE(2, 12)), 0, 0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11, 12, 16, 20,
                 13, 17, 21, 14, 18, 22, 15, 19, 23);
    CHECK_VALUES(kn_reshape(kn_slice(x, 1, 1, 2, 1), KN_SHAPE(8)), 0, 4, 5, 6, 7, 16, 17, 18, 19);
    CHECK_VALUES(kn_reshape(kn_flip(kn_slice(x, 0, 0, 1, 1), KN_AXES(1, 2)), KN_SHAPE(12)), 0, 11, 10, 9, 8,
                 7, 6, 5, 4, 3, 2, 1, 0);
    CHECK_VALUES(kn_reshape(kn_scalar(3, KN_F32), KN_SHAPE(1, 1)), 0, 3);
    CHECK_VALUES(kn_reshape(kn_expand(kn_scalar(3, KN_F32), KN_SHAPE(2, 2)), KN_SHAPE(4)), 0, 3, 3, 3, 3);
    kn_scope_end(scope, KN_NONE);
}

/* One of the sizes may be left to be found, wherever it stands. */
static void test_unflatten(void)
{
    static const struct {
        int32_t axis;
        kn_shape sizes, want;
    } rows[] = {
        {1, {2, {2, 3}}, {4, {2, 2, 3, 4}}},
        {1, {2, {-1, 3}}, {4, {2, 2, 3, 4}}},
        {1, {2, {2, -1}}, {4, {2, 2, 3, 4}}},
        {-2, {3, {1, -1, 6}}, {5, {2, 1, 1, 6, 4}}},
        {1, {1, {-1}}, {3, {2, 6, 4}}},
        {0, {2, {-1, 1}}, {4, {2, 1, 6, 4}}},
        {2, {3, {2, -1, 2}}, {5, {2, 6, 2, 1, 2}}},
    };
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(count_up(KN_SHAPE(2, 6, 4)));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kn_tensor y = kn_keep(kn_unflatten(x, rows[i].axis, rows[i].sizes));
        kn_shape got = kn_shape_of_tensor(y);
        bool same = CHECK(kn_ok(y)) && got.rank == rows[i].want.rank;
        for (int k = 0; same && k < got.rank; k++) same = got.dims[k] == rows[i].want.dims[k];
        CHECK(same);
        CHECK(kn_item_int(kn_all(kn_equal(kn_flatten(y, 0, -1), kn_flatten(x, 0, -1)), KN_AXES_ALL, false)) ==
              1);
    }
    CHECK_POISON(kn_unflatten(x, 1, KN_SHAPE(4, -1)), "the sizes [4, -1] do not make up axis 1 of [2, 6, 4]");
    CHECK_POISON(kn_unflatten(x, 1, KN_SHAPE(2, 4)), "the sizes [2, 4] do not make up axis 1 of [2, 6, 4]");
    CHECK_POISON(kn_unflatten(x, 1, KN_SHAPE(12, -1)), "the sizes [12, -1] do not make up axis 1");
    CHECK_POISON(kn_unflatten(x, 1, KN_SHAPE(0, -1)), "the sizes [0, -1] do not make up axis 1");
    kn_scope_end(scope, KN_NONE);
}

/* Four quarter turns are none, in either direction and any number of times. */
static void test_quarter_turns(void)
{
    static const double turned[4][6] = {
        {0, 1, 2, 3, 4, 5}, {2, 5, 1, 4, 0, 3}, {5, 4, 3, 2, 1, 0}, {3, 0, 4, 1, 5, 2}};
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(count_up(KN_SHAPE(2, 3)));
    for (int k = -9; k <= 9; k++) {
        const double *want = turned[(k + 12) % 4];
        kn_tensor y = kn_keep(kn_rot90(x, k, 0, 1));
        CHECK(kn_shape_of_tensor(y).dims[0] == (k % 2 ? 3 : 2));
        if (!CHECK_VALUES(y, 0, want[0], want[1], want[2], want[3], want[4], want[5]))
            printf("%d quarter turns\n", k);
    }
    kn_scope_end(scope, KN_NONE);
}

static void test_transposed_copies(void)
{
    static const kn_dtype dtypes[] = {KN_U8, KN_F16, KN_F32, KN_F64};
    for (int d = 0; d < 4; d++) {
        kn_scope scope = kn_scope_begin();
        int64_t rows = 67, columns = 131;
        kn_tensor x =
            kn_cast(kn_remainder_scalar(kn_arange(0, (double)(rows * columns), 1, KN_I32), 119), dtypes[d]);
        kn_tensor y = kn_keep(kn_flatten(kn_t(kn_reshape(x, KN_SHAPE(rows, columns))), 0, -1));
        double *values = malloc(sizeof(double) * (size_t)(rows * columns));
        bool good = kn_read_as(y, KN_F64, values, sizeof(double) * (size_t)(rows * columns)) == KN_OK;
        for (int64_t i = 0; good && i < rows * columns; i++)
            good = values[i] == (double)((i % rows * columns + i / rows) % 119);
        CHECK(good);
        free(values);
        kn_scope_end(scope, KN_NONE);
    }
}

static void test_ranges(void)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(kn_arange(0, 5, 1, KN_I64));
    CHECK_VALUES(kn_slice(x, 0, 1, KN_END, 1), 0, 1, 2, 3, 4);
    CHECK_VALUES(kn_slice_ranges(x, &(kn_range){1, KN_END, 0}, 1), 0, 1, 2, 3, 4);
    CHECK_POISON(kn_slice(x, 0, 1, KN_END, 0), "kn_slice: a step of 0");
    CHECK_VALUES(kn_slice(x, 0, -2, 99, 1), 0, 3, 4);
    CHECK_VALUES(kn_slice(x, 0, 3, KN_END, -2), 0, 3, 1);
    CHECK_VALUES(kn_slice(x, 0, 3, INT64_MIN, -3), 0, 3, 0);
    CHECK_VALUES(kn_slice(x, 0, 2, KN_END, INT64_MAX), 0, 2);
    CHECK_VALUES(kn_slice(x, 0, 2, KN_END, INT64_MIN), 0, 2);
    CHECK(has_shape(kn_slice(x, 0, 4, 1, 1), KN_SHAPE(0)));
    CHECK(has_shape(kn_slice(x, 0, INT64_MIN, INT64_MIN, 1), KN_SHAPE(0)));
    CHECK(has_shape(kn_slice(x, 0, 1, 4, -1), KN_SHAPE(0)));
    CHECK(has_shape(kn_slice(kn_zeros(KN_SHAPE(0), KN_F32), 0, 0, KN_END, -1), KN_SHAPE(0)));
    kn_scope_end(scope, KN_NONE);
}

/* ---- ranks and sizes at their limits */

static void test_limits(void)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor deep = kn_keep(kn_zeros(KN_SHAPE(1, 2, 1, 2, 1, 2, 1, 2), KN_F32));
    CHECK(has_shape(kn_permute(deep, KN_AXES(7, 6, 5, 4, 3, 2, 1, 0)), KN_SHAPE(2, 1, 2, 1, 2, 1, 2, 1)));
    CHECK_POISON(kn_unsqueeze(deep, 0), "kn_unsqueeze: [1, 2, 1, 2, 1, 2, 1, 2] has no room for more axes");
    CHECK_POISON(kn_unfold_axis(deep, 1, 1, 1), "has no room for another axis");
    CHECK_POISON(kn_reshape(deep, (kn_shape){9, {0}}), "rank 9 is outside 0 to 8");
    CHECK_POISON(kn_expand(kn_zeros(KN_SHAPE(1), KN_F32), KN_SHAPE(INT64_MAX, 3)), "2^63 bytes");
    CHECK_POISON(kn_repeat_dim(kn_zeros(KN_SHAPE(3), KN_F32), 0, INT64_MAX / 2), "more than 2^63");
    CHECK_POISON(kn_pad(kn_zeros(KN_SHAPE(3), KN_F32), &(kn_pad_args){.before = KN_INTS(INT64_MAX)}),
                 "too large");
    CHECK(has_shape(kn_reshape(kn_zeros(KN_SHAPE(0, 5), KN_F32), KN_SHAPE(INT64_MAX, 0)),
                    KN_SHAPE(INT64_MAX, 0)));
    kn_tensor empty = kn_keep(kn_zeros(KN_SHAPE(0, 3), KN_F32));
    kn_tensor pair[2] = {empty, empty};
    CHECK(has_shape(kn_concat(pair, 2, 1), KN_SHAPE(0, 6)));
    CHECK(has_shape(kn_stack(pair, 2, 0), KN_SHAPE(2, 0, 3)));
    CHECK(has_shape(kn_stack(pair, 1, 0), KN_SHAPE(1, 0, 3))); /* one tensor gets its axis, too */
    CHECK(has_shape(kn_roll(empty, KN_INTS(1), KN_AXES(0)), KN_SHAPE(0, 3)));
    CHECK(has_shape(kn_flip(empty, KN_AXES_ALL), KN_SHAPE(0, 3)));
    CHECK(has_shape(kn_pad(empty, &(kn_pad_args){.before = KN_INTS(1, 0)}), KN_SHAPE(1, 3)));
    CHECK_VALUES(kn_flip(kn_scalar(7, KN_I32), KN_AXES_ALL), 0, 7);
    CHECK_VALUES(kn_flatten(kn_scalar(7, KN_I32), 0, -1), 0, 7);
    kn_scope_end(scope, KN_NONE);
}

static void test_errors(void)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(count_up(KN_SHAPE(2, 3)));
    kn_tensor both[2] = {x, kn_keep(count_up(KN_SHAPE(3, 2)))};
    CHECK_POISON(kn_transpose(x, 0, 2), "kn_transpose: axis 2 is outside a tensor of rank 2 (-2 to 1)");
    CHECK_POISON(kn_narrow(x, 1, 2, 2), "kn_narrow: 2 elements from 2 are not inside axis 1 of [2, 3]");
    CHECK_POISON(kn_select(x, 0, -3), "kn_select: index -3 is out of range for axis 0 of size 2");
    CHECK_POISON(kn_concat(both, 2, 0), "operand 1 of [3, 2] does not fit the first of [2, 3]");
    CHECK_POISON(kn_stack(both, 2, 0), "tensor 1 of [3, 2] differs from the first of [2, 3]");
    CHECK_POISON(kn_concat(both, 0, 0), "nothing to join");
    CHECK_POISON(kn_flip(x, KN_AXES(0, 0)), "axis 0 is named twice");
    CHECK_POISON(kn_tile(x, (kn_ints){9, {0}}), "9 repeats");
    CHECK_POISON(kn_repeat_interleave(x, -1, 0), "-1 repeats");
    CHECK_POISON(kn_pad(x, &(kn_pad_args){.before = KN_INTS(1), .mode = (kn_pad_mode)9}),
                 "9 is no padding mode");
    CHECK_POISON(kn_rot90(x, 1, 1, -1), "two different axes");
    CHECK_POISON(kn_reshape(KN_NONE, KN_SHAPE(1)), "kn_reshape");
    CHECK_POISON(kn_transpose(KN_NONE, 0, 1), "kn_transpose");
    kn_tensor bad = kn_poison(KN_ERROR_ARGUMENT, "the first failure");
    CHECK_POISON(kn_narrow(bad, 0, 0, 1), "the first failure");
    CHECK_POISON(kn_roll(bad, KN_INTS(1), KN_AXES(0)), "the first failure");
    CHECK_POISON(kn_pad(bad, NULL), "the first failure");
    CHECK_POISON(kn_tile(bad, KN_INTS(2)), "the first failure");
    both[1] = bad;
    CHECK_POISON(kn_stack(both, 2, 0), "the first failure");
    kn_scope_end(scope, KN_NONE);
}

/* ---- lists */

static void test_splits(void)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(count_up(KN_SHAPE(7, 2))), out[8];
    int32_t n = 8;
    CHECK(kn_split(x, 3, 0, out, &n) == KN_OK && n == 3);
    CHECK_VALUES(out[2], 0, 12, 13);
    n = 8;
    CHECK(kn_chunk(x, 5, 0, out, &n) == KN_OK && n == 4);
    CHECK(has_shape(out[3], KN_SHAPE(1, 2)));
    n = 2;
    CHECK_ERROR(kn_split(x, 3, 0, out, &n), "room for 2");
    CHECK(n == 0);
    n = 8;
    CHECK_ERROR(kn_split(x, 0, 0, out, &n), "parts of 0 elements");
    CHECK_ERROR(kn_split(x, 3, 5, out, &n), "axis 5 is outside");
    CHECK_ERROR(kn_chunk(x, 0, 0, out, &n), "0 parts");
    CHECK_ERROR(kn_split(kn_poison(KN_ERROR_NUMERIC, "gone"), 3, 0, out, &n), "carries an error");
    const int64_t sizes[] = {3, 0, 4};
    CHECK(kn_split_with_sizes(x, sizes, 3, 0, out) == KN_OK && has_shape(out[1], KN_SHAPE(0, 2)));
    CHECK_ERROR(kn_split_with_sizes(x, sizes, 2, 0, out), "do not add up to the 7 of axis 0");
    CHECK_POISON(out[0], "do not add up");
    n = 8;
    CHECK(kn_split(kn_zeros(KN_SHAPE(0, 2), KN_F32), 3, 0, out, &n) == KN_OK && n == 1);
    kn_scope_end(scope, KN_NONE);
}

static void test_long_lists(void)
{
    enum { COUNT = 200 };
    kn_scope scope = kn_scope_begin();
    kn_tensor many[COUNT];
    for (int i = 0; i < COUNT; i++) many[i] = kn_full(KN_SHAPE(1), i, KN_F32);
    kn_tensor y = kn_keep(kn_concat(many, COUNT, 0));
    double values[COUNT];
    bool good = kn_read_as(y, KN_F64, values, sizeof values) == KN_OK;
    for (int i = 0; good && i < COUNT; i++) good = values[i] == i;
    CHECK(good);
    CHECK(!kn_ok(many[0]));
    for (int i = 0; i < COUNT; i++) many[i] = kn_full(KN_SHAPE(2), i, KN_F32);
    CHECK(has_shape(kn_stack(many, COUNT, -1), KN_SHAPE(2, COUNT)));
    kn_scope_end(scope, KN_NONE);
}

static void test_grids(void)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor lines[2] = {kn_keep(kn_arange(0, 2, 1, KN_I64)), kn_keep(kn_arange(5, 8, 1, KN_I64))}, out[2];
    CHECK(kn_meshgrid(lines, 2, NULL, out) == KN_OK);
    CHECK_VALUES(out[0], 0, 0, 0, 0, 1, 1, 1);
    CHECK_VALUES(out[1], 0, 5, 6, 7, 5, 6, 7);
    CHECK(kn_meshgrid(lines, 2, &(kn_meshgrid_args){true, true}, out) == KN_OK &&
          has_shape(out[0], KN_SHAPE(1, 2)));
    CHECK(has_shape(kn_meshgrid_stack(lines, 2, NULL, 0), KN_SHAPE(2, 2, 3)));
    lines[1] = kn_keep(kn_zeros(KN_SHAPE(2, 2), KN_I64));
    CHECK_ERROR(kn_meshgrid(lines, 2, NULL, out), "tensor 1 must have rank 1, not [2, 2]");
    kn_scope_end(scope, KN_NONE);
}

/* ---- values stay, memory returns */

static void test_assignment_is_a_value(void)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(kn_zeros(KN_SHAPE(4), KN_F32)), view = kn_keep(kn_narrow(x, 0, 0, 2));
    kn_range first[1] = {{0, 2, 1}};
    CHECK_VALUES(kn_slice_fill(x, first, 1, 9), 0, 9, 9, 0, 0);
    CHECK_VALUES(x, 0, 0, 0, 0, 0);
    CHECK_VALUES(view, 0, 0, 0);
    CHECK_VALUES(kn_slice_fill(kn_slice_fill(kn_alias(x), first, 1, 9), first, 1, 3), 0, 3, 3, 0, 0);
    CHECK_VALUES(x, 0, 0, 0, 0, 0);
    kn_tensor y = kn_keep(kn_arange(0, 4, 1, KN_F32));
    CHECK_VALUES(kn_slice_assign(y, first, 1, kn_slice(y, 0, 1, 3, 1)), 0, 1, 2, 2, 3);
    kn_scope_end(scope, KN_NONE);
}

static void test_failing_allocations(void)
{
    int64_t before = kn_memory_stats().tensors_now;
    bool poisoned = false, finished = false;
    for (int64_t nth = 1; nth < 400 && !finished; nth++) {
        kn_scope scope = kn_scope_begin();
        kn_memory_fail_after(nth);
        kn_tensor x = count_up(KN_SHAPE(3, 5)), out[4];
        int32_t n = 4;
        (void)kn_split(kn_alias(x), 1, 0, out, &n);
        kn_tensor y = kn_keep(kn_pad(kn_tile(kn_t(x), KN_INTS(2, 1)), &(kn_pad_args){.after = KN_INTS(2)}));
        kn_tensor lines[2] = {y, y};
        kn_tensor z = kn_concat(lines, 2, 0);
        finished = kn_ok(z) && n > 0;
        poisoned |= !kn_ok(z);
        kn_memory_fail_after(0);
        kn_scope_end(scope, KN_NONE);
    }
    CHECK(poisoned && finished);
    CHECK(kn_memory_stats().tensors_now == before);
}

/* ---- gradients of composites, to second order by the conformance cases */

static kn_tensor f_moves(void *context, const kn_tensor *in, int32_t n)
{
    (void)context, (void)n;
    kn_tensor y = kn_roll(kn_flip(kn_t(in[0]), KN_AXES(0)), KN_INTS(1, 2), KN_AXES(0, 1));
    y = kn_repeat_interleave(kn_tile(y, KN_INTS(2, 1)), 2, 1);
    return kn_unfold_axis(kn_pad(y, &(kn_pad_args){KN_INTS(1, 2), KN_INTS(2, 1), KN_PAD_WRAP, 0}), 1, 4, 3);
}

static kn_tensor f_parts(void *context, const kn_tensor *in, int32_t n)
{
    (void)context, (void)n;
    kn_range ranges[2] = {{-1, KN_END, -2}, {1, 3, 1}};
    kn_tensor y = kn_keep(kn_slice_assign(in[0], ranges, 2, kn_mul(in[1], in[1])));
    kn_tensor parts[3] = {kn_narrow(y, 1, 0, 2), kn_select(y, 1, 1), kn_slice_ranges(y, ranges, 2)};
    parts[1] = kn_unsqueeze(parts[1], 1);
    parts[2] = kn_pad(parts[2], &(kn_pad_args){.after = KN_INTS(1, 0), .value = 2});
    return kn_concat(parts, 3, 1);
}

static void test_gradients(void)
{
    kn_device device = kn_device_open("autodiff(cpu)");
    CHECK(device != NULL);
    kn_device_use(device);
    kn_scope scope = kn_scope_begin();
    kn_tensor in[2] = {kn_keep(kn_random_normal(KN_SHAPE(3, 4), 0, 1, KN_F64)),
                       kn_keep(kn_random_normal(KN_SHAPE(2, 2), 0, 1, KN_F64))};
    CHECK(kn_gradcheck(f_moves, NULL, in, 1, 0) == KN_OK);
    CHECK(kn_gradcheck(f_parts, NULL, in, 2, 0) == KN_OK);
    kn_scope_end(scope, KN_NONE);
    kn_device_use(NULL);
}

static void test_padding_of_truths(void)
{
    const uint8_t one[1] = {1};
    kn_tensor y =
        kn_pad(kn_from(one, KN_BOOL, KN_SHAPE(1)), &(kn_pad_args){.before = KN_INTS(2), .value = 0.1});
    CHECK(kn_item_int(kn_sum(y, KN_AXES_ALL, false)) == 3); /* a fraction is true */
}

/* Buffers need not be aligned, whatever the dtype and the layout. */
static void test_any_address(void)
{
    enum { N = 600 };
    static unsigned char room[N * 8 + 8], want[N * 8];
    static const kn_dtype dtypes[] = {KN_F64, KN_F32, KN_F16, KN_BF16, KN_I64,
                                      KN_I32, KN_I16, KN_U8,  KN_BOOL};
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
        size_t bytes = (size_t)kn_dtype_bytes(dtypes[d], N);
        kn_tensor x = kn_keep(kn_reshape(kn_arange(0, N, 1, KN_F32), KN_SHAPE(20, 30)));
        kn_tensor y = kn_keep(kn_transpose(kn_cast(x, dtypes[d]), 0, 1));
        CHECK(kn_read(y, want, bytes) == KN_OK && kn_read(y, room + 1, bytes) == KN_OK);
        CHECK(!memcmp(want, room + 1, bytes));
        kn_tensor back = kn_from(room + 1, dtypes[d], KN_SHAPE(30, 20));
        CHECK(kn_read(back, room + 3, bytes) == KN_OK && !memcmp(want, room + 3, bytes));
        kn_tensor turned = kn_transpose(x, 0, 1);
        CHECK(kn_read_as(turned, dtypes[d], room + 1, bytes) == KN_OK && !memcmp(want, room + 1, bytes));
    }
}

static void run_all(void)
{
    test_any_address();
    test_padding_of_truths();
    test_views_share_memory();
    test_reshape_of_views();
    test_unflatten();
    test_quarter_turns();
    test_transposed_copies();
    test_ranges();
    test_limits();
    test_errors();
    test_splits();
    test_long_lists();
    test_grids();
    test_assignment_is_a_value();
}

int main(void)
{
    kn_device reference = kn_device_open("ref");
    run_all();
    test_failing_allocations();
    kn_device_use(reference);
    run_all();
    kn_device_use(NULL);
    test_gradients();
    return check_report();
}
