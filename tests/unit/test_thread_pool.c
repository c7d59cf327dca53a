/* Tests of the thread team: every task runs once, nesting, several callers, changes of size, fork, and the
   cost of an empty job. */
#define _GNU_SOURCE
#include "core/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int passed, failed;

static void check(bool ok, const char *what)
{
    if (ok) {
        passed++;
    } else {
        failed++;
        printf("FAIL: %s\n", what);
    }
}

/* ThreadSanitizer cannot follow a fork of a program with threads. */
#if defined(__SANITIZE_THREAD__)
#define CAN_FORK 0
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CAN_FORK 0
#endif
#endif
#ifndef CAN_FORK
#define CAN_FORK 1
#endif

enum { TASKS = 1000 };

typedef struct {
    int counts[TASKS];
    _Atomic int64_t sum;
    _Atomic int highest_worker;
} record;

static void count_task(void *arg, int64_t task, int worker)
{
    record *r = arg;
    r->counts[task]++;
    atomic_fetch_add(&r->sum, task);
    int highest = atomic_load(&r->highest_worker);
    while (worker > highest && !atomic_compare_exchange_weak(&r->highest_worker, &highest, worker)) {}
}

static bool runs_each_once(int64_t n)
{
    static _Thread_local record r;
    r = (record){{0}, 0, 0};
    kni_parallel_for(n, count_task, &r);
    bool ok = r.sum == n * (n - 1) / 2;
    for (int64_t i = 0; i < TASKS; i++) ok = ok && r.counts[i] == (i < n);
    return ok;
}

static void test_counts(void)
{
    static const int threads[] = {1, 2, 3, 8, 0};
    for (int i = 0; i < 5; i++) {
        kni_set_threads(threads[i]);
        if (threads[i]) check(kni_threads() == threads[i], "the number of threads is what was set");
        for (int64_t n = 0; n <= TASKS; n += n < 10 ? 1 : 99)
            check(runs_each_once(n), "every task runs once");
    }
    check(kni_threads() >= 1, "0 means the processors");
}

/* The tasks of one call are seen by the next: each adds to what the last left. */
static int64_t cells[64];

static void double_cell(void *arg, int64_t task, int worker)
{
    (void)arg, (void)worker;
    cells[task] = 2 * cells[63 - task] % 1000003;
}

static void copy_cell(void *arg, int64_t task, int worker)
{
    (void)worker;
    ((int64_t *)arg)[task] = cells[task];
}

static void test_ordering(void)
{
    int64_t copy[64], plain[64];
    kni_set_threads(4);
    for (int i = 0; i < 64; i++) cells[i] = plain[i] = i + 1;
    for (int round = 0; round < 500; round++) {
        kni_parallel_for(32, double_cell, NULL);
        for (int i = 0; i < 32; i++) plain[i] = 2 * plain[63 - i] % 1000003;
        kni_parallel_for(64, copy_cell, copy);
        bool same = true;
        for (int i = 0; i < 64; i++) same = same && copy[i] == plain[i];
        if (!same || round == 499) {
            check(same, "a call sees what the one before it wrote");
            break;
        }
        cells[63 - round % 32] = plain[63 - round % 32] = round;
    }
}

static void nested_task(void *arg, int64_t task, int worker)
{
    record *r = arg;
    (void)worker;
    record inner = {{0}, 0, 0};
    kni_parallel_for(10, count_task, &inner);
    if (inner.sum == 45 && inner.highest_worker == 0) r->counts[task]++;
}

static void test_nesting(void)
{
    record r = {{0}, 0, 0};
    kni_set_threads(4);
    kni_parallel_for(50, nested_task, &r);
    int right = 0;
    for (int i = 0; i < 50; i++) right += r.counts[i] == 1;
    check(right == 50, "a nested call runs inline");
}

static void *caller(void *arg)
{
    int *bad = arg;
    for (int i = 0; i < 200; i++) *bad += !runs_each_once(1 + i % 60);
    return NULL;
}

static void test_many_callers(void)
{
    pthread_t threads[6];
    int bad[6] = {0};
    kni_set_threads(3);
    for (int i = 0; i < 6; i++) pthread_create(&threads[i], NULL, caller, &bad[i]);
    for (int i = 0; i < 40; i++) kni_set_threads(1 + i % 4), usleep(500);
    int total = 0;
    for (int i = 0; i < 6; i++) {
        pthread_join(threads[i], NULL);
        total += bad[i];
    }
    check(total == 0, "several threads call at once while the size changes");
}

static void test_shutdown(void)
{
    kni_set_threads(4);
    for (int i = 0; i < 20; i++) {
        check(runs_each_once(100), "runs after a shutdown");
        kni_pool_shutdown();
    }
    kni_pool_shutdown();
    check(true, "shutting down twice does nothing");
}

static void test_sleep(void)
{
    kni_set_threads(3);
    for (int i = 0; i < 5; i++) {
        usleep(20000);
        check(runs_each_once(200), "wakes workers that fell asleep");
    }
}

static void test_fork(void)
{
    kni_set_threads(3);
    runs_each_once(100);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        bool ok = true;
        for (int i = 0; i < 20; i++) ok = ok && runs_each_once(100);
        kni_pool_shutdown();
        _exit(ok ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a child process makes its own team");
    check(runs_each_once(100), "the parent goes on");
}

static void empty_task(void *arg, int64_t task, int worker) { (void)arg, (void)task, (void)worker; }

/* Two tasks that wait for each other, so that both threads must take part. */
static void meeting_task(void *arg, int64_t task, int worker)
{
    _Atomic int *arrived = arg;
    (void)task, (void)worker;
    atomic_fetch_add(arrived, 1);
    for (int i = 0; atomic_load(arrived) < 2; i++)
        if (i > 1000) sched_yield();
}

static void report_cost(const char *what, void (*task)(void *, int64_t, int))
{
    enum { ROUNDS = 5000 };
    struct timespec from, to;
    kni_set_threads(2);
    double best = 1e9;
    for (int repeat = 0; repeat < 10; repeat++) {
        clock_gettime(CLOCK_MONOTONIC, &from);
        for (int i = 0; i < ROUNDS; i++) {
            _Atomic int arrived = 0;
            kni_parallel_for(2, task, &arrived);
        }
        clock_gettime(CLOCK_MONOTONIC, &to);
        const double ns =
            ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) / ROUNDS;
        if (ns < best) best = ns;
    }
    printf("%s: %.0f ns\n", what, best);
}

int main(void)
{
    test_counts();
    test_ordering();
    test_nesting();
    test_many_callers();
    test_shutdown();
    test_sleep();
    if (CAN_FORK) test_fork();
    report_cost("an empty job for 2 threads", empty_task);
    report_cost("a job in which 2 threads meet", meeting_task);
    kni_pool_shutdown();
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
