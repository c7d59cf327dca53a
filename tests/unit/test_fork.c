/* fork: the child may open and use new cpu devices, and all that its parent made is an error there, whatever the parent's other
   threads were doing at that moment. The parent does not notice. */
#define _GNU_SOURCE
#include "support/check.h"
#include <kn/data.h>
#include <kn/kernels.h>
#include <kn/program.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 3, FORKS = 24, SIZE = 70000 };
static _Atomic bool stop;
static const char *const stacks[] = {"cpu", "fusion(cpu)", "autodiff(cpu)", "autodiff(fusion(cpu))", "ref"};

/* Opens, fuses, differentiates, fails and closes without end. */
static void *work(void *argument)
{
    const char *spec = stacks[(intptr_t)argument % 4];
    while (!atomic_load(&stop)) {
        kn_scope scope = kn_scope_begin();
        kn_device d = kn_device_open(spec);
        kn_device_use(d);
        kn_param w = kn_param_make(kn_full(KN_SHAPE(SIZE), 0.5, KN_F32));
        kn_tensor y = kn_sum(kn_exp(kn_mul(kn_value(w), kn_value(w))), KN_AXES_ALL, false);
        kn_grads g = NULL;
        if (strstr(spec, "autodiff") && kn_backward(y, &g) == KN_OK) kn_grads_free(g);
        (void)kn_add(kn_zeros(KN_SHAPE(2), KN_F32), kn_zeros(KN_SHAPE(3), KN_F32)); /* an error record */
        (void)kn_sync(d);
        kn_param_drop(&w);
        (void)kn_scope_end(scope, KN_NONE);
        kn_device_close(d);
    }
    return NULL;
}

/* sum of exp(w * w) and its gradient. */
static bool computes(const char *spec)
{
    kn_device d = kn_device_open(spec);
    if (!d) return false;
    kn_device_use(d);
    kn_param w = kn_param_make(kn_full(KN_SHAPE(SIZE), 0.5, KN_F32));
    kn_tensor y = kn_keep(kn_sum(kn_exp(kn_mul(kn_value(w), kn_value(w))), KN_AXES_ALL, false));
    double sum = kn_item(y), each = 1.2840254;
    bool good = sum > SIZE * each * 0.9999 && sum < SIZE * each * 1.0001;
    if (strstr(spec, "autodiff")) {
        kn_grads g = NULL;
        good = good && kn_backward(y, &g) == KN_OK;
        double dw = good ? kn_item(kn_max(kn_grads_get(g, kn_value(w)), KN_AXES_ALL, false)) : 0;
        good = good && dw > each * 0.999 && dw < each * 1.001;
        kn_grads_free(g);
    }
    kn_param_drop(&w);
    kn_drop(y);
    kn_device_close(d);
    kn_device_use(NULL);
    return good;
}

typedef struct parents {
    kn_device cpu, fused;
    kn_tensor value, queued;
    kn_param param;
    kn_grads grads;
    kn_program program;
    kn_scope scope;
    kn_loader loader;
} parents;

static int fails;
static void expect(bool good, const char *what)
{
    if (good) return;
    fails++;
    printf("  in the child: %s (%s)\n", what, kn_last_error());
    fflush(stdout);
}
static bool last_has(const char *words) { return strstr(kn_last_error(), words) != NULL; }

static int child(const parents *p)
{
    alarm(60);
    float buffer[8] = {0};
    kn_tensor old[] = {p->value, p->queued, kn_value(p->param)};
    for (int i = 0; i < 3; i++) {
        expect(!kn_ok(kn_exp(old[i])) && last_has("no live tensor"), "an old tensor is no operand");
        expect(kn_read(old[i], buffer, sizeof buffer) != KN_OK && last_has("no live tensor"),
               "nor can it be read");
    }
    expect(kn_sync(p->fused) != KN_OK && last_has("forked"), "an old queue cannot be waited for");
    kn_device_use(p->cpu);
    expect(last_has("forked"), "an old device cannot be used");
    expect(!kn_ok(kn_zeros(KN_SHAPE(8), KN_F32)) && last_has("forked"), "the current device is the parent's");
    expect(!kn_ok(kn_from(buffer, KN_F32, KN_SHAPE(8))) && last_has("forked"), "for data too");
    kn_device_use(NULL);
    kn_tensor out = KN_NONE, in = kn_zeros(KN_SHAPE(8), KN_F32);
    expect(kn_program_run(p->program, &in, 1, &out, 1) != KN_OK && last_has("fork()"),
           "an old program does not run");
    expect(!kn_ok(kn_grads_get(p->grads, in)) && last_has("fork()"), "old gradients are told");
    (void)kn_scope_end(p->scope, KN_NONE);
    expect(last_has("kn_scope_end"), "an old scope is told");
    kn_sample batch;
    expect(kn_loader_next(p->loader, &batch) != KN_OK && last_has("fork"), "an old loader gives nothing");
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++)
            expect(computes(stacks[i]), "new devices compute");
    for (int i = 0; i < 3; i++) expect(!kn_ok(kn_exp(old[i])), "old tensors stay stale beside new ones");
    expect(kn_shutdown() >= 0, "the child shuts down");
    expect(computes("autodiff(fusion(cpu))"), "and begins anew");
    return fails;
}

