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
KNI_INLINE int kni_word_isnan_f32(float a) { return (int)(a != a); }

struct unique_all_params {
    int64_t items;
    int64_t offset_x;
    int64_t offset_values;
    int64_t offset_inverse;
    int64_t offset_counts;
    int64_t offset_count;
    int64_t offset_p;
    int64_t offset_w;
    int64_t n;
};

KNI_FUNCTION int64_t user_stands_before(float a1, float a2, int64_t a3)
{
    if (a3 != 0) {
        return a1 > a2 || kni_word_isnan_f32(a1) && !kni_word_isnan_f32(a2) ? 1 : 0;
    }
    return a1 < a2 || kni_word_isnan_f32(a2) && !kni_word_isnan_f32(a1) ? 1 : 0;
}

void unique_all(void *const *buffers, int64_t *fault, const void *params, int64_t begin, int64_t end)
{
    const float *restrict x = buffers[0];
    float *restrict values = buffers[1];
    int64_t *restrict inverse = buffers[2];
    int64_t *restrict counts = buffers[3];
    int64_t *restrict count = buffers[4];
    int64_t *restrict p_ = buffers[5];
    int64_t *restrict w = buffers[6];
    const struct unique_all_params p = *(const struct unique_all_params *)params;
    (void)fault;
    for (int64_t item = begin; item < end; item++) {
        for (int64_t i1 = 0; i1 < p.n; i1++) {
            p_[i1 + p.offset_p] = i1;
        }
        int64_t v1 = 1;
        for (; v1 < p.n; v1 = v1 * 2) {
            int64_t v2 = 0;
            for (; v2 < p.n; v2 = v2 + v1 * 2) {
                const int64_t t1 = v2 + v1;
                const int64_t t2 = t1 < p.n ? t1 : p.n;
                const int64_t t3 = v2 + v1 * 2;
                const int64_t t4 = t3 < p.n ? t3 : p.n;
                int64_t v3 = v2;
                int64_t v4 = t2;
                for (int64_t i2 = v2; i2 < t4; i2++) {
                    const int64_t t5 = v3;
                    int64_t v5 = t5 >= t2 ? 1 : 0;
                    const int64_t t6 = v4;
                    if (t5 < t2 && t6 < t4) {
                        v5 = user_stands_before(x[p_[t6 + p.offset_p] + p.offset_x], x[p_[t5 + p.offset_p] + p.offset_x], 0);
                    }
                    if (v5 != 0) {
                        w[i2 + p.offset_w] = p_[t6 + p.offset_p];
                        v4 = t6 + 1;
                    } else {
                        w[i2 + p.offset_w] = p_[t5 + p.offset_p];
                        v3 = t5 + 1;
                    }
                }
            }
            for (int64_t i3 = 0; i3 < p.n; i3++) {
                p_[i3 + p.offset_p] = w[i3 + p.offset_w];
            }
        }
        int64_t v6 = 0;
        for (int64_t i4 = 0; i4 < p.n; i4++) {
            const int64_t t7 = p_[i4 + p.offset_p];
            const float t8 = x[t7 + p.offset_x];
            const int t9 = i4 == 0;
            int v7 = t9;
            if (!t9) {
                v7 = t8 != values[v6 - 1 + p.offset_values];
            }
            if (v7) {
                const int64_t t10 = v6;
                values[t10 + p.offset_values] = t8;
                counts[t10 + p.offset_counts] = 0;
                v6 = t10 + 1;
            }
            const int64_t t11 = v6 - 1;
            const int64_t t12 = t11 + p.offset_counts;
            counts[t12] = counts[t12] + 1;
            inverse[t7 + p.offset_inverse] = t11;
        }
        const int64_t t13 = v6;
        for (int64_t i5 = t13; i5 < p.n; i5++) {
            values[i5 + p.offset_values] = 0.0f;
            counts[i5 + p.offset_counts] = 0;
        }
        count[p.offset_count] = t13;
    }
}
