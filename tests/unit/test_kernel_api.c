/* Users' kernels: compiling, running, debugging, showing, and ops made of them, on cpu, ref and under autodiff. */
#define _GNU_SOURCE /* mmap */
#include "core/thread_pool.h"
#include "support/check.h"
#include <kn/kernels.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static kn_tensor counted(int64_t n, kn_dtype dtype) { return kn_keep(kn_arange(0, (double)n, 1, dtype)); }

/* y = 2 x by, of every dtype, or of some where each is compiled for long. */
static void runs(int step)
{
    static const char *const text = "function T twice(T v) { return v + v; }\n"
                                    "kernel scale(index item, in T x[], out T y[], index by)\n"
                                    "{\n    y[item] = twice(x[item]) * by;\n}\n";
    static const kn_dtype dtypes[] = {KN_F64, KN_F32, KN_F16, KN_BF16, KN_I64, KN_I32,
                                      KN_I16, KN_I8,  KN_U64, KN_U32,  KN_U16, KN_U8};
    kn_kernel *k = kn_kernel_compile(text, NULL);
    if (!CHECK(k != NULL)) return;
    CHECK(k == kn_kernel_compile(text, NULL));
    CHECK(k != kn_kernel_compile(text, &(kn_kernel_options){.file = "another.kn"}));
    kn_kernel_number by = {.whole = 3};
    kn_kernel_run_args args = {.numbers = &by, .n_numbers = 1};
    for (int i = 0; i < 12; i += step) {
        kn_tensor x = counted(6, dtypes[i]), y, z;
        CHECK(kn_kernel_run(k, &x, 1, &args, &y, 1) == KN_OK && kn_dtype_of(y) == dtypes[i]);
        CHECK_VALUES(y, 0, 0, 6, 12, 18, 24, 30);
        kn_tensor turned = kn_transpose(kn_reshape(x, KN_SHAPE(2, 3)), 0, 1);
        CHECK(kn_kernel_debug(k, &turned, 1, &args, &z, 1) == KN_OK && kn_size(z, 0) == 3);
        CHECK_VALUES(z, 0, 0, 18, 6, 24, 12, 30);
    }
    /* Many items, on all threads; none at all; a rank-0 operand. */
    kn_tensor big = counted(100000, KN_F64), y;
    CHECK(kn_kernel_run(k, &big, 1, &args, &y, 1) == KN_OK);
    CHECK(kn_item(kn_sum(y, KN_AXES_ALL, false)) == 6.0 * 99999 * 50000);
    kn_tensor none = kn_zeros(KN_SHAPE(0, 4), KN_F32);
    CHECK(kn_kernel_run(k, &none, 1, &args, &y, 1) == KN_OK && kn_count(y) == 0);
    kn_tensor one = kn_scalar(2, KN_F32);
    CHECK(kn_kernel_run(k, &one, 1, &args, &y, 1) == KN_OK && kn_item(y) == 12);
    kn_kernel_free(k);
}

/* Results of other shapes and dtypes, temp and inout buffers, uniform arrays, no operand at all. */
static void shapes_and_roles(void)
{
    kn_kernel *k = kn_kernel_compile(
        "kernel halves(index item, in i32 x[], inout f32 sum[], out f16 h[], out bool odd[], "
        "temp i32 t[], uniform i32 steps[3], f32 by)\n"
        "{\n    t[item] = x[item] * steps[item % 3];\n    h[item] = t[item] * by;\n"
        "    odd[item] = t[item] % 2 != 0;\n    sum[item] += t[item];\n}\n",
        NULL);
    if (!CHECK(k != NULL)) printf("%s\n", kn_last_error());
    if (!k) return;
    kn_tensor in[2] = {counted(4, KN_I32), kn_keep(kn_full(KN_SHAPE(4), 100, KN_F32))}, out[3];
    kn_kernel_number numbers[] = {{.whole = 1}, {.whole = 10}, {.whole = 7}, {.real = 0.5}};
    int64_t temps = 4;
    kn_kernel_run_args args = {.numbers = numbers, .n_numbers = 4, .temps = &temps};
    CHECK(kn_kernel_run(k, in, 2, &args, out, 3) == KN_OK);
    CHECK_VALUES(out[0], 0, 100, 110, 114, 103);
    CHECK(kn_dtype_of(out[1]) == KN_F16 && kn_dtype_of(out[2]) == KN_BOOL);
    CHECK_VALUES(out[1], 0, 0, 5, 7, 1.5);
    CHECK_VALUES(out[2], 0, 0, 0, 0, 1);
    CHECK_VALUES(in[1], 0, 100, 100, 100, 100);
    args.temps = NULL;
    CHECK_ERROR(kn_kernel_run(k, in, 2, &args, out, 3), "temp buffers");
    temps = -1;
    args.temps = &temps;
    CHECK_ERROR(kn_kernel_run(k, in, 2, &args, out, 3), "-1 elements");

    k = kn_kernel_compile("kernel ramp(index item, out T y[], index n) { y[item] = item % n; }", NULL);
    kn_shape shape = KN_SHAPE(2, 3);
    kn_dtype dtype = KN_I8;
    kn_kernel_run_args ramp = {.numbers = &(kn_kernel_number){.whole = 4}, .n_numbers = 1, .shapes = &shape};
    CHECK(kn_kernel_run(k, NULL, 0, &ramp, out, 1) == KN_OK && kn_dtype_of(out[0]) == KN_F32);
    CHECK_VALUES(out[0], 0, 0, 1, 2, 3, 0, 1);
    ramp.dtypes = &dtype;
    CHECK(kn_kernel_run(k, NULL, 0, &ramp, out, 1) == KN_OK && kn_dtype_of(out[0]) == KN_I8);
    ramp.shapes = NULL;
    CHECK_ERROR(kn_kernel_run(k, NULL, 0, &ramp, out, 1), "give the shapes");
    /* An integer kernel: T suits no float. */
    k = kn_kernel_compile("kernel odd(index item, in T x[], out T y[]) { y[item] = x[item] % 2; }", NULL);
    kn_tensor x = counted(4, KN_I32);
    CHECK(k && kn_kernel_run(k, &x, 1, NULL, out, 1) == KN_OK);
    CHECK_VALUES(out[0], 0, 0, 1, 0, 1);
    x = counted(4, KN_F32);
    CHECK_ERROR(kn_kernel_run(k, &x, 1, NULL, out, 1), "% is of integers");
}

