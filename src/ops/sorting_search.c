/* Searching in sorted lines, distinct values, counting in bins. */
#include "ops/generated/sorting_kernels.h"
#include "ops/movement_rows.h"
#include "ops/native.h"
#include "ops/sorting_attributes.h"

extern const kni_native kni_cpu_searchsorted, kni_cpu_unique_bounded;

static const kn_attribute search_schema[] = {KNI_ATTR(kni_search_attributes, right, KNI_ATTR_INT, KNI_STATIC),
                                             {0}};
static const kn_attribute bincount_schema[] = {
    KNI_ATTR(kni_bincount_attributes, length, KNI_ATTR_INT, KNI_STATIC), {0}};

static kn_status infer_search(kni_infer *c)
{
    const kni_type *sorted = c->in[0], *values = c->in[1];
    if (sorted->dtype != values->dtype)
        return kni_infer_fail(c, KN_ERROR_DTYPE, "sorted is %T and values is %T: convert one with kn_cast()",
                              (int)sorted->dtype, (int)values->dtype);
    if (sorted->rank == 0)
        return kni_infer_fail(c, KN_ERROR_SHAPE,
                              "sorted must have at least one axis; give it one with kn_reshape()");
    bool fits = sorted->rank == 1 || sorted->rank == values->rank;
    for (int i = 0; fits && sorted->rank > 1 && i < sorted->rank - 1; i++)
        fits = kni_dims_agree(sorted->dims[i], values->dims[i]);
    if (!fits)
        return kni_infer_fail(
            c, KN_ERROR_SHAPE,
            "sorted %S and values %S differ before the last axis; a sorted of rank 1 goes with any "
            "values",
            sorted, values);
    *c->out[0] = *values;
    c->out[0]->weak = 0;
    c->out[0]->dtype = KN_I64;
    return KN_OK;
}

static kn_status launch_search(kni_launch *l)
{
    const kni_type *sorted = l->in[0], *values = l->in[1];
    l->kernel = &kni_kernel_search_sorted;
    kni_launch_int(l, sorted->dims[sorted->rank - 1]);
    kni_launch_int(l, values->rank ? values->dims[values->rank - 1] : 1);
    kni_launch_int(l, sorted->rank == 1 ? 1 : 2);
    kni_launch_int(l, ((const kni_search_attributes *)l->attributes)->right);
    l->items = kni_count(values);
    return KN_OK;
}

OP(searchsorted, .doc = "where values would go in sorted to keep it sorted", .min_in = 2, .max_in = 2,
   .n_out = 1, .kind = KNI_SORTING, .flags = KNI_FLAG_NO_GRADIENT, .dtypes = KNI_ALL, .schema = search_schema,
   .attribute_bytes = sizeof(kni_search_attributes), .infer = infer_search, .launch = launch_search,
   .native = &kni_cpu_searchsorted)

kn_tensor kn_searchsorted(kn_tensor sorted, kn_tensor values, bool right)
{
    kn_tensor in[2] = {sorted, values};
    return kni_apply(&kni_op_searchsorted, in, 2, &(kni_search_attributes){right});
}

kn_tensor kn_bucketize(kn_tensor x, kn_tensor boundaries, bool right)
{
    kni_call call = kni_call_begin("bucketize");
    if (kn_ok(boundaries) && kn_rank(boundaries) != 1)
        return kni_call_fail(call, KN_ERROR_SHAPE, "boundaries must have rank 1, not %d: %S",
                             kn_rank(boundaries), &kni_peek(boundaries)->type);
    return kni_call_end(call, kn_searchsorted(boundaries, x, right));
}

/* ---- distinct values */

static kn_status infer_unique(kni_infer *c)
{
    kn_dim n = kni_infer_product(c->in[0], 0, c->in[0]->rank);
    *c->out[1] = *c->in[0];
    c->out[1]->weak = 0;
    for (int i = 0; i < 4; i++) {
        c->out[i]->dtype = i == 0 ? c->in[0]->dtype : KN_I64;
        if (i == 1) continue;
        c->out[i]->rank = i < 3 ? 1 : 0;
        if (i < 3) c->out[i]->dims[0] = n;
    }
    return KN_OK;
}

