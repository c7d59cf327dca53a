/* Optimisers: the trajectories of PyTorch, in-place updates, groups, two optimisers on one model, accumulation, averages of
   weights, and what misuse is told. */
#include "test_optim_net.h"
#include <kn/dlpack.h>
#include <kn/update.h>
#include <math.h>

#include "../train/optim_trajectories.inc"

enum { N_TRAJECTORIES = sizeof trajectories / sizeof *trajectories };
static const int marks[10] = {1, 2, 3, 5, 10, 20, 40, 80, 120, 200};

static bool near(double got, double want, double tolerance, const char *name, int at)
{
    if (fabs(got - want) <= tolerance * fmax(fabs(want), 0.1)) return true;
    printf("%s: value %d is %.17g, PyTorch has %.17g\n", name, at, got, want);
    return false;
}

static void follows_torch(void)
{
    for (int i = 0; i < N_TRAJECTORIES; i++) {
        const trajectory *t = &trajectories[i];
        bool lbfgs = strncmp(t->name, "lbfgs", 5) == 0, good = true;
        /* L-BFGS divides by differences of gradients, which magnifies roundings. */
        double tolerance = lbfgs ? 1e-9 : 1e-11;
        Net net = net_make(KN_F64);
        kn_optim optim = optim_named(t->name);
        if (!CHECK(optim != NULL)) continue;
        for (int step = 0, mark = 0; step < (lbfgs ? 5 : 200); step++) {
            double loss = any_step(t->name, optim, t->lr, &net, step);
            if (!lbfgs && step + 1 != marks[mark]) continue;
            good = good && near(loss, t->losses[mark], tolerance, t->name, -step);
            mark++;
        }
        double values[NET_PARAMS];
        net_read(&net, values);
        for (int k = 0; k < NET_PARAMS && good; k++)
            good = near(values[k], t->params[k], tolerance, t->name, k);
        CHECK(good);
        kn_optim_free(optim);
        net_drop(&net);
    }
}

typedef struct Point {
    kn_param x;
} Point;
static const kn_module_type Point_type = {"Point", sizeof(Point),
                                          (const kn_field[]){KN_PARAM(Point, x), {0}}};

static kn_status fourth_power(void *context, double *loss, kn_grads *grads)
{
    const Point *p = context;
    kn_scope scope = kn_scope_begin();
    kn_tensor y = kn_keep(kn_sum(kn_square(kn_square(kn_value(p->x))), KN_AXES_ALL, false));
    *loss = kn_item(y);
    CHECK(kn_backward(y, grads) == KN_OK);
    kn_scope_end(scope, KN_NONE);
    return KN_OK;
}

/* A first step that is far too long is closed in on from its far side, time and again. */
static void searches_near(void)
{
    Point p = {kn_param_make(kn_ones(KN_SHAPE(1), KN_F64))};
    kn_optim optim = kn_optim_lbfgs(&(kn_lbfgs_args){.strong_wolfe = true});
    double loss = 0;
    CHECK(kn_optim_step_closure(optim, 100, KN_MODULE_OF(Point, &p), fourth_power, &p, &loss) == KN_OK);
    CHECK(loss == 1 && fabs(kn_item(kn_value(p.x))) < 0.9);
    kn_optim_free(optim);
    kn_param_drop(&p.x);
}

/* f32 and the halves follow f64 within their precision: the states have the param's dtype. */
static void other_dtypes(void)
{
    static const struct {
        kn_dtype dtype;
        double tolerance;
    } all[] = {{KN_F32, 1e-4}, {KN_F16, 0.1}, {KN_BF16, 0.4}};
    static const char *const names[] = {"sgd_momentum", "adamw_amsgrad", "rmsprop_centered", "adagrad",
                                        "adan"};
    for (int d = 0; d < 3; d++)
        for (int k = 0; k < 5; k++) {
            Net wide = net_make(KN_F64), net = net_make(all[d].dtype);
            kn_optim a = optim_named(names[k]), b = optim_named(names[k]);
            double x[NET_PARAMS], y[NET_PARAMS], worst = 0;
            for (int step = 0; step < 10; step++) {
                net_step(a, 0.01, &wide, step);
                net_step(b, 0.01, &net, step);
            }
            net_read(&wide, x);
            net_read(&net, y);
            for (int i = 0; i < NET_PARAMS; i++) worst = fmax(worst, fabs(x[i] - y[i]));
            if (!(worst <= all[d].tolerance))
                printf("%s %s: %g\n", names[k], kn_dtype_name(all[d].dtype), worst);
            CHECK(worst <= all[d].tolerance);
            kn_optim_free(a);
            kn_optim_free(b);
            net_drop(&wide);
            net_drop(&net);
        }
}

