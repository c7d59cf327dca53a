/* Linear models of ai.onnx.ml. */
#include "onnx/convert/learning.h"

/* Scores [N, *count] of the coefficients, which come row by row, one row for each score. */
static kni_datum scores_of(kni_conversion *c, const kni_onnx_node *node, kni_datum x, int64_t wanted,
                           int64_t *count)
{
    int64_t n = 0, n_intercepts = 0;
    kn_dtype dtype = kni_learning_dtype(c, x);
    const double *weights = kni_learning_list(c, node, "coefficients", &n, NULL);
    const double *intercepts = kni_learning_list(c, node, "intercepts", &n_intercepts, NULL);
    x = kni_learning_rows(c, x, dtype);
    kni_extent width = kni_extent_of(c, x, 1);
    if (kni_convert_failed(c)) return KNI_ABSENT;
    *count = n_intercepts ? n_intercepts : !width.text && width.value ? n / width.value : wanted;
    if (*count < 1 || n % *count || (wanted && *count != wanted)) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT,
                         "its %lld coefficients and %lld intercepts do not fit its %lld results",
                         (long long)n, (long long)n_intercepts, (long long)wanted);
        return KNI_ABSENT;
    }
    kni_datum w = kni_learning_reals(c, weights, (int64_t[]){*count, n / *count}, 2, dtype);
    kni_datum b = n_intercepts ? kni_learning_reals(c, intercepts, count, 1, dtype) : KNI_ABSENT;
    return kni_emit(c, "linear", (kni_datum[]){x, w, b}, n_intercepts ? 3 : 2, NULL);
}

void kni_convert_linear_regressor(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                                  int32_t n_in, kni_datum *out, int32_t n_out)
{
    (void)n_in, (void)n_out;
    int64_t count = 0;
    kni_datum y = scores_of(c, node, in[0], kni_node_int(node, "targets", 1), &count);
    y = kni_learning_post(c, y, count, kni_node_text(node, "post_transform", "NONE"));
    out[0] = kni_cast_to(c, y, KN_F32);
}

void kni_convert_linear_classifier(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                                   int32_t n_in, kni_datum *out, int32_t n_out)
{
    (void)n_in;
    int64_t count = 0;
    const char *post = kni_node_text(node, "post_transform", "NONE");
    kni_learning_labels labels = kni_learning_labels_of(node, "classlabels_ints");
    kni_datum scores = scores_of(c, node, in[0], 0, &count), classes;
    if (kni_convert_failed(c)) return;
    if (count == 1 && labels.count == 2) {
        classes = kni_learning_above(c, scores, 0);
        scores = kni_learning_two(c, scores, true, post);
    } else {
        classes = count == 1 ? kni_learning_above(c, scores, 0) : kni_learning_best(c, scores);
        scores = kni_learning_post(c, scores, count, post);
    }
    out[0] = kni_learning_label(c, node, &labels, classes);
    if (n_out > 1) out[1] = kni_cast_to(c, scores, KN_F32);
}
