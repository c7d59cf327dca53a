/* The sampler of tokens and the transducer loss: hand-derivable distributions, seeds, a direct lattice, gradients, misuse. */
#include "test_nn_sequence.h"

/* ---- sampler */

static kn_sampler sampler(kn_sampler_args args)
{
    kn_sampler s;
    CHECK(kn_sampler_init(&s, &args) == KN_OK);
    return s;
}

static kn_tensor logits_of(const double *p, int64_t n) { return kn_log(kn_from(p, KN_F64, KN_SHAPE(n))); }

/* How often each of 4 tokens comes in n draws. */
static void count(kn_sampler_args args, const double *p, int n, double *share)
{
    kn_sampler s = sampler(args);
    kn_tensor logits = kn_keep(logits_of(p, 4));
    for (int i = 0; i < 4; i++) share[i] = 0;
    for (int i = 0; i < n; i++) {
        kn_tensor token = kn_keep(kn_sampler_next(&s, logits, KN_NONE));
        share[kn_item_int(token)]++;
        kn_drop(token);
    }
    for (int i = 0; i < 4; i++) share[i] /= n;
}

static bool close_to(const double *share, double a, double b, double c, double d, double tolerance)
{
    const double want[] = {a, b, c, d};
    for (int i = 0; i < 4; i++)
        if (fabs(share[i] - want[i]) > tolerance || (want[i] == 0 && share[i] != 0)) {
            printf("shares %g %g %g %g\n", share[0], share[1], share[2], share[3]);
            return false;
        }
    return true;
}

static void distributions(void)
{
    const double p[] = {0.1, 0.4, 0.2, 0.3};
    double share[4];
    /* Four standard deviations of a share near 0.4 of 4000 draws are 0.031. */
    count((kn_sampler_args){.seed = 1}, p, 4000, share);
    CHECK(close_to(share, 0.1, 0.4, 0.2, 0.3, 0.031));
    count((kn_sampler_args){.temperature = 0.5, .seed = 2}, p, 4000, share);
    CHECK(close_to(share, 1. / 30, 16. / 30, 4. / 30, 9. / 30, 0.032));
    count((kn_sampler_args){.top_k = 2, .seed = 3}, p, 4000, share);
    CHECK(close_to(share, 0, 4. / 7, 0, 3. / 7, 0.032));
    count((kn_sampler_args){.top_p = 0.75, .seed = 4}, p, 4000, share);
    CHECK(close_to(share, 0, 4. / 9, 2. / 9, 3. / 9, 0.032));
    count((kn_sampler_args){.top_p = 0.39, .seed = 5}, p, 200, share);
    CHECK(close_to(share, 0, 1, 0, 0, 0));
    count((kn_sampler_args){.top_k = 3, .top_p = 0.5, .seed = 6}, p, 4000, share);
    CHECK(close_to(share, 0, 4. / 7, 0, 3. / 7, 0.032));
    count((kn_sampler_args){.top_k = 100, .seed = 7}, p, 4000, share);
    CHECK(close_to(share, 0.1, 0.4, 0.2, 0.3, 0.031));
    count((kn_sampler_args){.temperature = (double)KN_ZERO}, p, 20, share);
    CHECK(close_to(share, 0, 1, 0, 0, 0));
    count((kn_sampler_args){.temperature = 1e-3}, p, 20, share);
    CHECK(close_to(share, 0, 1, 0, 0, 0));
}

/* One seed gives one sequence, on every device; another seed another. */
static void seeds(void)
{
    kn_device plain = kn_device_open("ref"), before = kn_device_current();
    kn_sampler a = sampler((kn_sampler_args){.seed = 5}), b = a, c = sampler((kn_sampler_args){.seed = 6});
    int same = 0, other = 0;
    for (int i = 0; i < 50; i++) {
        kn_tensor logits = kn_keep(numbers_of(i, KN_SHAPE(30), 2));
        int64_t one = kn_item_int(kn_sampler_next(&a, logits, KN_NONE));
        kn_device_use(plain);
        same += one == kn_item_int(kn_sampler_next(&b, numbers_of(i, KN_SHAPE(30), 2), KN_NONE));
        kn_device_use(before);
        other += one == kn_item_int(kn_sampler_next(&c, logits, KN_NONE));
    }
    CHECK(same == 50 && other < 20);
    kn_device_close(plain);
}

