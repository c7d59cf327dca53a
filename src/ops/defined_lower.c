/* Rows with bodies as other ops, word by word: defined rows for devices that have no strips and no schedules and for what theirs cannot do,
   and gradients whose own gradients are asked for. */
#include "core/objects.h"
#include "ops/body_tree.h"
#include "ops/body_words.h"
#include "ops/defined.h"
#include "ops/infer.h"
#include "ops/wide.h"
#include "ops/word_numbers.h"

/* A number that is known before anything runs, or a tensor. */
typedef struct value {
    bool is_number;
    double number;
    kn_tensor tensor;
} value;

typedef struct lowering {
    const kni_lowering *l;
    const kni_body *body;
    kni_body_tree tree;
    kn_dtype dtype; /* computed in */
    kn_shape shape; /* of operand 0, for rows along lines */
    kn_ints line, others;
    int64_t length;
    value values[KNI_BODY_MAX_STEPS];
    bool failed;
} lowering;

static value of_tensor(kn_tensor t) { return (value){false, 0, kn_keep(t)}; }
static value of_number(double number) { return (value){true, number, KN_NONE}; }

static kn_tensor as_dtype(const value *v, kn_dtype dtype)
{
    return v->is_number ? kn_full(KN_SHAPE(), v->number, dtype) : v->tensor;
}

static kn_tensor as_tensor(const lowering *w, const value *v) { return as_dtype(v, w->dtype); }

/* What numbers are that stand beside the operands of a node: indices are i64. */
static kn_dtype dtype_beside(const lowering *w, const kni_body_node *n)
{
    for (int k = 0; k < n->n_in; k++)
        if (w->tree.nodes[n->in[k]].gives == KNI_GIVES_INDEX) return KN_I64;
    return w->dtype;
}

static value word(lowering *w, const kni_body_node *n)
{
    const value *a = &w->values[n->in[0]], *b = n->n_in > 1 ? &w->values[n->in[1]] : a;
    bool truth = kni_word_at(n->step.index)->truth;
    kn_dtype dtype = dtype_beside(w, n);
    if (a->is_number && b->is_number && !truth && kni_is_float(w->dtype))
        return of_number(kni_word_on(n->step.index, (const double[]){a->number, b->number}));
    kn_tensor in[2] = {as_dtype(a, dtype), n->n_in > 1 ? as_dtype(b, dtype) : KN_NONE};
    const kn_op *row =
        kni_is_float(dtype) ? kni_word_row(n->step.index) : kni_word_row_of_integers(n->step.index);
    if (row) return of_tensor(kni_apply(row, in, n->n_in, NULL));
    if (n->step.index == KNI_WORD_stop) return *a;
    if (n->step.index == KNI_WORD_normal_cdf)
        return of_tensor(kn_mul_scalar(kn_erfc(kn_mul_scalar(in[0], -0.70710678118654752440)), 0.5));
    if (n->step.index == KNI_WORD_polygamma && a->is_number)
        return of_tensor(kn_polygamma(in[1], (int32_t)a->number));
    kni_fail_op(KN_ERROR_UNSUPPORTED, w->l->row->name, "'%s' cannot be lowered to other ops",
                kni_word_at(n->step.index)->name);
    w->failed = true;
    return of_number(0);
}

/* ---- indices: a line of several axes is seen as one axis, its last axes together */

/* The operands' shape; what is the same along the line, or in all lines, has size 1 there. */
static kn_shape shape_at(const lowering *w, int level)
{
    kn_shape shape = w->shape;
    for (int i = 0; i < w->line.rank && !(level & KNI_LEVEL_PLACE); i++) shape.dims[w->line.dims[i]] = 1;
    for (int i = 0; i < w->others.rank && !(level & KNI_LEVEL_LINE); i++) shape.dims[w->others.dims[i]] = 1;
    return shape;
}

static kn_tensor as_one_axis(const lowering *w, kn_tensor x, int level)
{
    x = kn_expand(x, shape_at(w, level));
    if (w->line.rank == 1) return x;
    kn_shape shape = shape_at(w, level);
    shape.rank = (int32_t)w->line.dims[0] + 1;
    shape.dims[shape.rank - 1] = level & KNI_LEVEL_PLACE ? w->length : 1;
    return kn_reshape(x, shape);
}

static value of_one_axis(const lowering *w, kn_tensor x, int level)
{
    return of_tensor(w->line.rank == 1 ? x : kn_reshape(x, shape_at(w, level)));
}

static value place(const lowering *w)
{
    kn_shape shape = w->shape;
    for (int i = 0; i < w->others.rank; i++) shape.dims[w->others.dims[i]] = 1;
    return of_tensor(kn_reshape(kn_arange(0, (double)w->length, 1, KN_I64), shape));
}

