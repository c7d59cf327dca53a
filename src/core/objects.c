/* Handles of objects: slots with generations, counted uses, and where the latest ones were freed. */
#include "core/objects.h"
#include "core/allocator.h"
#include "core/error.h"
#include "core/life.h"
#include "core/platform.h"
#include "core/text.h"
#include <kn/tensor.h>
#include <stdatomic.h>
#include <string.h>

/* A handle is generation, slot and a 1, which no pointer to an object ends with. */
#if UINTPTR_MAX > UINT32_MAX
enum { SLOT_BITS = 24, GENERATION_BITS = 38, USE_BITS = 20 };
#else
enum { SLOT_BITS = 11, GENERATION_BITS = 20, USE_BITS = 11 };
#endif
#ifdef KN_FREESTANDING
enum { FIRST_SLOTS = 4, FREED_RING = 4 };
#else
enum { FIRST_SLOTS = 64, FREED_RING = 1024 };
#endif
enum { CHUNKS = 20 };

#define SLOT_LIMIT ((uint32_t)1 << SLOT_BITS)
#define GENERATION_LIMIT ((uintptr_t)1 << GENERATION_BITS)
#define ENDED ((uintptr_t)1 << USE_BITS)
#define USES (ENDED - 1)

/* The state is generation, whether the handle has ended, and how many uses there are, in one word: so a use can only begin
   while the handle is good, and exactly one of those who leave finds that it was the last. */
typedef struct slot {
    _Atomic uintptr_t state;
    void *object;
    const kni_object_kind *kind;
    const char *owner; /* the type of the object that it belongs to; NULL: the user's own */
    uint32_t index;    /* its own number */
    uint32_t next;     /* free slot + 1 */
    bool inherited;    /* made before fork(): it is the parent's, with its threads and files */
    uintptr_t older;   /* generations up to this one are older than the latest kn_shutdown */
} slot;

typedef struct freed {
    uintptr_t handle;
    const kni_object_kind *kind;
    const char *by, *site; /* site: NULL until the line arrives */
    const void *thread;
} freed;

static kni_guard lock = KNI_GUARD_INIT(KNI_GUARD_OUTER);
static slot first_chunk[FIRST_SLOTS];
static slot *chunks[CHUNKS] = {first_chunk}; /* chunk k has FIRST_SLOTS << k slots and never moves */
static _Atomic uint32_t n_slots;
static uint32_t free_slots; /* the first one + 1 */
static freed ring[FREED_RING];
static uint64_t n_freed;
/* One more than the number of the first object that the thread's latest free ended, 0 where it has its line. */
static KNI_THREAD_LOCAL uint64_t first_freed;

static uintptr_t generation_of(uintptr_t state) { return state >> (USE_BITS + 1); }

static slot *slot_number(uint32_t index)
{
    int k = 0;
    uint32_t begin = 0;
    while (index - begin >= (uint32_t)FIRST_SLOTS << k) begin += (uint32_t)FIRST_SLOTS << k++;
    return &chunks[k][index - begin];
}

static uint32_t index_of(uintptr_t handle) { return (uint32_t)(handle >> 1) & (SLOT_LIMIT - 1); }

/* NULL for bits that no handle has. */
static slot *slot_of(uintptr_t handle)
{
    bool possible = (handle & 1) && index_of(handle) < atomic_load_explicit(&n_slots, memory_order_acquire) &&
                    handle >> (SLOT_BITS + 1) < GENERATION_LIMIT;
    return possible ? slot_number(index_of(handle)) : NULL;
}

/* ---- making; under the lock */

static bool add_chunk(uint32_t n)
{
    int k = 0;
    uint32_t begin = 0;
    while (begin < n) begin += (uint32_t)FIRST_SLOTS << k++;
    size_t bytes = ((size_t)FIRST_SLOTS << k) * sizeof(slot);
    if (k == CHUNKS || n + (uint64_t)(bytes / sizeof(slot)) > SLOT_LIMIT) return false;
    if (!chunks[k]) chunks[k] = kni_allocate(bytes);
    if (chunks[k] && k) memset((void *)chunks[k], 0, bytes);
    return chunks[k] != NULL;
}

