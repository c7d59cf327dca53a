/* What trains and writes files, with flat arguments. */
#include <kn.h>
#include <kn/store.h>
#include <kn/update.h>

#define EXPORT(name) __attribute__((export_name(#name)))

int32_t kjs_param_set(kn_tensor handle, kn_tensor value);
EXPORT(kjs_param_set) int32_t kjs_param_set(kn_tensor handle, kn_tensor value)
{
    kn_param p = {handle};
    return kn_param_set(&p, value);
}

void kjs_param_drop(kn_tensor handle);
EXPORT(kjs_param_drop) void kjs_param_drop(kn_tensor handle)
{
    kn_param p = {handle};
    kn_param_drop(&p);
}

/* NULL after a failure. */
kn_grads kjs_backward(kn_tensor loss);
EXPORT(kjs_backward) kn_grads kjs_backward(kn_tensor loss)
{
    kn_grads grads = NULL;
    return kn_backward(loss, &grads) == KN_OK ? grads : NULL;
}

/* numbers: lr, momentum, dampening, weight decay, Nesterov, first. buffer: a cell with the state, NULL without momentum. */
int32_t kjs_sgd(kn_tensor param, kn_tensor gradient, kn_tensor *buffer, const double *numbers);
EXPORT(kjs_sgd) int32_t kjs_sgd(kn_tensor param, kn_tensor gradient, kn_tensor *buffer, const double *numbers)
{
    kn_param p = {param};
    return kn_sgd_update(&p, gradient, buffer,
                         &(kn_sgd_update_args){.lr = numbers[0],
                                               .momentum = numbers[1],
                                               .dampening = numbers[2],
                                               .weight_decay = numbers[3],
                                               .nesterov = numbers[4] != 0,
                                               .first = numbers[5] != 0});
}

/* numbers: lr, beta1, beta2, eps, weight decay, decoupled, step. state: two cells. */
int32_t kjs_adam(kn_tensor param, kn_tensor gradient, kn_tensor *state, const double *numbers);
EXPORT(kjs_adam)
int32_t kjs_adam(kn_tensor param, kn_tensor gradient, kn_tensor *state, const double *numbers)
{
    kn_param p = {param};
    return kn_adam_update(&p, gradient, &state[0], &state[1], NULL,
                          &(kn_adam_update_args){.lr = numbers[0],
                                                 .beta1 = numbers[1],
                                                 .beta2 = numbers[2],
                                                 .eps = numbers[3],
                                                 .weight_decay = numbers[4],
                                                 .decoupled = numbers[5] != 0,
                                                 .step = (int64_t)numbers[6]});
}

/* The file of a state in *data, to be given to kjs_free; its length, or -1. */
int64_t kjs_state_write(kn_state state, void **data);
EXPORT(kjs_state_write) int64_t kjs_state_write(kn_state state, void **data)
{
    size_t bytes = 0;
    return kn_state_write_memory(state, data, &bytes, KN_STORE_SAFETENSORS) == KN_OK ? (int64_t)bytes : -1;
}

int32_t kjs_state_put(kn_state state, const char *name, kn_tensor value);
EXPORT(kjs_state_put) int32_t kjs_state_put(kn_state state, const char *name, kn_tensor value)
{
    return kn_state_put(state, "", name, value);
}
