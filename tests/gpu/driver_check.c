/* Checks the CUDA driver alone on a real device: memory, kernels, recordings, failures, products. Built by
   bench/gpu/device_check.sh from src/backend/cuda and a few files of src/core, without the rest of the library.
     driver_check [basics|products|attention|timing|loss] ...    without a name: all */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "driver_check.h"
#include "core/error.h"
#include <kn/custom_op.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int check_failures, check_count;

/* Of the ops, which are not linked: how src/support tells its failures. */
kn_status kn_custom_fail(kn_status code, const char *text) { return kni_fail(code, "%s", text); }

bool check_note(bool good, const char *what, const char *file, int line)
{
    check_count++;
    if (good) return true;
    check_failures++;
    printf("FAILED %s:%d: %s (latest error: %s)\n", file, line, what, kn_last_error());
    return false;
}

double check_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Repeatable numbers in -1 .. 1. */
double check_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int32_t)(*state >> 32) / 2147483648.0;
}

static const char kernel_text[] =
    "struct params { long long n; float scale; };\n"
    "extern \"C\" __global__ void scale_add(const float *x, float *y, params p)\n"
    "{\n"
    "    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < p.n) y[i] = x[i] * p.scale + y[i];\n"
    "}\n";
typedef struct scale_params {
    int64_t n;
    float scale;
} scale_params;

/* ---- memory */

static void round_trip(kni_driver *d, size_t bytes, size_t offset)
{
    unsigned char *from = malloc(bytes + 1), *to = malloc(bytes + 1);
    void *memory = d->allocate(d, bytes + offset);
    uint64_t state = bytes;
    CHECK(memory != NULL);
    for (size_t i = 0; i < bytes; i++) from[i] = (unsigned char)(100 * check_random(&state));
    memset(to, 7, bytes + 1);
    CHECK(d->upload(d, memory, offset, from, bytes) == KN_OK);
    unsigned char first = from[0], last = from[bytes ? bytes - 1 : 0];
    /* The caller's memory is free at once. */
    if (bytes) from[0] = (unsigned char)~first;
    CHECK(d->download(d, to, memory, offset, bytes) == KN_OK);
    if (bytes) from[0] = first;
    CHECK(!memcmp(from, to, bytes) && to[bytes] == 7);
    CHECK(!bytes || to[bytes - 1] == last);
    d->free(d, memory);
    free(from);
    free(to);
}

static void check_memory(kni_driver *d)
{
    static const size_t sizes[] = {0,       1, 3, 256, 4097, 1 << 20, (4 << 20) - 1, 4 << 20, (4 << 20) + 1,
                                   45000001};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) round_trip(d, sizes[i], i % 2 ? 512 : 0);
    for (int i = 0; i < 300; i++) round_trip(d, 100000, 0);
    CHECK(d->allocate(d, (size_t)1 << 46) == NULL);
    enum { N = 1000 };
    char data[N], back[N];
    for (int i = 0; i < N; i++) data[i] = (char)i;
    char *memory = d->allocate(d, N), *other = d->allocate(d, N);
    CHECK(d->upload(d, memory, 0, data, N) == KN_OK && d->fill_zero(d, other, 0, N) == KN_OK);
    CHECK(d->copy(d, other, 100, memory, 50, 200) == KN_OK && d->download(d, back, other, 0, N) == KN_OK);
    for (int i = 0; i < N; i++) CHECK(back[i] == (i >= 100 && i < 300 ? (char)(i - 50) : 0));
    d->free(d, memory);
    d->free(d, other);
}

/* ---- kernels and recordings */

