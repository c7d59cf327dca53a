"""Sound as speech models take it: samples of a file, and the spectrum that Whisper hears."""
import numpy as np

F = np.float32
RATE = 16000


def samples(path):
    """Sound of 16 kHz, whose file is nothing but 16-bit numbers, as numbers of -1 to 1."""
    return np.fromfile(path, "<i2").astype(F) / 32768


def slaney(hz):
    """Slaney's mel scale: straight up to 1 kHz, logarithmic above."""
    hz = np.asarray(hz, np.float64)
    return np.where(hz < 1000, hz * 3 / 200, 15 + np.log(np.maximum(hz, 1000) / 1000) * 27 / np.log(6.4))


def hertz(mel):
    return np.where(mel < 15, mel * 200 / 3, 1000 * np.exp((mel - 15) * np.log(6.4) / 27))


def mel_bank(bands, points):
    """Triangles of equal area over the bins of a spectrum."""
    edges = hertz(np.linspace(slaney(0), slaney(RATE / 2), bands + 2))
    bins = np.linspace(0, RATE / 2, points)
    rising = (bins - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    falling = (edges[2:, None] - bins) / (edges[2:] - edges[1:-1])[:, None]
    return np.maximum(0, np.minimum(rising, falling)) * (2 / (edges[2:] - edges[:-2]))[:, None]


def whisper_spectrum(sound):
    """[1, 80, 3000]: the logarithms of 30 seconds in steps of 10 ms, as Whisper was trained on them."""
    sound = np.pad(sound, (0, 30 * RATE - len(sound)))
    sound = np.pad(sound, 200, mode="reflect").astype(np.float64)
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(400) / 400)
    frames = np.lib.stride_tricks.sliding_window_view(sound, 400)[::160][:3000]
    power = np.abs(np.fft.rfft(frames * window)) ** 2
    logs = np.log10(np.maximum(mel_bank(80, 201) @ power.T, 1e-10))
    return ((np.maximum(logs, logs.max() - 8) + 4) / 4).astype(F)[None]
