/* Handles of devices: closing twice and using what is closed is told; opening is cheap, and opening and closing takes no memory. */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"
#include <kn/data.h>
#include <kn/nn.h>
#include <kn/op_info.h>
#include <kn/program.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

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

/* ---- sequences of opening, decorating and closing

   A device that was closed on its own can stand below an opened stack. It was put into the list of closed stacks each time such a
   stack was closed, so that the list ran in a circle and opening never ended. The alarm ends a test that hangs. */

enum { ALARM_SECONDS = 120 };

static void closed_below_a_reopened_stack(void)
{
    static const char outer[] = "autodiff(profile(cpu))", inner[] = "profile(cpu)";
    (void)alarm(ALARM_SECONDS);
    kn_device below = kn_device_open(inner), over = kn_device_autodiff(below);
    kn_device_close(below);
    kn_device_close(over);
    kn_device_close(kn_device_open(outer));
    kn_device a = kn_device_open(outer), b = kn_device_open(inner), c = kn_device_open(inner);
    CHECK(a && b && c && a != b && b != c);
    CHECK(!strcmp(kn_device_name(a), outer) && !strcmp(kn_device_name(b), inner));
    kn_device_close(a);
    kn_device_close(b);
    CHECK(kn_sync(c) == KN_OK);
    kn_device_close(c);
    told_closed(below);
    told_closed(b);
    (void)alarm(0);
}

typedef struct opened {
    kn_device device;
    char name[128];
} opened;

static size_t noted(kn_device d) { return kn_device_report(d, NULL, NULL, 0); }

/* The device computes, and its trace notes that. */
static bool computes(kn_device d)
{
    kn_scope scope = kn_scope_begin();
    kn_device_use(d);
    kn_tensor x = kn_ones(KN_SHAPE(N), KN_F32);
    bool good = kn_device_of(x) == d && kn_item(kn_sum(x, KN_AXES_ALL, false)) == N;
    (void)kn_scope_end(scope, KN_NONE);
    kn_device_use(NULL);
    return good && noted(d) > 0;
}

/* Opens a device by its name or around one of the others. One opened by name shares no trace with anybody. */
static bool open_one(opened *all, int n, uint32_t random)
{
    static const char *const names[] = {"trace(cpu)", "autodiff(trace(cpu))", "nan(trace(cpu))",
                                        "autodiff(nan(trace(cpu)))"};
    const opened *under = n && random & 1 ? &all[(random >> 1) % (uint32_t)n] : NULL;
    opened new;
    if (under && !strncmp(under->name, "autodiff", 8)) {
        CHECK(!kn_device_autodiff(under->device) && strstr(kn_last_error(), "one tape is enough"));
        return false;
    }
    if (under)
        (void)snprintf(new.name, sizeof new.name, "autodiff(%.100s)", under->name);
    else
        (void)snprintf(new.name, sizeof new.name, "%s", names[(random >> 1) % 4]);
    new.device = under ? kn_device_autodiff(under->device) : kn_device_open(new.name);
    bool good = new.device && !strcmp(kn_device_name(new.device), new.name);
    for (int i = 0; i < n; i++) good = good && all[i].device != new.device;
    all[n] = new;
    return CHECK(good && (under || noted(new.device) == 0) && computes(new.device));
}

static void random_sequence(uint64_t seed)
{
    enum { STEPS = 24, ROOM = 6 };
    opened all[ROOM];
    int n = 0, failed = check_failed;
    for (int step = 0; step < STEPS || n; step++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint32_t random = (uint32_t)(seed >> 33);
        if (step < STEPS && n < ROOM && random % 5 < 3) {
            n += open_one(all, n, random / 5);
        } else if (n) {
            opened *one = &all[random / 5 % (uint32_t)n];
            kn_device d = one->device;
            CHECK(noted(d) > 0); /* no other one's closing has reset it */
            kn_device_close(d);
            CHECK_ERROR(kn_sync(d), "has been closed");
            *one = all[--n];
        }
        for (int i = 0; i < n; i++) CHECK(kn_sync(all[i].device) == KN_OK);
        if (check_failed != failed) break;
    }
}

