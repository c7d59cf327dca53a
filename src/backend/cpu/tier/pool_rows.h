/* Pooling of rows for one element type T: the rows of a window are combined first, then its columns. NAME(x) names
   an exported function. */
#include "backend/cpu/pool_kernels.h"

/* In two choices: compilers make branches of one with both conditions, which no predictor guesses. */
static inline T larger(T a, T b)
{
    T most = b > a ? b : a;
    return b != b ? b : most;
}

static inline T sum(T a, T b) { return a + b; }

/* y[o] = op over k of row[o stride + k dilation]; called with constants where that pays. */
#define ALONG(name, OP)                                                                                      \
    static inline __attribute__((always_inline)) void name##_row(                                            \
        T *restrict y, const T *restrict row, int64_t n, int64_t stride, int64_t window, int64_t dilation)   \
    {                                                                                                        \
        for (int64_t o = 0; o < n; o++) {                                                                    \
            T v = row[o * stride];                                                                           \
            for (int64_t k = 1; k < window; k++) v = OP(v, row[o * stride + k * dilation]);                  \
            y[o] = v;                                                                                        \
        }                                                                                                    \
    }                                                                                                        \
    static void name##_columns(const kni_pool_plan *p, T *y, const T *row, int64_t n)                        \
    {                                                                                                        \
        int64_t stride = p->stride[2], window = p->window[2], dilation = p->dilation[2];                     \
        int64_t kind = dilation == 1 && stride <= 2 ? stride * 16 + window : 0;                              \
        if (kind == 16 + 2)                                                                                  \
            name##_row(y, row, n, 1, 2, 1);                                                                  \
        else if (kind == 16 + 3)                                                                             \
            name##_row(y, row, n, 1, 3, 1);                                                                  \
        else if (kind == 32 + 2)                                                                             \
            name##_row(y, row, n, 2, 2, 1);                                                                  \
        else if (kind == 32 + 3)                                                                             \
            name##_row(y, row, n, 2, 3, 1);                                                                  \
        else if (kind == 32 + 5)                                                                             \
            name##_row(y, row, n, 2, 5, 1);                                                                  \
        else                                                                                                 \
            name##_row(y, row, n, stride, window, dilation);                                                 \
    }                                                                                                        \
    static void name##_into(T *restrict to, const T *restrict from, int64_t n)                               \
    {                                                                                                        \
        for (int64_t i = 0; i < n; i++) to[i] = OP(to[i], from[i]);                                          \
    }

ALONG(max, larger)
ALONG(total, sum)

static void fill(T *to, int64_t n, T value)
{
    for (int64_t i = 0; i < n; i++) to[i] = value;
}

typedef void into_fn(T *restrict to, const T *restrict from, int64_t n);

/* row[i] = the combination of the window's rows of the plane at column first + i, `outside` where there is none. */
static void combine_rows(const kni_pool_plan *p, const T *plane, int64_t line, int64_t first, int64_t n,
                         T *row, T outside, into_fn *into)
{
    int64_t b0 = line / p->sy[1] * p->stride[0] - p->padding[0];
    int64_t b1 = line % p->sy[1] * p->stride[1] - p->padding[1];
    int64_t from = first < 0 ? 0 : first, to = first + n < p->sx[2] ? first + n : p->sx[2];
    int started = 0;
    if (to < from) to = from;
    for (int64_t k0 = 0; k0 < p->window[0]; k0++) {
        int64_t i0 = b0 + k0 * p->dilation[0];
        if (i0 < 0 || i0 >= p->sx[0]) continue;
        for (int64_t k1 = 0; k1 < p->window[1]; k1++) {
            int64_t i1 = b1 + k1 * p->dilation[1];
            if (i1 < 0 || i1 >= p->sx[1]) continue;
            const T *source = plane + (i0 * p->sx[1] + i1) * p->sx[2] + from;
            if (started)
                into(row + from - first, source, to - from);
            else
                for (int64_t i = 0; i < to - from; i++) row[from - first + i] = source[i];
            started = 1;
        }
    }
    fill(row, from - first, outside);
    fill(row + (to - first), n - (to - first), outside);
}

