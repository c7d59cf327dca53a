/* MoE and QMoE of com.microsoft: each token goes through the experts that score best for it, and their results are added by weight. */
#include "onnx/convert/fused_operators.h"
#include "onnx/convert/quantized.h"
#include <string.h>

/* The weights of all experts, [experts, out, in], and their biases [experts, out] or none. */
typedef struct layer {
    kni_datum weight, bias;
} layer;

typedef struct experts {
    kni_datum x;      /* [tokens, size] */
    kni_datum chosen; /* i64 [tokens, k] */
    kni_datum shares; /* [tokens, k] */
    layer in, gate, out;
    kni_extent tokens, count; /* count: of the experts */
    int64_t k;
} experts;

/* ---- which experts, and how much of each */

/* The softmax goes over all experts or over the chosen ones. router: scores that choose, weights: those that weigh, or none. */
static void route(kni_conversion *c, const kni_onnx_node *node, kni_datum router, kni_datum weights,
                  experts *e)
{
    bool normal = kni_node_int(node, "normalize_routing_weights", 0) != 0;
    kni_datum best[2] = {{0}, {0}};
    kni_emit_many(c, "topk", &router, 1, KNI_GIVE(KNI_WHOLE("k", e->k), KNI_WHOLE("axis", 1)), best, 2);

    e->chosen = best[1];
    if (kni_is_given(weights)) {
        e->shares = kni_emit(c, "gather", KNI_LIST(weights, best[1]), KNI_GIVE(KNI_WHOLE("axis", 1)));
        if (!normal) return;
        e->shares =
            kni_emit2(c, "div", e->shares, kni_reduce_over(c, "sum", e->shares, (int32_t[]){1}, 1, true));
    } else if (normal) {
        e->shares = kni_emit(c, "softmax", &best[0], 1, KNI_GIVE(KNI_WHOLE("axis", 1)));
    } else {
        kni_datum all = kni_emit(c, "softmax", &router, 1, KNI_GIVE(KNI_WHOLE("axis", 1)));
        e->shares = kni_emit(c, "gather", KNI_LIST(all, best[1]), KNI_GIVE(KNI_WHOLE("axis", 1)));
    }
}

/* ---- activations */

/* Every second element of the last axis, from `first` on, or one half of it. */
static kni_datum part(kni_conversion *c, kni_datum x, bool interleaved, int64_t first)
{
    kni_extent e[KN_MAX_RANK];
    int32_t rank = kni_extents_of(c, x, e);
    if (kni_convert_failed(c) || rank < 1 || rank + 1 > KN_MAX_RANK) return KNI_ABSENT;
    kni_extent half = kni_extent_div(c, e[rank - 1], KNI_EXTENT(2));
    if (!interleaved)
        return kni_slice_of(c, x, rank - 1, first ? half : KNI_EXTENT(0), first ? e[rank - 1] : half);
    e[rank - 1] = half;
    e[rank] = KNI_EXTENT(2);
    x = kni_reshape_to(c, x, e, rank + 1);
    return kni_squeeze_at(c, kni_slice_of(c, x, rank, KNI_EXTENT(first), KNI_EXTENT(first + 1)), rank);
}

static kni_datum limited(kni_conversion *c, kni_datum x, double low, double high)
{
    kn_dtype dtype = kni_dtype_of(c, x);
    return kni_emit3(c, "clamp", x, kni_real_number(c, low, dtype), kni_real_number(c, high, dtype));
}

/* gate sigmoid(alpha gate) (linear + beta); both may be limited. */
static kni_datum gated(kni_conversion *c, const kni_onnx_node *node, kni_datum gate, kni_datum linear)
{
    double limit = kni_node_real(node, "swiglu_limit", __builtin_inf());
    double beta = kni_node_real(node, "activation_beta", 0);
    if (limit < __builtin_inf()) {
        gate = limited(c, gate, -__builtin_inf(), limit);
        linear = limited(c, linear, -limit, limit);
    }
    gate = kni_swish_of(c, gate, kni_node_real(node, "activation_alpha", 1));
    return kni_emit2(c, "mul", gate, beta != 0 ? kni_with_number(c, "add", linear, beta) : linear);
}

static kni_datum activated(kni_conversion *c, const kni_onnx_node *node, kni_datum x, kni_datum gate)
{
    static const char *const ops[][2] = {{"relu", "relu"}, {"gelu", "gelu_approximate"}, {"silu", "silu"}};
    const char *name = kni_node_text(node, "activation_type", "relu");
    int64_t fusion = kni_node_int(node, "swiglu_fusion", 0);
    if (!strcmp(name, "swiglu") && fusion)
        return gated(c, node, part(c, x, fusion == 1, 0), part(c, x, fusion == 1, 1));
    if (!strcmp(name, "swiglu")) {
        if (kni_is_given(gate)) return gated(c, node, x, gate);
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "swiglu needs swiglu_fusion or the weights fc3");
        return x;
    }
    bool known = !strcmp(name, "identity");
    for (size_t i = 0; i < sizeof ops / sizeof *ops && !known; i++)
        if (!strcmp(name, ops[i][0])) x = kni_emit1(c, ops[i][1], x), known = true;
    if (!known) kni_convert_fail(c, KN_ERROR_UNSUPPORTED, "'%.40s' is no activation of experts", name);
    return kni_is_given(gate) ? kni_emit2(c, "mul", x, gate) : x;
}

