/* Rows along lines by their bodies, as the reference backend computes them: values that are written down here (NaN, infinities,
   ties, empty lines), and a second opinion from the kernels that `ref` had before (tests/opinions). */
#include "backend/host/host.h"
#include "core/device_object.h"
#include "ops/body.h"
#include "ops/op.h"
#include "support/check.h"
#include <kn/call.h>
#include <kn/kernels.h>
#include <math.h>
#include <stdlib.h>

enum { MAX_VALUES = 4096 };

static bool near(double a, double b, double bound)
{
    if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
    return a == b || fabs(a - b) <= bound * fmax(1, fabs(b));
}

/* The tensor holds these values. */
static void expect_values(const char *what, kn_tensor t, const double *want, int n)
{
    double got[MAX_VALUES] = {0};
    t = kn_keep(t);
    bool good = CHECK(kn_count(t) == n) && CHECK(kn_read_as(t, KN_F64, got, (size_t)n * 8) == KN_OK);
    for (int i = 0; i < n && good; i++)
        if (!near(got[i], want[i], 1e-12)) {
            printf("  %s: element %d is %.17g, not %.17g\n", what, i, got[i], want[i]);
            good = false;
        }
    CHECK(good);
}
#define VALUES(tensor, ...)                                                                                  \
    expect_values(#tensor, tensor, (const double[]){__VA_ARGS__},                                            \
                  (int)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double)))

static kn_tensor matrix(int64_t rows, int64_t n, const double *values)
{
    return kn_keep(kn_from(values, KN_F64, KN_SHAPE(rows, n)));
}
#define MATRIX(rows, n, ...) matrix(rows, n, (const double[]){__VA_ARGS__})
static const kn_ints last = {1, {1}};
static bool on_ref;

/* ---- values written down */

static void test_reductions(void)
{
    kn_tensor x = MATRIX(4, 3, 1, NAN, 3, INFINITY, -INFINITY, 0, 2, 2, 1, 0, -0.0, 0);
    VALUES(kn_sum(x, last, false), NAN, NAN, 5, 0);
    VALUES(kn_prod(x, last, false), NAN, NAN, 4, 0);
    VALUES(kn_mean(x, last, false), NAN, NAN, 5.0 / 3, 0);
    VALUES(kn_max(x, last, false), NAN, INFINITY, 2, 0);
    VALUES(kn_min(x, last, false), NAN, -INFINITY, 1, 0);
    VALUES(kn_argmax(x, 1, false), 1, 0, 0, 0);
    VALUES(kn_argmin(x, 1, false), 1, 1, 2, 0);
    VALUES(kn_any(x, last, false), 1, 1, 1, 0);
    VALUES(kn_all(x, last, false), 1, 0, 1, 0);
    VALUES(kn_logsumexp(x, last, false), NAN, INFINITY, 2 + log(2 + exp(-1)), log(3));
    VALUES(kn_sum(x, KN_AXES(0), true), INFINITY, NAN, 4);
    VALUES(kn_argmax(MATRIX(2, 4, NAN, 5, NAN, 9, 3, 7, 7, 1), 1, true), 0, 1);
    VALUES(kn_argmin(MATRIX(2, 4, 5, NAN, NAN, -9, 3, 1, 7, 1), 1, true), 1, 1);
    VALUES(kn_logsumexp(MATRIX(2, 2, -INFINITY, -INFINITY, INFINITY, -INFINITY), last, false), -INFINITY,
           INFINITY);
    /* A product of finite numbers is 0 where one is, though a part of it overflows; an infinity makes it NaN. */
    VALUES(kn_prod(MATRIX(3, 3, 1e200, 1e200, 0, INFINITY, 0, 1, 1e200, 1e200, 1e-300), last, false), 0, NAN,
           INFINITY);
    kn_moments m = kn_var_mean(x, last, false, NULL);
    VALUES(m.mean, NAN, NAN, 5.0 / 3, 0);
    VALUES(m.var, NAN, NAN, 1.0 / 3, 0);
}

