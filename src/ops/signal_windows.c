/* Windows, frequencies and shifts: functions of a position, computed in f64. */
#include "core/math/math.h"
#include "ops/infer.h"
#include "ops/movement_rows.h"
#include "ops/op.h"

#define TAU 6.283185307179586

/* Checks what every window is asked for and begins the call; false with *failed the answer. m is the number of steps that the
   formulas divide by: n of a period, n - 1 from end to end; never 0. */
typedef struct window {
    kni_call call;
    int64_t n;
    double m;
    kn_dtype dtype;
    kn_tensor answer; /* of a call that has ended */
} window;

static bool begin(window *w, const char *name, int64_t n, bool periodic, kn_dtype dtype)
{
    if (n < 0 || !kn_dtype_is_float(dtype)) {
        w->answer =
            kni_fail_tensor(name, KN_ERROR_ARGUMENT,
                            "needs a length of at least 0 and a float dtype, not %D and %T", n, (int)dtype);
        return false;
    }
    *w = (window){.call = kni_call_begin(name), .n = n, .dtype = dtype};
    w->m = n > 1 ? (double)(periodic ? n : n - 1) : 1;
    if (n != 1) return true;
    w->answer = kni_call_end(w->call, kn_ones(KN_SHAPE(1), dtype));
    return false;
}

static kn_tensor places(const window *w) { return kn_arange(0, (double)w->n, 1, KN_F64); }
static kn_tensor end(const window *w, kn_tensor y) { return kni_call_end(w->call, kn_cast(y, w->dtype)); }

/* sum over i of weights[i] cos(2 pi i k / m) */
static kn_tensor cosines(const char *name, int64_t n, bool periodic, kn_dtype dtype, const double *weights,
                         int count)
{
    window w;
    if (!begin(&w, name, n, periodic, dtype)) return w.answer;
    kn_tensor angle = kn_keep(kn_mul_scalar(places(&w), TAU / w.m)), y = KN_NONE;
    /* The second before the later ones and the first at last, so that the ends of a Blackman window are 0. */
    for (int i = 1; i < count; i++) {
        kn_tensor turned = i == 1 ? kn_cos(angle) : kn_cos(kn_mul_scalar(angle, i));
        kn_tensor term = kn_mul_scalar(turned, weights[i]);
        y = y.bits ? kn_add(term, y) : term;
    }
    if (!y.bits) y = kn_mul_scalar(angle, 0);
    return end(&w, kn_add_scalar(y, weights[0]));
}

kn_tensor kn_hann_window(int64_t n, bool periodic, kn_dtype dtype)
{
    return cosines("hann_window", n, periodic, dtype, (const double[]){0.5, -0.5}, 2);
}

kn_tensor kn_hamming_window(int64_t n, bool periodic, kn_dtype dtype)
{
    return cosines("hamming_window", n, periodic, dtype, (const double[]){0.54, -0.46}, 2);
}

kn_tensor kn_blackman_window(int64_t n, bool periodic, kn_dtype dtype)
{
    return cosines("blackman_window", n, periodic, dtype, (const double[]){0.42, -0.5, 0.08}, 3);
}

kn_tensor kn_nuttall_window(int64_t n, bool periodic, kn_dtype dtype)
{
    static const double weights[] = {0.3635819, -0.4891775, 0.1365995, -0.0106411};
    return cosines("nuttall_window", n, periodic, dtype, weights, 4);
}

kn_tensor kn_general_hamming_window(int64_t n, double alpha, bool periodic, kn_dtype dtype)
{
    return cosines("general_hamming_window", n, periodic, dtype, (const double[]){alpha, alpha - 1}, 2);
}

kn_tensor kn_general_cosine_window(int64_t n, const double *weights, int32_t n_weights, bool periodic,
                                   kn_dtype dtype)
{
    enum { LONGEST = 16 };
    double turned[LONGEST];
    if (!weights || n_weights < 1 || n_weights > LONGEST)
        return kni_fail_tensor("general_cosine_window", KN_ERROR_ARGUMENT, "needs 1 to %d weights, not %d",
                               LONGEST, weights ? (int)n_weights : 0);
    for (int i = 0; i < n_weights; i++) turned[i] = i % 2 ? -weights[i] : weights[i];
    return cosines("general_cosine_window", n, periodic, dtype, turned, n_weights);
}

kn_tensor kn_bartlett_window(int64_t n, bool periodic, kn_dtype dtype)
{
    window w;
    if (!begin(&w, "bartlett_window", n, periodic, dtype)) return w.answer;
    kn_tensor place = kn_mul_scalar(places(&w), 2 / w.m);
    return end(&w, kn_rsub_scalar(kn_abs(kn_sub_scalar(place, 1)), 1));
}

kn_tensor kn_cosine_window(int64_t n, bool periodic, kn_dtype dtype)
{
    window w;
    if (!begin(&w, "cosine_window", n, periodic, dtype)) return w.answer;
    return end(&w, kn_sin(kn_mul_scalar(kn_add_scalar(places(&w), 0.5), TAU / 2 / (w.m + 1))));
}

