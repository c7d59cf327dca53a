/* The fusion decorator: values, views, late errors, waiting where it must, plans, threads; and programs. */
#define _DEFAULT_SOURCE
#include "support/check.h"
#include <kn/dlpack.h>
#include <kn/program.h>
#include <kn/update.h>
#include <pthread.h>
#include <stdlib.h>

static kn_device fusion, tape, cpu;

static kn_fusion_stats stats(kn_device d)
{
    kn_fusion_stats s;
    CHECK(kn_fusion_stats_of(d, &s) == KN_OK);
    return s;
}

/* What was logged last, and how many errors there were. */
static struct heard {
    int errors;
    char text[4000];
} heard;

static void hear(void *context, kn_log_level level, const char *text)
{
    (void)context;
    heard.errors += level == KN_LOG_ERROR;
    size_t used = strlen(heard.text);
    snprintf(heard.text + used, sizeof heard.text - used, "%s\n", text);
}

static kn_tensor six(void) { return kn_from((float[]){1, 2, 3, 4, 5, 6}, KN_F32, KN_SHAPE(2, 3)); }

static void strings(void)
{
    kn_fusion_stats s;
    CHECK(!kn_device_open("fusion(fusion(cpu))") && strstr(kn_last_error(), "one queue is enough"));
    CHECK(!kn_device_open("fusion(autodiff(cpu))") && strstr(kn_last_error(), "autodiff(fusion(...))"));
    CHECK_ERROR(kn_fusion_stats_of(cpu, &s), "no fusion in its stack");
    CHECK_ERROR(kn_fusion_stats_of(fusion, NULL), "NULL");
    CHECK(kn_device_open("fusion(null)") && kn_device_open("fusion(ref)"));
}

static void values_and_views(void)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(six()), t = kn_keep(kn_transpose(kn_mul_scalar(x, 2), 0, 1));
    kn_fusion_stats before = stats(fusion);
    CHECK(kn_size(t, 0) == 3 && stats(fusion).submissions == before.submissions);
    kn_tensor y =
        kn_keep(kn_add(t, kn_expand(kn_from((float[]){1, 2, 3}, KN_F32, KN_SHAPE(3, 1)), KN_SHAPE(3, 2))));
    kn_tensor flat = kn_keep(kn_reshape(y, KN_SHAPE(6))); /* needs a copy of nothing: y is contiguous */
    kn_tensor copied = kn_keep(kn_reshape(t, KN_SHAPE(6)));
    CHECK_VALUES(y, 0, 3, 9, 6, 12, 9, 15);
    CHECK_VALUES(flat, 0, 3, 9, 6, 12, 9, 15);
    CHECK_VALUES(copied, 0, 2, 8, 4, 10, 6, 12);
    CHECK_VALUES(kn_sum(kn_square(kn_sub(y, kn_mean(y, KN_AXES(1), true))), KN_AXES(1), false), 1e-6, 18, 18,
                 18);
    CHECK_VALUES(kn_softmax(kn_mul_scalar(kn_sub(x, x), 2), 1), 1e-6, 1. / 3, 1. / 3, 1. / 3, 1. / 3, 1. / 3,
                 1. / 3);
    int64_t strides[2];
    CHECK(kn_strides(t, strides) == KN_OK && strides[0] == 1 && strides[1] == 3);
    kn_scope_end(scope, KN_NONE);
}

/* What fails when it is printed is told as an error. */
static void late_print(void)
{
    char text[400];
    kn_scope scope = kn_scope_begin();
    kn_tensor bad = kn_keep(kn_gather(six(), 1, kn_from((int64_t[]){0, 9}, KN_I64, KN_SHAPE(1, 2))));
    CHECK(kn_print(bad) == KN_ERROR_INDEX && !kn_ok(bad));
    bad = kn_keep(kn_gather(six(), 1, kn_from((int64_t[]){0, 8}, KN_I64, KN_SHAPE(1, 2))));
    CHECK(kn_format(bad, text, sizeof text, NULL) > 0 && strstr(text, "poisoned tensor: kn_gather: index 8"));
    (void)kn_sync(fusion);
    kn_scope_end(scope, KN_NONE);
}

