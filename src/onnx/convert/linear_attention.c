/* LinearAttention: the state S[t] = e^g[t] S[t-1] + k[t] u[t]' with u = v, or u = beta (v - e^g S[t-1]' k) for the rules with a
   correction. Nothing is done step by step, so that the length may be known only when the model runs: with G the sums of g, the state
   before t is e^G[t-1] S0 plus the sum over i < t of e^(G[t-1] - G[i]) k[i] u[i]', and the u of all steps are the solution of a
   triangular system. */
#include "onnx/convert/network.h"
#include <string.h>

typedef struct linear_attention {
    int64_t heads, groups;                  /* of keys; queries for each of them */
    kni_extent batch, length, keys, values; /* keys, values: the sizes of one head */
    kni_datum q, k, v;                      /* [batch, heads, (groups,) length, size], f32 */
    kni_datum decay,
        beta; /* decay: sums over the steps, [batch, heads, length, 1 or keys]; beta [batch, heads or 1, length, 1] */
    kni_datum state; /* [batch, heads, keys, values] */
    bool wide_decay; /* one for each element of a key */
} linear_attention;

/* [batch, length, heads * size] as [batch, heads, length, size], f32. */
static kni_datum heads_first(kni_conversion *c, kni_datum x, int64_t heads)
{
    kni_extent e[KN_MAX_RANK];
    if (kni_extents_of(c, x, e) != 3) {
        kni_convert_fail(c, KN_ERROR_SHAPE, "operands must be [batch, length, heads * size]");
        return KNI_ABSENT;
    }
    kni_extent size = kni_extent_div(c, e[2], KNI_EXTENT(heads));
    x = kni_reshape_to(c, kni_cast_to(c, x, KN_F32), (kni_extent[]){e[0], e[1], KNI_EXTENT(heads), size}, 4);
    return kni_swap_axes(c, x, 1, 2);
}

/* Where the row's step comes after the column's, or is it too: [length, length]. */
static kni_datum earlier(kni_conversion *c, kni_extent length, bool itself)
{
    kni_datum step = kni_counting(c, 0, length, KN_I64);
    return kni_emit2(c, itself ? "greater_equal" : "greater", kni_unsqueeze_at(c, step, 1),
                     kni_unsqueeze_at(c, step, 0));
}

/* Sums over the elements of a key of e^(G[i] - G[j]) a[i] k[j], 0 where step j is not before i: [batch, heads, (rows) length, length]. */
static kni_datum products(kni_conversion *c, const linear_attention *l, kni_datum a, bool itself)
{
    kni_datum before = earlier(c, l->length, itself), zero = kni_real_number(c, 0, KN_F32), y;
    if (kni_is_given(l->decay) && l->wide_decay) {
        kni_datum change = kni_emit2(c, "sub", kni_unsqueeze_at(c, l->decay, 3),
                                     kni_unsqueeze_at(c, l->decay, 2)); /* [.., i, j, keys] */
        change = kni_emit3(c, "where", kni_unsqueeze_at(c, before, 2), change, zero);
        kni_datum parts = kni_emit2(c, "mul", kni_unsqueeze_at(c, a, 3), kni_unsqueeze_at(c, l->k, 2));
        parts = kni_emit2(c, "mul", parts, kni_emit1(c, "exp", change));
        y = kni_reduce_over(c, "sum", parts, (int32_t[]){4}, 1, false);
    } else {
        y = kni_emit2(c, "matmul", a, kni_swap_axes(c, l->k, 2, 3));
        if (kni_is_given(l->decay)) {
            kni_datum change = kni_emit2(c, "sub", l->decay, kni_swap_axes(c, l->decay, 2, 3));
            change = kni_emit3(c, "where", before, change, zero);
            y = kni_emit2(c, "mul", y, kni_emit1(c, "exp", change));
        }
    }
    return kni_emit3(c, "where", before, y, zero);
}

/* a[i] e^G[i] S0 */
static kni_datum from_state(kni_conversion *c, const linear_attention *l, kni_datum a)
{
    if (kni_is_given(l->decay)) a = kni_emit2(c, "mul", a, kni_emit1(c, "exp", l->decay));
    return kni_emit2(c, "matmul", a, l->state);
}

/* What each step writes into the state: v, or with the correction the solution of (1 + beta K) u = beta (v - k e^G S0). */
static kni_datum written(kni_conversion *c, const linear_attention *l)
{
    if (!kni_is_given(l->beta)) return l->v;
    kni_datum right = kni_emit2(c, "mul", kni_emit2(c, "sub", l->v, from_state(c, l, l->k)), l->beta);
    kni_datum system = kni_emit2(c, "mul", products(c, l, l->k, false), l->beta);
    return kni_emit(c, "triangular_solve", KNI_LIST(system, right), KNI_GIVE(KNI_WHOLE("unit", 1)));
}

/* The state after the last step. */
static kni_datum last_state(kni_conversion *c, const linear_attention *l, kni_datum u)
{
    kni_datum k = l->k, state = l->state;
    if (kni_is_given(l->decay)) {
        kni_extent last = kni_extent_sub(c, l->length, KNI_EXTENT(1));
        kni_datum whole = kni_slice_of(c, l->decay, 2, last, l->length); /* [batch, heads, 1, 1 or keys] */
        k = kni_emit2(c, "mul", k, kni_emit1(c, "exp", kni_emit2(c, "sub", whole, l->decay)));
        state = kni_emit2(c, "mul", state, kni_emit1(c, "exp", kni_swap_axes(c, whole, 2, 3)));
    }
    return kni_emit2(c, "add", state, kni_emit2(c, "matmul", kni_swap_axes(c, k, 2, 3), u));
}