/* How many positions of a window that starts at `begin` count for a mean. */
static int64_t counted(const kni_pool_plan *p, int axis, int64_t begin)
{
    int64_t step = p->dilation[axis], limit = p->sx[axis] + (p->counted ? p->end[axis] : 0);
    int64_t n = (limit - begin + step - 1) / step;
    if (n > p->window[axis]) n = p->window[axis];
    return !p->counted && begin < 0 ? n - (step - 1 - begin) / step : n;
}

/* The outputs of one strip, as many as their windows fit in. */
static int64_t strip_outputs(const kni_pool_plan *p)
{
    int64_t span = (p->window[2] - 1) * p->dilation[2] + 1;
    return (KNI_POOL_STRIP - span) / p->stride[2] + 1;
}

/* Whether the windows of a line are dense, flat and inside of the plane: the usual case. */
static int is_inside(const kni_pool_plan *p, int64_t line)
{
    return p->sx[0] == 1 && p->sy[0] == 1 && p->padding[0] + p->padding[1] + p->padding[2] == 0 &&
           p->dilation[1] == 1 && p->dilation[2] == 1 && line * p->stride[1] + p->window[1] <= p->sx[1] &&
           (p->sy[2] - 1) * p->stride[2] + p->window[2] <= p->sx[2];
}

static int is_halving(const kni_pool_plan *p)
{
    return p->stride[2] == 2 && p->window[1] == 2 && p->window[2] == 2;
}

static void max_of_four(T *restrict y, const T *restrict a, const T *restrict b, int64_t n)
{
    for (int64_t o = 0; o < n; o++)
        y[o] = larger(larger(a[2 * o], a[2 * o + 1]), larger(b[2 * o], b[2 * o + 1]));
}

void NAME(kni_pool_max)(const kni_pool_plan *p, const void *plane, void *y, void *at, int64_t begin,
                        int64_t end)
{
    T row[KNI_POOL_STRIP];
    int64_t span = (p->window[2] - 1) * p->dilation[2] + 1, strip = strip_outputs(p);
    (void)at;
    for (int64_t line = begin; line < end; line++) {
        const T *first = (const T *)plane + line * p->stride[1] * p->sx[2];
        if (is_halving(p) && is_inside(p, line)) {
            max_of_four((T *)y + line * p->sy[2], first, first + p->sx[2], p->sy[2]);
            continue;
        }
        for (int64_t o = 0; o < p->sy[2]; o += strip) {
            int64_t n = p->sy[2] - o < strip ? p->sy[2] - o : strip;
            combine_rows(p, plane, line, o * p->stride[2] - p->padding[2], (n - 1) * p->stride[2] + span, row,
                         (T)-__builtin_inf(), max_into);
            max_columns(p, (T *)y + line * p->sy[2] + o, row, n);
        }
    }
}

void NAME(kni_pool_mean)(const kni_pool_plan *p, const void *plane, void *y, void *at, int64_t begin,
                         int64_t end)
{
    T row[KNI_POOL_STRIP];
    int64_t span = (p->window[2] - 1) * p->dilation[2] + 1, strip = strip_outputs(p);
    (void)at;
    for (int64_t line = begin; line < end; line++) {
        T rows = (T)(counted(p, 0, line / p->sy[1] * p->stride[0] - p->padding[0]) *
                     counted(p, 1, line % p->sy[1] * p->stride[1] - p->padding[1]));
        for (int64_t o = 0; o < p->sy[2]; o += strip) {
            int64_t n = p->sy[2] - o < strip ? p->sy[2] - o : strip;
            T *to = (T *)y + line * p->sy[2] + o;
            const T *columns = (const T *)p->columns + o;
            combine_rows(p, plane, line, o * p->stride[2] - p->padding[2], (n - 1) * p->stride[2] + span, row,
                         0, total_into);
            total_columns(p, to, row, n);
            if (p->divisor > 0)
                for (int64_t i = 0; i < n; i++) to[i] /= (T)p->divisor;
            else
                for (int64_t i = 0; i < n; i++) to[i] /= rows * columns[i];
        }
    }
}

