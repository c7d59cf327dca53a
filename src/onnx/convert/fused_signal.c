/* Transforms, complex products and crops of com.microsoft. Complex numbers are pairs in the last axis. */
#include "onnx/convert/fused_operators.h"
#include <string.h>

/* Real (0) or imaginary (1) parts of pairs. */
static kni_datum part_of(kni_conversion *c, kni_datum pairs, int32_t part)
{
    int32_t last = kni_axis_of(c, pairs, -1);
    kni_datum x = kni_slice_of(c, pairs, last, KNI_EXTENT(part), KNI_EXTENT(part + 1));
    return kni_squeeze_at(c, x, last);
}

static kni_datum pairs_of(kni_conversion *c, kni_datum real, kni_datum imaginary)
{
    int32_t rank = kni_rank_of(c, real);
    return kni_concat_of(
        c, (kni_datum[]){kni_unsqueeze_at(c, real, rank), kni_unsqueeze_at(c, imaginary, rank)}, 2, rank);
}

static void transform(kni_conversion *c, kni_datum *z, int32_t axis, bool inverse)
{
    kni_datum in[2] = {z[0], z[1]};
    kni_emit_many(c, "fft", in, 2, KNI_GIVE(KNI_WHOLE("axis", axis), KNI_WHOLE("inverse", inverse)), z, 2);
}

/* How many of the last axes are transformed; 0: the node failed. */
static int32_t signal_axes(kni_conversion *c, const kni_onnx_node *node, int32_t rank)
{
    int64_t n = kni_node_int(node, "signal_ndim", 1);
    if (n < 1 || n > 3 || n > rank) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "signal_ndim is %lld; the operand has %d axes", (long long)n,
                         rank);
        return 0;
    }
    if (kni_node_int(node, "normalized", 0) || !kni_node_int(node, "onesided", 1)) {
        kni_convert_fail(c, KN_ERROR_UNSUPPORTED,
                         "only transforms with normalized 0 and onesided 1 are there");
        return 0;
    }
    return (int32_t)n;
}

void kni_convert_rfft(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                      kni_datum *out, int32_t n_out)
{
    int32_t rank = kni_rank_of(c, in[0]), n = signal_axes(c, node, rank);
    kni_datum z[2] = {in[0], KNI_ABSENT};
    (void)n_in, (void)n_out;
    if (!n) return;
    transform(c, z, rank - 1, false);
    kni_extent half = kni_extent_div(c, kni_extent_of(c, in[0], -1), KNI_EXTENT(2));
    for (int32_t i = 0; i < 2; i++)
        z[i] = kni_slice_of(c, z[i], rank - 1, KNI_EXTENT(0), kni_extent_add(c, half, KNI_EXTENT(1)));
    for (int32_t i = 2; i <= n; i++) transform(c, z, rank - i, false);
    out[0] = pairs_of(c, z[0], z[1]);
}

/* Elements size - 2 down to 1 of the last axis. */
static kni_datum mirrored(kni_conversion *c, kni_datum x)
{
    int32_t axis = kni_axis_of(c, x, -1);
    kni_extent count = kni_extent_sub(c, kni_extent_of(c, x, axis), KNI_EXTENT(2));
    kni_datum up = kni_counting(c, 0, count, KN_I64);
    kni_datum at = kni_emit2(c, "sub", kni_known_list(c, &count, 1, true), up);
    return kni_emit(c, "take", KNI_LIST(x, at), KNI_GIVE(KNI_WHOLE("axis", axis)));
}

/* The half that is given is made whole, then it is an ordinary inverse. */
void kni_convert_irfft(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                       kni_datum *out, int32_t n_out)
{
    int32_t rank = kni_rank_of(c, in[0]) - 1, n = signal_axes(c, node, rank);
    (void)n_in, (void)n_out;
    if (!n) return;
    kni_datum z[2] = {part_of(c, in[0], 0), part_of(c, in[0], 1)};
    for (int32_t i = 2; i <= n; i++) transform(c, z, rank - i, true);
    z[0] = kni_concat_of(c, (kni_datum[]){z[0], mirrored(c, z[0])}, 2, rank - 1);
    z[1] = kni_concat_of(c, (kni_datum[]){z[1], kni_emit1(c, "neg", mirrored(c, z[1]))}, 2, rank - 1);
    transform(c, z, rank - 1, true);
    out[0] = z[0];
}

/* a b, or a times the conjugate of b. */
void kni_convert_complex_mul(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                             kni_datum *out, int32_t n_out)
{
    bool conjugate = !strcmp(node->op, "ComplexMulConj");
    kni_datum ar = part_of(c, in[0], 0), ai = part_of(c, in[0], 1);
    kni_datum br = part_of(c, in[1], 0), bi = part_of(c, in[1], 1);
    (void)n_in, (void)n_out;
    if (conjugate) bi = kni_emit1(c, "neg", bi);
    out[0] = pairs_of(c, kni_emit2(c, "sub", kni_emit2(c, "mul", ar, br), kni_emit2(c, "mul", ai, bi)),
                      kni_emit2(c, "add", kni_emit2(c, "mul", ar, bi), kni_emit2(c, "mul", ai, br)));
}

/* ---- CropAndResize */

