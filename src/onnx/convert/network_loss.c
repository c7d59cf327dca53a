/* Losses: negative log likelihood, and cross entropy of scores. */
#include "onnx/convert/network.h"
#include <string.h>

/* -weight[target] x[target] along axis 1, with elements whose target is ignored left out. x [batch, classes, ...] are logarithms, target
   [batch, ...], weight [classes] or absent. */
static kni_datum likelihood(kni_conversion *c, const kni_onnx_node *node, kni_datum x, kni_datum target,
                            kni_datum weight)
{
    const char *reduction = kni_node_text(node, "reduction", "mean");
    kn_dtype dtype = kni_dtype_of(c, x), index = kni_dtype_of(c, target);
    bool ignores = kni_node_attribute(node, "ignore_index") != NULL;
    kni_datum counts = KNI_ABSENT, share = KNI_ABSENT;
    if (ignores) {
        kni_datum ignored = kni_whole_number(c, kni_node_int(node, "ignore_index", 0), index);
        counts = kni_emit2(c, "not_equal", target, ignored);
        target = kni_emit3(c, "where", counts, target, kni_whole_number(c, 0, index));
        share = kni_cast_to(c, counts, dtype);
    }
    if (kni_is_given(weight)) {
        kni_datum own = kni_emit(c, "take", KNI_LIST(weight, target), KNI_GIVE(KNI_WHOLE("axis", 0)));
        share = kni_is_given(share) ? kni_emit2(c, "mul", share, own) : own;
    }
    kni_datum loss =
        kni_emit(c, "gather", KNI_LIST(x, kni_unsqueeze_at(c, target, 1)), KNI_GIVE(KNI_WHOLE("axis", 1)));
    loss = kni_emit1(c, "neg", kni_squeeze_at(c, loss, 1));
    if (kni_is_given(counts)) /* an ignored one may be infinite, which times 0 would be NaN */
        loss = kni_emit3(c, "where", counts, loss, kni_real_number(c, 0, dtype));
    if (kni_is_given(share)) loss = kni_emit2(c, "mul", loss, share);
    if (!strcmp(reduction, "none")) return loss;
    if (!strcmp(reduction, "sum")) return kni_reduce_over(c, "sum", loss, NULL, 0, false);
    if (strcmp(reduction, "mean") != 0) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "reduction is '%.40s'; it must be none, sum or mean",
                         reduction);
        return KNI_ABSENT;
    }
    if (!kni_is_given(share)) return kni_reduce_over(c, "mean", loss, NULL, 0, false);
    return kni_emit2(c, "div", kni_reduce_over(c, "sum", loss, NULL, 0, false),
                     kni_reduce_over(c, "sum", share, NULL, 0, false));
}

void kni_convert_likelihood_loss(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                                 int32_t n_in, kni_datum *out, int32_t n_out)
{
    (void)n_in, (void)n_out;
    out[0] = likelihood(c, node, in[0], in[1], in[2]);
}

void kni_convert_entropy_loss(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                              kni_datum *out, int32_t n_out)
{
    kni_datum x = kni_emit(c, "log_softmax", in, 1, KNI_GIVE(KNI_WHOLE("axis", 1)));
    (void)n_in;
    out[0] = likelihood(c, node, x, in[1], in[2]);
    if (n_out > 1) out[1] = x;
}
