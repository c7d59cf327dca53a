/* Transformers: PyTorch's values and gradients for layers and stacks, cached generation, options and misuse. */
#include "test_nn_sequence.h"

static const bool pad[] = {false, false, false, false, false, false, true, true};
static const bool memory_pad[] = {false, false, true, false, false, false};
static const double no_dropout = (double)KN_ZERO;

typedef struct net {
    union {
        kn_nn_transformer_encoder_layer encoder_layer;
        kn_nn_transformer_decoder_layer decoder_layer;
        kn_nn_transformer_encoder encoder;
        kn_nn_transformer_decoder decoder;
    } u;
    kn_module module;
} net;

typedef enum net_kind { ENCODER_LAYER, DECODER_LAYER, ENCODER, DECODER } net_kind;

static void make(net *n, net_kind kind, kn_nn_transformer_args args)
{
    args.dtype = KN_F64;
    if (args.dropout == 0) args.dropout = no_dropout;
    kn_status s = KN_OK;
    switch (kind) {
    case ENCODER_LAYER:
        s = kn_nn_transformer_encoder_layer_init(&n->u.encoder_layer, 6, 2, 5, &args);
        n->module = KN_MODULE_OF(kn_nn_transformer_encoder_layer, &n->u);
        break;
    case DECODER_LAYER:
        s = kn_nn_transformer_decoder_layer_init(&n->u.decoder_layer, 6, 2, 5, &args);
        n->module = KN_MODULE_OF(kn_nn_transformer_decoder_layer, &n->u);
        break;
    case ENCODER:
        s = kn_nn_transformer_encoder_init(&n->u.encoder, 6, 2, 5, 2, &args);
        n->module = KN_MODULE_OF(kn_nn_transformer_encoder, &n->u);
        break;
    case DECODER:
        s = kn_nn_transformer_decoder_init(&n->u.decoder, 6, 2, 5, 2, &args);
        n->module = KN_MODULE_OF(kn_nn_transformer_decoder, &n->u);
        break;
    }
    CHECK(s == KN_OK);
    fill_params(n->module);
    CHECK(kn_module_check(n->module) == KN_OK);
}

static kn_tensor forward(const net *n, net_kind kind, kn_tensor x, kn_tensor memory, bool masked)
{
    bool decoder = kind == DECODER || kind == DECODER_LAYER;
    kn_nn_attention_call self = {.is_causal = masked}, cross = {.is_causal = false};
    if (masked && !decoder) self.sees_keys = kn_logical_not(kn_from(pad, KN_BOOL, KN_SHAPE(2, 4)));
    if (decoder) cross.sees_keys = kn_logical_not(kn_from(memory_pad, KN_BOOL, KN_SHAPE(2, 3)));
    switch (kind) {
    case ENCODER_LAYER:
        return kn_nn_transformer_encoder_layer_forward(&n->u.encoder_layer, x, &self);
    case DECODER_LAYER:
        return kn_nn_transformer_decoder_layer_forward(&n->u.decoder_layer, x, memory, &self, &cross);
    case ENCODER:
        return kn_nn_transformer_encoder_forward(&n->u.encoder, x, &self, NULL);
    case DECODER:
        break;
    }
    return kn_nn_transformer_decoder_forward(&n->u.decoder, x, memory, &self, &cross, NULL);
}

