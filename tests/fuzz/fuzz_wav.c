/* A WAV file of any bytes. */
#include "data/data_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int64_t rate;
    kn_drop(kn_wav_decode(data, size, "fuzz.wav", &rate));
    return 0;
}
