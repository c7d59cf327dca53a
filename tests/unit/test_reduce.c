/* Reductions: what is special about ties, NaN, empty axes, shapes and errors, and that results have the same bits
   on every tier and with every number of threads. */
#include "../support/check.h"
#include "core/backends.h"
#include "core/device_object.h"
#include "support/tiers.h"
#include <math.h>
#include <stdlib.h>

static const double nan_value = NAN;

static kn_tensor vector(kn_dtype dtype, int n, const double *v)
{
    return kn_cast(kn_from(v, KN_F64, KN_SHAPE(n)), dtype);
}
#define VECTOR(dtype, ...)                                                                                   \
    vector(dtype, (int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)), (double[]){__VA_ARGS__})

static void dtypes(void)
{
    CHECK(kn_dtype_of(kn_sum(VECTOR(KN_I8, 1, 2), KN_AXES_ALL, false)) == KN_I64);
    CHECK(kn_dtype_of(kn_prod(VECTOR(KN_BOOL, 1, 1), KN_AXES_ALL, false)) == KN_I64);
    CHECK(kn_dtype_of(kn_sum(VECTOR(KN_BF16, 1, 2), KN_AXES_ALL, false)) == KN_BF16);
    CHECK(kn_dtype_of(kn_max(VECTOR(KN_U16, 1, 2), KN_AXES_ALL, false)) == KN_U16);
    CHECK(kn_dtype_of(kn_any(VECTOR(KN_F32, 1, 2), KN_AXES_ALL, false)) == KN_BOOL);
    CHECK(kn_item_int(kn_sum(VECTOR(KN_I8, 100, 100, 100), KN_AXES_ALL, false)) == 300);
    CHECK_POISON(kn_mean(VECTOR(KN_I32, 1, 2), KN_AXES_ALL, false), "kn_mean: does not take i32");
    CHECK_POISON(kn_mean(VECTOR(KN_I32, 1, 2), KN_AXES_ALL, false), "kn_cast()");
    CHECK_POISON(kn_var(VECTOR(KN_I64, 1, 2), KN_AXES_ALL, false, NULL), "kn_var: does not take i64");
    uint64_t big[] = {UINT64_MAX, 1, UINT64_MAX - 1};
    kn_tensor u = kn_keep(kn_from(big, KN_U64, KN_SHAPE(3)));
    CHECK((uint64_t)kn_item_int(kn_cast(kn_max(u, KN_AXES_ALL, false), KN_I64)) == UINT64_MAX);
    CHECK(kn_item_int(kn_argmax(u, 0, false)) == 0);
    CHECK(kn_item_int(kn_argmin(u, 0, false)) == 1);
    CHECK(kn_item_int(kn_sum(u, KN_AXES_ALL, false)) == -2);
    kn_drop(u);
}

/* Half types add in f32: 2048 + 1 is 2048 in f16. */
static void halves(void)
{
    kn_tensor x = kn_keep(kn_ones(KN_SHAPE(3, 4096), KN_F16));
    CHECK(kn_item(kn_sum(kn_narrow(x, 0, 0, 1), KN_AXES_ALL, false)) == 4096);
    CHECK(kn_item(kn_mean(x, KN_AXES_ALL, false)) == 1);
    CHECK(kn_item(kn_sum(kn_narrow(kn_transpose(x, 0, 1), 1, 0, 1), KN_AXES_ALL, false)) == 4096);
    kn_drop(x);
}

