/* Second opinions on bodies: the kernels that `ref` had before rows had bodies (tests/opinions) give what the bodies give, also
   for infinities, NaN and zeros. Their numbers are computed here, once more. */
#include "support/check.h"
#include <kn/call.h>
#include <kn/kernels.h>
#include <math.h>
#include <stdlib.h>

enum { N = 96, MAX_STATES = 4 };

static char *text;

static bool read_text(const char *name)
{
    char path[300];
    snprintf(path, sizeof path, "tests/opinions/%s", name);
    FILE *f = fopen(path, "rb");
    text = calloc(1, 1 << 16);
    bool good = f && text && fread(text, 1, (1 << 16) - 1, f) > 0;
    if (f) fclose(f);
    return good;
}

/* Values of both signs, or squares; some are 0, infinite or no number. */
static kn_tensor values(unsigned seed, bool squares)
{
    double v[N];
    for (int i = 0; i < N; i++) {
        seed = seed * 1664525u + 1013904223u;
        v[i] = (double)(seed >> 8) * 0x1p-23 - 1;
        if (squares) v[i] *= v[i];
    }
    v[seed % 7] = 0, v[7 + seed % 5] = INFINITY, v[13 + seed % 11] = NAN, v[30 + seed % 3] = -0.0;
    return kn_keep(kn_from(v, KN_F64, KN_SHAPE(N)));
}

typedef struct update_case {
    const char *op;
    int states, required, given; /* given: bits of the states, the scale behind them */
    uint32_t squares;            /* states that hold squares */
    kn_attribute_value attributes[10];
    kn_kernel_number numbers[16];
    int n_numbers;
} update_case;

/* The kernel's index params say which of the operands that may be absent are given; they come first. */
static int put_given(const update_case *c, kn_kernel_number *numbers)
{
    int n = 0;
    for (int i = c->required; i <= c->states; i++) numbers[n++].whole = c->given >> i & 1;
    for (int i = 0; i < c->n_numbers; i++) numbers[n++] = c->numbers[i];
    return n;
}

static void compare(const update_case *c)
{
    kn_scope scope = kn_scope_begin();
    kn_kernel *kernel =
        kn_kernel_compile(text, &(kn_kernel_options){.name = c->op, .file = "update.kn", .element = KN_F64});
    if (!CHECK(kernel != NULL)) {
        printf("  %s\n", kn_last_error());
        return;
    }
    kn_tensor in[3 + MAX_STATES] = {{0}}, all[3 + MAX_STATES], want[1 + MAX_STATES], got[1 + MAX_STATES];
    kn_kernel_number numbers[16];
    kn_shape shapes[1 + MAX_STATES];
    kn_dtype dtypes[1 + MAX_STATES];
    int n_in = 3 + c->states, n_out = 1 + c->states;
    for (int i = 0; i < n_in; i++) {
        int state = i - 2;
        all[i] = state == c->states ? kn_keep(kn_full(KN_SHAPE(1), 0.75, KN_F64))
                                    : values(17 + (unsigned)i, state >= 0 && c->squares >> state & 1);
        if (state >= 0 && !(c->given >> state & 1)) continue;
        in[i] = state == c->states ? kn_keep(kn_reshape(all[i], KN_SCALAR_SHAPE)) : all[i];
    }
    for (int k = 0; k < n_out; k++) shapes[k] = KN_SHAPE(N), dtypes[k] = KN_F64;
    kn_kernel_run_args args = {.items = N, .numbers = numbers, .shapes = shapes, .dtypes = dtypes};
    args.n_numbers = put_given(c, numbers);
    bool ran = CHECK(kn_kernel_run(kernel, all, n_in, &args, want, n_out) == KN_OK) &&
               CHECK(kn_call(c->op, in, n_in, c->attributes, got, n_out) == KN_OK);
    for (int k = 0; k < n_out && ran; k++) {
        double a[N], b[N];
        if (k && !(c->given >> (k - 1) & 1)) continue;
        bool same = CHECK(kn_read(kn_keep(want[k]), a, sizeof a) == KN_OK) &&
                    CHECK(kn_read(kn_keep(got[k]), b, sizeof b) == KN_OK);
        for (int i = 0; i < N && same; i++) same = a[i] == b[i] || (isnan(a[i]) && isnan(b[i]));
        if (!CHECK(same)) printf("  %s (given %x): result %d\n", c->op, (unsigned)c->given, k);
    }
    kn_kernel_free(kernel);
    kn_scope_end(scope, KN_NONE);
}

