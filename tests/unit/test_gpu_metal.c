/* The Metal driver over a stand-in for the Objective-C runtime and Metal (tests/gpu/fake_metal.c, built here with the system's compiler):
   what it says where something is missing, memory, copies at odd places, launches, kernels that do not compile, every failing call, a lost
   device. Each situation runs in a process of its own, because libraries are opened once. No test runs on a GPU of Apple's. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "backend/gpu/gpu.h"
#include "backend/metal/metal_driver.h"
#include "support/check.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64] = "build_fake_metal_XXXXXX";
static void (*fake_fail)(const char *name, int after);
static long (*fake_calls)(const char *name);
static long (*fake_live)(void);
static void (*fake_limit)(long bytes);
static void (*fake_break)(int code);

/* ---- the stand-in */

static void path_of(char *path, size_t bytes, const char *name)
{
    snprintf(path, bytes, "%s/%s", folder, name);
}

static bool build_fake(void)
{
    char command[400];
    if (!mkdtemp(folder)) return false;
    snprintf(command, sizeof command,
             "cc -shared -fPIC -O1 -w tests/gpu/fake_metal.c tests/gpu/fake_metal_kernel.c -o %s/libfake.so",
             folder);
    return system(command) == 0;
}

static void find_fake(void)
{
    static const char *const names[] = {"fake_metal_fail", "fake_metal_calls", "fake_metal_live",
                                        "fake_metal_limit", "fake_metal_break"};
    void *const places[] = {&fake_fail, &fake_calls, &fake_live, &fake_limit, &fake_break};
    char path[200];
    path_of(path, sizeof path, "libfake.so");
    void *handle = dlopen(path, RTLD_NOW);
    for (int i = 0; i < 5; i++) {
        void *address = handle ? dlsym(handle, names[i]) : NULL;
        memcpy(places[i], &address, sizeof address);
    }
}

