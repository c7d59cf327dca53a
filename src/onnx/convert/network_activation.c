/* Activations, softmax and dropout. */
#include "onnx/convert/network.h"
#include <string.h>

/* ---- those that are one op */

/* Up to two real attributes, and what they are called in the op. */
typedef struct plain_activation {
    const char *name, *op;
    struct {
        const char *theirs, *ours;
        double otherwise;
    } alpha, beta;
} plain_activation;

/* Names as nodes and the attributes of fused nodes have them. */
static const plain_activation plain[] = {
    {"Relu", "relu", {0}, {0}},
    {"Sigmoid", "sigmoid", {0}, {0}},
    {"Tanh", "tanh", {0}, {0}},
    {"Softsign", "softsign", {0}, {0}},
    {"Mish", "mish", {0}, {0}},
    {"HardSwish", "hard_swish", {0}, {0}},
    {"LeakyRelu", "leaky_relu", {"alpha", "slope", 0.01}, {0}},
    {"Elu", "elu", {"alpha", "alpha", 1}, {0}},
    {"Celu", "celu", {"alpha", "alpha", 1}, {0}},
    {"ThresholdedRelu", "threshold", {"alpha", "threshold", 1}, {0}},
    {"HardSigmoid", "hard_sigmoid", {"alpha", "alpha", 0.2f}, {"beta", "beta", 0.5}},
};

static const plain_activation *find(const char *name)
{
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (!strcmp(plain[i].name, name)) return &plain[i];
    return NULL;
}

static kni_datum emit_plain(kni_conversion *c, const plain_activation *a, kni_datum x, double alpha,
                            double beta)
{
    if (!a->alpha.ours) return kni_emit1(c, a->op, x);
    if (!a->beta.ours) return kni_emit(c, a->op, &x, 1, KNI_GIVE(KNI_REAL(a->alpha.ours, alpha)));
    return kni_emit(c, a->op, &x, 1, KNI_GIVE(KNI_REAL(a->alpha.ours, alpha), KNI_REAL(a->beta.ours, beta)));
}

void kni_convert_activation(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                            kni_datum *out, int32_t n_out)
{
    const plain_activation *a = find(node->op);
    (void)n_in, (void)n_out;
    if (!a) {
        kni_convert_fail(c, KN_ERROR_INTERNAL, "there is no such activation");
        return;
    }
    double alpha = a->alpha.theirs ? kni_node_real(node, a->alpha.theirs, a->alpha.otherwise) : 0;
    double beta = a->beta.theirs ? kni_node_real(node, a->beta.theirs, a->beta.otherwise) : 0;
    out[0] = emit_plain(c, a, in[0], alpha, beta);
}

kni_datum kni_activation_of(kni_conversion *c, const char *name, kni_datum x, double alpha, double beta)
{
    const plain_activation *a = find(name);
    if (!*name || !strcmp(name, "Linear") || !strcmp(name, "None") || !strcmp(name, "NONE")) return x;
    if (!strcmp(name, "Gelu")) return kni_emit1(c, "gelu", x);
    if (!strcmp(name, "FastGelu")) return kni_emit1(c, "gelu_approximate", x);
    if (!strcmp(name, "Silu") || !strcmp(name, "Swish")) return kni_emit1(c, "silu", x);
    if (!strcmp(name, "Softplus"))
        return kni_emit(c, "softplus", &x, 1, KNI_GIVE(KNI_REAL("beta", 1), KNI_REAL("threshold", 1e30)));
    if (!strcmp(name, "Selu")) { /* beta: what nodes call gamma */
        kni_datum y = kni_emit(
            c, "elu", &x, 1, KNI_GIVE(KNI_REAL("alpha", alpha == alpha ? alpha : 1.67326319217681884765625)));
        return kni_with_number(c, "mul", y, beta == beta ? beta : 1.05070102214813232421875);
    }
    if (!strcmp(name, "Clip")) {
        if (alpha == alpha) x = kni_with_number(c, "clamp_min", x, alpha);
        return beta == beta ? kni_with_number(c, "clamp_max", x, beta) : x;
    }
    if (!a) {
        kni_convert_fail(c, KN_ERROR_UNSUPPORTED, "'%.40s' is no activation that fused nodes can have", name);
        return KNI_ABSENT;
    }
    return emit_plain(c, a, x, alpha == alpha ? alpha : a->alpha.otherwise,
                      beta == beta ? beta : a->beta.otherwise);
}

/* ---- those with a form of their own */

void kni_convert_selu(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                      kni_datum *out, int32_t n_out)
{
    bool first = node->version < 6; /* whose numbers were shorter */
    double alpha = kni_node_real(node, "alpha", first ? 1.6732 : 1.67326319217681884765625);
    double gamma = kni_node_real(node, "gamma", first ? 1.0507 : 1.05070102214813232421875);
    (void)n_in, (void)n_out;
    out[0] = kni_with_number(c, "mul", kni_emit(c, "elu", in, 1, KNI_GIVE(KNI_REAL("alpha", alpha))), gamma);
}

