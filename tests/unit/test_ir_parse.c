/* The parser of kernel texts: every reference kernel, C's meaning of expressions, and mistakes with their places. */
#include "core/math/math.h"
#include "ir/kernel_texts.h"
#include "ir/parse.h"
#include "ir/run.h"
#include "support/check.h"

/* ---- every reference kernel */

static void reference_kernels(void)
{
    static const int types[] = {KN_F32, KN_F64, KN_I32, KN_I64, KN_U64};
    static const uint8_t halves[KNI_IR_MAX_SIGNATURE] = {KN_F16, KN_BF16, KN_I8, KN_BOOL, KN_U32, KN_F16};
    const char *name, *file;
    size_t bytes;
    int n = 0;
    for (; (name = kni_kernel_text_name(n)); n++) {
        const char *text = kni_kernel_text(name, &bytes, &file);
        CHECK(text && strlen(text) == bytes);
        for (int t = 0; t < 10; t++) {
            kni_ir_parse_options options = {file,
                                            name,
                                            types[t % 5],
                                            t < 5 ? KN_F64 : KN_F32,
                                            t < 5 ? NULL : halves,
                                            t % 2 ? KN_I32 : KN_I64};
            kni_ir *ir = kni_ir_parse(text, bytes, &options);
            if (!CHECK(ir != NULL)) printf("%s, element %d: %s\n", name, types[t % 5], kn_last_error());
            if (ir) CHECK(kni_ir_simplify(ir) == KN_OK && !strcmp(ir->name, name));
            kni_ir_free(ir);
        }
    }
    CHECK(n > 50);
    CHECK(!kni_kernel_text("no such kernel", &bytes, &file));
}

/* ---- meaning: the same words as C and as a text */

#define index kernel_index /* some C libraries have a function of that name */
#include "ops/kernel_prelude.h"
#define T double
#define IS_FLOAT 1
#define BOTH(name, ...)                                                                                      \
    __VA_ARGS__                                                                                              \
    static const char name[] = #__VA_ARGS__;

/* clang-format off */
#pragma GCC diagnostic ignored "-Wparentheses"
BOTH(meaning_text,
function real early(real v, index n)
{
    for (index i = 0; i < n; i++) {
        if (i * i > v) return i;
        if (i == 3) continue;
        v -= 1;
    }
    return -v;
}
function index mixed(T a, index b, real c)
{
    b += 1;
    a *= 2;
    return (index)(a + b * c);
}
kernel meaning(index item, in T x[], in index at[], out T y[], out index z[], index n, real by, uniform index steps[3])
{
    index base = item * 16, i = at[item], j = item - 3;
    T v = x[item], w = 0;
    z[base] = 7 / 2 + -7 / 2 * 10 + -7 % 3 * 100;
    z[base + 1] = (i > 2) + (i < 1) * 2 + !i * 4 + !!i * 8;
    z[base + 2] = i << 3 | (j & 12) ^ ~i;
    z[base + 3] = (j >> 1) - (j < 0 ? 1 : 2);
    z[base + 4] = i >= 0 && i < n && at[i] > 1 || j == 2;
    z[base + 5] = !(i < n) || at[i] == i;
    z[base + 6] = is_nan(v) ? 0 : mixed(v, j, by);
    z[base + 7] = (index)(by * 10) % 7 + (index)(-2.5) + (index)2.9e1;
    index total = 0;
    for (index k = n - 1; k >= 0; k--) total = total * 3 + at[k];
    for (index k = 0; k <= 2; k++) total += steps[k] * (k == 1 ? -1 : 1);
    for (index k = 0; k < 10; k += 3) {
        if (k == 6) break;
        total += k;
    }
    for (index k = 0; k < n; k++) {
        if (k == 1) k++;
        total += 100 * k;
    }
    index turns = 0;
    while (turns < 5) {
        turns++;
        if (turns == 2) continue;
        if (turns == 4) break;
        total += 1000;
    }
    z[base + 8] = total;
    z[base + 9] = turns;
    z[base + 10] = philox(12345, item, 2);
    z[base + 11] = is_nan(v) + is_nan(by) * 2 + IS_FLOAT * 4;
    real local[4];
    for (index k = 0; k < 4; k++) local[k] = k * by;
    local[item % 4] += 0.5;
    local[2] /= 3;
    { T inner = 1; w += inner; }
    { T inner = 2; w += inner; }
    y[base] = local[0] + 10 * local[1] + 100 * local[2] + 1000 * local[3];
    y[base + 1] = v > 0 ? sqrt(v) : -INF;
    y[base + 2] = i < n ? x[i] : NAN_VALUE;
    y[base + 3] = early(v, 5) + w;
    y[base + 4] = exp(v / 10) - log1p(abs(v)) + floor(v) * 2 + pow(abs(v), 1.5) + atan2(v, by) + hypot(v, 1);
    y[base + 5] = n - 1.5 * i + 1.0 / 3 + 1 / 3;
    y[base + 6] = cos_turn((real)item / 16) + sigmoid(v) + tanh(by) + expm1(v / 8) + trunc(v) + ceil(v) + round(v);
    n = n + 1;
    j -= 2;
    y[base + 7] = n * 10 + j;
    y[base + 8] = -(-v) - -v + 2 * -3;
    if (item == 5) return;
    else if (item == 6) y[base + 9] = 6;
    else y[base + 9] = 1;
    y[base + 10] = y[base + 9] + 1;
}
)
/* clang-format on */

