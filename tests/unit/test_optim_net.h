/* The small network that the tests of optimisers train, made of the same numbers as tests/train/optim_trajectories.py. */
#ifndef TEST_OPTIM_NET_H
#define TEST_OPTIM_NET_H

#include "../support/check.h"
#include <kn/optim.h>
#include <stdlib.h>

enum { NET_PARAMS = 43 };

typedef struct Layer {
    kn_param weight, bias;
} Layer;
static const kn_module_type Layer_type = {
    "Layer", sizeof(Layer), (const kn_field[]){KN_PARAM(Layer, weight), KN_PARAM(Layer, bias), {0}}};

typedef struct Net {
    Layer in, out;
} Net;
static const kn_module_type Net_type = {
    "Net", sizeof(Net), (const kn_field[]){KN_MODULE(Net, in, Layer), KN_MODULE(Net, out, Layer), {0}}};

#define NET(net) KN_MODULE_OF(Net, net)

static inline kn_tensor numbers(int seed, kn_shape shape, kn_dtype dtype)
{
    double v[64];
    int n = 1;
    for (int32_t i = 0; i < shape.rank; i++) n *= (int)shape.dims[i];
    for (int k = 0; k < n; k++) v[k] = ((double)((k * 7919 + seed * 104729) % 101) - 50) / 64;
    return kn_cast(kn_from(v, KN_F64, shape), dtype);
}

static inline Net net_make(kn_dtype dtype)
{
    Net net;
    net.in.weight = kn_param_make(numbers(1, KN_SHAPE(5, 4), dtype));
    net.in.bias = kn_param_make(numbers(2, KN_SHAPE(5), dtype));
    net.out.weight = kn_param_make(numbers(3, KN_SHAPE(3, 5), dtype));
    net.out.bias = kn_param_make(numbers(4, KN_SHAPE(3), dtype));
    return net;
}

static inline void net_drop(Net *net)
{
    kn_param_drop(&net->in.weight);
    kn_param_drop(&net->in.bias);
    kn_param_drop(&net->out.weight);
    kn_param_drop(&net->out.bias);
}

/* The loss of batch `step` and its gradients. */
static inline double net_loss(const Net *net, int step, kn_grads *grads)
{
    kn_dtype dtype = kn_dtype_of(kn_value(net->in.weight));
    kn_scope scope = kn_scope_begin();
    kn_tensor x = numbers(100 + step % 4, KN_SHAPE(6, 4), dtype),
              y = numbers(200 + step % 4, KN_SHAPE(6, 3), dtype);
    kn_tensor h = kn_tanh(kn_linear(x, kn_value(net->in.weight), kn_value(net->in.bias)));
    kn_tensor error = kn_sub(kn_linear(h, kn_value(net->out.weight), kn_value(net->out.bias)), y);
    kn_tensor loss = kn_keep(kn_mean(kn_square(error), KN_AXES_ALL, false));
    double value = kn_item(loss);
    CHECK(kn_backward(loss, grads) == KN_OK);
    kn_scope_end(scope, KN_NONE);
    return value;
}

static inline void net_read(const Net *net, double *values)
{
    const kn_param p[] = {net->in.weight, net->in.bias, net->out.weight, net->out.bias};
    for (int i = 0; i < 4; i++) {
        int64_t n = kn_count(kn_value(p[i]));
        CHECK(kn_read_as(kn_value(p[i]), KN_F64, values, (size_t)n * sizeof *values) == KN_OK);
        values += n;
    }
}

/* One step of training on batch `step`; returns the loss before it. */
static inline double net_step(kn_optim optim, double lr, Net *net, int step)
{
    kn_grads grads = NULL;
    double loss = net_loss(net, step, &grads);
    kn_status s = kn_optim_step(optim, lr, NET(net), grads);
    if (s) printf("%s\n", kn_last_error());
    CHECK(s == KN_OK);
    kn_grads_free(grads);
    return loss;
}

static inline bool same_bits(const Net *a, const Net *b)
{
    double x[NET_PARAMS], y[NET_PARAMS];
    net_read(a, x);
    net_read(b, y);
    return memcmp(x, y, sizeof x) == 0;
}

/* Every optimiser, by the names of tests/train/optim_trajectories.py. */
static inline kn_optim with_bias_group(kn_optim optim)
{
    CHECK(kn_optim_add_group(optim, &(kn_optim_group){.pattern = "bias$", .optim = kn_optim_adamw(NULL)}) ==
          KN_OK);
    return optim;
}

static inline kn_optim with_clip(kn_clip_kind kind, double limit)
{
    kn_optim optim = kn_optim_sgd(&(kn_sgd_args){.momentum = 0.9});
    CHECK(kn_optim_set_clip(optim, kind, limit) == KN_OK);
    return optim;
}

