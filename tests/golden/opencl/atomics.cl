#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
#pragma OPENCL FP_CONTRACT OFF
typedef char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef uchar uint8_t;
typedef ushort uint16_t;
typedef uint uint32_t;
typedef ulong uint64_t;
#define KNI_FUNCTION static
#define KNI_INLINE static inline
#define KNI_TABLE __constant
#define KNI_MAKE(type) (type)
#define KNI_INF_F32 as_float(0x7f800000u)
#define KNI_NAN_F32 as_float(0x7fc00000u)
#define KNI_SQRT_F32(x) sqrt(x)
#define KNI_LEADING_ZEROS(x) ((int)clz(x))
KNI_INLINE uint32_t kni_bits_f32(float x) { return as_uint(x); }
KNI_INLINE float kni_from_bits_f32(uint32_t u) { return as_float(u); }
#if defined(cl_khr_fp64) || defined(__opencl_c_fp64)
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#define KNI_INF_F64 as_double(0x7ff0000000000000ul)
#define KNI_NAN_F64 as_double(0x7ff8000000000000ul)
#define KNI_SQRT_F64(x) sqrt(x)
KNI_INLINE uint64_t kni_bits_f64(double x) { return as_ulong(x); }
KNI_INLINE double kni_from_bits_f64(uint64_t u) { return as_double(u); }
#endif
KNI_FUNCTION float kni_larger_f32(float a, float b) { float m = a > b ? a : b; return a != a ? a : m; }
KNI_FUNCTION double kni_smaller_f64(double a, double b) { double m = a < b ? a : b; return a != a ? a : m; }
KNI_INLINE float kni_word_add_f32(float a, float b) { return (float)(a + b); }
KNI_INLINE float kni_word_max_f32(float a, float b) { return (float)(kni_larger_f32(a, b)); }
KNI_INLINE double kni_word_add_f64(double a, double b) { return (double)(a + b); }
KNI_INLINE double kni_word_min_f64(double a, double b) { return (double)(kni_smaller_f64(a, b)); }
KNI_INLINE int32_t kni_word_add_i32(int32_t a, int32_t b) { return (int32_t)(((uint32_t)(a) + (uint32_t)(b))); }
KNI_INLINE int64_t kni_word_add_i64(int64_t a, int64_t b) { return (int64_t)(((uint64_t)(a) + (uint64_t)(b))); }
KNI_INLINE int64_t kni_word_min_i64(int64_t a, int64_t b) { return (int64_t)(a < b ? a : b); }

KNI_FUNCTION int32_t kni_atomic_add_i32_global(__global int32_t *element, int32_t value)
{
    __global int32_t *word = element;
    return atomic_add(word, value);
}

KNI_FUNCTION float kni_atomic_add_f32_global(__global float *element, float value)
{
    volatile __global uint32_t *word = (volatile __global uint32_t *)element;
    uint32_t old = *(volatile __global const uint32_t *)word, first;
    do {
        uint32_t seen = old, next = kni_bits_f32(kni_word_add_f32(kni_from_bits_f32(seen), value));
        first = seen;
        old = atomic_cmpxchg(word, seen, next);
    } while (old != first);
    return kni_from_bits_f32(old);
}

KNI_FUNCTION float kni_atomic_max_f32_global(__global float *element, float value)
{
    volatile __global uint32_t *word = (volatile __global uint32_t *)element;
    uint32_t old = *(volatile __global const uint32_t *)word, first;
    do {
        uint32_t seen = old, next = kni_bits_f32(kni_word_max_f32(kni_from_bits_f32(seen), value));
        first = seen;
        old = atomic_cmpxchg(word, seen, next);
    } while (old != first);
    return kni_from_bits_f32(old);
}

