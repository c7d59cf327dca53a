/* The operands of a body at their levels, places of a line, and what is reduced along it. */
#include "ops/line.h"
#include "sched/work_body.h"

/* ---- operands */

bool kni_work_body_absent(const kni_work_body *b, int i)
{
    const kni_step *s = &b->tree.nodes[i].step;
    return s->kind == KNI_STEP_INPUT && kni_work_in(b->r, s->index) == KNI_NO_SLOT;
}

double kni_work_body_default(const kni_work_body *b, int i)
{
    return b->form->operands[b->tree.nodes[i].step.index] & KNI_OPERAND_ONE ? 1 : 0;
}

int kni_work_body_dtype(const kni_work_body *b, uint8_t gives)
{
    return gives == KNI_GIVES_TRUTH ? KN_BOOL : gives == KNI_GIVES_INDEX ? KN_I64 : b->compute;
}

uint16_t kni_work_body_operand(kni_work_body *b, int index, uint8_t gives)
{
    kni_work *w = b->w;
    uint32_t id = kni_work_in(b->r, index);
    uint8_t bits = b->form->operands[index], level = bits & KNI_OPERAND_LEVEL;
    int axes = b->r->row->line.axes, dtype = kni_work_body_dtype(b, gives);
    if (id == KNI_NO_SLOT) return kni_work_constant(w, dtype, bits & KNI_OPERAND_ONE ? 1 : 0);
    if (level == KNI_LEVEL_LINE && axes == KNI_LINE_CHANNEL) return kni_work_along(w, id, b->all, 1, dtype);
    if (level == KNI_LEVEL_PLACE && axes == KNI_LINE_CLASSES)
        return kni_work_along(w, id, b->all, w->frames[b->all].rank > 1, dtype);
    if (level != KNI_LEVEL_LINE) return kni_work_operand(w, id, b->all, 0, dtype);
    const kni_type *t = kni_work_type(id);
    return kni_work_operand(w, id, kni_work_frame_of(w, t->dims, t->rank, KNI_WORK_R, 0), 0, dtype);
}

/* ---- places */

/* Whether the index is a place of the line. */
static uint16_t inside(kni_work_body *b, uint16_t at)
{
    kni_work *w = b->w;
    uint16_t below = kni_work_word(w, KNI_WORD_lt, at, kni_work_whole(w, KN_I64, w->width));
    uint16_t above = kni_work_word(w, KNI_WORD_ge, at, kni_work_constant(w, KN_I64, 0));
    return kni_work_logic(w, KNI_WORK_AND, below, above);
}

/* The frame of the lines, one value each. */
static uint16_t frame_of_lines(kni_work_body *b, const kni_type *x, uint32_t axes)
{
    int64_t dims[KN_MAX_RANK];
    int rank = 0;
    for (int a = 0; a < x->rank; a++)
        if (!(axes >> a & 1)) dims[rank++] = x->dims[a];
    return kni_work_frame_of(b->w, dims, rank, KNI_WORK_R, 0);
}

/* An operand at place `at` of its line, 0 where that is none: read once more where lines are the last axes, so that nothing is compared on the way
   along the line. 0: they are others, or it is no operand. */
static uint16_t read_at(kni_work_body *b, int i, uint16_t at)
{
    kni_work *w = b->w;
    const kni_body_node *n = &b->tree.nodes[i];
    const kni_type *x;
    uint32_t axes;
    if (n->step.kind != KNI_STEP_INPUT || n->level != KNI_LEVEL_ELEMENT || !kni_line_of(b->r, &x, &axes))
        return 0;
    uint32_t outer = ((1u << x->rank) - 1) & ~axes;
    if (outer & (outer + 1)) return 0;
    uint16_t line = kni_work_index(w, frame_of_lines(b, x, axes));
    uint16_t first = kni_work_word(w, KNI_WORD_mul, line, kni_work_whole(w, KN_I64, w->width));
    int dtype = kni_work_body_dtype(b, n->gives);
    uint16_t is_inside = inside(b, at);
    uint16_t place = kni_work_select(w, is_inside, at, kni_work_constant(w, KN_I64, 0));
    place = kni_work_word(w, KNI_WORD_add, first, place);
    uint16_t frame = w->failed ? 0 : kni_work_frame_at(w, x->dims, x->rank, place);
    uint16_t read = w->failed ? 0 : kni_work_operand(w, kni_work_in(b->r, n->step.index), frame, 0, dtype);
    return w->failed ? 0 : kni_work_select(w, is_inside, read, kni_work_constant(w, dtype, 0));
}

/* Whether the place along the line is t, which is the same along it: compared in 32 bits where all places fit, and t is -1 where
   it is no place. */
uint16_t kni_work_body_here(kni_work_body *b, int t)
{
    kni_work *w = b->w;
    uint16_t at = kni_work_body_node_as(b, t, KNI_GIVES_INDEX);
    if (w->failed) return 0;
    if (w->nodes[at].level & KNI_WORK_K || w->width > INT32_MAX)
        return kni_work_word(w, KNI_WORD_eq, kni_work_place(w, KN_I64), at);
    at = kni_work_select(w, inside(b, at), at, kni_work_constant(w, KN_I64, -1));
    return kni_work_word(w, KNI_WORD_eq, kni_work_place(w, KN_I32), kni_work_convert(w, at, KN_I64, KN_I32));
}

