/* Operators of our own, which passes put in place of what they recognise: kiln.Norm, kiln.Attention and kiln.Rope. Where the shapes do not fit
   an op, they are what the pass found: its parts. */
#include "onnx/convert/fused_operators.h"

/* ---- Norm: x, scale, bias; axes, epsilon, centered */

/* The first of the last axes where the list names just these; -1. */
static int32_t first_of_last(kni_conversion *c, kni_datum x, const int64_t *list, int64_t n, int32_t *axes)
{
    int32_t rank = kni_rank_of(c, x), first = rank;
    uint32_t named = 0;
    for (int64_t i = 0; i < n; i++) {
        axes[i] = kni_axis_of(c, x, list[i]);
        if (kni_convert_failed(c)) return -1;
        named |= 1U << axes[i];
        if (axes[i] < first) first = axes[i];
    }
    return named == (1U << rank) - (1U << first) ? first : -1;
}

static kni_datum norm_in_parts(kni_conversion *c, kni_datum x, const int32_t *axes, int32_t n, double eps,
                               bool centered)
{
    kn_dtype dtype = kni_dtype_of(c, x);
    x = kni_cast_to(c, x, kni_wide_dtype(dtype));
    if (centered) x = kni_emit2(c, "sub", x, kni_reduce_over(c, "mean", x, axes, n, true));
    kni_datum mean = kni_reduce_over(c, "mean", kni_emit1(c, "square", x), axes, n, true);
    kni_datum inverse = kni_emit1(c, "rsqrt", kni_with_number(c, "add", mean, eps));
    return kni_cast_to(c, kni_emit2(c, "mul", x, inverse), dtype);
}

void kni_convert_own_norm(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                          kni_datum *out, int32_t n_out)
{
    int64_t n;
    const int64_t *list = kni_node_ints(node, "axes", &n);
    double eps = kni_node_real(node, "epsilon", 0);
    bool centered = kni_node_int(node, "centered", 0) != 0;
    int32_t axes[KN_MAX_RANK];
    kni_datum scale = in[1], bias = in[2];
    (void)n_in, (void)n_out;
    if (n > KN_MAX_RANK) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "there are %lld axes", (long long)n);
        return;
    }
    int32_t first = first_of_last(c, in[0], list, n, axes);
    if (kni_convert_failed(c)) return;
    if (first >= 0 && centered) {
        out[0] = kni_layer_norm_of(c, in[0], scale, bias, first, eps, KN_F32, NULL, NULL);
        return;
    }
    if (first >= 0) {
        out[0] = kni_rms_norm_of(c, in[0], scale, first, eps);
    } else {
        out[0] = norm_in_parts(c, in[0], axes, (int32_t)n, eps, centered);
        if (kni_is_given(scale)) out[0] = kni_emit2(c, "mul", out[0], scale);
    }
    if (kni_is_given(bias)) out[0] = kni_emit2(c, "add", out[0], bias);
}

/* ---- Attention: q, k, v, bias, keep; scale, transposed, grouped, fill, hides */

typedef struct attention {
    kni_datum q, k, v, bias, mask;
    double scale;
    bool grouped;
} attention;

/* Whether x broadcasts to [batch, heads, queries, keys]. */
static bool spreads(kni_conversion *c, kni_datum x, const kni_extent *scores)
{
    kni_extent e[KN_MAX_RANK];
    if (!kni_is_given(x)) return true;
    int32_t rank = kni_extents_of(c, x, e);
    if (rank > 4) return false;
    for (int32_t i = 0; i < rank; i++)
        if (!kni_extent_is(e[i], 1) && !kni_extent_same(e[i], scores[4 - rank + i])) return false;
    return true;
}

