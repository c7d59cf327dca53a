/* Elementwise kernels of this tier, part 0: every row in turn belongs to another part. */
#include "backend/cpu/elementwise_strip.h"

#include "backend/cpu/generated/elementwise_strips_0.inc"
