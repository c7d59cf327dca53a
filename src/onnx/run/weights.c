/* Weights are found backwards: the operands of each node are what its results are used for. */
#include "onnx/run/weights.h"
#include "core/dtype.h"
#include "onnx/convert.h"
#include "onnx/pass/graph_edit.h"
#include <kn/tensor.h>
#include <stdlib.h>
#include <string.h>

/* What a value is used for, as bits: a weight if anything uses it so, else a state or part of a quantised weight, else nothing of the kind. */
enum { USED_PLAIN = 1, USED_STATE = 2, USED_WEIGHT = 4, USED_TERM = 8, USED_SCALED = 16, MASKED = 10000 };

typedef struct use_row {
    const char *domain, *op;
    uint32_t state, plain; /* operands, as bits; the others are weights */
    uint32_t scaled;       /* quantised weights, their scales and zero points */
} use_row;

#define MICROSOFT "com.microsoft"
#define OPERAND(i) (1u << (i))
#define ALL_OPERANDS (~0u)

/* Operands that are no weights though they may be floats. */
static const use_row rows[] = {
    {"", "BatchNormalization", OPERAND(3) | OPERAND(4), 0, 0},
    {"", "Clip", 0, OPERAND(1) | OPERAND(2), 0},
    {"", "Cos", 0, OPERAND(0), 0},
    {"", "ConvInteger", 0, 0, ALL_OPERANDS},
    {"", "DequantizeLinear", 0, 0, ALL_OPERANDS},
    {"", "Dropout", 0, OPERAND(1), 0},
    {"", "DynamicQuantizeLinear", 0, ALL_OPERANDS, 0},
    {"", "GRU", 0, OPERAND(5), 0},
    {"", "LSTM", 0, OPERAND(5) | OPERAND(6), 0},
    {"", "MatMulInteger", 0, 0, ALL_OPERANDS},
    {"", "MelWeightMatrix", 0, ALL_OPERANDS, 0},
    {"", "NegativeLogLikelihoodLoss", 0, OPERAND(2), 0},
    {"", "NonMaxSuppression", 0, OPERAND(3) | OPERAND(4), 0},
    {"", "OneHot", 0, OPERAND(2), 0},
    {"", "Pad", 0, OPERAND(2), 0},
    {"", "Pow", 0, OPERAND(1), 0},
    {"", "QuantizeLinear", 0, 0, OPERAND(1) | OPERAND(2)},
    {"", "RNN", 0, OPERAND(5), 0},
    {"", "Range", 0, ALL_OPERANDS, 0},
    {"", "Resize", 0, OPERAND(1) | OPERAND(2), 0},
    {"", "RotaryEmbedding", 0, OPERAND(1) | OPERAND(2), 0},
    {"", "STFT", 0, OPERAND(2), 0},
    {"", "Sin", 0, OPERAND(0), 0},
    {"", "SoftmaxCrossEntropyLoss", 0, OPERAND(2), 0},
    {"", "Upsample", 0, OPERAND(1), 0},
    {"kiln", "IntegerProduct", 0, 0, ALL_OPERANDS & ~OPERAND(5)},
    {"kiln", "QuantizedLinear", 0, 0, OPERAND(1) | OPERAND(2) | OPERAND(3)},
    {"kiln", "QuantizedUnary", 0, ALL_OPERANDS, 0},
    {"kiln", "Rope", 0, OPERAND(1) | OPERAND(2), 0},
    {MICROSOFT, "DequantizeLinear", 0, 0, ALL_OPERANDS},
    {MICROSOFT, "DynamicQuantizeLSTM", 0, OPERAND(5) | OPERAND(6),
     OPERAND(1) | OPERAND(2) | OPERAND(8) | OPERAND(9) | OPERAND(10) | OPERAND(11)},
    {MICROSOFT, "DynamicQuantizeMatMul", 0, 0, OPERAND(1) | OPERAND(2) | OPERAND(3)},
    {MICROSOFT, "GatherBlockQuantized", 0, 0, ALL_OPERANDS},
    {MICROSOFT, "GroupQueryAttention", 0, OPERAND(7) | OPERAND(8), 0},
    {MICROSOFT, "MRotaryEmbedding", 0, OPERAND(2) | OPERAND(3), 0},
    {MICROSOFT, "MatMulBnb4", 0, 0, OPERAND(1) | OPERAND(2)},
    {MICROSOFT, "MatMulInteger16", 0, 0, ALL_OPERANDS},
    {MICROSOFT, "MatMulIntegerToFloat", 0, 0, ALL_OPERANDS & ~OPERAND(6)},
    {MICROSOFT, "MatMulNBits", 0, 0, OPERAND(1) | OPERAND(2) | OPERAND(3) | OPERAND(4)},
    {MICROSOFT, "QAttention", 0, 0,
     OPERAND(0) | OPERAND(1) | OPERAND(3) | OPERAND(4) | OPERAND(6) | OPERAND(7)},
    {MICROSOFT, "QGemm", 0, 0, ALL_OPERANDS},
    {MICROSOFT, "QuantizeLinear", 0, 0, OPERAND(1) | OPERAND(2)},
    {MICROSOFT, "RotaryEmbedding", 0, OPERAND(2) | OPERAND(3), 0},
};