/* The number of a free slot, UINT32_MAX where there is none. */
static uint32_t take_slot(void)
{
    if (free_slots) {
        uint32_t index = free_slots - 1;
        free_slots = slot_number(index)->next;
        return index;
    }
    uint32_t n = atomic_load_explicit(&n_slots, memory_order_relaxed);
    uint32_t begin = 0;
    for (int k = 0; begin < n; k++) begin += (uint32_t)FIRST_SLOTS << k;
    if (begin == n && !add_chunk(n)) return UINT32_MAX;
    slot *s = slot_number(n);
    s->index = n;
    atomic_store_explicit(&s->state, (uintptr_t)1 << (USE_BITS + 1) | ENDED, memory_order_relaxed);
    atomic_store_explicit(&n_slots, n + 1, memory_order_release);
    return n;
}

static void end_with_library(void);
static void forked(void);
static kni_life_hook hook = {end_with_library, KNI_IN_CHILD(forked), false, NULL};

void *kni_object_make(const kni_object_kind *kind, void *object, const char *function)
{
    kni_life_watch(&hook);
    kni_guard_lock(&lock);
    uint32_t index = take_slot();
    uintptr_t handle = 0;
    if (index != UINT32_MAX) {
        slot *s = slot_number(index);
        uintptr_t generation = generation_of(atomic_load_explicit(&s->state, memory_order_relaxed));
        s->object = object;
        s->kind = kind;
        s->owner = NULL;
        handle = generation << (SLOT_BITS + 1) | (uintptr_t)index << 1 | 1;
        atomic_store_explicit(&s->state, generation << (USE_BITS + 1), memory_order_release);
    }
    kni_guard_unlock(&lock);
    if (handle) return (void *)handle;
    kni_fail(KN_ERROR_MEMORY, "%s: no memory for the handle of a %s", function, kind->type);
    kind->destroy(object);
    return NULL;
}

/* ---- what is wrong with a handle */

static bool find_freed(uintptr_t handle, freed *found)
{
    bool there = false;
    kni_guard_lock(&lock);
    for (uint64_t i = n_freed; i-- > 0 && n_freed - i <= FREED_RING && !there;) {
        *found = ring[i % FREED_RING];
        there = found->handle == handle;
    }
    kni_guard_unlock(&lock);
    return there;
}

static KNI_COLD void explain_null(const kni_object_kind *kind, const char *function)
{
#ifdef KN_FREESTANDING
    const char *latest = "";
    bool told = false;
#else
    const char *latest = kni_failure_latest();
    bool told = *latest && !strstr(latest, " is NULL: ");
#endif
    kni_fail(KN_ERROR_ARGUMENT, "%s: the %s is NULL: it is missing, or could not be made%s%s", function,
             kind->noun, told ? "; the latest error was: " : "", told ? latest : "");
}

static KNI_COLD void explain(uintptr_t handle, const kni_object_kind *kind, const char *function)
{
    if (!handle) {
        explain_null(kind, function);
        return;
    }
    const slot *s = slot_of(handle);
    uintptr_t state = s ? atomic_load_explicit(&s->state, memory_order_acquire) : 0;
    uintptr_t now = generation_of(state), then = handle >> (SLOT_BITS + 1);
    freed f;
    if (s && now == then && !(state & ENDED) && s->kind != kind)
        kni_fail(KN_ERROR_HANDLE, "%s: this is a %s, not a %s", function, s->kind->type, kind->type);
    else if (s && now == then && !(state & ENDED))
        kni_fail(KN_ERROR_HANDLE, "%s: the %s is in use too often at the same time", function, kind->noun);
    else if (s && now == then && s->inherited)
        kni_fail(KN_ERROR_HANDLE,
                 "%s: this %s was made before fork() and belongs to the parent process; make another one",
                 function, kind->noun);
    else if (find_freed(handle, &f) && f.kind != kind)
        kni_fail(KN_ERROR_HANDLE, "%s: this was a %s, not a %s; it was %s%s%s", function, f.kind->type,
                 kind->type, f.kind->ended, f.site ? " at " : "", f.site ? f.site : "");
    else if (find_freed(handle, &f))
        kni_fail(KN_ERROR_HANDLE, "%s: the %s was %s%s%s%s%s", function, kind->noun, kind->ended,
                 f.by ? " by " : "", f.by ? f.by : "", f.site ? " at " : "", f.site ? f.site : "");
    else if (s && then > 0 && then <= now)
        kni_fail(KN_ERROR_HANDLE, "%s: the %s was %s", function, kind->noun, kind->ended);
    else
        kni_fail(KN_ERROR_HANDLE, "%s: this is no %s: it was never made, or its variable was written over",
                 function, kind->type);
}

