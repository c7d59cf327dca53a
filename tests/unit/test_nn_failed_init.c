/* Inits that fail: the struct, whatever it held before, is all zeros then, so that dropping, printing and saving it are safe. */
#include "support/check.h"
#include <kn/nn.h>
#include <kn/state.h>
#include <kn/store.h>

static bool all_zeros(const void *memory, size_t bytes)
{
    const unsigned char *byte = memory;
    for (size_t i = 0; i < bytes; i++)
        if (byte[i]) return false;
    return true;
}

/* What a caller who cleans up after every failure does with the module. */
static void use_after_failure(kn_module m)
{
    char text[4000];
    kn_state state = kn_state_make();
    (void)kn_module_format(m, text, sizeof text);
    (void)kn_module_save(m, state, "");
    CHECK(kn_module_count(m, false) == 0);
    CHECK(kn_module_check(m) == KN_OK);
    kn_module_drop(m);
    kn_module_drop(m);
    kn_state_free(state);
}

/* One bad call: `fault` is in the message, the garbage is gone. */
#define FAILS(layer, fault, ...)                                                                             \
    do {                                                                                                     \
        kn_nn_##layer m_;                                                                                    \
        memset(&m_, 0xAB, sizeof m_);                                                                        \
        CHECK_ERROR(kn_nn_##layer##_init(&m_, __VA_ARGS__), fault);                                          \
        CHECK(all_zeros(&m_, sizeof m_));                                                                    \
        use_after_failure(KN_MODULE_OF(kn_nn_##layer, &m_));                                                 \
    } while (0)

enum { HUGE_SIZE = 1 << 30 };
static const int64_t too_many =
    (int64_t)HUGE_SIZE * HUGE_SIZE; /* params of this many elements cannot be made */

static void layers_of_products(void)
{
    FAILS(linear, "in_features is 0", 0, 4, NULL);
    FAILS(linear, "out_features is -1", 4, -1, NULL);
    FAILS(linear, "", too_many, too_many, NULL);
    FAILS(linear, "", 4, 4, &(kn_nn_linear_args){.dtype = KN_BOOL});
    FAILS(swiglu, "in_features is -1", -1, 2, NULL);
    FAILS(swiglu, "out_features is 0", 2, 0, NULL);
    FAILS(embedding, "num_embeddings is -1", -1, 2, NULL);
    FAILS(embedding, "embedding_dim is 0", 2, 0, NULL);
    FAILS(conv1d, "", 0, 2, KN_INTS(3), NULL);
    FAILS(conv2d, "", -1, 2, KN_INTS(3, 3), NULL);
    FAILS(conv2d, "", 1, 2, KN_INTS(3), NULL);
    FAILS(conv3d, "", 1, 2, KN_INTS(3, 3, 0), NULL);
    FAILS(deform_conv2d, "", 1, 0, KN_INTS(3, 3), NULL);
    FAILS(deform_conv2d, "KN_PAD_CONSTANT", 1, 1, KN_INTS(3, 3),
          &(kn_nn_conv_args){.padding_mode = KN_PAD_REFLECT});
    FAILS(conv_transpose1d, "", 0, 2, KN_INTS(3), NULL);
    FAILS(conv_transpose1d, "neither same", 1, 2, KN_INTS(3), &(kn_nn_conv_args){.same = true});
    FAILS(conv_transpose2d, "", -1, 2, KN_INTS(3, 3), NULL);
    FAILS(conv_transpose2d, "neither same", 1, 2, KN_INTS(3, 3), &(kn_nn_conv_args){.same = true});
    FAILS(conv_transpose3d, "", 1, 2, KN_INTS(3, 3, 0), NULL);
    FAILS(conv_transpose3d, "neither same", 1, 2, KN_INTS(3, 3, 3), &(kn_nn_conv_args){.same = true});
}

static void layers_of_norms(void)
{
    FAILS(batch_norm, "num_features is -1", -1, NULL);
    FAILS(batch_norm, "momentum is 2", 3, &(kn_nn_batch_norm_args){.momentum = 2});
    FAILS(layer_norm, "", KN_SHAPE(-1), NULL);
    FAILS(rms_norm, "", KN_SHAPE(0), NULL);
    FAILS(group_norm, "cannot be cut", 3, 4, NULL);
    FAILS(instance_norm, "num_features is 0", 0, NULL);
    FAILS(instance_norm, "momentum is 2", 3, &(kn_nn_instance_norm_args){.momentum = 2});
    FAILS(local_response_norm, "size is 0", 0, NULL);
    FAILS(normalization, "there is no kind 99", (kn_normalization_kind)99, 3, NULL);
    FAILS(normalization, "num_features is 0", KN_NORMALIZATION_BATCH, 0, NULL);
    FAILS(normalization, "momentum is 2", KN_NORMALIZATION_BATCH, 3,
          &(kn_nn_normalization_args){.momentum = 2});
}

static void layers_of_sequences(void)
{
    FAILS(rnn, "input_size is 0", 0, 2, NULL);
    FAILS(gru, "hidden_size is 0", 3, 0, NULL);
    FAILS(lstm, "input_size is -1", -1, 2, NULL);
    FAILS(lstm, "at most 16 layers", 3, 2, &(kn_nn_recurrent_args){.num_layers = 1000});
    FAILS(attention, "", 8, 16, NULL);
    FAILS(attention, "d_model is 0", 0, 1, NULL);
    FAILS(feed_forward, "in_features is 0", 0, 4, NULL);
    FAILS(feed_forward, "dropout is 2", 4, 4, &(kn_nn_transformer_args){.dropout = 2});
    FAILS(transformer_encoder_layer, "", 8, 16, 2, NULL);
    FAILS(transformer_encoder_layer, "", 8, 2, 0, NULL);
    FAILS(transformer_decoder_layer, "", 8, 16, 2, NULL);
    FAILS(transformer_encoder, "", 8, 16, 2, 2, NULL);
    FAILS(transformer_encoder, "n_layers is 0", 8, 2, 2, 0, NULL);
    FAILS(transformer_decoder, "", 8, 16, 2, 2, NULL);
    FAILS(transformer_decoder, "n_layers is -1", 8, 2, 2, -1, NULL);
    FAILS(positional_encoding, "d_model", 3, NULL);
    FAILS(learned_positions, "embedding_dim is 0", 0, 4, NULL);
    FAILS(rotary, "size", 4, 3, NULL);
}

static void layers_without_params(void)
{
    FAILS(embedding_bag, "no mode 7", 3, 2, &(kn_nn_embedding_bag_args){.mode = (kn_bag_mode)7});
    FAILS(embedding_bag, "num_embeddings is 0", 0, 2, NULL);
    FAILS(embedding_bag, "padding index 3", 3, 2, &(kn_nn_embedding_bag_args){.padding_index = 3});
    FAILS(lp_pool1d, "norm_type is 0", 0, KN_INTS(2), NULL);
    FAILS(lp_pool2d, "", 2, KN_INTS(2), NULL);
    FAILS(lp_pool3d, "a stride is -1", 2, KN_INTS(2, 2, 2), &(kn_nn_lp_pool_args){.stride = {-1}});
    FAILS(fractional_max_pool2d, "give an output_size", KN_INTS(2, 2), NULL);
    FAILS(fractional_max_pool3d, "not 1", KN_INTS(2, 2, 2), &(kn_nn_fractional_max_pool_args){.ratio = {1}});
    FAILS(channel_shuffle, "groups is 0", 0);
    FAILS(activation, "there is no kind 99", (kn_activation_kind)99, NULL);
    FAILS(activation, "num_parameters is -1", KN_ACTIVATION_PRELU,
          &(kn_nn_activation_args){.num_parameters = -1});
    FAILS(activation, "in_features is 0", KN_ACTIVATION_SWIGLU, NULL);
    FAILS(dropout, "p is 1.5", 1.5, NULL);
    FAILS(dropout, "there is no kind 9", 0.5, &(kn_nn_dropout_args){.kind = (kn_dropout_kind)9});
    FAILS(gaussian_noise, "std is -1", -1);
    FAILS(max_pool1d, "", KN_INTS(0), NULL);
    FAILS(max_pool2d, "", KN_INTS(0, 0), NULL);
    FAILS(max_pool3d, "", KN_INTS(2, 2), NULL);
    FAILS(avg_pool1d, "", KN_INTS(-1), NULL);
    FAILS(avg_pool2d, "", KN_INTS(2), NULL);
    FAILS(avg_pool3d, "", KN_INTS(2, 2, 0), NULL);
    FAILS(adaptive_avg_pool1d, "the size 0", KN_INTS(0));
    FAILS(adaptive_avg_pool2d, "it needs 2", KN_INTS(1));
    FAILS(adaptive_avg_pool3d, "the size -2", KN_INTS(1, 1, -2));
    FAILS(adaptive_max_pool1d, "it needs 1", KN_INTS(1, 1));
    FAILS(adaptive_max_pool2d, "the size 0", KN_INTS(1, 0));
    FAILS(adaptive_max_pool3d, "it needs 3", KN_INTS(1));
    FAILS(unfold4d, "", KN_INTS(0, 1), NULL);
    FAILS(fold4d, "", KN_INTS(4, 4), KN_INTS(2), NULL);
    FAILS(pixel_shuffle, "upscale_factor is 0", 0);
    FAILS(pixel_unshuffle, "downscale_factor is -1", -1);
    FAILS(interpolate1d, "NULL", NULL);
    FAILS(interpolate1d, "positive scale", &(kn_nn_interpolate_args){.mode = KN_INTERPOLATE_LINEAR});
    FAILS(interpolate2d, "", &(kn_nn_interpolate_args){.output_size = KN_INTS(3)});
    FAILS(cosine_similarity, "there is no axis 99", &(kn_nn_cosine_similarity_args){.axis = 99});
}

/* Not modules, but structs with an init of their own. */
static void samplers_and_caches(void)
{
    kn_sampler sampler;
    memset(&sampler, 0xAB, sizeof sampler);
    CHECK_ERROR(kn_sampler_init(&sampler, &(kn_sampler_args){.top_k = -1}), "top_k is -1");
    CHECK(all_zeros(&sampler, sizeof sampler));
    kn_nn_transformer_cache cache;
    memset(&cache, 0xAB, sizeof cache);
    CHECK_ERROR(kn_nn_transformer_cache_init(&cache, 0), "n_layers is 0");
    CHECK(all_zeros(&cache, sizeof cache));
    kn_nn_transformer_cache_drop(&cache);
    kn_param param;
    memset(&param, 0xAB, sizeof param);
    CHECK_ERROR(kn_param_initialize(&param, NULL, KN_SHAPE(-1), KN_F32, 0, 0), "");
    CHECK(all_zeros(&param, sizeof param));
}

/* A net that gives up at its second layer is dropped whole. */
static void nets_are_dropped_whole(void)
{
    kn_nn_linear layers[3];
    memset(layers, 0xAB, sizeof layers);
    CHECK(kn_nn_linear_init(&layers[0], 2, 2, NULL) == KN_OK);
    CHECK(kn_nn_linear_init(&layers[1], 2, 0, NULL) != KN_OK);
    kn_module_drop(KN_MODULE_OF(kn_nn_linear, &layers[0]));
    kn_module_drop(KN_MODULE_OF(kn_nn_linear, &layers[1]));
    CHECK_ERROR(kn_save(KN_MODULE_OF(kn_nn_linear, &layers[1]), "never_written.safetensors", NULL),
                "has no params: was its init function called?");
}

int main(void)
{
    kn_device_use(kn_device_open("autodiff(cpu)"));
    kn_scope s = kn_scope_begin();
    layers_of_products();
    layers_of_norms();
    layers_of_sequences();
    layers_without_params();
    samplers_and_caches();
    nets_are_dropped_whole();
    kn_scope_end(s, KN_NONE);
    return check_report();
}
