/* Softmax at a temperature, with its gradient. */
#include "ops/infer.h"
#include "ops/scalar_row.h"
#include <kn/functional.h>

typedef struct tempered_attributes {
    int64_t axis;
    double temperature;
} tempered_attributes;
static const kn_attribute tempered_schema[] = {
    KNI_ATTR(tempered_attributes, axis, KNI_ATTR_INT, KNI_STATIC),
    KNI_ATTR(tempered_attributes, temperature, KNI_ATTR_REAL, KNI_STATIC),
    {0}};

BODY(tempered_softmax, "e = expn((x - top(x)) / temperature); y = e / sum(e)")
OP(tempered_softmax, .doc = "exp(x / temperature) / sum(exp(x / temperature)) over axis", .min_in = 1,
   .max_in = 1, .n_out = 1, .kind = KNI_COMPOSITE, .flags = KNI_FLAG_WIDE, .dtypes = KNI_FLOATS,
   .tolerance = {8, 0.5f}, .schema = tempered_schema, .attribute_bytes = sizeof(tempered_attributes),
   .in = "x", .body = &kni_body_tempered_softmax,
   .line = KNI_ALONG(AXIS, 0, ELEMENT, tempered_attributes, axis), .infer = kni_infer_lines,
   .native = KNI_BY_LINES(tempered_softmax))

/* y (dy - sum(dy y)) / temperature */
GRADIENT(tempered_softmax)
{
    const tempered_attributes *a = v->attributes;
    kn_tensor dy = v->dy[0], y = kni_vjp_out(v, 0);
    kn_ints axes = kn_rank(y) ? KN_AXES(a->axis) : KN_AXES_ALL;
    kn_tensor rest = kn_sub(dy, kn_sum(kn_mul(dy, y), axes, true));
    kni_vjp_set(v, 0, kn_div_scalar(kn_mul(y, rest), a->temperature));
    return KN_OK;
}

kn_tensor kn_tempered_softmax(kn_tensor x, int32_t axis, double temperature)
{
    tempered_attributes a = {axis, temperature};
    return kni_apply(&kni_op_tempered_softmax, &x, 1, &a);
}
