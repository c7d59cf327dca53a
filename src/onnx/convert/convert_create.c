/* Operators that make tensors: filled ones, ranges, masks, and random numbers. */
#include "onnx/convert/convert_numbers.h"
#include "support/scalar_math.h"
#include <kn/tensor.h>
#include <string.h>

/* ---- filled tensors */

void kni_convert_constant_of_shape(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    int64_t n = 0;
    const kni_extent *sizes = kni_known_counts(c, in[0], "the shape", &n);
    const kni_onnx_tensor *value = kni_node_tensor(node, "value");
    if (!sizes) return;
    if (n > KN_MAX_RANK || (value && value->count != 1)) {
        kni_convert_fail(c, KN_ERROR_SHAPE,
                         "the shape has %lld axes and the value %lld elements; at most %d, and one",
                         (long long)n, (long long)(value ? value->count : 1), KN_MAX_RANK);
        return;
    }
    if (!value) {
        out[0] = kni_filled(c, 0, KN_F32, sizes, (int32_t)n);
        return;
    }
    kni_datum number = kni_reshape_to(c, kni_constant_of(c, value), NULL, 0);
    out[0] = kni_expand_to(c, number, sizes, (int32_t)n);
}

/* Elements of rows and columns that lie on the diagonal, or (with `op` another comparison) above or below it: bool [rows, columns]. */
static kni_datum diagonal_mask(kni_conversion *c, const char *op, kni_extent rows, kni_extent columns,
                               int64_t k)
{
    enum { FAR = 1 << 30 };
    int64_t shift = k > FAR ? FAR : k < -FAR ? -FAR : k;
    kni_datum row = kni_counting_along(c, shift, rows, 0, 2),
              column = kni_counting_along(c, 0, columns, 1, 2);
    return kni_emit2(c, op, column, row);
}

void kni_convert_eye_like(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    kni_extent sizes[KN_MAX_RANK];
    int32_t rank = kni_extents_of(c, in[0], sizes);
    kn_dtype dtype = kni_node_dtype(c, node, "dtype", kni_dtype_of(c, in[0]));
    if (!kni_convert_failed(c) && rank != 2)
        kni_convert_fail(c, KN_ERROR_SHAPE, "the input has %d axes; a matrix has 2", rank);
    if (kni_convert_failed(c)) return;
    out[0] = kni_cast_to(c, diagonal_mask(c, "equal", sizes[0], sizes[1], kni_node_int(node, "k", 0)), dtype);
}

void kni_convert_trilu(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    int32_t rank = kni_rank_of(c, in[0]);
    if (!kni_convert_failed(c) && rank < 2)
        kni_convert_fail(c, KN_ERROR_SHAPE, "the input has %d axes; a matrix has 2", rank);
    kni_extent rows = kni_extent_of(c, in[0], -2), columns = kni_extent_of(c, in[0], -1);
    const char *op = kni_node_int(node, "upper", 1) ? "greater_equal" : "less_equal";
    kni_datum mask = diagonal_mask(c, op, rows, columns, kni_known_int(c, in[1], "k", 0));
    out[0] = kni_emit3(c, "where", mask, in[0], kni_real_number(c, 0, kni_dtype_of(c, in[0])));
}

/* ---- Range */

static kni_datum single(kni_conversion *c, kni_datum x)
{
    return kni_rank_of(c, x) > 0 ? kni_reshape_to(c, x, NULL, 0) : x;
}

/* ceil((limit - start) / step), at least 0, where start and limit may be expressions. */
static kni_extent whole_length(kni_conversion *c, kni_extent start, kni_extent limit, int64_t step)
{
    kni_extent span = step > 0 ? kni_extent_sub(c, limit, start) : kni_extent_sub(c, start, limit);
    int64_t pace = step > 0 ? step : step == INT64_MIN ? INT64_MAX : -step;
    span = kni_extent_max(c, span, KNI_EXTENT(0));
    if (pace == 1) return span;
    if (!span.text) return KNI_EXTENT(span.value == 0 ? 0 : (span.value - 1) / pace + 1);
    return kni_extent_div(c, kni_extent_add(c, span, KNI_EXTENT(pace - 1)), KNI_EXTENT(pace));
}