static kn_status launch_unique(kni_launch *l)
{
    int64_t n = kni_count(l->in[0]);
    l->kernel = &kni_kernel_unique_all;
    kni_launch_int(l, n);
    l->items = 1;
    l->n_temps = 2;
    l->temps[0] = l->temps[1] = n;
    return KN_OK;
}

OP(unique_bounded, .doc = "distinct elements of x, ascending, with inverse, counts and their number",
   .min_in = 1, .max_in = 1, .n_out = 4, .kind = KNI_SORTING, .flags = KNI_FLAG_NOT_DIFFERENTIABLE,
   .dtypes = KNI_ALL, .infer = infer_unique, .launch = launch_unique, .native = &kni_cpu_unique_bounded)

kn_unique_bounded_result kn_unique_bounded(kn_tensor x)
{
    kn_tensor out[4];
    kni_apply_many(&kni_op_unique_bounded, &x, 1, NULL, out, 4);
    return (kn_unique_bounded_result){out[0], out[1], out[2], out[3]};
}

kn_unique_result kn_unique(kn_tensor x)
{
    kni_call call = kni_call_begin("unique");
    kn_unique_bounded_result r = kn_unique_bounded(x);
    int64_t count = kn_ok(r.count) ? kn_item_int(r.count) : 0;
    kn_tensor out[3] = {kn_narrow(r.values, 0, 0, count), r.inverse, kn_narrow(r.counts, 0, 0, count)};
    kni_call_end_many(call, out, 3);
    return (kn_unique_result){out[0], out[1], out[2]};
}

/* ---- counting */

static kn_status infer_bincount(kni_infer *c)
{
    const kni_bincount_attributes *a = c->attributes;
    kn_status s = kni_infer_integer(c, 0);
    if (s == KN_OK) s = kni_infer_rank(c, 0, 1, 1);
    if (s) return s;
    if (!kni_dim_is_size(a->length))
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "%D bins asked for; there cannot be fewer than 0",
                              a->length);
    const kni_type *weights = c->in[1];
    if (weights && (weights->rank != 1 || !kni_dims_agree(weights->dims[0], c->in[0]->dims[0])))
        return kni_infer_fail(c, KN_ERROR_SHAPE, "weights %S must have the shape of x %S", weights, c->in[0]);
    c->out[0]->dtype = !weights ? KN_I64 : weights->dtype == KN_F32 ? KN_F32 : KN_F64;
    c->out[0]->rank = 1;
    c->out[0]->dims[0] = a->length;
    return KN_OK;
}

static kn_status launch_bincount(kni_launch *l)
{
    l->kernel = l->in[1] ? &kni_kernel_weigh_bins : &kni_kernel_count_bins;
    kni_launch_int(l, kni_count(l->in[0]));
    kni_launch_int(l, ((const kni_bincount_attributes *)l->attributes)->length);
    l->items = 1;
    return KN_OK;
}

OP(bincount, .doc = "y[b] = number of x equal to b, or the sum of their weights", .min_in = 1, .max_in = 2,
   .n_out = 1, .kind = KNI_SORTING, .dtypes = KNI_INTS, .tolerance = {4, 1}, .schema = bincount_schema,
   .attribute_bytes = sizeof(kni_bincount_attributes), .infer = infer_bincount, .launch = launch_bincount)

kn_tensor kn_bincount_bounded(kn_tensor x, kn_tensor weights, int64_t length)
{
    kn_tensor in[2] = {x, weights};
    return kni_apply_as("bincount_bounded", &kni_op_bincount, in, 2, &(kni_bincount_attributes){length});
}

kn_tensor kn_bincount(kn_tensor x, kn_tensor weights, int64_t min_length)
{
    kni_call call = kni_call_begin("bincount");
    if (min_length < 0)
        return kni_call_fail(call, KN_ERROR_ARGUMENT, "min_length is %D: it must not be negative",
                             min_length);
    x = kn_keep(x);
    int64_t length = min_length;
    if (kn_ok(x) && kn_count(x) > 0) {
        /* 2^63 - 1 asks for more bins than there can be; negative elements are reported below. */
        int64_t top = kn_item_int(kn_cast(kn_max(x, KN_AXES_ALL, false), KN_I64));
        if (top >= length) length = top < INT64_MAX ? top + 1 : top;
    }
    return kni_call_end(call, kn_bincount_bounded(x, weights, length));
}

