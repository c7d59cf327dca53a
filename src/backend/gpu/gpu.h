/* The backend that every device with kernels compiled at run time shares: what its files know of each other. */
#ifndef KNI_GPU_H
#define KNI_GPU_H

#include "backend/gpu/driver.h"
#include "backend/gpu/gpu_lock.h"
#include "core/error.h"
#include "core/storage.h"
#include "ops/record.h"

enum {
    KNI_GPU_CELLS = 64,    /* fault cells that may be waited for at once */
    KNI_GPU_CLASSES = 160, /* sizes of blocks: four to each power of two */
    KNI_GPU_OPERANDS = 96, /* buffers of one launch */
    KNI_GPU_MEMOS = 64     /* schedules of single records that are remembered */
};

typedef struct kni_gpu kni_gpu;

/* Memory of the device. A storage's `data` is its block. */
typedef struct kni_gpu_block {
    kni_gpu *gpu;
    void *memory; /* the driver's; NULL once the device is lost */
    size_t bytes;
    uint32_t class_number;
    uint64_t faults; /* bit n: the value depends on fault cell n of this epoch */
    uint64_t epoch;
    uint64_t born;                   /* counts how often blocks were taken: another number, another value */
    kn_tensor error;                 /* the fault that was found in it, 0 bits: none */
    struct kni_gpu_block *companion; /* what was computed beside it, NULL: nothing; ends with it */
    uint64_t companion_key;          /* says of what it was computed */
    struct kni_gpu_block *previous, *next; /* among the blocks in use; among the free ones of a class */
    struct kni_gpu_recording *recording;   /* whose launches use it, NULL: none; it goes back there */
    struct kni_gpu_block *sibling;         /* another one of the recording */
    bool live;                             /* in use */
    /* Values from the host have blocks of their own, so that they are where they were whatever others take meanwhile:
       recordings depend on it. */
    bool uploaded;
} kni_gpu_block;

/* A launch that may have reported a fault. */
typedef struct kni_gpu_cell {
    void *memory;          /* two int64: whether, and the value */
    const kn_op *row;      /* NULL: the cell is free */
    const char *name;      /* what the public call was named */
    uint64_t serial, uses; /* uses: how many launches had it so far */
    uint32_t thread;
} kni_gpu_cell;

typedef struct kni_gpu_kernel kni_gpu_kernel;
typedef struct kni_gpu_recording kni_gpu_recording;

struct kni_gpu {
    kn_backend backend; /* first, so that the backend's address is the device's */
    kni_driver *driver;
    kni_gpu_mutex lock; /* recursive: lowering comes back */
    uint32_t forks;     /* of the process when it was opened: a forked child must not touch the device */
    bool closed;        /* to be freed with its last block */
    bool lost;
    bool tf32;            /* products of f32 may round their operands to 10 bits */
    uint8_t convolutions; /* how they are made where that can be chosen: of gpu_conv.h */
    uint8_t attention;    /* likewise, of attention_device.h */
    uint32_t n_told;
    uint64_t told[32]; /* kinds of attention of which the log said how they are made */
    char lost_text[256];
    /* memory */
    kni_gpu_block *live;
    kni_gpu_block *free_blocks[2][KNI_GPU_CLASSES]; /* and those that values of the host come in */
    bool uploading;                                 /* what is taken now is for one of them */
    int64_t live_blocks, bytes_now, bytes_peak, bytes_cached, limit, cache_limit;
    bool
        exact; /* blocks of the size asked for, none kept: checkers of memory see every access that is out of bounds */
    /* faults */
    kni_gpu_cell cells[KNI_GPU_CELLS];
    char *cell_memory;                      /* of all of them, where the driver's memory has parts */
    uint64_t cells_waiting, cells_reserved; /* bit n: a launch may report to it; it belongs to a recording */
    kn_status cells_status;                 /* of the latest reading of the cells */
    uint64_t epoch;
    uint64_t births;
    /* kernels */
    kni_gpu_kernel **kernels;
    uint32_t n_kernels, kernel_room;
    struct kni_gpu_memo *memos[KNI_GPU_MEMOS];
    uint64_t launches, compiles, fallbacks;
    /* recordings (gpu_recording.c) */
    kni_gpu_recording *recording;       /* the one that is being made, NULL: none */
    bool ending;                        /* it is handed to the driver just now */
    kni_gpu_recording *newest, *oldest; /* of all plans, by use */
    struct kni_gpu_plan *plans;         /* that have had one */
    int64_t bytes_recorded;             /* of their blocks that are not in use */
    int64_t bytes_held, record_limit;   /* of all their blocks, and the most of them */
    uint64_t recorded, replays;
};

