"""Graphs that ONNX Runtime's own tools make: fused transformers, quantisation in all its forms, halves, and models saved as optimised
at each level; and what onnxsim, onnxslim and onnxoptimizer make of graphs."""

import pathlib
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper, parser
from onnxruntime import quantization as q
from other_export import case


def array(rng, *shape, scale=None):
    scale = scale or (1 / np.sqrt(np.prod(shape[1:]) or 1))
    return (rng.standard_normal(shape) * scale).astype(np.float32)


class Net:
    """A graph as it is written node by node; a name for each result."""

    def __init__(self, opset=17, seed=0):
        self.nodes, self.weights, self.inputs, self.outputs = [], [], [], []
        self.opset, self.rng, self.n = opset, np.random.default_rng(seed), 0

    def take(self, name, shape, dtype=TensorProto.FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        return name

    def weight(self, value, name=None):
        name = name or f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def random(self, *shape, scale=None):
        return self.weight(array(self.rng, *shape, scale=scale))

    def __call__(self, op, *inputs, outputs=1, domain="", **attributes):
        names = [f"v{self.n + i}" for i in range(outputs)]
        self.n += outputs
        self.nodes.append(helper.make_node(op, [i or "" for i in inputs], names, domain=domain, name=f"{op}_{len(self.nodes)}", **attributes))
        return names[0] if outputs == 1 else names

    def give(self, name, shape=None, dtype=TensorProto.FLOAT):
        self.outputs.append(helper.make_tensor_value_info(name, dtype, shape))

    def model(self, ir=8, extra=()):
        graph = helper.make_graph(self.nodes, "net", self.inputs, self.outputs, self.weights)
        opsets = [helper.make_opsetid("", self.opset)] + [helper.make_opsetid(d, 1) for d in ("com.microsoft",) + tuple(extra)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=ir)


# ---- graphs to work on


def convnet(opset=17, batch="batch", act="Relu"):
    net = Net(opset)
    x = net.take("x", [batch, 3, 16, 16])

    def conv(x, i, o, k, stride=1, group=1, act=act, bn=True, bias=False):
        y = net("Conv", x, net.random(o, i // group, k, k), *([net.random(o, scale=0.1)] if bias else []), kernel_shape=[k, k], strides=[stride] * 2, pads=[k // 2] * 4, group=group)
        if bn:
            y = net("BatchNormalization", y, net.weight(1 + 0.1 * net.rng.standard_normal(o).astype(np.float32)), net.random(o, scale=0.1), net.random(o, scale=0.1), net.weight(np.float32(1) + np.abs(array(net.rng, o, scale=0.1))))
        if act == "Clip":
            return net("Clip", y, net.weight(np.float32(0)), net.weight(np.float32(6)))
        if act == "HardSwish":
            return net("Mul", y, net("HardSigmoid", y, alpha=1 / 6))
        if act == "Swish":
            return net("Mul", y, net("Sigmoid", y))
        return net(act, y, **({"alpha": 0.1} if act == "LeakyRelu" else {})) if act else y

    y = conv(x, 3, 16, 3, 2)
    z = conv(y, 16, 16, 3, group=16)
    z = conv(z, 16, 16, 1, act=None, bias=True)
    y = net("Relu", net("Add", y, z))
    y = net("MaxPool", y, kernel_shape=[2, 2], strides=[2, 2])
    y = net("Concat", y, conv(y, 16, 8, 3, bn=False, bias=True), axis=1)
    y = net("Resize", y, None if opset >= 13 else net.weight(np.zeros(0, np.float32)), net.weight(np.array([1, 1, 2, 2], np.float32)), mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    y = net("AveragePool", y, kernel_shape=[2, 2], strides=[2, 2])
    s = net("GlobalAveragePool", y)
    s = net("Sigmoid", net("Conv", s, net.random(24, 24, 1, 1), net.random(24)))
    y = net("Mul", y, s)
    y = net("Flatten", net("GlobalAveragePool", y))
    y = net("Gemm", y, net.random(10, 24), net.random(10), transB=1)
    net.give(net("Softmax", y, axis=1), [batch, 10])
    return net.model()


def convnet_sets(rng=None):
    rng = rng or np.random.default_rng(1)
    return [{"x": array(rng, n, 3, 16, 16, scale=1)} for n in (1, 3)]


def bert(opset=17, hidden=32, heads=4, layers=2, vocabulary=50, length="seq", gelu="erf", tokens=True, decoder=False, eps=1e-12):
    """An encoder as PyTorch's older exporter wrote Hugging Face's, node by node, so that the optimizer knows it."""
    net = Net(opset)
    ids = net.take("input_ids", ["batch", length], TensorProto.INT64)
    mask = net.take("attention_mask", ["batch", length], TensorProto.INT64)
    kinds = net.take("token_type_ids", ["batch", length], TensorProto.INT64) if tokens else None
    one = lambda v: net.weight(np.array(v, np.int64))  # noqa: E731
    shape = net("Shape", ids)
    n = net("Gather", shape, one(1), axis=0)
    m = net("Unsqueeze", net("Unsqueeze", mask, one([1])), one([2]))
    m = net("Cast", m, to=1)
    m = net("Mul", net("Sub", net.weight(np.float32(1)), m), net.weight(np.float32(-10000)))
    positions = net("Slice", net.weight(np.arange(64)[None].astype(np.int64)), one([0]), net("Unsqueeze", n, one([0])), one([1]), one([1]))
    x = net("Gather", net.random(vocabulary, hidden, scale=1), ids)
    if tokens:
        x = net("Add", x, net("Gather", net.random(2, hidden, scale=1), kinds))
    x = net("Add", x, net("Gather", net.random(64, hidden, scale=1), positions))

    def norm(x):
        g, b = net.weight(1 + array(net.rng, hidden, scale=0.1)), net.random(hidden, scale=0.1)
        if opset >= 17:
            return net("LayerNormalization", x, g, b, axis=-1, epsilon=eps)
        d = net("Sub", x, net("ReduceMean", x, axes=[-1]))
        v = net("ReduceMean", net("Pow", d, net.weight(np.float32(2))), axes=[-1])
        return net("Add", net("Mul", net("Div", d, net("Sqrt", net("Add", v, net.weight(np.float32(eps))))), g), b)

    def linear(x, i, o):
        return net("Add", net("MatMul", x, net.random(i, o)), net.random(o, scale=0.1))

    def split(x, perm):
        s = net("Shape", x)
        b, l = net("Gather", s, one(0), axis=0), net("Gather", s, one(1), axis=0)
        s = net("Concat", net("Unsqueeze", b, one([0])), net("Unsqueeze", l, one([0])), one([heads]), one([hidden // heads]), axis=0)
        return net("Transpose", net("Reshape", x, s), perm=perm)

    x = norm(x)
    for _ in range(layers):
        query, key, value = split(linear(x, hidden, hidden), [0, 2, 1, 3]), split(linear(x, hidden, hidden), [0, 2, 3, 1]), split(linear(x, hidden, hidden), [0, 2, 1, 3])
        s = net("Div", net("MatMul", query, key), net.weight(np.float32(np.sqrt(hidden / heads))))
        a = net("Transpose", net("MatMul", net("Softmax", net("Add", s, m), axis=3), value), perm=[0, 2, 1, 3])
        s = net("Shape", a)
        b, l = net("Gather", s, one(0), axis=0), net("Gather", s, one(1), axis=0)
        a = net("Reshape", a, net("Concat", net("Unsqueeze", b, one([0])), net("Unsqueeze", l, one([0])), one([hidden]), axis=0))
        x = norm(net("Add", linear(a, hidden, hidden), x))
        h = linear(x, hidden, 2 * hidden)
        if gelu == "erf":
            e = net("Add", net("Erf", net("Div", h, net.weight(np.float32(np.sqrt(2))))), net.weight(np.float32(1)))
            h = net("Mul", net("Mul", h, e), net.weight(np.float32(0.5)))
        else:
            c = net("Mul", net("Pow", h, net.weight(np.float32(3))), net.weight(np.float32(0.044715)))
            t = net("Add", net("Tanh", net("Mul", net("Add", h, c), net.weight(np.float32(np.sqrt(2 / np.pi))))), net.weight(np.float32(1)))
            h = net("Mul", net("Mul", h, net.weight(np.float32(0.5))), t)
        x = norm(net("Add", linear(h, 2 * hidden, hidden), x))
    net.give(x, ["batch", length, hidden])
    first = net("Gather", x, one(0), axis=1)
    net.give(net("Tanh", net("Gemm", first, net.random(hidden, hidden), net.random(hidden), transB=1)), ["batch", hidden])
    return net.model()


def bert_sets(dtype=np.int64, tokens=True):
    rng, sets = np.random.default_rng(1), []
    for b, n in ((1, 8), (3, 13)):
        mask = np.ones((b, n), dtype)
        mask[-1, n - 3:] = 0
        s = {"input_ids": rng.integers(0, 50, (b, n)).astype(dtype), "attention_mask": mask}
        if tokens:
            s["token_type_ids"] = rng.integers(0, 2, (b, n)).astype(dtype)
        sets.append(s)
    return sets


def mlp(opset=17):
    net = Net(opset)
    x = net.take("x", ["batch", "rows", 64])
    y = net("Add", net("MatMul", x, net.random(64, 128)), net.random(128))
    y = net("Relu", y)
    y = net("Add", net("MatMul", y, net.random(128, 64)), net.random(64))
    y = net("MatMul", net("Add", x, y), net.random(64, 32))
    net.give(y, ["batch", "rows", 32])
    return net.model()


def mlp_sets():
    rng = np.random.default_rng(1)
    return [{"x": array(rng, b, n, 64, scale=1)} for b, n in ((1, 4), (2, 9))]


def recurrent(kind, opset=17, directions=2):
    net = Net(opset)
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[kind]
    x = net.take("x", ["time", "batch", 12])
    y = net(kind, x, net.random(directions, gates * 16, 12), net.random(directions, gates * 16, 16), net.random(directions, 2 * gates * 16, scale=0.1), outputs=2, hidden_size=16,
            direction="bidirectional" if directions == 2 else "forward")
    y = net("Transpose", y[0], perm=[0, 2, 1, 3])
    y = net("Reshape", y, net.weight(np.array([0, 0, -1], np.int64)))
    net.give(net("MatMul", y, net.random(16 * directions, 8)), ["time", "batch", 8])
    return net.model()


def recurrent_sets():
    rng = np.random.default_rng(1)
    return [{"x": array(rng, t, b, 12, scale=1)} for t, b in ((5, 1), (9, 3))]


SOURCES = {
    "conv": (convnet, convnet_sets), "conv_leaky": (lambda: convnet(act="LeakyRelu"), convnet_sets), "conv_clip": (lambda: convnet(act="Clip"), convnet_sets),
    "conv_sigmoid": (lambda: convnet(act="Sigmoid"), convnet_sets), "conv_tanh": (lambda: convnet(act="Tanh"), convnet_sets), "conv_hard": (lambda: convnet(act="HardSwish"), convnet_sets),
    "conv_swish": (lambda: convnet(act="Swish"), convnet_sets), "conv11": (lambda: convnet(11), convnet_sets), "conv13": (lambda: convnet(13), convnet_sets), "conv21": (lambda: convnet(21), convnet_sets),
    "bert": (bert, bert_sets), "bert14": (lambda: bert(14), bert_sets), "bert_tanh": (lambda: bert(gelu="tanh"), bert_sets), "bert13": (lambda: bert(13), bert_sets),
    "mlp": (mlp, mlp_sets), "mlp21": (lambda: mlp(21), mlp_sets), "lstm": (lambda: recurrent("LSTM"), recurrent_sets), "gru": (lambda: recurrent("GRU"), recurrent_sets), "rnn": (lambda: recurrent("RNN"), recurrent_sets),
}


def on(name, source, change, sets=None, **settings):
    """A case of what `change` makes of the file of a source; it takes two paths."""
    def make():
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            model, feeds = SOURCES[source][0](), SOURCES[source][1]()
            onnx.save(model, str(folder / "in.onnx"))
            change(str(folder / "in.onnx"), str(folder / "out.onnx"))
            return (folder / "out.onnx").read_bytes(), sets(feeds) if sets else feeds

    case(f"runtime_{name}_{source}", make, **settings)


# ---- saved as optimised

LEVELS = {"basic": "ORT_ENABLE_BASIC", "extended": "ORT_ENABLE_EXTENDED", "layout": "ORT_ENABLE_LAYOUT", "all": "ORT_ENABLE_ALL"}


def optimise(level):
    def change(a, b):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, LEVELS[level])
        options.optimized_model_filepath = b
        options.log_severity_level = 4
        onnxruntime.InferenceSession(a, options, providers=["CPUExecutionProvider"])

    return change


for level in LEVELS:
    for source in SOURCES:
        on(level, source, optimise(level))


# ---- the optimizer of transformers

def fuse(level=None, model_type="bert", half=False, **flags):
    def change(a, b):
        from onnxruntime.transformers import fusion_options, optimizer
        options = fusion_options.FusionOptions(model_type)
        for k, v in flags.items():
            setattr(options, k, v)
        done = optimizer.optimize_model(a, model_type, num_heads=4, hidden_size=32, optimization_options=options, opt_level=level)
        if half:
            done.convert_float_to_float16(keep_io_types=half == "keep")
        done.save_model_to_file(b)

    return change


def to_i32(feeds):
    return [{k: v.astype(np.int32) for k, v in f.items()} for f in feeds]


def fuse_i32(a, b):
    from onnxruntime.transformers import optimizer
    done = optimizer.optimize_model(a, "bert", num_heads=4, hidden_size=32, opt_level=0)
    done.change_graph_inputs_to_int32()
    done.save_model_to_file(b)


for source in ("bert", "bert13", "bert14", "bert_tanh"):
    on("fused", source, fuse(0))
    on("fused1", source, fuse(1))
    on("fused2", source, fuse(2))
    on("fused_mha", source, fuse(0, use_multi_head_attention=True))
    on("fused_no_embed", source, fuse(0, enable_embed_layer_norm=False))
    on("fused_raw_mask", source, fuse(0, attention_mask_format=3))
    on("fused_no_mask", source, fuse(0, attention_mask_format=4))
    on("fused_no_attention", source, fuse(0, enable_attention=False))
    on("fused_only_norm", source, fuse(0, enable_attention=False, enable_embed_layer_norm=False, enable_skip_layer_norm=False, enable_bias_gelu=False))
    on("fused_packed", source, fuse(0, use_multi_head_attention=True, enable_packed_qkv=True, enable_packed_kv=True))
    on("fused_half", source, fuse(0, half=True))
    on("fused_half_keep", source, fuse(0, half="keep"))
    on("fused_i32", source, fuse_i32, to_i32)


# ---- quantisation

class Reader(q.CalibrationDataReader):
    def __init__(self, feeds):
        self.feeds = iter(feeds * 4)

    def get_next(self):
        return next(self.feeds, None)


def prepared(a):
    from onnxruntime.quantization import shape_inference
    shape_inference.quant_pre_process(a, a, skip_symbolic_shape=True)


def static(source, form, act=q.QuantType.QUInt8, weight=q.QuantType.QInt8, channel=False, pre=True, **extra):
    def change(a, b):
        if pre:
            prepared(a)
        ops = extra.pop("ops", None) if "ops" in extra else None
        q.quantize_static(a, b, Reader(SOURCES[source][1]()), quant_format=form, activation_type=act, weight_type=weight, per_channel=channel, op_types_to_quantize=ops, extra_options=extra)

    return change


U8, I8, U16, I16, U4, I4 = q.QuantType.QUInt8, q.QuantType.QInt8, q.QuantType.QUInt16, q.QuantType.QInt16, q.QuantType.QUInt4, q.QuantType.QInt4
QDQ, OPS = q.QuantFormat.QDQ, q.QuantFormat.QOperator
for source in ("conv", "conv_leaky", "conv_clip", "conv_sigmoid", "conv_swish", "conv13", "bert", "mlp", "lstm", "gru"):
    for form, word in ((QDQ, "qdq"), (OPS, "qop")):
        on(f"static_{word}_u8i8", source, static(source, form))
        on(f"static_{word}_i8i8_channel", source, static(source, form, I8, I8, True))
        on(f"static_{word}_u8u8", source, static(source, form, U8, U8))
        on(f"static_{word}_symmetric", source, static(source, form, I8, I8, ActivationSymmetric=True, WeightSymmetric=True))
    on("static_qdq_16", source, static(source, QDQ, U16, I8, UseQDQContribOps=True))
    on("static_qdq_i16", source, static(source, QDQ, I16, I16, UseQDQContribOps=True))
    on("static_qdq_4", source, static(source, QDQ, U8, I4, UseQDQContribOps=True))
    on("static_qdq_dedicated", source, static(source, QDQ, U8, I8, DedicatedQDQPair=True, AddQDQPairToWeight=True))
for source in ("conv21", "mlp21"):
    on("static_qdq_16", source, static(source, QDQ, U16, I16))
    on("static_qdq_4", source, static(source, QDQ, U16, I4))
    on("static_qdq_u4", source, static(source, QDQ, U8, U4, True))


def dynamic(**settings):
    def change(a, b):
        q.quantize_dynamic(a, b, **settings)

    return change


for source in ("conv", "bert", "bert14", "mlp", "lstm", "gru"):
    on("dynamic_i8", source, dynamic())
    on("dynamic_u8", source, dynamic(weight_type=U8))
    on("dynamic_channel", source, dynamic(per_channel=True))
    on("dynamic_reduced", source, dynamic(per_channel=True, reduce_range=True))
    on("dynamic_matmul", source, dynamic(op_types_to_quantize=["MatMul", "Gather", "LSTM", "Attention", "EmbedLayerNormalization"], extra_options={"MatMulConstBOnly": False}))


def both(first, second):
    def change(a, b):
        first(a, b)
        second(b, b)

    return change


for source in ("bert", "bert14"):
    on("fused_dynamic", source, both(fuse(0), dynamic()))
    on("fused_dynamic_u8", source, both(fuse(0), dynamic(weight_type=U8, per_channel=True)))
    on("fused2_dynamic", source, both(fuse(2), dynamic()))
    on("fused_static", source, both(fuse(0), static(source, OPS, pre=False)))
    on("fused_qdq", source, both(fuse(0), static(source, QDQ, I8, I8, pre=False)))
    on("fused_extended", source, both(fuse(0), optimise("extended")))
for source in ("conv", "conv_leaky", "conv_clip", "conv_sigmoid", "conv_hard", "mlp", "bert", "lstm"):
    for form, word in ((QDQ, "qdq"), (OPS, "qop")):
        for level in ("basic", "extended", "layout"):
            on(f"static_{word}_{level}", source, both(static(source, form), optimise(level)))
        on(f"static_{word}_i8_extended", source, both(static(source, form, I8, I8, True), optimise("extended")))
    on("static_qdq_all", source, both(static(source, QDQ), optimise("all")))
    on("dynamic_extended", source, both(dynamic(), optimise("extended")))


def blocks(bits=4, size=32, symmetric=True, form="QOperator", level=None, algorithm=None, ops=("MatMul",), axes=None):
    def change(a, b):
        from onnxruntime.quantization import matmul_nbits_quantizer as n
        form_ = q.QuantFormat.QOperator if form == "QOperator" else q.QuantFormat.QDQ
        axes_ = tuple((op, {"MatMul": 0, "Gather": 1}[op]) for op in ops)
        if algorithm == "hqq":
            done = n.MatMulNBitsQuantizer(onnx.load(a), algo_config=n.HQQWeightOnlyQuantConfig(block_size=size, bits=bits))
        elif algorithm == "rtn":
            done = n.MatMulNBitsQuantizer(onnx.load(a), algo_config=n.RTNWeightOnlyQuantConfig())
        else:
            config = n.DefaultWeightOnlyQuantConfig(block_size=size, is_symmetric=symmetric, accuracy_level=level, quant_format=form_, op_types_to_quantize=ops, quant_axes=axes_, bits=bits)
            done = n.MatMulNBitsQuantizer(onnx.load(a), algo_config=config)
        done.process()
        done.model.save_model_to_file(b, False)

    return change


for source in ("mlp21", "bert", "mlp"):
    on("blocks4", source, blocks())
    on("blocks4_16", source, blocks(size=16))
    on("blocks4_64", source, blocks(size=64, symmetric=False))
    on("blocks4_level4", source, blocks(level=4, symmetric=False))
    on("blocks8", source, blocks(8))
    on("blocks8_asymmetric", source, blocks(8, symmetric=False))
    on("blocks2", source, blocks(2))
    on("blocks4_qdq", source, blocks(form="QDQ"))
    on("blocks4_qdq_asymmetric", source, blocks(form="QDQ", symmetric=False))
    on("blocks4_gather", source, blocks(ops=("MatMul", "Gather")))
    on("blocks4_gather_asymmetric", source, blocks(ops=("MatMul", "Gather"), symmetric=False))
    on("blocks4_gather_qdq", source, blocks(ops=("MatMul", "Gather"), form="QDQ"))
    on("blocks_hqq", source, blocks(algorithm="hqq"))
    on("blocks4_extended", source, both(blocks(form="QDQ"), optimise("extended")))


def bnb4(kind):
    def change(a, b):
        from onnxruntime.quantization.matmul_bnb4_quantizer import MatMulBnb4Quantizer
        done = MatMulBnb4Quantizer(onnx.load(a), kind, 32)
        done.process()
        done.model.save_model_to_file(b, False)

    return change


on("bnb4_fp4", "mlp", bnb4(0))
on("bnb4_nf4", "mlp", bnb4(1))


def float8(a, b):
    q.quantize_static(a, b, Reader(mlp_sets()), quant_format=QDQ, activation_type=q.QuantType.QFLOAT8E4M3FN, weight_type=q.QuantType.QFLOAT8E4M3FN, calibrate_method=q.CalibrationMethod.Distribution, extra_options={"scenario": "same"})


on("static_f8", "mlp21", float8)


# ---- halves and surgery

def halves(keep=False, mixed=False, **settings):
    def change(a, b):
        if mixed:
            from onnxconverter_common import auto_mixed_precision
            done = auto_mixed_precision.auto_convert_mixed_precision(onnx.load(a), settings["feed"], rtol=0.01, atol=0.001, keep_io_types=keep)
        else:
            from onnxconverter_common import float16
            done = float16.convert_float_to_float16(onnx.load(a), keep_io_types=keep, **settings)
        onnx.save(done, b)

    return change


def runtime_halves(keep=False, **settings):
    def change(a, b):
        from onnxruntime.transformers.float16 import convert_float_to_float16
        onnx.save(convert_float_to_float16(onnx.load(a), keep_io_types=keep, **settings), b)

    return change


def to_half(feeds):
    return [{k: v.astype(np.float16) if v.dtype == np.float32 else v for k, v in f.items()} for f in feeds]


for source in ("conv", "bert", "mlp", "lstm", "gru", "conv_hard", "bert14"):
    on("half", source, halves(), to_half)
    on("half_keep", source, halves(True))
    on("half_runtime", source, runtime_halves(), to_half)
    on("half_runtime_keep", source, runtime_halves(True))
    on("half_blocked", source, halves(True, op_block_list=["Softmax", "LayerNormalization", "Resize", "ReduceMean", "Pow"]))
on("mixed", "mlp", halves(True, True, feed=mlp_sets()[0]))
on("mixed", "conv", halves(True, True, feed=convnet_sets()[0]))


def simplify(a, b, **settings):
    import onnxsim
    done, good = onnxsim.simplify(onnx.load(a), **settings)
    assert good
    onnx.save(done, b)


def slim(a, b):
    import onnxslim
    done = onnxslim.slim(a)
    onnx.save(done, b)


def passes(a, b):
    import onnxoptimizer
    names = [p for p in onnxoptimizer.get_fuse_and_elimination_passes()]
    onnx.save(onnxoptimizer.optimize(onnx.load(a), names), b)


def split_passes(a, b):
    import onnxoptimizer
    onnx.save(onnxoptimizer.optimize(onnx.load(a), ["lift_lexical_references", "rename_input_output"]), b)


def inferred(a, b):
    onnx.save(onnx.shape_inference.infer_shapes(onnx.load(a), data_prop=True), b)


def symbolic(a, b):
    from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference
    onnx.save(SymbolicShapeInference.infer_shapes(onnx.load(a), auto_merge=True), b)


def fixed(a, b):
    from onnxruntime.tools.onnx_model_utils import fix_output_shapes, make_dim_param_fixed
    m = onnx.load(a)
    for name, n in (("batch", 1), ("seq", 8), ("rows", 4), ("time", 5)):
        make_dim_param_fixed(m.graph, name, n)
    fix_output_shapes(m)
    onnx.save(m, b)


def versioned(opset):
    def change(a, b):
        onnx.save(onnx.version_converter.convert_version(onnx.load(a), opset), b)

    return change


for source in ("conv", "bert", "bert13", "mlp", "lstm", "gru", "conv_hard", "conv11"):
    on("sim", source, simplify)
    on("slim", source, slim)
    on("passes", source, passes)
    on("inferred", source, inferred)
    on("symbolic", source, symbolic)
    on("fixed", source, fixed, lambda feeds: feeds[:1])
    on("fixed_sim", source, both(fixed, simplify), lambda feeds: feeds[:1])
    for opset in (7, 8, 9, 10, 12, 15, 18, 19, 20, 21, 22, 23, 24, 25):
        on(f"opset{opset}", source, versioned(opset))
