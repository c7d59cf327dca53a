/* Finds attention in its parts: q k' (scaled before or behind), a mask, softmax, the product with v. It becomes an operator of our own,
   kiln.Attention: operands q, k, v, what is added to the scores, and which of them stay (with `hides`: which do not); attributes scale,
   transposed (k is k'), grouped (k and v have fewer heads), fill (where a score does not stay). Results differ in the last bits; a query that sees no key gives 0 where
   softmax of nothing is NaN. */
#include "onnx/pass/graph_edit.h"
#include <string.h>

typedef struct attention {
    int32_t q, k, v, bias, keep;
    double scale, fill;
    bool transposed, grouped, hides;
} attention;

static double infinity_below(void) { return -__builtin_inf(); }

/* The rank of a value where its makers tell it; -1. */
static int32_t known_rank(const kni_edit *p, int32_t value)
{
    static const char *const keeps[] = {"Add",   "Mul",    "Div",  "Concat", "Cast",
                                        "Slice", "MatMul", "Rope", "Neg"};
    for (int steps = 0; steps < 16 && value >= 0; steps++) {
        const kni_onnx_declared *d = p->model->values[value].declared;
        const kni_onnx_node *node = kni_edit_maker(p, value);
        int64_t n;
        bool kept = false;
        if (d && d->kind == KNI_ONNX_TENSOR && d->rank >= 0) return d->rank;
        if (kni_edit_is(node, "Transpose") && kni_node_ints(node, "perm", &n)) return (int32_t)n;
        for (size_t i = 0; node && i < sizeof keeps / sizeof *keeps; i++) kept |= !strcmp(keeps[i], node->op);
        bool choice = kni_edit_is(node, "Where") && node->n_in == 3;
        value = choice ? node->in[1] : kept ? kni_edit_input(node, 0) : -1;
    }
    return -1;
}

/* The value without factors that are numbers, and these in one. */
static int32_t without_scale(const kni_edit *p, int32_t value, double *scale)
{
    for (int steps = 0; steps < 4; steps++) {
        const kni_onnx_node *node = kni_edit_maker(p, value);
        double number;
        bool divides = kni_edit_is(node, "Div");
        if ((!divides && !kni_edit_is(node, "Mul")) || node->n_in != 2) break;
        /* The number must not change the shape. */
        int32_t at = kni_edit_real(p, node->in[1], &number)               ? 0
                     : !divides && kni_edit_real(p, node->in[0], &number) ? 1
                                                                          : -1;
        const kni_onnx_tensor *t = at < 0 ? NULL : kni_edit_constant(p, node->in[1 - at]);
        if (at < 0 || (t && t->rank > 1) || number == 0) break;
        *scale = divides ? *scale / number : *scale * number;
        value = node->in[at];
    }
    return value;
}

/* ---- k */

/* Whether a permutation swaps the last two axes and nothing else. */
static bool swaps_last(const kni_onnx_node *node, int64_t rank)
{
    int64_t n;
    const int64_t *axes = kni_node_ints(node, "perm", &n);
    if (n < 2 || (rank && n != rank)) return false;
    for (int64_t i = 0; i < n - 2; i++)
        if (axes[i] != i) return false;
    return axes[n - 2] == n - 1 && axes[n - 1] == n - 2;
}

static bool same_dim(const kni_onnx_dim *a, const kni_onnx_dim *b)
{
    return a->value >= 0 && a->value == b->value;
}

static const kni_onnx_declared *declared_of(const kni_edit *p, int32_t value)
{
    const kni_onnx_declared *d = value < 0 ? NULL : p->model->values[value].declared;
    return d && d->kind == KNI_ONNX_TENSOR && d->rank >= 0 ? d : NULL;
}

/* Exporters write k' of heads as a matrix for each head: Reshape to rank 3, Transpose, Reshape back. It is k' where all shapes are known and
   say so. */
