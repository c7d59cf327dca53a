/* Finding the steps of a program of strips that run as a pair. */
#include "backend/cpu/strip_pairs.h"
#include "backend/cpu/group_strips.h"
#include "backend/cpu/isa.h"
#include "ops/body_form.h"

/* The formula of a step that is a whole record: a defined row has a step for each word instead. */
static kni_form form_of(const kni_group *g, const kni_strip_step *s)
{
    const kn_op *row = g->records[s->record]->row;
    return row->native && row->native->strips ? kni_body_form(row->body) : KNI_FORM_OTHER;
}

static int index_of(kni_form form, const uint8_t *forms, int n)
{
    int i = 0;
    while (i < n && forms[i] != form) i++;
    return i < n ? i : -1;
}

static bool is_f32_call(const kni_strip_step *s)
{
    bool all = s->kind == KNI_STRIP_CALL && s->out.dtype == KN_F32;
    for (int k = 0; k < s->n_in; k++) all = all && s->in[k].dtype == KN_F32;
    return all;
}

static int reads_of(kni_strip_place x, const kni_strip_step *from, const kni_strip_step *end)
{
    int reads = 0;
    for (const kni_strip_step *s = from; s < end; s++)
        for (int k = 0; k < s->n_in; k++) reads += s->in[k].kind == x.kind && s->in[k].index == x.index;
    return reads;
}

/* NULL where the formulas of the two have none. */
static kni_strip_fn pair_of(const kni_group *g, const kni_strip_step *a, const kni_strip_step *b)
{
    static const kni_strip_pairs *const tables[KNI_ISA_COUNT] = KNI_TIER_TABLE(&kni_strip_pair_table);
    static const uint8_t firsts[KNI_FIRSTS] = {KNI_FORM_ADD, KNI_FORM_SUB, KNI_FORM_MUL, KNI_FORM_RELU};
    static const uint8_t seconds[KNI_SECONDS] = {KNI_FORM_ADD, KNI_FORM_SUB, KNI_FORM_MUL, KNI_FORM_RELU,
                                                 KNI_FORM_SQUARE};
    int first = index_of(form_of(g, a), firsts, KNI_FIRSTS);
    int second = index_of(form_of(g, b), seconds, KNI_SECONDS);
    return first < 0 || second < 0 ? NULL : tables[kni_cpu_tier()]->fn[first][second];
}

/* Only b, up to the last step, reads what a makes, and only as its operand 0. */
static bool hands_over(const kni_strip_step *a, const kni_strip_step *b, const kni_strip_step *end)
{
    return a->out.kind == KNI_PLACE_REGISTER && b->in[0].kind == a->out.kind &&
           b->in[0].index == a->out.index && reads_of(a->out, b, end) == 1;
}

int32_t kni_strip_join(kni_strip_step *steps, int32_t n, const kni_group *g)
{
    int32_t kept = 0;
    for (int32_t i = 0; i < n; i++) {
        kni_strip_step *a = kept ? &steps[kept - 1] : NULL, *b = &steps[i];
        bool may = a && !a->paired && is_f32_call(a) && is_f32_call(b) && hands_over(a, b, steps + n);
        kni_strip_fn fn = may ? pair_of(g, a, b) : NULL;
        if (!fn) {
            steps[kept++] = *b;
            continue;
        }
        for (int k = 1; k < b->n_in; k++) a->in[a->n_in++] = b->in[k];
        a->fn = fn;
        a->paired = true;
        a->first = a->record;
        a->record = b->record;
        a->out = b->out;
    }
    return kept;
}