static void follows_torch(void)
{
    static const struct {
        const char *name;
        net_kind kind;
        bool masked;
        kn_nn_transformer_args args;
    } cases[] = {
        {"encoder_layer", ENCODER_LAYER, true, {.dropout = 0}},
        {"encoder_layer_first",
         ENCODER_LAYER,
         false,
         {.norm_first = true, .activation = KN_ACTIVATION_GELU, .layer_norm_eps = 1e-3}},
        {"decoder_layer", DECODER_LAYER, true, {.dropout = 0}},
        {"decoder_layer_first", DECODER_LAYER, true, {.norm_first = true}},
        {"encoder", ENCODER, true, {.final_norm = true}},
        {"decoder", DECODER, true, {.dropout = 0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        net n;
        make(&n, cases[i].kind, cases[i].args);
        kn_tensor x = kn_require_grad(numbers(1, KN_SHAPE(2, 4, 6)));
        kn_tensor memory = kn_require_grad(numbers(2, KN_SHAPE(2, 3, 6)));
        kn_tensor y = kn_keep(forward(&n, cases[i].kind, x, memory, cases[i].masked));
        expect(cases[i].name, "y", y);
        kn_grads grads = NULL;
        CHECK(kn_backward(kn_keep(weighted(y, 99)), &grads) == KN_OK);
        expect(cases[i].name, "dx", kn_grads_get(grads, x));
        if (cases[i].kind == DECODER || cases[i].kind == DECODER_LAYER)
            expect(cases[i].name, "dmemory", kn_grads_get(grads, memory));
        expect_gradients(cases[i].name, n.module, grads);
        kn_grads_free(grads);
        kn_module_drop(n.module);
    }
}

/* Token by token with caches gives the rows of the whole, also after a reset. */
static void cached_generation(void)
{
    kn_nn_rotary rotary;
    CHECK(kn_nn_rotary_init(&rotary, 32, 2, NULL) == KN_OK);
    for (int decoder = 0; decoder < 2; decoder++) {
        kn_nn_transformer_encoder e;
        kn_nn_transformer_decoder d;
        kn_nn_transformer_args args = {.dropout = no_dropout,
                                       .norm_first = true,
                                       .final_norm = true,
                                       .n_heads_kv = 2,
                                       .activation = KN_ACTIVATION_SWIGLU,
                                       .dtype = KN_F64};
        CHECK((decoder ? kn_nn_transformer_decoder_init(&d, 8, 4, 16, 3, &args)
                       : kn_nn_transformer_encoder_init(&e, 8, 4, 16, 3, &args)) == KN_OK);
        kn_tensor x = kn_keep(numbers(1, KN_SHAPE(2, 6, 8))), memory = kn_keep(numbers(2, KN_SHAPE(2, 3, 8)));
        kn_nn_attention_call call = {.is_causal = true, .rotary = &rotary};
        kn_tensor whole =
            kn_keep(decoder ? kn_nn_transformer_decoder_forward(&d, x, memory, &call, NULL, NULL)
                            : kn_nn_transformer_encoder_forward(&e, x, &call, NULL));
        kn_nn_transformer_cache cache;
        CHECK(kn_nn_transformer_cache_init(&cache, 3) == KN_OK);
        for (int round = 0; round < 2; round++) {
            for (int64_t t = 0; t < 6; t++) {
                kn_scope scope = kn_scope_begin();
                kn_tensor part = kn_narrow(x, 1, t, 1);
                kn_tensor y =
                    kn_keep(decoder ? kn_nn_transformer_decoder_forward(&d, part, memory, &call, NULL, &cache)
                                    : kn_nn_transformer_encoder_forward(&e, part, &call, &cache));
                CHECK(largest_gap(y, kn_keep(kn_narrow(whole, 1, t, 1))) < 1e-12);
                kn_scope_end(scope, KN_NONE);
            }
            CHECK(cache.self[2].length == 6 && cache.cross[2].length == (decoder ? 3 : 0));
            kn_nn_transformer_cache_reset(&cache);
            CHECK(cache.self[0].length == 0);
        }
        kn_nn_transformer_cache_drop(&cache);
        kn_module_drop(decoder ? KN_MODULE_OF(kn_nn_transformer_decoder, &d)
                               : KN_MODULE_OF(kn_nn_transformer_encoder, &e));
    }
}

static kn_tensor checked(void *context, const kn_tensor *in, int32_t n)
{
    (void)n;
    kn_tensor y = kn_keep(forward(context, DECODER_LAYER, in[0], in[1], true));
    return weighted(y, 99);
}

static void gradients_by_differences(void)
{
    net n;
    make(&n, DECODER_LAYER,
         (kn_nn_transformer_args){.quiet_softmax = true, .activation = KN_ACTIVATION_GELU});
    kn_tensor in[] = {kn_keep(numbers(1, KN_SHAPE(2, 4, 6))), kn_keep(numbers(2, KN_SHAPE(2, 3, 6)))};
    CHECK(kn_gradcheck(checked, &n, in, 2, 0) == KN_OK);
    kn_module_drop(n.module);
}

/* Dropout acts in training, in attention, in the feed-forward part and behind both, and not in evaluation. */
static void dropout_and_mode(void)
{
    net n;
    make(&n, ENCODER_LAYER, (kn_nn_transformer_args){.dropout = 0.5});
    CHECK(n.u.encoder_layer.self_attn.dropout == 0.5 && n.u.encoder_layer.feed_forward.dropout == 0.5);
    kn_tensor x = kn_keep(numbers(1, KN_SHAPE(2, 4, 6)));
    kn_tensor a = kn_keep(forward(&n, ENCODER_LAYER, x, KN_NONE, false));
    CHECK(largest_gap(a, kn_keep(forward(&n, ENCODER_LAYER, x, KN_NONE, false))) > 0);
    kn_module_train(n.module, false);
    CHECK(!n.u.encoder_layer.self_attn.training && !n.u.encoder_layer.feed_forward.training);
    a = kn_keep(forward(&n, ENCODER_LAYER, x, KN_NONE, false));
    CHECK(largest_gap(a, kn_keep(forward(&n, ENCODER_LAYER, x, KN_NONE, false))) == 0);
    kn_module_drop(n.module);
    kn_nn_feed_forward f;
    CHECK(kn_nn_feed_forward_init(&f, 4, 8, NULL) == KN_OK && f.dropout == 0.1);
    CHECK(f.activation.kind == KN_ACTIVATION_RELU);
    kn_module_drop(KN_MODULE_OF(kn_nn_feed_forward, &f));
}

static void names(void)
{
    net n;
    make(&n, DECODER, (kn_nn_transformer_args){.final_norm = true});
    CHECK(kn_module_find(n.module, "layers.1.linear2.bias") != NULL);
    CHECK(kn_module_find(n.module, "layers.0.multihead_attn.query.weight") != NULL);
    CHECK(kn_module_find(n.module, "layers.1.norm3.weight") && kn_module_find(n.module, "norm.bias"));
    kn_module_drop(n.module);
    make(&n, ENCODER_LAYER, (kn_nn_transformer_args){.no_bias = true});
    CHECK(kn_module_find(n.module, "linear1.bias") == NULL && kn_module_find(n.module, "norm1.bias") == NULL);
    CHECK(kn_module_find(n.module, "self_attn.output.bias") == NULL);
    CHECK(kn_module_count(n.module, false) == 4 * 36 + 2 * 30 + 2 * 6);
    kn_module_drop(n.module);
}

static void misuse(void)
{
    kn_nn_transformer_encoder e;
    CHECK_ERROR(kn_nn_transformer_encoder_init(&e, 6, 2, 5, 0, NULL), "n_layers is 0");
    CHECK_ERROR(kn_nn_transformer_encoder_init(&e, 6, 4, 5, 1, NULL), "equal heads");
    CHECK_ERROR(kn_nn_transformer_encoder_init(&e, 6, 2, 0, 1, NULL), "out_features is 0");
    CHECK_ERROR(kn_nn_transformer_encoder_init(&e, 6, 2, 5, 1, &(kn_nn_transformer_args){.dropout = 2}),
                "below 1");
    CHECK(kn_nn_transformer_encoder_init(&e, 6, 2, 5, 2, NULL) == KN_OK);
    kn_nn_transformer_cache cache;
    CHECK_ERROR(kn_nn_transformer_cache_init(&cache, 0), "n_layers");
    CHECK(kn_nn_transformer_cache_init(&cache, 1) == KN_OK);
    kn_tensor x = kn_keep(kn_ones(KN_SHAPE(1, 2, 6), KN_F32));
    CHECK_POISON(kn_nn_transformer_encoder_forward(&e, x, NULL, &cache),
                 "the cache has 1 layers, the stack 2");
    kn_nn_attention_call own = {.cache = cache.self};
    CHECK_POISON(kn_nn_transformer_encoder_forward(&e, x, &own, NULL), "no cache or weights of its own");
    kn_nn_transformer_cache_drop(&cache);
    kn_module_drop(KN_MODULE_OF(kn_nn_transformer_encoder, &e));
    net n;
    make(&n, DECODER_LAYER, (kn_nn_transformer_args){.no_bias = false});
    CHECK_POISON(kn_nn_transformer_decoder_layer_forward(&n.u.decoder_layer, numbers(1, KN_SHAPE(1, 2, 6)),
                                                         KN_NONE, NULL, NULL),
                 "needs a memory");
    kn_module_drop(n.module);
}

int main(void)
{
    void (*const tests[])(void) = {
        follows_torch, cached_generation, gradients_by_differences, dropout_and_mode, names, misuse};
    return run_tests(tests, sizeof tests / sizeof *tests);
}