static int32_t behind_reshapes(const kni_edit *p, int32_t value)
{
    const kni_onnx_node *last = kni_edit_made_by(p, value, "Reshape");
    const kni_onnx_node *turn = last ? kni_edit_made_by(p, last->in[0], "Transpose") : NULL;
    const kni_onnx_node *first =
        turn && swaps_last(turn, 3) ? kni_edit_made_by(p, turn->in[0], "Reshape") : NULL;
    if (!first) return -1;
    const kni_onnx_declared *from = declared_of(p, first->in[0]), *middle = declared_of(p, first->out[0]);
    const kni_onnx_declared *to = declared_of(p, value);
    if (!from || !middle || !to || from->rank != 4 || middle->rank != 3 || to->rank != 4) return -1;
    bool same = same_dim(&from->dims[2], &to->dims[3]) && same_dim(&from->dims[3], &to->dims[2]) &&
                same_dim(&from->dims[2], &middle->dims[1]) && same_dim(&from->dims[3], &middle->dims[2]) &&
                same_dim(&from->dims[1], &to->dims[1]);
    return same ? first->in[0] : -1;
}

static void find_keys(const kni_edit *p, int32_t value, attention *a)
{
    const kni_onnx_node *turn = kni_edit_made_by(p, value, "Transpose");
    int32_t behind = behind_reshapes(p, value);
    a->transposed = false;
    if (turn && swaps_last(turn, 0))
        a->k = without_scale(p, turn->in[0], &a->scale);
    else if (behind >= 0)
        a->k = without_scale(p, behind, &a->scale);
    else
        a->k = value, a->transposed = true;
}

/* The few heads of which each was repeated: Reshape(Expand(Unsqueeze(x, 2))); -1: they were not. */
static int32_t before_repeats(kni_edit *p, int32_t value)
{
    const kni_onnx_node *flat = kni_edit_made_by(p, value, "Reshape");
    const kni_onnx_node *wide = flat ? kni_edit_made_by(p, flat->in[0], "Expand") : NULL;
    const kni_onnx_node *inserted = wide ? kni_edit_made_by(p, wide->in[0], "Unsqueeze") : NULL;
    int64_t n = 0;
    const int64_t *axes = inserted ? kni_edit_axes(p, inserted, &n) : NULL;
    return axes && n == 1 && axes[0] == 2 ? inserted->in[0] : -1;
}

static void find_groups(kni_edit *p, attention *a)
{
    int32_t k = a->transposed ? -1 : before_repeats(p, a->k), v = before_repeats(p, a->v);
    if (k < 0 || v < 0 || known_rank(p, k) != 4 || known_rank(p, v) != 4) return;
    a->k = k, a->v = v;
    a->grouped = true;
}

/* ---- scores */

/* Where(keep, scores, number) and Where(hide, number, scores). */
static bool find_hidden(kni_edit *p, const kni_onnx_node *node, attention *a, int32_t *scores)
{
    double fill;
    if (!kni_edit_is(node, "Where") || node->n_in != 3) return false;
    a->hides = kni_edit_real(p, node->in[1], &fill);
    if ((!a->hides && !kni_edit_real(p, node->in[2], &fill)) || fill > -1e4) return false;
    a->keep = node->in[0];
    a->fill = fill;
    *scores = node->in[a->hides ? 2 : 1];
    return true;
}

/* A mask that is added: 0 where a score stays, -infinity elsewhere. Others stay what they are. */
static void find_added(kni_edit *p, int32_t mask, attention *a)
{
    const kni_onnx_node *choice = kni_edit_made_by(p, mask, "Where");
    double zero, fill;
    a->bias = mask;
    if (!choice || choice->n_in != 3) return;
    if (!kni_edit_real(p, choice->in[1], &zero) || zero != 0 || !kni_edit_real(p, choice->in[2], &fill))
        return;
    if (fill != infinity_below()) return;
    a->bias = -1;
    a->keep = choice->in[0];
    a->fill = fill;
}

/* The product q k' that a value is made of. */
static bool find_product(kni_edit *p, int32_t value, attention *a)
{
    value = without_scale(p, value, &a->scale);
    const kni_onnx_node *product = kni_edit_made_by(p, value, "MatMul");
    if (!product || product->n_in != 2 || !kni_edit_once(p, value)) return false;
    a->q = without_scale(p, product->in[0], &a->scale);
    find_keys(p, without_scale(p, product->in[1], &a->scale), a);
    return true;
}

