/* ViT-B/16 and BERT-base: encoders of the same blocks; ViT normalises what goes into a part, BERT what comes out. */
#include "bench_models.h"

enum { WIDTH = 768, HEADS = 12, LAYERS = 12, PATCHES = 196, TOKENS = 128, WORDS = 30522 };

typedef struct Layer {
    kn_nn_linear query, key, value, output, up, down;
    kn_nn_layer_norm norm1, norm2;
} Layer;
static const kn_module_type Layer_type = {"Layer", sizeof(Layer),
                                          (const kn_field[]){KN_MODULE(Layer, query, kn_nn_linear),
                                                             KN_MODULE(Layer, key, kn_nn_linear),
                                                             KN_MODULE(Layer, value, kn_nn_linear),
                                                             KN_MODULE(Layer, output, kn_nn_linear),
                                                             KN_MODULE(Layer, norm1, kn_nn_layer_norm),
                                                             KN_MODULE(Layer, up, kn_nn_linear),
                                                             KN_MODULE(Layer, down, kn_nn_linear),
                                                             KN_MODULE(Layer, norm2, kn_nn_layer_norm),
                                                             {0}}};

static void layer_init(kn_status *s, Layer *m)
{
    kn_nn_linear *squares[] = {&m->query, &m->key, &m->value, &m->output};
    for (int i = 0; i < 4; i++) bench_linear(s, squares[i], WIDTH, WIDTH, true);
    bench_linear(s, &m->up, WIDTH, 4 * WIDTH, true);
    bench_linear(s, &m->down, 4 * WIDTH, WIDTH, true);
    bench_layer_norm(s, &m->norm1, WIDTH);
    bench_layer_norm(s, &m->norm2, WIDTH);
}

static kn_tensor attend(const Layer *m, kn_tensor x, kn_tensor mask, double dropout)
{
    x = kn_keep(x);
    kn_tensor q = bench_split_heads(kn_nn_linear_forward(&m->query, x), HEADS);
    kn_tensor k = bench_split_heads(kn_nn_linear_forward(&m->key, x), HEADS);
    kn_tensor v = bench_split_heads(kn_nn_linear_forward(&m->value, x), HEADS);
    kn_attention_args args = {.mask = mask, .dropout = dropout};
    return kn_nn_linear_forward(&m->output, bench_join_heads(kn_attention(q, k, v, &args)));
}

static kn_tensor feed(const Layer *m, kn_tensor x)
{
    return kn_nn_linear_forward(&m->down, kn_gelu(kn_nn_linear_forward(&m->up, x)));
}

/* ---- ViT */

typedef struct Vit {
    kn_nn_conv2d patches;
    kn_param token, positions;
    Layer layers[LAYERS];
    kn_nn_layer_norm norm;
    kn_nn_linear fc;
} Vit;
static const kn_module_type Vit_type = {"Vit", sizeof(Vit),
                                        (const kn_field[]){KN_MODULE(Vit, patches, kn_nn_conv2d),
                                                           KN_PARAM(Vit, token),
                                                           KN_PARAM(Vit, positions),
                                                           KN_ARRAY(Vit, layers, Layer),
                                                           KN_MODULE(Vit, norm, kn_nn_layer_norm),
                                                           KN_MODULE(Vit, fc, kn_nn_linear),
                                                           {0}}};

static kn_status vit_init(void *self)
{
    Vit *m = self;
    kn_status s = KN_OK;
    bench_conv2d(
        &s, &m->patches,
        &(bench_conv){.in = 3, .out = WIDTH, .kernel = 16, .stride = 16, .padding = -1, .bias = true});
    m->token = kn_param_make(kn_random_normal(KN_SHAPE(1, 1, WIDTH), 0, 0.02, KN_F32));
    m->positions = kn_param_make(kn_random_normal(KN_SHAPE(1, PATCHES + 1, WIDTH), 0, 0.02, KN_F32));
    for (int i = 0; i < LAYERS; i++) layer_init(&s, &m->layers[i]);
    bench_layer_norm(&s, &m->norm, WIDTH);
    bench_linear(&s, &m->fc, WIDTH, 1000, true);
    return s;
}

