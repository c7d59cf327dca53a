/* The HIP driver over a stand-in for AMD's library (tests/gpu/fake_hip.c): what it says when something is missing, and all that
   the drivers over backend/runtime do alike. With Debian's libamdhip64-5, whose hiprtc compiles without any device, the
   golden kernels and some of the library's are compiled for real. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "backend/hip/hip_driver.h"
#include "core/platform.h"
#include "test_runtime_driver.h"
#include <dirent.h>

#define SYMBOL(field, cuda, hip, arguments) {#field, hip},
static const named_call calls[] = {EVERY_CALL(SYMBOL)};
static const char *hip_call(const char *field)
{
    static const named_call own[] = {{"context_retain", "hipSetDevice"},
                                     {"context_set", "hipSetDevice"},
                                     {"context_reset", "hipDeviceReset"},
                                     {"node_set", "hipGraphExecKernelNodeSetParams"}};
    const char *name = find_call(own, KNI_COUNT(own), field);
    return name ? name : find_call(calls, KNI_COUNT(calls), field);
}

static const char *const libraries[] = {"libamdhip64.so.5", NULL};
static const char *const other_calls[] = {NULL};
static const runtime_stand_in stand_in = {"tests/gpu/fake_hip.c",
                                          "KN_HIP_LIBRARIES",
                                          "KN_HIP_PROFILE",
                                          "KN_HIP_GRAPHS",
                                          libraries,
                                          other_calls,
                                          hip_call,
                                          kni_hip_driver_open};

/* ---- what is missing */

static void says_no_driver(void)
{
    char line[300];
    CHECK(kni_hip_driver_open(0) == NULL && last_error_has("no driver: libamdhip64.so.7"));
    CHECK(last_error_has("KN_HIP_LIBRARIES") && last_error_has("libamdhip64-5"));
    CHECK(!kni_hip_describe(0, line, sizeof line));
}

/* Debian's library on a machine without such a GPU. */
static void says_no_gpu(void) { CHECK(kni_hip_driver_open(0) == NULL && last_error_has("finds no AMD GPU")); }

static void says_what_is_wrong(void)
{
    char line[300];
    setenv("FAKE_HIP_VERSION", "50013601", 1);
    CHECK(kni_hip_driver_open(0) == NULL && last_error_has("libamdhip64.so.5 is of HIP 5.0"));
    unsetenv("FAKE_HIP_VERSION");
    fake_fail("hipInit", 1, 100);
    CHECK(kni_hip_driver_open(0) == NULL && last_error_has("finds no AMD GPU") && last_error_has("/dev/kfd"));
    fake_fail("hipInit", 1, 999);
    CHECK(kni_hip_driver_open(0) == NULL && last_error_has("does not start: fake error 999"));
    setenv("FAKE_HIP_ARCH", "gfx803", 1);
    CHECK(kni_hip_driver_open(0) == NULL && last_error_has("hip:0 is gfx803; Kiln needs gfx900 or later"));
    setenv("FAKE_HIP_ARCH", "", 1);
    CHECK(kni_hip_driver_open(0) == NULL && last_error_has("unknown architecture"));
    unsetenv("FAKE_HIP_ARCH");
    CHECK(kni_hip_driver_open(7) == NULL && last_error_has("there is no hip:7") &&
          last_error_has("HIP_VISIBLE_DEVICES"));
    /* A later try succeeds. */
    kni_driver *d = kni_hip_driver_open(1);
    if (!CHECK(d != NULL)) return;
    CHECK(d->caps.dialect == KNI_IR_HIP && d->caps.subgroup == 64 && d->caps.shared_bytes == 65536);
    d->close(d);
    CHECK(
        kni_hip_describe(1, line, sizeof line) &&
        !strcmp(line,
                "hip:1  Fake 1, gfx90a:sramecc+:xnack-, 104 compute units, waves of 64, 8192 MiB, HIP 5.2"));
    CHECK(!kni_hip_describe(2, line, sizeof line) && !kni_hip_describe(-1, line, sizeof line));
    setenv("FAKE_HIP_ARCH", "gfx1100", 1);
    setenv("FAKE_HIP_WAVE", "32", 1);
    d = kni_hip_driver_open(0);
    if (CHECK(d != NULL && d->caps.subgroup == 32 && strstr(d->description, "gfx1100"))) d->close(d);
    CHECK(fake_live() == 0);
}