/* Also of floats, whose limit is a size: from a whole number on, by a whole step. */
static kni_datum whole_range(kni_conversion *c, const kni_datum *in, kn_dtype dtype)
{
    int64_t n[2] = {0, 0}, step = kni_known_int(c, in[2], "the step", 1);
    const kni_extent *start = kni_known_counts(c, in[0], "the start", &n[0]);
    const kni_extent *limit = kni_known_counts(c, in[1], "the limit", &n[1]);
    if (!kni_convert_failed(c) && (n[0] != 1 || n[1] != 1 || step == 0))
        kni_convert_fail(c, KN_ERROR_ARGUMENT,
                         "start, limit and step must be single numbers, and the step not 0");
    if (kni_convert_failed(c)) return KNI_ABSENT;
    kni_extent length = whole_length(c, *start, *limit, step);
    if (kn_dtype_is_float(dtype))
        return kni_emit(c, "iota", NULL, 0,
                        KNI_GIVE(KNI_ONE_EXTENT("length", length), KNI_WHOLE("dtype", dtype),
                                 KNI_REAL("start", (double)kni_extent_number(c, *start, "the start")),
                                 KNI_REAL("step", (double)step)));
    return kni_emit(c, "iota", NULL, 0,
                    KNI_GIVE(KNI_ONE_EXTENT("length", length), KNI_WHOLE("dtype", dtype),
                             KNI_ONE_EXTENT("whole_start", *start), KNI_WHOLE("whole_step", step)));
}

static double rounded_up(double x) { return -kni_floor(-x); }

/* How many there are is computed as the standard does, in the dtype of the operands, or f32 for halves. */
static kni_datum real_range(kni_conversion *c, const kni_datum *in, kn_dtype dtype)
{
    double start = kni_known_real(c, in[0], "the start", 0), limit = kni_known_real(c, in[1], "the limit", 0),
           step = kni_known_real(c, in[2], "the step", 1), n;
    if (dtype == KN_F64) {
        n = rounded_up((limit - start) / step);
    } else {
        float span = (float)limit - (float)start;
        n = rounded_up((double)(span / (float)step));
    }
    if (!kni_convert_failed(c) && (n != n || n >= 0x1p62))
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "there is no range from %g to %g by steps of %g", start, limit,
                         step);
    if (kni_convert_failed(c)) return KNI_ABSENT;
    return kni_emit(c, "iota", NULL, 0,
                    KNI_GIVE(KNI_WHOLE("length", n > 0 ? (int64_t)n : 0), KNI_WHOLE("dtype", dtype),
                             KNI_REAL("start", start), KNI_REAL("step", step)));
}

/* Where the operands are computed while a program runs: the length is computed as the standard does, and read. */
static kni_datum counted_range(kni_conversion *c, const kni_datum *in, kn_dtype dtype)
{
    kn_dtype wide = kn_dtype_is_float(dtype) && dtype != KN_F64 ? KN_F32 : KN_F64;
    kni_datum x[3];
    for (int i = 0; i < 3; i++) x[i] = kni_cast_to(c, single(c, in[i]), wide);
    kni_datum span = kni_emit2(c, "div", kni_emit2(c, "sub", x[1], x[0]), x[2]);
    kni_datum steps = kni_emit2(c, "maximum", kni_emit1(c, "ceil", span), kni_real_number(c, 0, wide));
    kni_extent length = kni_known_count(c, kni_cast_to(c, steps, KN_I64), "the number of steps");
    kni_datum places = kni_cast_to(c, kni_counting_along(c, 0, length, 0, 1), wide);
    kni_datum y = kni_emit2(c, "add", kni_emit2(c, "mul", places, x[2]), x[0]);
    return kni_cast_to(c, y, dtype);
}

/* Whether x is a number without a fraction. */
static bool is_whole(kni_conversion *c, kni_datum x)
{
    if (!kni_is_known(c, x) || kni_has_open_number(c, x)) return false;
    double number = kni_known_real(c, x, "the range", 0);
    return number >= -0x1p53 && number <= 0x1p53 && number == (double)(int64_t)number;
}

