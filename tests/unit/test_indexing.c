/* Indexing: indices outside their axis, order of repeated updates, ownership, empties, failing allocations,
   gradients with repeated indices. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* mmap */
#endif
#include "support/check.h"
#include <sys/mman.h>
#include <unistd.h>

static kn_tensor indices(kn_shape shape, const int64_t *values) { return kn_from(values, KN_I64, shape); }
#define INDEX(...)                                                                                           \
    indices(KN_SHAPE(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),                              \
            (const int64_t[]){__VA_ARGS__})

static kn_tensor count_up(kn_shape shape, kn_dtype dtype)
{
    int64_t n = 1;
    for (int i = 0; i < shape.rank; i++) n *= shape.dims[i];
    return kn_reshape(kn_arange(0, (double)n, 1, dtype), shape);
}

/* ---- reading */

static void test_reading(void)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(count_up(KN_SHAPE(3, 4), KN_F32));
    CHECK_VALUES(kn_index_take(x, 0, INDEX(2, -3)), 0, 8, 9, 10, 11, 0, 1, 2, 3);
    CHECK_VALUES(kn_index_take(x, 1, kn_scalar_int(1, KN_I32)), 0, 1, 5, 9);
    CHECK_VALUES(kn_index_take(kn_t(x), 0, INDEX(3)), 0, 3, 7, 11);
    CHECK_VALUES(kn_gather(x, 1, kn_reshape(INDEX(3, 0), KN_SHAPE(2, 1))), 0, 3, 4);
    CHECK_VALUES(kn_gather_nd(x, kn_reshape(INDEX(2, 3, -1, 0), KN_SHAPE(2, 2))), 0, 11, 8);
    CHECK(kn_count(kn_index_take(x, 0, kn_zeros(KN_SHAPE(0), KN_I64))) == 0);
    CHECK(kn_count(kn_index_take(kn_zeros(KN_SHAPE(2, 0), KN_F32), 0, INDEX(1, 1))) == 0);
    CHECK_VALUES(kn_gather_along(x, 1, kn_reshape(INDEX(-1, 0), KN_SHAPE(1, 2))), 0, 3, 0, 7, 4, 11, 8);
    kn_scope_end(scope, KN_NONE);
}

/* Every dtype names the same trouble; on devices that find it late the axis may be missing. */
static void test_outside(void)
{
    static const kn_dtype dtypes[] = {KN_F32, KN_F64, KN_F16, KN_BF16, KN_I64,
                                      KN_I32, KN_I16, KN_U8,  KN_BOOL};
    for (int d = 0; d < (int)(sizeof dtypes / sizeof *dtypes); d++) {
        kn_scope scope = kn_scope_begin();
        kn_tensor x = kn_keep(kn_zeros(KN_SHAPE(2, 5), dtypes[d])),
                  v = kn_keep(kn_ones(KN_SCALAR_SHAPE, dtypes[d]));
        kn_tensor far = kn_keep(INDEX(0, 7)), square = kn_keep(kn_reshape(INDEX(0, 7), KN_SHAPE(1, 2)));
        CHECK_POISON(kn_index_take(x, 1, far), "kn_index_take: index 7 is out of range");
        CHECK_POISON(kn_index_take(x, 1, INDEX(-6)), "index -6 is out of range");
        CHECK_POISON(kn_gather(x, 1, square), "kn_gather: index 7 is out of range");
        CHECK_POISON(kn_gather_nd(x, square), "kn_gather_nd: index 7 is out of range");
        for (int update = KN_UPDATE_ASSIGN; update <= KN_UPDATE_MAX; update++) {
            CHECK_POISON(kn_index_assign(x, 1, far, v, (kn_update)update),
                         "kn_index_assign: index 7 is out of range");
            CHECK_POISON(kn_scatter(x, 1, square, v, (kn_update)update),
                         "kn_scatter: index 7 is out of range");
            CHECK_POISON(kn_scatter_nd(x, square, kn_reshape(v, KN_SHAPE(1)), (kn_update)update),
                         "index 7 is out of range");
        }
        CHECK_POISON(kn_put(x, INDEX(10), v, KN_UPDATE_ASSIGN), "kn_put: index 10 is out of range");
        CHECK(kn_error_code(kn_index_take(x, 1, far)) == KN_ERROR_INDEX);
        kn_scope_end(scope, KN_NONE);
    }
    kn_scope scope = kn_scope_begin();
    CHECK_POISON(kn_index_take(kn_zeros(KN_SHAPE(0), KN_F32), 0, INDEX(0)), "index 0 is out of range");
    CHECK_POISON(kn_index_take(kn_zeros(KN_SHAPE(3), KN_F32), 0, INDEX(INT64_MIN)), "out of range");
    CHECK_POISON(kn_index_take(kn_zeros(KN_SHAPE(3), KN_F32), 0, INDEX(INT64_MAX)), "out of range");
    kn_scope_end(scope, KN_NONE);
}

