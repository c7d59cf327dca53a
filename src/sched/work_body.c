/* Rows that work along lines, update operands or make values from scalars, taken apart by their bodies. */
#include "ops/body_tree.h"
#include "ops/line.h"
#include "sched/work_rows.h"

typedef struct body {
    kni_work *w;
    const kn_record *r;
    const kni_body *form;
    kni_body_tree tree;
    uint16_t all; /* the frame of the elements */
    int compute, dtype;
    uint32_t choices;
    uint16_t numbers[KNI_BODY_NUMBERS];
    uint16_t known[KNI_BODY_MAX_STEPS];
} body;

static uint16_t value(body *b, int i);
static uint16_t value_as(body *b, int i, uint8_t gives);

/* ---- what is known before anything runs: constants, static attributes and the length, and what is made of them */

static double attribute_of(const body *b, int index)
{
    return kni_body_attribute(&b->r->row->schema[index], b->r->attributes).real;
}

/* Whether another value of the attribute is stored without a new schedule: all others are known to this one. */
static bool is_tracked(const body *b, int index)
{
    return kni_sched_tracks(b->r->row, &b->r->row->schema[index]);
}

static bool is_static(const body *b, int i, double *v);

/* && and || are known where one side decides. */
static bool is_static_logic(const body *b, const kni_body_node *n, double *v)
{
    double x[2];
    bool known[2], or = n->step.kind == KNI_STEP_OR;
    for (int k = 0; k < 2; k++) {
        known[k] = is_static(b, n->in[k], &x[k]);
        if (known[k] && (x[k] != 0) == or) return *v = or, true;
    }
    return *v = ! or, known[0] && known[1];
}

static bool is_static(const body *b, int i, double *v)
{
    const kni_body_node *n = &b->tree.nodes[i];
    double x[2] = {0};
    switch (n->step.kind) {
    case KNI_STEP_HAS:
        return *v = kni_work_in(b->r, n->step.index) != KNI_NO_SLOT, true;
    case KNI_STEP_CHOICE:
        return *v = b->choices >> n->step.index & 1, true;
    case KNI_STEP_AND:
    case KNI_STEP_OR:
        return is_static_logic(b, n, v);
    case KNI_STEP_NOT:
        if (!is_static(b, n->in[0], &x[0])) return false;
        return *v = x[0] == 0, true;
    case KNI_STEP_CONSTANT:
        return *v = n->step.value, true;
    case KNI_STEP_LENGTH:
        return *v = (double)b->w->width, true;
    case KNI_STEP_PARAM:
        if (b->form->numbers || is_tracked(b, n->step.index)) return false;
        return *v = attribute_of(b, n->step.index), true;
    case KNI_STEP_WORD:
        for (int k = 0; k < n->n_in; k++)
            if (!is_static(b, n->in[k], &x[k])) return false;
        return *v = kni_word_on(n->step.index, x), true;
    default:
        return false;
    }
}

/* The node that a choice between nodes comes to, where that is known. */
static int chosen(const body *b, int i)
{
    const kni_body_node *n = &b->tree.nodes[i];
    double truth;
    while (n->step.kind == KNI_STEP_SELECT && is_static(b, n->in[0], &truth)) {
        i = n->in[truth != 0 ? 1 : 2];
        n = &b->tree.nodes[i];
    }
    return i;
}

/* ---- operands */

static bool is_absent(const body *b, int i)
{
    const kni_step *s = &b->tree.nodes[i].step;
    return s->kind == KNI_STEP_INPUT && kni_work_in(b->r, s->index) == KNI_NO_SLOT;
}

/* What an absent operand is. */
static double default_of(const body *b, int i)
{
    return b->form->operands[b->tree.nodes[i].step.index] & KNI_OPERAND_ONE ? 1 : 0;
}

