/* The Metal shading language, 2.4 and later, compiled with fast math off; the text switches contraction off. It has i64 and no f64, and
   atomics of 32 bits alone: what needs more comes in the narrow form. Pointers name their address space, there is no goto, and numbers
   and positions of the launch are parameters with attributes. */
#include "core/platform.h"
#include "ir/emitter.h"

static const char basics_metal[] =
    "#include <metal_stdlib>\n"
    "#if __METAL_VERSION__ >= 320\n"
    "#pragma METAL fp math_mode(safe)\n"
    "#pragma METAL fp contract(off)\n"
    "#else\n"
    "#pragma STDC FP_CONTRACT OFF\n"
    "#endif\n"
    "#define KNI_FUNCTION static inline\n"
    "#define KNI_INLINE static inline __attribute__((always_inline))\n"
    "#define KNI_TABLE constant\n"
    "#define KNI_MAKE(type) type\n"
    "#define KNI_INF_F32 as_type<float>(0x7f800000u)\n"
    "#define KNI_NAN_F32 as_type<float>(0x7fc00000u)\n"
    "#define KNI_SQRT_F32(x) metal::precise::sqrt(x)\n"
    "#define KNI_LEADING_ZEROS(x) kni_leading_zeros(x)\n"
    "KNI_INLINE uint32_t kni_bits_f32(float x) { return as_type<uint32_t>(x); }\n"
    "KNI_INLINE float kni_from_bits_f32(uint32_t u) { return as_type<float>(u); }\n"
    "KNI_INLINE int kni_leading_zeros(uint64_t x)\n"
    "{\n"
    "    uint32_t high = (uint32_t)(x >> 32);\n"
    "    return (int)(high ? metal::clz(high) : 32 + metal::clz((uint32_t)x));\n"
    "}\n"
    /* Metal has the weak form alone, which may fail though nobody wrote. */
    "KNI_INLINE uint32_t kni_compare(volatile device uint32_t *word, uint32_t seen, uint32_t next)\n"
    "{\n"
    "    uint32_t old = seen;\n"
    "    while (!metal::atomic_compare_exchange_weak_explicit((volatile device metal::atomic_uint *)word, "
    "&old, next,\n"
    "        metal::memory_order_relaxed, metal::memory_order_relaxed) && old == seen) {}\n"
    "    return old;\n"
    "}\n"
    "KNI_INLINE uint32_t kni_compare(volatile threadgroup uint32_t *word, uint32_t seen, uint32_t next)\n"
    "{\n"
    "    uint32_t old = seen;\n"
    "    while (!metal::atomic_compare_exchange_weak_explicit((volatile threadgroup metal::atomic_uint "
    "*)word, &old, next,\n"
    "        metal::memory_order_relaxed, metal::memory_order_relaxed) && old == seen) {}\n"
    "    return old;\n"
    "}\n"
    /* Lanes hand over 32 bits at a time. */
    "KNI_INLINE float kni_shuffle(float x, uint32_t by) { return metal::simd_shuffle_xor(x, (ushort)by); }\n"
    "KNI_INLINE int32_t kni_shuffle(int32_t x, uint32_t by) { return metal::simd_shuffle_xor(x, (ushort)by); "
    "}\n"
    "KNI_INLINE uint32_t kni_shuffle(uint32_t x, uint32_t by) { return metal::simd_shuffle_xor(x, "
    "(ushort)by); }\n"
    "KNI_INLINE uint64_t kni_shuffle(uint64_t x, uint32_t by)\n"
    "{\n"
    "    return kni_shuffle((uint32_t)x, by) | (uint64_t)kni_shuffle((uint32_t)(x >> 32), by) << 32;\n"
    "}\n"
    "KNI_INLINE int64_t kni_shuffle(int64_t x, uint32_t by) { return (int64_t)kni_shuffle((uint64_t)x, by); "
    "}\n";

static const kni_dialect_function instructions[] = {
    {"kni_fma_f32", NULL,
     "KNI_INLINE float kni_fma_f32(float a, float b, float c) { return metal::fma(a, b, c); }\n"},
    {"kni_f16_to_f32", NULL,
     "KNI_INLINE float kni_f16_to_f32(uint16_t x) { return (float)as_type<half>(x); }\n"},
    {"kni_f32_to_f16", NULL,
     "KNI_INLINE uint16_t kni_f32_to_f16(float x) { return as_type<uint16_t>((half)x); }\n"},
};

#define ATOMIC(function, type)                                                                               \
    "metal::atomic_" function "_explicit((@metal::atomic_" type " *)word, value, "                           \
    "metal::memory_order_relaxed)"
