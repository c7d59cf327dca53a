/* What the CUDA and the HIP driver share: a kni_driver over the functions of runtime_api.h. Which libraries those come from, how kernels
   are compiled and what the texts of failures name is each one's own (kni_runtime_kind). */
#ifndef KNI_RUNTIME_H
#define KNI_RUNTIME_H

#include "backend/gpu/driver.h"
#include "backend/runtime/runtime_api.h"

enum {
    KNI_RUNTIME_UPLOAD_BYTES = 2 << 20, /* of a slot */
    KNI_RUNTIME_UPLOAD_SLOTS = 16,
    KNI_RUNTIME_DOWNLOAD_BYTES = 4 << 20,
    KNI_RUNTIME_DOWNLOAD_SLOTS = 2,
    KNI_RUNTIME_PENDING = 256,
    KNI_RUNTIME_ARGUMENTS = KNI_IR_MAX_BINDINGS + 2
};

typedef struct kni_runtime kni_runtime;
typedef struct kni_runtime_ahead kni_runtime_ahead;

/* How a text is compiled for the device at hand. */
typedef struct kni_runtime_options {
    const kni_runtime_compiler_api *compiler;
    char architecture[64]; /* an option of the list */
    const char *list[4];
    int n;
    int (*code_bytes)(void *program, size_t *bytes); /* of the image that the device loads */
    int (*code)(void *program, char *image);
} kni_runtime_options;

/* What is each one's own. */
typedef struct kni_runtime_kind {
    const char *device;           /* "cuda": of device strings, and of files in the cache */
    const char *name;             /* "CUDA" */
    const char *compiler;         /* "NVRTC" */
    const char *tool;             /* the program that lists who uses a GPU */
    const char *hides;            /* the variable that hides GPUs */
    const char *profile, *graphs; /* variables of Kiln */
    int compilers;                /* how many calls of it run at once */
    uint64_t most_items;          /* invocations of a launch along one axis; 0: no bound */
    size_t bytes;                 /* of the struct that begins with a kni_runtime */
    /* Names, limits and caps of the device `number`; nothing is failed. */
    void (*describe)(kni_runtime *rt);
    /* Whether the library is made for it, and its compiler is there. */
    kn_status (*check)(kni_runtime *rt);
    kn_status (*options)(kni_runtime *rt, kni_runtime_options *o);
    /* Frees what is not the runtime's own, before the stream ends; NULL: nothing is. */
    void (*close)(kni_runtime *rt);
} kni_runtime_kind;

/* A piece of pinned memory, and the event after the last copy that used it. */
typedef struct kni_runtime_slot {
    char *memory;
    void *event;
    bool busy;
    uint64_t turn; /* when it was last given away */
} kni_runtime_slot;

struct kni_runtime {
    kni_driver driver;
    const kni_runtime_kind *kind;
    const kni_runtime_api *api;
    char name[24];
    int device;
    uint32_t shared_most; /* of a workgroup that asks for it */
    void *context, *stream;
    uint64_t forks; /* of the process when it was opened */
    bool lost;
    bool recording;
    kni_recording *noted; /* while recording: what it has so far */
    int64_t
        recordings; /* that there are, with the one that is made: their graphs hold functions, plans and memory */
    uint64_t written[2]; /* by the launch that follows */
    bool written_known;
    char lost_text[200];
    kni_runtime_slot upload[KNI_RUNTIME_UPLOAD_SLOTS], download[KNI_RUNTIME_DOWNLOAD_SLOTS];
    int upload_slot;
    size_t upload_used;
    uint64_t turns;
    /* Memory that was freed while recording: freeing waits for the device, which a recording stream must not. */
    void *pending[KNI_RUNTIME_PENDING];
    int n_pending;
    struct kni_runtime_profile *profile; /* runtime_profile.c; NULL: nobody asks */
    kni_runtime_ahead *ahead;            /* runtime_ahead.c; NULL: nothing was compiled ahead so far */
};

struct kni_module {
    char name[48];
    void *module, *function;
    uint32_t threads_most;
    uint32_t shared_static, shared_dynamic; /* bytes; dynamic: what it may ask for so far */
};

/* Opens device `number`; NULL after a failure. The driver's close ends it. With `api` NULL it fails, and the caller has said why. */
kni_runtime *kni_runtime_open(const kni_runtime_kind *kind, const kni_runtime_api *api, int32_t number);
/* "cuda:1  name of the device", false where there is none. `rt` holds nothing yet but kind and functions; `api` NULL: nothing
   is there. */
bool kni_runtime_describe(kni_runtime *rt, int32_t number, char *text, size_t bytes);

