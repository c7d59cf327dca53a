/* Rows that make tensors from numbers: constants and ranges, with their public functions. */
#include "core/integer_range.h"
#include "core/math/math.h"
#include "ops/creation_rows.h"
#include "ops/infer.h"
#include "ops/movement_rows.h"
#include "ops/native.h"
#include "ops/scalar_row.h"

extern const kni_native kni_cpu_full, kni_cpu_iota, kni_cpu_linspace;

kn_status kni_infer_made(kni_infer *c, const kn_ints *shape, int64_t dtype, uint32_t mask)
{
    kni_type *y = c->out[0];
    bool stored = dtype > 0 && dtype < KN_DTYPE_COUNT && kni_dtype_stored((int)dtype);
    if (stored && kni_dtype_is_there((kn_dtype)dtype))
        return kni_infer_fail(c, KN_ERROR_DTYPE,
                              "makes no %T, which is only stored: make %s and cast it, as with kn_cast()",
                              (int)dtype, kni_dtypes[dtype].kind == KNI_KIND_FLOAT ? "f32" : "i8 or u8");
    if (dtype < 0 || dtype >= KN_DTYPE_COUNT || !kni_dtype_usable((int)dtype))
        return kni_fail_dtype(c->row->name, dtype);
    if (!(mask >> dtype & 1))
        return kni_infer_fail(c, KN_ERROR_DTYPE, "there is no %T form of it", (int)dtype);
    if (shape->rank < 0 || shape->rank > KN_MAX_RANK)
        return kni_infer_fail(c, KN_ERROR_SHAPE, "rank %d is outside 0 to %d", shape->rank, KN_MAX_RANK);
    y->dtype = (uint8_t)dtype;
    y->rank = (uint8_t)shape->rank;
    for (int i = 0; i < shape->rank; i++) {
        y->dims[i] = shape->dims[i];
        if (!kni_dim_is_size(shape->dims[i]))
            return kni_infer_fail(c, KN_ERROR_SHAPE, "axis %d has the negative size %D", i, shape->dims[i]);
    }
    return KN_OK;
}

kni_context kni_route_to(kn_tensor x)
{
    kni_thread *t = kni_thread_self();
    kni_context before = kni_context_push(t);
    const kni_tensor *found = before.route ? NULL : kni_peek(x);
    if (found) t->context.route = found->device;
    return before;
}

void kni_route_back(kni_context before) { kni_context_pop(kni_thread_self(), &before); }

/* ---- full: y[i] = value */

static const kn_attribute full_schema[] = {KNI_ATTR(kni_full_attributes, shape, KNI_ATTR_INTS, KNI_STATIC),
                                           KNI_ATTR(kni_full_attributes, dtype, KNI_ATTR_INT, KNI_STATIC),
                                           KNI_ATTR(kni_full_attributes, value, KNI_ATTR_REAL, KNI_DYNAMIC),
                                           KNI_ATTR(kni_full_attributes, whole, KNI_ATTR_INT, KNI_DYNAMIC),
                                           {0}};

static kn_status infer_full(kni_infer *c)
{
    const kni_full_attributes *a = c->attributes;
    return kni_infer_made(c, &a->shape, a->dtype, KNI_ALL);
}

BODY(full, "y = floats ? value : whole")
OP(full, .body = &kni_body_full, .doc = "y[i] = value", .min_in = 0, .max_in = 0, .n_out = 1,
   .kind = KNI_CREATE, .dtypes = KNI_ALL, .flags = KNI_FLAG_NO_GRADIENT, .schema = full_schema,
   .attribute_bytes = sizeof(kni_full_attributes), .infer = infer_full, .native = &kni_cpu_full)

KNI_OPTIONAL kn_tensor kni_full_stored(const char *name, kn_shape shape, double value, kn_dtype dtype);