/* Whether node i is an absent operand that leaves the other side of a product or a sum as it is. */
static bool is_neutral(const body *b, int i, int word)
{
    if (!is_absent(b, i)) return false;
    return default_of(b, i) == 1 ? word == KNI_WORD_mul : word == KNI_WORD_add;
}

/* The IR dtype of what a node gives. */
static int dtype_of(const body *b, uint8_t gives)
{
    return gives == KNI_GIVES_TRUTH ? KN_BOOL : gives == KNI_GIVES_INDEX ? KN_I64 : b->compute;
}

static uint16_t operand(body *b, int index, uint8_t gives)
{
    kni_work *w = b->w;
    uint32_t id = kni_work_in(b->r, index);
    uint8_t bits = b->form->operands[index], level = bits & KNI_OPERAND_LEVEL;
    int axes = b->r->row->line.axes, dtype = dtype_of(b, gives);
    if (id == KNI_NO_SLOT) return kni_work_constant(w, dtype, bits & KNI_OPERAND_ONE ? 1 : 0);
    if (level == KNI_LEVEL_LINE && axes == KNI_LINE_CHANNEL) return kni_work_along(w, id, b->all, 1, dtype);
    if (level == KNI_LEVEL_PLACE && axes == KNI_LINE_CLASSES)
        return kni_work_along(w, id, b->all, w->frames[b->all].rank > 1, dtype);
    if (level != KNI_LEVEL_LINE) return kni_work_operand(w, id, b->all, 0, dtype);
    const kni_type *t = kni_work_type(id);
    return kni_work_operand(w, id, kni_work_frame_of(w, t->dims, t->rank, KNI_WORK_R, 0), 0, dtype);
}

/* An attribute as a number of the launch: integers keep all digits, and one that is tracked has a source. */
static uint16_t attribute(body *b, int index, int dtype)
{
    kni_work *w = b->w;
    if (b->form->numbers) return dtype == b->compute ? b->numbers[index] : kni_work_fail(w);
    if (kni_is_float(dtype))
        return is_tracked(b, index) ? kni_work_fail(w) : kni_work_real(w, dtype, attribute_of(b, index));
    int64_t whole = kni_body_attribute(&b->r->row->schema[index], b->r->attributes).whole;
    uint16_t n = kni_work_inline(w, dtype, &whole, KN_I64);
    if (is_tracked(b, index)) kni_work_source(w, n, KNI_SOURCE_WHOLE, b->r, b->r->row->schema[index].offset);
    return n;
}

/* A number in the dtype that it is asked in: whole ones stand beside indices. */
static uint16_t number(body *b, int i, int dtype)
{
    kni_work *w = b->w;
    const kni_body_node *n = &b->tree.nodes[chosen(b, i)];
    double v;
    if (w->failed) return 0;
    switch (n->step.kind) {
    case KNI_STEP_PARAM:
        return attribute(b, n->step.index, dtype);
    case KNI_STEP_CONSTANT:
        return kni_work_constant(w, dtype, n->step.value);
    case KNI_STEP_ELEMENT:
        return kni_work_convert(w, kni_work_index(w, b->all), KN_I64, dtype);
    case KNI_STEP_LENGTH:
        if (dtype == KN_I64) return kni_work_whole(w, KN_I64, w->width);
        break;
    default:
        break;
    }
    if (is_static(b, chosen(b, i), &v)) return kni_work_real(w, dtype, v);
    if (n->step.kind != KNI_STEP_WORD || n->n_in != 2) return kni_work_fail(w);
    uint16_t x = number(b, n->in[0], dtype), y = number(b, n->in[1], dtype);
    return kni_work_word(w, n->step.index, x, y);
}

