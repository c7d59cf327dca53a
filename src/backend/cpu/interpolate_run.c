/* The CPU entries of interpolation. */
#include "ops/native.h"
static kn_status run_interpolate(const kn_record *r)
{
    (void)r;
    return KN_ERROR_UNSUPPORTED;
}
const kni_native kni_cpu_interpolate = {.run = run_interpolate};
const kni_native kni_cpu_interpolate_grad = {.run = run_interpolate};