static void test_empty_lines(void)
{
    kn_tensor x = kn_keep(kn_zeros(KN_SHAPE(2, 0), KN_F64)), y = kn_keep(kn_zeros(KN_SHAPE(0, 2), KN_F64));
    VALUES(kn_sum(x, last, false), 0, 0);
    VALUES(kn_prod(x, last, false), 1, 1);
    VALUES(kn_mean(x, last, false), NAN, NAN);
    VALUES(kn_any(x, last, false), 0, 0);
    VALUES(kn_all(x, last, false), 1, 1);
    VALUES(kn_logsumexp(x, last, false), -INFINITY, -INFINITY);
    CHECK_POISON(kn_max(x, last, false), "kn_max");
    CHECK_POISON(kn_argmin(x, 1, false), "kn_argmin");
    CHECK(kn_count(kn_keep(kn_sum(y, last, false))) == 0);
    CHECK(kn_count(kn_keep(kn_softmax(x, 1))) == 0 && kn_count(kn_keep(kn_log_softmax(y, 1))) == 0);
    /* Sums over no line at all are 0 at each place. */
    kn_tensor in[2] = {y, y}, out[2];
    const kn_attribute_value a[] = {{.name = "n_axes", .integer = 1}, {.name = "eps", .real = 1e-5}, {0}};
    CHECK(kn_call("layer_norm_affine_grad", in, 2, a, out, 2) == KN_OK);
    VALUES(out[0], 0, 0);
    VALUES(out[1], 0, 0);
}

static void test_integers(void)
{
    const int8_t bytes[] = {100, 100, -128, -128, 3, 3};
    kn_tensor x = kn_keep(kn_from(bytes, KN_I8, KN_SHAPE(3, 2)));
    VALUES(kn_sum(x, last, false), 200, -256, 6);
    VALUES(kn_prod(x, last, false), 10000, 16384, 9);
    VALUES(kn_max(x, last, false), 100, -128, 3);
    VALUES(kn_argmax(x, 1, false), 0, 0, 0);
    const uint64_t large[] = {UINT64_MAX, 1, UINT64_C(1) << 63, 5};
    kn_tensor u = kn_keep(kn_from(large, KN_U64, KN_SHAPE(2, 2)));
    VALUES(kn_sum(u, last, false), 0, -9223372036854775808.0 + 5);
    VALUES(kn_argmax(u, 1, false), 0, 0);
    VALUES(kn_argmin(u, 1, false), 1, 1);
    const uint8_t truths[] = {0, 1, 0, 0};
    kn_tensor b = kn_keep(kn_from(truths, KN_BOOL, KN_SHAPE(2, 2)));
    VALUES(kn_sum(b, KN_AXES(0), false), 0, 1);
    VALUES(kn_any(b, last, false), 1, 0);
    VALUES(kn_max(b, last, false), 1, 0);
    const float small[] = {0.25f, 0, -0.0f, 0};
    VALUES(kn_any(kn_from(small, KN_F32, KN_SHAPE(2, 2)), last, false), 1, 0);
}

static void test_softmax_and_norms(void)
{
    double e = exp(-1), t = 2 + e;
    kn_tensor x = MATRIX(4, 3, 2, 2, 1, -INFINITY, -INFINITY, -INFINITY, INFINITY, 0, 0, -INFINITY, 5, NAN);
    VALUES(kn_softmax(x, 1), 1 / t, 1 / t, e / t, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN);
    VALUES(kn_log_softmax(MATRIX(1, 3, 2, 2, -INFINITY), 1), -log(2), -log(2), -INFINITY);
    kn_tensor w = kn_keep(kn_from((const double[]){2, 0.5}, KN_F64, KN_SHAPE(2))),
              c = kn_keep(kn_from((const double[]){7, -1}, KN_F64, KN_SHAPE(2)));
    VALUES(kn_layer_norm(MATRIX(4, 2, 4, 4, 1, NAN, 3, 1, INFINITY, 1), w, c, 1, 0), NAN, NAN, NAN, NAN, 9,
           -1.5, NAN, NAN);
    VALUES(kn_layer_norm(MATRIX(2, 2, 4, 4, -2, 2), KN_NONE, KN_NONE, 1, 5), 0, 0, -2.0 / 3, 2.0 / 3);
    VALUES(kn_rms_norm(MATRIX(2, 2, 3, 1, 0, 0), w, 1, 4), 3 * 2 / 3.0, 0.5 / 3, 0, 0);
    VALUES(kn_batch_norm(MATRIX(2, 2, 4, NAN, INFINITY, 3), c, w, w, c, 2), -3 * 2 / 2.0 + 7, NAN, INFINITY,
           4 * 0.5 / sqrt(2.5) - 1);
    kn_batch_norm_result r = kn_batch_norm_train(MATRIX(2, 2, 4, NAN, 2, 3), KN_NONE, KN_NONE, 3);
    VALUES(r.mean, 3, NAN);
    VALUES(r.y, 0.5, NAN, -0.5, NAN);
}

