/* Operators of ai.onnx.ml on features: scaling, missing values, categories; and the table of all of them. */
#include "onnx/convert/learning.h"
#include <string.h>

#define UNUSED_COUNTS (void)n_in, (void)n_out

static void array_feature_extractor(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                                    int32_t n_in, kni_datum *out, int32_t n_out)
{
    (void)node, UNUSED_COUNTS;
    int32_t rank = kni_rank_of(c, in[0]);
    kni_extent count = kni_count_of(c, in[1]);
    kni_datum places = kni_reshape_to(c, in[1], &count, 1);
    kni_datum x = rank == 1 ? kni_unsqueeze_at(c, in[0], 0) : in[0];
    int64_t axis = rank > 1 ? rank - 1 : 1;
    out[0] =
        kni_emit(c, "take", KNI_LIST(x, places), KNI_GIVE(KNI_WHOLE("axis", axis), KNI_WHOLE("negative", 1)));
}

static void binarizer(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                      kni_datum *out, int32_t n_out)
{
    UNUSED_COUNTS;
    kn_dtype dtype = kni_dtype_of(c, in[0]);
    bool floats = dtype == KN_F32 || dtype == KN_F64;
    kni_datum limit = kni_real_number(c, kni_node_real(node, "threshold", 0), floats ? dtype : KN_F64);
    kni_datum x = floats ? in[0] : kni_cast_to(c, in[0], KN_F64);
    out[0] = kni_cast_to(c, kni_emit2(c, "greater", x, limit), dtype);
}

/* Columns of all inputs side by side, as f32. */
static void feature_vectorizer(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                               int32_t n_in, kni_datum *out, int32_t n_out)
{
    (void)n_out;
    int64_t n = 0;
    const int64_t *widths = kni_node_ints(node, "inputdimensions", &n);
    kni_datum *parts = kni_convert_memory(c, (size_t)n_in, sizeof *parts);
    for (int32_t i = 0; parts && i < n_in; i++) {
        int32_t rank = kni_rank_of(c, in[i]);
        parts[i] = kni_flatten_at(c, kni_cast_to(c, in[i], KN_F32), rank > 1 ? 1 : 0);
        kni_extent width = kni_extent_of(c, parts[i], 1);
        if (i < n && !width.text && width.value != widths[i])
            kni_convert_fail(c, KN_ERROR_SHAPE, "input %d has %lld columns, not the %lld of inputdimensions",
                             i, (long long)width.value, (long long)widths[i]);
    }
    if (parts) out[0] = kni_concat_of(c, parts, n_in, 1);
}

/* One number for all features, or one for each; [n] broadcasts along the last axis. */
static kni_datum per_feature(kni_conversion *c, const kni_onnx_node *node, const char *name, kn_dtype dtype)
{
    int64_t n = 0, whole = 0;
    const int64_t *ints = kni_node_ints(node, name, &whole);
    if (ints) return kni_cast_to(c, kni_learning_wholes(c, ints, &whole, whole != 1), dtype);
    const double *reals = kni_learning_list(c, node, name, &n, NULL);
    return reals ? kni_learning_reals(c, reals, &n, n != 1, dtype) : KNI_ABSENT;
}

static void imputer(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                    kni_datum *out, int32_t n_out)
{
    UNUSED_COUNTS;
    kn_dtype dtype = kni_dtype_of(c, in[0]);
    bool floats = dtype == KN_F32 || dtype == KN_F64;
    double lost = kni_node_real(node, "replaced_value_float", 0);
    kni_datum values = per_feature(c, node, floats ? "imputed_value_floats" : "imputed_value_int64s", dtype),
              missing;
    if (!kni_is_given(values)) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "it has no values to put in place of missing ones");
        return;
    }
    if (floats && lost != lost)
        missing = kni_emit1(c, "is_nan", in[0]);
    else if (floats)
        missing = kni_emit2(c, "equal", in[0], kni_real_number(c, lost, dtype));
    else
        missing = kni_emit2(c, "equal", in[0],
                            kni_whole_number(c, kni_node_int(node, "replaced_value_int64", 0), dtype));
    out[0] = kni_emit3(c, "where", missing, values, in[0]);
}

/* Each row divided by its largest element, the sum of sizes, or its length; rows where that is 0 stay. */
static void normalizer(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                       kni_datum *out, int32_t n_out)
{
    UNUSED_COUNTS;
    const char *norm = kni_node_text(node, "norm", "MAX");
    kn_dtype dtype = kni_learning_dtype(c, in[0]);
    kni_datum x = kni_cast_to(c, in[0], dtype), by;
    int32_t axis = kni_axis_of(c, x, -1);
    if (!strcmp(norm, "MAX"))
        by = kni_reduce_over(c, "max", x, &axis, 1, true);
    else if (!strcmp(norm, "L1"))
        by = kni_reduce_over(c, "sum", kni_emit1(c, "abs", x), &axis, 1, true);
    else if (!strcmp(norm, "L2"))
        by = kni_emit1(c, "sqrt", kni_reduce_over(c, "sum", kni_emit1(c, "square", x), &axis, 1, true));
    else {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "there is no norm '%s'", norm);
        return;
    }
    kni_datum none = kni_emit2(c, "equal", by, kni_real_number(c, 0, dtype));
    kni_datum safe = kni_emit3(c, "where", none, kni_real_number(c, 1, dtype), by);
    out[0] = kni_cast_to(c, kni_emit2(c, "div", x, safe), KN_F32);
}

