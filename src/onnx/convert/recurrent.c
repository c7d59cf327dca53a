/* Converters of LSTM, GRU and RNN: rows of the same names, whose gates and options are ONNX's. */
#include "onnx/convert.h"
#include <kn/functional.h>
#include <string.h>
#include <strings.h>

enum { MAX_ACTIVATIONS = 6, MAX_OPERANDS = 8 };

/* The activations by name, with how many numbers each takes and what these are where nothing is said. */
static const struct {
    const char *name;
    int kind, numbers;
    double alpha, beta;
} activations[] = {
    {"Sigmoid", KN_GATE_SIGMOID, 0, 0, 0},
    {"Tanh", KN_GATE_TANH, 0, 0, 0},
    {"Relu", KN_GATE_RELU, 0, 0, 0},
    {"Affine", KN_GATE_AFFINE, 2, 1, 0},
    {"LeakyRelu", KN_GATE_LEAKY_RELU, 1, 0.01, 0},
    {"ThresholdedRelu", KN_GATE_THRESHOLDED_RELU, 1, 1, 0},
    {"ScaledTanh", KN_GATE_SCALED_TANH, 2, 1, 1},
    {"HardSigmoid", KN_GATE_HARD_SIGMOID, 2, 0.2, 0.5},
    {"Elu", KN_GATE_ELU, 1, 1, 0},
    {"Softsign", KN_GATE_SOFTSIGN, 0, 0, 0},
    {"Softplus", KN_GATE_SOFTPLUS, 0, 0, 0},
};

/* ---- attributes */

static int64_t direction_of(kni_conversion *c, const kni_onnx_node *node)
{
    static const char *const names[] = {"forward", "reverse", "bidirectional"};
    const char *given = kni_node_text(node, "direction", names[0]);
    for (int64_t i = 0; i < 3; i++)
        if (!strcmp(given, names[i])) return i;
    kni_convert_fail(c, KN_ERROR_ARGUMENT,
                     "direction is '%.40s'; it must be forward, reverse or bidirectional", given);
    return 0;
}

static int find_activation(kni_conversion *c, const kni_onnx_text *text)
{
    for (int i = 0; i < (int)(sizeof activations / sizeof *activations); i++)
        if (strlen(activations[i].name) == text->bytes &&
            !strncasecmp(activations[i].name, text->data, text->bytes))
            return i;
    kni_convert_fail(c, KN_ERROR_UNSUPPORTED, "no activation '%.*s' is known",
                     (int)(text->bytes < 40 ? text->bytes : 40), text->data);
    return -1;
}

/* The attributes of the row; the numbers are consumed in order by the activations that take some. Returns how many were written. */
static int32_t list_activations(kni_conversion *c, const kni_onnx_node *node, kni_extent *kinds,
                                kni_given_attribute *list)
{
    static const char *const alpha_names[] = {"alpha0", "alpha1", "alpha2", "alpha3", "alpha4", "alpha5"};
    static const char *const beta_names[] = {"beta0", "beta1", "beta2", "beta3", "beta4", "beta5"};
    int64_t n, n_alpha, n_beta, next_alpha = 0, next_beta = 0;
    const kni_onnx_text *names = kni_node_texts(node, "activations", &n);
    const float *alpha = kni_node_reals(node, "activation_alpha", &n_alpha);
    const float *beta = kni_node_reals(node, "activation_beta", &n_beta);
    int32_t count = 0;
    if (n > MAX_ACTIVATIONS) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "%lld activations are given; %d are the most", (long long)n,
                         MAX_ACTIVATIONS);
        return 0;
    }
    for (int64_t i = 0; i < n; i++) {
        const int found = find_activation(c, &names[i]);
        if (found < 0) return 0;
        double a = activations[found].alpha, b = activations[found].beta;
        if (activations[found].numbers > 0 && next_alpha < n_alpha) a = (double)alpha[next_alpha++];
        if (activations[found].numbers > 1 && next_beta < n_beta) b = (double)beta[next_beta++];
        kinds[i] = KNI_EXTENT(activations[found].kind);
        list[count++] = (kni_given_attribute)KNI_REAL(alpha_names[i], a);
        list[count++] = (kni_given_attribute)KNI_REAL(beta_names[i], b);
    }
    list[count++] = (kni_given_attribute)KNI_EXTENTS("activations", kinds, (int32_t)n);
    return count;
}

/* ---- one for all three */

typedef struct cell {
    const char *op;
    int32_t operands, results;
    const char *option; /* an attribute of its own */
} cell;
static const cell lstm = {"lstm", 8, 3, "input_forget"}, gru = {"gru", 6, 2, "linear_before_reset"},
                  rnn = {"rnn", 6, 2, NULL};

