/* What 0, an omitted field, NULL, KN_ZERO and KN_<STRUCT>_DEFAULTS mean in args structs: 0 switches off what it can switch off,
   elsewhere it is the default, and the defaults are PyTorch's. */
#include "test_optim_net.h"
#include <kn/nn.h>
#include <math.h>

/* ---- optimisers: the same net after some steps */

static bool same_steps(kn_optim a, kn_optim b)
{
    Net x = net_make(KN_F64), y = net_make(KN_F64);
    CHECK(a && b);
    for (int step = 0; a && b && step < 4; step++) {
        net_step(a, 0.01, &x, step);
        net_step(b, 0.01, &y, step);
    }
    bool same = same_bits(&x, &y);
    net_drop(&x);
    net_drop(&y);
    kn_optim_free(a);
    kn_optim_free(b);
    return same;
}

/* NULL and the macro give PyTorch's numbers; `usual` spells them out. */
#define CHECK_OPTIM(make, type, macro, ...)                                                                  \
    do {                                                                                                     \
        const type filled = macro, usual = {__VA_ARGS__};                                                    \
        CHECK(same_steps(make(NULL), make(&usual)));                                                         \
        CHECK(same_steps(make(&filled), make(&usual)));                                                      \
    } while (0)

/* Muon takes matrices alone. */
static kn_optim muon(const kn_muon_args *args)
{
    kn_optim optim = kn_optim_muon(args);
    CHECK(kn_optim_add_group(optim, &(kn_optim_group){.pattern = "bias$", .optim = kn_optim_sgd(NULL)}) ==
          KN_OK);
    return optim;
}

static void optimisers(void)
{
    CHECK_OPTIM(kn_optim_sgd, kn_sgd_args, KN_SGD_ARGS_DEFAULTS, .momentum = 0, .dampening = 0,
                .weight_decay = 0);
    CHECK_OPTIM(kn_optim_adam, kn_adam_args, KN_ADAM_ARGS_DEFAULTS, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8,
                .weight_decay = 0);
    CHECK_OPTIM(kn_optim_adamw, kn_adamw_args, KN_ADAMW_ARGS_DEFAULTS, .beta1 = 0.9, .beta2 = 0.999,
                .eps = 1e-8, .weight_decay = 0.01);
    CHECK_OPTIM(kn_optim_adan, kn_adan_args, KN_ADAN_ARGS_DEFAULTS, .beta1 = 0.98, .beta2 = 0.92,
                .beta3 = 0.99, .eps = 1e-8);
    CHECK_OPTIM(kn_optim_adagrad, kn_adagrad_args, KN_ADAGRAD_ARGS_DEFAULTS, .eps = 1e-10);
    CHECK_OPTIM(kn_optim_rmsprop, kn_rmsprop_args, KN_RMSPROP_ARGS_DEFAULTS, .alpha = 0.99, .eps = 1e-8);
    CHECK_OPTIM(muon, kn_muon_args, KN_MUON_ARGS_DEFAULTS, .momentum = 0.95, .weight_decay = 0.1, .eps = 1e-7,
                .a = 3.4445, .b = -4.775, .c = 2.0315, .steps = 5);
    const kn_lbfgs_args lbfgs = KN_LBFGS_ARGS_DEFAULTS;
    CHECK(lbfgs.max_iterations == 20 && lbfgs.history == 100 && lbfgs.tolerance_grad == 1e-7 &&
          lbfgs.tolerance_change == 1e-9 && !lbfgs.strong_wolfe);
}

/* A decay of 0 leaves a param without gradient's pull where it is: lr times 0 is no update. */
static double decayed(kn_optim optim)
{
    Layer layer = {.weight = kn_param_make(kn_ones(KN_SHAPE(2, 2), KN_F64)), .bias = {KN_NONE}};
    kn_module module = KN_MODULE_OF(Layer, &layer);
    kn_grads grads = NULL;
    kn_scope scope = kn_scope_begin();
    kn_tensor loss = kn_keep(kn_sum(kn_mul_scalar(kn_value(layer.weight), 0), KN_AXES_ALL, false));
    CHECK(kn_backward(loss, &grads) == KN_OK);
    CHECK(kn_optim_step(optim, 0.5, module, grads) == KN_OK);
    kn_scope_end(scope, KN_NONE);
    double value = kn_item(kn_max(kn_value(layer.weight), KN_AXES_ALL, false));
    kn_grads_free(grads);
    kn_optim_free(optim);
    kn_param_drop(&layer.weight);
    return value;
}

