/* Images that are stored without compression: BMP and PNM. */
#ifndef KNI_ONNX_IMAGE_PLAIN_H
#define KNI_ONNX_IMAGE_PLAIN_H

#include <stdbool.h>
#include <stdint.h>

typedef struct kni_plain_image {
    int64_t width, height;
    const uint8_t *top;   /* the first pixel of the highest row */
    int64_t row, pixel;   /* bytes from one to the next, of rows below 0 where they stand upside down */
    int red, green, blue; /* bytes of a pixel */
} kni_plain_image;

/* Whether the bytes are such an image, all of it; a header that asks for more than there is, is none. */
bool kni_plain_image_of(const uint8_t *bytes, int64_t n, kni_plain_image *image);
/* Planes of red, green and blue. */
void kni_plain_image_planes(const kni_plain_image *image, uint8_t *planes);

#endif