static void empty(void)
{
    kn_tensor x = kn_keep(kn_zeros(KN_SHAPE(2, 0, 3), KN_F32));
    CHECK_VALUES(kn_sum(x, KN_AXES(1), false), 0, 0, 0, 0, 0, 0, 0);
    CHECK_VALUES(kn_prod(x, KN_AXES(0, 1), false), 0, 1, 1, 1);
    CHECK(kn_item(kn_mean(x, KN_AXES_ALL, false)) != kn_item(kn_mean(x, KN_AXES_ALL, false)));
    CHECK(kn_item_int(kn_all(x, KN_AXES_ALL, false)) == 1);
    CHECK(kn_item_int(kn_any(x, KN_AXES_ALL, false)) == 0);
    CHECK(isinf(kn_item(kn_logsumexp(x, KN_AXES_ALL, false))));
    CHECK_POISON(kn_max(x, KN_AXES(1), false),
                 "kn_max: max over an empty axis has no value: axis 1 of [2, 0, 3]");
    CHECK_POISON(kn_min(x, KN_AXES_ALL, false), "min over an empty axis has no value");
    CHECK_POISON(kn_argmax(x, -2, false), "argmax over an empty axis has no value");
    CHECK_POISON(kn_max_with_indices(x, 1, false).indices, "empty axis has no value");
    CHECK(kn_count(kn_max(x, KN_AXES(0), false)) == 0); /* the reduced axis itself has elements */
    kn_drop(x);
}

static void axes(void)
{
    kn_tensor x = kn_keep(kn_arange(0, 24, 1, KN_F32));
    x = kn_keep(kn_reshape(x, KN_SHAPE(2, 3, 4)));
    CHECK(kn_rank(kn_sum(x, KN_AXES_ALL, false)) == 0);
    CHECK(kn_rank(kn_sum(x, KN_AXES_ALL, true)) == 3);
    CHECK_VALUES(kn_sum(x, KN_AXES(-1, 0), false), 0, 60, 92, 124);
    CHECK_VALUES(kn_max(x, KN_AXES(1), false), 0, 8, 9, 10, 11, 20, 21, 22, 23);
    CHECK_VALUES(kn_argmax(x, -1, true), 0, 3, 3, 3, 3, 3, 3);
    CHECK_POISON(kn_sum(x, KN_AXES(3), false), "kn_sum: axis 3 is outside a tensor of rank 3 (-3 to 2)");
    CHECK_POISON(kn_sum(x, KN_AXES(0, -3), false), "axis 0 is named twice");
    CHECK_POISON(kn_argmax(x, -4, false), "axis -4");
    CHECK_VALUES(kn_sum_to(x, KN_SHAPE(3, 1)), 0, 60, 92, 124);
    CHECK_VALUES(kn_sum_to(x, KN_SCALAR_SHAPE), 0, 276);
    CHECK_POISON(kn_sum_to(x, KN_SHAPE(2, 4)), "kn_sum_to: [2, 3, 4] is not a broadcast of [2, 4]");
    CHECK_POISON(kn_sum_to(KN_NONE, KN_SHAPE(1)), "kn_sum_to");
    kn_tensor number = kn_keep(kn_scalar(7, KN_F32));
    CHECK(kn_item(kn_sum(number, KN_AXES(-1), false)) == 7);
    CHECK(kn_item_int(kn_argmax(number, 0, false)) == 0);
    CHECK_POISON(kn_sum(number, KN_AXES(1), false), "axis 1");
}

static void ties_and_nan(void)
{
    CHECK(kn_item_int(kn_argmax(VECTOR(KN_F32, 1, 3, 3, 2), 0, false)) == 1);
    CHECK(kn_item_int(kn_argmin(VECTOR(KN_F32, 2, 1, 5, 1), 0, false)) == 1);
    CHECK(kn_item_int(kn_argmax(VECTOR(KN_F64, 1, nan_value, INFINITY, nan_value), 0, false)) == 1);
    CHECK(isnan(kn_item(kn_max(VECTOR(KN_F32, 1, nan_value, 3), KN_AXES_ALL, false))));
    CHECK(isnan(kn_item(kn_min(VECTOR(KN_F16, nan_value, 1, 3), KN_AXES_ALL, false))));
    kn_indexed r = kn_max_with_indices(VECTOR(KN_F32, 4, nan_value, 9), 0, false);
    CHECK(isnan(kn_item(r.values)) && kn_item_int(r.indices) == 1);
    CHECK(kn_item_int(kn_contains_nan(VECTOR(KN_F32, 1, nan_value))) == 1);
    CHECK(kn_item_int(kn_contains_nan(VECTOR(KN_I32, 1, 2))) == 0);
    CHECK(kn_item(kn_nansum(VECTOR(KN_F32, 1, nan_value, 3), KN_AXES_ALL, false)) == 4);
    CHECK(kn_item(kn_nanmean(VECTOR(KN_F32, 1, nan_value, 3), KN_AXES_ALL, false)) == 2);
    CHECK(kn_item_int(kn_count_nonzero(VECTOR(KN_F32, 0, nan_value, -0.0, 3), KN_AXES_ALL, false)) == 2);
    CHECK(kn_item(kn_std(VECTOR(KN_F64, 5, 5, 5), KN_AXES_ALL, false, NULL)) == 0);
    CHECK(isnan(kn_item(kn_var(VECTOR(KN_F64, 5), KN_AXES_ALL, false, NULL))));
    CHECK(kn_item(kn_var(VECTOR(KN_F64, 1, 3), KN_AXES_ALL, false, &(kn_var_args){.biased = true})) == 1);
}

