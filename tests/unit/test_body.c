/* The parser of bodies: what binds how, which steps come out, and the message with its column for each kind of mistake. */
#include "ops/body_parse.h"
#include "ops/body_tree.h"
#include "ops/slopes.h"
#include "support/check.h"
#include <string.h>

static const kni_body_names names = {.in = "x a b", .out = "y", .scalars = {"beta", "eps"}, .n_scalars = 2};

static kni_body_draft draft;

/* A body, and where and how it is wrong; at -1: it is not. */
typedef struct expectation {
    const char *text;
    int at;
    const char *message;
} expectation;

static void check_all(const expectation *rows, size_t n, const kni_body_names *with)
{
    for (size_t i = 0; i < n; i++) {
        bool good = kni_body_parse(rows[i].text, with, &draft);
        good = CHECK(good == !rows[i].message && draft.at == rows[i].at) &&
               (good || CHECK(strstr(draft.error, rows[i].message) != NULL));
        if (!good) printf("  '%s': column %d: %s\n", rows[i].text, draft.at, draft.error);
    }
}

static bool parse(const char *text) { return kni_body_parse(text, &names, &draft); }

/* The value of a body for x = 3, a = 5, b = -2, beta = 4, eps = 0.5. */
static double value_of(const char *text)
{
    const double x = 3, a = 5, b = -2, params[4] = {4, 0.5};
    const void *in[] = {&x, &a, &b};
    double y = -1234;
    if (!CHECK(parse(text))) {
        printf("  %s: %s at %d\n", text, draft.error, draft.at);
        return y;
    }
    const kni_body body = kni_body_of_draft(&draft);
    kni_body_evaluate(&body, KNI_COMPUTE_F64, 1, &y, in, 0, params);
    return y;
}

static void test_values(void)
{
    static const struct {
        const char *text;
        double value;
    } rows[] = {
        {"y = x", 3},
        {"y = x - a - b", 0},
        {"y = x - (a - b)", -4},
        {"y = a / x * x", 5.0 / 3 * 3},
        {"y = x + a * b", -7},
        {"y = (x + a) * b", -16},
        {"y = -x * a", -15},
        {"y = - -x", 3},
        {"y = -2 * x", -6},
        {"y = x - 2", 1},
        {"y = x -2", 1},
        {"y = 1.5e1 + 25e-2", 15.25},
        {"y = .5 * beta", 2},
        {"y = 1e+2", 100},
        {"y = 0.21406444881780073", 0.21406444881780073},
        {"y = 57.295779513082323", 57.295779513082323},
        {"y = 1.0507009873554805e-9", 1.0507009873554805e-9},
        {"y = max(x, a) + min(x, a) * eps", 6.5},
        {"y = x > a ? x : a", 5},
        {"y = x > a ? 1 : x > b ? 2 : 3", 2},
        {"y = (x > a ? 1 : 2) + 10", 12},
        {"y = x > a || x > b && a > b ? 1 : 0", 1},
        {"y = !(x > a) && !isnan(x) ? 1 : 0", 1},
        {"y = x == 3 ^ a == 5 ? 1 : 0", 0},
        {"y = x < inf && b > -inf ? 1 : 0", 1},
        {"d = a - x; e = d * d; y = e / (d + 2)", 1},
        {"t = x > a; y = t ? 1 : 2", 2},
        {"  d=x+a;y=d*d  ", 64},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double value = value_of(rows[i].text);
        if (!CHECK(value == rows[i].value))
            printf("  %s is %g, not %g\n", rows[i].text, value, rows[i].value);
    }
}

static void test_steps(void)
{
    CHECK(parse("y = 2 * x + 2 * a") && draft.n_constants == 1 && draft.n == 7);
    const kni_body body = kni_body_of_draft(&draft);
    kni_step s = kni_body_step(&body, 0);
    CHECK(s.kind == KNI_STEP_CONSTANT && s.index == 0 && s.value == 2);
    s = kni_body_step(&body, 1);
    CHECK(s.kind == KNI_STEP_INPUT && s.index == 0 && draft.from[1] == 8);
    s = kni_body_step(&body, 6);
    CHECK(s.kind == KNI_STEP_WORD && !strcmp(kni_word_at(s.index)->name, "add") && draft.from[6] == 10);
    CHECK(parse("y = 0 * x + -0 * a") && draft.n_constants == 2); /* 0 and -0 are two constants */
}

