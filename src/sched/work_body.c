/* Rows that work along lines, update operands or make values of scalars, taken apart by their bodies. */
#include "sched/work_body.h"
#include "ops/line.h"

/* Whether node i is an absent operand that leaves the other side of a product or a sum as it is. */
static bool is_neutral(const kni_work_body *b, int i, int word)
{
    if (!kni_work_body_absent(b, i)) return false;
    return kni_work_body_default(b, i) == 1 ? word == KNI_WORD_mul : word == KNI_WORD_add;
}

/* Dividing a line by a number of its own is a product with the number's reciprocal: one division for each line. */
static uint16_t divide(kni_work_body *b, const kni_body_node *n)
{
    kni_work *w = b->w;
    uint16_t x = kni_work_body_node_as(b, n->in[0], n->gives),
             y = kni_work_body_node_as(b, n->in[1], n->gives);
    bool line = b->r->row->line.axes && (b->tree.nodes[n->in[0]].level & KNI_LEVEL_PLACE) &&
                !(b->tree.nodes[n->in[1]].level & KNI_LEVEL_PLACE);
    if (!line) return kni_work_word(w, KNI_WORD_div, x, y);
    y = kni_work_word(w, KNI_WORD_div, kni_work_constant(w, b->compute, 1), y);
    return kni_work_word(w, KNI_WORD_mul, x, y);
}

/* What the operands of a word are: a comparison of indices gives a truth. */
static uint8_t operands_give(const kni_work_body *b, const kni_body_node *n)
{
    uint8_t gives = KNI_GIVES_NUMBER;
    for (int k = 0; k < n->n_in; k++)
        if (b->tree.nodes[n->in[k]].gives != KNI_GIVES_NUMBER) gives = b->tree.nodes[n->in[k]].gives;
    return gives;
}

static bool is_whole(const kni_work_body *b, int i)
{
    return kni_body_is_whole(&b->tree, b->form->numbers ? NULL : b->r->row->schema,
                             kni_work_body_chosen(b, i));
}

/* cos(2 pi u) of f64 by the device's own sine, whose argument is formed without error. */
static uint16_t cosine_of_turns(kni_work *w, uint16_t u)
{
    uint16_t from = kni_work_word(w, KNI_WORD_sub, u, kni_work_constant(w, KN_F64, 0.5));
    from = kni_work_word(w, KNI_WORD_abs, from, 0);
    from = kni_work_word(w, KNI_WORD_sub, from, kni_work_constant(w, KN_F64, 0.25));
    from = kni_work_word(w, KNI_WORD_mul, from, kni_work_constant(w, KN_F64, 6.283185307179586));
    return kni_work_word(w, KNI_WORD_sin, from, 0);
}

static uint16_t word(kni_work_body *b, int i)
{
    const kni_body_node *n = &b->tree.nodes[i];
    int index = n->step.index;
    double known;
    if (kni_work_body_static(b, i, &known)) return kni_work_settled(b->w, b->compute, known);
    if (n->gives == KNI_GIVES_NUMBER && is_whole(b, i))
        return kni_work_convert(b->w, kni_work_body_number(b, i, KN_I64), KN_I64, b->compute);
    if (index == KNI_WORD_div && n->gives != KNI_GIVES_INDEX) return divide(b, n);
    for (int k = 0; k < 2 && n->n_in == 2; k++)
        if (is_neutral(b, n->in[k], index)) return kni_work_body_node(b, n->in[1 - k]);
    for (int k = 0; k < 2 && index == KNI_WORD_eq; k++)
        if (b->tree.nodes[n->in[k]].step.kind == KNI_STEP_PLACE) return kni_work_body_here(b, n->in[1 - k]);
    uint8_t both = operands_give(b, n);
    if (both == KNI_GIVES_NUMBER && n->gives == KNI_GIVES_TRUTH && n->n_in == 2 && is_whole(b, n->in[0]) &&
        is_whole(b, n->in[1]))
        both = KNI_GIVES_INDEX;
    uint16_t x = kni_work_body_node_as(b, n->in[0], both), y = 0;
    if (n->n_in == 2) y = kni_work_body_node_as(b, n->in[1], both);
    if (index == KNI_WORD_cos_turn && b->compute == KN_F64) return cosine_of_turns(b->w, x);
    return kni_work_word(b->w, index, x, y);
}

/* && or || of two truths. One that is known and has not decided leaves the other. */
static uint16_t both(kni_work_body *b, const kni_body_node *n)
{
    double known;
    for (int k = 0; k < 2; k++)
        if (kni_work_body_static(b, n->in[k], &known)) return kni_work_body_node(b, n->in[1 - k]);
    return kni_work_logic(b->w, n->step.kind == KNI_STEP_AND ? KNI_WORK_AND : KNI_WORK_OR,
                          kni_work_body_node(b, n->in[0]), kni_work_body_node(b, n->in[1]));
}

