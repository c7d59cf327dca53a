/* Tokenizer of com.microsoft: texts to tokens, by characters, between separators or by an expression of what a token is. */
#include "onnx/convert/text_parts.h"
#include <string.h>

typedef struct tokenizer {
    kni_conversion *c;
    kni_regex **separators;
    int64_t n_separators;
    kni_regex *token; /* NULL: separators */
    bool letters;     /* each character is a token */
    int64_t least;    /* characters of a token */
} tokenizer;

static void add_token(const tokenizer *t, kni_text_list *list, const char *from, size_t bytes)
{
    if (bytes && kni_utf8_count(from, bytes) >= t->least) kni_text_list_add(t->c, list, from, bytes);
}

static size_t letter_at(const kni_onnx_text *x, size_t at)
{
    size_t used = 1;
    if (at < x->bytes) kni_utf8_read(x->data + at, x->bytes - at, &used);
    return used;
}

/* What lies between matches of a separator. Where it matches nothing, the next character is what separates. */
static void split_by(const tokenizer *t, kni_regex *separator, const kni_onnx_text *x, kni_text_list *list)
{
    size_t at = 0, begin, end;
    while (at < x->bytes && kni_regex_find(separator, x->data, x->bytes, at, &begin, &end)) {
        add_token(t, list, x->data + at, begin - at);
        at = end > begin ? end : begin + letter_at(x, begin);
    }
    if (at < x->bytes) add_token(t, list, x->data + at, x->bytes - at);
}

static void find_tokens(const tokenizer *t, const kni_onnx_text *x, kni_text_list *list)
{
    size_t at = 0, begin, end;
    while (at < x->bytes && kni_regex_find(t->token, x->data, x->bytes, at, &begin, &end)) {
        add_token(t, list, x->data + begin, end - begin);
        at = end > begin ? end : begin + letter_at(x, begin);
    }
}

/* Each separator splits what the ones before have left. */
static void tokens_of(const tokenizer *t, const kni_onnx_text *x, kni_text_list *list)
{
    if (t->letters) {
        for (size_t at = 0; at < x->bytes; at += letter_at(x, at))
            kni_text_list_add(t->c, list, x->data + at, letter_at(x, at));
        return;
    }
    if (t->token) {
        find_tokens(t, x, list);
        return;
    }
    kni_text_list now = {0};
    kni_text_list_add(t->c, &now, x->data, x->bytes);
    for (int64_t s = 0; s < t->n_separators; s++) {
        kni_text_list next = {0};
        for (int64_t i = 0; i < now.count; i++) split_by(t, t->separators[s], &now.texts[i], &next);
        now = next;
    }
    for (int64_t i = 0; i < now.count; i++)
        kni_text_list_add(t->c, list, now.texts[i].data, now.texts[i].bytes);
}

static void read_tokenizer(const kni_onnx_node *node, kni_onnx_arena *arena, tokenizer *t)
{
    int64_t expressions = 0;
    const kni_onnx_text *separators = kni_node_texts(node, "separators", &t->n_separators);
    const kni_onnx_text *expression = kni_node_texts(node, "tokenexp", &expressions);
    t->least = kni_node_int(node, "mincharnum", 1);
    t->letters = t->n_separators == 1 && separators[0].bytes == 0;
    /* ONNX Runtime takes this one expression for any character, the end of a line too. */
    if (expressions == 1 && expression->bytes == 1 && *expression->data == '.') t->letters = true;
    if ((t->n_separators > 0) == (expressions > 0) || t->least < 1) {
        kni_convert_fail(t->c, KN_ERROR_ARGUMENT,
                         "it needs separators or a tokenexp, and a mincharnum from 1");
        return;
    }
    if (expressions) t->token = kni_regex_of(t->c, arena, expression);
    t->separators = kni_convert_memory(t->c, (size_t)t->n_separators, sizeof *t->separators);
    for (int64_t i = 0; t->separators && !t->letters && i < t->n_separators; i++)
        t->separators[i] = kni_regex_of(t->c, arena, &separators[i]);
}

/* Rows of tokens, all of one width: marks around those of a text, then what fills the row. */
static kni_datum rows_of(const tokenizer *t, const kni_onnx_node *node, const kni_text_list *all,
                         const int64_t *counts, int64_t n, int64_t *sizes, int32_t rank)
{
    int64_t mark = kni_node_int(node, "mark", 0) != 0, widest = 0, given = 0;
    const kni_onnx_text begin = {"\x02", 1}, end = {"\x03", 1}, nothing = {"", 0};
    const kni_onnx_text *fill = kni_node_texts(node, "pad_value", &given), *next = all->texts;
    if (!fill || !given) fill = &nothing;
    for (int64_t i = 0; i < n; i++)
        if (counts[i] > widest) widest = counts[i];
    if (widest) widest += 2 * mark;
    kni_onnx_text *y = kni_convert_memory(t->c, (size_t)n, (size_t)widest * sizeof *y);
    for (int64_t i = 0; y && widest && i < n; i++) {
        kni_onnx_text *row = y + i * widest;
        int64_t used = 0;
        if (mark) row[used++] = begin;
        for (int64_t k = 0; k < counts[i]; k++) row[used++] = *next++;
        if (mark) row[used++] = end;
        while (used < widest) row[used++] = *fill;
    }
    sizes[rank] = widest;
    return y && !kni_convert_failed(t->c) ? kni_strings_shaped(t->c, y, sizes, rank + 1) : KNI_ABSENT;
}

void kni_convert_tokenizer(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                           kni_datum *out, int32_t n_out)
{
    (void)n_in, (void)n_out;
    int64_t n = 0, sizes[KN_MAX_RANK];
    const kni_onnx_text *x = kni_known_strings(c, in[0], &n);
    int32_t rank = kni_string_sizes(c, in[0], sizes);
    int64_t *counts = kni_convert_memory(c, (size_t)n, sizeof *counts);
    kni_onnx_arena *arena = kni_onnx_arena_new();
    if (!arena) kni_convert_fail(c, KN_ERROR_MEMORY, "there is no memory for its expressions");
    if (rank < 1 || rank > 2)
        kni_convert_fail(c, KN_ERROR_SHAPE, "it takes texts in the shape [C] or [N, C]");
    tokenizer t = {.c = c};
    if (!kni_convert_failed(c)) read_tokenizer(node, arena, &t);
    kni_text_list all = {0};
    for (int64_t i = 0; i < n && !kni_convert_failed(c); i++) {
        int64_t before = all.count;
        tokens_of(&t, &x[i], &all);
        counts[i] = all.count - before;
    }
    if (!kni_convert_failed(c)) out[0] = n ? rows_of(&t, node, &all, counts, n, sizes, rank) : in[0];
    if (arena) kni_onnx_arena_free(arena);
}
