/* Saving and loading the state of an optimiser: for each param the number of steps and the tensors of its rule, by path. */
#include "optim/optim_object.h"
#include "support/buffer.h"
#include "support/failure.h"
#include "support/module_ready.h"
#include <kn/autodiff.h>
#include <kn/device.h>
#include <kn/tensor.h>
#include <string.h>

typedef struct transfer {
    kni_optim *optim;
    kn_state state;
    const char *prefix, *function;
    kni_buffer name;
    int64_t under, read; /* entries of the state under the prefix, and those that belong to a param */
    bool loads, checks;  /* a load goes twice over the module: it checks all before it changes anything */
} transfer;

/* "path.name", valid until the next call. */
static const char *name_of(transfer *t, const char *path, const char *name)
{
    kni_buffer_clear(&t->name);
    kni_buffer_format(&t->name, "%s.%s", path, name);
    return kni_buffer_string(&t->name);
}

static kn_status save_slot(transfer *t, kni_optim *owner, const kni_optim_slot *slot, const char *path)
{
    kn_status s = kn_state_put_int(t->state, t->prefix, name_of(t, path, "step"), slot->step);
    unsigned used =
        slot->step > 0 ? owner->rule->used(owner) : 0; /* a param without a step has only the number */
    for (int k = 0; k < KNI_OPTIM_STATES && s == KN_OK; k++)
        if (used >> k & 1)
            s = kn_state_put(t->state, t->prefix, name_of(t, path, owner->rule->states[k]),
                             kn_alias(slot->states[k]));
    return t->name.failed ? kni_failure_memory(t->function) : s;
}

static kn_status check_value(const transfer *t, kn_tensor value, kn_tensor param, const char *path,
                             const char *name)
{
    if (!value.bits)
        return kni_failure(KN_ERROR_ARGUMENT,
                           "%s: the state has no %s%s.%s: was it saved by another optimiser?", t->function,
                           t->prefix, path, name);
    kn_shape a = kn_shape_of_tensor(value), b = kn_shape_of_tensor(param);
    bool fits = kn_ok(value) && a.rank == b.rank && kn_dtype_of(value) == kn_dtype_of(param);
    for (int32_t i = 0; i < a.rank && fits; i++) fits = a.dims[i] == b.dims[i];
    if (fits) return KN_OK;
    return kni_failure(KN_ERROR_SHAPE, "%s: %s%s.%s does not have the shape and dtype of the param %s",
                       t->function, t->prefix, path, name, path);
}

static kn_status load_slot(transfer *t, kni_optim *owner, kni_optim_slot *slot, kn_tensor param,
                           const char *path)
{
    int64_t step = 0;
    bool found = kn_state_get_int(t->state, t->prefix, name_of(t, path, "step"), &step);
    /* States from before do not mention frozen params. */
    if (!found && t->under > 0 && kn_is_require_grad(param))
        return kni_failure(
            KN_ERROR_ARGUMENT,
            "%s: the state has no %s%s.step: it is of another module, or of a part of this one", t->function,
            t->prefix, path);
    t->read += found;
    if (found && step < 0)
        return kni_failure(KN_ERROR_ARGUMENT, "%s: %s%s.step is negative", t->function, t->prefix, path);
    unsigned used = found && step > 0 ? owner->rule->used(owner) : 0;
    if (!t->checks) slot->step = step;
    for (int k = 0; k < KNI_OPTIM_STATES; k++) {
        kn_tensor value = KN_NONE;
        if (used >> k & 1) {
            value = kn_state_get(t->state, t->prefix, name_of(t, path, owner->rule->states[k]));
            kn_status s = check_value(t, value, param, path, owner->rule->states[k]);
            if (s) return s;
            t->read++;
        }
        if (t->checks) continue;
        if (value.bits) {
            bool here = kn_device_of(value) == kn_device_of(param);
            value = kn_own(here ? kn_alias(value) : kn_to(value, kn_device_of(param)));
            kn_status s = kni_failure_dropped(value);
            if (s) return s;
        }
        kn_drop(slot->states[k]);
        slot->states[k] = value;
    }
    return t->name.failed ? kni_failure_memory(t->function) : KN_OK;
}

static kn_status visit(void *context, const kn_module_entry *entry)
{
    transfer *t = context;
    if (entry->buffer || entry->tied) return KN_OK;
    kn_tensor param = kn_value(*entry->param);
    int64_t at = kni_optim_slot_of(t->optim, param, entry->path);
    if (at < 0) return kni_failure_memory(t->function);
    kni_optim *owner = kni_optim_owner(t->optim, &t->optim->slots[at]);
    if (owner != t->optim) at = kni_optim_slot_of(owner, param, entry->path);
    if (at < 0) return kni_failure_memory(t->function);
    if (t->loads) return load_slot(t, owner, &owner->slots[at], param, entry->path);
    return save_slot(t, owner, &owner->slots[at], entry->path);
}

