/* Every allocation fails once, over what training and inference are made of: each time a clean error, nothing leaked,
   and the next try works. The cold start does it for the first use of the library. */
#include "support/check.h"
#include <kn/update.h>

static kn_tensor filled(kn_shape shape, double scale)
{
    int64_t n = 1;
    for (int i = 0; i < shape.rank; i++) n *= shape.dims[i];
    return kn_mul_scalar(kn_sin(kn_reshape(kn_arange(0, (double)n, 1, KN_F32), shape)), scale);
}

static kn_tensor leaf(kn_shape shape, double scale) { return kn_require_grad(filled(shape, scale)); }

static kn_tensor total(kn_tensor x) { return kn_sum(x, KN_AXES_ALL, false); }

/* The gradients of the sum of y, read to the end. */
static kn_status differentiate(kn_tensor y, const kn_tensor *wrt, int32_t n)
{
    kn_tensor grads[8], loss = kn_keep(total(y));
    kn_status s = kn_grad(&loss, NULL, 1, wrt, n, 0, grads);
    for (int i = 0; i < n && s == KN_OK; i++) {
        double sum;
        s = kn_read_as(total(grads[i]), KN_F64, &sum, sizeof sum);
    }
    return s;
}

static kn_status convolution(void)
{
    kn_tensor x = filled(KN_SHAPE(2, 3, 8, 8), 1);
    kn_tensor p[5] = {leaf(KN_SHAPE(4, 3, 3, 3), 0.2), leaf(KN_SHAPE(4), 0.1), leaf(KN_SHAPE(4), 1),
                      leaf(KN_SHAPE(4), 1), leaf(KN_SHAPE(5, 64), 0.1)};
    kn_conv2d_args same = {.same = true};
    kn_batch_norm_result n = kn_batch_norm_train(kn_conv2d(x, p[0], p[1], &same), p[2], p[3], 1e-5);
    kn_tensor h = kn_max_pool2d(kn_relu(n.y), KN_INTS(2, 2), NULL);
    h = kn_linear(kn_reshape(h, KN_SHAPE(2, 64)), p[4], KN_NONE);
    return differentiate(kn_square(h), p, 5);
}

static kn_status attention(void)
{
    kn_tensor p[3] = {leaf(KN_SHAPE(1, 2, 6, 8), 1), leaf(KN_SHAPE(1, 2, 6, 8), 1),
                      leaf(KN_SHAPE(1, 2, 6, 8), 1)};
    kn_tensor mask = kn_lower_mask(KN_SHAPE(6, 6), 0);
    kn_attention_args args = {.mask = mask};
    kn_tensor y = kn_attention(kn_rope(p[0], KN_NONE, KN_NONE, NULL), p[1], p[2], &args);
    return differentiate(kn_rms_norm(y, KN_NONE, 1, 1e-6), p, 3);
}

static kn_status recurrent(void)
{
    kn_tensor x = filled(KN_SHAPE(3, 2, 4), 1), lengths = kn_cast(kn_arange(1, 3, 1, KN_I64), KN_I32);
    kn_tensor p[3] = {leaf(KN_SHAPE(2, 12, 4), 0.3), leaf(KN_SHAPE(2, 12, 3), 0.3),
                      leaf(KN_SHAPE(2, 24), 0.1)};
    kn_recurrent_args args = {.bias = p[2], .lengths = lengths, .direction = KN_BOTH_WAYS};
    kn_recurrent_result y = kn_lstm(x, p[0], p[1], &args);
    kn_no_grad_begin(); /* the kernel itself, without a tape */
    kn_recurrent_args both = {.direction = KN_BOTH_WAYS, .linear_before_reset = true};
    kn_tensor h = kn_gru(filled(KN_SHAPE(3, 2, 4), 1), filled(KN_SHAPE(2, 9, 4), 1),
                         filled(KN_SHAPE(2, 9, 3), 1), &both)
                      .h;
    kn_no_grad_end();
    double sum;
    kn_status s = kn_read_as(total(h), KN_F64, &sum, sizeof sum);
    return s == KN_OK ? differentiate(kn_add(total(y.y), total(y.c)), p, 3) : s;
}