static void test_mistakes(void)
{
    static const expectation rows[] = {
        {"", 0, "expected 'name = formula'"},
        {"x + 1", 0, "'x' has a meaning already"},
        {"y = ", 4, "a value is missing"},
        {"y = x +", 7, "a value is missing"},
        {"y = x + )", 8, "no value begins with ')'"},
        {"y = (x + a", 10, "expected ')', and the body ends"},
        {"y = (x a)", 7, "expected ')', found 'a'"},
        {"y = x a", 6, "expected an operator, ';' or the end, found 'a'"},
        {"y = x @ 2", 6, "expected an operator, ';' or the end, found '@'"},
        {"y = x; z = a", 7, "something follows the result 'y'"},
        {"z = x; y = a", 0, "'z' is never used"},
        {"z = x", 5, "expected ';' and the result 'y', and the text ends"},
        {"z = x; z = a; y = z", 7, "'z' has a meaning already"},
        {"beta = x; y = beta", 0, "'beta' has a meaning already"},
        {"y = foo(x)", 4, "there is no word 'foo'"},
        {"y = q + x", 4, "'q' is no operand, scalar or named value"},
        {"y = y + x", 4, "'y' is no operand, scalar or named value"},
        {"y = max(x)", 4, "'max' takes 2, and 1 are given"},
        {"y = exp(x, a)", 4, "'exp' takes 1, and 2 are given"},
        {"y = add(x, a)", 4, "write '+' for 'add'"},
        {"y = exp(x > a)", 8, "'exp' takes values, and this is a truth"},
        {"y = x > a", 0, "the result must be a value"},
        {"y = x ? a : b", 6, "must be a truth"},
        {"y = x > a ? a > b : b > a", 10, "chooses between values"},
        {"y = (x > a) + 1", 12, "one side of '+' is a truth"},
        {"y = (x > a) + (a > b) > 0 ? 1 : 0", 12, "'+' takes values, and these are truths"},
        {"y = x && a ? 1 : 0", 6, "'&&' takes truths, and these are values"},
        {"y = !x ? 1 : 0", 4, "'!' takes a truth"},
        {"y = -(x > a)", 4, "'-' takes a value"},
        {"y = x > a ? 1", 13, "expected ':', and the body ends"},
        {"y = 1x", 5, "this is no part of a number"},
        {"y = 99999999999999999999 * x", 4, "too many digits"},
        {"y = 1e", 6, "the exponent of the number is missing"},
        {"y = 1e400", 4, "too large or too small"},
        {"y = x $ a", 6, "expected an operator, ';' or the end, found '$'"},
    };
    check_all(rows, sizeof rows / sizeof *rows, &names);
}