static void zero_switches_off(void)
{
    const double zero = (double)KN_ZERO;
    CHECK(decayed(kn_optim_adamw(&(kn_adamw_args){.weight_decay = 0.0})) == 1);
    CHECK(decayed(kn_optim_adamw(&(kn_adamw_args){.beta2 = 0.95})) == 1);
    CHECK(decayed(kn_optim_adamw(&(kn_adamw_args){.weight_decay = zero})) == 1);
    CHECK(decayed(kn_optim_adamw(NULL)) == 1 - 0.5 * 0.01);
    CHECK(decayed(kn_optim_adamw(&(kn_adamw_args){.weight_decay = 0.1})) == 1 - 0.5 * 0.1);
    CHECK(decayed(kn_optim_muon(&(kn_muon_args){.steps = 5})) == 1);
    CHECK(decayed(kn_optim_muon(NULL)) == 1 - 0.5 * 0.1);
    CHECK(decayed(kn_optim_adam(NULL)) == 1 && decayed(kn_optim_adan(NULL)) == 1);
    /* Momentum 0 is none. */
    CHECK(same_steps(muon(&(kn_muon_args){.plain_momentum = true}), muon(&(kn_muon_args){.momentum = zero})));
    CHECK(!same_steps(muon(&(kn_muon_args){0}), muon(&(kn_muon_args){.momentum = 0.95})));
    CHECK(same_steps(kn_optim_sgd(&(kn_sgd_args){0}), kn_optim_sgd(&(kn_sgd_args){.momentum = zero})));
    CHECK(same_steps(kn_optim_sgd(&(kn_sgd_args){.momentum = 0.9}),
                     kn_optim_sgd(&(kn_sgd_args){.momentum = 0.9, .dampening = zero})));
    CHECK(same_steps(kn_optim_rmsprop(&(kn_rmsprop_args){0}),
                     kn_optim_rmsprop(&(kn_rmsprop_args){.momentum = zero, .weight_decay = zero})));
    CHECK(same_steps(kn_optim_adagrad(NULL),
                     kn_optim_adagrad(&(kn_adagrad_args){
                         .lr_decay = zero, .weight_decay = zero, .initial_accumulator = zero})));
}

/* Betas and eps: 0 is the default, KN_ZERO is 0. */
static void zero_is_the_default(void)
{
    const double zero = (double)KN_ZERO;
    CHECK(same_steps(kn_optim_adam(&(kn_adam_args){.beta1 = 0, .beta2 = 0, .eps = 0}), kn_optim_adam(NULL)));
    CHECK(!same_steps(kn_optim_adam(&(kn_adam_args){.beta1 = zero}), kn_optim_adam(NULL)));
    CHECK(!same_steps(kn_optim_adam(&(kn_adam_args){.eps = zero}), kn_optim_adam(NULL)));
    CHECK(!same_steps(muon(&(kn_muon_args){.steps = KN_ZERO}), muon(&(kn_muon_args){.steps = 0})));
    CHECK(kn_real_or(0, 3) == 3 && kn_real_or(zero, 3) == 0 && kn_real_or(2, 3) == 2);
    CHECK(kn_int_or(0, 3) == 3 && kn_int_or(KN_ZERO, 3) == 0 && kn_int_or(-2, 3) == -2);
    CHECK(kn_real_or(kn_real_given(0), 3) == 0 && kn_int_or(kn_int_given(0), 3) == 0);
    CHECK(kn_real_given(2) == 2 && kn_int_given(-2) == -2);
    const kn_plateau_args plateau = KN_PLATEAU_ARGS_DEFAULTS;
    CHECK(plateau.lr == 1e-3 && plateau.factor == 0.1 && plateau.min_lr == 0 && plateau.threshold == 1e-4 &&
          plateau.patience == 10 && plateau.cooldown == 0);
    kn_schedule patient = kn_schedule_plateau(NULL),
                hasty = kn_schedule_plateau(&(kn_plateau_args){.patience = KN_ZERO});
    for (int i = 0; i < 2; i++) {
        kn_schedule_report(patient, 1);
        kn_schedule_report(hasty, 1);
    }
    CHECK(kn_schedule_peek(patient) == 1e-3 && fabs(kn_schedule_peek(hasty) - 1e-4) < 1e-18);
    kn_schedule_free(patient);
    kn_schedule_free(hasty);
}