static const void *address(kn_tensor t)
{
    struct DLManagedTensor *m = kn_to_dlpack(t);
    const void *p = m ? m->dl_tensor.data : NULL;
    if (m) m->deleter(m);
    return p;
}

/* The param and its states keep their memory; an alias made before keeps the old value. */
static void in_place(void)
{
    Net net = net_make(KN_F32);
    kn_tensor m = kn_own(kn_zeros_like(kn_value(net.in.weight))), v = kn_own(kn_zeros_like(m));
    kn_tensor g = kn_keep(kn_ones_like(m));
    const void *at[] = {address(kn_value(net.in.weight)), address(m), address(v)};
    kn_adam_update_args args = {.lr = 0.5, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .step = 1};
    CHECK(kn_adam_update(&net.in.weight, g, &m, &v, NULL, &args) == KN_OK);
    CHECK(address(kn_value(net.in.weight)) == at[0] && address(m) == at[1] && address(v) == at[2]);
    CHECK(fabs(kn_item(kn_max(kn_abs(kn_sub_scalar(m, 0.1)), KN_AXES_ALL, false))) < 1e-7);
    kn_tensor old = kn_keep(kn_alias(kn_value(net.in.weight)));
    double before = kn_item(kn_sum(old, KN_AXES_ALL, false));
    CHECK(kn_adam_update(&net.in.weight, g, &m, &v, NULL, &args) == KN_OK);
    CHECK(address(kn_value(net.in.weight)) != at[0]);
    CHECK(kn_item(kn_sum(old, KN_AXES_ALL, false)) == before);
    CHECK(kn_item(kn_sum(kn_value(net.in.weight), KN_AXES_ALL, false)) < before);
    CHECK(kn_is_require_grad(kn_value(net.in.weight)));
    kn_drop(m);
    kn_drop(v);
    net_drop(&net);
}

/* A graph recorded before the step differentiates at the old values. */
static void tapes_see_old_values(void)
{
    kn_param p = kn_param_make(kn_full(KN_SHAPE(3), 3, KN_F64));
    kn_tensor loss = kn_keep(kn_sum(kn_square(kn_value(p)), KN_AXES_ALL, false));
    CHECK(kn_sgd_update(&p, kn_ones(KN_SHAPE(3), KN_F64), NULL, &(kn_sgd_update_args){.lr = 1}) == KN_OK);
    kn_grads grads = NULL;
    CHECK(kn_backward(loss, &grads) == KN_OK);
    CHECK_VALUES(kn_grads_get(grads, kn_value(p)), 0, 6, 6, 6);
    CHECK_VALUES(kn_value(p), 0, 2, 2, 2);
    kn_grads_free(grads);
    kn_param_drop(&p);
}

/* Two optimisers that train one half each equal one that trains both. */
static void two_optimisers(void)
{
    Net a = net_make(KN_F64), b = net_make(KN_F64);
    kn_optim whole = kn_optim_adam(NULL), first = kn_optim_adam(NULL), second = kn_optim_adam(NULL);
    for (int step = 0; step < 20; step++) {
        net_step(whole, 0.01, &a, step);
        kn_grads grads = NULL;
        net_loss(&b, step, &grads);
        CHECK(kn_optim_step(first, 0.01, KN_MODULE_OF(Layer, &b.in), grads) == KN_OK);
        CHECK(kn_optim_step(second, 0.01, KN_MODULE_OF(Layer, &b.out), grads) == KN_OK);
        kn_grads_free(grads);
    }
    CHECK(same_bits(&a, &b));
    kn_optim_free(whole);
    kn_optim_free(first);
    kn_optim_free(second);
    net_drop(&a);
    net_drop(&b);
}

