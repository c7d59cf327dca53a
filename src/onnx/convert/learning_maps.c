/* Operators of ai.onnx.ml that look things up: labels and categories, and maps of keys to values. */
#include "onnx/convert/convert_numbers.h"
#include "onnx/convert/learning.h"
#include "onnx/strings.h"
#include <stdlib.h>
#include <string.h>

/* ---- lists of keys or values */

/* Texts, whole numbers or real ones; `dtype` is KN_DTYPE_NONE of texts, and of an empty list that is none at all. */
typedef struct list {
    const kni_onnx_text *texts;
    const int64_t *wholes;
    const double *reals;
    int64_t n;
    kn_dtype dtype;
} list;

static list texts_list(const kni_onnx_text *texts, int64_t n) { return (list){.texts = texts, .n = n}; }
static list wholes_list(const int64_t *wholes, int64_t n)
{
    return (list){.wholes = wholes, .n = n, .dtype = KN_I64};
}

static list tensor_list(kni_conversion *c, const kni_onnx_tensor *tensor)
{
    list l = {.n = tensor->count};
    if (tensor->type == KNI_ONNX_STRING) {
        l.texts = tensor->strings;
        return l;
    }
    kni_datum x = kni_constant_of(c, tensor);
    l.dtype = kni_dtype_of(c, x);
    bool floats = l.dtype == KN_F32 || l.dtype == KN_F64;
    if (floats)
        l.reals = kni_known_reals(c, x, "its tensors", &l.n);
    else
        l.wholes = kni_known_ints(c, x, "its tensors", &l.n);
    return l;
}

/* The attributes which_strings, which_int64s, which_floats or which_tensor. */
static list list_of(kni_conversion *c, const kni_onnx_node *node, const char *const names[4])
{
    int64_t n = 0;
    const kni_onnx_text *texts = kni_node_texts(node, names[0], &n);
    if (texts) return texts_list(texts, n);
    const int64_t *wholes = kni_node_ints(node, names[1], &n);
    if (wholes) return wholes_list(wholes, n);
    list l = {.dtype = KN_F32};
    l.reals = kni_learning_list(c, node, names[2], &l.n, NULL);
    if (l.reals) return l;
    const kni_onnx_tensor *tensor = kni_node_tensor(node, names[3]);
    return tensor ? tensor_list(c, tensor) : (list){0};
}

/* ---- looking up. Places are those of keys; of what is not found the number of keys. */

typedef struct entry {
    const list *keys;
    int64_t place;
} entry;

static int compare_keys(const list *a, int64_t i, const list *b, int64_t j)
{
    if (a->texts) return kni_text_order(&a->texts[i], &b->texts[j]);
    if (a->wholes) return (a->wholes[i] > b->wholes[j]) - (a->wholes[i] < b->wholes[j]);
    double x = a->reals[i], y = b->reals[j];
    if (x != x || y != y) return (x != x) - (y != y); /* what is not a number comes last */
    return (x > y) - (x < y);
}

static int by_key(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    int order = compare_keys(x->keys, x->place, y->keys, y->place);
    return order ? order : (x->place > y->place) - (x->place < y->place);
}

/* Keys in order, each once: of equal ones the first, or the last. */
static entry *sorted_keys(kni_conversion *c, const list *keys, bool last, int64_t *count)
{
    entry *all = kni_convert_memory(c, (size_t)keys->n, sizeof *all);
    if (!all) return NULL;
    for (int64_t i = 0; i < keys->n; i++) all[i] = (entry){keys, i};
    if (keys->n) qsort(all, (size_t)keys->n, sizeof *all, by_key);
    *count = 0;
    for (int64_t i = 0; i < keys->n; i++) {
        bool again = *count && !compare_keys(keys, all[*count - 1].place, keys, all[i].place);
        if (again && last)
            all[*count - 1] = all[i];
        else if (!again)
            all[(*count)++] = all[i];
    }
    return all;
}

