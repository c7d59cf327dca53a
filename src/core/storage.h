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
        8 /* the value is still to be computed: data is NULL until the queue that owes it runs */
};

typedef struct kni_storage {
    _Atomic int32_t references;
    uint32_t flags;
    void *data;
    size_t bytes;      /* of data */
    size_t allocation; /* of header and data together, 0 when wrapped */
    void (*release)(void *context);
    void *context;
} kni_storage;

/* Uninitialised memory with one reference, NULL when there is none. */
kni_storage *kni_storage_new(size_t bytes);
kni_storage *kni_storage_wrap(void *data, size_t bytes, void (*release)(void *), void *context);
/* Memory of a device: release(context) gives it back when the last tensor lets go. It may be written in place. */
kni_storage *kni_storage_device(void *data, size_t bytes, void (*release)(void *), void *context);
/* A promise of so many bytes, which every view may refer to before they exist. NULL without memory. */
kni_storage *kni_storage_promise(size_t bytes);
/* Keeps the promise with the memory of `source`, from its first byte on; takes one reference of it over. */
void kni_storage_fulfil(kni_storage *promise, kni_storage *source);
void kni_storage_destroy(kni_storage *s);

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
           !(s->flags & (KNI_STORAGE_READ_ONLY | KNI_STORAGE_WRAPPED));
}

#endif
