/* Slots: getting, checking, releasing. */
#include "core/table.h"
#include "core/device_object.h"
#include "core/life.h"
#include "core/objects.h"
#include "core/past.h"
#include "core/text.h"
#include <string.h>

_Static_assert((int64_t)KNI_MAX_CHUNKS *KNI_CHUNK_SLOTS <= (int64_t)1 << KNI_SLOT_BITS,
               "a handle has room for the number of every slot");
kni_tensor *kni_chunks[KNI_MAX_CHUNKS];
void (*kni_node_release)(struct kni_node *node);
void (*kni_node_retain)(struct kni_node *node);

static kni_guard lock = KNI_GUARD_INIT(KNI_GUARD_OUTER);
static _Atomic uint32_t n_chunks;
static uint32_t *free_pool; /* slots returned by threads that had too many or ended */
static uint32_t n_free_pool, free_pool_capacity;
static uint64_t first_generation = 1; /* of new slots: above all that a table of before gave out */
static bool renewed;                  /* kn_shutdown or fork has ended all handles once */
static uint64_t older_generations;    /* up to this one handles are older than the latest kn_shutdown */

static bool add_chunk(void)
{
    uint32_t n = atomic_load(&n_chunks);
    if (n == KNI_MAX_CHUNKS) return false;
    kni_tensor *chunk = kni_allocate(sizeof(kni_tensor) * KNI_CHUNK_SLOTS);
    /* It holds every slot when all are free; it doubles, so that a million tensors do not copy it a thousand times. */
    uint32_t *pool =
        chunk ? kni_grow(free_pool, &free_pool_capacity, (n + 1) * KNI_CHUNK_SLOTS, sizeof *pool) : NULL;
    if (!pool) {
        kni_free(chunk, sizeof(kni_tensor) * KNI_CHUNK_SLOTS);
        return false;
    }
    free_pool = pool;
    for (int i = 0; i < KNI_CHUNK_SLOTS; i++) {
        chunk[i].state = KNI_FREE;
        atomic_init(&chunk[i].generation, first_generation);
        atomic_init(&chunk[i].references, 0);
        free_pool[n_free_pool++] = n * KNI_CHUNK_SLOTS + (uint32_t)(KNI_CHUNK_SLOTS - 1 - i);
    }
    kni_chunks[n] = chunk;
    atomic_store(&n_chunks, n + 1);
    return true;
}

static uint64_t generation_after(uint64_t g)
{
    g = (g + 1) & KNI_GENERATION_MASK;
    return g ? g : 1;
}

/* In a forked child all handles are stale. What they named stays where it is, out of use, since the parent's other threads may
   have been in the middle of it. */
static void forked(void)
{
    uint32_t n = atomic_load(&n_chunks) * KNI_CHUNK_SLOTS;
    renewed = true;
    n_free_pool = 0;
    for (uint32_t i = 0; i < n; i++) {
        kni_tensor *x = kni_slot(i);
        atomic_store(&x->generation, generation_after(atomic_load(&x->generation)));
        if (x->state == KNI_FREE)
            free_pool[n_free_pool++] = i;
        else
            x->state = KNI_GONE;
    }
}

static bool refill(kni_thread *t)
{
    static kni_life_hook hook = {.forked = KNI_IN_CHILD(forked)};
    kni_fork_watch(&hook);
    kni_guard_lock(&lock);
    if (n_free_pool == 0) (void)add_chunk();
    while (n_free_pool > 0 && t->n_free_slots < KNI_SLOT_CACHE / 2)
        t->free_slots[t->n_free_slots++] = free_pool[--n_free_pool];
    kni_guard_unlock(&lock);
    return t->n_free_slots > 0;
}

static void give_back(kni_thread *t, uint32_t keep)
{
    kni_guard_lock(&lock);
    while (t->n_free_slots > keep) free_pool[n_free_pool++] = t->free_slots[--t->n_free_slots];
    kni_guard_unlock(&lock);
}

void kni_table_return_slots(kni_thread *t) { give_back(t, 0); }

uint32_t kni_tensor_new(kni_thread *t)
{
    if (KNI_UNLIKELY(t->n_free_slots == 0) && !refill(t)) return KNI_NO_SLOT;
    uint32_t index = t->free_slots[--t->n_free_slots];
    kni_tensor *x = kni_slot(index);
    atomic_store_explicit(&x->references, 1, memory_order_relaxed);
    x->state = KNI_TEMPORARY;
    x->flags = 0;
    x->device = NULL;
    x->storage = NULL;
    x->offset = 0;
    x->order = KNI_ORDER_ROWS;
    x->node = NULL;
    x->thread = t->id;
    x->serial = t->serial;
    kni_scope_link(t, index, t->depth);
    if (KNI_UNLIKELY(kni_thread_count(t, 1) >= t->watch)) kni_growth_seen(t);
    return index;
}

