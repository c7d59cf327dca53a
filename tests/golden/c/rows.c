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
KNI_FUNCTION float kni_larger_f32(float a, float b) { float m = a > b ? a : b; return a != a ? a : m; }
KNI_INLINE float kni_word_max_f32(float a, float b) { return (float)(kni_larger_f32(a, b)); }

struct rows_params {
    int64_t columns;
};

void rows(void *const *buffers, int64_t *fault, const void *params, int64_t begin, int64_t end)
{
    const float *restrict x = buffers[0];
    float *restrict y = buffers[1];
    const struct rows_params p = *(const struct rows_params *)params;
    (void)fault;
    for (int64_t number = begin; number < end; number++) {
        const int64_t group = number;
        float scratch_f32[64];
        int64_t t1[64];
        const int64_t t2 = group * p.columns;
        float v1[64];
        for (int32_t member = 0; member < 64; member++) {
            t1[member] = (int64_t)member;
            float v2 = -KNI_INF_F32;
            v1[member] = 0.0f;
            for (int64_t i1 = t1[member]; i1 < p.columns; i1 += 64) {
                const float t3 = x[t2 + i1];
                v2 = kni_word_max_f32(v2, t3);
                v1[member] = v1[member] + t3;
            }
            scratch_f32[member] = v2;
        }
        for (int32_t member = 0; member < 64; member++) {
            if ((member & 31) < 16) {
                scratch_f32[member] = kni_word_max_f32(scratch_f32[member], scratch_f32[member + 16]);
            }
        }
        for (int32_t member = 0; member < 64; member++) {
            if ((member & 31) < 8) {
                scratch_f32[member] = kni_word_max_f32(scratch_f32[member], scratch_f32[member + 8]);
            }
        }
        for (int32_t member = 0; member < 64; member++) {
            if ((member & 31) < 4) {
                scratch_f32[member] = kni_word_max_f32(scratch_f32[member], scratch_f32[member + 4]);
            }
        }
        for (int32_t member = 0; member < 64; member++) {
            if ((member & 31) < 2) {
                scratch_f32[member] = kni_word_max_f32(scratch_f32[member], scratch_f32[member + 2]);
            }
        }
        for (int32_t member = 0; member < 64; member++) {
            if ((member & 31) < 1) {
                scratch_f32[member] = kni_word_max_f32(scratch_f32[member], scratch_f32[member + 1]);
            }
        }
        for (int32_t member = 0; member < 64; member++) {
            if (member < 1) {
                const int32_t t4 = member * 32;
                scratch_f32[t4] = kni_word_max_f32(scratch_f32[t4], scratch_f32[t4 + 32]);
            }
        }
        float v3[64];
        for (int32_t member = 0; member < 64; member++) {
            v3[member] = scratch_f32[0];
        }
        float t5[64];
        for (int32_t member = 0; member < 64; member++) {
            float v4 = v3[member];
            t5[member] = v4;
            scratch_f32[member] = v1[member];
        }
        for (int32_t member = 0; member < 64; member++) {
            if ((member & 31) < 16) {
                scratch_f32[member] = scratch_f32[member] + scratch_f32[member + 16];
            }
        }
        for (int32_t member = 0; member < 64; member++) {
            if ((member & 31) < 8) {
                scratch_f32[member] = scratch_f32[member] + scratch_f32[member + 8];
            }
        }
        for (int32_t member = 0; member < 64; member++) {
            if ((member & 31) < 4) {
                scratch_f32[member] = scratch_f32[member] + scratch_f32[member + 4];
            }
        }
        for (int32_t member = 0; member < 64; member++) {
            if ((member & 31) < 2) {
                scratch_f32[member] = scratch_f32[member] + scratch_f32[member + 2];
            }
        }
        for (int32_t member = 0; member < 64; member++) {
            if ((member & 31) < 1) {
                scratch_f32[member] = scratch_f32[member] + scratch_f32[member + 1];
            }
        }
        for (int32_t member = 0; member < 64; member++) {
            if (member < 1) {
                const int32_t t6 = member * 32;
                scratch_f32[t6] = scratch_f32[t6] + scratch_f32[t6 + 32];
            }
        }
        float v5[64];
        for (int32_t member = 0; member < 64; member++) {
            v5[member] = scratch_f32[0];
        }
        for (int32_t member = 0; member < 64; member++) {
            float v6 = v5[member];
            const float t7 = v6;
            for (int64_t i2 = t1[member]; i2 < p.columns; i2 += 64) {
                const int64_t t8 = t2 + i2;
                y[t8] = (x[t8] - t5[member]) / t7;
            }
        }
    }
}
