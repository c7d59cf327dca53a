/* Sorting, searching, counting: order of NaN, zeros and equal elements, long lines, bounded twins, errors. */
#include "../support/check.h"
#include <kn/autodiff.h>
#include <kn/device.h>
#include <math.h>
#include <stdlib.h>

static kn_tensor line(kn_dtype dtype, int n, const double *v)
{
    return kn_cast(kn_from(v, KN_F64, KN_SHAPE(n)), dtype);
}
#define LINE(dtype, ...)                                                                                     \
    line(dtype, (int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)), (double[]){__VA_ARGS__})
#define CHECK_INDEXED(result, name, ...)                                                                     \
    do {                                                                                                     \
        kn_indexed r_ = (result);                                                                            \
        CHECK_VALUES(r_.name, 0, __VA_ARGS__);                                                               \
        kn_drop(r_.values);                                                                                  \
        kn_drop(r_.indices);                                                                                 \
    } while (0)

static void order(void)
{
    CHECK_INDEXED(kn_sort(LINE(KN_F32, 3, NAN, -INFINITY, 1, INFINITY, NAN), 0, false), values, -INFINITY, 1,
                  3, INFINITY, NAN, NAN);
    CHECK_INDEXED(kn_sort(LINE(KN_F32, 3, NAN, -INFINITY, 1, INFINITY, NAN), 0, false), indices, 2, 3, 0, 4,
                  1, 5);
    CHECK_INDEXED(kn_sort(LINE(KN_F64, 3, NAN, 1, NAN), 0, true), indices, 1, 3, 0, 2);
    /* -0 equals 0, and equal elements keep their order both ways. */
    CHECK_INDEXED(kn_sort(LINE(KN_F32, 0, -0.0, 0, -1), 0, false), indices, 3, 0, 1, 2);
    CHECK_INDEXED(kn_sort(LINE(KN_F16, 2, 1, 2, 1), 0, true), indices, 0, 2, 1, 3);
    CHECK_INDEXED(kn_sort(LINE(KN_BOOL, 1, 0, 1, 0), 0, false), indices, 1, 3, 0, 2);
    uint64_t big[] = {UINT64_MAX, 0, INT64_MAX, (uint64_t)INT64_MAX + 1};
    CHECK_INDEXED(kn_sort(kn_from(big, KN_U64, KN_SHAPE(4)), 0, false), indices, 1, 2, 3, 0);
    int64_t low[] = {0, INT64_MIN, INT64_MAX, -1};
    CHECK_INDEXED(kn_sort(kn_from(low, KN_I64, KN_SHAPE(4)), 0, true), indices, 2, 0, 3, 1);
    CHECK_INDEXED(kn_topk(kn_from(low, KN_I64, KN_SHAPE(4)), 2, 0, &(kn_topk_args){.smallest = true}),
                  indices, 1, 3);
    CHECK_VALUES(kn_argsort(LINE(KN_I32, 3, 1, 2), -1, false), 0, 1, 2, 0);
}

static void picks(void)
{
    CHECK_INDEXED(kn_topk(LINE(KN_F32, 1, 5, 5, 3, 5), 2, 0, NULL), indices, 1, 2);
    CHECK_INDEXED(kn_topk(LINE(KN_F32, 1, 4, 5, 3, 6), 3, 0, &(kn_topk_args){.unsorted = true}), indices, 1,
                  2, 4);
    CHECK_INDEXED(kn_topk(LINE(KN_F32, 1, NAN, 5), 2, 0, NULL), indices, 1, 2);
    CHECK_INDEXED(kn_kthvalue(LINE(KN_F32, 7, 3, 3, 1), 3, 0, false), indices, 2);
    CHECK_INDEXED(kn_median(LINE(KN_F32, 4, 1, 3, 2), 0, false), values, 2);
    CHECK_INDEXED(kn_median(LINE(KN_F32, 4, NAN, 3, NAN), 0, false), indices, 1);
    CHECK_INDEXED(kn_median(LINE(KN_I32, 9), 0, true), values, 9);
    CHECK_INDEXED(kn_mode(LINE(KN_I32, 3, 1, 3, 1, 2), 0, false), values, 1);
    CHECK_INDEXED(kn_mode(LINE(KN_I32, 3, 1, 3, 1, 2), 0, false), indices, 3);
    CHECK_VALUES(kn_quantile(LINE(KN_F64, 4, 1, 3, 2), 0.5, 0, false), 0, 2.5);
    CHECK_VALUES(kn_quantile(LINE(KN_F64, 4, NAN, 3, 2), 0.5, 0, false), 0, NAN);
    CHECK_INDEXED(kn_median(kn_scalar(2, KN_F32), 0, false), values, 2);
    CHECK_INDEXED(kn_mode(kn_scalar(2, KN_F32), 0, false), values, 2);
    CHECK_VALUES(kn_quantile(kn_scalar(2, KN_F32), 0.3, 0, false), 0, 2);
}

