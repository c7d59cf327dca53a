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

void subgroups(void *const *buffers, int64_t *fault, const void *params, int64_t begin, int64_t end)
{
    const float *restrict x = buffers[0];
    float *restrict y = buffers[1];
    (void)fault;
    (void)params;
    const int64_t *shape = buffers[2];
    for (int64_t number = begin; number < end; number++) {
        const int64_t group = number % shape[0];
        const int64_t groups = shape[0];
        const int64_t group1 = number / shape[0] % shape[1];
        for (int32_t member = 0; member < 64; member++) {
            const int64_t t1 = (group1 * groups + group) * 64 + (int64_t)member;
            const float t2 = x[t1];
            float v1 = t2;
            float v2 = t2;
            float v3 = t2;
            int32_t v4 = 0;
            y[t1] = v1 - v2 + v3 * (float)v4;
        }
    }
}
