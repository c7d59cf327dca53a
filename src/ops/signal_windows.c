/* Windows, frequencies and shifts: functions of a position, computed in f64. */
#include "ops/infer.h"
#include "ops/movement_rows.h"
#include "ops/op.h"

#define TAU 6.283185307179586

/* sum of weights[i] cos(2 pi i k / m) for k = 0 .. n - 1 */
static kn_tensor cosine_window(const char *name, int64_t n, bool periodic, kn_dtype dtype,
                               const double *weights)
{
    if (n < 0 || !kn_dtype_is_float(dtype))
        return kni_fail_tensor(name, KN_ERROR_ARGUMENT,
                               "needs a length of at least 0 and a float dtype, not %D and %T", n,
                               (int)dtype);
    kni_call call = kni_call_begin(name);
    if (n == 1) return kni_call_end(call, kn_ones(KN_SHAPE(1), dtype));
    double m = (double)(periodic ? n : n - 1);
    kn_tensor angle = kn_keep(kn_mul_scalar(kn_arange(0, (double)n, 1, KN_F64), TAU / (n ? m : 1)));
    /* From the last weight to the first, so that the ends of a Blackman window are 0. */
    kn_tensor y = kn_mul_scalar(kn_cos(angle), weights[1]);
    if (weights[2] != 0) y = kn_add(kn_mul_scalar(kn_cos(kn_mul_scalar(angle, 2)), weights[2]), y);
    return kni_call_end(call, kn_cast(kn_add_scalar(y, weights[0]), dtype));
}

kn_tensor kn_hann_window(int64_t n, bool periodic, kn_dtype dtype)
{
    return cosine_window("hann_window", n, periodic, dtype, (const double[]){0.5, -0.5, 0});
}

kn_tensor kn_hamming_window(int64_t n, bool periodic, kn_dtype dtype)
{
    return cosine_window("hamming_window", n, periodic, dtype, (const double[]){0.54, -0.46, 0});
}

kn_tensor kn_blackman_window(int64_t n, bool periodic, kn_dtype dtype)
{
    return cosine_window("blackman_window", n, periodic, dtype, (const double[]){0.42, -0.5, 0.08});
}

kn_tensor kn_bartlett_window(int64_t n, bool periodic, kn_dtype dtype)
{
    if (n < 0 || !kn_dtype_is_float(dtype))
        return kni_fail_tensor("bartlett_window", KN_ERROR_ARGUMENT,
                               "needs a length of at least 0 and a float dtype, not %D and %T", n,
                               (int)dtype);
    kni_call call = kni_call_begin("bartlett_window");
    if (n == 1) return kni_call_end(call, kn_ones(KN_SHAPE(1), dtype));
    double m = (double)(periodic ? n : n - 1);
    kn_tensor place = kn_mul_scalar(kn_arange(0, (double)n, 1, KN_F64), 2 / (n ? m : 1));
    return kni_call_end(call, kn_cast(kn_rsub_scalar(kn_abs(kn_sub_scalar(place, 1)), 1), dtype));
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
