/* CUDA C++ as NVRTC takes it without any header. Compiled with --fmad=false; division and square roots round correctly
   by default. */
#include "ir/emitter.h"

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
