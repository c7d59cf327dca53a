/* KN_FUSION_LOG=1: what each new plan runs together, and why a record did not join. */
#include "core/text.h"
#include "graph/grouping.h"
#include "graph/plan.h"
#include <string.h>

static const char *const kinds[KNI_GROUP_KINDS] = {
    [KNI_GROUP_SINGLE] = "single", [KNI_GROUP_POINTWISE] = "pointwise", [KNI_GROUP_REDUCTION] = "reduction",
    [KNI_GROUP_ROWS] = "rows",     [KNI_GROUP_PRODUCT] = "product",     [KNI_GROUP_MANY] = "many",
};

bool kni_plan_log_wanted(void)
{
    const char *text = kni_environment("KN_FUSION_LOG");
    return text && *text && strcmp(text, "0");
}

const char *kni_group_name(int kind) { return kind < KNI_GROUP_KINDS ? kinds[kind] : "unknown"; }

void kni_plan_log(const kni_plan *p, const kni_queue *q, const kni_grouping *g)
{
    if (!kni_plan_log_wanted()) return;
    kni_log(KN_LOG_INFO, "fusion: a plan of %d records in %d steps; %d values are computed again, not stored",
            q->n_entries, p->n_steps, p->n_again);
    for (int32_t i = 0; i < p->n_steps; i++) {
        const kni_step *s = &p->steps[i];
        char line[400] = "";
        kni_text text = {line, sizeof line, 0};
        for (int32_t k = 0; k < s->group.n_records; k++) {
            const kn_record *r = s->entries[k] < 0 ? s->records[k] : q->entries[s->entries[k]].record;
            if (k == 0 && r->n_out) kni_text_format(&text, " over %S:", &kni_out(r, 0)->type);
            kni_text_format(&text, " %s", r->row->name);
        }
        const char *why = s->entries[0] < 0 ? NULL : g->why[s->entries[0]];
        kni_log(KN_LOG_INFO, "fusion:   step %d %s%s (%d in, %d out, %d inside)%s%s%s", i,
                kni_group_name(s->group.kind), line, s->group.n_inputs, s->group.n_outputs, s->n_hides,
                s->repeats ? ", some of them again" : "",
                !why                      ? ""
                : s->group.n_records == 1 ? "; alone because "
                                          : "; starts anew because ",
                why ? why : "");
    }
    for (int32_t e = 0; e < q->n_entries; e++)
        if (g->group_of[e] < 0)
            kni_log(KN_LOG_INFO, "fusion:   %s is not run: nobody reads it", q->entries[e].record->row->name);
}
