/* VGG-16 without batch norm. */
#include "bench_models.h"

enum { CONVS = 13 };

typedef struct Vgg {
    kn_nn_conv2d convs[CONVS];
    kn_nn_linear fc1, fc2, fc3;
} Vgg;
static const kn_module_type Vgg_type = {"Vgg", sizeof(Vgg),
                                        (const kn_field[]){KN_ARRAY(Vgg, convs, kn_nn_conv2d),
                                                           KN_MODULE(Vgg, fc1, kn_nn_linear),
                                                           KN_MODULE(Vgg, fc2, kn_nn_linear),
                                                           KN_MODULE(Vgg, fc3, kn_nn_linear),
                                                           {0}}};

static const struct {
    int64_t out;
    bool pool; /* behind it */
} plan[CONVS] = {{64, false},  {64, true},   {128, false}, {128, true},  {256, false},
                 {256, false}, {256, true},  {512, false}, {512, false}, {512, true},
                 {512, false}, {512, false}, {512, true}};

static kn_status vgg_init(void *self)
{
    Vgg *m = self;
    kn_status s = KN_OK;
    int64_t in = 3;
    for (int i = 0; i < CONVS; in = plan[i++].out)
        bench_conv2d(&s, &m->convs[i],
                     &(bench_conv){.in = in, .out = plan[i].out, .kernel = 3, .bias = true});
    bench_linear(&s, &m->fc1, (int64_t)512 * 7 * 7, 4096, true);
    bench_linear(&s, &m->fc2, 4096, 4096, true);
    bench_linear(&s, &m->fc3, 4096, 1000, true);
    return s;
}

static kn_tensor vgg_forward(const void *self, const kn_tensor *x, double dropout)
{
    const Vgg *m = self;
    kn_tensor y = x[0];
    for (int i = 0; i < CONVS; i++) {
        y = kn_relu(kn_nn_conv2d_forward(&m->convs[i], y));
        if (plan[i].pool) y = kn_max_pool2d(y, KN_INTS(2, 2), NULL);
    }
    y = kn_dropout(kn_relu(kn_nn_linear_forward(&m->fc1, kn_flatten(y, 1, -1))), dropout, dropout > 0);
    y = kn_dropout(kn_relu(kn_nn_linear_forward(&m->fc2, y)), dropout, dropout > 0);
    return kn_nn_linear_forward(&m->fc3, y);
}

const bench_model bench_vgg16 = {
    .name = "vgg16",
    .family = "vision",
    .text = "VGG-16, 224 x 224",
    .batch = 32,
    .answers = 64,
    .n_given = 1,
    .inputs = {{BENCH_REALS, 0, {-1, 3, 224, 224}}, {BENCH_INDICES, 1000, {-1}}},
    .type = &Vgg_type,
    .init = vgg_init,
    .forward = vgg_forward,
};
