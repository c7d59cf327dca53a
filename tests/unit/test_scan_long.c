/* Scans of lines so long that a device cuts them into pieces: each gives what one loop over the line gives, also where a piece
   alone would overflow, or holds a zero, an infinity or NaN. */
#include "support/check.h"
#include <math.h>

/* The CPU cuts lines from 65,536 elements on, at multiples of 32,768. */
enum { LENGTH = 70001, LINES = 2, COUNT = LENGTH * LINES, EARLY = 1, MIDDLE = 40000, LATE = LENGTH - 2 };

typedef enum kind { SUM, PRODUCT, LARGEST, SMALLEST, LOG_SUM, LINEAR } kind;

/* Powers of two and small integers: sums and products of them are exact, so that the order of adding does not show. */
static const struct pattern {
    const char *name;
    double all;                                /* every other element; 0: integers from -3 to 3 */
    double early, early_next, middle[4], late; /* multiples of `unit`; 0: as the others; ZERO: 0 */
} patterns[] = {
#define ZERO (-0.125)
    {.name = "integers"},
    {.name = "a zero before huge ones", .all = 0x1p100, .early = ZERO},
    {.name = "a zero before and after huge ones", .all = -0x1p100, .early = ZERO, .late = ZERO},
    {.name = "a zero after huge ones", .all = 0x1p100, .late = ZERO},
    {.name = "an infinity", .middle = {INFINITY}},
    {.name = "infinities of both signs", .early = INFINITY, .late = -INFINITY},
    {.name = "infinities of both signs in one piece", .middle = {INFINITY, -INFINITY}},
    {.name = "an infinity and a zero", .all = 1, .early = INFINITY, .late = ZERO},
    {.name = "NaN", .all = 1, .middle = {NAN}},
    {.name = "a piece alone overflows", .all = ZERO, .early = -1.5, .middle = {1, 1, -1, -1}},
    {.name = "four elements alone overflow", .all = ZERO, .early = 1, .early_next = -1, .middle = {-1, -1}},
    {.name = "a sum that overflowed stays infinite", .all = ZERO, .early = 1, .middle = {1, -1}, .late = -1},
    {.name = "an overflow between two elements",
     .all = ZERO,
     .early = 1.5,
     .early_next = 1,
     .middle = {-1, -1, -0.5}},
};
enum {
    PATTERNS = sizeof patterns / sizeof *patterns,
    OVERFLOWING = PATTERNS - 4 /* the first whose sums overflow */
};

static double x[COUNT], want[COUNT], want_at[COUNT], got[COUNT];

static double value_of(double number) { return number == ZERO ? 0 : number; }

/* Line 0 is the pattern, line 1 the next one. unit: the largest power of two of the dtype. */
static void fill(int pattern, double unit)
{
    for (int l = 0; l < LINES; l++) {
        const struct pattern *p = &patterns[(pattern + l) % PATTERNS];
        double *line = x + (int64_t)l * LENGTH;
        for (int i = 0; i < LENGTH; i++)
            line[i] = p->all != 0 ? value_of(p->all) : (double)(i * 7919 % 7 - 3);
        const double set[] = {p->early,     p->early_next, p->middle[0], p->middle[1],
                              p->middle[2], p->middle[3],  p->late};
        const int at[] = {EARLY, EARLY + 1, MIDDLE, MIDDLE + 1, MIDDLE + 2, MIDDLE + 3, LATE};
        for (int i = 0; i < 7; i++)
            if (set[i] != 0) line[at[i]] = value_of(set[i]) * unit;
    }
}

typedef struct scan {
    const char *name;
    kind kind;
    bool reverse, exclusive;
} scan;
static const scan scans[] = {{"cumsum", SUM, 0, 0},
                             {"cumsum, reverse", SUM, 1, 0},
                             {"cumsum, exclusive", SUM, 0, 1},
                             {"cumsum, reverse, exclusive", SUM, 1, 1},
                             {"cumprod", PRODUCT, 0, 0},
                             {"cumprod, reverse", PRODUCT, 1, 0},
                             {"cumprod, exclusive", PRODUCT, 0, 1},
                             {"cumprod, reverse, exclusive", PRODUCT, 1, 1},
                             {"cummax", LARGEST, 0, 0},
                             {"cummin", SMALLEST, 0, 0},
                             {"cumlogsumexp", LOG_SUM, 0, 0},
                             {"scan_linear", LINEAR, 0, 0},
                             {"scan_linear, reverse", LINEAR, 1, 0}};
enum { SCANS = sizeof scans / sizeof *scans };

static double log_sum(double a, double b)
{
    double high = a > b ? a : b, low = a > b ? b : a;
    if (isnan(a) || isnan(b)) return NAN;
    return isinf(high) ? high : high + log1p(exp(low - high));
}

/* The line in one loop. */
static void in_one_loop(const scan *s, int line)
{
    double total = s->kind == PRODUCT ? 1 : 0, best = 0;
    int64_t at = 0;
    for (int64_t k = 0; k < LENGTH; k++) {
        int64_t i = (int64_t)line * LENGTH + (s->reverse ? LENGTH - 1 - k : k);
        double v = x[i], before = total;
        bool better = isnan(v) || (s->kind == LARGEST ? v >= best : v <= best);
        if (s->kind == SUM) total += v;
        if (s->kind == PRODUCT) total *= v;
        if (s->kind == LOG_SUM) total = k ? log_sum(total, v) : v;
        if (s->kind == LINEAR) total = k ? v * total + 1 : 1;
        if (k == 0 || better) best = v, at = k;
        want_at[i] = (double)at;
        want[i] = s->exclusive ? before : s->kind == LARGEST || s->kind == SMALLEST ? best : total;
    }
}

