/* Attention: PyTorch's values and gradients, masks, grouped heads, caches, rotary and other positions, the conversion of
   PyTorch's params, and misuse. */
#include "test_nn_sequence.h"

static const bool pad[] = {false, false, false, false, false, false, true, true};

static kn_tensor padding(void) { return kn_from(pad, KN_BOOL, KN_SHAPE(2, 4)); }

static kn_nn_attention attention(int64_t d_model, int64_t n_heads, kn_nn_attention_args args)
{
    kn_nn_attention m = {.d_model = 0};
    args.dtype = KN_F64;
    CHECK(kn_nn_attention_init(&m, d_model, n_heads, &args) == KN_OK);
    fill_params(KN_MODULE_OF(kn_nn_attention, &m));
    CHECK(kn_module_check(KN_MODULE_OF(kn_nn_attention, &m)) == KN_OK);
    return m;
}

static void drop(kn_nn_attention *m) { kn_module_drop(KN_MODULE_OF(kn_nn_attention, m)); }

static void follows_torch(void)
{
    kn_nn_attention m = attention(6, 2, (kn_nn_attention_args){.no_key_bias = false});
    kn_tensor x = kn_require_grad(numbers(1, KN_SHAPE(2, 4, 6))), weights = KN_NONE;
    for (int openly = 0; openly < 2; openly++) {
        kn_nn_attention_call call = {.sees_keys = kn_logical_not(padding()),
                                     .sees = kn_causal_mask(4),
                                     .weights = openly ? &weights : NULL};
        kn_tensor y = kn_keep(kn_nn_attention_forward(&m, x, KN_NONE, KN_NONE, &call));
        expect("attention", "y", y);
        kn_grads grads = NULL;
        CHECK(kn_backward(kn_keep(weighted(y, 99)), &grads) == KN_OK);
        expect("attention", "dx", kn_grads_get(grads, x));
        expect_gradients("attention", KN_MODULE_OF(kn_nn_attention, &m), grads);
        kn_grads_free(grads);
    }
    expect("attention", "weights", kn_keep(weights));
    drop(&m);
}

static void context_and_bias(void)
{
    kn_nn_attention m = attention(
        6, 3,
        (kn_nn_attention_args){
            .no_query_bias = true, .no_key_bias = true, .no_value_bias = true, .no_output_bias = true});
    kn_tensor x = kn_require_grad(numbers(1, KN_SHAPE(2, 4, 6)));
    kn_tensor memory = kn_require_grad(numbers(2, KN_SHAPE(2, 3, 6))), weights;
    for (int openly = 0; openly < 2; openly++) {
        kn_nn_attention_call call = {.bias = numbers(5, KN_SHAPE(4, 3)), .weights = openly ? &weights : NULL};
        kn_tensor y = kn_keep(kn_nn_attention_forward(&m, x, memory, KN_NONE, &call));
        expect("attention_bias", "y", y);
        kn_grads grads = NULL;
        CHECK(kn_backward(kn_keep(weighted(y, 99)), &grads) == KN_OK);
        expect("attention_bias", "dx", kn_grads_get(grads, x));
        expect("attention_bias", "dmemory", kn_grads_get(grads, memory));
        expect_gradients("attention_bias", KN_MODULE_OF(kn_nn_attention, &m), grads);
        kn_grads_free(grads);
    }
    drop(&m);
}

/* Rows [heads size, in] of a weight, each head `times` times. */
static kn_status repeat_heads(kn_param *to, const kn_param *from, int64_t heads, int64_t times)
{
    kn_tensor t = kn_detach(kn_value(*from));
    int64_t rows = kn_size(t, 0);
    kn_shape whole = kn_shape_of_tensor(t);
    whole.dims[0] = rows * times;
    kn_tensor parts = kn_unflatten(t, 0, KN_SHAPE(heads, rows / heads));
    return kn_param_set(to, kn_reshape(kn_repeat_interleave(parts, times, 0), whole));
}

