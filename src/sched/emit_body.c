/* The scalar body of an elementwise record as IR: one word for each step. */
#include "sched/emit_body.h"
#include "ops/scalar.h"

typedef struct machine {
    kni_ir_id stack[KNI_SCALAR_STACK + 1], locals[KNI_SCALAR_LOCALS];
    int depth;
} machine;

static kni_ir_id pop(machine *m) { return m->depth > 0 ? m->stack[--m->depth] : 0; }

static kni_ir_id constant(kni_emit *e, int dtype, double value)
{
    return kni_is_float(dtype) ? kni_ir_real(e->b, dtype, value) : kni_ir_whole(e->b, dtype, (int64_t)value);
}

static kni_ir_id truths(kni_emit *e, int kind, kni_ir_id a, kni_ir_id b)
{
    if (kind == KNI_SCALAR_AND) return kni_ir_and(e->b, a, b);
    if (kind == KNI_SCALAR_OR) return kni_ir_or(e->b, a, b);
    return kni_ir_word(e->b, "ne", a, b);
}

static kni_ir_id step_value(kni_emit *e, const kni_work_node *n, const kni_scalar_step *s, machine *m,
                            uint32_t lane)
{
    const uint16_t operands[4] = {n->a, n->b, n->c, n->d};
    kni_ir_id a, b, c;
    switch (s->kind) {
    case KNI_SCALAR_INPUT:
        return kni_emit_value(e, operands[s->index], lane);
    case KNI_SCALAR_PARAM:
        return kni_emit_number(e, (uint16_t)(n->first + s->index));
    case KNI_SCALAR_CONSTANT:
        return constant(e, n->from, s->value);
    case KNI_SCALAR_LOCAL:
        return m->locals[s->index];
    case KNI_SCALAR_SELECT:
        c = pop(m), b = pop(m), a = pop(m);
        return kni_ir_select(e->b, a, b, c);
    case KNI_SCALAR_NOT:
        return kni_ir_not(e->b, pop(m));
    case KNI_SCALAR_WORD:
        b = kni_word_at(s->index)->arity > 1 ? pop(m) : 0;
        a = pop(m);
        return kni_ir_word_at(e->b, s->index, a, b);
    default:
        b = pop(m), a = pop(m);
        return truths(e, s->kind, a, b);
    }
}

kni_ir_id kni_emit_body(kni_emit *e, const kni_work_node *node, uint32_t lane)
{
    const kn_record *r = e->w->group->records[node->extra];
    kni_scalar_body body;
    machine m = {.depth = 0};
    if (!kni_scalar_parse(r->row->scalar, &body)) {
        kni_ir_fail(e->b, "the scalar body of %s is malformed", r->row->name);
        return 0;
    }
    for (int i = 0; i < body.n; i++) {
        const kni_scalar_step *s = &body.steps[i];
        if (s->kind == KNI_SCALAR_STORE)
            m.locals[s->index] = pop(&m);
        else if (m.depth <= KNI_SCALAR_STACK) {
            kni_ir_id v = step_value(e, node, s, &m, lane);
            m.stack[m.depth++] = v;
        }
    }
    return pop(&m);
}