/* ---- running them */

/* x [rows, n, in] or [rows, 1, in] times weight [rows, out, in], plus bias [rows, out]. */
static kni_datum through(kni_conversion *c, const layer *l, kni_datum rows, kni_datum x)
{
    if (!kni_is_given(l->weight)) return KNI_ABSENT;
    kni_datum weight = l->weight, bias = l->bias;
    if (kni_is_given(rows)) {
        weight = kni_emit(c, "take", KNI_LIST(weight, rows), KNI_GIVE(KNI_WHOLE("axis", 0)));
        if (kni_is_given(bias))
            bias = kni_emit(c, "take", KNI_LIST(bias, rows), KNI_GIVE(KNI_WHOLE("axis", 0)));
    }
    x = kni_emit2(c, "matmul", x, kni_swap_axes(c, weight, 1, 2));
    return kni_is_given(bias) ? kni_emit2(c, "add", x, kni_unsqueeze_at(c, bias, 1)) : x;
}

/* What the experts `rows`, or all, make of x. */
static kni_datum results(kni_conversion *c, const kni_onnx_node *node, const experts *e, kni_datum rows,
                         kni_datum x)
{
    kni_datum inner = activated(c, node, through(c, &e->in, rows, x), through(c, &e->gate, rows, x));
    return through(c, &e->out, rows, inner);
}

/* Few tokens: only the chosen experts' weights are read, a copy of them for each token. */
static kni_datum run_chosen(kni_conversion *c, const kni_onnx_node *node, const experts *e)
{
    kni_extent size = kni_extent_of(c, e->x, 1), k = KNI_EXTENT(e->k);
    kni_extent pairs = kni_extent_mul(c, e->tokens, k);
    kni_datum rows = kni_reshape_to(c, e->chosen, &pairs, 1);
    kni_datum x = kni_expand_to(c, kni_unsqueeze_at(c, e->x, 1), (kni_extent[]){e->tokens, k, size}, 3);
    x = kni_reshape_to(c, x, (kni_extent[]){pairs, KNI_EXTENT(1), size}, 3);
    kni_datum y = results(c, node, e, rows, x);
    y = kni_reshape_to(c, y, (kni_extent[]){e->tokens, k, kni_extent_of(c, y, 2)}, 3);
    y = kni_emit2(c, "mul", y, kni_unsqueeze_at(c, e->shares, 2));
    return kni_reduce_over(c, "sum", y, (int32_t[]){1}, 1, false);
}

/* Many tokens: every expert takes all of them, and those that did not choose it have a share of 0. */
static kni_datum run_all(kni_conversion *c, const kni_onnx_node *node, const experts *e)
{
    kni_datum all = kni_counting(c, 0, e->count, KN_I64);
    kni_datum hit = kni_emit2(c, "equal", kni_unsqueeze_at(c, e->chosen, 2), all);
    kni_datum none = kni_real_number(c, 0, kni_dtype_of(c, e->shares));
    kni_datum shares = kni_emit3(c, "where", hit, kni_unsqueeze_at(c, e->shares, 2), none);
    shares = kni_reduce_over(c, "sum", shares, (int32_t[]){1}, 1, false); /* [tokens, experts] */
    kni_datum y = results(c, node, e, KNI_ABSENT, kni_unsqueeze_at(c, e->x, 0));
    shares = kni_unsqueeze_at(c, kni_swap_axes(c, shares, 0, 1), 2);
    return kni_reduce_over(c, "sum", kni_emit2(c, "mul", y, shares), (int32_t[]){0}, 1, false);
}

static void run(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, kni_datum weights,
                experts *e, kni_datum *out)
{
    kni_extent shape[KN_MAX_RANK];
    int32_t rank = kni_extents_of(c, in[0], shape);
    e->k = kni_node_int(node, "k", 1);
    e->count = kni_extent_of(c, e->in.weight, 0);
    if (kni_convert_failed(c)) return;
    if (rank < 2 || e->k < 1 || (!e->count.text && e->k > e->count.value) || kni_rank_of(c, in[1]) != 2 ||
        kni_node_int(node, "use_sparse_mixer", 0)) {
        kni_convert_fail(c, KN_ERROR_UNSUPPORTED,
                         "takes rows of tokens, scores [tokens, experts] and k of 1 to as many as there are "
                         "experts, without use_sparse_mixer");
        return;
    }
    e->x = kni_flatten_at(c, in[0], rank - 1);
    e->tokens = kni_extent_of(c, e->x, 0);
    route(c, node, in[1], weights, e);
    bool few = !e->tokens.text && !e->count.text && e->tokens.value * e->k <= e->count.value;
    kni_datum y = few ? run_chosen(c, node, e) : run_all(c, node, e);
    out[0] = kni_reshape_to(c, kni_cast_to(c, y, kni_dtype_of(c, in[0])), shape, rank);
}

