/* Convolutions over one and three axes: a temporal network with dilated causal convolutions, and a small network over volumes. */
#include "bench_models.h"

/* ---- temporal: residual blocks of two causal convolutions whose dilation doubles */

enum { BLOCKS = 6, CHANNELS = 128, SENSORS = 16 };

typedef struct Causal {
    kn_nn_conv1d conv1, conv2;
    kn_nn_conv1d shortcut; /* of the first block */
} Causal;
static const kn_module_type Causal_type = {"Causal", sizeof(Causal),
                                           (const kn_field[]){KN_MODULE(Causal, conv1, kn_nn_conv1d),
                                                              KN_MODULE(Causal, conv2, kn_nn_conv1d),
                                                              KN_MODULE(Causal, shortcut, kn_nn_conv1d),
                                                              {0}}};

typedef struct Temporal {
    Causal blocks[BLOCKS];
    kn_nn_linear fc;
} Temporal;
static const kn_module_type Temporal_type = {
    "Temporal", sizeof(Temporal),
    (const kn_field[]){KN_ARRAY(Temporal, blocks, Causal), KN_MODULE(Temporal, fc, kn_nn_linear), {0}}};

static kn_status temporal_init(void *self)
{
    Temporal *m = self;
    kn_status s = KN_OK;
    for (int i = 0; i < BLOCKS; i++) {
        int64_t in = i ? CHANNELS : SENSORS;
        bench_conv c = {
            .in = in, .out = CHANNELS, .kernel = 3, .dilation = 1 << i, .padding = -1, .bias = true};
        bench_conv1d(&s, &m->blocks[i].conv1, &c);
        c.in = CHANNELS;
        bench_conv1d(&s, &m->blocks[i].conv2, &c);
    }
    bench_conv1d(&s, &m->blocks[0].shortcut,
                 &(bench_conv){.in = SENSORS, .out = CHANNELS, .kernel = 1, .bias = true});
    bench_linear(&s, &m->fc, CHANNELS, 10, true);
    return s;
}

/* Padding on the left alone: nothing sees what comes later. */
static kn_tensor causal(const kn_nn_conv1d *conv, int i, kn_tensor x)
{
    kn_pad_args pad = {.before = KN_INTS((int64_t)2 << i), .after = KN_INTS(0)};
    return kn_relu(kn_nn_conv1d_forward(conv, kn_pad(x, &pad)));
}

static kn_tensor temporal_forward(const void *self, const kn_tensor *x, double dropout)
{
    const Temporal *m = self;
    kn_tensor y = x[0];
    for (int i = 0; i < BLOCKS; i++) {
        const Causal *b = &m->blocks[i];
        y = kn_keep(y);
        kn_tensor h = kn_dropout(causal(&b->conv1, i, y), dropout, dropout > 0);
        h = kn_dropout(causal(&b->conv2, i, h), dropout, dropout > 0);
        y = kn_relu(kn_add(h, i ? y : kn_nn_conv1d_forward(&b->shortcut, y)));
    }
    return kn_nn_linear_forward(&m->fc, kn_select(y, 2, -1));
}

const bench_model bench_temporal = {
    .name = "tcn",
    .family = "other",
    .text = "temporal convolutions, 6 blocks of 128, 16 x 512",
    .batch = 64,
    .answers = 64,
    .adam = true,
    .n_given = 1,
    .inputs = {{BENCH_REALS, 0, {-1, SENSORS, 512}}, {BENCH_INDICES, 10, {-1}}},
    .type = &Temporal_type,
    .init = temporal_init,
    .forward = temporal_forward,
};

/* ---- volumes */

enum { STAGES = 4 };

typedef struct Volume {
    kn_nn_conv3d convs[STAGES];
    kn_nn_batch_norm norms[STAGES];
    kn_nn_linear fc1, fc2;
} Volume;
static const kn_module_type Volume_type = {"Volume", sizeof(Volume),
                                           (const kn_field[]){KN_ARRAY(Volume, convs, kn_nn_conv3d),
                                                              KN_ARRAY(Volume, norms, kn_nn_batch_norm),
                                                              KN_MODULE(Volume, fc1, kn_nn_linear),
                                                              KN_MODULE(Volume, fc2, kn_nn_linear),
                                                              {0}}};

static kn_status volume_init(void *self)
{
    Volume *m = self;
    kn_status s = KN_OK;
    int64_t in = 3, out = 32;
    for (int i = 0; i < STAGES; i++, in = out, out *= 2) {
        bench_conv3d(&s, &m->convs[i], &(bench_conv){.in = in, .out = out, .kernel = 3});
        bench_batch_norm(&s, &m->norms[i], out);
    }
    bench_linear(&s, &m->fc1, in, 256, true);
    bench_linear(&s, &m->fc2, 256, 101, true);
    return s;
}

static kn_tensor volume_forward(const void *self, const kn_tensor *x, double dropout)
{
    const Volume *m = self;
    kn_tensor y = x[0];
    for (int i = 0; i < STAGES; i++) {
        y = kn_relu(kn_nn_batch_norm_forward(&m->norms[i], kn_nn_conv3d_forward(&m->convs[i], y)));
        y = kn_max_pool3d(y, KN_INTS(2, 2, 2), NULL);
    }
    y = kn_relu(kn_nn_linear_forward(&m->fc1, bench_global_mean(y)));
    return kn_nn_linear_forward(&m->fc2, kn_dropout(y, dropout, dropout > 0));
}

const bench_model bench_volume = {
    .name = "cnn3d",
    .family = "vision",
    .text = "four 3-D convolutions of 32 to 256, 16 x 64 x 64",
    .batch = 16,
    .answers = 1,
    .n_given = 1,
    .inputs = {{BENCH_REALS, 0, {-1, 3, 16, 64, 64}}, {BENCH_INDICES, 101, {-1}}},
    .type = &Volume_type,
    .init = volume_init,
    .forward = volume_forward,
};
