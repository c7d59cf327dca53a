/* The team of threads that CPU kernels share. One call hands out a number of tasks and returns when all are
   done. How work is cut into tasks is the caller's affair and must depend on the shapes alone, never on
   kni_threads(): then results do not depend on the number of threads. */
#ifndef KNI_CORE_THREAD_POOL_H
#define KNI_CORE_THREAD_POOL_H

#include <stdbool.h>
#include <stdint.h>

enum { KNI_MAX_THREADS = 256 };

/* Runs fn(arg, task, worker) for every task in 0 .. n_tasks-1, in any order, on the team; the caller is
   worker 0 and `worker` is below KNI_MAX_THREADS. A call from inside a task, and a call while another thread
   holds the team, runs all tasks on the calling thread as worker 0. Everything written before the call is
   visible to the tasks, and what they write is visible after it. */
void kni_parallel_for(int64_t n_tasks, void (*fn)(void *arg, int64_t task, int worker), void *arg);

/* How many threads the team has, the caller included. The first call reads KN_THREADS. */
int kni_threads(void);

/* Sets the number of threads, from the next kni_parallel_for on; 0: as many as this process has processors. */
void kni_set_threads(int n);

/* Whether the calling thread is in the middle of a task. */
bool kni_pool_inside(void);

/* Ends and joins all threads of the team; the next kni_parallel_for makes a new one. Not from inside a task. */
void kni_pool_shutdown(void);

#endif
