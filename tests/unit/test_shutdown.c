/* kn_shutdown: all that was made before is an error afterwards, for ever; beside other threads it frees nothing. */
#include "support/check.h"
#include <kn/custom_op.h>
#include <kn/dlpack.h>
#include <kn/program.h>
#include <pthread.h>
#include <stdatomic.h>

enum { N = 4 };
static const char *const stacks[] = {
    "cpu", "ref", "fusion(cpu)", "autodiff(cpu)", "autodiff(fusion(cpu))", "nan(fusion(cpu))"};
enum { STACKS = sizeof stacks / sizeof *stacks };

/* Everything that can outlive the library. */
typedef struct relics {
    kn_device device;
    kn_tensor owned, kept, pending, scalar;
    kn_param param;
    kn_grads grads;
    kn_program program;
    kn_scope scope;
} relics;

static relics leave(const char *spec)
{
    relics r = {.device = kn_device_open(spec)};
    float x[N] = {1, 2, 3, 4};
    kn_device_use(r.device);
    r.owned = kn_own(kn_from(x, KN_F32, KN_SHAPE(N)));
    r.scope = kn_scope_begin();
    r.kept = kn_keep(kn_add(r.owned, r.owned));
    r.scalar = kn_own(kn_scalar(3, KN_F32));
    r.param = kn_param_make(kn_from(x, KN_F32, KN_SHAPE(N)));
    r.pending =
        kn_own(kn_exp(kn_mul(kn_value(r.param), r.owned))); /* queued where there is a queue, on a tape */
    if (strstr(spec, "autodiff"))
        CHECK(kn_backward(kn_sum(r.pending, KN_AXES_ALL, false), &r.grads) == KN_OK);
    if (kn_program_begin(r.device) == KN_OK) {
        kn_tensor y = kn_relu(r.owned);
        r.program = kn_program_end(&r.owned, 1, &y, 1);
    }
    return r;
}

/* Each use is an error value with a text, and none of them is another's memory. */
static void use(const relics *r)
{
    const kn_tensor all[] = {r->owned, r->kept, r->pending, r->scalar, kn_value(r->param)};
    float values[N];
    kn_device_use(NULL);
    kn_tensor good = kn_keep(kn_zeros(KN_SHAPE(N), KN_F32));
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        kn_tensor x = all[i], y = KN_NONE;
        CHECK(!kn_ok(x));
        CHECK_POISON(kn_add(x, good), "no live tensor");
        CHECK_POISON(kn_add(good, x), "no live tensor");
        CHECK_POISON(kn_keep(x), "no live tensor");
        CHECK_POISON(kn_own(x), "no live tensor");
        CHECK_POISON(kn_alias(x), "no live tensor");
        CHECK_POISON(kn_detach(x), "no live tensor");
        CHECK_POISON(kn_require_grad(x), "no live tensor");
        CHECK_POISON(kn_to(x, kn_device_current()), "no live tensor");
        CHECK_POISON(kn_sum(x, KN_AXES_ALL, false), "no live tensor");
        CHECK_POISON(kn_concat((kn_tensor[]){good, x}, 2, 0), "no live tensor");
        CHECK_ERROR(kn_read(x, values, sizeof values), "no live tensor");
        CHECK_ERROR(kn_grad(&x, NULL, 1, &good, 1, 0, &y), "no live tensor");
        CHECK_ERROR(kn_assign(&y, x), "no live tensor");
        CHECK(kn_rank(x) == -1 && kn_count(x) == -1 && kn_device_of(x) == NULL && kn_to_dlpack(x) == NULL);
        CHECK(!kn_is_param(x) && !kn_is_require_grad(x));
        kn_drop(x);
        CHECK(strstr(kn_last_error(), "no live tensor") != NULL);
    }
    kn_param param = r->param;
    CHECK_ERROR(kn_param_set(&param, good), "no live tensor");
    kn_param_freeze(&param, true);
    CHECK(strstr(kn_last_error(), "no live tensor") != NULL);
    kn_param_drop(&param);
    (void)kn_scope_end(r->scope, KN_NONE);
    CHECK(strstr(kn_last_error(), "kn_scope_end") != NULL);
    if (r->grads) {
        CHECK_POISON(kn_grads_get(r->grads, good), "freed by kn_shutdown");
        CHECK(kn_grads_count(r->grads) == 0);
        kn_grads_free(r->grads);
        CHECK(strstr(kn_last_error(), "freed by kn_shutdown") != NULL);
    }
    kn_tensor out;
    CHECK_ERROR(kn_program_run(r->program, &good, 1, &out, 1), "freed by kn_shutdown");
}

