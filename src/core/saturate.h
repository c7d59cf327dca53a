/* Casts from floats to integers that saturate: the same on every machine, where C leaves them undefined. */
#ifndef KNI_SATURATE_H
#define KNI_SATURATE_H

#include <stdint.h>

static inline int64_t kni_f64_to_i64(double v)
{
    if (!(v >= -9223372036854775808.0)) return v != v ? 0 : INT64_MIN;
    return v >= 9223372036854775808.0 ? INT64_MAX : (int64_t)v;
}

/* Negative numbers wrap as they do in a cast by way of a signed integer. */
static inline uint64_t kni_f64_to_u64(double v)
{
    if (!(v > -1.0)) return v != v ? 0 : (uint64_t)kni_f64_to_i64(v);
    return v >= 18446744073709551616.0 ? UINT64_MAX : v < 0 ? 0 : (uint64_t)v;
}

#endif