/* ---- using */

static kni_object_use enter(uintptr_t handle)
{
    slot *s = slot_of(handle);
    if (!s) return (kni_object_use){0};
    uintptr_t state = atomic_load_explicit(&s->state, memory_order_acquire);
    while (generation_of(state) == handle >> (SLOT_BITS + 1) && !(state & ENDED) && (state & USES) < USES)
        if (atomic_compare_exchange_weak_explicit(&s->state, &state, state + 1, memory_order_acq_rel,
                                                  memory_order_acquire)) {
            kni_thread_self()->depth_of_calls++;
            return (kni_object_use){s->object, s, NULL, 0};
        }
    return (kni_object_use){0};
}

bool kni_object_signal(const void *handle, const kni_object_kind *kind, void (*act)(void *object))
{
    slot *s = slot_of((uintptr_t)handle);
    uintptr_t state = s ? atomic_load_explicit(&s->state, memory_order_acquire) : 0;
    while (s && generation_of(state) == (uintptr_t)handle >> (SLOT_BITS + 1) && !(state & ENDED) &&
           (state & USES) < USES)
        if (atomic_compare_exchange_weak_explicit(&s->state, &state, state + 1, memory_order_acq_rel,
                                                  memory_order_acquire)) {
            bool good = s->kind == kind;
            if (good) act(s->object);
            /* An object that was freed meanwhile stays in memory: a handler cannot destroy it. */
            atomic_fetch_sub_explicit(&s->state, 1, memory_order_acq_rel);
            return good;
        }
    return false;
}

kni_object_use kni_object_none(const char *function)
{
    return (kni_object_use){NULL, NULL, function, kni_error_number()};
}

kni_object_use kni_object_enter(const void *handle, const kni_object_kind *kind, const char *function)
{
    kni_object_use use = enter((uintptr_t)handle);
    use.function = function;
    use.failure = kni_error_number();
    if (KNI_LIKELY(use.slot && ((slot *)use.slot)->kind == kind)) return use;
    explain((uintptr_t)handle, kind, function);
    kni_object_leave(&use);
    return (kni_object_use){0};
}

/* Nobody can reach the slot any more. One whose generations are used up is never used again. */
static void finish(slot *s)
{
    if (s->inherited) return; /* a use that began before fork() */
    s->kind->destroy(s->object);
    kni_guard_lock(&lock);
    uintptr_t generation = generation_of(atomic_load_explicit(&s->state, memory_order_relaxed)) + 1;
    s->object = NULL;
    if (generation < GENERATION_LIMIT) {
        atomic_store_explicit(&s->state, generation << (USE_BITS + 1) | ENDED, memory_order_release);
        s->next = free_slots;
        free_slots = s->index + 1;
    }
    kni_guard_unlock(&lock);
}

void kni_object_leave(kni_object_use *use)
{
    slot *s = use->slot;
    if (use->function && kni_error_number() != use->failure) kni_error_named_by(use->function);
    use->function = NULL;
    if (!s) return;
    use->slot = NULL;
    kni_thread_self()->depth_of_calls--;
    uintptr_t before = atomic_fetch_sub_explicit(&s->state, 1, memory_order_acq_rel);
    if ((before & (ENDED | USES)) == (ENDED | 1)) finish(s);
}

/* ---- freeing */

static void remember(uintptr_t handle, const kni_object_kind *kind, const char *by)
{
    kni_guard_lock(&lock);
    ring[n_freed++ % FREED_RING] = (freed){handle, kind, by, NULL, &first_freed};
    kni_guard_unlock(&lock);
}

/* Ends the handle; the object goes with its last use. False where another thread was faster. */
static bool end(uintptr_t handle, kni_object_use *use, const kni_object_kind *kind, const char *by)
{
    slot *s = use->slot;
    bool mine = !(atomic_fetch_or_explicit(&s->state, ENDED, memory_order_acq_rel) & ENDED);
    if (mine) remember(handle, kind, by);
    kni_object_leave(use);
    return mine;
}

static uint64_t freed_so_far(void)
{
    kni_guard_lock(&lock);
    uint64_t n = n_freed;
    kni_guard_unlock(&lock);
    return n;
}

