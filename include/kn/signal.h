/* Fourier transforms of any length, short-time transforms, windows. Complex numbers are a pair of tensors. */
#ifndef KN_SIGNAL_H
#define KN_SIGNAL_H

#include <kn/base.h>
#include <kn/shape.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kn_complex {
    kn_tensor real, imag; /* imag may be KN_NONE where a function takes one: zeros */
} kn_complex;

/* ---- discrete Fourier transforms */

typedef enum kn_fft_norm {
    KN_FFT_BACKWARD = 0, /* the inverse is divided by n */
    KN_FFT_ORTHO = 1,    /* both are divided by sqrt(n) */
    KN_FFT_FORWARD = 2   /* the forward transform is divided by n */
} kn_fft_norm;

typedef struct kn_fft_args {
    int64_t n; /* length of the transform: the axis is cut or filled with zeros; 0: its size */
    kn_fft_norm norm;
} kn_fft_args;
#define KN_FFT_ARGS_DEFAULTS KN_ZEROED

/* y[k] = sum over j of x[j] e^(-2 pi i j k / n) along an axis. */
KN_API kn_complex kn_fft(kn_complex x, int32_t axis, const kn_fft_args *args);
/* y[j] = sum over k of x[k] e^(2 pi i j k / n) / n. */
KN_API kn_complex kn_ifft(kn_complex x, int32_t axis, const kn_fft_args *args);
/* The first n / 2 + 1 elements of the transform of real numbers; the others mirror them. */
KN_API kn_complex kn_rfft(kn_tensor x, int32_t axis, const kn_fft_args *args);
/* The n real numbers whose kn_rfft is x; args.n 0: 2 (size - 1). The imaginary part of the first element, and of the last
   for even n, is not used. */
KN_API kn_tensor kn_irfft(kn_complex x, int32_t axis, const kn_fft_args *args);
/* Transforms over several axes (none named: all). */
KN_API kn_complex kn_fftn(kn_complex x, kn_ints axes, kn_fft_norm norm);
KN_API kn_complex kn_ifftn(kn_complex x, kn_ints axes, kn_fft_norm norm);
/* Over the last two axes. */
KN_API kn_complex kn_fft2(kn_complex x, kn_fft_norm norm);
KN_API kn_complex kn_ifft2(kn_complex x, kn_fft_norm norm);

typedef struct kn_fftn_args {
    kn_ints
        sizes; /* lengths of the transforms, one for each axis; -1: the axis' own. Without axes they belong to the last ones */
    kn_fft_norm norm;
} kn_fftn_args;
#define KN_FFTN_ARGS_DEFAULTS KN_ZEROED
/* The same with lengths of one's choice. */
KN_API kn_complex kn_fftn_with(kn_complex x, kn_ints axes, const kn_fftn_args *args);
KN_API kn_complex kn_ifftn_with(kn_complex x, kn_ints axes, const kn_fftn_args *args);
/* Of real numbers: the last of the axes has the first n / 2 + 1 elements. */
KN_API kn_complex kn_rfftn(kn_tensor x, kn_ints axes, const kn_fftn_args *args);
KN_API kn_complex kn_rfft2(kn_tensor x, const kn_fftn_args *args);
/* The real numbers whose kn_rfftn is x; without a size the last of the axes gets 2 (size - 1). */
KN_API kn_tensor kn_irfftn(kn_complex x, kn_ints axes, const kn_fftn_args *args);
KN_API kn_tensor kn_irfft2(kn_complex x, const kn_fftn_args *args);

/* The transform, n real numbers, of a signal that mirrors itself conjugated, of which x is the first n / 2 + 1 elements;
   args.n 0: 2 (size - 1). And back: the first n / 2 + 1 elements of the inverse of n real numbers. */
KN_API kn_tensor kn_hfft(kn_complex x, int32_t axis, const kn_fft_args *args);
KN_API kn_complex kn_ihfft(kn_tensor x, int32_t axis, const kn_fft_args *args);
/* Over several axes, of which the last is the halved one. */
KN_API kn_tensor kn_hfftn(kn_complex x, kn_ints axes, const kn_fftn_args *args);
KN_API kn_complex kn_ihfftn(kn_tensor x, kn_ints axes, const kn_fftn_args *args);
KN_API kn_tensor kn_hfft2(kn_complex x, const kn_fftn_args *args);
KN_API kn_complex kn_ihfft2(kn_tensor x, const kn_fftn_args *args);

