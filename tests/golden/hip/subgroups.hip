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

extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 64))) kn_subgroups(const float *__restrict__ u_x, float *__restrict__ u_y)
{
    const int64_t group = __builtin_amdgcn_workgroup_id_x();
    const int64_t group1 = __builtin_amdgcn_workgroup_id_y();
    const int64_t groups = __builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x();
    const int32_t member = (int32_t)__builtin_amdgcn_workitem_id_x();
    const int32_t lane = kni_lane();
    const int64_t t1 = (group1 * groups + group) * 64 + (int64_t)member;
    const float t2 = u_x[t1];
    const float t3 = kni_shuffle(t2, 32);
    const float t4 = t2 + t3;
    const float t5 = kni_shuffle(t4, 16);
    const float t6 = t4 + t5;
    const float t7 = kni_shuffle(t6, 8);
    const float t8 = t6 + t7;
    const float t9 = kni_shuffle(t8, 4);
    const float t10 = t8 + t9;
    const float t11 = kni_shuffle(t10, 2);
    const float t12 = t10 + t11;
    const float t13 = kni_shuffle(t12, 1);
    float v1 = t12 + t13;
    const float t14 = kni_shuffle(t2, 32);
    const float t15 = kni_word_max_f32(t2, t14);
    const float t16 = kni_shuffle(t15, 16);
    const float t17 = kni_word_max_f32(t15, t16);
    const float t18 = kni_shuffle(t17, 8);
    const float t19 = kni_word_max_f32(t17, t18);
    const float t20 = kni_shuffle(t19, 4);
    const float t21 = kni_word_max_f32(t19, t20);
    const float t22 = kni_shuffle(t21, 2);
    const float t23 = kni_word_max_f32(t21, t22);
    const float t24 = kni_shuffle(t23, 1);
    float v2 = kni_word_max_f32(t23, t24);
    const float t25 = kni_shuffle(t2, 1);
    u_y[t1] = v1 - v2 + t25 * (float)lane;
}