static void test_cross_entropy(void)
{
    kn_tensor x = MATRIX(5, 2, 1, 1, 0, -INFINITY, 0, -INFINITY, NAN, 0, 3, 4);
    const int64_t at[] = {1, 0, 1, 0, -100}, bad[] = {1, 0, 2, -7, 0};
    kn_tensor t = kn_keep(kn_from(at, KN_I64, KN_SHAPE(5)));
    kn_tensor w = kn_keep(kn_from((const double[]){2, 0.5}, KN_F64, KN_SHAPE(2)));
    kn_cross_entropy_args a = {.reduction = KN_REDUCTION_NONE};
    VALUES(kn_cross_entropy(x, t, &a), log(2), 0, INFINITY, NAN, 0);
    a.weight = w;
    VALUES(kn_cross_entropy(x, t, &a), 0.5 * log(2), 0, INFINITY, NAN, 0);
    a.label_smoothing = 0.5;
    VALUES(kn_cross_entropy(kn_slice(x, 0, 0, 1, 1), kn_slice(t, 0, 0, 1, 1), &a),
           0.5 * 0.5 * log(2) + 0.25 * 2.5 * log(2));
    /* The first bad target is named by ref; the CPU names one of them. */
    CHECK_POISON(kn_cross_entropy(x, kn_from(bad, KN_I64, KN_SHAPE(5)), &a),
                 on_ref ? "index 2 is out of range" : "is out of range");
    kn_tensor dy = kn_keep(kn_ones(KN_SHAPE(5), KN_F64)), lse = kn_keep(kn_logsumexp(x, last, false)), dx;
    const kn_attribute_value plain[] = {{.name = "ignore_index", .integer = -100}, {0}};
    kn_tensor in[4] = {dy, x, t, lse};
    CHECK(kn_call("cross_entropy_grad", in, 4, plain, &dx, 1) == KN_OK);
    VALUES(dx, 0.5, -0.5, 0, 0, 1, -1, NAN, NAN, 0, 0);
    in[2] = kn_keep(kn_from(bad, KN_I64, KN_SHAPE(5)));
    kn_call("cross_entropy_grad", in, 4, plain, &dx, 1);
    CHECK_POISON(dx, on_ref ? "index 2 is out of range" : "is out of range");
}

/* Long sums of equal terms keep their digits. */
static void test_long_sums(void)
{
    enum { N = 1000000 };
    kn_tensor x = kn_keep(kn_full(KN_SHAPE(N), 0.1, KN_F64));
    double y = 0;
    CHECK(kn_read(kn_keep(kn_sum(x, KN_AXES_ALL, false)), &y, sizeof y) == KN_OK);
    CHECK(fabs(y - 1e5) < 1e-9);
}

static void test_values_on(const char *name)
{
    kn_device device = kn_device_open(name);
    if (!CHECK(device != NULL)) return;
    kn_device_use(device);
    on_ref = !strcmp(name, "ref");
    kn_scope scope = kn_scope_begin();
    test_reductions();
    test_empty_lines();
    test_integers();
    test_softmax_and_norms();
    test_cross_entropy();
    if (on_ref) test_long_sums();
    kn_scope_end(scope, KN_NONE);
    kn_device_use(NULL);
    kn_device_close(device);
}

/* ---- second opinions */

static int asked;

/* Operands by letter: e the elements [6, 5, 4], a one for each line along axis 1 [6, 4], b of axes 0 and 2 [5], l of the last axis
   [6, 5], p one for each place of axis 1 [5], q of the last axis [4], t targets along axis 1; capitals may be absent. */
typedef struct question {
    const char *op, *in;
    int n_out;
    kn_attribute_value attributes[4];
    const char *file, *kernel; /* in tests/opinions */
    int buffers, results;      /* of the kernel, `in` and `out` */
    int64_t items;
    kn_kernel_number
        numbers[17]; /* IF_GIVEN(i): whether the operand that may be absent is given, counted among these */
    int n_numbers;
} question;
enum { GIVEN = -100 };

