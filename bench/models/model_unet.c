/* A U-Net with four halvings, batch norm and transposed convolutions on the way up; two classes for each pixel. */
#include "bench_models.h"

enum { DEPTH = 4, NARROW = 64 };

typedef struct Pair {
    kn_nn_conv2d conv1, conv2;
    kn_nn_batch_norm bn1, bn2;
} Pair;
static const kn_module_type Pair_type = {"Pair", sizeof(Pair),
                                         (const kn_field[]){KN_MODULE(Pair, conv1, kn_nn_conv2d),
                                                            KN_MODULE(Pair, bn1, kn_nn_batch_norm),
                                                            KN_MODULE(Pair, conv2, kn_nn_conv2d),
                                                            KN_MODULE(Pair, bn2, kn_nn_batch_norm),
                                                            {0}}};

typedef struct UNet {
    Pair down[DEPTH + 1], up[DEPTH];
    kn_nn_conv_transpose2d wider[DEPTH];
    kn_nn_conv2d classes;
} UNet;
static const kn_module_type UNet_type = {"UNet", sizeof(UNet),
                                         (const kn_field[]){KN_ARRAY(UNet, down, Pair),
                                                            KN_ARRAY(UNet, wider, kn_nn_conv_transpose2d),
                                                            KN_ARRAY(UNet, up, Pair),
                                                            KN_MODULE(UNet, classes, kn_nn_conv2d),
                                                            {0}}};

static void pair_init(kn_status *s, Pair *p, int64_t in, int64_t out)
{
    bench_conv2d(s, &p->conv1, &(bench_conv){.in = in, .out = out, .kernel = 3});
    bench_batch_norm(s, &p->bn1, out);
    bench_conv2d(s, &p->conv2, &(bench_conv){.in = out, .out = out, .kernel = 3});
    bench_batch_norm(s, &p->bn2, out);
}

static kn_status unet_init(void *self)
{
    UNet *m = self;
    kn_status s = KN_OK;
    for (int i = 0; i <= DEPTH; i++) pair_init(&s, &m->down[i], i ? NARROW << (i - 1) : 3, NARROW << i);
    for (int i = 0; i < DEPTH; i++) {
        int64_t out = NARROW << (DEPTH - 1 - i);
        bench_conv_transpose2d(
            &s, &m->wider[i],
            &(bench_conv){.in = 2 * out, .out = out, .kernel = 2, .stride = 2, .padding = -1, .bias = true});
        pair_init(&s, &m->up[i], 2 * out, out);
    }
    bench_conv2d(&s, &m->classes, &(bench_conv){.in = NARROW, .out = 2, .kernel = 1, .bias = true});
    return s;
}

static kn_tensor pair_forward(const Pair *p, kn_tensor x)
{
    x = kn_relu(kn_nn_batch_norm_forward(&p->bn1, kn_nn_conv2d_forward(&p->conv1, x)));
    return kn_relu(kn_nn_batch_norm_forward(&p->bn2, kn_nn_conv2d_forward(&p->conv2, x)));
}

static kn_tensor unet_forward(const void *self, const kn_tensor *x, double dropout)
{
    const UNet *m = self;
    kn_tensor sides[DEPTH], y = x[0];
    (void)dropout;
    for (int i = 0; i < DEPTH; i++) {
        sides[i] = kn_keep(pair_forward(&m->down[i], y));
        y = kn_max_pool2d(sides[i], KN_INTS(2, 2), NULL);
    }
    y = pair_forward(&m->down[DEPTH], y);
    for (int i = 0; i < DEPTH; i++) {
        y = kn_nn_conv_transpose2d_forward(&m->wider[i], y);
        y = pair_forward(&m->up[i], kn_concat((kn_tensor[]){sides[DEPTH - 1 - i], y}, 2, 1));
    }
    return kn_nn_conv2d_forward(&m->classes, y);
}

/* Classes are axis 1. */
static kn_tensor unet_loss(const void *self, const kn_tensor *x, double dropout, int phase)
{
    (void)phase;
    return kn_cross_entropy(unet_forward(self, x, dropout), x[1], NULL);
}

const bench_model bench_unet = {
    .name = "unet",
    .family = "vision",
    .text = "U-Net, 64 to 1024 channels, 192 x 192",
    .batch = 8,
    .answers = 64,
    .n_given = 1,
    .inputs = {{BENCH_REALS, 0, {-1, 3, 192, 192}}, {BENCH_INDICES, 2, {-1, 192, 192}}},
    .type = &UNet_type,
    .init = unet_init,
    .forward = unet_forward,
    .loss = unet_loss,
};