/* Tells a lazy backend that a tensor is gone. Nothing can be done about a failure here. */
static KNI_COLD void emit_drop(uint32_t index, kn_device device)
{
    kn_record r = {.bytes = sizeof r, .op = 1, .n_in = 1, .flags = KN_RECORD_DROP, .ids = {index}};
    const kn_record *record = &r;
    (void)device->backend->execute(device->backend, &record, 1);
}

void kni_tensor_release(kni_thread *t, uint32_t index)
{
    kni_tensor *x = kni_slot(index);
    if (atomic_load_explicit(&x->references, memory_order_acquire) != 1 &&
        atomic_fetch_sub_explicit(&x->references, 1, memory_order_acq_rel) != 1)
        return;
    if (KNI_UNLIKELY(x->device && x->device->backend->wants_drops)) emit_drop(index, x->device);
    kni_storage *storage = x->storage;
    struct kni_node *node = x->node;
    x->storage = NULL;
    x->node = NULL;
    x->state = KNI_FREE;
    atomic_store_explicit(&x->references, 0, memory_order_relaxed);
    kni_thread_count(t, -1);
    if (KNI_UNLIKELY(t->n_free_slots == KNI_SLOT_CACHE)) give_back(t, KNI_SLOT_CACHE / 2);
    t->free_slots[t->n_free_slots++] = index;
    if (storage) kni_storage_release(storage);
    if (node && kni_node_release) kni_node_release(node);
}

void kni_tensor_end_handle(kni_thread *t, uint32_t index)
{
    kni_tensor *x = kni_slot(index);
    if (x->state == KNI_TEMPORARY || x->state == KNI_KEPT) kni_scope_unlink(t, index);
    uint64_t g = generation_after(atomic_load_explicit(&x->generation, memory_order_relaxed));
    atomic_store_explicit(&x->generation, g, memory_order_release);
    x->state = KNI_GONE;
    kni_tensor_release(t, index);
}

void kni_tensor_take(kni_thread *t, uint32_t index, const char *by)
{
    kni_history *h = t->history;
    if (KNI_LIKELY(h != NULL)) {
        kni_taken *entry = &h->taken[h->taken_next++ % KNI_TAKEN_RING];
        entry->bits = kni_handle(index).bits;
        entry->call.serial = t->serial;
        entry->by = by;
    }
    kni_tensor_end_handle(t, index);
}

/* From the first that waits on, everything up to the line is of one call. */
static void wait_for_line(kni_thread *t)
{
    kni_history *h = t->history;
    if (t->line_wanted) return;
    h->owned_waiting = h->n_owned;
    h->taken_waiting = h->taken_next;
    t->line_wanted = true;
}

static bool is_ended(const kni_taken *e) { return e->bits & KNI_TAKEN_ENDED; }

void kni_taken_waits(kni_thread *t)
{
    kni_history *h = t->history;
    if (!h) return;
    bool first = !t->line_wanted;
    wait_for_line(t);
    if (first) h->taken_waiting--; /* it is there already */
    kni_taken *entry = &h->taken[(h->taken_next - 1) % KNI_TAKEN_RING];
    entry->bits |= KNI_TAKEN_ENDED;
    entry->call.site = NULL;
}

void kni_owned_note(kni_thread *t, uint32_t index)
{
    kni_history *h = t->history;
    if (!h) return;
    if (!kni_slot(index)->site) wait_for_line(t);
    if (!t->line_wanted) h->owning_calls++;
    h->owned[h->n_owned++ % KNI_OWNED_RING] = (kni_owned){kni_handle(index).bits, h->owning_calls};
}

void kni_tensor_handed(kn_tensor handle)
{
    kni_tensor *x = kni_peek(handle);
    if (!x || x->state != KNI_OWNED) return;
    x->site = NULL;
    x->flags |= KNI_TENSOR_PLACED;
    kni_owned_note(kni_thread_self(), kni_slot_of(handle));
}

