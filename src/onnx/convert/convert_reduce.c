/* Reductions, positions of extremes, cumulative operators, TopK, Hardmax and NonZero. */
#include "onnx/convert/convert_numbers.h"
#include <kn/tensor.h>
#include <string.h>

/* ---- reductions: what is done to each element, how they are joined, what is done to the result */

/* What of a reduction is more than its op. */
enum { PLAIN, OF_FLOATS, MEAN, LARGEST, LEAST };

typedef struct reduction {
    const char *name, *before, *op, *after;
    int kind;
} reduction;

static const reduction reductions[] = {
    {"ReduceL1", "abs", "sum", NULL, PLAIN},     {"ReduceL2", "square", "sum", "sqrt", PLAIN},
    {"ReduceLogSum", NULL, "sum", "log", PLAIN}, {"ReduceLogSumExp", NULL, "logsumexp", NULL, OF_FLOATS},
    {"ReduceMax", NULL, "max", NULL, LARGEST},   {"ReduceMean", NULL, "mean", NULL, MEAN},
    {"ReduceMin", NULL, "min", NULL, LEAST},     {"ReduceProd", NULL, "prod", NULL, PLAIN},
    {"ReduceSum", NULL, "sum", NULL, PLAIN},     {"ReduceSumSquare", "square", "sum", NULL, PLAIN},
};

static const reduction *reduction_of(const kni_onnx_node *node)
{
    for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++)
        if (!strcmp(reductions[i].name, node->op)) return &reductions[i];
    return &reductions[0];
}

typedef struct reduced {
    int32_t axes[KN_MAX_RANK], n; /* n 0: all */
    bool keep, none;              /* none: of no axes at all, each element is by itself */
} reduced;

static bool is_reduced(const reduced *r, int32_t axis)
{
    for (int32_t i = 0; i < r->n; i++)
        if (r->axes[i] == axis) return true;
    return r->n == 0;
}

/* The elements of one line. */
static kni_extent line_length(kni_conversion *c, kni_datum x, const reduced *r)
{
    kni_extent sizes[KN_MAX_RANK], list[KN_MAX_RANK];
    int32_t rank = kni_extents_of(c, x, sizes), n = 0;
    for (int32_t i = 0; i < rank; i++)
        if (is_reduced(r, i)) list[n++] = sizes[i];
    return kni_extent_product(c, list, n);
}

/* Extremes of no elements are the end of the range. */
static kni_datum extreme_of_none(kni_conversion *c, kni_datum x, const reduced *r, bool largest)
{
    kn_dtype dtype = kni_dtype_of(c, x);
    kni_extent sizes[KN_MAX_RANK], list[KN_MAX_RANK];
    int32_t rank = kni_extents_of(c, x, sizes), n = 0;
    for (int32_t i = 0; i < rank; i++)
        if (!is_reduced(r, i))
            list[n++] = sizes[i];
        else if (r->keep)
            list[n++] = KNI_EXTENT(1);
    kni_datum value;
    if (kn_dtype_is_float(dtype)) {
        value = kni_real_number(c, largest ? -__builtin_inf() : __builtin_inf(), dtype);
    } else {
        bool is_signed = kni_dtypes[dtype].kind == KNI_KIND_SIGNED;
        int bits = kni_is_bool(dtype) ? 1 : kni_dtypes[dtype].bits;
        int64_t top = bits == 64 && !is_signed ? -1 : (int64_t)((UINT64_C(1) << (bits - is_signed)) - 1);
        value = kni_whole_number(c, !largest ? top : is_signed ? -top - 1 : 0, dtype);
    }
    return kni_expand_to(c, value, list, n);
}

/* Integers are divided and cut. */
static kni_datum mean_of(kni_conversion *c, kni_datum x, const reduced *r)
{
    kn_dtype dtype = kni_dtype_of(c, x);
    if (kn_dtype_is_float(dtype)) return kni_reduce_over(c, "mean", x, r->axes, r->n, r->keep);
    kni_datum sum = kni_reduce_over(c, "sum", x, r->axes, r->n, r->keep);
    return kni_emit2(c, "trunc_div", sum, kni_extent_value(c, line_length(c, x, r)));
}

