/* Stockham's algorithm for one line of REAL: each stage reads f parts of one buffer and writes groups of f of the other,
   so that the order comes out right. After the first stages the inner loops run over contiguous elements. */
#include "backend/cpu/fft_kernels.h"

/* One stage: y[k, p, j] = sum over q of x[q, k, j] w^(q (p l + j)), k < m, j < l. */
typedef struct stage {
    int64_t f, l, m, length;
    const REAL *w;
} stage;

#define TURN(q, to)                                                                                          \
    REAL to##r =                                                                                             \
        xr[(q)*step + j] * wr[(q)*2 * l - 2 * l + j] - xi[(q)*step + j] * wi[(q)*2 * l - 2 * l + j],         \
         to##i = xr[(q)*step + j] * wi[(q)*2 * l - 2 * l + j] + xi[(q)*step + j] * wr[(q)*2 * l - 2 * l + j]

static void stage_two(int64_t l, int64_t step, const REAL *restrict xr, const REAL *restrict xi,
                      REAL *restrict yr, REAL *restrict yi, const REAL *restrict wr, const REAL *restrict wi)
{
    for (int64_t j = 0; j < l; j++) {
        TURN(1, b);
        REAL ar = xr[j], ai = xi[j];
        yr[j] = ar + br;
        yi[j] = ai + bi;
        yr[l + j] = ar - br;
        yi[l + j] = ai - bi;
    }
}

static void stage_three(int64_t l, int64_t step, const REAL *restrict xr, const REAL *restrict xi,
                        REAL *restrict yr, REAL *restrict yi, const REAL *restrict wr,
                        const REAL *restrict wi)
{
    const REAL half = (REAL)0.5, sine = (REAL)0.86602540378443864676;
    for (int64_t j = 0; j < l; j++) {
        TURN(1, b);
        TURN(2, c);
        REAL ar = xr[j], ai = xi[j], sr = br + cr, si = bi + ci, dr = sine * (br - cr), di = sine * (bi - ci);
        REAL mr = ar - half * sr, mi = ai - half * si;
        yr[j] = ar + sr;
        yi[j] = ai + si;
        yr[l + j] = mr + di;
        yi[l + j] = mi - dr;
        yr[2 * l + j] = mr - di;
        yi[2 * l + j] = mi + dr;
    }
}

static void stage_four(int64_t l, int64_t step, const REAL *restrict xr, const REAL *restrict xi,
                       REAL *restrict yr, REAL *restrict yi, const REAL *restrict wr, const REAL *restrict wi)
{
    for (int64_t j = 0; j < l; j++) {
        TURN(1, b);
        TURN(2, c);
        TURN(3, d);
        REAL ar = xr[j], ai = xi[j];
        REAL pr = ar + cr, pi = ai + ci, mr = ar - cr, mi = ai - ci;
        REAL qr = br + dr, qi = bi + di, nr = br - dr, ni = bi - di;
        yr[j] = pr + qr;
        yi[j] = pi + qi;
        yr[l + j] = mr + ni;
        yi[l + j] = mi - nr;
        yr[2 * l + j] = pr - qr;
        yi[2 * l + j] = pi - qi;
        yr[3 * l + j] = mr - ni;
        yi[3 * l + j] = mi + nr;
    }
}