/* Grouped heads are ordinary heads whose keys and values are repeated. */
static void grouped_heads(void)
{
    kn_nn_attention grouped =
        attention(6, 4, (kn_nn_attention_args){.n_heads_kv = 2, .d_head = 2, .d_context = 5});
    kn_nn_attention all = attention(6, 4, (kn_nn_attention_args){.d_head = 2, .d_context = 5});
    CHECK(kn_size(kn_value(grouped.key.weight), 0) == 4 && kn_size(kn_value(grouped.output.weight), 1) == 8);
    CHECK(repeat_heads(&all.key.weight, &grouped.key.weight, 2, 2) == KN_OK);
    CHECK(repeat_heads(&all.key.bias, &grouped.key.bias, 2, 2) == KN_OK);
    CHECK(repeat_heads(&all.value.weight, &grouped.value.weight, 2, 2) == KN_OK);
    CHECK(repeat_heads(&all.value.bias, &grouped.value.bias, 2, 2) == KN_OK);
    kn_tensor x = kn_keep(numbers(1, KN_SHAPE(2, 3, 6))), z = kn_keep(numbers(2, KN_SHAPE(2, 5, 5)));
    kn_tensor weights[2], y[4];
    for (int i = 0; i < 2; i++) {
        kn_nn_attention_call call = {.weights = &weights[i]};
        const kn_nn_attention *m = i ? &all : &grouped;
        y[2 * i] = kn_keep(kn_nn_attention_forward(m, x, z, KN_NONE, NULL));
        y[2 * i + 1] = kn_keep(kn_nn_attention_forward(m, x, z, KN_NONE, &call));
        weights[i] = kn_keep(weights[i]);
    }
    CHECK(largest_gap(y[0], y[2]) < 1e-14 && largest_gap(y[1], y[3]) < 1e-14 &&
          largest_gap(y[0], y[1]) < 1e-14);
    CHECK(largest_gap(weights[0], weights[1]) < 1e-15);
    drop(&grouped);
    drop(&all);
}

/* Token by token with a cache gives the rows of the whole; the causal option is the mask; rotary positions go on. */
static void cached_decoding(void)
{
    kn_nn_rotary rotary;
    CHECK(kn_nn_rotary_init(&rotary, 16, 4, NULL) == KN_OK);
    for (int turned = 0; turned < 2; turned++)
        for (int quiet = 0; quiet < 2; quiet++) {
            kn_nn_attention m = attention(
                8, 2, (kn_nn_attention_args){.n_heads_kv = turned ? 1 : 2, .quiet_softmax = quiet == 1});
            const kn_nn_rotary *r = turned ? &rotary : NULL;
            kn_tensor x = kn_keep(numbers(1, KN_SHAPE(2, 6, 8)));
            kn_tensor whole = kn_keep(kn_nn_attention_forward(
                &m, x, KN_NONE, KN_NONE, &(kn_nn_attention_call){.is_causal = true, .rotary = r}));
            kn_tensor masked = kn_keep(kn_nn_attention_forward(
                &m, x, KN_NONE, KN_NONE, &(kn_nn_attention_call){.sees = kn_causal_mask(6), .rotary = r}));
            CHECK(largest_gap(whole, masked) < 1e-14);
            kn_nn_attention_cache cache = {.length = 0};
            kn_nn_attention_call call = {.is_causal = true, .rotary = r, .cache = &cache};
            const int64_t starts[] = {0, 1, 4, 5, 6};
            for (int i = 0; i < 4; i++) {
                kn_tensor part = kn_narrow(x, 1, starts[i], starts[i + 1] - starts[i]);
                kn_tensor y = kn_keep(kn_nn_attention_forward(&m, part, KN_NONE, KN_NONE, &call));
                kn_tensor want = kn_keep(kn_narrow(whole, 1, starts[i], starts[i + 1] - starts[i]));
                CHECK(cache.length == starts[i + 1]);
                CHECK(largest_gap(y, want) < 1e-13);
            }
            kn_nn_attention_cache_drop(&cache);
            CHECK(cache.key.bits == 0 && cache.length == 0);
            drop(&m);
        }
    kn_module_drop(KN_MODULE_OF(kn_nn_rotary, &rotary));
}

/* A query that sees nothing: zeros (and finite gradients), or with min_float the mean of all values. */
static void nothing_to_see(void)
{
    kn_tensor x = kn_require_grad(numbers(1, KN_SHAPE(1, 3, 4)));
    for (int way = 0; way < 3; way++) {
        kn_nn_attention m =
            attention(4, 2, (kn_nn_attention_args){.no_output_bias = true, .min_float = way == 2 ? -1e4 : 0});
        kn_tensor weights;
        kn_nn_attention_call call = {.sees_keys = kn_zeros(KN_SHAPE(1, 3), KN_BOOL),
                                     .weights = way ? &weights : NULL};
        kn_tensor y = kn_keep(kn_nn_attention_forward(&m, x, KN_NONE, KN_NONE, &call)), dx;
        if (way < 2) CHECK(kn_item(kn_max_abs(y, KN_AXES_ALL, false)) == 0);
        if (way == 1) CHECK(kn_item(kn_max_abs(weights, KN_AXES_ALL, false)) == 0);
        if (way == 2)
            CHECK_VALUES(kn_slice(kn_flatten(weights, 0, -1), 0, 0, 3, 1), 1e-15, 1. / 3, 1. / 3, 1. / 3);
        kn_tensor loss = kn_keep(kn_sum(y, KN_AXES_ALL, false));
        CHECK(kn_grad(&loss, NULL, 1, &x, 1, 0, &dx) == KN_OK);
        CHECK(kn_item_int(kn_cast(kn_all(kn_is_finite(dx), KN_AXES_ALL, false), KN_I64)) == 1);
        drop(&m);
    }
}

