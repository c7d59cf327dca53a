/* Defined rows on the CPU: their bodies as strips, one word after another. */
#include "ops/defined.h"
#include "ops/native.h"

static kn_status later(const kn_record *r)
{
    (void)r;
    return KN_ERROR_UNSUPPORTED;
}
const kni_native kni_cpu_defined_points = {.run = later};
const kni_native kni_cpu_defined_lines = {.run = later};
