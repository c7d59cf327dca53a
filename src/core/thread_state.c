/* Starting and ending a thread's state, and the ring of call sites. */
#include "core/thread_state.h"
#include "core/call_site.h"
#include "core/error.h"
#include "core/life.h"
#include "core/table.h"
#include <stdatomic.h>
#include <string.h>

KNI_THREAD_LOCAL kni_thread kni_this_thread;
static _Atomic uint32_t next_id = 1;

static kni_guard list_lock = KNI_GUARD_INIT(KNI_GUARD_INNER);
static kni_thread *threads; /* that have state */
static int64_t ended_live;
static const kni_thread *ending; /* the thread inside kn_shutdown, NULL: none */

static void unlist(kni_thread *t)
{
    kni_guard_lock(&list_lock);
    kni_thread **link = &threads;
    while (*link && *link != t) link = &(*link)->next_thread;
    if (*link) *link = t->next_thread;
    ended_live += atomic_load(&t->live);
    atomic_store(&t->live, 0);
    kni_guard_unlock(&list_lock);
}

/* The latest failure is in nobody's count of bytes, because it stays after kn_shutdown, which leaves none. */
static void make_latest(kni_thread *t)
{
    t->latest = kni_allocate(sizeof *t->latest);
    if (!t->latest) return;
    kni_memory_uncount(sizeof *t->latest);
    memset(t->latest, 0, sizeof *t->latest);
}

static void free_latest(kni_thread *t)
{
    if (!t->latest) return;
    kni_memory_recount(sizeof *t->latest);
    kni_free(t->latest, sizeof *t->latest);
    t->latest = NULL;
}

static void thread_end(kni_thread *t)
{
    kni_scope_free_all(t);
    kni_table_return_slots(t);
    kni_small_trim(&t->small);
    kni_free(t->history, sizeof *t->history);
    t->history = NULL;
    unlist(t);
    t->context = (kni_context){0}; /* its devices may end with it */
    t->started = false;
}

static uint32_t older_ids; /* numbers below were given out before the latest kn_shutdown */

bool kni_thread_is_older(uint32_t id) { return id && id < older_ids; }

int32_t kni_threads_close(void)
{
    int32_t others = 0;
    kni_guard_lock(&list_lock);
    for (const kni_thread *t = threads; t; t = t->next_thread)
        others += t != &kni_this_thread && !t->internal;
    if (!others) ending = &kni_this_thread;
    kni_guard_unlock(&list_lock);
    return others;
}

void kni_threads_reopen(void)
{
    kni_guard_lock(&list_lock);
    ending = NULL;
    older_ids = atomic_load(&next_id);
    kni_guard_unlock(&list_lock);
}

/* The child has one thread, which begins anew: its scopes and tensors were the parent's. */
static void forked(void)
{
    kni_thread *t = &kni_this_thread;
    threads = NULL;
    ended_live = 0;
    ending = NULL;
    if (!t->started) return;
    kni_scope_forget_all(t);
    t->n_free_slots = 0;
    atomic_store(&t->live, 0);
    /* The current device stays: using it in the child is an error that names it. */
    t->context = (kni_context){
        .current = t->context.current, .no_grad = t->context.no_grad, .autocast = t->context.autocast};
    t->runs_for = 0;
    t->depth_of_calls = 0;
    t->id = atomic_fetch_add(&next_id, 1);
    t->next_thread = NULL;
    threads = t;
}

int64_t kni_threads_live(void)
{
    kni_guard_lock(&list_lock);
    int64_t n = ended_live;
    for (kni_thread *t = threads; t; t = t->next_thread) n += atomic_load(&t->live);
    kni_guard_unlock(&list_lock);
    return n;
}

#if KNI_THREADS
static pthread_key_t end_key;
static pthread_once_t end_once = PTHREAD_ONCE_INIT;
static void end_thread(void *t)
{
    thread_end(t);
    free_latest(t);
}
static void make_key(void) { (void)pthread_key_create(&end_key, end_thread); }
#endif

