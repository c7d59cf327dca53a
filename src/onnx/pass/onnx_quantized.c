/* Puts integer kernels where quantized models have pieces of them: operators between DequantizeLinear and QuantizeLinear become QLinearConv,
   QLinearMatMul and QGemm, or move bytes as they are; products with dequantized weights become kiln.QuantizedLinear; MatMulInteger with
   the scale and the bias behind it becomes kiln.IntegerProduct. Sums are exact, where floats round. */
#include "onnx/pass/graph_edit.h"
#include "support/scalar_math.h"
#include <string.h>

/* x with its scale and zero point, which are constants: (x - zero) scale. */
typedef struct quantized {
    int32_t x, scale, zero; /* zero -1: none */
    const kni_onnx_tensor *scales, *zeros;
    int32_t type; /* of x; KNI_ONNX_UNDEFINED: unknown */
    int64_t axis;
} quantized;

static bool is_byte(int32_t type) { return type == KNI_ONNX_UINT8 || type == KNI_ONNX_INT8; }

/* The operands of QuantizeLinear and DequantizeLinear; false where they are no constants or go by blocks. */
static bool read_scaling(const kni_edit *p, const kni_onnx_node *node, quantized *q)
{
    if (node->n_in < 2 || node->n_out != 1 || kni_node_int(node, "block_size", 0)) return false;
    *q = (quantized){.x = node->in[0], .scale = node->in[1], .zero = kni_edit_input(node, 2)};
    q->scales = kni_edit_constant(p, q->scale);
    q->zeros = kni_edit_constant(p, q->zero);
    q->axis = kni_node_int(node, "axis", 1);
    if (!q->scales || q->scales->type != KNI_ONNX_FLOAT || (q->zero >= 0 && !q->zeros)) return false;
    const kni_onnx_tensor *x = kni_edit_constant(p, q->x);
    q->type = q->zeros ? q->zeros->type : x ? x->type : KNI_ONNX_UNDEFINED;
    return true;
}

static bool before(const kni_edit *p, int32_t value, quantized *q)
{
    const kni_onnx_node *node = value < 0 ? NULL : kni_edit_made_by(p, value, "DequantizeLinear");
    return node && kni_node_int(node, "output_dtype", KNI_ONNX_FLOAT) == KNI_ONNX_FLOAT &&
           read_scaling(p, node, q);
}

static bool is_single(const quantized *q)
{
    return q->scales->count == 1 && (!q->zeros || q->zeros->count == 1);
}

/* Bytes with one scale, or with one for each place of an axis (from the front) of a constant. */
static bool has_scales(const kni_edit *p, const quantized *q, int64_t axis)
{
    const kni_onnx_tensor *x = kni_edit_constant(p, q->x);
    if (!is_byte(q->type)) return false;
    if (is_single(q)) return true;
    if (!x || axis >= x->rank || q->scales->rank != 1 || q->scales->count != x->sizes[axis]) return false;
    return (q->axis < 0 ? q->axis + x->rank : q->axis) == axis &&
           (!q->zeros || q->zeros->count == q->scales->count);
}

static double zero_of(const quantized *q) { return q->zeros ? kni_edit_element(q->zeros, 0) : 0; }

static bool same_scaling(const quantized *a, const quantized *b)
{
    return is_single(a) && is_single(b) && a->type == b->type && is_byte(a->type) &&
           kni_edit_element(a->scales, 0) == kni_edit_element(b->scales, 0) && zero_of(a) == zero_of(b);
}

/* ---- what a bias of integers must be: at the scale of the sums */

static bool is_near(double a, double b)
{
    const double apart = a < b ? b - a : a - b;
    return apart <= 1e-5 * (b < 0 ? -b : b);
}

