/* Stacks of transformer layers and their caches. */
#include "nn/attention_span.h"
#include "nn/layer.h"
#include "support/argument.h"
#include "support/failure.h"
#include <kn/nn/transformer.h>
#include <kn/tensor.h>
#include <stdlib.h>

/* ---- caches */

kn_status kn_nn_transformer_cache_init(kn_nn_transformer_cache *cache, int32_t n_layers)
{
    kn_status s = kni_layer_positive("kn_nn_transformer_cache_init", "n_layers", n_layers);
    if (s == KN_OK) s = kni_given(cache, __func__, "cache");
    if (s != KN_OK) return kni_layer_clear(cache, sizeof *cache, s);
    kn_nn_transformer_cache made = {.n_layers = n_layers};
    made.self = calloc((size_t)n_layers, sizeof *made.self);
    made.cross = calloc((size_t)n_layers, sizeof *made.cross);
    if (made.self && made.cross) {
        *cache = made;
        return KN_OK;
    }
    free(made.self);
    free(made.cross);
    return kni_layer_clear(cache, sizeof *cache, kni_failure_memory("kn_nn_transformer_cache_init"));
}

void kn_nn_transformer_cache_reset(kn_nn_transformer_cache *cache)
{
    if (!cache) return;
    for (int32_t i = 0; i < cache->n_layers; i++) {
        kn_nn_attention_cache_drop(&cache->self[i]);
        kn_nn_attention_cache_drop(&cache->cross[i]);
    }
}

void kn_nn_transformer_cache_drop(kn_nn_transformer_cache *cache)
{
    if (!cache) return;
    kn_nn_transformer_cache_reset(cache);
    free(cache->self);
    free(cache->cross);
    *cache = (kn_nn_transformer_cache){NULL, NULL, 0};
}

/* ---- what both stacks do */

static kn_status make_norm(kn_nn_layer_norm **norm, int64_t d_model, const kn_nn_transformer_args *args)
{
    if (!args || !args->final_norm) return KN_OK;
    *norm = kn_module_list(&kn_nn_layer_norm_type, 1);
    if (!*norm) return KN_ERROR_MEMORY;
    return kn_nn_layer_norm_init(*norm, KN_SHAPE(d_model),
                                 &(kn_nn_layer_norm_args){.eps = args->layer_norm_eps,
                                                          .no_bias = args->no_bias,
                                                          .dtype = args->dtype});
}

/* The call for one layer after the other: masks serve all of them, so they are kept; caches are set layer by layer. */
static kn_nn_attention_call begin_call(const kn_nn_attention_call *given)
{
    kn_nn_attention_call call = {.cache = NULL};
    if (!given) return call;
    call = *given;
    if (call.mask_pad.bits) call.mask_pad = kn_keep(call.mask_pad);
    if (call.mask_attention.bits) call.mask_attention = kn_keep(call.mask_attention);
    if (call.sees.bits) call.sees = kn_keep(call.sees);
    if (call.sees_keys.bits) call.sees_keys = kn_keep(call.sees_keys);
    if (call.bias.bits) call.bias = kn_keep(call.bias);
    if (call.span.bits) call.span = kn_keep(call.span);
    return call;
}

/* Where the new tokens come to lie is the same in all layers. */
static void set_span(kn_nn_attention_call *call, const kn_nn_transformer_cache *cache, kn_tensor x)
{
    if (call->span.bits || !cache || !cache->self[0].capacity || !kn_ok(x) || kn_rank(x) != 3 ||
        kn_size(x, 1) < 1)
        return;
    call->span = kn_keep(kni_attention_span(&cache->self[0], kn_size(x, 1)));
}

void kn_nn_transformer_cache_reserve(kn_nn_transformer_cache *cache, int64_t capacity)
{
    if (!cache) return;
    kn_nn_transformer_cache_reset(cache);
    for (int32_t i = 0; i < cache->n_layers; i++) cache->self[i].capacity = capacity > 0 ? capacity : 0;
}

static kn_status check_call(const char *function, const kn_nn_attention_call *given,
                            const kn_nn_transformer_cache *cache, int32_t n_layers)
{
    if (given && (given->cache || given->weights))
        return kni_failure(KN_ERROR_ARGUMENT,
                           "%s: a call for all layers has no cache or weights of its own; give the cache of "
                           "the stack, or run layer by layer",
                           function);
    if (cache && cache->n_layers != n_layers)
        return kni_failure(KN_ERROR_ARGUMENT, "%s: the cache has %d layers, the stack %d", function,
                           (int)cache->n_layers, (int)n_layers);
    return KN_OK;
}

/* ---- encoder */

const kn_module_type kn_nn_transformer_encoder_type = {
    "TransformerEncoder", sizeof(kn_nn_transformer_encoder),
    (const kn_field[]){KN_LIST(kn_nn_transformer_encoder, layers, n_layers, kn_nn_transformer_encoder_layer),
                       KN_OPTIONAL(kn_nn_transformer_encoder, norm, kn_nn_layer_norm),
                       {0}}};

