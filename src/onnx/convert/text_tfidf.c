/* TfIdfVectorizer: counts sequences of words. Words of the pool get numbers, sequences of a length are kept in order, and each window of
   the input is looked up there. */
#include "onnx/convert/text_parts.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_COLUMNS = 1 << 28 };

typedef struct gram {
    const int64_t *words; /* numbers of the pool's words */
    int64_t length;
    int64_t id; /* its place among all, as weights and indexes have it */
} gram;

typedef struct vectorizer {
    gram *grams;        /* in order of length and words */
    int64_t count, ids; /* in use; in the pool */
    int64_t shortest, longest, skips;
    const int64_t *indexes;
    const float *weights; /* of each sequence; NULL: 1 */
    int64_t width;        /* of a row of the output */
    bool once;            /* a sequence counts once in a row */
} vectorizer;

static int by_words(const void *a, const void *b)
{
    const gram *x = a, *y = b;
    if (x->length != y->length) return (x->length > y->length) - (x->length < y->length);
    for (int64_t i = 0; i < x->length; i++)
        if (x->words[i] != y->words[i]) return (x->words[i] > y->words[i]) - (x->words[i] < y->words[i]);
    return 0;
}

static int by_words_and_id(const void *a, const void *b)
{
    const gram *x = a, *y = b;
    int order = by_words(a, b);
    return order ? order : (x->id > y->id) - (x->id < y->id);
}

/* ---- words and their numbers */

typedef struct vocabulary {
    const kni_onnx_text **texts; /* in order; NULL: words are whole numbers */
    int64_t count;
} vocabulary;

static int by_text(const void *a, const void *b)
{
    return kni_text_order(*(const kni_onnx_text *const *)a, *(const kni_onnx_text *const *)b);
}