static inline kn_optim with_groups(void)
{
    kn_optim optim = kn_optim_adamw(&(kn_adam_args){.weight_decay = 0.05});
    kn_optim_group biases = {.pattern = "\\.bias$", .lr_scale = 0.2, .no_decay = true};
    kn_optim_group last = {.pattern = "^out\\.weight$",
                           .optim = kn_optim_sgd(&(kn_sgd_args){.momentum = 0.9})};
    CHECK(kn_optim_add_group(optim, &biases) == KN_OK);
    CHECK(kn_optim_add_group(optim, &last) == KN_OK);
    return optim;
}

static inline kn_optim optim_named(const char *name)
{
#define IS(text) (!strcmp(name, text))
    if (IS("sgd")) return kn_optim_sgd(NULL);
    if (IS("sgd_momentum")) return kn_optim_sgd(&(kn_sgd_args){.momentum = 0.9});
    if (IS("sgd_dampening"))
        return kn_optim_sgd(&(kn_sgd_args){.momentum = 0.9, .dampening = 0.3, .weight_decay = 0.01});
    if (IS("sgd_nesterov"))
        return kn_optim_sgd(&(kn_sgd_args){.momentum = 0.9, .nesterov = true, .weight_decay = 0.02});
    if (IS("adam")) return kn_optim_adam(NULL);
    if (IS("adam_amsgrad"))
        return kn_optim_adam(
            &(kn_adam_args){.beta1 = 0.8, .beta2 = 0.95, .eps = 1e-6, .weight_decay = 0.02, .amsgrad = true});
    if (IS("adamw")) return kn_optim_adamw(NULL);
    if (IS("adamw_amsgrad")) return kn_optim_adamw(&(kn_adam_args){.weight_decay = 0.1, .amsgrad = true});
    if (IS("adamw_cautious")) return kn_optim_adamw(&(kn_adam_args){.weight_decay = 0.2, .cautious = true});
    if (IS("adan")) return kn_optim_adan(&(kn_adan_args){.weight_decay = 0.05});
    if (IS("adan_no_prox")) return kn_optim_adan(&(kn_adan_args){.weight_decay = 0.05, .no_prox = true});
    if (IS("adagrad")) return kn_optim_adagrad(NULL);
    if (IS("adagrad_all"))
        return kn_optim_adagrad(
            &(kn_adagrad_args){.lr_decay = 0.01, .weight_decay = 0.01, .initial_accumulator = 0.2});
    if (IS("rmsprop")) return kn_optim_rmsprop(NULL);
    if (IS("rmsprop_momentum"))
        return kn_optim_rmsprop(&(kn_rmsprop_args){.momentum = 0.9, .weight_decay = 0.01});
    if (IS("rmsprop_centered"))
        return kn_optim_rmsprop(&(kn_rmsprop_args){.momentum = 0.5, .centered = true, .alpha = 0.9});
    if (IS("muon")) return with_bias_group(kn_optim_muon(NULL));
    if (IS("muon_match"))
        return with_bias_group(kn_optim_muon(
            &(kn_muon_args){.match_rms_adamw = true, .plain_momentum = true, .momentum = 0.95}));
    if (IS("groups")) return with_groups();
    if (IS("clip_value")) return with_clip(KN_CLIP_VALUE, 0.05);
    if (IS("clip_norm")) return with_clip(KN_CLIP_NORM, 0.1);
    if (IS("clip_global")) return with_clip(KN_CLIP_GLOBAL_NORM, 0.2);
    if (IS("lbfgs")) return kn_optim_lbfgs(&(kn_lbfgs_args){.max_iterations = 6});
    if (IS("lbfgs_wolfe"))
        return kn_optim_lbfgs(&(kn_lbfgs_args){.max_iterations = 5, .history = 4, .strong_wolfe = true});
#undef IS
    return NULL;
}

static inline kn_status net_closure(void *context, double *loss, kn_grads *grads)
{
    *loss = net_loss(context, 0, grads);
    return KN_OK;
}

/* One step of any optimiser, L-BFGS included. */
static inline double any_step(const char *name, kn_optim optim, double lr, Net *net, int step)
{
    double loss = 0;
    if (strncmp(name, "lbfgs", 5) != 0) return net_step(optim, lr, net, step);
    kn_status s = kn_optim_step_closure(optim, lr, NET(net), net_closure, net, &loss);
    if (s) printf("%s\n", kn_last_error());
    CHECK(s == KN_OK);
    return loss;
}

typedef struct trajectory {
    const char *name;
    double lr, losses[10], params[NET_PARAMS];
} trajectory;

typedef struct rate_list {
    const char *name;
    int n;
    double rates[48];
} rate_list;

#endif
