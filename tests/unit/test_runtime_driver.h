/* What the drivers over backend/runtime do alike, over stand-ins for the vendor's libraries (tests/gpu/fake_*.c, built here with
   the system's compiler): what every failing call leaves behind, copies, a lost device, recordings, memory that is given
   back. Each situation runs in a process of its own, because libraries are opened once. The file that includes this says which driver: */
#ifndef KN_TEST_RUNTIME_DRIVER_H
#define KN_TEST_RUNTIME_DRIVER_H

#include "backend/runtime/runtime.h"
#include "support/check.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct runtime_stand_in {
    const char *sources;          /* of the stand-in */
    const char *folders;          /* the variable with folders of libraries */
    const char *profile, *graphs; /* the variables that switch them */
    const char *const *libraries; /* names under which it is found, NULL at the end */
    const char *const *calls;     /* that may fail too, NULL at the end */
    const char *(*call)(
        const char *field); /* what the library calls a function of runtime_api.h, NULL: it has none */
    kni_driver *(*open)(int32_t number);
} runtime_stand_in;
static const runtime_stand_in stand_in;
#define call(field) stand_in.call(field)

/* Rows of a table from the fields of runtime_api.h to symbols: F picks the column. */
#define EVERY_CALL(F)                                                                                        \
    KNI_RUNTIME_LIST(F) KNI_RUNTIME_RECORD_LIST(F) KNI_RUNTIME_OPTIONAL_LIST(F) KNI_RUNTIME_COMPILER_LIST(F)
typedef struct named_call {
    const char *field, *symbol;
} named_call;
static const char *find_call(const named_call *list, int n, const char *field)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(list[i].field, field)) return list[i].symbol;
    return NULL;
}

static char folder[64] = "build_fake_driver_XXXXXX";
static void (*fake_fail)(const char *name, int after, int result);
static long (*fake_calls)(const char *name);
static long (*fake_live)(void);
static void (*fake_limit)(long bytes);
static int (*fake_overlap)(int milliseconds);

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
    snprintf(command, sizeof command, "cc -shared -fPIC -O1 -w %s -lm -o %s/libfake.so 2>/dev/null",
             stand_in.sources, folder);
    return system(command) == 0;
}

static void find_fake(void)
{
    char path[200];
    snprintf(path, sizeof path, "%s/libfake.so", folder);
    void *handle = dlopen(path, RTLD_NOW), *address[5];
    static const char *const names[] = {"fake_cuda_fail", "fake_cuda_calls", "fake_cuda_live",
                                        "fake_cuda_limit", "fake_cuda_overlap"};
    for (int i = 0; i < 5; i++) address[i] = handle ? dlsym(handle, names[i]) : NULL;
    memcpy(&fake_fail, &address[0], sizeof address[0]);
    memcpy(&fake_calls, &address[1], sizeof address[0]);
    memcpy(&fake_live, &address[2], sizeof address[0]);
    memcpy(&fake_limit, &address[3], sizeof address[0]);
    memcpy(&fake_overlap, &address[4], sizeof address[0]);
}

/* Runs a situation in a child with the stand-in's libraries in sight whose bits are set; its counts come back through a
   pipe. */
