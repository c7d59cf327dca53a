/* From scores to what models of ai.onnx.ml give: transformed scores and labels; and the lists of numbers that they are made of. */
#include "onnx/convert/learning.h"
#include <string.h>

kn_dtype kni_learning_dtype(kni_conversion *c, kni_datum x)
{
    return kni_dtype_of(c, x) == KN_F64 ? KN_F64 : KN_F32;
}

kni_datum kni_learning_rows(kni_conversion *c, kni_datum x, kn_dtype dtype)
{
    int32_t rank = kni_rank_of(c, x);
    if (rank < 1 || rank > 2) {
        kni_convert_fail(c, KN_ERROR_SHAPE, "it takes features in the shape [C] or [N, C]");
        return KNI_ABSENT;
    }
    x = kni_cast_to(c, x, dtype);
    return rank == 2 ? x : kni_unsqueeze_at(c, x, 0);
}

kni_datum kni_learning_reals(kni_conversion *c, const double *reals, const int64_t *sizes, int32_t rank,
                             kn_dtype dtype)
{
    int64_t n = 1;
    for (int32_t i = 0; i < rank; i++) n *= sizes[i];
    if (dtype == KN_F64) return kni_constant(c, reals, KN_F64, sizes, rank);
    float *floats = kni_convert_memory(c, (size_t)n, sizeof *floats);
    for (int64_t i = 0; floats && i < n; i++) floats[i] = (float)reals[i];
    return floats ? kni_constant(c, floats, KN_F32, sizes, rank) : KNI_ABSENT;
}

kni_datum kni_learning_wholes(kni_conversion *c, const int64_t *wholes, const int64_t *sizes, int32_t rank)
{
    return kni_constant(c, wholes, KN_I64, sizes, rank);
}

const double *kni_learning_tensor(kni_conversion *c, const kni_onnx_tensor *tensor, int64_t *n)
{
    return kni_known_reals(c, kni_constant_of(c, tensor), "its tensors", n);
}

const double *kni_learning_list(kni_conversion *c, const kni_onnx_node *node, const char *name, int64_t *n,
                                bool *wide)
{
    char longer[64];
    size_t length = strlen(name);
    const char *ending = "_as_tensor";
    const float *floats = kni_node_reals(node, name, n);
    if (floats) {
        double *reals = kni_convert_memory(c, (size_t)*n, sizeof *reals);
        for (int64_t i = 0; reals && i < *n; i++) reals[i] = floats[i];
        return reals;
    }
    if (length + strlen(ending) >= sizeof longer) return NULL;
    memcpy(longer, name, length);
    memcpy(longer + length, ending, strlen(ending) + 1);
    const kni_onnx_tensor *tensor = kni_node_tensor(node, longer);
    if (!tensor) return NULL;
    if (wide) *wide = *wide || tensor->type == KNI_ONNX_DOUBLE;
    return kni_learning_tensor(c, tensor, n);
}

/* ---- transforms */

/* exp(x - top) / sum, but scores that are 0 stay 0. */
static kni_datum softmax_zero(kni_conversion *c, kni_datum x)
{
    const int32_t axis = 1;
    kn_dtype dtype = kni_dtype_of(c, x);
    kni_datum none = kni_emit2(c, "less_equal", kni_emit1(c, "abs", x), kni_real_number(c, 1e-7, dtype));
    kni_datum top = kni_reduce_over(c, "max", x, &axis, 1, true);
    kni_datum shown = kni_emit1(c, "exp", kni_emit2(c, "sub", x, top));
    kni_datum hidden = kni_emit2(c, "mul", x, kni_emit1(c, "exp", kni_emit1(c, "neg", top)));
    kni_datum e = kni_emit3(c, "where", none, hidden, shown),
              sum = kni_reduce_over(c, "sum", e, &axis, 1, true);
    kni_datum nothing = kni_emit2(c, "equal", sum, kni_real_number(c, 0, dtype));
    return kni_emit3(c, "where", nothing, kni_real_number(c, 0.5, dtype), kni_emit2(c, "div", e, sum));
}

