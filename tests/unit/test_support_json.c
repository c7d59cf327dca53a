/* JSON: what is read, what is refused and where, numbers that survive, texts that are escaped. */
#include "support/check.h"
#include "support/failure.h"
#include "support/json.h"
#include "support/scalar_math.h"
#include "support/short_text.h"
#include "support/similar.h"
#include <math.h>
#include <stdlib.h>

/* The text has no byte behind it, so that a sanitizer sees one that is read there. */
static kni_json_document parse(const char *text)
{
    size_t n = strlen(text);
    char *exact = malloc(n ? n : 1);
    if (!CHECK(exact != NULL)) return NULL;
    memcpy(exact, text, n);
    kni_json_document d = kni_json_parse(exact, n, "t");
    free(exact);
    return d;
}

/* The text is refused with these words. */
static void refuse(const char *text, const char *words)
{
    kni_json_document d = parse(text);
    if (!CHECK(d == NULL && strstr(kn_last_error(), words)))
        printf("  %s: %s\n", text, d ? "accepted" : kn_last_error());
    kni_json_free(d);
}

static void reading(void)
{
    kni_json_document d =
        parse(" {\"a\": [1, -2.5e3, true, null],\n  \"b\\u00e9\": \"x\\n\\ud83d\\ude00\", \"c\": {}} ");
    const kni_json *root = kni_json_root(d), *a = kni_json_member(root, "a");
    if (!CHECK(root && root->kind == KNI_JSON_OBJECT && root->count == 3 && a && a->count == 4)) return;
    CHECK(a->first->whole && a->first->integer == 1 && a->first->number == 1);
    CHECK(a->first->next->number == -2500 && a->first->next->whole && a->first->next->integer == -2500);
    CHECK(a->first->next->next->truth && a->first->next->next->next->kind == KNI_JSON_NULL);
    const kni_json *b = kni_json_member(root, "b\xC3\xA9");
    CHECK(b && b->length == 6 && strcmp(b->text, "x\n\xF0\x9F\x98\x80") == 0 && b->line == 2 &&
          b->column == 14);
    CHECK(kni_json_member(root, "d") == NULL && kni_json_member(a, "a") == NULL);
    kni_json_free(d);
    d = parse("9223372036854775807");
    CHECK(kni_json_root(d)->whole && kni_json_root(d)->integer == INT64_MAX);
    kni_json_free(d);
    d = parse("-9223372036854775808");
    CHECK(kni_json_root(d)->whole && kni_json_root(d)->integer == INT64_MIN);
    kni_json_free(d);
    d = parse("9223372036854775808");
    CHECK(!kni_json_root(d)->whole && kni_json_root(d)->number == 9223372036854775808.0);
    kni_json_free(d);
}

static void refusing(void)
{
    static const char *const bad[] = {
        "",    "[1,]",  "{\"a\" 1}", "[1 2]", "01",         "1.",        "+1",           "\"a",
        "tru", "{1:2}", "[",         "1 1",   "\"\\x\"",    "\"\t\"",    "\"\xFF\"",     "\"\\ud800\"",
        "1e",  "-",     "1e999",     "nan",   "{\"a\":1,}", "\"\\u12\"", "\"\xC0\x80\"", "]"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) refuse(bad[i], "t:1:");
    refuse("{\n  \"a\": 1,\n  \"b\": oops\n}", "t:3:8:");
    refuse("{\"a\\u0000b\": 1}", "zero byte");
    char deep[400];
    memset(deep, '[', sizeof deep - 1);
    deep[sizeof deep - 1] = 0;
    refuse(deep, "nested too deeply");
    char digits[600];
    memset(digits, '1', sizeof digits - 1);
    digits[sizeof digits - 1] = 0;
    refuse(digits, "too many digits");
    CHECK(kni_json_parse(NULL, 0, NULL) == NULL);
    /* Every prefix of a good text is refused without reading past its end. */
    static const char good[] = "{\"a\": [1.5e-3, \"\\u00e9\\ud83d\\ude00\", {\"b\": false}], \"c\": null}";
    for (size_t n = 0; n < sizeof good - 1; n++) {
        char copy[sizeof good];
        memcpy(copy, good, n);
        kni_json_document d = kni_json_parse(copy, n, "t");
        CHECK(d == NULL);
        kni_json_free(d);
    }
}

static void writing(void)
{
    static const double numbers[] = {
        0, -0.0, 1, 0.1, 1e-5, 1.0 / 3, 5e-324, 1.7976931348623157e308, 123456789012345680.0};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        kni_buffer out = {0};
        kni_json_write_number(&out, numbers[i]);
        kni_json_document d = kni_json_parse(out.data, out.length, "t");
        CHECK(d && kni_json_root(d)->number == numbers[i]);
        kni_json_free(d);
        kni_buffer_free(&out);
    }
    kni_buffer out = {0};
    kni_json_write_number(&out, 0.1);
    kni_json_write_number(&out, INFINITY);
    kni_json_write_text(&out, "a\"\\\n\x01\xC3\xA9\xFF", 8);
    CHECK(strcmp(out.data, "0.1null\"a\\\"\\\\\\n\\u0001\xC3\xA9\xEF\xBF\xBD\"") == 0);
    kni_buffer_free(&out);
}

static void buffers(void)
{
    kni_buffer b = {0};
    char small[4];
    CHECK(strcmp(kni_buffer_string(&b), "") == 0 && kni_buffer_copy(&b, small, sizeof small) == 0 &&
          small[0] == 0);
    for (int i = 0; i < 1000; i++) kni_buffer_format(&b, "%d,", i);
    CHECK(b.length == 10 * 2 + 90 * 3 + 900 * 4 && strlen(b.data) == b.length &&
          strncmp(b.data, "0,1,2", 5) == 0);
    CHECK(kni_buffer_copy(&b, small, sizeof small) == b.length && strcmp(small, "0,1") == 0);
    CHECK(!kni_buffer_reserve(&b, SIZE_MAX) && b.failed);
    kni_buffer_clear(&b);
    CHECK(!b.failed && b.length == 0 && b.data[0] == 0);
    kni_buffer_free(&b);
}