/* Orders that are hard for other ways of sorting and choosing, against the standard library. */
static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static void long_lines(void)
{
    enum { N = 50000 };
    float *v = malloc(N * sizeof *v), *want = malloc(N * sizeof *want), *got = malloc(N * sizeof *got);
    for (int kind = 0; kind < 5; kind++) {
        for (int i = 0; i < N; i++)
            v[i] = kind == 0   ? (float)i
                   : kind == 1 ? (float)-i
                   : kind == 2 ? 1.0f
                   : kind == 3 ? (float)(i % 7)
                               : (float)((i * 48271u) % 65537u) - 30000.5f;
        memcpy(want, v, N * sizeof *v);
        qsort(want, N, sizeof *want, by_value);
        kn_tensor x = kn_keep(kn_from(v, KN_F32, KN_SHAPE(N)));
        kn_indexed r = kn_sort(x, 0, false);
        CHECK(kn_read(kn_gather(x, 0, kn_keep(r.indices)), got, N * sizeof *got) == KN_OK);
        CHECK(memcmp(want, got, N * sizeof *got) == 0);
        CHECK(kn_read(r.values, got, N * sizeof *got) == KN_OK);
        CHECK(memcmp(want, got, N * sizeof *got) == 0);
        CHECK(kn_item(kn_kthvalue(x, 12345, 0, false).values) == (double)want[12344]);
        CHECK(kn_item(kn_median(x, 0, false).values) == (double)want[(N - 1) / 2]);
        CHECK(kn_read(kn_topk(x, 100, 0, &(kn_topk_args){.smallest = true}).values, got, 100 * sizeof *got) ==
              KN_OK);
        CHECK(memcmp(want, got, 100 * sizeof *got) == 0);
        kn_drop(x);
    }
    free(v);
    free(want);
    free(got);
}

static void search(void)
{
    kn_tensor sorted = kn_keep(LINE(KN_F32, 1, 2, 2, 4, NAN));
    CHECK_VALUES(kn_searchsorted(sorted, LINE(KN_F32, 0, 2, 3, 5, NAN), false), 0, 0, 1, 3, 4, 4);
    CHECK_VALUES(kn_searchsorted(sorted, LINE(KN_F32, 0, 2, 3, 5, NAN), true), 0, 0, 3, 3, 4, 5);
    CHECK_VALUES(kn_bucketize(LINE(KN_F32, 0, 2, 9), kn_narrow(sorted, 0, 0, 4), false), 0, 0, 1, 4);
    CHECK_POISON(kn_searchsorted(sorted, LINE(KN_I32, 1), false), "sorted is f32 and values is i32");
    CHECK_POISON(kn_searchsorted(kn_scalar(1, KN_F32), LINE(KN_F32, 1), false), "at least one axis");
    CHECK_POISON(kn_bucketize(LINE(KN_F32, 0), kn_zeros(KN_SHAPE(2, 2), KN_F32), false),
                 "boundaries must have rank 1");
}

static void distinct(void)
{
    kn_unique_result u = kn_unique(kn_reshape(LINE(KN_I16, 3, 1, 3, 2, 1, 3), KN_SHAPE(2, 3)));
    CHECK_VALUES(u.values, 0, 1, 2, 3);
    CHECK_VALUES(u.inverse, 0, 2, 0, 2, 1, 0, 2);
    CHECK_VALUES(u.counts, 0, 2, 1, 3);
    CHECK(kn_rank(u.inverse) == 2);
    kn_unique_bounded_result b = kn_unique_bounded(LINE(KN_F32, NAN, 1, NAN, 1, -0.0, 0));
    CHECK_VALUES(b.values, 0, 0, 1, NAN, NAN, 0, 0);
    CHECK_VALUES(b.counts, 0, 2, 2, 1, 1, 0, 0);
    CHECK(kn_item_int(b.count) == 4);
    CHECK(kn_count(kn_unique(kn_zeros(KN_SHAPE(0), KN_F32)).values) == 0);
    CHECK_POISON(kn_unique(KN_NONE).values, "kn_unique");
}

static void counting(void)
{
    CHECK_VALUES(kn_bincount(LINE(KN_U8, 1, 3, 1), KN_NONE, 0), 0, 0, 2, 0, 1);
    CHECK_VALUES(kn_bincount(LINE(KN_I64, 1, 3, 1), LINE(KN_F32, 0.5, 2, 1), 6), 0, 0, 1.5, 0, 2, 0, 0);
    CHECK(kn_count(kn_bincount(kn_zeros(KN_SHAPE(0), KN_I32), KN_NONE, 0)) == 0);
    CHECK_POISON(kn_bincount(LINE(KN_I32, 1, -2), KN_NONE, 0), "kn_bincount: index -2 is out of range");
    CHECK_POISON(kn_bincount_bounded(LINE(KN_I32, 1, 5), KN_NONE, 5), "index 5 is out of range");
    CHECK_POISON(kn_bincount(LINE(KN_F32, 1), KN_NONE, 0), "must be an integer");
    CHECK_POISON(kn_bincount(LINE(KN_I32, 1), KN_NONE, -1), "min_length is -1");
    int64_t top[] = {INT64_MAX};
    CHECK(!kn_ok(kn_bincount(kn_from(top, KN_I64, KN_SHAPE(1)), KN_NONE, 0)));
    kn_histogram_result h =
        kn_histogram(LINE(KN_F32, 0, 1, 2, 3, 4, NAN), 2, &(kn_histogram_args){.low = 0, .high = 4});
    CHECK_VALUES(h.counts, 0, 2, 3);
    CHECK_VALUES(h.edges, 0, 0, 2, 4);
    CHECK_POISON(kn_histogram(LINE(KN_F32, 1), 0, NULL).counts, "kn_histogram: 0 bins asked for");
    CHECK_POISON(kn_histogram(LINE(KN_F32, 1), 1, &(kn_histogram_args){.low = 2, .high = 1}).edges,
                 "upside down");
}