/* A bias of floats as integers at the scale of the sums; -2: it is none, or these do not hold it. */
static int32_t rounded_bias(kni_edit *p, int32_t value, const quantized *x, const quantized *w)
{
    const kni_onnx_tensor *bias = kni_edit_constant(p, value);
    const kni_onnx_value *old = &p->model->values[value];
    const int64_t n = w->scales->count;
    void *data;
    if (p->keep_weights || !bias || bias->type != KNI_ONNX_FLOAT || bias->rank != 1 ||
        (n != 1 && n != bias->count))
        return -2;
    const int32_t made =
        kni_edit_new_constant(p, old->graph, old->name, KNI_ONNX_INT32, bias->sizes, 1, &data);
    for (int64_t i = 0; made >= 0 && i < bias->count; i++) {
        const double scale = kni_edit_element(x->scales, 0) * kni_edit_element(w->scales, n == 1 ? 0 : i);
        const double sum = kni_round(kni_edit_element(bias, i) / scale);
        if (!(sum >= -0x1p30 && sum <= 0x1p30)) return -2;
        ((int32_t *)data)[i] = (int32_t)sum;
    }
    return made < 0 ? -2 : made;
}

/* The integers of a bias; -1: absent; -2: it is something else. */
static int32_t bias_of(kni_edit *p, int32_t value, const quantized *x, const quantized *w)
{
    quantized b;
    if (value < 0) return -1;
    if (!before(p, value, &b)) return rounded_bias(p, value, x, w);
    const kni_onnx_tensor *sums = kni_edit_constant(p, b.x);
    if (!sums || sums->type != KNI_ONNX_INT32 || sums->rank != 1) return -2;
    if (b.scales->count != 1 && b.scales->count != w->scales->count) return -2;
    for (int64_t i = 0; b.zeros && i < b.zeros->count; i++)
        if (kni_edit_element(b.zeros, i) != 0) return -2;
    for (int64_t i = 0; i < w->scales->count; i++) {
        const double of_sums = kni_edit_element(x->scales, 0) * kni_edit_element(w->scales, i);
        if (!is_near(kni_edit_element(b.scales, b.scales->count == 1 ? 0 : i), of_sums)) return -2;
    }
    return b.x;
}

/* ---- operators between the two */

static double lowest(const quantized *y) { return y->type == KNI_ONNX_INT8 ? -128 : 0; }

/* What rounding to 8 bits makes of a number. */
static double rounded(const quantized *y, double number)
{
    return kni_round(number / kni_edit_element(y->scales, 0)) + zero_of(y);
}

/* Whether an activation changes nothing that the range of the bytes leaves. */
static bool is_within_range(const kni_edit *p, const kni_onnx_node *node, const quantized *y)
{
    double low, high;
    if (kni_edit_is(node, "Relu")) return zero_of(y) == lowest(y);
    if (!kni_edit_is(node, "Clip") || node->version < 11) return false;
    const int32_t from = kni_edit_input(node, 1), to = kni_edit_input(node, 2);
    if (from >= 0 && (!kni_edit_real(p, from, &low) || !(rounded(y, low) <= lowest(y)))) return false;
    return to < 0 || (kni_edit_real(p, to, &high) && rounded(y, high) >= lowest(y) + 255);
}

static void make_conv(kni_edit *p, kni_onnx_node *node, const kni_onnx_node *conv, const quantized *y)
{
    quantized x, w;
    if (conv->n_in < 2 || !before(p, conv->in[0], &x) || !before(p, conv->in[1], &w)) return;
    if (!is_single(&x) || !is_byte(x.type) || !has_scales(p, &w, 0)) return;
    const int32_t bias = bias_of(p, kni_edit_input(conv, 2), &x, &w);
    if (bias < -1) return;
    const int32_t in[9] = {x.x, x.scale, x.zero, w.x, w.scale, w.zero, y->scale, y->zero, bias};
    kni_edit_become(p, node, "", "QLinearConv", 10, in, bias < 0 ? 8 : 9, conv->attributes,
                    conv->n_attributes);
}

static void make_matmul(kni_edit *p, kni_onnx_node *node, const kni_onnx_node *product, const quantized *y)
{
    quantized a, b;
    if (product->n_in != 2 || !before(p, product->in[0], &a) || !before(p, product->in[1], &b)) return;
    const kni_onnx_tensor *w = kni_edit_constant(p, b.x);
    if (!is_single(&a) || !is_byte(a.type) || !has_scales(p, &b, 1)) return;
    if (!is_single(&b) && w->rank != 2) return;
    const int32_t in[8] = {a.x, a.scale, a.zero, b.x, b.scale, b.zero, y->scale, y->zero};
    kni_edit_become(p, node, "", "QLinearMatMul", 10, in, 8, NULL, 0);
}

