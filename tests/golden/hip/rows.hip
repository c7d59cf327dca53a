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
KNI_FUNCTION float kni_larger_f32(float a, float b) { float m = a > b ? a : b; return a != a ? a : m; }
KNI_INLINE float kni_word_max_f32(float a, float b) { return (float)(kni_larger_f32(a, b)); }

struct kn_rows_params {
    int64_t u_columns;
};

extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 64))) kn_rows(const float *__restrict__ u_x, float *__restrict__ u_y, struct kn_rows_params p)
{
    const int64_t group = __builtin_amdgcn_workgroup_id_x();
    const int32_t member = (int32_t)__builtin_amdgcn_workitem_id_x();
    const int64_t t1 = (int64_t)member;
    const int64_t t2 = group * p.u_columns;
    float v1 = -KNI_INF_F32;
    float v2 = 0.0f;
    for (int64_t i1 = t1; i1 < p.u_columns; i1 += 64) {
        const float t3 = u_x[t2 + i1];
        v1 = kni_word_max_f32(v1, t3);
        v2 = v2 + t3;
    }
    const float t4 = kni_shuffle(v1, 32);
    const float t5 = kni_word_max_f32(v1, t4);
    const float t6 = kni_shuffle(t5, 16);
    const float t7 = kni_word_max_f32(t5, t6);
    const float t8 = kni_shuffle(t7, 8);
    const float t9 = kni_word_max_f32(t7, t8);
    const float t10 = kni_shuffle(t9, 4);
    const float t11 = kni_word_max_f32(t9, t10);
    const float t12 = kni_shuffle(t11, 2);
    const float t13 = kni_word_max_f32(t11, t12);
    const float t14 = kni_shuffle(t13, 1);
    float v3 = kni_word_max_f32(t13, t14);
    const float t15 = v3;
    const float t16 = kni_shuffle(v2, 32);
    const float t17 = v2 + t16;
    const float t18 = kni_shuffle(t17, 16);
    const float t19 = t17 + t18;
    const float t20 = kni_shuffle(t19, 8);
    const float t21 = t19 + t20;
    const float t22 = kni_shuffle(t21, 4);
    const float t23 = t21 + t22;
    const float t24 = kni_shuffle(t23, 2);
    const float t25 = t23 + t24;
    const float t26 = kni_shuffle(t25, 1);
    float v4 = t25 + t26;
    const float t27 = v4;
    for (int64_t i2 = t1; i2 < p.u_columns; i2 += 64) {
        const int64_t t28 = t2 + i2;
        u_y[t28] = (u_x[t28] - t15) / t27;
    }
}
