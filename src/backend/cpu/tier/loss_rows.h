/* The text of the cross entropy kernels for one type; see norm_lanes.h for the type. */
#ifndef KNI_BACKEND_CPU_TIER_LOSS_ROWS_H
#define KNI_BACKEND_CPU_TIER_LOSS_ROWS_H

#include "backend/cpu/loss_table.h"
#include "backend/cpu/norm_drive.h"
#include "backend/cpu/tier/norm_lanes.h"

enum { WIDTH = KNI_NORM_WIDTH };

static double lse_row(const void *x, int64_t n)
{
    real most = row_max(x, n);
    return (double)(most + M(log)(row_exp_sum(x, most, n)));
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

static void grad_row(void *to, const void *from, const void *weights, const kni_loss_gradient *g, int64_t n)
{
    real *dx = to;
    const real *x = from, *w = weights;
    if (g->target < 0) {
        memset(dx, 0, (size_t)n * sizeof *dx);
        return;
    }
    const real lse = (real)g->lse, all = (real)g->all, smooth = (real)g->smooth, factor = (real)g->factor;
    real at_target = all * M(exp)(x[g->target] - lse) - (w ? smooth * w[g->target] : smooth) - (real)g->on;
    if (g->smooth > 0 && w) {
        EACH_ALONE
        for (int64_t k = 0; k < n; k++) dx[k] = factor * (all * M(exp)(x[k] - lse) - smooth * w[k]);
    } else {
        EACH_ALONE
        for (int64_t k = 0; k < n; k++) dx[k] = factor * (all * M(exp)(x[k] - lse) - smooth);
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
    for (int64_t j = 0; j < width; j++) lse[j] = (double)(most[j] + M(log)(total[j]));
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
    real *dx = to, lse[WIDTH], all[WIDTH], smooth[WIDTH], factor[WIDTH];
    const real *x = from, *w = weights;
    for (int64_t j = 0; j < width; j++) {
        lse[j] = (real)g[j].lse;
        all[j] = (real)g[j].all;
        smooth[j] = (real)g[j].smooth;
        factor[j] = (real)g[j].factor;
    }
    for (int64_t k = 0; k < n; k++) {
        const real weight = w ? w[k] : 1;
        EACH_ALONE
        for (int64_t j = 0; j < width; j++)
            dx[k * stride + j] =
                factor[j] * (all[j] * M(exp)(x[k * stride + j] - lse[j]) - smooth[j] * weight);
    }
    for (int64_t j = 0; j < width; j++) {
        int64_t at = g[j].target * stride + j;
        if (g[j].target < 0) {
            for (int64_t k = 0; k < n; k++) dx[k * stride + j] = 0;
        } else {
            const real weight = w ? w[g[j].target] : 1;
            dx[at] = factor[j] * (all[j] * M(exp)(x[at] - lse[j]) - smooth[j] * weight - (real)g[j].on);
        }
    }
}

#define LOSS_KERNELS                                                                                         \
    {                                                                                                        \
        lse_row, smooth_row, grad_row, lse_columns, smooth_columns, grad_columns                             \
    }

#endif
