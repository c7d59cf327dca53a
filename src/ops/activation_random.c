/* Activations whose slope is drawn. */
#include "ops/movement_rows.h"
#include <kn/activation.h>
#include <kn/creation.h>

/* The slopes are drawn for all elements, so that which numbers are drawn does not depend on signs. */
kn_tensor kn_rrelu(kn_tensor x, double low, double high, bool training)
{
    kni_call call = kni_call_begin("rrelu");
    const kni_type *t = kni_type_of(x);
    if (!(low <= high && high - low <= 1.7976931348623157e308))
        return kni_call_fail(call, KN_ERROR_ARGUMENT, "there are no slopes from %g to %g: give low <= high",
                             low, high);
    if (!training || !t) return kni_call_end(call, kn_leaky_relu(x, (low + high) / 2));
    if (!kn_dtype_is_float((kn_dtype)t->dtype))
        return kni_call_fail(call, KN_ERROR_DTYPE, "does not take %T: convert with kn_cast()", (int)t->dtype);
    x = kn_keep(x);
    kn_tensor slopes = kn_random_like(x, (kn_distribution){KN_RANDOM_UNIFORM, low, high});
    return kni_call_end(call, kn_where(kn_greater_scalar(x, 0), x, kn_mul(x, slopes)));
}
