/* Small steps of converters of layers. */
#include "onnx/convert/network.h"

bool kni_is_half_dtype(kn_dtype dtype) { return kn_dtype_is_float(dtype) && kn_dtype_bytes(dtype, 8) == 16; }
kn_dtype kni_wide_dtype(kn_dtype dtype) { return kni_is_half_dtype(dtype) ? KN_F32 : dtype; }

kni_datum kni_with_number(kni_conversion *c, const char *op, kni_datum x, double number)
{
    return kni_emit2(c, op, x, kni_real_number(c, number, kni_dtype_of(c, x)));
}

kni_datum kni_along_axis_one(kni_conversion *c, kni_datum vector, int32_t rank)
{
    kni_extent shape[KN_MAX_RANK];
    for (int32_t i = 0; i < KN_MAX_RANK; i++) shape[i] = KNI_EXTENT(1);
    if (rank < 2 || rank > KN_MAX_RANK) return vector;
    shape[0] = kni_count_of(c, vector);
    return kni_reshape_to(c, vector, shape, rank - 1);
}

void kni_convert_as(kni_conversion *c, const kni_onnx_node *node, const char *op, int32_t version,
                    const kni_datum *in, int32_t n_in, kni_datum *out, int32_t n_out)
{
    kni_onnx_node other = *node;
    kni_datum room[KNI_ONNX_ROOM] = {{0}};
    other.op = op;
    other.domain = "";
    other.version = version;
    other.n_in = n_in;
    const char *reason = NULL;
    const kni_onnx_converter *row = kni_onnx_converter_of(&other, &reason);
    if (!row || n_in > KNI_ONNX_ROOM) {
        kni_convert_fail(c, KN_ERROR_UNSUPPORTED, "is converted as %s, which is not there: %s", op,
                         reason ? reason : "too many operands");
        return;
    }
    for (int32_t i = 0; i < n_in; i++) room[i] = in[i];
    row->convert(c, &other, room, n_in, out, n_out);
}
