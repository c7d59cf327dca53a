/* Rows and functions that sort along an axis: sort, topk, kthvalue, and the medians, modes and quantiles made
   of them. */
#include "ops/generated/sorting_kernels.h"
#include "ops/native.h"
#include "ops/sorting_attributes.h"

extern const kni_native kni_cpu_sort, kni_cpu_topk, kni_cpu_kthvalue;

static const kn_attribute sort_schema[] = {
    KNI_ATTR(kni_sort_attributes, axis, KNI_ATTR_INT, KNI_STATIC),
    KNI_ATTR(kni_sort_attributes, descending, KNI_ATTR_INT, KNI_STATIC),
    {0}};
static const kn_attribute topk_schema[] = {KNI_ATTR(kni_topk_attributes, k, KNI_ATTR_INT, KNI_STATIC),
                                           KNI_ATTR(kni_topk_attributes, axis, KNI_ATTR_INT, KNI_STATIC),
                                           KNI_ATTR(kni_topk_attributes, smallest, KNI_ATTR_INT, KNI_STATIC),
                                           KNI_ATTR(kni_topk_attributes, unsorted, KNI_ATTR_INT, KNI_STATIC),
                                           {0}};
static const kn_attribute kth_schema[] = {KNI_ATTR(kni_kth_attributes, k, KNI_ATTR_INT, KNI_STATIC),
                                          KNI_ATTR(kni_kth_attributes, axis, KNI_ATTR_INT, KNI_STATIC),
                                          KNI_ATTR(kni_kth_attributes, keep, KNI_ATTR_INT, KNI_STATIC),
                                          KNI_ATTR(kni_kth_attributes, propagate, KNI_ATTR_INT, KNI_STATIC),
                                          {0}};

static kn_dim line_length(const kni_infer *c, int64_t axis)
{
    return c->in[0]->rank ? c->in[0]->dims[axis] : 1;
}

static kn_status infer_sort(kni_infer *c)
{
    kni_sort_attributes *a = c->attributes;
    kn_status s = kni_reduce_axis(c, &a->axis);
    if (s == KN_OK) s = kni_infer_same(c);
    if (s == KN_OK) c->out[1]->dtype = KN_I64;
    return s;
}

static kn_status infer_topk(kni_infer *c)
{
    kni_topk_attributes *a = c->attributes;
    kn_status s = kni_reduce_axis(c, &a->axis);
    if (s) return s;
    kn_dim n = line_length(c, a->axis);
    if (!kni_dim_is_size(a->k) || kni_dim_low(a->k) > kni_dim_high(n))
        return kni_infer_fail(c, KN_ERROR_ARGUMENT,
                              "k is %D and axis %D of %S has size %D: k must be 0 to that size", a->k,
                              a->axis, c->in[0], n);
    s = kni_infer_same(c);
    c->out[1]->dtype = KN_I64;
    for (int i = 0; i < 2 && c->in[0]->rank; i++) c->out[i]->dims[a->axis] = a->k;
    if (c->in[0]->rank == 0 && a->k == 0)
        return kni_infer_fail(c, KN_ERROR_ARGUMENT,
                              "k is 0 and x is a single number: give it an axis with kn_reshape()");
    return s;
}

static kn_status infer_kth(kni_infer *c)
{
    kni_kth_attributes *a = c->attributes;
    kn_status s = kni_reduce_axis(c, &a->axis);
    if (s) return s;
    kn_ints axes = {c->in[0]->rank ? 1 : 0, {a->axis}};
    s = kni_reduce_filled(c, &axes);
    if (s) return s;
    kn_dim n = line_length(c, a->axis);
    if (a->k < 1 || a->k > kni_dim_high(n))
        return kni_infer_fail(c, KN_ERROR_ARGUMENT,
                              "k is %D and axis %D of %S has size %D: k must be 1 to that size", a->k,
                              a->axis, c->in[0], n);
    for (int i = 0; i < 2; i++) {
        kni_reduce_shape(c, i, &axes, a->keep != 0);
        c->out[i]->dtype = i ? KN_I64 : c->in[0]->dtype;
    }
    return KN_OK;
}

static kn_status launch_sort(kni_launch *l)
{
    const kni_sort_attributes *a = l->attributes;
    l->kernel = &kni_kernel_sort_lines;
    kni_axis_launch(l, a->axis);
    kni_launch_int(l, a->descending);
    l->n_temps = 1;
    l->temps[0] = kni_count(l->in[0]);
    return KN_OK;
}

