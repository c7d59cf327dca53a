/* Half types in functions of several steps. */
#include "ops/wide.h"

kn_tensor kni_as(kn_tensor x, int dtype)
{
    const kni_tensor *t = kni_peek(x);
    return t && t->type.dtype != dtype ? kn_cast(x, (kn_dtype)dtype) : x;
}

kn_tensor kni_widen(kn_tensor x)
{
    const kni_tensor *t = kni_peek(x);
    return t ? kni_as(x, kni_sum_dtype(t->type.dtype)) : x;
}

const kni_wide_steps kni_wide = {kni_widen, kni_as};

int kni_widen_all(kn_tensor *x, int n)
{
    int dtype = 0;
    for (int i = 0; i < n; i++) {
        const kni_tensor *t = x[i].bits ? kni_peek(x[i]) : NULL;
        if (!t || !kni_is_float(t->type.dtype)) continue;
        dtype = dtype ? (int)kn_dtype_promote((kn_dtype)dtype, (kn_dtype)t->type.dtype) : t->type.dtype;
        if (kni_sum_dtype(t->type.dtype) != t->type.dtype)
            x[i] = kni_widen(kn_keep(x[i])); /* it may come twice */
    }
    return dtype;
}

kn_tensor kni_call_end_as(kni_call call, kn_tensor result, int dtype)
{
    return kni_call_end(call, dtype ? kni_as(result, dtype) : result);
}
