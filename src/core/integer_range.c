/* The one rule for numbers that are stored in integer tensors: full, pad, fills and threshold ask here. */
#include "core/integer_range.h"
#include "core/error.h"
#include <kn/tensor.h>

void kni_integer_range(int dtype, double *least, double *end)
{
    bool is_signed = kni_dtypes[dtype].kind == KNI_KIND_SIGNED;
    double half = (double)(UINT64_C(1) << (kni_dtypes[dtype].bits - 1));
    *least = is_signed ? -half : 0;
    *end = is_signed ? half : 2 * half;
}

kn_status kni_check_stored(const char *op, int dtype, double value)
{
    double least, end;
    int kind = kni_dtype_is_there((kn_dtype)dtype) ? kni_dtypes[dtype].kind : KNI_KIND_NONE;
    if (kind != KNI_KIND_SIGNED && kind != KNI_KIND_UNSIGNED) return KN_OK;
    kni_integer_range(dtype, &least, &end);
    if ((value >= least || value > least - 1) && value < end) return KN_OK;
    return kni_fail_op(KN_ERROR_ARGUMENT, op,
                       "%T cannot hold the number %g: convert with kn_cast() to a dtype that does", dtype,
                       value);
}