static bool same(double a, double b, double tolerance)
{
    return (isnan(a) && isnan(b)) || a == b || fabs(a - b) <= tolerance * (1 + fabs(b));
}

static kn_tensor run(const scan *s, kn_dtype dtype, kn_tensor *positions)
{
    kn_tensor line = kn_cast(kn_from(x, KN_F64, KN_SHAPE(LINES, LENGTH)), dtype);
    const kn_scan_args args = {.reverse = s->reverse, .exclusive = s->exclusive};
    if (s->kind == SUM) return kn_cumsum_with(line, 1, &args);
    if (s->kind == PRODUCT) return kn_cumprod_with(line, 1, &args);
    if (s->kind == LOG_SUM) return kn_cumlogsumexp(line, 1);
    if (s->kind == LINEAR)
        return kn_scan_linear(line, kn_ones(KN_SHAPE(LINES, LENGTH), dtype), 1, s->reverse);
    kn_indexed r = s->kind == LARGEST ? kn_cummax(line, 1) : kn_cummin(line, 1);
    *positions = r.indices;
    return r.values;
}

/* How many of the results differ from the expected ones; the first that does is shown. */
static int64_t differences(kn_tensor y, const double *expected, kn_dtype dtype, double tolerance)
{
    int64_t wrong = 0;
    if (kn_read_as(y, KN_F64, got, sizeof got) != KN_OK) {
        printf("  %s\n", kn_last_error());
        return COUNT;
    }
    for (int64_t i = 0; i < COUNT; i++) {
        double e = dtype == KN_F32 ? (double)(float)expected[i] : expected[i];
        if (same(got[i], e, tolerance) || wrong++) continue;
        printf("  element %d of line %d is %g, not %g\n", (int)(i % LENGTH), (int)(i / LENGTH), got[i], e);
    }
    return wrong;
}

static void compare(const char *name, kn_dtype dtype, int pattern)
{
    fill(pattern, dtype == KN_F32 ? 0x1p127 : 0x1p1023);
    for (int i = 0; i < SCANS; i++) {
        const scan *s = &scans[i];
        kn_scope scope = kn_scope_begin();
        kn_tensor positions = KN_NONE, y = run(s, dtype, &positions);
        for (int l = 0; l < LINES; l++) in_one_loop(s, l);
        bool rounds = s->kind == LOG_SUM || s->kind == LINEAR;
        int64_t wrong = differences(y, want, dtype, rounds ? 1e-5 : 0);
        if (positions.bits) wrong += differences(positions, want_at, KN_F64, 0);
        if (!CHECK(wrong == 0))
            printf("  %s on %s: %lld of %s differ where a line has %s\n", s->name, name, (long long)wrong,
                   kn_dtype_name(dtype), patterns[pattern].name);
        kn_scope_end(scope, KN_NONE);
    }
}

/* Integers wrap. */
static void whole_numbers(const char *name)
{
    static int64_t v[LENGTH], y[LENGTH];
    for (int i = 0; i < LENGTH; i++) v[i] = (i * 7919 % 1001 - 500) * 2 + 1;
    for (int product = 0; product < 2; product++)
        for (int reverse = 0; reverse < 2; reverse++) {
            kn_scope scope = kn_scope_begin();
            kn_tensor line = kn_from(v, KN_I64, KN_SHAPE(LENGTH));
            const kn_scan_args args = {.reverse = reverse};
            kn_tensor t = product ? kn_cumprod_with(line, 0, &args) : kn_cumsum_with(line, 0, &args);
            int64_t wrong = kn_read(t, y, sizeof y) != KN_OK;
            uint64_t total = product ? 1 : 0;
            for (int k = 0; k < LENGTH; k++) {
                int i = reverse ? LENGTH - 1 - k : k;
                total = product ? total * (uint64_t)v[i] : total + (uint64_t)v[i];
                wrong += y[i] != (int64_t)total;
            }
            if (!CHECK(wrong == 0)) printf("  i64 on %s, product %d, reverse %d\n", name, product, reverse);
            kn_scope_end(scope, KN_NONE);
        }
}

int main(void)
{
    static const char *const names[] = {"cpu", "fusion(cpu)", "opencl:0", "cuda:0"};
    for (int i = 0; i < 4; i++) {
        kn_device device = kn_device_open(names[i]);
        if (!device) {
            check_skip(i < 3 ? "no OpenCL device" : "no CUDA device");
            continue;
        }
        kn_device_use(device);
        kn_set_threads(i ? 1 : 3);
        /* GPUs keep sums in the dtype of the elements, in pieces that may overflow (docs/known-limits.md). */
        for (int p = 0; p < (i < 2 ? PATTERNS : OVERFLOWING - 1); p++) {
            compare(names[i], KN_F32, p);
            compare(names[i], KN_F64, p);
        }
        whole_numbers(names[i]);
    }
    return check_report();
}
