/* Attention with heads: the module, its masks and its cache. */
#include "core/dtype.h"
#include "core/objects.h"
#include "nn/attention_span.h"
#include "nn/layer.h"
#include "support/failure.h"
#include "support/scalar_math.h"
#include <kn/contraction.h>
#include <kn/creation.h>
#include <kn/elementwise.h>
#include <kn/functional.h>
#include <kn/indexing.h>
#include <kn/nn/attention_layers.h>
#include <kn/shape.h>
#include <kn/tensor.h>

const kn_module_type kn_nn_attention_type = {
    "Attention", sizeof(kn_nn_attention),
    (const kn_field[]){KN_MODULE(kn_nn_attention, query, kn_nn_linear),
                       KN_MODULE(kn_nn_attention, key, kn_nn_linear),
                       KN_MODULE(kn_nn_attention, value, kn_nn_linear),
                       KN_MODULE(kn_nn_attention, output, kn_nn_linear),
                       KN_INT(kn_nn_attention, d_model),
                       KN_INT(kn_nn_attention, d_context),
                       KN_INT(kn_nn_attention, n_heads),
                       KN_INT(kn_nn_attention, n_heads_kv),
                       KN_INT(kn_nn_attention, d_head),
                       KN_REAL(kn_nn_attention, dropout),
                       KN_REAL(kn_nn_attention, min_float),
                       KN_FLAG(kn_nn_attention, quiet_softmax),
                       KN_MODE(kn_nn_attention, training),
                       {0}}};

/* ---- making */

static kn_status check_sizes(kn_nn_attention *m)
{
    static const char name[] = "kn_nn_attention_init";
    const struct {
        const char *name;
        int64_t value;
    } sizes[] = {{"d_model", m->d_model},
                 {"n_heads", m->n_heads},
                 {"d_context", m->d_context},
                 {"n_heads_kv", m->n_heads_kv}};
    for (int i = 0; i < 4; i++) {
        kn_status s = kni_layer_positive(name, sizes[i].name, sizes[i].value);
        if (s != KN_OK) return s;
    }
    if (m->d_head == 0 && m->d_model % m->n_heads)
        return kni_failure(KN_ERROR_ARGUMENT,
                           "%s: d_model %lld cannot be cut into %lld equal heads; give d_head", name,
                           (long long)m->d_model, (long long)m->n_heads);
    if (m->d_head == 0) m->d_head = m->d_model / m->n_heads;
    if (m->n_heads % m->n_heads_kv)
        return kni_failure(KN_ERROR_ARGUMENT, "%s: %lld heads cannot share %lld heads of keys evenly", name,
                           (long long)m->n_heads, (long long)m->n_heads_kv);
    if (!(m->dropout >= 0 && m->dropout < 1))
        return kni_failure(KN_ERROR_ARGUMENT, "%s: dropout is %s; it must be at least 0 and below 1", name,
                           KNI_NUMBER(m->dropout));
    int64_t width;
    if (m->d_head < 1 || __builtin_mul_overflow(m->d_head, m->n_heads, &width))
        return kni_failure(KN_ERROR_ARGUMENT, "%s: d_head is %lld", name, (long long)m->d_head);
    return KN_OK;
}

kn_status kn_nn_attention_init(kn_nn_attention *m, int64_t d_model, int64_t n_heads,
                               const kn_nn_attention_args *args)
{
    static const kn_nn_attention_args usual = KN_NN_ATTENTION_ARGS_DEFAULTS;
    if (!args) args = &usual;
    kn_nn_attention made = {.d_model = d_model,
                            .d_context = kn_int_or(args->d_context, d_model),
                            .n_heads = n_heads,
                            .n_heads_kv = kn_int_or(args->n_heads_kv, n_heads),
                            .d_head = args->d_head,
                            .dropout = kn_real_or(args->dropout, 0),
                            .min_float = args->min_float,
                            .quiet_softmax = args->quiet_softmax,
                            .training = true};
    kn_status s = check_sizes(&made);
    const struct {
        kn_nn_linear *layer;
        int64_t in, out;
        bool no_bias;
    } parts[] = {
        {&made.query, d_model, made.n_heads * made.d_head, args->no_query_bias},
        {&made.key, made.d_context, made.n_heads_kv * made.d_head, args->no_key_bias},
        {&made.value, made.d_context, made.n_heads_kv * made.d_head, args->no_value_bias},
        {&made.output, made.n_heads * made.d_head, d_model, args->no_output_bias},
    };
    for (int i = 0; i < 4 && s == KN_OK; i++) {
        kn_nn_linear_args linear = {
            .no_bias = parts[i].no_bias, .weight = args->initializer, .dtype = args->dtype};
        s = kn_nn_linear_init(parts[i].layer, parts[i].in, parts[i].out, &linear);
    }
    return kni_layer_finish(KN_MODULE_OF(kn_nn_attention, &made), m, s);
}

