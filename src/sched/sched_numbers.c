/* Numbers of a schedule's params that change from launch to launch: where they come from, and putting in others. */
#include "ops/body.h"
#include "sched/work_rows.h"
#include <string.h>

bool kni_sched_tracks(const kn_op *row, const kn_attribute *a)
{
    if (a->dynamic != KNI_DYNAMIC) return false;
    if (kni_body_hosted(row->body)) return true;
    /* The state of the generator. */
    return row->flags & KNI_FLAG_RANDOM && (row->body || row->kind == KNI_CONTRACTION) &&
           (!strcmp(a->name, "key") || !strcmp(a->name, "counter"));
}

static bool shares_hold(const kni_sched_source *sources, uint32_t n, const kn_record *const *records)
{
    for (uint32_t i = 0; i < n; i++) {
        if (sources[i].kind != KNI_SOURCE_SHARED) continue;
        const kn_record *a = records[sources[i].record], *b = records[sources[i].index];
        if (memcmp(a->attributes, b->attributes, a->attribute_bytes) != 0) return false;
    }
    return true;
}

bool kni_sched_renumber(const kni_sched_source *sources, uint32_t n, const kn_record *const *records,
                        unsigned char *params)
{
    kni_body_number numbers[KNI_BODY_NUMBERS];
    const kn_record *of = NULL; /* whose they are */
    if (!shares_hold(sources, n, records)) return false;
    for (uint32_t i = 0; i < n; i++) {
        const kni_sched_source *s = &sources[i];
        const kn_record *r = records[s->record];
        _Alignas(8) char value[8]; /* the params of a recorded launch lie anywhere */
        if (s->kind == KNI_SOURCE_NUMBER) {
            if (of != r) r->row->body->numbers(r->row->schema, r->attributes, numbers);
            of = r;
            kni_convert(value, s->dtype, 1, &numbers[s->index].real, KN_F64, 1, 1);
        } else if (s->kind == KNI_SOURCE_WHOLE) {
            kni_convert(value, s->dtype, 1, (const char *)r->attributes + s->index, KN_I64, 1, 1);
        } else {
            continue;
        }
        memcpy(params + s->at, value, kni_bytes_of(s->dtype));
    }
    return true;
}