static inline kni_gpu *kni_gpu_of(kn_backend *b) { return (kni_gpu *)b; }
static inline void kni_gpu_lock(kni_gpu *g) { kni_gpu_mutex_lock(&g->lock); }
static inline void kni_gpu_unlock(kni_gpu *g) { kni_gpu_mutex_unlock(&g->lock); }
static inline kni_gpu_block *kni_gpu_block_of(const kni_storage *s) { return s->data; }
static inline bool kni_gpu_contiguous(const kni_tensor *x)
{
    return kni_is_contiguous(x->type.rank, x->type.dims, x->strides);
}
static inline size_t kni_gpu_element_bytes(const kni_tensor *x) { return kni_bytes_of(x->type.dtype); }

/* KN_OK while the device can be used; else the failure told says what to do. */
kn_status kni_gpu_usable(kni_gpu *g);
/* Takes away from the caps what a text like "no-i64,buffers=8" names (gpu_caps.c); NULL: nothing. */
kn_status kni_gpu_restrict(kni_ir_caps *caps, const char *text);
/* Looks at what the driver answered: a dead context makes the device lost. Gives the status back. */
kn_status kni_gpu_checked(kni_gpu *g, kn_status s);

/* ---- memory (gpu_memory.c). NULL after a failure. */
kni_gpu_block *kni_gpu_take(kni_gpu *g, size_t bytes);
void kni_gpu_give(kni_gpu_block *block);
void kni_gpu_trim(kni_gpu *g);
/* Waits for the device and gives back all that is kept for later, recordings too. */
kn_status kni_gpu_make_room(kni_gpu *g);
/* Another block as large, in use, without making room for it; NULL without any failure told. */
kni_gpu_block *kni_gpu_take_another(const kni_gpu_block *block);
/* For recordings: a block that is in use again; one that is no recording's any more. */
void kni_gpu_revive(kni_gpu_block *block);
void kni_gpu_release_block(kni_gpu_block *block);
/* A storage around a block in use, which it gives back; NULL without memory. */
kni_storage *kni_gpu_storage(kni_gpu_block *block, const kni_tensor *y);
/* Whether a result may be written over the value, which is x's storage and dies here: nobody else needs it. Asked
   before anything is written in place, since a recording that does so may only be replayed where it holds again. */
bool kni_gpu_may_overwrite(kni_gpu *g, const kni_storage *x);
/* Frees a closed device, once no block of it is in use. */
void kni_gpu_destroy(kni_gpu *g);
/* Fresh contiguous memory for a result: row-major, which kni_gpu_arrange puts right where it was promised in another order; or in
   the order that it was promised in, for kernels that write by the result's strides. */
kn_status kni_gpu_allocate(kni_gpu *g, kni_tensor *y);
kn_status kni_gpu_allocate_promised(kni_gpu *g, kni_tensor *y);
kn_status kni_gpu_write(kn_backend *b, uint32_t id, const void *data);
kn_status kni_gpu_read(kn_backend *b, uint32_t id, void *buffer);
/* Reading without waiting (gpu_fetch.c), for drivers that can. */
kn_status kni_gpu_read_begin(kn_backend *b, uint32_t id, void *buffer, uint64_t *ticket);
kn_status kni_gpu_read_ready(kn_backend *b, uint64_t ticket, bool wait, bool *ready);
/* The block of an operand's memory. A number that lies in its slot gets a block of its own, named by `made` too, which
   the caller gives back (NULL: none was made). */
