/* Normalisations. */
#include "onnx/convert/network.h"

static const double default_eps = 1e-5;

/* ---- batch norm */

/* Scale, bias, mean and variance have an element for each feature, not for each channel: x as [batch, features]. */
static kni_datum as_features(kni_conversion *c, kni_datum x, kni_datum *vectors)
{
    for (int32_t i = 0; i < 4; i++) {
        kni_extent count = kni_count_of(c, vectors[i]);
        vectors[i] = kni_reshape_to(c, vectors[i], &count, 1);
    }
    return kni_flatten_at(c, x, 1);
}

/* before * momentum + now * (1 - momentum), in the dtype of `before`. */
static kni_datum running(kni_conversion *c, kni_datum before, kni_datum now, double momentum)
{
    kn_dtype dtype = kni_dtype_of(c, before), wide = kni_wide_dtype(dtype);
    kni_datum old = kni_with_number(c, "mul", kni_cast_to(c, before, wide), momentum);
    kni_datum new = kni_with_number(c, "mul", kni_cast_to(c, now, wide), 1 - momentum);
    return kni_cast_to(c, kni_emit2(c, "add", old, new), dtype);
}

/* Whether statistics are those of the batch: said by an attribute since version 14, before by asking for them. */
static bool trains(const kni_onnx_node *node, int32_t n_out)
{
    if (node->version >= 14) return kni_node_int(node, "training_mode", 0) != 0;
    bool more = false;
    for (int32_t i = 1; i < n_out; i++) more |= kni_is_wanted(node, i);
    return more && !kni_node_int(node, "is_test", 0);
}

void kni_convert_batch_norm(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                            kni_datum *out, int32_t n_out)
{
    double eps = kni_node_real(node, "epsilon", default_eps), momentum = kni_node_real(node, "momentum", 0.9);
    kni_datum x = in[0], v[4] = {in[1], in[2], in[3], in[4]}, y[3];
    kni_extent shape[KN_MAX_RANK];
    int32_t rank = kni_extents_of(c, x, shape);
    bool features = node->version < 9 && rank > 2 && !kni_node_int(node, "spatial", 1);
    (void)n_in;
    if (rank == 0) {
        kni_convert_fail(c, KN_ERROR_SHAPE, "the operand must be [batch, channels, ...], not of rank 0");
        return;
    }
    if (features) x = as_features(c, x, v);
    if (rank == 1) x = kni_unsqueeze_at(c, x, 1);
    if (!trains(node, n_out)) {
        y[0] = kni_emit(c, "batch_norm", KNI_LIST(x, v[2], v[3], v[0], v[1]), KNI_GIVE(KNI_REAL("eps", eps)));
    } else {
        kni_emit_many(c, "batch_norm_train", KNI_LIST(x, v[0], v[1]), KNI_GIVE(KNI_REAL("eps", eps)), y, 3);
        for (int32_t i = 1; i < 3 && i < n_out; i++) out[i] = running(c, v[i + 1], y[i], momentum);
        for (int32_t i = 3; i < 5 && i < n_out; i++) /* saved statistics, before version 14 */
            out[i] = kni_cast_to(c, y[i - 2], kni_dtype_of(c, v[i - 1]));
        if (features) {
            kni_extent inside[KN_MAX_RANK];
            int32_t n = kni_extents_of(c, in[1], inside);
            for (int32_t i = 1; i < 5 && i < n_out; i++) out[i] = kni_reshape_to(c, out[i], inside, n);
        }
    }
    out[0] = features || rank == 1 ? kni_reshape_to(c, y[0], shape, rank) : y[0];
}

/* ---- norms over groups of channels */

kni_datum kni_group_norm_of(kni_conversion *c, kni_datum x, int64_t groups, double eps)
{
    kni_extent e[KN_MAX_RANK];
    int32_t rank = kni_extents_of(c, x, e);
    if (kni_convert_failed(c)) return KNI_ABSENT;
    if (rank < 2 || groups < 1) {
        kni_convert_fail(c, KN_ERROR_SHAPE, "%lld groups of channels of an operand of rank %d",
                         (long long)groups, rank);
        return KNI_ABSENT;
    }
    if (!e[1].text && e[1].value % groups) {
        kni_convert_fail(c, KN_ERROR_SHAPE, "%lld channels cannot be cut into %lld equal groups",
                         (long long)e[1].value, (long long)groups);
        return KNI_ABSENT;
    }
    kni_extent inside = kni_extent_div(c, kni_extent_product(c, e + 1, rank - 1), KNI_EXTENT(groups));
    x = kni_reshape_to(c, x, (kni_extent[]){e[0], KNI_EXTENT(groups), inside}, 3);
    x = kni_emit(c, "layer_norm", &x, 1, KNI_GIVE(KNI_WHOLE("n_axes", 1), KNI_REAL("eps", eps)));
    return kni_reshape_to(c, x, e, rank);
}