static void late_errors(void)
{
    char text[400];
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(six());
    int line = __LINE__ + 1;
    kn_tensor bad = kn_keep(kn_gather(x, 1, kn_from((int64_t[]){0, 7}, KN_I64, KN_SHAPE(1, 2))));
    kn_tensor view = kn_keep(kn_transpose(bad, 0, 1)), after = kn_keep(kn_exp(view)),
              good = kn_keep(kn_neg(x));
    float v[2];
    CHECK(kn_ok(bad) && kn_ok(after)); /* nothing has run yet */
    CHECK_ERROR(kn_read(after, v, sizeof v), "index 7");
    CHECK(!kn_ok(bad) && !kn_ok(view) && !kn_ok(after) && kn_ok(good));
    char place[64];
    snprintf(place, sizeof place, "test_fusion.c:%d", line);
    kn_error_text(view, text, sizeof text);
    CHECK(strstr(text, "kn_gather") && strstr(text, place));
    CHECK(kn_error_code(after) == KN_ERROR_INDEX);
    CHECK_POISON(kn_add(after, after), "index 7");
    CHECK_VALUES(good, 0, -1, -2, -3, -4, -5, -6);
    CHECK(kn_sync(fusion) != KN_OK && kn_sync(fusion) == KN_OK); /* told once */
    kn_scope_end(scope, KN_NONE);
}

/* Memory that is the caller's may change after the op. */
static void wrapped_memory(void)
{
    kn_scope scope = kn_scope_begin();
    float data[3] = {1, 2, 3};
    kn_tensor x = kn_keep(kn_wrap(data, KN_F32, KN_SHAPE(3), NULL, NULL, NULL));
    kn_tensor y = kn_keep(kn_mul_scalar(x, 10));
    data[0] = 100;
    kn_tensor z = kn_keep(kn_mul_scalar(x, 10));
    CHECK_VALUES(y, 0, 10, 20, 30);
    CHECK_VALUES(z, 0, 1000, 20, 30);
    size_t n = 1 << 19;
    float *large = calloc(n, sizeof *large);
    kn_tensor w = kn_keep(kn_add_scalar(kn_wrap(large, KN_F32, KN_SHAPE((int64_t)n), NULL, NULL, NULL), 1));
    free(large); /* the record that read it has run */
    CHECK(kn_item(kn_max(w, KN_AXES_ALL, false)) == 1);
    kn_scope_end(scope, KN_NONE);
}

static void leaving(void)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(six()), y = kn_keep(kn_mul(x, x));
    DLManagedTensor *d = kn_to_dlpack(kn_add_scalar(y, 1));
    CHECK(d && ((float *)d->dl_tensor.data)[5] == 37);
    if (d) d->deleter(d);
    kn_tensor other = kn_keep(kn_to(kn_alias(y), cpu)); /* runs on the leaf itself */
    CHECK_VALUES(kn_neg(other), 0, -1, -4, -9, -16, -25, -36);
    kn_tensor z = kn_mul_scalar(x, 3);
    kn_device_use(cpu);
    kn_tensor plain = kn_keep(kn_ones(KN_SHAPE(2, 3), KN_F32));
    kn_device_use(fusion);
    kn_tensor mixed = kn_keep(kn_add(plain, z));
    CHECK(kn_device_of(mixed) == fusion);
    CHECK_VALUES(mixed, 0, 4, 7, 10, 13, 16, 19);
    kn_scope_end(scope, KN_NONE);
}

static void plans(void)
{
    kn_fusion_stats before = {0}, after;
    double sums[6];
    for (int i = 0; i < 6; i++) {
        kn_scope scope = kn_scope_begin();
        if (i == 1) before = stats(fusion);
        kn_tensor x = kn_keep(kn_random_uniform(KN_SHAPE(5, 7), 0, 1, KN_F32));
        kn_tensor y =
            kn_dropout(kn_mul_scalar(x, 1 + i), 0.5, true); /* numbers and draws are no part of a plan */
        sums[i] = kn_item(kn_sum(kn_relu(y), KN_AXES_ALL, false));
        kn_scope_end(scope, KN_NONE);
    }
    after = stats(fusion);
    CHECK(after.plan_hits - before.plan_hits == 5 && after.plans_made == before.plans_made);
    for (int i = 1; i < 6; i++) CHECK(sums[i] != sums[i - 1]);
    /* Which results are alive is part of the key. */
    for (int i = 0; i < 2; i++) {
        kn_scope scope = kn_scope_begin();
        kn_tensor x = kn_keep(six()), a = kn_exp(x);
        if (i) a = kn_keep(a);
        kn_tensor b = kn_keep(kn_neg(a));
        CHECK(kn_read(b, (float[6]){0}, 24) == KN_OK);
        if (i) CHECK(kn_item(kn_max(a, KN_AXES_ALL, false)) > 403);
        kn_scope_end(scope, KN_NONE);
    }
}