/* Where no element moves no index is looked at. */
static void test_nothing_moves(void)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(kn_zeros(KN_SHAPE(2, 0), KN_F32)), far = kn_keep(INDEX(7));
    kn_tensor tuple = kn_keep(kn_reshape(INDEX(7), KN_SHAPE(1, 1))),
              v = kn_keep(kn_zeros(KN_SHAPE(1, 0), KN_F32));
    CHECK(kn_ok(kn_index_take(x, 0, far)));
    CHECK(kn_ok(kn_gather_nd(x, tuple)));
    CHECK(kn_ok(kn_index_assign(x, 0, far, v, KN_UPDATE_ASSIGN)));
    CHECK(kn_ok(kn_scatter_nd(x, tuple, v, KN_UPDATE_ADD)));
    CHECK_POISON(kn_index_assign(kn_zeros(KN_SHAPE(0, 2), KN_F32), 0, far, kn_ones(KN_SHAPE(1, 2), KN_F32),
                                 KN_UPDATE_ASSIGN),
                 "index 7 is out of range");
    kn_scope_end(scope, KN_NONE);
}

static void test_clear_text(void)
{
    kn_scope scope = kn_scope_begin();
    CHECK_POISON(kn_index_take(kn_zeros(KN_SHAPE(2, 5), KN_F32), 1, INDEX(7)),
                 "index 7 is out of range for axis 1 of size 5");
    CHECK_POISON(kn_gather_nd(kn_zeros(KN_SHAPE(2, 5), KN_F32), kn_reshape(INDEX(1, -6), KN_SHAPE(1, 2))),
                 "index -6 is out of range for axis 1 of size 5");
    CHECK_POISON(kn_put(kn_zeros(KN_SHAPE(2, 5), KN_F16), INDEX(10), kn_scalar(1, KN_F16), KN_UPDATE_ADD),
                 "index 10 is out of range for axis 0 of size 10");
    kn_scope_end(scope, KN_NONE);
}

/* ---- writing */

