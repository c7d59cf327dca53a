/* The layers of transformers: feed-forward part, encoder layer, decoder layer. */
#include "nn/layer.h"
#include "support/failure.h"
#include <kn/elementwise.h>
#include <kn/functional.h>
#include <kn/nn/transformer.h>
#include <kn/tensor.h>

static const kn_nn_transformer_args usual_args = KN_NN_TRANSFORMER_ARGS_DEFAULTS;

static double dropout_of(const kn_nn_transformer_args *args) { return kn_real_or(args->dropout, 0); }

/* ---- feed-forward */

const kn_module_type kn_nn_feed_forward_type = {
    "FeedForward", sizeof(kn_nn_feed_forward),
    (const kn_field[]){KN_MODULE(kn_nn_feed_forward, linear1, kn_nn_linear),
                       KN_MODULE(kn_nn_feed_forward, linear2, kn_nn_linear),
                       KN_MODULE(kn_nn_feed_forward, activation, kn_nn_activation),
                       KN_REAL(kn_nn_feed_forward, dropout),
                       KN_MODE(kn_nn_feed_forward, training),
                       {0}}};

kn_status kn_nn_feed_forward_init(kn_nn_feed_forward *m, int64_t d_model, int64_t d_ff,
                                  const kn_nn_transformer_args *args)
{
    if (!args) args = &usual_args;
    kn_nn_feed_forward made = {.dropout = dropout_of(args), .training = true};
    kn_nn_linear_args linear = {.no_bias = args->no_bias, .weight = args->initializer, .dtype = args->dtype};
    kn_activation_kind kind =
        args->activation == KN_ACTIVATION_IDENTITY ? KN_ACTIVATION_RELU : args->activation;
    kn_nn_activation_args activation = args->activation_args;
    if (kind == KN_ACTIVATION_SWIGLU && !activation.in_features)
        activation.in_features = activation.out_features = d_ff;
    if (!activation.dtype) activation.dtype = args->dtype;
    kn_status s = KN_OK;
    if (!(made.dropout >= 0 && made.dropout < 1))
        s = kni_failure(KN_ERROR_ARGUMENT,
                        "kn_nn_feed_forward_init: dropout is %s; it must be at least 0 and below 1",
                        KNI_NUMBER(made.dropout));
    if (s == KN_OK) s = kn_nn_activation_init(&made.activation, kind, &activation);
    if (s == KN_OK) s = kn_nn_linear_init(&made.linear1, d_model, d_ff, &linear);
    if (s == KN_OK)
        s = kn_nn_linear_init(&made.linear2, kind == KN_ACTIVATION_GLU ? d_ff / 2 : d_ff, d_model, &linear);
    return kni_layer_finish(KN_MODULE_OF(kn_nn_feed_forward, &made), m, s);
}

kn_tensor kn_nn_feed_forward_forward(const kn_nn_feed_forward *m, kn_tensor x)
{
    KNI_NEEDS_INIT(kn_nn_feed_forward, m);
    kn_tensor h = kn_nn_activation_forward(&m->activation, kn_nn_linear_forward(&m->linear1, x));
    return kn_nn_linear_forward(&m->linear2, kn_dropout(h, m->dropout, m->training));
}

/* PyTorch has the two linear layers of this part directly in its layer, so their names skip one level. */
#define INNER(owner, member, module)                                                                         \
    {                                                                                                        \
        KN_FIELD_MODULE, #member, offsetof(owner, feed_forward.member), &module##_type, 0, NULL              \
    }
#define FEED_FORWARD_FIELDS(owner)                                                                           \
    INNER(owner, linear1, kn_nn_linear), INNER(owner, linear2, kn_nn_linear),                                \
        INNER(owner, activation, kn_nn_activation),                                                          \
        {KN_FIELD_REAL, "feed_forward_dropout", offsetof(owner, feed_forward.dropout), NULL, 0, NULL},       \
    {                                                                                                        \
        KN_FIELD_MODE, "feed_forward_training", offsetof(owner, feed_forward.training), NULL, 0, NULL        \
    }