static void emit_cell(kni_conversion *c, const kni_onnx_node *node, const cell *kind, kni_datum *in,
                      kni_datum *out, int32_t n_out)
{
    kni_given_attribute list[2 * MAX_ACTIVATIONS + 8] = {{0}};
    kni_extent kinds[MAX_ACTIVATIONS];
    kni_datum results[3] = {KNI_ABSENT, KNI_ABSENT, KNI_ABSENT};
    int32_t n = list_activations(c, node, kinds, list);
    const bool batch_first = kni_node_int(node, "layout", 0) != 0;
    list[n++] = (kni_given_attribute)KNI_WHOLE("direction", direction_of(c, node));
    list[n++] = (kni_given_attribute)KNI_REAL("clip", kni_node_real(node, "clip", 0));
    if (kind->option)
        list[n++] = (kni_given_attribute)KNI_WHOLE(kind->option, kni_node_int(node, kind->option, 0) != 0);
    if (batch_first) {
        in[0] = kni_swap_axes(c, in[0], 0, 1);
        for (int32_t i = 5; i < 7; i++)
            if (kni_is_given(in[i])) in[i] = kni_swap_axes(c, in[i], 0, 1);
    }
    kni_emit_many(c, kind->op, in, kind->operands, list, results, kind->results);
    for (int32_t i = 0; i < n_out && i < kind->results; i++) {
        out[i] = results[i];
        if (!batch_first || !kni_is_wanted(node, i)) continue;
        out[i] =
            i == 0 ? kni_permute_to(c, out[i], (int32_t[]){2, 0, 1, 3}, 4) : kni_swap_axes(c, out[i], 0, 1);
    }
}

/* hidden_size says again what the recurrent weight [directions, gates, hidden] has. */
static void check_hidden(kni_conversion *c, const kni_onnx_node *node, kni_datum weight)
{
    if (!kni_node_attribute(node, "hidden_size") || !kni_is_given(weight)) return;
    const kni_extent hidden = kni_extent_of(c, weight, 2);
    const int64_t given = kni_node_int(node, "hidden_size", 0);
    if (!hidden.text && hidden.value != given && !kni_convert_failed(c))
        kni_convert_fail(c, KN_ERROR_SHAPE, "hidden_size is %lld, and its weights have %lld",
                         (long long)given, (long long)hidden.value);
}

static void convert_cell(kni_conversion *c, const kni_onnx_node *node, const cell *kind, const kni_datum *in,
                         kni_datum *out, int32_t n_out)
{
    kni_datum own[MAX_OPERANDS];
    check_hidden(c, node, in[2]);
    for (int32_t i = 0; i < MAX_OPERANDS; i++) own[i] = in[i];
    emit_cell(c, node, kind, own, out, n_out);
}

static void convert_lstm(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                         kni_datum *out, int32_t n_out)
{
    (void)n_in;
    convert_cell(c, node, &lstm, in, out, n_out);
}

static void convert_gru(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                        kni_datum *out, int32_t n_out)
{
    (void)n_in;
    convert_cell(c, node, &gru, in, out, n_out);
}

static void convert_rnn(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                        kni_datum *out, int32_t n_out)
{
    (void)n_in;
    convert_cell(c, node, &rnn, in, out, n_out);
}

/* ---- DynamicQuantizeLSTM: weights [directions, in, gates] of bytes, whose scales and zero points are one for each direction or one
   for each gate of it. They are computed with as floats, which are kept where they are the same in every run. */

/* [directions] or [directions, gates], so that it broadcasts to the weight with its gates in front. */
static kni_datum for_weight(kni_conversion *c, kni_datum x)
{
    const int32_t rank = kni_rank_of(c, x);
    if (rank < 1) return x;
    return kni_unsqueeze_at(c, rank == 1 ? kni_unsqueeze_at(c, x, 1) : x, 2);
}

static kni_datum weight_of(kni_conversion *c, kni_datum weight, kni_datum scale, kni_datum zero,
                           int32_t number)
{
    const bool constant = kni_is_constant(c, weight) && kni_is_constant(c, scale) && kni_is_constant(c, zero);
    kni_datum kept = constant ? kni_kept(c, number) : KNI_ABSENT;
    if (kni_is_given(kept)) return kept;
    kni_datum s = for_weight(c, scale);
    kni_datum z = kni_is_given(zero) ? for_weight(c, zero) : kni_real_number(c, 0, kni_dtype_of(c, scale));
    weight = kni_emit3(c, "dequantize", kni_swap_axes(c, weight, 1, 2), s, z);
    return constant ? kni_keep(c, number, weight) : weight;
}

static void convert_quantized_lstm(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                                   int32_t n_in, kni_datum *out, int32_t n_out)
{
    kni_datum own[MAX_OPERANDS];
    (void)n_in;
    for (int32_t i = 0; i < MAX_OPERANDS; i++) own[i] = in[i];
    own[1] = weight_of(c, in[1], in[8], in[9], 0);
    own[2] = weight_of(c, in[2], in[10], in[11], 1);
    emit_cell(c, node, &lstm, own, out, n_out);
}

const kni_onnx_converter kni_onnx_recurrent[] = {
    {"", "LSTM", 1, 0, convert_lstm, 0, "floats"},
    {"", "GRU", 1, 0, convert_gru, 0, "floats"},
    {"", "RNN", 1, 0, convert_rnn, 0, "floats"},
    {"com.microsoft", "DynamicQuantizeLSTM", 1, 0, convert_quantized_lstm, 0, "f32"},
    {NULL, NULL, 0, 0, NULL, 0, NULL}};
