/* Finds layer norm and RMS norm in their parts. What they are is said by an operator of our own, kiln.Norm: operands x, scale and bias,
   attributes axes, epsilon, centered. Results differ in the last bits. */
#include "onnx/pass/graph_edit.h"

/* x / sqrt(mean(x^2) + eps) over axes */
typedef struct norm {
    int32_t x;
    double eps;
    const int64_t *axes;
    int64_t n_axes;
} norm;

/* ReduceMean with its axes, which stay as axes of one element. */
static const kni_onnx_node *mean_of(kni_edit *p, int32_t value, const int64_t **axes, int64_t *n)
{
    const kni_onnx_node *mean = kni_edit_made_by(p, value, "ReduceMean");
    if (!mean || !kni_node_int(mean, "keepdims", 1)) return NULL;
    *axes = kni_edit_axes(p, mean, n);
    return *axes && *n > 0 ? mean : NULL;
}

/* x of x^2; -1: it is no square. */
static int32_t root_of(const kni_edit *p, int32_t value)
{
    const kni_onnx_node *node = kni_edit_made_by(p, value, "Pow");
    if (node && node->n_in == 2) return kni_edit_near(p, node->in[1], 2) ? node->in[0] : -1;
    node = kni_edit_made_by(p, value, "Mul");
    return node && node->n_in == 2 && node->in[0] == node->in[1] ? node->in[0] : -1;
}

/* Fills in what is under the root: mean(x^2) + eps. */
static bool is_variance(kni_edit *p, int32_t value, norm *found)
{
    const kni_onnx_node *sum = kni_edit_made_by(p, value, "Add");
    for (int32_t i = 0; sum && sum->n_in == 2 && i < 2; i++) {
        const kni_onnx_node *mean = mean_of(p, sum->in[i], &found->axes, &found->n_axes);
        if (!mean || !kni_edit_real(p, sum->in[1 - i], &found->eps)) continue;
        found->x = root_of(p, mean->in[0]);
        if (found->x >= 0 && found->eps >= 0) return true;
    }
    return false;
}

/* sqrt(variance) */
static bool is_deviation(kni_edit *p, int32_t value, norm *found)
{
    const kni_onnx_node *root = kni_edit_made_by(p, value, "Sqrt"),
                        *power = kni_edit_made_by(p, value, "Pow");
    if (root) return is_variance(p, kni_edit_input(root, 0), found);
    return power && power->n_in == 2 && kni_edit_near(p, power->in[1], 0.5) &&
           is_variance(p, power->in[0], found);
}

/* 1 / sqrt(variance) */
static bool is_inverse(kni_edit *p, int32_t value, norm *found)
{
    const kni_onnx_node *node = kni_edit_made_by(p, value, "Reciprocal");
    if (node) return is_deviation(p, kni_edit_input(node, 0), found);
    node = kni_edit_made_by(p, value, "Div");
    if (node && node->n_in == 2)
        return kni_edit_near(p, node->in[0], 1) && is_deviation(p, node->in[1], found);
    node = kni_edit_made_by(p, value, "Pow");
    return node && node->n_in == 2 && kni_edit_near(p, node->in[1], -0.5) &&
           is_variance(p, node->in[0], found);
}

/* x times 1 / deviation, or x / deviation. */
static bool is_norm(kni_edit *p, const kni_onnx_node *node, norm *found)
{
    if (kni_edit_is(node, "Div") && node->n_in == 2)
        return is_deviation(p, node->in[1], found) && found->x == node->in[0];
    if (!kni_edit_is(node, "Mul") || node->n_in != 2) return false;
    for (int32_t i = 0; i < 2; i++)
        if (is_inverse(p, node->in[i], found) && found->x == node->in[1 - i]) return true;
    return false;
}

/* x of x - mean(x) over the same axes; -1: it is something else. */
static int32_t before_centering(kni_edit *p, const norm *found)
{
    const kni_onnx_node *difference = kni_edit_made_by(p, found->x, "Sub");
    const int64_t *axes;
    int64_t n = 0;
    if (!difference || difference->n_in != 2) return -1;
    const kni_onnx_node *mean = mean_of(p, difference->in[1], &axes, &n);
    if (!mean || mean->in[0] != difference->in[0] || n != found->n_axes) return -1;
    for (int64_t i = 0; i < n; i++)
        if (axes[i] != found->axes[i]) return -1;
    return difference->in[0];
}

static void visit_parts(kni_edit *p, kni_onnx_node *node)
{
    norm found = {0};
    if (node->n_out != 1 || !is_norm(p, node, &found)) return;
    int32_t whole = before_centering(p, &found), x = whole >= 0 ? whole : found.x;
    const kni_onnx_attribute attributes[] = {kni_edit_list(p, "axes", found.axes, found.n_axes),
                                             kni_edit_number(p, "epsilon", found.eps),
                                             kni_edit_int(p, "centered", whole >= 0)};
    kni_edit_become(p, node, "kiln", "Norm", 1, &x, 1, attributes, 3);
}

/* Scale, then bias, which are constants. */
static void visit_affine(kni_edit *p, kni_onnx_node *node)
{
    bool sums = kni_edit_is(node, "Add");
    if ((!sums && !kni_edit_is(node, "Mul")) || node->n_in != 2 || node->n_out != 1) return;
    for (int32_t i = 0; i < 2; i++) {
        const kni_onnx_node *before = kni_edit_maker(p, node->in[i]);
        bool ours =
            before && before->domain[0] == 'k' && before->op[0] == 'N' && kni_edit_once(p, node->in[i]);
        if (!ours || !kni_edit_constant(p, node->in[1 - i]) || before->n_in > (sums ? 2 : 1)) continue;
        int32_t in[3] = {before->in[0], kni_edit_input(before, 1), -1};
        in[sums ? 2 : 1] = node->in[1 - i];
        kni_edit_become(p, node, "kiln", "Norm", 1, in, sums ? 3 : 2, before->attributes,
                        before->n_attributes);
        return;
    }
}

void kni_edit_norms(kni_edit *p)
{
    kni_edit_each(p, visit_parts);
    kni_edit_each(p, visit_affine);
}
