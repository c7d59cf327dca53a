/* The body of an elementwise record as IR: one word for each step. */
#include "sched/emit_body.h"

typedef struct machine {
    kni_ir_id stack[KNI_BODY_STACK + 1], locals[KNI_BODY_MAX_LOCALS];
    int depth;
} machine;

static kni_ir_id pop(machine *m) { return m->depth > 0 ? m->stack[--m->depth] : 0; }

static kni_ir_id constant(kni_ir_builder *b, int dtype, double value)
{
    return kni_is_float(dtype) ? kni_ir_real(b, dtype, value) : kni_ir_whole(b, dtype, (int64_t)value);
}

static kni_ir_id truths(kni_ir_builder *builder, int kind, kni_ir_id a, kni_ir_id b)
{
    if (kind == KNI_STEP_AND) return kni_ir_and(builder, a, b);
    if (kind == KNI_STEP_OR) return kni_ir_or(builder, a, b);
    return kni_ir_word(builder, "ne", a, b);
}

static kni_ir_id step_value(kni_ir_builder *builder, int dtype, const kni_step *s, machine *m,
                            kni_emit_instead instead, void *context)
{
    kni_ir_id a, b, c;
    switch (s->kind) {
    case KNI_STEP_CONSTANT:
        return constant(builder, dtype, s->value);
    case KNI_STEP_LOCAL:
        return m->locals[s->index];
    case KNI_STEP_SELECT:
        c = pop(m), b = pop(m), a = pop(m);
        return kni_ir_select(builder, a, b, c);
    case KNI_STEP_NOT:
        return kni_ir_not(builder, pop(m));
    case KNI_STEP_WORD:
        b = kni_word_at(s->index)->arity > 1 ? pop(m) : 0;
        a = pop(m);
        c = instead && !b ? instead(context, s->index, a) : 0;
        return c ? c : kni_ir_word_at(builder, s->index, a, b);
    default:
        b = pop(m), a = pop(m);
        return truths(builder, s->kind, a, b);
    }
}

kni_ir_id kni_emit_step(kni_ir_builder *b, int dtype, const kni_step *s, const kni_ir_id *in, int n_in)
{
    machine m = {.depth = n_in};
    for (int i = 0; i < n_in; i++) m.stack[i] = in[i];
    return step_value(b, dtype, s, &m, NULL, NULL);
}

kni_ir_id kni_emit_row_body(kni_ir_builder *b, const kn_op *row, int dtype, kni_emit_leaf leaf,
                            kni_emit_instead instead, void *context)
{
    machine m = {.depth = 0};
    for (int i = 0; i < row->body->n; i++) {
        const kni_step step = kni_body_step(row->body, i), *s = &step;
        bool outside = s->kind == KNI_STEP_INPUT || s->kind == KNI_STEP_PARAM;
        if (s->kind == KNI_STEP_STORE)
            m.locals[s->index] = pop(&m);
        else if (m.depth <= KNI_BODY_STACK) {
            kni_ir_id v = outside ? leaf(context, s) : step_value(b, dtype, s, &m, instead, context);
            m.stack[m.depth++] = v;
        }
    }
    return pop(&m);
}

typedef struct place {
    kni_emit *e;
    const kni_work_node *node;
    uint32_t lane;
} place;

static kni_ir_id node_leaf(void *context, const kni_step *s)
{
    const place *at = context;
    const kni_work_node *n = at->node;
    const uint16_t operands[4] = {n->a, n->b, n->c, n->d};
    return s->kind == KNI_STEP_INPUT ? kni_emit_value(at->e, operands[s->index], at->lane)
                                     : kni_emit_number(at->e, (uint16_t)(n->first + s->index));
}

/* Shorter formulas of words, where the row says that they have digits enough. */
static kni_ir_id node_instead(void *context, int word, kni_ir_id x)
{
    const place *at = context;
    kni_emit *e = at->e;
    const kn_record *r = e->w->group->records[at->node->extra];
    bool half = kni_power_digits_of(kni_out(r, 0)->type.dtype) == KNI_POWER_HALF;
    if (at->node->from != KN_F32 || e->w->target->caps->dialect == KNI_IR_C) return 0;
    if (!(r->row->flags & (half ? KNI_FLAG_SHORT_HALF : KNI_FLAG_SHORT_SINGLE))) return 0;
    if (word == KNI_WORD_sigmoid) return kni_emit_sigmoid(e, x, half);
    if (word == KNI_WORD_exp && half) return kni_emit_power(e, x, KN_F32, KNI_POWER_HALF);
    return word == KNI_WORD_normal_cdf && half ? kni_emit_normal(e, x) : 0;
}

kni_ir_id kni_emit_body(kni_emit *e, const kni_work_node *node, uint32_t lane)
{
    place at = {e, node, lane};
    return kni_emit_row_body(e->b, e->w->group->records[node->extra]->row, node->from, node_leaf,
                             node_instead, &at);
}