static void scaler(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                   kni_datum *out, int32_t n_out)
{
    UNUSED_COUNTS;
    kn_dtype dtype = kni_learning_dtype(c, in[0]);
    kni_datum x = kni_cast_to(c, in[0], dtype), offset = per_feature(c, node, "offset", dtype);
    kni_datum scale = per_feature(c, node, "scale", dtype);
    if (kni_is_given(offset)) x = kni_emit2(c, "sub", x, offset);
    if (kni_is_given(scale)) x = kni_emit2(c, "mul", x, scale);
    out[0] = kni_cast_to(c, x, KN_F32);
}

/* ---- OneHotEncoder */

/* The place of each text among the categories, -1 where it is none. */
static kni_datum places_of_texts(kni_conversion *c, kni_datum x, const kni_onnx_text *categories, int64_t n)
{
    int64_t count = 0, sizes[KN_MAX_RANK];
    const kni_onnx_text *texts = kni_known_strings(c, x, &count);
    int64_t *places = kni_convert_memory(c, (size_t)count, sizeof *places);
    int32_t rank = kni_rank_of(c, x);
    for (int32_t i = 0; i < rank; i++) sizes[i] = kni_extent_of(c, x, i).value;
    for (int64_t i = 0; texts && places && i < count; i++) {
        places[i] = -1;
        for (int64_t k = 0; k < n && places[i] < 0; k++)
            if (texts[i].bytes == categories[k].bytes &&
                !memcmp(texts[i].data, categories[k].data, texts[i].bytes))
                places[i] = k;
    }
    return texts && places ? kni_constant(c, places, KN_I64, sizes, rank) : KNI_ABSENT;
}

/* Where the model says that every element has a category, an element without one fails, if it can be looked at. */
static void check_categories(kni_conversion *c, kni_datum one_hot)
{
    const int32_t last = kni_axis_of(c, one_hot, -1);
    kni_datum found =
        kni_reduce_over(c, "all", kni_reduce_over(c, "any", one_hot, &last, 1, false), NULL, 0, false);
    if (kni_is_known(c, found) && !kni_known_int(c, found, "whether all have a category", 1))
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "an element is in none of its categories");
}

static void one_hot_encoder(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                            kni_datum *out, int32_t n_out)
{
    UNUSED_COUNTS;
    int64_t n_texts = 0, n = 0;
    const kni_onnx_text *texts = kni_node_texts(node, "cats_strings", &n_texts);
    const int64_t *wholes = kni_node_ints(node, "cats_int64s", &n);
    bool strings = kni_kind_of(c, in[0]) == KNI_IS_STRINGS;
    kni_datum x, all;
    if (strings) {
        x = places_of_texts(c, in[0], texts, n_texts);
        all = kni_counting(c, 0, KNI_EXTENT(n_texts), KN_I64);
    } else {
        x = kni_cast_to(c, in[0], KN_I64);
        all = kni_learning_wholes(c, wholes, &n, 1);
    }
    kni_datum hot = kni_emit2(c, "equal", kni_unsqueeze_at(c, x, kni_rank_of(c, x)), all);
    if (!kni_node_int(node, "zeros", 1)) check_categories(c, hot);
    out[0] = kni_cast_to(c, hot, KN_F32);
}

#define ML "ai.onnx.ml"
#define NUMBERS "f32 f64 i32 i64"
const kni_onnx_converter kni_onnx_learning[] = {
    {ML, "ArrayFeatureExtractor", 1, 0, array_feature_extractor, 0, NUMBERS " strings"},
    {ML, "Binarizer", 1, 0, binarizer, 0, NUMBERS},
    {ML, "CastMap", 1, 0, kni_convert_cast_map, KNI_ONNX_HOST, "maps"},
    {ML, "CategoryMapper", 1, 0, kni_convert_category_mapper, KNI_ONNX_HOST, "i64 strings"},
    {ML, "DictVectorizer", 1, 0, kni_convert_dict_vectorizer, 0, "maps"},
    {ML, "FeatureVectorizer", 1, 0, feature_vectorizer, 0, NUMBERS},
    {ML, "Imputer", 1, 0, imputer, 0, NUMBERS},
    {ML, "LabelEncoder", 1, 0, kni_convert_label_encoder, 0, "f32 f64 i16 i32 i64 strings"},
    {ML, "LinearClassifier", 1, 0, kni_convert_linear_classifier, 0, NUMBERS},
    {ML, "LinearRegressor", 1, 0, kni_convert_linear_regressor, 0, NUMBERS},
    {ML, "Normalizer", 1, 0, normalizer, 0, NUMBERS},
    {ML, "OneHotEncoder", 1, 0, one_hot_encoder, 0, NUMBERS " strings"},
    {ML, "SVMClassifier", 1, 0, kni_convert_svm_classifier, 0, NUMBERS},
    {ML, "SVMRegressor", 1, 0, kni_convert_svm_regressor, 0, NUMBERS},
    {ML, "Scaler", 1, 0, scaler, 0, NUMBERS},
    {ML, "TreeEnsemble", 5, 0, kni_convert_tree_ensemble, 0, "f32 f64 f16"},
    {ML, "TreeEnsembleClassifier", 1, 0, kni_convert_tree_classifier, 0, NUMBERS},
    {ML, "TreeEnsembleRegressor", 1, 0, kni_convert_tree_regressor, 0, NUMBERS},
    {ML, "ZipMap", 1, 0, kni_convert_zip_map, 0, "f32"},
    {0},
};
