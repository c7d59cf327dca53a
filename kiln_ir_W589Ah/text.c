typedef __INT8_TYPE__ int8_t;
typedef __INT16_TYPE__ int16_t;
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;
#define KNI_FUNCTION static inline
#define KNI_INLINE static inline __attribute__((always_inline))
#define KNI_TABLE static const
#define KNI_MAKE(type) (type)
#define KNI_INF_F32 __builtin_inff()
#define KNI_NAN_F32 __builtin_nanf("")
#define KNI_INF_F64 __builtin_inf()
#define KNI_NAN_F64 __builtin_nan("")
#define KNI_SQRT_F32(x) __builtin_sqrtf(x)
#define KNI_SQRT_F64(x) __builtin_sqrt(x)
#define KNI_LEADING_ZEROS(x) __builtin_clzll(x)
KNI_INLINE uint32_t kni_bits_f32(float x) { uint32_t u; __builtin_memcpy(&u, &x, 4); return u; }
KNI_INLINE float kni_from_bits_f32(uint32_t u) { float x; __builtin_memcpy(&x, &u, 4); return x; }
KNI_INLINE uint64_t kni_bits_f64(double x) { uint64_t u; __builtin_memcpy(&u, &x, 8); return u; }
KNI_INLINE double kni_from_bits_f64(uint64_t u) { double x; __builtin_memcpy(&x, &u, 8); return x; }
KNI_INLINE double kni_abs_f64(double x) { return kni_from_bits_f64(kni_bits_f64(x) & ~0x8000000000000000u); }
KNI_INLINE float kni_abs_f32(float x) { return kni_from_bits_f32(kni_bits_f32(x) & ~0x80000000u); }
KNI_INLINE double kni_copysign_f64(double magnitude, double sign)
{
    return kni_from_bits_f64((kni_bits_f64(magnitude) & ~0x8000000000000000u) | (kni_bits_f64(sign) & 0x8000000000000000u));
}
KNI_INLINE float kni_copysign_f32(float magnitude, float sign)
{
    return kni_from_bits_f32((kni_bits_f32(magnitude) & ~0x80000000u) | (kni_bits_f32(sign) & 0x80000000u));
}
KNI_INLINE double kni_horner4_f64(double p, double x, double c3, double c2, double c1, double c0)
{
    return (((p * x + c3) * x + c2) * x + c1) * x + c0;
}
KNI_INLINE float kni_horner4_f32(float p, float x, float c3, float c2, float c1, float c0)
{
    return (((p * x + c3) * x + c2) * x + c1) * x + c0;
}
KNI_INLINE double kni_scale_f64(double y, double k)
{
    const double magic = 0x1.8p52 + 1023.0;
    double first = k * 0.5 + magic;
    double second = (k - (first - magic)) + magic;
    return y * kni_from_bits_f64(kni_bits_f64(first) << 52) * kni_from_bits_f64(kni_bits_f64(second) << 52);
}
KNI_INLINE float kni_scale_f32(float y, float k)
{
    const float magic = 0x1.8p23f + 127.0f;
    float first = k * 0.5f + magic;
    float second = (k - (first - magic)) + magic;
    return y * kni_from_bits_f32(kni_bits_f32(first) << 23) * kni_from_bits_f32(kni_bits_f32(second) << 23);
}
KNI_INLINE double kni_power_of_two_f64(double k)
{
    return kni_from_bits_f64(kni_bits_f64(k + (0x1.8p52 + 1023.0)) << 52);
}
KNI_INLINE float kni_power_of_two_f32(float k)
{
    return kni_from_bits_f32(kni_bits_f32(k + (0x1.8p23f + 127.0f)) << 23);
}
typedef struct {
    double hi, lo;
} kni_double2;
KNI_INLINE kni_double2 kni_two_sum(double a, double b)
{
    double s = a + b;
    double t = s - a;
    return KNI_MAKE(kni_double2){s, (a - (s - t)) + (b - t)};
}
KNI_INLINE kni_double2 kni_fast_two_sum(double a, double b)
{
    double s = a + b;
    return KNI_MAKE(kni_double2){s, (a - s) + b};
}
KNI_INLINE double kni_upper_half_f64(double x)
{
    return kni_from_bits_f64(kni_bits_f64(x) & 0xfffffffff8000000u);
}
KNI_INLINE kni_double2 kni_two_product(double a, double b)
{
    double ah = kni_upper_half_f64(a), al = a - ah;
    double bh = kni_upper_half_f64(b), bl = b - bh;
    double p = a * b;
    return KNI_MAKE(kni_double2){p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}
KNI_INLINE float kni_f16_to_f32(uint16_t half_)
{
    uint32_t magnitude = ((uint32_t)half_ & 0x7fffu) << 13;
    uint32_t sign = ((uint32_t)half_ & 0x8000u) << 16;
    uint32_t finite = kni_bits_f32(kni_from_bits_f32(magnitude) * 0x1p112f);
    uint32_t special = magnitude | 0x7f800000u;
    return kni_from_bits_f32((magnitude >= 0x0f800000u ? special : finite) | sign);
}
KNI_INLINE uint16_t kni_f32_to_f16(float x)
{
    uint32_t u = kni_bits_f32(x);
    uint32_t magnitude = u & 0x7fffffffu;
    uint32_t sign = (u >> 16) & 0x8000u;
    uint32_t capped = magnitude > 0x47800000u ? 0x47800000u : magnitude;
    uint32_t exponent = capped & 0x7f800000u;
    exponent = exponent < 0x38800000u ? 0x38800000u : exponent;
    uint32_t power = exponent + (13u << 23);
    uint32_t rounded = kni_bits_f32(kni_from_bits_f32(capped) + kni_from_bits_f32(power)) - power;
    uint32_t half_ = rounded + ((exponent - 0x38800000u) >> 13);
    half_ = half_ > 0x7c00u ? 0x7c00u : half_;
    half_ = magnitude > 0x7f800000u ? 0x7e00u : half_;
    return (uint16_t)(half_ | sign);
}
KNI_INLINE float kni_bf16_to_f32(uint16_t half_) { return kni_from_bits_f32((uint32_t)half_ << 16); }
KNI_INLINE uint16_t kni_f32_to_bf16(float x)
{
    uint32_t u = kni_bits_f32(x);
    uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
    uint32_t quiet = (u >> 16) | 0x40u;
    return (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}
KNI_INLINE float kni_f64_to_f32_odd(double x)
{
    float nearest = (float)x;
    double a = kni_abs_f64(x), b = kni_abs_f64((double)nearest);
    uint32_t u = kni_bits_f32(nearest);
    u -= b > a ? 1u : 0u;
    u |= b != a ? 1u : 0u;
    return x != x ? nearest : kni_from_bits_f32(u);
}
KNI_INLINE uint16_t kni_f64_to_f16(double x) { return kni_f32_to_f16(kni_f64_to_f32_odd(x)); }
KNI_INLINE uint16_t kni_f64_to_bf16(double x) { return kni_f32_to_bf16(kni_f64_to_f32_odd(x)); }
KNI_FUNCTION int64_t kni_f32_to_i64(float v) { if (!(v >= (float)-9223372036854775808.0)) return v != v ? 0 : (-0x7fffffffffffffff - 1); return v >= (float)9223372036854775808.0 ? 0x7fffffffffffffff : (int64_t)v; }
KNI_FUNCTION uint64_t kni_f32_to_u64(float v) { if (!(v > -1)) return v != v ? 0 : (uint64_t)kni_f32_to_i64(v); return v >= (float)18446744073709551616.0 ? 0xffffffffffffffffu : v < 0 ? 0 : (uint64_t)v; }
KNI_FUNCTION int64_t kni_f64_to_i64(double v) { if (!(v >= (double)-9223372036854775808.0)) return v != v ? 0 : (-0x7fffffffffffffff - 1); return v >= (double)9223372036854775808.0 ? 0x7fffffffffffffff : (int64_t)v; }
KNI_FUNCTION uint64_t kni_f64_to_u64(double v) { if (!(v > -1)) return v != v ? 0 : (uint64_t)kni_f64_to_i64(v); return v >= (double)18446744073709551616.0 ? 0xffffffffffffffffu : v < 0 ? 0 : (uint64_t)v; }
KNI_INLINE double kni_cast_f64_f64(double x) { return (double)(x); }
KNI_INLINE float kni_cast_f32_f64(double x) { return (float)(x); }
KNI_INLINE uint16_t kni_cast_f16_f64(double x) { return (uint16_t)(kni_f64_to_f16(x)); }
KNI_INLINE uint16_t kni_cast_bf16_f64(double x) { return (uint16_t)(kni_f64_to_bf16(x)); }
KNI_INLINE int64_t kni_cast_i64_f64(double x) { return (int64_t)(kni_f64_to_i64(x)); }
KNI_INLINE int32_t kni_cast_i32_f64(double x) { return (int32_t)(kni_f64_to_i64(x)); }
KNI_INLINE int16_t kni_cast_i16_f64(double x) { return (int16_t)(kni_f64_to_i64(x)); }
KNI_INLINE int8_t kni_cast_i8_f64(double x) { return (int8_t)(kni_f64_to_i64(x)); }
KNI_INLINE uint64_t kni_cast_u64_f64(double x) { return (uint64_t)(kni_f64_to_u64(x)); }
KNI_INLINE uint32_t kni_cast_u32_f64(double x) { return (uint32_t)(kni_f64_to_i64(x)); }
KNI_INLINE uint16_t kni_cast_u16_f64(double x) { return (uint16_t)(kni_f64_to_i64(x)); }
KNI_INLINE uint8_t kni_cast_u8_f64(double x) { return (uint8_t)(kni_f64_to_i64(x)); }
KNI_INLINE uint8_t kni_cast_bool_f64(double x) { return (uint8_t)(x != 0); }
KNI_INLINE double kni_cast_f64_f32(float x) { return (double)(x); }
KNI_INLINE float kni_cast_f32_f32(float x) { return (float)(x); }
KNI_INLINE uint16_t kni_cast_f16_f32(float x) { return (uint16_t)(kni_f32_to_f16(x)); }
KNI_INLINE uint16_t kni_cast_bf16_f32(float x) { return (uint16_t)(kni_f32_to_bf16(x)); }
KNI_INLINE int64_t kni_cast_i64_f32(float x) { return (int64_t)(kni_f32_to_i64(x)); }
KNI_INLINE int32_t kni_cast_i32_f32(float x) { return (int32_t)(kni_f32_to_i64(x)); }
KNI_INLINE int16_t kni_cast_i16_f32(float x) { return (int16_t)(kni_f32_to_i64(x)); }
KNI_INLINE int8_t kni_cast_i8_f32(float x) { return (int8_t)(kni_f32_to_i64(x)); }
KNI_INLINE uint64_t kni_cast_u64_f32(float x) { return (uint64_t)(kni_f32_to_u64(x)); }
KNI_INLINE uint32_t kni_cast_u32_f32(float x) { return (uint32_t)(kni_f32_to_i64(x)); }
KNI_INLINE uint16_t kni_cast_u16_f32(float x) { return (uint16_t)(kni_f32_to_i64(x)); }
KNI_INLINE uint8_t kni_cast_u8_f32(float x) { return (uint8_t)(kni_f32_to_i64(x)); }
KNI_INLINE uint8_t kni_cast_bool_f32(float x) { return (uint8_t)(x != 0); }
KNI_INLINE double kni_cast_f64_f16(uint16_t x) { return (double)(kni_f16_to_f32(x)); }
KNI_INLINE float kni_cast_f32_f16(uint16_t x) { return (float)(kni_f16_to_f32(x)); }
KNI_INLINE uint16_t kni_cast_f16_f16(uint16_t x) { return (uint16_t)(x); }
KNI_INLINE uint16_t kni_cast_bf16_f16(uint16_t x) { return (uint16_t)(kni_f32_to_bf16(kni_f16_to_f32(x))); }
KNI_INLINE int64_t kni_cast_i64_f16(uint16_t x) { return (int64_t)(kni_f32_to_i64(kni_f16_to_f32(x))); }
KNI_INLINE int32_t kni_cast_i32_f16(uint16_t x) { return (int32_t)(kni_f32_to_i64(kni_f16_to_f32(x))); }
KNI_INLINE int16_t kni_cast_i16_f16(uint16_t x) { return (int16_t)(kni_f32_to_i64(kni_f16_to_f32(x))); }
KNI_INLINE int8_t kni_cast_i8_f16(uint16_t x) { return (int8_t)(kni_f32_to_i64(kni_f16_to_f32(x))); }
KNI_INLINE uint64_t kni_cast_u64_f16(uint16_t x) { return (uint64_t)(kni_f32_to_u64(kni_f16_to_f32(x))); }
KNI_INLINE uint32_t kni_cast_u32_f16(uint16_t x) { return (uint32_t)(kni_f32_to_i64(kni_f16_to_f32(x))); }
KNI_INLINE uint16_t kni_cast_u16_f16(uint16_t x) { return (uint16_t)(kni_f32_to_i64(kni_f16_to_f32(x))); }
KNI_INLINE uint8_t kni_cast_u8_f16(uint16_t x) { return (uint8_t)(kni_f32_to_i64(kni_f16_to_f32(x))); }
KNI_INLINE uint8_t kni_cast_bool_f16(uint16_t x) { return (uint8_t)((x & 0x7fff) != 0); }
KNI_INLINE double kni_cast_f64_bf16(uint16_t x) { return (double)(kni_bf16_to_f32(x)); }
KNI_INLINE float kni_cast_f32_bf16(uint16_t x) { return (float)(kni_bf16_to_f32(x)); }
KNI_INLINE uint16_t kni_cast_f16_bf16(uint16_t x) { return (uint16_t)(kni_f32_to_f16(kni_bf16_to_f32(x))); }
KNI_INLINE uint16_t kni_cast_bf16_bf16(uint16_t x) { return (uint16_t)(x); }
KNI_INLINE int64_t kni_cast_i64_bf16(uint16_t x) { return (int64_t)(kni_f32_to_i64(kni_bf16_to_f32(x))); }
KNI_INLINE int32_t kni_cast_i32_bf16(uint16_t x) { return (int32_t)(kni_f32_to_i64(kni_bf16_to_f32(x))); }
KNI_INLINE int16_t kni_cast_i16_bf16(uint16_t x) { return (int16_t)(kni_f32_to_i64(kni_bf16_to_f32(x))); }
KNI_INLINE int8_t kni_cast_i8_bf16(uint16_t x) { return (int8_t)(kni_f32_to_i64(kni_bf16_to_f32(x))); }
KNI_INLINE uint64_t kni_cast_u64_bf16(uint16_t x) { return (uint64_t)(kni_f32_to_u64(kni_bf16_to_f32(x))); }
KNI_INLINE uint32_t kni_cast_u32_bf16(uint16_t x) { return (uint32_t)(kni_f32_to_i64(kni_bf16_to_f32(x))); }
KNI_INLINE uint16_t kni_cast_u16_bf16(uint16_t x) { return (uint16_t)(kni_f32_to_i64(kni_bf16_to_f32(x))); }
KNI_INLINE uint8_t kni_cast_u8_bf16(uint16_t x) { return (uint8_t)(kni_f32_to_i64(kni_bf16_to_f32(x))); }
KNI_INLINE uint8_t kni_cast_bool_bf16(uint16_t x) { return (uint8_t)((x & 0x7fff) != 0); }
KNI_INLINE double kni_cast_f64_i64(int64_t x) { return (double)(x); }
KNI_INLINE float kni_cast_f32_i64(int64_t x) { return (float)(x); }
KNI_INLINE uint16_t kni_cast_f16_i64(int64_t x) { return (uint16_t)(kni_f64_to_f16((double)x)); }
KNI_INLINE uint16_t kni_cast_bf16_i64(int64_t x) { return (uint16_t)(kni_f64_to_bf16((double)x)); }
KNI_INLINE int64_t kni_cast_i64_i64(int64_t x) { return (int64_t)((x)); }
KNI_INLINE int32_t kni_cast_i32_i64(int64_t x) { return (int32_t)((x)); }
KNI_INLINE int16_t kni_cast_i16_i64(int64_t x) { return (int16_t)((x)); }
KNI_INLINE int8_t kni_cast_i8_i64(int64_t x) { return (int8_t)((x)); }
KNI_INLINE uint64_t kni_cast_u64_i64(int64_t x) { return (uint64_t)((x)); }
KNI_INLINE uint32_t kni_cast_u32_i64(int64_t x) { return (uint32_t)((x)); }
KNI_INLINE uint16_t kni_cast_u16_i64(int64_t x) { return (uint16_t)((x)); }
KNI_INLINE uint8_t kni_cast_u8_i64(int64_t x) { return (uint8_t)((x)); }
KNI_INLINE uint8_t kni_cast_bool_i64(int64_t x) { return (uint8_t)(x != 0); }
KNI_INLINE double kni_cast_f64_i32(int32_t x) { return (double)(x); }
KNI_INLINE float kni_cast_f32_i32(int32_t x) { return (float)(x); }
KNI_INLINE uint16_t kni_cast_f16_i32(int32_t x) { return (uint16_t)(kni_f64_to_f16((double)x)); }
KNI_INLINE uint16_t kni_cast_bf16_i32(int32_t x) { return (uint16_t)(kni_f64_to_bf16((double)x)); }
KNI_INLINE int64_t kni_cast_i64_i32(int32_t x) { return (int64_t)((x)); }
KNI_INLINE int32_t kni_cast_i32_i32(int32_t x) { return (int32_t)((x)); }
KNI_INLINE int16_t kni_cast_i16_i32(int32_t x) { return (int16_t)((x)); }
KNI_INLINE int8_t kni_cast_i8_i32(int32_t x) { return (int8_t)((x)); }
KNI_INLINE uint64_t kni_cast_u64_i32(int32_t x) { return (uint64_t)((x)); }
KNI_INLINE uint32_t kni_cast_u32_i32(int32_t x) { return (uint32_t)((x)); }
KNI_INLINE uint16_t kni_cast_u16_i32(int32_t x) { return (uint16_t)((x)); }
KNI_INLINE uint8_t kni_cast_u8_i32(int32_t x) { return (uint8_t)((x)); }
KNI_INLINE uint8_t kni_cast_bool_i32(int32_t x) { return (uint8_t)(x != 0); }
KNI_INLINE double kni_cast_f64_i16(int16_t x) { return (double)(x); }
KNI_INLINE float kni_cast_f32_i16(int16_t x) { return (float)(x); }
KNI_INLINE uint16_t kni_cast_f16_i16(int16_t x) { return (uint16_t)(kni_f64_to_f16((double)x)); }
KNI_INLINE uint16_t kni_cast_bf16_i16(int16_t x) { return (uint16_t)(kni_f64_to_bf16((double)x)); }
KNI_INLINE int64_t kni_cast_i64_i16(int16_t x) { return (int64_t)((x)); }
KNI_INLINE int32_t kni_cast_i32_i16(int16_t x) { return (int32_t)((x)); }
KNI_INLINE int16_t kni_cast_i16_i16(int16_t x) { return (int16_t)((x)); }
KNI_INLINE int8_t kni_cast_i8_i16(int16_t x) { return (int8_t)((x)); }
KNI_INLINE uint64_t kni_cast_u64_i16(int16_t x) { return (uint64_t)((x)); }
KNI_INLINE uint32_t kni_cast_u32_i16(int16_t x) { return (uint32_t)((x)); }
KNI_INLINE uint16_t kni_cast_u16_i16(int16_t x) { return (uint16_t)((x)); }
KNI_INLINE uint8_t kni_cast_u8_i16(int16_t x) { return (uint8_t)((x)); }
KNI_INLINE uint8_t kni_cast_bool_i16(int16_t x) { return (uint8_t)(x != 0); }
KNI_INLINE double kni_cast_f64_i8(int8_t x) { return (double)(x); }
KNI_INLINE float kni_cast_f32_i8(int8_t x) { return (float)(x); }
KNI_INLINE uint16_t kni_cast_f16_i8(int8_t x) { return (uint16_t)(kni_f64_to_f16((double)x)); }
KNI_INLINE uint16_t kni_cast_bf16_i8(int8_t x) { return (uint16_t)(kni_f64_to_bf16((double)x)); }
KNI_INLINE int64_t kni_cast_i64_i8(int8_t x) { return (int64_t)((x)); }
KNI_INLINE int32_t kni_cast_i32_i8(int8_t x) { return (int32_t)((x)); }
KNI_INLINE int16_t kni_cast_i16_i8(int8_t x) { return (int16_t)((x)); }
KNI_INLINE int8_t kni_cast_i8_i8(int8_t x) { return (int8_t)((x)); }
KNI_INLINE uint64_t kni_cast_u64_i8(int8_t x) { return (uint64_t)((x)); }
KNI_INLINE uint32_t kni_cast_u32_i8(int8_t x) { return (uint32_t)((x)); }
KNI_INLINE uint16_t kni_cast_u16_i8(int8_t x) { return (uint16_t)((x)); }
KNI_INLINE uint8_t kni_cast_u8_i8(int8_t x) { return (uint8_t)((x)); }
KNI_INLINE uint8_t kni_cast_bool_i8(int8_t x) { return (uint8_t)(x != 0); }
KNI_INLINE double kni_cast_f64_u64(uint64_t x) { return (double)(x); }
KNI_INLINE float kni_cast_f32_u64(uint64_t x) { return (float)(x); }
KNI_INLINE uint16_t kni_cast_f16_u64(uint64_t x) { return (uint16_t)(kni_f64_to_f16((double)x)); }
KNI_INLINE uint16_t kni_cast_bf16_u64(uint64_t x) { return (uint16_t)(kni_f64_to_bf16((double)x)); }
KNI_INLINE int64_t kni_cast_i64_u64(uint64_t x) { return (int64_t)((x)); }
KNI_INLINE int32_t kni_cast_i32_u64(uint64_t x) { return (int32_t)((x)); }
KNI_INLINE int16_t kni_cast_i16_u64(uint64_t x) { return (int16_t)((x)); }
KNI_INLINE int8_t kni_cast_i8_u64(uint64_t x) { return (int8_t)((x)); }
KNI_INLINE uint64_t kni_cast_u64_u64(uint64_t x) { return (uint64_t)((x)); }
KNI_INLINE uint32_t kni_cast_u32_u64(uint64_t x) { return (uint32_t)((x)); }
KNI_INLINE uint16_t kni_cast_u16_u64(uint64_t x) { return (uint16_t)((x)); }
KNI_INLINE uint8_t kni_cast_u8_u64(uint64_t x) { return (uint8_t)((x)); }
KNI_INLINE uint8_t kni_cast_bool_u64(uint64_t x) { return (uint8_t)(x != 0); }
KNI_INLINE double kni_cast_f64_u32(uint32_t x) { return (double)(x); }
KNI_INLINE float kni_cast_f32_u32(uint32_t x) { return (float)(x); }
KNI_INLINE uint16_t kni_cast_f16_u32(uint32_t x) { return (uint16_t)(kni_f64_to_f16((double)x)); }
KNI_INLINE uint16_t kni_cast_bf16_u32(uint32_t x) { return (uint16_t)(kni_f64_to_bf16((double)x)); }
KNI_INLINE int64_t kni_cast_i64_u32(uint32_t x) { return (int64_t)((x)); }
KNI_INLINE int32_t kni_cast_i32_u32(uint32_t x) { return (int32_t)((x)); }
KNI_INLINE int16_t kni_cast_i16_u32(uint32_t x) { return (int16_t)((x)); }
KNI_INLINE int8_t kni_cast_i8_u32(uint32_t x) { return (int8_t)((x)); }
KNI_INLINE uint64_t kni_cast_u64_u32(uint32_t x) { return (uint64_t)((x)); }
KNI_INLINE uint32_t kni_cast_u32_u32(uint32_t x) { return (uint32_t)((x)); }
KNI_INLINE uint16_t kni_cast_u16_u32(uint32_t x) { return (uint16_t)((x)); }
KNI_INLINE uint8_t kni_cast_u8_u32(uint32_t x) { return (uint8_t)((x)); }
KNI_INLINE uint8_t kni_cast_bool_u32(uint32_t x) { return (uint8_t)(x != 0); }
KNI_INLINE double kni_cast_f64_u16(uint16_t x) { return (double)(x); }
KNI_INLINE float kni_cast_f32_u16(uint16_t x) { return (float)(x); }
KNI_INLINE uint16_t kni_cast_f16_u16(uint16_t x) { return (uint16_t)(kni_f64_to_f16((double)x)); }
KNI_INLINE uint16_t kni_cast_bf16_u16(uint16_t x) { return (uint16_t)(kni_f64_to_bf16((double)x)); }
KNI_INLINE int64_t kni_cast_i64_u16(uint16_t x) { return (int64_t)((x)); }
KNI_INLINE int32_t kni_cast_i32_u16(uint16_t x) { return (int32_t)((x)); }
KNI_INLINE int16_t kni_cast_i16_u16(uint16_t x) { return (int16_t)((x)); }
KNI_INLINE int8_t kni_cast_i8_u16(uint16_t x) { return (int8_t)((x)); }
KNI_INLINE uint64_t kni_cast_u64_u16(uint16_t x) { return (uint64_t)((x)); }
KNI_INLINE uint32_t kni_cast_u32_u16(uint16_t x) { return (uint32_t)((x)); }
KNI_INLINE uint16_t kni_cast_u16_u16(uint16_t x) { return (uint16_t)((x)); }
KNI_INLINE uint8_t kni_cast_u8_u16(uint16_t x) { return (uint8_t)((x)); }
KNI_INLINE uint8_t kni_cast_bool_u16(uint16_t x) { return (uint8_t)(x != 0); }
KNI_INLINE double kni_cast_f64_u8(uint8_t x) { return (double)(x); }
KNI_INLINE float kni_cast_f32_u8(uint8_t x) { return (float)(x); }
KNI_INLINE uint16_t kni_cast_f16_u8(uint8_t x) { return (uint16_t)(kni_f64_to_f16((double)x)); }
KNI_INLINE uint16_t kni_cast_bf16_u8(uint8_t x) { return (uint16_t)(kni_f64_to_bf16((double)x)); }
KNI_INLINE int64_t kni_cast_i64_u8(uint8_t x) { return (int64_t)((x)); }
KNI_INLINE int32_t kni_cast_i32_u8(uint8_t x) { return (int32_t)((x)); }
KNI_INLINE int16_t kni_cast_i16_u8(uint8_t x) { return (int16_t)((x)); }
KNI_INLINE int8_t kni_cast_i8_u8(uint8_t x) { return (int8_t)((x)); }
KNI_INLINE uint64_t kni_cast_u64_u8(uint8_t x) { return (uint64_t)((x)); }
KNI_INLINE uint32_t kni_cast_u32_u8(uint8_t x) { return (uint32_t)((x)); }
KNI_INLINE uint16_t kni_cast_u16_u8(uint8_t x) { return (uint16_t)((x)); }
KNI_INLINE uint8_t kni_cast_u8_u8(uint8_t x) { return (uint8_t)((x)); }
KNI_INLINE uint8_t kni_cast_bool_u8(uint8_t x) { return (uint8_t)(x != 0); }
KNI_INLINE double kni_cast_f64_bool(uint8_t x) { return (double)((x != 0)); }
KNI_INLINE float kni_cast_f32_bool(uint8_t x) { return (float)((x != 0)); }
KNI_INLINE uint16_t kni_cast_f16_bool(uint8_t x) { return (uint16_t)(kni_f64_to_f16((double)(x != 0))); }
KNI_INLINE uint16_t kni_cast_bf16_bool(uint8_t x) { return (uint16_t)(kni_f64_to_bf16((double)(x != 0))); }
KNI_INLINE int64_t kni_cast_i64_bool(uint8_t x) { return (int64_t)(((x != 0))); }
KNI_INLINE int32_t kni_cast_i32_bool(uint8_t x) { return (int32_t)(((x != 0))); }
KNI_INLINE int16_t kni_cast_i16_bool(uint8_t x) { return (int16_t)(((x != 0))); }
KNI_INLINE int8_t kni_cast_i8_bool(uint8_t x) { return (int8_t)(((x != 0))); }
KNI_INLINE uint64_t kni_cast_u64_bool(uint8_t x) { return (uint64_t)(((x != 0))); }
KNI_INLINE uint32_t kni_cast_u32_bool(uint8_t x) { return (uint32_t)(((x != 0))); }
KNI_INLINE uint16_t kni_cast_u16_bool(uint8_t x) { return (uint16_t)(((x != 0))); }
KNI_INLINE uint8_t kni_cast_u8_bool(uint8_t x) { return (uint8_t)(((x != 0))); }
KNI_INLINE uint8_t kni_cast_bool_bool(uint8_t x) { return (uint8_t)(x != 0); }
#if defined(__FMA__) || defined(__aarch64__)
KNI_INLINE float kni_fma_f32(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
#else
KNI_INLINE float kni_fma_f32(float a, float b, float c)
{
    double p = (double)a * (double)b, s = p + (double)c;
    if (!(s - s == 0)) return (float)s;
    double t = s - p, lost = (p - (s - t)) + ((double)c - t);
    uint64_t bits = kni_bits_f64(s);
    if (lost != 0 && !(bits & 1)) bits = (lost > 0) == (s > 0) ? bits + 1 : bits - 1;
    return (float)kni_from_bits_f64(bits);
}
#endif
typedef struct {
    uint64_t w[4];
} kni_wide256;
KNI_INLINE kni_wide256 kni_wide_shift(kni_wide256 x, int by)
{
    kni_wide256 y = {{0, 0, 0, 0}};
    int words = by / 64, bits = by % 64;
    for (int i = 3; i >= words; i--) {
        y.w[i] = x.w[i - words] << bits;
        if (bits && i > words) y.w[i] |= x.w[i - words - 1] >> (64 - bits);
    }
    return y;
}
KNI_INLINE kni_wide256 kni_wide_product(uint64_t a, uint64_t b)
{
    uint64_t al = a & 0xffffffffu, ah = a >> 32, bl = b & 0xffffffffu, bh = b >> 32;
    uint64_t low = al * bl, middle = ah * bl + (low >> 32), other = al * bh + (middle & 0xffffffffu);
    return KNI_MAKE(kni_wide256){{(low & 0xffffffffu) | other << 32, ah * bh + (middle >> 32) + (other >> 32), 0, 0}};
}
KNI_INLINE kni_wide256 kni_wide_combine(kni_wide256 x, kni_wide256 y, int subtract, int *flipped)
{
    int smaller = 0;
    for (int i = 3; i >= 0; i--)
        if (x.w[i] != y.w[i]) {
            smaller = x.w[i] < y.w[i];
            break;
        }
    *flipped = subtract && smaller;
    if (*flipped) {
        kni_wide256 t = x;
        x = y;
        y = t;
    }
    uint64_t carry = 0;
    for (int i = 0; i < 4; i++) {
        uint64_t from = x.w[i], by = y.w[i];
        uint64_t r = subtract ? from - by : from + by;
        uint64_t next = subtract ? from < by : r < from;
        uint64_t done = subtract ? r - carry : r + carry;
        next |= subtract ? r < carry : done < r;
        x.w[i] = done;
        carry = next;
    }
    return x;
}
KNI_INLINE double kni_wide_round(kni_wide256 x, int exponent, uint64_t sign)
{
    int top = 255;
    while (top >= 0 && !(x.w[top / 64] >> (top % 64) & 1)) top--;
    if (top < 0) return 0;
    int lowest = top - 52 > -1074 - exponent ? top - 52 : -1074 - exponent;
    if (lowest > top + 1) return kni_from_bits_f64(sign);
    uint64_t significand = 0, half_ = 0, rest = 0;
    for (int i = top; i >= 0; i--) {
        uint64_t bit = x.w[i / 64] >> (i % 64) & 1;
        if (i >= lowest)
            significand = significand << 1 | bit;
        else if (i == lowest - 1)
            half_ = bit;
        else
            rest |= bit;
    }
    if (lowest < 0) significand <<= -lowest;
    significand += half_ & (rest | (significand & 1));
    int biased = exponent + lowest + 1075;
    if (biased >= 2047) return kni_from_bits_f64(sign | (uint64_t)0x7ff << 52);
    uint64_t bits = ((uint64_t)(biased - 1) << 52) + significand;
    if (bits >> 52 >= 2047) bits = (uint64_t)0x7ff << 52;
    return kni_from_bits_f64(sign | bits);
}
KNI_INLINE int kni_take_apart_f64(double x, uint64_t *significand)
{
    uint64_t bits = kni_bits_f64(x);
    int e = (int)(bits >> 52 & 0x7ff);
    *significand = bits & 0xfffffffffffffu;
    if (e) *significand |= (uint64_t)1 << 52;
    return (e ? e : 1) - 1075;
}
#if defined(__FMA__) || defined(__aarch64__)
KNI_INLINE double kni_fma_f64(double a, double b, double c) { return __builtin_fma(a, b, c); }
#else
KNI_INLINE double kni_fma_f64(double a, double b, double c)
{
    if (!(a - a == 0) || !(b - b == 0) || a == 0 || b == 0) return a * b + c;
    if (!(c - c == 0) || c == 0) return c == 0 ? a * b : c;
    uint64_t ma, mb, mc, top = (uint64_t)1 << 63;
    int exponent = kni_take_apart_f64(a, &ma) + kni_take_apart_f64(b, &mb);
    int gap = kni_take_apart_f64(c, &mc) - exponent;
    uint64_t product_sign = (kni_bits_f64(a) ^ kni_bits_f64(b)) & top, sign = kni_bits_f64(c) & top;
    kni_wide256 p = kni_wide_product(ma, mb), q = {{mc, 0, 0, 0}};
    if (gap > 200) {
        q = kni_wide_shift(q, 200);
        exponent += gap - 200;
    } else if (gap >= 0) {
        q = kni_wide_shift(q, gap);
    } else if (gap >= -140) {
        p = kni_wide_shift(p, -gap);
        exponent += gap;
    } else {
        p = kni_wide_shift(p, 140);
        exponent -= 140;
    }
    int flipped;
    kni_wide256 sum = kni_wide_combine(p, q, product_sign != sign, &flipped);
    return kni_wide_round(sum, exponent, flipped ? sign : product_sign);
}
#endif
KNI_INLINE double kni_exp_kernel_f64(double r)
{
    double q = 2.5118715250396611e-08;
    q = kni_horner4_f64(q, r, 2.7631469478769146e-07, 2.7557213515552566e-06, 2.4801489454252924e-05,
                        0.00019841269920558628);
    q = kni_horner4_f64(q, r, 0.0013888888947440174, 0.0083333333333057563, 0.041666666666514009,
                        0.16666666666666702);
    q = q * r + 0.50000000000000133;
    return r * r * q;
}
typedef struct {
    double r, rest, k;
} kni_exp_parts;
KNI_INLINE kni_exp_parts kni_exp_split_f64(double hi, double lo)
{
    double k = (hi * 1.4426950408889634 + 0x1.8p52) - 0x1.8p52;
    double a = hi - k * 0x1.62e42fefa3800p-1, b = k * 0x1.ef35793c76730p-45 - lo;
    double r = a - b;
    double error = (a - r) - b;
    return KNI_MAKE(kni_exp_parts){r, kni_exp_kernel_f64(r) + error, k};
}
KNI_INLINE double kni_exp_join_f64(double r, double rest)
{
    kni_double2 s = kni_fast_two_sum(1.0, r);
    return s.hi + (s.lo + rest);
}
KNI_INLINE double kni_exp_shifted_f64(double x, double shift)
{
    double c = x < -760.0 ? -760.0 : x;
    c = c > 720.0 ? 720.0 : c;
    kni_exp_parts e = kni_exp_split_f64(c, 0.0);
    return kni_scale_f64(kni_exp_join_f64(e.r, e.rest), e.k + shift);
}
KNI_INLINE double kni_exp_f64(double x) { return kni_exp_shifted_f64(x, 0.0); }
KNI_INLINE double kni_exp2_f64(double x)
{
    double c = x < -1100.0 ? -1100.0 : x;
    c = c > 1030.0 ? 1030.0 : c;
    double k = (c + 0x1.8p52) - 0x1.8p52;
    double r = (c - k) * 0.69314718055994531;
    return kni_scale_f64(kni_exp_join_f64(r, kni_exp_kernel_f64(r)), k);
}
KNI_INLINE double kni_expm1_f64(double x)
{
    double c = x < -60.0 ? -60.0 : x;
    c = c > 720.0 ? 720.0 : c;
    kni_exp_parts e = kni_exp_split_f64(c, 0.0);
    double s = kni_power_of_two_f64((e.k > 1024.0 ? 1024.0 : e.k) - 1.0);
    double y = 2.0 * ((s * e.r + (s - 0.5)) + s * e.rest);
    y = x > 709.9 ? KNI_INF_F64 : y;
    return kni_abs_f64(x) < 0x1p-54 ? x : y;
}
typedef struct {
    double m, k;
} kni_log_parts;
KNI_INLINE kni_log_parts kni_log_split_f64(double x)
{
    double scaled = x < 0x1p-1022 ? x * 0x1p54 : x;
    double bias = x < 0x1p-1022 ? 0x1p52 + (1023.0 + 54.0) : 0x1p52 + 1023.0;
    uint64_t u = kni_bits_f64(scaled) + (0x3ff0000000000000u - 0x3fe6a09e667f3bcdu);
    double m = kni_from_bits_f64((u & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu);
    double k = kni_from_bits_f64((u >> 52) | 0x4330000000000000u) - bias;
    return KNI_MAKE(kni_log_parts){m, k};
}
KNI_INLINE double kni_log_kernel_f64(double f)
{
    double s = f / (2.0 + f);
    double z = s * s;
    double p = 0.14797324638076564;
    p = kni_horner4_f64(p, z, 0.15313925511726614, 0.18183568702056821, 0.22222198499251233,
                        0.28571428743006583);
    p = p * z + 0.39999999999412339;
    p = p * z + 0.66666666666667351;
    return s * (0.5 * f * f + z * p);
}
KNI_INLINE double kni_log_specials_f64(double x, double y)
{
    double special = x == 0.0 ? -KNI_INF_F64 : KNI_NAN_F64;
    y = x > 0.0 ? y : special;
    return x < KNI_INF_F64 ? y : x;
}
KNI_INLINE double kni_log_f64(double x)
{
    kni_log_parts v = kni_log_split_f64(x);
    double f = v.m - 1.0;
    double y = v.k * 0x1.62e42fefa3800p-1 - ((0.5 * f * f - (kni_log_kernel_f64(f) + v.k * 0x1.ef35793c76730p-45)) - f);
    return kni_log_specials_f64(x, y);
}
KNI_INLINE double kni_log_base_f64(double x, kni_double2 inverse, kni_double2 whole)
{
    kni_log_parts v = kni_log_split_f64(x);
    double f = v.m - 1.0;
    double half_ = 0.5 * f * f;
    double hi = kni_from_bits_f64(kni_bits_f64(f - half_) & 0xffffffff00000000u);
    double lo = ((f - hi) - half_) + kni_log_kernel_f64(f);
    double part = hi * inverse.hi;
    double rest = (lo + hi) * inverse.lo + lo * inverse.hi + v.k * whole.lo;
    kni_double2 sum = kni_two_sum(v.k * whole.hi, part);
    return kni_log_specials_f64(x, sum.hi + (sum.lo + rest));
}
KNI_INLINE double kni_log2_f64(double x)
{
    return kni_log_base_f64(x, KNI_MAKE(kni_double2){0x1.7154700000000p+0, 0x1.94ae0bf85ddf4p-22},
                            KNI_MAKE(kni_double2){1.0, 0.0});
}
KNI_INLINE double kni_log10_f64(double x)
{
    return kni_log_base_f64(x, KNI_MAKE(kni_double2){0x1.bcb7b00000000p-2, 0x1.526e50e32a6abp-26},
                            KNI_MAKE(kni_double2){0x1.34413509f7000p-2, 0x1.3fde623e2566bp-43});
}
KNI_INLINE double kni_log1p_f64(double x)
{
    double u = 1.0 + x;
    kni_log_parts v = kni_log_split_f64(u);
    double error = x < 1.0 ? x - (u - 1.0) : 1.0 - (u - x);
    int direct = (x > -0.2928) & (x < 0.4142);
    double f = direct ? x : v.m - 1.0;
    double k = direct ? 0.0 : v.k;
    double c = direct ? 0.0 : error / u;
    double y = k * 0x1.62e42fefa3800p-1 - ((0.5 * f * f - (kni_log_kernel_f64(f) + (k * 0x1.ef35793c76730p-45 + c))) - f);
    y = kni_log_specials_f64(u, y);
    return kni_abs_f64(x) < 0x1p-54 ? x : y;
}
KNI_INLINE float kni_exp_kernel_f32(float r)
{
    float q = 0.00139505649f;
    q = kni_horner4_f32(q, r, 0.00836898666f, 0.041666206f, 0.166665182f, 0.5f);
    float s = 1.0f + r;
    return s + (((1.0f - s) + r) + r * r * q);
}
typedef struct {
    float y, k;
} kni_exp_parts_f32;
KNI_INLINE kni_exp_parts_f32 kni_exp_split_f32(float x)
{
    float k = (x * 1.44269504f + 0x1.8p23f) - 0x1.8p23f;
    float r = (x - k * 0x1.62e4p-1f) - k * 1.42860682e-06f;
    return KNI_MAKE(kni_exp_parts_f32){kni_exp_kernel_f32(r), k};
}
KNI_INLINE float kni_exp_f32(float x)
{
    float c = x < -110.0f ? -110.0f : x;
    c = c > 90.0f ? 90.0f : c;
    kni_exp_parts_f32 e = kni_exp_split_f32(c);
    return kni_scale_f32(e.y, e.k);
}
KNI_INLINE float kni_exp_normal_f32(float x)
{
    kni_exp_parts_f32 e = kni_exp_split_f32(x);
    return e.y * kni_power_of_two_f32(e.k);
}
KNI_INLINE float kni_exp2_f32(float x)
{
    float c = x < -160.0f ? -160.0f : x;
    c = c > 130.0f ? 130.0f : c;
    float k = (c + 0x1.8p23f) - 0x1.8p23f;
    return kni_scale_f32(kni_exp_kernel_f32((c - k) * 0.693147182f), k);
}
KNI_INLINE float kni_log_f32(float x)
{
    float scaled = x < 0x1p-126f ? x * 0x1p24f : x;
    float bias = x < 0x1p-126f ? 127.0f + 24.0f : 127.0f;
    uint32_t u = kni_bits_f32(scaled) + (0x3f800000u - 0x3f3504f3u);
    float f = kni_from_bits_f32((u & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
    float k = (float)(int32_t)(u >> 23) - bias;
    float z = f * f;
    float p = 0.0692214146f;
    p = kni_horner4_f32(p, f, -0.117954947f, 0.118728623f, -0.123834014f, 0.142185777f);
    p = kni_horner4_f32(p, f, -0.166693017f, 0.20002231f, -0.249999851f, 0.333333105f);
    float y = f + ((f * z * p + k * 1.42860682e-06f) - 0.5f * z);
    y = k * 0x1.62e4p-1f + y;
    float special = x == 0.0f ? -KNI_INF_F32 : KNI_NAN_F32;
    y = x > 0.0f ? y : special;
    return x < KNI_INF_F32 ? y : x;
}
KNI_INLINE float kni_sigmoid_f32(float x)
{
    float z = kni_exp_f32(-kni_abs_f32(x));
    float d = 1.0f + z;
    float q = (x < 0.0f ? z : 1.0f) / d;
    return q - q * ((1.0f - d) + z) * (1.5f - 0.5f * d);
}
KNI_INLINE double kni_sigmoid_f64(double x)
{
    double z = kni_exp_f64(-kni_abs_f64(x));
    double d = 1.0 + z;
    double q = (x < 0.0 ? z : 1.0) / d;
    return q - q * ((1.0 - d) + z) * (1.5 - 0.5 * d);
}
KNI_INLINE float kni_tanh_f32(float x)
{
    float a = kni_abs_f32(x);
    float z = a * a;
    float p = 0.00214744476f;
    p = kni_horner4_f32(p, z, -0.00818263274f, 0.0217029806f, -0.053947214f, 0.133332103f);
    p = p * z - 0.333333313f;
    float near_zero = a + a * z * p;
    float c = a > 10.0f ? 10.0f : a;
    float far_ = 1.0f - 2.0f / (kni_exp_normal_f32(c + c) + 1.0f);
    return kni_copysign_f32(a < 0.625f ? near_zero : far_, x);
}
KNI_INLINE double kni_log_wide_f32(double x)
{
    uint64_t u = kni_bits_f64(x) + (0x3ff0000000000000u - 0x3fe6a09e667f3bcdu);
    double m = kni_from_bits_f64((u & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu);
    double k = kni_from_bits_f64((u >> 52) | 0x4330000000000000u) - (0x1p52 + 1023.0);
    double s = (m - 1.0) / (m + 1.0);
    double z = s * s;
    double p = 0.23583444500223286;
    p = p * z + 0.28537248522357106;
    p = p * z + 0.40000335983778601;
    p = p * z + 0.66666665642625467;
    return k * 0.69314718055994531 + s * (2.0 + z * p);
}
KNI_INLINE kni_double2 kni_exp_wide_f32(double x)
{
    double k = (x * 1.4426950408889634 + 0x1.8p52) - 0x1.8p52;
    double r = x - k * 0.69314718055994531;
    double q = 0.0001991870327509264;
    q = kni_horner4_f64(q, r, 0.0013946225392142959, 0.0083332637135174782, 0.041666267862637413,
                        0.16666666863916094);
    q = q * r + 0.50000000784927512;
    return KNI_MAKE(kni_double2){k, r + r * r * q};
}
KNI_INLINE float kni_log_specials_f32(float x, double y)
{
    float special = x == 0.0f ? -KNI_INF_F32 : KNI_NAN_F32;
    float r = x > 0.0f ? (float)y : special;
    return x < KNI_INF_F32 ? r : x;
}
KNI_INLINE float kni_log2_f32(float x)
{
    return kni_log_specials_f32(x, kni_log_wide_f32((double)x) * 1.4426950408889634);
}
KNI_INLINE float kni_log10_f32(float x)
{
    return kni_log_specials_f32(x, kni_log_wide_f32((double)x) * 0.43429448190325182);
}
KNI_INLINE float kni_log1p_f32(float x)
{
    double d = (double)x;
    double u = 1.0 + d;
    double y = kni_log_wide_f32(u) + (d < 1.0 ? d - (u - 1.0) : 0.0);
    float r = kni_log_specials_f32((float)u, y);
    r = x < -1.0f ? KNI_NAN_F32 : r;
    return x == 0.0f ? x : r;
}
KNI_INLINE float kni_expm1_f32(float x)
{
    float c = x < -60.0f ? -60.0f : x;
    c = c > 90.0f ? 90.0f : c;
    kni_double2 e = kni_exp_wide_f32((double)c);
    double s = kni_power_of_two_f64(e.hi);
    return x == 0.0f ? x : (float)(s * e.lo + (s - 1.0));
}
KNI_INLINE double kni_sqrt_f64(double x)
{
    return KNI_SQRT_F64(x);
}
KNI_INLINE float kni_sqrt_f32(float x)
{
    return KNI_SQRT_F32(x);
}
KNI_INLINE double kni_rsqrt_f64(double x) { return 1.0 / kni_sqrt_f64(x); }
KNI_INLINE float kni_rsqrt_f32(float x) { return 1.0f / kni_sqrt_f32(x); }
KNI_INLINE double kni_hypot_f64(double x, double y)
{
    double ax = kni_abs_f64(x), ay = kni_abs_f64(y);
    double a = ax > ay ? ax : ay, b = ax > ay ? ay : ax;
    double scale = a > 0x1p500 ? 0x1p-600 : (a < 0x1p-400 ? 0x1p700 : 1.0);
    double back = a > 0x1p500 ? 0x1p600 : (a < 0x1p-400 ? 0x1p-700 : 1.0);
    double as = a * scale, bs = b * scale;
    kni_double2 a2 = kni_two_product(as, as);
    kni_double2 sum = kni_fast_two_sum(a2.hi, bs * bs);
    double r = kni_sqrt_f64(sum.hi + (sum.lo + a2.lo)) * back;
    return ax == KNI_INF_F64 || ay == KNI_INF_F64 ? KNI_INF_F64 : (b == 0.0 ? a : r);
}
KNI_INLINE float kni_hypot_f32(float x, float y)
{
    double a = (double)x, b = (double)y;
    float r = (float)kni_sqrt_f64(a * a + b * b);
    return kni_abs_f32(x) == KNI_INF_F32 || kni_abs_f32(y) == KNI_INF_F32 ? KNI_INF_F32 : r;
}
KNI_INLINE double kni_erf_kernel_f64(double x)
{
    double z = x * x;
    double p = -1.4621112923386238e-07;
    p = kni_horner4_f64(p, z, 1.6371261008121684e-06, -1.4923004808361972e-05, 0.00012055286243325919,
                        -0.00085483265114060577);
    p = kni_horner4_f64(p, z, 0.0052239776220234608, -0.026866170645000069, 0.11283791670954869,
                        -0.37612638903183748);
    p = p * z + 0.12837916709551259;
    return x + x * p;
}
KNI_INLINE double kni_erfc_middle_f64(double x)
{
    double u = x - 0.75;
    double p = -2.1315875231990779e-05;
    p = kni_horner4_f64(p, u, 7.418665786019561e-05, 0.00010610413030321284, -0.00062384960186090096,
                        -0.00018602809863741779);
    p = kni_horner4_f64(p, u, 0.0039682547199026861, -0.0023017884201172109, -0.018435235052278044,
                        0.026872509534449859);
    p = kni_horner4_f64(p, u, 0.053242729166415266, -0.15068696934263759, -0.026788794549795159,
                        0.4821983018964055);
    p = p * u - 0.64293106919520737;
    return 0x1.27c6d14000000p-2 + (u * p + 0x1.8bc6824ebcd0dp-31);
}
KNI_INLINE double kni_erfc_flat_f64(double x)
{
    double t = (x - 2.0) / (x + 2.0);
    double g = -2.9438280133842149e-07;
    g = kni_horner4_f64(g, t, 1.8797820182535176e-06, -4.0160895931187398e-06, 2.4649844121030741e-06,
                        5.9266239197616969e-07);
    g = kni_horner4_f64(g, t, 1.9682070132077666e-06, 1.8059395406797469e-06, -8.6232719856045744e-06,
                        -1.9014784755177865e-05);
    g = kni_horner4_f64(g, t, 6.2517039223137895e-06, 8.9318158262486071e-05, 8.9417356658109175e-05,
                        -0.00031435124786972365);
    g = kni_horner4_f64(g, t, -0.00075018453734517051, 0.0011266579915578012, 0.0047848985550771805,
                        -0.0075157384104012175);
    g = kni_horner4_f64(g, t, -0.028976446698040993, 0.12151493052458033, -0.2038442959288789,
                        0.16721101041410621);
    g = g * t + 0.5107913526210115;
    return g;
}
KNI_INLINE double kni_erfc_tail_f64(double a)
{
    double x = a > 28.0 ? 28.0 : a;
    double g = kni_erfc_flat_f64(x);
    double upper = kni_upper_half_f64(x);
    kni_exp_parts e = kni_exp_split_f64(-(upper * upper), -((x - upper) * (x + upper)));
    double v = g / x;
    return kni_scale_f64(v + v * (e.r + e.rest), e.k);
}
KNI_INLINE double kni_erfc_kernel_f64(double a)
{
    double middle = kni_erfc_middle_f64(a);
    double tail = kni_erfc_tail_f64(a < 1.0 ? 1.0 : a);
    return a < 1.0 ? middle : tail;
}
KNI_INLINE double kni_erf_f64(double x)
{
    double a = kni_abs_f64(x);
    double far_ = 1.0 - kni_erfc_kernel_f64(a);
    return kni_copysign_f64(a < 0.5 ? kni_erf_kernel_f64(a) : far_, x);
}
KNI_INLINE double kni_erfc_f64(double x)
{
    double a = kni_abs_f64(x);
    double far_ = kni_erfc_kernel_f64(a);
    far_ = x < 0.0 ? 2.0 - far_ : far_;
    return a < 0.5 ? 1.0 - kni_erf_kernel_f64(x) : far_;
}
KNI_INLINE float kni_erf_f32(float x)
{
    float a = kni_abs_f32(x);
    float z = a * a;
    float p = 7.8891193e-05f;
    p = kni_horner4_f32(p, z, -0.000802084571f, 0.00518953661f, -0.0268544462f, 0.112836003f);
    p = p * z - 0.37612626f;
    p = p * z + 0.128379166f;
    float near_zero = a + a * p;
    float c = a > 4.0f ? 4.0f : a;
    float q = -2.16973476e-05f;
    q = kni_horner4_f32(q, c, 0.00044146931f, -0.00420526741f, 0.0252102911f, -0.108422019f);
    q = q * c - 0.6332165f;
    q = q * c - 1.12958026f;
    q = q * c + 0.000188458856f;
    float far_ = 1.0f - kni_exp_normal_f32(q);
    return kni_copysign_f32(a < 1.0f ? near_zero : far_, x);
}
KNI_INLINE float kni_erfc_f32(float x) { return (float)kni_erfc_f64((double)x); }
KNI_INLINE double kni_erfinv_start(double x)
{
    double w = -kni_log_f64((1.0 - x) * (1.0 + x));
    double root = kni_sqrt_f64(w);
    double u = w - 2.5, v = root - 3.125, s = root - 5.0;
    double central = -4.7927001763228353e-15;
    central = kni_horner4_f64(central, u, -3.6015197184952851e-14, 5.5089508882400162e-13,
                              5.0830362323166419e-13, -3.1176754177646099e-11);
    central = kni_horner4_f64(central, u, 1.2184855840610291e-10, 9.07526266105957e-10,
                              -1.0868387653589551e-08, 1.3416391335092765e-08);
    central = kni_horner4_f64(central, u, 4.7873851852292609e-07, -3.4166191465467443e-06,
                              -4.9960926533881967e-06, 0.00021825026408335023);
    central = kni_horner4_f64(central, u, -0.0012527079020438253, -0.0041773177243210023, 0.24664027674342309,
                              1.5014093511107893);
    double middle = -6.795560915403223e-07;
    middle = kni_horner4_f64(middle, v, -3.6932613591709156e-06, 1.3500065690404828e-05,
                             -9.2048948049342568e-07, -6.0358004862727144e-05);
    middle = kni_horner4_f64(middle, v, 0.00013796780047568372, -8.8947238133281256e-05,
                             -0.00032925680413418794, 0.0012605365927374926);
    middle = kni_horner4_f64(middle, v, -0.002519785541549426, 0.0037944344742191841, -0.0053010175940162241,
                             0.0070478838172422674);
    middle = middle * v + 1.0037186919429804;
    middle = middle * v + 2.9583201502445857;
    double tail = 1.0945837201505459e-08;
    tail = kni_horner4_f64(tail, s, -2.999918828074556e-08, 2.7463338693580228e-08, -4.668990832516012e-08,
                           2.2791281193976639e-07);
    tail = kni_horner4_f64(tail, s, -1.0068761409694854e-06, 4.5273329592847094e-06, -1.9677322411943319e-05,
                           7.5994900624336316e-05);
    tail = kni_horner4_f64(tail, s, -0.00021503073331411164, -0.00013871928375355606, 1.0103004648888143,
                           4.8499064014081172);
    double r = w < 5.0 ? central : (root < 4.0 ? middle : tail);
    double a = kni_abs_f64(x);
    double y = x * r;
    y = a == 1.0 ? kni_copysign_f64(KNI_INF_F64, x) : y;
    return a > 1.0 ? KNI_NAN_F64 : y;
}
KNI_INLINE double kni_erfinv_f64(double x)
{
    double a = kni_abs_f64(x);
    double y = kni_erfinv_start(a);
    double c = y < 6.5 ? y : 6.5;
    double residual = c < 0.5 ? kni_erf_kernel_f64(c) - a : (1.0 - a) - kni_erfc_kernel_f64(c);
    double step = residual * 0.88622692545275801 * kni_exp_f64(c * c);
    double refined = c - step / (1.0 + c * step);
    y = a < 1.0 ? refined : y;
    return kni_copysign_f64(y, x);
}
KNI_INLINE float kni_erfinv_f32(float x) { return (float)kni_erfinv_start((double)x); }
KNI_INLINE double kni_exp_square_f64(double x)
{
    double c = x > 27.0 ? 27.0 : x < -27.0 ? -27.0 : x;
    kni_double2 z = kni_two_product(c, c);
    kni_exp_parts e = kni_exp_split_f64(z.hi, z.lo);
    return kni_scale_f64(kni_exp_join_f64(e.r, e.rest), e.k);
}
KNI_FUNCTION double kni_erfcx_f64(double x)
{
    if (x < 1.0) return x < -26.7 ? KNI_INF_F64 : kni_exp_square_f64(x) * kni_erfc_f64(x);
    if (x <= 28.0) return kni_erfc_flat_f64(x) / x;
    double u = 1.0 / x, z = u * u;
    double p = 6.5625 - z * (29.53125 - z * 162.421875);
    return 0.56418958354775629 * u * (1.0 - z * (0.5 - z * (0.75 - z * (1.875 - z * p))));
}
KNI_FUNCTION float kni_erfcx_f32(float x) { return (float)kni_erfcx_f64((double)x); }
typedef struct {
    double first, second, third;
} kni_turns;
KNI_INLINE kni_turns kni_half_turns_f32(float x)
{
    double d = (double)x;
    double a = kni_abs_f64(d);
    double c0 = 0x1.45f306dp-2, c1 = 0x1.9391054p-31, c2 = 0x1.4fe13abe8fa9ap-60;
    c0 = a >= 0x1p32 ? 0x1.f306dc8p-10 : c0;
    c1 = a >= 0x1p32 ? 0x1.c882a53p-38 : c1;
    c2 = a >= 0x1p32 ? 0x1.f09d5f47d4d37p-67 : c2;
    c0 = a >= 0x1p56 ? 0x1.3910548p-35 : c0;
    c1 = a >= 0x1p56 ? 0x1.3f84eafp-62 : c1;
    c2 = a >= 0x1p56 ? 0x1.47d4d377036d9p-91 : c2;
    c0 = a >= 0x1p80 ? 0x1.29fc275p-57 : c0;
    c1 = a >= 0x1p80 ? 0x1.f47d4d2p-87 : c1;
    c2 = a >= 0x1p80 ? 0x1.77036d8a5664fp-115 : c2;
    c0 = a >= 0x1p104 ? 0x1.57d1f53p-81 : c0;
    c1 = a >= 0x1p104 ? 0x1.377036cp-111 : c1;
    c2 = a >= 0x1p104 ? 0x1.8a5664f10e410p-139 : c2;
    return KNI_MAKE(kni_turns){d * c0, d * c1, d * c2};
}
KNI_INLINE double kni_sin_turns(kni_turns t, double offset)
{
    double shifted = (t.first + t.second + offset) + 0x1.8p52;
    double n = (shifted - 0x1.8p52) - offset;
    double r = ((t.first - n) + t.second) + t.third;
    double z = r * r;
    double p = -0.007021469918354009;
    p = kni_horner4_f64(p, z, 0.082046079072329414, -0.59925125003108026, 2.5501632338228331,
                        -5.1677127619329175);
    p = p * z + 3.1415926535225331;
    return kni_from_bits_f64(kni_bits_f64(r * p) ^ kni_bits_f64(shifted) << 63);
}
KNI_INLINE float kni_sin_f32(float x)
{
    float y = (float)kni_sin_turns(kni_half_turns_f32(x), 0.0);
    return x == 0.0f ? x : y;
}
KNI_INLINE float kni_cos_f32(float x) { return (float)kni_sin_turns(kni_half_turns_f32(x), 0.5); }
KNI_INLINE float kni_tan_f32(float x)
{
    kni_turns t = kni_half_turns_f32(x);
    float y = (float)(kni_sin_turns(t, 0.0) / kni_sin_turns(t, 0.5));
    return x == 0.0f ? x : y;
}
KNI_INLINE double kni_round_even_f64(double x)
{
    double a = kni_abs_f64(x);
    double r = (a + 0x1p52) - 0x1p52;
    return a < 0x1p52 ? kni_copysign_f64(r, x) : x;
}
KNI_INLINE float kni_round_even_f32(float x)
{
    float a = kni_abs_f32(x);
    float r = (a + 0x1p23f) - 0x1p23f;
    return a < 0x1p23f ? kni_copysign_f32(r, x) : x;
}
KNI_INLINE double kni_trunc_f64(double x)
{
    double a = kni_abs_f64(x);
    double r = (a + 0x1p52) - 0x1p52;
    r = r > a ? r - 1.0 : r;
    return a < 0x1p52 ? kni_copysign_f64(r, x) : x;
}
KNI_INLINE float kni_trunc_f32(float x)
{
    float a = kni_abs_f32(x);
    float r = (a + 0x1p23f) - 0x1p23f;
    r = r > a ? r - 1.0f : r;
    return a < 0x1p23f ? kni_copysign_f32(r, x) : x;
}
KNI_INLINE double kni_floor_f64(double x)
{
    double r = kni_round_even_f64(x);
    r = r > x ? r - 1.0 : r;
    return kni_abs_f64(x) < 0x1p52 ? kni_copysign_f64(r, x) : x;
}
KNI_INLINE float kni_floor_f32(float x)
{
    float r = kni_round_even_f32(x);
    r = r > x ? r - 1.0f : r;
    return kni_abs_f32(x) < 0x1p23f ? kni_copysign_f32(r, x) : x;
}
KNI_INLINE double kni_ceil_f64(double x)
{
    double r = kni_round_even_f64(x);
    r = r < x ? r + 1.0 : r;
    return kni_abs_f64(x) < 0x1p52 ? kni_copysign_f64(r, x) : x;
}
KNI_INLINE float kni_ceil_f32(float x)
{
    float r = kni_round_even_f32(x);
    r = r < x ? r + 1.0f : r;
    return kni_abs_f32(x) < 0x1p23f ? kni_copysign_f32(r, x) : x;
}
typedef struct {
    uint64_t significand;
    int exponent;
} kni_unpacked;
KNI_FUNCTION kni_unpacked kni_unpack_f64(double x)
{
    uint64_t u = kni_bits_f64(x) & ~0x8000000000000000u;
    int e = (int)(u >> 52);
    uint64_t m = u & 0x000fffffffffffffu;
    if (e) return KNI_MAKE(kni_unpacked){m | 0x0010000000000000u, e - 1075};
    int shift = KNI_LEADING_ZEROS(m) - 11;
    return KNI_MAKE(kni_unpacked){m << shift, -1074 - shift};
}
KNI_FUNCTION double kni_fmod_f64(double x, double y)
{
    double ax = kni_abs_f64(x), ay = kni_abs_f64(y);
    if (!(ax < KNI_INF_F64) || !(ay > 0.0)) return KNI_NAN_F64;
    if (ax < ay) return x;
    kni_unpacked a = kni_unpack_f64(ax), b = kni_unpack_f64(ay);
    uint64_t m = a.significand % b.significand;
    for (int left = a.exponent - b.exponent; left > 0 && m;) {
        int step = left < 11 ? left : 11;
        m = (m << step) % b.significand;
        left -= step;
    }
    return kni_copysign_f64(kni_scale_f64((double)m, (double)b.exponent), x);
}
KNI_FUNCTION float kni_fmod_f32(float x, float y)
{
    double ax = kni_abs_f64((double)x), ay = kni_abs_f64((double)y);
    if (!(ax < KNI_INF_F64) || !(ay > 0.0)) return KNI_NAN_F32;
    if (ax < ay) return x;
    kni_unpacked a = kni_unpack_f64(ax), b = kni_unpack_f64(ay);
    uint64_t divisor = b.significand >> 29;
    uint64_t m = (a.significand >> 29) % divisor;
    for (int left = a.exponent - b.exponent; left > 0 && m;) {
        int step = left < 40 ? left : 40;
        m = (m << step) % divisor;
        left -= step;
    }
    return kni_copysign_f32((float)kni_scale_f64((double)m, (double)(b.exponent + 29)), x);
}
KNI_FUNCTION double kni_remainder_floor_f64(double x, double y)
{
    double r = kni_fmod_f64(x, y);
    return r != 0.0 && (r < 0.0) != (y < 0.0) ? r + y : r;
}
KNI_FUNCTION float kni_remainder_floor_f32(float x, float y)
{
    float r = kni_fmod_f32(x, y);
    return r != 0.0f && (r < 0.0f) != (y < 0.0f) ? r + y : r;
}
KNI_INLINE double kni_sin_turn_f64(double b)
{
    double z = b * b;
    double p = -0.011678685816843986;
    p = kni_horner4_f64(p, z, 0.10418185560378534, -0.71811877720996731, 3.8199524257217732,
                        -15.094642572364773);
    p = kni_horner4_f64(p, z, 42.058693944821393, -76.705859753060636, 81.605249276075057,
                        -41.341702240399762);
    p = p * z + 0.0019353071795864769;
    return b * 6.28125 + b * p;
}
KNI_INLINE double kni_sin_pi_f64(double x) { return kni_sin_turn_f64(0.5 * (x - kni_round_even_f64(x))); }
KNI_INLINE double kni_cos_pi_f64(double x)
{
    return kni_sin_turn_f64(0.25 - 0.5 * kni_abs_f64(x - kni_round_even_f64(x)));
}
KNI_INLINE double kni_lgamma_near_two_f64(double w)
{
    double p = -9.155195090040214e-08;
    p = kni_horner4_f64(p, w, 2.7361245697093019e-07, -4.8003107854213469e-07, 9.2544812987555547e-07,
                        -2.0206631585160162e-06);
    p = kni_horner4_f64(p, w, 4.3823881100690027e-06, -9.4448772456738023e-06, 2.0506111996251387e-05,
                        -4.4925356188258936e-05);
    p = kni_horner4_f64(p, w, 9.9457607868428912e-05, -0.00022315484180950032, 0.00050966951999806102,
                        -0.0011927539072952807);
    p = kni_horner4_f64(p, w, 0.0028905103308701973, -0.0073855510287905105, 0.020580808427782878,
                        -0.067352301053196909);
    p = p * w + 0.3224670334241132;
    p = p * w + 0.42278433509846713;
    return p;
}
KNI_INLINE double kni_stirling_rest_f64(double z)
{
    double s = 0.0050692653923526494;
    s = kni_horner4_f64(s, z, -0.0018905408298981376, 0.00084147286693802615, -0.00059523660711623962,
                        0.00079365078983555852);
    s = s * z - 0.0027777777777741003;
    s = s * z + 0.083333333333333329;
    return s;
}
KNI_INLINE double kni_lgamma_positive_f64(double a)
{
    double c = a < 8.0 ? a : 2.0;
    double n = kni_floor_f64(c - 1.5);
    n = n > 0.0 ? n : 0.0;
    double product = 1.0;
    product *= n >= 1.0 ? c - 1.0 : 1.0;
    product *= n >= 2.0 ? c - 2.0 : 1.0;
    product *= n >= 3.0 ? c - 3.0 : 1.0;
    product *= n >= 4.0 ? c - 4.0 : 1.0;
    product *= n >= 5.0 ? c - 5.0 : 1.0;
    product *= n >= 6.0 ? c - 6.0 : 1.0;
    product = c < 1.5 ? c : product;
    product = c < 0.6 ? c * (c + 1.0) : product;
    double w = c < 1.5 ? c - 1.0 : (c - n) - 2.0;
    w = c < 0.6 ? c : w;
    double p = kni_lgamma_near_two_f64(w);
    double logarithm = kni_log_f64(a < 8.0 ? product : a);
    double small = w * p + (c < 1.5 ? -logarithm : logarithm);
    double inverse = 1.0 / a;
    double z = inverse * inverse;
    double s = kni_stirling_rest_f64(z);
    double large = (a - 0.5) * (logarithm - 1.0) + (0.41893853320467274 + s * inverse);
    return a < 8.0 ? small : large;
}
KNI_INLINE double kni_lgamma_f64(double x)
{
    double a = kni_abs_f64(x);
    double y = kni_lgamma_positive_f64(a);
    double sine = kni_abs_f64(kni_sin_pi_f64(a));
    double reflected = kni_log_f64(3.1415926535897931 / (a * sine)) - y;
    reflected = sine == 0.0 ? KNI_INF_F64 : reflected;
    y = x < -0x1p-60 ? reflected : y;
    return a == KNI_INF_F64 ? a : y;
}
KNI_INLINE double kni_digamma_f64(double x)
{
    double a = x < 0.0 ? 1.0 - x : x;
    double b = a < 10.0 ? a : 10.0;
    double n = 10.0 - kni_floor_f64(b);
    double sum = 0.0;
    sum += n >= 10.0 ? 1.0 / (a + 9.0) : 0.0;
    sum += n >= 9.0 ? 1.0 / (a + 8.0) : 0.0;
    sum += n >= 8.0 ? 1.0 / (a + 7.0) : 0.0;
    sum += n >= 7.0 ? 1.0 / (a + 6.0) : 0.0;
    sum += n >= 6.0 ? 1.0 / (a + 5.0) : 0.0;
    sum += n >= 5.0 ? 1.0 / (a + 4.0) : 0.0;
    sum += n >= 4.0 ? 1.0 / (a + 3.0) : 0.0;
    sum += n >= 3.0 ? 1.0 / (a + 2.0) : 0.0;
    sum += n >= 2.0 ? 1.0 / (a + 1.0) : 0.0;
    sum += n >= 1.0 ? 1.0 / a : 0.0;
    double c = a + n;
    double inverse = 1.0 / c;
    double z = inverse * inverse;
    double p = 1.0 / 12.0;
    p = kni_horner4_f64(p, z, -691.0 / 32760.0, 1.0 / 132.0, -1.0 / 240.0, 1.0 / 252.0);
    p = (p * z - 1.0 / 120.0) * z + 1.0 / 12.0;
    double y = ((kni_log_f64(c) - 0.5 * inverse) - z * p) - sum;
    double fraction = x - kni_round_even_f64(x);
    double cotangent = kni_cos_pi_f64(x) / kni_sin_turn_f64(0.5 * fraction);
    y = x < 0.0 ? y - 3.1415926535897931 * cotangent : y;
    y = x < 0.0 ? (fraction == 0.0 ? KNI_NAN_F64 : y) : y;
    y = x == -KNI_INF_F64 ? KNI_NAN_F64 : y;
    return x == 0.0 ? kni_copysign_f64(KNI_INF_F64, -x) : y;
}
KNI_INLINE float kni_lgamma_f32(float x) { return (float)kni_lgamma_f64((double)x); }
KNI_INLINE float kni_digamma_f32(float x) { return (float)kni_digamma_f64((double)x); }
KNI_INLINE double kni_sinh_f64(double x)
{
    double a = kni_abs_f64(x);
    double t = kni_expm1_f64(a > 22.0 ? 22.0 : a);
    double near_zero = 0.5 * (t + t / (t + 1.0));
    double far_ = kni_exp_shifted_f64(a, -1.0);
    double y = a > 22.0 ? far_ : near_zero;
    return a < 0x1p-28 ? x : kni_copysign_f64(y, x);
}
KNI_INLINE double kni_cosh_f64(double x)
{
    double h = kni_exp_shifted_f64(kni_abs_f64(x), -1.0);
    return h + 0.25 / h;
}
KNI_INLINE double kni_tanh_f64(double x)
{
    double a = kni_abs_f64(x);
    double c = a > 22.0 ? 22.0 : a;
    double t = kni_expm1_f64(c + c);
    double q = (a > 0.55 ? 2.0 : t) / (t + 2.0);
    double y = a > 0.55 ? 1.0 - q : q;
    return a < 0x1p-28 ? x : kni_copysign_f64(y, x);
}
KNI_INLINE double kni_asinh_f64(double x)
{
    double a = kni_abs_f64(x);
    int huge = a > 0x1p28;
    double c = huge ? 1.0 : a;
    double argument = c + c * c / (kni_sqrt_f64(c * c + 1.0) + 1.0);
    double y = kni_log1p_f64(huge ? a - 1.0 : argument) + (huge ? 0.69314718055994531 : 0.0);
    return a < 0x1p-28 ? x : kni_copysign_f64(y, x);
}
KNI_INLINE double kni_acosh_f64(double x)
{
    int huge = x > 0x1p28;
    double t = (huge ? 2.0 : x) - 1.0;
    double argument = t + kni_sqrt_f64(t * (t + 2.0));
    double y = kni_log1p_f64(huge ? x - 1.0 : argument) + (huge ? 0.69314718055994531 : 0.0);
    return x < 1.0 ? KNI_NAN_F64 : y;
}
KNI_INLINE double kni_atanh_f64(double x)
{
    double a = kni_abs_f64(x);
    double y = 0.5 * kni_log1p_f64((a + a) / (1.0 - a));
    y = a > 1.0 ? KNI_NAN_F64 : y;
    return a < 0x1p-28 ? x : kni_copysign_f64(y, x);
}
KNI_INLINE float kni_sinh_f32(float x) { return (float)kni_sinh_f64((double)x); }
KNI_INLINE float kni_cosh_f32(float x) { return (float)kni_cosh_f64((double)x); }
KNI_INLINE float kni_asinh_f32(float x) { return (float)kni_asinh_f64((double)x); }
KNI_INLINE float kni_acosh_f32(float x) { return (float)kni_acosh_f64((double)x); }
KNI_INLINE float kni_atanh_f32(float x) { return (float)kni_atanh_f64((double)x); }
KNI_INLINE double kni_atan_positive_f64(double a)
{
    double top = a, bottom = 1.0, hi = 0.0, lo = 0.0;
    top = a >= 0.4375 ? 2.0 * a - 1.0 : top;
    bottom = a >= 0.4375 ? 2.0 + a : bottom;
    hi = a >= 0.4375 ? 0x1.dac670561bb4fp-2 : hi;
    lo = a >= 0.4375 ? 0x1.a2b7f222f65e2p-56 : lo;
    top = a >= 0.6875 ? a - 1.0 : top;
    bottom = a >= 0.6875 ? a + 1.0 : bottom;
    hi = a >= 0.6875 ? 0x1.921fb54442d18p-1 : hi;
    lo = a >= 0.6875 ? 0x1.1a62633145c07p-55 : lo;
    top = a >= 1.1875 ? a - 1.5 : top;
    bottom = a >= 1.1875 ? 1.0 + 1.5 * a : bottom;
    hi = a >= 1.1875 ? 0x1.f730bd281f69bp-1 : hi;
    lo = a >= 1.1875 ? 0x1.007887af0cbbdp-56 : lo;
    top = a >= 2.4375 ? -1.0 : top;
    bottom = a >= 2.4375 ? a : bottom;
    hi = a >= 2.4375 ? 0x1.921fb54442d18p+0 : hi;
    lo = a >= 2.4375 ? 0x1.1a62633145c07p-54 : lo;
    double t = top / bottom;
    double z = t * t;
    double p = -0.01627728882038236;
    p = kni_horner4_f64(p, z, 0.036522967831419333, -0.049765038639572927, 0.058334783806130906,
                        -0.066610591926497612);
    p = kni_horner4_f64(p, z, 0.076918748463796871, -0.090908870485933727, 0.11111110402165819,
                        -0.14285714272428923);
    p = p * z + 0.19999999999875626;
    p = p * z - 0.33333333333332926;
    return hi + (t + (t * z * p + lo));
}
KNI_INLINE double kni_atan_f64(double x)
{
    return kni_copysign_f64(kni_atan_positive_f64(kni_abs_f64(x)), x);
}
KNI_INLINE double kni_atan2_f64(double y, double x)
{
    double ax = kni_abs_f64(x), ay = kni_abs_f64(y);
    double ratio = ay / ax;
    ratio = ay == 0.0 && ax == 0.0 ? 0.0 : ratio;
    ratio = ay == KNI_INF_F64 && ax == KNI_INF_F64 ? 1.0 : ratio;
    double angle = kni_atan_positive_f64(ratio);
    double reflected = ratio == KNI_INF_F64 ? angle : 0x1.921fb54442d18p+1 - (angle - 0x1.1a62633145c07p-53);
    angle = (kni_bits_f64(x) & 0x8000000000000000u) != 0 ? reflected : angle;
    return kni_copysign_f64(angle, y);
}
typedef struct {
    double r, s, hi, lo;
} kni_asin_parts;
KNI_INLINE kni_asin_parts kni_asin_split_f64(double a)
{
    double z = a < 0.5 ? a * a : (1.0 - a) * 0.5;
    double p = 0.032695152692348045;
    p = kni_horner4_f64(p, z, -0.021104907024715423, 0.021781892439177438, 0.0036759381836254899,
                        0.010788291521710963);
    p = kni_horner4_f64(p, z, 0.011397481911498161, 0.013980995033933083, 0.017351597471690582,
                        0.022372215797312089);
    p = kni_horner4_f64(p, z, 0.030381942679003394, 0.044642857175214039, 0.074999999999701625,
                        0.16666666666666763);
    double s = kni_sqrt_f64(z);
    double hi = kni_upper_half_f64(s);
    double lo = (z - hi * hi) / (s + hi);
    return KNI_MAKE(kni_asin_parts){z * p, s, hi, z == 0.0 ? 0.0 : lo};
}
KNI_INLINE double kni_asin_f64(double x)
{
    const double quarter = 0.5 * 0x1.921fb54442d18p+0;
    double a = kni_abs_f64(x);
    kni_asin_parts v = kni_asin_split_f64(a);
    double near_one = quarter - ((2.0 * v.s * v.r - (0x1.1a62633145c07p-54 - 2.0 * v.lo)) - (quarter - 2.0 * v.hi));
    double y = a < 0.5 ? a + a * v.r : near_one;
    return kni_copysign_f64(a > 1.0 ? KNI_NAN_F64 : y, x);
}
KNI_INLINE double kni_acos_f64(double x)
{
    double a = kni_abs_f64(x);
    kni_asin_parts v = kni_asin_split_f64(a);
    double middle = 0x1.921fb54442d18p+0 - (x - (0x1.1a62633145c07p-54 - x * v.r));
    double near_one = 2.0 * (v.hi + (v.r * v.s + v.lo));
    double near_minus_one = 2.0 * (0x1.921fb54442d18p+0 - (v.s + (v.r * v.s - 0x1.1a62633145c07p-54)));
    double y = x < 0.0 ? near_minus_one : near_one;
    y = a < 0.5 ? middle : y;
    return a > 1.0 ? KNI_NAN_F64 : y;
}
KNI_INLINE float kni_asin_f32(float x) { return (float)kni_asin_f64((double)x); }
KNI_INLINE float kni_acos_f32(float x) { return (float)kni_acos_f64((double)x); }
KNI_INLINE float kni_atan_f32(float x) { return (float)kni_atan_f64((double)x); }
KNI_INLINE float kni_atan2_f32(float y, float x) { return (float)kni_atan2_f64((double)y, (double)x); }
KNI_INLINE void kni_philox_words(uint32_t key0, uint32_t key1, const uint32_t counter[4], uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    for (int i = 0; i < 10; i++) {
        uint64_t a = (uint64_t)c0 * 0xd2511f53u;
        uint64_t b = (uint64_t)c2 * 0xcd9e8d57u;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ key0;
        c1 = (uint32_t)b;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ key1;
        c3 = (uint32_t)a;
        key0 += 0x9e3779b9u;
        key1 += 0xbb67ae85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}
KNI_INLINE void kni_philox(uint64_t key, uint64_t counter, uint32_t out[4])
{
    const uint32_t words[4] = {(uint32_t)counter, (uint32_t)(counter >> 32), 0, 0};
    kni_philox_words((uint32_t)key, (uint32_t)(key >> 32), words, out);
}
KNI_INLINE int64_t kni_philox_word(int64_t key, int64_t counter, int64_t word)
{
    uint32_t four[4];
    kni_philox((uint64_t)key, (uint64_t)counter, four);
    uint32_t even = (word & 2) != 0 ? four[2] : four[0], odd = (word & 2) != 0 ? four[3] : four[1];
    return (int64_t)((word & 1) != 0 ? odd : even);
}
KNI_INLINE float kni_cos_turn_f32(float u)
{
    float b = kni_abs_f32(u - 0.5f) - 0.25f;
    float z = b * b;
    float p = -14.3802547f;
    p = kni_horner4_f32(p, z, 42.0076332f, -76.7041626f, 81.6052246f, -41.3417015f);
    p = p * z + 0.00193530718f;
    return b * 6.28125f + b * p;
}
KNI_INLINE double kni_cos_turn_f64(double u) { return kni_sin_turn_f64(kni_abs_f64(u - 0.5) - 0.25); }
KNI_INLINE kni_double2 kni_log_double2(double x)
{
    kni_log_parts v = kni_log_split_f64(x);
    int low = v.m<0.866, high = v.m> 1.2247;
    double b = low ? 0.75 : (high ? 1.5 : 1.0);
    double b_hi = low ? -0x1.269621134e000p-2 : (high ? 0x1.9f323ecbf9000p-2 : 0.0);
    double b_lo = low ? 0x1.1b61f10522625p-44 : (high ? 0x1.097e56d1aecdfp-43 : 0.0);
    double f = v.m - b, d = v.m + b, d_lo = v.m - (d - b);
    double s = f / d;
    kni_double2 back = kni_two_product(s, d);
    double s_lo = (((f - back.hi) - back.lo) - s * d_lo) / d;
    kni_double2 z = kni_two_product(s, s);
    z.lo += 2.0 * s * s_lo;
    double y = z.hi;
    double p = 0.12248054148581335;
    p = kni_horner4_f64(p, y, 0.13324342425364361, 0.15384703618163609, 0.18181817692127794,
                        0.22222222223739821);
    p = p * y + 0.28571428571426183;
    p = p * y + 0.40000000000000002;
    kni_double2 t = kni_two_product(z.hi, 0x1.5555555555555p-1);
    t.lo += z.hi * 0x1.5555555555555p-55 + z.lo * 0x1.5555555555555p-1;
    kni_double2 u = kni_fast_two_sum(t.hi, y * y * p);
    u.lo += t.lo;
    kni_double2 w = kni_two_product(s, u.hi);
    w.lo += s * u.lo + s_lo * u.hi;
    kni_double2 first = kni_two_sum(v.k * 0x1.62e42fefa3800p-1 + b_hi, 2.0 * s);
    kni_double2 second = kni_two_sum(first.hi, w.hi);
    double rest = ((first.lo + second.lo) + (2.0 * s_lo + w.lo)) + (v.k * 0x1.ef35793c76730p-45 + b_lo);
    return kni_fast_two_sum(second.hi, rest);
}
KNI_INLINE double kni_pow_positive_f64(double x, double y)
{
    double c = y > 0x1p66 ? 0x1p66 : y;
    c = c < -0x1p66 ? -0x1p66 : c;
    kni_double2 l = kni_log_double2(x);
    kni_double2 e = kni_two_product(c, l.hi);
    e.lo += c * l.lo;
    int extreme = kni_abs_f64(e.hi) > 760.0;
    double hi = extreme ? (e.hi > 0.0 ? 760.0 : -760.0) : e.hi;
    double lo = extreme ? 0.0 : e.lo;
    kni_exp_parts parts = kni_exp_split_f64(hi, lo);
    return kni_scale_f64(kni_exp_join_f64(parts.r, parts.rest), parts.k);
}
KNI_INLINE double kni_pow_specials_f64(double x, double y, double magnitude)
{
    double a = kni_abs_f64(x), b = kni_abs_f64(y);
    double half_ = y * 0.5;
    double fraction = y - kni_round_even_f64(y);
    double parity = half_ - kni_round_even_f64(half_);
    double sign = parity != 0.0 ? -1.0 : 1.0;
    double invalid = (a == 0.0 || a == KNI_INF_F64) ? 1.0 : KNI_NAN_F64;
    sign = fraction != 0.0 ? invalid : sign;
    sign = b == KNI_INF_F64 ? 1.0 : sign;
    sign = (kni_bits_f64(x) & 0x8000000000000000u) != 0 ? sign : 1.0;
    double grown = y > 0.0 ? KNI_INF_F64 : 0.0;
    double shrunk = y > 0.0 ? 0.0 : KNI_INF_F64;
    double at_infinity = a > 1.0 ? grown : shrunk;
    at_infinity = a == 1.0 ? 1.0 : at_infinity;
    double r = a == 0.0 ? shrunk : magnitude;
    r = a == KNI_INF_F64 ? grown : r;
    r = b == KNI_INF_F64 ? at_infinity : r;
    r *= sign;
    r = x != x ? x : r;
    r = y != y ? y : r;
    r = x == 1.0 ? 1.0 : r;
    return y == 0.0 ? 1.0 : r;
}
KNI_INLINE double kni_pow_f64(double x, double y)
{
    return kni_pow_specials_f64(x, y, kni_pow_positive_f64(kni_abs_f64(x), y));
}
KNI_INLINE float kni_pow_f32(float x, float y)
{
    double e = (double)y * kni_log_wide_f32(kni_abs_f64((double)x));
    e = e < -200.0 ? -200.0 : e;
    e = e > 200.0 ? 200.0 : e;
    kni_double2 parts = kni_exp_wide_f32(e);
    double s = kni_power_of_two_f64(parts.hi);
    return (float)kni_pow_specials_f64((double)x, (double)y, s + s * parts.lo);
}
typedef struct {
    double hi, lo;
    uint64_t quadrant;
} kni_angle;
KNI_INLINE kni_angle kni_reduce_bounded(double x)
{
    double shifted = x * 0.63661977236758134 + 0x1.8p52;
    double n = shifted - 0x1.8p52;
    double a = x - n * 0x1.921fb544p+0;
    kni_double2 b = kni_two_sum(a, -(n * 0x1.0b4611a6p-34));
    kni_double2 c = kni_two_sum(b.hi, -(n * 0x1.3198a2ep-69));
    double low = (b.lo + c.lo) - n * 0x1.b839a252049c1p-104;
    double hi = c.hi + low;
    return KNI_MAKE(kni_angle){hi, (c.hi - hi) + low, kni_bits_f64(shifted)};
}
KNI_TABLE uint32_t kni_reduce_huge_two_over_pi[40] = {
        0x00000000, 0x00000000, 0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041,
        0xfe5163ab, 0xdebbc561, 0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e,
        0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b,
        0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d,
        0x7527bac7, 0xebe5f17b, 0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046, 0xfc7b6bab};
KNI_FUNCTION kni_angle kni_reduce_huge(double x)
{
    uint64_t u = kni_bits_f64(x) & ~0x8000000000000000u;
    uint64_t m = (u & 0x000fffffffffffffu) | 0x0010000000000000u;
    unsigned skip = (unsigned)(u >> 52) - 1075 - 2 + 64;
    uint32_t window[6], product[6];
    for (unsigned i = 0; i < 6; i++) {
        unsigned at = (skip >> 5) + i;
        uint64_t pair = (uint64_t)kni_reduce_huge_two_over_pi[at] << 32 | kni_reduce_huge_two_over_pi[at + 1];
        window[i] = (uint32_t)(pair >> (32 - (skip & 31)));
    }
    uint64_t carry = 0;
    for (int i = 5; i >= 0; i--) {
        carry += (m & 0xffffffffu) * window[i];
        product[i] = (uint32_t)carry;
        carry >>= 32;
    }
    carry = 0;
    for (int i = 4; i >= 0; i--) {
        carry += (m >> 32) * window[i + 1] + product[i];
        product[i] = (uint32_t)carry;
        carry >>= 32;
    }
    uint64_t quadrant = (uint64_t)(product[0] >> 30) + ((product[0] >> 29) & 1);
    uint32_t negative = (product[0] >> 29) & 1 ? 0xffffffffu : 0;
    kni_double2 f = {0.0, 0.0};
    double unit = 0x1p-32;
    for (int i = 0; i < 6; i++) {
        uint32_t word = (product[i] << 2 | (i < 5 ? product[i + 1] >> 30 : 0)) ^ negative;
        kni_double2 s = kni_two_sum(f.hi, (double)word * unit);
        f = KNI_MAKE(kni_double2){s.hi, f.lo + s.lo};
        unit *= 0x1p-32;
    }
    kni_double2 r = kni_two_product(f.hi, 0x1.921fb54442d18p+0);
    r.lo += f.hi * 0x1.1a62633145c07p-54 + f.lo * 0x1.921fb54442d18p+0;
    double hi = r.hi + r.lo, lo = (r.hi - hi) + r.lo;
    int flip = (negative != 0) != (x < 0.0);
    return KNI_MAKE(kni_angle){flip ? -hi : hi, flip ? -lo : lo, x < 0.0 ? 0 - quadrant : quadrant};
}
KNI_INLINE double kni_sin_rest_f64(double hi, double lo)
{
    double z = hi * hi;
    double p = 1.5896423616542607e-10;
    p = kni_horner4_f64(p, z, -2.5050751981950539e-08, 2.7557313654784896e-06, -0.00019841269829707373,
                        0.0083333333333222969);
    double v = z * hi;
    return v * -0.16666666666666632 - (z * (0.5 * lo - v * p) - lo);
}
KNI_INLINE kni_double2 kni_cos_kernel_f64(double hi, double lo)
{
    double z = hi * hi;
    double p = -1.1359382702019237e-11;
    p = kni_horner4_f64(p, z, 2.087571835507214e-09, -2.755731431780442e-07, 2.4801587289369133e-05,
                        -0.0013888888888873956);
    p = p * z + 0.041666666666666602;
    double half_ = 0.5 * z;
    double w = 1.0 - half_;
    return KNI_MAKE(kni_double2){w, ((1.0 - w) - half_) + (z * z * p - hi * lo)};
}
KNI_INLINE double kni_sin_angle_f64(kni_angle a)
{
    kni_double2 c = kni_cos_kernel_f64(a.hi, a.lo);
    double s = a.hi + kni_sin_rest_f64(a.hi, a.lo);
    double y = (a.quadrant & 1) == 0 ? s : c.hi + c.lo;
    return kni_from_bits_f64(kni_bits_f64(y) ^ (a.quadrant & 2) << 62);
}
KNI_INLINE double kni_tan_angle_f64(kni_angle a)
{
    kni_double2 cosine = kni_cos_kernel_f64(a.hi, a.lo);
    cosine = kni_fast_two_sum(cosine.hi, cosine.lo);
    kni_double2 sine = kni_fast_two_sum(a.hi, kni_sin_rest_f64(a.hi, a.lo));
    int odd = (a.quadrant & 1) != 0;
    double top = odd ? -cosine.hi : sine.hi, top_lo = odd ? -cosine.lo : sine.lo;
    double bottom = odd ? sine.hi : cosine.hi, bottom_lo = odd ? sine.lo : cosine.lo;
    double q = top / bottom;
    kni_double2 back = kni_two_product(q, bottom);
    return q + (((top - back.hi) - back.lo) + (top_lo - q * bottom_lo)) / bottom;
}
KNI_INLINE double kni_sin_bounded_f64(double x)
{
    double y = kni_sin_angle_f64(kni_reduce_bounded(x));
    return kni_abs_f64(x) < 0x1p-27 ? x : y;
}
KNI_INLINE double kni_cos_bounded_f64(double x)
{
    kni_angle a = kni_reduce_bounded(x);
    a.quadrant += 1;
    return kni_sin_angle_f64(a);
}
KNI_INLINE double kni_tan_bounded_f64(double x)
{
    double y = kni_tan_angle_f64(kni_reduce_bounded(x));
    return kni_abs_f64(x) < 0x1p-27 ? x : y;
}
KNI_INLINE int kni_is_bounded_angle(double x) { return kni_abs_f64(x) <= 0x1p20; }
KNI_FUNCTION double kni_sin_f64(double x)
{
    if (kni_is_bounded_angle(x)) return kni_sin_bounded_f64(x);
    if (!(kni_abs_f64(x) < KNI_INF_F64)) return KNI_NAN_F64;
    return kni_sin_angle_f64(kni_reduce_huge(x));
}
KNI_FUNCTION double kni_cos_f64(double x)
{
    if (kni_is_bounded_angle(x)) return kni_cos_bounded_f64(x);
    if (!(kni_abs_f64(x) < KNI_INF_F64)) return KNI_NAN_F64;
    kni_angle a = kni_reduce_huge(x);
    a.quadrant += 1;
    return kni_sin_angle_f64(a);
}
KNI_FUNCTION double kni_tan_f64(double x)
{
    if (kni_is_bounded_angle(x)) return kni_tan_bounded_f64(x);
    if (!(kni_abs_f64(x) < KNI_INF_F64)) return KNI_NAN_F64;
    return kni_tan_angle_f64(kni_reduce_huge(x));
}
KNI_TABLE double kni_bessel_i0_near_c[] = {1.4789601166935458e-68,
                               1.4212806721424974e-65,
                               1.2791526049282477e-62,
                               1.0757673407446564e-59,
                               8.434015951438106e-57,
                               6.14839762859838e-54,
                               4.156316796932504e-51,
                               2.5976979980828152e-48,
                               1.4962740468957016e-45,
                               7.915289708078262e-43,
                               3.8310002187098785e-40,
                               1.6894710964510564e-37,
                               6.757884385804225e-35,
                               2.4395962632753253e-32,
                               7.904291893012054e-30,
                               2.2843403570804838e-27,
                               5.8479113141260385e-25,
                               1.3157800456783586e-22,
                               2.5789288895295828e-20,
                               4.358389823304995e-18,
                               6.276081345559193e-16,
                               7.594058428126623e-14,
                               7.594058428126624e-12,
                               6.151187326782565e-10,
                               3.936759889140842e-08,
                               1.9290123456790124e-06,
                               6.944444444444444e-05,
                               0.001736111111111111,
                               0.027777777777777776,
                               0.25,
                               1.0,
                               1.0};
KNI_FUNCTION double kni_bessel_i0_near(double z)
{
    double p = kni_bessel_i0_near_c[0];
    for (int k = 1; k < 32; k++) p = p * z + kni_bessel_i0_near_c[k];
    return p;
}
KNI_TABLE double kni_bessel_i1_near_c[] = {4.6217503646673306e-70,
                               4.5847763617499917e-67,
                               4.263842016427493e-64,
                               3.7095425542919185e-61,
                               3.0121485540850376e-58,
                               2.2771843068882885e-55,
                               1.5985833834355786e-52,
                               1.0390791992331261e-49,
                               6.234475195398757e-47,
                               3.4414303078601135e-44,
                               1.7413637357772174e-41,
                               8.045100459290744e-39,
                               3.3789421929021126e-36,
                               1.2839980333028028e-33,
                               4.391273273895586e-31,
                               1.3437296218120491e-28,
                               3.654944571328774e-26,
                               8.771866971189057e-24,
                               1.842092063949702e-21,
                               3.352607556388458e-19,
                               5.230067787965994e-17,
                               6.903689480115112e-15,
                               7.594058428126623e-13,
                               6.834652585313961e-11,
                               4.920949861426052e-09,
                               2.755731922398589e-07,
                               1.1574074074074073e-05,
                               0.00034722222222222224,
                               0.006944444444444444,
                               0.08333333333333333,
                               0.5,
                               1.0};
KNI_FUNCTION double kni_bessel_i1_near(double z)
{
    double p = kni_bessel_i1_near_c[0];
    for (int k = 1; k < 32; k++) p = p * z + kni_bessel_i1_near_c[k];
    return p;
}
KNI_TABLE double kni_bessel_i0_far_c[] = {-2824133.952514804, 1917951.2160629912, -461052.63783752121,
                               61069.749643160299, -4983.1656730591467, 288.0047957338121,
                               -8.21501462203587, 0.9726395926149195, 0.22317517159380318,
                               0.090667883811347341, 0.044741693748540153, 0.029219407797079974,
                               0.028050629084503814, 0.049867785050185187, 0.3989422804014327};
KNI_FUNCTION double kni_bessel_i0_far(double u)
{
    double p = kni_bessel_i0_far_c[0];
    for (int k = 1; k < 15; k++) p = p * u + kni_bessel_i0_far_c[k];
    return p;
}
KNI_TABLE double kni_bessel_i1_far_c[] = {2646689.789293373, -1880415.9312388538, 458769.78556552861,
                               -61308.328638502491, 5023.3175533344065, -292.6815099829268,
                               8.057608872000074, -1.0837463621561756, -0.2645982229915973,
                               -0.11080327144082033, -0.057525171655926001, -0.040907169978530826,
                               -0.04675104847816311, -0.14960335515054352, 0.3989422804014327};
KNI_FUNCTION double kni_bessel_i1_far(double u)
{
    double p = kni_bessel_i1_far_c[0];
    for (int k = 1; k < 15; k++) p = p * u + kni_bessel_i1_far_c[k];
    return p;
}
KNI_TABLE double kni_bessel_k0_near_c[] = {1.1009270959725744e-17, 1.5330343403208473e-15, 1.785934656987074e-13,
                               1.709994072705808e-11, 1.3167486730385647e-09, 7.935096521304209e-08,
                               3.6126241031992037e-06, 0.00011848039364109726, 0.0026147876188052093,
                               0.0348921574564389, 0.23069608377461678, 0.42278433509846713,
                               -0.5772156649015329};
KNI_FUNCTION double kni_bessel_k0_near(double z)
{
    double p = kni_bessel_k0_near_c[0];
    for (int k = 1; k < 13; k++) p = p * z + kni_bessel_k0_near_c[k];
    return p;
}
KNI_TABLE double kni_bessel_k1_near_c[] = {1.7195232826992565e-18, 2.5986411321011286e-16, 3.309914735250272e-14,
                               3.495928729692882e-12, 3.002048746589188e-10, 2.045286003593878e-08,
                               1.071545914091181e-06, 4.142247689271143e-05, 0.001115359491966528,
                               0.019182189839330562, 0.18157516696085563, 0.6727843350984671,
                               -0.15443132980306573};
KNI_FUNCTION double kni_bessel_k1_near(double z)
{
    double p = kni_bessel_k1_near_c[0];
    for (int k = 1; k < 13; k++) p = p * z + kni_bessel_k1_near_c[k];
    return p;
}
KNI_TABLE double kni_bessel_k0_far_c[] = {
        14049.568819860759, -89161.583607500521, 266977.68032992637, -501853.20850051683,
        664861.77489564742, -660869.95458985597, 512538.69783389854, -318634.99254997261,
        162060.14675578501, -68600.458609374255, 24572.501135143484, -7589.0564647876645,
        2070.335505412666, -515.76404972225157, 122.72691180664616, -29.465787027315734,
        7.5493141589630222, -2.1625033684652002, 0.71742517037098485, -0.28463521814041315,
        0.14056177079370463, -0.09179546861326289, 0.08812365027761726, -0.15666426716443227,
        1.2533141373155003};
KNI_FUNCTION double kni_bessel_k0_far(double u)
{
    double p = kni_bessel_k0_far_c[0];
    for (int k = 1; k < 25; k++) p = p * u + kni_bessel_k0_far_c[k];
    return p;
}
KNI_TABLE double kni_bessel_k1_far_c[] = {
        -15250.13498500803, 96797.373286143426, -289900.2362027418, 545072.57988980936,
        -722327.3404528898, 718243.42483192077, -557279.59555226134, 346643.84422646329,
        -176435.19445530698, 74759.438683694723, -26815.535438931875, 8298.1858286802453,
        -2270.394029983468, 568.07428211095987, -136.05492153036087, 32.974287879569495,
        -8.5592734340897305, 2.4954075175820378, -0.84787608646030987, 0.34788783397616591,
        -0.18072228513253749, 0.12851365619476349, -0.14687275046408538, 0.46999280149330691,
        1.2533141373155003};
KNI_FUNCTION double kni_bessel_k1_far(double u)
{
    double p = kni_bessel_k1_far_c[0];
    for (int k = 1; k < 25; k++) p = p * u + kni_bessel_k1_far_c[k];
    return p;
}
KNI_TABLE double kni_bessel_p0_c[] = {668520505432.59216,
                               -78167129715.98703,
                               4309960025.1990824,
                               -153812769.47472921,
                               4239804.0860129399,
                               -106977.17778299228,
                               2985.9868798956777,
                               -109.85579030047499,
                               6.0737111624961413,
                               -0.57250100938720772,
                               0.11215209934019119,
                               -0.070312499999930389,
                               1};
KNI_FUNCTION double kni_bessel_p0(double v)
{
    double p = kni_bessel_p0_c[0];
    for (int k = 1; k < 13; k++) p = p * v + kni_bessel_p0_c[k];
    return p;
}
KNI_TABLE double kni_bessel_q0_c[] = {-13499358726749806, 1728694563748533, -102996701461428.19,
                               3838721634221.7617, -102622064760.68558, 2181949712.8389478,
                               -41255783.319667868, 795728.10962995794, -18140.446329754643,
                               551.07201574159581, -24.38013274807318, 1.7277271372901879,
                               -0.22710800153120875, 0.073242187499965666, -0.125};
KNI_FUNCTION double kni_bessel_q0(double v)
{
    double p = kni_bessel_q0_c[0];
    for (int k = 1; k < 15; k++) p = p * v + kni_bessel_q0_c[k];
    return p;
}
KNI_TABLE double kni_bessel_p1_c[] = {-709638894732.51147,
                               83037425952.622223,
                               -4583931764.868968,
                               163916448.11207417,
                               -4534234.5378543967,
                               115123.67427431147,
                               -3247.2434806899869,
                               121.427391608717,
                               -6.8835645261914964,
                               0.67659215318074217,
                               -0.1441955563558924,
                               0.11718749999992635,
                               1};
KNI_FUNCTION double kni_bessel_p1(double v)
{
    double p = kni_bessel_p1_c[0];
    for (int k = 1; k < 13; k++) p = p * v + kni_bessel_p1_c[k];
    return p;
}
KNI_TABLE double kni_bessel_q1_c[] = {14222440240345798, -1821997540812766.2, 108616016900811.61,
                               -4051539972706.1357, 108455554671.95352, -2311109069.1014538,
                               43863713.360019706, -851340.91532817367, 19595.234697466389,
                               -603.56697101424425, 27.248410340584325, -1.9935313499405698,
                               0.27757644634637701, -0.10253906249996392, 0.375};
KNI_FUNCTION double kni_bessel_q1(double v)
{
    double p = kni_bessel_q1_c[0];
    for (int k = 1; k < 15; k++) p = p * v + kni_bessel_q1_c[k];
    return p;
}
KNI_TABLE double kni_bessel_j0_near_c[] = {3.2176859942954748e-37, -3.2421653546664026e-34, 2.8039288534380136e-31,
                               -2.1067198367326355e-28, 1.3552909754635389e-25, -7.3622344473449968e-23,
                               3.3211790042652783e-20, -1.2187879831364696e-17, 3.5443209706477954e-15,
                               -7.8895608518445839e-13, 1.2807123787127214e-10, -1.4085626477131354e-08,
                               9.2290491954708549e-07, -2.6662941994458524e-05};
KNI_FUNCTION double kni_bessel_j0_near(double t)
{
    double p = kni_bessel_j0_near_c[0];
    for (int k = 1; k < 14; k++) p = p * t + kni_bessel_j0_near_c[k];
    return p;
}
KNI_TABLE double kni_bessel_j1_near_c[] = {9.8188396556998764e-39, -1.0597310916103362e-35, 9.8392469347341282e-33,
                               -7.9812077531989448e-30, 5.5819640588100072e-27, -3.3244681656208285e-24,
                               1.6615147344103229e-21, -6.8457804579360816e-19, 2.2747761204370884e-16,
                               -5.9279606220549614e-14, 1.16750465898663e-11, -1.65039161349045e-09,
                               1.548829765563464e-07, -8.4297585834886495e-06, 0.00019498936985895625};
KNI_FUNCTION double kni_bessel_j1_near(double t)
{
    double p = kni_bessel_j1_near_c[0];
    for (int k = 1; k < 15; k++) p = p * t + kni_bessel_j1_near_c[k];
    return p;
}
KNI_TABLE double kni_bessel_y0_near_c[] = {6.6132340335021224e-40, -7.3123676982418131e-37, 7.0987203360103037e-34,
                               -6.0397357966551358e-31, 4.4428071500792197e-28, -2.7916105578060552e-25,
                               1.4769626171284073e-22, -6.4655320052990516e-20, 2.2912405656116927e-17,
                               -6.3898742676164779e-15, 1.3494586944972133e-12, -2.0392003558735948e-10,
                               2.003243799040235e-08, -1.0276295984474178e-06, 4.3983863431709111e-06,
                               0.0016084926551509244, -0.025888621573764335, -0.38225065445942502};
KNI_FUNCTION double kni_bessel_y0_near(double t)
{
    double p = kni_bessel_y0_near_c[0];
    for (int k = 1; k < 18; k++) p = p * t + kni_bessel_y0_near_c[k];
    return p;
}
KNI_TABLE double kni_bessel_y1_near_c[] = {1.8627374895107916e-41, -2.2296456845907494e-38, 2.3106441578645293e-35,
                               -2.1080529608314845e-32, 1.6723118265836073e-29, -1.1408688726675608e-26,
                               6.6071953248562635e-24, -3.1983303777318358e-21, 1.2697208299271935e-18,
                               -4.0364952247865111e-16, 9.9607590234316272e-14, -1.8280704350303322e-11,
                               2.3409089214332535e-09, -1.8730010852747369e-07, 7.1738309346526351e-06,
                               2.2819894258782797e-05, -0.007605544712247848, 0.070759858821180049};
KNI_FUNCTION double kni_bessel_y1_near(double t)
{
    double p = kni_bessel_y1_near_c[0];
    for (int k = 1; k < 18; k++) p = p * t + kni_bessel_y1_near_c[k];
    return p;
}
KNI_FUNCTION double kni_bessel_i0_small(double x)
{
    kni_double2 z = kni_two_product(0.5 * x, 0.5 * x);
    return kni_bessel_i0_near(z.hi) + z.lo * kni_bessel_i1_near(z.hi);
}
KNI_FUNCTION double kni_bessel_i1_small(double x)
{
    kni_double2 z = kni_two_product(0.5 * x, 0.5 * x);
    double y = kni_bessel_i1_near(z.hi);
    double slope = z.hi > 1.0 ? (kni_bessel_i0_near(z.hi) - y) / z.hi : 0.0;
    return 0.5 * x * (y + z.lo * slope);
}
KNI_FUNCTION double kni_i0e_f64(double x)
{
    double a = kni_abs_f64(x);
    if (a <= 15.0) return kni_exp_f64(-a) * kni_bessel_i0_small(a);
    return kni_bessel_i0_far(1.0 / a) / kni_sqrt_f64(a);
}
KNI_FUNCTION double kni_i1e_f64(double x)
{
    double a = kni_abs_f64(x);
    if (a <= 15.0) return kni_exp_f64(-a) * kni_bessel_i1_small(x);
    return kni_copysign_f64(kni_bessel_i1_far(1.0 / a) / kni_sqrt_f64(a), x);
}
KNI_FUNCTION double kni_i0_f64(double x)
{
    double a = kni_abs_f64(x);
    if (a <= 15.0) return kni_bessel_i0_small(a);
    if (a > 720.0) return KNI_INF_F64;
    double e = kni_exp_f64(0.5 * a);
    return e * (e * kni_i0e_f64(a));
}
KNI_FUNCTION double kni_i1_f64(double x)
{
    double a = kni_abs_f64(x);
    if (a <= 15.0) return kni_bessel_i1_small(x);
    if (a > 720.0) return kni_copysign_f64(KNI_INF_F64, x);
    double e = kni_exp_f64(0.5 * a);
    return e * (e * kni_i1e_f64(x));
}
KNI_FUNCTION double kni_bessel_k0_small(double x)
{
    double z = 0.25 * x * x;
    return kni_bessel_k0_near(z) - kni_log_f64(0.5 * x) * kni_bessel_i0_near(z);
}
KNI_FUNCTION double kni_bessel_k1_small(double x)
{
    double z = 0.25 * x * x;
    double rest = kni_log_f64(0.5 * x) * (0.5 * x * kni_bessel_i1_near(z)) - 0.25 * x * kni_bessel_k1_near(z);
    return 1.0 / x + (x < 1e-150 ? 0.0 : rest);
}
KNI_FUNCTION double kni_bessel_k0_f64(double x)
{
    if (!(x > 0.0)) return x == 0.0 ? KNI_INF_F64 : KNI_NAN_F64;
    if (x <= 2.0) return kni_bessel_k0_small(x);
    return kni_exp_f64(-x) * (kni_bessel_k0_far(1.0 / x) / kni_sqrt_f64(x));
}
KNI_FUNCTION double kni_bessel_k1_f64(double x)
{
    if (!(x > 0.0)) return x == 0.0 ? KNI_INF_F64 : KNI_NAN_F64;
    if (x <= 2.0) return kni_bessel_k1_small(x);
    return kni_exp_f64(-x) * (kni_bessel_k1_far(1.0 / x) / kni_sqrt_f64(x));
}
KNI_FUNCTION double kni_bessel_k0e_f64(double x)
{
    if (!(x > 0.0)) return x == 0.0 ? KNI_INF_F64 : KNI_NAN_F64;
    if (x <= 2.0) return kni_exp_f64(x) * kni_bessel_k0_small(x);
    return kni_bessel_k0_far(1.0 / x) / kni_sqrt_f64(x);
}
KNI_FUNCTION double kni_bessel_k1e_f64(double x)
{
    if (!(x > 0.0)) return x == 0.0 ? KNI_INF_F64 : KNI_NAN_F64;
    if (x <= 2.0) return kni_exp_f64(x) * kni_bessel_k1_small(x);
    return kni_bessel_k1_far(1.0 / x) / kni_sqrt_f64(x);
}
KNI_FUNCTION double kni_bessel_j0_small(double a)
{
    double first = ((a - 0x1.33d152e971b40p+1) + 0x1.0f539d7da258ep-53) * (a + 0x1.33d152e971b40p+1);
    double second = ((a - 0x1.6148f5b2c2e45p+2) - 0x1.75054cd60a517p-54) * (a + 0x1.6148f5b2c2e45p+2);
    double third = ((a - 0x1.14eb56cccdecap+3) + 0x1.51970714c7c25p-52) * (a + 0x1.14eb56cccdecap+3);
    return first * second * third * kni_bessel_j0_near(a * a - 32.0);
}
KNI_FUNCTION double kni_bessel_j1_small(double x)
{
    double a = kni_abs_f64(x);
    double first = ((a - 0x1.ea75575af6f09p+1) + 0x1.60155a9d1b256p-53) * (a + 0x1.ea75575af6f09p+1);
    double second = ((a - 0x1.c0ff5f3b47250p+2) + 0x1.b226d9d243827p-54) * (a + 0x1.c0ff5f3b47250p+2);
    return x * (first * second * kni_bessel_j1_near(a * a - 32.0));
}
KNI_FUNCTION double kni_bessel_wave0(double a, int second)
{
    double s = kni_sin_f64(a), c = kni_cos_f64(a), u = 1.0 / a;
    double p = kni_bessel_p0(u * u), q = kni_bessel_q0(u * u) * u;
    return second ? p * (s - c) + q * (s + c) : p * (s + c) - q * (s - c);
}
KNI_FUNCTION double kni_bessel_wave1(double a, int second)
{
    double s = kni_sin_f64(a), c = kni_cos_f64(a), u = 1.0 / a;
    double p = kni_bessel_p1(u * u), q = kni_bessel_q1(u * u) * u;
    return second ? q * (s - c) - p * (s + c) : p * (s - c) + q * (s + c);
}
KNI_FUNCTION double kni_bessel_envelope(double x) { return 0.56418958354775629 / kni_sqrt_f64(x); }
KNI_FUNCTION double kni_bessel_j0_f64(double x)
{
    double a = kni_abs_f64(x);
    if (a <= 8.0) return kni_bessel_j0_small(a);
    if (a == KNI_INF_F64) return 0.0;
    return kni_bessel_wave0(a, 0) * kni_bessel_envelope(a);
}
KNI_FUNCTION double kni_bessel_j1_f64(double x)
{
    double a = kni_abs_f64(x);
    if (a <= 8.0) return kni_bessel_j1_small(x);
    if (a == KNI_INF_F64) return 0.0;
    double y = kni_bessel_wave1(a, 0) * kni_bessel_envelope(a);
    return x < 0.0 ? -y : y;
}
KNI_TABLE double kni_bessel_y0_series_c[] = {8.201338813682637e-20,
                               -1.3525001839484812e-17,
                               1.895299587006153e-15,
                               -2.224275605476294e-13,
                               2.1483350211950277e-11,
                               -1.6718048413148328e-09,
                               1.0207455998272325e-07,
                               -4.72608024691358e-06,
                               0.0001585648148148148,
                               -0.003616898148148148,
                               0.05092592592592592,
                               -0.375,
                               1.0};
KNI_FUNCTION double kni_bessel_y0_series(double z)
{
    double p = kni_bessel_y0_series_c[0];
    for (int k = 1; k < 13; k++) p = p * z + kni_bessel_y0_series_c[k];
    return p * z;
}
KNI_FUNCTION double kni_bessel_y0_f64(double x)
{
    if (!(x > 0.0)) return x == 0.0 ? -KNI_INF_F64 : KNI_NAN_F64;
    if (x <= 2.0) {
        double sum = (kni_log_f64(x) - 0.11593151565841245) * kni_bessel_j0_small(x);
        return 0.63661977236758134 * (sum + kni_bessel_y0_series(0.25 * x * x));
    }
    if (x <= 8.0)
        return kni_bessel_y0_near(x * x - 32.0) +
               0.63661977236758134 * (kni_log_f64(x) * kni_bessel_j0_small(x));
    if (x == KNI_INF_F64) return 0.0;
    return kni_bessel_wave0(x, 1) * kni_bessel_envelope(x);
}
KNI_FUNCTION double kni_bessel_y1_f64(double x)
{
    if (!(x > 0.0)) return x == 0.0 ? -KNI_INF_F64 : KNI_NAN_F64;
    if (x <= 8.0) {
        double rest = x < 1e-150 ? 0.0 : kni_log_f64(x) * kni_bessel_j1_small(x);
        return 0.63661977236758134 * (rest - 1.0 / x) + x * kni_bessel_y1_near(x * x - 32.0);
    }
    if (x == KNI_INF_F64) return 0.0;
    return kni_bessel_wave1(x, 1) * kni_bessel_envelope(x);
}
KNI_FUNCTION float kni_i0_f32(float x) { return (float)kni_i0_f64((double)x); }
KNI_FUNCTION float kni_i0e_f32(float x) { return (float)kni_i0e_f64((double)x); }
KNI_FUNCTION float kni_i1_f32(float x) { return (float)kni_i1_f64((double)x); }
KNI_FUNCTION float kni_i1e_f32(float x) { return (float)kni_i1e_f64((double)x); }
KNI_FUNCTION float kni_bessel_j0_f32(float x) { return (float)kni_bessel_j0_f64((double)x); }
KNI_FUNCTION float kni_bessel_j1_f32(float x) { return (float)kni_bessel_j1_f64((double)x); }
KNI_FUNCTION float kni_bessel_y0_f32(float x) { return (float)kni_bessel_y0_f64((double)x); }
KNI_FUNCTION float kni_bessel_y1_f32(float x) { return (float)kni_bessel_y1_f64((double)x); }
KNI_FUNCTION float kni_bessel_k0_f32(float x) { return (float)kni_bessel_k0_f64((double)x); }
KNI_FUNCTION float kni_bessel_k1_f32(float x) { return (float)kni_bessel_k1_f64((double)x); }
KNI_FUNCTION float kni_bessel_k0e_f32(float x) { return (float)kni_bessel_k0e_f64((double)x); }
KNI_FUNCTION float kni_bessel_k1e_f32(float x) { return (float)kni_bessel_k1e_f64((double)x); }
KNI_FUNCTION double kni_lgamma_plus_one_f64(double a)
{
    if (a <= 0.6) return a * kni_lgamma_near_two_f64(a) - kni_log1p_f64(a);
    return (a - 1.0) * kni_lgamma_near_two_f64(a - 1.0);
}
KNI_FUNCTION double kni_gamma_plus_one_f64(double a)
{
    if (a <= 0.6) return kni_exp_f64(a * kni_lgamma_near_two_f64(a)) / (1.0 + a);
    double product = 1.0;
    for (; a > 1.6; a -= 1.0) product *= a;
    return product * kni_exp_f64((a - 1.0) * kni_lgamma_near_two_f64(a - 1.0));
}
KNI_FUNCTION kni_double2 kni_gamma_exponent_f64(double a, double x)
{
    double ratio = x / a;
    kni_double2 back = kni_two_product(ratio, a);
    double rest = ((x - back.hi) - back.lo) / x;
    kni_double2 l = kni_log_double2(ratio);
    kni_double2 e = kni_two_product(a, l.hi);
    kni_double2 gap = kni_two_sum(a, -x);
    kni_double2 sum = kni_two_sum(e.hi, gap.hi);
    return kni_fast_two_sum(sum.hi, sum.lo + ((e.lo + gap.lo) + a * (l.lo + rest)));
}
KNI_FUNCTION double kni_exp_double2(kni_double2 e)
{
    if (e.hi < -760.0) return 0.0;
    kni_exp_parts parts = kni_exp_split_f64(e.hi, e.lo);
    return kni_scale_f64(kni_exp_join_f64(parts.r, parts.rest), parts.k);
}
KNI_FUNCTION double kni_gamma_front_f64(double a, double x)
{
    if (a >= 8.0) {
        double inverse = 1.0 / a;
        double stirling = kni_exp_f64(inverse * kni_stirling_rest_f64(inverse * inverse));
        return kni_exp_double2(kni_gamma_exponent_f64(a, x)) / (stirling * kni_sqrt_f64(2.0 * 3.1415926535897931 * a));
    }
    kni_double2 l = kni_log_double2(x);
    kni_double2 e = kni_two_product(a, l.hi);
    kni_double2 sum = kni_two_sum(e.hi, -x);
    sum = kni_fast_two_sum(sum.hi, sum.lo + (e.lo + a * l.lo));
    return kni_exp_double2(sum) / kni_gamma_plus_one_f64(a);
}
KNI_FUNCTION double kni_gamma_series_f64(double a, double x)
{
    double sum = 1.0, term = 1.0;
    for (int n = 1; n < 400 && term > sum * 0x1p-56; n++) {
        term *= x / (a + n);
        sum += term;
    }
    return kni_gamma_front_f64(a, x) * sum;
}
KNI_FUNCTION double kni_gamma_fraction_f64(double a, double x)
{
    int n = 24 + (int)(130.0 / x);
    double f = x + 1.0 - a + 2.0 * n;
    for (int i = n; i > 0; i--) f = (x + 1.0 - a + 2.0 * (i - 1)) - i * (i - a) / f;
    return kni_gamma_front_f64(a, x) * (a / f);
}
KNI_FUNCTION double kni_gamma_small_f64(double a, double x)
{
    double sum = 0.0, power = 1.0, exponent = a * kni_log_f64(x) - kni_lgamma_plus_one_f64(a);
    for (int n = 1; n < 40; n++) {
        power *= -x / n;
        sum += power / (a + n);
    }
    return -kni_expm1_f64(exponent) - kni_exp_f64(exponent) * (a * sum);
}
KNI_TABLE int kni_gamma_uniform_f64_lengths[] = {1, 3, 5, 7, 9, 11, 12, 14, 15, 15, 17, 19};
KNI_TABLE double kni_gamma_uniform_f64_c[] = {
        0.001579727660730835, 0.0011089369134596636, -0.0019144384985654776, 0.0013324454494800656,
        0.00027750107634328704, -0.0006401475260262758, 0.0006782308837667328, -7.204895416020011e-05,
        -0.0005967612901927463, 4.629953263691304e-05, -0.00012783517679769218, 0.00016644846642067547,
        -6.969091458420552e-07, -0.000438297098541721, 0.0008394987206720873, -0.0006526239185953094,
        5.7876949497350525e-06, -1.8263488805711332e-05, 2.7744451511563645e-05, -1.2741009095484485e-07,
        -0.00010976582244684731, 0.0002812695154763237, -0.00033493161081142234, 5.171790908260592e-05,
        0.00034436760689237765, 5.788792863149004e-07, -2.0291327396058603e-06, 3.465155368803609e-06,
        -3.0796134506033047e-09, -1.8329116582843375e-05, 5.61168275310625e-05, -8.153969367561969e-05,
        7.902353232660328e-07, 0.0002708782096718045, -0.0005921664373536939, 0.0005313079364639922,
        -1.8447187191171344e-07, 3.4652846491085265e-07, -3.252473551298454e-10, -2.291481176508095e-06,
        8.018470256334202e-06, -1.3594048189768693e-05, 1.419062920643967e-07, 6.797780477937208e-05,
        -0.00019932570516188847, 0.0002772753244959392, -6.972813758365857e-05, -0.00033679855336635813,
        -1.4189739437803219e-08, 2.8865829742708783e-08, 2.956794137544049e-11, -2.292934834000805e-07,
        8.907507532205309e-07, -1.6954149536558305e-06, 2.507497226237533e-10, 1.1375726970678419e-05,
        -3.968365047179435e-05, 6.641498215465122e-05, -1.4638452578843418e-06, -0.0002990724803031902,
        0.0007840392217200666, -0.0008618882909167117, 2.0620131815488797e-09, 2.3928620439808118e-12,
        -1.9111168485973655e-08, 8.099464905388083e-08, -1.6958404091930278e-07, -2.7861080291528143e-11,
        1.4230900732435883e-06, -5.6749528269915965e-06, 1.1082654115347302e-05, -2.396505113867297e-07,
        -7.561801671883977e-05, 0.00026772063206283885, -0.0004691894943952557, 0.00022947209362139917,
        0.0006494341563786008, -1.3670488396617114e-09, 6.228974084922022e-09, -1.409252991086752e-08,
        -2.0477098421990866e-10, 1.4280614206064242e-07, -6.298992138380055e-07, 1.3721957309062934e-06,
        3.423578734096138e-08, -1.2760635188618728e-05, 5.2923448829120125e-05, -0.0001073665322636516,
        2.0093878600823047e-06, 0.0007716049382716049, -0.0026813271604938273, 0.004133597883597883,
        -8.56390702649298e-11, 4.162792991842583e-10, -1.0091543710600413e-09, -1.7543241719747647e-11,
        1.1951628599778148e-08, -5.752545603517705e-08, 1.378633446915721e-07, 4.647127802807434e-09,
        -1.6120900894563446e-06, 7.64916091608111e-06, -1.8098550334489977e-05, -4.018775720164609e-07,
        0.00020576131687242798, -0.0009902263374485596, 0.0026455026455026454, -0.003472222222222222,
        -0.001851851851851852, -5.0276692801141755e-12, 2.4361948020667415e-11, -5.830772132550426e-11,
        -2.5514193994946248e-11, 9.14769958223679e-10, -4.382036018453353e-09, 1.0261809784240309e-08,
        6.707853543401498e-09, -1.7665952736826078e-07, 8.296711340953087e-07, -1.85406221071516e-06,
        -2.185448510679992e-06, 3.919263178522438e-05, -0.0001787551440329218, 0.0003527336860670194,
        0.0011574074074074073, -0.014814814814814815, 0.08333333333333333, -0.3333333333333333};
KNI_FUNCTION double kni_gamma_uniform_f64(double a, double x)
{
    double m = (x - a) / a;
    kni_double2 e = kni_gamma_exponent_f64(a, x);
    double eta = m * kni_sqrt_f64(1.0 - m * (2.0 / 3.0 - m * (0.5 - m * (0.4 - m * (1.0 / 3.0)))));
    double far_ = kni_sqrt_f64(kni_abs_f64(-2.0 * e.hi / a));
    eta = kni_abs_f64(m) < 1e-4 ? eta : m < 0.0 ? -far_ : far_;
    double sum = 0.0;
    int at = 0;
    for (int k = 0; k < 12; k++) {
        double p = kni_gamma_uniform_f64_c[at];
        for (int j = 1; j < kni_gamma_uniform_f64_lengths[k]; j++) p = p * eta + kni_gamma_uniform_f64_c[at + j];
        sum = sum / a + p;
        at += kni_gamma_uniform_f64_lengths[k];
    }
    double half_ = 0.5 * kni_erfcx_f64(kni_abs_f64(eta) * kni_sqrt_f64(0.5 * a));
    double series = sum / kni_sqrt_f64(2.0 * 3.1415926535897931 * a);
    return kni_exp_double2(e) * (x < a ? half_ - series : half_ + series);
}
KNI_FUNCTION double kni_gamma_part_f64(double a, double x, int upper)
{
    if (!(a >= 0.0 && x >= 0.0)) return KNI_NAN_F64;
    if (a == 0.0) return x > 0.0 ? (upper ? 0.0 : 1.0) : KNI_NAN_F64;
    if (a == KNI_INF_F64) return x == KNI_INF_F64 ? KNI_NAN_F64 : (upper ? 1.0 : 0.0);
    if (x == 0.0 || x == KNI_INF_F64) return (x == 0.0) == (upper != 0) ? 1.0 : 0.0;
    double y;
    int is_upper = x > 1.1 && x >= a;
    if (a > 20.0 && kni_abs_f64(x - a) < 0.4 * a)
        y = kni_gamma_uniform_f64(a, x);
    else if (is_upper)
        y = kni_gamma_fraction_f64(a, x);
    else if (upper && x <= 1.1 && (x <= 0.5 ? a * kni_log_f64(x) > -0.4 : a < 1.1 * x)) {
        is_upper = 1;
        y = kni_gamma_small_f64(a, x);
    } else
        y = kni_gamma_series_f64(a, x);
    y = is_upper == (upper != 0) ? y : 1.0 - y;
    return y > 0.0 ? y : 0.0;
}
KNI_FUNCTION double kni_igamma_f64(double a, double x) { return kni_gamma_part_f64(a, x, 0); }
KNI_FUNCTION double kni_igammac_f64(double a, double x) { return kni_gamma_part_f64(a, x, 1); }
KNI_FUNCTION float kni_igamma_f32(float a, float x) { return (float)kni_igamma_f64((double)a, (double)x); }
KNI_FUNCTION float kni_igammac_f32(float a, float x) { return (float)kni_igammac_f64((double)a, (double)x); }
KNI_INLINE double kni_normal_cdf_f64(double x)
{
    double c = x < -40.0 ? -40.0 : x > 40.0 ? 40.0 : x;
    double a = c * -0.70710678118654752;
    kni_double2 exact = kni_two_product(c, c), taken = kni_two_product(a, a);
    double lost = (0.5 * exact.hi - taken.hi) + (0.5 * exact.lo - taken.lo);
    double p = 0.5 * kni_erfc_f64(a);
    return c < -1.0 ? p - p * lost : p;
}
KNI_INLINE float kni_normal_cdf_f32(float x)
{
    float a = kni_abs_f32(x);
    float z = 0.5f * (a * a);
    float p = 7.8891193e-05f;
    p = kni_horner4_f32(p, z, -0.000802084571f, 0.00518953661f, -0.0268544462f, 0.112836003f);
    p = p * z - 0.37612626f;
    p = p * z + 1.128379166f;
    float near_zero = 0.5f + x * 0.353553391f * p;
    float c = a > 14.5f ? 14.5f : a;
    float t = 1.0f / (1.0f + 0.353553391f * c);
    float u = t - 0.4f;
    float q = -0.0298611155f;
    q = kni_horner4_f32(q, u, -0.0425448427f, 0.101885816f, 0.0407973452f, -0.147004933f);
    q = kni_horner4_f32(q, u, -0.107894168f, 0.202486226f, 0.506060284f, 0.580375961f);
    q = (q * u + 0.447502877f) * (0.5f * t);
    float upper = kni_from_bits_f32(kni_bits_f32(c) & 0xfffff000u);
    float k = (c * c * -0.72134752f + 0x1.8p23f) - 0x1.8p23f;
    float r = (-0.5f * (upper * upper) - k * 0x1.62e4p-1f) - k * 1.42860682e-06f;
    r = r - 0.5f * ((c - upper) * (c + upper));
    float far_ = kni_scale_f32(kni_exp_kernel_f32(r) * q, k);
    far_ = x > 0.0f ? 1.0f - far_ : far_;
    return a < 0.7f ? near_zero : far_;
}
KNI_FUNCTION double kni_normal_quantile_f64(double p)
{
    if (!(p > 0.0 && p < 1.0)) return p == 0.0 ? -KNI_INF_F64 : p == 1.0 ? KNI_INF_F64 : KNI_NAN_F64;
    if (p >= 0.25 && p <= 0.75) return 1.4142135623730951 * kni_erfinv_f64(2.0 * p - 1.0);
    double q = p < 0.5 ? p : 1.0 - p, log_q = kni_log_f64(q);
    double t = kni_sqrt_f64(-2.0 * log_q);
    double x = t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                       (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
    for (int i = 0; i < 3; i++) {
        double scaled = kni_erfcx_f64(x * 0.70710678118654752);
        double excess = (kni_log_f64(0.5 * scaled) - log_q) - 0.5 * x * x;
        x += excess * scaled * 1.2533141373155003;
    }
    return p < 0.5 ? -x : x;
}
KNI_FUNCTION float kni_normal_quantile_f32(float p) { return (float)kni_normal_quantile_f64((double)p); }
KNI_TABLE double kni_hurwitz_f64_ratio[] = {8.3333333333333329e-02, -1.3888888888888889e-03, 3.3068783068783071e-05,
                                   -8.2671957671957675e-07, 2.0876756987868100e-08, -5.2841901386874932e-10,
                                   1.3382536530684679e-11, -3.3896802963225827e-13, 8.5860620562778445e-15,
                                   -2.1748686985580617e-16, 5.5090028283602297e-18, -1.3954464685812523e-19};
KNI_FUNCTION double kni_hurwitz_f64(double s, double q)
{
    double sum = 0;
    for (; q < 12 + s; q += 1) {
        double term = kni_pow_f64(q, -s);
        sum += term;
        if (q > 0 && kni_abs_f64(term) <= 1e-20 * kni_abs_f64(sum))
            return sum;
    }
    if (q == KNI_INF_F64) return sum;
    double power = kni_pow_f64(q, -s);
    sum += power * q / (s - 1) + 0.5 * power;
    double factor = s;
    for (int j = 0; j < 12; j++) {
        power /= q;
        double term = kni_hurwitz_f64_ratio[j] * factor * power;
        sum += term;
        if (kni_abs_f64(term) < 1e-18 * kni_abs_f64(sum)) break;
        factor *= (s + 2 * j + 1) * (s + 2 * j + 2);
        power /= q;
    }
    return sum;
}
KNI_FUNCTION double kni_polygamma_f64(double n, double x)
{
    if (!(n >= 1 && n <= 170) || x != x) return KNI_NAN_F64;
    if (x <= 0 && kni_floor_f64(x) == x) return (int)n & 1 ? KNI_INF_F64 : -KNI_INF_F64;
    if (x == KNI_INF_F64) return 0;
    if (n == 1 && x < 0.5) {
        double s = kni_sin_pi_f64(x) / 3.1415926535897931;
        return 1 / (s * s) - kni_hurwitz_f64(2, 1 - x);
    }
    if (x < -1e6) return KNI_NAN_F64;
    double factorial = 1;
    for (double k = 2; k <= n; k += 1) factorial *= k;
    double y = factorial * kni_hurwitz_f64(n + 1, x);
    return (int)n & 1 ? y : -y;
}
KNI_FUNCTION float kni_polygamma_f32(float n, float x)
{
    return (float)kni_polygamma_f64((double)n, (double)x);
}
KNI_FUNCTION double kni_zeta_f64(double s, double q)
{
    if (!(s > 1) || q != q) return s == 1 ? KNI_INF_F64 : KNI_NAN_F64;
    double below = kni_floor_f64(q);
    if (q <= 0 && below == q) return KNI_INF_F64;
    if (q < 0 && kni_floor_f64(s) != s) return KNI_NAN_F64;
    if (s == KNI_INF_F64) return q > 1 ? 0.0 : q == 1 ? 1.0 : KNI_INF_F64;
    if (q > 0) return kni_hurwitz_f64(s, q);
    double mirrored = kni_hurwitz_f64(s, 1 - (q - below)) - kni_hurwitz_f64(s, 1 - q);
    double half_ = 0.5 * s;
    return kni_hurwitz_f64(s, q - below) + (kni_floor_f64(half_) == half_ ? mirrored : -mirrored);
}
KNI_FUNCTION float kni_zeta_f32(float s, float q) { return (float)kni_zeta_f64((double)s, (double)q); }
KNI_FUNCTION float kni_floor_divide_f32(float a, float b) { float r = kni_fmod_f32(a, b), q = (a - r) / b; q = r != 0 && (b < 0) != (r < 0) ? q - 1 : q; q = q != 0 ? kni_round_even_f32(q) : kni_copysign_f32(0, a / b); return b == 0 ? a / b : q; }
KNI_FUNCTION double kni_floor_divide_f64(double a, double b) { double r = kni_fmod_f64(a, b), q = (a - r) / b; q = r != 0 && (b < 0) != (r < 0) ? q - 1 : q; q = q != 0 ? kni_round_even_f64(q) : kni_copysign_f64(0, a / b); return b == 0 ? a / b : q; }
KNI_FUNCTION float kni_larger_f32(float a, float b) { float m = a > b ? a : b; return a != a ? a : m; }
KNI_FUNCTION float kni_smaller_f32(float a, float b) { float m = a < b ? a : b; return a != a ? a : m; }
KNI_FUNCTION double kni_larger_f64(double a, double b) { double m = a > b ? a : b; return a != a ? a : m; }
KNI_FUNCTION double kni_smaller_f64(double a, double b) { double m = a < b ? a : b; return a != a ? a : m; }
KNI_FUNCTION float kni_select_f32(int condition, float a, float b) { return condition ? a : b; }
KNI_FUNCTION uint32_t kni_select_u32(int condition, uint32_t a, uint32_t b) { return condition ? a : b; }
KNI_FUNCTION int32_t kni_integer_power_i32(int32_t a, int32_t b) { if (b < 0) return a == 1 ? 1 : a == (int32_t)-1 ? (b & 1 ? a : 1) : 0; uint32_t r = 1, square = (uint32_t)a; for (; b > 0; b >>= 1, square *= square) if (b & 1) r *= square; return (int32_t)r; }
KNI_FUNCTION int64_t kni_integer_power_i64(int64_t a, int64_t b) { if (b < 0) return a == 1 ? 1 : a == (int64_t)-1 ? (b & 1 ? a : 1) : 0; uint64_t r = 1, square = (uint64_t)a; for (; b > 0; b >>= 1, square *= square) if (b & 1) r *= square; return (int64_t)r; }
KNI_FUNCTION uint32_t kni_integer_power_u32(uint32_t a, uint32_t b) { if (b < 0) return a == 1 ? 1 : a == (uint32_t)-1 ? (b & 1 ? a : 1) : 0; uint32_t r = 1, square = (uint32_t)a; for (; b > 0; b >>= 1, square *= square) if (b & 1) r *= square; return (uint32_t)r; }
KNI_FUNCTION uint64_t kni_integer_power_u64(uint64_t a, uint64_t b) { if (b < 0) return a == 1 ? 1 : a == (uint64_t)-1 ? (b & 1 ? a : 1) : 0; uint64_t r = 1, square = (uint64_t)a; for (; b > 0; b >>= 1, square *= square) if (b & 1) r *= square; return (uint64_t)r; }
KNI_FUNCTION int32_t kni_common_divisor_i32(int32_t a, int32_t b) { uint32_t x = a < 0 ? 0 - (uint32_t)a : (uint32_t)a, y = b < 0 ? 0 - (uint32_t)b : (uint32_t)b; while (y != 0) { uint32_t rest = x % y; x = y; y = rest; } return (int32_t)x; }
KNI_FUNCTION int64_t kni_common_divisor_i64(int64_t a, int64_t b) { uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b; while (y != 0) { uint64_t rest = x % y; x = y; y = rest; } return (int64_t)x; }
KNI_FUNCTION uint32_t kni_common_divisor_u32(uint32_t a, uint32_t b) { uint32_t x = a < 0 ? 0 - (uint32_t)a : (uint32_t)a, y = b < 0 ? 0 - (uint32_t)b : (uint32_t)b; while (y != 0) { uint32_t rest = x % y; x = y; y = rest; } return (uint32_t)x; }
KNI_FUNCTION uint64_t kni_common_divisor_u64(uint64_t a, uint64_t b) { uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b; while (y != 0) { uint64_t rest = x % y; x = y; y = rest; } return (uint64_t)x; }
KNI_INLINE float kni_word_add_f32(float a, float b) { return (float)(a + b); }
KNI_INLINE float kni_word_sub_f32(float a, float b) { return (float)(a - b); }
KNI_INLINE float kni_word_mul_f32(float a, float b) { return (float)(a *b); }
KNI_INLINE float kni_word_div_f32(float a, float b) { return (float)(a / b); }
KNI_INLINE float kni_word_floordiv_f32(float a, float b) { return (float)(kni_floor_divide_f32(a, b)); }
KNI_INLINE float kni_word_rem_f32(float a, float b) { return (float)(kni_remainder_floor_f32(a, b)); }
KNI_INLINE float kni_word_fmod_f32(float a, float b) { return (float)(kni_fmod_f32(a, b)); }
KNI_INLINE float kni_word_pow_f32(float a, float b) { return (float)(kni_pow_f32(a, b)); }
KNI_INLINE float kni_word_atan2_f32(float a, float b) { return (float)(kni_atan2_f32(a, b)); }
KNI_INLINE float kni_word_hypot_f32(float a, float b) { return (float)(kni_hypot_f32(a, b)); }
KNI_INLINE float kni_word_copysign_f32(float a, float b) { return (float)(kni_copysign_f32(a, b)); }
KNI_INLINE float kni_word_max_f32(float a, float b) { return (float)(kni_larger_f32(a, b)); }
KNI_INLINE float kni_word_min_f32(float a, float b) { return (float)(kni_smaller_f32(a, b)); }
KNI_INLINE float kni_word_neg_f32(float a) { return (float)(-a); }
KNI_INLINE float kni_word_abs_f32(float a) { return (float)(kni_abs_f32(a)); }
KNI_INLINE float kni_word_sign_f32(float a) { return (float)((a > 0) - (a < 0)); }
KNI_INLINE float kni_word_floor_f32(float a) { return (float)(kni_floor_f32(a)); }
KNI_INLINE float kni_word_ceil_f32(float a) { return (float)(kni_ceil_f32(a)); }
KNI_INLINE float kni_word_round_f32(float a) { return (float)(kni_round_even_f32(a)); }
KNI_INLINE float kni_word_trunc_f32(float a) { return (float)(kni_trunc_f32(a)); }
KNI_INLINE float kni_word_sqrt_f32(float a) { return (float)(kni_sqrt_f32(a)); }
KNI_INLINE float kni_word_rsqrt_f32(float a) { return (float)(kni_rsqrt_f32(a)); }
KNI_INLINE float kni_word_exp_f32(float a) { return (float)(kni_exp_f32(a)); }
KNI_INLINE float kni_word_exp2_f32(float a) { return (float)(kni_exp2_f32(a)); }
KNI_INLINE float kni_word_expm1_f32(float a) { return (float)(kni_expm1_f32(a)); }
KNI_INLINE float kni_word_log_f32(float a) { return (float)(kni_log_f32(a)); }
KNI_INLINE float kni_word_log2_f32(float a) { return (float)(kni_log2_f32(a)); }
KNI_INLINE float kni_word_log10_f32(float a) { return (float)(kni_log10_f32(a)); }
KNI_INLINE float kni_word_log1p_f32(float a) { return (float)(kni_log1p_f32(a)); }
KNI_INLINE float kni_word_sin_f32(float a) { return (float)(kni_sin_f32(a)); }
KNI_INLINE float kni_word_cos_f32(float a) { return (float)(kni_cos_f32(a)); }
KNI_INLINE float kni_word_tan_f32(float a) { return (float)(kni_tan_f32(a)); }
KNI_INLINE float kni_word_asin_f32(float a) { return (float)(kni_asin_f32(a)); }
KNI_INLINE float kni_word_acos_f32(float a) { return (float)(kni_acos_f32(a)); }
KNI_INLINE float kni_word_atan_f32(float a) { return (float)(kni_atan_f32(a)); }
KNI_INLINE float kni_word_sinh_f32(float a) { return (float)(kni_sinh_f32(a)); }
KNI_INLINE float kni_word_cosh_f32(float a) { return (float)(kni_cosh_f32(a)); }
KNI_INLINE float kni_word_tanh_f32(float a) { return (float)(kni_tanh_f32(a)); }
KNI_INLINE float kni_word_asinh_f32(float a) { return (float)(kni_asinh_f32(a)); }
KNI_INLINE float kni_word_acosh_f32(float a) { return (float)(kni_acosh_f32(a)); }
KNI_INLINE float kni_word_atanh_f32(float a) { return (float)(kni_atanh_f32(a)); }
KNI_INLINE float kni_word_erf_f32(float a) { return (float)(kni_erf_f32(a)); }
KNI_INLINE float kni_word_erfc_f32(float a) { return (float)(kni_erfc_f32(a)); }
KNI_INLINE float kni_word_erfinv_f32(float a) { return (float)(kni_erfinv_f32(a)); }
KNI_INLINE float kni_word_normal_cdf_f32(float a) { return (float)(kni_normal_cdf_f32(a)); }
KNI_INLINE float kni_word_lgamma_f32(float a) { return (float)(kni_lgamma_f32(a)); }
KNI_INLINE float kni_word_digamma_f32(float a) { return (float)(kni_digamma_f32(a)); }
KNI_INLINE float kni_word_polygamma_f32(float a, float b) { return (float)(kni_polygamma_f32(a, b)); }
KNI_INLINE float kni_word_zeta_f32(float a, float b) { return (float)(kni_zeta_f32(a, b)); }
KNI_INLINE float kni_word_erfcx_f32(float a) { return (float)(kni_erfcx_f32(a)); }
KNI_INLINE float kni_word_normal_quantile_f32(float a) { return (float)(kni_normal_quantile_f32(a)); }
KNI_INLINE float kni_word_igamma_f32(float a, float b) { return (float)(kni_igamma_f32(a, b)); }
KNI_INLINE float kni_word_igammac_f32(float a, float b) { return (float)(kni_igammac_f32(a, b)); }
KNI_INLINE float kni_word_i0_f32(float a) { return (float)(kni_i0_f32(a)); }
KNI_INLINE float kni_word_i0e_f32(float a) { return (float)(kni_i0e_f32(a)); }
KNI_INLINE float kni_word_i1_f32(float a) { return (float)(kni_i1_f32(a)); }
KNI_INLINE float kni_word_i1e_f32(float a) { return (float)(kni_i1e_f32(a)); }
KNI_INLINE float kni_word_bessel_j0_f32(float a) { return (float)(kni_bessel_j0_f32(a)); }
KNI_INLINE float kni_word_bessel_j1_f32(float a) { return (float)(kni_bessel_j1_f32(a)); }
KNI_INLINE float kni_word_bessel_y0_f32(float a) { return (float)(kni_bessel_y0_f32(a)); }
KNI_INLINE float kni_word_bessel_y1_f32(float a) { return (float)(kni_bessel_y1_f32(a)); }
KNI_INLINE float kni_word_bessel_k0_f32(float a) { return (float)(kni_bessel_k0_f32(a)); }
KNI_INLINE float kni_word_bessel_k1_f32(float a) { return (float)(kni_bessel_k1_f32(a)); }
KNI_INLINE float kni_word_bessel_k0e_f32(float a) { return (float)(kni_bessel_k0e_f32(a)); }
KNI_INLINE float kni_word_bessel_k1e_f32(float a) { return (float)(kni_bessel_k1e_f32(a)); }
KNI_INLINE float kni_word_sigmoid_f32(float a) { return (float)(kni_sigmoid_f32(a)); }
KNI_INLINE float kni_word_cos_turn_f32(float a) { return (float)(kni_cos_turn_f32(a)); }
KNI_INLINE float kni_word_stop_f32(float a) { return (float)(a); }
KNI_INLINE int kni_word_lt_f32(float a, float b) { return (int)(a < b); }
KNI_INLINE int kni_word_le_f32(float a, float b) { return (int)(a <= b); }
KNI_INLINE int kni_word_gt_f32(float a, float b) { return (int)(a > b); }
KNI_INLINE int kni_word_ge_f32(float a, float b) { return (int)(a >= b); }
KNI_INLINE int kni_word_eq_f32(float a, float b) { return (int)(a == b); }
KNI_INLINE int kni_word_ne_f32(float a, float b) { return (int)(a != b); }
KNI_INLINE int kni_word_isnan_f32(float a) { return (int)(a != a); }
KNI_INLINE int kni_word_isinf_f32(float a) { return (int)(kni_abs_f32(a) == (KNI_INF_F32)); }
KNI_INLINE int kni_word_isfinite_f32(float a) { return (int)(kni_abs_f32(a) < (KNI_INF_F32)); }
KNI_INLINE double kni_word_add_f64(double a, double b) { return (double)(a + b); }
KNI_INLINE double kni_word_sub_f64(double a, double b) { return (double)(a - b); }
KNI_INLINE double kni_word_mul_f64(double a, double b) { return (double)(a *b); }
KNI_INLINE double kni_word_div_f64(double a, double b) { return (double)(a / b); }
KNI_INLINE double kni_word_floordiv_f64(double a, double b) { return (double)(kni_floor_divide_f64(a, b)); }
KNI_INLINE double kni_word_rem_f64(double a, double b) { return (double)(kni_remainder_floor_f64(a, b)); }
KNI_INLINE double kni_word_fmod_f64(double a, double b) { return (double)(kni_fmod_f64(a, b)); }
KNI_INLINE double kni_word_pow_f64(double a, double b) { return (double)(kni_pow_f64(a, b)); }
KNI_INLINE double kni_word_atan2_f64(double a, double b) { return (double)(kni_atan2_f64(a, b)); }
KNI_INLINE double kni_word_hypot_f64(double a, double b) { return (double)(kni_hypot_f64(a, b)); }
KNI_INLINE double kni_word_copysign_f64(double a, double b) { return (double)(kni_copysign_f64(a, b)); }
KNI_INLINE double kni_word_max_f64(double a, double b) { return (double)(kni_larger_f64(a, b)); }
KNI_INLINE double kni_word_min_f64(double a, double b) { return (double)(kni_smaller_f64(a, b)); }
KNI_INLINE double kni_word_neg_f64(double a) { return (double)(-a); }
KNI_INLINE double kni_word_abs_f64(double a) { return (double)(kni_abs_f64(a)); }
KNI_INLINE double kni_word_sign_f64(double a) { return (double)((a > 0) - (a < 0)); }
KNI_INLINE double kni_word_floor_f64(double a) { return (double)(kni_floor_f64(a)); }
KNI_INLINE double kni_word_ceil_f64(double a) { return (double)(kni_ceil_f64(a)); }
KNI_INLINE double kni_word_round_f64(double a) { return (double)(kni_round_even_f64(a)); }
KNI_INLINE double kni_word_trunc_f64(double a) { return (double)(kni_trunc_f64(a)); }
KNI_INLINE double kni_word_sqrt_f64(double a) { return (double)(kni_sqrt_f64(a)); }
KNI_INLINE double kni_word_rsqrt_f64(double a) { return (double)(kni_rsqrt_f64(a)); }
KNI_INLINE double kni_word_exp_f64(double a) { return (double)(kni_exp_f64(a)); }
KNI_INLINE double kni_word_exp2_f64(double a) { return (double)(kni_exp2_f64(a)); }
KNI_INLINE double kni_word_expm1_f64(double a) { return (double)(kni_expm1_f64(a)); }
KNI_INLINE double kni_word_log_f64(double a) { return (double)(kni_log_f64(a)); }
KNI_INLINE double kni_word_log2_f64(double a) { return (double)(kni_log2_f64(a)); }
KNI_INLINE double kni_word_log10_f64(double a) { return (double)(kni_log10_f64(a)); }
KNI_INLINE double kni_word_log1p_f64(double a) { return (double)(kni_log1p_f64(a)); }
KNI_INLINE double kni_word_sin_f64(double a) { return (double)(kni_sin_f64(a)); }
KNI_INLINE double kni_word_cos_f64(double a) { return (double)(kni_cos_f64(a)); }
KNI_INLINE double kni_word_tan_f64(double a) { return (double)(kni_tan_f64(a)); }
KNI_INLINE double kni_word_asin_f64(double a) { return (double)(kni_asin_f64(a)); }
KNI_INLINE double kni_word_acos_f64(double a) { return (double)(kni_acos_f64(a)); }
KNI_INLINE double kni_word_atan_f64(double a) { return (double)(kni_atan_f64(a)); }
KNI_INLINE double kni_word_sinh_f64(double a) { return (double)(kni_sinh_f64(a)); }
KNI_INLINE double kni_word_cosh_f64(double a) { return (double)(kni_cosh_f64(a)); }
KNI_INLINE double kni_word_tanh_f64(double a) { return (double)(kni_tanh_f64(a)); }
KNI_INLINE double kni_word_asinh_f64(double a) { return (double)(kni_asinh_f64(a)); }
KNI_INLINE double kni_word_acosh_f64(double a) { return (double)(kni_acosh_f64(a)); }
KNI_INLINE double kni_word_atanh_f64(double a) { return (double)(kni_atanh_f64(a)); }
KNI_INLINE double kni_word_erf_f64(double a) { return (double)(kni_erf_f64(a)); }
KNI_INLINE double kni_word_erfc_f64(double a) { return (double)(kni_erfc_f64(a)); }
KNI_INLINE double kni_word_erfinv_f64(double a) { return (double)(kni_erfinv_f64(a)); }
KNI_INLINE double kni_word_normal_cdf_f64(double a) { return (double)(kni_normal_cdf_f64(a)); }
KNI_INLINE double kni_word_lgamma_f64(double a) { return (double)(kni_lgamma_f64(a)); }
KNI_INLINE double kni_word_digamma_f64(double a) { return (double)(kni_digamma_f64(a)); }
KNI_INLINE double kni_word_polygamma_f64(double a, double b) { return (double)(kni_polygamma_f64(a, b)); }
KNI_INLINE double kni_word_zeta_f64(double a, double b) { return (double)(kni_zeta_f64(a, b)); }
KNI_INLINE double kni_word_erfcx_f64(double a) { return (double)(kni_erfcx_f64(a)); }
KNI_INLINE double kni_word_normal_quantile_f64(double a) { return (double)(kni_normal_quantile_f64(a)); }
KNI_INLINE double kni_word_igamma_f64(double a, double b) { return (double)(kni_igamma_f64(a, b)); }
KNI_INLINE double kni_word_igammac_f64(double a, double b) { return (double)(kni_igammac_f64(a, b)); }
KNI_INLINE double kni_word_i0_f64(double a) { return (double)(kni_i0_f64(a)); }
KNI_INLINE double kni_word_i0e_f64(double a) { return (double)(kni_i0e_f64(a)); }
KNI_INLINE double kni_word_i1_f64(double a) { return (double)(kni_i1_f64(a)); }
KNI_INLINE double kni_word_i1e_f64(double a) { return (double)(kni_i1e_f64(a)); }
KNI_INLINE double kni_word_bessel_j0_f64(double a) { return (double)(kni_bessel_j0_f64(a)); }
KNI_INLINE double kni_word_bessel_j1_f64(double a) { return (double)(kni_bessel_j1_f64(a)); }
KNI_INLINE double kni_word_bessel_y0_f64(double a) { return (double)(kni_bessel_y0_f64(a)); }
KNI_INLINE double kni_word_bessel_y1_f64(double a) { return (double)(kni_bessel_y1_f64(a)); }
KNI_INLINE double kni_word_bessel_k0_f64(double a) { return (double)(kni_bessel_k0_f64(a)); }
KNI_INLINE double kni_word_bessel_k1_f64(double a) { return (double)(kni_bessel_k1_f64(a)); }
KNI_INLINE double kni_word_bessel_k0e_f64(double a) { return (double)(kni_bessel_k0e_f64(a)); }
KNI_INLINE double kni_word_bessel_k1e_f64(double a) { return (double)(kni_bessel_k1e_f64(a)); }
KNI_INLINE double kni_word_sigmoid_f64(double a) { return (double)(kni_sigmoid_f64(a)); }
KNI_INLINE double kni_word_cos_turn_f64(double a) { return (double)(kni_cos_turn_f64(a)); }
KNI_INLINE double kni_word_stop_f64(double a) { return (double)(a); }
KNI_INLINE int kni_word_lt_f64(double a, double b) { return (int)(a < b); }
KNI_INLINE int kni_word_le_f64(double a, double b) { return (int)(a <= b); }
KNI_INLINE int kni_word_gt_f64(double a, double b) { return (int)(a > b); }
KNI_INLINE int kni_word_ge_f64(double a, double b) { return (int)(a >= b); }
KNI_INLINE int kni_word_eq_f64(double a, double b) { return (int)(a == b); }
KNI_INLINE int kni_word_ne_f64(double a, double b) { return (int)(a != b); }
KNI_INLINE int kni_word_isnan_f64(double a) { return (int)(a != a); }
KNI_INLINE int kni_word_isinf_f64(double a) { return (int)(kni_abs_f64(a) == (KNI_INF_F32)); }
KNI_INLINE int kni_word_isfinite_f64(double a) { return (int)(kni_abs_f64(a) < (KNI_INF_F32)); }
KNI_INLINE int32_t kni_word_add_i32(int32_t a, int32_t b) { return (int32_t)(((uint32_t)(a) + (uint32_t)(b))); }
KNI_INLINE int32_t kni_word_sub_i32(int32_t a, int32_t b) { return (int32_t)(((uint32_t)(a) - (uint32_t)(b))); }
KNI_INLINE int32_t kni_word_mul_i32(int32_t a, int32_t b) { return (int32_t)(((uint32_t)(a) * (uint32_t)(b))); }
KNI_INLINE int32_t kni_word_div_i32(int32_t a, int32_t b) { return (int32_t)(((b) == 0 ? 0 : (b) + 1 == 0 && (int32_t)-1 < 0 ? ((int32_t)(0 - (uint32_t)(a))) : (a) / (b))); }
KNI_INLINE int32_t kni_word_floordiv_i32(int32_t a, int32_t b) { return (int32_t)((((b) == 0 ? 0 : (b) + 1 == 0 && (int32_t)-1 < 0 ? ((int32_t)(0 - (uint32_t)(a))) : (a) / (b)) - ((b) != 0 && ((b) == 0 || ((b) + 1 == 0 && (int32_t)-1 < 0) ? 0 : (a) % (b)) != 0 && ((a) < 0) != ((b) < 0)))); }
KNI_INLINE int32_t kni_word_rem_i32(int32_t a, int32_t b) { return (int32_t)((((b) == 0 || ((b) + 1 == 0 && (int32_t)-1 < 0) ? 0 : (a) % (b)) + (((b) == 0 || ((b) + 1 == 0 && (int32_t)-1 < 0) ? 0 : (a) % (b)) != 0 && ((a) < 0) != ((b) < 0) ? (b) : 0))); }
KNI_INLINE int32_t kni_word_fmod_i32(int32_t a, int32_t b) { return (int32_t)(((b) == 0 || ((b) + 1 == 0 && (int32_t)-1 < 0) ? 0 : (a) % (b))); }
KNI_INLINE int32_t kni_word_pow_i32(int32_t a, int32_t b) { return (int32_t)(kni_integer_power_i32(a, b)); }
KNI_INLINE int32_t kni_word_max_i32(int32_t a, int32_t b) { return (int32_t)(a > b ? a : b); }
KNI_INLINE int32_t kni_word_min_i32(int32_t a, int32_t b) { return (int32_t)(a < b ? a : b); }
KNI_INLINE int32_t kni_word_neg_i32(int32_t a) { return (int32_t)(((int32_t)(0 - (uint32_t)(a)))); }
KNI_INLINE int32_t kni_word_abs_i32(int32_t a) { return (int32_t)(((a) < 0 ? ((int32_t)(0 - (uint32_t)(a))) : (a))); }
KNI_INLINE int32_t kni_word_sign_i32(int32_t a) { return (int32_t)((a > 0) - (a < 0)); }
KNI_INLINE int32_t kni_word_floor_i32(int32_t a) { return (int32_t)(a); }
KNI_INLINE int32_t kni_word_ceil_i32(int32_t a) { return (int32_t)(a); }
KNI_INLINE int32_t kni_word_round_i32(int32_t a) { return (int32_t)(a); }
KNI_INLINE int32_t kni_word_trunc_i32(int32_t a) { return (int32_t)(a); }
KNI_INLINE int32_t kni_word_stop_i32(int32_t a) { return (int32_t)(a); }
KNI_INLINE int32_t kni_word_gcd_i32(int32_t a, int32_t b) { return (int32_t)(kni_common_divisor_i32(a, b)); }
KNI_INLINE int32_t kni_word_and_i32(int32_t a, int32_t b) { return (int32_t)(a &b); }
KNI_INLINE int32_t kni_word_or_i32(int32_t a, int32_t b) { return (int32_t)(a | b); }
KNI_INLINE int32_t kni_word_xor_i32(int32_t a, int32_t b) { return (int32_t)(a ^ b); }
KNI_INLINE int32_t kni_word_not_i32(int32_t a) { return (int32_t)(~a); }
KNI_INLINE int32_t kni_word_shl_i32(int32_t a, int32_t b) { return (int32_t)(((b) < 0 || (b) >= (int32_t)(8 * sizeof(int32_t)) ? 0 : (int32_t)((uint64_t)(a) << (b)))); }
KNI_INLINE int32_t kni_word_shr_i32(int32_t a, int32_t b) { return (int32_t)(((b) < 0 || (b) >= (int32_t)(8 * sizeof(int32_t)) ? ((a) < 0 ? (int32_t)-1 : 0) : (int32_t)((a) >> (b)))); }
KNI_INLINE int kni_word_lt_i32(int32_t a, int32_t b) { return (int)(a < b); }
KNI_INLINE int kni_word_le_i32(int32_t a, int32_t b) { return (int)(a <= b); }
KNI_INLINE int kni_word_gt_i32(int32_t a, int32_t b) { return (int)(a > b); }
KNI_INLINE int kni_word_ge_i32(int32_t a, int32_t b) { return (int)(a >= b); }
KNI_INLINE int kni_word_eq_i32(int32_t a, int32_t b) { return (int)(a == b); }
KNI_INLINE int kni_word_ne_i32(int32_t a, int32_t b) { return (int)(a != b); }
KNI_INLINE int kni_word_isnan_i32(int32_t a) { return (int)(0); }
KNI_INLINE int kni_word_isinf_i32(int32_t a) { return (int)(0); }
KNI_INLINE int kni_word_isfinite_i32(int32_t a) { return (int)(1); }
KNI_INLINE int64_t kni_word_add_i64(int64_t a, int64_t b) { return (int64_t)(((uint64_t)(a) + (uint64_t)(b))); }
KNI_INLINE int64_t kni_word_sub_i64(int64_t a, int64_t b) { return (int64_t)(((uint64_t)(a) - (uint64_t)(b))); }
KNI_INLINE int64_t kni_word_mul_i64(int64_t a, int64_t b) { return (int64_t)(((uint64_t)(a) * (uint64_t)(b))); }
KNI_INLINE int64_t kni_word_div_i64(int64_t a, int64_t b) { return (int64_t)(((b) == 0 ? 0 : (b) + 1 == 0 && (int64_t)-1 < 0 ? ((int64_t)(0 - (uint64_t)(a))) : (a) / (b))); }
KNI_INLINE int64_t kni_word_floordiv_i64(int64_t a, int64_t b) { return (int64_t)((((b) == 0 ? 0 : (b) + 1 == 0 && (int64_t)-1 < 0 ? ((int64_t)(0 - (uint64_t)(a))) : (a) / (b)) - ((b) != 0 && ((b) == 0 || ((b) + 1 == 0 && (int64_t)-1 < 0) ? 0 : (a) % (b)) != 0 && ((a) < 0) != ((b) < 0)))); }
KNI_INLINE int64_t kni_word_rem_i64(int64_t a, int64_t b) { return (int64_t)((((b) == 0 || ((b) + 1 == 0 && (int64_t)-1 < 0) ? 0 : (a) % (b)) + (((b) == 0 || ((b) + 1 == 0 && (int64_t)-1 < 0) ? 0 : (a) % (b)) != 0 && ((a) < 0) != ((b) < 0) ? (b) : 0))); }
KNI_INLINE int64_t kni_word_fmod_i64(int64_t a, int64_t b) { return (int64_t)(((b) == 0 || ((b) + 1 == 0 && (int64_t)-1 < 0) ? 0 : (a) % (b))); }
KNI_INLINE int64_t kni_word_pow_i64(int64_t a, int64_t b) { return (int64_t)(kni_integer_power_i64(a, b)); }
KNI_INLINE int64_t kni_word_max_i64(int64_t a, int64_t b) { return (int64_t)(a > b ? a : b); }
KNI_INLINE int64_t kni_word_min_i64(int64_t a, int64_t b) { return (int64_t)(a < b ? a : b); }
KNI_INLINE int64_t kni_word_neg_i64(int64_t a) { return (int64_t)(((int64_t)(0 - (uint64_t)(a)))); }
KNI_INLINE int64_t kni_word_abs_i64(int64_t a) { return (int64_t)(((a) < 0 ? ((int64_t)(0 - (uint64_t)(a))) : (a))); }
KNI_INLINE int64_t kni_word_sign_i64(int64_t a) { return (int64_t)((a > 0) - (a < 0)); }
KNI_INLINE int64_t kni_word_floor_i64(int64_t a) { return (int64_t)(a); }
KNI_INLINE int64_t kni_word_ceil_i64(int64_t a) { return (int64_t)(a); }
KNI_INLINE int64_t kni_word_round_i64(int64_t a) { return (int64_t)(a); }
KNI_INLINE int64_t kni_word_trunc_i64(int64_t a) { return (int64_t)(a); }
KNI_INLINE int64_t kni_word_stop_i64(int64_t a) { return (int64_t)(a); }
KNI_INLINE int64_t kni_word_gcd_i64(int64_t a, int64_t b) { return (int64_t)(kni_common_divisor_i64(a, b)); }
KNI_INLINE int64_t kni_word_and_i64(int64_t a, int64_t b) { return (int64_t)(a &b); }
KNI_INLINE int64_t kni_word_or_i64(int64_t a, int64_t b) { return (int64_t)(a | b); }
KNI_INLINE int64_t kni_word_xor_i64(int64_t a, int64_t b) { return (int64_t)(a ^ b); }
KNI_INLINE int64_t kni_word_not_i64(int64_t a) { return (int64_t)(~a); }
KNI_INLINE int64_t kni_word_shl_i64(int64_t a, int64_t b) { return (int64_t)(((b) < 0 || (b) >= (int64_t)(8 * sizeof(int64_t)) ? 0 : (int64_t)((uint64_t)(a) << (b)))); }
KNI_INLINE int64_t kni_word_shr_i64(int64_t a, int64_t b) { return (int64_t)(((b) < 0 || (b) >= (int64_t)(8 * sizeof(int64_t)) ? ((a) < 0 ? (int64_t)-1 : 0) : (int64_t)((a) >> (b)))); }
KNI_INLINE int kni_word_lt_i64(int64_t a, int64_t b) { return (int)(a < b); }
KNI_INLINE int kni_word_le_i64(int64_t a, int64_t b) { return (int)(a <= b); }
KNI_INLINE int kni_word_gt_i64(int64_t a, int64_t b) { return (int)(a > b); }
KNI_INLINE int kni_word_ge_i64(int64_t a, int64_t b) { return (int)(a >= b); }
KNI_INLINE int kni_word_eq_i64(int64_t a, int64_t b) { return (int)(a == b); }
KNI_INLINE int kni_word_ne_i64(int64_t a, int64_t b) { return (int)(a != b); }
KNI_INLINE int kni_word_isnan_i64(int64_t a) { return (int)(0); }
KNI_INLINE int kni_word_isinf_i64(int64_t a) { return (int)(0); }
KNI_INLINE int kni_word_isfinite_i64(int64_t a) { return (int)(1); }
KNI_INLINE uint32_t kni_word_add_u32(uint32_t a, uint32_t b) { return (uint32_t)(((uint32_t)(a) + (uint32_t)(b))); }
KNI_INLINE uint32_t kni_word_sub_u32(uint32_t a, uint32_t b) { return (uint32_t)(((uint32_t)(a) - (uint32_t)(b))); }
KNI_INLINE uint32_t kni_word_mul_u32(uint32_t a, uint32_t b) { return (uint32_t)(((uint32_t)(a) * (uint32_t)(b))); }
KNI_INLINE uint32_t kni_word_div_u32(uint32_t a, uint32_t b) { return (uint32_t)(((b) == 0 ? 0 : (b) + 1 == 0 && (uint32_t)-1 < 0 ? ((uint32_t)(0 - (uint32_t)(a))) : (a) / (b))); }
KNI_INLINE uint32_t kni_word_floordiv_u32(uint32_t a, uint32_t b) { return (uint32_t)((((b) == 0 ? 0 : (b) + 1 == 0 && (uint32_t)-1 < 0 ? ((uint32_t)(0 - (uint32_t)(a))) : (a) / (b)) - ((b) != 0 && ((b) == 0 || ((b) + 1 == 0 && (uint32_t)-1 < 0) ? 0 : (a) % (b)) != 0 && ((a) < 0) != ((b) < 0)))); }
KNI_INLINE uint32_t kni_word_rem_u32(uint32_t a, uint32_t b) { return (uint32_t)((((b) == 0 || ((b) + 1 == 0 && (uint32_t)-1 < 0) ? 0 : (a) % (b)) + (((b) == 0 || ((b) + 1 == 0 && (uint32_t)-1 < 0) ? 0 : (a) % (b)) != 0 && ((a) < 0) != ((b) < 0) ? (b) : 0))); }
KNI_INLINE uint32_t kni_word_fmod_u32(uint32_t a, uint32_t b) { return (uint32_t)(((b) == 0 || ((b) + 1 == 0 && (uint32_t)-1 < 0) ? 0 : (a) % (b))); }
KNI_INLINE uint32_t kni_word_pow_u32(uint32_t a, uint32_t b) { return (uint32_t)(kni_integer_power_u32(a, b)); }
KNI_INLINE uint32_t kni_word_max_u32(uint32_t a, uint32_t b) { return (uint32_t)(a > b ? a : b); }
KNI_INLINE uint32_t kni_word_min_u32(uint32_t a, uint32_t b) { return (uint32_t)(a < b ? a : b); }
KNI_INLINE uint32_t kni_word_neg_u32(uint32_t a) { return (uint32_t)(((uint32_t)(0 - (uint32_t)(a)))); }
KNI_INLINE uint32_t kni_word_abs_u32(uint32_t a) { return (uint32_t)(((a) < 0 ? ((uint32_t)(0 - (uint32_t)(a))) : (a))); }
KNI_INLINE uint32_t kni_word_sign_u32(uint32_t a) { return (uint32_t)((a > 0) - (a < 0)); }
KNI_INLINE uint32_t kni_word_floor_u32(uint32_t a) { return (uint32_t)(a); }
KNI_INLINE uint32_t kni_word_ceil_u32(uint32_t a) { return (uint32_t)(a); }
KNI_INLINE uint32_t kni_word_round_u32(uint32_t a) { return (uint32_t)(a); }
KNI_INLINE uint32_t kni_word_trunc_u32(uint32_t a) { return (uint32_t)(a); }
KNI_INLINE uint32_t kni_word_stop_u32(uint32_t a) { return (uint32_t)(a); }
KNI_INLINE uint32_t kni_word_gcd_u32(uint32_t a, uint32_t b) { return (uint32_t)(kni_common_divisor_u32(a, b)); }
KNI_INLINE uint32_t kni_word_and_u32(uint32_t a, uint32_t b) { return (uint32_t)(a &b); }
KNI_INLINE uint32_t kni_word_or_u32(uint32_t a, uint32_t b) { return (uint32_t)(a | b); }
KNI_INLINE uint32_t kni_word_xor_u32(uint32_t a, uint32_t b) { return (uint32_t)(a ^ b); }
KNI_INLINE uint32_t kni_word_not_u32(uint32_t a) { return (uint32_t)(~a); }
KNI_INLINE uint32_t kni_word_shl_u32(uint32_t a, uint32_t b) { return (uint32_t)(((b) < 0 || (b) >= (uint32_t)(8 * sizeof(uint32_t)) ? 0 : (uint32_t)((uint64_t)(a) << (b)))); }
KNI_INLINE uint32_t kni_word_shr_u32(uint32_t a, uint32_t b) { return (uint32_t)(((b) < 0 || (b) >= (uint32_t)(8 * sizeof(uint32_t)) ? ((a) < 0 ? (uint32_t)-1 : 0) : (uint32_t)((a) >> (b)))); }
KNI_INLINE int kni_word_lt_u32(uint32_t a, uint32_t b) { return (int)(a < b); }
KNI_INLINE int kni_word_le_u32(uint32_t a, uint32_t b) { return (int)(a <= b); }
KNI_INLINE int kni_word_gt_u32(uint32_t a, uint32_t b) { return (int)(a > b); }
KNI_INLINE int kni_word_ge_u32(uint32_t a, uint32_t b) { return (int)(a >= b); }
KNI_INLINE int kni_word_eq_u32(uint32_t a, uint32_t b) { return (int)(a == b); }
KNI_INLINE int kni_word_ne_u32(uint32_t a, uint32_t b) { return (int)(a != b); }
KNI_INLINE int kni_word_isnan_u32(uint32_t a) { return (int)(0); }
KNI_INLINE int kni_word_isinf_u32(uint32_t a) { return (int)(0); }
KNI_INLINE int kni_word_isfinite_u32(uint32_t a) { return (int)(1); }
KNI_INLINE uint64_t kni_word_add_u64(uint64_t a, uint64_t b) { return (uint64_t)(((uint64_t)(a) + (uint64_t)(b))); }
KNI_INLINE uint64_t kni_word_sub_u64(uint64_t a, uint64_t b) { return (uint64_t)(((uint64_t)(a) - (uint64_t)(b))); }
KNI_INLINE uint64_t kni_word_mul_u64(uint64_t a, uint64_t b) { return (uint64_t)(((uint64_t)(a) * (uint64_t)(b))); }
KNI_INLINE uint64_t kni_word_div_u64(uint64_t a, uint64_t b) { return (uint64_t)(((b) == 0 ? 0 : (b) + 1 == 0 && (uint64_t)-1 < 0 ? ((uint64_t)(0 - (uint64_t)(a))) : (a) / (b))); }
KNI_INLINE uint64_t kni_word_floordiv_u64(uint64_t a, uint64_t b) { return (uint64_t)((((b) == 0 ? 0 : (b) + 1 == 0 && (uint64_t)-1 < 0 ? ((uint64_t)(0 - (uint64_t)(a))) : (a) / (b)) - ((b) != 0 && ((b) == 0 || ((b) + 1 == 0 && (uint64_t)-1 < 0) ? 0 : (a) % (b)) != 0 && ((a) < 0) != ((b) < 0)))); }
KNI_INLINE uint64_t kni_word_rem_u64(uint64_t a, uint64_t b) { return (uint64_t)((((b) == 0 || ((b) + 1 == 0 && (uint64_t)-1 < 0) ? 0 : (a) % (b)) + (((b) == 0 || ((b) + 1 == 0 && (uint64_t)-1 < 0) ? 0 : (a) % (b)) != 0 && ((a) < 0) != ((b) < 0) ? (b) : 0))); }
KNI_INLINE uint64_t kni_word_fmod_u64(uint64_t a, uint64_t b) { return (uint64_t)(((b) == 0 || ((b) + 1 == 0 && (uint64_t)-1 < 0) ? 0 : (a) % (b))); }
KNI_INLINE uint64_t kni_word_pow_u64(uint64_t a, uint64_t b) { return (uint64_t)(kni_integer_power_u64(a, b)); }
KNI_INLINE uint64_t kni_word_max_u64(uint64_t a, uint64_t b) { return (uint64_t)(a > b ? a : b); }
KNI_INLINE uint64_t kni_word_min_u64(uint64_t a, uint64_t b) { return (uint64_t)(a < b ? a : b); }
KNI_INLINE uint64_t kni_word_neg_u64(uint64_t a) { return (uint64_t)(((uint64_t)(0 - (uint64_t)(a)))); }
KNI_INLINE uint64_t kni_word_abs_u64(uint64_t a) { return (uint64_t)(((a) < 0 ? ((uint64_t)(0 - (uint64_t)(a))) : (a))); }
KNI_INLINE uint64_t kni_word_sign_u64(uint64_t a) { return (uint64_t)((a > 0) - (a < 0)); }
KNI_INLINE uint64_t kni_word_floor_u64(uint64_t a) { return (uint64_t)(a); }
KNI_INLINE uint64_t kni_word_ceil_u64(uint64_t a) { return (uint64_t)(a); }
KNI_INLINE uint64_t kni_word_round_u64(uint64_t a) { return (uint64_t)(a); }
KNI_INLINE uint64_t kni_word_trunc_u64(uint64_t a) { return (uint64_t)(a); }
KNI_INLINE uint64_t kni_word_stop_u64(uint64_t a) { return (uint64_t)(a); }
KNI_INLINE uint64_t kni_word_gcd_u64(uint64_t a, uint64_t b) { return (uint64_t)(kni_common_divisor_u64(a, b)); }
KNI_INLINE uint64_t kni_word_and_u64(uint64_t a, uint64_t b) { return (uint64_t)(a &b); }
KNI_INLINE uint64_t kni_word_or_u64(uint64_t a, uint64_t b) { return (uint64_t)(a | b); }
KNI_INLINE uint64_t kni_word_xor_u64(uint64_t a, uint64_t b) { return (uint64_t)(a ^ b); }
KNI_INLINE uint64_t kni_word_not_u64(uint64_t a) { return (uint64_t)(~a); }
KNI_INLINE uint64_t kni_word_shl_u64(uint64_t a, uint64_t b) { return (uint64_t)(((b) < 0 || (b) >= (uint64_t)(8 * sizeof(uint64_t)) ? 0 : (uint64_t)((uint64_t)(a) << (b)))); }
KNI_INLINE uint64_t kni_word_shr_u64(uint64_t a, uint64_t b) { return (uint64_t)(((b) < 0 || (b) >= (uint64_t)(8 * sizeof(uint64_t)) ? ((a) < 0 ? (uint64_t)-1 : 0) : (uint64_t)((a) >> (b)))); }
KNI_INLINE int kni_word_lt_u64(uint64_t a, uint64_t b) { return (int)(a < b); }
KNI_INLINE int kni_word_le_u64(uint64_t a, uint64_t b) { return (int)(a <= b); }
KNI_INLINE int kni_word_gt_u64(uint64_t a, uint64_t b) { return (int)(a > b); }
KNI_INLINE int kni_word_ge_u64(uint64_t a, uint64_t b) { return (int)(a >= b); }
KNI_INLINE int kni_word_eq_u64(uint64_t a, uint64_t b) { return (int)(a == b); }
KNI_INLINE int kni_word_ne_u64(uint64_t a, uint64_t b) { return (int)(a != b); }
KNI_INLINE int kni_word_isnan_u64(uint64_t a) { return (int)(0); }
KNI_INLINE int kni_word_isinf_u64(uint64_t a) { return (int)(0); }
KNI_INLINE int kni_word_isfinite_u64(uint64_t a) { return (int)(1); }
void k0(const double *pa, const double *pb, uint64_t *py, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) {
        double a = pa[i], b = pb[i];
        uint64_t y = 0;
        switch (which) {
        case 0: y = (uint64_t)(kni_cast_bf16_f64(a)); break;
        case 1: y = (uint64_t)(kni_cast_bool_f64(a)); break;
        case 2: y = (uint64_t)(kni_cast_f16_f64(a)); break;
        case 3: y = (uint64_t)kni_bits_f32(kni_cast_f32_f64(a)); break;
        case 4: y = (uint64_t)kni_bits_f64(kni_cast_f64_f64(a)); break;
        case 5: y = (uint64_t)(uint16_t)(kni_cast_i16_f64(a)); break;
        case 6: y = (uint64_t)(uint32_t)(kni_cast_i32_f64(a)); break;
        case 7: y = (uint64_t)(kni_cast_i64_f64(a)); break;
        case 8: y = (uint64_t)(uint8_t)(kni_cast_i8_f64(a)); break;
        case 9: y = (uint64_t)(kni_cast_u16_f64(a)); break;
        case 10: y = (uint64_t)(kni_cast_u32_f64(a)); break;
        case 11: y = (uint64_t)(kni_cast_u64_f64(a)); break;
        }
        py[i] = y;
    }
}
void k1(const double *pa, const double *pb, uint64_t *py, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) {
        double a = pa[i], b = pb[i];
        uint64_t y = 0;
        switch (which) {
        case 0: y = (uint64_t)(kni_cast_u8_f64(a)); break;
        case 1: y = (uint64_t)kni_bits_f64(kni_cos_turn_f64(a)); break;
        case 2: y = (uint64_t)kni_bits_f64(kni_fma_f64(a, b, a)); break;
        case 3: y = (uint64_t)kni_bits_f64(kni_fma_f64(a, b, -(a * b))); break;
        case 4: y = (uint64_t)kni_bits_f64(kni_fma_f64(a, a, -b)); break;
        case 5: y = (uint64_t)kni_bits_f64(kni_sin_bounded_f64(a)); break;
        case 6: y = (uint64_t)kni_bits_f64(kni_word_abs_f64(a)); break;
        case 7: y = (uint64_t)kni_bits_f64(kni_word_acos_f64(a)); break;
        case 8: y = (uint64_t)kni_bits_f64(kni_word_acosh_f64(a)); break;
        case 9: y = (uint64_t)kni_bits_f64(kni_word_add_f64(a, b)); break;
        case 10: y = (uint64_t)kni_bits_f64(kni_word_asin_f64(a)); break;
        case 11: y = (uint64_t)kni_bits_f64(kni_word_asinh_f64(a)); break;
        }
        py[i] = y;
    }
}
void k2(const double *pa, const double *pb, uint64_t *py, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) {
        double a = pa[i], b = pb[i];
        uint64_t y = 0;
        switch (which) {
        case 0: y = (uint64_t)kni_bits_f64(kni_word_atan2_f64(a, b)); break;
        case 1: y = (uint64_t)kni_bits_f64(kni_word_atan_f64(a)); break;
        case 2: y = (uint64_t)kni_bits_f64(kni_word_atanh_f64(a)); break;
        case 3: y = (uint64_t)kni_bits_f64(kni_word_bessel_j0_f64(a)); break;
        case 4: y = (uint64_t)kni_bits_f64(kni_word_bessel_j1_f64(a)); break;
        case 5: y = (uint64_t)kni_bits_f64(kni_word_bessel_k0_f64(a)); break;
        case 6: y = (uint64_t)kni_bits_f64(kni_word_bessel_k0e_f64(a)); break;
        case 7: y = (uint64_t)kni_bits_f64(kni_word_bessel_k1_f64(a)); break;
        case 8: y = (uint64_t)kni_bits_f64(kni_word_bessel_k1e_f64(a)); break;
        case 9: y = (uint64_t)kni_bits_f64(kni_word_bessel_y0_f64(a)); break;
        case 10: y = (uint64_t)kni_bits_f64(kni_word_bessel_y1_f64(a)); break;
        case 11: y = (uint64_t)kni_bits_f64(kni_word_ceil_f64(a)); break;
        }
        py[i] = y;
    }
}
void k3(const double *pa, const double *pb, uint64_t *py, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) {
        double a = pa[i], b = pb[i];
        uint64_t y = 0;
        switch (which) {
        case 0: y = (uint64_t)kni_bits_f64(kni_word_copysign_f64(a, b)); break;
        case 1: y = (uint64_t)kni_bits_f64(kni_word_cos_f64(a)); break;
        case 2: y = (uint64_t)kni_bits_f64(kni_word_cos_turn_f64(a)); break;
        case 3: y = (uint64_t)kni_bits_f64(kni_word_cosh_f64(a)); break;
        case 4: y = (uint64_t)kni_bits_f64(kni_word_digamma_f64(a)); break;
        case 5: y = (uint64_t)kni_bits_f64(kni_word_div_f64(a, b)); break;
        case 6: y = (uint64_t)(uint32_t)(kni_word_eq_f64(a, b)); break;
        case 7: y = (uint64_t)kni_bits_f64(kni_word_erf_f64(a)); break;
        case 8: y = (uint64_t)kni_bits_f64(kni_word_erfc_f64(a)); break;
        case 9: y = (uint64_t)kni_bits_f64(kni_word_erfcx_f64(a)); break;
        case 10: y = (uint64_t)kni_bits_f64(kni_word_erfinv_f64(a)); break;
        case 11: y = (uint64_t)kni_bits_f64(kni_word_exp2_f64(a)); break;
        }
        py[i] = y;
    }
}
void k4(const double *pa, const double *pb, uint64_t *py, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) {
        double a = pa[i], b = pb[i];
        uint64_t y = 0;
        switch (which) {
        case 0: y = (uint64_t)kni_bits_f64(kni_word_exp_f64(a)); break;
        case 1: y = (uint64_t)kni_bits_f64(kni_word_expm1_f64(a)); break;
        case 2: y = (uint64_t)kni_bits_f64(kni_word_floor_f64(a)); break;
        case 3: y = (uint64_t)kni_bits_f64(kni_word_floordiv_f64(a, b)); break;
        case 4: y = (uint64_t)kni_bits_f64(kni_word_fmod_f64(a, b)); break;
        case 5: y = (uint64_t)(uint32_t)(kni_word_ge_f64(a, b)); break;
        case 6: y = (uint64_t)(uint32_t)(kni_word_gt_f64(a, b)); break;
        case 7: y = (uint64_t)kni_bits_f64(kni_word_hypot_f64(a, b)); break;
        case 8: y = (uint64_t)kni_bits_f64(kni_word_i0_f64(a)); break;
        case 9: y = (uint64_t)kni_bits_f64(kni_word_i0e_f64(a)); break;
        case 10: y = (uint64_t)kni_bits_f64(kni_word_i1_f64(a)); break;
        case 11: y = (uint64_t)kni_bits_f64(kni_word_i1e_f64(a)); break;
        }
        py[i] = y;
    }
}
void k5(const double *pa, const double *pb, uint64_t *py, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) {
        double a = pa[i], b = pb[i];
        uint64_t y = 0;
        switch (which) {
        case 0: y = (uint64_t)kni_bits_f64(kni_word_igamma_f64(a, b)); break;
        case 1: y = (uint64_t)kni_bits_f64(kni_word_igammac_f64(a, b)); break;
        case 2: y = (uint64_t)(uint32_t)(kni_word_isfinite_f64(a)); break;
        case 3: y = (uint64_t)(uint32_t)(kni_word_isinf_f64(a)); break;
        case 4: y = (uint64_t)(uint32_t)(kni_word_isnan_f64(a)); break;
        case 5: y = (uint64_t)(uint32_t)(kni_word_le_f64(a, b)); break;
        case 6: y = (uint64_t)kni_bits_f64(kni_word_lgamma_f64(a)); break;
        case 7: y = (uint64_t)kni_bits_f64(kni_word_log10_f64(a)); break;
        case 8: y = (uint64_t)kni_bits_f64(kni_word_log1p_f64(a)); break;
        case 9: y = (uint64_t)kni_bits_f64(kni_word_log2_f64(a)); break;
        case 10: y = (uint64_t)kni_bits_f64(kni_word_log_f64(a)); break;
        case 11: y = (uint64_t)(uint32_t)(kni_word_lt_f64(a, b)); break;
        }
        py[i] = y;
    }
}
void k6(const double *pa, const double *pb, uint64_t *py, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) {
        double a = pa[i], b = pb[i];
        uint64_t y = 0;
        switch (which) {
        case 0: y = (uint64_t)kni_bits_f64(kni_word_max_f64(a, b)); break;
        case 1: y = (uint64_t)kni_bits_f64(kni_word_min_f64(a, b)); break;
        case 2: y = (uint64_t)kni_bits_f64(kni_word_mul_f64(a, b)); break;
        case 3: y = (uint64_t)(uint32_t)(kni_word_ne_f64(a, b)); break;
        case 4: y = (uint64_t)kni_bits_f64(kni_word_neg_f64(a)); break;
        case 5: y = (uint64_t)kni_bits_f64(kni_word_normal_cdf_f64(a)); break;
        case 6: y = (uint64_t)kni_bits_f64(kni_word_normal_quantile_f64(a)); break;
        case 7: y = (uint64_t)kni_bits_f64(kni_word_polygamma_f64(a, b)); break;
        case 8: y = (uint64_t)kni_bits_f64(kni_word_pow_f64(a, b)); break;
        case 9: y = (uint64_t)kni_bits_f64(kni_word_rem_f64(a, b)); break;
        case 10: y = (uint64_t)kni_bits_f64(kni_word_round_f64(a)); break;
        case 11: y = (uint64_t)kni_bits_f64(kni_word_rsqrt_f64(a)); break;
        }
        py[i] = y;
    }
}
void k7(const double *pa, const double *pb, uint64_t *py, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) {
        double a = pa[i], b = pb[i];
        uint64_t y = 0;
        switch (which) {
        case 0: y = (uint64_t)kni_bits_f64(kni_word_sigmoid_f64(a)); break;
        case 1: y = (uint64_t)kni_bits_f64(kni_word_sign_f64(a)); break;
        case 2: y = (uint64_t)kni_bits_f64(kni_word_sin_f64(a)); break;
        case 3: y = (uint64_t)kni_bits_f64(kni_word_sinh_f64(a)); break;
        case 4: y = (uint64_t)kni_bits_f64(kni_word_sqrt_f64(a)); break;
        case 5: y = (uint64_t)kni_bits_f64(kni_word_stop_f64(a)); break;
        case 6: y = (uint64_t)kni_bits_f64(kni_word_sub_f64(a, b)); break;
        case 7: y = (uint64_t)kni_bits_f64(kni_word_tan_f64(a)); break;
        case 8: y = (uint64_t)kni_bits_f64(kni_word_tanh_f64(a)); break;
        case 9: y = (uint64_t)kni_bits_f64(kni_word_trunc_f64(a)); break;
        case 10: y = (uint64_t)kni_bits_f64(kni_word_zeta_f64(a, b)); break;
        }
        py[i] = y;
    }
}
void k8(const float *pa, const float *pb, uint64_t *py, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) {
        float a = pa[i], b = pb[i];
        uint64_t y = 0;
        switch (which) {
        case 0: y = (uint64_t)(kni_bits_f32(a)); break;
        case 1: y = (uint64_t)(kni_cast_bf16_f32(a)); break;
        case 2: y = (uint64_t)(kni_cast_bool_f32(a)); break;
        case 3: y = (uint64_t)(kni_cast_f16_f32(a)); break;
        case 4: y = (uint64_t)kni_bits_f32(kni_cast_f32_f32(a)); break;
        case 5: y = (uint64_t)kni_bits_f64(kni_cast_f64_f32(a)); break;
        case 6: y = (uint64_t)(uint16_t)(kni_cast_i16_f32(a)); break;
        case 7: y = (uint64_t)(uint32_t)(kni_cast_i32_f32(a)); break;
        case 8: y = (uint64_t)(kni_cast_i64_f32(a)); break;
        case 9: y = (uint64_t)(uint8_t)(kni_cast_i8_f32(a)); break;
        case 10: y = (uint64_t)(kni_cast_u16_f32(a)); break;
        case 11: y = (uint64_t)(kni_cast_u32_f32(a)); break;
        }
        py[i] = y;
    }
}
void k9(const float *pa, const float *pb, uint64_t *py, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) {
        float a = pa[i], b = pb[i];
        uint64_t y = 0;
        switch (which) {
        case 0: y = (uint64_t)(kni_cast_u64_f32(a)); break;
        case 1: y = (uint64_t)(kni_cast_u8_f32(a)); break;
        case 2: y = (uint64_t)kni_bits_f32(kni_cos_turn_f32(a)); break;
        case 3: y = (uint64_t)kni_bits_f32(kni_fma_f32(a, b, a)); break;
        case 4: y = (uint64_t)kni_bits_f32(kni_fma_f32(a, b, -(a * b))); break;
        case 5: y = (uint64_t)kni_bits_f32(kni_select_f32(a < b, b, a)); break;
        case 6: y = (uint64_t)kni_bits_f32(kni_word_abs_f32(a)); break;
        case 7: y = (uint64_t)kni_bits_f32(kni_word_acos_f32(a)); break;
        case 8: y = (uint64_t)kni_bits_f32(kni_word_acosh_f32(a)); break;
        case 9: y = (uint64_t)kni_bits_f32(kni_word_add_f32(a, b)); break;
        case 10: y = (uint64_t)kni_bits_f32(kni_word_asin_f32(a)); break;
        case 11: y = (uint64_t)kni_bits_f32(kni_word_asinh_f32(a)); break;
        }
        py[i] = y;
    }
}
void k10(const float *pa, const float *pb, uint64_t *py, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) {
        float a = pa[i], b = pb[i];
        uint64_t y = 0;
        switch (which) {
        case 0: y = (uint64_t)kni_bits_f32(kni_word_atan2_f32(a, b)); break;
        case 1: y = (uint64_t)kni_bits_f32(kni_word_atan_f32(a)); break;
        case 2: y = (uint64_t)kni_bits_f32(kni_word_atanh_f32(a)); break;
        case 3: y = (uint64_t)kni_bits_f32(kni_word_bessel_j0_f32(a)); break;
        case 4: y = (uint64_t)kni_bits_f32(kni_word_bessel_j1_f32(a)); break;
        case 5: y = (uint64_t)kni_bits_f32(kni_word_bessel_k0_f32(a)); break;
        case 6: y = (uint64_t)kni_bits_f32(kni_word_bessel_k0e_f32(a)); break;
        case 7: y = (uint64_t)kni_bits_f32(kni_word_bessel_k1_f32(a)); break;
        case 8: y = (uint64_t)kni_bits_f32(kni_word_bessel_k1e_f32(a)); break;
        case 9: y = (uint64_t)kni_bits_f32(kni_word_bessel_y0_f32(a)); break;
        case 10: y = (uint64_t)kni_bits_f32(kni_word_bessel_y1_f32(a)); break;
        case 11: y = (uint64_t)kni_bits_f32(kni_word_ceil_f32(a)); break;
        }
        py[i] = y;
    }
}
void k11(const float *pa, const float *pb, uint64_t *py, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) {
        float a = pa[i], b = pb[i];
        uint64_t y = 0;
        switch (which) {
        case 0: y = (uint64_t)kni_bits_f32(kni_word_copysign_f32(a, b)); break;
        case 1: y = (uint64_t)kni_bits_f32(kni_word_cos_f32(a)); break;
        case 2: y = (uint64_t)kni_bits_f32(kni_word_cos_turn_f32(a)); break;
        case 3: y = (uint64_t)kni_bits_f32(kni_word_cosh_f32(a)); break;
        case 4: y = (uint64_t)kni_bits_f32(kni_word_digamma_f32(a)); break;
        case 5: y = (uint64_t)kni_bits_f32(kni_word_div_f32(a, b)); break;
        case 6: y = (uint64_t)(uint32_t)(kni_word_eq_f32(a, b)); break;
        case 7: y = (uint64_t)kni_bits_f32(kni_word_erf_f32(a)); break;
        case 8: y = (uint64_t)kni_bits_f32(kni_word_erfc_f32(a)); break;
        case 9: y = (uint64_t)kni_bits_f32(kni_word_erfcx_f32(a)); break;
        case 10: y = (uint64_t)kni_bits_f32(kni_word_erfinv_f32(a)); break;
        case 11: y = (uint64_t)kni_bits_f32(kni_word_exp2_f32(a)); break;
        }
        py[i] = y;
    }
}
void k12(const float *pa, const float *pb, uint64_t *py, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) {
        float a = pa[i], b = pb[i];
        uint64_t y = 0;
        switch (which) {
        case 0: y = (uint64_t)kni_bits_f32(kni_word_exp_f32(a)); break;
        case 1: y = (uint64_t)kni_bits_f32(kni_word_expm1_f32(a)); break;
        case 2: y = (uint64_t)kni_bits_f32(kni_word_floor_f32(a)); break;
        case 3: y = (uint64_t)kni_bits_f32(kni_word_floordiv_f32(a, b)); break;
        case 4: y = (uint64_t)kni_bits_f32(kni_word_fmod_f32(a, b)); break;
        case 5: y = (uint64_t)(uint32_t)(kni_word_ge_f32(a, b)); break;
        case 6: y = (uint64_t)(uint32_t)(kni_word_gt_f32(a, b)); break;
        case 7: y = (uint64_t)kni_bits_f32(kni_word_hypot_f32(a, b)); break;
        case 8: y = (uint64_t)kni_bits_f32(kni_word_i0_f32(a)); break;
        case 9: y = (uint64_t)kni_bits_f32(kni_word_i0e_f32(a)); break;
        case 10: y = (uint64_t)kni_bits_f32(kni_word_i1_f32(a)); break;
        case 11: y = (uint64_t)kni_bits_f32(kni_word_i1e_f32(a)); break;
        }
        py[i] = y;
    }
}
void k13(const float *pa, const float *pb, uint64_t *py, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) {
        float a = pa[i], b = pb[i];
        uint64_t y = 0;
        switch (which) {
        case 0: y = (uint64_t)kni_bits_f32(kni_word_igamma_f32(a, b)); break;
        case 1: y = (uint64_t)kni_bits_f32(kni_word_igammac_f32(a, b)); break;
        case 2: y = (uint64_t)(uint32_t)(kni_word_isfinite_f32(a)); break;
        case 3: y = (uint64_t)(uint32_t)(kni_word_isinf_f32(a)); break;
        case 4: y = (uint64_t)(uint32_t)(kni_word_isnan_f32(a)); break;
        case 5: y = (uint64_t)(uint32_t)(kni_word_le_f32(a, b)); break;
        case 6: y = (uint64_t)kni_bits_f32(kni_word_lgamma_f32(a)); break;
        case 7: y = (uint64_t)kni_bits_f32(kni_word_log10_f32(a)); break;
        case 8: y = (uint64_t)kni_bits_f32(kni_word_log1p_f32(a)); break;
        case 9: y = (uint64_t)kni_bits_f32(kni_word_log2_f32(a)); break;
        case 10: y = (uint64_t)kni_bits_f32(kni_word_log_f32(a)); break;
        case 11: y = (uint64_t)(uint32_t)(kni_word_lt_f32(a, b)); break;
        }
        py[i] = y;
    }
}
void k14(const float *pa, const float *pb, uint64_t *py, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) {
        float a = pa[i], b = pb[i];
        uint64_t y = 0;
        switch (which) {
        case 0: y = (uint64_t)kni_bits_f32(kni_word_max_f32(a, b)); break;
        case 1: y = (uint64_t)kni_bits_f32(kni_word_min_f32(a, b)); break;
        case 2: y = (uint64_t)kni_bits_f32(kni_word_mul_f32(a, b)); break;
        case 3: y = (uint64_t)(uint32_t)(kni_word_ne_f32(a, b)); break;
        case 4: y = (uint64_t)kni_bits_f32(kni_word_neg_f32(a)); break;
        case 5: y = (uint64_t)kni_bits_f32(kni_word_normal_cdf_f32(a)); break;
        case 6: y = (uint64_t)kni_bits_f32(kni_word_normal_quantile_f32(a)); break;
        case 7: y = (uint64_t)kni_bits_f32(kni_word_polygamma_f32(a, b)); break;
        case 8: y = (uint64_t)kni_bits_f32(kni_word_pow_f32(a, b)); break;
        case 9: y = (uint64_t)kni_bits_f32(kni_word_rem_f32(a, b)); break;
        case 10: y = (uint64_t)kni_bits_f32(kni_word_round_f32(a)); break;
        case 11: y = (uint64_t)kni_bits_f32(kni_word_rsqrt_f32(a)); break;
        }
        py[i] = y;
    }
}
void k15(const float *pa, const float *pb, uint64_t *py, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) {
        float a = pa[i], b = pb[i];
        uint64_t y = 0;
        switch (which) {
        case 0: y = (uint64_t)kni_bits_f32(kni_word_sigmoid_f32(a)); break;
        case 1: y = (uint64_t)kni_bits_f32(kni_word_sign_f32(a)); break;
        case 2: y = (uint64_t)kni_bits_f32(kni_word_sin_f32(a)); break;
        case 3: y = (uint64_t)kni_bits_f32(kni_word_sinh_f32(a)); break;
        case 4: y = (uint64_t)kni_bits_f32(kni_word_sqrt_f32(a)); break;
        case 5: y = (uint64_t)kni_bits_f32(kni_word_stop_f32(a)); break;
        case 6: y = (uint64_t)kni_bits_f32(kni_word_sub_f32(a, b)); break;
        case 7: y = (uint64_t)kni_bits_f32(kni_word_tan_f32(a)); break;
        case 8: y = (uint64_t)kni_bits_f32(kni_word_tanh_f32(a)); break;
        case 9: y = (uint64_t)kni_bits_f32(kni_word_trunc_f32(a)); break;
        case 10: y = (uint64_t)kni_bits_f32(kni_word_zeta_f32(a, b)); break;
        }
        py[i] = y;
    }
}
void k16(const uint16_t *pa, const uint16_t *pb, uint64_t *py, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) {
        uint16_t a = pa[i], b = pb[i];
        uint64_t y = 0;
        switch (which) {
        case 0: y = (uint64_t)(kni_cast_bf16_f16(a)); break;
        case 1: y = (uint64_t)(kni_cast_bool_f16(a)); break;
        case 2: y = (uint64_t)(kni_cast_f16_f16(a)); break;
        case 3: y = (uint64_t)kni_bits_f32(kni_cast_f32_f16(a)); break;
        case 4: y = (uint64_t)kni_bits_f64(kni_cast_f64_f16(a)); break;
        case 5: y = (uint64_t)(uint16_t)(kni_cast_i16_f16(a)); break;
        case 6: y = (uint64_t)(uint32_t)(kni_cast_i32_f16(a)); break;
        case 7: y = (uint64_t)(kni_cast_i64_f16(a)); break;
        case 8: y = (uint64_t)(uint8_t)(kni_cast_i8_f16(a)); break;
        case 9: y = (uint64_t)(kni_cast_u16_f16(a)); break;
        case 10: y = (uint64_t)(kni_cast_u32_f16(a)); break;
        case 11: y = (uint64_t)(kni_cast_u64_f16(a)); break;
        }
        py[i] = y;
    }
}
void k17(const uint16_t *pa, const uint16_t *pb, uint64_t *py, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) {
        uint16_t a = pa[i], b = pb[i];
        uint64_t y = 0;
        switch (which) {
        case 0: y = (uint64_t)(kni_cast_u8_f16(a)); break;
        }
        py[i] = y;
    }
}
void k18(const uint16_t *pa, const uint16_t *pb, uint64_t *py, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) {
        uint16_t a = pa[i], b = pb[i];
        uint64_t y = 0;
        switch (which) {
        case 0: y = (uint64_t)(kni_cast_bf16_bf16(a)); break;
        case 1: y = (uint64_t)(kni_cast_bool_bf16(a)); break;
        case 2: y = (uint64_t)(kni_cast_f16_bf16(a)); break;
        case 3: y = (uint64_t)kni_bits_f32(kni_cast_f32_bf16(a)); break;
        case 4: y = (uint64_t)kni_bits_f64(kni_cast_f64_bf16(a)); break;
        case 5: y = (uint64_t)(uint16_t)(kni_cast_i16_bf16(a)); break;
        case 6: y = (uint64_t)(uint32_t)(kni_cast_i32_bf16(a)); break;
        case 7: y = (uint64_t)(kni_cast_i64_bf16(a)); break;
        case 8: y = (uint64_t)(uint8_t)(kni_cast_i8_bf16(a)); break;
        case 9: y = (uint64_t)(kni_cast_u16_bf16(a)); break;
        case 10: y = (uint64_t)(kni_cast_u32_bf16(a)); break;
        case 11: y = (uint64_t)(kni_cast_u64_bf16(a)); break;
        }
        py[i] = y;
    }
}
void k19(const uint16_t *pa, const uint16_t *pb, uint64_t *py, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) {
        uint16_t a = pa[i], b = pb[i];
        uint64_t y = 0;
        switch (which) {
        case 0: y = (uint64_t)(kni_cast_u8_bf16(a)); break;
        }
        py[i] = y;
    }
}
void k20(const int64_t *pa, const int64_t *pb, uint64_t *py, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t a = pa[i], b = pb[i];
        uint64_t y = 0;
        switch (which) {
        case 0: y = (uint64_t)(kni_cast_bf16_i64(a)); break;
        case 1: y = (uint64_t)(kni_cast_bool_i64(a)); break;
        case 2: y = (uint64_t)(kni_cast_f16_i64(a)); break;
        case 3: y = (uint64_t)kni_bits_f32(kni_cast_f32_i64(a)); break;
        case 4: y = (uint64_t)kni_bits_f64(kni_cast_f64_i64(a)); break;
        case 5: y = (uint64_t)(uint16_t)(kni_cast_i16_i64(a)); break;
        case 6: y = (uint64_t)(uint32_t)(kni_cast_i32_i64(a)); break;
        case 7: y = (uint64_t)(kni_cast_i64_i64(a)); break;
        case 8: y = (uint64_t)(uint8_t)(kni_cast_i8_i64(a)); break;
        case 9: y = (uint64_t)(kni_cast_u16_i64(a)); break;
        case 10: y = (uint64_t)(kni_cast_u32_i64(a)); break;
        case 11: y = (uint64_t)(kni_cast_u64_i64(a)); break;
        }
        py[i] = y;
    }
}
void k21(const int64_t *pa, const int64_t *pb, uint64_t *py, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t a = pa[i], b = pb[i];
        uint64_t y = 0;
        switch (which) {
        case 0: y = (uint64_t)(kni_cast_u8_i64(a)); break;
        case 1: y = (uint64_t)(kni_philox_word(a, b, a >> 3)); break;
        case 2: y = (uint64_t)(kni_philox_word(b, -a, b)); break;
        case 3: y = (uint64_t)(kni_word_abs_i64(a)); break;
        case 4: y = (uint64_t)(kni_word_add_i64(a, b)); break;
        case 5: y = (uint64_t)(kni_word_and_i64(a, b)); break;
        case 6: y = (uint64_t)(kni_word_ceil_i64(a)); break;
        case 7: y = (uint64_t)(kni_word_div_i64(a, b)); break;
        case 8: y = (uint64_t)(uint32_t)(kni_word_eq_i64(a, b)); break;
        case 9: y = (uint64_t)(kni_word_floor_i64(a)); break;
        case 10: y = (uint64_t)(kni_word_floordiv_i64(a, b)); break;
        case 11: y = (uint64_t)(kni_word_fmod_i64(a, b)); break;
        }
        py[i] = y;
    }
}
void k22(const int64_t *pa, const int64_t *pb, uint64_t *py, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t a = pa[i], b = pb[i];
        uint64_t y = 0;
        switch (which) {
        case 0: y = (uint64_t)(kni_word_gcd_i64(a, b)); break;
        case 1: y = (uint64_t)(uint32_t)(kni_word_ge_i64(a, b)); break;
        case 2: y = (uint64_t)(uint32_t)(kni_word_gt_i64(a, b)); break;
        case 3: y = (uint64_t)(uint32_t)(kni_word_isfinite_i64(a)); break;
        case 4: y = (uint64_t)(uint32_t)(kni_word_isinf_i64(a)); break;
        case 5: y = (uint64_t)(uint32_t)(kni_word_isnan_i64(a)); break;
        case 6: y = (uint64_t)(uint32_t)(kni_word_le_i64(a, b)); break;
        case 7: y = (uint64_t)(uint32_t)(kni_word_lt_i64(a, b)); break;
        case 8: y = (uint64_t)(kni_word_max_i64(a, b)); break;
        case 9: y = (uint64_t)(kni_word_min_i64(a, b)); break;
        case 10: y = (uint64_t)(kni_word_mul_i64(a, b)); break;
        case 11: y = (uint64_t)(uint32_t)(kni_word_ne_i64(a, b)); break;
        }
        py[i] = y;
    }
}
void k23(const int64_t *pa, const int64_t *pb, uint64_t *py, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t a = pa[i], b = pb[i];
        uint64_t y = 0;
        switch (which) {
        case 0: y = (uint64_t)(kni_word_neg_i64(a)); break;
        case 1: y = (uint64_t)(kni_word_not_i64(a)); break;
        case 2: y = (uint64_t)(kni_word_or_i64(a, b)); break;
        case 3: y = (uint64_t)(kni_word_pow_i64(a, b)); break;
        case 4: y = (uint64_t)(kni_word_rem_i64(a, b)); break;
        case 5: y = (uint64_t)(kni_word_round_i64(a)); break;
        case 6: y = (uint64_t)(kni_word_shl_i64(a, b)); break;
        case 7: y = (uint64_t)(kni_word_shr_i64(a, b)); break;
        case 8: y = (uint64_t)(kni_word_sign_i64(a)); break;
        case 9: y = (uint64_t)(kni_word_stop_i64(a)); break;
        case 10: y = (uint64_t)(kni_word_sub_i64(a, b)); break;
        case 11: y = (uint64_t)(kni_word_trunc_i64(a)); break;
        }
        py[i] = y;
    }
}
void k24(const int64_t *pa, const int64_t *pb, uint64_t *py, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t a = pa[i], b = pb[i];
        uint64_t y = 0;
        switch (which) {
        case 0: y = (uint64_t)(kni_word_xor_i64(a, b)); break;
        }
        py[i] = y;
    }
}
void k25(const int32_t *pa, const int32_t *pb, uint64_t *py, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) {
        int32_t a = pa[i], b = pb[i];
        uint64_t y = 0;
        switch (which) {
        case 0: y = (uint64_t)(kni_cast_bf16_i32(a)); break;
        case 1: y = (uint64_t)(kni_cast_bool_i32(a)); break;
        case 2: y = (uint64_t)(kni_cast_f16_i32(a)); break;
        case 3: y = (uint64_t)kni_bits_f32(kni_cast_f32_i32(a)); break;
        case 4: y = (uint64_t)kni_bits_f64(kni_cast_f64_i32(a)); break;
        case 5: y = (uint64_t)(uint16_t)(kni_cast_i16_i32(a)); break;
        case 6: y = (uint64_t)(uint32_t)(kni_cast_i32_i32(a)); break;
        case 7: y = (uint64_t)(kni_cast_i64_i32(a)); break;
        case 8: y = (uint64_t)(uint8_t)(kni_cast_i8_i32(a)); break;
        case 9: y = (uint64_t)(kni_cast_u16_i32(a)); break;
        case 10: y = (uint64_t)(kni_cast_u32_i32(a)); break;
        case 11: y = (uint64_t)(kni_cast_u64_i32(a)); break;
        }
        py[i] = y;
    }
}
void k26(const int32_t *pa, const int32_t *pb, uint64_t *py, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) {
        int32_t a = pa[i], b = pb[i];
        uint64_t y = 0;
        switch (which) {
        case 0: y = (uint64_t)(kni_cast_u8_i32(a)); break;
        case 1: y = (uint64_t)(uint32_t)(kni_word_abs_i32(a)); break;
        case 2: y = (uint64_t)(uint32_t)(kni_word_add_i32(a, b)); break;
        case 3: y = (uint64_t)(uint32_t)(kni_word_and_i32(a, b)); break;
        case 4: y = (uint64_t)(uint32_t)(kni_word_ceil_i32(a)); break;
        case 5: y = (uint64_t)(uint32_t)(kni_word_div_i32(a, b)); break;
        case 6: y = (uint64_t)(uint32_t)(kni_word_eq_i32(a, b)); break;
        case 7: y = (uint64_t)(uint32_t)(kni_word_floor_i32(a)); break;
        case 8: y = (uint64_t)(uint32_t)(kni_word_floordiv_i32(a, b)); break;
        case 9: y = (uint64_t)(uint32_t)(kni_word_fmod_i32(a, b)); break;
        case 10: y = (uint64_t)(uint32_t)(kni_word_gcd_i32(a, b)); break;
        case 11: y = (uint64_t)(uint32_t)(kni_word_ge_i32(a, b)); break;
        }
        py[i] = y;
    }
}
void k27(const int32_t *pa, const int32_t *pb, uint64_t *py, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) {
        int32_t a = pa[i], b = pb[i];
        uint64_t y = 0;
        switch (which) {
        case 0: y = (uint64_t)(uint32_t)(kni_word_gt_i32(a, b)); break;
        case 1: y = (uint64_t)(uint32_t)(kni_word_isfinite_i32(a)); break;
        case 2: y = (uint64_t)(uint32_t)(kni_word_isinf_i32(a)); break;
        case 3: y = (uint64_t)(uint32_t)(kni_word_isnan_i32(a)); break;
        case 4: y = (uint64_t)(uint32_t)(kni_word_le_i32(a, b)); break;
        case 5: y = (uint64_t)(uint32_t)(kni_word_lt_i32(a, b)); break;
        case 6: y = (uint64_t)(uint32_t)(kni_word_max_i32(a, b)); break;
        case 7: y = (uint64_t)(uint32_t)(kni_word_min_i32(a, b)); break;
        case 8: y = (uint64_t)(uint32_t)(kni_word_mul_i32(a, b)); break;
        case 9: y = (uint64_t)(uint32_t)(kni_word_ne_i32(a, b)); break;
        case 10: y = (uint64_t)(uint32_t)(kni_word_neg_i32(a)); break;
        case 11: y = (uint64_t)(uint32_t)(kni_word_not_i32(a)); break;
        }
        py[i] = y;
    }
}
void k28(const int32_t *pa, const int32_t *pb, uint64_t *py, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) {
        int32_t a = pa[i], b = pb[i];
        uint64_t y = 0;
        switch (which) {
        case 0: y = (uint64_t)(uint32_t)(kni_word_or_i32(a, b)); break;
        case 1: y = (uint64_t)(uint32_t)(kni_word_pow_i32(a, b)); break;
        case 2: y = (uint64_t)(uint32_t)(kni_word_rem_i32(a, b)); break;
        case 3: y = (uint64_t)(uint32_t)(kni_word_round_i32(a)); break;
        case 4: y = (uint64_t)(uint32_t)(kni_word_shl_i32(a, b)); break;
        case 5: y = (uint64_t)(uint32_t)(kni_word_shr_i32(a, b)); break;
        case 6: y = (uint64_t)(uint32_t)(kni_word_sign_i32(a)); break;
        case 7: y = (uint64_t)(uint32_t)(kni_word_stop_i32(a)); break;
        case 8: y = (uint64_t)(uint32_t)(kni_word_sub_i32(a, b)); break;
        case 9: y = (uint64_t)(uint32_t)(kni_word_trunc_i32(a)); break;
        case 10: y = (uint64_t)(uint32_t)(kni_word_xor_i32(a, b)); break;
        }
        py[i] = y;
    }
}
void k29(const int16_t *pa, const int16_t *pb, uint64_t *py, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) {
        int16_t a = pa[i], b = pb[i];
        uint64_t y = 0;
        switch (which) {
        case 0: y = (uint64_t)(kni_cast_bf16_i16(a)); break;
        case 1: y = (uint64_t)(kni_cast_bool_i16(a)); break;
        case 2: y = (uint64_t)(kni_cast_f16_i16(a)); break;
        case 3: y = (uint64_t)kni_bits_f32(kni_cast_f32_i16(a)); break;
        case 4: y = (uint64_t)kni_bits_f64(kni_cast_f64_i16(a)); break;
        case 5: y = (uint64_t)(uint16_t)(kni_cast_i16_i16(a)); break;
        case 6: y = (uint64_t)(uint32_t)(kni_cast_i32_i16(a)); break;
        case 7: y = (uint64_t)(kni_cast_i64_i16(a)); break;
        case 8: y = (uint64_t)(uint8_t)(kni_cast_i8_i16(a)); break;
        case 9: y = (uint64_t)(kni_cast_u16_i16(a)); break;
        case 10: y = (uint64_t)(kni_cast_u32_i16(a)); break;
        case 11: y = (uint64_t)(kni_cast_u64_i16(a)); break;
        }
        py[i] = y;
    }
}
void k30(const int16_t *pa, const int16_t *pb, uint64_t *py, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) {
        int16_t a = pa[i], b = pb[i];
        uint64_t y = 0;
        switch (which) {
        case 0: y = (uint64_t)(kni_cast_u8_i16(a)); break;
        }
        py[i] = y;
    }
}
void k31(const int8_t *pa, const int8_t *pb, uint64_t *py, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) {
        int8_t a = pa[i], b = pb[i];
        uint64_t y = 0;
        switch (which) {
        case 0: y = (uint64_t)(kni_cast_bf16_i8(a)); break;
        case 1: y = (uint64_t)(kni_cast_bool_i8(a)); break;
        case 2: y = (uint64_t)(kni_cast_f16_i8(a)); break;
        case 3: y = (uint64_t)kni_bits_f32(kni_cast_f32_i8(a)); break;
        case 4: y = (uint64_t)kni_bits_f64(kni_cast_f64_i8(a)); break;
        case 5: y = (uint64_t)(uint16_t)(kni_cast_i16_i8(a)); break;
        case 6: y = (uint64_t)(uint32_t)(kni_cast_i32_i8(a)); break;
        case 7: y = (uint64_t)(kni_cast_i64_i8(a)); break;
        case 8: y = (uint64_t)(uint8_t)(kni_cast_i8_i8(a)); break;
        case 9: y = (uint64_t)(kni_cast_u16_i8(a)); break;
        case 10: y = (uint64_t)(kni_cast_u32_i8(a)); break;
        case 11: y = (uint64_t)(kni_cast_u64_i8(a)); break;
        }
        py[i] = y;
    }
}
void k32(const int8_t *pa, const int8_t *pb, uint64_t *py, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) {
        int8_t a = pa[i], b = pb[i];
        uint64_t y = 0;
        switch (which) {
        case 0: y = (uint64_t)(kni_cast_u8_i8(a)); break;
        }
        py[i] = y;
    }
}
void k33(const uint64_t *pa, const uint64_t *pb, uint64_t *py, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) {
        uint64_t a = pa[i], b = pb[i];
        uint64_t y = 0;
        switch (which) {
        case 0: y = (uint64_t)(kni_cast_bf16_u64(a)); break;
        case 1: y = (uint64_t)(kni_cast_bool_u64(a)); break;
        case 2: y = (uint64_t)(kni_cast_f16_u64(a)); break;
        case 3: y = (uint64_t)kni_bits_f32(kni_cast_f32_u64(a)); break;
        case 4: y = (uint64_t)kni_bits_f64(kni_cast_f64_u64(a)); break;
        case 5: y = (uint64_t)(uint16_t)(kni_cast_i16_u64(a)); break;
        case 6: y = (uint64_t)(uint32_t)(kni_cast_i32_u64(a)); break;
        case 7: y = (uint64_t)(kni_cast_i64_u64(a)); break;
        case 8: y = (uint64_t)(uint8_t)(kni_cast_i8_u64(a)); break;
        case 9: y = (uint64_t)(kni_cast_u16_u64(a)); break;
        case 10: y = (uint64_t)(kni_cast_u32_u64(a)); break;
        case 11: y = (uint64_t)(kni_cast_u64_u64(a)); break;
        }
        py[i] = y;
    }
}
void k34(const uint64_t *pa, const uint64_t *pb, uint64_t *py, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) {
        uint64_t a = pa[i], b = pb[i];
        uint64_t y = 0;
        switch (which) {
        case 0: y = (uint64_t)(kni_cast_u8_u64(a)); break;
        case 1: y = (uint64_t)kni_bits_f64(kni_from_bits_f64(a)); break;
        case 2: y = (uint64_t)(kni_word_abs_u64(a)); break;
        case 3: y = (uint64_t)(kni_word_add_u64(a, b)); break;
        case 4: y = (uint64_t)(kni_word_and_u64(a, b)); break;
        case 5: y = (uint64_t)(kni_word_ceil_u64(a)); break;
        case 6: y = (uint64_t)(kni_word_div_u64(a, b)); break;
        case 7: y = (uint64_t)(uint32_t)(kni_word_eq_u64(a, b)); break;
        case 8: y = (uint64_t)(kni_word_floor_u64(a)); break;
        case 9: y = (uint64_t)(kni_word_floordiv_u64(a, b)); break;
        case 10: y = (uint64_t)(kni_word_fmod_u64(a, b)); break;
        case 11: y = (uint64_t)(kni_word_gcd_u64(a, b)); break;
        }
        py[i] = y;
    }
}
void k35(const uint64_t *pa, const uint64_t *pb, uint64_t *py, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) {
        uint64_t a = pa[i], b = pb[i];
        uint64_t y = 0;
        switch (which) {
        case 0: y = (uint64_t)(uint32_t)(kni_word_ge_u64(a, b)); break;
        case 1: y = (uint64_t)(uint32_t)(kni_word_gt_u64(a, b)); break;
        case 2: y = (uint64_t)(uint32_t)(kni_word_isfinite_u64(a)); break;
        case 3: y = (uint64_t)(uint32_t)(kni_word_isinf_u64(a)); break;
        case 4: y = (uint64_t)(uint32_t)(kni_word_isnan_u64(a)); break;
        case 5: y = (uint64_t)(uint32_t)(kni_word_le_u64(a, b)); break;
        case 6: y = (uint64_t)(uint32_t)(kni_word_lt_u64(a, b)); break;
        case 7: y = (uint64_t)(kni_word_max_u64(a, b)); break;
        case 8: y = (uint64_t)(kni_word_min_u64(a, b)); break;
        case 9: y = (uint64_t)(kni_word_mul_u64(a, b)); break;
        case 10: y = (uint64_t)(uint32_t)(kni_word_ne_u64(a, b)); break;
        case 11: y = (uint64_t)(kni_word_neg_u64(a)); break;
        }
        py[i] = y;
    }
}
void k36(const uint64_t *pa, const uint64_t *pb, uint64_t *py, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) {
        uint64_t a = pa[i], b = pb[i];
        uint64_t y = 0;
        switch (which) {
        case 0: y = (uint64_t)(kni_word_not_u64(a)); break;
        case 1: y = (uint64_t)(kni_word_or_u64(a, b)); break;
        case 2: y = (uint64_t)(kni_word_pow_u64(a, b)); break;
        case 3: y = (uint64_t)(kni_word_rem_u64(a, b)); break;
        case 4: y = (uint64_t)(kni_word_round_u64(a)); break;
        case 5: y = (uint64_t)(kni_word_shl_u64(a, b)); break;
        case 6: y = (uint64_t)(kni_word_shr_u64(a, b)); break;
        case 7: y = (uint64_t)(kni_word_sign_u64(a)); break;
        case 8: y = (uint64_t)(kni_word_stop_u64(a)); break;
        case 9: y = (uint64_t)(kni_word_sub_u64(a, b)); break;
        case 10: y = (uint64_t)(kni_word_trunc_u64(a)); break;
        case 11: y = (uint64_t)(kni_word_xor_u64(a, b)); break;
        }
        py[i] = y;
    }
}
void k37(const uint32_t *pa, const uint32_t *pb, uint64_t *py, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) {
        uint32_t a = pa[i], b = pb[i];
        uint64_t y = 0;
        switch (which) {
        case 0: y = (uint64_t)(kni_cast_bf16_u32(a)); break;
        case 1: y = (uint64_t)(kni_cast_bool_u32(a)); break;
        case 2: y = (uint64_t)(kni_cast_f16_u32(a)); break;
        case 3: y = (uint64_t)kni_bits_f32(kni_cast_f32_u32(a)); break;
        case 4: y = (uint64_t)kni_bits_f64(kni_cast_f64_u32(a)); break;
        case 5: y = (uint64_t)(uint16_t)(kni_cast_i16_u32(a)); break;
        case 6: y = (uint64_t)(uint32_t)(kni_cast_i32_u32(a)); break;
        case 7: y = (uint64_t)(kni_cast_i64_u32(a)); break;
        case 8: y = (uint64_t)(uint8_t)(kni_cast_i8_u32(a)); break;
        case 9: y = (uint64_t)(kni_cast_u16_u32(a)); break;
        case 10: y = (uint64_t)(kni_cast_u32_u32(a)); break;
        case 11: y = (uint64_t)(kni_cast_u64_u32(a)); break;
        }
        py[i] = y;
    }
}
void k38(const uint32_t *pa, const uint32_t *pb, uint64_t *py, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) {
        uint32_t a = pa[i], b = pb[i];
        uint64_t y = 0;
        switch (which) {
        case 0: y = (uint64_t)(kni_cast_u8_u32(a)); break;
        case 1: y = (uint64_t)(kni_select_u32(a < b, b, a)); break;
        case 2: y = (uint64_t)(kni_word_abs_u32(a)); break;
        case 3: y = (uint64_t)(kni_word_add_u32(a, b)); break;
        case 4: y = (uint64_t)(kni_word_and_u32(a, b)); break;
        case 5: y = (uint64_t)(kni_word_ceil_u32(a)); break;
        case 6: y = (uint64_t)(kni_word_div_u32(a, b)); break;
        case 7: y = (uint64_t)(uint32_t)(kni_word_eq_u32(a, b)); break;
        case 8: y = (uint64_t)(kni_word_floor_u32(a)); break;
        case 9: y = (uint64_t)(kni_word_floordiv_u32(a, b)); break;
        case 10: y = (uint64_t)(kni_word_fmod_u32(a, b)); break;
        case 11: y = (uint64_t)(kni_word_gcd_u32(a, b)); break;
        }
        py[i] = y;
    }
}
void k39(const uint32_t *pa, const uint32_t *pb, uint64_t *py, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) {
        uint32_t a = pa[i], b = pb[i];
        uint64_t y = 0;
        switch (which) {
        case 0: y = (uint64_t)(uint32_t)(kni_word_ge_u32(a, b)); break;
        case 1: y = (uint64_t)(uint32_t)(kni_word_gt_u32(a, b)); break;
        case 2: y = (uint64_t)(uint32_t)(kni_word_isfinite_u32(a)); break;
        case 3: y = (uint64_t)(uint32_t)(kni_word_isinf_u32(a)); break;
        case 4: y = (uint64_t)(uint32_t)(kni_word_isnan_u32(a)); break;
        case 5: y = (uint64_t)(uint32_t)(kni_word_le_u32(a, b)); break;
        case 6: y = (uint64_t)(uint32_t)(kni_word_lt_u32(a, b)); break;
        case 7: y = (uint64_t)(kni_word_max_u32(a, b)); break;
        case 8: y = (uint64_t)(kni_word_min_u32(a, b)); break;
        case 9: y = (uint64_t)(kni_word_mul_u32(a, b)); break;
        case 10: y = (uint64_t)(uint32_t)(kni_word_ne_u32(a, b)); break;
        case 11: y = (uint64_t)(kni_word_neg_u32(a)); break;
        }
        py[i] = y;
    }
}
void k40(const uint32_t *pa, const uint32_t *pb, uint64_t *py, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) {
        uint32_t a = pa[i], b = pb[i];
        uint64_t y = 0;
        switch (which) {
        case 0: y = (uint64_t)(kni_word_not_u32(a)); break;
        case 1: y = (uint64_t)(kni_word_or_u32(a, b)); break;
        case 2: y = (uint64_t)(kni_word_pow_u32(a, b)); break;
        case 3: y = (uint64_t)(kni_word_rem_u32(a, b)); break;
        case 4: y = (uint64_t)(kni_word_round_u32(a)); break;
        case 5: y = (uint64_t)(kni_word_shl_u32(a, b)); break;
        case 6: y = (uint64_t)(kni_word_shr_u32(a, b)); break;
        case 7: y = (uint64_t)(kni_word_sign_u32(a)); break;
        case 8: y = (uint64_t)(kni_word_stop_u32(a)); break;
        case 9: y = (uint64_t)(kni_word_sub_u32(a, b)); break;
        case 10: y = (uint64_t)(kni_word_trunc_u32(a)); break;
        case 11: y = (uint64_t)(kni_word_xor_u32(a, b)); break;
        }
        py[i] = y;
    }
}
void k41(const uint16_t *pa, const uint16_t *pb, uint64_t *py, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) {
        uint16_t a = pa[i], b = pb[i];
        uint64_t y = 0;
        switch (which) {
        case 0: y = (uint64_t)(kni_cast_bf16_u16(a)); break;
        case 1: y = (uint64_t)(kni_cast_bool_u16(a)); break;
        case 2: y = (uint64_t)(kni_cast_f16_u16(a)); break;
        case 3: y = (uint64_t)kni_bits_f32(kni_cast_f32_u16(a)); break;
        case 4: y = (uint64_t)kni_bits_f64(kni_cast_f64_u16(a)); break;
        case 5: y = (uint64_t)(uint16_t)(kni_cast_i16_u16(a)); break;
        case 6: y = (uint64_t)(uint32_t)(kni_cast_i32_u16(a)); break;
        case 7: y = (uint64_t)(kni_cast_i64_u16(a)); break;
        case 8: y = (uint64_t)(uint8_t)(kni_cast_i8_u16(a)); break;
        case 9: y = (uint64_t)(kni_cast_u16_u16(a)); break;
        case 10: y = (uint64_t)(kni_cast_u32_u16(a)); break;
        case 11: y = (uint64_t)(kni_cast_u64_u16(a)); break;
        }
        py[i] = y;
    }
}
void k42(const uint16_t *pa, const uint16_t *pb, uint64_t *py, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) {
        uint16_t a = pa[i], b = pb[i];
        uint64_t y = 0;
        switch (which) {
        case 0: y = (uint64_t)(kni_cast_u8_u16(a)); break;
        }
        py[i] = y;
    }
}
void k43(const uint8_t *pa, const uint8_t *pb, uint64_t *py, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) {
        uint8_t a = pa[i], b = pb[i];
        uint64_t y = 0;
        switch (which) {
        case 0: y = (uint64_t)(kni_cast_bf16_u8(a)); break;
        case 1: y = (uint64_t)(kni_cast_bool_u8(a)); break;
        case 2: y = (uint64_t)(kni_cast_f16_u8(a)); break;
        case 3: y = (uint64_t)kni_bits_f32(kni_cast_f32_u8(a)); break;
        case 4: y = (uint64_t)kni_bits_f64(kni_cast_f64_u8(a)); break;
        case 5: y = (uint64_t)(uint16_t)(kni_cast_i16_u8(a)); break;
        case 6: y = (uint64_t)(uint32_t)(kni_cast_i32_u8(a)); break;
        case 7: y = (uint64_t)(kni_cast_i64_u8(a)); break;
        case 8: y = (uint64_t)(uint8_t)(kni_cast_i8_u8(a)); break;
        case 9: y = (uint64_t)(kni_cast_u16_u8(a)); break;
        case 10: y = (uint64_t)(kni_cast_u32_u8(a)); break;
        case 11: y = (uint64_t)(kni_cast_u64_u8(a)); break;
        }
        py[i] = y;
    }
}
void k44(const uint8_t *pa, const uint8_t *pb, uint64_t *py, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) {
        uint8_t a = pa[i], b = pb[i];
        uint64_t y = 0;
        switch (which) {
        case 0: y = (uint64_t)(kni_cast_u8_u8(a)); break;
        }
        py[i] = y;
    }
}
void k45(const uint8_t *pa, const uint8_t *pb, uint64_t *py, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) {
        uint8_t a = pa[i], b = pb[i];
        uint64_t y = 0;
        switch (which) {
        case 0: y = (uint64_t)(kni_cast_bf16_bool(a)); break;
        case 1: y = (uint64_t)(kni_cast_bool_bool(a)); break;
        case 2: y = (uint64_t)(kni_cast_f16_bool(a)); break;
        case 3: y = (uint64_t)kni_bits_f32(kni_cast_f32_bool(a)); break;
        case 4: y = (uint64_t)kni_bits_f64(kni_cast_f64_bool(a)); break;
        case 5: y = (uint64_t)(uint16_t)(kni_cast_i16_bool(a)); break;
        case 6: y = (uint64_t)(uint32_t)(kni_cast_i32_bool(a)); break;
        case 7: y = (uint64_t)(kni_cast_i64_bool(a)); break;
        case 8: y = (uint64_t)(uint8_t)(kni_cast_i8_bool(a)); break;
        case 9: y = (uint64_t)(kni_cast_u16_bool(a)); break;
        case 10: y = (uint64_t)(kni_cast_u32_bool(a)); break;
        case 11: y = (uint64_t)(kni_cast_u64_bool(a)); break;
        }
        py[i] = y;
    }
}
void k46(const uint8_t *pa, const uint8_t *pb, uint64_t *py, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) {
        uint8_t a = pa[i], b = pb[i];
        uint64_t y = 0;
        switch (which) {
        case 0: y = (uint64_t)(kni_cast_u8_bool(a)); break;
        }
        py[i] = y;
    }
}
