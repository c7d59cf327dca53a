/* Per-thread scratch memory, freed when its thread ends. */
#include "backend/cpu/gemm_workspace.h"

#include "core/allocator.h"
#include "core/platform.h"

typedef struct {
    void *data;
    size_t bytes;
} workspace;

static KNI_THREAD_LOCAL workspace held[KNI_WORKSPACE_COUNT];

void kni_workspace_release(void)
{
    for (int i = 0; i < KNI_WORKSPACE_COUNT; i++) {
        if (held[i].data) kni_free(held[i].data, held[i].bytes);
        held[i] = (workspace){NULL, 0};
    }
}

#if KNI_THREADS
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool key_made;

static void release_at_exit(void *unused)
{
    (void)unused;
    kni_workspace_release();
}

static void make_key(void) { key_made = pthread_key_create(&key, release_at_exit) == 0; }

/* The value of the key only says that there is something to release. */
static void release_when_thread_ends(void)
{
    pthread_once(&key_once, make_key);
    if (key_made) pthread_setspecific(key, held);
}
#else
static void release_when_thread_ends(void) {}
#endif

void *kni_workspace(kni_workspace_slot slot, size_t bytes)
{
    workspace *w = &held[slot];
    if (w->bytes >= bytes) return w->data;
    if (w->data) kni_free(w->data, w->bytes);
    *w = (workspace){NULL, 0};
    void *data = kni_allocate(bytes);
    if (!data) return NULL;
    *w = (workspace){data, bytes};
    release_when_thread_ends();
    return data;
}
