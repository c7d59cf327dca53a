/* Rows that compute nothing. */
#include "ops/infer.h"

OP(drop, .doc = "the operand dies", .min_in = 1, .max_in = 1, .n_out = 0, .kind = KNI_SYSTEM,
   .flags = KNI_FLAG_NO_GRADIENT, .infer = kni_infer_same)
