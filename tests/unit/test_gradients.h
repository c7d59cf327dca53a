/* What test_gradients.c compares with, and why derived and written gradients differ. */
#ifndef TEST_GRADIENTS_H
#define TEST_GRADIENTS_H

#include "support/check.h"
#include <kn/call.h>
#include <stdarg.h>

static bool markdown;

enum { SAME = -1, NANS, INFINITIES, ZEROS, VALUES, KINDS };
static const char *const kind_names[KINDS] = {"NaN", "infinity", "zero", "value"};

typedef struct finding {
    const char *op, *variant; /* of its attributes, or NULL */
    int operand, points;
    bool has_written, has_derived;
    int written_ops, written_words, derived_words;
    int counts[KINDS];
    char examples[KINDS][160], operand_name[40], gradient[600];
} finding;

/* Scalars that a row is compared with. */
typedef struct settings {
    const char *op;
    int n;
    double values[3][4];
} settings;

static const settings all_settings[] = {
    {"polygamma", 2, {{1}, {3}}},
    {"logit", 2, {{-1}, {0.25}}},
    {"nan_to_num", 1, {{0, 7, -7}}},
    {"leaky_relu", 2, {{0.5}, {-1}}},
    {"leaky_relu_grad", 1, {{0.5}}},
    {"hardtanh", 2, {{-1, 1}, {2, 3}}},
    {"hard_sigmoid", 3, {{0.25, 0.5}, {-0.5, 0.5}, {0, 0.5}}},
    {"threshold", 2, {{1, 20}, {0, 0}}},
    {"hard_shrink", 2, {{0.5}, {0}}},
    {"soft_shrink", 2, {{0.5}, {0}}},
    {"shrink", 2, {{0.5, 0.25}, {0, 0}}},
    {"softplus", 3, {{1, 20}, {-0.5, 20}, {1, 2}}},
    {"softplus_grad", 1, {{1, 20}}},
    {"elu", 2, {{1}, {0.25}}},
    {"celu", 3, {{1}, {0.25}, {-2}}},
    {"elu_grad", 1, {{1, 1, 1}}},
};

static const settings *settings_of(const char *op)
{
    for (size_t i = 0; i < sizeof all_settings / sizeof *all_settings; i++)
        if (!strcmp(all_settings[i].op, op)) return &all_settings[i];
    return NULL;
}

/* Rows along lines, with their attributes. */
typedef struct question {
    const char *op, *variant;
    kn_attribute_value attributes[4];
} question;

#define AXES                                                                                                 \
    {.name = "axes", .list = {1, {1}}}, { .name = "keep", .integer = 1 }
#define AXIS                                                                                                 \
    {                                                                                                        \
        .name = "axis", .integer = 1                                                                         \
    }
#define LAST                                                                                                 \
    {.name = "n_axes", .integer = 1}, { .name = "eps", .real = 0.125 }
#define EPS                                                                                                  \
    {                                                                                                        \
        .name = "eps", .real = 0.125                                                                         \
    }
#define IGNORES                                                                                              \
    {                                                                                                        \
        .name = "ignore_index", .integer = -100                                                              \
    }
static const question questions[] = {
    {"sum", NULL, {AXES}},
    {"prod", NULL, {AXES}},
    {"mean", NULL, {AXES}},
    {"max", NULL, {AXES}},
    {"min", NULL, {AXES}},
    {"var_mean", NULL, {AXES}},
    {"logsumexp", NULL, {AXES}},
    {"softmax", NULL, {AXIS}},
    {"softmax", "quiet", {AXIS, {.name = "quiet", .integer = 1}}},
    {"log_softmax", NULL, {AXIS}},
    {"layer_norm", NULL, {LAST}},
    {"rms_norm", NULL, {LAST}},
    {"batch_norm", NULL, {EPS}},
    {"batch_norm_train", NULL, {EPS}},
    {"cross_entropy", NULL, {IGNORES}},
    {"cross_entropy", "smoothing", {IGNORES, {.name = "smoothing", .real = 0.25}}},
};

/* ---- reasons */

enum { N = 1 << NANS, I = 1 << INFINITIES, Z = 1 << ZEROS, V = 1 << VALUES, ANY = -1 };

/* Why the gradients by an operand differ in these ways, or why there is none. */
typedef struct reason {
    const char *op;
    int operand, kinds;
    const char *why;
} reason;