void kni_line_arrived(kni_thread *t, const char *site)
{
    kni_history *h = t->history;
    t->line_wanted = false;
    if (!h) return;
    uint64_t first = h->owned_waiting;
    if (h->n_owned - first > KNI_OWNED_RING) first = h->n_owned - KNI_OWNED_RING;
    for (uint64_t i = first; i < h->n_owned; i++) {
        kni_tensor *x = kni_peek((kn_tensor){h->owned[i % KNI_OWNED_RING].bits});
        if (x && x->state == KNI_OWNED && !x->site) x->site = site;
    }
    uint32_t n = h->taken_next - h->taken_waiting;
    for (uint32_t i = 1; i <= n && i <= KNI_TAKEN_RING; i++) {
        kni_taken *e = &h->taken[(h->taken_next - i) % KNI_TAKEN_RING];
        if (is_ended(e) && !e->call.site) e->call.site = site;
    }
    h->owning_calls++;
}

kni_tensor *kni_peek(kn_tensor handle)
{
    uint32_t index = kni_slot_of(handle);
    if (kni_is_poisoned(handle) ||
        index >= atomic_load_explicit(&n_chunks, memory_order_acquire) * KNI_CHUNK_SLOTS)
        return NULL;
    kni_tensor *x = kni_slot(index);
    uint64_t g = atomic_load_explicit(&x->generation, memory_order_acquire);
    return g == (handle.bits & KNI_GENERATION_MASK) && x->state != KNI_FREE ? x : NULL;
}

static KNI_COLD void tell_taken(kni_text *text, const kni_taken *e)
{
    bool dropped = !strcmp(e->by, "drop");
    /* A drop is one call: the line of a later one is somebody else's. */
    bool ended = is_ended(e);
    const char *site = ended ? e->call.site : kni_site_within(e->call.serial, dropped ? 1 : KNI_SITE_REACH);
    kni_text_format(text, "tensor was %s by kn_%s%s%s; %s",
                    ended     ? "ended"
                    : dropped ? "dropped"
                              : "already taken",
                    e->by, site ? " at " : "", site ? site : "",
                    ended     ? "use it before, or hold a handle of its own: kn_own(kn_alias(x))"
                    : dropped ? "drop it after its last use"
                              : "keep it with kn_keep() to use it twice");
}

/* Why the handle is stale, without the name of a function. */
static KNI_COLD void tell_stale(kni_text *text, kn_tensor handle)
{
    const kni_history *h = kni_thread_self()->history;
    for (int i = 0; h && i < KNI_TAKEN_RING; i++) {
        if ((h->taken[i].bits & ~KNI_TAKEN_ENDED) != handle.bits || !h->taken[i].by) continue;
        tell_taken(text, &h->taken[i]);
        return;
    }
    for (int i = 0; h && i < KNI_TAKEN_RING; i++) {
        const kni_ended *e = &h->ended[i];
        if (e->bits != handle.bits) continue;
        const char *end = kni_site_of(e->serial), *made = e->site ? e->site : kni_site_of(e->made);
        kni_text_format(
            text,
            "the tensor%s%s ended with its scope%s%s%s%s%s: hand it out with kn_scope_end(), or own it with "
            "kn_own()",
            made ? " made at " : "", made ? made : "", end ? " at " : "", end ? end : "",
            e->begun ? " (begun at " : "", e->begun ? e->begun : "", e->begun ? ")" : "");
        return;
    }
    kni_text_format(
        text,
        "this handle names no live tensor: it was dropped, its scope ended, it was taken long ago, %sor it "
        "was never a tensor",
        renewed ? "it is older than kn_shutdown() or fork(), " : "");
}

static KNI_COLD void explain_stale(kn_tensor handle, const char *op_name)
{
    char buffer[KNI_ERROR_TEXT] = "KN_NONE was given where a tensor is needed";
    if (handle.bits) tell_stale(&(kni_text){buffer, sizeof buffer, 0}, handle);
    kni_fail_op(KN_ERROR_HANDLE, op_name, "%s", buffer);
}

bool kni_handle_is_older(kn_tensor handle)
{
    uint64_t g = handle.bits & KNI_GENERATION_MASK;
    return g && g <= older_generations && !kni_peek(handle);
}

kni_past kni_tensor_past(kn_tensor handle, char *text, size_t n)
{
    if (kni_is_poisoned(handle)) {
        if (!kni_error_was_told(handle)) return KNI_PAST_NONE;
        if (text) kni_error_text(handle, text, n);
        return KNI_PAST_FAILED;
    }
    uint32_t index = kni_slot_of(handle);
    bool there = index < atomic_load_explicit(&n_chunks, memory_order_acquire) * KNI_CHUNK_SLOTS;
    uint64_t g = handle.bits & KNI_GENERATION_MASK;
    /* Generations only grow, and garbage is nearly always above them. */
    uint64_t now =
        there ? atomic_load_explicit(&kni_slot(index)->generation, memory_order_acquire) : first_generation;
    if (g == 0 || g >= now) return KNI_PAST_NONE;
    if (text) tell_stale(&(kni_text){text, n, 0}, handle);
    return KNI_PAST_ENDED;
}

