/* Gzip data of any bytes. */
#include "data/data_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kni_buffer out = {0};
    if (kni_gunzip(data, size, "fuzz.gz", &out) != KN_OK) kni_buffer_clear(&out);
    kni_buffer_free(&out);
    return 0;
}
