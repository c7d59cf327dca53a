/* How far two right results of a row may be apart. */
#ifndef KNI_TOLERANCE_H
#define KNI_TOLERANCE_H

#include "ops/op.h"

/* Whether each element of a result is computed by itself: nothing is summed along an axis. */
bool kni_computes_alone(const kn_op *row);

/* The relative bound for a result dtype when about `length` terms make one element; 0 where results must be
   equal (movement, integers). */
double kni_tolerance_bound(const kn_op *row, int dtype, int64_t length);

#endif