/* Runs a situation in a child, with the runtime, and Metal, in sight or not. */
static void situation(void (*run)(void), bool runtime, bool framework)
{
    static const char *const links[] = {"libobjc.A.dylib", "Metal"};
    const bool there[] = {runtime, framework};
    int ends[2], counts[2] = {0, 1};
    fflush(stdout);
    if (!CHECK(pipe(ends) == 0)) return;
    pid_t child = fork();
    if (child == 0) {
        char path[200];
        check_passed = check_failed = 0;
        setenv("KN_METAL_LIBRARIES", folder, 1);
        for (int i = 0; i < 2; i++) {
            path_of(path, sizeof path, links[i]);
            if (there[i]) CHECK(symlink("libfake.so", path) == 0);
        }
        find_fake();
        if (CHECK(fake_fail != NULL)) run();
        counts[0] = check_passed;
        counts[1] = check_failed;
        fflush(stdout);
        _exit(write(ends[1], counts, sizeof counts) == sizeof counts ? 0 : 1);
    }
    close(ends[1]);
    CHECK(read(ends[0], counts, sizeof counts) == (ssize_t)sizeof counts);
    close(ends[0]);
    waitpid(child, NULL, 0);
    for (int i = 0; i < 2; i++) {
        char path[200];
        path_of(path, sizeof path, links[i]);
        unlink(path);
    }
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

static void says_no_runtime(void)
{
    char line[200];
    CHECK(kn_device_open("metal:0") == NULL && last_error_has("metal:0 cannot be opened"));
    CHECK(last_error_has("libobjc.A.dylib is not on this machine") && last_error_has("kiln info"));
    CHECK(!kni_metal_describe(0, line, sizeof line));
}

static void says_no_framework(void)
{
    CHECK(kn_device_open("metal") == NULL && last_error_has("Metal.framework is not on this machine"));
}

static void says_no_device(void)
{
    setenv("FAKE_METAL_DEVICES", "0", 1);
    fake_fail("MTLCreateSystemDefaultDevice", 1);
    CHECK(kn_device_open("metal:0") == NULL && last_error_has("finds no GPU"));
    unsetenv("FAKE_METAL_DEVICES");
    CHECK(kn_device_open("metal:7") == NULL && last_error_has("this machine has metal:0 to metal:0"));
    setenv("FAKE_METAL_FAMILY", "1001", 1);
    CHECK(kn_device_open("metal:0") == NULL && last_error_has("families Apple 6 or Mac 2"));
    /* Without a list there is the default device. */
    unsetenv("FAKE_METAL_FAMILY");
    fake_fail("MTLCopyAllDevices", 1);
    char line[200];
    CHECK(kni_metal_describe(0, line, sizeof line) &&
          strstr(line, "metal:0  a GPU of paper, unified memory"));
}

/* ---- the driver alone */

static const char doubles[] =
    "#include <metal_stdlib>\n"
    "struct params { int64_t n; float scale; };\n"
    "kernel void kn_doubles(device const float *x [[buffer(0)]], device float *y [[buffer(1)]], "
    "constant params &p [[buffer(2)]], uint3 group [[threadgroup_position_in_grid]], "
    "uint3 member [[thread_position_in_threadgroup]])\n"
    "{\n    const int64_t i = (int64_t)group.x * 32 + member.x;\n"
    "    if (i < p.n) y[i] = x[i] * p.scale;\n}\n";
typedef struct doubles_params {
    int64_t n;
    float scale;
} doubles_params;

static kni_driver *open_driver(void)
{
    kn_backend *b = kni_metal_open("0", NULL, 0);
    if (!CHECK(b != NULL)) printf("%s\n", kn_last_error());

    return b ? ((kni_gpu *)(void *)b)->driver : NULL;
}

static void has_caps(void)
{
    kni_driver *d = open_driver();
    if (!d) return;
    CHECK(d->caps.dialect == KNI_IR_METAL && !d->caps.f64 && d->caps.i64 && d->caps.half_storage);
    CHECK(d->caps.subgroups && d->caps.subgroup == 32 && d->caps.max_buffers == 30);
    CHECK(d->memory_bytes == INT64_C(1) << 33 && strstr(d->description, "a GPU of paper"));
}

/* GPUs of other makers have SIMD groups of sizes of their own. */
static void has_no_subgroups(void)
{
    setenv("FAKE_METAL_FAMILY", "2002", 1);
    kni_driver *d = open_driver();
    if (d) CHECK(!d->caps.subgroups && d->caps.subgroup == 1);
}

/* Parts do not overlap, and come back: the same pieces fit again without a new buffer. */
static void allocates_parts(void)
{
    enum { N = 300 };
    kni_driver *d = open_driver();
    if (!d) return;
    metal *m = kni_metal_of(d);
    metal_memory *parts[N];
    uint64_t before = 0;
    for (int round = 0; round < 3; round++) {
        bool apart = true;
        for (int i = 0; i < N; i++) {
            size_t bytes = (size_t)(1 + i * 379 % 9000);
            parts[i] = d->allocate(d, bytes);
            if (!CHECK(parts[i] && parts[i]->bytes >= bytes)) return;
            apart = apart && parts[i]->offset % METAL_ALIGNMENT == 0;
            for (int k = 0; k < i && apart; k++)
                apart = parts[i]->buffer != parts[k]->buffer ||
                        parts[i]->offset >= parts[k]->offset + parts[k]->bytes ||
                        parts[k]->offset >= parts[i]->offset + parts[i]->bytes;
        }
        CHECK(apart && (round == 0 || m->used_bytes == before));
        before = m->used_bytes;
        for (int i = 0; i < N; i++) d->free(d, parts[i * 7 % N]);
    }
    CHECK(!d->allocate(d, SIZE_MAX) && !d->allocate(d, (size_t)m->most_buffer + 1));
    void *large = d->allocate(d, 9 << 20);
    CHECK(large && m->used_bytes == before + (9 << 20));
    d->free(d, large);
    CHECK(m->used_bytes == before);
    /* No memory, from the system or beyond what Metal says it can work with, is no failure told. */
    fake_fail("newBufferWithLength:options:", 1);
    CHECK(!d->allocate(d, 9 << 20) && !d->allocate(d, (size_t)1 << 32 | 1));
    m->driver.memory_bytes = (int64_t)before + 100;
    CHECK(!d->allocate(d, 9 << 20));
}

static void copies(void)
{
    enum { BYTES = METAL_STAGING + 12347 };
    kni_driver *d = open_driver();
    if (!d) return;
    unsigned char *from = malloc(BYTES), *to = calloc(1, BYTES), seen[64];
    void *a = d->allocate(d, BYTES), *b = d->allocate(d, BYTES);
    if (!CHECK(from && to && a && b)) return;
    for (int i = 0; i < BYTES; i++) from[i] = (unsigned char)(i * 131 + i / 253);
    CHECK(d->upload(d, a, 0, from, BYTES) == KN_OK && d->copy(d, b, 0, a, 0, BYTES) == KN_OK);
    CHECK(d->download(d, to, b, 0, BYTES) == KN_OK && !memcmp(from, to, BYTES));
    for (size_t at = 0; at < 6; at++)
        for (size_t n = 0; n < 7; n++) {
            memcpy(to, from, 64);
            memset(to + at, 0, n);
            CHECK(d->upload(d, a, 0, from, 64) == KN_OK && d->fill_zero(d, a, at, n) == KN_OK);
            CHECK(d->download(d, seen, a, 0, 64) == KN_OK && !memcmp(seen, to, 64));
            CHECK(d->copy(d, a, at, b, at + 3, n) == KN_OK && d->download(d, seen, a, at, n) == KN_OK);
            CHECK(!n || !memcmp(seen, from + at + 3, n));
            CHECK(d->upload(d, a, at, from + 9, n) == KN_OK && d->download(d, seen, a, at, n) == KN_OK);
            CHECK(!n || !memcmp(seen, from + 9, n));
        }
    d->free(d, a);
    d->free(d, b);
    free(from);
    free(to);
}

/* More uploads and launches than frames hold: what one reads is not overwritten by what comes after it. */
static void keeps_order(void)
{
    enum { N = 64, TURNS = 3000 };
    kni_driver *d = open_driver();
    if (!d) return;
    kni_module *m = d->compile(d, doubles, sizeof doubles - 1, "kn_doubles");
    metal_memory *x = d->allocate(d, N * 4), *y[4];
    float values[N], seen[N];
    bool good = m && x;
    for (int i = 0; i < 4; i++) good = good && (y[i] = d->allocate(d, N * 4)) != NULL;
    for (int turn = 0; turn < TURNS && good; turn++) {
        doubles_params p = {N, (float)(turn % 7)};
        for (int i = 0; i < N; i++) values[i] = (float)(turn + i);
        void *buffers[] = {x, y[turn % 4]};
        good = d->upload(d, x, 0, values, sizeof values) == KN_OK &&
               d->launch(d, m, &(kni_launch_shape){{2, 1, 1}, 32, 0}, buffers, 2, &p, sizeof p) == KN_OK;
    }
    for (int k = 0; k < 4 && good; k++) {
        int turn = TURNS - 4 + k;
        good = d->download(d, seen, y[turn % 4], 0, sizeof seen) == KN_OK;
        for (int i = 0; i < N && good; i++) good = seen[i] == (float)(turn % 7) * (float)(turn + i);
    }
    CHECK(good);
    if (m) d->unload(d, m);
}

/* Numbers of a launch that are too many for the command lie in staging memory. */
static void passes_many_numbers(void)
{
    static const char text[] =
        "#include <metal_stdlib>\n"
        "struct params { uint32_t words[1100]; };\n"
        "kernel void kn_words(device uint32_t *y [[buffer(0)]], constant params &p [[buffer(1)]], "
        "uint3 group [[threadgroup_position_in_grid]], uint3 member [[thread_position_in_threadgroup]])\n"
        "{\n    const uint32_t i = group.x * 100 + member.x;\n    y[i] = p.words[i];\n}\n";
    kni_driver *d = open_driver();
    uint32_t words[1100], seen[1100];
    if (!d) return;
    kni_module *m = d->compile(d, text, sizeof text - 1, "kn_words");
    void *y = d->allocate(d, sizeof words);
    for (uint32_t i = 0; i < 1100; i++) words[i] = i * i;
    bool good = m && y &&
                d->launch(d, m, &(kni_launch_shape){{11, 1, 1}, 100, 0}, &y, 1, words, sizeof words) == KN_OK;
    memset(words + 3, 0, 4);
    CHECK(good && d->download(d, seen, y, 0, sizeof seen) == KN_OK && seen[3] == 9 &&
          seen[1099] == 1099 * 1099);
}

/* What Metal's language has not, each with clang's words for it: without them a wrong text would count as compiled. */
static void refuses_what_metal_has_not(void)
{
    static const struct {
        const char *line, *words;
    } wrong[] = {{"threadgroup float *y = x;", "cannot initialize a variable"},
                 {"kn_words(x);", "no matching function"},
                 {"volatile device metal::atomic_uint *w = (volatile threadgroup metal::atomic_uint *)x;",
                  "address space"},
                 {"x[0] = sqrt(x[1]);", "undeclared identifier"},
                 {"x[0] = metal::no_function(x[1]);", "no member named"},
                 {"double y = x[0]; x[0] = y;", "double"},
                 {"goto end; end: x[0] = 0;", "poisoned"}};
    kni_driver *d = open_driver();
    for (size_t i = 0; d && i < sizeof wrong / sizeof *wrong; i++) {
        char text[500];
        snprintf(text, sizeof text,
                 "#include <metal_stdlib>\nstatic inline void kn_words(threadgroup float *x) { x[0] = 1; }\n"
                 "kernel void kn_wrong(device float *x [[buffer(0)]])\n{\n    %s\n}\n",
                 wrong[i].line);
        CHECK(!d->compile(d, text, strlen(text), "kn_wrong") &&
              last_error_has("metal:0: the driver does not compile the kernel kn_wrong") &&
              last_error_has(wrong[i].words));
    }
}

static void tells_refusals(void)
{
    kni_driver *d = open_driver();
    if (!d) return;
    CHECK(!d->compile(d, doubles, sizeof doubles - 1, "kn_other") && last_error_has("kn_other"));
    fake_fail("newComputePipelineStateWithFunction:error:", 1);
    CHECK(!d->compile(d, doubles, sizeof doubles - 1, "kn_doubles") &&
          last_error_has("too many registers (2)"));
    setenv("FAKE_METAL_WIDTH", "16", 1);
    CHECK(!d->compile(d, doubles, sizeof doubles - 1, "kn_doubles") &&
          last_error_has("KN_CAPS=no-subgroups"));
    unsetenv("FAKE_METAL_WIDTH");
    setenv("FAKE_METAL_THREADS", "16", 1);
    kni_module *m = d->compile(d, doubles, sizeof doubles - 1, "kn_doubles");
    void *none[2] = {NULL, NULL};
    if (!CHECK(m != NULL)) return;
    CHECK(d->launch(d, m, &(kni_launch_shape){{1, 1, 1}, 32, 0}, none, 2, NULL, 0) == KN_ERROR_UNSUPPORTED &&
          last_error_has("16 is the most"));
    CHECK(d->launch(d, m, &(kni_launch_shape){{0, 1, 1}, 32, 0}, none, 2, NULL, 0) == KN_OK);
}

/* ---- tensors */

static bool adds_up(void)
{
    float values[4] = {0};
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(kn_full(KN_SHAPE(4), 1.5, KN_F32));
    bool good = kn_read(kn_add(x, x), values, sizeof values) == KN_OK && values[0] == 3 && values[3] == 3;
    kn_scope_end(scope, KN_NONE);
    return good;
}

/* A command buffer that fails: what is read then is an error with Metal's words, and opening again gives a new device. */
static void survives_loss(void)
{
    kn_device device = kn_device_open("metal:0");
    kn_device_use(device);
    CHECK(adds_up());
    fake_break(11);
    CHECK(!adds_up() && last_error_has("a command buffer failed"));
    CHECK(last_error_has("Caused GPU Error (IOGPUCommandQueueErrorDomain) (11)"));
    CHECK(!adds_up());
    kn_device_use(NULL);
    kn_device_close(device);
    device = kn_device_open("metal:0");
    kn_device_use(device);
    CHECK(adds_up());
    kn_device_use(NULL);
    kn_device_close(device);
}

/* Each message that can fail, at each of its first calls: an error, and the process goes on. */
static void survives_failures(void)
{
    static const char *const messages[] = {"newCommandQueue",
                                           "newBufferWithLength:options:",
                                           "MTLCompileOptions",
                                           "commandBuffer",
                                           "computeCommandEncoder",
                                           "blitCommandEncoder",
                                           "newLibraryWithSource:options:error:",
                                           "newFunctionWithName:",
                                           "newComputePipelineStateWithFunction:error:"};
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++)
        for (int after = 1; after <= 3; after++) {
            pid_t child = fork();
            if (child == 0) {
                fake_fail(messages[i], after);
                kn_device device = kn_device_open("metal:0");
                bool good = true;
                if (device) {
                    kn_device_use(device);
                    good = adds_up() || kn_last_error()[0];
                    fake_fail(messages[i], 0);
                } else {
                    good = strstr(kn_last_error(), "metal:0") != NULL;
                }
                kn_shutdown();
                _exit(good ? 0 : 1);
            }
            int status = 1;
            waitpid(child, &status, 0);
            if (!CHECK(status == 0)) printf("%s, call %d\n", messages[i], after);
        }
}

