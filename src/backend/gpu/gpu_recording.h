/* Recordings: a run of a plan that the driver keeps as one piece of work, with all that must be the same for it to be run
   again. Memory that is taken while one is made belongs to it for good, so that its addresses stay. */
#ifndef KNI_GPU_RECORDING_H
#define KNI_GPU_RECORDING_H

#include "backend/gpu/gpu.h"

enum {
    KNI_GPU_RUNS_BEFORE = 2,     /* a plan that runs for the third time is likely to run often */
    KNI_GPU_RECORDINGS = 4,      /* of one plan, for as many sets of addresses */
    KNI_GPU_RECORDED_CELLS = 32, /* that all recordings may have */
    KNI_GPU_MOVING = 16          /* inputs of a recording that may lie somewhere else in each run */
};

/* A slot from outside, when the recording was made. */
typedef struct kni_gpu_input {
    kni_gpu_block *block; /* only to compare with while it is made; NULL: a number */
    void *memory, *beside;
    uint64_t beside_key;
    int64_t offset;
    bool writable;      /* nobody else referred to it then */
    bool written;       /* and something was written over it */
    kni_gpu_block *own; /* of the recording: what moves is copied into it; NULL: it must lie where it was */
} kni_gpu_input;

/* What lives on after the plan. */
typedef struct kni_gpu_result {
    kni_gpu_block *block, *beside; /* of the recording; block NULL: the memory of an input */
    uint64_t beside_key;
    int32_t input;
    uint64_t cells;  /* of the recording's that its value depends on */
    uint64_t faults; /* of the latest run */
} kni_gpu_result;

/* A cell, and which record of the plan is to blame for what it reports. */
typedef struct kni_gpu_cell_use {
    int32_t cell, step, record;
} kni_gpu_cell_use;

/* A group or a record with numbers that are no part of the plan's key. */
typedef struct kni_gpu_unit {
    int32_t step, record;        /* record -1: the whole group */
    uint32_t at, bytes;          /* its numbers, as the launches have them */
    uint32_t launch, n_launches; /* of its schedule; none: they cannot be given other numbers */
} kni_gpu_unit;

typedef struct kni_gpu_launched {
    const kni_gpu_kernel *kernel;
    kni_launch_shape shape;
    uint32_t params;            /* where they are in `numbers` */
    uint32_t source, n_sources; /* of its schedule; of params that change */
    bool sources_lack;
} kni_gpu_launched;

/* A list that grows. */
typedef struct kni_gpu_list {
    void *items;
    uint32_t n, room;
} kni_gpu_list;

typedef struct kni_gpu_spot {
    void *memory; /* NULL: nowhere */
    uint64_t born;
} kni_gpu_spot;

/* What a device keeps with a plan. */
typedef struct kni_gpu_plan {
    kni_gpu *gpu; /* NULL once it is closed */
    struct kni_gpu_plan *previous, *next;
    kni_gpu_recording *recordings; /* the latest used first */
    int32_t n_recordings;
    int64_t made, replays;
    int64_t largest;             /* bytes of a recording so far */
    bool unfit;                  /* it cannot be recorded */
    bool lost;                   /* what ran of it until it was found out could not be run */
    uint32_t told;               /* bit by kni_gpu_why: it was logged */
    struct kni_gpu_spot *places; /* where the inputs of its latest run by steps were */
    int32_t n_places, n_moving;
    struct {
        kni_storage *storage, *before;
        uint32_t id;
    } moving[KNI_GPU_MOVING]; /* copies of inputs that are read in place of them while it is recorded */
} kni_gpu_plan;

struct kni_gpu_recording {
    kni_gpu *gpu;
    kni_gpu_plan *plan;
    kni_gpu_recording *newer, *older; /* of the device */
    kni_gpu_recording *next;          /* of the plan */
    kni_recording *work;
    kni_gpu_block *blocks; /* all that belong to it, by sibling */
    int64_t bytes;         /* of them */
    int64_t live;          /* of them in use */
    kni_gpu_input *inputs;
    kni_gpu_result *results;
    int32_t n_inputs, n_results;
    uint64_t cells;
    uint32_t modes;         /* settings of the process that kernels are chosen by */
    kni_gpu_list cell_uses; /* kni_gpu_cell_use */
    kni_gpu_list units;     /* kni_gpu_unit */
    kni_gpu_list numbers;   /* bytes */
    kni_gpu_list launches;  /* kni_gpu_launched */
    kni_gpu_list sources;   /* kni_sched_source */
    /* while it is made */
    const kni_plan_run *run;
    uint32_t thread;
    bool spoiled;            /* it will be run, but not kept */
    kni_gpu_why why;         /* the first reason for that */
    int32_t why_step;        /* and where it was found */
    kni_gpu_block *deferred; /* of others that were given back meanwhile: for the pool, later */
    kni_gpu_block *free_blocks[KNI_GPU_CLASSES];
};

