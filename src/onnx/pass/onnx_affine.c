/* Takes what scales and shifts the channels of a convolution into its weight and bias: batch norm that does not train, and products and
   sums with a constant for each channel. Results differ in the last bits. */
#include "onnx/pass/graph_edit.h"
#include "support/scalar_math.h"
#include <stdlib.h>
#include <string.h>

/* y = x scale[c] + shift[c] */
typedef struct affine {
    double *scale, *shift;
    int64_t channels;
} affine;

static bool is_real(const kni_onnx_tensor *t)
{
    return t && (t->type == KNI_ONNX_FLOAT || t->type == KNI_ONNX_DOUBLE);
}

/* Channels of what Conv and ConvTranspose give; 0: unknown. */
static int64_t channels_of(const kni_onnx_node *conv, const kni_onnx_tensor *weight)
{
    if (weight->rank < 3 || weight->count <= 0) return 0;
    if (kni_edit_is(conv, "Conv")) return weight->sizes[0];
    int64_t group = kni_node_int(conv, "group", 1), channels;
    if (group < 1 || weight->sizes[0] % group || __builtin_mul_overflow(weight->sizes[1], group, &channels))
        return 0;
    return channels;
}

/* ---- what stands behind */

static bool from_batch_norm(kni_edit *p, const kni_onnx_node *node, affine *a)
{
    const kni_onnx_tensor *v[4];
    if (node->version >= 14 && kni_node_int(node, "training_mode", 0)) return false;
    if (node->version < 9 && !kni_node_int(node, "spatial", 1)) return false;
    for (int32_t k = 1; k < node->n_out; k++)
        if (node->out[k] >= 0) return false;
    for (int32_t i = 0; i < 4; i++) {
        v[i] = kni_edit_constant(p, kni_edit_input(node, i + 1));
        if (!is_real(v[i]) || v[i]->count != a->channels) return false;
    }
    double eps = kni_node_real(node, "epsilon", 1e-5);
    for (int64_t c = 0; c < a->channels; c++) {
        a->scale[c] = kni_edit_element(v[0], c) / kni_sqrt(kni_edit_element(v[3], c) + eps);
        a->shift[c] = kni_edit_element(v[1], c) - kni_edit_element(v[2], c) * a->scale[c];
    }
    return true;
}

/* A constant of one element, or [1, channels, 1 ...] (the first 1 may be missing) before an operand of this rank. */
static bool is_for_channels(const kni_onnx_tensor *t, int64_t channels, int32_t rank)
{
    if (!is_real(t) || t->rank > rank) return false;
    if (t->count == 1) return true;
    if (t->rank < rank - 1 || t->count != channels) return false;
    return t->sizes[t->rank - (rank - 1)] == channels;
}

static bool from_constant(kni_edit *p, const kni_onnx_node *node, int32_t x, int32_t rank, affine *a)
{
    const kni_onnx_tensor *t = kni_edit_constant(p, kni_edit_other(node, x));
    bool first = node->in[0] == x;
    if (node->version < 7 || !is_for_channels(t, a->channels, rank)) return false;
    for (int64_t c = 0; c < a->channels; c++) {
        double number = kni_edit_element(t, t->count == 1 ? 0 : c);
        a->scale[c] = 1, a->shift[c] = 0;
        if (!strcmp(node->op, "Mul"))
            a->scale[c] = number;
        else if (!strcmp(node->op, "Div") && first)
            a->scale[c] = 1 / number;
        else if (!strcmp(node->op, "Add"))
            a->shift[c] = number;
        else if (!strcmp(node->op, "Sub"))
            a->scale[c] = first ? 1 : -1, a->shift[c] = first ? -number : number;
        else
            return false;
    }
    return true;
}

/* ---- new weights */

static void write_element(void *data, int32_t type, int64_t i, double value)
{
    if (type == KNI_ONNX_DOUBLE)
        ((double *)data)[i] = value;
    else
        ((float *)data)[i] = (float)value;
}

static bool is_finite(double x) { return x - x == 0; }

static bool all_finite(const affine *a)
{
    for (int64_t c = 0; c < a->channels; c++)
        if (!is_finite(a->scale[c]) || !is_finite(a->shift[c])) return false;
    return true;
}

static int32_t scaled_weight(kni_edit *p, const kni_onnx_node *conv, const kni_onnx_tensor *w,
                             const affine *a)
{
    void *data;
    const kni_onnx_value *old = &p->model->values[conv->in[1]];
    bool transposed = !kni_edit_is(conv, "Conv");
    int64_t rows = w->sizes[0], columns = w->sizes[1], inside = w->count / (rows * columns);
    int64_t own = transposed ? rows / kni_node_int(conv, "group", 1) : 1;
    int32_t value = kni_edit_new_constant(p, old->graph, old->name, w->type, w->sizes, w->rank, &data);
    if (value < 0) return -1;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            double scale = a->scale[transposed ? i / own * columns + j : i];
            for (int64_t k = (i * columns + j) * inside, end = k + inside; k < end; k++)
                write_element(data, w->type, k, kni_edit_element(w, k) * scale);
        }
    return value;
}