/* ---- masks */

/* Where queries see keys and what is added to scores; each may be KN_NONE. Kept tensors that broadcast to
   [batch, heads, queries, keys]. */
typedef struct masks {
    kn_tensor sees, bias;
    bool is_causal;    /* in the simple form that kn_attention knows */
    kn_tensor lengths; /* of a cache that has more room than tokens; KN_NONE: all of its keys are there */
} masks;

static void only_where(masks *found, kn_tensor sees)
{
    found->sees = kn_keep(found->sees.bits ? kn_logical_and(found->sees, sees) : sees);
}

/* A mask of queries and keys with an axis for the heads, kept. */
static kn_status with_heads(kn_tensor *t, const char *name)
{
    *t = kn_keep(*t);
    if (!kn_ok(*t)) return kni_failure_of(*t);
    int32_t rank = kn_rank(*t);
    if (rank < 2 || rank > 4)
        return kni_failure(KN_ERROR_SHAPE,
                           "kn_nn_attention_forward: %s has rank %d; it is [queries, keys], [batch, queries, "
                           "keys] or [batch, "
                           "heads, queries, keys]",
                           name, (int)rank);
    if (rank == 3) *t = kn_keep(kn_unsqueeze(*t, 1));
    return KN_OK;
}

/* A mask of the keys of each sample, [batch, 1, 1, keys]. */
static kn_status of_keys(kn_tensor *t, const char *name, int64_t keys)
{
    *t = kn_keep(*t);
    if (!kn_ok(*t)) return kni_failure_of(*t);
    if (!kni_is_bool(kn_dtype_of(*t)) || kn_rank(*t) != 2 || kn_size(*t, 1) != keys)
        return kni_failure(KN_ERROR_SHAPE, "kn_nn_attention_forward: %s must be bool [batch, keys %lld]",
                           name, (long long)keys);
    *t = kn_unsqueeze_dims(*t, KN_AXES(1, 2));
    return KN_OK;
}

/* The masks under their old names, in which true hides. */
static kn_status find_old_masks(masks *found, const kn_nn_attention_call *call, int64_t keys)
{
    kn_tensor t = call->mask_attention, pad = call->mask_pad;
    kn_status s = t.bits ? with_heads(&t, "mask_attention") : KN_OK;
    if (s == KN_OK && t.bits) {
        if (kni_is_bool(kn_dtype_of(t)))
            only_where(found, kn_logical_not(t));
        else if (kn_dtype_is_float(kn_dtype_of(t)))
            found->bias = t;
        else
            s = kni_failure(KN_ERROR_DTYPE,
                            "kn_nn_attention_forward: mask_attention is %s; it is bool (true hides) "
                            "or a float that is added to the scores",
                            kn_dtype_name(kn_dtype_of(t)));
    }
    if (s == KN_OK && pad.bits) s = of_keys(&pad, "mask_pad", keys);
    if (s == KN_OK && pad.bits) only_where(found, kn_logical_not(pad));
    return s;
}

/* Whether the call writes into a cache that has more room than tokens. */
static bool has_room(const kn_nn_attention_call *call)
{
    return call->cache && call->cache->capacity && !call->fixed_cache;
}

/* True where there is a key, and where the query is not before it: [queries or 1, keys]. The last query is at the last key. */
static kn_tensor seen_in_room(kn_tensor end, int64_t queries, int64_t keys, bool causal)
{
    if (causal) end = kn_add(end, kn_unsqueeze(kn_arange((double)(1 - queries), 1, 1, KN_I64), 1));
    return kn_less(kn_arange(0, (double)keys, 1, KN_I64), end);
}