/* kni_work_body_at(v, t): where it cannot be read, the sum of what is 0 at all other places. */
uint16_t kni_work_body_at(kni_work_body *b, const kni_body_node *n)
{
    kni_work *w = b->w;
    int v = n->in[0], dtype = kni_work_body_dtype(b, b->tree.nodes[v].gives);
    if (kni_work_body_absent(b, v)) return kni_work_body_node(b, v);
    if (w->width == 0) return kni_work_constant(w, dtype, 0);
    uint16_t t = kni_work_body_node_as(b, n->in[1], KNI_GIVES_INDEX), read = w->failed ? 0 : read_at(b, v, t);
    if (read || w->failed) return read;
    uint16_t one = kni_work_select(w, kni_work_body_here(b, n->in[1]), kni_work_body_node(b, v),
                                   kni_work_constant(w, dtype, 0));
    return w->failed ? 0 : kni_work_reduce(w, KNI_WORK_SUM, one);
}

/* ---- along the line */

/* Whether node i is v - top(v). */
static bool is_below_top(const kni_work_body *b, int i)
{
    const kni_body_node *n = &b->tree.nodes[i], *top = n;
    if (n->step.kind != KNI_STEP_WORD || n->step.index != KNI_WORD_sub) return false;
    top = &b->tree.nodes[n->in[1]];
    return top->step.kind == KNI_STEP_LINE && top->step.index == KNI_LINE_TOP &&
           b->tree.nodes[top->in[0]].step.kind == KNI_STEP_INPUT &&
           b->tree.nodes[n->in[0]].step.kind == KNI_STEP_INPUT &&
           b->tree.nodes[top->in[0]].step.index == b->tree.nodes[n->in[0]].step.index;
}

/* Only the sum of it matters where nothing else takes it: few digits do where 1 is among what is added, else all. Otherwise
   those of the result count. */
kni_power_digits kni_work_body_digits(const kni_work_body *b, int i)
{
    for (int k = 0; k < b->tree.n; k++) {
        const kni_body_node *n = &b->tree.nodes[k];
        bool sums = n->step.kind == KNI_STEP_LINE && n->step.index == KNI_LINE_SUM;
        for (int j = 0; j < n->n_in; j++)
            if (n->in[j] == i && !sums) return kni_power_digits_of(b->dtype);
    }
    return is_below_top(b, b->tree.nodes[i].in[0]) ? KNI_POWER_SUM : kni_power_digits_of(b->compute);
}

/* A product of finite numbers x is 0 where one of them is, though parts of it may have overflowed. */
static uint16_t product(kni_work_body *b, uint16_t x)
{
    kni_work *w = b->w;
    uint16_t y = kni_work_reduce(w, KNI_WORK_PROD, x);
    if (w->failed || !kni_is_float(b->compute)) return y;
    uint16_t zero = kni_work_constant(w, b->compute, 0), size = kni_work_word(w, KNI_WORD_abs, x, 0);
    uint16_t least = kni_work_reduce(w, KNI_WORK_MIN, size), most = kni_work_reduce(w, KNI_WORK_MAX, size);
    uint16_t is_zero = kni_work_word(w, KNI_WORD_eq, least, zero);
    uint16_t finite = kni_work_word(w, KNI_WORD_isfinite, most, 0);
    return kni_work_select(w, is_zero, kni_work_select(w, finite, zero, y), y);
}

/* Whether one or all truths hold. */
static uint16_t truths(kni_work_body *b, int reduction, uint16_t x)
{
    kni_work *w = b->w;
    uint16_t y = kni_work_reduce(w, reduction, kni_work_convert(w, x, KN_BOOL, KN_I32));
    /* Of no element at all: the lowest number is none. */
    return kni_work_word(w, KNI_WORD_gt, y, kni_work_constant(w, KN_I32, 0));
}

uint16_t kni_work_body_along(kni_work_body *b, const kni_body_node *n)
{
    static const uint8_t reductions[KNI_LINE_WORDS] = {
        [KNI_LINE_SUM] = KNI_WORK_SUM,       [KNI_LINE_HIGHEST] = KNI_WORK_MAX,
        [KNI_LINE_LOWEST] = KNI_WORK_MIN,    [KNI_LINE_TOP] = KNI_WORK_TOP,
        [KNI_LINE_DOWN] = KNI_WORK_COLUMNS,  [KNI_LINE_ANY] = KNI_WORK_MAX,
        [KNI_LINE_ALL] = KNI_WORK_MIN,       [KNI_LINE_ARGMAX] = KNI_WORK_ARGMAX,
        [KNI_LINE_ARGMIN] = KNI_WORK_ARGMIN,
    };
    int index = n->step.index;
    if (index == KNI_LINE_SUM && kni_work_body_absent(b, n->in[0]))
        return kni_work_settled(b->w, b->compute, kni_work_body_default(b, n->in[0]) * (double)b->w->width);
    uint16_t v = kni_work_body_node(b, n->in[0]);
    if (b->w->failed) return 0;
    if (index == KNI_LINE_MEAN) return kni_work_mean(b->w, v);
    if (index == KNI_LINE_PROD) return product(b, v);
    if (n->gives == KNI_GIVES_TRUTH) return truths(b, reductions[index], v);
    return kni_work_reduce(b->w, reductions[index], v);
}

/* A sum over all lines of a group that has others, at each place of them. */
uint16_t kni_work_body_across(kni_work_body *b)
{
    kni_work *w = b->w;
    const kni_type *x;
    uint32_t axes;
    if (!kni_line_of(b->r, &x, &axes)) return kni_work_fail(w);
    b->all = kni_work_row_frame(w, x, ((1u << x->rank) - 1) & ~axes);
    uint16_t v = w->failed ? 0 : kni_work_body_operand(b, 0, KNI_GIVES_VALUE);
    return w->failed ? 0 : kni_work_reduce(w, KNI_WORK_COLUMNS, v);
}
