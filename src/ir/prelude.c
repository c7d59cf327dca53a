/* Prints what emitted kernels call: the dialect's basics, then the items of ir/generated/math_text.c that are asked for
   with all they need. The items are the same text in every dialect; what differs is said here. */
#include "ir/prelude.h"
#include "core/error.h"
#include "ir/prelude_table.h"
#include <string.h>

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

static const char basics_cuda[] =
    "typedef signed char int8_t;\n"
    "typedef short int16_t;\n"
    "typedef int int32_t;\n"
    "typedef long long int64_t;\n"
    "typedef unsigned char uint8_t;\n"
    "typedef unsigned short uint16_t;\n"
    "typedef unsigned int uint32_t;\n"
    "typedef unsigned long long uint64_t;\n"
    "#define KNI_FUNCTION static __device__\n"
    "#define KNI_INLINE static __device__ __forceinline__\n"
    "#define KNI_TABLE static __device__ const\n"
    "#define KNI_MAKE(type) type\n"
    "#define KNI_INF_F32 __uint_as_float(0x7f800000u)\n"
    "#define KNI_NAN_F32 __uint_as_float(0x7fc00000u)\n"
    "#define KNI_INF_F64 __longlong_as_double(0x7ff0000000000000ll)\n"
    "#define KNI_NAN_F64 __longlong_as_double(0x7ff8000000000000ll)\n"
    "#define KNI_SQRT_F32(x) __fsqrt_rn(x)\n"
    "#define KNI_SQRT_F64(x) __dsqrt_rn(x)\n"
    "#define KNI_LEADING_ZEROS(x) __clzll((long long)(x))\n"
    "KNI_INLINE uint32_t kni_bits_f32(float x) { return __float_as_uint(x); }\n"
    "KNI_INLINE float kni_from_bits_f32(uint32_t u) { return __uint_as_float(u); }\n"
    "KNI_INLINE uint64_t kni_bits_f64(double x) { return (uint64_t)__double_as_longlong(x); }\n"
    "KNI_INLINE double kni_from_bits_f64(uint64_t u) { return __longlong_as_double((long long)u); }\n";

static const char basics_opencl[] =
    "#pragma OPENCL FP_CONTRACT OFF\n"
    "typedef char int8_t;\n"
    "typedef short int16_t;\n"
    "typedef int int32_t;\n"
    "typedef long int64_t;\n"
    "typedef uchar uint8_t;\n"
    "typedef ushort uint16_t;\n"
    "typedef uint uint32_t;\n"
    "typedef ulong uint64_t;\n"
    "#define KNI_FUNCTION static\n"
    "#define KNI_INLINE static inline\n"
    "#define KNI_TABLE __constant\n"
    "#define KNI_MAKE(type) (type)\n"
    "#define KNI_INF_F32 as_float(0x7f800000u)\n"
    "#define KNI_NAN_F32 as_float(0x7fc00000u)\n"
    "#define KNI_SQRT_F32(x) sqrt(x)\n"
    "#define KNI_LEADING_ZEROS(x) ((int)clz(x))\n"
    "KNI_INLINE uint32_t kni_bits_f32(float x) { return as_uint(x); }\n"
    "KNI_INLINE float kni_from_bits_f32(uint32_t u) { return as_float(u); }\n"
    "#if defined(cl_khr_fp64) || defined(__opencl_c_fp64)\n"
    "#ifdef cl_khr_fp64\n"
    "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
    "#endif\n"
    "#define KNI_INF_F64 as_double(0x7ff0000000000000ul)\n"
    "#define KNI_NAN_F64 as_double(0x7ff8000000000000ul)\n"
    "#define KNI_SQRT_F64(x) sqrt(x)\n"
    "KNI_INLINE uint64_t kni_bits_f64(double x) { return as_ulong(x); }\n"
    "KNI_INLINE double kni_from_bits_f64(uint64_t u) { return as_double(u); }\n"
    "#endif\n";