/* The part of a window from `begin` that lies inside of an axis: *first .. *last - 1 of its elements. */
static inline void clip(const kni_pool_plan *p, int axis, int64_t begin, int64_t *first, int64_t *last)
{
    int64_t step = p->dilation[axis], room = p->sx[axis] - 1 - begin;
    *first = begin < 0 ? (-begin + step - 1) / step : 0;
    *last = room / step + 1 < p->window[axis] ? room / step + 1 : p->window[axis];
}

enum { AT_STRIP = 512 };

static inline void put_place(void *at, int bytes, int64_t o, int64_t place)
{
    if (bytes == 2)
        ((uint16_t *)at)[o] = (uint16_t)place;
    else if (bytes == 4)
        ((int32_t *)at)[o] = (int32_t)place;
    else
        ((int64_t *)at)[o] = place;
}

static void put_places(void *at, int bytes, int64_t first, int64_t n, const int32_t *place)
{
    uint16_t *two = (uint16_t *)at + first;
    int32_t *four = (int32_t *)at + first;
    int64_t *eight = (int64_t *)at + first;
    if (bytes == 2)
        for (int64_t o = 0; o < n; o++) two[o] = (uint16_t)place[o];
    else if (bytes == 4)
        for (int64_t o = 0; o < n; o++) four[o] = place[o];
    else
        for (int64_t o = 0; o < n; o++) eight[o] = place[o];
}

/* One row of windows, whose elements are from place `base` on: the larger stay, of equals those of earlier rows. Whether any is
   NaN, for which these comparisons do not do. */
static int at_start(T *restrict most, int32_t *restrict place, const T *restrict from, int32_t base,
                    int64_t n)
{
    int odd = 0;
    for (int64_t i = 0; i < n; i++) {
        odd |= from[i] != from[i];
        most[i] = from[i];
        place[i] = base + (int32_t)i;
    }
    return odd;
}

static int at_into(T *restrict most, int32_t *restrict place, const T *restrict from, int32_t base, int64_t n)
{
    int odd = 0;
    for (int64_t i = 0; i < n; i++) {
        const int take = from[i] > most[i];
        odd |= from[i] != from[i];
        most[i] = take ? from[i] : most[i];
        place[i] = take ? base + (int32_t)i : place[i];
    }
    return odd;
}

/* The columns of windows: of equals the one at the first place. Called with constants where that pays. */
static inline __attribute__((always_inline)) void at_row(T *restrict y, int32_t *restrict best,
                                                         const T *restrict most,
                                                         const int32_t *restrict place, int64_t n,
                                                         int64_t stride, int64_t window, int64_t dilation)
{
    for (int64_t o = 0; o < n; o++) {
        T v = most[o * stride];
        int32_t p = place[o * stride];
        for (int64_t k = 1; k < window; k++) {
            const T w = most[o * stride + k * dilation];
            const int32_t q = place[o * stride + k * dilation];
            const int take = (w > v) | ((w == v) & (q < p));
            v = take ? w : v;
            p = take ? q : p;
        }
        y[o] = v;
        best[o] = p;
    }
}

static void at_columns(const kni_pool_plan *p, T *y, int32_t *best, const T *most, const int32_t *place,
                       int64_t n)
{
    int64_t stride = p->stride[2], window = p->window[2], dilation = p->dilation[2];
    int64_t kind = dilation == 1 && stride <= 2 ? stride * 16 + window : 0;
    if (kind == 16 + 3)
        at_row(y, best, most, place, n, 1, 3, 1);
    else if (kind == 32 + 2)
        at_row(y, best, most, place, n, 2, 2, 1);
    else if (kind == 32 + 3)
        at_row(y, best, most, place, n, 2, 3, 1);
    else
        at_row(y, best, most, place, n, stride, window, dilation);
}

