/* Eight threads train with one module: shared params, gradients of each thread's own, recompute and dropout, while one
   thread replaces a param. Every step sees a whole value of it. The thread sanitizer watches. */
#include "support/check.h"
#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 8, STEPS = 30, IN = 6, HIDDEN = 8, OUT = 4, BATCH = 8, VALUES = 7 };

static struct {
    kn_param w1, b1, w2, scale;
} module;
static kn_device device;
static _Atomic int running;

typedef struct job {
    int number;
    bool good;
    char why[400];
    double seen; /* the last value of the scale */
} job;

static kn_tensor data(int thread, int step)
{
    float x[BATCH * IN];
    for (int i = 0; i < BATCH * IN; i++)
        x[i] = (float)((i * 7 + thread * 13 + step * 29) % 23) / 23.0f - 0.5f;
    return kn_from(x, KN_F32, KN_SHAPE(BATCH, IN));
}

static kn_tensor segment(void *context, const kn_tensor *inputs, int32_t n)
{
    (void)context, (void)n;
    kn_tensor h = kn_tanh(kn_linear(inputs[0], kn_value(module.w1), kn_value(module.b1)));
    return kn_dropout(h, 0.25, true);
}

/* All elements of the scale are one number, 1 to VALUES: another number or a mixture would be a torn value. */
static bool whole(const double *v, int n)
{
    for (int i = 1; i < n; i++)
        if (v[i] != v[0]) return false;
    return v[0] >= 1 && v[0] <= VALUES && v[0] == (double)(int)v[0];
}

static bool one_step(job *j, int step)
{
    kn_scope s = kn_scope_begin();
    kn_grads grads = NULL;
    double scale[OUT], gradient[OUT];
    kn_tensor x = kn_require_grad(data(j->number, step));
    kn_tensor h = kn_recompute(segment, NULL, &x, 1);
    kn_tensor y = kn_linear(h, kn_value(module.w2), KN_NONE);
    /* The gradient of sum(scale) is the number of rows, whatever the scale is at the time. */
    kn_tensor loss =
        kn_keep(kn_add(kn_mean(kn_square(y), KN_AXES_ALL, false),
                       kn_sum(kn_mul(kn_value(module.scale), kn_value(module.scale)), KN_AXES_ALL, false)));
    bool good = kn_backward(loss, &grads) == KN_OK;
    good = good && kn_grads_count(grads) == 5 && kn_ok(kn_grads_get(grads, x));
    good = good && kn_ok(kn_grads_get(grads, kn_value(module.w1))) &&
           kn_ok(kn_grads_get(grads, kn_value(module.b1)));
    good =
        good && kn_read_as(kn_value(module.scale), KN_F64, scale, sizeof scale) == KN_OK && whole(scale, OUT);
    kn_tensor half = kn_mul_scalar(kn_grads_get(grads, kn_value(module.scale)), 0.5);
    good = good && kn_read_as(half, KN_F64, gradient, sizeof gradient) == KN_OK && whole(gradient, OUT);
    j->seen = scale[0];
    if (!good) strncpy(j->why, kn_last_error(), sizeof j->why - 1);
    kn_grads_free(grads);
    kn_scope_end(s, KN_NONE);
    return good;
}

static void *train(void *argument)
{
    job *j = argument;
    kn_device_use(device);
    j->good = true;
    for (int i = 0; i < STEPS && j->good; i++) j->good = one_step(j, i);
    atomic_fetch_sub(&running, 1);
    return NULL;
}

static void *replace(void *argument)
{
    bool *good = argument;
    kn_device_use(device);
    for (int i = 0; atomic_load(&running) > 0; i++) {
        kn_tensor v = kn_full(KN_SHAPE(OUT), 1 + i % VALUES, KN_F32);
        if (kn_param_set(&module.scale, v) != KN_OK) *good = false;
    }
    return NULL;
}

/* Params made on one thread, stepped by it after all others have finished with a batch. */
static bool descend(kn_param *p, kn_grads grads)
{
    kn_tensor step = kn_mul_scalar(kn_grads_get(grads, kn_value(*p)), 0.05);
    return kn_param_set(p, kn_sub(kn_detach(kn_alias(kn_value(*p))), step)) == KN_OK;
}