/* As many results as there can be; a temp buffer of no elements. */
static void limits(void)
{
    char text[2000];
    int n = snprintf(text, sizeof text, "kernel many(index item");
    for (int i = 0; i < 16; i++) n += snprintf(text + n, sizeof text - (size_t)n, ", out T y%d[]", i);
    n += snprintf(text + n, sizeof text - (size_t)n, ") {\n");
    for (int i = 0; i < 16; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "    y%d[item] = item + %d;\n", i, i);
    snprintf(text + n, sizeof text - (size_t)n, "}\n");
    kn_kernel *k = kn_kernel_compile(text, NULL);
    kn_shape shapes[16];
    kn_tensor out[16];
    for (int i = 0; i < 16; i++) shapes[i] = KN_SHAPE(3);
    if (CHECK(k && kn_kernel_run(k, NULL, 0, &(kn_kernel_run_args){.shapes = shapes}, out, 16) == KN_OK))
        CHECK_VALUES(out[15], 0, 15, 16, 17);
    k = kn_kernel_compile("kernel empty(index item, in T x[], out T y[], temp T t[], index n) {\n"
                          "    y[item] = x[item];\n    for (index i = 0; i < n; i += 1) t[i] = 0;\n}\n",
                          NULL);
    kn_tensor x = counted(3, KN_F32), y;
    kn_kernel_run_args args = {
        .temps = &(int64_t){0}, .numbers = &(kn_kernel_number){.whole = 0}, .n_numbers = 1};
    if (CHECK(k && kn_kernel_run(k, &x, 1, &args, &y, 1) == KN_OK)) CHECK_VALUES(y, 0, 0, 1, 2);
}

/* Compiles a kernel that has as many parameters as the limit allows, or one more. */
static kn_kernel *with_parameters(const char *parameter, int n, bool array)
{
    char text[2000];
    bool operands = !strncmp(parameter, ", in", 4); /* which stand before the results */
    int at = snprintf(text, sizeof text, "kernel limit%d(index item%s", n, operands ? "" : ", out f64 y[]");
    for (int i = 0; i < (array ? 1 : n); i++)
        at += snprintf(text + at, sizeof text - (size_t)at, parameter, array ? n : i);
    if (operands) at += snprintf(text + at, sizeof text - (size_t)at, ", out f64 y[]");
    char last[20] = "1";
    if (array) snprintf(last, sizeof last, "a[%d]", n - 1);
    snprintf(text + at, sizeof text - (size_t)at, ") { y[item] = %s; }\n", last);
    return kn_kernel_compile(text, NULL);
}

/* A kernel compiles with the largest number of parameters of each kind and is refused with one more. */
static void limits_of_parameters(void)
{
    static const struct {
        const char *parameter;
        int limit;
        bool array;
        const char *words;
    } sorts[] = {{", in f64 x%d[]", 16, false, "has more than 16 operands"},
                 {", out f64 z%d[]", 15, false, "has more than 16 results"},
                 {", temp f64 t%d[]", 4, false, "has more than 4 temp buffers"},
                 {", uniform i64 a[%d]", 96, true, "has more than 96 whole numbers"},
                 {", uniform f64 a[%d]", 16, true, "has more than 16 real numbers"}};
    for (size_t i = 0; i < sizeof sorts / sizeof *sorts; i++) {
        kn_kernel *k = with_parameters(sorts[i].parameter, sorts[i].limit, sorts[i].array), *more;
        if (!CHECK(k != NULL)) printf("  %s: %s\n", sorts[i].parameter, kn_last_error());
        more = with_parameters(sorts[i].parameter, sorts[i].limit + 1, sorts[i].array);
        CHECK_ERROR(more ? KN_OK : KN_ERROR_UNSUPPORTED, sorts[i].words);
        kn_kernel_number numbers[96] = {{0}};
        for (int n = 0; n < sorts[i].limit; n++)
            if (i == 3)
                numbers[n].whole = n;
            else
                numbers[n].real = n + 0.5;
        kn_shape shape = KN_SHAPE(1);
        kn_kernel_run_args args = {.numbers = numbers, .n_numbers = sorts[i].limit, .shapes = &shape};
        kn_tensor y;
        if (k && sorts[i].array && CHECK(kn_kernel_run(k, NULL, 0, &args, &y, 1) == KN_OK))
            CHECK_VALUES(y, 0, i == 3 ? 95 : 15.5);
        kn_kernel_free(k);
    }
}

