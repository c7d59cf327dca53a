/* The process-wide table of tensors: slots in chunks that never move, handles checked on each use. */
#ifndef KNI_TABLE_H
#define KNI_TABLE_H

#include "core/error.h"
#include "core/storage.h"
#include "core/thread_state.h"
#include "core/type.h"
#include <kn/tensor.h>

#define KNI_NO_SLOT UINT32_MAX

enum {
    KNI_SLOT_BITS = 23,
    KNI_GENERATION_BITS = 40,
#ifdef KN_FREESTANDING
    KNI_CHUNK_SLOTS = 32,
    KNI_MAX_CHUNKS = 64
#else
    KNI_CHUNK_SLOTS = 1024,
    KNI_MAX_CHUNKS = (1 << KNI_SLOT_BITS) / KNI_CHUNK_SLOTS
#endif
};
#define KNI_GENERATION_MASK ((UINT64_C(1) << KNI_GENERATION_BITS) - 1)

enum {
    KNI_FREE,
    KNI_TEMPORARY,
    KNI_KEPT,
    KNI_OWNED,
    KNI_GONE /* the handle is gone, a tape still reads it */
};

enum {
    KNI_TENSOR_SCALAR = 1,        /* the value is in `inline_value`, there is no storage */
    KNI_TENSOR_REQUIRES_GRAD = 4, /* gradients of a leaf are asked for */
    KNI_TENSOR_PARAM = 8,
    KNI_TENSOR_POISONED = 16, /* found after the op had returned; `error` says what */
    KNI_TENSOR_PLACED = 64,   /* `site` is set, because the ring of sites may forget the call */
    KNI_TENSOR_BOUND = 32 /* a result whose memory is given: contiguous, from the storage's first byte on */
};

struct kni_node;

/* One slot. The leaf backend that executed the producing record sets storage, offset and strides. */
typedef struct kni_tensor {
    _Atomic uint64_t generation; /* of the handle that is valid now */
    _Atomic int32_t references;  /* the handle and every internal use */
    uint8_t state, flags;
    uint16_t made_by;        /* op number */
    uint32_t next, previous; /* in the list of its scope */
    uint32_t scope, thread;
    kni_type type;
    kn_device device;
    kni_storage *storage;
    int64_t offset; /* in elements */
    int64_t strides[KN_MAX_RANK];
    struct kni_node *node; /* of the tape, NULL outside */
    uint32_t node_output;  /* which output of the node this is */
    uint8_t order;   /* kni_order in which a result is promised to lie; its strides say how a value lies */
    uint64_t serial; /* of the call that made it */
    kn_tensor error;
    union {
        double f64;
        float f32;
        int64_t i64;
        unsigned char bytes[8];
    } inline_value;
    const char *site; /* with KNI_TENSOR_PLACED: the line of the call that made it; see kni_tensor_site */
} kni_tensor;

extern kni_tensor *kni_chunks[KNI_MAX_CHUNKS];

static inline kni_tensor *kni_slot(uint32_t index)
{
    return &kni_chunks[index / KNI_CHUNK_SLOTS][index % KNI_CHUNK_SLOTS];
}

static inline uint32_t kni_slot_of(kn_tensor t)
{
    return (uint32_t)(t.bits >> KNI_GENERATION_BITS) & 0x7FFFFF;
}

static inline kn_tensor kni_handle(uint32_t index)
{
    uint64_t g = atomic_load_explicit(&kni_slot(index)->generation, memory_order_relaxed);
    return (kn_tensor){((uint64_t)index << KNI_GENERATION_BITS) | g};
}

/* A new temporary in the thread's scope with one reference and no storage; KNI_NO_SLOT without memory. */
uint32_t kni_tensor_new(kni_thread *t);

/* The slot of a valid handle, or NULL after a failure as op_name's. A poisoned handle gives NULL and
   no new failure: check kni_is_poisoned first. */
kni_tensor *kni_resolve(kn_tensor handle, const char *op_name);
/* NULL without any failure told. */
kni_tensor *kni_peek(kn_tensor handle);

static inline void kni_tensor_retain(kni_tensor *x)
{
    atomic_fetch_add_explicit(&x->references, 1, memory_order_relaxed);
}
/* Gives one reference back; the last one frees storage, tape node and slot. */
void kni_tensor_release(kni_thread *t, uint32_t index);

