/* ConvNeXt-T: depthwise 7 x 7, layer norm over channels, two linear layers and a scale for each channel. */
#include "bench_models.h"

typedef struct Next {
    kn_nn_conv2d depth;
    kn_nn_layer_norm norm;
    kn_nn_linear up, down;
    kn_param scale;
} Next;
static const kn_module_type Next_type = {"Next", sizeof(Next),
                                         (const kn_field[]){KN_MODULE(Next, depth, kn_nn_conv2d),
                                                            KN_MODULE(Next, norm, kn_nn_layer_norm),
                                                            KN_MODULE(Next, up, kn_nn_linear),
                                                            KN_MODULE(Next, down, kn_nn_linear),
                                                            KN_PARAM(Next, scale),
                                                            {0}}};

/* A norm and a convolution that halves the image; the first is the stem, with the norm behind it. */
typedef struct Halving {
    kn_nn_layer_norm norm;
    kn_nn_conv2d conv;
} Halving;
static const kn_module_type Halving_type = {"Halving", sizeof(Halving),
                                            (const kn_field[]){KN_MODULE(Halving, norm, kn_nn_layer_norm),
                                                               KN_MODULE(Halving, conv, kn_nn_conv2d),
                                                               {0}}};

typedef struct ConvNext {
    Halving halvings[4];
    Next *blocks;
    int32_t n_blocks;
    kn_nn_layer_norm norm;
    kn_nn_linear fc;
} ConvNext;
static const kn_module_type ConvNext_type = {"ConvNext", sizeof(ConvNext),
                                             (const kn_field[]){KN_ARRAY(ConvNext, halvings, Halving),
                                                                KN_LIST(ConvNext, blocks, n_blocks, Next),
                                                                KN_MODULE(ConvNext, norm, kn_nn_layer_norm),
                                                                KN_MODULE(ConvNext, fc, kn_nn_linear),
                                                                {0}}};

static const int32_t counts[4] = {3, 3, 9, 3};
static const int64_t widths[4] = {96, 192, 384, 768};

static kn_status convnext_init(void *self)
{
    ConvNext *m = self;
    kn_status s = KN_OK;
    int32_t total = counts[0] + counts[1] + counts[2] + counts[3], next = 0;
    m->blocks = bench_list(&s, &Next_type, total);
    m->n_blocks = m->blocks ? total : 0;
    for (int g = 0; g < 4; g++) {
        int64_t in = g ? widths[g - 1] : 3, w = widths[g], by = g ? 2 : 4;
        bench_layer_norm(&s, &m->halvings[g].norm, g ? in : w);
        bench_conv2d(
            &s, &m->halvings[g].conv,
            &(bench_conv){.in = in, .out = w, .kernel = by, .stride = by, .padding = -1, .bias = true});
        for (int32_t i = 0; i < counts[g] && m->blocks; i++) {
            Next *b = &m->blocks[next++];
            bench_conv2d(&s, &b->depth,
                         &(bench_conv){.in = w, .out = w, .kernel = 7, .groups = w, .bias = true});
            bench_layer_norm(&s, &b->norm, w);
            bench_linear(&s, &b->up, w, 4 * w, true);
            bench_linear(&s, &b->down, 4 * w, w, true);
            b->scale = kn_param_make(kn_full(KN_SHAPE(w), 0.1, KN_F32));
        }
    }
    bench_layer_norm(&s, &m->norm, widths[3]);
    bench_linear(&s, &m->fc, widths[3], 1000, true);
    return s;
}

static kn_tensor channels_last(kn_tensor x) { return kn_permute(x, KN_AXES(0, 2, 3, 1)); }
static kn_tensor channels_first(kn_tensor x) { return kn_permute(x, KN_AXES(0, 3, 1, 2)); }

static kn_tensor norm_channels(const kn_nn_layer_norm *norm, kn_tensor x)
{
    return channels_first(kn_nn_layer_norm_forward(norm, channels_last(x)));
}

static kn_tensor next_forward(const Next *b, kn_tensor x)
{
    x = kn_keep(x);
    kn_tensor y = kn_nn_layer_norm_forward(&b->norm, channels_last(kn_nn_conv2d_forward(&b->depth, x)));
    y = kn_nn_linear_forward(&b->down, kn_gelu(kn_nn_linear_forward(&b->up, y)));
    return kn_add(x, channels_first(kn_mul(y, kn_value(b->scale))));
}

static kn_tensor convnext_forward(const void *self, const kn_tensor *x, double dropout)
{
    const ConvNext *m = self;
    kn_tensor y = norm_channels(&m->halvings[0].norm, kn_nn_conv2d_forward(&m->halvings[0].conv, x[0]));
    (void)dropout;
    for (int g = 0, next = 0; g < 4; g++) {
        if (g) y = kn_nn_conv2d_forward(&m->halvings[g].conv, norm_channels(&m->halvings[g].norm, y));
        for (int32_t i = 0; i < counts[g]; i++) y = next_forward(&m->blocks[next++], y);
    }
    return kn_nn_linear_forward(&m->fc, kn_nn_layer_norm_forward(&m->norm, bench_global_mean(y)));
}

const bench_model bench_convnext = {
    .name = "convnext_t",
    .family = "vision",
    .text = "ConvNeXt-T, 224 x 224",
    .batch = 32,
    .answers = 1,
    .adam = true,
    .n_given = 1,
    .inputs = {{BENCH_REALS, 0, {-1, 3, 224, 224}}, {BENCH_INDICES, 1000, {-1}}},
    .type = &ConvNext_type,
    .init = convnext_init,
    .forward = convnext_forward,
};