static void use_device(kn_device d)
{
    kn_device before = kn_device_current();
    kn_fusion_stats stats;
    kn_tensor good = kn_keep(kn_zeros(KN_SHAPE(N), KN_F32));
    kn_device_use(d);
    CHECK(strstr(kn_last_error(), "kn_device_use: this is no open device") != NULL);
    CHECK(kn_device_current() == before);
    kn_seed(d, 1);
    CHECK(strstr(kn_last_error(), "kn_seed: this is no open device") != NULL);
    CHECK(!strcmp(kn_device_name(d), "none") &&
          strstr(kn_last_error(), "kn_device_name: this is no open device"));
    CHECK_ERROR(kn_sync(d), "kn_sync: this is no open device");
    CHECK_ERROR(kn_submit(d), "kn_submit: this is no open device");
    CHECK_ERROR(kn_fusion_stats_of(d, &stats), "this is no open device");
    CHECK_ERROR(kn_program_begin(d), "kn_program_begin: this is no open device");
    CHECK_POISON(kn_to(good, d), "kn_to: this is no open device");
    CHECK(kn_device_report(d, NULL, NULL, 0) == 0 && strstr(kn_last_error(), "kn_device_report: this is no"));
    CHECK(kn_device_autodiff(d) == NULL && strstr(kn_last_error(), "kn_device_autodiff: this is no open"));
    kn_device_close(d); /* nothing, as freeing any object of before is */
    CHECK(strstr(kn_last_error(), "kn_device_autodiff: ") != NULL);
}

static void all_is_an_error_afterwards(void)
{
    static relics old[STACKS];
    for (int i = 0; i < STACKS; i++) old[i] = leave(stacks[i]);
    CHECK(kn_shutdown() > 0);
    CHECK(kn_memory_stats().tensors_now == 0);
    for (int i = 0; i < STACKS; i++) use(&old[i]), use_device(old[i].device);
    /* New things take the places of the old ones, whose handles stay what they are. */
    for (int round = 0; round < 3; round++) {
        relics now[STACKS];
        for (int i = 0; i < STACKS; i++) now[i] = leave(stacks[i]);
        for (int i = 0; i < STACKS; i++) CHECK(kn_ok(now[i].owned) && kn_item(now[i].scalar) == 3);
        for (int i = 0; i < STACKS; i++) use(&old[i]), use_device(old[i].device);
        for (int i = 0; i < STACKS; i++) kn_program_free(now[i].program);
        CHECK(kn_shutdown() > 0);
    }
    for (int i = 0; i < STACKS; i++) kn_program_free(old[i].program);
    CHECK(kn_shutdown() == 0);
}

/* ---- beside other threads */

static _Atomic int step;
static void wait_for(int n)
{
    while (atomic_load(&step) < n) {}
}

static void *other(void *result)
{
    kn_tensor x = kn_own(kn_full(KN_SHAPE(1000), 2, KN_F32));
    atomic_store(&step, 1);
    wait_for(2);
    double sum = kn_item(kn_sum(kn_mul(x, x), KN_AXES_ALL, false));
    *(double *)result = sum;
    kn_drop(x);
    return NULL;
}

static void beside_a_thread(void)
{
    pthread_t thread;
    double sum = 0;
    kn_device d = kn_device_open("fusion(cpu)");
    kn_tensor mine = kn_own(kn_full(KN_SHAPE(100000), 1.5, KN_F32));
    (void)kn_item(kn_sum(kn_exp(mine), KN_AXES_ALL, false)); /* the team has its workers now */
    CHECK(pthread_create(&thread, NULL, other, &sum) == 0);
    wait_for(1);
    for (int i = 0; i < 3; i++) {
        int64_t s = kn_shutdown();
        CHECK(s < 0 && -s == KN_ERROR_UNSUPPORTED && strstr(kn_last_error(), "1 other thread") != NULL);
    }
    CHECK(kn_ok(mine) && kn_sync(d) == KN_OK && kn_item(kn_max(mine, KN_AXES_ALL, false)) == 1.5);
    atomic_store(&step, 2);
    pthread_join(thread, NULL);
    CHECK(sum == 4000);
    CHECK(kn_shutdown() == 1);
    CHECK(!kn_ok(mine));
}

static int64_t inner;
static kn_status shut_down(void *context, const kn_span *in, const kn_span *out)
{
    (void)context, (void)in;
    inner = kn_shutdown();
    ((float *)out[0].data)[0] = 7;
    return KN_OK;
}
static kn_status one(void *context, const kn_type *in, kn_type *out)
{
    (void)context;
    out[0] = in[0];
    return KN_OK;
}

static void from_inside(void)
{
    static const char *const over[] = {"cpu", "fusion(cpu)"};
    kn_op_handle op = kn_custom_register(
        &(kn_custom_op){.name = "shutting", .n_in = 1, .n_out = 1, .infer = one, .forward = shut_down});
    for (int i = 0; CHECK(op != NULL) && i < 2; i++) {
        inner = 0;
        kn_device_use(kn_device_open(over[i]));
        kn_tensor x = kn_full(KN_SHAPE(1), 1, KN_F32), y = KN_NONE;
        CHECK(kn_custom_call(op, &x, &y) == KN_OK);
        CHECK(kn_item(y) == 7);
        CHECK(inner < 0);
    }
    kn_device_use(NULL);
    CHECK(kn_shutdown() == 0);
}

int main(void)
{
    all_is_an_error_afterwards();
    beside_a_thread();
    from_inside();
    return check_report();
}
