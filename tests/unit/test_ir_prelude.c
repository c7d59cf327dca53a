/* The functions that kernels are printed with: every word, cast and special function gives the host's bits when its text is
   compiled as C, OpenCL C and CUDA C, wherever a compiler and a device are found. `test_ir_prelude DIALECT` prints the
   text instead. */
#define _POSIX_C_SOURCE 200809L
#include "../support/check.h"
#include "core/math/fused.h"
#include "ir/prelude.h"
#include "ir/prelude_table.h"
#include "ops/body.h"
#include "ops/scalar_words.h"
#include "test_ir_engines.h"

/* One function: how it is called on a and b of dtype `from`, and what the host makes of arrays. */
typedef struct test_case {
    const char *function, *arguments;
    int from, to;
    void (*host)(int64_t n, const void *a, const void *b, void *y); /* NULL: kni_convert */
} test_case;

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define TEXT2(a) #a
#define TEXT(a) TEXT2(a)

#define T float
#define S f32
#define D KN_F32
#include "test_ir_words.h"
#define T double
#define S f64
#define D KN_F64
#include "test_ir_words.h"
#define T int32_t
#define S i32
#define D KN_I32
#include "test_ir_words.h"
#define T int64_t
#define S i64
#define D KN_I64
#include "test_ir_words.h"
#define T uint32_t
#define S u32
#define D KN_U32
#include "test_ir_words.h"
#define T uint64_t
#define S u64
#define D KN_U64
#include "test_ir_words.h"

/* Functions that are no words: the call is the same text in a kernel and here. */
#define SPECIALS(M)                                                                                          \
    M(kni_philox_word, (a, b, a >> 3), i64, int64_t, KN_I64, int64_t, KN_I64)                                \
    M(kni_philox_word, (b, -a, b), i64_other, int64_t, KN_I64, int64_t, KN_I64)                              \
    M(kni_fma_f32, (a, b, a), f32, float, KN_F32, float, KN_F32)                                             \
    M(kni_fma_f32, (a, b, -(a * b)), f32_error, float, KN_F32, float, KN_F32)                                \
    M(kni_fma_f64, (a, b, a), f64, double, KN_F64, double, KN_F64)                                           \
    M(kni_fma_f64, (a, b, -(a * b)), f64_error, double, KN_F64, double, KN_F64)                              \
    M(kni_fma_f64, (a, a, -b), f64_square, double, KN_F64, double, KN_F64)                                   \
    M(kni_cos_turn_f32, (a), f32, float, KN_F32, float, KN_F32)                                              \
    M(kni_cos_turn_f64, (a), f64, double, KN_F64, double, KN_F64)                                            \
    M(kni_select_f32, (a < b, b, a), f32, float, KN_F32, float, KN_F32)                                      \
    M(kni_select_u32, (a < b, b, a), u32, uint32_t, KN_U32, uint32_t, KN_U32)                                \
    M(kni_bits_f32, (a), f32, float, KN_F32, uint32_t, KN_U32)                                               \
    M(kni_from_bits_f64, (a), u64, uint64_t, KN_U64, double, KN_F64)                                         \
    M(kni_sin_bounded_f64, (a), f64, double, KN_F64, double, KN_F64)
#define SPECIAL_HOST(function, call, name, T, from, R, to)                                                   \
    static void special_##function##_##name(int64_t n, const void *pa, const void *pb, void *py)             \
    {                                                                                                        \
        for (int64_t k = 0; k < n; k++) {                                                                    \
            T a = ((const T *)pa)[k], b = ((const T *)pb)[k];                                                \
            (void)b;                                                                                         \
            ((R *)py)[k] = function call;                                                                    \
        }                                                                                                    \
    }
