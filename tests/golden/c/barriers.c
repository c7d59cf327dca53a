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

struct barriers_params {
    int64_t limit;
};

void barriers(void *const *buffers, int64_t *fault, const void *params, int64_t begin, int64_t end)
{
    const float *restrict x = buffers[0];
    float *restrict y = buffers[1];
    const struct barriers_params p = *(const struct barriers_params *)params;
    (void)fault;
    for (int64_t number = begin; number < end; number++) {
        const int64_t group = number;
        float shared[16];
        float own[16][3];
        if (group >= p.limit) {
            goto next_group;
        }
        int64_t t1[16];
        float v1[16];
        int64_t v2[16];
        for (int32_t member = 0; member < 16; member++) {
            t1[member] = group * 16 + (int64_t)member;
            v1[member] = x[t1[member]];
            for (int32_t i1 = 0; i1 < 3; i1++) {
                own[member][i1] = v1[member] * (float)i1;
            }
            v2[member] = 0;
        }
        for (;;) {
            int t2[16];
            for (int32_t member = 0; member < 16; member++) {
                t2[member] = v2[member] < 6;
            }
            if (!t2[0]) break;
            {
                int t3[16];
                for (int32_t member = 0; member < 16; member++) {
                    t3[member] = v2[member] == 1;
                }
                if (t3[0]) {
                    goto next1;
                }
                for (int32_t member = 0; member < 16; member++) {
                    shared[member] = v1[member];
                }
                for (int32_t member = 0; member < 16; member++) {
                    v1[member] = shared[member ^ 5] * 0.5f + v1[member];
                }
                int t4[16];
                for (int32_t member = 0; member < 16; member++) {
                    t4[member] = v2[member] == group + 2;
                }
                if (t4[0]) {
                    break;
                }
            }
next1:;
            for (int32_t member = 0; member < 16; member++) {
                v2[member] = v2[member] + 1;
            }
        }
        float v3[16];
        for (int32_t member = 0; member < 16; member++) {
            v3[member] = v1[member];
        }
        for (int32_t i2 = 0; i2 < 3; i2++) {
            for (int32_t member = 0; member < 16; member++) {
                shared[member] = own[member][i2];
            }
            for (int32_t member = 0; member < 16; member++) {
                if (member < 15) {
                    v3[member] = v3[member] + shared[member + 1];
                }
            }
        }
        for (int32_t member = 0; member < 16; member++) {
            if (member == 3) {
                continue;
            }
            y[t1[member]] = v3[member];
        }
    next_group:;
    }
}
