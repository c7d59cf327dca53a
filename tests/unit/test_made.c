/* Rows that make values of scalars (constants, ranges, random numbers, dropout): a seed gives the numbers that it gave before the
   rows had bodies, the loops of every tier give the same bits, and the interpreter agrees. */
#include "backend/cpu/isa.h"
#include "math/math_random_numbers.h"
#include "support/check.h"
#include <kn/call.h>
#include <math.h>
#include <stdlib.h>

static const int64_t sizes[] = {0, 1, 5, 513, 16385};
enum { SIZES = sizeof sizes / sizeof *sizes };

static uint64_t hash(uint64_t h, kn_tensor y)
{
    kn_tensor kept = kn_keep(y);
    size_t bytes = (size_t)kn_dtype_bytes(kn_dtype_of(kept), kn_count(kept));
    unsigned char *data = malloc(bytes + 1);
    CHECK(kn_read(kept, data, bytes) == KN_OK);
    for (size_t i = 0; i < bytes; i++) h = (h ^ data[i]) * UINT64_C(1099511628211);
    free(data);
    kn_drop(kept);
    return h;
}

typedef kn_tensor make_fn(int64_t n, kn_dtype dtype);

static kn_tensor bits(int64_t n, kn_dtype dtype)
{
    (void)dtype;
    return kn_random_bits(KN_SHAPE(n));
}
static kn_tensor unit(int64_t n, kn_dtype dtype) { return kn_random_uniform(KN_SHAPE(n), 0, 1, dtype); }
static kn_tensor uniform(int64_t n, kn_dtype dtype)
{
    return kn_random_uniform(KN_SHAPE(n), -2.5, 7.25, dtype);
}
static kn_tensor normal(int64_t n, kn_dtype dtype) { return kn_random_normal(KN_SHAPE(n), 0.5, 3, dtype); }
static kn_tensor bernoulli(int64_t n, kn_dtype dtype) { return kn_random_bernoulli(KN_SHAPE(n), 0.3, dtype); }
static kn_tensor integer(int64_t n, kn_dtype dtype) { return kn_random_int(KN_SHAPE(n), 3, 93, dtype); }
static kn_tensor wide(int64_t n, kn_dtype dtype) { return kn_random_int(KN_SHAPE(n), 0, INT64_MAX, dtype); }
static kn_tensor constant(int64_t n, kn_dtype dtype) { return kn_full(KN_SHAPE(n), 99.7, dtype); }
static kn_tensor range(int64_t n, kn_dtype dtype)
{
    kn_attribute_value values[] = {{.name = "length", .integer = n},
                                   {.name = "dtype", .integer = dtype},
                                   {.name = "start", .real = -1.0 / 3},
                                   {.name = "step", .real = 0.1},
                                   {.name = "whole_start", .integer = (INT64_C(1) << 60) + 3},
                                   {.name = "whole_step", .integer = (INT64_C(1) << 55) + 1},
                                   {0}};
    kn_tensor y = KN_NONE;
    CHECK(kn_call("iota", NULL, 0, values, &y, 1) == KN_OK);
    return y;
}
static kn_tensor spaced(int64_t n, kn_dtype dtype) { return kn_linspace(7.3, 101.9, n, dtype); }
static kn_tensor wave(int64_t n, kn_dtype dtype)
{
    return kn_cast(kn_sin(kn_arange(0, (double)n, 1, KN_F64)), dtype);
}
static kn_tensor dropped(int64_t n, kn_dtype dtype) { return kn_alpha_dropout(wave(n, dtype), 0.3, true); }
/* One draw for 3 elements. */
static kn_tensor features(int64_t n, kn_dtype dtype)
{
    return kn_feature_dropout(kn_reshape(wave(3 * n, dtype), KN_SHAPE(1, n, 3)), 0.3, true);
}

typedef struct made_case {
    const char *name;
    make_fn *make;
    kn_dtype dtype;
    uint64_t hash; /* of what the CPU made before the rows had bodies */
} made_case;
static const made_case cases[] = {
#include "unit/test_made_values.inc"
};
enum { CASES = sizeof cases / sizeof *cases };

static uint64_t hash_case(const made_case *c, kn_device device)
{
    uint64_t h = UINT64_C(1469598103934665603);
    for (int s = 0; s < SIZES; s++) {
        kn_scope scope = kn_scope_begin();
        kn_seed(device, 1234 + (uint64_t)s);
        h = hash(h, c->make(sizes[s], c->dtype));
        /* A second draw begins elsewhere. */
        h = hash(h, c->make(7, c->dtype));
        kn_scope_end(scope, KN_NONE);
    }
    return h;
}

static void check_cases(const char *name)
{
    kn_device device = kn_device_open(name);
    if (!CHECK(device != NULL)) return;
    kn_device_use(device);
    for (int i = 0; i < CASES; i++) {
        uint64_t h = hash_case(&cases[i], device);
        if (!CHECK(h == cases[i].hash))
            printf("  %s on %s: {\"%s\", %s, KN_%s, UINT64_C(0x%016llx)},\n", cases[i].name, name,
                   cases[i].name, cases[i].name, kn_dtype_name(cases[i].dtype), (unsigned long long)h);
    }
    kn_device_use(NULL);
}

