/* The element types of ONNX: their names and the dtypes that have their values. */
#include "onnx/model.h"
#include "onnx/read/model_reader.h"
#include <stdio.h>

typedef struct type_row {
    const char *name;
    kn_dtype dtype;
    int32_t bits;
} type_row;

static const type_row rows[KNI_ONNX_TYPE_COUNT] = {
    [KNI_ONNX_UNDEFINED] = {"undefined", KN_DTYPE_NONE, 0},
    [KNI_ONNX_FLOAT] = {"float", KN_F32, 32},
    [KNI_ONNX_UINT8] = {"uint8", KN_U8, 8},
    [KNI_ONNX_INT8] = {"int8", KN_I8, 8},
    [KNI_ONNX_UINT16] = {"uint16", KN_U16, 16},
    [KNI_ONNX_INT16] = {"int16", KN_I16, 16},
    [KNI_ONNX_INT32] = {"int32", KN_I32, 32},
    [KNI_ONNX_INT64] = {"int64", KN_I64, 64},
    [KNI_ONNX_STRING] = {"string", KN_DTYPE_NONE, 0},
    [KNI_ONNX_BOOL] = {"bool", KN_BOOL, 8},
    [KNI_ONNX_FLOAT16] = {"float16", KN_F16, 16},
    [KNI_ONNX_DOUBLE] = {"double", KN_F64, 64},
    [KNI_ONNX_UINT32] = {"uint32", KN_U32, 32},
    [KNI_ONNX_UINT64] = {"uint64", KN_U64, 64},
    [KNI_ONNX_COMPLEX64] = {"complex64", KN_DTYPE_NONE, 64},
    [KNI_ONNX_COMPLEX128] = {"complex128", KN_DTYPE_NONE, 128},
    [KNI_ONNX_BFLOAT16] = {"bfloat16", KN_BF16, 16},
    [KNI_ONNX_FLOAT8E4M3FN] = {"float8e4m3fn", KN_F8_E4M3, 8},
    [KNI_ONNX_FLOAT8E4M3FNUZ] = {"float8e4m3fnuz", KN_F8_E4M3_FNUZ, 8},
    [KNI_ONNX_FLOAT8E5M2] = {"float8e5m2", KN_F8_E5M2, 8},
    [KNI_ONNX_FLOAT8E5M2FNUZ] = {"float8e5m2fnuz", KN_F8_E5M2_FNUZ, 8},
    [KNI_ONNX_UINT4] = {"uint4", KN_U4, 4},
    [KNI_ONNX_INT4] = {"int4", KN_I4, 4},
    [KNI_ONNX_FLOAT4E2M1] = {"float4e2m1", KN_F4_E2M1, 4},
    [KNI_ONNX_FLOAT8E8M0] = {"float8e8m0", KN_E8M0, 8},
    [KNI_ONNX_UINT2] = {"uint2", KN_U2, 2},
    [KNI_ONNX_INT2] = {"int2", KN_I2, 2},
};

static bool known(int32_t type) { return type > KNI_ONNX_UNDEFINED && type < KNI_ONNX_TYPE_COUNT; }

kn_dtype kni_onnx_dtype(int32_t type) { return known(type) ? rows[type].dtype : KN_DTYPE_NONE; }

int32_t kni_onnx_type_bits(int32_t type) { return known(type) ? rows[type].bits : 0; }

kni_onnx_type kni_onnx_type_of(kn_dtype dtype)
{
    for (int32_t i = 0; i < KNI_ONNX_TYPE_COUNT && dtype != KN_DTYPE_NONE; i++)
        if (rows[i].dtype == dtype) return (kni_onnx_type)i;
    return KNI_ONNX_UNDEFINED;
}

const char *kni_onnx_type_name(int32_t type)
{
    static _Thread_local char text[24];
    if (known(type)) return rows[type].name;
    snprintf(text, sizeof text, "type %d", (int)type);
    return text;
}