static value extreme_place(const lowering *w, const kni_body_node *n, kn_tensor x)
{
    int axis = (int)w->line.dims[0];
    x = as_one_axis(w, x, n->level | KNI_LEVEL_PLACE);
    x = n->step.index == KNI_LINE_ARGMAX ? kn_argmax(x, axis, true) : kn_argmin(x, axis, true);
    return of_one_axis(w, x, n->level);
}

/* A place that is none gives 0. */
static value read_at(const lowering *w, const kni_body_node *n)
{
    int level = n->level;
    if (w->length == 0) return of_tensor(kn_zeros(shape_at(w, level), w->dtype));
    kn_tensor t = kn_keep(as_one_axis(w, as_dtype(&w->values[n->in[1]], KN_I64), level));
    kn_tensor x = as_one_axis(w, as_tensor(w, &w->values[n->in[0]]), level | KNI_LEVEL_PLACE);
    double last = (double)(w->length - 1);
    kn_tensor inside = kn_logical_and(kn_greater_equal_scalar(t, 0), kn_less_equal_scalar(t, last));
    x = kn_gather(x, (int32_t)w->line.dims[0], kn_clamp(t, 0, last));
    x = kn_where(inside, x, kn_full(KN_SHAPE(), 0, w->dtype));
    return of_one_axis(w, x, level);
}

static value along(lowering *w, const kni_body_node *n)
{
    kn_tensor x = as_tensor(w, &w->values[n->in[0]]);
    int level = w->tree.nodes[n->in[0]].level;
    if (kn_rank(x) < w->shape.rank) x = kn_expand(x, shape_at(w, level)); /* a place's */
    switch (n->step.index) {
    case KNI_LINE_SUM:
        return of_tensor(kn_sum(x, w->line, true));
    case KNI_LINE_MEAN:
        return of_tensor(kn_mean(x, w->line, true));
    case KNI_LINE_HIGHEST:
    case KNI_LINE_TOP:
        return of_tensor(kn_max(x, w->line, true));
    case KNI_LINE_LOWEST:
        return of_tensor(kn_min(x, w->line, true));
    case KNI_LINE_PROD:
        return of_tensor(kn_prod(x, w->line, true));
    case KNI_LINE_ANY:
        return of_tensor(kn_any(x, w->line, true));
    case KNI_LINE_ALL:
        return of_tensor(kn_all(x, w->line, true));
    case KNI_LINE_ARGMAX:
    case KNI_LINE_ARGMIN:
        return extreme_place(w, n, x);
    default: /* KNI_LINE_DOWN */
        return of_tensor(w->others.rank ? kn_sum(x, w->others, true) : x);
    }
}

static value logic(lowering *w, const kni_body_node *n)
{
    kn_tensor a = as_tensor(w, &w->values[n->in[0]]);
    kn_tensor b = n->n_in > 1 ? as_tensor(w, &w->values[n->in[1]]) : KN_NONE;
    switch (n->step.kind) {
    case KNI_STEP_AND:
        return of_tensor(kn_logical_and(a, b));
    case KNI_STEP_OR:
        return of_tensor(kn_logical_or(a, b));
    case KNI_STEP_XOR:
        return of_tensor(kn_logical_xor(a, b));
    default:
        return of_tensor(kn_logical_not(a));
    }
}

static value operand(const lowering *w, int i)
{
    kn_tensor x = i < w->l->n_in ? w->l->in[i] : KN_NONE;
    if (!x.bits) return of_number(w->body->operands[i] & KNI_OPERAND_ONE ? 1 : 0);
    return of_tensor(kni_as(x, w->dtype));
}

static value compute(lowering *w, const kni_body_node *n)
{
    switch (n->step.kind) {
    case KNI_STEP_INPUT:
        return operand(w, n->step.index);
    case KNI_STEP_PARAM:
        return of_number(kni_body_attribute(&w->l->row->schema[n->step.index], w->l->attributes).real);
    case KNI_STEP_CONSTANT:
        return of_number(n->step.value);
    case KNI_STEP_LENGTH:
        return of_number((double)w->length);
    case KNI_STEP_PLACE:
        return place(w);
    case KNI_STEP_AT:
        return read_at(w, n);
    case KNI_STEP_REAL:
        return of_tensor(kni_as(as_dtype(&w->values[n->in[0]], KN_I64), w->dtype));
    case KNI_STEP_SELECT:
        return of_tensor(kn_where(as_tensor(w, &w->values[n->in[0]]),
                                  as_dtype(&w->values[n->in[1]], dtype_beside(w, n)),
                                  as_dtype(&w->values[n->in[2]], dtype_beside(w, n))));
    case KNI_STEP_EXPN:
        return of_tensor(kn_exp(as_tensor(w, &w->values[n->in[0]])));
    case KNI_STEP_WORD:
        return word(w, n);
    case KNI_STEP_LINE:
        return along(w, n);
    default:
        return logic(w, n);
    }
}

