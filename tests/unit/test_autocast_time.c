/* Autocast decides when an op is called, never when it runs: the same program gives the same bits wherever its queue is
   submitted and whatever is in force then, on every stack. */
#include "support/check.h"
#include <kn/autocast.h>
#include <kn/custom_op.h>
#include <kn/linalg.h>
#include <kn/program.h>

enum { N = 12, SIZE = N * N };

static kn_tensor values(double scale)
{
    float x[SIZE];
    for (int i = 0; i < SIZE; i++) x[i] = (float)(scale * (((i * 7919) % 101) / 37.0 - 1.3) + 1e-4 * i);
    return kn_keep(kn_from(x, KN_F32, KN_SHAPE(N, N)));
}

static kn_status same_type(void *context, const kn_type *in, kn_type *out)
{
    (void)context;
    out[0] = in[0];
    return KN_OK;
}
static kn_status lower_product(void *context, const kn_tensor *in, kn_tensor *out)
{
    (void)context;
    out[0] = kn_add(kn_matmul(in[0], in[1]), kn_exp(in[1]));
    return KN_OK;
}
static kn_op_handle lowered;

static kn_tensor segment(void *context, const kn_tensor *in, int32_t n)
{
    (void)context, (void)n;
    return kn_matmul(kn_tanh(in[0]), in[1]);
}

/* ---- programs of two operands */

static kn_tensor product(kn_tensor a, kn_tensor b) { return kn_matmul(a, b); }
static kn_tensor einsum(kn_tensor a, kn_tensor b) { return kn_einsum("ij,kj->ik", (kn_tensor[]){a, b}, 2); }
static kn_tensor norms(kn_tensor a, kn_tensor b)
{
    kn_tensor s = kn_softmax(kn_matmul(a, b), -1);
    return kn_add(kn_layer_norm(s, KN_NONE, KN_NONE, 1, 1e-5), kn_std(a, KN_AXES(1), true, NULL));
}
static kn_tensor solves(kn_tensor a, kn_tensor b)
{
    return kn_solve(kn_add(a, kn_mul_scalar(kn_eye(N, N, KN_F32), 9)), b);
}
static kn_tensor powers(kn_tensor a, kn_tensor b)
{
    return kn_matmul(kn_inverse(kn_add(a, kn_mul_scalar(kn_eye(N, N, KN_F32), 9))), b);
}
static kn_tensor custom(kn_tensor a, kn_tensor b)
{
    kn_tensor out = KN_NONE, in[] = {a, b};
    return kn_custom_call(lowered, in, &out) == KN_OK ? out : kn_poison(KN_OK, NULL);
}
static kn_tensor convolution(kn_tensor a, kn_tensor b)
{
    kn_tensor w = kn_reshape(kn_narrow(kn_reshape(b, KN_SHAPE(SIZE)), 0, 0, 9), KN_SHAPE(1, 1, 3, 3));
    return kn_conv2d(kn_reshape(a, KN_SHAPE(1, 1, N, N)), w, KN_NONE, NULL);
}
static kn_tensor loss(kn_tensor a, kn_tensor b)
{
    return kn_mse_loss(kn_matmul(a, b), kn_zeros(KN_SHAPE(N, N), KN_F32), KN_REDUCTION_MEAN);
}
static kn_tensor attention(kn_tensor a, kn_tensor b)
{
    kn_shape s = KN_SHAPE(1, 1, N, N);
    return kn_attention(kn_reshape(a, s), kn_reshape(b, s), kn_reshape(b, s), NULL);
}
static kn_tensor again(kn_tensor a, kn_tensor b)
{
    return kn_recompute(segment, NULL, (kn_tensor[]){a, b}, 2);
}

static kn_tensor (*const programs[])(kn_tensor a, kn_tensor b) = {
    product, einsum, norms, solves, powers, custom, loss, again, convolution, attention};
enum { PROGRAMS = sizeof programs / sizeof *programs };
static const char *const stacks[] = {"cpu", "fusion(cpu)", "autodiff(cpu)", "autodiff(fusion(cpu))",
                                     "nan(cpu)"};
static const kn_dtype modes[] = {KN_F32, KN_BF16, KN_F16};

enum { AT_ONCE, LATER, SUBMITTED, MOMENTS };

typedef struct bits {
    float y[SIZE], da[SIZE];
    kn_dtype dtype;
} bits;

