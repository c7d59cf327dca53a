/* KN_ZERO where no default is: refused with a message, never taken as -2^63. And rates below 0. */
#include "support/check.h"
#include <kn/nn.h>
#include <kn/optim.h>
#include <math.h>

static const char hint[] = "KN_ZERO, which is for fields whose 0 means the default";

static void ops(void)
{
    kn_tensor x = kn_keep(kn_ones(KN_SHAPE(2, 2), KN_F32));
    double zero = KN_ZERO;
    CHECK_POISON(kn_leaky_relu(x, zero), hint);
    CHECK_POISON(kn_elu(x, zero), hint);
    CHECK_POISON(kn_full(KN_SHAPE(2), zero, KN_F32), hint);
    CHECK_POISON(kn_pad(x, &(kn_pad_args){.before = KN_SHAPE(1, 1), .value = zero}), hint);
    CHECK_POISON(kn_random_normal(KN_SHAPE(2), zero, 1, KN_F32), hint);
    CHECK(kn_ok(kn_leaky_relu(x, 0)));
    /* Integers have this value. */
    CHECK(kn_item_int(kn_min(kn_full(KN_SHAPE(2), zero, KN_I64), KN_AXES_ALL, false)) == INT64_MIN);
    /* Where 0 is a default KN_ZERO is 0. */
    kn_tensor s = kn_pinverse(kn_ones(KN_SHAPE(1, 1), KN_F32), zero);
    CHECK(kn_ok(s) && kn_item(s) == 1);
}

static kn_status closure(void *context, double *loss, kn_grads *grads)
{
    kn_tensor total = kn_sum(kn_value(*(kn_param *)context), KN_AXES_ALL, false);
    *loss = kn_item(total);
    return kn_backward(total, grads);
}

static void steps(void)
{
    kn_nn_linear layer = {0};
    CHECK(kn_nn_linear_init(&layer, 2, 1, NULL) == KN_OK);
    kn_module module = KN_MODULE_OF(kn_nn_linear, &layer);
    double before[2], after[2], loss;
    CHECK(kn_read_as(kn_value(layer.weight), KN_F64, before, sizeof before) == KN_OK);
    kn_grads grads = NULL;
    CHECK(closure(&layer.weight, &loss, &grads) == KN_OK);
    kn_optim optim = kn_optim_sgd(NULL), lbfgs = kn_optim_lbfgs(NULL);
    CHECK_ERROR(kn_optim_step(optim, KN_ZERO, module, grads), hint);
    CHECK_ERROR(kn_optim_step(optim, -0.1, module, grads), "is -0.1; it must be 0 or more");
    CHECK_ERROR(kn_optim_step(optim, NAN, module, grads), "is NaN; it must be 0 or more");
    CHECK_ERROR(kn_optim_step_rates(optim, (const double[]){0.1, -1}, 2, module, grads), "is -1");
    CHECK_ERROR(kn_optim_step_closure(optim, -1, module, closure, &layer.weight, &loss), "is -1");
    CHECK_ERROR(kn_optim_step_closure(lbfgs, KN_ZERO, module, closure, &layer.weight, &loss), hint);
    CHECK(kn_read_as(kn_value(layer.weight), KN_F64, after, sizeof after) == KN_OK);
    CHECK(before[0] == after[0] && before[1] == after[1]);
    kn_nn_linear other = {0};
    CHECK(kn_nn_linear_init(&other, 2, 1, NULL) == KN_OK);
    CHECK_ERROR(kn_optim_step(optim, 0.1, KN_MODULE_OF(kn_nn_linear, &other), grads),
                "no param of the module has a gradient here");
    CHECK(kn_optim_step(optim, 0, module, grads) == KN_OK);
    kn_grads_free(grads);
    kn_optim_free(optim);
    kn_optim_free(lbfgs);
    kn_module_drop(module);
    kn_module_drop(KN_MODULE_OF(kn_nn_linear, &other));
}

static void refused(kn_schedule schedule, const char *words, const char *file, int line)
{
    bool good = !schedule && strstr(kn_last_error(), words);
    if (!good) printf("%s:%d: wanted '%s', got '%s'\n", file, line, words, kn_last_error());
    CHECK(good);
    kn_schedule_free(schedule);
}
#define REFUSED(schedule, words) refused((schedule), (words), __FILE__, __LINE__)

static void schedules(void)
{
    REFUSED(kn_schedule_constant(KN_ZERO), hint);
    REFUSED(kn_schedule_constant(-1), "is -1; it must be 0 or more");
    REFUSED(kn_schedule_linear(0.1, KN_ZERO, 10), hint);
    REFUSED(kn_schedule_cosine(0.1, -0.1, 10, false), "is -0.1");
    REFUSED(kn_schedule_exponential(0.1, -0.5), "is -0.5");
    REFUSED(kn_schedule_step(KN_ZERO, 0.5, 10), hint);
    REFUSED(kn_schedule_one_cycle(&(kn_one_cycle_args){.max_lr = -1, .steps = 10}), "is -1");
    REFUSED(kn_schedule_plateau(&(kn_plateau_args){.lr = 0.1, .factor = KN_ZERO}),
            "factor 0 above 0 and below 1");
    REFUSED(kn_schedule_plateau(&(kn_plateau_args){.lr = KN_ZERO}), "lr 0 must be above 0");
    kn_schedule zero = kn_schedule_constant(0);
    CHECK(zero && kn_schedule_next(zero) == 0);
    kn_schedule_free(zero);
}

int main(void)
{
    kn_device_use(kn_device_open("autodiff(cpu)"));
    ops();
    steps();
    schedules();
    return check_report();
}
