/* ResNet-18 and ResNet-50: the stride of a bottleneck is in its 3 x 3 convolution, as torchvision has it. */
#include "bench_models.h"

typedef struct Block {
    kn_nn_conv2d conv1, conv2, conv3; /* a basic block has no third */
    kn_nn_batch_norm bn1, bn2, bn3;
    kn_nn_conv2d shortcut; /* absent where shapes stay */
    kn_nn_batch_norm bn_shortcut;
} Block;
static const kn_module_type Block_type = {"Block", sizeof(Block),
                                          (const kn_field[]){KN_MODULE(Block, conv1, kn_nn_conv2d),
                                                             KN_MODULE(Block, bn1, kn_nn_batch_norm),
                                                             KN_MODULE(Block, conv2, kn_nn_conv2d),
                                                             KN_MODULE(Block, bn2, kn_nn_batch_norm),
                                                             KN_MODULE(Block, conv3, kn_nn_conv2d),
                                                             KN_MODULE(Block, bn3, kn_nn_batch_norm),
                                                             KN_MODULE(Block, shortcut, kn_nn_conv2d),
                                                             KN_MODULE(Block, bn_shortcut, kn_nn_batch_norm),
                                                             {0}}};

typedef struct ResNet {
    kn_nn_conv2d conv1;
    kn_nn_batch_norm bn1;
    Block *blocks;
    int32_t n_blocks;
    kn_nn_linear fc;
} ResNet;
static const kn_module_type ResNet_type = {"ResNet", sizeof(ResNet),
                                           (const kn_field[]){KN_MODULE(ResNet, conv1, kn_nn_conv2d),
                                                              KN_MODULE(ResNet, bn1, kn_nn_batch_norm),
                                                              KN_LIST(ResNet, blocks, n_blocks, Block),
                                                              KN_MODULE(ResNet, fc, kn_nn_linear),
                                                              {0}}};

static void norm_conv(kn_status *s, kn_nn_conv2d *conv, kn_nn_batch_norm *norm, const bench_conv *c)
{
    bench_conv2d(s, conv, c);
    bench_batch_norm(s, norm, c->out);
}

static void block_init(kn_status *s, Block *b, int64_t in, int64_t width, int64_t stride, bool deep)
{
    int64_t out = deep ? 4 * width : width;
    norm_conv(s, &b->conv1, &b->bn1,
              &(bench_conv){.in = in, .out = width, .kernel = deep ? 1 : 3, .stride = deep ? 1 : stride});
    norm_conv(s, &b->conv2, &b->bn2,
              &(bench_conv){.in = width, .out = width, .kernel = 3, .stride = deep ? stride : 1});
    if (deep) norm_conv(s, &b->conv3, &b->bn3, &(bench_conv){.in = width, .out = out, .kernel = 1});
    if (stride != 1 || in != out)
        norm_conv(s, &b->shortcut, &b->bn_shortcut,
                  &(bench_conv){.in = in, .out = out, .kernel = 1, .stride = stride});
}

static kn_status resnet_init(ResNet *m, const int32_t counts[4], bool deep)
{
    kn_status s = KN_OK;
    norm_conv(&s, &m->conv1, &m->bn1, &(bench_conv){.in = 3, .out = 64, .kernel = 7, .stride = 2});
    int32_t total = counts[0] + counts[1] + counts[2] + counts[3], next = 0;
    m->blocks = bench_list(&s, &Block_type, total);
    m->n_blocks = m->blocks ? total : 0;
    int64_t in = 64;
    for (int stage = 0; stage < 4; stage++)
        for (int32_t i = 0; i < counts[stage] && m->blocks; i++, in = (deep ? 256 : 64) << stage)
            block_init(&s, &m->blocks[next++], in, 64 << stage, stage && !i ? 2 : 1, deep);
    bench_linear(&s, &m->fc, in, 1000, true);
    return s;
}

static kn_status resnet18_init(void *self) { return resnet_init(self, (const int32_t[]){2, 2, 2, 2}, false); }
static kn_status resnet50_init(void *self) { return resnet_init(self, (const int32_t[]){3, 4, 6, 3}, true); }

static kn_tensor conv_then_norm(const kn_nn_conv2d *conv, const kn_nn_batch_norm *norm, kn_tensor x)
{
    return kn_nn_batch_norm_forward(norm, kn_nn_conv2d_forward(conv, x));
}

static kn_tensor block_forward(const Block *b, kn_tensor x)
{
    bool deep = b->conv3.out_channels > 0;
    x = kn_keep(x);
    kn_tensor y = kn_relu(conv_then_norm(&b->conv1, &b->bn1, x));
    y = conv_then_norm(&b->conv2, &b->bn2, y);
    if (deep) y = conv_then_norm(&b->conv3, &b->bn3, kn_relu(y));
    if (b->shortcut.out_channels) x = conv_then_norm(&b->shortcut, &b->bn_shortcut, x);
    return kn_relu(kn_add(y, x));
}

static kn_tensor resnet_forward(const void *self, const kn_tensor *x, double dropout)
{
    const ResNet *m = self;
    (void)dropout;
    kn_tensor y = kn_relu(conv_then_norm(&m->conv1, &m->bn1, x[0]));
    y = kn_max_pool2d(y, KN_INTS(3, 3), &(kn_pool_args){.stride = {2, 2}, .padding = {1, 1}});
    for (int32_t i = 0; i < m->n_blocks; i++) y = block_forward(&m->blocks[i], y);
    return kn_nn_linear_forward(&m->fc, bench_global_mean(y));
}

#define IMAGES                                                                                               \
    {                                                                                                        \
        {BENCH_REALS, 0, {-1, 3, 224, 224}},                                                                 \
        {                                                                                                    \
            BENCH_INDICES, 1000, { -1 }                                                                      \
        }                                                                                                    \
    }

const bench_model bench_resnet18 = {
    .name = "resnet18",
    .family = "vision",
    .text = "ResNet-18, 224 x 224",
    .batch = 64,
    .answers = 64,
    .n_given = 1,
    .inputs = IMAGES,
    .type = &ResNet_type,
    .init = resnet18_init,
    .forward = resnet_forward,
};

const bench_model bench_resnet50 = {
    .name = "resnet50",
    .family = "vision",
    .text = "ResNet-50, 224 x 224",
    .batch = 64,
    .answers = 1,
    .n_given = 1,
    .inputs = IMAGES,
    .type = &ResNet_type,
    .init = resnet50_init,
    .forward = resnet_forward,
};