static void test_order_of_updates(void)
{
    static const kn_dtype dtypes[] = {KN_F32, KN_F16, KN_I64, KN_U8};
    for (int d = 0; d < 4; d++) {
        kn_scope scope = kn_scope_begin();
        kn_tensor x = kn_keep(kn_full(KN_SHAPE(3), 2, dtypes[d])), at = kn_keep(INDEX(1, 0, 1, 1));
        kn_tensor v = kn_keep(kn_arange(3, 7, 1, dtypes[d]));
        CHECK_VALUES(kn_index_assign(x, 0, at, v, KN_UPDATE_ASSIGN), 0, 4, 6, 2);
        CHECK_VALUES(kn_scatter(x, 0, at, v, KN_UPDATE_ASSIGN), 0, 4, 6, 2);
        CHECK_VALUES(kn_scatter_nd(x, kn_unsqueeze(at, 1), v, KN_UPDATE_ASSIGN), 0, 4, 6, 2);
        CHECK_VALUES(kn_index_assign(x, 0, at, v, KN_UPDATE_ADD), 0, 6, 16, 2);
        CHECK_VALUES(kn_scatter(x, 0, at, v, KN_UPDATE_MUL), 0, 8, 180, 2);
        CHECK_VALUES(kn_scatter(x, 0, at, v, KN_UPDATE_MAX), 0, 4, 6, 2);
        CHECK_VALUES(kn_scatter(x, 0, at, v, KN_UPDATE_MIN), 0, 2, 2, 2);
        CHECK_VALUES(x, 0, 2, 2, 2);
        kn_scope_end(scope, KN_NONE);
    }
    kn_scope scope = kn_scope_begin();
    kn_tensor nan = kn_keep(kn_full(KN_SHAPE(1), __builtin_nan(""), KN_F32)),
              one = kn_keep(kn_ones(KN_SHAPE(1), KN_F32));
    kn_tensor zero = kn_keep(INDEX(0));
    CHECK_VALUES(kn_scatter(nan, 0, zero, one, KN_UPDATE_MAX), 0, __builtin_nan(""));
    CHECK_VALUES(kn_scatter(one, 0, zero, nan, KN_UPDATE_MIN), 0, __builtin_nan(""));
    CHECK_VALUES(kn_index_assign(kn_zeros(KN_SHAPE(2), KN_BOOL), 0, INDEX(1, 1),
                                 kn_ones(KN_SHAPE(2), KN_BOOL), KN_UPDATE_ADD),
                 0, 0, 1);
    kn_scope_end(scope, KN_NONE);
}

static void test_write_errors(void)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(kn_zeros(KN_SHAPE(2, 3), KN_F32)), at = kn_keep(INDEX(0, 1));
    CHECK_POISON(kn_index_assign(x, 0, at, kn_zeros(KN_SHAPE(2, 4), KN_F32), KN_UPDATE_ADD),
                 "values of [2, 4] where [2, 3] is due");
    CHECK_POISON(kn_index_assign(x, 0, at, kn_zeros(KN_SHAPE(2, 3), KN_I32), KN_UPDATE_ADD),
                 "values are i32, the tensor is f32: convert with kn_cast()");
    CHECK_POISON(kn_scatter(x, 0, at, kn_zeros(KN_SHAPE(2), KN_F32), KN_UPDATE_ADD), "does not fit");
    CHECK_POISON(
        kn_scatter(x, 0, kn_zeros(KN_SHAPE(1, 9), KN_I64), kn_zeros(KN_SHAPE(1, 9), KN_F32), KN_UPDATE_ADD),
        "an index of [1, 9] is larger than [2, 3]");
    CHECK_POISON(kn_scatter_nd(x, kn_zeros(KN_SHAPE(1, 3), KN_I64), x, KN_UPDATE_ADD),
                 "name 3 axes of [2, 3]");
    CHECK_POISON(kn_index_take(x, 0, kn_zeros(KN_SHAPE(2), KN_F32)), "must be an integer, not f32");
    CHECK_POISON(kn_index_take(x, 0, kn_zeros(KN_SHAPE(1, 1, 1, 1, 1, 1, 1, 1), KN_I64)),
                 "has rank 9; 8 is the highest");
    CHECK_POISON(kn_index_select(x, 0, kn_zeros(KN_SHAPE(1, 1), KN_I64)),
                 "indices must have rank 1, not [1, 1]");
    kn_tensor bad = kn_poison(KN_ERROR_ARGUMENT, "the first failure");
    CHECK_POISON(kn_scatter(x, 0, at, bad, KN_UPDATE_ADD), "the first failure");
    CHECK_POISON(kn_put(bad, at, x, KN_UPDATE_ADD), "the first failure");
    CHECK_POISON(kn_gather(x, 0, bad), "the first failure");
    CHECK_POISON(kn_gather_along(bad, 0, at), "the first failure");
    CHECK_POISON(kn_mask_select(x, bad), "the first failure");
    CHECK_POISON(kn_mask_select(bad, x), "the first failure");
    CHECK_POISON(kn_nonzero(bad), "the first failure");
    CHECK_POISON(kn_mask_fill(bad, x, 1), "the first failure");
    kn_range ranges[3] = {{0, 1, 1}};
    CHECK_POISON(kn_slice_fill(bad, ranges, 1, 1), "the first failure");
    CHECK_POISON(kn_slice_fill(x, ranges, 3, 1), "3 ranges given for the 2 axes of [2, 3]");
    CHECK_POISON(kn_slice_assign(x, ranges, 1, kn_zeros(KN_SHAPE(4), KN_F32)), "does not expand");
    kn_scope_end(scope, KN_NONE);
}

