/* Fourier transforms of every kind of length against the sum as it is written, on the CPU and on the reference backend;
   short-time transforms there and back; windows; errors; gradients. */
#include "../support/check.h"
#include "core/backends.h"
#include "core/device_object.h"
#include "core/math/math.h"
#include <kn/autodiff.h>
#include <kn/device.h>
#include <stdlib.h>

static kn_tensor made(kn_shape shape, double seed, kn_dtype dtype)
{
    int64_t n = 1;
    for (int i = 0; i < shape.rank; i++) n *= shape.dims[i];
    kn_tensor k = kn_add_scalar(kn_arange(0, (double)n, 1, KN_F64), seed);
    return kn_cast(kn_reshape(kn_sin(kn_mul_scalar(kn_square(k), 0.7310585)), shape), dtype);
}

static double largest(kn_tensor x)
{
    return kn_count(x) == 0 ? 0 : kn_item(kn_max(kn_abs(x), KN_AXES_ALL, false));
}

static bool near(kn_tensor a, kn_tensor b, double limit)
{
    double gap = largest(kn_keep(kn_cast(kn_sub(a, b), KN_F64)));
    if (gap <= limit) return true;
    printf("  differ by %g: %s\n", gap, kn_last_error());
    return false;
}

/* ---- against the sum */

static void check_length(int64_t n, kn_dtype dtype, double limit)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor re = kn_keep(made(KN_SHAPE(2, n), 1, dtype)), im = kn_keep(made(KN_SHAPE(2, n), 8, dtype));
    kn_complex y = kn_fft((kn_complex){re, im}, -1, NULL);
    size_t bytes = (size_t)(2 * n) * sizeof(double);
    double *xr = malloc(bytes), *xi = malloc(bytes), *yr = malloc(bytes), *yi = malloc(bytes), worst = 0;
    y = (kn_complex){kn_keep(y.real), kn_keep(y.imag)};
    CHECK(kn_read_as(re, KN_F64, xr, bytes) == KN_OK && kn_read_as(im, KN_F64, xi, bytes) == KN_OK);
    CHECK(kn_read_as(y.real, KN_F64, yr, bytes) == KN_OK && kn_read_as(y.imag, KN_F64, yi, bytes) == KN_OK);
    for (int64_t line = 0; line < 2; line++)
        for (int64_t k = 0; k<n; k += n> 200 ? 37 : 1) {
            double sr = 0, si = 0;
            for (int64_t j = 0; j < n; j++) {
                double angle = 6.283185307179586 * (double)(j * k % n) / (double)n, c = kni_cos_f64(angle),
                       s = kni_sin_f64(angle);
                sr += xr[line * n + j] * c + xi[line * n + j] * s;
                si += xi[line * n + j] * c - xr[line * n + j] * s;
            }
            double gap = kni_abs_f64(sr - yr[line * n + k]) + kni_abs_f64(si - yi[line * n + k]);
            if (gap > worst) worst = gap;
        }
    if (!CHECK(worst <= limit * (4 + (double)n / 8))) printf("  length %d: off by %g\n", (int)n, worst);
    kn_complex back = kn_ifft(y, -1, NULL);
    CHECK(near(back.real, re, limit));
    CHECK(near(back.imag, im, limit));
    free(xr), free(xi), free(yr), free(yi);
    kn_scope_end(scope, KN_NONE);
}

static void check_lengths(void)
{
    static const int64_t lengths[] = {1,   2,   3,   4,   5,    6,    7,    8,    9,    12,  15,
                                      16,  17,  25,  31,  32,   37,   60,   64,   97,   121, 128,
                                      210, 256, 360, 961, 1000, 1009, 1024, 1369, 2018, 3072};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        check_length(lengths[i], KN_F64, 2e-15);
        check_length(lengths[i], KN_F32, 1e-6);
    }
    check_length(24, KN_F16, 4e-3);
    check_length(24, KN_BF16, 4e-2);
}

/* ---- axes, lengths, norms */

