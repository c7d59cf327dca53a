/* Eight threads share one model: each runs forward and backward on its own data, all read the same params.
   Results equal those of one thread; the thread sanitizer watches. */
#include "support/check.h"
#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 8, STEPS = 20, IN = 6, OUT = 4, BATCH = 8 };

static kn_param weight, bias;
static kn_device device;

typedef struct job {
    int number;
    double loss[STEPS], gradient[OUT * IN];
    bool good;
} job;

static kn_tensor data(int thread, int step)
{
    float x[BATCH * IN];
    for (int i = 0; i < BATCH * IN; i++)
        x[i] = (float)((i * 7 + thread * 13 + step * 29) % 23) / 23.0f - 0.5f;
    return kn_from(x, KN_F32, KN_SHAPE(BATCH, IN));
}

static bool one_step(job *j, int step)
{
    kn_scope s = kn_scope_begin();
    kn_grads grads = NULL;
    kn_tensor y = kn_tanh(kn_linear(data(j->number, step), kn_value(weight), kn_value(bias)));
    kn_tensor loss = kn_keep(kn_mean(kn_square(y), KN_AXES_ALL, false));
    bool good = kn_backward(loss, &grads) == KN_OK;
    j->loss[step] = kn_item(loss);
    good = good && kn_read_as(kn_grads_get(grads, kn_value(weight)), KN_F64, j->gradient,
                              sizeof j->gradient) == KN_OK;
    kn_grads_free(grads);
    kn_scope_end(s, KN_NONE);
    return good;
}

static void *work(void *argument)
{
    job *j = argument;
    kn_device_use(device);
    j->good = true;
    for (int i = 0; i < STEPS; i++) j->good = one_step(j, i) && j->good;
    return NULL;
}

/* ---- a failure that one thread queues and another finds */

static kn_tensor failed_late;

static void *queue_a_failure(void *argument)
{
    kn_tensor *in = argument; /* x, indices, values */
    kn_device_use(kn_device_of(in[0]));
    failed_late = kn_own(kn_scatter_nd(in[0], in[1], in[2], KN_UPDATE_ASSIGN));
    return NULL;
}

static void whoever_runs_the_queue_gives_no_line(void)
{
    kn_scope s = kn_scope_begin();
    kn_device before = kn_device_current(), queue = kn_device_open("fusion(cpu)");
    kn_device_use(queue);
    kn_tensor in[3] = {kn_own(kn_ones(KN_SHAPE(4), KN_F32)),
                       kn_own(kn_from((int64_t[]){1, 77}, KN_I64, KN_SHAPE(2, 1))),
                       kn_own(kn_ones(KN_SHAPE(2), KN_F32))};
    CHECK(kn_sync(queue) == KN_OK);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, queue_a_failure, in) == 0 && pthread_join(thread, NULL) == 0);
    CHECK(kn_sync(queue) != KN_OK);
    char text[700];
    kn_error_text(failed_late, text, sizeof text);
    if (!CHECK(strstr(text, "77") && !strstr(text, "test_threads.c"))) printf("  %s\n", text);
    for (int i = 0; i < 3; i++) kn_drop(in[i]);
    kn_drop(failed_late);
    kn_device_use(before);
    kn_device_close(queue);
    kn_scope_end(s, KN_NONE);
}

int main(void)
{
    static job alone[THREADS], together[THREADS];
    pthread_t threads[THREADS];
    float w[OUT * IN], b[OUT] = {0.1f, -0.2f, 0.3f, 0};
    for (int i = 0; i < OUT * IN; i++) w[i] = (float)(i % 7) / 7.0f - 0.4f;
    device = kn_device_open("autodiff(cpu)");
    kn_device_use(device);
    weight = kn_param_make(kn_from(w, KN_F32, KN_SHAPE(OUT, IN)));
    bias = kn_param_make(kn_from(b, KN_F32, KN_SHAPE(OUT)));
    for (int i = 0; i < THREADS; i++) {
        alone[i].number = together[i].number = i;
        work(&alone[i]);
    }
    whoever_runs_the_queue_gives_no_line();
    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, work, &together[i]) == 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        CHECK(alone[i].good && together[i].good);
        CHECK(!memcmp(alone[i].loss, together[i].loss, sizeof alone[i].loss));
        CHECK(!memcmp(alone[i].gradient, together[i].gradient, sizeof alone[i].gradient));
    }
    kn_param_drop(&weight);
    kn_param_drop(&bias);
    CHECK(kn_shutdown() == 0);
    CHECK(kn_memory_stats().bytes_now == 0);
    return check_report();
}
