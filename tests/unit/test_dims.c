/* Symbolic sizes: equal expressions are one, bounds hold, texts come back, and values are those of plain arithmetic. */
#include "core/dim_symbols.h"
#include "core/text.h"
#include "support/check.h"
#include <stdlib.h>
#include <string.h>

static kn_dim parse(const char *text) { return kni_dim_parse(&text); }

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

static void texts_come_back(void)
{
    is_printed("4*(batch+1)", "4 * batch + 4");
    is_printed("8 - batch", "-batch + 8");
    is_printed("(batch + 1) / 3 * 2", "2 * ((batch + 1) / 3)");
    is_printed("max(batch, 8) - min(2, batch)", "max(8, batch) - min(2, batch)");
    is_printed("7", "7");
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

static kn_dim grow(int depth, int64_t *value)
{
    if (depth == 0 || draw(4) == 0) {
        int k = draw(5);
        *value = k < 3 ? values[k] : 1 + draw(9);
        return k < 3 ? symbols[k] : *value;
    }
    int64_t x, y;
    kn_dim a = grow(depth - 1, &x), b = grow(depth - 1, &y);
    if (a == KNI_DIM_BAD || b == KNI_DIM_BAD || x < 0 || y < 0) return *value = -1, KNI_DIM_BAD;
    switch (draw(6)) {
    case 0:
        return *value = x + y, kni_dim_add(a, b);
    case 1:
        return *value = x - y, x < y ? KNI_DIM_BAD : kni_dim_sub(a, b);
    case 2:
        return *value = x * y, kni_dim_mul(a, b);
    case 3:
        return *value = y > 0 ? x / y : -1, y > 0 ? kni_dim_floor_div(a, b) : KNI_DIM_BAD;
    case 4:
        return *value = x > y ? x : y, kni_dim_max(a, b);
    default:
        return *value = x < y ? x : y, kni_dim_min(a, b);
    }
}

/* The expression that its text gives. */
static kn_dim read_back(kn_dim d)
{
    char buffer[2000] = "";
    kni_text t = {buffer, sizeof buffer, 0};
    kni_dim_print(&t, d);
    return parse(buffer);
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

static void values_are_those_of_numbers(void)
{
    symbols[0] = kni_dim_symbol("p", 1, 9), symbols[1] = kni_dim_symbol("q", 2, 40),
    symbols[2] = kni_dim_symbol("r", 1, 3);
    int wrong = 0, outside = 0, tried = 0, other = 0;
    for (int i = 0; i < 20000; i++) {
        int64_t value;
        values[0] = 1 + draw(9), values[1] = 2 + draw(39), values[2] = 1 + draw(3);
        kn_dim d = grow(4, &value);
        if (d == KNI_DIM_BAD || value < 0) continue;
        tried++;
        other += read_back(d) != d;
        wrong += kni_dim_evaluate(d, symbols, values, 3) != value;
        outside += kni_dim_low(d) > value || kni_dim_high(d) < value;
    }
    CHECK(tried > 5000);
    CHECK(wrong == 0);
    CHECK(other == 0);
    CHECK(outside == 0);
}

int main(void)
{
    CHECK(kni_dim_symbol("a", 1, 2) == KNI_DIM_BAD); /* no set is entered */
    kni_dims *dims = kni_dims_new(), *before = kni_dims_enter(dims);
    equal_ones_are_one();
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
