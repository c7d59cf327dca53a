#include "sched/work_rows.h"
bool kni_work_domain(const kn_record *r, const kni_type **shape, uint32_t *reduced)
{
    (void)r, (void)shape, (void)reduced;
    return false;
}
uint16_t kni_work_row_value(kni_work *w, int record, int result, uint16_t frame)
{
    const kn_record *r = w->group->records[record];
    kni_work_row_fn value = kni_work_creation(r->op);
    return value ? value(w, r, result, frame) : 0;
}
