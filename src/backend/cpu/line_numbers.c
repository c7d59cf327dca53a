/* What a program of lines knows before it runs: scalars and what is made of them, in f64, and which steps that leaves out. */
#include "backend/cpu/isa.h"
#include "backend/cpu/line_job.h"

/* ---- numbers */

/* A word on numbers: its strip on one element, in f64, or in f32 where a small build has no other. */
static bool apply_word(const kni_line_job *j, const kni_line_number *x, double *y)
{
    double f64[3], d = 0;
    float f32[3], f = 0;
    uint8_t truth = 0;
    const void *in[4] = {f64, f64 + 1, f64 + 2, NULL}, *in_f32[4] = {f32, f32 + 1, f32 + 2, NULL};
    const kni_strip_fn *strips = x->entry->strips[kni_cpu_tier()];
    for (int k = 0; k < x->n_in; k++) {
        f64[k] = j->numbers[x->in[k]].real;
        f32[k] = (float)f64[k];
    }
    if (strips[KNI_COMPUTE_F64])
        strips[KNI_COMPUTE_F64](1, x->truth ? (void *)&truth : &d, in, NULL);
    else if (strips[KNI_COMPUTE_F32])
        strips[KNI_COMPUTE_F32](1, x->truth ? (void *)&truth : &f, in_f32, NULL);
    else
        return false;
    *y = x->truth ? truth : strips[KNI_COMPUTE_F64] ? d : (double)f;
    return true;
}

static bool combine(const kni_line_job *j, const kni_line_number *x, double *y)
{
    double a = j->numbers[x->in[0]].real, b = x->n_in > 1 ? j->numbers[x->in[1]].real : 0;
    switch (x->kind) {
    case KNI_STEP_SELECT:
        *y = a != 0 ? b : j->numbers[x->in[2]].real;
        return true;
    case KNI_STEP_AND:
        *y = a != 0 && b != 0;
        return true;
    case KNI_STEP_OR:
        *y = a != 0 || b != 0;
        return true;
    case KNI_STEP_XOR:
        *y = (a != 0) != (b != 0);
        return true;
    case KNI_STEP_NOT:
        *y = a == 0;
        return true;
    default:
        return apply_word(j, x, y);
    }
}

static bool number(const kni_line_job *j, const kni_line_number *x, const kni_body_number *hosted,
                   kni_body_number *y)
{
    const kn_attribute *schema = j->r->row->schema;
    double value = 0;
    switch (x->kind) {
    case KNI_STEP_CONSTANT:
        *y = kni_body_real(x->value);
        return true;
    case KNI_STEP_PARAM:
        *y = kni_body_hosted(j->r->row->body) ? hosted[x->index]
                                              : kni_body_attribute(&schema[x->index], j->r->attributes);
        return true;
    case KNI_STEP_LENGTH:
        *y = kni_body_whole(j->n);
        return true;
    case KNI_STEP_HAS:
        *y = kni_body_whole(x->index < j->r->n_in && kni_in(j->r, x->index));
        return true;
    case KNI_STEP_CHOICE:
        *y = kni_body_whole(kni_body_choices(schema, j->r->attributes) >> x->index & 1);
        return true;
    default:
        if (!combine(j, x, &value)) return false;
        *y = kni_body_real(value);
        return true;
    }
}

/* ---- what is skipped */

static void mark(uint64_t *live, const kni_line_step *s, int k)
{
    /* What a reduction or a place takes is wide, though its result is not. */
    bool wide = s->kind == KNI_LINE_REDUCE || (s->kind == KNI_LINE_ELEMENT && k == 0) ||
                (s->wide && s->kind != KNI_LINE_SPREAD);
    live[wide] |= UINT64_C(1) << s->in[k];
}

/* Steps backwards: one whose register nobody reads before it is written again is skipped. */
static void find_skipped(kni_line_job *j)
{
    const kni_line_program *p = j->p;
    uint64_t live[2] = {0, 0};
    for (int k = 0; k < p->n_results; k++) live[p->results[k].wide] |= UINT64_C(1) << p->results[k].from;
    for (int i = p->n_steps - 1; i >= 0; i--) {
        const kni_line_step *s = &p->steps[p->n_once + i];
        uint64_t own = UINT64_C(1) << s->out;
        if (!(live[s->wide] & own) && s->kind != KNI_LINE_REQUIRE) {
            j->skipped[i / 8] |= (uint8_t)(1 << i % 8);
            continue;
        }
        live[s->wide] &= ~own;
        if (s->kind == KNI_LINE_PICK)
            mark(live, s, j->numbers[s->index].real == 0);
        else
            for (int k = 0; k < s->n_in; k++) mark(live, s, k);
    }
}

bool kni_line_count(kni_line_job *j)
{
    const kni_line_program *p = j->p;
    const kn_op *row = j->r->row;
    kni_body_number hosted[KNI_BODY_NUMBERS];
    if (kni_body_hosted(row->body)) row->body->numbers(row->schema, j->r->attributes, hosted);
    for (int i = 0; i < p->n_numbers; i++)
        if (!number(j, &p->numbers[i], hosted, &j->numbers[i])) return false;
    if (p->picks) find_skipped(j);
    return true;
}
