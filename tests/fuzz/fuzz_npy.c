/* Fuzzes the reader of NumPy arrays. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    fuzz_store(data, bytes, KN_STORE_NUMPY, bytes % 2);
    return 0;
}