/* ---- masks */

static void test_masks(void)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(count_up(KN_SHAPE(2, 3), KN_F32)),
              odd = kn_keep(kn_equal_scalar(kn_remainder_scalar(x, 2), 1));
    CHECK_VALUES(kn_mask_select(x, odd), 0, 1, 3, 5);
    CHECK_VALUES(kn_nonzero(odd), 0, 0, 1, 1, 0, 1, 2);
    CHECK(kn_count(kn_mask_select(x, kn_zeros(KN_SHAPE(2, 3), KN_BOOL))) == 0);
    kn_nonzero_result some = kn_nonzero_bounded(odd, 2);
    CHECK_VALUES(some.indices, 0, 0, 1, 1, 0);
    CHECK_VALUES(some.count, 0, 3);
    kn_mask_select_result more = kn_mask_select_bounded(x, odd, 5);
    CHECK_VALUES(more.values, 0, 1, 3, 5, 0, 0);
    CHECK_VALUES(more.count, 0, 3);
    more = kn_mask_select_bounded(kn_zeros(KN_SHAPE(0), KN_F32), kn_zeros(KN_SHAPE(0), KN_BOOL), 2);
    CHECK_VALUES(more.values, 0, 0, 0);
    kn_tensor axes[2];
    CHECK(kn_nonzero_axes(odd, axes) == KN_OK);
    CHECK_VALUES(axes[1], 0, 1, 0, 2);
    kn_shape s = kn_shape_of_tensor(kn_keep(kn_nonzero(kn_scalar(3, KN_F32))));
    CHECK(s.rank == 2 && s.dims[0] == 1 && s.dims[1] == 0);
    CHECK_POISON(kn_nonzero_bounded(x, -1).indices, "capacity -1 is negative");
    CHECK_POISON(kn_mask_select(x, x), "the mask must be bool, not f32");
    CHECK_POISON(kn_mask_select(x, kn_zeros(KN_SHAPE(4), KN_BOOL)), "kn_mask_select");
    kn_scope_end(scope, KN_NONE);
}

/* ---- memory */

/* A line of several blocks that ends where memory ends: nothing behind it is read. */
static void test_end_of_memory(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), n = (3 * ((size_t)1 << 14) / page) * page;
    char *memory = mmap(NULL, n + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!CHECK(memory != MAP_FAILED && mprotect(memory + n, page, PROT_NONE) == 0)) return;
    memory[n - 1] = 1;
    kn_tensor x = kn_keep(kn_wrap(memory, KN_BOOL, KN_SHAPE((int64_t)n), NULL, NULL, NULL));
    kn_nonzero_result r = kn_nonzero_bounded(x, 10);
    CHECK(kn_item_int(r.count) == 1 && kn_item_int(kn_sum(r.indices, KN_AXES_ALL, false)) == (int64_t)n - 1);
    kn_drop(x);
    munmap(memory, n + page);
}

