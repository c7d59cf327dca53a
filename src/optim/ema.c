/* The exponential moving average of a module's weights. */
#include "core/objects.h"
#include "optim/param_list.h"
#include "support/buffer.h"
#include "support/failure.h"
#include "support/module_ready.h"
#include <kn/device.h>
#include <kn/elementwise.h>
#include <kn/optim.h>
#include <kn/tensor.h>
#include <kn/update.h>
#include <stdlib.h>

typedef struct kni_ema {
    kni_param_list averages;
    double decay;
    bool warm_up;
    int64_t updates;
} kni_ema;

typedef struct ema_walk {
    kni_ema *ema;
    const char *function, *prefix;
    kn_state state;
    kn_tensor minus;
    double weight;
    int64_t hint;
    bool checks;
} ema_walk;

static bool counts(const kn_module_entry *entry)
{
    return !entry->buffer && !entry->tied && kn_dtype_is_float(kn_dtype_of(kn_value(*entry->param)));
}

/* The average of the entry's param, NULL after a failure. */
static kn_param *average_of(ema_walk *w, const kn_module_entry *entry)
{
    kn_param *average = kni_param_list_find(&w->ema->averages, kn_value(*entry->param), &w->hint);
    if (!average)
        kni_failure(KN_ERROR_ARGUMENT, "%s: %s is not a param of the module that the average was made for",
                    w->function, entry->path);
    return average;
}

static kn_status add_one(void *context, const kn_module_entry *entry)
{
    ema_walk *w = context;
    if (!counts(entry)) return KN_OK;
    kn_tensor value = kn_value(*entry->param);
    return kni_param_list_add(&w->ema->averages, value, kn_mul_scalar(value, 1), w->function);
}

static void destroy_ema(void *object)
{
    kni_ema *ema = object;
    kni_param_list_free(&ema->averages);
    free(ema);
}

const kni_object_kind kni_kind_ema = {"kn_ema", "average", "freed", destroy_ema};

kn_ema kn_ema_make(kn_module module, double decay, bool warm_up)
{
    if (!(decay >= 0 && decay <= 1)) {
        kni_failure(KN_ERROR_ARGUMENT, "kn_ema_make: the decay is %s; 0 to 1", KNI_NUMBER(decay));
        return NULL;
    }
    kni_ema *ema = calloc(1, sizeof *ema);
    if (!ema) {
        kni_failure_memory("kn_ema_make");
        return NULL;
    }
    ema->decay = decay;
    ema->warm_up = warm_up;
    kn_no_grad_begin();
    kn_status s = kni_module_filled(module, "kn_ema_make");
    if (s == KN_OK) s = kn_module_visit(module, add_one, &(ema_walk){.ema = ema, .function = "kn_ema_make"});
    kn_no_grad_end();
    if (s == KN_OK) return kni_object_make(&kni_kind_ema, ema, __func__);
    destroy_ema(ema);
    return NULL;
}

void kn_ema_free(kn_ema ema) { kni_object_free(ema, &kni_kind_ema, __func__); }

static kn_status run(ema_walk *w, kn_module module, kn_module_visit_fn fn)
{
    kn_scope scope = kn_scope_begin();
    kn_no_grad_begin();
    w->minus = kn_keep(kn_scalar(-1, KN_F32));
    kn_status s = kni_module_ready(module, w->function);
    if (s == KN_OK) s = kn_module_visit(module, fn, w);
    kn_no_grad_end();
    kn_scope_end(scope, KN_NONE);
    return s;
}

/* average = average - weight (average - value), as one update in place */
static kn_status update_one(void *context, const kn_module_entry *entry)
{
    ema_walk *w = context;
    kn_param *average = counts(entry) ? average_of(w, entry) : NULL;
    if (!average) return counts(entry) ? KN_ERROR_ARGUMENT : KN_OK;
    kn_sgd_update_args args = {.lr = w->weight, .weight_decay = 1, .scale = w->minus};
    return kn_sgd_update(average, kn_value(*entry->param), NULL, &args);
}

kn_status kn_ema_update(kn_ema handle, kn_module module)
{
    KNI_USE(ema, ema, handle);
    if (!ema) return KNI_NO_OBJECT(handle);
    double decay = ema->decay;
    if (ema->warm_up) {
        double rising = (1 + (double)ema->updates) / (10 + (double)ema->updates);
        if (rising < decay) decay = rising;
    }
    ema_walk w = {.ema = ema, .function = "kn_ema_update", .weight = 1 - decay};
    kn_status s = run(&w, module, update_one);
    if (s == KN_OK) ema->updates++;
    return s;
}