static uint16_t compute(kni_work_body *b, int i)
{
    const kni_body_node *n = &b->tree.nodes[i];
    kni_work *w = b->w;
    switch (n->step.kind) {
    case KNI_STEP_INPUT:
        return kni_work_body_operand(b, n->step.index, n->gives);
    case KNI_STEP_PARAM:
    case KNI_STEP_CONSTANT:
    case KNI_STEP_LENGTH:
    case KNI_STEP_ELEMENT:
        return kni_work_body_number(b, i, b->compute);
    case KNI_STEP_DRAW:
        return kni_work_philox(w, kni_work_body_number(b, n->in[0], KN_I64),
                               kni_work_body_number(b, n->in[1], KN_I64),
                               kni_work_body_node_as(b, n->in[2], KNI_GIVES_INDEX),
                               b->form->draws[b->dtype == KN_F64], n->step.index);
    case KNI_STEP_REAL:
        return kni_work_convert(w, kni_work_body_node_as(b, n->in[0], KNI_GIVES_INDEX), KN_I64, b->compute);
    case KNI_STEP_PLACE:
        return kni_work_place(w, KN_I64);
    case KNI_STEP_AT:
        return kni_work_body_at(b, n);
    case KNI_STEP_REQUIRE: {
        uint16_t holds = kni_work_body_node(b, n->in[0]), t = kni_work_body_node(b, n->in[1]);
        return w->failed ? 0 : kni_work_report(w, t, t, kni_work_logic(w, KNI_WORK_NOT, holds, 0));
    }
    case KNI_STEP_SELECT:
        return kni_work_select(w, kni_work_body_node(b, n->in[0]),
                               kni_work_body_node_as(b, n->in[1], n->gives),
                               kni_work_body_node_as(b, n->in[2], n->gives));
    case KNI_STEP_AND:
    case KNI_STEP_OR:
        return both(b, n);
    case KNI_STEP_NOT:
        return kni_work_logic(w, KNI_WORK_NOT, kni_work_body_node(b, n->in[0]), 0);
    case KNI_STEP_XOR:
        return kni_work_word(w, KNI_WORD_ne, kni_work_body_node(b, n->in[0]),
                             kni_work_body_node(b, n->in[1]));
    case KNI_STEP_EXPN:
        return kni_work_power(w, kni_work_body_node(b, n->in[0]), kni_work_body_digits(b, i));
    case KNI_STEP_LINE:
        return kni_work_body_along(b, n);
    default:
        return word(b, i);
    }
}

uint16_t kni_work_body_node(kni_work_body *b, int i)
{
    if (b->w->failed) return 0;
    i = kni_work_body_chosen(b, i);
    if (!b->known[i]) b->known[i] = compute(b, i);
    return b->known[i];
}

uint16_t kni_work_body_node_as(kni_work_body *b, int i, uint8_t gives)
{
    i = kni_work_body_chosen(b, i);
    bool index = gives == KNI_GIVES_INDEX && b->tree.nodes[i].gives == KNI_GIVES_NUMBER;
    return index && !b->w->failed ? kni_work_body_number(b, i, KN_I64) : kni_work_body_node(b, i);
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
    return kni_is_bool(compute) ? KN_I32 : compute;
}

uint16_t kni_work_body_value(kni_work *w, const kn_record *r, int result, uint16_t frame)
{
    kni_work_body b = {.w = w, .r = r, .form = r->row->body};
    const kni_work_frame *f = &w->frames[frame];
    b.compute = compute_dtype(w, r, result);
    b.dtype = kni_out(r, result)->type.dtype;
    if (kni_line_is_sum(r->row) && !f->node && f->level == KNI_WORK_K && kni_is_float(b.compute))
        return kni_work_convert(w, kni_work_body_across(&b), b.compute, b.dtype);
    b.all = start(w, r, b.form->operands[b.form->n_in + result] & KNI_OPERAND_LEVEL, frame);
    b.choices = kni_body_choices(r->row->schema, r->attributes) | kni_body_dtype_choices(b.dtype);
    if (b.form->numbers && !w->failed) kni_work_take_numbers(w, r, b.compute, b.numbers);
    if (w->failed) return 0;
    kni_body_tree_of(b.form, &b.tree);
    int i = kni_work_body_chosen(&b, b.tree.results[result]);
    if (b.tree.nodes[i].step.kind == KNI_STEP_PARAM && !b.form->numbers && kni_is_float(b.dtype))
        return kni_work_body_rounded(&b, b.tree.nodes[i].step.index);
    uint16_t y = kni_work_body_node(&b, i);
    int from = kni_work_body_dtype(&b, b.tree.nodes[i].gives);
    /* Reals become integers of 64 bits, and those the dtype's. */
    if (kni_is_float(from) && !kni_is_float(b.dtype) && !w->failed)
        y = kni_work_convert(w, y, from, KN_I64), from = KN_I64;
    return w->failed ? 0 : kni_work_convert(w, y, from, b.dtype);
}
