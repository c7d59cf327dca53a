"""Trains the classifier of this example with PyTorch and writes digits.safetensors beside itself.
Usage: python3 examples/mnist_inference/make_weights.py   (in the root of the repository; needs torch)"""

import gzip
import json
import os
import struct

import numpy
import torch
from torch import nn

FOLDER = os.path.dirname(os.path.abspath(__file__))
HIDDEN = 32


def images(name, offset):
    with gzip.open("data/mnist/" + name) as file:
        return numpy.frombuffer(file.read(), numpy.uint8, offset=offset)


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    x = torch.from_numpy(images("train-images-idx3-ubyte.gz", 16).reshape(-1, 784).astype(numpy.float32) / 255)
    y = torch.from_numpy(images("train-labels-idx1-ubyte.gz", 8).astype(numpy.int64))
    hidden, output = nn.Linear(784, HIDDEN), nn.Linear(HIDDEN, 10)
    optim = torch.optim.Adam([*hidden.parameters(), *output.parameters()], lr=2e-3)
    epochs = 12
    for epoch in range(epochs):
        order = torch.randperm(len(y))
        for at in range(0, len(y), 128):
            rows = order[at:at + 128]
            loss = nn.functional.cross_entropy(output(torch.relu(hidden(x[rows]))), y[rows])
            optim.zero_grad()
            loss.backward()
            optim.step()
        optim.param_groups[0]["lr"] = 2e-3 * (1 - (epoch + 1) / epochs) + 1e-5
    header, data = {}, b""
    for name, layer in (("hidden", hidden), ("output", output)):
        for kind, tensor in (("weight", layer.weight), ("bias", layer.bias)):
            part = tensor.detach().numpy().tobytes()
            header["%s.%s" % (name, kind)] = {"dtype": "F32", "shape": list(tensor.shape),
                                              "data_offsets": [len(data), len(data) + len(part)]}
            data += part
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(FOLDER, "digits.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


if __name__ == "__main__":
    main()