static void stage_five(int64_t l, int64_t step, const REAL *restrict xr, const REAL *restrict xi,
                       REAL *restrict yr, REAL *restrict yi, const REAL *restrict wr, const REAL *restrict wi)
{
    const REAL c1 = (REAL)0.30901699437494742410, c2 = (REAL)-0.80901699437494742410;
    const REAL s1 = (REAL)0.95105651629515357212, s2 = (REAL)0.58778525229247312917;
    for (int64_t j = 0; j < l; j++) {
        TURN(1, b);
        TURN(2, c);
        TURN(3, d);
        TURN(4, e);
        REAL ar = xr[j], ai = xi[j];
        REAL pr = br + er, pi = bi + ei, mr = br - er, mi = bi - ei;
        REAL qr = cr + dr, qi = ci + di, nr = cr - dr, ni = ci - di;
        REAL ur = ar + c1 * pr + c2 * qr, ui = ai + c1 * pi + c2 * qi;
        REAL vr = ar + c2 * pr + c1 * qr, vi = ai + c2 * pi + c1 * qi;
        REAL sr = s1 * mr + s2 * nr, si = s1 * mi + s2 * ni;
        REAL tr = s2 * mr - s1 * nr, ti = s2 * mi - s1 * ni;
        yr[j] = ar + pr + qr;
        yi[j] = ai + pi + qi;
        yr[l + j] = ur + si;
        yi[l + j] = ui - sr;
        yr[2 * l + j] = vr + ti;
        yi[2 * l + j] = vi - tr;
        yr[3 * l + j] = vr - ti;
        yi[3 * l + j] = vi + tr;
        yr[4 * l + j] = ur - si;
        yi[4 * l + j] = ui + sr;
    }
}

/* Other primes: the sums as they are written. The roots of f are the twiddles of the last stage's layout, in `roots`. */
static void stage_prime(const stage *s, const REAL *roots, int64_t step, const REAL *xr, const REAL *xi,
                        REAL *yr, REAL *yi)
{
    int64_t f = s->f, l = s->l;
    for (int64_t j = 0; j < l; j++) {
        REAL re[KNI_FFT_LARGEST_FACTOR], im[KNI_FFT_LARGEST_FACTOR];
        re[0] = xr[j];
        im[0] = xi[j];
        for (int64_t q = 1; q < f; q++) {
            REAL wr = s->w[(q - 1) * 2 * l + j], wi = s->w[(q - 1) * 2 * l + l + j];
            re[q] = xr[q * step + j] * wr - xi[q * step + j] * wi;
            im[q] = xr[q * step + j] * wi + xi[q * step + j] * wr;
        }
        for (int64_t p = 0; p < f; p++) {
            REAL sr = re[0], si = im[0];
            for (int64_t q = 1; q < f; q++) {
                REAL wr = roots[p * q % f], wi = roots[f + p * q % f];
                sr += re[q] * wr - im[q] * wi;
                si += re[q] * wi + im[q] * wr;
            }
            yr[p * l + j] = sr;
            yi[p * l + j] = si;
        }
    }
}

/* The first stage of fours: no twiddles, and the groups are the contiguous direction. */
static void first_four(int64_t m, const REAL *restrict xr, const REAL *restrict xi, REAL *restrict yr,
                       REAL *restrict yi)
{
    for (int64_t k = 0; k < m; k++) {
        REAL pr = xr[k] + xr[2 * m + k], pi = xi[k] + xi[2 * m + k], mr = xr[k] - xr[2 * m + k],
             mi = xi[k] - xi[2 * m + k];
        REAL qr = xr[m + k] + xr[3 * m + k], qi = xi[m + k] + xi[3 * m + k];
        REAL nr = xr[m + k] - xr[3 * m + k], ni = xi[m + k] - xi[3 * m + k];
        yr[4 * k] = pr + qr;
        yi[4 * k] = pi + qi;
        yr[4 * k + 1] = mr + ni;
        yi[4 * k + 1] = mi - nr;
        yr[4 * k + 2] = pr - qr;
        yi[4 * k + 2] = pi - qi;
        yr[4 * k + 3] = mr - ni;
        yi[4 * k + 3] = mi + nr;
    }
}

typedef void (*stage_fn)(int64_t l, int64_t step, const REAL *xr, const REAL *xi, REAL *yr, REAL *yi,
                         const REAL *wr, const REAL *wi);

static void run_stage(const stage *s, const REAL *roots, const REAL *x, REAL *y)
{
    static const stage_fn stages[6] = {NULL, NULL, stage_two, stage_three, stage_four, stage_five};
    int64_t f = s->f, l = s->l, step = s->m * l, n = s->length;
    if (f == 4 && l == 1) {
        first_four(s->m, x, x + n, y, y + n);
        return;
    }
    for (int64_t k = 0; k < s->m; k++) {
        const REAL *from = x + k * l;
        REAL *to = y + k * f * l;
        if (f <= 5)
            stages[f](l, step, from, from + n, to, to + n, s->w, s->w + l);
        else
            stage_prime(s, roots, step, from, from + n, to, to + n);
    }
}

