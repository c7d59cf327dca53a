/* Symbolic sizes: equal expressions are one, bounds hold, texts come back, and values are those of plain arithmetic. */
#include "core/dim_symbols.h"
#include "core/text.h"
#include "support/check.h"
#include <stdlib.h>
#include <string.h>

static kn_dim parse(const char *text) { return kni_dim_parse(&text); }
static kn_dim parse_whole(const char *text) { return kni_dim_parse_whole(&text); }

static void is_printed(const char *text, const char *printed)
{
    char buffer[200] = "";
    kni_text t = {buffer, sizeof buffer, 0};
    kni_dim_print(&t, parse(text));
    if (!CHECK(!strcmp(buffer, printed))) printf("  %s is printed as %s, not %s\n", text, buffer, printed);
    CHECK(parse(buffer) == parse(text));
}

static void equal_ones_are_one(void)
{
    CHECK(parse("a * b * c") == parse("c * (b * a)"));
    CHECK(parse("a + b + a") == parse("2 * a + b"));
    CHECK(parse("(a + 1) * (a - 1)") == parse("a * a - 1"));
    CHECK(parse("(a + 3) - 3") == parse("a") && parse("a - a") == 0);
    CHECK(parse("a * b * 12 / (b * 4)") == parse("3 * a"));
    CHECK(parse("(2 * a + 3) / 2") == parse("a + 1") && parse("(2 * a - 1) / 2") == parse("a - 1"));
    CHECK(parse("a / a") == 1 && parse("a * b / (a * b)") == 1);
    CHECK(parse("max(a, b)") == parse("max(b, a)") && parse("min(a, a)") == parse("a"));
    CHECK(parse("a / 2") != parse("b / 2") && parse("a") != parse("b"));
    CHECK(kni_dim_symbol("a", 1, 10) == parse("a"));
    CHECK(parse("max(a, 1)") == parse("a")); /* at least 1 it is */
}

/* What is larger is seen from the difference, at all sizes of at least 1. */
static void extremes_are_proved(void)
{
    CHECK(parse("min(a + 1, a + 2)") == parse("a + 1") && parse("max(a + 1, a - 7)") == parse("a + 1"));
    CHECK(parse("min(a + 1, 2 * a)") == parse("a + 1") && parse("max(a * b, b)") == parse("a * b"));
    CHECK(parse("a - max(a - 2, 0)") != 0 &&
          parse("max(a - max(a - 2, 0), 0)") == parse("a - max(a - 2, 0)"));
    CHECK(parse("min((a + 1) / 2, a)") == parse("(a + 1) / 2") && parse("max(a / 3, a)") == parse("a"));
    CHECK(parse("min(min(a, b), b)") == parse("min(a, b)") && parse("max(min(a, b), b)") == parse("b"));
    CHECK(parse("a / 2 / 2") == parse("a / 4") && parse("((a + 1) / 2 + 1) / 2") == parse("(a + 3) / 4"));
    CHECK(kni_dim_equal(parse("a + 1"), parse("a")) == KNI_NO);
    CHECK(kni_dim_equal(parse("2 * a"), parse("a + 1")) == KNI_MAYBE);
    CHECK(kni_dim_equal(parse("min(a, b)"), parse("b + 1")) == KNI_NO);
}

static int64_t value_at(const char *text, int64_t a, int64_t b)
{
    kn_dim names[2] = {parse("a"), parse("b")};
    return kni_dim_evaluate(parse(text), names, (int64_t[]){a, b}, 2);
}

/* Only the whole has to be a size. */
static void parts_may_be_negative(void)
{
    CHECK(parse("max(a - 5, 0)") != parse("a - 5"));
    CHECK(value_at("max(a - 5, 0)", 3, 1) == 0 && value_at("max(a - 5, 0)", 7, 1) == 2);
    CHECK(value_at("max(a - 5, 2)", 1, 1) == 2 && value_at("a - 5", 3, 1) == -1);
    CHECK(value_at("(a - 5) / 2 + 3", 2, 1) == 1); /* rounded down: -3 / 2 is -2 */
    CHECK(value_at("max(min(a - 9, b - 9), 1 - 4) + 3", 1, 2) == 0);
    CHECK(value_at("10 + min(a - 9, -2)", 4, 1) == 5 && value_at("-(a - 5) / 2", 2, 1) == 1);
    CHECK(value_at("max(a / (b - 1), 0)", 5, 1) == -1); /* there is no such quotient */
    CHECK(value_at("(1 - 4) / b + 5", 1, 2) == 3 && value_at("a + (2 - 3)", 4, 1) == 3);
    CHECK(kni_dim_low(parse("a - 5")) == -4 && kni_dim_low(parse("max(a - 5, -2)")) == -2);
    CHECK(kni_dim_low(parse("(a - 5) / 2")) == -2 && kni_dim_high(parse("3 - a")) == 2);
    const char *whole = "-4611686018427387905", *some = "-7", *moved = "-2 + a";
    CHECK(kni_dim_parse_whole(&whole) == KNI_DIM_BAD); /* it would stand for an expression */
    CHECK(kni_dim_parse_whole(&some) == -7 && kni_dim_parse_whole(&moved) == parse("a - 2"));
}

