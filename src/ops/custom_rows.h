/* Looking up custom ops. */
#ifndef KNI_CUSTOM_ROWS_H
#define KNI_CUSTOM_ROWS_H

#include "ops/op.h"

const kn_op *kni_custom_by_name(const char *name);

#endif