static kn_status integers(void)
{
    kn_tensor x = kn_quantize(filled(KN_SHAPE(1, 2, 6, 6), 1), kn_scalar(0.1, KN_F32), KN_NONE, NULL);
    kn_tensor w = kn_cast(filled(KN_SHAPE(3, 2, 3, 3), 9), KN_I8), zero = kn_zeros(KN_SHAPE(3), KN_I8);
    kn_tensor scale = kn_full(KN_SHAPE(3), 0.01, KN_F32);
    kn_conv_integer_args args = {.padding = {1, 1}};
    kn_tensor y =
        kn_conv_requantized(x, w, KN_NONE, zero, kn_zeros(KN_SHAPE(3), KN_I32), scale, KN_NONE, &args);
    kn_tensor rows = kn_keep(kn_reshape(y, KN_SHAPE(3, 36)));
    int64_t sum;
    kn_conv_integer_args apart = {.stride = {2, 2}};
    kn_tensor z = kn_conv_integer(kn_reshape(rows, KN_SHAPE(1, 3, 6, 6)),
                                  kn_ones(KN_SHAPE(2, 3, 2, 2), KN_U8), KN_NONE, KN_NONE, &apart);
    if (kn_read(total(kn_cast(z, KN_I64)), &sum, sizeof sum)) return KN_ERROR_MEMORY;
    kn_tensor product = kn_matmul_integer(rows, kn_transpose(rows, 0, 1), KN_NONE, KN_NONE);
    return kn_read(total(kn_cast(product, KN_I64)), &sum, sizeof sum);
}

static kn_status sorting(void)
{
    kn_tensor x = leaf(KN_SHAPE(5, 40), 1);
    kn_tensor sorted = kn_sort(x, 1, true).values, best = kn_topk(x, 3, 1, NULL).values;
    kn_tensor y = kn_add(total(kn_square(sorted)), total(best));
    kn_tensor order = kn_argsort(x, 0, false), counts = kn_unique(kn_round(x)).counts;
    int64_t sum;
    kn_status s = kn_read(total(order), &sum, sizeof sum);
    if (s == KN_OK) s = kn_read(total(counts), &sum, sizeof sum);
    return s == KN_OK ? differentiate(y, &x, 1) : s;
}

static kn_status linear_algebra(void)
{
    kn_tensor p[2] = {leaf(KN_SHAPE(4, 4), 0.3), leaf(KN_SHAPE(4, 2), 1)};
    kn_tensor a = kn_keep(kn_add(kn_matmul(p[0], kn_transpose(kn_alias(p[0]), 0, 1)), kn_eye(4, 4, KN_F32)));
    kn_tensor l = kn_cholesky(a, false), x = kn_solve(a, p[1]), d = kn_logdet(a);
    kn_svd_result f = kn_svd(a, false);
    return differentiate(kn_add(kn_add(total(l), total(x)), kn_add(d, total(f.s))), p, 2);
}

static kn_tensor segment(void *context, const kn_tensor *inputs, int32_t n)
{
    (void)n;
    kn_tensor h = kn_dropout(kn_tanh(kn_linear(inputs[0], *(kn_tensor *)context, KN_NONE)), 0.2, true);
    return kn_square(h);
}

static kn_status recomputed(void)
{
    kn_tensor p[2] = {leaf(KN_SHAPE(4, 6), 1), leaf(KN_SHAPE(3, 6), 1)};
    return differentiate(kn_recompute(segment, &p[1], p, 1), p, 2);
}

static kn_status second_order(void)
{
    kn_tensor w = leaf(KN_SHAPE(3, 4), 0.5), x = filled(KN_SHAPE(5, 4), 1), grad;
    kn_tensor loss = kn_keep(total(kn_square(kn_gelu(kn_linear(x, w, KN_NONE)))));
    kn_status s = kn_grad(&loss, NULL, 1, &w, 1, KN_GRAD_CREATE_GRAPH, &grad);
    return s == KN_OK ? differentiate(kn_square(grad), &w, 1) : s;
}

/* Groups of a queue: pointwise, rows, and the updates of an optimiser. */
static kn_status groups(void)
{
    kn_tensor p[2] = {leaf(KN_SHAPE(6, 40), 1), leaf(KN_SHAPE(40), 1)};
    kn_tensor y = kn_softmax(kn_add(kn_mul_scalar(p[0], 0.5), p[1]), -1);
    y = kn_mul(kn_gelu(kn_layer_norm(y, p[1], KN_NONE, 1, 1e-5)), p[0]);
    kn_status s = differentiate(y, p, 2);
    kn_param params[3] = {0};
    for (int i = 0; i < 3; i++) params[i] = kn_param_make(filled(KN_SHAPE(30 + i), 1));
    for (int i = 0; i < 3 && s == KN_OK; i++) {
        kn_sgd_update_args args = {.lr = 0.1, .weight_decay = 0.01};
        s = kn_sgd_update(&params[i], kn_sin(kn_value(params[i])), NULL, &args);
    }
    for (int i = 0; i < 3 && s == KN_OK; i++) {
        double sum;
        s = kn_read_as(total(kn_value(params[i])), KN_F64, &sum, sizeof sum);
    }
    for (int i = 0; i < 3; i++) kn_param_drop(&params[i]);
    return s;
}