/* A param in two places is updated once. */
static void tied_params(void)
{
    kn_param p = kn_param_make(kn_full(KN_SHAPE(2), 3, KN_F64));
    Layer layer = {p, p};
    kn_tensor loss =
        kn_keep(kn_sum(kn_mul(kn_value(layer.weight), kn_value(layer.bias)), KN_AXES_ALL, false));
    kn_grads grads = NULL;
    kn_optim optim = kn_optim_sgd(NULL);
    CHECK(kn_backward(loss, &grads) == KN_OK);
    CHECK(kn_optim_step(optim, 0.5, KN_MODULE_OF(Layer, &layer), grads) == KN_OK);
    CHECK_VALUES(kn_value(layer.weight), 0, 0, 0);
    CHECK(fabs(kn_item(kn_grads_norm(grads, KN_MODULE_OF(Layer, &layer))) - sqrt(72)) < 1e-14);
    kn_grads_free(grads);
    kn_optim_free(optim);
    kn_param_drop(&p);
}

static void rates_and_freezing(void)
{
    Net net = net_make(KN_F64), as_before = net_make(KN_F64);
    kn_optim optim = kn_optim_sgd(NULL);
    kn_optim_group zero = {.pattern = "^in\\.weight", .lr_scale = (double)KN_ZERO},
                   other = {.pattern = "^out", .schedule = 1};
    CHECK(kn_optim_add_group(optim, &zero) == KN_OK && kn_optim_add_group(optim, &other) == KN_OK);
    kn_param_freeze(&net.in.bias, true);
    kn_grads grads = NULL;
    net_loss(&net, 0, &grads);
    CHECK_ERROR(kn_optim_step(optim, 0.1, NET(&net), grads), "out.weight asks for rate 1; 1 given");
    CHECK(kn_optim_step_rates(optim, (double[]){0.1, 0}, 2, NET(&net), grads) == KN_OK);
    CHECK(same_bits(&net, &as_before));
    CHECK(kn_optim_step_rates(optim, (double[]){0.1, 0.5}, 2, NET(&net), grads) == KN_OK);
    CHECK(!same_bits(&net, &as_before));
    double x[NET_PARAMS], y[NET_PARAMS];
    net_read(&net, x);
    net_read(&as_before, y);
    CHECK(memcmp(x, y, 25 * sizeof *x) == 0); /* in.weight has rate 0 and in.bias is frozen */
    CHECK_ERROR(kn_optim_add_group(optim, &zero), "before the first step");
    kn_optim slip = kn_optim_sgd(NULL);
    CHECK(kn_optim_add_group(slip, &(kn_optim_group){.pattern = "^inn\\."}) == KN_OK);
    CHECK_ERROR(kn_optim_step(slip, 0.1, NET(&net), grads), "pattern '^inn\\.' matches no param");
    kn_optim_free(slip);
    kn_grads_free(grads);
    kn_optim_free(optim);
    net_drop(&net);
    net_drop(&as_before);
}

static void accumulates(void)
{
    Net net = net_make(KN_F64);
    kn_accumulator sum = kn_accumulator_make();
    kn_grads grads = NULL, both = NULL;
    double want[5] = {0}, part[5];
    for (int step = 0; step < 3; step++) {
        net_loss(&net, step, &grads);
        CHECK(kn_accumulator_add(sum, NET(&net), grads, 1.0 / 4) == KN_OK);
        CHECK(kn_read(kn_grads_get(grads, kn_value(net.in.bias)), part, sizeof part) == KN_OK);
        for (int i = 0; i < 5; i++) want[i] += part[i] / 4;
        kn_grads_free(grads);
    }
    CHECK(kn_accumulator_count(sum) == 3);
    CHECK(kn_accumulator_take(sum, &both) == KN_OK && kn_accumulator_count(sum) == 0);
    CHECK(kn_grads_count(both) == 4);
    CHECK(check_values(kn_grads_get(both, kn_value(net.in.bias)), want, 5, 1e-15, __FILE__, __LINE__));
    kn_optim optim = kn_optim_sgd(NULL);
    CHECK(kn_optim_step(optim, 0.1, NET(&net), both) == KN_OK);
    kn_grads_free(both);
    CHECK(kn_accumulator_take(sum, &both) == KN_OK && kn_grads_count(both) == 0);
    kn_grads_free(both);
    kn_accumulator_free(sum);
    kn_optim_free(optim);
    net_drop(&net);
}