static void make_gemm(kni_edit *p, kni_onnx_node *node, const kni_onnx_node *gemm, const quantized *y)
{
    quantized a, b;
    if (gemm->n_in < 2 || !before(p, gemm->in[0], &a) || !before(p, gemm->in[1], &b)) return;
    const int64_t turned = kni_node_int(gemm, "transB", 0);
    const bool plain = kni_node_real(gemm, "alpha", 1) == 1 && kni_node_real(gemm, "beta", 1) == 1;
    if (!plain || !is_single(&a) || !is_byte(a.type) || !has_scales(p, &b, turned ? 0 : 1)) return;
    const int32_t bias = bias_of(p, kni_edit_input(gemm, 2), &a, &b);
    if (bias < -1) return;
    const int32_t in[9] = {a.x, a.scale, a.zero, b.x, b.scale, b.zero, bias, y->scale, y->zero};
    const kni_onnx_attribute attributes[] = {kni_edit_int(p, "transA", kni_node_int(gemm, "transA", 0)),
                                             kni_edit_int(p, "transB", turned)};
    kni_edit_become(p, node, "com.microsoft", "QGemm", 1, in, 9, attributes, 2);
}

/* Operators that move elements, or choose some of them, and how many operands they move; all: Concat. */
static const struct {
    const char *op;
    bool all;
} movers[] = {{"Reshape", false},   {"Transpose", false},    {"Flatten", false},      {"Squeeze", false},
              {"Unsqueeze", false}, {"Slice", false},        {"Gather", false},       {"Expand", false},
              {"Identity", false},  {"DepthToSpace", false}, {"SpaceToDepth", false}, {"Tile", false},
              {"MaxPool", false},   {"Concat", true}};

enum { MOST_MOVED = 64 };

static void make_move(kni_edit *p, kni_onnx_node *node, const kni_onnx_node *mover, const quantized *y)
{
    int32_t in[MOST_MOVED];
    size_t i = 0;
    while (i < sizeof movers / sizeof *movers && !kni_edit_is(mover, movers[i].op)) i++;
    if (i == sizeof movers / sizeof *movers || mover->n_out != 1 || mover->n_in > MOST_MOVED) return;
    if (kni_edit_is(mover, "MaxPool") && mover->version < 12) return;
    for (int32_t k = 0; k < mover->n_in; k++) {
        quantized x;
        in[k] = mover->in[k];
        if (k > 0 && !movers[i].all) continue;
        if (!before(p, in[k], &x) || !same_scaling(&x, y)) return;
        in[k] = x.x;
    }
    kni_edit_become(p, node, "", mover->op, mover->version, in, mover->n_in, mover->attributes,
                    mover->n_attributes);
}

/* ---- elementwise */

static bool is_plain(const kni_edit *p, int32_t value, quantized *q)
{
    return before(p, value, q) && is_single(q) && is_byte(q->type) && q->zero >= 0;
}

static void make_binary(kni_edit *p, kni_onnx_node *node, const kni_onnx_node *op, const quantized *y)
{
    quantized a, b;
    if (op->n_in != 2 || !is_plain(p, op->in[0], &a) || !is_plain(p, op->in[1], &b)) return;
    const int32_t in[8] = {a.x, a.scale, a.zero, b.x, b.scale, b.zero, y->scale, y->zero};
    kni_edit_become(p, node, "com.microsoft", kni_edit_is(op, "Add") ? "QLinearAdd" : "QLinearMul", 1, in, 8,
                    NULL, 0);
}

/* Of one operand, element by element. */
static const char *const unary[] = {
    "Sigmoid", "LeakyRelu", "HardSwish", "HardSigmoid", "Tanh", "Erf", "Relu",
    "Elu",     "Selu",      "Celu",      "Softplus",    "Gelu", "Exp", "Sqrt",
    "Abs",     "Neg",       "Mish",      "Softsign",    "Sin",  "Cos", "Swish"};

