/* Tensors of strings in operators that move elements: numbers stand for strings while the operator's own converter runs. */
#include "onnx/strings.h"
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
    {"com.microsoft", "ExpandDims", FIRST},
    {"com.microsoft", "GatherND", FIRST},
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

bool kni_convert_strings(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                         kni_datum *out, int32_t n_out)
{
    bool any = false;
    for (int32_t i = 0; i < n_in; i++) any = any || kni_kind_of(c, in[i]) == KNI_IS_STRINGS;
    const mover *m = any ? mover_of(node) : NULL;
    if (m) move(c, node, m, in, n_in, out, n_out);
    return m != NULL;
}
