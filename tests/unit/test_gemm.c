/* Tests of the CPU's matrix product: against a plain f64 sum for many shapes, strides and types, and bit for
   bit between tiers, threads and paths. */
#include "backend/cpu/gemm.h"
#include "backend/cpu/gemm_workspace.h"
#include "core/thread_pool.h"
#include "support/tiers.h"

#include <kn/tensor.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(bool ok, const char *what) { check_that(ok, what, __FILE__, __LINE__); }

static uint64_t random_state = 0x9e3779b97f4a7c15u;

static uint32_t random_bits(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33);
}

static int64_t random_to(int64_t low, int64_t high) { return low + random_bits() % (high - low + 1); }
static double random_value(void) { return (double)random_bits() / 0x40000000 - 1; }

static const int64_t sizes[] = {
    [KNI_GEMM_F32] = 4, [KNI_GEMM_F64] = 8, [KNI_GEMM_F16] = 2, [KNI_GEMM_BF16] = 2};

static double f16_value(uint16_t h)
{
    const int exponent = h >> 10 & 31, fraction = h & 1023;
    const double sign = h & 0x8000 ? -1 : 1;
    if (exponent == 31) return fraction ? NAN : sign * INFINITY;
    return sign * (exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24));
}

static double get(const void *data, kni_gemm_type type, int64_t i)
{
    if (type == KNI_GEMM_F32) return ((const float *)data)[i];
    if (type == KNI_GEMM_F64) return ((const double *)data)[i];
    const uint16_t h = ((const uint16_t *)data)[i];
    if (type == KNI_GEMM_F16) return f16_value(h);
    const uint32_t bits = (uint32_t)h << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Random values with few bits, exact in every type. */
static void fill(void *data, kni_gemm_type type, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const double x = random_value();
        if (type == KNI_GEMM_F64) ((double *)data)[i] = x;
        if (type == KNI_GEMM_F32) ((float *)data)[i] = (float)x;
        /* Any finite 16-bit pattern of modest size: sign, exponent around zero, random fraction. */
        if (type == KNI_GEMM_F16)
            ((uint16_t *)data)[i] = (uint16_t)((random_bits() & 0x83ff) | (uint32_t)random_to(10, 15) << 10);
        if (type == KNI_GEMM_BF16)
            ((uint16_t *)data)[i] = (uint16_t)((random_bits() & 0x807f) | (uint32_t)random_to(122, 127) << 7);
    }
}

typedef struct {
    kni_gemm_args args;
    void *c_before;
    int64_t a_count, b_count, c_count;
} test_case;

/* Strides of a rows x cols matrix: by rows or by columns, tight, padded, or with a gap between elements. */
static int64_t choose_strides(int64_t rows, int64_t cols, int64_t *row, int64_t *col)
{
    const int64_t gap = random_to(0, 5) == 0 ? random_to(2, 3) : 1,
                  pad = random_to(0, 2) == 0 ? random_to(1, 9) : 0;
    if (random_to(0, 1)) {
        *col = gap;
        *row = cols * gap + pad;
        return rows * *row + 1;
    }
    *row = gap;
    *col = rows * gap + pad;
    return cols * *col + 1;
}

static test_case make_case(int64_t m, int64_t n, int64_t k, kni_gemm_type a, kni_gemm_type b, kni_gemm_type c)
{
    static const double factors[] = {1, 0, -0.5, 1, 2.25};
    test_case t = {.args = {.m = m, .n = n, .k = k, .type_a = a, .type_b = b, .type_c = c}};
    kni_gemm_args *g = &t.args;
    g->batch = random_to(0, 3) ? 1 : random_to(2, 4);
    g->a_batch = choose_strides(m, k, &g->a_row, &g->a_col);
    g->b_batch = choose_strides(k, n, &g->b_row, &g->b_col);
    g->c_batch = choose_strides(m, n, &g->c_row, &g->c_col);
    g->alpha = factors[random_to(0, 4)];
    g->beta = factors[random_to(0, 4)];
    if (random_to(0, 2)) g->alpha = 1;
    t.a_count = g->a_batch * g->batch;
    t.b_count = g->b_batch * g->batch;
    t.c_count = g->c_batch * g->batch;
    void *pa = malloc((size_t)(t.a_count * sizes[a])), *pb = malloc((size_t)(t.b_count * sizes[b]));
    g->c = malloc((size_t)(t.c_count * sizes[c]));
    t.c_before = malloc((size_t)(t.c_count * sizes[c]));
    fill(pa, a, t.a_count);
    fill(pb, b, t.b_count);
    fill(t.c_before, c, t.c_count);
    memcpy(g->c, t.c_before, (size_t)(t.c_count * sizes[c]));
    g->a = pa;
    g->b = pb;
    return t;
}