static void situation(void (*run)(void), unsigned libraries)
{
    int ends[2], counts[2] = {0, 1};
    fflush(stdout);
    if (!CHECK(pipe(ends) == 0)) return;
    pid_t child = fork();
    if (child == 0) {
        check_passed = check_failed = 0;
        setenv(stand_in.folders, folder, 1);
        setenv("KN_CACHE", "off", 1);
        for (int i = 0; stand_in.libraries[i]; i++)
            if (libraries >> i & 1) link_as(stand_in.libraries[i]);
        find_fake();
        if (CHECK(fake_fail != NULL)) run();
        for (int i = 0; stand_in.libraries[i]; i++) {
            char path[200];
            snprintf(path, sizeof path, "%s/%s", folder, stand_in.libraries[i]);
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

/* The run with each call of the function failing in turn; how many runs did not reach their end. */
static int survive(const char *name)
{
    static const int results[] = {1, 2, 700};
    int tried = 0;
    for (int after = 1; after <= 6; after++)
        for (int k = 0; k < 3; k++) {
            fake_fail(name, after, results[k]);
            kni_driver *d = stand_in.open(0);
            bool good = d && run_all(d);
            if (d) {
                fake_fail(name, 0, 0);
                d->close(d);
            }
            fake_fail(name, 0, 0);
            bool clean = fake_live() == 0;
            if (!clean) printf("%s, call %d, result %d leaves %ld\n", name, after, results[k], fake_live());
            CHECK(clean);
            tried += !good;
            /* And the next one is well. */
            d = stand_in.open(0);
            good = CHECK(d != NULL) && run_all(d);
            if (!CHECK(good))
                printf("after %s, call %d, result %d: %s\n", name, after, results[k], kn_last_error());
            if (d) d->close(d);
            if (!CHECK(fake_live() == 0)) return tried;
        }
    return tried;
}

static void survives_each_failure(void)
{
    static const char *const names[] = {"context_retain",
                                        "context_set",
                                        "stream_create",
                                        "memory_allocate",
                                        "copy_in",
                                        "copy_out",
                                        "copy_on",
                                        "set_bytes",
                                        "stream_wait",
                                        "event_record",
                                        "event_wait",
                                        "module_load",
                                        "module_function",
                                        "function_attribute",
                                        "function_set",
                                        "launch",
                                        "capture_begin",
                                        "capture_end",
                                        "graph_instantiate",
                                        "graph_upload",
                                        "graph_launch",
                                        "capture_info",
                                        "node_set",
                                        "create",
                                        "compile",
                                        "code_bytes",
                                        "code"};
    int tried = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (call(names[i])) tried += survive(call(names[i]));
    for (int i = 0; stand_in.calls[i]; i++) tried += survive(stand_in.calls[i]);
    CHECK(tried > 100);
}

/* ---- single facts */

static void is_lost_until_reopened(void)
{
    kni_driver *d = stand_in.open(0);
    if (!CHECK(d != NULL)) return;
    kni_module *m = d->compile(d, text, strlen(text), "wild");
    void *memory = d->allocate(d, 16);
    CHECK(d->launch(d, m, &(kni_launch_shape){{1, 1, 1}, 1, 0}, &memory, 1, NULL, 0) == KN_OK);
    CHECK(d->sync(d) == KN_ERROR_DEVICE && last_error_has(":0 was lost"));
    CHECK(d->upload(d, memory, 0, "abc", 3) == KN_ERROR_DEVICE &&
          last_error_has("close it and open it again"));
    char left[4] = "old";
    long copies = fake_calls(call("copy_out"));
    CHECK(d->download(d, left, memory, 0, 3) == KN_ERROR_DEVICE && !strcmp(left, "old") &&
          fake_calls(call("copy_out")) == copies);
    CHECK(d->allocate(d, 1) == NULL && d->compile(d, text, strlen(text), "scale_add") == NULL &&
          d->record_begin(d) != KN_OK);
    d->free(d, memory);
    d->unload(d, m);
    d->close(d);
    CHECK(fake_calls(call("context_reset")) == 1 && fake_live() == 0);
    d = stand_in.open(0);
    CHECK(d && run_all(d));
    d->close(d);
}

static void refuses_after_fork(void)
{
    kni_driver *d = stand_in.open(0);
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
    kni_driver *d = stand_in.open(0);
    if (!CHECK(d != NULL)) return;
    static unsigned char data[BYTES], back[BYTES];
    void *memory[TURNS];
    long waits = fake_calls(call("stream_wait")) + fake_calls(call("event_wait"));
    for (int i = 0; i < TURNS; i++) {
        memory[i] = d->allocate(d, BYTES);
        memset(data, i, BYTES);
        CHECK(d->upload(d, memory[i], 0, data, BYTES) == KN_OK);
    }
    CHECK(fake_calls(call("stream_wait")) + fake_calls(call("event_wait")) == waits);
    for (int i = 0; i < TURNS; i++) {
        CHECK(d->download(d, back, memory[i], 0, BYTES) == KN_OK && back[0] == i && back[BYTES - 1] == i);
        d->free(d, memory[i]);
    }
    /* Without pinned memory it goes on. */
    d->close(d);
    d = stand_in.open(0);
    fake_fail(call("host_allocate"), 1, 2);
    void *one = d->allocate(d, BYTES);
    CHECK(d->upload(d, one, 0, data, BYTES) == KN_OK);
    fake_fail(call("host_allocate"), 1, 2);
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
    kni_driver *d = stand_in.open(0);
    if (!CHECK(d != NULL && data && back)) return;
    void *memory = d->allocate(d, ROOM);
    CHECK(d->upload(d, memory, 0, data, 0) == KN_OK && d->download(d, back, memory, 0, 0) == KN_OK);
    CHECK(fake_calls(call("host_allocate")) == 0 && fake_calls(call("copy_in")) == 0);
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
    kni_driver *d = stand_in.open(0);
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
    kni_driver *d = stand_in.open(0);
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
    long launches = fake_calls(call("launch"));
    CHECK(d->launch(d, m, &(kni_launch_shape){{0, 1, 1}, 32, 0}, buffers, 2, &p, sizeof p) == KN_OK);
    CHECK(fake_calls(call("launch")) == launches);
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
    kni_driver *d = stand_in.open(0);
    if (!CHECK(d != NULL)) return;
    for (int i = 0; i < 3; i++) {
        CHECK(run_all(d));
        CHECK(fake_calls(call("compile")) == 1);
    }
    /* An image that no longer loads is compiled anew. */
    fake_fail(call("module_load"), 1, 200);
    CHECK(run_all(d) && fake_calls(call("compile")) == 2);
    d->close(d);
    CHECK(fake_live() == 0);
}

/* ---- compiling ahead */

enum { TEXTS = 24 }; /* more than there are threads */
static const char *text_of(int number)
{
    static char texts[TEXTS][200];
    snprintf(texts[number], sizeof texts[number], "/* %d */ %s", number, text);
    return texts[number];
}

static void hand_over(kni_driver *d)
{
    for (int i = 0; i < TEXTS; i++) d->compile_ahead(d, text_of(i), "scale_add");
}

static bool compile_all(kni_driver *d)
{
    bool good = true;
    for (int i = 0; i < TEXTS; i++) {
        kni_module *m = d->compile(d, text_of(i), strlen(text_of(i)), "scale_add");
        good &= m != NULL;
        d->unload(d, m);
    }
    return good;
}

/* Several at once, and none twice. */
static void compiles_ahead(void)
{
    kni_driver *d = stand_in.open(0);
    if (!CHECK(d != NULL && d->compile_ahead)) return;
    (void)fake_overlap(30);
    hand_over(d);
    hand_over(d);
    CHECK(compile_all(d) && fake_calls(call("compile")) == TEXTS);
    /* HIPRTC has one thread beside the caller, who may come too late to meet it, and never two. */
    const int overlap = fake_overlap(0);
    CHECK(strstr(stand_in.folders, "CUDA") ? overlap >= 2 : overlap == 1 || overlap == 2);
    CHECK(run_all(d));
    d->close(d);
    CHECK(fake_live() == 0);
}

/* Images that nobody asked for are let go, also those that are being made; so they are when the device is closed. */
static void forgets_what_was_ahead(void)
{
    kni_driver *d = stand_in.open(0);
    if (!CHECK(d != NULL)) return;
    (void)fake_overlap(200);
    hand_over(d);
    usleep(50000);
    d->forget_ahead(d);
    (void)fake_overlap(0);
    long before = fake_calls(call("compile"));
    CHECK(before > 0 && before < TEXTS);
    usleep(50000);
    CHECK(fake_calls(call("compile")) == before);
    CHECK(compile_all(d) && fake_calls(call("compile")) == before + TEXTS);
    (void)fake_overlap(200);
    hand_over(d);
    d->close(d);
    CHECK(fake_live() == 0 && fake_calls(call("compile")) < before + 2 * TEXTS);
}

/* A guess that fails says nothing; who asks for the same is told, or has it made once more. */
static void fails_ahead_in_silence(void)
{
    static const char *const fields[] = {"create", "compile", "code_bytes", "code"};
    kni_driver *d = stand_in.open(0);
    if (!CHECK(d != NULL)) return;
    CHECK(d->record_end(d) == NULL);
    d->compile_ahead(d, "the line of nothing;", "bad");
    usleep(50000);
    CHECK(last_error_has("did not begin"));
    CHECK(d->compile(d, "the line of nothing;", 20, "bad") == NULL && last_error_has("does not compile"));
    for (int i = 0; i < 4; i++) {
        fake_fail(call(fields[i]), 1, 2);
        d->compile_ahead(d, text_of(i), "scale_add");
        usleep(50000);
        kni_module *m = d->compile(d, text_of(i), strlen(text_of(i)), "scale_add");
        CHECK(m != NULL);
        d->unload(d, m);
    }
    d->close(d);
    CHECK(fake_live() == 0);
}

/* What the parent's device holds stays in the child, and is no leak of it. */
static int left_with;
static void leave(void) { _exit(left_with); }

/* A forked child has no threads: it neither waits for them nor for what they began. */
static void forks_beside_compilations(void)
{
    atexit(leave); /* runs after what the device lists later */
    kni_driver *d = stand_in.open(0);
    if (!CHECK(d != NULL)) return;
    (void)fake_overlap(30);
    hand_over(d);
    usleep(10000); /* they have begun */
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        d->compile_ahead(d, text, "scale_add");
        d->forget_ahead(d);
        left_with = d->compile(d, text, strlen(text), "scale_add") == NULL ? 0 : 1;
        d->close(d);
        exit(left_with);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(compile_all(d) && fake_calls(call("compile")) == TEXTS);
    d->close(d);
    CHECK(fake_live() == 0);
}

static long live_before;
static void compiles_no_more(void)
{
    if (fake_live() != live_before || fake_overlap(0) < 1 || fake_calls(call("compile")) == TEXTS) _exit(1);
}

/* A program that ends waits for what was begun, and begins nothing more. */
static void exits_beside_compilations(void)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        atexit(compiles_no_more); /* runs after what the device listed later */
        kni_driver *d = stand_in.open(0);
        if (!d) _exit(1);
        live_before = fake_live();
        (void)fake_overlap(200);
        hand_over(d);
        usleep(50000);
        exit(0);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

/* What lies on disk is read ahead, not compiled. */
static void reads_ahead_from_disk(void)
{
    char cache[100];
    snprintf(cache, sizeof cache, "%s/ahead", folder);
    setenv("KN_CACHE_DIR", cache, 1);
    unsetenv("KN_CACHE");
    kni_driver *d = stand_in.open(0);
    if (!CHECK(d != NULL)) return;
    for (int i = 0; i < 2; i++) {
        hand_over(d);
        CHECK(compile_all(d) && fake_calls(call("compile")) == TEXTS && d->loaded == i * TEXTS);
    }
    d->close(d);
    CHECK(fake_live() == 0);
}

static void compiles_nothing_ahead_when_told(void)
{
    setenv("KN_COMPILE_AHEAD", "off", 1);
    kni_driver *d = stand_in.open(0);
    CHECK(d && !d->compile_ahead && run_all(d));
    if (d) d->close(d);
    unsetenv("KN_COMPILE_AHEAD");
}

static void measures_when_asked(void)
{
    char report[2000];
    setenv(stand_in.profile, "on", 1);
    kni_driver *d = stand_in.open(0);
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
    kni_driver *d = stand_in.open(0);
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
        fake_fail(i ? call("graph_upload") : call("graph_instantiate"), 1, 2);
        r = d->record_end(d);
        CHECK(r && asked == i + 1 && d->replay(d, r) == KN_OK);
        d->record_free(d, r);
    }
    CHECK(d->record_begin(d) == KN_OK && d->launch(d, m, &shape, buffers, 2, &p, sizeof p) == KN_OK);
    for (int i = 0; i < 2; i++) d->free(d, buffers[i]);
    d->unload(d, m);
    d->close(d);
    CHECK(fake_live() == 0);
    setenv(stand_in.graphs, "off", 1);
    d = stand_in.open(0);
    if (CHECK(d != NULL && !d->record_begin)) d->close(d);
    unsetenv(stand_in.graphs);
}

/* Work that does not depend on each other is not put in a line: the stand-in runs the latest first, where it may, and the
   result is the same. Each launch adds one of few buffers to another one. */
static void spreads_recordings(void)
{
    enum { N = 16, BUFFERS = 6, WORK = 100 };
    kni_driver *d = stand_in.open(0);
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
    CHECK(fake_calls(call("edges_remove")) > 500);
    for (int i = 0; i < BUFFERS; i++) d->free(d, buffers[i]);
    d->unload(d, m);
    d->close(d);
    CHECK(fake_live() == 0);
}

static void remove_fake(void)
{
    char command[200];
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0);
}

/* What both run. `all`: bits of the libraries. */
static inline void common_situations(unsigned all)
{
    situation(survives_each_failure, all);
    situation(is_lost_until_reopened, all);
    situation(refuses_after_fork, all);
    situation(uploads_without_waiting, all);
    situation(copies_much, all);
    situation(runs_out_of_memory, all);
    situation(refuses_bad_launches, all);
    situation(keeps_kernels_on_disk, all);
    situation(compiles_ahead, all);
    situation(forgets_what_was_ahead, all);
    situation(fails_ahead_in_silence, all);
    situation(forks_beside_compilations, all);
    situation(exits_beside_compilations, all);
    situation(reads_ahead_from_disk, all);
    situation(compiles_nothing_ahead_when_told, all);
    situation(measures_when_asked, all);
    situation(changes_recorded_numbers, all);
    situation(spreads_recordings, all);
}

/* MemorySanitizer takes for unwritten what the stand-ins, which it cannot see into, have written. */
#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#define SKIPPED 1
#endif
#endif

#endif
