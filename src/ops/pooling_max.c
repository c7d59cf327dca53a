/* The rows of max pooling over windows of one to three axes, and their gradients. */
#include "ops/generated/window_kernels.h"
#include "ops/movement_rows.h"
#include "ops/native.h"
#include "ops/pooling.h"
#include <kn/elementwise.h>
#include <kn/indexing.h>
#include <kn/shape.h>

static const kn_attribute max_schema[] = {
    KNI_POOL_ATTRIBUTES, KNI_ATTR(kni_pool_attributes, places, KNI_ATTR_INT, KNI_STATIC), {0}};

static kn_status infer_max_pool_values(kni_infer *c)
{
    kn_status s = kni_infer_dtype(c, 0, c->row->dtypes);
    return s ? s : kni_infer_pool(c, c->in[0], c->attributes, c->out[0]);
}

/* The dtypes of positions, and how many elements a plane has at most. */
static const struct {
    int dtype;
    int64_t most;
} places[] = {{KN_U16, UINT16_MAX + 1}, {KN_I32, (int64_t)INT32_MAX + 1}, {KN_I64, INT64_MAX}};

static kn_status infer_max_pool(kni_infer *c)
{
    const kni_pool_attributes *a = c->attributes;
    const kni_type *x = c->in[0];
    kn_status s = infer_max_pool_values(c);
    if (s) return s;
    int64_t most = a->places ? 0 : INT64_MAX;
    for (int i = 0; i < KNI_COUNT(places); i++)
        if (places[i].dtype == a->places) most = places[i].most;
    if (!most)
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "places is %D: positions are u16, i32 or i64", a->places);
    if (kni_dim_low(kni_infer_product(x, x->rank - (int)a->axes, x->rank)) > most)
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "%T does not hold all positions in planes of x %S",
                              (int)a->places, x);
    *c->out[1] = *c->out[0];
    c->out[1]->dtype = a->places ? (uint8_t)a->places : KN_I64;
    return KN_OK;
}

/* Positions that lie in no window of theirs, which max_pool never gives, read and write nothing outside; what they add is not
   promised. */
static kn_status infer_max_pool_grad(kni_infer *c)
{
    kn_status s = kni_infer_dtype(c, 0, c->row->dtypes);
    if (s == KN_OK) s = kni_infer_places(c, 1, c->in[0]);
    return s ? s : kni_infer_pool_grad(c);
}

static kn_status launch_max_pool(kni_launch *l)
{
    l->kernel = &kni_kernel_max_pool;
    kni_launch_pool(l, l->attributes, l->in[0], l->out[0], l->out[0]);
    return KN_OK;
}

static kn_status launch_max_pool_values(kni_launch *l)
{
    l->kernel = &kni_kernel_max_pool_values;
    kni_launch_pool(l, l->attributes, l->in[0], l->out[0], l->out[0]);
    return KN_OK;
}

static kn_status launch_max_pool_grad(kni_launch *l)
{
    l->kernel = &kni_kernel_max_pool_grad;
    kni_launch_pool(l, l->attributes, l->out[0], l->in[0], l->out[0]);
    return KN_OK;
}

extern const kni_native kni_cpu_max_pool, kni_cpu_max_pool_values, kni_cpu_max_pool_grad;

OP(max_pool, .doc = "max over windows of the last axes, and where it was", .min_in = 1, .max_in = 1,
   .n_out = 2, .kind = KNI_WINDOW, .layout = KNI_LAYOUT_WANTS, .dtypes = KNI_NUMBERS, .schema = max_schema,
   .attribute_bytes = sizeof(kni_pool_attributes), .infer = infer_max_pool, .launch = launch_max_pool,
   .native = &kni_cpu_max_pool)

OP(max_pool_values, .doc = "max over windows of the last axes", .min_in = 1, .max_in = 1, .n_out = 1,
   .kind = KNI_WINDOW, .layout = KNI_LAYOUT_WANTS, .dtypes = KNI_NUMBERS, .schema = kni_pool_schema,
   .attribute_bytes = sizeof(kni_pool_attributes), .infer = infer_max_pool_values,
   .launch = launch_max_pool_values, .native = &kni_cpu_max_pool_values)

OP(max_pool_grad, .doc = "dx[p] = sum of dy over the windows of max_pool whose largest element is at p",
   .min_in = 2, .max_in = 2, .n_out = 1, .kind = KNI_WINDOW, .layout = KNI_LAYOUT_WANTS, .dtypes = KNI_FLOATS,
   .tolerance = {4, 1}, .schema = kni_pool_schema, .attribute_bytes = sizeof(kni_pool_attributes),
   .infer = infer_max_pool_grad, .launch = launch_max_pool_grad, .native = &kni_cpu_max_pool_grad)

static kn_tensor gradient(const kni_vjp *v, kn_tensor at)
{
    kni_pool_attributes a = *(const kni_pool_attributes *)v->attributes;
    const kni_type *x = &v->in_types[0];
    a.size.rank = (int32_t)a.axes;
    for (int i = 0; i < a.axes; i++) a.size.dims[i] = x->dims[x->rank - a.axes + i];
    kn_tensor in[2] = {v->dy[0], at};
    return kni_apply(&kni_op_max_pool_grad, in, 2, &a);
}

GRADIENT(max_pool)
{
    if (v->dy[0].bits) kni_vjp_set(v, 0, gradient(v, kni_vjp_out(v, 1)));
    return KN_OK;
}

/* Where a tape records the values alone, in programs, positions are looked for when they are needed. */
GRADIENT(max_pool_values)
{
    kn_tensor x = kni_vjp_in(v, 0), out[2];
    kni_apply_many(&kni_op_max_pool, &x, 1, v->attributes, out, 2);
    kni_vjp_set(v, 0, gradient(v, out[1]));
    return KN_OK;
}

/* One pass gives values and positions, in the fewest bytes that hold them: 2 for each element of the result, where finding them
   again would read x. */
TAPED(max_pool_values)
{
    kni_pool_attributes a = *(const kni_pool_attributes *)l->attributes;
    const kni_type *x = kni_type_of(l->in[0]);
    kn_tensor out[2];
    if (!x) return kni_failure_again(l->in[0]);
    int64_t plane = kni_count_dims((int)a.axes, x->dims + x->rank - a.axes);
    int i = 0;
    while (i < KNI_COUNT(places) - 1 && plane > places[i].most) i++;
    a.places = places[i].dtype;
    kni_apply_many(&kni_op_max_pool, l->in, 1, &a, out, 2);
    l->out[0] = out[0];
    return KN_OK;
}

kn_tensor kni_pool_take(kn_tensor x, kn_tensor at, int axes)
{
    const kni_type *t = kni_type_of(x), *y = kni_type_of(at);
    if (!t || !y) return kn_add(x, at);
    int first = t->rank - axes;
    kn_shape planes = {first + 1, {0}}, flat = planes, shape = kni_shape_from_type(y);
    for (int i = 0; i < first; i++) planes.dims[i] = flat.dims[i] = t->dims[i];
    planes.dims[first] = kni_infer_product(t, first, t->rank);
    flat.dims[first] = kni_infer_product(y, first, y->rank);
    return kn_reshape(kn_gather(kn_reshape(x, planes), first, kn_reshape(at, flat)), shape);
}

/* Linear in dy: each window reads where it was read from. */
GRADIENT(max_pool_grad)
{
    int axes = (int)((const kni_pool_attributes *)v->attributes)->axes;
    if (kni_vjp_needs(v, 0)) kni_vjp_set(v, 0, kni_pool_take(v->dy[0], kni_vjp_in(v, 1), axes));
    return KN_OK;
}
