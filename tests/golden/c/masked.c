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
KNI_FUNCTION int64_t kni_f32_to_i64(float v) { if (!(v >= (float)-9223372036854775808.0)) return v != v ? 0 : (-0x7fffffffffffffff - 1); return v >= (float)9223372036854775808.0 ? 0x7fffffffffffffff : (int64_t)v; }
KNI_INLINE int8_t kni_cast_i8_f32(float x) { return (int8_t)(kni_f32_to_i64(x)); }

typedef struct kni_f32x4 {
    float s0, s1, s2, s3;
} kni_f32x4;
typedef struct kni_i32x4 {
    int32_t s0, s1, s2, s3;
} kni_i32x4;

struct masked_params {
    int64_t items;
    int64_t offset_x;
    int64_t offset_y;
    int64_t offset_z;
    int64_t n;
};

void masked(void *const *buffers, int64_t *fault, const void *params, int64_t begin, int64_t end)
{
    const float *restrict x = buffers[0];
    float *restrict y = buffers[1];
    int8_t *restrict z = buffers[2];
    const struct masked_params p = *(const struct masked_params *)params;
    (void)fault;
    for (int64_t item = begin; item < end; item++) {
        const int64_t t1 = item - 3;
        const float t2 = t1 >= 0 && t1 < p.n ? x[t1 + p.offset_x] : -1.0f;
        if (t2 != -1.0f) z[item + p.offset_z] = kni_cast_i8_f32(t2);
        const int64_t t3 = item * 4;
        const kni_i32x4 t4 = KNI_MAKE(kni_i32x4){t3 + 0 < p.n, t3 + 1 < p.n, t3 + 2 < p.n, t3 + 3 < p.n};
        const int64_t t5 = t3 + p.offset_x;
        const kni_f32x4 t6 = KNI_MAKE(kni_f32x4){t4.s0 ? x[t5] : t2, t4.s1 ? x[t5 + 1] : t2, t4.s2 ? x[t5 + 2] : t2, t4.s3 ? x[t5 + 3] : t2};
        const int64_t t7 = t3 + p.offset_y;
        if (t4.s0) y[t7] = t6.s0 * 2.0f;
        if (t4.s1) y[t7 + 1] = t6.s1 * 2.0f;
        if (t4.s2) y[t7 + 2] = t6.s2 * 2.0f;
        if (t4.s3) y[t7 + 3] = t6.s3 * 2.0f;
    }
}
