/* The table of what resamples, cuts, decodes and searches images, and of what reads and writes by index. */
#include "onnx/convert/image_parts.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int32_t kni_node_choice(kni_conversion *c, const kni_onnx_node *node, const char *attribute,
                        const char *otherwise, const char *const *names)
{
    const char *text = kni_node_text(node, attribute, otherwise);
    for (int32_t i = 0; names[i]; i++)
        if (!strcmp(names[i], text)) return i;
    kni_convert_fail(c, KN_ERROR_UNSUPPORTED, "there is no %s '%s'", attribute, text);
    return 0;
}

double kni_meant_number(double single)
{
    enum { LARGEST_DIVISOR = 1000 };
    char text[32];
    for (int64_t q = 1; q <= LARGEST_DIVISOR && single > 0 && single < 1e6; q++) {
        double fraction = (double)(int64_t)(single * (double)q + 0.5) / (double)q;
        if ((float)fraction == (float)single) return fraction;
    }
    snprintf(text, sizeof text, "%.7g", single);
    double written = strtod(text, NULL);
    return (float)written == (float)single ? written : single;
}

#define MOVED "floats integers bool strings"
#define NUMBERS "floats integers"

const kni_onnx_converter kni_onnx_image[] = {
    KNI_ONNX_ROW("AffineGrid", 20, kni_convert_affine_grid, "floats"),
    KNI_ONNX_ROW("CenterCropPad", 18, kni_convert_center_crop_pad, MOVED),
    KNI_ONNX_ROW("Col2Im", 18, kni_convert_col2im, NUMBERS),
    KNI_ONNX_ROW("DepthToSpace", 1, kni_convert_depth_to_space, MOVED),
    KNI_ONNX_ROW("GatherND", 11, kni_convert_gather_nd, MOVED),
    KNI_ONNX_ROW("GridSample", 16, kni_convert_grid_sample, "floats"),
    KNI_ONNX_ROW("ImageDecoder", 20, kni_convert_image_decoder, "integers"),
    KNI_ONNX_ROW("MaxRoiPool", 1, kni_convert_max_roi_pool, "floats"),
    KNI_ONNX_ROW("MaxUnpool", 9, kni_convert_max_unpool, "floats"),
    KNI_ONNX_ROW("NonMaxSuppression", 10, kni_convert_suppression, "floats"),
    KNI_ONNX_ROW("Resize", 10, kni_convert_resize, "floats integers bool"),
    KNI_ONNX_ROW("RoiAlign", 10, kni_convert_roi_align, "floats"),
    KNI_ONNX_ROW("Scatter", 9, kni_convert_scatter_elements, MOVED),
    KNI_ONNX_ROW("ScatterElements", 11, kni_convert_scatter_elements, MOVED),
    KNI_ONNX_ROW("ScatterND", 11, kni_convert_scatter_nd, MOVED),
    KNI_ONNX_ROW("SpaceToDepth", 1, kni_convert_space_to_depth, MOVED),
    KNI_ONNX_ROW("Unique", 11, kni_convert_unique, MOVED),
    KNI_ONNX_ROW("Upsample", 1, kni_convert_upsample, "floats integers bool"),
    {0}};
