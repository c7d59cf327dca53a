/* Fourier transforms and windows for `kiln conform`; an absent second operand is an absent imaginary part. */
#include "conform_adapter_words.h"

#define AXIS ((int32_t)kiln_int(a, "axis", -1))
#define NORM ((kn_fft_norm)kiln_int(a, "norm", 0))
#define COMPLEX ((kn_complex){in[0], n > 1 ? in[1] : KN_NONE})
#define ARGS (&(kn_fft_args){kiln_int(a, "n", 0), NORM})
#define WINDOW kiln_int(a, "n", 0), FLAG("periodic"), (kn_dtype)kiln_int(a, "dtype", KN_F32)

static kn_stft_args frames(const kiln_attributes *a, kn_tensor window)
{
    return (kn_stft_args){.hop = kiln_int(a, "hop", 0),
                          .window = window,
                          .uncentered = FLAG("uncentered"),
                          .pad_mode = (kn_pad_mode)kiln_int(a, "pad_mode", 0),
                          .normalized = FLAG("normalized"),
                          .two_sided = FLAG("two_sided"),
                          .length = kiln_int(a, "length", 0)};
}

static kn_complex short_time(const kn_tensor *in, int n, const kiln_attributes *a)
{
    kn_stft_args args = frames(a, n > 1 ? in[1] : KN_NONE);
    return kn_stft(in[0], kiln_int(a, "n_fft", 0), &args);
}

static kn_tensor back_again(const kn_tensor *in, int n, const kiln_attributes *a)
{
    kn_stft_args args = frames(a, n > 2 ? in[2] : KN_NONE);
    return kn_istft((kn_complex){in[0], in[1]}, kiln_int(a, "n_fft", 0), &args);
}

PAIR(fft_forward, kn_complex, real, imag, kn_fft(COMPLEX, AXIS, ARGS))
PAIR(ifft, kn_complex, real, imag, kn_ifft(COMPLEX, AXIS, ARGS))
PAIR(rfft, kn_complex, real, imag, kn_rfft(in[0], AXIS, ARGS))
SIMPLE(irfft, kn_irfft(COMPLEX, AXIS, ARGS))
PAIR(fftn, kn_complex, real, imag, kn_fftn(COMPLEX, kiln_ints(a, "axes"), NORM))
PAIR(ifftn, kn_complex, real, imag, kn_ifftn(COMPLEX, kiln_ints(a, "axes"), NORM))
PAIR(fft2, kn_complex, real, imag, kn_fft2(COMPLEX, NORM))
PAIR(ifft2, kn_complex, real, imag, kn_ifft2(COMPLEX, NORM))
SIMPLE(fftshift, kn_fftshift(in[0], kiln_ints(a, "axes")))
SIMPLE(ifftshift, kn_ifftshift(in[0], kiln_ints(a, "axes")))
SIMPLE(fftfreq,
       kn_fftfreq(kiln_int(a, "n", 0), kiln_real(a, "spacing", 1), (kn_dtype)kiln_int(a, "dtype", KN_F32)))
SIMPLE(rfftfreq,
       kn_rfftfreq(kiln_int(a, "n", 0), kiln_real(a, "spacing", 1), (kn_dtype)kiln_int(a, "dtype", KN_F32)))
PAIR(stft, kn_complex, real, imag, short_time(in, n, a))
SIMPLE(istft, back_again(in, n, a))
SIMPLE(hann_window, kn_hann_window(WINDOW))
SIMPLE(hamming_window, kn_hamming_window(WINDOW))
SIMPLE(blackman_window, kn_blackman_window(WINDOW))
SIMPLE(bartlett_window, kn_bartlett_window(WINDOW))

const kiln_adapter kiln_adapters_signal[] = {ENTRY(fft_forward),
                                             ENTRY(ifft),
                                             ENTRY(rfft),
                                             ENTRY(irfft),
                                             ENTRY(fftn),
                                             ENTRY(ifftn),
                                             ENTRY(fft2),
                                             ENTRY(ifft2),
                                             ENTRY(fftshift),
                                             ENTRY(ifftshift),
                                             ENTRY(fftfreq),
                                             ENTRY(rfftfreq),
                                             ENTRY(stft),
                                             ENTRY(istft),
                                             ENTRY(hann_window),
                                             ENTRY(hamming_window),
                                             ENTRY(blackman_window),
                                             ENTRY(bartlett_window),
                                             {NULL, NULL}};
