/* The updates of optimisers in the type REAL, for the file that includes this after naming it and SQRT. Choices of a rule
   are constants of an inlined body, so that each loop is free of branches. The formulas are those of
   ops/kernels/update.kn. */
#include "backend/cpu/tier/norm_loops.h"
#include "backend/cpu/update_table.h"
#include "core/math/roots.h"
#include <stdbool.h>

#define NUMBER(i) ((REAL)numbers[(i) + 1])

static inline __attribute__((always_inline)) void sgd_body(int64_t n, void *const *out, const void *const *in,
                                                           const double *numbers, bool buffered, bool ahead)
{
    const REAL scale = (REAL)numbers[0], lr = NUMBER(0), decay = NUMBER(1), momentum = NUMBER(2);
    const REAL fresh = NUMBER(3), nesterov = NUMBER(4);
    const REAL *p = in[0], *g = in[1], *b = in[2];
    REAL *q = out[0], *c = out[1];
    EACH_ALONE
    for (int64_t i = 0; i < n; i++) {
        REAL d = g[i] * scale + decay * p[i];
        if (buffered) {
            REAL v = momentum * b[i] + fresh * d;
            c[i] = v;
            d = ahead ? d + nesterov * v : v;
        }
        q[i] = p[i] - lr * d;
    }
}

static void sgd_strip(int64_t n, void *const *out, const void *const *in, const double *numbers)
{
    if (!in[2])
        sgd_body(n, out, in, numbers, false, false);
    else if (numbers[5] > 0)
        sgd_body(n, out, in, numbers, true, true);
    else
        sgd_body(n, out, in, numbers, true, false);
}

static inline __attribute__((always_inline)) void adam_body(int64_t n, void *const *out,
                                                            const void *const *in, const double *numbers,
                                                            bool largest, bool cautious)
{
    const REAL scale = (REAL)numbers[0], rate = NUMBER(0), fresh1 = NUMBER(1), beta2 = NUMBER(2);
    const REAL fresh2 = NUMBER(3), root = NUMBER(4), eps = NUMBER(5), added = NUMBER(6), shrink = NUMBER(7);
    const REAL *p = in[0], *g = in[1], *m = in[2], *v = in[3], *w = in[4];
    REAL *q = out[0], *first_out = out[1], *second_out = out[2], *most_out = out[3];
    EACH_ALONE
    for (int64_t i = 0; i < n; i++) {
        REAL old = p[i], d = g[i] * scale + added * old;
        REAL first = m[i] + (d - m[i]) * fresh1, second = v[i] * beta2 + d * d * fresh2, most = second;
        if (largest) {
            most = w[i] > second ? w[i] : second;
            most_out[i] = most;
        }
        REAL decayed = old - old * shrink;
        if (cautious) decayed = ((first > 0) & (old < 0)) | ((first < 0) & (old > 0)) ? old : decayed;
        first_out[i] = first;
        second_out[i] = second;
        q[i] = decayed - rate * (first / (SQRT(most) * root + eps));
    }
}

static void adam_strip(int64_t n, void *const *out, const void *const *in, const double *numbers)
{
    const bool cautious = numbers[9] > 0;
    if (!in[4] && !cautious)
        adam_body(n, out, in, numbers, false, false);
    else if (!in[4])
        adam_body(n, out, in, numbers, false, true);
    else if (!cautious)
        adam_body(n, out, in, numbers, true, false);
    else
        adam_body(n, out, in, numbers, true, true);
}

