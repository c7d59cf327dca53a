"""Cuts a model that quantizes what it computes (DynamicQuantizeLinear) into parts that can be compared by themselves: one value that is
rounded up instead of down can move a whole output, so results of the whole model say little where it has many such steps. Each step gets
what ONNX Runtime has computed before it, and all that lies between the steps gets ONNX Runtime's bytes, scales and zero points, so that
no difference grows, and an operator that is wrong shows. Needs the packages numpy and onnx."""
import numpy as np
import onnx
from onnx import TensorProto, helper

STEP = "DynamicQuantizeLinear"
KINDS = (TensorProto.UINT8, TensorProto.FLOAT, TensorProto.UINT8)


def ports(names, kind, known):
    return [helper.make_tensor_value_info(name, kind, known[name].shape if known else None) for name in names]


class Pieces:
    """`befores` are what the steps quantize, `made` is what they give. Results of `whole` are what the parts are given."""

    def __init__(self, path, folder):
        self.model, self.folder, self.stem = onnx.load(str(path)), folder, path.stem
        self.nodes = [node for node in self.model.graph.node if node.op_type == STEP and not node.domain]
        self.befores = list(dict.fromkeys(node.input[0] for node in self.nodes))
        self.made = [name for node in self.nodes for name in node.output if name]
        self.results = [port.name for port in self.model.graph.output]

    def made_ports(self, known):
        return [port for node in self.nodes for name, kind in zip(node.output, KINDS) if name for port in ports([name], kind, known)]

    def extras(self, known):
        """What is quantized, as results of the model."""
        given = self.results + [port.name for port in self.model.graph.input]
        return ports([name for name in self.befores if name not in given], TensorProto.FLOAT, known)

    def saved(self, model, name):
        place = self.folder / name / f"{self.stem}.onnx"
        place.parent.mkdir(parents=True, exist_ok=True)
        onnx.save(model, str(place))
        return place

    def whole(self):
        """The path of the model with everything that is compared as its results."""
        model = onnx.ModelProto()
        model.CopyFrom(self.model)
        model.graph.output.extend(self.extras(None) + [p for p in self.made_ports(None) if p.name not in self.results])
        return self.saved(model, "whole")

    def between(self, known):
        """The path of the model whose steps' results are inputs; its inputs and outputs."""
        model = onnx.ModelProto()
        model.CopyFrom(self.model)
        graph = model.graph
        rest = [node for node in graph.node if node not in self.nodes]
        outputs = [port for port in self.model.graph.output if port.name not in self.made] + self.extras(known)
        del graph.node[:], graph.output[:]
        graph.node.extend(rest)
        graph.input.extend(self.made_ports(known))
        graph.output.extend(outputs)
        weights = {tensor.name for tensor in graph.initializer}
        return self.saved(model, "between"), [p.name for p in graph.input if p.name not in weights], [p.name for p in outputs]

    def steps(self, known):
        """The path of the model of nothing but the steps."""
        graph = helper.make_graph(self.nodes, "steps", ports(self.befores, TensorProto.FLOAT, known), self.made_ports(known))
        return self.saved(helper.make_model(graph, opset_imports=self.model.opset_import, ir_version=self.model.ir_version), "steps")


def wrong_step(got, expected):
    """A byte may be the next one where the quotient lies in the middle, a scale may be off by its last bit; None: no more is different."""
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return f"{got.dtype} {got.shape}, expected {expected.dtype} {expected.shape}"
    if got.dtype == np.float32:
        units = int(np.abs(got.view(np.int32).astype(np.int64) - expected.view(np.int32)).max(initial=0))
        return f"the scale is {units} units in the last place off" if units > 1 else None
    difference = np.abs(got.astype(int) - expected.astype(int))
    others = int((difference > 0).sum())
    if difference.max(initial=0) > 1 or others > 1 + difference.size // 10000:
        return f"{others} of {difference.size} bytes differ, by up to {difference.max()}"
    return None