static void test_tiers(void)
{
    for (int tier = 0; tier < KNI_ISA_COUNT; tier++) {
        if (!kni_cpu_tier_available((kni_tier)tier)) continue;
        kni_cpu_set_tier((kni_tier)tier);
        check_cases("cpu");
    }
}

/* What the CPU computes in f32 the interpreter computes in f64. */
static bool is_single_precision(const made_case *c)
{
    return c->dtype != KN_F64 && (c->make == normal || c->make == dropped || c->make == features);
}

static void test_interpreter(void)
{
    kn_device reference = kn_device_open("ref");
    if (!CHECK(reference != NULL)) return;
    kn_device_use(reference);
    for (int i = 0; i < CASES; i++) {
        if (is_single_precision(&cases[i])) continue;
        if (!CHECK(hash_case(&cases[i], reference) == cases[i].hash))
            printf("  ref: %s %s\n", cases[i].name, kn_dtype_name(cases[i].dtype));
    }
    kn_device_use(NULL);
}

/* Their numbers are the same but for the last digits. */
static void test_single_precision(make_fn *make)
{
    enum { N = 3000 };
    static float a[N], b[N];
    kn_device reference = kn_device_open("ref");
    kn_scope scope = kn_scope_begin();
    kn_seed(NULL, 5);
    CHECK(kn_read(kn_keep(make(N, KN_F32)), a, sizeof a) == KN_OK);
    kn_device_use(reference);
    kn_seed(reference, 5);
    CHECK(kn_read(kn_keep(make(N, KN_F32)), b, sizeof b) == KN_OK);
    kn_device_use(NULL);
    double worst = 0;
    for (int i = 0; i < N; i++) worst = fmax(worst, fabs((double)a[i] - (double)b[i]));
    CHECK(worst < 4e-6);
    kn_scope_end(scope, KN_NONE);
}

static kn_tensor drawn(const char *op, kn_dtype dtype, int64_t n, const char *first, const char *second)
{
    kn_attribute_value values[] = {{.name = "shape", .list = KN_INTS(n)},
                                   {.name = "dtype", .integer = dtype},
                                   {.name = "key", .integer = 77},
                                   {.name = "counter", .integer = 5},
                                   {.name = first, .real = 0},
                                   {.name = second, .real = 1},
                                   {.name = "top", .real = 1},
                                   {0}};
    kn_tensor y = KN_NONE;
    if (first[0] == 'm') values[6].name = NULL;
    CHECK(kn_call(op, NULL, 0, values, &y, 1) == KN_OK);
    return kn_keep(y);
}

/* The rows give what the functions give that made such numbers before: word for word, bit for bit. */
static void test_second_opinion(void)
{
    enum { N = 2000 };
    static uint32_t w[4 * N];
    static float a[N], b[N];
    static double c[N], d[N];
    kn_scope scope = kn_scope_begin();
    for (int i = 0; i < N; i++) kni_philox(77, 5 + (uint64_t)i, w + 4 * i);
    CHECK(kn_read(drawn("random_uniform", KN_F32, N, "low", "high"), a, sizeof a) == KN_OK);
    CHECK(kn_read(drawn("random_normal", KN_F32, N, "mean", "deviation"), b, sizeof b) == KN_OK);
    CHECK(kn_read(drawn("random_uniform", KN_F64, N, "low", "high"), c, sizeof c) == KN_OK);
    CHECK(kn_read(drawn("random_normal", KN_F64, N, "mean", "deviation"), d, sizeof d) == KN_OK);
    bool same = true;
    for (int i = 0; i < N; i++) {
        const uint32_t *two = w + 2 * i, *four = w + 4 * i;
        same &= a[i] == kni_uniform_f32(w[i]) && b[i] == kni_normal_f32(two[0], two[1]);
        same &= c[i] == kni_uniform_f64(two[0], two[1]) &&
                d[i] == kni_normal_f64(four[0], four[1], four[2], four[3]);
    }
    CHECK(same);
    kn_scope_end(scope, KN_NONE);
}

/* A probability of 0 and of 1 keeps nothing and everything back, and p just below 1 drops all but one word in 2^32. */
static void test_ends_of_probabilities(void)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor none = kn_random_bernoulli(KN_SHAPE(5000), 0, KN_BOOL),
              all = kn_random_bernoulli(KN_SHAPE(5000), 1, KN_U8);
    CHECK(kn_item(kn_sum(kn_cast(none, KN_I64), KN_AXES_ALL, false)) == 0);
    CHECK(kn_item(kn_sum(kn_cast(all, KN_I64), KN_AXES_ALL, false)) == 5000);
    kn_tensor gone = kn_dropout(kn_ones(KN_SHAPE(5000), KN_F32), 1, true);
    CHECK(kn_item(kn_max(kn_abs(gone), KN_AXES_ALL, false)) == 0);
    kn_scope_end(scope, KN_NONE);
}

int main(void)
{
    test_tiers();
    check_cases("fusion(cpu)");
    test_interpreter();
    test_single_precision(normal);
    test_single_precision(dropped);
    test_second_opinion();
    test_ends_of_probabilities();
    return check_report();
}
