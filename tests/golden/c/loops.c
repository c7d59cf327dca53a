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

struct loops_params {
    int64_t items;
    int64_t offset_x;
    int64_t offset_y;
};

void loops(void *const *buffers, int64_t *fault, const void *params, int64_t begin, int64_t end)
{
    const int32_t *restrict x = buffers[0];
    int64_t *restrict y = buffers[1];
    const struct loops_params p = *(const struct loops_params *)params;
    (void)fault;
    for (int64_t item = begin; item < end; item++) {
        const int32_t t1 = x[item + p.offset_x];
        int64_t v1 = 0;
        int64_t v2 = 0;
        for (; v1 < 20; v1 = v1 + 1) {
            const int64_t t2 = v1;
            if ((t2 & 3) == 1) {
                continue;
            }
            if ((int32_t)t2 > t1) {
                break;
            }
            v2 = v2 + t2;
        }
        for (;;) {
            if (!(v1 > 0 && v1 * v1 < 1000)) break;
            {
                for (int64_t i1 = 0; i1 < v1; i1 += 2) {
                    if (i1 == 4) {
                        continue;
                    }
                    if (v2 > 5000) {
                        y[item + p.offset_y] = -1;
                        goto next_item;
                    }
                    v2 = v2 + i1;
                }
                if (v1 == 7) {
                    goto next1;
                }
                v2 = v2 + 100;
            }
next1:;
            if (v1 > 10) {
                v1 = v1 - 3;
            } else {
                v1 = v1 - 1;
            }
        }
        y[item + p.offset_y] = v2;
    next_item:;
    }
}
