/* Groups as compiled C (KN_JIT=cc) give the bits of the same ops one by one: over dtypes, broadcasts, strides, several
   results and results in the memory of operands; before and after the compiler is done, and without one. */
#define _DEFAULT_SOURCE
#include "backend/cpu/group_strips.h"
#include "backend/jit/group_jit.h"
#include "support/check.h"
#include "support/file.h"
#include <kn/custom_op.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 16 };
static int64_t height = 37, width = 211;
static char cache[] = "group_jit_cache_XXXXXX";
static kn_device plain;

/* ---- operands, made from the same numbers on each device */

typedef struct operands {
    kn_tensor a, b; /* height x width */
    kn_tensor row, column;
    kn_tensor turned; /* height x width, lies by columns */
    kn_tensor sparse; /* height x width, every other element of a wider one */
    kn_tensor one;    /* a single element in memory */
    kn_tensor truth;
} operands;

static kn_tensor filled(kn_dtype dtype, int64_t rows, int64_t columns, uint32_t seed)
{
    int64_t n = rows * columns;
    double *v = malloc((size_t)n * sizeof *v);
    if (!v) exit(1);
    uint32_t x = seed * 2654435761u + 12345;
    bool whole = dtype != KN_F64 && dtype != KN_F32 && dtype != KN_F16 && dtype != KN_BF16;
    for (int64_t i = 0; i < n; i++) {
        x = x * 1664525u + 1013904223u;
        v[i] = whole ? (double)(x >> 24) - 100 : ((double)(x >> 8) / (1 << 24) - 0.4) * (x & 64 ? 4 : 1);
        if (!whole && x >> 24 == 3) v[i] = 0;
        if (!whole && x >> 24 == 5) v[i] = -0.0;
        if (!whole && x >> 24 == 7) v[i] = 1e30;
    }
    kn_tensor y = kn_cast(kn_from(v, KN_F64, KN_SHAPE(rows, columns)), dtype);
    free(v);
    return y;
}

static operands make(kn_dtype dtype)
{
    operands o;
    o.a = kn_keep(filled(dtype, height, width, 1));
    o.b = kn_keep(filled(dtype, height, width, 2));
    o.row = kn_keep(filled(dtype, 1, width, 3));
    o.column = kn_keep(filled(dtype, height, 1, 4));
    o.turned = kn_keep(kn_transpose(kn_keep(filled(dtype, width, height, 5)), 0, 1));
    o.sparse = kn_keep(kn_slice(kn_keep(filled(dtype, height, 2 * width + 1, 6)), 1, 1, KN_END, 2));
    o.one = kn_keep(filled(dtype, 1, 1, 7));
    o.truth = kn_keep(kn_greater(filled(KN_F32, height, width, 8), filled(KN_F32, height, width, 9)));
    kn_tensor all[] = {o.a, o.b, o.row, o.column, o.turned, o.sparse, o.one, o.truth};
    for (int i = 0; i < 8; i++) CHECK(kn_ok(all[i]));
    return o;
}

/* ---- programs: each gives some results */

typedef int program(const operands *o, kn_tensor *y);

static int chain(const operands *o, kn_tensor *y)
{
    kn_tensor t = kn_relu(kn_add(kn_mul_scalar(o->a, 1.5), o->b));
    y[0] = kn_keep(kn_square(kn_sub(kn_mul(t, o->b), o->a)));
    return 1;
}

static int broadcasts(const operands *o, kn_tensor *y)
{
    kn_tensor t = kn_keep(kn_add(kn_mul(o->a, o->row), o->column));
    y[0] = t;
    y[1] = kn_keep(kn_sub(kn_maximum(t, o->one), o->row));
    y[2] = kn_keep(kn_minimum(kn_mul(o->column, t), o->b));
    return 3;
}

static int strides(const operands *o, kn_tensor *y)
{
    kn_tensor t = kn_keep(kn_sub(o->turned, o->sparse));
    y[0] = kn_keep(kn_mul(kn_add(t, o->row), o->turned));
    y[1] = kn_keep(kn_add(kn_mul(t, o->column), o->a));
    return 2;
}

/* An op that is a body of the user's goes word by word. */
static int defined(const operands *o, kn_tensor *y)
{
    static kn_op_handle op;
    if (!op)
        op = kn_op_define("jit_body",
                          &(kn_body_args){.in = "x w b",
                                          .scalars = {{"t", 0.5}},
                                          .body = "s = sigmoid(t * x);"
                                                  "y = x > 0.1 && !(w > b) ? x * s + w : max(b, 2) - w / 3"});
    kn_tensor in[3] = {o->a, o->row, o->column}, z = KN_NONE;
    CHECK(op && kn_custom_call(op, in, &z) == KN_OK);
    y[0] = kn_keep(kn_mul(z, o->b));
    return 1;
}

