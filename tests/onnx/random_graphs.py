#!/usr/bin/env python3
"""Small ONNX models drawn at random, run by kiln and compared with ONNX Runtime.

    random_graphs.py --kiln build/release/kiln --count 500 [--seed 1] [--nodes 1] [--device cpu] [--keep FOLDER] [--only Conv,Pad]

Operators, versions and dtypes are drawn from the schemas of PyPI's onnx, attributes and operands by random_recipes.py. With --nodes N above 1
models have up to N nodes that use each other's results. What ONNX Runtime cannot run onnx.reference runs; what neither runs is drawn again.
Needs PyPI's onnx and onnxruntime. Ends with 'N passed, N failed'.
"""

import argparse
import os
import pickle
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnx.defs
from onnx import helper, numpy_helper
import onnxruntime

from random_draw import Draw
from random_recipes import RECIPES

TYPES = {
    "float": np.float32,
    "double": np.float64,
    "float16": np.float16,
    "int8": np.int8,
    "int16": np.int16,
    "int32": np.int32,
    "int64": np.int64,
    "uint8": np.uint8,
    "uint16": np.uint16,
    "uint32": np.uint32,
    "uint64": np.uint64,
    "bool": np.bool_,
    "string": np.object_,
}
NAMES = {np.dtype(t): n for n, t in TYPES.items()}
NEWEST = min(onnx.defs.onnx_opset_version(), 26)
OLDEST = 7  # what ONNX Runtime still runs


