/* Layers whose init was forgotten: forward functions refuse zeros and garbage by name, and saving, states, optimisers and averages
   refuse garbage instead of following it. A part of zeros is one without params. */
#include "support/check.h"
#include <kn/nn.h>
#include <kn/optim.h>
#include <kn/state.h>
#include <kn/store.h>
#include <stdlib.h>
#include <unistd.h>

static const int patterns[] = {0xAA, 0x55, 0xFF, 0x01, 0x7F, 0x80};
enum { PATTERNS = sizeof patterns / sizeof *patterns };

static kn_tensor ones(kn_shape shape) { return kn_ones(shape, KN_F32); }

/* Memory of the layer's size with garbage in it. */
#define GARBAGE(layer, ...)                                                                                  \
    for (int p_ = 0; p_ < PATTERNS; p_++) {                                                                  \
        kn_nn_##layer m_;                                                                                    \
        memset(&m_, patterns[p_], sizeof m_);                                                                \
        CHECK_POISON(kn_nn_##layer##_forward(&m_, __VA_ARGS__),                                              \
                     "never initialised: call kn_nn_" #layer "_init() first");                               \
    }

static void garbage_is_refused_by_forward(void)
{
    kn_tensor x = kn_keep(ones(KN_SHAPE(2, 3))), image = kn_keep(ones(KN_SHAPE(1, 2, 5, 5)));
    kn_tensor line = kn_keep(ones(KN_SHAPE(1, 2, 5))), cube = kn_keep(ones(KN_SHAPE(1, 2, 5, 5, 5)));
    GARBAGE(linear, x)
    GARBAGE(swiglu, x)
    GARBAGE(embedding, kn_zeros(KN_SHAPE(2), KN_I64))
    GARBAGE(conv1d, line)
    GARBAGE(conv2d, image)
    GARBAGE(conv3d, cube)
    GARBAGE(deform_conv2d, image, image, KN_NONE)
    GARBAGE(conv_transpose1d, line)
    GARBAGE(conv_transpose2d, image)
    GARBAGE(conv_transpose3d, cube)
    GARBAGE(batch_norm, x)
    GARBAGE(layer_norm, x)
    GARBAGE(rms_norm, x)
    GARBAGE(group_norm, x)
    GARBAGE(instance_norm, line)
    GARBAGE(embedding_bag, kn_zeros(KN_SHAPE(2, 2), KN_I64), KN_NONE, KN_NONE)
    GARBAGE(normalization, x)
    GARBAGE(activation, x)
    GARBAGE(rnn, line, NULL)
    GARBAGE(gru, line, NULL)
    GARBAGE(lstm, line, NULL)
    GARBAGE(attention, line, line, line, NULL)
    GARBAGE(feed_forward, x)
    GARBAGE(transformer_encoder_layer, line, NULL)
    GARBAGE(transformer_encoder, line, NULL, NULL)
    GARBAGE(transformer_decoder_layer, line, line, NULL, NULL)
    GARBAGE(transformer_decoder, line, line, NULL, NULL, NULL)
    GARBAGE(learned_positions, line, 0)
}

/* A stack slot that was zero at its beginning only. */
static void half_a_layer_is_refused(void)
{
    kn_nn_linear m = {0};
    memset((char *)&m + offsetof(kn_nn_linear, lora), 0x08, sizeof m.lora);
    CHECK_POISON(kn_nn_linear_forward(&m, ones(KN_SHAPE(2, 3))), "kn_nn_linear_init() first");
    CHECK(kn_nn_linear_init(&m, 3, 2, NULL) == KN_OK);
    CHECK(kn_ok(kn_nn_linear_forward(&m, ones(KN_SHAPE(2, 3)))));
    kn_param_drop(&(kn_param){m.bias.handle});
    CHECK_POISON(kn_nn_linear_forward(&m, ones(KN_SHAPE(2, 3))),
                 "the bias of this Linear layer is gone: tensor was ended by kn_param_drop at ");
    kn_param_drop(&m.weight);
}

/* Deep inside, and in another layer than the one that is called. */
static void a_dropped_param_of_a_part_is_explained(void)
{
    kn_nn_swiglu m;
    CHECK(kn_nn_swiglu_init(&m, 3, 2, NULL) == KN_OK);
    kn_param_drop(&(kn_param){m.linear_outer.weight.handle});
    CHECK_POISON(kn_nn_swiglu_forward(&m, ones(KN_SHAPE(2, 3))),
                 "kn_nn_swiglu_forward: the weight of this Linear layer is gone: tensor was ended by "
                 "kn_param_drop at ");
    kn_param_drop(&m.linear_inner.weight);
}

/* A param whose making failed tells that failure, wherever it is used. */
static void a_failed_param_tells_its_cause(void)
{
    const char *cause = "kn_reshape: [4] has 4 elements";
    kn_nn_linear m = {.weight = kn_param_make(kn_reshape(ones(KN_SHAPE(4)), KN_SHAPE(3, 3)))};
    CHECK_POISON(kn_nn_linear_forward(&m, ones(KN_SHAPE(1, 3))), cause);
    kn_state state = kn_state_make();
    CHECK_ERROR(kn_module_save(KN_MODULE_OF(kn_nn_linear, &m), state, ""),
                "kn_module_save: weight carries an error: kn_reshape: [4] has 4 elements");
    CHECK(kn_ema_make(KN_MODULE_OF(kn_nn_linear, &m), 0.9, false) == NULL &&
          strstr(kn_last_error(), "kn_ema_make: weight carries an error: kn_reshape"));
    kn_state_free(state);
    /* Records of failures are used again; the handle is no garbage for that. */
    for (int i = 0; i < 3000; i++) (void)kn_poison(KN_ERROR_ARGUMENT, "another failure");
    CHECK_POISON(kn_nn_linear_forward(&m, ones(KN_SHAPE(1, 3))), "the record of this error was used again");
}

/* Last: it ends the library. */
static void params_of_before_shutdown_are_explained(void)
{
    kn_nn_linear m;
    CHECK(kn_nn_linear_init(&m, 3, 2, NULL) == KN_OK);
    kn_shutdown();
    CHECK_POISON(kn_nn_linear_forward(&m, ones(KN_SHAPE(2, 3))), "it is older than kn_shutdown() or fork()");
    kn_state state = kn_state_make();
    CHECK_ERROR(kn_module_save(KN_MODULE_OF(kn_nn_linear, &m), state, ""),
                "kn_module_save: weight holds no live param: this handle names no live tensor");
    kn_state_free(state);
}

typedef struct net {
    kn_nn_linear first, second;
} net;
static const kn_module_type net_type = {
    "Net", sizeof(net),
    (const kn_field[]){KN_MODULE(net, first, kn_nn_linear), KN_MODULE(net, second, kn_nn_linear), {0}}};

/* Every function that saves or trains says which layer of the net holds no params. */
static void the_net_is_refused(net *n, const char *words)
{
    kn_module m = KN_MODULE_OF(net, n);
    char text[200];
    kn_state state = kn_state_make();
    kn_optim optim = kn_optim_adam(NULL);
    kn_grads grads = NULL;
    kn_tensor loss = kn_sum(kn_nn_linear_forward(&n->first, ones(KN_SHAPE(2, 3))), KN_AXES_ALL, false);
    CHECK(kn_backward(loss, &grads) == KN_OK);
#define REFUSED(function, ...)                                                                               \
    snprintf(text, sizeof text, #function ": %s", words);                                                    \
    CHECK_ERROR(function(__VA_ARGS__), text)
    REFUSED(kn_module_save, m, state, "");
    REFUSED(kn_save, m, "never_written.safetensors", NULL);
    REFUSED(kn_optim_step, optim, 0.1, m, grads);
    REFUSED(kn_optim_save, optim, m, state, "");
    REFUSED(kn_optim_load, optim, m, state, "");
    snprintf(text, sizeof text, "kn_ema_make: %s", words);
    CHECK(kn_ema_make(m, 0.9, false) == NULL && strstr(kn_last_error(), text));
    kn_grads_free(grads);
    kn_optim_free(optim);
    kn_state_free(state);
}

/* A net with a layer that is used only sometimes, like the shortcut of a residual block. */
static void zeros_beside_params_are_no_params(void)
{
    const char *folder = getenv("TMPDIR");
    char path[500];
    snprintf(path, sizeof path, "%s/kn_forgotten_%ld.safetensors", folder ? folder : "/tmp", (long)getpid());
    net n = {0};
    CHECK(kn_nn_linear_init(&n.second, 3, 2, NULL) == KN_OK);
    kn_module m = KN_MODULE_OF(net, &n);
    kn_state state = kn_state_make();
    kn_optim optim = kn_optim_adam(NULL);
    kn_grads grads = NULL;
    kn_tensor loss = kn_sum(kn_nn_linear_forward(&n.second, ones(KN_SHAPE(2, 3))), KN_AXES_ALL, false);
    CHECK(kn_backward(loss, &grads) == KN_OK);
    kn_ema ema = kn_ema_make(m, 0.9, false);
    CHECK(ema != NULL);
    CHECK(kn_optim_step(optim, 0.1, m, grads) == KN_OK);
    CHECK(kn_ema_update(ema, m) == KN_OK);
    CHECK(kn_ema_swap(ema, m) == KN_OK);
    CHECK(kn_ema_swap(ema, m) == KN_OK);
    CHECK(kn_module_save(m, state, "") == KN_OK);
    CHECK(kn_optim_save(optim, m, state, "o.") == KN_OK);
    CHECK(kn_optim_load(optim, m, state, "o.") == KN_OK);
    CHECK(kn_save(m, path, NULL) == KN_OK);
    CHECK(kn_load(m, path, NULL, NULL) == KN_OK);
    remove(path);
    kn_ema_free(ema);
    kn_grads_free(grads);
    kn_optim_free(optim);
    kn_state_free(state);
    kn_module_drop(m);
}

/* Only what saves or trains a whole module asks for params; a state is put together from parts. */
static void a_net_of_zeros_has_no_params(void)
{
    net n = {0};
    kn_module m = KN_MODULE_OF(net, &n);
    const char *question = "the module (Net) has no params: was its init function called?";
    kn_tensor w = kn_own(kn_require_grad(ones(KN_SHAPE(3))));
    kn_grads grads = NULL;
    CHECK(kn_backward(kn_sum(w, KN_AXES_ALL, false), &grads) == KN_OK);
    kn_optim optim = kn_optim_adam(NULL);
    kn_state state = kn_state_make();
    CHECK_ERROR(kn_optim_step(optim, 0.1, m, grads), question);
    CHECK_ERROR(kn_save(m, "never_written.safetensors", NULL), question);
    CHECK(kn_ema_make(m, 0.9, false) == NULL && strstr(kn_last_error(), question));
    CHECK(kn_module_save(m, state, "") == KN_OK);
    kn_nn_activation relu = {0};
    CHECK(kn_optim_step(optim, 0.1, KN_MODULE_OF(kn_nn_activation, &relu), grads) == KN_OK);
    kn_state_free(state);
    kn_optim_free(optim);
    kn_grads_free(grads);
    kn_drop(w);
}

static void forgotten_parts_are_named(void)
{
    net n;
    memset(&n, 0, sizeof n);
    CHECK(kn_nn_linear_init(&n.first, 3, 2, NULL) == KN_OK);
    memset(&n.second, 0xAA, sizeof n.second);
    the_net_is_refused(&n, "second.weight holds no live param");
    CHECK(kn_nn_linear_init(&n.second, 2, 2, NULL) == KN_OK);
    kn_param_drop(&(kn_param){n.second.bias.handle});
    the_net_is_refused(&n, "second.bias holds no live param: tensor was ended by kn_param_drop at ");
}

typedef struct stack {
    kn_nn_linear first, *blocks;
    int32_t n_blocks;
} stack;
static const kn_module_type stack_type = {"Stack", sizeof(stack),
                                          (const kn_field[]){KN_MODULE(stack, first, kn_nn_linear),
                                                             KN_LIST(stack, blocks, n_blocks, kn_nn_linear),
                                                             {0}}};

/* All params are good; a pointer beside them is garbage and must not be followed. */
static void bad_pointers_beside_params_are_named(void)
{
    for (int p = 0; p < PATTERNS; p++) {
        net n;
        CHECK(kn_nn_linear_init(&n.first, 3, 2, NULL) == KN_OK);
        CHECK(kn_nn_linear_init(&n.second, 3, 2, NULL) == KN_OK);
        kn_ema ema = kn_ema_make(KN_MODULE_OF(net, &n), 0.9, false);
        memset(&n.second.lora, patterns[p], sizeof n.second.lora);
#if !defined(__x86_64__)
        memset(&n.second.lora, 0x55, 1); /* elsewhere garbage is known by its alignment alone */
#endif
        the_net_is_refused(&n, "second.lora holds what it cannot be: second (Linear) was never initialised");
        CHECK_ERROR(kn_ema_update(ema, KN_MODULE_OF(net, &n)), "kn_ema_update: second.lora holds what");
        CHECK_ERROR(kn_ema_swap(ema, KN_MODULE_OF(net, &n)), "second.lora holds what");
        kn_ema_free(ema);
        n.second.lora = NULL;
        stack s = {.first = n.first, .n_blocks = 1};
        memset(&s.blocks, 0x55, sizeof s.blocks);
        CHECK_ERROR(kn_save(KN_MODULE_OF(stack, &s), "never_written.safetensors", NULL),
                    "kn_save: blocks holds what it cannot be: the module (Stack)");
        kn_module_drop(KN_MODULE_OF(net, &n));
    }
}

int main(void)
{
    kn_device_use(kn_device_open("autodiff(cpu)"));
    kn_scope s = kn_scope_begin();
    garbage_is_refused_by_forward();
    half_a_layer_is_refused();
    zeros_beside_params_are_no_params();
    a_net_of_zeros_has_no_params();
    forgotten_parts_are_named();
    bad_pointers_beside_params_are_named();
    a_dropped_param_of_a_part_is_explained();
    a_failed_param_tells_its_cause();
    kn_scope_end(s, KN_NONE);
    params_of_before_shutdown_are_explained();
    return check_report();
}