/* ---- for the files of the drivers */
static inline kni_runtime *kni_runtime_of(kni_driver *d) { return (kni_runtime *)d->self; }
static inline kni_runtime_address kni_runtime_at(const void *memory, size_t offset)
{
    return (kni_runtime_address)(uintptr_t)memory + offset;
}

/* Whether the process is the one that opened it. */
bool kni_runtime_ours(const kni_runtime *rt);
/* Whether a recording may hold a function of a module, a plan of a library or scratch memory: none of it may go then. */
static inline bool kni_runtime_is_held(const kni_runtime *rt) { return rt->recordings > 0; }
/* Before each call: the context is made current; a lost device and a forked process are failures. */
kn_status kni_runtime_enter(kni_runtime *rt);
/* The same for what cannot be recorded. */
kn_status kni_runtime_enter_outside(kni_runtime *rt, const char *doing);
/* A result as a status with the failure told; results that end the context mark the device as lost. */
kn_status kni_runtime_result(kni_runtime *rt, int result, const char *doing);
/* Only marks the device as lost where the result says so. */
void kni_runtime_note(kni_runtime *rt, int result, const char *doing);
/* An attribute of the device, 0 where it has none. */
int kni_runtime_attribute(kni_runtime *rt, int number);
/* What it is called; notes how much memory it has. */
void kni_runtime_model(kni_runtime *rt, char *model, size_t bytes);

kn_status kni_runtime_upload(kni_driver *d, void *to, size_t offset, const void *from, size_t bytes);
kn_status kni_runtime_download(kni_driver *d, void *to, const void *from, size_t offset, size_t bytes);
void kni_runtime_staging_free(kni_runtime *rt);

kni_module *kni_runtime_compile(kni_driver *d, const char *text, size_t bytes, const char *entry);
void kni_runtime_unload(kni_driver *d, kni_module *m);
/* Any arguments, as the entry takes them. */
kn_status kni_runtime_launch_arguments(kni_runtime *rt, kni_module *m, const kni_launch_shape *shape,
                                       void **arguments);
kn_status kni_runtime_launch(kni_driver *d, kni_module *m, const kni_launch_shape *shape,
                             void *const *buffers, uint32_t n_buffers, const void *params,
                             uint32_t param_bytes);

kn_status kni_runtime_record_begin(kni_driver *d);
kni_recording *kni_runtime_record_end(kni_driver *d);
kn_status kni_runtime_replay(kni_driver *d, kni_recording *recording);
kn_status kni_runtime_record_params(kni_driver *d, kni_recording *recording, uint32_t launch,
                                    const void *params, uint32_t param_bytes);
void kni_runtime_record_free(kni_driver *d, kni_recording *recording);
/* A launch was captured, or one of nothing asked for. */
void kni_runtime_record_launch(kni_runtime *rt, const kni_module *m, const kni_launch_shape *shape,
                               void *const *buffers, uint32_t n_buffers, uint32_t param_bytes);
/* Around a piece of work, while recording: which memory it reads and writes. */
void kni_runtime_record_before(kni_runtime *rt);
void kni_runtime_record_after(kni_runtime *rt, void *const *reads, int n_reads, void *const *writes,
                              int n_writes);
/* At the end of the device: nothing is recorded any more. */
void kni_runtime_record_close(kni_runtime *rt);
void kni_runtime_record_writes(kni_driver *d, const uint64_t *written);

/* What the pieces of work of a recording read and write (runtime_spread.c): all that were put on the stream between the two
   calls are one. What is not named depends on all before it, and all after it on that. */
typedef struct kni_runtime_spread kni_runtime_spread;
kni_runtime_spread *kni_runtime_spread_new(void);
void kni_runtime_spread_begin(kni_runtime *rt, kni_runtime_spread *s);
void kni_runtime_spread_end(kni_runtime *rt, kni_runtime_spread *s, void *const *reads, int n_reads,
                            void *const *writes, int n_writes);
/* Gives the graph the edges that follow from it in place of its single line; leaves it where that fails. */
void kni_runtime_spread_edges(kni_runtime *rt, kni_runtime_spread *s, void *graph);
void kni_runtime_spread_free(kni_runtime_spread *s);
/* The node that the stream's next work would wait for, NULL: none or several. */
void *kni_runtime_latest_node(kni_runtime *rt);

/* Around each piece of work; the second only where the first says so. */
void kni_runtime_profile_open(kni_runtime *rt);
bool kni_runtime_profile_begin(kni_runtime *rt);
void kni_runtime_profile_end(kni_runtime *rt, const char *kernel);
size_t kni_runtime_profile_report(kni_driver *d, char *text, size_t bytes);
void kni_runtime_profile_free(kni_runtime *rt);

#endif