static kn_status swap_one(void *context, const kn_module_entry *entry)
{
    ema_walk *w = context;
    kn_param *average = counts(entry) ? average_of(w, entry) : NULL;
    if (!average) return counts(entry) ? KN_ERROR_ARGUMENT : KN_OK;
    if (w->checks) return KN_OK;
    kn_tensor weight = kn_alias(kn_value(*entry->param));
    kn_status s = kn_param_set(entry->param, kn_alias(kn_value(*average)));
    return s ? s : kn_param_set(average, weight);
}

kn_status kn_ema_swap(kn_ema handle, kn_module module)
{
    KNI_USE(ema, ema, handle);
    if (!ema) return KNI_NO_OBJECT(handle);
    ema_walk w = {.ema = ema, .function = "kn_ema_swap", .checks = true};
    kn_status s = run(&w, module, swap_one);
    w.checks = false;
    return s ? s : run(&w, module, swap_one);
}

static kn_status save_one(void *context, const kn_module_entry *entry)
{
    ema_walk *w = context;
    kn_param *average = counts(entry) ? average_of(w, entry) : NULL;
    if (!average) return counts(entry) ? KN_ERROR_ARGUMENT : KN_OK;
    return kn_state_put(w->state, w->prefix, entry->path, kn_alias(kn_value(*average)));
}

kn_status kn_ema_save(kn_ema handle, kn_module module, kn_state state, const char *prefix)
{
    KNI_USE(ema, ema, handle);
    if (!ema) return KNI_NO_OBJECT(handle);
    ema_walk w = {.ema = ema, .function = "kn_ema_save", .state = state, .prefix = prefix ? prefix : ""};
    KNI_USE_OTHER(state, there, state);
    if (!there) return KNI_NO_OBJECT(state);
    kn_status s = run(&w, module, save_one);
    return s ? s : kn_state_put_int(state, w.prefix, "updates", ema->updates);
}

static kn_status load_one(void *context, const kn_module_entry *entry)
{
    ema_walk *w = context;
    kn_param *average = counts(entry) ? average_of(w, entry) : NULL;
    if (!average) return counts(entry) ? KN_ERROR_ARGUMENT : KN_OK;
    kn_tensor value = kn_state_get(w->state, w->prefix, entry->path), have = kn_value(*average);
    if (!value.bits)
        return kni_failure(KN_ERROR_ARGUMENT, "kn_ema_load: the state has no %s%s", w->prefix, entry->path);
    kn_shape a = kn_shape_of_tensor(value), b = kn_shape_of_tensor(have);
    bool fits = a.rank == b.rank && kn_dtype_of(value) == kn_dtype_of(have);
    for (int32_t i = 0; i < a.rank && fits; i++) fits = a.dims[i] == b.dims[i];
    if (!fits)
        return kni_failure(KN_ERROR_SHAPE, "kn_ema_load: %s%s does not have the shape and dtype of the param",
                           w->prefix, entry->path);
    if (w->checks) return KN_OK;
    bool here = kn_device_of(value) == kn_device_of(have);
    return kn_param_set(average, here ? kn_alias(value) : kn_to(value, kn_device_of(have)));
}

kn_status kn_ema_load(kn_ema handle, kn_module module, kn_state state, const char *prefix)
{
    KNI_USE(ema, ema, handle);
    if (!ema) return KNI_NO_OBJECT(handle);
    ema_walk w = {.ema = ema, .function = "kn_ema_load", .state = state, .prefix = prefix ? prefix : ""};
    int64_t updates;
    KNI_USE_OTHER(state, there, state);
    if (!there) return KNI_NO_OBJECT(state);
    if (!kn_state_get_int(state, w.prefix, "updates", &updates))
        return kni_failure(KN_ERROR_ARGUMENT, "kn_ema_load: the state has no %supdates", w.prefix);
    w.checks = true;
    kn_status s = run(&w, module, load_one);
    w.checks = false;
    if (s == KN_OK) s = run(&w, module, load_one);
    if (s == KN_OK) ema->updates = updates;
    return s;
}