/* ---- what both layers do */

/* One part of a layer: attention or feed-forward, with the norm before or after it. */
typedef struct part {
    const kn_nn_attention *attention; /* or NULL */
    const kn_nn_feed_forward *feed_forward;
    kn_tensor memory; /* of attention to a context */
    const kn_nn_attention_call *call;
    const kn_nn_layer_norm *norm;
} part;

static kn_tensor run_part(const part *p, kn_tensor x, bool norm_first, double dropout, bool training)
{
    kn_scope scope = kn_scope_begin();
    x = kn_keep(x);
    kn_tensor h = norm_first ? kn_nn_layer_norm_forward(p->norm, x) : x;
    h = p->attention ? kn_nn_attention_forward(p->attention, h, p->memory, KN_NONE, p->call)
                     : kn_nn_feed_forward_forward(p->feed_forward, h);
    kn_tensor y = kn_add(x, kn_dropout(h, dropout, training));
    return kn_scope_end(scope, norm_first ? y : kn_nn_layer_norm_forward(p->norm, y));
}

static kn_status init_attention(kn_nn_attention *m, int64_t d_model, int64_t n_heads, int64_t n_heads_kv,
                                const kn_nn_transformer_args *args)
{
    bool no_bias = args->no_bias;
    return kn_nn_attention_init(m, d_model, n_heads,
                                &(kn_nn_attention_args){.n_heads_kv = n_heads_kv,
                                                        .dropout = dropout_of(args),
                                                        .min_float = args->min_float,
                                                        .quiet_softmax = args->quiet_softmax,
                                                        .no_query_bias = no_bias,
                                                        .no_key_bias = no_bias,
                                                        .no_value_bias = no_bias,
                                                        .no_output_bias = no_bias,
                                                        .initializer = args->initializer,
                                                        .dtype = args->dtype});
}

static kn_status init_norms(kn_nn_layer_norm *const *norms, int n, int64_t d_model,
                            const kn_nn_transformer_args *args)
{
    kn_nn_layer_norm_args norm = {
        .eps = args->layer_norm_eps, .no_bias = args->no_bias, .dtype = args->dtype};
    kn_status s = KN_OK;
    for (int i = 0; i < n && s == KN_OK; i++) s = kn_nn_layer_norm_init(norms[i], KN_SHAPE(d_model), &norm);
    return s;
}

/* ---- encoder layer */

#define ENCODER_MODULE(member, module) KN_MODULE(kn_nn_transformer_encoder_layer, member, module)

const kn_module_type kn_nn_transformer_encoder_layer_type = {
    "TransformerEncoderLayer", sizeof(kn_nn_transformer_encoder_layer),
    (const kn_field[]){ENCODER_MODULE(self_attn, kn_nn_attention),
                       FEED_FORWARD_FIELDS(kn_nn_transformer_encoder_layer),
                       ENCODER_MODULE(norm1, kn_nn_layer_norm),
                       ENCODER_MODULE(norm2, kn_nn_layer_norm),
                       KN_REAL(kn_nn_transformer_encoder_layer, dropout),
                       KN_FLAG(kn_nn_transformer_encoder_layer, norm_first),
                       KN_MODE(kn_nn_transformer_encoder_layer, training),
                       {0}}};

kn_status kn_nn_transformer_encoder_layer_init(kn_nn_transformer_encoder_layer *m, int64_t d_model,
                                               int64_t n_heads, int64_t d_ff,
                                               const kn_nn_transformer_args *args)
{
    if (!args) args = &usual_args;
    kn_nn_transformer_encoder_layer made = {
        .dropout = dropout_of(args), .norm_first = args->norm_first, .training = true};
    kn_nn_layer_norm *norms[] = {&made.norm1, &made.norm2};
    kn_status s = init_attention(&made.self_attn, d_model, n_heads, args->n_heads_kv, args);
    if (s == KN_OK) s = kn_nn_feed_forward_init(&made.feed_forward, d_model, d_ff, args);
    if (s == KN_OK) s = init_norms(norms, 2, d_model, args);
    return kni_layer_finish(KN_MODULE_OF(kn_nn_transformer_encoder_layer, &made), m, s);
}

