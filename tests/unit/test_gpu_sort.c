/* Sorting, what is made of it, and cumulative ops on devices that compile kernels: the CPU's bits on OpenCL where there is
   one, for lines around the sizes at which the kernels change; no memory is lost where there is too little, over a driver
   of paper. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* setenv */
#endif
#include "support/check.h"
#include "support/paper_device.h"
#include <math.h>
#include <stdlib.h>

static kn_device gpu;

static uint64_t state = 1;
static uint64_t draw(void)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return state >> 33;
}

enum { MANY, FEW, EQUAL }; /* different values, where the dtype has them */

/* On the CPU. Floats have NaN, both zeros and both infinities among them, whole numbers of 64 bits all digits. */
static kn_tensor make(kn_dtype dtype, kn_shape shape, int kind)
{
    static const double special[] = {0.0, -0.0, (double)INFINITY, -(double)INFINITY, (double)NAN};
    int64_t n = 1;
    for (int i = 0; i < shape.rank; i++) n *= shape.dims[i];
    double *real = malloc((size_t)(n ? n : 1) * 16);
    int64_t *whole = (int64_t *)(real + n);
    if (!real) return KN_NONE;
    for (int64_t i = 0; i < n; i++) {
        int64_t v = kind == EQUAL ? 5 : (int64_t)(draw() % (kind == FEW ? 11 : UINT64_C(1) << 31));
        real[i] = kind == MANY ? (double)v / 4096 - 200000 : (double)(v - 4);
        whole[i] = kind == MANY ? (int64_t)((uint64_t)v << 33 ^ draw()) : v;
        if (kind != EQUAL && draw() % 8 == 0) real[i] = special[draw() % 5];
    }
    bool wide = dtype == KN_I64 || dtype == KN_U64;
    kn_tensor x = kn_cast(kn_from(wide ? (void *)whole : real, wide ? KN_I64 : KN_F64, shape), dtype);
    x = kn_own(x);
    free(real);
    return x;
}

/* The same bytes on both devices. Takes both. */
static bool same(kn_tensor a, kn_tensor b)
{
    a = kn_own(a);
    b = kn_own(b);
    if (!kn_ok(a) || !kn_ok(b)) {
        printf("  %s\n", kn_last_error());
        kn_drop(a);
        kn_drop(b);
        return false;
    }
    size_t bytes = (size_t)kn_dtype_bytes(kn_dtype_of(a), kn_count(a));
    char *left = malloc(bytes + 1), *right = malloc(bytes + 1);
    bool good = left && right && kn_count(a) == kn_count(b) && kn_dtype_of(a) == kn_dtype_of(b) &&
                kn_read(a, left, bytes) == KN_OK && kn_read(b, right, bytes) == KN_OK &&
                !memcmp(left, right, bytes);
    free(left);
    free(right);
    kn_drop(a);
    kn_drop(b);
    return good;
}

static bool same_pair(kn_indexed a, kn_indexed b)
{
    bool values = same(a.values, b.values);
    return same(a.indices, b.indices) && values;
}

static kn_indexed ordered(kn_tensor x, int axis, int way)
{
    int64_t n = kn_size(x, axis);
    const kn_topk_args unsorted = {.unsorted = true}, smallest = {.smallest = true, .unsorted = true};
    switch (way) {
    case 0:
        return kn_sort(x, axis, false);
    case 1:
        return kn_sort(x, axis, true);
    case 2:
        return kn_topk(x, n < 5 ? n : 5, axis, NULL);
    case 3:
        return kn_topk(x, (n + 1) / 2, axis, &unsorted);
    case 4:
        return kn_topk(x, n < 800 ? n : 800, axis, &smallest);
    case 5:
        return kn_kthvalue(x, (n + 2) / 3, axis, false);
    default:
        return kn_median(x, axis, false);
    }
}
enum { WAYS = 7 };

/* x lives on the CPU. */
static void compare_ways(kn_tensor x, int axis, const char *what)
{
    static int64_t turn; /* of lines: each gets one way at least */
    const int always = (int)(turn++ % WAYS);
    for (int way = 0; way < WAYS; way++) {
        if (way != always && !check_part(turn * WAYS + way, 4)) continue;
        kn_scope scope = kn_scope_begin();
        kn_tensor there = kn_keep(kn_to(kn_alias(x), gpu));
        if (!CHECK(same_pair(ordered(kn_alias(x), axis, way), ordered(there, axis, way))))
            printf("  %s of %s, way %d\n", what, kn_dtype_name(kn_dtype_of(x)), way);
        kn_scope_end(scope, KN_NONE);
    }
}

