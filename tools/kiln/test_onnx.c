/* kiln run --test: cases in ONNX's layout, in worker processes, so that one that crashes or hangs ends alone. */
#define _POSIX_C_SOURCE 200809L
#define KN_NO_SITES 1
#include "kiln.h"
#include "onnx_cases.h"
#include <dirent.h>
#include <errno.h>
#include <kn.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_JOBS = 64, DEPTH = 8, PATH = 4096 };

typedef struct worker {
    pid_t process; /* 0: none */
    int socket;
    int current; /* the case that it runs; -1: none */
    double begun;
} worker;

typedef struct run {
    const char *device, *filter;
    int64_t jobs, limit; /* limit: seconds of a case */
    bool verbose;
    char **cases;
    int n, room, next;
    int passed, failed, crashed;
    worker workers[MOST_JOBS];
} run;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- finding cases */

static bool add_case(run *r, const char *folder)
{
    if (r->filter && !strstr(folder, r->filter)) return true;
    if (r->n == r->room) {
        int room = r->room ? 2 * r->room : 256;
        char **cases = realloc(r->cases, (size_t)room * sizeof *cases);
        if (!cases) return false;
        r->cases = cases;
        r->room = room;
    }
    r->cases[r->n] = strdup(folder);
    return r->cases[r->n++] != NULL;
}

static bool find_cases(run *r, const char *folder, int depth)
{
    char path[PATH];
    struct stat info;
    snprintf(path, sizeof path, "%.4000s/model.onnx", folder);
    if (access(path, F_OK) == 0) return add_case(r, folder);
    DIR *list = depth < DEPTH ? opendir(folder) : NULL;
    bool good = true;
    for (const struct dirent *entry; list && good && (entry = readdir(list)) != NULL;) {
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%.3800s/%.255s", folder, entry->d_name);
        if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) good = find_cases(r, path, depth + 1);
    }
    if (list) closedir(list);
    return good;
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* ---- workers */

/* Runs the cases whose numbers arrive, until none do. */
static void serve(const run *r, int socket)
{
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    kn_device device = r->device ? kn_device_open(r->device) : NULL;
    char wrong[CASE_REASON] = "";
    if (r->device && !device) snprintf(wrong, sizeof wrong, "%s", kn_last_error());
    if (device) kn_device_use(device);
    if (r->jobs > 1) kn_set_threads(1);
    for (int number; read(socket, &number, sizeof number) == (ssize_t)sizeof number;) {
        case_result result = {0};
        kn_seed(NULL, 0);
        memcpy(result.reason, wrong, sizeof wrong);
        if (!*wrong) kiln_run_onnx_case(r->cases[number], &result);
        if (write(socket, &result, sizeof result) != (ssize_t)sizeof result) break;
    }
    _exit(0);
}

static bool start_worker(run *r, worker *w)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair)) return false;
    fflush(stdout);
    w->process = fork();
    if (w->process == 0) {
        for (int i = 0; i < r->jobs; i++)
            if (r->workers[i].process > 0 && &r->workers[i] != w) close(r->workers[i].socket);
        close(pair[0]);
        serve(r, pair[1]);
    }
    close(pair[1]);
    w->socket = pair[0];
    w->current = -1;
    if (w->process > 0) return true;
    close(pair[0]);
    w->process = 0;
    return false;
}