kn_tensor kn_nn_transformer_encoder_layer_forward(const kn_nn_transformer_encoder_layer *m, kn_tensor x,
                                                  const kn_nn_attention_call *call)
{
    KNI_NEEDS_INIT(kn_nn_transformer_encoder_layer, m);
    const part parts[] = {{&m->self_attn, NULL, KN_NONE, call, &m->norm1},
                          {NULL, &m->feed_forward, KN_NONE, NULL, &m->norm2}};
    for (int i = 0; i < 2; i++) x = run_part(&parts[i], x, m->norm_first, m->dropout, m->training);
    return x;
}

/* ---- decoder layer */

#define DECODER_MODULE(member, module) KN_MODULE(kn_nn_transformer_decoder_layer, member, module)

const kn_module_type kn_nn_transformer_decoder_layer_type = {
    "TransformerDecoderLayer", sizeof(kn_nn_transformer_decoder_layer),
    (const kn_field[]){DECODER_MODULE(self_attn, kn_nn_attention),
                       DECODER_MODULE(multihead_attn, kn_nn_attention),
                       FEED_FORWARD_FIELDS(kn_nn_transformer_decoder_layer),
                       DECODER_MODULE(norm1, kn_nn_layer_norm),
                       DECODER_MODULE(norm2, kn_nn_layer_norm),
                       DECODER_MODULE(norm3, kn_nn_layer_norm),
                       KN_REAL(kn_nn_transformer_decoder_layer, dropout),
                       KN_FLAG(kn_nn_transformer_decoder_layer, norm_first),
                       KN_MODE(kn_nn_transformer_decoder_layer, training),
                       {0}}};

kn_status kn_nn_transformer_decoder_layer_init(kn_nn_transformer_decoder_layer *m, int64_t d_model,
                                               int64_t n_heads, int64_t d_ff,
                                               const kn_nn_transformer_args *args)
{
    if (!args) args = &usual_args;
    kn_nn_transformer_decoder_layer made = {
        .dropout = dropout_of(args), .norm_first = args->norm_first, .training = true};
    kn_nn_layer_norm *norms[] = {&made.norm1, &made.norm2, &made.norm3};
    kn_status s = init_attention(&made.self_attn, d_model, n_heads, args->n_heads_kv, args);
    if (s == KN_OK) s = init_attention(&made.multihead_attn, d_model, n_heads, 0, args);
    if (s == KN_OK) s = kn_nn_feed_forward_init(&made.feed_forward, d_model, d_ff, args);
    if (s == KN_OK) s = init_norms(norms, 3, d_model, args);
    return kni_layer_finish(KN_MODULE_OF(kn_nn_transformer_decoder_layer, &made), m, s);
}

kn_tensor kn_nn_transformer_decoder_layer_forward(const kn_nn_transformer_decoder_layer *m, kn_tensor x,
                                                  kn_tensor memory, const kn_nn_attention_call *self,
                                                  const kn_nn_attention_call *cross)
{
    KNI_NEEDS_INIT(kn_nn_transformer_decoder_layer, m);
    if (!memory.bits)
        return kn_poison(KN_ERROR_ARGUMENT,
                         "kn_nn_transformer_decoder_layer_forward: a decoder needs a memory; an encoder with "
                         "is_causal generates without one");
    const part parts[] = {{&m->self_attn, NULL, KN_NONE, self, &m->norm1},
                          {&m->multihead_attn, NULL, memory, cross, &m->norm2},
                          {NULL, &m->feed_forward, KN_NONE, NULL, &m->norm3}};
    for (int i = 0; i < 3; i++) x = run_part(&parts[i], x, m->norm_first, m->dropout, m->training);
    return x;
}
