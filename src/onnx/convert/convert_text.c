/* Operators on strings: joining, splitting, cleaning, matching. They work on the host. */
#include "onnx/convert/text_parts.h"
#include <string.h>

void kni_text_list_add(kni_conversion *c, kni_text_list *list, const char *data, size_t bytes)
{
    if (list->count == list->room) {
        int64_t room = list->room ? list->room * 2 : 16;
        kni_onnx_text *texts = kni_convert_memory(c, (size_t)room, sizeof *texts);
        if (!texts) return;
        if (list->count) memcpy(texts, list->texts, (size_t)list->count * sizeof *texts);
        list->texts = texts;
        list->room = room;
    }
    list->texts[list->count++] = (kni_onnx_text){data, bytes};
}

kni_regex *kni_regex_of(kni_conversion *c, kni_onnx_arena *arena, const kni_onnx_text *pattern)
{
    const char *error = "there is no memory";
    kni_regex *r = arena ? kni_regex_compile(arena, pattern->data, pattern->bytes, &error) : NULL;
    if (!r) {
        int length = pattern->bytes > 60 ? 60 : (int)pattern->bytes;
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "the regular expression '%.*s': %s", length, pattern->data,
                         error);
    }
    return r;
}

/* ---- StringConcat */

/* Two shapes become one as in arithmetic; false where they do not fit. */
static bool broadcast(const int64_t *a, int32_t rank_a, const int64_t *b, int32_t rank_b, int64_t *out)
{
    int32_t rank = rank_a > rank_b ? rank_a : rank_b;
    for (int32_t i = 0; i < rank; i++) {
        int64_t x = i < rank - rank_a ? 1 : a[i - rank + rank_a],
                y = i < rank - rank_b ? 1 : b[i - rank + rank_b];
        if (x != y && x != 1 && y != 1) return false;
        out[i] = x == 1 ? y : x;
    }
    return true;
}

/* The element of a smaller shape at a place of the large one. */
static int64_t place_in(const int64_t *sizes, int32_t rank, const int64_t *at, int32_t large)
{
    int64_t place = 0;
    for (int32_t i = 0; i < rank; i++) place = place * sizes[i] + (sizes[i] == 1 ? 0 : at[i + large - rank]);
    return place;
}

static bool next_place(int64_t *at, const int64_t *sizes, int32_t rank)
{
    for (int32_t i = rank - 1; i >= 0; i--) {
        if (++at[i] < sizes[i]) return true;
        at[i] = 0;
    }
    return false;
}

static kni_onnx_text joined(kni_conversion *c, const kni_onnx_text *a, const kni_onnx_text *b)
{
    if (a->bytes == 0) return *b;
    if (b->bytes == 0) return *a;
    char *data = kni_convert_memory(c, a->bytes + b->bytes, 1);
    if (!data) return (kni_onnx_text){"", 0};
    memcpy(data, a->data, a->bytes);
    memcpy(data + a->bytes, b->data, b->bytes);
    return (kni_onnx_text){data, a->bytes + b->bytes};
}

static void string_concat(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                          kni_datum *out, int32_t n_out)
{
    (void)node, (void)n_in, (void)n_out;
    int64_t sizes[2][KN_MAX_RANK], whole[KN_MAX_RANK], at[KN_MAX_RANK] = {0}, counts[2], count = 1;
    int32_t ranks[2];
    const kni_onnx_text *texts[2];
    for (int i = 0; i < 2; i++) {
        texts[i] = kni_known_strings(c, in[i], &counts[i]);
        ranks[i] = kni_string_sizes(c, in[i], sizes[i]);
    }
    if (kni_convert_failed(c)) return;
    if (!broadcast(sizes[0], ranks[0], sizes[1], ranks[1], whole)) {
        kni_convert_fail(c, KN_ERROR_SHAPE, "the shapes of the strings do not fit each other");
        return;
    }
    int32_t rank = ranks[0] > ranks[1] ? ranks[0] : ranks[1];
    for (int32_t i = 0; i < rank; i++)
        if (__builtin_mul_overflow(count, whole[i], &count)) count = INT64_MAX / 2;
    kni_onnx_text *y = kni_convert_memory(c, (size_t)count, sizeof *y);
    for (int64_t i = 0; y && i < count; i++, next_place(at, whole, rank))
        y[i] = joined(c, &texts[0][place_in(sizes[0], ranks[0], at, rank)],
                      &texts[1][place_in(sizes[1], ranks[1], at, rank)]);
    if (y) out[0] = kni_strings_shaped(c, y, whole, rank);
}

