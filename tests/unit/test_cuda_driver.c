/* The CUDA driver over stand-ins for NVIDIA's libraries (tests/gpu/fake_cu*.c, built here with the system's compiler):
   what it says when something is missing, what every failing call leaves behind, memory that is given back. Each
   situation runs in a process of its own, because libraries are opened once. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "backend/cuda/cuda_driver.h"
#include "support/check.h"
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64] = "build_fake_cuda_XXXXXX";
static void (*fake_fail)(const char *name, int after, int result);
static long (*fake_calls)(const char *name);
static long (*fake_live)(void);
static void (*fake_limit)(long bytes);

static const char text[] = "extern \"C\" __global__ void scale_add(const float *x, float *y, params p)";
typedef struct scale_params {
    int64_t n;
    float scale;
} scale_params;

/* ---- the stand-ins */

static void link_as(const char *name)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK(symlink("libfake.so", path) == 0);
}

static bool build_fake(void)
{
    char command[400];
    if (!mkdtemp(folder)) return false;
    snprintf(command, sizeof command,
             "cc -shared -fPIC -O1 -w tests/gpu/fake_cuda.c tests/gpu/fake_cublaslt.c tests/gpu/fake_cudnn.c "
             "-lm -o %s/libfake.so "
             "2>/dev/null",
             folder);
    return system(command) == 0;
}

static void find_fake(void)
{
    char path[200];
    snprintf(path, sizeof path, "%s/libfake.so", folder);
    void *handle = dlopen(path, RTLD_NOW), *address[4];
    static const char *const names[] = {"fake_cuda_fail", "fake_cuda_calls", "fake_cuda_live",
                                        "fake_cuda_limit"};
    for (int i = 0; i < 4; i++) address[i] = handle ? dlsym(handle, names[i]) : NULL;
    memcpy(&fake_fail, &address[0], sizeof address[0]);
    memcpy(&fake_calls, &address[1], sizeof address[0]);
    memcpy(&fake_live, &address[2], sizeof address[0]);
    memcpy(&fake_limit, &address[3], sizeof address[0]);
}

/* Runs a situation in a child with a number of the libraries in sight; its counts come back through a pipe. */
static void situation(void (*run)(void), bool driver, bool compiler, bool product)
{
    int ends[2], counts[2] = {0, 1};
    fflush(stdout);
    if (!CHECK(pipe(ends) == 0)) return;
    pid_t child = fork();
    if (child == 0) {
        check_passed = check_failed = 0;
        char path[200];
        snprintf(path, sizeof path, "%s/none", folder);
        setenv("KN_CUDA_LIBRARIES", folder, 1);
        setenv("KN_CACHE", "off", 1);
        if (driver) link_as("libcuda.so.1");
        if (compiler) link_as("libnvrtc.so.12");
        if (product) link_as("libcublasLt.so.12");
        if (product) link_as("libcudnn.so.9");
        find_fake();
        if (CHECK(fake_fail != NULL)) run();
        static const char *const links[] = {"libcuda.so.1", "libnvrtc.so.12", "libcublasLt.so.12",
                                            "libcudnn.so.9"};
        for (int i = 0; i < 4; i++) {
            snprintf(path, sizeof path, "%s/%s", folder, links[i]);
            unlink(path);
        }
        counts[0] = check_passed;
        counts[1] = check_failed;
        fflush(stdout);
        _exit(write(ends[1], counts, sizeof counts) == sizeof counts ? 0 : 1);
    }
    close(ends[1]);
    CHECK(read(ends[0], counts, sizeof counts) == (ssize_t)sizeof counts);
    close(ends[0]);
    waitpid(child, NULL, 0);
    check_passed += counts[0];
    check_failed += counts[1];
}

static bool last_error_has(const char *words)
{
    if (strstr(kn_last_error(), words)) return true;
    printf("wanted '%s', got '%s'\n", words, kn_last_error());
    return false;
}

/* ---- what is missing */

static void says_no_driver(void)
{
    char line[300];
    CHECK(kni_cuda_driver_open(0) == NULL && last_error_has("no driver: libcuda.so.1 is not found"));
    CHECK(last_error_has("KN_CUDA_LIBRARIES"));
    CHECK(!kni_cuda_describe(0, line, sizeof line));
}

static void says_old_driver(void)
{
    setenv("FAKE_CUDA_VERSION", "11040", 1);
    CHECK(kni_cuda_driver_open(0) == NULL && last_error_has("too old: it is made for CUDA 11.4"));
    setenv("FAKE_CUDA_VERSION", "12080", 1);
    fake_fail("cuInit", 1, 100);
    CHECK(kni_cuda_driver_open(0) == NULL && last_error_has("finds no GPU"));
    fake_fail("cuInit", 1, 803);
    CHECK(kni_cuda_driver_open(0) == NULL && last_error_has("differ in version"));
    fake_fail("cuInit", 1, 34);
    CHECK(kni_cuda_driver_open(0) == NULL && last_error_has("stub"));
    fake_fail("cuInit", 1, 802);
    CHECK(kni_cuda_driver_open(0) == NULL && last_error_has("does not start"));
    /* A later try succeeds. */
    kni_driver *d = kni_cuda_driver_open(0);
    if (CHECK(d != NULL)) d->close(d);
    CHECK(kni_cuda_driver_open(7) == NULL && last_error_has("there is no cuda:7"));
    setenv("FAKE_CUDA_MAJOR", "6", 1);
    CHECK(kni_cuda_driver_open(0) == NULL && last_error_has("needs 7.0 or later"));
    CHECK(fake_live() == 0);
}

static void says_no_compiler(void)
{
    CHECK(kni_cuda_driver_open(0) == NULL && last_error_has("compiling kernels needs libnvrtc.so.12"));
    CHECK(fake_live() == 0);
}