#define AXES(...)                                                                                            \
    {                                                                                                        \
        .name = "axes", .list = __VA_ARGS__                                                                  \
    }
#define LIST(n, ...)                                                                                         \
    {                                                                                                        \
        n, { __VA_ARGS__ }                                                                                   \
    }
#define AXIS                                                                                                 \
    {                                                                                                        \
        .name = "axis", .integer = 1                                                                         \
    }
#define ONE_AXIS                                                                                             \
    {                                                                                                        \
        .name = "n_axes", .integer = 1                                                                       \
    }
#define EPS                                                                                                  \
    {                                                                                                        \
        .name = "eps", .real = 0.125                                                                         \
    }
#define IGNORES                                                                                              \
    {                                                                                                        \
        .name = "ignore_index", .integer = 3                                                                 \
    }
#define SMOOTH(share)                                                                                        \
    {                                                                                                        \
        .name = "smoothing", .real = share                                                                   \
    }
#define QUIET(given)                                                                                         \
    {                                                                                                        \
        .name = "quiet", .integer = given                                                                    \
    }

#define W(value)                                                                                             \
    {                                                                                                        \
        .whole = value                                                                                       \
    }
#define IF_GIVEN(i) W(GIVEN - (i))
#define REAL(value)                                                                                          \
    {                                                                                                        \
        .real = value                                                                                        \
    }
#define CHANNELS W(6), W(5), W(4)
#define NO_GROUPS W(0), W(0), W(0)
/* Axes of a reduction, with size and stride of one or two groups of neighbours. */
#define GROUP(size, stride) W(1), W(1), W(size), NO_GROUPS, W(stride)
#define GROUPS(size, stride, size_2, stride_2) W(1), W(size), W(size_2), W(0), W(0), W(stride), W(stride_2)
#define REDUCTION(row, axes, items, ...)                                                                     \
    {                                                                                                        \
        .op = #row, "e", 1, {AXES(axes)}, "reductions.kn", "reduce_" #row, 1, 1, items, {__VA_ARGS__}, 15    \
    }
#define POSITION(row)                                                                                        \
    {                                                                                                        \
        .op = #row, "e", 1, {AXIS}, "reductions.kn", "reduce_" #row, 1, 1, 24, {W(5), W(4)}, 2               \
    }
#define SOFTMAX(row, quiet, logarithm)                                                                       \
    {                                                                                                        \
        .op = row, "e", 1, {AXIS, QUIET(quiet)}, "softmax.kn", "softmax", 1, 1, 24,                          \
        {W(5), W(4), W(logarithm), W(quiet)}, 4                                                              \
    }
#define SOFTMAX_GRAD(row)                                                                                    \
    {                                                                                                        \
        .op = #row, "ee", 1, {AXIS}, "softmax.kn", #row, 2, 1, 24, {W(5), W(4)}, 2                           \
    }
#define ENTROPY(row, in, n_in, n_out, smoothing)                                                             \
    {                                                                                                        \
        .op = #row, in, n_out, {IGNORES, SMOOTH(smoothing)}, "losses.kn", #row, n_in, n_out, 24,             \
        {W(5), W(4), IF_GIVEN(0), W(3), REAL(smoothing)}, 5                                                  \
    }