/* ---- StringSplit */

static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* Parts between blanks; the last part is all that is left when there were `most` splits. */
static void split_at_blanks(kni_conversion *c, kni_text_list *list, const kni_onnx_text *x, int64_t most)
{
    const char *at = x->data, *end = x->data + x->bytes;
    while (end > at && is_blank(end[-1])) end--;
    for (int64_t splits = 0;; splits++) {
        while (at < end && is_blank(*at)) at++;
        if (at == end) return;
        const char *begin = at;
        while (at < end && (splits == most || !is_blank(*at))) at++;
        kni_text_list_add(c, list, begin, (size_t)(at - begin));
    }
}

/* Where `what` begins in the text from `at` on; NULL: nowhere. */
static const char *find_text(const char *at, const char *end, const kni_onnx_text *what)
{
    for (; (size_t)(end - at) >= what->bytes; at++)
        if (!memcmp(at, what->data, what->bytes)) return at;
    return NULL;
}

static void split_at_text(kni_conversion *c, kni_text_list *list, const kni_onnx_text *x,
                          const kni_onnx_text *delimiter, int64_t most)
{
    const char *at = x->data, *end = x->data + x->bytes, *found;
    if (x->bytes == 0) return;
    for (int64_t splits = 0; splits != most && (found = find_text(at, end, delimiter)); splits++) {
        kni_text_list_add(c, list, at, (size_t)(found - at));
        at = found + delimiter->bytes;
    }
    kni_text_list_add(c, list, at, (size_t)(end - at));
}

static void string_split(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                         kni_datum *out, int32_t n_out)
{
    (void)n_in;
    int64_t count, sizes[KN_MAX_RANK], given = 0, widest = 0;
    const kni_onnx_text *x = kni_known_strings(c, in[0], &count);
    const kni_onnx_text *delimiter = kni_node_texts(node, "delimiter", &given);
    int64_t most = kni_node_int(node, "maxsplit", -1);
    int32_t rank = kni_string_sizes(c, in[0], sizes);
    int64_t *counts = kni_convert_memory(c, (size_t)count, sizeof *counts);
    kni_text_list list = {0};
    if (!counts || kni_convert_failed(c)) return;
    for (int64_t i = 0; i < count; i++) {
        int64_t before = list.count;
        if (delimiter && given && delimiter->bytes)
            split_at_text(c, &list, &x[i], delimiter, most);
        else
            split_at_blanks(c, &list, &x[i], most);
        counts[i] = list.count - before;
        if (counts[i] > widest) widest = counts[i];
    }
    if (rank == KN_MAX_RANK || (count && widest > INT64_MAX / 32 / count)) {
        kni_convert_fail(c, KN_ERROR_SHAPE, "the parts would be a tensor that is too large");
        return;
    }
    kni_onnx_text *y = kni_convert_memory(c, (size_t)(count * widest), sizeof *y), *next = list.texts;
    for (int64_t i = 0; y && i < count; i++)
        for (int64_t k = 0; k < widest; k++)
            y[i * widest + k] = k < counts[i] ? *next++ : (kni_onnx_text){"", 0};
    sizes[rank] = widest;
    if (y && !kni_convert_failed(c)) out[0] = kni_strings_shaped(c, y, sizes, rank + 1);
    if (n_out > 1) out[1] = kni_constant(c, counts, KN_I64, sizes, rank);
}

/* ---- StringNormalizer. Letters change as Unicode has it, the same for all locales. */

static kni_onnx_text in_case(kni_conversion *c, const kni_onnx_text *x, bool upper)
{
    char *data = kni_convert_memory(c, x->bytes, 4); /* of a letter at most 4 bytes */
    size_t length = 0, used;
    for (size_t at = 0; data && at < x->bytes; at += used) {
        int32_t letter = kni_utf8_read(x->data + at, x->bytes - at, &used);
        if (letter < 0)
            data[length++] = x->data[at];
        else
            length +=
                kni_utf8_write(upper ? kni_letter_upper(letter) : kni_letter_lower(letter), data + length);
    }
    return (kni_onnx_text){data ? data : "", length};
}