kn_status kni_gpu_operand(kni_gpu *g, const kni_tensor *x, kni_gpu_block **block, kni_gpu_block **made);
/* Counts and sizes as text: the report "memory". */
void kni_gpu_memory_report(kni_gpu *g, kn_report *report);

/* ---- faults (gpu_fault.c) */
/* The faults that the value of x may have; KN_OK, or the status of the failure when one has been found. */
kn_status kni_gpu_faults_of(kni_gpu *g, const kni_tensor *x, uint64_t *faults);
void kni_gpu_note_faults(kni_gpu *g, kni_tensor *y, uint64_t faults);
/* The record's results depend on what its operands depend on, and on the cell (-1: none) of its launch. */
void kni_gpu_finish(kni_gpu *g, const kn_record *r, int cell);
/* A launch may report to the cell what went wrong in the call with this serial. */
void kni_gpu_blame(kni_gpu *g, int cell, uint64_t serial);
/* Memory for every cell, so that none is needed later; false without it. */
bool kni_gpu_ready_cells(kni_gpu *g);
/* A cell for a launch of the record; -1 after a failure. */
int kni_gpu_take_cell(kni_gpu *g, const kn_record *r);
/* Looks at all cells, after what was queued; the failure told is that of the first fault. */
kn_status kni_gpu_settle_faults(kni_gpu *g);
/* The same for `some` of the cells, whose contents are given: they are free again, and what depends on a bad one carries its fault. */
kn_status kni_gpu_settle_some(kni_gpu *g, uint64_t some, const int64_t (*cells)[2]);
void kni_gpu_free_cells(kni_gpu *g);

/* ---- kernels (gpu_kernel.c) */
uint64_t kni_gpu_hash(const void *bytes, size_t n);
/* Writes a kernel to the folder that KN_KERNEL_FOLDER names, if it does. */
void kni_gpu_dump(const kni_gpu *g, const char *name, const char *text, size_t bytes);
enum { KNI_GPU_KEY = 4096 };
struct kni_gpu_kernel {
    uint64_t hash;
    kni_module *module;
    kni_ir_param *params; /* of the numbers, for who fills them in */
    uint32_t n_params, param_bytes, n_buffers, workgroup;
    bool reports;
    uint32_t reads_back; /* bit n: it reads what it writes to buffer n */
    uint64_t written[2]; /* bit n: it writes buffer n */
    uint32_t key_bytes;
    unsigned char key[]; /* the whole of it, compared after the hash */
};
/* NULL when there is none yet. */
kni_gpu_kernel *kni_gpu_find(kni_gpu *g, const void *key, uint32_t key_bytes);
/* Legalises, emits and compiles; frees the IR. NULL after a failure. */
kni_gpu_kernel *kni_gpu_add(kni_gpu *g, const void *key, uint32_t key_bytes, kni_ir *ir);
/* The same, but where it reads back one of the `narrow` buffers it is only noted (module NULL): the caller takes another. */
kni_gpu_kernel *kni_gpu_add_unless(kni_gpu *g, const void *key, uint32_t key_bytes, kni_ir *ir,
                                   uint32_t narrow);
/* Bit n: it reads what it writes to buffer n. */
uint32_t kni_gpu_reads_back(const kni_ir *ir);
void kni_gpu_free_kernels(kni_gpu *g);
/* Runs it over blocks; `cell` -1: none. */
kn_status kni_gpu_launch(kni_gpu *g, const kni_gpu_kernel *k, const kni_launch_shape *shape,
                         kni_gpu_block *const *blocks, uint32_t n_blocks, int cell, const void *params);
/* How many workgroups an item kernel takes for so many items. */
kni_launch_shape kni_gpu_item_shape(const kni_gpu *g, const kni_gpu_kernel *k, int64_t items);