/* Only broadcasts and strides: nothing lies as the results do. */
static int no_flat(const operands *o, kn_tensor *y)
{
    y[0] = kn_keep(kn_mul(kn_add(o->row, o->column), o->one));
    y[1] = kn_keep(kn_sub(kn_mul(o->row, o->column), o->sparse));
    return 2;
}

static int choices(const operands *o, kn_tensor *y)
{
    kn_tensor less = kn_keep(kn_less(o->a, o->b));
    y[0] = kn_keep(kn_where(kn_logical_and(less, o->truth), o->a, kn_mul(o->b, o->row)));
    y[1] = kn_keep(kn_logical_xor(kn_logical_not(less), o->truth));
    y[2] = kn_keep(kn_add(kn_cast(less, KN_I32), kn_cast(o->truth, KN_I32)));
    y[3] = kn_keep(kn_clamp(kn_neg(o->a), -0.5, 20));
    return 4;
}

/* Through other dtypes and back. */
static int casts(const operands *o, kn_tensor *y)
{
    static const kn_dtype by[] = {KN_F16, KN_BF16, KN_F32, KN_F64, KN_I8, KN_I32, KN_I64, KN_U8, KN_U32};
    int n = (int)(sizeof by / sizeof *by);
    for (int i = 0; i < n; i++) {
        kn_tensor small = kn_clamp(o->a, 0, 100);
        y[i] = kn_keep(kn_mul(kn_cast(kn_cast(small, by[i]), KN_F32), kn_cast(o->one, KN_F32)));
    }
    y[n] = kn_keep(kn_cast(kn_add(o->a, o->b), KN_F16));
    y[n + 1] = kn_keep(kn_add(kn_cast(o->a, KN_F64), kn_cast(o->b, KN_BF16)));
    return n + 2;
}

/* Operands that die here lend their memory. */
static int in_place(const operands *o, kn_tensor *y)
{
    kn_tensor t = kn_cumsum(o->a, 1), u = kn_cumsum(o->b, 0);
    (void)!kn_submit(kn_device_of(o->a));
    y[0] = kn_keep(kn_mul(kn_add(t, o->row), kn_sub(u, o->a)));
    kn_tensor v = kn_keep(kn_add_scalar(kn_cumsum(o->b, 1), 1));
    y[1] = v;
    y[2] = kn_keep(kn_mul(v, v));
    return 3;
}

static int integers(const operands *o, kn_tensor *y)
{
    y[0] = kn_keep(kn_bitwise_xor(kn_bitwise_and(o->a, o->b), o->row));
    y[1] = kn_keep(kn_add(kn_floor_div(o->a, o->b), kn_remainder(o->a, o->row)));
    y[2] = kn_keep(kn_sub(kn_maximum(o->a, o->column), kn_abs(o->b)));
    y[3] = kn_keep(kn_mul(kn_mul(o->a, o->b), kn_mul(o->a, o->a)));
    return 4;
}

typedef kn_tensor unary(kn_tensor);
typedef kn_tensor binary(kn_tensor, kn_tensor);

static int each(unary *const *ops, int n, const operands *o, kn_tensor *y)
{
    kn_tensor x = kn_keep(kn_add(o->a, o->row));
    for (int i = 0; i < n; i++) y[i] = kn_keep(ops[i](x));
    return n;
}

static int words1(const operands *o, kn_tensor *y)
{
    static unary *const ops[] = {kn_exp,   kn_exp2, kn_expm1, kn_log, kn_log2, kn_log10,
                                 kn_log1p, kn_sqrt, kn_sin,   kn_cos, kn_tanh, kn_sigmoid};
    return each(ops, (int)(sizeof ops / sizeof *ops), o, y);
}

static int words2(const operands *o, kn_tensor *y)
{
    static unary *const ops[] = {kn_gelu,  kn_silu, kn_mish, kn_selu,  kn_rsqrt, kn_tan,   kn_sinh,
                                 kn_acosh, kn_asin, kn_atan, kn_atanh, kn_erf,   kn_erfinv};
    return each(ops, (int)(sizeof ops / sizeof *ops), o, y);
}

