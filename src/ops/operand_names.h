/* What the operands of rows are called. */
#ifndef KNI_OPERAND_NAMES_H
#define KNI_OPERAND_NAMES_H

#include "ops/op.h"

/* "x weight bias": in their order, "x ..." where there is any number of them. Those beyond min_in may be left out. */
const char *kni_operand_names(const kn_op *row);

#endif
