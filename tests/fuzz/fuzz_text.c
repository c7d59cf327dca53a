/* Texts of any bytes: UTF-8 and UTF-16. What comes out is text again. */
#include "data/data_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kni_buffer once = {0}, twice = {0};
    if (kni_text_decode(data, size, "fuzz.txt", &once) == KN_OK &&
        kni_text_decode(kni_buffer_string(&once), once.length, "fuzz.txt", &twice) != KN_OK)
        __builtin_trap();
    kni_buffer_free(&once);
    kni_buffer_free(&twice);
    return 0;
}
