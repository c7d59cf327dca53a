/* Reduction kernels for float elements. */
#include <stdint.h>

typedef float element;
typedef int32_t lane_int;
#define ELEMENT_IS_FLOAT 1
#define LOWEST (-__builtin_inff())
#define HIGHEST __builtin_inff()
#define REDUCE_TABLE kni_reduce_f32
#include "backend/cpu/tier/reduce_body.h"
