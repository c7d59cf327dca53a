/* The optimisers' updates of a param and its states: runs the row so that it may write over them, then rebinds them. */
#include "core/error.h"
#include "core/objects.h"
#include "ops/update_rules.h"
#include <kn/update.h>

/* states: places of owned handles, NULL where the rule's state is absent. The gradient and the scale are borrowed or, as
   temporaries, taken. */
static kn_status update(const kn_op *row, int n_states, kn_param *param, kn_tensor gradient,
                        kn_tensor *const *states, kn_tensor scale, const void *attributes)
{
    kn_tensor in[3 + KNI_UPDATE_STATES] = {{0}}, out[1 + KNI_UPDATE_STATES] = {{0}};
    uint64_t replaced = 1;
    if (!param) return kni_fail(KN_ERROR_ARGUMENT, "kn_%s: the param is NULL", row->name);
    in[0] = param->handle;
    in[1] = gradient;
    for (int i = 0; i < n_states; i++) {
        if (!states[i]) continue;
        in[2 + i] = *states[i];
        replaced |= UINT64_C(4) << i;
    }
    in[2 + n_states] = scale;
    kni_apply_update(row, in, 3 + n_states, attributes, out, 1 + n_states, replaced);
    if (kni_is_poisoned(out[0])) return kni_failure_again(out[0]);
    kn_status s = kn_param_set(param, out[0]);
    for (int i = 0; i < n_states; i++) {
        if (!states[i])
            kn_drop(out[1 + i]);
        else if (s == KN_OK)
            s = kn_assign(states[i], out[1 + i]);
    }
    return s;
}

static kn_status no_arguments(const char *name)
{
    return kni_fail(KN_ERROR_ARGUMENT, "kn_%s: the arguments are NULL", name);
}

kn_status kn_sgd_update(kn_param *param, kn_tensor gradient, kn_tensor *buffer,
                        const kn_sgd_update_args *args)
{
    if (!args) return no_arguments("sgd_update");
    kni_sgd_attributes a = {args->lr,           args->momentum, args->dampening,
                            args->weight_decay, args->nesterov, args->first};
    kn_tensor *const states[] = {buffer};
    return update(&kni_op_sgd_update, 1, param, gradient, states, args->scale, &a);
}

kn_status kn_adam_update(kn_param *param, kn_tensor gradient, kn_tensor *m, kn_tensor *v, kn_tensor *w,
                         const kn_adam_update_args *args)
{
    if (!args) return no_arguments("adam_update");
    kni_adam_attributes a = {args->lr,           args->beta1, args->beta2,     args->eps,
                             args->weight_decay, args->step,  args->decoupled, args->cautious};
    kn_tensor *const states[] = {m, v, w};
    return update(&kni_op_adam_update, 3, param, gradient, states, args->scale, &a);
}

kn_status kn_rmsprop_update(kn_param *param, kn_tensor gradient, kn_tensor *square, kn_tensor *mean,
                            kn_tensor *buffer, const kn_rmsprop_update_args *args)
{
    if (!args) return no_arguments("rmsprop_update");
    kni_rmsprop_attributes a = {args->lr, args->alpha, args->eps, args->weight_decay, args->momentum};
    kn_tensor *const states[] = {square, mean, buffer};
    return update(&kni_op_rmsprop_update, 3, param, gradient, states, args->scale, &a);
}

kn_status kn_adagrad_update(kn_param *param, kn_tensor gradient, kn_tensor *sum,
                            const kn_adagrad_update_args *args)
{
    if (!args) return no_arguments("adagrad_update");
    kni_adagrad_attributes a = {args->lr, args->lr_decay, args->eps, args->weight_decay, args->step};
    kn_tensor *const states[] = {sum};
    return update(&kni_op_adagrad_update, 1, param, gradient, states, args->scale, &a);
}

kn_status kn_adan_update(kn_param *param, kn_tensor gradient, kn_tensor *m, kn_tensor *d, kn_tensor *v,
                         kn_tensor *previous, const kn_adan_update_args *args)
{
    if (!args) return no_arguments("adan_update");
    kni_adan_attributes a = {args->lr,  args->beta1,        args->beta2, args->beta3,
                             args->eps, args->weight_decay, args->step,  args->no_prox};
    kn_tensor *const states[] = {m, d, v, previous};
    return update(&kni_op_adan_update, 4, param, gradient, states, args->scale, &a);
}
