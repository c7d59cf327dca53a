/* What running an op asks of autocast. */
#ifndef KNI_AUTOCAST_H
#define KNI_AUTOCAST_H

#include "ops/op.h"
#include <stdatomic.h>

/* Writes the operands to use instead of `in` to `cast`, which has room for n; false: use `in` itself. */
typedef bool (*kni_autocast_fn)(const kn_op *row, const kn_tensor *in, int n, kn_tensor *cast);
/* Puts a dtype in force in this thread and gives the one before; gradients run with none. */
typedef kn_dtype (*kni_autocast_swap_fn)(kn_dtype dtype);

/* NULL until somebody begins to autocast, so that a program which never does links none of it. Defined in ops/apply.c. */
extern _Atomic(kni_autocast_fn) kni_autocast_operands;
extern _Atomic(kni_autocast_swap_fn) kni_autocast_swap;

#endif
