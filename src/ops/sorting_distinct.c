/* Distinct elements and slices with all that is known of them: first places, inverse, counts, in either order. */
#include "ops/generated/sorting_kernels.h"
#include "ops/infer.h"
#include "ops/movement_rows.h"
#include "ops/native.h"
#include "ops/sorting_attributes.h"
#include <kn/creation.h>
#include <kn/elementwise.h>
#include <kn/indexing.h>
#include <kn/shape.h>
#include <kn/sort.h>

enum { VALUES, FIRST, INVERSE, COUNTS, COUNT, RESULTS };

extern const kni_native kni_cpu_distinct;

static const kn_attribute schema[] = {KNI_ATTR(kni_distinct_attributes, axis, KNI_ATTR_INT, KNI_STATIC),
                                      KNI_ATTR(kni_distinct_attributes, by_axis, KNI_ATTR_INT, KNI_STATIC),
                                      KNI_ATTR(kni_distinct_attributes, unsorted, KNI_ATTR_INT, KNI_STATIC),
                                      {0}};

static kn_status infer_distinct(kni_infer *c)
{
    kni_distinct_attributes *a = c->attributes;
    const kni_type *x = c->in[0];
    kn_status s = a->by_axis ? kni_infer_axis(c, &a->axis, x->rank) : KN_OK;
    if (s) return s;
    kn_dim n = a->by_axis ? x->dims[a->axis] : kni_infer_product(x, 0, x->rank);
    for (int i = 0; i < RESULTS; i++)
        *c->out[i] = (kni_type){.dtype = KN_I64, .rank = i == COUNT ? 0 : 1, .dims = {i == COUNT ? 0 : n}};
    if (a->by_axis) *c->out[VALUES] = *x;
    c->out[VALUES]->weak = 0;
    c->out[VALUES]->dtype = x->dtype;
    return KN_OK;
}

static kn_status launch_distinct(kni_launch *l)
{
    const kni_distinct_attributes *a = l->attributes;
    const kni_type *x = l->in[0];
    int64_t n = kni_count(l->out[INVERSE]);
    l->kernel = &kni_kernel_distinct;
    l->items = 1;
    /* Slices without elements are equal: they are not walked. */
    kni_launch_int(l, !a->by_axis ? 1 : kni_count(x) ? kni_infer_product(x, 0, (int)a->axis) : 0);
    kni_launch_int(l, n);
    kni_launch_int(l, a->by_axis ? kni_infer_product(x, (int)a->axis + 1, x->rank) : 1);
    kni_launch_int(l, !a->unsorted);
    l->n_temps = 2;
    l->temps[0] = l->temps[1] = n;
    return KN_OK;
}

/* ---- by other ops: what GPUs run */

/* Zeros from count on. */
static kn_tensor cut(kn_tensor x, kn_tensor count, int64_t n, int axis)
{
    const kni_type *t = kni_type_of(x);
    kn_shape shape = {t ? t->rank : 1, {1, 1, 1, 1, 1, 1, 1, 1}};
    shape.dims[axis] = n;
    kn_tensor inside = kn_less(kn_arange(0, (double)n, 1, KN_I64), count);
    kn_dtype dtype = t ? (kn_dtype)t->dtype : KN_I64;
    return kn_where(kn_reshape(inside, shape), x, kn_zeros(KN_SCALAR_SHAPE, dtype));
}

/* Which distinct slice each one is, by numbers that order as the slices do. */
static kn_unique_bounded_result find(kn_tensor x, const kni_type *t, const kni_distinct_attributes *a)
{
    int64_t n = a->by_axis ? t->dims[a->axis] : kni_count(t), k = n ? kni_count(t) / n : 1;
    if (!a->by_axis) return kn_unique_bounded(kn_reshape(x, KN_SHAPE(n)));
    if (k == 0)
        return kn_unique_bounded(kn_zeros(KN_SHAPE(n), KN_I64)); /* slices without elements are equal */
    kn_tensor rows = kn_reshape(kn_movedim(x, KN_AXES(a->axis), KN_AXES(0)), KN_SHAPE(n, k));
    return kn_unique_bounded(kni_number_rows(kn_unique_bounded(rows).inverse, n, k));
}

static kn_status lower_distinct(kni_lowering *l)
{
    const kni_distinct_attributes *a = l->attributes;
    const kni_type *t = kni_type_of(l->in[0]);
    int64_t n = a->by_axis ? t->dims[a->axis] : kni_count(t);
    int axis = a->by_axis ? (int)a->axis : 0;
    if (n == 0) {
        for (int i = 0; i < RESULTS; i++)
            l->out[i] = kn_zeros(i == COUNT ? KN_SCALAR_SHAPE : KN_SHAPE(0), KN_I64);
        l->out[VALUES] = kn_reshape(l->in[0], a->by_axis ? kni_shape_from_type(t) : KN_SHAPE(0));
        return KN_OK;
    }
    kn_unique_bounded_result r = find(l->in[0], t, a);
    kn_tensor count = kn_keep(r.count), inverse = kn_keep(r.inverse), counts = r.counts;
    kn_tensor past = kn_full_int(KN_SHAPE(n), n, KN_I64); /* behind all */
    kn_tensor first =
        kn_keep(kn_scatter(past, 0, inverse, kn_arange(0, (double)n, 1, KN_I64), KN_UPDATE_MIN));
    if (a->unsorted) {
        kn_indexed sorted = kn_sort(first, 0, false);
        kn_tensor order = kn_keep(sorted.indices);
        first = kn_keep(sorted.values);
        counts = kn_index_select(counts, 0, order);
        kn_tensor rank = kn_scatter(kn_zeros(KN_SHAPE(n), KN_I64), 0, order,
                                    kn_arange(0, (double)n, 1, KN_I64), KN_UPDATE_ASSIGN);
        inverse = kn_index_select(rank, 0, inverse);
    }
    first = kn_keep(cut(first, count, n, 0));
    kn_tensor x = a->by_axis ? l->in[0] : kn_reshape(l->in[0], KN_SHAPE(n));
    l->out[VALUES] = cut(kn_index_select(x, axis, first), count, n, axis);
    l->out[FIRST] = first;
    l->out[INVERSE] = inverse;
    l->out[COUNTS] = counts;
    l->out[COUNT] = count;
    return KN_OK;
}

OP(distinct, .doc = "distinct elements or slices of x, with first places, inverse, counts and their number",
   .min_in = 1, .max_in = 1, .n_out = RESULTS, .kind = KNI_SORTING, .flags = KNI_FLAG_NOT_DIFFERENTIABLE,
   .dtypes = KNI_ALL, .schema = schema, .attribute_bytes = sizeof(kni_distinct_attributes),
   .infer = infer_distinct, .launch = launch_distinct, .lower = lower_distinct, .native = &kni_cpu_distinct)

kn_distinct_result kn_distinct(kn_tensor x, const kn_distinct_args *args)
{
    kn_tensor out[RESULTS];
    kni_distinct_attributes a = {0};
    if (args) a = (kni_distinct_attributes){args->axis, args->by_axis, args->unsorted};
    kni_apply_many(&kni_op_distinct, &x, 1, &a, out, RESULTS);
    return (kn_distinct_result){out[VALUES], out[FIRST], out[INVERSE], out[COUNTS], out[COUNT]};
}
