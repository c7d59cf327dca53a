/* An encoder and a decoder as T5 has them: RMS norms, a learnt bias by distance that all layers of a stack share, no scale of scores. */
#include "bench_models.h"

enum {
    WIDTH = 512,
    HEADS = 8,
    SIZE = 64,
    LAYERS = 6,
    WIDE = 2048,
    WORDS = 32128,
    TOKENS = 128,
    BUCKETS = 32,
    FAR = 128
};

typedef struct Look {
    kn_nn_rms_norm norm;
    kn_nn_linear q, k, v, o;
} Look;
static const kn_module_type Look_type = {"Look", sizeof(Look),
                                         (const kn_field[]){KN_MODULE(Look, norm, kn_nn_rms_norm),
                                                            KN_MODULE(Look, q, kn_nn_linear),
                                                            KN_MODULE(Look, k, kn_nn_linear),
                                                            KN_MODULE(Look, v, kn_nn_linear),
                                                            KN_MODULE(Look, o, kn_nn_linear),
                                                            {0}}};

typedef struct Layer {
    Look self, cross; /* an encoder has no cross */
    kn_nn_rms_norm norm;
    kn_nn_linear up, down;
} Layer;
static const kn_module_type Layer_type = {"Layer", sizeof(Layer),
                                          (const kn_field[]){KN_MODULE(Layer, self, Look),
                                                             KN_MODULE(Layer, cross, Look),
                                                             KN_MODULE(Layer, norm, kn_nn_rms_norm),
                                                             KN_MODULE(Layer, up, kn_nn_linear),
                                                             KN_MODULE(Layer, down, kn_nn_linear),
                                                             {0}}};

typedef struct Stack {
    kn_nn_embedding distance; /* [buckets, heads] */
    Layer layers[LAYERS];
    kn_nn_rms_norm norm;
} Stack;
static const kn_module_type Stack_type = {"Stack", sizeof(Stack),
                                          (const kn_field[]){KN_MODULE(Stack, distance, kn_nn_embedding),
                                                             KN_ARRAY(Stack, layers, Layer),
                                                             KN_MODULE(Stack, norm, kn_nn_rms_norm),
                                                             {0}}};

typedef struct T5 {
    kn_nn_embedding words;
    Stack encoder, decoder;
    kn_nn_linear head;
} T5;
static const kn_module_type T5_type = {"T5", sizeof(T5),
                                       (const kn_field[]){KN_MODULE(T5, words, kn_nn_embedding),
                                                          KN_MODULE(T5, encoder, Stack),
                                                          KN_MODULE(T5, decoder, Stack),
                                                          KN_MODULE(T5, head, kn_nn_linear),
                                                          {0}}};

static void look_init(kn_status *s, Look *m)
{
    bench_rms_norm(s, &m->norm, WIDTH);
    bench_linear(s, &m->q, WIDTH, HEADS * SIZE, false);
    bench_linear(s, &m->k, WIDTH, HEADS * SIZE, false);
    bench_linear(s, &m->v, WIDTH, HEADS * SIZE, false);
    bench_linear(s, &m->o, HEADS * SIZE, WIDTH, false);
}

static void stack_init(kn_status *s, Stack *m, bool decodes)
{
    bench_embedding(s, &m->distance, BUCKETS, HEADS);
    for (int i = 0; i < LAYERS; i++) {
        look_init(s, &m->layers[i].self);
        if (decodes) look_init(s, &m->layers[i].cross);
        bench_rms_norm(s, &m->layers[i].norm, WIDTH);
        bench_linear(s, &m->layers[i].up, WIDTH, WIDE, false);
        bench_linear(s, &m->layers[i].down, WIDE, WIDTH, false);
    }
    bench_rms_norm(s, &m->norm, WIDTH);
}

static kn_status t5_init(void *self)
{
    T5 *m = self;
    kn_status s = KN_OK;
    bench_embedding(&s, &m->words, WORDS, WIDTH);
    stack_init(&s, &m->encoder, false);
    stack_init(&s, &m->decoder, true);
    bench_linear(&s, &m->head, WIDTH, WORDS, false);
    return s;
}

