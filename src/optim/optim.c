/* Optimisers as objects: making and freeing, groups, slots of state, and the step. */
#define _POSIX_C_SOURCE 200809L
#include "optim/optim_object.h"
#include "support/failure.h"
#include "support/pattern.h"
#include <kn/creation.h>
#include <kn/device.h>
#include <kn/elementwise.h>
#include <kn/tensor.h>
#include <stdlib.h>
#include <string.h>

kni_optim *kni_optim_new(const kni_optim_rule *rule, const void *args, size_t bytes, const char *function)
{
    kni_optim *optim = calloc(1, sizeof *optim);
    if (!optim) {
        kni_failure_memory(function);
        return NULL;
    }
    optim->rule = rule;
    memcpy(&optim->args, args, bytes);
    return optim;
}

void kni_optim_destroy(void *object)
{
    kni_optim *optim = object;
    for (int64_t i = 0; i < optim->n_slots; i++)
        for (int k = 0; k < KNI_OPTIM_STATES; k++) kn_drop(optim->slots[i].states[k]);
    for (int32_t i = 0; i < optim->n_parts; i++) {
        regfree(&optim->parts[i].pattern);
        free(optim->parts[i].text);
        if (optim->parts[i].optim)
            kni_object_free_adopted(optim->parts[i].group.optim, &kni_kind_optim, "kn_optim_free");
    }
    kni_lbfgs_free(optim->lbfgs);
    free(optim->parts);
    free(optim->slots);
    free(optim->table);
    free(optim);
}

const kni_object_kind kni_kind_optim = {"kn_optim", "optimiser", "freed", kni_optim_destroy};

kn_optim kni_optim_make(const kni_optim_rule *rule, const void *args, size_t bytes, const char *function)
{
    kni_optim *optim = kni_optim_new(rule, args, bytes, function);
    return optim ? kni_object_make(&kni_kind_optim, optim, function) : NULL;
}

void kn_optim_free(kn_optim optim) { kni_object_free(optim, &kni_kind_optim, __func__); }

kn_status kni_optim_check_fields(const kni_optim_field *fields, int n, const char *function)
{
    for (int i = 0; i < n; i++)
        if (!(fields[i].value >= 0 && fields[i].value < 1e300))
            return kni_failure(KN_ERROR_ARGUMENT, "%s: %s is %s; it must be 0 or more", function,
                               fields[i].name, KNI_NUMBER(fields[i].value));
    return KN_OK;
}

kn_status kni_optim_check_rate(const char *what, double value, const char *function)
{
    if (value >= 0 && value < 1e300) return KN_OK;
    if (value == (double)KN_ZERO)
        return kni_failure(
            KN_ERROR_ARGUMENT,
            "%s: %s is KN_ZERO, which is for fields whose 0 means the default; write 0 for a rate of 0",
            function, what);
    return kni_failure(KN_ERROR_ARGUMENT, "%s: %s is %s; it must be 0 or more", function, what,
                       KNI_NUMBER(value));
}

/* ---- groups */

/* other: the group's own optimiser, or NULL. */
static kn_status check_group(kni_optim *optim, const kn_optim_group *group, const kni_optim *other)
{
    const char *function = "kn_optim_add_group";
    if (!group->pattern) return kni_failure(KN_ERROR_ARGUMENT, "%s: the group's pattern is NULL", function);
    if (optim->n_slots || optim->rule == &kni_rule_lbfgs || (other && other->rule == &kni_rule_lbfgs))
        return kni_failure(KN_ERROR_ARGUMENT, "%s: %s", function,
                           optim->n_slots ? "add groups before the first step" : "L-BFGS takes no groups");
    if (other && other->n_parts)
        return kni_failure(KN_ERROR_ARGUMENT, "%s: the optimiser of a group cannot have groups of its own",
                           function);
    if (group->schedule < 0)
        return kni_failure(KN_ERROR_ARGUMENT, "%s: schedule %d is negative", function, group->schedule);
    const kni_optim_field scale = {"lr_scale", kn_real_or(group->lr_scale, 1)};
    return kni_optim_check_fields(&scale, 1, function);
}

static kn_status add_part(kni_optim *optim, const kn_optim_group *group, kni_optim *other)
{
    kni_optim_part *parts = realloc(optim->parts, ((size_t)optim->n_parts + 1) * sizeof *parts);
    if (!parts) return kni_failure_memory("kn_optim_add_group");
    optim->parts = parts;
    kni_optim_part *part = &parts[optim->n_parts];
    kn_status s = kni_pattern_compile(&part->pattern, group->pattern, REG_NOSUB, "kn_optim_add_group");
    if (s) return s;
    part->text = strdup(group->pattern);
    if (!part->text) {
        regfree(&part->pattern);
        return kni_failure_memory("kn_optim_add_group");
    }
    part->group = *group;
    part->group.pattern = NULL;
    part->optim = other;
    part->group.lr_scale = kn_real_or(group->lr_scale, 1);
    optim->n_parts++;
    optim->parts_checked = false;
    return KN_OK;
}