#define TIE "at a tie with a bound the slope is 0, as in PyTorch; derived both share it"
#define FAR_OUT "derived, x times a slope that is 0 overflows far out"
#define NO_FIRST "nobody knows it in closed form; PyTorch has none either"

static const reason reasons[] = {
    {"tanh_grad", 1, N | I | Z | V, "derived, two terms cancel; y is a result of tanh, never above 1"},
    {"relu", 0, Z, TIE},
    {"sigmoid_grad", 1, N | I, "y is a result of sigmoid, never above 1"},
    {"rsqrt", 0, I, "at -0 the infinities differ in sign; the written one reads the result alone"},
    {"sinc", 0, N | Z | V, "near 0 the two terms cancel, and the series keeps the digits"},
    {"xlogy", 0, N | I | Z, "where a is 0 the body is a constant, and the slope still log(b)"},
    {"xlogy", 1, N, "0 / 0 where both are 0, as in PyTorch"},
    {"xlog1py", 0, N | I | Z, "where a is 0 the body is a constant, and the slope still log(1 + b)"},
    {"xlog1py", 1, N, "0 / 0 where both are 0, as in PyTorch"},
    {"logit", 0, N | V,
     "outside of 0 to 1 the function is NaN, and so is its slope; at the clamp's bounds the slope is whole"},
    {"clamp", ANY, Z | V,
     "where bounds are equal or cross, high wins and x gets all, as documented; derived they share"},
    {"relu6", 0, Z, TIE},
    {"hardtanh", 0, Z, TIE},
    {"hard_sigmoid", 0, Z, TIE},
    {"gelu", 0, N, FAR_OUT},
    {"silu", 0, N, FAR_OUT},
    {"mish", 0, N, FAR_OUT},
    {"gelu_approximate", 0, N, "derived, x^3 overflows; the written one bounds x"},
    {"softplus_grad", 1, N, "dy is infinite: its lowering multiplies by 0, the body chooses"},
    {"hard_swish", 0, N | Z | V, TIE "; NaN counts as the straight side; derived, two terms cancel"},
    {"elu", 0, N | Z | V, "exp(x) keeps the digits that expm1(x) + 1 loses; NaN counts as the straight side"},
    {"celu", 0, N | Z | V,
     "exp(x) keeps the digits that expm1(x) + 1 loses; NaN counts as the straight side"},
    {"selu", 0, N | Z | V,
     "exp(x) keeps the digits that expm1(x) + 1 loses; NaN counts as the straight side"},
    {"softsign", 0, N | V, "derived, two terms cancel far out, and infinity is divided by itself"},
    {"soft_shrink", 0, Z, "NaN counts as rising, as in PyTorch"},
    {"shrink", 0, Z, "NaN counts as rising, as in PyTorch"},
    {"fmax", ANY, Z | V, "at a tie a gets all, as in PyTorch; derived they share"},
    {"fmin", ANY, Z | V, "at a tie a gets all, as in PyTorch; derived they share"},
    {"entr", 0, N | I, "below 0 the body is a constant, and PyTorch's slope NaN; derived, dy x overflows"},
    {"log_ndtr", 0, N | I, "derived, x^2 overflows on the left"},
    {"erfcx", 0, N | I | V, "far out the two terms cancel, and the series keeps the digits"},
    {"spherical_bessel_j0", 0, N | Z | V, "near 0 the two terms cancel, and the series keeps the digits"},
    {"binary_cross_entropy", 0, N | I | Z | V, "the divisor is bounded as in PyTorch; derived, it is not"},
    {"prod", 0, N | I,
     "derived, the product is divided by the element, which infinities and overflows do not survive"},
    {"max", 0, N, "where the extreme is NaN it is shared by none, which is 0 / 0; derived it is 0"},
    {"min", 0, N, "where the extreme is NaN it is shared by none, which is 0 / 0; derived it is 0"},
    {"var_mean", 0, N, "the mean is infinite: infinity less infinity is met in other places"},
    {"logsumexp", 0, N, "where all are -infinity nothing depends on x"},
    /* Operands without a gradient. */
    {"igamma", 0, 0, NO_FIRST},
    {"igammac", 0, 0, NO_FIRST},
    {"zeta", 0, 0, NO_FIRST},
    {"leaky_relu_grad", 1, 0, "it is 0: x only chooses the side"},
    {"cross_entropy", 2, 0, "weights of classes are constants, as in PyTorch"},
};

