/* kiln bench overhead: what one tiny eager op costs, allocation and free included, beside PyTorch's. */
#define _POSIX_C_SOURCE 200809L
#include "kiln.h"
#include <kn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Batches are short, so that many of them run undisturbed on a machine that does other work. */
enum { BATCHES = 1001, CALLS = 1000 };
/* Limits of the issue, in nanoseconds. */
static const double eager_limit = 150, recorded_limit = 300;

/* Nanoseconds of one call over all batches; the least is what the call costs, the median what it cost here. */
typedef struct cost {
    double median, least;
} cost;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static kn_tensor ones(int64_t n)
{
    float data[16];
    for (int i = 0; i < 16; i++) data[i] = 1;
    return kn_from(data, KN_F32, KN_SHAPE(n));
}

/* kn_add of n elements and freeing its result; negative when it failed. */
static cost time_add(int64_t n, bool recorded)
{
    static double times[BATCHES];
    kn_scope scope = kn_scope_begin();
    kn_tensor a = kn_keep(ones(n)), b = kn_keep(ones(n));
    if (recorded) a = kn_require_grad(a);
    for (int r = 0; r < BATCHES; r++) {
        double start = now();
        for (int i = 0; i < CALLS; i++) kn_drop(kn_add(a, b));
        times[r] = (now() - start) / CALLS;
    }
    kn_tensor y = kn_add(a, b);
    bool good = kn_ok(y) && kn_is_require_grad(y) == recorded;
    kn_scope_end(scope, KN_NONE);
    qsort(times, BATCHES, sizeof *times, compare_doubles);
    return good ? (cost){times[BATCHES / 2], times[0]} : (cost){-1, -1};
}

static const char *python(void)
{
    const char *named = getenv("KN_PYTHON");
    return named && *named ? named : "python3";
}

/* The lines that the script prints: n, then median and least of eager and recorded adds. False where there is no
   PyTorch. */
static bool time_torch(const int64_t *sizes, int n, cost *eager, cost *recorded)
{
    char command[512];
    const char *script = "bench/overhead.py";
    FILE *probe = fopen(script, "r");
    if (!probe) return false;
    fclose(probe);
    snprintf(command, sizeof command, "'%s' %s 2>/dev/null", python(), script);
    FILE *pipe = popen(command, "r");
    if (!pipe) return false;
    int found = 0;
    long long size;
    cost e, r;
    while (fscanf(pipe, "%lld %lf %lf %lf %lf", &size, &e.median, &e.least, &r.median, &r.least) == 5)
        for (int i = 0; i < n; i++)
            if (sizes[i] == size) eager[i] = e, recorded[i] = r, found++;
    return pclose(pipe) == 0 && found == n;
}

static const char *verdict(cost c, double most)
{
    return c.median <= most ? "met" : c.least <= most ? "met by the least, not by the median" : "missed";
}

static void print_costs(long long elements, const char *who, cost eager, cost recorded)
{
    printf("%-10lld %-8s %12.1f %8.1f %14.1f %8.1f\n", elements, who, eager.median, eager.least,
           recorded.median, recorded.least);
}

static int bench_overhead(void)
{
    static const int64_t sizes[] = {1, 4, 16};
    enum { N = sizeof sizes / sizeof *sizes };
    cost eager[N], recorded[N], torch_eager[N], torch_recorded[N];
    kn_device cpu = kn_device_open("cpu"), tape = kn_device_open("autodiff(cpu)");
    if (!cpu || !tape) {
        fprintf(stderr, "kiln: %s\n", kn_last_error());
        return 1;
    }
    bool good = true;
    for (int i = 0; i < N; i++) {
        kn_device_use(cpu);
        eager[i] = time_add(sizes[i], false);
        kn_device_use(tape);
        recorded[i] = time_add(sizes[i], true);
        good = good && eager[i].median > 0 && recorded[i].median > 0;
    }
    kn_device_use(NULL);
    bool torch = time_torch(sizes, N, torch_eager, torch_recorded);
    printf("ns per op: add of f32, result freed, median and least of %d batches of %d calls\n", BATCHES,
           CALLS);
    printf("%-10s %-8s %12s %8s %14s %8s\n", "elements", "", "eager median", "least", "recorded", "least");
    for (int i = 0; i < N; i++) {
        print_costs(sizes[i], "kiln", eager[i], recorded[i]);
        if (torch) print_costs(sizes[i], "torch", torch_eager[i], torch_recorded[i]);
    }
    if (!torch)
        printf("no PyTorch: KN_PYTHON names a python that has it, run in the root of the repository\n");
    printf("goals: %.0f ns eager %s, %.0f ns recorded %s\n", eager_limit, verdict(eager[0], eager_limit),
           recorded_limit, verdict(recorded[0], recorded_limit));
    if (!good) fprintf(stderr, "kiln: an op failed: %s\n", kn_last_error());
    return good ? 0 : 1;
}

int kiln_command_bench(int count, char **arguments)
{
    if (count < 1)
        return kiln_usage_error("bench needs a name: overhead, fusion, gpt2, or some of mlp, cnn and lenet");
    if (!strcmp(arguments[0], "gpt2")) return kiln_bench_gpt2(count - 1, arguments + 1);
    if (!strncmp(arguments[0], "--device", 8)) return kiln_bench_gpu(count, arguments);
    if (!strcmp(arguments[0], "fusion")) return kiln_bench_fusion(count - 1, arguments + 1);
    if (strcmp(arguments[0], "overhead")) return kiln_bench_train(count, arguments);
    if (count > 1) return kiln_usage_error("bench overhead takes no argument '%s'", arguments[1]);
    return bench_overhead();
}