/* sqrt(2) times the inverse of erf at 2 x - 1, in the approximation of Winitzki that implementations agree on. */
static kni_datum probit(kni_conversion *c, kni_datum x)
{
    const double a = 0.147;
    kn_dtype dtype = kni_dtype_of(c, x);
    kni_datum one = kni_real_number(c, 1, dtype), two = kni_real_number(c, 2, dtype);
    kni_datum z = kni_emit2(c, "sub", kni_emit2(c, "mul", x, two), one);
    kni_datum log =
        kni_emit1(c, "log", kni_emit2(c, "mul", kni_emit2(c, "sub", one, z), kni_emit2(c, "add", one, z)));
    kni_datum half = kni_emit2(c, "mul", log, kni_real_number(c, 0.5, dtype));
    kni_datum v = kni_emit2(c, "add", half, kni_real_number(c, 2 / (3.14159265358979323846 * a), dtype));
    kni_datum w = kni_emit2(c, "mul", log, kni_real_number(c, 1 / a, dtype));
    kni_datum root = kni_emit1(c, "sqrt", kni_emit2(c, "sub", kni_emit1(c, "square", v), w));
    kni_datum size = kni_emit1(c, "sqrt", kni_emit2(c, "sub", root, v));
    return kni_emit2(c, "mul", kni_emit2(c, "copysign", size, z),
                     kni_real_number(c, 1.4142135623730951, dtype));
}

kni_datum kni_learning_post(kni_conversion *c, kni_datum scores, int64_t n_scores, const char *name)
{
    if (!strcmp(name, "PROBIT")) return probit(c, scores);
    if (n_scores < 2 || !strcmp(name, "NONE")) return scores;
    if (!strcmp(name, "LOGISTIC")) return kni_emit1(c, "sigmoid", scores);
    if (!strcmp(name, "SOFTMAX_ZERO")) return softmax_zero(c, scores);
    if (!strcmp(name, "SOFTMAX")) return kni_emit(c, "softmax", &scores, 1, KNI_GIVE(KNI_WHOLE("axis", 1)));
    kni_convert_fail(c, KN_ERROR_ARGUMENT, "there is no post_transform '%s'", name);
    return KNI_ABSENT;
}

kni_datum kni_learning_two(kni_conversion *c, kni_datum score, bool complement, const char *post)
{
    kn_dtype dtype = kni_dtype_of(c, score);
    kni_datum minus = kni_emit1(c, "neg", score);
    if (!strcmp(post, "LOGISTIC"))
        return kni_emit1(c, "sigmoid", kni_concat_of(c, (kni_datum[]){minus, score}, 2, 1));
    if (complement) minus = kni_emit2(c, "sub", kni_real_number(c, 1, dtype), score);
    kni_datum both = kni_concat_of(c, (kni_datum[]){minus, score}, 2, 1);
    return strcmp(post, "PROBIT") ? both : probit(c, both);
}

/* ---- labels */

kni_learning_labels kni_learning_labels_of(const kni_onnx_node *node, const char *wholes)
{
    kni_learning_labels labels = {0};
    int64_t n = 0;
    labels.wholes = kni_node_ints(node, wholes, &labels.count);
    if (labels.count > 0) return labels;
    labels.texts = kni_node_texts(node, "classlabels_strings", &n);
    labels.count = n;
    return labels;
}

/* Texts are chosen on the host, which needs to know the classes. */
static kni_datum text_labels(kni_conversion *c, const kni_learning_labels *labels, kni_datum classes)
{
    int64_t n = 0;
    const int64_t *known = kni_known_ints(c, classes, "the classes, whose labels are strings,", &n);
    kni_onnx_text *texts = kni_convert_memory(c, (size_t)n, sizeof *texts);
    if (!known || !texts) return KNI_ABSENT;
    for (int64_t i = 0; i < n; i++)
        texts[i] =
            known[i] >= 0 && known[i] < labels->count ? labels->texts[known[i]] : (kni_onnx_text){"", 0};
    return kni_strings(c, texts, &KNI_EXTENT(n), 1);
}

kni_datum kni_learning_label(kni_conversion *c, const kni_onnx_node *node, const kni_learning_labels *labels,
                             kni_datum classes)
{
    if (!kni_is_wanted(node, 0)) return KNI_ABSENT;
    if (labels->texts) return text_labels(c, labels, classes);
    if (labels->count == 0) return classes;
    kni_datum all = kni_learning_wholes(c, labels->wholes, &labels->count, 1);
    return kni_emit(c, "take", KNI_LIST(all, classes), KNI_GIVE(KNI_WHOLE("axis", 0)));
}

kni_datum kni_learning_best(kni_conversion *c, kni_datum scores)
{
    return kni_emit(c, "argmax", &scores, 1, KNI_GIVE(KNI_WHOLE("axis", 1)));
}

kni_datum kni_learning_above(kni_conversion *c, kni_datum score, double limit)
{
    kni_datum above = kni_emit2(c, "greater", score, kni_real_number(c, limit, kni_dtype_of(c, score)));
    return kni_cast_to(c, kni_squeeze_at(c, above, 1), KN_I64);
}