static void check_kernels(kni_driver *d)
{
    enum { N = 100000 };
    static float x[N], y[N], back[N];
    for (int i = 0; i < N; i++) x[i] = (float)i, y[i] = 1;
    double start = check_seconds();
    kni_module *m = d->compile(d, kernel_text, strlen(kernel_text), "scale_add");
    double first = check_seconds();
    kni_module *again = d->compile(d, kernel_text, strlen(kernel_text), "scale_add");
    printf("compile %.1f ms, again %.2f ms\n", 1e3 * (first - start), 1e3 * (check_seconds() - first));
    if (!CHECK(m && again)) return;
    void *buffers[2] = {d->allocate(d, sizeof x), d->allocate(d, sizeof y)};
    scale_params p = {N, 2};
    kni_launch_shape shape = {{(N + 255) / 256, 1, 1}, 256, 0};
    CHECK(d->upload(d, buffers[0], 0, x, sizeof x) == KN_OK &&
          d->upload(d, buffers[1], 0, y, sizeof y) == KN_OK);
    CHECK(d->launch(d, m, &shape, buffers, 2, &p, sizeof p) == KN_OK);
    CHECK(d->launch(d, again, &shape, buffers, 2, &p, sizeof p) == KN_OK);
    CHECK(d->download(d, back, buffers[1], 0, sizeof back) == KN_OK);
    int wrong = 0;
    for (int i = 0; i < N; i++) wrong += back[i] != 4 * (float)i + 1;
    CHECK(wrong == 0);
    /* A recording of three launches, replayed ten times. */
    CHECK(d->record_begin(d) == KN_OK);
    for (int i = 0; i < 3; i++) CHECK(d->launch(d, m, &shape, buffers, 2, &p, sizeof p) == KN_OK);
    CHECK(d->upload(d, buffers[0], 0, x, 4) != KN_OK && d->sync(d) != KN_OK);
    void *scratch = d->allocate(d, 1 << 20);
    d->free(d, scratch);
    kni_recording *r = d->record_end(d);
    if (CHECK(r != NULL)) {
        for (int i = 0; i < 10; i++) CHECK(d->replay(d, r) == KN_OK);
        CHECK(d->download(d, back, buffers[1], 0, sizeof back) == KN_OK);
        wrong = 0;
        for (int i = 0; i < N; i++) wrong += back[i] != 64 * (float)i + 1;
        CHECK(wrong == 0);
        d->record_free(d, r);
    }
    CHECK(d->compile(d, "extern \"C\" __global__ void bad(float *x)\n{\n    x[0] = nothing;\n}\n", 60,
                     "bad") == NULL);
    CHECK(strstr(kn_last_error(), "x[0] = nothing") != NULL);
    printf("as it should be: %s\n", kn_last_error());
    for (int i = 0; i < 2; i++) d->free(d, buffers[i]);
    d->unload(d, m);
    d->unload(d, again);
}

/* Work of one invocation that takes a while, on buffers of its own or all on the same one; what a replay takes. */
static double time_spins(kni_driver *d, kni_module *m, void **buffers, bool apart, int expected)
{
    enum { SPINS = 8 };
    const uint64_t written[2] = {1, 0};
    kni_launch_shape one = {{1, 1, 1}, 1, 0};
    int32_t value = 1, got = 0;
    CHECK(d->record_begin(d) == KN_OK);
    for (int i = 0; i < SPINS; i++) {
        d->record_writes(d, written);
        CHECK(d->launch(d, m, &one, &buffers[apart ? i : 0], 1, &value, sizeof value) == KN_OK);
    }
    kni_recording *r = d->record_end(d);
    if (!CHECK(r != NULL)) return 0;
    for (int i = 0; i < SPINS; i++) CHECK(d->fill_zero(d, buffers[i], 0, 4) == KN_OK);
    CHECK(d->replay(d, r) == KN_OK && d->sync(d) == KN_OK);
    value = 10;
    CHECK(d->record_params(d, r, 0, &value, sizeof value) == KN_OK);
    double start = check_seconds();
    CHECK(d->replay(d, r) == KN_OK && d->sync(d) == KN_OK);
    double taken = check_seconds() - start;
    CHECK(d->download(d, &got, buffers[0], 0, sizeof got) == KN_OK && got == expected);
    d->record_free(d, r);
    return taken;
}

static void check_recordings(kni_driver *d)
{
    static const char text[] = "extern \"C\" __global__ void spin(int *x, int value)\n"
                               "{\n"
                               "    long long start = clock64();\n"
                               "    while (clock64() - start < 400000) {}\n"
                               "    x[0] += value;\n"
                               "}\n";
    kni_module *m = d->compile(d, text, strlen(text), "spin");
    void *buffers[8];
    for (int i = 0; i < 8; i++) buffers[i] = d->allocate(d, 4);
    double apart = time_spins(d, m, buffers, true, 11), line = time_spins(d, m, buffers, false, 25);
    printf("8 launches of one recording: %.0f us where they are independent, %.0f us in a line\n",
           1e6 * apart, 1e6 * line);
    CHECK(apart < line / 2);
    for (int i = 0; i < 8; i++) d->free(d, buffers[i]);
    d->unload(d, m);
}

static void check_fork(kni_driver *d)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        bool good = d->sync(d) == KN_ERROR_DEVICE && strstr(kn_last_error(), "before fork()");
        _exit(good ? 0 : 1);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(d->sync(d) == KN_OK);
}

/* A kernel that writes where nothing is: the device is lost, says so to every call, and comes back when
   it is opened again, or this is refused with a clear word. */