static void free_case(test_case *t)
{
    free((void *)t->args.a);
    free((void *)t->args.b);
    free(t->args.c);
    free(t->c_before);
}

static void add_bias(test_case *t, kni_gemm_bias kind)
{
    kni_gemm_args *g = &t->args;
    const int64_t n = (kind == KNI_GEMM_BIAS_PER_ROW ? g->m : g->n) * 2;
    void *bias = malloc((size_t)(n * sizes[g->type_c]));
    fill(bias, g->type_c, n);
    g->bias = bias;
    g->bias_kind = kind;
    g->bias_stride = random_to(1, 2);
}

static double *as_doubles(const void *data, kni_gemm_type type, int64_t n)
{
    double *out = malloc((size_t)n * sizeof(double));
    for (int64_t i = 0; i < n; i++) out[i] = get(data, type, i);
    return out;
}

/* The largest error in units of what rounding may cost; negative when elements outside C changed. */
static double worst_error(const test_case *t, double (*activation)(double))
{
    static const double epsilons[] = {[KNI_GEMM_F32] = 0x1p-24,
                                      [KNI_GEMM_F64] = 0x1p-53,
                                      [KNI_GEMM_F16] = 0x1p-11,
                                      [KNI_GEMM_BF16] = 0x1p-8};
    const kni_gemm_args *g = &t->args;
    const double sum_eps = g->type_c == KNI_GEMM_F64 ? 0x1p-53 : 0x1p-24;
    char *touched = calloc((size_t)t->c_count, 1);
    double *a = as_doubles(g->a, g->type_a, t->a_count), *b = as_doubles(g->b, g->type_b, t->b_count);
    double worst = 0;
    for (int64_t e = 0; e < g->batch; e++)
        for (int64_t i = 0; i < g->m; i++)
            for (int64_t j = 0; j < g->n; j++) {
                double sum = 0, magnitude = 0;
                for (int64_t k = 0; k < g->k; k++) {
                    const double x = a[e * g->a_batch + i * g->a_row + k * g->a_col] *
                                     b[e * g->b_batch + k * g->b_row + j * g->b_col];
                    sum += x;
                    magnitude += fabs(x);
                }
                const int64_t at = e * g->c_batch + i * g->c_row + j * g->c_col;
                double want = g->alpha * sum;
                magnitude = fabs(g->alpha) * magnitude;
                if (g->beta != 0) {
                    want += g->beta * get(t->c_before, g->type_c, at);
                    magnitude += fabs(g->beta * get(t->c_before, g->type_c, at));
                }
                if (g->bias_kind != KNI_GEMM_NO_BIAS) {
                    const int64_t index = g->bias_kind == KNI_GEMM_BIAS_PER_ROW ? i : j;
                    want += get(g->bias, g->type_c, index * g->bias_stride);
                    magnitude += fabs(get(g->bias, g->type_c, index * g->bias_stride));
                }
                if (activation) want = activation(want);
                const double got = get(g->c, g->type_c, at);
                const double allowed = magnitude * sum_eps * ((double)g->k + 4) +
                                       fabs(want) * 1.01 * epsilons[g->type_c] +
                                       (sizes[g->type_c] == 2 ? 0x1p-24 : 1e-300);
                const double error = fabs(got - want) / allowed;
                if (!(error <= worst)) worst = error;
                touched[at] = 1;
            }
    for (int64_t i = 0; i < t->c_count; i++)
        if (!touched[i] && memcmp((char *)g->c + i * sizes[g->type_c],
                                  (char *)t->c_before + i * sizes[g->type_c], (size_t)sizes[g->type_c]))
            worst = -1;
    free(touched);
    free(a);
    free(b);
    return worst;
}

