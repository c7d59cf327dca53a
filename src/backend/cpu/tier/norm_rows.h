/* The text of the norm kernels for one type; see norm_lanes.h for the type. */
#ifndef KNI_BACKEND_CPU_TIER_NORM_ROWS_H
#define KNI_BACKEND_CPU_TIER_NORM_ROWS_H

#include "backend/cpu/fetch_ahead.h"
#include "backend/cpu/norm_kernels.h"
#include "backend/cpu/tier/norm_lanes.h"

typedef struct row_statistics {
    real mean, scale;
} row_statistics;

static inline row_statistics statistics(const real *x, int64_t n, bool centre, double eps)
{
    row_statistics s = {0, 0};
    if (centre) s.mean = row_sum(x, n) / (real)n;
    real variance = row_squares(x, s.mean, n) / (real)n;
    s.scale = 1 / M(sqrt)(variance + (real)eps);
    return s;
}

static void norm_row(void *to, const void *from, const void *weights, const void *biases, int64_t n,
                     bool centre, double eps)
{
    real *y = to;
    const real *x = from, *w = weights, *b = biases;
    row_statistics s = statistics(x, n, centre, eps);
    for (int64_t first = 0, end; first < n; first = end) {
        end = kni_rows_piece(first, n, KNI_WORK_STATISTICS);
        if (w && b) {
            EACH_ALONE
            for (int64_t k = first; k < end; k++) y[k] = (x[k] - s.mean) * s.scale * w[k] + b[k];
        } else if (w) {
            EACH_ALONE
            for (int64_t k = first; k < end; k++) y[k] = (x[k] - s.mean) * s.scale * w[k];
        } else {
            EACH_ALONE
            for (int64_t k = first; k < end; k++) y[k] = (x[k] - s.mean) * s.scale;
            if (!b) continue;
            EACH_ALONE
            for (int64_t k = first; k < end; k++) y[k] += b[k];
        }
    }
}

/* Sums of g and of g h over a row, in lanes. */
static inline void gradient_sums(const real *dy, const real *x, const real *w, int64_t n, row_statistics s,
                                 real *sum_g, real *sum_gh)
{
    lanes sums = {.part = {(vec){0}}}, products = {.part = {(vec){0}}};
    real tail[LANES], product_tail[LANES];
    int64_t k = 0;
    for (; k + LANES <= n; k += LANES)
        for (int v = 0; v < VECTORS; v++) {
            vec g = w ? load(dy + k, v) * load(w + k, v) : load(dy + k, v);
            sums.part[v] += g;
            products.part[v] += g * ((load(x + k, v) - s.mean) * s.scale);
        }
    for (int64_t l = 0; k + l < n; l++) {
        tail[l] = w ? dy[k + l] * w[k + l] : dy[k + l];
        product_tail[l] = tail[l] * ((x[k + l] - s.mean) * s.scale);
    }
    *sum_g = lanes_total(&sums, tail, n - k);
    *sum_gh = lanes_total(&products, product_tail, n - k);
}

static void norm_grad_row(void *to, const void *gradient, const void *from, const void *weights, int64_t n,
                          bool centre, double eps)
{
    real *dx = to, sum_g, sum_gh;
    const real *dy = gradient, *x = from, *w = weights;
    row_statistics s = statistics(x, n, centre, eps);
    gradient_sums(dy, x, w, n, s, &sum_g, &sum_gh);
    real a = centre ? sum_g / (real)n : 0, b = sum_gh / (real)n;
    if (w) {
        EACH_ALONE
        for (int64_t k = 0; k < n; k++) dx[k] = s.scale * (dy[k] * w[k] - a - (x[k] - s.mean) * s.scale * b);
    } else {
        EACH_ALONE
        for (int64_t k = 0; k < n; k++) dx[k] = s.scale * (dy[k] - a - (x[k] - s.mean) * s.scale * b);
    }
}

static void norm_affine_row(void *to_weight, void *to_bias, const void *gradient, const void *from, int64_t n,
                            bool centre, double eps)
{
    real *dw = to_weight, *db = to_bias;
    const real *dy = gradient, *x = from;
    row_statistics s = statistics(x, n, centre, eps);
    EACH_ALONE
    for (int64_t k = 0; k < n; k++) dw[k] += dy[k] * ((x[k] - s.mean) * s.scale);
    EACH_ALONE
    for (int64_t k = 0; k < n; k++) db[k] += dy[k];
}