void kni_thread_start(kni_thread *t)
{
    t->id = atomic_fetch_add(&next_id, 1);
    t->root_scope = KNI_NO_SLOT;
    t->started = true;
    t->watch = KNI_GROWTH_WATCH;
    t->history = kni_allocate(sizeof *t->history);
    if (t->history) memset(t->history, 0, sizeof *t->history);
    if (!t->latest) make_latest(t);
    static kni_life_hook hook = {.forked = KNI_IN_CHILD(forked)};
    kni_fork_watch(&hook);
    kni_guard_lock(&list_lock);
    while (KNI_UNLIKELY(ending && ending != t && !t->internal)) {
        kni_guard_unlock(&list_lock);
        kni_yield();
        kni_guard_lock(&list_lock);
    }
    t->next_thread = threads;
    threads = t;
    kni_guard_unlock(&list_lock);
#if KNI_THREADS
    pthread_once(&end_once, make_key);
    (void)pthread_setspecific(end_key, t);
#endif
}

void kni_thread_end_self(void)
{
    kni_thread *t = &kni_this_thread;
    if (t->started) thread_end(t);
    if (!t->last_error) free_latest(t);
}

void kn_site_note(const char *site)
{
    kni_thread *t = kni_thread_self();
    kni_history *h = t->history;
    if (KNI_LIKELY(h != NULL)) {
        uint32_t i = (uint32_t)(t->serial % KNI_SITE_RING);
        /* A call that ran no op leaves the line of the call before it alone. */
        if (KNI_UNLIKELY(h->site_serials[i] == t->serial && h->sites[i]))
            i = (uint32_t)(++t->serial % KNI_SITE_RING);
        h->sites[i] = site;
        h->site_serials[i] = t->serial;
    }
    if (KNI_UNLIKELY(t->serial - t->placed >= KNI_SITE_RING / 2)) kni_scope_place(t);
    if (KNI_UNLIKELY(t->line_wanted)) kni_line_arrived(t, site);
    if (KNI_UNLIKELY(t->pending_error != 0)) kni_error_site(t, site);
}

void kn_site_done(const char *site)
{
    kni_thread *t = &kni_this_thread;
    if (KNI_UNLIKELY(t->line_wanted)) kni_line_arrived(t, site);
}

const char *kni_site_within(uint64_t serial, uint64_t reach)
{
    const kni_thread *t = kni_thread_self();
    const kni_history *h = t->history;
    for (uint64_t s = serial; h && s <= t->serial && s < serial + reach; s++)
        if (h->site_serials[s % KNI_SITE_RING] == s && h->sites[s % KNI_SITE_RING])
            return h->sites[s % KNI_SITE_RING];
    return NULL;
}

KNI_THREAD_LOCAL kni_op_now kni_this_op;

void kni_serial_back(kni_thread *t, uint64_t serial)
{
    kni_history *h = t->history;
    for (uint64_t s = t->serial, n = 0; h && s > serial && n < KNI_SITE_RING; s--, n++)
        if (h->site_serials[s % KNI_SITE_RING] == s) h->site_serials[s % KNI_SITE_RING] = 0;
    t->serial = serial;
    if (t->placed > serial) t->placed = serial;
}

/* The ring has the end without a line, which kn_site_note puts there where the caller has one. */
void kni_call_ended(kni_thread *t)
{
    kni_history *h = t->history;
    uint32_t i = (uint32_t)(t->serial % KNI_SITE_RING);
    if (KNI_UNLIKELY(!h) || h->site_serials[i] == t->serial) return;
    h->sites[i] = NULL;
    h->site_serials[i] = t->serial;
}

const char *kni_call_site(uint64_t serial, bool composite, bool *open)
{
    const kni_thread *t = kni_thread_self();
    const kni_history *h = t->history;
    uint64_t last = composite ? t->serial : serial;
    *open = false;
    /* Beyond this the ring has forgotten ends too. */
    if (!h || serial > t->serial || t->serial - serial >= KNI_SITE_RING) return NULL;
    for (uint64_t s = serial; s <= last; s++)
        if (h->site_serials[s % KNI_SITE_RING] == s) return h->sites[s % KNI_SITE_RING];
    *open = composite;
    return NULL;
}

const char *kni_site_of(uint64_t serial) { return kni_site_within(serial, KNI_SITE_REACH); }