static int words3(const operands *o, kn_tensor *y)
{
    static unary *const ops[] = {kn_lgamma, kn_digamma, kn_floor,  kn_ceil,    kn_trunc,     kn_frac,
                                 kn_sign,   kn_is_nan,  kn_is_inf, kn_signbit, kn_reciprocal};
    static binary *const pairs[] = {kn_pow, kn_atan2, kn_hypot, kn_copysign};
    int n = each(ops, (int)(sizeof ops / sizeof *ops), o, y);
    for (int i = 0; i < 4; i++) y[n++] = kn_keep(pairs[i](kn_add(o->a, o->column), o->b));
    return n;
}

/* The elementwise work around softmax and norm. */
static int rows(const operands *o, kn_tensor *y)
{
    kn_tensor s = kn_softmax(kn_add(kn_mul_scalar(o->a, 0.125), kn_clamp(o->row, -1, 1)), -1);
    y[0] = kn_keep(kn_add(kn_mul(s, o->b), o->column));
    kn_tensor e = kn_keep(kn_exp(kn_clamp(kn_sub(o->a, o->b), -2, 2)));
    y[1] = kn_keep(kn_mul(kn_div(e, kn_sum(e, KN_AXES(-1), true)), o->b));
    return 2;
}

/* A full group, whose records have more than a hundred numbers. */
static int numbers(const operands *o, kn_tensor *y)
{
    kn_tensor t = o->sparse;
    for (int i = 0; i < KNI_GROUP_RECORDS; i++) t = kn_nan_to_num(t, i, 100 + i, -100 - i);
    y[0] = kn_keep(t);
    return 1;
}

/* ---- comparing */

typedef struct results {
    int n;
    bool compiled; /* some of it ran as compiled code */
    size_t bytes[MOST];
    void *data[MOST];
} results;

static results run(kn_device device, program *p, kn_dtype dtype)
{
    results r = {0};
    kn_tensor y[MOST];
    kn_device_use(device);
    kn_scope scope = kn_scope_begin();
    operands o = make(dtype);
    CHECK(kn_sync(device) == KN_OK);
    int64_t before = kni_group_jit_runs();
    r.n = p(&o, y);
    for (int i = 0; i < r.n; i++) {
        r.bytes[i] = (size_t)kn_dtype_bytes(kn_dtype_of(y[i]), kn_count(y[i]));
        r.data[i] = calloc(1, r.bytes[i] + 1);
        if (!CHECK(r.data[i] && kn_read(y[i], r.data[i], r.bytes[i]) == KN_OK)) puts(kn_last_error());
    }
    r.compiled = kni_group_jit_runs() > before;
    kn_scope_end(scope, KN_NONE);
    return r;
}

static void drop(results *r)
{
    for (int i = 0; i < r->n; i++) free(r->data[i]);
}

static bool same(const results *a, const results *b)
{
    bool good = a->n == b->n;
    for (int i = 0; good && i < a->n; i++) {
        good = a->bytes[i] == b->bytes[i] && !memcmp(a->data[i], b->data[i], a->bytes[i]);
        if (!good) printf("result %d differs\n", i);
    }
    return good;
}

typedef struct test {
    const char *name;
    program *run;
    const kn_dtype *dtypes; /* ended by 0 */
} test;
static const kn_dtype floats[] = {KN_F32, KN_F64, KN_F16, KN_BF16, 0}, single[] = {KN_F32, 0},
                      wide[] = {KN_F32, KN_F64, 0}, some[] = {KN_F32, KN_BF16, KN_I64, KN_U8, 0},
                      wholes[] = {KN_I8, KN_I32, KN_I64, KN_U8, KN_U32, KN_U64, 0};
static const test tests[] = {
    {"chain", chain, floats},     {"broadcasts", broadcasts, some}, {"strides", strides, some},
    {"no flat", no_flat, some},   {"choices", choices, some},       {"casts", casts, wide},
    {"in place", in_place, some}, {"integers", integers, wholes},   {"words 1", words1, wide},
    {"words 2", words2, wide},    {"words 3", words3, wide},        {"rows", rows, single},
    {"numbers", numbers, single}, {"defined", defined, floats},
};

static void close_device(kn_device device)
{
    kn_device_use(plain);
    kn_device_close(device);
}

static void compare(const test *t, kn_device fused, kn_dtype dtype, bool compiled)
{
    results want = run(plain, t->run, dtype);
    for (int turn = 0; turn < 2; turn++) {
        results got = run(fused, t->run, dtype);
        bool good = CHECK(got.compiled == compiled);
        if (!(CHECK(same(&want, &got)) && good))
            printf("%s of %s, %lld x %lld, turn %d\n", t->name, kn_dtype_name(dtype), (long long)height,
                   (long long)width, turn);
        drop(&got);
    }
    drop(&want);
}

