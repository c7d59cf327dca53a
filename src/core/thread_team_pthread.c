/* Workers as pthreads, made when the team is gathered and joined when it is disbanded. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "core/thread_pool.h"
#include "core/thread_team.h"

#if KNI_THREADS
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for sleeping only */
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static _Alignas(64) _Atomic int sleepers;
static pthread_t threads[KNI_MAX_THREADS];
static void (*forked)(void);

int kni_team_processors(void)
{
#ifdef __linux__
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
#endif
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

static void in_child(void)
{
    pthread_mutex_init(&lock, NULL);
    pthread_cond_init(&wake, NULL);
    atomic_store(&sleepers, 0);
    forked();
}

static void *run(void *worker)
{
    kni_team_work((int)(intptr_t)worker);
    return NULL;
}

int kni_team_start(int n, void (*after_fork)(void))
{
    int size = 1;
    if (!forked && pthread_atfork(NULL, NULL, in_child) == 0) forked = after_fork;
    /* Signals are for the program's own threads. */
    sigset_t all, old;
    sigfillset(&all);
    bool masked = pthread_sigmask(SIG_SETMASK, &all, &old) == 0;
    while (size < n && pthread_create(&threads[size], NULL, run, (void *)(intptr_t)size) == 0) size++;
    if (masked) pthread_sigmask(SIG_SETMASK, &old, NULL);
    return size;
}

void kni_team_join(int n)
{
    for (int i = 1; i < n; i++) pthread_join(threads[i], NULL);
}

void kni_team_sleep(bool (*is_idle)(uint64_t seen), uint64_t seen)
{
    pthread_mutex_lock(&lock);
    atomic_fetch_add(&sleepers, 1);
    while (is_idle(seen)) pthread_cond_wait(&wake, &lock);
    atomic_fetch_sub(&sleepers, 1);
    pthread_mutex_unlock(&lock);
}

void kni_team_wake(void)
{
    if (atomic_load(&sleepers) == 0) return;
    pthread_mutex_lock(&lock);
    pthread_cond_broadcast(&wake);
    pthread_mutex_unlock(&lock);
}
#endif
