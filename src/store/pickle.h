/* A reader of Python pickles (protocols 2 to 5) that executes nothing: it builds plain values, and of the names a pickle may
   call only those of a fixed list are known, each with a function of Kiln's own. Memory is bounded by the file's size. */
#ifndef KNI_STORE_PICKLE_H
#define KNI_STORE_PICKLE_H

#include "store/store_object.h"

typedef enum kni_pickle_kind {
    KNI_PICKLE_NONE,
    KNI_PICKLE_BOOL,
    KNI_PICKLE_INT,
    KNI_PICKLE_LONG, /* does not fit in 64 bits */
    KNI_PICKLE_REAL,
    KNI_PICKLE_TEXT,
    KNI_PICKLE_BYTES,
    KNI_PICKLE_LIST,
    KNI_PICKLE_TUPLE,
    KNI_PICKLE_SET,
    KNI_PICKLE_DICT, /* items are key, value, key, value */
    KNI_PICKLE_GLOBAL,
    KNI_PICKLE_STORAGE,
    KNI_PICKLE_TENSOR,
    KNI_PICKLE_NUMPY_DTYPE,
    KNI_PICKLE_NUMPY_ARRAY /* known, not read */
} kni_pickle_kind;

typedef struct kni_pickle_value kni_pickle_value;
typedef struct kni_pickle_global kni_pickle_global;
typedef struct kni_pickle kni_pickle;

/* The bytes that tensors share. */
typedef struct kni_pickle_storage {
    const char *key; /* inside the pickle, without a final 0 */
    size_t key_length;
    const kni_dtype_word *word; /* NULL: plain bytes */
    int64_t elements;
    int64_t view_offset; /* legacy: where a view begins, in elements */
} kni_pickle_storage;

typedef struct kni_pickle_tensor {
    kni_pickle_storage storage;
    const kni_dtype_word *word;
    int64_t offset;
    kn_shape shape;
    int64_t strides[KN_MAX_RANK];
} kni_pickle_tensor;

struct kni_pickle_value {
    kni_pickle_kind kind;
    bool swapped;    /* NUMPY_DTYPE */
    bool attributes; /* DICT: an object whose attributes, set as its state, are the content */
    union {
        int64_t integer;
        double real;
        struct {
            const char *text; /* inside the pickle or its arena */
            size_t length;
        };
        struct {
            kni_pickle_value **items;
            size_t count, capacity;
        };
        const kni_pickle_global *global;
        const kni_dtype_word *word; /* NUMPY_DTYPE */
        const kni_pickle_storage *storage;
        const kni_pickle_tensor *tensor;
    };
};

/* A name that a pickle may use. */
struct kni_pickle_global {
    const char *module, *name;
    /* What calling it gives; NULL for a class that is only named. */
    kn_status (*call)(kni_pickle *p, const kni_pickle_global *global, const kni_pickle_value *arguments,
                      kni_pickle_value **result);
    const kni_dtype_word *word; /* of a storage class or dtype */
};
/* NULL when it is not on the list. */
const kni_pickle_global *kni_pickle_find_global(const char *module, size_t module_length, const char *name,
                                                size_t name_length);
/* An object's state, set after it was made. */
kn_status kni_pickle_build(kni_pickle *p, kni_pickle_value *object, const kni_pickle_value *state);
/* What a persistent id stands for. */
typedef kn_status (*kni_pickle_persistent_fn)(kni_pickle *p, const kni_pickle_value *id,
                                              kni_pickle_value **result);

struct kni_pickle {
    const unsigned char *data;
    size_t bytes, at, start;  /* start: of the pickle that runs */
    const kni_source *source; /* for messages */
    kni_pickle_persistent_fn persistent;
    void *context;
    kn_status status;
    kni_pickle_value **stack;
    size_t depth, stack_capacity;
    size_t *marks;
    size_t mark_count, mark_capacity;
    kni_pickle_value **memo;
    size_t memo_capacity, memo_next;
    struct kni_pickle_block *blocks;
    size_t block_used, block_bytes;
    uint64_t memory; /* bytes taken so far, at most kni_source_allowance */
    size_t copied;   /* items that calls of this pickle have copied */
};

/* Runs one pickle from p->at on; the value lives until kni_pickle_free. NULL with kn_last_error(). May be called again for a
   pickle that follows. */
const kni_pickle_value *kni_pickle_run(kni_pickle *p);
void kni_pickle_free(kni_pickle *p);
/* Memory that lives as long as p; NULL with the failure noted. */
void *kni_pickle_take(kni_pickle *p, size_t bytes);
/* A copy of count items or bytes is about to be made: a shared value can be copied again and again by a few bytes each, so
   that all copies together are bounded by the pickle's size. False with the failure noted. */
bool kni_pickle_copies(kni_pickle *p, size_t count);
kni_pickle_value *kni_pickle_make(kni_pickle *p, kni_pickle_kind kind);
bool kni_pickle_append(kni_pickle *p, kni_pickle_value *list, kni_pickle_value *item);
/* Notes "FILE: pickle, byte N: what is wrong" and returns it. */
kn_status kni_pickle_bad(kni_pickle *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool kni_pickle_is_text(const kni_pickle_value *value, const char *text);

#endif
