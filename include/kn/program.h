/* Programs: ops recorded once and run again with other inputs; and what the fusion decorator did. */
#ifndef KN_PROGRAM_H
#define KN_PROGRAM_H

#include <kn/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the fusion decorator of a device has done since it was opened. */
typedef struct kn_fusion_stats {
    int64_t records;        /* ops that were queued */
    int64_t submissions;    /* queues that were run */
    int64_t plan_hits;      /* of them with a plan that was there already */
    int64_t plans_made;     /* for queues met for the first time, or again after their plan was forgotten */
    int64_t plans_kept;     /* now */
    int64_t groups_run;     /* kernels of several records */
    int64_t singles_run;    /* records that ran by themselves */
    int64_t refused;        /* groups that the device did not take and that ran record by record */
    int64_t plans_replayed; /* submissions that the device ran from a recording, as one */
    int64_t recomputed;     /* values that the plans made compute again where they are read, to store less */
} kn_fusion_stats;
/* KN_ERROR_DEVICE when no fusion decorator is in the device's stack. NULL: the current device. */
KN_API kn_status kn_fusion_stats_of(kn_device device, kn_fusion_stats *stats);

/* ---- programs */

typedef struct kn_program_object *kn_program;

/* From here on the ops of the calling thread on the device (NULL: the current one) become a program as well as run. One
   at a time for each thread. */
KN_API KN_MUST_CHECK kn_status kn_program_begin(kn_device device);
/* Ends it. inputs: tensors that were there before, in whose place others can be given; all other tensors from outside are
   constants, but params are read anew in each run. outputs: what a run gives. All are borrowed; an input may be a handle
   that an op has taken. NULL with kn_last_error() where the ops make no program: nothing was begun, an output is none of
   theirs, or a param was updated. */
KN_API kn_program kn_program_end(const kn_tensor *inputs, int32_t n_inputs, const kn_tensor *outputs,
                                 int32_t n_outputs);
/* Runs it on its device: n_in and n_out as in kn_program_end. Takes temporaries; outputs are temporaries of the calling
   scope, poisoned on failure. Shapes may be other ones where the ops allow it; random ops draw new numbers. */
KN_API KN_MUST_CHECK kn_status kn_program_run(kn_program program, const kn_tensor *inputs, int32_t n_in,
                                              kn_tensor *outputs, int32_t n_out);
/* Writes the ops, one to a line; returns the length of it all. */
KN_API size_t kn_program_print(kn_program program, char *buffer, size_t bytes);
KN_API void kn_program_free(kn_program program);

#ifdef __cplusplus
}
#endif

#ifndef KN_NO_SITES
#include <kn/sites/program_sites.h>
#endif

#endif