/* One coordinate of all boxes, [boxes, 1]. */
static kni_datum side(kni_conversion *c, kni_datum boxes, int32_t place)
{
    return kni_slice_of(c, boxes, 1, KNI_EXTENT(place), KNI_EXTENT(place + 1));
}

/* Where the elements of an axis of the crops lie in the image: [boxes, count], 0 the first element's middle. */
static kni_datum places(kni_conversion *c, kni_datum boxes, int32_t axis, kni_extent size, int64_t count)
{
    kn_dtype dtype = kni_dtype_of(c, boxes);
    kni_extent last = kni_extent_sub(c, size, KNI_EXTENT(1));
    kni_datum scale = kni_cast_to(c, kni_known_list(c, &last, 1, true), dtype);
    kni_datum from = kni_emit2(c, "mul", side(c, boxes, axis), scale);
    kni_datum to = kni_emit2(c, "mul", side(c, boxes, axis + 2), scale);
    if (count == 1) return kni_with_number(c, "mul", kni_emit2(c, "add", from, to), 0.5);
    kni_datum step = kni_unsqueeze_at(c, kni_counting(c, 0, KNI_EXTENT(count), dtype), 0);
    kni_datum width = kni_with_number(c, "div", kni_emit2(c, "sub", to, from), (double)(count - 1));
    return kni_emit2(c, "add", from, kni_emit2(c, "mul", width, step));
}

static kni_datum inside(kni_conversion *c, kni_datum at, kni_extent size)
{
    kn_dtype dtype = kni_dtype_of(c, at);
    kni_extent last = kni_extent_sub(c, size, KNI_EXTENT(1));
    kni_datum high = kni_cast_to(c, kni_known_list(c, &last, 1, true), dtype);
    return kni_emit2(c, "logical_and", kni_emit2(c, "greater_equal", at, kni_real_number(c, 0, dtype)),
                     kni_emit2(c, "less_equal", at, high));
}

/* Places as coordinates of a grid, -1 the first element's middle and 1 the last one's. */
static kni_datum as_grid(kni_conversion *c, kni_datum at, kni_extent size)
{
    kni_extent last =
        kni_extent_max(c, kni_extent_sub(c, size, KNI_EXTENT(1)), KNI_EXTENT(1)); /* of one element: 1 */
    kni_datum high = kni_cast_to(c, kni_known_list(c, &last, 1, true), kni_dtype_of(c, at));
    at = kni_emit2(c, "div", kni_with_number(c, "mul", at, 2), high);
    return kni_with_number(c, "sub", at, 1);
}

void kni_convert_crop_and_resize(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                                 int32_t n_in, kni_datum *out, int32_t n_out)
{
    const char *mode = kni_node_text(node, "mode", "bilinear");
    int64_t n = 0;
    const int64_t *crop = kni_known_ints(c, in[3], "the size of the crops", &n);
    kni_extent e[KN_MAX_RANK];
    (void)n_in, (void)n_out;
    if (!crop || kni_extents_of(c, in[0], e) != 4 || n != 2 || crop[0] < 1 || crop[1] < 1) {
        kni_convert_fail(c, KN_ERROR_SHAPE,
                         "takes images [batch, channels, height, width] and a crop_size of 2 numbers");
        return;
    }
    kni_datum y = places(c, in[1], 0, e[2], crop[0]), x = places(c, in[1], 1, e[3], crop[1]);
    bool nearest = strcmp(mode, "nearest") == 0;
    kni_extent boxes = kni_extent_of(c, in[1], 0);
    kni_extent plane[] = {boxes, KNI_EXTENT(crop[0]), KNI_EXTENT(crop[1])};
    kni_datum within = kni_emit2(c, "logical_and", kni_unsqueeze_at(c, inside(c, y, e[2]), 2),
                                 kni_unsqueeze_at(c, inside(c, x, e[3]), 1));
    if (nearest) { /* the middle between two elements belongs to the later one; grid_sample would take the even one */
        y = kni_emit1(c, "floor", kni_with_number(c, "add", y, 0.5));
        x = kni_emit1(c, "floor", kni_with_number(c, "add", x, 0.5));
    }
    kni_datum rows = kni_expand_to(c, kni_unsqueeze_at(c, as_grid(c, y, e[2]), 2), plane, 3);
    kni_datum columns = kni_expand_to(c, kni_unsqueeze_at(c, as_grid(c, x, e[3]), 1), plane, 3);
    kni_datum image = kni_emit(c, "take", KNI_LIST(in[0], in[2]), KNI_GIVE(KNI_WHOLE("axis", 0)));
    /* mode 0: nearest, 1: linear; padding 1: the nearest element of the edge */
    kni_datum sample = kni_emit(
        c, "grid_sample", KNI_LIST(image, pairs_of(c, columns, rows)),
        KNI_GIVE(KNI_WHOLE("mode", !nearest), KNI_WHOLE("padding", 1), KNI_WHOLE("align_corners", 1)));
    double beyond = kni_node_real(node, "extrapolation_value", 0);
    out[0] = kni_emit3(c, "where", kni_unsqueeze_at(c, within, 1), sample,
                       kni_real_number(c, beyond, kni_dtype_of(c, sample)));
}