/* One line of each length. */
static void sorts_lines(void)
{
    static const int64_t lengths[] = {1, 2, 9, 10, 255, 1023, 2303, 2304, 2305, 4096, 4609, 9217};
    static const kn_dtype dtypes[] = {KN_F32, KN_F64, KN_BF16, KN_I64};
    char what[60];
    for (int d = 0; d < 4; d++)
        for (int i = 0; i < 12; i++)
            for (int kind = MANY; kind <= (i % 4 ? MANY : FEW); kind++) {
                kn_tensor x = make(dtypes[d], KN_SHAPE(lengths[i]), kind);
                snprintf(what, sizeof what, "a line of %d", (int)lengths[i]);
                compare_ways(x, 0, what);
                kn_drop(x);
            }
}

/* Every dtype, in many lines along each axis, and of other strides. */
static void sorts_dtypes(void)
{
    static const kn_dtype dtypes[] = {KN_F64, KN_F32, KN_F16, KN_BF16, KN_I64, KN_I32, KN_I16,
                                      KN_I8,  KN_U64, KN_U32, KN_U16,  KN_U8,  KN_BOOL};
    for (int d = 0; d < 13; d++) {
        kn_tensor x = make(dtypes[d], KN_SHAPE(3, 1900, 2), d % 2 ? MANY : FEW);
        compare_ways(x, 1, "the middle axis");
        kn_drop(x);
        x = make(dtypes[d], KN_SHAPE(300, 11), MANY);
        compare_ways(x, 1, "short lines");
        compare_ways(x, 0, "columns");
        kn_drop(x);
    }
    kn_tensor x = make(KN_F32, KN_SHAPE(40, 50), MANY);
    kn_scope scope = kn_scope_begin();
    kn_tensor there = kn_keep(kn_to(kn_alias(x), gpu));
    CHECK(same_pair(kn_sort(kn_transpose(kn_alias(x), 0, 1), 1, false),
                    kn_sort(kn_transpose(there, 0, 1), 1, false)));
    CHECK(same_pair(kn_sort(kn_narrow(kn_alias(x), 0, 3, 20), 1, true),
                    kn_sort(kn_narrow(there, 0, 3, 20), 1, true)));
    CHECK(same_pair(kn_sort(kn_scalar(3, KN_F32), 0, false),
                    kn_sort(kn_to(kn_scalar(3, KN_F32), gpu), 0, false)));
    kn_scope_end(scope, KN_NONE);
    kn_drop(x);
}

static void compare_distinct(kn_tensor x, const char *what)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor there = kn_keep(kn_to(kn_alias(x), gpu));
    kn_unique_bounded_result a = kn_unique_bounded(kn_alias(x)), b = kn_unique_bounded(there);
    bool good = same(a.values, b.values);
    good = same(a.inverse, b.inverse) && good;
    good = same(a.counts, b.counts) && good;
    good = same(a.count, b.count) && good;
    good = same(kn_nonzero(kn_alias(x)), kn_nonzero(there)) && good;
    kn_nonzero_result some = kn_nonzero_bounded(kn_alias(x), 7), others = kn_nonzero_bounded(there, 7);
    good = same(some.indices, others.indices) && good;
    good = same(some.count, others.count) && good;
    int64_t room = kn_count(x) + 3;
    some = kn_nonzero_bounded(kn_alias(x), room);
    others = kn_nonzero_bounded(there, room);
    good = same(some.indices, others.indices) && good;
    good = same(some.count, others.count) && good;
    if (!CHECK(good)) printf("  distinct elements of %s, %s\n", kn_dtype_name(kn_dtype_of(x)), what);
    kn_scope_end(scope, KN_NONE);
}

static void finds_elements(void)
{
    static const kn_dtype dtypes[] = {KN_F32, KN_F64, KN_F16, KN_U8, KN_I64, KN_BOOL};
    static const int64_t lengths[] = {1, 2, 2047, 2048, 2049, 5000};
    char what[60];
    for (int d = 0; d < 6; d++)
        for (int i = 0; i < 6; i++)
            for (int kind = MANY; kind <= EQUAL; kind++) {
                if (kind != (d + i) % 3 && !check_part((d * 6 + i) * 3 + kind, 6)) continue;
                kn_tensor x = make(dtypes[d], KN_SHAPE(lengths[i]), kind);
                snprintf(what, sizeof what, "a line of %d", (int)lengths[i]);
                compare_distinct(x, what);
                kn_drop(x);
            }
    kn_tensor x = make(KN_F32, KN_SHAPE(3, 50, 20), FEW);
    compare_distinct(x, "three axes");
    kn_scope scope = kn_scope_begin();
    kn_tensor mask = kn_keep(kn_greater_scalar(kn_alias(x), 0)), there = kn_to(kn_alias(x), gpu);
    CHECK(same(kn_mask_select(kn_alias(x), mask), kn_mask_select(there, kn_to(kn_alias(mask), gpu))));
    kn_scope_end(scope, KN_NONE);
    kn_drop(x);
}

