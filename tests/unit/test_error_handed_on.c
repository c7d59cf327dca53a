/* A function that returns a status and fails because of what an operand carries tells that in kn_last_error(), whichever thread
   it happened in. */
#include "support/check.h"
#include <kn/autodiff.h>
#include <kn/call.h>
#include <kn/custom_op.h>
#include <kn/dlpack.h>
#include <kn/kernels.h>
#include <math.h>
#include <pthread.h>

static kn_status by_call(kn_tensor bad)
{
    kn_tensor in[] = {bad, bad}, out;
    return kn_call("less", in, 2, NULL, &out, 1);
}

static kn_op_handle twice;

static kn_status by_custom(kn_tensor bad)
{
    kn_tensor out;
    return kn_custom_call(twice, &bad, &out);
}

static kn_status by_kernel(kn_tensor bad)
{
    kn_kernel *k =
        kn_kernel_compile("kernel copy(index item, in T x[], out T y[]) { y[item] = x[item]; }", NULL);
    kn_tensor out;
    kn_status s = k ? kn_kernel_run(k, &bad, 1, NULL, &out, 1) : KN_OK;
    kn_kernel_free(k);
    return s;
}

static kn_status by_split(kn_tensor bad)
{
    kn_tensor out[4];
    int32_t n = 4;
    return kn_split(bad, 1, 0, out, &n);
}

static kn_status by_chunk(kn_tensor bad)
{
    kn_tensor out[4];
    int32_t n = 4;
    return kn_chunk(bad, 2, 0, out, &n);
}

static kn_status by_unbind(kn_tensor bad)
{
    kn_tensor out[4];
    int32_t n = 4;
    return kn_unbind(bad, 0, out, &n);
}

static kn_status by_sizes(kn_tensor bad)
{
    kn_tensor out[2];
    return kn_split_with_sizes(bad, (const int64_t[]){1, 1}, 2, 0, out);
}

static kn_status by_meshgrid(kn_tensor bad)
{
    kn_tensor in[] = {kn_ones(KN_SHAPE(2), KN_F32), bad}, out[2];
    return kn_meshgrid(in, 2, NULL, out);
}

static kn_status by_nonzero(kn_tensor bad)
{
    kn_tensor out[KN_MAX_RANK];
    return kn_nonzero_axes(bad, out);
}

static kn_status by_unravel(kn_tensor bad)
{
    kn_tensor out[2];
    return kn_unravel_index(bad, KN_SHAPE(2, 2), out);
}

static kn_status by_strides(kn_tensor bad)
{
    int64_t strides[KN_MAX_RANK];
    return kn_strides(bad, strides);
}

static kn_status by_assign(kn_tensor bad)
{
    kn_tensor place = KN_NONE;
    return kn_assign(&place, bad);
}

static kn_status by_read(kn_tensor bad)
{
    float v[2];
    return kn_read(bad, v, sizeof v);
}

static kn_status by_all_close(kn_tensor bad)
{
    bool close;
    return kn_all_close(bad, kn_ones(KN_SHAPE(2), KN_F32), 0, 0, false, &close);
}

static kn_status by_param_set(kn_tensor bad)
{
    kn_param p = kn_param_make(kn_ones(KN_SHAPE(2), KN_F32));
    kn_status s = kn_param_set(&p, bad);
    kn_param_drop(&p);
    return s;
}

static kn_tensor same(void *context, const kn_tensor *in, int32_t n)
{
    (void)context;
    (void)n;
    return kn_mul_scalar(in[0], 2);
}

static kn_status by_gradcheck(kn_tensor bad) { return kn_gradcheck(same, NULL, &bad, 1, 0); }

static kn_status by_gradcheck_second(kn_tensor bad)
{
    kn_tensor in[] = {kn_keep(kn_ones(KN_SHAPE(2), KN_F32)), bad};
    return kn_gradcheck(same, NULL, in, 2, 0);
}

static kn_status by_grad(kn_tensor bad)
{
    kn_tensor x = kn_keep(kn_require_grad(kn_ones(KN_SCALAR_SHAPE, KN_F32))), y = kn_square(x), gradient;
    return kn_grad(&y, NULL, 1, &bad, 1, 0, &gradient);
}

static kn_status by_cotangent(kn_tensor bad)
{
    kn_tensor x = kn_keep(kn_require_grad(kn_ones(KN_SHAPE(2), KN_F32))), y = kn_square(x), gradient;
    return kn_grad(&y, &bad, 1, &x, 1, 0, &gradient);
}

static kn_status by_dlpack(kn_tensor bad) { return kn_to_dlpack(bad) ? KN_OK : KN_ERROR_SHAPE; }

typedef struct row {
    const char *name;
    kn_status (*run)(kn_tensor bad);
    bool late; /* the function reads elements, so it also reports what failed when the queue ran */
} row;