/* What a run took is given back, temp buffers of any size too. */
static void memory_comes_back(void)
{
    kn_kernel *k =
        kn_kernel_compile("kernel back(index item, in T x[], out T y[], temp T t[], temp u8 u[]) {\n"
                          "    t[item] = x[item];\n    y[item] = t[item] + u[item];\n}\n",
                          NULL);
    int64_t temps[] = {5, 7}, before = 0;
    if (!CHECK(k != NULL)) return;
    for (int i = 0; i < 3; i++) { /* the first run compiles for its dtypes */
        kn_tensor x = counted(5, KN_F32), y;
        CHECK(kn_kernel_run(k, &x, 1, &(kn_kernel_run_args){.temps = temps}, &y, 1) == KN_OK);
        CHECK_VALUES(y, 0, 0, 1, 2, 3, 4);
        kn_drop(x);
        kn_drop(y);
        if (i == 0) before = kn_memory_stats().bytes_now;
        CHECK(kn_memory_stats().bytes_now == before);
    }
    kn_kernel_free(k);
}

static double seconds_of(clockid_t clock)
{
    struct timespec t = {0};
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Whether any thread but this one worked while the kernel ran. A team that wakes up late finds nothing to do, so there are many
   attempts. */
static bool others_work(kn_kernel *k, int64_t n, int64_t items)
{
    kn_tensor x = kn_keep(kn_ones(KN_SHAPE(n), KN_F32)), y;
    bool others = false, good = true;
    for (int attempt = 0; attempt < 100 && good && !others; attempt++) {
        double all = seconds_of(CLOCK_PROCESS_CPUTIME_ID), own = seconds_of(CLOCK_THREAD_CPUTIME_ID);
        good &= kn_kernel_run(k, &x, 1, &(kn_kernel_run_args){.items = items}, &y, 1) == KN_OK &&
                kn_sync(NULL) == KN_OK;
        own = seconds_of(CLOCK_THREAD_CPUTIME_ID) - own;
        all = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - all;
        others = all - own > all / 10;
        kn_drop(y);
    }
    kn_drop(x);
    return good && others;
}

/* Many items, and many workgroups, are shared by the threads. */
static void threads_share(void)
{
    static const char *const texts[] = {
        "kernel items(index item, in f32 x[], out f32 y[]) {\n    f32 v = x[item];\n"
        "    for (index i = 0; i < 8; i += 1) v = v * v;\n    y[item] = v;\n}\n",
        "kernel groups(workgroup 64, in f32 x[], out f32 y[]) {\n    index at = group_id() * 64 + "
        "local_id();\n"
        "    f32 v = x[at];\n    for (index i = 0; i < 8; i += 1) v = v * v;\n    y[at] = v;\n}\n"};
    int before = kni_threads();
    kni_set_threads(2);
    for (int i = 0; i < 2; i++) {
        kn_kernel *k = kn_kernel_compile(texts[i], NULL);
        if (!CHECK(k != NULL)) printf("%s\n", kn_last_error());
        if (k) CHECK(others_work(k, 1 << 16, i ? 1 << 10 : 1 << 16));
        kn_kernel_free(k);
    }
    kni_set_threads(before);
}

/* Of the dtypes there are as many as results: they lie at the end of memory, and no more is read. */
static void reads_no_more_dtypes(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!CHECK(memory != MAP_FAILED && mprotect(memory + page, page, PROT_NONE) == 0)) return;
    kn_dtype *dtype = (kn_dtype *)(void *)(memory + page) - 1;
    *dtype = KN_I16;
    kn_kernel *k = kn_kernel_compile("kernel count(index item, out T y[]) { y[item] = item; }", NULL);
    kn_shape shape = KN_SHAPE(3);
    kn_tensor y;
    kn_kernel_run_args args = {.shapes = &shape, .dtypes = dtype};
    CHECK(k && kn_kernel_run(k, NULL, 0, &args, &y, 1) == KN_OK && kn_dtype_of(y) == KN_I16);
    munmap(memory, 2 * page);
}

static void groups(void)
{
    kn_kernel *k =
        kn_kernel_compile("kernel row_sum(workgroup 64, in T x[], out T y[], index width)\n{\n"
                          "    shared f32 part[64];\n    index l = local_id();\n    f32 total = 0;\n"
                          "    for (index i = l; i < width; i += 64) total += x[group_id() * width + i];\n"
                          "    part[l] = total;\n    barrier();\n"
                          "    for (index step = 32; step > 0; step /= 2) {\n"
                          "        if (l < step) part[l] += part[l + step];\n        barrier();\n    }\n"
                          "    if (l == 0) y[group_id()] = part[0] + workgroup_sum(0.0);\n}\n",
                          &(kn_kernel_options){.file = "rows.kn"});
    CHECK(!k && strstr(kn_last_error(), "rows.kn:13:"));
    k = kn_kernel_compile(
        "kernel row_sum(workgroup 64, in T x[], out T y[], index width)\n{\n    f32 total = 0;\n"
        "    for (index i = local_id(); i < width; i += 64) total += x[group_id() * width + i];\n"
        "    total = workgroup_sum(total);\n    if (local_id() == 0) y[group_id()] = total;\n}\n",
        NULL);
    if (!CHECK(k != NULL)) printf("%s\n", kn_last_error());
    if (!k) return;
    kn_tensor x = kn_keep(kn_reshape(kn_arange(0, 600, 1, KN_F32), KN_SHAPE(6, 100))), y;
    kn_shape shape = KN_SHAPE(6);
    kn_kernel_run_args args = {
        .items = 6, .numbers = &(kn_kernel_number){.whole = 100}, .n_numbers = 1, .shapes = &shape};
    CHECK(kn_kernel_run(k, &x, 1, &args, &y, 1) == KN_OK);
    CHECK_VALUES(y, 0, 4950, 14950, 24950, 34950, 44950, 54950);
    CHECK(kn_kernel_debug(k, &x, 1, &args, &y, 1) == KN_OK);
    CHECK_VALUES(y, 0, 4950, 14950, 24950, 34950, 44950, 54950);

    k = kn_kernel_compile("kernel histogram(index item, in i32 x[], inout i32 hits[], index bins)\n{\n"
                          "    if (x[item] >= 0 && x[item] < bins) atomic_add(hits, x[item], 1);\n"
                          "    else report(x[item]);\n}\n",
                          NULL);
    int32_t values[] = {1, 3, 3, 0, 1, 1, 2, 3};
    kn_tensor in[2] = {kn_keep(kn_from(values, KN_I32, KN_SHAPE(8))), kn_keep(kn_zeros(KN_SHAPE(4), KN_I32))};
    kn_kernel_run_args bins = {.items = 8, .numbers = &(kn_kernel_number){.whole = 4}, .n_numbers = 1};
    CHECK(k && kn_kernel_run(k, in, 2, &bins, &y, 1) == KN_OK);
    CHECK_VALUES(y, 0, 1, 3, 1, 3);
    values[5] = 77;
    in[0] = kn_keep(kn_from(values, KN_I32, KN_SHAPE(8)));
    /* A device may tell of it only when the result is read. */
    (void)kn_kernel_run(k, in, 2, &bins, &y, 1);
    CHECK_ERROR(kn_read(y, values, 4 * sizeof *values), "77");
    CHECK(!kn_ok(y));
}