static void updates(void)
{
    kn_scope scope = kn_scope_begin();
    kn_device_use(tape);
    kn_param p = kn_param_make(kn_from((float[]){1, 2}, KN_F32, KN_SHAPE(2)));
    kn_tensor old = kn_keep(kn_mul_scalar(kn_value(p), 10)),
              x = kn_keep(kn_from((float[]){3, 4}, KN_F32, KN_SHAPE(2)));
    for (int i = 0; i < 3; i++) {
        kn_grads g;
        CHECK(kn_backward(kn_sum(kn_mul(kn_square(kn_value(p)), x), KN_AXES_ALL, false), &g) == KN_OK);
        CHECK(kn_sgd_update(&p, kn_grads_get(g, kn_value(p)), NULL, &(kn_sgd_update_args){.lr = 0.1}) ==
              KN_OK);
        kn_grads_free(g);
    }
    CHECK_VALUES(old, 0, 10, 20); /* what was recorded before sees the old value */
    CHECK_VALUES(kn_value(p), 1e-6, 0.4 * 0.4 * 0.4, 2 * 0.2 * 0.2 * 0.2);
    kn_param_drop(&p);
    kn_device_use(fusion);
    kn_scope_end(scope, KN_NONE);
}

typedef struct shared {
    kn_tensor x;
    double sum;
} shared;

static void *other_thread(void *argument)
{
    shared *s = argument;
    kn_device_use(fusion);
    kn_scope scope = kn_scope_begin();
    s->sum = 0;
    for (int i = 0; i < 200; i++) s->sum += kn_item(kn_sum(kn_mul_scalar(s->x, 2), KN_AXES_ALL, false));
    kn_scope_end(scope, KN_NONE);
    return NULL;
}

static void *failing_thread(void *argument)
{
    kn_device_use(argument);
    kn_tensor x = kn_own(kn_cholesky(kn_full(KN_SHAPE(2, 2), -1, KN_F32), false));
    (void)kn_submit(argument);
    kn_drop(x);
    return NULL;
}

/* A sync that tells of another thread's failure has a text too. */
static void failures_of_threads(void)
{
    kn_device device = kn_device_open("fusion(cpu)");
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, failing_thread, device) == 0);
    pthread_join(thread, NULL);
    CHECK_ERROR(kn_sync(device), "not positive definite");
    CHECK(kn_sync(device) == KN_OK);
    kn_device_close(device);
}

static void threads(void)
{
    enum { N = 4 };
    pthread_t t[N];
    shared s[N];
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_own(kn_mul_scalar(six(), 1)); /* still queued when the others read it */
    for (int i = 0; i < N; i++) {
        s[i].x = x;
        CHECK(pthread_create(&t[i], NULL, other_thread, &s[i]) == 0);
    }
    for (int i = 0; i < 200; i++) (void)kn_exp(kn_neg(x));
    for (int i = 0; i < N; i++) {
        pthread_join(t[i], NULL);
        CHECK(s[i].sum == 200 * 42);
    }
    kn_drop(x);
    kn_scope_end(scope, KN_NONE);
}

