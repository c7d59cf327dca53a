/* Changing the dtype. */
#include "ops/generated/elementwise_kernels.h"
#include "ops/scalar_row.h"

typedef struct cast_attributes {
    int64_t dtype;
} cast_attributes;
static const kn_attribute cast_schema[] = {KNI_ATTR(cast_attributes, dtype, KNI_ATTR_INT, KNI_STATIC), {0}};

static kn_status infer_cast(kni_infer *c)
{
    const cast_attributes *a = c->attributes;
    if (a->dtype < 0 || a->dtype > KN_DTYPE_COUNT || !kni_dtype_usable((int)a->dtype))
        return kni_infer_fail(c, KN_ERROR_DTYPE, "dtype code %D is none that tensors can have", a->dtype);
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

OP(cast, .doc = "the same values as another dtype: floats to integers truncate and saturate, NaN gives 0",
   .min_in = 1, .max_in = 1, .n_out = 1, .kind = KNI_ELEMENTWISE, .dtypes = KNI_ALL, .schema = cast_schema,
   .attribute_bytes = sizeof(cast_attributes), .infer = infer_cast, .launch = launch_cast,
   .native = &kni_cpu_cast, .flags = KNI_FLAG_ALIAS)

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
