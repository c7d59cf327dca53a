/* Pools. Padding that the ops do not take (a whole window and more, or padding that follows from a size that is known only when the model
   runs) is put around the operand beforehand; means then count what their windows have. */
#include "onnx/convert/network.h"

/* ---- windows that ops take */

/* Padding in numbers, of which no window has nothing else. */
static bool fits_op(const kni_window *w)
{
    if (!kni_window_has_numbers(w)) return false;
    for (int32_t i = 0; i < w->n; i++) {
        int64_t before = w->before[i].value, after = w->after[i].value, span = kni_window_span(w, i);
        if (before < 0 || after < 0 || before >= span || after >= span) return false;
        /* A window whose elements lie further apart than x is wide may have none of it. */
        int64_t dilation = w->dilation[i].value;
        if (before > 0 && dilation > 1 && (w->size[i].text || dilation > w->size[i].value)) return false;
    }
    return true;
}

/* SAME and VALID give the same sizes with ceil_mode and without. */
static bool rounds_up(const kni_onnx_node *node, const kni_window *w)
{
    return !w->same_upper && !w->same_lower && kni_node_int(node, "ceil_mode", 0) != 0;
}

static kni_datum pool(kni_conversion *c, const char *op, const kni_window *w, kni_datum x, bool ceil_mode,
                      bool exclude, int64_t divisor, kni_datum *indices)
{
    kni_datum y[2] = {KNI_ABSENT, KNI_ABSENT};
    kni_emit_many(c, op, &x, 1,
                  KNI_GIVE(KNI_WHOLE("axes", w->n), KNI_EXTENTS("window", w->kernel, w->n),
                           KNI_EXTENTS("stride", w->stride, w->n), KNI_EXTENTS("padding", w->before, w->n),
                           KNI_EXTENTS("padding_end", w->after, w->n),
                           KNI_EXTENTS("dilation", w->dilation, w->n), KNI_WHOLE("ceil_mode", ceil_mode),
                           KNI_WHOLE("exclude_padding", exclude), KNI_WHOLE("divisor", divisor)),
                  y, indices ? 2 : 1);
    if (indices) *indices = y[1];
    return y[0];
}

/* ---- means over operands with their padding */

/* How far windows reach behind the padded operand with ceil_mode. */
static kni_extent beyond(kni_conversion *c, const kni_window *w, int32_t i)
{
    kni_extent stride = w->stride[i], span = KNI_EXTENT(kni_window_span(w, i));
    kni_extent start = kni_extent_add(c, w->size[i], w->before[i]);
    kni_extent padded = kni_extent_add(c, start, w->after[i]);
    kni_extent up = kni_extent_add(c, kni_extent_sub(c, padded, span), KNI_EXTENT(stride.value - 1));
    /* The last window begins in the operand or in the padding before it. */
    kni_extent last = kni_extent_div(c, kni_extent_sub(c, start, KNI_EXTENT(1)), stride);
    kni_extent steps = kni_extent_min(c, kni_extent_div(c, up, stride), last);
    kni_extent needed = kni_extent_add(c, kni_extent_mul(c, steps, stride), span);
    return kni_extent_max(c, kni_extent_sub(c, needed, padded), KNI_EXTENT(0));
}

/* Sums over windows: means with a divisor of 1. */
static kni_datum sums(kni_conversion *c, const kni_window *w, kni_datum x)
{
    return pool(c, "avg_pool", w, x, false, false, 1, NULL);
}

/* Sums over windows of x; counts (may be NULL): of the elements that each window has, those of the padding too unless `exclude`. */
static kni_datum summed(kni_conversion *c, const kni_window *given, kni_datum x, bool ceil_mode, bool exclude,
                        kni_datum *counts)
{
    kni_window w = *given, reach = *given;
    kni_extent shape[KN_MAX_RANK] = {{1, NULL}, {1, NULL}};
    for (int32_t i = 0; i < w.n; i++) {
        kni_extent more = ceil_mode ? beyond(c, given, i) : KNI_EXTENT(0);
        reach.before[i] = exclude ? w.before[i] : KNI_EXTENT(0);
        reach.after[i] = exclude ? kni_extent_add(c, w.after[i], more) : more;
        shape[i + 2] = w.size[i];
        if (!exclude) shape[i + 2] = kni_extent_add(c, w.size[i], kni_extent_add(c, w.before[i], w.after[i]));
        reach.size[i] = shape[i + 2];
        w.after[i] = kni_extent_add(c, w.after[i], more);
    }
    if (counts) {
        kni_datum ones = kni_filled(c, 1, kni_dtype_of(c, x), shape, w.n + 2);
        *counts = sums(c, &reach, kni_window_pad(c, &reach, ones, 0));
    }
    return sums(c, &w, kni_window_pad(c, &w, x, 0));
}