/* The program under `made`, its end under `ended`. */
static void run(int program, const char *stack, int moment, kn_dtype made, kn_dtype ended, bits *b)
{
    memset(b, 0, sizeof *b);
    kn_device d = kn_device_open(stack);
    kn_device_use(d);
    kn_scope scope = kn_scope_begin();
    bool tapes = strstr(stack, "autodiff") != NULL;
    kn_tensor a = values(1), c = values(0.7);
    if (tapes) a = kn_require_grad(a);
    kn_dtype before = kn_autocast_begin(made);
    kn_tensor y = kn_keep(programs[program](a, c));
    b->dtype = kn_dtype_of(y);
    if (moment == AT_ONCE) CHECK(kn_sync(d) == KN_OK);
    kn_autocast_end(before);
    before = kn_autocast_begin(ended);
    if (moment == SUBMITTED) CHECK(kn_submit(d) == KN_OK);
    kn_tensor dy = kn_ones(kn_shape_of_tensor(y), b->dtype), da = KN_NONE;
    if (tapes) CHECK(kn_grad(&y, &dy, 1, &a, 1, KN_GRAD_ALLOW_UNUSED, &da) == KN_OK);
    size_t count = (size_t)kn_count(y);
    if (!CHECK(kn_ok(y) && count <= SIZE && kn_read_as(y, KN_F32, b->y, count * sizeof *b->y) == KN_OK))
        printf("  program %d on %s: %s\n", program, stack, kn_last_error());
    if (da.bits) CHECK(kn_read_as(da, KN_F32, b->da, sizeof b->da) == KN_OK);
    kn_autocast_end(before);
    (void)kn_scope_end(scope, KN_NONE);
    kn_device_use(NULL);
    kn_device_close(d);
}

static void bits_do_not_depend_on_time(int program)
{
    for (int m = 0; m < 3; m++)
        for (size_t s = 0; s < sizeof stacks / sizeof *stacks; s++) {
            bits first, other, cpu;
            run(program, stacks[s], AT_ONCE, modes[m], modes[m], &first);
            for (int moment = 0; moment < MOMENTS; moment++)
                for (int e = 0; e < 3; e++) {
                    run(program, stacks[s], moment, modes[m], modes[e], &other);
                    if (!CHECK(!memcmp(&first, &other, sizeof first)))
                        printf("  program %d on %s, made under %s, ended under %s, moment %d\n", program,
                               stacks[s], kn_dtype_name(modes[m]), kn_dtype_name(modes[e]), moment);
                }
            run(program, strstr(stacks[s], "autodiff") ? "autodiff(cpu)" : "cpu", AT_ONCE, modes[m], modes[m],
                &cpu);
            CHECK(!memcmp(&first, &cpu, sizeof first));
        }
}

/* A program has the casts of its making and no others. */
static void programs_keep_theirs(void)
{
    for (int m = 0; m < 3; m++) {
        float want[SIZE], got[SIZE];
        kn_device d = kn_device_open("fusion(cpu)");
        kn_device_use(d);
        kn_tensor in[] = {values(1), values(0.7)}, y;
        kn_dtype before = kn_autocast_begin(modes[m]);
        CHECK(kn_program_begin(d) == KN_OK);
        y = kn_keep(kn_matmul(in[0], in[1]));
        kn_program p = kn_program_end(in, 2, &y, 1);
        kn_autocast_end(before);
        CHECK(p && kn_read_as(y, KN_F32, want, sizeof want) == KN_OK);
        for (int e = 0; e < 3; e++) {
            before = kn_autocast_begin(modes[e]);
            CHECK(kn_program_run(p, in, 2, &y, 1) == KN_OK);
            kn_autocast_end(before);
            CHECK(kn_read_as(y, KN_F32, got, sizeof got) == KN_OK && !memcmp(want, got, sizeof want));
        }
        kn_program_free(p);
        kn_device_use(NULL);
        kn_device_close(d);
    }
}

int main(void)
{
    lowered = kn_custom_register(&(kn_custom_op){
        .name = "product_and_exp", .n_in = 2, .n_out = 1, .infer = same_type, .lower = lower_product});
    CHECK(lowered != NULL);
    for (int p = 0; p < PROGRAMS; p++) bits_do_not_depend_on_time(p);
    programs_keep_theirs();
    (void)kn_shutdown();
    return check_report();
}
