"""Trains a small convolutional network on the digits 0 to 4 with PyTorch and writes backbone.pt.

    python examples/import_pytorch/make_backbone.py [folder of MNIST's files]
"""
import gzip
import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn

here = Path(__file__).parent
data = Path(sys.argv[1]) if len(sys.argv) > 1 else here.parent.parent / "data" / "mnist"


def read_idx(name: str, header: int) -> np.ndarray:
    return np.frombuffer(gzip.decompress((data / name).read_bytes()), np.uint8, offset=header)


torch.manual_seed(0)
images = read_idx("train-images-idx3-ubyte.gz", 16).reshape(-1, 1, 28, 28)
labels = read_idx("train-labels-idx1-ubyte.gz", 8)
known = labels < 5
x = torch.from_numpy(images[known].copy()).float() / 255
y = torch.from_numpy(labels[known].copy()).long()

features = nn.Sequential(
    nn.Conv2d(1, 8, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 5), nn.ReLU(), nn.MaxPool2d(2))
model = nn.Sequential()
model.add_module("features", features)
model.add_module("flatten", nn.Flatten())
model.add_module("classifier", nn.Linear(256, 5))

optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(2):
    for batch in torch.randperm(len(x)).split(64):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x[batch]), y[batch])
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch + 1}: loss of the last batch {loss.item():.4f}")
torch.save({"state_dict": model.state_dict(), "classes": "0 1 2 3 4"}, here / "backbone.pt")