static void *train_own(void *argument)
{
    job *j = argument;
    kn_device_use(device);
    kn_scope s = kn_scope_begin();
    kn_param own = kn_param_make(kn_mul_scalar(kn_ones(KN_SHAPE(OUT, IN), KN_F32), 0.3));
    double first = 0, last = 0;
    j->good = true;
    for (int i = 0; i < STEPS && j->good; i++) {
        kn_grads grads = NULL;
        kn_tensor loss = kn_keep(
            kn_mean(kn_square(kn_linear(data(j->number, 0), kn_value(own), KN_NONE)), KN_AXES_ALL, false));
        j->good = kn_backward(loss, &grads) == KN_OK && descend(&own, grads);
        last = kn_item(loss);
        if (i == 0) first = last;
        kn_grads_free(grads);
    }
    j->good = j->good && last < first;
    kn_param_drop(&own);
    kn_scope_end(s, KN_NONE);
    return NULL;
}

static void run_all(void *(*work)(void *), job *jobs)
{
    pthread_t threads[THREADS], setter;
    bool good = true;
    atomic_store(&running, THREADS);
    for (int i = 0; i < THREADS; i++) {
        jobs[i] = (job){.number = i};
        CHECK(pthread_create(&threads[i], NULL, work, &jobs[i]) == 0);
    }
    bool sets = work == train;
    if (sets) CHECK(pthread_create(&setter, NULL, replace, &good) == 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    if (sets) pthread_join(setter, NULL);
    CHECK(good);
    for (int i = 0; i < THREADS; i++)
        if (!CHECK(jobs[i].good)) printf("thread %d: %s (scale %g)\n", i, jobs[i].why, jobs[i].seen);
}

/* With a failure due, threads that allocate at once count down together and never past 0. */
static void *allocate(void *argument)
{
    _Atomic int *failed = argument;
    for (int i = 0; i < 2000; i++) {
        kn_scope s = kn_scope_begin();
        if (!kn_ok(kn_zeros(KN_SHAPE(40), KN_F32))) atomic_fetch_add(failed, 1);
        kn_scope_end(s, KN_NONE);
    }
    return NULL;
}

/* Whether freed blocks serve again: not under sanitizers, nor while a failure is due. */
static bool recycles(void)
{
    kn_drop(kn_zeros(KN_SHAPE(40), KN_F32));
    int64_t before = kn_memory_stats().allocations;
    kn_drop(kn_zeros(KN_SHAPE(40), KN_F32));
    return kn_memory_stats().allocations == before;
}

static void one_allocation_fails(void)
{
    bool usual = recycles();
    pthread_t threads[THREADS];
    _Atomic int failed = 0;
    kn_memory_fail_after(500);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, allocate, &failed) == 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    CHECK(recycles() == usual);
    kn_memory_fail_after(0);
    CHECK(atomic_load(&failed) <= 1);
}

int main(void)
{
    static job jobs[THREADS];
    device = kn_device_open("autodiff(cpu)");
    kn_device_use(device);
    module.w1 = kn_param_make(kn_random_normal(KN_SHAPE(HIDDEN, IN), 0, 0.5, KN_F32));
    module.b1 = kn_param_make(kn_zeros(KN_SHAPE(HIDDEN), KN_F32));
    module.w2 = kn_param_make(kn_random_normal(KN_SHAPE(OUT, HIDDEN), 0, 0.5, KN_F32));
    module.scale = kn_param_make(kn_ones(KN_SHAPE(OUT), KN_F32));
    run_all(train, jobs);
    run_all(train_own, jobs);
    one_allocation_fails();
    kn_param_drop(&module.w1);
    kn_param_drop(&module.b1);
    kn_param_drop(&module.w2);
    kn_param_drop(&module.scale);
    CHECK(kn_shutdown() == 0);
    CHECK(kn_memory_stats().bytes_now == 0);
    return check_report();
}
