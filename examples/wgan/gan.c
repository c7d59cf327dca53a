/* The networks and losses; see gan.h. */
#include "gan.h"
#include <kn.h>

const kn_module_type Generator_type = {"Generator", sizeof(Generator),
                                       (const kn_field[]){KN_MODULE(Generator, in, kn_nn_linear),
                                                          KN_MODULE(Generator, norm1, kn_nn_batch_norm),
                                                          KN_MODULE(Generator, middle, kn_nn_linear),
                                                          KN_MODULE(Generator, norm2, kn_nn_batch_norm),
                                                          KN_MODULE(Generator, out, kn_nn_linear),
                                                          {0}}};
const kn_module_type Critic_type = {"Critic", sizeof(Critic),
                                    (const kn_field[]){KN_MODULE(Critic, in, kn_nn_linear),
                                                       KN_MODULE(Critic, middle, kn_nn_linear),
                                                       KN_MODULE(Critic, out, kn_nn_linear),
                                                       {0}}};
const kn_module_type Gan_type = {
    "Gan", sizeof(Gan),
    (const kn_field[]){KN_MODULE(Gan, generator, Generator), KN_MODULE(Gan, critic, Critic), {0}}};

kn_status gan_init(Gan *gan)
{
    Generator *g = &gan->generator;
    Critic *c = &gan->critic;
    kn_status s = kn_nn_linear_init(&g->in, LATENT, 256, NULL);
    if (s == KN_OK) s = kn_nn_linear_init(&g->middle, 256, 256, NULL);
    if (s == KN_OK) s = kn_nn_batch_norm_init(&g->norm1, 256, NULL);
    if (s == KN_OK) s = kn_nn_batch_norm_init(&g->norm2, 256, NULL);
    if (s == KN_OK) s = kn_nn_linear_init(&g->out, 256, PIXELS, NULL);
    if (s == KN_OK) s = kn_nn_linear_init(&c->in, PIXELS, 256, NULL);
    if (s == KN_OK) s = kn_nn_linear_init(&c->middle, 256, 128, NULL);
    if (s == KN_OK) s = kn_nn_linear_init(&c->out, 128, 1, NULL);
    return s;
}

kn_tensor generate(const Generator *generator, int64_t n)
{
    kn_tensor x = kn_random_normal(KN_SHAPE(n, LATENT), 0, 1, KN_F32);
    x = kn_relu(kn_nn_batch_norm_forward(&generator->norm1, kn_nn_linear_forward(&generator->in, x)));
    x = kn_relu(kn_nn_batch_norm_forward(&generator->norm2, kn_nn_linear_forward(&generator->middle, x)));
    return kn_sigmoid(kn_nn_linear_forward(&generator->out, x));
}

static kn_tensor rate(const Critic *critic, kn_tensor x)
{
    x = kn_leaky_relu(kn_nn_linear_forward(&critic->in, x), 0.2);
    x = kn_leaky_relu(kn_nn_linear_forward(&critic->middle, x), 0.2);
    return kn_nn_linear_forward(&critic->out, x); /* [n, 1] */
}

kn_tensor critic_distance(const Critic *critic, kn_tensor real, kn_tensor made)
{
    return kn_sub(kn_mean(rate(critic, real), KN_AXES_ALL, false),
                  kn_mean(rate(critic, made), KN_AXES_ALL, false));
}

kn_tensor gradient_penalty(const Critic *critic, kn_tensor real, kn_tensor made)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor share = kn_random_uniform(KN_SHAPE(kn_size(real, 0), 1), 0, 1, KN_F32);
    kn_tensor between = kn_require_grad(kn_lerp(real, made, share));
    /* Each rating depends on its own digit only, so the gradient of their sum holds the gradient of each. */
    kn_tensor ratings = kn_sum(rate(critic, between), KN_AXES_ALL, false), gradient;
    kn_status s = kn_grad(&ratings, NULL, 1, &between, 1, KN_GRAD_CREATE_GRAPH, &gradient);
    if (s) return kn_scope_end(scope, kn_poison(s, kn_last_error()));
    kn_tensor norm = kn_sqrt(kn_add_scalar(kn_sum(kn_square(gradient), KN_AXES(1), false), 1e-12));
    kn_tensor penalty = kn_mean(kn_square(kn_sub_scalar(norm, 1)), KN_AXES_ALL, false);
    return kn_scope_end(scope, penalty);
}
