/* Records that wait: copies of them, the values they make and use, and the key by which a plan for them is found.

   A value is a storage: promised, when a waiting record makes it, or from outside. An operand is a way to see a value
   (dtype, shape, offset, strides) or a number; operand k of every queue of a device is slot slots[k], which belongs to
   the queue, so that a plan may name slots and stay good for the next queue with the same key. The queue holds one
   reference of each storage, its slots hold none: a value whose storage has one reference has no user but the queue. */
#ifndef KNI_QUEUE_H
#define KNI_QUEUE_H

#include "core/device_object.h"
#include "graph/bump.h"
#include "ops/record.h"

typedef struct kni_operand {
    int32_t value; /* -1: a number */
    int32_t next;  /* another operand of the value, -1 */
} kni_operand;

typedef struct kni_value {
    kni_storage *storage; /* NULL once the queue needs it no more */
    int32_t first; /* the latest operand that sees it; `whole` of promised ones is the last of the list */
    int32_t whole; /* the operand that sees all of it as it was made, -1 for values from outside */
    int32_t maker; /* the entry that makes it, -1: from outside */
} kni_value;

typedef struct kni_entry {
    kn_record *record; /* ids are slots of the queue */
    int32_t *operands; /* of results, then operands; -1 where one is absent */
    const char *name;  /* of the public function that was called, without kn_ */
    uint64_t serial;   /* of the op that was called; with its thread it leads to the user's line */
    uint32_t thread;
    bool composite; /* a composite called the op */
} kni_entry;

typedef struct kni_queue {
    kni_debtor debtor; /* first: promises lead back to the queue */
    kn_device device;  /* of the queue's slots */
    kn_backend *leaf;  /* who gets its groups */
    int32_t n_entries, n_values, n_operands;
    int32_t entry_capacity, value_capacity, operand_capacity;
    int32_t n_slots; /* made so far */
    kni_entry *entries;
    kni_value *values;
    kni_operand *operands;
    uint32_t *slots;
    kni_bump memory; /* of records */
    uint64_t *key, hash;
    int32_t n_key, key_capacity;
    int64_t promised_bytes;
    bool at_once; /* memory that may change or go away is read: submit after this record */
    struct {
        const kni_storage *storage;
        int32_t value;
        uint32_t round;
    } * outside; /* hash table of the values from outside, good where round is the queue's */
    uint32_t outside_capacity, n_outside, round;
} kni_queue;

/* Adds a record that is no view: its results become promises. */
kn_status kni_queue_add(kni_queue *q, const kn_record *r);
/* Lets go of everything that waits; promises must have been kept or broken. */
void kni_queue_clear(kni_queue *q);
/* Frees the queue's own memory and slots. */
void kni_queue_free(kni_queue *q);

static inline kni_tensor *kni_queue_slot(const kni_queue *q, int32_t operand)
{
    return kni_slot(q->slots[operand]);
}
static inline int32_t kni_entry_value(const kni_queue *q, const kni_entry *e, int i)
{
    return e->operands[i] < 0 ? -1 : q->operands[e->operands[i]].value;
}

/* Mixes a word into the hash of a key. */
static inline uint64_t kni_hash_word(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

#endif
