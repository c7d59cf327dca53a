/* The schedules, as prepare and build call them, and what they share. */
#ifndef KNI_SCHED_SCHEDULES_H
#define KNI_SCHED_SCHEDULES_H

#include "sched/emit.h"
#include "sched/sched.h"

/* A schedule for the work: choose settles form, lanes and sizes and fills in the kernels. */
kn_status kni_sched_pointwise(kni_work *w, kni_sched *sched);
kni_ir *kni_sched_pointwise_ir(const kni_work *w);
kn_status kni_sched_rows(kni_work *w, kni_sched *sched);
kni_ir *kni_sched_rows_ir(kni_work *w, const kni_sched *sched, int32_t kernel);
kn_status kni_sched_many(kni_work *w, const kni_group *group, const kni_sched_target *target,
                         kni_sched *sched);
kni_ir *kni_sched_many_ir(kni_work *w, const kni_group *group, const kni_sched_target *target, int32_t kernel,
                          kni_sched *sched);
/* A single cumulative row. */
bool kni_sched_scans(const kni_group *group);
kn_status kni_sched_scan(kni_work *w, const kni_group *group, const kni_sched_target *target,
                         kni_sched *sched);
kni_ir *kni_sched_scan_ir(const kni_work *w);

/* Fills in signature, buffers and params of the next kernel from the work; NULL when they do not fit. */
kni_sched_kernel *kni_sched_add_kernel(kni_sched *sched, const kni_work *w, int schedule, int64_t items);
/* The name of the kernel that is built: the schedule and the op that gives it its character. */
void kni_sched_name(const kni_work *w, const char *schedule, char name[48]);
/* Workgroups of `threads`, as many as the device allows. */
uint32_t kni_sched_threads(const kni_work *w, uint32_t wanted);

#endif
