"""PyTorch's names -> Kiln's calls: Fourier transforms, short-time transforms, windows. Complex tensors are pairs here."""

import math

import torch
from op_map import MAP, as_list, axes_of, refuse

NORMS = {None: 0, "backward": 0, "ortho": 1, "forward": 2}
RFFTS = ("rfft", "ihfft")  # of real numbers; the others take complex ones


def pair(x):
    return x if isinstance(x, tuple) else (x, None)


def fft(own):
    def run(k, x, n=None, dim=-1, norm=None):
        return getattr(k, own)(x if own in RFFTS else pair(x), dim, {"n": n or 0, "norm": NORMS[norm]})

    return run


def several(own, function):
    """Over several axes. The function of Kiln for two axes takes no others, so that its place is taken where they are named."""

    def run(k, x, s=None, dim=None, norm=None):
        settings = {"sizes": [] if s is None else as_list(s), "norm": NORMS[norm]}
        x = x if own[:-1] in RFFTS else pair(x)
        if own[-1] == "2" and dim is None and own not in ("fft2", "ifft2"):
            return getattr(k, own)(x, settings)
        if own in ("fft2", "ifft2") and dim is None and s is None:
            return getattr(k, own)(x, NORMS[norm])
        axes = axes_of([-2, -1] if own[-1] == "2" and dim is None else dim)
        return getattr(k, function)(x, axes, settings)

    return run


for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    MAP["fft." + name] = fft(name)
    for axes in ("2", "n"):
        MAP["fft." + name + axes] = several(name + axes, name + ("n_with" if name in ("fft", "ifft") else "n"))


def shifted(own):
    return lambda k, x, dim=None: tuple(getattr(k, own)(t, axes_of(dim)) for t in x) if isinstance(x, tuple) else getattr(k, own)(
        x, axes_of(dim))


MAP["fft.fftshift"], MAP["fft.ifftshift"] = shifted("fftshift"), shifted("ifftshift")

# ---- short-time transforms

PADS = {"reflect": 0, "constant": 4, "replicate": 2, "circular": 3}


def short_time(hop_length, win_length, window, center, normalized, **more):
    return dict(hop=hop_length or 0, window_size=win_length or 0, window=window, uncentered=not center, normalized=normalized, **more)


def stft(k, x, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode="reflect", normalized=False, onesided=None,
         return_complex=None, align_to_window=None):  # fmt: skip
    refuse(align_to_window=align_to_window)
    y = k.stft(x, n_fft, short_time(hop_length, win_length, window, center, normalized, two_sided=onesided is False, pad_mode=PADS[pad_mode]))
    return y if return_complex else k.stack(list(y), -1)


def istft(k, x, n_fft, hop_length=None, win_length=None, window=None, center=True, normalized=False, onesided=None, length=None,
          return_complex=False):  # fmt: skip
    refuse(return_complex=return_complex)
    two_sided = onesided is False or (onesided is None and x[0].shape[-2] == n_fft)
    return k.istft(pair(x), n_fft, short_time(hop_length, win_length, window, center, normalized, two_sided=two_sided, length=length or 0))


MAP["stft"], MAP["istft"] = stft, istft

# ---- windows


def window(own, *names):
    """names: the settings of one window, which Kiln takes between the size and the kind."""

    def run(k, m, sym=True, dtype=torch.float32, layout=None, device=None, requires_grad=False, **settings):
        return getattr(k, own)(m, *[settings[n] if settings[n] is not None else math.nan for n in names], not sym, dtype)

    return run


for name in ("hann", "hamming", "blackman", "bartlett", "cosine", "nuttall"):
    MAP["signal.windows." + name] = window(name + "_window")
MAP["signal.windows.gaussian"] = window("gaussian_window", "std")
MAP["signal.windows.kaiser"] = window("kaiser_window", "beta")
MAP["signal.windows.general_cosine"] = window("general_cosine_window", "a")
MAP["signal.windows.general_hamming"] = lambda k, m, alpha=0.54, sym=True, dtype=torch.float32, **_: k.general_hamming_window(
    m, alpha, not sym, dtype)
MAP["signal.windows.exponential"] = lambda k, m, center=None, tau=1.0, sym=True, dtype=torch.float32, **_: k.exponential_window(
    m, tau, math.nan if center is None else center, not sym, dtype)
