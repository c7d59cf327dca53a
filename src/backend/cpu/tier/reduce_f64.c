/* Reduction kernels for double elements. */
#include <stdint.h>

typedef double element;
#define ELEMENT_BYTES 8
typedef int64_t lane_int;
#define ELEMENT_IS_FLOAT 1
#define LOWEST (-__builtin_inf())
#define HIGHEST __builtin_inf()
#define REDUCE_TABLE kni_reduce_f64
#include "backend/cpu/tier/reduce_body.h"
