/* C as gcc and clang take it: the entry loops over its items or workgroups. */
#include "ir/emitter.h"

/* The types of both dialects of C, by names that gcc and clang define. */
#define C_TYPES                                                                                              \
    "typedef __INT8_TYPE__ int8_t;\n"                                                                        \
    "typedef __INT16_TYPE__ int16_t;\n"                                                                      \
    "typedef __INT32_TYPE__ int32_t;\n"                                                                      \
    "typedef __INT64_TYPE__ int64_t;\n"                                                                      \
    "typedef __UINT8_TYPE__ uint8_t;\n"                                                                      \
    "typedef __UINT16_TYPE__ uint16_t;\n"                                                                    \
    "typedef __UINT32_TYPE__ uint32_t;\n"                                                                    \
    "typedef __UINT64_TYPE__ uint64_t;\n"

#define C_CONSTANTS                                                                                          \
    "#define KNI_TABLE static const\n"                                                                       \
    "#define KNI_MAKE(type) (type)\n"                                                                        \
    "#define KNI_INF_F32 __builtin_inff()\n"                                                                 \
    "#define KNI_NAN_F32 __builtin_nanf(\"\")\n"                                                             \
    "#define KNI_INF_F64 __builtin_inf()\n"                                                                  \
    "#define KNI_NAN_F64 __builtin_nan(\"\")\n"

static const char basics_c[] = C_TYPES
    "#define KNI_FUNCTION static inline\n"
    "#define KNI_INLINE static inline __attribute__((always_inline))\n" C_CONSTANTS
    "#define KNI_SQRT_F32(x) __builtin_sqrtf(x)\n"
    "#define KNI_SQRT_F64(x) __builtin_sqrt(x)\n"
    "#define KNI_LEADING_ZEROS(x) __builtin_clzll(x)\n"
    "KNI_INLINE uint32_t kni_bits_f32(float x) { uint32_t u; __builtin_memcpy(&u, &x, 4); return u; }\n"
    "KNI_INLINE float kni_from_bits_f32(uint32_t u) { float x; __builtin_memcpy(&x, &u, 4); return x; }\n"
    "KNI_INLINE uint64_t kni_bits_f64(double x) { uint64_t u; __builtin_memcpy(&u, &x, 8); return u; }\n"
    "KNI_INLINE double kni_from_bits_f64(uint64_t u) { double x; __builtin_memcpy(&x, &u, 8); return x; }\n";

/* Roots are instructions where no library function comes with them, and else found bit by bit. */
static const char basics_c99[] = C_TYPES
    "#define KNI_FUNCTION static inline __attribute__((unused))\n"
    "#define KNI_INLINE static inline __attribute__((always_inline, unused))\n" C_CONSTANTS
    "#define KNI_LEADING_ZEROS(x) __builtin_clzll(x)\n"
    "typedef union { float f; uint32_t u; } kni_word_32;\n"
    "typedef union { double f; uint64_t u; } kni_word_64;\n"
    "KNI_INLINE uint32_t kni_bits_f32(float x) { kni_word_32 w; w.f = x; return w.u; }\n"
    "KNI_INLINE float kni_from_bits_f32(uint32_t u) { kni_word_32 w; w.u = u; return w.f; }\n"
    "KNI_INLINE uint64_t kni_bits_f64(double x) { kni_word_64 w; w.f = x; return w.u; }\n"
    "KNI_INLINE double kni_from_bits_f64(uint64_t u) { kni_word_64 w; w.u = u; return w.f; }\n"
    "#if defined(__SSE2__)\n"
    "KNI_INLINE float kni_root_f32(float x) { __asm__(\"sqrtss %0, %0\" : \"+x\"(x)); return x; }\n"
    "KNI_INLINE double kni_root_f64(double x) { __asm__(\"sqrtsd %0, %0\" : \"+x\"(x)); return x; }\n"
    "#elif defined(__aarch64__)\n"
    "KNI_INLINE float kni_root_f32(float x) { __asm__(\"fsqrt %s0, %s0\" : \"+w\"(x)); return x; }\n"
    "KNI_INLINE double kni_root_f64(double x) { __asm__(\"fsqrt %d0, %d0\" : \"+w\"(x)); return x; }\n"
    "#else\n"
    "KNI_FUNCTION double kni_root_f64(double x)\n"
    "{\n"
    "    uint64_t rest = kni_bits_f64(x), root = 0, twice = 0, bit;\n"
    "    int64_t e = (int64_t)(rest >> 52) - 1023;\n"
    "    if (x == 0 || e == 1024 || x != x) return x;\n"
    "    if (x < 0) return KNI_NAN_F64;\n"
    "    rest &= 0xfffffffffffffULL;\n"
    "    if (e == -1023)\n"
    "        for (e = -1022; !(rest >> 52); e--) rest <<= 1;\n"
    "    else\n"
    "        rest |= 1ULL << 52;\n"
    "    rest <<= 1 + (e & 1);\n"
    "    for (bit = 1ULL << 53; bit; bit >>= 1) {\n"
    "        uint64_t next = twice + bit;\n"
    "        if (next <= rest) {\n"
    "            twice = next + bit;\n"
    "            rest -= next;\n"
    "            root += bit;\n"
    "        }\n"
    "        rest <<= 1;\n"
    "    }\n"
    "    if (rest) root += root & 1;\n"
    "    e = (e - (e & 1)) / 2;\n"
    "    return kni_from_bits_f64((root >> 1) + ((uint64_t)(1022 + e) << 52));\n"
    "}\n"
    "#if defined(__ARM_FP) && (__ARM_FP & 4)\n"
    "KNI_INLINE float kni_root_f32(float x) { __asm__(\"vsqrt.f32 %0, %0\" : \"+t\"(x)); return x; }\n"
    "#else\n"
    "KNI_FUNCTION float kni_root_f32(float x) { return (float)kni_root_f64(x); }\n"
    "#endif\n"
    "#endif\n"
    "#define KNI_SQRT_F32(x) kni_root_f32(x)\n"
    "#define KNI_SQRT_F64(x) kni_root_f64(x)\n";

