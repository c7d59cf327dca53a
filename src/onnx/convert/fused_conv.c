/* Convolutions and pools of com.microsoft: with an activation behind them, with channels last. */
#include "onnx/convert/fused_operators.h"
#include <string.h>

/* The activation that the node names, with its numbers. */
static kni_datum activated(kni_conversion *c, const kni_onnx_node *node, kni_datum x)
{
    int64_t count;
    const float *numbers = kni_node_reals(node, "activation_params", &count);
    const double none = __builtin_nan("");
    return kni_activation_of(c, kni_node_text(node, "activation", ""), x, count > 0 ? numbers[0] : none,
                             count > 1 ? numbers[1] : none);
}

void kni_convert_fused_conv(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                            kni_datum *out, int32_t n_out)
{
    kni_convert_conv(c, node, in, n_in, out, n_out);
    if (kni_is_given(in[3])) out[0] = kni_emit2(c, "add", out[0], in[3]);
    out[0] = activated(c, node, out[0]);
}

void kni_convert_nhwc_conv(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                           kni_datum *out, int32_t n_out)
{
    kni_datum first[KNI_ONNX_ROOM] = {{0}};
    memcpy(first, in, sizeof first);
    first[0] = kni_channels_first(c, in[0]);
    kni_convert_conv(c, node, first, n_in, out, n_out);
    out[0] = kni_channels_last(c, out[0]);
    if (kni_is_given(in[3])) out[0] = kni_emit2(c, "add", out[0], in[3]);
    out[0] = activated(c, node, out[0]);
}

void kni_convert_nhwc_max_pool(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                               int32_t n_in, kni_datum *out, int32_t n_out)
{
    kni_datum first[KNI_ONNX_ROOM] = {{0}};
    first[0] = kni_channels_first(c, in[0]);
    (void)n_out;
    kni_convert_max_pool(c, node, first, n_in, out, 1);
    out[0] = kni_channels_last(c, out[0]);
}

/* ConvTranspose whose pads are the third operand. */
void kni_convert_transpose_dynamic_pads(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                                        int32_t n_in, kni_datum *out, int32_t n_out)
{
    kni_datum operands[KNI_ONNX_ROOM] = {{0}};
    kni_onnx_node other = *node;
    (void)n_in;
    operands[0] = in[0], operands[1] = in[1], operands[2] = in[3];
    if (kni_is_given(in[2])) {
        int64_t count = 0;
        const int64_t *pads = kni_known_ints(c, in[2], "the padding", &count);
        kni_onnx_attribute *list = kni_convert_memory(c, (size_t)node->n_attributes + 1, sizeof *list);
        if (!pads || !list) return;
        if (node->n_attributes) memcpy(list, node->attributes, sizeof *list * (size_t)node->n_attributes);
        list[other.n_attributes++] = (kni_onnx_attribute){
            .name = "pads", .kind = KNI_ONNX_ATTRIBUTE_INTS, .count = count, .ints = pads};
        other.attributes = list;
    }
    kni_convert_conv_transpose(c, &other, operands, 3, out, n_out);
}