/* The axes of a line and the others, from the attribute. */
static void find_axes(lowering *w)
{
    const kni_line *line = &w->l->row->line;
    int64_t attribute = *(const int64_t *)((const char *)w->l->attributes + line->attribute);
    w->shape = kn_shape_of_tensor(w->l->in[0]);
    w->length = 1;
    for (int a = 0; a < w->shape.rank; a++) {
        bool in_line = line->axes == KNI_LINE_AXIS ? a == attribute : a >= w->shape.rank - attribute;
        kn_ints *axes = in_line ? &w->line : &w->others;
        axes->dims[axes->rank++] = a;
        if (in_line) w->length *= w->shape.dims[a];
    }
}

/* The broadcast shape of all operands, which the row's rule has found to exist. */
static void find_shape(lowering *w)
{
    for (int i = 0; i < w->l->n_in; i++) {
        kn_shape own = kn_shape_of_tensor(w->l->in[i]);
        kn_shape *all = &w->shape;
        for (; all->rank < own.rank; all->rank++) {
            for (int a = all->rank; a > 0; a--) all->dims[a] = all->dims[a - 1];
            all->dims[0] = 1;
        }
        for (int a = 0; a < own.rank; a++)
            if (own.dims[a] != 1) all->dims[all->rank - own.rank + a] = own.dims[a];
    }
}

static bool is_same_shape(const kn_shape *a, const kn_shape *b)
{
    bool same = a->rank == b->rank;
    for (int i = 0; i < a->rank && same; i++) same = a->dims[i] == b->dims[i];
    return same;
}

/* Elements that repeat as elements of their own: results lie in order. */
static kn_tensor lay_out(kn_tensor x)
{
    if (!kni_is_bool(kn_dtype_of(x))) return kn_mul_scalar(x, 1);
    x = kn_keep(x);
    return kn_logical_or(x, x);
}

static uint8_t bits_of(const lowering *w, int k)
{
    return w->body->operands ? w->body->operands[w->body->n_in + k] : KNI_LEVEL_ELEMENT;
}

/* Whether result k has no elements, because lines have none. */
static bool is_empty(const lowering *w, int k) { return w->length == 0 && bits_of(w, k) & KNI_LEVEL_PLACE; }

/* Result k in the shape that its level has. */
static kn_tensor give(const lowering *w, int k)
{
    uint8_t bits = bits_of(w, k);
    kn_tensor y =
        is_empty(w, k) ? kn_zeros(shape_at(w, bits), w->dtype) : as_tensor(w, &w->values[w->tree.results[k]]);
    kn_shape full = shape_at(w, bits), own = kn_shape_of_tensor(y);
    if (!is_same_shape(&full, &own)) y = lay_out(kn_expand(y, full));
    if ((bits & KNI_OPERAND_LEVEL) != KNI_LEVEL_PLACE) return y;
    kn_shape places = {.rank = full.rank - (int32_t)w->line.dims[0]};
    for (int a = 0; a < places.rank; a++) places.dims[a] = full.dims[w->line.dims[0] + a];
    return kn_reshape(y, places);
}

/* What the row computes in: the types of operands that were widened are those that count. */
static kn_dtype find_dtype(const kni_lowering *l)
{
    const kni_type *types[KNI_BODY_OPERANDS];
    for (int i = 0; i < l->n_in; i++) types[i] = l->in[i].bits ? &kni_peek(l->in[i])->type : NULL;
    int dtype = l->row->line.axes ? kni_promote_types(types, 0, l->n_in)
                                  : kni_operand_dtype(l->row, types, 0, l->n_in);
    /* Small integers are cut to their dtype once, at the end. */
    return (kn_dtype)(kni_is_float(dtype) ? dtype : kni_compute_dtype[kni_compute_of[dtype]]);
}

/* What results that have elements are made of: the highest of no elements is nothing that could be computed on the way. */
static void find_needed(const lowering *w, bool *needed)
{
    for (int k = 0; k < w->body->n_out; k++) needed[w->tree.results[k]] |= !is_empty(w, k);
    for (int i = w->tree.n; i-- > 0;)
        for (int k = 0; k < w->tree.nodes[i].n_in && needed[i]; k++) needed[w->tree.nodes[i].in[k]] = true;
}

kn_status kni_defined_lower(kni_lowering *l)
{
    lowering w = {.l = l, .body = l->row->body, .dtype = find_dtype(l), .length = 1};
    bool needed[KNI_BODY_MAX_STEPS] = {false};
    if (l->row->line.axes)
        find_axes(&w);
    else
        find_shape(&w);
    kni_body_tree_of(w.body, &w.tree);
    find_needed(&w, needed);
    for (int i = 0; i < w.tree.n && !w.failed; i++) {
        if (!needed[i]) continue;
        w.values[i] = compute(&w, &w.tree.nodes[i]);
        if (w.values[i].is_number || !kni_is_poisoned(w.values[i].tensor)) continue;
        return kni_failure_again(w.values[i].tensor);
    }
    for (int k = 0; k < l->n_out && !w.failed; k++) l->out[k] = give(&w, k);
    return w.failed ? KN_ERROR_UNSUPPORTED : KN_OK;
}
