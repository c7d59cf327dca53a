"""Compares the element types that the converters' table claims (`kiln ops --onnx`) with what runs: of every operator of the standard one of
ONNX's node cases is taken, its main operand's type is changed to each type that the standard allows there, and the model is run on the CPU.

Needs the Python packages onnx and numpy and ONNX's node cases. Usage: check_types.py BUILD_FOLDER NODE_CASES [--only OPERATOR] [--list]"""
import argparse
import ctypes
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, defs, helper, numpy_helper

NAMES = {"f64": "double", "f32": "float", "f16": "float16", "bf16": "bfloat16", "i8": "int8", "i16": "int16", "i32": "int32",
         "i64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64", "bool": "bool", "strings": "string",
         "f8e4m3": "float8e4m3fn", "f8e4m3uz": "float8e4m3fnuz", "f8e5m2": "float8e5m2", "f8e5m2uz": "float8e5m2fnuz",
         "e8m0": "float8e8m0", "f4": "float4e2m1", "i4": "int4", "u4": "uint4", "i2": "int2", "u2": "uint2"}
WORDS = {"floats": "f64 f32 f16 bf16", "signed": "i8 i16 i32 i64", "unsigned": "u8 u16 u32 u64",
         "integers": "i8 i16 i32 i64 u8 u16 u32 u64", "f8": "f8e4m3 f8e4m3uz f8e5m2 f8e5m2uz",
         "stored": "f8e4m3 f8e4m3uz f8e5m2 f8e5m2uz e8m0 f4 i4 u4 i2 u2"}


def expand(text):
    found = set()
    for word in text.split():
        for name in WORDS.get(word, word).split():
            if name in NAMES:
                found.add(NAMES[name])
    return found


def claims(build):
    """(domain, operator) -> the types of the newest row."""
    table = {}
    text = subprocess.run([f"{build}/kiln", "ops", "--onnx"], capture_output=True, text=True, check=True).stdout
    for line in text.splitlines():
        domain, op, _, types = line.split(None, 3)
        table["" if domain == "ai.onnx" else domain, op] = expand(types)  # rows of newer versions come later
    return table


# Attributes of the case decide about the type, so that no other one fits them.
EXCUSED = {"BitCast": "the type it casts to has as many bits", "TfIdfVectorizer": "pool_strings or pool_int64s",
           "LabelEncoder": "keys_strings, keys_int64s ..."}


class Kiln:
    def __init__(self, build):
        self.lib = ctypes.CDLL(f"{build}/libkiln.so")
        for name, result in (("kn_onnx_load_memory", ctypes.c_void_p), ("kn_onnx_value_read_memory", ctypes.c_void_p),
                             ("kn_last_error", ctypes.c_char_p)):
            getattr(self.lib, name).restype = result

    def run(self, model, values):
        """None, or why not."""
        data = model.SerializeToString()
        handle = self.lib.kn_onnx_load_memory(data, ctypes.c_size_t(len(data)), None)
        if not handle:
            return self.lib.kn_last_error().decode()
        given = (ctypes.c_void_p * len(model.graph.input))()
        made = (ctypes.c_void_p * len(model.graph.output))()
        reason, keep = None, []
        for i, (value, port) in enumerate(zip(values, model.graph.input)):
            if value is None:
                continue
            keep.append(value)
            kind = type_text(port.type)
            given[i] = self.lib.kn_onnx_value_read_memory(value, ctypes.c_size_t(len(value)), kind.encode())
            if not given[i]:
                reason = self.lib.kn_last_error().decode()
        if not reason and self.lib.kn_onnx_run_values(ctypes.c_void_p(handle), given, len(given), made, len(made)):
            reason = self.lib.kn_last_error().decode()
        for value in list(given) + list(made):
            self.lib.kn_onnx_value_free(ctypes.c_void_p(value))
        self.lib.kn_onnx_free(ctypes.c_void_p(handle))
        return reason


def type_text(kind):
    which = kind.WhichOneof("value")
    if which == "sequence_type":
        return f"seq({type_text(kind.sequence_type.elem_type)})"
    if which == "optional_type":
        return f"optional({type_text(kind.optional_type.elem_type)})"
    return f"tensor({TensorProto.DataType.Name(kind.tensor_type.elem_type).lower()})"


def cast(tensor, kind):
    """A tensor with its values in another type."""
    name = tensor.name
    array = numpy_helper.to_array(tensor)
    if array.dtype == object or kind == TensorProto.STRING:
        text = np.array([str(v) for v in array.reshape(-1)], dtype=object).reshape(array.shape)
        if kind != TensorProto.STRING:
            text = np.zeros(array.shape, dtype=np.float32)
        array = text
    if kind == TensorProto.STRING:
        return helper.make_tensor(name, kind, array.shape, [str(v).encode() for v in array.reshape(-1)])
    dtype = helper.tensor_dtype_to_np_dtype(kind)
    with np.errstate(all="ignore"):
        return numpy_helper.from_array(np.asarray(array).astype(dtype), name)