/* A correction above the count divides by 0, not by less than 0: the variance is infinite, its slope as well. */
static void corrections_above_the_count(void)
{
    static const char *const devices[] = {"cpu", "ref", "fusion(cpu)", "autodiff(cpu)"};
    static const kn_dtype floats[] = {KN_F64, KN_F32, KN_F16, KN_BF16};
    const kn_var_args args = {.correction = 5};
    for (int i = 0; i < 16; i++) {
        kn_scope scope = kn_scope_begin();
        kn_device_use(kn_device_open(devices[i / 4]));
        kn_tensor x = kn_keep(VECTOR(floats[i % 4], 1, 3)), g;
        CHECK(kn_item(kn_var(x, KN_AXES_ALL, false, &args)) == INFINITY);
        CHECK(kn_item(kn_std(x, KN_AXES_ALL, false, &args)) == INFINITY);
        CHECK(kn_item(kn_cov(x, &args)) == INFINITY);
        if (i / 4 == 3) {
            x = kn_require_grad(x);
            kn_tensor y = kn_keep(kn_var(x, KN_AXES_ALL, false, &args));
            CHECK(kn_grad(&y, NULL, 1, &x, 1, 0, &g) == KN_OK);
            CHECK_VALUES(g, 0, -INFINITY, INFINITY);
        }
        kn_device_use(kn_device_cpu());
        kn_scope_end(scope, KN_NONE);
    }
}

/* ---- the same bits everywhere */

static float *random_floats(int64_t n)
{
    float *x = malloc((size_t)n * sizeof *x);
    uint32_t state = 12345;
    for (int64_t i = 0; x && i < n; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = (float)(int32_t)state * 0x1p-31f;
    }
    return x;
}

enum { KEPT_RESULTS = 8, MOST = 1 << 12 };

static void run_all(kn_tensor x, double (*results)[MOST], int *counts)
{
    kn_tensor y[KEPT_RESULTS] = {
        kn_sum(x, KN_AXES(0), false),  kn_sum(x, KN_AXES(1), false),
        kn_sum(x, KN_AXES_ALL, false), kn_sum(kn_transpose(x, 0, 1), KN_AXES(0), false),
        kn_prod(x, KN_AXES(1), false), kn_max(x, KN_AXES(0), false),
        kn_argmax(x, 0, false),        kn_argmin(x, 1, false)};
    for (int i = 0; i < KEPT_RESULTS; i++) {
        counts[i] = (int)kn_count(y[i]);
        CHECK(counts[i] > 0 && counts[i] <= MOST);
        CHECK(kn_read_as(y[i], KN_F64, results[i], (size_t)counts[i] * sizeof(double)) == KN_OK);
        kn_drop(y[i]);
    }
}

