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
KNI_INLINE uint16_t kni_f32_to_bf16(float x)
{
    uint32_t u = kni_bits_f32(x);
    uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
    uint32_t quiet = (u >> 16) | 0x40u;
    return (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}
KNI_INLINE uint16_t kni_cast_bf16_f32(float x) { return (uint16_t)(kni_f32_to_bf16(x)); }
KNI_INLINE float kni_cast_f32_f16(uint16_t x) { return (float)(kni_f16_to_f32(x)); }

typedef struct kni_f32x4 {
    float s0, s1, s2, s3;
} kni_f32x4;
typedef struct kni_f32x8 {
    float s0, s1, s2, s3, s4, s5, s6, s7;
} kni_f32x8;

struct vectors_params {
    int64_t items;
    int64_t offset_x;
    int64_t offset_h;
    int64_t offset_y;
    int64_t offset_g;
    int64_t n;
};

void vectors(void *const *buffers, int64_t *fault, const void *params, int64_t begin, int64_t end)
{
    const float *restrict x = buffers[0];
    const uint16_t *restrict h = buffers[1];
    float *restrict y = buffers[2];
    uint16_t *restrict g = buffers[3];
    const struct vectors_params p = *(const struct vectors_params *)params;
    (void)fault;
    for (int64_t item = begin; item < end; item++) {
        const int64_t t1 = item * 4;
        const int t2 = t1 < p.n;
        const int64_t t3 = t1 + p.offset_x;
        const kni_f32x4 t4 = KNI_MAKE(kni_f32x4){t2 ? x[t3] : 1.0f, t2 ? x[t3 + 1] : 1.0f, t2 ? x[t3 + 2] : 1.0f, t2 ? x[t3 + 3] : 1.0f};
        const kni_f32x4 t5 = KNI_MAKE(kni_f32x4){t4.s0 * t4.s0 + 0.25f, t4.s1 * t4.s1 + 0.25f, t4.s2 * t4.s2 + 0.25f, t4.s3 * t4.s3 + 0.25f};
        const int64_t t6 = t1 + p.offset_y;
        if (t2) y[t6] = t4.s0 < 0.0f ? -t5.s0 : t5.s0;
        if (t2) y[t6 + 1] = t4.s1 < 0.0f ? -t5.s1 : t5.s1;
        if (t2) y[t6 + 2] = t4.s2 < 0.0f ? -t5.s2 : t5.s2;
        if (t2) y[t6 + 3] = t4.s3 < 0.0f ? -t5.s3 : t5.s3;
        const int64_t t7 = item * 8;
        const int64_t t8 = t7 + p.offset_h;
        const kni_f32x8 t9 = KNI_MAKE(kni_f32x8){kni_cast_f32_f16(h[t8]), kni_cast_f32_f16(h[t8 + 1]), kni_cast_f32_f16(h[t8 + 2]), kni_cast_f32_f16(h[t8 + 3]), kni_cast_f32_f16(h[t8 + 4]), kni_cast_f32_f16(h[t8 + 5]), kni_cast_f32_f16(h[t8 + 6]), kni_cast_f32_f16(h[t8 + 7])};
        const kni_f32x8 t10 = KNI_MAKE(kni_f32x8){t9.s0 * t9.s7, t9.s1 * t9.s6, t9.s2 * t9.s5, t9.s3 * t9.s4, t9.s4 * t9.s3, t9.s5 * t9.s2, t9.s6 * t9.s1, t9.s7 * t9.s0};
        const int64_t t11 = t7 + p.offset_g;
        g[t11] = kni_cast_bf16_f32(t10.s0);
        g[t11 + 1] = kni_cast_bf16_f32(t10.s1);
        g[t11 + 2] = kni_cast_bf16_f32(t10.s2);
        g[t11 + 3] = kni_cast_bf16_f32(t10.s3);
        g[t11 + 4] = kni_cast_bf16_f32(t10.s4);
        g[t11 + 5] = kni_cast_bf16_f32(t10.s5);
        g[t11 + 6] = kni_cast_bf16_f32(t10.s6);
        g[t11 + 7] = kni_cast_bf16_f32(t10.s7);
    }
}