/* Each step doubles what is printed. */
static void expressions_have_an_end(void)
{
    kn_dim d = parse("a"), b = parse("b");
    int steps = 0;
    for (; d != KNI_DIM_BAD && steps < 100; steps++)
        d = kni_dim_max(kni_dim_floor_div(d, b), kni_dim_min(d, kni_dim_mul(b, steps + 2)));
    const char *problem = kni_dim_problem();
    CHECK(d == KNI_DIM_BAD && steps > 4 && steps < 40);
    CHECK(problem && strstr(problem, "too long") && !kni_dim_problem());
    CHECK(kni_dim_parse(&(const char *){"a + 1"}) != KNI_DIM_BAD); /* others go on */
}

static void texts_come_back(void)
{
    is_printed("4*(batch+1)", "4 * batch + 4");
    is_printed("8 - batch", "-batch + 8");
    is_printed("(batch + 1) / 3 * 2", "2 * ((batch + 1) / 3)");
    is_printed("max(batch, 8) - min(2, batch)", "max(8, batch) - min(2, batch)");
    is_printed("7", "7");
    is_printed("max(batch - 5, -2) + 2", "max(-2, batch - 5) + 2");
    is_printed("(2 - 9) / batch + 7", "((-7) / batch) + 7");
    is_printed("-(batch / 2) + 9", "-(batch / 2) + 9");
}

