/* What each thread has of its own: scopes, free slots, sites, the record of who took what, small blocks. */
#ifndef KNI_THREAD_STATE_H
#define KNI_THREAD_STATE_H

#include "core/allocator.h"
#include "core/platform.h"
#include <kn/base.h>
#include <stdatomic.h>

struct kn_op;

#ifdef KN_FREESTANDING
enum { KNI_SITE_RING = 16, KNI_TAKEN_RING = 16, KNI_OWNED_RING = 4, KNI_SLOT_CACHE = 16 };
#else
enum { KNI_SITE_RING = 4096, KNI_TAKEN_RING = 1024, KNI_OWNED_RING = 4096, KNI_SLOT_CACHE = 64 };
#endif

/* Every op that takes an operand writes one, so it is small. */
typedef struct kni_taken {
    uint64_t bits; /* the handle that was taken; KNI_TAKEN_ENDED: by a function that ends what it holds */
    union {
        uint64_t serial; /* of the call that took it */
        const char *
            site; /* of a function that ends: its line, which is not in the ring, NULL until it has returned */
    } call;
    const char *by; /* its name without kn_ */
} kni_taken;
#define KNI_TAKEN_ENDED (UINT64_C(1) << 63) /* in a handle: poison, which nobody takes */

/* A tensor that the thread has made an owned one, and the number of the call in which it did. */
typedef struct kni_owned {
    uint64_t bits;
    uint32_t call;
} kni_owned;

/* A tensor that ended with its scope. */
typedef struct kni_ended {
    uint64_t bits;     /* its handle */
    uint64_t serial;   /* of the call that ended the scope */
    uint64_t made;     /* of the call that made the tensor */
    const char *site;  /* of that call, NULL while it is in the ring of sites */
    const char *begun; /* where the scope began, NULL: not known */
} kni_ended;

/* The first number of live tensors at which growth is looked for; a small table never gets there. */
#ifdef KN_FREESTANDING
enum { KNI_GROWTH_WATCH = INT32_MAX, KNI_GROWTH_SITES = 1 };
#else
enum { KNI_GROWTH_WATCH = 10000, KNI_GROWTH_SITES = 16 };
#endif

#ifdef KN_FREESTANDING
enum { KNI_ERROR_TEXT = 160, KNI_ERROR_LINE = 224 };
#else
enum { KNI_ERROR_TEXT = 480, KNI_ERROR_LINE = 640 };
#endif

/* One failure; core/error.c alone writes it. */
typedef struct kni_failure {
    uint64_t number; /* counts the failures of the process */
    uint32_t thread; /* whose failure it is */
    kn_status code;
    bool placed;               /* the text ends with the line of the call */
    bool told;                 /* the log has heard of it; known in the pool alone */
    char text[KNI_ERROR_LINE]; /* at most KNI_ERROR_TEXT of it are the message */
} kni_failure;

/* What messages need to know of the past. Apart from the thread's own block, which must be small: a library that
   is loaded at run time gets little thread-local memory. */
typedef struct kni_history {
    const char *sites[KNI_SITE_RING];
    uint64_t site_serials[KNI_SITE_RING];
    kni_taken taken[KNI_TAKEN_RING];
    uint32_t taken_next;
    kni_ended ended[KNI_TAKEN_RING];
    uint32_t ended_next;
    kni_owned owned[KNI_OWNED_RING]; /* the latest */
    uint64_t n_owned;                /* of all times */
    uint64_t owned_waiting;          /* from this one on they wait for the line of their call */
    uint32_t taken_waiting;          /* from this one on entries of taken do */
    uint32_t owning_calls;
    const char *grown[KNI_GROWTH_SITES]; /* lines that a warning of growth has named */
    uint64_t pending_number;             /* of the failure that pending_error refers to */
} kni_history;

/* Somebody who wants to know of the records that the thread makes, but for those that a lowering makes inside another:
   in: the handles that were given for its operands. */
struct kn_record;
typedef struct kni_capture {
    void (*note)(struct kni_capture *capture, const struct kn_record *record, const kn_tensor *in);
    void (*abandon)(struct kni_capture *capture); /* what it began in ends without it */
} kni_capture;

/* What a thread carries from call to call. Whoever runs something else in between (a composite, a lowering, a queue, a gradient, a
   segment again) pushes it and pops it whole. */