static void works_without_products(void)
{
    kni_driver *d = kni_cuda_driver_open(0);
    if (!CHECK(d != NULL)) return;
    kni_product p = {.dtype = KN_F32,
                     .out_dtype = KN_F32,
                     .m = 2,
                     .n = 2,
                     .k = 2,
                     .batch = 1,
                     .row_a = 2,
                     .row_b = 2,
                     .row_d = 2,
                     .alpha = 1};
    CHECK(d->product(d, &p) == KN_ERROR_UNSUPPORTED);
    d->close(d);
    CHECK(fake_live() == 0);
}

/* ---- a whole run, and the same run with each call failing once */

static bool run_all(kni_driver *d)
{
    enum { N = 3000 };
    static float x[N], y[N], back[N];
    for (int i = 0; i < N; i++) x[i] = (float)i, y[i] = 1, back[i] = -1;
    kni_module *m = d->compile(d, text, strlen(text), "scale_add");
    void *buffers[2] = {d->allocate(d, sizeof x), d->allocate(d, sizeof y)};
    scale_params p = {N, 2};
    kni_launch_shape shape = {{12, 1, 1}, 256, 60000};
    bool good = m && buffers[0] && buffers[1];
    good = good && d->upload(d, buffers[0], 0, x, sizeof x) == KN_OK;
    good = good && d->upload(d, buffers[1], 0, y, sizeof y) == KN_OK;
    good = good && d->launch(d, m, &shape, buffers, 2, &p, sizeof p) == KN_OK;
    kni_recording *r = NULL;
    if (good && d->record_begin(d) == KN_OK) {
        good = d->launch(d, m, &shape, buffers, 2, &p, sizeof p) == KN_OK;
        void *scratch = d->allocate(d, 100);
        good = good && scratch;
        d->free(d, scratch);
        r = d->record_end(d);
    }
    scale_params other = {N, 3};
    good = good && r && d->replay(d, r) == KN_OK &&
           d->record_params(d, r, 0, &other, sizeof other) == KN_OK && d->replay(d, r) == KN_OK;
    good = good && d->fill_zero(d, buffers[0], 0, 16) == KN_OK &&
           d->copy(d, buffers[1], 0, buffers[0], 0, 4) == KN_OK;
    good = good && d->download(d, back, buffers[1], 0, sizeof back) == KN_OK && d->sync(d) == KN_OK;
    for (int i = 0; i < N && good; i++) good = back[i] == (i ? 7 * (float)i + 1 : 0);
    d->record_free(d, r);
    for (int i = 0; i < 2; i++) d->free(d, buffers[i]);
    d->unload(d, m);
    return good;
}

static void survives_each_failure(void)
{
    static const char *const names[] = {"cuDevicePrimaryCtxRetain",
                                        "cuCtxSetCurrent",
                                        "cuStreamCreate",
                                        "cuMemAlloc_v2",
                                        "cuMemcpyHtoDAsync_v2",
                                        "cuMemcpyDtoHAsync_v2",
                                        "cuMemcpyDtoDAsync_v2",
                                        "cuMemsetD8Async",
                                        "cuStreamSynchronize",
                                        "cuEventRecord",
                                        "cuEventSynchronize",
                                        "cuModuleLoadData",
                                        "cuModuleGetFunction",
                                        "cuFuncGetAttribute",
                                        "cuFuncSetAttribute",
                                        "cuLaunchKernel",
                                        "cuStreamBeginCapture_v2",
                                        "cuStreamEndCapture",
                                        "cuGraphInstantiateWithFlags",
                                        "cuGraphUpload",
                                        "cuGraphLaunch",
                                        "cuStreamGetCaptureInfo_v2",
                                        "cuGraphExecKernelNodeSetParams_v2",
                                        "nvrtcCreateProgram",
                                        "nvrtcCompileProgram",
                                        "nvrtcGetCUBINSize",
                                        "nvrtcGetCUBIN",
                                        "nvrtcGetNumSupportedArchs"};
    static const int results[] = {1, 2, 700};
    int tried = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int after = 1; after <= 6; after++)
            for (int k = 0; k < 3; k++) {
                fake_fail(names[i], after, results[k]);
                kni_driver *d = kni_cuda_driver_open(0);
                bool good = d && run_all(d);
                if (d) {
                    fake_fail(names[i], 0, 0);
                    d->close(d);
                }
                fake_fail(names[i], 0, 0);
                bool clean = fake_live() == 0;
                if (!clean)
                    printf("%s, call %d, result %d leaves %ld\n", names[i], after, results[k], fake_live());
                CHECK(clean);
                tried += !good;
                /* And the next one is well. */
                d = kni_cuda_driver_open(0);
                good = CHECK(d != NULL) && run_all(d);
                if (!CHECK(good))
                    printf("after %s, call %d, result %d: %s\n", names[i], after, results[k],
                           kn_last_error());
                if (d) d->close(d);
                if (!CHECK(fake_live() == 0)) return;
            }
    CHECK(tried > 100);
}

/* ---- single facts */

static void is_lost_until_reopened(void)
{
    kni_driver *d = kni_cuda_driver_open(0);
    if (!CHECK(d != NULL)) return;
    kni_module *m = d->compile(d, text, strlen(text), "wild");
    void *memory = d->allocate(d, 16);
    CHECK(d->launch(d, m, &(kni_launch_shape){{1, 1, 1}, 1, 0}, &memory, 1, NULL, 0) == KN_OK);
    CHECK(d->sync(d) == KN_ERROR_DEVICE && last_error_has("cuda:0 was lost"));
    CHECK(d->upload(d, memory, 0, "abc", 3) == KN_ERROR_DEVICE &&
          last_error_has("close it and open it again"));
    char left[4] = "old";
    long copies = fake_calls("cuMemcpyDtoHAsync_v2");
    CHECK(d->download(d, left, memory, 0, 3) == KN_ERROR_DEVICE && !strcmp(left, "old") &&
          fake_calls("cuMemcpyDtoHAsync_v2") == copies);
    CHECK(d->allocate(d, 1) == NULL && d->compile(d, text, strlen(text), "scale_add") == NULL &&
          d->record_begin(d) != KN_OK);
    d->free(d, memory);
    d->unload(d, m);
    d->close(d);
    CHECK(fake_calls("cuDevicePrimaryCtxReset_v2") == 1 && fake_live() == 0);
    d = kni_cuda_driver_open(0);
    CHECK(d && run_all(d));
    d->close(d);
}