static const question questions[] = {
    REDUCTION(sum, LIST(1, 1), 24, W(5), GROUPS(6, 20, 4, 1), GROUP(5, 4)),
    REDUCTION(sum, LIST(2, 0, 2), 5, W(24), GROUP(5, 4), GROUPS(6, 20, 4, 1)),
    REDUCTION(prod, LIST(2, 0, 1), 4, W(30), GROUP(4, 1), GROUP(30, 4)),
    REDUCTION(mean, LIST(3, 0, 1, 2), 1, W(120), GROUP(1, 0), GROUP(120, 1)),
    REDUCTION(max, LIST(1, 2), 30, W(4), GROUP(30, 4), GROUP(4, 1)),
    REDUCTION(min, LIST(2, 0, 2), 5, W(24), GROUP(5, 4), GROUPS(6, 20, 4, 1)),
    REDUCTION(any, LIST(1, 1), 24, W(5), GROUPS(6, 20, 4, 1), GROUP(5, 4)),
    REDUCTION(all, LIST(1, 0), 20, W(6), GROUP(20, 1), GROUP(6, 20)),
    POSITION(argmax),
    POSITION(argmin),
    REDUCTION(logsumexp, LIST(2, 0, 2), 5, W(24), GROUP(5, 4), GROUPS(6, 20, 4, 1)),
    {.op = "var_mean",
     "e",
     2,
     {AXES(LIST(1, 1))},
     "reductions.kn",
     "reduce_var_mean",
     1,
     2,
     24,
     {W(5), W(1), W(6), W(4), W(0), W(0), W(20), W(1), W(1), W(1), W(5), NO_GROUPS, W(4), REAL(0)},
     16},
    SOFTMAX("softmax", 0, 0),
    SOFTMAX("softmax", 1, 0),
    SOFTMAX("log_softmax", 0, 1),
    SOFTMAX("log_softmax", 1, 1),
    SOFTMAX_GRAD(softmax_grad),
    SOFTMAX_GRAD(log_softmax_grad),
    {.op = "layer_norm",
     "eQQ",
     1,
     {ONE_AXIS, EPS},
     "norms.kn",
     "layer_norm",
     3,
     1,
     30,
     {W(4), W(1), IF_GIVEN(0), IF_GIVEN(1), REAL(0.125)},
     5},
    {.op = "layer_norm_grad",
     "eeQ",
     1,
     {ONE_AXIS, EPS},
     "norms.kn",
     "layer_norm_grad",
     3,
     1,
     30,
     {W(4), W(1), IF_GIVEN(0), REAL(0.125)},
     4},
    {.op = "layer_norm_affine_grad",
     "ee",
     2,
     {ONE_AXIS, EPS},
     "norms.kn",
     "layer_norm_affine_grad",
     2,
     2,
     1,
     {W(30), W(4), W(1), W(1), REAL(0.125)},
     5},
    {.op = "rms_norm",
     "eQ",
     1,
     {ONE_AXIS, EPS},
     "norms.kn",
     "layer_norm",
     3,
     1,
     30,
     {W(4), W(0), IF_GIVEN(0), W(0), REAL(0.125)},
     5},
    {.op = "rms_norm_grad",
     "eeQ",
     1,
     {ONE_AXIS, EPS},
     "norms.kn",
     "layer_norm_grad",
     3,
     1,
     30,
     {W(4), W(0), IF_GIVEN(0), REAL(0.125)},
     4},
    {.op = "rms_norm_affine_grad",
     "ee",
     1,
     {ONE_AXIS, EPS},
     "norms.kn",
     "layer_norm_affine_grad",
     2,
     2,
     1,
     {W(30), W(4), W(0), W(0), REAL(0.125)},
     5},
    {.op = "batch_norm",
     "epsPP",
     1,
     {EPS},
     "norms.kn",
     "batch_norm",
     5,
     1,
     5,
     {CHANNELS, IF_GIVEN(0), IF_GIVEN(1), REAL(0.125)},
     6},
    {.op = "batch_norm_train",
     "ePP",
     3,
     {EPS},
     "norms.kn",
     "batch_norm_train",
     3,
     3,
     5,
     {CHANNELS, IF_GIVEN(0), IF_GIVEN(1), REAL(0.125)},
     6},
    {.op = "batch_norm_train_grad",
     "eepsP",
     3,
     {EPS},
     "norms.kn",
     "batch_norm_train_grad",
     5,
     3,
     5,
     {CHANNELS, IF_GIVEN(0), REAL(0.125)},
     5},
    ENTROPY(cross_entropy, "etP", 3, 3, 0),
    ENTROPY(cross_entropy, "etP", 3, 3, 0.25),
    ENTROPY(cross_entropy_grad, "aetaP", 5, 1, 0),
    ENTROPY(cross_entropy_grad, "aetaP", 5, 1, 0.25),
};

static unsigned seed;
static unsigned draw(void) { return (seed = seed * 1664525u + 1013904223u) >> 8; }