static kn_status find_masks(masks *found, const kn_nn_attention_call *call, int64_t queries, int64_t keys,
                            bool simple)
{
    *found = (masks){KN_NONE, KN_NONE, false, KN_NONE};
    kn_status s = find_old_masks(found, call, keys);
    kn_tensor sees = call->sees, sees_keys = call->sees_keys, bias = call->bias;
    if (s == KN_OK && sees.bits) s = with_heads(&sees, "sees");
    if (s == KN_OK && sees.bits && !kni_is_bool(kn_dtype_of(sees)))
        s = kni_failure(KN_ERROR_DTYPE,
                        "kn_nn_attention_forward: sees is %s; it is bool, true where a query sees a key",
                        kn_dtype_name(kn_dtype_of(sees)));
    if (s == KN_OK && sees.bits) only_where(found, sees);
    if (s == KN_OK && sees_keys.bits) s = of_keys(&sees_keys, "sees_keys", keys);
    if (s == KN_OK && sees_keys.bits) only_where(found, sees_keys);
    if (s == KN_OK && bias.bits) s = with_heads(&bias, "bias");
    if (s == KN_OK && bias.bits && !kn_dtype_is_float(kn_dtype_of(bias)))
        s = kni_failure(KN_ERROR_DTYPE,
                        "kn_nn_attention_forward: bias is %s; it is a float that is added to the scores",
                        kn_dtype_name(kn_dtype_of(bias)));
    if (s == KN_OK && bias.bits) found->bias = found->bias.bits ? kn_keep(kn_add(found->bias, bias)) : bias;
    bool causal = call->is_causal && queries > 1;
    if (s == KN_OK && has_room(call)) {
        kn_tensor end = kn_narrow(call->span, 0, 1, 1);
        found->is_causal = simple && causal;
        if (simple)
            found->lengths = kn_keep(end);
        else
            only_where(found, seen_in_room(end, queries, keys, causal));
    } else if (s == KN_OK && causal) {
        found->is_causal = simple && queries == keys;
        if (!found->is_causal) only_where(found, kn_lower_mask(KN_SHAPE(queries, keys), keys - queries));
    }
    return s;
}

/* ---- heads */

/* [batch, tokens, heads size] -> [batch, heads, tokens, size] */
static kn_tensor split_heads(kn_tensor x, int64_t heads, int64_t size)
{
    return kn_transpose(kn_unflatten(x, 2, KN_SHAPE(heads, size)), 1, 2);
}

/* The groups of heads that share keys as an axis of their own: [batch, key heads, group, tokens, size]. */
static kn_tensor grouped_matmul(const kn_nn_attention *m, kn_tensor a, kn_tensor b)
{
    if (m->n_heads == m->n_heads_kv) return kn_matmul(a, b);
    kn_tensor groups = kn_unflatten(a, 1, KN_SHAPE(m->n_heads_kv, m->n_heads / m->n_heads_kv));
    return kn_flatten(kn_matmul(groups, kn_unsqueeze(b, 2)), 1, 2);
}

/* Attention whose weights exist in memory: for quiet softmax, min_float, and to look at them. */
static kn_tensor attend_openly(const kn_nn_attention *m, kn_tensor q, kn_tensor k, kn_tensor v,
                               const masks *given, kn_tensor *weights)
{
    double lowest = m->min_float != 0 ? m->min_float : -kn_dtype_limits(kn_dtype_of(q)).max;
    q = kn_mul_scalar(q, 1 / kni_sqrt((double)m->d_head));
    kn_tensor scores = grouped_matmul(m, q, kn_t(k));
    if (given->bias.bits) scores = kn_add(scores, given->bias);
    kn_tensor hidden = given->sees.bits ? kn_keep(kn_logical_not(given->sees)) : KN_NONE;
    if (hidden.bits) scores = kn_mask_fill(scores, hidden, lowest);
    kn_tensor w = m->quiet_softmax ? kn_quiet_softmax(scores, -1) : kn_softmax(scores, -1);
    /* Only a query that sees no key needs this. */
    if (hidden.bits && m->min_float == 0) w = kn_mask_fill(w, hidden, 0);
    if (weights) *weights = w = kn_keep(w);
    return grouped_matmul(m, kn_dropout(w, m->dropout, m->training && m->dropout > 0), v);
}