#undef T
#undef IS_FLOAT
#undef kernel
#undef function
#undef in
#undef out
#undef temp
#undef uniform
#undef abs
#undef index

enum { ITEMS = 8, PLACES = ITEMS * 16 };

static void meaning_of_c(void)
{
    double x[ITEMS], y[2][PLACES] = {{0}}, by = 1.25;
    int64_t at[ITEMS], z[2][PLACES] = {{0}}, n = ITEMS, steps[3] = {5, 70, 900};
    for (int i = 0; i < ITEMS; i++) {
        x[i] = i * 1.75 - 4;
        at[i] = (i * 5) % 11;
    }
    x[3] = kni_from_bits_f64(0x7ff8000000000000u);
    for (int64_t i = 0; i < ITEMS; i++) meaning(i, x, at, y[0], z[0], n, by, steps);
    kni_ir_parse_options options = {"meaning.kn", "meaning", KN_F64, KN_F64, NULL, 0};
    kni_ir *ir = kni_ir_parse(meaning_text, strlen(meaning_text), &options);
    if (!CHECK(ir != NULL)) {
        printf("%s\n", kn_last_error());
        return;
    }
    struct {
        int64_t items, offsets[4], n;
        double by;
        int64_t steps[3];
    } params = {ITEMS, {0}, n, by, {steps[0], steps[1], steps[2]}};
    CHECK(sizeof params == ir->param_bytes);
    kni_ir_run_buffer buffers[4] = {{x, ITEMS}, {at, ITEMS}, {y[1], PLACES}, {z[1], PLACES}};
    for (int pass = 0; pass < 2; pass++) {
        memset(y[1], 0, sizeof y[1]);
        memset(z[1], 0, sizeof z[1]);
        kni_ir_run_args args = {.buffers = buffers, .params = &params, .items = ITEMS, .check = pass == 0};
        if (!CHECK(kni_ir_run(ir, &args) == KN_OK)) printf("%s\n", kn_last_error());
        for (int i = 0; i < PLACES; i++) {
            double gap = y[0][i] - y[1][i], size = y[0][i] < 0 ? -y[0][i] : y[0][i];
            bool same = !memcmp(&y[0][i], &y[1][i], 8) || (y[0][i] != y[0][i] && y[1][i] != y[1][i]) ||
                        y[0][i] == y[1][i] || (gap < 0 ? -gap : gap) <= 1e-15 * size;
            if (!CHECK(same)) printf("y[%d]: C %.17g, text %.17g\n", i, y[0][i], y[1][i]);
            if (!CHECK(z[0][i] == z[1][i]))
                printf("z[%d]: C %lld, text %lld\n", i, (long long)z[0][i], (long long)z[1][i]);
        }
        CHECK(kni_ir_simplify(ir) == KN_OK);
    }
    kni_ir_free(ir);
}

/* ---- types and what becomes of them */

static kni_ir *parsed(const char *text, int element)
{
    kni_ir_parse_options options = {"t.kn", NULL, element, KN_F64, NULL, 0};
    return kni_ir_parse(text, strlen(text), &options);
}

static int count(const kni_ir *ir, int code, int dtype)
{
    int n = 0;
    for (uint32_t i = 1; i < ir->n_nodes; i++)
        n += ir->nodes[i].code == code && (!dtype || ir->nodes[i].type.dtype == dtype);
    return n;
}