void kni_convert_gelu(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                      kni_datum *out, int32_t n_out)
{
    const char *form = kni_node_text(node, "approximate", "none");
    (void)n_in, (void)n_out;
    if (strcmp(form, "none") != 0 && strcmp(form, "tanh") != 0) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "approximate is '%.40s'; it must be none or tanh", form);
        return;
    }
    out[0] = kni_emit1(c, *form == 't' ? "gelu_approximate" : "gelu", in[0]);
}

kni_datum kni_swish_of(kni_conversion *c, kni_datum x, double alpha)
{
    if (alpha == 1) return kni_emit1(c, "silu", x);
    return kni_emit2(c, "mul", x, kni_emit1(c, "sigmoid", kni_with_number(c, "mul", x, alpha)));
}

void kni_convert_swish(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                       kni_datum *out, int32_t n_out)
{
    (void)n_in, (void)n_out;
    out[0] = kni_swish_of(c, in[0], kni_node_real(node, "alpha", 1));
}

/* The slope broadcasts to x; before version 7 it had an element for each channel, or one. */
void kni_convert_prelu(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                       kni_datum *out, int32_t n_out)
{
    kni_datum x = in[0], slope = in[1];
    int32_t rank = kni_rank_of(c, x);
    kn_dtype dtype = kni_dtype_of(c, x);
    (void)n_in, (void)n_out;
    if (node->version < 7 && rank > 2 && kni_rank_of(c, slope) == 1)
        slope = kni_along_axis_one(c, slope, rank);
    if (kn_dtype_is_float(dtype)) {
        out[0] = kni_emit2(c, "prelu", x, slope);
        return;
    }
    kni_datum below = kni_emit2(c, "less", x, kni_whole_number(c, 0, dtype));
    out[0] = kni_emit3(c, "where", below, kni_emit2(c, "mul", x, slope), x);
}

/* Beyond the threshold, which no number of a model reaches, the op gives x itself. */
void kni_convert_softplus(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                          kni_datum *out, int32_t n_out)
{
    (void)n_in, (void)n_out, (void)node;
    out[0] = kni_activation_of(c, "Softplus", in[0], 0, 0);
}

void kni_convert_shrink(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                        kni_datum *out, int32_t n_out)
{
    double lambda = kni_node_real(node, "lambd", 0.5), bias = kni_node_real(node, "bias", 0);
    kn_dtype dtype = kni_dtype_of(c, in[0]);
    bool is_float = kn_dtype_is_float(dtype);
    kni_datum x = is_float ? in[0] : kni_cast_to(c, in[0], KN_F64);
    (void)n_in, (void)n_out;
    x = kni_emit(c, "shrink", &x, 1, KNI_GIVE(KNI_REAL("lambda", lambda), KNI_REAL("bias", bias)));
    out[0] = kni_cast_to(c, x, dtype);
}

/* ---- operators of the first, experimental versions of the format, which files of old converters still have */

void kni_convert_scaled_tanh(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                             kni_datum *out, int32_t n_out)
{
    kni_datum x = kni_with_number(c, "mul", in[0], kni_node_real(node, "beta", 1));
    (void)n_in, (void)n_out;
    out[0] = kni_with_number(c, "mul", kni_emit1(c, "tanh", x), kni_node_real(node, "alpha", 1));
}

/* alpha log(1 + exp(beta x)) */
void kni_convert_parametric_softplus(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                                     int32_t n_in, kni_datum *out, int32_t n_out)
{
    kni_datum x = kni_with_number(c, "mul", in[0], kni_node_real(node, "beta", 1));
    (void)n_in, (void)n_out;
    out[0] =
        kni_with_number(c, "mul", kni_activation_of(c, "Softplus", x, 0, 0), kni_node_real(node, "alpha", 1));
}

void kni_convert_affine(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                        kni_datum *out, int32_t n_out)
{
    kni_datum x = kni_with_number(c, "mul", in[0], kni_node_real(node, "alpha", 1));
    (void)n_in, (void)n_out;
    out[0] = kni_with_number(c, "add", x, kni_node_real(node, "beta", 0));
}

void kni_convert_scale(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                       kni_datum *out, int32_t n_out)
{
    (void)n_in, (void)n_out;
    out[0] = kni_with_number(c, "mul", in[0], kni_node_real(node, "scale", 1));
}

/* x scale plus a number for each channel. */
void kni_convert_image_scaler(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                              kni_datum *out, int32_t n_out)
{
    int64_t count;
    const float *bias = kni_node_reals(node, "bias", &count);
    kn_dtype dtype = kni_dtype_of(c, in[0]);
    kni_datum x = kni_with_number(c, "mul", in[0], kni_node_real(node, "scale", 1));
    (void)n_in, (void)n_out;
    if (count) {
        kni_datum vector = kni_cast_to(c, kni_constant(c, bias, KN_F32, &count, 1), dtype);
        x = kni_emit2(c, "add", x, kni_along_axis_one(c, vector, kni_rank_of(c, x)));
    }
    out[0] = x;
}

/* ---- softmax */

