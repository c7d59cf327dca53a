/* The optimisers whose step is one update per param: SGD, Adam, AdamW, Adan, AdaGrad, RMSprop. Defaults are PyTorch's. */
#include "optim/optim_object.h"
#include "support/failure.h"
#include <kn/creation.h>
#include <kn/tensor.h>

/* A factor of an average: 0 to below 1. */
static kn_status check_factor(double value, const char *name, const char *function)
{
    if (value >= 0 && value < 1) return KN_OK;
    return kni_failure(KN_ERROR_ARGUMENT, "%s: %s is %s; it must be 0 to below 1", function, name,
                       KNI_NUMBER(value));
}

/* ---- SGD */

static unsigned sgd_states(kni_optim *optim) { return optim->args.sgd.momentum != 0; }

static kn_status sgd_update(const kni_optim_job *job, kni_optim_slot *slot)
{
    const kn_sgd_args *a = &job->owner->args.sgd;
    kn_sgd_update_args args = {job->lr,     a->momentum,     a->dampening, a->weight_decay * job->decay,
                               a->nesterov, slot->step == 0, job->scale};
    return kn_sgd_update(job->param, job->gradient, a->momentum != 0 ? &slot->states[0] : NULL, &args);
}

static const kni_optim_rule rule_sgd = {"sgd", {"momentum_buffer"}, sgd_states, NULL, sgd_update};

kn_optim kn_optim_sgd(const kn_sgd_args *args)
{
    static const kn_sgd_args usual = KN_SGD_ARGS_DEFAULTS;
    kn_sgd_args a = args ? *args : usual;
    a.momentum = kn_real_or(a.momentum, 0);
    a.dampening = kn_real_or(a.dampening, 0);
    a.weight_decay = kn_real_or(a.weight_decay, 0);
    const kni_optim_field fields[] = {{"momentum", a.momentum}, {"weight_decay", a.weight_decay}};
    if (kni_optim_check_fields(fields, 2, "kn_optim_sgd")) return NULL;
    if (a.nesterov && (a.momentum <= 0 || a.dampening != 0)) {
        kni_failure(KN_ERROR_ARGUMENT, "kn_optim_sgd: Nesterov needs a momentum and no dampening");
        return NULL;
    }
    return kni_optim_make(&rule_sgd, &a, sizeof a, "kn_optim_sgd");
}

/* ---- Adam and AdamW */

static unsigned adam_states(kni_optim *optim) { return optim->args.adam.amsgrad ? 7 : 3; }

static kn_status adam_update(const kni_optim_job *job, kni_optim_slot *slot)
{
    const kn_adam_args *a = &job->owner->args.adam;
    kn_adam_update_args args = {.lr = job->lr,
                                .beta1 = a->beta1,
                                .beta2 = a->beta2,
                                .eps = a->eps,
                                .weight_decay = a->weight_decay * job->decay,
                                .step = slot->step + 1,
                                .decoupled = job->owner->decoupled,
                                .cautious = a->cautious,
                                .scale = job->scale};
    return kn_adam_update(job->param, job->gradient, &slot->states[0], &slot->states[1],
                          a->amsgrad ? &slot->states[2] : NULL, &args);
}

