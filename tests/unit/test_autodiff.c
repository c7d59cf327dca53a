/* The tape: leaves, fan-in, views, higher orders, no_grad, detach, retain, recomputation, params, errors. */
#include "support/check.h"
#include <math.h>
#include <pthread.h>

static kn_device device;

static kn_tensor vector(double a, double b)
{
    double v[] = {a, b};
    return kn_from(v, KN_F64, KN_SHAPE(2));
}

static kn_tensor total(kn_tensor x) { return kn_sum(x, KN_AXES_ALL, false); }

static void first_order(void)
{
    kn_scope s = kn_scope_begin();
    kn_tensor x = kn_require_grad(vector(2, 3)), y = kn_require_grad(vector(5, 7)), g[2];
    kn_tensor z = kn_keep(total(kn_add(kn_mul(x, y), kn_mul(x, x))));
    CHECK(kn_grad(&z, NULL, 1, (kn_tensor[]){x, y}, 2, 0, g) == KN_OK);
    CHECK_VALUES(g[0], 1e-15, 5 + 4, 7 + 6);
    CHECK_VALUES(g[1], 1e-15, 2, 3);
    kn_tensor again[2];
    CHECK_ERROR(kn_grad(&z, NULL, 1, (kn_tensor[]){x, y}, 2, 0, again), "KN_GRAD_RETAIN");
    CHECK(!kn_ok(again[0]));
    kn_scope_end(s, KN_NONE);
}

static void cotangents_and_intermediates(void)
{
    kn_scope s = kn_scope_begin();
    kn_tensor x = kn_require_grad(vector(2, 3)), g[2], dy = kn_keep(vector(10, 100));
    kn_tensor h = kn_keep(kn_exp(x)), y = kn_keep(kn_mul(h, x));
    CHECK(kn_grad(&y, &dy, 1, (kn_tensor[]){x, h}, 2, KN_GRAD_RETAIN, g) == KN_OK);
    CHECK_VALUES(g[1], 1e-15, 20, 300);
    CHECK_VALUES(g[0], 1e-14, 10 * 7.38905609893065 * 3, 100 * 20.085536923187668 * 4);
    CHECK_ERROR(kn_grad(&y, NULL, 1, &x, 1, KN_GRAD_RETAIN, g), "more than one element");
    kn_tensor wrong = kn_keep(kn_from((double[]){1, 2, 3}, KN_F64, KN_SHAPE(3)));
    CHECK_ERROR(kn_grad(&y, &wrong, 1, &x, 1, 0, g), "shape of its output");
    kn_scope_end(s, KN_NONE);
}

static void second_and_third_order(void)
{
    kn_scope s = kn_scope_begin();
    kn_tensor x = kn_require_grad(vector(2, -3)), g1, g2, g3;
    kn_tensor y = kn_keep(total(kn_mul(kn_mul(x, x), kn_mul(x, x)))); /* x^4 */
    CHECK(kn_grad(&y, NULL, 1, &x, 1, KN_GRAD_CREATE_GRAPH, &g1) == KN_OK);
    g1 = kn_keep(g1);
    CHECK_VALUES(g1, 1e-14, 32, -108);
    kn_tensor t1 = kn_keep(total(g1));
    CHECK(kn_grad(&t1, NULL, 1, &x, 1, KN_GRAD_CREATE_GRAPH, &g2) == KN_OK);
    g2 = kn_keep(g2);
    CHECK_VALUES(g2, 1e-14, 48, 108);
    kn_tensor t2 = kn_keep(total(g2));
    CHECK(kn_grad(&t2, NULL, 1, &x, 1, 0, &g3) == KN_OK);
    CHECK_VALUES(g3, 1e-14, 48, -72);
    kn_scope_end(s, KN_NONE);
}

static kn_tensor elu(kn_tensor x) { return kn_elu(x, 1); }
static kn_tensor celu(kn_tensor x) { return kn_celu(x, 2); }
static kn_tensor fmod_by(kn_tensor x) { return kn_fmod(kn_ones_like(x), x); }
static kn_tensor copysign_one(kn_tensor x) { return kn_copysign(x, kn_ones_like(x)); }
static kn_tensor angle(kn_tensor x) { return kn_atan2(x, kn_zeros_like(x)); }

