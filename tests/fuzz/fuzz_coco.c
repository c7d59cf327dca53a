/* COCO annotations of any bytes, through a file in the working folder. */
#include "data/data_internal.h"
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FILE *file = fopen("fuzz_coco.tmp", "wb");
    if (!file) return 0;
    bool good = fwrite(data, 1, size, file) == size;
    if (fclose(file) == 0 && good)
        kn_dataset_free(kn_dataset_coco("tests/data/images", "fuzz_coco.tmp", NULL));
    remove("fuzz_coco.tmp");
    return 0;
}