static int64_t place_of_text(const entry *all, int64_t count, const list *keys, const kni_onnx_text *text)
{
    int64_t low = 0, high = count;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        int order = kni_text_order(&keys->texts[all[middle].place], text);
        if (order == 0) return all[middle].place;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return keys->n;
}

static kni_datum places_of_texts(kni_conversion *c, kni_datum x, const list *keys, const entry *all,
                                 int64_t count)
{
    int64_t n = 0, sizes[KN_MAX_RANK];
    const kni_onnx_text *texts = kni_known_strings(c, x, &n);
    int32_t rank = kni_string_sizes(c, x, sizes);
    int64_t *places = kni_convert_memory(c, (size_t)n, sizeof *places);
    for (int64_t i = 0; texts && places && i < n; i++) places[i] = place_of_text(all, count, keys, &texts[i]);
    return texts && places ? kni_learning_wholes(c, places, sizes, rank) : KNI_ABSENT;
}

/* By binary search with ops, so that it runs anywhere. A key that is not a number is found apart from the others. */
static kni_datum places_of_numbers(kni_conversion *c, kni_datum x, const list *keys, const entry *all,
                                   int64_t count)
{
    kn_dtype dtype = keys->wholes ? KN_I64 : kni_learning_dtype(c, x);
    int64_t *wholes = kni_convert_memory(c, (size_t)count, sizeof *wholes), nan_place = -1, n = 0;
    int64_t *places = kni_convert_memory(c, (size_t)count, sizeof *places);
    double *reals = kni_convert_memory(c, (size_t)count, sizeof *reals);
    if (!wholes || !reals || !places) return KNI_ABSENT;
    for (int64_t i = 0; i < count; i++) {
        int64_t place = all[i].place;
        if (keys->wholes)
            wholes[n] = keys->wholes[place];
        else
            reals[n] = keys->reals[place];
        if (reals[n] != reals[n])
            nan_place = place;
        else
            places[n++] = place;
    }
    x = kni_cast_to(c, x, dtype);
    kni_extent sizes[KN_MAX_RANK];
    int32_t rank = kni_extents_of(c, x, sizes);
    kni_datum y = kni_filled(c, (double)keys->n, KN_I64, sizes, rank);
    if (n > 0) {
        kni_datum sorted =
            keys->wholes ? kni_learning_wholes(c, wholes, &n, 1) : kni_learning_reals(c, reals, &n, 1, dtype);
        kni_datum at = kni_emit2(c, "searchsorted", sorted, x);
        at = kni_emit2(c, "clamp_max", at, kni_whole_number(c, n - 1, KN_I64));
        kni_datum key = kni_emit(c, "take", KNI_LIST(sorted, at), KNI_GIVE(KNI_WHOLE("axis", 0)));
        kni_datum place = kni_emit(c, "take", KNI_LIST(kni_learning_wholes(c, places, &n, 1), at),
                                   KNI_GIVE(KNI_WHOLE("axis", 0)));
        y = kni_emit3(c, "where", kni_emit2(c, "equal", key, x), place, y);
    }
    if (nan_place >= 0)
        y = kni_emit3(c, "where", kni_emit1(c, "is_nan", x), kni_whole_number(c, nan_place, KN_I64), y);
    return y;
}

