/* The dialects by number and the types they share. */
#include "ir/emitter.h"

static const kni_dialect *const dialects[KNI_IR_DIALECTS] = {
    [KNI_IR_C] = &kni_dialect_c,           [KNI_IR_CUDA] = &kni_dialect_cuda,
    [KNI_IR_OPENCL] = &kni_dialect_opencl, [KNI_IR_C99] = &kni_dialect_c99,
    [KNI_IR_SPIRV] = &kni_dialect_spirv,   [KNI_IR_METAL] = &kni_dialect_metal,
};

const kni_dialect *kni_dialect_of(int dialect)
{
    return dialect >= 0 && dialect < KNI_IR_DIALECTS ? dialects[dialect] : NULL;
}

static const char *const storage_types[KN_DTYPE_COUNT] = {
    [KN_F64] = "double",   [KN_F32] = "float",    [KN_F16] = "uint16_t", [KN_BF16] = "uint16_t",
    [KN_I64] = "int64_t",  [KN_I32] = "int32_t",  [KN_I16] = "int16_t",  [KN_I8] = "int8_t",
    [KN_U64] = "uint64_t", [KN_U32] = "uint32_t", [KN_U16] = "uint16_t", [KN_U8] = "uint8_t",
    [KN_BOOL] = "uint8_t",
};

const char *kni_dialect_storage_type(int dtype)
{
    if (kni_dtype_stored(dtype)) return "uint8_t"; /* a code */
    return storage_types[dtype] ? storage_types[dtype] : "void";
}

const char *kni_dialect_value_type(int dtype)
{
    return kni_is_bool(dtype) ? "int" : kni_dialect_storage_type(dtype);
}
