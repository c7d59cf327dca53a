#include "sched/schedules.h"
kn_status kni_sched_rows(kni_work *w, kni_sched *sched)
{
    (void)w, (void)sched;
    return KN_ERROR_UNSUPPORTED;
}
kni_ir *kni_sched_rows_ir(kni_work *w, const kni_sched *sched, int32_t kernel)
{
    (void)w, (void)sched, (void)kernel;
    return NULL;
}