typedef struct scenario {
    const char *name;
    kn_status (*run)(void);
    bool cold;        /* the library starts anew each time */
    const char *spec; /* of its device; NULL: autodiff(cpu) */
} scenario;

static const scenario scenarios[] = {
    {"convolution, pool and batch norm", convolution, false, NULL},
    {"attention", attention, false, NULL},
    {"sort and topk", sorting, false, NULL},
    {"recurrent cells", recurrent, false, NULL},
    {"integer products", integers, false, NULL},
    {"linear algebra", linear_algebra, false, NULL},
    {"recompute", recomputed, false, NULL},
    {"second order", second_order, false, NULL},
    {"cold start", second_order, true, NULL},
    {"groups", groups, true, "autodiff(fusion(cpu))"},
};

static kn_device taping;

static kn_device open_device(const scenario *s)
{
    return kn_device_open(s->spec ? s->spec : "autodiff(cpu)");
}

static kn_status once(const scenario *s)
{
    if (s->cold) {
        taping = open_device(s);
        if (!taping) return kn_last_error()[0] ? KN_ERROR_MEMORY : KN_ERROR_INTERNAL;
    }
    kn_device_use(taping);
    kn_scope scope = kn_scope_begin();
    kn_status status = s->run();
    kn_scope_end(scope, KN_NONE);
    return status;
}

static void clear(const scenario *s)
{
    if (s->cold)
        kn_shutdown();
    else
        kn_memory_trim();
}

/* While a failure is due no cached block is used, so that every allocation counts. */
static int count_allocations(const scenario *s)
{
    int64_t before = kn_memory_stats().allocations;
    kn_memory_fail_after(INT64_C(1) << 40);
    CHECK(once(s) == KN_OK);
    kn_memory_fail_after(0);
    int64_t n = kn_memory_stats().allocations - before;
    clear(s);
    return (int)n;
}

static void sweep(const scenario *s)
{
    if (!s->cold) taping = open_device(s);
    for (int i = 0; i < 2; i++, clear(s))
        if (!CHECK(once(s) == KN_OK)) printf("%s: %s\n", s->name, kn_last_error());
    kn_memory before = kn_memory_stats();
    int failures = 0, n = 1, all = count_allocations(s);
    for (; n <= all; n++) {
        kn_memory_fail_after(n);
        kn_status status = once(s);
        kn_memory_fail_after(0);
        bool failed = status != KN_OK; /* some can be done without */
        if (failed && !CHECK(kn_last_error()[0] != 0)) break;
        if (failed && status != KN_ERROR_MEMORY) {
            printf("%s: failing allocation %d gave %s: %s\n", s->name, n, kn_status_name(status),
                   kn_last_error());
            CHECK(false);
        }
        failures += failed;
        clear(s);
        kn_memory now = kn_memory_stats();
        /* Without a fault the library may still keep what it has grown by: chunks of slots. */
        if (now.tensors_now != before.tensors_now ||
            now.bytes_now > before.bytes_now + (s->cold ? 0 : 65536)) {
            printf("%s: failing allocation %d leaves %lld tensors and %lld bytes\n", s->name, n,
                   (long long)(now.tensors_now - before.tensors_now),
                   (long long)(now.bytes_now - before.bytes_now));
            CHECK(false);
            break;
        }
    }
    printf("%s: %d of %d allocations failed\n", s->name, failures, n - 1);
    CHECK(failures > 20);
    CHECK(once(s) == KN_OK);
    clear(s);
    if (!s->cold) CHECK(kn_shutdown() == 0);
    CHECK(kn_memory_stats().bytes_now == 0);
}

int main(void)
{
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) sweep(&scenarios[i]);
    CHECK(kn_shutdown() == 0);
    CHECK(kn_memory_stats().bytes_now == 0);
    return check_report();
}
