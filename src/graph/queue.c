/* Making records wait. */
#include "graph/queue.h"
#include "core/call_site.h"
#include "core/strided_copy.h"
#include <string.h>

/* Memory of the caller's that nobody promised to keep is copied up to this size; of what is larger the record is
   submitted at once. */
enum { COPIED_BYTES = 1 << 20 };

static bool grow(void **block, int32_t *capacity, int32_t needed, size_t size)
{
    if (KNI_LIKELY(needed <= *capacity)) return true;
    uint32_t room = (uint32_t)*capacity;
    void *p = kni_grow(*block, &room, (uint32_t)needed, size);
    if (!p) return false;
    *block = p;
    *capacity = (int32_t)room;
    return true;
}

/* ---- the key */

static bool reserve_key(kni_queue *q, int32_t words)
{
    void *p = q->key;
    bool good = grow(&p, &q->key_capacity, q->n_key + words, sizeof *q->key);
    q->key = p;
    return good;
}

static inline void put(kni_queue *q, uint64_t word)
{
    q->key[q->n_key++] = word;
    q->hash = kni_hash_word(q->hash, word);
}

enum { KEY_WORDS_OF_OPERAND = 2 + 2 * KN_MAX_RANK, KEY_WORDS_OF_ATTRIBUTE = 1 + KN_MAX_RANK };

static void put_attributes(kni_queue *q, const kn_record *r)
{
    const char *from = r->attributes;
    if (!r->row->schema) {
        if (kni_is_pointwise(r->row)) return; /* the numbers of its body */
        for (size_t i = 0; i < r->attribute_bytes; i += sizeof(uint64_t)) {
            uint64_t word = 0;
            memcpy(&word, from + i,
                   r->attribute_bytes - i < sizeof word ? r->attribute_bytes - i : sizeof word);
            put(q, word);
        }
        return;
    }
    for (const kn_attribute *a = r->row->schema; a->name; a++) {
        if (a->dynamic == KNI_DYNAMIC) continue;
        if (a->type != KNI_ATTR_INTS) {
            uint64_t word;
            memcpy(&word, from + a->offset, sizeof word);
            put(q, word);
            continue;
        }
        const kn_ints *list = (const kn_ints *)(from + a->offset);
        put(q, (uint64_t)list->rank);
        for (int i = 0; i < list->rank; i++) put(q, (uint64_t)list->dims[i]);
    }
}

/* The most words that the attributes take. */
static int32_t attribute_words(const kn_op *row)
{
    int32_t n = 0;
    if (!row->attribute_bytes) return 0;
    if (!row->schema) return row->attribute_bytes / 8 + 1;
    while (row->schema[n].name) n++;
    return n * KEY_WORDS_OF_ATTRIBUTE;
}

/* ---- operands */

static bool make_slot(kni_queue *q)
{
    kni_thread *t = kni_thread_self();
    uint32_t id = kni_tensor_new(t);
    if (id == KNI_NO_SLOT) return false;
    kni_tensor *x = kni_slot(id);
    kni_scope_unlink(t, id);
    /* The queue's slots are no tensors of the user's: they are not counted. */
    kni_thread_count(t, -1);
    x->state = KNI_GONE;
    x->device = q->device;
    q->slots[q->n_slots++] = id;
    return true;
}

/* A new operand, its slot not filled in; -1 without memory. */
static int32_t new_operand(kni_queue *q, int32_t value)
{
    int32_t k = q->n_operands;
    if (KNI_UNLIKELY(k >= q->operand_capacity)) {
        int32_t capacity = q->operand_capacity;
        void *p = q->operands;
        if (!grow(&p, &capacity, k + 1, sizeof *q->operands)) return -1;
        q->operands = p;
        uint32_t *slots = kni_reallocate(q->slots, (size_t)q->operand_capacity * sizeof *slots,
                                         (size_t)capacity * sizeof *slots);
        if (!slots) {
            /* The longer list stays as it is; its length is what the shorter one has. */
            q->operands = kni_reallocate(p, (size_t)capacity * sizeof *q->operands,
                                         (size_t)q->operand_capacity * sizeof *q->operands);
            return -1;
        }
        q->slots = slots;
        q->operand_capacity = capacity;
    }
    if (KNI_UNLIKELY(k == q->n_slots) && !make_slot(q)) return -1;
    q->operands[k].value = value;
    q->operands[k].next = -1;
    if (value >= 0) {
        q->operands[k].next = q->values[value].first;
        q->values[value].first = k;
    }
    q->n_operands++;
    return k;
}