/* Many merges, and a selection in several steps. */
static void sorts_long_lines(void)
{
    static const kn_dtype dtypes[] = {KN_F32, KN_I64};
    for (int d = 0; d < 2; d++) {
        kn_tensor x = make(dtypes[d], KN_SHAPE(100000), d ? MANY : FEW);
        compare_ways(x, 0, "a long line");
        compare_distinct(x, "a long line");
        kn_drop(x);
    }
    kn_tensor x = make(KN_F32, KN_SHAPE(5, 20000), MANY);
    compare_ways(x, 1, "long lines");
    kn_drop(x);
}

/* Whole numbers and extremes have the CPU's bits, however the line is cut. */
static void compare_scans(kn_tensor x, int axis)
{
    const kn_scan_args back = {.reverse = true}, before = {.exclusive = true};
    kn_scope scope = kn_scope_begin();
    kn_tensor there = kn_keep(kn_to(kn_alias(x), gpu));
    bool good = same_pair(kn_cummax(kn_alias(x), axis), kn_cummax(there, axis));
    good = same_pair(kn_cummin(kn_alias(x), axis), kn_cummin(there, axis)) && good;
    if (!kn_dtype_is_float(kn_dtype_of(x))) {
        good = same(kn_cumsum(kn_alias(x), axis), kn_cumsum(there, axis)) && good;
        good = same(kn_cumsum_with(kn_alias(x), axis, &back), kn_cumsum_with(there, axis, &back)) && good;
        good = same(kn_cumsum_with(kn_alias(x), axis, &before), kn_cumsum_with(there, axis, &before)) && good;
    }
    if (!CHECK(good)) printf("  scans of %s\n", kn_dtype_name(kn_dtype_of(x)));
    kn_scope_end(scope, KN_NONE);
}

/* Elements differ by at most `bound` times the size of the CPU's. */
static void compare_near(kn_tensor a, kn_tensor b, double bound)
{
    a = kn_keep(kn_cast(a, KN_F64));
    b = kn_keep(kn_cast(kn_to(b, kn_device_cpu()), KN_F64));
    kn_tensor gap = kn_abs(kn_sub(a, b)), size = kn_add_scalar(kn_abs(a), 1);
    CHECK(kn_item(kn_max(kn_div(gap, size), KN_AXES_ALL, false)) <= bound);
}

static void accumulates(void)
{
    static const kn_dtype dtypes[] = {KN_F32, KN_I64, KN_BOOL, KN_BF16, KN_F64};
    for (int d = 0; d < 5; d++) {
        kn_tensor x = make(dtypes[d], KN_SHAPE(d ? 20000 : 100000), d % 2 ? FEW : MANY);
        compare_scans(x, 0);
        kn_drop(x);
        x = make(dtypes[d], KN_SHAPE(2, 4099, 3), FEW);
        compare_scans(x, 1);
        kn_drop(x);
        x = make(dtypes[d], KN_SHAPE(300, 2050), FEW); /* a workgroup walks along each */
        compare_scans(x, 1);
        kn_drop(x);
    }
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(kn_random_normal(KN_SHAPE(3, 30000), 0, 4, KN_F32));
    kn_tensor there = kn_keep(kn_to(kn_alias(x), gpu)), wide = kn_keep(kn_cast(kn_alias(x), KN_F64));
    compare_near(kn_cumsum(kn_alias(wide), 1), kn_cumsum(there, 1), 1e-4);
    compare_near(kn_cumlogsumexp(kn_alias(wide), 1), kn_cumlogsumexp(there, 1), 2e-6);
    /* Nothing to add up so far, then NaN for ever. */
    float line[3000], got[3000];
    for (int i = 0; i < 3000; i++) line[i] = i < 700 ? -INFINITY : i == 2500 ? NAN : 1;
    there = kn_to(kn_from(line, KN_F32, KN_SHAPE(3000)), gpu);
    CHECK(kn_read(kn_keep(kn_cumlogsumexp(there, 0)), got, sizeof got) == KN_OK);
    CHECK(isinf(got[0]) && isinf(got[699]) && got[700] == 1 && isfinite(got[2499]) && isnan(got[2500]) &&
          isnan(got[2999]));
    kn_indexed a = kn_mode(kn_floor(kn_alias(x)), 1, false), b = kn_mode(kn_floor(kn_to(x, gpu)), 1, false);
    CHECK(same_pair(a, b));
    kn_scope_end(scope, KN_NONE);
}

