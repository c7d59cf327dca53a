/* HIP as AMD's compiler takes it: attributes and builtins of clang, without any header, so that hiprtc and a plain clang read the same
   text. Compiled with -ffp-contract=off; division rounds correctly by default, roots by AMD's device library. A wave has 32 or 64 lanes:
   caps->subgroup says which the text is for. */
#include "core/platform.h"
#include "ir/emitter.h"

/* Versions of hiprtc define int64_t before the text, as long or as long long, which overloads tell apart: it is a name of ours.
   What one lane gives another goes in pieces of 32 bits. */
static const char basics_hip[] =
    "typedef signed char int8_t;\n"
    "typedef short int16_t;\n"
    "typedef int int32_t;\n"
    "typedef unsigned char uint8_t;\n"
    "typedef unsigned short uint16_t;\n"
    "typedef unsigned int uint32_t;\n"
    "typedef long long kni_i64;\n"
    "typedef unsigned long long kni_u64;\n"
    "#define int64_t kni_i64\n"
    "#define uint64_t kni_u64\n"
    "#define KNI_FUNCTION static __attribute__((device))\n"
    "#define KNI_INLINE static inline __attribute__((device, always_inline))\n"
    "#define KNI_TABLE static __attribute__((constant)) const\n"
    "#define KNI_MAKE(type) type\n"
    "#define KNI_INF_F32 __builtin_inff()\n"
    "#define KNI_NAN_F32 __builtin_nanf(\"\")\n"
    "#define KNI_INF_F64 __builtin_inf()\n"
    "#define KNI_NAN_F64 __builtin_nan(\"\")\n"
    "#define KNI_SQRT_F32(x) __ocml_sqrt_f32(x)\n"
    "#define KNI_SQRT_F64(x) __ocml_sqrt_f64(x)\n"
    "#define KNI_LEADING_ZEROS(x) __builtin_clzll(x)\n"
    "extern \"C\" __attribute__((device, const)) float __ocml_sqrt_f32(float);\n"
    "extern \"C\" __attribute__((device, const)) double __ocml_sqrt_f64(double);\n"
    "KNI_INLINE uint32_t kni_bits_f32(float x) { return __builtin_bit_cast(uint32_t, x); }\n"
    "KNI_INLINE float kni_from_bits_f32(uint32_t u) { return __builtin_bit_cast(float, u); }\n"
    "KNI_INLINE uint64_t kni_bits_f64(double x) { return __builtin_bit_cast(uint64_t, x); }\n"
    "KNI_INLINE double kni_from_bits_f64(uint64_t u) { return __builtin_bit_cast(double, u); }\n"
    "KNI_INLINE int32_t kni_lane(void)\n"
    "{\n"
    "    return (int32_t)__builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));\n"
    "}\n"
    "KNI_INLINE int32_t kni_shuffle(int32_t x, int32_t far)\n"
    "{\n"
    "    return __builtin_amdgcn_ds_bpermute((kni_lane() ^ far) << 2, x);\n"
    "}\n"
    "KNI_INLINE uint32_t kni_shuffle(uint32_t x, int32_t far) { return (uint32_t)kni_shuffle((int32_t)x, "
    "far); }\n"
    "KNI_INLINE float kni_shuffle(float x, int32_t far)\n"
    "{\n"
    "    return kni_from_bits_f32(kni_shuffle(kni_bits_f32(x), far));\n"
    "}\n"
    "KNI_INLINE uint64_t kni_shuffle(uint64_t x, int32_t far)\n"
    "{\n"
    "    return kni_shuffle((uint32_t)x, far) | (uint64_t)kni_shuffle((uint32_t)(x >> 32), far) << 32;\n"
    "}\n"
    "KNI_INLINE int64_t kni_shuffle(int64_t x, int32_t far) { return (int64_t)kni_shuffle((uint64_t)x, far); "
    "}\n"
    "KNI_INLINE double kni_shuffle(double x, int32_t far)\n"
    "{\n"
    "    return kni_from_bits_f64(kni_shuffle(kni_bits_f64(x), far));\n"
    "}\n"
    "KNI_INLINE void kni_barrier(void)\n"
    "{\n"
    "    __builtin_amdgcn_fence(__ATOMIC_RELEASE, \"workgroup\");\n"
    "    __builtin_amdgcn_s_barrier();\n"
    "    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, \"workgroup\");\n"
    "}\n";

static const kni_dialect_function instructions[] = {
    {"kni_fma_f32", NULL,
     "KNI_INLINE float kni_fma_f32(float a, float b, float c) { return __builtin_fmaf(a, b, c); }\n"},
    {"kni_fma_f64", NULL,
     "KNI_INLINE double kni_fma_f64(double a, double b, double c) { return __builtin_fma(a, b, c); }\n"},
    {"kni_f16_to_f32", NULL,
     "KNI_INLINE float kni_f16_to_f32(uint16_t x) { return (float)__builtin_bit_cast(_Float16, x); }\n"},
    {"kni_f32_to_f16", NULL,
     "KNI_INLINE uint16_t kni_f32_to_f16(float x) { return __builtin_bit_cast(uint16_t, (_Float16)x); }\n"},
};

