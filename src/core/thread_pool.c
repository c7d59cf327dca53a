/* The thread team. Workers wait for a job by spinning for some microseconds, then sleep. A job is open while
   the gate says so; a worker takes part by entering the gate, and the caller waits only for those that
   entered, so a worker that is late to wake never delays anybody.
   Each worker has a span of neighbouring tasks, the same of each job with as many tasks, and helps the others when its own
   is done: what it wrote for one op it mostly reads for the next, out of its own caches. */
#include "core/thread_pool.h"
#include "core/error.h"
#include "core/float_env.h"
#include "core/platform.h"
#include "core/thread_state.h"
#include "core/thread_team.h"

#if !KNI_TEAM

void kni_parallel_for(int64_t n_tasks, void (*fn)(void *arg, int64_t task, int worker), void *arg)
{
    for (int64_t t = 0; t < n_tasks; t++) fn(arg, t, 0);
}

int kni_threads(void) { return 1; }
void kni_set_threads(int n) { (void)n; }
void kni_pool_shutdown(void) {}
bool kni_pool_inside(void) { return false; }

#else

#include <stdatomic.h>
#include <stdlib.h>

/* The gate: the number of the job in the upper half, then one bit that says whether it is open, then the
   number of workers that entered it. */
#define GATE_OPEN ((uint64_t)1 << 31)
#define GATE_ENTERED (GATE_OPEN - 1)
#define GATE_JOB(gate) ((gate) >> 32)

enum { SPINS_BEFORE_YIELD = 64, SPINS_BEFORE_SLEEP = 1500, SPINS_CROWDED = 20 };

typedef void task_fn(void *arg, int64_t task, int worker);

typedef struct span {
    _Alignas(64) _Atomic int64_t next; /* the first task of the span that nobody has taken */
} span;

static struct {
    _Alignas(64) _Atomic uint64_t gate;
    span spans[KNI_MAX_THREADS];
    _Alignas(64) _Atomic uint32_t left; /* workers that entered and are done */
    _Atomic bool stop;
    _Atomic bool held;      /* some thread has the team */
    _Atomic int wanted;     /* 0: not yet known */
    _Atomic int spin_limit; /* how long an idle worker spins */
    task_fn *fn;            /* the job; written while the gate is closed and nobody is inside */
    void *arg;
    int64_t n_tasks;
    int n_spans;
    _Atomic int size; /* threads in the team, the caller included; 0 or 1: none created */
    int asked;        /* the size that was asked for when the team was made */
} pool;

static KNI_THREAD_LOCAL bool inside; /* this thread runs tasks */

bool kni_pool_inside(void) { return inside; }

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static int clamp_threads(long n)
{
    if (n <= 0) n = kni_team_processors();
    return n < KNI_MAX_THREADS ? (int)n : KNI_MAX_THREADS;
}

void kni_set_threads(int n) { atomic_store(&pool.wanted, clamp_threads(n)); }

int kni_threads(void)
{
    int n = atomic_load_explicit(&pool.wanted, memory_order_relaxed);
    if (n) return n;
    const char *text = kni_environment("KN_THREADS");
    int unset = 0;
    char *end = NULL;
    long wanted = text ? strtol(text, &end, 10) : 0;
    bool nonsense = text && *text && (*end || wanted < 0 || wanted > KNI_MAX_THREADS);
    n = clamp_threads(nonsense ? 0 : wanted);
    if (nonsense)
        kni_log(1, "KN_THREADS=%s is ignored: a number from 1 to %d, or 0 for one per core; %d are used",
                text, (int)KNI_MAX_THREADS, n);
    return atomic_compare_exchange_strong(&pool.wanted, &unset, n) ? n : unset;
}

/* Where the span of a worker begins, and where that of the one before it ends. */
static int64_t span_begin(int64_t n_tasks, int workers, int worker)
{
    const int64_t each = n_tasks / workers, more = n_tasks % workers;
    return each * worker + (worker < more ? worker : more);
}

/* Takes tasks of the open job until none is left: those of its own span, then those of the next workers. */
static void run_tasks(int worker)
{
    const int workers = pool.n_spans;
    inside = true;
    for (int i = 0; i < workers; i++) {
        const int owner = (worker + i) % workers;
        const int64_t end = span_begin(pool.n_tasks, workers, owner + 1);
        while (atomic_load_explicit(&pool.spans[owner].next, memory_order_relaxed) < end) {
            int64_t task = atomic_fetch_add_explicit(&pool.spans[owner].next, 1, memory_order_relaxed);
            if (task >= end) break;
            pool.fn(pool.arg, task, worker);
        }
    }
    inside = false;
}

static bool has_news(uint64_t gate, uint64_t seen) { return (gate & GATE_OPEN) && GATE_JOB(gate) != seen; }

/* The caller opens the gate and then looks for sleepers, so one of the two sees the other. */
static bool is_idle(uint64_t seen)
{
    return !has_news(atomic_load(&pool.gate), seen) && !atomic_load(&pool.stop);
}

