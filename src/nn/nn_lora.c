/* Low-rank adapters: putting them onto the linear layers of a module, merging and removing them. */
#include "nn/layer.h"
#include "nn/module_walk.h"
#include "support/failure.h"
#include "support/pattern.h"
#include <kn/contraction.h>
#include <kn/elementwise.h>
#include <kn/nn/linear.h>
#include <kn/tensor.h>
#include <stdlib.h>

typedef struct work {
    const regex_t *pattern; /* NULL: all */
    kn_lora_args args;
    int64_t matches;
    bool undo; /* remove the adapters of this call, which have a rank below 0 until all are made */
} work;

static kn_status make_adapter(const kn_nn_linear *m, const kn_lora_args *args, kn_nn_lora **out)
{
    kn_nn_lora *l = kn_module_list(&kn_nn_lora_type, 1);
    if (!l) return KN_ERROR_MEMORY;
    kn_nn_lora made = {.rank = -args->rank, .alpha = args->alpha, .dropout = args->dropout, .training = true};
    kn_dtype dtype = kn_dtype_of(kn_value(m->weight));
    kn_initializer zeros = {KN_INIT_ZEROS, 0, 0, 0, false}, usual = {KN_INIT_DEFAULT, 0, 0, 0, false};
    kn_device before = kn_device_current();
    kn_device_use(kn_device_of(kn_value(m->weight)));
    kn_status s =
        kni_layer_param(&made.a, NULL, usual, KN_SHAPE(args->rank, m->in_features), dtype, m->in_features);
    if (s == KN_OK)
        s = kni_layer_param(&made.b, NULL, zeros, KN_SHAPE(m->out_features, args->rank), dtype, 0);
    kn_device_use(before);
    s = kni_layer_finish(KN_MODULE_OF(kn_nn_lora, &made), l, s);
    if (s != KN_OK)
        free(l);
    else
        *out = l;
    return s;
}

static void remove_adapter(kn_nn_linear *m)
{
    kn_module_drop(KN_MODULE_OF(kn_nn_lora, m->lora));
    free(m->lora);
    m->lora = NULL;
}

static kn_status apply_one(kni_walk *w, kn_module module)
{
    work *k = w->context;
    if (module.type != &kn_nn_linear_type) return KN_OK;
    kn_nn_linear *m = module.self;
    if (m->weight.handle.bits == 0) return KN_OK;
    if (k->pattern && regexec(k->pattern, w->path, 0, NULL, 0) != 0) return KN_OK;
    k->matches++;
    return m->lora ? KN_OK : make_adapter(m, &k->args, &m->lora);
}

/* Makes the adapters of this call valid, or removes them. */
static kn_status settle_one(kni_walk *w, kn_module module)
{
    const work *k = w->context;
    kn_nn_linear *m = module.type == &kn_nn_linear_type ? module.self : NULL;
    if (!m || !m->lora || m->lora->rank > 0) return KN_OK;
    if (k->undo)
        remove_adapter(m);
    else
        m->lora->rank = -m->lora->rank;
    return KN_OK;
}

static kn_status freeze_others(void *context, const kn_module_entry *entry)
{
    (void)context;
    if (!entry->buffer) kn_param_freeze(entry->param, entry->owner != &kn_nn_lora_type);
    return KN_OK;
}

kn_status kn_lora_apply(kn_module module, const char *pattern, const kn_lora_args *args)
{
    work k = {0};
    regex_t compiled;
    if (args) k.args = *args;
    if (k.args.rank == 0) k.args.rank = 8;
    k.args.alpha = kn_real_or(k.args.alpha, (double)k.args.rank);
    k.args.dropout = kn_real_or(k.args.dropout, 0);
    if (k.args.rank < 0 || !(k.args.dropout >= 0 && k.args.dropout <= 1))
        return kni_failure(KN_ERROR_ARGUMENT,
                           "kn_lora_apply: the rank must be at least 1 and dropout within 0 and 1");
    if (pattern) {
        kn_status bad = kni_pattern_compile(&compiled, pattern, REG_NOSUB, "kn_lora_apply");
        if (bad) return bad;
        k.pattern = &compiled;
    }
    kn_status s =
        kni_walk_module(&(kni_walk){.enter = apply_one, .context = &k, .function = "kn_lora_apply"}, module);
    if (pattern) regfree(&compiled);
    k.undo = s != KN_OK;
    /* What this walk cannot reach the first could not either, and has told so. */
    kni_failure_held held;
    kni_failure_hold(&held);
    (void)kni_walk_module(&(kni_walk){.enter = settle_one, .context = &k, .function = "kn_lora_apply"},
                          module);
    (void)kni_failure_release(&held, KN_OK, KN_NONE);
    if (s == KN_OK && k.matches == 0)
        return kni_failure(KN_ERROR_ARGUMENT,
                           "kn_lora_apply: no linear layer of %s has a path that matches '%.200s'",
                           module.type->name, pattern ? pattern : "");
    return s == KN_OK ? kni_module_visit(module, freeze_others, NULL, __func__) : s;
}

static kn_status merge_one(kni_walk *w, kn_module module)
{
    (void)w;
    kn_nn_linear *m = module.type == &kn_nn_linear_type ? module.self : NULL;
    if (!m || !m->lora) return KN_OK;
    const kn_nn_lora *l = m->lora;
    kn_scope scope = kn_scope_begin();
    kn_no_grad_begin();
    kn_tensor change = kn_mul_scalar(kn_matmul(kn_value(l->b), kn_value(l->a)), l->alpha / (double)l->rank);
    kn_tensor merged = kn_add(kn_value(m->weight), change);
    kn_no_grad_end();
    kn_status s = kn_param_set(&m->weight, merged);
    kn_scope_end(scope, KN_NONE);
    if (s == KN_OK) remove_adapter(m);
    return s;
}

static kn_status remove_one(kni_walk *w, kn_module module)
{
    (void)w;
    kn_nn_linear *m = module.type == &kn_nn_linear_type ? module.self : NULL;
    if (m && m->lora) remove_adapter(m);
    return KN_OK;
}

kn_status kn_lora_merge(kn_module module)
{
    return kni_walk_module(&(kni_walk){.enter = merge_one, .function = "kn_lora_merge"}, module);
}

void kn_lora_remove(kn_module module)
{
    (void)kni_walk_module(&(kni_walk){.enter = remove_one, .function = "kn_lora_remove"}, module);
}
