/* What running an op asks of autocast. */
#ifndef KNI_AUTOCAST_STATE_H
#define KNI_AUTOCAST_STATE_H

#include "ops/op.h"
#include <stdatomic.h>

/* Writes the operands to use instead of `in` to `cast`, which has room for n; false: use `in` itself. */
typedef bool (*kni_autocast_fn)(const kn_op *row, const kn_tensor *in, int n, kn_tensor *cast);

/* Defined in ops/apply.c; NULL until somebody begins to autocast, so that a program which never does links none of it. What is in
   force is part of the thread's context. Gradients run with none: they follow their operands' dtypes. */
extern _Atomic(kni_autocast_fn) kni_autocast_operands;

#endif