/* Whether the op takes q, k and v as they are, all of rank 4. */
static bool fits_op(kni_conversion *c, const attention *a)
{
    kni_extent q[KN_MAX_RANK], k[KN_MAX_RANK], v[KN_MAX_RANK];
    kn_dtype dtype = kni_dtype_of(c, a->q);
    if (kni_dtype_of(c, a->k) != dtype || kni_dtype_of(c, a->v) != dtype) return false;
    if (kni_is_given(a->bias) && kni_dtype_of(c, a->bias) != dtype) return false;
    if (kni_extents_of(c, a->q, q) != 4 || kni_extents_of(c, a->k, k) != 4 || kni_extents_of(c, a->v, v) != 4)
        return false;
    const kni_extent scores[4] = {q[0], q[1], q[2], k[2]};
    bool heads = kni_extent_same(q[1], k[1]);
    if (a->grouped) heads = !q[1].text && !k[1].text && k[1].value > 0 && q[1].value % k[1].value == 0;
    return heads && kni_extent_same(q[0], k[0]) && kni_extent_same(k[0], v[0]) &&
           kni_extent_same(k[1], v[1]) && kni_extent_same(k[2], v[2]) && kni_extent_same(q[3], k[3]) &&
           spreads(c, a->bias, scores) && spreads(c, a->mask, scores);
}

/* Matrices of rank 3 as heads of one batch each. */
static kni_datum as_heads(kni_conversion *c, kni_datum x)
{
    return kni_is_given(x) && kni_rank_of(c, x) == 3 ? kni_unsqueeze_at(c, x, 1) : x;
}

static kni_datum repeat_heads(kni_conversion *c, kni_datum x, kni_extent heads)
{
    kni_extent e[KN_MAX_RANK];
    if (kni_extents_of(c, x, e) != 4) {
        kni_convert_fail(c, KN_ERROR_UNSUPPORTED,
                         "keys are not [batch, heads, keys, size]; load the model with no_simplify");
        return KNI_ABSENT;
    }
    kni_extent wide[] = {e[0], e[1], kni_extent_div(c, heads, e[1]), e[2], e[3]};
    kni_extent flat[] = {e[0], heads, e[2], e[3]};
    return kni_reshape_to(c, kni_expand_to(c, kni_unsqueeze_at(c, x, 2), wide, 5), flat, 4);
}

static kni_datum attend_in_parts(kni_conversion *c, const attention *a)
{
    kni_datum k = a->k, v = a->v;
    kn_dtype dtype = kni_dtype_of(c, a->q);
    if (a->grouped) {
        kni_extent heads = kni_extent_of(c, a->q, 1);
        k = repeat_heads(c, k, heads);
        v = repeat_heads(c, v, heads);
    }
    int32_t rank = kni_rank_of(c, k);
    if (kni_convert_failed(c)) return KNI_ABSENT;
    kni_datum s = kni_emit2(c, "matmul", a->q, kni_swap_axes(c, k, rank - 2, rank - 1));
    if (a->scale != 1) s = kni_with_number(c, "mul", s, a->scale);
    if (kni_is_given(a->bias)) s = kni_emit2(c, "add", s, a->bias);
    if (kni_is_given(a->mask))
        s = kni_emit3(c, "where", a->mask, s, kni_real_number(c, -__builtin_inf(), dtype));
    s = kni_emit(c, "softmax", &s, 1, KNI_GIVE(KNI_WHOLE("axis", -1)));
    if (kni_is_given(a->mask)) /* a query that sees no key */
        s = kni_emit3(c, "where", a->mask, s, kni_real_number(c, 0, dtype));
    return kni_emit2(c, "matmul", kni_cast_to(c, s, kni_dtype_of(c, v)), v);
}

static kni_datum attend(kni_conversion *c, attention *a)
{
    bool matrices =
        kni_rank_of(c, a->q) == 3 && kni_rank_of(c, a->k) == 3 && kni_rank_of(c, a->v) == 3 && !a->grouped;
    attention heads = *a;
    if (matrices) {
        heads.q = as_heads(c, a->q), heads.k = as_heads(c, a->k), heads.v = as_heads(c, a->v);
        heads.bias = as_heads(c, a->bias), heads.mask = as_heads(c, a->mask);
    }
    if (!fits_op(c, &heads)) return attend_in_parts(c, a);
    kni_datum y = kni_emit(c, "attention", KNI_LIST(heads.q, heads.k, heads.v, heads.mask, heads.bias),
                           KNI_GIVE(KNI_REAL("scale", kn_real_given(heads.scale))));
    return matrices ? kni_squeeze_at(c, y, 1) : y;
}