/* In what a reduction of several steps computes: halves in f32, integers in 64 bits or as reals. */
static kni_datum prepared(kni_conversion *c, kni_datum x, const reduction *way)
{
    kn_dtype dtype = kni_dtype_of(c, x);
    if (kn_dtype_is_float(dtype)) return way->before || way->after ? kni_widened(c, x) : x;
    if (way->kind == OF_FLOATS) return kni_cast_to(c, x, KN_F64);
    return way->before && dtype != KN_U64 ? kni_cast_to(c, x, KN_I64) : x;
}

static kni_datum joined(kni_conversion *c, kni_datum x, const reduction *way, const reduced *r)
{
    bool extreme = way->kind == LARGEST || way->kind == LEAST;
    if (r->none) return x;
    if (extreme && kni_extent_is(line_length(c, x, r), 0))
        return extreme_of_none(c, x, r, way->kind == LARGEST);
    if (way->kind == MEAN) return mean_of(c, x, r);
    return kni_reduce_over(c, way->op, x, r->axes, r->n, r->keep);
}

static void reduce(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    const reduction *way = reduction_of(node);
    kn_dtype dtype = kni_dtype_of(c, in[0]);
    reduced r = {.keep = kni_node_int(node, "keepdims", 1) != 0};
    r.n = kni_axes_given(c, node, in[1], kni_rank_of(c, in[0]), r.axes);
    r.none = r.n <= 0 && kni_node_int(node, "noop_with_empty_axes", 0);
    if (r.n < 0) r.n = 0;
    kni_datum x = prepared(c, in[0], way);
    if (way->before) x = kni_emit1(c, way->before, x);
    kni_datum y = joined(c, x, way, &r);
    if (way->after && !kn_dtype_is_float(kni_dtype_of(c, y))) y = kni_cast_to(c, y, KN_F64);
    if (way->after) y = kni_emit1(c, way->after, y);
    out[0] = kni_cast_to(c, y, dtype);
}

/* ---- positions of extremes */

static void extreme_position(kni_conversion *c, const kni_onnx_node *node, const char *op,
                             const kni_datum *in, kni_datum *out)
{
    int32_t axis = kni_axis_of(c, in[0], kni_node_int(node, "axis", 0));
    bool last = kni_node_int(node, "select_last_index", 0) != 0;
    kni_datum x = last ? kni_reversed(c, in[0], axis) : in[0];
    kni_datum y = kni_emit(
        c, op, &x, 1,
        KNI_GIVE(KNI_WHOLE("axis", axis), KNI_WHOLE("keep", kni_node_int(node, "keepdims", 1) != 0)));
    if (last) {
        kni_extent end = kni_extent_sub(c, kni_extent_of(c, in[0], axis), KNI_EXTENT(1));
        y = kni_emit2(c, "sub", kni_extent_value(c, end), y);
    }
    out[0] = y;
}

static void arg_max(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    extreme_position(c, node, "argmax", in, out);
}

static void arg_min(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    extreme_position(c, node, "argmin", in, out);
}

/* 1 at the first largest element along the axis; before version 13 of a matrix with the axes before `axis` as rows. */
static void hardmax(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    bool matrix = node->version < 13;
    int32_t own_rank = kni_rank_of(c, in[0]);
    int64_t given = kni_node_int(node, "axis", matrix ? 1 : -1);
    kni_extent sizes[KN_MAX_RANK];
    kni_datum x = in[0];
    kni_extents_of(c, x, sizes);
    if (matrix) x = kni_flatten_at(c, x, given == own_rank ? own_rank : kni_axis_of(c, x, given));
    int32_t axis = matrix ? 1 : kni_axis_of(c, x, given);
    kni_datum top = kni_emit(c, "argmax", &x, 1, KNI_GIVE(KNI_WHOLE("axis", axis), KNI_WHOLE("keep", 1)));
    kni_datum places = kni_counting_along(c, 0, kni_extent_of(c, x, axis), axis, kni_rank_of(c, x));
    kni_datum y = kni_cast_to(c, kni_emit2(c, "equal", top, places), kni_dtype_of(c, x));
    out[0] = matrix ? kni_reshape_to(c, y, sizes, own_rank) : y;
}

/* ---- cumulative operators: integers run in i64 */