/* A launch counts its invocations in 32 bits. */
static void refuses_large_launches(void)
{
    kni_driver *d = kni_hip_driver_open(0);
    if (!CHECK(d != NULL)) return;
    kni_module *m = d->compile(d, text, strlen(text), "scale_add");
    void *buffers[2] = {d->allocate(d, 4), d->allocate(d, 4)};
    scale_params p = {1, 1};
    CHECK(d->launch(d, m, &(kni_launch_shape){{1 << 24, 1, 1}, 256, 0}, buffers, 2, &p, sizeof p) ==
              KN_ERROR_INTERNAL &&
          last_error_has("more than the device takes"));
    CHECK(d->launch(d, m, &(kni_launch_shape){{(1 << 24) - 1, 1, 1}, 256, 0}, buffers, 2, &p, sizeof p) ==
          KN_OK);
    for (int i = 0; i < 2; i++) d->free(d, buffers[i]);
    d->unload(d, m);
    d->close(d);
    CHECK(fake_live() == 0);
}

/* ---- with AMD's own compiler */

static char compiler[400]; /* its file; empty: it is not installed */

static void find_compiler(void *library)
{
    Dl_info info;
    void *address = library ? dlsym(library, "hiprtcCompileProgram") : NULL;
    if (address && dladdr(address, &info)) snprintf(compiler, sizeof compiler, "%s", info.dli_fname);
}

static bool compiles(kni_driver *d, const char *path, const char *name)
{
    static char source[1 << 18];
    FILE *file = fopen(path, "r");
    size_t n = file ? fread(source, 1, sizeof source - 1, file) : 0;
    if (file) fclose(file);
    source[n] = 0;
    kni_module *m = n ? d->compile(d, source, n, name) : NULL;
    d->unload(d, m);
    return m != NULL;
}

/* Each golden kernel, for waves of 64 and of 32 lanes; the stand-in loads what comes of it. */
static void compiles_golden_kernels(void)
{
    static const char *const devices[][2] = {{"gfx90a", "64"}, {"gfx1030", "32"}};
    char path[500];
    snprintf(path, sizeof path, "%s/libhiprtc.so.5", folder);
    CHECK(symlink(compiler, path) == 0);
    for (int i = 0; i < 2; i++) {
        setenv("FAKE_HIP_ARCH", devices[i][0], 1);
        setenv("FAKE_HIP_WAVE", devices[i][1], 1);
        kni_driver *d = kni_hip_driver_open(0);
        DIR *golden = opendir("tests/golden/hip");
        if (!CHECK(d != NULL && golden)) return;
        int count = 0;
        for (struct dirent *e; (e = readdir(golden)) != NULL;) {
            size_t length = strlen(e->d_name);
            if (length < 5 || strcmp(e->d_name + length - 4, ".hip")) continue;
            snprintf(path, sizeof path, "tests/golden/hip/%s", e->d_name);
            count++;
            if (!CHECK(compiles(d, path, "kn_some"))) printf("%s: %s\n", e->d_name, kn_last_error());
        }
        CHECK(count > 10);
        closedir(golden);
        CHECK(d->compile(d, "one;\ntwo;\nthe line of nothing;\n", 30, "bad") == NULL &&
              last_error_has("the kernel bad does not compile: ") && last_error_has("line 1 is: one;"));
        d->close(d);
    }
    snprintf(path, sizeof path, "%s/libhiprtc.so.5", folder);
    unlink(path);
}

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
    void *library = dlopen("libamdhip64.so.5", RTLD_NOW | RTLD_LOCAL);
    bool real = library != NULL;
    find_compiler(library);
    if (real && access("/dev/kfd", R_OK))
        situation(says_no_gpu, 0);
    else if (!real)
        situation(says_no_driver, 0);
    situation(says_what_is_wrong, 1);
    situation(refuses_large_launches, 1);
    common_situations(1);
    if (compiler[0])
        situation(compiles_golden_kernels, 1);
    else
        check_skip("no hiprtc: HIP texts are not compiled (apt install libamdhip64-5)");
    remove_fake();
    return check_report();
}