static void check_case(test_case *t, double (*activation)(double), const char *what)
{
    char text[256];
    const kni_gemm_args *g = &t->args;
    const bool done = kni_gemm(g);
    const double error = done ? worst_error(t, activation) : INFINITY;
    snprintf(
        text, sizeof text,
        "%s, tier %s: m %d n %d k %d, types %d %d %d, strides a %d %d b %d %d c %d %d, batch %d, alpha %g "
        "beta %g bias %d, repro %d: error %g",
        what, kni_cpu_tier_name(kni_cpu_tier()), (int)g->m, (int)g->n, (int)g->k, (int)g->type_a,
        (int)g->type_b, (int)g->type_c, (int)g->a_row, (int)g->a_col, (int)g->b_row, (int)g->b_col,
        (int)g->c_row, (int)g->c_col, (int)g->batch, g->alpha, g->beta, (int)g->bias_kind, g->reproducible,
        error);
    check(error >= 0 && error <= 1, text);
}

static void test_random_shapes(void)
{
    for (int i = 0; i < 200; i++) {
        if (i >= 12 && !check_part(i, 3)) continue;
        const kni_gemm_type type = i % 3 == 2 ? KNI_GEMM_F64 : KNI_GEMM_F32;
        const int64_t high = i % 4 == 3 ? 12 : 70;
        test_case t = make_case(random_to(1, high), random_to(1, high), random_to(0, high), type, type, type);
        t.args.reproducible = random_to(0, 3) == 0;
        if (random_to(0, 3) == 0)
            add_bias(&t, random_to(0, 1) ? KNI_GEMM_BIAS_PER_ROW : KNI_GEMM_BIAS_PER_COLUMN);
        check_case(&t, NULL, "random shape");
        free((void *)t.args.bias);
        free_case(&t);
    }
}

static void test_particular_shapes(void)
{
    static const int64_t shapes[][3] = {{1, 1, 1},       {1, 1, 700},    {1, 1500, 300}, {1500, 1, 300},
                                        {300, 10, 520},  {10, 300, 520}, {129, 257, 3},  {113, 65, 257},
                                        {200, 300, 513}, {2, 600, 256},  {1, 40, 0},     {40, 50, 1},
                                        {700, 3, 9},     {64, 64, 64}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (int repeat = 0; repeat < 4; repeat++) {
            if (repeat != (int)i % 4 && !check_part((int64_t)i * 4 + repeat, 4)) continue;
            const kni_gemm_type type = repeat == 3 ? KNI_GEMM_F64 : KNI_GEMM_F32;
            test_case t = make_case(shapes[i][0], shapes[i][1], shapes[i][2], type, type, type);
            check_case(&t, NULL, "particular shape");
            free_case(&t);
        }
}

static void test_half_types(void)
{
    static const kni_gemm_type types[] = {KNI_GEMM_F32, KNI_GEMM_F16, KNI_GEMM_BF16};
    for (int i = 0; i < 80; i++) {
        const int64_t high = i % 8 == 7 ? 300 : 70;
        test_case t = make_case(random_to(1, high), random_to(1, high), random_to(1, high),
                                types[random_to(0, 2)], types[random_to(0, 2)], types[random_to(0, 2)]);
        if (random_to(0, 3) == 0) add_bias(&t, KNI_GEMM_BIAS_PER_COLUMN);
        check_case(&t, NULL, "16-bit types");
        free((void *)t.args.bias);
        free_case(&t);
    }
}

/* All 65,536 patterns of f16 and bf16 pass through a product with the identity. */
static void test_half_conversion(void)
{
    enum { N = 256 };
    static uint16_t in[N * N], out[N * N];
    static float one[N * N];
    for (int i = 0; i < N; i++) one[i * N + i] = 1;
    for (int type = KNI_GEMM_F16; type <= KNI_GEMM_BF16; type++) {
        for (int i = 0; i < N * N; i++) {
            /* Infinities and NaN times zero would spread along the row. */
            const bool finite = type == KNI_GEMM_F16 ? (i & 0x7c00) != 0x7c00 : (i & 0x7f80) != 0x7f80;
            in[i] = (uint16_t)(finite ? i : 0);
        }
        kni_gemm_args g = {.m = N, .n = N, .k = N, .a = in, .b = one, .c = out, .alpha = 1};
        g.type_a = g.type_c = (kni_gemm_type)type;
        g.a_row = g.b_row = g.c_row = N;
        g.a_col = g.b_col = g.c_col = 1;
        check(kni_gemm(&g), "16-bit product");
        int wrong = 0;
        for (int i = 0; i < N * N; i++) wrong += (in[i] & 0x7fff) != (out[i] & 0x7fff);
        check(wrong == 0, type == KNI_GEMM_F16 ? "f16 survives" : "bf16 survives");
    }
}

static double relu(double x) { return x > 0 ? x : 0; }

typedef struct {
    int64_t m, n;
    char *seen;
    bool is_f64;
} epilogue_state;

static void relu_tile(void *ctx, void *tile, int64_t row, int64_t col, int64_t rows, int64_t cols,
                      int64_t stride)
{
    epilogue_state *state = ctx;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) {
            state->seen[(row + i) * state->n + col + j]++;
            if (state->is_f64) {
                double *x = (double *)tile + i * stride + j;
                *x = relu(*x);
            } else {
                float *x = (float *)tile + i * stride + j;
                *x = *x > 0 ? *x : 0;
            }
        }
}