kn_status kn_optim_add_group(kn_optim handle, const kn_optim_group *group)
{
    kn_optim others = group ? group->optim : NULL;
    if (others && others == handle)
        return kni_failure(KN_ERROR_ARGUMENT, "%s: the optimiser of a group must be another one", __func__);
    kni_optim *other = others ? kni_object_adopt(others, &kni_kind_optim, "kn_optim", __func__) : NULL;
    if (others && !other) return KN_ERROR_HANDLE;
    KNI_USE(optim, optim, handle);
    kn_status s = !optim  ? KNI_NO_OBJECT(handle)
                  : group ? check_group(optim, group, other)
                          : kni_failure(KN_ERROR_ARGUMENT, "%s: the group is NULL", __func__);
    if (s == KN_OK) s = add_part(optim, group, other);
    if (s && other) kni_object_free_adopted(others, &kni_kind_optim, __func__);
    return s;
}

/* ---- slots */

static size_t place_of(kni_optim *optim, uint64_t bits)
{
    size_t mask = (size_t)optim->slot_room * 2 - 1;
    size_t i = (size_t)(bits * UINT64_C(0x9E3779B97F4A7C15) >> 32) & mask;
    while (optim->table[i] && optim->slots[optim->table[i] - 1].bits != bits) i = (i + 1) & mask;
    return i;
}

static bool grow(kni_optim *optim)
{
    int64_t room = optim->slot_room ? optim->slot_room * 2 : 16;
    if (room > INT32_MAX / 2) return false;
    kni_optim_slot *slots = realloc(optim->slots, (size_t)room * sizeof *slots);
    if (!slots) return false;
    optim->slots = slots;
    int32_t *table = calloc((size_t)room * 2, sizeof *table);
    if (!table) return false;
    free(optim->table);
    optim->table = table;
    optim->slot_room = room;
    for (int64_t i = 0; i < optim->n_slots; i++) table[place_of(optim, slots[i].bits)] = (int32_t)i + 1;
    return true;
}

static int32_t group_of(kni_optim *optim, const char *path)
{
    for (int32_t i = 0; i < optim->n_parts; i++)
        if (regexec(&optim->parts[i].pattern, path, 0, NULL, 0) == 0) return i;
    return -1;
}

int64_t kni_optim_slot_of(kni_optim *optim, kn_tensor param, const char *path)
{
    if (optim->slot_room) {
        int32_t position = optim->table[place_of(optim, param.bits)];
        if (position) return position - 1;
    }
    if (optim->n_slots == optim->slot_room && !grow(optim)) return -1;
    optim->slots[optim->n_slots] = (kni_optim_slot){.bits = param.bits, .group = group_of(optim, path)};
    optim->table[place_of(optim, param.bits)] = (int32_t)optim->n_slots + 1;
    return optim->n_slots++;
}

kni_optim *kni_optim_owner(kni_optim *optim, const kni_optim_slot *slot)
{
    kni_optim *other = slot->group < 0 ? NULL : optim->parts[slot->group].optim;
    return other ? other : optim;
}

/* ---- the step */

static kn_status make_states(const kni_optim_job *job, const char *function)
{
    kni_optim_slot *slot = &job->owner->slots[job->slot];
    unsigned used = job->owner->rule->used(job->owner);
    for (int k = 0; k < KNI_OPTIM_STATES; k++) {
        if (!(used >> k & 1) || slot->states[k].bits) continue;
        kn_tensor zeros = kn_own(kn_zeros_like(kn_value(*job->param)));
        kn_status s = kni_failure_dropped(zeros);
        if (s) return kni_optim_fail(job, function, s, "no state can be made for it");
        slot->states[k] = zeros;
    }
    return KN_OK;
}

/* Gradients of a scaled loss: limits are as much larger, and what clipping answers is scaled back. */
static kn_status scale_back(kni_optim *optim, kni_optim_jobs *jobs)
{
    kn_tensor all = KN_NONE;
    for (int64_t i = 0; i < jobs->n; i++) {
        kni_optim_job *job = &jobs->at[i];
        if (!job->scale.bits && !all.bits) all = kn_keep(kn_scalar(1 / optim->loss_scale, KN_F32));
        job->scale = job->scale.bits ? kn_keep(kn_mul_scalar(job->scale, 1 / optim->loss_scale)) : all;
        kn_status s = kni_failure_of(job->scale);
        if (s) return s;
    }
    return KN_OK;
}

