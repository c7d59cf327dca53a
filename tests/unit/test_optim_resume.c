/* Schedules against PyTorch's, and saving: every optimiser, schedule and average goes on from a saved state as if it had not
   been interrupted, bit for bit. */
#include "test_optim_net.h"
#include <math.h>

#include "../train/optim_trajectories.inc"

enum {
    N_TRAJECTORIES = sizeof trajectories / sizeof *trajectories,
    N_RATES = sizeof rate_lists / sizeof *rate_lists
};

/* ---- schedules */

static double own_rate(void *context, int64_t step) { return *(double *)context / (double)(step + 1); }
static double three = 3;

static kn_schedule schedule_named(const char *name)
{
#define IS(text) (!strcmp(name, text))
    kn_schedule parts[2];
    if (IS("constant")) return kn_schedule_constant(0.25);
    if (IS("linear")) return kn_schedule_linear(0.5, 0.1, 8);
    if (IS("cosine") || IS("cosine_torch")) return kn_schedule_cosine(0.5, 0.01, 9, false);
    if (IS("cosine_restart")) return kn_schedule_cosine(0.5, 0.01, 5, true);
    if (IS("exponential")) return kn_schedule_exponential(0.5, 0.9);
    if (IS("step")) return kn_schedule_step(0.5, 0.5, 3);
    if (IS("noam")) return kn_schedule_noam(2, 5, 64);
    if (IS("one_cycle")) return kn_schedule_one_cycle(&(kn_one_cycle_args){.max_lr = 0.3, .steps = 20});
    if (IS("one_cycle_linear"))
        return kn_schedule_one_cycle(&(kn_one_cycle_args){
            .max_lr = 0.3, .steps = 17, .rise = 0.4, .start_factor = 10, .end_factor = 100, .linear = true});
    if (IS("plateau"))
        return kn_schedule_plateau(
            &(kn_plateau_args){.lr = 0.5, .factor = 0.5, .patience = 2, .cooldown = 1, .min_lr = 0.05});
    if (IS("plateau_max"))
        return kn_schedule_plateau(&(kn_plateau_args){.lr = 0.5, .higher_is_better = true});
    if (IS("cooling"))
        return kn_schedule_plateau(
            &(kn_plateau_args){.lr = 0.5, .factor = 0.5, .patience = KN_ZERO, .cooldown = 4});
    if (IS("nested")) return kn_schedule_warm_up(3, schedule_named("cooling"));
    if (IS("custom")) return kn_schedule_custom(own_rate, &three);
    if (IS("warm_up")) return kn_schedule_warm_up(4, kn_schedule_exponential(0.5, 0.9));
    if (IS("sequential")) {
        parts[0] = kn_schedule_constant(0.05);
        parts[1] = kn_schedule_exponential(0.5, 0.9);
        return kn_schedule_sequential(parts, 2, (const int64_t[]){4});
    }
    parts[0] = kn_schedule_linear(1, 0, 10);
    parts[1] = kn_schedule_plateau(&(kn_plateau_args){.lr = 0.5, .patience = 1});
    if (IS("composed_product")) return kn_schedule_composed(parts, 2, KN_SCHEDULE_PRODUCT);
    if (IS("composed_sum")) return kn_schedule_composed(parts, 2, KN_SCHEDULE_SUM);
    if (IS("composed_mean")) return kn_schedule_composed(parts, 2, KN_SCHEDULE_MEAN);
    kn_schedule_free(parts[0]);
    kn_schedule_free(parts[1]);
#undef IS
    return NULL;
}

static void schedules_follow_torch(void)
{
    for (int i = 0; i < N_RATES; i++) {
        const rate_list *list = &rate_lists[i];
        kn_schedule s = schedule_named(list->name);
        bool good = CHECK(s != NULL);
        for (int t = 0; t < list->n && good; t++) {
            double rate = kn_schedule_next(s);
            good = fabs(rate - list->rates[t]) <= 1e-13 * fabs(list->rates[t]) + 1e-17;
            if (!good)
                printf("%s: rate %d is %.17g, PyTorch has %.17g\n", list->name, t, rate, list->rates[t]);
            if (!strncmp(list->name, "plateau", 7)) kn_schedule_report(s, plateau_metrics[t]);
        }
        CHECK(good);
        kn_schedule_free(s);
    }
}

