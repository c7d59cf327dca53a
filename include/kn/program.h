/* Programs: ops recorded once and run again with other inputs; and what the fusion decorator did. */
#ifndef KN_PROGRAM_H
#define KN_PROGRAM_H

#include <kn/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the fusion decorator of a device has done since it was opened. */
typedef struct kn_fusion_stats {
    int64_t records;     /* ops that were queued */
    int64_t submissions; /* queues that were run */
    int64_t plan_hits;   /* of them with a plan that was there already */
    int64_t plans_made;  /* for queues met for the first time, or again after their plan was forgotten */
    int64_t structures;  /* of the plans made: those unlike any other in more than sizes */
    int64_t plans_kept;  /* now */
    int64_t groups_run;  /* kernels of several records */
    int64_t singles_run; /* records that ran by themselves */
    int64_t refused;     /* groups that the device did not take and that ran record by record */
} kn_fusion_stats;
/* KN_ERROR_DEVICE when no fusion decorator is in the device's stack. NULL: the current device. */
KN_API kn_status kn_fusion_stats_of(kn_device device, kn_fusion_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