kni_tensor *kni_resolve(kn_tensor handle, const char *op_name)
{
    if (KNI_UNLIKELY(kni_is_poisoned(handle))) return NULL;
    kni_tensor *x = kni_peek(handle);
    if (KNI_UNLIKELY(!x)) {
        explain_stale(handle, op_name);
        return NULL;
    }
    if (KNI_UNLIKELY(x->thread != kni_this_thread.id && x->state != KNI_OWNED)) {
        kni_fail_op(
            KN_ERROR_HANDLE, op_name,
            "the tensor belongs to another thread; share it with x = kn_own(x) on the thread that made it");
        return NULL;
    }
    return x;
}

void kni_tensor_copy_value(kni_tensor *y, const kni_tensor *x)
{
    y->type = x->type;
    y->device = x->device;
    y->flags = x->flags & (KNI_TENSOR_SCALAR | KNI_TENSOR_REQUIRES_GRAD | KNI_TENSOR_POISONED);
    y->error = x->error;
    y->made_by = x->made_by;
    y->storage = x->storage ? kni_storage_retain(x->storage) : NULL;
    y->offset = x->offset;
    y->inline_value = x->inline_value;
    for (int i = 0; i < x->type.rank; i++) y->strides[i] = x->strides[i];
    y->node = x->node;
    y->node_output = x->node_output;
    if (y->node && kni_node_retain) kni_node_retain(y->node);
}

void kni_table_counters(int64_t *tensors, int64_t *slots)
{
    *tensors = kni_threads_live();
    *slots = (int64_t)atomic_load(&n_chunks) * KNI_CHUNK_SLOTS;
}

void kni_table_list_alive(void)
{
    enum { MOST = 20 };
    int listed = 0;
    uint32_t n = atomic_load(&n_chunks) * KNI_CHUNK_SLOTS;
    for (uint32_t i = 0; i < n && listed < MOST; i++) {
        const kni_tensor *x = kni_slot(i);
        if (x->state == KNI_FREE) continue;
        const char *site = kni_tensor_site(x);
        kni_log(1, "alive at shutdown: %T%S%s%s", (int)x->type.dtype, &x->type, site ? " made at " : "",
                site ? site : "");
        listed++;
    }
}

void kni_table_end_all(kni_thread *t)
{
    uint32_t n = atomic_load(&n_chunks) * KNI_CHUNK_SLOTS;
    for (uint32_t i = 0; i < n; i++) {
        kni_tensor *x = kni_slot(i);
        if (x->state == KNI_FREE || x->state == KNI_GONE) continue;
        x->state = KNI_OWNED; /* the lists of scopes have ended with their threads */
        x->flags &= (uint8_t)~KNI_TENSOR_PARAM;
        kni_tensor_end_handle(t, i);
    }
    /* What somebody refers to still has lost its device. */
    for (uint32_t i = 0; i < n; i++) kni_slot(i)->device = NULL;
}

void kni_table_free(void)
{
    kni_guard_lock(&lock);
    uint32_t n = atomic_load(&n_chunks);
    uint64_t latest = 0;
    bool used = false;
    for (uint32_t i = 0; i < n * KNI_CHUNK_SLOTS; i++) {
        uint64_t g = atomic_load(&kni_slot(i)->generation);
        used |= kni_slot(i)->state != KNI_FREE;
        if (g > latest) latest = g;
    }
    renewed = true;
    if (n) older_generations = latest;
    if (n) first_generation = generation_after(latest);
    if (used) {
        for (uint32_t i = 0; i < n * KNI_CHUNK_SLOTS; i++)
            atomic_store(&kni_slot(i)->generation, first_generation);
        kni_guard_unlock(&lock);
        return;
    }
    atomic_store(&n_chunks, 0);
    for (uint32_t i = 0; i < n; i++) {
        kni_free(kni_chunks[i], sizeof(kni_tensor) * KNI_CHUNK_SLOTS);
        kni_chunks[i] = NULL;
    }
    kni_free(free_pool, free_pool_capacity * sizeof *free_pool);
    free_pool = NULL;
    n_free_pool = free_pool_capacity = 0;
    kni_guard_unlock(&lock);
}
