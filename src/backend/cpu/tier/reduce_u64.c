/* Reduction kernels for 64-bit unsigned elements. */
#include <stdint.h>

typedef uint64_t element;
#define ELEMENT_BYTES 8
typedef int64_t lane_int;
#define LOWEST 0
#define HIGHEST UINT64_MAX
#define REDUCE_TABLE kni_reduce_u64
#include "backend/cpu/tier/reduce_body.h"
