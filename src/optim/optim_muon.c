/* Muon: momentum whose matrix is orthogonalised by Newton-Schulz steps. */
#include "optim/optim_object.h"
#include "support/failure.h"
#include "support/scalar_math.h"
#include <kn/contraction.h>
#include <kn/elementwise.h>
#include <kn/linalg.h>
#include <kn/shape.h>
#include <kn/tensor.h>

static unsigned muon_states(kni_optim *optim)
{
    (void)optim;
    return 1;
}

static kn_status muon_check(const kni_optim_job *job)
{
    int32_t rank = kn_rank(kn_value(*job->param));
    if (rank == 2) return KN_OK;
    return kni_failure(
        KN_ERROR_SHAPE,
        "kn_optim_step: Muon updates matrices; %s has rank %d: give it to another optimiser with "
        "kn_optim_add_group",
        job->path, rank);
}

/* x = x / max(|x|, eps); then x = a x + (b g + c g g) x with g = x x^T, for as many steps. The smaller side comes first. */
static kn_tensor orthogonal(kn_tensor x, const kn_muon_args *a)
{
    kn_scope scope = kn_scope_begin();
    bool tall = kn_size(x, 0) > kn_size(x, 1);
    x = kn_keep(tall ? kn_transpose(x, 0, 1) : x);
    kn_tensor size = kn_vector_norm(x, 2, KN_AXES_ALL, false);
    x = kn_keep(kn_div(x, kn_clamp_min(size, a->eps)));
    for (int64_t i = 0; i < a->steps; i++) {
        kn_tensor gram = kn_keep(kn_matmul(x, kn_transpose(x, 0, 1)));
        kn_tensor polynomial = kn_addmm(gram, gram, gram, a->b, a->c);
        x = kn_keep(kn_addmm(x, polynomial, x, a->a, 1));
    }
    return kn_scope_end(scope, tall ? kn_transpose(x, 0, 1) : x);
}

static double adjusted(double lr, bool match_rms, kn_tensor value)
{
    double rows = (double)kn_size(value, 0), columns = (double)kn_size(value, 1);
    if (match_rms) return lr * 0.2 * kni_sqrt(rows > columns ? rows : columns);
    return columns > 0 && rows > columns ? lr * kni_sqrt(rows / columns) : lr;
}

/* b = mix(b, g, momentum), then the direction: b, or with Nesterov mix(g, b, momentum). */
static kn_status muon_update(const kni_optim_job *job, kni_optim_slot *slot)
{
    const kn_muon_args *a = &job->owner->args.muon;
    kn_scope scope = kn_scope_begin();
    kn_tensor value = kn_value(*job->param), g = job->gradient;
    if (job->scale.bits) g = kn_keep(kn_cast(kn_mul(g, job->scale), kn_dtype_of(value)));
    kn_tensor buffer = kn_keep(kn_lerp_scalar(slot->states[0], g, 1 - a->momentum));
    kn_tensor direction = a->plain_momentum ? kn_alias(buffer) : kn_lerp_scalar(g, buffer, a->momentum);
    kn_dtype dtype = kn_dtype_of(value);
    if (dtype != KN_F64 && dtype != KN_F32) direction = kn_cast(direction, KN_F32);
    kn_tensor turned = kn_cast(orthogonal(direction, a), dtype);
    /* One more update in place: p = p - lr (turned + decay p) with the decay's own rate. */
    double rate = adjusted(job->lr, a->match_rms_adamw, value),
           decay = a->weight_decay * job->decay * job->lr;
    kn_status s = kni_failure_of(turned);
    if (s == KN_OK && kn_count(value) > 0) {
        kn_tensor kept = kn_keep(turned);
        kn_sgd_update_args args = {
            .lr = rate, .weight_decay = rate != 0 ? decay / rate : 0, .scale = KN_NONE};
        s = kn_sgd_update(job->param, kept, NULL, &args);
    }
    if (s == KN_OK) s = kn_assign(&slot->states[0], kn_alias(buffer));
    kn_scope_end(scope, KN_NONE);
    return s;
}

static const kni_optim_rule rule_muon = {"muon", {"momentum_buffer"}, muon_states, muon_check, muon_update};

kn_optim kn_optim_muon(const kn_muon_args *args)
{
    static const kn_muon_args usual = KN_MUON_ARGS_DEFAULTS;
    kn_muon_args m = args ? *args : usual;
    m.momentum = kn_real_or(m.momentum, 0);
    m.weight_decay = kn_real_or(m.weight_decay, 0);
    m.eps = kn_real_or(m.eps, usual.eps);
    m.a = kn_real_or(m.a, usual.a);
    m.b = kn_real_or(m.b, usual.b);
    m.c = kn_real_or(m.c, usual.c);
    m.steps = kn_int_or(m.steps, usual.steps);
    const kni_optim_field fields[] = {
        {"momentum", m.momentum}, {"weight_decay", m.weight_decay}, {"eps", m.eps}};
    if (kni_optim_check_fields(fields, 3, "kn_optim_muon")) return NULL;
    if (m.steps < 0 || m.steps >= 100) {
        kni_failure(KN_ERROR_ARGUMENT, "kn_optim_muon: %lld steps; 0 (KN_ZERO) to 99", (long long)m.steps);
        return NULL;
    }
    return kni_optim_make(&rule_muon, &m, sizeof m, "kn_optim_muon");
}
