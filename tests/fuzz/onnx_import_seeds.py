#!/usr/bin/env python3
"""Writes the seeds of fuzz_onnx_import: small models, one for each part of the import. Needs the packages onnx and numpy."""
import pathlib
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper

FOLDER = pathlib.Path(__file__).resolve().parent / "seeds" / "onnx_import"
F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
rng = np.random.default_rng(1)


def port(name, kind, *sizes):
    return helper.make_tensor_value_info(name, kind, sizes)


def weight(name, *sizes):
    return numpy_helper.from_array(rng.normal(size=sizes).astype(np.float32), name)


def whole(name, values):
    return numpy_helper.from_array(np.array(values, np.int64), name)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), **attributes)


def model(nodes, inputs, outputs, weights=()):
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(weights))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def layers():
    return model([node("Conv", "x w b", "c", pads=[1, 1, 1, 1]), node("BatchNormalization", "c s s2 m v", "n"), node("Relu", "n", "r"),
                  node("MaxPool", "r", "p", kernel_shape=[2, 2], strides=[2, 2]), node("GlobalAveragePool", "p", "g"),
                  node("Flatten", "g", "f"), node("Gemm", "f k", "y", transB=1)],
                 [port("x", F, "batch", 2, "height", 8)], [port("y", F, "batch", 3)],
                 [weight("w", 4, 2, 3, 3), weight("b", 4), weight("s", 4), weight("s2", 4), weight("m", 4),
                  numpy_helper.from_array(np.ones(4, np.float32), "v"), weight("k", 3, 4)])


def blocks():
    nodes, weights, x = [], [], "x"
    for i in range(3):
        weights += [weight(f"layer.{i}.w", 4, 4), weight(f"layer.{i}.b", 4)]
        nodes += [node("MatMul", f"{x} layer.{i}.w", f"p{i}"), node("Add", f"p{i} layer.{i}.b", f"a{i}"), node("Relu", f"a{i}", f"r{i}"),
                  node("Add", f"r{i} {x}", f"x{i}")]
        x = f"x{i}"
    return model(nodes, [port("x", F, "batch", 4)], [port(x, F, "batch", 4)], weights)


def shapes():
    return model([node("Shape", "x", "s"), node("Gather", "s zero", "n"), node("Unsqueeze", "n first", "u"),
                  node("Concat", "u rest", "t", axis=0), node("Reshape", "x t", "r"), node("Transpose", "r", "q", perm=[0, 2, 1]),
                  node("Slice", "q start stop axes", "y")],
                 [port("x", F, "n", 6)], [port("y", F, "n", "a", 2)],
                 [whole("zero", 0), whole("first", [0]), whole("rest", [2, -1]), whole("start", [0]), whole("stop", [-1]), whole("axes", [1])])


def counts():
    return model([node("Greater", "x zero", "g"), node("NonZero", "g", "z"), node("Transpose", "z", "t"), node("GatherND", "x t", "k"),
                  node("Shape", "k", "s"), node("Squeeze", "s", "n"), node("Range", "from n step", "r"), node("Cast", "r", "f", to=F),
                  node("Add", "k f", "y")],
                 [port("x", F, "n", 3)], [port("y", F, "m")],
                 [numpy_helper.from_array(np.zeros((), np.float32), "zero"), whole("from", 0), whole("step", 1)])


def choice():
    yes = helper.make_graph([node("Concat", "x x", "a", axis=0)], "yes", [], [port("a", F, "p", 2)])
    no = helper.make_graph([node("Neg", "x", "b")], "no", [], [port("b", F, "q", 2)])
    return model([node("If", "c", "i", then_branch=yes, else_branch=no), node("Relu", "i", "y")],
                 [port("c", B), port("x", F, "n", 2)], [port("y", F, "m", 2)])


def loop():
    body = helper.make_graph([node("Add", "v x", "w"), node("Identity", "c", "d"), node("Mul", "w w", "k")], "body",
                             [port("i", I), port("c", B), port("v", F, 2)], [port("d", B), port("w", F, 2), port("k", F, 2)])
    return model([node("Loop", "trips go x", "last all", body=body)], [port("x", F, 2)], [port("last", F, 2), port("all", F, "t", 2)],
                 [whole("trips", 3), numpy_helper.from_array(np.array(True), "go")])


def scan():
    body = helper.make_graph([node("Add", "s e", "t"), node("Relu", "t", "o")], "body", [port("s", F, 2), port("e", F, 2)],
                             [port("t", F, 2), port("o", F, 2)])
    return model([node("Scan", "first x", "last y", body=body, num_scan_inputs=1)], [port("first", F, 2), port("x", F, "n", 2)],
                 [port("last", F, 2), port("y", F, "n", 2)])


def attention():
    return model([node("MatMul", "q kt", "s"), node("Mul", "s scale", "p"), node("Add", "p mask", "a"), node("Softmax", "a", "w", axis=-1),
                  node("MatMul", "w v", "y")],
                 [port("q", F, 1, 2, "n", 4), port("kt", F, 1, 2, 4, "m"), port("v", F, 1, 2, "m", 4), port("mask", F, 1, 1, "n", "m")],
                 [port("y", F, 1, 2, "n", 4)], [numpy_helper.from_array(np.array(0.5, np.float32), "scale")])


def quantized():
    scale = numpy_helper.from_array(np.array(0.1, np.float32), "s")
    zero = numpy_helper.from_array(np.array(3, np.uint8), "z")
    return model([node("QuantizeLinear", "x s z", "q"), node("DequantizeLinear", "q s z", "d"), node("DynamicQuantizeLinear", "d", "e es ez"),
                  node("MatMulInteger", "e w ez", "i"), node("Cast", "i", "y", to=F)],
                 [port("x", F, "n", 4)], [port("y", F, "n", 2)], [scale, zero, numpy_helper.from_array(np.ones((4, 2), np.int8), "w")])


def recurrent():
    return model([node("LSTM", "x w r", "y h", hidden_size=2)], [port("x", F, "n", "b", 3)], [port("y", F, "n", 1, "b", 2), port("h", F, 1, "b", 2)],
                 [weight("w", 1, 8, 3), weight("r", 1, 8, 2)])


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    for make in (layers, blocks, shapes, counts, choice, loop, scan, attention, quantized, recurrent):
        (FOLDER / make.__name__).write_bytes(make().SerializeToString())
    return 0


if __name__ == "__main__":
    sys.exit(main())