/* ---- AveragePool, LpPool */

void kni_convert_average_pool(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                              kni_datum *out, int32_t n_out)
{
    kni_window w;
    (void)n_in, (void)n_out;
    if (!kni_window_of(c, node, in[0], KNI_ABSENT, &w)) return;
    kn_dtype dtype = kni_dtype_of(c, in[0]);
    bool ceil_mode = rounds_up(node, &w), exclude = !kni_node_int(node, "count_include_pad", 0);
    if (fits_op(&w)) {
        out[0] = pool(c, "avg_pool", &w, in[0], ceil_mode, exclude, 0, NULL);
        return;
    }
    kni_datum counts, x = kni_cast_to(c, in[0], kni_wide_dtype(dtype));
    kni_datum total = summed(c, &w, x, ceil_mode, exclude, &counts);
    out[0] = kni_cast_to(c, kni_emit2(c, "div", total, counts), dtype);
}

/* |x|^p, and the p-th root of a sum of such. */
static kni_datum power(kni_conversion *c, kni_datum x, double p)
{
    if (p == 2) return kni_emit1(c, "square", x);
    x = kni_emit1(c, "abs", x);
    return p == 1 ? x : kni_with_number(c, "pow", x, p);
}

static kni_datum root(kni_conversion *c, kni_datum x, double p)
{
    if (p == 2) return kni_emit1(c, "sqrt", x);
    return p == 1 ? x : kni_with_number(c, "pow", x, 1 / p);
}

/* The order was a real number in the first version. */
static double order_of(kni_conversion *c, const kni_onnx_node *node)
{
    const kni_onnx_attribute *p = kni_node_attribute(node, "p");
    bool real = p && p->kind == KNI_ONNX_ATTRIBUTE_FLOAT;
    double order = real ? kni_node_real(node, "p", 2) : (double)kni_node_int(node, "p", 2);
    if (!(order > 0)) kni_convert_fail(c, KN_ERROR_ARGUMENT, "the order p is %g; it must be above 0", order);
    return order;
}

void kni_convert_lp_pool(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                         kni_datum *out, int32_t n_out)
{
    kni_window w;
    double p = order_of(c, node);
    (void)n_in, (void)n_out;
    if (!kni_window_of(c, node, in[0], KNI_ABSENT, &w)) return;
    kn_dtype dtype = kni_dtype_of(c, in[0]);
    bool ceil_mode = rounds_up(node, &w);
    kni_datum x = power(c, kni_cast_to(c, in[0], kni_wide_dtype(dtype)), p);
    /* A divisor of 1 makes the mean a sum. */
    if (fits_op(&w))
        x = pool(c, "avg_pool", &w, x, ceil_mode, false, 1, NULL);
    else
        x = summed(c, &w, x, ceil_mode, false, NULL);
    out[0] = kni_cast_to(c, root(c, x, p), dtype);
}

/* ---- MaxPool */

/* What is added to positions in a plane so that they count from the tensor's beginning. */
static kni_datum plane_starts(kni_conversion *c, const kni_extent *e, const kni_extent *plane, int32_t rank)
{
    kni_extent shape[KN_MAX_RANK];
    for (int32_t i = 0; i < rank; i++) shape[i] = i < 2 ? e[i] : KNI_EXTENT(1);
    kni_extent size = kni_extent_product(c, plane, rank - 2);
    kni_datum number = kni_counting(c, 0, kni_extent_mul(c, e[0], e[1]), KN_I64);
    number = kni_emit2(c, "mul", number, kni_known_list(c, &size, 1, true));
    return kni_reshape_to(c, number, shape, rank);
}

/* Positions in planes of sizes `padded` as positions in planes of sizes `plane` that begin `before` later; the first axis counts fastest
   where the order is that of columns. */