/* bins + 1 edges from low to high (tensors of one element), from both ends so that both are met exactly. */
static kn_tensor edges_between(kn_tensor low, kn_tensor high, int64_t bins, kn_dtype dtype)
{
    kn_tensor step = kn_keep(kn_div_scalar(kn_sub(high, low), (double)bins));
    kn_tensor at = kn_keep(kn_cast(kn_arange(0, (double)(bins + 1), 1, KN_I64), dtype));
    kn_tensor from_low = kn_add(low, kn_mul(step, at));
    kn_tensor from_high = kn_sub(high, kn_mul(step, kn_rsub_scalar(at, (double)bins)));
    return kn_where(kn_less_scalar(at, (double)((bins + 1) / 2)), from_low, from_high);
}

/* The range asked for, or that of the elements; an empty one is widened by a half on both sides. */
static void choose_range(kn_tensor x, const kn_histogram_args *args, kn_dtype dtype, kn_tensor *low,
                         kn_tensor *high)
{
    bool given = args && (args->low != 0.0 || args->high != 0.0);
    if (given || kn_count(x) == 0) {
        *low = kn_keep(kn_scalar(given ? args->low : 0.0, dtype));
        *high = kn_keep(kn_scalar(given ? args->high : 1.0, dtype));
    } else {
        *low = kn_keep(kn_min(x, KN_AXES_ALL, false));
        *high = kn_keep(kn_max(x, KN_AXES_ALL, false));
    }
    kn_tensor same = kn_keep(kn_equal(*low, *high));
    kn_tensor left = kn_keep(kn_where(same, kn_sub_scalar(*low, 0.5), *low));
    *high = kn_keep(kn_where(same, kn_add_scalar(*high, 0.5), *high));
    *low = left;
}

kn_histogram_result kn_histogram(kn_tensor x, int64_t bins, const kn_histogram_args *args)
{
    kni_call call = kni_call_begin("histogram");
    kn_tensor out[2];
    x = kn_keep(x);
    kn_tensor weights = args ? args->weights : KN_NONE;
    bool upside_down = args && !(args->low <= args->high);
    if (bins < 1 || upside_down || (args && !(args->high - args->low <= 1.7976931348623157e308))) {
        out[0] = bins < 1 ? kni_call_fail(call, KN_ERROR_ARGUMENT,
                                          "%D bins asked for; there must be at least 1", bins)
                          : kni_call_fail(call, KN_ERROR_ARGUMENT, "the range %g to %g is %s", args->low,
                                          args->high, upside_down ? "upside down" : "not finite");
        return (kn_histogram_result){out[0], out[0]};
    }
    kn_dtype dtype = kn_dtype_of(x) == KN_F64 ? KN_F64 : KN_F32;
    x = kn_keep(kn_cast(kn_reshape(x, KN_SHAPE(-1)), dtype));
    kn_tensor low, high;
    choose_range(x, args, dtype, &low, &high);
    kn_tensor edges = kn_keep(edges_between(low, high, bins, dtype));
    kn_tensor inside = kn_keep(kn_logical_and(kn_greater_equal(x, low), kn_less_equal(x, high)));
    kn_tensor bin = kn_sub_scalar(kn_searchsorted(edges, x, true), 1);
    bin = kn_where(inside, kn_minimum_scalar(bin, (double)(bins - 1)), kn_zeros(KN_SCALAR_SHAPE, KN_I64));
    kn_tensor share = weights.bits ? kn_cast(kn_reshape(weights, KN_SHAPE(-1)), dtype) : kn_ones_like(x);
    share = kn_where(inside, share, kn_zeros_like(x));
    kn_tensor counts = kn_cast(kn_bincount_bounded(bin, kn_cast(share, KN_F64), bins), dtype);
    if (args && args->density) {
        counts = kn_keep(counts);
        kn_tensor width = kn_div_scalar(kn_sub(high, low), (double)bins);
        counts = kn_div(kn_div(counts, kn_sum(counts, KN_AXES_ALL, false)), width);
    }
    out[0] = counts;
    out[1] = edges;
    kni_call_end_many(call, out, 2);
    return (kn_histogram_result){out[0], out[1]};
}
