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
KNI_INLINE float kni_bf16_to_f32(uint16_t half_) { return kni_from_bits_f32((uint32_t)half_ << 16); }
KNI_INLINE float kni_cast_f32_bf16(uint16_t x) { return (float)(kni_bf16_to_f32(x)); }

struct tiles_bf16_params {
    int64_t depth;
};

void tiles_bf16(void *const *buffers, int64_t *fault, const void *params, int64_t begin, int64_t end)
{
    const uint16_t *restrict x = buffers[0];
    const uint16_t *restrict y = buffers[1];
    float *restrict z = buffers[2];
    const struct tiles_bf16_params p = *(const struct tiles_bf16_params *)params;
    (void)fault;
    for (int64_t number = begin; number < end; number++) {
        const int64_t group = number;
        float tile_f32[256];
        float tile_f32_1[256];
        float tile_f32_2[256];
        for (int32_t member = 0; member < 32; member++) {
            if (member / 1 == 0) {
                for (int64_t i1 = 0; i1 < 256; i1++) {
                    tile_f32_2[i1] = 1.0f;
                }
                const int64_t t1 = group * 16 * p.depth;
                for (int64_t i2 = 0; i2 < p.depth; i2 += 16) {
                    const int64_t t2 = t1 + i2;
                    const int64_t t3 = (int64_t)0 / 1 * 16;
                    for (int64_t i3 = 0; i3 < 16; i3++) {
                        for (int64_t i4 = 0; i4 < 16; i4++) {
                            tile_f32[i3 * 16 + i4] = kni_cast_f32_bf16(x[t2 + (t3 + i3) * p.depth + i4]);
                        }
                    }
                    const int64_t t4 = i2 * 16;
                    const int64_t t5 = (int64_t)0 % 1 * 16;
                    for (int64_t i5 = 0; i5 < 16; i5++) {
                        for (int64_t i6 = 0; i6 < 16; i6++) {
                            tile_f32_1[i5 * 16 + i6] = kni_cast_f32_bf16(y[t4 + i5 * 16 + (t5 + i6)]);
                        }
                    }
                    for (int64_t i7 = 0; i7 < 16; i7++) {
                        for (int64_t i8 = 0; i8 < 16; i8++) {
                            const int64_t t6 = i7 * 16 + i8;
                            float v1 = tile_f32_2[t6];
                            for (int64_t i9 = 0; i9 < 16; i9++) {
                                v1 = v1 + tile_f32[i7 * 16 + i9] * tile_f32_1[i9 * 16 + i8];
                            }
                            tile_f32_2[t6] = v1;
                        }
                    }
                }
                const int64_t t7 = group * 256;
                const int64_t t8 = (int64_t)0;
                const int64_t t9 = t8 / 1 * 16;
                const int64_t t10 = t8 % 1 * 16;
                for (int64_t i10 = 0; i10 < 16; i10++) {
                    for (int64_t i11 = 0; i11 < 16; i11++) {
                        z[t7 + (t9 + i10) * 16 + (t10 + i11)] = tile_f32_2[i10 * 16 + i11];
                    }
                }
            }
        }
    }
}