enum { REASONS = sizeof reasons / sizeof *reasons };
static bool met[REASONS];

static const reason *reason_for(const finding *r)
{
    for (int i = 0; i < REASONS; i++)
        if (!strcmp(reasons[i].op, r->op) && (reasons[i].operand == ANY || reasons[i].operand == r->operand))
            return &reasons[i];
    return NULL;
}

/* ---- the page */

static char page[1 << 16];
static size_t page_bytes;

static void put(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int n = vsnprintf(page + page_bytes, sizeof page - page_bytes, format, list);
    va_end(list);
    if (CHECK(n >= 0 && (size_t)n < sizeof page - page_bytes)) page_bytes += (size_t)n;
}

static const char *const opening =
    "# Gradients, written and derived\n\n"
    "Every row that has a body and a gradient, by operand. Made by `tests/unit/test_gradients.c`, which "
    "compares the written gradient\n"
    "with the one that is derived from the body (`src/ops/body_derive.c`): elementwise rows in f64 and f32 "
    "on a grid with 0, -0, infinities, NaN,\n"
    "ties, huge and tiny numbers, rows along lines in f64 on lines with such values. A difference that no "
    "reason explains fails the test, and so\n"
    "does a reason without a difference.\n\n"
    "- **gradient**: *derived* by kiln-gen (`DERIVED`), *body* (`GRADIENT_BODY`), *function* of other ops "
    "(`GRADIENT`), or that of the\n"
    "  row's *lowering*.\n"
    "- **runs**: how many ops the gradient runs, and the words in all of their bodies. **derived**: the "
    "words of the derived one, which is one op.\n"
    "- **differs**: in NaN, infinities, zeros or other values, at how many of the points; the example gives "
    "the operands, dy, the written and the\n"
    "  derived value.\n\n"
    "| op | by | gradient | runs | derived | differs | why |\n|---|---|---|---|---|---|---|\n";

/* A bar would end the cell of a table. */
static void put_escaped(const char *text)
{
    for (; *text; text++) put(*text == '|' ? "\\|" : "%c", *text);
}

static void report(const finding *r)
{
    const reason *why = reason_for(r);
    int kinds = 0;
    for (int k = 0; k < KINDS; k++) kinds |= r->counts[k] > 0 ? 1 << k : 0;
    bool both = r->has_written && r->has_derived;
    bool needed = kinds || !both;
    if (!CHECK(!needed || why))
        printf("%s by operand %d: the gradients differ, and no reason is given\n", r->op, r->operand);
    else if (needed && both && !CHECK((kinds & ~why->kinds) == 0))
        printf("%s by operand %d: the gradients differ in another way than the reason says\n", r->op,
               r->operand);
    for (int k = 0; k < KINDS && (!why || kinds & ~why->kinds); k++)
        if (r->counts[k])
            printf("    %s: %d of %d, %s\n", kind_names[k], r->counts[k], r->points, r->examples[k]);
    if (why && needed) met[why - reasons] = true;
    put("| %s%s%s | %s | ", r->op, r->variant ? " " : "", r->variant ? r->variant : "", r->operand_name);
    put_escaped(r->gradient);
    if (r->has_written)
        put(" | %d: %d", r->written_ops, r->written_words);
    else
        put(" | none");
    if (r->has_derived)
        put(" | %d | ", r->derived_words);
    else
        put(" | none | ");
    for (int k = 0, n = 0; k < KINDS; k++)
        if (r->counts[k])
            put("%s%s %d of %d, as %s", n++ ? "; " : "", kind_names[k], r->counts[k], r->points,
                r->examples[k]);
    put(" | %s |\n", needed && why ? why->why : "");
}

/* Every reason is needed, and the page is the committed one. */
static void check_reasons(void)
{
    for (int i = 0; i < REASONS; i++)
        if (!CHECK(met[i])) printf("%s: a reason without a difference\n", reasons[i].op);
    static char text[sizeof page];
    FILE *f = fopen("docs/gradients.md", "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) fclose(f);
    if (!CHECK(n == page_bytes && !memcmp(text, page, n)))
        printf("docs/gradients.md is not what --markdown prints: run 'make generated'\n");
}

#endif