static bool is_among(const kni_onnx_text *x, const kni_onnx_text *list, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (kni_text_same(x, &list[i])) return true;
    return false;
}

static void string_normalizer(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                              kni_datum *out, int32_t n_out)
{
    (void)n_in, (void)n_out;
    int64_t count, sizes[KN_MAX_RANK], stops = 0;
    const kni_onnx_text *x = kni_known_strings(c, in[0], &count);
    const kni_onnx_text *stopwords = kni_node_texts(node, "stopwords", &stops);
    const char *action = kni_node_text(node, "case_change_action", "NONE");
    bool exact = kni_node_int(node, "is_case_sensitive", 0) != 0;
    int32_t rank = kni_string_sizes(c, in[0], sizes);
    if (kni_convert_failed(c)) return;
    if (rank < 1 || rank > 2 || (rank == 2 && sizes[0] != 1)) {
        kni_convert_fail(c, KN_ERROR_SHAPE, "it takes strings in the shape [C] or [1, C]");
        return;
    }
    kni_onnx_text *words = kni_convert_memory(c, (size_t)stops, sizeof *words);
    for (int64_t i = 0; words && i < stops; i++)
        words[i] = exact ? stopwords[i] : in_case(c, &stopwords[i], false);
    kni_text_list list = {0};
    for (int64_t i = 0; words && i < count; i++) {
        kni_onnx_text same = exact || !stops ? x[i] : in_case(c, &x[i], false);
        if (is_among(&same, words, stops)) continue;
        kni_onnx_text y = strcmp(action, "NONE") ? in_case(c, &x[i], !strcmp(action, "UPPER")) : x[i];
        kni_text_list_add(c, &list, y.data, y.bytes);
    }
    if (list.count == 0) kni_text_list_add(c, &list, "", 0);
    sizes[rank - 1] = list.count;
    if (!kni_convert_failed(c)) out[0] = kni_strings_shaped(c, list.texts, sizes, rank);
}

/* ---- RegexFullMatch */

static void regex_full_match(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                             kni_datum *out, int32_t n_out)
{
    (void)n_in, (void)n_out;
    int64_t count, sizes[KN_MAX_RANK], given = 0;
    const kni_onnx_text *x = kni_known_strings(c, in[0], &count);
    const kni_onnx_text *pattern = kni_node_texts(node, "pattern", &given);
    int32_t rank = kni_string_sizes(c, in[0], sizes);
    bool *y = kni_convert_memory(c, (size_t)count, sizeof *y);
    if (!pattern || !given) kni_convert_fail(c, KN_ERROR_ARGUMENT, "the attribute pattern is missing");
    if (!y || kni_convert_failed(c)) return;
    kni_onnx_arena *arena = kni_onnx_arena_new();
    kni_regex *regex = kni_regex_of(c, arena, pattern);
    for (int64_t i = 0; regex && i < count; i++) y[i] = kni_regex_matches(regex, x[i].data, x[i].bytes);
    if (regex) out[0] = kni_constant(c, y, KN_BOOL, sizes, rank);
    if (arena) kni_onnx_arena_free(arena);
}

const kni_onnx_converter kni_onnx_text_ops[] = {
    {"", "StringConcat", 20, 0, string_concat, KNI_ONNX_HOST, "strings"},
    {"", "StringSplit", 20, 0, string_split, KNI_ONNX_HOST, "strings"},
    {"", "StringNormalizer", 10, 0, string_normalizer, KNI_ONNX_HOST, "strings"},
    {"", "RegexFullMatch", 20, 0, regex_full_match, KNI_ONNX_HOST, "strings"},
    {"", "TfIdfVectorizer", 9, 0, kni_convert_tfidf_vectorizer, KNI_ONNX_HOST, "i32 i64 strings"},
    {"com.microsoft", "Tokenizer", 1, 0, kni_convert_tokenizer, KNI_ONNX_HOST, "strings"},
    {0},
};