static int run_child(const parents *p)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) _exit(child(p));
    int status = -1;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

static void fork_beside_threads(const parents *p)
{
    pthread_t threads[THREADS];
    for (intptr_t i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
    for (int i = 0; i < FORKS && CHECK(run_child(p) == 0); i++) {}
    atomic_store(&stop, true);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

/* Opens a device and a data set whose libraries load at run time, and compiles a kernel. Each call may fail, but none may hang. */
static void load_and_compile(void)
{
    kn_device cuda = kn_device_open("cuda");
    if (cuda) kn_device_close(cuda);
    kn_dataset_free(kn_dataset_sqlite("/nowhere.db", "select 1", NULL));
    kn_kernel *k =
        kn_kernel_compile("kernel ramp(index item, out T y[], index n) { y[item] = item % n; }", NULL);
    if (k) kn_kernel_free(k);
}

static void *load(void *unused)
{
    while (!atomic_load(&stop)) load_and_compile();
    return unused;
}

/* A child that hangs is ended by its alarm. */
static void fork_beside_loading(void)
{
    pthread_t threads[2];
    atomic_store(&stop, false);
    for (int i = 0; i < 2; i++) CHECK(pthread_create(&threads[i], NULL, load, NULL) == 0);
    for (int i = 0; i < 100; i++) {
        int status = -1;
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0) {
            alarm(60);
            load_and_compile();
            _exit(0);
        }
        waitpid(pid, &status, 0);
        if (!CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0)) break;
    }
    atomic_store(&stop, true);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}

/* The allocators of clang 14's sanitizers may be locked in the child for ever, whatever the library does. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

int main(void)
{
    kn_device d = kn_device_open("autodiff(fusion(cpu))");
    kn_device_use(d);
    parents p = {.cpu = kn_device_open("cpu"), .fused = kn_device_open("fusion(cpu)")};
    p.scope = kn_scope_begin();
    p.value = kn_own(kn_full(KN_SHAPE(8), 2, KN_F32));
    p.param = kn_param_make(kn_full(KN_SHAPE(8), 3, KN_F32));
    kn_tensor loss = kn_sum(kn_mul(kn_value(p.param), p.value), KN_AXES_ALL, false);
    CHECK(kn_backward(loss, &p.grads) == KN_OK);
    CHECK(kn_program_begin(d) == KN_OK);
    kn_tensor y = kn_relu(p.value);
    p.program = kn_program_end(&p.value, 1, &y, 1);
    CHECK(p.program != NULL);
    p.queued = kn_own(kn_exp(p.value));
    kn_device_use(p.cpu);
    kn_tensor rows = kn_own(kn_arange(0, 64, 1, KN_F32));
    kn_dataset set = kn_dataset_tensors(&rows, 1);
    /* Its workers allocate until their batches are ready. */
    p.loader = kn_loader_make(set, &(kn_loader_args){.batch_size = 4, .workers = SANITIZED ? 0 : 2});
    CHECK(p.loader != NULL);
    kn_device_use(d);

    CHECK(run_child(&p) == 0);
    if (SANITIZED)
        check_skip("sanitizers: fork beside threads that allocate");
    else {
        fork_beside_threads(&p);
        fork_beside_loading();
    }

    float values[8];
    CHECK(kn_read(p.queued, values, sizeof values) == KN_OK && values[7] > 7.38f && values[7] < 7.40f);
    CHECK(kn_item(kn_max(kn_grads_get(p.grads, kn_value(p.param)), KN_AXES_ALL, false)) == 2);
    kn_loader_free(p.loader);
    kn_dataset_free(set);
    kn_program_free(p.program);
    CHECK(kn_shutdown() > 0);
    return check_report();
}