static void programs(void)
{
    char text[800];
    kn_scope scope = kn_scope_begin();
    kn_param w = kn_param_make(kn_from((float[]){1, 10}, KN_F32, KN_SHAPE(2)));
    kn_tensor two = kn_keep(kn_from((float[]){2, 2}, KN_F32, KN_SHAPE(2)));
    kn_tensor x = kn_keep(kn_from((float[]){1, 2, 3, 4}, KN_F32, KN_SHAPE(2, 2)));
    CHECK(!kn_program_end(NULL, 0, NULL, 0) && strstr(kn_last_error(), "nothing was begun"));
    CHECK(kn_program_begin(fusion) == KN_OK);
    CHECK_ERROR(kn_program_begin(fusion), "already");
    kn_tensor y = kn_keep(kn_add(kn_detach(kn_mul(x, kn_value(w))), two));
    kn_tensor z = kn_sum(kn_dropout(kn_relu(y), 0.5, true), KN_AXES(1), false);
    kn_tensor outputs[2] = {z, y}, got[2];
    kn_program p = kn_program_end(&x, 1, outputs, 2);
    CHECK(p != NULL);
    CHECK(kn_program_print(p, text, sizeof text) > 0 && strstr(text, "mul($0, @") && strstr(text, "outputs"));
    CHECK(kn_param_set(&w, kn_from((float[]){1, -1}, KN_F32, KN_SHAPE(2))) == KN_OK);
    kn_tensor in =
        kn_from((float[]){5, 6, 7, 8, 9, 1}, KN_F32, KN_SHAPE(3, 2)); /* another size, the new param */
    CHECK(kn_program_run(p, &in, 1, got, 2) == KN_OK);
    CHECK(!kn_ok(in)); /* taken */
    got[1] = kn_keep(got[1]);
    CHECK_VALUES(got[1], 0, 7, -4, 9, -6, 11, 1);
    CHECK(kn_size(got[0], 0) == 3);
    CHECK_ERROR(kn_program_run(p, NULL, 0, got, 2), "it has 1 and 2");
    kn_tensor odd = kn_ones(KN_SHAPE(2, 3), KN_F32);
    CHECK(kn_program_run(p, &odd, 1, got, 2) != KN_OK && !kn_ok(got[0]));
    kn_program_free(p);
    kn_param_drop(&w);
    kn_scope_end(scope, KN_NONE);
}

/* What fails in a program's run belongs to the line that the op was noted from, found at once or when the queue runs.
   unplaced: calls before it that pass by the macros and so have no line. */
/* What a program was made of stays as it was: an op of its making must not write over it. */
static void program_constants(void)
{
    static const char *const specs[] = {"cpu", "fusion(cpu)", "autodiff(cpu)", "ref"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        kn_device before = kn_device_current(), device = kn_device_open(specs[i]);
        kn_device_use(device);
        CHECK(kn_program_begin(device) == KN_OK);
        kn_tensor y = kn_keep(kn_reciprocal(kn_from((const float[]){4, 8}, KN_F32, KN_SHAPE(2))));
        kn_program program = kn_program_end(NULL, 0, (kn_tensor[]){y, y}, 2);
        CHECK(program != NULL);
        for (int k = 0; k < 2; k++) {
            kn_tensor out[2] = {KN_NONE, KN_NONE};
            CHECK(kn_program_run(program, NULL, 0, out, 2) == KN_OK);
            CHECK_VALUES(out[0], 0, 0.25, 0.125);
            kn_drop(out[0]);
            CHECK_VALUES(out[1], 0, 0.25, 0.125);
            kn_drop(out[1]);
        }
        kn_program_free(program);
        kn_drop(y);
        kn_device_use(before);
        kn_device_close(device);
    }
}

static void program_sites(int unplaced)
{
    char line[2][40];
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(six()), at = kn_keep(kn_from((int64_t[]){0, 1}, KN_I64, KN_SHAPE(1, 2))), got;
    CHECK(kn_program_begin(fusion) == KN_OK);
    snprintf(line[0], sizeof line[0], "test_fusion.c:%d", __LINE__ + 1);
    kn_tensor y = kn_add(x, x);
    for (int i = 0; i < unplaced; i++) y = (kn_mul)(y, x);
    y = kn_sub(y, x);
    snprintf(line[1], sizeof line[1], "test_fusion.c:%d", __LINE__ + 1);
    y = kn_keep(kn_gather(y, 1, at));
    kn_tensor in[2] = {x, at};
    kn_program p = kn_program_end(in, 2, &y, 1);
    CHECK(p != NULL && kn_sync(fusion) == KN_OK);
    kn_tensor bad[2] = {x, kn_keep(kn_from((int64_t[]){0, 9}, KN_I64, KN_SHAPE(1, 2)))};
    CHECK(kn_program_run(p, bad, 2, &got, 1) == KN_OK); /* found later: the index is a value */
    CHECK_ERROR(kn_sync(fusion), "index 9 is out of range");
    CHECK(strstr(kn_last_error(), line[1]) != NULL);
    bad[0] = kn_keep(kn_cast(kn_zeros(KN_SHAPE(4), KN_F32), KN_F32)); /* found at once: no such axis */
    CHECK(kn_program_run(p, bad, 2, &got, 1) != KN_OK && strstr(kn_last_error(), line[1]));
    CHECK(!strstr(kn_last_error(), line[0]));
    kn_program_free(p);
    kn_scope_end(scope, KN_NONE);
}