static kn_status run_jobs(kni_optim *optim, kni_optim_jobs *jobs, const char *function)
{
    kn_status s = KN_OK;
    for (int64_t i = 0; i < jobs->n && s == KN_OK; i++) {
        const kni_optim_job *job = &jobs->at[i];
        if (job->owner->rule->check) s = job->owner->rule->check(job);
        if (s == KN_OK) s = make_states(job, function);
    }
    if (s == KN_OK && optim->clip != KN_CLIP_NONE)
        s = kni_optim_clip(jobs, optim->clip, optim->clip_limit * (optim->loss_scale ? optim->loss_scale : 1),
                           function);
    if (s == KN_OK && optim->loss_scale) s = scale_back(optim, jobs);
    for (int64_t i = 0; i < jobs->n && s == KN_OK; i++) {
        const kni_optim_job *job = &jobs->at[i];
        kni_optim_slot *slot = &job->owner->slots[job->slot];
        s = job->owner->rule->update(job, slot);
        if (s == KN_OK)
            slot->step++;
        else
            s = kni_optim_fail(job, function, s, "the update failed");
    }
    return s;
}

kn_status kni_optim_step(kni_optim *optim, const double *rates, int32_t n, kn_module module, kn_grads grads,
                         const char *function)
{
    if (!rates || n < 1) return kni_failure(KN_ERROR_ARGUMENT, "%s: the rates are missing", function);
    if (optim->rule == &kni_rule_lbfgs)
        return kni_failure(KN_ERROR_ARGUMENT,
                           "%s: L-BFGS evaluates the loss itself: use kn_optim_step_closure", function);
    for (int32_t i = 0; i < n; i++) {
        kn_status bad = kni_optim_check_rate("the learning rate", rates[i], function);
        if (bad) return bad;
    }
    kni_optim_jobs jobs = {0};
    kn_scope scope = kn_scope_begin();
    kn_no_grad_begin();
    kn_status s = kni_optim_collect(&jobs, optim, rates, n, module, grads, function);
    if (s == KN_OK && jobs.n == 0 && kn_module_count(module, false) > 0)
        s = kni_failure(
            KN_ERROR_ARGUMENT,
            "%s: no param of the module has a gradient here: they are gradients of another module, or of "
            "params that kn_module_to() or kn_module_cast() has replaced since",
            function);
    if (s == KN_OK) s = run_jobs(optim, &jobs, function);
    kn_no_grad_end();
    kn_scope_end(scope, KN_NONE);
    /* The step ends here for a device that queues: what comes next is another one's. */
    if (s == KN_OK && jobs.n > 0) s = kn_submit(kn_device_of(kn_value(*jobs.at[0].param)));
    kni_optim_jobs_free(&jobs);
    return s;
}

kn_status kn_optim_step(kn_optim handle, double lr, kn_module module, kn_grads grads)
{
    KNI_USE(optim, optim, handle);
    return optim ? kni_optim_step(optim, &lr, 1, module, grads, __func__) : KNI_NO_OBJECT(handle);
}

kn_status kn_optim_step_rates(kn_optim handle, const double *lr, int32_t n, kn_module module, kn_grads grads)
{
    KNI_USE(optim, optim, handle);
    return optim ? kni_optim_step(optim, lr, n, module, grads, __func__) : KNI_NO_OBJECT(handle);
}

kn_status kn_optim_step_closure(kn_optim handle, double lr, kn_module module, kn_closure_fn closure,
                                void *context, double *loss)
{
    KNI_USE(optim, optim, handle);
    if (!optim) return KNI_NO_OBJECT(handle);
    if (!closure) return kni_failure(KN_ERROR_ARGUMENT, "kn_optim_step_closure: the closure is NULL");
    double first = 0;
    kn_grads grads = NULL;
    if (optim->rule == &kni_rule_lbfgs) return kni_lbfgs_step(optim, lr, module, closure, context, loss);
    kni_failure_mark before = kni_failure_mark_now();
    kn_status s = kni_failure_since(before, closure(context, &first, &grads), "the closure");
    if (s == KN_OK) s = kni_optim_step(optim, &lr, 1, module, grads, "kn_optim_step_closure");
    kn_grads_free(grads);
    if (s == KN_OK && loss) *loss = first;
    return s;
}