static void test_epilogue(void)
{
    static const kni_gemm_type types[] = {KNI_GEMM_F32, KNI_GEMM_F64, KNI_GEMM_BF16};
    for (int i = 0; i < 60; i++) {
        const kni_gemm_type type = types[i % 3];
        const int64_t high = i % 5 == 4 ? 400 : 70;
        test_case t = make_case(random_to(1, high), random_to(1, high), random_to(0, high), type, type, type);
        epilogue_state state = {t.args.m, t.args.n, calloc((size_t)(t.args.m * t.args.n * t.args.batch), 1),
                                type == KNI_GEMM_F64};
        add_bias(&t, i % 2 ? KNI_GEMM_BIAS_PER_ROW : KNI_GEMM_BIAS_PER_COLUMN);
        t.args.epilogue = relu_tile;
        t.args.epilogue_ctx = &state;
        check_case(&t, relu, "epilogue");
        bool once = true;
        for (int64_t e = 0; e < t.args.m * t.args.n * t.args.batch; e++) once = once && state.seen[e] == 1;
        check(once, "the epilogue sees every element once");
        free(state.seen);
        free((void *)t.args.bias);
        free_case(&t);
    }
}

static void test_packed(void)
{
    for (int i = 0; i < 60; i++) {
        const kni_gemm_type type = i % 3 == 2 ? KNI_GEMM_F64 : KNI_GEMM_F32;
        const int64_t high = i % 4 == 3 ? 700 : 70;
        test_case t = make_case(random_to(1, 120), random_to(1, high), random_to(1, high), type, type, type);
        kni_gemm_args *g = &t.args;
        g->batch = 1;
        t.c_count = g->c_batch;
        kni_gemm_packed packed;
        const bool ok = kni_gemm_pack_b(&packed, g->b, type, g->k, g->n, g->b_row, g->b_col);
        check(ok && kni_gemm_packed_fits(&packed), "pack_b");
        g->b_packed = &packed;
        check_case(&t, NULL, "packed");
        /* The packed and the plain product agree to the last bit. */
        void *first = malloc((size_t)(t.c_count * sizes[type]));
        memcpy(first, g->c, (size_t)(t.c_count * sizes[type]));
        memcpy(g->c, t.c_before, (size_t)(t.c_count * sizes[type]));
        g->b_packed = NULL;
        check(kni_gemm(g) && !memcmp(first, g->c, (size_t)(t.c_count * sizes[type])), "packed is bit-equal");
        g->b_packed = &packed;
        g->k++;
        check(!kni_gemm(g), "a packed B of another size is refused");
        kni_gemm_packed_free(&packed);
        free(first);
        free_case(&t);
    }
}

