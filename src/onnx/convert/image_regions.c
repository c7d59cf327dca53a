/* Regions of images and boxes around what is in them. */
#include "onnx/convert/image_parts.h"

void kni_convert_roi_align(KNI_CONVERTS)
{
    static const char *const modes[] = {"avg", "max", NULL};
    static const char *const transforms[] = {"half_pixel", "output_half_pixel", NULL};
    kni_extent size[2] = {KNI_EXTENT(kni_node_int(node, "output_height", 1)),
                          KNI_EXTENT(kni_node_int(node, "output_width", 1))};
    KNI_UNUSED_COUNTS;
    int32_t mode = kni_node_choice(c, node, "mode", "avg", modes);
    int32_t transform = 1;
    if (node->version >= 16)
        transform = kni_node_choice(c, node, "coordinate_transformation_mode", "half_pixel", transforms);
    out[0] = kni_emit(c, "roi_align", in, 3,
                      KNI_GIVE(KNI_EXTENTS("size", size, 2),
                               KNI_WHOLE("samples", kni_node_int(node, "sampling_ratio", 0)),
                               KNI_WHOLE("most", mode), KNI_WHOLE("half", transform == 0),
                               KNI_REAL("scale", kni_node_real(node, "spatial_scale", 1))));
}

void kni_convert_max_roi_pool(KNI_CONVERTS)
{
    int64_t n = 0;
    const int64_t *size = kni_node_ints(node, "pooled_shape", &n);
    kni_datum y[2];
    KNI_UNUSED_COUNTS;
    if (!size || n != 2) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "pooled_shape has %lld entries; it is height and width",
                         (long long)n);
        return;
    }
    kni_extent both[2] = {KNI_EXTENT(size[0]), KNI_EXTENT(size[1])};
    kni_emit_many(
        c, "max_roi_pool", in, 2,
        KNI_GIVE(KNI_EXTENTS("size", both, 2), KNI_REAL("scale", kni_node_real(node, "spatial_scale", 1))), y,
        2);
    out[0] = y[0];
}

/* Tuples of image, class and box of the boxes that stay; how many there are is read, since it is a size of the result. */
static kni_datum tuples_of(kni_conversion *c, kni_datum kept)
{
    kni_datum stays = kni_emit2(c, "greater_equal", kept, kni_whole_number(c, 0, KN_I64));
    kni_extent count =
        kni_known_count(c, kni_reduce_over(c, "sum", stays, NULL, 0, false), "the number of boxes");
    kni_datum found[2], parts[2];
    kni_emit_many(c, "nonzero", &stays, 1, KNI_GIVE(KNI_ONE_EXTENT("capacity", count)), found, 2);
    parts[0] = kni_slice_of(c, found[0], 1, KNI_EXTENT(0), KNI_EXTENT(2));
    parts[1] = kni_unsqueeze_at(c, kni_emit2(c, "gather_nd", kept, found[0]), 1);
    return kni_concat_of(c, parts, 2, 1);
}

void kni_convert_suppression(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    kni_extent limit =
        kni_is_given(in[2]) ? kni_known_count(c, in[2], "the number of boxes of a class") : KNI_EXTENT(0);
    double share = kni_meant_number(kni_known_real(c, in[3], "the share of boxes", 0));
    double least = kni_known_real(c, in[4], "the threshold of scores", 0);
    if (!limit.text && limit.value < 0) limit = KNI_EXTENT(0);
    kni_datum kept = kni_emit(c, "nms", in, 2,
                              KNI_GIVE(KNI_ONE_EXTENT("limit", limit),
                                       KNI_WHOLE("middle", kni_node_int(node, "center_point_box", 0) != 0),
                                       KNI_WHOLE("bounded", kni_is_given(in[4])), KNI_REAL("share", share),
                                       KNI_REAL("least", least)));
    out[0] = tuples_of(c, kept);
}
