/* Random programs over the public functions: all ops by kn_call and by their C functions, with operands that are the same
   tensor twice, overlapping views, nothing, stale or garbage; arguments out of range; every stack of decorators; gradients,
   programs, scopes that end early, devices that close in the middle, allocations that fail, threads. Sanitizers see what is
   written; here it is checked that no value changes that somebody holds, that every failure has a text, that nothing is left
   alive, that check(cpu,ref) agrees, and that stacks over the CPU give the CPU's bits.

   Usage: api_fuzz [--seed S] [--seconds N] [--calls N] [--device SPEC] [--first P] [--count N] [--limit N] [--findings N] [--verbose]
   --calls ends after so many calls; --device is compared with the CPU in place of the stacks that are drawn; --first and
   --count run a part of the programs; --limit seconds of the processor may one call take; after so many --findings it stops. A process of its own runs 200 programs at a time;
   a program that fails is run again alone with calls left out, and what is left of it is printed. */
#include "fuzz_actions.h"
/* the list of calls comes before what draws from it */
#include "api_calls.inc"
#include "fuzz_program.h"
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 200, THREADS = 3, ROOM = 96 << 20 };

typedef struct options {
    uint64_t seed, first, count;
    int seconds, limit, findings;
    int64_t calls;
    const char *device;
    bool verbose;
} options;

static report *shared;

/* Findings end the process at once; the environment may say otherwise. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1:detect_leaks=1"; }
const char *__ubsan_default_options(void);
const char *__ubsan_default_options(void) { return "halt_on_error=1:print_stacktrace=1"; }

/* ---- stacks */

static kn_device open_named(const char *spec)
{
    static struct {
        char spec[96];
        kn_device device;
    } opened[24];
    for (size_t i = 0; i < sizeof opened / sizeof *opened; i++) {
        if (!strcmp(opened[i].spec, spec)) return opened[i].device;
        if (opened[i].spec[0]) continue;
        opened[i].device = kn_device_open(spec);
        if (opened[i].device) snprintf(opened[i].spec, sizeof opened[i].spec, "%s", spec);
        return opened[i].device;
    }
    return NULL;
}

/* Stacks whose bits are equal. */
static const char *const pairs[][2] = {
    {"cpu", "fusion(cpu)"},    {"autodiff(cpu)", "autodiff(fusion(cpu))"},
    {"cpu", "fusion(cpu)"},    {"autodiff(cpu)", "autodiff(fusion(cpu))"},
    {"cpu", "check(cpu,ref)"}, {"autodiff(cpu)", "autodiff(check(cpu,ref))"},
    {"cpu", "trace(cpu)"},     {"autodiff(cpu)", "autodiff(profile(fusion(cpu)))"},
    {"ref", "fusion(ref)"},    {"autodiff(null)", "autodiff(fusion(null))"}};

static void random_stack(world *w, char *text)
{
    static const char *const leaves[] = {"cpu", "cpu", "cpu", "ref", "null"};
    static const char *const around[] = {"autodiff(%s)", "fusion(%s)",    "nan(%s)",      "trace(%s)",
                                         "profile(%s)",  "check(%s,ref)", "check(%s,cpu)"};
    strcpy(text, leaves[below(w, 5)]);
    bool null = !strcmp(text, "null"); /* has no values that could be checked */
    for (int depth = (int)below(w, 5); depth > 0 && strlen(text) < 60; depth--) {
        const char *form = around[below(w, null ? 5 : 7)], *hole = strchr(form, '%');
        memmove(text + (hole - form), text, strlen(text) + 1);
        memcpy(text, form, (size_t)(hole - form));
        strcat(text, hole + 2);
    }
}

/* ---- programs by their number */

static void *thread_main(void *context)
{
    world *w = context;
    plan p = {.seed = w->seed, .calls = 24};
    run_calls(w, &p);
    return NULL;
}

static void run_threads(const plan *p, const char *spec, kn_device device)
{
    pthread_t threads[THREADS];
    static world worlds[THREADS];
    int64_t before = kn_memory_stats().tensors_now;
    int n = 0;
    for (int i = 0; i < THREADS; i++) {
        plan own = {.seed = mix(p->seed + (uint64_t)i)};
        begin_world(&worlds[i], &own, spec, device);
        worlds[i].out = shared;
        worlds[i].thread = true;
        n += !pthread_create(&threads[n], NULL, thread_main, &worlds[i]);
    }
    for (int i = 0; i < n; i++) pthread_join(threads[i], NULL);
    (void)!kn_sync(device);
    int64_t after = kn_memory_stats().tensors_now;
    if (after != before)
        find(&worlds[0], "%lld tensors more than before are alive after the threads",
             (long long)(after - before));
}