def in_child(function, *arguments):
    """The result of a call in a child process: an oracle that crashes ends alone. None where it fails."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 2)
        try:
            with os.fdopen(writer, "wb") as out:
                pickle.dump(function(*arguments), out)
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as answer:
        data = answer.read()
    os.waitpid(child, 0)
    return pickle.loads(data) if data else None


def run_runtime(model, feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def run_reference(model, feeds):
    from onnx.reference import ReferenceEvaluator

    onnx.checker.check_model(model)
    return ReferenceEvaluator(model).run(None, feeds)


def expected(model, feeds):
    for run in (run_runtime, run_reference):
        got = in_child(run, model, feeds)
        if got is not None:
            return got, run is run_runtime
    return None, False


def port(name, value):
    if value.dtype == object:
        return helper.make_tensor_value_info(name, onnx.TensorProto.STRING, value.shape)
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)


def schema_of(op, opset):
    try:
        return onnx.defs.get_schema(op, max_inclusive_version=opset)
    except onnx.defs.SchemaError:
        return None


def dtypes_of(schema):
    """The dtypes that the first operand may have."""
    text = schema.inputs[0].type_str
    allowed = next((c.allowed_type_strs for c in schema.type_constraints if c.type_param_str == text), [text])
    return [TYPES[t[7:-1]] for t in allowed if t.startswith("tensor(") and t[7:-1] in TYPES]


def draw_node(rng, op, opset, given=None):
    """(draw, operands, attributes) of a node, or None where it does not come out."""
    schema = schema_of(op, opset)
    allowed = dtypes_of(schema) if schema and schema.inputs else []
    if given is not None and given.dtype.type not in allowed and not (given.dtype == object and np.object_ in allowed):
        return None
    if not allowed:
        return None
    # Floats half of the time: they have most to get wrong.
    dtype = (
        given.dtype
        if given is not None
        else np.float32 if np.float32 in allowed and rng.random() < 0.5 else allowed[rng.integers(len(allowed))]
    )
    draw = Draw(rng, op, schema.since_version, np.dtype(dtype), given)
    draw.outputs = 1
    try:
        operands, attributes = RECIPES[op](draw)
    except (AttributeError, IndexError, KeyError, ValueError, ZeroDivisionError, TypeError, OverflowError):
        return None  # the value that is there does not suit the operator
    if given is not None and not any(x is given for x in operands):
        return None
    return draw, [x if x is None else np.asarray(x) for x in operands], attributes


class Graph:
    """Nodes, and the values that each of them gave."""

    def __init__(self, rng, opset):
        self.rng, self.opset = rng, opset
        self.nodes, self.values, self.feeds, self.constants, self.used = [], {}, {}, {}, set()

    def model(self, outputs=None):
        used = {name for node in self.nodes for name in node.input}
        outputs = outputs or [n for node in self.nodes for n in node.output if n and n not in used]
        graph = helper.make_graph(
            self.nodes,
            "random",
            [port(n, v) for n, v in self.feeds.items()],
            [port(n, self.values[n]) for n in outputs],
            [numpy_helper.from_array(v, n) for n, v in self.constants.items()],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)

    def add(self, op):
        name, given = None, None
        if self.values and self.rng.random() < 0.85:
            name = list(self.values)[self.rng.integers(len(self.values))]
            given = self.values[name]
        drawn = draw_node(self.rng, op, self.opset, given)
        if drawn is None:
            return False
        draw, operands, attributes = drawn
        number, feeds, constants, names = len(self.nodes), {}, {}, []
        for i, operand in enumerate(operands):
            if operand is None:
                names.append("")
            elif operand is given:
                names.append(name)
            else:
                names.append(f"x{number}_{i}")
                (constants if i and self.rng.random() < 0.5 else feeds)[names[-1]] = operand
        outputs = [f"y{number}_{i}" for i in range(draw.outputs)]
        if [] in attributes.values():
            return False  # an empty list has no type
        node = helper.make_node(op, names, outputs, **attributes)
        ports = [onnx.ValueInfoProto(name=n) for n in outputs]
        inputs = dict(feeds)
        if given is not None and name in names:
            inputs[name] = given
        single = helper.make_model(
            helper.make_graph(
                [node],
                "one",
                [port(n, v) for n, v in inputs.items()],
                ports,
                [numpy_helper.from_array(v, n) for n, v in constants.items()],
            ),
            opset_imports=[helper.make_opsetid("", self.opset)],
            ir_version=8,
        )
        results, _ = expected(single, inputs)
        if results is None or any(not isinstance(r, (np.ndarray, np.generic)) for r in results):
            return False
        results = [np.asarray(r) for r in results]
        if any(r.ndim > 8 or r.size > 100000 for r in results):
            return False
        if any(r.dtype.kind == "f" and np.isnan(r).any() for r in results):
            return False  # which of several operands wins is open
        self.nodes.append(node)
        self.feeds.update(feeds)
        self.constants.update(constants)
        self.values.update(inputs)
        self.values.update({n: r for n, r in zip(outputs, results)})
        return True


def save(folder, model, feeds, results):
    data = os.path.join(folder, "test_data_set_0")
    os.makedirs(data, exist_ok=True)
    onnx.save(model, os.path.join(folder, "model.onnx"))
    lists = [
        ("input", model.graph.input, [feeds[i.name] for i in model.graph.input]),
        ("output", model.graph.output, results),
    ]
    for kind, ports, values in lists:
        for i, (p, value) in enumerate(zip(ports, values)):
            with open(os.path.join(data, f"{kind}_{i}.pb"), "wb") as out:
                out.write(numpy_helper.from_array(np.asarray(value), p.name).SerializeToString())


def one_case(rng, operators, most, folder):
    """Draws until a model comes out that an oracle runs. Its name."""
    while True:
        graph = Graph(rng, int(rng.integers(OLDEST, NEWEST + 1)))
        wanted = 1 if most == 1 else int(rng.integers(2, most + 1))
        for _ in range(6 * wanted):
            if len(graph.nodes) < wanted:
                graph.add(operators[rng.integers(len(operators))])
        if not graph.nodes:
            continue
        model = graph.model()
        results, sure = expected(model, graph.feeds)
        if results is None or (most > 1 and not sure):
            continue
        label = graph.nodes[0].op_type if most == 1 else f"{len(graph.nodes)}nodes"
        save(folder + "_" + label, model, graph.feeds, results)
        return


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--kiln", default="build/release/kiln")
    options.add_argument("--count", type=int, default=200)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--nodes", type=int, default=1)
    options.add_argument("--device", default="cpu")
    options.add_argument("--keep", help="a folder that keeps the models")
    options.add_argument("--only", help="operators, separated by commas")
    options.add_argument("--draw-only", action="store_true", help="write the models, run none")
    given = options.parse_args()
    operators = sorted(given.only.split(",") if given.only else RECIPES)
    with tempfile.TemporaryDirectory() as scratch:
        root = given.keep or scratch
        for i in range(given.count):
            one_case(
                np.random.default_rng([given.seed, given.nodes, i]),
                operators,
                given.nodes,
                os.path.join(root, f"random_{given.seed}_{i:05}"),
            )
        if given.draw_only:
            return 0
        return subprocess.run([given.kiln, "run", "--test", root, "--device", given.device], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