/* x times scale plus bias, vectors for axis 1. */
static kni_datum scale_channels(kni_conversion *c, kni_datum x, kni_datum scale, kni_datum bias)
{
    int32_t rank = kni_rank_of(c, x);
    kn_dtype dtype = kni_dtype_of(c, x);
    x = kni_emit2(c, "mul", x, kni_along_axis_one(c, kni_cast_to(c, scale, dtype), rank));
    if (!kni_is_given(bias)) return x;
    return kni_emit2(c, "add", x, kni_along_axis_one(c, kni_cast_to(c, bias, dtype), rank));
}

void kni_convert_instance_norm(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                               int32_t n_in, kni_datum *out, int32_t n_out)
{
    kn_dtype dtype = kni_dtype_of(c, in[0]);
    kni_datum x = kni_cast_to(c, in[0], kni_wide_dtype(dtype));
    (void)n_in, (void)n_out;
    int64_t channels = kni_extent_number(c, kni_extent_of(c, in[1], 0), "the number of channels");
    x = kni_group_norm_of(c, x, channels ? channels : 1, kni_node_real(node, "epsilon", default_eps));
    out[0] = kni_cast_to(c, scale_channels(c, x, in[1], in[2]), dtype);
}

/* Scale and bias had an element for each group before version 21. */
void kni_convert_group_norm(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                            kni_datum *out, int32_t n_out)
{
    int64_t groups = kni_node_int(node, "num_groups", 0);
    double eps = kni_node_real(node, "epsilon", default_eps);
    kn_dtype dtype = kni_dtype_of(c, in[0]);
    kni_extent e[KN_MAX_RANK];
    int32_t rank = kni_extents_of(c, in[0], e);
    (void)n_in, (void)n_out;
    kni_datum x = kni_group_norm_of(c, kni_cast_to(c, in[0], kni_wide_dtype(dtype)), groups, eps);
    kni_extent vector = kni_extent_of(c, in[1], 0);
    if (kni_convert_failed(c)) return;
    if (node->version < 21 && kni_extent_is(vector, groups) && !kni_extent_same(vector, e[1])) {
        kni_extent inside = kni_extent_div(c, kni_extent_product(c, e + 1, rank - 1), vector);
        x = kni_reshape_to(c, x, (kni_extent[]){e[0], vector, inside}, 3);
        x = kni_reshape_to(c, scale_channels(c, x, in[1], in[2]), e, rank);
    } else {
        x = scale_channels(c, x, in[1], in[2]);
    }
    out[0] = kni_cast_to(c, x, dtype);
}

/* ---- layer norm and its kin */

/* Whether the shape of w is that of the last axes of x from `axis`, as the ops want it. */
static bool fits_last(kni_conversion *c, kni_datum w, kni_datum x, int32_t axis)
{
    kni_extent a[KN_MAX_RANK], b[KN_MAX_RANK];
    if (!kni_is_given(w)) return true;
    int32_t n = kni_extents_of(c, w, a), rank = kni_extents_of(c, x, b);
    if (n != rank - axis) return false;
    for (int32_t i = 0; i < n; i++)
        if (!kni_extent_same(a[i], b[axis + i])) return false;
    return true;
}

static void last_axes(int32_t rank, int32_t axis, int32_t *axes)
{
    for (int32_t i = axis; i < rank; i++) axes[i - axis] = i;
}

/* Mean and 1 / sqrt(variance + eps); without `centered` 1 / sqrt(mean of squares + eps). */
static void statistics(kni_conversion *c, kni_datum x, int32_t axis, double eps, bool centered,
                       kn_dtype stash, kni_datum *mean, kni_datum *inverse)
{
    kni_datum pair[2];
    int32_t rank = kni_rank_of(c, x), axes[KN_MAX_RANK];
    kni_extent list[KN_MAX_RANK];
    last_axes(rank, axis, axes);
    for (int32_t i = axis; i < rank; i++) list[i - axis] = KNI_EXTENT(i);
    x = kni_cast_to(c, x, kni_wide_dtype(kni_dtype_of(c, x)));
    if (centered)
        kni_emit_many(c, "var_mean", &x, 1,
                      KNI_GIVE(KNI_EXTENTS("axes", list, rank - axis), KNI_WHOLE("keep", 1)), pair, 2);
    else
        pair[0] = kni_reduce_over(c, "mean", kni_emit1(c, "square", x), axes, rank - axis, true);
    if (mean) *mean = kni_cast_to(c, pair[1], stash);
    if (inverse)
        *inverse = kni_cast_to(c, kni_emit1(c, "rsqrt", kni_with_number(c, "add", pair[0], eps)), stash);
}

