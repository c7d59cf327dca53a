/* In which order the results of a record lie (docs/layout.md). */
#ifndef KNI_ORDER_H
#define KNI_ORDER_H

#include "ops/record.h"

/* Promises the record's results an order, by the row, the operands and what the leaf of `device` wants. Types are inferred. Without
   a call every result is row-major. */
void kni_order_results(const kn_record *r, kn_device device);

#endif