/* Waits for a job other than `seen` and returns the gate as it was then; 0 when the team ends. */
static uint64_t wait_for_job(uint64_t seen)
{
    const int limit = atomic_load_explicit(&pool.spin_limit, memory_order_relaxed);
    for (int i = 0; i < limit; i++) {
        uint64_t gate = atomic_load_explicit(&pool.gate, memory_order_acquire);
        if (has_news(gate, seen)) return gate;
        if (atomic_load_explicit(&pool.stop, memory_order_relaxed)) return 0;
        relax();
    }
    for (;;) {
        kni_team_sleep(is_idle, seen);
        uint64_t gate = atomic_load(&pool.gate);
        if (has_news(gate, seen)) return gate;
        if (atomic_load(&pool.stop)) return 0;
    }
}

void kni_team_work(int worker)
{
    uint64_t seen = 0;
    kni_this_thread.internal = true;
    for (;;) {
        uint64_t gate = wait_for_job(seen);
        if (!gate) return;
        seen = GATE_JOB(gate);
        bool entered = false;
        while (!entered && (gate & GATE_OPEN) && GATE_JOB(gate) == seen &&
               worker < atomic_load_explicit(&pool.size, memory_order_relaxed))
            entered = atomic_compare_exchange_weak(&pool.gate, &gate, gate + 1);
        if (!entered) continue;
        (void)
            kni_float_enter(); /* a new thread has the mode of the one that made it, and a task may be the user's */
        run_tasks(worker);
        atomic_fetch_add_explicit(&pool.left, 1, memory_order_release);
    }
}

/* Ends the team; the caller holds it. */
static void disband(void)
{
    atomic_store(&pool.stop, !KNI_TEAM_LASTS);
    kni_team_wake();
    kni_team_join(pool.size);
    atomic_store(&pool.stop, false);
    pool.size = pool.asked = 0;
}

/* The threads of a parent do not exist in its child: it begins without a team and makes its own. */
static void after_fork(void)
{
    pool.size = pool.asked = 0;
    atomic_store(&pool.gate, 0);
    atomic_store(&pool.left, 0);
    atomic_store(&pool.stop, false);
    atomic_store(&pool.held, inside);
}

/* Makes a team of n threads; the caller holds it. Where a thread cannot be created the team stays smaller. */
static void gather(int n)
{
    if (pool.size > 1) disband();
    atomic_store(&pool.spin_limit, n > kni_team_processors() ? SPINS_CROWDED : SPINS_BEFORE_SLEEP);
    if (!KNI_TEAM_LASTS) atomic_store(&pool.gate, 0);
    pool.asked = n;
    pool.size = kni_team_start(n, after_fork);
}

/* Hands the job to the team and takes part in it; the caller holds the team. */
static void lead(int64_t n_tasks, task_fn *fn, void *arg)
{
    pool.fn = fn;
    pool.arg = arg;
    pool.n_tasks = n_tasks;
    pool.n_spans = pool.size;
    for (int i = 0; i < pool.n_spans; i++)
        atomic_store_explicit(&pool.spans[i].next, span_begin(n_tasks, pool.n_spans, i),
                              memory_order_relaxed);
    atomic_store_explicit(&pool.left, 0, memory_order_relaxed);
    /* Job numbers wrap but are never 0, which is what a new worker has seen. */
    uint64_t job = (GATE_JOB(atomic_load_explicit(&pool.gate, memory_order_relaxed)) + 1) & UINT32_MAX;
    atomic_store(&pool.gate, (job ? job : 1) << 32 | GATE_OPEN);
    kni_team_wake();
    run_tasks(0);
    const uint64_t gate = atomic_fetch_and(&pool.gate, ~GATE_OPEN);
    const uint32_t entered = (uint32_t)(gate & GATE_ENTERED);
    for (int i = 0; atomic_load_explicit(&pool.left, memory_order_acquire) < entered; i++) {
        if (i < SPINS_BEFORE_YIELD)
            relax();
        else
            kni_yield();
    }
}

static bool try_hold(void) { return !atomic_exchange_explicit(&pool.held, true, memory_order_acquire); }

void kni_parallel_for(int64_t n_tasks, void (*fn)(void *arg, int64_t task, int worker), void *arg)
{
    const int threads = n_tasks > 1 && !inside ? kni_threads() : 1;
    const kni_float_env env = kni_float_enter();
    if (threads == 1 || !try_hold()) {
        for (int64_t t = 0; t < n_tasks; t++) fn(arg, t, 0);
    } else {
        if (pool.asked != threads) gather(threads);
        lead(n_tasks, fn, arg);
        atomic_store_explicit(&pool.held, false, memory_order_release);
    }
    kni_float_leave(env);
}

void kni_pool_shutdown(void)
{
    while (!try_hold()) kni_yield();
    if (pool.size > 1) disband();
    pool.asked = 0;
    atomic_store_explicit(&pool.held, false, memory_order_release);
}

#endif
