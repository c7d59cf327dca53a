/* Converters of what no family has: constants, and If, Loop and Scan, which targets do in ways of their own. */
#include "onnx/run/control.h"
#include "onnx/run/conversion.h"
#include <string.h>

static kni_datum constant_list(kni_conversion *c, const kni_onnx_attribute *a)
{
    if (a->kind == KNI_ONNX_ATTRIBUTE_INTS) return kni_constant(c, a->ints, KN_I64, &a->count, 1);
    if (a->kind == KNI_ONNX_ATTRIBUTE_FLOATS) return kni_constant(c, a->floats, KN_F32, &a->count, 1);
    kni_extent n = KNI_EXTENT(a->count);
    return kni_strings(c, a->strings, &n, 1);
}

static void convert_constant(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                             kni_datum *out, int32_t n_out)
{
    (void)in, (void)n_in, (void)n_out;
    for (int32_t i = 0; i < node->n_attributes; i++) {
        const kni_onnx_attribute *a = &node->attributes[i];
        switch (a->kind) {
        case KNI_ONNX_ATTRIBUTE_TENSOR:
            out[0] = kni_constant_of(c, a->tensors);
            return;
        case KNI_ONNX_ATTRIBUTE_INT:
            out[0] = kni_constant(c, a->ints, KN_I64, NULL, 0);
            return;
        case KNI_ONNX_ATTRIBUTE_FLOAT:
            out[0] = kni_constant(c, a->floats, KN_F32, NULL, 0);
            return;
        case KNI_ONNX_ATTRIBUTE_STRING:
            out[0] = kni_strings(c, a->strings, NULL, 0);
            return;
        case KNI_ONNX_ATTRIBUTE_INTS:
        case KNI_ONNX_ATTRIBUTE_FLOATS:
        case KNI_ONNX_ATTRIBUTE_STRINGS:
            out[0] = constant_list(c, a);
            return;
        default:
            break;
        }
    }
    kni_convert_fail(c, KN_ERROR_ARGUMENT, "a constant without a value");
}

static void convert_identity(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                             kni_datum *out, int32_t n_out)
{
    (void)c, (void)node, (void)n_in, (void)n_out;
    out[0] = in[0];
}

static void convert_branch(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                           kni_datum *out, int32_t n_out)
{
    c->target->branch(c, node, in, n_in, out, n_out);
}

static void convert_loop(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                         kni_datum *out, int32_t n_out)
{
    c->target->loop(c, node, in, n_in, out, n_out);
}

static void convert_scan(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                         kni_datum *out, int32_t n_out)
{
    c->target->scan(c, node, in, n_in, out, n_out);
}

extern const kni_onnx_converter kni_onnx_control[];
const kni_onnx_converter kni_onnx_control[] = {
    {"", "Constant", 1, 0, convert_constant, 0, "floats integers bool strings stored"},
    {"", "Identity", 1, 0, convert_identity, 0, "floats integers bool strings stored sequences optionals"},
    {"", "If", 1, 0, convert_branch, KNI_ONNX_INNER, "bool"},
    {"", "Loop", 1, 0, convert_loop, KNI_ONNX_INNER, "floats integers bool strings sequences optionals"},
    {"", "Scan", 8, 0, convert_scan, KNI_ONNX_INNER, "floats integers bool"},
    {"ai.onnx.preview.training", "Gradient", 1, 0, kni_now_gradient, KNI_ONNX_INNER, "floats"},
    {0},
};
