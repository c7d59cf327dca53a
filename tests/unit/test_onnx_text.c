/* Regular expressions, UTF-8 and case of letters as ONNX's operators on strings use them, and a few of these operators. */
#include "onnx/convert/regex.h"
#include "onnx/strings.h"
#include "test_onnx_models.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- regular expressions */

static bool matches(const char *pattern, const char *text)
{
    const char *error = NULL;
    kni_onnx_arena *arena = kni_onnx_arena_new();
    kni_regex *r = kni_regex_compile(arena, pattern, strlen(pattern), &error);
    if (!r) printf("%s: %s\n", pattern, error);
    CHECK(r != NULL);
    bool found = r && kni_regex_matches(r, text, strlen(text));
    kni_onnx_arena_free(arena);
    return found;
}

static void test_full_matches(void)
{
    static const struct {
        const char *pattern, *yes[4], *no[4]; /* separate texts; NULL ends a list */
    } rows[] = {
        {"", {""}, {"a"}},
        {"abc", {"abc"}, {"ab", "abcd", "xabc"}},
        {"a.c",
         {"abc", "a\xe6\x97\xa5"
                 "c"},
         {"a\nc", "ac",
          "a\xff"
          "c"}},
        {"(?s)a.c", {"a\nc"}, {"ac"}},
        {"a|bc|", {"a", "bc", ""}, {"abc", "b"}},
        {"(a|ab)(c|bcd)*", {"a", "abc", "abcd", "acbcd"}, {"", "abd"}},
        {"x*y+z?", {"y", "xxyz", "yy"}, {"x", "xz", "yzz"}},
        {"a{2}", {"aa"}, {"a", "aaa"}},
        {"a{2,}b", {"aab", "aaaab"}, {"ab"}},
        {"(ab){1,2}", {"ab", "abab"}, {"", "ababab"}},
        {"a{,2}", {"a{,2}"}, {"aa"}},
        {"a{x", {"a{x"}, {"ax"}},
        {"[a-c]+", {"abc", "c"}, {"d", ""}},
        {"[^a-c]+", {"xyz", "\n", "\xc3\xa4"}, {"a", "xa"}},
        {"[]a]+", {"]a"}, {"b"}},
        {"[a-]+", {"a-"}, {"b"}},
        {"[[:alpha:]_][[:^digit:]]", {"ax", "_-"}, {"1x", "a1"}},
        {"\\d+\\s\\w\\D\\S\\W", {"12 _ax-"}, {"12 _a -"}},
        {"[\\d\\s]+", {"1 2"}, {"a"}},
        {"\\x41\\x{1F600}\\101\\t\\.",
         {"A\xf0\x9f\x98\x80"
          "A\t."},
         {"A"}},
        {"\\Qa.b*\\E+c", {"a.b*c", "a.b***c"}, {"aab*c"}},
        {"(?i)k\xc3\x84[x-z]", {"K\xc3\xa4Y", "\xe2\x84\xaa\xc3\x84x"}, {"ka"}},
        {"(?i:a)b", {"Ab", "ab"}, {"AB"}},
        {"(?P<name>a)(?:b)(?<other>c)", {"abc"}, {"ab"}},
        {"^a$|\\Ab\\z", {"a", "b"}, {"ab"}},
        {"(?m)a$\\s^b", {"a\nb"}, {"a b"}},
        {"\\bfoo\\b.*", {"foo", "foo bar"}, {"foobar", " foo"}},
        {"a\\Bb", {"ab"}, {"a b"}},
        {"a*?b+?c??", {"b", "aabbc"}, {"ac"}},
        {"(|a)*b", {"aab", "b"}, {"a"}},
        {"(a*)*b", {"aab", "b"}, {"aac"}},
        {"\xe6\x97\xa5[\xe6\x9c\xac-\xe6\x9c\xad]", {"\xe6\x97\xa5\xe6\x9c\xac"}, {"\xe6\x97\xa5"}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int k = 0; k < 4; k++) {
            bool yes = !rows[i].yes[k] || matches(rows[i].pattern, rows[i].yes[k]);
            bool no = rows[i].no[k] && matches(rows[i].pattern, rows[i].no[k]);
            if (!yes || no) printf("%s on %s\n", rows[i].pattern, yes ? rows[i].no[k] : rows[i].yes[k]);
            CHECK(yes && !no);
        }
}

static void test_wrong_patterns(void)
{
    static const char *const rows[][2] = {
        {"(a", "not closed with )"},
        {"a)", ") without a ("},
        {"[a", "not closed with ]"},
        {"[z-a]", "before it begins"},
        {"*a", "nothing to repeat"},
        {"a**", "use a group"},
        {"a{2,1}", "n <= m"},
        {"a{1001}", "1000"},
        {"(?=a)", "no look-ahead"},
        {"(?<=a)", "no look-ahead"},
        {"\\1", "no such escape"},
        {"\\pL", "classes of Unicode"},
        {"[[:nix:]]", "no such class"},
        {"\\x{110000}", "hexadecimal"},
        {"a\\", "no such escape"},
        {"\xff", "UTF-8"},
        {"((a{1000}){1000}){1000}", "repeats too much"},
        {"(((){1000}){1000}){1000}", "repeats too much"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *error = "";
        kni_onnx_arena *arena = kni_onnx_arena_new();
        kni_regex *r = kni_regex_compile(arena, rows[i][0], strlen(rows[i][0]), &error);
        if (r || !strstr(error, rows[i][1])) printf("%s: %s\n", rows[i][0], error);
        CHECK(!r && strstr(error, rows[i][1]));
        kni_onnx_arena_free(arena);
    }
    char deep[2000];
    memset(deep, '(', 1000);
    memset(deep + 1000, ')', 1000);
    const char *error = "";
    kni_onnx_arena *arena = kni_onnx_arena_new();
    CHECK(!kni_regex_compile(arena, deep, sizeof deep, &error) && strstr(error, "too deeply"));
    kni_onnx_arena_free(arena);
}

/* The match that begins first, of these the longest. */
static void test_finding(void)
{
    static const struct {
        const char *pattern, *text;
        size_t from;
        int begin, end; /* -1: none */
    } rows[] = {
        {"a|ab", "xxab", 0, 2, 4},    {"b+", "abbabbb", 0, 1, 3}, {"b+", "abbabbb", 3, 4, 7},
        {"z", "abc", 0, -1, -1},      {"b*", "abb", 0, 0, 0},     {"^b", "ab", 1, -1, -1},
        {"\\bb", "ab b", 1, 3, 4},    {"c$", "cc", 0, 1, 2},      {"abcd|bc", "xabce", 0, 2, 4},
        {"a.*d|b", "abcab", 0, 1, 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *error;
        size_t begin = 0, end = 0;
        kni_onnx_arena *arena = kni_onnx_arena_new();
        kni_regex *r = kni_regex_compile(arena, rows[i].pattern, strlen(rows[i].pattern), &error);
        bool found = kni_regex_find(r, rows[i].text, strlen(rows[i].text), rows[i].from, &begin, &end);
        CHECK(found == (rows[i].begin >= 0));
        CHECK(!found || ((int)begin == rows[i].begin && (int)end == rows[i].end));
        kni_onnx_arena_free(arena);
    }
}

/* A pattern on which backtracking takes for ever. */
static void test_time_is_bounded(void)
{
    enum { LENGTH = 20000 };
    char *text = malloc(LENGTH + 1);
    CHECK(text != NULL);
    if (!text) return;
    memset(text, 'a', LENGTH);
    text[LENGTH] = 0;
    clock_t begun = clock();
    CHECK(!matches("(a*)*(a|aa)*(a+)+b", text));
    CHECK(clock() - begun < 5 * CLOCKS_PER_SEC);
    free(text);
}

/* ---- letters */

static void test_letters(void)
{
    static const struct {
        const char *text;
        int32_t letter;
        size_t used;
    } rows[] = {
        {"a", 'a', 1},
        {"\xc3\xa4", 0xe4, 2},
        {"\xe2\x82\xac", 0x20ac, 3},
        {"\xf0\x9f\x98\x80", 0x1f600, 4},
        {"\xc0\x80", -1, 1},
        {"\xed\xa0\x80", -1, 1},
        {"\xf4\x90\x80\x80", -1, 1},
        {"\x80", -1, 1},
        {"\xe2\x82", -1, 1},
        {"\xe0\x80\x80", -1, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t used = 0;
        char back[4];
        CHECK(kni_utf8_read(rows[i].text, strlen(rows[i].text), &used) == rows[i].letter &&
              used == rows[i].used);
        if (rows[i].letter >= 0)
            CHECK(kni_utf8_write(rows[i].letter, back) == used && !memcmp(back, rows[i].text, used));
    }
    CHECK(kni_utf8_count("a\xc3\xa4\xff", 4) == 3);
    CHECK(kni_letter_upper('z') == 'Z' && kni_letter_lower('Z') == 'z' && kni_letter_upper('1') == '1');
    CHECK(kni_letter_upper(0xe4) == 0xc4 && kni_letter_lower(0x10400) == 0x10428 &&
          kni_letter_upper(0xdf) == 0xdf);
    CHECK(kni_letter_lower(0x130) == 'i' && kni_letter_upper(0x3c2) == 0x3a3 &&
          kni_letter_lower(0x101) == 0x101);
}

/* ---- operators */

static kn_onnx open_on_words(onnx_message node, const char *words, int count, int32_t output_type)
{
    onnx_message g = {0}, tensor = onnx_tensor_head("x", STRING, ONNX_SIZES(count));
    onnx_put_words(&tensor, 6, words);
    onnx_graph_tensor(&g, tensor);
    onnx_graph_node(&g, node);
    onnx_graph_output(&g, onnx_value("y", onnx_type(output_type, NULL, -1)));
    return onnx_open(onnx_model(g));
}

static void test_operators(void)
{
    onnx_message match = onnx_node("RegexFullMatch", "x", "y");
    onnx_attribute_text(&match, "pattern", "[ab]+");
    kn_onnx model = open_on_words(match, "ab c ba", 3, BOOLEAN);
    CHECK_VALUES(onnx_give(model, NULL, 0), 0, 1, 0, 1);
    kn_onnx_free(model);

    onnx_message wrong = onnx_node("RegexFullMatch", "x", "y");
    onnx_attribute_text(&wrong, "pattern", "(a");
    model = open_on_words(wrong, "ab", 1, BOOLEAN);
    kn_tensor y;
    CHECK_ERROR(kn_onnx_run(model, NULL, 0, &y, 1), "the regular expression '(a': a group is not closed");
    kn_onnx_free(model);

    onnx_message split = onnx_node("StringSplit", "x", "parts y");
    onnx_attribute_text(&split, "delimiter", ",");
    model = open_on_words(split, "a,b c ,,", 3, INT64);
    CHECK_VALUES(onnx_give(model, NULL, 0), 0, 2, 1, 3);
    kn_onnx_free(model);
}

/* Unique puts strings in order, Equal compares them, and both see numbers. */
static void test_numbers_for_strings(void)
{
    kn_onnx model = open_on_words(onnx_node("Unique", "x", "u first inverse y"), "b a c b b", 5, INT64);
    CHECK_VALUES(onnx_give(model, NULL, 0), 0, 1, 3, 1);
    kn_onnx_free(model);
    model = open_on_words(onnx_node("Equal", "x x", "y"), "b a -", 3, BOOLEAN);
    CHECK_VALUES(onnx_give(model, NULL, 0), 0, 1, 1, 1);
    kn_onnx_free(model);
}

/* Operators of com.microsoft take strings too: an axis before them, and hashes of their bytes. */
static void test_further_operators(void)
{
    onnx_message g = {0}, words = onnx_tensor_head("x", STRING, ONNX_SIZES(2));
    onnx_message expand = onnx_node("ExpandDims", "x axis", "wide"),
                 hash = onnx_node("MurmurHash3", "wide", "y");
    onnx_put_words(&words, 6, "ab c");
    onnx_put_text(&expand, 7, "com.microsoft");
    onnx_put_text(&hash, 7, "com.microsoft");
    onnx_attribute_int(&hash, "positive", 0);
    onnx_graph_tensor(&g, words);
    onnx_graph_tensor(&g, onnx_int_constant("axis", 0));
    onnx_graph_node(&g, expand);
    onnx_graph_node(&g, hash);
    onnx_graph_output(&g, onnx_value("y", onnx_type(6, NULL, -1)));
    onnx_message m = onnx_model(g);
    onnx_opset(&m, "com.microsoft", 1);
    kn_onnx model = onnx_open(m);
    kn_tensor y = onnx_give(model, NULL, 0);
    CHECK(kn_rank(y) == 2 && kn_size(y, 0) == 1);
    CHECK_VALUES(y, 0, -1681926305, -516762017);
    kn_onnx_free(model);
}

/* The expression "." alone is any character for a Tokenizer, the end of a line too; in a longer one it is not. */
static void test_token_of_any_character(void)
{
    static const struct {
        const char *expression;
        int64_t tokens;
    } rows[] = {{".", 3}, {"a.", 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        onnx_message g = {0}, words = onnx_tensor_head("x", STRING, ONNX_SIZES(1));
        onnx_message split = onnx_node("Tokenizer", "x", "tokens"), shape = onnx_node("Shape", "tokens", "y");
        onnx_put_text(&words, 6, "a\nb");
        onnx_put_text(&split, 7, "com.microsoft");
        onnx_attribute_int(&split, "mark", 0);
        onnx_attribute_int(&split, "mincharnum", 1);
        onnx_attribute_text(&split, "pad_value", "#");
        onnx_attribute_text(&split, "tokenexp", rows[i].expression);
        onnx_graph_tensor(&g, words);
        onnx_graph_node(&g, split);
        onnx_graph_node(&g, shape);
        onnx_graph_output(&g, onnx_value("y", onnx_type(INT64, NULL, -1)));
        onnx_message m = onnx_model(g);
        onnx_opset(&m, "com.microsoft", 1);
        kn_onnx model = onnx_open(m);
        CHECK_VALUES(onnx_give(model, NULL, 0), 0, 1, (double)rows[i].tokens);
        kn_onnx_free(model);
    }
}

/* Weights belong to sequences, not to places of the output. */
static void test_word_counts(void)
{
    onnx_message node = onnx_node("TfIdfVectorizer", "x", "y");
    onnx_attribute_text(&node, "mode", "TFIDF");
    onnx_attribute_int(&node, "min_gram_length", 1);
    onnx_attribute_int(&node, "max_gram_length", 2);
    onnx_attribute_int(&node, "max_skip_count", 1);
    onnx_attribute_ints(&node, "ngram_counts", (const int64_t[]){0, 2}, 2);
    onnx_attribute_ints(&node, "ngram_indexes", (const int64_t[]){2, 0, 1}, 3);
    onnx_attribute_floats(&node, "weights", (const float[]){1, 10, 100}, 3);
    onnx_attribute_words(&node, "pool_strings", "a b a b");
    kn_onnx model = open_on_words(node, "a a b b", 4, FLOAT);
    CHECK_VALUES(onnx_give(model, NULL, 0), 0, 20, 300,
                 2); /* "a b" once side by side, twice with one between */
    kn_onnx_free(model);
}

int main(void)
{
    test_full_matches();
    test_wrong_patterns();
    test_finding();
    test_time_is_bounded();
    test_letters();
    test_operators();
    test_numbers_for_strings();
    test_further_operators();
    test_token_of_any_character();
    test_word_counts();
    kn_shutdown();
    onnx_free_kept();
    return check_report();
}
