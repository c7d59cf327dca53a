/* Interpolation of lines for one element type T: the rows of a line's taps are combined first, then their columns.
   NAME(x) names an exported function. */
#include "backend/cpu/interpolate_kernels.h"

static void scale_row(T *restrict to, const T *restrict from, T weight, int64_t n)
{
    for (int64_t i = 0; i < n; i++) to[i] = weight * from[i];
}

static void add_row(T *restrict to, const T *restrict from, T weight, int64_t n)
{
    for (int64_t i = 0; i < n; i++) to[i] += weight * from[i];
}

/* y[o] = sum over k of weights[o, k] row[positions[o, k]]; called with a constant width where that pays. */
static inline __attribute__((always_inline)) void columns(const kni_resize_plan *p, T *restrict y,
                                                          const T *restrict row, int64_t width)
{
    const int64_t *at = p->positions[2];
    const T *weights = p->weights[2];
    for (int64_t o = 0; o < p->sy[2]; o++, at += width, weights += width) {
        T total = weights[0] * row[at[0]];
        for (int64_t k = 1; k < width; k++) total += weights[k] * row[at[k]];
        y[o] = total;
    }
}

/* The same where some results have fewer taps. */
static void ragged_columns(const kni_resize_plan *p, T *restrict y, const T *restrict row, int64_t width)
{
    const int64_t *at = p->positions[2];
    const T *weights = p->weights[2];
    for (int64_t o = 0; o < p->sy[2]; o++, at += width, weights += width) {
        T total = weights[0] * row[at[0]];
        for (int64_t k = 1; k < width && at[k] >= 0; k++) total += weights[k] * row[at[k]];
        y[o] = total;
    }
}

/* A tap of weight 0 read nothing: dy may be NaN or infinite there. */
static inline __attribute__((always_inline)) void columns_back(const kni_resize_plan *p, const T *restrict dy,
                                                               T *restrict row, int64_t width)
{
    const int64_t *at = p->positions[2];
    const T *weights = p->weights[2];
    for (int64_t i = 0; i < p->sx[2]; i++) row[i] = 0;
    for (int64_t o = 0; o < p->sy[2]; o++, at += width, weights += width)
        for (int64_t k = 0; k < width; k++)
            if (weights[k] != 0) row[at[k]] += weights[k] * dy[o];
}

void NAME(kni_resize)(const kni_resize_plan *p, const void *from, void *to, void *row, int64_t begin,
                      int64_t end)
{
    int64_t n = p->sx[2], w0 = p->width[0], w1 = p->width[1];
    for (int64_t line = begin; line < end; line++) {
        int64_t o0 = line / p->sy[1], o1 = line % p->sy[1];
        for (int64_t k = 0; k < w0 * w1; k++) {
            int64_t t0 = o0 * w0 + k / w1, t1 = o1 * w1 + k % w1;
            if (p->positions[0][t0] < 0 || p->positions[1][t1] < 0) continue;
            T weight = ((const T *)p->weights[0])[t0] * ((const T *)p->weights[1])[t1];
            const T *source = (const T *)from + (p->positions[0][t0] * p->sx[1] + p->positions[1][t1]) * n;
            if (k)
                add_row(row, source, weight, n);
            else
                scale_row(row, source, weight, n);
        }
        T *y = (T *)to + line * p->sy[2];
        if (p->ragged[2])
            ragged_columns(p, y, row, p->width[2]);
        else if (p->width[2] == 1)
            columns(p, y, row, 1);
        else if (p->width[2] == 2)
            columns(p, y, row, 2);
        else if (p->width[2] == 4)
            columns(p, y, row, 4);
        else
            columns(p, y, row, p->width[2]);
    }
}

void NAME(kni_resize_back)(const kni_resize_plan *p, const void *from, void *to, void *row, int64_t begin,
                           int64_t end)
{
    int64_t n = p->sx[2], w0 = p->width[0], w1 = p->width[1];
    for (int64_t line = begin; line < end; line++) {
        int64_t o0 = line / p->sy[1], o1 = line % p->sy[1];
        const T *dy = (const T *)from + line * p->sy[2];
        if (p->width[2] == 2)
            columns_back(p, dy, row, 2);
        else
            columns_back(p, dy, row, p->width[2]);
        for (int64_t k = 0; k < w0 * w1; k++) {
            int64_t t0 = o0 * w0 + k / w1, t1 = o1 * w1 + k % w1;
            T weight = ((const T *)p->weights[0])[t0] * ((const T *)p->weights[1])[t1];
            if (weight == 0) continue;
            add_row((T *)to + (p->positions[0][t0] * p->sx[1] + p->positions[1][t1]) * n, row, weight, n);
        }
    }
}