/* At once: every group that is run is compiled before. */
static void at_once(void)
{
    setenv("KN_JIT", "cc:wait", 1);
    kn_device fused = kn_device_open("fusion(cpu)");
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        for (const kn_dtype *d = tests[i].dtypes; *d; d++)
            if (d == tests[i].dtypes || check_part((int64_t)i * 8 + (d - tests[i].dtypes), 3))
                compare(&tests[i], fused, *d, true);
    close_device(fused);
}

/* Other sizes take the same texts: on several threads, with rows in blocks, with one row, with few elements; rows that are
   too short stay interpreted. */
static void other_sizes(void)
{
    static const struct {
        int64_t height, width;
        bool compiled;
    } sizes[] = {{517, 401, true}, {5, 40001, true}, {1, 90000, true},
                 {64, 8, true},    {1, 1, true},     {3000, 3, false}};
    setenv("KN_JIT", "cc:wait", 1);
    kn_device fused = kn_device_open("fusion(cpu)");
    kn_set_threads(4);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        height = sizes[i].height, width = sizes[i].width;
        for (int t = 0; t < 4; t++) compare(&tests[t], fused, KN_F32, sizes[i].compiled || t == 0);
    }
    height = 37, width = 211;
    kn_set_threads(0);
    close_device(fused);
}

/* Results from the same random numbers on any device, in the order of their elements; the truths come first, so that the
   numbers after them must not begin where a row of truths ends. */
static bool large_results(kn_device device, int64_t rows, int64_t columns, kn_tensor *y)
{
    kn_device_use(device);
    kn_seed(device, 7);
    kn_tensor a = kn_keep(kn_random_uniform(KN_SHAPE(rows, columns), -1, 1, KN_F32));
    kn_tensor b = kn_keep(kn_random_uniform(KN_SHAPE(rows, columns), -1, 1, KN_F32));
    kn_tensor row = kn_keep(kn_random_uniform(KN_SHAPE(columns), -1, 1, KN_F32));
    bool good = kn_sync(device) == KN_OK;
    y[2] = kn_keep(kn_less(a, row));
    y[0] = kn_keep(kn_square(kn_sub(kn_mul(kn_relu(kn_add(kn_mul_scalar(a, 1.5), b)), b), row)));
    y[1] = kn_keep(kn_mul(kn_sub(a, b), b));
    return good && kn_sync(device) == KN_OK;
}

/* What is larger than the caches is written past them, strip by strip and item by item, with ends that fill no line. */
static void past_the_caches(void)
{
    static const int64_t sizes[][2] = {{1, 8400001}, {2900, 3001}, {13200, 640}, {112000, 301}};
    kn_device devices[2]; /* strips, compiled: each keeps the plans that it made */
    for (int jit = 0; jit < 2; jit++) devices[jit] = kn_device_open("fusion(cpu)");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int jit = 0; jit < 2; jit++) {
            setenv("KN_JIT", jit ? "cc:wait" : "off", 1);
            kn_device fused = devices[jit];
            kn_scope scope = kn_scope_begin();
            kn_tensor want[3], got[3];
            int64_t before = kni_group_jit_runs();
            size_t n = (size_t)(sizes[i][0] * sizes[i][1]), bytes = n * sizeof(float);
            float *x = malloc(bytes), *y = malloc(bytes);
            bool good = CHECK(large_results(plain, sizes[i][0], sizes[i][1], want) &&
                              large_results(fused, sizes[i][0], sizes[i][1], got) && x && y);
            for (int k = 0; k < 3 && good; k++) {
                size_t size = k == 2 ? n : bytes;
                CHECK(kn_read(want[k], x, size) == KN_OK && kn_read(got[k], y, size) == KN_OK);
                CHECK(!memcmp(x, y, size));
            }
            CHECK((kni_group_jit_runs() > before) == (jit == 1));
            free(x), free(y);
            kn_scope_end(scope, KN_NONE);
        }
    for (int jit = 0; jit < 2; jit++) close_device(devices[jit]);
}

