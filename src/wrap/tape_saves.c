/* What a gradient reads, and so what the tape must save: found by running it on the null backend. The answer
   is cached by op, attributes, dtypes, ranks and which operands need gradients. */
#include "core/backends.h"
#include "core/life.h"
#include "wrap/tape.h"
#include <string.h>

enum {
#ifdef KN_FREESTANDING
    ENTRIES = 32,
#else
    ENTRIES = 1024,
#endif
    MAX_OPERANDS = 64
};

typedef struct entry {
    _Atomic uint64_t key;
    _Atomic uint64_t in, out;
} entry;

static entry cache[ENTRIES];

static uint64_t mix(uint64_t h, uint64_t v)
{
    h ^= v + UINT64_C(0x9E3779B97F4A7C15) + (h << 6) + (h >> 2);
    h *= UINT64_C(0xFF51AFD7ED558CCD);
    return h ^ (h >> 32);
}

static uint64_t mix_bytes(uint64_t h, const char *bytes, int n)
{
    uint64_t word;
    for (int i = 0; i + 8 <= n; i += 8) {
        memcpy(&word, bytes + i, 8);
        h = mix(h, word);
    }
    return h;
}

/* Rows without attributes and with few operands have a key that is exact and takes no hashing. It is even, a
   hash is odd. 0: not such a row. */
static uint64_t short_key_of(const kn_record *r, uint64_t needs)
{
    enum { FEW = 4, OPERAND_BITS = 10 };
    if (r->row->schema || r->n_in > FEW) return 0;
    uint64_t key = needs;
    for (int i = 0; i < r->n_in; i++) {
        const kni_tensor *x = kni_in(r, i);
        key = key << OPERAND_BITS | (x ? (uint64_t)x->type.dtype << 4 | x->type.rank : 15);
    }
    return (key << 16 | r->op) << 1;
}

static uint64_t key_of(const kn_record *r, uint64_t needs)
{
    uint64_t h = mix(r->op, needs);
    for (int i = 0; i < r->n_in; i++) {
        const kni_tensor *x = kni_in(r, i);
        h = mix(h, x ? (uint64_t)x->type.dtype << 8 | x->type.rank : UINT64_MAX);
    }
    /* Dynamic attributes (a random counter, a rate) never decide what a gradient reads. */
    for (const kn_attribute *a = r->row->schema; a && a->name; a++) {
        const char *field = (const char *)r->attributes + a->offset;
        if (a->dynamic == KNI_DYNAMIC) continue;
        if (a->type != KNI_ATTR_INTS) {
            h = mix_bytes(h, field, 8);
            continue;
        }
        const kn_ints *list = (const kn_ints *)(const void *)field;
        h = mix(h, (uint64_t)list->rank);
        if (list->rank > 0 && list->rank <= KN_MAX_RANK)
            h = mix_bytes(h, (const char *)list->dims, 8 * list->rank);
    }
    return h | 1;
}

static kn_device null_device(void) { return kni_device_make(kni_null_backend(), "null"); }

/* A kept tensor of a type on the null device. */
static kn_tensor ghost(kni_thread *t, const kni_type *type, kn_device device)
{
    kni_tensor x = {.type = *type, .device = device};
    kni_contiguous_strides(type->rank, type->dims, x.strides);
    return kni_alias_kept(t, &x, device);
}

static kn_status probe(const kn_record *r, uint64_t needs, kni_saves *saves)
{
    kni_thread *t = kni_thread_self();
    kn_device device = null_device();
    if (!device) return KN_ERROR_MEMORY;
    if (r->n_in > MAX_OPERANDS || r->n_out > 8) {
        *saves = (kni_saves){UINT64_MAX, UINT64_MAX};
        return KN_OK;
    }
    kn_tensor in[MAX_OPERANDS], grads[MAX_OPERANDS], out[8], dy[8];
    kni_type in_types[MAX_OPERANDS], out_types[8];
    kn_scope scope = kn_scope_begin();
    kni_context before = kni_context_push(t);
    t->context.route = device;
    t->context.no_grad++;
    t->context.autocast = KN_DTYPE_NONE;
    t->context.capture = NULL; /* nothing is computed here */
    for (int i = 0; i < r->n_in; i++) {
        const kni_tensor *x = kni_in(r, i);
        memset(&in_types[i], 0, sizeof in_types[i]);
        if (x) in_types[i] = x->type;
        in[i] = x ? ghost(t, &x->type, device) : KN_NONE;
        grads[i] = KN_NONE;
    }
    for (int i = 0; i < r->n_out; i++) {
        out_types[i] = kni_out(r, i)->type;
        out[i] = ghost(t, &out_types[i], device);
        bool flows = kn_dtype_is_float((kn_dtype)out_types[i].dtype);
        dy[i] = flows ? ghost(t, &out_types[i], device) : KN_NONE;
    }
    kni_vjp v = {r->row, r->attributes, r->n_in, r->n_out, in, out, in_types, out_types,
                 dy,     grads,         needs,   0,        0};
    kn_status s = kni_vjp_run(&v, kni_gradient_of(r->row));
    for (int i = 0; i < r->n_in && s == KN_OK; i++)
        if (kni_is_poisoned(grads[i])) s = kn_error_code(grads[i]);
    *saves = (kni_saves){v.used_in, v.used_out};
    kni_context_pop(t, &before);
    kn_scope_end(scope, KN_NONE);
    return s;
}

kn_status kni_saves_of(const kn_record *r, uint64_t needs, kni_saves *saves)
{
    uint64_t key = short_key_of(r, needs);
    if (!key) key = key_of(r, needs);
    entry *e = &cache[(key * UINT64_C(0x9E3779B97F4A7C15) >> 40) % ENTRIES];
    if (KNI_LIKELY(atomic_load_explicit(&e->key, memory_order_acquire) == key)) {
        saves->in = atomic_load_explicit(&e->in, memory_order_acquire);
        saves->out = atomic_load_explicit(&e->out, memory_order_acquire);
        if (KNI_LIKELY(atomic_load_explicit(&e->key, memory_order_acquire) == key)) return KN_OK;
    }
    kni_thread *t = kni_thread_self();
    uint32_t last = t->last_error, pending = t->pending_error;
    kn_status s = probe(r, needs, saves);
    if (s == KN_ERROR_MEMORY) return s;
    if (s) {
        /* A gradient that does not exist for these operands is an error of the walk that asks for it; it finds
           all values there, so that it tells what is wrong with them and not that they are missing. */
        t->last_error = last;
        t->pending_error = pending;
        *saves = (kni_saves){UINT64_MAX, UINT64_MAX};
        return KN_OK;
    }
    static kni_guard writer = KNI_GUARD_INIT(KNI_GUARD_INNER);
    kni_guard_lock(&writer);
    atomic_store(&e->key, 0);
    atomic_store(&e->in, saves->in);
    atomic_store(&e->out, saves->out);
    atomic_store(&e->key, key);
    kni_guard_unlock(&writer);
    return KN_OK;
}
