/* OpenCL C 1.2 and 3.0. Compiled with -cl-fp32-correctly-rounded-divide-sqrt; the text switches contraction off. */
#include "ir/emitter.h"

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

static const kni_dialect_function instructions[] = {
    {"kni_fma_f32", NULL,
     "KNI_INLINE float kni_fma_f32(float a, float b, float c) { return fma(a, b, c); }\n"},
    {"kni_fma_f64", NULL,
     "KNI_INLINE double kni_fma_f64(double a, double b, double c) { return fma(a, b, c); }\n"},
};

static const kni_dialect_atomic atomics[] = {
    {KNI_IR_ADD, KN_I32, "atomic_add(word, value)"},
    {KNI_IR_ADD, KN_U32, "atomic_add(word, value)"},
    {KNI_IR_ADD, KN_I64, "atom_add(word, value)"},
    {KNI_IR_ADD, KN_U64, "atom_add(word, value)"},
    {KNI_IR_MIN, KN_I32, "atomic_min(word, value)"},
    {KNI_IR_MIN, KN_U32, "atomic_min(word, value)"},
    {KNI_IR_MIN, KN_I64, "atom_min(word, value)"},
    {KNI_IR_MIN, KN_U64, "atom_min(word, value)"},
    {KNI_IR_MAX, KN_I32, "atomic_max(word, value)"},
    {KNI_IR_MAX, KN_U32, "atomic_max(word, value)"},
    {KNI_IR_MAX, KN_I64, "atom_max(word, value)"},
    {KNI_IR_MAX, KN_U64, "atom_max(word, value)"},
    {KNI_IR_EXCHANGE, KN_I32, "atomic_xchg(word, value)"},
    {KNI_IR_EXCHANGE, KN_U32, "atomic_xchg(word, value)"},
    {KNI_IR_EXCHANGE, KN_I64, "atom_xchg(word, value)"},
    {KNI_IR_EXCHANGE, KN_U64, "atom_xchg(word, value)"},
    {KNI_IR_EXCHANGE, KN_F32, "atomic_xchg(word, value)"},
};

const kni_dialect kni_dialect_opencl = {
    .name = "OpenCL",
    .ending = "cl",
    .basics = basics_opencl,
    .instructions = instructions,
    .n_instructions = (int)(sizeof instructions / sizeof *instructions),
    .native_vectors = true,
    .wide_memory = true,
    .entry = "__kernel void",
    .space = {"__global ", "__local ", "__private "},
    .array = {"", "__local ", ""},
    .no_alias = "restrict ",
    .aligned = "__attribute__((aligned(%u))) ",
    .params = "p.",
    .barrier = "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);",
    .shuffle = {"sub_group_shuffle_xor(", ", (uint)"},
    .suffix = {"L", "UL"},
    .builtins = {[KNI_IR_ITEM] = {"(int64_t)get_global_id(0)"},
                 [KNI_IR_GROUP] = {"get_group_id(0)", "get_group_id(1)", "get_group_id(2)"},
                 [KNI_IR_GROUPS] = {"get_num_groups(0)", "get_num_groups(1)", "get_num_groups(2)"},
                 [KNI_IR_LOCAL] = {"(int32_t)get_local_id(0)"},
                 [KNI_IR_LANE_ID] = {"(int32_t)get_sub_group_local_id()"}},
    .compare = {"atomic_cmpxchg(word, seen, next)", "atom_cmpxchg(word, seen, next)"},
    .load_word = "*(volatile @const $ *)word",
    .report = "    volatile __global int64_t *cell = fault;\n"
              "    if (cell[0]) return;\n"
              "    cell[1] = value;\n"
              "    cell[0] = 1;\n",
    .wide_atomics = "#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n"
                    "#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable\n",
    .atomics = atomics,
    .n_atomics = (int)(sizeof atomics / sizeof *atomics),
};