/* Ends a handle: it becomes stale, what it named lives on while there are other references. */
void kni_tensor_end_handle(kni_thread *t, uint32_t index);
/* Ends a temporary's handle because `by` took it. */
void kni_tensor_take(kni_thread *t, uint32_t index, const char *by);
/* What was taken last was ended by a function whose line comes when it returns. */
void kni_taken_waits(kni_thread *t);
/* Remembers a tensor that is owned from now on, for its line and for the warning of growth. */
void kni_owned_note(kni_thread *t, uint32_t index);
/* Whether kn_shutdown has ended the handle, or something else had before. */
bool kni_handle_is_older(kn_tensor handle);

/* Makes y another name of x's value: type, device, storage and place in the tape. */
void kni_tensor_copy_value(kni_tensor *y, const kni_tensor *x);

/* Scope lists. */
void kni_scope_link(kni_thread *t, uint32_t index, uint32_t depth);
void kni_scope_unlink(kni_thread *t, uint32_t index);
void kni_scope_free_all(kni_thread *t);
/* Forgets all scopes of the thread without ending what is in them. */
void kni_scope_forget_all(kni_thread *t);
/* Ends a scope; `told`: a user's scope, whose tensors are remembered for the message of a later use. */
void kni_scope_end_many(kn_scope scope, kn_tensor *results, int32_t n, bool told);
/* Writes the lines of calls that the ring of sites would forget soon into the tensors that are still in a scope. */
void kni_scope_place(kni_thread *t) KNI_COLD;
/* The line that made a tensor, NULL when it is unknown. Looked up late: noting it in each slot costs every op. */
static inline const char *kni_tensor_site(const kni_tensor *x)
{
    if (x->flags & KNI_TENSOR_PLACED) return x->site;
    return x->thread == kni_this_thread.id ? kni_site_of(x->serial) : NULL;
}
void kni_table_return_slots(kni_thread *t);
/* Ends every handle that is left, and with it all that only handles refer to. */
void kni_table_end_all(kni_thread *t);
/* Gives the table's memory back where nothing refers to a slot any more. Handles of before stay stale for ever. */
void kni_table_free(void);
/* Called when a thread's live tensors reach its watch: warns, once for each line, of a loop that keeps what it makes. */
void kni_growth_seen(kni_thread *t) KNI_COLD;
/* Logs the tensors that are alive, with the line that made each where it is still known. */
void kni_table_list_alive(void);
void kni_table_counters(int64_t *tensors, int64_t *slots);

/* Called with the tape node of a tensor that dies; set by the autodiff decorator. */
extern void (*kni_node_release)(struct kni_node *node);
extern void (*kni_node_retain)(struct kni_node *node);

/* The poison that was found after the op had returned: in the slot, or with the storage that many slots share. */
static inline bool kni_tensor_failed(const kni_tensor *x, kn_tensor *error)
{
    if (KNI_UNLIKELY(x->flags & KNI_TENSOR_POISONED)) {
        *error = x->error;
        return true;
    }
    /* The storage of a param may be replaced at any time; those who read its value look at a copy of the slot. */
    if (KNI_LIKELY((x->flags & KNI_TENSOR_PARAM) || !x->storage ||
                   !(kni_storage_flags(x->storage) & KNI_STORAGE_FAILED)))
        return false;
    *error = x->storage->error;
    return true;
}

/* The strides of a result that lies as it was promised to. */
static inline void kni_promised_strides(kni_tensor *y)
{
#if !defined(KN_FREESTANDING) && !defined(KN_COMPACT) /* small programs have one order */
    if (KNI_UNLIKELY(y->order != KNI_ORDER_ROWS)) {
        kni_order_strides(y->order, y->type.rank, y->type.dims, y->strides);
        return;
    }
#endif
    kni_contiguous_strides(y->type.rank, y->type.dims, y->strides);
}

/* First byte of a tensor in host memory. */
static inline void *kni_data(kni_tensor *x, size_t element_bytes)
{
    if (!x->storage) return x->inline_value.bytes;
    return (char *)x->storage->data + x->offset * (int64_t)element_bytes;
}

#endif