static void refuses_after_fork(void)
{
    kni_driver *d = kni_cuda_driver_open(0);
    if (!CHECK(d != NULL)) return;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        bool good = d->sync(d) == KN_ERROR_DEVICE && strstr(kn_last_error(), "opened before fork()");
        d->close(d);
        _exit(good ? 0 : 1);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(run_all(d));
    d->close(d);
}

static void uploads_without_waiting(void)
{
    enum { BYTES = 400000, TURNS = 70 };
    kni_driver *d = kni_cuda_driver_open(0);
    if (!CHECK(d != NULL)) return;
    static unsigned char data[BYTES], back[BYTES];
    void *memory[TURNS];
    long waits = fake_calls("cuStreamSynchronize") + fake_calls("cuEventSynchronize");
    for (int i = 0; i < TURNS; i++) {
        memory[i] = d->allocate(d, BYTES);
        memset(data, i, BYTES);
        CHECK(d->upload(d, memory[i], 0, data, BYTES) == KN_OK);
    }
    CHECK(fake_calls("cuStreamSynchronize") + fake_calls("cuEventSynchronize") == waits);
    for (int i = 0; i < TURNS; i++) {
        CHECK(d->download(d, back, memory[i], 0, BYTES) == KN_OK && back[0] == i && back[BYTES - 1] == i);
        d->free(d, memory[i]);
    }
    /* Without pinned memory it goes on. */
    d->close(d);
    d = kni_cuda_driver_open(0);
    fake_fail("cuMemHostAlloc", 1, 2);
    void *one = d->allocate(d, BYTES);
    CHECK(d->upload(d, one, 0, data, BYTES) == KN_OK);
    fake_fail("cuMemHostAlloc", 1, 2);
    memset(back, 0, BYTES);
    CHECK(d->download(d, back, one, 0, BYTES) == KN_OK && !memcmp(back, data, BYTES));
    d->free(d, one);
    d->close(d);
    CHECK(fake_live() == 0);
}

/* What several threads copy, and what takes more than one slot of pinned memory, arrives whole; so does what begins
   anywhere. Nothing is copied for no bytes. */
static void copies_much(void)
{
    static const size_t sizes[] = {(1 << 20) - 1, 1 << 20,       (1 << 20) + 1, KNI_RUNTIME_UPLOAD_BYTES,
                                   5 << 20,       (9 << 20) + 77};
    enum { COUNT = sizeof sizes / sizeof *sizes, ROOM = 10 << 20, AT = 300 };
    unsigned char *data = malloc(ROOM), *back = malloc(ROOM);
    kni_driver *d = kni_cuda_driver_open(0);
    if (!CHECK(d != NULL && data && back)) return;
    void *memory = d->allocate(d, ROOM);
    CHECK(d->upload(d, memory, 0, data, 0) == KN_OK && d->download(d, back, memory, 0, 0) == KN_OK);
    CHECK(fake_calls("cuMemHostAlloc") == 0 && fake_calls("cuMemcpyHtoDAsync_v2") == 0);
    for (int i = 0; i < COUNT; i++) {
        for (size_t k = 0; k < sizes[i]; k++) data[k] = (unsigned char)(k * 7 + k / 1000 + (size_t)i);
        memset(back, 0xee, ROOM);
        CHECK(d->upload(d, memory, AT, data, sizes[i]) == KN_OK);
        CHECK(d->download(d, back, memory, AT, sizes[i]) == KN_OK && !memcmp(back, data, sizes[i]) &&
              back[sizes[i]] == 0xee);
    }
    free(data);
    free(back);
    d->free(d, memory);
    d->close(d);
    CHECK(fake_live() == 0);
}

static void runs_out_of_memory(void)
{
    kni_driver *d = kni_cuda_driver_open(0);
    if (!CHECK(d != NULL)) return;
    fake_limit(1000);
    CHECK(d->allocate(d, 2000) == NULL);
    void *memory = d->allocate(d, 900);
    CHECK(memory && d->allocate(d, 200) == NULL);
    d->free(d, memory);
    memory = d->allocate(d, 0);
    CHECK(memory != NULL);
    d->free(d, memory);
    d->close(d);
    CHECK(fake_live() == 0);
}