KNI_FUNCTION double kni_atomic_add_f64_global(__global double *element, double value)
{
    volatile __global uint64_t *word = (volatile __global uint64_t *)element;
    uint64_t old = *(volatile __global const uint64_t *)word, first;
    do {
        uint64_t seen = old, next = kni_bits_f64(kni_word_add_f64(kni_from_bits_f64(seen), value));
        first = seen;
        old = atom_cmpxchg(word, seen, next);
    } while (old != first);
    return kni_from_bits_f64(old);
}

KNI_FUNCTION double kni_atomic_min_f64_global(__global double *element, double value)
{
    volatile __global uint64_t *word = (volatile __global uint64_t *)element;
    uint64_t old = *(volatile __global const uint64_t *)word, first;
    do {
        uint64_t seen = old, next = kni_bits_f64(kni_word_min_f64(kni_from_bits_f64(seen), value));
        first = seen;
        old = atom_cmpxchg(word, seen, next);
    } while (old != first);
    return kni_from_bits_f64(old);
}

KNI_FUNCTION int64_t kni_atomic_add_i64_global(__global int64_t *element, int64_t value)
{
    __global int64_t *word = element;
    return atom_add(word, value);
}

KNI_FUNCTION int64_t kni_atomic_min_i64_global(__global int64_t *element, int64_t value)
{
    __global int64_t *word = element;
    return atom_min(word, value);
}

KNI_FUNCTION uint32_t kni_atomic_compare_u32_global(__global uint32_t *element, uint32_t value, uint32_t expected)
{
    volatile __global uint32_t *word = (volatile __global uint32_t *)element;
    uint32_t seen = (uint32_t)expected, next = (uint32_t)value;
    uint32_t old = atomic_cmpxchg(word, seen, next);
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

__kernel void kn_atomics(__global const int32_t *restrict u_x, __global int32_t *restrict u_counts, __global float *restrict u_sums, __global double *restrict u_wide, __global int64_t *restrict u_totals, __global uint32_t *restrict u_flags, struct kn_atomics_params p)
{
    const int64_t item = (int64_t)get_global_id(0);
    if (item >= p.u_items) return;
    const int32_t t1 = u_x[item + p.u_offset_x];
    const int32_t t2 = t1 & 3;
    kni_atomic_add_i32_global(&u_counts[(int64_t)((uint64_t)(int64_t)t2 + (uint64_t)p.u_offset_counts)], 1);
    kni_atomic_add_f32_global(&u_sums[(int64_t)((uint64_t)(int64_t)t2 + (uint64_t)p.u_offset_sums)], (float)t1);
    kni_atomic_max_f32_global(&u_sums[(int64_t)((uint64_t)(int64_t)(int32_t)((uint32_t)t2 + (uint32_t)4) + (uint64_t)p.u_offset_sums)], (float)t1);
    kni_atomic_add_f64_global(&u_wide[(int64_t)((uint64_t)(int64_t)t2 + (uint64_t)p.u_offset_wide)], (double)t1);
    kni_atomic_min_f64_global(&u_wide[(int64_t)((uint64_t)(int64_t)(int32_t)((uint32_t)t2 + (uint32_t)4) + (uint64_t)p.u_offset_wide)], (double)t1);
    kni_atomic_add_i64_global(&u_totals[(int64_t)((uint64_t)(int64_t)t2 + (uint64_t)p.u_offset_totals)], (int64_t)t1);
    kni_atomic_min_i64_global(&u_totals[(int64_t)((uint64_t)(int64_t)(int32_t)((uint32_t)t2 + (uint32_t)4) + (uint64_t)p.u_offset_totals)], (int64_t)t1);
    const uint32_t t3 = kni_atomic_compare_u32_global(&u_flags[(int64_t)((uint64_t)(int64_t)t2 + (uint64_t)p.u_offset_flags)], 7u, 0u);
    if (t3 == 0u) {
        kni_atomic_add_i32_global(&u_counts[(int64_t)((uint64_t)(int64_t)(int32_t)((uint32_t)t2 + (uint32_t)4) + (uint64_t)p.u_offset_counts)], 1);
    }
}