/* Operators that hand on elements: their operands are used as their results are. */
static const struct {
    const char *op;
    uint32_t operands;
} moves[] = {
    {"Cast", OPERAND(0)},    {"CastLike", OPERAND(0)},  {"Concat", ALL_OPERANDS},  {"Expand", OPERAND(0)},
    {"Flatten", OPERAND(0)}, {"Gather", OPERAND(0)},    {"GatherND", OPERAND(0)},  {"Identity", OPERAND(0)},
    {"Reshape", OPERAND(0)}, {"Slice", OPERAND(0)},     {"Split", OPERAND(0)},     {"Squeeze", OPERAND(0)},
    {"Tile", OPERAND(0)},    {"Transpose", OPERAND(0)}, {"Unsqueeze", OPERAND(0)},
};

/* Their operands are biases and scales, or the numbers of a formula: initializers are taken for the former, Constant nodes for the latter. */
static const char *const arithmetic[] = {"Add", "Div", "Equal", "Greater", "Less", "Max", "Mean",
                                         "Min", "Mod", "Mul",   "PRelu",   "Sub",  "Sum", "Where"};

static bool is_arithmetic(const kni_onnx_node *node)
{
    for (size_t i = 0; !*node->domain && i < sizeof arithmetic / sizeof *arithmetic; i++)
        if (!strcmp(arithmetic[i], node->op)) return true;
    return false;
}

static uint32_t bit_of(int32_t operand) { return operand < 32 ? OPERAND(operand) : OPERAND(31); }

/* What the operands of a node that are in the second set are used for: of operators for tables nothing. Those of QLinear operators are
   saved and not trained. */
static uint8_t use_of(const kni_onnx_node *node, int32_t operand)
{
    if (!strcmp(node->domain, "ai.onnx.ml")) return USED_PLAIN;
    if (!strncmp(node->op, "QLinear", 7)) return USED_SCALED;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].op, node->op) != 0 || strcmp(rows[i].domain, node->domain) != 0) continue;
        if (rows[i].state & bit_of(operand)) return USED_STATE;
        if (rows[i].plain & bit_of(operand)) return USED_PLAIN;
        if (rows[i].scaled & bit_of(operand)) return USED_SCALED;
    }
    return is_arithmetic(node) ? USED_TERM : USED_WEIGHT;
}

static uint32_t moved_operands(const kni_onnx_node *node)
{
    for (size_t i = 0; !*node->domain && i < sizeof moves / sizeof *moves; i++)
        if (!strcmp(moves[i].op, node->op)) return moves[i].operands;
    return 0;
}

static void use(uint8_t *uses, int32_t value, uint8_t what)
{
    if (value >= 0) uses[value] |= what;
}