/* An addition that fails leaves no half sums: what is added after it is all there is. */
static void accumulation_fails_whole(void)
{
    int failed = 0;
    for (int fail = 1; fail < 60; fail++) {
        Net net = net_make(KN_F64);
        kn_grads grads = NULL, sum = NULL;
        kn_accumulator a = kn_accumulator_make();
        net_loss(&net, 0, &grads);
        kn_memory_fail_after(fail);
        kn_status s = kn_accumulator_add(a, NET(&net), grads, 1);
        kn_memory_fail_after(0);
        CHECK(kn_accumulator_count(a) == (s == KN_OK));
        failed += s != KN_OK;
        if (s != KN_OK) {
            CHECK(kn_accumulator_take(a, &sum) == KN_OK && kn_grads_count(sum) == 0);
            kn_grads_free(sum);
        }
        kn_grads_free(grads);
        kn_accumulator_free(a);
        net_drop(&net);
    }
    CHECK(failed > 4);
}

/* The mean of the gradients of two halves is the gradient of the whole batch. */
static void accumulation_is_a_big_batch(void)
{
    Layer layer = {kn_param_make(numbers(7, KN_SHAPE(3, 4), KN_F64)),
                   kn_param_make(numbers(8, KN_SHAPE(3), KN_F64))};
    kn_module module = KN_MODULE_OF(Layer, &layer);
    kn_tensor x = kn_keep(numbers(9, KN_SHAPE(8, 4), KN_F64));
    kn_accumulator sum = kn_accumulator_make();
    kn_grads grads = NULL, whole = NULL;
    for (int part = 0; part < 3; part++) {
        kn_tensor rows = part == 2 ? x : kn_narrow(x, 0, 4 * part, 4);
        kn_tensor y = kn_linear(rows, kn_value(layer.weight), kn_value(layer.bias));
        kn_tensor loss = kn_keep(kn_mean(kn_square(kn_tanh(y)), KN_AXES_ALL, false));
        CHECK(kn_backward(loss, part == 2 ? &whole : &grads) == KN_OK);
        if (part < 2) CHECK(kn_accumulator_add(sum, module, grads, 0.5) == KN_OK);
        if (part < 2) kn_grads_free(grads);
    }
    CHECK(kn_accumulator_take(sum, &grads) == KN_OK);
    bool close = false;
    CHECK(kn_all_close(kn_grads_get(grads, kn_value(layer.weight)),
                       kn_grads_get(whole, kn_value(layer.weight)), 1e-14, 1e-16, false, &close) == KN_OK);
    CHECK(close);
    kn_grads_free(grads);
    kn_grads_free(whole);
    kn_accumulator_free(sum);
    kn_param_drop(&layer.weight);
    kn_param_drop(&layer.bias);
}