static void batches_and_penalty(void)
{
    kn_sampler greedy = sampler((kn_sampler_args){.temperature = (double)KN_ZERO, .repetition_penalty = 2});
    const double v[] = {1, 3, 2, -1, -2, -3};
    kn_tensor logits = kn_keep(kn_from(v, KN_F64, KN_SHAPE(2, 3)));
    CHECK_VALUES(kn_cast(kn_sampler_next(&greedy, logits, KN_NONE), KN_F64), 0, 1, 0);
    /* 3 / 2 < 2; -1 * 2.0 = -2 is no better than -2: the first of equals. With 0 and 1 seen -2, -4, -3 remain. */
    const int64_t seen[] = {1, 1, 0, 1};
    kn_tensor history = kn_from(seen, KN_I64, KN_SHAPE(2, 2));
    CHECK_VALUES(kn_cast(kn_sampler_next(&greedy, logits, history), KN_F64), 0, 2, 0);
    kn_tensor row = kn_sampler_next(&greedy, kn_select(logits, 0, 0), kn_from(seen, KN_I64, KN_SHAPE(1)));
    CHECK(kn_rank(row) == 0 && kn_item_int(row) == 2);
    /* The sign decides, not the size: 0.9 / 2 < 0.5, and -0.1 * 2 < -0.15. */
    const double near[] = {0.9, 0.5, 0.1, -0.1, -0.15, -4};
    kn_tensor small = kn_keep(kn_from(near, KN_F64, KN_SHAPE(2, 3)));
    kn_tensor first = kn_from((const int64_t[]){0, 0}, KN_I64, KN_SHAPE(2, 1));
    CHECK_VALUES(kn_cast(kn_sampler_next(&greedy, small, first), KN_F64), 0, 1, 1);
    kn_sampler s = sampler((kn_sampler_args){.top_k = 1, .repetition_penalty = 2});
    CHECK_VALUES(kn_cast(kn_sampler_next(&s, kn_cast(logits, KN_F16), KN_NONE), KN_F64), 0, 1, 0);
    CHECK(kn_ok(kn_sampler_next(&s, logits, kn_zeros(KN_SHAPE(2, 0), KN_I64))));
}

static void sampler_misuse(void)
{
    kn_sampler s;
    CHECK_ERROR(kn_sampler_init(&s, &(kn_sampler_args){.temperature = -1}), "temperature is -1");
    CHECK_ERROR(kn_sampler_init(&s, &(kn_sampler_args){.top_k = -1}), "top_k is -1");
    CHECK_ERROR(kn_sampler_init(&s, &(kn_sampler_args){.top_p = 1.5}), "top_p is 1.5");
    CHECK_ERROR(kn_sampler_init(&s, &(kn_sampler_args){.repetition_penalty = -2}),
                "repetition_penalty is -2");
    CHECK_ERROR(kn_sampler_init(NULL, NULL), "NULL");
    s = sampler((kn_sampler_args){.repetition_penalty = 2});
    CHECK_POISON(kn_sampler_next(&s, kn_zeros(KN_SHAPE(2, 2, 2), KN_F32), KN_NONE), "[vocabulary] or [batch");
    CHECK_POISON(kn_sampler_next(&s, kn_zeros(KN_SHAPE(2, 3), KN_F32), kn_zeros(KN_SHAPE(3, 1), KN_I64)),
                 "history must be");
    CHECK_POISON(
        kn_sampler_next(&s, kn_zeros(KN_SHAPE(2, 3), KN_F32), kn_full_int(KN_SHAPE(2, 1), 3, KN_I64)),
        "out of range");
    CHECK_POISON(kn_sampler_next(&s, kn_full(KN_SHAPE(3), NAN, KN_F32), KN_NONE), "hold NaN");
    kn_sampler greedy = sampler((kn_sampler_args){.greedy = true}), forgotten = {0};
    CHECK_POISON(kn_sampler_next(&greedy, kn_full(KN_SHAPE(3), NAN, KN_F32), KN_NONE), "hold NaN");
    float one_bad[] = {1, 2, 3, 1, NAN, 3};
    kn_tensor logits = kn_from(one_bad, KN_F32, KN_SHAPE(2, 3));
    CHECK_POISON(kn_sampler_next(&greedy, logits, KN_NONE), "row 1 hold NaN");
    CHECK_POISON(kn_sampler_next(&greedy, kn_full(KN_SHAPE(3), -INFINITY, KN_F32), KN_NONE),
                 "row 0 hold NaN");
    CHECK_POISON(kn_sampler_next(&forgotten, kn_ones(KN_SHAPE(3), KN_F32), KN_NONE),
                 "kn_sampler_next: this sampler was never initialised: call kn_sampler_init() first");
    memset(&forgotten, 0xAA, sizeof forgotten);
    CHECK_POISON(kn_sampler_next(&forgotten, kn_ones(KN_SHAPE(3), KN_F32), KN_NONE), "never initialised");
    CHECK_POISON(kn_sampler_next(&s, kn_poison(KN_ERROR_IO, "lost"), KN_NONE), "lost");
}