enum { MOST_ATTRIBUTES = 8 };

static void make_unary(kni_edit *p, kni_onnx_node *node, const kni_onnx_node *op, const quantized *y)
{
    quantized x;
    size_t i = 0;
    while (i < sizeof unary / sizeof *unary && !kni_edit_is(op, unary[i])) i++;
    if (i == sizeof unary / sizeof *unary || op->n_in != 1 || op->n_attributes > MOST_ATTRIBUTES - 2) return;
    if (!is_plain(p, op->in[0], &x)) return;
    kni_onnx_attribute attributes[MOST_ATTRIBUTES];
    int32_t n = op->n_attributes;
    if (n) memcpy(attributes, op->attributes, sizeof *attributes * (size_t)n);
    attributes[n++] = kni_edit_int(p, "version", op->version);
    attributes[n++] = kni_edit_text(p, "of", unary[i]);
    const int32_t in[5] = {x.x, x.scale, x.zero, y->scale, y->zero};
    kni_edit_become(p, node, "kiln", "QuantizedUnary", 1, in, 5, attributes, n);
}

/* Parts with scales of their own. */
static void make_concat(kni_edit *p, kni_onnx_node *node, const kni_onnx_node *op, const quantized *y)
{
    enum { PARTS = 10 }; /* what a converter has room for */
    int32_t in[2 + 3 * PARTS] = {y->scale, y->zero};
    if (op->n_in > PARTS) return;
    for (int32_t k = 0; k < op->n_in; k++) {
        quantized x;
        if (!is_plain(p, op->in[k], &x)) return;
        const int32_t part[3] = {x.x, x.scale, x.zero};
        memcpy(in + 2 + 3 * k, part, sizeof part);
    }
    kni_edit_become(p, node, "com.microsoft", "QLinearConcat", 1, in, 2 + 3 * op->n_in, op->attributes,
                    op->n_attributes);
}

/* A constant of floats, such as a weight that a tool left beside its scales, becomes its bytes. */
static void visit_constant(kni_edit *p, kni_onnx_node *node)
{
    quantized q;
    void *data;
    if (p->keep_weights || !kni_edit_is(node, "QuantizeLinear") || !read_scaling(p, node, &q)) return;
    const kni_onnx_tensor *t = kni_edit_constant(p, q.x);
    if (!t || t->type != KNI_ONNX_FLOAT || !q.zeros || !is_byte(q.type) || p->given[node->out[0]]) return;
    const int64_t axis = q.axis < 0 ? q.axis + t->rank : q.axis;
    int64_t inner = 1, n = q.scales->count;
    if (!is_single(&q)) {
        if (axis < 0 || axis >= t->rank || q.scales->rank != 1 || n != t->sizes[axis] || q.zeros->count != n)
            return;
        for (int64_t i = axis + 1; i < t->rank; i++) inner *= t->sizes[i];
    }
    const kni_onnx_value *old = &p->model->values[q.x];
    const int32_t value = kni_edit_new_constant(p, old->graph, old->name, q.type, t->sizes, t->rank, &data);
    const double low = lowest(&q);
    for (int64_t i = 0; value >= 0 && i < t->count; i++) {
        const int64_t c = i / inner % n;
        const float scaled = (float)kni_edit_element(t, i) / (float)kni_edit_element(q.scales, c);
        double number = kni_round(scaled) + kni_edit_element(q.zeros, c);
        number = number > low ? number : low; /* also what is no number */
        number = number < low + 255 ? number : low + 255;
        ((uint8_t *)data)[i] = (uint8_t)(int32_t)number;
    }
    if (value < 0) return;
    kni_onnx_value *result = &p->model->values[node->out[0]];
    result->initializer = p->model->values[value].initializer;
    result->node = -1;
    kni_edit_remove(p, node);
    p->changes++;
}