/* As combine_rows; columns outside of the plane are no window's largest. */
static int at_rows(const kni_pool_plan *p, const T *plane, int64_t line, int64_t first, int64_t n, T *most,
                   int32_t *place)
{
    int64_t b0 = line / p->sy[1] * p->stride[0] - p->padding[0];
    int64_t b1 = line % p->sy[1] * p->stride[1] - p->padding[1];
    int64_t from = first < 0 ? 0 : first, to = first + n < p->sx[2] ? first + n : p->sx[2];
    int started = 0, odd = 0;
    if (to < from) to = from;
    for (int64_t k0 = 0; k0 < p->window[0]; k0++) {
        int64_t i0 = b0 + k0 * p->dilation[0];
        if (i0 < 0 || i0 >= p->sx[0]) continue;
        for (int64_t k1 = 0; k1 < p->window[1]; k1++) {
            int64_t i1 = b1 + k1 * p->dilation[1];
            if (i1 < 0 || i1 >= p->sx[1]) continue;
            int64_t base = (i0 * p->sx[1] + i1) * p->sx[2] + from;
            odd |= (started ? at_into : at_start)(most + from - first, place + from - first, plane + base,
                                                  (int32_t)base, to - from);
            started = 1;
        }
    }
    for (int64_t i = 0; i < n; i++)
        if (i < from - first || i >= to - first) most[i] = (T)-__builtin_inf(), place[i] = INT32_MAX;
    return odd;
}

/* Results first .. last - 1 of a line, one window after the other. No window is without elements. */
static void at_windows(const kni_pool_plan *p, const T *x, T *y, void *at, int64_t line, int64_t first,
                       int64_t last)
{
    const int64_t b0 = line / p->sy[1] * p->stride[0] - p->padding[0];
    const int64_t b1 = line % p->sy[1] * p->stride[1] - p->padding[1];
    int64_t f0, l0, f1, l1, f2, l2;
    clip(p, 0, b0, &f0, &l0);
    clip(p, 1, b1, &f1, &l1);
    for (int64_t o = first; o < last; o++) {
        int64_t b2 = o * p->stride[2] - p->padding[2];
        clip(p, 2, b2, &f2, &l2);
        int64_t best = ((b0 + f0 * p->dilation[0]) * p->sx[1] + b1 + f1 * p->dilation[1]) * p->sx[2] + b2 +
                       f2 * p->dilation[2];
        T most = (T)-__builtin_inf();
        for (int64_t k0 = f0; k0 < l0; k0++)
            for (int64_t k1 = f1; k1 < l1; k1++) {
                int64_t row = ((b0 + k0 * p->dilation[0]) * p->sx[1] + b1 + k1 * p->dilation[1]) * p->sx[2];
                for (int64_t k2 = f2; k2 < l2; k2++) {
                    int64_t i = row + b2 + k2 * p->dilation[2];
                    int take = (x[i] > most) | (x[i] != x[i]);
                    best = take ? i : best;
                    most = take ? x[i] : most;
                }
            }
        y[o] = most;
        put_place(at, p->place_bytes, o, best);
    }
}

/* Values and positions. Lines with NaN, of which the last wins, are rare. */
void NAME(kni_pool_at)(const kni_pool_plan *p, const void *plane, void *y, void *at, int64_t begin,
                       int64_t end)
{
    T most[AT_STRIP];
    int32_t place[AT_STRIP], best[AT_STRIP];
    const int64_t span = (p->window[2] - 1) * p->dilation[2] + 1;
    const int small = span <= AT_STRIP / 2 && p->sx[0] * p->sx[1] <= INT32_MAX / p->sx[2];
    const int64_t strip = small ? (AT_STRIP - span) / p->stride[2] + 1 : p->sy[2];
    for (int64_t line = begin; line < end; line++) {
        T *values = (T *)y + line * p->sy[2];
        char *places = (char *)at + line * p->sy[2] * p->place_bytes;
        for (int64_t o = 0; o < p->sy[2]; o += strip) {
            int64_t n = p->sy[2] - o < strip ? p->sy[2] - o : strip;
            if (!small || at_rows(p, plane, line, o * p->stride[2] - p->padding[2],
                                  (n - 1) * p->stride[2] + span, most, place)) {
                at_windows(p, plane, values, places, line, o, o + n);
                continue;
            }
            at_columns(p, values + o, best, most, place, n);
            put_places(places, p->place_bytes, o, n, best);
        }
    }
}