void kni_convert_own_attention(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                               int32_t n_in, kni_datum *out, int32_t n_out)
{
    attention a = {in[0],
                   in[1],
                   in[2],
                   in[3],
                   KNI_ABSENT,
                   kni_node_real(node, "scale", 1),
                   kni_node_int(node, "grouped", 0) != 0};
    kni_datum keep = in[4];
    kn_dtype dtype = kni_dtype_of(c, a.q);
    double fill = kni_node_real(node, "fill", -__builtin_inf());
    int32_t rank = kni_rank_of(c, a.k);
    (void)n_in, (void)n_out;
    if (rank < 2 || kni_convert_failed(c)) {
        kni_convert_fail(c, KN_ERROR_SHAPE, "keys must have rank 2 or more, not %d", rank);
        return;
    }
    if (kni_node_int(node, "transposed", 0)) a.k = kni_swap_axes(c, a.k, rank - 2, rank - 1);
    if (kni_is_given(keep)) {
        if (kni_node_int(node, "hides", 0)) keep = kni_emit1(c, "logical_not", keep);
        if (fill == -__builtin_inf()) {
            a.mask = keep;
        } else { /* nothing is hidden: a row of such scores is an even mean */
            kni_datum low =
                kni_emit3(c, "where", keep, kni_real_number(c, 0, dtype), kni_real_number(c, fill, dtype));
            a.bias = kni_is_given(a.bias) ? kni_emit2(c, "add", a.bias, low) : low;
        }
    }
    out[0] = attend(c, &a);
}

/* ---- Rope: x, cosines, sines, elements of a half; axis, joined, repeated */

/* The first half of the lines of what stands before the last two axes only once, as [tokens, half]; absent: it is something else. */
static kni_datum angles(kni_conversion *c, kni_datum x, kni_extent tokens, kni_extent size, kni_extent half)
{
    kni_extent e[KN_MAX_RANK];
    int32_t rank = kni_extents_of(c, x, e);
    if (rank < 2 || !kni_extent_same(e[rank - 2], tokens) || !kni_extent_same(e[rank - 1], size))
        return KNI_ABSENT;
    for (int32_t i = 0; i < rank - 2; i++)
        if (!kni_extent_is(e[i], 1)) return KNI_ABSENT;
    x = kni_reshape_to(c, x, e + rank - 2, 2);
    return kni_slice_of(c, x, 1, KNI_EXTENT(0), half);
}

void kni_convert_own_rope(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                          kni_datum *out, int32_t n_out)
{
    kni_datum x = in[0];
    int32_t rank = kni_rank_of(c, x), axis = kni_axis_of(c, x, kni_node_int(node, "axis", -1));
    (void)n_in, (void)n_out;
    int32_t joined = kni_axis_of(c, x, kni_node_int(node, "joined", -1));
    if (kni_convert_failed(c)) return;
    kni_extent size = kni_extent_of(c, x, axis), middle = kni_extent_div(c, size, KNI_EXTENT(2)),
               half = middle;
    if (kni_is_given(in[3])) {
        int64_t n = 0;
        const kni_extent *given = kni_known_extents(c, in[3], "where the halves meet", &n);
        if (!given || n != 1) return;
        half = *given;
    }
    if (kni_node_int(node, "repeated", 0) && axis == rank - 1 && joined == axis && rank >= 2 &&
        kni_extent_same(half, middle)) {
        kni_extent tokens = kni_extent_of(c, x, rank - 2);
        kni_datum cosines = angles(c, in[1], tokens, size, half),
                  sines = angles(c, in[2], tokens, size, half);
        if (kni_is_given(cosines) && kni_is_given(sines)) {
            out[0] = kni_emit(c, "rope", KNI_LIST(x, cosines, sines), NULL);
            return;
        }
    }
    kni_datum parts[2] = {kni_emit1(c, "neg", kni_slice_of(c, x, axis, half, size)),
                          kni_slice_of(c, x, axis, KNI_EXTENT(0), half)};
    out[0] = kni_emit2(c, "add", kni_emit2(c, "mul", x, in[1]),
                       kni_emit2(c, "mul", kni_concat_of(c, parts, 2, joined), in[2]));
}