/* Whether a number that is made of others is an integer, so that it is compared as one. */
static bool is_whole(const body *b, int i)
{
    const kni_body_node *n = &b->tree.nodes[chosen(b, i)];
    const kni_step *s = &n->step;
    if (s->kind == KNI_STEP_ELEMENT) return true;
    if (s->kind == KNI_STEP_CONSTANT) return s->value == (double)(int64_t)s->value;
    if (s->kind == KNI_STEP_PARAM)
        return !b->form->numbers && b->r->row->schema[s->index].type == KNI_ATTR_INT;
    if (s->kind != KNI_STEP_WORD) return false;
    if (s->index == KNI_WORD_floor) return true;
    if (s->index != KNI_WORD_add && s->index != KNI_WORD_sub && s->index != KNI_WORD_mul) return false;
    return is_whole(b, n->in[0]) && is_whole(b, n->in[1]);
}

/* ---- places */

/* Whether the index is a place of the line. */
static uint16_t inside(body *b, uint16_t at)
{
    kni_work *w = b->w;
    uint16_t below = kni_work_word(w, KNI_WORD_lt, at, kni_work_whole(w, KN_I64, w->width));
    uint16_t above = kni_work_word(w, KNI_WORD_ge, at, kni_work_constant(w, KN_I64, 0));
    return kni_work_logic(w, KNI_WORK_AND, below, above);
}

/* The frame of the lines, one value each. */
static uint16_t frame_of_lines(body *b, const kni_type *x, uint32_t axes)
{
    int64_t dims[KN_MAX_RANK];
    int rank = 0;
    for (int a = 0; a < x->rank; a++)
        if (!(axes >> a & 1)) dims[rank++] = x->dims[a];
    return kni_work_frame_of(b->w, dims, rank, KNI_WORK_R, 0);
}

/* An operand at place `at` of its line: read once more where lines are the last axes, so that nothing is compared on the way
   along the line. 0: they are others, or it is no operand. */
static uint16_t read_at(body *b, int i, uint16_t at)
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
    uint16_t place = kni_work_select(w, inside(b, at), at, kni_work_constant(w, KN_I64, 0));
    place = kni_work_word(w, KNI_WORD_add, first, place);
    uint16_t frame = w->failed ? 0 : kni_work_frame_at(w, x->dims, x->rank, place);
    return w->failed ? 0
                     : kni_work_operand(w, kni_work_in(b->r, n->step.index), frame, 0, dtype_of(b, n->gives));
}

/* Whether the place along the line is t, which is the same along it: compared in 32 bits where all places fit, and t is -1 where
   it is no place. */
static uint16_t here(body *b, int t)
{
    kni_work *w = b->w;
    uint16_t at = value_as(b, t, KNI_GIVES_INDEX);
    if (w->failed) return 0;
    if (w->nodes[at].level & KNI_WORK_K || w->width > INT32_MAX)
        return kni_work_word(w, KNI_WORD_eq, kni_work_place(w, KN_I64), at);
    at = kni_work_select(w, inside(b, at), at, kni_work_constant(w, KN_I64, -1));
    return kni_work_word(w, KNI_WORD_eq, kni_work_place(w, KN_I32), kni_work_convert(w, at, KN_I64, KN_I32));
}

/* at(v, t): where it cannot be read, the sum of what is 0 at all other places. */
static uint16_t at(body *b, const kni_body_node *n)
{
    kni_work *w = b->w;
    int v = n->in[0], dtype = dtype_of(b, b->tree.nodes[v].gives);
    if (is_absent(b, v)) return value(b, v);
    uint16_t t = value_as(b, n->in[1], KNI_GIVES_INDEX), read = w->failed ? 0 : read_at(b, v, t);
    if (read || w->failed) return read;
    uint16_t one = kni_work_select(w, here(b, n->in[1]), value(b, v), kni_work_constant(w, dtype, 0));
    return w->failed ? 0 : kni_work_reduce(w, KNI_WORK_SUM, one);
}

/* ---- words */

