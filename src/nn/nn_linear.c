/* Linear layers, gated units and embeddings. */
#include "nn/layer.h"
#include "support/failure.h"
#include <kn/activation.h>
#include <kn/contraction.h>
#include <kn/elementwise.h>
#include <kn/functional.h>
#include <kn/indexing.h>
#include <kn/nn/linear.h>
#include <kn/tensor.h>

const kn_module_type kn_nn_lora_type = {"Lora", sizeof(kn_nn_lora),
                                        (const kn_field[]){KN_PARAM(kn_nn_lora, a),
                                                           KN_PARAM(kn_nn_lora, b),
                                                           KN_INT(kn_nn_lora, rank),
                                                           KN_REAL(kn_nn_lora, alpha),
                                                           KN_REAL(kn_nn_lora, dropout),
                                                           KN_MODE(kn_nn_lora, training),
                                                           {0}}};

const kn_module_type kn_nn_linear_type = {"Linear", sizeof(kn_nn_linear),
                                          (const kn_field[]){KN_PARAM(kn_nn_linear, weight),
                                                             KN_PARAM(kn_nn_linear, bias),
                                                             KN_OPTIONAL(kn_nn_linear, lora, kn_nn_lora),
                                                             KN_INT(kn_nn_linear, in_features),
                                                             KN_INT(kn_nn_linear, out_features),
                                                             {0}}};

kn_status kn_nn_linear_init(kn_nn_linear *m, int64_t in_features, int64_t out_features,
                            const kn_nn_linear_args *args)
{
    static const kn_nn_linear_args usual = KN_NN_LINEAR_ARGS_DEFAULTS;
    if (!args) args = &usual;
    kn_nn_linear made = {.in_features = in_features, .out_features = out_features};
    kn_status s = kni_layer_positive("kn_nn_linear_init", "in_features", in_features);
    if (s == KN_OK) s = kni_layer_positive("kn_nn_linear_init", "out_features", out_features);
    if (s == KN_OK)
        s = kni_layer_param(&made.weight, &args->weight, usual.weight, KN_SHAPE(out_features, in_features),
                            args->dtype, 0);
    if (s == KN_OK && !args->no_bias)
        s = kni_layer_param(&made.bias, &args->bias, usual.bias, KN_SHAPE(out_features), args->dtype,
                            in_features);
    return kni_layer_finish(KN_MODULE_OF(kn_nn_linear, &made), m, s);
}

kn_tensor kn_nn_linear_forward(const kn_nn_linear *m, kn_tensor x)
{
    KNI_NEEDS_INIT(kn_nn_linear, m);
    if (!m->weight.handle.bits) return kni_layer_forgotten(m, "kn_nn_linear", &kn_nn_linear_type);
    const kn_nn_lora *l = m->lora;
    if (!l) return kn_linear(x, kn_value(m->weight), kn_value(m->bias));
    kn_scope scope = kn_scope_begin();
    x = kn_keep(x);
    kn_tensor low = kn_linear(kn_dropout(x, l->dropout, l->training), kn_value(l->a), KN_NONE);
    kn_tensor change = kn_mul_scalar(kn_linear(low, kn_value(l->b), KN_NONE), l->alpha / (double)l->rank);
    return kn_scope_end(scope, kn_add(kn_linear(x, kn_value(m->weight), kn_value(m->bias)), change));
}

/* ---- SwiGLU */

const kn_module_type kn_nn_swiglu_type = {
    "SwiGlu", sizeof(kn_nn_swiglu),
    (const kn_field[]){KN_MODULE(kn_nn_swiglu, linear_inner, kn_nn_linear),
                       KN_MODULE(kn_nn_swiglu, linear_outer, kn_nn_linear),
                       {0}}};

kn_status kn_nn_swiglu_init(kn_nn_swiglu *m, int64_t in_features, int64_t out_features,
                            const kn_nn_swiglu_args *args)
{
    static const kn_nn_swiglu_args usual = KN_NN_SWIGLU_ARGS_DEFAULTS;
    if (!args) args = &usual;
    kn_nn_linear_args linear = {.no_bias = !args->bias, .weight = args->weight, .dtype = args->dtype};
    kn_nn_swiglu made = {0};
    kn_status s = kn_nn_linear_init(&made.linear_inner, in_features, out_features, &linear);
    if (s == KN_OK) s = kn_nn_linear_init(&made.linear_outer, in_features, out_features, &linear);
    return kni_layer_finish(KN_MODULE_OF(kn_nn_swiglu, &made), m, s);
}

kn_tensor kn_nn_swiglu_forward(const kn_nn_swiglu *m, kn_tensor x)
{
    KNI_NEEDS_INIT(kn_nn_swiglu, m);
    kn_scope scope = kn_scope_begin();
    x = kn_keep(x);
    kn_tensor gate = kn_silu(kn_nn_linear_forward(&m->linear_inner, x));
    return kn_scope_end(scope, kn_mul(gate, kn_nn_linear_forward(&m->linear_outer, x)));
}

/* ---- embedding */