/* Through gathers, as everywhere. */
static void has_gradients(void)
{
    kn_device tape = kn_device_open("autodiff(opencl:0)");
    float in[3000], back[3000];
    for (int i = 0; i < 3000; i++) in[i] = (float)(draw() % 100);
    kn_device_use(tape);
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_require_grad(kn_from(in, KN_F32, KN_SHAPE(3000))), dx = KN_NONE;
    kn_tensor weights = kn_keep(kn_cast(kn_arange(0, 3000, 1, KN_I64), KN_F32));
    kn_indexed sorted = kn_sort(x, 0, true);
    kn_tensor places = kn_keep(sorted.indices);
    kn_tensor loss = kn_keep(kn_sum(kn_mul(sorted.values, weights), KN_AXES_ALL, false));
    CHECK(kn_grad(&loss, NULL, 1, &x, 1, 0, &dx) == KN_OK);
    int64_t order[3000];
    CHECK(kn_read(dx, back, sizeof back) == KN_OK && kn_read(places, order, sizeof order) == KN_OK);
    bool good = true;
    for (int i = 0; i < 3000; i++) good = good && back[order[i]] == (float)i;
    CHECK(good);
    kn_scope_end(scope, KN_NONE);
    kn_device_use(NULL);
}

/* ---- without memory */

static bool work(int n)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(kn_zeros(KN_SHAPE(4000 + n % 3), KN_F32));
    kn_tensor wide = kn_keep(kn_zeros(KN_SHAPE(2, 2000), KN_F64));
    const kn_topk_args unsorted = {.unsorted = true};
    kn_indexed all[] = {kn_sort(x, 0, false), kn_topk(x, 10, 0, NULL), kn_topk(x, 3000, 0, &unsorted),
                        kn_sort(wide, 1, true), kn_median(kn_transpose(wide, 0, 1), 0, false)};
    bool good = true;
    for (int i = 0; i < 5; i++) good = good && kn_ok(all[i].values) && kn_ok(all[i].indices);
    good = kn_ok(kn_unique_bounded(x).count) && good;
    good = kn_ok(kn_nonzero_bounded(x, 30).count) && good;
    good = kn_ok(kn_cummax(x, 0).values) && kn_ok(kn_cumlogsumexp(x, 0)) && good;
    kn_tensor at = kn_keep(kn_zeros(KN_SHAPE(1500, 1), KN_I64)), v = kn_zeros(KN_SHAPE(1500), KN_F32);
    good = kn_ok(kn_scatter_nd(x, at, v, KN_UPDATE_MAX)) && good;
    good = kn_ok(kn_bincount_bounded(kn_flatten(at, 0, -1), KN_NONE, 10)) && good;
    kn_scope_end(scope, KN_NONE);
    return kn_sync(NULL) == KN_OK && good;
}

static void survives_without_memory(void)
{
    char text[300];
    int failed = 0;
    paper_do = (paper_orders){.room = 16 << 20, .fault = -1};
    paper_register();
    setenv("KN_DEVICE_POOL", "off", 1); /* nothing is kept, so that every block is asked for */
    kn_device device = kn_device_open("paper");
    unsetenv("KN_DEVICE_POOL");
    if (!CHECK(device != NULL)) return;
    kn_device_use(device);
    CHECK(work(0));
    for (int n = 1; n < 300; n++) {
        if (n > 20 && !check_part(n, 4)) continue;
        kn_memory_fail_after(n);
        failed += !work(n);
        kn_memory_fail_after(0);
    }
    CHECK(failed > 3);
    failed = 0;
    for (int64_t room = 8 << 10; room < 512 << 10; room += 2 << 10) {
        if (room > 64 << 10 && !check_part(room, 3)) continue;
        paper_do.room = room;
        failed += !work(0);
        CHECK(kn_device_report(NULL, "memory", text, sizeof text) && strstr(text, " 0 bytes in use"));
    }
    CHECK(failed > 3 && work(0));
    kn_device_use(NULL);
}

int main(void)
{
    setenv("KN_FALLBACK", "off", 1);
    survives_without_memory();
    gpu = kn_device_open("opencl:0");
    if (gpu) {
        sorts_lines();
        sorts_dtypes();
        finds_elements();
        sorts_long_lines();
        accumulates();
        has_gradients();
    } else {
        check_skip("no OpenCL device");
    }
    CHECK(kn_shutdown() == 0);
    CHECK(paper_now.used == 0 && paper_now.blocks == 0);
    return check_report();
}