static void refuses_bad_launches(void)
{
    kni_driver *d = kni_cuda_driver_open(0);
    if (!CHECK(d != NULL)) return;
    CHECK(d->compile(d, "one\ntwo\nthe line of nothing;\n", 30, "bad") == NULL &&
          last_error_has("line 3 is: the line of"));
    CHECK(last_error_has("identifier \"nothing\" is undefined"));
    kni_module *m = d->compile(d, text, strlen(text), "scale_add");
    void *buffers[2] = {d->allocate(d, 4), d->allocate(d, 4)};
    scale_params p = {1, 1};
    CHECK(d->launch(d, m, &(kni_launch_shape){{1, 1, 1}, 2048, 0}, buffers, 2, &p, sizeof p) ==
          KN_ERROR_INTERNAL);
    CHECK(d->launch(d, m, &(kni_launch_shape){{1, 70000, 1}, 32, 0}, buffers, 2, &p, sizeof p) ==
          KN_ERROR_INTERNAL);
    CHECK(d->launch(d, m, &(kni_launch_shape){{1, 1, 1}, 32, 300000}, buffers, 2, &p, sizeof p) ==
          KN_ERROR_INTERNAL);
    CHECK(d->launch(d, m, &(kni_launch_shape){{1, 1, 1}, 32, 0}, buffers, 500, &p, sizeof p) ==
          KN_ERROR_INTERNAL);
    long launches = fake_calls("cuLaunchKernel");
    CHECK(d->launch(d, m, &(kni_launch_shape){{0, 1, 1}, 32, 0}, buffers, 2, &p, sizeof p) == KN_OK);
    CHECK(fake_calls("cuLaunchKernel") == launches);
    CHECK(d->record_end(d) == NULL && last_error_has("did not begin"));
    CHECK(d->record_begin(d) == KN_OK && d->record_begin(d) == KN_ERROR_INTERNAL);
    CHECK(d->sync(d) == KN_ERROR_INTERNAL && last_error_has("cannot be recorded"));
    CHECK(d->upload(d, buffers[0], 0, &p, 4) == KN_ERROR_INTERNAL && last_error_has("cannot be recorded"));
    CHECK(d->download(d, &p, buffers[0], 0, 4) == KN_ERROR_INTERNAL && last_error_has("cannot be recorded"));
    d->record_free(d, d->record_end(d));
    for (int i = 0; i < 2; i++) d->free(d, buffers[i]);
    d->unload(d, m);
    d->close(d);
    CHECK(fake_live() == 0);
}

static void keeps_kernels_on_disk(void)
{
    char cache[100];
    snprintf(cache, sizeof cache, "%s/cache", folder);
    setenv("KN_CACHE_DIR", cache, 1);
    unsetenv("KN_CACHE");
    kni_driver *d = kni_cuda_driver_open(0);
    if (!CHECK(d != NULL)) return;
    for (int i = 0; i < 3; i++) {
        CHECK(run_all(d));
        CHECK(fake_calls("nvrtcCompileProgram") == 1);
    }
    /* An image that no longer loads is compiled anew. */
    fake_fail("cuModuleLoadData", 1, 200);
    CHECK(run_all(d) && fake_calls("nvrtcCompileProgram") == 2);
    d->close(d);
    CHECK(fake_live() == 0);
}

static void measures_when_asked(void)
{
    char report[2000];
    setenv("KN_CUDA_PROFILE", "on", 1);
    kni_driver *d = kni_cuda_driver_open(0);
    if (!CHECK(d != NULL && d->profiling)) return;
    for (int i = 0; i < 1200; i++)
        if (!CHECK(run_all(d))) break;
    size_t length = d->profile(d, report, sizeof report);
    CHECK(length > 0 && strstr(report, "scale_add") && strstr(report, " 1200 "));
    d->close(d);
    CHECK(fake_live() == 0);
}

static void count_call(void *owner) { ++*(int *)owner; }

/* Launches are told apart by their number; one that is none of the recording's, or was of nothing, changes nothing. A
   recording that nobody ends is given back with the device. */
static void changes_recorded_numbers(void)
{
    enum { N = 500 };
    static float x[N], y[N], back[N];
    kni_driver *d = kni_cuda_driver_open(0);
    if (!CHECK(d != NULL && d->record_begin)) return;
    kni_module *m = d->compile(d, text, strlen(text), "scale_add");
    void *buffers[2] = {d->allocate(d, sizeof x), d->allocate(d, sizeof y)};
    kni_launch_shape shape = {{2, 1, 1}, 256, 0}, none = {{0, 1, 1}, 256, 0};
    scale_params p = {N, 1};
    for (int i = 0; i < N; i++) x[i] = (float)i, y[i] = 1;
    CHECK(d->upload(d, buffers[0], 0, x, sizeof x) == KN_OK &&
          d->upload(d, buffers[1], 0, y, sizeof y) == KN_OK);
    CHECK(d->record_begin(d) == KN_OK);
    for (int i = 0; i < 100; i++)
        CHECK(d->launch(d, m, i == 50 ? &none : &shape, buffers, 2, &p, sizeof p) == KN_OK);
    kni_recording *r = d->record_end(d);
    if (!CHECK(r != NULL)) return;
    for (uint32_t i = 0; i < 100; i++) {
        p.scale = (float)i;
        CHECK(d->record_params(d, r, i, &p, sizeof p) == KN_OK);
    }
    CHECK(d->record_params(d, r, 100, &p, sizeof p) == KN_ERROR_UNSUPPORTED);
    CHECK(d->record_params(d, r, 3, &p, 4) == KN_ERROR_UNSUPPORTED);
    CHECK(d->replay(d, r) == KN_OK && d->download(d, back, buffers[1], 0, sizeof back) == KN_OK);
    bool good = true;
    for (int i = 0; i < N; i++) good = good && back[i] == (float)(4950 - 50) * (float)i + 1;
    CHECK(good);
    d->record_free(d, r);
    /* Without memory for the graph it is tried again after others gave theirs back. */
    int asked = 0;
    d->make_room = count_call;
    d->owner = &asked;
    for (int i = 0; i < 2; i++) {
        CHECK(d->record_begin(d) == KN_OK && d->launch(d, m, &shape, buffers, 2, &p, sizeof p) == KN_OK);
        fake_fail(i ? "cuGraphUpload" : "cuGraphInstantiateWithFlags", 1, 2);
        r = d->record_end(d);
        CHECK(r && asked == i + 1 && d->replay(d, r) == KN_OK);
        d->record_free(d, r);
    }
    CHECK(d->record_begin(d) == KN_OK && d->launch(d, m, &shape, buffers, 2, &p, sizeof p) == KN_OK);
    for (int i = 0; i < 2; i++) d->free(d, buffers[i]);
    d->unload(d, m);
    d->close(d);
    CHECK(fake_live() == 0);
    setenv("KN_CUDA_GRAPHS", "off", 1);
    d = kni_cuda_driver_open(0);
    if (CHECK(d != NULL && !d->record_begin)) d->close(d);
    unsetenv("KN_CUDA_GRAPHS");
}

