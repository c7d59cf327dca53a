/* CUDA C++ as NVRTC takes it without any header. Compiled with --fmad=false; division and square roots round correctly
   by default. */
#include "ir/emitter.h"

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

static const kni_dialect_function instructions[] = {
    {"kni_fma_f32", NULL,
     "KNI_INLINE float kni_fma_f32(float a, float b, float c) { return __fmaf_rn(a, b, c); }\n"},
    {"kni_fma_f64", NULL,
     "KNI_INLINE double kni_fma_f64(double a, double b, double c) { return __fma_rn(a, b, c); }\n"},
    {"kni_f16_to_f32", NULL,
     "KNI_INLINE float kni_f16_to_f32(uint16_t x)\n"
     "{\n    float y;\n    asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(y) : \"h\"(x));\n    return y;\n}\n"},
    {"kni_f32_to_f16", NULL,
     "KNI_INLINE uint16_t kni_f32_to_f16(float x)\n"
     "{\n    uint16_t y;\n    asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(y) : \"f\"(x));\n    return y;\n}\n"},
    {"kni_f32_to_bf16", "__CUDA_ARCH__ >= 800",
     "KNI_INLINE uint16_t kni_f32_to_bf16(float x)\n"
     "{\n    uint16_t y;\n    asm(\"cvt.rn.bf16.f32 %0, %1;\" : \"=h\"(y) : \"f\"(x));\n    return y;\n}\n"},
};

static const kni_dialect_function near_functions[] = {
    {"kni_near_exp2_f32", NULL,
     "KNI_INLINE float kni_near_exp2_f32(float x)\n"
     "{\n    float y;\n    asm(\"ex2.approx.ftz.f32 %0, %1;\" : \"=f\"(y) : \"f\"(x));\n    return y;\n}\n"},
    {"kni_near_div_f32", NULL,
     "KNI_INLINE float kni_near_div_f32(float a, float b)\n"
     "{\n    float y;\n    asm(\"div.approx.f32 %0, %1, %2;\" : \"=f\"(y) : \"f\"(a), \"f\"(b));\n    return "
     "y;\n}\n"},
};

#define UNSIGNED64(name) "(int64_t)" name "((unsigned long long *)word, (unsigned long long)value)"
#define UNSIGNED64U(name) "(uint64_t)" name "((unsigned long long *)word, (unsigned long long)value)"
#define SIGNED64(name) "(int64_t)" name "((long long *)word, (long long)value)"
static const kni_dialect_atomic atomics[] = {
    {KNI_IR_ADD, KN_I32, "atomicAdd((int *)word, value)"},
    {KNI_IR_ADD, KN_U32, "atomicAdd((unsigned int *)word, value)"},
    {KNI_IR_ADD, KN_I64, UNSIGNED64("atomicAdd")},
    {KNI_IR_ADD, KN_U64, UNSIGNED64U("atomicAdd")},
    {KNI_IR_ADD, KN_F32, "atomicAdd(word, value)"},
    {KNI_IR_ADD, KN_F64, "atomicAdd(word, value)"},
    {KNI_IR_MIN, KN_I32, "atomicMin((int *)word, value)"},
    {KNI_IR_MIN, KN_U32, "atomicMin((unsigned int *)word, value)"},
    {KNI_IR_MIN, KN_I64, SIGNED64("atomicMin")},
    {KNI_IR_MIN, KN_U64, UNSIGNED64U("atomicMin")},
    {KNI_IR_MAX, KN_I32, "atomicMax((int *)word, value)"},
    {KNI_IR_MAX, KN_U32, "atomicMax((unsigned int *)word, value)"},
    {KNI_IR_MAX, KN_I64, SIGNED64("atomicMax")},
    {KNI_IR_MAX, KN_U64, UNSIGNED64U("atomicMax")},
    {KNI_IR_EXCHANGE, KN_I32, "atomicExch((int *)word, value)"},
    {KNI_IR_EXCHANGE, KN_U32, "atomicExch((unsigned int *)word, value)"},
    {KNI_IR_EXCHANGE, KN_F32, "atomicExch(word, value)"},
    {KNI_IR_EXCHANGE, KN_I64, UNSIGNED64("atomicExch")},
    {KNI_IR_EXCHANGE, KN_U64, UNSIGNED64U("atomicExch")},
};

const kni_dialect kni_dialect_cuda = {
    .name = "CUDA",
    .ending = "cu",
    .basics = basics_cuda,
    .instructions = instructions,
    .n_instructions = (int)(sizeof instructions / sizeof *instructions),
    .near = near_functions,
    .n_near = (int)(sizeof near_functions / sizeof *near_functions),
    .wide_memory = true,
    .entry = "extern \"C\" __global__ void",
    .bound = " __launch_bounds__(%u)",
    .space = {"", "", ""},
    .array = {"", "__shared__ ", ""},
    .no_alias = "__restrict__ ",
    .aligned = "__align__(%u) ",
    .params = "p.",
    .barrier = "__syncthreads();",
    .shuffle = {"__shfl_xor_sync(0xffffffffu, ", ", "},
    .suffix = {"LL", "ULL"},
    .builtins = {[KNI_IR_ITEM] = {"(int64_t)blockIdx.x * blockDim.x + threadIdx.x"},
                 [KNI_IR_GROUP] = {"blockIdx.x", "blockIdx.y", "blockIdx.z"},
                 [KNI_IR_GROUPS] = {"gridDim.x", "gridDim.y", "gridDim.z"},
                 [KNI_IR_LOCAL] = {"(int32_t)threadIdx.x"},
                 [KNI_IR_LANE_ID] = {"(int32_t)threadIdx.x & 31"}},
    .compare = {"atomicCAS((unsigned int *)word, seen, next)",
                "atomicCAS((unsigned long long *)word, (unsigned long long)seen, (unsigned long long)next)"},
    .load_word = "*(volatile const $ *)word",
    .report = "    volatile int64_t *cell = fault;\n"
              "    if (cell[0]) return;\n"
              "    cell[1] = value;\n"
              "    cell[0] = 1;\n",
    .atomics = atomics,
    .n_atomics = (int)(sizeof atomics / sizeof *atomics),
};