static void schedules_by_formula(void)
{
    kn_schedule s = schedule_named("warm_up");
    for (int t = 0; t < 4; t++) CHECK(kn_schedule_next(s) == 0.5 * t / 4);
    for (int t = 0; t < 4; t++) CHECK(fabs(kn_schedule_next(s) - 0.5 * pow(0.9, t)) < 1e-15);
    kn_schedule_free(s);
    s = schedule_named("custom");
    for (int t = 0; t < 4; t++)
        CHECK(kn_schedule_peek(s) == 3.0 / (t + 1) && kn_schedule_next(s) == 3.0 / (t + 1));
    kn_schedule_free(s);
    s = schedule_named("composed_product");
    kn_schedule sum = schedule_named("composed_sum"), mean = schedule_named("composed_mean");
    for (int t = 0; t < 12; t++) {
        double line = t < 10 ? 1 - t / 10.0 : 0;
        CHECK(fabs(kn_schedule_next(s) - line * 0.5) < 1e-15);
        CHECK(fabs(kn_schedule_next(sum) - (line + 0.5)) < 1e-15);
        CHECK(fabs(kn_schedule_next(mean) - (line + 0.5) / 2) < 1e-15);
    }
    for (int t = 0; t < 3; t++) kn_schedule_report(sum, 1);
    CHECK(fabs(kn_schedule_peek(sum) - 0.05) < 1e-15); /* the plateau inside heard of it */
    kn_schedule_free(s);
    kn_schedule_free(sum);
    kn_schedule_free(mean);
    s = kn_schedule_plateau(&(kn_plateau_args){.patience = -1});
    CHECK(kn_schedule_peek(s) == 1e-3);
    kn_schedule_report(s, 1);
    kn_schedule_report(s, 1);
    CHECK(fabs(kn_schedule_peek(s) - 1e-4) < 1e-18);
    kn_schedule_free(s);
}

/* A metric that goes on by more than the threshold keeps the rate, up or down; by less it does not. */
static void plateau_sees_progress(void)
{
    for (int up = 0; up < 2; up++)
        for (int enough = 0; enough < 2; enough++) {
            kn_schedule s = kn_schedule_plateau(
                &(kn_plateau_args){.lr = 1, .patience = 2, .threshold = 0.01, .higher_is_better = up == 1});
            double metric = 1, part = enough ? 0.02 : 0.002;
            for (int i = 0; i < 4; i++) {
                kn_schedule_report(s, metric);
                metric *= up ? 1 + part : 1 - part;
            }
            CHECK((kn_schedule_peek(s) == 1) == (enough == 1));
            kn_schedule_free(s);
        }
}

static void schedules_misused(void)
{
    kn_schedule parts[2] = {kn_schedule_constant(1), NULL};
    CHECK(kn_schedule_linear(1, 0, 0) == NULL && strstr(kn_last_error(), "at least 1"));
    CHECK(kn_schedule_constant(NAN) == NULL);
    CHECK(kn_schedule_custom(NULL, NULL) == NULL);
    CHECK(kn_schedule_composed(parts, 2, KN_SCHEDULE_SUM) == NULL &&
          strstr(kn_last_error(), "a part is NULL"));
    CHECK(kn_schedule_composed(NULL, 0, KN_SCHEDULE_SUM) == NULL);
    parts[0] = kn_schedule_constant(1);
    parts[1] = kn_schedule_constant(2);
    CHECK(kn_schedule_sequential(parts, 2, NULL) == NULL && strstr(kn_last_error(), "milestones"));
    for (int last = 0; last < 3; last++) { /* milestones 5, 4 and 5, 5 do not rise; 5, 6 do */
        kn_schedule stages[3];
        for (int i = 0; i < 3; i++) stages[i] = kn_schedule_constant(i);
        kn_schedule s = kn_schedule_sequential(stages, 3, (const int64_t[]){5, 4 + last});
        CHECK((s != NULL) == (last == 2));
        kn_schedule_free(s);
    }
    CHECK(kn_schedule_warm_up(-1, kn_schedule_constant(1)) == NULL);
    CHECK(kn_schedule_plateau(&(kn_plateau_args){.factor = 2}) == NULL);
    CHECK(kn_schedule_one_cycle(NULL) == NULL);
    CHECK(kn_schedule_next(NULL) == 0);
    kn_state empty = kn_state_make();
    kn_schedule s = kn_schedule_constant(1);
    CHECK_ERROR(kn_schedule_load(s, empty, "lr."), "no whole constant schedule under 'lr.'");
    kn_schedule_free(s);
    kn_state_free(empty);
}

/* What is reported to schedules: a metric that moves, and one that never becomes better, so that a plateau passes through
   waiting, cutting and cooling down several times. */
static double reported(int kind, int t) { return kind ? 1 : plateau_metrics[t]; }