/* Matrix tiles: y = a b of whole numbers is exact. */
static void tiles(void)
{
    kn_kernel *k = kn_kernel_compile(
        "kernel tile_matmul(workgroup 32, in f16 a[], in f16 b[], out f32 y[], index n, index k)\n{\n"
        "    index row = group_id() / (n / 16) * 16, column = group_id() % (n / 16) * 16;\n"
        "    tile left f16 p;\n    tile right f16 q;\n    tile sum f32 s;\n    tile_fill(s, 0);\n"
        "    for (index i = 0; i < k; i += 16) {\n        tile_load(p, a, row * k + i, k);\n"
        "        tile_load(q, b, i * n + column, n);\n        tile_multiply(s, p, q);\n    }\n"
        "    tile_store(s, y, row * n + column, n);\n}\n",
        NULL);
    if (!CHECK(k != NULL)) printf("%s\n", kn_last_error());
    if (!k) return;
    enum { M = 32, N = 48, K = 64 };
    kn_tensor a =
        kn_reshape(kn_cast(kn_remainder_scalar(kn_arange(0, M * K, 1, KN_F32), 7), KN_F16), KN_SHAPE(M, K));
    kn_tensor b =
        kn_reshape(kn_cast(kn_remainder_scalar(kn_arange(0, K * N, 1, KN_F32), 5), KN_F16), KN_SHAPE(K, N));
    kn_tensor in[2] = {kn_keep(a), kn_keep(b)}, y;
    kn_shape shape = KN_SHAPE(M, N);
    kn_kernel_number sizes[] = {{.whole = N}, {.whole = K}};
    kn_kernel_run_args args = {.items = M / 16 * N / 16, .numbers = sizes, .n_numbers = 2, .shapes = &shape};
    CHECK(kn_kernel_run(k, in, 2, &args, &y, 1) == KN_OK);
    kn_tensor right = kn_matmul(kn_cast(in[0], KN_F32), kn_cast(in[1], KN_F32));
    double gap = kn_item(kn_max(kn_abs(kn_sub(y, right)), KN_AXES_ALL, false));
    if (!CHECK(gap == 0)) printf("tiles are %g off: %s\n", gap, kn_last_error());
}

/* What kn_kernel_debug finds. */
static void debugging(void)
{
    static const struct {
        const char *statement, *message;
    } wrong[] = {{"y[item + 1] = x[item];", "d.kn:3:"},
                 {"y[item] = x[item - 1];", "d.kn:3:"},
                 {"y[item / 2] = x[item];", "d.kn:3:"},
                 {"y[item] = x[item]; y[0] = 1;", "d.kn:3:"},
                 {"y[item] = item ? y[item - 1] : 0;", "d.kn:3:"},
                 {"while (1) y[item] = 1;", "d.kn:3:1: does not end"},
                 {"if (item != 3) y[item] = 1;", "d.kn: kernel k: element 3 of 'y' is never written"},
                 {"y[item] += x[item];", "element 0 of 'y' is read before it was written"},
                 {"y[item] = 1; report(item + 7);", "kernel k reported 7"}};
    for (int i = 0; i < (int)(sizeof wrong / sizeof *wrong); i++) {
        char text[200];
        snprintf(text, sizeof text, "kernel k(index item, in T x[], out T y[])\n{\n%s\n}\n",
                 wrong[i].statement);
        kn_kernel *k = kn_kernel_compile(text, &(kn_kernel_options){.file = "d.kn"});
        kn_tensor x = counted(5, KN_F32), y;
        if (!CHECK(k != NULL)) continue;
        CHECK_ERROR(kn_kernel_debug(k, &x, 1, NULL, &y, 1), wrong[i].message);
        CHECK(!kn_ok(y));
    }
    /* A loop without an end is found as soon among many items as among few. */
    kn_kernel *k = kn_kernel_compile(
        "kernel k(index item, in T x[], out T y[]) { while (x[item] >= 0) { } y[item] = 1; }", NULL);
    kn_tensor x = counted(100000, KN_F32), y;
    CHECK_ERROR(kn_kernel_debug(k, &x, 1, NULL, &y, 1), "(item 0)");
    /* What is written later or by others counts. */
    k = kn_kernel_compile("kernel k(workgroup 4, in T x[], out T y[], temp T t[])\n"
                          "{\n    t[local_id()] = x[local_id()];\n    barrier();\n"
                          "    if (local_id() == 0) for (index i = 0; i < 4; i++) y[i] = t[i];\n}\n",
                          NULL);
    x = counted(4, KN_F32);
    int64_t temps = 4;
    CHECK(k && kn_kernel_debug(k, &x, 1, &(kn_kernel_run_args){.temps = &temps}, &y, 1) == KN_OK);
}