/* With operands that do not fit, the weights carry the error as the result does. */
static void errors_reach_the_weights(void)
{
    kn_nn_attention m = attention(4, 2, (kn_nn_attention_args){0});
    kn_tensor weights = KN_NONE;
    kn_nn_attention_call call = {.weights = &weights};
    CHECK_POISON(kn_nn_attention_forward(&m, numbers(1, KN_SHAPE(1, 3, 5)), KN_NONE, KN_NONE, &call),
                 "query");
    CHECK_POISON(weights, "query");
    drop(&m);
}

/* quiet softmax: exp / (1 + sum exp), so that weights may add up to less than 1. */
static void quiet(void)
{
    kn_nn_attention m = attention(4, 1, (kn_nn_attention_args){.quiet_softmax = true});
    kn_tensor x = kn_keep(numbers(1, KN_SHAPE(1, 2, 4))), weights;
    kn_nn_attention_call call = {.weights = &weights};
    kn_drop(kn_nn_attention_forward(&m, x, KN_NONE, KN_NONE, &call));
    kn_tensor q = kn_linear(x, kn_value(m.query.weight), kn_value(m.query.bias));
    kn_tensor k = kn_linear(x, kn_value(m.key.weight), kn_value(m.key.bias));
    kn_tensor e = kn_keep(kn_exp(kn_mul_scalar(kn_matmul(q, kn_t(k)), 0.5)));
    kn_tensor want = kn_div(e, kn_add_scalar(kn_sum(e, KN_AXES(2), true), 1));
    CHECK(largest_gap(kn_keep(kn_squeeze(weights, 1)), kn_keep(want)) < 1e-15);
    drop(&m);
}

/* Dropout changes results in training only, and keeps the mean of the weights. */
static void dropout(void)
{
    kn_nn_attention m = attention(4, 1, (kn_nn_attention_args){.dropout = 0.5});
    kn_tensor x = kn_keep(numbers(1, KN_SHAPE(1, 64, 4)));
    kn_tensor a = kn_keep(kn_nn_attention_forward(&m, x, KN_NONE, KN_NONE, NULL));
    kn_tensor b = kn_keep(kn_nn_attention_forward(&m, x, KN_NONE, KN_NONE, NULL));
    CHECK(largest_gap(a, b) > 0);
    kn_module_train(KN_MODULE_OF(kn_nn_attention, &m), false);
    kn_tensor c = kn_keep(kn_nn_attention_forward(&m, x, KN_NONE, KN_NONE, NULL));
    CHECK(largest_gap(c, kn_keep(kn_nn_attention_forward(&m, x, KN_NONE, KN_NONE, NULL))) == 0);
    CHECK(fabs(kn_item(kn_mean(kn_sub(a, c), KN_AXES_ALL, false))) < 0.05);
    drop(&m);
}

static kn_tensor checked(void *context, const kn_tensor *in, int32_t n)
{
    (void)n;
    kn_tensor weights;
    kn_nn_attention_call call = {.is_causal = true, .bias = in[1], .weights = &weights};
    kn_tensor y = kn_keep(kn_nn_attention_forward(context, in[0], KN_NONE, KN_NONE, &call));
    return kn_add(weighted(y, 99), weighted(kn_keep(weights), 98));
}

static void gradients_by_differences(void)
{
    for (int i = 0; i < 2; i++) {
        kn_nn_attention m = attention(4, 2, (kn_nn_attention_args){.n_heads_kv = 1, .quiet_softmax = i == 1});
        kn_tensor in[] = {kn_keep(numbers(1, KN_SHAPE(1, 3, 4))), kn_keep(numbers(2, KN_SHAPE(3, 3)))};
        CHECK(kn_gradcheck(checked, &m, in, 2, 0) == KN_OK);
        drop(&m);
    }
}

