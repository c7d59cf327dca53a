/* Stand-ins for parts that are still to come: each is replaced by the strong definition once that is there. */
#include "backend/gpu/gpu.h"

#define STAND_IN __attribute__((weak))

STAND_IN kn_status kni_sched_prepare(const kni_group *group, const kni_sched_target *target, kni_sched *sched)
{
    return (void)group, (void)target, (void)sched, KN_ERROR_UNSUPPORTED;
}
STAND_IN kni_ir *kni_sched_build(const kni_group *group, const kni_sched_target *target,
                                 const kni_sched *sched, int32_t kernel)
{
    return (void)group, (void)target, (void)sched, (void)kernel, NULL;
}
