/* Fuzzes the reader of safetensors files. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    fuzz_store(data, bytes, KN_STORE_SAFETENSORS, bytes % 2);
    return 0;
}