/* Work that does not depend on each other is not put in a line: the stand-in runs the latest first, where it may, and the
   result is the same. Each launch adds one of few buffers to another one. */
static void spreads_recordings(void)
{
    enum { N = 16, BUFFERS = 6, WORK = 100 };
    kni_driver *d = kni_cuda_driver_open(0);
    if (!CHECK(d != NULL && d->record_begin)) return;
    kni_module *m = d->compile(d, text, strlen(text), "scale_add");
    float values[BUFFERS][N], back[BUFFERS][N];
    void *buffers[BUFFERS];
    kni_launch_shape shape = {{1, 1, 1}, 32, 0};
    uint64_t state = 3;
    for (int turn = 0; turn < 50; turn++) {
        for (int i = 0; i < BUFFERS; i++) {
            if (!turn) buffers[i] = d->allocate(d, sizeof values[0]);
            for (int k = 0; k < N; k++) values[i][k] = (float)(i + k + turn);
            CHECK(d->upload(d, buffers[i], 0, values[i], sizeof values[i]) == KN_OK);
        }
        CHECK(d->record_begin(d) == KN_OK);
        for (int i = 0; i < WORK; i++) {
            state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
            uint32_t drawn = (uint32_t)(state >> 33);
            uint32_t from = drawn % BUFFERS, to = drawn / 16 % BUFFERS, kind = drawn / 256 % 8;
            void *pair[2] = {buffers[from], buffers[to]};
            const uint64_t written[2] = {2, 0};
            scale_params p = {N, 0.5f};
            if (from == to) continue;
            if (kind == 0) {
                CHECK(d->copy(d, pair[1], 0, pair[0], 0, sizeof values[0]) == KN_OK);
                memcpy(values[to], values[from], sizeof values[0]);
            } else if (kind == 1) {
                CHECK(d->fill_zero(d, pair[1], 0, 8) == KN_OK);
                values[to][0] = values[to][1] = 0;
            } else {
                if (kind > 2) d->record_writes(d, written);
                CHECK(d->launch(d, m, &shape, pair, 2, &p, sizeof p) == KN_OK);
                for (int k = 0; k < N; k++) values[to][k] = values[from][k] * 0.5f + values[to][k];
            }
        }
        kni_recording *r = d->record_end(d);
        if (!CHECK(r && d->replay(d, r) == KN_OK)) break;
        for (int i = 0; i < BUFFERS; i++)
            CHECK(d->download(d, back[i], buffers[i], 0, sizeof back[i]) == KN_OK);
        CHECK(!memcmp(back, values, sizeof back));
        d->record_free(d, r);
    }
    CHECK(fake_calls("cuGraphRemoveDependencies") > 500);
    for (int i = 0; i < BUFFERS; i++) d->free(d, buffers[i]);
    d->unload(d, m);
    d->close(d);
    CHECK(fake_live() == 0);
}

/* d = a b of [2, 3] and [3, 2], row-major, then a bias. */
static void multiplies_row_major(void)
{
    static const float a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 0, 0, 1, 1, 1}, bias[] = {10, 20};
    float got[4];
    kni_driver *d = kni_cuda_driver_open(0);
    if (!CHECK(d != NULL)) return;
    kni_product p = {.dtype = KN_F32,
                     .out_dtype = KN_F32,
                     .m = 2,
                     .n = 2,
                     .k = 3,
                     .batch = 1,
                     .row_a = 3,
                     .row_b = 2,
                     .row_d = 2,
                     .alpha = 1,
                     .epilogue = KNI_EPILOGUE_BIAS};
    p.a.memory = d->allocate(d, sizeof a), p.b.memory = d->allocate(d, sizeof b);
    p.d.memory = d->allocate(d, sizeof got), p.bias.memory = d->allocate(d, sizeof bias);
    CHECK(d->upload(d, p.a.memory, 0, a, sizeof a) == KN_OK &&
          d->upload(d, p.b.memory, 0, b, sizeof b) == KN_OK);
    CHECK(d->upload(d, p.bias.memory, 0, bias, sizeof bias) == KN_OK && d->product(d, &p) == KN_OK);
    CHECK(d->download(d, got, p.d.memory, 0, sizeof got) == KN_OK);
    CHECK(got[0] == 14 && got[1] == 25 && got[2] == 20 && got[3] == 31);
    p.dtype = KN_I32;
    CHECK(d->product(d, &p) == KN_ERROR_UNSUPPORTED);
    p.dtype = KN_F32, p.row_b = 1;
    CHECK(d->product(d, &p) == KN_ERROR_UNSUPPORTED);
    /* More matrices than the library counts. */
    p.row_b = 2, p.step_d = 4, p.batch = (INT64_C(1) << 32) + 1;
    CHECK(d->product(d, &p) == KN_ERROR_UNSUPPORTED);
    p.m = 0;
    CHECK(d->product(d, &p) == KN_OK);
    kni_place *all[] = {&p.a, &p.b, &p.d, &p.bias};
    for (int i = 0; i < 4; i++) d->free(d, all[i]->memory);
    d->close(d);
    CHECK(fake_live() == 0);
}