/* ---- transducer loss */

static const int64_t targets[] = {1, 2, 4, 3, 1, -7, 99, 0, 0}, steps[] = {4, 3, 1}, labels[] = {3, 2, 0};

static kn_tensor losses(kn_tensor logits, kn_dtype index, kn_rnnt_args args)
{
    return kn_rnnt_loss(logits, kn_cast(kn_from(targets, KN_I64, KN_SHAPE(3, 3)), index),
                        kn_cast(kn_from(steps, KN_I64, KN_SHAPE(3)), index),
                        kn_cast(kn_from(labels, KN_I64, KN_SHAPE(3)), index), &args);
}

/* The lattice by definition, in tests/train/nn_sequence_values.py. Padding of targets is not looked at. */
static void follows_the_lattice(void)
{
    kn_tensor logits = kn_require_grad(numbers_of(1, KN_SHAPE(3, 4, 4, 5), 4)), d;
    for (int way = 0; way < 2; way++) {
        kn_rnnt_args args = {.reduction = KN_REDUCTION_NONE, .log_probs = way == 1};
        kn_tensor y = kn_keep(losses(way ? kn_log_softmax(logits, 3) : logits, way ? KN_I32 : KN_I64, args));
        expect("rnnt", "losses", y);
        kn_tensor loss = kn_keep(weighted(y, 99));
        CHECK(kn_grad(&loss, NULL, 1, &logits, 1, 0, &d) == KN_OK);
        expect("rnnt", "dlogits", kn_keep(d));
    }
    kn_tensor each = kn_keep(losses(logits, KN_I64, (kn_rnnt_args){.reduction = KN_REDUCTION_NONE}));
    double mean = kn_item(losses(logits, KN_I64, (kn_rnnt_args){.blank = 0}));
    double sum = kn_item(losses(logits, KN_I64, (kn_rnnt_args){.reduction = KN_REDUCTION_SUM}));
    CHECK(fabs(mean - kn_item(kn_mean(each, KN_AXES_ALL, false))) < 1e-14);
    CHECK(fabs(sum - 3 * mean) < 1e-13);
    kn_tensor half = losses(kn_cast(logits, KN_BF16), KN_I64, (kn_rnnt_args){.blank = 0});
    CHECK(kn_dtype_of(half) == KN_F32 && fabs(kn_item(half) - mean) < 0.05);
}

/* Uniform probabilities: the number of ways times classes^-(steps + labels). Last blank fixed: (t + u - 1 choose u) ways. */
static void counts_ways(void)
{
    const int64_t t = 5, u = 3, v = 4;
    kn_tensor y =
        kn_rnnt_loss(kn_zeros(KN_SHAPE(1, t, u + 1, v), KN_F64), kn_ones(KN_SHAPE(1, u), KN_I64),
                     kn_full_int(KN_SHAPE(1), t, KN_I64), kn_full_int(KN_SHAPE(1), u, KN_I64), NULL);
    CHECK(fabs(kn_item(y) - (8 * log(4) - log(35))) < 1e-12); /* 7 choose 3 */
    kn_tensor blank3 = kn_rnnt_loss(kn_zeros(KN_SHAPE(1, t, 1, v), KN_F64), kn_ones(KN_SHAPE(1, 0), KN_I64),
                                    kn_full_int(KN_SHAPE(1), t, KN_I64), kn_full_int(KN_SHAPE(1), 0, KN_I64),
                                    &(kn_rnnt_args){.blank = 3});
    CHECK(fabs(kn_item(blank3) - 5 * log(4)) < 1e-12);
}

