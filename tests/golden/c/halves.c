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
KNI_INLINE uint16_t kni_f32_to_bf16(float x)
{
    uint32_t u = kni_bits_f32(x);
    uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
    uint32_t quiet = (u >> 16) | 0x40u;
    return (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}
KNI_INLINE uint16_t kni_cast_f16_f32(float x) { return (uint16_t)(kni_f32_to_f16(x)); }
KNI_INLINE uint16_t kni_cast_bf16_f32(float x) { return (uint16_t)(kni_f32_to_bf16(x)); }
KNI_INLINE float kni_cast_f32_f16(uint16_t x) { return (float)(kni_f16_to_f32(x)); }

struct halves_params {
    int64_t items;
    int64_t offset_x;
    int64_t offset_s;
    int64_t offset_y;
    int64_t offset_t;
};

void halves(void *const *buffers, int64_t *fault, const void *params, int64_t begin, int64_t end)
{
    const uint16_t *restrict x = buffers[0];
    const float *restrict s = buffers[1];
    uint16_t *restrict y = buffers[2];
    uint8_t *restrict t_ = buffers[3];
    const struct halves_params p = *(const struct halves_params *)params;
    (void)fault;
    for (int64_t item = begin; item < end; item++) {
        const float t1 = kni_cast_f32_f16(kni_cast_f16_f32(kni_cast_f32_f16(x[item + p.offset_x]) * s[item + p.offset_s]));
        y[item + p.offset_y] = kni_cast_bf16_f32(t1);
        t_[item + p.offset_t] = (uint8_t)(t1 > 0.5f);
    }
}
