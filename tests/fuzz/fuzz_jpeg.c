/* A JPEG file of any bytes. */
#include "data/data_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kni_image image = {0};
    if (kni_jpeg_decode(data, size, "fuzz.jpg", 3, &image) == KN_OK) kn_drop(kni_image_tensor(&image));
    kni_image_free(&image);
    return 0;
}