static void run_pair(const plan *p, const char *first, const char *second)
{
    static world w;
    static outcome a, b;
    kn_device one = open_named(first), other = open_named(second);
    if (!one || !other) return;
    begin_world(&w, p, first, one);
    w.out = shared, w.left = &a, w.watch = true;
    run_plan(&w, p);
    begin_world(&w, p, second, other);
    w.out = shared, w.left = &b;
    if (!atomic_load(&shared->finding)) {
        run_plan(&w, p);
        /* null has no values, and what depends on them goes either way */
        bool null = strstr(second, "null") != NULL;
        if (!w.unspecified && !null && !atomic_load(&shared->finding)) compare_outcomes(&w, &a, &b);
    }
    free_outcome(&a);
    free_outcome(&b);
}

static void run_alone(const plan *p, world *chooser, bool fails)
{
    static world w;
    char spec[96];
    random_stack(chooser, spec);
    kn_device device = kn_device_open(spec);
    bool own = device != NULL;
    if (!device) device = open_named("cpu");
    begin_world(&w, p, own ? spec : "cpu", device);
    w.out = shared;
    w.watch = !fails && chance(chooser, 50);
    w.fails = fails ? 20 : 0;
    run_plan(&w, p);
    if (own) kn_device_close(device);
}

static void run_program(const options *o, uint64_t number, uint64_t left_out)
{
    world chooser = {.state = mix(o->seed * 0x2545f4914f6cdd1du + number)};
    plan p = {.seed = draw(&chooser), .calls = 6 + (int)below(&chooser, MAX_CALLS - 6), .left_out = left_out};
    atomic_store(&shared->program, number);
    shared->used = 0;
    shared->script[0] = 0;
    kn_memory_limit(ROOM);
    int how = (int)below(&chooser, 100), pair = (int)below(&chooser, sizeof pairs / sizeof *pairs);
    if (o->device)
        run_pair(&p, "cpu", o->device);
    else if (how < 50)
        run_pair(&p, pairs[pair][0], pairs[pair][1]);
    else if (how < 58)
        run_threads(&p, pairs[pair][1], open_named(pairs[pair][1]));
    else
        run_alone(&p, &chooser, how < 80);
    atomic_fetch_add(&shared->programs, 1);
}

/* ---- the process that runs, and the one that watches */

static int worker(const options *o, uint64_t first, uint64_t n, uint64_t left_out, time_t end)
{
    for (uint64_t i = first; i < first + n; i++) {
        if (end && time(NULL) >= end) break;
        run_program(o, i, left_out);
        if (atomic_load(&shared->finding)) return 3;
        if (o->calls && atomic_load(&shared->calls) >= o->calls) break;
    }
    kn_device_use(NULL);
    int64_t alive = kn_shutdown();
    if (!alive) return 0;
    snprintf(shared->what, sizeof shared->what, "%lld tensors are alive at the end", (long long)alive);
    return 3;
}

/* The processor time of a process in seconds: a busy machine makes no call longer. */
static int64_t seconds_used(pid_t process)
{
    clockid_t clock;
    struct timespec used = {0};
    if (!clock_getcpuclockid(process, &clock)) clock_gettime(clock, &used);
    return used.tv_sec;
}

/* The status of a process that ran programs, 0 when all is well. */
static int watch(const options *o, uint64_t first, uint64_t n, uint64_t left_out, time_t end, bool quiet)
{
    atomic_store(&shared->finding, 0);
    shared->what[0] = 0;
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        if (quiet && (!freopen("/dev/null", "w", stderr) || !freopen("/dev/null", "w", stdout))) _exit(4);
        exit(worker(o, first, n, left_out, end));
    }
    int status = 0;
    int64_t call = -1;
    int64_t since = time(NULL), used = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
        int64_t now = atomic_load(&shared->call_now);
        if (now != call) call = now, since = time(NULL), used = seconds_used(child);
        /* One that waits for ever uses no time. */
        if (seconds_used(child) - used > o->limit || time(NULL) - since > 8 * o->limit) {
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
            snprintf(shared->what, sizeof shared->what, "one call took longer than %d s", o->limit);
            return 1;
        }
        usleep(quiet ? 1000 : 20000);
    }
    return status;
}

static int call_total(void) { return MAX_CALLS; }

