/* Casts that saturate. */
#include "core/integer_range.h"
#include "ops/stored_ops.h"
#include <kn/creation.h>
#include <kn/elementwise.h>
#include <kn/tensor.h>

kn_tensor kni_saturate_integer(kn_tensor x, int dtype)
{
    kn_dtype from = kn_dtype_of(x);
    double low, end;
    kni_integer_range(dtype, &low, &end);
    if (from == KN_U64 && dtype != KN_U64) {
        kn_tensor y = kn_keep(kn_bitcast(x, KN_I64)); /* what i64 does not hold is negative there */
        x = kn_where(kn_less_scalar(y, 0), kn_scalar_int(INT64_MAX, KN_I64), y);
    } else if (dtype == KN_U64 && from != KN_U64) {
        return kn_cast(kn_clamp_min(x, 0), KN_U64);
    }
    x = kn_cast(x, dtype == KN_U64 ? KN_U64 : KN_I64); /* which saturates, too */
    return kni_dtypes[dtype].bits == 64 ? x : kn_clamp(x, low, end - 1);
}

/* bf16 has no number near the largest of f16, and integers have none between: both are compared in f32, which holds all that f16 does. */
static kn_tensor saturate_float(kn_tensor x, kn_dtype dtype)
{
    double largest = kn_dtype_limits(dtype).max;
    bool is_float = kn_dtype_is_float(kn_dtype_of(x));
    if (!is_float && largest > 0x1p64) return kn_cast(x, dtype);
    if (!is_float || kni_is_half(kn_dtype_of(x))) x = kn_cast(x, KN_F32);
    return kn_cast(kn_clamp(x, -largest, largest), dtype);
}

kn_tensor kn_cast_saturate(kn_tensor x, kn_dtype dtype)
{
    kni_call call = kni_call_begin("cast_saturate");
    if (!kn_ok(x)) return kni_call_end(call, kn_alias(x));
    if (!kni_dtype_is_there(dtype)) {
        kni_fail_dtype("cast_saturate", (int64_t)dtype);
        return kni_call_end(call, kni_poison_latest());
    }
    kn_dtype from = kn_dtype_of(x);
    if (kni_dtype_stored(from) && from != dtype) x = kn_cast(x, (kn_dtype)kni_natural_dtype(from));
    x = kn_keep(x);
    int kind = kni_dtypes[dtype].kind;
    kn_tensor y;
    if (from == dtype || kind == KNI_KIND_BOOL)
        y = kn_cast(x, dtype);
    else if (kni_dtype_stored(dtype))
        y = kni_cast_stored(x, dtype, true);
    else if (kind == KNI_KIND_FLOAT)
        y = saturate_float(x, dtype);
    else
        y = kn_cast(kni_saturate_integer(x, dtype), dtype);
    return kni_call_end(call, y);
}