static const kni_dialect_atomic atomics[] = {
    {KNI_IR_ADD, KN_I32, ATOMIC("fetch_add", "int")},
    {KNI_IR_ADD, KN_U32, ATOMIC("fetch_add", "uint")},
    {KNI_IR_MIN, KN_I32, ATOMIC("fetch_min", "int")},
    {KNI_IR_MIN, KN_U32, ATOMIC("fetch_min", "uint")},
    {KNI_IR_MAX, KN_I32, ATOMIC("fetch_max", "int")},
    {KNI_IR_MAX, KN_U32, ATOMIC("fetch_max", "uint")},
    {KNI_IR_EXCHANGE, KN_I32, ATOMIC("exchange", "int")},
    {KNI_IR_EXCHANGE, KN_U32, ATOMIC("exchange", "uint")},
};

/* What a kernel reads of the launch, each a parameter with an attribute. */
static const struct {
    uint8_t builtin;
    bool items; /* wanted by kernels of items */
    const char *text;
} positions[] = {
    {KNI_IR_GROUP, true, "uint3 kni_group [[threadgroup_position_in_grid]]"},
    {KNI_IR_GROUPS, false, "uint3 kni_groups [[threadgroups_per_grid]]"},
    {KNI_IR_LOCAL, true, "uint3 kni_member [[thread_position_in_threadgroup]]"},
    {KNI_IR_LOCALS, true, "uint3 kni_members [[threads_per_threadgroup]]"},
    {KNI_IR_LANE_ID, false, "uint kni_lane [[thread_index_in_simdgroup]]"},
};

static const char *comma(uint32_t *n) { return (*n)++ ? ", " : ""; }

static void head(kni_ir_emitter *e)
{
    const kni_ir *ir = e->ir;
    uint32_t slot = 0, n = 0;
    if (ir->workgroup) kni_ir_text_add(e->text, "[[max_total_threads_per_threadgroup(%u)]]\n", ir->workgroup);
    kni_ir_text_add(e->text, "kernel void %s(", ir->name);
    for (uint32_t i = 0; i < ir->n_buffers; i++) {
        kni_ir_emit_add(e, comma(&n));
        kni_ir_emit_pointer(e, i);
        kni_ir_text_add(e->text, " [[buffer(%u)]]", slot++);
    }
    if (ir->reports) kni_ir_text_add(e->text, "%sdevice int64_t *fault [[buffer(%u)]]", comma(&n), slot++);
    if (ir->param_bytes)
        kni_ir_text_add(e->text, "%sconstant %s_params &p [[buffer(%u)]]", comma(&n), ir->name, slot);
    for (int i = 0; i < KNI_COUNT(positions); i++) {
        bool reads = positions[i].builtin != KNI_IR_LOCALS && e->builtins[positions[i].builtin];
        if (ir->workgroup ? reads : positions[i].items)
            kni_ir_text_add(e->text, "%s%s", comma(&n), positions[i].text);
    }
    kni_ir_emit_add(e, ")\n{\n");
}

const kni_dialect kni_dialect_metal = {
    .name = "Metal",
    .ending = "msl",
    .basics = basics_metal,
    .instructions = instructions,
    .n_instructions = (int)(sizeof instructions / sizeof *instructions),
    .wide_memory = true,
    .no_goto = true,
    .entry = "kernel void",
    .head = head,
    .space = {"device ", "threadgroup ", "thread "},
    .array = {"", "threadgroup ", ""},
    .no_alias = "",
    .aligned = "__attribute__((aligned(%u))) ",
    .params = "p.",
    .barrier =
        "metal::threadgroup_barrier(metal::mem_flags::mem_device | metal::mem_flags::mem_threadgroup);",
    .shuffle = {"kni_shuffle(", ", (uint32_t)"},
    .suffix = {"L", "UL"},
    .builtins = {[KNI_IR_ITEM] = {"(int64_t)kni_group.x * kni_members.x + kni_member.x"},
                 [KNI_IR_GROUP] = {"kni_group.x", "kni_group.y", "kni_group.z"},
                 [KNI_IR_GROUPS] = {"kni_groups.x", "kni_groups.y", "kni_groups.z"},
                 [KNI_IR_LOCAL] = {"(int32_t)kni_member.x"},
                 [KNI_IR_LANE_ID] = {"(int32_t)kni_lane"}},
    .compare = {"kni_compare(word, seen, next)"},
    .load_word = "*(volatile @const $ *)word",
    .report = "    volatile device int64_t *cell = fault;\n"
              "    if (cell[0]) return;\n"
              "    cell[1] = value;\n"
              "    cell[0] = 1;\n",
    .atomics = atomics,
    .n_atomics = (int)(sizeof atomics / sizeof *atomics),
};
