#!/usr/bin/env python3
"""Quantizes small networks in the ways of onnxruntime.quantization (QDQ and QOperator, per tensor and per channel, signed and unsigned, dynamic,
weights of 4 and 8 bits in blocks), runs them with `kiln run` and compares each output with ONNX Runtime's: within 2e-2 of its range, or
1.5 times what ONNX Runtime with and without its optimisations is apart. With --time both are timed. Needs the packages numpy, onnx and
onnxruntime."""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnxruntime import quantization as q

F = np.float32


class Maker:
    """A graph in the making: operators one after the other."""

    def __init__(self, seed, **inputs):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.constants, self.n = [], [], 0
        self.inputs = [helper.make_tensor_value_info(k, TensorProto.FLOAT, v) for k, v in inputs.items()]

    def op(self, kind, *operands, outputs=1, **attributes):
        self.n += 1
        names = [f"{kind.lower()}_{self.n}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(operands), names, name=f"{kind}_{self.n}", **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, values):
        self.n += 1
        self.constants.append(numpy_helper.from_array(np.asarray(values), f"constant_{self.n}"))
        return f"constant_{self.n}"

    def weight(self, *shape):
        fan = np.prod(shape[1:]) if len(shape) > 2 else shape[0]
        spread = np.exp(self.rng.normal(size=(shape[0],) + (1,) * (len(shape) - 1)) * 0.4)  # channels of different size
        return self.constant((self.rng.normal(size=shape) * spread / fan ** 0.5).astype(F))

    def bias(self, n):
        return self.constant((self.rng.normal(size=n) * 0.2).astype(F))

    def model(self, *outputs):
        results = [helper.make_tensor_value_info(o, TensorProto.FLOAT, None) for o in outputs]
        graph = helper.make_graph(self.nodes, "graph", self.inputs, results, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        return onnx.shape_inference.infer_shapes(model)


def cnn(m, x="x", wide=24):
    def conv(x, ins, outs, kernel, activation="Relu", **attributes):
        groups = attributes.get("group", 1)
        y = m.op("Conv", x, m.weight(outs, ins // groups, kernel, kernel), m.bias(outs), kernel_shape=[kernel, kernel], **attributes)
        if activation == "Clip":
            return m.op("Clip", y, m.constant(F(0)), m.constant(F(6)))
        return m.op(activation, y) if activation else y
    x = conv(x, 3, wide, 3, strides=[2, 2], pads=[1, 1, 1, 1])
    x = m.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    y = conv(x, wide, wide, 3, "Clip", pads=[1, 1, 1, 1], group=wide)
    y = conv(y, wide, wide, 1, None)
    x = m.op("Relu", m.op("Add", x, y))
    y = conv(x, wide, 2 * wide, 3, "LeakyRelu", pads=[1, 0, 0, 1], dilations=[2, 2])
    z = conv(y, 2 * wide, 2 * wide, 3, "Sigmoid", pads=[1, 1, 1, 1], group=4)
    y = m.op("Mul", y, z)
    y = m.op("Concat", y, conv(y, 2 * wide, 16, 1, "HardSwish"), axis=1)
    y = m.op("Transpose", m.op("AveragePool", y, kernel_shape=[2, 2], strides=[2, 2]), perm=[0, 1, 3, 2])
    y = m.op("Flatten", m.op("GlobalAveragePool", y))
    y = m.op("Gemm", y, m.weight(40, 2 * wide + 16), m.bias(40), transB=1)
    return m.op("Softmax", m.op("Gemm", m.op("Relu", y), m.weight(40, 10), m.bias(10)), axis=-1)


def transformer(m, x="x", size=64, heads=4, length=24):
    def linear(x, ins, outs):
        return m.op("Add", m.op("MatMul", x, m.weight(ins, outs)), m.bias(outs))

    def norm(x):
        return m.op("LayerNormalization", x, m.constant(np.ones(size, F)), m.constant(np.zeros(size, F)), axis=-1)

    def split(x):
        x = m.op("Reshape", x, m.constant(np.array([0, length, heads, size // heads])))
        return m.op("Transpose", x, perm=[0, 2, 1, 3])
    for _ in range(2):
        y = norm(x)
        query, key, value = (split(linear(y, size, size)) for _ in range(3))
        scores = m.op("MatMul", query, m.op("Transpose", key, perm=[0, 1, 3, 2]))
        shares = m.op("Softmax", m.op("Mul", scores, m.constant(F((size // heads) ** -0.5))), axis=-1)
        y = m.op("Transpose", m.op("MatMul", shares, value), perm=[0, 2, 1, 3])
        y = m.op("Reshape", y, m.constant(np.array([0, length, size])))
        x = m.op("Add", x, linear(y, size, size))
        y = linear(norm(x), size, 4 * size)
        y = m.op("Mul", m.op("Mul", y, m.op("Add", m.op("Erf", m.op("Mul", y, m.constant(F(0.5 ** 0.5)))), m.constant(F(1)))), m.constant(F(0.5)))
        x = m.op("Add", x, linear(y, 4 * size, size))
    return x


def lstm(m, x="x", ins=20, size=32):
    for direction, count in (("forward", 1), ("bidirectional", 2)):
        weights = [m.weight(count, 4 * size, ins), m.weight(count, 4 * size, size), m.constant((m.rng.normal(size=(count, 8 * size)) * 0.1).astype(F))]
        y = m.op("LSTM", x, *weights, outputs=3, hidden_size=size, direction=direction)[0]
        x = m.op("Reshape", m.op("Transpose", y, perm=[0, 2, 1, 3]), m.constant(np.array([0, 0, -1])))
        ins = size * count
    return m.op("Add", m.op("MatMul", x, m.weight(ins, 12)), m.bias(12))


def single(m, x="x"):
    """One row, as decoders have it, with sizes that divide by nothing."""
    for ins, outs in ((75, 129), (129, 66), (66, 1), (1, 7)):
        x = m.op("Tanh", m.op("Gemm", x, m.weight(ins, outs), m.bias(outs)))
    return x


def decoder(m, x="x", size=1024):
    """Layers of a language model that sees one word, or a few."""
    for _ in range(2):
        gate, up = (m.op("MatMul", x, m.weight(size, 3 * size)) for _ in range(2))
        y = m.op("Mul", m.op("Mul", gate, m.op("Sigmoid", gate)), up)
        x = m.op("Add", x, m.op("MatMul", y, m.weight(3 * size, size)))
    return x


NETWORKS = {"wide_lstm": (lambda m: lstm(m, ins=80, size=256), {"x": [40, 1, 80]}), "decoder": (decoder, {"x": [1, 1, 1024]}), "decoder_few": (decoder, {"x": [1, 7, 1024]}), "decoder_many": (decoder, {"x": [1, 64, 1024]}),
            "cnn": (cnn, {"x": [2, 3, 45, 50]}), "transformer": (transformer, {"x": [2, 24, 64]}), "lstm": (lstm, {"x": [9, 2, 20]}),
            "single": (single, {"x": [1, 75]}), "wide_cnn": (lambda m: cnn(m, wide=64), {"x": [1, 3, 160, 160]}),
            "large_transformer": (lambda m: transformer(m, size=256, heads=4, length=64), {"x": [1, 64, 256]})}


class Reader(q.CalibrationDataReader):
    def __init__(self, inputs, rng):
        self.items = iter([{k: rng.normal(size=v).astype(F) for k, v in inputs.items()} for _ in range(4)])

    def get_next(self):
        return next(self.items, None)


TYPES = {"u8": q.QuantType.QUInt8, "s8": q.QuantType.QInt8}


def static(kind, activation, weight, channels, **options):
    def make(source, target, inputs):
        formats = {"qdq": q.QuantFormat.QDQ, "qoperator": q.QuantFormat.QOperator}
        q.quantize_static(source, target, Reader(inputs, np.random.default_rng(3)), quant_format=formats[kind], per_channel=channels,
                          activation_type=TYPES[activation], weight_type=TYPES[weight], extra_options=options)
    return make


def dynamic(weight, channels):
    def make(source, target, inputs):
        del inputs
        q.quantize_dynamic(source, target, weight_type=TYPES[weight], per_channel=channels)
    return make


def in_blocks(bits, symmetric, block):
    def make(source, target, inputs):
        from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer
        del inputs
        work = MatMulNBitsQuantizer(onnx.load(source), bits=bits, block_size=block, is_symmetric=symmetric)
        work.process()
        work.model.save_model_to_file(str(target))
    return make


WAYS = {f"{kind}_{a}{w}{'_channels' if c else ''}": static(kind, a, w, c) for kind in ("qdq", "qoperator")
        for a, w in (("u8", "s8"), ("s8", "s8"), ("u8", "u8")) for c in (False, True)}
# As other exporters write it: weights as floats between both operators, biases as floats, zero points of 0.
WAYS.update({"weight_pairs": static("qdq", "s8", "s8", True, AddQDQPairToWeight=True), "float_bias": static("qdq", "s8", "s8", True, QuantizeBias=False),
             "symmetric": static("qdq", "s8", "s8", True, ActivationSymmetric=True, WeightSymmetric=True, QuantizeBias=False, AddQDQPairToWeight=True)})
WAYS.update({f"dynamic_{w}{'_channels' if c else ''}": dynamic(w, c) for w in ("u8", "s8") for c in (False, True)})
WAYS.update({"blocks_4": in_blocks(4, True, 32), "blocks_4_zeros": in_blocks(4, False, 16), "blocks_8": in_blocks(8, False, 32)})


def session_of(path, threads, fast=True):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = threads
    if not fast:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def best_time(session, values, given):
    clock = time.process_time if given.processor else time.perf_counter
    times = []
    for _ in range(given.time):
        begun = clock()
        session.run(None, values)
        times.append(clock() - begun)
    return min(times) * 1e3


def kiln(given, path, folder, values, names, device):
    command = [given.kiln, "run", path, "--device", device]
    for name, value in values.items():
        np.save(folder / f"{name}.npy", value)
        command += ["--input", f"{name}={folder / name}.npy"]
    for i, name in enumerate(names):
        command += ["--output", f"{name}={folder / f'out{i}.npy'}"]
    if given.time:
        command += ["--repeat", str(given.time)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=given.limit,
                          env={**os.environ, "KN_THREADS": str(given.threads)})
    if done.returncode:
        raise ValueError((done.stderr + done.stdout).strip().splitlines()[-1])
    found = re.search(r"the processors' time: .* and ([0-9.]+) ms" if given.processor else r"([0-9.]+) ms at best", done.stdout)
    return [np.load(folder / f"out{i}.npy") for i in range(len(names))], float(found.group(1)) if found else None


def apart(a, b):
    if a.shape != b.shape or a.dtype != b.dtype:
        return float("inf")
    extent = float(np.ptp(b.astype(np.float64))) if b.size else 0
    largest = float(np.abs(a.astype(np.float64) - b).max()) if b.size else 0
    return largest / extent if extent > 0 else largest


def compare(given, path, folder, inputs):
    """What is wrong (None: nothing), the differences and the times."""
    rng = np.random.default_rng(8)
    values = {k: rng.normal(size=v).astype(F) for k, v in inputs.items()}
    plain, fast = session_of(path, given.threads, False), session_of(path, given.threads)
    names = [o.name for o in plain.get_outputs()]
    expected, again = plain.run(None, values), fast.run(None, values)
    own = max(apart(a, e) for a, e in zip(again, expected))
    wrong, worst, line = None, 0, ""
    for device in given.devices.split(";"):
        try:
            results, ours = kiln(given, path, folder, values, names, device)
        except (ValueError, subprocess.TimeoutExpired) as error:
            return f"{device}: {error}", ""
        share = max(apart(r, e) for r, e in zip(results, expected))
        worst = max(worst, share)
        if share > max(2e-2, 1.5 * own):
            wrong = f"{device}: {share:.2g} of the range apart"
        if ours and not line:
            theirs = best_time(fast, values, given)
            line = f"{ours:9.3f} ms {theirs:9.3f} ms  {theirs / ours:5.2f} of its speed"
    return wrong, f"{worst:8.1e} apart, ONNX Runtime {own:8.1e} from itself  {line}"


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--kiln", type=pathlib.Path, default="build/release/kiln")
    arguments.add_argument("--devices", default="cpu;fusion(cpu)", help="separated by ;")
    arguments.add_argument("--threads", type=int, default=1)
    arguments.add_argument("--time", type=int, default=0, metavar="RUNS")
    arguments.add_argument("--processor", action="store_true", help="--time by the processor's time")
    arguments.add_argument("--limit", type=int, default=300)
    arguments.add_argument("--keep", type=pathlib.Path, help="where the models go")
    arguments.add_argument("names", nargs="*", help="parts of the names; none: all")
    given = arguments.parse_args()
    warnings.simplefilter("ignore")
    passed = failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.keep or pathlib.Path(temporary)
        for network, (build, inputs) in NETWORKS.items():
            for way, quantize in WAYS.items():
                name = f"{network}_{way}"
                if given.names and not any(n in name for n in given.names):
                    continue
                maker = Maker(5, **inputs)
                source, target = folder / f"{network}.onnx", folder / f"{name}.onnx"
                onnx.save(maker.model(build(maker)), source)
                quantize(source, target, inputs)
                wrong, line = compare(given, target, folder, inputs)
                passed, failed = passed + (wrong is None), failed + (wrong is not None)
                print(f"{'ok  ' if wrong is None else 'FAIL'} {name:36} {line} {wrong or ''}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