/* A bias on 16 bits goes to the library only where all lies at multiples of 16 bytes: elsewhere it rounds twice. */
static void keeps_uneven_biases(void)
{
    enum { SIZE = 16 };
    kni_driver *d = kni_cuda_driver_open(0);
    if (!CHECK(d != NULL)) return;
    void *memory = d->allocate(d, 1 << 16);
    kni_product even = {.dtype = KN_BF16, .m = SIZE, .n = SIZE, .k = SIZE, .batch = 1, .alpha = 1};
    even.out_dtype = KN_BF16, even.epilogue = KNI_EPILOGUE_BIAS;
    even.row_a = even.row_b = even.row_d = SIZE;
    even.a.memory = even.b.memory = even.d.memory = even.bias.memory = memory;
    for (int i = 0; i < 9; i++) {
        kni_product p = even;
        int64_t *uneven[] = {&p.row_a,    &p.row_b,    &p.row_d,      &p.a.offset,
                             &p.b.offset, &p.d.offset, &p.bias.offset};
        if (i < KNI_COUNT(uneven)) *uneven[i] += 1;
        if (i == 7) p.epilogue = 0, p.a.offset = 1;
        bool library = i >= 7;
        CHECK((d->product(d, &p) == KN_OK) == library);
    }
    d->free(d, memory);
    d->close(d);
    CHECK(fake_live() == 0);
}

/* d = a b times the slope of gelu at another matrix, of two matrices [1, 1] and [1, 8]. */
static void multiplies_with_another_matrix(void)
{
    enum { N = 8 };
    static const float a[] = {1, -2};
    float b[2 * N], at[2 * N], got[2 * N];
    for (int i = 0; i < 2 * N; i++) b[i] = 0.25f * (float)(i - N), at[i] = 0.5f * (float)(N - i);
    kni_driver *d = kni_cuda_driver_open(0);
    if (!CHECK(d != NULL)) return;
    kni_product p = {.dtype = KN_F32,
                     .out_dtype = KN_F32,
                     .m = 1,
                     .n = N,
                     .k = 1,
                     .batch = 2,
                     .row_a = 1,
                     .row_b = N,
                     .row_d = N,
                     .step_a = 1,
                     .step_b = N,
                     .step_d = N,
                     .alpha = 1,
                     .epilogue = KNI_EPILOGUE_GELU_GRAD};
    p.a.memory = d->allocate(d, sizeof a), p.b.memory = d->allocate(d, sizeof b);
    p.d.memory = d->allocate(d, sizeof got), p.aux.memory = d->allocate(d, sizeof at);
    CHECK(d->upload(d, p.a.memory, 0, a, sizeof a) == KN_OK &&
          d->upload(d, p.b.memory, 0, b, sizeof b) == KN_OK &&
          d->upload(d, p.aux.memory, 0, at, sizeof at) == KN_OK);
    CHECK(d->product(d, &p) == KN_OK && d->download(d, got, p.d.memory, 0, sizeof got) == KN_OK);
    for (int i = 0; i < 2 * N; i++) {
        double h = 1e-4, y[2];
        for (int k = 0; k < 2; k++) {
            double x = at[i] + (k ? h : -h), u = 0.7978845608028654 * (x + 0.044715 * x * x * x);
            y[k] = 0.5 * x * (1 + tanh(u));
        }
        CHECK(fabs(got[i] - a[i / N] * b[i] * (y[1] - y[0]) / (2 * h)) < 1e-4);
    }
    /* Distances that the library does not take, and no kernel of ours for f32. */
    p.row_d = 9;
    CHECK(d->product(d, &p) == KN_ERROR_UNSUPPORTED);
    kni_place *all[] = {&p.a, &p.b, &p.d, &p.aux};
    for (int i = 0; i < 4; i++) d->free(d, all[i]->memory);
    d->close(d);
    CHECK(fake_live() == 0);
}

static void find_function(const char *name, void *to)
{
    char path[200];
    snprintf(path, sizeof path, "%s/libfake.so", folder);
    void *handle = dlopen(path, RTLD_NOW), *found = handle ? dlsym(handle, name) : NULL;
    memcpy(to, &found, sizeof found);
}

static kni_convolution some_convolution(kni_driver *d)
{
    kni_convolution p = {.dtype = KN_BF16,
                         .images = 2,
                         .channels = 8,
                         .outs = 16,
                         .groups = 1,
                         .x_size = {8, 8},
                         .kernel = {3, 3},
                         .y_size = {8, 8},
                         .stride = {1, 1},
                         .padding = {1, 1},
                         .dilation = {1, 1}};
    kni_place *places[] = {&p.x, &p.w, &p.y};
    for (int i = 0; i < 3; i++) places[i]->memory = d->allocate(d, 1 << 14);
    return p;
}

/* The three convolutions, with and without a bias; what is not for the library is refused without a text. */
static void convolves(void)
{
    long (*runs)(void) = NULL, (*alive)(void) = NULL;
    find_function("fake_cudnn_runs", &runs), find_function("fake_cudnn_live", &alive);
    kni_driver *d = kni_cuda_driver_open(0);
    if (!runs || !alive || !CHECK(d != NULL)) return;
    kni_convolution p = some_convolution(d);
    kni_place *places[] = {&p.x, &p.w, &p.y};
    long before = runs();
    for (p.what = KNI_CONVOLUTION_FORWARD; p.what <= KNI_CONVOLUTION_FILTER; p.what++)
        CHECK(d->convolution(d, &p) == KN_OK);
    p.what = KNI_CONVOLUTION_FORWARD;
    p.bias.memory = d->allocate(d, 256);
    CHECK(d->convolution(d, &p) == KN_OK && d->convolution(d, &p) == KN_OK && runs() == before + 5);
    p.x.offset = 1; /* not aligned */
    CHECK(d->convolution(d, &p) == KN_ERROR_UNSUPPORTED);
    p.x.offset = 0, p.dtype = KN_F32;
    CHECK(d->convolution(d, &p) == KN_ERROR_UNSUPPORTED && runs() == before + 5);
    for (int i = 0; i < 3; i++) d->free(d, places[i]->memory);
    d->free(d, p.bias.memory);
    d->close(d);
    CHECK(alive() == 0 && fake_live() == 0);
}