/* ---- layers: what init has made of the args */

#define CHECK_FIELD(layer, type, macro, field, value)                                                        \
    do {                                                                                                     \
        const type##_args filled = macro, omitted = {0};                                                     \
        const type##_args *given[] = {NULL, &filled, &omitted};                                              \
        for (int i = 0; i < 3; i++) {                                                                        \
            type m = {0};                                                                                    \
            CHECK(layer(&m, given[i]) == KN_OK);                                                             \
            CHECK(m.field == (value));                                                                       \
            kn_module_drop(KN_MODULE_OF(type, &m));                                                          \
        }                                                                                                    \
    } while (0)

static kn_status batch(kn_nn_batch_norm *m, const kn_nn_batch_norm_args *a)
{
    return kn_nn_batch_norm_init(m, 2, a);
}
static kn_status group(kn_nn_group_norm *m, const kn_nn_group_norm_args *a)
{
    return kn_nn_group_norm_init(m, 1, 2, a);
}
static kn_status layer(kn_nn_layer_norm *m, const kn_nn_layer_norm_args *a)
{
    return kn_nn_layer_norm_init(m, KN_SHAPE(2), a);
}
static kn_status local(kn_nn_local_response_norm *m, const kn_nn_local_response_norm_args *a)
{
    return kn_nn_local_response_norm_init(m, 2, a);
}
static kn_status rotary(kn_nn_rotary *m, const kn_nn_rotary_args *a) { return kn_nn_rotary_init(m, 8, 4, a); }
static kn_status attention(kn_nn_attention *m, const kn_nn_attention_args *a)
{
    return kn_nn_attention_init(m, 4, 2, a);
}

static void layers(void)
{
    CHECK_FIELD(batch, kn_nn_batch_norm, KN_NN_BATCH_NORM_ARGS_DEFAULTS, eps, 1e-5);
    CHECK_FIELD(batch, kn_nn_batch_norm, KN_NN_BATCH_NORM_ARGS_DEFAULTS, momentum, 0.1);
    CHECK_FIELD(group, kn_nn_group_norm, KN_NN_GROUP_NORM_ARGS_DEFAULTS, eps, 1e-5);
    CHECK_FIELD(layer, kn_nn_layer_norm, KN_NN_LAYER_NORM_ARGS_DEFAULTS, eps, 1e-5);
    CHECK_FIELD(local, kn_nn_local_response_norm, KN_NN_LOCAL_RESPONSE_NORM_ARGS_DEFAULTS, alpha, 1e-4);
    CHECK_FIELD(local, kn_nn_local_response_norm, KN_NN_LOCAL_RESPONSE_NORM_ARGS_DEFAULTS, beta, 0.75);
    CHECK_FIELD(local, kn_nn_local_response_norm, KN_NN_LOCAL_RESPONSE_NORM_ARGS_DEFAULTS, k, 1);
    CHECK_FIELD(rotary, kn_nn_rotary, KN_NN_ROTARY_ARGS_DEFAULTS, theta, 10000);
    CHECK_FIELD(attention, kn_nn_attention, KN_NN_ATTENTION_ARGS_DEFAULTS, dropout, 0);
    CHECK_FIELD(kn_nn_cosine_similarity_init, kn_nn_cosine_similarity, KN_NN_COSINE_SIMILARITY_ARGS_DEFAULTS,
                axis, 1);
    CHECK_FIELD(kn_nn_pairwise_distance_init, kn_nn_pairwise_distance, KN_NN_PAIRWISE_DISTANCE_ARGS_DEFAULTS,
                eps, 1e-6);
}