/* Readers stand behind makers, so that the uses of results are known. Bodies of loops and branches come before what they read from
   around them. */
static void find_uses(const kni_onnx_graph *graph, uint8_t *uses)
{
    for (int32_t k = 0; k < graph->n_outputs; k++) use(uses, graph->outputs[k], USED_WEIGHT);
    for (int32_t i = graph->n_nodes; i-- > 0;) {
        const kni_onnx_node *node = &graph->nodes[i];
        for (int32_t k = 0; k < node->n_attributes; k++)
            for (int64_t g = 0; node->attributes[k].graphs && g < node->attributes[k].count; g++)
                find_uses(node->attributes[k].graphs[g], uses);
        uint8_t results = 0;
        for (int32_t k = 0; k < node->n_out; k++)
            if (node->out[k] >= 0) results |= uses[node->out[k]];
        uint32_t moved = moved_operands(node);
        for (int32_t k = 0; k < node->n_in; k++)
            use(uses, node->in[k], moved & bit_of(k) ? results : use_of(node, k));
    }
}

/* ---- what the elements tell */

/* Nothing but 0, 1 and numbers so far below 0 that softmax makes nothing of them: what is added to scores to hide some. */
static bool is_mask(const kni_onnx_tensor *t)
{
    bool hides = false;
    for (int64_t i = 0; i < t->count; i++) {
        double x = kni_edit_element(t, i);
        bool low = x <= -MASKED;
        hides |= low;
        if (!low && x != 0 && x != 1) return false;
    }
    return hides;
}

/* What stays as the file has it without being trained: integers of 8 bits and fewer and short floats wherever they come, others where they
   are quantised weights, their scales or zero points. A single one is a number of a formula. */
static uint8_t stored_role(const kni_onnx_value *v, uint8_t uses)
{
    const kni_onnx_tensor *t = v->initializer;
    const kn_dtype dtype = kni_onnx_dtype(t->type);
    const bool few_bits = kn_dtype_is_stored(dtype) || dtype == KN_I8 || dtype == KN_U8;
    if (t->count == 1) return KNI_ONNX_PLAIN;
    return uses & USED_SCALED || (few_bits && !v->literal) ? KNI_ONNX_STATE : KNI_ONNX_PLAIN;
}

/* terms: whether Constant nodes may be biases, which they may where the model has no weights elsewhere. */
static uint8_t role_of(const kni_onnx_value *v, uint8_t uses, bool terms)
{
    const kni_onnx_tensor *t = v->initializer;
    if (!t || t->rank < 1 || t->count < 1) return KNI_ONNX_PLAIN;
    kn_dtype dtype = kni_onnx_dtype(t->type);
    if (dtype == KN_DTYPE_NONE || kni_is_bool(dtype)) return KNI_ONNX_PLAIN;
    if (!kn_dtype_is_float(dtype) || kn_dtype_is_stored(dtype)) return stored_role(v, uses);
    if (t->count == 1 && v->literal) return KNI_ONNX_PLAIN;
    if (uses & (v->literal && !terms ? USED_WEIGHT : USED_WEIGHT | USED_TERM))
        return is_mask(t) ? KNI_ONNX_PLAIN : KNI_ONNX_WEIGHT;
    if (uses & USED_SCALED && t->count > 1) return KNI_ONNX_STATE;
    return uses & USED_STATE ? KNI_ONNX_STATE : KNI_ONNX_PLAIN;
}

uint8_t *kni_onnx_roles(const kni_onnx_model *model)
{
    uint8_t *roles = calloc((size_t)model->n_values + 1, sizeof *roles);
    if (!roles) return NULL;
    find_uses(model->graph, roles);
    bool initialized = false;
    for (int32_t v = 0; v < model->n_values && !initialized; v++)
        initialized =
            !model->values[v].literal && role_of(&model->values[v], roles[v], true) == KNI_ONNX_WEIGHT;
    for (int32_t v = 0; v < model->n_values; v++)
        roles[v] = role_of(&model->values[v], roles[v], !initialized);
    return roles;
}