static void random_sequences(void)
{
    enum { SEQUENCES = 3000 };
    int failed = check_failed;
    (void)alarm(ALARM_SECONDS);
    for (uint64_t seed = 1; seed <= SEQUENCES && check_failed == failed; seed++) {
        random_sequence(seed);
        if (check_failed != failed) printf("  in the sequence of seed %llu\n", (unsigned long long)seed);
    }
    (void)alarm(0);
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

/* The trace of a device does not tell of tensors that an earlier one left. */
static void late_drops_are_not_noted(void)
{
    kn_device first = kn_device_open("trace(cpu)");
    kn_device_use(first);
    kn_tensor x = kn_own(kn_ones(KN_SHAPE(N), KN_F32)), y = kn_own(kn_ones(KN_SHAPE(N), KN_F32));
    kn_drop(kn_own(kn_exp(x)));
    char text[2000] = "";
    CHECK(kn_device_report(first, NULL, text, sizeof text) > 0 && strstr(text, "drop f32[4]"));
    kn_device_close(first);
    kn_drop(x);
    kn_device again = kn_device_open("trace(cpu)");
    kn_drop(y);
    CHECK(kn_device_report(again, NULL, text, sizeof text) == 0);
    kn_device_close(again);
    kn_device_use(NULL);
}

static void loops_take_no_memory(void)
{
    static const char *const stacks[] = {"autodiff(fusion(cpu))", "trace(cpu)", "profile(fusion(cpu))",
                                         "check(cpu,ref)", "  nan (  fusion( cpu ) ) "};
    int64_t before = 0;
    for (int i = 0; i < 2000; i++) {
        if (i == 50) before = kn_memory_stats().bytes_now;
        for (size_t k = 0; k < sizeof stacks / sizeof *stacks; k++) {
            kn_device d = kn_device_open(stacks[k]);
            kn_device over = kn_device_autodiff(d);
            CHECK(d && !over == !strncmp(stacks[k], "autodiff", 8)); /* one tape is enough */
            kn_device_close(over);
            kn_device_close(d);
        }
    }
    CHECK(kn_memory_stats().bytes_now == before);
}

/* A space inside a word is an error also where a closed device has the name without it. */
static void spaces_inside_words_are_told(void)
{
    kn_device_close(kn_device_open("fusion(cpu)"));
    CHECK(!kn_device_open("fus ion(cpu)") && strstr(kn_last_error(), "'fus'"));
    CHECK(!kn_device_open("fusion(c  pu)") && strstr(kn_last_error(), "'c'"));
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

static int warnings;
static char warned[300];
static void hear(void *context, kn_log_level level, const char *text)
{
    (void)context;
    if (level != KN_LOG_WARNING) return;
    warnings++;
    snprintf(warned, sizeof warned, "%s", text);
}

/* A thread that closes its current device is told so once, when it next makes a tensor without naming a device. */
static void closing_the_current_device_is_told(void)
{
    kn_device before = kn_device_current(), d = kn_device_open("autodiff(cpu)");
    kn_log_set(hear, NULL);
    warnings = 0;
    kn_device_use(d);
    kn_device_close(d);
    CHECK(warnings == 0); /* a program that ends here needs no warning */
    for (int i = 0; i < 3; i++) kn_drop(kn_zeros(KN_SHAPE(2), KN_F32));
    CHECK(warnings == 1 && strstr(warned, "autodiff(cpu) was the current device and has been closed"));
    CHECK(strstr(warned, "kn_device_use()"));
    d = kn_device_open("fusion(cpu)");
    kn_device_use(d);
    kn_device_close(d);
    kn_device_use(NULL); /* the default was chosen */
    kn_drop(kn_zeros(KN_SHAPE(2), KN_F32));
    CHECK(warnings == 1);
    /* The default device is told by nobody: it goes on. */
    kn_device_use(NULL);
    const char *name = kn_device_name(kn_device_current());
    d = kn_device_open(name);
    kn_device_use(d);
    kn_device_close(d);
    kn_drop(kn_zeros(KN_SHAPE(2), KN_F32));
    CHECK(warnings == 1);
    kn_log_set(NULL, NULL);
    kn_device_use(before);
}

/* The first device of the process has been closed too; it is not older than a shutdown that never was. */
static void first_is_closed(void)
{
    kn_device first = kn_device_open("check(cpu,ref)");
    kn_device_close(first);
    kn_device_use(first);
    CHECK(told("kn_device_use"));
}

static void after_shutdown_nothing_is_told(void)
{
    kn_device d = kn_device_open("fusion(cpu)");
    kn_device_use(d);
    kn_device_close(d);
    (void)kn_shutdown();
    warnings = 0;
    kn_log_set(hear, NULL);
    kn_drop(kn_zeros(KN_SHAPE(2), KN_F32));
    CHECK(warnings == 0);
    (void)kn_shutdown();
}

int main(void)
{
    first_is_closed();
    kn_device_use(kn_device_open("autodiff(ref)"));
    closed_is_closed();
    leaves_are_shared();
    shared_decorators_stay();
    open_shares_nothing();
    closed_below_a_reopened_stack();
    random_sequences();
    current_elsewhere();
    reopening_brings_nothing_back();
    loops_with_tensors_take_no_memory();
    reopened_is_new();
    late_drops_are_not_noted();
    loops_take_no_memory();
    spaces_inside_words_are_told();
    opening_is_linear();
    nonsense();
    closing_the_current_device_is_told();
    kn_device_use(NULL);
    (void)kn_shutdown();
    CHECK(kn_memory_stats().bytes_now == 0);
    after_shutdown_nothing_is_told();
    return check_report();
}