static void end_worker(worker *w, int signal_number, char *reason)
{
    int status = 0;
    close(w->socket);
    if (signal_number) kill(w->process, signal_number);
    while (waitpid(w->process, &status, 0) < 0 && errno == EINTR) {}
    if (reason && WIFSIGNALED(status))
        snprintf(reason, CASE_REASON, "the process ended with signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else if (reason)
        snprintf(reason, CASE_REASON, "the process ended with code %d", WEXITSTATUS(status));
    w->process = 0;
}

static void finish(run *r, worker *w, const case_result *result)
{
    const char *folder = r->cases[w->current], *name = strrchr(folder, '/');
    *(result->passed ? &r->passed : &r->failed) += 1;
    if (!result->passed) printf("FAIL %s: %s\n", name ? name + 1 : folder, result->reason);
    if (result->passed && r->verbose)
        printf("ok   %s  %.0f ms\n", name ? name + 1 : folder, (now() - w->begun) * 1e3);
    fflush(stdout);
    w->current = -1;
}

/* A worker has something to say, or has ended. */
static void hear(run *r, worker *w)
{
    case_result result = {0};
    if (read(w->socket, &result, sizeof result) == (ssize_t)sizeof result) {
        result.reason[CASE_REASON - 1] = 0;
        finish(r, w, &result);
        return;
    }
    end_worker(w, 0, result.reason);
    if (w->current >= 0) finish(r, w, &result);
}

static bool feed(run *r)
{
    for (int i = 0; i < r->jobs; i++) {
        worker *w = &r->workers[i];
        bool idle = !w->process || w->current < 0;
        if (!idle || r->next >= r->n) continue;
        if (!w->process && !start_worker(r, w)) return false;
        w->current = r->next++;
        w->begun = now();
        if (write(w->socket, &w->current, sizeof w->current) != (ssize_t)sizeof w->current) hear(r, w);
    }
    return true;
}

static void watch(run *r)
{
    struct pollfd list[MOST_JOBS];
    worker *of[MOST_JOBS];
    nfds_t n = 0;
    for (int i = 0; i < r->jobs; i++) {
        worker *w = &r->workers[i];
        if (!w->process || w->current < 0) continue;
        if (now() - w->begun > (double)r->limit) {
            case_result result = {0};
            end_worker(w, SIGKILL, NULL);
            snprintf(result.reason, sizeof result.reason, "no result after %lld s", (long long)r->limit);
            finish(r, w, &result);
            continue;
        }
        of[n] = w;
        list[n++] = (struct pollfd){.fd = w->socket, .events = POLLIN};
    }
    if (n && poll(list, n, 200) > 0)
        for (nfds_t i = 0; i < n; i++)
            if (list[i].revents) hear(r, of[i]);
}

static bool is_busy(const run *r)
{
    for (int i = 0; i < r->jobs; i++)
        if (r->workers[i].process && r->workers[i].current >= 0) return true;
    return false;
}

static int run_cases(run *r)
{
    signal(SIGPIPE, SIG_IGN);
    while (r->next < r->n || is_busy(r)) {
        if (!feed(r)) {
            fprintf(stderr, "kiln run --test: no worker can be started: %s\n", strerror(errno));
            return 1;
        }
        watch(r);
    }
    for (int i = 0; i < r->jobs; i++)
        if (r->workers[i].process) end_worker(&r->workers[i], 0, NULL);
    printf("%d passed, %d failed\n", r->passed, r->failed);
    return r->failed || !r->passed;
}

/* ---- the whole */

static int read_options(run *r, int count, char **arguments, bool *found)
{
    bool bad = false;
    for (int i = 0; i < count && !bad; i++) {
        const char *text = NULL;
        if (kiln_option(arguments, i, "--test")) continue;
        if (kiln_option(arguments, i, "--verbose"))
            r->verbose = true;
        else if (kiln_option_value(count, arguments, &i, "--device", &r->device, &bad)) {
        } else if (kiln_option_value(count, arguments, &i, "--filter", &r->filter, &bad)) {
        } else if (kiln_option_value(count, arguments, &i, "--jobs", &text, &bad))
            bad = bad || (r->jobs = strtoll(text, NULL, 10)) < 1 || r->jobs > MOST_JOBS;
        else if (kiln_option_value(count, arguments, &i, "--limit", &text, &bad))
            bad = bad || (r->limit = strtoll(text, NULL, 10)) < 1;
        else if (arguments[i][0] == '-')
            return kiln_usage_error(
                "run --test takes folders, --device, --jobs, --filter, --limit and --verbose, not '%s'",
                arguments[i]);
        else {
            *found = true;
            if (!find_cases(r, arguments[i], 0)) return 1;
        }
    }
    return bad ? kiln_usage_error("run --test: an option has no value that makes sense") : 0;
}

int kiln_test_onnx(int count, char **arguments)
{
    run r = {.limit = 120};
    bool found = false;
    /* Options first: they filter what is found. */
    for (int i = 0; i + 1 < count; i++)
        if (!strcmp(arguments[i], "--filter")) r.filter = arguments[i + 1];
    int code = read_options(&r, count, arguments, &found);
    if (!code && !found) code = kiln_usage_error("run --test needs a folder");
    if (!code) qsort(r.cases, (size_t)r.n, sizeof *r.cases, by_name);
    if (!code && !r.n) {
        fputs("kiln run --test: there is no case below these folders, which is a folder with model.onnx and "
              "test_data_set_0 in it",
              stderr);
        fprintf(stderr, r.filter ? "; or none has '%s' in its path\n" : "\n", r.filter);
    }
    if (!r.jobs) r.jobs = kn_get_threads(); /* of one thread each, unless one case has them all */
    if (r.jobs > r.n) r.jobs = r.n;
    if (r.jobs > MOST_JOBS) r.jobs = MOST_JOBS;
    if (!code) code = run_cases(&r);
    for (int i = 0; i < r.n; i++) free(r.cases[i]);
    free(r.cases);
    return code;
}
