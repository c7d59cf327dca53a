/* The cells of lstm, gru and rnn in single precision: loops that the compiler vectorises. */
#include "backend/cpu/cell_kernels.h"
#include "core/math/math.h"
#include <kn/functional.h>

#define EACH for (int64_t k = 0; k < n; k++)

static void activate_to(const kni_gate_function *f, int64_t n, float *y, const float *x)
{
    const float alpha = f->alpha, beta = f->beta;
    if (f->clip > 0) {
        const float clip = f->clip;
        EACH
        {
            float v = x[k] > clip ? clip : x[k];
            y[k] = v < -clip ? -clip : v;
        }
        x = y;
    }
    switch (f->kind) {
    case KN_GATE_SIGMOID:
        EACH y[k] = kni_sigmoid_f32(x[k]);
        break;
    case KN_GATE_TANH:
        EACH y[k] = kni_tanh_f32(x[k]);
        break;
    case KN_GATE_RELU:
        EACH y[k] = x[k] < 0 ? 0 : x[k];
        break;
    case KN_GATE_AFFINE:
        EACH y[k] = alpha * x[k] + beta;
        break;
    case KN_GATE_LEAKY_RELU:
        EACH y[k] = x[k] < 0 ? alpha * x[k] : x[k];
        break;
    case KN_GATE_THRESHOLDED_RELU:
        EACH y[k] = x[k] > alpha ? x[k] : 0;
        break;
    case KN_GATE_SCALED_TANH:
        EACH y[k] = alpha * kni_tanh_f32(beta * x[k]);
        break;
    case KN_GATE_HARD_SIGMOID:
        EACH
        {
            float v = alpha * x[k] + beta;
            v = v < 0 ? 0 : v;
            y[k] = v > 1 ? 1 : v;
        }
        break;
    case KN_GATE_ELU:
        EACH y[k] = x[k] < 0 ? alpha * (float)kni_expm1_f64((double)x[k]) : x[k];
        break;
    case KN_GATE_SOFTSIGN:
        EACH y[k] = x[k] / (1 + kni_abs_f32(x[k]));
        break;
    default:
        EACH y[k] =
            (float)((x[k] > 0 ? (double)x[k] : 0) + kni_log1p_f64(kni_exp_f64(-kni_abs_f64((double)x[k]))));
        break;
    }
}

static void activate(const kni_gate_function *f, int64_t n, float *v) { activate_to(f, n, v, v); }

static void lstm(int64_t n, const float *restrict gates, float *restrict c, float *restrict h)
{
    EACH
    {
        const float i = kni_sigmoid_f32(gates[k]), o = kni_sigmoid_f32(gates[n + k]),
                    f = kni_sigmoid_f32(gates[2 * n + k]), g = kni_tanh_f32(gates[3 * n + k]);
        const float now = f * c[k] + i * g;
        c[k] = now;
        h[k] = o * kni_tanh_f32(now);
    }
}

static void gru(int64_t n, const float *restrict z, const float *restrict g, float *restrict h)
{
    EACH h[k] = (1 - z[k]) * kni_tanh_f32(g[k]) + z[k] * h[k];
}

static void add_product(int64_t n, float *restrict y, const float *restrict a, const float *restrict b)
{
    EACH y[k] += a[k] * b[k];
}

static void product(int64_t n, float *y, const float *a, const float *b) { EACH y[k] = a[k] * b[k]; }

static void blend(int64_t n, float *restrict y, const float *restrict f, const float *restrict i,
                  const float *restrict g)
{
    EACH y[k] = f[k] * y[k] + i[k] * g[k];
}

static void mix(int64_t n, float *restrict h, const float *restrict z, const float *restrict g)
{
    EACH h[k] = (1 - z[k]) * g[k] + z[k] * h[k];
}

static void rest(int64_t n, float *y, const float *x) { EACH y[k] = 1 - x[k]; }

const kni_recurrent_kernels KNI_TIER_FN(kni_recurrent_f32) = {activate, activate_to, lstm, gru, add_product,
                                                              product,  blend,       mix,  rest};
