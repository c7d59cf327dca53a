/* Operators of com.microsoft over words and tokens: embeddings of words from their letters, windows along an axis, n-grams that may not come
   again, hashes, and the cheapest path through a matrix. */
#include "onnx/convert/fused_operators.h"
#include <string.h>

/* ---- UnfoldTensor: windows of `size` along `dim`, `step` apart, as a new last axis */

static kni_datum windows_of(kni_conversion *c, kni_datum x, int32_t axis, int64_t size, int64_t step)
{
    kni_extent count = kni_extent_sub(c, kni_extent_of(c, x, axis), KNI_EXTENT(size));
    count = kni_extent_add(c, kni_extent_div(c, count, KNI_EXTENT(step)), KNI_EXTENT(1));
    kni_datum starts = kni_unsqueeze_at(c, kni_counting(c, 0, count, KN_I64), 1);
    starts = kni_emit2(c, "mul", starts, kni_whole_number(c, step, KN_I64));
    kni_datum places = kni_emit2(c, "add", starts, kni_counting(c, 0, KNI_EXTENT(size), KN_I64));
    return kni_emit(c, "take", KNI_LIST(x, places), KNI_GIVE(KNI_WHOLE("axis", axis)));
}

void kni_convert_unfold(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                        kni_datum *out, int32_t n_out)
{
    int64_t size = kni_node_int(node, "size", 0), step = kni_node_int(node, "step", 1);
    int32_t axis = kni_axis_of(c, in[0], kni_node_int(node, "dim", -1)), rank = kni_rank_of(c, in[0]);
    int32_t order[KN_MAX_RANK];
    (void)n_in, (void)n_out;
    if (kni_convert_failed(c)) return;
    kni_extent whole = kni_extent_of(c, in[0], axis);
    if (size < 1 || step < 1 || rank + 1 > KN_MAX_RANK || (!whole.text && size > whole.value)) {
        kni_convert_fail(c, KN_ERROR_SHAPE, "windows of %lld, %lld apart, do not fit the axis",
                         (long long)size, (long long)step);
        return;
    }
    kni_datum y = windows_of(c, in[0], axis, size, step);
    for (int32_t i = 0; i < rank; i++) order[i] = i <= axis ? i : i + 1;
    order[rank] = axis + 1;
    out[0] = kni_permute_to(c, y, order, rank + 1);
}

/* ---- WordConvEmbedding: letters of words [.., length], weight [filters, 1, window, size], bias, a vector for each letter. Of each filter
   the largest tanh over the word, which is as long as it has letters above 0; a word that begins with 0 gives zeros. */

/* Which windows [words, windows] begin early enough: at 0, or so that they end within the word. */
static kni_datum within_words(kni_conversion *c, kni_datum some, kni_extent windows, int64_t width)
{
    const int32_t last = 1;
    kni_datum length = kni_reduce_over(c, "sum", kni_cast_to(c, some, KN_I64), &last, 1, true);
    length = kni_emit2(c, "maximum", length, kni_whole_number(c, width, KN_I64));
    kni_datum most = kni_emit2(c, "sub", length, kni_whole_number(c, width, KN_I64));
    return kni_emit2(c, "less_equal", kni_counting(c, 0, windows, KN_I64), most);
}

void kni_convert_word_conv(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                           kni_datum *out, int32_t n_out)
{
    kni_extent shape[KN_MAX_RANK], w[KN_MAX_RANK];
    int32_t rank = kni_extents_of(c, in[0], shape);
    (void)node, (void)n_in, (void)n_out;
    if (kni_convert_failed(c)) return;
    if (rank < 2 || kni_extents_of(c, in[1], w) != 4 || w[2].text || kni_rank_of(c, in[3]) != 2) {
        kni_convert_fail(c, KN_ERROR_SHAPE,
                         "takes words [.., length] and a weight [filters, 1, window, size]");
        return;
    }
    kni_datum words = kni_flatten_at(c, in[0], rank - 1);
    kni_datum none = kni_whole_number(c, 0, kni_dtype_of(c, words));
    kni_datum some = kni_emit2(c, "greater", words, none);
    kni_datum x = kni_emit(c, "take", KNI_LIST(in[3], words), KNI_GIVE(KNI_WHOLE("axis", 0)));
    x = windows_of(c, x, 1, w[2].value, 1);
    const kni_extent count = kni_extent_of(c, x, 0), windows = kni_extent_of(c, x, 1);
    const kni_extent across = kni_extent_mul(c, w[2], w[3]);
    x = kni_reshape_to(c, x, (kni_extent[]){count, windows, across}, 3);
    kni_datum weight = kni_reshape_to(c, in[1], (kni_extent[]){w[0], across}, 2);
    kni_datum y = kni_emit1(c, "tanh", kni_emit(c, "linear", KNI_LIST(x, weight, in[2]), NULL));
    kn_dtype dtype = kni_dtype_of(c, y);
    kni_datum keep = kni_unsqueeze_at(c, within_words(c, some, windows, w[2].value), 2);
    y = kni_emit3(c, "where", keep, y, kni_real_number(c, -1, dtype)); /* no tanh is less */
    y = kni_reduce_over(c, "max", y, (int32_t[]){1}, 1, false);
    kni_datum first = kni_slice_of(c, some, 1, KNI_EXTENT(0), KNI_EXTENT(1));
    y = kni_emit3(c, "where", first, y, kni_real_number(c, 0, dtype));
    shape[rank - 1] = w[0];
    out[0] = kni_reshape_to(c, y, shape, rank);
}