static void cumulative(kni_conversion *c, const kni_onnx_node *node, const char *op, const kni_datum *in,
                       kni_datum *out)
{
    int64_t axis = kni_axis_of(c, in[0], kni_known_int(c, in[1], "the axis", 0));
    kni_datum y = kni_emit(c, op, in, 1,
                           KNI_GIVE(KNI_WHOLE("axis", axis),
                                    KNI_WHOLE("reverse", kni_node_int(node, "reverse", 0) != 0),
                                    KNI_WHOLE("exclusive", kni_node_int(node, "exclusive", 0) != 0)));
    out[0] = kni_cast_to(c, y, kni_dtype_of(c, in[0]));
}

static void cumulative_sum(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    cumulative(c, node, "cumsum", in, out);
}

static void cumulative_product(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    cumulative(c, node, "cumprod", in, out);
}

/* ---- places */

static void topk(KNI_CONVERTS)
{
    (void)n_in;
    kni_extent k = KNI_EXTENT(kni_node_int(node, "k", 0));
    int64_t n = 1, axis = kni_axis_of(c, in[0], kni_node_int(node, "axis", -1));
    const kni_extent *given = node->version < 10 ? &k : kni_known_counts(c, in[1], "k", &n);
    if (given && n != 1)
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "k has %lld elements; it must have one", (long long)n);
    kni_datum y[2] = {KNI_ABSENT, KNI_ABSENT};
    if (given && n == 1)
        kni_emit_many(c, "topk", in, 1,
                      KNI_GIVE(KNI_ONE_EXTENT("k", *given), KNI_WHOLE("axis", axis),
                               KNI_WHOLE("smallest", kni_node_int(node, "largest", 1) == 0)),
                      y, 2);
    out[0] = y[0];
    if (n_out > 1) out[1] = y[1];
}

/* How many there are is read first, since it is a size of the result. */
static void nonzero(KNI_CONVERTS)
{
    (void)node;
    KNI_UNUSED_COUNTS;
    int32_t rank = kni_rank_of(c, in[0]);
    kni_datum truths = kni_cast_to(c, in[0], KN_BOOL);
    kni_extent count =
        kni_known_count(c, kni_reduce_over(c, "sum", truths, NULL, 0, false), "the number of elements");
    kni_datum y[2];
    kni_emit_many(c, "nonzero", &truths, 1, KNI_GIVE(KNI_ONE_EXTENT("capacity", count)), y, 2);
    out[0] = rank > 0 ? kni_swap_axes(c, y[0], 0, 1)
                      : kni_reshape_to(c, y[0], (kni_extent[]){KNI_EXTENT(0), count}, 2);
}

/* ---- the table */

#define NUMBERS "floats integers"

const kni_onnx_converter kni_onnx_reduce[] = {
    KNI_ONNX_ROW("ArgMax", 1, arg_max, NUMBERS),
    KNI_ONNX_ROW("ArgMin", 1, arg_min, NUMBERS),
    KNI_ONNX_ROW("CumProd", 26, cumulative_product, NUMBERS),
    KNI_ONNX_ROW("CumSum", 11, cumulative_sum, NUMBERS),
    KNI_ONNX_ROW("Hardmax", 1, hardmax, "floats"),
    KNI_ONNX_ROW("NonZero", 9, nonzero, "floats integers bool"),
    KNI_ONNX_ROW("ReduceL1", 1, reduce, NUMBERS),
    KNI_ONNX_ROW("ReduceL2", 1, reduce, NUMBERS),
    KNI_ONNX_ROW("ReduceLogSum", 1, reduce, NUMBERS),
    KNI_ONNX_ROW("ReduceLogSumExp", 1, reduce, NUMBERS),
    KNI_ONNX_ROW("ReduceMax", 1, reduce, "floats integers bool"),
    KNI_ONNX_ROW("ReduceMean", 1, reduce, NUMBERS),
    KNI_ONNX_ROW("ReduceMin", 1, reduce, "floats integers bool"),
    KNI_ONNX_ROW("ReduceProd", 1, reduce, NUMBERS),
    KNI_ONNX_ROW("ReduceSum", 1, reduce, NUMBERS),
    KNI_ONNX_ROW("ReduceSumSquare", 1, reduce, NUMBERS),
    KNI_ONNX_ROW("TopK", 1, topk, NUMBERS),
    {0},
};
