/* Changing the dtype. */
#include "ops/generated/elementwise_kernels.h"
#include "ops/scalar_row.h"
#include "ops/stored_ops.h"

typedef struct cast_attributes {
    int64_t dtype;
} cast_attributes;
static const kn_attribute cast_schema[] = {KNI_ATTR(cast_attributes, dtype, KNI_ATTR_INT, KNI_STATIC), {0}};

static kn_status infer_cast(kni_infer *c)
{
    const cast_attributes *a = c->attributes;
    if (a->dtype < 0 || a->dtype >= KN_DTYPE_COUNT || !kni_dtype_is_there((kn_dtype)a->dtype))
        return kni_fail_dtype(c->row->name, a->dtype);
    kn_status s = kni_infer_same(c);
    c->out[0]->dtype = (uint8_t)a->dtype;
    return s;
}

/* The operand's wide type holds its values exactly; the launcher converts them to the result's dtype. */
static kn_status launch_cast(kni_launch *l)
{
    l->kernel = &kni_kernel_elementwise_copy;
    l->items = kni_count(l->in[0]);
    return KN_OK;
}

OP(cast,
   .doc = "the same values as another dtype: floats to integers truncate and saturate at 64 bits, integers "
          "keep their lowest bits, NaN gives 0",
   .min_in = 1, .max_in = 1, .n_out = 1, .kind = KNI_ELEMENTWISE, .dtypes = KNI_ALL, .schema = cast_schema,
   .attribute_bytes = sizeof(cast_attributes), .infer = infer_cast, .launch = launch_cast,
   .native = &kni_cpu_cast, .flags = KNI_FLAG_ALIAS | KNI_FLAG_CONVERTS)

kn_tensor kn_cast(kn_tensor x, kn_dtype dtype)
{
    cast_attributes a = {dtype};
    return kni_apply(&kni_op_cast, &x, 1, &a);
}

GRADIENT(cast)
{
    kni_vjp_set(v, 0, v->dy[0]); /* which casts it back */
    return KN_OK;
}

static kn_status infer_bitcast(kni_infer *c)
{
    kn_status s = infer_cast(c);
    if (s) return s;
    int from = c->in[0]->dtype, to = c->out[0]->dtype;
    if (kni_is_bool(from) || kni_is_bool(to) || kni_bytes_of(from) != kni_bytes_of(to))
        return kni_infer_fail(c, KN_ERROR_DTYPE,
                              "%T and %T do not have the same number of bits (bool has no bits of its own)",
                              from, to);
    return KN_OK;
}

static bool view_bitcast(kni_view *v)
{
    for (int i = 0; i < v->in->rank; i++) v->strides[i] = v->in_strides[i];
    v->offset = v->in_offset;
    return true;
}

OP(bitcast, .doc = "the same bits as another dtype of the same width", .min_in = 1, .max_in = 1, .n_out = 1,
   .kind = KNI_MOVEMENT, .dtypes = KNI_NUMBERS | KNI_STORED, .schema = cast_schema,
   .attribute_bytes = sizeof(cast_attributes), .infer = infer_bitcast, .view = view_bitcast,
   .flags = KNI_FLAG_NO_GRADIENT)

kn_tensor kni_bitcast(kn_tensor x, int dtype)
{
    cast_attributes a = {dtype};
    return kni_apply(&kni_op_bitcast, &x, 1, &a);
}

kn_tensor kn_bitcast(kn_tensor x, kn_dtype dtype)
{
    bool narrow = kni_dtype_stored(dtype) && kni_dtypes[dtype].bits < 8;
    if (!narrow || !kn_ok(x) || kn_dtype_of(x) == dtype) return kni_bitcast(x, dtype);
    kni_call call = kni_call_begin("bitcast");
    kn_tensor bytes = kni_bitcast(x, KN_U8);
    if (!kn_ok(bytes)) return kni_call_end(call, bytes);
    return kni_call_end(call,
                        kni_bitcast(kn_bitwise_and_scalar(bytes, (1 << kni_dtypes[dtype].bits) - 1), dtype));
}