/* Operands: x, scores, and weight and bias of each layer: of the first, of the last, of the one beside the first. */
void kni_convert_experts(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                         kni_datum *out, int32_t n_out)
{
    experts e = {.in = {in[2], in[3]}, .out = {in[4], in[5]}, .gate = {in[6], in[7]}};
    (void)n_in, (void)n_out;
    run(c, node, in, KNI_ABSENT, &e, out);
}

/* ---- weights of few bits */

/* Bytes [experts, out, in * bits / 8] as numbers [experts, out, in] by scales [experts, out] or [experts, out, blocks], and zero points
   packed like the weights. */
static kni_datum weight_of(kni_conversion *c, kni_datum bytes, kni_datum scale, kni_datum zero, int64_t bits)
{
    kni_extent e[KN_MAX_RANK];
    if (!kni_is_given(bytes)) return KNI_ABSENT;
    kni_datum w = kni_unpacked_bits(c, bytes, bits);
    bool blocks = kni_rank_of(c, scale) == 3;
    if (kni_extents_of(c, w, e) != 3 || (!blocks && kni_rank_of(c, scale) != 2)) {
        kni_convert_fail(c, KN_ERROR_SHAPE,
                         "weights must be [experts, out, bytes] with scales [experts, out, blocks]");
        return KNI_ABSENT;
    }
    if (kni_is_given(zero)) {
        int32_t last = blocks ? 2 : 1;
        zero = kni_slice_of(c, kni_unpacked_bits(c, zero, bits), last, KNI_EXTENT(0),
                            kni_extent_of(c, scale, last));
    } else {
        zero = kni_real_number(c, (double)(1 << (bits - 1)), KN_F32);
    }
    kni_extent across = blocks ? kni_extent_of(c, scale, 2) : KNI_EXTENT(1);
    kni_extent apart[] = {e[0], e[1], across, kni_extent_div(c, e[2], across)};
    const kni_extent spread[] = {e[0], e[1], across, KNI_EXTENT(1)};
    w = kni_reshape_to(c, w, apart, 4);
    scale = kni_reshape_to(c, kni_cast_to(c, scale, KN_F32), spread, 4);
    if (kni_rank_of(c, zero) > 0) zero = kni_reshape_to(c, zero, spread, 4);
    w = kni_emit2(c, "sub", kni_cast_to(c, w, KN_F32), kni_cast_to(c, zero, KN_F32));
    return kni_reshape_to(c, kni_emit2(c, "mul", w, scale), e, 3);
}

/* Operands: x, scores; weight, scales and bias of the first, the last and the one beside the first; their zero points; weights of the
   scores. */
void kni_convert_quantized_experts(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                                   int32_t n_in, kni_datum *out, int32_t n_out)
{
    static const char *const names[] = {"fc1_expert_weight_bits", "fc2_expert_weight_bits",
                                        "fc3_expert_weight_bits"};
    int64_t bits = kni_node_int(node, "expert_weight_bits", 4);
    layer layers[3];
    kn_dtype dtype = kni_dtype_of(c, in[0]);
    (void)n_in, (void)n_out;
    if (strcmp(kni_node_text(node, "quant_type", "int"), "int") != 0 ||
        kni_node_int(node, "weights_prepacked", -1) > 0) {
        kni_convert_fail(c, KN_ERROR_UNSUPPORTED,
                         "only weights of whole numbers as they are, quant_type 'int', are supported");
        return;
    }
    for (int32_t i = 0; i < 3; i++) {
        int64_t own = kni_node_int(node, names[i], bits);
        if (own != 2 && own != 4 && own != 8) {
            kni_convert_fail(c, KN_ERROR_UNSUPPORTED, "weights of %lld bits; they must have 2, 4 or 8",
                             (long long)own);
            return;
        }
        kni_datum w = weight_of(c, in[2 + 3 * i], in[3 + 3 * i], in[11 + i], own);
        layers[i].weight = kni_is_given(w) ? kni_cast_to(c, w, dtype) : w;
        layers[i].bias = in[4 + 3 * i];
    }
    experts e = {.in = layers[0], .out = layers[1], .gate = layers[2]};
    run(c, node, in, in[14], &e, out);
}