/* Graphs are made, kept for each shape, and run with the memory they name; without cuDNN our own kernels run. */
static void attends(void)
{
    long (*runs)(void) = NULL, (*alive)(void) = NULL;
    find_function("fake_cudnn_runs", &runs), find_function("fake_cudnn_live", &alive);
    kni_driver *d = kni_cuda_driver_open(0);
    if (!runs || !alive || !CHECK(d != NULL)) return;
    const int64_t steps[3] = {2 * 128 * 64, 128 * 64, 64};
    kni_attention p = {.dtype = KN_BF16,
                       .batch = 2,
                       .heads = 4,
                       .key_heads = 2,
                       .queries = 128,
                       .keys = 128,
                       .size = 64,
                       .value_size = 64,
                       .scale = 0.125};
    kni_place *places[] = {&p.q, &p.k, &p.v, &p.out, &p.dy, &p.dq, &p.dk, &p.dv};
    for (int i = 0; i < 8; i++) places[i]->memory = d->allocate(d, 1 << 18);
    memcpy(p.k_steps, steps, sizeof steps), memcpy(p.v_steps, steps, sizeof steps);
    p.q_steps[0] = p.dy_steps[0] = 4 * 128 * 64, p.q_steps[1] = p.dy_steps[1] = 128 * 64,
    p.q_steps[2] = p.dy_steps[2] = 64;
    CHECK(d->attention(d, &p) == KN_OK && runs() == 1);
    p.lse.memory = d->allocate(d, 1 << 12);
    for (int i = 0; i < 4; i++) {
        p.causal = i % 2;
        CHECK(d->attention(d, &p) == KN_OK && d->attention_grad(d, &p) == KN_OK);
    }
    CHECK(runs() == 9);
    /* Nor are operands for the library that do not lie as it is told: our own kernels do not take them either. */
    struct {
        kni_place *place;
        int64_t *steps;
    } operands[] = {{&p.q, p.q_steps}, {&p.k, p.k_steps}, {&p.v, p.v_steps}, {&p.dy, p.dy_steps}};
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 4; k++) {
            int64_t *changed = k < 3 ? &operands[i].steps[k] : &operands[i].place->offset;
            *changed += k < 3 ? 4 : 7;
            CHECK(d->attention_grad(d, &p) == KN_ERROR_UNSUPPORTED);
            CHECK(i == 3 || d->attention(d, &p) == KN_ERROR_UNSUPPORTED);
            *changed -= k < 3 ? 4 : 7;
        }
    CHECK(runs() == 9);
    int64_t batches = p.batch, step = p.q_steps[0];
    p.batch = 1, p.q_steps[0] = 3; /* nobody takes that step */
    CHECK(d->attention(d, &p) == KN_OK && runs() == 10);
    p.batch = batches, p.q_steps[0] = step;
    setenv("FAKE_CUDNN_FAILS", "1", 1);
    CHECK(d->attention(d, &p) == KN_ERROR_INTERNAL && last_error_has("cuDNN failed"));
    unsetenv("FAKE_CUDNN_FAILS");
    /* Where the library has no plan, our own kernels are compiled; the stand-in does not know those. */
    setenv("FAKE_CUDNN_REFUSES", "1", 1);
    p.size = p.value_size = 128;
    CHECK(d->attention(d, &p) == KN_ERROR_INTERNAL && fake_calls("nvrtcCompileProgram") == 1);
    CHECK(d->attention_grad(d, &p) == KN_ERROR_INTERNAL && runs() == 11);
    p.size = p.value_size = 40;
    CHECK(d->attention(d, &p) == KN_ERROR_UNSUPPORTED && d->attention_grad(d, &p) == KN_ERROR_UNSUPPORTED);
    for (int i = 0; i < 8; i++) d->free(d, places[i]->memory);
    d->free(d, p.lse.memory);
    d->close(d);
    CHECK(fake_live() == 0 && alive() == 0);
}

/* The plans of large networks are made once; old ones go only where no recording holds what they launch. */
static void keeps_plans(void)
{
    enum { NETWORK = 68, MANY = 700, BOUND = 512 };
    long (*plans)(bool all) = NULL, (*alive)(void) = NULL;
    find_function("fake_cudnn_plans", &plans), find_function("fake_cudnn_live", &alive);
    kni_driver *d = kni_cuda_driver_open(0);
    if (!plans || !alive || !CHECK(d != NULL && d->record_begin)) return;
    kni_convolution p = some_convolution(d);
    for (int step = 0; step < 3; step++)
        for (p.images = 1; p.images <= NETWORK; p.images++) CHECK(d->convolution(d, &p) == KN_OK);
    CHECK(plans(true) == NETWORK && plans(false) == NETWORK);
    for (; p.images <= MANY; p.images++) CHECK(d->convolution(d, &p) == KN_OK);
    CHECK(plans(true) == MANY && plans(false) == BOUND);
    CHECK(d->record_begin(d) == KN_OK && d->convolution(d, &p) == KN_OK);
    for (p.images++; p.images <= MANY + 5; p.images++) CHECK(d->convolution(d, &p) == KN_OK);
    kni_recording *r = d->record_end(d);
    CHECK(r && plans(false) == BOUND + 5);
    for (; p.images <= 2 * MANY; p.images++) CHECK(d->convolution(d, &p) == KN_OK);
    CHECK(plans(false) == BOUND + MANY && d->replay(d, r) == KN_OK);
    d->record_free(d, r);
    CHECK(d->convolution(d, &p) == KN_OK && plans(false) == BOUND);
    /* Waiting fails once: it runs in another way, and nothing was released. */
    p.images++;
    fake_fail("cuStreamSynchronize", 1, 1);
    CHECK(d->convolution(d, &p) == KN_ERROR_UNSUPPORTED && plans(false) == BOUND);
    CHECK(d->convolution(d, &p) == KN_OK && plans(false) == BOUND);
    kni_place *places[] = {&p.x, &p.w, &p.y};
    for (int i = 0; i < 3; i++) d->free(d, places[i]->memory);
    d->close(d);
    CHECK(alive() == 0 && fake_live() == 0);
}

