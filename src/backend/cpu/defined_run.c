/* Defined elementwise rows on the CPU: a group of one record, whose body runs as strips, one word after another. */
#include "backend/cpu/group_strips.h"
#include "backend/cpu/isa.h"
#include "backend/cpu/line_program.h"
#include "ops/body_words.h"
#include "ops/defined.h"
#include "ops/word_numbers.h"

static kn_status run_points(const kn_record *r)
{
    uint32_t inputs[KNI_BODY_OPERANDS];
    kni_group g = {.kind = KNI_GROUP_POINTWISE,
                   .n_records = 1,
                   .records = &r,
                   .n_outputs = 1,
                   .inputs = inputs,
                   .outputs = r->ids};
    for (int i = 0; i < r->n_in; i++) {
        int known = 0;
        while (known < g.n_inputs && inputs[known] != r->ids[1 + i]) known++;
        if (known == g.n_inputs) inputs[g.n_inputs++] = r->ids[1 + i];
    }
    return kni_cpu_group_points(&g);
}

#ifndef KN_FREESTANDING
/* The row `div` has no strips of integers, since it makes floats of them. */
static kni_strip_fn strip_of(const kni_step *step, int compute)
{
    bool divides = step->kind == KNI_STEP_WORD && step->index == KNI_WORD_div;
    bool floats = compute == KNI_COMPUTE_F32 || compute == KNI_COMPUTE_F64;
    const kni_native *entry = divides && !floats ? kni_word_row_of_integers(step->index)->native
                                                 : kni_line_entry_of(step->kind, step->index);
    return entry ? entry->strips[kni_cpu_tier()][compute] : NULL;
}

const kni_native kni_cpu_defined_points = {.run = run_points, .strip_of = strip_of};
#else
const kni_native kni_cpu_defined_points = {.run = run_points};
#endif