static void averages(void)
{
    Net net = net_make(KN_F64), weights = net_make(KN_F64);
    kn_optim optim = kn_optim_sgd(NULL);
    kn_ema ema = kn_ema_make(NET(&net), 0.9, false), warm = kn_ema_make(NET(&net), 0.9, true);
    double average[NET_PARAMS], rising[NET_PARAMS], now[NET_PARAMS], got[NET_PARAMS];
    net_read(&net, average);
    net_read(&net, rising);
    for (int step = 0; step < 12; step++) {
        net_step(optim, 0.2, &net, step);
        CHECK(kn_ema_update(ema, NET(&net)) == KN_OK && kn_ema_update(warm, NET(&net)) == KN_OK);
        net_read(&net, now);
        double decay = fmin(0.9, (1.0 + step) / (10.0 + step));
        for (int i = 0; i < NET_PARAMS; i++) average[i] = 0.9 * average[i] + (1 - 0.9) * now[i];
        for (int i = 0; i < NET_PARAMS; i++) rising[i] = decay * rising[i] + (1 - decay) * now[i];
    }
    bool good = true;
    CHECK(kn_ema_swap(ema, NET(&net)) == KN_OK);
    net_read(&net, got);
    for (int i = 0; i < NET_PARAMS; i++) good = good && fabs(got[i] - average[i]) <= 1e-14;
    CHECK(good);
    CHECK(kn_ema_swap(ema, NET(&net)) == KN_OK);
    net_read(&net, got);
    CHECK(memcmp(got, now, sizeof got) == 0);
    CHECK(kn_ema_swap(warm, NET(&net)) == KN_OK);
    net_read(&net, got);
    for (int i = 0; i < NET_PARAMS; i++) good = good && fabs(got[i] - rising[i]) <= 1e-14;
    CHECK(good);
    CHECK_ERROR(kn_ema_swap(ema, NET(&weights)), "in.weight is not a param");
    CHECK(kn_ema_make(NET(&net), 1.5, false) == NULL);
    kn_ema latest = kn_ema_make(NET(&net), 0, false); /* an average of the last value alone */
    CHECK(kn_ema_update(latest, NET(&net)) == KN_OK && kn_ema_swap(latest, NET(&net)) == KN_OK);
    net_read(&net, now);
    CHECK(memcmp(got, now, sizeof got) == 0);
    kn_ema_free(latest);
    kn_ema_free(ema);
    kn_ema_free(warm);
    kn_optim_free(optim);
    net_drop(&net);
    net_drop(&weights);
}

static void clips_now(void)
{
    Net net = net_make(KN_F64);
    kn_grads grads = NULL;
    double norm = 0;
    net_loss(&net, 0, &grads);
    double whole = kn_item(kn_grads_norm(grads, NET(&net)));
    CHECK(kn_grads_clip(grads, NET(&net), KN_CLIP_GLOBAL_NORM, whole / 2, &norm) == KN_OK && norm == whole);
    CHECK(fabs(kn_item(kn_grads_norm(grads, NET(&net))) / whole - 0.5) < 1e-5);
    CHECK(kn_grads_clip(grads, NET(&net), KN_CLIP_GLOBAL_NORM, whole, NULL) == KN_OK);
    CHECK(fabs(kn_item(kn_grads_norm(grads, NET(&net))) / whole - 0.5) < 1e-5);
    CHECK(kn_grads_clip(grads, NET(&net), KN_CLIP_VALUE, 0.001, NULL) == KN_OK);
    CHECK(kn_item(kn_max_abs(kn_grads_get(grads, kn_value(net.in.weight)), KN_AXES_ALL, false)) == 0.001);
    CHECK(kn_grads_clip(grads, NET(&net), KN_CLIP_NORM, 0.0005, NULL) == KN_OK);
    kn_tensor bias = kn_grads_get(grads, kn_value(net.out.bias));
    CHECK(fabs(kn_item(kn_vector_norm(bias, 2, KN_AXES_ALL, false)) - 0.0005) < 1e-6);
    CHECK_ERROR(kn_grads_clip(grads, NET(&net), KN_CLIP_NORM, 0, NULL), "must be above 0");
    kn_grads_free(grads);
    net_drop(&net);
}

/* An update without a state that the rule can have leaves nothing of that state behind. */
static void absent_states(void)
{
    kn_param p = kn_param_make(kn_ones(KN_SHAPE(3), KN_F32));
    kn_tensor m = kn_own(kn_zeros(KN_SHAPE(3), KN_F32)), v = kn_own(kn_zeros(KN_SHAPE(3), KN_F32));
    kn_adam_update_args args = {.lr = 0.5, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8};
    int64_t before = kn_memory_stats().tensors_now;
    for (args.step = 1; args.step <= 5; args.step++)
        CHECK(kn_adam_update(&p, kn_ones(KN_SHAPE(3), KN_F32), &m, &v, NULL, &args) == KN_OK);
    CHECK(kn_memory_stats().tensors_now == before);
    kn_sgd_update_args plain = {.lr = 0.5};
    for (int i = 0; i < 5; i++) CHECK(kn_sgd_update(&p, kn_ones(KN_SHAPE(3), KN_F32), NULL, &plain) == KN_OK);
    CHECK(kn_memory_stats().tensors_now == before);
    kn_drop(m);
    kn_drop(v);
    kn_param_drop(&p);
}

