/* An idx file of any bytes. */
#include "data/data_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kn_drop(kni_idx_decode(data, size, "fuzz.idx"));
    return 0;
}