static int32_t new_value(kni_queue *q, kni_storage *storage, int32_t maker)
{
    void *p = q->values;
    bool good = grow(&p, &q->value_capacity, q->n_values + 1, sizeof *q->values);
    q->values = p;
    if (!good) return -1;
    q->values[q->n_values] = (kni_value){storage, -1, -1, maker};
    return q->n_values++;
}

static uint32_t place_of(const kni_queue *q, const kni_storage *s)
{
    return (uint32_t)((uintptr_t)s / 64 * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (q->outside_capacity - 1);
}

static bool grow_outside(kni_queue *q)
{
    uint32_t old = q->outside_capacity, capacity = old ? 2 * old : 256;
    void *before = q->outside;
    size_t size = sizeof *q->outside;
    q->outside = kni_allocate(capacity * size);
    if (!q->outside) {
        q->outside = before;
        return false;
    }
    memset(q->outside, 0, capacity * size);
    q->outside_capacity = capacity;
    for (int32_t v = 0; v < q->n_values; v++) {
        if (q->values[v].maker >= 0) continue;
        uint32_t at = place_of(q, q->values[v].storage);
        while (q->outside[at].round == q->round) at = (at + 1) & (capacity - 1);
        q->outside[at].storage = q->values[v].storage;
        q->outside[at].value = v;
        q->outside[at].round = q->round;
    }
    kni_free(before, old * size);
    return true;
}

/* The value of a storage from outside; -1 without memory. */
static int32_t outside_value(kni_queue *q, kni_storage *s)
{
    if (q->n_outside * 2 >= q->outside_capacity && !grow_outside(q)) return -1;
    uint32_t at = place_of(q, s);
    for (; q->outside[at].round == q->round; at = (at + 1) & (q->outside_capacity - 1))
        if (q->outside[at].storage == s) return q->outside[at].value;
    int32_t v = new_value(q, s, -1);
    if (v < 0) return -1;
    kni_storage_retain(s);
    q->outside[at].storage = s;
    q->outside[at].value = v;
    q->outside[at].round = q->round;
    q->n_outside++;
    return v;
}

static bool same_view(const kni_tensor *a, const kni_tensor *b)
{
    if (a->type.rank != b->type.rank || a->type.dtype != b->type.dtype || a->offset != b->offset ||
        a->type.weak != b->type.weak)
        return false;
    for (int i = 0; i < a->type.rank; i++)
        if (a->type.dims[i] != b->type.dims[i] || a->strides[i] != b->strides[i]) return false;
    return true;
}

/* Fills the slot of operand k with what x is. */
static void fill_slot(kni_queue *q, int32_t k, const kni_tensor *x)
{
    kni_tensor *y = kni_queue_slot(q, k);
    y->order = KNI_ORDER_ROWS;
    kni_type_copy(&y->type, &x->type);
    for (int i = 0; i < x->type.rank; i++) y->strides[i] = x->strides[i];
    y->offset = x->offset;
    y->storage = x->storage;
    y->flags = x->flags & KNI_TENSOR_SCALAR;
    y->inline_value = x->inline_value;
}

/* What of a new operand is part of the key. */
static void describe(kni_queue *q, int32_t k, const kni_tensor *x)
{
    bool made_here = q->operands[k].value >= 0 && q->values[q->operands[k].value].maker >= 0;
    bool contiguous = kni_is_contiguous(x->type.rank, x->type.dims, x->strides);
    put(q, (uint64_t)x->type.dtype | (uint64_t)x->type.rank << 8 | (uint64_t)x->type.weak << 16 |
               (uint64_t)contiguous << 17 | (uint64_t)(uint32_t)(q->operands[k].value + 1) << 32);
    for (int i = 0; i < x->type.rank; i++) put(q, (uint64_t)x->type.dims[i]);
    for (int i = 0; i < x->type.rank && !contiguous; i++) put(q, (uint64_t)x->strides[i]);
    if (made_here) put(q, (uint64_t)x->offset);
}

/* A value of its own with the elements of x, because the caller's memory may change before the record runs. */
static int32_t copied_operand(kni_queue *q, kni_tensor *x, size_t bytes)
{
    kni_tensor copy = {.type = x->type};
    kni_contiguous_strides(x->type.rank, x->type.dims, copy.strides);
    copy.storage = kni_storage_new(bytes);
    int32_t v = copy.storage ? new_value(q, copy.storage, -1) : -1;
    int32_t k = v < 0 ? -1 : new_operand(q, v);
    if (v < 0 && copy.storage) kni_storage_release(copy.storage);
    if (k < 0) return -1;
    kni_copy_strided(copy.storage->data, x->type.dtype, copy.strides,
                     kni_data(x, kni_bytes_of(x->type.dtype)), x->type.dtype, x->strides, x->type.rank,
                     x->type.dims);
    fill_slot(q, k, &copy);
    describe(q, k, &copy);
    return k;
}

/* The operand that sees what slot x is, a new one where there is none yet; -1 without memory. */
static int32_t operand_of(kni_queue *q, kni_tensor *x)
{
    kni_storage *s = x->storage;
    int32_t v = -1;
    if (s) {
        uint32_t flags = kni_storage_flags(s);
        if (flags & KNI_STORAGE_PENDING) {
            v = (int32_t)(intptr_t)s->context;
        } else {
            if (KNI_UNLIKELY(flags & KNI_STORAGE_WRAPPED) && !s->release) {
                int64_t bytes = kn_dtype_bytes((kn_dtype)x->type.dtype, kni_count(&x->type));
                if (bytes <= COPIED_BYTES) return copied_operand(q, x, (size_t)bytes);
                q->at_once = true;
            }
            v = outside_value(q, s);
            if (KNI_UNLIKELY(v < 0)) return -1;
        }
        for (int32_t k = q->values[v].first; k >= 0; k = q->operands[k].next)
            if (same_view(kni_queue_slot(q, k), x)) return k;
    }
    int32_t k = new_operand(q, v);
    if (KNI_UNLIKELY(k < 0)) return -1;
    fill_slot(q, k, x);
    describe(q, k, x);
    return k;
}

/* ---- results */

/* Promises result i of the entry. */
static bool promise(kni_queue *q, const kn_record *r, int i, int32_t entry, int32_t *operand)
{
    kni_tensor *y = kni_out(r, i);
    int64_t bytes = kn_dtype_bytes((kn_dtype)y->type.dtype, kni_count(&y->type));
    int32_t v = new_value(q, NULL, entry);
    if (bytes < 0 || v < 0) return false;
    kni_storage *s = kni_storage_promise((size_t)bytes, &q->debtor, (void *)(intptr_t)v);
    if (!s) return false;
    q->values[v].storage = s;
    int32_t k = new_operand(q, v);
    if (k < 0) return false;
    kni_promised_strides(y);
    y->offset = 0;
    y->storage = s;
    fill_slot(q, k, y);
    kni_queue_slot(q, k)->order = y->order;
    kni_storage_retain(s);
    q->values[v].whole = *operand = k;
    q->promised_bytes += bytes;
    return true;
}

/* What the queue had before a record that could not be added. */
typedef struct mark {
    int32_t values, operands, key;
    uint64_t hash;
    int64_t promised_bytes;
} mark;

static void take_back(kni_queue *q, const kn_record *r, const mark *m)
{
    for (int i = 0; i < r->n_out; i++) {
        kni_tensor *y = kni_out(r, i);
        if (y->storage && kni_storage_flags(y->storage) & KNI_STORAGE_PENDING) {
            kni_storage_release(y->storage);
            y->storage = NULL;
        }
    }
    for (int32_t k = q->n_operands; k-- > m->operands;) {
        int32_t v = q->operands[k].value;
        if (v >= 0) q->values[v].first = q->operands[k].next;
        kni_queue_slot(q, k)->storage = NULL;
    }
    for (int32_t v = q->n_values; v-- > m->values;)
        if (q->values[v].storage) kni_storage_release(q->values[v].storage);
    q->n_values = m->values;
    q->n_operands = m->operands;
    q->n_key = m->key;
    q->hash = m->hash;
    q->promised_bytes = m->promised_bytes;
    /* Places of values that are no more must not be found. */
    for (uint32_t i = 0; i < q->outside_capacity; i++)
        if (q->outside[i].round == q->round && q->outside[i].value >= m->values) {
            q->outside[i].storage = NULL;
        }
}

static kn_status no_memory(const kn_record *r)
{
    return kni_fail_op(KN_ERROR_MEMORY, r->row->name, "no memory to queue the op");
}

static kni_entry *new_entry(kni_queue *q, const kn_record *r)
{
    void *p = q->entries;
    bool good = grow(&p, &q->entry_capacity, q->n_entries + 1, sizeof *q->entries);
    q->entries = p;
    if (!good) return NULL;
    kni_entry *e = &q->entries[q->n_entries];
    size_t operands = (size_t)(r->n_in + r->n_out) * sizeof *e->operands;
    size_t bytes = ((size_t)r->bytes + 7) & ~(size_t)7;
    char *block = kni_bump_take(&q->memory, bytes + operands);
    if (!block) return NULL;
    memcpy(block, r, r->bytes);
    e->record = (kn_record *)block;
    e->record->attributes = block + ((const char *)r->attributes - (const char *)r);
    e->operands = (int32_t *)(block + bytes);
    const kni_thread *t = &kni_this_thread;
    e->name = t->context.call_name ? t->context.call_name : r->row->name;
    /* What a lowering makes has serials that the next calls use again. */
    e->serial = kni_this_op ? kni_op_serial(kni_this_op) : r->sequence;
    e->composite = kni_this_op ? kni_op_in_composite(kni_this_op) : t->context.call_name != NULL;
    e->thread = t->id;
    return e;
}

/* The orders of the results, in a word of their own. */
static void put_orders(kni_queue *q, const kn_record *r)
{
    uint64_t word = 0;
    for (int i = 0; i < r->n_out && i < 64; i++) word |= (uint64_t)kni_out(r, i)->order << i;
    put(q, word);
}

kn_status kni_queue_add(kni_queue *q, const kn_record *r)
{
    mark m = {q->n_values, q->n_operands, q->n_key, q->hash, q->promised_bytes};
    int32_t attributes = attribute_words(r->row), index = q->n_entries;
    kni_entry *e = new_entry(q, r);
    if (!e || !reserve_key(q, 4 + attributes + r->n_in * (1 + KEY_WORDS_OF_OPERAND))) return no_memory(r);
    put(q, (uint64_t)(uintptr_t)r->row);
    put(q, (uint64_t)r->n_in | (uint64_t)r->n_out << 16 | (uint64_t)r->phase << 32);
    if (attributes) put_attributes(q, r);
    if (KNI_UNLIKELY(q->device->n_wants)) put_orders(q, r);
    for (int i = 0; i < r->n_in; i++) {
        kni_tensor *x = kni_in(r, i);
        int32_t k = x ? operand_of(q, x) : -1;
        if (KNI_UNLIKELY(x && k < 0)) {
            take_back(q, r, &m);
            return no_memory(r);
        }
        put(q, (uint64_t)(uint32_t)k);
        e->operands[r->n_out + i] = k;
        e->record->ids[r->n_out + i] = x ? q->slots[k] : KNI_NO_SLOT;
    }
    for (int i = 0; i < r->n_out; i++) {
        if (KNI_UNLIKELY(!promise(q, r, i, index, &e->operands[i]))) {
            take_back(q, r, &m);
            return no_memory(r);
        }
        e->record->ids[i] = q->slots[e->operands[i]];
    }
    q->n_entries++;
    return KN_OK;
}

void kni_queue_clear(kni_queue *q)
{
    for (int32_t k = 0; k < q->n_operands; k++) kni_queue_slot(q, k)->storage = NULL;
    for (int32_t v = 0; v < q->n_values; v++)
        if (q->values[v].storage) kni_storage_release(q->values[v].storage);
    q->n_entries = q->n_values = q->n_operands = q->n_key = 0;
    q->hash = 0;
    q->promised_bytes = 0;
    q->at_once = false;
    q->n_outside = 0;
    q->round++;
    if (q->round == 0 && q->outside) {
        memset(q->outside, 0, q->outside_capacity * sizeof *q->outside);
        q->round = 1;
    }
    kni_bump_clear(&q->memory);
}

void kni_queue_free(kni_queue *q)
{
    kni_thread *t = kni_thread_self();
    for (int32_t i = 0; i < q->n_slots; i++) {
        kni_thread_count(t, 1);
        kni_slot(q->slots[i])->device = NULL;
        kni_tensor_release(t, q->slots[i]);
    }
    kni_free(q->entries, (size_t)q->entry_capacity * sizeof *q->entries);
    kni_free(q->values, (size_t)q->value_capacity * sizeof *q->values);
    kni_free(q->operands, (size_t)q->operand_capacity * sizeof *q->operands);
    kni_free(q->slots, (size_t)q->operand_capacity * sizeof *q->slots);
    kni_free(q->key, (size_t)q->key_capacity * sizeof *q->key);
    kni_free(q->outside, q->outside_capacity * sizeof *q->outside);
    kni_bump_free(&q->memory);
}
