/* Fuzzes the reader of PyTorch files of all forms. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    fuzz_store(data, bytes, KN_STORE_PYTORCH, bytes % 2);
    return 0;
}
