/* Threads compile the kernels that a plan will probably need while another thread runs it. They leave nothing but images, found by
   their keys: a guess that nobody asks for, or that does not compile, is dropped silently. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "backend/runtime/runtime_ahead.h"
#include "core/allocator.h"
#include "core/life.h"
#include "core/thread_state.h"
#include "core/thread_team.h"
#include "support/disk_cache.h"
#include <string.h>

void kni_runtime_image_free(kni_runtime_image *image)
{
    kni_buffer_free(&image->kept);
    if (image->data) kni_free(image->data, image->bytes);
    image->data = NULL;
}

#if KNI_THREADS
#include <signal.h>
#include <stdlib.h>

enum { MOST_THREADS = 16, MOST_JOBS = 1024 };
enum { WAITS, RUNS, DONE };

typedef struct job {
    struct job *next;
    uint8_t state;
    bool unwanted; /* whoever compiles it frees it */
    kni_runtime_image image;
    size_t key_bytes, text; /* text: where it begins in the key */
    char *key;
} job;

struct kni_runtime_ahead {
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    pthread_t threads[MOST_THREADS];
    int n_threads, n_jobs;
    bool ends;
    job *jobs; /* in the order in which they came */
    const char *kind;
    kni_runtime_options options;
};

/* ---- the end of the program: its libraries must not be taken down while a compiler is at work */

static _Atomic int at_work;
static _Atomic bool program_ends;

static void wait_at_exit(void)
{
    atomic_store(&program_ends, true);
    while (atomic_load(&at_work)) kni_yield();
}

static void forked(void) { atomic_store(&at_work, 0); }

static bool watched;
static void watch_once(void) { watched = atexit(wait_at_exit) == 0; }

static bool watch_exit(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static kni_life_hook hook = {.forked = forked};
    kni_fork_watch(&hook);
    return pthread_once(&once, watch_once) == 0 && watched;
}

/* ---- jobs, under the lock */

static void free_job(kni_runtime_ahead *a, job *j)
{
    job **link = &a->jobs;
    while (*link != j) link = &(*link)->next;
    *link = j->next;
    a->n_jobs--;
    kni_runtime_image_free(&j->image);
    kni_free(j->key, j->key_bytes);
    kni_free(j, sizeof *j);
}

static job *find_job(const kni_runtime_ahead *a, const char *key, size_t key_bytes)
{
    for (job *j = a->jobs; j; j = j->next)
        if (!j->unwanted && j->key_bytes == key_bytes && !memcmp(j->key, key, key_bytes)) return j;
    return NULL;
}

static job *next_job(const kni_runtime_ahead *a)
{
    for (job *j = a->jobs; j; j = j->next)
        if (j->state == WAITS) return j;
    return NULL;
}

/* ---- the threads */

/* Nothing of it changes but the image, which nobody looks at before it is done. */
static void make(const kni_runtime_ahead *a, job *j)
{
    atomic_fetch_add(&at_work, 1);
    if (!atomic_load(&program_ends) && !kni_disk_cache_get(a->kind, j->key, j->key_bytes, &j->image.kept))
        j->image.data = kni_runtime_compile_silently(&a->options, j->key + j->text, &j->image.bytes);
    atomic_fetch_sub(&at_work, 1);
}