/* ---- NGramRepeatBlock: tokens [batch, length], scores [batch, words]. What would end an n-gram that was there already gets -infinity. */

static void block(const int64_t *tokens, int64_t length, int64_t n, int64_t words, uint8_t *blocked)
{
    const int64_t *tail = tokens + length - (n - 1);
    for (int64_t i = 0; i + n <= length; i++) {
        int64_t next = tokens[i + n - 1];
        bool again = memcmp(tokens + i, tail, (size_t)(n - 1) * sizeof *tokens) == 0;
        if (again && next >= 0 && next < words) blocked[next] = 1;
    }
}

void kni_convert_ngram_block(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                             kni_datum *out, int32_t n_out)
{
    int64_t n = kni_node_int(node, "ngram_size", 0), count = 0;
    kni_extent e[KN_MAX_RANK];
    (void)n_in, (void)n_out;
    bool good = kni_rank_of(c, in[0]) == 2 && kni_extents_of(c, in[1], e) == 2 && n > 0;
    if (!good)
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "takes tokens [batch, length], scores and an ngram_size");
    if (kni_convert_failed(c)) return;
    int64_t batch = kni_extent_number(c, e[0], "the batch"), words = kni_extent_number(c, e[1], "the words");
    const int64_t *tokens = kni_known_ints(c, in[0], "the tokens", &count);
    if (kni_convert_failed(c) || !tokens || batch < 1) return;
    int64_t length = count / batch;
    uint8_t *blocked = kni_convert_memory(c, (size_t)batch, (size_t)words);
    if (!blocked) return;
    for (int64_t i = 0; i < batch && length >= n; i++)
        block(tokens + i * length, length, n, words, blocked + i * words);
    kni_datum mask = kni_constant(c, blocked, KN_BOOL, (int64_t[]){batch, words}, 2);
    out[0] = kni_emit3(c, "where", mask, kni_real_number(c, -__builtin_inf(), kni_dtype_of(c, in[1])), in[1]);
}

/* ---- MurmurHash3 of 32 bits, of each element's bytes */

static uint32_t turned(uint32_t x, int by) { return x << by | x >> (32 - by); }

static uint32_t murmur_block(uint32_t k) { return turned(k * 0xcc9e2d51U, 15) * 0x1b873593U; }

static uint32_t murmur(const void *data, size_t bytes, uint32_t h)
{
    const unsigned char *p = data;
    uint32_t k = 0;
    size_t rest = bytes % 4;
    for (size_t i = 0; i + 4 <= bytes; i += 4) {
        uint32_t four =
            (uint32_t)p[i] | (uint32_t)p[i + 1] << 8 | (uint32_t)p[i + 2] << 16 | (uint32_t)p[i + 3] << 24;
        h = turned(h ^ murmur_block(four), 13) * 5 + 0xe6546b64U;
    }
    for (size_t i = 0; i < rest; i++) k |= (uint32_t)p[bytes - rest + i] << (8 * i);
    if (rest) h ^= murmur_block(k);
    h ^= (uint32_t)bytes;
    h = (h ^ h >> 16) * 0x85ebca6bU;
    h = (h ^ h >> 13) * 0xc2b2ae35U;
    return h ^ h >> 16;
}

/* The bytes of element i as the dtype stores it: 4 or 8. */
static uint32_t hash_number(kn_dtype dtype, double real, int64_t whole, uint32_t seed)
{
    float narrow = (float)real;
    uint32_t half = (uint32_t)whole;
    if (dtype == KN_F32) return murmur(&narrow, sizeof narrow, seed);
    if (dtype == KN_F64) return murmur(&real, sizeof real, seed);
    return kn_dtype_bytes(dtype, 1) > 4 ? murmur(&whole, sizeof whole, seed)
                                        : murmur(&half, sizeof half, seed);
}

