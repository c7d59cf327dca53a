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
    return __atomic_fetch_add(word, value, __ATOMIC_RELAXED);
}

KNI_FUNCTION float kni_atomic_add_f32(float *element, float value)
{
    volatile uint32_t *word = (volatile uint32_t *)element;
    uint32_t old = __atomic_load_n(word, __ATOMIC_RELAXED), first;
    do {
        uint32_t seen = old, next = kni_bits_f32(kni_word_add_f32(kni_from_bits_f32(seen), value));
        first = seen;
        old = (__atomic_compare_exchange_n(word, &seen, next, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED), seen);
    } while (old != first);
    return kni_from_bits_f32(old);
}

KNI_FUNCTION float kni_atomic_max_f32(float *element, float value)
{
    volatile uint32_t *word = (volatile uint32_t *)element;
    uint32_t old = __atomic_load_n(word, __ATOMIC_RELAXED), first;
    do {
        uint32_t seen = old, next = kni_bits_f32(kni_word_max_f32(kni_from_bits_f32(seen), value));
        first = seen;
        old = (__atomic_compare_exchange_n(word, &seen, next, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED), seen);
    } while (old != first);
    return kni_from_bits_f32(old);
}

KNI_FUNCTION double kni_atomic_add_f64(double *element, double value)
{
    volatile uint64_t *word = (volatile uint64_t *)element;
    uint64_t old = __atomic_load_n(word, __ATOMIC_RELAXED), first;
    do {
        uint64_t seen = old, next = kni_bits_f64(kni_word_add_f64(kni_from_bits_f64(seen), value));
        first = seen;
        old = (__atomic_compare_exchange_n(word, &seen, next, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED), seen);
    } while (old != first);
    return kni_from_bits_f64(old);
}

KNI_FUNCTION double kni_atomic_min_f64(double *element, double value)
{
    volatile uint64_t *word = (volatile uint64_t *)element;
    uint64_t old = __atomic_load_n(word, __ATOMIC_RELAXED), first;
    do {
        uint64_t seen = old, next = kni_bits_f64(kni_word_min_f64(kni_from_bits_f64(seen), value));
        first = seen;
        old = (__atomic_compare_exchange_n(word, &seen, next, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED), seen);
    } while (old != first);
    return kni_from_bits_f64(old);
}

KNI_FUNCTION int64_t kni_atomic_add_i64(int64_t *element, int64_t value)
{
    int64_t *word = element;
    return __atomic_fetch_add(word, value, __ATOMIC_RELAXED);
}

KNI_FUNCTION int64_t kni_atomic_min_i64(int64_t *element, int64_t value)
{
    volatile uint64_t *word = (volatile uint64_t *)element;
    uint64_t old = __atomic_load_n(word, __ATOMIC_RELAXED), first;
    do {
        uint64_t seen = old, next = (uint64_t)kni_word_min_i64((int64_t)seen, value);
        first = seen;
        old = (__atomic_compare_exchange_n(word, &seen, next, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED), seen);
    } while (old != first);
    return (int64_t)old;
}

KNI_FUNCTION uint32_t kni_atomic_compare_u32(uint32_t *element, uint32_t value, uint32_t expected)
{
    volatile uint32_t *word = (volatile uint32_t *)element;
    uint32_t seen = (uint32_t)expected, next = (uint32_t)value;
    uint32_t old = (__atomic_compare_exchange_n(word, &seen, next, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED), seen);
    return (uint32_t)old;
}

struct atomics_params {
    int64_t items;
    int64_t offset_x;
    int64_t offset_counts;
    int64_t offset_sums;
    int64_t offset_wide;
    int64_t offset_totals;
    int64_t offset_flags;
};

void atomics(void *const *buffers, int64_t *fault, const void *params, int64_t begin, int64_t end)
{
    const int32_t *restrict x = buffers[0];
    int32_t *restrict counts = buffers[1];
    float *restrict sums = buffers[2];
    double *restrict wide = buffers[3];
    int64_t *restrict totals = buffers[4];
    uint32_t *restrict flags = buffers[5];
    const struct atomics_params p = *(const struct atomics_params *)params;
    (void)fault;
    for (int64_t item = begin; item < end; item++) {
        const int32_t t1 = x[item + p.offset_x];
        const int32_t t2 = t1 & 3;
        kni_atomic_add_i32(&counts[(int64_t)t2 + p.offset_counts], 1);
        kni_atomic_add_f32(&sums[(int64_t)t2 + p.offset_sums], (float)t1);
        kni_atomic_max_f32(&sums[(int64_t)(t2 + 4) + p.offset_sums], (float)t1);
        kni_atomic_add_f64(&wide[(int64_t)t2 + p.offset_wide], (double)t1);
        kni_atomic_min_f64(&wide[(int64_t)(t2 + 4) + p.offset_wide], (double)t1);
        kni_atomic_add_i64(&totals[(int64_t)t2 + p.offset_totals], (int64_t)t1);
        kni_atomic_min_i64(&totals[(int64_t)(t2 + 4) + p.offset_totals], (int64_t)t1);
        const uint32_t t3 = kni_atomic_compare_u32(&flags[(int64_t)t2 + p.offset_flags], 7u, 0u);
        if (t3 == 0u) {
            kni_atomic_add_i32(&counts[(int64_t)(t2 + 4) + p.offset_counts], 1);
        }
    }
}