#define SPECIAL_ROW(function, call, name, T, from, R, to)                                                    \
    {#function, #call, from, to, special_##function##_##name},
SPECIALS(SPECIAL_HOST)
static const test_case specials[] = {SPECIALS(SPECIAL_ROW)};

/* ---- the cases */
enum { MAX_CASES = 700, PER_ENTRY = 12, ELEMENTS = 8192 };
static test_case cases[MAX_CASES];
static char cast_names[KN_DTYPE_COUNT][KN_DTYPE_COUNT][32];
static int n_cases;

static void add_cases(const test_case *more, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (kni_ir_prelude_has(more[i].function)) cases[n_cases++] = more[i];
}
#define ADD(table) add_cases(table, sizeof table / sizeof *table)

/* Sorted by what they read, so that neighbours share an entry. */
static int by_source(const void *a, const void *b)
{
    const test_case *x = a, *y = b;
    return x->from != y->from ? x->from - y->from : strcmp(x->function, y->function);
}

static void collect_cases(void)
{
    ADD(words_f32), ADD(words_f64), ADD(words_i32), ADD(words_i64), ADD(words_u32), ADD(words_u64);
    int words = 0;
    for (int i = 0; i < kni_word_count(); i++)
        words += 2 * kni_word_at(i)->floats + 4 * kni_word_at(i)->integers;
    CHECK(n_cases == words);
    ADD(specials);
    CHECK(n_cases == words + (int)(sizeof specials / sizeof *specials));
    int before = n_cases;
    for (int from = KN_F64; from <= KN_BOOL; from++)
        for (int to = KN_F64; to <= KN_BOOL; to++) {
            char *name = cast_names[to][from];
            snprintf(name, sizeof cast_names[0][0], "kni_cast_%s_%s", kni_dtypes[to].name,
                     kni_dtypes[from].name);
            add_cases(&(test_case){name, "(a)", from, to, NULL}, 1);
        }
    CHECK(n_cases - before == 13 * 13);
    qsort(cases, (size_t)n_cases, sizeof *cases, by_source);
}

/* ---- the text */
static const char *const c_types[KN_DTYPE_COUNT] = {
    [KN_F64] = "double",   [KN_F32] = "float",    [KN_F16] = "uint16_t", [KN_BF16] = "uint16_t",
    [KN_I64] = "int64_t",  [KN_I32] = "int32_t",  [KN_I16] = "int16_t",  [KN_I8] = "int8_t",
    [KN_U64] = "uint64_t", [KN_U32] = "uint32_t", [KN_U16] = "uint16_t", [KN_U8] = "uint8_t",
    [KN_BOOL] = "uint8_t"};
/* What makes an unsigned number of a result's bits. */
static const char *const as_bits[KN_DTYPE_COUNT] = {[KN_F64] = "kni_bits_f64",
                                                    [KN_F32] = "kni_bits_f32",
                                                    [KN_I32] = "(uint32_t)",
                                                    [KN_I16] = "(uint16_t)",
                                                    [KN_I8] = "(uint8_t)"};

/* Cases first .. end - 1 are of one entry. */
static int entry_end(int first)
{
    int end = first;
    while (end < n_cases && end - first < PER_ENTRY && cases[end].from == cases[first].from) end++;
    return end;
}

static void write_entry(kni_ir_text *text, const engine *e, int number, int first, int end)
{
    const char *type = c_types[cases[first].from];
    kni_ir_text_add(text, e->entry, number, type, type);
    kni_ir_text_add(text, "%s        %s a = pa[i], b = pb[i];\n        uint64_t y = 0;\n", e->index, type);
    kni_ir_text_add(text, "        switch (which) {\n");
    for (int i = first; i < end; i++) {
        const char *bits = as_bits[cases[i].to] ? as_bits[cases[i].to] : "";
        kni_ir_text_add(text, "        case %d: y = (uint64_t)%s(%s%s); break;\n", i - first, bits,
                        cases[i].function, cases[i].arguments);
    }
    kni_ir_text_add(text, "        }\n        py[i] = y;\n    }\n}\n");
}

static bool write_text(kni_ir_text *text, const engine *e)
{
    const char *functions[MAX_CASES];
    for (int i = 0; i < n_cases; i++) functions[i] = cases[i].function;
    if (!CHECK(kni_ir_prelude(text, e->dialect, functions, n_cases) == KN_OK)) return false;
    int number = 0;
    for (int first = 0, end; first < n_cases; first = end) {
        end = entry_end(first);
        write_entry(text, e, number++, first, end);
    }
    return CHECK(!text->failed);
}

/* ---- the arguments */
static uint64_t random_state = 88172645463325252u;
static uint64_t random_bits(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

static const double corners[] = {0.0,
                                 -0.0,
                                 1.0,
                                 -1.0,
                                 2.0,
                                 -2.0,
                                 0.5,
                                 -0.5,
                                 1.5,
                                 2.5,
                                 -2.5,
                                 3.0,
                                 -7.0,
                                 10.0,
                                 88.0,
                                 -88.0,
                                 90.0,
                                 -104.0,
                                 127.5,
                                 255.0,
                                 256.0,
                                 -129.0,
                                 32767.5,
                                 65504.0,
                                 65519.9,
                                 65520.0,
                                 1e-8,
                                 -1e-8,
                                 6e-8,
                                 2e-8,
                                 1e-40,
                                 1e-45,
                                 -1e-310,
                                 5e-324,
                                 1e30,
                                 -1e30,
                                 1e300,
                                 1e308,
                                 2e9,
                                 -3e9,
                                 2147483648.0,
                                 4294967296.0,
                                 9.2233720368547758e18,
                                 -9.2233720368547758e18,
                                 1.8446744073709552e19,
                                 1e20,
                                 3.1415926535897931,
                                 1.5707963267948966,
                                 0.7071,
                                 1048577.0};
enum { CORNERS = sizeof corners / sizeof *corners };

/* A number of a float dtype: corners, infinities, NaN, random bits, and ranges where functions have something to say. */
static double random_real(int i)
{
    static const double ranges[] = {1, 1, 2, 10, 100, 1000, 1e6, 0.01};
    if (i < CORNERS) return corners[i];
    if (i < CORNERS + 3)
        return i == CORNERS ? __builtin_inf() : i == CORNERS + 1 ? -__builtin_inf() : __builtin_nan("");
    double u = (double)(int64_t)random_bits() * 0x1p-63;
    double r = u * ranges[random_bits() & 7];
    return (random_bits() & 15) == 0 ? kni_round_even_f64(r * 8) : r;
}

static void fill(void *values, int dtype, int turn)
{
    size_t size = kni_bytes_of(dtype);
    int special = CORNERS + 3;
    for (int i = 0; i < ELEMENTS; i++) {
        /* The first elements of a and b are all pairs of special values. */
        int which = i < special * special ? (turn ? i / special : i % special) : special + 1;
        uint64_t bits = random_bits();
        char *to = (char *)values + (size_t)i * size;
        if (dtype == KN_BOOL)
            *to = (char)(bits & 1);
        else if (kni_is_float(dtype) && (which < special || (bits & 3) != 0)) {
            double r = random_real(which);
            kni_convert(to, dtype, 1, &r, KN_F64, 1, 1);
        } else if (!kni_is_float(dtype) && (which < special || (bits & 64) != 0)) {
            double r = which < special ? random_real(which) : (double)(int64_t)(bits % 65) - 32;
            kni_convert(to, dtype, 1, &r, KN_F64, 1, 1);
        } else
            memcpy(to, &bits, size);
    }
}

/* ---- comparing */
static bool is_nan_of(uint64_t bits, int dtype)
{
    static const struct {
        int dtype;
        uint64_t infinity, mask;
    } floats[] = {{KN_F64, 0x7ff0000000000000u, 0x7fffffffffffffffu},
                  {KN_F32, 0x7f800000u, 0x7fffffffu},
                  {KN_F16, 0x7c00u, 0x7fffu},
                  {KN_BF16, 0x7f80u, 0x7fffu}};
    for (int i = 0; i < 4; i++)
        if (floats[i].dtype == dtype) return (bits & floats[i].mask) > floats[i].infinity;
    return false;
}

static void compare(const engine *e, const test_case *c, const char *a, const char *b, const uint64_t *got)
{
    static uint64_t want[ELEMENTS];
    size_t size = kni_bytes_of(c->to), from_size = kni_bytes_of(c->from);
    int wrong = 0;
    if (c->host)
        c->host(ELEMENTS, a, b, want);
    else
        kni_convert(want, c->to, 1, a, c->from, 1, ELEMENTS);
    for (int i = 0; i < ELEMENTS; i++) {
        uint64_t bits = 0, x = 0, z = 0;
        memcpy(&bits, (const char *)want + (size_t)i * size, size);
        if (bits == got[i] || (is_nan_of(bits, c->to) && is_nan_of(got[i], c->to))) continue;
        memcpy(&x, a + (size_t)i * from_size, from_size);
        memcpy(&z, b + (size_t)i * from_size, from_size);
        if (wrong++ < 3)
            printf("%s %s%s: a %llx b %llx: %llx, host %llx\n", e->name, c->function, c->arguments,
                   (unsigned long long)x, (unsigned long long)z, (unsigned long long)got[i],
                   (unsigned long long)bits);
    }
    if (wrong) printf("%s %s: %d of %d differ\n", e->name, c->function, wrong, ELEMENTS);
    CHECK(wrong == 0);
}

static void run_all(const engine *e, bool runs)
{
    static uint64_t a[ELEMENTS], b[ELEMENTS], got[ELEMENTS];
    kni_ir_text text = {0};
    bool good = write_text(&text, e) && CHECK(e->build(text.data, text.length));
    int number = 0;
    for (int first = 0, end; good && runs && first < n_cases; first = end, number++) {
        end = entry_end(first);
        int from = cases[first].from;
        fill(a, from, 0);
        fill(b, from, 1);
        for (int i = first; good && i < end; i++) {
            good = CHECK(e->run(number, a, b, got, ELEMENTS, kni_bytes_of(from), i - first));
            if (good) compare(e, &cases[i], (const char *)a, (const char *)b, got);
        }
    }
    kni_ir_text_free(&text);
}

/* ---- the rest */
static void names(void)
{
    kni_ir_text text = {0};
    const char *unknown[] = {"kni_word_exp_f32", "kni_word_no_such_f32"};
    CHECK_ERROR(kni_ir_prelude(&text, KNI_IR_C, unknown, 2), "kni_word_no_such_f32");
    CHECK_ERROR(kni_ir_prelude(&text, KNI_IR_DIALECTS, unknown, 1), "dialect");
    CHECK(!kni_ir_prelude_has("kni_word_sin_i32") && !kni_ir_prelude_has("kni_word_and_f32"));
    CHECK(kni_ir_prelude_has("kni_bits_f32") && kni_ir_prelude_has("kni_word_and_u32"));
    CHECK(!kni_ir_prelude_uses_f64("kni_word_exp_f32", KNI_IR_C));
    CHECK(kni_ir_prelude_uses_f64("kni_word_log2_f32", KNI_IR_OPENCL));
    CHECK(kni_ir_prelude_uses_f64("kni_bits_f64", KNI_IR_C) &&
          !kni_ir_prelude_uses_f64("kni_cast_i8_f32", KNI_IR_C));
    CHECK(kni_ir_prelude_uses_f64("kni_fma_f32", KNI_IR_C) &&
          !kni_ir_prelude_uses_f64("kni_fma_f32", KNI_IR_CUDA));
    kni_ir_text_free(&text);
    /* Each once, what is needed before what needs it, and no more. */
    const char *two[] = {"kni_word_exp_f32", "kni_exp_f32", "kni_word_exp_f32"};
    CHECK(kni_ir_prelude(&text, KNI_IR_OPENCL, two, 3) == KN_OK);
    const char *body = text.data ? strstr(text.data, " kni_exp_f32(float x)\n{") : NULL;
    const char *scale = text.data ? strstr(text.data, " kni_scale_f32(float y") : NULL;
    CHECK(body && scale && scale < body && !strstr(body + 1, " kni_exp_f32(float x)\n{"));
    CHECK(text.data && !strstr(text.data, "kni_log_f32"));
    kni_ir_text_free(&text);
    for (int i = 0; i < kni_ir_item_count; i++)
        for (int k = 0; k < kni_ir_items[i].n_needs; k++)
            CHECK(kni_ir_item_needs[kni_ir_items[i].first_need + k] < i);
}

/* How many other items a text names: each is one of the item's needs. */
static int names_in(const kni_ir_item *item, bool *all_are_needs)
{
    static bool seen[KNI_IR_MAX_ITEMS];
    int n = 0;
    memset(seen, 0, sizeof seen);
    for (const char *at = item->text; *at;) {
        size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
        for (int i = 0; length && i < kni_ir_item_count; i++) {
            const char *name = kni_ir_items[i].name;
            if (strlen(name) != length || memcmp(name, at, length) || &kni_ir_items[i] == item || seen[i])
                continue;
            bool found = false;
            for (int k = 0; k < item->n_needs; k++)
                found = found || kni_ir_item_needs[item->first_need + k] == i;
            *all_are_needs = *all_are_needs && found;
            seen[i] = true;
            n++;
        }
        at += length ? length : 1;
    }
    return n;
}

static void needs_are_what_texts_name(void)
{
    for (int i = 0; i < kni_ir_item_count; i++) {
        bool all = true;
        int n = names_in(&kni_ir_items[i], &all);
        if (!CHECK(all && n == kni_ir_items[i].n_needs))
            printf("%s names %d items and has %d needs\n", kni_ir_items[i].name, n, kni_ir_items[i].n_needs);
    }
}

int main(int count, char **arguments)
{
    static const char *const compilers[] = {"cc", "clang"};
    const engine *all[] = {&c_engine, &cuda_engine, &opencl_engine};
    collect_cases();
    for (int i = 0; count > 1 && i < 3; i++) {
        kni_ir_text text = {0};
        if (!strcmp(arguments[1], all[i]->name) && write_text(&text, all[i])) fputs(text.data, stdout);
        kni_ir_text_free(&text);
    }
    if (count > 1) return 0;
    names();
    needs_are_what_texts_name();
    for (int i = 0; i < 2; i++) {
        /* The text is the same in every build: those with sanitizers try it with one compiler. */
        if (i > 0 && UNDER_SANITIZER && !check_whole()) continue;
        char probe[64];
        snprintf(probe, sizeof probe, "command -v %s > /dev/null 2>&1", compilers[i]);
        c_compiler = compilers[i];
        if (system(probe) == 0)
            run_all(&c_engine, true);
        else
            check_skip("no C compiler");
    }
    if (opencl_open())
        run_all(&opencl_engine, true);
    else
        check_skip("no OpenCL device");
    bool cuda = cuda_open();
    if (cuda)
        run_all(&cuda_engine, cu_there);
    else
        check_skip(nvrtc_absent);
    if (cuda && !cu_there) check_skip("no CUDA device");
    return check_report();
}