static void types(void)
{
    /* Literals take the type they meet: nothing here is computed in f64. */
    kni_ir *ir =
        parsed("kernel k(index item, in T x[], out T y[]) { y[item] = 0.5 * x[item] + 1.0 / 3 * exp(x[item]) "
               "+ (x[item] > 1 ? 1 : 0.25); }",
               KN_F32);
    CHECK(ir && count(ir, KNI_IR_WORD, KN_F64) == 0 && count(ir, KNI_IR_CAST, 0) == 0);
    kni_ir_free(ir);
    /* A real beside a T of f32 gives a real. */
    ir = parsed("kernel k(index item, in T x[], out T y[], real by) { y[item] = x[item] * by; }", KN_F32);
    CHECK(ir && count(ir, KNI_IR_WORD, KN_F64) == 1 && count(ir, KNI_IR_CAST, KN_F64) == 1);
    kni_ir_free(ir);
    /* Counting loops are told from others; C's order of evaluation keeps what guards a read before it. */
    ir = parsed(
        "kernel k(index item, in T x[], out T y[], index n) { index m = n; for (index i = 0; i < n; i++) "
        "for (index j = 0; j < m; j++) m = m - 1; if (item < n && x[item] > 0) y[item] = 1; }",
        KN_F32);
    CHECK(ir && count(ir, KNI_IR_FOR, 0) == 1 && count(ir, KNI_IR_LOOP, 0) == 1 &&
          count(ir, KNI_IR_IF, 0) == 2);
    kni_ir_free(ir);
    ir = parsed(
        "kernel k(index item, in T x[], out T y[], index n) { if (IS_FLOAT && is_nan(x[item])) y[item] = 1; "
        "y[item] = IS_FLOAT ? 2 : x[item] % 3; }",
        KN_U64);
    CHECK(ir && count(ir, KNI_IR_IF, 0) == 0 && count(ir, KNI_IR_STORE, 0) == 1);
    kni_ir_free(ir);
    /* Types by name; storage from the text and from outside; names that a launch uses itself. */
    ir = parsed(
        "kernel k(index item, in u8 a[], in bf16 b[], inout i32 c[], out bool d[], temp f16 e[], index "
        "items, "
        "f32 f, bool g, uniform u32 h[3]) { index offset_a = 1; i32 v = a[item] - 1; f32 w = b[item] * f; "
        "u32 u = h[1] + 1; d[item] = g && v < w && u > 2; c[item] += v; e[item] = w; items = offset_a; }",
        KN_F32);
    CHECK(ir && ir->bindings[0].dtype == KN_U8 && ir->bindings[1].dtype == KN_BF16 &&
          ir->bindings[2].dtype == KN_I32);
    CHECK(ir && ir->bindings[3].dtype == KN_BOOL && ir->bindings[4].dtype == KN_F16 && ir->n_buffers == 5);
    kni_ir_free(ir);
    /* Results that a kernel also reads are told apart from those that it only writes. */
    ir = parsed(
        "kernel k(index item, in T x[], out T a[], out T b[], out T c[]) { a[item] = x[item]; b[item] = 1; "
        "b[item] += 1; c[item] = 0; if (c[item] > 0) a[item] = 1; }",
        KN_F32);
    CHECK(ir && ir->bindings[0].access == KNI_IR_READ && ir->bindings[1].access == KNI_IR_WRITE);
    CHECK(ir && ir->bindings[2].access == 3 && ir->bindings[3].access == 3);
    kni_ir_free(ir);
    kni_ir_signature s;
    const char *text =
        "function f32 f(f32 x) { return x; } kernel k(workgroup 64, in T a[], inout i32 c[], out real d[], "
        "temp f16 e[], index n, uniform f32 g[7]) { }";
    CHECK(kni_ir_parse_signature(text, strlen(text), NULL, &s));
    CHECK(s.workgroup == 64 && s.n_buffers == 4 && s.n_numbers == 2 && s.by_role[KNI_IR_INOUT] == 1);
    CHECK(s.buffers[0].letter == 'T' && s.buffers[1].letter == '.' && s.buffers[1].dtype == KN_I32);
    CHECK(s.buffers[2].letter == 'r' && s.buffers[3].role == KNI_IR_TEMP && s.numbers[1].count == 7);
}