static void masks(void)
{
    CHECK_VALUES(kn_cast(kn_causal_mask(3), KN_F64), 0, 1, 0, 0, 1, 1, 0, 1, 1, 1);
    const int64_t a[] = {5, 6, 7}, b[] = {8};
    const int64_t *lists[] = {a, b};
    kn_token_batch p = kn_pad_tokens(lists, (const int64_t[]){3, 1}, 2, 9, 0);
    CHECK_VALUES(kn_cast(p.tokens, KN_F64), 0, 5, 6, 7, 8, 9, 9);
    CHECK_VALUES(kn_cast(p.sees, KN_F64), 0, 1, 1, 1, 1, 0, 0);
    p = kn_pad_tokens(lists, (const int64_t[]){3, 1}, 2, 9, 2);
    CHECK_VALUES(kn_cast(p.tokens, KN_F64), 0, 5, 6, 8, 9);
    p = kn_pad_tokens(lists, (const int64_t[]){3, 1}, 2, 9, -4);
    CHECK_VALUES(kn_cast(p.tokens, KN_F64), 0, 5, 6, 7, 9, 8, 9, 9, 9);
    CHECK_VALUES(kn_cast(p.sees, KN_F64), 0, 1, 1, 1, 0, 1, 0, 0, 0);
    p = kn_pad_tokens(lists, (const int64_t[]){0, 0}, 2, 9, 0);
    CHECK(kn_ok(p.tokens) && kn_size(p.tokens, 1) == 0);
    CHECK_POISON(kn_pad_tokens(NULL, NULL, 2, 9, 0).sees, "at least one list");
    CHECK_POISON(kn_pad_tokens(lists, (const int64_t[]){3, 1}, 2, 9, INT64_MIN).sees, "too large");
}

static void positions(void)
{
    kn_nn_positional_encoding m;
    CHECK(kn_nn_positional_encoding_init(&m, 6, NULL) == KN_OK && m.max_sequence_size == 5000);
    expect("positional", "table",
           kn_keep(kn_nn_positional_encoding_forward(&m, kn_zeros(KN_SHAPE(1, 4, 6), KN_F64), 3)));
    kn_tensor y = kn_nn_positional_encoding_forward(&m, kn_zeros(KN_SHAPE(1, 4, 6), KN_F32), 4996);
    CHECK(kn_ok(y) && kn_dtype_of(y) == KN_F32);
    CHECK_POISON(kn_nn_positional_encoding_forward(&m, kn_zeros(KN_SHAPE(1, 4, 6), KN_F32), 4997),
                 "do not fit");
    CHECK_POISON(kn_nn_positional_encoding_forward(&m, kn_zeros(KN_SHAPE(1, 4, 5), KN_F32), 0),
                 "[..., tokens, 6]");
    CHECK_ERROR(kn_nn_positional_encoding_init(&m, 5, NULL), "must be even");
    kn_nn_learned_positions l;
    CHECK(kn_nn_learned_positions_init(&l, 2, 3, NULL) == KN_OK);
    CHECK(kn_param_set(&l.embedding.weight, kn_reshape(kn_arange(0, 6, 1, KN_F32), KN_SHAPE(3, 2))) == KN_OK);
    CHECK_VALUES(kn_nn_learned_positions_forward(&l, kn_ones(KN_SHAPE(1, 2, 2), KN_F32), 1), 0, 3, 4, 5, 6);
    CHECK_POISON(kn_nn_learned_positions_forward(&l, kn_ones(KN_SHAPE(1, 2, 2), KN_F32), 2), "do not fit");
    kn_module_drop(KN_MODULE_OF(kn_nn_learned_positions, &l));
}

static double halve(void *context, int64_t pair, double frequency)
{
    (void)context;
    return pair == 0 ? frequency : frequency / 2;
}