/* Bodies along lines: levels of operands and results, several results, what may be absent. */
static void test_lines(void)
{
    static const kni_body_names lines = {.in = "dy x weight@place?1 c@line?0",
                                         .out = "dx dw@place s@line",
                                         .scalars = {"eps"},
                                         .n_scalars = 1,
                                         .lines = true};
    static const expectation rows[] = {
        {"dx = dy * weight; dw = down(dy * x); s = mean(x) + eps", -1, NULL},
        {"s = sum(x) / n; dx = x - s; dw = down(dx)", -1, NULL},
        {"dx = expn(x - top(x)); dw = weight; s = c", -1, NULL},
        {"dx = dy; dw = down(x); s = x", 23, "differs along what the result has one element for"},
        {"dx = dy; dw = dy", 9, "differs along what the result has one element for"},
        {"dx = dy; dw = down(weight); s = c", 14, "is the same in all lines"},
        {"dx = sum(c) + dy; dw = weight; s = c", 5, "is the same all along a line"},
        {"dx = dy; dw = weight", 20, "and the text ends"},
        {"dx = dy; dx = dy", 9, "'dx' has a meaning already"},
        {"dx = sum(x, dy); dw = weight; s = c", 5, "'sum' takes 1, and 2 are given"},
    };
    check_all(rows, sizeof rows / sizeof *rows, &lines);
    kni_body_tree tree;
    CHECK(kni_body_parse(rows[1].text, &lines, &draft));
    const kni_body body = kni_body_of_draft(&draft);
    kni_body_tree_of(&body, &tree);
    CHECK(tree.nodes[tree.results[0]].level == KNI_LEVEL_ELEMENT &&
          tree.nodes[tree.results[1]].level == KNI_LEVEL_PLACE &&
          tree.nodes[tree.results[2]].level == KNI_LEVEL_LINE);
    CHECK(body.operands[2] == (KNI_LEVEL_PLACE | KNI_OPERAND_OPTIONAL | KNI_OPERAND_ONE));
    CHECK(!parse("y = sum(x)") && strstr(draft.error, "the row has none"));
    static const char *const lists[] = {"x@", "x@row", "x?2",    "x?",        "x,y",         "x  y",
                                        "1x", "x:",    "x:real", "x?1:index", "x:truth@line"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        CHECK(!kni_body_parse("y = x", &(kni_body_names){.in = lists[i], .out = "y"}, &draft) &&
              strstr(draft.error, "is malformed"));
}

/* Truths and indices: who takes them, what they give, and what stands beside an index. */
static void test_kinds(void)
{
    static const kni_body_names kinds = {.in = "x t@line:index b:truth w@place?1",
                                         .out = "y@line",
                                         .scalars = {"eps", "ignored"},
                                         .n_scalars = 2,
                                         .whole = 2,
                                         .lines = true};
    static const expectation rows[] = {
        {"y = prod(x)", -1, NULL},
        {"y = any(b) && all(x > 0) ? 1 : 0", -1, NULL},
        {"y = at(x, t) + at(w, t + 1)", -1, NULL},
        {"y = at(x, argmax(x))", -1, NULL},
        {"y = at(x, 0)", -1, NULL},
        {"y = at(x, require(t >= 0 && t < n || t == ignored, t))", -1, NULL},
        {"y = sum(k == t ? x : 0)", -1, NULL},
        {"y = any(k > max(t, 2 * ignored)) ? 1 : n", -1, NULL},
        {"y = any(x) ? 1 : 0", 8, "'any' takes truths, and this is a value"},
        {"y = all(t) ? 1 : 0", 8, "'all' takes truths, and this is a value"},
        {"y = sum(b)", 8, "'sum' takes values, and this is a truth"},
        {"y = argmax(b)", 11, "'argmax' takes values, and this is a truth"},
        {"y = sum(k)", 8, "'sum' takes values, and this is an index"},
        {"y = any(1 > 0) ? 1 : 0", 4, "is the same all along a line"},
        {"y = argmax(x)", 0, "it is an index, and the result is a value"},
        {"y = t + sum(x)", 6, "'+' stands between an index and a value"},
        {"y = sum(t + 0.5 > 0 ? x : 0)", 10, "'+' stands between an index and a value"},
        {"y = sum(t > eps ? x : 0)", 10, "'>' stands between an index and a value"},
        {"y = sum(t < inf ? x : 0)", 10, "'<' stands between an index and a value"},
        {"y = sum(max(t, x))", 8, "'max' stands between an index and a value"},
        {"y = sum(x > 0 ? k : x)", 14, "'?' stands between an index and a value"},
        {"y = sum(sqrt(k) > 0 ? x : 0)", 8, "'sqrt' has no meaning for indices"},
        {"y = sum(expn(k))", 8, "'expn' has no meaning for indices"},
        {"y = at(x)", 4, "'at' takes 2, and 1 are given"},
        {"y = at(b, t)", 7, "'at' takes values, and this is a truth"},
        {"y = at(sum(x), t)", 7, "what 'at' reads is the same all along a line"},
        {"y = at(x, sum(x))", 10, "'at' reads at an index, and this is none"},
        {"y = at(x, k)", 10, "'at' reads at one place of each line"},
        {"y = at(x, require(t, t))", 18, "'require' asks for a truth"},
        {"y = at(x, require(t > 0, sum(x)))", 25, "what 'require' reports is an index"},
        {"y = at(x, require(b, t))", 18, "'require' has several conditions for one index"},
        {"y = at(x, require(t > 0))", 10, "'require' takes 2, and 1 are given"},
        {"k = sum(x); y = k", 0, "'k' has a meaning already"},
    };
    check_all(rows, sizeof rows / sizeof *rows, &kinds);
    static const char *const outside[] = {"y = at(x, 0)", "y = prod(x)", "y = k"};
    for (size_t i = 0; i < 3; i++) CHECK(!parse(outside[i]));
    static const struct {
        const char *out, *text;
        bool good;
    } results[] = {
        {"y@line:index", "y = argmax(x)", true},
        {"y@line:index", "y = n", true},
        {"y@line:index", "y = sum(x)", false},
        {"y@line:truth", "y = any(x > 0)", true},
        {"y@line:truth", "y = sum(x)", false},
        {"y@line", "y = any(x > 0)", false},
        {"y@line:index i", "y = argmin(x); i = x", true},
    };
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        CHECK(results[i].good ==
              kni_body_parse(results[i].text,
                             &(kni_body_names){.in = "x", .out = results[i].out, .lines = true}, &draft));
}

/* What the nodes of a tree give: numbers become what they stand beside. */
static void test_gives(void)
{
    static const kni_body_names kinds = {
        .in = "x t@line:index b:truth", .out = "y z@line:index", .lines = true};
    kni_body_tree tree;
    CHECK(kni_body_parse("y = b && k == t + 1 ? x : 2; z = require(t < n, t)", &kinds, &draft));
    const kni_body body = kni_body_of_draft(&draft);
    kni_body_tree_of(&body, &tree);
    static const uint8_t gives[] = {
        KNI_GIVES_TRUTH, KNI_GIVES_INDEX,  KNI_GIVES_INDEX, KNI_GIVES_NUMBER, KNI_GIVES_INDEX,
        KNI_GIVES_TRUTH, KNI_GIVES_TRUTH,  KNI_GIVES_VALUE, KNI_GIVES_NUMBER, KNI_GIVES_VALUE,
        KNI_GIVES_INDEX, KNI_GIVES_NUMBER, KNI_GIVES_TRUTH, KNI_GIVES_INDEX,  KNI_GIVES_INDEX,
    };
    CHECK(tree.n == (int)sizeof gives);
    for (int i = 0; i < tree.n && i < (int)sizeof gives; i++)
        if (!CHECK(tree.nodes[i].gives == gives[i])) printf("  node %d gives %d\n", i, tree.nodes[i].gives);
    CHECK(tree.nodes[tree.results[0]].level == KNI_LEVEL_ELEMENT &&
          tree.nodes[tree.results[1]].level == KNI_LEVEL_LINE);
}

/* Bodies that update operands: new values, what may be absent, choices, and the scalars of a `.host`. */
static const kni_body_names updates = {.in = "p g m?0 scale@all?1",
                                       .out = "p' m'",
                                       .scalars = {"lr", "beta", "step", "careful"},
                                       .n_scalars = 4,
                                       .choices = 8,
                                       .updates = true};

static void test_updates(void)
{
    static kni_body_draft host;
    kni_body_names named = updates;
    CHECK(kni_body_parse_host("f = 1 - beta; late = step > 1; rate = late && careful ? lr * f : lr", &updates,
                              &host));
    CHECK(host.n_out == 3 && host.values[1].truth && !host.values[2].truth && host.values[0].used &&
          !host.values[2].used);
    named.host = &host;
    CHECK(kni_body_parse(
        "m' = m + (g * scale - m) * f; p' = late && has(m) ? p - rate * m' : careful ? p : p - lr * g",
        &named, &draft));
    /* The numbers are those that the body names, in that order: f, late, rate, lr. */
    CHECK(draft.n_numbers == 4 && draft.numbers[0] == KNI_NUMBER_HOST &&
          draft.numbers[1] == KNI_NUMBER_HOST + 1 && draft.numbers[2] == KNI_NUMBER_HOST + 2 &&
          draft.numbers[3] == 0);
    kni_body body = kni_body_of_draft(&draft);
    CHECK(kni_body_updates(&body) && kni_body_replaces(&body, 0) == 0 && kni_body_replaces(&body, 1) == 2);
    double p = 5, g = 3, m = 1, scale = 2, q = 0, n = 0;
    void *out[2] = {&q, &n};
    const void *in[4] = {&p, &g, &m, &scale};
    const kni_body_number numbers[4] = {{0.5, 0}, {1, 1}, {0.25, 0}, {0.125, 0}};
    kni_body_call call = {&body, KNI_COMPUTE_F64, 1, out, in, 0, numbers, 0};
    kni_body_run(&call);
    CHECK(n == 3.5 && q == 5 - 0.25 * 3.5);
    in[2] = in[3] = NULL; /* m is 0, the scale 1, and nobody wants the new m */
    out[1] = NULL;
    kni_body_run(&call);
    CHECK(n == 3.5 && q == 5 - 0.125 * 3);
    call.choices = 8;
    kni_body_run(&call);
    CHECK(q == 5);
}

static void test_update_mistakes(void)
{
    static kni_body_draft host;
    kni_body_names named = updates;
    static const struct {
        const char *host, *text;
        int at;
        const char *message;
    } rows[] = {
        {NULL, "p' = has(g) ? p : g; m' = m", 9, "'g' is no operand that may be absent"},
        {NULL, "p' = has(x) ? p : g; m' = m", 9, "'x' is no operand that may be absent"},
        {NULL, "p' = has(m) + 1; m' = m", 12, "one side of '+' is a truth"},
        {NULL, "p' = careful * p; m' = m", 13, "one side of '*' is a truth"},
        {NULL, "p' = careful ? p : g m' = m", 21, "expected ';', found 'm'"},
        {NULL, "p' = m'; m' = m", 5, "'m'' is no operand, scalar or named value"},
        {"f = 1 - beta", "f = p; p' = f; m' = m", 0, "'f' has a meaning already"},
        {"f = 1 - beta; f = 2", NULL, 14, "'f' has a meaning already"},
        {"lr = 1", NULL, 0, "'lr' has a meaning already"},
        {"f = p", NULL, 4, "'p' is no operand, scalar or named value"},
        {"f = 1 -", NULL, 7, "a value is missing"},
        {"f = 1; ", NULL, 7, "expected 'name = formula'"},
        {"f = 1 g = 2", NULL, 6, "expected ';' and another value"},
        {"f = sum(lr)", NULL, 4, "the row has none"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool parsed = !rows[i].host || kni_body_parse_host(rows[i].host, &updates, &host);
        const kni_body_draft *at = rows[i].text ? &draft : &host;
        named.host = rows[i].host ? &host : NULL;
        if (rows[i].text) parsed = CHECK(parsed) && kni_body_parse(rows[i].text, &named, &draft);
        bool good = CHECK(!parsed) && CHECK(at->at == rows[i].at) &&
                    CHECK(strstr(at->error, rows[i].message) != NULL);
        if (!good)
            printf("  '%s': column %d: %s\n", rows[i].text ? rows[i].text : rows[i].host, at->at, at->error);
    }
    CHECK(!kni_body_parse("y = has(p) ? p : 0", &(kni_body_names){.in = "p?0", .out = "y"}, &draft) &&
          draft.at == 4 && strstr(draft.error, "'has' is for rows of the library"));
    CHECK(!kni_body_parse("p' = p", &(kni_body_names){.in = "p", .out = "p'"}, &draft) &&
          strstr(draft.error, "only rows of the library write operands anew"));
    kni_body_names other = {.in = "p", .out = "q'", .updates = true};
    CHECK(!kni_body_parse("q' = p", &other, &draft) &&
          strstr(draft.error, "the new value of an operand that does not exist"));
    char text[400];
    int n = 0;
    for (int i = 0; i < 17; i++) n += sprintf(text + n, "%sv%d = lr", i ? "; " : "", i);
    CHECK(!kni_body_parse_host(text, &updates, &host) &&
          strstr(host.error, "more than 16 values have names"));
}

/* Bodies that make values of scalars: the index of the element, random words, and what is known of the dtype. */
static void test_makers(void)
{
    static const kni_body_names makers = {.in = "x",
                                          .out = "y",
                                          .scalars = {"key", "counter", "start", "group"},
                                          .n_scalars = 4,
                                          .whole = 11,
                                          .makes = true};
    static const expectation rows[] = {
        {"y = floats ? start + i * start : group + i", -1, NULL},
        {"y = draw(0, i / group) >= floor(start * 256) ? x : 0", -1, NULL},
        {"y = draw(0, i) > draw(3, i) ? x : 0", -1, NULL},
        {"y = draw(4, i) > 0 ? x : 0", 9, "says which word, 0 to 3"},
        {"y = draw(12, i) > 0 ? x : 0", 9, "says which word, 0 to 3"},
        {"y = draw(i) > 0 ? x : 0", 9, "says which word, 0 to 3"},
        {"y = draw(1) > 0 ? x : 0", -1, NULL},
        {"y = real(draw(0) >> 8) * start + real(draw(1, i) | 7)", -1, NULL},
        {"y = doubles ? real(draw(1)) : cos_turn(real(draw(0)))", -1, NULL},
        {"y = real(start)", 9, "'real' takes an index, and this is none"},
        {"y = real(draw(0) > 3)", 9, "'real' takes an index, and this is none"},
        {"y = real(draw(0), 1)", 4, "'real' takes 1, and 2 are given"},
        {"y = stop(x) + stop(start)", -1, NULL},
        {"y = stop(x > 0)", 9, "'stop' takes values, and this is a truth"},
        {"y = stop(x, x)", 4, "'stop' takes 1, and 2 are given"},
        {"y = draw(0,) > 0 ? x : 0", 11, "no value begins with ')'"},
        {"doubles = x; y = doubles", 0, "'doubles' has a meaning already"},
        {"y = draw(0, x) > 0 ? x : 0", 12, "'draw' takes an index, and this is none"},
        {"y = draw(0, i > 0) > 0 ? x : 0", 12, "'draw' takes an index, and this is none"},
        {"y = draw(0, i) * start", 15, "'*' stands between an index and a value"},
        {"y = draw(0, i)", 0, "it is an index, and the result is a value"},
        {"y = floats + 1", 11, "one side of '+' is a truth"},
        {"i = x; y = i", 0, "'i' has a meaning already"},
    };
    check_all(rows, sizeof rows / sizeof *rows, &makers);
    CHECK(kni_body_parse(rows[2].text, &makers, &draft));
    const kni_body body = kni_body_of_draft(&draft);
    int draws = 0;
    for (int k = 0; k < body.n; k++) {
        kni_step s = kni_body_step(&body, k);
        if (s.kind != KNI_STEP_DRAW) continue;
        CHECK(s.index == (draws ? 3 : 0));
        draws++;
    }
    CHECK(draws == 2);
    kni_body_names other = makers;
    other.n_scalars = 1;
    CHECK(!kni_body_parse("y = draw(0, i) > 0 ? x : 0", &other, &draft) &&
          strstr(draft.error, "'draw' needs the attribute 'counter'"));
    CHECK(!parse("y = i") && !parse("y = floats ? x : 0") && !parse("y = draw(0, 1) > 0 ? x : 0"));
    CHECK(!parse("y = doubles ? x : 0") && !parse("y = draw(0) > 0 ? x : 0"));
    CHECK(!parse("y = cos_turn(x)") && draft.at == 4 &&
          strstr(draft.error, "'cos_turn' is for rows that make values of scalars"));
}

/* Bodies that are too long or too deep for the fixed arrays. */
static void test_limits(void)
{
    char text[40000];
    memset(text, '(', sizeof text);
    text[1000] = 0;
    memcpy(text, "y = ", 4);
    CHECK(!parse(text) && strstr(draft.error, "nested too deeply"));
    memset(text + 4, '-', 500);
    text[504] = 0;
    CHECK(!parse(text) && strstr(draft.error, "nested too deeply"));
    for (int i = 0; i < 70; i++) memcpy(text + 4 + 4 * i, "x + ", 4);
    memcpy(text + 284, "x", 2);
    CHECK(!parse(text) && strstr(draft.error, "more than 128 steps"));
    int n = sprintf(text, "y = 0");
    for (int i = 1; i <= 16; i++) n += sprintf(text + n, " + %d", i);
    CHECK(!parse(text) && strstr(draft.error, "more than 16 constants"));
    n = 0;
    for (int i = 0; i < 17; i++) n += sprintf(text + n, "v%d = x; ", i);
    sprintf(text + n, "y = v8");
    CHECK(!parse(text) && strstr(draft.error, "more than 16 values have names"));
    for (n = 0; n < 16 * 7; n += 7) sprintf(text + n, "v%c = x;", 'a' + n / 7);
    sprintf(text + n, " y = va; z = y");
    CHECK(!kni_body_parse(text, &(kni_body_names){.in = "x", .out = "y z"}, &draft) &&
          strstr(draft.error, "more than 16 values have names"));
    memset(text, 'y', sizeof text - 1);
    text[sizeof text - 1] = 0;
    CHECK(!parse(text) && strstr(draft.error, "too long"));
}

/* Whether the steps of a body name what there is, find what they take, and leave nothing but the results. */
static bool is_whole(const kni_body *body)
{
    static kni_body_tree tree;
    bool named[KNI_BODY_MAX_LOCALS] = {false}, good = true;
    int depth = 0, node = 0, results = 0;
    kni_body_tree_of(body, &tree);
    for (int i = 0; i < body->n; i++) {
        kni_step s = kni_body_step(body, i);
        bool pops = s.kind == KNI_STEP_STORE || s.kind == KNI_STEP_RESULT;
        if (s.kind == KNI_STEP_STORE) named[s.index] = true;
        good &= s.kind != KNI_STEP_LOCAL || named[s.index];
        good &= (s.kind != KNI_STEP_INPUT && s.kind != KNI_STEP_HAS) || s.index < body->n_in;
        results += s.kind == KNI_STEP_RESULT;
        int takes = pops ? 1 : s.kind == KNI_STEP_LOCAL ? 0 : tree.nodes[node].n_in;
        node += !pops && s.kind != KNI_STEP_LOCAL;
        good &= depth >= takes;
        depth += (pops ? 0 : 1) - takes;
    }
    return good && results + depth == body->n_out && depth == (results ? 0 : 1);
}

static void check_row(const kn_op *row)
{
    if (!row->body) return;
    if (!CHECK(is_whole(row->body) && row->body->n_out == row->n_out && row->body->n_in == row->max_in))
        printf("  the body of %s\n", row->name);
}

/* The compact bodies of all rows, and of the gradients of each and theirs. */
static void test_rows(void)
{
    int gradients = 0;
    for (int number = 0; number < kni_op_count(); number++) {
        const kn_op *row = kni_op_by_number(number);
        const kni_slopes *slopes = row ? kni_slopes_of(row) : NULL;
        if (row) check_row(row);
        for (int k = 0; slopes && k < KNI_SLOPE_OPERANDS; k++) {
            const kni_slope *first = slopes->of[k];
            if (!first) continue;
            check_row(&first->row);
            gradients++;
            for (int m = 0; first->next && m < KNI_SLOPE_OPERANDS; m++)
                if (first->next->of[m]) check_row(&first->next->of[m]->row);
        }
    }
    CHECK(gradients > 50);
}

int main(void)
{
    test_values();
    test_steps();
    test_mistakes();
    test_limits();
    test_lines();
    test_kinds();
    test_gives();
    test_updates();
    test_update_mistakes();
    test_makers();
    test_rows();
    return check_report();
}
