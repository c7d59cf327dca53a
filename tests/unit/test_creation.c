/* Creation: exact values at the limits of dtypes, the generator's bits, distributions, reproducibility, errors. */
#include "support/check.h"
#include <stdlib.h>

/* ---- constants and ranges */

static void test_constants(void)
{
    kn_scope scope = kn_scope_begin();
    CHECK(kn_item_int(kn_full_int(KN_SHAPE(1), INT64_MIN, KN_I64)) == INT64_MIN);
    CHECK(kn_item_int(kn_full_int(KN_SHAPE(1), INT64_C(9007199254740993), KN_I64)) ==
          INT64_C(9007199254740993));
    CHECK_POISON(kn_full(KN_SHAPE(1), 300, KN_U8), "u8 cannot hold the number 300");
    CHECK_POISON(kn_full_int(KN_SHAPE(1), -1, KN_U16), "u16 cannot hold the number -1");
    CHECK(kn_item_int(kn_full(KN_SHAPE(1), 0.5, KN_BOOL)) == 1);
    CHECK(kn_item(kn_full(KN_SCALAR_SHAPE, 65519, KN_F16)) == 65504);
    CHECK(kn_item_int(kn_full_int(KN_SHAPE(1), -1, KN_U64)) == -1);
    CHECK(kn_count(kn_zeros(KN_SHAPE(3, 0), KN_I8)) == 0);
    CHECK_POISON(kn_zeros((kn_shape){9, {0}}, KN_F32), "kn_zeros: rank 9 is outside 0 to 8");
    CHECK_POISON(kn_ones(KN_SHAPE(-1), KN_F32), "kn_ones: axis 0 has the negative size -1");
    CHECK_POISON(kn_full(KN_SHAPE(1), 0, KN_C64), "no tensors of dtype c64");
    CHECK_POISON(kn_full(KN_SHAPE(1), 0, (kn_dtype)99), "99 is the code of no dtype");
    CHECK_POISON(kn_zeros(KN_SHAPE(INT64_C(1) << 62, 2), KN_U8), "2^63 bytes or more");
    CHECK_POISON(kn_zeros_like(KN_NONE), "kn_zeros_like");
    CHECK_POISON(kn_zeros_like(kn_poison(KN_ERROR_ARGUMENT, "before")), "before");
    kn_scope_end(scope, KN_NONE);
}

static void test_ranges(void)
{
    kn_scope scope = kn_scope_begin();
    CHECK_VALUES(kn_arange(0, 1, 0.3, KN_F64), 1e-15, 0, 0.3, 0.6, 0.9);
    CHECK_VALUES(kn_arange(5, 0, -2, KN_U8), 0, 5, 3, 1);
    CHECK(kn_count(kn_arange(1, 1, 1, KN_I32)) == 0);
    CHECK(kn_item(kn_select(kn_arange(0, 100000, 1, KN_F32), 0, -1)) == 99999);
    CHECK_POISON(kn_arange(0, 1, 0, KN_F32), "there is no range from 0 to 1 by steps of 0");
    CHECK_POISON(kn_arange(0, 1, -1, KN_F32), "steps of -1 never lead from 0 to 1");
    CHECK_POISON(kn_arange(0, 1e300, 1, KN_F32), "there is no range");
    CHECK_POISON(kn_arange(0, 4, 1, KN_BOOL), "no bool form");
    CHECK_VALUES(kn_linspace(0, 1, 3, KN_F16), 0, 0, 0.5, 1);
    CHECK_VALUES(kn_linspace(7, 9, 1, KN_F32), 0, 7);
    CHECK_VALUES(kn_linspace(-5, 0, 3, KN_I32), 0, -5, -2, 0);
    CHECK(kn_item(kn_select(kn_linspace(0, 0.1, 1001, KN_F64), 0, -1)) == 0.1);
    CHECK_POISON(kn_linspace(0, 1, -1, KN_F32), "negative size -1");
    CHECK_POISON(kn_linspace(0, 1e30, 3, KN_I32), "not all whole numbers");
    CHECK_VALUES(kn_cartesian_grid(KN_SHAPE(1, 2)), 0, 0, 0, 0, 1);
    CHECK_POISON(kn_cartesian_grid(KN_SCALAR_SHAPE), "rank 0 is outside 1 to 7");
    kn_scope_end(scope, KN_NONE);
}