static const kni_dialect_function near_functions[] = {
    {"kni_near_exp2_f32", NULL,
     "KNI_INLINE float kni_near_exp2_f32(float x) { return __builtin_exp2f(x); }\n"},
    {"kni_near_div_f32", NULL,
     "KNI_INLINE float kni_near_div_f32(float a, float b) { return a * __builtin_amdgcn_rcpf(b); }\n"},
};

#define FETCH(word) "__hip_atomic_fetch_" word "(word, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)"
#define EXCHANGE "__hip_atomic_exchange(word, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)"
#define COMPARE                                                                                              \
    "(__hip_atomic_compare_exchange_strong(word, &seen, next, __ATOMIC_RELAXED, __ATOMIC_RELAXED, "          \
    "__HIP_MEMORY_SCOPE_AGENT), seen)"
static const kni_dialect_atomic atomics[] = {
    {KNI_IR_ADD, KN_I32, FETCH("add")},  {KNI_IR_ADD, KN_U32, FETCH("add")},
    {KNI_IR_ADD, KN_I64, FETCH("add")},  {KNI_IR_ADD, KN_U64, FETCH("add")},
    {KNI_IR_ADD, KN_F32, FETCH("add")},  {KNI_IR_ADD, KN_F64, FETCH("add")},
    {KNI_IR_MIN, KN_I32, FETCH("min")},  {KNI_IR_MIN, KN_U32, FETCH("min")},
    {KNI_IR_MIN, KN_I64, FETCH("min")},  {KNI_IR_MIN, KN_U64, FETCH("min")},
    {KNI_IR_MAX, KN_I32, FETCH("max")},  {KNI_IR_MAX, KN_U32, FETCH("max")},
    {KNI_IR_MAX, KN_I64, FETCH("max")},  {KNI_IR_MAX, KN_U64, FETCH("max")},
    {KNI_IR_EXCHANGE, KN_I32, EXCHANGE}, {KNI_IR_EXCHANGE, KN_U32, EXCHANGE},
    {KNI_IR_EXCHANGE, KN_F32, EXCHANGE}, {KNI_IR_EXCHANGE, KN_I64, EXCHANGE},
    {KNI_IR_EXCHANGE, KN_U64, EXCHANGE},
};

const kni_dialect kni_dialect_hip = {
    .name = "HIP",
    .ending = "hip",
    .target = "hip",
    .typical = {.dialect = KNI_IR_HIP,
                .f64 = true,
                .i64 = true,
                .half_storage = true,
                .subgroups = true,
                .atomics = true,
                .float_atomics = true,
                .subgroup = 64,
                .max_workgroup = 1024,
                .shared_bytes = 64 << 10,
                .vector_bytes = 16},
    .basics = basics_hip,
    .instructions = instructions,
    .n_instructions = KNI_COUNT(instructions),
    .near = near_functions,
    .n_near = KNI_COUNT(near_functions),
    .wide_memory = true,
    .entry = "extern \"C\" __attribute__((global)) void",
    .bound = " __attribute__((amdgpu_flat_work_group_size(1, %u)))",
    .space = {"", "", ""},
    .array = {"", "__attribute__((shared)) ", ""},
    .no_alias = "__restrict__ ",
    .aligned = "__attribute__((aligned(%u))) ",
    .params = "p.",
    .barrier = "kni_barrier();",
    .shuffle = {"kni_shuffle(", ", "},
    .suffix = {"LL", "ULL"},
    .builtins = {[KNI_IR_ITEM] =
                     {"(int64_t)__builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() + "
                      "__builtin_amdgcn_workitem_id_x()"},
                 [KNI_IR_GROUP] = {"__builtin_amdgcn_workgroup_id_x()", "__builtin_amdgcn_workgroup_id_y()",
                                   "__builtin_amdgcn_workgroup_id_z()"},
                 [KNI_IR_GROUPS] = {"__builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x()",
                                    "__builtin_amdgcn_grid_size_y() / __builtin_amdgcn_workgroup_size_y()",
                                    "__builtin_amdgcn_grid_size_z() / __builtin_amdgcn_workgroup_size_z()"},
                 [KNI_IR_LOCAL] = {"(int32_t)__builtin_amdgcn_workitem_id_x()"},
                 [KNI_IR_LANE_ID] = {"kni_lane()"}},
    .compare = {COMPARE, COMPARE},
    .load_word = "__hip_atomic_load(word, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)",
    .report = "    volatile int64_t *cell = fault;\n"
              "    if (cell[0]) return;\n"
              "    cell[1] = value;\n"
              "    cell[0] = 1;\n",
    .atomics = atomics,
    .n_atomics = KNI_COUNT(atomics),
};
