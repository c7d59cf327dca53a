/* Reduction kernels for 64-bit signed elements. */
#include <stdint.h>

typedef int64_t element;
#define ELEMENT_BYTES 8
typedef int64_t lane_int;
#define LOWEST INT64_MIN
#define HIGHEST INT64_MAX
#define REDUCE_TABLE kni_reduce_i64
#include "backend/cpu/tier/reduce_body.h"