static kn_tensor attend(const kn_nn_attention *m, kn_tensor q, kn_tensor k, kn_tensor v, const masks *given,
                        bool openly, kn_tensor *weights)
{
    if (openly) return attend_openly(m, q, k, v, given, weights);
    kn_attention_args args = {.mask = given->sees,
                              .bias = given->bias,
                              .is_causal = given->is_causal,
                              .lengths = given->lengths,
                              .dropout = m->training ? m->dropout : 0};
    return kn_attention(q, k, v, &args);
}

/* ---- cache */

void kn_nn_attention_cache_drop(kn_nn_attention_cache *cache)
{
    KNI_ENDS;
    if (!cache) return;
    if (cache->key.bits) kn_drop(cache->key);
    if (cache->value.bits) kn_drop(cache->value);
    *cache = (kn_nn_attention_cache){.capacity = cache->capacity};
}

kn_tensor kni_attention_span(const kn_nn_attention_cache *cache, int64_t tokens)
{
    double before = (double)cache->length;
    return kn_arange(before, before + (double)tokens + 0.5, (double)tokens, KN_I64);
}

/* Room for the capacity, like x but for the tokens. */
static kn_tensor make_room(kn_tensor x, int64_t capacity)
{
    return kn_zeros(KN_SHAPE(kn_size(x, 0), kn_size(x, 1), capacity, kn_size(x, 3)), kn_dtype_of(x));
}

static kn_status check_room(const kn_nn_attention_cache *cache, kn_tensor x, kn_tensor room)
{
    int64_t tokens = kn_size(x, 2);
    if (!kn_ok(x)) return kni_failure_of(x);
    if (tokens > cache->capacity - cache->length)
        return kni_failure(
            KN_ERROR_INDEX,
            "kn_nn_attention_forward: %lld tokens more do not fit into a cache of %lld, of which %lld "
            "are used",
            (long long)tokens, (long long)cache->capacity, (long long)cache->length);
    bool fits = !room.bits || (kn_dtype_of(x) == kn_dtype_of(room) && kn_size(room, 2) == cache->capacity);
    for (int i = 0; i < 4 && fits && room.bits; i++) fits = i == 2 || kn_size(x, i) == kn_size(room, i);
    if (fits) return KN_OK;
    return kni_failure(KN_ERROR_SHAPE,
                       "kn_nn_attention_forward: the cache was begun with another batch, dtype or capacity; "
                       "drop it before");
}

/* The same as `remember` in room that is there: *k and *v become all of it. The room is handed over, so that it can be written in
   place; without memory the cache is empty afterwards. */
static kn_status write_into(kn_nn_attention_cache *cache, kn_tensor span, kn_tensor *k, kn_tensor *v)
{
    kn_tensor new[2] = {kn_keep(*k), kn_keep(*v)}, room[2] = {cache->key, cache->value};
    kn_status s = check_room(cache, new[0], room[0]);
    if (s == KN_OK) s = check_room(cache, new[1], room[1]);
    if (s != KN_OK) return s;
    int64_t length = cache->length + kn_size(new[0], 2);
    for (int i = 0; i < 2; i++)
        room[i] = room[i].bits ? kn_alias(room[i]) : make_room(new[i], cache->capacity);
    kn_nn_attention_cache_drop(cache);
    for (int i = 0; i < 2; i++) room[i] = kn_update_at(room[i], 2, kn_narrow(span, 0, 0, 1), new[i]);
    for (int i = 0; i < 2; i++)
        if (!kn_ok(room[i])) return kni_failure_of(room[i]);
    cache->key = *k = kn_own(room[0]);
    cache->value = *v = kn_own(room[1]);
    cache->length = length;
    return KN_OK;
}

/* Adds *k and *v [batch, heads, new tokens, size] to the cache, and they become all that is in it. Nothing changes on
   failure. */
