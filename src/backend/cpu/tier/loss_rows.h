/* The text of the cross entropy kernels for one type; see norm_lanes.h for the type. */
#ifndef KNI_BACKEND_CPU_TIER_LOSS_ROWS_H
#define KNI_BACKEND_CPU_TIER_LOSS_ROWS_H

#include "backend/cpu/loss_table.h"
#include "backend/cpu/norm_drive.h"
#include "backend/cpu/tier/norm_lanes.h"
#include <float.h>

enum { WIDTH = KNI_NORM_WIDTH };
#ifdef KNI_NORM_F64
#define EPSILON DBL_EPSILON
#else
#define EPSILON FLT_EPSILON
#endif

/* In double, so that lse - x of a large x keeps what is small beside it: the loss of a sure answer. */
static double lse_row(const void *x, int64_t n)
{
    real most = row_max(x, n);
    return (double)most + (double)M(log)(row_exp_sum(x, most, n));
}

static double smooth_row(const void *from, const void *weights, double lse, int64_t n)
{
    const real *x = from, *w = weights;
    const real z = (real)lse;
    lanes sums = {.part = {(vec){0}}};
    real tail[LANES];
    int64_t k = 0;
    for (; k + LANES <= n; k += LANES)
        for (int v = 0; v < VECTORS; v++) {
            vec d = z - load(x + k, v);
            sums.part[v] += w ? d * load(w + k, v) : d;
        }
    for (int64_t l = 0; k + l < n; l++) tail[l] = w ? (z - x[k + l]) * w[k + l] : z - x[k + l];
    return (double)lanes_total(&sums, tail, n - k);
}

/* The factor by which rounding lse has changed all exp(x - lse), whose sum is 1 but for that; 1 where lse is of other numbers.
   A sure answer's gradient is the difference of two numbers near 1, so it would be this error. */
static inline real lse_error(real total, real lse)
{
    const real size = lse < 0 ? -lse : lse, limit = 4 * EPSILON * (1 + size), apart = total - 1;
    return apart <= limit && apart >= -limit ? total : 1;
}

static void grad_row(void *to, const void *from, const void *weights, const kni_loss_gradient *g, int64_t n)
{
    real *dx = to;
    const real *x = from, *w = weights;
    if (g->target < 0) {
        memset(dx, 0, (size_t)n * sizeof *dx);
        return;
    }
    const real lse = (real)g->lse, smooth = (real)g->smooth, factor = (real)g->factor;
    EACH_ALONE
    for (int64_t k = 0; k < n; k++) dx[k] = M(exp)(x[k] - lse);
    const real all = (real)g->all / lse_error(row_sum(dx, n), lse);
    real at_target = all * dx[g->target] - (w ? smooth * w[g->target] : smooth) - (real)g->on;
    if (g->smooth > 0 && w) {
        EACH_ALONE
        for (int64_t k = 0; k < n; k++) dx[k] = factor * (all * dx[k] - smooth * w[k]);
    } else {
        EACH_ALONE
        for (int64_t k = 0; k < n; k++) dx[k] = factor * (all * dx[k] - smooth);
    }
    dx[g->target] = factor * at_target;
}

static void lse_columns(double *lse, const void *from, int64_t n, int64_t width, int64_t stride)
{
    const real *x = from;
    real most[WIDTH], total[WIDTH];
    for (int64_t j = 0; j < width; j++) {
        most[j] = -REAL_INFINITY;
        total[j] = 0;
    }
    for (int64_t k = 0; k < n; k++)
        for (int64_t j = 0; j < width; j++) {
            real v = x[k * stride + j];
            most[j] = v > most[j] ? v : most[j];
        }
    for (int64_t k = 0; k < n; k++)
        for (int64_t j = 0; j < width; j++) total[j] += M(exp)(x[k * stride + j] - most[j]);
    for (int64_t j = 0; j < width; j++) lse[j] = (double)most[j] + (double)M(log)(total[j]);
}

static void smooth_columns(double *sum, const void *from, const void *weights, const double *lse, int64_t n,
                           int64_t width, int64_t stride)
{
    const real *x = from, *w = weights;
    real total[WIDTH];
    for (int64_t j = 0; j < width; j++) total[j] = 0;
    for (int64_t k = 0; k < n; k++) {
        const real weight = w ? w[k] : 1;
        for (int64_t j = 0; j < width; j++) total[j] += weight * ((real)lse[j] - x[k * stride + j]);
    }
    for (int64_t j = 0; j < width; j++) sum[j] = (double)total[j];
}

static void grad_columns(void *to, const void *from, const void *weights, const kni_loss_gradient *g,
                         int64_t n, int64_t width, int64_t stride)
{
    real *dx = to, lse[WIDTH], all[WIDTH], smooth[WIDTH], factor[WIDTH], total[WIDTH];
    const real *x = from, *w = weights;
    for (int64_t j = 0; j < width; j++) {
        lse[j] = (real)g[j].lse;
        total[j] = 0;
        smooth[j] = (real)g[j].smooth;
        factor[j] = (real)g[j].factor;
    }
    for (int64_t k = 0; k < n; k++) {
        EACH_ALONE
        for (int64_t j = 0; j < width; j++) dx[k * stride + j] = M(exp)(x[k * stride + j] - lse[j]);
        for (int64_t j = 0; j < width; j++) total[j] += dx[k * stride + j];
    }
    for (int64_t j = 0; j < width; j++) all[j] = (real)g[j].all / lse_error(total[j], lse[j]);
    for (int64_t k = 0; k < n; k++) {
        const real weight = w ? w[k] : 1;
        EACH_ALONE
        for (int64_t j = 0; j < width; j++) {
            real on = g[j].target == k ? (real)g[j].on : 0;
            dx[k * stride + j] = factor[j] * (all[j] * dx[k * stride + j] - smooth[j] * weight - on);
        }
    }
    for (int64_t j = 0; j < width; j++)
        for (int64_t k = 0; k < n && g[j].target < 0; k++) dx[k * stride + j] = 0;
}

#define LOSS_KERNELS                                                                                         \
    {                                                                                                        \
        lse_row, smooth_row, grad_row, lse_columns, smooth_columns, grad_columns                             \
    }

#endif