static void test_masks(void)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(kn_ones(KN_SHAPE(2, 3), KN_I32));
    CHECK_VALUES(kn_triu(x, 1), 0, 0, 1, 1, 0, 0, 1);
    CHECK_VALUES(kn_tril(x, INT64_MIN), 0, 0, 0, 0, 0, 0, 0);
    CHECK_VALUES(kn_tril(x, INT64_MAX), 0, 1, 1, 1, 1, 1, 1);
    kn_tensor nan = kn_full(KN_SHAPE(2, 2), __builtin_nan(""), KN_F32);
    CHECK_VALUES(kn_triu(nan, 2), 0, 0, 0, 0, 0);
    CHECK_POISON(kn_tril(kn_ones(KN_SHAPE(3), KN_F32), 0), "kn_tril: [3] has no matrix");
    CHECK_POISON(kn_eye(-1, 2, KN_F32), "-1 rows");
    CHECK_POISON(kn_lower_mask(KN_SHAPE(2), 0), "rank 1 is outside 2 to 8");
    /* Indices of every rank that leaves room for the classes. */
    for (int rank = 0; rank < KN_MAX_RANK; rank++) {
        kn_shape ones = {rank, {1, 1, 1, 1, 1, 1, 1, 1}};
        kn_one_hot_fill_args args = {.on = 5, .off = 1, .axis = KN_ZERO};
        CHECK_VALUES(kn_one_hot_fill(kn_ones(ones, KN_I64), 3, &args), 0, 1, 5, 1);
    }
    CHECK_POISON(kn_one_hot(kn_arange(0, 3, 1, KN_I64), 2, KN_F32), "index 2 is out of range");
    CHECK_POISON(kn_one_hot(kn_arange(0, 3, 1, KN_F32), 3, KN_F32), "must be an integer, not f32");
    kn_scope_end(scope, KN_NONE);
}

/* ---- random numbers */

