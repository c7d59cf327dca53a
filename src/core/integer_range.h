/* Numbers beside integers: which of them a dtype holds. */
#ifndef KNI_INTEGER_RANGE_H
#define KNI_INTEGER_RANGE_H

#include "core/dtype.h"

/* The values of an integer dtype: *least to below *end. */
void kni_integer_range(int dtype, double *least, double *end);
/* Fails, under the name of the op, where a number is to be stored that an integer dtype does not hold: one beyond its range, NaN
   or infinite. A fraction is cut toward zero, as by kn_cast; bool and floats take any number. */
kn_status kni_check_stored(const char *op, int dtype, double value);

#endif
