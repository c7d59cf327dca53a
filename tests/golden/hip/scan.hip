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
KNI_FUNCTION int64_t kni_f32_to_i64(float v) { if (!(v >= (float)-9223372036854775808.0)) return v != v ? 0 : (-0x7fffffffffffffff - 1); return v >= (float)9223372036854775808.0 ? 0x7fffffffffffffff : (int64_t)v; }
KNI_INLINE int64_t kni_cast_i64_f32(float x) { return (int64_t)(kni_f32_to_i64(x)); }

extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 48))) kn_scan(const float *__restrict__ u_x, float *__restrict__ u_y, int64_t *__restrict__ u_z)
{
    __attribute__((shared)) float u_scratch_f32[48];
    __attribute__((shared)) float u_scratch_other_f32[48];
    __attribute__((shared)) int64_t u_scratch_i64[48];
    __attribute__((shared)) int64_t u_scratch_other_i64[48];
    const int64_t group = __builtin_amdgcn_workgroup_id_x();
    const int32_t member = (int32_t)__builtin_amdgcn_workitem_id_x();
    const int64_t t1 = group * 48 + (int64_t)member;
    const float t2 = u_x[t1];
    u_scratch_f32[member] = t2;
    kni_barrier();
    const int t3 = member >= 1;
    float v1 = t3 ? (t3 ? u_scratch_f32[member - 1] : t2) + t2 : t2;
    const float t4 = v1;
    u_scratch_other_f32[member] = t4;
    kni_barrier();
    const int t5 = member >= 2;
    float v2 = t5 ? (t5 ? u_scratch_other_f32[member - 2] : t4) + t4 : t4;
    const float t6 = v2;
    u_scratch_f32[member] = t6;
    kni_barrier();
    const int t7 = member >= 4;
    float v3 = t7 ? (t7 ? u_scratch_f32[member - 4] : t6) + t6 : t6;
    const float t8 = v3;
    u_scratch_other_f32[member] = t8;
    kni_barrier();
    const int t9 = member >= 8;
    float v4 = t9 ? (t9 ? u_scratch_other_f32[member - 8] : t8) + t8 : t8;
    const float t10 = v4;
    u_scratch_f32[member] = t10;
    kni_barrier();
    const int t11 = member >= 16;
    float v5 = t11 ? (t11 ? u_scratch_f32[member - 16] : t10) + t10 : t10;
    const float t12 = v5;
    u_scratch_other_f32[member] = t12;
    kni_barrier();
    const int t13 = member >= 32;
    float v6 = t13 ? (t13 ? u_scratch_other_f32[member - 32] : t12) + t12 : t12;
    const float t14 = v6;
    u_scratch_f32[member] = t14;
    kni_barrier();
    float v7 = t14;
    u_y[t1] = v7;
    const int64_t t15 = kni_cast_i64_f32(t2);
    u_scratch_i64[member] = t15;
    kni_barrier();
    const int t16 = member >= 1;
    int64_t v8 = t16 ? (int64_t)((uint64_t)(t16 ? u_scratch_i64[member - 1] : t15) * (uint64_t)t15) : t15;
    const int64_t t17 = v8;
    u_scratch_other_i64[member] = t17;
    kni_barrier();
    const int t18 = member >= 2;
    int64_t v9 = t18 ? (int64_t)((uint64_t)(t18 ? u_scratch_other_i64[member - 2] : t17) * (uint64_t)t17) : t17;
    const int64_t t19 = v9;
    u_scratch_i64[member] = t19;
    kni_barrier();
    const int t20 = member >= 4;
    int64_t v10 = t20 ? (int64_t)((uint64_t)(t20 ? u_scratch_i64[member - 4] : t19) * (uint64_t)t19) : t19;
    const int64_t t21 = v10;
    u_scratch_other_i64[member] = t21;
    kni_barrier();
    const int t22 = member >= 8;
    int64_t v11 = t22 ? (int64_t)((uint64_t)(t22 ? u_scratch_other_i64[member - 8] : t21) * (uint64_t)t21) : t21;
    const int64_t t23 = v11;
    u_scratch_i64[member] = t23;
    kni_barrier();
    const int t24 = member >= 16;
    int64_t v12 = t24 ? (int64_t)((uint64_t)(t24 ? u_scratch_i64[member - 16] : t23) * (uint64_t)t23) : t23;
    const int64_t t25 = v12;
    u_scratch_other_i64[member] = t25;
    kni_barrier();
    const int t26 = member >= 32;
    int64_t v13 = t26 ? (int64_t)((uint64_t)(t26 ? u_scratch_other_i64[member - 32] : t25) * (uint64_t)t25) : t25;
    const int64_t t27 = v13;
    u_scratch_i64[member] = t27;
    kni_barrier();
    int64_t v14 = t27;
    u_z[t1] = v14;
}