kni_datum kni_layer_norm_of(kni_conversion *c, kni_datum x, kni_datum scale, kni_datum bias, int32_t axis,
                            double eps, kn_dtype stash, kni_datum *mean, kni_datum *inverse)
{
    int32_t rank = kni_rank_of(c, x);
    bool inside = fits_last(c, scale, x, axis) && fits_last(c, bias, x, axis);
    kni_datum y =
        kni_emit(c, "layer_norm", KNI_LIST(x, inside ? scale : KNI_ABSENT, inside ? bias : KNI_ABSENT),
                 KNI_GIVE(KNI_WHOLE("n_axes", rank - axis), KNI_REAL("eps", eps)));
    kn_dtype dtype = kni_dtype_of(c, x);
    if (!inside && kni_is_given(scale)) y = kni_emit2(c, "mul", y, kni_cast_to(c, scale, dtype));
    if (!inside && kni_is_given(bias)) y = kni_emit2(c, "add", y, kni_cast_to(c, bias, dtype));
    if (mean || inverse) statistics(c, x, axis, eps, true, stash, mean, inverse);
    return y;
}

kni_datum kni_rms_norm_of(kni_conversion *c, kni_datum x, kni_datum scale, int32_t axis, double eps)
{
    bool inside = fits_last(c, scale, x, axis);
    kni_datum y = kni_emit(c, "rms_norm", KNI_LIST(x, inside ? scale : KNI_ABSENT),
                           KNI_GIVE(KNI_WHOLE("n_axes", kni_rank_of(c, x) - axis), KNI_REAL("eps", eps)));
    if (inside || !kni_is_given(scale)) return y;
    return kni_emit2(c, "mul", y, kni_cast_to(c, scale, kni_dtype_of(c, x)));
}

static kn_dtype stash_type(kni_conversion *c, const kni_onnx_node *node)
{
    kn_dtype dtype = kni_onnx_dtype((int32_t)kni_node_int(node, "stash_type", KNI_ONNX_FLOAT));
    if (!kn_dtype_is_float(dtype)) kni_convert_fail(c, KN_ERROR_ARGUMENT, "stash_type must be a float type");
    return dtype;
}

void kni_convert_layer_norm(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                            kni_datum *out, int32_t n_out)
{
    int32_t axis = kni_axis_of(c, in[0], kni_node_int(node, "axis", -1));
    kn_dtype stash = stash_type(c, node);
    (void)n_in;
    if (kni_convert_failed(c)) return;
    out[0] = kni_layer_norm_of(c, in[0], in[1], in[2], axis, kni_node_real(node, "epsilon", default_eps),
                               stash, n_out > 1 && kni_is_wanted(node, 1) ? &out[1] : NULL,
                               n_out > 2 && kni_is_wanted(node, 2) ? &out[2] : NULL);
}

/* The result has the dtype of the scale; of two dtypes the norm is computed in f32. */
void kni_convert_rms_norm(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                          kni_datum *out, int32_t n_out)
{
    int32_t axis = kni_axis_of(c, in[0], kni_node_int(node, "axis", -1));
    kn_dtype from = kni_dtype_of(c, in[0]), to = kni_is_given(in[1]) ? kni_dtype_of(c, in[1]) : from;
    (void)n_in, (void)n_out;
    if (kni_convert_failed(c)) return;
    kni_datum x =
        from == to ? in[0] : kni_cast_to(c, in[0], from == KN_F64 || to == KN_F64 ? KN_F64 : KN_F32);
    out[0] =
        kni_cast_to(c, kni_rms_norm_of(c, x, in[1], axis, kni_node_real(node, "epsilon", default_eps)), to);
}

/* RMS norm as files had it before it was an operator of the standard; the second output is 1 / sqrt(mean of squares + eps). */
void kni_convert_simplified_layer_norm(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                                       int32_t n_in, kni_datum *out, int32_t n_out)
{
    int32_t axis = kni_axis_of(c, in[0], kni_node_int(node, "axis", -1));
    kn_dtype stash = stash_type(c, node);
    if (kni_convert_failed(c)) return;
    kni_convert_rms_norm(c, node, in, n_in, out, n_out);
    if (n_out > 1 && kni_is_wanted(node, 1))
        statistics(c, in[0], axis, kni_node_real(node, "epsilon", default_eps), false, stash, NULL, &out[1]);
}

/* ---- others */