/* Values at places, which count from 0 to n; n is the default. */
static kni_datum values_at(kni_conversion *c, const list *values, const list *otherwise, kni_datum places)
{
    int64_t n = values->n + 1, count = 0;
    if (values->texts) {
        const int64_t *at = kni_known_ints(c, places, "the places of strings", &count);
        kni_onnx_text *texts = kni_convert_memory(c, (size_t)count, sizeof *texts);
        if (!at || !texts) return KNI_ABSENT;
        for (int64_t i = 0; i < count; i++)
            texts[i] = at[i] < values->n ? values->texts[at[i]] : otherwise->texts[0];
        kni_extent extents[KN_MAX_RANK];
        int32_t rank = kni_extents_of(c, places, extents);
        return kni_strings(c, texts, extents, rank);
    }
    double *reals = kni_convert_memory(c, (size_t)n, sizeof *reals);
    int64_t *wholes = kni_convert_memory(c, (size_t)n, sizeof *wholes);
    if (!reals || !wholes) return KNI_ABSENT;
    for (int64_t i = 0; i < n; i++) {
        const list *from = i < values->n ? values : otherwise;
        if (values->wholes)
            wholes[i] = from->wholes[i < values->n ? i : 0];
        else
            reals[i] = from->reals[i < values->n ? i : 0];
    }
    kni_datum table = values->wholes ? kni_learning_wholes(c, wholes, &n, 1)
                                     : kni_learning_reals(c, reals, &n, 1, values->dtype);
    table = kni_cast_to(c, table, values->dtype);
    return kni_emit(c, "take", KNI_LIST(table, places), KNI_GIVE(KNI_WHOLE("axis", 0)));
}

static kni_datum look_up(kni_conversion *c, kni_datum x, const list *keys, const list *values,
                         const list *otherwise, bool last)
{
    bool strings = kni_kind_of(c, x) == KNI_IS_STRINGS;
    int64_t count = 0;
    if (keys->n != values->n || strings != (keys->texts != NULL) || (!values->texts != !otherwise->texts) ||
        (!values->wholes != !otherwise->wholes) || otherwise->n < 1) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "its keys, values, default and input do not fit each other");
        return KNI_ABSENT;
    }
    entry *all = sorted_keys(c, keys, last, &count);
    if (!all) return KNI_ABSENT;
    kni_datum places =
        strings ? places_of_texts(c, x, keys, all, count) : places_of_numbers(c, x, keys, all, count);
    return values_at(c, values, otherwise, places);
}

/* ---- LabelEncoder and CategoryMapper */

typedef struct defaults {
    kni_onnx_text text;
    int64_t whole;
    double real;
} defaults;

/* The default that goes with values. */
static list default_of(kni_conversion *c, const kni_onnx_node *node, const list *values, defaults *d)
{
    int64_t n = 0;
    const kni_onnx_tensor *tensor = kni_node_tensor(node, "default_tensor");
    if (tensor && tensor->count > 0 && kni_node_tensor(node, "values_tensor")) return tensor_list(c, tensor);
    const kni_onnx_text *text = kni_node_texts(node, "default_string", &n);
    d->text = text && n ? *text : (kni_onnx_text){"_Unused", 7};
    d->whole = kni_node_int(node, "default_int64", -1);
    d->real = kni_node_real(node, "default_float", -0.0);
    if (values->texts) return texts_list(&d->text, 1);
    if (values->wholes) return wholes_list(&d->whole, 1);
    return (list){.reals = &d->real, .n = 1, .dtype = values->dtype};
}

/* Version 1 has one list: strings to their places, or places to strings. */
static void label_encoder_1(kni_conversion *c, const kni_onnx_node *node, kni_datum x, list *keys,
                            list *values)
{
    int64_t n = 0;
    const kni_onnx_text *texts = kni_node_texts(node, "classes_strings", &n);
    int64_t *numbers = kni_convert_memory(c, (size_t)n, sizeof *numbers);
    for (int64_t i = 0; numbers && i < n; i++) numbers[i] = i;
    bool strings = kni_kind_of(c, x) == KNI_IS_STRINGS;
    *keys = strings ? texts_list(texts, n) : wholes_list(numbers, n);
    *values = strings ? wholes_list(numbers, n) : texts_list(texts, n);
}

void kni_convert_label_encoder(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                               int32_t n_in, kni_datum *out, int32_t n_out)
{
    (void)n_in, (void)n_out;
    static const char *const key_names[4] = {"keys_strings", "keys_int64s", "keys_floats", "keys_tensor"};
    static const char *const value_names[4] = {"values_strings", "values_int64s", "values_floats",
                                               "values_tensor"};
    list keys, values;
    if (node->version < 2)
        label_encoder_1(c, node, in[0], &keys, &values);
    else {
        keys = list_of(c, node, key_names);
        values = list_of(c, node, value_names);
    }
    defaults d;
    list otherwise = default_of(c, node, &values, &d);
    if (!kni_convert_failed(c)) out[0] = look_up(c, in[0], &keys, &values, &otherwise, node->version >= 4);
}