/* A group without memory is run by records, and these once more: that is one failure for the user. */
static void told_once(void)
{
    enum { N = 1 << 20 };
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(kn_full(KN_SHAPE(N), 1, KN_F32));
    CHECK(kn_sync(fusion) == KN_OK);
    kn_memory_trim();
    kn_memory_limit(kn_memory_stats().bytes_now + N);
    heard = (struct heard){0};
    kn_log_set(hear, NULL);
    kn_tensor y = kn_keep(kn_mul_scalar(kn_add_scalar(x, 1), 2));
    CHECK(kn_sync(fusion) == KN_ERROR_MEMORY && !kn_ok(y));
    kn_memory_limit(0);
    kn_log_set(NULL, NULL);
    if (!CHECK(heard.errors == 1 && strstr(heard.text, "test_fusion.c:"))) puts(heard.text);
    kn_scope_end(scope, KN_NONE);
}

/* KN_FUSION_LOG gives the reason for every record that runs alone. It is asked for at each new plan: 0 ends it. */
static void logged(void)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(kn_full(KN_SHAPE(64, 64), 1, KN_F32));
    CHECK(kn_sync(fusion) == KN_OK);
    setenv("KN_FUSION_LOG", "1", 1);
    kn_log_set(hear, NULL);
    heard = (struct heard){0};
    kn_tensor y = kn_keep(kn_add(x, x));
    kn_tensor z = kn_keep(kn_mul(kn_transpose(y, 0, 1), x)), s = kn_keep(kn_cumsum(z, 0));
    CHECK(kn_sync(fusion) == KN_OK && kn_ok(s));
    bool good = CHECK(strstr(heard.text, "alone because no record of the queue makes what it reads"));
    good &= CHECK(strstr(heard.text, "alone because it reads a view of a result"));
    good &= CHECK(strstr(heard.text, "alone because the device runs this op by itself"));
    if (!good) puts(heard.text);
    setenv("KN_FUSION_LOG", "0", 1);
    heard = (struct heard){0};
    kn_tensor quiet = kn_keep(kn_cumsum(kn_neg(kn_transpose(x, 0, 1)), 0));
    CHECK(kn_sync(fusion) == KN_OK && kn_ok(quiet) && !*heard.text);
    kn_log_set(NULL, NULL);
    unsetenv("KN_FUSION_LOG");
    kn_scope_end(scope, KN_NONE);
}

/* Every allocation fails once: an error or the right values, and nothing is left behind. */
static double without_memory(void)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(kn_reshape(kn_transpose(six(), 0, 1), KN_SHAPE(2, 3)));
    kn_tensor y = kn_keep(kn_softmax(kn_relu(kn_mul_scalar(kn_add(x, x), 0.5)), 1));
    kn_tensor z = kn_add(kn_sum(kn_mul(y, x), KN_AXES(1), true), kn_matmul(x, kn_transpose(x, 0, 1)));
    double sum = kn_item(kn_sum(z, KN_AXES_ALL, false));
    kn_scope_end(scope, KN_NONE);
    return sum;
}

static void memory_failures(void)
{
    double good = without_memory();
    int64_t before = kn_memory_stats().tensors_now;
    int failures = 0, wrong = 0;
    for (int n = 1; n < 200; n++) {
        kn_device d = fusion;
        kn_memory_fail_after(n);
        double got = without_memory();
        kn_memory_fail_after(0);
        bool failed = got != got;
        failures += failed;
        wrong += !failed && got != good;
        (void)kn_sync(d);
    }
    CHECK(failures > 5 && !wrong && without_memory() == good);
    CHECK(kn_memory_stats().tensors_now == before);
}

int main(void)
{
    cpu = kn_device_open("cpu");
    fusion = kn_device_open("fusion(cpu)");
    tape = kn_device_open("autodiff(fusion(cpu))");
    kn_device_use(fusion);
    strings();
    values_and_views();
    late_print();
    late_errors();
    wrapped_memory();
    leaving();
    plans();
    updates();
    threads();
    failures_of_threads();
    programs();
    program_constants();
    program_sites(0);
    program_sites(3);
    program_sites(200);
    told_once();
    logged();
    memory_failures();
    kn_device_use(NULL);
    CHECK(kn_shutdown() == 0);
    return check_report();
}
