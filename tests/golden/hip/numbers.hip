typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef long long kni_i64;
typedef unsigned long long kni_u64;
#define int64_t kni_i64
#define uint64_t kni_u64
#define KNI_FUNCTION static __attribute__((device))
#define KNI_INLINE static inline __attribute__((device, always_inline))
#define KNI_TABLE static __attribute__((constant)) const
#define KNI_MAKE(type) type
#define KNI_INF_F32 __builtin_inff()
#define KNI_NAN_F32 __builtin_nanf("")
#define KNI_INF_F64 __builtin_inf()
#define KNI_NAN_F64 __builtin_nan("")
#define KNI_SQRT_F32(x) __ocml_sqrt_f32(x)
#define KNI_SQRT_F64(x) __ocml_sqrt_f64(x)
#define KNI_LEADING_ZEROS(x) __builtin_clzll(x)
extern "C" __attribute__((device, const)) float __ocml_sqrt_f32(float);
extern "C" __attribute__((device, const)) double __ocml_sqrt_f64(double);
KNI_INLINE uint32_t kni_bits_f32(float x) { return __builtin_bit_cast(uint32_t, x); }
KNI_INLINE float kni_from_bits_f32(uint32_t u) { return __builtin_bit_cast(float, u); }
KNI_INLINE uint64_t kni_bits_f64(double x) { return __builtin_bit_cast(uint64_t, x); }
KNI_INLINE double kni_from_bits_f64(uint64_t u) { return __builtin_bit_cast(double, u); }
KNI_INLINE int32_t kni_lane(void)
{
    return (int32_t)__builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
}
KNI_INLINE int32_t kni_shuffle(int32_t x, int32_t far)
{
    return __builtin_amdgcn_ds_bpermute((kni_lane() ^ far) << 2, x);
}
KNI_INLINE uint32_t kni_shuffle(uint32_t x, int32_t far) { return (uint32_t)kni_shuffle((int32_t)x, far); }
KNI_INLINE float kni_shuffle(float x, int32_t far)
{
    return kni_from_bits_f32(kni_shuffle(kni_bits_f32(x), far));
}
KNI_INLINE uint64_t kni_shuffle(uint64_t x, int32_t far)
{
    return kni_shuffle((uint32_t)x, far) | (uint64_t)kni_shuffle((uint32_t)(x >> 32), far) << 32;
}
KNI_INLINE int64_t kni_shuffle(int64_t x, int32_t far) { return (int64_t)kni_shuffle((uint64_t)x, far); }
KNI_INLINE double kni_shuffle(double x, int32_t far)
{
    return kni_from_bits_f64(kni_shuffle(kni_bits_f64(x), far));
}
KNI_INLINE void kni_barrier(void)
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
KNI_INLINE float kni_abs_f32(float x) { return kni_from_bits_f32(kni_bits_f32(x) & ~0x80000000u); }
KNI_FUNCTION int64_t kni_f64_to_i64(double v) { if (!(v >= (double)-9223372036854775808.0)) return v != v ? 0 : (-0x7fffffffffffffff - 1); return v >= (double)9223372036854775808.0 ? 0x7fffffffffffffff : (int64_t)v; }
KNI_INLINE int64_t kni_cast_i64_f64(double x) { return (int64_t)(kni_f64_to_i64(x)); }
KNI_INLINE int16_t kni_cast_i16_f64(double x) { return (int16_t)(kni_f64_to_i64(x)); }
KNI_INLINE float kni_fma_f32(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
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

struct kn_numbers_params {
    int64_t u_items;
    int64_t u_offset_x;
    int64_t u_offset_u;
    int64_t u_offset_i;
    int64_t u_offset_y;
    int64_t u_offset_h;
    int64_t u_offset_f;
    int64_t u_offset_w;
    int32_t u_table[3];
    uint8_t kni_rest[4];
};

extern "C" __attribute__((global)) void kn_numbers(const double *__restrict__ u_x, const uint8_t *__restrict__ u_u, const int32_t *__restrict__ u_i, int64_t *__restrict__ u_y, int16_t *__restrict__ u_h, float *__restrict__ u_f, uint32_t *__restrict__ u_w, struct kn_numbers_params p)
{
    const int64_t item = (int64_t)__builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() + __builtin_amdgcn_workitem_id_x();
    if (item >= p.u_items) return;
    const double t1 = u_x[item + p.u_offset_x];
    const int32_t t2 = u_i[item + p.u_offset_i];
    const uint32_t t3 = (uint32_t)u_u[item + p.u_offset_u];
    const int32_t t4 = (int32_t)((uint32_t)(int32_t)((uint32_t)t2 + (uint32_t)2147483647) * (uint32_t)(int32_t)(0 - (uint32_t)t2));
    u_y[item + p.u_offset_y] = (int64_t)((uint64_t)(int64_t)((uint64_t)(int64_t)((uint64_t)kni_cast_i64_f64(t1 * 1e18) + (uint64_t)kni_philox_word((int64_t)t2, item, 2)) + (uint64_t)(int64_t)kni_word_shl_i32(t4, t2 & 7)) - (uint64_t)(-9223372036854775807LL - 1));
    u_h[item + p.u_offset_h] = kni_cast_i16_f64(t1 * 12345.678);
    const float t5 = kni_from_bits_f32(kni_bits_f32(kni_fma_f32((float)t1, (float)t3, 0.0000001f)) ^ t3);
    u_f[item + p.u_offset_f] = (t3 != 0 ? kni_word_sqrt_f32(kni_word_abs_f32(t5)) : t5) / (float)p.u_table[kni_word_rem_i32(t2, 3)];
    u_w[item + p.u_offset_w] = kni_word_div_u32((uint32_t)t4 >> 3u, t3 | 1u);
}
