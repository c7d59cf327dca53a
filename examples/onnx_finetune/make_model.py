"""Writes digits.onnx: the network of examples/import_pytorch, which knows the digits 0 to 4, as an ONNX model.

    python examples/onnx_finetune/make_model.py        (needs torch and onnx)
"""
from pathlib import Path

import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

here = Path(__file__).parent
state = torch.load(here.parent / "import_pytorch" / "backbone.pt", weights_only=True)["state_dict"]

nodes = [
    helper.make_node("Conv", ["image", "features.0.weight", "features.0.bias"], ["/features/0/Conv"], kernel_shape=[5, 5]),
    helper.make_node("Relu", ["/features/0/Conv"], ["/features/1/Relu"]),
    helper.make_node("MaxPool", ["/features/1/Relu"], ["/features/2/MaxPool"], kernel_shape=[2, 2], strides=[2, 2]),
    helper.make_node("Conv", ["/features/2/MaxPool", "features.3.weight", "features.3.bias"], ["/features/3/Conv"],
                     kernel_shape=[5, 5]),
    helper.make_node("Relu", ["/features/3/Conv"], ["/features/4/Relu"]),
    helper.make_node("MaxPool", ["/features/4/Relu"], ["/features/5/MaxPool"], kernel_shape=[2, 2], strides=[2, 2]),
    helper.make_node("Flatten", ["/features/5/MaxPool"], ["/flatten/Flatten"]),
    helper.make_node("Gemm", ["/flatten/Flatten", "classifier.weight", "classifier.bias"], ["scores"], transB=1),
]
graph = helper.make_graph(
    nodes, "digits", [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 1, 28, 28])],
    [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["batch", 5])],
    [numpy_helper.from_array(tensor.numpy(), name) for name, tensor in state.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10, producer_name="make_model.py")
onnx.checker.check_model(model, full_check=True)
onnx.save(model, str(here / "digits.onnx"))
