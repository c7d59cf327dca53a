/* Finds gelu in both of its forms, silu, mish and hard swish in the products that they were exported as. Results differ in the last bits. */
#include "onnx/pass/graph_edit.h"

enum { ROOM = 6 };

/* A product as its constant factors in one number and the others. */
typedef struct product {
    double number;
    int32_t factors[ROOM], n;
} product;

static bool product_of(const kni_edit *p, const kni_onnx_node *root, product *out)
{
    int32_t all[ROOM], n = kni_edit_factors(p, root, all, ROOM);
    *out = (product){.number = 1};
    for (int32_t i = 0; i < n; i++) {
        double number;
        if (kni_edit_real(p, all[i], &number))
            out->number *= number;
        else
            out->factors[out->n++] = all[i];
    }
    return out->n > 0;
}

static bool near(double a, double b)
{
    double apart = a < b ? b - a : a - b;
    return apart <= 1e-3 * (b < 0 ? -b : b);
}

/* a of a + number; -1. */
static int32_t plus(const kni_edit *p, int32_t value, double number)
{
    const kni_onnx_node *sum = kni_edit_made_by(p, value, "Add");
    if (!sum || sum->n_in != 2) return -1;
    for (int32_t i = 0; i < 2; i++)
        if (kni_edit_near(p, sum->in[i], number)) return sum->in[1 - i];
    return -1;
}

/* Whether value is x times a number: x / sqrt(2), x * 0.7071. */
static bool is_scaled(const kni_edit *p, int32_t value, int32_t x, double number)
{
    const kni_onnx_node *node = kni_edit_made_by(p, value, "Div");
    double divisor;
    if (node && node->n_in == 2)
        return node->in[0] == x && kni_edit_real(p, node->in[1], &divisor) && near(1 / divisor, number);
    product q;
    node = kni_edit_made_by(p, value, "Mul");
    return node && product_of(p, node, &q) && q.n == 1 && q.factors[0] == x && near(q.number, number);
}

/* Whether value is x to the power of 2 or 3. */
static bool is_power(const kni_edit *p, int32_t value, int32_t x, int32_t power)
{
    const kni_onnx_node *node = kni_edit_made_by(p, value, "Pow");
    if (node && node->n_in == 2) return node->in[0] == x && kni_edit_near(p, node->in[1], power);
    product q;
    node = kni_edit_made_by(p, value, "Mul");
    if (!node || !product_of(p, node, &q) || q.n != power || !near(q.number, 1)) return false;
    for (int32_t i = 0; i < q.n; i++)
        if (q.factors[i] != x) return false;
    return true;
}

/* Whether value is 0.044715 x^3, or 0.044715 x^2. */
static bool is_curve(const kni_edit *p, int32_t value, int32_t x, int32_t power)
{
    product q;
    const kni_onnx_node *node = kni_edit_made_by(p, value, "Mul");
    if (!node || !product_of(p, node, &q) || !near(q.number, 0.044715)) return false;
    if (q.n == 1) return is_power(p, q.factors[0], x, power);
    if (q.n != power) return false;
    for (int32_t i = 0; i < q.n; i++)
        if (q.factors[i] != x) return false;
    return true;
}

/* Whether value is sqrt(2 / pi) (x + 0.044715 x^3), with x in the bracket or before it. */
static bool is_inside_of_tanh(const kni_edit *p, int32_t value, int32_t x)
{
    product q;
    const kni_onnx_node *node = kni_edit_made_by(p, value, "Mul");
    if (!node || !product_of(p, node, &q) || !near(q.number, 0.7978845608)) return false;
    if (q.n == 1) {
        const kni_onnx_node *sum = kni_edit_made_by(p, q.factors[0], "Add");
        int32_t other = kni_edit_other(sum, x);
        return other >= 0 && is_curve(p, other, x, 3);
    }
    for (int32_t i = 0; q.n == 2 && i < 2; i++) {
        int32_t curve = plus(p, q.factors[i], 1);
        if (q.factors[1 - i] == x && curve >= 0 && is_curve(p, curve, x, 2)) return true;
    }
    return false;
}

/* Which activation x * gate * number is; NULL: none. */
static const char *activation_of(const kni_edit *p, int32_t x, int32_t gate, double number)
{
    int32_t inside = plus(p, gate, 1);
    const kni_onnx_node *node;
    if (inside >= 0 && near(number, 0.5)) {
        node = kni_edit_made_by(p, inside, "Erf");
        if (node && is_scaled(p, kni_edit_input(node, 0), x, 0.7071067812)) return "Gelu";
        node = kni_edit_made_by(p, inside, "Tanh");
        if (node && is_inside_of_tanh(p, kni_edit_input(node, 0), x)) return "FastGelu";
    }
    if (!near(number, 1)) return NULL;
    node = kni_edit_made_by(p, gate, "Sigmoid");
    if (node) return kni_edit_input(node, 0) == x ? "Swish" : NULL;
    node = kni_edit_made_by(p, gate, "HardSigmoid");
    if (node && near(kni_node_real(node, "alpha", 0.2), 1.0 / 6) &&
        near(kni_node_real(node, "beta", 0.5), 0.5))
        return kni_edit_input(node, 0) == x ? "HardSwish" : NULL;
    node = kni_edit_made_by(p, gate, "Tanh");
    node = node ? kni_edit_made_by(p, kni_edit_input(node, 0), "Softplus") : NULL;
    return node && kni_edit_input(node, 0) == x ? "Mish" : NULL;
}

static void visit(kni_edit *p, kni_onnx_node *node)
{
    product q;
    if (!kni_edit_is(node, "Mul") || node->n_out != 1 || !product_of(p, node, &q) || q.n != 2) return;
    for (int32_t i = 0; i < 2; i++) {
        const char *op = activation_of(p, q.factors[i], q.factors[1 - i], q.number);
        if (!op) continue;
        bool fused = op[0] == 'G' || op[0] == 'F';
        kni_edit_become(p, node, fused ? "com.microsoft" : "", op, fused ? 1 : 24, &q.factors[i], 1, NULL, 0);
        return;
    }
}

void kni_edit_activations(kni_edit *p) { kni_edit_each(p, visit); }
