/* The scalars that a record's body computes with, as numbers of the launch. */
#include "ops/body.h"
#include "sched/work_rows.h"
#include <string.h>

/* The record whose numbers record `me` has: an earlier one with the same attributes, or itself. */
static int owner_of(const kni_work *w, int me)
{
    const kn_record *r = w->group->records[me];
    for (int i = 0; i < me; i++) {
        const kn_record *other = w->group->records[i];
        if (w->first_numbers[i] && other->op == r->op &&
            !memcmp(other->attributes, r->attributes, r->attribute_bytes))
            return i;
    }
    return me;
}

void kni_work_take_numbers(kni_work *w, const kn_record *r, int compute, uint16_t *nodes)
{
    const kni_body *body = r->row->body;
    kni_body_number values[KNI_BODY_NUMBERS];
    int me = 0;
    while (w->group->records[me] != r) me++;
    if (me >= KNI_WORK_UPDATES) {
        kni_work_fail(w);
        return;
    }
    if (!w->first_numbers[me]) {
        int owner = owner_of(w, me);
        w->first_numbers[me] = w->first_numbers[owner];
        if (owner != me) w->shares[me] = (uint16_t)(owner + 1);
    }
    bool known = w->first_numbers[me] != 0;
    if (!known) body->numbers(r->row->schema, r->attributes, values);
    for (int i = 0; i < body->n_numbers; i++) {
        nodes[i] = known ? (uint16_t)(w->first_numbers[me] + i) : kni_work_real(w, compute, values[i].real);
        if (known) continue;
        kni_work_source(w, nodes[i], KNI_SOURCE_NUMBER, r, i);
        if (i == 0) w->first_numbers[me] = nodes[i];
    }
}