/* Dividing a line by a number of its own is a product with the number's reciprocal: one division for each line. */
static uint16_t divide(body *b, const kni_body_node *n)
{
    kni_work *w = b->w;
    uint16_t x = value_as(b, n->in[0], n->gives), y = value_as(b, n->in[1], n->gives);
    bool line = b->r->row->line.axes && (b->tree.nodes[n->in[0]].level & KNI_LEVEL_PLACE) &&
                !(b->tree.nodes[n->in[1]].level & KNI_LEVEL_PLACE);
    if (!line) return kni_work_word(w, KNI_WORD_div, x, y);
    y = kni_work_word(w, KNI_WORD_div, kni_work_constant(w, b->compute, 1), y);
    return kni_work_word(w, KNI_WORD_mul, x, y);
}

/* What the operands of a word are: a comparison of indices gives a truth. */
static uint8_t operands_give(const body *b, const kni_body_node *n)
{
    for (int k = 0; k < n->n_in; k++)
        if (b->tree.nodes[n->in[k]].gives == KNI_GIVES_INDEX) return KNI_GIVES_INDEX;
    return KNI_GIVES_VALUE;
}

static uint16_t word(body *b, int i)
{
    const kni_body_node *n = &b->tree.nodes[i];
    int index = n->step.index;
    double known;
    if (is_static(b, i, &known)) return kni_work_real(b->w, b->compute, known);
    if (n->gives == KNI_GIVES_NUMBER && is_whole(b, i))
        return kni_work_convert(b->w, number(b, i, KN_I64), KN_I64, b->compute);
    if (index == KNI_WORD_div && n->gives != KNI_GIVES_INDEX) return divide(b, n);
    for (int k = 0; k < 2 && n->n_in == 2; k++)
        if (is_neutral(b, n->in[k], index)) return value(b, n->in[1 - k]);
    for (int k = 0; k < 2 && index == KNI_WORD_eq; k++)
        if (b->tree.nodes[n->in[k]].step.kind == KNI_STEP_PLACE) return here(b, n->in[1 - k]);
    uint8_t both = operands_give(b, n);
    if (both == KNI_GIVES_NUMBER && n->gives == KNI_GIVES_TRUTH && n->n_in == 2 && is_whole(b, n->in[0]) &&
        is_whole(b, n->in[1]))
        both = KNI_GIVES_INDEX;
    uint16_t x = value_as(b, n->in[0], both), y = n->n_in == 2 ? value_as(b, n->in[1], both) : 0;
    return kni_work_word(b->w, index, x, y);
}

/* Whether node i is v - top(v). */
static bool is_below_top(const body *b, int i)
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
static kni_power_digits digits_of(const body *b, int i)
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
static uint16_t product(body *b, uint16_t x)
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
static uint16_t truths(body *b, int reduction, uint16_t x)
{
    kni_work *w = b->w;
    uint16_t y = kni_work_reduce(w, reduction, kni_work_convert(w, x, KN_BOOL, KN_I32));
    /* Of no element at all: the lowest number is none. */
    return kni_work_word(w, KNI_WORD_gt, y, kni_work_constant(w, KN_I32, 0));
}

static uint16_t along(body *b, const kni_body_node *n)
{
    static const uint8_t reductions[KNI_LINE_WORDS] = {
        [KNI_LINE_SUM] = KNI_WORK_SUM,       [KNI_LINE_HIGHEST] = KNI_WORK_MAX,
        [KNI_LINE_LOWEST] = KNI_WORK_MIN,    [KNI_LINE_TOP] = KNI_WORK_TOP,
        [KNI_LINE_DOWN] = KNI_WORK_COLUMNS,  [KNI_LINE_ANY] = KNI_WORK_MAX,
        [KNI_LINE_ALL] = KNI_WORK_MIN,       [KNI_LINE_ARGMAX] = KNI_WORK_ARGMAX,
        [KNI_LINE_ARGMIN] = KNI_WORK_ARGMIN,
    };
    int index = n->step.index;
    if (index == KNI_LINE_SUM && is_absent(b, n->in[0]))
        return kni_work_real(b->w, b->compute, default_of(b, n->in[0]) * (double)b->w->width);
    uint16_t v = value(b, n->in[0]);
    if (b->w->failed) return 0;
    if (index == KNI_LINE_MEAN) return kni_work_mean(b->w, v);
    if (index == KNI_LINE_PROD) return product(b, v);
    if (n->gives == KNI_GIVES_TRUTH) return truths(b, reductions[index], v);
    return kni_work_reduce(b->w, reductions[index], v);
}