static bool schedule_resumes_at(const char *name, int cut, int kind)
{
    kn_schedule a = schedule_named(name), b = schedule_named(name);
    kn_state state = kn_state_make();
    for (int t = 0; t < cut; t++) {
        kn_schedule_next(a);
        kn_schedule_report(a, reported(kind, t));
    }
    CHECK(kn_schedule_save(a, state, "lr.") == KN_OK && kn_schedule_load(b, state, "lr.") == KN_OK);
    bool same = true;
    for (int t = cut; t < 20; t++) {
        same = same && kn_schedule_next(a) == kn_schedule_next(b);
        kn_schedule_report(a, reported(kind, t));
        kn_schedule_report(b, reported(kind, t));
    }
    kn_state_free(state);
    kn_schedule_free(a);
    kn_schedule_free(b);
    return same;
}

/* Each schedule from each of its steps, so in each of its phases. */
static void schedules_resume(void)
{
    static const char *const names[] = {
        "constant",     "linear",    "cosine",  "cosine_restart", "exponential", "step",
        "noam",         "plateau",   "custom",  "warm_up",        "sequential",  "composed_product",
        "composed_sum", "one_cycle", "cooling", "nested",         "plateau_max"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int cut = 0; cut < 20; cut++)
            for (int kind = 0; kind < 2; kind++)
                if (!CHECK(schedule_resumes_at(names[i], cut, kind)))
                    printf("%s does not resume at %d\n", names[i], cut);
}

/* ---- optimisers */

static void copy_net(Net *to, const Net *from)
{
    kn_param *d[] = {&to->in.weight, &to->in.bias, &to->out.weight, &to->out.bias};
    const kn_param *s[] = {&from->in.weight, &from->in.bias, &from->out.weight, &from->out.bias};
    for (int i = 0; i < 4; i++) CHECK(kn_param_set(d[i], kn_alias(kn_value(*s[i]))) == KN_OK);
}

static void optimisers_resume_after(int steps)
{
    for (int i = 0; i < N_TRAJECTORIES; i++) {
        const trajectory *t = &trajectories[i];
        Net a = net_make(KN_F64), b = net_make(KN_F64);
        kn_optim first = optim_named(t->name), second = optim_named(t->name);
        kn_state state = kn_state_make();
        for (int step = 0; step < steps; step++) any_step(t->name, first, t->lr, &a, step);
        CHECK(kn_optim_save(first, NET(&a), state, "optim/") == KN_OK);
        copy_net(&b, &a);
        kn_status s = kn_optim_load(second, NET(&b), state, "optim/");
        if (s) printf("%s: %s\n", t->name, kn_last_error());
        CHECK(s == KN_OK);
        for (int step = steps; step < 9; step++) any_step(t->name, first, t->lr, &a, step);
        for (int step = steps; step < 9; step++) any_step(t->name, second, t->lr, &b, step);
        if (!same_bits(&a, &b)) printf("%s does not resume after %d steps\n", t->name, steps);
        CHECK(same_bits(&a, &b));
        kn_optim_free(first);
        kn_optim_free(second);
        kn_state_free(state);
        net_drop(&a);
        net_drop(&b);
    }
}

/* Before the first step, when momentum has just been made, and later. */
static void optimisers_resume(void)
{
    static const int cuts[] = {0, 1, 2, 4, 7};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) optimisers_resume_after(cuts[i]);
}

/* The saved tensors are those of the moment, whatever steps follow, and a state loads twice. */
static void states_are_snapshots(void)
{
    Net a = net_make(KN_F64), b = net_make(KN_F64);
    kn_optim optim = kn_optim_adam(NULL);
    kn_state state = kn_state_make();
    for (int step = 0; step < 3; step++) net_step(optim, 0.1, &a, step);
    CHECK(kn_optim_save(optim, NET(&a), state, "") == KN_OK);
    copy_net(&b, &a);
    net_step(optim, 0.1, &a, 3);
    CHECK(kn_optim_load(optim, NET(&b), state, "") == KN_OK);
    net_step(optim, 0.1, &b, 3);
    CHECK(same_bits(&a, &b));
    CHECK(kn_state_get(state, "", "in.weight.exp_avg").bits != 0);
    int64_t steps = 0;
    CHECK(kn_state_get_int(state, "", "out.bias.step", &steps) && steps == 3);
    kn_state_free(state);
    kn_optim_free(optim);
    net_drop(&a);
    net_drop(&b);
}