void kni_convert_lp_norm(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                         kni_datum *out, int32_t n_out)
{
    int64_t p = kni_node_int(node, "p", 2);
    int32_t axis = kni_axis_of(c, in[0], kni_node_int(node, "axis", -1));
    kn_dtype dtype = kni_dtype_of(c, in[0]);
    kni_datum x = kni_cast_to(c, in[0], kni_wide_dtype(dtype));
    (void)n_in, (void)n_out;
    if (p != 1 && p != 2) {
        kni_convert_fail(c, KN_ERROR_UNSUPPORTED, "p is %lld; norms have an order of 1 or 2", (long long)p);
        return;
    }
    kni_datum norm = kni_reduce_over(c, "sum", kni_emit1(c, p == 2 ? "square" : "abs", x), &axis, 1, true);
    if (p == 2) norm = kni_emit1(c, "sqrt", norm);
    kni_datum zero = kni_emit2(c, "equal", norm, kni_real_number(c, 0, kni_dtype_of(c, norm)));
    norm = kni_emit3(c, "where", zero, kni_real_number(c, 1, kni_dtype_of(c, norm)), norm);
    out[0] = kni_cast_to(c, kni_emit2(c, "div", x, norm), dtype);
}

/* (x - mean) / (deviation + 1e-9) */
void kni_convert_mean_variance_norm(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                                    int32_t n_in, kni_datum *out, int32_t n_out)
{
    static const int64_t usual[] = {0, 2, 3};
    int64_t count;
    const int64_t *axes = kni_node_ints(node, "axes", &count);
    kni_extent list[KN_MAX_RANK];
    kni_datum pair[2];
    (void)n_in, (void)n_out;
    kn_dtype dtype = kni_dtype_of(c, in[0]);
    kni_datum x = kni_cast_to(c, in[0], kni_wide_dtype(dtype));
    if (!count) axes = usual, count = 3;
    if (count > KN_MAX_RANK) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "there are %lld axes", (long long)count);
        return;
    }
    for (int64_t i = 0; i < count; i++) list[i] = KNI_EXTENT(kni_axis_of(c, x, axes[i]));
    kni_emit_many(c, "var_mean", &x, 1,
                  KNI_GIVE(KNI_EXTENTS("axes", list, (int32_t)count), KNI_WHOLE("keep", 1)), pair, 2);
    kni_datum deviation = kni_with_number(c, "add", kni_emit1(c, "sqrt", pair[0]), 1e-9);
    out[0] = kni_cast_to(c, kni_emit2(c, "div", kni_emit2(c, "sub", x, pair[1]), deviation), dtype);
}

/* x / (bias + alpha / size * sum of squares of the neighbouring channels)^beta. A mean over windows along the channels with a divisor of
   1 is the sum. */
void kni_convert_local_response_norm(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                                     int32_t n_in, kni_datum *out, int32_t n_out)
{
    int64_t size = kni_node_int(node, "size", 0);
    kni_extent e[KN_MAX_RANK];
    kn_dtype dtype = kni_dtype_of(c, in[0]);
    kni_datum x = kni_cast_to(c, in[0], kni_wide_dtype(dtype));
    int32_t rank = kni_extents_of(c, x, e);
    (void)n_in, (void)n_out;
    if (kni_convert_failed(c)) return;
    if (size < 1 || size > INT32_MAX || rank < 2) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "windows of %lld channels of an operand of rank %d",
                         (long long)size, rank);
        return;
    }
    kni_extent plane[] = {e[0], KNI_EXTENT(1), e[1], kni_extent_product(c, e + 2, rank - 2)};
    kni_extent window[] = {KNI_EXTENT(size), KNI_EXTENT(1)}, ones[] = {KNI_EXTENT(1), KNI_EXTENT(1)};
    kni_extent before[] = {KNI_EXTENT((size - 1) / 2), KNI_EXTENT(0)};
    kni_extent after[] = {KNI_EXTENT(size / 2), KNI_EXTENT(0)};
    kni_datum sum = kni_reshape_to(c, kni_emit1(c, "square", x), plane, 4);
    sum = kni_emit(c, "avg_pool", &sum, 1,
                   KNI_GIVE(KNI_WHOLE("axes", 2), KNI_EXTENTS("window", window, 2),
                            KNI_EXTENTS("stride", ones, 2), KNI_EXTENTS("padding", before, 2),
                            KNI_EXTENTS("padding_end", after, 2), KNI_WHOLE("divisor", 1)));
    sum = kni_reshape_to(c, sum, e, rank);
    sum = kni_with_number(c, "mul", sum, kni_node_real(node, "alpha", 1e-4) / (double)size);
    sum = kni_with_number(c, "add", sum, kni_node_real(node, "bias", 1));
    sum = kni_with_number(c, "pow", sum, kni_node_real(node, "beta", 0.75));
    out[0] = kni_cast_to(c, kni_emit2(c, "div", x, sum), dtype);
}