/* ---- recordings (gpu_recording.c) */
/* Why a plan is not replayed: gpu_plan_log.c has the texts. */
typedef enum kni_gpu_why {
    KNI_GPU_WHY_NOTHING,
    KNI_GPU_WHY_OWN_LOWERING,
    KNI_GPU_WHY_RANDOM,
    KNI_GPU_WHY_FAILED,
    KNI_GPU_WHY_HOST_MEMORY,
    KNI_GPU_WHY_NUMBER,
    KNI_GPU_WHY_UPLOAD,
    KNI_GPU_WHY_READ,
    KNI_GPU_WHY_WAIT,
    KNI_GPU_WHY_MEMORY,
    KNI_GPU_WHY_FAULTS,
    KNI_GPU_WHY_THREAD,
    KNI_GPU_WHY_DRIVER,
    KNI_GPU_WHY_ROOM,
    KNI_GPU_WHY_RESULT,
    KNI_GPU_WHY_SHARED_RESULT,
    KNI_GPU_WHY_INPUT,
    KNI_GPU_WHY_WRITTEN,
    KNI_GPU_WHY_HELD,
    KNI_GPU_WHY_MODES,
    KNI_GPU_WHY_NUMBERS,
    KNI_GPU_WHY_GIVEN_UP,
    KNI_GPU_WHYS
} kni_gpu_why;
/* Runs what a recording has so far and goes on without it, because somebody waits or the host is asked; nothing where
   there is none. */
kn_status kni_gpu_flush_recording(kni_gpu *g, kni_gpu_why why);
static inline kn_status kni_gpu_flush(kni_gpu *g, kni_gpu_why why)
{
    return KNI_LIKELY(!g->recording) ? KN_OK : kni_gpu_flush_recording(g, why);
}
/* The same where another thread than the recording's comes. */
void kni_gpu_flush_foreign(kni_gpu *g);
/* Locks. What another thread is recording is run first. */
static inline void kni_gpu_enter(kni_gpu *g)
{
    kni_gpu_lock(g);
    if (KNI_UNLIKELY(g->recording != NULL)) kni_gpu_flush_foreign(g);
}

/* ---- the steps that a record is tried with. KN_ERROR_UNSUPPORTED without a text: the step does not apply. */
kn_status kni_gpu_view(kni_gpu *g, const kn_record *r);
kn_status kni_gpu_group(kni_gpu *g, const kni_group *group);
kn_status kni_gpu_scheduled(kni_gpu *g, const kn_record *r);
kn_status kni_gpu_native(kni_gpu *g, const kn_record *r);
/* Whether kni_gpu_native has anything for the row. */
bool kni_gpu_has_native(const kn_op *row);
kn_status kni_gpu_reference(kni_gpu *g, const kn_record *r);
/* x's elements in row-major order in a block of their own (given back by kni_gpu_give), whatever its strides. */
kn_status kni_gpu_gather(kni_gpu *g, kni_tensor *x, kni_gpu_block **block);
/* The same into memory that is there: `to` from its first element on. */
kn_status kni_gpu_copy_strided(kni_gpu *g, kni_tensor *x, kni_gpu_block *to);
/* The same into a part of the block that begins at element `start` and goes by `places` along the axes of x. */
kn_status kni_gpu_place(kni_gpu *g, kni_tensor *x, kni_gpu_block *to, int64_t start, const int64_t *places);
/* The same of several tensors into parts that do not overlap, by as few launches as will do. places NULL: the part is row-major. */
typedef struct kni_gpu_part {
    kni_tensor *x;
    int64_t start;
    const int64_t *places;
} kni_gpu_part;
kn_status kni_gpu_place_all(kni_gpu *g, const kni_gpu_part *parts, int n, kni_gpu_block *to);

/* Brings the record's results into the order that they were promised in; nothing where they lie so. */
kn_status kni_gpu_arrange(kni_gpu *g, const kn_record *r);

/* Only while the driver is profiling. */
void kni_gpu_label(kni_gpu *g, const kn_record *const *records, int32_t n);

kn_support kni_gpu_supports(kn_backend *b, const kn_op *row, kn_dtype dtype, const char **why);

#endif