/* The words of Philox 4x32-10 for key 0 and counter 0, as its authors publish them. */
static void test_bits(void)
{
    static const uint32_t zero[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    kn_scope scope = kn_scope_begin();
    uint32_t words[8];
    kn_seed(NULL, 0);
    kn_tensor bits = kn_keep(kn_random_bits(KN_SHAPE(8)));
    CHECK(kn_read(bits, words, sizeof words) == KN_OK && memcmp(words, zero, sizeof zero) == 0);
    kn_seed(NULL, 0);
    kn_tensor again = kn_keep(kn_random_bits(KN_SHAPE(5)));
    uint32_t five[5];
    CHECK(kn_read(again, five, sizeof five) == KN_OK && memcmp(words, five, sizeof five) == 0);
    /* Five words used up two blocks. */
    kn_tensor next = kn_keep(kn_random_bits(KN_SHAPE(4)));
    uint32_t four[4];
    CHECK(kn_read(next, four, sizeof four) == KN_OK && memcmp(four, words + 4, sizeof four) != 0);
    kn_seed(NULL, 0);
    kn_tensor uniform = kn_keep(kn_random_uniform(KN_SHAPE(2), 0, 1, KN_F32));
    CHECK_VALUES(uniform, 0, (double)(zero[0] >> 8) * 0x1p-24, (double)(zero[1] >> 8) * 0x1p-24);
    kn_scope_end(scope, KN_NONE);
}

static void moments(kn_tensor t, double *mean, double *square, double *lowest, double *highest)
{
    int64_t n = kn_count(t);
    double *v = malloc((size_t)n * sizeof *v);
    bool good = kn_read_as(t, KN_F64, v, (size_t)n * sizeof *v) == KN_OK;
    *mean = *square = 0;
    *lowest = *highest = good ? v[0] : 0;
    for (int64_t i = 0; good && i < n; i++) {
        *mean += v[i] / (double)n;
        *square += v[i] * v[i] / (double)n;
        if (v[i] < *lowest) *lowest = v[i];
        if (v[i] > *highest) *highest = v[i];
    }
    free(v);
}

static bool near(double a, double b, double gap) { return a - b < gap && b - a < gap; }

/* gap: eight standard deviations of a mean of n numbers. */
static void test_distributions(int64_t n, double gap)
{
    static const kn_dtype floats[] = {KN_F64, KN_F32, KN_F16, KN_BF16};
    double m, s, lo, hi;
    for (int d = 0; d < 4; d++) {
        kn_scope scope = kn_scope_begin();
        moments(kn_random_uniform(KN_SHAPE(n), 0, 1, floats[d]), &m, &s, &lo, &hi);
        CHECK(near(m, 0.5, gap) && near(s, 1.0 / 3, gap) && lo >= 0 && hi < 1);
        moments(kn_random_uniform(KN_SHAPE(n), 1, 1.0625, floats[d]), &m, &s, &lo, &hi);
        CHECK(near(m, 1.03125, 0.01) && lo >= 1 && hi < 1.0625);
        moments(kn_random_normal(KN_SHAPE(n), -1, 2, floats[d]), &m, &s, &lo, &hi);
        CHECK(near(m, -1, 2 * gap) && near(s, 5, 8 * gap));
        moments(kn_random_bernoulli(KN_SHAPE(n), 0.25, floats[d]), &m, &s, &lo, &hi);
        CHECK(near(m, 0.25, gap) && lo == 0 && hi == 1 && s == m);
        kn_scope_end(scope, KN_NONE);
    }
    kn_scope scope = kn_scope_begin();
    moments(kn_random_int(KN_SHAPE(n), -3, 4, KN_I8), &m, &s, &lo, &hi);
    CHECK(near(m, 0, 4 * gap) && lo == -3 && hi == 3);
    moments(kn_random_uniform(KN_SHAPE(n), 0.5, 3, KN_I64), &m, &s, &lo, &hi);
    CHECK(lo == 1 && hi == 2);
    moments(kn_random(KN_SHAPE(n), (kn_distribution){0}, KN_U8), &m, &s, &lo, &hi);
    CHECK(near(m, 127.5, 256 * gap) && lo < 16 && hi > 240 && hi <= 255);
    moments(kn_random(KN_SHAPE(n), (kn_distribution){KN_RANDOM_BERNOULLI, 1, 0}, KN_BOOL), &m, &s, &lo, &hi);
    CHECK(lo == 1);
    moments(kn_random_bernoulli(KN_SHAPE(n), 0, KN_F32), &m, &s, &lo, &hi);
    CHECK(hi == 0);
    moments(kn_bernoulli(kn_full(KN_SHAPE(n), 0.75, KN_F32)), &m, &s, &lo, &hi);
    CHECK(near(m, 0.75, gap));
    const float weights[] = {0, 1, 3, 0};
    moments(kn_categorical(kn_from(weights, KN_F32, KN_SHAPE(1, 4)), n), &m, &s, &lo, &hi);
    CHECK(near(m, 1.75, 2 * gap) && lo == 1 && hi == 2);
    /* Draws go on where the last ones ended, in each dtype. */
    for (int d = 0; d < 3; d++) {
        static const kn_dtype kinds[] = {KN_F32, KN_F64, KN_F16};
        kn_tensor even = kn_keep(kn_ones(KN_SHAPE(1, 1000), kinds[d]));
        kn_tensor first = kn_keep(kn_categorical(even, 20)), second = kn_keep(kn_categorical(even, 20));
        CHECK(kn_item(kn_sum(kn_cast(kn_equal(first, second), KN_I64), KN_AXES_ALL, false)) < 10);
    }
    const float none[] = {0, -1};
    CHECK(kn_item_int(kn_categorical(kn_from(none, KN_F32, KN_SHAPE(2)), 1)) == -1);
    kn_scope_end(scope, KN_NONE);
}

static void test_permutation(void)
{
    enum { N = 1000 };
    kn_scope scope = kn_scope_begin();
    int64_t order[N];
    bool seen[N] = {false}, all = true, moved = false;
    kn_tensor p = kn_keep(kn_random_permutation(N, KN_I64));
    CHECK(kn_read(p, order, sizeof order) == KN_OK);
    for (int i = 0; i < N; i++) {
        if (order[i] >= 0 && order[i] < N) seen[order[i]] = true;
        moved |= order[i] != i;
    }
    for (int i = 0; i < N; i++) all &= seen[i];
    CHECK(all && moved);
    CHECK(kn_count(kn_random_permutation(0, KN_I32)) == 0);
    CHECK_POISON(kn_random_permutation(-1, KN_I32), "permutations of -1");
    kn_scope_end(scope, KN_NONE);
}

static void test_random_errors(void)
{
    kn_scope scope = kn_scope_begin();
    kn_shape three = KN_SHAPE(3);
    CHECK_POISON(kn_random_uniform(three, 2, 1, KN_F32), "no numbers from 2 to below 1");
    CHECK_POISON(kn_random_uniform(three, 0, __builtin_nan(""), KN_F32), "no numbers");
    CHECK_POISON(kn_random_uniform(three, 0, 1, KN_BOOL), "no bool form");
    CHECK_POISON(kn_random_normal(three, 0, -1, KN_F32), "deviation -1");
    CHECK_POISON(kn_random_normal(three, 0, 1, KN_I32), "no i32 form");
    CHECK_POISON(kn_random_bernoulli(three, 1.5, KN_F32), "probability 1.5");
    CHECK_POISON(kn_random_int(three, 5, 5, KN_I32), "5 to 5 is no range");
    CHECK_POISON(kn_random_int(three, INT64_MIN, INT64_MAX, KN_I64), "is no range");
    CHECK_POISON(kn_random_int(three, 0, 5, KN_F32), "no f32 form");
    CHECK_POISON(kn_random(three, (kn_distribution){(kn_distribution_kind)7, 0, 0}, KN_F32),
                 "7 is no distribution");
    CHECK_POISON(kn_random_like(KN_NONE, (kn_distribution){0}), "kn_random_like");
    CHECK_POISON(kn_categorical(kn_scalar(1, KN_F32), 1), "rank");
    CHECK(kn_count(kn_random_uniform(KN_SHAPE(0, 3), 0, 1, KN_F32)) == 0);
    CHECK_VALUES(kn_random_uniform(KN_SHAPE(2), 3, 3, KN_F32), 0, 3, 3);
    CHECK(kn_item(kn_random_uniform(KN_SCALAR_SHAPE, 0, 1, KN_F32)) < 1);
    kn_scope_end(scope, KN_NONE);
}

/* What the CPU draws in vectors the reference draws one by one. */
static void test_same_numbers(kn_device reference)
{
    enum { N = 40001 };
    static float a[N], b[N];
    for (int kind = 1; kind <= 3; kind += 2) {
        kn_scope scope = kn_scope_begin();
        kn_distribution d = {(kn_distribution_kind)kind, kind == 1 ? -2.5 : 0.3, 7.25};
        kn_seed(NULL, 77);
        kn_tensor x = kn_keep(kn_random(KN_SHAPE(N), d, KN_F32));
        kn_device_use(reference);
        kn_seed(reference, 77);
        kn_tensor y = kn_keep(kn_random(KN_SHAPE(N), d, KN_F32));
        kn_device_use(NULL);
        CHECK(kn_read(x, a, sizeof a) == KN_OK && kn_read(y, b, sizeof b) == KN_OK &&
              memcmp(a, b, sizeof a) == 0);
        kn_scope_end(scope, KN_NONE);
    }
}

/* The bound that a call by name gives counts also where the ends are 0 and 1, which the CPU draws by a shortcut. */
static void test_top_of_uniform(void)
{
    kn_attribute_value values[] = {{.name = "shape", .list = KN_INTS(64)},
                                   {.name = "dtype", .integer = KN_F32},
                                   {.name = "high", .real = 1},
                                   {.name = "top", .real = 0.25},
                                   {.name = "key", .integer = 5},
                                   {0}};
    kn_tensor y;
    CHECK(kn_call("random_uniform", NULL, 0, values, &y, 1) == KN_OK);
    CHECK(kn_item(kn_max(y, KN_AXES_ALL, false)) == 0.25);
}

/* Whole numbers of all dtypes reach both ends of their range and stay inside. */
static void test_integers(const char *device)
{
    static const kn_dtype dtypes[] = {KN_I8, KN_I16, KN_I32, KN_I64, KN_U8, KN_U16, KN_U32, KN_U64};
    kn_scope scope = kn_scope_begin();
    kn_device_use(kn_device_open(device));
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        kn_tensor x = kn_keep(kn_random_int(KN_SHAPE(200), 3, 9, dtypes[i]));
        CHECK(kn_item_int(kn_min(x, KN_AXES_ALL, false)) == 3 &&
              kn_item_int(kn_max(x, KN_AXES_ALL, false)) == 8);
    }
    kn_device_use(NULL);
    kn_scope_end(scope, KN_NONE);
}

int main(void)
{
    kn_device reference = kn_device_open("ref");
    for (int round = 0; round < 2; round++) {
        kn_device_use(round ? reference : NULL);
        test_integers("cpu");
        test_integers("ref");
        test_constants();
        test_ranges();
        test_masks();
        test_bits();
        test_distributions(round ? 2500 : 40000, round ? 8.0 / 50 : 8.0 / 200);
        test_permutation();
        test_random_errors();
        test_top_of_uniform();
    }
    kn_device_use(NULL);
    test_same_numbers(reference);
    return check_report();
}