static void equal_bits(int64_t rows, int64_t columns, kn_dtype dtype)
{
    static double first[KEPT_RESULTS][MOST], other[KEPT_RESULTS][MOST];
    int counts[KEPT_RESULTS];
    float *data = random_floats(rows * columns);
    kn_tensor x = kn_own(kn_cast(kn_from(data, KN_F32, KN_SHAPE(rows, columns)), dtype));
    free(data);
    kni_cpu_set_tier(KNI_ISA_SCALAR);
    kn_set_threads(1);
    run_all(x, first, counts);
    for (int tier = 0; tier < KNI_ISA_COUNT; tier++) {
        if (!tier_runs((kni_tier)tier)) continue;
        kni_cpu_set_tier((kni_tier)tier);
        for (int threads = 1; threads <= 3; threads++) {
            kn_set_threads(threads);
            run_all(x, other, counts);
            for (int i = 0; i < KEPT_RESULTS; i++)
                CHECK(memcmp(first[i], other[i], (size_t)counts[i] * sizeof(double)) == 0);
        }
    }
    kn_drop(x);
}

/* A sum of many terms is far closer than adding one after the other would be. */
static void accuracy(void)
{
    int64_t n = 1 << 21;
    float *data = random_floats(n);
    double exact = 0, size = 0;
    for (int64_t i = 0; i < n; i++) {
        exact += data[i];
        size += fabs(data[i]);
    }
    kn_tensor x = kn_keep(kn_from(data, KN_F32, KN_SHAPE(n)));
    double by_lanes = kn_item(kn_sum(x, KN_AXES_ALL, false));
    double by_columns =
        kn_item(kn_sum(kn_sum(kn_reshape(x, KN_SHAPE(n / 4, 4)), KN_AXES(0), false), KN_AXES_ALL, false));
    CHECK(fabs(by_lanes - exact) < 4e-8 * size);
    CHECK(fabs(by_columns - exact) < 4e-8 * size);
    kn_drop(x);
    free(data);
}

/* The rounded mean is no part of the spread: equal elements have none, however large they are. */
static void variance_of_equal_elements(void)
{
    static const float equal[5] = {1.2345679e10f, 1.2345679e10f, 1.2345679e10f, 1.2345679e10f, 1.2345679e10f};
    static const char *const specs[] = {"cpu", "fusion(cpu)", "ref"};
    for (int i = 0; i < 3; i++) {
        kn_device_use(kn_device_open(specs[i]));
        CHECK(kn_item(kn_var(kn_from(equal, KN_F32, KN_SHAPE(5)), KN_AXES_ALL, false, NULL)) == 0);
    }
    kn_device_use(kn_device_cpu());
}

/* ---- against the reference backend, on views that take every path of the CPU */

static void compare(kn_tensor cpu, kn_tensor ref, double tolerance)
{
    static double a[1 << 15], b[1 << 15];
    int64_t n = kn_count(cpu);
    CHECK(n == kn_count(ref) && n <= 1 << 15);
    CHECK(kn_read_as(cpu, KN_F64, a, (size_t)n * sizeof *a) == KN_OK);
    CHECK(kn_read_as(ref, KN_F64, b, (size_t)n * sizeof *b) == KN_OK);
    int64_t wrong = 0;
    for (int64_t i = 0; i < n; i++) wrong += !(fabs(a[i] - b[i]) <= tolerance * (1 + fabs(b[i])));
    CHECK(wrong == 0);
    kn_drop(cpu);
    kn_drop(ref);
}

static kn_tensor view_of(kn_tensor x, int kind)
{
    if (kind == 1) return kn_permute(x, KN_AXES(2, 0, 1));
    if (kind == 2) return kn_slice(x, 2, 0, KN_END, 2);
    if (kind == 3) return kn_flip(x, KN_AXES(1));
    if (kind == 4) return kn_expand(kn_narrow(x, 1, 0, 1), kn_shape_of_tensor(x));
    if (kind == 5) return kn_transpose(kn_slice(x, 0, 1, KN_END, 1), 0, 2);
    return kn_alias(x);
}