static void groups(void)
{
    kni_ir *ir = parsed(
        "kernel k(workgroup 64, in f16 a[], in f16 b[], out f32 y[], inout i32 hits[], index n) { }", KN_F32);
    CHECK_ERROR(ir ? KN_OK : KN_ERROR_ARGUMENT, "in, inout, out, temp");
    ir = parsed(
        "kernel k(workgroup 64, in f16 a[], in f16 b[], inout i32 hits[], out f32 y[], index n) {\n"
        "shared f32 part[64];\n index l = local_id(), g = group_id();\n part[l] = a[g * 64 + l];\n "
        "barrier();\n"
        "f32 v = workgroup_sum(part[63 - l]) + subgroup_max(part[l]) + workgroup_scan(part[l]) * "
        "lane_xor(v0(1.0), 1);\n"
        "if (l == 0) y[g] = v + lane_id() + lane_count() + local_count() + group_count();\n"
        "index old = atomic_add(hits, 0, 1);\n atomic_max(hits, 1, old);\n atomic_exchange(hits, 2, 5);\n}\n"
        "function f32 v0(f32 x) { return x; }",
        KN_F32);
    CHECK_ERROR(ir ? KN_OK : KN_ERROR_ARGUMENT, "t.kn:6:");
    ir = parsed(
        "function f32 v0(f32 x) { return x; }\n"
        "kernel k(workgroup 64, in f16 a[], in f16 b[], inout i32 hits[], out f32 y[], index n) {\n"
        "shared f32 part[64];\n index l = local_id(), g = group_id();\n part[l] = a[g * 64 + l];\n "
        "barrier();\n"
        "f32 v = workgroup_sum(part[63 - l]) + subgroup_max(part[l]) + workgroup_scan(part[l]) * "
        "lane_xor(v0(1.0), 1);\n"
        "if (l == 0) y[g] = v + lane_id() + lane_count() + local_count() + group_count();\n"
        "index old = atomic_add(hits, 0, 1);\n atomic_max(hits, 1, old);\n atomic_exchange(hits, 2, 5);\n"
        "tile left f16 p; tile right f16 q; tile sum f32 r;\n tile_fill(r, 0); tile_load(p, a, 0, 16);\n"
        "tile_load(q, b, 0, 16); tile_multiply(r, p, q); tile_store(r, y, 0, 16);\n}\n",
        KN_F32);
    if (!CHECK(ir != NULL)) printf("%s\n", kn_last_error());
    if (ir) CHECK(count(ir, KNI_IR_ATOMIC, 0) == 3 && count(ir, KNI_IR_TILE, 0) == 3 && ir->workgroup == 64);
    kni_ir_free(ir);
}

/* The parser takes every kernel of the page, which the recogniser of the structure tests takes too. */
static void page(void)
{
    static char text[1 << 16];
    FILE *file = fopen("docs/kernel-language.md", "rb");
    size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file) fclose(file);
    if (!CHECK(n > 0)) return; /* run elsewhere than in the repository */
    text[n] = 0;
    int found = 0;
    for (char *at = text; (at = strstr(at, "```c\n"));) {
        char *begin = at + 5, *end = strstr(begin, "```");
        if (!end) break;
        *end = 0;
        at = end + 1;
        if (strncmp(begin, "kernel ", 7) && strncmp(begin, "/*", 2)) continue;
        kni_ir_signature s;
        kni_ir_parse_options options = {.file = "page",
                                        .kernel = strstr(begin, "softsign_grad") ? "softsign_grad" : NULL};
        if (!CHECK(kni_ir_parse_signature(begin, strlen(begin), &options, &s)))
            printf("%s\n", kn_last_error());
        kni_ir *ir = kni_ir_parse(begin, strlen(begin), &options);
        CHECK(ir != NULL);
        kni_ir_free(ir);
        found++;
    }
    CHECK(found == 5);
}

/* ---- mistakes */