/* A kernel's report is told alike everywhere: by its name, its value and the line of the call. */
static void reports(void)
{
    kn_kernel *k = kn_kernel_compile(
        "kernel k(index item, in T x[], out T y[]) { y[item] = x[item]; if (item == 2) report(9); }", NULL);
    kn_tensor x = counted(4, KN_F32), y;
    float values[4];
    (void)kn_kernel_run(k, &x, 1, NULL, &y, 1);
    CHECK_ERROR(kn_read(y, values, sizeof values), "kernel k reported 9");
    if (!CHECK(strstr(kn_last_error(), "test_kernel_api.c:") != NULL)) printf("%s\n", kn_last_error());
}

/* Names that C, CUDA or OpenCL give a meaning are names like others. */
static void names(int step)
{
    static const char *const kernels[] = {
        "mix",      "step", "clamp",   "dot",    "select",      "any",      "all",
        "cross",    "mad",  "isnan",   "as_int", "convert_int", "INFINITY", "work_group_barrier",
        "popcount", "M_PI", "degrees", "rotate", "MAXFLOAT",    "length",   "get_global_id"};
    kn_tensor x = counted(4, KN_F32), y;
    char text[600];
    for (int i = 0; i < (int)(sizeof kernels / sizeof *kernels); i += step) {
        snprintf(text, sizeof text, "kernel %s(index item, in T x[], out T y[]) { y[item] = x[item] + 1; }",
                 kernels[i]);
        kn_kernel *k = kn_kernel_compile(text, NULL);
        if (!CHECK(k && kn_kernel_run(k, &x, 1, NULL, &y, 1) == KN_OK)) continue;
        CHECK_VALUES(y, 0, 1, 2, 3, 4);
    }
    kn_kernel *k = kn_kernel_compile("function T mix(T mad, T t1) { return mad + t1; }\n"
                                     "kernel barrier_(workgroup 4, in T get_global_id[], out T INFINITY[], "
                                     "real M_PI, index items, index p,\n"
                                     "                real offset_INFINITY)\n"
                                     "{\n"
                                     "    shared T MAXFLOAT[4];\n"
                                     "    T half[2];\n"
                                     "    index NULL = local_id(), __LINE__ = NULL, fault = 1;\n"
                                     "    half[0] = get_global_id[NULL] * M_PI;\n"
                                     "    half[1] = items + p * fault + offset_INFINITY;\n"
                                     "    MAXFLOAT[__LINE__] = mix(half[0], half[1]);\n"
                                     "    barrier();\n"
                                     "    INFINITY[NULL] = MAXFLOAT[3 - NULL];\n"
                                     "}\n",
                                     NULL);
    kn_kernel_number numbers[] = {{.real = 2}, {.whole = 10}, {.whole = 100}, {.real = 1000}};
    if (!CHECK(k && kn_kernel_run(k, &x, 1, &(kn_kernel_run_args){.numbers = numbers, .n_numbers = 4}, &y,
                                  1) == KN_OK))
        return;
    CHECK_VALUES(y, 0, 1116, 1114, 1112, 1110);
}

/* A text that the driver refuses, by a macro of main(): one line tells it, without the driver's files. */
static void refused_by_driver(void)
{
    kn_kernel *k = kn_kernel_compile(
        "kernel k(index item, in T spoiled[], out T y[]) { y[item] = spoiled[item]; }", NULL);
    kn_tensor x = counted(4, KN_F32), y;
    float values[4];
    (void)kn_kernel_run(k, &x, 1, NULL, &y, 1);
    CHECK_ERROR(kn_read(y, values, sizeof values), "the driver does not compile the kernel kn_k: ");
    const char *told = kn_last_error();
    if (!CHECK(strstr(told, "kn_kernel_text") && !strchr(told, '\n') && !strstr(told, ".cache"))) puts(told);
}

static void texts(void)
{
    kn_kernel *k = kn_kernel_compile(
        "kernel k(index item, in T x[], out T y[], real by) { y[item] = exp(x[item]) * by; }", NULL);
    static const char *const targets[][2] = {
        {"ir", "kernel k"}, {"c", "void kn_k("}, {"cuda", "__global__"}, {"opencl", "__kernel"}};
    static char text[60000], few[8];
    for (int i = 0; i < 4 && k; i++) {
        int64_t n = kn_kernel_text(k, targets[i][0], text, sizeof text);
        if (!CHECK(n > 0 && n == (int64_t)strlen(text) && strstr(text, targets[i][1])))
            printf("%s: %s\n", targets[i][0], n < 0 ? kn_last_error() : text);
        CHECK(kn_kernel_text(k, targets[i][0], few, sizeof few) == n && strlen(few) == 7);
    }
    CHECK(kn_kernel_text(k, "pascal", text, sizeof text) == -1 && strstr(kn_last_error(), "pascal"));
    int32_t n_targets = 0;
    for (; kn_kernel_target(n_targets); n_targets++)
        CHECK(kn_kernel_text(k, kn_kernel_target(n_targets), few, sizeof few) > 0);
    CHECK(n_targets >= 3 && !strcmp(kn_kernel_target(0), "c") && !kn_kernel_target(-1));
    kn_kernel_free(k);
}