static bool all_known(const kni_conversion *c, const kni_datum *in)
{
    return kni_is_known(c, in[0]) && kni_is_known(c, in[1]) && kni_is_known(c, in[2]);
}

/* Whether all that is not known are whole numbers from 0 on, as far as sizes go: a limit alone. */
static bool counts_up(const kni_conversion *c, const kni_datum *in, kn_dtype dtype)
{
    return !kn_dtype_is_float(dtype) && kni_is_known(c, in[0]) && kni_is_known(c, in[2]);
}

void kni_convert_range(KNI_CONVERTS)
{
    (void)node;
    KNI_UNUSED_COUNTS;
    kn_dtype dtype = kni_dtype_of(c, in[0]);
    if (kn_dtype_is_float(dtype) && kni_has_open_number(c, in[1]) && is_whole(c, in[0]) &&
        is_whole(c, in[2])) {
        out[0] = whole_range(c, in, dtype);
        return;
    }
    if (!kni_runs_now(c) && !all_known(c, in) && !counts_up(c, in, dtype)) {
        out[0] = counted_range(c, in, dtype);
        return;
    }
    out[0] = kn_dtype_is_float(dtype) ? real_range(c, in, dtype) : whole_range(c, in, dtype);
}

/* ---- OneHot */

void kni_convert_one_hot(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    int64_t n = 0;
    kni_extent sizes[KN_MAX_RANK];
    int32_t rank = kni_extents_of(c, in[0], sizes),
            axis = kni_axis_in(c, rank + 1, kni_node_int(node, "axis", -1));
    const kni_extent *depth = kni_known_extents(c, kni_cast_to(c, in[1], KN_I64), "the depth", &n);
    if (!kni_convert_failed(c) && (n != 1 || rank == KN_MAX_RANK))
        kni_convert_fail(c, KN_ERROR_SHAPE,
                         "the depth has %lld elements and the indices have %d axes; one, and at most %d",
                         (long long)n, rank, KN_MAX_RANK - 1);
    if (kni_convert_failed(c)) return;
    kni_datum index = kni_unsqueeze_at(c, kni_cast_to(c, in[0], KN_I64), axis);
    kni_datum from_end = kni_emit2(c, "add", index, kni_extent_value(c, *depth));
    index =
        kni_emit3(c, "where", kni_emit2(c, "less", index, kni_whole_number(c, 0, KN_I64)), from_end, index);
    kni_datum met = kni_emit2(c, "equal", index, kni_counting_along(c, 0, *depth, axis, rank + 1));
    kni_datum off = single(c, kni_slice_of(c, in[2], 0, KNI_EXTENT(0), KNI_EXTENT(1)));
    kni_datum on = single(c, kni_slice_of(c, in[2], 0, KNI_EXTENT(1), KNI_EXTENT(2)));
    out[0] = kni_emit3(c, "where", met, on, off);
}

/* ---- random numbers. A seed fixes them: the same ones in each run where ops run at once. */

static int64_t seed_of(const kni_onnx_node *node)
{
    float seed = (float)kni_node_real(node, "seed", 0);
    uint32_t bits;
    memcpy(&bits, &seed, sizeof bits);
    return bits;
}

/* What is drawn is rounded to the dtype, which must not reach `high`: the largest number below it. */
static double below(double high, kn_dtype dtype)
{
    uint64_t bits, unit = UINT64_C(1) << (52 - kni_dtypes[dtype].mantissa);
    memcpy(&bits, &high, sizeof bits);
    if (high == 0 || high != high) return -0x1p-126;
    bool exact = (bits & (unit - 1)) == 0;
    bits &= ~(unit - 1);
    if (high > 0 && exact) bits -= unit;
    if (high < 0) bits += unit;
    memcpy(&high, &bits, sizeof high);
    return high;
}

