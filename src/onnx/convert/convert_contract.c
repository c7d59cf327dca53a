/* Matrix products and determinants. Einsum is in convert_einsum.c, transforms and windows are in convert_signal.c. */
#include "onnx/convert/convert_numbers.h"
#include <kn/tensor.h>
#include <string.h>

static void matmul(KNI_CONVERTS)
{
    (void)node;
    KNI_UNUSED_COUNTS;
    out[0] = kni_emit2(c, "matmul", in[0], in[1]);
}

/* x times a real number; integers are computed as f64. */
static kni_datum scaled(kni_conversion *c, kni_datum x, double factor)
{
    if (factor == 1) return x;
    if (!kn_dtype_is_float(kni_dtype_of(c, x))) x = kni_cast_to(c, x, KN_F64);
    return kni_emit2(c, "mul", x, kni_real_number(c, factor, kni_dtype_of(c, x)));
}

/* ---- Gemm */

/* The third operand as a bias of the columns, which `linear` takes; absent where it is no such one. */
static kni_datum as_bias(kni_conversion *c, kni_datum x, kni_extent columns)
{
    kni_extent sizes[KN_MAX_RANK];
    int32_t rank = kni_extents_of(c, x, sizes);
    bool fits =
        (rank == 1 || (rank == 2 && kni_extent_is(sizes[0], 1))) && kni_extent_same(sizes[rank - 1], columns);
    return fits ? kni_reshape_to(c, x, &columns, 1) : KNI_ABSENT;
}

static void gemm(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    double alpha = kni_node_real(node, "alpha", 1), beta = kni_node_real(node, "beta", 1);
    bool turned = kni_node_int(node, "transB", 0) != 0;
    kn_dtype dtype = kni_dtype_of(c, in[0]);
    kni_datum a = kni_node_int(node, "transA", 0) ? kni_swap_axes(c, in[0], 0, 1) : in[0];
    bool adds = kni_is_given(in[2]) && beta != 0;
    if (adds && alpha == 1 && beta == 1) {
        kni_datum bias = as_bias(c, in[2], kni_extent_of(c, in[1], turned ? 0 : 1));
        if (kni_is_given(bias)) {
            out[0] = kni_emit3(c, "linear", a, turned ? in[1] : kni_swap_axes(c, in[1], 0, 1), bias);
            return;
        }
    }
    kni_datum y = kni_emit2(c, "matmul", a, turned ? kni_swap_axes(c, in[1], 0, 1) : in[1]);
    y = scaled(c, y, alpha);
    if (adds) y = kni_emit2(c, "add", y, scaled(c, in[2], beta));
    out[0] = kni_cast_to(c, y, dtype);
}

/* ---- com.microsoft: products of transposed operands */

/* transBatch moves axis 0 to the place before the last one, after which the last two may be swapped. */
static kni_datum turned_operand(kni_conversion *c, kni_datum x, bool batch, bool swap)
{
    int32_t rank = kni_rank_of(c, x), axes[KN_MAX_RANK];
    if (rank < 2) return x;
    for (int32_t i = 0; i < rank; i++) axes[i] = !batch || i == rank - 1 ? i : i == rank - 2 ? 0 : i + 1;
    if (swap) {
        int32_t last = axes[rank - 1];
        axes[rank - 1] = axes[rank - 2];
        axes[rank - 2] = last;
    }
    return kni_permute_to(c, x, axes, rank);
}

static void turned_matmul(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    kni_datum a = turned_operand(c, in[0], kni_node_int(node, "transBatchA", 0) != 0,
                                 kni_node_int(node, "transA", 0) != 0);
    kni_datum b = turned_operand(c, in[1], kni_node_int(node, "transBatchB", 0) != 0,
                                 kni_node_int(node, "transB", 0) != 0);
    out[0] = scaled(c, kni_emit2(c, "matmul", a, b), kni_node_real(node, "alpha", 1));
}

/* ---- linear algebra */

static void determinant(KNI_CONVERTS)
{
    (void)node;
    KNI_UNUSED_COUNTS;
    out[0] = kni_emit1(c, "det", in[0]);
}

/* ---- the table */

#define ROW(domain, op, since, convert, types)                                                               \
    {                                                                                                        \
        domain, op, since, 0, convert, 0, types                                                              \
    }
#define MICROSOFT "com.microsoft"

const kni_onnx_converter kni_onnx_contract[] = {
    ROW("", "BlackmanWindow", 17, kni_convert_window, "integers"),
    ROW("", "DFT", 17, kni_convert_dft, "floats"),
    ROW("", "Det", 11, determinant, "floats"),
    ROW("", "Einsum", 12, kni_convert_einsum, "floats integers"),
    ROW("", "Gemm", 1, gemm, "floats integers"),
    ROW("", "HammingWindow", 17, kni_convert_window, "integers"),
    ROW("", "HannWindow", 17, kni_convert_window, "integers"),
    ROW("", "MatMul", 1, matmul, "floats integers"),
    ROW("", "MelWeightMatrix", 17, kni_convert_mel_weights, "integers"),
    ROW("", "STFT", 17, kni_convert_stft, "floats"),
    ROW(MICROSOFT, "FusedMatMul", 1, turned_matmul, "floats"),
    ROW(MICROSOFT, "TransposeMatMul", 1, turned_matmul, "floats"),
    {0},
};
