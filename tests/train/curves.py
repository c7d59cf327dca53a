"""Records what PyTorch's training does, for tests/unit/test_train_curves.c: the initial weights of four small models as .pt
files, and the loss of each of 200 steps with four optimisers in f64 and f32, in curves.npz.
Usage: python3 tests/train/curves.py   (writes tests/train/curves/; needs torch and numpy)"""

import os

import numpy
import torch
from torch import nn

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "curves")
STEPS, BATCHES, BATCH, CLASSES = 200, 8, 16, 4

OPTIMISERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
    "adam": lambda p: torch.optim.Adam(p, lr=0.003),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.003, weight_decay=0.05),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.002, momentum=0.5),
}


def bits(seed, count):
    """32-bit words by a counter and a mixer; the C side computes the same ones."""
    x = (numpy.arange(count, dtype=numpy.uint64) + numpy.uint64(seed * 1000003)) & 0xFFFFFFFF
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        x = ((x ^ (x >> numpy.uint64(shift))) * numpy.uint64(factor)) & 0xFFFFFFFF
    return x ^ (x >> numpy.uint64(16))


def numbers(seed, count):
    """Multiples of 2^-15 in [-1, 1): exact in f32."""
    return (bits(seed, count) >> 16).astype(numpy.float64) / 32768 - 1


def batch(index, size):
    """Labels, and inputs that are noise plus half of the pattern of the label."""
    labels = (bits(index, BATCH) % CLASSES).astype(numpy.int64)
    patterns = numbers(100, CLASSES * size).reshape(CLASSES, size)
    return numbers(200 + index, BATCH * size).reshape(BATCH, size) + 0.5 * patterns[labels], labels


def tokens(index, length):
    """Labels, and tokens of 0 to 11 of which every other depends on the label."""
    labels = (bits(index, BATCH) % CLASSES).astype(numpy.int64)
    noise = (bits(200 + index, BATCH * length) % 12).astype(numpy.int64).reshape(BATCH, length)
    noise[:, ::2] = (noise[:, ::2] // 4) * 4 + labels[:, None]
    return noise, labels


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(20, 32), nn.Linear(32, 32), nn.Linear(32, CLASSES)

    def forward(self, x):
        return self.fc3(torch.relu(self.fc2(torch.relu(self.fc1(x)))))


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.conv2, self.norm2 = nn.Conv2d(4, 8, 3), nn.BatchNorm2d(8)
        self.fc = nn.Linear(32, CLASSES)

    def forward(self, x):
        x = nn.functional.max_pool2d(torch.relu(self.norm1(self.conv1(x.reshape(-1, 1, 8, 8)))), 2)
        return self.fc(torch.relu(self.norm2(self.conv2(x))).flatten(1))


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(6, 12, num_layers=2, batch_first=True)
        self.fc = nn.Linear(12, CLASSES)

    def forward(self, x):
        return self.fc(self.lstm(x.reshape(-1, 7, 6))[0][:, -1])


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(12, 16)
        self.position = nn.Embedding(8, 16)
        layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, activation="gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.fc = nn.Linear(16, CLASSES)

    def forward(self, x):
        x = self.embedding(x) + self.position(torch.arange(8))
        return self.fc(self.encoder(x).mean(1))


MODELS = {"mlp": (Mlp, lambda i: batch(i, 20)), "cnn": (Cnn, lambda i: batch(i, 64)),
          "lstm": (Lstm, lambda i: batch(i, 42)), "transformer": (Transformer, lambda i: tokens(i, 8))}


def train(make, state, batches, optimiser, dtype):
    model = make().to(dtype)
    model.load_state_dict({k: v.to(dtype) if v.is_floating_point() else v for k, v in state.items()})
    optim = OPTIMISERS[optimiser](model.parameters())
    losses = []
    for step in range(STEPS):
        x, y = (torch.from_numpy(v) for v in batches[step % BATCHES])
        loss = nn.functional.cross_entropy(model(x.to(dtype) if x.is_floating_point() else x), y)
        optim.zero_grad()
        loss.backward()
        optim.step()
        losses.append(loss.item())
    return numpy.array(losses)


def main():
    torch.set_num_threads(1)
    os.makedirs(FOLDER, exist_ok=True)
    curves = {}
    for number, (name, (make, data)) in enumerate(MODELS.items()):
        torch.manual_seed(number + 1)
        state = make().state_dict()
        torch.save(state, os.path.join(FOLDER, name + ".pt"))
        batches = [data(i) for i in range(BATCHES)]
        for optimiser in OPTIMISERS:
            for text, dtype in (("f64", torch.float64), ("f32", torch.float32)):
                curves["%s.%s.%s" % (name, optimiser, text)] = train(make, state, batches, optimiser, dtype)
            wide, narrow = curves["%s.%s.f64" % (name, optimiser)], curves["%s.%s.f32" % (name, optimiser)]
            gap = numpy.abs(wide - narrow)
            print("%-12s %-8s loss %.4f to %.3e, f32 differs by %.1e at the end, %.1e at most, relative %.1e"
                  % (name, optimiser, wide[0], wide[-1], gap[-1], gap.max(), (gap / wide).max()))
    numpy.savez(os.path.join(FOLDER, "curves.npz"), **curves)


if __name__ == "__main__":
    main()
