/* kiln bench --device DEVICE [ROW[:SIZE] ...]: the time of one kind of work on a device, one line for each, made for
   scripts: "row size milliseconds gigabytes-per-second teraflops", and for the MLP how many kernels a step launches.
   bench/gpu/compare_kernels.py sets them beside PyTorch's. */
#define _POSIX_C_SOURCE 200809L
#include "bench_gpu.h"
#include "kiln.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TURNS = 7, WARM_UP = 3 };
/* How long a turn runs at least. */
static const double turn_seconds = 0.05;

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void kiln_print_kernels(kn_device device)
{
    if (!device || !getenv("KN_CUDA_PROFILE")) return;
    size_t bytes = kn_device_report(device, "kernels", NULL, 0) + 1;
    char *text = malloc(bytes);
    if (text && kn_device_report(device, "kernels", text, bytes)) fputs(text, stderr);
    free(text);
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Records of the tape may lie in a queue of their own. */
static kn_status wait_for_both(bench_gpu *b)
{
    kn_status s = kn_sync(b->tape);
    return s == KN_OK ? kn_sync(b->device) : s;
}

static kn_status run_many(const bench_gpu_row *row, bench_gpu *b, int count, double *spent)
{
    kn_status s = wait_for_both(b);
    double start = seconds();
    for (int i = 0; i < count && s == KN_OK; i++) s = row->run(b);
    if (s == KN_OK) s = wait_for_both(b);
    *spent = (seconds() - start) / count;
    return s;
}

/* Median seconds of one run; negative after a failure. */
static double measure(const bench_gpu_row *row, bench_gpu *b)
{
    double times[TURNS], spent = 0;
    kn_status s = row->prepare(b) ? run_many(row, b, WARM_UP, &spent) : KN_ERROR_MEMORY;
    if (s == KN_OK) s = run_many(row, b, WARM_UP, &spent);
    int count = spent > 0 ? (int)(turn_seconds / spent) + 1 : 1;
    for (int i = 0; i < TURNS && s == KN_OK; i++)
        s = run_many(row, b, count < 1000 ? count : 1000, &times[i]);
    for (int i = 0; i < b->n_operands; i++) kn_drop(b->operands[i]);
    if (s) return -1;
    qsort(times, TURNS, sizeof *times, compare_doubles);
    return times[TURNS / 2];
}

static int print_row(const bench_gpu_row *row, const char *device, int64_t size)
{
    char taped[200];
    snprintf(taped, sizeof taped, "autodiff(%s)", device);
    bench_gpu b = {.device = kn_device_open(device), .tape = kn_device_open(taped), .size = size};
    kn_device_use(b.device);
    double spent = b.device && b.tape ? measure(row, &b) : -1;
    kn_device_use(NULL);
    if (spent < 0) {
        fprintf(stderr, "kiln: %s failed: %s\n", row->name, kn_last_error());
        return 1;
    }
    kiln_print_kernels(b.device);
    printf("%s %lld %.6f %.1f %.1f\n", row->name, (long long)size, 1e3 * spent, row->bytes(&b) / spent / 1e9,
           row->flops(&b) / spent / 1e12);
    fflush(stdout);
    return 0;
}

static int print_mlp(const char *device)
{
    char taped[200];
    snprintf(taped, sizeof taped, "autodiff(%s)", device);
    int64_t kernels;
    double milliseconds = bench_gpu_mlp(taped, &kernels);
    if (milliseconds < 0) {
        fprintf(stderr, "kiln: mlp failed: %s\n", kn_last_error());
        return 1;
    }
    kiln_print_kernels(kn_device_open(taped));
    printf("mlp 128 %.6f 0.0 0.0", milliseconds);
    if (kernels >= 0) printf(" %lld", (long long)kernels);
    printf("\n");
    return 0;
}

/* `name` may carry a size, as in matmul:1024. -1 for a name that is none. */
static int run_named(const char *device, const char *name)
{
    size_t length = strcspn(name, ":");
    int64_t given = name[length] == ':' ? strtoll(name + length + 1, NULL, 10) : 0;
    if (!strcmp(name, "mlp")) return print_mlp(device);
    for (int i = 0; bench_gpu_row_at(i); i++) {
        const bench_gpu_row *row = bench_gpu_row_at(i);
        if (strlen(row->name) != length || memcmp(row->name, name, length)) continue;
        if (given) return print_row(row, device, given);
        int result = 0;
        for (int k = 0; k < 3 && row->sizes[k]; k++) result |= print_row(row, device, row->sizes[k]);
        return result;
    }
    return -1;
}

int kiln_bench_gpu(int count, char **arguments)
{
    const char *device = NULL;
    bool bad = false;
    int result = 0, first = 0;
    if (!kiln_option_value(count, arguments, &first, "--device", &device, &bad) || bad)
        return kiln_usage_error("bench --device needs a device, such as cuda:0");
    first++;
    for (int i = first; i < count; i++) {
        int status = run_named(device, arguments[i]);
        if (status < 0) return kiln_usage_error("bench --device has no row '%s'", arguments[i]);
        result |= status;
    }
    if (first < count) return result;
    for (int i = 0; bench_gpu_row_at(i); i++) result |= run_named(device, bench_gpu_row_at(i)->name);
    return result | print_mlp(device);
}