static bool close_to(double a, double b)
{
    return a == b || fabs(a - b) <= 1e-14 * fabs(b) || (a != a && b != b);
}

static void functions(void)
{
    static const double x[] = {0,  1e-300, 1e-5, 0.1, 0.5,      1,  1.41,  2,  3.14159,
                               10, 99.5,   700,  1e9, INFINITY, -1, -7.25, NAN};
    for (size_t i = 0; i < sizeof x / sizeof *x; i++) {
        CHECK(close_to(kni_sqrt(x[i]), sqrt(x[i])) && close_to(kni_ln(x[i]), log(x[i])));
        CHECK(close_to(kni_exp(x[i]), exp(x[i])) && close_to(kni_floor(x[i]), floor(x[i])));
        if (fabs(x[i]) < 1e6)
            CHECK(fabs(kni_cos(x[i]) - cos(x[i])) < 4e-16 && fabs(kni_sin(x[i]) - sin(x[i])) < 4e-16);
        if (fabs(x[i]) < 1e6)
            CHECK(close_to(kni_pow(x[i], 3), pow(x[i], 3)) && kni_round(x[i]) == nearbyint(x[i]));
    }
    CHECK(close_to(kni_pow(0.999, 1000), pow(0.999, 1000)) && kni_pow(0, 0) == 1 && kni_pow(4, 0.5) == 2);
}

/* The same by its definition: slow, and without a limit. */
static size_t plain_distance(const char *a, size_t n, const char *b, size_t m)
{
    if (n == 0 || m == 0) return n + m;
    size_t best = plain_distance(a, n - 1, b, m - 1) + (a[n - 1] != b[m - 1]);
    size_t removed = plain_distance(a, n - 1, b, m) + 1, inserted = plain_distance(a, n, b, m - 1) + 1;
    if (removed < best) best = removed;
    if (inserted < best) best = inserted;
    if (n > 1 && m > 1 && a[n - 1] == b[m - 2] && a[n - 2] == b[m - 1]) {
        size_t swapped = plain_distance(a, n - 2, b, m - 2) + 1;
        if (swapped < best) best = swapped;
    }
    return best;
}

/* Every pair of words of up to four letters out of two, for every limit. */
static void distances(void)
{
    char words[31][5] = {""};
    int n = 1, wrong = 0;
    for (size_t length = 1; length <= 4; length++)
        for (unsigned bits = 0; bits < 1u << length; bits++, n++)
            for (size_t k = 0; k < length; k++) words[n][k] = "ab"[bits >> k & 1];
    for (int i = 0; i < n * n; i++) {
        const char *a = words[i / n], *b = words[i % n];
        size_t want = plain_distance(a, strlen(a), b, strlen(b));
        for (size_t limit = 0; limit <= 5; limit++)
            wrong += kni_edit_distance(a, b, limit) != (want > limit ? limit + 1 : want);
    }
    CHECK(n == 31 && wrong == 0);
    CHECK(kni_edit_distance("weight", "wieght", 9) == 1 && kni_edit_distance("abc", "", 9) == 3);
    CHECK(kni_edit_distance("abc", "xyz", 1) == 2 && kni_edit_distance("abc", "abc", 0) == 0);
    char longest[600];
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    CHECK(kni_edit_distance(longest, longest + 1, 4) == 5);
    CHECK(kni_edit_distance(longest + 100, longest + 101, 4) == 1);
    const char *within = "xab"; /* what stands before a text does not count */
    CHECK(kni_edit_distance(within + 1, "xab", 9) == 1 && kni_edit_distance(within + 1, "x", 9) == 2);
}

/* Numbers in messages: NaN has one name, whatever its sign. */
static void numbers_in_messages(void)
{
    CHECK(!strcmp(KNI_NUMBER(0.25), "0.25") && !strcmp(KNI_NUMBER(-3), "-3"));
    CHECK(!strcmp(KNI_NUMBER(NAN), "NaN") && !strcmp(KNI_NUMBER(-NAN), "NaN"));
    CHECK(!strcmp(KNI_NUMBER(-INFINITY), "-inf"));
}

/* A text that is longer than its place ends after a word, and never within a character; else it stays as it is. */
static void texts_in_short_places(void)
{
    static const struct {
        const char *text;
        size_t room;
        const char *want;
    } cases[] = {{"seven words", 12, "seven words"},
                 {"seven words", 11, "seven ..."},
                 {"seven words", 10, "seven ..."},
                 {"sevenwords", 10, "seven..."},
                 {"abcdefghij", 6, "a..."},
                 {"abcdef", 5, "..."},
                 {"abcdef", 4, ""},
                 {"abcdef", 1, ""},
                 {"ab\xC3\xA4"
                  "efghij",
                  8, "ab..."}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *out =
            malloc(cases[i].room); /* of that size, so that a sanitizer sees what is written behind it */
        if (!CHECK(out != NULL)) return;
        kni_short_text(out, cases[i].room, cases[i].text);
        if (!CHECK(!strcmp(out, cases[i].want))) printf("  case %zu: '%s'\n", i, out);
        free(out);
    }
}

int main(void)
{
    reading();
    refusing();
    writing();
    buffers();
    functions();
    distances();
    numbers_in_messages();
    texts_in_short_places();
    CHECK(kni_is_similar("learning_rat", "learning_rate") && !kni_is_similar("bias", "weight"));
    return check_report();
}
