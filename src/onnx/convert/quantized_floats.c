/* Products with weights whose fields of 4 bits stand for floats: MatMulBnb4 and MatMulFpQ4 of com.microsoft. */
#include "onnx/convert/quantized.h"

/* ---- MatMulBnb4: a field is a place in a table of 16 numbers, times the largest number of its block */

static const double floats_of_4_bits[16] = {
    0,    5.208333333e-03,  0.66666667,  1,  0.33333333,  0.5,  0.16666667,  0.25,
    -0.0, -5.208333333e-03, -0.66666667, -1, -0.33333333, -0.5, -0.16666667, -0.25};
static const double normal_floats[16] = {
    -1.0,
    -0.6961928009986877,
    -0.5250730514526367,
    -0.39491748809814453,
    -0.28444138169288635,
    -0.18477343022823334,
    -0.09105003625154495,
    0.0,
    0.07958029955625534,
    0.16093020141124725,
    0.24611230194568634,
    0.33791524171829224,
    0.44070982933044434,
    0.5626170039176941,
    0.7229568362236023,
    1.0,
};

/* Fields of bytes in order, the high one first. */
static kni_datum high_first(kni_conversion *c, kni_datum bytes)
{
    kni_extent count = kni_count_of(c, bytes), twice = kni_extent_mul(c, KNI_EXTENT(2), count);
    kni_datum flat = kni_reshape_to(c, bytes, &count, 1);
    kni_datum parts[2] = {
        kni_unsqueeze_at(c, kni_emit2(c, "bitwise_right_shift", flat, kni_whole_number(c, 4, KN_U8)), 1),
        kni_unsqueeze_at(c, kni_emit2(c, "bitwise_and", flat, kni_whole_number(c, 15, KN_U8)), 1)};
    return kni_reshape_to(c, kni_concat_of(c, parts, 2, 1), &twice, 1);
}

/* x [n] as [blocks, size], with zeros behind it. */
static kni_datum in_blocks(kni_conversion *c, kni_datum x, int64_t n, int64_t size)
{
    int64_t blocks = (n + size - 1) / size;
    const kni_extent none = KNI_EXTENT(0), after = KNI_EXTENT(blocks * size - n);
    const kni_extent shape[2] = {KNI_EXTENT(blocks), KNI_EXTENT(size)};
    x = kni_slice_of(c, x, 0, KNI_EXTENT(0), KNI_EXTENT(n));
    return kni_reshape_to(c, kni_pad_with(c, x, &none, &after, 0), shape, 2);
}

static bool check_sizes(kni_conversion *c, int64_t outs, int64_t ins, int64_t block)
{
    bool good =
        outs > 0 && ins > 0 && block > 0 && outs <= INT32_MAX && ins <= INT32_MAX && block <= INT32_MAX;
    if (!good)
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "a weight of %lld times %lld in blocks of %lld",
                         (long long)ins, (long long)outs, (long long)block);
    return good;
}

/* x, bytes, the largest number of each block */
void kni_convert_matmul_bnb4(KNI_CONVERTS)
{
    int64_t outs = kni_node_int(node, "N", 0), ins = kni_node_int(node, "K", 0),
            block = kni_node_int(node, "block_size", 0), kind = kni_node_int(node, "quant_type", 1);
    kn_dtype dtype = kni_dtype_of(c, in[0]);
    KNI_UNUSED_COUNTS;
    if (!check_sizes(c, outs, ins, block)) return;
    if (kind != 0 && kind != 1) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "quant_type is %lld; it must be 0 or 1", (long long)kind);
        return;
    }
    const int64_t sixteen = 16;
    kni_datum table = kni_constant(c, kind ? normal_floats : floats_of_4_bits, KN_F64, &sixteen, 1);
    kni_datum places = kni_cast_to(c, in_blocks(c, high_first(c, in[1]), outs * ins, block), KN_I32);
    kni_datum w =
        kni_emit(c, "take", KNI_LIST(kni_cast_to(c, table, KN_F32), places), KNI_GIVE(KNI_WHOLE("axis", 0)));
    w = kni_emit2(c, "mul", w, kni_unsqueeze_at(c, kni_cast_to(c, in[2], KN_F32), 1));
    kni_extent count = kni_count_of(c, w);
    w = kni_slice_of(c, kni_reshape_to(c, w, &count, 1), 0, KNI_EXTENT(0), KNI_EXTENT(outs * ins));
    const kni_extent shape[2] = {KNI_EXTENT(outs), KNI_EXTENT(ins)};
    w = kni_cast_to(c, kni_reshape_to(c, w, shape, 2), dtype);
    if (kni_node_int(node, "transB", 1)) {
        out[0] = kni_emit(c, "linear", KNI_LIST(in[0], w, KNI_ABSENT), NULL);
    } else {
        out[0] = kni_emit2(c, "matmul", in[0], w);
    }
}