static kni_datum move_positions(kni_conversion *c, kni_datum at, const kni_window *padded,
                                const kni_window *given, bool columns)
{
    kni_datum sum = KNI_ABSENT, coordinate[KNI_SPATIAL];
    for (int32_t i = given->n - 1; i >= 0; i--) {
        kni_datum size = kni_known_list(c, &padded->size[i], 1, true);
        coordinate[i] = i ? kni_emit2(c, "remainder", at, size) : at;
        if (i) at = kni_emit2(c, "floor_div", at, size);
        coordinate[i] = kni_emit2(c, "sub", coordinate[i], kni_known_list(c, &given->before[i], 1, true));
    }
    kni_extent stride = KNI_EXTENT(1);
    for (int32_t k = 0; k < given->n; k++) {
        int32_t i = columns ? k : given->n - 1 - k;
        kni_datum part = kni_emit2(c, "mul", coordinate[i], kni_known_list(c, &stride, 1, true));
        sum = kni_is_given(sum) ? kni_emit2(c, "add", sum, part) : part;
        stride = kni_extent_mul(c, stride, given->size[i]);
    }
    return sum;
}

static double lowest_of(kn_dtype dtype)
{
    switch (dtype) {
    case KN_U8:
    case KN_U16:
    case KN_U32:
    case KN_U64:
        return 0;
    case KN_I8:
        return INT8_MIN;
    case KN_I16:
        return INT16_MIN;
    case KN_I32:
        return INT32_MIN;
    case KN_I64:
        return (double)INT64_MIN;
    default:
        return -__builtin_inf();
    }
}

void kni_convert_max_pool(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                          kni_datum *out, int32_t n_out)
{
    kni_window given, w;
    (void)n_in;
    if (!kni_window_of(c, node, in[0], KNI_ABSENT, &given)) return;
    bool ceil_mode = rounds_up(node, &given), padded = !fits_op(&given);
    bool indexed = n_out > 1 && kni_is_wanted(node, 1);
    bool columns = kni_node_int(node, "storage_order", 0) == 1;
    kni_datum x = in[0];
    w = given;
    if (padded) {
        for (int32_t i = 0; ceil_mode && i < w.n; i++)
            w.after[i] = kni_extent_add(c, w.after[i], beyond(c, &given, i));
        x = kni_window_pad(c, &w, x, lowest_of(kni_dtype_of(c, x)));
        ceil_mode = false; /* windows reach as far already */
    }
    if (!indexed) {
        out[0] = pool(c, "max_pool_values", &w, x, ceil_mode, false, 0, NULL);
        return;
    }
    kni_extent e[KN_MAX_RANK];
    int32_t rank = kni_extents_of(c, in[0], e);
    out[0] = pool(c, "max_pool", &w, x, ceil_mode, false, 0, &out[1]);
    if (!padded)
        for (int32_t i = 0; i < given.n; i++) given.before[i] = KNI_EXTENT(0);
    if (padded || columns) out[1] = move_positions(c, out[1], &w, &given, columns);
    out[1] = kni_emit2(c, "add", out[1], plane_starts(c, e, e + 2, rank));
}

/* ---- pools over all of each channel */

static int32_t spatial_axes(kni_conversion *c, kni_datum x, int32_t *axes)
{
    int32_t rank = kni_rank_of(c, x);
    for (int32_t i = 2; i < rank; i++) axes[i - 2] = i;
    if (rank < 2)
        kni_convert_fail(c, KN_ERROR_SHAPE, "the operand must be [batch, channels, ...], not of rank %d",
                         rank);
    return rank > 2 ? rank - 2 : 0;
}

/* Of no axes it is over all; [batch, channels] is what it is. */
static kni_datum over_all(kni_conversion *c, const char *op, kni_datum x)
{
    int32_t axes[KN_MAX_RANK], n = spatial_axes(c, x, axes);
    return n ? kni_reduce_over(c, op, x, axes, n, true) : x;
}

void kni_convert_global_average_pool(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                                     int32_t n_in, kni_datum *out, int32_t n_out)
{
    (void)node, (void)n_in, (void)n_out;
    out[0] = over_all(c, "mean", in[0]);
}

void kni_convert_global_max_pool(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                                 int32_t n_in, kni_datum *out, int32_t n_out)
{
    (void)node, (void)n_in, (void)n_out;
    out[0] = over_all(c, "max", in[0]);
}

void kni_convert_global_lp_pool(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                                int32_t n_in, kni_datum *out, int32_t n_out)
{
    double p = order_of(c, node);
    kn_dtype dtype = kni_dtype_of(c, in[0]);
    (void)n_in, (void)n_out;
    kni_datum x = power(c, kni_cast_to(c, in[0], kni_wide_dtype(dtype)), p);
    out[0] = kni_cast_to(c, root(c, over_all(c, "sum", x), p), dtype);
}