/* Nothing changes when any gradient is bad; the message names the param. */
static void misuse(void)
{
    Net net = net_make(KN_F64), as_before = net_make(KN_F64);
    kn_optim optim = kn_optim_adam(NULL), sgd = kn_optim_sgd(NULL), muon = kn_optim_muon(NULL),
             lbfgs = kn_optim_lbfgs(NULL);
    kn_grads grads = NULL;
    net_loss(&net, 0, &grads);
    CHECK(kn_grads_replace(grads, kn_value(net.out.bias), kn_zeros(KN_SHAPE(4), KN_F64)) == KN_OK);
    CHECK_ERROR(kn_optim_step(optim, 0.1, NET(&net), grads),
                "kn_optim_step: the gradient of out.bias is f64 [4], the param f64 [3]");
    CHECK(kn_grads_replace(grads, kn_value(net.out.bias), kn_zeros(KN_SHAPE(3), KN_F32)) == KN_OK);
    CHECK_ERROR(kn_optim_step(optim, 0.1, NET(&net), grads), "the gradient of out.bias is f32 [3]");
    CHECK(same_bits(&net, &as_before));
    CHECK_ERROR(kn_optim_step(muon, 0.1, KN_MODULE_OF(Layer, &net.in), grads),
                "Muon updates matrices; bias has rank 1");
    CHECK_ERROR(kn_optim_step(lbfgs, 0.1, NET(&net), grads), "kn_optim_step_closure");
    CHECK_ERROR(kn_optim_step(optim, NAN, NET(&net), grads), "learning rate");
    CHECK_ERROR(kn_optim_step(NULL, 0.1, NET(&net), grads), "missing");
    CHECK_ERROR(kn_optim_step(optim, 0.1, NET(&net), NULL), "missing");
    CHECK(same_bits(&net, &as_before));
    CHECK_ERROR(kn_optim_add_group(sgd, &(kn_optim_group){.pattern = "a(b"}), "no regular expression");
    CHECK(!kn_optim_adam(&(kn_adam_args){.eps = -1}) && strstr(kn_last_error(), "kn_optim_adam: eps is -1"));
    CHECK(!kn_optim_rmsprop(&(kn_rmsprop_args){.momentum = NAN}) &&
          strstr(kn_last_error(), "momentum is NaN"));
    CHECK(!kn_schedule_constant(-NAN) && strstr(kn_last_error(), "a rate or factor is NaN"));
    CHECK_ERROR(kn_optim_add_group(sgd, &(kn_optim_group){.pattern = "a", .optim = sgd}), "another one");
    CHECK_ERROR(kn_optim_add_group(sgd, &(kn_optim_group){.pattern = "a", .optim = kn_optim_lbfgs(NULL)}),
                "no groups");
    CHECK_ERROR(kn_optim_set_clip(sgd, KN_CLIP_VALUE, -1), "above 0");
    CHECK(kn_optim_sgd(&(kn_sgd_args){.nesterov = true}) == NULL && strstr(kn_last_error(), "Nesterov"));
    CHECK(kn_optim_adam(&(kn_adam_args){.beta1 = 1}) == NULL && strstr(kn_last_error(), "beta1 is 1"));
    CHECK(kn_optim_adam(&(kn_adam_args){.cautious = true}) == NULL && strstr(kn_last_error(), "adamw"));
    CHECK(kn_optim_rmsprop(&(kn_rmsprop_args){.eps = -1}) == NULL);
    kn_adam_update_args args = {.lr = 0.5, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8};
    kn_tensor m = kn_own(kn_zeros_like(kn_value(net.in.bias))), v = kn_own(kn_zeros_like(m));
    CHECK_ERROR(kn_adam_update(&net.in.bias, kn_ones(KN_SHAPE(5), KN_F64), &m, &v, NULL, &args), "step is 0");
    args.step = 1;
    CHECK_ERROR(kn_adam_update(&net.in.bias, kn_ones(KN_SHAPE(4), KN_F64), &m, &v, NULL, &args),
                "the gradient [4] of f64 does not fit the param [5] of f64");
    CHECK_ERROR(kn_adam_update(&net.in.bias, kn_ones(KN_SHAPE(5), KN_F64), &m, NULL, NULL, &args),
                "kn_adam_update");
    CHECK(same_bits(&net, &as_before));
    kn_drop(m);
    kn_drop(v);
    kn_grads_free(grads);
    kn_optim_free(optim);
    kn_optim_free(sgd);
    kn_optim_free(muon);
    kn_optim_free(lbfgs);
    net_drop(&net);
    net_drop(&as_before);
}

