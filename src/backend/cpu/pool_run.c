/* The CPU entries of max and mean pooling. */
#include "ops/native.h"

static kn_status run_max_pool(const kn_record *r)
{
    (void)r;
    return KN_ERROR_UNSUPPORTED;
}
const kni_native kni_cpu_max_pool = {.run = run_max_pool};
const kni_native kni_cpu_avg_pool = {.run = run_max_pool};