/* Queries of one head of keys; there are `groups` of them. */
static kni_datum queries_of(kni_conversion *c, const linear_attention *l, int64_t group)
{
    if (l->groups == 1) return l->q;
    kni_datum one = kni_slice_of(c, l->q, 2, KNI_EXTENT(group), KNI_EXTENT(group + 1));
    return kni_squeeze_at(c, one, 2);
}

static kni_datum attended(kni_conversion *c, const linear_attention *l, kni_datum u, double scale)
{
    kni_datum *list = kni_convert_memory(c, (size_t)l->groups, sizeof *list);
    if (!list) return KNI_ABSENT;
    for (int64_t g = 0; g < l->groups; g++) {
        kni_datum q = queries_of(c, l, g);
        kni_datum y = kni_emit2(c, "matmul", products(c, l, q, true), u);
        list[g] = kni_unsqueeze_at(c, kni_emit2(c, "add", y, from_state(c, l, q)), 2);
    }
    kni_datum y = kni_concat_of(c, list, (int32_t)l->groups, 2); /* [batch, heads, groups, length, values] */
    y = kni_permute_to(c, kni_with_number(c, "mul", y, scale), (int32_t[]){0, 3, 1, 2, 4}, 5);
    kni_extent width = kni_extent_mul(c, l->values, KNI_EXTENT(l->heads * l->groups));
    return kni_reshape_to(c, y, (kni_extent[]){l->batch, l->length, width}, 3);
}

/* The operands by the names of the rule: decay for the gated ones, beta for those with a correction. */
static bool check_rule(kni_conversion *c, const char *rule, kni_datum decay, kni_datum beta)
{
    static const struct {
        const char *name;
        bool gated, corrects;
    } rules[] = {{"linear", false, false},
                 {"gated", true, false},
                 {"delta", false, true},
                 {"gated_delta", true, true}};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (strcmp(rules[i].name, rule) != 0) continue;
        if (kni_is_given(decay) == rules[i].gated && kni_is_given(beta) == rules[i].corrects) return true;
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "the rule %s takes %s decay and %s beta", rule,
                         rules[i].gated ? "a" : "no", rules[i].corrects ? "a" : "no");
        return false;
    }
    kni_convert_fail(c, KN_ERROR_ARGUMENT,
                     "update_rule is '%.40s'; it must be linear, gated, delta or gated_delta", rule);
    return false;
}

static bool find_sizes(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, linear_attention *l)
{
    int64_t queries = kni_node_int(node, "q_num_heads", 0);
    kni_extent e[KN_MAX_RANK];
    l->heads = kni_node_int(node, "kv_num_heads", 0);
    if (l->heads < 1 || queries < 1 || queries % l->heads || queries > 4096) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT,
                         "q_num_heads is %lld; it must be a multiple of kv_num_heads, %lld",
                         (long long)queries, (long long)l->heads);
        return false;
    }
    l->groups = queries / l->heads;
    l->q = heads_first(c, in[0], queries);
    l->k = heads_first(c, in[1], l->heads);
    l->v = heads_first(c, in[2], l->heads);
    kni_extents_of(c, l->k, e);
    l->batch = e[0], l->length = e[2], l->keys = e[3];
    l->values = kni_extent_of(c, l->v, 3);
    if (l->groups > 1)
        l->q = kni_reshape_to(
            c, l->q,
            (kni_extent[]){l->batch, KNI_EXTENT(l->heads), KNI_EXTENT(l->groups), l->length, l->keys}, 5);
    return !kni_convert_failed(c);
}

void kni_convert_linear_attention(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                                  int32_t n_in, kni_datum *out, int32_t n_out)
{
    linear_attention l = {0};
    (void)n_in, (void)n_out;
    if (!check_rule(c, kni_node_text(node, "update_rule", "gated_delta"), in[4], in[5]) ||
        !find_sizes(c, node, in, &l))
        return;
    kn_dtype dtype = kni_dtype_of(c, in[0]), stored = kni_is_given(in[3]) ? kni_dtype_of(c, in[3]) : dtype;
    double scale = kni_node_real(node, "scale", 0);
    kni_extent shape[] = {l.batch, KNI_EXTENT(l.heads), l.keys, l.values};
    l.state = kni_is_given(in[3]) ? kni_cast_to(c, in[3], KN_F32) : kni_filled(c, 0, KN_F32, shape, 4);
    if (kni_is_given(in[4])) {
        l.wide_decay = !kni_extent_is(kni_extent_of(c, in[4], 2), l.heads);
        kni_datum decay = heads_first(c, in[4], l.heads);
        l.decay = kni_emit(c, "cumsum", &decay, 1, KNI_GIVE(KNI_WHOLE("axis", 2)));
    }
    if (kni_is_given(in[5]))
        l.beta = heads_first(c, in[5], kni_extent_is(kni_extent_of(c, in[5], 2), 1) ? 1 : l.heads);
    if (kni_convert_failed(c)) return;
    if (scale == 0) { /* 1 / sqrt(size of a key) */
        kni_datum size = kni_cast_to(c, kni_known_list(c, &l.keys, 1, true), KN_F32);
        l.q = kni_emit2(c, "mul", l.q, kni_emit1(c, "rsqrt", size));
        scale = 1;
    }
    kni_datum u = written(c, &l);
    out[0] = kni_cast_to(c, attended(c, &l, u, scale), dtype);
    out[1] = kni_cast_to(c, last_state(c, &l, u), stored);
}