/* The name of the text that says which optimiser it was. */
static kn_status rule_text(kni_buffer *b, const char *prefix, const char *function)
{
    kni_buffer_format(b, "%soptimizer", prefix);
    return b->failed ? kni_failure_memory(function) : KN_OK;
}

kn_status kn_optim_save(kn_optim handle, kn_module module, kn_state state, const char *prefix)
{
    KNI_USE(optim, optim, handle);
    if (!optim) return KNI_NO_OBJECT(handle);
    KNI_USE_OTHER(state, there, state);
    if (!there) return KNI_NO_OBJECT(state);
    transfer t = {
        .optim = optim, .state = state, .prefix = prefix ? prefix : "", .function = "kn_optim_save"};
    kn_status s = kni_module_ready(module, t.function);
    if (s == KN_OK) s = rule_text(&t.name, t.prefix, t.function);
    if (s == KN_OK) s = kn_state_put_text(state, kni_buffer_string(&t.name), optim->rule->name);
    if (s == KN_OK)
        s = optim->rule == &kni_rule_lbfgs ? kni_lbfgs_save(optim, state, t.prefix)
                                           : kn_module_visit(module, visit, &t);
    kni_buffer_free(&t.name);
    return s;
}

/* ---- entries that belong to no param */

typedef struct search {
    transfer *t;
    const char *name; /* behind the prefix */
    bool known;       /* the entry is some param's */
} search;

static kn_status is_known(void *context, const kn_module_entry *entry)
{
    search *q = context;
    size_t length = strlen(entry->path);
    if (entry->buffer || entry->tied || strncmp(q->name, entry->path, length) != 0 || q->name[length] != '.')
        return KN_OK;
    int64_t at = kni_optim_slot_of(q->t->optim, kn_value(*entry->param), entry->path);
    if (at < 0) return kni_failure_memory(q->t->function);
    kni_optim *owner = kni_optim_owner(q->t->optim, &q->t->optim->slots[at]);
    const char *last = q->name + length + 1;
    bool known = !strcmp(last, "step");
    for (int k = 0; k < KNI_OPTIM_STATES && !known; k++)
        known = (owner->rule->used(owner) >> k & 1) && !strcmp(last, owner->rule->states[k]);
    q->known = q->known || known;
    return KN_OK;
}

static int64_t count_entries(const transfer *t)
{
    int64_t count = 0;
    size_t length = strlen(t->prefix);
    for (int64_t i = 0; i < kn_state_count(t->state); i++)
        count += !strncmp(kn_state_name(t->state, i, NULL), t->prefix, length);
    return count;
}

/* Without a prefix the rest of the state may be anybody's. */
static kn_status refuse_unknown(transfer *t, kn_module module)
{
    size_t length = strlen(t->prefix);
    if (length == 0 || t->read == t->under) return KN_OK;
    for (int64_t i = 0; i < kn_state_count(t->state); i++) {
        const char *name = kn_state_name(t->state, i, NULL);
        if (strncmp(name, t->prefix, length) != 0) continue;
        search found = {t, name + length, false};
        kn_status s = kn_module_visit(module, is_known, &found);
        if (s) return s;
        if (!found.known)
            return kni_failure(KN_ERROR_ARGUMENT,
                               "%s: the state has %.200s, which no param of this module and optimiser has",
                               t->function, name);
    }
    return KN_OK;
}

kn_status kn_optim_load(kn_optim handle, kn_module module, kn_state state, const char *prefix)
{
    KNI_USE(optim, optim, handle);
    if (!optim) return KNI_NO_OBJECT(handle);
    KNI_USE_OTHER(state, there, state);
    if (!there) return KNI_NO_OBJECT(state);
    transfer t = {
        .optim = optim, .state = state, .prefix = prefix ? prefix : "", .function = "kn_optim_load"};
    t.loads = t.checks = true;
    kn_status s = kni_module_ready(module, t.function);
    if (s == KN_OK) s = rule_text(&t.name, t.prefix, t.function);
    const char *rule = s == KN_OK ? kn_state_get_text(state, kni_buffer_string(&t.name)) : NULL;
    if (s == KN_OK && (!rule || strcmp(rule, optim->rule->name) != 0))
        s = kni_failure(KN_ERROR_ARGUMENT, "%s: the state %s %s, the optimiser is %s", t.function,
                        rule ? "is of" : "has no text", rule ? rule : kni_buffer_string(&t.name),
                        optim->rule->name);
    if (s == KN_OK && optim->rule == &kni_rule_lbfgs) {
        s = kni_lbfgs_load(optim, state, t.prefix);
    } else if (s == KN_OK) {
        t.under = count_entries(&t);
        s = kn_module_visit(module, visit, &t);
        if (s == KN_OK) s = refuse_unknown(&t, module);
        t.checks = false;
        if (s == KN_OK) s = kn_module_visit(module, visit, &t);
    }
    kni_buffer_free(&t.name);
    return s;
}