static void check_loss(void)
{
    static const char text[] = "extern \"C\" __global__ void wild(float *x) { x[(1ull << 44)] = 1; }\n";
    kni_driver *d = kni_cuda_driver_open(0);
    if (!CHECK(d != NULL)) return;
    kni_module *m = d->compile(d, text, strlen(text), "wild");
    void *memory = d->allocate(d, 16);
    CHECK(m && memory && d->launch(d, m, &(kni_launch_shape){{1, 1, 1}, 1, 0}, &memory, 1, NULL, 0) == KN_OK);
    CHECK(d->sync(d) == KN_ERROR_DEVICE && strstr(kn_last_error(), "was lost"));
    printf("as it should be: %s\n", kn_last_error());
    CHECK(d->fill_zero(d, memory, 0, 16) == KN_ERROR_DEVICE && strstr(kn_last_error(), "was lost"));
    CHECK(d->allocate(d, 16) == NULL);
    d->free(d, memory);
    d->unload(d, m);
    d->close(d);
    d = kni_cuda_driver_open(0);
    if (!d) {
        /* NVIDIA promises no more. */
        CHECK(strstr(kn_last_error(), "start the program again"));
        printf("after the loss: %s\n", kn_last_error());
        return;
    }
    round_trip(d, 1000, 0);
    check_kernels(d);
    d->close(d);
}

/* ---- timing of what is not a product */

static void time_basics(kni_driver *d)
{
    enum { MIB = 256, TURNS = 20 };
    size_t bytes = (size_t)MIB << 20;
    char *host = malloc(bytes);
    memset(host, 1, bytes);
    void *a = d->allocate(d, bytes * 4), *b = d->allocate(d, bytes * 4);
    double t = check_seconds();
    d->upload(d, a, 0, host, bytes);
    d->sync(d);
    printf("upload    %7.1f GB/s\n", (double)bytes / (check_seconds() - t) / 1e9);
    t = check_seconds();
    d->download(d, host, a, 0, bytes);
    printf("download  %7.1f GB/s\n", (double)bytes / (check_seconds() - t) / 1e9);
    d->fill_zero(d, a, 0, bytes * 4);
    d->sync(d);
    t = check_seconds();
    for (int i = 0; i < TURNS; i++) d->copy(d, b, 0, a, 0, bytes * 4);
    d->sync(d);
    printf("copy      %7.1f GB/s (read and written)\n",
           8.0 * (double)bytes * TURNS / (check_seconds() - t) / 1e9);
    kni_module *m = d->compile(d, kernel_text, strlen(kernel_text), "scale_add");
    void *buffers[2] = {a, b};
    scale_params p = {1000, 1};
    kni_launch_shape shape = {{4, 1, 1}, 256, 0};
    enum { LAUNCHES = 10000, NODES = 15 };
    t = check_seconds();
    for (int i = 0; i < LAUNCHES; i++) d->launch(d, m, &shape, buffers, 2, &p, sizeof p);
    double queued = check_seconds() - t;
    d->sync(d);
    printf("launch    %7.2f us queued, %.2f us done\n", 1e6 * queued / LAUNCHES,
           1e6 * (check_seconds() - t) / LAUNCHES);
    d->record_begin(d);
    for (int i = 0; i < NODES; i++) d->launch(d, m, &shape, buffers, 2, &p, sizeof p);
    kni_recording *r = d->record_end(d);
    t = check_seconds();
    for (int i = 0; i < 1000 && r; i++) d->upload(d, a, 0, host, 401408), d->replay(d, r);
    d->sync(d);
    printf("replay    %7.2f us for %d launches and a new batch of 128 x 784 f32\n",
           1e3 * (check_seconds() - t), NODES);
    d->record_free(d, r);
    d->unload(d, m);
    d->free(d, a);
    d->free(d, b);
    free(host);
}

static bool asked(int count, char **arguments, const char *name)
{
    for (int i = 1; i < count; i++)
        if (!strcmp(arguments[i], name)) return true;
    return count < 2;
}

int main(int count, char **arguments)
{
    char text[300];
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int32_t i = 0; kni_cuda_describe(i, text, sizeof text); i++) printf("%s\n", text);
    kni_driver *d = kni_cuda_driver_open(0);
    if (!d) {
        printf("%s\n", kn_last_error());
        return 1;
    }
    CHECK(kni_cuda_driver_open(99) == NULL);
    printf("as it should be: %s\n", kn_last_error());
    if (asked(count, arguments, "basics")) {
        check_memory(d);
        check_kernels(d);
        if (d->record_writes) check_recordings(d);
        check_fork(d);
    }
    if (asked(count, arguments, "products")) check_products();
    if (asked(count, arguments, "attention")) check_attention();
    if (asked(count, arguments, "timing")) {
        time_basics(d);
        time_products();
        time_attention();
    }
    d->close(d);
    if (asked(count, arguments, "loss")) check_loss();
    printf("driver_check: %d checks, %d failed\n", check_count, check_failures);
    return check_failures != 0;
}