/* A bias is called as the convolution's own, or as the weight beside it: "stem.conv.bias". */
static const char *bias_name(kni_edit *p, const kni_onnx_node *conv)
{
    static const char ending[] = "weight";
    if (kni_edit_input(conv, 2) >= 0) return p->model->values[conv->in[2]].name;
    const char *weight = p->model->values[conv->in[1]].name;
    if (!weight) return "bias";
    size_t n = strlen(weight), end = sizeof ending - 1;
    if (n >= end && !strcmp(weight + n - end, ending))
        return kni_onnx_arena_format(p->model->arena, "%.*sbias", (int)(n - end), weight);
    return kni_onnx_arena_format(p->model->arena, "%s.bias", weight);
}

static int32_t shifted_bias(kni_edit *p, const kni_onnx_node *conv, int32_t type, const kni_onnx_tensor *bias,
                            const affine *a)
{
    void *data;
    const kni_onnx_value *weight = &p->model->values[conv->in[1]];
    const char *name = bias_name(p, conv);
    int32_t value = name ? kni_edit_new_constant(p, weight->graph, name, type, &a->channels, 1, &data) : -1;
    for (int64_t c = 0; value >= 0 && c < a->channels; c++)
        write_element(data, type, c, (bias ? kni_edit_element(bias, c) : 0) * a->scale[c] + a->shift[c]);
    return value;
}

/* The convolution takes in what `node` does, which then only hands on. */
static void take_in(kni_edit *p, kni_onnx_node *conv, kni_onnx_node *node, affine *a)
{
    const kni_onnx_tensor *w = kni_edit_constant(p, conv->in[1]);
    const kni_onnx_tensor *bias = kni_edit_constant(p, kni_edit_input(conv, 2));
    bool good = kni_edit_is(node, "BatchNormalization")
                    ? node->in[0] == conv->out[0] && from_batch_norm(p, node, a)
                    : from_constant(p, node, conv->out[0], w->rank, a);
    if (!good || !all_finite(a)) return;
    int32_t weight = scaled_weight(p, conv, w, a), shift = shifted_bias(p, conv, w->type, bias, a);
    if (weight < 0 || shift < 0) return;
    const int32_t in[3] = {conv->in[0], weight, shift};
    kni_edit_become(p, conv, "", conv->op, conv->version, in, 3, conv->attributes, conv->n_attributes);
    kni_edit_become(p, node, "", "Identity", node->version, conv->out, 1, NULL, 0);
}

/* The convolution before, where nobody else reads what it gives. */
static kni_onnx_node *convolution_before(kni_edit *p, int32_t value)
{
    kni_onnx_node *conv = kni_edit_made_by(p, value, "Conv");
    if (!conv) conv = kni_edit_made_by(p, value, "ConvTranspose");
    if (!conv || conv->n_in < 2 || !kni_edit_once(p, value)) return NULL;
    const kni_onnx_tensor *w = kni_edit_constant(p, conv->in[1]), *bias;
    if (!is_real(w)) return NULL;
    int64_t channels = channels_of(conv, w);
    bias = kni_edit_constant(p, kni_edit_input(conv, 2));
    if (kni_edit_input(conv, 2) >= 0 && (!is_real(bias) || bias->count != channels)) return NULL;
    return channels > 0 ? conv : NULL;
}

static void visit(kni_edit *p, kni_onnx_node *node)
{
    static const char *const ops[] = {"BatchNormalization", "Mul", "Add", "Sub", "Div"};
    bool known = false;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) known |= kni_edit_is(node, ops[i]);
    if (!known || node->n_in < 2 || node->n_out < 1 || node->out[0] < 0) return;
    kni_onnx_node *conv = convolution_before(p, node->in[0]);
    if (!conv && kni_edit_is(node, "BatchNormalization")) return;
    if (!conv) conv = convolution_before(p, node->in[1]);
    /* Changes of one pass do not see each other. */
    if (!conv || p->instead[conv->out[0]] != conv->out[0] || p->instead[node->out[0]] != node->out[0]) return;
    affine a = {.channels = channels_of(conv, kni_edit_constant(p, conv->in[1]))};
    a.scale = calloc((size_t)a.channels, sizeof *a.scale);
    a.shift = calloc((size_t)a.channels, sizeof *a.shift);
    if (a.scale && a.shift)
        take_in(p, conv, node, &a);
    else
        p->failed = true;
    free(a.scale);
    free(a.shift);
}

void kni_edit_affine(kni_edit *p) { kni_edit_each(p, visit); }
