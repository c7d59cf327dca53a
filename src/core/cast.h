/* Casts between all dtypes as functions kni_cast_<to>_<from>: the one place that says what a conversion gives. f16 and
   bf16 travel as uint16_t, bool as uint8_t. Halves are rounded once; integers wrap; floats saturate at 64 bits and then
   wrap to the integer; anything to bool, and from it, is x != 0. */
#ifndef KNI_CAST_H
#define KNI_CAST_H

#include "core/math/half.h"
#include "core/saturate.h"

/* A whole number of 64 bits, signed but for U64. */
#define WHOLE_OF_F32(v) kni_f32_to_i64(v)
#define WHOLE_OF_F64(v) kni_f64_to_i64(v)
#define WHOLE_OF_INT(v) (v)
#define U64_OF_F32(v) kni_f32_to_u64(v)
#define U64_OF_F64(v) kni_f64_to_u64(v)
#define U64_OF_INT(v) (v)

#define DEFINE_CAST(to, to_type, from, from_type, value)                                                     \
    KNI_INLINE to_type kni_cast_##to##from(from_type x) { return (to_type)(value); }
/* From one dtype to each: its name with an underscore (bool may be a macro, which pasting keeps from being expanded), its
   type, its value, that value's kind, and what it is as a half and as a truth. */
#define DEFINE_CASTS(from, type, value, kind, as_f16, as_bf16, truth)                                        \
    DEFINE_CAST(f64, double, from, type, value)                                                              \
    DEFINE_CAST(f32, float, from, type, value)                                                               \
    DEFINE_CAST(f16, uint16_t, from, type, as_f16)                                                           \
    DEFINE_CAST(bf16, uint16_t, from, type, as_bf16)                                                         \
    DEFINE_CAST(i64, int64_t, from, type, WHOLE_OF_##kind(value))                                            \
    DEFINE_CAST(i32, int32_t, from, type, WHOLE_OF_##kind(value))                                            \
    DEFINE_CAST(i16, int16_t, from, type, WHOLE_OF_##kind(value))                                            \
    DEFINE_CAST(i8, int8_t, from, type, WHOLE_OF_##kind(value))                                              \
    DEFINE_CAST(u64, uint64_t, from, type, U64_OF_##kind(value))                                             \
    DEFINE_CAST(u32, uint32_t, from, type, WHOLE_OF_##kind(value))                                           \
    DEFINE_CAST(u16, uint16_t, from, type, WHOLE_OF_##kind(value))                                           \
    DEFINE_CAST(u8, uint8_t, from, type, WHOLE_OF_##kind(value))                                             \
    DEFINE_CAST(bool, uint8_t, from, type, truth)
#define DEFINE_INTEGER_CASTS(from, type)                                                                     \
    DEFINE_CASTS(_##from, type, x, INT, kni_f64_to_f16((double)x), kni_f64_to_bf16((double)x), x != 0)

DEFINE_CASTS(_f64, double, x, F64, kni_f64_to_f16(x), kni_f64_to_bf16(x), x != 0)
DEFINE_CASTS(_f32, float, x, F32, kni_f32_to_f16(x), kni_f32_to_bf16(x), x != 0)
DEFINE_CASTS(_f16, uint16_t, kni_f16_to_f32(x), F32, x, kni_f32_to_bf16(kni_f16_to_f32(x)), (x & 0x7fff) != 0)
DEFINE_CASTS(_bf16, uint16_t, kni_bf16_to_f32(x), F32, kni_f32_to_f16(kni_bf16_to_f32(x)), x,
             (x & 0x7fff) != 0)
DEFINE_INTEGER_CASTS(i64, int64_t)
DEFINE_INTEGER_CASTS(i32, int32_t)
DEFINE_INTEGER_CASTS(i16, int16_t)
DEFINE_INTEGER_CASTS(i8, int8_t)
DEFINE_INTEGER_CASTS(u64, uint64_t)
DEFINE_INTEGER_CASTS(u32, uint32_t)
DEFINE_INTEGER_CASTS(u16, uint16_t)
DEFINE_INTEGER_CASTS(u8, uint8_t)
/* A bool is 0 or 1, but who shares its memory may write any byte: all but 0 are true. */
DEFINE_CASTS(_bool, uint8_t, (x != 0), INT, kni_f64_to_f16((double)(x != 0)),
             kni_f64_to_bf16((double)(x != 0)), x != 0)

#undef DEFINE_INTEGER_CASTS
#undef DEFINE_CASTS
#undef DEFINE_CAST
#undef WHOLE_OF_F32
#undef WHOLE_OF_F64
#undef WHOLE_OF_INT
#undef U64_OF_F32
#undef U64_OF_F64
#undef U64_OF_INT

#endif