/* The bucket of the distance from query to key: near ones have their own, farther ones share by powers, up to FAR. */
static int64_t bucket(int64_t distance, bool both)
{
    int64_t n = both ? BUCKETS / 2 : BUCKETS, base = 0, far = FAR;
    if (both && distance > 0) base = n;
    if (both && distance < 0) distance = -distance;
    if (!both) distance = distance < 0 ? -distance : 0;
    int64_t exact = n / 2;
    if (distance < exact) return base + distance;
    /* exact + floor(log(distance / exact) / log(far / exact) (n - exact)), in whole numbers: the largest step k whose bound
       (far / exact)^(k / (n - exact)) exact the distance has reached. */
    int64_t k = 0, steps = n - exact;
    for (int64_t next = 1; next < steps; next++) {
        double reached = 1, bound = 1;
        for (int64_t i = 0; i < steps; i++) reached *= (double)distance / (double)exact;
        for (int64_t i = 0; i < next; i++) bound *= (double)far / (double)exact;
        if (reached >= bound * (1 - 1e-9)) k = next;
    }
    return base + exact + k;
}

/* [1, heads, queries, keys] */
static kn_tensor distances(const Stack *m, bool both)
{
    int64_t buckets[TOKENS * TOKENS];
    for (int64_t q = 0; q < TOKENS; q++)
        for (int64_t k = 0; k < TOKENS; k++) buckets[q * TOKENS + k] = bucket(k - q, both);
    kn_tensor at = kn_from(buckets, KN_I64, KN_SHAPE(TOKENS, TOKENS));
    return kn_unsqueeze(kn_permute(kn_nn_embedding_forward(&m->distance, at), KN_AXES(2, 0, 1)), 0);
}

/* other KN_NONE: keys and values are of x itself. */
static kn_tensor look(const Look *m, kn_tensor x, kn_tensor other, const kn_attention_args *args)
{
    kn_tensor y = kn_keep(kn_nn_rms_norm_forward(&m->norm, x)), from = other.bits ? other : y;
    kn_tensor q = bench_split_heads(kn_nn_linear_forward(&m->q, y), HEADS);
    kn_tensor k = bench_split_heads(kn_nn_linear_forward(&m->k, from), HEADS);
    kn_tensor v = bench_split_heads(kn_nn_linear_forward(&m->v, from), HEADS);
    return kn_add(x, kn_nn_linear_forward(&m->o, bench_join_heads(kn_attention(q, k, v, args))));
}

static kn_tensor stack_forward(const Stack *m, kn_tensor x, kn_tensor encoded)
{
    bool decodes = encoded.bits != 0;
    kn_attention_args self = {.bias = kn_keep(distances(m, !decodes)), .is_causal = decodes, .scale = 1};
    for (int i = 0; i < LAYERS; i++) {
        const Layer *layer = &m->layers[i];
        x = kn_keep(look(&layer->self, kn_keep(x), KN_NONE, &self));
        if (decodes) x = kn_keep(look(&layer->cross, x, encoded, &(kn_attention_args){.scale = 1}));
        kn_tensor y = kn_nn_linear_forward(&layer->up, kn_nn_rms_norm_forward(&layer->norm, x));
        x = kn_add(x, kn_nn_linear_forward(&layer->down, kn_relu(y)));
    }
    return kn_nn_rms_norm_forward(&m->norm, x);
}

/* x: tokens that are read, tokens that are written */
static kn_tensor t5_forward(const void *self, const kn_tensor *x, double dropout)
{
    const T5 *m = self;
    (void)dropout;
    kn_tensor encoded =
        kn_keep(stack_forward(&m->encoder, kn_nn_embedding_forward(&m->words, x[0]), KN_NONE));
    kn_tensor y = stack_forward(&m->decoder, kn_nn_embedding_forward(&m->words, x[1]), encoded);
    return kn_nn_linear_forward(&m->head, y);
}

const bench_model bench_t5 = {
    .name = "t5_small",
    .family = "language",
    .text = "encoder and decoder like T5 small with relative bias, 128 and 128 tokens",
    .batch = 16,
    .answers = 64,
    .adam = true,
    .n_given = 2,
    .inputs = {{BENCH_INDICES, WORDS, {-1, TOKENS}},
               {BENCH_INDICES, WORDS, {-1, TOKENS}},
               {BENCH_INDICES, WORDS, {-1, TOKENS}}},
    .type = &T5_type,
    .init = t5_init,
    .forward = t5_forward,
};
