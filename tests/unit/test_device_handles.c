/* Handles of devices: closing twice and using what is closed is told; opening is cheap, and opening and closing takes no memory. */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"
#include <kn/data.h>
#include <kn/nn.h>
#include <kn/op_info.h>
#include <kn/program.h>
#include <pthread.h>
#include <time.h>

enum { N = 4 };

/* The latest error says so, and names the function and a line of this file. */
static bool told(const char *function)
{
    const char *text = kn_last_error();
    bool good = strstr(text, "has been closed") && !strncmp(text, function, strlen(function)) &&
                text[strlen(function)] == ':' && strstr(text, "test_device_handles.c:");
    if (!good) printf("  %s said: %s\n", function, text);
    return good;
}

/* What is made of other parts with a device. */
static void others_told_closed(kn_device d, kn_tensor x)
{
    kn_dataset set = kn_dataset_tensors(&x, 1);
    kn_loader loader = kn_loader_make(set, &(kn_loader_args){.batch_size = 2});
    kn_nn_linear layer = {0};
    CHECK(set && loader);
    CHECK(!kn_loader_make(set, &(kn_loader_args){.device = d}) && told("kn_loader_make"));
    CHECK(!kn_loader_make(set, &(kn_loader_args){.staging = d}) && told("kn_loader_make"));
    CHECK(!kn_loader_split(loader, 0, 1, d) && told("kn_loader_split"));
    CHECK(kn_module_to(KN_MODULE_OF(kn_nn_linear, &layer), d) != KN_OK && told("kn_module_to"));
    kn_loader_free(loader);
    kn_dataset_free(set);
}

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
    others_told_closed(d, x);
    kn_drop(x);
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

/* What two open stacks share is forgotten with the last of them. */
static void shared_decorators_stay(void)
{
    kn_scope scope = kn_scope_begin();
    static const char *const stacks[] = {"profile(cpu)", "trace(cpu)", "check(cpu,ref)"};
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
        kn_device below = kn_device_open(stacks[i]), over = kn_device_autodiff(below);
        char text[4000] = "", later[4000] = "";
        kn_device_use(below);
        CHECK(kn_ok(kn_exp(kn_ones(KN_SHAPE(N), KN_F32))));
        CHECK(kn_device_report(below, NULL, text, sizeof text) > 0);
        kn_device_close(over);
        CHECK(kn_device_report(below, NULL, later, sizeof later) > 0 && !strcmp(text, later));
        /* The other order: the one below goes on under the stack, and serves nobody else meanwhile. */
        over = kn_device_autodiff(below);
        kn_device_close(below);
        kn_device fresh = kn_device_open(stacks[i]), same = kn_device_autodiff(fresh);
        kn_device_use(fresh);
        char empty[4000];
        (void)kn_device_report(fresh, NULL, empty, sizeof empty);
        CHECK(strcmp(empty, text) != 0);
        kn_device_use(over);
        CHECK(kn_ok(kn_exp(kn_ones(KN_SHAPE(N), KN_F32))));
        (void)kn_device_report(fresh, NULL, later, sizeof later);
        CHECK(!strcmp(empty, later));
        kn_device_close(same);
        kn_device_close(over);
        kn_device_close(fresh);
    }
    (void)kn_scope_end(scope, KN_NONE);
    kn_device_use(NULL);
}

/* Opening a name that a closed stack over an open device has too makes another one. */
static void open_shares_nothing(void)
{
    kn_device below = kn_device_open("profile(cpu)");
    kn_device_close(kn_device_autodiff(below));
    kn_device other = kn_device_open("autodiff(profile(cpu))");
    char empty[2000], text[2000];
    (void)kn_device_report(below, NULL, empty, sizeof empty);
    kn_device_use(other);
    CHECK(kn_ok(kn_exp(kn_ones(KN_SHAPE(N), KN_F32))));
    (void)kn_device_report(below, NULL, text, sizeof text);
    CHECK(!strcmp(empty, text));
    kn_device_use(NULL);
    kn_device_close(other);
    kn_device_close(below);
}

/* ---- opening a name again does not bring back what was closed */

typedef struct shared {
    kn_device device;
    pthread_barrier_t turn;
} shared;

static void *in_another_thread(void *context)
{
    shared *s = context;
    kn_device_use(s->device);
    pthread_barrier_wait(&s->turn); /* the other thread closes the device and opens it again */
    pthread_barrier_wait(&s->turn);
    CHECK_POISON(kn_zeros(KN_SHAPE(N), KN_F32), "has been closed");
    return NULL;
}