/* Buffers in the order of the text, then numbers. */
static void parameters(void)
{
    kn_kernel *k =
        kn_kernel_compile("kernel k(index item, in T x[], in index at[], inout i32 hits[], out real y[],"
                          " temp f64 room[], real by, uniform index sizes[3]) { y[item] = by; }",
                          NULL);
    static const kn_kernel_parameter_info expected[] = {
        {"x", KN_KERNEL_IN, 'T', KN_DTYPE_NONE, 0}, {"at", KN_KERNEL_IN, 'i', KN_DTYPE_NONE, 0},
        {"hits", KN_KERNEL_INOUT, '.', KN_I32, 0},  {"y", KN_KERNEL_OUT, 'r', KN_DTYPE_NONE, 0},
        {"room", KN_KERNEL_TEMP, '.', KN_F64, 0},   {"by", KN_KERNEL_NUMBER, '.', KN_F64, 0},
        {"sizes", KN_KERNEL_NUMBER, '.', KN_I64, 3}};
    if (!CHECK(k != NULL)) puts(kn_last_error());
    for (int32_t i = 0; i < 7; i++) {
        kn_kernel_parameter_info p = {0};
        const kn_kernel_parameter_info *e = &expected[i];
        if (!CHECK(kn_kernel_parameter(k, i, &p) && !strcmp(p.name, e->name) && p.role == e->role &&
                   p.type == e->type && p.dtype == e->dtype && p.count == e->count))
            printf("%d: %s %d %c %d %d\n", i, p.name, (int)p.role, p.type, (int)p.dtype, p.count);
    }
    kn_kernel_parameter_info none;
    CHECK(!kn_kernel_parameter(k, 7, &none) && !kn_kernel_parameter(k, -1, &none));
    CHECK(!kn_kernel_parameter(k, 0, NULL) && strstr(kn_last_error(), "NULL"));
    kn_kernel_free(k);
    CHECK(!kn_kernel_parameter(k, 0, &none));
}

/* ---- ops */

static kn_status function_gradient(void *context, const kn_tensor *in, const kn_tensor *out,
                                   const kn_tensor *dy, kn_tensor *grads)
{
    (void)context, (void)out;
    grads[0] = kn_mul(dy[0], kn_mul_scalar(in[0], 2));
    return KN_OK;
}

static kn_status row_sizes(void *context, const kn_type *in, kn_type *out, kn_kernel_sizes *sizes)
{
    (void)context;
    if (in[0].shape.rank != 2) return kn_custom_fail(KN_ERROR_SHAPE, "row norms are of matrices");
    out[0].shape = KN_SHAPE(in[0].shape.dims[0]);
    sizes->items = in[0].shape.dims[0];
    sizes->numbers[0].whole = in[0].shape.dims[1];
    return KN_OK;
}

static kn_status grad_sizes(void *context, const kn_type *in, kn_type *out, kn_kernel_sizes *sizes)
{
    (void)context, (void)out;
    sizes->numbers[0].whole = in[0].shape.dims[1];
    return KN_OK;
}

static void ops(const char *device)
{
    static int turn;
    char name[3][32];
    for (int i = 0; i < 3; i++) snprintf(name[i], sizeof name[i], "test_kernel_op_%d_%d", turn, i);
    turn++;
    kn_device_use(kn_device_open(device));
    kn_scope scope = kn_scope_begin();
    kn_kernel *square = kn_kernel_compile(
        "kernel square(index item, in T x[], out T y[]) { y[item] = x[item] * x[item]; }", NULL);
    kn_kernel_op_options by_function = {.name = name[0], .kernel = square, .gradient = function_gradient};
    kn_op_handle h = kn_kernel_op(&by_function);
    kn_tensor x = kn_require_grad(kn_from((double[]){1, -2, 3}, KN_F64, KN_SHAPE(3))), y = KN_NONE, g, gg;
    CHECK(h && kn_custom_call(h, &x, &y) == KN_OK);
    CHECK_VALUES(y, 0, 1, 4, 9);
    kn_tensor t = kn_keep(kn_sum(y, KN_AXES_ALL, false));
    CHECK(kn_grad(&t, NULL, 1, &x, 1, KN_GRAD_CREATE_GRAPH, &g) == KN_OK);
    CHECK_VALUES(g, 0, 2, -4, 6);
    t = kn_keep(kn_sum(g, KN_AXES_ALL, false));
    CHECK(kn_grad(&t, NULL, 1, &x, 1, 0, &gg) == KN_OK);
    CHECK_VALUES(gg, 0, 2, 2, 2);

    /* y[r] = the root of the sum of squares of row r times by; the gradient by a kernel reads x, y and the cotangent. */
    kn_kernel *norm = kn_kernel_compile(
        "kernel norm(index item, in T x[], out T y[], index width)\n{\n    T total = 0;\n"
        "    for (index i = 0; i < width; i++) total += x[item * width + i] * x[item * width + i];\n"
        "    y[item] = sqrt(total);\n}\n",
        NULL);
    kn_kernel *back = kn_kernel_compile(
        "kernel norm_grad(index item, in T x[], in T y[], in T d_y[], out T d_x[], index width)\n"
        "{\n    d_x[item] = d_y[item / width] * x[item] / y[item / width];\n}\n",
        NULL);
    kn_kernel_op_options by_kernel = {.name = name[1],
                                      .kernel = norm,
                                      .prepare = row_sizes,
                                      .gradient_kernel = back,
                                      .prepare_gradient = grad_sizes};
    h = kn_kernel_op(&by_kernel);
    if (!CHECK(h != NULL)) printf("%s\n", kn_last_error());
    x = kn_require_grad(kn_from((double[]){3, 4, 5, 12}, KN_F64, KN_SHAPE(2, 2)));
    CHECK(h && kn_custom_call(h, &x, &y) == KN_OK);
    CHECK_VALUES(y, 1e-15, 5, 13);
    t = kn_keep(kn_sum(kn_mul(y, kn_from((double[]){1, 2}, KN_F64, KN_SHAPE(2))), KN_AXES_ALL, false));
    CHECK(kn_grad(&t, NULL, 1, &x, 1, 0, &g) == KN_OK);
    CHECK_VALUES(g, 1e-15, 0.6, 0.8, 10.0 / 13, 24.0 / 13);
    kn_tensor flat = kn_keep(kn_from((double[]){3, 4}, KN_F64, KN_SHAPE(2)));
    CHECK_ERROR(kn_custom_call(h, &flat, &y), "of matrices");

    /* Without a gradient it is no dead end until one is asked for. */
    h = kn_kernel_op(&(kn_kernel_op_options){.name = name[2], .kernel = square});
    x = kn_require_grad(kn_from((double[]){3, 4}, KN_F64, KN_SHAPE(2)));
    CHECK(h && kn_custom_call(h, &x, &y) == KN_OK);
    CHECK_VALUES(y, 0, 9, 16);
    t = kn_keep(kn_sum(y, KN_AXES_ALL, false));
    CHECK_ERROR(kn_grad(&t, NULL, 1, &x, 1, 0, &g),
                "has no gradient: give kn_kernel_op() a .gradient_kernel");
    CHECK(strstr(kn_last_error(), name[2])); /* the op's name, not the kernel's */
    kn_scope_end(scope, KN_NONE);
    kn_device_use(NULL);
}