static const kni_dialect_function instructions[] = {
    {"kni_fma_f32", "defined(__FMA__) || defined(__aarch64__)",
     "KNI_INLINE float kni_fma_f32(float a, float b, float c) { return __builtin_fmaf(a, b, c); }\n"},
    {"kni_fma_f64", "defined(__FMA__) || defined(__aarch64__)",
     "KNI_INLINE double kni_fma_f64(double a, double b, double c) { return __builtin_fma(a, b, c); }\n"},
};

/* For the host, compiled with -ffp-contract=off -fwrapv. */
static const kni_dialect_atomic atomics[] = {
    {KNI_IR_ADD, KN_I32, "__atomic_fetch_add(word, value, __ATOMIC_RELAXED)"},
    {KNI_IR_ADD, KN_U32, "__atomic_fetch_add(word, value, __ATOMIC_RELAXED)"},
    {KNI_IR_ADD, KN_I64, "__atomic_fetch_add(word, value, __ATOMIC_RELAXED)"},
    {KNI_IR_ADD, KN_U64, "__atomic_fetch_add(word, value, __ATOMIC_RELAXED)"},
    {KNI_IR_EXCHANGE, KN_I32, "__atomic_exchange_n(word, value, __ATOMIC_RELAXED)"},
    {KNI_IR_EXCHANGE, KN_U32, "__atomic_exchange_n(word, value, __ATOMIC_RELAXED)"},
    {KNI_IR_EXCHANGE, KN_I64, "__atomic_exchange_n(word, value, __ATOMIC_RELAXED)"},
    {KNI_IR_EXCHANGE, KN_U64, "__atomic_exchange_n(word, value, __ATOMIC_RELAXED)"},
};

const kni_dialect kni_dialect_c = {
    .name = "C",
    .ending = "c",
    .basics = basics_c,
    .instructions = instructions,
    .n_instructions = (int)(sizeof instructions / sizeof *instructions),
    .serial = true,
    .wraps = true,
    .entry = "void",
    .space = {"", "", ""},
    .array = {"", "", ""},
    .no_alias = "restrict ",
    .params = "p.",
    .apart = "#pragma GCC ivdep\n",
    .suffix = {"LL", "ULL"},
    .compare =
        {"(__atomic_compare_exchange_n(word, &seen, next, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED), seen)",
         "(__atomic_compare_exchange_n(word, &seen, next, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED), seen)"},
    .load_word = "__atomic_load_n(word, __ATOMIC_RELAXED)",
    .report = "    if (__atomic_load_n(&fault[0], __ATOMIC_RELAXED)) return;\n"
              "    __atomic_store_n(&fault[1], value, __ATOMIC_RELAXED);\n"
              "    __atomic_store_n(&fault[0], (int64_t)1, __ATOMIC_RELAXED);\n",
    .atomics = atomics,
    .n_atomics = (int)(sizeof atomics / sizeof *atomics),
};

/* C99 for a file of its own, which a stranger compiles: no option is needed, no atomics are there. */
const kni_dialect kni_dialect_c99 = {
    .name = "C99",
    .ending = "c",
    .basics = basics_c99,
    .serial = true,
    .entry = "static void",
    .space = {"", "", ""},
    .array = {"", "", ""},
    .no_alias = "restrict ",
    .params = "p.",
    .suffix = {"LL", "ULL"},
    .report = "    if (fault[0]) return;\n"
              "    fault[0] = 1;\n"
              "    fault[1] = value;\n",
};