void kni_convert_category_mapper(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                                 int32_t n_in, kni_datum *out, int32_t n_out)
{
    (void)n_in, (void)n_out;
    int64_t n = 0, m = 0;
    const kni_onnx_text *texts = kni_node_texts(node, "cats_strings", &n);
    const int64_t *wholes = kni_node_ints(node, "cats_int64s", &m);
    list names = texts_list(texts, n), numbers = wholes_list(wholes, m);
    bool strings = kni_kind_of(c, in[0]) == KNI_IS_STRINGS;
    list *values = strings ? &numbers : &names;
    defaults d;
    list otherwise = default_of(c, node, values, &d);
    out[0] = look_up(c, in[0], strings ? &names : &numbers, values, &otherwise, true);
}

/* ---- maps */

/* A map's values as a row, of which each place of the result takes one; place n (or more) takes nothing: 0 or "". */
static kni_datum spread(kni_conversion *c, kni_datum values, int64_t n, const int64_t *places, int64_t width)
{
    kni_datum at = kni_learning_wholes(c, places, (int64_t[]){1, width}, 2);
    if (kni_kind_of(c, values) == KNI_IS_STRINGS) {
        static const kni_onnx_text empty = {"", 0};
        int64_t count = 0;
        const kni_onnx_text *texts = kni_known_strings(c, values, &count);
        list all = texts_list(texts, count), none = texts_list(&empty, 1);
        return texts ? values_at(c, &all, &none, at) : KNI_ABSENT;
    }
    kni_extent count = KNI_EXTENT(n), one = KNI_EXTENT(1);
    kni_datum none = kni_filled(c, 0, kni_dtype_of(c, values), &one, 1);
    kni_datum table = kni_concat_of(c, (kni_datum[]){kni_reshape_to(c, values, &count, 1), none}, 2, 0);
    return kni_emit(c, "take", KNI_LIST(table, at), KNI_GIVE(KNI_WHOLE("axis", 0)));
}

/* The keys of a map, which are strings or whole numbers. */
static list keys_of(kni_conversion *c, kni_datum map)
{
    list l = {0};
    if (kni_kind_of(c, map) != KNI_IS_MAP) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "its input is not a map");
        return l;
    }
    kni_datum keys = kni_map_keys(c, map);
    if (kni_kind_of(c, keys) == KNI_IS_STRINGS) {
        l.texts = kni_known_strings(c, keys, &l.n);
    } else {
        l.wholes = kni_known_ints(c, keys, "the keys of a map", &l.n);
        l.dtype = KN_I64;
    }
    return l;
}

void kni_convert_dict_vectorizer(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                                 int32_t n_in, kni_datum *out, int32_t n_out)
{
    (void)n_in, (void)n_out;
    static const char *const names[4] = {"string_vocabulary", "int64_vocabulary", "", ""};
    list words = list_of(c, node, names), keys = keys_of(c, in[0]);
    if (!kni_convert_failed(c) && (!keys.texts != !words.texts || words.n == 0) && keys.n)
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "its vocabulary does not fit the keys of the map");
    int64_t count = 0;
    entry *all = kni_convert_failed(c) ? NULL : sorted_keys(c, &keys, true, &count);
    int64_t *places = kni_convert_memory(c, (size_t)words.n, sizeof *places);
    for (int64_t i = 0; all && places && i < words.n; i++) {
        int64_t low = 0, high = count;
        while (low < high) {
            int64_t middle = (low + high) / 2;
            if (compare_keys(&keys, all[middle].place, &words, i) < 0)
                low = middle + 1;
            else
                high = middle;
        }
        bool found = low < count && !compare_keys(&keys, all[low].place, &words, i);
        places[i] = found ? all[low].place : keys.n;
    }
    if (all && places) out[0] = spread(c, kni_map_values(c, in[0]), keys.n, places, words.n);
}