static void mistakes(void)
{
    kn_tensor x = counted(4, KN_F32), y[2];
    kn_kernel *k = kn_kernel_compile(
        "kernel k(index item, in T x[], out T y[], real by) { y[item] = x[item] * by; }", NULL);
    CHECK(!kn_kernel_compile(NULL, NULL) && strstr(kn_last_error(), "NULL"));
    CHECK(!kn_kernel_compile("kernel k(index item, in T x[]) { }", NULL) &&
          strstr(kn_last_error(), "computes nothing"));
    CHECK(!kn_kernel_compile("kernel k(index item, out T y[])\n{\n    y[item] = 1 +;\n}\n", NULL));
    CHECK(strstr(kn_last_error(), "kernel:3:18: expected a value, found ';'") != NULL);
    CHECK(
        !kn_kernel_compile("kernel a(index item, out T y[]) { } kernel b(index item, out T y[]) { }", NULL));
    CHECK(kn_kernel_compile("kernel a(index item, out T y[]) { } kernel b(index item, out T y[]) { }",
                            &(kn_kernel_options){.name = "b"}) != NULL);
    CHECK_ERROR(kn_kernel_run(k, &x, 1, NULL, y, 1), "declares 1 numbers, 0 were given");
    CHECK(!kn_ok(y[0]));
    kn_kernel_run_args args = {.numbers = &(kn_kernel_number){.real = 2}, .n_numbers = 1};
    CHECK_ERROR(kn_kernel_run(k, &x, 1, &args, y, 2), "takes 1 operands and gives 1 results");
    CHECK_ERROR(kn_kernel_run(NULL, &x, 1, &args, y, 1), "the kernel is NULL");
    args.items = -1;
    CHECK_ERROR(kn_kernel_run(k, &x, 1, &args, y, 1), "-1 items");
    /* More items than elements: the CPU finds the index. */
    args.items = 5;
    CHECK_ERROR(kn_kernel_run(k, &x, 1, &args, y, 1), "kernel:1:");
    k = kn_kernel_compile(
        "kernel k(index item, in f32 x[], in T a[], in T b[], out T y[]) { y[item] = a[item]; }", NULL);
    kn_tensor in[3] = {counted(4, KN_F64), x, x};
    CHECK_ERROR(kn_kernel_run(k, in, 3, NULL, y, 1), "buffer 'x' takes f32, f64 was given");
    in[0] = x, in[2] = counted(4, KN_I32);
    CHECK_ERROR(kn_kernel_run(k, in, 3, NULL, y, 1),
                "buffer 'b' takes f32, since buffer 'a' makes T that; i32 was given");
    kn_tensor bad = kn_poison(KN_ERROR_NUMERIC, "bad milk");
    in[2] = bad;
    CHECK_ERROR(kn_kernel_run(k, in, 3, NULL, y, 1), "");
    CHECK_POISON(y[0], "bad milk");

    kn_kernel *f =
        kn_kernel_compile("kernel f(index item, in T x[], out T y[]) { y[item] = x[item]; }", NULL);
    static const char *const wrong[][2] = {
        {"kernel g(index item, in T z[], out T d_x[]) { d_x[item] = z[item]; }", "the gradient reads 'z'"},
        {"kernel g(index item, in T x[], out T x2[]) { x2[item] = x[item]; }", "the gradient makes 'x2'"},
        {"kernel g(index item, in T x[], out T d_x[], index n) { d_x[item] = n; }", "declares other numbers"},
        {"kernel g(index item, inout T d_x[]) { d_x[item] = 1; }", "has to be a function"},
    };
    for (int i = 0; i < 4; i++) {
        kn_kernel *g = kn_kernel_compile(wrong[i][0], NULL);
        kn_op_handle h =
            kn_kernel_op(&(kn_kernel_op_options){.name = "wrong", .kernel = f, .gradient_kernel = g});
        CHECK_ERROR(h || !g ? KN_OK : KN_ERROR_ARGUMENT, wrong[i][1]);
    }
    CHECK(!kn_kernel_op(NULL) && !kn_kernel_op(&(kn_kernel_op_options){.name = "x"}));
    CHECK(!kn_kernel_op(&(kn_kernel_op_options){.name = "add", .kernel = f}) &&
          strstr(kn_last_error(), "built-in"));
}