static void test_memory(void)
{
    int64_t before = kn_memory_stats().tensors_now;
    bool finished = false, poisoned = false;
    for (int64_t nth = 1; nth < 400 && !finished; nth++) {
        kn_scope scope = kn_scope_begin();
        kn_memory_fail_after(nth);
        kn_tensor x = kn_keep(count_up(KN_SHAPE(4, 5), KN_F32)),
                  at = kn_keep(kn_cast(INDEX(3, -1, 0), KN_I32));
        kn_tensor y = kn_index_take(kn_t(x), 1, at);
        y = kn_scatter(y, 0, kn_zeros(KN_SHAPE(2, 2), KN_I64), kn_ones(KN_SCALAR_SHAPE, KN_F32),
                       KN_UPDATE_ADD);
        y = kn_mask_select(y, kn_greater_scalar(kn_keep(kn_alias(y)), 3));
        finished = kn_ok(y);
        poisoned |= !kn_ok(y);
        kn_memory_fail_after(0);
        kn_scope_end(scope, KN_NONE);
    }
    CHECK(finished && poisoned);
    CHECK(kn_memory_stats().tensors_now == before);
}

/* ---- gradients */

static kn_tensor f_indexed(void *context, const kn_tensor *in, int32_t n)
{
    (void)n;
    kn_update update = *(const kn_update *)context;
    kn_tensor y = kn_index_take(in[0], 0, INDEX(0, -1, 0, 2));
    y = kn_keep(kn_scatter(y, 1, kn_reshape(INDEX(1, 1, 0, 2), KN_SHAPE(2, 2)), in[1], update));
    y = kn_index_assign(y, 1, INDEX(2, 2), kn_index_take(y, 1, INDEX(0, 1)),
                        update == KN_UPDATE_ASSIGN ? KN_UPDATE_ADD : update);
    return kn_gather_nd(y, kn_reshape(INDEX(0, 2, 3, 1, 0, 2), KN_SHAPE(3, 2)));
}

static kn_tensor f_selected(void *context, const kn_tensor *in, int32_t n)
{
    (void)context, (void)n;
    kn_tensor mask = kn_keep(kn_greater_scalar(in[0], 0));
    kn_tensor first = kn_keep(kn_mask_select_bounded(in[0], mask, 5).values);
    return kn_mul(kn_sum(kn_mask_select(in[0], mask), KN_AXES_ALL, false), kn_mul(first, first));
}

static void test_gradients(void)
{
    kn_device device = kn_device_open("autodiff(cpu)");
    CHECK(device != NULL);
    kn_device_use(device);
    kn_scope scope = kn_scope_begin();
    kn_tensor in[2] = {kn_keep(kn_random_normal(KN_SHAPE(3, 3), 0, 1, KN_F64)),
                       kn_keep(kn_random_normal(KN_SHAPE(2, 2), 0, 1, KN_F64))};
    for (kn_update u = KN_UPDATE_ADD; u <= KN_UPDATE_MAX; u = (kn_update)(u + 1)) {
        bool good = kn_gradcheck(f_indexed, &u, in, 2, 0) == KN_OK;
        if (!good) printf("update %d: %s\n", (int)u, kn_last_error());
        CHECK(good);
    }
    CHECK(kn_gradcheck(f_selected, NULL, in, 1, 0) == KN_OK);
    kn_scope_end(scope, KN_NONE);
    kn_device_use(NULL);
}

int main(void)
{
    kn_device reference = kn_device_open("ref");
    for (int round = 0; round < 2; round++) {
        kn_device_use(round ? reference : NULL);
        test_reading();
        test_outside();
        test_nothing_moves();
        test_order_of_updates();
        test_write_errors();
        test_masks();
    }
    kn_device_use(NULL);
    test_clear_text();
    test_end_of_memory();
    test_memory();
    test_gradients();
    return check_report();
}