def first_type(schema):
    return schema.inputs[0].type_str if schema.inputs else (schema.outputs[0].type_str if schema.outputs else None)


def allowed(schema, type_str):
    for constraint in schema.type_constraints:
        if constraint.type_param_str == type_str:
            return [t[7:-1] for t in constraint.allowed_type_strs if t.startswith("tensor(") and "complex" not in t]
    return [type_str[7:-1]] if type_str and type_str.startswith("tensor(") else []


def places(formal, count):
    """Which of the operands or results belong to each formal one."""
    for i in range(count):
        yield i, formal[min(i, len(formal) - 1)].type_str if formal else None


class Template:
    """A case of one node of an operator."""

    def __init__(self, folder, model, schema):
        self.model, self.schema, self.node = model, schema, model.graph.node[0]
        self.type_str = first_type(schema)
        self.values = []
        for i, port in enumerate(model.graph.input):
            path = folder / "test_data_set_0" / f"input_{i}.pb"
            self.values.append((port.name, path.read_bytes() if path.is_file() else None))

    def with_type(self, name):
        """The model and its inputs with the main operand of another element type."""
        kind = TensorProto.DataType.Value(name.upper())
        model = onnx.ModelProto()
        model.CopyFrom(self.model)
        node = model.graph.node[0]
        changed = {node.input[i] for i, t in places(self.schema.inputs, len(node.input)) if t == self.type_str}
        results = {node.output[i] for i, t in places(self.schema.outputs, len(node.output)) if t == self.type_str}
        for port in list(model.graph.input) + list(model.graph.output):
            if port.name in changed | results and port.type.WhichOneof("value") == "tensor_type":
                port.type.tensor_type.elem_type = kind
        values = []
        for key, data in self.values:
            if data is not None and key in changed:
                tensor = TensorProto()
                tensor.ParseFromString(data)
                data = cast(tensor, kind).SerializeToString()
            values.append(data)
        for tensor in model.graph.initializer:
            if tensor.name in changed:
                tensor.CopyFrom(cast(tensor, kind))
        return model, values


def templates(cases):
    """Of each operator a case of its newest version, the smallest there is."""
    found = {}
    for folder in sorted(Path(cases).iterdir()):
        path = folder / "model.onnx"
        if not path.is_file() or path.stat().st_size > 1 << 20:
            continue
        model = onnx.load(str(path))
        if len(model.graph.node) != 1 or len(model.functions):
            continue
        node = model.graph.node[0]
        version = {o.domain: o.version for o in model.opset_import}.get(node.domain, 1)
        try:
            schema = defs.get_schema(node.op_type, version, node.domain)
        except defs.SchemaError:
            continue
        key = (node.domain, node.op_type)
        if key not in found or (version, -len(node.input)) > found[key][0]:
            found[key] = ((version, -len(node.input)), Template(folder, model, schema))
    return {key: value[1] for key, value in found.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("cases")
    parser.add_argument("--only")
    parser.add_argument("--list", action="store_true", help="print what runs instead of comparing")
    options = parser.parse_args()
    kiln, table = Kiln(os.path.abspath(options.build)), claims(options.build)
    passed, failed = 0, 0
    for key, template in sorted(templates(options.cases).items()):
        domain, op = key
        if options.only and options.only != op or key not in table or op in EXCUSED:
            continue
        runs, reasons = set(), {}
        candidates = allowed(template.schema, template.type_str)
        for name in candidates:
            try:
                model, values = template.with_type(name)
                reason = kiln.run(model, values)
            except (ValueError, TypeError, OverflowError) as error:
                reason = f"test: {error}"
            if reason is None:
                runs.add(name)
            reasons[name] = reason
        claimed = table[key] & set(candidates)
        if not candidates or not any(reason is None for reason in reasons.values()):
            print(f"left out {domain or 'ai.onnx'}.{op}: {next(iter(reasons.values()), 'no element type')}")
            continue
        if options.list:
            print(f"{domain or 'ai.onnx'}.{op}\t{' '.join(sorted(runs))}")
        if runs == claimed:
            passed += 1
            continue
        failed += 1
        for name in sorted(claimed - runs):
            print(f"FAIL {domain or 'ai.onnx'}.{op}: {name} is claimed and fails: {reasons[name]}")
        if runs - claimed:
            print(f"FAIL {domain or 'ai.onnx'}.{op}: runs and is not claimed: {' '.join(sorted(runs - claimed))}")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