static kn_status launch_pick(kni_launch *l, int64_t axis, const int64_t *choice)
{
    l->kernel = &kni_kernel_sort_pick;
    kni_axis_launch(l, axis);
    kni_launch_ints(l, choice, 5);
    l->n_temps = 2;
    l->temps[0] = l->temps[1] = kni_count(l->in[0]);
    return KN_OK;
}

static kn_status launch_topk(kni_launch *l)
{
    const kni_topk_attributes *a = l->attributes;
    return launch_pick(l, a->axis, (const int64_t[]){!a->smallest, 0, a->k, a->unsorted, 0});
}

static kn_status launch_kth(kni_launch *l)
{
    const kni_kth_attributes *a = l->attributes;
    return launch_pick(l, a->axis, (const int64_t[]){0, a->k - 1, 1, 0, a->propagate});
}

OP(sort, .doc = "x in order along axis, and the positions the elements had", .min_in = 1, .max_in = 1,
   .n_out = 2, .kind = KNI_SORTING, .dtypes = KNI_ALL, .schema = sort_schema,
   .attribute_bytes = sizeof(kni_sort_attributes), .infer = infer_sort, .launch = launch_sort,
   .native = &kni_cpu_sort)
OP(topk, .doc = "the k largest along axis, largest first, and their positions", .min_in = 1, .max_in = 1,
   .n_out = 2, .kind = KNI_SORTING, .dtypes = KNI_ALL, .schema = topk_schema,
   .attribute_bytes = sizeof(kni_topk_attributes), .infer = infer_topk, .launch = launch_topk,
   .native = &kni_cpu_topk)
OP(kthvalue, .doc = "the k-th smallest along axis, and its position", .min_in = 1, .max_in = 1, .n_out = 2,
   .kind = KNI_SORTING, .dtypes = KNI_ALL, .schema = kth_schema,
   .attribute_bytes = sizeof(kni_kth_attributes), .infer = infer_kth, .launch = launch_kth,
   .native = &kni_cpu_kthvalue)

static kn_indexed indexed(const kn_op *row, kn_tensor x, const void *attributes)
{
    kn_tensor out[2];
    kni_apply_many(row, &x, 1, attributes, out, 2);
    return (kn_indexed){out[0], out[1]};
}

/* Hands out the positions alone. */
static kn_tensor indices_only(const char *name, const kn_op *row, kn_tensor x, const void *attributes)
{
    kni_call call = kni_call_begin(name);
    return kni_call_end(call, indexed(row, x, attributes).indices);
}

kn_indexed kn_sort(kn_tensor x, int32_t axis, bool descending)
{
    return indexed(&kni_op_sort, x, &(kni_sort_attributes){axis, descending});
}

kn_tensor kn_argsort(kn_tensor x, int32_t axis, bool descending)
{
    return indices_only("argsort", &kni_op_sort, x, &(kni_sort_attributes){axis, descending});
}

static kni_topk_attributes topk_attributes(int64_t k, int32_t axis, const kn_topk_args *args)
{
    return (kni_topk_attributes){k, axis, args && args->smallest, args && args->unsorted};
}

kn_indexed kn_topk(kn_tensor x, int64_t k, int32_t axis, const kn_topk_args *args)
{
    kni_topk_attributes a = topk_attributes(k, axis, args);
    return indexed(&kni_op_topk, x, &a);
}

kn_tensor kn_argtopk(kn_tensor x, int64_t k, int32_t axis, const kn_topk_args *args)
{
    kni_topk_attributes a = topk_attributes(k, axis, args);
    return indices_only("argtopk", &kni_op_topk, x, &a);
}

kn_indexed kn_kthvalue(kn_tensor x, int64_t k, int32_t axis, bool keep)
{
    return indexed(&kni_op_kthvalue, x, &(kni_kth_attributes){k, axis, keep, 0});
}

kn_indexed kn_median(kn_tensor x, int32_t axis, bool keep)
{
    kni_call call = kni_call_begin("median");
    int32_t rank = kn_ok(x) ? kn_rank(x) : 0;
    /* The row names an axis outside the tensor, or one without elements. */
    int64_t n = rank && axis >= -rank && axis < rank ? kn_size(x, axis) : 1;
    kn_indexed r =
        indexed(&kni_op_kthvalue, x, &(kni_kth_attributes){n > 0 ? (n + 1) / 2 : 1, axis, keep, 1});
    kni_call_end_many(call, (kn_tensor *)&r, 2);
    return r;
}