static const char *const basics[KNI_IR_DIALECTS] = {[KNI_IR_C] = basics_c,
                                                    [KNI_IR_CUDA] = basics_cuda,
                                                    [KNI_IR_OPENCL] = basics_opencl,
                                                    [KNI_IR_C99] = basics_c99};

/* Functions that a target has an instruction for, with the same results but for the bits of a NaN: the text that
   takes the place of the item's where the condition holds, or always where there is none. */
static const struct {
    int dialect;
    const char *name, *condition, *text;
} instructions[] = {
    {KNI_IR_C, "kni_fma_f32", "defined(__FMA__) || defined(__aarch64__)",
     "KNI_INLINE float kni_fma_f32(float a, float b, float c) { return __builtin_fmaf(a, b, c); }\n"},
    {KNI_IR_C, "kni_fma_f64", "defined(__FMA__) || defined(__aarch64__)",
     "KNI_INLINE double kni_fma_f64(double a, double b, double c) { return __builtin_fma(a, b, c); }\n"},
    {KNI_IR_OPENCL, "kni_fma_f32", NULL,
     "KNI_INLINE float kni_fma_f32(float a, float b, float c) { return fma(a, b, c); }\n"},
    {KNI_IR_OPENCL, "kni_fma_f64", NULL,
     "KNI_INLINE double kni_fma_f64(double a, double b, double c) { return fma(a, b, c); }\n"},
    {KNI_IR_CUDA, "kni_fma_f32", NULL,
     "KNI_INLINE float kni_fma_f32(float a, float b, float c) { return __fmaf_rn(a, b, c); }\n"},
    {KNI_IR_CUDA, "kni_fma_f64", NULL,
     "KNI_INLINE double kni_fma_f64(double a, double b, double c) { return __fma_rn(a, b, c); }\n"},
    {KNI_IR_CUDA, "kni_f16_to_f32", NULL,
     "KNI_INLINE float kni_f16_to_f32(uint16_t x)\n"
     "{\n    float y;\n    asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(y) : \"h\"(x));\n    return y;\n}\n"},
    {KNI_IR_CUDA, "kni_f32_to_f16", NULL,
     "KNI_INLINE uint16_t kni_f32_to_f16(float x)\n"
     "{\n    uint16_t y;\n    asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(y) : \"f\"(x));\n    return y;\n}\n"},
    {KNI_IR_CUDA, "kni_f32_to_bf16", "__CUDA_ARCH__ >= 800",
     "KNI_INLINE uint16_t kni_f32_to_bf16(float x)\n"
     "{\n    uint16_t y;\n    asm(\"cvt.rn.bf16.f32 %0, %1;\" : \"=h\"(y) : \"f\"(x));\n    return y;\n}\n"},
};

/* What a target computes near a word in one instruction or two: within 2^-22 of it. They are no items. */
static const struct {
    int dialect;
    const char *name, *text;
} near_functions[] = {
    {KNI_IR_CUDA, "kni_near_exp2_f32",
     "KNI_INLINE float kni_near_exp2_f32(float x)\n"
     "{\n    float y;\n    asm(\"ex2.approx.ftz.f32 %0, %1;\" : \"=f\"(y) : \"f\"(x));\n    return y;\n}\n"},
    {KNI_IR_CUDA, "kni_near_div_f32",
     "KNI_INLINE float kni_near_div_f32(float a, float b)\n"
     "{\n    float y;\n    asm(\"div.approx.f32 %0, %1, %2;\" : \"=f\"(y) : \"f\"(a), \"f\"(b));\n    return "
     "y;\n}\n"},
};

static int find_near(int dialect, const char *name)
{
    for (int i = 0; i < KNI_COUNT(near_functions); i++)
        if (near_functions[i].dialect == dialect && !strcmp(near_functions[i].name, name)) return i;
    return -1;
}

bool kni_ir_prelude_near(const char *function, int dialect) { return find_near(dialect, function) >= 0; }

/* The instruction for an item, -1 where there is none. */
static int find_instruction(int dialect, const char *name)
{
    for (int i = 0; i < (int)(sizeof instructions / sizeof *instructions); i++)
        if (instructions[i].dialect == dialect && !strcmp(instructions[i].name, name)) return i;
    return -1;
}

