/* The counted memory that tensors refer to. */
#ifndef KNI_STORAGE_H
#define KNI_STORAGE_H

#include "core/allocator.h"
#include "core/thread_state.h"
#include <stdatomic.h>

enum {
    KNI_STORAGE_READ_ONLY = 1, /* wrapped memory that may not be written in place */
    KNI_STORAGE_WRAPPED = 2,
    KNI_STORAGE_DEVICE = 4, /* data is the device's name for its memory: no host may follow it */
    KNI_STORAGE_PENDING =
        8, /* the value is still to be computed: data is NULL until the queue that owes it runs */
    KNI_STORAGE_FAILED = 16,   /* it could not be computed; `error` says why */
    KNI_STORAGE_LASTING = 32,  /* its bytes never change again: `forms` holds what was made of them */
    KNI_STORAGE_EXPORTED = 64, /* somebody outside may write to it at any time */
    KNI_STORAGE_PROMISE = 128, /* it was one, or is: its memory is another storage's */
    /* Two counters: uses of the same bytes by ops that can keep a form of them, up to three, and writes after such uses. */
    KNI_STORAGE_USED = 1 << 8,
    KNI_STORAGE_USES = 3 * KNI_STORAGE_USED,
    KNI_STORAGE_WRITTEN = 1 << 12
};

/* Who owes the memory of promises: submit computes all that is owed and keeps or breaks every promise. */
typedef struct kni_debtor {
    void (*submit)(struct kni_debtor *debtor);
} kni_debtor;

typedef struct kni_made_form kni_made_form; /* made_forms.h */

typedef struct kni_storage {
    _Atomic int32_t references;
    _Atomic uint32_t flags; /* those of a promise change when it is kept or broken, after all else */
    void *data;
    size_t bytes;      /* of data */
    size_t allocation; /* of header and data together, 0 when wrapped */
    void (*release)(void *context);
    void *context; /* of a promise that is still owed: the debtor's own */
    union {
        kni_debtor *debtor;             /* of a promise */
        _Atomic(kni_made_form *) forms; /* of a storage that is no promise */
    };
    kn_tensor error; /* the poison of a broken promise */
} kni_storage;

/* Uninitialised memory with one reference, NULL when there is none. */
kni_storage *kni_storage_new(size_t bytes);
kni_storage *kni_storage_wrap(void *data, size_t bytes, void (*release)(void *), void *context);
/* Memory of a device: release(context) gives it back when the last tensor lets go. It may be written in place. */
kni_storage *kni_storage_device(void *data, size_t bytes, void (*release)(void *), void *context);
/* A promise of so many bytes, which every view may refer to before they exist. NULL without memory. */
kni_storage *kni_storage_promise(size_t bytes, kni_debtor *debtor, void *context);
/* Keeps the promise with the memory of `source`, from its first byte on; takes one reference of it over. NULL: there is
   no memory, as with devices that compute nothing. */
void kni_storage_fulfil(kni_storage *promise, kni_storage *source);
/* The storage whose memory it is: that behind a promise that was kept, and behind that one. */
kni_storage *kni_storage_owner(kni_storage *s);
/* For every writer in place, before it writes: what was made of the bytes no longer holds. */
#ifndef KN_FREESTANDING
void kni_storage_written(kni_storage *s);
#else
static inline void kni_storage_written(kni_storage *s) { (void)s; }
#endif
/* Breaks the promise: whoever reads the tensor gets the error. */
void kni_storage_break(kni_storage *promise, kn_tensor error);
void kni_storage_destroy(kni_storage *s);

static inline uint32_t kni_storage_flags(const kni_storage *s)
{
    return atomic_load_explicit(&s->flags, memory_order_acquire);
}

/* The memory is there, or known to be missing, when this returns. */
static inline void kni_storage_wait(kni_storage *s)
{
    if (s && KNI_UNLIKELY(kni_storage_flags(s) & KNI_STORAGE_PENDING)) s->debtor->submit(s->debtor);
}

static inline kni_storage *kni_storage_retain(kni_storage *s)
{
    atomic_fetch_add_explicit(&s->references, 1, memory_order_relaxed);
    return s;
}

static inline void kni_storage_release(kni_storage *s)
{
    /* The only owner needs no locked instruction. */
    if (atomic_load_explicit(&s->references, memory_order_acquire) == 1 ||
        atomic_fetch_sub_explicit(&s->references, 1, memory_order_acq_rel) == 1)
        kni_storage_destroy(s);
}

static inline bool kni_storage_writable(const kni_storage *s)
{
    return atomic_load_explicit(&s->references, memory_order_acquire) == 1 &&
           !(atomic_load_explicit(&s->flags, memory_order_relaxed) &
             (KNI_STORAGE_READ_ONLY | KNI_STORAGE_WRAPPED));
}

#endif
