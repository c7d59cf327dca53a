/* What running an op asks of autocast. */
#ifndef KNI_AUTOCAST_STATE_H
#define KNI_AUTOCAST_STATE_H

#include "ops/op.h"
#include <stdatomic.h>

/* Writes the operands to use instead of `in` to `cast`, which has room for n; false: use `in` itself. */
typedef bool (*kni_autocast_fn)(const kn_op *row, const kn_tensor *in, int n, kn_tensor *cast);

/* Both are defined in ops/apply.c; operands is NULL until somebody begins to autocast, so that a program which never does
   links none of it. */
extern _Atomic(kni_autocast_fn) kni_autocast_operands;
/* What is in force in this thread: KN_BF16, KN_F16, or 0. Gradients run with none: they follow their operands' dtypes. */
extern KNI_THREAD_LOCAL uint8_t kni_autocast_now;

#endif