static void wrong_states(void)
{
    Net net = net_make(KN_F64), other = net_make(KN_F32);
    kn_optim adam = kn_optim_adam(NULL), sgd = kn_optim_sgd(NULL),
             amsgrad = kn_optim_adam(&(kn_adam_args){.amsgrad = true});
    kn_state state = kn_state_make();
    net_step(adam, 0.1, &net, 0);
    CHECK_ERROR(kn_optim_load(adam, NET(&net), state, "o/"), "has no text o/optimizer");
    CHECK(kn_optim_save(adam, NET(&net), state, "o/") == KN_OK);
    CHECK_ERROR(kn_optim_load(sgd, NET(&net), state, "o/"), "the state is of adam, the optimiser is sgd");
    CHECK_ERROR(kn_optim_load(amsgrad, NET(&net), state, "o/"), "no o/in.weight.max_exp_avg_sq");
    CHECK_ERROR(kn_optim_load(adam, NET(&other), state, "o/"),
                "in.weight.exp_avg does not have the shape and dtype");
    CHECK_ERROR(kn_optim_save(NULL, NET(&net), state, "o/"), "NULL");
    /* A state of a part, and one with more than the module has. */
    kn_state part = kn_state_make();
    CHECK(kn_optim_save(adam, KN_MODULE_OF(Layer, &net.in), part, "o/") == KN_OK);
    CHECK_ERROR(kn_optim_load(adam, NET(&net), part, "o/"), "the state has no o/in.weight.step");
    CHECK(kn_optim_load(adam, KN_MODULE_OF(Layer, &net.in), part, "o/") == KN_OK);
    kn_state_free(part);
    CHECK(kn_state_put_int(state, "o/", "head.weight.step", 1) == KN_OK);
    CHECK_ERROR(kn_optim_load(adam, NET(&net), state, "o/"),
                "the state has o/head.weight.step, which no param");
    /* A param that was frozen all the time has made no step, which is known. */
    kn_state still = kn_state_make();
    kn_optim fresh = kn_optim_adam(NULL);
    CHECK(kn_module_freeze(NET(&net), "in.*", true) == KN_OK);
    net_step(fresh, 0.1, &net, 0);
    CHECK(kn_optim_save(fresh, NET(&net), still, "o/") == KN_OK);
    CHECK(kn_optim_load(adam, NET(&net), still, "o/") == KN_OK);
    kn_optim_free(fresh);
    kn_state_free(still);
    kn_state_free(state);
    kn_optim_free(adam);
    kn_optim_free(sgd);
    kn_optim_free(amsgrad);
    net_drop(&net);
    net_drop(&other);
}

static void averages_resume(void)
{
    Net net = net_make(KN_F64);
    kn_optim optim = kn_optim_sgd(NULL);
    kn_ema a = kn_ema_make(NET(&net), 0.9, true), b = kn_ema_make(NET(&net), 0.9, true);
    kn_state state = kn_state_make();
    for (int step = 0; step < 8; step++) {
        net_step(optim, 0.2, &net, step);
        CHECK(kn_ema_update(a, NET(&net)) == KN_OK);
        if (step == 3) {
            CHECK_ERROR(kn_ema_load(b, NET(&net), state, "ema/"), "no ema/updates");
            CHECK(kn_ema_save(a, NET(&net), state, "ema/") == KN_OK);
            CHECK(kn_ema_load(b, NET(&net), state, "ema/") == KN_OK);
        } else if (step > 3)
            CHECK(kn_ema_update(b, NET(&net)) == KN_OK);
    }
    double x[NET_PARAMS], y[NET_PARAMS];
    CHECK(kn_ema_swap(a, NET(&net)) == KN_OK);
    net_read(&net, x);
    CHECK(kn_ema_swap(a, NET(&net)) == KN_OK && kn_ema_swap(b, NET(&net)) == KN_OK);
    net_read(&net, y);
    CHECK(memcmp(x, y, sizeof x) == 0);
    kn_ema_free(a);
    kn_ema_free(b);
    kn_state_free(state);
    kn_optim_free(optim);
    net_drop(&net);
}

int main(void)
{
    kn_device device = kn_device_open("autodiff(cpu)");
    if (!CHECK(device != NULL)) return check_report();
    kn_device_use(device);
    void (*const tests[])(void) = {schedules_follow_torch, schedules_by_formula, plateau_sees_progress,
                                   schedules_misused,      schedules_resume,     optimisers_resume,
                                   states_are_snapshots,   wrong_states,         averages_resume};
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        kn_scope scope = kn_scope_begin();
        tests[i]();
        kn_scope_end(scope, KN_NONE);
    }
    CHECK(kn_memory_stats().tensors_now == 0);
    return check_report();
}