void kni_convert_murmur_hash(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                             kni_datum *out, int32_t n_out)
{
    kni_extent e[KN_MAX_RANK];
    int64_t n = 0, sizes[KN_MAX_RANK];
    int32_t rank = kni_extents_of(c, in[0], e);
    uint32_t seed = (uint32_t)kni_node_int(node, "seed", 0);
    bool texts = kni_kind_of(c, in[0]) == KNI_IS_STRINGS;
    kn_dtype dtype = texts ? KN_DTYPE_NONE : kni_dtype_of(c, in[0]);
    bool floats = dtype == KN_F32 || dtype == KN_F64;
    (void)n_in, (void)n_out;
    const kni_onnx_text *list = texts ? kni_known_strings(c, in[0], &n) : NULL;
    const double *reals = floats ? kni_known_reals(c, in[0], "what is hashed", &n) : NULL;
    const int64_t *wholes = !texts && !floats ? kni_known_ints(c, in[0], "what is hashed", &n) : NULL;
    uint32_t *hashes = kni_convert_failed(c) ? NULL : kni_convert_memory(c, (size_t)n, sizeof *hashes);
    if (!hashes || (!list && !reals && !wholes)) return;
    for (int64_t i = 0; i < n; i++)
        hashes[i] = texts ? murmur(list[i].data, list[i].bytes, seed)
                          : hash_number(dtype, reals ? reals[i] : 0, wholes ? wholes[i] : 0, seed);
    for (int32_t i = 0; i < rank; i++) sizes[i] = kni_extent_number(c, e[i], "a size");
    out[0] = kni_constant(c, hashes, kni_node_int(node, "positive", 1) ? KN_U32 : KN_I32, sizes, rank);
}

/* ---- DynamicTimeWarping: costs [rows, columns] or [1, rows, columns] to the steps [2, n] of the cheapest way from corner to corner */

/* The cost of reaching each place, in place, and where its way comes from: 0 the diagonal, 1 the row above, 2 the column before. */
static void find_ways(int64_t rows, int64_t columns, double *cost, uint8_t *from)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            double best[3] = {i && j ? cost[(i - 1) * columns + j - 1] : __builtin_inf(),
                              i ? cost[(i - 1) * columns + j] : __builtin_inf(),
                              j ? cost[i * columns + j - 1] : __builtin_inf()};
            uint8_t way = best[0] < best[1] && best[0] < best[2]   ? 0
                          : best[1] < best[0] && best[1] < best[2] ? 1
                                                                   : 2;
            if (i || j) cost[i * columns + j] += best[way];
            from[i * columns + j] = way;
        }
}

void kni_convert_time_warping(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                              kni_datum *out, int32_t n_out)
{
    kni_extent e[KN_MAX_RANK];
    int64_t count = 0, n = 0;
    int32_t rank = kni_extents_of(c, in[0], e);
    (void)node, (void)n_in, (void)n_out;
    if (!kni_convert_failed(c) && (rank < 2 || rank > 3 || (rank == 3 && !kni_extent_is(e[0], 1))))
        kni_convert_fail(c, KN_ERROR_SHAPE, "takes costs [rows, columns]");
    if (kni_convert_failed(c)) return;
    int64_t rows = kni_extent_number(c, e[rank - 2], "rows"),
            columns = kni_extent_number(c, e[rank - 1], "columns");
    const double *given = kni_known_reals(c, in[0], "the costs", &count);
    if (kni_convert_failed(c) || !given || count != rows * columns || !count) return;
    double *cost = kni_convert_memory(c, (size_t)count, sizeof *cost);
    uint8_t *from = kni_convert_memory(c, (size_t)count, 1);
    int32_t *path = kni_convert_memory(c, (size_t)(rows + columns), 2 * sizeof *path);
    if (!cost || !from || !path) return;
    memcpy(cost, given, (size_t)count * sizeof *cost);
    find_ways(rows, columns, cost, from);
    for (int64_t i = rows - 1, j = columns - 1; i >= 0 && j >= 0; n++) {
        path[2 * n] = (int32_t)i, path[2 * n + 1] = (int32_t)j;
        uint8_t way = !i && !j ? 0 : !i ? 2 : !j ? 1 : from[i * columns + j];
        i -= way != 2, j -= way != 1;
    }
    int32_t *steps = kni_convert_memory(c, (size_t)n, 2 * sizeof *steps);
    if (!steps) return;
    for (int64_t i = 0; i < n; i++)
        steps[i] = path[2 * (n - 1 - i)], steps[n + i] = path[2 * (n - 1 - i) + 1];
    out[0] = kni_constant(c, steps, KN_I32, (int64_t[]){2, n}, 2);
}
