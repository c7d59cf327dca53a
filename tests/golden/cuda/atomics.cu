typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
#define KNI_FUNCTION static __device__
#define KNI_INLINE static __device__ __forceinline__
#define KNI_TABLE static __device__ const
#define KNI_MAKE(type) type
#define KNI_INF_F32 __uint_as_float(0x7f800000u)
#define KNI_NAN_F32 __uint_as_float(0x7fc00000u)
#define KNI_INF_F64 __longlong_as_double(0x7ff0000000000000ll)
#define KNI_NAN_F64 __longlong_as_double(0x7ff8000000000000ll)
#define KNI_SQRT_F32(x) __fsqrt_rn(x)
#define KNI_SQRT_F64(x) __dsqrt_rn(x)
#define KNI_LEADING_ZEROS(x) __clzll((long long)(x))
KNI_INLINE uint32_t kni_bits_f32(float x) { return __float_as_uint(x); }
KNI_INLINE float kni_from_bits_f32(uint32_t u) { return __uint_as_float(u); }
KNI_INLINE uint64_t kni_bits_f64(double x) { return (uint64_t)__double_as_longlong(x); }
KNI_INLINE double kni_from_bits_f64(uint64_t u) { return __longlong_as_double((long long)u); }
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
    return atomicAdd((int *)word, value);
}

KNI_FUNCTION float kni_atomic_add_f32(float *element, float value)
{
    float *word = element;
    return atomicAdd(word, value);
}

KNI_FUNCTION float kni_atomic_max_f32(float *element, float value)
{
    volatile uint32_t *word = (volatile uint32_t *)element;
    uint32_t old = *(volatile const uint32_t *)word, first;
    do {
        uint32_t seen = old, next = kni_bits_f32(kni_word_max_f32(kni_from_bits_f32(seen), value));
        first = seen;
        old = atomicCAS((unsigned int *)word, seen, next);
    } while (old != first);
    return kni_from_bits_f32(old);
}

KNI_FUNCTION double kni_atomic_add_f64(double *element, double value)
{
    double *word = element;
    return atomicAdd(word, value);
}

KNI_FUNCTION double kni_atomic_min_f64(double *element, double value)
{
    volatile uint64_t *word = (volatile uint64_t *)element;
    uint64_t old = *(volatile const uint64_t *)word, first;
    do {
        uint64_t seen = old, next = kni_bits_f64(kni_word_min_f64(kni_from_bits_f64(seen), value));
        first = seen;
        old = atomicCAS((unsigned long long *)word, (unsigned long long)seen, (unsigned long long)next);
    } while (old != first);
    return kni_from_bits_f64(old);
}

KNI_FUNCTION int64_t kni_atomic_add_i64(int64_t *element, int64_t value)
{
    int64_t *word = element;
    return (int64_t)atomicAdd((unsigned long long *)word, (unsigned long long)value);
}

KNI_FUNCTION int64_t kni_atomic_min_i64(int64_t *element, int64_t value)
{
    int64_t *word = element;
    return (int64_t)atomicMin((long long *)word, (long long)value);
}

KNI_FUNCTION uint32_t kni_atomic_compare_u32(uint32_t *element, uint32_t value, uint32_t expected)
{
    volatile uint32_t *word = (volatile uint32_t *)element;
    uint32_t seen = (uint32_t)expected, next = (uint32_t)value;
    uint32_t old = atomicCAS((unsigned int *)word, seen, next);
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

extern "C" __global__ void kn_atomics(const int32_t *__restrict__ u_x, int32_t *__restrict__ u_counts, float *__restrict__ u_sums, double *__restrict__ u_wide, int64_t *__restrict__ u_totals, uint32_t *__restrict__ u_flags, struct kn_atomics_params p)
{
    const int64_t item = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
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