/* Quarters between -4 and 4, so that there are ties; `special`: some are infinite or NaN; s: positive. */
static kn_tensor operand(char letter, bool special)
{
    static const struct {
        char letter;
        kn_shape shape;
    } shapes[] = {{'e', {3, {6, 5, 4}}}, {'a', {2, {6, 4}}}, {'p', {1, {5}}},
                  {'s', {1, {5}}},       {'q', {1, {4}}},    {'t', {2, {6, 4}}}};
    double v[120];
    int64_t at[120];
    int i = 0;
    while (shapes[i].letter != letter) i++;
    for (int k = 0; k < 120; k++) {
        v[k] = (double)(draw() % 33) / 4 - 4;
        at[k] = draw() % 5;
        if (letter == 's') v[k] = fabs(v[k]);
        if (special && letter != 's' && draw() % 20 == 0)
            v[k] = (const double[]){NAN, INFINITY, -INFINITY, 1e300}[draw() % 4];
    }
    return kn_keep(letter == 't' ? kn_from(at, KN_I64, shapes[i].shape)
                                 : kn_from(v, KN_F64, shapes[i].shape));
}

/* By the kernel that the row had: absent operands are given all the same, and marked as absent. */
static kn_status ask_kernel(const question *q, unsigned absent, kn_tensor *in, kn_tensor *out)
{
    char path[300];
    static char text[1 << 16];
    snprintf(path, sizeof path, "tests/opinions/%s", q->file);
    FILE *f = fopen(path, "rb");
    size_t length = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) fclose(f);
    text[length] = 0;
    kn_kernel_options options = {.name = q->kernel, .file = q->file, .element = KN_F64};
    kn_kernel *kernel = length ? kn_kernel_compile(text, &options) : NULL;
    if (!kernel) return KN_ERROR_ARGUMENT;
    kn_kernel_number numbers[17];
    kn_shape shapes[3];
    kn_dtype dtypes[3] = {KN_F64, KN_F64, KN_F64};
    for (int i = 0; i < q->n_numbers; i++) {
        numbers[i] = q->numbers[i];
        if (numbers[i].whole <= GIVEN) numbers[i].whole = !(absent >> (GIVEN - numbers[i].whole) & 1);
    }
    for (int i = (int)strlen(q->in); i < q->buffers; i++) in[i] = in[0];
    const kni_body *body = kni_op_by_name(q->op)->body;
    for (int k = 0; k < q->results; k++) {
        uint8_t bits = k < body->n_out ? body->operands[body->n_in + k] : KNI_LEVEL_PLACE;
        int level = bits & KNI_OPERAND_LEVEL;
        int64_t count = level == KNI_LEVEL_ELEMENT ? 120 : level == KNI_LEVEL_LINE ? q->items : 4;
        shapes[k] = KN_SHAPE(count);
        if (bits & KNI_OPERAND_INDEX) dtypes[k] = KN_I64;
    }
    kn_kernel_run_args args = {
        .items = q->items, .numbers = numbers, .n_numbers = q->n_numbers, .shapes = shapes, .dtypes = dtypes};
    kn_status s = kn_kernel_run(kernel, in, q->buffers, &args, out, q->results);
    kn_kernel_free(kernel);
    asked++;
    return s;
}

/* The results of a question on the device that is current, one behind the other; how many values, -1 after a failure. */
static int answers(const question *q, unsigned with, unsigned absent, bool special, bool kernel,
                   double *values)
{
    kn_tensor in[5] = {{0}}, out[3];
    int n = 0, n_in = (int)strlen(q->in), optional = 0;
    seed = with;
    for (int i = 0; i < n_in; i++) {
        bool may = q->in[i] >= 'A' && q->in[i] <= 'Z';
        kn_tensor x = operand(may ? (char)(q->in[i] + 32) : q->in[i], special);
        if (kernel || !may || !(absent >> optional & 1)) in[i] = x;
        optional += may;
    }
    if (with % 4 == 0) /* operands that are absent may also not be named */
        while (!kernel && !in[n_in - 1].bits) n_in--;
    kn_status s =
        kernel ? ask_kernel(q, absent, in, out) : kn_call(q->op, in, n_in, q->attributes, out, q->n_out);
    if (s) return -1;
    for (int k = 0; k < q->n_out; k++) {
        kn_tensor y = kn_keep(out[k]);
        int64_t count = kn_count(y);
        if (kn_read_as(y, KN_F64, values + n, (size_t)count * 8)) return -1;
        n += (int)count;
    }
    return n;
}