static void mistakes(void)
{
    static const struct {
        const char *statement, *message;
    } wrong[] = {
        {"y[item] = x[item]++;", "t.kn:3:18: expected ';'"},
        {"y[item] = missing;", "t.kn:3:11: 'missing' is not declared"},
        {"x[item] = 1;", "t.kn:3:1: 'x' is an `in` buffer"},
        {"y = 1;", "t.kn:3:1: 'y' is an array"},
        {"n[0] = 1;", "t.kn:3:1: 'n' is a number"},
        {"sizes[0] = 1;", "is uniform"},
        {"y[item] = k(item);", "t.kn:3:11: no function 'k' above"},
        {"y[item] = twice(item, 2);", "t.kn:3:21: twice takes 1 argument"},
        {"y[item] = pow(x[item]);", "t.kn:3:22: pow takes 2 arguments"},
        {"y[item] = twice();", "t.kn:3:17: twice takes 1 argument"},
        {"y[item] = fma(1, by);", "t.kn:3:20: fma takes 3 arguments"},
        {"float v = 1;", "t.kn:3:1: 'float' is no word of this language: write f32"},
        {"for (int i = 0; i < n; i++) y[i] = 1;", "t.kn:3:6: 'int' is no word of this language: write i32"},
        {"y[item] = (double)n;", "t.kn:3:12: 'double' is no word of this language: write f64"},
        {"y[item] = expf(x[item]);", "t.kn:3:11: 'expf' is no word of this language: write exp"},
        {"__syncthreads();", "t.kn:3:1: '__syncthreads' is no word of this language: write barrier()"},
        {"__shared__ float a[4];", "t.kn:3:1: '__shared__' is no word of this language: write shared"},
        {"y[threadIdx.x] = 1;", "t.kn:3:3: 'threadIdx' is no word of this language: write local_id()"},
        {"y[item] = 0.5f;", "without a suffix (0.5f)"},
        {"index half = 1, half = 2;", "'half' is declared twice"},
        {"y[x[item]] = 1;", "t.kn:3:3: an element is chosen by an integer"},
        {"y[item] = x[item] % 2;", "t.kn:3:19: % is of integers"},
        {"y[item] = ~by;", "t.kn:3:11: ~ is of integers"},
        {"y[item] = report(1);", "t.kn:3:11: this gives no value"},
        {"index n2 = 1, n2 = 2;", "t.kn:3:15: 'n2' is declared twice"},
        {"index exp = 1;", "t.kn:3:7: 'exp' is a word of the language"},
        {"index twice = 1;", "t.kn:3:7: 'twice' is a function or kernel already"},
        {"index if = 1;", "expected a name"},
        {"f16 h = 1;", "t.kn:3:1: 'f16' is a type of buffers"},
        {"y[item] = (u8)x[item];", "t.kn:3:12: 'u8' is a type of buffers"},
        {"T t[n];", "t.kn:3:5: the length of an array"},
        {"break;", "t.kn:3:1: break and continue"},
        {"return n;", "t.kn:3:8: expected ';'"},
        {"barrier();", "t.kn:3:1: 'barrier' needs a kernel that begins with (workgroup"},
        {"shared T a[4];", "t.kn:3:1: shared memory needs a kernel"},
        {"atomic_add(x, 0, 1);", "t.kn:3:12: 'x' is an `in` buffer"},
        {"atomic_add(n, 0, 1);", "'n' is no buffer"},
        {"if (n) T v = 1;", "t.kn:3:8: a declaration alone"},
        {"n = 99999999999999999999;", "t.kn:3:5: a whole number has to fit"},
        {"n = 0x10;", "t.kn:3:5: a number is whole"},
        {"n = 'a';", "t.kn:3:5: no word of the language begins so"},
        {"n = 1 /* and so on", "t.kn:3:7: a comment does not end"},
        {"y[item] = 1", "t.kn:4:1: expected ';', found '}'"},
        {"{", "found the end of the text"},
        {"averylongnameofmorethanthirtyonecharacters = 1;", "is not declared"},
        {"index averylongnameofmorethanthirtyonecharacters = 1;", "is longer than 31 characters"},
    };
    char text[600];
    for (int i = 0; i < (int)(sizeof wrong / sizeof *wrong); i++) {
        snprintf(text, sizeof text,
                 "function T twice(T v) { return v * 2; }\nkernel k(index item, in T x[], out T y[], index "
                 "n, real by, "
                 "uniform index sizes[2]) {\n%s\n}\n",
                 wrong[i].statement);
        kni_ir *ir = parsed(text, KN_F32);
        CHECK_ERROR(ir ? KN_OK : KN_ERROR_ARGUMENT, wrong[i].message);
        kni_ir_free(ir);
    }
}

