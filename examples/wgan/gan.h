/* The two networks of a GAN for digits and their losses. */
#ifndef GAN_H
#define GAN_H

#include <kn/nn.h>

enum { SIDE = 28, PIXELS = SIDE * SIDE, LATENT = 64 };

/* Random numbers in, pixels out. */
typedef struct Generator {
    kn_nn_linear in, middle, out;
    kn_nn_batch_norm norm1, norm2;
} Generator;
extern const kn_module_type Generator_type;

/* Pixels in, one number out: high for real digits, low for made ones. */
typedef struct Critic {
    kn_nn_linear in, middle, out;
} Critic;
extern const kn_module_type Critic_type;

typedef struct Gan {
    Generator generator;
    Critic critic;
} Gan;
extern const kn_module_type Gan_type;

kn_status gan_init(Gan *gan);
/* n made digits [n, PIXELS], each pixel 0 to 1. */
kn_tensor generate(const Generator *generator, int64_t n);
/* How much lower the critic rates made digits than real ones: an estimate of the Wasserstein distance of the two. */
kn_tensor critic_distance(const Critic *critic, kn_tensor real, kn_tensor made);
/* mean((|d critic(x) / dx| - 1)^2) at random points x between real and made digits; can be differentiated again. */
kn_tensor gradient_penalty(const Critic *critic, kn_tensor real, kn_tensor made);

#endif
