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
KNI_INLINE float kni_abs_f32(float x) { return kni_from_bits_f32(kni_bits_f32(x) & ~0x80000000u); }
KNI_FUNCTION int64_t kni_f64_to_i64(double v) { if (!(v >= (double)-9223372036854775808.0)) return v != v ? 0 : (-0x7fffffffffffffff - 1); return v >= (double)9223372036854775808.0 ? 0x7fffffffffffffff : (int64_t)v; }
KNI_INLINE int64_t kni_cast_i64_f64(double x) { return (int64_t)(kni_f64_to_i64(x)); }
KNI_INLINE int16_t kni_cast_i16_f64(double x) { return (int16_t)(kni_f64_to_i64(x)); }
#if defined(__FMA__) || defined(__aarch64__)
KNI_INLINE float kni_fma_f32(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
#else
KNI_INLINE float kni_fma_f32(float a, float b, float c)
{
    double p = (double)a * (double)b, s = p + (double)c;
    if (!(s - s == 0)) return (float)s;
    double t = s - p, lost = (p - (s - t)) + ((double)c - t);
    uint64_t bits = kni_bits_f64(s);
    if (lost != 0 && !(bits & 1)) bits = (lost > 0) == (s > 0) ? bits + 1 : bits - 1;
    return (float)kni_from_bits_f64(bits);
}
#endif
KNI_INLINE float kni_sqrt_f32(float x)
{
    return KNI_SQRT_F32(x);
}
KNI_INLINE void kni_philox_words(uint32_t key0, uint32_t key1, const uint32_t counter[4], uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    for (int i = 0; i < 10; i++) {
        uint64_t a = (uint64_t)c0 * 0xd2511f53u;
        uint64_t b = (uint64_t)c2 * 0xcd9e8d57u;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ key0;
        c1 = (uint32_t)b;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ key1;
        c3 = (uint32_t)a;
        key0 += 0x9e3779b9u;
        key1 += 0xbb67ae85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}
KNI_INLINE void kni_philox(uint64_t key, uint64_t counter, uint32_t out[4])
{
    const uint32_t words[4] = {(uint32_t)counter, (uint32_t)(counter >> 32), 0, 0};
    kni_philox_words((uint32_t)key, (uint32_t)(key >> 32), words, out);
}
KNI_INLINE int64_t kni_philox_word(int64_t key, int64_t counter, int64_t word)
{
    uint32_t four[4];
    kni_philox((uint64_t)key, (uint64_t)counter, four);
    uint32_t even = (word & 2) != 0 ? four[2] : four[0], odd = (word & 2) != 0 ? four[3] : four[1];
    return (int64_t)((word & 1) != 0 ? odd : even);
}
KNI_INLINE float kni_word_abs_f32(float a) { return (float)(kni_abs_f32(a)); }
KNI_INLINE float kni_word_sqrt_f32(float a) { return (float)(kni_sqrt_f32(a)); }
KNI_INLINE int32_t kni_word_rem_i32(int32_t a, int32_t b) { return (int32_t)((((b) == 0 || ((b) + 1 == 0 && (int32_t)-1 < 0) ? 0 : (a) % (b)) + (((b) == 0 || ((b) + 1 == 0 && (int32_t)-1 < 0) ? 0 : (a) % (b)) != 0 && ((a) < 0) != ((b) < 0) ? (b) : 0))); }
KNI_INLINE int32_t kni_word_shl_i32(int32_t a, int32_t b) { return (int32_t)(((b) < 0 || (b) >= (int32_t)(8 * sizeof(int32_t)) ? 0 : (int32_t)((uint64_t)(a) << (b)))); }
KNI_INLINE uint32_t kni_word_div_u32(uint32_t a, uint32_t b) { return (uint32_t)(((b) == 0 ? 0 : (b) + 1 == 0 && (uint32_t)-1 < 0 ? ((uint32_t)(0 - (uint32_t)(a))) : (a) / (b))); }

struct numbers_params {
    int64_t items;
    int64_t offset_x;
    int64_t offset_u;
    int64_t offset_i;
    int64_t offset_y;
    int64_t offset_h;
    int64_t offset_f;
    int64_t offset_w;
    int32_t table[3];
    uint8_t kni_rest[4];
};

void numbers(void *const *buffers, int64_t *fault, const void *params, int64_t begin, int64_t end)
{
    const double *restrict x = buffers[0];
    const uint8_t *restrict u = buffers[1];
    const int32_t *restrict i_ = buffers[2];
    int64_t *restrict y = buffers[3];
    int16_t *restrict h = buffers[4];
    float *restrict f = buffers[5];
    uint32_t *restrict w = buffers[6];
    const struct numbers_params p = *(const struct numbers_params *)params;
    (void)fault;
    for (int64_t item = begin; item < end; item++) {
        const double t1 = x[item + p.offset_x];
        const int32_t t2 = i_[item + p.offset_i];
        const uint32_t t3 = (uint32_t)u[item + p.offset_u];
        const int32_t t4 = (t2 + 2147483647) * -t2;
        y[item + p.offset_y] = kni_cast_i64_f64(t1 * 1e18) + kni_philox_word((int64_t)t2, item, 2) + (int64_t)kni_word_shl_i32(t4, t2 & 7) - (-9223372036854775807LL - 1);
        h[item + p.offset_h] = kni_cast_i16_f64(t1 * 12345.678);
        const float t5 = kni_from_bits_f32(kni_bits_f32(kni_fma_f32((float)t1, (float)t3, 0.0000001f)) ^ t3);
        f[item + p.offset_f] = (t3 != 0 ? kni_word_sqrt_f32(kni_word_abs_f32(t5)) : t5) / (float)p.table[kni_word_rem_i32(t2, 3)];
        w[item + p.offset_w] = kni_word_div_u32((uint32_t)t4 >> 3u, t3 | 1u);
    }
}