static void visit_quantize(kni_edit *p, kni_onnx_node *node)
{
    quantized y, x;
    if (!kni_edit_is(node, "QuantizeLinear") || !read_scaling(p, node, &y) || !is_single(&y)) return;
    if (!y.zeros || !is_byte(y.type)) return;
    if (before(p, node->in[0], &x) && same_scaling(&x, &y)) { /* there and back */
        kni_edit_forward(p, node->out[0], x.x);
        return;
    }
    int32_t value = node->in[0];
    const kni_onnx_node *op = kni_edit_maker(p, value);
    if (op && op->n_in > 0 && is_within_range(p, op, &y) && kni_edit_once(p, value)) {
        value = op->in[0];
        op = kni_edit_maker(p, value);
    }
    if (!op || op->n_out != 1 || !kni_edit_once(p, value)) return;
    if (kni_edit_is(op, "Conv"))
        make_conv(p, node, op, &y);
    else if (kni_edit_is(op, "MatMul"))
        make_matmul(p, node, op, &y);
    else if (kni_edit_is(op, "Gemm"))
        make_gemm(p, node, op, &y);
    else if (kni_edit_is(op, "Add") || kni_edit_is(op, "Mul"))
        make_binary(p, node, op, &y);
    else
        make_move(p, node, op, &y);
    if (!kni_edit_is(node, "QuantizeLinear")) return;
    if (kni_edit_is(op, "Concat"))
        make_concat(p, node, op, &y);
    else
        make_unary(p, node, op, &y);
}

/* ---- products whose results stay floats */

/* A weight [k, n] of bytes as [n, k]: what it was transposed from, or a copy, or itself where weights stay as they are (turns: what reads
   it turns it). -1: it is no constant. */
static int32_t turned_weight(kni_edit *p, const quantized *w, bool *turns)
{
    const kni_onnx_node *turn = kni_edit_made_by(p, w->x, "Transpose");
    int64_t n_axes = 0;
    if (turn) {
        const kni_onnx_tensor *whole = kni_edit_constant(p, turn->in[0]);
        const int64_t *perm = kni_node_ints(turn, "perm", &n_axes);
        const bool swaps = n_axes == 0 || (n_axes == 2 && perm[0] == 1 && perm[1] == 0);
        return whole && whole->rank == 2 && is_byte(whole->type) && swaps ? turn->in[0] : -1;
    }
    const kni_onnx_tensor *t = kni_edit_constant(p, w->x);
    if (!t || t->rank != 2 || !is_byte(t->type)) return -1;
    *turns = p->keep_weights;
    if (*turns) return w->x;
    const int64_t k = t->sizes[0], n = t->sizes[1], sizes[2] = {n, k};
    void *data;
    const kni_onnx_value *old = &p->model->values[w->x];
    const int32_t value = kni_edit_new_constant(p, old->graph, old->name, t->type, sizes, 2, &data);
    const uint8_t *from = t->data;
    enum { TILE = 64 };
    for (int64_t i0 = 0; value >= 0 && i0 < k; i0 += TILE)
        for (int64_t j = 0; j < n; j++)
            for (int64_t i = i0; i < k && i < i0 + TILE; i++) ((uint8_t *)data)[j * k + i] = from[i * n + j];
    return value;
}

/* MatMul(x, weight) and Gemm(x, weight, bias). */
static void visit_weights(kni_edit *p, kni_onnx_node *node)
{
    quantized x, w;
    const bool gemm = kni_edit_is(node, "Gemm");
    if ((!gemm && !kni_edit_is(node, "MatMul")) || node->n_in < 2 || node->n_out != 1) return;
    if (!before(p, node->in[1], &w) || w.scales->rank > 1) return;
    const bool turned = gemm && kni_node_int(node, "transB", 0);
    if (gemm && (kni_node_int(node, "transA", 0) || kni_node_real(node, "alpha", 1) != 1 ||
                 kni_node_real(node, "beta", 1) != 1))
        return;
    if (!is_byte(w.type) || (!is_single(&w) && !has_scales(p, &w, turned ? 0 : 1))) return;
    const int32_t bias = kni_edit_input(node, 2);
    if (bias < 0 && before(p, node->in[0], &x) && is_single(&x) && is_byte(x.type) && !turned) {
        const kni_onnx_tensor *t = kni_edit_constant(p, w.x);
        if (!t || t->rank != 2) return;
        const int32_t in[6] = {x.x, w.x, x.scale, w.scale, x.zero, w.zero};
        kni_edit_become(p, node, "com.microsoft", "MatMulIntegerToFloat", 1, in, 6, NULL, 0);
        return;
    }
    const kni_onnx_tensor *t = kni_edit_constant(p, w.x);
    const bool ready = turned && t && t->rank == 2 && is_byte(t->type);
    if (turned && !ready) return;
    bool turn = false;
    const int32_t weight = ready ? w.x : turned_weight(p, &w, &turn);
    if (weight < 0) return;
    const int32_t in[5] = {node->in[0], weight, w.scale, w.zero, bias};
    const kni_onnx_attribute attribute = kni_edit_int(p, "turn", turn);
    kni_edit_become(p, node, "kiln", "QuantizedLinear", 1, in, 5, &attribute, 1);
}

