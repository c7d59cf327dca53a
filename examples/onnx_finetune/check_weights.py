"""Takes the weights that onnx_finetune has saved to PyTorch and back into the ONNX model, and compares what they give.

    python examples/onnx_finetune/check_weights.py [FOLDER]        (needs torch, safetensors and onnx; what is missing is left out)

FOLDER has net.safetensors, images.npy and scores.npy. digits.onnx with the new weights is written beside them; `kiln run` runs it."""
import sys
from pathlib import Path

here = Path(__file__).parent
folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/onnx_finetune")


def to_pytorch():
    import numpy as np
    import torch
    from safetensors.numpy import load_file
    from torch import nn

    model = nn.Sequential()
    model.add_module("features", nn.Sequential(nn.Conv2d(1, 8, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 5), nn.ReLU(),
                                               nn.MaxPool2d(2)))
    model.add_module("flatten", nn.Flatten())
    model.add_module("classifier", nn.Linear(256, 5))
    model.load_state_dict({name: torch.from_numpy(value.copy()) for name, value in load_file(folder / "net.safetensors").items()})
    images, scores = np.load(folder / "images.npy"), np.load(folder / "scores.npy")
    with torch.no_grad():
        apart = np.abs(model(torch.from_numpy(images)).numpy() - scores).max()
    print(f"PyTorch: {apart:.2g} apart")
    return apart < 1e-4


def to_onnx():
    import onnx
    from onnx import numpy_helper
    from safetensors.numpy import load_file

    weights = load_file(folder / "net.safetensors")
    model = onnx.load(str(here / "digits.onnx"))
    for tensor in model.graph.initializer:
        tensor.CopyFrom(numpy_helper.from_array(weights.pop(tensor.name), tensor.name))
    onnx.save(model, str(folder / "digits.onnx"))
    print(f"ONNX: {folder / 'digits.onnx'} written, {len(weights)} weights are left over")
    return not weights


def main():
    good = True
    for step in (to_pytorch, to_onnx):
        try:
            good &= step()
        except ImportError as error:
            print(f"{step.__name__}: left out, {error}")
    return not good


if __name__ == "__main__":
    sys.exit(main())
