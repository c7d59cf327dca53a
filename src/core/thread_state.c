/* Starting and ending a thread's state, and the ring of call sites. */
#include "core/thread_state.h"
#include "core/error.h"
#include "core/table.h"
#include <stdatomic.h>

KNI_THREAD_LOCAL kni_thread kni_this_thread;
static _Atomic uint32_t next_id = 1;

static void thread_end(kni_thread *t)
{
    kni_scope_free_all(t);
    kni_table_return_slots(t);
    kni_small_trim(&t->small);
    t->started = false;
}

#if KNI_THREADS
static pthread_key_t end_key;
static pthread_once_t end_once = PTHREAD_ONCE_INIT;
static void end_thread(void *t) { thread_end(t); }
static void make_key(void) { (void)pthread_key_create(&end_key, end_thread); }
#endif

void kni_thread_start(kni_thread *t)
{
    t->id = atomic_fetch_add(&next_id, 1);
    t->root_scope = KNI_NO_SLOT;
    t->started = true;
#if KNI_THREADS
    pthread_once(&end_once, make_key);
    (void)pthread_setspecific(end_key, t);
#endif
}

void kni_thread_end_self(void)
{
    if (kni_this_thread.started) thread_end(&kni_this_thread);
}

void kn_site_note(const char *site)
{
    kni_thread *t = kni_thread_self();
    uint32_t i = (uint32_t)(t->serial % KNI_SITE_RING);
    t->sites[i] = site;
    t->site_serials[i] = t->serial;
    if (KNI_UNLIKELY(t->pending_error != 0)) kni_error_site(t, site);
}

const char *kni_site_of(uint64_t serial)
{
    const kni_thread *t = kni_thread_self();
    for (uint64_t s = serial; s <= t->serial && s < serial + 64; s++)
        if (t->site_serials[s % KNI_SITE_RING] == s) return t->sites[s % KNI_SITE_RING];
    return NULL;
}