static void runs_short_of_memory(void)
{
    kn_device device = kn_device_open("metal:0");
    kn_device_use(device);
    fake_limit(64 << 20);
    kn_scope scope = kn_scope_begin();
    CHECK_POISON(kn_ones(KN_SHAPE(64 << 20), KN_F32), "no memory for");
    kn_scope_end(scope, KN_NONE);
    CHECK(adds_up());
    kn_device_use(NULL);
    kn_device_close(device);
}

/* Everything that was made is given back when the library ends. */
static void gives_back(void)
{
    long before = fake_live();
    kn_device device = kn_device_open("metal:0");
    kn_device_use(device);
    CHECK(adds_up() && fake_live() > before);
    kn_device_use(NULL);
    kn_device_close(device);
    kn_shutdown();
    CHECK(fake_live() == before);
    CHECK(fake_calls("commandBuffer") > 0);
}

int main(void)
{
    setenv("KN_CACHE", "off", 1);
    if (UNDER_MEMORY_SANITIZER) {
        check_skip("MemorySanitizer: stand-ins of the driver");
        return check_report();
    }
    if (system("clang --version > /dev/null 2>&1") != 0 || !build_fake()) {
        check_skip("no clang to compile Metal's language");
        return check_report();
    }
    situation(says_no_runtime, false, false);
    situation(says_no_framework, true, false);
    void (*const all[])(void) = {
        says_no_device, has_caps,      has_no_subgroups,    allocates_parts,
        copies,         keeps_order,   passes_many_numbers, refuses_what_metal_has_not,
        tells_refusals, survives_loss, survives_failures,   runs_short_of_memory,
        gives_back};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) situation(all[i], true, true);
    char path[200];
    path_of(path, sizeof path, "libfake.so");
    unlink(path);
    rmdir(folder);
    return check_report();
}