/* The number of a text; -1 of one that is not in the pool. */
static int64_t number_of(const vocabulary *v, const kni_onnx_text *text)
{
    size_t low = 0, high = (size_t)v->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = kni_text_order(v->texts[middle], text);
        if (order == 0) return (int64_t)middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

static bool make_vocabulary(kni_conversion *c, const kni_onnx_text *texts, int64_t n, vocabulary *v)
{
    if (!texts) return true;
    v->texts = kni_convert_memory(c, (size_t)n, sizeof *v->texts);
    if (!v->texts) return false;
    for (int64_t i = 0; i < n; i++) v->texts[i] = &texts[i];
    qsort(v->texts, (size_t)n, sizeof *v->texts, by_text);
    for (int64_t i = 0; i < n; i++)
        if (i == 0 || !kni_text_same(v->texts[i], v->texts[v->count - 1])) v->texts[v->count++] = v->texts[i];
    return true;
}

/* ---- the pool */

/* Sequences of length 1, then of length 2, ... begin at counts[0], counts[1] ...; numbers[i]: word i of the pool. */
static bool fill_grams(kni_conversion *c, vectorizer *v, const int64_t *numbers, int64_t words,
                       const int64_t *counts, int64_t n_counts)
{
    v->grams = kni_convert_memory(c, (size_t)words, sizeof *v->grams);
    if (!v->grams) return false;
    int64_t id = 0;
    for (int64_t length = 1; length <= n_counts; length++) {
        int64_t at = counts[length - 1], end = length < n_counts ? counts[length] : words;
        if (at < 0 || end > words || at > end) {
            kni_convert_fail(c, KN_ERROR_ARGUMENT, "ngram_counts does not fit the pool of %lld",
                             (long long)words);
            return false;
        }
        for (; end - at >= length; at += length, id++)
            if (length >= v->shortest && length <= v->longest)
                v->grams[v->count++] = (gram){numbers + at, length, id};
    }
    v->ids = id;
    if (v->count) qsort(v->grams, (size_t)v->count, sizeof *v->grams, by_words_and_id);
    int64_t n = 0; /* of equal ones the last counts */
    for (int64_t i = 0; i < v->count; i++) {
        if (n > 0 && by_words(&v->grams[n - 1], &v->grams[i]) == 0) n--;
        v->grams[n++] = v->grams[i];
    }
    v->count = n;
    return true;
}

/* Every sequence has an index, and the largest of them is the width of the output. */
static bool check_indexes(kni_conversion *c, vectorizer *v, int64_t n, int64_t n_weights)
{
    bool good = v->weights == NULL || n_weights == n;
    for (int64_t i = 0; i < n && good; i++) {
        good = v->indexes[i] >= 0 && v->indexes[i] < MOST_COLUMNS;
        if (v->indexes[i] >= v->width) v->width = v->indexes[i] + 1;
    }
    for (int64_t i = 0; i < v->count && good; i++) good = v->grams[i].id < n;
    if (!good)
        kni_convert_fail(
            c, KN_ERROR_ARGUMENT,
            "each sequence of the pool needs an index of 0 or more in ngram_indexes, and a weight "
            "where there are any");
    return good;
}

/* ---- counting */

typedef struct row {
    const int64_t *words;
    int64_t n;
    int64_t *window; /* room for the longest sequence */
    int64_t *met;    /* for each sequence the row that met it last, from 1 */
    int64_t number;
    float *y;
} row;

static void count_one(const vectorizer *v, const row *r, const gram *found)
{
    if (v->once && r->met[found->id] == r->number) return;
    r->met[found->id] = r->number;
    r->y[v->indexes[found->id]] += v->weights ? v->weights[found->id] : 1;
}

/* All windows of a row that skip `step` - 1 words between two of theirs. */
static void count_windows(const vectorizer *v, const row *r, int64_t shortest, int64_t step)
{
    for (int64_t begin = 0; begin < r->n; begin++) {
        gram key = {r->window, 0, 0};
        for (int64_t at = begin; at < r->n && key.length < v->longest; at += step) {
            r->window[key.length++] = r->words[at];
            if (key.length < shortest) continue;
            const gram *found = bsearch(&key, v->grams, (size_t)v->count, sizeof *v->grams, by_words);
            if (found) count_one(v, r, found);
        }
    }
}

static void count_row(const vectorizer *v, const row *r)
{
    int64_t shortest = v->shortest;
    for (int64_t step = 1; v->count && step <= v->skips + 1 && step <= r->n + 1; step++) {
        count_windows(v, r, shortest, step);
        if (shortest == 1 && ++shortest > v->longest) break; /* single words have nothing between them */
    }
}

/* ---- the operator */

/* The words of a tensor as numbers. */
static int64_t *words_of(kni_conversion *c, kni_datum x, const vocabulary *v, int64_t *n)
{
    const kni_onnx_text *texts = v->texts ? kni_known_strings(c, x, n) : NULL;
    const int64_t *given = v->texts ? NULL : kni_known_ints(c, x, "the words", n);
    if (!texts && !given) return NULL;
    int64_t *words = kni_convert_memory(c, (size_t)*n, sizeof *words);
    for (int64_t i = 0; words && i < *n; i++) words[i] = texts ? number_of(v, &texts[i]) : given[i];
    return words;
}

/* The pool of the node: its words as numbers in *numbers, and how many. */
static bool read_pool(kni_conversion *c, const kni_onnx_node *node, vocabulary *words, vectorizer *v)
{
    int64_t n_texts = 0, n_ints = 0, n_counts = 0, n_weights = 0, n_indexes = 0;
    const kni_onnx_text *texts = kni_node_texts(node, "pool_strings", &n_texts);
    const int64_t *ints = kni_node_ints(node, "pool_int64s", &n_ints);
    const int64_t *counts = kni_node_ints(node, "ngram_counts", &n_counts);
    int64_t *numbers = kni_convert_memory(c, (size_t)n_texts, sizeof *numbers);
    if (n_texts && n_ints) kni_convert_fail(c, KN_ERROR_ARGUMENT, "it has two pools");
    if (!numbers || kni_convert_failed(c) || !make_vocabulary(c, n_texts ? texts : NULL, n_texts, words))
        return false;
    for (int64_t i = 0; i < n_texts; i++) numbers[i] = number_of(words, &texts[i]);
    const char *mode = kni_node_text(node, "mode", "TF");
    v->shortest = kni_node_int(node, "min_gram_length", 1);
    v->longest = kni_node_int(node, "max_gram_length", 1);
    v->skips = kni_node_int(node, "max_skip_count", 0);
    v->indexes = kni_node_ints(node, "ngram_indexes", &n_indexes);
    v->once = !strcmp(mode, "IDF");
    v->weights = strcmp(mode, "TF") ? kni_node_reals(node, "weights", &n_weights) : NULL;
    if (v->shortest < 1 || v->longest < v->shortest || v->skips < 0) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "the lengths of sequences must be 1 <= min <= max");
        return false;
    }
    if (v->longest > n_counts) v->longest = n_counts;
    return fill_grams(c, v, n_texts ? numbers : ints, n_texts ? n_texts : n_ints, counts, n_counts) &&
           check_indexes(c, v, n_indexes, n_weights);
}

void kni_convert_tfidf_vectorizer(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                                  int32_t n_in, kni_datum *out, int32_t n_out)
{
    (void)n_in, (void)n_out;
    vocabulary words = {0};
    vectorizer v = {0};
    if (!read_pool(c, node, &words, &v)) return;
    int64_t sizes[KN_MAX_RANK], n = 0;
    int32_t rank = kni_string_sizes(c, in[0], sizes);
    if (rank < 1 || rank > 2)
        kni_convert_fail(c, KN_ERROR_SHAPE, "it takes words in the shape [C] or [N, C]");
    int64_t *x = words_of(c, in[0], &words, &n);
    int64_t rows = rank == 2 ? sizes[0] : 1, length = rank > 0 ? sizes[rank - 1] : 0;
    row r = {.n = length};
    r.window = kni_convert_memory(c, (size_t)v.longest + 1, sizeof *r.window);
    r.met = kni_convert_memory(c, (size_t)v.ids + 1, sizeof *r.met);
    float *y = kni_convert_memory(c, (size_t)rows, (size_t)v.width * sizeof *y);
    if (!x || !r.window || !r.met || !y || kni_convert_failed(c)) return;
    for (int64_t i = 0; i < rows; i++) {
        r.words = x + i * length;
        r.y = y + i * v.width;
        r.number = i + 1;
        count_row(&v, &r);
    }
    sizes[rank - 1] = v.width;
    out[0] = kni_constant(c, y, KN_F32, sizes, rank);
}
