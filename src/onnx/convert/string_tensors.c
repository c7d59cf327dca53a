/* Tensors of strings in operators that move elements: numbers stand for strings while the operator's own converter runs. Casts between
   strings and numbers. */
#include "onnx/strings.h"
#include "support/buffer.h"
#include <locale.h>
#include <stdlib.h>
#include <string.h>

int kni_text_order(const kni_onnx_text *a, const kni_onnx_text *b)
{
    size_t n = a->bytes < b->bytes ? a->bytes : b->bytes;
    int order = n ? memcmp(a->data, b->data, n) : 0;
    return order ? order : (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

bool kni_text_same(const kni_onnx_text *a, const kni_onnx_text *b)
{
    return a->bytes == b->bytes && (a->bytes == 0 || memcmp(a->data, b->data, a->bytes) == 0);
}

int32_t kni_string_sizes(kni_conversion *c, kni_datum strings, int64_t *sizes)
{
    kni_extent extents[KN_MAX_RANK] = {{0}};
    int32_t rank = kni_extents_of(c, strings, extents);
    for (int32_t i = 0; i < rank; i++) sizes[i] = kni_extent_number(c, extents[i], "the shape of strings");
    return rank;
}

kni_datum kni_strings_shaped(kni_conversion *c, const kni_onnx_text *texts, const int64_t *sizes,
                             int32_t rank)
{
    kni_extent extents[KN_MAX_RANK];
    for (int32_t i = 0; i < rank; i++) extents[i] = KNI_EXTENT(sizes[i]);
    return kni_strings(c, texts, extents, rank);
}

/* ---- strings and their numbers */

typedef struct numbered {
    const kni_onnx_text *text;
    int64_t place; /* among all strings */
} numbered;

static int by_text(const void *a, const void *b)
{
    return kni_text_order(((const numbered *)a)->text, ((const numbered *)b)->text);
}

/* The number of each of `count` strings, in the order of their bytes; fills the pool. */
static void number_in_order(numbered *all, int64_t count, int64_t *numbers, kni_string_pool *pool)
{
    qsort(all, (size_t)count, sizeof *all, by_text);
    for (int64_t i = 0; i < count; i++) {
        if (i == 0 || !kni_text_same(all[i].text, all[i - 1].text)) pool->texts[pool->count++] = all[i].text;
        numbers[all[i].place] = pool->count - 1;
    }
}

kni_string_pool kni_strings_to_numbers(kni_conversion *c, const kni_datum *in, int32_t n, kni_datum *numbers)
{
    static const kni_onnx_text empty = {"", 0};
    kni_string_pool pool = {0};
    int64_t total = 1;
    for (int32_t i = 0; i < n; i++) {
        int64_t count = 0;
        if (kni_kind_of(c, in[i]) == KNI_IS_STRINGS) kni_known_strings(c, in[i], &count);
        total += count;
    }
    numbered *all = kni_convert_memory(c, (size_t)total, sizeof *all);
    int64_t *ids = kni_convert_memory(c, (size_t)total, sizeof *ids);
    pool.texts = kni_convert_memory(c, (size_t)total, sizeof *pool.texts);
    if (!all || !ids || !pool.texts || kni_convert_failed(c)) return (kni_string_pool){0};
    int64_t used = 0;
    all[used++] = (numbered){&empty, 0};
    for (int32_t i = 0; i < n; i++) {
        if (kni_kind_of(c, in[i]) != KNI_IS_STRINGS) continue;
        int64_t count = 0;
        const kni_onnx_text *texts = kni_known_strings(c, in[i], &count);
        for (int64_t k = 0; texts && k < count && used < total; k++, used++)
            all[used] = (numbered){&texts[k], used};
    }
    number_in_order(all, used, ids, &pool);
    const int64_t *next = ids + 1;
    for (int32_t i = 0; i < n; i++) {
        numbers[i] = in[i];
        if (kni_kind_of(c, in[i]) != KNI_IS_STRINGS) continue;
        int64_t sizes[KN_MAX_RANK], count = 0;
        int32_t rank = kni_string_sizes(c, in[i], sizes);
        kni_known_strings(c, in[i], &count);
        numbers[i] = kni_constant(c, next, KN_I64, sizes, rank);
        next += count;
    }
    return pool;
}

kni_datum kni_strings_from_numbers(kni_conversion *c, const kni_string_pool *pool, kni_datum numbers)
{
    int64_t count = 0;
    const int64_t *ids = kni_known_ints(c, numbers, "which strings there are", &count);
    if (!ids) return KNI_ABSENT;
    kni_onnx_text *texts = kni_convert_memory(c, (size_t)count, sizeof *texts);
    if (!texts) return KNI_ABSENT;
    for (int64_t i = 0; i < count; i++) {
        if (ids[i] < 0 || ids[i] >= pool->count) {
            kni_convert_fail(c, KN_ERROR_UNSUPPORTED, "it computes with strings, which only move");
            return KNI_ABSENT;
        }
        texts[i] = *pool->texts[ids[i]];
    }
    kni_extent extents[KN_MAX_RANK] = {{0}};
    int32_t rank = kni_extents_of(c, numbers, extents);
    return kni_strings(c, texts, extents, rank);
}

/* ---- operators that move elements */

/* Bit i of `outputs`: output i is strings where the operands were. */
typedef struct mover {
    const char *domain, *op;
    uint32_t outputs;
} mover;
enum { NONE_OF_THEM = 0, FIRST = 1, EACH = -1 };

static const mover movers[] = {
    {"", "Reshape", FIRST},
    {"", "Flatten", FIRST},
    {"", "Squeeze", FIRST},
    {"", "Unsqueeze", FIRST},
    {"", "Transpose", FIRST},
    {"", "Gather", FIRST},
    {"", "GatherND", FIRST},
    {"", "GatherElements", FIRST},
    {"", "Scatter", FIRST},
    {"", "ScatterND", FIRST},
    {"", "ScatterElements", FIRST},
    {"", "TensorScatter", FIRST},
    {"", "Concat", FIRST},
    {"", "Slice", FIRST},
    {"", "Expand", FIRST},
    {"", "Tile", FIRST},
    {"", "Pad", FIRST},
    {"", "Where", FIRST},
    {"", "Compress", FIRST},
    {"", "OneHot", FIRST},
    {"", "ReverseSequence", FIRST},
    {"", "DepthToSpace", FIRST},
    {"", "SpaceToDepth", FIRST},
    {"", "CenterCropPad", FIRST},
    {"", "Unique", FIRST},
    {"", "Split", (uint32_t)EACH},
    {"", "Equal", NONE_OF_THEM},
    {"", "Shape", NONE_OF_THEM},
    {"", "Size", NONE_OF_THEM},
    {"ai.onnx.ml", "ArrayFeatureExtractor", FIRST},
};

static const mover *mover_of(const kni_onnx_node *node)
{
    for (size_t i = 0; i < sizeof movers / sizeof *movers; i++)
        if (!strcmp(movers[i].op, node->op) && !strcmp(movers[i].domain, node->domain)) return &movers[i];
    return NULL;
}

/* The converter of the operator, with numbers for strings. */
static void move(kni_conversion *c, const kni_onnx_node *node, const mover *m, const kni_datum *in,
                 int32_t n_in, kni_datum *out, int32_t n_out)
{
    const kni_onnx_converter *row = kni_onnx_converter_of(node, NULL);
    size_t room = n_in > KNI_ONNX_ROOM ? (size_t)n_in : KNI_ONNX_ROOM;
    kni_datum *numbers = kni_convert_memory(c, room, sizeof *numbers);
    if (!row || !numbers) {
        kni_convert_fail(c, KN_ERROR_UNSUPPORTED, "there is no converter for it");
        return;
    }
    kni_string_pool pool = kni_strings_to_numbers(c, in, n_in, numbers);
    if (kni_convert_failed(c)) return;
    row->convert(c, node, numbers, n_in, out, n_out);
    for (int32_t i = 0; i < n_out && i < 32; i++)
        if (m->outputs >> i & 1 && kni_is_given(out[i])) out[i] = kni_strings_from_numbers(c, &pool, out[i]);
}

/* ---- casts. Numbers are read and written with a point, whatever the program's language. */

static void trim(const kni_onnx_text *text, const char **from, size_t *bytes)
{
    const char *begin = text->data, *end = text->data + text->bytes;
    while (begin < end && strchr(" \t\n\v\f\r", *begin) && *begin) begin++;
    while (end > begin && strchr(" \t\n\v\f\r", end[-1]) && end[-1]) end--;
    *from = begin;
    *bytes = (size_t)(end - begin);
}

bool kni_text_whole(const kni_onnx_text *text, int64_t *value)
{
    const char *at;
    size_t n;
    trim(text, &at, &n);
    bool minus = n > 0 && *at == '-';
    size_t i = n > 0 && (*at == '-' || *at == '+');
    if (i == n) return false;
    uint64_t sum = 0, limit = (uint64_t)INT64_MAX + minus;
    for (; i < n; i++) {
        uint64_t digit = (uint64_t)(unsigned char)at[i] - '0';
        if (digit > 9 || sum > (limit - digit) / 10) return false;
        sum = sum * 10 + digit;
    }
    *value = minus ? (int64_t)(0 - sum) : (int64_t)sum;
    return true;
}

bool kni_text_real(const kni_onnx_text *text, double *value)
{
    enum { LONGEST = 400 };
    char copy[LONGEST + 8];
    const char *at, *point = localeconv()->decimal_point;
    size_t n, length = 0;
    trim(text, &at, &n);
    if (n == 0 || n > LONGEST) return false;
    for (size_t i = 0; i < n; i++) {
        char letter = at[i];
        if (letter == '.' && length + strlen(point) < sizeof copy - (n - i)) {
            for (const char *p = point; *p; p++) copy[length++] = *p;
        } else if (letter > ' ' && letter < 127 && length + 1 < sizeof copy) {
            copy[length++] = letter;
        } else {
            return false;
        }
    }
    copy[length] = 0;
    char *end = NULL;
    *value = strtod(copy, &end);
    return end == copy + length;
}

/* Whole numbers exactly, everything else as a double. */
static kni_datum strings_to_numbers(kni_conversion *c, kni_datum x, kn_dtype dtype)
{
    int64_t count = 0, sizes[KN_MAX_RANK];
    const kni_onnx_text *texts = kni_known_strings(c, x, &count);
    double *reals = kni_convert_memory(c, (size_t)count, sizeof *reals);
    int64_t *wholes = kni_convert_memory(c, (size_t)count, sizeof *wholes);
    if (!texts || !reals || !wholes) return KNI_ABSENT;
    bool whole = true;
    for (int64_t i = 0; i < count; i++) {
        whole = whole && kni_text_whole(&texts[i], &wholes[i]);
        if (!kni_text_real(&texts[i], &reals[i])) {
            int length = texts[i].bytes > 40 ? 40 : (int)texts[i].bytes;
            kni_convert_fail(c, KN_ERROR_ARGUMENT, "'%.*s' is not a number", length, texts[i].data);
            return KNI_ABSENT;
        }
    }
    int32_t rank = kni_string_sizes(c, x, sizes);
    bool floats = dtype == KN_F64 || dtype == KN_F32 || dtype == KN_F16 || dtype == KN_BF16;
    kni_datum y = whole && !floats ? kni_constant(c, wholes, KN_I64, sizes, rank)
                                   : kni_constant(c, reals, KN_F64, sizes, rank);
    return kni_cast_to(c, y, dtype);
}

/* The fewest digits that read back as the same number, between `least` and `most`. */
static void write_real(kni_buffer *b, double value, bool single)
{
    if (value != value || value - value != 0) {
        kni_buffer_text(b, value != value ? "NaN" : value < 0 ? "-INF" : "INF");
        return;
    }
    size_t start = b->length;
    for (int digits = single ? 6 : 15; digits <= 17; digits++) {
        b->length = start;
        kni_buffer_format(b, "%.*g", digits, value);
        if (b->failed) return;
        double back = strtod(b->data + start, NULL);
        if (single ? (float)back == (float)value : back == value) break;
    }
    const char *point = localeconv()->decimal_point;
    char *found = *point && strcmp(point, ".") ? strstr(b->data + start, point) : NULL;
    if (!found) return;
    size_t more = strlen(point) - 1;
    *found = '.';
    memmove(found + 1, found + 1 + more, strlen(found + 1 + more) + 1);
    b->length -= more;
}

/* One text after the other in a buffer, whose places are known when it no longer grows. */
static kni_datum numbers_to_strings(kni_conversion *c, kni_datum x)
{
    kn_dtype dtype = kni_dtype_of(c, x);
    bool floats = dtype == KN_F64 || dtype == KN_F32 || dtype == KN_F16 || dtype == KN_BF16;
    int64_t count = 0, again = 0;
    const double *reals = floats ? kni_known_reals(c, x, "numbers that become strings", &count) : NULL;
    const int64_t *wholes = floats ? NULL : kni_known_ints(c, x, "numbers that become strings", &again);
    if (!floats) count = again;
    kni_onnx_text *texts = kni_convert_memory(c, (size_t)count, sizeof *texts);
    if (!texts || kni_convert_failed(c)) return KNI_ABSENT;
    kni_buffer b = {0};
    for (int64_t i = 0; i < count; i++) {
        size_t start = b.length;
        if (floats)
            write_real(&b, reals[i], dtype != KN_F64);
        else if (dtype == KN_U64 && wholes[i] < 0)
            kni_buffer_format(&b, "%llu", (unsigned long long)(uint64_t)wholes[i]);
        else
            kni_buffer_decimal(&b, wholes[i]);
        texts[i].bytes = b.length - start;
        kni_buffer_append(&b, "", 1);
    }
    kni_datum y = KNI_ABSENT;
    if (b.failed) {
        kni_convert_fail(c, KN_ERROR_MEMORY, "there is no memory for %lld strings", (long long)count);
    } else {
        const char *at = b.data;
        for (int64_t i = 0; i < count; at += texts[i++].bytes + 1) texts[i].data = at;
        kni_extent extents[KN_MAX_RANK] = {{0}};
        int32_t rank = kni_extents_of(c, x, extents);
        y = kni_strings(c, texts, extents, rank);
    }
    kni_buffer_free(&b);
    return y;
}

/* False where neither side is strings. */
static bool cast(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, kni_datum *out)
{
    bool like = !strcmp(node->op, "CastLike");
    bool from = kni_kind_of(c, in[0]) == KNI_IS_STRINGS;
    bool to = like ? kni_kind_of(c, in[1]) == KNI_IS_STRINGS : kni_node_int(node, "to", 0) == KNI_ONNX_STRING;
    if (!from && !to) return false;
    if (from && to)
        out[0] = in[0];
    else if (to)
        out[0] = numbers_to_strings(c, in[0]);
    else {
        kn_dtype dtype = like ? kni_dtype_of(c, in[1]) : kni_onnx_dtype((int32_t)kni_node_int(node, "to", 0));
        if (dtype == KN_DTYPE_NONE)
            kni_convert_fail(c, KN_ERROR_UNSUPPORTED, "strings do not become %s",
                             kni_onnx_type_name((int32_t)kni_node_int(node, "to", 0)));
        else
            out[0] = strings_to_numbers(c, in[0], dtype);
    }
    return true;
}

bool kni_convert_strings(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                         kni_datum *out, int32_t n_out)
{
    if (!*node->domain && (!strcmp(node->op, "Cast") || !strcmp(node->op, "CastLike")))
        return cast(c, node, in, out);
    bool any = false;
    for (int32_t i = 0; i < n_in; i++) any = any || kni_kind_of(c, in[i]) == KNI_IS_STRINGS;
    const mover *m = any ? mover_of(node) : NULL;
    if (m) move(c, node, m, in, n_in, out, n_out);
    return m != NULL;
}
