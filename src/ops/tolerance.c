/* The tolerance column of the table. */
#include "ops/tolerance.h"
#include "core/math/math.h"

bool kni_computes_alone(const kn_op *row)
{
    return row->kind == KNI_ELEMENTWISE || row->kind == KNI_RANDOM || row->kind == KNI_CREATE;
}

double kni_tolerance_bound(const kn_op *row, int dtype, int64_t length)
{
    if (!kn_dtype_is_float((kn_dtype)dtype)) return 0;
    double terms = length > 1 && !kni_computes_alone(row) ? (double)length : 1;
    double ulps = (double)row->tolerance.ulps + (double)row->tolerance.roots * kni_sqrt_f64(terms);
    return ulps * kn_dtype_limits((kn_dtype)dtype).eps;
}