/* Rows of just under two stages' length: more results than the stage has room for are written without it. */
static void more_than_the_stage_holds(void)
{
    enum { RESULTS = 9, ROWS = 8300, COLUMNS = 511, COUNT = ROWS * COLUMNS };
    static double want[COUNT], got[COUNT];
    kn_tensor y[RESULTS];
    setenv("KN_JIT", "cc:wait", 1);
    kn_device fused = kn_device_open("fusion(cpu)");
    kn_device_use(fused);
    kn_scope scope = kn_scope_begin();
    kn_tensor a = kn_keep(kn_reshape(kn_arange(0, COUNT, 1, KN_F64), KN_SHAPE(ROWS, COLUMNS)));
    kn_tensor row = kn_keep(kn_arange(0, COLUMNS, 1, KN_F64));
    CHECK(kn_sync(fused) == KN_OK);
    int64_t before = kni_group_jit_runs();
    kn_tensor shared = kn_keep(kn_sub(a, row));
    for (int i = 0; i < RESULTS; i++) y[i] = kn_keep(kn_mul_scalar(shared, i + 1));
    CHECK(kn_sync(fused) == KN_OK && kni_group_jit_runs() > before);
    for (int i = 0; i < RESULTS; i++) {
        for (int k = 0; k < COUNT; k++) want[k] = (double)(k - k % COLUMNS) * (i + 1);
        CHECK(kn_read(y[i], got, sizeof got) == KN_OK && !memcmp(got, want, sizeof got));
    }
    kn_scope_end(scope, KN_NONE);
    close_device(fused);
}

static int entries(void)
{
    kni_folder names;
    if (kni_folder_read(&names, cache)) return -1;
    int n = (int)names.count;
    kni_folder_free(&names);
    return n;
}

/* While the compiler works the strips run; then the swap, and the same numbers. */
static void in_the_background(void)
{
    CHECK(kni_path_remove(cache) == KN_OK);
    setenv("KN_JIT", "cc", 1);
    kn_device fused = kn_device_open("fusion(cpu)");
    results want = run(plain, broadcasts, KN_F32);
    int interpreted = 0, compiled = 0;
    for (int i = 0; i < 6000 && compiled < 5; i++) {
        results got = run(fused, broadcasts, KN_F32);
        CHECK(same(&want, &got));
        drop(&got);
        *(got.compiled ? &compiled : &interpreted) += 1;
        usleep(10000);
    }
    CHECK(interpreted >= 2 && compiled == 5);
    drop(&want);
    close_device(fused);
}

/* A plan that is made again finds on disk what was compiled, as soon as it asks. */
static void from_disk(void)
{
    int n = entries();
    CHECK(n > 0);
    setenv("KN_JIT", "cc", 1);
    kn_device fused = kn_device_open("fusion(cpu)");
    results want = run(plain, broadcasts, KN_F32), first = run(fused, broadcasts, KN_F32);
    results second = run(fused, broadcasts, KN_F32);
    CHECK(!first.compiled && second.compiled && entries() == n);
    CHECK(same(&want, &first) && same(&want, &second));
    drop(&want), drop(&first), drop(&second);
    close_device(fused);
}

static int warnings;
static void hear(void *context, kn_log_level level, const char *line)
{
    (void)context;
    warnings += level == KN_LOG_WARNING && strstr(line, "KN_CC") != NULL;
}

static void without_a_compiler(void)
{
    setenv("KN_CC", "/nowhere/cc", 1);
    kn_log_set(hear, NULL);
    for (int wait = 0; wait < 2; wait++) {
        setenv("KN_JIT", wait ? "cc:wait" : "cc", 1);
        kn_device fused = kn_device_open("fusion(cpu)");
        for (int t = 0; t < 4; t++) compare(&tests[t], fused, KN_F32, false);
        close_device(fused);
    }
    CHECK(warnings == 1);
    kn_log_set(NULL, NULL);
    unsetenv("KN_CC");
}

/* Each in a process of its own: what one compiled the others do not have in memory. */
static void apart(void (*part)(void))
{
    int status = -1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        plain = kn_device_open("cpu");
        part();
        check_report();
        fflush(stdout);
        _exit(check_failed ? 1 : 0);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status));
}

int main(void)
{
    if (UNDER_MEMORY_SANITIZER) {
        check_skip("MemorySanitizer: compiled code");
        return check_report();
    }
    if (!CHECK(mkdtemp(cache) != NULL)) return check_report();
    setenv("KN_CACHE_DIR", cache, 1);
    apart(at_once);
    apart(other_sizes);
    apart(past_the_caches);
    apart(more_than_the_stage_holds);
    apart(in_the_background);
    apart(from_disk);
    apart(without_a_compiler);
    CHECK(kni_path_remove(cache) == KN_OK);
    return check_report();
}