/* Moves frequency 0 to the middle of the axes (none named: all), and back. */
KN_API kn_tensor kn_fftshift(kn_tensor x, kn_ints axes);
KN_API kn_tensor kn_ifftshift(kn_tensor x, kn_ints axes);
/* The frequencies of kn_fft and kn_rfft of n samples that lie `spacing` apart. */
KN_API kn_tensor kn_fftfreq(int64_t n, double spacing, kn_dtype dtype);
KN_API kn_tensor kn_rfftfreq(int64_t n, double spacing, kn_dtype dtype);

/* ---- short-time Fourier transforms */

typedef struct kn_stft_args {
    int64_t hop;         /* between frames, 0: n_fft / 4 */
    int64_t window_size; /* 0: the size of window, or n_fft */
    kn_tensor window;    /* [window_size], placed in the middle of n_fft; KN_NONE: ones */
    bool uncentered; /* frame t starts at t hop; otherwise its middle is there and x is padded by n_fft / 2 */
    kn_pad_mode pad_mode; /* of centered frames; 0: reflect, KN_PAD_ZEROS: PyTorch's "constant" */
    bool normalized;      /* divided by sqrt(n_fft) */
    bool two_sided;       /* all n_fft frequencies instead of n_fft / 2 + 1 */
    int64_t length;       /* kn_istft: of the result, 0: as much as the frames give */
} kn_stft_args;
#define KN_STFT_ARGS_DEFAULTS KN_ZEROED

/* y[..., k, t] = sum over j of window[j] x[..., t hop + j] e^(-2 pi i j k / n_fft); x [..., samples]. */
KN_API kn_complex kn_stft(kn_tensor x, int64_t n_fft, const kn_stft_args *args);
/* The signal whose kn_stft is y, by overlapping and adding; 0 where no window reaches. Where the two sides of a
   two-sided y do not mirror each other, it is the real part of the inverse that is added. */
KN_API kn_tensor kn_istft(kn_complex y, int64_t n_fft, const kn_stft_args *args);

/* ---- windows of n numbers. periodic: for transforms, one period of n samples; otherwise symmetric. */

KN_API kn_tensor kn_hann_window(int64_t n, bool periodic, kn_dtype dtype); /* 0.5 - 0.5 cos(2 pi i / m) */
KN_API kn_tensor kn_hamming_window(int64_t n, bool periodic,
                                   kn_dtype dtype); /* 0.54 - 0.46 cos(2 pi i / m) */
/* 0.42 - 0.5 cos(2 pi i / m) + 0.08 cos(4 pi i / m) */
KN_API kn_tensor kn_blackman_window(int64_t n, bool periodic, kn_dtype dtype);
KN_API kn_tensor kn_bartlett_window(int64_t n, bool periodic, kn_dtype dtype); /* 1 - |2 i / m - 1| */
/* sum over k of (-1)^k weights[k] cos(2 pi k i / m), which the four above are cases of, for 1 to 16 weights. */
KN_API kn_tensor kn_general_cosine_window(int64_t n, const double *weights, int32_t n_weights, bool periodic,
                                          kn_dtype dtype);
/* alpha - (1 - alpha) cos(2 pi i / m) */
KN_API kn_tensor kn_general_hamming_window(int64_t n, double alpha, bool periodic, kn_dtype dtype);
/* Four cosines whose side lobes are low. */
KN_API kn_tensor kn_nuttall_window(int64_t n, bool periodic, kn_dtype dtype);
KN_API kn_tensor kn_cosine_window(int64_t n, bool periodic, kn_dtype dtype); /* sin(pi (i + 1/2) / (m + 1)) */
/* exp(-(i - m / 2)^2 / (2 deviation^2)) */
KN_API kn_tensor kn_gaussian_window(int64_t n, double deviation, bool periodic, kn_dtype dtype);
/* exp(-|i - center| / tau); NaN for center: the middle, m / 2. */
KN_API kn_tensor kn_exponential_window(int64_t n, double tau, double center, bool periodic, kn_dtype dtype);
/* I0(beta sqrt(1 - (2 i / m - 1)^2)) / I0(beta), I0 the modified Bessel function; PyTorch's beta is 12. */
KN_API kn_tensor kn_kaiser_window(int64_t n, double beta, bool periodic, kn_dtype dtype);

#ifdef __cplusplus
}
#endif
#endif