/* A window needs its width to be a number above 0. */
static bool is_width(const char *name, const char *what, double width, kn_tensor *failed)
{
    if (width > 0) return true;
    *failed = kni_fail_tensor(name, KN_ERROR_ARGUMENT, "%s is %g: it must be above 0", what, width);
    return false;
}

kn_tensor kn_gaussian_window(int64_t n, double deviation, bool periodic, kn_dtype dtype)
{
    window w;
    kn_tensor failed;
    if (!is_width("gaussian_window", "the deviation", deviation, &failed)) return failed;
    if (!begin(&w, "gaussian_window", n, periodic, dtype)) return w.answer;
    kn_tensor k = kn_mul_scalar(kn_sub_scalar(places(&w), w.m / 2), 1 / (deviation * 1.4142135623730951));
    return end(&w, kn_exp(kn_neg(kn_square(k))));
}

kn_tensor kn_exponential_window(int64_t n, double tau, double center, bool periodic, kn_dtype dtype)
{
    window w;
    kn_tensor failed;
    if (!is_width("exponential_window", "tau", tau, &failed)) return failed;
    if (!begin(&w, "exponential_window", n, periodic, dtype)) return w.answer;
    double middle = center == center ? center : w.m / 2;
    return end(&w, kn_exp(kn_mul_scalar(kn_abs(kn_sub_scalar(places(&w), middle)), -1 / tau)));
}

kn_tensor kn_kaiser_window(int64_t n, double beta, bool periodic, kn_dtype dtype)
{
    window w;
    double b = beta < 0 ? -beta : beta;
    if (!(b <= 10000))
        return kni_fail_tensor("kaiser_window", KN_ERROR_ARGUMENT,
                               "beta is %g: it must be between -10000 and 10000", beta);
    if (!begin(&w, "kaiser_window", n, periodic, dtype)) return w.answer;
    kn_tensor k = kn_sub_scalar(kn_mul_scalar(places(&w), 2 / w.m), 1);
    kn_tensor inside = kn_maximum_scalar(kn_rsub_scalar(kn_square(k), 1), 0);
    kn_tensor a = kn_keep(kn_mul_scalar(kn_sqrt(inside), b));
    /* I0(a) / I0(b) without their exponentials, which overflow where the quotient does not. */
    kn_tensor quotient = kn_div(kn_i0e(a), kn_i0e(kn_scalar(b, KN_F64)));
    return end(&w, kn_mul(quotient, kn_exp(kn_sub_scalar(a, b))));
}

/* ---- frequencies */

static kn_tensor frequencies(const char *name, int64_t n, double spacing, kn_dtype dtype, bool half)
{
    if (n < 0) return kni_fail_tensor(name, KN_ERROR_ARGUMENT, "n is %D: it must be 0 or more", n);
    if (spacing == 0 || spacing != spacing)
        return kni_fail_tensor(name, KN_ERROR_ARGUMENT, "the spacing is %g: it must be another number than 0",
                               spacing);
    if (!kn_dtype_is_float(dtype))
        return kni_fail_tensor(name, KN_ERROR_DTYPE, "does not make %T: ask for a float dtype", (int)dtype);
    kni_call call = kni_call_begin(name);
    kn_tensor k = kn_arange(0, (double)(half ? n / 2 + 1 : n), 1, KN_F64);
    if (!half) {
        k = kn_keep(k);
        k = kn_where(kn_less_scalar(k, (double)((n + 1) / 2)), k, kn_sub_scalar(k, (double)n));
    }
    return kni_call_end(call, kn_cast(kn_div_scalar(k, (double)n * spacing), dtype));
}

kn_tensor kn_fftfreq(int64_t n, double spacing, kn_dtype dtype)
{
    return frequencies("fftfreq", n, spacing, dtype, false);
}

kn_tensor kn_rfftfreq(int64_t n, double spacing, kn_dtype dtype)
{
    return frequencies("rfftfreq", n, spacing, dtype, true);
}

/* ---- shifts */

static kn_tensor shift_half(const char *name, kn_tensor x, kn_ints axes, bool back)
{
    const kni_type *t = kni_type_of(x);
    kni_call call = kni_call_begin(name);
    if (axes.rank < 0 || axes.rank > KN_MAX_RANK)
        return kni_call_fail(call, KN_ERROR_ARGUMENT, "%d axes given; at most %d", axes.rank, KN_MAX_RANK);
    if (t && axes.rank == 0)
        for (int i = 0; i < t->rank; i++) axes.dims[axes.rank++] = i;
    kn_ints shifts = {.rank = axes.rank};
    for (int i = 0; t && i < axes.rank; i++) {
        int64_t axis = axes.dims[i];
        if (kni_resolve_axis(name, &axis, t->rank, t->rank)) return kni_call_end(call, kni_poison_latest());
        shifts.dims[i] = back ? (t->dims[axis] + 1) / 2 : t->dims[axis] / 2;
    }
    return kni_call_end(call, axes.rank ? kn_roll(x, shifts, axes) : kn_reshape(x, KN_SCALAR_SHAPE));
}

kn_tensor kn_fftshift(kn_tensor x, kn_ints axes) { return shift_half("fftshift", x, axes, false); }
kn_tensor kn_ifftshift(kn_tensor x, kn_ints axes) { return shift_half("ifftshift", x, axes, true); }