static const row rows[] = {{"kn_call", by_call, true},
                           {"kn_custom_call", by_custom, true},
                           {"kn_kernel_run", by_kernel, true},
                           {"kn_split", by_split, false},
                           {"kn_chunk", by_chunk, false},
                           {"kn_unbind", by_unbind, false},
                           {"kn_split_with_sizes", by_sizes, false},
                           {"kn_meshgrid", by_meshgrid, true},
                           {"kn_nonzero_axes", by_nonzero, true},
                           {"kn_unravel_index", by_unravel, false},
                           {"kn_strides", by_strides, false},
                           {"kn_assign", by_assign, false},
                           {"kn_read", by_read, true},
                           {"kn_all_close", by_all_close, true},
                           {"kn_param_set", by_param_set, true},
                           {"kn_gradcheck", by_gradcheck, true},
                           {"kn_gradcheck, second input", by_gradcheck_second, true},
                           {"kn_grad, input", by_grad, false},
                           {"kn_grad, cotangent", by_cotangent, true},
                           {"kn_to_dlpack", by_dlpack, false}};

/* One call on a thread of its own, which has failed in another way before or never. */
typedef struct job {
    const row *row;
    kn_tensor bad;
    kn_device device;
    bool failed_before;
    kn_status status;
    char text[800];
} job;

static void *run_job(void *context)
{
    job *j = context;
    kn_device_use(j->device);
    kn_scope s = kn_scope_begin();
    if (j->failed_before) (void)kn_neg(KN_NONE);
    j->status = j->row->run(j->bad);
    snprintf(j->text, sizeof j->text, "%s", kn_last_error());
    kn_scope_end(s, KN_NONE);
    return NULL;
}

static void tells(job j, kn_status status, const char *words)
{
    pthread_t other;
    CHECK(pthread_create(&other, NULL, run_job, &j) == 0);
    pthread_join(other, NULL);
    if (CHECK(j.status == status && strstr(j.text, words))) return;
    printf("%s after %s failure: status %s, text '%s'\n", j.row->name, j.failed_before ? "another" : "no",
           kn_status_name(j.status), j.text);
}

static void operands_tell_what_they_carry(kn_device device)
{
    kn_tensor bad = kn_add(kn_ones(KN_SHAPE(2), KN_F32), kn_ones(KN_SHAPE(3), KN_F32));
    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++)
        tells((job){.row = &rows[i / 2], .bad = bad, .device = device, .failed_before = i % 2},
              KN_ERROR_SHAPE, "kn_add: ");
}

/* ---- failures that a queue finds after the op has returned, on the thread that happens to run it */

static void *run_queue(void *device)
{
    (void)!kn_sync(device);
    return NULL;
}

static kn_tensor found_by_another_thread(kn_device device)
{
    const float nan[] = {NAN, 1, 1, 1};
    kn_tensor t = kn_own(kn_svdvals(kn_from(nan, KN_F32, KN_SHAPE(2, 2))));
    pthread_t other;
    CHECK(kn_ok(t));
    CHECK(pthread_create(&other, NULL, run_queue, device) == 0);
    pthread_join(other, NULL);
    CHECK(!kn_ok(t));
    return t;
}

static void late_failures_are_told(kn_device device)
{
    kn_tensor bad = found_by_another_thread(device);
    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++)
        if (rows[i / 2].late)
            tells((job){.row = &rows[i / 2], .bad = bad, .device = device, .failed_before = i % 2},
                  KN_ERROR_NUMERIC, "NaN");
    kn_drop(bad);
}

typedef struct walk {
    kn_tensor x, y, gradient;
    kn_status status;
    char text[800];
} walk;

static void *walk_back(void *context)
{
    walk *w = context;
    kn_scope s = kn_scope_begin();
    kn_tensor dy = kn_keep(kn_ones(KN_SHAPE(2), KN_F32));
    w->status = kn_grad(&w->y, &dy, 1, &w->x, 1, 0, &w->gradient);
    snprintf(w->text, sizeof w->text, "%s", kn_last_error());
    kn_scope_end(s, KN_NONE);
    return NULL;
}

/* The tape has saved a factor that fails before the walk reads it: status, text and gradients tell of it. */
static void a_walk_tells_what_the_tape_carries(kn_device device)
{
    const float nan[] = {NAN, 1, 1, 1};
    kn_tensor bad = kn_own(kn_svdvals(kn_from(nan, KN_F32, KN_SHAPE(2, 2))));
    walk w = {.x = kn_own(kn_require_grad(kn_ones(KN_SHAPE(2), KN_F32)))};
    w.y = kn_own(kn_mul(w.x, bad));
    pthread_t other;
    CHECK(pthread_create(&other, NULL, run_queue, device) == 0);
    pthread_join(other, NULL);
    CHECK(!kn_ok(bad));
    CHECK(pthread_create(&other, NULL, walk_back, &w) == 0);
    pthread_join(other, NULL);
    if (!CHECK(w.status == KN_ERROR_NUMERIC && strstr(w.text, "NaN")))
        printf("status %s, text '%s'\n", kn_status_name(w.status), w.text);
    CHECK_POISON(w.gradient, "NaN");
    kn_drop(w.y);
    kn_drop(w.x);
    kn_drop(bad);
}

int main(void)
{
    static const char *const stacks[] = {"autodiff(cpu)", "autodiff(fusion(cpu))"};
    twice = kn_op_define("test::twice", &(kn_body_args){.body = "y = x * 2"});
    for (int i = 0; i < 2; i++) {
        kn_device device = kn_device_open(stacks[i]);
        if (!CHECK(device != NULL)) continue;
        kn_device_use(device);
        operands_tell_what_they_carry(device);
        if (!i) continue;
        late_failures_are_told(device);
        a_walk_tells_what_the_tape_carries(device);
    }
    kn_device_use(NULL);
    return check_report();
}