#define REAL(field, value)                                                                                   \
    {                                                                                                        \
        .name = field, .real = value                                                                         \
    }
#define WHOLE(field, value)                                                                                  \
    {                                                                                                        \
        .name = field, .integer = value                                                                      \
    }
#define NUMBER(value)                                                                                        \
    {                                                                                                        \
        .real = value                                                                                        \
    }

/* Each with every set of the operands that may be absent. */
static void compare_all(const update_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        update_case c = cases[i];
        for (int more = 0; more < 1 << (c.states + 1 - c.required); more++) {
            c.given = cases[i].given | more << c.required;
            compare(&c);
        }
    }
}

static const double lr = 0.03, decay = 0.02, eps = 1e-6;

static void test_plain_updates(void)
{
    const update_case cases[] = {
        {"sgd_update",
         1,
         0,
         0,
         0,
         {REAL("lr", lr), REAL("momentum", 0.9), REAL("dampening", 0.25), REAL("weight_decay", decay),
          WHOLE("nesterov", 1)},
         {NUMBER(lr), NUMBER(decay), NUMBER(0.9), NUMBER(0.75), NUMBER(0.9)},
         5},
        {"sgd_update",
         1,
         0,
         0,
         0,
         {REAL("lr", lr), REAL("momentum", 0.9), REAL("dampening", 0.25), WHOLE("first", 1)},
         {NUMBER(lr), NUMBER(0), NUMBER(0), NUMBER(1), NUMBER(0)},
         5},
        {"rmsprop_update",
         3,
         1,
         1,
         1,
         {REAL("lr", lr), REAL("alpha", 0.9), REAL("eps", eps), REAL("weight_decay", decay),
          REAL("momentum", 0.5)},
         {NUMBER(lr), NUMBER(0.9), NUMBER(1 - 0.9), NUMBER(eps), NUMBER(decay), NUMBER(0.5)},
         6},
        {"adagrad_update",
         1,
         1,
         1,
         1,
         {REAL("lr", lr), REAL("lr_decay", 0.1), REAL("eps", eps), REAL("weight_decay", decay),
          WHOLE("step", 5)},
         {NUMBER(lr / (1 + 4 * 0.1)), NUMBER(eps), NUMBER(decay)},
         3},
    };
    compare_all(cases, sizeof cases / sizeof *cases);
}

/* Updates that divide by powers, which are exact for these numbers. */
static void test_corrected_updates(void)
{
    const double beta1 = 0.5, beta2 = 0.75, beta3 = 0.25;
    const double c1 = 1 - 0.125, c2 = 1 - 0.421875, c3 = 1 - 0.015625;
    const update_case cases[] = {
        {"adam_update",
         3,
         2,
         3,
         6,
         {REAL("lr", lr), REAL("beta1", beta1), REAL("beta2", beta2), REAL("eps", eps),
          REAL("weight_decay", decay), WHOLE("step", 3), WHOLE("decoupled", 1), WHOLE("cautious", 1)},
         {NUMBER(lr / c1), NUMBER(1 - beta1), NUMBER(beta2), NUMBER(1 - beta2), NUMBER(1 / sqrt(c2)),
          NUMBER(eps), NUMBER(0), NUMBER(lr * decay), NUMBER(1)},
         9},
        {"adam_update",
         3,
         2,
         3,
         6,
         {REAL("lr", lr), REAL("beta1", beta1), REAL("beta2", beta2), REAL("eps", eps),
          REAL("weight_decay", decay), WHOLE("step", 3)},
         {NUMBER(lr / c1), NUMBER(1 - beta1), NUMBER(beta2), NUMBER(1 - beta2), NUMBER(1 / sqrt(c2)),
          NUMBER(eps), NUMBER(decay), NUMBER(0), NUMBER(0)},
         9},
        {"adan_update",
         4,
         4,
         15,
         4,
         {REAL("lr", lr), REAL("beta1", beta1), REAL("beta2", beta2), REAL("beta3", beta3), REAL("eps", eps),
          REAL("weight_decay", decay), WHOLE("step", 3)},
         {NUMBER(lr / c1), NUMBER(lr * beta2 / c2), NUMBER(beta1), NUMBER(beta2), NUMBER(beta3),
          NUMBER(1 - beta1), NUMBER(1 - beta2), NUMBER(1 - beta3), NUMBER(1 / sqrt(c3)), NUMBER(eps),
          NUMBER(1 + lr * decay), NUMBER(0)},
         12},
        {"adan_update",
         4,
         4,
         15,
         4,
         {REAL("lr", lr), REAL("beta1", beta1), REAL("beta2", beta2), REAL("beta3", beta3), REAL("eps", eps),
          REAL("weight_decay", decay), WHOLE("step", 1), WHOLE("no_prox", 1)},
         {NUMBER(lr / (1 - beta1)), NUMBER(lr * beta2 / (1 - beta2)), NUMBER(beta1), NUMBER(beta2),
          NUMBER(beta3), NUMBER(1 - beta1), NUMBER(1 - beta2), NUMBER(1 - beta3), NUMBER(1 / sqrt(1 - beta3)),
          NUMBER(eps), NUMBER(1 - lr * decay), NUMBER(1)},
         12},
    };
    compare_all(cases, sizeof cases / sizeof *cases);
}