static void norm_add(void *to, const void *from, int64_t n)
{
    real *sum = to;
    const real *x = from;
    EACH_ALONE
    for (int64_t k = 0; k < n; k++) sum[k] += x[k];
}

static double run_sum(const void *from, int64_t n)
{
    const real *x = from;
    wide_lanes sums = {.part = {(wide_vec){0}}};
    double tail[LANES];
    int64_t k = 0;
    for (; k + LANES <= n; k += LANES)
        for (int v = 0; v < WIDE_VECTORS; v++) sums.part[v] += load_wide(x + k, v);
    for (int64_t l = 0; k + l < n; l++) tail[l] = x[k + l];
    return wide_total(&sums, tail, n - k);
}

static double run_squares(const void *from, double mean, int64_t n)
{
    const real *x = from;
    wide_lanes sums = {.part = {(wide_vec){0}}};
    double tail[LANES];
    int64_t k = 0;
    for (; k + LANES <= n; k += LANES)
        for (int v = 0; v < WIDE_VECTORS; v++) {
            wide_vec d = load_wide(x + k, v) - mean;
            sums.part[v] += d * d;
        }
    for (int64_t l = 0; k + l < n; l++) tail[l] = ((double)x[k + l] - mean) * ((double)x[k + l] - mean);
    return wide_total(&sums, tail, n - k);
}

static double run_dot(const void *gradient, const void *from, double mean, int64_t n)
{
    const real *dy = gradient, *x = from;
    wide_lanes sums = {.part = {(wide_vec){0}}};
    double tail[LANES];
    int64_t k = 0;
    for (; k + LANES <= n; k += LANES)
        for (int v = 0; v < WIDE_VECTORS; v++)
            sums.part[v] += load_wide(dy + k, v) * (load_wide(x + k, v) - mean);
    for (int64_t l = 0; k + l < n; l++) tail[l] = (double)dy[k + l] * ((double)x[k + l] - mean);
    return wide_total(&sums, tail, n - k);
}

static void run_scale(void *to, const void *from, double mean, double scale, double shift, int64_t n)
{
    real *y = to;
    const real *x = from;
    const real m = (real)mean, s = (real)scale, b = (real)shift;
    EACH_ALONE
    for (int64_t k = 0; k < n; k++) y[k] = (x[k] - m) * s + b;
}

static void run_grad(void *to, const void *gradient, const void *from, double mean, double gain, double a,
                     double b, int64_t n)
{
    real *dx = to;
    const real *dy = gradient, *x = from;
    const real m = (real)mean, g = (real)gain, sum = (real)a, slope = (real)b;
    EACH_ALONE
    for (int64_t k = 0; k < n; k++) dx[k] = g * (dy[k] - sum - (x[k] - m) * slope);
}

static void column_sums(double *sum, const void *from, int64_t n)
{
    const real *x = from;
    EACH_ALONE
    for (int64_t k = 0; k < n; k++) sum[k] += x[k];
}

static void column_squares(double *sum, const void *from, const double *mean, int64_t n)
{
    const real *x = from;
    EACH_ALONE
    for (int64_t k = 0; k < n; k++) sum[k] += (x[k] - mean[k]) * (x[k] - mean[k]);
}

static void column_dots(double *sum, const void *gradient, const void *from, const double *mean, int64_t n)
{
    const real *dy = gradient, *x = from;
    EACH_ALONE
    for (int64_t k = 0; k < n; k++) sum[k] += dy[k] * (x[k] - mean[k]);
}

static void column_scale(void *to, const void *from, const void *means, const void *scales,
                         const void *shifts, int64_t n)
{
    real *y = to;
    const real *x = from, *m = means, *s = scales, *b = shifts;
    EACH_ALONE
    for (int64_t k = 0; k < n; k++) y[k] = (x[k] - m[k]) * s[k] + b[k];
}

static void column_grad(void *to, const void *gradient, const void *from, const void *const *numbers,
                        int64_t n)
{
    real *dx = to;
    const real *dy = gradient, *x = from;
    const real *m = numbers[0], *gain = numbers[1], *a = numbers[2], *b = numbers[3];
    EACH_ALONE
    for (int64_t k = 0; k < n; k++) dx[k] = gain[k] * (dy[k] - a[k] - (x[k] - m[k]) * b[k]);
}

#define NORM_KERNELS                                                                                         \
    {                                                                                                        \
        norm_row, norm_grad_row, norm_affine_row, norm_add, run_sum, run_squares, run_dot, run_scale,        \
            run_grad, column_sums, column_squares, column_dots, column_scale, column_grad                    \
    }

#endif
