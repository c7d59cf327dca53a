/* Resampling along one axis for one element type T: sums of weighted rows, or of single elements where the axis is the last
   one. Sums are taken in the order of the taps. NAME(x) names an exported function. */
#include "backend/cpu/resample_pass.h"

static void row_of_1(T *restrict to, const T *restrict a, T wa, int64_t n)
{
    for (int64_t i = 0; i < n; i++) to[i] = wa * a[i];
}

static void row_of_2(T *restrict to, const T *restrict a, const T *restrict b, T wa, T wb, int64_t n)
{
    for (int64_t i = 0; i < n; i++) to[i] = wa * a[i] + wb * b[i];
}

static void row_of_4(T *restrict to, const T *const *from, const T *w, int64_t n)
{
    const T *restrict a = from[0], *restrict b = from[1], *restrict c = from[2], *restrict d = from[3];
    T wa = w[0], wb = w[1], wc = w[2], wd = w[3];
    for (int64_t i = 0; i < n; i++) to[i] = wa * a[i] + wb * b[i] + wc * c[i] + wd * d[i];
}

static void add_row(T *restrict to, const T *restrict a, T wa, int64_t n)
{
    for (int64_t i = 0; i < n; i++) to[i] += wa * a[i];
}

static void rows(const kni_resample_pass *p, const T *from, T *to)
{
    const kni_taps *t = p->taps;
    const T *weights = t->weights;
    int64_t n = p->inner;
    for (int64_t o = p->begin; o < p->end; o++, to += n) {
        int64_t k = t->first[o], end = t->first[o + 1], count = end - k;
        const T *source[4];
        for (int64_t j = 0; j < count && j < 4; j++) source[j] = from + (t->positions[k + j] - p->shift) * n;
        if (count == 0)
            for (int64_t i = 0; i < n; i++) to[i] = 0;
        else if (count == 1 && weights[k] == 1)
            __builtin_memcpy(to, source[0], (size_t)n * sizeof(T));
        else if (count == 1)
            row_of_1(to, source[0], weights[k], n);
        else if (count == 4)
            row_of_4(to, source, weights + k, n);
        else {
            row_of_2(to, source[0], source[1], weights[k], weights[k + 1], n);
            for (k += 2; k < end; k++) add_row(to, from + (t->positions[k] - p->shift) * n, weights[k], n);
        }
    }
}

/* The same with few elements in a row, whose number is a constant, as that of the taps is where it is not 0. */
static inline __attribute__((always_inline)) void few(const kni_resample_pass *p, const T *restrict from,
                                                      T *restrict to, int64_t inner, int64_t width)
{
    const kni_taps *t = p->taps;
    const T *weights = t->weights;
    int64_t shift = p->shift;
    for (int64_t o = p->begin; o < p->end; o++, to += inner) {
        int64_t k = width ? o * width : t->first[o], end = width ? k + width : t->first[o + 1];
        for (int64_t c = 0; c < inner; c++) {
            T total = 0;
            if (end > k) total = weights[k] * from[(t->positions[k] - shift) * inner + c];
            for (int64_t j = k + 1; j < end; j++)
                total += weights[j] * from[(t->positions[j] - shift) * inner + c];
            to[c] = total;
        }
    }
}

#define FEW(inner)                                                                                           \
    static void few_##inner(const kni_resample_pass *p, const T *from, T *to)                                \
    {                                                                                                        \
        if (p->taps->width == 1)                                                                             \
            few(p, from, to, inner, 1);                                                                      \
        else if (p->taps->width == 2)                                                                        \
            few(p, from, to, inner, 2);                                                                      \
        else if (p->taps->width == 4)                                                                        \
            few(p, from, to, inner, 4);                                                                      \
        else                                                                                                 \
            few(p, from, to, inner, 0);                                                                      \
    }
FEW(1)
FEW(2)
FEW(3)
FEW(4)

void NAME(kni_resample)(const kni_resample_pass *p, const void *from, void *to)
{
    static void (*const by_inner[])(const kni_resample_pass *, const T *, T *) = {rows, few_1, few_2, few_3,
                                                                                  few_4};
    for (int64_t b = 0; b < p->blocks; b++)
        by_inner[p->inner <= 4 ? p->inner : 0](p, (const T *)from + b * p->rows * p->inner,
                                               (T *)to + b * (p->end - p->begin) * p->inner);
}
