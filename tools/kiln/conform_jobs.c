/* kiln conform --jobs N: N processes go through the ops and run those that no other has come to before; their counts are
   added up. What each op took is noted, and with --seconds none is begun when the time is over. */
#define _DEFAULT_SOURCE 1
#include "conform_run.h"
#include "kiln.h"
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { COUNTS = 6, CLAIMS = 4096, SLOWEST = 8, NOT_BEGUN = -1 };

/* Ops that share a place share the process. In memory of all. */
struct kiln_claims {
    double begun;
    struct {
        atomic_int owner; /* one more than the number of the process that runs it; 0: nobody yet */
        atomic_llong microseconds;
        char op[48];
    } place[CLAIMS];
};

double kiln_conform_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

bool kiln_claim(const kiln_run *run, const char *op, uint64_t hash)
{
    struct kiln_claims *all = run->claims;
    atomic_int *owner = &all->place[hash % CLAIMS].owner;
    const bool late = run->seconds && kiln_conform_now() - all->begun > run->seconds;
    int before = 0;
    if (!atomic_compare_exchange_strong(owner, &before, late ? NOT_BEGUN : run->part + 1))
        return before == run->part + 1;
    snprintf(all->place[hash % CLAIMS].op, sizeof all->place->op, "%s", op);
    return !late;
}

void kiln_claim_took(const kiln_run *run, uint64_t hash, double seconds)
{
    atomic_fetch_add(&run->claims->place[hash % CLAIMS].microseconds, (long long)(seconds * 1e6));
}

/* The ops that took longest, and those that were not begun. */
static void tell_times(kiln_run *run)
{
    struct kiln_claims *all = run->claims;
    int left = 0;
    for (int i = 0; i < CLAIMS; i++) left += atomic_load(&all->place[i].owner) == NOT_BEGUN;
    printf("slowest ops:");
    for (int n = 0; n < SLOWEST; n++) {
        int at = 0;
        for (int i = 1; i < CLAIMS; i++)
            if (atomic_load(&all->place[i].microseconds) > atomic_load(&all->place[at].microseconds)) at = i;
        if (atomic_load(&all->place[at].microseconds) == 0) break;
        printf("%s %s %.1f s", n ? "," : "", all->place[at].op,
               (double)atomic_load(&all->place[at].microseconds) * 1e-6);
        atomic_store(&all->place[at].microseconds, 0);
    }
    printf("\n");
    if (!left) return;
    printf("%d ops were not begun in %d s\n", left, run->seconds);
    run->not_begun = left;
}

static void counts_of(const kiln_run *run, int64_t *counts)
{
    const int64_t now[COUNTS] = {run->passed,    run->failed,        run->skipped,
                                 run->fell_back, run->own_tolerance, run->lacking};
    memcpy(counts, now, sizeof now);
}

static void add_counts(kiln_run *run, const int64_t *counts)
{
    run->passed += counts[0];
    run->failed += counts[1];
    run->skipped += counts[2];
    run->fell_back += counts[3];
    run->own_tolerance += counts[4];
    run->lacking += counts[5];
}

static void child(kiln_run *run, int part, int pipe_end, bool (*one)(kiln_run *run))
{
    int64_t counts[COUNTS];
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* a run that is stopped leaves nobody behind */
    setvbuf(stdout, NULL, _IOLBF, 0);
    run->part = part;
    bool good = one(run);
    fflush(stdout);
    counts_of(run, counts);
    if (!good || write(pipe_end, counts, sizeof counts) != (ssize_t)sizeof counts) _exit(1);
    _exit(0);
}

/* Adds what a process counted; one that broke off is a failure of its own. */
static void gather(kiln_run *run, int part, int pipe_end, pid_t process)
{
    int64_t counts[COUNTS];
    int status = 0;
    bool whole = read(pipe_end, counts, sizeof counts) == (ssize_t)sizeof counts;
    close(pipe_end);
    waitpid(process, &status, 0);
    if (whole) add_counts(run, counts);
    if (whole && WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
    printf("FAIL part %d of %d broke off%s%s\n", part, run->parts, WIFSIGNALED(status) ? ": " : "",
           WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "");
    run->failed++;
}

bool kiln_conform_jobs(kiln_run *run, bool (*one)(kiln_run *run))
{
    pid_t process[KILN_MAX_JOBS];
    int ends[KILN_MAX_JOBS];
    run->claims = mmap(NULL, sizeof *run->claims, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (run->claims == MAP_FAILED) {
        fprintf(stderr, "kiln: no memory to share between the processes\n");
        return false;
    }
    run->claims->begun = kiln_conform_now();
    fflush(stdout);
    for (int part = 0; part < run->parts; part++) {
        int both[2];
        process[part] = pipe(both) == 0 ? fork() : -1;
        if (process[part] < 0) {
            fprintf(stderr, "kiln: no process for part %d\n", part);
            return false;
        }
        if (process[part] == 0) {
            close(both[0]);
            child(run, part, both[1], one);
        }
        close(both[1]);
        ends[part] = both[0];
    }
    for (int part = 0; part < run->parts; part++) gather(run, part, ends[part], process[part]);
    tell_times(run);
    munmap(run->claims, sizeof *run->claims);
    return true;
}