/* Which products our own kernel takes: operands of 16 bits on Hopper, results that rows and matrices share nothing of. The
   stand-in compiles it, but cannot run it. */
static void chooses_own_kernels(void)
{
    enum { SIZE = 64 };
    setenv("KN_VENDOR", "off", 1);
    for (int major = 8; major <= 10; major++) {
        setenv("FAKE_CUDA_MAJOR", major == 8 ? "8" : major == 9 ? "9" : "10", 1);
        kni_driver *d = kni_cuda_driver_open(0);
        if (!CHECK(d != NULL)) return;
        void *memory = d->allocate(d, 1 << 16);
        kni_product taken = {.m = SIZE, .n = SIZE, .k = SIZE, .batch = 1, .alpha = 1};
        taken.dtype = taken.out_dtype = KN_BF16;
        taken.a.memory = taken.b.memory = taken.d.memory = memory;
        taken.row_a = taken.row_b = taken.row_d = SIZE;
        for (int i = 0; i < 11; i++) {
            kni_product p = taken;
            if (i == 1) p.out_dtype = KN_F32;
            if (i == 2) p.batch = 2, p.step_d = SIZE * SIZE;
            if (i == 3) p.row_d = SIZE + 2;
            if (i == 4) p.dtype = p.out_dtype = KN_F16;
            if (i == 5) p.dtype = p.out_dtype = KN_F32;
            if (i == 6) p.out_dtype = KN_F16;
            if (i == 7) p.k = 0;
            if (i == 8) p.row_d = SIZE - 1;
            if (i == 9) p.batch = 2;
            if (i == 10) p.batch = 1 << 30, p.step_d = SIZE * SIZE;
            const kn_status wanted = major == 9 && i < 5 ? KN_ERROR_INTERNAL : KN_ERROR_UNSUPPORTED;
            if (!CHECK(d->product(d, &p) == wanted)) printf("capability %d.0, product %d\n", major, i);
        }
        d->free(d, memory);
        d->close(d);
        CHECK(fake_live() == 0);
    }
    unsetenv("FAKE_CUDA_MAJOR");
}

/* Our own kernels stay until the device is closed, however many there are. */
static void keeps_own_kernels(void)
{
    setenv("KN_VENDOR", "off", 1);
    kni_driver *d = kni_cuda_driver_open(0);
    if (!CHECK(d != NULL)) return;
    void *memory = d->allocate(d, 1 << 16);
    kni_product p = {.m = 64, .n = 64, .k = 64, .batch = 1, .alpha = 1};
    kni_place *places[] = {&p.a, &p.b, &p.c, &p.d, &p.bias, &p.aux};
    for (int i = 0; i < 6; i++) places[i]->memory = memory;
    p.row_a = p.row_b = p.row_c = p.row_d = 64;
    long compiled = 0, unloaded = fake_calls("cuModuleUnload");
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < 128; i++) {
            p.dtype = p.out_dtype = i & 1 ? KN_F16 : KN_BF16;
            p.transpose_a = i & 2, p.transpose_b = i & 4, p.beta = (i & 8) / 8, p.epilogue = i >> 4;
            /* The stand-in compiles it, but cannot run it. */
            CHECK(d->product(d, &p) == KN_ERROR_INTERNAL);
        }
        if (!turn) compiled = fake_calls("nvrtcCompileProgram");
    }
    CHECK(compiled == 128 && fake_calls("nvrtcCompileProgram") == compiled);
    CHECK(fake_calls("cuModuleUnload") == unloaded);
    d->free(d, memory);
    d->close(d);
    CHECK(fake_calls("cuModuleUnload") == unloaded + 128 && fake_live() == 0);
}

static void remove_fake(void)
{
    char command[200];
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0);
}

/* MemorySanitizer takes for unwritten what the stand-ins, which it cannot see into, have written. */
#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#define SKIPPED 1
#endif
#endif

int main(void)
{
#ifdef SKIPPED
    check_skip("MemorySanitizer: stand-ins of the driver");
    return check_report();
#endif
    if (!build_fake()) {
        check_skip("no C compiler");
        remove_fake();
        return check_report();
    }
    if (!dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) situation(says_no_driver, false, false, false);
    situation(says_old_driver, true, true, true);
    if (!dlopen("libnvrtc.so.12", RTLD_NOW | RTLD_LOCAL)) situation(says_no_compiler, true, false, true);
    situation(works_without_products, true, true, false);
    situation(survives_each_failure, true, true, true);
    situation(is_lost_until_reopened, true, true, true);
    situation(refuses_after_fork, true, true, true);
    situation(uploads_without_waiting, true, true, true);
    situation(copies_much, true, true, true);
    situation(runs_out_of_memory, true, true, true);
    situation(refuses_bad_launches, true, true, true);
    situation(keeps_kernels_on_disk, true, true, true);
    situation(multiplies_row_major, true, true, true);
    situation(multiplies_with_another_matrix, true, true, true);
    situation(keeps_uneven_biases, true, true, true);
    situation(measures_when_asked, true, true, true);
    situation(attends, true, true, true);
    situation(convolves, true, true, true);
    situation(keeps_plans, true, true, true);
    situation(chooses_own_kernels, true, true, true);
    situation(keeps_own_kernels, true, true, true);
    situation(changes_recorded_numbers, true, true, true);
    situation(spreads_recordings, true, true, true);
    remove_fake();
    return check_report();
}