static kn_tensor checked(void *context, const kn_tensor *in, int32_t n)
{
    (void)context;
    (void)n;
    return losses(in[0], KN_I64, (kn_rnnt_args){.reduction = KN_REDUCTION_SUM});
}

static void transducer_gradient(void)
{
    kn_tensor in = kn_keep(numbers_of(1, KN_SHAPE(3, 4, 4, 5), 2));
    CHECK(kn_gradcheck(checked, NULL, &in, 1, 0) == KN_OK);
    /* Second derivatives are refused, not wrong. */
    kn_tensor x = kn_require_grad(kn_alias(in)), first, second;
    kn_tensor loss = kn_keep(checked(NULL, &x, 1));
    CHECK(kn_grad(&loss, NULL, 1, &x, 1, KN_GRAD_CREATE_GRAPH, &first) == KN_OK);
    kn_tensor square = kn_keep(kn_sum(kn_square(first), KN_AXES_ALL, false));
    CHECK(kn_grad(&square, NULL, 1, &x, 1, 0, &second) != KN_OK);
}

/* A long lattice stays finite in f32. */
static void long_lattice(void)
{
    kn_tensor x =
        kn_require_grad(kn_mul_scalar(kn_random_normal(KN_SHAPE(1, 300, 101, 8), 0, 1, KN_F32), 10));
    kn_tensor y = kn_keep(kn_rnnt_loss(x, kn_random_int(KN_SHAPE(1, 100), 1, 8, KN_I64),
                                       kn_full_int(KN_SHAPE(1), 300, KN_I64),
                                       kn_full_int(KN_SHAPE(1), 100, KN_I64), NULL)),
              d;
    CHECK(isfinite(kn_item(y)) && kn_item(y) > 0);
    CHECK(kn_grad(&y, NULL, 1, &x, 1, 0, &d) == KN_OK);
    CHECK(isfinite(kn_item(kn_max_abs(d, KN_AXES_ALL, false))));
}

static void transducer_misuse(void)
{
    kn_tensor x = kn_keep(kn_zeros(KN_SHAPE(1, 2, 3, 4), KN_F32)),
              t = kn_keep(kn_ones(KN_SHAPE(1, 2), KN_I64));
    kn_tensor two = kn_keep(kn_full_int(KN_SHAPE(1), 2, KN_I64)),
              three = kn_keep(kn_full_int(KN_SHAPE(1), 3, KN_I64));
    CHECK_POISON(kn_rnnt_loss(t, t, two, two, NULL), "logits must be");
    CHECK_POISON(kn_rnnt_loss(x, kn_ones(KN_SHAPE(1, 3), KN_I64), two, two, NULL), "one label less");
    CHECK_POISON(kn_rnnt_loss(x, t, x, two, NULL), "lengths must be");
    CHECK_POISON(kn_rnnt_loss(x, t, two, two, &(kn_rnnt_args){.blank = 4}), "blank");
    CHECK_POISON(kn_rnnt_loss(x, t, three, two, NULL),
                 "the logit length of sequence 0 is 3; it must be 1 to 2");
    CHECK_POISON(kn_rnnt_loss(x, t, two, three, NULL), "the target length of sequence 0 is 3");
    CHECK_POISON(kn_rnnt_loss(x, kn_full_int(KN_SHAPE(1, 2), 4, KN_I64), two, two, NULL), "out of range");
}

int main(void)
{
    void (*const tests[])(void) = {distributions,       seeds,       batches_and_penalty, sampler_misuse,
                                   follows_the_lattice, counts_ways, transducer_gradient, long_lattice,
                                   transducer_misuse};
    return run_tests(tests, sizeof tests / sizeof *tests);
}