int kni_ir_item_find(const char *name)
{
    int low = 0, high = kni_ir_item_count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        int order = strcmp(name, kni_ir_items[kni_ir_items_by_name[middle]].name);
        if (order == 0) return kni_ir_items_by_name[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return -1;
}

/* The basics hold the bit casts, which are no items. */
static bool is_basic(const char *name)
{
    static const char *const casts[] = {"kni_bits_f32", "kni_from_bits_f32", "kni_bits_f64",
                                        "kni_from_bits_f64"};
    for (size_t i = 0; i < sizeof casts / sizeof *casts; i++)
        if (!strcmp(name, casts[i])) return true;
    return false;
}

/* Marks what the marked items need; needs stand before their items, so one walk down sees all. */
static void mark_needs(bool *wanted, int dialect)
{
    for (int i = kni_ir_item_count - 1; i >= 0; i--) {
        const kni_ir_item *item = &kni_ir_items[i];
        int instruction = wanted[i] ? find_instruction(dialect, item->name) : -1;
        if (!wanted[i] || (instruction >= 0 && !instructions[instruction].condition)) continue;
        for (int k = 0; k < item->n_needs; k++) wanted[kni_ir_item_needs[item->first_need + k]] = true;
    }
}

static void print_item(kni_ir_text *text, int dialect, const kni_ir_item *item)
{
    int i = find_instruction(dialect, item->name);
    if (i < 0)
        kni_ir_text_add(text, "%s", item->text);
    else if (!instructions[i].condition)
        kni_ir_text_add(text, "%s", instructions[i].text);
    else
        kni_ir_text_add(text, "#if %s\n%s#else\n%s#endif\n", instructions[i].condition, instructions[i].text,
                        item->text);
}

kn_status kni_ir_prelude(kni_ir_text *text, int dialect, const char *const *functions, int n)
{
    bool wanted[KNI_IR_MAX_ITEMS] = {false}, near[KNI_COUNT(near_functions)] = {false};
    if (dialect < 0 || dialect >= KNI_IR_DIALECTS)
        return kni_fail(KN_ERROR_ARGUMENT, "there is no dialect %d of the kernel language", dialect);
    for (int i = 0; i < n; i++) {
        int item = kni_ir_item_find(functions[i]), other = find_near(dialect, functions[i]);
        if (other >= 0) near[other] = true;
        if (item < 0 && other < 0 && !is_basic(functions[i]))
            return kni_fail(KN_ERROR_ARGUMENT, "kernels know no function %s", functions[i]);
        if (item >= 0) wanted[item] = true;
    }
    mark_needs(wanted, dialect);
    kni_ir_text_add(text, "%s", basics[dialect]);
    for (int i = 0; i < KNI_COUNT(near_functions); i++)
        if (near[i]) kni_ir_text_add(text, "%s", near_functions[i].text);
    for (int i = 0; i < kni_ir_item_count; i++)
        if (wanted[i]) print_item(text, dialect, &kni_ir_items[i]);
    return text->failed ? kni_fail(KN_ERROR_MEMORY, "no memory for the text of a kernel") : KN_OK;
}

bool kni_ir_prelude_has(const char *function)
{
    return is_basic(function) || kni_ir_item_find(function) >= 0;
}

bool kni_ir_prelude_uses_f64(const char *function, int dialect)
{
    bool wanted[KNI_IR_MAX_ITEMS] = {false};
    int item = kni_ir_item_find(function);
    if (item < 0) return is_basic(function) && strstr(function, "f64") != NULL;
    wanted[item] = true;
    mark_needs(wanted, dialect);
    for (int i = 0; i < kni_ir_item_count; i++) {
        const char *name = kni_ir_items[i].name;
        int instruction = wanted[i] ? find_instruction(dialect, name) : -1;
        bool replaced = instruction >= 0 && !instructions[instruction].condition;
        if (wanted[i] && (replaced ? strstr(name, "f64") != NULL : kni_ir_items[i].f64)) return true;
    }
    return false;
}
