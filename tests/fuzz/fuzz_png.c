/* A PNG file of any bytes; what begins as none is handed to the decoder all the same. Checksums are not skipped, so
   the seeds carry it past them. */
#include "data/data_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int32_t channels = 1; channels <= 3; channels += 2) {
        kni_image image = {0};
        if (kni_png_decode(data, size, "fuzz.png", channels, &image) == KN_OK &&
            kni_image_resize(&image, 3, 5, channels == 1) == KN_OK)
            kn_drop(kni_image_tensor(&image));
        kni_image_free(&image);
    }
    kni_image values = {0};
    if (kni_png_decode_values(data, size, "fuzz.png", &values) == KN_OK) kn_drop(kni_image_tensor(&values));
    kni_image_free(&values);
    return 0;
}