/* Runs the case with a tier and a number of threads and compares C with what another run left in `want`. */
static bool same_bits(test_case *t, kni_tier tier, int threads, const void *want, void *keep)
{
    const size_t bytes = (size_t)(t->c_count * sizes[t->args.type_c]);
    kni_cpu_set_tier(tier);
    kni_set_threads(threads);
    memcpy(t->args.c, t->c_before, bytes);
    const bool ok = kni_gemm(&t->args) && (!want || !memcmp(want, t->args.c, bytes));
    if (keep) memcpy(keep, t->args.c, bytes);
    return ok;
}

static void test_bit_equality(void)
{
    static const kni_gemm_type types[] = {KNI_GEMM_F32, KNI_GEMM_F64, KNI_GEMM_F16, KNI_GEMM_BF16};
    static const int64_t big[][3] = {
        {300, 270, 600}, {1, 3000, 700}, {3000, 1, 700}, {260, 20, 530}, {29, 800, 300}};
    const kni_tier before = kni_cpu_tier();
    for (int i = 0; i < 70; i++) {
        const kni_gemm_type type = types[i % 4];
        test_case t = i < 60
                          ? make_case(random_to(1, 70), random_to(1, 70), random_to(1, 70), type, type, type)
                          : make_case(big[i % 5][0], big[i % 5][1], big[i % 5][2], types[i % 2], types[i % 2],
                                      types[i % 2]);
        void *want = malloc((size_t)(t.c_count * sizes[t.args.type_c]));
        t.args.reproducible = true;
        same_bits(&t, KNI_ISA_SCALAR, 1, NULL, want);
        for (int tier = 0; tier < KNI_ISA_COUNT; tier++)
            if (tier_runs((kni_tier)tier)) {
                check(same_bits(&t, (kni_tier)tier, 1, want, NULL),
                      "reproducible: bit-equal with the scalar tier");
                check(same_bits(&t, (kni_tier)tier, 8, want, NULL), "reproducible: bit-equal with 8 threads");
            }
        t.args.reproducible = false;
        if (tier_runs(KNI_ISA_V3)) {
            same_bits(&t, KNI_ISA_V3, 1, NULL, want);
            check(same_bits(&t, KNI_ISA_V3, 2, want, NULL), "fused: v3 with 2 threads");
            check(same_bits(&t, KNI_ISA_V3, 8, want, NULL), "fused: v3 with 8 threads");
        }
        if (tier_runs(KNI_ISA_V3) && tier_runs(KNI_ISA_V4))
            for (int threads = 1; threads <= 8; threads += threads == 1 ? 1 : 6)
                check(same_bits(&t, KNI_ISA_V4, threads, want, NULL), "fused: v4 as v3");
        free(want);
        free_case(&t);
    }
    kni_cpu_set_tier(before);
    kni_set_threads(2);
}

static void test_special_values(void)
{
    float a[4] = {1, 2, 3, 4}, b[4] = {1, 0, 0, 1}, c[4] = {NAN, NAN, NAN, NAN};
    kni_gemm_args g = {.m = 2,
                       .n = 2,
                       .k = 2,
                       .a = a,
                       .b = b,
                       .c = c,
                       .a_row = 2,
                       .a_col = 1,
                       .b_row = 2,
                       .b_col = 1,
                       .c_row = 2,
                       .c_col = 1,
                       .alpha = 1};
    check(kni_gemm(&g) && c[0] == 1 && c[3] == 4, "beta 0 does not read C");
    a[0] = NAN;
    g.alpha = 0;
    g.beta = 2;
    check(kni_gemm(&g) && c[0] == 2 && c[3] == 8, "alpha 0 does not read A");
    g.m = 0;
    check(kni_gemm(&g), "no rows");
    g.m = 2;
    g.type_b = KNI_GEMM_F64;
    check(!kni_gemm(&g), "f32 with f64 is refused");
}