static bool find_scores(kni_edit *p, int32_t value, attention *a)
{
    const kni_onnx_node *node = kni_edit_maker(p, value);
    int32_t inner;
    const attention before = *a;
    if (find_hidden(p, node, a, &inner)) return find_product(p, inner, a);
    *a = before;
    if (kni_edit_is(node, "Add") && node->n_in == 2)
        for (int32_t i = 0; i < 2; i++) {
            *a = before;
            find_added(p, node->in[1 - i], a);
            if (find_product(p, node->in[i], a)) return true;
        }
    *a = before;
    return find_product(p, value, a);
}

/* ---- the whole */

static bool is_last_axis(const kni_edit *p, const kni_onnx_node *softmax)
{
    int64_t axis = kni_node_int(softmax, "axis", softmax->version < 13 ? 1 : -1);
    return axis == -1 || (axis > 0 && known_rank(p, softmax->in[0]) == axis + 1);
}

static bool is_type(int64_t type, bool half)
{
    if (half) return type == KNI_ONNX_FLOAT16 || type == KNI_ONNX_BFLOAT16;
    return type == KNI_ONNX_FLOAT || type == KNI_ONNX_DOUBLE;
}

/* Halves are cast to f32 for softmax, and back: attention computes so by itself. */
static int32_t without_cast(const kni_edit *p, int32_t value, bool to_half)
{
    const kni_onnx_node *cast = kni_edit_made_by(p, value, "Cast");
    bool known = cast && is_type(kni_node_int(cast, "to", KNI_ONNX_UNDEFINED), to_half);
    return known && kni_edit_once(p, value) ? cast->in[0] : value;
}

/* Softmax behind Where(IsNaN(s), 0, s), which says what hidden queries give. scores: what it is of. */
static const kni_onnx_node *softmax_of(kni_edit *p, int32_t value, int32_t *scores)
{
    int32_t bare = without_cast(p, value, true);
    bool cast = bare != value;
    value = bare;
    const kni_onnx_node *guard = kni_edit_made_by(p, value, "Where");
    double zero;
    if (guard && guard->n_in == 3) {
        const kni_onnx_node *nan = kni_edit_made_by(p, guard->in[0], "IsNaN");
        if (!nan || nan->in[0] != guard->in[2] || !kni_edit_real(p, guard->in[1], &zero) || zero != 0)
            return NULL;
        value = guard->in[2];
        if (value < 0 || p->uses[value] != 2 || p->given[value]) return NULL;
    } else if (!kni_edit_once(p, value)) {
        return NULL;
    }
    const kni_onnx_node *softmax = kni_edit_made_by(p, value, "Softmax");
    if (!softmax || !is_last_axis(p, softmax) || !kni_edit_once(p, softmax->in[0])) return NULL;
    *scores = without_cast(p, softmax->in[0], false);
    return cast == (*scores != softmax->in[0]) ? softmax : NULL;
}

static void visit(kni_edit *p, kni_onnx_node *node)
{
    attention a = {.bias = -1, .keep = -1, .scale = 1, .fill = infinity_below()};
    if (!kni_edit_is(node, "MatMul") || node->n_in != 2 || node->n_out != 1) return;
    int32_t scores;
    if (!softmax_of(p, node->in[0], &scores) || !find_scores(p, scores, &a)) return;
    a.v = node->in[1];
    if (a.q < 0 || a.k < 0 || a.v < 0) return;
    find_groups(p, &a);
    const int32_t in[] = {a.q, a.k, a.v, a.bias, a.keep};
    const kni_onnx_attribute attributes[] = {
        kni_edit_number(p, "scale", a.scale), kni_edit_int(p, "transposed", a.transposed),
        kni_edit_int(p, "grouped", a.grouped), kni_edit_number(p, "fill", a.fill),
        kni_edit_int(p, "hides", a.hides)};
    kni_edit_become(p, node, "kiln", "Attention", 1, in, 5, attributes, 5);
}

void kni_edit_attention(kni_edit *p) { kni_edit_each(p, visit); }