static void compare(kn_device ref, const question *q, unsigned with, unsigned absent)
{
    static double a[MAX_VALUES], b[MAX_VALUES];
    kn_scope scope = kn_scope_begin();
    kn_device_use(ref);
    int n = answers(q, with, absent, with % 2 != 0, false, a), before = asked;
    kn_device_use(NULL);
    int m = answers(q, with, absent, with % 2 != 0, true, b);
    bool same = CHECK(n > 0 && m == n) && CHECK(asked > before);
    for (int i = 0; i < n && same; i++)
        if (!near(a[i], b[i], 1e-10)) {
            printf("  %s: value %d is %.17g by the body and %.17g by the kernel\n", q->op, i, a[i], b[i]);
            same = false;
        }
    if (!CHECK(same)) printf("  %s, absent %u, seed %u: %s\n", q->op, absent, with, kn_last_error());
    kn_scope_end(scope, KN_NONE);
    kn_device_use(NULL);
}

static void test_second_opinions(void)
{
    kn_device ref = kn_device_open("ref");
    if (!CHECK(ref)) return;
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        int optional = 0;
        for (const char *s = questions[i].in; *s; s++) optional += *s >= 'A' && *s <= 'Z';
        for (unsigned absent = 0; absent < 1u << optional; absent++)
            for (unsigned with = 1; with <= 4; with++) compare(ref, &questions[i], with, absent);
    }
    kn_device_close(ref);
}

/* ---- lowerings: rows along lines as other ops, for gradients of gradients */

static int lowered;

static kn_status lower_one(kn_backend *b, const kn_record *r)
{
    const kn_op *row = r->row;
    if (row->view) return kni_host_view(r);
    if (kni_is_pointwise(row)) return kni_host_body(r);
    if (row->body && !(row->lower && row->line.axes)) return kni_host_lines(r);
    if (row->launch) return kni_host_reference(r, false);
    lowered++;
    return kni_lower_record(r, b->device);
}

static kn_status lower_all(kn_backend *b, const kn_record *const *records, int32_t n)
{
    kn_status s = KN_OK;
    for (int32_t i = 0; i < n && s == KN_OK; i++)
        if (!(records[i]->flags & KN_RECORD_DROP)) s = lower_one(b, records[i]);
    return s;
}

static kn_backend lowers = {.size = sizeof(kn_backend),
                            .abi = KN_BACKEND_ABI,
                            .name = "lowers",
                            .execute = lower_all,
                            .write = kni_host_write,
                            .read = kni_host_read,
                            .sync = kni_host_sync};

static void compare_lowering(kn_device ref, kn_device other, const question *q, unsigned with,
                             unsigned absent)
{
    static double a[MAX_VALUES], b[MAX_VALUES];
    kn_scope scope = kn_scope_begin();
    kn_device_use(ref);
    int n = answers(q, with, absent, false, false, a), before = lowered;
    kn_device_use(other);
    int m = answers(q, with, absent, false, false, b);
    bool same = CHECK(n > 0 && m == n) && CHECK(lowered > before);
    for (int i = 0; i < n && same; i++) same = near(a[i], b[i], 1e-10);
    if (!CHECK(same)) printf("  the lowering of %s, absent %u: %s\n", q->op, absent, kn_last_error());
    kn_scope_end(scope, KN_NONE);
    kn_device_use(NULL);
}

/* Lowerings give what the bodies give, whichever operands are absent. */
static void test_lowerings(void)
{
    kn_device ref = kn_device_open("ref"), other = kni_device_make(&lowers, "lowers");
    if (!CHECK(ref && other)) return;
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        const kn_op *row = kni_op_by_name(questions[i].op);
        if (!row->lower) continue;
        for (unsigned absent = 0; absent < 4; absent++)
            for (unsigned with = 2; with <= 4; with += 2)
                compare_lowering(ref, other, &questions[i], with, absent);
    }
    kn_device_close(ref);
}

/* Every row along lines is asked about. */
static void test_all_are_asked(void)
{
    for (int number = 0; number < kni_op_count(); number++) {
        const kn_op *row = kni_op_by_number(number);
        if (!row || !row->body || !row->line.axes) continue;
        bool found = false;
        for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
            found |= !strcmp(questions[i].op, row->name);
        if (!CHECK(found)) printf("  %s\n", row->name);
    }
}

int main(void)
{
    test_values_on("ref");
    test_values_on("cpu");
    test_second_opinions();
    test_lowerings();
    test_all_are_asked();
    return check_report();
}
