/* Handing the texts of a plan's kernels to a driver that compiles ahead (gpu_ahead.c). */
#ifndef KNI_GPU_AHEAD_H
#define KNI_GPU_AHEAD_H

#include "backend/gpu/gpu.h"

/* What was handed over for one plan: most groups of a model are like another one. */
enum { KNI_GPU_SEEN = 256 };
typedef struct kni_gpu_guesses {
    kni_gpu *gpu;
    uint64_t seen[KNI_GPU_SEEN];
    int n_seen;
} kni_gpu_guesses;

/* Before the steps of a plan, whose records have their types, orders and promises. Tells no failure. */
void kni_gpu_ahead(kni_gpu *g, const kn_plan_run *run);

/* Whether the kernel with this key is neither there nor handed over; it counts as handed over from then on. */
bool kni_gpu_guess_new(kni_gpu_guesses *a, const void *key, uint32_t bytes);
/* Hands a kernel over; frees the IR, which may be NULL. */
void kni_gpu_guess(kni_gpu_guesses *a, kni_ir *ir);
/* The kernels that kni_gpu_reference would make for the record (gpu_reference.c). */
void kni_gpu_reference_ahead(kni_gpu_guesses *a, const kn_record *r);

/* ---- in gpu_group.c */
/* The key of a schedule's kernel, of at most KNI_SCHED_SIGNATURE + 1 bytes; answers how many. */
uint32_t kni_gpu_schedule_key(const kni_sched_kernel *k, unsigned char *key);
/* A single record as a group; `inputs` has room for KNI_GPU_OPERANDS. False: it has too many. */
bool kni_gpu_group_of(const kn_record *const *r, uint32_t *inputs, kni_group *group);
/* Whether the group has f64, which the device lacks. */
bool kni_gpu_group_lacks(const kni_gpu *g, const kni_group *group);

#endif
