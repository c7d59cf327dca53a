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
KNI_INLINE int64_t kni_cast_i64_f32(float x) { return (int64_t)(kni_f32_to_i64(x)); }

void scan(void *const *buffers, int64_t *fault, const void *params, int64_t begin, int64_t end)
{
    const float *restrict x = buffers[0];
    float *restrict y = buffers[1];
    int64_t *restrict z = buffers[2];
    (void)fault;
    (void)params;
    for (int64_t number = begin; number < end; number++) {
        const int64_t group = number;
        float scratch_f32[48];
        float scratch_other_f32[48];
        int64_t scratch_i64[48];
        int64_t scratch_other_i64[48];
        int64_t t1[48];
        float t2[48];
        for (int32_t member = 0; member < 48; member++) {
            t1[member] = group * 48 + (int64_t)member;
            t2[member] = x[t1[member]];
            scratch_f32[member] = t2[member];
        }
        float t3[48];
        for (int32_t member = 0; member < 48; member++) {
            const int t4 = member >= 1;
            float v1 = t4 ? (t4 ? scratch_f32[member - 1] : t2[member]) + t2[member] : t2[member];
            t3[member] = v1;
            scratch_other_f32[member] = t3[member];
        }
        float t5[48];
        for (int32_t member = 0; member < 48; member++) {
            const int t6 = member >= 2;
            float v2 = t6 ? (t6 ? scratch_other_f32[member - 2] : t3[member]) + t3[member] : t3[member];
            t5[member] = v2;
            scratch_f32[member] = t5[member];
        }
        float t7[48];
        for (int32_t member = 0; member < 48; member++) {
            const int t8 = member >= 4;
            float v3 = t8 ? (t8 ? scratch_f32[member - 4] : t5[member]) + t5[member] : t5[member];
            t7[member] = v3;
            scratch_other_f32[member] = t7[member];
        }
        float t9[48];
        for (int32_t member = 0; member < 48; member++) {
            const int t10 = member >= 8;
            float v4 = t10 ? (t10 ? scratch_other_f32[member - 8] : t7[member]) + t7[member] : t7[member];
            t9[member] = v4;
            scratch_f32[member] = t9[member];
        }
        float t11[48];
        for (int32_t member = 0; member < 48; member++) {
            const int t12 = member >= 16;
            float v5 = t12 ? (t12 ? scratch_f32[member - 16] : t9[member]) + t9[member] : t9[member];
            t11[member] = v5;
            scratch_other_f32[member] = t11[member];
        }
        float t13[48];
        for (int32_t member = 0; member < 48; member++) {
            const int t14 = member >= 32;
            float v6 = t14 ? (t14 ? scratch_other_f32[member - 32] : t11[member]) + t11[member] : t11[member];
            t13[member] = v6;
            scratch_f32[member] = t13[member];
        }
        int64_t t15[48];
        for (int32_t member = 0; member < 48; member++) {
            float v7 = t13[member];
            y[t1[member]] = v7;
            t15[member] = kni_cast_i64_f32(t2[member]);
            scratch_i64[member] = t15[member];
        }
        int64_t t16[48];
        for (int32_t member = 0; member < 48; member++) {
            const int t17 = member >= 1;
            int64_t v8 = t17 ? (t17 ? scratch_i64[member - 1] : t15[member]) * t15[member] : t15[member];
            t16[member] = v8;
            scratch_other_i64[member] = t16[member];
        }
        int64_t t18[48];
        for (int32_t member = 0; member < 48; member++) {
            const int t19 = member >= 2;
            int64_t v9 = t19 ? (t19 ? scratch_other_i64[member - 2] : t16[member]) * t16[member] : t16[member];
            t18[member] = v9;
            scratch_i64[member] = t18[member];
        }
        int64_t t20[48];
        for (int32_t member = 0; member < 48; member++) {
            const int t21 = member >= 4;
            int64_t v10 = t21 ? (t21 ? scratch_i64[member - 4] : t18[member]) * t18[member] : t18[member];
            t20[member] = v10;
            scratch_other_i64[member] = t20[member];
        }
        int64_t t22[48];
        for (int32_t member = 0; member < 48; member++) {
            const int t23 = member >= 8;
            int64_t v11 = t23 ? (t23 ? scratch_other_i64[member - 8] : t20[member]) * t20[member] : t20[member];
            t22[member] = v11;
            scratch_i64[member] = t22[member];
        }
        int64_t t24[48];
        for (int32_t member = 0; member < 48; member++) {
            const int t25 = member >= 16;
            int64_t v12 = t25 ? (t25 ? scratch_i64[member - 16] : t22[member]) * t22[member] : t22[member];
            t24[member] = v12;
            scratch_other_i64[member] = t24[member];
        }
        int64_t t26[48];
        for (int32_t member = 0; member < 48; member++) {
            const int t27 = member >= 32;
            int64_t v13 = t27 ? (t27 ? scratch_other_i64[member - 32] : t24[member]) * t24[member] : t24[member];
            t26[member] = v13;
            scratch_i64[member] = t26[member];
        }
        for (int32_t member = 0; member < 48; member++) {
            int64_t v14 = t26[member];
            z[t1[member]] = v14;
        }
    }
}