static kn_tensor full_as(const char *name, kn_shape shape, double value, kn_dtype dtype)
{
    kni_full_attributes a = {shape, dtype, value, 0};
    if (kni_check_stored(name, dtype, value)) return kni_poison_latest();
    if (kni_dtype_stored(dtype) && KNI_IS_LINKED(kni_full_stored))
        return kni_full_stored(name, shape, value, dtype);
    kni_convert(&a.whole,
                dtype == KN_U64      ? KN_U64
                : kni_is_bool(dtype) ? KN_BOOL
                                     : KN_I64,
                1, &value, KN_F64, 1, 1);
    return kni_apply_as(name, &kni_op_full, NULL, 0, &a);
}

kn_tensor kn_zeros(kn_shape shape, kn_dtype dtype) { return full_as("zeros", shape, 0, dtype); }

kn_tensor kn_ones(kn_shape shape, kn_dtype dtype) { return full_as("ones", shape, 1, dtype); }

kn_tensor kn_full(kn_shape shape, double value, kn_dtype dtype)
{
    return full_as("full", shape, value, dtype);
}

kn_tensor kn_full_int(kn_shape shape, int64_t value, kn_dtype dtype)
{
    kni_full_attributes a = {shape, dtype, (double)value, kni_is_bool(dtype) ? value != 0 : value};
    if (dtype != KN_I64 && dtype != KN_U64 && kni_check_stored("full_int", dtype, (double)value))
        return kni_poison_latest();
    if (kni_dtype_stored(dtype) && KNI_IS_LINKED(kni_full_stored))
        return kni_full_stored("full_int", shape, (double)value, dtype);
    return kni_apply_as("full_int", &kni_op_full, NULL, 0, &a);
}

kn_tensor kn_empty(kn_shape shape, kn_dtype dtype) { return full_as("empty", shape, 0, dtype); }

/* In x's dtype and where x is, under x's shape or rank 0. */
static kn_tensor full_like_as(const char *name, kn_tensor x, double value, bool single)
{
    if (kni_is_poisoned(x)) return x;
    const kni_tensor *t = kni_resolve(x, name);
    if (!t) return kni_poison_latest();
    kn_tensor error;
    if (kni_tensor_failed(t, &error)) return error;
    kn_shape shape = {0, {0}};
    if (!single) shape = kni_shape_from_type(&t->type);
    kni_context before = kni_route_to(x);
    kn_tensor y = full_as(name, shape, value, (kn_dtype)t->type.dtype);
    kni_route_back(before);
    return y;
}

kn_tensor kni_number_like(kn_tensor x, double value) { return full_like_as("full", x, value, true); }

kn_tensor kn_zeros_like(kn_tensor x) { return full_like_as("zeros_like", x, 0, false); }

kn_tensor kn_ones_like(kn_tensor x) { return full_like_as("ones_like", x, 1, false); }

kn_tensor kn_full_like(kn_tensor x, double value) { return full_like_as("full_like", x, value, false); }

kn_tensor kn_empty_like(kn_tensor x) { return full_like_as("empty_like", x, 0, false); }

/* ---- iota: y[i] = start + i * step, computed in f64 or in whole numbers */

static const kn_attribute iota_schema[] = {
    KNI_ATTR(kni_iota_attributes, length, KNI_ATTR_INT, KNI_STATIC),
    KNI_ATTR(kni_iota_attributes, dtype, KNI_ATTR_INT, KNI_STATIC),
    KNI_ATTR(kni_iota_attributes, start, KNI_ATTR_REAL, KNI_DYNAMIC),
    KNI_ATTR(kni_iota_attributes, step, KNI_ATTR_REAL, KNI_DYNAMIC),
    KNI_ATTR(kni_iota_attributes, whole_start, KNI_ATTR_INT, KNI_DYNAMIC),
    KNI_ATTR(kni_iota_attributes, whole_step, KNI_ATTR_INT, KNI_DYNAMIC),
    {0}};

static kn_status infer_iota(kni_infer *c)
{
    const kni_iota_attributes *a = c->attributes;
    kn_ints shape = KN_SHAPE(a->length);
    return kni_infer_made(c, &shape, a->dtype, KNI_NUMBERS);
}