static const kni_optim_rule rule_adam = {
    "adam", {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"}, adam_states, NULL, adam_update};
static const kni_optim_rule rule_adamw = {
    "adamw", {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"}, adam_states, NULL, adam_update};

static kn_optim make_adam(const kni_optim_rule *rule, const kn_adam_args *args, bool decoupled,
                          const char *function)
{
    static const kn_adam_args adam = KN_ADAM_ARGS_DEFAULTS, adamw = KN_ADAMW_ARGS_DEFAULTS;
    const kn_adam_args *usual = decoupled ? &adamw : &adam;
    kn_adam_args a = args ? *args : *usual;
    a.beta1 = kn_real_or(a.beta1, usual->beta1);
    a.beta2 = kn_real_or(a.beta2, usual->beta2);
    a.eps = kn_real_or(a.eps, usual->eps);
    a.weight_decay = kn_real_or(a.weight_decay, 0);
    const kni_optim_field fields[] = {{"eps", a.eps}, {"weight_decay", a.weight_decay}};
    if (check_factor(a.beta1, "beta1", function) || check_factor(a.beta2, "beta2", function)) return NULL;
    if (kni_optim_check_fields(fields, 2, function)) return NULL;
    if (a.cautious && !decoupled) {
        kni_failure(KN_ERROR_ARGUMENT, "%s: cautious decay belongs to kn_optim_adamw", function);
        return NULL;
    }
    kni_optim *optim = kni_optim_new(rule, &a, sizeof a, function);
    if (!optim) return NULL;
    optim->decoupled = decoupled;
    return kni_object_make(&kni_kind_optim, optim, function);
}

kn_optim kn_optim_adam(const kn_adam_args *args)
{
    return make_adam(&rule_adam, args, false, "kn_optim_adam");
}
kn_optim kn_optim_adamw(const kn_adamw_args *args)
{
    return make_adam(&rule_adamw, args, true, "kn_optim_adamw");
}

/* ---- Adan */

static unsigned adan_states(kni_optim *optim)
{
    (void)optim;
    return 15;
}

static kn_status adan_update(const kni_optim_job *job, kni_optim_slot *slot)
{
    const kn_adan_args *a = &job->owner->args.adan;
    kn_adan_update_args args = {.lr = job->lr,
                                .beta1 = a->beta1,
                                .beta2 = a->beta2,
                                .beta3 = a->beta3,
                                .eps = a->eps,
                                .weight_decay = a->weight_decay * job->decay,
                                .step = slot->step + 1,
                                .no_prox = a->no_prox,
                                .scale = job->scale};
    kn_tensor *s = slot->states;
    return kn_adan_update(job->param, job->gradient, &s[0], &s[1], &s[2], &s[3], &args);
}

static const kni_optim_rule rule_adan = {
    "adan", {"exp_avg", "exp_avg_diff", "exp_avg_sq", "previous_grad"}, adan_states, NULL, adan_update};

kn_optim kn_optim_adan(const kn_adan_args *args)
{
    const char *function = "kn_optim_adan";
    static const kn_adan_args usual = KN_ADAN_ARGS_DEFAULTS;
    kn_adan_args a = args ? *args : usual;
    a.beta1 = kn_real_or(a.beta1, usual.beta1);
    a.beta2 = kn_real_or(a.beta2, usual.beta2);
    a.beta3 = kn_real_or(a.beta3, usual.beta3);
    a.eps = kn_real_or(a.eps, usual.eps);
    a.weight_decay = kn_real_or(a.weight_decay, 0);
    const kni_optim_field fields[] = {{"eps", a.eps}, {"weight_decay", a.weight_decay}};
    if (check_factor(a.beta1, "beta1", function) || check_factor(a.beta2, "beta2", function) ||
        check_factor(a.beta3, "beta3", function) || kni_optim_check_fields(fields, 2, function))
        return NULL;
    return kni_optim_make(&rule_adan, &a, sizeof a, function);
}

/* ---- AdaGrad */

static unsigned adagrad_states(kni_optim *optim)
{
    (void)optim;
    return 1;
}

/* The sum of squares begins with the accumulator's first value. */
static kn_status adagrad_update(const kni_optim_job *job, kni_optim_slot *slot)
{
    const kn_adagrad_args *a = &job->owner->args.adagrad;
    if (slot->step == 0 && a->initial_accumulator != 0) {
        kn_status s = kn_assign(&slot->states[0], kn_full_like(slot->states[0], a->initial_accumulator));
        if (s) return s;
    }
    kn_adagrad_update_args args = {job->lr,        a->lr_decay, a->eps, a->weight_decay * job->decay,
                                   slot->step + 1, job->scale};
    return kn_adagrad_update(job->param, job->gradient, &slot->states[0], &args);
}

static const kni_optim_rule rule_adagrad = {"adagrad", {"sum"}, adagrad_states, NULL, adagrad_update};

kn_optim kn_optim_adagrad(const kn_adagrad_args *args)
{
    static const kn_adagrad_args usual = KN_ADAGRAD_ARGS_DEFAULTS;
    kn_adagrad_args a = args ? *args : usual;
    a.lr_decay = kn_real_or(a.lr_decay, 0);
    a.weight_decay = kn_real_or(a.weight_decay, 0);
    a.initial_accumulator = kn_real_or(a.initial_accumulator, 0);
    a.eps = kn_real_or(a.eps, usual.eps);
    const kni_optim_field fields[] = {{"lr_decay", a.lr_decay},
                                      {"weight_decay", a.weight_decay},
                                      {"initial_accumulator", a.initial_accumulator},
                                      {"eps", a.eps}};
    if (kni_optim_check_fields(fields, 4, "kn_optim_adagrad")) return NULL;
    return kni_optim_make(&rule_adagrad, &a, sizeof a, "kn_optim_adagrad");
}

/* ---- RMSprop */

static unsigned rmsprop_states(kni_optim *optim)
{
    const kn_rmsprop_args *a = &optim->args.rmsprop;
    return 1u | (a->centered ? 2u : 0) | (a->momentum > 0 ? 4u : 0);
}

static kn_status rmsprop_update(const kni_optim_job *job, kni_optim_slot *slot)
{
    const kn_rmsprop_args *a = &job->owner->args.rmsprop;
    kn_rmsprop_update_args args = {job->lr,     a->alpha,  a->eps, a->weight_decay * job->decay,
                                   a->momentum, job->scale};
    return kn_rmsprop_update(job->param, job->gradient, &slot->states[0],
                             a->centered ? &slot->states[1] : NULL, a->momentum > 0 ? &slot->states[2] : NULL,
                             &args);
}

static const kni_optim_rule rule_rmsprop = {
    "rmsprop", {"square_avg", "grad_avg", "momentum_buffer"}, rmsprop_states, NULL, rmsprop_update};

kn_optim kn_optim_rmsprop(const kn_rmsprop_args *args)
{
    static const kn_rmsprop_args usual = KN_RMSPROP_ARGS_DEFAULTS;
    kn_rmsprop_args a = args ? *args : usual;
    a.weight_decay = kn_real_or(a.weight_decay, 0);
    a.momentum = kn_real_or(a.momentum, 0);
    a.alpha = kn_real_or(a.alpha, usual.alpha);
    a.eps = kn_real_or(a.eps, usual.eps);
    const kni_optim_field fields[] = {
        {"alpha", a.alpha}, {"eps", a.eps}, {"weight_decay", a.weight_decay}, {"momentum", a.momentum}};
    if (kni_optim_check_fields(fields, 4, "kn_optim_rmsprop")) return NULL;
    return kni_optim_make(&rule_rmsprop, &a, sizeof a, "kn_optim_rmsprop");
}