static void current_elsewhere(void)
{
    pthread_t thread;
    shared s = {.device = kn_device_open("fusion(cpu)")};
    pthread_barrier_init(&s.turn, NULL, 2);
    CHECK(pthread_create(&thread, NULL, in_another_thread, &s) == 0);
    pthread_barrier_wait(&s.turn);
    kn_device_close(s.device);
    kn_device again = kn_device_open("fusion(cpu)");
    pthread_barrier_wait(&s.turn);
    pthread_join(thread, NULL);
    kn_device_close(again);
    pthread_barrier_destroy(&s.turn);
}

typedef struct relics {
    kn_device device;
    kn_tensor x, y, queued;
    kn_param param;
    kn_program program;
} relics;

static relics leave(const char *spec)
{
    relics r = {.device = kn_device_open(spec)};
    kn_device_use(r.device);
    r.x = kn_own(kn_full(KN_SHAPE(N), 2, KN_F32));
    r.param = kn_param_make(kn_full(KN_SHAPE(N), 3, KN_F32));
    r.y = kn_own(kn_sum(kn_add(kn_value(r.param), kn_value(r.param)), KN_AXES_ALL, false));
    r.queued = kn_own(kn_exp(r.x));
    if (kn_program_begin(r.device) == KN_OK) {
        kn_tensor out = kn_relu(r.x);
        r.program = kn_program_end(&r.x, 1, &out, 1);
        kn_drop(out);
    }
    return r;
}

static void relics_are_told(const relics *r, kn_tensor good)
{
    static const char closed[] = "has been closed";
    const kn_tensor all[] = {r->x, r->queued, kn_value(r->param), r->y};
    char text[600];
    for (int i = 0; i < 4; i++) {
        kn_tensor x = all[i], y = KN_NONE;
        CHECK_POISON(y = kn_add(x, x), closed);
        kn_error_text(y, text, sizeof text);
        CHECK(strstr(text, "test_device_handles.c:") != NULL);
        CHECK_POISON(kn_mul_scalar(x, 2), closed);
        CHECK_POISON(kn_add(x, good), closed);
        CHECK_POISON(kn_add(good, x), closed);
        CHECK_POISON(kn_zeros_like(x), closed);
        CHECK_POISON(kn_reshape(x, KN_SHAPE(kn_count(x), 1)), closed);
        CHECK_POISON(kn_std(x, KN_AXES_ALL, false, NULL), closed);
        CHECK_POISON(kn_dropout(x, 0.5, true), closed);
        CHECK(kn_sync(kn_device_of(x)) != KN_OK && told("kn_sync"));
    }
    kn_grads g = NULL;
    if (kn_is_require_grad(r->y)) CHECK_ERROR(kn_backward(r->y, &g), closed);
    kn_tensor out = KN_NONE;
    if (r->program) CHECK_ERROR(kn_program_run(r->program, &good, 1, &out, 1), closed);
    float values[N];
    CHECK(kn_read(r->queued, values, sizeof values) == KN_OK && values[0] > 7.38f && values[0] < 7.4f);
}

static void forget(relics *r)
{
    kn_drop(r->x);
    kn_drop(r->y);
    kn_drop(r->queued);
    kn_param_drop(&r->param);
    kn_program_free(r->program);
}

static void reopening_brings_nothing_back(void)
{
    static const char *const stacks[] = {"fusion(cpu)", "autodiff(cpu)", "autodiff(fusion(cpu))",
                                         "nan(cpu)",    "trace(cpu)",    "check(cpu,ref)"};
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
        relics r[3];
        kn_scope scope = kn_scope_begin();
        for (int k = 0; k < 3; k++) {
            r[k] = leave(stacks[i]);
            for (int old = 0; old < k; old++) relics_are_told(&r[old], r[k].x);
            CHECK(kn_item(kn_sum(kn_add(r[k].x, r[k].x), KN_AXES_ALL, false)) == 4 * N);
            kn_device_close(r[k].device);
        }
        for (int k = 0; k < 3; k++) forget(&r[k]);
        (void)kn_scope_end(scope, KN_NONE);
    }
    kn_device_use(NULL);
}

/* Nor does a loop that leaves tensors behind for a while take memory for ever. */
static void loops_with_tensors_take_no_memory(void)
{
    int64_t before = 0;
    for (int i = 0; i < 600; i++) {
        if (i == 300) before = kn_memory_stats().bytes_now;
        relics r = leave("autodiff(fusion(cpu))");
        kn_device_close(r.device);
        forget(&r);
    }
    int64_t grown = kn_memory_stats().bytes_now - before;
    if (!CHECK(grown == 0)) printf("  %lld bytes\n", (long long)grown);
    kn_device_use(NULL);
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
    shared_decorators_stay();
    open_shares_nothing();
    current_elsewhere();
    reopening_brings_nothing_back();
    loops_with_tensors_take_no_memory();
    reopened_is_new();
    loops_take_no_memory();
    opening_is_linear();
    nonsense();
    kn_device_use(NULL);
    (void)kn_shutdown();
    CHECK(kn_memory_stats().bytes_now == 0);
    return check_report();
}