static kn_status remember(kn_nn_attention_cache *cache, kn_tensor *k, kn_tensor *v)
{
    kn_tensor all[2] = {*k, *v};
    if (cache->key.bits) {
        all[0] = kn_concat((const kn_tensor[]){cache->key, *k}, 2, 2);
        all[1] = kn_concat((const kn_tensor[]){cache->value, *v}, 2, 2);
    }
    for (int i = 0; i < 2; i++)
        if (!kn_ok(all[i])) return kni_failure_of(all[i]);
    kn_nn_attention_cache_drop(cache);
    cache->key = *k = kn_own(all[0]);
    cache->value = *v = kn_own(all[1]);
    cache->length = kn_size(*k, 2);
    return KN_OK;
}

/* The keys and values of this call: [batch, key heads, keys, size]. */
static kn_status find_keys(const kn_nn_attention *m, kn_tensor key, kn_tensor value,
                           const kn_nn_attention_call *call, kn_tensor *k, kn_tensor *v)
{
    kn_nn_attention_cache *cache = call->cache;
    if (cache && call->fixed_cache && cache->key.bits) {
        *k = cache->key;
        *v = cache->value;
        return KN_OK;
    }
    *k = split_heads(kn_nn_linear_forward(&m->key, key), m->n_heads_kv, m->d_head);
    *v = split_heads(kn_nn_linear_forward(&m->value, value), m->n_heads_kv, m->d_head);
    if (call->rotary) *k = kn_nn_rotary_forward(call->rotary, *k, cache ? cache->length : 0);
    if (has_room(call)) return write_into(cache, call->span, k, v);
    if (cache) return remember(cache, k, v);
    return KN_OK;
}

/* ---- running */

static kn_status check_operand(const char *name, kn_tensor x, int64_t size)
{
    if (!kn_ok(x)) return kni_failure_of(x);
    if (kn_rank(x) == 3 && kn_size(x, 2) == size) return KN_OK;
    return kni_failure(
        KN_ERROR_SHAPE,
        "kn_nn_attention_forward: %s must be [batch, tokens, %lld]; it has rank %d and a last axis of %lld",
        name, (long long)size, (int)kn_rank(x), (long long)kn_size(x, -1));
}

kn_tensor kn_nn_attention_forward(const kn_nn_attention *m, kn_tensor query, kn_tensor key, kn_tensor value,
                                  const kn_nn_attention_call *call)
{
    KNI_NEEDS_INIT(kn_nn_attention, m);
    static const kn_nn_attention_call nothing = {.is_causal = false};
    kn_nn_attention_call own = call ? *call : nothing;
    call = &own;
    kn_tensor results[2] = {KN_NONE, KN_NONE};
    kn_scope scope = kn_scope_begin();
    query = kn_keep(query);
    key = key.bits ? kn_keep(key) : query;
    value = value.bits ? kn_keep(value) : key;
    kn_status s = check_operand("query", query, m->d_model);
    if (s == KN_OK) s = check_operand("key", key, m->d_context);
    if (s == KN_OK) s = check_operand("value", value, m->d_context);
    int64_t before = call->cache && !call->fixed_cache ? call->cache->length : 0;
    if (s == KN_OK && has_room(call)) {
        own.span = kn_keep(own.span.bits ? own.span : kni_attention_span(call->cache, kn_size(key, 1)));
        s = kni_failure_of(own.span);
    }
    bool openly = m->quiet_softmax || m->min_float != 0 || call->weights;
    masks given;
    kn_tensor k, v;
    if (s == KN_OK) s = find_keys(m, key, value, call, &k, &v);
    if (s == KN_OK) s = find_masks(&given, call, kn_size(query, 1), kn_size(k, 2), !openly);
    if (s == KN_OK) {
        kn_tensor q = split_heads(kn_nn_linear_forward(&m->query, query), m->n_heads, m->d_head);
        if (call->rotary) q = kn_nn_rotary_forward(call->rotary, q, before);
        kn_tensor y = attend(m, q, k, v, &given, openly, call->weights ? &results[1] : NULL);
        results[0] = kn_nn_linear_forward(&m->output, kn_flatten(kn_transpose(y, 1, 2), 2, 3));
    } else
        results[0] = results[1] = kn_poison(s, NULL);
    kn_scope_end_many(scope, results, call->weights ? 2 : 1);
    if (call->weights) *call->weights = results[1];
    return results[0];
}