static void nonsense_is_refused(void)
{
    static const char *const bad[] = {
        "",       "+",     "a +", "a b",     "(a",      "a)", "1 - 2", "a / 0", "99999999999999999999",
        "max(a)", "a ; b", "-3",  "a * * b", "max(a, b"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (!CHECK(parse(bad[i]) == KNI_DIM_BAD)) printf("  '%s'\n", bad[i]);
    char deep[400] = "";
    for (int i = 0; i < 200; i++) strcat(deep, "(");
    CHECK(parse(deep) == KNI_DIM_BAD);
    CHECK(kni_dim_symbol("", 1, 2) == KNI_DIM_BAD && kni_dim_symbol("x", 3, 2) == KNI_DIM_BAD);
    CHECK(kni_dim_symbol("a b", 1, 2) == KNI_DIM_BAD && kni_dim_symbol("2x", 1, 2) == KNI_DIM_BAD);
    CHECK(parse("-9223372036854775807 * a - a") == KNI_DIM_BAD); /* a factor without an opposite */
    CHECK(parse("(a - 9223372036854775807) / 5") != 0);
    const char *list = "a + 1, 2";
    CHECK(kni_dim_parse(&list) == parse("1 + a") && *list == ',');
}

/* Random expressions: the tree is computed beside them, in plain numbers. */
static uint64_t state = 1;
static int draw(int n)
{
    return (int)((state = state * 6364136223846793005u + 1442695040888963407u) >> 33) % n;
}

static kn_dim symbols[3];
static int64_t values[3];

/* A random expression as text, and its value by plain arithmetic: floor for /, false where a divisor is below 1. */
static bool grow(int depth, char **at, const char *end, int64_t *value)
{
    static const char *const names[] = {"p", "q", "r"};
    if (depth == 0 || draw(5) == 0) {
        int k = draw(6);
        *value = k < 3 ? values[k] : draw(12);
        *at += k < 3 ? snprintf(*at, (size_t)(end - *at), "%s", names[k])
                     : snprintf(*at, (size_t)(end - *at), "%d", (int)*value);
        return true;
    }
    static const struct {
        const char *before, *between;
    } forms[] = {{"(", " + "}, {"(", " - "}, {"(", " * "}, {"(", " / "}, {"max(", ", "}, {"min(", ", "}};
    int64_t x, y;
    int form = draw(6);
    *at += snprintf(*at, (size_t)(end - *at), "%s", forms[form].before);
    bool good = grow(depth - 1, at, end, &x);
    *at += snprintf(*at, (size_t)(end - *at), "%s", forms[form].between);
    good = grow(depth - 1, at, end, &y) && good;
    *at += snprintf(*at, (size_t)(end - *at), ")");
    switch (form) {
    case 0:
        return *value = x + y, good;
    case 1:
        return *value = x - y, good;
    case 2:
        return *value = x * y, good;
    case 3:
        *value = y > 0 ? (x >= 0 ? x / y : -((-x + y - 1) / y)) : 0;
        return good && y > 0;
    case 4:
        return *value = x > y ? x : y, good;
    default:
        return *value = x < y ? x : y, good;
    }
}

/* The expression that its text gives. */
static kn_dim read_back(kn_dim d)
{
    static char buffer[60000];
    kni_text t = {buffer, sizeof buffer, 0};
    kni_dim_print(&t, d);
    return parse_whole(buffer);
}

static void symbols_are_listed(void)
{
    kni_dims *own = kni_dims_new(), *before = kni_dims_enter(own);
    uint32_t at = 0;
    kn_dim n = parse("n"), two = parse("2 * n"), m = kni_dim_symbol("m.0", 2, 5);
    CHECK(kni_dim_kind_of(two) == KNI_DIM_SUM && kni_dim_symbol_count() == 2);
    CHECK(kni_dim_symbol_next(&at) == n && kni_dim_symbol_next(&at) == m);
    CHECK(kni_dim_symbol_next(&at) == KNI_DIM_BAD);
    kni_dims_enter(before);
    kni_dims_free(own);
}

/* The same text with other sizes: what was drawn is drawn again. */
static bool value_with(uint64_t seed, int depth, int64_t *value)
{
    char text[4000], *at = text;
    uint64_t after = state;
    state = seed;
    bool good = grow(depth, &at, text + sizeof text, value);
    state = after;
    return good;
}

static void draw_sizes(void) { values[0] = 1 + draw(9), values[1] = 2 + draw(39), values[2] = draw(4); }

/* Expressions by their code, with the seed of the first text that gave it: equal codes have equal values. */
enum { CODES = 1 << 16 };
static struct {
    kn_dim code;
    uint64_t seed;
} known[CODES];

typedef struct tally {
    int tried, negative, wrong, outside, other, unequal, shared;
} tally;

static void try_sizes(tally *t, kn_dim d, uint64_t seed, int depth)
{
    size_t slot = (size_t)((uint64_t)d * UINT64_C(0x9E3779B97F4A7C15) >> 48);
    bool same = known[slot].seed && known[slot].code == d && known[slot].seed != seed;
    if (!same) known[slot].code = d, known[slot].seed = seed;
    t->shared += same;
    for (int i = 0; i < 6; i++) {
        int64_t value, twin;
        draw_sizes();
        if (!value_with(seed, depth, &value)) continue;
        int64_t found = kni_dim_evaluate(d, symbols, values, 3);
        t->tried++;
        t->negative += value < 0;
        t->wrong += found != (value < 0 ? -1 : value);
        t->outside += kni_dim_low(d) > value || kni_dim_high(d) < value;
        t->unequal += same && value_with(known[slot].seed, depth, &twin) && twin != value;
    }
}

/* The normal form of a random text has the values of the text. Parts may be negative. */
static void values_are_those_of_numbers(void)
{
    symbols[0] = kni_dim_symbol("p", 1, 9), symbols[1] = kni_dim_symbol("q", 2, 40),
    symbols[2] = kni_dim_symbol("r", 0, 3);
    tally t = {0};
    enum { DEPTH = 4 };
    for (int i = 0; i < 12000; i++) {
        char text[4000], *at = text;
        int64_t value;
        uint64_t seed = state;
        draw_sizes();
        seed = state;
        grow(DEPTH, &at, text + sizeof text, &value);
        kn_dim d = parse_whole(text);
        if (!kni_dim_is_expression(d)) continue;
        t.other += read_back(d) != d;
        try_sizes(&t, d, seed, DEPTH);
    }
    CHECK(t.tried > 20000 && t.negative > 2000 && t.shared > 500);
    CHECK(t.wrong == 0);
    CHECK(t.other == 0);
    CHECK(t.outside == 0);
    CHECK(t.unequal == 0);
    if (t.wrong || t.other || t.outside || t.unequal)
        printf("  of %d: %d wrong, %d not read back, %d outside, %d unequal\n", t.tried, t.wrong, t.other,
               t.outside, t.unequal);
}

int main(void)
{
    CHECK(kni_dim_symbol("a", 1, 2) == KNI_DIM_BAD); /* no set is entered */
    kni_dims *dims = kni_dims_new(), *before = kni_dims_enter(dims);
    equal_ones_are_one();
    extremes_are_proved();
    parts_may_be_negative();
    expressions_have_an_end();
    texts_come_back();
    nonsense_is_refused();
    symbols_are_listed();
    values_are_those_of_numbers();
    kni_dims *other = kni_dims_new();
    kni_dims_enter(other);
    CHECK(kni_dim_low(KNI_DIM_FIRST) == KNI_DIM_FIRST); /* of another set */
    kni_dims_free(other);
    kni_dims_enter(before);
    kni_dims_free(dims);
    return check_report();
}