/* ---- for memory and faults, under the lock, while one is made */
/* A block of the class that the recording has free; NULL: none. */
kni_gpu_block *kni_gpu_recording_block(kni_gpu *g, uint32_t class_number);
void kni_gpu_recording_adopt(kni_gpu *g, kni_gpu_block *b);
/* A block that was given back and belongs to a recording, or was not taken while one is made. */
void kni_gpu_recording_keep(kni_gpu *g, kni_gpu_block *b);
bool kni_gpu_recording_has_cell(const kni_gpu *g);
void kni_gpu_recording_cell(kni_gpu *g, const kn_record *record, int cell);

/* ---- for what runs while one is made */
/* Where the launches of a unit begin; to be given to the second when it has run. `scheduled`: one launch for each kernel of
   its schedule. r NULL: the group as a whole. */
uint32_t kni_gpu_recording_mark(const kni_gpu *g);
void kni_gpu_recording_unit(kni_gpu *g, const kn_record *r, uint32_t mark, bool scheduled);
void kni_gpu_recording_launch(kni_gpu *g, const kni_gpu_kernel *k, const kni_launch_shape *shape,
                              const void *params);
/* Where the numbers of the launch just made, of a schedule, come from. */
void kni_gpu_recording_sources(kni_gpu *g, const kni_sched_kernel *k);
/* The same for a launch of one record that no schedule made; the sources are all that change. */
void kni_gpu_recording_numbers(kni_gpu *g, const kni_sched_source *sources, uint32_t n);
/* It will not be kept. */
void kni_gpu_recording_spoil(kni_gpu *g, kni_gpu_why why);

/* ---- inputs that move (gpu_moving.c) */
/* Notes where the inputs are; moved[0 .. n - 1] are those that may be copied, and were elsewhere the last time or are results that came
   back to where the last one was by chance. */
void kni_gpu_moving_note(kni_gpu_plan *plan, const kni_plan_run *run, int32_t *moved, int32_t *n);
/* Before the driver records: copies of these, which the plan reads then. False without memory. */
bool kni_gpu_moving_begin(kni_gpu *g, kni_gpu_recording *r, const kni_plan_run *run, const int32_t *moved,
                          int32_t n);
/* When it records: the copies belong to the recording. */
void kni_gpu_moving_adopt(kni_gpu *g, kni_gpu_recording *r);
/* The copies go, after the plan ran or, begun false, before it does. */
void kni_gpu_moving_end(kni_gpu_plan *plan, bool begun);
/* Before a replay. */
bool kni_gpu_moving_bring(kni_gpu *g, const kni_gpu_recording *r, const kni_plan_run *run);

/* ---- plans */
/* Logs why the plan is not replayed where KN_FUSION_LOG asks for it, each reason once; `about`: the tensor that is to blame, NULL:
   the record that runs. */
void kni_gpu_plan_tell(kni_gpu_plan *plan, const kni_plan_run *run, kni_gpu_why why, const kni_tensor *about);
kn_status kni_gpu_plan_begin(kni_gpu *g, const kni_plan_run *run);
kn_status kni_gpu_plan_end(kni_gpu *g, const kni_plan_run *run);
/* KN_ERROR_UNSUPPORTED where no recording fits; nothing was done then. */
kn_status kni_gpu_plan_replay(kni_gpu *g, const kni_plan_run *run);
uint32_t kni_gpu_recording_modes(void);
/* It was used just now. */
void kni_gpu_recording_touch(kni_gpu_recording *r);

/* The recording goes; its memory becomes the pool's, what is in use the users'. */
void kni_gpu_recording_free(kni_gpu_recording *r);
/* All of them. */
void kni_gpu_recordings_free(kni_gpu *g);
/* The same at the end of the device: plans live on without it. */
void kni_gpu_recordings_close(kni_gpu *g);

/* ---- numbers (gpu_numbers.c) */
/* The numbers of a unit that are no part of a plan's key, in a fixed order: its length, a copy, or whether they are those
   of the copy; *tracked: those that schedules have sources for may be others. */
uint32_t kni_gpu_numbers_bytes(const kn_record *const *records, int32_t n);
void kni_gpu_numbers_copy(const kn_record *const *records, int32_t n, void *to);
bool kni_gpu_numbers_same(const kn_record *const *records, int32_t n, const void *from, bool *tracked);

#endif