static kn_tensor vit_forward(const void *self, const kn_tensor *x, double dropout)
{
    const Vit *m = self;
    (void)dropout;
    kn_tensor y = kn_transpose(kn_flatten(kn_nn_conv2d_forward(&m->patches, x[0]), 2, 3), 1, 2);
    kn_tensor token = kn_expand(kn_value(m->token), KN_SHAPE(kn_size(x[0], 0), 1, WIDTH));
    y = kn_add(kn_concat((kn_tensor[]){token, y}, 2, 1), kn_value(m->positions));
    for (int i = 0; i < LAYERS; i++) {
        const Layer *layer = &m->layers[i];
        y = kn_keep(y);
        y = kn_keep(kn_add(y, attend(layer, kn_nn_layer_norm_forward(&layer->norm1, y), KN_NONE, 0)));
        y = kn_add(y, feed(layer, kn_nn_layer_norm_forward(&layer->norm2, y)));
    }
    return kn_nn_linear_forward(&m->fc, kn_select(kn_nn_layer_norm_forward(&m->norm, y), 1, 0));
}

const bench_model bench_vit = {
    .name = "vit_b16",
    .family = "vision",
    .text = "ViT-B/16, 224 x 224",
    .batch = 32,
    .answers = 64,
    .adam = true,
    .n_given = 1,
    .inputs = {{BENCH_REALS, 0, {-1, 3, 224, 224}}, {BENCH_INDICES, 1000, {-1}}},
    .type = &Vit_type,
    .init = vit_init,
    .forward = vit_forward,
};

/* ---- BERT, fine-tuned for two classes */

typedef struct Bert {
    kn_nn_embedding words, places;
    kn_nn_layer_norm norm;
    Layer layers[LAYERS];
    kn_nn_linear pooler, fc;
} Bert;
static const kn_module_type Bert_type = {"Bert", sizeof(Bert),
                                         (const kn_field[]){KN_MODULE(Bert, words, kn_nn_embedding),
                                                            KN_MODULE(Bert, places, kn_nn_embedding),
                                                            KN_MODULE(Bert, norm, kn_nn_layer_norm),
                                                            KN_ARRAY(Bert, layers, Layer),
                                                            KN_MODULE(Bert, pooler, kn_nn_linear),
                                                            KN_MODULE(Bert, fc, kn_nn_linear),
                                                            {0}}};

static kn_status bert_init(void *self)
{
    Bert *m = self;
    kn_status s = KN_OK;
    bench_embedding(&s, &m->words, WORDS, WIDTH);
    bench_embedding(&s, &m->places, 512, WIDTH);
    bench_layer_norm(&s, &m->norm, WIDTH);
    for (int i = 0; i < LAYERS; i++) layer_init(&s, &m->layers[i]);
    bench_linear(&s, &m->pooler, WIDTH, WIDTH, true);
    bench_linear(&s, &m->fc, WIDTH, 2, true);
    return s;
}

/* x: tokens [batch, tokens], which of them are no padding */
static kn_tensor bert_forward(const void *self, const kn_tensor *x, double dropout)
{
    const Bert *m = self;
    bool drops = dropout > 0;
    kn_tensor mask = kn_keep(kn_reshape(x[1], KN_SHAPE(kn_size(x[1], 0), 1, 1, kn_size(x[1], 1))));
    kn_tensor places = kn_narrow(kn_value(m->places.weight), 0, 0, kn_size(x[0], 1));
    kn_tensor y = kn_add(kn_nn_embedding_forward(&m->words, x[0]), places);
    y = kn_dropout(kn_nn_layer_norm_forward(&m->norm, y), dropout, drops);
    for (int i = 0; i < LAYERS; i++) {
        const Layer *layer = &m->layers[i];
        y = kn_keep(y);
        kn_tensor seen = kn_dropout(attend(layer, y, mask, dropout), dropout, drops);
        y = kn_keep(kn_nn_layer_norm_forward(&layer->norm1, kn_add(y, seen)));
        kn_tensor fed = kn_dropout(feed(layer, y), dropout, drops);
        y = kn_nn_layer_norm_forward(&layer->norm2, kn_add(y, fed));
    }
    y = kn_tanh(kn_nn_linear_forward(&m->pooler, kn_select(y, 1, 0)));
    return kn_nn_linear_forward(&m->fc, kn_dropout(y, dropout, drops));
}

const bench_model bench_bert = {
    .name = "bert_base",
    .family = "language",
    .text = "BERT-base with padding mask and dropout, 128 tokens, two classes",
    .batch = 32,
    .answers = 1,
    .adam = true,
    .n_given = 2,
    .inputs = {{BENCH_INDICES, WORDS, {-1, TOKENS}},
               {BENCH_PADDING, 0, {-1, TOKENS}},
               {BENCH_INDICES, 2, {-1}}},
    .type = &Bert_type,
    .init = bert_init,
    .forward = bert_forward,
};