static const char *const no_padding[] = {"none"};
const kn_module_type kn_nn_embedding_type = {
    "Embedding", sizeof(kn_nn_embedding),
    (const kn_field[]){KN_PARAM(kn_nn_embedding, weight),
                       KN_INT(kn_nn_embedding, num_embeddings),
                       KN_INT(kn_nn_embedding, embedding_dim),
                       KN_INT_OR(kn_nn_embedding, padding_index, no_padding),
                       {0}}};

static kn_status clear_row(const char *function, kn_param *weight, int64_t row, int64_t rows)
{
    if (row == KN_ZERO) row = 0;
    int64_t given = row;
    if (row < 0) row += rows;
    if (row < 0 || row >= rows)
        return kni_failure(KN_ERROR_INDEX, "%s: the padding index %lld is outside of the %lld rows", function,
                           (long long)given, (long long)rows);
    kn_no_grad_begin();
    kn_tensor cleared = kn_slice_fill(kn_detach(kn_value(*weight)), &(kn_range){row, row + 1, 1}, 1, 0);
    kn_no_grad_end();
    return kn_param_set(weight, cleared);
}

/* A table of rows, of which the padding row is zeros. */
static kn_status make_table(const char *function, kn_param *weight, int64_t rows, int64_t size,
                            const kn_initializer *initializer, kn_dtype dtype, int64_t padding)
{
    kn_status s = kni_layer_positive(function, "num_embeddings", rows);
    if (s == KN_OK) s = kni_layer_positive(function, "embedding_dim", size);
    if (s == KN_OK)
        s = kni_layer_param(weight, initializer, (kn_initializer){KN_INIT_NORMAL, 0, 1, 0, false},
                            KN_SHAPE(rows, size), dtype, 0);
    if (s == KN_OK && padding != 0) s = clear_row(function, weight, padding, rows);
    return s;
}

kn_status kn_nn_embedding_init(kn_nn_embedding *m, int64_t num_embeddings, int64_t embedding_dim,
                               const kn_nn_embedding_args *args)
{
    static const kn_nn_embedding_args usual = KN_NN_EMBEDDING_ARGS_DEFAULTS;
    if (!args) args = &usual;
    kn_nn_embedding made = {.num_embeddings = num_embeddings,
                            .embedding_dim = embedding_dim,
                            .padding_index = args->padding_index};
    kn_status s = make_table("kn_nn_embedding_init", &made.weight, num_embeddings, embedding_dim,
                             &args->weight, args->dtype, args->padding_index);
    return kni_layer_finish(KN_MODULE_OF(kn_nn_embedding, &made), m, s);
}

kn_tensor kn_nn_embedding_forward(const kn_nn_embedding *m, kn_tensor indices)
{
    KNI_NEEDS_INIT(kn_nn_embedding, m);
    return kn_embedding(kn_value(m->weight), indices,
                        &(kn_embedding_args){.padding_index = m->padding_index});
}

/* ---- bags of embeddings */

static const char *const bag_modes[] = {"mean", "sum", "max"};
const kn_module_type kn_nn_embedding_bag_type = {
    "EmbeddingBag", sizeof(kn_nn_embedding_bag),
    (const kn_field[]){KN_PARAM(kn_nn_embedding_bag, weight),
                       KN_INT(kn_nn_embedding_bag, num_embeddings),
                       KN_INT(kn_nn_embedding_bag, embedding_dim),
                       KN_ENUM(kn_nn_embedding_bag, mode, bag_modes),
                       KN_INT_OR(kn_nn_embedding_bag, padding_index, no_padding),
                       KN_FLAG(kn_nn_embedding_bag, include_last_offset),
                       {0}}};

kn_status kn_nn_embedding_bag_init(kn_nn_embedding_bag *m, int64_t num_embeddings, int64_t embedding_dim,
                                   const kn_nn_embedding_bag_args *args)
{
    static const kn_nn_embedding_bag_args usual = KN_NN_EMBEDDING_BAG_ARGS_DEFAULTS;
    if (!args) args = &usual;
    kn_nn_embedding_bag made = {.num_embeddings = num_embeddings,
                                .embedding_dim = embedding_dim,
                                .mode = args->mode,
                                .padding_index = args->padding_index,
                                .include_last_offset = args->include_last_offset};
    kn_status s = KN_OK;
    if ((unsigned)args->mode > KN_BAG_MAX)
        s = kni_failure(KN_ERROR_ARGUMENT, "kn_nn_embedding_bag_init: there is no mode %d", (int)args->mode);
    if (s == KN_OK)
        s = make_table("kn_nn_embedding_bag_init", &made.weight, num_embeddings, embedding_dim, &args->weight,
                       args->dtype, args->padding_index);
    return kni_layer_finish(KN_MODULE_OF(kn_nn_embedding_bag, &made), m, s);
}

kn_tensor kn_nn_embedding_bag_forward(const kn_nn_embedding_bag *m, kn_tensor indices, kn_tensor offsets,
                                      kn_tensor per_sample_weights)
{
    KNI_NEEDS_INIT(kn_nn_embedding_bag, m);
    return kn_embedding_bag(kn_value(m->weight), indices,
                            &(kn_embedding_bag_args){.mode = m->mode,
                                                     .offsets = offsets,
                                                     .per_sample_weights = per_sample_weights,
                                                     .include_last_offset = m->include_last_offset,
                                                     .padding_index = m->padding_index});
}
