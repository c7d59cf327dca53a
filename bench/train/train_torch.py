"""PyTorch's side of `kiln bench mlp cnn lenet`: trains one model on made-up digits when asked to.
Usage: python3 bench/train/train_torch.py MODEL THREADS
Prints "ready"; then for each line with a number of steps on standard input the seconds of the fastest and of the median
step, and the peak memory of the process in KB before (with torch loaded) and after."""

import resource
import sys
import time

import torch
from torch import nn

F = nn.functional


def mlp():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(),
                         nn.Linear(512, 10))


def cnn():
    return nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Dropout(0.25), nn.Flatten(), nn.Linear(9216, 128), nn.ReLU(), nn.Dropout(0.5),
                         nn.Linear(128, 10))


def lenet():
    return nn.Sequential(nn.Conv2d(1, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 5), nn.ReLU(),
                         nn.MaxPool2d(2), nn.Flatten(), nn.Linear(512, 10))


MODELS = {"mlp": (mlp, 128), "cnn": (cnn, 64), "lenet": (lenet, 64)}


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main():
    torch.set_num_threads(int(sys.argv[2]))
    torch.manual_seed(1)
    make, batch = MODELS[sys.argv[1]]
    base = peak()
    model = make()
    optim = torch.optim.Adam(model.parameters())
    x, y = torch.rand(batch, 1, 28, 28), torch.randint(0, 10, (batch,))
    print("ready", flush=True)
    for line in sys.stdin:
        times = []
        for _ in range(int(line)):
            start = time.perf_counter()
            optim.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optim.step()
            times.append(time.perf_counter() - start)
        times.sort()
        print(times[0], times[len(times) // 2], base, peak(), flush=True)


if __name__ == "__main__":
    main()
