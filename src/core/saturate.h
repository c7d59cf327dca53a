/* Casts from floats to integers that saturate: the same on every machine, where C leaves them undefined. Negative
   numbers wrap in unsigned integers, as they do in a cast by way of a signed integer. */
#ifndef KNI_SATURATE_H
#define KNI_SATURATE_H

#include <stdint.h>

#define DEFINE_SATURATE(suffix, type)                                                                        \
    static inline int64_t kni_##suffix##_to_i64(type v)                                                      \
    {                                                                                                        \
        if (!(v >= (type)-9223372036854775808.0)) return v != v ? 0 : INT64_MIN;                             \
        return v >= (type)9223372036854775808.0 ? INT64_MAX : (int64_t)v;                                    \
    }                                                                                                        \
    static inline uint64_t kni_##suffix##_to_u64(type v)                                                     \
    {                                                                                                        \
        if (!(v > -1)) return v != v ? 0 : (uint64_t)kni_##suffix##_to_i64(v);                               \
        return v >= (type)18446744073709551616.0 ? UINT64_MAX : v < 0 ? 0 : (uint64_t)v;                     \
    }
DEFINE_SATURATE(f32, float)
DEFINE_SATURATE(f64, double)
#undef DEFINE_SATURATE

#endif
