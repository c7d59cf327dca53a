/* MobileNetV2 and EfficientNet-B0: inverted residuals, of which the second has squeeze-and-excitation and silu. */
#include "bench_models.h"

typedef struct Inverted {
    kn_nn_conv2d expand, depth, squeeze, excite, project; /* expand is absent where nothing widens */
    kn_nn_batch_norm bn_expand, bn_depth, bn_project;
    bool joins, silu; /* adds its input; EfficientNet's activation */
} Inverted;
static const kn_module_type Inverted_type = {
    "Inverted", sizeof(Inverted),
    (const kn_field[]){KN_MODULE(Inverted, expand, kn_nn_conv2d),
                       KN_MODULE(Inverted, bn_expand, kn_nn_batch_norm),
                       KN_MODULE(Inverted, depth, kn_nn_conv2d),
                       KN_MODULE(Inverted, bn_depth, kn_nn_batch_norm),
                       KN_MODULE(Inverted, squeeze, kn_nn_conv2d),
                       KN_MODULE(Inverted, excite, kn_nn_conv2d),
                       KN_MODULE(Inverted, project, kn_nn_conv2d),
                       KN_MODULE(Inverted, bn_project, kn_nn_batch_norm),
                       {0}}};

typedef struct MobileNet {
    kn_nn_conv2d stem, head;
    kn_nn_batch_norm bn_stem, bn_head;
    Inverted *blocks;
    int32_t n_blocks;
    kn_nn_linear fc;
    bool silu;
} MobileNet;
static const kn_module_type MobileNet_type = {
    "MobileNet", sizeof(MobileNet),
    (const kn_field[]){KN_MODULE(MobileNet, stem, kn_nn_conv2d),
                       KN_MODULE(MobileNet, bn_stem, kn_nn_batch_norm),
                       KN_LIST(MobileNet, blocks, n_blocks, Inverted),
                       KN_MODULE(MobileNet, head, kn_nn_conv2d),
                       KN_MODULE(MobileNet, bn_head, kn_nn_batch_norm),
                       KN_MODULE(MobileNet, fc, kn_nn_linear),
                       {0}}};

/* The blocks of a stage: how wide they expand, channels, how many, the stride of the first, the kernel. */
typedef struct stage {
    int64_t factor, out;
    int32_t count;
    int64_t stride, kernel;
} stage;

static void inverted_init(kn_status *s, Inverted *b, int64_t in, const stage *g, int64_t stride, bool silu)
{
    int64_t wide = in * g->factor;
    if (g->factor != 1) {
        bench_conv2d(s, &b->expand, &(bench_conv){.in = in, .out = wide, .kernel = 1});
        bench_batch_norm(s, &b->bn_expand, wide);
    }
    bench_conv2d(
        s, &b->depth,
        &(bench_conv){.in = wide, .out = wide, .kernel = g->kernel, .stride = stride, .groups = wide});
    bench_batch_norm(s, &b->bn_depth, wide);
    if (silu) {
        int64_t narrow = in / 4;
        bench_conv2d(s, &b->squeeze, &(bench_conv){.in = wide, .out = narrow, .kernel = 1, .bias = true});
        bench_conv2d(s, &b->excite, &(bench_conv){.in = narrow, .out = wide, .kernel = 1, .bias = true});
    }
    bench_conv2d(s, &b->project, &(bench_conv){.in = wide, .out = g->out, .kernel = 1});
    bench_batch_norm(s, &b->bn_project, g->out);
    b->joins = stride == 1 && in == g->out;
    b->silu = silu;
}

static kn_status mobile_init(MobileNet *m, const stage *stages, int n_stages, int64_t head, bool silu)
{
    kn_status s = KN_OK;
    int32_t total = 0, next = 0;
    for (int i = 0; i < n_stages; i++) total += stages[i].count;
    bench_conv2d(&s, &m->stem, &(bench_conv){.in = 3, .out = 32, .kernel = 3, .stride = 2});
    bench_batch_norm(&s, &m->bn_stem, 32);
    m->blocks = bench_list(&s, &Inverted_type, total);
    m->n_blocks = m->blocks ? total : 0;
    m->silu = silu;
    int64_t in = 32;
    for (int i = 0; i < n_stages && m->blocks; i++)
        for (int32_t k = 0; k < stages[i].count; k++, in = stages[i].out)
            inverted_init(&s, &m->blocks[next++], in, &stages[i], k ? 1 : stages[i].stride, silu);
    bench_conv2d(&s, &m->head, &(bench_conv){.in = in, .out = head, .kernel = 1});
    bench_batch_norm(&s, &m->bn_head, head);
    bench_linear(&s, &m->fc, head, 1000, true);
    return s;
}

