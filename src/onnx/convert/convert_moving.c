/* Movement of strings: converters that only move elements move the places of the texts instead, with the ops that move numbers. */
#include "onnx/convert/convert_numbers.h"

/* The texts of all operands, one after the other, behind an empty one. */
typedef struct text_pool {
    const kni_onnx_text *texts;
    int64_t n;
} text_pool;

static bool is_texts(kni_conversion *c, kni_datum x)
{
    return kni_is_given(x) && kni_kind_of(c, x) == KNI_IS_STRINGS;
}

static text_pool pool_of(kni_conversion *c, const kni_datum *in, int32_t n_in)
{
    static const kni_onnx_text empty = {"", 0};
    int64_t total = 1, at = 1;
    for (int32_t i = 0; i < n_in; i++) {
        int64_t n = 0;
        if (is_texts(c, in[i]) && kni_known_strings(c, in[i], &n)) total += n;
    }
    kni_onnx_text *texts = kni_convert_memory(c, (size_t)total, sizeof *texts);
    if (!texts) return (text_pool){&empty, 1};
    texts[0] = empty;
    for (int32_t i = 0; i < n_in; i++) {
        int64_t n = 0;
        const kni_onnx_text *own = is_texts(c, in[i]) ? kni_known_strings(c, in[i], &n) : NULL;
        for (int64_t k = 0; own && k < n; k++) texts[at++] = own[k];
    }
    return (text_pool){texts, total};
}

static kni_datum texts_at(kni_conversion *c, const text_pool *pool, kni_datum places)
{
    kni_extent sizes[KN_MAX_RANK];
    int64_t n = 0;
    int32_t rank = kni_extents_of(c, places, sizes);
    const int64_t *at = kni_known_ints(c, places, "the places of strings", &n);
    kni_onnx_text *texts = kni_convert_memory(c, (size_t)(n > 0 ? n : 1), sizeof *texts);
    if (!at || !texts) return KNI_ABSENT;
    for (int64_t i = 0; i < n; i++) texts[i] = pool->texts[at[i] >= 0 && at[i] < pool->n ? at[i] : 0];
    return kni_strings(c, texts, sizes, rank);
}

void kni_convert_moving(KNI_CONVERTS, kni_convert_function *moves)
{
    bool any = false;
    for (int32_t i = 0; i < n_in; i++) any = any || is_texts(c, in[i]);
    if (!any) {
        moves(c, node, in, n_in, out, n_out);
        return;
    }
    text_pool pool = pool_of(c, in, n_in);
    kni_datum *places =
        kni_convert_memory(c, (size_t)(n_in > KNI_ONNX_ROOM ? n_in : KNI_ONNX_ROOM), sizeof *places);
    int64_t start = 1;
    for (int32_t i = 0; places && i < n_in; i++) {
        places[i] = in[i];
        if (!is_texts(c, in[i])) continue;
        kni_extent sizes[KN_MAX_RANK], count = kni_count_of(c, in[i]);
        int32_t rank = kni_extents_of(c, in[i], sizes);
        places[i] = kni_reshape_to(c, kni_counting(c, start, count, KN_I64), sizes, rank);
        start += count.value;
    }
    if (!places) return;
    moves(c, node, places, n_in, out, n_out);
    for (int32_t i = 0; i < n_out && !kni_convert_failed(c); i++)
        if (kni_is_given(out[i])) out[i] = texts_at(c, &pool, out[i]);
}