static void recurrent(void)
{
    const kn_nn_recurrent_args filled = KN_NN_RECURRENT_ARGS_DEFAULTS, omitted = {0};
    const kn_nn_recurrent_args *given[] = {NULL, &filled, &omitted};
    for (int i = 0; i < 3; i++) {
        kn_nn_lstm m = {0};
        CHECK(kn_nn_lstm_init(&m, 2, 2, given[i]) == KN_OK);
        CHECK(m.dropout == 0 && m.num_layers == 1);
        kn_module_drop(KN_MODULE_OF(kn_nn_lstm, &m));
    }
}

/* The dropouts of a transformer layer: PyTorch's 0.1 by NULL and the macro, none when it is omitted or 0. */
static void transformers(void)
{
    const kn_nn_transformer_args filled = KN_NN_TRANSFORMER_ARGS_DEFAULTS;
    const struct {
        const kn_nn_transformer_args *args;
        double dropout;
    } cases[] = {{NULL, 0.1},
                 {&filled, 0.1},
                 {&(kn_nn_transformer_args){.norm_first = true}, 0},
                 {&(kn_nn_transformer_args){.dropout = 0.0}, 0},
                 {&(kn_nn_transformer_args){.dropout = (double)KN_ZERO}, 0},
                 {&(kn_nn_transformer_args){.dropout = 0.3}, 0.3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kn_nn_transformer_encoder_layer m = {0};
        CHECK(kn_nn_transformer_encoder_layer_init(&m, 4, 2, 8, cases[i].args) == KN_OK);
        CHECK(m.dropout == cases[i].dropout && m.feed_forward.dropout == cases[i].dropout &&
              m.self_attn.dropout == cases[i].dropout);
        CHECK(m.norm1.eps == 1e-5 && m.feed_forward.activation.kind == KN_ACTIVATION_RELU);
        kn_module_drop(KN_MODULE_OF(kn_nn_transformer_encoder_layer, &m));
    }
}

/* KN_ZERO reaches the op through the layer that holds a plain 0. */
static void zero_through_layers(void)
{
    const double zero = (double)KN_ZERO;
    kn_tensor x = kn_keep(kn_full(KN_SHAPE(1, 2, 2), 2, KN_F64));
    kn_nn_local_response_norm flat;
    CHECK(kn_nn_local_response_norm_init(
              &flat, 1, &(kn_nn_local_response_norm_args){.alpha = zero, .beta = zero}) == KN_OK);
    CHECK(kn_item(kn_max(kn_nn_local_response_norm_forward(&flat, x), KN_AXES_ALL, false)) == 2);
    kn_nn_rms_norm rms = {0}, usual = {0};
    CHECK(kn_nn_rms_norm_init(&rms, KN_SHAPE(2), &(kn_nn_rms_norm_args){.eps = zero}) == KN_OK);
    CHECK(kn_nn_rms_norm_init(&usual, KN_SHAPE(2), NULL) == KN_OK);
    kn_tensor tiny = kn_keep(kn_full(KN_SHAPE(2), 1e-10, KN_F32));
    CHECK(fabs(kn_item(kn_max(kn_nn_rms_norm_forward(&rms, tiny), KN_AXES_ALL, false)) - 1) < 1e-5);
    CHECK(kn_item(kn_max(kn_nn_rms_norm_forward(&usual, tiny), KN_AXES_ALL, false)) < 0.1);
    char text[300];
    kn_module_format(KN_MODULE_OF(kn_nn_rms_norm, &rms), text, sizeof text);
    CHECK(strstr(text, "eps=0") && !strstr(text, "-9"));
    kn_module_drop(KN_MODULE_OF(kn_nn_rms_norm, &rms));
    kn_module_drop(KN_MODULE_OF(kn_nn_rms_norm, &usual));
    kn_nn_normalization any = {0};
    CHECK(kn_nn_normalization_init(&any, KN_NORMALIZATION_RMS, 2, &(kn_nn_normalization_args){.eps = zero}) ==
          KN_OK);
    CHECK(fabs(kn_item(kn_max(kn_nn_normalization_forward(&any, tiny), KN_AXES_ALL, false)) - 1) < 1e-5);
    kn_module_drop(KN_MODULE_OF(kn_nn_normalization, &any));
    kn_nn_cosine_similarity cosine;
    CHECK(kn_nn_cosine_similarity_init(
              &cosine, &(kn_nn_cosine_similarity_args){.axis = KN_ZERO, .eps = zero}) == KN_OK);
    kn_tensor small = kn_keep(kn_full(KN_SHAPE(2), 1e-12, KN_F64));
    CHECK(fabs(kn_item(kn_nn_cosine_similarity_forward(&cosine, small, small)) - 1) < 1e-9);
}

/* ---- ops */

/* Fields whose 0 is a default: KN_ZERO names row 0 and class 0. */
static void no_row_and_row_zero(void)
{
    const int64_t at[] = {0, 1}, padding[] = {0, KN_ZERO};
    kn_device taped = kn_device_open("autodiff(cpu)"), before = kn_device_current();
    kn_device_use(taped);
    kn_scope scope = kn_scope_begin();
    kn_tensor index = kn_keep(kn_from(at, KN_I64, KN_SHAPE(2)));
    for (int i = 0; i < 2; i++) {
        kn_tensor table = kn_require_grad(kn_ones(KN_SHAPE(2, 1), KN_F32)), slope;
        kn_tensor y = kn_sum(kn_embedding(table, index, &(kn_embedding_args){.padding_index = padding[i]}),
                             KN_AXES_ALL, false);
        CHECK(kn_grad(&y, NULL, 1, &table, 1, 0, &slope) == KN_OK);
        CHECK_VALUES(slope, 0, i == 0, 1);
        kn_tensor scores = kn_from((float[]){0, 0, 0, 9}, KN_F32, KN_SHAPE(2, 2));
        double loss =
            kn_item(kn_cross_entropy(scores, index, &(kn_cross_entropy_args){.ignore_index = padding[i]}));
        CHECK(i == 0 ? loss > 0.3 : loss < 0.01); /* the first row, of class 0, counts or not */
    }
    kn_scope_end(scope, KN_NONE);
    kn_device_use(before);
    kn_device_close(taped);
}

static void ops(void)
{
    const double zero = (double)KN_ZERO;
    kn_tensor x = kn_keep(kn_arange(0, 4, 1, KN_F64));
    CHECK(kn_item(kn_var(x, KN_AXES_ALL, false, &(kn_var_args){.correction = zero})) == 1.25);
    CHECK(kn_item(kn_var(x, KN_AXES_ALL, false, &(kn_var_args)KN_VAR_ARGS_DEFAULTS)) ==
          kn_item(kn_var(x, KN_AXES_ALL, false, NULL)));
    CHECK(kn_item(kn_var(x, KN_AXES_ALL, false, &(kn_var_args){.correction = 0})) ==
          kn_item(kn_var(x, KN_AXES_ALL, false, NULL)));
    no_row_and_row_zero();
    kn_tensor same = kn_keep(kn_ones(KN_SHAPE(1, 3), KN_F64));
    CHECK(kn_item(kn_triplet_margin_loss(same, same, same, &(kn_triplet_args){.margin = zero})) == 0);
    CHECK(kn_item(kn_triplet_margin_loss(same, same, same, NULL)) == 1);
    CHECK(kn_item(kn_pairwise_distance(same, same, &(kn_pairwise_distance_args){.eps = zero})) == 0);
    kn_tensor q = kn_keep(kn_reshape(kn_arange(0, 8, 1, KN_F64), KN_SHAPE(1, 1, 4, 2)));
    kn_tensor even = kn_attention(q, q, q, &(kn_attention_args){.scale = zero}); /* every key alike */
    CHECK(fabs(kn_item(kn_min(even, KN_AXES_ALL, false)) - 3) < 1e-12);
    kn_tensor logits = kn_keep(kn_from((const double[]){1, 2, 3}, KN_F64, KN_SHAPE(1, 3)));
    kn_tensor target = kn_keep(kn_from((const int64_t[]){2}, KN_I64, KN_SHAPE(1)));
    const kn_cross_entropy_args entropy = KN_CROSS_ENTROPY_ARGS_DEFAULTS;
    double plain = kn_item(kn_cross_entropy(logits, target, NULL));
    CHECK(kn_item(kn_cross_entropy(logits, target, &entropy)) == plain && entropy.ignore_index == -100);
    CHECK(kn_item(kn_cross_entropy(logits, target, &(kn_cross_entropy_args){.label_smoothing = 0})) == plain);
    /* Where 0 is 0, KN_ZERO is it as well. */
    CHECK(kn_item(kn_cross_entropy(logits, target, &(kn_cross_entropy_args){.label_smoothing = zero})) ==
          plain);
    kn_tensor sign = kn_keep(kn_ones(KN_SHAPE(1), KN_F64));
    CHECK(kn_item(kn_margin_ranking_loss(sign, sign, sign, &(kn_margin_args){.margin = zero})) == 0);
    kn_tensor part = kn_keep(kn_full(KN_SHAPE(2), 0.25, KN_F64));
    CHECK(kn_item(kn_binary_cross_entropy_loss(part, part,
                                               &(kn_binary_cross_entropy_loss_args){.smoothing = zero})) ==
          kn_item(kn_binary_cross_entropy_loss(part, part, NULL)));
    kn_tensor first = kn_one_hot_fill(target, 3, &(kn_one_hot_fill_args){.on = 2, .axis = KN_ZERO});
    CHECK(kn_size(first, 0) == 3 && kn_size(first, 1) == 1);
    kn_drop(first);
    char text[64];
    kn_format(kn_full(KN_SHAPE(1), 1.26, KN_F64), text, sizeof text,
              &(kn_print_options){.precision = KN_ZERO});
    CHECK(!strstr(text, ".2") && strchr(text, '1')); /* no digit behind the point */
    /* The default of each macro equals NULL. */
    kn_tensor w = kn_keep(kn_ones(KN_SHAPE(1, 1, 2, 2), KN_F64)),
              image = kn_keep(kn_ones(KN_SHAPE(1, 1, 4, 4), KN_F64));
    const kn_conv2d_args conv = KN_CONV2D_ARGS_DEFAULTS;
    kn_tensor a = kn_keep(kn_conv2d(image, w, KN_NONE, NULL)),
              b = kn_keep(kn_conv2d(image, w, KN_NONE, &conv));
    CHECK(kn_size(a, 2) == 3 && kn_size(b, 2) == 3);
}

static void sampler(void)
{
    kn_tensor logits = kn_keep(kn_from((const double[]){1, 1.5, 1.4}, KN_F64, KN_SHAPE(3)));
    const kn_sampler_args filled = KN_SAMPLER_ARGS_DEFAULTS;
    CHECK(filled.temperature == 1 && filled.repetition_penalty == 1 && !filled.greedy);
    const kn_sampler_args greedy[] = {{.greedy = true},
                                      {.greedy = true, .temperature = 5, .top_k = 3, .top_p = 0.9},
                                      {.temperature = (double)KN_ZERO}};
    for (int i = 0; i < 3; i++) {
        kn_sampler s;
        CHECK(kn_sampler_init(&s, &greedy[i]) == KN_OK && s.args.greedy);
        for (int k = 0; k < 20; k++) CHECK(kn_item_int(kn_sampler_next(&s, logits, KN_NONE)) == 1);
    }
    kn_sampler null, full;
    CHECK(kn_sampler_init(&null, NULL) == KN_OK && kn_sampler_init(&full, &filled) == KN_OK);
    bool varied = false;
    for (int k = 0; k < 50; k++) {
        int64_t token = kn_item_int(kn_sampler_next(&null, logits, KN_NONE));
        CHECK(token == kn_item_int(kn_sampler_next(&full, logits, KN_NONE)));
        varied = varied || token != 1;
    }
    CHECK(varied); /* temperature 0 is 1, not greedy */
}

int main(void)
{
    kn_device device = kn_device_open("autodiff(cpu)");
    if (!CHECK(device != NULL)) return check_report();
    kn_device_use(device);
    void (*const tests[])(void) = {optimisers, zero_switches_off, zero_is_the_default, layers,
                                   recurrent,  transformers,      zero_through_layers, ops,
                                   sampler};
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        kn_scope scope = kn_scope_begin();
        tests[i]();
        kn_scope_end(scope, KN_NONE);
    }
    return check_report();
}