static inline __attribute__((always_inline)) void rmsprop_body(int64_t n, void *const *out,
                                                               const void *const *in, const double *numbers,
                                                               bool centered, bool buffered)
{
    const REAL scale = (REAL)numbers[0], lr = NUMBER(0), alpha = NUMBER(1), fresh = NUMBER(2),
               eps = NUMBER(3);
    const REAL decay = NUMBER(4), momentum = NUMBER(5);
    const REAL *p = in[0], *g = in[1], *v = in[2], *m = in[3], *b = in[4];
    REAL *q = out[0], *second_out = out[1], *first_out = out[2], *buffer_out = out[3];
    EACH_ALONE
    for (int64_t i = 0; i < n; i++) {
        REAL d = g[i] * scale + decay * p[i], second = v[i] * alpha + d * d * fresh, spread = second;
        if (centered) {
            REAL first = m[i] + (d - m[i]) * fresh;
            first_out[i] = first;
            spread = second - first * first;
        }
        REAL step = d / (SQRT(spread) + eps);
        if (buffered) {
            step = momentum * b[i] + step;
            buffer_out[i] = step;
        }
        second_out[i] = second;
        q[i] = p[i] - lr * step;
    }
}

static void rmsprop_strip(int64_t n, void *const *out, const void *const *in, const double *numbers)
{
    if (!in[3] && !in[4])
        rmsprop_body(n, out, in, numbers, false, false);
    else if (!in[3])
        rmsprop_body(n, out, in, numbers, false, true);
    else if (!in[4])
        rmsprop_body(n, out, in, numbers, true, false);
    else
        rmsprop_body(n, out, in, numbers, true, true);
}

static void adagrad_strip(int64_t n, void *const *out, const void *const *in, const double *numbers)
{
    const REAL scale = (REAL)numbers[0], lr = NUMBER(0), eps = NUMBER(1), decay = NUMBER(2);
    const REAL *p = in[0], *g = in[1], *v = in[2];
    REAL *q = out[0], *total_out = out[1];
    EACH_ALONE
    for (int64_t i = 0; i < n; i++) {
        REAL d = g[i] * scale + decay * p[i], total = v[i] + d * d;
        total_out[i] = total;
        q[i] = p[i] - lr * (d / (SQRT(total) + eps));
    }
}

/* The last step divides by one plus the decay; otherwise the first one multiplies by one minus it. */
static void adan_strip(int64_t n, void *const *out, const void *const *in, const double *numbers)
{
    const REAL scale = (REAL)numbers[0], rate1 = NUMBER(0), rate2 = NUMBER(1), beta1 = NUMBER(2),
               beta2 = NUMBER(3);
    const REAL beta3 = NUMBER(4), fresh1 = NUMBER(5), fresh2 = NUMBER(6), fresh3 = NUMBER(7),
               root = NUMBER(8);
    const REAL eps = NUMBER(9), before = numbers[11] < 1 ? NUMBER(10) : 1;
    const REAL after = numbers[11] > 1 ? NUMBER(10) : 1, changes = numbers[12] > 0 ? 0 : 1;
    const REAL *p = in[0], *g = in[1], *m = in[2], *t = in[3], *v = in[4], *last = in[5];
    REAL *q = out[0], *mean_out = out[1], *trend_out = out[2], *second_out = out[3], *last_out = out[4];
    EACH_ALONE
    for (int64_t i = 0; i < n; i++) {
        REAL now = g[i] * scale, change = changes > 0 ? now - last[i] : 0;
        REAL mean = m[i] * beta1 + now * fresh1, trend = t[i] * beta2 + change * fresh2;
        REAL ahead = change * beta2 + now, second = v[i] * beta3 + ahead * ahead * fresh3;
        REAL under = SQRT(second) * root + eps;
        mean_out[i] = mean;
        trend_out[i] = trend;
        second_out[i] = second;
        last_out[i] = now;
        q[i] = (p[i] * before - rate1 * (mean / under) - rate2 * (trend / under)) / after;
    }
}

#define UPDATE_KERNELS                                                                                       \
    {                                                                                                        \
        {                                                                                                    \
            [KNI_UPDATE_SGD] = sgd_strip, [KNI_UPDATE_ADAM] = adam_strip,                                    \
            [KNI_UPDATE_RMSPROP] = rmsprop_strip, [KNI_UPDATE_ADAGRAD] = adagrad_strip,                      \
            [KNI_UPDATE_ADAN] = adan_strip                                                                   \
        }                                                                                                    \
    }