/* ---- rows that make values of scalars */

typedef struct made_case {
    const char *op, *kernel;
    kn_dtype dtype;
    kn_attribute_value attributes[10];
    kn_kernel_number numbers[8];
    int n_numbers;
    double off; /* how far both may be apart: the cosine of kernels is another one */
} made_case;

/* Results of any dtype as f64, of which all that these rows make have few enough digits. */
static bool read_wide(kn_tensor y, double *to)
{
    return kn_read(kn_keep(kn_cast(y, KN_F64)), to, N * sizeof *to) == KN_OK;
}

static void compare_made(const made_case *c)
{
    kn_scope scope = kn_scope_begin();
    kn_kernel *kernel = kn_kernel_compile(
        text, &(kn_kernel_options){.name = c->kernel, .file = "made.kn", .element = c->dtype});
    if (!CHECK(kernel != NULL)) {
        printf("  %s: %s\n", c->kernel, kn_last_error());
        kn_scope_end(scope, KN_NONE);
        return;
    }
    const kn_shape shape = KN_SHAPE(N);
    kn_tensor x = values(3, false), want, got;
    int n_in = !strcmp(c->op, "dropout");
    kn_kernel_run_args args = {
        .items = N, .numbers = c->numbers, .n_numbers = c->n_numbers, .shapes = &shape, .dtypes = &c->dtype};
    double a[N], b[N];
    bool same = CHECK(kn_kernel_run(kernel, &x, n_in, &args, &want, 1) == KN_OK) &&
                CHECK(kn_call(c->op, &x, n_in, c->attributes, &got, 1) == KN_OK) &&
                CHECK(read_wide(want, a) && read_wide(got, b));
    for (int i = 0; i < N && same; i++)
        same = a[i] == b[i] || (isnan(a[i]) && isnan(b[i])) || fabs(a[i] - b[i]) <= c->off;
    if (!CHECK(same)) printf("  %s: %s\n", c->op, kn_last_error());
    kn_kernel_free(kernel);
    kn_scope_end(scope, KN_NONE);
}

#define DRAWN WHOLE("key", 0x1234567890abcdef), WHOLE("counter", (INT64_C(1) << 33) + 5)
#define SHAPED(of) {.name = "shape", .list = KN_INTS(N)}, WHOLE("dtype", of)
#define MADE(of) SHAPED(of), DRAWN
#define COUNT(value)                                                                                         \
    {                                                                                                        \
        .whole = value                                                                                       \
    }
#define STATE COUNT(0x1234567890abcdef), COUNT((INT64_C(1) << 33) + 5)

static const int64_t far = INT64_C(1) << 40;

