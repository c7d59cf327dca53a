/* Reduction kernels for float elements. */
#include "core/math/half.h"
#include <stdint.h>

static void widen_f16(const uint16_t *x, int64_t n, float *y)
{
    for (int64_t i = 0; i < n; i++) y[i] = kni_f16_to_f32(x[i]);
}

static void widen_bf16(const uint16_t *x, int64_t n, float *y)
{
    for (int64_t i = 0; i < n; i++) y[i] = kni_bf16_to_f32(x[i]);
}

typedef float element;
#define ELEMENT_BYTES 4
typedef int32_t lane_int;
#define ELEMENT_IS_FLOAT 1
#define LOWEST (-__builtin_inff())
#define HIGHEST __builtin_inff()
#define WIDEN_F16 widen_f16
#define WIDEN_BF16 widen_bf16
#define REDUCE_TABLE kni_reduce_f32
#include "backend/cpu/tier/reduce_body.h"
