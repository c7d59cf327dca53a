"""Fourier transforms against torch.fft in complex128."""

import torch
from conform import code

NORMS = ["backward", "ortho", "forward"]
LENGTHS = [1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 30, 37, 64]


def pair(y):
    return y.real.clone(), y.imag.clone()


def transforms(g):
    for length in LENGTHS:
        x = [g.values(2, length), g.values(2, length)]
        for inverse, function in enumerate((torch.fft.fft, torch.fft.ifft)):
            g.add("fft", x, attrs={"axis": -1, "inverse": inverse}, grad=length < 9,
                  expect=lambda a, b, f=function: pair(f(torch.complex(a, b))), name="length%d" % length)
    for norm, name in enumerate(NORMS):
        for n in (0, 3, 5, 9):
            for axis in (0, 1, -1):
                x, attrs, size = [g.values(2, 5, 3), g.values(2, 5, 3)], {"axis": axis, "n": n, "norm": norm}, n or None
                g.add("fft", x, attrs=dict(attrs, inverse=0), grad=True, large=False,
                      expect=lambda a, b, n=size, d=axis, m=name: pair(torch.fft.fft(torch.complex(a, b), n, d, m)))
                g.add("fft", [x[0], g.none()], attrs=dict(attrs, inverse=1), grad=True, large=False,
                      expect=lambda a, _, n=size, d=axis, m=name: pair(torch.fft.ifft(torch.complex(a, torch.zeros_like(a)), n, d, m)))
                g.add("rfft", x[:1], attrs=attrs, grad=True, covers=["fft"], large=False,
                      expect=lambda a, n=size, d=axis, m=name: pair(torch.fft.rfft(a, n, d, m)))
                g.add("irfft", x, attrs=attrs, grad=True, covers=["fft"], large=False,
                      expect=lambda a, b, n=size, d=axis, m=name: torch.fft.irfft(torch.complex(a, b), n, d, m))
        attrs = {"norm": norm}
        x = [g.values(3, 4, 5), g.values(3, 4, 5)]
        for op, function in (("fft_forward", torch.fft.fft), ("ifft", torch.fft.ifft), ("fft2", torch.fft.fft2),
                             ("ifft2", torch.fft.ifft2), ("fftn", torch.fft.fftn), ("ifftn", torch.fft.ifftn)):
            g.add(op, x, attrs=attrs, grad=True, covers=["fft"], large=False,
                  expect=lambda a, b, f=function, m=name: pair(f(torch.complex(a, b), norm=m)))
        g.add("fftn", x, attrs={"norm": norm, "axes": [0, 2]}, grad=True, covers=["fft"], large=False,
              expect=lambda a, b, m=name: pair(torch.fft.fftn(torch.complex(a, b), dim=(0, 2), norm=m)))
    g.add("fft", [g.values(0, 4), g.none()], attrs={"axis": 1}, name="empty", large=False,
          expect=lambda a, _: (a, a))
    g.error("fft", [g.values(4), g.values(5)], attrs={"axis": 0}, status="shape", text="imaginary")
    g.error("fft", [g.values(4)], attrs={"axis": 1}, status="argument", text="axis")
    g.error("fft", [g.values(0)], attrs={"axis": 0}, status="shape", text="length")


def frequencies(g):
    for axes in ([], [0], [-1, 0]):
        dims = tuple(axes) if axes else None
        for op, function in (("fftshift", torch.fft.fftshift), ("ifftshift", torch.fft.ifftshift)):
            g.add(op, [g.values(3, 4, 5)], attrs={"axes": axes}, grad=True, expect=lambda a, f=function, d=dims: f(a, d))
    for n in (1, 4, 5):
        attrs = {"n": n, "spacing": 0.5, "dtype": code}
        g.add("fftfreq", [], attrs=attrs, large=False, expect=lambda n=n: torch.fft.fftfreq(n, 0.5, dtype=torch.float64))
        g.add("rfftfreq", [], attrs=attrs, large=False, expect=lambda n=n: torch.fft.rfftfreq(n, 0.5, dtype=torch.float64))
    for op in ("hann_window", "hamming_window", "blackman_window", "bartlett_window"):
        for n in (0, 1, 2, 7, 8):
            for periodic in (0, 1):
                g.add(op, [], attrs={"n": n, "periodic": periodic, "dtype": code}, large=False,
                      expect=lambda n=n, p=periodic, f=getattr(torch, op): f(n, periodic=bool(p), dtype=torch.float64))


def short_time(g):
    def stft(x, w, n_fft, hop, centered, normalized, two_sided, mode="reflect"):
        window = torch.ones(n_fft, dtype=x.dtype) if w is None else w
        y = torch.stft(x, n_fft, hop, window.shape[0], window, centered, mode, normalized, not two_sided, True)
        return pair(y)

    for centered, normalized, two_sided in ((1, 0, 0), (0, 0, 0), (1, 1, 0), (1, 0, 1)):
        attrs = {"n_fft": 8, "hop": 3, "uncentered": not centered, "normalized": normalized, "two_sided": two_sided}
        for window in (g.none(), g.values(8, low=0.5, high=1), g.values(6, low=0.5, high=1)):
            g.add("stft", [g.values(2, 20), window], attrs=attrs, grad=True, covers=["fft"], large=False,
                  expect=lambda x, w, o=(8, 3, bool(centered), bool(normalized), bool(two_sided)): stft(x, w, *o))
        bins = 8 if two_sided else 5
        for length in (0, 15, 25):
            if centered == 0 and length == 25:
                continue
            def back(a, b, w, c=bool(centered), m=bool(normalized), t=bool(two_sided), k=length):
                window = torch.ones(8, dtype=a.dtype) if w is None else w
                if t:
                    full = torch.complex(a, b)
                    frames = torch.fft.ifft(full, dim=-2, norm="ortho" if m else None).real
                else:
                    frames = torch.fft.irfft(torch.complex(a, b), 8, dim=-2, norm="ortho" if m else None)
                count = frames.shape[-1]
                total = torch.zeros(frames.shape[0], (count - 1) * 3 + 8, dtype=a.dtype)
                weight = torch.zeros((count - 1) * 3 + 8, dtype=a.dtype)
                for i in range(count):
                    pad = (3 * i, total.shape[-1] - 3 * i - 8)
                    total = total + torch.nn.functional.pad(frames[..., i] * window, pad)
                    weight = weight + torch.nn.functional.pad(window**2, pad)
                y = total / weight
                y = y[:, 4:] if c else y
                y = y[:, :k] if k else y[:, :y.shape[-1] - 4] if c else y
                return torch.nn.functional.pad(y, (0, k - y.shape[-1])) if k > y.shape[-1] else y
            g.add("istft", [g.values(2, bins, 6), g.values(2, bins, 6), g.values(8, low=0.5, high=1)], grad=True, covers=["fft"],
                  attrs=dict(attrs, length=length), expect=back, large=False)
    g.error("stft", [g.values(4)], attrs={"n_fft": 16}, status="shape", text="frames")


def cases(g):
    transforms(g)
    frequencies(g)
    short_time(g)
