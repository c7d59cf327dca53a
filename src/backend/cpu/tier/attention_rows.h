/* Rows of attention scores of one type, which the including file chooses with `real` and REAL(name). Loops are
   written for the compiler to vectorise; sums have 16 lanes on every tier. */
#include "backend/cpu/attention_table.h"
#include "core/math/math.h"

enum { SUM_LANES = 16 };

static real sum_lanes(real lanes[SUM_LANES])
{
    for (int half = SUM_LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++) lanes[l] += lanes[l + half];
    return lanes[0];
}

static void soften_row(void *row, int64_t n, double cap)
{
    real *x = row;
    const real by = (real)(1 / cap);
    for (int64_t i = 0; i < n; i++) x[i] = REAL(kni_tanh)(x[i] * by);
}

/* The largest of x; NaN is passed over, it shows in the sum. */
static real row_max(const real *x, int64_t n)
{
    real lanes[SUM_LANES], highest;
    for (int l = 0; l < SUM_LANES; l++) lanes[l] = -(real)__builtin_inf();
    int64_t i = 0;
    for (; i + SUM_LANES <= n; i += SUM_LANES)
        for (int l = 0; l < SUM_LANES; l++) lanes[l] = x[i + l] > lanes[l] ? x[i + l] : lanes[l];
    for (int l = 0; i < n; i++, l++) lanes[l] = x[i] > lanes[l] ? x[i] : lanes[l];
    highest = lanes[0];
    for (int l = 1; l < SUM_LANES; l++) highest = lanes[l] > highest ? lanes[l] : highest;
    return highest;
}

/* x = exp(x - highest); returns the sum. */
static real row_exp(real *x, int64_t n, real highest)
{
    real lanes[SUM_LANES] = {0};
    int64_t i = 0;
    for (; i + SUM_LANES <= n; i += SUM_LANES)
        for (int l = 0; l < SUM_LANES; l++) {
            x[i + l] = REAL(kni_exp)(x[i + l] - highest);
            lanes[l] += x[i + l];
        }
    for (int l = 0; i < n; i++, l++) {
        x[i] = REAL(kni_exp)(x[i] - highest);
        lanes[l] += x[i];
    }
    return sum_lanes(lanes);
}

static void softmax_row(void *row, int64_t n)
{
    real *x = row;
    const real highest = row_max(x, n);
    const int blind = highest == -(real)__builtin_inf();
    /* Without any key all are -inf, or NaN, which exp keeps. */
    const real total = row_exp(x, n, blind ? 0 : highest);
    const real by = total == 0 ? 0 : 1 / total;
    for (int64_t i = 0; i < n; i++) x[i] *= by;
}

static void backward_row(void *row, const void *weights, int64_t n)
{
    real *dp = row;
    const real *p = weights;
    real lanes[SUM_LANES] = {0};
    int64_t i = 0;
    for (; i + SUM_LANES <= n; i += SUM_LANES)
        for (int l = 0; l < SUM_LANES; l++) lanes[l] += p[i + l] * dp[i + l];
    for (int l = 0; i < n; i++, l++) lanes[l] += p[i] * dp[i];
    const real sum = sum_lanes(lanes);
    for (i = 0; i < n; i++) dp[i] = p[i] * (dp[i] - sum);
}

#define ATTENTION_KERNELS                                                                                    \
    {                                                                                                        \
        .soften = soften_row, .softmax = softmax_row, .backward = backward_row                               \
    }