bool kni_object_is_older(const void *handle)
{
    const slot *s = slot_of((uintptr_t)handle);
    uintptr_t generation = (uintptr_t)handle >> (SLOT_BITS + 1);
    return s && generation && generation <= s->older;
}

void kni_object_free(const void *handle, const kni_object_kind *kind, const char *function)
{
    first_freed = 0;
    if (!handle || kni_object_is_older(handle)) return;
    uint64_t begin = freed_so_far();
    kni_object_use use = kni_object_enter(handle, kind, function);
    if (!use.slot) return;
    __attribute__((cleanup(kni_ends_leave), unused)) const char *before = kni_ends_enter(function);
    const char *owner = ((slot *)use.slot)->owner;
    if (owner) {
        kni_fail(KN_ERROR_ARGUMENT, "%s: the %s belongs to a %s, which frees it", function, kind->noun,
                 owner);
        kni_object_leave(&use);
        return;
    }
    if (end((uintptr_t)handle, &use, kind, NULL))
        first_freed = begin + 1; /* after what destroying it may have freed */
    else
        explain((uintptr_t)handle, kind, function);
}

void *kni_object_adopt(const void *handle, const kni_object_kind *kind, const char *owner,
                       const char *function)
{
    kni_object_use use = kni_object_enter(handle, kind, function);
    slot *s = use.slot;
    if (!s) return NULL;
    kni_guard_lock(&lock);
    const char *before = s->owner;
    if (!before) s->owner = owner;
    kni_guard_unlock(&lock);
    void *object = before ? NULL : use.object;
    if (before) kni_fail(KN_ERROR_HANDLE, "%s: the %s belongs to a %s already", function, kind->noun, before);
    kni_object_leave(&use);
    return object;
}

void kni_object_free_adopted(const void *handle, const kni_object_kind *kind, const char *by)
{
    kni_object_use use = enter((uintptr_t)handle);
    if (use.slot) (void)end((uintptr_t)handle, &use, kind, by);
}

void kni_object_discard(const void *handle, const kni_object_kind *kind, const char *by)
{
    kni_object_use use = enter((uintptr_t)handle);
    const slot *s = use.slot;
    if (s && s->kind == kind && !s->owner)
        (void)end((uintptr_t)handle, &use, kind, by);
    else
        kni_object_leave(&use);
}

/* ---- the end of the library, and fork */

/* Objects hold tensors and devices, which end with the library. What belongs to another one goes with it; functions of the user's
   that run here cannot shut down again. */
static void end_with_library(void)
{
    uint32_t n = atomic_load_explicit(&n_slots, memory_order_acquire);
    for (uint32_t i = 0; i < n; i++) {
        uintptr_t state = atomic_load_explicit(&slot_number(i)->state, memory_order_acquire);
        slot_number(i)->older = generation_of(state) - (state & ENDED ? 1 : 0);
    }
    kni_thread_self()->depth_of_calls++;
    for (uint32_t i = 0; i < n; i++) {
        const slot *s = slot_number(i);
        uintptr_t handle = s->older << (SLOT_BITS + 1) | (uintptr_t)i << 1 | 1;
        kni_object_use use = s->owner ? (kni_object_use){0} : enter(handle);
        if (use.slot) (void)end(handle, &use, s->kind, "kn_shutdown");
    }
    kni_thread_self()->depth_of_calls--;
}

/* In the child: the parent's handles end, and nothing of theirs is destroyed here. */
static void forked(void)
{
    for (uint32_t i = 0; i < atomic_load_explicit(&n_slots, memory_order_acquire); i++) {
        slot *s = slot_number(i);
        if (!s->object) continue;
        s->inherited = true;
        atomic_fetch_or_explicit(&s->state, ENDED, memory_order_acq_rel);
    }
}

static kni_guard once = KNI_GUARD_INIT(KNI_GUARD_LOADING);
void kni_once_begin(void) { kni_guard_lock(&once); }
void kni_once_end(void) { kni_guard_unlock(&once); }

void kn_site_freed(const char *site)
{
    if (first_freed) {
        kni_guard_lock(&lock);
        for (uint64_t i = n_freed; i-- > first_freed - 1 && n_freed - i <= FREED_RING;)
            if (ring[i % FREED_RING].thread == &first_freed && !ring[i % FREED_RING].site)
                ring[i % FREED_RING].site = site;
        kni_guard_unlock(&lock);
        first_freed = 0;
    }
    kn_site_pending(site);
}