static void test_random_rows(void)
{
    const made_case cases[] = {
        {"random_bits", "random_bits", KN_U32, {MADE(KN_U32)}, {STATE}, 2, 0},
        {"random_uniform",
         "random_uniform",
         KN_F64,
         {MADE(KN_F64), REAL("low", -3), REAL("high", 2.5), REAL("top", 2)},
         {STATE, COUNT(1), NUMBER(-3), NUMBER(2.5), NUMBER(2)},
         6,
         0},
        {"random_uniform",
         "random_uniform",
         KN_F32,
         {MADE(KN_F32), REAL("low", 0), REAL("high", 1), REAL("top", 1)},
         {STATE, COUNT(0), NUMBER(0), NUMBER(1), NUMBER(1)},
         6,
         0},
        {"random_normal",
         "random_normal",
         KN_F64,
         {MADE(KN_F64), REAL("mean", 1), REAL("deviation", 0.5)},
         {STATE, COUNT(1), NUMBER(1), NUMBER(0.5)},
         5,
         4e-15},
        {"random_normal",
         "random_normal",
         KN_F32,
         {MADE(KN_F32), REAL("mean", 1), REAL("deviation", 0.5)},
         {STATE, COUNT(0), NUMBER(1), NUMBER(0.5)},
         5,
         4e-7},
        {"random_bernoulli",
         "random_bernoulli",
         KN_I32,
         {MADE(KN_I32), REAL("p", 0.3)},
         {STATE, NUMBER(0.3)},
         3,
         0},
        {"random_int",
         "random_integer",
         KN_I64,
         {MADE(KN_I64), WHOLE("lowest", -5), WHOLE("range", 90)},
         {STATE, COUNT(-5), COUNT(90)},
         4,
         0},
        {"random_int",
         "random_integer",
         KN_I64,
         {MADE(KN_I64), WHOLE("lowest", 3), WHOLE("range", far)},
         {STATE, COUNT(3), COUNT(far)},
         4,
         0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) compare_made(&cases[i]);
}

static void test_other_made_rows(void)
{
    const double step = (101.9 - 7.3) / (N - 1);
    const made_case cases[] = {
        {"full",
         "full",
         KN_F64,
         {SHAPED(KN_F64), REAL("value", 0.1), WHOLE("whole", 7)},
         {NUMBER(0.1), COUNT(7)},
         2,
         0},
        {"full",
         "full",
         KN_I64,
         {SHAPED(KN_I64), REAL("value", 0.1), WHOLE("whole", 7)},
         {NUMBER(0.1), COUNT(7)},
         2,
         0},
        {"iota",
         "iota",
         KN_F64,
         {WHOLE("length", N), WHOLE("dtype", KN_F64), REAL("start", 0.3), REAL("step", 0.1)},
         {NUMBER(0.3), NUMBER(0.1), COUNT(0), COUNT(0)},
         4,
         0},
        {"iota",
         "iota",
         KN_I64,
         {WHOLE("length", N), WHOLE("dtype", KN_I64), WHOLE("whole_start", far), WHOLE("whole_step", -3)},
         {NUMBER(0), NUMBER(0), COUNT(far), COUNT(-3)},
         4,
         0},
        {"linspace",
         "linspace",
         KN_F64,
         {WHOLE("length", N), WHOLE("dtype", KN_F64), REAL("start", 7.3), REAL("stop", 101.9)},
         {COUNT(N), NUMBER(7.3), NUMBER(101.9), NUMBER(step)},
         4,
         0},
        {"linspace",
         "linspace",
         KN_I64,
         {WHOLE("length", N), WHOLE("dtype", KN_I64), REAL("start", 7.3), REAL("stop", 101.9)},
         {COUNT(N), NUMBER(7.3), NUMBER(101.9), NUMBER(step)},
         4,
         0},
        {"dropout",
         "dropout",
         KN_F64,
         {DRAWN, WHOLE("group", 3), REAL("p", 0.25), REAL("scale", 1.5), REAL("shift", 0.3),
          REAL("dropped", -2)},
         {STATE, COUNT(3), COUNT(INT64_C(1) << 30), NUMBER(1.5), NUMBER(0.3), NUMBER(-2)},
         7,
         0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) compare_made(&cases[i]);
}

int main(void)
{
    kn_device reference = kn_device_open("ref");
    kn_device_use(reference);
    if (CHECK(read_text("update.kn"))) {
        test_plain_updates();
        test_corrected_updates();
    }
    free(text);
    if (CHECK(read_text("made.kn"))) {
        test_random_rows();
        test_other_made_rows();
    }
    free(text);
    return check_report();
}
