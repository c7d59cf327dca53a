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

KNI_FUNCTION void kni_report(int64_t *fault, int64_t value)
{
    if (__atomic_load_n(&fault[0], __ATOMIC_RELAXED)) return;
    __atomic_store_n(&fault[1], value, __ATOMIC_RELAXED);
    __atomic_store_n(&fault[0], (int64_t)1, __ATOMIC_RELAXED);
}

struct faults_params {
    int64_t items;
    int64_t offset_kernel;
    int64_t offset_float4;
    int64_t offset_t1;
    int64_t int_;
};

void faults(void *const *buffers, int64_t *fault, const void *params, int64_t begin, int64_t end)
{
    const int64_t *restrict kernel = buffers[0];
    const float *restrict float4 = buffers[1];
    float *t1_ = buffers[2];
    const struct faults_params p = *(const struct faults_params *)params;
    for (int64_t item = begin; item < end; item++) {
        const int64_t t1 = kernel[item + p.offset_kernel];
        if (t1 >= 0 && t1 < p.int_) {
            t1_[item + p.offset_t1] = float4[t1 + p.offset_float4];
        } else {
            kni_report(fault, t1);
        }
    }
}
