/* CIFAR records of any bytes, with one label and with two. */
#include "data/data_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t limits[] = {20, 100};
    for (int32_t labels = 1; labels <= 2; labels++) {
        kni_buffer pixels = {0}, numbers = {0};
        kn_status status = kni_cifar_decode(data, size, "fuzz.bin", labels, limits, &pixels, &numbers);
        if (status == KN_OK && pixels.length != size / (3072 + (size_t)labels) * 3072) __builtin_trap();
        kni_buffer_free(&pixels);
        kni_buffer_free(&numbers);
    }
    return 0;
}
