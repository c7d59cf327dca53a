/* Elementwise records in strips: blocks of each operand pass through the row's kernel while they are in the
   first-level cache. */
#ifndef KNI_ELEMENTWISE_RUN_H
#define KNI_ELEMENTWISE_RUN_H

#include <kn/backend.h>

kn_status kni_cpu_elementwise(const kn_record *r);

#endif
