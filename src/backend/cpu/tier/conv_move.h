/* Rows of a convolution's source into planes, by tier. */
#ifndef KNI_BACKEND_CPU_TIER_CONV_MOVE_H
#define KNI_BACKEND_CPU_TIER_CONV_MOVE_H

#include "backend/cpu/conv_kernels.h"
#include "backend/cpu/tier/gemm_simd.h"

/* Zeros and copies by whole vectors, which may write up to LANES - 1 elements too many. */
static inline void clear_loosely(real *to, int64_t n)
{
    for (int64_t i = 0; i < n; i += LANES) vec_store(to + i, vec_all(0));
}

static inline void copy_loosely(real *to, const real *from, int64_t step, int64_t n)
{
    if (step == 1) {
        for (int64_t i = 0; i < n; i += LANES) vec_store(to + i, vec_load(from + i));
        return;
    }
    for (int64_t i = 0; i < n; i += LANES)
        for (int l = 0; l < LANES; l++) to[i + l] = from[2 * (i + l)];
}

static void fill_exactly(const kni_conv_rows *f, real *to, const real *from)
{
    for (int64_t i = 0; i < f->low; i++) to[i] = 0;
    for (int64_t i = 0; i < f->n; i++) to[f->low + i] = from[i * f->step];
    for (int64_t i = f->low + f->n; i < f->row; i++) to[i] = 0;
}

/* Rows are written in ascending order, so what one writes behind its end the next one writes again. */
static void conv_fill(const kni_conv_rows *f)
{
    const real *from = f->from, *from_end = f->from_end, *to_end = f->to_end;
    const int64_t reach = (f->n + LANES) * f->step, high = f->row - f->low - f->n;
    real *to = f->to;
    for (int64_t r = 0; r < f->rows; r++, to += f->row, from += f->from_row) {
        const bool loose =
            (f->step == 1 || f->step == 2) && to_end - to >= f->row + LANES && from_end - from >= reach;
        if (!loose) {
            fill_exactly(f, to, from);
            continue;
        }
        clear_loosely(to, f->low);
        copy_loosely(to + f->low, from, f->step, f->n);
        clear_loosely(to + f->low + f->n, high);
    }
}

#endif