BODY(iota, "y = floats ? start + i * step : whole_start + i * whole_step")
OP(iota, .body = &kni_body_iota, .sums = KNI_SUMS_WIDE, .doc = "y[i] = start + i * step", .min_in = 0,
   .max_in = 0, .n_out = 1, .kind = KNI_CREATE, .dtypes = KNI_NUMBERS, .flags = KNI_FLAG_NO_GRADIENT,
   .schema = iota_schema, .attribute_bytes = sizeof(kni_iota_attributes), .infer = infer_iota,
   .native = &kni_cpu_iota)

kn_tensor kn_arange(double start, double stop, double step, kn_dtype dtype)
{
    kni_iota_attributes a = {0, dtype, start, step, 0, 0};
    double n = kni_ceil_f64((stop - start) / step);
    if (!(step != 0) || n != n || n >= 0x1p63)
        return kni_fail_tensor("arange", KN_ERROR_ARGUMENT, "there is no range from %g to %g by steps of %g",
                               start, stop, step);
    if (n < 0)
        return kni_fail_tensor("arange", KN_ERROR_ARGUMENT, "steps of %g never lead from %g to %g", step,
                               start, stop);
    kni_convert(&a.length, KN_I64, 1, &n, KN_F64, 1, 1);
    kni_convert(&a.whole_start, KN_I64, 1, &start, KN_F64, 1, 1);
    kni_convert(&a.whole_step, KN_I64, 1, &step, KN_F64, 1, 1);
    return kni_apply_as("arange", &kni_op_iota, NULL, 0, &a);
}

/* ---- linspace: from both ends, so that it is symmetric and ends exactly */

static const kn_attribute linspace_schema[] = {
    KNI_ATTR(kni_linspace_attributes, length, KNI_ATTR_INT, KNI_STATIC),
    KNI_ATTR(kni_linspace_attributes, dtype, KNI_ATTR_INT, KNI_STATIC),
    KNI_ATTR(kni_linspace_attributes, start, KNI_ATTR_REAL, KNI_DYNAMIC),
    KNI_ATTR(kni_linspace_attributes, stop, KNI_ATTR_REAL, KNI_DYNAMIC),
    {0}};

static kn_status infer_linspace(kni_infer *c)
{
    const kni_linspace_attributes *a = c->attributes;
    kn_ints shape = KN_SHAPE(a->length);
    bool fits = a->start >= -0x1p63 && a->start < 0x1p63 && a->stop >= -0x1p63 && a->stop < 0x1p63;
    if (!fits && a->dtype >= 0 && a->dtype < KN_DTYPE_COUNT && (KNI_INTS >> a->dtype & 1))
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "%g to %g are not all whole numbers of 64 bits", a->start,
                              a->stop);
    return kni_infer_made(c, &shape, a->dtype, KNI_NUMBERS);
}

BODY(linspace,
     "step = length > 1 ? (stop - start) / (length - 1) : 0;"
     " y = i < (length > 1 ? floor(length / 2) : 1) ? start + step * i : stop - step * (length - 1 - i)")
OP(linspace, .body = &kni_body_linspace, .sums = KNI_SUMS_REAL,
   .doc = "y[i] = start + i * (stop - start) / (n - 1)", .min_in = 0, .max_in = 0, .n_out = 1,
   .kind = KNI_CREATE, .dtypes = KNI_NUMBERS, .flags = KNI_FLAG_NO_GRADIENT, .tolerance = {2, 1},
   .schema = linspace_schema, .attribute_bytes = sizeof(kni_linspace_attributes), .infer = infer_linspace,
   .native = &kni_cpu_linspace)

kn_tensor kn_linspace(double start, double stop, int64_t n, kn_dtype dtype)
{
    kni_linspace_attributes a = {n, dtype, start, stop};
    return kni_apply_as("linspace", &kni_op_linspace, NULL, 0, &a);
}
