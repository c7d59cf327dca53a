/* DCGAN on images of 64 x 64: a generator of transposed convolutions, and a discriminator. A step trains one, then the other. */
#include "bench_models.h"

enum { LAYERS = 5, NORMS = 4, NOISE = 100, WIDTH = 64 };

typedef struct Generator {
    kn_nn_conv_transpose2d convs[LAYERS];
    kn_nn_batch_norm norms[NORMS];
} Generator;
static const kn_module_type Generator_type = {
    "Generator", sizeof(Generator),
    (const kn_field[]){KN_ARRAY(Generator, convs, kn_nn_conv_transpose2d),
                       KN_ARRAY(Generator, norms, kn_nn_batch_norm),
                       {0}}};

/* The first layer and the last have no norm. */
typedef struct Discriminator {
    kn_nn_conv2d convs[LAYERS];
    kn_nn_batch_norm norms[NORMS - 1];
} Discriminator;
static const kn_module_type Discriminator_type = {
    "Discriminator", sizeof(Discriminator),
    (const kn_field[]){
        KN_ARRAY(Discriminator, convs, kn_nn_conv2d), KN_ARRAY(Discriminator, norms, kn_nn_batch_norm), {0}}};

typedef struct Dcgan {
    Discriminator judge;
    Generator maker;
} Dcgan;
static const kn_module_type Dcgan_type = {
    "Dcgan", sizeof(Dcgan),
    (const kn_field[]){KN_MODULE(Dcgan, judge, Discriminator), KN_MODULE(Dcgan, maker, Generator), {0}}};

/* Channels of images of 4 x 4 and up, as the generator makes them. */
static const int64_t widths[LAYERS + 1] = {NOISE, 8 * WIDTH, 4 * WIDTH, 2 * WIDTH, WIDTH, 3};

static kn_status dcgan_init(void *self)
{
    Dcgan *m = self;
    kn_status s = KN_OK;
    for (int i = 0; i < LAYERS; i++) {
        bool ends = i == 0; /* the end that has no image */
        bench_conv c = {.kernel = 4, .stride = ends ? 1 : 2, .padding = ends ? -1 : 1};
        c.in = widths[i];
        c.out = widths[i + 1];
        bench_conv_transpose2d(&s, &m->maker.convs[i], &c);
        if (i < NORMS) bench_batch_norm(&s, &m->maker.norms[i], c.out);
        c.in = widths[i + 1];
        c.out = ends ? 1 : widths[i];
        int k = LAYERS - 1 - i;
        bench_conv2d(&s, &m->judge.convs[k], &c);
        if (k > 0 && k < LAYERS - 1) bench_batch_norm(&s, &m->judge.norms[k - 1], c.out);
    }
    return s;
}

static kn_tensor make(const Generator *g, kn_tensor noise)
{
    kn_tensor y = noise;
    for (int i = 0; i < LAYERS; i++) {
        y = kn_nn_conv_transpose2d_forward(&g->convs[i], y);
        if (i < NORMS) y = kn_relu(kn_nn_batch_norm_forward(&g->norms[i], y));
    }
    return kn_tanh(y);
}

static kn_tensor judge(const Discriminator *d, kn_tensor y)
{
    for (int i = 0; i < LAYERS; i++) {
        y = kn_nn_conv2d_forward(&d->convs[i], y);
        if (i > 0 && i < LAYERS - 1) y = kn_nn_batch_norm_forward(&d->norms[i - 1], y);
        if (i < LAYERS - 1) y = kn_leaky_relu(y, 0.2);
    }
    return kn_flatten(y, 0, -1);
}

static kn_tensor dcgan_forward(const void *self, const kn_tensor *x, double dropout)
{
    (void)dropout;
    return make(&((const Dcgan *)self)->maker, x[0]);
}

static kn_tensor believed(kn_tensor scores, bool real)
{
    scores = kn_keep(scores);
    kn_tensor wanted = real ? kn_ones_like(scores) : kn_zeros_like(scores);
    return kn_binary_cross_entropy_with_logits(scores, wanted, NULL);
}

/* x: noise, images */
static kn_tensor dcgan_loss(const void *self, const kn_tensor *x, double dropout, int phase)
{
    const Dcgan *m = self;
    (void)dropout;
    if (phase == 1) return believed(judge(&m->judge, make(&m->maker, x[0])), true);
    kn_tensor made = kn_detach(make(&m->maker, x[0]));
    return kn_add(believed(judge(&m->judge, x[1]), true), believed(judge(&m->judge, made), false));
}

static kn_module dcgan_part(void *self, int phase)
{
    Dcgan *m = self;
    return phase ? KN_MODULE_OF(Generator, &m->maker) : KN_MODULE_OF(Discriminator, &m->judge);
}

const bench_model bench_dcgan = {
    .name = "dcgan",
    .family = "vision",
    .text = "DCGAN, 64 x 64, noise of 100",
    .batch = 128,
    .answers = 1,
    .adam = true,
    .n_given = 1,
    .inputs = {{BENCH_REALS, 0, {-1, NOISE, 1, 1}}, {BENCH_REALS, 0, {-1, 3, 64, 64}}},
    .type = &Dcgan_type,
    .init = dcgan_init,
    .forward = dcgan_forward,
    .loss = dcgan_loss,
    .part = dcgan_part,
    .phases = 2,
};
