/* How many multiplications with an addition a node takes, by its operator and its sizes: products, convolutions, recurrent cells and
   attention. Other operators count nothing. */
#include "onnx/examine/examine.h"
#include <ctype.h>
#include <string.h>

int64_t kni_capped_sum(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

int64_t kni_capped_product(int64_t a, int64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

/* A value of the node: NULL where it is no tensor. Sizes are numbers here. */
static const kni_entry *tensor_of(const kni_conversion *c, const int32_t *values, int32_t n, int32_t i)
{
    kni_datum x = i < n && values[i] >= 0 ? (kni_datum){c->now[values[i]]} : KNI_ABSENT;
    const kni_entry *e = kni_entry_of(c, x);
    return e && e->kind == KNI_IS_TENSOR ? e : NULL;
}

static const kni_entry *operand(const kni_conversion *c, const kni_onnx_node *node, int32_t i)
{
    return tensor_of(c, node->in, node->n_in, i);
}

static const kni_entry *result(const kni_conversion *c, const kni_onnx_node *node, int32_t i)
{
    return tensor_of(c, node->out, node->n_out, i);
}

/* The product of the sizes from an axis on. */
static int64_t count_from(const kni_entry *e, int32_t axis)
{
    int64_t n = e ? 1 : 0;
    for (int32_t a = axis; e && a < e->rank; a++) n = kni_capped_product(n, e->extents[a].value);
    return n;
}

/* ---- rules: `at` is where the weights are, or the second operand */

static int64_t of_conv(const kni_conversion *c, const kni_onnx_node *node, int32_t at)
{
    return kni_capped_product(count_from(result(c, node, 0), 0), count_from(operand(c, node, at), 1));
}

static int64_t of_conv_transpose(const kni_conversion *c, const kni_onnx_node *node, int32_t at)
{
    return kni_capped_product(count_from(operand(c, node, 0), 0), count_from(operand(c, node, at), 1));
}

/* Every element of the result sums along the inner axis of the first operand. */
static int64_t of_product(const kni_conversion *c, const kni_onnx_node *node, int32_t at)
{
    (void)at;
    const kni_entry *a = operand(c, node, 0);
    bool transposed = kni_node_int(node, "transA", 0) != 0;
    if (!a || a->rank < (transposed ? 2 : 1)) return 0;
    return kni_capped_product(count_from(result(c, node, 0), 0), a->extents[a->rank - 1 - transposed].value);
}

/* x times W and the state times R, step by step. */
static int64_t of_recurrent(const kni_conversion *c, const kni_onnx_node *node, int32_t at)
{
    const kni_entry *x = operand(c, node, 0);
    int64_t steps = x && x->rank == 3 ? kni_capped_product(x->extents[0].value, x->extents[1].value) : 0;
    return kni_capped_product(
        steps, kni_capped_sum(count_from(operand(c, node, at), 0), count_from(operand(c, node, at + 1), 0)));
}

/* Every element of the queries meets every key, and every element of the result every value: keys are counted where the operator gives
   them back with those of the past, else as they are. */
static int64_t of_attention(const kni_conversion *c, const kni_onnx_node *node, int32_t at)
{
    const kni_entry *y = result(c, node, 0), *keys = result(c, node, 1);
    if (!keys || keys->rank < 3) keys = operand(c, node, 1);
    if (!keys || keys->rank < 3) keys = operand(c, node, at);
    if (!y || !keys || keys->rank < 2) return 0;
    int32_t axis = keys->rank == 3 ? 1 : keys->rank - 2;
    return kni_capped_product(kni_capped_product(2, count_from(y, 0)), keys->extents[axis].value);
}

/* The same with the products that make queries, keys and values of one operand. */
static int64_t of_whole_attention(const kni_conversion *c, const kni_onnx_node *node, int32_t at)
{
    const kni_entry *x = operand(c, node, 0), *present = result(c, node, 1), *y = result(c, node, 0);
    if (!x || x->rank != 3) return 0;
    int64_t rows = kni_capped_product(x->extents[0].value, x->extents[1].value), keys = x->extents[1].value;
    if (present && present->rank == 5) keys = present->extents[3].value;
    return kni_capped_sum(kni_capped_product(rows, count_from(operand(c, node, at), 0)),
                          kni_capped_product(kni_capped_product(2, count_from(y, 0)), keys));
}

/* The product of all axes that are named: what a sum over all at once takes. */
static int64_t of_einsum(const kni_conversion *c, const kni_onnx_node *node, int32_t at)
{
    (void)at;
    int64_t sizes[256] = {0}, n = 1, rest = 1;
    const char *text = kni_node_text(node, "equation", "");
    for (int32_t i = 0; i < node->n_in && *text && *text != '-'; i++) {
        const kni_entry *e = operand(c, node, i);
        int32_t named = 0, axis = 0;
        size_t length = strcspn(text, ",-");
        for (size_t k = 0; k < length; k++) named += isalpha((unsigned char)text[k]) != 0;
        if (!e || named > e->rank || node->n_in < 2) return 0;
        for (size_t k = 0; k < length; k++) {
            int64_t others = 1;
            if (text[k] == '.' && k + 2 < length && text[k + 1] == '.' && text[k + 2] == '.') {
                for (int32_t a = 0; a < e->rank - named; a++)
                    others = kni_capped_product(others, e->extents[axis++].value);
                rest = others > rest ? others : rest;
            }
            if (!isalpha((unsigned char)text[k]) || axis >= e->rank) continue;
            int64_t size = e->extents[axis++].value, *known = &sizes[(unsigned char)text[k]];
            *known = size > *known ? size : *known;
        }
        text += length + (text[length] == ',');
    }
    for (int k = 0; k < 256; k++)
        if (sizes[k]) n = kni_capped_product(n, sizes[k]);
    return kni_capped_product(n, rest);
}

/* Weights packed in fewer bits: how many terms an element has is an attribute. */
static int64_t of_packed(const kni_conversion *c, const kni_onnx_node *node, int32_t at)
{
    (void)at;
    int64_t terms = kni_node_int(node, "K", 0);
    return kni_capped_product(count_from(result(c, node, 0), 0), terms > 0 ? terms : 0);
}

/* Coefficients by class and feature. */
static int64_t of_linear_model(const kni_conversion *c, const kni_onnx_node *node, int32_t at)
{
    (void)at;
    int64_t n = 0;
    const kni_entry *x = operand(c, node, 0);
    kni_node_reals(node, "coefficients", &n);
    return kni_capped_product(x && x->rank == 2 ? x->extents[0].value : 1, n);
}

static const struct {
    const char *op;
    int64_t (*macs)(const kni_conversion *c, const kni_onnx_node *node, int32_t at);
    int32_t at;
} rules[] = {{"Conv", of_conv, 1},
             {"FusedConv", of_conv, 1},
             {"NhwcConv", of_conv, 1},
             {"NhwcFusedConv", of_conv, 1},
             {"ConvInteger", of_conv, 1},
             {"QLinearConv", of_conv, 3},
             {"DeformConv", of_conv, 1},
             {"CausalConvWithState", of_conv, 1},
             {"ConvTranspose", of_conv_transpose, 1},
             {"ConvTransposeWithDynamicPads", of_conv_transpose, 1},
             {"MatMul", of_product, 1},
             {"Gemm", of_product, 1},
             {"FusedMatMul", of_product, 1},
             {"FusedMatMulActivation", of_product, 1},
             {"TransposeMatMul", of_product, 1},
             {"FusedGemm", of_product, 1},
             {"GemmFastGelu", of_product, 1},
             {"MatMulInteger", of_product, 1},
             {"MatMulInteger16", of_product, 1},
             {"MatMulIntegerToFloat", of_product, 1},
             {"DynamicQuantizeMatMul", of_product, 1},
             {"QLinearMatMul", of_product, 3},
             {"QGemm", of_product, 3},
             {"MatMulNBits", of_packed, 1},
             {"Einsum", of_einsum, 0},
             {"LSTM", of_recurrent, 1},
             {"GRU", of_recurrent, 1},
             {"RNN", of_recurrent, 1},
             {"DynamicQuantizeLSTM", of_recurrent, 1},
             {"MultiHeadAttention", of_attention, 1},
             {"GroupQueryAttention", of_attention, 1},
             {"FlexAttention", of_attention, 1},
             {"QAttention", of_whole_attention, 1},
             {"LinearClassifier", of_linear_model, 0},
             {"LinearRegressor", of_linear_model, 0}};

int64_t kni_onnx_macs(kni_conversion *c, const kni_onnx_node *node)
{
    /* One name, two operators. */
    if (!strcmp(node->op, "Attention"))
        return *node->domain ? of_whole_attention(c, node, 1) : of_attention(c, node, 1);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (!strcmp(rules[i].op, node->op)) return rules[i].macs(c, node, rules[i].at);
    return 0;
}
