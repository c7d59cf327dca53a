/* What the converters of image.c's table share. */
#ifndef KNI_ONNX_IMAGE_PARTS_H
#define KNI_ONNX_IMAGE_PARTS_H

#include "onnx/convert/convert_numbers.h"

void kni_convert_resize(KNI_CONVERTS);
void kni_convert_upsample(KNI_CONVERTS);
void kni_convert_roi_align(KNI_CONVERTS);
void kni_convert_max_roi_pool(KNI_CONVERTS);
void kni_convert_suppression(KNI_CONVERTS);
void kni_convert_col2im(KNI_CONVERTS);
void kni_convert_depth_to_space(KNI_CONVERTS);
void kni_convert_space_to_depth(KNI_CONVERTS);
void kni_convert_center_crop_pad(KNI_CONVERTS);
void kni_convert_max_unpool(KNI_CONVERTS);
void kni_convert_grid_sample(KNI_CONVERTS);
void kni_convert_affine_grid(KNI_CONVERTS);
void kni_convert_image_decoder(KNI_CONVERTS);
void kni_convert_unique(KNI_CONVERTS);
void kni_convert_gather_nd(KNI_CONVERTS);
void kni_convert_scatter_nd(KNI_CONVERTS);
void kni_convert_scatter_elements(KNI_CONVERTS);

/* The place of a node's text among `names`, which end with NULL; fails where it is none of them. */
int32_t kni_node_choice(kni_conversion *c, const kni_onnx_node *node, const char *attribute,
                        const char *otherwise, const char *const *names);

/* The number that one in single precision was meant to be: 0.7 and not 0.69999999, 1/3 and not 0.33333334. With it places that are
   exactly between two elements, and shares that are exactly at a threshold, are so in double precision too. */
double kni_meant_number(double single);

#endif