static void against_reference(int64_t a, int64_t b, int64_t c, kn_dtype dtype, kn_device ref)
{
    const kn_ints sets[] = {KN_AXES(0),    KN_AXES(1),    KN_AXES(2), KN_AXES(0, 1),
                            KN_AXES(0, 2), KN_AXES(1, 2), KN_AXES_ALL};
    float *data = random_floats(a * b * c);
    for (int64_t i = 0; i < a * b * c; i++) data[i] *= 100;
    kn_tensor x = kn_own(kn_cast(kn_from(data, KN_F32, KN_SHAPE(a, b, c)), dtype));
    kn_device_use(ref);
    kn_tensor y = kn_own(kn_cast(kn_from(data, KN_F32, KN_SHAPE(a, b, c)), dtype));
    kn_device_use(kn_device_cpu());
    free(data);
    double tolerance = dtype == KN_F32 ? 2e-4 : dtype == KN_F16 ? 4e-3 : 1e-9;
    for (int kind = 0; kind < 6; kind++) {
        kn_scope s = kn_scope_begin();
        kn_tensor p = kn_keep(view_of(x, kind)), q = kn_keep(view_of(y, kind));
        for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
            compare(kn_sum(p, sets[i], false), kn_sum(q, sets[i], false), tolerance * 100);
            compare(kn_max(p, sets[i], true), kn_max(q, sets[i], true), 0);
            compare(kn_min(p, sets[i], false), kn_min(q, sets[i], false), 0);
            compare(kn_any(p, sets[i], false), kn_any(q, sets[i], false), 0);
            if (kn_dtype_is_float(dtype))
                compare(kn_mean(p, sets[i], false), kn_mean(q, sets[i], false), tolerance);
        }
        for (int axis = 0; axis < 3; axis++) {
            compare(kn_argmax(p, axis, false), kn_argmax(q, axis, false), 0);
            compare(kn_argmin(p, axis, false), kn_argmin(q, axis, false), 0);
        }
        kn_scope_end(s, KN_NONE);
    }
    kn_drop(x);
    kn_drop(y);
}

static void paths(void)
{
    kn_device ref = kni_device_make(kni_ref_backend(), "ref");
    const kn_dtype kinds[] = {KN_F32, KN_F16, KN_F64, KN_I32, KN_U8, KN_U64, KN_BOOL};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        against_reference(5, 7, 3, kinds[i], ref);
        against_reference(3, 70, 17, kinds[i], ref);
        against_reference(300, 2, 5, kinds[i], ref);
        against_reference(2, 3, 1100, kinds[i], ref);
    }
    against_reference(70, 3, 300, KN_F32, ref);
    against_reference(9000, 1, 3, KN_F32, ref);
}

/* Every allocation of a reduction that makes partial results fails once. */
static void no_memory(void)
{
    float *data = random_floats(1 << 20);
    kn_tensor x = kn_own(kn_from(data, KN_F32, KN_SHAPE(1 << 20)));
    free(data);
    int64_t before = kn_memory_stats().bytes_now;
    for (int k = 1; k < 8; k++) {
        kn_scope s = kn_scope_begin();
        kn_memory_fail_after(k);
        kn_tensor y = kn_sum(x, KN_AXES_ALL, false);
        kn_memory_fail_after(0);
        CHECK(kn_ok(y) || kn_error_code(y) == KN_ERROR_MEMORY);
        kn_memory_fail_after(k);
        y = kn_argmax(x, 0, false);
        kn_memory_fail_after(0);
        CHECK(kn_ok(y) || kn_error_code(y) == KN_ERROR_MEMORY);
        kn_scope_end(s, KN_NONE);
    }
    kn_memory_trim();
    CHECK(kn_memory_stats().bytes_now <= before + 4096);
    kn_drop(x);
}

int main(void)
{
    kn_device_use(kn_device_cpu());
    dtypes();
    halves();
    empty();
    axes();
    ties_and_nan();
    corrections_above_the_count();
    accuracy();
    variance_of_equal_elements();
    paths();
    no_memory();
    equal_bits(37, 1999, KN_F32);
    equal_bits(4000, 33, KN_F32);
    equal_bits(700, 130, KN_F64);
    equal_bits(129, 1030, KN_F16);
    equal_bits(4096, 3, KN_F32);
    equal_bits(3, 4000, KN_I32);
    return check_report();
}