static kn_status mobilenet_init(void *self)
{
    static const stage stages[] = {{1, 16, 1, 1, 3}, {6, 24, 2, 2, 3},  {6, 32, 3, 2, 3}, {6, 64, 4, 2, 3},
                                   {6, 96, 3, 1, 3}, {6, 160, 3, 2, 3}, {6, 320, 1, 1, 3}};
    return mobile_init(self, stages, (int)(sizeof stages / sizeof *stages), 1280, false);
}

static kn_status efficientnet_init(void *self)
{
    static const stage stages[] = {{1, 16, 1, 1, 3},  {6, 24, 2, 2, 3},  {6, 40, 2, 2, 5}, {6, 80, 3, 2, 3},
                                   {6, 112, 3, 1, 5}, {6, 192, 4, 2, 5}, {6, 320, 1, 1, 3}};
    return mobile_init(self, stages, (int)(sizeof stages / sizeof *stages), 1280, true);
}

static kn_tensor act(bool silu, kn_tensor x) { return silu ? kn_silu(x) : kn_relu6(x); }

static kn_tensor norm_act(const kn_nn_conv2d *conv, const kn_nn_batch_norm *norm, bool silu, kn_tensor x)
{
    return act(silu, kn_nn_batch_norm_forward(norm, kn_nn_conv2d_forward(conv, x)));
}

static kn_tensor inverted_forward(const Inverted *b, kn_tensor x)
{
    kn_tensor y = x = kn_keep(x);
    if (b->expand.out_channels) y = norm_act(&b->expand, &b->bn_expand, b->silu, y);
    y = norm_act(&b->depth, &b->bn_depth, b->silu, y);
    if (b->squeeze.out_channels) {
        y = kn_keep(y);
        kn_tensor gate = kn_mean(y, KN_AXES(2, 3), true);
        gate = kn_silu(kn_nn_conv2d_forward(&b->squeeze, gate));
        y = kn_mul(y, kn_sigmoid(kn_nn_conv2d_forward(&b->excite, gate)));
    }
    y = kn_nn_batch_norm_forward(&b->bn_project, kn_nn_conv2d_forward(&b->project, y));
    return b->joins ? kn_add(x, y) : y;
}

static kn_tensor mobile_forward(const void *self, const kn_tensor *x, double dropout)
{
    const MobileNet *m = self;
    kn_tensor y = norm_act(&m->stem, &m->bn_stem, m->silu, x[0]);
    for (int32_t i = 0; i < m->n_blocks; i++) y = inverted_forward(&m->blocks[i], y);
    y = bench_global_mean(norm_act(&m->head, &m->bn_head, m->silu, y));
    return kn_nn_linear_forward(&m->fc, kn_dropout(y, dropout, dropout > 0));
}

const bench_model bench_mobilenet = {
    .name = "mobilenetv2",
    .family = "vision",
    .text = "MobileNetV2, 224 x 224",
    .batch = 64,
    .answers = 1,
    .n_given = 1,
    .inputs = {{BENCH_REALS, 0, {-1, 3, 224, 224}}, {BENCH_INDICES, 1000, {-1}}},
    .type = &MobileNet_type,
    .init = mobilenet_init,
    .forward = mobile_forward,
};

const bench_model bench_efficientnet = {
    .name = "efficientnet_b0",
    .family = "vision",
    .text = "EfficientNet-B0, 224 x 224",
    .batch = 64,
    .answers = 64,
    .n_given = 1,
    .inputs = {{BENCH_REALS, 0, {-1, 3, 224, 224}}, {BENCH_INDICES, 1000, {-1}}},
    .type = &MobileNet_type,
    .init = efficientnet_init,
    .forward = mobile_forward,
};