/* Before version 13 all axes from `axis` on (1 where none is named) were one; since then it is one axis (the last). */
static kni_datum along_axis(kni_conversion *c, const kni_onnx_node *node, kni_datum x, bool *flattened)
{
    int32_t rank = kni_rank_of(c, x);
    bool old = node->version < 13;
    int64_t axis = kni_node_int(node, "axis", old ? 1 : -1);
    *flattened = false;
    if (old && axis == rank) { /* each element by itself */
        *flattened = true;
        return kni_flatten_at(c, x, rank);
    }
    int32_t at = kni_axis_of(c, x, axis);
    *flattened = old && at != rank - 1;
    return *flattened ? kni_flatten_at(c, x, at) : x;
}

static void convert_softmax(kni_conversion *c, const kni_onnx_node *node, const char *op, const kni_datum *in,
                            kni_datum *out)
{
    bool flattened;
    kni_extent shape[KN_MAX_RANK];
    kni_datum x = along_axis(c, node, in[0], &flattened);
    if (kni_convert_failed(c)) return;
    int64_t axis = flattened || node->version < 13 ? -1 : kni_node_int(node, "axis", -1);
    x = kni_emit(c, op, &x, 1, KNI_GIVE(KNI_WHOLE("axis", axis)));
    int32_t rank = kni_extents_of(c, in[0], shape);
    out[0] = flattened ? kni_reshape_to(c, x, shape, rank) : x;
}

void kni_convert_softmax(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                         kni_datum *out, int32_t n_out)
{
    (void)n_in, (void)n_out;
    convert_softmax(c, node, "softmax", in, out);
}

void kni_convert_log_softmax(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                             kni_datum *out, int32_t n_out)
{
    (void)n_in, (void)n_out;
    convert_softmax(c, node, "log_softmax", in, out);
}

/* ---- dropout */

/* Where `drops` is absent it is known that elements are dropped; else it is a bool of rank 0. */
static void drop(kni_conversion *c, kni_datum x, kni_datum ratio, kni_datum drops, kni_datum *out,
                 kni_datum *mask)
{
    kni_extent shape[KN_MAX_RANK];
    int32_t rank = kni_extents_of(c, x, shape);
    kn_dtype dtype = kni_dtype_of(c, x);
    kni_datum draw = kni_emit(c, "random_uniform", NULL, 0,
                              KNI_GIVE(KNI_EXTENTS("shape", shape, rank), KNI_WHOLE("dtype", KN_F32),
                                       KNI_REAL("high", 1), KNI_REAL("top", 0.999999940395355225)));
    *mask = kni_emit2(c, "greater_equal", draw, ratio);
    kni_datum kept = kni_emit2(c, "sub", kni_real_number(c, 1, KN_F32), ratio);
    kni_datum y = kni_emit2(c, "div", kni_cast_to(c, x, kni_wide_dtype(dtype)),
                            kni_cast_to(c, kept, kni_wide_dtype(dtype)));
    y = kni_emit3(c, "where", *mask, kni_cast_to(c, y, dtype), kni_real_number(c, 0, dtype));
    if (kni_is_given(drops)) {
        y = kni_emit3(c, "where", drops, y, x);
        *mask = kni_emit2(c, "logical_or", *mask, kni_emit1(c, "logical_not", drops));
    }
    *out = y;
}

/* Versions 1 and 6 drop unless is_test; 7 and 10 never do, and have the ratio as an attribute; later ones have both as operands. */
void kni_convert_dropout(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                         kni_datum *out, int32_t n_out)
{
    bool operands = node->version >= 12 || strcmp(node->domain, "") != 0;
    bool wants_mask = n_out > 1 && kni_is_wanted(node, 1), may_drop = false;
    kn_dtype dtype = kni_dtype_of(c, in[0]);
    kni_extent shape[KN_MAX_RANK];
    kni_datum ratio = KNI_ABSENT, drops = KNI_ABSENT;
    (void)n_in;
    if (operands && kni_is_given(in[2])) {
        if (kni_is_known(c, in[2]))
            may_drop = kni_known_int(c, in[2], "training_mode", 0) != 0;
        else
            may_drop = true, drops = kni_reshape_to(c, in[2], shape, 0);
    } else if (!operands && node->version < 7) {
        may_drop = !kni_node_int(node, "is_test", 0);
    }
    if (operands && kni_is_given(in[1]))
        ratio = kni_reshape_to(c, kni_cast_to(c, in[1], KN_F32), shape, 0);
    else
        ratio = kni_real_number(c, operands ? 0.5 : kni_node_real(node, "ratio", 0.5), KN_F32);
    kni_datum mask = KNI_ABSENT;
    out[0] = in[0];
    if (may_drop) drop(c, in[0], ratio, drops, &out[0], &mask);
    if (!wants_mask) return;
    int32_t rank = kni_extents_of(c, in[0], shape);
    if (!may_drop) mask = kni_filled(c, 1, KN_BOOL, shape, rank);
    out[1] = kni_cast_to(c, mask, operands || node->version >= 10 ? KN_BOOL : dtype);
}
