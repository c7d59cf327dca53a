/* Reduction kernels for 8-bit unsigned and bool elements. */
#include <stdint.h>

typedef uint8_t element;
#define ELEMENT_BYTES 1
typedef int8_t lane_int;
#define LOWEST 0
#define HIGHEST UINT8_MAX
#define REDUCE_TABLE kni_reduce_u8
#include "backend/cpu/tier/reduce_body.h"
