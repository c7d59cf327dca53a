/* The text of the softmax kernels for one type; see norm_lanes.h for the type. */
#ifndef KNI_BACKEND_CPU_TIER_SOFTMAX_ROWS_H
#define KNI_BACKEND_CPU_TIER_SOFTMAX_ROWS_H

#include "backend/cpu/fetch_ahead.h"
#include "backend/cpu/softmax_kernels.h"
#include "backend/cpu/tier/norm_lanes.h"

enum { WIDTH = KNI_SOFTMAX_WIDTH };

static void softmax_row(void *to, const void *from, int64_t n, bool logarithm, bool quiet)
{
    real *y = to;
    const real *x = from;
    real most = row_max(x, n);
    if (quiet && !(most > 0)) most = 0;
    real extra = quiet ? M(exp)(-most) : 0;
    if (logarithm) {
        real shift = M(log)(row_exp_sum(x, most, n) + extra);
        EACH_ALONE
        for (int64_t k = 0; k < n; k++) y[k] = (x[k] - most) - shift;
        return;
    }
    for (int64_t first = 0, end; first < n; first = end) {
        end = kni_rows_piece(first, n, KNI_WORK_HEAVY);
        EACH_ALONE
        for (int64_t k = first; k < end; k++) y[k] = M(exp)(x[k] - most);
    }
    real total = row_sum(y, n) + extra;
    for (int64_t first = 0, end; first < n; first = end) {
        end = kni_rows_piece(first, n, KNI_WORK_DIVISION);
        EACH_ALONE
        for (int64_t k = first; k < end; k++) y[k] = y[k] / total;
    }
}

static void softmax_grad_row(void *to, const void *gradient, const void *result, int64_t n, bool logarithm)
{
    real *dx = to;
    const real *dy = gradient, *y = result;
    if (logarithm) {
        real total = row_sum(dy, n);
        EACH_ALONE
        for (int64_t k = 0; k < n; k++) dx[k] = dy[k] - M(exp)(y[k]) * total;
        return;
    }
    real total = row_dot(dy, y, n);
    EACH_ALONE
    for (int64_t k = 0; k < n; k++) dx[k] = y[k] * (dy[k] - total);
}

static void softmax_columns(void *to, const void *from, int64_t n, int64_t width, int64_t stride,
                            bool logarithm, bool quiet)
{
    real *y = to, most[WIDTH], total[WIDTH];
    const real *x = from;
    for (int64_t j = 0; j < width; j++) most[j] = quiet ? 0 : -REAL_INFINITY;
    for (int64_t k = 0; k < n; k++)
        for (int64_t j = 0; j < width; j++) {
            real v = x[k * stride + j];
            most[j] = v > most[j] ? v : most[j];
        }
    for (int64_t j = 0; j < width; j++) total[j] = quiet ? M(exp)(-most[j]) : 0;
    for (int64_t k = 0; k < n; k++)
        for (int64_t j = 0; j < width; j++) total[j] += M(exp)(x[k * stride + j] - most[j]);
    if (logarithm) {
        for (int64_t j = 0; j < width; j++) total[j] = M(log)(total[j]);
        for (int64_t k = 0; k < n; k++) {
            EACH_ALONE
            for (int64_t j = 0; j < width; j++) y[k * stride + j] = (x[k * stride + j] - most[j]) - total[j];
        }
        return;
    }
    for (int64_t k = 0; k < n; k++) {
        EACH_ALONE
        for (int64_t j = 0; j < width; j++)
            y[k * stride + j] = M(exp)(x[k * stride + j] - most[j]) / total[j];
    }
}

static void softmax_grad_columns(void *to, const void *gradient, const void *result, int64_t n, int64_t width,
                                 int64_t stride, bool logarithm)
{
    real *dx = to, total[WIDTH];
    const real *dy = gradient, *y = result;
    for (int64_t j = 0; j < width; j++) total[j] = 0;
    for (int64_t k = 0; k < n; k++) {
        const real *g = dy + k * stride, *r = y + k * stride;
        if (logarithm)
            for (int64_t j = 0; j < width; j++) total[j] += g[j];
        else
            for (int64_t j = 0; j < width; j++) total[j] += g[j] * r[j];
    }
    for (int64_t k = 0; k < n; k++) {
        const real *g = dy + k * stride, *r = y + k * stride;
        real *d = dx + k * stride;
        if (logarithm) {
            EACH_ALONE
            for (int64_t j = 0; j < width; j++) d[j] = g[j] - M(exp)(r[j]) * total[j];
        } else {
            EACH_ALONE
            for (int64_t j = 0; j < width; j++) d[j] = r[j] * (g[j] - total[j]);
        }
    }
}

#define SOFTMAX_KERNELS                                                                                      \
    {                                                                                                        \
        softmax_row, softmax_columns                                                                         \
    }
#define SOFTMAX_GRAD_KERNELS                                                                                 \
    {                                                                                                        \
        softmax_grad_row, softmax_grad_columns                                                               \
    }

#endif