/* Values as strings or numbers. */
static kni_datum cast_values(kni_conversion *c, kni_datum x, const char *to)
{
    bool strings = kni_kind_of(c, x) == KNI_IS_STRINGS;
    if (!strcmp(to, "TO_STRING")) return strings ? x : kni_texts_of_numbers(c, x);
    kn_dtype dtype = !strcmp(to, "TO_INT64") ? KN_I64 : KN_F32;
    return strings ? kni_numbers_of_texts(c, x, dtype) : kni_cast_to(c, x, dtype);
}

/* In the order of the keys; or at the place that its key is, in a row of max_map. */
void kni_convert_cast_map(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                          kni_datum *out, int32_t n_out)
{
    (void)n_in, (void)n_out;
    bool dense = !strcmp(kni_node_text(node, "map_form", "DENSE"), "DENSE");
    list keys = keys_of(c, in[0]);
    int64_t count = 0, width = dense ? keys.n : kni_node_int(node, "max_map", 1);
    if (kni_convert_failed(c)) return;
    if (!keys.wholes || width < 0 || width > INT32_MAX) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT,
                         "it takes a map with whole numbers as keys, and a max_map from 0");
        return;
    }
    entry *all = sorted_keys(c, &keys, true, &count);
    int64_t *places = kni_convert_memory(c, (size_t)width, sizeof *places);
    if (!all || !places) return;
    for (int64_t i = 0; i < width; i++) places[i] = dense && i < count ? all[i].place : keys.n;
    for (int64_t i = 0; !dense && i < count; i++) {
        int64_t key = keys.wholes[all[i].place];
        if (key < 0 || key >= width) {
            kni_convert_fail(c, KN_ERROR_INDEX, "the key %lld is outside of a row of %lld", (long long)key,
                             (long long)width);
            return;
        }
        places[key] = all[i].place;
    }
    kni_datum values = cast_values(c, kni_map_values(c, in[0]), kni_node_text(node, "cast_to", "TO_FLOAT"));
    if (!kni_convert_failed(c)) out[0] = spread(c, values, keys.n, places, width);
}

/* Each row of scores becomes a map of labels to scores. A program has no maps: it gives the scores, a column for each label. */
void kni_convert_zip_map(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                         kni_datum *out, int32_t n_out)
{
    (void)n_in, (void)n_out;
    kni_learning_labels labels = kni_learning_labels_of(node, "classlabels_int64s");
    kni_datum x = kni_rank_of(c, in[0]) == 1 ? kni_unsqueeze_at(c, in[0], 0) : in[0], keys;
    bool now = kni_runs_now(c);
    int64_t rows = now ? kni_extent_number(c, kni_extent_of(c, x, 0), "the number of maps") : 0;
    kni_extent width = kni_extent_of(c, x, 1), count = KNI_EXTENT(labels.count);
    if (!kni_convert_failed(c) && (kni_rank_of(c, x) != 2 || !kni_extent_is(width, labels.count)))
        kni_convert_fail(c, KN_ERROR_SHAPE, "its scores need %lld columns, one for each label",
                         (long long)labels.count);
    out[0] = x;
    if (!now) return;
    kni_datum *maps = kni_convert_memory(c, (size_t)rows, sizeof *maps);
    if (!maps || kni_convert_failed(c)) return;
    keys = labels.texts ? kni_strings(c, labels.texts, &count, 1)
                        : kni_learning_wholes(c, labels.wholes, &labels.count, 1);
    for (int64_t i = 0; i < rows; i++) {
        kni_datum row = kni_slice_of(c, x, 0, KNI_EXTENT(i), KNI_EXTENT(i + 1));
        maps[i] = kni_map(c, keys, kni_reshape_to(c, row, &count, 1));
    }
    out[0] = kni_sequence(c, maps, rows);
}