static void errors(void)
{
    CHECK_POISON(kn_sort(LINE(KN_F32, 1, 2), 1, false).indices, "kn_sort: axis 1");
    CHECK_POISON(kn_topk(LINE(KN_F32, 1, 2), 3, 0, NULL).values,
                 "kn_topk: k is 3 and axis 0 of [2] has size 2");
    CHECK_POISON(kn_argtopk(LINE(KN_F32, 1, 2), -1, 0, NULL), "kn_argtopk: k is -1");
    CHECK_POISON(kn_kthvalue(LINE(KN_F32, 1, 2), 0, 0, false).values, "k must be 1 to that size");
    CHECK_POISON(kn_median(kn_zeros(KN_SHAPE(3, 0), KN_F32), 1, false).values, "kn_median");
    CHECK_POISON(kn_median(LINE(KN_F32, 1), 3, false).values, "axis 3");
    CHECK_POISON(kn_mode(LINE(KN_F32, 1), 3, false).values, "kn_mode");
    CHECK_POISON(kn_quantile(LINE(KN_F32, 1), 2.0, 0, false), "q is 2: it must be 0 to 1");
    CHECK_POISON(kn_quantile(KN_NONE, 0.5, 0, false), "kn_quantile");
    CHECK_POISON(kn_histogram(KN_NONE, 3, NULL).counts, "kn_histogram");
}

static void gradients(void)
{
    kn_device d = kn_device_autodiff(kn_device_cpu());
    kn_device_use(d);
    kn_scope s = kn_scope_begin();
    kn_tensor x = kn_keep(kn_require_grad(LINE(KN_F64, 3, 1, 2)));
    kn_grads grads;
    kn_tensor weights = LINE(KN_F64, 10, 20, 30);
    CHECK(kn_backward(kn_sum(kn_mul(kn_sort(x, 0, false).values, weights), KN_AXES_ALL, false), &grads) ==
          KN_OK);
    CHECK_VALUES(kn_grads_get(grads, x), 0, 30, 10, 20);
    kn_grads_free(grads);
    CHECK(kn_backward(kn_median(x, 0, false).values, &grads) == KN_OK);
    CHECK_VALUES(kn_grads_get(grads, x), 0, 0, 0, 1);
    kn_grads_free(grads);
    /* kn_max shares the gradient between equal elements, kn_max_with_indices gives it to the first. */
    kn_tensor ties = kn_keep(kn_require_grad(LINE(KN_F64, 2, 5, 5)));
    CHECK(kn_backward(kn_max(ties, KN_AXES_ALL, false), &grads) == KN_OK);
    CHECK_VALUES(kn_grads_get(grads, ties), 0, 0, 0.5, 0.5);
    kn_grads_free(grads);
    CHECK(kn_backward(kn_max_with_indices(ties, 0, false).values, &grads) == KN_OK);
    CHECK_VALUES(kn_grads_get(grads, ties), 0, 0, 1, 0);
    kn_grads_free(grads);
    kn_tensor unique = kn_unique_bounded(x).values;
    CHECK_ERROR(kn_backward(kn_sum(unique, KN_AXES_ALL, false), &grads), "unique");
    kn_scope_end(s, KN_NONE);
    kn_device_use(kn_device_cpu());
}

static void no_memory(void)
{
    kn_tensor x = kn_own(kn_random_uniform(KN_SHAPE(5000), 0, 1, KN_F32));
    for (int k = 1; k < 12; k++) {
        kn_scope s = kn_scope_begin();
        kn_memory_fail_after(k);
        kn_tensor y = kn_sort(x, 0, false).values;
        kn_memory_fail_after(0);
        CHECK(kn_ok(y) || kn_error_code(y) == KN_ERROR_MEMORY);
        kn_memory_fail_after(k);
        y = kn_unique_bounded(x).values;
        kn_memory_fail_after(0);
        CHECK(kn_ok(y) || kn_error_code(y) == KN_ERROR_MEMORY);
        kn_memory_fail_after(k);
        y = kn_searchsorted(x, x, false);
        kn_memory_fail_after(0);
        CHECK(kn_ok(y) || kn_error_code(y) == KN_ERROR_MEMORY);
        kn_scope_end(s, KN_NONE);
    }
    kn_drop(x);
}

int main(void)
{
    kn_device_use(kn_device_cpu());
    order();
    picks();
    long_lines();
    search();
    distinct();
    counting();
    errors();
    gradients();
    no_memory();
    return check_report();
}