/* The slope at the point, and the gradient of the sum of slopes, which must not be 0 times infinity. */
static void finite_at_the_ends(void)
{
    static const struct {
        kn_tensor (*function)(kn_tensor);
        double at, first, second;
    } cases[] = {
        {elu, 1000, 1, 0},
        {celu, 1000, 1, 0},
        {kn_selu, 1000, 1.0507010221481323, 0},
        {angle, 0, 0, 0},
        {copysign_one, 0, 0, 0},
        {fmod_by, 0, -INFINITY, 0},
        {kn_atan, 3e38, 0, 0},
        {kn_softsign, 3e38, 0, 0},
        {kn_acosh, 3e38, 0, 0},
        {kn_lgamma, INFINITY, INFINITY, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kn_scope s = kn_scope_begin();
        kn_tensor g1, g2, x = kn_require_grad(kn_full(KN_SHAPE(2), cases[i].at, KN_F32));
        kn_tensor y = kn_keep(total(cases[i].function(x)));
        CHECK(kn_grad(&y, NULL, 1, &x, 1, KN_GRAD_CREATE_GRAPH, &g1) == KN_OK);
        g1 = kn_keep(g1);
        CHECK_VALUES(g1, 1e-6, cases[i].first, cases[i].first);
        kn_tensor slopes = kn_keep(total(g1));
        CHECK(kn_grad(&slopes, NULL, 1, &x, 1, KN_GRAD_ALLOW_UNUSED, &g2) == KN_OK);
        if (g2.bits) CHECK_VALUES(g2, 0, cases[i].second, cases[i].second);
        kn_scope_end(s, KN_NONE);
    }
}

static void views_and_assignment(void)
{
    kn_scope s = kn_scope_begin();
    kn_tensor x = kn_require_grad(kn_from((double[]){1, 2, 3, 4, 5, 6}, KN_F64, KN_SHAPE(2, 3))), g;
    kn_tensor column = kn_narrow(kn_transpose(x, 0, 1), 0, 1, 1); /* [1, 2]: 2 5 */
    kn_tensor y = kn_keep(total(kn_square(column)));
    CHECK(kn_grad(&y, NULL, 1, &x, 1, 0, &g) == KN_OK);
    CHECK_VALUES(g, 0, 0, 4, 0, 0, 10, 0);
    kn_scope_end(s, KN_NONE);
}

/* Parts of one tensor: side by side, with a gap, over each other, along different axes, and beside other uses. */
static void parts_of_one(void)
{
    kn_scope s = kn_scope_begin();
    kn_tensor x = kn_require_grad(kn_from((double[]){1, 2, 3, 4, 5, 6}, KN_F64, KN_SHAPE(2, 3))), g, h;
    kn_tensor y =
        kn_keep(kn_add(total(kn_square(kn_narrow(x, 1, 2, 1))),
                       kn_add(total(kn_narrow(x, 1, 0, 1)), total(kn_mul_scalar(kn_narrow(x, 1, 1, 1), 3)))));
    CHECK(kn_grad(&y, NULL, 1, &x, 1, KN_GRAD_CREATE_GRAPH, &g) == KN_OK);
    CHECK_VALUES(g, 0, 1, 3, 6, 1, 3, 12);
    kn_tensor z = kn_keep(total(kn_square(g)));
    CHECK(kn_grad(&z, NULL, 1, &x, 1, 0, &h) == KN_OK);
    CHECK_VALUES(h, 0, 0, 0, 24, 0, 0, 48);
    y = kn_keep(kn_add(total(kn_narrow(x, 1, 0, 1)), total(kn_mul_scalar(kn_narrow(x, 1, 2, 1), 3))));
    CHECK(kn_grad(&y, NULL, 1, &x, 1, 0, &g) == KN_OK);
    CHECK_VALUES(g, 0, 1, 0, 3, 1, 0, 3);
    y = kn_keep(kn_add(total(kn_narrow(x, 1, 0, 2)), total(kn_mul_scalar(kn_narrow(x, 1, 1, 2), 3))));
    CHECK(kn_grad(&y, NULL, 1, &x, 1, 0, &g) == KN_OK);
    CHECK_VALUES(g, 0, 1, 4, 3, 1, 4, 3);
    y = kn_keep(kn_add(total(kn_narrow(x, 0, 0, 1)), total(kn_mul_scalar(kn_narrow(x, 1, 1, 2), 3))));
    CHECK(kn_grad(&y, NULL, 1, &x, 1, 0, &g) == KN_OK);
    CHECK_VALUES(g, 0, 1, 4, 4, 0, 3, 3);
    y = kn_keep(kn_add(total(kn_select(x, 0, 0)), kn_add(total(kn_square(x)), total(kn_select(x, 0, 1)))));
    CHECK(kn_grad(&y, NULL, 1, &x, 1, 0, &g) == KN_OK);
    CHECK_VALUES(g, 0, 3, 5, 7, 9, 11, 13);
    /* Rows of a table that is also used as a whole, taken twice, and alone. */
    kn_tensor at = kn_keep(kn_from((int64_t[]){1, 1, 0}, KN_I64, KN_SHAPE(3, 1)));
    y = kn_keep(kn_add(total(kn_embedding(x, at, NULL)),
                       kn_add(total(kn_square(x)), total(kn_embedding(x, at, NULL)))));
    CHECK(kn_grad(&y, NULL, 1, &x, 1, KN_GRAD_CREATE_GRAPH, &g) == KN_OK);
    CHECK_VALUES(g, 0, 4, 6, 8, 12, 14, 16);
    z = kn_keep(total(kn_square(g)));
    CHECK(kn_grad(&z, NULL, 1, &x, 1, 0, &h) == KN_OK);
    CHECK_VALUES(h, 0, 16, 24, 32, 48, 56, 64);
    y = kn_keep(total(kn_embedding(x, kn_from((int64_t[]){1, 1}, KN_I64, KN_SHAPE(2)), NULL)));
    CHECK(kn_grad(&y, NULL, 1, &x, 1, 0, &g) == KN_OK);
    CHECK_VALUES(g, 0, 0, 0, 0, 2, 2, 2);
    /* The whole as a part of itself, and twice the same part. */
    y = kn_keep(
        kn_add(total(kn_narrow(x, 1, 0, 3)), kn_add(total(kn_select(x, 0, 1)), total(kn_select(x, 0, 1)))));
    CHECK(kn_grad(&y, NULL, 1, &x, 1, 0, &g) == KN_OK);
    CHECK_VALUES(g, 0, 1, 1, 1, 3, 3, 3);
    kn_scope_end(s, KN_NONE);
}

/* Parts of two results of one op, cut at the same places: each cotangent goes to its own result. The same sums without
   cutting, by weights of zero and one, have the same gradient. */
static void parts_of_two(void)
{
    kn_scope s = kn_scope_begin();
    kn_tensor x = kn_require_grad(kn_from((double[]){4, 1, 2, 3, -5, 6, 1, 2, 9}, KN_F64, KN_SHAPE(3, 3)));
    for (int gap = 0; gap < 2; gap++) { /* all columns, or without the middle one */
        kn_tensor sum[2], g[2];
        for (int cut = 0; cut < 2; cut++) {
            kn_qr_result qr = kn_qr(x, false);
            const kn_tensor part[2] = {kn_keep(qr.q), kn_keep(qr.r)};
            sum[cut] = kn_scalar(0, KN_F64);
            for (int column = 0; column < 3; column += 1 + gap)
                for (int k = 0; k < 2; k++) {
                    int i = column == 1 ? 1 - k : k; /* they come in changing orders */
                    double weight = 1 + column + 10 * i;
                    kn_tensor one =
                        kn_mul(part[i], kn_cast(kn_equal_scalar(kn_arange(0, 3, 1, KN_F64), column), KN_F64));
                    if (cut) one = kn_narrow(part[i], 1, column, 1);
                    sum[cut] =
                        kn_add(sum[cut], kn_mul_scalar(total(kn_square(kn_add_scalar(one, 0.5))), weight));
                }
            sum[cut] = kn_keep(sum[cut]);
            CHECK(kn_grad(&sum[cut], NULL, 1, &x, 1, 0, &g[cut]) == KN_OK);
            g[cut] = kn_keep(g[cut]);
        }
        CHECK(kn_item(kn_max_abs(g[0], KN_AXES_ALL, false)) > 0.1);
        CHECK(kn_item(kn_max_abs(kn_sub(g[0], g[1]), KN_AXES_ALL, false)) < 1e-12);
    }
    kn_scope_end(s, KN_NONE);
}

static void cutting(void)
{
    kn_scope s = kn_scope_begin();
    kn_tensor x = kn_require_grad(vector(2, 3)), g;
    kn_tensor y = kn_keep(total(kn_mul(x, kn_detach(kn_mul(x, x)))));
    CHECK(kn_grad(&y, NULL, 1, &x, 1, 0, &g) == KN_OK);
    CHECK_VALUES(g, 0, 4, 9);
    kn_no_grad_begin();
    kn_tensor z = kn_keep(total(kn_mul(x, x)));
    kn_no_grad_end();
    CHECK(!kn_is_require_grad(z));
    CHECK_ERROR(kn_grad(&z, NULL, 1, &x, 1, 0, &g), "no output depends on");
    kn_tensor other = kn_require_grad(vector(1, 1)), w = kn_keep(total(kn_mul(x, x)));
    CHECK_ERROR(kn_grad(&w, NULL, 1, &other, 1, KN_GRAD_RETAIN, &g), "no output depends on input 0");
    CHECK(kn_grad(&w, NULL, 1, &other, 1, KN_GRAD_ALLOW_UNUSED, &g) == KN_OK && g.bits == 0);
    CHECK_POISON(kn_require_grad(kn_from((int64_t[]){1}, KN_I64, KN_SHAPE(1))), "only float");
    kn_tensor plain = kn_to(vector(1, 2), kn_device_cpu());
    CHECK_POISON(kn_require_grad(plain), "open autodiff(cpu)");
    kn_scope_end(s, KN_NONE);
}

static void params(void)
{
    kn_scope s = kn_scope_begin();
    kn_param p = kn_param_make(vector(2, 3));
    kn_tensor loss = kn_keep(total(kn_mul(kn_value(p), kn_value(p))));
    kn_grads grads;
    CHECK(kn_backward(loss, &grads) == KN_OK);
    CHECK(kn_grads_count(grads) == 1);
    CHECK_VALUES(kn_grads_get(grads, kn_value(p)), 0, 4, 6);
    kn_tensor old = kn_keep(kn_alias(kn_value(p)));
    kn_tensor before = kn_keep(total(kn_mul(kn_value(p), kn_value(p)))), g, v = kn_value(p);
    CHECK(kn_param_set(&p, kn_sub(kn_value(p), kn_grads_get(grads, kn_value(p)))) == KN_OK);
    CHECK_VALUES(kn_value(p), 0, -2, -3);
    CHECK_VALUES(old, 0, 2, 3); /* a handle made before sees the old value */
    CHECK(kn_grad(&before, NULL, 1, &v, 1, 0, &g) == KN_OK);
    CHECK_VALUES(g, 0, 4, 6); /* and so does a tape */
    CHECK_ERROR(kn_param_set(&p, kn_from((double[]){1}, KN_F64, KN_SHAPE(1))), "does not fit");
    kn_drop(kn_value(p));
    CHECK(kn_ok(kn_value(p)));
    kn_param_freeze(&p, true);
    CHECK(!kn_is_require_grad(kn_value(p)));
    kn_param_freeze(&p, false);
    CHECK(kn_is_require_grad(kn_value(p)));
    kn_tensor taken = kn_grads_take(grads, kn_value(p));
    CHECK(taken.bits == 0); /* thawing starts a new tape */
    kn_grads_free(grads);
    kn_param_drop(&p);
    CHECK(!kn_ok(kn_value(p)));
    kn_scope_end(s, KN_NONE);
}

/* Gradients that a program made itself: one for each leaf; each is taken once. */
static void made_gradients(void)
{
    kn_param p[3];
    kn_tensor leaves[3], gradients[3];
    for (int i = 0; i < 3; i++) {
        p[i] = kn_param_make(vector(i, i));
        leaves[i] = kn_value(p[i]);
        gradients[i] = vector(10 + i, 20 + i);
    }
    kn_grads grads = kn_grads_make(leaves, gradients, 3);
    CHECK(kn_grads_count(grads) == 3);
    for (int i = 0; i < 3; i++) CHECK_VALUES(kn_grads_get(grads, leaves[i]), 0, 10 + i, 20 + i);
    kn_tensor taken = kn_own(kn_grads_take(grads, leaves[2]));
    CHECK(kn_grads_take(grads, leaves[2]).bits == 0 && kn_grads_get(grads, leaves[2]).bits == 0);
    CHECK(kn_ok(kn_grads_get(grads, leaves[1])));
    kn_grads_free(grads);
    CHECK_VALUES(taken, 0, 12, 22);
    kn_drop(taken);
    for (int i = 0; i < 3; i++) kn_param_drop(&p[i]);
}

typedef struct segment_context {
    kn_param weight;
    int calls;
} segment_context;

static kn_tensor segment(void *context, const kn_tensor *in, int32_t n)
{
    segment_context *c = context;
    (void)n;
    c->calls++;
    kn_scope s = kn_scope_begin();
    kn_tensor noise = kn_random_uniform(KN_SHAPE(2), 1, 2, KN_F64);
    return kn_scope_end(s, kn_mul(kn_exp(kn_mul(in[0], kn_value(c->weight))), noise));
}

static void recomputation(void)
{
    kn_scope s = kn_scope_begin();
    segment_context c = {kn_param_make(vector(0.5, -0.25)), 0};
    kn_tensor x = kn_require_grad(vector(1, 2)), w = kn_value(c.weight), a[2], b[2];
    kn_seed(device, 11);
    kn_tensor direct = kn_keep(total(segment(&c, &x, 1)));
    CHECK(kn_grad(&direct, NULL, 1, (kn_tensor[]){x, w}, 2, 0, a) == KN_OK);
    kn_seed(device, 11);
    kn_tensor again = kn_keep(total(kn_recompute(segment, &c, &x, 1)));
    CHECK(c.calls == 2);
    CHECK(kn_item(direct) == kn_item(again));
    CHECK(kn_grad(&again, NULL, 1, (kn_tensor[]){x, w}, 2, 0, b) == KN_OK);
    CHECK(c.calls == 3);
    double u[4], v[4];
    CHECK(kn_read(a[0], u, 16) == KN_OK && kn_read(a[1], u + 2, 16) == KN_OK);
    CHECK(kn_read(b[0], v, 16) == KN_OK && kn_read(b[1], v + 2, 16) == KN_OK);
    CHECK(!memcmp(u, v, sizeof u));
    kn_tensor second = kn_keep(total(kn_recompute(segment, &c, &x, 1)));
    CHECK_ERROR(kn_grad(&second, NULL, 1, &x, 1, KN_GRAD_CREATE_GRAPH, b), "kn_recompute");
    kn_param_drop(&c.weight);
    kn_scope_end(s, KN_NONE);
}

static void bad_arguments(void)
{
    kn_scope s = kn_scope_begin();
    kn_tensor x = kn_require_grad(vector(1, 2)), g, y = kn_keep(total(kn_square(x)));
    CHECK_ERROR(kn_backward(y, NULL), "NULL");
    CHECK_ERROR(kn_grad(NULL, NULL, 1, &x, 1, 0, &g), "NULL");
    CHECK_ERROR(kn_grad(&y, NULL, 1, NULL, 1, 0, &g), "NULL");
    CHECK_ERROR(kn_grad(&y, NULL, 1, &x, 1, 0, NULL), "NULL");
    CHECK_ERROR(kn_param_set(NULL, x), "NULL");
    CHECK_POISON(kn_recompute(segment, NULL, NULL, 1), "inputs");
    kn_tensor constant = kn_keep(kn_detach(kn_alias(y)));
    CHECK(kn_grad(&constant, NULL, 1, &x, 1, KN_GRAD_ALLOW_UNUSED, &g) == KN_OK && g.bits == 0);
    kn_device a = kn_device_open("autodiff(nan(cpu))");
    kn_device_close(a);
    CHECK(kn_device_open("autodiff(nan(cpu))") != a); /* a closed handle stays closed */
    kn_device_close(kn_device_open("cpu"));
    CHECK(kn_ok(kn_to(kn_alias(x), kn_device_cpu()))); /* the leaf belongs to all who opened it */
    kn_scope_end(s, KN_NONE);
}

static kn_tensor smooth(void *context, const kn_tensor *in, int32_t n)
{
    (void)context, (void)n;
    kn_scope s = kn_scope_begin();
    return kn_scope_end(s, kn_mul(kn_sin(in[0]), kn_exp(in[1])));
}

static void checking(void)
{
    kn_scope s = kn_scope_begin();
    kn_tensor in[2] = {kn_keep(vector(0.3, -1.2)), kn_keep(vector(0.1, 0.7))};
    CHECK(kn_gradcheck(smooth, NULL, in, 2, 0) == KN_OK);
    kn_scope_end(s, KN_NONE);
}

static bool same_memory(const kn_memory *a, const kn_memory *b)
{
    return a->bytes_now == b->bytes_now && a->slots == b->slots && a->tensors_now == b->tensors_now;
}

/* One step of gradient descent towards [3, 4]. The loss is only borrowed: the caller's scope or the drop frees it. */
static bool train_step(kn_param *p, bool drop)
{
    kn_grads grads;
    kn_tensor loss = total(kn_square(kn_sub(kn_value(*p), vector(3, 4))));
    if (kn_backward(loss, &grads)) return false;
    kn_tensor step = kn_mul_scalar(kn_grads_get(grads, kn_value(*p)), 0.01);
    kn_status s = kn_param_set(p, kn_sub(kn_detach(kn_alias(kn_value(*p))), step));
    kn_grads_free(grads);
    if (drop) kn_drop(loss);
    return s == KN_OK;
}

/* Ten thousand forward steps and ten thousand training steps leave memory and table as they were, with a scope around
   each step, and without any scope where what was only borrowed is dropped. */
static void flat_memory(void)
{
    kn_param p = kn_param_make(vector(0.5, 0.25));
    for (int scoped = 0; scoped < 2; scoped++) {
        kn_memory start = {0}, end;
        int good = 0;
        for (int i = 0; i < 10000; i++) {
            kn_scope s = {0};
            if (scoped) s = kn_scope_begin();
            kn_tensor y = kn_exp(kn_mul(kn_value(p), kn_value(p)));
            good += kn_ok(y);
            if (scoped)
                kn_scope_end(s, KN_NONE);
            else
                kn_drop(y);
            if (i == 100) start = kn_memory_stats();
        }
        end = kn_memory_stats();
        CHECK(good == 10000 && same_memory(&start, &end));
        good = 0;
        for (int i = 0; i < 10000; i++) {
            kn_scope s = {0};
            if (scoped) s = kn_scope_begin();
            good += train_step(&p, !scoped);
            if (scoped) kn_scope_end(s, KN_NONE);
            if (i == 100) start = kn_memory_stats();
        }
        end = kn_memory_stats();
        CHECK(good == 10000 && same_memory(&start, &end));
    }
    CHECK_VALUES(kn_value(p), 1e-9, 3, 4);
    kn_param_drop(&p);
}

/* A chain so long that freeing its nodes by recursion would overflow the stack. */
static void long_chain(void)
{
    kn_scope s = kn_scope_begin();
    kn_tensor x = kn_require_grad(vector(1, 2)), y = kn_alias(x), g;
    for (int i = 0; i < 200000; i++) y = kn_neg(y);
    y = kn_keep(total(y));
    CHECK(kn_grad(&y, NULL, 1, &x, 1, 0, &g) == KN_OK);
    CHECK_VALUES(g, 0, 1, 1);
    kn_scope_end(s, KN_NONE);
}

static void *square_it(void *context)
{
    kn_tensor *t = context;
    kn_device_use(device);
    kn_scope s = kn_scope_begin();
    t[1] = kn_own(total(kn_square(kn_square(t[0]))));
    kn_scope_end(s, KN_NONE);
    return NULL;
}

/* A new thread goes on with what this one has computed in many steps: the walk back takes the later steps first. */
static void across_threads(void)
{
    kn_scope s = kn_scope_begin();
    kn_tensor x = kn_require_grad(vector(1, 2)), g, y = kn_alias(x);
    for (int i = 0; i < 1000; i++) y = kn_neg(y);
    kn_tensor passed[2] = {kn_own(y)};
    pthread_t thread;
    if (CHECK(pthread_create(&thread, NULL, square_it, passed) == 0)) pthread_join(thread, NULL);
    CHECK(kn_grad(&passed[1], NULL, 1, &x, 1, 0, &g) == KN_OK);
    CHECK_VALUES(g, 0, 4, 32);
    kn_drop(passed[0]);
    kn_drop(passed[1]);
    kn_scope_end(s, KN_NONE);
}

/* A concatenation of so many tensors has a gradient for each of them, as one op of 64 at most and in parts. */
static void many_operands(int n)
{
    enum { MOST = 130 };
    kn_tensor x[MOST], g[MOST];
    kn_scope s = kn_scope_begin();
    for (int i = 0; i < n; i++) x[i] = kn_require_grad(vector(i, 1));
    kn_tensor joined = kn_concat(x, n, 0), factors = kn_arange(0, 2 * n, 1, KN_F64);
    kn_tensor sum = kn_keep(total(kn_mul(joined, factors)));
    CHECK(kn_grad(&sum, NULL, 1, x, n, 0, g) == KN_OK);
    for (int i = 0; i < n; i++) CHECK_VALUES(g[i], 0, 2 * i, 2 * i + 1);
    kn_scope_end(s, KN_NONE);
}

/* The product of all inputs and all params of the context. */
typedef struct many_params {
    kn_param *params;
    int n;
} many_params;

static kn_tensor product_of_all(void *context, const kn_tensor *inputs, int32_t n)
{
    const many_params *m = context;
    kn_tensor y = kn_ones(KN_SHAPE(2), KN_F64);
    for (int i = 0; i < n; i++) y = kn_mul(y, inputs[i]);
    for (int i = 0; i < m->n; i++) y = kn_mul(y, kn_value(m->params[i]));
    return y;
}

/* A segment takes 16 inputs and 48 params and gives each a gradient. One more of either is an error. */
static void large_segments(int inputs, int params, const char *fault)
{
    enum { MOST = 70 };
    kn_tensor x[MOST], g[MOST];
    kn_param p[MOST];
    many_params m = {p, params};
    kn_scope s = kn_scope_begin();
    for (int i = 0; i < inputs; i++) x[i] = kn_require_grad(vector(1, 2));
    for (int i = 0; i < params; i++) p[i] = kn_param_make(vector(1, 1));
    kn_tensor y = kn_keep(total(kn_recompute(product_of_all, &m, x, inputs)));
    if (fault)
        CHECK_POISON(y, fault);
    else {
        for (int i = 0; i < params; i++) x[inputs + i] = kn_value(p[i]);
        CHECK(kn_grad(&y, NULL, 1, x, inputs + params, 0, g) == KN_OK);
        double all = (double)(INT64_C(1) << inputs);
        for (int i = 0; i < inputs + params; i++) CHECK_VALUES(g[i], 0, 1, i < inputs ? all / 2 : all);
    }
    for (int i = 0; i < params; i++) kn_param_drop(&p[i]);
    kn_scope_end(s, KN_NONE);
}

int main(void)
{
    device = kn_device_autodiff(kn_device_cpu());
    kn_device_use(device);
    first_order();
    cotangents_and_intermediates();
    second_and_third_order();
    finite_at_the_ends();
    views_and_assignment();
    parts_of_one();
    cutting();
    parts_of_two();
    params();
    made_gradients();
    recomputation();
    bad_arguments();
    checking();
    flat_memory();
    long_chain();
    across_threads();
    for (int n = 63; n <= 66; n++) many_operands(n);
    many_operands(130);
    large_segments(16, 48, NULL);
    large_segments(17, 0, "at most 16 inputs");
    large_segments(16, 49, "at most 48 params");
    CHECK(kn_shutdown() == 0);
    CHECK(kn_memory_stats().bytes_now == 0);
    return check_report();
}