/* && or || of two truths. One that is known and has not decided leaves the other. */
static uint16_t both(body *b, const kni_body_node *n)
{
    double known;
    for (int k = 0; k < 2; k++)
        if (is_static(b, n->in[k], &known)) return value(b, n->in[1 - k]);
    return kni_work_logic(b->w, n->step.kind == KNI_STEP_AND ? KNI_WORK_AND : KNI_WORK_OR, value(b, n->in[0]),
                          value(b, n->in[1]));
}

static uint16_t compute(body *b, int i)
{
    const kni_body_node *n = &b->tree.nodes[i];
    kni_work *w = b->w;
    switch (n->step.kind) {
    case KNI_STEP_INPUT:
        return operand(b, n->step.index, n->gives);
    case KNI_STEP_PARAM:
    case KNI_STEP_CONSTANT:
    case KNI_STEP_LENGTH:
    case KNI_STEP_ELEMENT:
        return number(b, i, b->compute);
    case KNI_STEP_DRAW:
        return kni_work_philox(w, number(b, n->in[0], KN_I64), number(b, n->in[1], KN_I64),
                               value_as(b, n->in[2], KNI_GIVES_INDEX), KNI_DRAW_WORDS(n->step.index),
                               KNI_DRAW_WHICH(n->step.index));
    case KNI_STEP_PLACE:
        return kni_work_place(w, KN_I64);
    case KNI_STEP_AT:
        return at(b, n);
    case KNI_STEP_REQUIRE: {
        uint16_t holds = value(b, n->in[0]), t = value(b, n->in[1]);
        return w->failed ? 0 : kni_work_report(w, t, t, kni_work_logic(w, KNI_WORK_NOT, holds, 0));
    }
    case KNI_STEP_SELECT:
        return kni_work_select(w, value(b, n->in[0]), value_as(b, n->in[1], n->gives),
                               value_as(b, n->in[2], n->gives));
    case KNI_STEP_AND:
    case KNI_STEP_OR:
        return both(b, n);
    case KNI_STEP_NOT:
        return kni_work_logic(w, KNI_WORK_NOT, value(b, n->in[0]), 0);
    case KNI_STEP_XOR:
        return kni_work_word(w, KNI_WORD_ne, value(b, n->in[0]), value(b, n->in[1]));
    case KNI_STEP_EXPN:
        return kni_work_power(w, value(b, n->in[0]), digits_of(b, i));
    case KNI_STEP_LINE:
        return along(b, n);
    default:
        return word(b, i);
    }
}

/* Each node is computed when it is first asked for, so that nothing is made of a side that is not chosen. */
static uint16_t value(body *b, int i)
{
    if (b->w->failed) return 0;
    i = chosen(b, i);
    if (!b->known[i]) b->known[i] = compute(b, i);
    return b->known[i];
}

/* A number as what it stands beside; other nodes are what they are. */
static uint16_t value_as(body *b, int i, uint8_t gives)
{
    i = chosen(b, i);
    bool index = gives == KNI_GIVES_INDEX && b->tree.nodes[i].gives == KNI_GIVES_NUMBER;
    return index && !b->w->failed ? number(b, i, KN_I64) : value(b, i);
}

