/* The f32 rows of attention of one tier. */
#include "backend/cpu/tier.h"

typedef float real;
#define REAL(name) name##_f32
#include "backend/cpu/tier/attention_rows.h"

const kni_attention_kernels KNI_TIER_FN(kni_attention_f32) = ATTENTION_KERNELS;