typedef struct kni_context {
    const char *call_name;     /* outermost composite, NULL outside */
    kn_device route;           /* where ops run while a record is being lowered, NULL = by operand */
    kni_capture *capture;      /* NULL: none */
    int32_t no_grad;           /* depth of kn_no_grad_begin */
    int32_t depth_of_lowering; /* guards against rows that lower to each other */
    uint8_t autocast;          /* KN_BF16, KN_F16 or 0 */
    uint8_t order; /* 1 + the kni_order that results are promised whatever they would choose; 0: none */
    int32_t depth; /* how often it was pushed */
    kn_device call_device;   /* of the first tensor a composite saw: what it makes belongs there */
    kn_device current;       /* for new tensors, NULL = default */
    kn_device replay_device; /* draws the numbers from *replay_counter on again, NULL = none */
    uint64_t replay_key;
    uint64_t *replay_counter; /* whoever draws inside advances the same one: a pop does not set it back */
} kni_context;

typedef struct kni_thread {
    uint32_t id;          /* from 1 */
    _Atomic int64_t live; /* tensors made less tensors freed by this thread; only it writes */
    int64_t watch;        /* of live tensors: at so many the thread's scopes are looked at for growth */
    struct kni_thread *next_thread; /* in the list of threads that have state */
    bool started;
    bool internal;     /* a worker of the library's own team, which kn_shutdown ends itself */
    uint64_t serial;   /* of the latest call of this thread */
    uint64_t placed;   /* tensors of calls up to this one know their line */
    uint32_t runs_for; /* while a queue runs: the thread whose calls it holds, 0: none; UINT32_MAX: several */
    kni_context context;
    int32_t depth_of_calls; /* ops, uses of objects and releases that this thread is in the middle of */
    uint32_t pending_error; /* 1 + index of an error without a site yet, 0 = none */
    bool line_wanted;       /* something in the history waits for the line of the call that is in progress */
    const char *ends_by;    /* the function that ends tensors for the user, NULL: none; see KNI_ENDS */
    uint32_t last_error;    /* 1 + index of the latest failure */
    uint64_t excused;       /* the number of a failure that kni_error_excuse() took back */
    uint32_t *scopes;       /* head slot of each scope's list; [0] is the root */
    uint32_t root_scope;    /* used while scopes is NULL */
    uint32_t depth, scope_capacity;
    uint32_t free_slots[KNI_SLOT_CACHE];
    uint32_t n_free_slots;
    kni_small_cache small;
    kni_history *history; /* NULL without memory for it: messages then name no lines */
    kni_failure *latest;  /* kn_last_error() of this thread; NULL without memory. It outlives kn_shutdown */
} kni_thread;

extern KNI_THREAD_LOCAL kni_thread kni_this_thread;
void kni_thread_start(kni_thread *t);
/* The tensors alive in the process: the sum over all threads, ended ones too. */
int64_t kni_threads_live(void);
/* Begins the end of the library on the calling thread: other threads wait before they use it for the first time. Answers how
   many threads of the program have used the library and run still; above 0 nothing has begun. */
int32_t kni_threads_close(void);
void kni_threads_reopen(void);

/* A counter with one writer needs no locked instruction. */
static inline int64_t kni_thread_count(kni_thread *t, int64_t change)
{
    int64_t now = atomic_load_explicit(&t->live, memory_order_relaxed) + change;
    atomic_store_explicit(&t->live, now, memory_order_relaxed);
    return now;
}

static inline kni_thread *kni_thread_self(void)
{
    kni_thread *t = &kni_this_thread;
    if (KNI_UNLIKELY(!t->started)) kni_thread_start(t);
    return t;
}

/* What is changed between the two ends with the pop. */
static inline kni_context kni_context_push(kni_thread *t)
{
    kni_context before = t->context;
    t->context.depth++;
    return before;
}
static inline void kni_context_pop(kni_thread *t, const kni_context *before)
{
    kni_capture *inside = t->context.capture;
    t->context = *before;
    if (KNI_UNLIKELY(inside && inside != before->capture)) inside->abandon(inside);
}

/* Frees what the calling thread holds but its latest failure, which the user may still look at; it may start again afterwards. */
void kni_thread_end_self(void);
/* Whether the thread's number was given out before the latest kn_shutdown. */
bool kni_thread_is_older(uint32_t id);

/* The line of the call that has just returned, for what it owned and ended. */
void kni_line_arrived(kni_thread *t, const char *site) KNI_COLD;

/* The site noted for a call, or for the public call that it was a part of, at most so many calls later; NULL when forgotten. */
enum { KNI_SITE_REACH = 64 };
const char *kni_site_of(uint64_t serial);
/* The same with another reach, for calls whose public call may be made of thousands. */
const char *kni_site_within(uint64_t serial, uint64_t reach);

#endif
