/* Images in memory, between a decoder and a tensor. */
#ifndef KNI_DATA_DATA_IMAGE_H
#define KNI_DATA_DATA_IMAGE_H

#include "data/data_internal.h"

/* Deflate expands 1032 times, and a byte holds up to 8 pixels. */
enum { KNI_PNG_EXPANSION = 1032 * 8 };

typedef struct kni_image {
    int32_t channels; /* 1 or 3, interleaved; 4 while a decoder works */
    int64_t height, width;
    uint8_t *pixels; /* malloc */
} kni_image;

kn_status kni_png_decode(const void *data, size_t bytes, const char *name, int32_t channels,
                         kni_image *image);
kn_status kni_jpeg_decode(const void *data, size_t bytes, const char *name, int32_t channels,
                          kni_image *image);
/* The values of a grey PNG or the palette indices of another, one channel, as they are in the file. */
kn_status kni_png_decode_values(const void *data, size_t bytes, const char *name, kni_image *image);
kn_status kni_image_load_mask(const char *path, kni_image *image);
/* By content: PNG or JPEG. */
kn_status kni_image_decode(const void *data, size_t bytes, const char *name, int32_t channels,
                           kni_image *image);
kn_status kni_image_load(const char *path, int32_t channels, kni_image *image);
/* RGB to grey, with the weights and the rounding of PIL's convert("L"). */
void kni_image_to_grey(kni_image *image);
void kni_image_free(kni_image *image);
/* Allocates the pixels of an image whose size a file of so many bytes can hold; at most `expansion` pixels for each byte. */
kn_status kni_image_allocate(kni_image *image, size_t bytes, int64_t expansion, const char *name);
/* Bilinear, over the whole area a pixel covers where the image shrinks; nearest takes one pixel instead. */
kn_status kni_image_resize(kni_image *image, int64_t height, int64_t width, bool nearest);
/* u8 [channels, height, width]. */
kn_tensor kni_image_tensor(const kni_image *image);
kn_status kni_image_check_args(const kn_image_args *args, kn_image_args *filled, const char *function);

#endif