static void mistaken_files(void)
{
    static const char *const files[][2] = {
        {"", "holds no kernel"},
        {"static int total;", "t.kn:1:1: expected 'kernel' or 'function'"},
        {"kernel k(in T x[]) { }", "t.kn:1:10: expected 'index'"},
        {"__global__ void k(float *x) { }", "t.kn:1:1: '__global__' is no word of this language"},
        {"kernel k(index item, in T *x) { }", "t.kn:1:25: there are no pointers"},
        {"kernel k(index item, in float x[]) { }",
         "t.kn:1:25: 'float' is no word of this language: write f32"},
        {"kernel k(index item, T x) { }", "a number is index, real"},
        {"kernel k(index item, out T y[], in T x[]) { }", "t.kn:1:33: buffers come first"},
        {"kernel k(workgroup 4096, out T y[]) { }", "t.kn:1:20: a workgroup has 1 to 1024"},
        {"function T f(T x) { return f(x); } kernel k(index item, out T y[]) { }", "no function 'f' above"},
        {"function T f(T x) { report(x); return x; }", "'report' belongs into a kernel"},
        {"function T f(T x) { T a[3]; return x; }", "arrays belong into kernels"},
        {"kernel a(index item, out T y[]) { } kernel b(index item, out T y[]) { }",
         "several kernels ('a', 'b')"},
        {"kernel a(index item, out T y[]) { } kernel a(index item, out T y[]) { }",
         "'a' is a function or kernel already"},
    };
    for (int i = 0; i < (int)(sizeof files / sizeof *files); i++) {
        kni_ir *ir = parsed(files[i][0], KN_F32);
        CHECK_ERROR(ir ? KN_OK : KN_ERROR_ARGUMENT, files[i][1]);
        kni_ir_free(ir);
    }
}

/* Text that is too deep or too long is an error, however it is deep. */
static void hostile(void)
{
    static const char *const parts[][3] = {
        {"y[0] = ", "(", "1;"},
        {"y[0] = ", "-", "1;"},
        {"", "{", ""},
        {"y[0] = item", " + 1", ";"},
        {"y[0] = ", "1 ? ", "1;"},
        {"y[0] = ", "y[", "0];"},
        {"", "if (1) ", "y[0] = 1;"},
        {"", "while (item) ", "break;"},
        {"y[0] = ", "abs(", "1;"},
        {"y[0] = 1", " && y[0]", ";"},
        {"", "if (item) y[0] = 1; else ", "y[0] = 2;"},
        {"y[0] = ", "(index)", "1;"},
    };
    enum { TIMES = 3000 };
    static char text[TIMES * 32 + 200];
    for (int i = 0; i < (int)(sizeof parts / sizeof *parts); i++) {
        size_t n = (size_t)snprintf(text, sizeof text, "kernel k(index item, out T y[]) { %s", parts[i][0]),
               m = strlen(parts[i][1]);
        for (int k = 0; k < TIMES; k++, n += m) memcpy(text + n, parts[i][1], m);
        snprintf(text + n, sizeof text - n, "%s }", parts[i][2]);
        kni_ir *ir = parsed(text, KN_F32);
        if (!CHECK(!ir && strstr(kn_last_error(), "t.kn:1:")))
            printf("%s: %s\n", parts[i][1], ir ? "" : kn_last_error());
        kni_ir_free(ir);
    }
    const char *name, *file;
    size_t bytes;
    /* Every beginning of a text ends in an error or a kernel; so does a text with any byte changed. */
    name = "cholesky";
    const char *whole = kni_kernel_text(name, &bytes, &file);
    if (!CHECK(whole && bytes < sizeof text)) return;
    for (size_t n = 0; n < bytes; n += 37) {
        kni_ir_parse_options options = {file, name, KN_F32, KN_F64, NULL, 0};
        kni_ir_free(kni_ir_parse(whole, n, &options));
        memcpy(text, whole, bytes);
        text[n] = "(){}[];,+-*/=<>&|!?:0a.\"\\\0"[n % 26];
        kni_ir_free(kni_ir_parse(text, bytes, &options));
    }
}

static void without_memory(void)
{
    const char *file;
    size_t bytes;
    const char *text = kni_kernel_text("matmul", &bytes, &file);
    kni_ir *ir = NULL;
    int failures = -1;
    for (int n = 1; n < 200 && !ir; n++, failures++) {
        int64_t before = kn_memory_stats().bytes_now;
        kn_memory_fail_after(n);
        kni_ir_parse_options options = {file, "matmul", KN_F32, KN_F64, NULL, 0};
        ir = kni_ir_parse(text, bytes, &options);
        kn_memory_fail_after(0);
        if (!ir) CHECK(kn_memory_stats().bytes_now == before);
    }
    CHECK(ir != NULL && failures > 5);
    kni_ir_free(ir);
}

int main(void)
{
    reference_kernels();
    meaning_of_c();
    types();
    groups();
    page();
    mistakes();
    mistaken_files();
    hostile();
    without_memory();
    return check_report();
}