/* Leaves out what the failure does not need, a half, a quarter ... and at last single calls. */
static uint64_t shrink(const options *o, uint64_t number)
{
    uint64_t left_out = 0;
    time_t end = time(NULL) + 120;
    for (int length = call_total() / 2; length > 0 && time(NULL) < end; length /= 2)
        for (int at = 0; at < call_total() && time(NULL) < end; at += length) {
            uint64_t more = left_out;
            for (int i = at; i < at + length; i++) more |= UINT64_C(1) << i;
            if (more != left_out && watch(o, number, 1, more, 0, true)) left_out = more;
        }
    return left_out;
}

static void tell(const options *o, uint64_t first)
{
    uint64_t number = atomic_load(&shared->program);
    printf("FAIL seed %llu, program %llu: %s\n", (unsigned long long)o->seed, (unsigned long long)number,
           shared->what[0] ? shared->what : "the process died");
    static char whole[LONGEST_TEXT];
    memcpy(whole, shared->script, sizeof whole);
    options once = *o;
    once.calls = 0;
    int64_t calls = atomic_load(&shared->calls), programs = atomic_load(&shared->programs);
    if (strstr(shared->what, "took longer")) {
        printf("%sagain with --seed %llu --first %llu --count 1\n", whole, (unsigned long long)o->seed,
               (unsigned long long)number);
    } else if (watch(&once, number, 1, 0, 0, true)) {
        uint64_t left_out = shrink(&once, number);
        int status = watch(&once, number, 1, left_out, 0, true);
        printf("%s; again with --seed %llu --first %llu --count 1; the calls it needs:\n%s",
               shared->what[0] ? shared->what : "it dies", (unsigned long long)o->seed,
               (unsigned long long)number, status ? shared->script : "(different each time)\n");
    } else
        printf("%salone it passes; again with --seed %llu --first %llu --count %llu\n", whole,
               (unsigned long long)o->seed, (unsigned long long)first,
               (unsigned long long)(number - first + 1));
    atomic_store(&shared->calls, calls);
    atomic_store(&shared->programs, programs);
}

static bool read_options(int argc, char **argv, options *o)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(argv[i], "--verbose")) {
            o->verbose = true;
            continue;
        }
        if (!value) return false;
        uint64_t number = strtoull(value, NULL, 10);
        if (!strcmp(argv[i], "--device"))
            o->device = value;
        else if (!strcmp(argv[i], "--seed"))
            o->seed = number;
        else if (!strcmp(argv[i], "--seconds"))
            o->seconds = (int)number;
        else if (!strcmp(argv[i], "--calls"))
            o->calls = (int64_t)number;
        else if (!strcmp(argv[i], "--first"))
            o->first = number;
        else if (!strcmp(argv[i], "--count"))
            o->count = number;
        else if (!strcmp(argv[i], "--findings"))
            o->findings = (int)number;
        else if (!strcmp(argv[i], "--limit"))
            o->limit = (int)number;
        else
            return false;
        i++;
    }
    return true;
}

int main(int argc, char **argv)
{
    options o = {.seed = 1, .limit = 120, .findings = 10, .count = UINT64_MAX};
    if (!read_options(argc, argv, &o)) {
        fprintf(stderr, "api_fuzz: unknown option; the head of the source has the usage\n");
        return 2;
    }
    if (!o.seconds && !o.calls && o.count == UINT64_MAX) o.seconds = 10;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return 2;
    int findings = 0;
    time_t end = o.seconds ? time(NULL) + o.seconds : 0;
    printf("seed %llu, %d functions, %d called by hand or not at all\n", (unsigned long long)o.seed,
           (int)(sizeof api_calls / sizeof *api_calls), n_left_out);
    uint64_t last = o.count > UINT64_MAX - o.first ? UINT64_MAX : o.first + o.count;
    for (uint64_t at = o.first; at < last && findings < o.findings;) {
        if ((end && time(NULL) >= end) || (o.calls && atomic_load(&shared->calls) >= o.calls)) break;
        uint64_t n = last - at < BATCH ? last - at : BATCH;
        if (!watch(&o, at, n, 0, end, false)) {
            at += n;
            continue;
        }
        findings++;
        uint64_t number = atomic_load(&shared->program);
        tell(&o, at);
        fflush(stdout);
        at = number + 1;
    }
    printf(
        "%lld programs, %lld calls of which %lld failed with a text, %lld programs compared on two stacks\n",
        (long long)shared->programs, (long long)shared->calls, (long long)shared->failed_calls,
        (long long)shared->compared);
    if (o.verbose) printf("%s", shared->script);
    printf("%lld passed, %d failed\n", (long long)shared->programs - (findings ? findings : 0), findings);
    return findings != 0;
}
