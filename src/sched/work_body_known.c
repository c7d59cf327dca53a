/* What a body knows before anything runs: constants, static attributes, choices, the length, and what is made of them; and the
   scalars that a launch is given. */
#include "sched/work_body.h"

static double attribute_of(const kni_work_body *b, int index)
{
    return kni_body_attribute(&b->r->row->schema[index], b->r->attributes).real;
}

/* Whether another value of the attribute is stored without a new schedule: all others are known to this one. */
static bool is_tracked(const kni_work_body *b, int index)
{
    return kni_sched_tracks(b->r->row, &b->r->row->schema[index]);
}

/* && and || are known where one side decides. */
static bool is_static_logic(const kni_work_body *b, const kni_body_node *n, double *v)
{
    double x[2];
    bool known[2], or = n->step.kind == KNI_STEP_OR;
    for (int k = 0; k < 2; k++) {
        known[k] = kni_work_body_static(b, n->in[k], &x[k]);
        if (known[k] && (x[k] != 0) == or) return *v = or, true;
    }
    return *v = ! or, known[0] && known[1];
}

bool kni_work_body_static(const kni_work_body *b, int i, double *v)
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
        if (!kni_work_body_static(b, n->in[0], &x[0])) return false;
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
            if (!kni_work_body_static(b, n->in[k], &x[k])) return false;
        return *v = kni_word_on(n->step.index, x), true;
    default:
        return false;
    }
}

int kni_work_body_chosen(const kni_work_body *b, int i)
{
    const kni_body_node *n = &b->tree.nodes[i];
    double truth;
    while (n->step.kind == KNI_STEP_SELECT && kni_work_body_static(b, n->in[0], &truth)) {
        i = n->in[truth != 0 ? 1 : 2];
        n = &b->tree.nodes[i];
    }
    return i;
}

/* An attribute as a number of the launch: integers keep all digits, and one that is tracked has a source. */
static uint16_t attribute(kni_work_body *b, int index, int dtype)
{
    kni_work *w = b->w;
    if (b->form->numbers) return dtype == b->compute ? b->numbers[index] : kni_work_fail(w);
    if (kni_is_float(dtype))
        return is_tracked(b, index) ? kni_work_fail(w) : kni_work_settled(w, dtype, attribute_of(b, index));
    int64_t whole = kni_body_attribute(&b->r->row->schema[index], b->r->attributes).whole;
    uint16_t n = kni_work_inline(w, dtype, &whole, KN_I64);
    if (is_tracked(b, index)) kni_work_source(w, n, KNI_SOURCE_WHOLE, b->r, b->r->row->schema[index].offset);
    return n;
}

uint16_t kni_work_body_number(kni_work_body *b, int i, int dtype)
{
    kni_work *w = b->w;
    int at = kni_work_body_chosen(b, i);
    const kni_body_node *n = &b->tree.nodes[at];
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
    if (kni_work_body_static(b, at, &v)) return kni_work_settled(w, dtype, v);
    if (n->step.kind != KNI_STEP_WORD || n->n_in != 2) return kni_work_fail(w);
    uint16_t x = kni_work_body_number(b, n->in[0], dtype), y = kni_work_body_number(b, n->in[1], dtype);
    return kni_work_word(w, n->step.index, x, y);
}

uint16_t kni_work_body_rounded(kni_work_body *b, int index)
{
    uint64_t bits = 0;
    double v = attribute_of(b, index);
    kni_convert(&bits, b->dtype, 1, &v, KN_F64, 1, 1);
    return kni_work_inline(b->w, b->compute, &bits, b->dtype);
}