/* ---- weights of few bits in blocks */

/* Field i of a row of packed numbers, the lowest bits first. */
static uint8_t field(const uint8_t *row, int64_t i, int64_t bits)
{
    return (uint8_t)(row[i * bits / 8] >> (i * bits % 8) & ((1 << bits) - 1));
}

/* [rows, n] of bytes out of rows of packed numbers, each `bytes` long. */
static int32_t unpacked(kni_edit *p, int32_t like, const kni_onnx_tensor *t, int64_t rows, int64_t n,
                        int64_t bits, int64_t bytes)
{
    void *data;
    const kni_onnx_value *old = &p->model->values[like];
    const int64_t sizes[2] = {rows, n};
    const int32_t value = kni_edit_new_constant(p, old->graph, old->name, KNI_ONNX_UINT8, sizes, 2, &data);
    for (int64_t r = 0; value >= 0 && r < rows; r++)
        for (int64_t i = 0; i < n; i++)
            ((uint8_t *)data)[r * n + i] = field((const uint8_t *)t->data + r * bytes, i, bits);
    return value;
}

static int32_t as_matrix(kni_edit *p, int32_t like, const kni_onnx_tensor *t, int64_t rows, int64_t n)
{
    void *data;
    const kni_onnx_value *old = &p->model->values[like];
    const int64_t sizes[2] = {rows, n};
    const int32_t value = kni_edit_new_constant(p, old->graph, old->name, KNI_ONNX_FLOAT, sizes, 2, &data);
    if (value >= 0) memcpy(data, t->data, t->bytes);
    return value;
}

static int32_t middle_zero(kni_edit *p, int32_t like, int64_t bits)
{
    void *data;
    const kni_onnx_value *old = &p->model->values[like];
    const int32_t value = kni_edit_new_constant(p, old->graph, "zero", KNI_ONNX_UINT8, NULL, 0, &data);
    if (value >= 0) *(uint8_t *)data = (uint8_t)(1 << (bits - 1));
    return value;
}

/* The same operands as the file has them. */
static void keep_blocks(kni_edit *p, kni_onnx_node *node, int64_t bits, int64_t block)
{
    const int32_t in[5] = {node->in[0], node->in[1], node->in[2], kni_edit_input(node, 3),
                           kni_edit_input(node, 5)};
    const kni_onnx_attribute attributes[] = {kni_edit_int(p, "block", block), kni_edit_int(p, "bits", bits)};
    kni_edit_become(p, node, "kiln", "QuantizedLinear", 1, in, 5, attributes, 2);
}