/* A group that is added after a step that failed is looked up as well: a pattern that matches nothing is told. */
static void a_late_group_is_checked(void)
{
    Net net = net_make(KN_F64);
    kn_optim sgd = kn_optim_sgd(NULL);
    kn_grads grads = NULL;
    net_loss(&net, 0, &grads);
    kn_tensor good = kn_keep(kn_grads_take(grads, kn_value(net.in.weight)));
    CHECK(kn_grads_replace(grads, kn_value(net.in.weight), kn_zeros(KN_SHAPE(4, 4), KN_F64)) == KN_OK);
    CHECK(kn_optim_add_group(sgd, &(kn_optim_group){.pattern = "bias"}) == KN_OK);
    CHECK_ERROR(kn_optim_step(sgd, 0.1, NET(&net), grads), "the gradient of in.weight");
    CHECK(kn_grads_replace(grads, kn_value(net.in.weight), good) == KN_OK);
    CHECK(kn_optim_add_group(sgd, &(kn_optim_group){.pattern = "wieght"}) == KN_OK);
    CHECK_ERROR(kn_optim_step(sgd, 0.1, NET(&net), grads), "the group's pattern 'wieght' matches no param");
    kn_grads_free(grads);
    kn_optim_free(sgd);
    net_drop(&net);
}

/* With one allocation after another failing a step either succeeds or reports, and the numbers stay usable. */
static void no_memory(void)
{
    for (int fail = 1; fail < 60; fail++) {
        Net net = net_make(KN_F32);
        kn_optim optim = with_groups();
        CHECK(kn_optim_set_clip(optim, KN_CLIP_GLOBAL_NORM, 0.1) == KN_OK);
        kn_grads grads = NULL;
        net_loss(&net, 0, &grads);
        kn_memory_fail_after(fail);
        kn_status s = kn_optim_step(optim, 0.1, NET(&net), grads);
        kn_memory_fail_after(0);
        CHECK(s == KN_OK || s == KN_ERROR_MEMORY);
        CHECK(kn_optim_step(optim, 0.1, NET(&net), grads) == KN_OK);
        double values[NET_PARAMS], total = 0;
        net_read(&net, values);
        for (int i = 0; i < NET_PARAMS; i++) total += values[i];
        CHECK(isfinite(total));
        kn_grads_free(grads);
        kn_optim_free(optim);
        net_drop(&net);
    }
}

int main(void)
{
    kn_device device = kn_device_open("autodiff(cpu)");
    if (!CHECK(device != NULL)) return check_report();
    kn_device_use(device);
    void (*const tests[])(void) = {follows_torch,
                                   searches_near,
                                   other_dtypes,
                                   in_place,
                                   tapes_see_old_values,
                                   two_optimisers,
                                   tied_params,
                                   rates_and_freezing,
                                   accumulates,
                                   accumulation_fails_whole,
                                   accumulation_is_a_big_batch,
                                   averages,
                                   clips_now,
                                   absent_states,
                                   misuse,
                                   a_late_group_is_checked,
                                   no_memory};
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        kn_scope scope = kn_scope_begin();
        tests[i]();
        kn_scope_end(scope, KN_NONE);
    }
    (void)plateau_metrics;
    (void)rate_lists;
    CHECK(kn_memory_stats().tensors_now == 0);
    return check_report();
}