/* The frame of the elements, checked against the one that the result is asked in. */
static uint16_t start(kni_work *w, const kn_record *r, uint8_t level, uint16_t frame)
{
    const kni_work_frame *f = &w->frames[frame];
    if (!r->row->line.axes || r->row->line.results == KNI_PER_POINT) return frame;
    if (level == KNI_LEVEL_ELEMENT) return kni_work_is_line_element(w, frame, r) ? frame : 0;
    if (level == KNI_LEVEL_LINE) return kni_work_is_row(w, frame) ? kni_work_line_frame(w, r) : 0;
    if (f->node || f->level != KNI_WORK_K) return kni_work_fail(w);
    return kni_work_line_frame(w, r);
}

/* What the row computes in. */
static int compute_dtype(const kni_work *w, const kn_record *r, int result)
{
    bool lines = r->row->line.axes != 0;
    int dtype = (lines ? kni_in(r, r->row->line.operand) : kni_out(r, result))->type.dtype;
    int compute = kni_work_dtype(dtype);
    bool wide = r->row->sums == KNI_SUMS_WIDE && w->target->caps->f64;
    if (r->row->sums == KNI_SUMS_REAL) return w->target->caps->f64 ? KN_F64 : KN_F32;
    if (kni_is_float(compute)) return wide ? KN_F64 : compute;
    if (r->row->sums) return KN_I64;
    return compute == KN_BOOL ? KN_I32 : compute;
}

/* A sum over all lines of a group that has others, at each place of them. */
static uint16_t across(body *b)
{
    kni_work *w = b->w;
    const kni_type *x;
    uint32_t axes;
    if (!kni_line_of(b->r, &x, &axes)) return kni_work_fail(w);
    b->all = kni_work_row_frame(w, x, ((1u << x->rank) - 1) & ~axes);
    uint16_t v = w->failed ? 0 : operand(b, 0, KNI_GIVES_VALUE);
    return w->failed ? 0 : kni_work_reduce(w, KNI_WORK_COLUMNS, v);
}

/* A result that is an attribute is rounded to the dtype here, once. */
static uint16_t rounded(body *b, int index)
{
    uint64_t bits = 0;
    double v = attribute_of(b, index);
    kni_convert(&bits, b->dtype, 1, &v, KN_F64, 1, 1);
    return kni_work_inline(b->w, b->compute, &bits, b->dtype);
}

uint16_t kni_work_body_value(kni_work *w, const kn_record *r, int result, uint16_t frame)
{
    body b = {.w = w, .r = r, .form = r->row->body};
    const kni_work_frame *f = &w->frames[frame];
    b.compute = compute_dtype(w, r, result);
    b.dtype = kni_out(r, result)->type.dtype;
    if (kni_line_is_sum(r->row) && !f->node && f->level == KNI_WORK_K && kni_is_float(b.compute))
        return kni_work_convert(w, across(&b), b.compute, b.dtype);
    b.all = start(w, r, b.form->operands[b.form->n_in + result] & KNI_OPERAND_LEVEL, frame);
    b.choices = kni_body_choices(r->row->schema, r->attributes);
    if (kni_is_float(b.dtype)) b.choices |= 1u << KNI_CHOICE_FLOATS;
    if (b.form->numbers && !w->failed) kni_work_take_numbers(w, r, b.compute, b.numbers);
    if (w->failed) return 0;
    kni_body_tree_of(b.form, &b.tree);
    int i = chosen(&b, b.tree.results[result]);
    if (b.tree.nodes[i].step.kind == KNI_STEP_PARAM && !b.form->numbers && kni_is_float(b.dtype))
        return rounded(&b, b.tree.nodes[i].step.index);
    uint16_t y = value(&b, i);
    int from = dtype_of(&b, b.tree.nodes[i].gives);
    /* Reals become integers of 64 bits, and those the dtype's. */
    if (kni_is_float(from) && !kni_is_float(b.dtype) && !w->failed)
        y = kni_work_convert(w, y, from, KN_I64), from = KN_I64;
    return w->failed ? 0 : kni_work_convert(w, y, from, b.dtype);
}