static void check_forms(void)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(made(KN_SHAPE(3, 5, 4), 2, KN_F64));
    kn_complex whole = kn_fftn((kn_complex){x, KN_NONE}, KN_AXES_ALL, KN_FFT_ORTHO);
    kn_complex back = kn_ifftn(whole, KN_AXES_ALL, KN_FFT_ORTHO);
    CHECK(near(back.real, x, 1e-14));
    CHECK(near(back.imag, kn_zeros_like(x), 1e-14));
    kn_complex middle = kn_fft((kn_complex){x, KN_NONE}, 1, NULL);
    kn_complex moved = kn_fft((kn_complex){kn_transpose(x, 1, 2), KN_NONE}, -1, NULL);
    CHECK(near(middle.real, kn_transpose(moved.real, 1, 2), 1e-14));
    CHECK(near(middle.imag, kn_transpose(moved.imag, 1, 2), 1e-14));
    for (int64_t n = 1; n < 9; n++) {
        kn_fft_args args = {n, KN_FFT_FORWARD};
        kn_complex half = kn_rfft(x, 1, &args);
        CHECK(kn_size(half.real, 1) == n / 2 + 1);
        kn_tensor again = kn_keep(kn_irfft(half, 1, &args));
        kn_tensor cut = n <= 5 ? kn_narrow(x, 1, 0, n)
                               : kn_pad(x, &(kn_pad_args){KN_INTS(0, 0), KN_INTS(n - 5, 0), 0, 0});
        CHECK(near(again, cut, 1e-14));
    }
    double line[] = {1, 2, 3, 4};
    kn_complex y = kn_fft((kn_complex){kn_from(line, KN_F64, KN_SHAPE(4)), KN_NONE}, 0, NULL);
    CHECK_VALUES(y.real, 1e-15, 10, -2, -2, -2);
    CHECK_VALUES(y.imag, 1e-15, 0, 2, 0, -2);
    CHECK(kn_count(kn_fft((kn_complex){kn_zeros(KN_SHAPE(0, 4), KN_F32), KN_NONE}, 1, NULL).real) == 0);
    kn_scope_end(scope, KN_NONE);
}

static void check_errors(void)
{
    CHECK_POISON(kn_istft((kn_complex){kn_zeros(KN_SHAPE(1, 1, 1, 1, 1, 1, 2, 1), KN_F32), KN_NONE}, 2, NULL),
                 "at most 7");
    kn_complex x = {kn_keep(kn_ones(KN_SHAPE(4), KN_F32)), kn_keep(kn_ones(KN_SHAPE(5), KN_F32))};
    CHECK_POISON(kn_fft(x, 0, NULL).real, "imaginary");
    CHECK_POISON(kn_fft((kn_complex){x.real, KN_NONE}, 1, NULL).real, "axis 1");
    CHECK_POISON(kn_fft((kn_complex){x.real, KN_NONE}, 0, &(kn_fft_args){.n = -2}).real, "length");
    CHECK_POISON(kn_fft((kn_complex){kn_ones(KN_SHAPE(3), KN_I32), KN_NONE}, 0, NULL).imag, "kn_cast");
    CHECK_POISON(kn_rfft(kn_zeros(KN_SHAPE(0), KN_F32), 0, NULL).real, "kn_rfft: axis 0");
    CHECK_POISON(kn_irfft((kn_complex){kn_ones(KN_SHAPE(1), KN_F32), KN_NONE}, 0, NULL), "give a length");
    CHECK_POISON(kn_stft(kn_ones(KN_SHAPE(4), KN_F32), 16, NULL).real, "frames of 16");
    CHECK_POISON(kn_hann_window(-1, true, KN_F32), "length");
    CHECK_POISON(kn_hann_window(4, true, KN_I32), "float");
}

/* ---- short-time transforms */

static void check_round_trip(int64_t n_fft, const kn_stft_args *given)
{
    kn_scope scope = kn_scope_begin();
    kn_stft_args args = *given;
    kn_tensor x = kn_keep(made(KN_SHAPE(2, 50), 3, KN_F64));
    args.length = 50;
    kn_complex y = kn_stft(x, n_fft, &args);
    CHECK(kn_size(y.real, 1) == (args.two_sided ? n_fft : n_fft / 2 + 1));
    CHECK(near(kn_istft(y, n_fft, &args), x, 1e-13));
    kn_scope_end(scope, KN_NONE);
}

static void check_short_time(void)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor hann = kn_keep(kn_hann_window(16, true, KN_F64)),
              small = kn_keep(kn_hamming_window(9, true, KN_F64));
    check_round_trip(16, &(kn_stft_args){0});
    check_round_trip(16, &(kn_stft_args){.hop = 4, .window = hann});
    check_round_trip(16, &(kn_stft_args){.hop = 5, .window = hann, .normalized = true});
    check_round_trip(16, &(kn_stft_args){.hop = 3, .window = small, .two_sided = true});
    check_round_trip(15, &(kn_stft_args){.hop = 4, .window = small, .pad_mode = KN_PAD_EDGE});
    kn_tensor x = kn_keep(made(KN_SHAPE(48), 3, KN_F64));
    kn_stft_args plain = {.hop = 8, .uncentered = true};
    CHECK(near(kn_istft(kn_stft(x, 16, &plain), 16, &plain), x, 1e-14));
    kn_stft_args stale = {.window = {12345}},
                 failed = {.window = kn_poison(KN_ERROR_ARGUMENT, "the first failure")};
    CHECK_POISON(kn_stft(x, 16, &stale).real, "kn_stft: this handle names no live tensor");
    CHECK_POISON(kn_stft(x, 16, &failed).imag, "the first failure");
    CHECK_POISON(kn_istft(kn_stft(x, 16, &plain), 16, &failed), "the first failure");
    kn_scope_end(scope, KN_NONE);
}

