/* Finds rotary embeddings: x cos + turned(x) sin, where turned(x) is the second half of the last axis with its sign changed before the first
   half. It becomes kiln.Rope: operands x, cosines, sines, and how many elements a half has (absent: half of them); attributes axis and joined (that
   along which x is cut, and that along which its parts are put together) and repeated (both halves of cosines and sines are the same). */
#include "onnx/pass/graph_edit.h"
#include <string.h>

/* A Slice of one axis with step 1: the values that say where it begins and ends. */
typedef struct cut {
    int32_t x, start, stop;
    int64_t axis;
} cut;

static bool is_number(kni_edit *p, int32_t value, int64_t *number)
{
    int64_t n = 0;
    const int64_t *list = kni_edit_ints(p, value, &n);
    if (list && n == 1) *number = list[0];
    return list && n == 1;
}

static bool find_cut(kni_edit *p, int32_t value, cut *out)
{
    const kni_onnx_node *slice = kni_edit_made_by(p, value, "Slice");
    int64_t step = 1;
    if (!slice || slice->version < 10 || slice->n_in < 4) return false;
    *out = (cut){.x = slice->in[0], .start = slice->in[1], .stop = slice->in[2]};
    if (kni_edit_input(slice, 4) >= 0 && !is_number(p, slice->in[4], &step)) return false;
    return step == 1 && is_number(p, slice->in[3], &out->axis);
}

/* What is joined; middle: the value that says how many elements a half has, -1: half of them. */
typedef struct turn {
    int32_t x; /* -1: none */
    int64_t axis, joined;
    int32_t middle;
} turn;

/* Whether two cuts are x[: middle] and x[middle :]. */
static bool are_halves(kni_edit *p, const cut *first, const cut *second)
{
    int64_t start, stop, first_stop, second_start;
    if (first->x != second->x || first->axis != second->axis) return false;
    if (!is_number(p, first->start, &start) || start != 0 || !is_number(p, second->stop, &stop)) return false;
    if (is_number(p, first->stop, &first_stop) && is_number(p, second->start, &second_start))
        return first_stop == second_start && first_stop > 0 && first_stop <= INT32_MAX &&
               stop >= 2 * first_stop;
    return first->stop == second->start && stop >= INT32_MAX;
}

/* Concat(Neg(second half), first half), the halves cut out of x or parts of its Split. */
static turn turned(kni_edit *p, int32_t value)
{
    const turn none = {-1, 0, 0, -1};
    const kni_onnx_node *whole = kni_edit_made_by(p, value, "Concat");
    cut first, second;
    if (!whole || whole->n_in != 2) return none;
    int64_t axis = kni_node_int(whole, "axis", 0);
    const kni_onnx_node *minus = kni_edit_made_by(p, whole->in[0], "Neg");
    const kni_onnx_node *split = minus ? kni_edit_maker(p, whole->in[1]) : NULL;
    if (kni_edit_is(split, "Split") && split->n_out == 2 && split->n_in == 1 &&
        !kni_node_attribute(split, "split")) {
        bool halves = split->out[0] == whole->in[1] && split->out[1] == minus->in[0];
        return halves ? (turn){split->in[0], kni_node_int(split, "axis", 0), axis, -1} : none;
    }
    if (!minus || !find_cut(p, minus->in[0], &second) || !find_cut(p, whole->in[1], &first)) return none;
    return are_halves(p, &first, &second) ? (turn){first.x, first.axis, axis, first.stop} : none;
}

/* Whether the first half of each line of a constant is its second half. */
static bool constant_repeats(const kni_onnx_tensor *t)
{
    int64_t size = t->rank ? t->sizes[t->rank - 1] : 0;
    if (size < 2 || size % 2 || (t->type != KNI_ONNX_FLOAT && t->type != KNI_ONNX_FLOAT16)) return false;
    for (int64_t i = 0; i < t->count; i++)
        if (i % size < size / 2 && kni_edit_element(t, i) != kni_edit_element(t, i + size / 2)) return false;
    return true;
}

/* Follows what keeps halves of the last axis the same up to Concat(x, x). */
static bool repeats(kni_edit *p, int32_t value)
{
    static const char *const keeps[] = {"Cos", "Sin", "Cast", "Identity", "Unsqueeze", "Neg"};
    for (int steps = 0; steps < 12; steps++) {
        const kni_onnx_tensor *t = kni_edit_constant(p, value);
        if (t) return constant_repeats(t);
        const kni_onnx_node *node = kni_edit_maker(p, value);
        double number;
        bool kept = false;
        if (kni_edit_is(node, "Concat"))
            return node->n_in == 2 && node->in[0] == node->in[1] && kni_node_int(node, "axis", 0) == -1;
        for (size_t i = 0; i < sizeof keeps / sizeof *keeps; i++) kept |= kni_edit_is(node, keeps[i]);
        if (kni_edit_is(node, "Mul") && node->n_in == 2 && kni_edit_real(p, node->in[1], &number))
            kept = true;
        if (!kept) return false;
        value = kni_edit_input(node, 0);
    }
    return false;
}

static void visit(kni_edit *p, kni_onnx_node *node)
{
    if (!kni_edit_is(node, "Add") || node->n_in != 2 || node->n_out != 1) return;
    const kni_onnx_node *parts[2] = {kni_edit_made_by(p, node->in[0], "Mul"),
                                     kni_edit_made_by(p, node->in[1], "Mul")};
    if (!parts[0] || !parts[1] || parts[0]->n_in != 2 || parts[1]->n_in != 2) return;
    for (int32_t i = 0; i < 4; i++) { /* which part has the sine, and at which place */
        const kni_onnx_node *sine = parts[i / 2], *cosine = parts[1 - i / 2];
        turn t = turned(p, sine->in[i % 2]);
        int32_t other = kni_edit_other(cosine, t.x);
        if (t.x < 0 || other < 0) continue;
        const int32_t in[4] = {t.x, other, sine->in[1 - i % 2], t.middle};
        const kni_onnx_attribute attributes[] = {
            kni_edit_int(p, "axis", t.axis), kni_edit_int(p, "joined", t.joined),
            kni_edit_int(p, "repeated", repeats(p, in[1]) && repeats(p, in[2]))};
        kni_edit_become(p, node, "kiln", "Rope", 1, in, 4, attributes, 3);
        return;
    }
}

void kni_edit_rope(kni_edit *p) { kni_edit_each(p, visit); }