kn_status kn_nn_transformer_encoder_init(kn_nn_transformer_encoder *m, int64_t d_model, int64_t n_heads,
                                         int64_t d_ff, int32_t n_layers, const kn_nn_transformer_args *args)
{
    kn_nn_transformer_encoder made = {0};
    kn_status s = kni_layer_positive("kn_nn_transformer_encoder_init", "n_layers", n_layers);
    if (s == KN_OK) {
        made.layers = kn_module_list(&kn_nn_transformer_encoder_layer_type, n_layers);
        if (!made.layers) s = KN_ERROR_MEMORY;
    }
    if (s == KN_OK) made.n_layers = n_layers;
    for (int32_t i = 0; i < n_layers && s == KN_OK; i++)
        s = kn_nn_transformer_encoder_layer_init(&made.layers[i], d_model, n_heads, d_ff, args);
    if (s == KN_OK) s = make_norm(&made.norm, d_model, args);
    return kni_layer_finish(KN_MODULE_OF(kn_nn_transformer_encoder, &made), m, s);
}

kn_tensor kn_nn_transformer_encoder_forward(const kn_nn_transformer_encoder *m, kn_tensor x,
                                            const kn_nn_attention_call *call, kn_nn_transformer_cache *cache)
{
    KNI_NEEDS_INIT(kn_nn_transformer_encoder, m);
    kn_status s = check_call("kn_nn_transformer_encoder_forward", call, cache, m->n_layers);
    if (s != KN_OK) return kn_poison(s, NULL);
    kn_scope scope = kn_scope_begin();
    kn_nn_attention_call shared = begin_call(call);
    set_span(&shared, cache, x);
    for (int32_t i = 0; i < m->n_layers; i++) {
        if (cache) shared.cache = &cache->self[i];
        x = kn_nn_transformer_encoder_layer_forward(&m->layers[i], x, &shared);
    }
    if (m->norm) x = kn_nn_layer_norm_forward(m->norm, x);
    return kn_scope_end(scope, x);
}

/* ---- decoder */

const kn_module_type kn_nn_transformer_decoder_type = {
    "TransformerDecoder", sizeof(kn_nn_transformer_decoder),
    (const kn_field[]){KN_LIST(kn_nn_transformer_decoder, layers, n_layers, kn_nn_transformer_decoder_layer),
                       KN_OPTIONAL(kn_nn_transformer_decoder, norm, kn_nn_layer_norm),
                       {0}}};

kn_status kn_nn_transformer_decoder_init(kn_nn_transformer_decoder *m, int64_t d_model, int64_t n_heads,
                                         int64_t d_ff, int32_t n_layers, const kn_nn_transformer_args *args)
{
    kn_nn_transformer_decoder made = {0};
    kn_status s = kni_layer_positive("kn_nn_transformer_decoder_init", "n_layers", n_layers);
    if (s == KN_OK) {
        made.layers = kn_module_list(&kn_nn_transformer_decoder_layer_type, n_layers);
        if (!made.layers) s = KN_ERROR_MEMORY;
    }
    if (s == KN_OK) made.n_layers = n_layers;
    for (int32_t i = 0; i < n_layers && s == KN_OK; i++)
        s = kn_nn_transformer_decoder_layer_init(&made.layers[i], d_model, n_heads, d_ff, args);
    if (s == KN_OK) s = make_norm(&made.norm, d_model, args);
    return kni_layer_finish(KN_MODULE_OF(kn_nn_transformer_decoder, &made), m, s);
}

kn_tensor kn_nn_transformer_decoder_forward(const kn_nn_transformer_decoder *m, kn_tensor x, kn_tensor memory,
                                            const kn_nn_attention_call *self,
                                            const kn_nn_attention_call *cross, kn_nn_transformer_cache *cache)
{
    KNI_NEEDS_INIT(kn_nn_transformer_decoder, m);
    static const char name[] = "kn_nn_transformer_decoder_forward";
    kn_status s = check_call(name, self, cache, m->n_layers);
    if (s == KN_OK) s = check_call(name, cross, cache, m->n_layers);
    if (s != KN_OK) return kn_poison(s, NULL);
    kn_scope scope = kn_scope_begin();
    kn_nn_attention_call on_self = begin_call(self), on_memory = begin_call(cross);
    set_span(&on_self, cache, x);
    if (memory.bits) memory = kn_keep(memory);
    on_memory.fixed_cache = true;
    for (int32_t i = 0; i < m->n_layers; i++) {
        if (cache) {
            on_self.cache = &cache->self[i];
            on_memory.cache = &cache->cross[i];
        }
        x = kn_nn_transformer_decoder_layer_forward(&m->layers[i], x, memory, &on_self, &on_memory);
    }
    if (m->norm) x = kn_nn_layer_norm_forward(m->norm, x);
    return kn_scope_end(scope, x);
}
