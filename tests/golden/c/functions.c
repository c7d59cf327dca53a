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

struct functions_params {
    int64_t items;
    int64_t offset_x;
    int64_t offset_y;
};

KNI_FUNCTION float user_polynomial(float a1, int32_t a2)
{
    float powers[4];
    powers[0] = 1.0f;
    for (int32_t i1 = 1; i1 < 4; i1++) {
        powers[i1] = powers[i1 - 1] * a1;
    }
    float v1 = 0.0f;
    for (int32_t i2 = 0; i2 < a2; i2++) {
        v1 = v1 + powers[i2];
    }
    return v1;
}

KNI_FUNCTION float user_clipped(float a1)
{
    if (a1 > 1.5f) {
        return 1.5f;
    }
    return user_polynomial(a1, 4);
}

void functions(void *const *buffers, int64_t *fault, const void *params, int64_t begin, int64_t end)
{
    const float *restrict x = buffers[0];
    float *restrict y = buffers[1];
    const struct functions_params p = *(const struct functions_params *)params;
    (void)fault;
    for (int64_t item = begin; item < end; item++) {
        const float t1 = x[item + p.offset_x];
        y[item + p.offset_y] = user_clipped(t1) - user_polynomial(t1, 2);
    }
}
