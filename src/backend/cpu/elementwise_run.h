/* Elementwise records in strips: blocks of each operand pass through the row's kernel while they are in the
   first-level cache. */
#ifndef KNI_ELEMENTWISE_RUN_H
#define KNI_ELEMENTWISE_RUN_H

#include "core/dtype.h"
#include <kn/backend.h>

kn_status kni_cpu_elementwise(const kn_record *r);

/* The compute type of an elementwise record, the dtype common to its operands, and the strip type of its result. */
kni_compute kni_cpu_strip_types(const kn_record *r, int *common, int *out_strip_dtype);

#endif
