/* What a thread carries (current device, no-grad, autocast, capture, replay) is put back whole when a function ends that the
   library has called, and random numbers drawn inside are counted once for all. */
#include "support/check.h"
#include <kn/autocast.h>
#include <kn/custom_op.h>
#include <kn/program.h>

static kn_device tape, other;

static kn_tensor ramp(void) { return kn_from((float[]){1, 2, 3, 4, 5, 6, 7, 8}, KN_F32, KN_SHAPE(8)); }

/* ---- a segment that leaves everything changed */

static kn_tensor careless(void *context, const kn_tensor *in, int32_t n)
{
    (void)context, (void)n;
    kn_device_use(other);
    kn_no_grad_begin();
    (void)kn_autocast_begin(KN_BF16);
    kn_no_grad_end();
    kn_no_grad_begin();
    return kn_square(in[0]);
}

static void a_segment_leaves_nothing(void)
{
    kn_scope scope = kn_scope_begin();
    kn_device_use(tape);
    (void)kn_recompute(careless, NULL, (kn_tensor[]){kn_keep(ramp())}, 1);
    CHECK(kn_device_current() == tape);
    CHECK(kn_grad_enabled());
    CHECK(kn_autocast_dtype() == KN_DTYPE_NONE);
    kn_scope_end(scope, KN_NONE);
}

/* ---- random numbers in a segment that runs again */

static kn_tensor drops_twice(void *context, const kn_tensor *in, int32_t n)
{
    (void)context, (void)n;
    kn_tensor x = kn_keep(in[0]);
    /* Each is drawn inside a call of its own: were the counter put back with it, the two masks would be one. */
    return kn_concat((kn_tensor[]){kn_dropout(x, 0.5, true), kn_dropout(x, 0.5, true)}, 2, 0);
}

static void draws_are_counted_once(void)
{
    enum { N = 256 };
    float ones[N], y[2 * N], g[N];
    kn_scope scope = kn_scope_begin();
    kn_device_use(tape);
    kn_seed(tape, 11);
    for (int i = 0; i < N; i++) ones[i] = 1;
    kn_tensor x = kn_require_grad(kn_from(ones, KN_F32, KN_SHAPE(N))), gradient;
    kn_tensor out = kn_keep(kn_recompute(drops_twice, NULL, &x, 1));
    kn_tensor sum = kn_sum(out, KN_AXES_ALL, false);
    CHECK(kn_grad(&sum, NULL, 1, &x, 1, 0, &gradient) == KN_OK);
    CHECK(kn_read(out, y, sizeof y) == KN_OK && kn_read(gradient, g, sizeof g) == KN_OK);
    int wrong = 0, same = 0;
    for (int i = 0; i < N; i++) wrong += g[i] != y[i] + y[N + i];
    for (int i = 0; i < N; i++) same += y[i] == y[N + i];
    CHECK(wrong == 0);                       /* the second pass drew the masks of the first */
    CHECK(same > N / 4 && same < 3 * N / 4); /* which are two */
    kn_scope_end(scope, KN_NONE);
}

/* ---- lowerings run with autocast off: the policy of their op has been applied */

static kn_status infer_product(void *context, const kn_type *in, kn_type *out)
{
    (void)context;
    *out = in[0];
    return KN_OK;
}

static kn_status lower_product(void *context, const kn_tensor *in, kn_tensor *out)
{
    (void)context;
    CHECK(kn_autocast_dtype() == KN_DTYPE_NONE);
    *out = kn_matmul(in[0], in[0]);
    return KN_OK;
}

static void lowerings_cast_nothing(void)
{
    static const char *const devices[] = {"cpu", "ref", "fusion(cpu)", "autodiff(fusion(cpu))", "nan(cpu)"};
    kn_op_handle op = kn_custom_register(&(kn_custom_op){
        .name = "own_product", .n_in = 1, .n_out = 1, .infer = infer_product, .lower = lower_product});
    CHECK(op != NULL);
    for (int i = 0; i < 5; i++) {
        kn_scope scope = kn_scope_begin();
        kn_device d = kn_device_open(devices[i]);
        kn_device_use(d);
        float fine = 1.0f + 1.0f / 4096; /* no bf16 */
        kn_tensor x = kn_from(&fine, KN_F32, KN_SHAPE(1, 1)), y;
        kn_dtype before = kn_autocast_begin(KN_BF16);
        CHECK(kn_custom_call(op, &x, &y) == KN_OK);
        CHECK(kn_autocast_dtype() == KN_BF16);
        kn_autocast_end(before);
        CHECK(kn_item(y) == (double)(fine * fine));
        kn_device_use(NULL);
        kn_scope_end(scope, KN_NONE);
        kn_device_close(d);
    }
}

/* ---- programs */

static kn_tensor begins_a_program(void *context, const kn_tensor *in, int32_t n)
{
    (void)context, (void)n;
    CHECK(kn_program_begin(NULL) == KN_OK);
    return kn_square(in[0]);
}

static kn_tensor ends_a_program(void *context, const kn_tensor *in, int32_t n)
{
    (void)context, (void)n;
    kn_tensor y = kn_keep(kn_square(in[0]));
    CHECK(!kn_program_end(in, 1, &y, 1) && strstr(kn_last_error(), "end it where it was begun"));
    return y;
}

static void programs_end_where_they_begin(void)
{
    kn_scope scope = kn_scope_begin();
    kn_device_use(tape);
    kn_tensor x = kn_keep(ramp());
    CHECK(kn_ok(kn_recompute(begins_a_program, NULL, &x, 1)));
    CHECK(!kn_program_end(&x, 1, &x, 1) && strstr(kn_last_error(), "nothing was begun"));
    CHECK(kn_program_begin(NULL) == KN_OK);
    kn_tensor y = kn_keep(kn_recompute(ends_a_program, NULL, &x, 1));
    kn_program p = kn_program_end(&x, 1, &y, 1);
    CHECK(p != NULL);
    kn_tensor again;
    CHECK(kn_program_run(p, (kn_tensor[]){kn_neg(ramp())}, 1, &again, 1) == KN_OK);
    CHECK_VALUES(again, 0, 1, 4, 9, 16, 25, 36, 49, 64);
    kn_program_free(p);
    kn_scope_end(scope, KN_NONE);
}

int main(void)
{
    tape = kn_device_open("autodiff(cpu)");
    other = kn_device_open("ref");
    a_segment_leaves_nothing();
    draws_are_counted_once();
    programs_end_where_they_begin();
    kn_device_use(NULL);
    CHECK(kn_shutdown() == 0);
    CHECK(kn_memory_stats().bytes_now == 0); /* the program that was never ended is gone too */
    lowerings_cast_nothing();                /* its op stays for ever */
    CHECK(kn_shutdown() == 0);
    return check_report();
}
