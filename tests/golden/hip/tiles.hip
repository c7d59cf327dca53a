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
KNI_INLINE float kni_f16_to_f32(uint16_t x) { return (float)__builtin_bit_cast(_Float16, x); }
KNI_INLINE float kni_cast_f32_f16(uint16_t x) { return (float)(kni_f16_to_f32(x)); }

struct kn_tiles_params {
    int64_t u_depth;
};

extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 32))) kn_tiles(const uint16_t *__restrict__ u_x, const uint16_t *__restrict__ u_y, float *__restrict__ u_z, struct kn_tiles_params p)
{
    float u_tile_f32[16];
    float u_tile_f32_1[64];
    float u_tile_f32_2[4];
    const int64_t group = __builtin_amdgcn_workgroup_id_x();
    const int32_t member = (int32_t)__builtin_amdgcn_workitem_id_x();
    const int32_t lane = kni_lane();
    if (member / 64 == 0) {
        for (int64_t i1 = 0; i1 < 4; i1++) {
            u_tile_f32_2[i1] = 1.0f;
        }
        const int64_t t1 = group * 16 * p.u_depth;
        for (int64_t i2 = 0; i2 < p.u_depth; i2 += 16) {
            const int64_t t2 = t1 + i2;
            const int64_t t3 = (int64_t)lane / 4 * 1;
            for (int64_t i3 = 0; i3 < 1; i3++) {
                for (int64_t i4 = 0; i4 < 16; i4++) {
                    u_tile_f32[i3 * 16 + i4] = kni_cast_f32_f16(u_x[t2 + (t3 + i3) * p.u_depth + i4]);
                }
            }
            const int64_t t4 = i2 * 16;
            const int64_t t5 = (int64_t)lane % 4 * 4;
            for (int64_t i5 = 0; i5 < 16; i5++) {
                for (int64_t i6 = 0; i6 < 4; i6++) {
                    u_tile_f32_1[i5 * 4 + i6] = kni_cast_f32_f16(u_y[t4 + i5 * 16 + (t5 + i6)]);
                }
            }
            for (int64_t i7 = 0; i7 < 1; i7++) {
                for (int64_t i8 = 0; i8 < 4; i8++) {
                    const int64_t t6 = i7 * 4 + i8;
                    float v1 = u_tile_f32_2[t6];
                    for (int64_t i9 = 0; i9 < 16; i9++) {
                        v1 = v1 + u_tile_f32[i7 * 16 + i9] * u_tile_f32_1[i9 * 4 + i8];
                    }
                    u_tile_f32_2[t6] = v1;
                }
            }
        }
        const int64_t t7 = group * 256;
        const int64_t t8 = (int64_t)lane;
        const int64_t t9 = t8 / 4 * 1;
        const int64_t t10 = t8 % 4 * 4;
        for (int64_t i10 = 0; i10 < 1; i10++) {
            for (int64_t i11 = 0; i11 < 4; i11++) {
                u_z[t7 + (t9 + i10) * 16 + (t10 + i11)] = u_tile_f32_2[i10 * 4 + i11];
            }
        }
    }
}
