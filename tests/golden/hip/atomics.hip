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
KNI_FUNCTION double kni_smaller_f64(double a, double b) { double m = a < b ? a : b; return a != a ? a : m; }
KNI_INLINE float kni_word_add_f32(float a, float b) { return (float)(a + b); }
KNI_INLINE float kni_word_max_f32(float a, float b) { return (float)(kni_larger_f32(a, b)); }
KNI_INLINE double kni_word_add_f64(double a, double b) { return (double)(a + b); }
KNI_INLINE double kni_word_min_f64(double a, double b) { return (double)(kni_smaller_f64(a, b)); }
KNI_INLINE int32_t kni_word_add_i32(int32_t a, int32_t b) { return (int32_t)(((uint32_t)(a) + (uint32_t)(b))); }
KNI_INLINE int64_t kni_word_add_i64(int64_t a, int64_t b) { return (int64_t)(((uint64_t)(a) + (uint64_t)(b))); }
KNI_INLINE int64_t kni_word_min_i64(int64_t a, int64_t b) { return (int64_t)(a < b ? a : b); }

KNI_FUNCTION int32_t kni_atomic_add_i32(int32_t *element, int32_t value)
{
    int32_t *word = element;
    return __hip_atomic_fetch_add(word, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

KNI_FUNCTION float kni_atomic_add_f32(float *element, float value)
{
    float *word = element;
    return __hip_atomic_fetch_add(word, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

KNI_FUNCTION float kni_atomic_max_f32(float *element, float value)
{
    volatile uint32_t *word = (volatile uint32_t *)element;
    uint32_t old = __hip_atomic_load(word, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT), first;
    do {
        uint32_t seen = old, next = kni_bits_f32(kni_word_max_f32(kni_from_bits_f32(seen), value));
        first = seen;
        old = (__hip_atomic_compare_exchange_strong(word, &seen, next, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT), seen);
    } while (old != first);
    return kni_from_bits_f32(old);
}

KNI_FUNCTION double kni_atomic_add_f64(double *element, double value)
{
    double *word = element;
    return __hip_atomic_fetch_add(word, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

KNI_FUNCTION double kni_atomic_min_f64(double *element, double value)
{
    volatile uint64_t *word = (volatile uint64_t *)element;
    uint64_t old = __hip_atomic_load(word, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT), first;
    do {
        uint64_t seen = old, next = kni_bits_f64(kni_word_min_f64(kni_from_bits_f64(seen), value));
        first = seen;
        old = (__hip_atomic_compare_exchange_strong(word, &seen, next, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT), seen);
    } while (old != first);
    return kni_from_bits_f64(old);
}

KNI_FUNCTION int64_t kni_atomic_add_i64(int64_t *element, int64_t value)
{
    int64_t *word = element;
    return __hip_atomic_fetch_add(word, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

KNI_FUNCTION int64_t kni_atomic_min_i64(int64_t *element, int64_t value)
{
    int64_t *word = element;
    return __hip_atomic_fetch_min(word, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

KNI_FUNCTION uint32_t kni_atomic_compare_u32(uint32_t *element, uint32_t value, uint32_t expected)
{
    volatile uint32_t *word = (volatile uint32_t *)element;
    uint32_t seen = (uint32_t)expected, next = (uint32_t)value;
    uint32_t old = (__hip_atomic_compare_exchange_strong(word, &seen, next, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT), seen);
    return (uint32_t)old;
}

struct kn_atomics_params {
    int64_t u_items;
    int64_t u_offset_x;
    int64_t u_offset_counts;
    int64_t u_offset_sums;
    int64_t u_offset_wide;
    int64_t u_offset_totals;
    int64_t u_offset_flags;
};

extern "C" __attribute__((global)) void kn_atomics(const int32_t *__restrict__ u_x, int32_t *__restrict__ u_counts, float *__restrict__ u_sums, double *__restrict__ u_wide, int64_t *__restrict__ u_totals, uint32_t *__restrict__ u_flags, struct kn_atomics_params p)
{
    const int64_t item = (int64_t)__builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() + __builtin_amdgcn_workitem_id_x();
    if (item >= p.u_items) return;
    const int32_t t1 = u_x[item + p.u_offset_x];
    const int32_t t2 = t1 & 3;
    kni_atomic_add_i32(&u_counts[(int64_t)((uint64_t)(int64_t)t2 + (uint64_t)p.u_offset_counts)], 1);
    kni_atomic_add_f32(&u_sums[(int64_t)((uint64_t)(int64_t)t2 + (uint64_t)p.u_offset_sums)], (float)t1);
    kni_atomic_max_f32(&u_sums[(int64_t)((uint64_t)(int64_t)(int32_t)((uint32_t)t2 + (uint32_t)4) + (uint64_t)p.u_offset_sums)], (float)t1);
    kni_atomic_add_f64(&u_wide[(int64_t)((uint64_t)(int64_t)t2 + (uint64_t)p.u_offset_wide)], (double)t1);
    kni_atomic_min_f64(&u_wide[(int64_t)((uint64_t)(int64_t)(int32_t)((uint32_t)t2 + (uint32_t)4) + (uint64_t)p.u_offset_wide)], (double)t1);
    kni_atomic_add_i64(&u_totals[(int64_t)((uint64_t)(int64_t)t2 + (uint64_t)p.u_offset_totals)], (int64_t)t1);
    kni_atomic_min_i64(&u_totals[(int64_t)((uint64_t)(int64_t)(int32_t)((uint32_t)t2 + (uint32_t)4) + (uint64_t)p.u_offset_totals)], (int64_t)t1);
    const uint32_t t3 = kni_atomic_compare_u32(&u_flags[(int64_t)((uint64_t)(int64_t)t2 + (uint64_t)p.u_offset_flags)], 7u, 0u);
    if (t3 == 0u) {
        kni_atomic_add_i32(&u_counts[(int64_t)((uint64_t)(int64_t)(int32_t)((uint32_t)t2 + (uint32_t)4) + (uint64_t)p.u_offset_counts)], 1);
    }
}