/* Each allocation that a product makes fails once: the product says so and leaves nothing behind. */
static void test_no_memory(void)
{
    static const int64_t shapes[][3] = {{500, 500, 300}, {1, 3000, 900}, {40, 2000, 300}, {600, 30, 300}};
    for (int i = 0; i < 8; i++) {
        const kni_gemm_type type = i < 4 ? KNI_GEMM_F32 : KNI_GEMM_BF16;
        test_case t = make_case(shapes[i % 4][0], shapes[i % 4][1], shapes[i % 4][2], type, type, type);
        for (int64_t n = 1;; n++) {
            kni_workspace_release();
            kni_pool_shutdown();
            kn_memory_fail_after(n);
            const bool ok = kni_gemm(&t.args);
            kn_memory_fail_after(0);
            if (ok) break;
            if (n > 100) {
                check(false, "a product without failing allocations succeeds");
                break;
            }
        }
        memcpy(t.args.c, t.c_before, (size_t)(t.c_count * sizes[type]));
        check_case(&t, NULL, "after allocations failed");
        free_case(&t);
    }
    kni_gemm_packed packed;
    float b[6] = {1, 2, 3, 4, 5, 6};
    kn_memory_fail_after(1);
    check(!kni_gemm_pack_b(&packed, b, KNI_GEMM_F32, 2, 3, 3, 1), "pack_b without memory");
    kn_memory_fail_after(0);
    kni_gemm_packed_free(&packed);
}

static void test_integers(void)
{
    for (int i = 0; i < 40; i++) {
        const int64_t m = random_to(1, 90), n = random_to(1, 150), k = random_to(0, 300);
        kni_gemm_int_args g = {.m = m, .n = n, .k = k};
        const int64_t a_count = choose_strides(m, k, &g.a_row, &g.a_col),
                      b_count = choose_strides(k, n, &g.b_row, &g.b_col),
                      c_count = choose_strides(m, n, &g.c_row, &g.c_col);
        int64_t *a = malloc((size_t)a_count * 8), *b = malloc((size_t)b_count * 8),
                *c = malloc((size_t)c_count * 8);
        int32_t *a32 = malloc((size_t)a_count * 4), *b32 = malloc((size_t)b_count * 4),
                *c32 = malloc((size_t)c_count * 4);
        for (int64_t e = 0; e < a_count; e++) a32[e] = (int32_t)(a[e] = (int32_t)(random_bits() << 1));
        for (int64_t e = 0; e < b_count; e++) b32[e] = (int32_t)(b[e] = (int32_t)(random_bits() << 1));
        for (int64_t e = 0; e < c_count; e++) c32[e] = (int32_t)(c[e] = e);
        g.accumulate = i % 2;
        kni_gemm_int_args g32 = g;
        g.a = a, g.b = b, g.c = c;
        g32.a = a32, g32.b = b32, g32.c = c32;
        kni_gemm_i64(&g);
        kni_gemm_i32(&g32);
        int wrong = 0;
        for (int64_t r = 0; r < m; r++)
            for (int64_t j = 0; j < n; j++) {
                const int64_t at = r * g.c_row + j * g.c_col;
                uint64_t want = g.accumulate ? (uint64_t)at : 0;
                for (int64_t x = 0; x < k; x++)
                    want += (uint64_t)a[r * g.a_row + x * g.a_col] * (uint64_t)b[x * g.b_row + j * g.b_col];
                wrong += c[at] != (int64_t)want || c32[at] != (int32_t)want;
            }
        check(wrong == 0, "integer product");
        free(a), free(b), free(c), free(a32), free(b32), free(c32);
    }
}

int main(void)
{
    const kni_tier best = kni_cpu_tier();
    kni_set_threads(2);
    for (int tier = 0; tier < KNI_ISA_COUNT; tier++) {
        if (!tier_runs((kni_tier)tier)) continue;
        kni_cpu_set_tier((kni_tier)tier);
        test_random_shapes();
        test_particular_shapes();
        test_half_types();
        test_half_conversion();
        test_epilogue();
        test_packed();
        test_integers();
        test_special_values();
    }
    kni_cpu_set_tier(best);
    test_bit_equality();
    test_no_memory();
    kni_workspace_release();
    kni_pool_shutdown();
    return check_report();
}
