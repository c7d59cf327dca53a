/* Handles of devices: closing twice and using what is closed is told; opening is cheap, and opening and closing takes no memory. */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"
#include <kn/op_info.h>
#include <kn/program.h>
#include <time.h>

enum { N = 4 };

static void told_closed(kn_device d)
{
    kn_fusion_stats stats;
    kn_device before = kn_device_current();
    kn_tensor x = kn_keep(kn_zeros(KN_SHAPE(N), KN_F32));
    static const char closed[] = "has been closed";
    kn_device_close(d);
    CHECK(strstr(kn_last_error(), "kn_device_close: the device ") != NULL);
    kn_device_use(d);
    CHECK(strstr(kn_last_error(), "kn_device_use: the device ") != NULL);
    CHECK(kn_device_current() == before);
    kn_seed(d, 3);
    CHECK(strstr(kn_last_error(), "kn_seed: the device ") != NULL);
    CHECK(!strcmp(kn_device_name(d), "none") && strstr(kn_last_error(), "kn_device_name: the device "));
    CHECK_ERROR(kn_sync(d), closed);
    CHECK_ERROR(kn_submit(d), closed);
    CHECK_ERROR(kn_fusion_stats_of(d, &stats), closed);
    CHECK_ERROR(kn_program_begin(d), closed);
    CHECK_POISON(kn_to(x, d), closed);
    CHECK(kn_device_report(d, NULL, NULL, 0) == 0 && strstr(kn_last_error(), closed));
    CHECK(kn_device_autodiff(d) == NULL && strstr(kn_last_error(), closed));
    CHECK(kn_op_support(d, 1, KN_F32, NULL) == KN_SUPPORT_NO && strstr(kn_last_error(), closed));
}

static void closed_is_closed(void)
{
    static const char *const stacks[] = {"fusion(cpu)",       "autodiff(cpu)", "autodiff(fusion(cpu))",
                                         "nan(cpu)",          "trace(cpu)",    "profile(cpu)",
                                         "check(cpu,ref)",    "ref",           "null",
                                         "trace(fusion(cpu))"};
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
        kn_device d = kn_device_open(stacks[i]);
        if (!CHECK(d != NULL)) continue;
        kn_device_use(d);
        CHECK(kn_device_current() == d);
        kn_tensor x = kn_own(kn_full(KN_SHAPE(N), 2, KN_F32));
        CHECK(kn_device_of(x) == d);
        kn_device_close(d);
        CHECK(kn_device_current() != d);
        told_closed(d);
        float values[N];
        CHECK(kn_read(x, values, sizeof values) == KN_OK); /* tensors stay readable */
        bool leaf = !strchr(stacks[i], '(');
        if (!leaf) {
            CHECK_POISON(kn_add(x, x), "has been closed");
            told_closed(kn_device_of(x));
        }
        kn_drop(x);
        /* A device of the same name is another one. */
        kn_device again = kn_device_open(stacks[i]);
        CHECK(again && again != d);
        told_closed(d);
        CHECK(kn_sync(again) == KN_OK && !strcmp(kn_device_name(again), stacks[i]));
        kn_device_close(again);
        told_closed(again);
    }
}

static void leaves_are_shared(void)
{
    kn_device_use(NULL);
    kn_tensor x = kn_own(kn_ones(KN_SHAPE(N), KN_F32)); /* the CPU is the default device now */
    kn_device a = kn_device_open("cpu"), b = kn_device_open("cpu"), stack = kn_device_open("fusion(cpu)");
    CHECK(a && a == b && a == kn_device_current());
    kn_device_close(a);
    CHECK(kn_sync(b) == KN_OK);
    kn_device_close(b);
    CHECK(kn_sync(stack) == KN_OK && kn_item(kn_sum(kn_add(x, x), KN_AXES_ALL, false)) == 2 * N);
    kn_device_close(b);
    CHECK(strstr(kn_last_error(), "as often as it was opened") != NULL);
    kn_device_close(stack);
    kn_drop(x);
}

/* A device that serves again is as a new one. */
static void reopened_is_new(void)
{
    float first[N], second[N];
    for (int i = 0; i < 2; i++) {
        kn_device d = kn_device_open("trace(fusion(cpu))");
        char text[200] = "";
        CHECK(kn_device_report(d, NULL, text, sizeof text) == 0);
        kn_device_use(d);
        CHECK(kn_read(kn_random_uniform(KN_SHAPE(N), 0, 1, KN_F32), i ? second : first, sizeof first) ==
              KN_OK);
        CHECK(kn_device_report(d, NULL, text, sizeof text) > 0);
        kn_device_close(d);
    }
    CHECK(!memcmp(first, second, sizeof first));
    kn_device_use(NULL);
}

static void loops_take_no_memory(void)
{
    static const char *const stacks[] = {"autodiff(fusion(cpu))", "trace(cpu)", "profile(fusion(cpu))",
                                         "check(cpu,ref)"};
    int64_t before = 0;
    for (int i = 0; i < 2000; i++) {
        if (i == 50) before = kn_memory_stats().bytes_now;
        for (size_t k = 0; k < sizeof stacks / sizeof *stacks; k++) {
            kn_device d = kn_device_open(stacks[k]);
            kn_device over = kn_device_autodiff(d);
            CHECK(d && over);
            kn_device_close(over);
            kn_device_close(d);
        }
    }
    CHECK(kn_memory_stats().bytes_now == before);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The second half of many devices takes no longer than the first: with a list that each opening walks it took three times as
   long. Handles are found as fast. */
static void opening_is_linear(void)
{
    enum { HALF = 6000 };
    static kn_device all[2 * HALF];
    double took[2];
    for (int half = 0; half < 2; half++) {
        double begin = seconds();
        for (int i = half * HALF; i < (half + 1) * HALF; i++) all[i] = kn_device_open("autodiff(cpu)");
        for (int i = half * HALF; i < (half + 1) * HALF; i++) kn_seed(all[i], 1);
        took[half] = seconds() - begin;
    }
    if (!CHECK(took[1] < 2 * took[0] + 0.05)) printf("  %g s, then %g s\n", took[0], took[1]);
    CHECK(all[0] != all[1] && kn_sync(all[0]) == KN_OK && kn_sync(all[2 * HALF - 1]) == KN_OK);
    for (int i = 0; i < 2 * HALF; i++) kn_device_close(all[i]);
    told_closed(all[0]);
}

static void nonsense(void)
{
    int local = 0;
    kn_device_use((kn_device)&local);
    CHECK(strstr(kn_last_error(), "this is no open device") != NULL);
    CHECK_ERROR(kn_sync((kn_device)(uintptr_t)-1), "this is no open device");
    CHECK_ERROR(kn_sync((kn_device)(uintptr_t)1), "this is no open device");
}

int main(void)
{
    kn_device_use(kn_device_open("autodiff(ref)"));
    closed_is_closed();
    leaves_are_shared();
    reopened_is_new();
    loops_take_no_memory();
    opening_is_linear();
    nonsense();
    kn_device_use(NULL);
    (void)kn_shutdown();
    CHECK(kn_memory_stats().bytes_now == 0);
    return check_report();
}