/* Transforms a, with b as the other buffer; which of them holds the result. The roots of a prime factor lie behind the
   twiddles of its stage. */
static REAL *run_stages(const kni_fft_line *t, REAL *a, REAL *b)
{
    const REAL *w = t->twiddles;
    stage s = {0, 1, t->plan.length, t->plan.length, NULL};
    for (int i = 0; t->plan.factors[i] > 1; i++) {
        s.f = t->plan.factors[i];
        s.m /= s.f;
        s.w = w;
        w += 2 * (s.f - 1) * s.l;
        run_stage(&s, w, a, b);
        if (s.f > 5) w += 2 * s.f;
        s.l *= s.f;
        REAL *held = a;
        a = b;
        b = held;
    }
    return a;
}

static void load_line(const kni_fft_line *t, const REAL *xr, const REAL *xi, REAL *a)
{
    int64_t n = t->plan.n, length = t->plan.length, have = t->size < n ? t->size : n, inner = t->inner;
    REAL sign = t->inverse ? (REAL)-1 : (REAL)1;
    for (int64_t k = 0; k < have; k++) a[k] = xr[k * inner];
    for (int64_t k = 0; k < have; k++) a[length + k] = xi ? sign * xi[k * inner] : 0;
    for (int64_t k = have; k < length; k++) a[k] = a[length + k] = 0;
}

/* The line times conj(chirp), its convolution with the chirp by spectra, times conj(chirp). */
static REAL *run_bluestein(const kni_fft_line *t, REAL *a, REAL *b)
{
    int64_t n = t->plan.n, length = t->plan.length;
    const REAL *c = t->chirp, *s = t->spectrum;
    for (int64_t k = 0; k < n; k++) {
        REAL re = a[k], im = a[length + k];
        a[k] = re * c[k] + im * c[n + k];
        a[length + k] = im * c[k] - re * c[n + k];
    }
    REAL *y = run_stages(t, a, b), scale = (REAL)(1.0 / (double)length);
    for (int64_t k = 0; k < length; k++) {
        REAL re = y[k], im = y[length + k];
        y[k] = re * s[k] - im * s[length + k];
        y[length + k] = -(re * s[length + k] + im * s[k]);
    }
    y = run_stages(t, y, y == a ? b : a);
    for (int64_t k = 0; k < n; k++) {
        REAL re = y[k] * scale, im = y[length + k] * scale;
        y[k] = re * c[k] - im * c[n + k];
        y[length + k] = -(re * c[n + k] + im * c[k]);
    }
    return y;
}

static void transform_line(const kni_fft_line *t, const void *xr, const void *xi, void *yr, void *yi,
                           void *scratch)
{
    int64_t n = t->plan.n, length = t->plan.length, inner = t->inner;
    REAL *a = scratch, *b = a + 2 * length, *re = yr, *im = yi;
    load_line(t, xr, xi, a);
    const REAL *y = length == n ? run_stages(t, a, b) : run_bluestein(t, a, b);
    REAL scale = (REAL)t->scale, other = t->inverse ? -scale : scale;
    for (int64_t k = 0; k < n; k++) re[k * inner] = y[k] * scale;
    for (int64_t k = 0; k < n; k++) im[k * inner] = y[length + k] * other;
}

static void transform_chirp(const kni_fft_line *t, void *scratch)
{
    int64_t n = t->plan.n, length = t->plan.length;
    const REAL *c = t->chirp;
    REAL *a = scratch, *b = a + 2 * length, *to = t->spectrum;
    for (int64_t k = 0; k < length; k++) {
        int64_t j = k > length - n ? length - k : k;
        a[k] = j < n ? c[j] : 0;
        a[length + k] = j < n ? c[n + j] : 0;
    }
    const REAL *y = run_stages(t, a, b);
    for (int64_t k = 0; k < 2 * length; k++) to[k] = y[k];
}
