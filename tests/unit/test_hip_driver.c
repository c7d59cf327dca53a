/* The HIP driver over a stand-in for AMD's library (tests/gpu/fake_hip.c): what it says when something is missing, and all that
   the drivers over backend/runtime do alike. With Debian's libamdhip64-5, whose hiprtc compiles without any device, the
   golden kernels and some of the library's are compiled for real. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "backend/hip/hip_driver.h"
#include "core/platform.h"
#include "test_runtime_driver.h"

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
    bool real = dlopen("libamdhip64.so.5", RTLD_NOW | RTLD_LOCAL) != NULL;
    if (real && access("/dev/kfd", R_OK))
        situation(says_no_gpu, 0);
    else if (!real)
        situation(says_no_driver, 0);
    situation(says_what_is_wrong, 1);
    situation(refuses_large_launches, 1);
    common_situations(1);
    remove_fake();
    return check_report();
}