static void rotary(void)
{
    kn_tensor x = kn_keep(numbers(1, KN_SHAPE(1, 2, 5, 4)));
    for (int interleaved = 0; interleaved < 2; interleaved++) {
        kn_nn_rotary m;
        CHECK(kn_nn_rotary_init(&m, 8, 4, &(kn_nn_rotary_args){.interleaved = interleaved == 1}) == KN_OK);
        kn_rope_args at = {.offset = 3, .interleaved = interleaved == 1};
        kn_tensor want = kn_keep(kn_rope(x, KN_NONE, KN_NONE, &at));
        CHECK(largest_gap(kn_keep(kn_nn_rotary_forward(&m, x, 3)), want) == 0);
        CHECK_POISON(kn_nn_rotary_forward(&m, x, 4), "do not fit");
        CHECK(kn_nn_rotary_shift(&m, 2) == KN_OK);
        CHECK(largest_gap(kn_keep(kn_nn_rotary_forward(&m, x, 1)), want) == 0);
        CHECK_ERROR(kn_nn_rotary_shift(&m, 1), "kn_nn_rotary_reset");
        kn_nn_rotary_reset(&m);
        CHECK(largest_gap(kn_keep(kn_nn_rotary_forward(&m, x, 3)), want) == 0);
    }
    kn_nn_rotary m;
    CHECK(kn_nn_rotary_init(&m, 8, 4, &(kn_nn_rotary_args){.scale = halve}) == KN_OK);
    CHECK(kn_module_cast(KN_MODULE_OF(kn_nn_rotary, &m), KN_BF16) == KN_OK); /* frequencies stay exact */
    kn_tensor token = kn_from((const double[]){1, 1, 0, 0}, KN_F64, KN_SHAPE(1, 4));
    CHECK_VALUES(kn_nn_rotary_forward(&m, token, 2), 1e-15, cos(2.), cos(0.01), sin(2.), sin(0.01));
    kn_module_drop(KN_MODULE_OF(kn_nn_rotary, &m));
    kn_rotary_llama_scaling scaling = {8, 1, 4, 8192};
    double got[32], factor = 4;
    for (int i = 0; i < 32; i++) got[i] = kn_rotary_scale_llama(&scaling, i, pow(500000, -i / 32.));
    expect_values("rotary.llama", got, 32, 1e-12);
    CHECK(kn_rotary_scale_linear(&factor, 0, 2) == 0.5);
    CHECK_ERROR(kn_nn_rotary_init(&m, 8, 3, NULL), "must be even");
}

static void misuse(void)
{
    kn_nn_attention m;
    CHECK_ERROR(kn_nn_attention_init(&m, 6, 4, NULL), "cannot be cut into 4 equal heads");
    CHECK_ERROR(kn_nn_attention_init(&m, 6, 3, &(kn_nn_attention_args){.n_heads_kv = 2}), "evenly");
    CHECK_ERROR(kn_nn_attention_init(&m, 6, 3, &(kn_nn_attention_args){.dropout = 1}), "below 1");
    CHECK_ERROR(kn_nn_attention_init(&m, 0, 3, NULL), "d_model is 0");
    m = attention(4, 2, (kn_nn_attention_args){.d_context = 3});
    kn_tensor x = kn_keep(numbers(1, KN_SHAPE(1, 2, 4))), z = kn_keep(numbers(1, KN_SHAPE(1, 5, 3)));
    CHECK_POISON(kn_nn_attention_forward(&m, z, z, KN_NONE, NULL), "query must be [batch, tokens, 4]");
    CHECK_POISON(kn_nn_attention_forward(&m, x, KN_NONE, KN_NONE, NULL), "key must be [batch, tokens, 3]");
    kn_nn_attention_call call = {.sees_keys = kn_zeros(KN_SHAPE(1, 4), KN_BOOL)};
    CHECK_POISON(kn_nn_attention_forward(&m, x, z, KN_NONE, &call), "bool [batch, keys 5]");
    call = (kn_nn_attention_call){.sees = kn_zeros(KN_SHAPE(5), KN_BOOL)};
    CHECK_POISON(kn_nn_attention_forward(&m, x, z, KN_NONE, &call), "rank 1");
    call = (kn_nn_attention_call){.sees = kn_zeros(KN_SHAPE(2, 5), KN_I64)};
    CHECK_POISON(kn_nn_attention_forward(&m, x, z, KN_NONE, &call), "sees is i64");
    call = (kn_nn_attention_call){.bias = kn_zeros(KN_SHAPE(2, 5), KN_BOOL)};
    CHECK_POISON(kn_nn_attention_forward(&m, x, z, KN_NONE, &call), "bias is bool");
    call = (kn_nn_attention_call){.sees = kn_zeros(KN_SHAPE(3, 5), KN_BOOL)};
    CHECK_POISON(kn_nn_attention_forward(&m, x, z, KN_NONE, &call), "does not broadcast");
    kn_tensor weights;
    call = (kn_nn_attention_call){.weights = &weights};
    CHECK_POISON(kn_nn_attention_forward(&m, z, z, KN_NONE, &call), "query must be");
    CHECK(!kn_ok(weights));
    drop(&m);
}

int main(void)
{
    void (*const tests[])(void) = {follows_torch,   context_and_bias, grouped_heads,
                                   cached_decoding, nothing_to_see,   errors_reach_the_weights,
                                   quiet,           dropout,          gradients_by_differences,
                                   masks,           positions,        rotary,
                                   misuse};
    return run_tests(tests, sizeof tests / sizeof *tests);
}
