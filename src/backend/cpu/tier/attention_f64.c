/* The f64 rows of attention of one tier. */
#include "backend/cpu/tier.h"

typedef double real;
#define REAL(name) name##_f64
#include "backend/cpu/tier/attention_rows.h"

const kni_attention_kernels KNI_TIER_FN(kni_attention_f64) = ATTENTION_KERNELS;