static void check_windows(void)
{
    CHECK_VALUES(kn_hann_window(4, true, KN_F64), 1e-15, 0, 0.5, 1, 0.5);
    CHECK_VALUES(kn_hann_window(5, false, KN_F32), 1e-7, 0, 0.5, 1, 0.5, 0);
    CHECK_VALUES(kn_hamming_window(3, false, KN_F64), 1e-15, 0.08, 1, 0.08);
    CHECK_VALUES(kn_blackman_window(3, false, KN_F64), 1e-15, 0, 1, 0);
    CHECK_VALUES(kn_bartlett_window(4, true, KN_F64), 1e-15, 0, 0.5, 1, 0.5);
    CHECK_VALUES(kn_hann_window(1, false, KN_F64), 0, 1);
    CHECK(kn_count(kn_hann_window(0, true, KN_F64)) == 0);
    CHECK_VALUES(kn_fftfreq(5, 0.5, KN_F64), 1e-15, 0, 0.4, 0.8, -0.8, -0.4);
    CHECK_VALUES(kn_rfftfreq(4, 1, KN_F64), 1e-15, 0, 0.25, 0.5);
    CHECK_VALUES(kn_fftshift(kn_arange(0, 5, 1, KN_F64), KN_AXES_ALL), 0, 3, 4, 0, 1, 2);
    CHECK_VALUES(kn_ifftshift(kn_arange(0, 5, 1, KN_F64), KN_AXES(0)), 0, 2, 3, 4, 0, 1);
}

/* ---- gradients */

static kn_tensor joined(kn_complex y)
{
    return kn_concat((kn_tensor[]){kn_flatten(y.real, 0, -1), kn_flatten(y.imag, 0, -1)}, 2, 0);
}
static kn_tensor of_fft(void *c, const kn_tensor *x, int32_t n)
{
    return joined(kn_fft((kn_complex){x[0], n > 1 ? x[1] : KN_NONE}, 1, c));
}
static kn_tensor of_rfft(void *c, const kn_tensor *x, int32_t n)
{
    (void)n;
    return joined(kn_rfft(x[0], 1, c));
}
static kn_tensor of_irfft(void *c, const kn_tensor *x, int32_t n)
{
    (void)n;
    return kn_irfft((kn_complex){x[0], x[1]}, 1, c);
}
static kn_tensor of_stft(void *c, const kn_tensor *x, int32_t n)
{
    (void)n;
    return joined(kn_stft(x[0], 4, c));
}

static void check_gradient(kn_gradcheck_fn f, void *context, kn_tensor a, kn_tensor b)
{
    kn_tensor in[2] = {kn_keep(a), b.bits ? kn_keep(b) : KN_NONE};
    if (!CHECK(kn_gradcheck(f, context, in, b.bits ? 2 : 1, 1e-5) == KN_OK))
        printf("  %s\n", kn_last_error());
}

static void check_gradients(void)
{
    kn_device_use(kn_device_autodiff(kn_device_cpu()));
    kn_scope scope = kn_scope_begin();
    for (int norm = 0; norm < 3; norm++)
        for (int64_t n = 0; n < 8; n += 3) {
            kn_fft_args args = {n, (kn_fft_norm)norm};
            check_gradient(of_fft, &args, made(KN_SHAPE(2, 5), 1, KN_F64), made(KN_SHAPE(2, 5), 4, KN_F64));
            check_gradient(of_fft, &args, made(KN_SHAPE(2, 5), 1, KN_F64), KN_NONE);
            check_gradient(of_rfft, &args, made(KN_SHAPE(2, 5), 1, KN_F64), KN_NONE);
            check_gradient(of_irfft, &args, made(KN_SHAPE(2, 5), 1, KN_F64), made(KN_SHAPE(2, 5), 4, KN_F64));
        }
    kn_stft_args frames = {.hop = 2, .window = kn_keep(kn_hann_window(4, false, KN_F64))};
    check_gradient(of_stft, &frames, made(KN_SHAPE(9), 1, KN_F64), KN_NONE);
    kn_scope_end(scope, KN_NONE);
    kn_device_use(kn_device_cpu());
}

int main(void)
{
    kn_device_use(kn_device_cpu());
    check_lengths();
    check_forms();
    check_errors();
    check_short_time();
    check_windows();
    check_gradients();
    kn_device_use(kni_device_make(kni_ref_backend(), "ref"));
    check_lengths();
    check_forms();
    return check_report();
}