static kni_datum uniform(kni_conversion *c, const kni_onnx_node *node, const kni_extent *sizes, int32_t rank,
                         kn_dtype dtype, double low, double high)
{
    double top = below(high, dtype);
    kni_given_attribute list[8] = {KNI_EXTENTS("shape", sizes, rank),
                                   KNI_WHOLE("dtype", dtype),
                                   KNI_REAL("low", low),
                                   KNI_REAL("high", high),
                                   KNI_REAL("top", top > low ? top : low),
                                   {0},
                                   {0}};
    if (kni_node_attribute(node, "seed")) list[5] = (kni_given_attribute)KNI_WHOLE("key", seed_of(node));
    return kni_emit(c, "random_uniform", NULL, 0, list);
}

static kni_datum normal(kni_conversion *c, const kni_onnx_node *node, const kni_extent *sizes, int32_t rank,
                        kn_dtype dtype)
{
    kni_given_attribute list[8] = {KNI_EXTENTS("shape", sizes, rank),
                                   KNI_WHOLE("dtype", dtype),
                                   KNI_REAL("mean", kni_node_real(node, "mean", 0)),
                                   KNI_REAL("deviation", kni_node_real(node, "scale", 1)),
                                   {0},
                                   {0}};
    if (kni_node_attribute(node, "seed")) list[4] = (kni_given_attribute)KNI_WHOLE("key", seed_of(node));
    return kni_emit(c, "random_normal", NULL, 0, list);
}

/* RandomNormal and RandomUniform have a shape, those that end with Like an input. */
void kni_convert_random(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    bool like = strstr(node->op, "Like") != NULL;
    kni_extent sizes[KN_MAX_RANK];
    int32_t rank = 0;
    kn_dtype dtype = kni_node_dtype(c, node, "dtype", like ? kni_dtype_of(c, in[0]) : KN_F32);
    if (like) {
        rank = kni_extents_of(c, in[0], sizes);
    } else {
        int64_t n = 0;
        const int64_t *list = kni_node_ints(node, "shape", &n);
        if (n > KN_MAX_RANK)
            kni_convert_fail(c, KN_ERROR_SHAPE, "the shape has %lld axes; at most %d", (long long)n,
                             KN_MAX_RANK);
        for (; rank < n && rank < KN_MAX_RANK; rank++) sizes[rank] = KNI_EXTENT(list[rank]);
    }
    if (!kni_convert_failed(c) && !kn_dtype_is_float(dtype))
        kni_convert_fail(c, KN_ERROR_DTYPE, "random numbers are floats, and %s is asked for",
                         kn_dtype_name(dtype));
    if (kni_convert_failed(c)) return;
    if (strstr(node->op, "Normal"))
        out[0] = normal(c, node, sizes, rank, dtype);
    else
        out[0] = uniform(c, node, sizes, rank, dtype, kni_node_real(node, "low", 0),
                         kni_node_real(node, "high", 1));
}

void kni_convert_bernoulli(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    kni_extent sizes[KN_MAX_RANK];
    int32_t rank = kni_extents_of(c, in[0], sizes);
    kn_dtype dtype = kni_node_dtype(c, node, "dtype", kni_dtype_of(c, in[0]));
    kn_dtype drawn = kni_dtype_of(c, in[0]) == KN_F64 ? KN_F64 : KN_F32;
    kni_datum met =
        kni_emit2(c, "less", uniform(c, node, sizes, rank, drawn, 0, 1), kni_cast_to(c, in[0], drawn));
    out[0] = kni_cast_to(c, met, dtype);
}

/* The input holds logarithms of probabilities, to which a constant may have been added. */
void kni_convert_multinomial(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    kni_datum x = kni_widened(c, in[0]);
    kni_datum chances = kni_emit(c, "softmax", &x, 1, KNI_GIVE(KNI_WHOLE("axis", kni_rank_of(c, x) - 1)));
    kni_given_attribute list[4] = {KNI_WHOLE("samples", kni_node_int(node, "sample_size", 1)), {0}, {0}};
    if (kni_node_attribute(node, "seed")) list[1] = (kni_given_attribute)KNI_WHOLE("key", seed_of(node));
    out[0] = kni_cast_to(c, kni_emit(c, "categorical", &chances, 1, list),
                         kni_node_dtype(c, node, "dtype", KN_I32));
}