static void *work(void *self)
{
    kni_runtime_ahead *a = self;
    kni_this_thread.internal = true;
    pthread_mutex_lock(&a->lock);
    while (!a->ends) {
        job *j = next_job(a);
        if (!j) {
            pthread_cond_wait(&a->work, &a->lock);
            continue;
        }
        j->state = RUNS;
        pthread_mutex_unlock(&a->lock);
        make(a, j);
        pthread_mutex_lock(&a->lock);
        j->state = DONE;
        if (j->unwanted) free_job(a, j);
        pthread_cond_broadcast(&a->done);
    }
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

static void start_threads(kni_runtime_ahead *a, int compilers)
{
    int most = kni_team_processors();
    if (most > compilers) most = compilers;
    /* Signals are for the program's own threads. */
    sigset_t all, old;
    sigfillset(&all);
    bool masked = pthread_sigmask(SIG_SETMASK, &all, &old) == 0;
    while (a->n_threads < most && a->n_threads < MOST_THREADS &&
           pthread_create(&a->threads[a->n_threads], NULL, work, a) == 0)
        a->n_threads++;
    if (masked) pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void destroy(kni_runtime_ahead *a)
{
    pthread_mutex_lock(&a->lock);
    a->ends = true;
    pthread_cond_broadcast(&a->work);
    pthread_mutex_unlock(&a->lock);
    for (int i = 0; i < a->n_threads; i++) pthread_join(a->threads[i], NULL);
    while (a->jobs) free_job(a, a->jobs);
    pthread_cond_destroy(&a->work);
    pthread_cond_destroy(&a->done);
    pthread_mutex_destroy(&a->lock);
    kni_free(a, sizeof *a);
}

/* With threads, or NULL. The options point into themselves, so they are made where they stay. */
static kni_runtime_ahead *open_ahead(kni_runtime *rt)
{
    kni_runtime_ahead *a = watch_exit() ? kni_allocate(sizeof *a) : NULL;
    if (!a) return NULL;
    memset(a, 0, sizeof *a);
    a->kind = rt->kind->device;
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->work, NULL);
    pthread_cond_init(&a->done, NULL);
    if (!rt->kind->options(rt, &a->options)) start_threads(a, rt->kind->compilers);
    if (a->n_threads) return a;
    destroy(a);
    return NULL;
}

/* ---- what the device does with them */

void kni_runtime_compile_ahead(kni_driver *d, const char *text, const char *entry)
{
    kni_runtime *rt = kni_runtime_of(d);
    if (rt->lost || !kni_runtime_ours(rt)) return;
    if (!rt->ahead) rt->ahead = open_ahead(rt);
    kni_runtime_ahead *a = rt->ahead;
    job *j = a ? kni_allocate(sizeof *j) : NULL;
    if (!j) return;
    *j = (job){.state = WAITS};
    j->key = kni_runtime_key(rt, &a->options, text, entry, &j->key_bytes);
    if (!j->key) {
        kni_free(j, sizeof *j);
        return;
    }
    j->text = strlen(j->key) - strlen(text);
    pthread_mutex_lock(&a->lock);
    bool known = a->n_jobs >= MOST_JOBS || find_job(a, j->key, j->key_bytes);
    job **last = &a->jobs;
    while (*last) last = &(*last)->next;
    *last = j;
    a->n_jobs++;
    if (known)
        free_job(a, j);
    else
        pthread_cond_signal(&a->work);
    pthread_mutex_unlock(&a->lock);
}

void kni_runtime_forget_ahead(kni_driver *d)
{
    kni_runtime_ahead *a = kni_runtime_of(d)->ahead;
    if (!a || !kni_runtime_ours(kni_runtime_of(d))) return;
    pthread_mutex_lock(&a->lock);
    for (job *j = a->jobs, *next; j; j = next) {
        next = j->next;
        j->unwanted = true;
        if (j->state != RUNS) free_job(a, j);
    }
    pthread_mutex_unlock(&a->lock);
}

bool kni_runtime_ahead_take(kni_runtime *rt, const char *key, size_t key_bytes, kni_runtime_image *image)
{
    kni_runtime_ahead *a = rt->ahead;
    if (!a) return false;
    pthread_mutex_lock(&a->lock);
    job *j = find_job(a, key, key_bytes);
    while (j && j->state == RUNS) pthread_cond_wait(&a->done, &a->lock);
    bool made = j && j->state == DONE;
    if (made) {
        *image = j->image;
        j->image = (kni_runtime_image){.bytes = 0};
    }
    if (j) free_job(a, j); /* one that nobody began is compiled by the caller */
    pthread_mutex_unlock(&a->lock);
    return made;
}

void kni_runtime_ahead_close(kni_runtime *rt)
{
    if (rt->ahead && kni_runtime_ours(rt)) destroy(rt->ahead);
    rt->ahead = NULL;
}

#else
void kni_runtime_compile_ahead(kni_driver *d, const char *text, const char *entry)
{
    (void)d, (void)text, (void)entry;
}
void kni_runtime_forget_ahead(kni_driver *d) { (void)d; }
bool kni_runtime_ahead_take(kni_runtime *rt, const char *key, size_t key_bytes, kni_runtime_image *image)
{
    (void)rt, (void)key, (void)key_bytes, (void)image;
    return false;
}
void kni_runtime_ahead_close(kni_runtime *rt) { (void)rt; }
#endif