/* Whatever allocation fails, there is no kernel and no result, or the right ones: T is f32, also where floats had no memory
   and integers would have had it. What failed holds no memory. */
static void without_memory(void)
{
    kn_tensor y;
    kn_shape shape = KN_SHAPE(4);
    kn_status s = KN_ERROR_MEMORY;
    int failures = 0;
    for (int n = 1; n < 400 && s; n++) {
        int64_t before = kn_memory_stats().bytes_now, temps = 4;
        kn_memory_fail_after(n);
        kn_kernel *k = kn_kernel_compile("kernel memory(index item, out T y[], temp T t[]) { "
                                         "t[item] = 1; y[item] = item + t[item]; }",
                                         NULL);
        kn_kernel_run_args args = {.temps = &temps, .shapes = &shape};
        s = k ? kn_kernel_run(k, NULL, 0, &args, &y, 1) : KN_ERROR_MEMORY;
        kn_memory_fail_after(0);
        if (!k) CHECK(kn_memory_stats().bytes_now == before);
        failures += !k;
    }
    CHECK(s == KN_OK && failures > 5 && kn_dtype_of(y) == KN_F32);
    CHECK_VALUES(y, 0, 1, 2, 3, 4);
}

static const char shared_text[] = "kernel shared(index item, out T y[]) { y[item] = 1; }";

enum { USERS = 2, USES = 10000, ROUNDS = 2 };
static pthread_barrier_t together;

static void *free_many(void *kernel)
{
    pthread_barrier_wait(&together);
    for (int i = 0; i < USES; i++) {
        kn_kernel_free(kernel);
        if (i % 100 == 0) kn_kernel_free(kn_kernel_compile(shared_text, NULL));
    }
    return NULL;
}

/* Threads that compile and free the same kernel at the same time lose none of its uses: the last free ends the handle. */
static void many_users(void)
{
    kn_kernel_run_args args = {.items = 1};
    kn_tensor y;
    pthread_barrier_init(&together, NULL, USERS);
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t threads[USERS];
        kn_kernel *k = NULL;
        for (int i = 0; i < USERS * USES; i++) k = kn_kernel_compile(shared_text, NULL);
        for (int i = 0; i < USERS; i++) CHECK(!pthread_create(&threads[i], NULL, free_many, k));
        for (int i = 0; i < USERS; i++) pthread_join(threads[i], NULL);
        CHECK(kn_kernel_run(k, NULL, 0, &args, &y, 1) == KN_ERROR_HANDLE);
    }
    pthread_barrier_destroy(&together);
}

/* Threads that compile the same texts at the same moment get one kernel of each. They meet before each text, by spinning, so that
   both look for it in a list of hundreds before either adds it. */
enum { TEXTS = 400 };
static _Atomic int arrived;
static kn_kernel *made_by[USERS][TEXTS];

static void *compile_many(void *argument)
{
    int me = *(int *)argument;
    char text[100];
    for (int i = 0; i < TEXTS; i++) {
        snprintf(text, sizeof text, "kernel meeting%d(index item, out T y[]) { y[item] = %d; }", i, i);
        arrived++;
        for (long spins = 0; arrived < USERS * (i + 1) && spins < 100000000; spins++) {}
        made_by[me][i] = kn_kernel_compile(text, NULL);
    }
    return NULL;
}

static void one_kernel_of_each_text(void)
{
    pthread_t threads[USERS];
    int numbers[USERS] = {0, 1}, different = 0;
    for (int i = 0; i < USERS; i++) CHECK(!pthread_create(&threads[i], NULL, compile_many, &numbers[i]));
    for (int i = 0; i < USERS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < TEXTS; i++) different += made_by[0][i] != made_by[1][i] || !made_by[0][i];
    CHECK(different == 0);
}

int main(void)
{
    kn_log_set(NULL, NULL);
    char options[400];
    const char *given = getenv("KN_OPENCL_OPTIONS");
    snprintf(options, sizeof options, "%s -Du_spoiled=(", given ? given : "");
    setenv("KN_OPENCL_OPTIONS", options, 1);
    static const char *const devices[] = {"cpu", "ref", "opencl:0", "cuda:0"};
    for (int i = 0; i < 4; i++) {
        kn_device device = kn_device_open(devices[i]);
        if (!device && i >= 2) {
            check_skip(i == 2 ? "no OpenCL device" : "no CUDA device");
            continue;
        }
        kn_device_use(device);
        runs(i < 2 ? 1 : 3);
        shapes_and_roles();
        groups();
        tiles();
        names(i < 2 ? 1 : 4);
        reports();
        if (i == 2) refused_by_driver();
        kn_device_use(NULL);
        char spec[40];
        snprintf(spec, sizeof spec, "autodiff(%s)", devices[i]);
        ops(spec);
    }
    kn_device_use(NULL);
    many_users();
    one_kernel_of_each_text();
    limits();
    limits_of_parameters();
    memory_comes_back();
    threads_share();
    reads_no_more_dtypes();
    debugging();
    texts();
    parameters();
    mistakes();
    without_memory();
    return check_report();
}