/* MatMulNBits whose weight, scales and zero points are constants. */
static void visit_blocks(kni_edit *p, kni_onnx_node *node)
{
    if (strcmp(node->domain, "com.microsoft") || strcmp(node->op, "MatMulNBits") || node->n_in < 3) return;
    const int64_t k = kni_node_int(node, "K", 0), n = kni_node_int(node, "N", 0),
                  bits = kni_node_int(node, "bits", 4), block = kni_node_int(node, "block_size", 0),
                  most = INT32_MAX;
    if (k < 1 || n < 1 || block < 1 || k > most || n > most || block > most || kni_edit_input(node, 4) >= 0)
        return;
    if ((bits != 2 && bits != 4 && bits != 8) || block * bits % 8) return;
    const kni_onnx_tensor *w = kni_edit_constant(p, node->in[1]), *scales = kni_edit_constant(p, node->in[2]);
    const kni_onnx_tensor *zeros = kni_edit_constant(p, kni_edit_input(node, 3));
    const int64_t blocks = (k + block - 1) / block, row = blocks * (block * bits / 8);
    const int64_t zero_row = (blocks * bits + 7) / 8;
    int64_t all, all_scales, all_zeros;
    if (__builtin_mul_overflow(n, row, &all) || __builtin_mul_overflow(n, blocks, &all_scales) ||
        __builtin_mul_overflow(n, zero_row, &all_zeros))
        return;
    if (!w || w->type != KNI_ONNX_UINT8 || w->count != all || !scales || scales->type != KNI_ONNX_FLOAT ||
        scales->count != all_scales)
        return;
    if (kni_edit_input(node, 3) >= 0 &&
        (!zeros || zeros->type != KNI_ONNX_UINT8 || zeros->count != all_zeros))
        return;
    if (p->keep_weights || p->keep_stored) {
        keep_blocks(p, node, bits, block);
        return;
    }
    const int32_t in[5] = {node->in[0], unpacked(p, node->in[1], w, n, k, bits, row),
                           as_matrix(p, node->in[2], scales, n, blocks),
                           zeros ? unpacked(p, node->in[3], zeros, n, blocks, bits, zero_row)
                                 : middle_zero(p, node->in[1], bits),
                           kni_edit_input(node, 5)};
    if (p->failed) return;
    const kni_onnx_attribute attribute = kni_edit_int(p, "block", block);
    kni_edit_become(p, node, "kiln", "QuantizedLinear", 1, in, 5, &attribute, 1);
}

/* MatMulInteger, Cast and Mul. */
static void visit_scaled(kni_edit *p, kni_onnx_node *node)
{
    if (!kni_edit_is(node, "Mul") || node->n_in != 2 || node->n_out != 1) return;
    for (int32_t i = 0; i < 2; i++) {
        const kni_onnx_node *cast = kni_edit_made_by(p, node->in[i], "Cast");
        if (!cast || kni_node_int(cast, "to", 0) != KNI_ONNX_FLOAT || !kni_edit_once(p, node->in[i]))
            continue;
        const kni_onnx_node *product = kni_edit_made_by(p, cast->in[0], "MatMulInteger");
        if (!product || !kni_edit_once(p, cast->in[0]) || product->n_in < 2) continue;
        const int32_t in[5] = {product->in[0], product->in[1], kni_edit_input(product, 2),
                               kni_edit_input(product, 3), node->in[1 - i]};
        kni_edit_become(p, node, "kiln", "IntegerProduct", 1, in, 5, NULL, 0);
        return;
    }
}

/* The bias behind it. */
static void visit_bias(kni_edit *p, kni_onnx_node *node)
{
    if (!kni_edit_is(node, "Add") || node->n_in != 2 || node->n_out != 1) return;
    for (int32_t i = 0; i < 2; i++) {
        const kni_onnx_node *product = kni_edit_maker(p, node->in[i]);
        const kni_onnx_tensor *bias = kni_edit_constant(p, node->in[1 - i]);
        const bool ours = product && !strcmp(product->domain, "kiln") && product->n_in == 5 &&
                          !strcmp(product->op, "IntegerProduct") && kni_edit_once(p, node->in[i]);
        if (!ours || !bias || bias->type != KNI_ONNX_FLOAT || bias->rank != 1) continue;
        int32_t in[6];
        memcpy(in, product->in, 5 * sizeof *in);
        in[5] = node->in[1 - i];
        kni_edit_become(p, node, "kiln", "IntegerProduct", 1, in, 6, NULL, 0);
        return;
    }
}

void kni_edit_quantized(kni_edit *p)
{
    kni_edit_each(p, visit_constant);
    kni_edit_each(p, visit_quantize);
    kni_edit_each(p, visit_weights);
    kni_edit_each(p, visit_blocks);
    kni_edit_each(p, visit_scaled);
    kni_edit_each(p, visit_bias);
}
